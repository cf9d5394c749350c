/* SPDX-License-Identifier: MIT */
/*
 * Manifests that arrive as events while others are decoded: whose they are, how long they stay, and
 * what a process that announces too much loses.
 */
#include <etw/event_table.h>
#include <etw/kernel.h>

#include "lib/decode/inband_manifests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/source/provider_names.h"
#include "tests/support/inband_manifest.h"

enum { HONEST = 40, OTHER = 44, HOSTILE = 66, FORGOTTEN_MOST = 1000, SECOND = 10000000 };

static const struct etw_guid alpha = { { 0xa1 } };

struct fixture {
	struct etw_inband_manifests *inband;
	struct etw_event_table *event_table;
	uint32_t forgotten[FORGOTTEN_MOST]; /* ids of in-band manifests */
	size_t forgotten_count;
	size_t released; /* event classes */
	int64_t now;
};

static void release(void *context, struct etw_event_class *class)
{
	struct fixture *fixture = context;

	assert_non_null(class->schema);
	fixture->released++;
}

static void on_forget(void *context, uint32_t manifest_id)
{
	struct fixture *fixture = context;

	assert_true(fixture->forgotten_count < FORGOTTEN_MOST);
	fixture->forgotten[fixture->forgotten_count++] = manifest_id;
	etw_event_table_drop(fixture->event_table, manifest_id, release, fixture);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof *fixture);
	struct etw_schema_origins origins = { .live = true };

	assert_non_null(fixture);
	fixture->inband = etw_inband_manifests_new(on_forget, fixture, NULL);
	assert_non_null(fixture->inband);
	origins.inband = fixture->inband;
	fixture->event_table = etw_event_table_new(4096, &origins, NULL);
	assert_non_null(fixture->event_table);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	etw_event_table_free(fixture->event_table);
	etw_inband_manifests_free(fixture->inband);
	free(fixture);
	return 0;
}

static void look(void *context, const struct etw_record *record)
{
	struct fixture *fixture = context;

	inband_manifests_add(fixture->inband, record);
}

/* A manifest in which event 1 is called by the symbol. */
static void announce(struct fixture *fixture, uint32_t process_id, const char *symbol)
{
	char events[100];
	const struct inband_manifest manifest = { .provider = &alpha,
						  .process_id = process_id,
						  .time = fixture->now,
						  .name = "Alpha",
						  .inside = events };

	snprintf(events, sizeof events, "<events><event value='1' symbol='%s'/></events>", symbol);
	announce_chunks(&manifest, look, fixture);
}

static void announce_number(struct fixture *fixture, uint32_t process_id, unsigned number)
{
	char symbol[20];

	snprintf(symbol, sizeof symbol, "told%u", number);
	announce(fixture, process_id, symbol);
}

static struct etw_record event(uint32_t process_id)
{
	return (struct etw_record){ .provider = &alpha,
				    .type = ETW_RECORD_EVENT,
				    .id = 1,
				    .process_id = process_id,
				    .payload = (const uint8_t *)"",
				    .pointer_size = 8,
				    .kernel_group = 0xff };
}

static const struct etw_event_class *type_of(struct fixture *fixture, uint32_t process_id)
{
	const struct etw_record record = event(process_id);
	bool added;

	return etw_event_table_find(fixture->event_table, &record, &added);
}

static void assert_called(struct fixture *fixture, uint32_t process_id, const char *name)
{
	assert_string_equal(type_of(fixture, process_id)->event_name, name);
}

static struct etw_inband_statistics statistics_of(const struct fixture *fixture)
{
	struct etw_inband_statistics statistics;

	etw_inband_manifests_statistics(fixture->inband, &statistics);
	return statistics;
}

static void events_decode_once_their_process_has_announced_a_manifest(void **state)
{
	struct fixture *fixture = *state;

	assert_called(fixture, HONEST, "1");
	assert_null(type_of(fixture, HONEST)->schema);
	announce(fixture, HONEST, "Told");
	assert_called(fixture, HONEST, "Told");
	assert_called(fixture, OTHER, "1");
	announce(fixture, HONEST, "Again");
	assert_called(fixture, HONEST, "Again");
	assert_int_equal(statistics_of(fixture).entries, 2);
}

