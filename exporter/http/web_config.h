/* SPDX-License-Identifier: MIT */
/*
 * The web configuration of a running server: TLS, users, headers and the rate limit, from the file
 * of --web.config.file (exporter/http/web_settings.h). The file and the files that it names are
 * read again when they change; a mistake in them is logged and changes nothing.
 */
#ifndef EXPORTER_HTTP_WEB_CONFIG_H
#define EXPORTER_HTTP_WEB_CONFIG_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"
#include "config/problems.h"
#include "metrics/registry.h"

struct client_address;
struct tls_server;
struct web_config; /* opaque */

/* Reads and checks the file. All mistakes are added to problems; if there are any, returns NULL
 * with the first one in err. */
struct web_config *web_config_open(const char *path, struct problems *problems,
				   struct etw_error *err);
/* Call it after web_config_stop() and after the last scrape. NULL is fine. */
void web_config_close(struct web_config *config);

/* ---- for the web server ---- */

/* Adds the families about authentication, TLS and the file, and starts the thread that checks the
 * files once a second. */
bool web_config_start(struct web_config *config, struct registry *registry, struct etw_error *err);
/* Ends that thread, and the waits of requests in web_config_refuse(). */
void web_config_stop(struct web_config *config);

/* Returns the TLS server for tls_accept(). It stays the same until web_config_close(), even if
 * files are read again. Returns NULL if connections are not encrypted. */
struct tls_server *web_config_tls(struct web_config *config);

/* Returns whether the user of a request can be checked at once. If not, web_config_refuse() may
 * wait, and refuses most such requests. */
bool web_config_knows(struct web_config *config, const char *authorization);

/*
 * Checks rate limit and user of a request. Returns 0 if the request is allowed. Otherwise returns
 * the status of the answer, 401, 429 or 503, and sets *headers to the headers of that answer, lines
 * with CRLF or "". authorization: the value of the header, or NULL; client: the address as text,
 * for the log. Any thread may call it; it may take seconds.
 */
int web_config_refuse(struct web_config *config, const char *authorization, const char *client,
		      const struct client_address *address, const char **headers);

/* Adds the lines of the configured headers for an answer. Any thread may call it. */
void web_config_add_headers(struct web_config *config, struct etw_text *out);

/* Reads the files again if one has changed since they were read. Returns whether their present
 * contents are in force. Any thread may call it. */
bool web_config_refresh(struct web_config *config);

#endif
