/* SPDX-License-Identifier: MIT */
/*
 * Names that rules give to processes: the ready-made lists on command lines as programs have them
 * and as attackers might write them, and the rules on processes that start, end and are found.
 */
#include "exporter/track/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/tracker_run.h"

enum { RULES_MOST = 9, COMMAND_LINE_MOST_TRIED = 64 << 10 };

static struct process_names *rules_of(const struct config_process_name *rules)
{
	struct config_process_name copy[RULES_MOST];
	struct config config = { .process_names = copy };
	struct etw_error err = { 0 };
	struct process_names *names;

	while (rules[config.process_name_count].list || rules[config.process_name_count].name) {
		copy[config.process_name_count] = rules[config.process_name_count];
		config.process_name_count++;
	}
	names = process_names_new(&config, &err);
	assert_string_equal(err.text, "");
	return names;
}

static const char *no_parent(void *context)
{
	(void)context;
	return "";
}

static void expect_name(const struct process_names *names, struct regex_matcher *matcher,
			const char *image, const char *command_line, const char *expected)
{
	const struct process_facts facts = { .image = image,
					     .path = "",
					     .command_line = command_line,
					     .command_line_size = strlen(command_line),
					     .parent = no_parent };
	struct etw_text name = { 0 };
	bool named = process_names_decide(names, matcher, &facts, &name);

	print_message("  %s | %.120s\n", image, command_line);
	assert_int_equal(named, expected != NULL);
	if (named) {
		assert_string_equal(name.data, expected);
	}
	text_free(&name);
}

