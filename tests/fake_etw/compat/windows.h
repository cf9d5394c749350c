/* SPDX-License-Identifier: MIT */
/*
 * The part of <windows.h> that live code needs, for compiling it natively on Linux against
 * tests/fake_etw.
 *
 * Private to tests: nothing that ships sees this folder; see README.md here. Sizes are those of
 * 64-bit Windows, so LONG and ULONG have 32 bits and are int and unsigned int here where Windows
 * has long and unsigned long: cast before printing one. 64-bit types are the ones of <stdint.h>.
 * WCHAR has 16 bits: write u"…", or L"…" (the library fake_etw makes its users compile with
 * -fshort-wchar), and call no wcs function, because those of the C library still have 32-bit
 * characters.
 */
#ifndef FAKE_ETW_COMPAT_WINDOWS_H
#define FAKE_ETW_COMPAT_WINDOWS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WINAPI
#define CALLBACK
#define NTAPI
#define APIENTRY
#define DECLSPEC_IMPORT
#define EXTERN_C    extern
#define FORCEINLINE static inline
#define CONST       const
#define VOID        void

typedef char CHAR;
typedef unsigned char UCHAR, BYTE, BOOLEAN;
typedef BOOLEAN *PBOOLEAN;
typedef int16_t SHORT;
typedef uint16_t USHORT, WORD, WCHAR;
typedef int INT, BOOL, WINBOOL;
typedef int32_t LONG, NTSTATUS;
typedef unsigned int UINT;
typedef uint32_t ULONG, DWORD, ULONG32;
typedef int64_t LONGLONG, LONG64;
typedef uint64_t ULONGLONG, ULONG64, DWORD64;
typedef uintptr_t ULONG_PTR, DWORD_PTR, UINT_PTR;
typedef intptr_t LONG_PTR, INT_PTR;
typedef size_t SIZE_T;
typedef void *PVOID, *LPVOID, *HANDLE;
typedef const void *LPCVOID, *PCVOID;
typedef CHAR *PSTR, *LPSTR, *PCHAR;
typedef const CHAR *PCSTR, *LPCSTR;
typedef WCHAR *PWSTR, *LPWSTR, *PWCHAR;
typedef const WCHAR *PCWSTR, *LPCWSTR;
typedef BYTE *PBYTE, *LPBYTE;
typedef UCHAR *PUCHAR;
typedef USHORT *PUSHORT;
typedef BOOL *PBOOL, *LPBOOL;
typedef LONG *PLONG;
typedef ULONG *PULONG;
typedef DWORD *PDWORD, *LPDWORD;
typedef LONGLONG *PLONGLONG;
typedef ULONGLONG *PULONGLONG;
typedef HANDLE *PHANDLE;

#define TRUE                              1
#define FALSE                             0
#define MAX_PATH                          260
#define ANYSIZE_ARRAY                     1
#define INFINITE                          0xFFFFFFFFu
#define INVALID_HANDLE_VALUE              ((HANDLE)(LONG_PTR)-1)
#define TEXT(text)                        u##text
#define ZeroMemory(at, size)              memset((at), 0, (size))
#define UNREFERENCED_PARAMETER(parameter) ((void)(parameter))

typedef union _LARGE_INTEGER {
	struct {
		DWORD LowPart;
		LONG HighPart;
	};
	struct {
		DWORD LowPart;
		LONG HighPart;
	} u;
	LONGLONG QuadPart;
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
	struct {
		DWORD LowPart;
		DWORD HighPart;
	};
	struct {
		DWORD LowPart;
		DWORD HighPart;
	} u;
	ULONGLONG QuadPart;
} ULARGE_INTEGER, *PULARGE_INTEGER;

