/* SPDX-License-Identifier: MIT */
/*
 * Reads values from the nodes of a YAML tree: words, numbers, sizes, switches. Each refusal names
 * the place.
 */
#include <string.h>

#include "base/text.h"
#include "config/nearest.h"
#include "config/yaml.h"

static const char *class_name_of(const struct yaml_node *node)
{
	switch (node->type) {
	case YAML_LIST:
		return "a list";
	case YAML_MAP:
		return "a map";
	case YAML_TEXT:
		break;
	}
	return node->size == 0 && !node->quoted ? "nothing" : "text";
}

static bool is_class(const struct yaml_tree *tree, const struct yaml_node *node,
		     enum yaml_type type, const char *class_text, const char *what,
		     struct error *err)
{
	if (node->type == type) {
		return true;
	}
	return yaml_error(tree, node, err, "%s: expected %s, found %s", what, class_text,
			  class_name_of(node));
}

bool yaml_is_map(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		 struct error *err)
{
	return is_class(tree, node, YAML_MAP, "a map", what, err);
}

bool yaml_is_list(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		  struct error *err)
{
	return is_class(tree, node, YAML_LIST, "a list", what, err);
}

bool yaml_is_text(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		  struct error *err)
{
	if (node->type == YAML_TEXT && node->size == 0 && !node->quoted) {
		return yaml_error(tree, node, err, "%s: expected text, found nothing", what);
	}
	return is_class(tree, node, YAML_TEXT, "text", what, err);
}

const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key)
{
	for (const struct yaml_node *entry = map->first; entry; entry = entry->next) {
		if (entry->key && strcmp(entry->key->text, key) == 0) {
			return entry;
		}
	}
	return NULL;
}

bool yaml_equal(const struct yaml_node *a, const struct yaml_node *b)
{
	const struct yaml_node *x, *y;

	if (!a || !b) {
		return a == b;
	}
	if (a->type != b->type || a->size != b->size) {
		return false;
	}
	if (a->type == YAML_TEXT) {
		return memcmp(a->text, b->text, a->size) == 0;
	}
	for (x = a->first, y = b->first; x && y; x = x->next, y = y->next) {
		if (!yaml_equal(x->key, y->key) || !yaml_equal(x, y)) {
			return false;
		}
	}
	return x == y;
}

static bool unknown_word(const struct yaml_tree *tree, const struct yaml_node *node,
			 const char *what, const char *const *words, struct error *err)
{
	struct nearest nearest = { .word = node->text, .size = node->size };
	char known[256];
	size_t filled = 0;

	for (const char *const *word = words; *word; word++) {
		nearest_offer(&nearest, *word);
	}
	if (nearest.best) {
		return yaml_error(tree, node, err, "unknown %s '%s'; did you mean '%s'?", what,
				  node->text, nearest.best);
	}
	for (const char *const *word = words; *word && filled + strlen(*word) + 3 < sizeof known;
	     word++) {
		size_t size = strlen(*word);

		if (filled > 0) {
			memcpy(known + filled, ", ", 2);
			filled += 2;
		}
		memcpy(known + filled, *word, size);
		filled += size;
	}
	known[filled] = '\0';
	return yaml_error(tree, node, err, "unknown %s '%s'; known: %s", what, node->text, known);
}

bool yaml_keys_are(const struct yaml_tree *tree, const struct yaml_node *map,
		   const char *const *words, struct error *err)
{
	for (const struct yaml_node *entry = map->first; entry; entry = entry->next) {
		const char *const *word = words;

		while (*word && strcmp(*word, entry->key->text) != 0) {
			word++;
		}
		if (!*word) {
			return unknown_word(tree, entry->key, "key", words, err);
		}
	}
	return true;
}

bool yaml_word(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
	       const char *const *words, unsigned *index, struct error *err)
{
	if (!yaml_is_text(tree, node, what, err)) {
		return false;
	}
	for (unsigned i = 0; words[i]; i++) {
		if (strcmp(words[i], node->text) == 0) {
			*index = i;
			return true;
		}
	}
	return unknown_word(tree, node, what, words, err);
}

