/* SPDX-License-Identifier: MIT */
/*
 * The texts of families and samples in the text format 0.0.4.
 *
 * Source: "Exposition formats", "Data model", prometheus.io.
 */
#include <string.h>

#include "base/text.h"
#include "metrics/decimal.h"
#include "metrics/exposition.h"
#include "metrics/registry_internal.h"

/* HELP escapes backslash and line feed; a label value the double quote as well. */
static void add_escaped(struct text *text, const char *value, size_t size, bool quoted)
{
	struct text clean = { 0 };
	size_t done = 0;

	text_add_utf8_clean(&clean, value, size);
	for (size_t i = 0; i < clean.size; i++) {
		char c = clean.data[i];

		if (c == '\\' || c == '\n' || (c == '"' && quoted)) {
			text_add(text, clean.data + done, i - done);
			text_add_char(text, '\\');
			text_add_char(text, c == '\n' ? 'n' : c);
			done = i + 1;
		}
	}
	if (clean.size > done) {
		text_add(text, clean.data + done, clean.size - done);
	}
	text->failed |= clean.failed;
	text_free(&clean);
}

void text_add_label_value(struct text *text, const char *value, size_t size)
{
	add_escaped(text, value, size, true);
}

const char *family_type_name(enum family_type type)
{
	static const char *const names[] = {
		[FAMILY_COUNTER] = "counter",
		[FAMILY_GAUGE] = "gauge",
		[FAMILY_HISTOGRAM] = "histogram",
	};

	return names[type];
}

void text_add_family_head(struct text *text, const struct family_options *options)
{
	text_add_string(text, "# HELP ");
	text_add_string(text, options->name);
	text_add_char(text, ' ');
	add_escaped(text, options->help, strlen(options->help), false);
	text_add_string(text, "\n# TYPE ");
	text_add_string(text, options->name);
	text_add_char(text, ' ');
	text_add_string(text, family_type_name(options->type));
	text_add_char(text, '\n');
}

void text_add_bucket(struct text *text, const uint64_t *bound, unsigned decimals)
{
	char number[DECIMAL_ROOM];

	text_add_string(text, "le=\"");
	if (bound) {
		text_add(text, number, (size_t)(put_scaled(number, *bound, decimals) - number));
	} else {
		text_add_string(text, "+Inf");
	}
	text_add_string(text, "\"} ");
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool valid_name(const char *name, bool colons)
{
	size_t size = strlen(name);

	if (size == 0 || size > NAME_SIZE_MAX) {
		return false;
	}
	for (size_t i = 0; i < size; i++) {
		bool digit = name[i] >= '0' && name[i] <= '9';

		if (!is_letter(name[i]) && !(digit && i > 0) && !(name[i] == ':' && colons)) {
			return false;
		}
	}
	return true;
}

bool valid_metric_name(const char *name)
{
	return valid_name(name, true);
}

bool valid_label_name(const char *name)
{
	return valid_name(name, false) && strncmp(name, "__", 2) != 0;
}
