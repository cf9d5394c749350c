/* SPDX-License-Identifier: MIT */
/*
 * Chooses which request is answered next, and which answer is given up.
 *
 * A worker is a thread that renders a page and writes it into the socket. It waits only when the
 * client takes the page more slowly than it is rendered, so a small page, which fits into the
 * socket, costs a worker some microseconds. The metrics page may be large: clients that read it
 * slowly hold their workers as long as they like. Therefore DISPATCH_KEPT_FOR_SMALL workers never
 * take large pages, or half of them if there are fewer, and a setting may bound the number of large
 * pages further.
 *
 * Pages that are rendered at once share the processors: the next one in turn would wait as long as
 * all of them take. So a large page begins only while fewer than `most_rendered` are being
 * rendered. Those whose clients let the worker wait do not count, nor does a request whose password
 * must be hashed first.
 *
 * When that number of large pages is being answered and a further request for one waits, the
 * slowest client is cut off. Candidates are clients for which a worker waits and which took less
 * than SLOW_BYTES_PER_S in the last MEASURE_NS. Among them the clients of the address that holds
 * the most workers come first, and of these the slowest. An average over the whole answer would not
 * serve, because the first MB of a page only fill sockets. The number of clients cut off never
 * exceeds the number of waiting requests, and there is at most one each RELIEF_NS, so that an
 * attack cannot make the server render pages only to throw them away. A request that waits longer
 * than QUEUE_NS is taken back and answered with 503.
 *
 * Clients take turns by address: a request gets the turn after the last request of its address that
 * waits or is being answered. Within a turn small pages come first, then the older request.
 * Therefore a client that sends hundreds of requests at once, for small pages or large ones, or
 * comes again after it was cut off, does not keep others waiting. (This is start-time fair queueing
 * in which each request costs the same.)
 *
 * A request is given to the worker that became idle last, so that no more workers are ever used
 * than there were requests at once. Each used worker keeps memory: the stack that it has touched,
 * and freed memory that the C library keeps for the next allocations of the same thread. If workers
 * took turns, memory would grow for hours, until each of them has done everything once.
 *
 * Whether or not other requests wait, an answer may take PAGE_NS, and it ends when its client has
 * taken nothing for STALL_NS. The worker must also have checked STALL_CHECKS times in that time,
 * because on a busy machine the worker itself may be late.
 */
#include "exporter/http/dispatch.h"

#include <assert.h>
#include <stdlib.h>

#include "base/os.h"

#define MS UINT64_C(1000000)

static const uint64_t PAGE_NS = 60000 * MS, STALL_NS = 5000 * MS, QUEUE_NS = 5000 * MS;
static const uint64_t RELIEF_NS = 10 * MS, MEASURE_NS = 250 * MS;

enum {
	SLOW_BYTES_PER_S = 1000000,
	/* Interval at which a waiting worker checks its deadlines. A worker whose client is cut off
	 * is woken earlier. */
	CHECK_MS = 250,
	STALL_CHECKS = 20,
};

struct request_list {
	struct connection *first, *last;
};

/* Represents a worker that waits in dispatch_next(); it is on that worker's stack. */
struct idle_worker {
	struct os_condition condition; /* woken */
	bool woken;
	struct idle_worker *next;
};

struct dispatch {
	struct os_mutex mutex;
	struct waker *waker;
	size_t workers;
	size_t most_large, most_rendered;

	/* Guarded by the mutex. */
	struct idle_worker *idle;         /* the one that became idle last comes first */
	struct request_list small, large; /* waiting requests in order of their turns */
	uint64_t turn; /* turn of the last request taken; later requests get no earlier one */
	struct request_list answering;
	size_t answering_count, answering_large;
	struct connection *returned;

	uint64_t relieved_ns; /* when the last client was cut off; used by the reception's thread */
	atomic_bool stopping;
};

/* Inserts a connection after `before`; NULL: at the front. */
static void list_insert(struct request_list *list, struct connection *before,
			struct connection *connection)
{
	struct connection *after = before ? before->next : list->first;

	connection->previous = before;
	connection->next = after;
	if (before) {
		before->next = connection;
	} else {
		list->first = connection;
	}
	if (after) {
		after->previous = connection;
	} else {
		list->last = connection;
	}
}

static void list_remove(struct request_list *list, struct connection *connection)
{
	if (connection->previous) {
		connection->previous->next = connection->next;
	} else {
		list->first = connection->next;
	}
	if (connection->next) {
		connection->next->previous = connection->previous;
	} else {
		list->last = connection->previous;
	}
	connection->next = connection->previous = NULL;
}

