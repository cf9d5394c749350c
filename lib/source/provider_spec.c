/* SPDX-License-Identifier: MIT */
/*
 * Providers to enable, and their short form on the command line.
 *
 * A provider is given by name or by GUID. A name is resolved later, when a session starts, because
 * the machine that runs the session knows the registered providers. All strings and arrays of a
 * spec are owned by it, so that collectors, the configuration and running sessions can each have
 * their own copy. Copying can fail in the middle; the copy is then incomplete but valid to free.
 *
 * The short form has up to five parts separated by colons. The parser reads one part after the
 * other; an empty or missing part keeps the default. Error messages quote the whole text, since
 * the user wrote this text.
 */
#include "lib/source/provider_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- payload filters ---- */

void payload_filter_done(struct etw_payload_filter *filter)
{
	for (size_t i = 0; i < filter->condition_count; i++) {
		free(filter->conditions[i].field);
		free(filter->conditions[i].value);
	}
	filter->condition_count = 0;
}

bool payload_filter_copy(struct etw_payload_filter *to, const struct etw_payload_filter *from)
{
	*to = (struct etw_payload_filter){ .event = from->event, .any = from->any };
	for (size_t i = 0; i < from->condition_count; i++) {
		const struct etw_payload_condition *condition = &from->conditions[i];
		struct etw_payload_condition *copy = &to->conditions[to->condition_count++];

		copy->op = condition->op;
		copy->field = text_duplicate(condition->field, strlen(condition->field));
		copy->value = text_duplicate(condition->value, strlen(condition->value));
		if (!copy->field || !copy->value) {
			return false;
		}
	}
	return true;
}

/* ---- providers ---- */

static const struct etw_guid no_guid;

void etw_provider_spec_init(struct etw_provider_spec *spec)
{
	*spec = (struct etw_provider_spec){ .level = ETW_PROVIDER_LEVEL_DEFAULT,
					    .any = UINT64_MAX };
}

void etw_provider_spec_widen(struct etw_provider_spec *spec, const struct etw_provider_spec *other)
{
	if (spec->level == 0 || other->level == 0) {
		spec->level = 0; /* all levels */
	} else if (other->level > spec->level) {
		spec->level = other->level;
	}
	/* A mask of 0 already means all keywords. */
	spec->any = spec->any == 0 || other->any == 0 ? 0 : spec->any | other->any;
	spec->all &= other->all;
}

void etw_provider_spec_done(struct etw_provider_spec *spec)
{
	free(spec->name);
	free(spec->executables);
	free(spec->arguments);
	for (size_t i = 0; i < spec->payload_count; i++) {
		payload_filter_done(&spec->payload[i]);
	}
	free(spec->payload);
	spec->name = NULL;
	spec->executables = NULL;
	spec->arguments = NULL;
	spec->arguments_size = 0;
	spec->payload = NULL;
	spec->payload_count = 0;
}

bool etw_provider_spec_nameless(const struct etw_provider_spec *spec)
{
	return etw_guid_equal(&spec->guid, &no_guid);
}

bool etw_provider_spec_name(struct etw_provider_spec *spec, const char *text, size_t size,
			    struct etw_error *err)
{
	char *copy;

	if (size == 0) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "'%s' is not the name or GUID of a provider", text);
	}
	copy = text_duplicate(text, size);
	if (!copy) {
		return error_no_memory(err, "a provider");
	}
	if (text[0] == '{') {
		bool good = etw_guid_parse(copy, &spec->guid) && !etw_provider_spec_nameless(spec);

		free(copy);
		return good || error_set(err, ETW_ERROR_CONFIG,
					 "'%s' is not the name or GUID of a provider", text);
	}
	free(spec->name);
	spec->name = copy;
	return true;
}

static bool not_a_number(const char *part, const char *text, struct etw_error *err)
{
	return error_set(err, ETW_ERROR_CONFIG, "%s of '%s' is not a number", part, text);
}

/* Finds the next part, up to a colon, and moves *at to its end. Returns the size of the part; 0 if
 * it is empty or missing. */
static size_t next_part(const char **at, const char **part)
{
	size_t size;

	if (**at == '\0') {
		*part = *at;
		return 0;
	}
	*part = *at + 1; /* after the colon */
	size = strcspn(*part, ":");
	*at = *part + size;
	return size;
}

static bool parse_ids(struct etw_provider_spec *spec, const char *part, size_t size,
		      const char *text, struct etw_error *err)
{
	const char *end = part + size;

	while (part < end) {
		size_t digits = strcspn(part, ",:");
		uint64_t id;

		if (!parse_u64(part, digits, &id) || id > UINT16_MAX) {
			return not_a_number("ids", text, err);
		}
		if (spec->id_count == ETW_PROVIDER_IDS_MAX) {
			return error_set(err, ETW_ERROR_CONFIG, "'%s' has more than %d ids", text,
					 ETW_PROVIDER_IDS_MAX);
		}
		spec->ids[spec->id_count++] = (uint16_t)id;
		part += digits + 1;
	}
	return true;
}

bool etw_provider_spec_parse(struct etw_provider_spec *spec, const char *text,
			     struct etw_error *err)
{
	size_t size = strcspn(text, ":");
	const char *at = text + size;
	const char *part;
	uint64_t level;

