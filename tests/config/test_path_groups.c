/* SPDX-License-Identifier: MIT */
/*
 * Files by groups of paths: `path_groups:` of the configuration, the field PathGroup, the collector
 * file_groups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "tests/support/rule_run.h"
#include "tests/support/temporary.h"

static struct config *load(const char *text, struct etw_error *err)
{
	char path[TEMPORARY_PATH_SIZE];
	struct config *config;

	temporary_path(path, "yaml");
	temporary_write(path, text, strlen(text));
	config = config_load(path, NULL, err);
	remove(path);
	return config;
}

static void groups_are_read_in_their_order(void **state)
{
	struct etw_error err = { 0 };
	struct config *config =
		load("path_groups:\n"
		     "  - { name: logs, match: ['C:\\ProgramData\\**\\*.log', 'D:\\logs\\**'] }\n"
		     "  - { match: ['**'], name: the rest }\n",
		     &err);

	(void)state;
	assert_non_null(config);
	assert_int_equal(config->path_group_count, 2);
	assert_string_equal(config->path_groups[0].name, "logs");
	assert_int_equal(config->path_groups[0].glob_count, 2);
	assert_string_equal(config->path_groups[0].globs[0], "C:\\ProgramData\\**\\*.log");
	assert_string_equal(config->path_groups[0].globs[1], "D:\\logs\\**");
	assert_string_equal(config->path_groups[1].name, "the rest");
	assert_int_equal(config->path_groups[1].line, 3);
	config_free(config);
}

static void errors_name_file_line_and_column_of_path_groups(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "path_groups: logs\n", "1:14: path_groups: expected a list such as [a, b], found text" },
		{ "path_groups: [logs]\n", "1:15: path_groups: expected a map such as { a: b }, found text" },
		{ "path_groups: [{ name: a }]\n", "1:15: path_groups: 'match' is missing" },
		{ "path_groups: [{ match: ['**'] }]\n", "1:15: path_groups: 'name' is missing" },
		{ "path_groups: [{ name: a, matches: ['**'] }]\n",
		  "1:26: unknown key 'matches'; did you mean 'match'?" },
		{ "path_groups: [{ name: a, match: '**' }]\n",
		  "1:33: match: expected a list such as [a, b], found text" },
		{ "path_groups: [{ name: a, match: [] }]\n",
		  "1:33: match: from 1 to 256 patterns" },
		{ "path_groups:\n  - name: a\n    match: ['**', 'logs\\*']\n",
		  "3:19: match: 'logs\\*' can match no path: it begins with neither a drive "
		  "(C:\\), a backslash nor **\\" },
		{ "path_groups: [{ name: a, match: [''] }]\n",
		  "1:34: match: expected 1 to 255 bytes" },
		{ "path_groups: [{ name: '', match: ['**'] }]\n",
		  "1:23: name: expected 1 to 64 bytes" },
		{ "path_groups: [{ name: _none, match: ['**'] }]\n",
		  "1:23: name: '_none' begins with _, which is reserved for words such as _unknown" },
		{ "path_groups:\n- { name: a, match: ['**'] }\n- { name: a, match: ['**'] }\n",
		  "3:3: path_groups: two groups have this name (first in line 2)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_error err = { 0 };

		print_message("  %s", cases[i].text);
		assert_null(load(cases[i].text, &err));
		if (!strstr(err.text, cases[i].sentence)) {
			fail_msg("said: %s", err.text);
		}
	}
}

static void their_number_is_bounded(void **state)
{
	static const struct {
		unsigned groups, globs, size;
		const char *sentence; /* NULL: good */
	} cases[] = {
		{ PATH_GROUPS_MAX, PATH_GROUP_GLOBS_MAX / PATH_GROUPS_MAX, 255, NULL },
		{ PATH_GROUPS_MAX + 1, 1, 1, "path_groups: at most 64 groups" },
		{ 1, PATH_GROUP_GLOBS_MAX + 1, 1, "match: from 1 to 256 patterns" },
		{ 2, PATH_GROUP_GLOBS_MAX / 2 + 1, 1,
		  "match: more than 256 patterns in all path groups" },
		{ 1, 1, 256, "match: expected 1 to 255 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text text = { 0 };
		struct etw_error err = { 0 };
		struct config *config;

		text_add_string(&text, "path_groups:\n");
		for (unsigned group = 0; group < cases[i].groups; group++) {
			text_add_format(&text, "- name: group %u\n  match:\n", group);
			for (unsigned glob = 0; glob < cases[i].globs; glob++) {
				text_add_string(&text, "  - '*");
				for (unsigned at = 1; at < cases[i].size; at++) {
					text_add_char(&text, 'a');
				}
				text_add_string(&text, "'\n");
			}
		}
		config = load(text.data, &err);
		assert_int_equal(config != NULL, cases[i].sentence == NULL);
		if (cases[i].sentence && !strstr(err.text, cases[i].sentence)) {
			fail_msg("said: %s", err.text);
		}
		config_free(config);
		text_free(&text);
	}
}

