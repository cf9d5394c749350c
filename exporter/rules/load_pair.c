/* SPDX-License-Identifier: MIT */
/*
 * pair: { start: EVENT, stop: EVENT, key: [FIELD, …], timeout: 30s }
 */
#include "rules/load.h"

enum { TIMEOUT_DEFAULT_MS = 30000, TIMEOUT_LEAST_MS = 1, TIMEOUT_MOST_MS = 24 * 3600 * 1000 };

bool load_event_pattern(struct loader *loader, const struct yaml_node *node,
			struct event_pattern *pattern)
{
	struct error why;

	if (!yaml_is_text(loader->tree, node, "event", loader->err)) {
		return false;
	}
	return event_pattern_parse(node->text, node->size, pattern, &why) ||
	       yaml_error(loader->tree, node, loader->err, "%s", why.text);
}

static bool load_end(struct loader *loader, const struct yaml_node *node, struct pair_end *end,
		     const struct yaml_node *key, size_t key_count)
{
	const struct yaml_node *field = key->first;

	end->event_at = node;
	end->keys = yaml_alloc(loader->tree, key_count, sizeof *end->keys, loader->err);
	if (!end->keys || !load_event_pattern(loader, node, &end->event)) {
		return false;
	}
	for (size_t i = 0; i < key_count; i++, field = field->next) {
		if (!load_field(loader, field, "key", &end->keys[i])) {
			return false;
		}
	}
	return end->event.scope != EVENTS_ALL ||
	       yaml_error(loader->tree, node, loader->err, "pair: '*' is no event of its own");
}

bool load_pair(struct loader *loader, const struct yaml_node *node, const struct pair **loaded)
{
	static const char *const keys[] = { "start", "stop", "key", "timeout", NULL };
	const struct yaml_node *start, *stop, *key, *timeout;
	struct pair *pair = yaml_alloc(loader->tree, 1, sizeof *pair, loader->err);

	if (!pair || !yaml_is_map(loader->tree, node, "pair", loader->err) ||
	    !yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	start = yaml_find(node, "start");
	stop = yaml_find(node, "stop");
	key = yaml_find(node, "key");
	timeout = yaml_find(node, "timeout");
	if (!start || !stop || !key) {
		return yaml_error(loader->tree, node, loader->err, "pair: '%s' is missing",
				  !start ? "start" :
				  !stop  ? "stop" :
					   "key");
	}
	if (!yaml_is_list(loader->tree, key, "key", loader->err)) {
		return false;
	}
	if (key->size == 0 || key->size > PAIR_KEYS_MAX) {
		return yaml_error(loader->tree, key, loader->err, "key: from 1 to %d fields",
				  PAIR_KEYS_MAX);
	}
	pair->at = node;
	pair->key_count = key->size;
	pair->timeout_ms = TIMEOUT_DEFAULT_MS;
	*loaded = pair;
	return load_end(loader, start, &pair->start, key, key->size) &&
	       load_end(loader, stop, &pair->stop, key, key->size) &&
	       (!timeout || yaml_duration(loader->tree, timeout, "timeout", TIMEOUT_LEAST_MS,
					  TIMEOUT_MOST_MS, &pair->timeout_ms, loader->err));
}
