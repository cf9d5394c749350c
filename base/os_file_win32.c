/* SPDX-License-Identifier: MIT */
/*
 * Files of Windows.
 *
 * Paths are UTF-8 and become UTF-16 here. A file that is opened for reading keeps the size that it
 * had then; a stream (a pipe, a socket, a device) has no size. Other programs may write to an open
 * file, because recordings are often still written.
 */
#include "base/os.h"

#include <inttypes.h>
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
	wchar_t *name;  /* owned; the name that a new file gets when it is published; otherwise NULL
			 */
	char *partial;  /* owned; the path that a visible new file has until then; otherwise NULL */
};

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

static void drop_name(struct os_file *file)
{
	free(file->name);
	free(file->partial);
	file->name = NULL;
	file->partial = NULL;
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

/* ---- new files ---- */

static bool write_at(struct os_file *file, uint64_t offset, const void *bytes, size_t size,
		     struct etw_error *err)
{
	for (size_t done = 0; done < size;) {
		uint64_t at = offset + done;
		OVERLAPPED position = { .Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32) };
		DWORD part = size - done < 1 << 30 ? (DWORD)(size - done) : 1 << 30;
		DWORD step = 0;

		if (!WriteFile(file->handle, (const char *)bytes + done, part, &step, &position)) {
			return error_set_last(err, file->temporary ?
							   "a temporary file cannot be written" :
							   "cannot be written");
		}
		done += step;
	}
	return true;
}

/*
 * Sets whether the system removes the file when its last handle is closed, also when the program is
 * killed ("FILE_DISPOSITION_INFO structure", Microsoft Learn). Until then no other program can open
 * it.
 */
static bool set_doomed(HANDLE file, bool doomed)
{
	FILE_DISPOSITION_INFO info = { .DeleteFile = doomed };

	return SetFileInformationByHandle(file, FileDispositionInfo, &info, sizeof info);
}

/*
 * Creates a file with its own access list. Otherwise it would inherit the rights of its folder, and
 * every account may read files below C:\ProgramData. P: nothing is inherited; FA: all rights, for
 * the owner, the system and administrators ("Security Descriptor String Format", "SID Strings",
 * Microsoft Learn). FILE_FLAG_OPEN_REPARSE_POINT: a link of this name counts as a file that exists.
 * Returns INVALID_HANDLE_VALUE on failure; GetLastError() has the reason.
 */
static HANDLE create_private(const wchar_t *path)
{
	static const wchar_t rights[] = L"D:P(A;;FA;;;OW)(A;;FA;;;SY)(A;;FA;;;BA)";
	SECURITY_ATTRIBUTES security = { .nLength = sizeof security };
	HANDLE file = INVALID_HANDLE_VALUE;
	DWORD error;

	if (ConvertStringSecurityDescriptorToSecurityDescriptorW(
		    rights, SDDL_REVISION_1, &security.lpSecurityDescriptor, NULL)) {
		file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_READ,
				   &security, CREATE_NEW,
				   FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	}
	error = GetLastError();
	LocalFree(security.lpSecurityDescriptor);
	SetLastError(error);
	return file;
}

/* Creates a file under a random name beside the path. On success *partial is its path, which the
 * caller frees. */
static HANDLE create_partial(const char *path, char **partial)
{
	HANDLE file = INVALID_HANDLE_VALUE;
	bool again = true;

	for (unsigned i = 0; i < OS_PARTIAL_TRIES && again; i++) {
		char *name = os_partial_name(path);
		wchar_t *wide = name ? wide_from(name) : NULL;

		SetLastError(ERROR_NOT_ENOUGH_MEMORY);
		file = wide ? create_private(wide) : INVALID_HANDLE_VALUE;
		again = file == INVALID_HANDLE_VALUE && GetLastError() == ERROR_FILE_EXISTS;
		free(wide);
		if (file != INVALID_HANDLE_VALUE) {
			*partial = name;
		} else {
			free(name);
		}
	}
	return file;
}

