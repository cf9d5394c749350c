/* SPDX-License-Identifier: MIT */
/*
 * Fields, conditions and labels of a rule.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "config/nearest.h"
#include "rules/load.h"

enum { FIELD_NAME_MAX = 256, MAP_ENTRIES_MAX = 4096, STEPS_MAX = 16, BITS_MAX = 64 };

static const char *const comparison_words[] = {
	[COMPARE_EQ] = "eq",          [COMPARE_NE] = "ne",     [COMPARE_LT] = "lt",
	[COMPARE_LE] = "le",          [COMPARE_GT] = "gt",     [COMPARE_GE] = "ge",
	[COMPARE_IN] = "in",          [COMPARE_HAS] = "has",   [COMPARE_LACKS] = "lacks",
	[COMPARE_STARTS] = "starts",  [COMPARE_ENDS] = "ends", [COMPARE_MATCHES] = "matches",
	[COMPARE_MATCHES + 1] = NULL,
};

static const char *const decoder_words[] = {
	[DECODE_HEX] = "hex",
	[DECODE_LOWER] = "lower",
	[DECODE_BASENAME] = "basename",
	[DECODE_DIRECTORY] = "directory",
	[DECODE_EXTENSION] = "extension",
	[DECODE_DRIVE] = "drive",
	[DECODE_NTSTATUS] = "ntstatus",
	[DECODE_WIN32_ERROR] = "win32_error",
	[DECODE_BITS] = "bits",
	[DECODE_IP] = "ip",
	[DECODE_PORT] = "port",
	[DECODE_GUID] = "guid",
	[DECODE_SID] = "sid",
	[DECODE_HRESULT] = "hresult",
	[DECODE_REGEX] = "regex",
	[DECODE_REGEX + 1] = NULL,
};

const char *comparison_name(enum comparison comparison)
{
	return comparison_words[comparison];
}

const char *decoder_name(enum decoder decoder)
{
	return decoder_words[decoder];
}

struct literal literal_of(const char *text, size_t size)
{
	struct literal literal = { .text = text, .size = size };
	int64_t number;

	if (parse_u64(text, size, &literal.number)) {
		literal.integer = true;
	} else if (parse_i64(text, size, &number)) {
		literal.integer = true;
		literal.negative = number < 0;
		literal.number = (uint64_t)number;
	}
	return literal;
}

bool load_is_name(const char *text, bool upper_case)
{
	for (const char *at = text; *at != '\0'; at++) {
		bool lower = *at >= 'a' && *at <= 'z';
		bool upper = upper_case && ((*at >= 'A' && *at <= 'Z') || *at == '_');
		bool inner = at > text && ((*at >= '0' && *at <= '9') || *at == '_');

		if (!lower && !upper && !inner) {
			return false;
		}
	}
	return *text != '\0';
}

bool load_field(struct loader *loader, const struct yaml_node *node, const char *what,
		struct field_ref *field)
{
	if (!yaml_is_text(loader->tree, node, what, loader->err)) {
		return false;
	}
	if (node->size == 0 || node->size > FIELD_NAME_MAX) {
		return yaml_error(loader->tree, node, loader->err, "%s: not the name of a field",
				  what);
	}
	*field = (struct field_ref){ .name = node->text,
				     .at = node,
				     .derived = derived_find(node->text) };
	return true;
}

const struct regex *load_regex(struct loader *loader, const struct yaml_node *node)
{
	struct collector *collector = loader->collector;
	struct regex *regex;
	struct regex **regexes;
	struct error why;

	if (!yaml_is_text(loader->tree, node, "regular expression", loader->err)) {
		return NULL;
	}
	regex = regex_new(node->text, node->size, &why);
	if (!regex) {
		yaml_error(loader->tree, node, loader->err, "%s", why.text);
		return NULL;
	}
	regexes =
		realloc(collector->regexes, (collector->regex_count + 1) * sizeof(struct regex *));
	if (!regexes) {
		regex_free(regex);
		error_set(loader->err, ERROR_NO_MEMORY, "no memory for a regular expression");
		return NULL;
	}
	collector->regexes = regexes;
	collector->regexes[collector->regex_count++] = regex;
	return regex;
}

static bool load_literals(struct loader *loader, const struct yaml_node *node,
			  struct condition *condition)
{
	const struct yaml_node *first = node;

	condition->literal_count = 1;
	if (condition->comparison == COMPARE_IN) {
		if (!yaml_is_list(loader->tree, node, "in", loader->err)) {
			return false;
		}
		if (node->size == 0) {
			return yaml_error(loader->tree, node, loader->err, "in: an empty list");
		}
		first = node->first;
		condition->literal_count = node->size;
	}
	condition->literals = yaml_alloc(loader->tree, condition->literal_count,
					 sizeof *condition->literals, loader->err);
	if (!condition->literals) {
		return false;
	}
	for (size_t i = 0; i < condition->literal_count; i++, first = first->next) {
		if (!yaml_is_text(loader->tree, first, comparison_name(condition->comparison),
				  loader->err)) {
			return false;
		}
		condition->literals[i] = literal_of(first->text, first->size);
	}
	return true;
}

static bool load_condition(struct loader *loader, const struct yaml_node *node,
			   struct condition *condition)
{
	const char *keys[sizeof comparison_words / sizeof comparison_words[0] + 1] = { "field" };
	const struct yaml_node *field, *found = NULL;

	for (size_t i = 0; i <= COMPARE_MATCHES; i++) {
		keys[i + 1] = comparison_words[i];
	}
	keys[COMPARE_MATCHES + 2] = NULL;
	if (!yaml_is_map(loader->tree, node, "where", loader->err) ||
	    !yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	field = yaml_find(node, "field");
	if (!field) {
		return yaml_error(loader->tree, node, loader->err, "where: 'field' is missing");
	}
	for (unsigned i = 0; i <= COMPARE_MATCHES; i++) {
		const struct yaml_node *literal = yaml_find(node, comparison_words[i]);

		if (!literal) {
			continue;
		}
		if (found) {
			return yaml_error(loader->tree, literal->key, loader->err,
					  "where: one comparison each, '%s' is a second",
					  comparison_words[i]);
		}
		found = literal;
		condition->comparison = (enum comparison)i;
	}
	if (!found) {
		return yaml_error(loader->tree, node, loader->err,
				  "where: a comparison such as 'eq' is missing");
	}
	condition->at = found;
	if (!load_field(loader, field, "field", &condition->field) ||
	    !load_literals(loader, found, condition)) {
		return false;
	}
	if (condition->comparison == COMPARE_MATCHES) {
		condition->regex = load_regex(loader, found);
		return condition->regex != NULL;
	}
	return true;
}

bool load_conditions(struct loader *loader, const struct yaml_node *node, struct rule *rule)
{
	if (!yaml_is_list(loader->tree, node, "where", loader->err)) {
		return false;
	}
	rule->conditions =
		yaml_alloc(loader->tree, node->size, sizeof *rule->conditions, loader->err);
	if (!rule->conditions) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!load_condition(loader, entry, &rule->conditions[rule->condition_count])) {
			return false;
		}
		rule->condition_count++;
	}
	return true;
}

static bool is_map(struct loader *loader, const struct yaml_node *node, const char *what,
		   size_t most)
{
	if (!yaml_is_map(loader->tree, node, what, loader->err)) {
		return false;
	}
	if (node->size == 0 || node->size > most) {
		return yaml_error(loader->tree, node, loader->err, "%s: from 1 to %zu entries",
				  what, most);
	}
	return true;
}

/* Of "literal: text". */
static bool load_entries(struct loader *loader, const struct yaml_node *node, const char *what,
			 struct map_entry **entries, size_t *count)
{
	*entries = yaml_alloc(loader->tree, node->size, sizeof **entries, loader->err);
	if (!*entries) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!yaml_is_text(loader->tree, entry, what, loader->err)) {
			return false;
		}
		(*entries)[(*count)++] = (struct map_entry){
			.from = literal_of(entry->key->text, entry->key->size),
			.at = entry->key,
			.to = entry->text,
		};
	}
	return true;
}

