/* SPDX-License-Identifier: MIT */
/*
 * Reads `sessions:`: live sessions by name, each with its buffers and providers. What Windows would
 * refuse, or quietly do otherwise, is refused here, where line and column are known.
 *
 * Source: "EVENT_TRACE_PROPERTIES structure", "StartTraceW function", Microsoft Learn.
 */
#include "config/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/session_payload.h"

enum {
	NAME_MOST = 1024, /* characters of a session's name, its end included */
	BUFFERS_MOST = 65536,
	FLUSH_LEAST_MS = 1000, /* FlushTimer is in seconds */
	FLUSH_MOST_MS = 3600000,
	CAPTURE_LEAST_MS = 1000,
	CAPTURE_MOST_MS = 86400000,
};

#define BUFFER_LEAST    (UINT64_C(16) << 10)
#define BUFFER_MOST     (UINT64_C(1) << 20)
#define BUFFER_DEFAULT  (UINT64_C(256) << 10)
#define NT_KERNEL_NAME  "NT Kernel Logger"
#define DEFAULT_SESSION "etw_exporter"

static bool no_memory(struct error *err)
{
	return error_set(err, ERROR_NO_MEMORY, "no memory for the configuration of sessions");
}

static void init_session(struct config_session *session)
{
	*session = (struct config_session){
		.buffer_size_bytes = BUFFER_DEFAULT,
		.flush_ms = FLUSH_LEAST_MS,
		.rundown = true,
	};
}

static void free_list(struct config_session *sessions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sessions[i].provider_count; j++) {
			provider_spec_done(&sessions[i].providers[j]);
		}
		free(sessions[i].providers);
		free(sessions[i].name);
	}
	free(sessions);
}

void sessions_free(struct config *config)
{
	free_list(config->sessions, config->session_count);
	config->sessions = NULL;
	config->session_count = 0;
}

bool sessions_default(struct config *config, struct error *err)
{
	struct config_session *session = calloc(1, sizeof *session);

	if (!session) {
		return no_memory(err);
	}
	init_session(session);
	session->name = text_duplicate(DEFAULT_SESSION, strlen(DEFAULT_SESSION));
	if (!session->name) {
		free(session);
		return no_memory(err);
	}
	config->sessions = session;
	config->session_count = 1;
	return true;
}

/* ---- one provider ---- */

static bool read_properties(const struct yaml_tree *tree, const struct yaml_node *node,
			    struct provider_spec *spec, struct error *err)
{
	static const char *const words[] = { "sid",          "session_id",
					     "stack",        "process_start_key",
					     "no_keyword_0", NULL };

	if (!yaml_is_list(tree, node, "properties", err)) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		unsigned word;

		if (!yaml_word(tree, entry, "property", words, &word, err)) {
			return false;
		}
		spec->properties |= 1U << word;
	}
	return true;
}

/* { include: [1, 2] } or { exclude: [3] } */
static bool read_ids(const struct yaml_tree *tree, const struct yaml_node *node,
		     struct provider_spec *spec, struct error *err)
{
	static const char *const keys[] = { "include", "exclude", NULL };

	if (!yaml_is_map(tree, node, "ids", err) || !yaml_keys_are(tree, node, keys, err)) {
		return false;
	}
	if (node->size != 1) {
		return yaml_error(tree, node, err, "ids: expected either include or exclude");
	}
	node = node->first;
	spec->ids_out = strcmp(node->key->text, "exclude") == 0;
	if (!yaml_is_list(tree, node, node->key->text, err)) {
		return false;
	}
	if (node->size == 0 || node->size > PROVIDER_IDS_MAX) {
		return yaml_error(tree, node, err, "%s: expected 1 to %d event ids",
				  node->key->text, PROVIDER_IDS_MAX);
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		uint64_t id;

		if (!yaml_number(tree, entry, "event id", 0, UINT16_MAX, &id, err)) {
			return false;
		}
		spec->ids[spec->id_count++] = (uint16_t)id;
	}
	return true;
}

static bool read_process_ids(const struct yaml_tree *tree, const struct yaml_node *node,
			     struct provider_spec *spec, struct error *err)
{
	if (!yaml_is_list(tree, node, "process_ids", err)) {
		return false;
	}
	if (node->size > PROVIDER_PROCESSES_MAX) {
		return yaml_error(tree, node, err, "process_ids: Windows takes at most %d",
				  PROVIDER_PROCESSES_MAX);
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		uint64_t id;

		if (!yaml_number(tree, entry, "process id", 0, UINT32_MAX, &id, err)) {
			return false;
		}
		spec->process_ids[spec->process_id_count++] = (uint32_t)id;
	}
	return true;
}

