/* SPDX-License-Identifier: MIT */
/*
 * Files of Linux.
 *
 * A call that a signal interrupts is repeated. A file that is opened for reading keeps the size
 * that it had then; a stream (a pipe, a socket, a device) has no size. Child processes inherit no
 * descriptor.
 */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/os_posix.h"

struct os_file {
	int fd;
	uint64_t size;
	struct stat seen; /* the state that os_file_change() compares with */
	bool is_stream;   /* it is read once, from beginning to end */
	bool temporary;   /* no other program can change it */
};

FILE *os_file_stream(const char *path, const char *mode)
{
	return fopen(path, mode);
}

static int create_private(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
}

FILE *os_file_create(const char *path, struct etw_error *err)
{
	int fd = create_private(path);
	FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;

	if (!file) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot create: %m");
		if (fd >= 0) {
			close(fd);
		}
	}
	return file;
}

/* Returns false on failure; errno has the reason. */
static bool flush_to_disk(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool flushed = fd >= 0 && fsync(fd) == 0;
	int error = errno;

	if (fd >= 0) {
		close(fd);
	}
	errno = error;
	return flushed;
}

bool os_file_publish(const char *from, const char *to, struct etw_error *err)
{
	if (!flush_to_disk(from)) {
		return error_set(err, ETW_ERROR_SYSTEM, "cannot be written to the disk: %m");
	}
	return rename(from, to) == 0 || error_set(err, ETW_ERROR_SYSTEM, "cannot be renamed: %m");
}

bool os_file_remove(const char *path, struct etw_error *err)
{
	return unlink(path) == 0 || errno == ENOENT ||
	       error_set(err, ETW_ERROR_SYSTEM, "cannot be removed: %m");
}

uint64_t os_disk_free_bytes(const char *folder)
{
	struct statvfs disk;

	return statvfs(folder, &disk) == 0 ? (uint64_t)disk.f_bavail * disk.f_frsize : UINT64_MAX;
}

bool os_file_write_whole(const char *path, const char *bytes, size_t size, struct etw_error *err)
{
	int fd = create_private(path);
	bool written = fd >= 0;

	for (size_t at = 0; written && at < size;) {
		ssize_t more = write(fd, bytes + at, size - at);

		written = more >= 0 || errno == EINTR;
		at += more > 0 ? (size_t)more : 0;
	}
	if (!written) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be written: %m");
	}
	if (fd >= 0 && close(fd) != 0 && written) {
		written = error_set(err, ETW_ERROR_SYSTEM, "cannot be written: %m");
	}
	return written;
}

/* Makes a file from a descriptor and owns it; on failure the descriptor is closed. */
static struct os_file *file_over(int fd, bool any, struct etw_error *err)
{
	struct os_file *file = calloc(1, sizeof *file);
	struct stat facts;

	if (!file) {
		close(fd);
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory to open a file");
		return NULL;
	}
	file->fd = fd;
	if (fstat(fd, &facts) != 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be examined: %m");
		goto fail;
	}
	file->is_stream = any && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode) ||
				  (S_ISCHR(facts.st_mode) && !isatty(fd)));
	if (!S_ISREG(facts.st_mode) && !file->is_stream) {
		error_set(err, ETW_ERROR_UNSUPPORTED, "is %s, not a regular file",
			  S_ISDIR(facts.st_mode)        ? "a directory" :
			  any && S_ISCHR(facts.st_mode) ? "a terminal" :
							  "a device, pipe or socket");
		goto fail;
	}
	file->size = file->is_stream ? 0 : (uint64_t)facts.st_size;
	file->seen = facts;
	return file;

fail:
	os_file_close(file);
	return NULL;
}