static void ready_made_lists_name_what_runs_in_a_process(void **state)
{
	static const struct config_process_name all[] = {
		{ .list = "iis" },       { .list = "services" }, { .list = "java" },
		{ .list = "sqlserver" }, { .list = "dotnet" },   { .list = "python" },
		{ .list = "node" },      { .list = "chrome" },   { 0 },
	};
	static const struct {
		const char *image, *command_line, *name;
	} cases[] = {
		{ "w3wp",
		  "c:\\windows\\system32\\inetsrv\\w3wp.exe -ap \"shop\" -v \"v4.0\" -l \"webengine4.dll\"",
		  "w3wp/shop" },
		{ "W3WP", "w3wp.exe -ap \"ASP.NET v4.0 Classic\" -v \"v4.0\"",
		  "w3wp/ASP.NET v4.0 Classic" },
		{ "w3wp", "w3wp.exe -debug", NULL },
		{ "w3wp", "w3wp.exe -h \"C:\\x -ap \" -ap \"shop\"", "w3wp/shop" },
		{ "w3wp", "w3wp.exe -ap \"\"", NULL },
		{ "iisexpress", "\"C:\\Program Files\\IIS Express\\iisexpress.exe\" /site:WebSite1",
		  "iisexpress/WebSite1" },
		{ "iisexpress", "iisexpress.exe /config:\"C:\\a b\\x.config\" /site:\"My Site\"",
		  "iisexpress/My Site" },
		{ "iisexpress", "iisexpress.exe \"/site:My Site\" /port:80", "iisexpress/My Site" },
		{ "svchost", "C:\\Windows\\system32\\svchost.exe -k netsvcs -p -s Schedule",
		  "svchost/Schedule" },
		{ "svchost",
		  "C:\\Windows\\System32\\svchost.exe -k LocalServiceNetworkRestricted -p",
		  "svchost/LocalServiceNetworkRestricted" },
		{ "svchost", "", NULL },
		{ "svchost", "svchost.exe -k \"netsvcs\" -s \"Dnscache\"", "svchost/Dnscache" },
		{ "svchost", "C:\\x -s secret\\svchost.exe -k netsvcs", "svchost/netsvcs" },
		{ "notsvchost", "svchost.exe -k netsvcs", NULL },

		{ "java", "java -jar C:\\apps\\shop.jar --password=x", "java/shop.jar" },
		{ "java",
		  "\"C:\\Program Files\\Java\\bin\\java.exe\" -Xmx4g -jar \"D:\\my apps\\a.jar\"",
		  "java/a.jar" },
		{ "javaw",
		  "javaw.exe -cp \"a b.jar;c.jar\" -Dx=\"y z\" org.example.Main arg -jar no.jar",
		  "java/org.example.Main" },
		{ "java", "C:\\Program Files\\Java\\bin\\java.exe -classpath x org.example.Main",
		  "java/org.example.Main" },
		{ "java", "java @options.txt -m shop.web/org.example.Shop x",
		  "java/org.example.Shop" },
		{ "java", "java --module-path mods --module app/a.B", "java/a.B" },
		{ "java", "java -jar \\\\server\\share\\a.jar", "java/a.jar" },
		{ "java", "java -jar \"C:\\my apps\\my app.jar\" x", "java/my app.jar" },
		/* Programs quote the whole of an argument that has a space. */
		{ "java", "java \"-Dhome=C:\\Tomcat 9\" -cp \"a b\";c a.Main start",
		  "java/a.Main" },
		{ "java", "java \"-cp\" \"a b\" secret", NULL },
		{ "java", "java --source 17 Hello.java", "java/Hello.java" },
		{ "java", "java --enable-native-access ALL-UNNAMED -jar a.jar", "java/a.jar" },
		{ "java", "java -Dsecret=abc", NULL },
		{ "java", "java -version", NULL },

		{ "sqlservr",
		  "\"C:\\Program Files\\Microsoft SQL Server\\MSSQL15.MSSQLSERVER\\MSSQL\\Binn\\sqlservr.exe\" -sMSSQLSERVER",
		  "sqlservr/MSSQLSERVER" },
		{ "sqlservr", "sqlservr.exe -sSQL2019$A", "sqlservr/SQL2019$A" },
		{ "sqlservr", "sqlservr.exe -c -d\"C:\\my -secret\\a.mdf\" -sSHOP",
		  "sqlservr/SHOP" },
		{ "sqlservr", "\"C:\\my -server\\sqlservr.exe\" -s SHOP", "sqlservr/SHOP" },
		{ "SQLAGENT", "\"C:\\x\\SQLAGENT.EXE\" -i SHOP", "sqlagent/SHOP" },

		{ "dotnet", "dotnet C:\\app\\Shop.Web.dll --urls http://*:80",
		  "dotnet/Shop.Web.dll" },
		{ "dotnet",
		  "\"C:\\Program Files\\dotnet\\dotnet.exe\" exec --depsfile a.json \"C:\\my app\\b.dll\"",
		  "dotnet/b.dll" },
		{ "dotnet", "dotnet run --project Secret", NULL },
		{ "dotnet", "dotnet \"C:\\my apps\\my app.dll\" x", "dotnet/my app.dll" },
		{ "dotnet", "dotnet test Secret.dll", NULL },

		{ "python", "python app.py --token x", "python/app.py" },
		{ "python3.11", "C:\\py\\python3.11.exe -u -X utf8 \"C:\\my app\\job.py\" x",
		  "python/job.py" },
		{ "python", "C:\\Program Files\\Python\\python.exe -m http.server 80",
		  "python/http.server" },
		{ "py", "py -3.11 run.py", "python/run.py" },
		{ "python", "python -c \"password = 'x'; run.py\"", NULL },
		{ "python", "python -uc \"secret.py\"", NULL },
		{ "python", "python -Ic secret.py", NULL },
		{ "python", "python -um http.server", "python/http.server" },
		{ "python", "python -W \"ignore::X\" -B app.pyz", "python/app.pyz" },
		/* as a program that pip has made of a script starts it */
		{ "python", "\"C:\\venv\\python.exe\" \"C:\\venv\\Scripts\\uvicorn.exe\" main:app",
		  "python/uvicorn.exe" },
		{ "py", "py -V:3.11 run.py", "python/run.py" },
		{ "python", "python \"-c\" \"secret.py\"", NULL },
		{ "python", "python - secret.py", NULL },
		{ "pycharm64", "pycharm64.exe secret.py", NULL }, /* not a Python */
		{ "pyinstaller", "pyinstaller secret.py", NULL },
		{ "python", "python", NULL },

		{ "node", "node server.js", "node/server.js" },
		{ "node",
		  "\"C:\\Program Files\\nodejs\\node.exe\" --max-old-space-size=4096 -r dotenv C:\\app\\index.mjs x",
		  "node/index.mjs" },
		{ "node", "node -e \"secret.js\"", NULL },
		{ "node", "node --eval secret.js", NULL },
		{ "node", "node --input-type=module -e secret.js", NULL },
		{ "node", "node ./bin/www", "node/www" },
		{ "node",
		  "\"C:\\x y\\node.exe\" --enable-source-maps --max-http-header-size=9 dist\\main",
		  "node/main" },
		{ "node", "node \"C:\\my app\\dist\\main\" x", "node/main" },
		{ "node", "node secret", NULL },
		{ "node", "node --unknown C:\\x\\secret dist\\main", NULL },
		{ "node", "node --print=1 -e ./secret", NULL },
		{ "node", "node --eval=1 ./secret", NULL },
		{ "node", "node \"C:\\my app\\my server.js\"", "node/my server.js" },
		{ "node", "node --openssl-config C:\\secret.js -C dev server.ts",
		  "node/server.ts" },

		{ "chrome",
		  "\"C:\\x\\chrome.exe\" --type=gpu-process --user-data-dir=C:\\Users\\bob",
		  "chrome/gpu-process" },
		{ "chrome", "\"C:\\x\\chrome.exe\"", NULL },
		{ "chrome", "chrome.exe \"--user-data-dir=C:\\a b\" --type=renderer",
		  "chrome/renderer" },
		/* a link that another program opens */
		{ "chrome", "chrome.exe --single-argument https://x/?q= --type=secret", NULL },
		{ "chrome", "chrome.exe \"https://x/ --type=secret\"", NULL },
		{ "msedge", "msedge.exe --type=renderer", "msedge/renderer" },
	};
	struct process_names *names = rules_of(all);
	struct regex_matcher *matcher = regex_matcher_new(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		expect_name(names, matcher, cases[i].image, cases[i].command_line, cases[i].name);
	}
	regex_matcher_free(matcher);
	process_names_free(names);
}

