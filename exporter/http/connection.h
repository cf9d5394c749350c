/* SPDX-License-Identifier: MIT */
/*
 * The connections of clients: what they request, their list, and waiting for them.
 *
 * A connection belongs to the reception, or to the worker that answers its request, and goes from
 * one to the other under the lock of dispatch.c.
 */
#ifndef EXPORTER_HTTP_CONNECTION_H
#define EXPORTER_HTTP_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/client_address.h"
#include "exporter/http/sockets.h"
#include "exporter/http/tls.h"

/* ---- request heads (request_head.c) ---- */

/*
 * Finds and checks the head of an HTTP request, byte by byte as it arrives (RFC 9112).
 */

enum {
	REQUEST_HEAD_SIZE_MAX = 16384 - 1, /* civetweb's buffer needs one byte more */
	REQUEST_HEADERS_MAX = 64,          /* civetweb ignores further headers */
};

enum head_result {
	HEAD_PARTIAL, /* more bytes are needed */
	HEAD_WHOLE,
	HEAD_REFUSED,
};

struct request_head {
	size_t begin, end;               /* offsets of the head in the bytes, with its empty line */
	size_t target_begin, target_end; /* offsets of the path with its query */
	bool keep_alive; /* the client may send further requests on the connection */
	bool has_body;   /* bytes of the request follow the head */
	int status;      /* for HEAD_REFUSED: the status of the answer, for example 400 */
};

/*
 * Checks the bytes of a request that have arrived. The caller sets *seen to 0 before the first call
 * for a request; the function keeps in it how many bytes it need not read again. A head that does
 * not follow RFC 9112 is refused: a lenient reader and a proxy in front of it may disagree about
 * where a request ends. A whole head is changed in place where the RFC allows several readings, so
 * that later readers see only one: a target in absolute form becomes its path, and tabs in values
 * become blanks.
 */
enum head_result request_head_read(char *bytes, size_t size, size_t *seen,
				   struct request_head *head);

enum connection_state {
	CONNECTION_HANDSHAKE, /* the reception waits for the TLS handshake */
	CONNECTION_READING,   /* the reception waits for a request head */
	CONNECTION_DRAINING,  /* answered; the reception waits until the client closes */
	CONNECTION_WHOLE,     /* a whole request, which waits for a worker or has one */
};

/* Why connections end: the label "reason". */
enum close_reason {
	CLOSED_DONE,        /* every request was answered */
	CLOSED_CLIENT,      /* the client closed early or reset the connection */
	CLOSED_IDLE,        /* it was kept for further requests, but none came */
	CLOSED_TIMEOUT,     /* no whole request head came in time */
	CLOSED_BAD_REQUEST, /* the request head was refused */
	CLOSED_EVICTED,     /* it was idle and made room for another one */
	CLOSED_FULL,        /* there was no room, and none could be made */
	CLOSED_NOT_ALLOWED, /* the address is outside --web.allow */
	CLOSED_SLOW,        /* the client took the answer too slowly */
	CLOSED_BUSY,        /* the request waited too long for a worker and got 503 */
	CLOSE_REASONS,
};

struct connection {
	socket_handle socket;
	struct tls_connection *tls; /* owned; NULL: plain, or the handshake has not begun */
	struct client_address address;
	char client[CLIENT_ADDRESS_TEXT_SIZE];
	enum connection_state state;
	bool wants_writing;   /* TLS waits until it can write, even in order to read */
	uint64_t since_ns;    /* when the connection became idle, queued or answered */
	uint64_t deadline_ns; /* when the present state ends */
	uint64_t active_ns;   /* when the reception last received from it or answered */
	bool in_slices;       /* used by wait_set_wait() */
	size_t index;         /* index in the list of the reception */
	struct connection *next, *previous; /* neighbours in a list of dispatch.c */
	uint64_t turn;                      /* its place in the queues of dispatch.c */

	char *bytes; /* owned; bytes that have arrived and are not answered yet */
	size_t size, capacity, seen;
	struct request_head head; /* whole in CONNECTION_WHOLE */
	size_t read;              /* bytes of the head that civetweb has read */
	unsigned requests;
	enum close_reason reason;
	bool is_large; /* the requested page may be large */
	bool keep;     /* the answer leaves the connection open */
	bool answered; /* completely */
	bool failed;   /* a part of the answer could not be sent */

	/* Atomic, because the worker writes and the reception reads them, or the reverse. */
	atomic_bool waits; /* the worker waits for the client to take bytes */
	atomic_bool cut;   /* the worker must give up the answer, because other requests wait */
	_Atomic uint64_t bytes_per_s; /* rate at which the client takes bytes; UINT64_MAX: not
					 measured yet */
	uint64_t measured_bytes, measured_since_ns; /* used by the worker alone */
};

/* Makes the struct of an accepted connection. Returns NULL without memory; the caller then closes
 * the socket. */
