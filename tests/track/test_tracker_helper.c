/* SPDX-License-Identifier: MIT */
/*
 * Helpers of a tracker: what they find of a record is what a tracker finds that observes all of
 * them alone, whichever thread has which records and whenever. And which records they may have.
 */
#include "track/tracker.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "tests/support/page.h"
#include "tests/support/tracker_run.h"
#include "track/derived_fields.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { HELPERS_MOST = 3, PARTS = 7 };

static const uint64_t kernel = 0xfffff80000000000;

/* All that goes with helpers. */
static const struct tracker_options everything = {
	.process_gauges = true,
	.disk_info = true,
	.disk_cause = true,
	.features = TRACK_FILES | TRACK_REQUESTS | TRACK_DRIVERS | TRACK_SCHEDULER | TRACK_SOURCES,
};

static const struct tracker_options files_and_drivers = { .features = TRACK_FILES | TRACK_DRIVERS };

/* ---- a tracker, or a helper, at work ---- */

struct worker {
	struct tracker *tracker;
	struct event_table *classes; /* owned */
};

static void worker_init(struct worker *worker, struct tracker *tracker)
{
	*worker =
		(struct worker){ .tracker = tracker, .classes = event_table_new(1000, NULL, NULL) };
	assert_non_null(worker->tracker);
	assert_non_null(worker->classes);
}

static void release(void *context, struct event_class *class)
{
	(void)context;
	tracker_release(class);
}

static void worker_done(struct worker *worker)
{
	event_table_each(worker->classes, release, NULL);
	event_table_free(worker->classes);
}

/* NULL without memory, so that a thread can use it. */
static struct event_class *class_of(struct worker *worker, const struct event_record *record)
{
	bool added;
	struct event_class *class = event_table_find(worker->classes, record, &added);

	return class && (!added || tracker_prepare(worker->tracker, class)) ? class : NULL;
}

static bool worker_shares(struct worker *worker, const struct event_record *record)
{
	struct event_class *class = class_of(worker, record);

	assert_non_null(class);
	return tracker_shares(worker->tracker, class);
}

static void add_read(struct text *out, struct intern *strings, const struct derived_read *read)
{
	char number[32];

	if (read->row->form == FORM_TEXT) {
		text_add(out, (const char *)read->slice.at, read->slice.size);
	} else if (read->row->form == FORM_ID) {
		const char *label = intern_text(strings, (uint32_t)read->number, NULL);

		text_add(out, label, strlen(label));
	} else {
		text_add(out, number,
			 (size_t)snprintf(number, sizeof number, "%" PRIu64, read->number));
	}
}

/* All that rules may read of the record last observed. Labels are text: each registry has ids of
 * its own. */
static void describe(struct tracker *tracker, struct registry *registry, uint32_t features,
		     const struct event_record *record, struct text *out)
{
	const struct derived_field *row;
	uint32_t process_id;
	char line[128];

	for (unsigned i = 0; (row = derived_at(i)) != NULL; i++) {
		struct derived_read read = { .row = row, .tracker = tracker, .record = record };
		enum derived_result result;

		if (!row->read || (row->features & ~features) != 0) {
			continue;
		}
		result = row->read(&read);
		text_add(out, line,
			 (size_t)snprintf(line, sizeof line, "%s %d ", row->name, (int)result));
		if (result == DERIVED_FOUND) {
			add_read(out, registry_strings(registry), &read);
		}
		text_add(out, "\n", 1);
	}
	tracker_process(tracker, &process_id);
	text_add(out, line,
		 (size_t)snprintf(line, sizeof line, "id %" PRIu32 ", instance %" PRIu64 ", %d\n",
				  process_id, tracker_instance(tracker),
				  tracker_outlived(tracker)));
	text_add(out, "", 1);
}

/* Observes the record and describes what was found. False without memory. */
static bool observe(struct worker *worker, struct player *player, uint32_t features,
		    const struct event_record *record, struct text *found)
{
	struct event_class *class = class_of(worker, record);
	bool counts = class && tracker_observe(worker->tracker, record, class);

	if (!class) {
		return false;
	}
	describe(worker->tracker, player->registry, features, record, found);
	if (counts) {
		tracker_count(worker->tracker);
	}
	return !found->failed;
}

/* In file order, with classes of its own. */
static void first_pass(struct player *player, const struct tape *tape)
{
	struct worker ahead;

	worker_init(&ahead, player->tracker);
	for (size_t i = 0; i < tape->count; i++) {
		const struct event_record *record = &tape->events[i].record;
		struct event_class *class = class_of(&ahead, record);

		assert_non_null(class);
		tracker_first_pass(player->tracker, record, class);
	}
	tracker_first_pass_end(player->tracker);
	worker_done(&ahead);
}

