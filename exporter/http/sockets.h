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

typedef intptr_t socket_handle;
#define SOCKET_NONE ((socket_handle)-1)

/* Call sockets_start() before any other function here, and sockets_stop() after all of them. On
 * Linux sockets_start() raises the limit of file descriptors if it is low. */
bool sockets_start(struct etw_error *err);
void sockets_stop(void);

/* Returns how many sockets clients may use; the other descriptors are kept for the program's own
 * files. */
size_t sockets_limit(void);

/* Returns whether the system would give the program one more socket now. */
bool socket_is_left(void);

/*
 * Listens on an address. LISTEN_ANY means an IPv6 socket that also takes IPv4, or IPv4 alone if the
 * system has no IPv6. On failure returns SOCKET_NONE and sets *error_number to the error of the
 * system, or to 0 if the host is not an address.
 */
socket_handle socket_listen(const struct listen_address *address, int *error_number);

unsigned socket_port(socket_handle listener); /* returns 0 if it has none */

enum socket_accepted {
	SOCKET_ACCEPTED,
	SOCKET_NO_CLIENT,      /* no client waits, or it has closed again */
	SOCKET_NO_DESCRIPTORS, /* no descriptor is free; the client waits until one is */
};

enum socket_accepted socket_accept(socket_handle listener, socket_handle *client,
				   struct client_address *address);

enum socket_result { SOCKET_DONE, SOCKET_WOULD_BLOCK, SOCKET_CLOSED };

/* SOCKET_DONE: *size bytes were read or written, at least one. */
enum socket_result socket_read(socket_handle socket, char *bytes, size_t capacity, size_t *size);
enum socket_result socket_write(socket_handle socket, const char *bytes, size_t count,
				size_t *size);
/* Reads the first byte but leaves it in the socket. */
enum socket_result socket_peek(socket_handle socket, char *byte);

/* Waits until the socket can be read or written, the other side has closed, or the time is over. */
void socket_wait(socket_handle socket, bool for_writing, unsigned timeout_ms);

/* Lets no more be written; bytes written before still arrive. It ends another thread's wait for
 * writing at once; on Windows this is assumed, not verified. */
void socket_end_writing(socket_handle socket);
void socket_close(socket_handle socket);
void socket_reset(socket_handle socket); /* closes, and drops what the client has not taken */

/* ---- waiting for many ---- */

struct socket_set; /* opaque; one thread */

struct socket_set *socket_set_new(size_t capacity); /* NULL without memory */
void socket_set_free(struct socket_set *set);       /* NULL is fine */
void socket_set_clear(struct socket_set *set);
/* Adds a socket. Indexes count from 0 after the set was cleared. There must be room. */
void socket_set_add(struct socket_set *set, socket_handle socket, bool for_writing);
void socket_set_wait(struct socket_set *set, unsigned timeout_ms);
/* Returns, after a wait, whether the socket can be read or written without blocking; a closed
 * socket can be, too. */
bool socket_set_ready(const struct socket_set *set, size_t index);

/* A waker ends the wait of another thread that has waker_socket() in its set. */
struct waker; /* opaque */

struct waker *waker_new(struct etw_error *err);
void waker_free(struct waker *waker); /* NULL is fine */
void waker_wake(struct waker *waker); /* any thread */
socket_handle waker_socket(const struct waker *waker);
void waker_clear(struct waker *waker); /* the waiting thread calls it before it looks for work */

#endif
