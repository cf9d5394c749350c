/* SPDX-License-Identifier: MIT */
/*
 * Finds and checks the head of an HTTP request, byte by byte as it arrives (RFC 9112).
 */
#ifndef EXPORTER_HTTP_REQUEST_HEAD_H
#define EXPORTER_HTTP_REQUEST_HEAD_H

#include <stdbool.h>
#include <stddef.h>

enum {
	REQUEST_HEAD_SIZE_MAX = 16384 - 1, /* civetweb's buffer needs one byte more */
	REQUEST_HEADERS_MAX = 64,          /* civetweb ignores further headers */
};

enum head_result {
	HEAD_PARTIAL, /* more bytes are needed */
	HEAD_WHOLE,
	HEAD_REFUSED,
};

struct request_head {
	size_t begin, end;               /* offsets of the head in the bytes, with its empty line */
	size_t target_begin, target_end; /* offsets of the path with its query */
	bool keep_alive; /* the client may send further requests on the connection */
	bool has_body;   /* bytes of the request follow the head */
	int status;      /* for HEAD_REFUSED: the status of the answer, for example 400 */
};

/*
 * Checks the bytes of a request that have arrived. The caller sets *seen to 0 before the first call
 * for a request; the function keeps in it how many bytes it need not read again. A head that does
 * not follow RFC 9112 is refused: a lenient reader and a proxy in front of it may disagree about
 * where a request ends. A whole head is changed in place where the RFC allows several readings, so
 * that later readers see only one: a target in absolute form becomes its path, and tabs in values
 * become blanks.
 */
enum head_result request_head_read(char *bytes, size_t size, size_t *seen,
				   struct request_head *head);

#endif