/* ---- a recording, observed by one tracker ---- */

/* The records of a tape have the provider of their class. Without a group they are found by it. */
static void forget_groups(struct tape *tape)
{
	for (size_t i = 0; i < tape->count; i++) {
		tape->events[i].record.kernel_group = RECORD_NO_GROUP;
	}
}

struct scene {
	struct tracker_options options;
	const struct tape *tape;
	const struct tape_event **sorted; /* owned; in time order */
	struct text *found;               /* owned; of each event, by its place in that order */
	struct tracker_statistics statistics;
	struct text page;
};

static int by_time(const void *left, const void *right)
{
	const struct tape_event *const *a = left, *const *b = right;

	if ((*a)->record.raw_time != (*b)->record.raw_time) {
		return (*a)->record.raw_time < (*b)->record.raw_time ? -1 : 1;
	}
	return (*a)->record.index < (*b)->record.index ? -1 : 1;
}

static void observe_alone(struct scene *scene, const struct tape *tape,
			  const struct tracker_options *options)
{
	struct player player;
	struct worker worker;

	*scene = (struct scene){ .options = *options, .tape = tape };
	scene->sorted = calloc(tape->count, sizeof *scene->sorted);
	scene->found = calloc(tape->count, sizeof *scene->found);
	assert_true(scene->sorted && scene->found);
	for (size_t i = 0; i < tape->count; i++) {
		scene->sorted[i] = &tape->events[i];
	}
	qsort(scene->sorted, tape->count, sizeof *scene->sorted, by_time);
	player_init(&player, options);
	first_pass(&player, tape);
	worker_init(&worker, player.tracker);
	for (size_t i = 0; i < tape->count; i++) {
		assert_true(observe(&worker, &player, options->features, &scene->sorted[i]->record,
				    &scene->found[i]));
	}
	tracker_end(player.tracker);
	tracker_statistics(player.tracker, &scene->statistics);
	scene->page = page_of(player.registry);
	worker_done(&worker);
	player_done(&player);
}

static void scene_done(struct scene *scene)
{
	for (size_t i = 0; i < scene->tape->count; i++) {
		text_free(&scene->found[i]);
	}
	text_free(&scene->page);
	free(scene->found);
	free(scene->sorted);
}

/* ---- the same with helpers ---- */

struct share {
	const struct scene *scene;
	struct player *player;
	struct worker worker;
	const bool *shared;   /* each event, by its place in the order */
	bool leads;           /* it has the events that are not shared, else some of the others */
	size_t number, count; /* of the helper: it has every count-th part of the order */
	struct os_thread thread;
	size_t observed;
	size_t wrong;      /* the first place at which something else was found; SIZE_MAX: none */
	struct text found; /* there */
};

static bool has_event(const struct share *share, size_t place)
{
	size_t part = place * PARTS / share->scene->tape->count;

	return share->leads ? !share->shared[place] :
			      share->shared[place] && part % share->count == share->number;
}

/* A thread does not assert: it notes what is wrong. */
static void observe_share(void *context)
{
	struct share *share = context;
	const struct scene *scene = share->scene;
	struct text *found = &share->found;

	share->wrong = SIZE_MAX;
	for (size_t i = 0; i < scene->tape->count && share->wrong == SIZE_MAX; i++) {
		if (!has_event(share, i)) {
			continue;
		}
		text_clear(found);
		if (!observe(&share->worker, share->player, scene->options.features,
			     &scene->sorted[i]->record, found) ||
		    found->size != scene->found[i].size ||
		    memcmp(found->data, scene->found[i].data, found->size) != 0) {
			share->wrong = i;
		}
		share->observed++;
	}
}

static void end_share(struct share *share)
{
	if (share->wrong != SIZE_MAX) {
		fail_msg("event %zu, alone:\n%snow:\n%s", share->wrong,
			 share->scene->found[share->wrong].data, share->found.data);
	}
	text_free(&share->found);
	worker_done(&share->worker);
}

enum turns { LEAD_FIRST, HELPERS_FIRST, ALL_AT_ONCE, TURNS };

