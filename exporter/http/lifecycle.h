/* SPDX-License-Identifier: MIT */
/*
 * POST /-/reload, /-/record and /-/quit: what a client may do to the program, behind
 * --web.enable-lifecycle.
 */
#ifndef EXPORTER_HTTP_LIFECYCLE_H
#define EXPORTER_HTTP_LIFECYCLE_H

struct http_server;
struct http_request;

/* Each answers a POST or PUT and return the status. */
int lifecycle_reload(struct http_server *server, const struct http_request *request);
int lifecycle_record(struct http_server *server, const struct http_request *request);
int lifecycle_quit(struct http_server *server, const struct http_request *request);

#endif