typedef struct _FILETIME {
	DWORD dwLowDateTime;
	DWORD dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;

typedef struct _SYSTEMTIME {
	WORD wYear, wMonth, wDayOfWeek, wDay, wHour, wMinute, wSecond, wMilliseconds;
} SYSTEMTIME;

typedef struct _TIME_ZONE_INFORMATION {
	LONG Bias;
	WCHAR StandardName[32];
	SYSTEMTIME StandardDate;
	LONG StandardBias;
	WCHAR DaylightName[32];
	SYSTEMTIME DaylightDate;
	LONG DaylightBias;
} TIME_ZONE_INFORMATION;

typedef struct _GUID {
	ULONG Data1;
	USHORT Data2;
	USHORT Data3;
	UCHAR Data4[8];
} GUID, *LPGUID, *PGUID;
typedef const GUID *LPCGUID, *REFGUID;

#define IsEqualGUID(a, b) (memcmp((a), (b), sizeof(GUID)) == 0)

/* As with the real header: a constant needs INITGUID in at least one file of the program. */
#ifdef INITGUID
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) \
	extern const GUID name;                                      \
	const GUID __attribute__((weak)) name = { l, w1, w2, { b1, b2, b3, b4, b5, b6, b7, b8 } }
#else
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) extern const GUID name
#endif

/* Error codes ("System Error Codes", Microsoft Learn). */
#define NO_ERROR                      0u
#define ERROR_SUCCESS                 0u
#define ERROR_INVALID_FUNCTION        1u
#define ERROR_FILE_NOT_FOUND          2u
#define ERROR_PATH_NOT_FOUND          3u
#define ERROR_ACCESS_DENIED           5u
#define ERROR_INVALID_HANDLE          6u
#define ERROR_NOT_ENOUGH_MEMORY       8u
#define ERROR_INVALID_DATA            13u
#define ERROR_OUTOFMEMORY             14u
#define ERROR_NO_MORE_FILES           18u
#define ERROR_NOT_READY               21u
#define ERROR_BAD_LENGTH              24u
#define ERROR_NOT_SUPPORTED           50u
#define ERROR_INVALID_PARAMETER       87u
#define ERROR_DISK_FULL               112u
#define ERROR_CALL_NOT_IMPLEMENTED    120u
#define ERROR_INSUFFICIENT_BUFFER     122u
#define ERROR_INVALID_NAME            123u
#define ERROR_INVALID_LEVEL           124u
#define ERROR_BAD_PATHNAME            161u
#define ERROR_BUSY                    170u
#define ERROR_ALREADY_EXISTS          183u
#define ERROR_FILENAME_EXCED_RANGE    206u
#define ERROR_MORE_DATA               234u
#define ERROR_NO_MORE_ITEMS           259u
#define ERROR_ARITHMETIC_OVERFLOW     534u
#define ERROR_NOACCESS                998u
#define ERROR_NO_UNICODE_TRANSLATION  1113u
#define ERROR_NOT_FOUND               1168u
#define ERROR_CANCELLED               1223u
#define ERROR_NOT_ALL_ASSIGNED        1300u
#define ERROR_NO_SUCH_PRIVILEGE       1313u
#define ERROR_PRIVILEGE_NOT_HELD      1314u
#define ERROR_NO_SYSTEM_RESOURCES     1450u
#define ERROR_TIMEOUT                 1460u
#define ERROR_RESOURCE_TYPE_NOT_FOUND 1813u
#define ERROR_UNRECOGNIZED_VOLUME     1005u
#define ERROR_SERVICE_NOT_ACTIVE      1062u
#define ERROR_INVALID_TIME            1901u
#define ERROR_ACTIVE_CONNECTIONS      2402u
#define ERROR_WMI_GUID_NOT_FOUND      4200u
#define ERROR_WMI_INSTANCE_NOT_FOUND  4201u
#define ERROR_WMI_ITEMID_NOT_FOUND    4202u
#define ERROR_WMI_ALREADY_ENABLED     4206u
#define ERROR_CTX_CLOSE_PENDING       7007u
#define ERROR_EVT_INVALID_EVENT_DATA  15005u

DWORD WINAPI GetLastError(void);
void WINAPI SetLastError(DWORD error);

#define SEM_FAILCRITICALERRORS 0x0001u