static void take_turns(struct share *lead, struct share *helpers, size_t count, enum turns turns)
{
	if (turns == LEAD_FIRST) {
		observe_share(lead);
	}
	for (size_t i = count; i-- > 0;) { /* the one with the first records last */
		if (turns == ALL_AT_ONCE) {
			assert_true(os_thread_start(&helpers[i].thread, observe_share, &helpers[i],
						    NULL));
		} else {
			observe_share(&helpers[i]);
		}
	}
	if (turns != LEAD_FIRST) {
		observe_share(lead);
	}
	for (size_t i = 0; turns == ALL_AT_ONCE && i < count; i++) {
		os_thread_join(&helpers[i].thread);
	}
}

static void assert_statistics_equal(const struct tracker_statistics *a,
				    const struct tracker_statistics *b)
{
	for (unsigned i = 0; i < TABLE_COUNT; i++) {
		assert_int_equal(a->entries[i], b->entries[i]);
		assert_int_equal(a->evictions[i], b->evictions[i]);
	}
	for (unsigned i = 0; i < MISS_COUNT; i++) {
		assert_int_equal(a->unattributed[i], b->unattributed[i]);
	}
	for (unsigned i = 0; i < FILE_BYTES_COUNT; i++) {
		assert_int_equal(a->file_bytes[i], b->file_bytes[i]);
	}
	assert_int_equal(a->repeated, b->repeated);
}

/* The statistics of all together, and what is shown, are those of one tracker alone. */
static void assert_same_result(const struct scene *scene, const struct share *lead,
			       const struct share *helpers, size_t count)
{
	struct tracker_statistics statistics;
	struct text page = page_of(lead->player->registry);

	assert_string_equal(page.data, scene->page.data);
	text_free(&page);
	tracker_statistics(lead->worker.tracker, &statistics);
	for (size_t i = 0; i < count; i++) {
		tracker_statistics_add_helper(&statistics, helpers[i].worker.tracker);
	}
	assert_statistics_equal(&statistics, &scene->statistics);
}

/* Returns how many records helpers had. */
static size_t observe_together(const struct scene *scene, size_t count, enum turns turns)
{
	bool *shared = calloc(scene->tape->count, sizeof *shared);
	struct share lead = { .scene = scene, .shared = shared, .leads = true };
	struct share helpers[HELPERS_MOST];
	size_t observed = 0;
	struct player player;

	assert_non_null(shared);
	player_init(&player, &scene->options);
	first_pass(&player, scene->tape);
	assert_true(tracker_may_have_helpers(player.tracker));
	lead.player = &player;
	worker_init(&lead.worker, player.tracker);
	for (size_t i = 0; i < scene->tape->count; i++) {
		shared[i] = worker_shares(&lead.worker, &scene->sorted[i]->record);
	}
	for (size_t i = 0; i < count; i++) {
		helpers[i] = lead;
		helpers[i].leads = false;
		helpers[i].number = i;
		helpers[i].count = count;
		worker_init(&helpers[i].worker, tracker_new_helper(player.tracker));
	}
	take_turns(&lead, helpers, count, turns);
	tracker_end(player.tracker);
	assert_same_result(scene, &lead, helpers, count);
	for (size_t i = 0; i < count; i++) {
		observed += helpers[i].observed;
		end_share(&helpers[i]);
		tracker_free(helpers[i].worker.tracker);
	}
	end_share(&lead);
	assert_int_equal(observed + lead.observed, scene->tape->count);
	player_done(&player);
	free(shared);
	return observed;
}

/* ---- a recording made by hand ---- */

static void put_image(struct tape *tape, uint8_t opcode, int64_t time, uint64_t base,
		      const char *path)
{
	payload_pointer(&tape->payload, base);
	payload_pointer(&tape->payload, 0x1000);
	payload_u32(&tape->payload, 0);
	payload_u32(&tape->payload, 0xabc);
	payload_zeros(&tape->payload, 8);
	payload_pointer(&tape->payload, base);
	payload_zeros(&tape->payload, 16);
	payload_wstring(&tape->payload, path);
	tape_add(tape, "Image", opcode, 3, time);
}

static void put_name(struct tape *tape, uint8_t opcode, int64_t time, uint64_t key,
		     const char *path)
{
	payload_pointer(&tape->payload, key);
	payload_wstring(&tape->payload, path);
	tape_add(tape, "FileIo", opcode, 2, time);
}

static struct tape_event *put_transfer(struct tape *tape, uint8_t opcode, int64_t time,
				       uint64_t key, uint32_t bytes)
{
	struct tape_event *event = tape_zeros(tape, "FileIo", opcode, 3, time);

	tape_poke(event, "FileKey", key);
	tape_poke(event, "IoSize", bytes);
	event->record.process_id = 200;
	return event;
}

