/* SPDX-License-Identifier: MIT */
/*
 * Runs the web server on top of civetweb, which only this file and answer.c use.
 *
 * civetweb parses requests and runs the workers; the connections are ours (reception.h). A worker
 * of civetweb requests the next connection, reads the request head from it, and calls on_request()
 * before it would look for a file. The request continues in pages.c, which sees it as a struct
 * http_request. When it is answered, civetweb "closes" the connection, which gives it back to the
 * reception. Thus keep-alive works, although civetweb believes that it closes each connection.
 *
 * There are as many workers as scrapes are answered at once, and some for small pages and for
 * passwords. Where the system allows fewer threads, half of them become workers, because the rest
 * of the program starts threads later. How many it allows is tried out before civetweb starts.
 *
 * Addresses are parsed and sockets opened before civetweb starts, which then can only fail for lack
 * of memory or threads. It reports that in its log alone, so while the server starts, the first log
 * message is kept for the error, and messages are warnings. Later messages are logged for
 * debugging.
 */
#include <civetweb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "exporter/http/auth.h"
#include "exporter/http/dispatch.h"
#include "exporter/http/server_internal.h"
#include "exporter/http/web_config.h"

enum {
	PAGES_PER_PROCESSOR = 2, /* that are rendered at once, without a setting */
	THREADS_BESIDE = 4,      /* that the program needs besides its workers */
};

/* ---- requests ---- */

/* Returns the request in the form that pages use. civetweb leaves members NULL if it could not
 * parse the request. */
static struct http_request request_of(struct mg_connection *connection)
{
	const struct mg_request_info *info = mg_get_request_info(connection);
	const struct http_server *server = mg_get_user_data(mg_get_context(connection));
	struct connection *client = mg_get_user_connection_data(connection);
	struct http_request request = { .civetweb = connection,
					.connection = client,
					.web = server->web,
					.client = client->client,
					.address = &client->address };

	if (info) {
		request.method = info->request_method ? info->request_method : "";
		request.path = info->local_uri_raw ? info->local_uri_raw : "";
		request.query = info->query_string;
		request.version = info->http_version ? info->http_version : "";
		request.is_head = strcmp(request.method, "HEAD") == 0;
	}
	return request;
}

/* civetweb's http_error: requests that civetweb refuses, because they are malformed or too long. */
static int on_error(struct mg_connection *connection, int status, const char *message)
{
	const struct http_request request = request_of(connection);

	(void)message;
	request.connection->keep = false;
	answer_status(&request, status, "");
	return 0;
}

/* civetweb's begin_request: answers every request; returns the status, for civetweb's log. */
static int on_request(struct mg_connection *connection)
{
	const struct http_request request = request_of(connection);

	return pages_answer(mg_get_user_data(mg_get_context(connection)), &request);
}

/* ---- civetweb's connections ---- */

static struct http_server *server_of(const struct mg_context *context)
{
	return mg_get_user_data(context);
}

static void run_reception(const struct mg_context *context)
{
	reception_run(server_of(context)->reception);
}

static void no_reception(const struct mg_context *context)
{
	reception_stop(server_of(context)->reception);
}

static void *next_connection(const struct mg_context *context)
{
	return reception_next(server_of(context)->reception);
}

static int read_connection(const struct mg_connection *connection, char *bytes, int capacity)
{
	size_t size =
		reception_read(mg_get_user_connection_data(connection), bytes, (size_t)capacity);

	return size > 0 ? (int)size : -2; /* error for civetweb: bodies of requests are not read */
}

static int write_connection(const struct mg_connection *connection, const char *bytes, int size)
{
	struct http_server *server = server_of(mg_get_context(connection));

	return reception_send(server->reception, mg_get_user_connection_data(connection), bytes,
			      (size_t)size) ?
		       size :
		       -1;
}

static void return_connection(const struct mg_connection *connection)
{
	struct http_server *server = server_of(mg_get_context(connection));

	reception_return(server->reception, mg_get_user_connection_data(connection));
}

