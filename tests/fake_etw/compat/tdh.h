/* SPDX-License-Identifier: MIT */
/*
 * Schemas of events; see windows.h in this folder. Functions that mingw-w64 10 lacks are not here
 * but in tests/fake_etw/sdk.h.
 */
#ifndef FAKE_ETW_COMPAT_TDH_H
#define FAKE_ETW_COMPAT_TDH_H

#include "evntcons.h"

typedef ULONG TDHSTATUS;

typedef enum _EVENT_FIELD_TYPE {
	EventKeywordInformation = 0,
	EventLevelInformation = 1,
	EventChannelInformation = 2,
	EventTaskInformation = 3,
	EventOpcodeInformation = 4,
	EventInformationMax = 5
} EVENT_FIELD_TYPE;

typedef enum _DECODING_SOURCE {
	DecodingSourceXMLFile = 0,
	DecodingSourceWbem = 1,
	DecodingSourceWPP = 2,
	DecodingSourceTlg = 3,
	DecodingSourceMax = 4
} DECODING_SOURCE;

typedef enum _MAP_VALUETYPE {
	EVENTMAP_ENTRY_VALUETYPE_ULONG = 0,
	EVENTMAP_ENTRY_VALUETYPE_STRING = 1
} MAP_VALUETYPE;

typedef enum _MAP_FLAGS {
	EVENTMAP_INFO_FLAG_MANIFEST_VALUEMAP = 1,
	EVENTMAP_INFO_FLAG_MANIFEST_BITMAP = 2,
	EVENTMAP_INFO_FLAG_MANIFEST_PATTERNMAP = 4,
	EVENTMAP_INFO_FLAG_WBEM_VALUEMAP = 8,
	EVENTMAP_INFO_FLAG_WBEM_BITMAP = 16,
	EVENTMAP_INFO_FLAG_WBEM_FLAG = 32,
	EVENTMAP_INFO_FLAG_WBEM_NO_MAP = 64
} MAP_FLAGS;

typedef enum _PROPERTY_FLAGS {
	PropertyStruct = 0x1,
	PropertyParamLength = 0x2,
	PropertyParamCount = 0x4,
	PropertyWBEMXmlFragment = 0x8,
	PropertyParamFixedLength = 0x10,
	PropertyParamFixedCount = 0x20,
	PropertyHasTags = 0x40,
	PropertyHasCustomSchema = 0x80
} PROPERTY_FLAGS;

typedef enum _TEMPLATE_FLAGS {
	TEMPLATE_EVENT_DATA = 1,
	TEMPLATE_USER_DATA = 2,
	TEMPLATE_CONTROL_GUID = 4
} TEMPLATE_FLAGS;

typedef enum _TDH_CONTEXT_TYPE {
	TDH_CONTEXT_WPP_TMFFILE = 0,
	TDH_CONTEXT_WPP_TMFSEARCHPATH = 1,
	TDH_CONTEXT_WPP_GMT = 2,
	TDH_CONTEXT_POINTERSIZE = 3,
	TDH_CONTEXT_PDB_PATH = 4,
	TDH_CONTEXT_MAXIMUM = 5
} TDH_CONTEXT_TYPE;

/* The SDK calls both enums _TDH_IN_TYPE and _TDH_OUT_TYPE. */
enum _TDH_IN_TYPE {
	TDH_INTYPE_NULL,
	TDH_INTYPE_UNICODESTRING,
	TDH_INTYPE_ANSISTRING,
	TDH_INTYPE_INT8,
	TDH_INTYPE_UINT8,
	TDH_INTYPE_INT16,
	TDH_INTYPE_UINT16,
	TDH_INTYPE_INT32,
	TDH_INTYPE_UINT32,
	TDH_INTYPE_INT64,
	TDH_INTYPE_UINT64,
	TDH_INTYPE_FLOAT,
	TDH_INTYPE_DOUBLE,
	TDH_INTYPE_BOOLEAN,
	TDH_INTYPE_BINARY,
	TDH_INTYPE_GUID,
	TDH_INTYPE_POINTER,
	TDH_INTYPE_FILETIME,
	TDH_INTYPE_SYSTEMTIME,
	TDH_INTYPE_SID,
	TDH_INTYPE_HEXINT32,
	TDH_INTYPE_HEXINT64,
	TDH_INTYPE_MANIFEST_COUNTEDSTRING,
	TDH_INTYPE_MANIFEST_COUNTEDANSISTRING,
	TDH_INTYPE_RESERVED24,
	TDH_INTYPE_MANIFEST_COUNTEDBINARY,
	TDH_INTYPE_COUNTEDSTRING = 300,
	TDH_INTYPE_COUNTEDANSISTRING,
	TDH_INTYPE_REVERSEDCOUNTEDSTRING,
	TDH_INTYPE_REVERSEDCOUNTEDANSISTRING,
	TDH_INTYPE_NONNULLTERMINATEDSTRING,
	TDH_INTYPE_NONNULLTERMINATEDANSISTRING,
	TDH_INTYPE_UNICODECHAR,
	TDH_INTYPE_ANSICHAR,
	TDH_INTYPE_SIZET,
	TDH_INTYPE_HEXDUMP,
	TDH_INTYPE_WBEMSID
};