static struct tape_event *put_id(struct tape *tape, const char *class_name, uint8_t opcode,
				 int64_t time, const char *field, uint64_t value)
{
	struct tape_event *event = tape_zeros(tape, class_name, opcode, 2, time);

	tape_poke(event, field, value);
	return event;
}

/*
 * Process 100 is alpha and then gamma, 200 is beta, which only the rundown at the end names; file 7
 * is a.txt and then b.txt; a driver goes and another one takes its place.
 */
static void put_machine(struct tape *tape)
{
	static const char *const path_a = "\\Device\\HarddiskVolume2\\a.txt";
	static const char *const path_b = "\\Device\\HarddiskVolume3\\b.txt";

	tape_process(tape, 1, 10, 100, "alpha.exe");
	tape_thread(tape, 1, 11, 1000, 100);
	put_name(tape, 32, 12, 7, path_a);
	put_image(tape, 10, 13, kernel, "\\Driver\\first.sys");
	tape_header(tape, 5, 100, RECORD_NO_ID)->process = "alpha"; /* before its start */
	tape_header(tape, 20, 100, RECORD_NO_ID)->process = "alpha";
	tape_header(tape, 21, RECORD_NO_ID, 2000)->process = "beta";
	tape_header(tape, 22, 999, RECORD_NO_ID)->process = "_unknown";
	tape_header(tape, 23, RECORD_NO_ID, RECORD_NO_ID)->process = "_none";
	put_id(tape, "TcpIp", 10, 24, "PID", 100)->process = "alpha";
	put_id(tape, "PerfInfo", 46, 25, "ThreadId", 1000)->process = "alpha";
	put_id(tape, "PerfInfo", 68, 26, "Routine", kernel + 0x10)->driver = "first.sys";
	put_transfer(tape, 67, 27, 7, 1000)->path = path_a;
	tape_process(tape, 2, 40, 100, "alpha.exe");
	put_name(tape, 35, 41, 7, path_a);
	put_image(tape, 2, 42, kernel, "\\Driver\\first.sys");
	/* Shortly after its end it is still the same. */
	put_id(tape, "TcpIp", 11, 50, "PID", 100)->process = "alpha";
	tape_process(tape, 1, 60, 100, "gamma.exe");
	tape_thread(tape, 1, 61, 1000, 100);
	put_name(tape, 32, 62, 7, path_b);
	put_image(tape, 10, 63, kernel, "\\Driver\\second.sys");
	put_id(tape, "TcpIp", 10, 70, "PID", 100)->process = "gamma";
	put_id(tape, "UdpIp", 10, 71, "PID", 200)->process = "beta";
	put_id(tape, "PerfInfo", 46, 72, "ThreadId", 1000)->process = "gamma";
	put_id(tape, "PageFault", 32, 73, "TThreadId", 2000)->process = "beta";
	put_id(tape, "PerfInfo", 68, 74, "Routine", kernel + 0x10)->driver = "second.sys";
	put_transfer(tape, 68, 75, 7, 500)->path = path_b;
	put_transfer(tape, 68, 76, 8, 30)->path = ""; /* no event names it */
	tape_process(tape, 4, 90, 200, "beta.exe");
	tape_thread(tape, 4, 90, 2000, 200);
	payload_wstring(&tape->payload, "\\Device\\HarddiskVolume2");
	payload_wstring(&tape->payload, "C:");
	tape_add(tape, "SysConfig", 35, 0, 91);
	tape->events[12].volume = "C:";
	assert_string_equal(tape->events[12].path, path_a);
	forget_groups(tape);
}

static enum derived_result ask(struct worker *worker, const struct event_record *record,
			       const char *name, struct derived_read *read)
{
	*read = (struct derived_read){ .row = derived_find(name),
				       .tracker = worker->tracker,
				       .record = record };
	return read->row->read(read);
}

static void expect_label(struct worker *worker, struct player *player,
			 const struct event_record *record, const char *name, const char *expected)
{
	struct derived_read read;

	if (expected) {
		assert_int_equal(ask(worker, record, name, &read), DERIVED_FOUND);
		assert_string_equal(intern_text(registry_strings(player->registry),
						(uint32_t)read.number, NULL),
				    expected);
	}
}

static void expect_path(struct worker *worker, const struct event_record *record,
			const char *expected)
{
	struct derived_read read;
	bool found;

	if (expected) {
		found = ask(worker, record, "Path", &read) == DERIVED_FOUND;
		assert_int_equal(found, expected[0] != '\0');
		assert_true(!found || (read.slice.size == strlen(expected) &&
				       memcmp(read.slice.at, expected, read.slice.size) == 0));
	}
}

