/* SPDX-License-Identifier: MIT */
/*
 * Writes the files of the self-test's activity. Each way of writing has its own file, so that each
 * is counted apart.
 *
 * A file is written in pieces of one size, and the sizes that Windows returns are summed up.
 * Therefore written bytes are exact: every request is one FileIo/Write event with its size.
 * docs/windows.md, "How writes appear", describes what Windows does for a request. Stores to a
 * mapped file are not requests; they are flushed, so that the paging I/O comes while the session
 * runs.
 *
 * Unbuffered writes need an address and sizes that are multiples of the sector size ("File
 * Buffering", Microsoft Learn); memory of VirtualAlloc() begins at a page.
 */
#include <string.h>
#include <wchar.h>

#include "selftest/activity_win32.h"

#include "base/os_win32.h"

enum {
	PIECES = 64,
	SLOW_PIECES = 16, /* few, because each waits for the disk */
	MAPPED_BYTES = 64 * ACTIVITY_PIECE_BYTES,
};

/* piece: ACTIVITY_PIECE_BYTES. */
static bool write_pieces(HANDLE file, const char *piece, unsigned pieces, uint64_t *written,
			 struct etw_error *err)
{
	DWORD size;

	for (unsigned i = 0; i < pieces; i++) {
		if (!WriteFile(file, piece, ACTIVITY_PIECE_BYTES, &size, NULL)) {
			return error_set_last(err, "a temporary file cannot be written");
		}
		*written += size;
	}
	return true;
}

static HANDLE create_file(const wchar_t *path, DWORD flags, struct etw_error *err)
{
	HANDLE file =
		CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_NEW, flags, NULL);

	if (file == INVALID_HANDLE_VALUE) {
		error_set_last(err, "a temporary file cannot be created");
	}
	return file;
}

bool activity_write_file(const wchar_t *path, DWORD flags, unsigned pieces, uint64_t *written,
			 struct etw_error *err)
{
	HANDLE file = create_file(path, flags, err);
	char *piece;
	bool good;

	if (file == INVALID_HANDLE_VALUE) {
		return false;
	}
	piece = VirtualAlloc(NULL, ACTIVITY_PIECE_BYTES, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
	good = piece ? write_pieces(file, piece, pieces, written, err) :
		       error_no_memory(err, "the self-test");
	CloseHandle(file);
	if (piece) {
		VirtualFree(piece, 0, MEM_RELEASE);
	}
	return good;
}

/* ---- cached ---- */

static bool read_pieces(HANDLE file, unsigned pieces, uint64_t *read, struct etw_error *err)
{
	char piece[ACTIVITY_PIECE_BYTES];
	DWORD size;

	if (SetFilePointer(file, 0, NULL, FILE_BEGIN) != 0) {
		return error_set_last(err, "a temporary file cannot be read");
	}
	for (unsigned i = 0; i < pieces; i++) {
		if (!ReadFile(file, piece, sizeof piece, &size, NULL)) {
			return error_set_last(err, "a temporary file cannot be read");
		}
		*read += size;
	}
	return true;
}

bool activity_cached(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	static const char piece[ACTIVITY_PIECE_BYTES];
	wchar_t path[MAX_PATH];
	HANDLE file;
	bool good;

	if (!activity_path(work, L"cached.dat", path, err)) {
		return false;
	}
	file = create_file(path, FILE_ATTRIBUTE_TEMPORARY, err);
	if (file == INVALID_HANDLE_VALUE) {
		return false;
	}
	good = write_pieces(file, piece, PIECES, &done->written_bytes[ACTIVITY_CACHED], err) &&
	       read_pieces(file, PIECES, &done->read_bytes, err);
	CloseHandle(file);
	return good;
}

/* ---- opened before the session ---- */

bool activity_open_held_file(struct activity_work *work, struct etw_error *err)
{
	static const char piece[ACTIVITY_PIECE_BYTES];
	uint64_t written = 0; /* not counted: the session does not run yet */
	wchar_t path[MAX_PATH];

	if (!activity_path(work, L"held.dat", path, err)) {
		return false;
	}
	work->held = create_file(path, 0, err);
	return work->held != INVALID_HANDLE_VALUE &&
	       write_pieces(work->held, piece, 1, &written, err);
}

bool activity_held_file(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	static const char piece[ACTIVITY_PIECE_BYTES];
	bool good;

	if (work->held == INVALID_HANDLE_VALUE) {
		return error_set(err, ETW_ERROR_SYSTEM, "no file was opened before the session");
	}
	good = write_pieces(work->held, piece, PIECES, &done->written_bytes[ACTIVITY_HELD_FILE],
			    err);
	CloseHandle(work->held);
	work->held = INVALID_HANDLE_VALUE;
	return good;
}

/* ---- writes that bypass the cache ---- */

bool activity_write_through(struct activity_work *work, struct activity *done,
			    struct etw_error *err)
{
	wchar_t path[MAX_PATH];

	return activity_path(work, L"through.dat", path, err) &&
	       activity_write_file(path, FILE_FLAG_WRITE_THROUGH, SLOW_PIECES,
				   &done->written_bytes[ACTIVITY_WRITE_THROUGH], err);
}

bool activity_unbuffered(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	wchar_t path[MAX_PATH];

	return activity_path(work, L"unbuffered.dat", path, err) &&
	       activity_write_file(path, FILE_FLAG_NO_BUFFERING, SLOW_PIECES,
				   &done->written_bytes[ACTIVITY_UNBUFFERED], err);
}

/* ---- mapped ---- */

static bool store_to(HANDLE mapping, struct etw_error *err)
{
	char *view = MapViewOfFile(mapping, FILE_MAP_WRITE, 0, 0, MAPPED_BYTES);
	bool good;

	if (!view) {
		return error_set_last(err, "a temporary file cannot be mapped");
	}
	memset(view, 'e', MAPPED_BYTES);
	good = FlushViewOfFile(view, MAPPED_BYTES) ||
	       error_set_last(err, "a mapped file cannot be flushed");
	UnmapViewOfFile(view);
	return good;
}

bool activity_mapped(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	wchar_t path[MAX_PATH];
	HANDLE file, mapping;
	bool good;

	if (!activity_path(work, L"mapped.dat", path, err)) {
		return false;
	}
	file = create_file(path, 0, err);
	if (file == INVALID_HANDLE_VALUE) {
		return false;
	}
	mapping = CreateFileMappingW(file, NULL, PAGE_READWRITE, 0, MAPPED_BYTES, NULL);
	if (mapping) {
		good = store_to(mapping, err);
		CloseHandle(mapping);
	} else {
		good = error_set_last(err, "a temporary file cannot be mapped");
	}
	if (good && !FlushFileBuffers(file)) {
		good = error_set_last(err, "a mapped file cannot be flushed");
	}
	CloseHandle(file);
	done->written_bytes[ACTIVITY_MAPPED] += good ? MAPPED_BYTES : 0;
	return good;
}

/* ---- the end ---- */

bool activity_delete_files(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	WIN32_FIND_DATAW entry;
	wchar_t path[MAX_PATH];
	HANDLE search;
	bool good = true;

	if (!activity_path(work, L"*.dat", path, err)) {
		return false;
	}
	search = FindFirstFileW(path, &entry);
	if (search == INVALID_HANDLE_VALUE) {
		return true;
	}
	do {
		if (activity_path(work, entry.cFileName, path, err) && DeleteFileW(path)) {
			done->deletes++;
		} else {
			good = error_set_last(err, "a temporary file cannot be deleted");
		}
	} while (FindNextFileW(search, &entry));
	FindClose(search);
	return good;
}