static bool read_executables(const struct yaml_tree *tree, const struct yaml_node *node,
			     struct provider_spec *spec, struct error *err)
{
	struct text names = { 0 };

	if (!yaml_is_list(tree, node, "executables", err)) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!yaml_is_text(tree, entry, "executables", err)) {
			text_free(&names);
			return false;
		}
		if (entry->size == 0 || strchr(entry->text, ';')) {
			text_free(&names);
			return yaml_error(tree, entry, err, "'%s' is not the name of an executable",
					  entry->text);
		}
		text_add_string(&names, names.size > 0 ? ";" : "");
		text_add_string(&names, entry->text);
	}
	if (names.failed) {
		text_free(&names);
		return no_memory(err);
	}
	spec->executables = names.data;
	return true;
}

static bool read_keyword(const struct yaml_tree *tree, const struct yaml_node *map, const char *key,
			 uint64_t *to, struct error *err)
{
	const struct yaml_node *node = yaml_find(map, key);

	return !node || yaml_number(tree, node, key, 0, UINT64_MAX, to, err);
}

static bool read_capture_state(const struct yaml_tree *tree, const struct yaml_node *node,
			       struct provider_spec *spec, struct error *err)
{
	static const char *const keys[] = { "at_start", "at_stop", "every", NULL };
	const struct yaml_node *every;

	if (!yaml_is_map(tree, node, "capture_state", err) ||
	    !yaml_keys_are(tree, node, keys, err) ||
	    !read_keyword(tree, node, "at_start", &spec->capture_at_start, err) ||
	    !read_keyword(tree, node, "at_stop", &spec->capture_at_stop, err)) {
		return false;
	}
	every = yaml_find(node, "every");
	if (!every) {
		return true;
	}
	if (spec->capture_at_start == 0) {
		return yaml_error(tree, every, err, "every: repeats at_start, which is missing");
	}
	return yaml_duration(tree, every, "every", CAPTURE_LEAST_MS, CAPTURE_MOST_MS,
			     &spec->capture_every_ms, err);
}

static bool read_long_form(const struct yaml_tree *tree, const struct yaml_node *node,
			   struct provider_spec *spec, struct error *err)
{
	static const char *const keys[] = { "provider",      "level",      "any",
					    "all",           "ids",        "process_ids",
					    "executables",   "properties", "payload",
					    "capture_state", NULL };
	static const struct {
		const char *key;
		bool (*read)(const struct yaml_tree *tree, const struct yaml_node *node,
			     struct provider_spec *spec, struct error *err);
	} parts[] = { { "ids", read_ids },
		      { "process_ids", read_process_ids },
		      { "executables", read_executables },
		      { "properties", read_properties },
		      { "payload", session_payload_read },
		      { "capture_state", read_capture_state } };
	const struct yaml_node *name, *level;
	uint64_t number = PROVIDER_LEVEL_DEFAULT;

	if (!yaml_keys_are(tree, node, keys, err)) {
		return false;
	}
	name = yaml_find(node, "provider");
	if (!name) {
		return yaml_error(tree, node, err, "providers: 'provider' is missing");
	}
	if (!yaml_is_text(tree, name, "provider", err)) {
		return false;
	}
	if (!provider_spec_name(spec, name->text, name->size, err)) {
		return yaml_error(tree, name, err, "'%s' names no provider", name->text);
	}
	level = yaml_find(node, "level");
	if ((level && !yaml_number(tree, level, "level", 0, UINT8_MAX, &number, err)) ||
	    !read_keyword(tree, node, "any", &spec->any, err) ||
	    !read_keyword(tree, node, "all", &spec->all, err)) {
		return false;
	}
	spec->level = (uint8_t)number;
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		const struct yaml_node *part = yaml_find(node, parts[i].key);

		if (part && !parts[i].read(tree, part, spec, err)) {
			return false;
		}
	}
	return true;
}

static bool read_provider(const struct yaml_tree *tree, const struct yaml_node *node,
			  struct provider_spec *spec, struct error *err)
{
	struct error why;

	provider_spec_init(spec);
	if (node->type == YAML_MAP) {
		return read_long_form(tree, node, spec, err);
	}
	if (!yaml_is_text(tree, node, "providers", err)) {
		return false;
	}
	return provider_spec_parse(spec, node->text, &why) ||
	       yaml_error(tree, node, err, "providers: %s", why.text);
}

/* ---- one session ---- */

static bool same_provider(const struct provider_spec *a, const struct provider_spec *b)
{
	if (a->name && b->name) {
		return text_equal_nocase(a->name, strlen(a->name), b->name, strlen(b->name));
	}
	return !a->name && !b->name && guid_equal(&a->guid, &b->guid);
}