	etw_provider_spec_init(spec);
	if (!etw_provider_spec_name(spec, text, size, err)) {
		return false;
	}
	size = next_part(&at, &part);
	if (size > 0) {
		if (!parse_u64(part, size, &level) || level > UINT8_MAX) {
			return not_a_number("level", text, err);
		}
		spec->level = (uint8_t)level;
	}
	size = next_part(&at, &part);
	if (!parse_ids(spec, part, size, text, err)) {
		return false;
	}
	size = next_part(&at, &part);
	if (size > 0 && !parse_u64(part, size, &spec->any)) {
		return not_a_number("any", text, err);
	}
	size = next_part(&at, &part);
	if (size > 0 && !parse_u64(part, size, &spec->all)) {
		return not_a_number("all", text, err);
	}
	return *at == '\0' || error_set(err, ETW_ERROR_CONFIG, "'%s' has too many parts", text);
}

bool etw_provider_spec_argument(struct etw_provider_spec *spec, const char *name, const char *value,
				struct etw_error *err)
{
	size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
	size_t room = ETW_PROVIDER_ARGUMENTS_MAX - spec->arguments_size;
	char *grown;

	if (name_size > room || value_size > room - name_size) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "arguments: names and values, each with a NUL, have more than %d "
				 "bytes, which is all that Windows takes",
				 ETW_PROVIDER_ARGUMENTS_MAX);
	}
	grown = realloc(spec->arguments, spec->arguments_size + name_size + value_size);
	if (!grown) {
		return error_no_memory(err, "the arguments of a provider");
	}
	memcpy(grown + spec->arguments_size, name, name_size);
	memcpy(grown + spec->arguments_size + name_size, value, value_size);
	spec->arguments = grown;
	spec->arguments_size += name_size + value_size;
	return true;
}

static char *copy_of(const char *text)
{
	return text ? text_duplicate(text, strlen(text)) : NULL;
}

static bool copy_payload(struct etw_provider_spec *to, const struct etw_provider_spec *from)
{
	to->payload = NULL;
	to->payload_count = 0;
	if (from->payload_count == 0) {
		return true;
	}
	to->payload = calloc(from->payload_count, sizeof *to->payload);
	while (to->payload && to->payload_count < from->payload_count) {
		size_t i = to->payload_count++;

		if (!payload_filter_copy(&to->payload[i], &from->payload[i])) {
			return false;
		}
	}
	return to->payload != NULL;
}

bool provider_spec_copy(struct etw_provider_spec *to, const struct etw_provider_spec *from)
{
	bool copied;

	*to = *from;
	to->name = copy_of(from->name);
	to->executables = copy_of(from->executables);
	to->arguments = from->arguments ? text_duplicate(from->arguments, from->arguments_size) :
					  NULL;
	copied = copy_payload(to, from);
	return copied && !to->name == !from->name && !to->executables == !from->executables &&
	       !to->arguments == !from->arguments;
}

const char *etw_provider_spec_label(const struct etw_provider_spec *spec, char *text)
{
	if (spec->name) {
		return spec->name;
	}
	text[0] = '{';
	guid_format(&spec->guid, text + 1);
	strcat(text, "}");
	return text;
}

/* ---- comparing ---- */

static bool text_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool filter_equal(const struct etw_payload_filter *a, const struct etw_payload_filter *b)
{
	if (a->event != b->event || a->any != b->any || a->condition_count != b->condition_count) {
		return false;
	}
	for (size_t i = 0; i < a->condition_count; i++) {
		const struct etw_payload_condition *x = &a->conditions[i], *y = &b->conditions[i];

		if (x->op != y->op || !text_same(x->field, y->field) ||
		    !text_same(x->value, y->value)) {
			return false;
		}
	}
	return true;
}

static bool payload_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b)
{
	if (a->payload_count != b->payload_count) {
		return false;
	}
	for (size_t i = 0; i < a->payload_count; i++) {
		if (!filter_equal(&a->payload[i], &b->payload[i])) {
			return false;
		}
	}
	return true;
}

/* Compares the filters by id, process and program file. */
static bool scope_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b)
{
	return a->id_count == b->id_count && a->ids_out == b->ids_out &&
	       memcmp(a->ids, b->ids, a->id_count * sizeof a->ids[0]) == 0 &&
	       a->stack_id_count == b->stack_id_count && a->stack_ids_out == b->stack_ids_out &&
	       memcmp(a->stack_ids, b->stack_ids, a->stack_id_count * sizeof a->ids[0]) == 0 &&
	       a->process_id_count == b->process_id_count &&
	       memcmp(a->process_ids, b->process_ids,
		      a->process_id_count * sizeof a->process_ids[0]) == 0 &&
	       text_same(a->executables, b->executables);
}

bool etw_provider_spec_same_arguments(const struct etw_provider_spec *a,
				      const struct etw_provider_spec *b)
{
	return a->arguments_size == b->arguments_size &&
	       (a->arguments_size == 0 ||
		memcmp(a->arguments, b->arguments, a->arguments_size) == 0);
}

bool provider_spec_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b)
{
	return etw_guid_equal(&a->guid, &b->guid) && a->level == b->level && a->any == b->any &&
	       a->all == b->all && a->properties == b->properties && scope_equal(a, b) &&
	       etw_provider_spec_same_arguments(a, b) && payload_equal(a, b) &&
	       a->capture_at_start == b->capture_at_start &&
	       a->capture_at_stop == b->capture_at_stop &&
	       a->capture_every_ms == b->capture_every_ms &&
	       a->capture_timeout_ms == b->capture_timeout_ms;
}
