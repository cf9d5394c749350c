/* SPDX-License-Identifier: MIT */
/* What event providers need; see windows.h in this folder. As in the newest Windows SDK. */
#ifndef FAKE_ETW_COMPAT_EVNTPROV_H
#define FAKE_ETW_COMPAT_EVNTPROV_H

#include "windows.h"

#define EVNTAPI

typedef ULONGLONG REGHANDLE, *PREGHANDLE;

#define MAX_EVENT_DATA_DESCRIPTORS       128
#define MAX_EVENT_FILTER_DATA_SIZE       1024
#define MAX_EVENT_FILTER_PAYLOAD_SIZE    4096
#define MAX_EVENT_FILTER_EVENT_NAME_SIZE 4096
#define MAX_EVENT_FILTERS_COUNT          13
#define MAX_EVENT_FILTER_PID_COUNT       8
#define MAX_EVENT_FILTER_EVENT_ID_COUNT  64

#define EVENT_FILTER_TYPE_NONE               0x00000000u
#define EVENT_FILTER_TYPE_SCHEMATIZED        0x80000000u
#define EVENT_FILTER_TYPE_SYSTEM_FLAGS       0x80000001u
#define EVENT_FILTER_TYPE_TRACEHANDLE        0x80000002u
#define EVENT_FILTER_TYPE_PID                0x80000004u
#define EVENT_FILTER_TYPE_EXECUTABLE_NAME    0x80000008u
#define EVENT_FILTER_TYPE_PACKAGE_ID         0x80000010u
#define EVENT_FILTER_TYPE_PACKAGE_APP_ID     0x80000020u
#define EVENT_FILTER_TYPE_PAYLOAD            0x80000100u
#define EVENT_FILTER_TYPE_EVENT_ID           0x80000200u
#define EVENT_FILTER_TYPE_EVENT_NAME         0x80000400u
#define EVENT_FILTER_TYPE_STACKWALK          0x80001000u
#define EVENT_FILTER_TYPE_STACKWALK_NAME     0x80002000u
#define EVENT_FILTER_TYPE_STACKWALK_LEVEL_KW 0x80004000u

#define EVENT_DATA_DESCRIPTOR_TYPE_NONE               0
#define EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA     1
#define EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA  2
#define EVENT_DATA_DESCRIPTOR_TYPE_TIMESTAMP_OVERRIDE 3

typedef struct _EVENT_DATA_DESCRIPTOR {
	ULONGLONG Ptr;
	ULONG Size;
	union {
		ULONG Reserved;
		struct {
			UCHAR Type;
			UCHAR Reserved1;
			USHORT Reserved2;
		};
	};
} EVENT_DATA_DESCRIPTOR, *PEVENT_DATA_DESCRIPTOR;

typedef struct _EVENT_DESCRIPTOR {
	USHORT Id;
	UCHAR Version;
	UCHAR Channel;
	UCHAR Level;
	UCHAR Opcode;
	USHORT Task;
	ULONGLONG Keyword;
} EVENT_DESCRIPTOR, *PEVENT_DESCRIPTOR;
typedef const EVENT_DESCRIPTOR *PCEVENT_DESCRIPTOR;

typedef struct _EVENT_FILTER_DESCRIPTOR {
	ULONGLONG Ptr;
	ULONG Size;
	ULONG Type;
} EVENT_FILTER_DESCRIPTOR, *PEVENT_FILTER_DESCRIPTOR;

typedef struct _EVENT_FILTER_EVENT_ID {
	BOOLEAN FilterIn;
	UCHAR Reserved;
	USHORT Count;
	USHORT Events[ANYSIZE_ARRAY];
} EVENT_FILTER_EVENT_ID, *PEVENT_FILTER_EVENT_ID;

typedef struct _EVENT_FILTER_LEVEL_KW {
	ULONGLONG MatchAnyKeyword;
	ULONGLONG MatchAllKeyword;
	UCHAR Level;
	BOOLEAN FilterIn;
} EVENT_FILTER_LEVEL_KW, *PEVENT_FILTER_LEVEL_KW;

typedef enum _EVENT_INFO_CLASS {
	EventProviderBinaryTrackInfo,
	EventProviderSetReserved1,
	EventProviderSetTraits,
	EventProviderUseDescriptorType,
	MaxEventInfo
} EVENT_INFO_CLASS;

typedef VOID(NTAPI *PENABLECALLBACK)(LPCGUID source, ULONG is_enabled, UCHAR level,
				     ULONGLONG match_any, ULONGLONG match_all,
				     PEVENT_FILTER_DESCRIPTOR filter, PVOID context);

ULONG EVNTAPI EventRegister(LPCGUID provider, PENABLECALLBACK callback, PVOID context,
			    PREGHANDLE handle);
ULONG EVNTAPI EventUnregister(REGHANDLE handle);
ULONG EVNTAPI EventSetInformation(REGHANDLE handle, EVENT_INFO_CLASS information_class,
				  PVOID information, ULONG size);
BOOLEAN EVNTAPI EventEnabled(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor);
BOOLEAN EVNTAPI EventProviderEnabled(REGHANDLE handle, UCHAR level, ULONGLONG keyword);
ULONG EVNTAPI EventWrite(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor, ULONG count,
			 PEVENT_DATA_DESCRIPTOR data);
ULONG EVNTAPI EventWriteTransfer(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor, LPCGUID activity,
				 LPCGUID related, ULONG count, PEVENT_DATA_DESCRIPTOR data);

FORCEINLINE VOID EventDataDescCreate(PEVENT_DATA_DESCRIPTOR descriptor, const VOID *data,
				     ULONG size)
{
	descriptor->Ptr = (ULONGLONG)(ULONG_PTR)data;
	descriptor->Size = size;
	descriptor->Reserved = 0;
}

_Static_assert(sizeof(EVENT_DATA_DESCRIPTOR) == 16 && sizeof(EVENT_DESCRIPTOR) == 16, "size");
_Static_assert(sizeof(EVENT_FILTER_DESCRIPTOR) == 16, "size");
_Static_assert(sizeof(EVENT_FILTER_EVENT_ID) == 6 && sizeof(EVENT_FILTER_LEVEL_KW) == 24, "size");

#endif
