/* SPDX-License-Identifier: MIT */
/*
 * The arguments are read once, from left to right, up to the first wrong one.
 *
 * Each option writes one member of the caller's struct, which a row names by its offset; a repeated
 * option overwrites it, unless its read() collects values. So the options of a program or command
 * are a struct and a table, and errors and --help look the same everywhere. If an option accepts
 * only a few values, its row lists them as words; the error about another value names them and
 * suggests the most similar. Values with a syntax, such as a duration, have a read(), and `takes`
 * describes what it accepts.
 */
#include "base/command_line.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

enum { FLAG_SIZE = 128 }; /* bytes of a suggested name; names above 64 bytes are never similar */

static bool is_option(const char *argument)
{
	return argument[0] == '-' && argument[1] != '\0';
}

/* Returns whether the argument belongs to an OPTION_SWITCH such as --[no-]collector.X. */
static bool is_switch(const struct command_option *option, const char *argument)
{
	const char *name = option->name + strlen("--");
	const char *at = argument + strlen("--");
	size_t size = strlen(name);

	at += strncmp(at, "no-", 3) == 0 ? 3 : 0;
	return option->type == OPTION_SWITCH && strncmp(at, name, size) == 0 && at[size] != '\0';
}

/* Finds the option of an argument; NULL if there is none. An exact name has precedence over an
 * OPTION_SWITCH. */
static const struct command_option *find(const struct command_option *options, const char *argument,
					 size_t name_size)
{
	for (const struct command_option *option = options; option->name; option++) {
		if (option->type != OPTION_SWITCH && strlen(option->name) == name_size &&
		    memcmp(option->name, argument, name_size) == 0) {
			return option;
		}
		if (option->type == OPTION_HELP && strcmp(argument, "-h") == 0) {
			return option;
		}
	}
	for (const struct command_option *option = options; option->name; option++) {
		if (is_switch(option, argument)) {
			return option;
		}
	}
	return NULL;
}

/* Offers "--collector.X" and "--no-collector.X" for "--colector.X". */
static void offer_switch(struct nearest *nearest, const struct command_option *option,
			 char spellings[2][FLAG_SIZE])
{
	static const char *const before[] = { "--", "--no-" };
	const char *dot = memchr(nearest->word, '.', nearest->size);
	size_t rest = dot ? nearest->size - (size_t)(dot + 1 - nearest->word) : 0;

	for (size_t i = 0; rest > 0 && rest < FLAG_SIZE / 2 && i < 2; i++) {
		snprintf(spellings[i], FLAG_SIZE, "%s%s%.*s", before[i],
			 option->name + strlen("--"), (int)rest, dot + 1);
		nearest_offer(nearest, spellings[i]);
	}
}

/* Returns the first flag of a group, such as --replay.file for "--replay"; NULL if there is no such
 * group. The first one is the one that is used most. */
static const char *first_of_group(const struct command_option *options, const char *name,
				  size_t size)
{
	for (const struct command_option *option = options; option->name; option++) {
		if (option->help && option->type != OPTION_SWITCH &&
		    strncmp(option->name, name, size) == 0 && option->name[size] == '.') {
			return option->name;
		}
	}
	return NULL;
}

static bool unknown(const struct command_option *options, const char *name, size_t size,
		    struct etw_error *err)
{
	struct nearest nearest = { .word = name, .size = size };
	const char *group = first_of_group(options, name, size);
	char spellings[2][FLAG_SIZE];

