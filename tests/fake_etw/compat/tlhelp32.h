/* SPDX-License-Identifier: MIT */
/* Snapshots of processes and threads; see windows.h in this folder. */
#ifndef FAKE_ETW_COMPAT_TLHELP32_H
#define FAKE_ETW_COMPAT_TLHELP32_H

#include "windows.h"

#define TH32CS_SNAPPROCESS 0x00000002u
#define TH32CS_SNAPTHREAD  0x00000004u

typedef struct tagPROCESSENTRY32W {
	DWORD dwSize;
	DWORD cntUsage;
	DWORD th32ProcessID;
	ULONG_PTR th32DefaultHeapID;
	DWORD th32ModuleID;
	DWORD cntThreads;
	DWORD th32ParentProcessID;
	LONG pcPriClassBase;
	DWORD dwFlags;
	WCHAR szExeFile[MAX_PATH];
} PROCESSENTRY32W, *PPROCESSENTRY32W, *LPPROCESSENTRY32W;

typedef struct tagTHREADENTRY32 {
	DWORD dwSize;
	DWORD cntUsage;
	DWORD th32ThreadID;
	DWORD th32OwnerProcessID;
	LONG tpBasePri;
	LONG tpDeltaPri;
	DWORD dwFlags;
} THREADENTRY32, *PTHREADENTRY32, *LPTHREADENTRY32;

HANDLE WINAPI CreateToolhelp32Snapshot(DWORD flags, DWORD process);
BOOL WINAPI Process32FirstW(HANDLE snapshot, LPPROCESSENTRY32W entry);
BOOL WINAPI Process32NextW(HANDLE snapshot, LPPROCESSENTRY32W entry);
BOOL WINAPI Thread32First(HANDLE snapshot, LPTHREADENTRY32 entry);
BOOL WINAPI Thread32Next(HANDLE snapshot, LPTHREADENTRY32 entry);

_Static_assert(sizeof(PROCESSENTRY32W) == 568, "size");
_Static_assert(sizeof(THREADENTRY32) == 28, "size");

#endif
