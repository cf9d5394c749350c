/* SPDX-License-Identifier: MIT */
/* The struct of the web server, which only server.c and the pages use. */
#ifndef EXPORTER_HTTP_SERVER_INTERNAL_H
#define EXPORTER_HTTP_SERVER_INTERNAL_H

#include <stdatomic.h>
#include <stdint.h>

#include "exporter/health.h"
#include "exporter/http/answer.h"
#include "exporter/http/reception.h"
#include "exporter/http/server.h"
#include "exporter/http/web_paths.h"
#include "metrics/registry.h"

enum {
	ADDRESSES_MAX = 16,
	SCRAPES_MOST = 72, /* at once */
	LISTED_PAGES = 16,
};

/* An entry in the lists of pages that clients see. */
struct listed_page {
	const char *path; /* follows the route prefix; NULL: the list ends here */
	const char *what; /* a few words about what is there */
};

struct http_server {
	struct mg_context *context; /* civetweb's, owned */
	struct registry *registry;
	struct shard *shard; /* shared by the threads of the server */
	struct family *families[SCRAPE_FAMILIES];

	struct http_options options; /* its texts are valid only while the server starts */
	struct web_paths paths;
	struct listed_page listed[LISTED_PAGES + 1];
	struct web_config *web; /* borrowed; NULL: plain HTTP */
	uint64_t started_ns;
	bool library_started;

	struct reception *reception; /* owned */
	size_t workers;
	size_t listener_count;
	unsigned ports[ADDRESSES_MAX];
	bool sockets_started;
	/* While the server starts, civetweb's first message is kept, because it has the reason if
	 * the start fails. Later messages are only logged for debugging. */
	atomic_bool started;
	char start_message[256];
};

/* ---- pages.c ---- */

/* Answers any request and returns the status. */
int pages_answer(struct http_server *server, const struct http_request *request);

/* Takes the options, checks and keeps the addresses of the pages, and makes the list of pages. */
bool pages_open(struct http_server *server, const struct http_options *options,
		struct etw_error *err);

/* ---- scrape.c ---- */

/* Adds the etw_exporter_scrape* families, and makes the shard that the answering threads share. */
bool scrape_open(struct http_server *server, struct etw_error *err);

struct scrape_options {
	/* Returns whether the page has a family; NULL: the page has all. */
	bool (*requested)(void *context, const struct family *family);
	void *context; /* of requested */
	uint64_t time_limit_ns;
};

/* Answers /metrics and returns the status. */
int scrape_answer(struct http_server *server, const struct http_request *request,
		  const struct scrape_options *options);

/* Counts a scrape that got this status without scrape_answer(). */
void scrape_count(struct http_server *server, int status);

#endif
