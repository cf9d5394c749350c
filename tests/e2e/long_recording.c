/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD that makes a short recording a long one, which is on no disk.
 *
 * The file that LONG_RECORDING names is a template: a plain recording of kernel events, as
 * make_sample --plain-size writes it. To the program it looks as if all of its buffers but the
 * first followed each other LONG_RECORDING_COPIES times. A read gets the bytes of the template, in
 * which the time of each record is later by the length of the copies before. So a recording of any
 * size has the processes and files of the template, and each of its counts is known: that of the
 * template times the number of copies. Times in payloads stay as they are.
 *
 * Offsets are those of docs/etl-format.md sections 1.1 and 4.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_HEADER = 72, TIMES_MOST = 4096, FDS = 1024 };

/* Header types (docs/etl-format.md sections 4.1 to 4.3, 4.6). */
enum {
	COMPACT_64 = 0x04, /* up to here SYSTEM and COMPACT */
	FULL_32 = 0x0a,
	PERFINFO_32 = 0x10,
	PERFINFO_64 = 0x11,
	FULL_64 = 0x14,
};

/* A buffer of the template, the places of the times in it. */
struct buffer {
	uint16_t times[TIMES_MOST];
	unsigned count;
};

static uint8_t *template_bytes;
static uint64_t first_size, body_size; /* of the first buffer, of all others */
static uint32_t buffer_size;
static struct buffer *buffers;
static uint64_t copies;
static int64_t span; /* from one copy to the next, in ticks */
static bool is_long[FDS];

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static void give_up(const char *why)
{
	fprintf(stderr, "long_recording: %s\n", why);
	abort();
}

static uint32_t u32_at(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

static int64_t i64_at(const uint8_t *at)
{
	int64_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

/* Finds the times of a buffer. */
static void find_times(struct buffer *buffer, const uint8_t *bytes, int64_t *first, int64_t *last)
{
	uint32_t end = u32_at(bytes + 8), size;

	for (uint32_t at = BUFFER_HEADER; at < end; at += (size + 7) & ~7u) {
		uint8_t type = bytes[at + 2];
		bool full = type == FULL_32 || type == FULL_64;
		bool perfinfo = type == PERFINFO_32 || type == PERFINFO_64;
		uint32_t time_at = at + (perfinfo ? 8 : 16), size_at = at + (full ? 0 : 4);
		int64_t time = i64_at(bytes + time_at);

		size = (uint32_t)bytes[size_at] | (uint32_t)bytes[size_at + 1] << 8;
		if ((type > COMPACT_64 && !full && !perfinfo) || bytes[at + 3] != 0xc0 ||
		    size < 16 || buffer->count == TIMES_MOST) {
			give_up("the template has other records than those of the kernel");
		}
		buffer->times[buffer->count++] = (uint16_t)time_at;
		*first = time < *first ? time : *first;
		*last = time > *last ? time : *last;
	}
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("LONG_RECORDING"), *number = getenv("LONG_RECORDING_COPIES");
	FILE *file = path && number ? fopen(path, "rb") : NULL;
	int64_t first = INT64_MAX, last = INT64_MIN;
	long size;

	if (!file) {
		return;
	}
	copies = strtoull(number, NULL, 10);
	if (fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < BUFFER_HEADER) {
		give_up("the template cannot be read");
	}
	rewind(file);
	template_bytes = malloc((size_t)size);
	if (!template_bytes || fread(template_bytes, 1, (size_t)size, file) != (size_t)size) {
		give_up("the template cannot be read");
	}
	fclose(file);
	first_size = u32_at(template_bytes);
	buffer_size = u32_at(template_bytes + first_size);
	body_size = (uint64_t)size - first_size;
	if (buffer_size > UINT16_MAX + 1u || body_size % buffer_size != 0) {
		give_up("the template has buffers of several sizes");
	}
	buffers = calloc(body_size / buffer_size, sizeof *buffers);
	for (uint64_t i = 0; i < body_size / buffer_size; i++) {
		find_times(&buffers[i], template_bytes + first_size + i * buffer_size, &first,
			   &last);
	}
	span = last - first + 1;
}

/* The bytes from `from` to `to` of a buffer in a copy. */
static void make_bytes(uint8_t *out, uint64_t copy, uint64_t number, uint32_t from, uint32_t to)
{
	const struct buffer *buffer = &buffers[number];
	const uint8_t *bytes = template_bytes + first_size + number * buffer_size;

	memcpy(out, bytes + from, to - from);
	for (unsigned i = 0; i < buffer->count; i++) {
		uint32_t at = buffer->times[i];
		int64_t time = i64_at(bytes + at) + (int64_t)copy * span;

		if (at >= from && at + 8 <= to) {
			memcpy(out + (at - from), &time, 8);
			continue;
		}
		for (uint32_t k = 0; k < 8; k++) { /* a part of it, or nothing */
			if (at + k >= from && at + k < to) {
				out[at + k - from] = ((const uint8_t *)&time)[k];
			}
		}
	}
}

static ssize_t make(uint8_t *out, uint64_t size, uint64_t at)
{
	uint64_t end = first_size + copies * body_size, made = 0;

	size = at >= end ? 0 : size < end - at ? size : end - at;
	while (made < size) {
		uint64_t here = at + made, most = size - made, in_body, within;

		if (here < first_size) {
			most = most < first_size - here ? most : first_size - here;
			memcpy(out + made, template_bytes + here, most);
			made += most;
			continue;
		}
		in_body = (here - first_size) % body_size;
		within = in_body % buffer_size;
		most = most < buffer_size - within ? most : buffer_size - within;
		make_bytes(out + made, (here - first_size) / body_size, in_body / buffer_size,
			   (uint32_t)within, (uint32_t)(within + most));
		made += most;
	}
	return (ssize_t)made;
}

/* ---- functions of the C library ---- */

static int note(const char *path, int fd)
{
	const char *named = getenv("LONG_RECORDING");

	if (fd >= 0 && template_bytes && strcmp(path, named) == 0) {
		if (fd >= FDS) {
			give_up("too many open files");
		}
		is_long[fd] = true;
	}
	return fd;
}

#define OPEN(name)                                                               \
	int name(const char *path, int flags, ...)                               \
	{                                                                        \
		va_list rest;                                                    \
		mode_t mode;                                                     \
                                                                                 \
		va_start(rest, flags);                                           \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
		va_end(rest);                                                    \
		return note(path, REAL(name)(path, flags, mode));                \
	}

OPEN(open)
OPEN(open64)

int close(int fd)
{
	if (fd >= 0 && fd < FDS) {
		is_long[fd] = false;
	}
	return REAL(close)(fd);
}

#define SIZED(name, type)                                                            \
	int name(int fd, struct type *facts)                                         \
	{                                                                            \
		int status = REAL(name)(fd, facts);                                  \
                                                                                     \
		if (status == 0 && fd >= 0 && fd < FDS && is_long[fd]) {             \
			facts->st_size = (off64_t)(first_size + copies * body_size); \
		}                                                                    \
		return status;                                                       \
	}

SIZED(fstat, stat)
SIZED(fstat64, stat64)

#define READ_AT(name, type)                                                                   \
	ssize_t name(int fd, void *bytes, size_t size, type at)                               \
	{                                                                                     \
		return fd >= 0 && fd < FDS && is_long[fd] ? make(bytes, size, (uint64_t)at) : \
							    REAL(name)(fd, bytes, size, at);  \
	}

READ_AT(pread, off_t)
READ_AT(pread64, off64_t)
