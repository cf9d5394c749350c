/* SPDX-License-Identifier: MIT */
/*
 * Files of Windows.
 *
 * Paths are UTF-8 and become UTF-16 here. A file that is opened for reading keeps the size that it
 * had then; a stream (a pipe, a socket, a device) has no size. Other programs may write to an open
 * file, because recordings are often still written.
 */
#include "base/os.h"

#include <fcntl.h>
#include <inttypes.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <sddl.h>

#include "base/os_win32.h"

/* The state that os_file_change() compares. */
struct file_seen {
	uint64_t size;
	uint64_t written; /* FILETIME */
	DWORD links;
};

struct os_file {
	HANDLE handle;
	uint64_t size;
	struct file_seen seen;
	bool is_stream; /* it is read once, from beginning to end */
	bool temporary; /* no other program can change it */
};

FILE *os_file_stream(const char *path, const char *mode)
{
	wchar_t *wide = wide_from(path), *wide_mode = wide_from(mode);
	FILE *stream = wide && wide_mode ? _wfopen(wide, wide_mode) : NULL;

	free(wide);
	free(wide_mode);
	return stream;
}

/*
 * Creates a file with its own access list. Otherwise it would inherit the rights of its folder, and
 * every account may read files below C:\ProgramData. P: nothing is inherited; FA: all rights, for
 * the owner, the system and administrators ("Security Descriptor String Format", "SID Strings",
 * Microsoft Learn). Returns INVALID_HANDLE_VALUE on failure; GetLastError() has the reason.
 */
static HANDLE create_private(const char *path)
{
	static const wchar_t rights[] = L"D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)";
	SECURITY_ATTRIBUTES security = { .nLength = sizeof security };
	HANDLE file = INVALID_HANDLE_VALUE;
	wchar_t *wide = wide_from(path);
	DWORD error;

	if (wide && ConvertStringSecurityDescriptorToSecurityDescriptorW(
			    rights, SDDL_REVISION_1, &security.lpSecurityDescriptor, NULL)) {
		file = CreateFileW(wide, GENERIC_WRITE, FILE_SHARE_READ, &security, CREATE_ALWAYS,
				   FILE_ATTRIBUTE_NORMAL, NULL);
	}
	error = GetLastError();
	LocalFree(security.lpSecurityDescriptor);
	free(wide);
	SetLastError(error);
	return file;
}

FILE *os_file_create(const char *path, struct etw_error *err)
{
	HANDLE handle = create_private(path);
	int fd = -1;
	FILE *file = NULL;

	if (handle == INVALID_HANDLE_VALUE) {
		error_set_last(err, "cannot create");
		return NULL;
	}
	fd = _open_osfhandle((intptr_t)handle, _O_BINARY);
	if (fd < 0) {
		CloseHandle(handle);
	} else {
		file = _fdopen(fd, "wb");
	}
	if (!file) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot create: too many open files");
		if (fd >= 0) {
			_close(fd);
		}
	}
	return file;
}