/* The helper has no other records than these, the last one first. */
static void a_helper_knows_what_the_first_pass_has_found(void **state)
{
	struct tracker_statistics statistics = { .entries = { 0 } };
	struct worker worker;
	struct player player;
	struct tape tape;
	size_t shared = 0;

	(void)state;
	player_init(&player, &files_and_drivers);
	tape_init(&tape, 8);
	put_machine(&tape);
	first_pass(&player, &tape);
	assert_true(tracker_may_have_helpers(player.tracker));
	worker_init(&worker, tracker_new_helper(player.tracker));
	for (size_t i = tape.count; i-- > 0;) {
		const struct tape_event *event = &tape.events[i];
		struct event_class *class = class_of(&worker, &event->record);

		if (!tracker_shares(player.tracker, class)) {
			assert_true(!event->process && !event->path && !event->driver);
			continue;
		}
		if (tracker_observe(worker.tracker, &event->record, class)) {
			tracker_count(worker.tracker);
		}
		expect_label(&worker, &player, &event->record, "Process", event->process);
		expect_label(&worker, &player, &event->record, "Volume", event->volume);
		expect_label(&worker, &player, &event->record, "Driver", event->driver);
		expect_path(&worker, &event->record, event->path);
		shared++;
	}
	assert_int_equal(shared, 17); /* those with an expectation */
	tracker_statistics_add_helper(&statistics, worker.tracker);
	assert_int_equal(statistics.file_bytes[FILE_BYTES_ALL], 1530);
	assert_int_equal(statistics.file_bytes[FILE_BYTES_WITH_VOLUME], 1500);
	assert_int_equal(statistics.unattributed[MISS_PROCESS], 1); /* 999 */
	assert_int_equal(statistics.unattributed[MISS_FILE], 1);    /* 8 */
	assert_int_equal(statistics.entries[TABLE_PROCESS], 0);     /* they are the tracker's */
	worker_done(&worker);
	tracker_free(worker.tracker);
	/* The tracker goes on: another pass over the recording. */
	tracker_reset(player.tracker);
	player_play(&player, &tape, TWO_PASSES);
	tape_done(&tape);
	player_done(&player);
}

/* ---- recordings of chance ---- */

/* A small generator of our own: the same numbers everywhere. */
static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

enum { TIMES = 3000 };

static void put_change(struct tape *tape, uint64_t *seed, int64_t time)
{
	static const char *const names[] = { "alpha.exe", "beta.exe", "gamma.exe", "delta.exe" };
	uint32_t id = 4 * (1 + next_random(seed) % 6);
	uint8_t opcode = (uint8_t)(1 + next_random(seed) % 4);
	uint8_t name_opcode = (uint8_t[]){ 0, 32, 35, 36 }[opcode - 1];
	char path[64];

	snprintf(path, sizeof path, "\\Device\\HarddiskVolume%u\\%u.txt", next_random(seed) % 4,
		 next_random(seed) % 9);
	switch (next_random(seed) % 6) {
	case 0:
		tape_process(tape, opcode, time, id, names[next_random(seed) % 4]);
		break;
	case 1:
		tape_thread(tape, opcode, time, 100 + id, 4 * (1 + next_random(seed) % 6));
		break;
	case 2:
		put_name(tape, name_opcode, time, id, path);
		break;
	case 3:
		put_image(tape, (uint8_t[]){ 10, 2, 3, 4 }[opcode - 1], time, kernel + id * 0x100,
			  path);
		break;
	case 4:
		tape_switch(tape, time, next_random(seed) % 2, 100 + id,
			    104 + next_random(seed) % 24 / 4 * 4);
		break;
	default:
		payload_wstring(&tape->payload, "\\Device\\HarddiskVolume1");
		payload_wstring(&tape->payload, next_random(seed) % 2 ? "C:" : "D:");
		tape_add(tape, "SysConfig", 35, 0, time);
	}
}

