/* SPDX-License-Identifier: MIT */
/*
 * Conditions on events of any class, for tools that select events. Each is written like a condition
 * of a rule's `where`, but as one text: "FIELD OPERATOR LITERAL".
 *
 * FIELD and OPERATOR are the words of docs/rules.md. The literal is the rest of the text, blanks
 * included; that of `in` is a list of literals with commas between them. A field is looked up in
 * the layout of each event class, as for rules on events of other providers: a class that lacks the
 * field, or has it with another type, does not fulfil the condition.
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

/* Adds a condition; all conditions must hold. On failure err names the text. */
bool probe_add(struct probe *probe, const char *text, struct etw_error *err);

/* Returns the features of a tracker that its conditions need (enum tracker_feature). */
uint32_t probe_features(const struct probe *probe);

/* Returns the field of a condition; NULL after the last. */
const char *probe_field(const struct probe *probe, size_t index);

/* Returns the conditions as a rule on every event, which has nothing else. */
const struct rule *probe_rule(const struct probe *probe);

#endif
