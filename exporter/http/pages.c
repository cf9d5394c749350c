/* SPDX-License-Identifier: MIT */
/*
 * What the web server answers.
 *
 * Every request ends in http_on_request(), before civetweb would look for a file. URIs are compared
 * as they came, neither decoded nor cleaned of dots, because our own need neither.
 *
 * Heads are written here and not by mg_response_header_send(). That function sends each line of a
 * head by itself, which with tcp_nodelay is a packet per line; it repeats the HTTP version of the
 * request, which is missing if the request could not be parsed; and it adds a Date. Likewise
 * mg_send_chunk() writes a chunk in three pieces. Here an answer is one write, and a scrape is two
 * writes per chunk.
 *
 * /metrics is sent in chunks as the exposition fills its buffer, so a page of any size needs little
 * memory. The first chunk brings the head with it: until then an error can still be answered with
 * status 500. A client of HTTP/1.0 knows no chunks and reads until the connection closes. The whole
 * page has a deadline, because a client that reads slowly would otherwise hold a thread.
 */
#include "http/server_internal.h"

#include <civetweb.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "metrics/exposition.h"

/*
 * A client may take this long over a page as a whole. civetweb's request_timeout_ms bounds the wait
 * for a request, and for a client that takes nothing at all, but not their sum.
 */
enum { PAGE_TIMEOUT_S = 60 };

/* ---- answers ---- */

static void add_head(struct text *out, int status, const char *reason, const char *type)
{
	text_add_format(out, "HTTP/1.1 %d %s\r\n", status, reason);
	text_add_format(out, "Content-Type: %s\r\n", type);
	text_add_string(out, "X-Content-Type-Options: nosniff\r\nConnection: close\r\n");
}

/* A whole answer with one write. */
static void answer(struct mg_connection *connection, int status, const char *type,
		   const char *headers, const char *body)
{
	const struct mg_request_info *request = mg_get_request_info(connection);
	size_t size = strlen(body);
	struct text out = { 0 };

	add_head(&out, status, mg_get_response_code_text(connection, status), type);
	text_add_string(&out, headers);
	text_add_format(&out, "Content-Length: %zu\r\n\r\n", size);
	if (!request || !request->request_method || strcmp(request->request_method, "HEAD") != 0) {
		text_add(&out, body, size);
	}
	if (!out.failed) {
		mg_write(connection, out.data, out.size);
	}
	text_free(&out);
}

static int answer_status(struct mg_connection *connection, int status, const char *headers)
{
	char body[64];

	snprintf(body, sizeof body, "%s\n", mg_get_response_code_text(connection, status));
	answer(connection, status, "text/plain; charset=utf-8", headers, body);
	return status;
}

int http_on_error(struct mg_connection *connection, int status, const char *message)
{
	(void)message;
	answer_status(connection, status, "");
	return 0;
}

static void add_html(struct text *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			text_add_string(out, "&amp;");
			break;
		case '<':
			text_add_string(out, "&lt;");
			break;
		case '>':
			text_add_string(out, "&gt;");
			break;
		case '"':
			text_add_string(out, "&quot;");
			break;
		case '\'':
			text_add_string(out, "&#39;");
			break;
		default:
			text_add_char(out, *text);
		}
	}
}

static void add_link(struct text *out, const char *path, const char *what)
{
	text_add_string(out, "<li><a href=\"");
	add_html(out, path);
	text_add_string(out, "\">");
	add_html(out, path);
	text_add_format(out, "</a> %s</li>\n", what);
}

static int answer_landing_page(const struct http_server *server, struct mg_connection *connection)
{
	struct text page = { 0 };

	text_add_string(&page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
			       "<title>etw_exporter</title></head>\n<body>\n<h1>etw_exporter</h1>\n"
			       "<p>Prometheus metrics from Event Tracing for Windows.</p>\n<ul>\n");
	add_link(&page, server->telemetry_path, "metrics");
	add_link(&page, HTTP_HEALTHY_PATH, "whether the program runs");
	add_link(&page, HTTP_READY_PATH, "whether the first events are in");
	text_add_string(&page, "</ul>\n</body>\n</html>\n");
	if (page.failed) {
		text_free(&page);
		return answer_status(connection, 500, "");
	}
	answer(connection, 200, "text/html; charset=utf-8", "", page.data);
	text_free(&page);
	return 200;
}

static int answer_ready(const struct http_server *server, struct mg_connection *connection)
{
	bool ready = !server->ready || server->ready(server->ready_context);

	answer(connection, ready ? 200 : 503, "text/plain; charset=utf-8", "",
	       ready ? "Ready\n" : "Not ready\n");
	return ready ? 200 : 503;
}

/* ---- /metrics ---- */

/* One answer under way: the head and each chunk go out when the exposition has filled it. */
struct scrape {
	struct mg_connection *connection;
	uint64_t deadline_ns;
	bool chunked;
	bool begun;
	bool refused;
};

static bool send_all(struct scrape *scrape, const char *bytes, size_t size)
{
	scrape->refused |= os_monotonic_ns() > scrape->deadline_ns;
	scrape->refused |= scrape->refused ||
			   mg_write(scrape->connection, bytes, size) != (int)size;
	return !scrape->refused;
}

