/* SPDX-License-Identifier: MIT */
/*
 * Names of processes and owners of threads: docs/etl-format.md section 16.2 and the rules of
 * docs/metrics.md, as short sequences of events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/track/processes.h"
#include "tests/support/tracker_run.h"

static uint8_t opcode_of(char what)
{
	switch (what) {
	case '+':
		return 1;
	case '-':
		return 2;
	case '=':
		return 3;
	default:
		return 4;
	}
}

/*
 * A line of a story is "TIME WHAT ID NAME": what is + start, = rundown at start, e rundown at end,
 * - stop of a process, ? an event of that process (which must read NAME). For threads T+ T= Te T-,
 * where NAME is the owner's id, and T? an event that has a thread id only. A name of "." is empty.
 */
static void put_line(struct tape *tape, const char *line)
{
	const char *at = line;
	int64_t time = story_number(&at);
	const char *what = at;
	const char *name;
	uint32_t id;

	at = strchr(at, ' ') + 1;
	id = story_number(&at);
	name = strcmp(at, ".") == 0 ? "" : at;
	if (what[0] == 'T' && what[1] == '?') {
		tape_header(tape, time, ETW_RECORD_NO_ID, id)->process = name;
	} else if (what[0] == 'T') {
		tape_thread(tape, opcode_of(what[1]), time, id, (uint32_t)strtoul(name, NULL, 10));
	} else if (what[0] == '?') {
		tape_header(tape, time, id, 1)->process = name;
	} else {
		tape_process(tape, opcode_of(what[0]), time, id, name);
	}
}

static const struct tracker_options defaults;

enum { TEXTS_BYTES = 16 << 20 };

/* What an event says that has only the name of the image. */
#define IMAGE(name)                                                                         \
	(struct process_announced)                                                          \
	{                                                                                   \
		.image = (name), .image_size = strlen(name), .command_line = "", .sid = "", \
		.parent_id = ETW_RECORD_NO_ID                                               \
	}

#define PLAY(stories, options) \
	play_stories(stories, sizeof stories / sizeof stories[0], options, put_line)

static void a_process_id_has_the_name_of_its_instance(void **state)
{
	static const struct story stories[] = {
		{ "named by its start", { "10 + 7 a.exe", "11 ? 7 a" }, TWO_PASSES },
		{ "before its start too", { "5 ? 7 a", "10 + 7 a.exe" }, TWO_PASSES },
		{ "by the rundown at the start", { "1 = 7 a.exe", "11 ? 7 a" }, TWO_PASSES },
		{ "by the rundown at the end", { "5 ? 7 a", "90 e 7 a.exe" }, TWO_PASSES },
		{ "by its stop", { "5 ? 7 a", "20 - 7 a.exe", "21 ? 7 a" }, TWO_PASSES },
		{ "after its stop still",
		  { "10 + 7 a.exe", "20 - 7 a.exe", "99 ? 7 a" },
		  TWO_PASSES },
		{ "not by its stop when it had a name",
		  { "10 + 7 a.exe", "20 - 7 b.exe", "15 ? 7 a" },
		  TWO_PASSES },
		{ "an id used again",
		  { "10 + 7 a.exe", "20 - 7 a.exe", "30 + 7 b.exe", "5 ? 7 a", "25 ? 7 a",
		    "30 ? 7 b", "31 ? 7 b" },
		  TWO_PASSES },
		{ "used again, and only the rundown names it",
		  { "10 + 7 a.exe", "20 - 7 a.exe", "90 e 7 b.exe", "15 ? 7 a", "20 ? 7 b",
		    "40 ? 7 b" },
		  TWO_PASSES },
		{ "file order is not time order",
		  { "30 + 7 b.exe", "15 ? 7 a", "35 ? 7 b", "20 - 7 a.exe", "10 + 7 a.exe" },
		  TWO_PASSES },
		{ "a rundown fills what the start left out",
		  { "10 + 7 .", "12 ? 7 a", "90 e 7 a.exe" },
		  TWO_PASSES },
		{ "a rundown does not rename",
		  { "10 + 7 a.exe", "12 ? 7 a", "90 e 7 b.exe" },
		  TWO_PASSES },
		{ "no event names it", { "10 ? 7 _unknown" }, TWO_PASSES },
		{ "read once: known from the start on",
		  { "5 ? 7 _unknown", "10 + 7 a.exe", "11 ? 7 a" },
		  ONE_PASS },
		{ "read once: the end comes too late",
		  { "5 ? 7 _unknown", "90 e 7 a.exe", "91 ? 7 a" },
		  ONE_PASS },
	};

	(void)state;
	PLAY(stories, &defaults);
}