/* ---- callbacks of the reception ---- */

static bool is_large(void *context, const char *target, size_t size)
{
	const struct web_paths *paths = &((const struct http_server *)context)->paths;
	const char *query = memchr(target, '?', size);
	size_t path_size = query ? (size_t)(query - target) : size;
	size_t prefix_size = strlen(paths->prefix), telemetry_size = strlen(paths->telemetry);

	return path_size == prefix_size + telemetry_size &&
	       memcmp(target, paths->prefix, prefix_size) == 0 &&
	       memcmp(target + prefix_size, paths->telemetry, telemetry_size) == 0;
}

static struct tls_server *current_tls(void *context)
{
	const struct http_server *server = context;

	return server->web ? web_config_tls(server->web) : NULL;
}

static void add_refusal(void *context, int status, struct etw_text *out)
{
	answer_add_refusal(((const struct http_server *)context)->web, status, out);
}

static uint32_t reason_id(const struct http_server *server, enum close_reason reason)
{
	static const char *const names[CLOSE_REASONS] = {
		[CLOSED_DONE] = "done",
		[CLOSED_CLIENT] = "client",
		[CLOSED_IDLE] = "idle",
		[CLOSED_TIMEOUT] = "timeout",
		[CLOSED_BAD_REQUEST] = "bad_request",
		[CLOSED_EVICTED] = "evicted",
		[CLOSED_FULL] = "full",
		[CLOSED_NOT_ALLOWED] = "not_allowed",
		[CLOSED_SLOW] = "slow",
		[CLOSED_BUSY] = "busy",
	};

	return intern_own(registry_strings(server->registry), names[reason]);
}

static void count_closed(void *context, enum close_reason reason)
{
	struct http_server *server = context;
	uint32_t id = reason_id(server, reason);

	family_add(server->families[CONNECTIONS_CLOSED], server->shard, &id, 1);
}

static void show_open(void *context, size_t connections)
{
	struct http_server *server = context;

	family_set(server->families[CONNECTIONS_OPEN], server->shard, NULL, (int64_t)connections);
}

static void log_starved(void *context)
{
	(void)context;
	log_warning("No file descriptor is free, so clients wait; a higher limit (ulimit -n, "
		    "LimitNOFILE= of systemd) lets more connect");
}

/* ---- what starting needs ---- */

static int on_message(const struct mg_connection *connection, const char *message)
{
	struct http_server *server = server_of(mg_get_context(connection));

	if (server && !atomic_load_explicit(&server->started, memory_order_relaxed)) {
		if (server->start_message[0] == '\0') {
			snprintf(server->start_message, sizeof server->start_message, "%s",
				 message);
		}
		log_warning("The web server starts with less than it needs",
			    log_text("message", message));
	} else {
		log_debug("Web server", log_text("message", message));
	}
	return 1; /* 1: civetweb does not write it to standard error */
}

static bool listen_on(const char *text, socket_handle *listener, struct etw_error *err)
{
	struct listen_address address;
	int number;
	const char *advice;
	char reason[128];

	if (!listen_address_parse(text, &address)) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "\"%s\" is not a listen address such as :9189, 127.0.0.1:9189 or "
				 "[::1]:9189 (--web.listen-address, or "
				 "listen_addresses under web:)",
				 text);
	}
	*listener = socket_listen(&address, &number);
	if (*listener != SOCKET_NONE) {
		return true;
	}
	if (number == 0) {
		return error_set(err, ETW_ERROR_CONFIG, "\"%s\" is not a listen address", text);
	}
	advice = os_listen_advice(number);
	os_error_text(number, reason, sizeof reason);
	return error_set(err, ETW_ERROR_SYSTEM,
			 "cannot listen on %s: %s%s%s%s; --web.listen-address, or listen_addresses "
			 "under web: in the configuration, chooses another",
			 text, reason, advice ? " (" : "", advice ? advice : "", advice ? ")" : "");
}

/* Opens the listeners. On failure the array has those that were opened, and the caller closes
 * them. */
