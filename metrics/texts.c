/* SPDX-License-Identifier: MIT */
#include "metrics/registry_internal.h"

#include <string.h>

#include "base/decimal.h"
#include "base/text.h"

/* Appends escaped text: HELP escapes backslash and line feed, a quoted label value also the
 * double quote. */
static void add_escaped(struct etw_text *text, const char *value, size_t size, bool quoted)
{
	struct etw_text clean = { 0 };
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

void text_add_label_value(struct etw_text *text, const char *value, size_t size)
{
	add_escaped(text, value, size, true);
}

void text_add_family_head(struct etw_text *text, const char *name, const char *help,
			  const char *type)
{
	text_add_string(text, "# HELP ");
	text_add_string(text, name);
	text_add_char(text, ' ');
	add_escaped(text, help, strlen(help), false);
	text_add_string(text, "\n# TYPE ");
	text_add_string(text, name);
	text_add_char(text, ' ');
	text_add_string(text, type);
	text_add_char(text, '\n');
}

/*
 * Appends value / 10^decimals as OpenMetrics requires for `le` ("Canonical Numbers"): as Go prints
 * a float64 with %g, and with ".0" if that has neither a point nor an exponent.
 */
static void add_canonical(struct etw_text *text, uint64_t value, unsigned decimals)
{
	char digits[DECIMAL_ROOM];
	int count = (int)(put_u64(digits, value) - digits), exponent = count - 1 - (int)decimals;

	if (value != 0 && (exponent < -4 || exponent > 5)) {
		while (count > 1 && digits[count - 1] == '0') {
			count--;
		}
		text_add_char(text, digits[0]);
		if (count > 1) {
			text_add_char(text, '.');
			text_add(text, digits + 1, (size_t)count - 1);
		}
		text_add_format(text, "e%c%02d", exponent < 0 ? '-' : '+',
				exponent < 0 ? -exponent : exponent);
		return;
	}
	count = (int)(put_scaled(digits, value, decimals) - digits);
	text_add(text, digits, (size_t)count);
	if (!memchr(digits, '.', (size_t)count)) {
		text_add_string(text, ".0");
	}
}

void text_add_bucket(struct etw_text *text, const uint64_t *bound, unsigned decimals,
		     bool canonical)
{
	char number[DECIMAL_ROOM];

	text_add_string(text, "le=\"");
	if (!bound) {
		text_add_string(text, "+Inf");
	} else if (canonical) {
		add_canonical(text, *bound, decimals);
	} else {
		text_add(text, number, (size_t)(put_scaled(number, *bound, decimals) - number));
	}
	text_add_string(text, "\"} ");
}