static void put_use(struct tape *tape, uint64_t *seed, int64_t time)
{
	static const uint8_t transfers[] = { 67, 68, 70, 73, 76 };
	uint32_t id = 4 * (1 + next_random(seed) % 7);
	struct tape_event *event;

	switch (next_random(seed) % 8) {
	case 0:
		put_id(tape, "TcpIp", 10, time, "PID", id);
		break;
	case 1:
		put_id(tape, "PerfInfo", 46, time, "ThreadId", 100 + id);
		break;
	case 2:
		put_id(tape, "PerfInfo", 68, time, "Routine", kernel + id * 0x100 + 4);
		break;
	case 3:
		put_id(tape, "PageFault", 32, time, "TThreadId", 100 + id);
		break;
	case 4:
		event = tape_zeros(tape, "DiskIo", 10, 3, time);
		tape_poke(event, "IssuingThreadId", 100 + id);
		tape_poke(event, "FileObject", id);
		tape_poke(event, "TransferSize", 512);
		break;
	case 5:
		event = tape_zeros(tape, "FileIo", transfers[next_random(seed) % COUNT(transfers)],
				   3, time);
		if (event->record.opcode != 76) {
			tape_poke(event, "FileKey", id);
		}
		tape_poke(event, "IrpPtr", id);
		event->record.thread_id = 100 + id;
		break;
	case 6:
		event = tape_zeros(tape, "FileIo", 98, 3, time); /* of the thread that runs */
		event->record.processor = next_random(seed) % 2;
		break;
	default:
		tape_header(tape, time, next_random(seed) % 2 ? id : RECORD_NO_ID,
			    next_random(seed) % 2 ? 100 + id : RECORD_NO_ID);
	}
}

static void put_anything(struct tape *tape, uint64_t *seed, int64_t time)
{
	static const char *const classes[] = { "Process", "Thread", "Image",    "FileIo",
					       "DiskIo",  "TcpIp",  "PerfInfo", "PageFault" };
	static const uint8_t opcodes[] = { 0, 1, 2, 3, 4, 10, 12, 32, 35, 36, 46, 50, 64, 67, 76 };
	uint32_t size = next_random(seed) % 120;
	struct tape_event *event;

	for (uint32_t i = 0; i < size; i++) {
		payload_u8(&tape->payload, next_random(seed) % 4 ? 0 : (uint8_t)next_random(seed));
	}
	event = tape_add(tape, classes[next_random(seed) % COUNT(classes)],
			 opcodes[next_random(seed) % sizeof opcodes],
			 (uint8_t)(next_random(seed) % 6), time);
	event->record.process_id = next_random(seed) % 2 ? next_random(seed) % 30 : RECORD_NO_ID;
}

static void put_by_chance(struct tape *tape, uint64_t *seed)
{
	while (tape->count < TAPE_EVENTS - 100) {
		uint32_t what = next_random(seed) % 20;
		int64_t time = what == 19 && next_random(seed) % 4 == 0 ?
				       RECORD_NO_TIME :
				       (int64_t)(next_random(seed) % TIMES);

		if (what < 5) {
			put_change(tape, seed, time);
		} else if (what < 18) {
			put_use(tape, seed, time);
		} else {
			put_anything(tape, seed, time);
		}
	}
	forget_groups(tape);
}

static void what_helpers_find_is_what_one_tracker_finds(void **state)
{
	static const struct tracker_options none = { .features = 0 };
	static const struct tracker_options *const options[] = { &everything, &files_and_drivers,
								 &none };
	uint64_t seed = 21;

	(void)state;
	for (unsigned round = 0; round < 9; round++) {
		struct scene scene;
		struct tape tape;

		tape_init(&tape, round % 2 ? 4 : 8);
		put_by_chance(&tape, &seed);
		observe_alone(&scene, &tape, options[round % COUNT(options)]);
		for (unsigned turns = 0; turns < TURNS; turns++) {
			size_t shared = observe_together(&scene, 1 + (round + turns) % HELPERS_MOST,
							 (enum turns)turns);

			/* Both have something to do. */
			assert_in_range(shared, 100, tape.count - 100);
		}
		scene_done(&scene);
		tape_done(&tape);
	}
}

/* ---- which records are shared ---- */

struct shares_case {
	const char *class_name;
	uint8_t opcode, version;
	bool shared;
};

static void check_shares(const struct tracker_options *options, const struct shares_case *cases,
			 size_t count)
{
	struct player player;
	struct worker worker;
	struct tape tape;

	player_init(&player, options);
	tape_init(&tape, 8);
	put_machine(&tape);
	first_pass(&player, &tape);
	assert_true(tracker_may_have_helpers(player.tracker));
	worker_init(&worker, player.tracker);
	for (size_t i = 0; i < count; i++) {
		struct tape_event *event = tape_zeros(&tape, cases[i].class_name, cases[i].opcode,
						      cases[i].version, 95);
		struct worker helper;

		forget_groups(&tape);
		print_message("  %s %u\n", cases[i].class_name, cases[i].opcode);
		assert_int_equal(worker_shares(&worker, &event->record), cases[i].shared);
		/* A helper would decide the same. */
		worker_init(&helper, tracker_new_helper(player.tracker));
		assert_non_null(class_of(&helper, &event->record));
		assert_int_equal(tracker_shares(player.tracker, class_of(&helper, &event->record)),
				 cases[i].shared);
		worker_done(&helper);
		tracker_free(helper.tracker);
	}
	worker_done(&worker);
	tape_done(&tape);
	player_done(&player);
}

