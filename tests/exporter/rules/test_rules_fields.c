/* SPDX-License-Identifier: MIT */
/*
 * Fields that rules name: elements, members and counts of described events, and what stands beside
 * their payload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/etl/writer.h"
#include "tests/support/rule_run.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define PROVIDER "a1a1a1a1-0000-0000-0000-000000000001"
#define X        "collector: x\nhelp: h\ndefault: on\nmetrics:\n"
#define EVENT    "event: '{" PROVIDER "}/1'"
#define LABEL(label)                                                                               \
	X "- { name: a_total, type: counter, help: h, labels: { l: " label " }, events: [{ " EVENT \
	  " }] }\n"
#define VALUE(value)                                                                        \
	X "- { name: a_total, type: counter, help: h, events: [{ " EVENT ", value: '" value \
	  "' }] }\n"

/*
 * n: how many; plain: an array of numbers; names: of texts; rows: of structures with a number, an
 * array and a structure; one: a structure; count: a number that is called so.
 */
static const char events[] =
	"<events><event value='1' symbol='Work' template='work'/></events><templates>"
	"<template tid='work'>"
	"<data name='n' inType='win:UInt16'/>"
	"<data name='plain' inType='win:Int16' count='n'/>"
	"<data name='names' inType='win:UnicodeString' count='2'/>"
	"<data name='rows' inType='win:UInt8' count='0'/>"
	"<struct name='row' count='n'><data name='size' inType='win:UInt32'/>"
	"<data name='pair' inType='win:UInt8' count='2'/>"
	"<data name='text' inType='win:AnsiString'/></struct>"
	"<struct name='one'><data name='count' inType='win:UInt32'/>"
	"<data name='id' inType='win:GUID'/></struct>"
	"</template></templates>";

static void open(struct rule_run *run, const char *collector)
{
	rule_run_open(run, collector, NULL);
	rule_run_announce(run, PROVIDER, "Alpha", events);
}

/* n elements: plain 100, 99 …, rows of size 1000, 2000 … */
static enum record_outcome feed(struct rule_run *run, uint16_t n, size_t most)
{
	static const uint8_t id[16] = { 1 };

	rule_run_other(run, PROVIDER, 1);
	etw_payload_u16(&run->payload, n);
	for (uint16_t i = 0; i < n; i++) {
		etw_payload_u16(&run->payload, (uint16_t)(100 - i));
	}
	etw_payload_wstring(&run->payload, "first");
	etw_payload_wstring(&run->payload, "second");
	for (uint16_t i = 0; i < n; i++) {
		etw_payload_u32(&run->payload, 1000U * (i + 1U));
		etw_payload_u8(&run->payload, (uint8_t)(10 * i));
		etw_payload_u8(&run->payload, (uint8_t)(10 * i + 1));
		etw_payload_astring(&run->payload, i == 0 ? "zero" : "other");
	}
	etw_payload_u32(&run->payload, 77);
	etw_payload_bytes(&run->payload, id, sizeof id);
	if (run->payload.size > most) {
		run->payload.size = most;
	}
	return rule_run_feed(run);
}

