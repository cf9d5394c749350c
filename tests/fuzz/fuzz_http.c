/* SPDX-License-Identifier: MIT */
/*
 * What a client of the web server sends, and the file of --web.config.file. The first byte says
 * what the others are; the parts that read them need no socket.
 *
 * A request head is read twice, at once and in pieces, which must make no difference. What is taken
 * is judged again by rules written down here on their own: nothing in it may let a proxy in front
 * of the exporter see another end of the request.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "exporter/http/connection.h"
#include "exporter/http/negotiate.h"
#include "exporter/http/web_settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PATH_SIZE = 64 };

static void must(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* A copy with a NUL behind it, of which the sanitizer sees the end. */
static char *copy_of(const uint8_t *data, size_t size)
{
	char *copy = calloc(size + 1, 1);

	must(copy != NULL);
	memcpy(copy, data, size);
	return copy;
}

/* ---- request heads ---- */

/* The line behind this one; NULL: it is the last before the end. */
static const char *next_line(const char *at, const char *end)
{
	const char *line_end = memchr(at, '\n', (size_t)(end - at));

	must(line_end && line_end > at && line_end[-1] == '\r');
	return line_end + 1 < end ? line_end + 1 : NULL;
}

/* RFC 9112: sections 2.2 (line ends), 5.1 (no blank before the colon), 5.2 (no field that goes on
 * in the next line), 6.3 (one length). */
static void check_whole(const char *bytes, const struct request_head *head)
{
	const char *end = bytes + head->end;
	unsigned lengths = 0, encodings = 0;
	const char *line;

	must(head->begin <= head->target_begin && head->target_begin < head->target_end &&
	     head->target_end < head->end && head->end - head->begin <= REQUEST_HEAD_SIZE_MAX);
	must(head->end >= 4 && memcmp(end - 4, "\r\n\r\n", 4) == 0);
	must(bytes[head->target_begin] == '/');
	for (const char *at = bytes + head->begin; at < end; at++) {
		must(*at != '\0' && (*at != '\r' || at[1] == '\n') && *at != '\t');
		must(at == bytes + head->begin || *at != '\n' || at[-1] == '\r');
	}
	for (line = next_line(bytes + head->begin, end); line && *line != '\r';
	     line = next_line(line, end)) {
		const char *colon = strchr(line, ':');

		must(colon && colon > line && !strchr(" \t", *line) && colon[-1] != ' ');
		lengths += strncasecmp(line, "Content-Length:", 15) == 0;
		encodings += strncasecmp(line, "Transfer-Encoding:", 18) == 0;
	}
	must(lengths + encodings <= 1);
	must(encodings == 0 || head->has_body);
}

static void read_heads(const uint8_t *data, size_t size)
{
	size_t piece = size > 0 ? data[0] % 32 + 1U : 1, seen = 0, seen_pieces = 0;
	struct request_head head = { 0 }, by_pieces = { 0 }, again = { 0 };
	enum head_result result, result_of_pieces = HEAD_PARTIAL;
	char *bytes, *pieces;

	data += size > 0;
	size -= size > 0;
	bytes = copy_of(data, size);
	pieces = copy_of(data, size);
	result = request_head_read(bytes, size, &seen, &head);
	for (size_t have = piece; size > 0 && result_of_pieces == HEAD_PARTIAL; have += piece) {
		result_of_pieces = request_head_read(pieces, have < size ? have : size,
						     &seen_pieces, &by_pieces);
		if (have >= size) {
			break;
		}
	}
	must(size == 0 || result == result_of_pieces);
	if (result == HEAD_REFUSED) {
		must(head.status >= 400 && head.status < 600);
		must(head.status == by_pieces.status);
	}
	if (result == HEAD_WHOLE) {
		must(head.end <= size && head.begin == by_pieces.begin &&
		     head.end == by_pieces.end && head.target_begin == by_pieces.target_begin &&
		     head.target_end == by_pieces.target_end &&
		     head.keep_alive == by_pieces.keep_alive &&
		     head.has_body == by_pieces.has_body);
		must(memcmp(bytes + head.begin, pieces + head.begin, head.end - head.begin) == 0);
		check_whole(bytes, &head);
		seen = 0; /* what it has made of it reads the same */
		must(request_head_read(bytes + head.begin, head.end - head.begin, &seen, &again) ==
		     HEAD_WHOLE);
		must(again.keep_alive == head.keep_alive && again.has_body == head.has_body);
	}
	free(bytes);
	free(pieces);
}

/* ---- what is accepted ---- */

static void negotiate(const uint8_t *data, size_t size)
{
	char *header = copy_of(data, size);
	struct accepted_format format = negotiate_format(header);
	enum content_encoding encoding = negotiate_encoding(header);

	must(format.format == negotiate_format(header).format);
	must(!format.escaping || strlen(format.escaping) > 0);
	must(encoding == ENCODING_IDENTITY || encoding == ENCODING_GZIP ||
	     encoding == ENCODING_ZSTD);
	/* zstd is only for those who name it. */
	must(encoding != ENCODING_ZSTD || strcasestr(header, "zstd"));
	free(header);
}

/* ---- the web configuration ---- */

static void read_settings(const uint8_t *data, size_t size)
{
	struct problems problems = { 0 };
	struct etw_error err = { 0 };
	struct web_settings *settings;
	char path[PATH_SIZE];
	int fd = memfd_create("web.yaml", 0);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	settings = web_settings_read(path, &problems, &err);
	/* Either it is right, or the first error is a sentence of one line. */
	if (!settings || settings->broken) {
		must(err.text[0] != '\0' && !strchr(err.text, '\n'));
	}
	web_settings_free(settings);
	problems_done(&problems);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parts[])(const uint8_t *data, size_t size) = { read_heads, negotiate,
									   read_settings };

	if (size > 0) {
		parts[data[0] % (sizeof parts / sizeof parts[0])](data + 1, size - 1);
	}
	return 0;
}
