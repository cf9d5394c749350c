/* SPDX-License-Identifier: MIT */
/* Sessions and their consumers; see windows.h in this folder. As in the newest Windows SDK. */
#ifndef FAKE_ETW_COMPAT_EVNTRACE_H
#define FAKE_ETW_COMPAT_EVNTRACE_H

#include "evntprov.h"
#include "windows.h"
#include "wmistr.h"

#define WMIAPI

typedef ULONG64 TRACEHANDLE, *PTRACEHANDLE;
typedef ULONG64 CONTROLTRACE_ID, PROCESSTRACE_HANDLE;
#define INVALID_PROCESSTRACE_HANDLE ((TRACEHANDLE)(ULONG_PTR)INVALID_HANDLE_VALUE)

#define KERNEL_LOGGER_NAMEW u"NT Kernel Logger"
#define GLOBAL_LOGGER_NAMEW u"GlobalLogger"
#define KERNEL_LOGGER_NAME  KERNEL_LOGGER_NAMEW

DEFINE_GUID(EventTraceGuid, 0x68fdd900, 0x4a3e, 0x11d1, 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64,
	    0xe3);
DEFINE_GUID(SystemTraceControlGuid, 0x9e814aad, 0x3204, 0x11d2, 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8,
	    0x69, 0x39);

#define EVENT_TRACE_TYPE_INFO     0x00
#define EVENT_TRACE_TYPE_START    0x01
#define EVENT_TRACE_TYPE_END      0x02
#define EVENT_TRACE_TYPE_DC_START 0x03
#define EVENT_TRACE_TYPE_DC_END   0x04

#define TRACE_LEVEL_NONE        0
#define TRACE_LEVEL_CRITICAL    1
#define TRACE_LEVEL_ERROR       2
#define TRACE_LEVEL_WARNING     3
#define TRACE_LEVEL_INFORMATION 4
#define TRACE_LEVEL_VERBOSE     5

#define EVENT_TRACE_FLAG_PROCESS            0x00000001u
#define EVENT_TRACE_FLAG_THREAD             0x00000002u
#define EVENT_TRACE_FLAG_IMAGE_LOAD         0x00000004u
#define EVENT_TRACE_FLAG_PROCESS_COUNTERS   0x00000008u
#define EVENT_TRACE_FLAG_CSWITCH            0x00000010u
#define EVENT_TRACE_FLAG_DPC                0x00000020u
#define EVENT_TRACE_FLAG_INTERRUPT          0x00000040u
#define EVENT_TRACE_FLAG_SYSTEMCALL         0x00000080u
#define EVENT_TRACE_FLAG_DISK_IO            0x00000100u
#define EVENT_TRACE_FLAG_DISK_FILE_IO       0x00000200u
#define EVENT_TRACE_FLAG_DISK_IO_INIT       0x00000400u
#define EVENT_TRACE_FLAG_DISPATCHER         0x00000800u
#define EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS 0x00001000u
#define EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS 0x00002000u
#define EVENT_TRACE_FLAG_VIRTUAL_ALLOC      0x00004000u
#define EVENT_TRACE_FLAG_VAMAP              0x00008000u
#define EVENT_TRACE_FLAG_NETWORK_TCPIP      0x00010000u
#define EVENT_TRACE_FLAG_REGISTRY           0x00020000u
#define EVENT_TRACE_FLAG_DBGPRINT           0x00040000u
#define EVENT_TRACE_FLAG_JOB                0x00080000u
#define EVENT_TRACE_FLAG_ALPC               0x00100000u
#define EVENT_TRACE_FLAG_SPLIT_IO           0x00200000u
#define EVENT_TRACE_FLAG_DEBUG_EVENTS       0x00400000u
#define EVENT_TRACE_FLAG_DRIVER             0x00800000u
#define EVENT_TRACE_FLAG_PROFILE            0x01000000u
#define EVENT_TRACE_FLAG_FILE_IO            0x02000000u
#define EVENT_TRACE_FLAG_FILE_IO_INIT       0x04000000u
#define EVENT_TRACE_FLAG_NO_SYSCONFIG       0x10000000u

