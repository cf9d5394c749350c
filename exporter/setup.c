/* SPDX-License-Identifier: MIT */
#include "exporter/setup.h"

#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>

#include "config/yaml.h"

bool setup_add_switch(struct config_switch **switches, size_t *count, const char *argument,
		      struct etw_error *err)
{
	const char *collector = strchr(argument, '.') + 1;
	struct config_switch *grown = realloc(*switches, (*count + 1) * sizeof *grown);
	char *name = text_duplicate(collector, strlen(collector));

	if (grown) {
		*switches = grown;
	}
	if (!grown || !name) {
		free(name);
		return error_set(err, ETW_ERROR_NO_MEMORY, "no memory for the command line");
	}
	grown[(*count)++] = (struct config_switch){
		.collector = name,
		.on = strncmp(argument, "--no-", 5) != 0,
	};
	return true;
}

/* Returns whether the name is that of a recording. lib/etl/packed.h unpacks files that have a
 * further ending after ".etl". */
static bool is_recording(const char *path)
{
	return text_ends_nocase(path, strlen(path), ".etl", 4) || strstr(path, ".etl.") != NULL;
}

struct config *setup_config(const char *path, struct problems *problems, struct etw_error *err)
{
	if (path && is_recording(path)) {
		error_set(err, ETW_ERROR_CONFIG,
			  "%s is a recording; --config.file takes a configuration (.yaml)", path);
		return NULL;
	}
	return path ? config_load(path, problems, err) : config_default(err);
}

static void note_warning(void *context, const char *sentence)
{
	problems_add_file(context, sentence, true);
}

static bool add_manifests(struct etw_configured_manifests *manifests,
			  const struct file_list *schemas, struct etw_error *err)
{
	for (size_t i = 0; i < schemas->count; i++) {
		if (!etw_configured_manifests_add(manifests, schemas->paths[i],
						  schemas->by_pattern[i], err)) {
			return false;
		}
	}
	return etw_configured_manifests_add_builtin(manifests, err);
}

static bool load_manifests(struct setup *setup, const struct setup_options *options,
			   struct etw_error *err)
{
	struct etw_configured_manifests *manifests = options->manifests ? options->manifests :
									  &setup->manifests;
	struct problems *problems = yaml_problems(setup->config->tree);
	struct etw_manifest_warnings warnings = manifests->warnings;
	bool loaded;

	setup->manifests_borrowed = options->manifests != NULL;
	manifests->warnings = (struct etw_manifest_warnings){ note_warning, problems };
	loaded = options->no_manifests || add_manifests(manifests, &setup->config->schemas, err);
	manifests->warnings = warnings;
	if (!loaded) {
		if (err->code == ETW_ERROR_CONFIG) {
			problems_add_file(problems, err->text, false);
		}
		return false;
	}
	setup->manifests = *manifests;
	return true;
}

static struct registry_limits limits_of(const struct setup *setup)
{
	return (struct registry_limits){
		.series_per_family = setup->config->limits.series_per_family,
		.series = setup->config->limits.series,
		.strings_bytes = setup->config->limits.strings_bytes,
		.native_histograms = setup->config->native_histograms,
		.idle_100ns = setup->config->limits.idle_ms * 10000,
	};
}

static bool load_rules(struct setup *setup, const struct setup_options *options,
		       struct etw_error *err)
{
	const struct registry_limits limits = limits_of(setup);
	const struct rule_set_options rules = {
		.config = setup->config,
		.manifests = setup->manifests,
		.switches = options->switches,
		.switch_count = options->switch_count,
		.disable_defaults = options->disable_defaults,
		.every_collector = options->every_collector,
		.skip_off = options->skip_off,
		.collectors = options->collectors,
		.collector_count = options->collector_count,
		.prepare = setup->registry != NULL,
	};

	if (!setup->registry) {
		setup->registry = registry_new(&limits, err);
	}
	setup->rules = setup->registry ? rule_set_new(&rules, setup->registry, err) : NULL;
	return setup->rules != NULL;
}

static bool load_process_names(struct setup *setup, struct etw_error *err)
{
	if (setup->config->process_name_count == 0) {
		return true;
	}
	setup->process_names = process_names_new(setup->config, err);
	return setup->process_names != NULL;
}

static void warn_of_idle_collectors(const struct setup *setup)
{
	const struct yaml_tree *tree = setup->config->tree;
	const struct collector_info *info;
	struct etw_text names = { 0 };

	for (size_t i = 0; (info = rule_set_collector(setup->rules, i)) != NULL; i++) {
		if (info->on && rule_set_only_kernel(setup->rules, i)) {
			text_add_format(&names, "%s%s", names.size > 0 ? ", " : "", info->name);
		}
	}
	if (names.size > 0 && !names.failed) {
		yaml_warning(tree, yaml_find(yaml_root(tree), "kernel_events"),
			     "with `kernel_events: off` these collectors count nothing, because "
			     "only kernel events report what they count: %s; turn them off under "
			     "`collectors:`",
			     names.data);
	}
	text_free(&names);
}

/* Makes the remaining parts of a set-up that has its configuration and may have borrowed a
 * registry. */
static bool open_rest(struct setup *setup, const struct setup_options *options,
		      struct etw_error *err)
{
	struct config *config = setup->config;
	struct etw_error why = { 0 };
	bool good;

