/* SPDX-License-Identifier: MIT */
/*
 * One connection of a client. It belongs to the reception, or to the worker that answers its
 * request, and goes from one to the other under the lock of dispatch.c.
 */
#ifndef EXPORTER_HTTP_CONNECTION_H
#define EXPORTER_HTTP_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/client_address.h"
#include "exporter/http/request_head.h"
#include "exporter/http/sockets.h"
#include "exporter/http/tls.h"

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
	bool in_slices;       /* used by wait_set.c */
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
/* Closes the socket and frees. reset: the part of the answer that the client has not taken is
 * dropped. */
void connection_free(struct connection *connection, bool reset);

/* Read and write as tls_read() and tls_write() do, with TLS or without. */
enum tls_result connection_read(struct connection *connection, char *bytes, size_t capacity,
				size_t *size);
enum tls_result connection_write(struct connection *connection, const char *bytes, size_t count,
				 size_t *size);

#endif
