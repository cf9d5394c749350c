/* SPDX-License-Identifier: MIT */
/*
 * Request heads: what is whole, what is refused and how, and that the cuts between packets make no
 * difference.
 */
#include "exporter/http/connection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define H "Host: x\r\n"
#define E "\r\n"

/* The head of a heap copy, which ends with the input, given byte by byte or at once. */
static enum head_result read_copy(char *copy, size_t size, size_t step, struct request_head *head)
{
	enum head_result result = HEAD_PARTIAL;
	size_t seen = 0;

	for (size_t given = step; result == HEAD_PARTIAL; given += step) {
		given = given < size ? given : size;
		result = request_head_read(copy, given, &seen, head);
		if (given == size) {
			break;
		}
	}
	return result;
}

static enum head_result read_head(const char *text, size_t step, struct request_head *head,
				  char target[64])
{
	size_t size = strlen(text);
	char *copy = malloc(size);
	enum head_result result;

	assert_non_null(copy);
	memcpy(copy, text, size);
	result = read_copy(copy, size, step, head);
	if (result == HEAD_WHOLE) {
		assert_true(head->begin < head->target_begin);
		assert_true(head->target_begin < head->target_end);
		assert_true(head->target_end < head->end && head->end <= size);
		snprintf(target, 64, "%.*s", (int)(head->target_end - head->target_begin),
			 copy + head->target_begin);
	}
	free(copy);
	return result;
}

static void whole_heads_are_understood(void **state)
{
	static const struct {
		const char *text, *target;
		bool keep_alive, has_body;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n" H E, "/", true, false },
		{ "GET /metrics?x=1&y HTTP/1.1\r\n" H E, "/metrics?x=1&y", true, false },
		{ "GET / HTTP/1.0\r\n" E, "/", false, false },
		{ "GET / HTTP/1.1\r\nHost:\r\n" E, "/", true, false },
		{ "GET / HTTP/1.1\r\nHost: [2001:db8::1]:9189\r\n" E, "/", true, false },
		{ "GET / HTTP/1.1\r\n" H "Connection: close\r\n" E, "/", false, false },
		{ "GET / HTTP/1.1\r\n" H "connection: Upgrade , CLOSE\r\n" E, "/", false, false },
		{ "GET / HTTP/1.1\r\n" H "Connection: keep-alive\r\n" E, "/", true, false },
		{ "GET / HTTP/1.1\r\n" H "Connection: closed\r\n" E, "/", true, false },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n" E, "/", true, true },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: \t 0\r\n" E, "/", true, false },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n" E, "/", true, true },
		/* A blank line before, a tab in a value, bytes beyond ASCII in a value. */
		{ "\r\nGET / HTTP/1.1\r\n" H E, "/", true, false },
		{ "GET / HTTP/1.1\r\n" H "A:\tb\tc \r\nB: \xc3\xa4\r\n" E, "/", true, false },
		/* Absolute form. */
		{ "GET http://x/metrics HTTP/1.1\r\n" H E, "/metrics", true, false },
		{ "GET HTTPS://other.example:1/-/ready?a HTTP/1.1\r\n" H E, "/-/ready?a", true,
		  false },
		{ "GET http://x HTTP/1.1\r\n" H E, "/", true, false },
		{ "GET http://x?a HTTP/1.1\r\n" H E, "/?a", true, false },
		/* A second request behind it is not looked at. */
		{ "GET /a HTTP/1.1\r\n" H E "G E T\n\n\n", "/a", true, false },
	};
	const size_t steps[] = { 1, 3, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (size_t j = 0; j < 3; j++) {
			struct request_head head;
			char target[64];

			if (read_head(cases[i].text, steps[j], &head, target) != HEAD_WHOLE ||
			    head.keep_alive != cases[i].keep_alive ||
			    head.has_body != cases[i].has_body) {
				fail_msg("in steps of %zu: %s", steps[j], cases[i].text);
			}
			assert_string_equal(target, cases[i].target);
		}
	}
}