BOOL WINAPI SetThreadErrorMode(DWORD mode, LPDWORD old);
void WINAPI Sleep(DWORD milliseconds);
BOOL WINAPI CloseHandle(HANDLE handle);

BOOL WINAPI QueryPerformanceCounter(LARGE_INTEGER *count);
BOOL WINAPI QueryPerformanceFrequency(LARGE_INTEGER *frequency);
void WINAPI GetSystemTimePreciseAsFileTime(LPFILETIME time);
void WINAPI GetSystemTimeAsFileTime(LPFILETIME time);
ULONGLONG WINAPI GetTickCount64(void);

#define THREAD_PRIORITY_NORMAL       0
#define THREAD_PRIORITY_HIGHEST      2
#define THREAD_PRIORITY_ERROR_RETURN 0x7fffffff

HANDLE WINAPI GetCurrentThread(void);
int WINAPI GetThreadPriority(HANDLE thread);
BOOL WINAPI SetThreadPriority(HANDLE thread, int priority);

HANDLE WINAPI GetCurrentProcess(void);
DWORD WINAPI GetCurrentProcessId(void);
DWORD WINAPI GetCurrentThreadId(void);

typedef struct _SYSTEM_INFO {
	WORD wProcessorArchitecture;
	WORD wReserved;
	DWORD dwPageSize;
	LPVOID lpMinimumApplicationAddress;
	LPVOID lpMaximumApplicationAddress;
	DWORD_PTR dwActiveProcessorMask;
	DWORD dwNumberOfProcessors;
	DWORD dwProcessorType;
	DWORD dwAllocationGranularity;
	WORD wProcessorLevel;
	WORD wProcessorRevision;
} SYSTEM_INFO, *LPSYSTEM_INFO;

#define ALL_PROCESSOR_GROUPS 0xffff

void WINAPI GetSystemInfo(LPSYSTEM_INFO info);
void WINAPI GetNativeSystemInfo(LPSYSTEM_INFO info);
DWORD WINAPI GetActiveProcessorCount(WORD group);

typedef struct _OSVERSIONINFOW {
	ULONG dwOSVersionInfoSize;
	ULONG dwMajorVersion;
	ULONG dwMinorVersion;
	ULONG dwBuildNumber;
	ULONG dwPlatformId;
	WCHAR szCSDVersion[128];
} OSVERSIONINFOW, *LPOSVERSIONINFOW, RTL_OSVERSIONINFOW, *PRTL_OSVERSIONINFOW;

LONG WINAPI RtlGetVersion(PRTL_OSVERSIONINFOW version);

DWORD WINAPI GetLogicalDrives(void);
DWORD WINAPI QueryDosDeviceW(LPCWSTR device, LPWSTR target, DWORD size);
HANDLE WINAPI FindFirstVolumeW(LPWSTR volume, DWORD size);
BOOL WINAPI FindNextVolumeW(HANDLE find, LPWSTR volume, DWORD size);
BOOL WINAPI FindVolumeClose(HANDLE find);
BOOL WINAPI GetVolumePathNamesForVolumeNameW(LPCWSTR volume, LPWSTR paths, DWORD size,
					     PDWORD needed);
BOOL WINAPI GetVolumeInformationW(LPCWSTR root, LPWSTR name, DWORD name_size, LPDWORD serial,
				  LPDWORD component_length, LPDWORD flags, LPWSTR file_system,
				  DWORD file_system_size);

#define FILE_SHARE_READ  0x00000001u
#define FILE_SHARE_WRITE 0x00000002u
#define OPEN_EXISTING    3u

typedef struct _SECURITY_ATTRIBUTES *LPSECURITY_ATTRIBUTES;
typedef struct _OVERLAPPED *LPOVERLAPPED;

HANDLE WINAPI CreateFileW(LPCWSTR path, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES security,
			  DWORD creation, DWORD flags, HANDLE template_file);
BOOL WINAPI DeviceIoControl(HANDLE device, DWORD code, LPVOID in, DWORD in_size, LPVOID out,
			    DWORD out_size, LPDWORD returned, LPOVERLAPPED overlapped);

