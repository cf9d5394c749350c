/* SPDX-License-Identifier: MIT */
/*
 * The labels that `labels:` of the configuration adds to families of the collectors cpu, disk, file
 * and network: the account of a process, its terminal session.
 *
 * They are added to every rule of such a family that has the process of its event as a label, also
 * to rules of other collectors, because all rules of a family have the same labels. Rules that have
 * a label of that name already keep their own.
 */
#include <string.h>

#include "config/config.h"
#include "exporter/rules/language/rule_set.h"

static const struct {
	const char *label, *field;
} rows[] = {
	[CONFIG_LABEL_OWNER] = { "owner", "Owner" },
	[CONFIG_LABEL_TERMINAL_SESSION] = { "terminal_session", "TerminalSession" },
};

/* Whether one of the collectors that get labels declares the metric. */
static bool gets_labels(const struct rule_set *set, const struct metric *metric)
{
	static const char *const collectors[] = { "cpu", "disk", "file", "network" };

	for (size_t i = 0; i < set->collector_count; i++) {
		const struct collector *collector = set->collectors[i];
		size_t known = 0;

		while (known < sizeof collectors / sizeof collectors[0] &&
		       strcmp(collector->name, collectors[known]) != 0) {
			known++;
		}
		if (known == sizeof collectors / sizeof collectors[0]) {
			continue;
		}
		for (size_t j = 0; j < collector->metric_count; j++) {
			if (collector->metrics[j].name &&
			    strcmp(collector->metrics[j].name, metric->name) == 0) {
				return true;
			}
		}
	}
	return false;
}

static void add_label(struct rule *rule, enum config_label which)
{
	bool of_process = false;

	for (size_t i = 0; i < rule->label_count; i++) {
		const struct label *label = &rule->labels[i];

		of_process |= label->source == LABEL_FIELD &&
			      field_has_role(&label->field, ROLE_PROCESS);
		if (label->name && strcmp(label->name, rows[which].label) == 0) {
			return;
		}
	}
	if (of_process && rule->label_count < FAMILY_LABELS_MAX) {
		rule->labels[rule->label_count++] =
			(struct label){ .name = rows[which].label,
					.at = rule->at,
					.source = LABEL_FIELD,
					.field = { .name = rows[which].field,
						   .at = rule->at,
						   .derived = derived_find(rows[which].field) } };
	}
}

void rule_set_add_labels(struct rule_set *set, const struct config *config)
{
	for (size_t i = 0; config->label_count > 0 && i < set->collector_count; i++) {
		const struct collector *collector = set->collectors[i];

		for (size_t j = 0; j < collector->metric_count; j++) {
			struct metric *metric = &collector->metrics[j];

			if (!metric->name || !gets_labels(set, metric)) {
				continue;
			}
			for (size_t k = 0; k < metric->rule_count * config->label_count; k++) {
				add_label(&metric->rules[k / config->label_count],
					  config->labels[k % config->label_count]);
			}
		}
	}
}
