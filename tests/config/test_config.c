/* SPDX-License-Identifier: MIT */
#include "config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "config/problems.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

/* A folder for the files of one test. */
static char folder[TEMPORARY_PATH_SIZE];

static int make_folder(void **state)
{
	(void)state;
	temporary_path(folder, "folder");
	return system_make_folder(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return system_remove_folder(folder) ? 0 : -1;
}

static void path_in(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	path_in(path, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *name)
{
	char path[128];

	path_in(path, name);
	remove(path);
}

static struct config *load(const char *text, struct etw_error *err)
{
	struct config *config;
	char path[128];

	*err = (struct etw_error){ 0 };
	write_file("etw.yaml", text);
	path_in(path, "etw.yaml");
	config = config_load(path, NULL, err);
	remove(path);
	return config;
}

static struct config *load_good(const char *text)
{
	struct etw_error err;
	struct config *config = load(text, &err);

	if (!config) {
		fail_msg("%s", err.text);
	}
	return config;
}

/* What is behind "folder/etw.yaml:" in the error. */
static void assert_refused(const char *text, const char *sentence)
{
	struct etw_error err;
	char start[128];

	assert_null(load(text, &err));
	snprintf(start, sizeof start, "%s/etw.yaml:", folder);
	assert_memory_equal(err.text, start, strlen(start));
	assert_string_equal(err.text + strlen(start), sentence);
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
}

static void assert_equal(const struct config *a, const struct config *b)
{
	assert_int_equal(a->switch_count, b->switch_count);
	assert_int_equal(a->collector_files.count, b->collector_files.count);
	assert_int_equal(a->include_process_count, b->include_process_count);
	assert_int_equal(a->exclude_process_count, b->exclude_process_count);
	assert_int_equal(a->dropped_event_count, b->dropped_event_count);
	assert_memory_equal(&a->limits, &b->limits, sizeof a->limits);
	assert_int_equal(a->lower_case_processes, b->lower_case_processes);
	assert_int_equal(a->log_level, b->log_level);
	assert_int_equal(a->log_format, b->log_format);
	assert_int_equal(a->listen_address_count, b->listen_address_count);
	for (size_t i = 0; i < a->listen_address_count; i++) {
		assert_string_equal(a->listen_addresses[i], b->listen_addresses[i]);
	}
	assert_string_equal(a->telemetry_path, b->telemetry_path);
}

static void the_defaults_are_those_of_the_page(void **state)
{
	struct etw_error err;
	struct config *config = config_default(&err);

	(void)state;
	assert_non_null(config);
	assert_string_equal(config->path, "");
	assert_int_equal(config->switch_count, 0);
	assert_int_equal(config->collector_files.count, 0);
	assert_int_equal(config->include_process_count, 0);
	assert_int_equal(config->exclude_process_count, 0);
	assert_int_equal(config->dropped_event_count, 0);
	assert_int_equal(config->limits.series_per_family, 2000);
	assert_int_equal(config->limits.series, 200000);
	assert_int_equal(config->limits.processes, 20000);
	assert_int_equal(config->limits.threads, 200000);
	assert_int_equal(config->limits.files, 200000);
	assert_int_equal(config->limits.top_paths, 20);
	assert_int_equal(config->limits.shares, 0);
	assert_int_equal(config->limits.strings_bytes, 64 << 20);
	assert_false(config->lower_case_processes);
	assert_int_equal(config->log_level, LOG_INFO);
	assert_int_equal(config->log_format, LOG_LOGFMT);
	assert_int_equal(config->listen_address_count, 1);
	assert_string_equal(config->listen_addresses[0], ":9189");
	assert_string_equal(config->telemetry_path, "/metrics");
	config_free(config);
}

static void the_shipped_file_says_the_defaults(void **state)
{
	struct etw_error err;
	struct config *shipped = config_load(SOURCE_DIR "/config/etw_exporter.yaml", NULL, &err);
	struct config *built_in = config_default(&err);

	(void)state;
	assert_non_null(shipped);
	assert_equal(shipped, built_in);
	config_free(shipped);
	config_free(built_in);
}

/* Every key of docs/rules.md that is not (later) is a word of the shipped file. */
static void the_shipped_file_has_every_key(void **state)
{
	static const char *const keys[] = {
		"\ncollectors:",
		"\ncollector_files:",
		"\nschemas:",
		"\nfilters:",
		"\n  processes:",
		"\n    include:",
		"\n    exclude:",
		"\n  events:",
		"\nlimits:",
		"\n  series_per_family:",
		"\n  series:",
		"\n  threads:",
		"\n  files:",
		"\n  strings:",
		"\nnative_histograms:",
		"\nprocess_case:",
		"\nsessions:",
		"\nlog:",
		"\n  level:",
		"\n  format:",
		"\nweb:",
		"\n  listen_addresses:",
		"\n  telemetry_path:",
	};
	static char text[16384];
	FILE *file = fopen(SOURCE_DIR "/config/etw_exporter.yaml", "r");
	size_t size;

	(void)state;
	assert_non_null(file);
	size = fread(text, 1, sizeof text - 1, file);
	text[size] = '\0';
	fclose(file);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		if (!strstr(text, keys[i])) {
			fail_msg("no key %s", keys[i] + 1);
		}
	}
}

static void collectors_are_switched(void **state)
{
	struct config *config =
		load_good("collectors: { disk: off, cpu: on, mine: true, file: false }\n");
	static const bool on[] = { false, true, true, false };
	static const char *const names[] = { "disk", "cpu", "mine", "file" };

	(void)state;
	assert_int_equal(config->switch_count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(config->switches[i].collector, names[i]);
		assert_int_equal(config->switches[i].on, on[i]);
		assert_int_equal(config->switches[i].line, 1);
	}
	assert_int_equal(config->switches[1].column, 26);
	config_free(config);
}

static void collector_files_are_found_beside_the_configuration(void **state)
{
	struct config *config;
	char path[128];

	(void)state;
	write_file("b.yaml", "");
	write_file("a.yaml", "");
	write_file("[ab].yaml", "");
	write_file("c.YAML", "");
	write_file(".d.yaml", "");
	config = load_good("collector_files: ['[ab].yaml', '*.none', '?.yaml', c.YAML, "
			   "'" SOURCE_DIR "/config/collectors/disk.yaml']\n");
	/* Brackets are no pattern; the file without one is taken as it is. */
	assert_int_equal(config->collector_files.count, 5);
	path_in(path, "[ab].yaml");
	assert_string_equal(config->collector_files.paths[0], path);
	path_in(path, "a.yaml");
	assert_string_equal(config->collector_files.paths[1], path);
	path_in(path, "b.yaml");
	assert_string_equal(config->collector_files.paths[2], path);
	path_in(path, "c.YAML");
	assert_string_equal(config->collector_files.paths[3], path);
	assert_string_equal(config->collector_files.paths[4],
			    SOURCE_DIR "/config/collectors/disk.yaml");
	config_free(config);
	remove_file("a.yaml");
	remove_file("b.yaml");
	remove_file("[ab].yaml");
	remove_file("c.YAML");
	remove_file(".d.yaml");
}

/* The sentence is about a file in the folder. */
static void assert_file_refused(const char *files, const char *place, const char *name,
				const char *what)
{
	char text[80], path[128], sentence[300];

	snprintf(text, sizeof text, "collector_files: [%s]\n", files);
	path_in(path, name);
	snprintf(sentence, sizeof sentence, "%s: collector_files: '%s'%s", place, path, what);
	assert_refused(text, sentence);
}

static void collector_files_are_files_that_are_called_yaml(void **state)
{
	static const char is_folder[] = " is a folder; 'folder.yaml/*.yaml' takes its files";
	char path[128];

	(void)state;
	path_in(path, "folder.yaml");
	assert_true(system_make_folder(path));
	write_file("a.yaml", "");
	write_file("a.yml", "");
	assert_file_refused("a.yaml, a.yml", "1:27", "a.yml", " is not called NAME.yaml");
	/* An empty one. */
	assert_file_refused("a.yaml, folder.yaml", "1:27", "folder.yaml", is_folder);
	write_file("folder.yaml/b.yaml", "");
	assert_file_refused("folder.yaml", "1:19", "folder.yaml", is_folder);
	/* No pattern can be in the name of a folder, so none is proposed. */
	assert_file_refused("'f*.yaml'", "1:19", "folder.yaml",
			    ", which 'f*.yaml' matches, is a folder");
	remove_file("folder.yaml/b.yaml");
	assert_true(system_remove_folder(path));
	remove_file("a.yaml");
	remove_file("a.yml");
}

static void more_files_than_the_most_are_refused_where_they_stand(void **state)
{
	struct etw_text text = { 0 };
	struct config *config;
	size_t size;

	(void)state;
	write_file("a.yaml", "");
	text_add_string(&text, "collector_files: [a.yaml");
	for (unsigned i = 1; i < 1024; i++) {
		text_add_string(&text, ",\n a.yaml");
	}
	size = text.size;
	text_add_string(&text, "]\n");
	config = load_good(text.data);
	assert_int_equal(config->collector_files.count, 1024);
	config_free(config);
	text.size = size;
	text_add_string(&text, ",\n '*.yaml']\n");
	assert_refused(text.data, "1025:2: collector_files: more than 1024 files");
	text_free(&text);
	remove_file("a.yaml");
}

static void schemas_are_found_beside_the_configuration(void **state)
{
	struct config *config;
	char path[128];

	(void)state;
	write_file("b.man", "");
	write_file("a.man", "");
	path_in(path, "manifests");
	assert_true(system_make_folder(path));
	config = load_good("schemas: ['?.man', manifests]\n");
	assert_int_equal(config->schemas.count, 3);
	path_in(path, "a.man");
	assert_string_equal(config->schemas.paths[0], path);
	path_in(path, "b.man");
	assert_string_equal(config->schemas.paths[1], path);
	path_in(path, "manifests");
	assert_string_equal(config->schemas.paths[2], path);
	config_free(config);
	remove_file("a.man");
	remove_file("b.man");
	assert_true(system_remove_folder(path));
}

static void keep_sentence(void *context, const char *sentence, bool warning)
{
	snprintf(context, 512, "%s%s", warning ? "W" : "E", sentence);
}

/* Files that are not there: a warning for a pattern, an error for a path. */
static void what_names_no_file_is_told_with_what_is_there(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "collector_files: ['my-colectors/*.yaml']\n",
		  "W:1:19: warning: collector_files: 'my-colectors/*.yaml' matches no file; there is no "
		  "folder 'my-colectors'; did you mean 'my-collectors'?" },
		{ "collector_files: ['my-collectors/*.yml']\n",
		  "W:1:19: warning: collector_files: 'my-collectors/*.yml' matches no file; there is "
		  "'my-collectors/disk.yaml', for example" },
		{ "schemas: ['my-collectors/empty/*.man']\n",
		  "W:1:11: warning: schemas: 'my-collectors/empty/*.man' matches no file; the folder is "
		  "empty" },
		{ "schemas: ['somewhere/else/*.man']\n",
		  "W:1:11: warning: schemas: 'somewhere/else/*.man' matches no file; there is no folder "
		  "'somewhere'" },
		{ "collector_files: [my-collectors/disc.yaml]\n",
		  "E:1:19: collector_files: 'my-collectors/disc.yaml' cannot be opened: No such file or "
		  "directory; did you mean 'my-collectors/disk.yaml'?" },
		{ "collector_files: [my-colectors/disk.yaml]\n",
		  "E:1:19: collector_files: 'my-colectors/disk.yaml' cannot be opened: No such file or "
		  "directory; there is no folder 'my-colectors'; did you mean 'my-collectors'?" },
		{ "schemas: [my-colectors]\n",
		  "E:1:11: schemas: 'my-colectors' cannot be opened: No such file or directory; did you "
		  "mean 'my-collectors'?" },
	};
	char inner[128], empty[160], file[160], path[128];

	(void)state;
	path_in(inner, "my-collectors");
	snprintf(empty, sizeof empty, "%s/empty", inner);
	snprintf(file, sizeof file, "%s/disk.yaml", inner);
	assert_true(system_make_folder(inner) && system_make_folder(empty));
	write_file("my-collectors/disk.yaml", "");
	path_in(path, "etw.yaml");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct problems problems = { 0 };
		char shown[512] = "";
		struct config *config;

		write_file("etw.yaml", cases[i].text);
		config = config_load(path, &problems, NULL);
		assert_non_null(config);
		assert_int_equal(config->broken, cases[i].sentence[0] == 'E');
		assert_int_equal(problems.count, 1);
		problems_show(&problems, keep_sentence, shown);
		assert_int_equal(shown[0], cases[i].sentence[0]);
		assert_memory_equal(shown + 1, path, strlen(path));