/* A text of `size` bytes that repeats `unit`. */
static char *repeated(const char *unit, size_t size)
{
	char *text = malloc(size + 1);

	assert_non_null(text);
	for (size_t i = 0; i < size; i++) {
		text[i] = unit[i % strlen(unit)];
	}
	text[size] = '\0';
	return text;
}

/* Nothing here may take long, fail or match by accident; the steps of a match are limited. */
static void hostile_command_lines_give_no_name(void **state)
{
	static const struct config_process_name lists[] = {
		{ .list = "iis" },    { .list = "services" },
		{ .list = "java" },   { .list = "dotnet" },
		{ .list = "python" }, { .list = "node" },
		{ .list = "chrome" }, { 0 },
	};
	static const struct config_process_name catastrophic[] = {
		{ .image = "*", .command_line = "^(?:(a+)+)+$", .name = "x/$1" },
		{ 0 },
	};
	static const char *const units[] = { "a",        "\"",           " -",  "\\",
					     " -a",      "java -",       " \"", "\x80",
					     "\xff\xfe", "\xed\xa0\x80", "- ",  " python" };
	static const char *const images[] = {
		"java", "python", "node", "dotnet", "w3wp", "svchost"
	};
	struct process_names *const both[] = { rules_of(lists), rules_of(catastrophic) };
	struct regex_matcher *matcher = regex_matcher_new(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		char *text = repeated(units[i], COMMAND_LINE_MOST_TRIED);

		for (size_t j = 0; j < sizeof images / sizeof images[0]; j++) {
			expect_name(both[0], matcher, images[j], text, NULL);
		}
		text[COMMAND_LINE_MOST_TRIED - 1] = 'b';
		expect_name(both[1], matcher, "a", text, NULL);
		free(text);
	}
	regex_matcher_free(matcher);
	process_names_free(both[0]);
	process_names_free(both[1]);
}

