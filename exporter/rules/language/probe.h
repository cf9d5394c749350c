/* SPDX-License-Identifier: MIT */
/*
 * Conditions on events of any class, for tools that pick events: those of a rule's `where`, each
 * written as one text, "FIELD OPERATOR LITERAL".
 *
 * FIELD and OPERATOR are the words of docs/rules.md. The literal is the rest of the text, blanks
 * and all; that of `in` is a list with commas between its literals. A field is looked for in the
 * layout of each event class, as a rule of another provider's events looks for it: a class that
 * lacks it, or whose field is of another type, does not fulfil the condition.
 */
#ifndef RULES_PROBE_H
#define RULES_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct rule;  /* exporter/rules/language/collector.h */
struct probe; /* opaque; immutable once all conditions are added */

enum { PROBE_CONDITIONS_MOST = 64 };

struct probe *probe_new(struct etw_error *err);
void probe_free(struct probe *probe);

/* All conditions must hold. The sentence of err names the text. */
bool probe_add(struct probe *probe, const char *text, struct etw_error *err);

/* Features of a tracker that its conditions need (enum tracker_feature). */
uint32_t probe_features(const struct probe *probe);

/* The field of a condition; NULL behind the last. */
const char *probe_field(const struct probe *probe, size_t index);

/* The conditions as a rule on every event, which has nothing but them. */
const struct rule *probe_rule(const struct probe *probe);

#endif
