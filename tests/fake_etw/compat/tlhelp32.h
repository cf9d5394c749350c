/* SPDX-License-Identifier: MIT */
/* Process snapshots; see windows.h in this folder. */
#ifndef FAKE_ETW_COMPAT_TLHELP32_H
#define FAKE_ETW_COMPAT_TLHELP32_H

#include "windows.h"

#define TH32CS_SNAPPROCESS 0x00000002u

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

HANDLE WINAPI CreateToolhelp32Snapshot(DWORD flags, DWORD process);
BOOL WINAPI Process32FirstW(HANDLE snapshot, LPPROCESSENTRY32W entry);
BOOL WINAPI Process32NextW(HANDLE snapshot, LPPROCESSENTRY32W entry);

_Static_assert(sizeof(PROCESSENTRY32W) == 568, "size");

#endif
