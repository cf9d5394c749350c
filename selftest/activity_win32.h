/* SPDX-License-Identifier: MIT */
/*
 * The steps of the self-test's activity (activity_steps_win32.c), which activity_win32.c performs.
 * Each step does its work, adds what it did to *done, and returns false with the reason if it
 * failed.
 */
#ifndef SELFTEST_ACTIVITY_WIN32_H
#define SELFTEST_ACTIVITY_WIN32_H

/* must precede windows.h */
#include <winsock2.h>

#include <windows.h>

#include "selftest/self_test.h"

enum { ACTIVITY_PIECE_BYTES = 4096 };

struct activity_work {
	struct activity_work_options options; /* defaults have replaced zeros */
	wchar_t folder[MAX_PATH];             /* has all files; no backslash at its end */
	HANDLE held;           /* file of ACTIVITY_HELD_FILE, or INVALID_HANDLE_VALUE */
	wchar_t drive;         /* letter of the new volume; 0: none */
	ULONGLONG drive_since; /* GetTickCount64() when the volume was attached */
};

/* Waits that many milliseconds. Returns false if the program was requested to stop. */
bool activity_sleep(const struct activity_work *work, uint64_t ms, struct etw_error *err);

/*
 * Starts a program without a window and without handles of this process. program: its path.
 * arguments: the command line after its name. job: the job object that it and its child processes
 * belong to; NULL: none. Returns NULL on failure; activity_wait() closes the handle.
 */
HANDLE activity_start(const wchar_t *program, const wchar_t *arguments, HANDLE job,
		      struct etw_error *err);
/* Waits until the process has ended, and closes the handle. A process that does not end in time is
 * terminated. Returns false with the reason if that happened or its exit status was not 0. */
bool activity_wait(HANDLE process, DWORD ms, struct etw_error *err);

/* ---- steps ---- */

bool activity_open_held_file(struct activity_work *work, struct etw_error *err);
bool activity_held_file(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_cached(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_write_through(struct activity_work *work, struct activity *done,
			    struct etw_error *err);
bool activity_unbuffered(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_mapped(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_delete_files(struct activity_work *work, struct activity *done,
			   struct etw_error *err);
bool activity_ipv4(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_ipv6(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_attach_volume(struct activity_work *work, struct activity *done,
			    struct etw_error *err);
bool activity_use_volume(struct activity_work *work, struct activity *done, struct etw_error *err);
void activity_detach_volume(struct activity_work *work); /* does nothing if there is no volume */

#endif
