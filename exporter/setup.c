/* SPDX-License-Identifier: MIT */
#include "setup.h"

#include "config/yaml.h"

struct config *setup_config(const char *path, struct problems *problems, struct error *err)
{
	return path ? config_load(path, problems, err) : config_default(err);
}

static bool load_manifests(struct setup *setup, const struct setup_options *options,
			   struct error *err)
{
	struct configured_manifests *manifests = options->manifests ? options->manifests :
								      &setup->manifests;

	setup->manifests_borrowed = options->manifests != NULL;
	if (!options->no_manifests && !configured_manifests_load(manifests, setup->config, err)) {
		if (err->code == ERROR_CONFIG) {
			problems_add_file(yaml_problems(setup->config->tree), err->text);
		}
		return false;
	}
	setup->manifests = *manifests;
	return true;
}

static bool load_rules(struct setup *setup, const struct setup_options *options, struct error *err)
{
	const struct registry_limits limits = {
		.series_per_family = setup->config->limits.series_per_family,
		.series = setup->config->limits.series,
		.strings_bytes = setup->config->limits.strings_bytes,
		.native_histograms = setup->config->native_histograms,
		.budget = setup->config->limits.budget,
		.idle_100ns = setup->config->limits.idle_ms * 10000,
	};
	const struct rule_set_options rules = {
		.config = setup->config,
		.manifests = setup->manifests,
		.switches = options->switches,
		.switch_count = options->switch_count,
		.disable_defaults = options->disable_defaults,
		.every_collector = options->every_collector,
		.collectors = options->collectors,
		.collector_count = options->collector_count,
	};

	setup->registry = registry_new(&limits, err);
	setup->rules = setup->registry ? rule_set_new(&rules, setup->registry, err) : NULL;
	return setup->rules != NULL;
}

bool setup_open(struct setup *setup, struct config *config, const struct setup_options *options,
		struct error *err)
{
	struct error why = { 0 };
	bool good;

	*setup = (struct setup){ .config = config };
	if (!config) {
		return false;
	}
	good = load_manifests(setup, options, &why) && load_rules(setup, options, &why);
	if (good && !config->broken) {
		return true;
	}
	if (good || why.code == ERROR_CONFIG) {
		problems_first_error(yaml_problems(config->tree), &why);
	}
	if (err) {
		*err = why;
	}
	setup_close(setup);
	return false;
}

void setup_close(struct setup *setup)
{
	rule_set_free(setup->rules);
	registry_free(setup->registry);
	if (!setup->manifests_borrowed) {
		configured_manifests_done(&setup->manifests);
	}
	config_free(setup->config);
	*setup = (struct setup){ .config = NULL };
}
