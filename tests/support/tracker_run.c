/* SPDX-License-Identifier: MIT */
/*
 * Plays records to a tracker.
 */
#include "tests/support/tracker_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>

#include "exporter/track/derived_fields.h"
#include "tests/support/exact_copy.h"
#include "tests/support/poke.h"

void tape_init(struct tape *tape, uint8_t pointer_size)
{
	*tape = (struct tape){ .events = calloc(TAPE_EVENTS, sizeof *tape->events) };
	assert_non_null(tape->events);
	etw_payload_init(&tape->payload, pointer_size);
}

void tape_rewind(struct tape *tape)
{
	for (size_t i = 0; i < tape->count; i++) {
		free(tape->events[i].payload);
	}
	tape->count = 0;
	etw_payload_clear(&tape->payload);
}

void tape_done(struct tape *tape)
{
	tape_rewind(tape);
	etw_payload_done(&tape->payload);
	free(tape->events);
}

struct tape_event *tape_add(struct tape *tape, const char *class_name, uint8_t opcode,
			    uint8_t version, int64_t time)
{
	struct tape_event *event;

	assert_true(tape->count < TAPE_EVENTS && !tape->payload.failed);
	event = &tape->events[tape->count];
	*event = (struct tape_event){
		.duration = NOT_CHECKED, .on_cpu = NOT_CHECKED, .ready = NOT_CHECKED, .started = -1
	};
	assert_true(etw_kernel_class_find(class_name, strlen(class_name), &event->provider));
	event->payload = exact_copy(tape->payload.bytes, tape->payload.size);
	event->record = (struct etw_record){
		.provider = &event->provider,
		.payload = event->payload,
		.payload_size = (uint32_t)tape->payload.size,
		.process_id = ETW_RECORD_NO_ID,
		.thread_id = ETW_RECORD_NO_ID,
		.version = version,
		.opcode = opcode,
		.pointer_size = tape->payload.pointer_size,
		.type = ETW_RECORD_SYSTEM,
		.classic = true,
		.raw_time = time,
		.time = time,
		.index = tape->count++,
	};
	etw_payload_clear(&tape->payload);
	return event;
}

struct tape_event *tape_zeros(struct tape *tape, const char *class_name, uint8_t opcode,
			      uint8_t version, int64_t time)
{
	etw_payload_zeros(&tape->payload, 800);
	return tape_add(tape, class_name, opcode, version, time);
}

void tape_poke(struct tape_event *event, const char *field, uint64_t value)
{
	poke_field(&event->record, event->payload, field, value);
}

struct tape_event *tape_process(struct tape *tape, uint8_t opcode, int64_t time, uint32_t id,
				const char *image)
{
	return tape_process_of(tape, opcode, time,
			       &(struct taped_process){ .id = id, .parent_id = 4, .image = image });
}

struct tape_event *tape_process_of(struct tape *tape, uint8_t opcode, int64_t time,
				   const struct taped_process *process)
{
	etw_payload_pointer(&tape->payload, 0);
	etw_payload_u32(&tape->payload, process->id);
	etw_payload_u32(&tape->payload, process->parent_id);
	etw_payload_u32(&tape->payload, process->session_id);
	etw_payload_u32(&tape->payload, 0);
	etw_payload_pointer(&tape->payload, 0);
	etw_payload_u32(&tape->payload, 0);
	etw_payload_user_sid(&tape->payload, process->sid ? process->sid : "S-1-5-18");
	etw_payload_astring(&tape->payload, process->image);
	etw_payload_wstring(&tape->payload,
			    process->command_line ? process->command_line : "command line");
	etw_payload_wstring(&tape->payload, "");
	etw_payload_wstring(&tape->payload, "");
	return tape_add(tape, "Process", opcode, 4, time);
}

struct tape_event *tape_thread(struct tape *tape, uint8_t opcode, int64_t time, uint32_t id,
			       uint32_t process_id)
{
	struct tape_event *event = tape_zeros(tape, "Thread", opcode, 3, time);

	tape_poke(event, "ProcessId", process_id);
	tape_poke(event, "TThreadId", id);
	return event;
}

struct tape_event *tape_switch(struct tape *tape, int64_t time, uint16_t processor, uint32_t old,
			       uint32_t new)
{
	struct tape_event *event = tape_zeros(tape, "Thread", 36, 4, time);

	tape_poke(event, "NewThreadId", new);
	tape_poke(event, "OldThreadId", old);
	event->record.processor = processor;
	return event;
}

void tape_ready(struct tape *tape, int64_t time, uint32_t thread)
{
	tape_poke(tape_zeros(tape, "Thread", 50, 2, time), "TThreadId", thread);
}