static bool load_map(struct loader *loader, const struct yaml_node *node,
		     const struct yaml_node *other, struct label *label)
{
	if (!is_map(loader, node, "map", MAP_ENTRIES_MAX)) {
		return false;
	}
	if (!other) {
		return yaml_error(loader->tree, node, loader->err, "map: 'default' is missing");
	}
	if (!yaml_is_text(loader->tree, other, "default", loader->err)) {
		return false;
	}
	label->source = LABEL_MAP;
	label->text = other->text;
	return load_entries(loader, node, "map", &label->entries, &label->entry_count);
}

static bool load_regex_step(struct loader *loader, const struct yaml_node *node,
			    struct decode_step *step)
{
	static const char *const keys[] = { "regex", "replace", NULL };
	const struct yaml_node *regex, *replace;
	struct error why;

	if (!yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	regex = yaml_find(node, "regex");
	replace = yaml_find(node, "replace");
	if (!regex || !replace) {
		return yaml_error(loader->tree, node, loader->err, "decode: '%s' is missing",
				  regex ? "replace" : "regex");
	}
	if (replace->type != YAML_TEXT) {
		return yaml_is_text(loader->tree, replace, "replace", loader->err);
	}
	step->decoder = DECODE_REGEX;
	step->replacement = replace->text;
	step->regex = load_regex(loader, regex);
	if (!step->regex) {
		return false;
	}
	if (!regex_check_replacement(step->regex, replace->text, &why)) {
		return yaml_error(loader->tree, replace, loader->err, "%s", why.text);
	}
	return true;
}

/* { bits: { 0x1: read, 0x2: write } } */
static bool load_bits_step(struct loader *loader, const struct yaml_node *node,
			   struct decode_step *step)
{
	static const char *const keys[] = { "bits", NULL };
	const struct yaml_node *bits = yaml_find(node, "bits");