static void add_metrics_head(struct text *out, bool chunked)
{
	add_head(out, 200, "OK", EXPOSITION_CONTENT_TYPE);
	text_add_string(out, chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
}

/*
 * Chunked, so that a page cut short is known to be cut short. What stands between the bytes of two
 * chunks goes out with one write.
 */
static bool send_chunk(void *context, const char *bytes, size_t size)
{
	struct scrape *scrape = context;
	struct text frame = { 0 };
	bool sent;

	if (!scrape->begun) {
		add_metrics_head(&frame, scrape->chunked);
	} else if (scrape->chunked) {
		text_add_string(&frame, "\r\n");
	}
	if (scrape->chunked) {
		text_add_format(&frame, "%zx\r\n", size);
	}
	scrape->begun = true;
	scrape->refused |= frame.failed;
	sent = !scrape->refused && (frame.size == 0 || send_all(scrape, frame.data, frame.size)) &&
	       send_all(scrape, bytes, size);
	text_free(&frame);
	return sent;
}

static int answer_metrics_head(struct mg_connection *connection)
{
	struct text head = { 0 };

	add_metrics_head(&head, true);
	if (!head.failed) {
		mg_write(connection, head.data, head.size);
	}
	text_free(&head);
	return 200;
}

static int answer_metrics(struct http_server *server, struct mg_connection *connection,
			  const struct mg_request_info *request)
{
	static const char end[] = "\r\n0\r\n\r\n";
	uint64_t start_ns = os_monotonic_ns();
	struct scrape scrape = {
		.connection = connection,
		.deadline_ns = start_ns + PAGE_TIMEOUT_S * UINT64_C(1000000000),
		.chunked = strcmp(request->http_version, "1.1") == 0,
	};
	size_t size = exposition_write(server->registry, send_chunk, &scrape);
	enum outcome outcome = SCRAPE_DONE;
	int status = 200;

	if (size > 0 && scrape.chunked) {
		send_all(&scrape, end, sizeof end - 1);
	}
	if (size == 0 && !scrape.begun) {
		outcome = SCRAPE_FAILED; /* no memory */
		status = answer_status(connection, 500, "");
	} else if (scrape.refused) {
		outcome = SCRAPE_ABORTED;
		log_debug("Client left in the middle of a scrape");
	}
	family_add(server->families.scrapes, server->shard, &server->outcome_ids[outcome], 1);
	family_observe(server->families.duration, server->shard, NULL,
		       os_monotonic_ns() - start_ns);
	if (outcome == SCRAPE_DONE) {
		family_set(server->families.size, server->shard, NULL, (int64_t)size);
	}
	return status;
}

/* ---- requests ---- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f');
}

/* Percent codes are whole and do not hide a NUL. */
static bool valid_path(const char *path)
{
	for (const char *at = strchr(path, '%'); at; at = strchr(at + 1, '%')) {
		if (!is_hex(at[1]) || !is_hex(at[2]) || (at[1] == '0' && at[2] == '0')) {
			return false;
		}
	}
	return true;
}

int http_on_request(struct mg_connection *connection)
{
	struct http_server *server = mg_get_user_data(mg_get_context(connection));
	const struct mg_request_info *request = mg_get_request_info(connection);
	const char *path = request->local_uri_raw;
	bool head = strcmp(request->request_method, "HEAD") == 0;
	bool metrics, landing, healthy, ready;

	if (!path || !valid_path(path)) {
		return answer_status(connection, 400, "");
	}
	/* RFC 9112, section 3.2: a request of HTTP/1.1 has a Host. */
	if (strcmp(request->http_version, "1.1") == 0 && !mg_get_header(connection, "Host")) {
		return answer_status(connection, 400, "");
	}
	metrics = strcmp(path, server->telemetry_path) == 0;
	landing = !metrics && strcmp(path, "/") == 0;
	healthy = strcmp(path, HTTP_HEALTHY_PATH) == 0;
	ready = strcmp(path, HTTP_READY_PATH) == 0;
	if (!metrics && !landing && !healthy && !ready) {
		return answer_status(connection, 404, "");
	}
	if (!head && strcmp(request->request_method, "GET") != 0) {
		return answer_status(connection, 405, "Allow: GET, HEAD\r\n");
	}
	if (metrics) {
		return head ? answer_metrics_head(connection) :
			      answer_metrics(server, connection, request);
	}
	if (landing) {
		return answer_landing_page(server, connection);
	}
	if (ready) {
		return answer_ready(server, connection);
	}
	answer(connection, 200, "text/plain; charset=utf-8", "", "Healthy\n");
	return 200;
}

bool http_add_families(struct http_server *server, struct error *err)
{
	static const char *const codes[OUTCOME_COUNT] = {
		[SCRAPE_DONE] = "200", [SCRAPE_ABORTED] = "499", [SCRAPE_FAILED] = "500"
	};
	struct intern *strings = registry_strings(server->registry);

	server->shard = registry_shard(server->registry, true, err);
	if (!server->shard || !scrape_families(server->registry, &server->families, err)) {
		return false;
	}
	for (int i = 0; i < OUTCOME_COUNT; i++) {
		server->outcome_ids[i] = intern_string(strings, codes[i]);
		family_add(server->families.scrapes, server->shard, &server->outcome_ids[i], 0);
	}
	family_cells(server->families.duration, server->shard, NULL, NULL);
	family_add(server->families.size, server->shard, NULL, 0);
	return true;
}
