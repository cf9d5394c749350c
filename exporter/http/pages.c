/* SPDX-License-Identifier: MIT */
/*
 * The pages of the web server, and the table that maps paths to them.
 *
 * Every request ends here, because nothing is served from the file system. One table has all pages:
 * path, methods, function, and the words for lists of pages. Paths are compared as they arrived,
 * neither decoded nor cleaned of dots, because the paths of the pages need neither. They begin with
 * the route prefix (web_paths.h), which is removed first; the rest of the path is called the route.
 * A path without a page is answered with the list of pages; the answer never repeats the path.
 */
#include <assert.h>
#include <string.h>

#include "base/json.h"
#include "exporter/http/collect.h"
#include "exporter/http/landing_page.h"
#include "exporter/http/lifecycle.h"
#include "exporter/http/server_internal.h"
#include "exporter/http/time_limit.h"
#include "exporter/http/web_config.h"
#include "exporter/version.h"

#define TEXT_PLAIN "text/plain; charset=utf-8"

/* ---- small pages ---- */

static int answer_healthy(struct http_server *server, const struct http_request *request)
{
	(void)server;
	answer(request, 200, TEXT_PLAIN, "", "Healthy\n");
	return 200;
}

static int answer_ready(struct http_server *server, const struct http_request *request)
{
	bool ready = !server->options.ready || server->options.ready(server->options.ready_context);
	int status = ready ? 200 : 503;

	answer(request, status, TEXT_PLAIN, "", ready ? "Ready\n" : "Not ready\n");
	return status;
}

static int answer_version(struct http_server *server, const struct http_request *request)
{
	struct etw_text page = { 0 };
	struct json json;
	int status = 200;

	(void)server;
	json_init(&json, &page, true);
	json_object_begin(&json);
	json_member_string(&json, "program", "etw_exporter");
	json_member_string(&json, "version", program_version.number);
	json_member_string(&json, "revision", program_version.revision);
	json_member_string(&json, "compiler", program_version.compiler);
	json_member_string(&json, "arch", program_version.arch);
	json_object_end(&json);
	text_add_char(&page, '\n');
	if (page.failed) {
		status = answer_status(request, 500, "");
	} else {
		answer(request, status, "application/json", "", page.data);
	}
	text_free(&page);
	return status;
}

/* ---- the metrics page ---- */

/* Answers a scrape that is refused, and counts it. */
static int refuse_scrape(struct http_server *server, const struct http_request *request, int status,
			 const struct etw_text *why)
{
	scrape_count(server, status);
	if (why->size == 0 || why->failed) {
		return answer_status(request, status, "");
	}
	answer(request, status, TEXT_PLAIN, "", why->data);
	return status;
}

static int answer_metrics(struct http_server *server, const struct http_request *request)
{
	static const char timeout_header[] = "X-Prometheus-Scrape-Timeout-Seconds";
	struct collect collect;
	struct etw_text why = { 0 };
	int status = collect_init(&collect, request->query, &server->options, &why);

	if (status == 200) {
		const struct scrape_options options = {
			.requested = collect.everything ? NULL : collect_includes,
			.context = &collect,
			.time_limit_ns = time_limit_ns(request_header(request, timeout_header),
						       server->options.timeout_offset_ns),
		};

		status = scrape_answer(server, request, &options);
	} else {
		text_add_string(&why, why.size > 0 ? "\n" : "");
		refuse_scrape(server, request, status, &why);
	}
	collect_done(&collect);
	text_free(&why);
	return status;
}

/* ---- the table ---- */

/* Answers a request whose method the page allows, and returns the status. */
typedef int answer_page(struct http_server *server, const struct http_request *request);

enum methods { METHODS_READ, METHODS_CHANGE };

static const char *const allowed_methods[] = {
	[METHODS_READ] = "GET, HEAD, OPTIONS",
	[METHODS_CHANGE] = "POST, PUT, OPTIONS",
};

/* The row "/" is the landing page, unless the telemetry path is "/". */
static const struct page {
	const char *route; /* NULL: the telemetry path */
	enum methods methods;
	answer_page *answer;
	const char *what; /* text for lists of pages; NULL: they leave this page out */
} pages[] = {
	{ NULL, METHODS_READ, answer_metrics, "the metrics, for Prometheus" },
	{ "/", METHODS_READ, landing_page_answer, NULL },
	{ "/style.css", METHODS_READ, landing_page_style, NULL },
	{ "/script.js", METHODS_READ, landing_page_script, NULL },
	{ "/icon.svg", METHODS_READ, landing_page_icon, NULL },
	{ "/history.json", METHODS_READ, landing_page_history, NULL },
	{ "/-/healthy", METHODS_READ, answer_healthy, "whether the program runs" },
	{ "/-/ready", METHODS_READ, answer_ready, "whether the names of processes are known" },
	{ "/version", METHODS_READ, answer_version, "version and build, as JSON" },
	{ "/-/reload", METHODS_CHANGE, lifecycle_reload, NULL },
	{ "/-/record", METHODS_CHANGE, lifecycle_record, NULL },
	{ "/-/quit", METHODS_CHANGE, lifecycle_quit, NULL },
};

