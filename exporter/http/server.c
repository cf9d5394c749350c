/* SPDX-License-Identifier: MIT */
/*
 * The web server on top of civetweb, which no other file uses.
 *
 * Every request ends in on_request(), before civetweb would look for a file. URIs are compared as
 * they arrived, neither decoded nor cleaned of dots, because the paths of the pages need neither.
 *
 * Heads are written here and not by mg_response_header_send(). That function sends each line of a
 * head by itself, which with tcp_nodelay is a packet per line; it repeats the HTTP version of the
 * request, which is missing if the request could not be parsed; and it adds a Date. Likewise
 * mg_send_chunk() writes a chunk in three pieces. Here an answer is one write, and a scrape is two
 * writes per chunk.
 *
 * /metrics is sent in chunks as the exposition fills its buffer, so a page of any size needs little
 * memory. The first chunk brings the head with it: until then an error can still be answered with
 * status 500. A client of HTTP/1.0 does not support chunks and reads until the connection closes.
 * The whole page has a deadline, because a client that reads slowly would otherwise hold a thread.
 *
 * civetweb takes its settings as texts and reports only in its log why it cannot start. So
 * addresses are parsed here first (base/listen_address.h), which gives good messages for most
 * mistakes, and written again in civetweb's form: "+9189" is a port on IPv6 and, through it, IPv4.
 * While the server starts, the first log message is kept, and start_failed() turns it into a
 * sentence about the address that the message names. Later messages are logged for debugging. A
 * system without IPv6 refuses "+"; then the start is tried once more with IPv4 alone.
 */
#include "http/server.h"

#include <civetweb.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/html.h"
#include "base/listen_address.h"
#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "health.h"
#include "metrics/exposition.h"
#include "version.h"

#define HEALTHY_PATH "/-/healthy"
#define READY_PATH   "/-/ready"

enum {
	ADDRESSES_MAX = 16,
	TELEMETRY_PATH_SIZE_MAX = 256,
};

/* What came of a scrape: the label "code". */
static const char done[] = "200", client_left[] = "499", no_memory[] = "500";

struct http_server {
	struct mg_context *context; /* owned */
	struct registry *registry;
	struct shard *shard; /* shared by civetweb's threads */
	struct family *families[SCRAPE_FAMILIES];

	char telemetry_path[TELEMETRY_PATH_SIZE_MAX];
	bool (*ready)(void *context);
	void *ready_context;
	void (*add_state)(void *context, struct text *html);
	void *state_context;
	uint64_t started_ns;
	bool library_started;

	struct listen_address addresses[ADDRESSES_MAX];
	const char *const *address_texts; /* borrowed, while starting */
	size_t address_count;
	unsigned ports[ADDRESSES_MAX];
	/* While starting, what civetweb says is why it cannot; later only a word for debugging. */
	atomic_bool started;
	char start_message[256];
};

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

static bool is_head(const struct mg_request_info *request)
{
	return request && request->request_method && strcmp(request->request_method, "HEAD") == 0;
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
	if (!is_head(request)) {
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

/* civetweb's http_error: requests that civetweb refuses, because they are malformed or too long. */
static int on_error(struct mg_connection *connection, int status, const char *message)
{
	(void)message;
	answer_status(connection, status, "");
	return 0;
}

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

static int answer_landing_page(struct http_server *server, struct mg_connection *connection)
{
	struct text page = { 0 };

	add_landing_page(&page, server);
	if (page.failed) {
		text_free(&page);
		return answer_status(connection, 500, "");
	}
	answer(connection, 200, "text/html; charset=utf-8",
	       "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n",
	       page.data);
	text_free(&page);
	return 200;
}

/* Says what there is. The path that was asked for is not repeated. */
static int answer_not_found(const struct http_server *server, struct mg_connection *connection)
{
	struct text page = { 0 };

	text_add_string(&page, "Not Found. There are:\n/\n");
	for (size_t i = 0; i < LISTED_PAGES; i++) {
		text_add_format(&page, "%s\n", listed_path(server, i));
	}
	if (page.failed) {
		text_free(&page);
		return answer_status(connection, 404, "");
	}
	answer(connection, 404, "text/plain; charset=utf-8", "", page.data);
	text_free(&page);
	return 404;
}

static int answer_healthy(struct http_server *server, struct mg_connection *connection)
{
	(void)server;
	answer(connection, 200, "text/plain; charset=utf-8", "", "Healthy\n");
	return 200;
}

static int answer_ready(struct http_server *server, struct mg_connection *connection)
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

static int answer_metrics(struct http_server *server, struct mg_connection *connection)
{
	static const char end[] = "\r\n0\r\n\r\n";
	const struct mg_request_info *request = mg_get_request_info(connection);
	uint64_t start_ns = os_monotonic_ns();
	struct scrape scrape = {
		.connection = connection,
		.deadline_ns = start_ns + PAGE_TIMEOUT_S * UINT64_C(1000000000),
		.chunked = strcmp(request->http_version, "1.1") == 0,
	};
	const char *code = done;
	uint32_t code_id;
	int status = 200;
	size_t size;

	if (is_head(request)) {
		return answer_metrics_head(connection);
	}
	size = exposition_write(server->registry, send_chunk, &scrape);
	if (size > 0 && scrape.chunked) {
		send_all(&scrape, end, sizeof end - 1);
	}
	if (size == 0 && !scrape.begun) {
		code = no_memory;
		status = answer_status(connection, 500, "");
	} else if (scrape.refused) {
		code = client_left;
	}
	code_id = intern_string(registry_strings(server->registry), code);
	family_add(server->families[SCRAPE_COUNT], server->shard, &code_id, 1);
	family_observe(server->families[SCRAPE_DURATION], server->shard, NULL,
		       os_monotonic_ns() - start_ns);
	if (code == done) {
		family_set(server->families[SCRAPE_SIZE], server->shard, NULL, (int64_t)size);
	}
	log_debug("Scrape", log_text("client", request->remote_addr), log_text("code", code),
		  log_u64("bytes", size),
		  log_u64("microseconds", (os_monotonic_ns() - start_ns) / 1000));
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

/* An answer to GET and HEAD; returns the status. */
typedef int answer_page(struct http_server *server, struct mg_connection *connection);

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
		return answer_metrics;
	}
	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
		if (strcmp(path, pages[i].path) == 0) {
			return pages[i].answer;
		}
	}
	return NULL;
}

