/* SPDX-License-Identifier: MIT */
/*
 * Finds and checks the head of an HTTP request, byte by byte as it arrives (RFC 9112).
 */
#ifndef EXPORTER_HTTP_REQUEST_HEAD_H
#define EXPORTER_HTTP_REQUEST_HEAD_H

#include <stdbool.h>
#include <stddef.h>

enum {
	REQUEST_HEAD_SIZE_MAX = 16384 - 1, /* civetweb's buffer, which needs one byte more */
	REQUEST_HEADERS_MAX = 64,          /* civetweb's, which takes no notice of more */
};

enum head_result {
	HEAD_PARTIAL, /* more bytes are needed */
	HEAD_WHOLE,
	HEAD_REFUSED,
};

struct request_head {
	size_t begin, end;               /* of the head in the bytes, with its empty line */
	size_t target_begin, target_end; /* of the path with its query */
	bool keep_alive;                 /* the client can use the connection for more requests */
	bool has_body;                   /* bytes of the request follow the head */
	int status;                      /* HEAD_REFUSED: how to answer, 400 for example */
};

/*
 * Looks at what has arrived of a request. *seen is 0 for the first call with new bytes; it belongs
 * to this function and spares it what it has seen. A head that does not follow RFC 9112 is refused:
 * a lenient reader and a proxy in front of it may disagree about where a request ends. A whole head
 * is changed in place where the RFC leaves a choice, so that readers after this one have none: a
 * target in absolute form becomes its path, and tabs in values become blanks.
 */
enum head_result request_head_read(char *bytes, size_t size, size_t *seen,
				   struct request_head *head);

#endif