static void processes_with_equal_manifests_share_one(void **state)
{
	struct fixture *fixture = *state;
	const struct etw_event_class *class;

	announce(fixture, HONEST, "Told");
	class = type_of(fixture, HONEST);
	for (uint32_t id = 1000; id < 1400; id++) {
		announce(fixture, id, "Told");
		assert_ptr_equal(type_of(fixture, id), class);
	}
	assert_int_equal(statistics_of(fixture).entries, 1);
	assert_int_equal(statistics_of(fixture).dropped, 0);
}

/* In a table with sets of places, some sets overflow long before the table is full. */
static void every_process_keeps_its_manifest_until_all_places_are_taken(void **state)
{
	enum { FIRST = 1000, AFTER = FIRST + INBAND_ANNOUNCED_MOST };
	struct fixture *fixture = *state;

	for (uint32_t id = FIRST; id < AFTER; id++) {
		announce(fixture, id, "Told");
	}
	for (uint32_t id = FIRST; id < AFTER; id++) {
		assert_called(fixture, id, "Told");
	}
	assert_called(fixture, FIRST, "Told"); /* now the second one is the idle one */
	announce(fixture, AFTER, "Told");
	assert_called(fixture, FIRST + 1, "1");
	announce(fixture, AFTER, "Told"); /* needs no second place */
	for (uint32_t id = FIRST + 2; id <= AFTER; id++) {
		assert_called(fixture, id, "Told");
	}
	assert_called(fixture, FIRST, "Told");
}

/* Process/Start and Process/End of the kernel, or what Kernel-Process says. */
static void change_process(struct fixture *fixture, bool kernel, uint8_t number,
			   uint32_t process_id, bool trusted)
{
	const uint8_t payload[12] = {
		[0] = kernel ? 1 : (uint8_t)process_id, [8] = (uint8_t)process_id
	};
	const struct etw_record record = {
		.provider = kernel ? etw_kernel_group_guid(ETW_KERNEL_GROUP_PROCESS) :
				     &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS].guid,
		.type = kernel ? ETW_RECORD_SYSTEM : ETW_RECORD_EVENT,
		.classic = kernel,
		.id = kernel ? 0 : number,
		.opcode = kernel ? number : 0,
		.version = kernel ? 4 : 0,
		.payload = payload,
		.payload_size = sizeof payload,
		.pointer_size = 8,
		.time = fixture->now
	};

	inband_manifests_look(fixture->inband, &record, trusted);
}

static void a_process_with_a_former_id_has_not_announced_anything(void **state)
{
	enum { OF_KERNEL_PROCESS, OF_KERNEL };
	struct fixture *fixture = *state;
	struct etw_guid other = { { 0xbe } };

	for (unsigned number = ETW_KERNEL_OPCODE_START; number <= ETW_KERNEL_OPCODE_STOP;
	     number++) {
		for (unsigned trusted = 0; trusted < 2; trusted++) {
			announce(fixture, OTHER, "Other");
			announce(fixture, HONEST, "Told");
			fixture->now += SECOND;
			change_process(fixture, OF_KERNEL, (uint8_t)number, OTHER + 1, trusted);
			assert_called(fixture, HONEST, "Told");
			change_process(fixture, OF_KERNEL_PROCESS, (uint8_t)number, HONEST, false);
			assert_called(fixture, HONEST, "Told"); /* any process can write that */
			change_process(fixture, trusted ? OF_KERNEL_PROCESS : OF_KERNEL,
				       (uint8_t)number, HONEST, trusted);
			assert_called(fixture, HONEST, "1");
			assert_called(fixture, OTHER, "Other");
		}
	}
	/* A start that is delivered late is that of the process that announced. */
	announce(fixture, HONEST, "Told");
	fixture->now -= SECOND;
	change_process(fixture, OF_KERNEL, ETW_KERNEL_OPCODE_START, HONEST, false);
	fixture->now += SECOND;
	assert_called(fixture, HONEST, "Told");
	/* All of them, in any place. */
	for (unsigned i = 0; i < 20; i++) {
		const struct inband_manifest manifest = { .provider = &other,
							  .process_id = i % 2 ? HONEST : 1000 + i,
							  .time = fixture->now,
							  .name = "Other",
							  .inside = "" };

		other.bytes[1] = (uint8_t)i;
		announce_chunks(&manifest, look, fixture);
	}
	fixture->now += SECOND;
	change_process(fixture, OF_KERNEL, ETW_KERNEL_OPCODE_START, HONEST, false);
	assert_called(fixture, HONEST, "1");
	assert_called(fixture, OTHER, "Other");
	announce(fixture, HONEST, "Later");
	assert_called(fixture, HONEST, "Later");
}