static void names_follow_the_rules_of_the_label(void **state)
{
	static const struct story stories[] = {
		{ "without .exe in any case",
		  { "1 + 7 a.exe", "2 + 8 b.EXE", "3 + 9 c.ExE", "4 ? 7 a", "4 ? 8 b", "4 ? 9 c" },
		  TWO_PASSES },
		{ "only at the end, and once",
		  { "1 + 7 a.exe.txt", "2 + 8 b.exe.exe", "4 ? 7 a.exe.txt", "4 ? 8 b.exe" },
		  TWO_PASSES },
		{ "nothing left", { "1 + 7 .exe", "4 ? 7 _unknown" }, TWO_PASSES },
		{ "nothing left is a name: a rundown does not fill it",
		  { "1 + 4 .exe", "2 = 4 x.exe", "4 ? 4 _unknown" },
		  TWO_PASSES },
		{ "the spelling of first sight stays",
		  { "1 + 7 Foo.exe", "2 + 8 FOO.EXE", "3 + 9 foo", "4 ? 7 Foo", "4 ? 8 Foo",
		    "4 ? 9 Foo" },
		  TWO_PASSES },
		{ "first sight in time, not in the file",
		  { "9 + 8 FOO.exe", "1 + 7 foo.exe", "10 ? 7 foo", "10 ? 8 foo" },
		  TWO_PASSES },
		{ "a stop does not decide the spelling",
		  { "1 - 7 FOO.exe", "2 + 8 foo.exe", "10 ? 7 foo", "10 ? 8 foo" },
		  TWO_PASSES },
		{ "unless nothing else does", { "1 - 7 FOO.exe", "10 ? 7 FOO" }, TWO_PASSES },
		{ "a backslash, a quote: as it stands",
		  { "1 + 7 a\\b\"c.exe", "4 ? 7 a\\b\"c" },
		  TWO_PASSES },
		{ "Latin-1 when it is not UTF-8",
		  { "1 + 7 caf\xe9.exe", "4 ? 7 caf\xc3\xa9" },
		  TWO_PASSES },
		{ "control characters", { "1 + 7 a\x01\x7f", "4 ? 7 a\x01\x7f" }, TWO_PASSES },
		{ "the kernel's own ids", { "4 ? 0 Idle", "4 ? 4 System" }, TWO_PASSES },
		{ "named, they have that name",
		  { "1 = 0 idle.exe", "1 = 4 Secure", "4 ? 0 Idle", "4 ? 4 Secure" },
		  TWO_PASSES },
		{ "named without a name",
		  { "1 = 0 .", "1 = 4 .", "4 ? 0 Idle", "4 ? 4 System" },
		  TWO_PASSES },
	};

	(void)state;
	PLAY(stories, &defaults);
}

static void process_case_lower_folds_ascii_only(void **state)
{
	static const struct tracker_options lower = { .lower_case = true };
	static const struct story stories[] = {
		{ "lower",
		  { "1 + 7 Foo.EXE", "2 + 8 \xc3\x84.exe", "4 ? 7 foo", "4 ? 8 \xc3\x84",
		    "4 ? 4 system" },
		  TWO_PASSES },
	};

	(void)state;
	PLAY(stories, &lower);
}

static void past_the_limit_each_name_still_has_its_label(void **state)
{
	static const struct tracker_options few = { .processes = 4 }; /* Idle and System are two */
	static const struct story stories[] = {
		{ "a third name has a label of its own",
		  { "1 + 7 a.exe", "2 + 8 b.exe", "3 + 9 c.exe", "4 ? 7 a", "4 ? 8 b", "4 ? 9 c" },
		  TWO_PASSES },
		{ "a name that is known needs no room",
		  { "1 + 7 a.exe", "2 + 8 b.exe", "3 + 9 A.EXE", "4 ? 9 a" },
		  TWO_PASSES },
	};

	(void)state;
	PLAY(stories, &few);
}