static void the_first_rule_that_matches_decides(void **state)
{
	static const struct config_process_name rules[] = {
		{ .image = "w3wp", .command_line = "-ap \"secret", .name = "hidden" },
		{ .image = "w3*", .command_line = "-ap \"([^\"]+)\"", .name = "w3wp/$1" },
		{ .path = "C:\\Apps\\**", .name = "our apps" },
		{ .list = "chrome" },
		{ .image = "chrome", .name = "browser" },
		{ 0 },
	};
	struct process_names *names = rules_of(rules);
	struct regex_matcher *matcher = regex_matcher_new(NULL);
	struct process_facts facts = { .image = "tool",
				       .path = "c:\\apps\\x\\tool.exe",
				       .command_line = "",
				       .parent = no_parent };
	struct etw_text name = { 0 };

	(void)state;
	expect_name(names, matcher, "w3wp", "w3wp.exe -ap \"secret\"", "hidden");
	expect_name(names, matcher, "w3wp", "w3wp.exe -ap \"shop\"", "w3wp/shop");
	expect_name(names, matcher, "chrome", "chrome.exe --type=renderer", "chrome/renderer");
	expect_name(names, matcher, "chrome", "chrome.exe", "browser");
	expect_name(names, matcher, "tool", "tool.exe", NULL);
	assert_true(process_names_decide(names, matcher, &facts, &name));
	assert_string_equal(name.data, "our apps");
	text_free(&name);
	regex_matcher_free(matcher);
	process_names_free(names);
}

/* ---- processes ---- */

static struct tape_event *put(struct tape *tape, uint8_t opcode, int64_t time, uint32_t id,
			      uint32_t parent_id, const char *image, const char *command_line)
{
	return tape_process_of(tape, opcode, time,
			       &(struct taped_process){ .id = id,
							.parent_id = parent_id,
							.image = image,
							.command_line = command_line });
}

static void ask(struct tape *tape, int64_t time, uint32_t id, const char *process)
{
	tape_header(tape, time, id, 1)->process = process;
}

static const struct config_process_name some_rules[] = {
	{ .image = "cmd", .parent = "services", .name = "cmd of a service" },
	{ .list = "iis" },
	{ .list = "services" },
	{ 0 },
};

static void a_process_has_its_name_from_its_start_to_its_end(void **state)
{
	static const enum passes both[] = { TWO_PASSES, ONE_PASS };
	struct process_names *names = rules_of(some_rules);
	const struct tracker_options options = { .process_names = names,
						 .process_names_most = 100,
						 .process_gauges = true };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct player player;
		struct tape tape;

		player_init(&player, &options);
		tape_init(&tape, 8);
		put(&tape, 3, 1, 4, 0, "System", "");
		/* It ran before the session. */
		put(&tape, 3, 2, 700, 4, "services.exe", "C:\\Windows\\system32\\services.exe");
		put(&tape, 3, 3, 1000, 700, "svchost.exe", "svchost.exe -k netsvcs -p -s Schedule");
		ask(&tape, 4, 1000, "svchost/Schedule");
		/* Two pools, and an id that is used again. */
		put(&tape, 1, 10, 8, 700, "w3wp.exe", "w3wp.exe -ap \"shop\"");
		put(&tape, 1, 11, 12, 700, "W3WP.EXE", "w3wp.exe -ap \"blog\"");
		ask(&tape, 12, 8, "w3wp/shop");
		ask(&tape, 12, 12, "w3wp/blog");
		put(&tape, 2, 20, 8, 700, "w3wp.exe", "");
		ask(&tape, 21, 8, "w3wp/shop");
		put(&tape, 1, 30, 8, 700, "w3wp.exe", "w3wp.exe -ap \"BLOG\"");
		ask(&tape, 31, 8, "w3wp/blog");
		/* The parent decides, at the time of the start. */
		put(&tape, 1, 40, 16, 700, "cmd.exe", "cmd.exe /c x");
		put(&tape, 1, 41, 20, 8, "cmd.exe", "cmd.exe /c x");
		ask(&tape, 42, 16, "cmd of a service");
		ask(&tape, 42, 20, "cmd");
		player_play(&player, &tape, both[i]);
		assert_int_equal(player_instances(&player, "w3wp/shop"), 0);
		assert_int_equal(player_instances(&player, "w3wp/blog"), 2);
		assert_int_equal(player_instances(&player, "w3wp"), 0);
		player_done(&player);
		tape_done(&tape);
	}
	process_names_free(names);
}

