/* SPDX-License-Identifier: MIT */
/* The web server's struct, for server.c and the pages only. */
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
	WORKERS = 80, /* so many because slow readers hold some: see dispatch.c */
	LISTED_PAGES = 16,
};

/* A page in lists of pages. */
struct listed_page {
	const char *path; /* behind the prefix; NULL: this is the end of the list */
	const char *what; /* a few words about what is there */
};

struct http_server {
	struct mg_context *context; /* of civetweb, owned */
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
	size_t listener_count;
	unsigned ports[ADDRESSES_MAX];
	bool sockets_started;
	/* While starting, what civetweb says is why it cannot; later only a word for debugging. */
	atomic_bool started;
	char start_message[256];
};

/* ---- pages.c ---- */

/* Answers any request; returns the status. */
int pages_answer(struct http_server *server, const struct http_request *request);

/* Takes the options, checks and keeps the addresses of the pages, and lists them. */
bool pages_open(struct http_server *server, const struct http_options *options,
		struct etw_error *err);

/* ---- scrape.c ---- */

/* Adds the etw_exporter_scrape* families, with a shard for the threads that answer. */
bool scrape_open(struct http_server *server, struct etw_error *err);

struct scrape_options {
	/* Whether the page has a family; NULL: it has all. */
	bool (*requested)(void *context, const struct family *family);
	void *context; /* of requested */
	uint64_t time_limit_ns;
};

/* Answers /metrics; returns the status. */
int scrape_answer(struct http_server *server, const struct http_request *request,
		  const struct scrape_options *options);

/* Counts a scrape that is answered with this status, other than by scrape_answer(). */
void scrape_count(struct http_server *server, int status);

#endif