struct dispatch *dispatch_new(size_t workers, size_t most_large, size_t most_rendered,
			      struct waker *waker, struct etw_error *err)
{
	struct dispatch *dispatch = calloc(1, sizeof *dispatch);

	if (!dispatch) {
		error_no_memory(err, "the web server");
		return NULL;
	}
	os_mutex_init(&dispatch->mutex);
	dispatch->waker = waker;
	assert(workers > 0);
	dispatch->workers = workers;
	dispatch->most_large = workers > DISPATCH_KEPT_FOR_SMALL ?
				       workers - DISPATCH_KEPT_FOR_SMALL :
				       workers - workers / 2;
	if (most_large > 0 && most_large < dispatch->most_large) {
		dispatch->most_large = most_large;
	}
	dispatch->most_rendered = most_rendered > 0 ? most_rendered : dispatch->most_large;
	return dispatch;
}

void dispatch_free(struct dispatch *dispatch)
{
	if (dispatch) {
		os_mutex_done(&dispatch->mutex);
		free(dispatch);
	}
}

/* ---- the queue ---- */

/* The caller holds the mutex. */
static void wake_worker(struct dispatch *dispatch)
{
	struct idle_worker *worker = dispatch->idle;

	if (worker) {
		dispatch->idle = worker->next;
		worker->woken = true;
		os_condition_wake_one(&worker->condition);
	}
}

/* Waits until there is a request or the server stops. The caller holds the mutex. */
static void wait_for_request(struct dispatch *dispatch)
{
	struct idle_worker worker = { .next = dispatch->idle };

	os_condition_init(&worker.condition);
	dispatch->idle = &worker;
	while (!worker.woken) {
		os_condition_wait(&worker.condition, &dispatch->mutex, 3600000 * MS);
	}
	os_condition_done(&worker.condition);
}

/* Returns the turn after the last request of the same address in a list, or `turn` if that is
 * later. */
static uint64_t turn_after(const struct request_list *list, const struct client_address *address,
			   uint64_t turn)
{
	const struct connection *c = list->last;

	while (c && !client_address_alike(&c->address, address)) {
		c = c->previous;
	}
	return c && c->turn >= turn ? c->turn + 1 : turn;
}

/* The caller holds the mutex. */
static void enqueue(struct dispatch *dispatch, struct connection *connection)
{
	struct request_list *list = connection->is_large ? &dispatch->large : &dispatch->small;
	const struct client_address *address = &connection->address;
	struct connection *before = list->last;
	uint64_t turn = turn_after(&dispatch->answering, address, dispatch->turn);

	turn = turn_after(&dispatch->small, address, turn);
	turn = turn_after(&dispatch->large, address, turn);
	while (before && before->turn > turn) {
		before = before->previous;
	}
	connection->turn = turn;
	list_insert(list, before, connection);
}

void dispatch_add(struct dispatch *dispatch, struct connection *connection)
{
	connection->state = CONNECTION_WHOLE;
	connection->since_ns = os_monotonic_ns();
	os_mutex_lock(&dispatch->mutex);
	enqueue(dispatch, connection);
	wake_worker(dispatch);
	os_mutex_unlock(&dispatch->mutex);
}

static bool large_is_full(const struct dispatch *dispatch)
{
	return dispatch->answering_large >= dispatch->most_large;
}

/* The caller holds the mutex. */
static bool large_may_begin(const struct dispatch *dispatch)
{
	size_t rendered = 0;

	for (const struct connection *c = dispatch->answering.first; c; c = c->next) {
		rendered += c->is_large && !atomic_load_explicit(&c->waits, memory_order_relaxed);
	}
	return !large_is_full(dispatch) && rendered < dispatch->most_rendered;
}

/* Returns the connection that a free worker must answer next, or NULL. The caller holds the
 * mutex. */
static struct connection *begin_next(struct dispatch *dispatch)
{
	struct connection *connection = dispatch->small.first, *large = dispatch->large.first;