/* What a record changes, another one may need: it stays with the tracker. */
static void records_that_change_what_others_need_are_not_shared(void **state)
{
	static const struct shares_case cases[] = {
		{ "Process", 1, 4, false },       { "Process", 2, 4, false },
		{ "Process", 3, 4, false },       { "Process", 4, 4, false },
		{ "Thread", 1, 3, false },        { "Thread", 2, 3, false },
		{ "Thread", 3, 3, false },        { "Thread", 4, 3, false },
		{ "Thread", 36, 4, false }, /* context switch */
		{ "Thread", 50, 2, false }, /* ready thread */
		{ "Image", 10, 3, false },        { "Image", 2, 3, false },
		{ "DiskIo", 10, 3, false }, /* bytes of a disk: disk_cause */
		{ "DiskIo", 11, 3, false },       { "SystemConfig", 11, 2, false },
		{ "SystemConfig", 12, 2, false }, { "SysConfig", 35, 2, false },
		{ "FileIo", 0, 2, false },        { "FileIo", 32, 2, false },
		{ "FileIo", 35, 2, false },       { "FileIo", 36, 2, false },
		{ "FileIo", 64, 3, false }, /* begins a request, as do the next ones */
		{ "FileIo", 65, 3, false },       { "FileIo", 67, 3, false },
		{ "FileIo", 68, 3, false },       { "FileIo", 76, 3, false }, /* ends one */
		{ "FileIo", 37, 2, false }, /* a view of a file: disk_cause */
		{ "FileIo", 98, 3, false }, /* of the thread that runs */
		{ "DiskIo", 12, 3, true },  /* without bytes */
		{ "DiskIo", 14, 3, true },        { "TcpIp", 10, 2, true },
		{ "UdpIp", 11, 2, true },         { "PageFault", 98, 2, true },
		{ "PageFault", 32, 2, true },     { "PerfInfo", 46, 2, true },
		{ "PerfInfo", 68, 2, true },      { "StackWalk", 32, 2, true },
		{ "Registry", 10, 2, true },      { "Process", 39, 4, true },
	};

	(void)state;
	check_shares(&everything, cases, COUNT(cases));
}

static void what_nothing_needs_is_shared(void **state)
{
	static const struct tracker_options none = { .features = 0 };
	static const struct tracker_options requests = { .features = TRACK_REQUESTS };
	static const struct tracker_options scheduler = { .features = TRACK_SCHEDULER };
	static const struct tracker_options disks = { .disk_info = true };
	static const struct tracker_options causes = { .disk_cause = true };
	static const struct shares_case with_none[] = {
		{ "Process", 1, 4, false },   { "Process", 2, 4, false },
		{ "Thread", 1, 3, false },    { "Thread", 36, 4, true },
		{ "Thread", 50, 2, true },    { "Image", 10, 3, true },
		{ "DiskIo", 10, 3, true },    { "FileIo", 98, 3, true },
		{ "SysConfig", 35, 2, true }, { "FileIo", 32, 2, true },
		{ "FileIo", 64, 3, true },    { "FileIo", 67, 3, true },
		{ "FileIo", 76, 3, true },
	};
	static const struct shares_case with_files[] = {
		{ "FileIo", 32, 2, false }, { "FileIo", 64, 3, false }, { "FileIo", 67, 3, true },
		{ "FileIo", 68, 3, true },  { "FileIo", 70, 3, true },  { "FileIo", 76, 3, true },
		{ "DiskIo", 10, 3, true },  { "Image", 10, 3, false },  { "Thread", 36, 4, true },
	};
	static const struct shares_case with_requests[] = {
		{ "FileIo", 67, 3, false }, { "FileIo", 76, 3, false }, { "FileIo", 98, 3, true },
		{ "Thread", 36, 4, true },  { "DiskIo", 10, 3, true },
	};
	static const struct shares_case with_scheduler[] = {
		{ "FileIo", 67, 3, true },
		{ "FileIo", 98, 3, false },
		{ "Thread", 36, 4, false },
		{ "Thread", 50, 2, false },
	};
	static const struct shares_case with_disks[] = {
		{ "DiskIo", 10, 3, true }, /* which disks are described is known */
		{ "DiskIo", 14, 3, true },
		{ "SystemConfig", 11, 2, false },
		{ "FileIo", 67, 3, true },
	};
	static const struct shares_case with_causes[] = {
		{ "DiskIo", 10, 3, false }, { "DiskIo", 11, 3, false }, { "DiskIo", 14, 3, true },
		{ "FileIo", 67, 3, false }, { "FileIo", 68, 3, false }, { "FileIo", 37, 2, false },
		{ "TcpIp", 10, 2, true },
	};

	(void)state;
	check_shares(&none, with_none, COUNT(with_none));
	check_shares(&files_and_drivers, with_files, COUNT(with_files));
	check_shares(&requests, with_requests, COUNT(with_requests));
	check_shares(&scheduler, with_scheduler, COUNT(with_scheduler));
	check_shares(&disks, with_disks, COUNT(with_disks));
	check_shares(&causes, with_causes, COUNT(with_causes));
}

