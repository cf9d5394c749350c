/* SPDX-License-Identifier: MIT */
/*
 * Providers as texts, right and wrong, and which of them request the same events: a reload enables
 * a provider again only if it is not the same.
 */
#include "lib/source/provider_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void every_part_is_read(void **state)
{
	struct etw_provider_spec spec;

	(void)state;
	assert_true(etw_provider_spec_parse(&spec, "Contoso:4:7,65535:0x10:0x20", NULL));
	assert_string_equal(spec.name, "Contoso");
	assert_true(etw_provider_spec_nameless(&spec)); /* the GUID is found later */
	assert_int_equal(spec.level, 4);
	assert_int_equal(spec.id_count, 2);
	assert_int_equal(spec.ids[0], 7);
	assert_int_equal(spec.ids[1], 65535);
	assert_true(spec.any == 0x10 && spec.all == 0x20);
	etw_provider_spec_done(&spec);

	assert_true(
		etw_provider_spec_parse(&spec, "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}::::", NULL));
	assert_null(spec.name);
	assert_false(etw_provider_spec_nameless(&spec));
	assert_int_equal(spec.level, ETW_PROVIDER_LEVEL_DEFAULT);
	assert_int_equal(spec.id_count, 0);
	assert_true(spec.any == UINT64_MAX && spec.all == 0);
	etw_provider_spec_done(&spec);
}

static void a_wrong_part_is_named(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "", "'' is not the name or GUID of a provider" },
		{ ":4", "':4' is not the name or GUID of a provider" },
		{ "{1c95126e}", "'{1c95126e}' is not the name or GUID of a provider" },
		{ "{00000000-0000-0000-0000-000000000000}",
		  "'{00000000-0000-0000-0000-000000000000}' is not the name or GUID of a provider" },
		{ "A:x", "the level in 'A:x' is not a number from 0 to 255" },
		{ "A:256", "the level in 'A:256' is not a number from 0 to 255" },
		{ "A:4:1,65536", "an id in 'A:4:1,65536' is not a number from 0 to 65535" },
		{ "A:4:1,,2", "an id in 'A:4:1,,2' is not a number from 0 to 65535" },
		{ "A:4::0x10000000000000000",
		  "KEYWORDS in 'A:4::0x10000000000000000' is not a number of 64 bits" },
		{ "A:4::1:-1", "ALL in 'A:4::1:-1' is not a number of 64 bits" },
		{ "A:4::1:1:1", "'A:4::1:1:1' has too many parts" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_provider_spec spec;
		struct etw_error err = { 0 };

		assert_false(etw_provider_spec_parse(&spec, cases[i].text, &err));
		assert_string_equal(err.text, cases[i].sentence);
		etw_provider_spec_done(&spec);
	}
}

static void windows_takes_so_many_ids(void **state)
{
	char text[512] = "A:4:1", sentence[600];
	struct etw_provider_spec spec;
	struct etw_error err = { 0 };

	(void)state;
	for (unsigned id = 2; id <= ETW_PROVIDER_IDS_MAX; id++) {
		snprintf(text + strlen(text), sizeof text - strlen(text), ",%u", id);
	}
	assert_true(etw_provider_spec_parse(&spec, text, &err));
	assert_int_equal(spec.id_count, ETW_PROVIDER_IDS_MAX);
	etw_provider_spec_done(&spec);
	strcat(text, ",65");
	assert_false(etw_provider_spec_parse(&spec, text, &err));
	snprintf(sentence, sizeof sentence, "'%s' has more than 64 ids", text);
	assert_string_equal(err.text, sentence);
	etw_provider_spec_done(&spec);
}

/* ---- comparing ---- */

static char *copy_of(const char *text)
{
	char *copy = malloc(strlen(text) + 1);

	assert_non_null(copy);
	return strcpy(copy, text);
}

/* A provider with something in every member. */
static struct etw_provider_spec full_spec(void)
{
	struct etw_provider_spec spec;