	if (!config) {
		*setup = (struct setup){ .config = NULL };
		return false;
	}
	good = load_manifests(setup, options, &why) && load_rules(setup, options, &why) &&
	       load_process_names(setup, &why);
	if (good && !config->broken) {
		if (options->live && !config->kernel_events) {
			warn_of_idle_collectors(setup);
		}
		if (options->live) {
			rule_set_warn_of_needs(setup->rules, config, &setup->manifests);
		}
		return true;
	}
	if (good || why.code == ETW_ERROR_CONFIG) {
		problems_first_error(yaml_problems(config->tree), &why);
	}
	if (err) {
		*err = why;
	}
	setup_close(setup);
	return false;
}

bool setup_open(struct setup *setup, struct config *config, const struct setup_options *options,
		struct etw_error *err)
{
	*setup = (struct setup){ .config = config };
	return open_rest(setup, options, err);
}

bool setup_open_next(struct setup *setup, const struct setup *former, struct config *config,
		     const struct setup_options *options, struct etw_error *err)
{
	*setup = (struct setup){ .config = config,
				 .registry = former->registry,
				 .registry_borrowed = true };
	return open_rest(setup, options, err);
}

void setup_add_collectors(const struct setup *setup, struct etw_text *text)
{
	const struct collector_info *collector;

	for (size_t i = 0; (collector = rule_set_collector(setup->rules, i)) != NULL; i++) {
		if (collector->on) {
			text_add_format(text, "%s%s", text->size > 0 ? "," : "", collector->name);
		}
	}
}

void setup_tracker_options(const struct setup *setup, struct tracker_options *options)
{
	const struct config *config = setup->config;

	options->processes = config->limits.processes;
	options->threads = config->limits.threads;
	options->files = config->limits.files;
	options->shares = config->limits.shares;
	options->strings_bytes = config->limits.strings_bytes;
	options->process_names = setup->process_names;
	options->process_names_most = config->limits.process_names;
	options->path_groups = config->path_groups;
	options->path_group_count = config->path_group_count;
	options->lower_case = config->lower_case_processes;
	options->features = rule_set_features(setup->rules);
	options->process_gauges = rule_set_on(setup->rules, "process");
	options->process_memory = rule_set_on(setup->rules, "process_memory");
	options->disk_info = rule_set_on(setup->rules, "disk");
	options->image_info = rule_set_on(setup->rules, "image");
	options->process_info = rule_set_on(setup->rules, "process_info");
	options->features |= options->process_info ? TRACK_OWNERS : 0;
	options->disk_cause = rule_set_on(setup->rules, "disk_cause");
	options->top_paths = rule_set_on(setup->rules, "file_top");
	options->top_path_count = config->limits.top_paths;
}

uint32_t setup_kernel_subjects(const struct setup *setup)
{
	static const struct {
		uint32_t flag;
		enum kernel_subject subject;
	} rows[] = {
		{ ETW_KERNEL_FLAG_FILE_IO_INIT, SUBJECT_FILES },
		{ ETW_KERNEL_FLAG_NETWORK_TCPIP, SUBJECT_NETWORK },
		{ ETW_KERNEL_FLAG_PROCESS, SUBJECT_PROCESSES },
		{ ETW_KERNEL_FLAG_THREAD, SUBJECT_THREADS },
		{ ETW_KERNEL_FLAG_REGISTRY, SUBJECT_REGISTRY },
		{ ETW_KERNEL_FLAG_DISK_IO, SUBJECT_DISKS },
	};
	uint32_t flags = rule_set_kernel_flags(setup->rules), subjects = 0;

	for (size_t i = 0; setup->config->kernel_events && i < sizeof rows / sizeof rows[0]; i++) {
		subjects |= (flags & rows[i].flag) ? rows[i].subject : 0;
	}
	return subjects;
}

/* A list of the families of the rules and of the state gauges. */
struct families {
	struct family **list; /* owned */
	size_t count;
};

static bool list_families(const struct setup *setup, struct families *families,
			  struct etw_error *err)
{
	struct tracker_options tracker = { .registry = setup->registry };
	size_t room = 0, at = 0;
	struct family *family;

	while (rule_set_family(setup->rules, &at)) {
		room++;
	}
	families->list = calloc(room + TRACKER_GAUGES, sizeof(struct family *));
	if (!families->list) {
		return error_no_memory(err, "the families of a configuration");
	}
	at = 0;
	while ((family = rule_set_family(setup->rules, &at)) != NULL) {
		families->list[families->count++] = family;
	}
	setup_tracker_options(setup, &tracker);
	return tracker_prepare_gauges(setup->registry, &tracker, families->list, &families->count,
				      err);
}

bool setup_exchange(struct setup *former, struct setup *next, struct etw_error *err)
{
	const struct registry_limits limits = limits_of(next);
	struct families before = { .count = 0 }, after = { .count = 0 };
	bool good = list_families(former, &before, err) && list_families(next, &after, err) &&
		    registry_exchange(next->registry, before.list, before.count, after.list,
				      after.count, err);

	free(before.list);
	free(after.list);
	if (good) {
		registry_set_limits(next->registry, &limits);
		next->registry_borrowed = former->registry_borrowed;
		former->registry_borrowed = true;
	}
	return good;
}

void setup_close(struct setup *setup)
{
	rule_set_free(setup->rules);
	process_names_free(setup->process_names);
	if (!setup->registry_borrowed) {
		registry_free(setup->registry);
	}
	if (!setup->manifests_borrowed) {
		etw_configured_manifests_done(&setup->manifests);
	}
	config_free(setup->config);
	*setup = (struct setup){ .config = NULL };
}
