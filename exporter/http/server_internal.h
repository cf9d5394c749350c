/* SPDX-License-Identifier: MIT */
/*
 * The web server from inside; for server.c (start, stop) and pages.c (requests) only.
 */
#ifndef EXPORTER_HTTP_SERVER_H
#define EXPORTER_HTTP_SERVER_H

#include <stdatomic.h>

#include "base/listen_address.h"
#include "health.h"
#include "http/server.h"

#define HTTP_HEALTHY_PATH "/-/healthy"
#define HTTP_READY_PATH   "/-/ready"

enum {
	HTTP_ADDRESSES_MAX = 16,
	HTTP_PATH_SIZE_MAX = 256,
};

/* What came of a scrape; the label "code". */
enum outcome { SCRAPE_DONE, SCRAPE_ABORTED, SCRAPE_FAILED, OUTCOME_COUNT };

struct mg_connection;
struct mg_context;

struct http_server {
	struct mg_context *context; /* owned */
	struct registry *registry;
	struct shard *shard; /* shared by civetweb's threads */
	struct scrape_families families;
	uint32_t outcome_ids[OUTCOME_COUNT];

	char telemetry_path[HTTP_PATH_SIZE_MAX];
	bool (*ready)(void *context);
	void *ready_context;
	bool library_started;

	struct listen_address addresses[HTTP_ADDRESSES_MAX];
	const char *const *address_texts; /* borrowed, while starting */
	size_t address_count;
	unsigned ports[HTTP_ADDRESSES_MAX];
	/* While starting, what civetweb says is why it cannot; later only a word for debugging. */
	atomic_bool started;
	char start_message[256];
};

/* Adds the families about scrapes. */
bool http_add_families(struct http_server *server, struct error *err);

/* civetweb's begin_request: answers everything; returns the status, for civetweb's log. */
int http_on_request(struct mg_connection *connection);
/* civetweb's http_error: what it refuses by itself, a request that is none, or too long. */
int http_on_error(struct mg_connection *connection, int status, const char *message);

#endif
