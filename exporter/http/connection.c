/* SPDX-License-Identifier: MIT */
#include "exporter/http/connection.h"

#include <stdlib.h>

#include "base/os.h"

struct connection *connection_new(socket_handle socket, const struct client_address *address)
{
	struct connection *connection = calloc(1, sizeof *connection);

	if (connection) {
		connection->socket = socket;
		connection->address = *address;
		client_address_text(address, connection->client);
	}
	return connection;
}

void connection_free(struct connection *connection, bool reset)
{
	tls_close(connection->tls);
	if (reset) {
		socket_reset(connection->socket);
	} else {
		socket_close(connection->socket);
	}
	free(connection->bytes);
	free(connection);
}

static enum tls_result plain_result(enum socket_result result, enum tls_result blocked)
{
	return result == SOCKET_DONE        ? TLS_DONE :
	       result == SOCKET_WOULD_BLOCK ? blocked :
					      TLS_CLOSED;
}

enum tls_result connection_read(struct connection *connection, char *bytes, size_t capacity,
				size_t *size)
{
	return connection->tls ?
		       tls_read(connection->tls, bytes, capacity, size) :
		       plain_result(socket_read(connection->socket, bytes, capacity, size),
				    TLS_WANT_READ);
}

enum tls_result connection_write(struct connection *connection, const char *bytes, size_t count,
				 size_t *size)
{
	return connection->tls ? tls_write(connection->tls, bytes, count, size) :
				 plain_result(socket_write(connection->socket, bytes, count, size),
					      TLS_WANT_WRITE);
}

/* ---- the list of connections ---- */

bool connection_list_init(struct connection_list *list, size_t most)
{
	list->connections = calloc(most, sizeof(struct connection *));
	list->most = most;
	return list->connections != NULL;
}

void connection_list_done(struct connection_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		connection_free(list->connections[i], false);
	}
	free(list->connections);
}

void connection_list_add(struct connection_list *list, struct connection *connection)
{
	connection->index = list->count;
	list->connections[list->count++] = connection;
	list->opened(list->context, list->count);
}

void connection_list_end(struct connection_list *list, struct connection *connection,
			 enum close_reason reason, bool reset)
{
	struct connection *last = list->connections[--list->count];

	list->connections[connection->index] = last;
	last->index = connection->index;
	connection_free(connection, reset);
	list->closed(list->context, reason);
	list->opened(list->context, list->count);
}

bool connection_is_idle(const struct connection *connection)
{
	return connection->state != CONNECTION_WHOLE;
}

/* Returns the rank by which connections are evicted; the lowest rank goes first. */
static int rank_of(const struct connection *connection)
{
	return connection->state == CONNECTION_DRAINING ? 0 : connection->requests == 0 ? 1 : 2;
}

bool connection_list_evict(struct connection_list *list, const struct client_address *address)
{
	struct connection *oldest = NULL;
	int oldest_rank = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct connection *c = list->connections[i];
		int rank = rank_of(c);

		if (!connection_is_idle(c) ||
		    (address && !client_address_alike(&c->address, address))) {
			continue;
		}
		if (!oldest || rank < oldest_rank ||
		    (rank == oldest_rank && c->since_ns < oldest->since_ns)) {
			oldest = c;
			oldest_rank = rank;
		}
	}
	if (oldest) {
		connection_list_end(list, oldest,
				    oldest_rank == 0 ? oldest->reason : CLOSED_EVICTED, false);
	}
	return oldest != NULL;
}

static size_t count_alike(const struct connection_list *list, const struct client_address *address)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		count += client_address_alike(&list->connections[i]->address, address);
	}
	return count;
}

bool connection_list_make_room(struct connection_list *list, const struct client_address *address)
{
	if (count_alike(list, address) >= (list->most + 1) / 2) {
		return connection_list_evict(list, address);
	}
	return list->count < list->most || connection_list_evict(list, NULL);
}

/* ---- turns of TLS handshakes ---- */

bool handshake_turns_init(struct handshake_turns *turns, size_t most)
{
	turns->taken = calloc(most, sizeof *turns->taken);
	turns->most = most;
	return turns->taken != NULL;
}

void handshake_turns_done(struct handshake_turns *turns)
{
	free(turns->taken);
}

void handshake_turns_begin(struct handshake_turns *turns)
{
	turns->count = 0;
}

bool handshake_turns_take(struct handshake_turns *turns, const struct client_address *address)
{
	for (size_t i = 0; i < turns->count; i++) {
		if (client_address_alike(&turns->taken[i], address)) {
			return false;
		}
	}
	if (turns->count == turns->most) {
		return false;
	}
	turns->taken[turns->count++] = *address;
	return true;
}

/* ---- waiting for connections ---- */

/*
 * Chooses which connections a pass of the reception polls.
 *
 * Each call of poll() and WSAPoll() checks every socket that it gets. With thousands of silent
 * connections among them, each request of any other client pays for all of these. Under Wine, where
 * one process serves the calls of all sockets, 2,000 sockets cost 11 ms, and the writes of pages
 * wait meanwhile.
 *
 * Therefore only connections that are likely to be used soon are in the set that each pass waits
 * for: those that are new or have lately sent something, and WAIT_SET_KEPT of those that are kept
 * for a further request. All others are silent. Up to WAIT_SET_FEW of them are in the set as well.
 * When there are more, a slice of them is polled each SLICE_NS without waiting, so that each
 * connection has its turn once in WAIT_SET_SLICES slices. What a client sends after a silence is
 * then read about 0.1 s later (0.2 s on Windows, where a wait lasts whole ticks of the clock), and
 * the connection is in the set again. Deadlines do not depend on this, because the reception checks
 * them in memory.
 *
 * The slices go through the list from its end to its begin. When a connection ends, the last one of
 * the list takes its place, and the last one has had its turn already.
 * Therefore none is missed. New connections, which are added at the end, are in the set for a while
 * anyway.
 */

