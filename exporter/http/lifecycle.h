/* SPDX-License-Identifier: MIT */
/*
 * Answers POST /-/reload, /-/record and /-/quit, by which a client controls the program if
 * --web.enable-lifecycle allows it.
 */
#ifndef EXPORTER_HTTP_LIFECYCLE_H
#define EXPORTER_HTTP_LIFECYCLE_H

struct http_server;
struct http_request;

/* Each function answers a POST or PUT and returns the status. */
int lifecycle_reload(struct http_server *server, const struct http_request *request);
int lifecycle_record(struct http_server *server, const struct http_request *request);
int lifecycle_quit(struct http_server *server, const struct http_request *request);

#endif
