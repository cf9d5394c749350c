/* SPDX-License-Identifier: MIT */
/*
 * Files of Linux.
 *
 * A call that a signal interrupts is repeated. A file that is opened for reading keeps the size
 * that it had then; a stream (a pipe, a socket, a device) has no size. Child processes inherit no
 * descriptor.
 */
#define _GNU_SOURCE /* O_PATH, O_TMPFILE */
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
	struct stat seen;      /* the state that os_file_change() compares with */
	bool is_stream;        /* it is read once, from beginning to end */
	bool temporary;        /* no other program can change it */
	struct new_name *name; /* owned; of a new file until it is published; otherwise NULL */
};

/* Where a new file gets its name. The folder is open, so that the name is made where the file is,
 * even if another program renames the folder meanwhile. */
struct new_name {
	int folder;       /* a descriptor */
	const char *last; /* the last part of path */
	char *partial;    /* owned; the name that the file has until then; NULL: none */
	char path[];
};

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

static void free_name(struct new_name *name)
{
	if (name->folder >= 0) {
		close(name->folder);
	}
	free(name->partial);
	free(name);
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

/* ---- new files ---- */

static bool write_at(struct os_file *file, uint64_t offset, const void *bytes, size_t size,
		     struct etw_error *err)
{
	for (size_t done = 0; done < size;) {
		ssize_t step = pwrite(file->fd, (const char *)bytes + done, size - done,
				      (off_t)(offset + done));

		if (step < 0 && errno != EINTR) {
			return error_set(err, ETW_ERROR_SYSTEM, "%scannot be written: %m",
					 file->temporary ? "a temporary file " : "");
		}
		done += step > 0 ? (size_t)step : 0;
	}
	return true;
}

/* Removes what a new file is called until it is published, and frees that name. */
static void drop_name(struct os_file *file)
{
	struct new_name *name = file->name;

	if (name && name->partial) {
		unlinkat(name->folder, name->partial, 0);
	}
	if (name) {
		free_name(name);
	}
	file->name = NULL;
}

/* Only a regular file or a link to one may be replaced: not a folder, a device or a pipe. */
static bool may_replace(const struct new_name *name, struct etw_error *err)
{
	struct stat facts = { .st_mode = S_IFDIR }; /* of a path that ends with a slash */

	if (name->last[0] != '\0' &&
	    (fstatat(name->folder, name->last, &facts, 0) != 0 || S_ISREG(facts.st_mode))) {
		return true;
	}
	return error_set(err, ETW_ERROR_UNSUPPORTED, "is %s, not a regular file",
			 S_ISDIR(facts.st_mode) ? "a directory" : "a device, pipe or socket");
}

/* Opens the folder of a path. Returns NULL on failure. */
static struct new_name *name_new(const char *path, struct etw_error *err)
{
	size_t size = strlen(path);
	struct new_name *name = malloc(sizeof *name + size + 1);
	char *folder = strdup(path);

	if (!name || !folder) {
		free(name);
		free(folder);
		error_no_memory(err, "a file");
		return NULL;
	}
	memcpy(name->path, path, size + 1);
	name->last = os_path_name(name->path);
	name->partial = NULL;
	folder[name->last - name->path] = '\0';
	name->folder = open(folder[0] ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (name->folder < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot create: %m");
	} else if (may_replace(name, err)) {
		return name;
	}
	free_name(name);
	return NULL;
}

/* Makes the link /proc/self/fd/NUMBER, which leads to a file without a name. */
static void link_of(int fd, char link[32])
{
	snprintf(link, 32, "/proc/self/fd/%d", fd);
}

/* Makes a file without a name. Returns -1 if the disk has no such files, or if one could not get a
 * name later because /proc is missing. */
static int open_nameless(const struct new_name *name)
{
	int fd = openat(name->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char link[32];

	link_of(fd, link);
	if (fd >= 0 && access(link, F_OK) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Calls make() with random names until one is free. Returns its result. On success name->partial is
 * the name. */
static int under_random_name(struct new_name *name,
			     int (*make)(const struct new_name *name, const char *partial, int fd),
			     int fd)
{
	int result = -1;

	errno = EEXIST;
	for (unsigned i = 0; i < OS_PARTIAL_TRIES && result < 0 && errno == EEXIST; i++) {
		char *partial = os_partial_name(name->last);

		if (!partial) {
			errno = ENOMEM;
			return -1;
		}
		result = make(name, partial, fd);
		if (result >= 0) {
			name->partial = partial;
		} else {
			free(partial);
		}
	}
	return result;
}

static int create_partial(const struct new_name *name, const char *partial, int fd)
{
	(void)fd;
	return openat(name->folder, partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0600);
}

static int link_partial(const struct new_name *name, const char *partial, int fd)
{
	char link[32];

	link_of(fd, link);
	return linkat(AT_FDCWD, link, name->folder, partial, AT_SYMLINK_FOLLOW);
}

struct os_file *os_file_new(const char *path, bool visible, struct etw_error *err)
{
	struct new_name *name = name_new(path, err);
	struct os_file *file;
	int fd;

	if (!name) {
		return NULL;
	}
	fd = visible ? -1 : open_nameless(name);
	if (fd < 0) {
		fd = under_random_name(name, create_partial, -1);
	}
	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot create: %m");
		free_name(name);
		return NULL;
	}
	file = file_over(fd, false, err);
	if (!file) {
		if (name->partial) {
			unlinkat(name->folder, name->partial, 0);
		}
		free_name(name);
		return NULL;
	}
	file->name = name;
	return file;
}

bool os_file_overwrite(struct os_file *file, const void *bytes, size_t size, struct etw_error *err)
{
	return write_at(file, 0, bytes, size, err);
}

/* Renames a file, or gives a file without a name its name. If another file has the name, a file
 * without a name first gets a random one, because linkat(2) does not replace. */
static bool take_name(struct os_file *file)
{
	struct new_name *name = file->name;

	if (!name->partial) {
		if (link_partial(name, name->last, file->fd) == 0) {
			return true;
		}
		if (errno != EEXIST || under_random_name(name, link_partial, file->fd) < 0) {
			return false;
		}
	}
	if (renameat(name->folder, name->partial, name->folder, name->last) != 0) {
		return false;
	}
	free(name->partial);
	name->partial = NULL;
	return true;
}

bool os_file_publish(struct os_file *file, struct etw_error *err)
{
	if (fsync(file->fd) != 0) {
		return error_set(err, ETW_ERROR_SYSTEM, "cannot be written to the disk: %m");
	}
	if (!take_name(file)) {
		return error_set(err, ETW_ERROR_SYSTEM, "cannot get its name: %m");
	}
	drop_name(file);
	return true;
}

char *os_file_leave(struct os_file *file)
{
	struct new_name *name = file->name;
	size_t folder = name ? (size_t)(name->last - name->path) : 0;
	char *path = NULL;

	if (name && name->partial) {
		path = malloc(folder + strlen(name->partial) + 1);
	}
	if (path) {
		memcpy(path, name->path, folder);
		memcpy(path + folder, name->partial, strlen(name->partial) + 1);
		free(name->partial);
		name->partial = NULL;
		drop_name(file);
	}
	return path;
}

const char os_temporary_variable[] = "TMPDIR";

char *os_temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return strdup(folder && folder[0] ? folder : "/tmp");
}

struct os_file *os_file_temporary(struct etw_error *err)
{
	char *folder = os_temporary_folder();
	size_t size = folder ? strlen(folder) + sizeof "/etw" : 0;
	char *path = folder ? malloc(size) : NULL;
	struct os_file *file = NULL;

	if (path) {
		snprintf(path, size, "%s/etw", folder);
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
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	struct os_file *shared;

	if (fd < 0) {
		error_set(err, ETW_ERROR_SYSTEM, "cannot be opened once more: %m");
		return NULL;
	}
	shared = file_over(fd, file->is_stream, err);
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
	drop_name(file);
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

bool os_file_is_regular(const char *path)
{
	struct stat facts;

	return lstat(path, &facts) == 0 && S_ISREG(facts.st_mode);
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
