/* SPDX-License-Identifier: MIT */
/*
 * Includes the tracing API and declares what mingw-w64 10 lacks of it. With the Windows SDK nothing
 * is added.
 *
 * Source of the values: evntprov.h, evntcons.h, evntrace.h of the Windows SDK.
 */
#ifndef LIB_SOURCE_ETW_SDK_WIN32_H
#define LIB_SOURCE_ETW_SDK_WIN32_H

#include <windows.h>

#include <evntcons.h>
#include <evntrace.h>
#include <stddef.h>
#include <tdh.h>

#ifndef EVENT_FILTER_TYPE_PID
#define EVENT_FILTER_TYPE_PID 0x80000004
#endif
#ifndef EVENT_FILTER_TYPE_NONE
#define EVENT_FILTER_TYPE_NONE 0x00000000
#endif
#ifndef EVENT_FILTER_TYPE_EXECUTABLE_NAME
#define EVENT_FILTER_TYPE_EXECUTABLE_NAME 0x80000008
#endif
#ifndef EVENT_FILTER_TYPE_PAYLOAD
#define EVENT_FILTER_TYPE_PAYLOAD 0x80000100
#endif
#ifndef EVENT_FILTER_TYPE_EVENT_ID
#define EVENT_FILTER_TYPE_EVENT_ID 0x80000200
#endif
#ifndef EVENT_FILTER_TYPE_STACKWALK
#define EVENT_FILTER_TYPE_STACKWALK 0x80001000
#endif
#ifndef EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0
#define EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0 0x010
#endif
#ifndef EVENT_ENABLE_PROPERTY_PROCESS_START_KEY
#define EVENT_ENABLE_PROPERTY_PROCESS_START_KEY 0x080
#endif
#ifndef EVENT_HEADER_EXT_TYPE_CONTAINER_ID
#define EVENT_HEADER_EXT_TYPE_CONTAINER_ID 0x0010
#endif
#ifndef EVENT_ENABLE_PROPERTY_ENABLE_SILOS
#define EVENT_ENABLE_PROPERTY_ENABLE_SILOS 0x400
#endif
#ifndef EVENT_ENABLE_PROPERTY_SOURCE_CONTAINER_TRACKING
#define EVENT_ENABLE_PROPERTY_SOURCE_CONTAINER_TRACKING 0x800
#endif
#ifndef EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY
#define EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY 0x000D
#endif
#ifndef EVENT_DATA_DESCRIPTOR_TYPE_NONE
#define EVENT_DATA_DESCRIPTOR_TYPE_NONE              0
#define EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA    1
#define EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA 2
#endif

/* tdh.h of the Windows SDK, from Windows 8.1 on. */
#ifndef MAX_PAYLOAD_PREDICATES
#define MAX_PAYLOAD_PREDICATES 8

typedef struct _PAYLOAD_FILTER_PREDICATE {
	LPWSTR FieldName;
	USHORT CompareOp; /* PAYLOAD_OPERATOR */
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

/* ntdll.dll exports this function; wdm.h of the WDK declares it. */
LONG WINAPI RtlGetVersion(RTL_OSVERSIONINFOW *version);

_Static_assert(sizeof(EVENT_RECORD) == 112, "EVENT_RECORD");
_Static_assert(offsetof(EVENT_RECORD, UserData) == 96, "EVENT_RECORD.UserData");
_Static_assert(sizeof(EVENT_HEADER) == 80, "EVENT_HEADER");
_Static_assert(offsetof(EVENT_HEADER, TimeStamp) == 16, "EVENT_HEADER.TimeStamp");
_Static_assert(sizeof(EVENT_TRACE_PROPERTIES) == 120, "EVENT_TRACE_PROPERTIES");
_Static_assert(sizeof(EVENT_TRACE_LOGFILEW) == 448, "EVENT_TRACE_LOGFILEW");
_Static_assert(sizeof(TRACE_LOGFILE_HEADER) == 280, "TRACE_LOGFILE_HEADER");
_Static_assert(sizeof(ENABLE_TRACE_PARAMETERS) == 48, "ENABLE_TRACE_PARAMETERS");
_Static_assert(sizeof(EVENT_FILTER_DESCRIPTOR) == 16, "EVENT_FILTER_DESCRIPTOR");
_Static_assert(sizeof(PAYLOAD_FILTER_PREDICATE) == 24, "PAYLOAD_FILTER_PREDICATE");
_Static_assert(offsetof(PROVIDER_EVENT_INFO, EventDescriptorsArray) == 8, "PROVIDER_EVENT_INFO");
_Static_assert(sizeof(EVENT_HEADER_EXTENDED_DATA_ITEM) == 16, "EVENT_HEADER_EXTENDED_DATA_ITEM");
_Static_assert(sizeof(EVENT_DATA_DESCRIPTOR) == 16, "EVENT_DATA_DESCRIPTOR");
_Static_assert(sizeof(TRACE_GUID_INFO) == 8, "TRACE_GUID_INFO");
_Static_assert(sizeof(TRACE_PROVIDER_INSTANCE_INFO) == 16, "TRACE_PROVIDER_INSTANCE_INFO");
_Static_assert(sizeof(TRACE_ENABLE_INFO) == 32, "TRACE_ENABLE_INFO");

#endif