/* ---- at work ---- */

enum { WRITER = 8 };

static void map_volume(struct rule_run *run, const char *nt_path, const char *dos_path)
{
	rule_run_event(run, "SysConfig/VolumeMapping");
	etw_payload_wstring(&run->payload, nt_path);
	etw_payload_wstring(&run->payload, dos_path);
	rule_run_feed(run);
}

static void name_file(struct rule_run *run, uint64_t key, const char *path)
{
	rule_run_event(run, "FileIo/Name");
	etw_payload_u64(&run->payload, key);
	etw_payload_wstring(&run->payload, path);
	rule_run_feed(run);
}

static void transfer(struct rule_run *run, const char *event, uint64_t key, uint32_t bytes,
		     uint32_t flags)
{
	rule_run_blank(run, event);
	rule_run_set(run, "FileKey", key);
	rule_run_set(run, "IoSize", bytes);
	rule_run_set(run, "IoFlags", flags);
	run->record.process_id = WRITER;
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

static void operation(struct rule_run *run, const char *event, uint64_t key)
{
	rule_run_blank(run, event);
	rule_run_set(run, "FileKey", key);
	run->record.process_id = WRITER;
	assert_int_not_equal(rule_run_feed(run), OUTCOME_UNDECODABLE);
}

static void files_count_in_the_first_group_that_has_their_path(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped_with(&run, "file_groups",
				   "path_groups:\n"
				   "- { name: logs, match: ['C:\\ProgramData\\**\\*.log'] }\n"
				   "- { name: c, match: ['c:\\**'] }\n"
				   "- { name: devices, match: ['\\Device\\*\\a'] }\n");
	rule_run_process(&run, "Process/Start", WRITER, "writer.exe", 0);
	map_volume(&run, "\\Device\\HarddiskVolume3\\", "C:\\");
	name_file(&run, 1, "\\Device\\HarddiskVolume3\\ProgramData\\x\\y\\A.LOG");
	name_file(&run, 2, "\\Device\\HarddiskVolume3\\ProgramData\\a.txt");
	name_file(&run, 3, "\\Device\\HarddiskVolume9\\a");
	name_file(&run, 4, "\\Device\\HarddiskVolume9\\b");
	name_file(&run, 5, "\\??\\C:\\b");
	for (uint64_t key = 1; key <= 6; key++) { /* nothing names file 6 */
		transfer(&run, "FileIo/Write", key, 100 * (uint32_t)key, 0);
		transfer(&run, "FileIo/Write", key, 10000, 2); /* paging */
		transfer(&run, "FileIo/Read", key, (uint32_t)key, 0);
	}
	operation(&run, "FileIo/Delete", 1);
	operation(&run, "FileIo/Rename", 2);
	operation(&run, "FileIo/Flush", 3);
	operation(&run, "FileIo/Flush", 4);
#define EXPECT(family, group, rest)                    \
	rule_run_expect(&run, family "{group=\"" group \
				     "\",process=\"writer\",provider=\"Windows Kernel\"" rest)
	EXPECT("etw_file_group_written_bytes_total", "logs", "} 100");
	EXPECT("etw_file_group_written_bytes_total", "c", "} 700");
	EXPECT("etw_file_group_written_bytes_total", "devices", "} 300");
	EXPECT("etw_file_group_written_bytes_total", "_unknown", "} 600");
	EXPECT("etw_file_group_read_bytes_total", "logs", "} 1");
	EXPECT("etw_file_group_read_bytes_total", "c", "} 7");
	EXPECT("etw_file_group_operations_total", "logs", ",operation=\"write\"} 2");
	EXPECT("etw_file_group_operations_total", "logs", ",operation=\"delete\"} 1");
	EXPECT("etw_file_group_operations_total", "c", ",operation=\"read\"} 2");
	EXPECT("etw_file_group_operations_total", "c", ",operation=\"rename\"} 1");
	EXPECT("etw_file_group_operations_total", "devices", ",operation=\"flush\"} 1");
#undef EXPECT
	rule_run_expect_none(&run, "etw_file_group_written_bytes_total{group=\"_none\"");
	rule_run_expect_none(&run, "etw_file_group_operations_total{group=\"_none\"");
	rule_run_close(&run);
}

/* A create is about the file that it opens. */
static void an_open_counts_for_the_path_it_names(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped_with(&run, "file_groups",
				   "path_groups: [{ name: d, match: ['D:\\*'] }]\n");
	map_volume(&run, "\\Device\\HarddiskVolume5", "D:");
	rule_run_event(&run, "FileIo/Create");
	etw_payload_u64(&run.payload, 0x1111);
	etw_payload_u64(&run.payload, 0x2222); /* FileObject */
	etw_payload_zeros(&run.payload, 16);
	etw_payload_wstring(&run.payload, "\\Device\\HarddiskVolume5\\new.txt");
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_expect(&run, "etw_file_group_operations_total{group=\"d\",process=\"System\","
			      "provider=\"Windows Kernel\",operation=\"create\"} 1");
	rule_run_close(&run);
}

static void a_mapping_that_comes_later_moves_a_file_to_its_group(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped_with(&run, "file_groups",
				   "path_groups: [{ name: d, match: ['D:\\**'] }]\n");
	name_file(&run, 1, "\\Device\\HarddiskVolume5\\a");
	transfer(&run, "FileIo/Write", 1, 100, 0);
	rule_run_expect_none(&run, "etw_file_group_written_bytes_total{");
	map_volume(&run, "\\Device\\HarddiskVolume5", "D:");
	transfer(&run, "FileIo/Write", 1, 10, 0);
	rule_run_expect(&run, "etw_file_group_written_bytes_total{group=\"d\",process=\"_unknown\","
			      "provider=\"Windows Kernel\"} 10");
	rule_run_close(&run);
}

static void without_groups_nothing_counts(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "file_groups");
	name_file(&run, 1, "\\Device\\HarddiskVolume5\\a");
	transfer(&run, "FileIo/Write", 1, 100, 0);
	transfer(&run, "FileIo/Write", 2, 100, 0);
	rule_run_expect_none(&run, "etw_file_group_operations_total{");
	rule_run_expect_none(&run, "etw_file_group_written_bytes_total{");
	rule_run_close(&run);
}

