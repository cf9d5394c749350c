/* SPDX-License-Identifier: MIT */
/*
 * The pages of the web server, and which path leads to which.
 *
 * Every request ends here, because nothing is served from the file system. Paths are compared as
 * they arrived, neither decoded nor cleaned of dots, because the paths of the pages need neither. A
 * path that has no page is answered with the list of those that have one; it is never repeated.
 */
#include <inttypes.h>
#include <string.h>

#include "base/html.h"
#include "base/os.h"
#include "http/server_internal.h"
#include "version.h"

#define HEALTHY_PATH "/-/healthy"
#define READY_PATH   "/-/ready"

/* ---- the landing page ---- */

static const struct {
	const char *path; /* NULL: the telemetry path */
	const char *what;
} listed_pages[] = {
	{ NULL, "the metrics, for Prometheus" },
	{ HEALTHY_PATH, "whether the program runs" },
	{ READY_PATH, "whether the names of processes are known" },
};

enum { LISTED_PAGES = sizeof listed_pages / sizeof listed_pages[0] };

static const char *listed_path(const struct http_server *server, size_t index)
{
	return listed_pages[index].path ? listed_pages[index].path : server->telemetry_path;
}

static void add_link(struct text *out, const char *path, const char *what)
{
	text_add_string(out, "<li><a href=\"");
	text_add_html(out, path);
	text_add_string(out, "\">");
	text_add_html(out, path);
	text_add_format(out, "</a> %s</li>\n", what);
}

static void add_uptime(struct text *out, uint64_t seconds)
{
	uint64_t minutes = seconds / 60, hours = minutes / 60;

	if (hours >= 24) {
		text_add_format(out, "%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
	} else if (hours > 0) {
		text_add_format(out, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	} else if (minutes > 0) {
		text_add_format(out, "%" PRIu64 " min", minutes);
	} else {
		text_add_format(out, "%" PRIu64 " s", seconds);
	}
}

static void add_landing_page(struct text *page, const struct http_server *server)
{
	/* Names in cells come from outside: each has its own direction of writing. */
	text_add_string(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
			      "<title>etw_exporter</title>\n<style>"
			      "body{font-family:sans-serif;margin:2em;max-width:60em}"
			      "table{border-collapse:collapse}"
			      "th,td{text-align:left;padding:.2em 1em .2em 0;unicode-bidi:isolate}"
			      ".n{text-align:right}"
			      "</style></head>\n<body>\n<h1>etw_exporter ");
	text_add_html(page, program_version.number);
	text_add_string(page,
			"</h1>\n<p>Prometheus metrics from Event Tracing for Windows. Revision ");
	text_add_html(page, program_version.revision);
	text_add_string(page, ", ");
	text_add_html(page, program_version.compiler);
	text_add_string(page, ", ");
	text_add_html(page, program_version.arch);
	text_add_string(page, ". Up for ");
	add_uptime(page, (os_monotonic_ns() - server->started_ns) / UINT64_C(1000000000));
	text_add_string(page, ".</p>\n<ul>\n");
	for (size_t i = 0; i < LISTED_PAGES; i++) {
		add_link(page, listed_path(server, i), listed_pages[i].what);
	}
	text_add_string(page, "</ul>\n");
	if (server->add_state) {
		server->add_state(server->state_context, page);
	}
	text_add_string(page,
			"<p>Every metric is described in <code>config/METRICS.md</code> of the "
			"source, and in the HELP lines of the metrics.</p>\n"
			"</body>\n</html>\n");
}

static int answer_landing_page(struct http_server *server, const struct http_request *request)
{
	struct text page = { 0 };

	add_landing_page(&page, server);
	if (page.failed) {
		text_free(&page);
		return answer_status(request, 500, "");
	}
	answer(request, 200, "text/html; charset=utf-8",
	       "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n",
	       page.data);
	text_free(&page);
	return 200;
}

/* Says what there is. The path that was asked for is not repeated. */
static int answer_not_found(const struct http_server *server, const struct http_request *request)
{
	struct text page = { 0 };

	text_add_string(&page, "Not Found. There are:\n/\n");
	for (size_t i = 0; i < LISTED_PAGES; i++) {
		text_add_format(&page, "%s\n", listed_path(server, i));
	}
	if (page.failed) {
		text_free(&page);
		return answer_status(request, 404, "");
	}
	answer(request, 404, "text/plain; charset=utf-8", "", page.data);
	text_free(&page);
	return 404;
}

static int answer_healthy(struct http_server *server, const struct http_request *request)
{
	(void)server;
	answer(request, 200, "text/plain; charset=utf-8", "", "Healthy\n");
	return 200;
}

static int answer_ready(struct http_server *server, const struct http_request *request)
{
	bool ready = !server->ready || server->ready(server->ready_context);

	answer(request, ready ? 200 : 503, "text/plain; charset=utf-8", "",
	       ready ? "Ready\n" : "Not ready\n");
	return ready ? 200 : 503;
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

/* An answer to GET and HEAD; returns the status. */
typedef int answer_page(struct http_server *server, const struct http_request *request);

static answer_page *page_of(const struct http_server *server, const char *path)
{
	static const struct {
		const char *path;
		answer_page *answer;
	} pages[] = {
		{ "/", answer_landing_page },
		{ HEALTHY_PATH, answer_healthy },
		{ READY_PATH, answer_ready },
	};

	if (strcmp(path, server->telemetry_path) == 0) {
		return scrape_answer;
	}
	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
		if (strcmp(path, pages[i].path) == 0) {
			return pages[i].answer;
		}
	}
	return NULL;
}

int pages_answer(struct http_server *server, const struct http_request *request)
{
	answer_page *page;

	if (request->path[0] == '\0' || !valid_path(request->path)) {
		return answer_status(request, 400, "");
	}
	/* RFC 9112, section 3.2: a request of HTTP/1.1 has a Host. */
	if (strcmp(request->version, "1.1") == 0 && !request_header(request, "Host")) {
		return answer_status(request, 400, "");
	}
	page = page_of(server, request->path);
	if (!page) {
		return answer_not_found(server, request);
	}
	if (!request->is_head && strcmp(request->method, "GET") != 0) {
		return answer_status(request, 405, "Allow: GET, HEAD\r\n");
	}
	return page(server, request);
}

bool pages_check_telemetry_path(const char *path, struct error *err)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		"/-._~!$&'()*+,;=:@";

	if (path[0] != '/' || strspn(path, allowed) != strlen(path)) {
		return error_set(
			err, ERROR_CONFIG,
			"\"%s\" is not a telemetry path: a slash, then characters that a URL allows",
			path);
	}
	if (strlen(path) >= TELEMETRY_PATH_SIZE_MAX) {
		return error_set(err, ERROR_CONFIG, "a telemetry path of %zu bytes is too long",
				 strlen(path));
	}
	if (strcmp(path, HEALTHY_PATH) == 0 || strcmp(path, READY_PATH) == 0) {
		return error_set(err, ERROR_CONFIG,
				 "the telemetry path %s is the address of another page", path);
	}
	return true;
}