static bool flush_to_disk(const wchar_t *path, struct etw_error *err)
{
	HANDLE file = CreateFileW(path, GENERIC_WRITE,
				  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
				  OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
	bool flushed = file != INVALID_HANDLE_VALUE && FlushFileBuffers(file);

	if (!flushed) {
		error_set_last(err, "cannot be written to the disk");
	}
	if (file != INVALID_HANDLE_VALUE) {
		CloseHandle(file);
	}
	return flushed;
}

bool os_file_publish(const char *from, const char *to, struct etw_error *err)
{
	wchar_t *wide_from_name = wide_from(from), *wide_to_name = wide_from(to);
	bool good = wide_from_name && wide_to_name;

	if (!good) {
		error_set_last(err, "cannot be renamed");
	} else if (!flush_to_disk(wide_from_name, err)) {
		good = false;
	} else if (!MoveFileExW(wide_from_name, wide_to_name, MOVEFILE_REPLACE_EXISTING)) {
		error_set_last(err, "cannot be renamed");
		good = false;
	}
	free(wide_from_name);
	free(wide_to_name);
	return good;
}

bool os_file_remove(const char *path, struct etw_error *err)
{
	wchar_t *wide = wide_from(path);
	bool good = wide && (DeleteFileW(wide) || GetLastError() == ERROR_FILE_NOT_FOUND);

	if (!good) {
		error_set_last(err, "cannot be removed");
	}
	free(wide);
	return good;
}

uint64_t os_disk_free_bytes(const char *folder)
{
	wchar_t *wide = wide_from(folder);
	ULARGE_INTEGER bytes;
	bool known = wide && GetDiskFreeSpaceExW(wide, &bytes, NULL, NULL);

	free(wide);
	return known ? bytes.QuadPart : UINT64_MAX;
}

bool os_file_write_whole(const char *path, const char *bytes, size_t size, struct etw_error *err)
{
	enum { PIECE = 1 << 20 };
	HANDLE file = create_private(path);
	bool written = file != INVALID_HANDLE_VALUE;

	for (size_t at = 0; written && at < size;) {
		DWORD more = 0;

		written = WriteFile(file, bytes + at,
				    (DWORD)(size - at < PIECE ? size - at : PIECE), &more, NULL) &&
			  more > 0;
		at += more;
	}
	if (!written) {
		error_set_last(err, "cannot be written");
	}
	if (file != INVALID_HANDLE_VALUE) {
		CloseHandle(file);
	}
	return written;
}

static struct file_seen seen_of(const BY_HANDLE_FILE_INFORMATION *facts)
{
	return (struct file_seen){
		.size = (uint64_t)facts->nFileSizeHigh << 32 | facts->nFileSizeLow,
		.written = (uint64_t)facts->ftLastWriteTime.dwHighDateTime << 32 |
			   facts->ftLastWriteTime.dwLowDateTime,
		.links = facts->nNumberOfLinks,
	};
}

const char *os_file_change(struct os_file *file)
{
	const struct file_seen before = file->seen;
	BY_HANDLE_FILE_INFORMATION facts;

	if (file->temporary || !GetFileInformationByHandle(file->handle, &facts)) {
		return NULL;
	}
	file->seen = seen_of(&facts);
	return file->seen.size > before.size             ? "has become longer" :
	       file->seen.size < before.size             ? "has become shorter" :
	       file->seen.links == 0 && before.links > 0 ? "was removed" :
	       file->seen.written != before.written      ? "was overwritten" :
							   NULL;
}

/* Makes a file from a handle and owns it; on failure the handle is closed. */
static struct os_file *file_over(HANDLE handle, bool any, struct etw_error *err)
{
	struct os_file *file = calloc(1, sizeof *file);
	BY_HANDLE_FILE_INFORMATION facts;
	LARGE_INTEGER size;
	DWORD type = GetFileType(handle), mode;
	bool examined;

	if (!file) {
		CloseHandle(handle);
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to open a file");
		return NULL;
	}
	file->handle = handle;
	examined = type == FILE_TYPE_DISK && GetFileInformationByHandle(handle, &facts) &&
		   GetFileSizeEx(handle, &size);
	/* In Wine these facts are missing if the standard input is redirected from a file. */
	if (any && !examined) {
		file->is_stream = !GetConsoleMode(handle, &mode);
		if (file->is_stream) {
			return file;
		}
		error_set(err, ETW_ERROR_UNSUPPORTED, "is a terminal, not a regular file");
		goto fail;
	}
	if (type != FILE_TYPE_DISK) {
		error_set(err, ETW_ERROR_UNSUPPORTED,
			  "is a device, pipe or socket, not a regular file");
		goto fail;
	}
	if (!examined) {
		error_set_last(err, "cannot be examined");
		goto fail;
	}
	if (facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) {
		error_set(err, ETW_ERROR_UNSUPPORTED, "is a directory, not a regular file");
		goto fail;
	}
	file->size = (uint64_t)size.QuadPart;
	file->seen = seen_of(&facts);
	return file;

fail:
	os_file_close(file);
	return NULL;
}

static struct os_file *file_open(const char *path, bool any, struct etw_error *err)
{
	wchar_t *wide = wide_from(path);
	HANDLE handle;

	if (!wide) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened: its name is not UTF-8");
		return NULL;
	}
	/* Other programs may continue to write, rename and delete the file, since recordings are
	 * often still written. Without backup semantics the error for a folder would be "access
	 * denied". */
	handle = CreateFileW(wide, GENERIC_READ,
			     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			     OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	free(wide);
	if (handle == INVALID_HANDLE_VALUE) {
		error_set_last(err, "cannot be opened");
		return NULL;
	}
	return file_over(handle, any, err);
}

struct os_file *os_file_open(const char *path, struct etw_error *err)
{
	return file_open(path, false, err);
}

static HANDLE duplicate(HANDLE handle)
{
	HANDLE other;

	return DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &other, 0, FALSE,
			       DUPLICATE_SAME_ACCESS) ?
		       other :
		       NULL;
}

struct os_file *os_file_open_any(const char *path, struct etw_error *err)
{
	HANDLE handle;

	if (strcmp(path, "-") != 0) {
		return file_open(path, true, err);
	}
	handle = duplicate(GetStdHandle(STD_INPUT_HANDLE));
	if (!handle) {
		error_set_last(err, "cannot be opened");
		return NULL;
	}
	return file_over(handle, true, err);
}

bool os_file_is_stream(const struct os_file *file)
{
	return file->is_stream;
}

bool os_file_next(struct os_file *file, void *bytes, size_t size, size_t *got,
		  struct etw_error *err)
{
	/*
	 * A read of 0 bytes does not end a pipe: a writer may write 0 bytes, and the end is an
	 * error. But in Wine a pipe of the host ends with 0 bytes from every read, so after this
	 * many the pipe counts as ended.
	 */
	enum { EMPTY_READS_MAX = 16 };
	DWORD part = size < 1 << 30 ? (DWORD)size : 1 << 30;
	DWORD step = 0;