static void labels_read_elements_members_and_counts(void **state)
{
	static const struct {
		const char *field;
		const char *value;
	} cases[] = {
		{ "n", "3" },
		{ "'plain[0]'", "100" },
		{ "'plain[2]'", "98" },
		{ "plain.count", "3" },
		{ "plain", "100,99,98" },
		{ "'names[1]'", "second" },
		{ "names.count", "2" },
		{ "'row[0].size'", "1000" },
		{ "'row[0x2].size'", "3000" },
		{ "'row[1].text'", "other" },
		{ "'row[0].text'", "zero" },
		{ "'row[1].pair[1]'", "11" },
		{ "'row[2].pair'", "20,21" },
		{ "'row[2].pair.count'", "2" },
		{ "row.count", "3" },
		{ "rows.count", "0" },
		{ "one.count", "77" },
		{ "one.id", "00000001-0000-0000-0000-000000000000" },
		{ "'[0]'", "3" },
		{ "'[1][1]'", "99" },
		{ "'[4][1].[0]'", "2000" },
		{ "{ field: 'plain[1]', decode: [hex] }", "0x63" },
		{ "{ field: 'plain[1]', map: { 99: x }, default: y }", "x" },
		/* What no layout has, or an array never could. */
		{ "'plain[3]'", "_unknown" },
		{ "'row[3].size'", "_unknown" },
		{ "'row[0].pair[2]'", "_unknown" },
		{ "'n[0]'", "_unknown" },
		{ "n.count", "_unknown" },
		{ "row", "_unknown" },
		{ "row.size", "_unknown" },
		{ "'row[0]'", "_unknown" },
		{ "'one[0].count'", "_unknown" },
		{ "'[6]'", "_unknown" },
		{ "'plain[1'", "_unknown" },
		{ "'plain[-1]'", "_unknown" },
		{ "'plain[1]x'", "_unknown" },
		{ "'plain[4294967296]'", "_unknown" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rule_run run;
		char text[512];

		print_message("  %s\n", cases[i].field);
		snprintf(text, sizeof text, LABEL("%s"), cases[i].field);
		open(&run, text);
		assert_int_equal(feed(&run, 3, SIZE_MAX), OUTCOME_COUNTED);
		snprintf(text, sizeof text, "a_total{l=\"%s\"} 1", cases[i].value);
		rule_run_expect(&run, text);
		rule_run_close(&run);
	}
}

static void values_and_conditions_read_them_too(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, X
	     "- { name: a_total, type: counter, help: h, events: [{ " EVENT
	     ", value: 'row[1].size' }] }\n"
	     "- { name: b_total, type: counter, help: h, events: [{ " EVENT
	     ", where: [{ field: row.count, ge: 2 }] }] }\n"
	     "- { name: c_total, type: counter, help: h, events: [{ " EVENT
	     ", where: [{ field: 'names[0]', eq: FIRST }, { field: 'row[0].text', starts: z }] }] }\n"
	     "- { name: d_total, type: counter, help: h, events: [{ " EVENT
	     ", where: [{ field: 'names[0]', eq: second }] }] }\n");
	feed(&run, 1, SIZE_MAX);
	feed(&run, 2, SIZE_MAX);
	feed(&run, 3, SIZE_MAX);
	rule_run_expect(&run, "a_total 4000");
	rule_run_expect(&run, "b_total 2");
	rule_run_expect(&run, "c_total 3");
	rule_run_expect(&run, "d_total 0");
	rule_run_close(&run);
}

/* Each is read by itself, also when several rules ask for neighbours. */
static void parts_of_one_event_keep_apart(void **state)
{
	static const struct {
		const char *field;
		unsigned sum; /* of one event with three elements */
	} parts[] = {
		{ "plain[0]", 100 },
		{ "plain[1]", 99 },
		{ "plain[2]", 98 },
		{ "plain.count", 3 },
		{ "names.count", 2 },
		{ "row[0].size", 1000 },
		{ "row[1].size", 2000 },
		{ "row[2].size", 3000 },
		{ "row[1].pair[0]", 10 },
		{ "row[1].pair[1]", 11 },
		{ "row[2].pair[0]", 20 },
		{ "row[2].pair[1]", 21 },
		{ "row[2].pair.count", 2 },
		{ "row.count", 3 },
		/* The first ones again, by another rule and by number. */
		{ "plain[1]", 99 },
		{ "[1][1]", 99 },
		{ "row[0].size", 1000 },
	};
	struct etw_text collector = { 0 };
	struct rule_run run;

	(void)state;
	text_add_string(&collector, X);
	for (unsigned i = 0; i < COUNT(parts); i++) {
		text_add_format(&collector,
				"- { name: a%u_total, type: counter, help: h, events: [{ " EVENT
				", value: '%s' }] }\n",
				i, parts[i].field);
	}
	open(&run, collector.data);
	for (unsigned fed = 1; fed <= 2; fed++) {
		assert_int_equal(feed(&run, 3, SIZE_MAX), OUTCOME_COUNTED);
		for (unsigned i = 0; i < COUNT(parts); i++) {
			char line[64];

			snprintf(line, sizeof line, "a%u_total %u", i, fed * parts[i].sum);
			rule_run_expect(&run, line);
		}
	}
	rule_run_close(&run);
	text_free(&collector);
}

/* ---- names of values ---- */

static const char mapped[] =
	"<maps><valueMap name='m'><map value='1' message='Small'/><map value='2' message='Large'/>"
	"<map value='3' message='Twice'/><map value='4' message='Twice'/>"
	"<map value='0xffffffff' message='Lost'/></valueMap></maps>"
	"<events><event value='1' symbol='Work' template='t'/></events><templates>"
	"<template tid='t'><data name='why' inType='win:UInt32' map='m'/>"
	"<data name='how' inType='win:Int32' map='m'/><data name='plain' inType='win:UInt32'/>"
	"</template></templates>";

