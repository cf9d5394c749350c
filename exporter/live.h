/* SPDX-License-Identifier: MIT */
/*
 * Opens the live sessions of the configuration: chooses the providers that each session enables,
 * starts it, and owns what only live sessions have.
 */
#ifndef EXPORTER_LIVE_H
#define EXPORTER_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/provider.h>
#include <etw/session.h>
#include <etw/source.h>

#include "base/error.h"
#include "exporter/setup.h"
#include "metrics/registry.h"

/* Returns the family of the delays of canaries, a histogram by session (lib/live/canary.h). Returns
 * NULL on failure. */
struct family *live_delay_family(struct registry *registry, struct etw_error *err);

/*
 * The providers that a session enables, chosen so that no event is counted by two of them.
 *
 * A provider that the configuration names is enabled in the session that names it, with those
 * settings. Further providers that the collectors need go into the first session (the second, if
 * the first belongs to another program), with one entry for each provider: if a provider is enabled
 * twice in a session, only the later call counts
 * ("EnableTraceEx2 function", Microsoft Learn). A user session gets
 * Microsoft-Windows-Kernel-Process for the names of processes, unless it has it already.
 */
struct live_providers {
	struct etw_provider_spec *list; /* owned; its texts are borrowed from config and rules */
	size_t count;
	/* Microsoft-Windows-Kernel-Process is enabled only for the names of processes: see struct
	 * rule_engine_options. */
	bool names_only;
};

/* Returns whether both name the same provider. If one gives a name and the other a GUID, they are
 * recognised as the same only if the name is among the built-in ones. */
bool live_same_provider(const struct etw_provider_spec *a, const struct etw_provider_spec *b);

/* index: number of the session in the configuration, from 0. */
bool live_providers_init(struct live_providers *providers, const struct config *config,
			 const struct rule_set *rules, size_t index, struct etw_error *err);
void live_providers_done(struct live_providers *providers);

struct live_session_options {
	/* Pointers are borrowed until the source is closed. */
	const struct setup *setup;
	size_t index;              /* number of the session in the configuration, from 0 */
	const char *name;          /* name of the session in the configuration */
	struct shard *shard;       /* shard of the session's consumer */
	struct etw_canary *canary; /* NULL: none */
	void (*on_fault)(const char *reason); /* NULL: none */
	struct etw_session_changes *changes;  /* NULL: none */
	bool (*wants_memory)(void *context);  /* see include/etw/session.h */
	void *memory_context;
	/* For tests; see include/etw/session.h. */
	uint32_t watch_ms;
	uint32_t retry_ms;
	uint32_t stop_grace_ms;
	uint32_t snapshot_ms;
};

/* The objects that a live session needs in addition to its source. Zero-initialise it. */
struct live_session {
	const char *name;           /* of the options */
	const struct family *delay; /* of its canaries */
	cell *delay_cells;
	struct shard *shard;
	struct etw_tdh *tdh; /* owned */
	bool names_only;     /* see struct live_providers */
};

/*
 * Starts the session; its later events are logged. The caller keeps *session at the same address
 * until the source is closed, and then calls live_session_done(), on failure too.
 */
struct etw_source *live_session_open(struct live_session *session,
				     const struct live_session_options *options,
				     struct etw_error *err);
void live_session_done(struct live_session *session);

/*
 * Prepares the change of a running session to the providers and kernel events that the
 * configuration and the rules of the options require; its other settings stay. The caller passes
 * the result to etw_live_change_apply() (include/etw/session.h). *names_only as in struct
 * live_providers. Returns NULL on failure; the session is unchanged.
 */
struct etw_live_change *live_session_prepare(struct etw_source *source,
					     const struct live_session_options *options,
					     bool *names_only, struct etw_error *err);

#endif