static void the_place_of_the_parent_in_the_file_makes_no_difference(void **state)
{
	struct process_names *names = rules_of(some_rules);
	const struct tracker_options options = { .process_names = names,
						 .process_names_most = 100 };
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &options);
	tape_init(&tape, 8);
	put(&tape, 1, 40, 16, 700, "cmd.exe", "cmd.exe /c x");
	put(&tape, 1, 60, 700, 4, "other.exe", "");
	put(&tape, 2, 50, 700, 4, "services.exe", "");
	put(&tape, 1, 2, 700, 4, "services.exe", "");
	put(&tape, 1, 70, 20, 700, "cmd.exe", "cmd.exe /c x");
	ask(&tape, 42, 16, "cmd of a service");
	ask(&tape, 72, 20, "cmd");
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
	process_names_free(names);
}

static void the_names_that_rules_give_are_limited(void **state)
{
	struct process_names *names = rules_of(some_rules);
	const struct tracker_options options = { .process_names = names, .process_names_most = 2 };
	struct tracker_statistics statistics;
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &options);
	tape_init(&tape, 8);
	for (uint32_t i = 0; i < 6; i++) {
		char line[64];

		snprintf(line, sizeof line, "w3wp.exe -ap \"pool %u\"", (unsigned)i % 3);
		put(&tape, 1, 10 + i, 8 + 4 * i, 4, "w3wp.exe", line);
	}
	ask(&tape, 20, 8, "w3wp/pool 0");
	ask(&tape, 20, 12, "w3wp/pool 1");
	ask(&tape, 20, 16, "w3wp");
	ask(&tape, 20, 20, "w3wp/pool 0");
	ask(&tape, 20, 28, "w3wp");
	player_play(&player, &tape, TWO_PASSES);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.evictions[TABLE_PROCESS], 2);
	tape_done(&tape);
	player_done(&player);
	process_names_free(names);
}