/* why and how are 1, 2 and so on; plain is 7. */
static void feed_mapped(struct rule_run *run)
{
	for (uint32_t value = 1; value < 6; value++) {
		rule_run_other(run, PROVIDER, 1);
		etw_payload_u32(&run->payload, value);
		etw_payload_u32(&run->payload, value == 5 ? UINT32_MAX : value);
		etw_payload_u32(&run->payload, 7);
		rule_run_feed(run);
	}
}

static void conditions_know_values_by_name(void **state)
{
	static const struct {
		const char *where;
		unsigned events;
	} cases[] = {
		{ "{ field: why, eq: Large }", 1 },
		{ "{ field: why, eq: lARGE }", 1 },
		{ "{ field: why, eq: 2 }", 1 },
		{ "{ field: why, ne: Large }", 4 },
		{ "{ field: why, in: [Small, Large, 5] }", 3 },
		{ "{ field: how, eq: Lost }", 1 },
		{ "{ field: how, eq: -1 }", 1 },
		{ "{ field: why, eq: Small }, { field: why, eq: 1 }", 1 },
		/* The number of these is unknown: the rule does not apply. */
		{ "{ field: why, eq: Twice }", 0 },
		{ "{ field: why, ne: Nothing }", 0 },
		{ "{ field: plain, eq: Large }", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rule_run run;
		char text[512];

		print_message("  %s\n", cases[i].where);
		snprintf(text, sizeof text,
			 X "- { name: a_total, type: counter, help: h, events: [{ " EVENT
			   ", where: [%s] }] }\n",
			 cases[i].where);
		rule_run_open(&run, text, NULL);
		rule_run_announce(&run, PROVIDER, "Alpha", mapped);
		feed_mapped(&run);
		snprintf(text, sizeof text, "a_total %u", cases[i].events);
		rule_run_expect(&run, text);
		if (cases[i].events == 0) {
			rule_run_expect(
				&run,
				"etw_decode_errors_total{provider=\"Alpha\",reason=\"bad_type\"} 1");
		}
		rule_run_close(&run);
	}
}

static void maps_know_values_by_name(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      LABEL("{ field: why, map: { small: s, Large: l, 5: five }, default: d }"),
		      NULL);
	rule_run_announce(&run, PROVIDER, "Alpha", mapped);
	feed_mapped(&run);
	rule_run_expect(&run, "a_total{l=\"s\"} 1");
	rule_run_expect(&run, "a_total{l=\"l\"} 1");
	rule_run_expect(&run, "a_total{l=\"five\"} 1");
	rule_run_expect(&run, "a_total{l=\"d\"} 2");
	rule_run_close(&run);
}

/* More values, labels, literals and parts than one growth of their arrays has room for, first and
 * again for another class. */
static void one_rule_set_may_read_many_of_them(void **state)
{
	enum { LABELS = 6, METRICS = 5 };
	struct rule_run run;
	char text[4096] = X;
	size_t size = strlen(text);

	(void)state;
	for (int i = 0; i < METRICS; i++) {
		size += (size_t)snprintf(text + size, sizeof text - size,
					 "- { name: a%d_total, type: counter, help: h, labels: {",
					 i);
		for (int j = 0; j < LABELS; j++) {
			size += (size_t)snprintf(
				text + size, sizeof text - size,
				"%s l%d: { field: 'plain[%d]', map: { %d: mapped }, default: other }",
				j > 0 ? "," : "", j, i * LABELS + j, 100 - i * LABELS);
		}
		size += (size_t)snprintf(text + size, sizeof text - size,
					 " }, events: [{ event: '{" PROVIDER
					 "}/*', where: [{ field: 'plain[%d]', in: [1, %d, 3] }] "
					 "}] }\n",
					 i, 100 - i);
	}
	open(&run, text);
	for (int round = 1; round <= 2; round++) {
		assert_int_equal(feed(&run, LABELS * METRICS, SIZE_MAX), OUTCOME_COUNTED);
		rule_run_other(&run, PROVIDER, 2);
		rule_run_feed(&run);
		for (int i = 0; i < METRICS; i++) {
			snprintf(text, sizeof text,
				 "a%d_total{l0=\"mapped\",l1=\"other\",l2=\"other\",l3=\"other\","
				 "l4=\"other\",l5=\"other\"} %d",
				 i, round);
			rule_run_expect(&run, text);
		}
	}
	rule_run_close(&run);
}

static void a_missing_element_is_counted_and_no_zero(void **state)
{
	struct rule_run run;

	(void)state;
	open(&run, VALUE("plain[1]"));
	for (uint16_t n = 0; n < 4; n++) {
		assert_int_equal(feed(&run, n, SIZE_MAX),
				 n < 2 ? OUTCOME_NO_RULE : OUTCOME_COUNTED);
	}
	rule_run_expect(&run, "a_total 198");
	rule_run_expect(&run, "etw_decode_errors_total{provider=\"Alpha\",reason=\"rule\"} 2");
	rule_run_close(&run);
}