/* Only a regular file or a link to one may be replaced: not a folder, a device or a pipe. */
static bool may_replace(const char *path, struct etw_error *err)
{
	wchar_t *wide = wide_from(path);
	HANDLE handle = INVALID_HANDLE_VALUE;
	struct os_file *file;

	if (wide) {
		handle = CreateFileW(wide, FILE_READ_ATTRIBUTES,
				     FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
				     OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	}
	free(wide);
	if (handle == INVALID_HANDLE_VALUE) {
		return true; /* it does not exist, or publishing it will fail */
	}
	file = file_over(handle, false, err);
	os_file_close(file);
	return file != NULL;
}

struct os_file *os_file_new(const char *path, bool visible, struct etw_error *err)
{
	wchar_t *wide;
	struct os_file *file = NULL;
	char *partial = NULL;
	HANDLE handle;

	if (!may_replace(path, err)) {
		return NULL;
	}
	wide = wide_absolute(path);
	handle = wide ? create_partial(path, &partial) : INVALID_HANDLE_VALUE;
	if (handle == INVALID_HANDLE_VALUE) {
		error_set_last(err, "cannot create");
	} else {
		if (!visible && set_doomed(handle, true)) {
			free(partial);
			partial = NULL;
		}
		file = file_over(handle, false, err);
	}
	if (!file) {
		free(wide);
		free(partial);
		return NULL;
	}
	file->name = wide;
	file->partial = partial;
	return file;
}

bool os_file_overwrite(struct os_file *file, const void *bytes, size_t size, struct etw_error *err)
{
	return write_at(file, 0, bytes, size, err);
}

/* Renames the file through its handle, so that nothing else can be renamed in its place
 * ("FILE_RENAME_INFO structure", Microsoft Learn). */
static bool take_name(const struct os_file *file)
{
	size_t size = wcslen(file->name) * sizeof *file->name;
	FILE_RENAME_INFO *info = calloc(1, sizeof *info + size);
	bool renamed;

	if (!info) {
		SetLastError(ERROR_NOT_ENOUGH_MEMORY);
		return false;
	}
	info->ReplaceIfExists = TRUE;
	info->FileNameLength = (DWORD)size;
	memcpy(info->FileName, file->name, size);
	renamed = SetFileInformationByHandle(file->handle, FileRenameInfo, info,
					     (DWORD)(sizeof *info + size));
	free(info);
	return renamed;
}

bool os_file_publish(struct os_file *file, struct etw_error *err)
{
	if (!FlushFileBuffers(file->handle)) {
		return error_set_last(err, "cannot be written to the disk");
	}
	if (!set_doomed(file->handle, false) || !take_name(file)) {
		error_set_last(err, "cannot get its name");
		set_doomed(file->handle, true);
		return false;
	}
	drop_name(file);
	return true;
}

char *os_file_leave(struct os_file *file)
{
	char *path = file->partial;

	file->partial = NULL;
	if (path) {
		drop_name(file);
	}
	return path;
}

const char os_temporary_variable[] = "TMP";

char *os_temporary_folder(void)
{
	wchar_t folder[MAX_PATH + 1];

	return GetTempPathW(MAX_PATH + 1, folder) > 0 ? narrow_from(folder) : NULL;
}

struct os_file *os_file_temporary(struct etw_error *err)
{
	char *folder = os_temporary_folder(); /* it ends with a backslash */
	size_t size = folder ? strlen(folder) + sizeof "etw" : 0;
	char *path = folder ? malloc(size) : NULL;
	struct os_file *file = NULL;

	if (path) {
		snprintf(path, size, "%setw", folder);
		file = os_file_new(path, false, err);
	} else {
		error_no_memory(err, "a temporary file");
	}
	if (file) {
		drop_name(file);
		file->temporary = true;
	} else {
		error_prefix(err, "no temporary file can be made in %s", folder ? folder : "?");
	}
	free(path);
	free(folder);
	return file;
}

bool os_file_is_temporary(const struct os_file *file)
{
	return file->temporary;
}

bool os_file_append(struct os_file *file, const void *bytes, size_t size, struct etw_error *err)
{
	if (!write_at(file, file->size, bytes, size, err)) {
		return false;
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
		shared->temporary = file->temporary || file->name;
	}
	return shared;
}

void os_file_close(struct os_file *file)
{
	if (!file) {
		return;
	}
	if (file->name) {
		set_doomed(file->handle, true);
	}
	drop_name(file);
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

bool os_file_is_regular(const char *path)
{
	wchar_t *wide = wide_from(path);
	DWORD attributes = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;

	free(wide);
	return attributes != INVALID_FILE_ATTRIBUTES &&
	       (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE |
			      FILE_ATTRIBUTE_REPARSE_POINT)) == 0;
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
