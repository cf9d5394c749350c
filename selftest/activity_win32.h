/* SPDX-License-Identifier: MIT */
/*
 * The parts of the self-test's activity, for activity_win32.c alone. Each does its work, adds what
 * it did to *done, and returns false with the reason when it could not.
 */
#ifndef SELFTEST_ACTIVITY_WIN32_H
#define SELFTEST_ACTIVITY_WIN32_H

/* before windows.h */
#include <winsock2.h>

#include <windows.h>

#include "selftest/self_test.h"

enum { ACTIVITY_PIECE_BYTES = 4096 };

struct activity_work {
	struct activity_work_options options; /* no zeros */
	wchar_t folder[MAX_PATH];             /* of its files; no backslash at its end */
	HANDLE held;           /* the file of ACTIVITY_HELD_FILE, or INVALID_HANDLE_VALUE */
	wchar_t drive;         /* the letter of the new volume; 0: there is none */
	ULONGLONG drive_since; /* GetTickCount64() */
};

/* Waits; false if the program was requested to stop. */
bool activity_sleep(const struct activity_work *work, uint64_t ms, struct etw_error *err);

/* The path of a file in the folder; false if it is too long. */
bool activity_path(const struct activity_work *work, const wchar_t *name, wchar_t path[MAX_PATH],
		   struct etw_error *err);

/*
 * Starts a program, without a window, and without handles of ours. program: its path; arguments:
 * what stands behind its name; job: it belongs to that job object, with all that it starts; NULL:
 * to none of ours. NULL on failure; the caller closes the handle.
 */
HANDLE activity_start(const wchar_t *program, const wchar_t *arguments, HANDLE job,
		      struct etw_error *err);
/* Waits until the process has ended, and closes the handle. False, with the reason, if its status
 * was not 0, or if it did not end in time; then it is ended here. */
bool activity_wait(HANDLE process, DWORD ms, struct etw_error *err);

/* ---- activity_files_win32.c ---- */

bool activity_open_held_file(struct activity_work *work, struct etw_error *err);
bool activity_held_file(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_cached(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_write_through(struct activity_work *work, struct activity *done,
			    struct etw_error *err);
bool activity_unbuffered(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_mapped(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_delete_files(struct activity_work *work, struct activity *done,
			   struct etw_error *err);
/* Creates a file and writes pieces to it, which are added to *written. */
bool activity_write_file(const wchar_t *path, DWORD flags, unsigned pieces, uint64_t *written,
			 struct etw_error *err);

/* ---- activity_network_win32.c ---- */

bool activity_ipv4(struct activity_work *work, struct activity *done, struct etw_error *err);
bool activity_ipv6(struct activity_work *work, struct activity *done, struct etw_error *err);

/* ---- activity_volume_win32.c ---- */

bool activity_attach_volume(struct activity_work *work, struct activity *done,
			    struct etw_error *err);
bool activity_use_volume(struct activity_work *work, struct activity *done, struct etw_error *err);
void activity_detach_volume(struct activity_work *work); /* if there is one */

#endif