	assert_true(etw_provider_spec_parse(
		&spec, "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}:4:7:0x10:0x20", NULL));
	spec.executables = copy_of("a.exe;b.exe");
	assert_true(etw_provider_spec_argument(&spec, "Interval", "10", NULL));
	spec.process_ids[spec.process_id_count++] = 100;
	spec.payload = calloc(1, sizeof *spec.payload);
	assert_non_null(spec.payload);
	spec.payload_count = 1;
	spec.payload[0] = (struct etw_payload_filter){ .event = 7, .condition_count = 2 };
	for (size_t i = 0; i < 2; i++) {
		spec.payload[0].conditions[i] = (struct etw_payload_condition){
			.field = copy_of(i == 0 ? "Size" : "Name"),
			.op = i == 0 ? ETW_PAYLOAD_BETWEEN : ETW_PAYLOAD_CONTAINS,
			.value = copy_of(i == 0 ? "1,5" : "x"),
		};
	}
	return spec;
}

static void change_level(struct etw_provider_spec *spec)
{
	spec->level = 5;
}

static void change_any(struct etw_provider_spec *spec)
{
	spec->any++;
}

static void change_all(struct etw_provider_spec *spec)
{
	spec->all++;
}

static void change_id(struct etw_provider_spec *spec)
{
	spec->ids[0]++;
}

static void drop_id(struct etw_provider_spec *spec)
{
	spec->id_count = 0;
}

static void exclude_ids(struct etw_provider_spec *spec)
{
	spec->ids_out = true;
}

static void change_process(struct etw_provider_spec *spec)
{
	spec->process_ids[0]++;
}

static void drop_process(struct etw_provider_spec *spec)
{
	spec->process_id_count = 0;
}

static void change_executables(struct etw_provider_spec *spec)
{
	spec->executables[0] = 'c';
}

static void drop_executables(struct etw_provider_spec *spec)
{
	free(spec->executables);
	spec->executables = NULL;
}

static void change_argument(struct etw_provider_spec *spec)
{
	spec->arguments[9] = '2';
}

static void add_argument(struct etw_provider_spec *spec)
{
	assert_true(etw_provider_spec_argument(spec, "Other", "", NULL));
}

static void drop_arguments(struct etw_provider_spec *spec)
{
	free(spec->arguments);
	spec->arguments = NULL;
	spec->arguments_size = 0;
}

static void change_properties(struct etw_provider_spec *spec)
{
	spec->properties = ETW_PROVIDER_STACK;
}

static void change_guid(struct etw_provider_spec *spec)
{
	spec->guid.bytes[15]++;
}

static void capture_at_start(struct etw_provider_spec *spec)
{
	spec->capture_at_start = 1;
}

static void capture_at_stop(struct etw_provider_spec *spec)
{
	spec->capture_at_stop = 1;
}

static void capture_often(struct etw_provider_spec *spec)
{
	spec->capture_every_ms = 1000;
}

static void filter_another_event(struct etw_provider_spec *spec)
{
	spec->payload[0].event++;
}

static void filter_by_any(struct etw_provider_spec *spec)
{
	spec->payload[0].any = true;
}

static void filter_another_field(struct etw_provider_spec *spec)
{
	spec->payload[0].conditions[1].field[0] = 'n';
}

static void filter_otherwise(struct etw_provider_spec *spec)
{
	spec->payload[0].conditions[1].op = ETW_PAYLOAD_CONTAINS_NOT;
}

static void filter_another_value(struct etw_provider_spec *spec)
{
	spec->payload[0].conditions[0].value[2] = '6';
}

static void drop_filter(struct etw_provider_spec *spec)
{
	payload_filter_done(&spec->payload[0]);
	spec->payload_count = 0;
}

/* payload_filter_done() frees the conditions that are counted. */
static void drop_condition(struct etw_provider_spec *spec)
{
	free(spec->payload[0].conditions[1].field);
	free(spec->payload[0].conditions[1].value);
	spec->payload[0].condition_count = 1;
}