#ifndef _WIN32 /* whose words for errors are others */
		assert_string_equal(shown + 1 + strlen(path), cases[i].sentence + 1);
#endif
		config_free(config);
		problems_done(&problems);
	}
	remove(path);
	remove(file);
	assert_true(system_remove_folder(empty) && system_remove_folder(inner));
}

static void filters_keep_their_place(void **state)
{
	struct config *config =
		load_good("filters:\n"
			  "  processes: { include: ['.*', svc], exclude: ['^etw_exporter$'] }\n"
			  "  events: [ { event: FileIo/QueryInfo }, { event: '*' } ]\n");

	(void)state;
	assert_int_equal(config->include_process_count, 2);
	assert_string_equal(config->include_processes[1].text, "svc");
	assert_int_equal(config->include_processes[1].line, 2);
	assert_int_equal(config->include_processes[1].column, 32);
	assert_int_equal(config->exclude_process_count, 1);
	assert_string_equal(config->exclude_processes[0].text, "^etw_exporter$");
	assert_int_equal(config->dropped_event_count, 2);
	assert_string_equal(config->dropped_events[0].event, "FileIo/QueryInfo");
	assert_int_equal(config->dropped_events[0].line, 3);
	assert_int_equal(config->dropped_events[0].column, 22);
	config_free(config);
}

