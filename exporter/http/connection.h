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
	CONNECTION_HANDSHAKE, /* of TLS; from here on the reception waits for the client */
	CONNECTION_READING,   /* a request head */
	CONNECTION_DRAINING, /* answered; until the client has read the answer and closes as well */
	CONNECTION_WHOLE,    /* a request, which waits for a worker, or has one */
};

/* Why connections end: the label "reason". */
enum close_reason {
	CLOSED_DONE,        /* all that was asked for was answered */
	CLOSED_CLIENT,      /* the client left early, or broke off */
	CLOSED_IDLE,        /* kept for further requests, of which none came */
	CLOSED_TIMEOUT,     /* no whole request head in time */
	CLOSED_BAD_REQUEST, /* a request head that is refused */
	CLOSED_EVICTED,     /* idle, to make room for another connection */
	CLOSED_FULL,        /* no room, and none could be made */
	CLOSED_NOT_ALLOWED, /* an address outside --web.allow */
	CLOSED_SLOW,        /* the client took the answer too slowly */
	CLOSED_BUSY,        /* the request waited too long for a worker: answered with 503 */
	CLOSE_REASONS,
};

struct connection {
	socket_handle socket;
	struct tls_connection *tls; /* owned; NULL: plain, or not begun */
	struct client_address address;
	char client[CLIENT_ADDRESS_TEXT_SIZE];
	enum connection_state state;
	bool wants_writing;   /* TLS waits until it can write, even in order to read */
	uint64_t since_ns;    /* idle since, or queued since, or being answered since */
	uint64_t deadline_ns; /* of the state */
	uint64_t active_ns;   /* when the reception last had something from it, or answered */
	bool in_slices;       /* of wait_set.c */
	size_t index;         /* in the list of the reception */
	struct connection *next, *previous; /* in a list of dispatch.c */
	uint64_t turn;                      /* in its queues */

	char *bytes; /* owned; what has arrived and is not answered */
	size_t size, capacity, seen;
	struct request_head head; /* whole in CONNECTION_WHOLE */
	size_t read;              /* of the head, by civetweb */
	unsigned requests;
	enum close_reason reason;
	bool is_large; /* the page is one that may be large */
	bool keep;     /* the answer leaves the connection open */
	bool answered; /* completely */
	bool failed;   /* a part of the answer could not be sent */

	/* Written by the worker, read by the reception, and the other way round. */
	atomic_bool waits; /* for the client to take bytes */
	atomic_bool cut;   /* to be given up by the worker, because other requests wait */
	_Atomic uint64_t bytes_per_s;               /* sent lately; UINT64_MAX: not measured yet */
	uint64_t measured_bytes, measured_since_ns; /* of the worker */
};

/* A connection that was accepted, with its address; NULL without memory. */
struct connection *connection_new(socket_handle socket, const struct client_address *address);
/* Closes. reset: what the client has not taken of the answer is dropped. */
void connection_free(struct connection *connection, bool reset);

/* As tls_read() and tls_write(), with TLS or without. */
enum tls_result connection_read(struct connection *connection, char *bytes, size_t capacity,
				size_t *size);
enum tls_result connection_write(struct connection *connection, const char *bytes, size_t count,
				 size_t *size);

#endif