	if (large && large_may_begin(dispatch) && (!connection || large->turn < connection->turn)) {
		connection = large;
	}
	if (connection) {
		list_remove(connection->is_large ? &dispatch->large : &dispatch->small, connection);
		/* The turn is not set back: a large page may have waited while later turns were
		 * taken. */
		if (dispatch->turn < connection->turn) {
			dispatch->turn = connection->turn;
		}
		list_insert(&dispatch->answering, dispatch->answering.last, connection);
		dispatch->answering_count++;
		dispatch->answering_large += connection->is_large;
		connection->since_ns = os_monotonic_ns();
		connection->deadline_ns = connection->since_ns + PAGE_NS;
		atomic_store_explicit(&connection->waits, false, memory_order_relaxed);
		atomic_store_explicit(&connection->cut, false, memory_order_relaxed);
		atomic_store_explicit(&connection->bytes_per_s, UINT64_MAX, memory_order_relaxed);
		connection->measured_bytes = 0;
		connection->measured_since_ns = connection->since_ns;
	}
	return connection;
}

struct connection *dispatch_next(struct dispatch *dispatch)
{
	struct connection *connection = NULL;

	os_mutex_lock(&dispatch->mutex);
	while (!atomic_load(&dispatch->stopping) && (connection = begin_next(dispatch)) == NULL) {
		wait_for_request(dispatch);
	}
	os_mutex_unlock(&dispatch->mutex);
	return connection;
}

size_t dispatch_idle(struct dispatch *dispatch)
{
	size_t count = 0;

	os_mutex_lock(&dispatch->mutex);
	for (const struct idle_worker *worker = dispatch->idle; worker; worker = worker->next) {
		count++;
	}
	os_mutex_unlock(&dispatch->mutex);
	return count;
}

void dispatch_not_large(struct dispatch *dispatch, struct connection *connection)
{
	os_mutex_lock(&dispatch->mutex);
	if (connection->is_large) {
		connection->is_large = false;
		dispatch->answering_large--;
		wake_worker(dispatch);
	}
	os_mutex_unlock(&dispatch->mutex);
}

/* No worker is woken: the caller is a worker, and its next call of dispatch_next() takes a waiting
 * request. */
void dispatch_return(struct dispatch *dispatch, struct connection *connection)
{
	os_mutex_lock(&dispatch->mutex);
	list_remove(&dispatch->answering, connection);
	dispatch->answering_count--;
	dispatch->answering_large -= connection->is_large;
	if (atomic_load_explicit(&connection->cut, memory_order_relaxed)) {
		connection->keep = false; /* socket_end_writing() has closed our side, perhaps after
					     a whole answer */
	}
	connection->next = dispatch->returned;
	dispatch->returned = connection;
	os_mutex_unlock(&dispatch->mutex);
	waker_wake(dispatch->waker);
}

struct connection *dispatch_returned(struct dispatch *dispatch)
{
	struct connection *returned;

	os_mutex_lock(&dispatch->mutex);
	returned = dispatch->returned;
	dispatch->returned = NULL;
	os_mutex_unlock(&dispatch->mutex);
	return returned;
}

struct connection *dispatch_overdue(struct dispatch *dispatch, uint64_t now_ns)
{
	struct request_list *const lists[] = { &dispatch->small, &dispatch->large };
	struct connection *overdue = NULL, *next;

	os_mutex_lock(&dispatch->mutex);
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		for (struct connection *c = lists[i]->first; c; c = next) {
			next = c->next;
			if (now_ns > c->since_ns + QUEUE_NS) {
				list_remove(lists[i], c);
				c->next = overdue;
				overdue = c;
			}
		}
	}
	os_mutex_unlock(&dispatch->mutex);
	return overdue;
}

/* ---- relief ---- */

static uint64_t bytes_per_s(const struct connection *connection)
{
	return atomic_load_explicit(&connection->bytes_per_s, memory_order_relaxed);
}

static bool may_be_cut(const struct connection *connection)
{
	return atomic_load_explicit(&connection->waits, memory_order_relaxed) &&
	       !atomic_load_explicit(&connection->cut, memory_order_relaxed) &&
	       bytes_per_s(connection) < SLOW_BYTES_PER_S;
}

static size_t workers_of(const struct dispatch *dispatch, const struct client_address *address)
{
	size_t count = 0;

	for (const struct connection *c = dispatch->answering.first; c; c = c->next) {
		count += client_address_alike(&c->address, address);
	}
	return count;
}

/* Returns whether as many clients are cut off already as requests wait. The caller holds the
 * mutex. */
static bool enough_are_cut(const struct dispatch *dispatch, const struct request_list *waiting)
{
	size_t missing = 0;

	for (const struct connection *c = waiting->first; c; c = c->next) {
		missing++;
	}
	for (const struct connection *c = dispatch->answering.first; c && missing > 0;
	     c = c->next) {
		missing -= atomic_load_explicit(&c->cut, memory_order_relaxed);
	}
	return missing == 0;
}