struct os_file *os_file_open(const char *path, struct etw_error *err)
{
	/* Without O_NONBLOCK, opening a pipe would wait for its writer before we can refuse it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened: %m");
		return NULL;
	}
	return file_over(fd, false, err);
}

struct os_file *os_file_open_any(const char *path, struct etw_error *err)
{
	int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) :
					  open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened: %m");
		return NULL;
	}
	return file_over(fd, true, err);
}

bool os_file_is_stream(const struct os_file *file)
{
	return file->is_stream;
}

bool os_file_next(struct os_file *file, void *bytes, size_t size, size_t *got,
		  struct etw_error *err)
{
	ssize_t step;

	do {
		step = read(file->fd, bytes, size);
	} while (step < 0 && errno == EINTR);
	if (step < 0) {
		return error_set(err, ETW_ERROR_SYSTEM, "cannot be read: %m");
	}
	*got = (size_t)step;
	return true;
}

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] ? folder : "/tmp";
}

struct os_file *os_file_temporary(struct etw_error *err)
{
	const char *folder = temporary_folder();
	size_t size = strlen(folder) + sizeof "/etw_XXXXXX";
	char *path = malloc(size);
	struct os_file *file;
	int fd;

	if (!path) {
		error_set(err, ETW_ERROR_NO_MEMORY, "no memory for a temporary file");
		return NULL;
	}
	snprintf(path, size, "%s/etw_XXXXXX", folder);
	fd = mkstemp(path);
	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "no temporary file can be made in %s: %m", folder);
		free(path);
		return NULL;
	}
	unlink(path);
	free(path);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	file = file_over(fd, false, err);
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
		ssize_t step = pwrite(file->fd, (const char *)bytes + done, size - done,
				      (off_t)(file->size + done));

		if (step < 0 && errno != EINTR) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "a temporary file in %s cannot be written: %m",
					 temporary_folder());
		}
		done += step > 0 ? (size_t)step : 0;
	}
	file->size += size;
	return true;
}

struct os_file *os_file_share(const struct os_file *file, struct etw_error *err)
{
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	struct os_file *shared;

	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened once more: %m");
		return NULL;
	}
	shared = file_over(fd, file->is_stream, err);
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
	if (file->fd >= 0) {
		close(file->fd);
	}
	free(file);
}

uint64_t os_file_size(const struct os_file *file)
{
	return file->size;
}

const char *os_file_change(struct os_file *file)
{
	struct stat before = file->seen, now;

	if (file->temporary || fstat(file->fd, &now) != 0) {
		return NULL;
	}
	file->seen = now;
	return now.st_size > before.st_size             ? "has become longer" :
	       now.st_size < before.st_size             ? "has become shorter" :
	       now.st_nlink == 0 && before.st_nlink > 0 ? "was removed" :
	       now.st_mtim.tv_sec != before.st_mtim.tv_sec ||
			       now.st_mtim.tv_nsec != before.st_mtim.tv_nsec ?
							  "was overwritten" :
							  NULL;
}

void os_file_stamp(const char *path, struct os_file_stamp *stamp)
{
	struct stat facts;

	*stamp = (struct os_file_stamp){ 0 };
	if (stat(path, &facts) == 0) {
		stamp->volume = facts.st_dev;
		stamp->number = facts.st_ino;
		stamp->size = (uint64_t)facts.st_size;
		stamp->written = timespec_ns(&facts.st_mtim);
		stamp->changed = timespec_ns(&facts.st_ctim);
	}
}

bool os_file_is_public(const char *path)
{
	struct stat facts;

	return stat(path, &facts) == 0 && (facts.st_mode & S_IROTH) != 0;
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
		ssize_t step =
			pread(file->fd, (char *)bytes + done, size - done, (off_t)(offset + done));

		if (step < 0 && errno == EINTR) {
			continue;
		}
		if (step < 0) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "%zu bytes at %" PRIu64 " cannot be read: %m", size - done,
					 offset + done);
		}
		if (step == 0) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "ends at %" PRIu64 ", but had %" PRIu64
					 " bytes when it was opened: cut short meanwhile",
					 offset + done, file->size);
		}
		done += (size_t)step;
	}
	*got = done;
	return true;
}
