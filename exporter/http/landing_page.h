/* SPDX-License-Identifier: MIT */
/*
 * Answers with the landing page and the files that it loads. They come from http/page/ and are
 * built into the program.
 */
#ifndef EXPORTER_HTTP_LANDING_PAGE_H
#define EXPORTER_HTTP_LANDING_PAGE_H

struct http_server;
struct http_request;

/* Each function answers a GET or HEAD and returns the status. */
int landing_page_answer(struct http_server *server, const struct http_request *request);
int landing_page_style(struct http_server *server, const struct http_request *request);
int landing_page_script(struct http_server *server, const struct http_request *request);
int landing_page_icon(struct http_server *server, const struct http_request *request);
int landing_page_history(struct http_server *server, const struct http_request *request);

#endif