/* The caller holds the mutex. */
static void cut_slowest(struct dispatch *dispatch, bool large, uint64_t now_ns)
{
	struct connection *slowest = NULL;
	size_t most = 0;

	for (struct connection *c = dispatch->answering.first; c; c = c->next) {
		size_t held;

		if ((large && !c->is_large) || !may_be_cut(c)) {
			continue;
		}
		held = workers_of(dispatch, &c->address);
		if (held > most || (held == most && bytes_per_s(c) < bytes_per_s(slowest))) {
			most = held;
			slowest = c;
		}
	}
	if (slowest) {
		atomic_store_explicit(&slowest->cut, true, memory_order_relaxed);
		socket_end_writing(slowest->socket);
		dispatch->relieved_ns = now_ns;
	}
}

bool dispatch_relieve(struct dispatch *dispatch, uint64_t now_ns)
{
	bool small, large;

	os_mutex_lock(&dispatch->mutex);
	small = dispatch->small.first && dispatch->answering_count >= dispatch->workers;
	large = dispatch->large.first && large_is_full(dispatch);
	if ((small || large) && now_ns > dispatch->relieved_ns + RELIEF_NS &&
	    !enough_are_cut(dispatch, small ? &dispatch->small : &dispatch->large)) {
		cut_slowest(dispatch, !small, now_ns);
	}
	os_mutex_unlock(&dispatch->mutex);
	return small || large;
}

/* ---- answers ---- */

void dispatch_stop(struct dispatch *dispatch)
{
	os_mutex_lock(&dispatch->mutex);
	atomic_store(&dispatch->stopping, true);
	for (struct connection *c = dispatch->answering.first; c; c = c->next) {
		socket_end_writing(c->socket);
	}
	while (dispatch->idle) {
		wake_worker(dispatch);
	}
	os_mutex_unlock(&dispatch->mutex);
}

static bool fail(struct connection *connection, enum close_reason reason)
{
	connection->failed = true;
	connection->reason = reason;
	return false;
}

static void measure(struct connection *connection, uint64_t now_ns)
{
	uint64_t ms = (now_ns - connection->measured_since_ns) / MS;

	if (ms >= MEASURE_NS / MS) {
		atomic_store_explicit(&connection->bytes_per_s,
				      connection->measured_bytes * 1000 / ms, memory_order_relaxed);
		connection->measured_bytes = 0;
		connection->measured_since_ns = now_ns;
	}
}

/* A page that waits for its client is not being rendered: another one may begin. */
static void let_large_begin(struct dispatch *dispatch)
{
	os_mutex_lock(&dispatch->mutex);
	if (dispatch->large.first && large_may_begin(dispatch)) {
		wake_worker(dispatch);
	}
	os_mutex_unlock(&dispatch->mutex);
}

bool dispatch_send(struct dispatch *dispatch, struct connection *connection, const char *bytes,
		   size_t size)
{
	uint64_t moved_ns = os_monotonic_ns();
	unsigned checks = 0; /* since then */

	while (size > 0 && !connection->failed) {
		uint64_t now_ns = os_monotonic_ns();
		enum tls_result result;
		size_t part;

		measure(connection, now_ns);
		if (atomic_load_explicit(&connection->cut, memory_order_relaxed) ||
		    atomic_load_explicit(&dispatch->stopping, memory_order_relaxed) ||
		    now_ns > connection->deadline_ns ||
		    (checks >= STALL_CHECKS && now_ns > moved_ns + STALL_NS)) {
			return fail(connection, CLOSED_SLOW);
		}
		result = connection_write(connection, bytes, size, &part);
		if (result == TLS_DONE) {
			atomic_store_explicit(&connection->waits, false, memory_order_relaxed);
			connection->measured_bytes += part;
			moved_ns = now_ns;
			checks = 0;
			bytes += part;
			size -= part;
		} else if (result == TLS_CLOSED) {
			return fail(connection,
				    atomic_load_explicit(&connection->cut, memory_order_relaxed) ?
					    CLOSED_SLOW :
					    CLOSED_CLIENT);
		} else {
			if (!atomic_exchange_explicit(&connection->waits, true,
						      memory_order_relaxed)) {
				let_large_begin(dispatch);
			}
			socket_wait(connection->socket, result == TLS_WANT_WRITE, CHECK_MS);
			checks++;
		}
	}
	return !connection->failed;
}