/* ---- whether there are helpers ---- */

static bool may_have_helpers(const struct tracker_options *options)
{
	struct player player;
	struct tape tape;
	bool may;

	player_init(&player, options);
	tape_init(&tape, 8);
	put_machine(&tape);
	first_pass(&player, &tape);
	may = tracker_may_have_helpers(player.tracker);
	tape_done(&tape);
	player_done(&player);
	return may;
}

static void look_ups_that_depend_on_the_order_allow_no_helpers(void **state)
{
	static const char *globs[] = { "*\\a.txt" };
	static const struct config_path_group group = { .name = "a",
							.globs = globs,
							.glob_count = 1 };
	struct tracker_options options = everything;

	(void)state;
	assert_true(may_have_helpers(&options));
	options.shares = 1;
	assert_false(may_have_helpers(&options));
	options = everything;
	options.path_groups = &group;
	options.path_group_count = 1;
	assert_false(may_have_helpers(&options));
	options = everything;
	options.top_paths = true;
	assert_false(may_have_helpers(&options));
	options = everything;
	options.image_info = true;
	assert_false(may_have_helpers(&options));
	options = everything;
	options.features |= TRACK_SERVICES;
	assert_false(may_have_helpers(&options));
}

/* Two processes, three of them with the one that has its id later; likewise threads. */
static void tables_that_refused_something_allow_no_helpers(void **state)
{
	static const struct {
		uint32_t processes, threads, files;
		bool may;
	} cases[] = {
		{ 3, 3, 3, true }, { 2, 3, 3, false }, { 3, 2, 3, false }, { 3, 3, 1, false }
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tracker_options options = files_and_drivers;

		options.processes = cases[i].processes;
		options.threads = cases[i].threads;
		options.files = cases[i].files;
		assert_int_equal(may_have_helpers(&options), cases[i].may);
	}
}

static void without_a_first_pass_there_are_no_helpers(void **state)
{
	struct player player;
	struct worker ahead;
	struct tape tape;

	(void)state;
	player_init(&player, &files_and_drivers);
	tape_init(&tape, 8);
	put_machine(&tape);
	assert_false(tracker_may_have_helpers(player.tracker));
	worker_init(&ahead, player.tracker);
	for (size_t i = 0; i < tape.count; i++) { /* as a recording that is read once */
		const struct event_record *record = &tape.events[i].record;

		tracker_observe(player.tracker, record, class_of(&ahead, record));
	}
	assert_false(tracker_may_have_helpers(player.tracker));
	tracker_reset(player.tracker);
	tracker_first_pass(player.tracker, &tape.events[0].record,
			   class_of(&ahead, &tape.events[0].record));
	assert_false(tracker_may_have_helpers(player.tracker)); /* it has not ended */
	tracker_first_pass_end(player.tracker);
	assert_true(tracker_may_have_helpers(player.tracker));
	tracker_reset(player.tracker);
	assert_false(tracker_may_have_helpers(player.tracker));
	worker_done(&ahead);
	tape_done(&tape);
	player_done(&player);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_helper_knows_what_the_first_pass_has_found),
		cmocka_unit_test(what_helpers_find_is_what_one_tracker_finds),
		cmocka_unit_test(records_that_change_what_others_need_are_not_shared),
		cmocka_unit_test(what_nothing_needs_is_shared),
		cmocka_unit_test(look_ups_that_depend_on_the_order_allow_no_helpers),
		cmocka_unit_test(tables_that_refused_something_allow_no_helpers),
		cmocka_unit_test(without_a_first_pass_there_are_no_helpers),
	};

	return cmocka_run_group_tests_name("tracker_helper", tests, NULL, NULL);
}
