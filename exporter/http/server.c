/* SPDX-License-Identifier: MIT */
/*
 * The web server: listening, starting, stopping. Requests are answered in pages.c; no other
 * file uses civetweb.
 *
 * civetweb takes its settings as texts and says why it cannot start only in its log. So addresses
 * are parsed here first (base/listen_address.h), which gives good messages for most mistakes, and
 * written anew in civetweb's form: "+9189" is a port on IPv6 and, through it, IPv4. While the
 * server starts, the first log message is kept, and start_failed() turns it into a sentence about
 * the address that the message names. Later messages are logged for debugging. A system without
 * IPv6 refuses "+"; then the start is tried once more with IPv4 alone.
 */
#include "http/server.h"

#include <civetweb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
#include "http/server_internal.h"

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
			"\"%s\" is no telemetry path: a slash and what a URL may hold as it is",
			path);
	}
	if (strlen(path) >= HTTP_PATH_SIZE_MAX) {
		return error_set(err, ERROR_CONFIG, "a telemetry path of %zu bytes is too long",
				 strlen(path));
	}
	if (strcmp(path, HTTP_HEALTHY_PATH) == 0 || strcmp(path, HTTP_READY_PATH) == 0) {
		return error_set(err, ERROR_CONFIG, "the telemetry path %s has another use", path);
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
		.begin_request = http_on_request,
		.http_error = http_on_error,
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
		return error_set(err, ERROR_CONFIG, "\"%s\" is no listen address", address);
	}
	if (strncmp(message, "cannot bind", 11) == 0 && number) {
		os_error_text((int)strtol(number + 1, NULL, 10), reason, sizeof reason);
		return error_set(err, ERROR_SYSTEM, "cannot listen on %s: %s", address, reason);
	}
	return error_set(err, ERROR_SYSTEM, "cannot start the web server: %s",
			 message[0] ? message : "no memory or no threads");
}

static bool read_ports(struct http_server *server, struct error *err)
{
	struct mg_server_port ports[HTTP_ADDRESSES_MAX];
	int count = mg_get_server_ports(server->context, HTTP_ADDRESSES_MAX, ports);

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
	if (options->listen_address_count == 0 ||
	    options->listen_address_count > HTTP_ADDRESSES_MAX) {
		error_set(err, ERROR_CONFIG, "%zu listen addresses; 1 to %d are possible",
			  options->listen_address_count, HTTP_ADDRESSES_MAX);
		goto fail;
	}
	server->address_texts = options->listen_addresses;
	server->address_count = options->listen_address_count;
	for (size_t i = 0; i < server->address_count; i++) {
		if (!listen_address_parse(options->listen_addresses[i], &server->addresses[i])) {
			error_set(err, ERROR_CONFIG,
				  "\"%s\" is no listen address: :9189, 127.0.0.1:9189 and "
				  "[::1]:9189 are",
				  options->listen_addresses[i]);
			goto fail;
		}
	}
	if (!check_telemetry_path(options->telemetry_path, err) ||
	    !http_add_families(server, err)) {
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