static void a_process_that_announces_too_much_has_to_wait(void **state)
{
	struct fixture *fixture = *state;

	announce(fixture, HONEST, "Honest");
	assert_called(fixture, HONEST, "Honest");
	for (unsigned i = 0; i < 1000; i++) {
		announce_number(fixture, HOSTILE, i);
	}
	assert_int_equal(statistics_of(fixture).entries, 1 + INBAND_MOST_OF_PROCESS);
	assert_int_equal(statistics_of(fixture).dropped, 1000 - INBAND_MOST_OF_PROCESS);
	assert_called(fixture, HOSTILE, "told15"); /* the last one that was taken */
	assert_called(fixture, HONEST, "Honest");
	assert_int_equal(fixture->forgotten_count, 0);
	fixture->now += 9 * SECOND;
	announce_number(fixture, HOSTILE, 1000);
	assert_called(fixture, HOSTILE, "told15");
	fixture->now += SECOND;
	announce_number(fixture, HOSTILE, 1000);
	assert_called(fixture, HOSTILE, "told1000");
	assert_int_equal(fixture->forgotten_count, 1);
	assert_int_equal(statistics_of(fixture).entries, 1 + INBAND_MOST_OF_PROCESS);
	assert_called(fixture, HONEST, "Honest");
}

static void a_manifest_that_others_announced_too_stays_when_the_first_ends(void **state)
{
	struct fixture *fixture = *state;

	announce(fixture, HOSTILE, "Shared");
	announce(fixture, HONEST, "Shared");
	for (unsigned i = 0; i < 100; i++) {
		fixture->now += 20 * SECOND;
		announce_number(fixture, HOSTILE, i);
	}
	assert_called(fixture, HOSTILE, "told99");
	assert_called(fixture, HONEST, "Shared");
}

static void garbage_counts_like_any_other_text(void **state)
{
	struct fixture *fixture = *state;
	const struct inband_manifest manifest = { .provider = &alpha, .process_id = HOSTILE };

	for (unsigned i = 0; i < 100; i++) {
		char text[20];
		int size = snprintf(text, sizeof text, "<garbage %u", i);

		announce_chunk(&manifest, 0, 1, text, (size_t)size, look, fixture);
	}
	assert_int_equal(statistics_of(fixture).entries, INBAND_MOST_OF_PROCESS);
	announce(fixture, HOSTILE, "Late");
	assert_called(fixture, HOSTILE, "1");
}

static void all_together_are_bounded_and_the_idle_go_first(void **state)
{
	struct fixture *fixture = *state;

	announce(fixture, HONEST, "Honest");
	for (unsigned i = 0; i < 700; i++) {
		announce_number(fixture, 1000 + i, i);
		assert_called(fixture, HONEST, "Honest"); /* it is in use */
	}
	assert_int_equal(statistics_of(fixture).entries, INBAND_MOST);
	assert_int_equal(statistics_of(fixture).dropped, 701 - INBAND_MOST);
	assert_called(fixture, 1699, "told699");
	assert_called(fixture, 1000, "1");
}