static bool check_range(const struct yaml_tree *tree, const struct yaml_node *node,
			const char *what, uint64_t least, uint64_t most, uint64_t value,
			struct error *err)
{
	if (value < least || value > most) {
		return yaml_error(tree, node, err, "%s: %s is not from %llu to %llu", what,
				  node->text, (unsigned long long)least, (unsigned long long)most);
	}
	return true;
}

bool yaml_number(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		 uint64_t least, uint64_t most, uint64_t *value, struct error *err)
{
	uint64_t number;

	if (!yaml_is_text(tree, node, what, err)) {
		return false;
	}
	if (!parse_u64(node->text, node->size, &number)) {
		return yaml_error(tree, node, err, "%s: '%s' is not a number", what, node->text);
	}
	if (!check_range(tree, node, what, least, most, number, err)) {
		return false;
	}
	*value = number;
	return true;
}

bool yaml_size(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
	       uint64_t least, uint64_t most, uint64_t *value, struct error *err)
{
	static const struct {
		const char *suffix;
		unsigned shift;
	} units[] = { { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 }, { "", 0 } };
	unsigned i = 0;
	size_t digits;
	uint64_t number;

	if (!yaml_is_text(tree, node, what, err)) {
		return false;
	}
	for (;; i++) {
		size_t suffix = strlen(units[i].suffix);

		if (node->size >= suffix &&
		    strcmp(node->text + node->size - suffix, units[i].suffix) == 0) {
			digits = node->size - suffix;
			break;
		}
	}
	while (digits > 0 && node->text[digits - 1] == ' ') {
		digits--;
	}
	if (!parse_u64(node->text, digits, &number)) {
		return yaml_error(tree, node, err, "%s: '%s' is not a size such as 64MiB", what,
				  node->text);
	}
	number = number > UINT64_MAX >> units[i].shift ? UINT64_MAX : number << units[i].shift;
	if (!check_range(tree, node, what, least, most, number, err)) {
		return false;
	}
	*value = number;
	return true;
}

bool yaml_duration(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		   uint64_t least_ms, uint64_t most_ms, uint64_t *ms, struct error *err)
{
	uint64_t number;

	if (!yaml_is_text(tree, node, what, err)) {
		return false;
	}
	if (!parse_duration(node->text, node->size, &number)) {
		return yaml_error(tree, node, err, "%s: '%s' is not a duration such as 1s", what,
				  node->text);
	}
	if (number < least_ms || number > most_ms) {
		return yaml_error(tree, node, err, "%s: %s is not from %llums to %llums", what,
				  node->text, (unsigned long long)least_ms,
				  (unsigned long long)most_ms);
	}
	*ms = number;
	return true;
}

bool yaml_switch(const struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		 bool *value, struct error *err)
{
	static const char *const words[] = { "off", "on", "false", "true", NULL };

	if (!yaml_is_text(tree, node, what, err)) {
		return false;
	}
	for (unsigned i = 0; words[i] && !node->quoted; i++) {
		if (strcmp(words[i], node->text) == 0) {
			*value = i % 2 == 1;
			return true;
		}
	}
	return yaml_error(tree, node, err, "%s: expected on or off, found '%s'", what, node->text);
}

bool yaml_texts(struct yaml_tree *tree, const struct yaml_node *node, const char *what,
		const char *const **texts, size_t *count, struct error *err)
{
	const char **list;
	size_t filled = 0;

	if (!yaml_is_list(tree, node, what, err)) {
		return false;
	}
	list = yaml_alloc(tree, node->size, sizeof *list, err);
	if (!list) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!yaml_is_text(tree, entry, what, err)) {
			return false;
		}
		list[filled++] = entry->text;
	}
	*texts = list;
	*count = filled;
	return true;
}
