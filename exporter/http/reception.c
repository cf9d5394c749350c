/* SPDX-License-Identifier: MIT */
/*
 * The reception: one thread that has every connection until its request is whole.
 *
 * A client occupies a worker only while its request is answered. Before that it is an entry in the
 * set of sockets that this thread waits for, and a buffer of at most 16 KiB that grows as the head
 * arrives. The thread never blocks on a client: it accepts, continues TLS handshakes, reads the
 * bytes that have arrived, and hands over a connection as soon as request_head.c says that its head
 * is whole. Heads that are refused are answered here. The thread does not wait for the body of a
 * request, because no page reads one. When a worker gives a connection back, the thread reads the
 * next request from it or closes it. To close, the server ends its side and waits a while for the
 * client to end its own (CONNECTION_DRAINING), because an early close would drop the part of the
 * answer that the client has not read.
 *
 * Everything that clients can occupy is bounded. A whole head has one deadline, which starts with
 * the accept; further bytes do not prolong it. Connections are limited in all and for each address;
 * when there are too many, the oldest idle one makes room (connection.h). Handshakes of TLS,
 * which are computed here, take turns by address (connection.h). If the process has no
 * descriptors left, the oldest one makes room as well. If that does not help, the thread ignores
 * the listeners for a moment, so that it does not spin.
 *
 * A pass of the loop looks at every entry of the list, which is cheap. Polling all of their sockets
 * is not, so connection.h chooses which sockets are polled in a pass.
 */
#include "exporter/http/reception.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "exporter/http/connection.h"
#include "exporter/http/dispatch.h"

#define MS UINT64_C(1000000)

static const uint64_t HEAD_NS =
	5000 * MS; /* counted from the accept, or from the first byte of a further request */
static const uint64_t IDLE_NS =
	120000 * MS; /* for a kept connection, which Prometheus uses again */
static const uint64_t DRAIN_NS = 2000 * MS;
static const uint64_t PAUSE_NS = 100 * MS; /* without descriptors */

enum {
	CONNECTIONS_MAX = 4096,
	BUFFER_FIRST = 1024,
	BUFFER_MAX = REQUEST_HEAD_SIZE_MAX + 2, /* an empty line may precede the head */
	ACCEPTS_AT_ONCE = 128,
	READS_AT_ONCE = 8,
	CHECK_MS = 10, /* the longest wait while requests wait for workers or many connections are
			 overdue */
	EXPIRED_AT_ONCE = 16,
	WAIT_MS_MAX = 1000,
};

struct reception {
	struct reception_options options; /* listeners: moved to `others`; allowed: an owned copy */
	struct dispatch *dispatch;
	struct waker *waker;
	struct wait_set *wait_set;
	socket_handle *others; /* owned; for the wait set: the waker, then the listeners */
	struct connection_list list;
	struct handshake_turns turns;
	uint64_t paused_until_ns; /* after a lack of descriptors nothing is accepted until then */
	bool starved;             /* no client was accepted since then */
	uint64_t expire_from_ns;  /* no overdue connection is ended before this time */
	atomic_bool stopping;
};

static void end(struct reception *reception, struct connection *connection,
		enum close_reason reason, bool reset)
{
	connection_list_end(&reception->list, connection, reason, reset);
}

/* ---- ends ---- */

/* Ends the server's side; the client has some time to end its own. */
static void drain(struct connection *connection, enum close_reason reason, uint64_t now_ns)
{
	tls_close(connection->tls);
	connection->tls = NULL;
	socket_end_writing(connection->socket);
	connection->state = CONNECTION_DRAINING;
	connection->wants_writing = false;
	connection->reason = reason;
	connection->since_ns = connection->active_ns = now_ns;
	connection->deadline_ns = now_ns + DRAIN_NS;
	free(connection->bytes);
	connection->bytes = NULL;
	connection->size = connection->capacity = 0;
}

/* Answers without a worker, because the few bytes fit into the socket's buffer. */
static void refuse(struct reception *reception, struct connection *connection, int status,
		   enum close_reason reason, uint64_t now_ns)
{
	struct etw_text out = { 0 };
	size_t sent;