static void bytes_are_bounded(void **state)
{
	static char large[INBAND_SIZE_MOST + 1];
	struct fixture *fixture = *state;

	memset(large, ' ', sizeof large);
	for (uint32_t i = 0; i < 100; i++) {
		const struct inband_manifest manifest = { .provider = &alpha,
							  .process_id = 1000 + i };
		size_t half = INBAND_SIZE_MOST / 2;

		large[i] = 'x';
		announce_chunk(&manifest, 0, 2, large, half, look, fixture);
		announce_chunk(&manifest, 1, 2, large + half, INBAND_SIZE_MOST - half, look,
			       fixture);
	}
	assert_int_equal(statistics_of(fixture).entries, INBAND_BYTES_MOST / INBAND_SIZE_MOST);
	announce_chunk(&(struct inband_manifest){ .provider = &alpha, .process_id = HOSTILE }, 0, 1,
		       large, sizeof large, look, fixture);
	assert_int_equal(statistics_of(fixture).entries, INBAND_BYTES_MOST / INBAND_SIZE_MOST);
}

static void event_classes_of_a_freed_manifest_are_dropped(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 600; i++) {
		char name[20];

		snprintf(name, sizeof name, "told%u", i);
		announce_number(fixture, 1000 + i, i);
		assert_called(fixture, 1000 + i, name);
		assert_called(fixture, HONEST, "1"); /* others are found as before */
	}
	assert_int_equal(fixture->forgotten_count, 600 - INBAND_MOST);
	assert_int_equal(fixture->released, 600 - INBAND_MOST);
	for (unsigned i = 600 - INBAND_MOST; i < 600; i++) {
		char name[20];

		snprintf(name, sizeof name, "told%u", i);
		assert_called(fixture, 1000 + i, name);
	}
}

static void the_only_event_class_of_a_table_is_dropped_as_well(void **state)
{
	struct fixture *fixture = *state;
	struct etw_schema_origins origins = { .live = true, .inband = fixture->inband };

	etw_event_table_free(fixture->event_table);
	fixture->event_table = etw_event_table_new(1, &origins, NULL);
	assert_non_null(fixture->event_table);
	announce(fixture, HONEST, "Told");
	assert_called(fixture, HONEST, "Told");
	for (unsigned i = 0; i < INBAND_MOST; i++) {
		announce_number(fixture, 1000 + i, i);
	}
	assert_int_equal(fixture->released, 1);
	assert_called(fixture, HONEST, "1");
}

/* Of a provider that has a name: without one, an event class waits for it. */
static void an_event_that_a_manifest_may_describe_is_usual_until_there_is_one(void **state)
{
	struct fixture *fixture = *state;
	struct etw_schema_origins origins = { .builtin_names = true, .inband = fixture->inband };
	struct etw_event_table *event_table = etw_event_table_new(16, &origins, NULL);
	struct etw_usual_classes *usual;
	struct etw_record record = event(HONEST), classic;
	bool added;

	assert_non_null(event_table);
	usual = etw_event_table_usual_classes(event_table);
	record.provider = &etw_known_providers[ETW_PROVIDER_HTTP_SERVICE].guid;
	record.id = 5;
	classic = record;
	classic.classic = true;
	assert_true(etw_event_table_find(event_table, &record, &added)->overridable);
	assert_false(etw_event_table_find(event_table, &classic, &added)->overridable);
	assert_non_null(etw_event_table_usual(usual, &record));
	assert_non_null(etw_event_table_usual(usual, &classic));
	announce(fixture, HONEST, "Told");
	etw_event_table_find(event_table, &classic,
			     &added); /* any record, such as the manifest's */
	assert_null(etw_event_table_usual(usual, &record));
	assert_non_null(etw_event_table_usual(usual, &classic));
	etw_event_table_free(event_table);
}

/* Announced in two chunks, the first of which has 20 bytes. */
static const struct inband_manifest honest = {
	.provider = &alpha,
	.process_id = HONEST,
	.name = "Alpha",
	.inside = "<events><event value='1' symbol='Whole'/></events>"
};

