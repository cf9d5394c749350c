/* SPDX-License-Identifier: MIT */
/*
 * The pages of the web server, and the table that maps paths to them.
 *
 * Every request ends here, because nothing is served from the file system. One table has all pages:
 * path, methods, function, and the words for lists of pages. Paths are compared as they arrived,
 * neither decoded nor cleaned of dots, because the paths of the pages need neither. They begin with
 * the route prefix (server_internal.h), which is removed first; the rest of the path is called the
 * route. A path without a page is answered with the list of pages; the answer never repeats the
 * path.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/client_address.h"
#include "base/json.h"
#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "config/config.h"
#include "exporter/http/negotiate.h"
#include "exporter/http/server_internal.h"
#include "exporter/http/web_config.h"
#include "exporter/version.h"

/* ---- addresses of pages ---- */

static const char host_characters[] = WEB_LETTERS_DIGITS "-._~:[]";

/* Copies a text as a path that begins with a slash and does not end with one. */
static bool set_path(char to[WEB_PATH_SIZE_MAX], const char *text)
{
	size_t size = strlen(text);
	int written;

	while (size > 0 && text[size - 1] == '/') {
		size--;
	}
	written = snprintf(to, WEB_PATH_SIZE_MAX, "%s%.*s", size > 0 && text[0] != '/' ? "/" : "",
			   (int)(size < WEB_PATH_SIZE_MAX ? size : WEB_PATH_SIZE_MAX), text);
	return written < WEB_PATH_SIZE_MAX && (size == 0 || web_path_is_valid(to));
}

/* Returns the size in bytes of "https://host:port" at the start of a URL; 0: the text is only a
 * path, or no URL. */
static size_t origin_size(const char *url)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		size_t scheme = strlen(schemes[i]);

		if (text_starts_nocase(url, strlen(url), schemes[i], scheme)) {
			size_t host = strspn(url + scheme, host_characters);

			return host > 0 ? scheme + host : 0;
		}
	}
	return 0;
}

static bool set_external_url(struct web_paths *paths, const char *url, struct etw_error *err)
{
	size_t origin = origin_size(url);

	if (origin >= WEB_PATH_SIZE_MAX ||
	    (origin > 0 && url[origin] != '/' && url[origin] != '\0') ||
	    (origin == 0 && strchr(url, ':')) || !set_path(paths->links, url + origin)) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "--web.external-url: \"%s\" is not a URL such as "
				 "https://proxy.example/etw, nor a path such as /etw",
				 url);
	}
	for (size_t i = 0; i < origin; i++) {
		paths->origin[i] = ascii_lower(url[i]);
	}
	return true;
}

/* Sets the route prefix. As in Prometheus, all slashes at both ends are removed. */
static bool set_route_prefix(struct web_paths *paths, const char *prefix, struct etw_error *err)
{
	return set_path(paths->prefix, prefix + strspn(prefix, "/")) ||
	       error_set(err, ETW_ERROR_CONFIG,
			 "--web.route-prefix: \"%s\" is not the beginning of a path, such as /etw",
			 prefix);
}

static bool set_telemetry_path(struct web_paths *paths, const char *path, struct etw_error *err)
{
	if (strlen(path) >= WEB_PATH_SIZE_MAX) {
		return error_set(err, ETW_ERROR_CONFIG, "a telemetry path of %zu bytes is too long",
				 strlen(path));
	}
	if (!web_path_is_valid(path)) {
		return error_set(
			err, ETW_ERROR_CONFIG,
			"\"%s\" is not a telemetry path: a slash, then characters that a URL allows",
			path);
	}
	snprintf(paths->telemetry, sizeof paths->telemetry, "%s", path);
	return true;
}

bool web_paths_init(struct web_paths *paths, const char *external_url, const char *route_prefix,
		    const char *telemetry_path, struct etw_error *err)
{
	bool external = external_url && external_url[0] != '\0';
	bool prefix = route_prefix && route_prefix[0] != '\0';

	memset(paths, 0, sizeof *paths);
	if ((external && !set_external_url(paths, external_url, err)) ||
	    !set_route_prefix(paths, prefix ? route_prefix : paths->links, err) ||
	    !set_telemetry_path(paths, telemetry_path, err)) {
		return false;
	}
	if (!external) {
		memcpy(paths->links, paths->prefix, sizeof paths->links);
	}
	return true;
}

