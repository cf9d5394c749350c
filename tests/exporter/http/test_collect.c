/* SPDX-License-Identifier: MIT */
/*
 * collect[] and exclude[]: which families a scrape has, and which queries are refused.
 */
#include "exporter/http/negotiate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/exact_copy.h"

/* Families by a letter each, in the order of `letters`. */
static const struct {
	const char *name;
	char letter;
} families[] = {
	{ "etw_file_read_bytes_total", 'r' }, /* of file */
	{ "etw_file_operations_total", 'o' }, /* of file and file_other */
	{ "etw_disk_read_bytes_total", 'd' }, /* of disk */
	{ "etw_exporter_build_info", 'x' },
	{ "process_cpu_seconds_total", 'p' },
	{ "etw_session_up", 's' },
	{ "etw_process_starts_total", 'S' }, /* of no collector here; not one of the process */
};

enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

struct fixture {
	struct registry *registry;
	struct family *families[FAMILY_COUNT];
	struct http_options options;
	unsigned visits;
};

static void visit_all(void *context, scrape_collector_visit *visit, void *visitor)
{
	struct fixture *fixture = context;

	fixture->visits++;
	visit(visitor, "cpu", false, NULL);
	visit(visitor, "disk", true, NULL);
	visit(visitor, "disk", true, fixture->families[2]);
	visit(visitor, "file", true, NULL);
	visit(visitor, "file", true, fixture->families[0]);
	visit(visitor, "file", true, fixture->families[1]);
	visit(visitor, "file", true, fixture->families[0]);
	visit(visitor, "file_other", true, NULL);
	visit(visitor, "file_other", true, fixture->families[1]);
}

static int set_up(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){
		.registry = registry_new(NULL, NULL),
		.options = { .collectors = visit_all, .collectors_context = &fixture },
	};
	for (size_t i = 0; i < FAMILY_COUNT; i++) {
		const struct family_options options = { .name = families[i].name,
							.help = "H.",
							.type = FAMILY_COUNTER };

		fixture.families[i] = registry_family(fixture.registry, &options, NULL);
		assert_non_null(fixture.families[i]);
	}
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	registry_free(fixture->registry);
	return 0;
}

/* Fails unless a query is answered with these families. */
static void expect_families(struct fixture *fixture, const char *query, const char *letters)
{
	char found[FAMILY_COUNT + 1], *end = found;
	char *copy = query ? exact_copy(query, strlen(query) + 1) : NULL;
	struct collect collect;
	struct etw_text why = { 0 };
	int status = collect_init(&collect, copy, &fixture->options, &why);

	if (status != 200) {
		fail_msg("%s: %d, %s", query, status, why.data);
	}
	for (size_t i = 0; i < FAMILY_COUNT; i++) {
		if (collect_includes(&collect, fixture->families[i])) {
			*end++ = families[i].letter;
		}
	}
	*end = '\0';
	if (strcmp(found, letters) != 0) {
		fail_msg("%s: families %s instead of %s", query ? query : "(none)", found, letters);
	}
	collect_done(&collect);
	text_free(&why);
	free(copy);
}

static void expect_refusal(struct fixture *fixture, const char *query, const char *sentence)
{
	struct collect collect;
	struct etw_text why = { 0 };
	int status = collect_init(&collect, query, &fixture->options, &why);

	if (status != 400 || !why.data || strcmp(why.data, sentence) != 0) {
		fail_msg("%s: %d, %s", query, status, why.data ? why.data : "(no sentence)");
	}
	collect_done(&collect);
	text_free(&why);
}

static void without_parameters_of_ours_every_family_is_there(void **state)
{
	static const char *const queries[] = {
		NULL,
		"",
		"x=y",
		"name[]=etw_session_up",
		"collect=disk",
		"&&&=&",
		"collect",
		"Collect[]=disk",
		"collect[]x=disk",
		"%zz=1",
		"%00=1",
		"%63ollec",
		"exclude=file",
		"x=collect[]=disk",
		"xcollect[]=disk",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
		expect_families(fixture, queries[i], "rodxpsS");
	}
	assert_int_equal(fixture->visits, 0); /* the usual scrape costs nothing */
}

