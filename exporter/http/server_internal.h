/* SPDX-License-Identifier: MIT */
/*
 * The struct of the web server, and the requests that pages get and answer. Only server.c, answer.c
 * and the pages use it.
 */
#ifndef EXPORTER_HTTP_SERVER_INTERNAL_H
#define EXPORTER_HTTP_SERVER_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/client_address.h"
#include "base/error.h"
#include "base/text.h"
#include "config/config.h"
#include "exporter/health.h"
#include "exporter/http/reception.h"
#include "exporter/http/server.h"
#include "metrics/registry.h"

/* ---- addresses of pages ---- */

/*
 * Computes the addresses of the pages from the same flags as Prometheus. --web.external-url is the
 * address under which clients reach the program, perhaps through a reverse proxy;
 * --web.route-prefix begins every path that arrives here.
 */

struct web_paths {
	/* Neither ends with a slash; "": the pages are at the root. */
	char prefix[WEB_PATH_SIZE_MAX];    /* begins every path that arrives: "/etw" */
	char links[WEB_PATH_SIZE_MAX];     /* begins every path in a link of a page */
	char origin[WEB_PATH_SIZE_MAX];    /* of the external URL: "https://host:9189"; "": none */
	char telemetry[WEB_PATH_SIZE_MAX]; /* follows the prefix: "/metrics" */
};

/*
 * Checks and normalises the flags as Prometheus does: slashes at the ends do not matter, and the
 * route prefix is by default the path of the external URL ("/" means no prefix). Without an
 * external URL links begin with the route prefix. external_url: "https://host/etw" or only "/etw";
 * it and route_prefix may be NULL or "". The error is ETW_ERROR_CONFIG and names the flag.
 */
bool web_paths_init(struct web_paths *paths, const char *external_url, const char *route_prefix,
		    const char *telemetry_path, struct etw_error *err);

/* Returns what follows the prefix in a path that arrived: "/metrics", or "" for the prefix alone.
 * Returns NULL if the path does not begin with the prefix. */
const char *web_paths_route(const struct web_paths *paths, const char *path);

/* ---- the server ---- */

enum {
	ADDRESSES_MAX = CONFIG_LISTEN_ADDRESSES_MOST,
	SCRAPES_MOST = CONFIG_SCRAPES_MOST, /* at once */
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

/* ---- requests and their answers (answer.c) ---- */

/* Texts are valid until the page returns. */
struct http_request {
	const char *method;  /* "GET" */
	const char *path;    /* as it arrived: neither decoded nor cleaned of dots */
	const char *query;   /* what follows the question mark, as it arrived; NULL: no query */
	const char *version; /* "1.1" */
	const char *client;  /* `address` as text, for the log */
	const struct client_address *address;
	bool is_head;                   /* HEAD: the answer ends after its head */
	struct mg_connection *civetweb; /* civetweb's object for the connection */
	struct connection *connection;  /* the connection, as the reception knows it */
	struct web_config *web;         /* borrowed; each answer has its headers; NULL: none */
};

/* Returns the value of a header of the request, or NULL. If the header occurs several times, the
 * first one counts. */
const char *request_header(const struct http_request *request, const char *name);

/*
 * Adds the status line and the headers that every answer has. The caller adds further headers and
 * the empty line. An answer with status 400 or above ends the connection.
 */
void answer_add_head(struct etw_text *out, const struct http_request *request, int status,
		     const char *type);

/* Sends a whole answer with one write. headers: lines with CRLF, or "". */
void answer(const struct http_request *request, int status, const char *type, const char *headers,
	    const char *body);

/* Answers with a status and its name as the body; returns the status. */
int answer_status(const struct http_request *request, int status, const char *headers);

/* Sends a part of an answer. Returns false if the client did not take all of it. */
bool answer_send(const struct http_request *request, const char *bytes, size_t size);

/*
 * Call it after the last part: the answer is complete, and the connection may serve another
 * request. Without this call the connection is reset, so that the client notices that the answer is
 * incomplete.
 */
void answer_end(const struct http_request *request);

/* Adds the whole answer to a request that is refused before it has been read. web: as in struct
 * http_request. */
void answer_add_refusal(struct web_config *web, int status, struct etw_text *out);

/* ---- pages.c ---- */

/* Answers any request and returns the status. */
int pages_answer(struct http_server *server, const struct http_request *request);

/* Copies the options, checks and keeps the addresses of the pages, and makes the list of pages. */
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

/* ---- landing_page.c ---- */

/* Each function answers a GET or HEAD with the landing page or with a file that it loads, and
 * returns the status. The files of http/page/ are built into the program. */
int landing_page_answer(struct http_server *server, const struct http_request *request);
int landing_page_style(struct http_server *server, const struct http_request *request);
int landing_page_script(struct http_server *server, const struct http_request *request);
int landing_page_icon(struct http_server *server, const struct http_request *request);
int landing_page_history(struct http_server *server, const struct http_request *request);

#endif