static void a_chunk_may_arrive_after_the_next_one(void **state)
{
	struct fixture *fixture = *state;
	struct etw_text whole = { 0 };

	inband_manifest_xml(&whole, &honest);
	announce_chunk(&honest, 1, 2, whole.data + 20, whole.size - 20, look, fixture);
	announce_chunk(&honest, 0, 2, whole.data, 20, look, fixture);
	assert_called(fixture, HONEST, "Whole");
	text_free(&whole);
}

static void incomplete_manifests_are_bounded_by_process(void **state)
{
	static const char xml[] = "<x/>";
	struct fixture *fixture = *state;
	struct etw_text whole = { 0 };

	inband_manifest_xml(&whole, &honest);
	announce_chunk(&honest, 0, 2, whole.data, 20, look, fixture);
	for (unsigned i = 0; i < 1000; i++) {
		struct etw_guid guid = { { (uint8_t)i, (uint8_t)(i / 256), 1 } };
		const struct inband_manifest manifest = { .provider = &guid,
							  .process_id = HOSTILE };

		announce_chunk(&manifest, 0, 2, xml, 2, look, fixture);
	}
	announce_chunk(&honest, 1, 2, whole.data + 20, whole.size - 20, look, fixture);
	assert_called(fixture, HONEST, "Whole");
	assert_int_equal(statistics_of(fixture).dropped, 1000 - 32); /* of a process 32 wait */
	text_free(&whole);
}

/* All together take at most 64 MiB, whichever processes they are of; the oldest go first. */
static void incomplete_manifests_are_bounded_by_bytes(void **state)
{
	enum { MANIFESTS = 90, OF_PROCESS = 30, CHUNKS = 17, PART = 60000, WAIT = 65 };
	static char part[PART];
	struct fixture *fixture = *state;
	struct etw_text whole = { 0 };

	memset(part, 'x', sizeof part);
	inband_manifest_xml(&whole, &honest);
	announce_chunk(&honest, 0, 2, whole.data, 20, look, fixture);
	for (unsigned i = 0; i < MANIFESTS; i++) {
		struct etw_guid guid = { { (uint8_t)i, 0, 1 } };
		const struct inband_manifest manifest = { .provider = &guid,
							  .process_id = HOSTILE + i / OF_PROCESS };

		for (uint16_t number = 0; number < CHUNKS; number++) {
			announce_chunk(&manifest, number, CHUNKS + 1, part, sizeof part, look,
				       fixture);
		}
	}
	assert_int_equal(statistics_of(fixture).dropped, 1 + MANIFESTS - WAIT);
	announce_chunk(&honest, 1, 2, whole.data + 20, whole.size - 20, look, fixture);
	assert_called(fixture, HONEST, "1"); /* it has no name: its first chunk was the oldest */
	announce_chunk(&honest, 0, 2, whole.data, 20, look, fixture);
	assert_called(fixture, HONEST, "Whole");
	text_free(&whole);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_decode_once_their_process_has_announced_a_manifest),
		TEST(processes_with_equal_manifests_share_one),
		TEST(every_process_keeps_its_manifest_until_all_places_are_taken),
		TEST(a_process_with_a_former_id_has_not_announced_anything),
		TEST(a_process_that_announces_too_much_has_to_wait),
		TEST(a_manifest_that_others_announced_too_stays_when_the_first_ends),
		TEST(garbage_counts_like_any_other_text),
		TEST(all_together_are_bounded_and_the_idle_go_first),
		TEST(bytes_are_bounded),
		TEST(event_classes_of_a_freed_manifest_are_dropped),
		TEST(the_only_event_class_of_a_table_is_dropped_as_well),
		TEST(an_event_that_a_manifest_may_describe_is_usual_until_there_is_one),
		TEST(a_chunk_may_arrive_after_the_next_one),
		TEST(incomplete_manifests_are_bounded_by_process),
		TEST(incomplete_manifests_are_bounded_by_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