static bool open_listeners(const char *const *addresses, size_t address_count,
			   socket_handle *listeners, size_t *count, struct etw_error *err)
{
	if (address_count == 0 || address_count > ADDRESSES_MAX) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "%zu listen addresses; 1 to %d are possible", address_count,
				 ADDRESSES_MAX);
	}
	for (; *count < address_count; ++*count) {
		if (!listen_on(addresses[*count], &listeners[*count], err)) {
			return false;
		}
	}
	return true;
}

bool http_check_listen(const char *const *addresses, size_t count, struct etw_error *err)
{
	socket_handle listeners[ADDRESSES_MAX];
	size_t opened = 0;
	bool good;

	if (!sockets_start(err)) {
		return false;
	}
	good = open_listeners(addresses, count, listeners, &opened, err);
	while (opened > 0) {
		socket_close(listeners[--opened]);
	}
	sockets_stop();
	return good;
}

static bool parse_allowed(const struct http_options *options, struct address_range *ranges,
			  struct etw_error *err)
{
	for (size_t i = 0; i < options->allowed_count; i++) {
		if (!address_range_parse(options->allowed[i], &ranges[i])) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "\"%s\" is not a range of addresses such as 10.0.0.0/8, "
					 "192.0.2.1 or 2001:db8::/32 (--web.allow, or "
					 "allow under web:)",
					 options->allowed[i]);
		}
	}
	return true;
}

/* ---- threads ---- */

/* Returns how many scrapes are answered at once. */
static size_t most_scrapes(const struct http_options *options)
{
	return options->max_scrapes > 0 && options->max_scrapes < SCRAPES_MOST ?
		       (size_t)options->max_scrapes :
		       SCRAPES_MOST;
}

static void wait_for_unlock(void *mutex)
{
	os_mutex_lock(mutex);
	os_mutex_unlock(mutex);
}

/* Starts so many threads, or as many as the system allows, and ends them. Returns their number; err
 * has the reason if there are fewer. */
static size_t try_threads(size_t usual, struct etw_error *err)
{
	struct os_thread *threads = calloc(usual, sizeof *threads);
	struct os_mutex mutex;
	size_t count = 0;

	if (!threads) {
		error_no_memory(err, "the web server");
		return 0;
	}
	os_mutex_init(&mutex);
	os_mutex_lock(&mutex);
	while (count < usual && os_thread_start(&threads[count], wait_for_unlock, &mutex, err)) {
		count++;
	}
	os_mutex_unlock(&mutex);
	for (size_t i = 0; i < count; i++) {
		os_thread_join(&threads[i]);
	}
	os_mutex_done(&mutex);
	free(threads);
	return count;
}

/* Decides how many workers there are. */
static bool choose_workers(struct http_server *server, const struct http_options *options,
			   struct etw_error *err)
{
	size_t usual =
		most_scrapes(options) + DISPATCH_KEPT_FOR_SMALL + (options->web ? AUTH_PLACES : 0);
	struct etw_error reason = { 0 };
	size_t allowed = try_threads(usual + THREADS_BESIDE, &reason);

	server->workers = allowed < usual + THREADS_BESIDE ? allowed / 2 : usual;
	if (server->workers == 0) {
		return error_set(err, ETW_ERROR_SYSTEM,
				 "the web server needs a few threads more than the %zu that the "
				 "system allows: %s",
				 allowed, reason.text);
	}
	if (server->workers < usual) {
		log_warning("The system allows few threads, so fewer requests are answered at the "
			    "same time",
			    log_u64("threads", server->workers), log_u64("usual", usual),
			    log_text("reason", reason.text));
	}
	return true;
}

/* ---- starting ---- */