#define EVENT_TRACE_FILE_MODE_NONE             0x00000000u
#define EVENT_TRACE_FILE_MODE_SEQUENTIAL       0x00000001u
#define EVENT_TRACE_FILE_MODE_CIRCULAR         0x00000002u
#define EVENT_TRACE_FILE_MODE_APPEND           0x00000004u
#define EVENT_TRACE_FILE_MODE_NEWFILE          0x00000008u
#define EVENT_TRACE_USE_MS_FLUSH_TIMER         0x00000010u
#define EVENT_TRACE_FILE_MODE_PREALLOCATE      0x00000020u
#define EVENT_TRACE_NONSTOPPABLE_MODE          0x00000040u
#define EVENT_TRACE_SECURE_MODE                0x00000080u
#define EVENT_TRACE_REAL_TIME_MODE             0x00000100u
#define EVENT_TRACE_DELAY_OPEN_FILE_MODE       0x00000200u
#define EVENT_TRACE_BUFFERING_MODE             0x00000400u
#define EVENT_TRACE_PRIVATE_LOGGER_MODE        0x00000800u
#define EVENT_TRACE_ADD_HEADER_MODE            0x00001000u
#define EVENT_TRACE_USE_KBYTES_FOR_SIZE        0x00002000u
#define EVENT_TRACE_USE_GLOBAL_SEQUENCE        0x00004000u
#define EVENT_TRACE_USE_LOCAL_SEQUENCE         0x00008000u
#define EVENT_TRACE_RELOG_MODE                 0x00010000u
#define EVENT_TRACE_PRIVATE_IN_PROC            0x00020000u
#define EVENT_TRACE_STOP_ON_HYBRID_SHUTDOWN    0x00400000u
#define EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN 0x00800000u
#define EVENT_TRACE_USE_PAGED_MEMORY           0x01000000u
#define EVENT_TRACE_SYSTEM_LOGGER_MODE         0x02000000u
#define EVENT_TRACE_COMPRESSED_MODE            0x04000000u
#define EVENT_TRACE_INDEPENDENT_SESSION_MODE   0x08000000u
#define EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING 0x10000000u
#define EVENT_TRACE_ADDTO_TRIAGE_DUMP          0x80000000u

#define EVENT_TRACE_CONTROL_QUERY               0u
#define EVENT_TRACE_CONTROL_STOP                1u
#define EVENT_TRACE_CONTROL_UPDATE              2u
#define EVENT_TRACE_CONTROL_FLUSH               3u
#define EVENT_TRACE_CONTROL_INCREMENT_FILE      4u
#define EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME 5u

#define EVENT_CONTROL_CODE_DISABLE_PROVIDER 0u
#define EVENT_CONTROL_CODE_ENABLE_PROVIDER  1u
#define EVENT_CONTROL_CODE_CAPTURE_STATE    2u

#define ENABLE_TRACE_PARAMETERS_VERSION   1u
#define ENABLE_TRACE_PARAMETERS_VERSION_2 2u

