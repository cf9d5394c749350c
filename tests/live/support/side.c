/* SPDX-License-Identifier: MIT */
#include "tests/live/support/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics/exposition.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/support/every_collector.h"
#include "tests/support/temporary.h"

static bool add_chunk(void *context, const char *bytes, size_t size)
{
	text_add(context, bytes, size);
	return true;
}

void take_page(struct side *side)
{
	text_clear(&side->page);
	assert_true(exposition_write(side->registry, add_chunk, &side->page) > 0);
}

struct config *config_of(const char *text)
{
	char path[TEMPORARY_PATH_SIZE];
	struct error err = { 0 };
	struct config *config;

	temporary_path(path, "yaml");
	temporary_write(path, text, strlen(text));
	config = config_load(path, &err);
	remove(path);
	assert_string_equal(err.text, "");
	return config;
}

void open_side(struct side *side, const char *config)
{
	struct error err = { 0 };

	memset(side, 0, sizeof *side);
	assert_true(configured_manifests_add_builtin(&side->manifests, &err));
	side->config = config_of(config);
	side->registry = registry_new(&(struct registry_limits){ 0 }, NULL);
	assert_non_null(side->registry);
	side->rules = every_collector(side->config, side->registry);
}

void close_side(struct side *side)
{
	health_free(side->health);
	replay_free(side->replay);
	live_free(side->live);
	rule_set_free(side->rules);
	configured_manifests_done(&side->manifests);
	registry_free(side->registry);
	config_free(side->config);
	text_free(&side->page);
}

static void open_watched(struct side *side, uint32_t watch_ms)
{
	const struct live_runner_options options = { .registry = side->registry,
						     .rules = side->rules,
						     .config = side->config,
						     .manifests = side->manifests,
						     .watch_ms = watch_ms,
						     .retry_ms = 10 };
	struct error err = { 0 };

	side->live = live_new(&options, &err);
	assert_string_equal(err.text, "");
	side->health = health_new_live(side->registry, side->live, side->rules, &err);
	assert_non_null(side->health);
	assert_true(live_start(side->live, &err));
}

void open_live(struct side *side)
{
	open_watched(side, 20);
}

void open_live_unwatched(struct side *side)
{
	open_watched(side, 3600000);
}

void run_replay(struct side *side, const char *path, bool single_pass)
{
	const struct replay_options options = { .paths = &path,
						.path_count = 1,
						.file = { .single_pass = single_pass },
						.registry = side->registry,
						.rules = side->rules,
						.config = side->config,
						.manifests = side->manifests };
	struct error err = { 0 };

	side->replay = replay_new(&options, &err);
	assert_string_equal(err.text, "");
	side->health = health_new(side->registry, side->replay, side->rules, &err);
	assert_non_null(side->health);
	assert_true(replay_run(side->replay, &err));
	take_page(side);
}

uint64_t value_of(struct side *side, const char *line)
{
	const char *at;

	take_page(side);
	at = strstr(side->page.data, line);
	assert_non_null(at);
	return strtoull(at + strlen(line), NULL, 10);
}

void begin_live(struct side *side, const char *config)
{
	static const struct fake_etw_options machine = { .manual_flush = true };

	fake_etw_reset(&machine);
	open_side(side, config);
}

void end_live(struct side *side)
{
	live_stop(side->live);
	live_join(side->live);
	close_side(side);
	assert_int_equal(fake_etw_open_things().sessions, 0);
	assert_int_equal(fake_etw_open_things().traces, 0);
	assert_int_equal(fake_etw_open_things().registrations, 0);
}