struct connection *connection_new(socket_handle socket, const struct client_address *address);
/* Closes the socket and frees the connection. With reset, what the client has not read of the
 * answer is dropped. */
void connection_free(struct connection *connection, bool reset);

/* Read and write as tls_read() and tls_write() do, with TLS or without. */
enum tls_result connection_read(struct connection *connection, char *bytes, size_t capacity,
				size_t *size);
enum tls_result connection_write(struct connection *connection, const char *bytes, size_t count,
				 size_t *size);

/* ---- the list of connections ---- */

/*
 * The list of all open connections. It chooses the one that is evicted to make room for another.
 * One thread uses a list.
 */
struct connection_list {
	struct connection **connections; /* owned, including those that workers answer */
	size_t count, most;
	void *context; /* passed to both functions */
	void (*closed)(void *context,
		       enum close_reason reason); /* called when a connection ended */
	void (*opened)(void *context,
		       size_t connections); /* called with the new count of open ones */
};

/* Allocates room for `most` connections; the caller sets context and the two functions. Returns
 * false without memory. */
bool connection_list_init(struct connection_list *list, size_t most);
/* Closes all remaining connections. A zero-initialised list is fine. */
void connection_list_done(struct connection_list *list);

/* Adds a connection; there must be room. */
void connection_list_add(struct connection_list *list, struct connection *connection);

/* Closes and frees a connection. reset: the part of the answer that its client has not taken is
 * dropped. */
void connection_list_end(struct connection_list *list, struct connection *connection,
			 enum close_reason reason, bool reset);

/* Returns whether the reception has the connection and waits for its client. */
bool connection_is_idle(const struct connection *connection);

/*
 * Ends the oldest idle connection of the clients that count as one with the address, or of all
 * clients if address is NULL. It chooses among connections that are closing anyway; if there are
 * none, among those that never sent a request; and last among those kept for further requests.
 * Returns false if no connection is idle.
 */
bool connection_list_evict(struct connection_list *list, const struct client_address *address);

/* Makes room for a connection from that address; one address may have at most half of all
 * connections. Returns false if there is no room. */
bool connection_list_make_room(struct connection_list *list, const struct client_address *address);

/* ---- turns of TLS handshakes ---- */

/*
 * Decides which TLS handshakes continue in one pass of the reception.
 *
 * The thread that waits for all clients also computes their handshakes: this takes 1 ms for an RSA
 * key of 2048 bits, 6 ms for one of 4096. A client that begins hundreds at once would delay all
 * others by seconds. Therefore each address gets one handshake step in a pass; its other handshakes
 * continue in the next passes, which follow at once.
 */

struct handshake_turns {
	struct client_address *taken; /* owned; the addresses that had their turn in this pass */
	size_t count, most;
};

/* most: the number of turns in a pass; further handshakes wait. Returns false without memory. */
bool handshake_turns_init(struct handshake_turns *turns, size_t most);
void handshake_turns_done(struct handshake_turns *turns);

/* Begins a pass, in which every address has its turn again. */
void handshake_turns_begin(struct handshake_turns *turns);

/* Takes the turn of an address. Returns false if the address had its turn in this pass, or the pass
 * has no turns left. */
bool handshake_turns_take(struct handshake_turns *turns, const struct client_address *address);

/* ---- waiting for connections ---- */

/*
 * Waits for many connections at once. Most of them are silent and add little to the cost of a wait.
 */

enum {
	WAIT_SET_SILENT_MS = 100, /* a connection is silent if it sent nothing for this long */
	WAIT_SET_FEW = 64,        /* this many silent connections are waited for like others */
	WAIT_SET_KEPT = 64,       /* if there are more: those waited for that had a request */
	WAIT_SET_SLICES = 10,     /* the others are polled in this many slices, one after another */
};

struct wait_set; /* opaque; one thread */

/* others: the number of sockets that are not connections; most: the most connections. Returns NULL
 * without memory. */
struct wait_set *wait_set_new(size_t others, size_t most);
void wait_set_free(struct wait_set *set); /* NULL is fine */

/*
 * Waits until one of the other sockets or an idle connection of the list can be read, can be
 * written (if TLS waits for that), or is closed by its client. Returns after wait_ms even if
 * nothing is ready, and after some milliseconds while silent connections are polled in slices.
 * now_ns: of os_monotonic_ns() at the time of the call.
 */
void wait_set_wait(struct wait_set *set, const socket_handle *others, size_t other_count,
		   const struct connection_list *list, unsigned wait_ms, uint64_t now_ns);

/* Returns whether one of the other sockets was ready after the wait. index: in `others`. */
bool wait_set_other_ready(const struct wait_set *set, size_t index);

/* Returns the connections that were ready after the wait, each once. The array is valid until the
 * next wait, except for connections that have ended meanwhile. */
struct connection *const *wait_set_ready(const struct wait_set *set, size_t *count);

#endif