const char *web_paths_route(const struct web_paths *paths, const char *path)
{
	size_t size = strlen(paths->prefix);

	if (strncmp(path, paths->prefix, size) != 0 || (path[size] != '/' && path[size] != '\0')) {
		return NULL;
	}
	return path + size;
}

#define TEXT_PLAIN "text/plain; charset=utf-8"

/* ---- control by clients: POST /-/reload, /-/record and /-/quit ---- */

static int answer_sentence(const struct http_request *request, int status, const char *sentence)
{
	answer(request, status, TEXT_PLAIN, "", sentence);
	return status;
}

/*
 * Returns whether the request comes from a page of another site. With each POST a browser sends in
 * `Origin` the site of the page, or "null" if it hides the site. Our pages have the host and port
 * of `Host`, or those of the external URL behind a reverse proxy. curl and scripts send no Origin.
 */
static bool is_of_another_site(const struct http_server *server, const struct http_request *request)
{
	const char *origin = request_header(request, "Origin");
	const char *host = request_header(request, "Host");
	const char *origin_host;

	if (!origin) {
		return false;
	}
	if (server->paths.origin[0] != '\0' &&
	    text_equal_nocase(origin, strlen(origin), server->paths.origin,
			      strlen(server->paths.origin))) {
		return false;
	}
	origin_host = strstr(origin, "://");
	return !origin_host || !host ||
	       !text_equal_nocase(origin_host + 3, strlen(origin_host + 3), host, strlen(host));
}

/* The host in "name:9189", "https://name", "[::1]:9189". */
struct host {
	const char *name;
	size_t size;
};

static struct host host_of(const char *text)
{
	const char *scheme_end = strstr(text, "://");
	struct host host = { .name = scheme_end ? scheme_end + 3 : text };

	if (host.name[0] == '[') {
		host.name++;
		host.size = strcspn(host.name, "]");
	} else {
		host.size = strcspn(host.name, ":/");
	}
	return host;
}

static bool is_host(const struct host *host, const char *name, size_t size)
{
	return size > 0 && text_equal_nocase(host->name, host->size, name, size);
}

static bool is_number(const struct host *host)
{
	char text[CLIENT_ADDRESS_TEXT_SIZE];
	struct address_range range;

	if (host->size >= sizeof text) {
		return false;
	}
	memcpy(text, host->name, host->size);
	text[host->size] = '\0';
	return address_range_parse(text, &range) && !memchr(text, '/', host->size);
}

/*
 * Returns whether `Host` is a name of this exporter: a number, as listen addresses have it,
 * localhost, the host of the external URL, or the name of the computer. Any other name may be one
 * that its owner has changed to our address, so that pages from there count as ours (DNS
 * rebinding). No browser leaves out `Host`.
 */
static bool is_for_us(const struct http_server *server, const struct http_request *request)
{
	const char *header = request_header(request, "Host");
	struct host host, external;
	char computer[256];

	if (!header) {
		return true;
	}
	host = host_of(header);
	external = host_of(server->paths.origin);
	os_computer_name(computer, sizeof computer);
	return is_number(&host) || is_host(&host, "localhost", strlen("localhost")) ||
	       is_host(&host, external.name, external.size) ||
	       is_host(&host, computer, strlen(computer)) ||
	       is_host(&host, computer, strcspn(computer, "."));
}

/* Returns 200 if the request is allowed; otherwise answers it and returns the status. */
static int admit(const struct http_server *server, const struct http_request *request)
{
	if (!server->options.enable_lifecycle) {
		return answer_sentence(
			request, 403,
			"This page is switched off. The flag --web.enable-lifecycle switches it "
			"on.\n");
	}
	if (is_of_another_site(server, request)) {
		log_warning("Refused a request from a page of another site",
			    log_text("client", request->client), log_text("path", request->path),
			    log_text("origin", request_header(request, "Origin")));
		return answer_sentence(request, 403,
				       "The request comes from a page of another site.\n");
	}
	if (!is_for_us(server, request)) {
		log_warning("Refused a request for another host",
			    log_text("client", request->client), log_text("path", request->path),
			    log_text("host", request_header(request, "Host")));
		return answer_sentence(
			request, 403,
			"The request is for another host. Use an address in numbers, localhost or the "
			"name of the computer; --web.external-url adds another name.\n");
	}
	return 200;
}

