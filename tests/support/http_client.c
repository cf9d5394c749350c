/* SPDX-License-Identifier: MIT */
#include "tests/support/http_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/system.h"

struct etw_text http_exchange(unsigned port, const char *bytes, size_t size)
{
	connection c = connection_open(port);
	struct etw_text reply = { 0 };
	char part[16384];
	size_t sent = 1, got;

	assert_true(c >= 0);
	/* The server may refuse before the end. */
	while (size > 0 && sent > 0) {
		sent = connection_send(c, bytes, size);
		bytes += sent;
		size -= sent;
	}
	while ((got = connection_receive(c, part, sizeof part)) > 0) {
		text_add(&reply, part, got);
	}
	connection_close(c);
	text_add_char(&reply, '\0');
	assert_false(reply.failed);
	return reply;
}

struct etw_text http_request_page(unsigned port, const char *method, const char *target,
				  const char *headers)
{
	struct etw_text request = { 0 }, reply;

	text_add_format(&request, "%s %s HTTP/1.1\r\n%sConnection: close\r\n%s\r\n",
			method, target, strstr(headers, "Host: ") ? "" : "Host: localhost\r\n",
			headers);
	assert_false(request.failed);
	reply = http_exchange(port, request.data, request.size);
	text_free(&request);
	return reply;
}

int http_status(const struct etw_text *reply)
{
	static const char start[] = "HTTP/1.1 ";

	return strncmp(reply->data, start, sizeof start - 1) == 0 ?
		       (int)strtol(reply->data + sizeof start - 1, NULL, 10) :
		       0;
}

const char *http_body(const struct etw_text *reply)
{
	const char *end = strstr(reply->data, "\r\n\r\n");

	assert_non_null(end);
	return end + 4;
}

void http_expect_header(const struct etw_text *reply, const char *line)
{
	struct etw_text whole = { 0 };
	const char *found;

	text_add_format(&whole, "\r\n%s\r\n", line);
	assert_false(whole.failed);
	found = strstr(reply->data, whole.data);
	if (!found || found >= http_body(reply)) {
		fail_msg("no header %s in %s", line, reply->data);
	}
	text_free(&whole);
}
