/* SPDX-License-Identifier: MIT */
/*
 * Makes the texts of a page that are rendered only once: the head of a family, and the labels of
 * its samples.
 */
#ifndef METRICS_TEXTS_H
#define METRICS_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct etw_text;

/* Appends a label value as it appears between the quotes: escaped, and valid UTF-8. */
void text_add_label_value(struct etw_text *text, const char *value, size_t size);

/* Appends the HELP and TYPE lines. type: a word of family_type_name(). */
void text_add_family_head(struct etw_text *text, const char *name, const char *help,
			  const char *type);

/* Appends the label of a bucket up to the value, `le="0.005"} `. bound NULL: +Inf. canonical:
 * the number is written as OpenMetrics requires. */
void text_add_bucket(struct etw_text *text, const uint64_t *bound, unsigned decimals,
		     bool canonical);

#endif