#define MS UINT64_C(1000000)

static const uint64_t SILENT_NS = WAIT_SET_SILENT_MS * MS, SLICE_NS = 10 * MS;

/* Connections, and a set with the other sockets first and then those of the connections in the same
 * order. */
struct group {
	struct socket_set *set;
	struct connection **connections;
	size_t others, count;
};

struct wait_set {
	struct group waited, slice;
	struct connection **ready;
	size_t ready_count;
	size_t next;       /* the next slice ends before this index of the list */
	size_t slice_size; /* at the start of the round; the list may become shorter */
	uint64_t next_slice_ns;
};

static bool group_init(struct group *group, size_t others, size_t most)
{
	group->set = socket_set_new(others + most);
	group->connections = calloc(most, sizeof(struct connection *));
	return group->set && group->connections;
}

static void group_done(struct group *group)
{
	socket_set_free(group->set);
	free(group->connections);
}

static void group_clear(struct group *group, const socket_handle *others, size_t other_count)
{
	socket_set_clear(group->set);
	for (size_t i = 0; i < other_count; i++) {
		socket_set_add(group->set, others[i], false);
	}
	group->others = other_count;
	group->count = 0;
}

static void group_add(struct group *group, struct connection *connection)
{
	socket_set_add(group->set, connection->socket, connection->wants_writing);
	group->connections[group->count++] = connection;
}

struct wait_set *wait_set_new(size_t others, size_t most)
{
	struct wait_set *set = calloc(1, sizeof *set);

	if (!set) {
		return NULL;
	}
	set->ready = calloc(most, sizeof(struct connection *));
	if (!group_init(&set->waited, others, most) || !group_init(&set->slice, 0, most) ||
	    !set->ready) {
		wait_set_free(set);
		return NULL;
	}
	return set;
}

void wait_set_free(struct wait_set *set)
{
	if (set) {
		group_done(&set->waited);
		group_done(&set->slice);
		free(set->ready);
		free(set);
	}
}

static bool is_silent(const struct connection *connection, uint64_t now_ns)
{
	return connection_is_idle(connection) && now_ns > connection->active_ns + SILENT_NS;
}

/* Adds the connections that each pass waits for. Returns how many remain for the slices. */
static size_t fill_waited(struct wait_set *set, const struct connection_list *list, uint64_t now_ns)
{
	size_t silent = 0, kept = 0, left = 0;

	for (size_t i = 0; i < list->count; i++) {
		silent += is_silent(list->connections[i], now_ns);
	}
	for (size_t i = 0; i < list->count; i++) {
		struct connection *c = list->connections[i];

		if (!connection_is_idle(c)) {
			continue;
		}
		c->in_slices = silent > WAIT_SET_FEW && is_silent(c, now_ns) &&
			       (c->requests == 0 || ++kept > WAIT_SET_KEPT);
		if (c->in_slices) {
			left++;
		} else {
			group_add(&set->waited, c);
		}
	}
	return left;
}

static void fill_slice(struct wait_set *set, const struct connection_list *list, size_t left)
{
	size_t size = left / WAIT_SET_SLICES + 1;

	if (set->next == 0 || set->next > list->count) {
		set->next = list->count;
		set->slice_size = size;
	}
	/* More connections may have become silent since the round began. */
	size = size > set->slice_size ? size : set->slice_size;
	for (; set->next > 0 && set->slice.count < size; set->next--) {
		struct connection *c = list->connections[set->next - 1];

		if (connection_is_idle(c) && c->in_slices) {
			group_add(&set->slice, c);
		}
	}
}

static void add_ready(struct wait_set *set, const struct group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		if (socket_set_ready(group->set, group->others + i)) {
			set->ready[set->ready_count++] = group->connections[i];
		}
	}
}

void wait_set_wait(struct wait_set *set, const socket_handle *others, size_t other_count,
		   const struct connection_list *list, unsigned wait_ms, uint64_t now_ns)
{
	size_t left;

	group_clear(&set->waited, others, other_count);
	left = fill_waited(set, list, now_ns);
	if (left > 0 && wait_ms > SLICE_NS / MS) {
		wait_ms = SLICE_NS / MS;
	}
	socket_set_wait(set->waited.set, wait_ms);
	set->ready_count = 0;
	add_ready(set, &set->waited);
	now_ns = os_monotonic_ns();
	if (left == 0 || now_ns < set->next_slice_ns) {
		return;
	}
	group_clear(&set->slice, NULL, 0);
	fill_slice(set, list, left);
	socket_set_wait(set->slice.set, 0);
	add_ready(set, &set->slice);
	set->next_slice_ns = now_ns + SLICE_NS;
}

bool wait_set_other_ready(const struct wait_set *set, size_t index)
{
	return socket_set_ready(set->waited.set, index);
}

struct connection *const *wait_set_ready(const struct wait_set *set, size_t *count)
{
	*count = set->ready_count;
	return set->ready;
}