static void every_difference_is_one(void **state)
{
	static void (*const changes[])(struct etw_provider_spec * spec) = {
		change_level,
		change_any,
		change_all,
		change_id,
		drop_id,
		exclude_ids,
		change_process,
		drop_process,
		change_executables,
		drop_executables,
		change_argument,
		add_argument,
		drop_arguments,
		change_properties,
		change_guid,
		capture_at_start,
		capture_at_stop,
		capture_often,
		filter_another_event,
		filter_by_any,
		drop_filter,
		filter_another_field,
		filter_otherwise,
		drop_condition,
		filter_another_value,
	};
	struct etw_provider_spec spec = full_spec();

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		struct etw_provider_spec other;

		assert_true(provider_spec_copy(&other, &spec));
		assert_true(provider_spec_equal(&spec, &other));
		changes[i](&other);
		if (provider_spec_equal(&spec, &other) || provider_spec_equal(&other, &spec)) {
			fail_msg("change %zu", i);
		}
		etw_provider_spec_done(&other);
	}
	etw_provider_spec_done(&spec);
}

/* Names and values, each with its NUL: so an EventSource reads them (dotnet/runtime,
 * EventProvider.cs, ParseFilterData). */
static void arguments_are_names_and_values_with_a_nul_each(void **state)
{
	static const char expected[] = "EventCounterIntervalSec\0"
				       "10\0"
				       "Empty\0";
	struct etw_provider_spec spec;

	(void)state;
	etw_provider_spec_init(&spec);
	assert_null(spec.arguments);
	assert_true(etw_provider_spec_argument(&spec, "EventCounterIntervalSec", "10", NULL));
	assert_true(etw_provider_spec_argument(&spec, "Empty", "", NULL));
	assert_int_equal(spec.arguments_size, sizeof expected);
	assert_memory_equal(spec.arguments, expected, sizeof expected);
	etw_provider_spec_done(&spec);
	assert_null(spec.arguments);
}

/* MAX_EVENT_FILTER_DATA_SIZE of evntprov.h. */
static void more_arguments_than_windows_takes_are_refused(void **state)
{
	struct etw_provider_spec spec;
	struct etw_error err;
	char value[1024];

	(void)state;
	memset(value, 'x', sizeof value);
	etw_provider_spec_init(&spec);
	value[1021] = '\0'; /* with "a", its NUL and this NUL: 1024 bytes */
	assert_true(etw_provider_spec_argument(&spec, "a", value, NULL));
	assert_int_equal(spec.arguments_size, 1024);
	assert_false(etw_provider_spec_argument(&spec, "", "", &err));
	assert_string_equal(err.text,
			    "arguments: names and values, each with a NUL, have more than "
			    "1024 bytes, which is all that Windows takes");
	assert_int_equal(spec.arguments_size, 1024);
	etw_provider_spec_done(&spec);
	value[1021] = 'x';
	value[1022] = '\0';
	assert_false(etw_provider_spec_argument(&spec, "a", value, NULL));
	assert_false(etw_provider_spec_argument(&spec, value, "", NULL) &&
		     etw_provider_spec_argument(&spec, "", "", NULL));
	etw_provider_spec_done(&spec);
}

static void names_are_not_compared(void **state)
{
	struct etw_provider_spec spec = full_spec(), other;

	(void)state;
	assert_true(provider_spec_copy(&other, &spec));
	assert_true(etw_provider_spec_name(&other, "Contoso", 7, NULL));
	assert_true(provider_spec_equal(&spec, &other));
	etw_provider_spec_done(&other);
	etw_provider_spec_done(&spec);
}

static void without_a_name_the_label_is_the_guid(void **state)
{
	struct etw_provider_spec spec = full_spec();
	char text[64];

	(void)state;
	assert_string_equal(etw_provider_spec_label(&spec, text),
			    "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}");
	assert_true(etw_provider_spec_name(&spec, "Contoso", 7, NULL));
	assert_string_equal(etw_provider_spec_label(&spec, text), "Contoso");
	etw_provider_spec_done(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_is_read),
		cmocka_unit_test(a_wrong_part_is_named),
		cmocka_unit_test(windows_takes_so_many_ids),
		cmocka_unit_test(every_difference_is_one),
		cmocka_unit_test(arguments_are_names_and_values_with_a_nul_each),
		cmocka_unit_test(more_arguments_than_windows_takes_are_refused),
		cmocka_unit_test(names_are_not_compared),
		cmocka_unit_test(without_a_name_the_label_is_the_guid),
	};

	return cmocka_run_group_tests_name("provider_spec", tests, NULL, NULL);
}
