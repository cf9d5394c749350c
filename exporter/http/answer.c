/* SPDX-License-Identifier: MIT */
/*
 * Sends answers through civetweb.
 *
 * This file writes heads itself and does not use mg_response_header_send(). That function sends
 * each line of a head separately, which makes a packet for each line with tcp_nodelay. It also
 * repeats the HTTP version of the request, which is missing if the request could not be parsed.
 * mg_send_chunk() also writes a chunk in three pieces. Here an answer is one write, and a
 * scrape is two writes per chunk.
 */
#include "exporter/http/server_internal.h"

#include <civetweb.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "exporter/http/connection.h"
#include "exporter/http/web_config.h"

const char *request_header(const struct http_request *request, const char *name)
{
	return mg_get_header(request->civetweb, name);
}

/* RFC 9110, section 5.6.7 */
static void add_date(struct etw_text *out)
{
	static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	struct tm utc;

	os_utc((time_t)(os_unix_time_ns() / UINT64_C(1000000000)), &utc);
	text_add_format(out, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[utc.tm_wday],
			utc.tm_mday, months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour,
			utc.tm_min, utc.tm_sec);
}

static void add_head(struct etw_text *out, struct web_config *web, int status, const char *type,
		     bool keep)
{
	text_add_format(out, "HTTP/1.1 %d %s\r\n", status, mg_get_response_code_text(NULL, status));
	add_date(out);
	text_add_format(out, "Content-Type: %s\r\n", type);
	text_add_string(out, "X-Content-Type-Options: nosniff\r\n");
	if (!keep) {
		text_add_string(out, "Connection: close\r\n");
	}
	if (web) {
		web_config_add_headers(web, out);
	}
}

void answer_add_head(struct etw_text *out, const struct http_request *request, int status,
		     const char *type)
{
	struct connection *connection = request->connection;

	connection->keep = connection->keep && status < 400;
	add_head(out, request->web, status, type, connection->keep);
}

bool answer_send(const struct http_request *request, const char *bytes, size_t size)
{
	return mg_write(request->civetweb, bytes, size) == (int)size;
}

void answer_end(const struct http_request *request)
{
	request->connection->answered = true;
}

void answer(const struct http_request *request, int status, const char *type, const char *headers,
	    const char *body)
{
	size_t size = strlen(body);
	struct etw_text out = { 0 };

	answer_add_head(&out, request, status, type);
	text_add_string(&out, headers);
	text_add_format(&out, "Content-Length: %zu\r\n\r\n", size);
	if (!request->is_head) {
		text_add(&out, body, size);
	}
	if (!out.failed && answer_send(request, out.data, out.size)) {
		answer_end(request);
	}
	text_free(&out);
}

int answer_status(const struct http_request *request, int status, const char *headers)
{
	char body[64];

	snprintf(body, sizeof body, "%s\n", mg_get_response_code_text(NULL, status));
	answer(request, status, "text/plain; charset=utf-8", headers, body);
	return status;
}

void answer_add_refusal(struct web_config *web, int status, struct etw_text *out)
{
	const char *reason = mg_get_response_code_text(NULL, status);

	add_head(out, web, status, "text/plain; charset=utf-8", false);
	if (status == 405) {
		/* The target is "*", for which no method is allowed, not even GET. */
		text_add_string(out, "Allow:\r\n");
	} else if (status == 503) {
		text_add_string(out, "Retry-After: 5\r\n");
	}
	text_add_format(out, "Content-Length: %zu\r\n\r\n%s\n", strlen(reason) + 1, reason);
}
