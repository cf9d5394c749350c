/* SPDX-License-Identifier: MIT */
/*
 * The set-up of a run: configuration, manifests, registry and rules, made in this order and freed
 * in reverse. The program, the self-test, the tool and the tests all set up here, so they count
 * alike. Everything is finished before the first consumer starts and only read afterwards. A reload
 * makes another set-up with the same registry, which takes the place of the first as a whole.
 */
#ifndef EXPORTER_SETUP_H
#define EXPORTER_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#include <etw/manifest.h>

#include "base/error.h"
#include "base/text.h"
#include "config/config.h"
#include "config/problems.h"
#include "exporter/rules/rules.h"
#include "exporter/track/tracker.h"
#include "metrics/registry.h"

/* What the command line says. */
struct setup_options {
	/* They win over the configuration; borrowed during setup_open(). */
	const struct config_switch *switches;
	size_t switch_count;
	bool disable_defaults; /* collectors are off unless they are switched on */
	bool every_collector;  /* collectors are on unless they are switched off */
	/* The sessions of the configuration are to run: warns of collectors and rules that no
	 * session of it can feed. */
	bool live;
	/* Collectors of the caller, in addition to the shipped ones; borrowed during setup_open().
	 */
	const struct builtin_file *collectors;
	size_t collector_count;
	/* No manifest is read: events are decoded only with those that the caller gives here. */
	bool no_manifests;
	/* Manifests of the caller, borrowed until setup_close(); those of the configuration and the
	 * built-in ones are added to them. NULL: the set-up has its own. */
	struct etw_configured_manifests *manifests;
};

/* Zero-initialise it. */
struct setup {
	struct config *config; /* owned, as are registry and rules */
	struct etw_configured_manifests manifests;
	bool manifests_borrowed;
	struct registry *registry;
	bool registry_borrowed; /* of another set-up */
	struct rule_set *rules;
};

/*
 * Adds what "--collector.NAME" or "--no-collector.NAME" says to an array that the caller owns, with
 * its names. False without memory; the array may have moved.
 */
bool setup_add_switch(struct config_switch **switches, size_t *count, const char *argument,
		      struct etw_error *err);

/* The configuration of a file (config_load()), or the built-in one if path is NULL. */
struct config *setup_config(const char *path, struct problems *problems, struct etw_error *err);

/*
 * Makes everything that the configuration requests. Takes config, on failure too; config may be
 * NULL, which fails with the error that is set already. Of a broken configuration the collectors
 * are checked before it fails. err is the first error; the problems that the configuration was read
 * with have all of them, and warnings. On failure setup is empty.
 */
bool setup_open(struct setup *setup, struct config *config, const struct setup_options *options,
		struct etw_error *err);
void setup_close(struct setup *setup); /* An empty set-up is fine. */

/*
 * The same for a set-up that is to take the place of `former`, which is in use: it shares the
 * registry, and its families are not shown yet.
 */
bool setup_open_next(struct setup *setup, const struct setup *former, struct config *config,
		     const struct setup_options *options, struct etw_error *err);

/*
 * Shows the families of next in place of those of former, applies its limits of series, and gives
 * the registry to next. Consumers may go on with former until they take next over. False: two
 * families would have one name, or no memory; nothing has changed then.
 */
bool setup_exchange(struct setup *former, struct setup *next, struct etw_error *err);

/* Adds the names of the collectors that are on, with commas between. */
void setup_add_collectors(const struct setup *setup, struct etw_text *text);

/* What the configuration says about trackers; the rest of the options stays. */
void setup_tracker_options(const struct setup *setup, struct tracker_options *options);

/* Whether a live session of the configuration gets the kernel's FileIo requests. */
bool setup_enables_file_requests(const struct setup *setup);

#endif