static void a_thread_id_leads_to_its_owner(void **state)
{
	static const struct story stories[] = {
		{ "started", { "1 + 7 a.exe", "2 T+ 70 7", "3 T? 70 a" }, TWO_PASSES },
		{ "the rundown at the end names the owner",
		  { "3 T? 70 a", "90 Te 70 7", "91 e 7 a.exe" },
		  TWO_PASSES },
		{ "used again by another process",
		  { "1 + 7 a.exe", "1 + 8 b.exe", "2 T+ 70 7", "5 T- 70 7", "9 T+ 70 8",
		    "7 T? 70 a", "9 T? 70 b" },
		  TWO_PASSES },
		{ "thread 0 is the idle thread", { "3 T? 0 Idle" }, TWO_PASSES },
		{ "it stays so, although an event says otherwise",
		  { "1 + 7 a.exe", "2 T+ 0 7", "3 T? 0 Idle" },
		  TWO_PASSES },
		{ "an unknown thread belongs to no process", { "3 T? 70 _none" }, TWO_PASSES },
		{ "an owner without a name", { "2 T+ 70 7", "3 T? 70 _unknown" }, TWO_PASSES },
		{ "no id at all", { "3 T? 4294967295 _none" }, TWO_PASSES },
		{ "the owner's id was used again: the name of the time",
		  { "1 + 7 a.exe", "2 T+ 70 7", "5 - 7 a.exe", "9 + 7 b.exe", "3 T? 70 a",
		    "10 T? 70 b" },
		  TWO_PASSES },
	};

	(void)state;
	PLAY(stories, &defaults);
}