	reception->options.add_refusal(reception->options.context, status, &out);
	if (!out.failed) {
		(void)connection_write(connection, out.data, out.size, &sent);
	}
	text_free(&out);
	drain(connection, reason, now_ns);
}

/* ---- reading ---- */

static bool grow(struct connection *connection)
{
	size_t capacity = connection->capacity ? connection->capacity * 2 : BUFFER_FIRST;
	char *bytes;

	capacity = capacity < BUFFER_MAX ? capacity : BUFFER_MAX;
	if (capacity == connection->capacity) {
		return false;
	}
	bytes = realloc(connection->bytes, capacity);
	if (bytes) {
		connection->bytes = bytes;
		connection->capacity = capacity;
	}
	return bytes != NULL;
}

static void hand_over(struct reception *reception, struct connection *connection)
{
	enum { REQUESTS_MAX = 1000 }; /* served on one connection */
	const struct reception_options *options = &reception->options;
	const struct request_head *head = &connection->head;

	connection->requests++;
	connection->read = 0;
	connection->answered = connection->failed = false;
	connection->keep = head->keep_alive && !head->has_body &&
			   connection->requests < REQUESTS_MAX;
	connection->is_large = options->is_large(options->context,
						 connection->bytes + head->target_begin,
						 head->target_end - head->target_begin);
	dispatch_add(reception->dispatch, connection);
}

/* Checks the bytes that have arrived. Returns whether more must be read. */
static bool check_head(struct reception *reception, struct connection *connection, uint64_t now_ns)
{
	if (connection->size == 0) {
		return true;
	}
	switch (request_head_read(connection->bytes, connection->size, &connection->seen,
				  &connection->head)) {
	case HEAD_PARTIAL:
		return true;
	case HEAD_WHOLE:
		hand_over(reception, connection);
		return false;
	case HEAD_REFUSED:
		refuse(reception, connection, connection->head.status, CLOSED_BAD_REQUEST, now_ns);
		return false;
	}
	return false;
}

static void read_head(struct reception *reception, struct connection *connection, uint64_t now_ns)
{
	enum tls_result result;

	do {
		size_t got;

		if (connection->size == connection->capacity && !grow(connection)) {
			end(reception, connection, CLOSED_FULL, false);
			return;
		}
		result = connection_read(connection, connection->bytes + connection->size,
					 connection->capacity - connection->size, &got);
		if (result == TLS_CLOSED) {
			end(reception, connection,
			    connection->requests > 0 && connection->size == 0 ? CLOSED_DONE :
										CLOSED_CLIENT,
			    false);
			return;
		}
		if (result == TLS_DONE) {
			if (connection->size == 0 && connection->requests > 0) {
				connection->deadline_ns = now_ns + HEAD_NS;
			}
			connection->size += got;
			if (!check_head(reception, connection, now_ns)) {
				return;
			}
		}
	} while (result == TLS_DONE);
	connection->wants_writing = result == TLS_WANT_WRITE;
}

/* Continues a TLS handshake. The first byte shows whether the client speaks TLS; a client that does
 * not gets a plain answer. If the address has no turn in this pass, the socket stays readable for
 * the next one. */
static void shake_hands(struct reception *reception, struct connection *connection, uint64_t now_ns)
{
	enum { HANDSHAKE_RECORD = 0x16 }; /* RFC 8446, section 5.1 */
	struct tls_server *server = reception->options.tls(reception->options.context);
	enum tls_result result;
	char first;

	if (!handshake_turns_take(&reception->turns, &connection->address)) {
		return;
	}
	if (!connection->tls) {
		enum socket_result peeked = socket_peek(connection->socket, &first);

		if (peeked == SOCKET_WOULD_BLOCK) {
			return;
		}
		if (peeked == SOCKET_DONE && first != HANDSHAKE_RECORD) {
			refuse(reception, connection, 400, CLOSED_BAD_REQUEST, now_ns);
			return;
		}
		connection->tls = peeked == SOCKET_DONE && server ?
					  tls_accept(server, connection->socket) :
					  NULL;
	}
	result = connection->tls ? tls_handshake(connection->tls) : TLS_CLOSED;
	connection->wants_writing = result == TLS_WANT_WRITE;
	if (result == TLS_CLOSED) {
		end(reception, connection, CLOSED_CLIENT, false);
	} else if (result == TLS_DONE) {
		connection->state = CONNECTION_READING;
		read_head(reception, connection, now_ns);
	}
}