typedef enum _TRACE_QUERY_INFO_CLASS {
	TraceGuidQueryList = 0,
	TraceGuidQueryInfo = 1,
	TraceGuidQueryProcess = 2,
	TraceStackTracingInfo = 3,
	TraceSystemTraceEnableFlagsInfo = 4,
	TraceSampledProfileIntervalInfo = 5,
	TraceProfileSourceConfigInfo = 6,
	TraceProfileSourceListInfo = 7,
	TracePmcEventListInfo = 8,
	TracePmcCounterListInfo = 9,
	TraceSetDisallowList = 10,
	TraceVersionInfo = 11,
	TraceGroupQueryList = 12,
	TraceGroupQueryInfo = 13,
	TraceDisallowListQuery = 14,
	TraceInfoReserved15 = 15,
	TracePeriodicCaptureStateListInfo = 16,
	TracePeriodicCaptureStateInfo = 17,
	TraceProviderBinaryTracking = 18,
	TraceMaxLoggersQuery = 19,
	TraceLbrConfigurationInfo = 20,
	TraceLbrEventListInfo = 21,
	TraceMaxPmcCounterQuery = 22,
	TraceStreamCount = 23,
	TraceStackCachingInfo = 24,
	MaxTraceSetInfoClass
} TRACE_QUERY_INFO_CLASS,
	TRACE_INFO_CLASS;

typedef struct _EVENT_TRACE_HEADER {
	USHORT Size;
	union {
		USHORT FieldTypeFlags;
		struct {
			UCHAR HeaderType;
			UCHAR MarkerFlags;
		};
	};
	union {
		ULONG Version;
		struct {
			UCHAR Type;
			UCHAR Level;
			USHORT Version;
		} Class;
	};
	ULONG ThreadId;
	ULONG ProcessId;
	LARGE_INTEGER TimeStamp;
	union {
		GUID Guid;
		ULONGLONG GuidPtr;
	};
	union {
		struct {
			ULONG ClientContext;
			ULONG Flags;
		};
		struct {
			ULONG KernelTime;
			ULONG UserTime;
		};
		ULONG64 ProcessorTime;
	};
} EVENT_TRACE_HEADER, *PEVENT_TRACE_HEADER;

typedef struct _ETW_BUFFER_CONTEXT {
	union {
		struct {
			UCHAR ProcessorNumber;
			UCHAR Alignment;
		};
		USHORT ProcessorIndex;
	};
	USHORT LoggerId;
} ETW_BUFFER_CONTEXT, *PETW_BUFFER_CONTEXT;

typedef struct _EVENT_TRACE {
	EVENT_TRACE_HEADER Header;
	ULONG InstanceId;
	ULONG ParentInstanceId;
	GUID ParentGuid;
	PVOID MofData;
	ULONG MofLength;
	union {
		ULONG ClientContext;
		ETW_BUFFER_CONTEXT BufferContext;
	};
} EVENT_TRACE, *PEVENT_TRACE;

typedef struct _TRACE_LOGFILE_HEADER {
	ULONG BufferSize;
	union {
		ULONG Version;
		struct {
			UCHAR MajorVersion;
			UCHAR MinorVersion;
			UCHAR SubVersion;
			UCHAR SubMinorVersion;
		} VersionDetail;
	};
	ULONG ProviderVersion;
	ULONG NumberOfProcessors;
	LARGE_INTEGER EndTime;
	ULONG TimerResolution;
	ULONG MaximumFileSize;
	ULONG LogFileMode;
	ULONG BuffersWritten;
	union {
		GUID LogInstanceGuid;
		struct {
			ULONG StartBuffers;
			ULONG PointerSize;
			ULONG EventsLost;
			ULONG CpuSpeedInMHz;
		};
	};
	LPWSTR LoggerName;
	LPWSTR LogFileName;
	TIME_ZONE_INFORMATION TimeZone;
	LARGE_INTEGER BootTime;
	LARGE_INTEGER PerfFreq;
	LARGE_INTEGER StartTime;
	ULONG ReservedFlags;
	ULONG BuffersLost;
} TRACE_LOGFILE_HEADER, *PTRACE_LOGFILE_HEADER;

