/* SPDX-License-Identifier: MIT */
/*
 * Computes the addresses of the pages from the same flags as Prometheus. --web.external-url is the
 * address under which clients reach the program, perhaps through a reverse proxy;
 * --web.route-prefix begins every path that arrives here.
 */
#ifndef EXPORTER_HTTP_WEB_PATHS_H
#define EXPORTER_HTTP_WEB_PATHS_H

#include <stdbool.h>

#include "base/error.h"

enum { WEB_PATH_SIZE_MAX = 256 };

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

#endif