static void the_group_of_a_path_beyond_the_limit_is_unknown(void **state)
{
	enum { LIMIT = 1024 };
	struct rule_run run;
	char path[LIMIT + 2] = "C:\\";

	(void)state;
	rule_run_open_shipped_with(&run, "file_groups",
				   "path_groups: [{ name: all, match: ['**'] }]\n");
	memset(path + 3, 'a', LIMIT - 2);
	name_file(&run, 1, path);
	transfer(&run, "FileIo/Write", 1, 100, 0);
	rule_run_expect(
		&run, "etw_file_group_written_bytes_total{group=\"_unknown\",process=\"_unknown\","
		      "provider=\"Windows Kernel\"} 100");
	rule_run_expect(&run, "etw_consumer_ungrouped_paths_total{reason=\"long\"} 1");
	path[LIMIT] = '\0';
	name_file(&run, 2, path);
	transfer(&run, "FileIo/Write", 2, 10, 0);
	rule_run_expect(&run,
			"etw_file_group_written_bytes_total{group=\"all\",process=\"_unknown\","
			"provider=\"Windows Kernel\"} 10");
	rule_run_close(&run);
}

/*
 * A program that opens one path after another, against patterns that need the most work: only so
 * much is done in each second of event time, and a path that was left out has its turn later.
 */
static void the_work_of_a_second_is_bounded(void **state)
{
	enum { PATHS = 10, PATH_SIZE = 500, LITERAL = 240 };
	struct etw_text config = { 0 };
	struct rule_run run;

	(void)state;
	text_add_string(&config, "path_groups:\n- name: hard\n  match:\n");
	for (unsigned i = 0; i < 64; i++) {
		text_add_string(&config, "  - '**");
		for (unsigned j = 0; j < LITERAL; j++) {
			text_add_char(&config, 'a');
		}
		text_add_format(&config, "b%u*'\n", i);
	}
	text_add_string(&config, "- { name: easy, match: ['C:\\easy'] }\n");
	rule_run_open_shipped_with(&run, "file_groups", config.data);
	for (unsigned i = 0; i < PATHS; i++) {
		char path[PATH_SIZE + 1];

		memset(path, 'a', PATH_SIZE);
		path[PATH_SIZE] = '\0';
		memcpy(path, "C:\\", 3);
		path[PATH_SIZE - 1 - i] = 'c';
		name_file(&run, i + 1, path);
		transfer(&run, "FileIo/Write", i + 1, 1, 0);
	}
	rule_run_expect_none(&run, "etw_consumer_ungrouped_paths_total{reason=\"work\"} 0\n");
	name_file(&run, 1000, "C:\\easy");
	transfer(&run, "FileIo/Write", 1000, 10, 0);
	rule_run_expect_none(&run, "group=\"easy\"");
	run.record.raw_time += RUN_FREQUENCY;
	transfer(&run, "FileIo/Write", 1000, 10, 0);
	rule_run_expect(&run,
			"etw_file_group_written_bytes_total{group=\"easy\",process=\"_unknown\","
			"provider=\"Windows Kernel\"} 10");
	rule_run_close(&run);
	text_free(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_read_in_their_order),
		cmocka_unit_test(errors_name_file_line_and_column_of_path_groups),
		cmocka_unit_test(their_number_is_bounded),
		cmocka_unit_test(files_count_in_the_first_group_that_has_their_path),
		cmocka_unit_test(an_open_counts_for_the_path_it_names),
		cmocka_unit_test(a_mapping_that_comes_later_moves_a_file_to_its_group),
		cmocka_unit_test(without_groups_nothing_counts),
		cmocka_unit_test(the_group_of_a_path_beyond_the_limit_is_unknown),
		cmocka_unit_test(the_work_of_a_second_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