static bool read_providers(const struct yaml_tree *tree, const struct yaml_node *node,
			   struct config_session *session, struct error *err)
{
	if (!yaml_is_list(tree, node, "providers", err)) {
		return false;
	}
	session->providers = calloc(node->size + 1, sizeof *session->providers);
	if (!session->providers) {
		return no_memory(err);
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		struct provider_spec *provider = &session->providers[session->provider_count++];

		if (!read_provider(tree, entry, provider, err)) {
			return false;
		}
		for (const struct provider_spec *other = session->providers; other < provider;
		     other++) {
			if (same_provider(other, provider)) {
				return yaml_error(tree, entry, err,
						  "providers: one provider stands here twice; "
						  "Windows would keep the last only");
			}
		}
	}
	return true;
}

static bool read_buffers(const struct yaml_tree *tree, const struct yaml_node *node,
			 struct config_session *session, struct error *err)
{
	static const char *const keys[] = { "size", "min", "max", NULL };
	const struct yaml_node *size, *min, *max;
	uint64_t least = 0, most = 0;

	if (!yaml_is_map(tree, node, "buffers", err) || !yaml_keys_are(tree, node, keys, err)) {
		return false;
	}
	size = yaml_find(node, "size");
	min = yaml_find(node, "min");
	max = yaml_find(node, "max");
	if ((size && !yaml_size(tree, size, "size", BUFFER_LEAST, BUFFER_MOST,
				&session->buffer_size_bytes, err)) ||
	    (min && !yaml_number(tree, min, "min", 2, BUFFERS_MOST, &least, err)) ||
	    (max && !yaml_number(tree, max, "max", 2, BUFFERS_MOST, &most, err))) {
		return false;
	}
	if (size && session->buffer_size_bytes % 1024 != 0) {
		return yaml_error(tree, size, err, "size: %s is no multiple of 1KiB", size->text);
	}
	if (min && max && least > most) {
		return yaml_error(tree, min, err, "min: %s is more than max, %s", min->text,
				  max->text);
	}
	session->buffers_min = (uint32_t)least;
	session->buffers_max = (uint32_t)most;
	return true;
}

/* The words of `logger` and `on_conflict`, and what they allow. */
static bool read_class(const struct yaml_tree *tree, const struct yaml_node *node,
		       struct config_session *session, struct error *err)
{
	static const char *const loggers[] = {
		"auto", "private", "system_providers", "nt_kernel_logger", "user", NULL
	};
	static const char *const conflicts[] = { "wait", "takeover", NULL };
	const struct yaml_node *logger = yaml_find(node, "logger");
	const struct yaml_node *conflict = yaml_find(node, "on_conflict");
	bool named_nt = text_equal_nocase(node->key->text, node->key->size, NT_KERNEL_NAME,
					  strlen(NT_KERNEL_NAME));
	unsigned word = LOGGER_AUTO;

	if (logger && !yaml_word(tree, logger, "logger", loggers, &word, err)) {
		return false;
	}
	session->logger = (enum config_logger)word;
	if ((session->logger == LOGGER_NT_KERNEL) != named_nt) {
		return yaml_error(tree, logger ? logger : node->key, err,
				  "a session is called '%s' just when its logger is "
				  "nt_kernel_logger",
				  NT_KERNEL_NAME);
	}
	word = 0;
	if (conflict && !yaml_word(tree, conflict, "on_conflict", conflicts, &word, err)) {
		return false;
	}
	if (conflict && session->logger != LOGGER_NT_KERNEL) {
		return yaml_error(
			tree, conflict, err,
			"on_conflict: only for the nt_kernel_logger, which other programs "
			"may own");
	}
	session->takeover = word == 1;
	return true;
}

static bool check_name(const struct yaml_tree *tree, const struct yaml_node *key, struct error *err)
{
	size_t characters = 0;

	for (size_t i = 0; i < key->size; i++) {
		/* UTF-16 units: none for a continuation, two beyond the basic plane. */
		unsigned char byte = (unsigned char)key->text[i];

		characters += byte >= 0xf0 ? 2 : (byte & 0xc0) != 0x80;
	}
	if (characters == 0) {
		return yaml_error(tree, key, err, "sessions: a session needs a name");
	}
	if (characters >= NAME_MOST) {
		return yaml_error(
			tree, key, err,
			"sessions: the name of a session has %zu characters, more than %d",
			characters, NAME_MOST - 1);
	}
	return true;
}

static bool read_session(const struct yaml_tree *tree, const struct yaml_node *node,
			 struct config_session *session, struct error *err)
{
	static const char *const keys[] = { "logger",  "on_conflict", "buffers", "flush",
					    "rundown", "providers",   NULL };
	const struct yaml_node *buffers, *flush, *rundown, *providers;