static void a_payload_that_ends_before_the_element_is_truncated(void **state)
{
	/*
	 * n, two numbers, 12 and 14 bytes of text; rows of 11 and 12 bytes, 5 and 6 of which are
	 * text at their end: of that one byte is enough. A row is whole or none.
	 */
	static const struct {
		const char *field;
		size_t whole; /* bytes that it takes to read it */
	} cases[] = {
		{ "plain[0]", 4 },   { "plain.count", 6 },  { "row[0].size", 39 },
		{ "row.count", 50 }, { "row[1].size", 50 }, { "one.count", 59 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rule_run run;
		char text[512];

		snprintf(text, sizeof text, VALUE("%s"), cases[i].field);
		open(&run, text);
		for (size_t most = 0; most < 80; most++) {
			bool read = feed(&run, 2, most) == OUTCOME_COUNTED;

			if (read != (most >= cases[i].whole)) {
				fail_msg("%s of %zu bytes", cases[i].field, most);
			}
		}
		assert_int_equal(feed(&run, 2, SIZE_MAX), OUTCOME_COUNTED);
		rule_run_expect_none(&run,
				     "etw_decode_errors_total{provider=\"Alpha\",reason=\"rule\"}");
		rule_run_close(&run);
	}
}

/* ---- beside the payload ---- */

static const uint8_t related[16] = { 0xef, 0xbe, 0xad, 0xde };
static const uint8_t sid[12] = { 1, 1, 0, 0, 0, 0, 0, 5, 18 };
static const uint8_t session[4] = { 3 };
static const uint8_t stack64[8 + 3 * 8] = { 9 };
static const uint8_t stack32[8 + 2 * 4] = { 8 };
static const uint8_t key[8] = { 0x10, 1 };

static void feed_items(struct rule_run *run, const struct etw_out_item *items, size_t count)
{
	uint8_t bytes[256] = { 0 };
	size_t size = 0;

	rule_run_other(run, PROVIDER, 9);
	for (size_t i = 0; i < count; i++) {
		size_t stride = (8 + items[i].size + 7U) / 8 * 8;

		bytes[size] = (uint8_t)stride;
		bytes[size + 2] = (uint8_t)items[i].type;
		bytes[size + 4] = i + 1 < count;
		bytes[size + 6] = (uint8_t)items[i].size;
		memcpy(bytes + size + 8, items[i].data, items[i].size);
		size += stride;
	}
	run->record.extended = count > 0 ? bytes : NULL;
	run->record.extended_size = (uint32_t)size;
	assert_int_equal(rule_run_feed(run), OUTCOME_COUNTED);
	run->record.extended = NULL;
	run->record.extended_size = 0;
}

static void extended_items_are_fields(void **state)
{
	static const struct etw_out_item all[] = {
		{ ETW_EXTENDED_RELATED_ACTIVITY, sizeof related, related },
		{ ETW_EXTENDED_SID, sizeof sid, sid },
		{ ETW_EXTENDED_SESSION_ID, sizeof session, session },
		{ ETW_EXTENDED_STACK64, sizeof stack64, stack64 },
		{ ETW_EXTENDED_EVENT_KEY, sizeof key, key },
		{ ETW_EXTENDED_PROCESS_START_KEY, sizeof key, key },
		{ ETW_EXTENDED_CONTAINER_ID, 4, "0c9e" },
	};
	static const struct {
		const char *field;
		const char *value;
	} cases[] = {
		{ "Event.RelatedActivityId", "deadbeef-0000-0000-0000-000000000000" },
		{ "Event.Sid", "S-1-5-18" },
		{ "Event.TerminalSession", "3" },
		{ "Event.StackDepth", "3" },
		{ "Event.StackMatchId", "9" },
		{ "Event.EventKey", "272" },
		{ "Event.ProcessStartKey", "272" },
		{ "Event.ContainerId", "0c9e" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rule_run run;
		char text[512];

		snprintf(text, sizeof text,
			 X "- { name: a_total, type: counter, help: h, labels: { l: %s }, "
			   "events: [{ event: '{" PROVIDER "}/9' }] }\n",
			 cases[i].field);
		rule_run_open(&run, text, NULL);
		feed_items(&run, all, COUNT(all));
		snprintf(text, sizeof text, "a_total{l=\"%s\"} 1", cases[i].value);
		rule_run_expect(&run, text);
		/* An event that has none says so. */
		feed_items(&run, NULL, 0);
		rule_run_expect(&run, "a_total{l=\"_none\"} 1");
		rule_run_close(&run);
	}
}

static void cpu_times_of_the_header_are_fields(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X "- { name: a_total, type: counter, help: h, labels: { k: Event.KernelTime, u: "
		  "Event.UserTime }, events: [{ event: '{" PROVIDER "}/9' }] }\n",
		NULL);
	rule_run_other(&run, PROVIDER, 9);
	run.record.cpu_times = UINT64_C(7) << 32 | 5;
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_expect(&run, "a_total{k=\"5\",u=\"7\"} 1");
	run.record.cpu_times = ETW_RECORD_NO_CPU_TIMES;
	assert_int_equal(rule_run_feed(&run), OUTCOME_COUNTED);
	rule_run_expect(&run, "a_total{k=\"_none\",u=\"_none\"} 1");
	rule_run_close(&run);
}

static void a_stack_of_either_width_has_its_depth(void **state)
{
	static const struct etw_out_item narrow = { ETW_EXTENDED_STACK32, sizeof stack32, stack32 };
	static const struct etw_out_item wide = { ETW_EXTENDED_STACK64, sizeof stack64, stack64 };
	static const struct etw_out_item cut = { ETW_EXTENDED_STACK64, 7, stack64 };
	struct rule_run run;

	(void)state;
	rule_run_open(
		&run,
		X "- { name: a_total, type: counter, help: h, events: [{ event: '{" PROVIDER
		  "}/9', value: Event.StackDepth, where: [{ field: Event.StackDepth, gt: 1 }] }, "
		  "{ event: '{" PROVIDER "}/9' }] }\n",
		NULL);
	feed_items(&run, &narrow, 1);
	feed_items(&run, &wide, 1);
	feed_items(&run, NULL, 0);
	rule_run_expect(&run, "a_total 8"); /* 2 + 3, and the events */
	feed_items(&run, &cut, 1);
	rule_run_expect(&run, "a_total 9");
	rule_run_expect(&run,
			"etw_decode_errors_total{provider=\"" PROVIDER "\",reason=\"bad_type\"} 1");
	rule_run_close(&run);
}

static void a_sid_that_is_none_is_counted(void **state)
{
	static const struct etw_out_item cut = { ETW_EXTENDED_SID, sizeof sid - 1, sid };
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      X "- { name: a_total, type: counter, help: h, labels: { l: Event.Sid }, "
			"events: [{ event: '{" PROVIDER "}/9' }] }\n",
		      NULL);
	feed_items(&run, &cut, 1);
	rule_run_expect(&run, "a_total{l=\"_none\"} 1");
	rule_run_expect(&run,
			"etw_decode_errors_total{provider=\"" PROVIDER "\",reason=\"bad_type\"} 1");
	rule_run_close(&run);
}