struct tape_event *tape_header(struct tape *tape, int64_t time, uint32_t process_id,
			       uint32_t thread_id)
{
	struct tape_event *event = tape_add(tape, "Registry", 10, 2, time);

	event->record.process_id = process_id;
	event->record.thread_id = thread_id;
	return event;
}

/* ---- playing ---- */

void player_new_tracker(struct player *player, const struct tracker_options *tracker_options)
{
	struct tracker_options options = *tracker_options;
	struct etw_error err;

	tracker_free(player->tracker);
	options.registry = player->registry;
	options.shard = player->shard;
	options.clock = &player->clock;
	player->tracker = tracker_new(&options, &err);
	assert_non_null(player->tracker);
}

void player_init(struct player *player, const struct tracker_options *tracker_options)
{
	static const struct registry_limits limits;
	struct etw_error err;

	*player = (struct player){ .clock = { ETW_CLOCK_QPC, 10000000, 10000000, 0, 0 } };
	player->registry = registry_new(&limits, &err);
	assert_non_null(player->registry);
	player->shard = registry_shard(player->registry, false, &err);
	assert_non_null(player->shard);
	player_new_tracker(player, tracker_options);
}

void player_done(struct player *player)
{
	tracker_free(player->tracker);
	registry_free(player->registry);
}

static const char *label(struct player *player, uint32_t id)
{
	return intern_text(registry_strings(player->registry), id, NULL);
}

/* Reads a derived field of the record at hand. */
static enum derived_result ask(struct player *player, const struct etw_record *record,
			       const char *name, struct derived_read *read)
{
	*read = (struct derived_read){ .row = derived_find(name),
				       .tracker = player->tracker,
				       .record = record };
	assert_non_null(read->row);
	return read->row->read(read);
}

static void check_ns(struct player *player, const struct tape_event *event, const char *name,
		     uint64_t expected)
{
	struct derived_read read;
	enum derived_result result;

	if (expected == NOT_CHECKED) {
		return;
	}
	result = ask(player, &event->record, name, &read);
	assert_int_equal(result, expected == NOT_KNOWN ? DERIVED_UNKNOWN : DERIVED_FOUND);
	if (result == DERIVED_FOUND) {
		assert_int_equal(read.number, expected);
	}
}

static void check_started(struct player *player, const struct tape_event *event)
{
	struct derived_read read;
	char expected[64];

	if (event->started == -1) {
		return;
	}
	if (event->started == -2) {
		assert_int_equal(ask(player, &event->record, "Started", &read), DERIVED_UNKNOWN);
		return;
	}
	snprintf(expected, sizeof expected, "FileIo/%s",
		 etw_kernel_event_name(&event->provider, (uint8_t)event->started));
	assert_int_equal(ask(player, &event->record, "Started", &read), DERIVED_FOUND);
	assert_string_equal(label(player, (uint32_t)read.number), expected);
}

static void check_label(struct player *player, const struct tape_event *event, const char *name,
			const char *expected)
{
	struct derived_read read;

	if (expected) {
		assert_int_equal(ask(player, &event->record, name, &read), DERIVED_FOUND);
		assert_string_equal(label(player, (uint32_t)read.number), expected);
	}
}

static void check_event(struct player *player, const struct tape_event *event)
{
	struct derived_read read;

	check_label(player, event, "Process", event->process);
	check_label(player, event, "OfProcess", event->of_process);
	check_label(player, event, "OldProcess", event->old_process);
	check_label(player, event, "Volume", event->volume);
	check_label(player, event, "Driver", event->driver);
	check_label(player, event, "Service", event->service);
	if (event->path) {
		bool found = ask(player, &event->record, "Path", &read) == DERIVED_FOUND;

		assert_string_equal(found ? (const char *)read.slice.at : "", event->path);
	}
	check_ns(player, event, "Duration", event->duration);
	check_ns(player, event, "OnCpu", event->on_cpu);
	check_ns(player, event, "Ready", event->ready);
	check_started(player, event);
}

/* Every derived field that needs nothing but the tracker and the record. */
static void ask_all(struct player *player, const struct etw_record *record)
{
	const struct derived_field *row;
	struct derived_read read;
	uint64_t instance;
	uint32_t id;

	for (unsigned i = 0; (row = derived_at(i)) != NULL; i++) {
		if (row->read && ask(player, record, row->name, &read) == DERIVED_FOUND &&
		    row->form == FORM_ID) {
			assert_non_null(label(player, (uint32_t)read.number));
		}
	}
	tracker_instance(player->tracker);
	tracker_ended_process(player->tracker, &id, &instance);
}

static int by_time(const void *left, const void *right)
{
	const struct tape_event *const *a = left, *const *b = right;

	if ((*a)->record.raw_time != (*b)->record.raw_time) {
		return (*a)->record.raw_time < (*b)->record.raw_time ? -1 : 1;
	}
	return (*a)->record.index < (*b)->record.index ? -1 : 1;
}