	init_session(session);
	session->line = node->key->line;
	session->column = node->key->column;
	if (!check_name(tree, node->key, err) || !yaml_is_map(tree, node, node->key->text, err) ||
	    !yaml_keys_are(tree, node, keys, err) || !read_class(tree, node, session, err)) {
		return false;
	}
	session->name = text_duplicate(node->key->text, node->key->size);
	if (!session->name) {
		return no_memory(err);
	}
	buffers = yaml_find(node, "buffers");
	flush = yaml_find(node, "flush");
	rundown = yaml_find(node, "rundown");
	providers = yaml_find(node, "providers");
	if ((buffers && !read_buffers(tree, buffers, session, err)) ||
	    (flush && !yaml_duration(tree, flush, "flush", FLUSH_LEAST_MS, FLUSH_MOST_MS,
				     &session->flush_ms, err)) ||
	    (rundown && !yaml_switch(tree, rundown, "rundown", &session->rundown, err)) ||
	    (providers && !read_providers(tree, providers, session, err))) {
		return false;
	}
	if (session->flush_ms % 1000 != 0) {
		return yaml_error(tree, flush, err, "flush: %s is not in whole seconds",
				  flush->text);
	}
	if (session->logger == LOGGER_USER && session->provider_count == 0) {
		return yaml_error(tree, node->key, err,
				  "session '%s' has no provider: it would never see an event",
				  session->name);
	}
	if (session->logger == LOGGER_NT_KERNEL && session->provider_count > 0) {
		return yaml_error(tree, providers, err,
				  "providers: the NT Kernel Logger takes kernel events only; give "
				  "providers a session of their own");
	}
	return true;
}

/* ---- all of them ---- */

/* Windows tells names apart without case. */
static bool check_duplicate(const struct yaml_tree *tree, const struct yaml_node *node,
			    const struct config_session *sessions, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (text_equal_nocase(node->key->text, node->key->size, sessions[i].name,
				      strlen(sessions[i].name))) {
			return yaml_error(tree, node->key, err,
					  "session '%s' stands in line %u already", node->key->text,
					  sessions[i].line);
		}
	}
	return true;
}

static bool check_default_name(const struct yaml_tree *tree, const struct yaml_node *map,
			       const char *name, struct error *err)
{
	for (const struct yaml_node *entry = map->first; entry; entry = entry->next) {
		if (text_equal_nocase(entry->key->text, entry->key->size, name, strlen(name))) {
			return yaml_error(
				tree, entry->key, err,
				"'%s' is the session of the kernel events; a user session "
				"needs another name",
				name);
		}
	}
	return true;
}

/* Finds the session with kernel events; *kernel is count when there is none. */
static bool find_kernel_session(const struct yaml_tree *tree, const struct yaml_node *map,
				const struct config_session *sessions, size_t count, size_t *kernel,
				struct error *err)
{
	const struct yaml_node *node = map->first;

	*kernel = count;
	for (size_t i = 0; i < count; i++, node = node->next) {
		if (sessions[i].logger == LOGGER_USER) {
			continue;
		}
		if (*kernel < count) {
			return yaml_error(
				tree, node->key, err,
				"session '%s' would count kernel events again, which '%s' "
				"counts; only one session may have them, others are "
				"`logger: user`",
				sessions[i].name, sessions[*kernel].name);
		}
		*kernel = i;
	}
	return true;
}

bool sessions_read(const struct yaml_tree *tree, const struct yaml_node *node,
		   struct config *config, struct error *err)
{
	struct config_session *sessions;
	size_t count = 0, kernel;

	if (!yaml_is_map(tree, node, "sessions", err)) {
		return false;
	}
	if (node->size == 0) {
		return true; /* as if it were absent */
	}
	sessions = calloc(node->size + 1, sizeof *sessions);
	if (!sessions) {
		return no_memory(err);
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!check_duplicate(tree, entry, sessions, count, err) ||
		    !read_session(tree, entry, &sessions[count++], err)) {
			goto fail;
		}
	}
	if (!find_kernel_session(tree, node, sessions, count, &kernel, err)) {
		goto fail;
	}
	if (kernel == count) { /* only user sessions: the default one has the kernel events */
		if (!check_default_name(tree, node, config->sessions[0].name, err)) {
			goto fail;
		}
		sessions[count++] = config->sessions[0];
		free(config->sessions);
		config->sessions = NULL;
	} else {
		sessions_free(config);
	}
	if (kernel > 0) {
		struct config_session first = sessions[kernel];

		memmove(&sessions[1], &sessions[0], kernel * sizeof *sessions);
		sessions[0] = first;
	}
	config->sessions = sessions;
	config->session_count = count;
	return true;

fail:
	free_list(sessions, count);
	return false;
}