typedef struct _EVENT_TRACE_PROPERTIES {
	WNODE_HEADER Wnode;
	ULONG BufferSize; /* KB */
	ULONG MinimumBuffers;
	ULONG MaximumBuffers;
	ULONG MaximumFileSize;
	ULONG LogFileMode;
	ULONG FlushTimer;
	ULONG EnableFlags;
	union {
		LONG AgeLimit;
		LONG FlushThreshold;
	};
	ULONG NumberOfBuffers;
	ULONG FreeBuffers;
	ULONG EventsLost;
	ULONG BuffersWritten;
	ULONG LogBuffersLost;
	ULONG RealTimeBuffersLost;
	HANDLE LoggerThreadId;
	ULONG LogFileNameOffset;
	ULONG LoggerNameOffset;
} EVENT_TRACE_PROPERTIES, *PEVENT_TRACE_PROPERTIES;

typedef struct _EVENT_TRACE_PROPERTIES_V2 {
	WNODE_HEADER Wnode;
	ULONG BufferSize;
	ULONG MinimumBuffers;
	ULONG MaximumBuffers;
	ULONG MaximumFileSize;
	ULONG LogFileMode;
	ULONG FlushTimer;
	ULONG EnableFlags;
	union {
		LONG AgeLimit;
		LONG FlushThreshold;
	};
	ULONG NumberOfBuffers;
	ULONG FreeBuffers;
	ULONG EventsLost;
	ULONG BuffersWritten;
	ULONG LogBuffersLost;
	ULONG RealTimeBuffersLost;
	HANDLE LoggerThreadId;
	ULONG LogFileNameOffset;
	ULONG LoggerNameOffset;
	union {
		struct {
			ULONG VersionNumber : 8;
		};
		ULONG V2Control;
	};
	ULONG FilterDescCount;
	PEVENT_FILTER_DESCRIPTOR FilterDesc;
	union {
		struct {
			ULONG Wow : 1;
			ULONG QpcDeltaTracking : 1;
		};
		ULONG64 V2Options;
	};
} EVENT_TRACE_PROPERTIES_V2, *PEVENT_TRACE_PROPERTIES_V2;

#define TRACE_PROVIDER_FLAG_LEGACY     0x00000001u
#define TRACE_PROVIDER_FLAG_PRE_ENABLE 0x00000002u

typedef struct _TRACE_ENABLE_INFO {
	ULONG IsEnabled;
	UCHAR Level;
	UCHAR Reserved1;
	USHORT LoggerId;
	ULONG EnableProperty;
	ULONG Reserved2;
	ULONGLONG MatchAnyKeyword;
	ULONGLONG MatchAllKeyword;
} TRACE_ENABLE_INFO, *PTRACE_ENABLE_INFO;

typedef struct _TRACE_PROVIDER_INSTANCE_INFO {
	ULONG NextOffset;
	ULONG EnableCount;
	ULONG Pid;
	ULONG Flags;
} TRACE_PROVIDER_INSTANCE_INFO, *PTRACE_PROVIDER_INSTANCE_INFO;

typedef struct _TRACE_GUID_INFO {
	ULONG InstanceCount;
	ULONG Reserved;
} TRACE_GUID_INFO, *PTRACE_GUID_INFO;

typedef struct _ENABLE_TRACE_PARAMETERS {
	ULONG Version;
	ULONG EnableProperty;
	ULONG ControlFlags;
	GUID SourceId;
	PEVENT_FILTER_DESCRIPTOR EnableFilterDesc;
	ULONG FilterDescCount;
} ENABLE_TRACE_PARAMETERS, *PENABLE_TRACE_PARAMETERS;

typedef struct _CLASSIC_EVENT_ID {
	GUID EventGuid;
	UCHAR Type;
	UCHAR Reserved[7];
} CLASSIC_EVENT_ID, *PCLASSIC_EVENT_ID;

typedef struct _TRACE_PROFILE_INTERVAL {
	ULONG Source;
	ULONG Interval;
} TRACE_PROFILE_INTERVAL, *PTRACE_PROFILE_INTERVAL;

typedef struct _TRACE_VERSION_INFO {
	UINT EtwTraceProcessingVersion;
	UINT Reserved;
} TRACE_VERSION_INFO, *PTRACE_VERSION_INFO;

