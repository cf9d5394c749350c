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
#include "exporter/track/names.h"
#include "exporter/track/tracker.h"
#include "metrics/registry.h"

/* What the command line sets. */
struct setup_options {
	/* Switches have precedence over the configuration; borrowed during setup_open(). */
	const struct config_switch *switches;
	size_t switch_count;
	bool disable_defaults; /* collectors are off unless they are switched on */
	bool every_collector;  /* collectors are on unless they are switched off */
	bool skip_off;         /* see struct rule_set_options */
	/* True: the sessions of the configuration will run, so collectors and rules that no session
	 * can feed cause a warning. */
	bool live;
	/* Further collectors in addition to the shipped ones; borrowed during setup_open(). */
	const struct builtin_file *collectors;
	size_t collector_count;
	/* True: no manifest is read; only those in `manifests` decode events. */
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
	bool registry_borrowed; /* another set-up owns it */
	struct rule_set *rules;
	struct process_names *process_names; /* owned; NULL: none */
};

/*
 * Adds the switch of the argument "--collector.NAME" or "--no-collector.NAME" to an array. The
 * caller owns the array and the names in it; the call may move the array. Returns false if there is
 * no memory.
 */
bool setup_add_switch(struct config_switch **switches, size_t *count, const char *argument,
		      struct etw_error *err);

/* Returns the configuration of a file (config_load()), or the built-in one if path is NULL. */
struct config *setup_config(const char *path, struct problems *problems, struct etw_error *err);

/*
 * Makes everything that the configuration requests. Takes ownership of config, on failure too.
 * config may be NULL: then the call fails with the error that err has already. If the configuration
 * is broken, its collectors are still checked before the call fails. err gets the first error; the
 * problems with which the configuration was read get all errors and warnings. On failure setup is
 * empty.
 */
bool setup_open(struct setup *setup, struct config *config, const struct setup_options *options,
		struct etw_error *err);
void setup_close(struct setup *setup); /* An empty set-up is fine. */

/*
 * Opens a set-up that will replace `former`, which is in use. The new set-up shares the registry of
 * `former`; its families are not shown until setup_exchange().
 */
bool setup_open_next(struct setup *setup, const struct setup *former, struct config *config,
		     const struct setup_options *options, struct etw_error *err);

/*
 * Shows the families of `next` in place of those of `former`, applies the series limits of `next`,
 * and makes it the owner of the registry. Consumers may use `former` until they take over `next`.
 * Returns false if two families would have the same name or there is no memory; then nothing has
 * changed.
 */
bool setup_exchange(struct setup *former, struct setup *next, struct etw_error *err);

/* Adds the names of the collectors that are on, separated by commas. */
void setup_add_collectors(const struct setup *setup, struct etw_text *text);

/* Sets the tracker options that the configuration determines; the other options stay. */
void setup_tracker_options(const struct setup *setup, struct tracker_options *options);

/* Returns the set of enum kernel_subject that the kernel reports to a live session of the
 * configuration. */
uint32_t setup_kernel_subjects(const struct setup *setup);

/*
 * Checks whether the rules of the flight recorder (`recorder:`) can fire (recorder_rules.c). Logs a
 * warning, with its place in the configuration, for each rule whose family the metrics page will
 * not have, or whose labels the family does not have. These are warnings and no errors: an exporter
 * that does not start because a metric was renamed would measure nothing at all.
 */
void recorder_rules_warn(const struct setup *setup);

#endif