static void names_keep_their_spelling_in_the_next_pass(void **state)
{
	struct player player;
	struct tape tape;

	(void)state;
	player_init(&player, &defaults);
	tape_init(&tape, 8);
	put_line(&tape, "1 + 7 Foo.exe");
	player_play(&player, &tape, TWO_PASSES);
	tracker_reset(player.tracker);
	tape_rewind(&tape);
	put_line(&tape, "1 + 7 FOO.exe");
	put_line(&tape, "2 ? 7 Foo");
	put_line(&tape, "2 ? 8 _unknown");
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

static void recordings_that_share_names_share_their_spelling(void **state)
{
	static const struct registry_limits limits;
	struct registry *registry = registry_new(&limits, NULL);
	struct names *names = names_new(registry, 100, false, NULL);
	uint32_t foo = names_label(names, "Foo.exe", 7);

	(void)state;
	assert_int_equal(names_label(names, "FOO.EXE", 7), foo);
	assert_int_equal(names_label(names, "", 0), INTERN_NONE);
	assert_int_equal(names_label(names, ".exe", 4), registry_unknown(registry));
	assert_int_not_equal(names_label(names, "fo", 2), foo);
	names_free(names);
	names_free(NULL);
	registry_free(registry);
}

/* Programs with ever other names make the table of spellings forget them. */
static void given_names_stay_when_spellings_are_forgotten(void **state)
{
	static const struct registry_limits limits;
	struct registry *registry = registry_new(&limits, NULL);
	struct names *names = names_new(registry, 4, false, NULL);
	uint32_t java = names_label(names, "java.exe", 8), given;
	char other[16];

	(void)state;
	names_set_given_limit(names, 1);
	given = names_given_label(names, "java/Shop.jar", 13, java);
	assert_int_not_equal(given, java);
	assert_int_equal(names_given_label(names, "java/b.jar", 10, java), java);
	assert_int_equal(names_refused(names), 1);
	for (unsigned i = 0; i < 20; i++) {
		int size = snprintf(other, sizeof other, "p%u.exe", i);

		names_label(names, other, (size_t)size);
		assert_int_equal(names_given_label(names, "java/shop.jar", 13, java), given);
	}
	assert_int_equal(names_refused(names), 1);
	names_free(names);
	registry_free(registry);
}

static void a_cut_name_is_that_of_the_only_program_that_begins_so(void **state)
{
	static const struct {
		const char *known[4]; /* by other events, whole */
		const char *cut;
		const char *recording, *live; /* the label; "": none */
	} cases[] = {
		{ { "SearchProtocolHost.exe" },
		  "SearchProtocol",
		  "SearchProtocolHost",
		  "SearchProtocolHost" },
		{ { "SEARCHPROTOCOLHOST.EXE" },
		  "searchprotocol",
		  "SEARCHPROTOCOLHOST",
		  "SEARCHPROTOCOLHOST" },
		{ { "SearchProtocolHost" },
		  "SearchProtocol",
		  "SearchProtocolHost",
		  "SearchProtocolHost" },
		{ { "SearchProtocolHost.exe", "SearchProtocolHoster.exe" },
		  "SearchProtocol",
		  "",
		  "" },
		/* The same program in two spellings is one. */
		{ { "SearchProtocolHost.exe", "searchprotocolhost.exe" },
		  "SearchProtocol",
		  "SearchProtocolHost",
		  "SearchProtocolHost" },
		/* Nothing else begins so: whole, or of a program that comes later. */
		{ { "SearchIndexer.exe", "Search.exe" }, "SearchProtocol", "SearchProtocol", "" },
		{ { NULL }, "MemCompression", "MemCompression", "" },
		/* Fourteen characters that are whole, and known to be. */
		{ { "MemCompression" }, "MemCompression", "MemCompression", "MemCompression" },
		{ { "MemCompression", "MemCompressionTool.exe" }, "MemCompression", "", "" },
		{ { "taskhostex.exe.vir.exe" }, "taskhostex.exe", "taskhostex", "taskhostex" },
		/* Cut inside ".exe". */
		{ { NULL }, "RuntimeBroker.", "RuntimeBroker", "RuntimeBroker" },
		{ { NULL }, "WinStore.App.e", "WinStore.App", "WinStore.App" },
		{ { NULL }, "fontdrvhost.EX", "fontdrvhost", "fontdrvhost" },
		{ { "RuntimeBroker.exe" }, "RuntimeBroker.", "RuntimeBroker", "RuntimeBroker" },
		{ { "RuntimeBroker.Beta.exe" },
		  "RuntimeBroker.",
		  "RuntimeBroker.Beta",
		  "RuntimeBroker.Beta" },
		{ { "RuntimeBroker.exe", "RuntimeBroker.Beta.exe" }, "RuntimeBroker.", "", "" },
		/* Shorter or longer than a cut name: whole. */
		{ { "svchosts.exe" }, "svchost.exe", "svchost", "svchost" },
		{ { "SearchProtocolHost.exe" }, "SearchProtoco", "SearchProtoco", "SearchProtoco" },
		{ { "SearchProtocolHost.exe" },
		  "SearchProtocolH",
		  "SearchProtocolH",
		  "SearchProtocolH" },
		{ { "SearchProtocolHost.exe" }, ".exe", "_unknown", "_unknown" },
		{ { "SearchProtocolHost.exe" }, "", "", "" },
		/* A code page that is like Latin-1, as UTF-8: 14 characters are more bytes. */
		{ { "Gr\xc3\xb6\xc3\x9f"
		    "enrechner12.exe" },
		  "Gr\xc3\xb6\xc3\x9f"
		  "enrechner1",
		  "Gr\xc3\xb6\xc3\x9f"
		  "enrechner12",
		  "Gr\xc3\xb6\xc3\x9f"
		  "enrechner12" },
		{ { NULL },
		  "Gr\xc3\xb6\xc3\x9f"
		  "enrechner1",
		  "Gr\xc3\xb6\xc3\x9f"
		  "enrechner1",
		  "" },
		/* The code page is UTF-8: 14 bytes. */
		{ { NULL },
		  "Gr\xc3\xb6\xc3\x9f"
		  "enrechne",
		  "Gr\xc3\xb6\xc3\x9f"
		  "enrechne",
		  "" },
	};
	static const struct registry_limits limits;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		for (unsigned pass = 0; pass < 2; pass++) {
			bool recording = pass == 0;
			struct registry *registry = registry_new(&limits, NULL);
			struct names *names = names_new(registry, 100, false, NULL);
			struct processes processes;
			uint32_t label;

			print_message("  %s\n", cases[i].cut);
			processes_init(&processes, registry, names, 100, TEXTS_BYTES);
			if (recording) {
				processes_begin_first_pass(&processes);
				/* Its place in the file makes no difference. */
				processes_announce_image(&processes, LIFETIME_STOP, 7, 20,
							 cases[i].cut, strlen(cases[i].cut),
							 ETW_RECORD_NO_ID, NO_TERMINAL_SESSION);
			}
			for (unsigned j = 0; j < 4 && cases[i].known[j]; j++) {
				processes_announce(&processes, LIFETIME_START, 100 + j, 30,
						   &IMAGE(cases[i].known[j]));
			}
			if (recording) {
				processes_build(&processes, true);
			} else {
				processes_announce_image(&processes, LIFETIME_STOP, 7, 20,
							 cases[i].cut, strlen(cases[i].cut),
							 ETW_RECORD_NO_ID, NO_TERMINAL_SESSION);
			}
			label = processes_label(&processes, 7, 15, NULL);
			assert_string_equal(intern_text(registry_strings(registry), label, NULL),
					    recording ? cases[i].recording : cases[i].live);
			processes_clear(&processes);
			names_free(names);
			registry_free(registry);
		}
	}
}