static bool open_reception(struct http_server *server, const struct http_options *options,
			   struct etw_error *err)
{
	socket_handle listeners[ADDRESSES_MAX];
	struct address_range *allowed = calloc(options->allowed_count + 1, sizeof *allowed);
	struct reception_options reception = {
		.listeners = listeners,
		.allowed = allowed,
		.allowed_count = options->allowed_count,
		.workers = server->workers,
		.most_large = most_scrapes(options),
		.most_rendered = options->max_scrapes > 0 ?
					 0 :
					 (size_t)PAGES_PER_PROCESSOR * os_processors(),
		.context = server,
		.is_large = is_large,
		.tls = current_tls,
		.add_refusal = add_refusal,
		.closed = count_closed,
		.opened = show_open,
		.starved = log_starved,
	};

	if (!allowed) {
		return error_no_memory(err, "the web server");
	}
	if (parse_allowed(options, allowed, err) &&
	    open_listeners(options->listen_addresses, options->listen_address_count, listeners,
			   &reception.listener_count, err)) {
		server->reception = reception_new(&reception, err);
	}
	server->listener_count = reception.listener_count;
	for (size_t i = 0; i < reception.listener_count; i++) {
		server->ports[i] = socket_port(listeners[i]);
		if (!server->reception) {
			socket_close(listeners[i]);
		}
	}
	free(allowed);
	return server->reception != NULL;
}

static bool start_civetweb(struct http_server *server, struct etw_error *err)
{
	const struct mg_callbacks callbacks = {
		.begin_request = on_request,
		.http_error = on_error,
		.log_message = on_message,
		.run_master = run_reception,
		.no_master = no_reception,
		.next_connection = next_connection,
		.read_connection = read_connection,
		.write_connection = write_connection,
		.connection_close = return_connection,
	};
	char workers[16], head_size[16];
	/* clang-format off */
	const char *options[] = {
		"num_threads", workers,
		"max_request_size", head_size,
		"decode_url", "no",
		"enable_auth_domain_check", "no",
		NULL,
	};
	/* clang-format on */

	snprintf(workers, sizeof workers, "%zu", server->workers);
	snprintf(head_size, sizeof head_size, "%d", REQUEST_HEAD_SIZE_MAX + 1);
	mg_init_library(0);
	server->library_started = true;
	server->context = mg_start(&callbacks, server, options);
	atomic_store_explicit(&server->started, true, memory_order_relaxed);
	return server->context ||
	       error_set(err, ETW_ERROR_SYSTEM, "cannot start the web server: %s",
			 server->start_message[0] ? server->start_message :
						    "no memory or no threads");
}

struct http_server *http_start(const struct http_options *options, struct registry *registry,
			       struct etw_error *err)
{
	struct http_server *server = calloc(1, sizeof *server);

	if (!server) {
		error_no_memory(err, "the web server");
		return NULL;
	}
	server->registry = registry;
	server->started_ns = os_monotonic_ns();
	server->sockets_started = sockets_start(err);
	server->web = options->web;
	if (server->web && !web_config_start(server->web, registry, err)) {
		goto fail;
	}
	if (!server->sockets_started || !choose_workers(server, options, err) ||
	    !pages_open(server, options, err) || !open_reception(server, options, err) ||
	    !scrape_open(server, err) || !start_civetweb(server, err)) {
		goto fail;
	}
	if (!socket_is_left()) {
		error_set(err, ETW_ERROR_SYSTEM,
			  "the limit of file descriptors is too low for the web server: none is "
			  "left for a client; a higher limit (ulimit -n, LimitNOFILE= of systemd) "
			  "is needed");
		goto fail;
	}
	return server;

fail:
	http_stop(server);
	return NULL;
}

unsigned http_port(const struct http_server *server, size_t index)
{
	return index < server->listener_count ? server->ports[index] : 0;
}

void http_stop(struct http_server *server)
{
	if (!server) {
		return;
	}
	if (server->web) {
		web_config_stop(server->web);
	}
	if (server->context) {
		reception_stop(server->reception);
		mg_stop(server->context);
	}
	reception_free(server->reception);
	if (server->library_started) {
		mg_exit_library();
	}
	if (server->sockets_started) {
		sockets_stop();
	}
	free(server);
}