/* Reads and drops what still arrives. */
static void read_rest(struct reception *reception, struct connection *connection)
{
	char bytes[4096];
	size_t got;

	for (int i = 0; i < READS_AT_ONCE; i++) {
		switch (socket_read(connection->socket, bytes, sizeof bytes, &got)) {
		case SOCKET_DONE:
			break;
		case SOCKET_WOULD_BLOCK:
			return;
		case SOCKET_CLOSED:
			end(reception, connection, connection->reason, false);
			return;
		}
	}
}

static void serve(struct reception *reception, struct connection *connection, uint64_t now_ns)
{
	connection->active_ns = now_ns;
	if (connection->state == CONNECTION_HANDSHAKE) {
		shake_hands(reception, connection, now_ns);
	} else if (connection->state == CONNECTION_READING) {
		read_head(reception, connection, now_ns);
	} else {
		read_rest(reception, connection);
	}
}

/* ---- back from the workers ---- */

static void read_next(struct reception *reception, struct connection *connection, uint64_t now_ns)
{
	connection->size -= connection->head.end;
	memmove(connection->bytes, connection->bytes + connection->head.end, connection->size);
	connection->seen = 0;
	connection->state = CONNECTION_READING;
	connection->wants_writing = false;
	connection->since_ns = connection->active_ns = now_ns;
	connection->deadline_ns = now_ns + (connection->size > 0 ? HEAD_NS : IDLE_NS);
	if (check_head(reception, connection, now_ns)) {
		/* TLS may have buffered bytes that polling the socket does not show. */
		read_head(reception, connection, now_ns);
	}
}

static void take_back(struct reception *reception, uint64_t now_ns)
{
	struct connection *next;

	for (struct connection *c = dispatch_returned(reception->dispatch); c; c = next) {
		next = c->next;
		if (c->failed || !c->answered) {
			end(reception, c, c->failed ? c->reason : CLOSED_CLIENT, true);
		} else if (c->keep) {
			read_next(reception, c, now_ns);
		} else {
			drain(c, CLOSED_DONE, now_ns);
		}
	}
	for (struct connection *c = dispatch_overdue(reception->dispatch, now_ns); c; c = next) {
		next = c->next;
		refuse(reception, c, 503, CLOSED_BUSY, now_ns);
	}
}

/* ---- deadlines ---- */

static void expire(struct reception *reception, struct connection *connection, uint64_t now_ns)
{
	if (connection->state == CONNECTION_DRAINING) {
		end(reception, connection, connection->reason, false);
	} else if (connection->state == CONNECTION_READING && connection->size > 0) {
		refuse(reception, connection, 408, CLOSED_TIMEOUT, now_ns);
	} else {
		end(reception, connection, connection->requests > 0 ? CLOSED_IDLE : CLOSED_TIMEOUT,
		    false);
	}
}

/*
 * Reads what has arrived meanwhile, because on a busy machine this thread itself may be late, and a
 * request that came in time is answered. Returns false if the connection is no longer overdue, or
 * has ended.
 */
static bool is_still_overdue(struct reception *reception, struct connection *connection,
			     uint64_t now_ns)
{
	const size_t count = reception->list.count;

	if (connection->state == CONNECTION_DRAINING) {
		return true;
	}
	serve(reception, connection, now_ns);
	return reception->list.count == count && connection_is_idle(connection) &&
	       connection->deadline_ns <= now_ns;
}

/*
 * Ends overdue connections and returns how long, in ms, the loop may wait. Clients that came
 * together are overdue together and would reconnect together, and others would wait behind all of
 * them. Therefore only a few are ended each CHECK_MS, so that the last of many may end up to 3 s
 * late.
 */