static void a_cut_name_never_renames_a_process(void **state)
{
	static const struct registry_limits limits;
	static const char cut[] = "SearchProtocol", whole[] = "\\a\\SearchProtocolHost.exe";
	struct registry *registry = registry_new(&limits, NULL);
	struct names *names = names_new(registry, 100, false, NULL);
	const size_t cut_size = sizeof cut - 1;
	struct processes processes;
	uint32_t host, other;

	(void)state;
	processes_init(&processes, registry, names, 100, TEXTS_BYTES);
	/* Started, known by a rundown, found running, and named by the kernel. */
	processes_announce_image(&processes, LIFETIME_START, 1, 10, whole, sizeof whole - 1,
				 ETW_RECORD_NO_ID, NO_TERMINAL_SESSION);
	processes_announce_image(&processes, LIFETIME_EXISTS, 2, 10, whole, sizeof whole - 1,
				 ETW_RECORD_NO_ID, NO_TERMINAL_SESSION);
	processes_found(&processes, 3, "SearchProtocolHost.exe", 22);
	processes_announce(&processes, LIFETIME_START, 4, 10, &IMAGE("SearchProtocolHost.exe"));
	/* This id belonged to another process before. */
	processes_found(&processes, 5, "notepad.exe", 11);
	processes_announce(&processes, LIFETIME_START, 6, 10, &IMAGE("SearchProtocolFilter.exe"));
	host = names_label(names, "SearchProtocolHost", 18);
	other = names_label(names, "notepad", 7);
	assert_int_equal(processes_label(&processes, 3, 15, NULL), host);
	assert_int_equal(processes_label(&processes, 5, 15, NULL), other);
	for (uint32_t id = 1; id <= 5; id++) {
		processes_announce_image(&processes, LIFETIME_STOP, id, 20, cut, cut_size,
					 ETW_RECORD_NO_ID, NO_TERMINAL_SESSION);
	}
	for (uint32_t id = 1; id <= 4; id++) {
		assert_int_equal(processes_label(&processes, id, 15, NULL), host);
		assert_int_equal(processes_label(&processes, id, 25, NULL), host);
	}
	assert_int_equal(processes_label(&processes, 5, 25, NULL), registry_unknown(registry));
	/* A name in a code page cannot be compared behind the first such character. */
	processes_found(&processes, 8, "Se\xc3\xa1rchProtocolHost.exe", 23);
	processes_announce_image(&processes, LIFETIME_STOP, 8, 20, "Se\xc3\xa1rchProtocol", 15,
				 ETW_RECORD_NO_ID, NO_TERMINAL_SESSION);
	assert_int_equal(processes_label(&processes, 8, 25, NULL),
			 names_label(names, "Se\xc3\xa1rchProtocolHost", 19));
	processes_clear(&processes);
	names_free(names);
	registry_free(registry);
}