/* Each function answers a POST or PUT and returns the status. */
static int lifecycle_reload(struct http_server *server, const struct http_request *request)
{
	const struct http_options *options = &server->options;
	struct etw_error err = { 0 };
	struct etw_text sentence = { 0 };
	int status = admit(server, request);

	if (status != 200) {
		return status;
	}
	if (!options->reload) {
		return answer_sentence(request, 501,
				       "This program cannot read its configuration again.\n");
	}
	log_info("Reload requested", log_text("client", request->client));
	if (options->reload(options->reload_context, &err)) {
		return answer_sentence(request, 200, "The configuration was read again.\n");
	}
	text_add_string(&sentence, "The configuration was not changed: ");
	text_add_shown(&sentence, err.text);
	text_add_char(&sentence, '\n');
	status = sentence.failed ? answer_status(request, 500, "") :
				   answer_sentence(request, 500, sentence.data);
	text_free(&sentence);
	return status;
}

static int lifecycle_record(struct http_server *server, const struct http_request *request)
{
	static const int statuses[] = {
		[HTTP_RECORDING_WRITTEN] = 200,
		[HTTP_RECORDING_FAILED] = 500,
		[HTTP_RECORDING_REFUSED] = 429,
	};
	const struct http_options *options = &server->options;
	struct etw_text reply = { 0 }, sentence = { 0 };
	int status = admit(server, request);

	if (status != 200) {
		return status;
	}
	if (!options->record) {
		return answer_sentence(request, 501,
				       "There is no flight recorder: the configuration has no "
				       "recorder: { dir: … }.\n");
	}
	log_info("Recording requested", log_text("client", request->client));
	status = statuses[options->record(options->record_context, &reply)];
	if (status != 200) {
		text_add_string(&sentence, "No recording was written: ");
	}
	text_add_shown(&sentence, reply.data ? reply.data : "");
	text_add_char(&sentence, '\n');
	status = sentence.failed || reply.failed ? answer_status(request, 500, "") :
						   answer_sentence(request, status, sentence.data);
	text_free(&sentence);
	text_free(&reply);
	return status;
}

static int lifecycle_quit(struct http_server *server, const struct http_request *request)
{
	const struct http_options *options = &server->options;
	int status = admit(server, request);

	if (status != 200) {
		return status;
	}
	if (!options->quit) {
		return answer_sentence(request, 501,
				       "This program cannot be ended by a request.\n");
	}
	log_info("End requested", log_text("client", request->client));
	/* The answer comes first, because the end of the program cuts off answers under way. */
	answer_sentence(request, 200, "The program ends.\n");
	options->quit(options->quit_context);
	return 200;
}

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
	char body[80];

	text_add_format(&headers, "Allow: %s\r\n", allowed_methods[page->methods]);
	if (headers.failed) {
		answer_status(request, 500, "");
	} else if (options) {
		answer(request, 200, TEXT_PLAIN, headers.data, "");
	} else {
		snprintf(body, sizeof body, "Method Not Allowed. This page allows %s.\n",
			 allowed_methods[page->methods]);
		answer(request, 405, TEXT_PLAIN, headers.data, body);
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
		reception_not_large(server->reception, request->connection);
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
	if (web_path_is_taken(options->telemetry_path)) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "the telemetry path %s is the address of another page",
				 options->telemetry_path);
	}
	for (size_t i = 0; i < PAGE_COUNT; i++) {
		const char *route = pages[i].route;

		/* A new page needs its path in web_path_is_taken(), too. */
		assert(!route || route[1] == '\0' || web_path_is_taken(route));
		if (pages[i].what) {
			server->listed[listed++] = (struct listed_page){
				.path = route ? route : server->paths.telemetry,
				.what = pages[i].what,
			};
		}
	}
	return true;
}