/* civetweb's begin_request: answers every request; returns the status, for civetweb's log. */
static int on_request(struct mg_connection *connection)
{
	struct http_server *server = mg_get_user_data(mg_get_context(connection));
	const struct mg_request_info *request = mg_get_request_info(connection);
	const char *path = request->local_uri_raw;
	answer_page *page;

	if (!path || !valid_path(path)) {
		return answer_status(connection, 400, "");
	}
	/* RFC 9112, section 3.2: a request of HTTP/1.1 has a Host. */
	if (strcmp(request->http_version, "1.1") == 0 && !mg_get_header(connection, "Host")) {
		return answer_status(connection, 400, "");
	}
	page = page_of(server, path);
	if (!page) {
		return answer_not_found(server, connection);
	}
	if (!is_head(request) && strcmp(request->request_method, "GET") != 0) {
		return answer_status(connection, 405, "Allow: GET, HEAD\r\n");
	}
	return page(server, connection);
}

static bool add_families(struct http_server *server, struct error *err)
{
	const char *const codes[] = { done, client_left, no_memory };

	server->shard = registry_shard(server->registry, true, err);
	if (!server->shard || !scrape_families(server->registry, server->families, err)) {
		return false;
	}
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		uint32_t id = intern_string(registry_strings(server->registry), codes[i]);

		family_add(server->families[SCRAPE_COUNT], server->shard, &id, 0);
	}
	family_cells(server->families[SCRAPE_DURATION], server->shard, NULL, NULL);
	family_add(server->families[SCRAPE_SIZE], server->shard, NULL, 0);
	return true;
}

/* ---- starting and stopping ---- */

static int on_message(const struct mg_connection *connection, const char *message)
{
	struct http_server *server = mg_get_user_data(mg_get_context(connection));

	if (server && !atomic_load_explicit(&server->started, memory_order_relaxed)) {
		if (server->start_message[0] == '\0') {
			snprintf(server->start_message, sizeof server->start_message, "%s",
				 message);
		}
	} else {
		log_debug("Web server", log_text("message", message));
	}
	return 1; /* not to standard error */
}

static bool check_telemetry_path(const char *path, struct error *err)
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

/* An address in civetweb's words. */
static void add_address(struct text *out, const struct listen_address *address, bool ipv6)
{
	switch (address->family) {
	case LISTEN_ANY:
		/* "+": IPv6 and, through it, IPv4 */
		text_add_format(out, "%s%u", ipv6 ? "+" : "", address->port);
		break;
	case LISTEN_IPV4:
		text_add_format(out, "%s:%u", address->host, address->port);
		break;
	case LISTEN_IPV6:
		text_add_format(out, "[%s]:%u", address->host, address->port);
		break;
	}
}

static bool start_civetweb(struct http_server *server, bool ipv6)
{
	const struct mg_callbacks callbacks = {
		.begin_request = on_request,
		.http_error = on_error,
		.log_message = on_message,
	};
	/* clang-format off */
	const char *options[] = {
		"listening_ports", NULL, /* below */
		"num_threads", "8",
		"request_timeout_ms", "2000",
		"max_request_size", "16384",
		"enable_keep_alive", "no",
		"decode_url", "no",
		"enable_auth_domain_check", "no",
		"tcp_nodelay", "1",
		NULL,
	};
	/* clang-format on */
	struct text ports = { 0 };

	for (size_t i = 0; i < server->address_count; i++) {
		text_add_string(&ports, i > 0 ? "," : "");
		add_address(&ports, &server->addresses[i], ipv6);
	}
	if (ports.failed) {
		text_free(&ports);
		return false;
	}
	options[1] = ports.data;
	server->start_message[0] = '\0';
	server->context = mg_start(&callbacks, server, options);
	text_free(&ports);
	return server->context != NULL;
}

