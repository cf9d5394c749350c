/* SPDX-License-Identifier: MIT */
/*
 * Reads a web configuration: the file of --web.config.file, in the format of Prometheus' exporter
 * toolkit, and the files that it names.
 */
#ifndef EXPORTER_HTTP_WEB_SETTINGS_H
#define EXPORTER_HTTP_WEB_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/os.h"
#include "config/problems.h"
#include "exporter/http/auth.h"
#include "exporter/http/tls.h"

struct yaml_node;
struct yaml_tree;

enum { WEB_HEADER_CONTENT_TYPE_OPTIONS = 2, WEB_HEADERS = 5, WEB_USERS_MOST = 1000 };

/* The texts in PEM. Each comes from a file or from the configuration itself. */
enum web_pem { WEB_CERT, WEB_KEY, WEB_CLIENT_CA, WEB_PEMS };

struct web_pem_source {
	const char *text;           /* inline; NULL: none */
	const char *file;           /* path as the configuration has it; NULL: none */
	const struct yaml_node *at; /* node of text or file, for errors */
	char *path;                 /* owned; NULL: no file */
	struct os_file_stamp stamp; /* of the file before it was read */
	char *bytes;                /* owned; the contents of the file or the text */
	size_t size;
	char *name; /* owned; for errors */
};

/* Does not change once it is made. Texts belong to the tree unless they are marked as owned. */
struct web_settings {
	struct yaml_tree *tree;     /* owned */
	bool broken;                /* it has errors; only the paths of its files may be used */
	struct os_file_stamp stamp; /* of the file before it was read */

	struct web_pem_source pems[WEB_PEMS];
	bool has_tls;
	struct tls_options tls; /* its pointers borrow from the settings */
	unsigned *suites, *curves;
	const char **allowed_sans;

	bool http2;                       /* always false: true is refused */
	const char *headers[WEB_HEADERS]; /* the values of web_header_name(); NULL or "": none */
	struct auth_user *users;
	size_t user_count;
	uint64_t rate_interval_ns; /* 0: no limit */
	uint64_t rate_burst;
};

/*
 * Reads and checks the file. If there are mistakes, all are added to problems (NULL: they are
 * dropped), err has the first one, and the settings are marked as broken. Returns NULL if the file
 * cannot be read or is not YAML, or without memory.
 */
struct web_settings *web_settings_read(const char *path, struct problems *problems,
				       struct etw_error *err);
void web_settings_free(struct web_settings *settings); /* NULL is fine */

/* Overwrites and frees the bytes of the files; `tls` must not be used afterwards. */
void web_settings_forget_files(struct web_settings *settings);

/* Returns the name of a header that can be configured, by its index. */
const char *web_header_name(size_t index);

#endif