	for (unsigned i = 0; step == 0 && i < EMPTY_READS_MAX; i++) {
		if (!ReadFile(file->handle, bytes, part, &step, NULL)) {
			if (GetLastError() != ERROR_BROKEN_PIPE &&
			    GetLastError() != ERROR_HANDLE_EOF) {
				return error_set_last(err, "cannot be read");
			}
			step = 0;
			break;
		}
	}
	*got = step;
	return true;
}

struct os_file *os_file_temporary(struct etw_error *err)
{
	wchar_t folder[MAX_PATH + 1], path[MAX_PATH];
	struct os_file *file;
	HANDLE handle;

	/* GetTempFileNameW() also creates the file. It is then opened without sharing, so that no
	 * other program can open it. */
	if (GetTempPathW(MAX_PATH + 1, folder) == 0 ||
	    GetTempFileNameW(folder, L"etw", 0, path) == 0) {
		error_set_last(err, "no temporary file can be made");
		return NULL;
	}
	handle = CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE, 0, NULL, CREATE_ALWAYS,
			     FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
	if (handle == INVALID_HANDLE_VALUE) {
		error_set_last(err, "no temporary file can be made");
		DeleteFileW(path);
		return NULL;
	}
	file = file_over(handle, false, err);
	if (file) {
		file->temporary = true;
	}
	return file;
}

bool os_file_is_temporary(const struct os_file *file)
{
	return file->temporary;
}

bool os_file_append(struct os_file *file, const void *bytes, size_t size, struct etw_error *err)
{
	for (size_t done = 0; done < size;) {
		uint64_t at = file->size + done;
		OVERLAPPED position = { .Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32) };
		DWORD part = size - done < 1 << 30 ? (DWORD)(size - done) : 1 << 30;
		DWORD step = 0;

		if (!WriteFile(file->handle, (const char *)bytes + done, part, &step, &position)) {
			return error_set_last(err, "a temporary file cannot be written");
		}
		done += step;
	}
	file->size += size;
	return true;
}

struct os_file *os_file_share(const struct os_file *file, struct etw_error *err)
{
	HANDLE handle = duplicate(file->handle);
	struct os_file *shared;

	if (!handle) {
		error_set_last(err, "cannot be opened once more");
		return NULL;
	}
	shared = file_over(handle, file->is_stream, err);
	if (shared) {
		shared->temporary = file->temporary;
	}
	return shared;
}

void os_file_close(struct os_file *file)
{
	if (!file) {
		return;
	}
	if (file->handle != INVALID_HANDLE_VALUE) {
		CloseHandle(file->handle);
	}
	free(file);
}

uint64_t os_file_size(const struct os_file *file)
{
	return file->size;
}

void os_file_stamp(const char *path, struct os_file_stamp *stamp)
{
	struct os_file *file = os_file_open(path, NULL);
	BY_HANDLE_FILE_INFORMATION facts;

	*stamp = (struct os_file_stamp){ 0 };
	if (file && GetFileInformationByHandle(file->handle, &facts)) {
		stamp->volume = facts.dwVolumeSerialNumber;
		stamp->number = (uint64_t)facts.nFileIndexHigh << 32 | facts.nFileIndexLow;
		stamp->size = (uint64_t)facts.nFileSizeHigh << 32 | facts.nFileSizeLow;
		stamp->written = (uint64_t)facts.ftLastWriteTime.dwHighDateTime << 32 |
				 facts.ftLastWriteTime.dwLowDateTime;
		stamp->changed = (uint64_t)facts.ftCreationTime.dwHighDateTime << 32 |
				 facts.ftCreationTime.dwLowDateTime;
	}
	os_file_close(file);
}

bool os_file_is_public(const char *path)
{
	(void)path;
	return false;
}

bool os_file_read(struct os_file *file, uint64_t offset, void *bytes, size_t size, size_t *got,
		  struct etw_error *err)
{
	size_t done = 0;

	if (offset >= file->size) {
		*got = 0;
		return true;
	}
	if (size > file->size - offset) {
		size = (size_t)(file->size - offset);
	}
	while (done < size) {
		uint64_t at = offset + done;
		/* The position for ReadFile() on a handle that was opened for synchronous reading.
		 */
		OVERLAPPED position = {
			.Offset = (DWORD)at,
			.OffsetHigh = (DWORD)(at >> 32),
		};
		DWORD part = size - done < 1 << 30 ? (DWORD)(size - done) : 1 << 30;
		DWORD step = 0;

		if (!ReadFile(file->handle, (char *)bytes + done, part, &step, &position) &&
		    GetLastError() != ERROR_HANDLE_EOF) {
			error_set_last(err, "cannot be read");
			return error_prefix(err, "%zu bytes at %" PRIu64, size - done, at);
		}
		if (step == 0) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "ends at %" PRIu64 ", but had %" PRIu64
					 " bytes when it was opened: cut short meanwhile",
					 at, file->size);
		}
		done += step;
	}
	*got = done;
	return true;
}