typedef LONG LSTATUS;
typedef struct HKEY__ *HKEY;

#define HKEY_LOCAL_MACHINE ((HKEY)(ULONG_PTR)0x80000002u)
#define RRF_RT_REG_DWORD   0x00000010u
#define RRF_RT_ANY         0x0000ffffu
#define REG_BINARY         3u
#define REG_DWORD          4u

#define REG_OPTION_VOLATILE 0x00000001u
#define KEY_SET_VALUE       0x0002u

typedef HKEY *PHKEY;
typedef DWORD REGSAM;

LSTATUS WINAPI RegGetValueW(HKEY key, LPCWSTR sub_key, LPCWSTR value, DWORD flags, LPDWORD type,
			    PVOID data, LPDWORD size);
LSTATUS WINAPI RegCreateKeyExW(HKEY key, LPCWSTR sub_key, DWORD reserved, LPWSTR class,
			       DWORD options, REGSAM rights, LPSECURITY_ATTRIBUTES security,
			       PHKEY result, LPDWORD disposition);
LSTATUS WINAPI RegSetValueExW(HKEY key, LPCWSTR value, DWORD reserved, DWORD type, const BYTE *data,
			      DWORD size);
LSTATUS WINAPI RegCloseKey(HKEY key);
LSTATUS WINAPI RegDeleteKeyValueW(HKEY key, LPCWSTR sub_key, LPCWSTR value);

typedef struct HINSTANCE__ *HMODULE;
typedef INT_PTR(WINAPI *FARPROC)(void);

HMODULE WINAPI GetModuleHandleW(LPCWSTR name);
FARPROC WINAPI GetProcAddress(HMODULE module, LPCSTR name);
PVOID WINAPI LocalFree(PVOID memory);

#define CP_UTF8              65001u
#define MB_ERR_INVALID_CHARS 0x00000008u
#define WC_ERR_INVALID_CHARS 0x00000080u

/* The fake knows CP_UTF8 only. */
int WINAPI MultiByteToWideChar(UINT code_page, DWORD flags, LPCSTR text, int size, LPWSTR wide,
			       int wide_size);
int WINAPI WideCharToMultiByte(UINT code_page, DWORD flags, LPCWSTR wide, int wide_size, LPSTR text,
			       int size, LPCSTR default_char, LPBOOL used_default);

typedef struct _LUID {
	DWORD LowPart;
	LONG HighPart;
} LUID, *PLUID;

typedef struct _LUID_AND_ATTRIBUTES {
	LUID Luid;
	DWORD Attributes;
} LUID_AND_ATTRIBUTES;

typedef struct _TOKEN_PRIVILEGES {
	DWORD PrivilegeCount;
	LUID_AND_ATTRIBUTES Privileges[ANYSIZE_ARRAY];
} TOKEN_PRIVILEGES, *PTOKEN_PRIVILEGES;

#define TOKEN_QUERY             0x0008u
#define TOKEN_ADJUST_PRIVILEGES 0x0020u
#define SE_PRIVILEGE_ENABLED    0x00000002u
#define SE_DEBUG_NAME           u"SeDebugPrivilege"
#define SE_SYSTEM_PROFILE_NAME  u"SeSystemProfilePrivilege"

BOOL WINAPI OpenProcessToken(HANDLE process, DWORD access, PHANDLE token);
BOOL WINAPI LookupPrivilegeValueW(LPCWSTR system, LPCWSTR name, PLUID luid);
BOOL WINAPI AdjustTokenPrivileges(HANDLE token, BOOL disable_all, PTOKEN_PRIVILEGES requested,
				  DWORD size, PTOKEN_PRIVILEGES previous, PDWORD returned);

_Static_assert(sizeof(LARGE_INTEGER) == 8 && sizeof(FILETIME) == 8 && sizeof(GUID) == 16, "size");
_Static_assert(sizeof(TIME_ZONE_INFORMATION) == 172, "size");
_Static_assert(sizeof(WCHAR) == sizeof(u'x'), "WCHAR is char16_t");

#endif