static struct etw_event_class *type_of(struct player *player, struct etw_event_table *event_table,
				       const struct etw_record *record)
{
	bool added;
	struct etw_event_class *class = etw_event_table_find(event_table, record, &added);

	assert_non_null(class);
	if (added) {
		assert_true(tracker_prepare(player->tracker, class));
	}
	return class;
}

static void release(void *context, struct etw_event_class *class)
{
	(void)context;
	tracker_release(class);
}

/* As a recording's source and the pipeline leave records out of the first pass. */
static bool is_left_out(const struct etw_kernel_choice *choice, const struct etw_id_choice *ids,
			const struct etw_record *record)
{
	if (record->type == ETW_RECORD_EVENT && !record->classic && !record->extended &&
	    !id_chosen(ids, record->id)) {
		return true;
	}
	for (uint8_t group = 0; record->classic && group < ETW_KERNEL_GROUPS; group++) {
		if (etw_guid_equal(etw_kernel_record_guid(group, record->opcode),
				   record->provider)) {
			return !etw_kernel_chosen(choice, group, record->opcode);
		}
	}
	return tracker_skips_ahead(record);
}

void player_play(struct player *player, struct tape *tape, enum passes passes)
{
	struct tape_event **sorted = calloc(tape->count + 1, sizeof(struct tape_event *));
	struct etw_event_table *event_table = etw_event_table_new(1000, NULL, NULL);
	struct etw_kernel_choice choice;
	struct etw_id_choice ids = { 0 };

	assert_true(sorted && event_table);
	tracker_choose_ahead(player->tracker, &choice);
	tracker_choose_ids_ahead(&ids);
	for (size_t i = 0; i < tape->count; i++) {
		struct tape_event *event = &tape->events[i];

		sorted[i] = event;
		if (passes == TWO_PASSES && !is_left_out(&choice, &ids, &event->record)) {
			tracker_first_pass(player->tracker, &event->record,
					   type_of(player, event_table, &event->record));
		}
	}
	if (passes == TWO_PASSES) {
		tracker_first_pass_end(player->tracker);
	}
	if (tape->count > 1 && passes != UNSORTED) {
		qsort(sorted, tape->count, sizeof(struct tape_event *), by_time);
	}
	for (size_t i = 0; i < tape->count; i++) {
		bool counts = tracker_observe(player->tracker, &sorted[i]->record,
					      type_of(player, event_table, &sorted[i]->record));

		check_event(player, sorted[i]);
		if (counts) {
			tracker_count(player->tracker);
		}
		if (player->ask_all) {
			ask_all(player, &sorted[i]->record);
		}
	}
	etw_event_table_each(event_table, release, NULL);
	etw_event_table_free(event_table);
	free(sorted);
}

uint32_t story_number(const char **at)
{
	uint64_t number = 0;

	assert_true(**at >= '0' && **at <= '9');
	for (; **at != ' '; (*at)++) {
		number = number * 10 + (uint64_t)(**at - '0');
	}
	(*at)++;
	return (uint32_t)number;
}

void play_stories(const struct story *stories, size_t count, const struct tracker_options *options,
		  void (*put_line)(struct tape *tape, const char *line))
{
	struct tape tape;

	tape_init(&tape, 8);
	for (size_t i = 0; i < count; i++) {
		struct player player;

		print_message("  %s\n", stories[i].name);
		player_init(&player, options);
		tape_rewind(&tape);
		for (unsigned line = 0; line < STORY_LINES && stories[i].lines[line]; line++) {
			put_line(&tape, stories[i].lines[line]);
		}
		player_play(&player, &tape, stories[i].passes);
		tracker_reset(player.tracker);
		player_play(&player, &tape, stories[i].passes);
		player_done(&player);
	}
	tape_done(&tape);
}

static bool find_value(struct player *player, const char *name, const char *const *labels,
		       int64_t *value)
{
	struct family *family = registry_find_family(player->registry, name);
	uint32_t ids[FAMILY_LABELS_MAX] = { 0 };

	assert_non_null(family);
	for (size_t i = 0; labels[i]; i++) {
		ids[i] = intern_string(registry_strings(player->registry), labels[i]);
	}
	return family_value(family, ids, value);
}

int64_t player_gauge(struct player *player, const char *family, const char *const *labels)
{
	int64_t value;

	return find_value(player, family, labels, &value) ? value : 0;
}

bool player_shows(struct player *player, const char *family, const char *const *labels)
{
	int64_t value;

	return find_value(player, family, labels, &value);
}

int64_t player_instances(struct player *player, const char *process)
{
	return player_gauge(player, "etw_process_instances", LABELS(process, "Windows Kernel"));
}

int64_t player_threads(struct player *player, const char *process)
{
	return player_gauge(player, "etw_process_threads", LABELS(process, "Windows Kernel"));
}
