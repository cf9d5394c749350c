/* SPDX-License-Identifier: MIT */
/* The service control manager; see windows.h in this folder. */
#ifndef FAKE_ETW_COMPAT_WINSVC_H
#define FAKE_ETW_COMPAT_WINSVC_H

#include "windows.h"

#define SC_MANAGER_CONNECT           0x0001u
#define SC_MANAGER_ENUMERATE_SERVICE 0x0004u
#define SERVICE_WIN32                0x00000030u
#define SERVICE_WIN32_OWN_PROCESS    0x00000010u
#define SERVICE_WIN32_SHARE_PROCESS  0x00000020u
#define SERVICE_ACTIVE               0x00000001u
#define SERVICE_RUNNING              0x00000004u

typedef struct SC_HANDLE__ *SC_HANDLE;
typedef enum _SC_ENUM_TYPE { SC_ENUM_PROCESS_INFO = 0 } SC_ENUM_TYPE;

typedef struct _SERVICE_STATUS_PROCESS {
	DWORD dwServiceType;
	DWORD dwCurrentState;
	DWORD dwControlsAccepted;
	DWORD dwWin32ExitCode;
	DWORD dwServiceSpecificExitCode;
	DWORD dwCheckPoint;
	DWORD dwWaitHint;
	DWORD dwProcessId;
	DWORD dwServiceFlags;
} SERVICE_STATUS_PROCESS, *LPSERVICE_STATUS_PROCESS;

typedef struct _ENUM_SERVICE_STATUS_PROCESSW {
	LPWSTR lpServiceName;
	LPWSTR lpDisplayName;
	SERVICE_STATUS_PROCESS ServiceStatusProcess;
} ENUM_SERVICE_STATUS_PROCESSW, *LPENUM_SERVICE_STATUS_PROCESSW;

SC_HANDLE WINAPI OpenSCManagerW(LPCWSTR machine, LPCWSTR database, DWORD access);
BOOL WINAPI EnumServicesStatusExW(SC_HANDLE manager, SC_ENUM_TYPE level, DWORD type, DWORD state,
				  LPBYTE services, DWORD size, LPDWORD needed, LPDWORD count,
				  LPDWORD resume, LPCWSTR group);
BOOL WINAPI CloseServiceHandle(SC_HANDLE handle);

_Static_assert(sizeof(SERVICE_STATUS_PROCESS) == 36, "size");
_Static_assert(sizeof(ENUM_SERVICE_STATUS_PROCESSW) == 56, "size");

#endif