static void limits_case_log_and_web_are_read(void **state)
{
	struct config *config = load_good("limits:\n"
					  "  series_per_family: 1\n"
					  "  series: 2\n"
					  "  processes: 3\n"
					  "  threads: 4\n"
					  "  files: 5\n"
					  "  top_paths: 6\n"
					  "  shares: 1000\n"
					  "  strings: 1GiB\n"
					  "process_case: lower\n"
					  "sessions: {}\n"
					  "log: { level: debug, format: json }\n"
					  "web:\n"
					  "  listen_addresses: ['127.0.0.1:0', '[::1]:9190']\n"
					  "  allow: [10.0.0.0/8, '::1']\n"
					  "  telemetry_path: /m\n");

	(void)state;
	assert_int_equal(config->limits.series_per_family, 1);
	assert_int_equal(config->limits.series, 2);
	assert_int_equal(config->limits.processes, 3);
	assert_int_equal(config->limits.threads, 4);
	assert_int_equal(config->limits.files, 5);
	assert_int_equal(config->limits.top_paths, 6);
	assert_int_equal(config->limits.shares, 1000);
	assert_int_equal(config->limits.strings_bytes, 1 << 30);
	assert_true(config->lower_case_processes);
	assert_int_equal(config->log_level, LOG_DEBUG);
	assert_int_equal(config->log_format, LOG_JSON);
	assert_int_equal(config->listen_address_count, 2);
	assert_string_equal(config->listen_addresses[0], "127.0.0.1:0");
	assert_string_equal(config->listen_addresses[1], "[::1]:9190");
	assert_int_equal(config->allowed_count, 2);
	assert_string_equal(config->allowed[0], "10.0.0.0/8");
	assert_string_equal(config->allowed[1], "::1");
	assert_string_equal(config->telemetry_path, "/m");
	config_free(config);
}

#define ADDRESSES_4 "':1', ':1', ':1', ':1', "

