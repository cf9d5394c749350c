/* SPDX-License-Identifier: MIT */
/*
 * The Win32 headers as the fake sees them: those of compat/ natively, mingw's when it is built for
 * Windows, with what mingw-w64 10 lacks. On purpose no header of the code under test: a constant
 * that is wrong there must not be wrong here too.
 */
#ifndef FAKE_ETW_SDK_H
#define FAKE_ETW_SDK_H

#include <windows.h>

#include <evntrace.h>

#include <evntcons.h>
#include <evntprov.h>
#include <tdh.h>
#include <tlhelp32.h>
#include <winioctl.h>
#include <winsvc.h>

#ifndef EVENT_TRACE_USE_MS_FLUSH_TIMER
#define EVENT_TRACE_USE_MS_FLUSH_TIMER 0x00000010u
#endif
#ifndef EVENT_FILTER_TYPE_NONE
#define EVENT_FILTER_TYPE_NONE 0x00000000u
#endif
#ifndef EVENT_FILTER_TYPE_PID
#define EVENT_FILTER_TYPE_PID 0x80000004u
#endif
#ifndef EVENT_FILTER_TYPE_EXECUTABLE_NAME
#define EVENT_FILTER_TYPE_EXECUTABLE_NAME 0x80000008u
#endif
#ifndef EVENT_FILTER_TYPE_PACKAGE_ID
#define EVENT_FILTER_TYPE_PACKAGE_ID 0x80000010u
#endif
#ifndef EVENT_FILTER_TYPE_PACKAGE_APP_ID
#define EVENT_FILTER_TYPE_PACKAGE_APP_ID 0x80000020u
#endif
#ifndef EVENT_FILTER_TYPE_PAYLOAD
#define EVENT_FILTER_TYPE_PAYLOAD 0x80000100u
#endif
#ifndef EVENT_FILTER_TYPE_EVENT_ID
#define EVENT_FILTER_TYPE_EVENT_ID 0x80000200u
#endif
#ifndef EVENT_FILTER_TYPE_EVENT_NAME
#define EVENT_FILTER_TYPE_EVENT_NAME 0x80000400u
#endif
#ifndef EVENT_FILTER_TYPE_STACKWALK
#define EVENT_FILTER_TYPE_STACKWALK 0x80001000u
#endif
#ifndef EVENT_FILTER_TYPE_STACKWALK_NAME
#define EVENT_FILTER_TYPE_STACKWALK_NAME 0x80002000u
#endif
#ifndef EVENT_FILTER_TYPE_STACKWALK_LEVEL_KW
#define EVENT_FILTER_TYPE_STACKWALK_LEVEL_KW 0x80004000u
#endif
#ifndef EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0
#define EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0 0x00000010u
#endif
#ifndef EVENT_ENABLE_PROPERTY_PROCESS_START_KEY
#define EVENT_ENABLE_PROPERTY_PROCESS_START_KEY 0x00000080u
#endif
#ifndef EVENT_ENABLE_PROPERTY_EVENT_KEY
#define EVENT_ENABLE_PROPERTY_EVENT_KEY 0x00000100u
#endif
#ifndef EVENT_HEADER_EXT_TYPE_EVENT_KEY
#define EVENT_HEADER_EXT_TYPE_EVENT_KEY 0x000A
#endif
#ifndef EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL
#define EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL 0x000B
#endif
#ifndef EVENT_HEADER_EXT_TYPE_PROV_TRAITS
#define EVENT_HEADER_EXT_TYPE_PROV_TRAITS 0x000C
#endif
#ifndef EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY
#define EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY 0x000D
#endif
#ifndef ERROR_LOG_FILE_FULL
#define ERROR_LOG_FILE_FULL 1502u
#endif

#ifndef MAX_PAYLOAD_PREDICATES
#define MAX_PAYLOAD_PREDICATES 8

typedef struct _PAYLOAD_FILTER_PREDICATE {
	LPWSTR FieldName;
	USHORT CompareOp;
	LPWSTR Value;
} PAYLOAD_FILTER_PREDICATE, *PPAYLOAD_FILTER_PREDICATE;

typedef struct _PROVIDER_EVENT_INFO {
	ULONG NumberOfEvents;
	ULONG Reserved;
	EVENT_DESCRIPTOR EventDescriptorsArray[1];
} PROVIDER_EVENT_INFO, *PPROVIDER_EVENT_INFO;

ULONG WINAPI TdhEnumerateManifestProviderEvents(LPGUID provider, PPROVIDER_EVENT_INFO buffer,
						ULONG *size);
ULONG WINAPI TdhGetManifestEventInformation(LPGUID provider, PEVENT_DESCRIPTOR descriptor,
					    PTRACE_EVENT_INFO buffer, ULONG *size);
ULONG WINAPI TdhCreatePayloadFilter(LPCGUID provider, const EVENT_DESCRIPTOR *event, BOOLEAN any,
				    ULONG count, PPAYLOAD_FILTER_PREDICATE predicates,
				    PVOID *filter);
ULONG WINAPI TdhDeletePayloadFilter(PVOID *filter);
ULONG WINAPI TdhAggregatePayloadFilters(ULONG count, PVOID *filters, PBOOLEAN match_all,
					PEVENT_FILTER_DESCRIPTOR descriptor);
ULONG WINAPI TdhCleanupPayloadEventFilterDescriptor(PEVENT_FILTER_DESCRIPTOR descriptor);
#endif

#ifdef __MINGW32__
LONG WINAPI RtlGetVersion(RTL_OSVERSIONINFOW *version);
#endif

#include "tests/fake_etw/layout.h"

/* Values of the SDK's enums, which mingw's lack or stop short of. */
enum {
	FAKE_INFORMATION_TRAITS = 2,          /* EventProviderSetTraits */
	FAKE_INFORMATION_DESCRIPTOR_TYPE = 3, /* EventProviderUseDescriptorType */
	FAKE_MAX_FILTERS = 13,                /* MAX_EVENT_FILTERS_COUNT */
	FAKE_MAX_FILTER_PIDS = 8,
	FAKE_MAX_FILTER_IDS = 64,
	FAKE_MAX_FILTER_DATA = 1024,          /* MAX_EVENT_FILTER_DATA_SIZE */
	FAKE_MAX_FILTER_PAYLOAD = 4096,       /* MAX_EVENT_FILTER_PAYLOAD_SIZE */
};

#ifdef __MINGW32__
/*
 * Callers compiled against an import declaration reach a function through this pointer; callers
 * compiled against a plain one through its name. The library is searched before the import
 * libraries, so both must be here, or the real function is linked instead.
 */
#define IMPORTED(function)                   \
	extern void *const __imp_##function; \
	void *const __imp_##function = (void *)(function)
#else
#define IMPORTED(function) _Static_assert(sizeof(&(function)) > 0, "declared")
#endif

#endif
