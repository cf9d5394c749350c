/* SPDX-License-Identifier: MIT */
/* The web server's struct, for server.c and the pages only. */
#ifndef EXPORTER_HTTP_SERVER_INTERNAL_H
#define EXPORTER_HTTP_SERVER_INTERNAL_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/listen_address.h"
#include "health.h"
#include "http/answer.h"
#include "http/server.h"
#include "metrics/registry.h"

enum {
	ADDRESSES_MAX = 16,
	TELEMETRY_PATH_SIZE_MAX = 256,
};

struct http_server {
	struct mg_context *context; /* of civetweb, owned */
	struct registry *registry;
	struct shard *shard; /* shared by civetweb's threads */
	struct family *families[SCRAPE_FAMILIES];

	char telemetry_path[TELEMETRY_PATH_SIZE_MAX];
	bool (*ready)(void *context);
	void *ready_context;
	void (*add_state)(void *context, struct text *html);
	void *state_context;
	uint64_t started_ns;
	bool library_started;

	struct listen_address addresses[ADDRESSES_MAX];
	const char *const *address_texts; /* borrowed, while starting */
	size_t address_count;
	unsigned ports[ADDRESSES_MAX];
	/* While starting, what civetweb says is why it cannot; later only a word for debugging. */
	atomic_bool started;
	char start_message[256];
};

/* ---- pages.c ---- */

/* Answers any request; returns the status. */
int pages_answer(struct http_server *server, const struct http_request *request);

/* Checks that a telemetry path can be one: that it is a path, and not that of another page. */
bool pages_check_telemetry_path(const char *path, struct error *err);

/* ---- scrape.c ---- */

/* Adds the etw_exporter_scrape* families, with a shard for the threads that answer. */
bool scrape_open(struct http_server *server, struct error *err);

/* Answers /metrics; returns the status. */
int scrape_answer(struct http_server *server, const struct http_request *request);

#endif