static void the_activity_of_the_header_is_a_field(void **state)
{
	static const struct etw_guid activity = { { 1 } }, none = { { 0 } };
	struct rule_run run;

	(void)state;
	rule_run_open(&run,
		      X
		      "- { name: a_total, type: counter, help: h, labels: { l: Event.ActivityId }, "
		      "events: [{ event: '{" PROVIDER "}/9' }] }\n",
		      NULL);
	run.record.activity = &activity;
	feed_items(&run, NULL, 0);
	run.record.activity = &none;
	feed_items(&run, NULL, 0);
	run.record.activity = NULL;
	feed_items(&run, NULL, 0);
	rule_run_expect(&run, "a_total{l=\"00000001-0000-0000-0000-000000000000\"} 1");
	rule_run_expect(&run, "a_total{l=\"_none\"} 2");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_read_elements_members_and_counts),
		cmocka_unit_test(values_and_conditions_read_them_too),
		cmocka_unit_test(parts_of_one_event_keep_apart),
		cmocka_unit_test(conditions_know_values_by_name),
		cmocka_unit_test(maps_know_values_by_name),
		cmocka_unit_test(one_rule_set_may_read_many_of_them),
		cmocka_unit_test(a_missing_element_is_counted_and_no_zero),
		cmocka_unit_test(a_payload_that_ends_before_the_element_is_truncated),
		cmocka_unit_test(extended_items_are_fields),
		cmocka_unit_test(cpu_times_of_the_header_are_fields),
		cmocka_unit_test(a_stack_of_either_width_has_its_depth),
		cmocka_unit_test(a_sid_that_is_none_is_counted),
		cmocka_unit_test(the_activity_of_the_header_is_a_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