enum { PAGE_COUNT = sizeof pages / sizeof pages[0] };

static_assert(sizeof pages / sizeof pages[0] <= LISTED_PAGES,
	      "a server has room for a list of all pages");

static const struct page *find_page(const struct web_paths *paths, const char *route)
{
	for (size_t i = 0; i < PAGE_COUNT; i++) {
		if (strcmp(route, pages[i].route ? pages[i].route : paths->telemetry) == 0) {
			return &pages[i];
		}
	}
	return NULL;
}

/* ---- requests ---- */

/* Answers with the list of pages. The path of the request is not repeated. */
static int answer_not_found(const struct http_server *server, const struct http_request *request)
{
	struct etw_text page = { 0 };

	text_add_format(&page, "Not Found. There are:\n%s/\n", server->paths.links);
	for (const struct listed_page *listed = server->listed; listed->path; listed++) {
		text_add_format(&page, "%s%s\n", server->paths.links, listed->path);
	}
	if (page.failed) {
		answer_status(request, 404, "");
	} else {
		answer(request, 404, TEXT_PLAIN, "", page.data);
	}
	text_free(&page);
	return 404;
}

/* Redirects to the landing page below the prefix. */
static int answer_redirect(const struct http_request *request, const char *prefix)
{
	struct etw_text headers = { 0 };

	text_add_format(&headers, "Location: %s/\r\n", prefix);
	answer_status(request, headers.failed ? 500 : 302, headers.failed ? "" : headers.data);
	text_free(&headers);
	return 302;
}

/* Answers OPTIONS, and methods that the page does not allow. */
static int answer_methods(const struct http_request *request, const struct page *page)
{
	bool options = strcmp(request->method, "OPTIONS") == 0;
	struct etw_text headers = { 0 };

	text_add_format(&headers, "Allow: %s\r\n", allowed_methods[page->methods]);
	if (headers.failed) {
		answer_status(request, 500, "");
	} else if (options) {
		answer(request, 200, TEXT_PLAIN, headers.data, "");
	} else {
		answer_status(request, 405, headers.data);
	}
	text_free(&headers);
	return options ? 200 : 405;
}

static bool page_has_method(const struct page *page, const struct http_request *request)
{
	const char *method = request->method;

	return page->methods == METHODS_READ ?
		       request->is_head || strcmp(method, "GET") == 0 :
		       strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f');
}

/* Returns whether percent codes are complete and do not mean a NUL. */
static bool valid_path(const char *path)
{
	for (const char *at = strchr(path, '%'); at; at = strchr(at + 1, '%')) {
		if (!is_hex(at[1]) || !is_hex(at[2]) || (at[1] == '0' && at[2] == '0')) {
			return false;
		}
	}
	return true;
}

int pages_answer(struct http_server *server, const struct http_request *request)
{
	const struct web_paths *paths = &server->paths;
	const struct page *page;
	const char *route, *headers = "";
	int refused;

	if (server->web &&
	    !web_config_knows(server->web, request_header(request, "Authorization"))) {
		reception_not_large(server->reception, request->ours);
	}
	/* Authentication comes before all other checks, so that strangers learn nothing. */
	refused = server->web ?
			  web_config_refuse(server->web, request_header(request, "Authorization"),
					    request->client, request->address, &headers) :
			  0;

	if (refused != 0) {
		return answer_status(request, refused, headers);
	}
	if (request->path[0] == '\0' || !valid_path(request->path)) {
		return answer_status(request, 400, "");
	}
	/* RFC 9112, section 3.2: a request of HTTP/1.1 must have a Host header. */
	if (strcmp(request->version, "1.1") == 0 && !request_header(request, "Host")) {
		return answer_status(request, 400, "");
	}
	route = web_paths_route(paths, request->path);
	if (route && route[0] == '\0') {
		return answer_redirect(request, paths->links);
	}
	if (!route && strcmp(request->path, "/") == 0) {
		return answer_redirect(request, paths->prefix);
	}
	page = route ? find_page(paths, route) : NULL;
	if (!page) {
		return answer_not_found(server, request);
	}
	return page_has_method(page, request) ? page->answer(server, request) :
						answer_methods(request, page);
}

bool pages_open(struct http_server *server, const struct http_options *options,
		struct etw_error *err)
{
	size_t listed = 0;

	server->options = *options;
	if (!web_paths_init(&server->paths, options->external_url, options->route_prefix,
			    options->telemetry_path, err)) {
		return false;
	}
	for (size_t i = 0; i < PAGE_COUNT; i++) {
		if (pages[i].route && strcmp(pages[i].route, "/") != 0 &&
		    strcmp(pages[i].route, options->telemetry_path) == 0) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "the telemetry path %s is the address of another page",
					 options->telemetry_path);
		}
	}
	for (size_t i = 0; i < PAGE_COUNT; i++) {
		if (pages[i].what) {
			server->listed[listed++] = (struct listed_page){
				.path = pages[i].route ? pages[i].route : server->paths.telemetry,
				.what = pages[i].what,
			};
		}
	}
	return true;
}