static unsigned check_deadlines(struct reception *reception, uint64_t now_ns)
{
	uint64_t nearest_ns = now_ns + WAIT_MS_MAX * MS;
	unsigned left = now_ns >= reception->expire_from_ns ? EXPIRED_AT_ONCE : 0;

	/* The loop runs backwards, because the last connection of the list replaces one that
	 * ends. */
	for (size_t i = reception->list.count; i-- > 0;) {
		struct connection *c = reception->list.connections[i];
		uint64_t next_ns;

		/* A worker may be writing the deadline of a connection that is not idle. */
		if (!connection_is_idle(c)) {
			continue;
		}
		next_ns = c->deadline_ns;
		if (next_ns <= now_ns && left > 0) {
			if (is_still_overdue(reception, c, now_ns)) {
				expire(reception, c, now_ns);
			}
			left--;
			reception->expire_from_ns = now_ns + CHECK_MS * MS;
			continue;
		}
		if (next_ns < reception->expire_from_ns) {
			next_ns = reception->expire_from_ns;
		}
		if (next_ns < nearest_ns) {
			nearest_ns = next_ns;
		}
	}
	return (unsigned)((nearest_ns - now_ns) / MS) + 1;
}

/* ---- accepting ---- */

static bool is_allowed(const struct reception *reception, const struct client_address *address)
{
	for (size_t i = 0; i < reception->options.allowed_count; i++) {
		if (address_range_contains(&reception->options.allowed[i], address)) {
			return true;
		}
	}
	return reception->options.allowed_count == 0 || address->local;
}

static void add(struct reception *reception, socket_handle client,
		const struct client_address *address, uint64_t now_ns)
{
	struct connection *connection = NULL;
	enum close_reason reason = CLOSED_FULL;

	if (!is_allowed(reception, address)) {
		reason = CLOSED_NOT_ALLOWED;
	} else if (connection_list_make_room(&reception->list, address)) {
		connection = connection_new(client, address);
	}
	if (!connection) {
		socket_reset(client);
		reception->options.closed(reception->options.context, reason);
		return;
	}
	connection->state = reception->options.tls(reception->options.context) ?
				    CONNECTION_HANDSHAKE :
				    CONNECTION_READING;
	connection->since_ns = now_ns;
	connection->deadline_ns = now_ns + HEAD_NS;
	connection_list_add(&reception->list, connection);
	/* The request has often arrived together with the connection. */
	serve(reception, connection, now_ns);
}

static void note_starved(struct reception *reception)
{
	if (!reception->starved) {
		reception->options.starved(reception->options.context);
	}
	reception->starved = true;
}

static void accept_some(struct reception *reception, socket_handle listener, uint64_t now_ns)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		struct client_address address;
		socket_handle client;

		switch (socket_accept(listener, &client, &address)) {
		case SOCKET_ACCEPTED:
			reception->starved = false;
			add(reception, client, &address, now_ns);
			break;
		case SOCKET_NO_CLIENT:
			return;
		case SOCKET_NO_DESCRIPTORS:
			if (i > 0) {
				/* Linux says so before it looks whether a client waits. The next
				 * pass does if the listener is still ready. */
				return;
			}
			if (!connection_list_evict(&reception->list, NULL)) {
				reception->paused_until_ns = now_ns + PAUSE_NS;
				note_starved(reception);
				return;
			}
			break;
		}
	}
}

/* ---- the loop ---- */

static void pass(struct reception *reception)
{
	struct wait_set *set = reception->wait_set;
	uint64_t now_ns = os_monotonic_ns();
	bool accepts = now_ns >= reception->paused_until_ns;
	size_t listeners = accepts ? reception->options.listener_count : 0, count;
	struct connection *const *ready;
	unsigned wait_ms;

	take_back(reception, now_ns);
	wait_ms = check_deadlines(reception, now_ns);
	if (dispatch_relieve(reception->dispatch, now_ns) && wait_ms > CHECK_MS) {
		wait_ms = CHECK_MS;
	}
	if (!accepts && wait_ms > PAUSE_NS / MS) {
		wait_ms = PAUSE_NS / MS;
	}
	wait_set_wait(set, reception->others, 1 + listeners, &reception->list, wait_ms, now_ns);
	now_ns = os_monotonic_ns();
	handshake_turns_begin(&reception->turns);
	if (wait_set_other_ready(set, 0)) {
		waker_clear(reception->waker);
	}
	/* Serving a ready connection can end only that one. Accepting can end any, so it comes
	 * last. */
	ready = wait_set_ready(set, &count);
	for (size_t i = 0; i < count; i++) {
		serve(reception, ready[i], now_ns);
	}
	for (size_t i = 0; i < listeners; i++) {
		if (wait_set_other_ready(set, 1 + i)) {
			accept_some(reception, reception->options.listeners[i], now_ns);
		}
	}
}