	for (const struct command_option *option = options; option->name; option++) {
		if (option->type == OPTION_SWITCH) {
			offer_switch(&nearest, option, spellings);
		} else if (option->help) {
			nearest_offer(&nearest, option->name);
		}
	}
	if (group && nearest.distance > 1) {
		nearest.best = group;
	}
	return error_set(err, ETW_ERROR_CONFIG, "unknown flag %.*s%s%s%s (--help lists all)",
			 (int)size, name, nearest.best ? "; did you mean " : "",
			 nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

static bool refuse(const struct command_option *option, const char *value, const char *takes,
		   struct etw_error *err)
{
	return error_set(err, ETW_ERROR_CONFIG, "%s takes %s, not \"%s\"", option->name, takes,
			 value);
}

/* Sets the error: it lists the words, such as "jsonl, csv or text", and suggests one. */
static bool refuse_word(const struct command_option *option, const char *value,
			struct etw_error *err)
{
	struct nearest nearest = { .word = value, .size = strlen(value) };
	struct etw_text takes = { 0 };

	for (size_t i = 0; option->words[i]; i++) {
		if (option->type == OPTION_WORD) {
			nearest_offer(&nearest, option->words[i]);
		}
		text_add_format(&takes, "%s%s",
				i == 0               ? "" :
				option->words[i + 1] ? ", " :
						       " or ",
				option->words[i]);
	}
	error_set(err, ETW_ERROR_CONFIG, "%s takes %s, not \"%s\"%s%s%s", option->name,
		  takes.data ? takes.data : "", value, nearest.best ? "; did you mean " : "",
		  nearest.best ? nearest.best : "", nearest.best ? "?" : "");
	text_free(&takes);
	return false;
}

static bool read_word(const struct command_option *option, const char *value, void *member,
		      struct etw_error *err)
{
	unsigned index = 0;

	static_assert(sizeof(enum option_type) == sizeof index, "enums are stored as unsigned");
	while (option->words[index] && strcmp(option->words[index], value) != 0) {
		index++;
	}
	if (!option->words[index]) {
		return refuse_word(option, value, err);
	}
	if (option->type == OPTION_DIGIT) {
		*(uint8_t *)member = (uint8_t)(value[0] - '0');
	} else {
		index += option->first;
		memcpy(member, &index, sizeof index);
	}
	return true;
}

static bool store(const struct command_option *option, const char *value, void *target,
		  struct etw_error *err)
{
	void *member = (char *)target + option->offset;
	struct etw_error why = { 0 };

	switch (option->type) {
	case OPTION_SET:
	case OPTION_HELP:
		*(bool *)member = true;
		return true;
	case OPTION_TEXT:
		*(const char **)member = value;
		return true;
	case OPTION_WORD:
	case OPTION_DIGIT:
		return read_word(option, value, member, err);
	case OPTION_COUNT:
		return (parse_u64(value, strlen(value), member) && *(uint64_t *)member > 0) ||
		       refuse(option, value, "a number above 0", err);
	case OPTION_READ:
	case OPTION_SWITCH:
		break;
	}
	if (option->read(member, value, &why)) {
		return true;
	}
	return why.code == ETW_ERROR_NONE ? refuse(option, value, option->takes, err) :
					    error_set(err, why.code, "%s", why.text);
}

/* Returns whether the option accepts any value except an empty one. */
static bool takes_anything(const struct command_option *option)
{
	return option->type == OPTION_TEXT || (option->type == OPTION_READ && !option->takes);
}

/* Reads the option at *index, and its value, which may be the next argument. */
static bool read_option(const struct command_option *option, int argc, char **argv, int *index,
			void *target, struct etw_error *err)
{
	const char *argument = argv[*index];
	const char *equals = strchr(argument, '=');
	const char *value = equals ? equals + 1 : NULL;

	if (option->gone) {
		return error_set(err, ETW_ERROR_CONFIG, "%s no longer exists; %s", option->name,
				 option->gone);
	}
	if (value && (option->type == OPTION_SWITCH || !option->value)) {
		return error_set(err, ETW_ERROR_CONFIG, "%.*s takes no value",
				 (int)(equals - argument), argument);
	}
	if (option->type == OPTION_SWITCH) {
		value = argument;
	} else if (option->value) {
		if (!value && *index + 1 < argc) {
			value = argv[++*index];
		}
		if (!value || (value[0] == '\0' && takes_anything(option))) {
			return error_set(err, ETW_ERROR_CONFIG, "%s needs a value: %s",
					 option->name, option->value);
		}
	}
	return store(option, value, target, err);
}

bool command_line_read(const struct command_line *line, int argc, char **argv, void *target,
		       struct etw_error *err)
{
	bool words_only = false;

	for (int i = 1; i < argc; i++) {
		const struct command_option *option;
		size_t name_size = strcspn(argv[i], "=");

		if (!words_only && line->word && strcmp(argv[i], "--") == 0) {
			words_only = true;
			continue;
		}
		if (words_only || !is_option(argv[i])) {
			if (!line->word) {
				return error_set(err, ETW_ERROR_CONFIG,
						 "unexpected argument \"%s\"%s", argv[i],
						 line->hint);
			}
			if (!line->word(target, argv[i], err)) {
				return false;
			}
			continue;
		}
		option = find(line->options, argv[i], name_size);
		if (!option) {
			return unknown(line->options, argv[i], name_size, err);
		}
		if (!read_option(option, argc, argv, &i, target, err)) {
			return false;
		}
		if (option->type == OPTION_HELP) {
			break;
		}
	}
	return true;
}

void command_line_help(struct etw_text *out, const struct command_option *options, char between,
		       size_t column)
{
	for (const struct command_option *option = options; option->name; option++) {
		size_t start = out->size;

		if (!option->help) {
			continue;
		}
		if (option->type == OPTION_SWITCH) {
			text_add_format(out, "  --[no-]%s%s", option->name + strlen("--"),
					option->value);
		} else {
			text_add_format(out, "  %s", option->name);
			if (option->value) {
				text_add_char(out, between);
				text_add_string(out, option->value);
			}
		}
		do {
			text_add_char(out, ' ');
		} while (!out->failed && out->size - start < column);
		text_add_string(out, option->help);
		text_add_char(out, '\n');
	}
}

void command_line_describe(struct json *json, const struct command_option *options)
{
	json_array_begin(json);
	for (const struct command_option *option = options; option->name; option++) {
		if (!option->help) {
			continue;
		}
		json_object_begin(json);
		json_member_string(json, "name", option->name);
		json_member_string(json, "value", option->value);
		json_key(json, "is_switch");
		json_bool(json, option->type == OPTION_SWITCH);
		if (option->words) {
			json_member_array(json, "words");
			for (size_t i = 0; option->words[i]; i++) {
				json_string(json, option->words[i]);
			}
			json_array_end(json);
		} else {
			json_member_string(json, "words", NULL);
		}
		json_member_string(json, "help", option->help);
		json_object_end(json);
	}
	json_array_end(json);
}