static void collect_has_the_families_of_the_named_collectors(void **state)
{
	expect_families(*state, "collect[]=disk", "d");
	expect_families(*state, "collect[]=file", "ro");
	expect_families(*state, "collect[]=file_other", "o");
	expect_families(*state, "collect[]=disk&collect[]=file_other", "od");
	expect_families(*state, "collect[]=disk&collect[]=disk", "d");
	expect_families(*state, "x=1&collect[]=disk&y=2", "d");
	expect_families(*state, "collect[]=exporter", "xp");
	expect_families(*state, "collect[]=health", "sS");
	expect_families(*state, "collect[]=health&collect[]=exporter&collect[]=disk", "dxpsS");
}

static void exclude_leaves_out_what_no_other_collector_has(void **state)
{
	expect_families(*state, "exclude[]=disk", "roxpsS");
	expect_families(*state, "exclude[]=file", "odxpsS");
	expect_families(*state, "exclude[]=file_other", "rodxpsS");
	expect_families(*state, "exclude[]=file&exclude[]=file_other", "dxpsS");
	expect_families(*state, "exclude[]=exporter", "rodsS");
	expect_families(*state, "exclude[]=health&exclude[]=exporter", "rod");
	/* It is left out already. */
	expect_families(*state, "exclude[]=cpu", "rodxpsS");
}

static void parameters_are_decoded(void **state)
{
	expect_families(*state, "collect%5B%5D=disk", "d");
	expect_families(*state, "collect%5b%5d=%64%69%73%6B", "d");
	expect_families(*state, "%63ollect[]=disk", "d");
	expect_refusal(*state, "collect[]=disk+",
		       "Unknown collector 'disk '. Valid are: disk, file, file_other, exporter, "
		       "health.");
}

static void exporter_metrics_can_be_left_out_for_all(void **state)
{
	struct fixture *fixture = *state;

	fixture->options.disable_exporter_metrics = true;
	expect_families(fixture, NULL, "rodsS");
	expect_families(fixture, "collect[]=health", "sS");
	expect_families(fixture, "exclude[]=disk", "rosS");
	expect_families(fixture, "exclude[]=exporter", "rodsS");
	expect_refusal(fixture, "collect[]=exporter",
		       "Collector 'exporter' is off. Valid are: disk, file, file_other, health.");
}

static void wrong_names_are_refused_with_the_valid_ones(void **state)
{
#define VALID "Valid are: disk, file, file_other, exporter, health."
	expect_refusal(*state, "collect[]=fiel", "Unknown collector 'fiel'. " VALID);
	expect_refusal(*state, "exclude[]=fiel", "Unknown collector 'fiel'. " VALID);
	expect_refusal(*state, "collect[]=", "Unknown collector ''. " VALID);
	expect_refusal(*state, "collect[]", "Unknown collector ''. " VALID);
	expect_refusal(*state, "collect[]=Disk", "Unknown collector 'Disk'. " VALID);
	expect_refusal(*state, "collect[]=disk&collect[]=cpu", "Collector 'cpu' is off. " VALID);
	expect_refusal(*state, "collect[]=%1b[2J%e2%80%ae",
		       "Unknown collector '\\u001b[2J\\u202e'. " VALID);
#undef VALID
}

static void contradictions_and_bad_codes_are_refused(void **state)
{
	static const char *const codes[] = { "collect[]=%", "collect[]=%4", "collect[]=%zz",
					     "collect[]=a%00", "exclude[]=%g0" };

	expect_refusal(*state, "collect[]=disk&exclude[]=file",
		       "collect[] and exclude[] cannot be combined.");
	expect_refusal(*state, "exclude[]=disk&x=1&collect[]=disk",
		       "collect[] and exclude[] cannot be combined.");
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		expect_refusal(*state, codes[i], "A percent code in the query is not valid.");
	}
}

static void a_great_many_names_are_refused(void **state)
{
	struct etw_text query = { 0 };

	for (int i = 0; i < 256; i++) {
		text_add_string(&query, "collect[]=disk&");
	}
	expect_families(*state, query.data, "d");
	text_add_string(&query, "collect[]=disk");
	expect_refusal(*state, query.data, "The query has more than 256 names of collectors.");
	text_free(&query);
}

#define with_families(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_families(without_parameters_of_ours_every_family_is_there),
		with_families(collect_has_the_families_of_the_named_collectors),
		with_families(exclude_leaves_out_what_no_other_collector_has),
		with_families(parameters_are_decoded),
		with_families(exporter_metrics_can_be_left_out_for_all),
		with_families(wrong_names_are_refused_with_the_valid_ones),
		with_families(contradictions_and_bad_codes_are_refused),
		with_families(a_great_many_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
