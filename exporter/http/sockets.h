/* SPDX-License-Identifier: MIT */
/*
 * TCP sockets that never block: Berkeley sockets and Winsock behind one interface. Unless said
 * otherwise, a socket belongs to one thread at a time.
 */
#ifndef EXPORTER_HTTP_SOCKETS_H
#define EXPORTER_HTTP_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/client_address.h"
#include "base/error.h"
#include "config/listen_address.h"

typedef intptr_t socket_handle;
#define SOCKET_NONE ((socket_handle)-1)

/* To be called before any other function, and its counterpart after them. On Linux raises the limit
 * of file descriptors, if it is low. */
bool sockets_start(struct etw_error *err);
void sockets_stop(void);

/* How many sockets clients may have: the program keeps descriptors for its own files. */
size_t sockets_limit(void);

/*
 * Listens on an address; LISTEN_ANY is IPv6 and, through it, IPv4, or IPv4 alone where the system
 * has no IPv6. Returns SOCKET_NONE and the error number of the system; 0: the host is no
 * address.
 */
socket_handle socket_listen(const struct listen_address *address, int *error_number);

unsigned socket_port(socket_handle listener); /* 0: it has none */

enum socket_accepted {
	SOCKET_ACCEPTED,
	SOCKET_NO_CLIENT,      /* none is waiting, or it has left again */
	SOCKET_NO_DESCRIPTORS, /* the client waits until there is room for it */
};

enum socket_accepted socket_accept(socket_handle listener, socket_handle *client,
				   struct client_address *address);

enum socket_result { SOCKET_DONE, SOCKET_WOULD_BLOCK, SOCKET_CLOSED };

/* SOCKET_DONE: *size bytes were read or written, at least one. */
enum socket_result socket_read(socket_handle socket, char *bytes, size_t capacity, size_t *size);
enum socket_result socket_write(socket_handle socket, const char *bytes, size_t count,
				size_t *size);
/* The first byte that waits to be read, which it stays. */
enum socket_result socket_peek(socket_handle socket, char *byte);

/* Waits until the socket can be read or written, or the other side has left, or the time is over.
 */
void socket_wait(socket_handle socket, bool for_writing, unsigned timeout_ms);

/* What was written before still arrives. Ends a wait for writing of another thread at once; that it
 * does on Windows is assumed. */
void socket_end_writing(socket_handle socket);
void socket_close(socket_handle socket);
void socket_reset(socket_handle socket); /* closes, and drops what the client has not taken */

/* ---- waiting for many ---- */

struct socket_set; /* opaque; one thread */

struct socket_set *socket_set_new(size_t capacity); /* NULL without memory */
void socket_set_free(struct socket_set *set);       /* NULL is fine */
void socket_set_clear(struct socket_set *set);
/* Its index is 0, 1, 2 … since the set was cleared. There must be room. */
void socket_set_add(struct socket_set *set, socket_handle socket, bool for_writing);
void socket_set_wait(struct socket_set *set, unsigned timeout_ms);
/* After a wait: can be read or written without blocking, if only to learn that it is closed. */
bool socket_set_ready(const struct socket_set *set, size_t index);

/* Ends the wait of another thread that has waker_socket() in its set. */
struct waker; /* opaque */

struct waker *waker_new(struct etw_error *err);
void waker_free(struct waker *waker); /* NULL is fine */
void waker_wake(struct waker *waker); /* any thread */
socket_handle waker_socket(const struct waker *waker);
void waker_clear(struct waker *waker); /* by the thread that waits, before it looks what there is */

#endif