static void a_reload_names_running_processes_anew(void **state)
{
	static const struct config_process_name others[] = {
		{ .image = "w3wp", .command_line = "-ap \"([^\"]+)\"", .name = "pool $1" }, { 0 }
	};
	static const enum passes both[] = { TWO_PASSES, ONE_PASS };
	struct process_names *first = rules_of(some_rules), *second = rules_of(others);
	/* Only a live session keeps command lines for rules that a reload may bring. */
	const struct tracker_options without = { .live = true,
						 .process_gauges = true,
						 .image_info = true };
	struct tracker_options with = without, other = without;
	struct etw_error err = { 0 };

	(void)state;
	with.process_names = first;
	with.process_names_most = other.process_names_most = 1;
	other.process_names = second;
	for (size_t i = 0; i < 2; i++) {
		struct player player;
		struct tape tape;

		player_init(&player, &without);
		tape_init(&tape, 8);
		put(&tape, 1, 10, 8, 4, "w3wp.exe", "w3wp.exe -ap \"shop\"");
		tape_thread(&tape, 1, 11, 80, 8);
		ask(&tape, 12, 8, "w3wp");
		player_play(&player, &tape, both[i]);
		assert_int_equal(player_instances(&player, "w3wp"), 1);

		assert_true(tracker_change(player.tracker, &with, &err));
		tape_rewind(&tape);
		ask(&tape, 13, 8, "w3wp/shop");
		player_play(&player, &tape, ONE_PASS);
		assert_int_equal(player_instances(&player, "w3wp"), 0);
		assert_int_equal(player_threads(&player, "w3wp"), 0);
		assert_int_equal(player_instances(&player, "w3wp/shop"), 1);
		assert_int_equal(player_threads(&player, "w3wp/shop"), 1);

		/* The limit is for what the new rules give. */
		assert_true(tracker_change(player.tracker, &other, &err));
		tape_rewind(&tape);
		ask(&tape, 14, 8, "pool shop");
		tape_thread(&tape, 2, 15, 80, 8);
		put(&tape, 2, 16, 8, 4, "w3wp.exe", "");
		player_play(&player, &tape, ONE_PASS);
		assert_int_equal(player_instances(&player, "pool shop"), 0);
		assert_int_equal(player_threads(&player, "pool shop"), 0);

		assert_true(tracker_change(player.tracker, &without, &err));
		tape_rewind(&tape);
		ask(&tape, 16, 8, "w3wp");
		player_play(&player, &tape, ONE_PASS);
		tape_done(&tape);
		player_done(&player);
	}
	process_names_free(first);
	process_names_free(second);
}

/* Command lines take half of the budget at most, and processes that ended give theirs back. */
static void command_lines_never_take_more_memory_than_allowed(void **state)
{
	enum { BUDGET = 1 << 20, ROUNDS = 40 };
	struct process_names *names = rules_of(some_rules);
	const struct tracker_options options = { .process_names = names,
						 .process_names_most = 1000,
						 .strings_bytes = BUDGET };
	char *long_line = repeated("x y ", 20000);
	struct player player;
	struct tape tape;

	(void)state;
	memcpy(long_line, "w3wp.exe -ap \"shop\" ", 20);
	player_init(&player, &options);
	tape_init(&tape, 8);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		tape_rewind(&tape);
		for (uint32_t j = 0; j < 20; j++) {
			int64_t time = 1000 * (i + 1) + 10 * j;

			put(&tape, 1, time, 8 + 4 * j, 4, "w3wp.exe", long_line);
			ask(&tape, time + 1, 8 + 4 * j, "w3wp/shop");
			put(&tape, 2, time + 2, 8 + 4 * j, 4, "w3wp.exe", "");
		}
		player_play(&player, &tape, ONE_PASS);
	}
	/* Many that run at once: those without room for their line have the name of the program. */
	tape_rewind(&tape);
	for (uint32_t j = 0; j < 60; j++) {
		put(&tape, 1, 100000 + j, 4008 + 4 * j, 4, "w3wp.exe", long_line);
	}
	ask(&tape, 200000, 4008, "w3wp/shop");
	ask(&tape, 200000, 4008 + 4 * 59, "w3wp");
	player_play(&player, &tape, ONE_PASS);
	tape_done(&tape);
	player_done(&player);
	free(long_line);
	process_names_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ready_made_lists_name_what_runs_in_a_process),
		cmocka_unit_test(hostile_command_lines_give_no_name),
		cmocka_unit_test(the_first_rule_that_matches_decides),
		cmocka_unit_test(a_process_has_its_name_from_its_start_to_its_end),
		cmocka_unit_test(the_place_of_the_parent_in_the_file_makes_no_difference),
		cmocka_unit_test(the_names_that_rules_give_are_limited),
		cmocka_unit_test(a_reload_names_running_processes_anew),
		cmocka_unit_test(command_lines_never_take_more_memory_than_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