/* Whether a message of civetweb is about an address: names it between blanks and a colon. */
static bool message_names(const char *message, const struct listen_address *address, bool ipv6)
{
	struct text spec = { 0 };
	bool names;

	text_add_char(&spec, ' ');
	add_address(&spec, address, ipv6);
	text_add_char(&spec, ':');
	names = !spec.failed &&
		(strstr(message, spec.data) || strncmp(message, spec.data + 1, spec.size - 1) == 0);
	text_free(&spec);
	return names;
}

/*
 * What civetweb said, such as "cannot bind to IPv6 +9189: 98 (Address already in use)". The
 * sentence is right on POSIX only, the number everywhere.
 */
static bool start_failed(const struct http_server *server, struct error *err)
{
	const char *address = server->address_texts[0], *message = server->start_message;
	const char *number = strrchr(message, ':');
	char reason[128];

	for (size_t i = 0; i < server->address_count; i++) {
		if (message_names(message, &server->addresses[i], true) ||
		    message_names(message, &server->addresses[i], false)) {
			address = server->address_texts[i];
		}
	}
	if (strstr(message, "invalid port spec")) {
		return error_set(err, ERROR_CONFIG, "\"%s\" is not a listen address", address);
	}
	if (strncmp(message, "cannot bind", 11) == 0 && number) {
		int code = (int)strtol(number + 1, NULL, 10);
		const char *advice = os_listen_advice(code);

		os_error_text(code, reason, sizeof reason);
		return error_set(err, ERROR_SYSTEM, "cannot listen on %s: %s%s%s%s", address,
				 reason, advice ? " (" : "", advice ? advice : "",
				 advice ? ")" : "");
	}
	return error_set(err, ERROR_SYSTEM, "cannot start the web server: %s",
			 message[0] ? message : "no memory or no threads");
}

static bool read_ports(struct http_server *server, struct error *err)
{
	struct mg_server_port ports[ADDRESSES_MAX];
	int count = mg_get_server_ports(server->context, ADDRESSES_MAX, ports);

	if (count != (int)server->address_count) {
		return error_set(err, ERROR_SYSTEM, "listening on %d addresses instead of %zu",
				 count, server->address_count);
	}
	for (size_t i = 0; i < server->address_count; i++) {
		server->ports[i] = (unsigned)ports[i].port;
	}
	return true;
}

struct http_server *http_start(const struct http_options *options, struct registry *registry,
			       struct error *err)
{
	struct http_server *server = calloc(1, sizeof *server);

	if (!server) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the web server");
		return NULL;
	}
	server->registry = registry;
	server->ready = options->ready;
	server->ready_context = options->ready_context;
	server->add_state = options->add_state;
	server->state_context = options->state_context;
	server->started_ns = os_monotonic_ns();
	if (options->listen_address_count == 0 || options->listen_address_count > ADDRESSES_MAX) {
		error_set(err, ERROR_CONFIG, "%zu listen addresses; 1 to %d are possible",
			  options->listen_address_count, ADDRESSES_MAX);
		goto fail;
	}
	server->address_texts = options->listen_addresses;
	server->address_count = options->listen_address_count;
	for (size_t i = 0; i < server->address_count; i++) {
		if (!listen_address_parse(options->listen_addresses[i], &server->addresses[i])) {
			error_set(err, ERROR_CONFIG,
				  "\"%s\" is not a listen address such as :9189, 127.0.0.1:9189 or "
				  "[::1]:9189",
				  options->listen_addresses[i]);
			goto fail;
		}
	}
	if (!check_telemetry_path(options->telemetry_path, err) || !add_families(server, err)) {
		goto fail;
	}
	snprintf(server->telemetry_path, sizeof server->telemetry_path, "%s",
		 options->telemetry_path);
	mg_init_library(0);
	server->library_started = true;
	/* Without IPv6 in the system, civetweb says "cannot create socket (entry 1)". */
	if (!start_civetweb(server, true) &&
	    (!strstr(server->start_message, "cannot create socket") ||
	     !start_civetweb(server, false))) {
		start_failed(server, err);
		goto fail;
	}
	server->address_texts = NULL;
	atomic_store_explicit(&server->started, true, memory_order_relaxed);
	if (!read_ports(server, err)) {
		goto fail;
	}
	return server;

fail:
	http_stop(server);
	return NULL;
}

unsigned http_port(const struct http_server *server, size_t index)
{
	return index < server->address_count ? server->ports[index] : 0;
}

void http_stop(struct http_server *server)
{
	if (!server) {
		return;
	}
	if (server->context) {
		mg_stop(server->context);
	}
	if (server->library_started) {
		mg_exit_library();
	}
	free(server);
}