typedef struct _EVENT_MAP_ENTRY {
	ULONG OutputOffset;
	union {
		ULONG Value;
		ULONG InputOffset;
	};
} EVENT_MAP_ENTRY, *PEVENT_MAP_ENTRY;

typedef struct _EVENT_MAP_INFO {
	ULONG NameOffset;
	MAP_FLAGS Flag;
	ULONG EntryCount;
	union {
		MAP_VALUETYPE MapEntryValueType;
		ULONG FormatStringOffset;
	};
	EVENT_MAP_ENTRY MapEntryArray[ANYSIZE_ARRAY];
} EVENT_MAP_INFO, *PEVENT_MAP_INFO;

typedef struct _EVENT_PROPERTY_INFO {
	PROPERTY_FLAGS Flags;
	ULONG NameOffset;
	union {
		struct {
			USHORT InType;
			USHORT OutType;
			ULONG MapNameOffset;
		} nonStructType;
		struct {
			USHORT StructStartIndex;
			USHORT NumOfStructMembers;
			ULONG padding;
		} structType;
		struct {
			USHORT InType;
			USHORT OutType;
			ULONG CustomSchemaOffset;
		} customSchemaType;
	};
	union {
		USHORT count;
		USHORT countPropertyIndex;
	};
	union {
		USHORT length;
		USHORT lengthPropertyIndex;
	};
	union {
		ULONG Reserved;
		struct {
			ULONG Tags : 28;
		};
	};
} EVENT_PROPERTY_INFO, *PEVENT_PROPERTY_INFO;

typedef struct _TRACE_EVENT_INFO {
	GUID ProviderGuid;
	GUID EventGuid;
	EVENT_DESCRIPTOR EventDescriptor;
	DECODING_SOURCE DecodingSource;
	ULONG ProviderNameOffset;
	ULONG LevelNameOffset;
	ULONG ChannelNameOffset;
	ULONG KeywordsNameOffset;
	ULONG TaskNameOffset;
	ULONG OpcodeNameOffset;
	ULONG EventMessageOffset;
	ULONG ProviderMessageOffset;
	ULONG BinaryXMLOffset;
	ULONG BinaryXMLSize;
	union {
		ULONG EventNameOffset;
		ULONG ActivityIDNameOffset;
	};
	union {
		ULONG EventAttributesOffset;
		ULONG RelatedActivityIDNameOffset;
	};
	ULONG PropertyCount;
	ULONG TopLevelPropertyCount;
	union {
		TEMPLATE_FLAGS Flags;
		struct {
			ULONG Reserved : 4;
			ULONG Tags : 28;
		};
	};
	EVENT_PROPERTY_INFO EventPropertyInfoArray[ANYSIZE_ARRAY];
} TRACE_EVENT_INFO, *PTRACE_EVENT_INFO;

typedef struct _TRACE_PROVIDER_INFO {
	GUID ProviderGuid;
	ULONG SchemaSource;
	ULONG ProviderNameOffset;
} TRACE_PROVIDER_INFO;

typedef struct _PROVIDER_ENUMERATION_INFO {
	ULONG NumberOfProviders;
	ULONG Reserved;
	TRACE_PROVIDER_INFO TraceProviderInfoArray[ANYSIZE_ARRAY];
} PROVIDER_ENUMERATION_INFO, *PPROVIDER_ENUMERATION_INFO;

typedef struct _PROVIDER_FIELD_INFO {
	ULONG NameOffset;
	ULONG DescriptionOffset;
	ULONGLONG Value;
} PROVIDER_FIELD_INFO;

typedef struct _PROVIDER_FIELD_INFOARRAY {
	ULONG NumberOfElements;
	EVENT_FIELD_TYPE FieldType;
	PROVIDER_FIELD_INFO FieldInfoArray[ANYSIZE_ARRAY];
} PROVIDER_FIELD_INFOARRAY, *PPROVIDER_FIELD_INFOARRAY;

typedef struct _TDH_CONTEXT {
	ULONGLONG ParameterValue;
	TDH_CONTEXT_TYPE ParameterType;
	ULONG ParameterSize;
} TDH_CONTEXT, *PTDH_CONTEXT;

TDHSTATUS WINAPI TdhGetEventInformation(PEVENT_RECORD event, ULONG context_count,
					PTDH_CONTEXT contexts, PTRACE_EVENT_INFO buffer,
					ULONG *size);
TDHSTATUS WINAPI TdhGetEventMapInformation(PEVENT_RECORD event, LPWSTR map_name,
					   PEVENT_MAP_INFO buffer, ULONG *size);
TDHSTATUS WINAPI TdhEnumerateProviders(PPROVIDER_ENUMERATION_INFO buffer, ULONG *size);
TDHSTATUS WINAPI TdhEnumerateProviderFieldInformation(LPGUID provider, EVENT_FIELD_TYPE field_type,
						      PPROVIDER_FIELD_INFOARRAY buffer,
						      ULONG *size);

_Static_assert(sizeof(TRACE_EVENT_INFO) == 136 &&
		       offsetof(TRACE_EVENT_INFO, EventPropertyInfoArray) == 112,
	       "offset");
_Static_assert(sizeof(EVENT_PROPERTY_INFO) == 24, "size");

#endif