static void heads_that_break_the_rules_are_refused(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		/* The request line. */
		{ "GET  / HTTP/1.1\r\n" H E, 400 },
		{ "GET / HTTP/1.1 \r\n" H E, 400 },
		{ " GET / HTTP/1.1\r\n" H E, 400 },
		{ "GET\t/ HTTP/1.1\r\n" H E, 400 },
		{ "GET /a b HTTP/1.1\r\n" H E, 400 },
		{ "G(T / HTTP/1.1\r\n" H E, 400 },
		{ "GET /\x7f HTTP/1.1\r\n" H E, 400 },
		{ "GET /\xc3\xa4 HTTP/1.1\r\n" H E, 400 },
		{ "GET /#a HTTP/1.1\r\n" H E, 400 },
		{ "GET metrics HTTP/1.1\r\n" H E, 400 },
		{ "GET  HTTP/1.1\r\n" H E, 400 },
		{ "GET /\r\n" E, 400 },
		{ "GET / http/1.1\r\n" H E, 400 },
		{ "GET / HTTP/1\r\n" H E, 400 },
		{ "GET / HTTP/1.10\r\n" H E, 400 },
		{ "GET / HTTP/2.0\r\n" H E, 505 },
		{ "GET / HTTP/0.9\r\n" H E, 505 },
		{ "GET http:///x HTTP/1.1\r\n" H E, 400 },
		{ "GET ftp://x/ HTTP/1.1\r\n" H E, 400 },
		{ "CONNECT x:80 HTTP/1.1\r\n" H E, 400 },
		{ "GET * HTTP/1.1\r\n" H E, 400 },
		{ "OPTIONS *a HTTP/1.1\r\n" H E, 400 },
		{ "OPTIONS * HTTP/1.1\r\n" H E, 405 },
		{ "\r\n\r\nGET / HTTP/1.1\r\n" H E, 400 },
		{ "\rG", 400 },
		{ "\x16\x03\x01", 400 },
		{ "\n", 400 },
		/* Ends of lines. */
		{ "GET / HTTP/1.1\n" H E, 400 },
		{ "GET / HTTP/1.1\r\nHost: x\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H "A: b\rc\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H "\n", 400 },
		{ "GET / HTTP/1.1\r\r\n" H E, 400 },
		/* Fields. */
		{ "GET / HTTP/1.1\r\nHost : x\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n Host: x\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H "A: b\r\n c\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H "A: b\r\n\tc: d\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H "A\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H ": b\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H "A\xc3: b\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H "A: \x01\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\n" H H E, 400 },
		{ "GET / HTTP/1.1\r\nHost: a/b\r\n" E, 400 },
		{ "GET / HTTP/1.1\r\nHost: a b\r\n" E, 400 },
		/* How long the request is. */
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n" E, 400 },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n" E, 400 },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: +5\r\n" E, 400 },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: -5\r\n" E, 400 },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 0x10\r\n" E, 400 },
		{ "POST / HTTP/1.1\r\n" H "Content-Length:\r\n" E, 400 },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551616\r\n" E, 413 },
		{ "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n" E,
		  400 },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n" E,
		  400 },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n" E, 400 },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n" E, 400 },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: \x0b"
		  "chunked\r\n" E,
		  400 },
		{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n"
		  "Transfer-Encoding: chunked\r\n" E,
		  400 },
		{ "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n" E, 400 },
	};
	const size_t steps[] = { 1, 3, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (size_t j = 0; j < 3; j++) {
			struct request_head head;
			char target[64];

			if (read_head(cases[i].text, steps[j], &head, target) != HEAD_REFUSED ||
			    head.status != cases[i].status) {
				fail_msg("in steps of %zu: %s", steps[j], cases[i].text);
			}
		}
	}
}

static void a_nul_is_refused_everywhere(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\n" H "A: b\r\n" E;
	struct request_head head;

	(void)state;
	for (size_t i = 0; i < sizeof text - 5; i++) {
		char copy[sizeof text];
		size_t seen = 0;

		memcpy(copy, text, sizeof text);
		copy[i] = '\0';
		assert_int_equal(request_head_read(copy, sizeof text - 1, &seen, &head),
				 HEAD_REFUSED);
	}
}

static void a_head_is_whole_with_its_last_byte(void **state)
{
	static const char text[] = "GET /metrics HTTP/1.1\r\n" H "A: b\r\n" E;

	(void)state;
	for (size_t size = 0; size < sizeof text - 1; size++) {
		char *copy = malloc(size + 1);
		struct request_head head;
		size_t seen = 0;

		assert_non_null(copy);
		memcpy(copy, text, size);
		assert_int_equal(request_head_read(copy, size, &seen, &head), HEAD_PARTIAL);
		free(copy);
	}
}

/* A head of that size, or the beginning of one that goes on. */
static enum head_result read_long(size_t size, const char *begin, const char *end, int *status)
{
	char *bytes = malloc(size);
	struct request_head head;
	enum head_result result;
	size_t seen = 0;

	assert_non_null(bytes);
	memset(bytes, 'a', size);
	memcpy(bytes, begin, strlen(begin));
	memcpy(bytes + size - strlen(end), end, strlen(end));
	result = request_head_read(bytes, size, &seen, &head);
	*status = head.status;
	free(bytes);
	return result;
}

static void long_heads_are_refused_in_time(void **state)
{
	static const char line[] = "GET / HTTP/1.1\r\n" H "A: ";
	int status;

	(void)state;
	assert_int_equal(read_long(REQUEST_HEAD_SIZE_MAX, line, "\r\n\r\n", &status), HEAD_WHOLE);
	assert_int_equal(read_long(REQUEST_HEAD_SIZE_MAX + 1, line, "\r\n\r\n", &status),
			 HEAD_REFUSED);
	assert_int_equal(status, 431);
	assert_int_equal(read_long(REQUEST_HEAD_SIZE_MAX - 1, line, "", &status), HEAD_PARTIAL);
	assert_int_equal(read_long(REQUEST_HEAD_SIZE_MAX, line, "", &status), HEAD_REFUSED);
	assert_int_equal(status, 431);
	assert_int_equal(read_long(REQUEST_HEAD_SIZE_MAX, "GET /", "", &status), HEAD_REFUSED);
	assert_int_equal(status, 414);
}

static void the_number_of_fields_is_bounded(void **state)
{
	static const char first[] = "GET / HTTP/1.1\r\n" H;

	(void)state;
	for (size_t fields = REQUEST_HEADERS_MAX; fields <= REQUEST_HEADERS_MAX + 1; fields++) {
		char text[1024];
		struct request_head head;
		size_t seen = 0, size = sizeof first - 1;

		memcpy(text, first, size);
		for (size_t i = 1; i < fields; i++) {
			memcpy(text + size, "a:\r\n", 4);
			size += 4;
		}
		memcpy(text + size, "\r\n", 2);
		assert_int_equal(request_head_read(text, size + 2, &seen, &head),
				 fields <= REQUEST_HEADERS_MAX ? HEAD_WHOLE : HEAD_REFUSED);
		assert_int_equal(head.status, fields <= REQUEST_HEADERS_MAX ? 0 : 431);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_heads_are_understood),
		cmocka_unit_test(heads_that_break_the_rules_are_refused),
		cmocka_unit_test(a_nul_is_refused_everywhere),
		cmocka_unit_test(a_head_is_whole_with_its_last_byte),
		cmocka_unit_test(long_heads_are_refused_in_time),
		cmocka_unit_test(the_number_of_fields_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
