/* SPDX-License-Identifier: MIT */
/*
 * What the tables of the collector language share: load.c has collectors, metrics and rules,
 * load_parts.c fields, events, conditions and labels.
 */
#ifndef RULES_LOAD_H
#define RULES_LOAD_H

#include "config/yaml_rows.h"
#include "rules/language/collector.h"

extern const struct yaml_shape load_field_shape;      /* a struct field_ref */
extern const struct yaml_shape load_event_shape;      /* a struct event_pattern */
extern const struct yaml_shape load_conditions_shape; /* an array of struct condition */
extern const struct yaml_shape load_label_shape;      /* a struct label */

/* [a-z][a-z0-9_]*, or also capitals and a leading underscore. */
bool load_is_name(const char *text, bool upper_case);

#endif
