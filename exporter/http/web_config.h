/* SPDX-License-Identifier: MIT */
/*
 * The web configuration of a running server: TLS, users, headers and the rate limit, from the file
 * of --web.config.file (exporter/http/web_settings.h). The file and those that it names are read
 * again when they change; a mistake in them changes nothing and is logged.
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

/* Reads and checks the file. All mistakes are added to problems; NULL, with the first one in err,
 * if there are any. */
struct web_config *web_config_open(const char *path, struct problems *problems,
				   struct etw_error *err);
/* After web_config_stop(), and after the last scrape. NULL is fine. */
void web_config_close(struct web_config *config);

/* ---- of the web server ---- */

/* Adds the families about authentication, TLS and the file, and starts to watch the files, once a
 * second. */
bool web_config_start(struct web_config *config, struct registry *registry, struct etw_error *err);
/* Ends the watch, and the waiting of requests in web_config_refuse(). */
void web_config_stop(struct web_config *config);

/* For tls_accept(); the same as long as the configuration is open, also after files were read
 * again. NULL: connections are not encrypted. */
struct tls_server *web_config_tls(struct web_config *config);

/*
 * Checks rate and user of a request. Returns 0 if it may go on, else the status of its answer, 401,
 * 429 or 503, and the headers of that answer, lines with CRLF or "". authorization: the value of
 * the header, or NULL; client: the address as text, for the log. Any thread; may take seconds.
 */
int web_config_refuse(struct web_config *config, const char *authorization, const char *client,
		      const struct client_address *address, const char **headers);

/* Adds the lines of the configured headers for an answer. Any thread. */
void web_config_add_headers(struct web_config *config, struct etw_text *out);

/* Reads the files again if one has changed since they were read. Returns whether what they contain
 * now is in force. Any thread. */
bool web_config_refresh(struct web_config *config);

#endif
