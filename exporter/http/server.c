/* SPDX-License-Identifier: MIT */
/*
 * The web server on top of civetweb, which no other file uses.
 *
 * Every request ends in on_request(), before civetweb would look for a file, and goes on in
 * pages.c, which sees it as a struct http_request.
 *
 * Heads are written here and not by mg_response_header_send(). That function sends each line of a
 * head by itself, which with tcp_nodelay is a packet per line; it repeats the HTTP version of the
 * request, which is missing if the request could not be parsed; and it adds a Date. Likewise
 * mg_send_chunk() writes a chunk in three pieces. Here an answer is one write, and a scrape is two
 * writes per chunk.
 *
 * civetweb takes its settings as texts and reports only in its log why it cannot start. So
 * addresses are parsed here first (base/listen_address.h), which gives good messages for most
 * mistakes, and written again in civetweb's form: "+9189" is a port on IPv6 and, through it, IPv4.
 * While the server starts, the first log message is kept, and start_failed() turns it into a
 * sentence about the address that the message names. Later messages are logged for debugging. A
 * system without IPv6 refuses "+"; then the start is tried once more with IPv4 alone.
 */
#include <civetweb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "http/server_internal.h"

/* ---- answers ---- */

const char *request_header(const struct http_request *request, const char *name)
{
	return mg_get_header(request->connection, name);
}

void answer_add_head(struct text *out, int status, const char *type)
{
	text_add_format(out, "HTTP/1.1 %d %s\r\n", status, mg_get_response_code_text(NULL, status));
	text_add_format(out, "Content-Type: %s\r\n", type);
	text_add_string(out, "X-Content-Type-Options: nosniff\r\nConnection: close\r\n");
}

bool answer_send(const struct http_request *request, const char *bytes, size_t size)
{
	return mg_write(request->connection, bytes, size) == (int)size;
}

void answer(const struct http_request *request, int status, const char *type, const char *headers,
	    const char *body)
{
	size_t size = strlen(body);
	struct text out = { 0 };

	answer_add_head(&out, status, type);
	text_add_string(&out, headers);
	text_add_format(&out, "Content-Length: %zu\r\n\r\n", size);
	if (!request->is_head) {
		text_add(&out, body, size);
	}
	if (!out.failed) {
		answer_send(request, out.data, out.size);
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

/* A request as the pages see it. civetweb leaves members NULL if it could not parse the request. */
static struct http_request request_of(struct mg_connection *connection)
{
	const struct mg_request_info *info = mg_get_request_info(connection);
	struct http_request request = { .connection = connection, .client = "" };

	if (info) {
		request.method = info->request_method ? info->request_method : "";
		request.path = info->local_uri_raw ? info->local_uri_raw : "";
		request.query = info->query_string;
		request.version = info->http_version ? info->http_version : "";
		request.client = info->remote_addr;
		request.is_head = strcmp(request.method, "HEAD") == 0;
	}
	return request;
}

/* civetweb's http_error: requests that civetweb refuses, because they are malformed or too long. */
static int on_error(struct mg_connection *connection, int status, const char *message)
{
	const struct http_request request = request_of(connection);

	(void)message;
	answer_status(&request, status, "");
	return 0;
}

/* civetweb's begin_request: answers every request; returns the status, for civetweb's log. */
static int on_request(struct mg_connection *connection)
{
	const struct http_request request = request_of(connection);

	return pages_answer(mg_get_user_data(mg_get_context(connection)), &request);
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
	if (!pages_open(server, options, err) || !scrape_open(server, err)) {
		goto fail;
	}
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