	step->decoder = DECODE_BITS;
	if (!yaml_keys_are(loader->tree, node, keys, loader->err) ||
	    !is_map(loader, bits, "bits", BITS_MAX) ||
	    !load_entries(loader, bits, "bits", &step->bits, &step->bit_count)) {
		return false;
	}
	for (size_t i = 0; i < step->bit_count; i++) {
		const struct literal *mask = &step->bits[i].from;

		if (!mask->integer || mask->negative || mask->number == 0) {
			return yaml_error(loader->tree, step->bits[i].at, loader->err,
					  "bits: '%s' is not a number with bits set", mask->text);
		}
	}
	return true;
}

static bool load_step(struct loader *loader, const struct yaml_node *node, struct decode_step *step)
{
	/* Without "regex", which is never written as a word of its own. */
	const char *words[DECODE_REGEX + 1] = { NULL };
	unsigned word;

	step->at = node;
	if (node->type == YAML_MAP) {
		return yaml_find(node, "bits") ? load_bits_step(loader, node, step) :
						 load_regex_step(loader, node, step);
	}
	memcpy(words, decoder_words, DECODE_REGEX * sizeof words[0]);
	if (!yaml_word(loader->tree, node, "decoder", words, &word, loader->err)) {
		return false;
	}
	step->decoder = (enum decoder)word;
	return true;
}

static bool load_decode(struct loader *loader, const struct yaml_node *node, struct label *label)
{
	if (!yaml_is_list(loader->tree, node, "decode", loader->err)) {
		return false;
	}
	if (node->size == 0 || node->size > STEPS_MAX) {
		return yaml_error(loader->tree, node, loader->err, "decode: from 1 to %d decoders",
				  STEPS_MAX);
	}
	label->source = LABEL_DECODE;
	label->steps = yaml_alloc(loader->tree, node->size, sizeof *label->steps, loader->err);
	if (!label->steps) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		if (!load_step(loader, entry, &label->steps[label->step_count])) {
			return false;
		}
		label->step_count++;
	}
	return true;
}

static bool load_label_map(struct loader *loader, const struct yaml_node *node, struct label *label)
{
	static const char *const keys[] = { "text", "field", "map", "default", "decode", NULL };
	const struct yaml_node *text, *field, *map, *other, *decode;

	if (!yaml_keys_are(loader->tree, node, keys, loader->err)) {
		return false;
	}
	text = yaml_find(node, "text");
	field = yaml_find(node, "field");
	map = yaml_find(node, "map");
	other = yaml_find(node, "default");
	decode = yaml_find(node, "decode");
	if ((text != NULL) == (field != NULL) || (text && node->size > 1) || (map && decode) ||
	    (other && !map)) {
		return yaml_error(
			loader->tree, node, loader->err,
			"label '%s': {text}, {field}, {field, map, default} or {field, decode}",
			label->name);
	}
	if (text) {
		label->source = LABEL_TEXT;
		label->text = text->text;
		return text->type == YAML_TEXT ||
		       yaml_is_text(loader->tree, text, "text", loader->err);
	}
	if (!load_field(loader, field, "field", &label->field)) {
		return false;
	}
	if (map) {
		return load_map(loader, map, other, label);
	}
	return !decode || load_decode(loader, decode, label);
}

bool load_labels(struct loader *loader, const struct yaml_node *node, struct rule *rule)
{
	if (!yaml_is_map(loader->tree, node, "labels", loader->err)) {
		return false;
	}
	for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
		const struct yaml_node *key = entry->key;
		struct label *label = &rule->labels[rule->label_count];

		if (!load_is_name(key->text, true) || strncmp(key->text, "__", 2) == 0) {
			return yaml_error(loader->tree, key, loader->err,
					  "'%s' is not the name of a label", key->text);
		}
		if (strcmp(key->text, "le") == 0 || strcmp(key->text, "quantile") == 0) {
			return yaml_error(loader->tree, key, loader->err,
					  "label '%s' is Prometheus's own", key->text);
		}
		for (size_t i = 0; i < rule->label_count; i++) {
			if (strcmp(rule->labels[i].name, key->text) == 0) {
				return yaml_error(loader->tree, key, loader->err,
						  "label '%s' stands at the metric already",
						  key->text);
			}
		}
		if (rule->label_count == FAMILY_LABELS_MAX) {
			return yaml_error(loader->tree, key, loader->err, "more than %d labels",
					  FAMILY_LABELS_MAX);
		}
		*label = (struct label){ .name = key->text, .at = key };
		rule->label_count++;
		if (entry->type == YAML_MAP ?
			    !load_label_map(loader, entry, label) :
			    !load_field(loader, entry, key->text, &label->field)) {
			return false;
		}
	}
	return true;
}