void reception_run(struct reception *reception)
{
	while (!atomic_load(&reception->stopping)) {
		pass(reception);
	}
}

/* ---- making ---- */

struct reception *reception_new(const struct reception_options *options, struct etw_error *err)
{
	struct reception *reception = calloc(1, sizeof *reception);
	size_t most = sockets_limit() < CONNECTIONS_MAX ? sockets_limit() : CONNECTIONS_MAX;
	struct address_range *allowed = NULL;

	if (!reception) {
		error_no_memory(err, "the web server");
		return NULL;
	}
	reception->wait_set = wait_set_new(1 + options->listener_count, most);
	reception->list = (struct connection_list){
		.context = options->context,
		.closed = options->closed,
		.opened = options->opened,
	};
	reception->others = calloc(1 + options->listener_count, sizeof *reception->others);
	allowed = calloc(options->allowed_count + 1, sizeof *allowed);
	reception->waker = waker_new(err);
	reception->dispatch = reception->waker ?
				      dispatch_new(options->workers, options->most_large,
						   options->most_rendered, reception->waker, err) :
				      NULL;
	if (!reception->dispatch) {
		goto fail;
	}
	if (!connection_list_init(&reception->list, most) ||
	    !handshake_turns_init(&reception->turns, most) || !reception->wait_set ||
	    !reception->others || !allowed) {
		error_no_memory(err, "the web server");
		goto fail;
	}
	reception->others[0] = waker_socket(reception->waker);
	memcpy(reception->others + 1, options->listeners,
	       options->listener_count * sizeof *options->listeners);
	if (options->allowed_count > 0) {
		memcpy(allowed, options->allowed, options->allowed_count * sizeof *allowed);
	}
	reception->options = *options;
	reception->options.listeners = reception->others + 1;
	reception->options.allowed = allowed;
	return reception;

fail:
	free(allowed);
	reception_free(reception);
	return NULL;
}

void reception_free(struct reception *reception)
{
	if (!reception) {
		return;
	}
	connection_list_done(&reception->list);
	handshake_turns_done(&reception->turns);
	for (size_t i = 0; i < reception->options.listener_count; i++) {
		socket_close(reception->options.listeners[i]);
	}
	dispatch_free(reception->dispatch);
	waker_free(reception->waker);
	wait_set_free(reception->wait_set);
	free(reception->options.allowed);
	free(reception->others);
	free(reception);
}

void reception_stop(struct reception *reception)
{
	atomic_store(&reception->stopping, true);
	dispatch_stop(reception->dispatch);
	waker_wake(reception->waker);
}

/* ---- workers ---- */

struct connection *reception_next(struct reception *reception)
{
	return dispatch_next(reception->dispatch);
}

void reception_not_large(struct reception *reception, struct connection *connection)
{
	dispatch_not_large(reception->dispatch, connection);
}

void reception_return(struct reception *reception, struct connection *connection)
{
	dispatch_return(reception->dispatch, connection);
}

size_t reception_read(struct connection *connection, char *bytes, size_t capacity)
{
	size_t left = connection->head.end - connection->head.begin - connection->read;
	size_t size = left < capacity ? left : capacity;

	memcpy(bytes, connection->bytes + connection->head.begin + connection->read, size);
	connection->read += size;
	return size;
}

bool reception_send(struct reception *reception, struct connection *connection, const char *bytes,
		    size_t size)
{
	return dispatch_send(reception->dispatch, connection, bytes, size);
}
