/* SPDX-License-Identifier: MIT */
#include "exporter/http/web_paths.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define LETTERS_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* The characters that a path of a URL may have. Percent codes are left out, because paths are
 * compared as they arrive. */
static const char path_characters[] = LETTERS_DIGITS "/-._~!$&'()*+,;=:@";
static const char host_characters[] = LETTERS_DIGITS "-._~:[]";

/* Returns whether a text is a slash followed by characters that are allowed. "//host" is refused
 * because a browser takes it for another host, and dots because a browser resolves them before it
 * sends the request. */
static bool is_path(const char *path)
{
	if (path[0] != '/' || strspn(path, path_characters) != strlen(path) || strstr(path, "//")) {
		return false;
	}
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		size_t size = strcspn(at + 1, "/");

		if (at[1] == '.' && (size == 1 || (size == 2 && at[2] == '.'))) {
			return false;
		}
	}
	return true;
}

/* Copies a text as a path that begins with a slash and does not end with one. */
static bool set_path(char to[WEB_PATH_SIZE_MAX], const char *text)
{
	size_t size = strlen(text);
	int written;

	while (size > 0 && text[size - 1] == '/') {
		size--;
	}
	written = snprintf(to, WEB_PATH_SIZE_MAX, "%s%.*s", size > 0 && text[0] != '/' ? "/" : "",
			   (int)(size < WEB_PATH_SIZE_MAX ? size : WEB_PATH_SIZE_MAX), text);
	return written < WEB_PATH_SIZE_MAX && (size == 0 || is_path(to));
}

/* Returns the size in bytes of "https://host:port" at the start of a URL; 0: the text is only a
 * path, or no URL. */
static size_t origin_size(const char *url)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		size_t scheme = strlen(schemes[i]);

		if (text_starts_nocase(url, strlen(url), schemes[i], scheme)) {
			size_t host = strspn(url + scheme, host_characters);

			return host > 0 ? scheme + host : 0;
		}
	}
	return 0;
}

static bool set_external_url(struct web_paths *paths, const char *url, struct etw_error *err)
{
	size_t origin = origin_size(url);

	if (origin >= WEB_PATH_SIZE_MAX ||
	    (origin > 0 && url[origin] != '/' && url[origin] != '\0') ||
	    (origin == 0 && strchr(url, ':')) || !set_path(paths->links, url + origin)) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "--web.external-url: \"%s\" is not a URL such as "
				 "https://proxy.example/etw, nor a path such as /etw",
				 url);
	}
	for (size_t i = 0; i < origin; i++) {
		paths->origin[i] = ascii_lower(url[i]);
	}
	return true;
}

/* Sets the route prefix. As in Prometheus, all slashes at both ends are removed. */
static bool set_route_prefix(struct web_paths *paths, const char *prefix, struct etw_error *err)
{
	return set_path(paths->prefix, prefix + strspn(prefix, "/")) ||
	       error_set(err, ETW_ERROR_CONFIG,
			 "--web.route-prefix: \"%s\" is not the beginning of a path, such as /etw",
			 prefix);
}

static bool set_telemetry_path(struct web_paths *paths, const char *path, struct etw_error *err)
{
	if (strlen(path) >= WEB_PATH_SIZE_MAX) {
		return error_set(err, ETW_ERROR_CONFIG, "a telemetry path of %zu bytes is too long",
				 strlen(path));
	}
	if (!is_path(path)) {
		return error_set(
			err, ETW_ERROR_CONFIG,
			"\"%s\" is not a telemetry path: a slash, then characters that a URL allows",
			path);
	}
	snprintf(paths->telemetry, sizeof paths->telemetry, "%s", path);
	return true;
}

bool web_paths_init(struct web_paths *paths, const char *external_url, const char *route_prefix,
		    const char *telemetry_path, struct etw_error *err)
{
	bool external = external_url && external_url[0] != '\0';
	bool prefix = route_prefix && route_prefix[0] != '\0';

	memset(paths, 0, sizeof *paths);
	if ((external && !set_external_url(paths, external_url, err)) ||
	    !set_route_prefix(paths, prefix ? route_prefix : paths->links, err) ||
	    !set_telemetry_path(paths, telemetry_path, err)) {
		return false;
	}
	if (!external) {
		memcpy(paths->links, paths->prefix, sizeof paths->links);
	}
	return true;
}

const char *web_paths_route(const struct web_paths *paths, const char *path)
{
	size_t size = strlen(paths->prefix);

	if (strncmp(path, paths->prefix, size) != 0 || (path[size] != '/' && path[size] != '\0')) {
		return NULL;
	}
	return path + size;
}
