/* SPDX-License-Identifier: MIT */
/*
 * Which providers each live session is to enable, so that no event is counted by two of them.
 *
 * A provider of the configuration is enabled where the configuration names it, as it says. What the
 * collectors need besides goes into the first session, one entry a provider: enabling one twice in
 * a session keeps the later call only ("EnableTraceEx2 function", Microsoft Learn). A user session
 * gets Microsoft-Windows-Kernel-Process for the names of processes, unless it has it already.
 */
#ifndef EXPORTER_LIVE_PROVIDERS_H
#define EXPORTER_LIVE_PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "config/config.h"
#include "rules/rules.h"
#include "source/provider_spec.h"

struct live_providers {
	struct provider_spec *list; /* owned; the texts are those of config and rules */
	size_t count;
	/* Microsoft-Windows-Kernel-Process is there for names: see struct rule_engine_options. */
	bool names_only;
};

/* index: of the session in the configuration. */
bool live_providers_init(struct live_providers *providers, const struct config *config,
			 const struct rule_set *rules, size_t index, struct error *err);
void live_providers_done(struct live_providers *providers);

#endif