static void past_the_limit_of_names_beginnings_are_learnt_again(void **state)
{
	static const struct registry_limits limits;
	struct registry *registry = registry_new(&limits, NULL);
	struct names *names = names_new(registry, 2, false, NULL);
	uint32_t host = names_label(names, "SearchProtocolHost.exe", 22);

	(void)state;
	names_label(names, "SearchProtocolFilter.exe", 24);
	assert_int_equal(names_complete(names, "SearchProtocol", 14, false), INTERN_NONE);
	names_label(names, "c.exe", 5);
	assert_int_equal(names_label(names, "SearchProtocolHost.exe", 22), host);
	assert_int_equal(names_complete(names, "SearchProtocol", 14, false), host);
	names_free(names);
	registry_free(registry);
}

static void payloads_that_end_early_give_the_fields_they_contain(void **state)
{
	enum { NAME_AT = 64 };
	struct tape tape;
	char name[8];

	(void)state;
	tape_init(&tape, 8);
	for (uint32_t size = 0; size <= 70; size++) {
		struct player player;
		struct tape_event *event;

		tape_rewind(&tape);
		player_init(&player, &defaults);
		event = tape_process(&tape, 1, 10, 7, "abcdef.exe");
		if (size < event->record.payload_size) {
			uint8_t *bytes = event->payload;

			/* The sanitizers see a read behind its end. */
			event->payload = malloc(size ? size : 1);
			memcpy(event->payload, bytes, size);
			free(bytes);
			event->record.payload = event->payload;
			event->record.payload_size = size;
		}
		snprintf(name, sizeof name, "%.*s", size > NAME_AT ? (int)(size - NAME_AT) : 0,
			 "abcdef");
		tape_header(&tape, 20, 7, 1)->process = size > NAME_AT ? name : "_unknown";
		player_play(&player, &tape, TWO_PASSES);
		player_done(&player);
	}
	tape_done(&tape);
}

/* A name takes about 95 bytes. */
static void the_first_pass_has_as_many_names_as_the_budget_allows(void **state)
{
	enum { MANY = 200000 };
	struct etw_error err = { 0 };
	struct registry *registry = registry_new(NULL, &err);
	struct names *names = names_new(registry, MANY + 10, false, &err);
	struct processes processes;
	char name[32];

	(void)state;
	processes_init(&processes, registry, names, MANY, (size_t)2 * TEXTS_BYTES);
	processes_begin_first_pass(&processes);
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "name-%u.exe", (unsigned)i);
		processes_announce(&processes, LIFETIME_START, 8 + i, 10 + i, &IMAGE(name));
	}
	processes_build(&processes, true);
	for (uint32_t i = 0; i < MANY; i += MANY - 1) {
		uint32_t label = processes_label(&processes, 8 + i, 10 + i, NULL);

		snprintf(name, sizeof name, "name-%u", (unsigned)i);
		assert_string_equal(intern_text(registry_strings(registry), label, NULL), name);
	}
	processes_clear(&processes);
	names_free(names);
	registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_id_has_the_name_of_its_instance),
		cmocka_unit_test(names_follow_the_rules_of_the_label),
		cmocka_unit_test(process_case_lower_folds_ascii_only),
		cmocka_unit_test(past_the_limit_each_name_still_has_its_label),
		cmocka_unit_test(a_thread_id_leads_to_its_owner),
		cmocka_unit_test(names_keep_their_spelling_in_the_next_pass),
		cmocka_unit_test(recordings_that_share_names_share_their_spelling),
		cmocka_unit_test(given_names_stay_when_spellings_are_forgotten),
		cmocka_unit_test(a_cut_name_is_that_of_the_only_program_that_begins_so),
		cmocka_unit_test(a_cut_name_never_renames_a_process),
		cmocka_unit_test(past_the_limit_of_names_beginnings_are_learnt_again),
		cmocka_unit_test(the_first_pass_has_as_many_names_as_the_budget_allows),
		cmocka_unit_test(payloads_that_end_early_give_the_fields_they_contain),
	};

	return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
