/* SPDX-License-Identifier: MIT */
/*
 * pair: { start: EVENT, stop: EVENT, key: [FIELD, …], timeout: 30s, carry: { NAME: LABEL, … },
 *         carried_by: EVENT }
 */
#include <string.h>

#include "rules/load.h"
#include "rules/pairs.h"

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

static bool load_carry(struct loader *loader, const struct yaml_node *node,
		       const struct yaml_node *by, struct pair *pair)
{
	struct rule carrier = { .collector = loader->collector };

	if (!yaml_is_map(loader->tree, node, "carry", loader->err) ||
	    !load_labels(loader, node, &carrier)) {
		return false;
	}
	if (carrier.label_count == 0 || carrier.label_count > PAIR_CARRIED_MAX) {
		return yaml_error(loader->tree, node, loader->err, "carry: from 1 to %d labels",
				  PAIR_CARRIED_MAX);
	}
	pair->carry_at = node;
	pair->carry_count = carrier.label_count;
	pair->carry = yaml_alloc(loader->tree, pair->carry_count, sizeof *pair->carry, loader->err);
	if (!pair->carry) {
		return false;
	}
	memcpy(pair->carry, carrier.labels, pair->carry_count * sizeof *pair->carry);
	return !by || load_end(loader, by, &pair->middle, pair->key_at, pair->key_count);
}

size_t pair_find_carried(const struct pair *pair, const char *field)
{
	const size_t prefix_size = strlen(PAIR_PREFIX);
	size_t i = 0;

	if (strncmp(field, PAIR_PREFIX, prefix_size) != 0) {
		return pair->carry_count;
	}
	while (i < pair->carry_count && strcmp(pair->carry[i].name, field + prefix_size) != 0) {
		i++;
	}
	return i;
}

bool load_pair(struct loader *loader, const struct yaml_node *node, const struct pair **loaded)
{
	static const char *const keys[] = { "start", "stop",       "key", "timeout",
					    "carry", "carried_by", NULL };
	const struct yaml_node *start, *stop, *key, *timeout, *carry, *carried_by;
	struct pair *pair = yaml_alloc(loader->tree, 1, sizeof *pair, loader->err);

	if (!pair || !yaml_is_map(loader->tree, node, "pair", loader->err) ||
	    !yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	start = yaml_find(node, "start");
	stop = yaml_find(node, "stop");
	key = yaml_find(node, "key");
	timeout = yaml_find(node, "timeout");
	carry = yaml_find(node, "carry");
	carried_by = yaml_find(node, "carried_by");
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
	if (carried_by && !carry) {
		return yaml_error(loader->tree, carried_by->key, loader->err,
				  "pair: 'carried_by' is for 'carry'");
	}
	pair->at = node;
	pair->key_at = key;
	pair->key_count = key->size;
	pair->timeout_ms = TIMEOUT_DEFAULT_MS;
	*loaded = pair;
	return load_end(loader, start, &pair->start, key, key->size) &&
	       load_end(loader, stop, &pair->stop, key, key->size) &&
	       (!carry || load_carry(loader, carry, carried_by, pair)) &&
	       (!timeout || yaml_duration(loader->tree, timeout, "timeout", TIMEOUT_LEAST_MS,
					  TIMEOUT_MOST_MS, &pair->timeout_ms, loader->err));
}