typedef struct _EVENT_RECORD EVENT_RECORD, *PEVENT_RECORD;
typedef struct _EVENT_TRACE_LOGFILEW EVENT_TRACE_LOGFILEW, *PEVENT_TRACE_LOGFILEW;
typedef ULONG(WINAPI *PEVENT_TRACE_BUFFER_CALLBACKW)(PEVENT_TRACE_LOGFILEW log_file);
typedef VOID(WINAPI *PEVENT_CALLBACK)(PEVENT_TRACE event);
typedef VOID(WINAPI *PEVENT_RECORD_CALLBACK)(PEVENT_RECORD record);

struct _EVENT_TRACE_LOGFILEW {
	LPWSTR LogFileName;
	LPWSTR LoggerName;
	LONGLONG CurrentTime;
	ULONG BuffersRead;
	union {
		ULONG LogFileMode;
		ULONG ProcessTraceMode;
	};
	EVENT_TRACE CurrentEvent;
	TRACE_LOGFILE_HEADER LogfileHeader;
	PEVENT_TRACE_BUFFER_CALLBACKW BufferCallback;
	ULONG BufferSize;
	ULONG Filled;
	ULONG EventsLost;
	union {
		PEVENT_CALLBACK EventCallback;
		PEVENT_RECORD_CALLBACK EventRecordCallback;
	};
	ULONG IsKernelTrace;
	PVOID Context;
};

ULONG WMIAPI StartTraceW(PTRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties);
ULONG WMIAPI ControlTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties,
			   ULONG code);
ULONG WMIAPI StopTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties);
ULONG WMIAPI QueryTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties);
ULONG WMIAPI UpdateTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties);
ULONG WMIAPI FlushTraceW(TRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties);
ULONG WMIAPI QueryAllTracesW(PEVENT_TRACE_PROPERTIES *array, ULONG count, PULONG sessions);
ULONG WMIAPI EnableTraceEx2(TRACEHANDLE handle, LPCGUID provider, ULONG code, UCHAR level,
			    ULONGLONG match_any, ULONGLONG match_all, ULONG timeout,
			    PENABLE_TRACE_PARAMETERS parameters);
ULONG WMIAPI TraceSetInformation(TRACEHANDLE handle, TRACE_INFO_CLASS information_class,
				 PVOID information, ULONG size);
ULONG WMIAPI TraceQueryInformation(TRACEHANDLE handle, TRACE_INFO_CLASS information_class,
				   PVOID information, ULONG size, PULONG returned);
ULONG WMIAPI EnumerateTraceGuidsEx(TRACE_QUERY_INFO_CLASS information_class, PVOID in,
				   ULONG in_size, PVOID out, ULONG out_size, PULONG returned);
TRACEHANDLE WMIAPI OpenTraceW(PEVENT_TRACE_LOGFILEW log_file);
ULONG WMIAPI ProcessTrace(PTRACEHANDLE handles, ULONG count, LPFILETIME start, LPFILETIME end);
ULONG WMIAPI CloseTrace(TRACEHANDLE handle);

_Static_assert(sizeof(EVENT_TRACE_PROPERTIES) == 120 && sizeof(EVENT_TRACE_PROPERTIES_V2) == 144,
	       "size");
_Static_assert(sizeof(EVENT_TRACE_LOGFILEW) == 448 && sizeof(TRACE_LOGFILE_HEADER) == 280, "size");
_Static_assert(sizeof(EVENT_TRACE) == 88 && offsetof(EVENT_TRACE_LOGFILEW, LogfileHeader) == 120,
	       "offset");
_Static_assert(sizeof(ENABLE_TRACE_PARAMETERS) == 48 && sizeof(TRACE_ENABLE_INFO) == 32, "size");
_Static_assert(sizeof(CLASSIC_EVENT_ID) == 24, "size");

#endif