static void what_is_not_on_the_page_is_refused_at_its_place(void **state)
{
	static const struct {
		const char *text;
		const char *sentence;
	} cases[] = {
		{ "collector: {}\n", "1:1: unknown key 'collector'; did you mean 'collectors'?" },
		{ "- a\n", "1:1: the configuration: expected a map such as { a: b }, found a list" },
		{ "collectors: [disk]\n", "1:13: collectors: expected a map such as { a: b }, found a list" },
		{ "collectors:\n  enabled: cpu,disk\n",
		  "2:12: collectors: windows_exporter has a list below 'enabled'; here each "
		  "collector has a switch, such as { cpu: on, disk: off }" },
		{ "collectors: { disk: maybe }\n",
		  "1:21: disk: expected on or off, found 'maybe'" },
		{ "collectors: { disk: on, disk: off }\n",
		  "1:25: 'disk' appears twice, first in line 1" },
		{ "collector_files: a.yaml\n",
		  "1:18: collector_files: expected a list such as [a, b], found text" },
		{ "schemas: a.man\n", "1:10: schemas: expected a list such as [a, b], found text" },
		{ "schemas: [{ file: a.man }]\n", "1:11: schemas: expected text, found a map" },
		{ "sessions: [a]\n", "1:11: sessions: expected a map such as { a: b }, found a list" },
		{ "filters: { process: {} }\n",
		  "1:12: unknown key 'process'; did you mean 'processes'?" },
		{ "filters: { processes: { only: [] } }\n",
		  "1:25: unknown key 'only'; known: include, exclude" },
		{ "filters: { processes: { include: a } }\n",
		  "1:34: include: expected a list such as [a, b], found text" },
		{ "filters: { processes: { exclude: [[a]] } }\n",
		  "1:35: exclude: expected text, found a list" },
		{ "filters: { events: [FileIo/Read] }\n",
		  "1:21: events: expected a map such as { a: b }, found text" },
		{ "filters: { events: [{}] }\n", "1:21: events: 'event' is missing" },
		{ "filters: { events: [{ event: a, x: 1 }] }\n",
		  "1:33: unknown key 'x'; known: event" },
		{ "limits: { series_per_famly: 1 }\n",
		  "1:11: unknown key 'series_per_famly'; did you mean 'series_per_family'?" },
		{ "limits: { series: 0 }\n", "1:19: series: 0 is not from 1 to 100000000" },
		{ "limits: { top_paths: 1001 }\n", "1:22: top_paths: 1001 is not from 1 to 1000" },
		{ "limits: { shares: 1001 }\n", "1:19: shares: 1001 is not from 0 to 1000" },
		{ "limits: { threads: many }\n",
		  "1:20: threads: 'many' is not a whole number from 0" },
		{ "limits: { strings: 1KiB }\n", "1:20: strings: 1KiB is not from 64KiB to 64GiB" },
		{ "limits: { strings: 64MB }\n",
		  "1:20: strings: '64MB' is not a size such as 64MiB" },
		{ "process_case: upper\n",
		  "1:15: unknown process_case 'upper'; known: keep, lower" },
		{ "log: { level: loud }\n",
		  "1:15: unknown level 'loud'; known: debug, info, warn, warning, error" },
		{ "log: { format: xml }\n", "1:16: unknown format 'xml'; known: logfmt, json" },
		{ "limits: { budget: 1000 }\n",
		  "1:11: 'budget' no longer exists; limit the label sets of all families with 'series', and let 'idle' evict those that do not change" },
		{ "log: { colour: on }\n", "1:8: unknown key 'colour'; known: level, format" },
		{ "web: { listen_addresses: [] }\n",
		  "1:26: listen_addresses: from 1 to 16 addresses" },
		{ "web: { listen_addresses: ['9189'] }\n",
		  "1:27: '9189' is not an address such as :9189 or [::1]:9189" },
		{ "web: { listen_addresses: [':65536'] }\n",
		  "1:27: ':65536' is not an address such as :9189 or [::1]:9189" },
		{ "web: { listen_addresses: ['::1:9189'] }\n",
		  "1:27: '::1:9189' is not an address such as :9189 or [::1]:9189" },
		{ "web: { listen_addresses: ['foo:1'] }\n",
		  "1:27: 'foo:1' is not an address such as :9189 or [::1]:9189" },
		{ "web: { telemetry_path: metrics }\n",
		  "1:24: 'metrics' is not a path such as /metrics" },
		{ "web: { telemetry_path: / }\n", "1:24: '/' is not a path such as /metrics" },
		{ "web: { telemetry_path: /-/ready }\n",
		  "1:24: '/-/ready' is the path of another page" },
		{ "web: { telemetry_path: /version }\n",
		  "1:24: '/version' is the path of another page" },
		{ "web: { telemetry_path: /%20 }\n",
		  "1:24: '/%20' is not a path such as /metrics" },
		{ "web: { telemetry_path: // }\n", "1:24: '//' is not a path such as /metrics" },
		{ "web: { telemetry_path: /../x }\n",
		  "1:24: '/../x' is not a path such as /metrics" },
		{ "web: { listen_addresses: [" ADDRESSES_4 ADDRESSES_4 ADDRESSES_4 ADDRESSES_4
		  "':1'] }\n",
		  "1:26: listen_addresses: from 1 to 16 addresses" },
		{ "web: { tls: on }\n",
		  "1:8: unknown key 'tls'; known: listen_addresses, allow, telemetry_path" },
		{ "web: { allow: [10.0.0.1/8] }\n",
		  "1:16: '10.0.0.1/8' is not a range of addresses such as 10.0.0.0/8 or "
		  "2001:db8::/32" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_refused(cases[i].text, cases[i].sentence);
	}
}

/* Line and column are those of the block behind `payload:`, in line 5. */
static void conditions_on_payloads_that_make_no_sense_are_refused_at_their_place(void **state)
{
	static const struct {
		const char *payload, *sentence;
	} cases[] = {
		{ "7", "5:18: payload: expected a list such as [a, b], found text" },
		{ "[7]", "5:19: payload: expected a map such as { a: b }, found text" },
		{ "[{ event: 7 }]",
		  "5:19: payload: expected event, and either all or any with conditions" },
		{ "[{ event: 7, all: [], any: [] }]",
		  "5:19: payload: expected event, and either all or any with conditions" },
		{ "[{ event: 7, al: [] }]", "5:31: unknown key 'al'; did you mean 'all'?" },
		{ "[{ event: 65536, all: [] }]", "5:28: event: 65536 is not from 0 to 65535" },
		{ "[{ event: 7, all: [] }]", "5:36: all: from 1 to 8 conditions" },
		{ "[{ event: 7, any: [{ field: A }] }]",
		  "5:37: condition: expected a field and one operator, such as "
		  "{ field: Status, ne: 0 }" },
		{ "[{ event: 7, any: [{ eq: 1, ne: 2 }] }]",
		  "5:37: condition: expected a field and one operator, such as "
		  "{ field: Status, ne: 0 }" },
		{ "[{ event: 7, any: [{ field: '', eq: 2 }] }]", "5:46: field: an empty text" },
		{ "[{ event: 7, any: [{ field: A, eq: x }] }]", "5:53: eq: 'x' is not a number" },
		{ "[{ event: 7, any: [{ field: A, lt: -9223372036854775809 }] }]",
		  "5:53: lt: '-9223372036854775809' is not a number" },
		{ "[{ event: 7, any: [{ field: A, between: [1] }] }]",
		  "5:58: between: expected 2 numbers" },
		{ "[{ event: 7, any: [{ field: A, is: '' }] }]", "5:53: is: an empty text" },
		{ "[{ event: 7, any: [{ field: A, is: a }] }, { event: 7, all: [{ field: B, eq: 1 "
		  "}] }]",
		  "5:61: payload: two entries for one event; put their conditions together (first in line 5)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[400];

		snprintf(text, sizeof text,
			 "sessions:\n  a:\n    providers:\n      - provider: P\n        payload: "
			 "%s\n",
			 cases[i].payload);
		assert_refused(text, cases[i].sentence);
	}
}

static void a_missing_file_is_named(void **state)
{
	struct etw_error err = { 0 };

	(void)state;
	assert_null(config_load("/nowhere/etw.yaml", NULL, &err));
	assert_memory_equal(err.text, "/nowhere/etw.yaml: ", 19);
	config_free(NULL);
}

static void without_sessions_there_is_a_private_one(void **state)
{
	struct config *config = load_good("sessions: {}\n");

	(void)state;
	assert_int_equal(config->session_count, 1);
	assert_string_equal(config->sessions[0].name, "etw_exporter");
	assert_int_equal(config->sessions[0].logger, LOGGER_AUTO);
	assert_int_equal(config->sessions[0].buffer_size_bytes, 262144);
	assert_int_equal(config->sessions[0].buffers_min, 0);
	assert_int_equal(config->sessions[0].buffers_max, 0);
	assert_int_equal(config->sessions[0].flush_ms, 1000);
	assert_true(config->sessions[0].rundown);
	assert_int_equal(config->sessions[0].provider_count, 0);
	config_free(config);
}

static void every_key_of_a_session_is_read(void **state)
{
	struct config *config =
		load_good("sessions:\n"
			  "  noise:\n"
			  "    logger: user\n"
			  "    flush: 3s\n"
			  "    providers:\n"
			  "      - Some-Provider:4:1,2:0x10:0x20\n"
			  "      - provider: '{2f07e2ee-15db-40f1-90ef-9d7ba282188a}'\n"
			  "        level: 3\n"
			  "        any: 0x8\n"
			  "        all: 0x4\n"
			  "        ids: { exclude: [7] }\n"
			  "        process_ids: [4, 8]\n"
			  "        executables: [a.exe, b.exe]\n"
			  "        properties: [sid, stack]\n"
			  "        arguments: { EventCounterIntervalSec: 10, Empty: '' }\n"
			  "        payload:\n"
			  "          - { event: 7, all: [{ field: Size, between: [-1, 0x10] }, "
			  "{ ne: 5, field: Status }] }\n"
			  "          - { event: 8, any: [{ field: Name, is_not: Idle }] }\n"
			  "        capture_state: { at_start: 2, at_stop: 4, every: 5m, timeout: 15s }\n"
			  "  NT kernel logger:\n"
			  "    logger: nt_kernel_logger\n"
			  "    on_conflict: takeover\n"
			  "    buffers: { size: 64KiB, min: 8, max: 9 }\n"
			  "    rundown: off\n"
			  "    kernel_stacks: [DiskIo/Read, thread/cswitch]\n");
	const struct config_session *kernel = &config->sessions[0];
	const struct config_session *user = &config->sessions[1];
	const struct etw_provider_spec *provider = user->providers;

	(void)state;
	assert_int_equal(config->session_count, 2);
	assert_string_equal(kernel->name, "NT kernel logger"); /* at index 0 wherever it stands */
	assert_int_equal(kernel->logger, LOGGER_NT_KERNEL);
	assert_true(kernel->takeover);
	assert_int_equal(kernel->buffer_size_bytes, 65536);
	assert_int_equal(kernel->buffers_min, 8);
	assert_int_equal(kernel->buffers_max, 9);
	assert_false(kernel->rundown);
	assert_int_equal(kernel->kernel_stack_count, 2);
	assert_int_equal(kernel->kernel_stacks[0].class_guid.bytes[0], 0xd4); /* DiskIo */
	assert_int_equal(kernel->kernel_stacks[0].opcode, 10);
	assert_int_equal(kernel->kernel_stacks[1].opcode, 36);
	assert_int_equal(kernel->line, 20);
	assert_string_equal(user->name, "noise");
	assert_int_equal(user->logger, LOGGER_USER);
	assert_false(user->takeover);
	assert_int_equal(user->flush_ms, 3000);
	assert_int_equal(user->provider_count, 2);
	assert_string_equal(provider->name, "Some-Provider");
	assert_int_equal(provider->level, 4);
	assert_int_equal(provider->id_count, 2);
	assert_int_equal(provider->ids[1], 2);
	assert_false(provider->ids_out);
	assert_int_equal(provider->any, 0x10);
	assert_int_equal(provider->all, 0x20);
	provider++;
	assert_null(provider->name);
	assert_int_equal(provider->guid.bytes[0], 0xee);
	assert_int_equal(provider->level, 3);
	assert_int_equal(provider->any, 8);
	assert_int_equal(provider->all, 4);
	assert_int_equal(provider->id_count, 1);
	assert_true(provider->ids_out);
	assert_int_equal(provider->process_id_count, 2);
	assert_int_equal(provider->process_ids[1], 8);
	assert_string_equal(provider->executables, "a.exe;b.exe");
	assert_int_equal(provider->properties, ETW_PROVIDER_SID | ETW_PROVIDER_STACK);
	assert_int_equal(provider->arguments_size, 24 + 3 + 6 + 1);
	assert_int_equal(provider->payload_count, 2);
	assert_int_equal(provider->payload[0].event, 7);
	assert_false(provider->payload[0].any);
	assert_int_equal(provider->payload[0].condition_count, 2);
	assert_string_equal(provider->payload[0].conditions[0].field, "Size");
	assert_int_equal(provider->payload[0].conditions[0].op, ETW_PAYLOAD_BETWEEN);
	assert_string_equal(provider->payload[0].conditions[0].value, "-1,16");
	assert_int_equal(provider->payload[0].conditions[1].op, ETW_PAYLOAD_NE);
	assert_string_equal(provider->payload[0].conditions[1].value, "5");
	assert_int_equal(provider->payload[1].event, 8);
	assert_true(provider->payload[1].any);
	assert_int_equal(provider->payload[1].conditions[0].op, ETW_PAYLOAD_IS_NOT);
	assert_string_equal(provider->payload[1].conditions[0].value, "Idle");
	assert_int_equal(provider->capture_at_start, 2);
	assert_int_equal(provider->capture_at_stop, 4);
	assert_int_equal(provider->capture_every_ms, 300000);
	assert_int_equal(provider->capture_timeout_ms, 15000);
	config_free(config);
}

static void every_logger_has_its_word(void **state)
{
	static const struct {
		const char *session;
		enum config_logger logger;
	} cases[] = {
		{ "a: {}", LOGGER_AUTO },
		{ "a: { logger: auto }", LOGGER_AUTO },
		{ "a: { logger: private }", LOGGER_PRIVATE },
		{ "a: { logger: system_providers }", LOGGER_SYSTEM_PROVIDERS },
		{ "NT Kernel Logger: { logger: nt_kernel_logger }", LOGGER_NT_KERNEL },
		{ "NT Kernel Logger: { logger: attach }", LOGGER_ATTACH },
		{ "EventLog-System: { logger: attach }", LOGGER_ATTACH },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[100];
		struct config *config;

		snprintf(text, sizeof text, "sessions: { %s }\n", cases[i].session);
		config = load_good(text);
		assert_int_equal(config->session_count, 1);
		assert_int_equal(config->sessions[0].logger, cases[i].logger);
		config_free(config);
	}
}

static void user_sessions_run_beside_the_default_one(void **state)
{
	struct config *config = load_good("sessions: { b: { logger: user, providers: [P] } }\n");

	(void)state;
	assert_int_equal(config->session_count, 2);
	assert_string_equal(config->sessions[0].name, "etw_exporter");
	assert_string_equal(config->sessions[1].name, "b");
	config_free(config);
}

/* The default session is a user session then, and there is none beside those of the file. */
static void without_kernel_events_all_sessions_are_user_sessions(void **state)
{
	struct config *config = load_good("kernel_events: off\n");

	(void)state;
	assert_int_equal(config->session_count, 1);
	assert_string_equal(config->sessions[0].name, "etw_exporter");
	assert_int_equal(config->sessions[0].logger, LOGGER_USER);
	config_free(config);
	config = load_good("sessions: { etw_exporter: { logger: user, providers: [P] }, "
			   "b: { logger: user, providers: [P] } }\nkernel_events: off\n");
	assert_int_equal(config->session_count, 2);
	assert_string_equal(config->sessions[0].name, "etw_exporter");
	config_free(config);
	/* The first one gets what the collectors need. */
	config = load_good("sessions: { a: { logger: user, flush: 5s } }\nkernel_events: off\n");
	assert_int_equal(config->session_count, 1);
	config_free(config);
}

/* One of a list or map with so many entries of a form that takes their numbers. */
static void check_number(const char *begin, const char *entry, const char *end, unsigned count,
			 const char *sentence)
{
	struct etw_text text = { 0 };

	text_add_string(&text, begin);
	for (unsigned i = 0; i < count; i++) {
		text_add_format(&text, "%s%u%s", i > 0 ? ", x" : "x", i, entry);
	}
	text_add_string(&text, end);
	assert_false(text.failed);
	if (sentence) {
		assert_refused(text.data, sentence);
	} else {
		config_free(load_good(text.data));
	}
	text_free(&text);
}

static void the_numbers_of_sessions_and_of_their_providers_are_bounded(void **state)
{
	static const char user[] = ": { logger: user, providers: [P] }";
	static const char providers[] = "sessions: { etw_exporter: { providers: [";

	(void)state;
	/* The session of the kernel events is one of them, and is added here. */
	check_number("sessions: { ", user, " }\n", 63, NULL);
	check_number("sessions: { ", user, " }\n", 64,
		     "1:11: sessions: at most 64 sessions, with the one of the kernel events");
	check_number("kernel_events: off\nsessions: { ", user, " }\n", 64, NULL);
	check_number("kernel_events: off\nsessions: { ", user, " }\n", 65,
		     "2:11: sessions: at most 64 sessions");
	check_number(providers, "", "] } }\n", 1024, NULL);
	check_number(providers, "", "] } }\n", 1025, "1:40: providers: at most 1024 providers");
}

static void a_session_that_windows_would_refuse_is_refused_at_its_place(void **state)
{
	static const struct {
		const char *text;
		const char *sentence;
	} cases[] = {
		{ "sessions: { '': {} }\n", "1:13: sessions: a session needs a name" },
		{ "sessions: { a: { logger: user } }\n",
		  "1:13: session 'a' has no provider: it would receive no event" },
		{ "sessions: { a: { logger: mine } }\n",
		  "1:26: unknown logger 'mine'; known: auto, private, system_providers, "
		  "nt_kernel_logger, user, attach" },
		{ "sessions: { a: { kernel_stacks: [CSwitch] } }\n",
		  "1:34: kernel_stacks: 'CSwitch' is not an event of the kernel such as "
		  "Thread/CSwitch" },
		{ "sessions: { a: { kernel_stacks: [Tread/CSwitch] } }\n",
		  "1:34: kernel_stacks: 'Tread/CSwitch' is not an event of the kernel such as "
		  "Thread/CSwitch" },
		{ "sessions: { a: { kernel_stacks: [Thread/CSwich] } }\n",
		  "1:34: kernel_stacks: unknown event 'Thread/CSwich'; did you mean "
		  "'Thread/CSwitch'?" },
		{ "sessions: { a: { kernel_stacks: [DiskIo/Xyzzy] } }\n",
		  "1:34: kernel_stacks: unknown event 'DiskIo/Xyzzy'" },
		{ "sessions: { a: { kernel_stacks: [StackWalk/Stack] } }\n",
		  "1:34: kernel_stacks: events of StackWalk have no call stack" },
		{ "sessions: { a: { kernel_stacks: [DiskIo/Read, diskio/READ] } }\n",
		  "1:47: kernel_stacks: an event is listed twice (first in line 1)" },
		{ "sessions: { a: { logger: user, providers: [P], kernel_stacks: [DiskIo/Read] } "
		  "}\n",
		  "1:63: kernel_stacks: a user session has no kernel events" },
		{ "sessions: { a: { logger: attach, kernel_stacks: [DiskIo/Read] } }\n",
		  "1:49: kernel_stacks: not for logger: attach, because another program controls "
		  "that session" },
		{ "sessions: { a: { logger: attach, flush: 5s } }\n",
		  "1:41: flush: not for logger: attach, because another program controls that "
		  "session" },
		{ "sessions: { NT Kernel Logger: { logger: attach, on_conflict: takeover } }\n",
		  "1:62: on_conflict: not for logger: attach, because another program controls "
		  "that session" },
		{ "sessions: { a: { logger: attach }, b: { logger: private } }\n",
		  "1:36: session 'b' would count kernel events again, which 'a' counts; only one "
		  "session may have them, others are `logger: user`" },
		{ "sessions: { a: { logger: nt_kernel_logger } }\n",
		  "1:26: logger: nt_kernel_logger needs a session called 'NT Kernel Logger'" },
		{ "sessions: { nt kernel logger: {} }\n",
		  "1:13: a session called 'NT Kernel Logger' needs logger: nt_kernel_logger, or "
		  "attach" },
		{ "sessions: { NT Kernel Logger: { logger: nt_kernel_logger, providers: [P] } }\n",
		  "1:70: providers: the NT Kernel Logger takes kernel events only; give providers "
		  "a session of their own" },
		{ "sessions: { a: { on_conflict: takeover } }\n",
		  "1:31: on_conflict: only for the nt_kernel_logger, which other programs may "
		  "own" },
		{ "sessions: { a: {}, b: {} }\n",
		  "1:20: session 'b' would count kernel events again, which 'a' counts; only one "
		  "session may have them, others are `logger: user`" },
		/* They would stop each other. */
		{ "sessions: { a: {}, A_Harvest: { logger: user, providers: [P] } }\n",
		  "1:20: sessions: 'A_Harvest' is the name of the session in which 'a' finds what "
		  "exists; a user session needs another name" },
		{ "sessions: { etw_exporter_harvest: { logger: user, providers: [P] } }\n",
		  "1:13: sessions: 'etw_exporter_harvest' is the name of the session in which "
		  "'etw_exporter' finds what exists; a user session needs another name" },
		{ "sessions: { a: {}, A: { logger: user, providers: [P] } }\n",
		  "1:20: sessions: two sessions have this name; upper and lower case are the same (first in line 1)" },
		{ "kernel_events: off\nsessions: { a: { logger: user }, b: { logger: user } }\n",
		  "2:34: session 'b' has no provider: it would receive no event" },
		{ "kernel_events: off\nsessions: { a: {} }\n",
		  "2:13: session 'a' would have kernel events, which `kernel_events: off` leaves "
		  "out; it must be `logger: user`" },
		{ "sessions: { Etw_Exporter: { logger: user, providers: [P] } }\n",
		  "1:13: 'etw_exporter' is the session of the kernel events; a user session needs "
		  "another name" },
		{ "sessions: { a: { buffers: { size: 8KiB } } }\n",
		  "1:35: size: 8KiB is not from 16KiB to 1MiB" },
		{ "sessions: { a: { buffers: { size: 16385 } } }\n",
		  "1:35: size: 16385 is not a multiple of 1KiB" },
		{ "sessions: { a: { buffers: { min: 9, max: 8 } } }\n",
		  "1:34: min: 9 is more than max, 8" },
		{ "sessions: { a: { buffers: { min: 1 } } }\n",
		  "1:34: min: 1 is not from 2 to 65536" },
		{ "sessions: { a: { flush: 1 } }\n",
		  "1:25: flush: '1' is not a duration such as 30s, 5m or 24h" },
		{ "sessions: { a: { flush: 1500ms } }\n",
		  "1:25: flush: 1500ms is not a multiple of 1s" },
		{ "sessions: { a: { flush: 500ms } }\n",
		  "1:25: flush: 500ms is not from 1s to 1h" },
		{ "sessions: { a: { providers: [':4'] } }\n",
		  "1:30: providers: ':4' is not the name or GUID of a provider" },
		{ "sessions: { a: { providers: ['{12}'] } }\n",
		  "1:30: providers: '{12}' is not the name or GUID of a provider" },
		{ "sessions: { a: { providers: [P, 'p:4'] } }\n",
		  "1:33: providers: a provider is listed twice; Windows would use only the last "
		  "entry (first in line 1)" },
		{ "sessions: { a: { providers: ['{a1a1a1a1-0000-0000-0000-000000000001}', "
		  "'{A1A1A1A1-0000-0000-0000-000000000001}:4'] } }\n",
		  "1:72: providers: a provider is listed twice; Windows would use only the last "
		  "entry (first in line 1)" },
		{ "sessions: { a: { providers: [{ level: 4 }] } }\n",
		  "1:30: providers: 'provider' is missing" },
		{ "sessions: { a: { providers: [{ provider: '' }] } }\n",
		  "1:42: '' is not the name or GUID of a provider" },
		{ "sessions: { a: { providers: [{ provider: P, level: 256 }] } }\n",
		  "1:52: level: 256 is not from 0 to 255" },
		{ "sessions: { a: { providers: [{ provider: P, ids: {} }] } }\n",
		  "1:50: ids: expected either include or exclude" },
		{ "sessions: { a: { providers: [{ provider: P, process_ids: [1, 2, 3, 4, 5, 6, 7, "
		  "8, 9] }] } }\n",
		  "1:58: process_ids: at most 8 process ids" },
		{ "sessions: { a: { providers: [{ provider: P, executables: ['a;b'] }] } }\n",
		  "1:59: 'a;b' is not the name of an executable" },
		{ "sessions: { a: { providers: [{ provider: P, executables: [''] }] } }\n",
		  "1:59: '' is not the name of an executable" },
		{ "sessions: { a: { providers: [{ provider: P, properties: [all] }] } }\n",
		  "1:58: unknown property 'all'; known: sid, session_id, stack, "
		  "process_start_key, no_keyword_0, container_id" },
		{ "sessions: { a: { providers: [{ provider: P, arguments: { '': 1 } }] } }\n",
		  "1:58: arguments: an argument needs a name" },
		{ "sessions: { a: { providers: [{ provider: P, arguments: [1] }] } }\n",
		  "1:56: arguments: expected a map such as { a: b }, found a list" },
		{ "sessions: { a: { providers: [{ provider: P, capture_state: { every: 5m } }] } "
		  "}\n",
		  "1:69: every: repeats at_start, which is missing" },
	};
	char text[2300], sentence[200];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_refused(cases[i].text, cases[i].sentence);
	}
	/* Two bytes, one character each: 1023 of them are fine. */
	strcpy(text, "sessions:\n  ? ");
	for (size_t i = 0; i < 1023; i++) {
		strcat(text, "\xc3\xa4");
	}
	strcat(text, "\n  : {}\n");
	config_free(load_good(text));
	strcpy(strstr(text, "\n  : {}"), "x\n  : {}\n");
	snprintf(sentence, sizeof sentence,
		 "2:5: sessions: the name of a session has 1024 characters, more than 1023");
	assert_refused(text, sentence);
}

/* Windows takes 1024 bytes of UTF-16: 511 characters, each semicolon between two is one, a NUL. */
static void executables_that_windows_does_not_take_are_refused(void **state)
{
	enum { NAME = 255 };
	char text[1200] = "sessions:\n  a:\n    providers:\n      - provider: P\n"
			  "        executables:\n          - ";
	struct config *config;

	(void)state;
	/* Two bytes, one character. */
	for (size_t i = 0; i < NAME; i++) {
		strcat(text, "\xc3\xa4");
	}
	strcat(text, "\n          - ");
	for (size_t i = 0; i < NAME; i++) {
		strcat(text, "b");
	}
	strcat(text, "\n");
	config = load_good(text);
	assert_int_equal(strlen(config->sessions[0].providers[0].executables), 2 * NAME + 1 + NAME);
	config_free(config);
	strcpy(text + strlen(text) - 1, "b\n");
	assert_refused(text, "7:13: executables: up to here, the names and the semicolons between "
			     "them have 512 characters, and Windows takes at most 511");
	/* Beyond the basic plane a character takes two units. */
	strcpy(text + strlen(text) - 3, "\xf0\x9f\x98\x80\n");
	assert_refused(text, "7:13: executables: up to here, the names and the semicolons between "
			     "them have 512 characters, and Windows takes at most 511");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults_are_those_of_the_page),
		cmocka_unit_test(the_shipped_file_says_the_defaults),
		cmocka_unit_test(the_shipped_file_has_every_key),
		cmocka_unit_test(collectors_are_switched),
		cmocka_unit_test(collector_files_are_found_beside_the_configuration),
		cmocka_unit_test(collector_files_are_files_that_are_called_yaml),
		cmocka_unit_test(more_files_than_the_most_are_refused_where_they_stand),
		cmocka_unit_test(schemas_are_found_beside_the_configuration),
		cmocka_unit_test(what_names_no_file_is_told_with_what_is_there),
		cmocka_unit_test(filters_keep_their_place),
		cmocka_unit_test(limits_case_log_and_web_are_read),
		cmocka_unit_test(what_is_not_on_the_page_is_refused_at_its_place),
		cmocka_unit_test(executables_that_windows_does_not_take_are_refused),
		cmocka_unit_test(without_sessions_there_is_a_private_one),
		cmocka_unit_test(every_key_of_a_session_is_read),
		cmocka_unit_test(every_logger_has_its_word),
		cmocka_unit_test(user_sessions_run_beside_the_default_one),
		cmocka_unit_test(without_kernel_events_all_sessions_are_user_sessions),
		cmocka_unit_test(the_numbers_of_sessions_and_of_their_providers_are_bounded),
		cmocka_unit_test(a_session_that_windows_would_refuse_is_refused_at_its_place),
		cmocka_unit_test(
			conditions_on_payloads_that_make_no_sense_are_refused_at_their_place),
		cmocka_unit_test(a_missing_file_is_named),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
