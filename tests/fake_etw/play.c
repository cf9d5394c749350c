/* SPDX-License-Identifier: MIT */
/*
 * Plays a recording through our own reader into the sessions that run.
 *
 * What no live session delivers is left out: the header of the recording, what a trace merge adds,
 * and records of types that the consumer's API does not have. Times are ticks of the performance
 * counter; see fake_etw_clock_like().
 */
#include <etw/recording.h>

#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { MAX_ITEMS = 32 };

/* EventTrace, MetaData (EventInfo, EventMapInfo), ImageID: docs/etl-format.md sections 8, 12
 * and 15. */
static const GUID left_out[] = {
	{ 0x68fdd900, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 } },
	{ 0xbbccf6c1, 0x6cd1, 0x48c4, { 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71 } },
	{ 0xb3e675d7, 0x2554, 0x4f18, { 0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde } },
};

struct play {
	const struct fake_etw_play_options *options;
	const struct etw_source_clock *clock;
	struct fake_etw_played *played;
	struct etw_source *source;
	bool stuck; /* no buffer became free */
};

static bool is_left_out(const struct etw_record *record, const GUID *guid)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
		if (fake_guid_equal(guid, &left_out[i])) {
			return true;
		}
	}
	return record->type > ETW_RECORD_MESSAGE;
}

/* The performance counter at the moment of a record. */
static int64_t counter_of(const struct etw_source_clock *clock, const struct etw_record *record)
{
	int64_t since = record->time - clock->anchor_time;
	int64_t frequency = (int64_t)clock->perf_frequency;

	if (clock->type == ETW_CLOCK_QPC) {
		return record->raw_time;
	}
	return clock->anchor_raw + since / 10000000 * frequency +
	       since % 10000000 * frequency / 10000000;
}

static size_t read_items(const struct etw_record *record, struct fake_etw_item *items,
			 size_t *bytes)
{
	struct etw_extended_item item;
	uint32_t offset = 0;
	size_t count = 0;

	while (count < MAX_ITEMS && etw_record_next_extended(record, &offset, &item)) {
		items[count++] = (struct fake_etw_item){ item.type, item.size, item.data };
		*bytes += 16u + item.size;
	}
	return count;
}

/* The event without its items and times. */
static struct fake_etw_event event_of(const struct etw_record *record)
{
	struct fake_etw_event event = { .classic = record->classic,
					.process_id = record->process_id,
					.thread_id = record->thread_id,
					.processor = record->processor,
					.pointer_size = record->pointer_size,
					.payload = record->payload,
					.payload_size = record->payload_size };

	memcpy(&event.provider, record->provider->bytes, sizeof(event.provider));
	event.descriptor.Id = record->id;
	event.descriptor.Version = record->version;
	event.descriptor.Channel = record->channel;
	event.descriptor.Level = record->level;
	event.descriptor.Opcode = record->opcode;
	event.descriptor.Task = record->task;
	event.descriptor.Keyword = record->keyword;
	if (record->type == ETW_RECORD_MESSAGE) {
		event.flags = EVENT_HEADER_FLAG_TRACE_MESSAGE;
	}
	if (record->activity) {
		memcpy(&event.activity, record->activity->bytes, sizeof(event.activity));
	}
	return event;
}

static void on_event(void *context, const struct etw_record *record)
{
	struct play *play = context;
	const struct fake_etw_play_options *options = play->options;
	struct fake_etw_item items[MAX_ITEMS];
	struct fake_etw_event event = event_of(record);
	size_t size = FAKE_EVENT_HEADER + 8u + record->payload_size;
	unsigned sessions = 0;

	if (play->stuck || is_left_out(record, &event.provider) ||
	    (fake.options.end_rundown_at_stop && fake_rundown_of_the_end(&event)) ||
	    (options->skip && options->skip(options->context, record))) {
		play->played->left_out++;
		return;
	}
	event.timed = !options->now;
	event.items = items;
	/* What has no time comes first (docs/etl-format.md section 4): it happens at the start. */
	event.raw_time = record->raw_time == ETW_RECORD_NO_TIME ? play->clock->anchor_raw :
								  counter_of(play->clock, record);
	event.system_time = record->time == ETW_RECORD_NO_TIME ? play->clock->anchor_time :
								 record->time;
	event.item_count = read_items(record, items, &size);
	if (options->advance_clock && event.timed) {
		fake_clock_advance_to(event.raw_time);
	}

	fake_lock();
	if (!options->lossy && !fake_buffer_wait_for_room(record->processor, size, WAIT_MS)) {
		play->stuck = true;
		etw_source_stop(play->source);
	} else if (options->only) {
		struct fake_session *session = fake_session_by_utf8(options->only);

		if (session) {
			(void)fake_emit_to(session, &event, NULL);
			sessions = 1;
		}
	} else {
		(void)fake_emit(&event, &sessions);
	}
	fake_unlock();
	if (sessions > 0) {
		play->played->emitted++;
	} else {
		play->played->unwanted++;
	}
}

/* ---- what exists at the end of a recording ---- */

/* What has an id and a beginning. */
enum begun { BEGUN_FILE, BEGUN_PROCESS, BEGUN_THREAD, BEGUN_COUNT };

enum { FILE_NAME_CREATE = 32, START = 1, DC_START = 3 };

static const GUID begun_classes[BEGUN_COUNT] = {
	{ 0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 } },
	{ 0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c } },
	{ 0x3d6fa8d1, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c } },
};

struct end_of_recording {
	const struct etw_source_clock *clock;
	struct map begun[BEGUN_COUNT]; /* id -> reading of the counter when it began */
};

static enum begun begun_of(const struct fake_etw_event *event)
{
	unsigned kind = 0;

	while (kind < BEGUN_COUNT &&
	       !(event->classic && fake_guid_equal(&begun_classes[kind], &event->provider))) {
		kind++;
	}
	return (enum begun)kind;
}

/* The file key, process id or thread id: docs/kernel-events.csv. */
static uint64_t id_of(const struct etw_record *record, enum begun kind)
{
	size_t size = kind == BEGUN_FILE ? record->pointer_size : 4;
	size_t offset = kind == BEGUN_FILE || record->version == 0 ? 0 :
			kind == BEGUN_PROCESS                      ? record->pointer_size :
								     4;
	uint64_t id = 0;

	if (record->payload_size >= offset + size) {
		memcpy(&id, record->payload + offset, size);
	}
	return id;
}

static void on_record_of_the_end(void *context, const struct etw_record *record)
{
	struct end_of_recording *end = context;
	struct fake_etw_event event = event_of(record);
	enum begun kind = begun_of(&event);
	const uint64_t *begun = NULL;

	if (kind != BEGUN_COUNT) {
		uint64_t id = id_of(record, kind);

		if (kind == BEGUN_FILE ? record->opcode == FILE_NAME_CREATE :
					 record->opcode == START || record->opcode == DC_START) {
			uint64_t *time = map_put(&end->begun[kind], id, NULL);

			if (!time) {
				abort();
			}
			*time = (uint64_t)counter_of(end->clock, record);
			return;
		}
		begun = map_find(&end->begun[kind], id);
	}
	if (fake_rundown_of_the_end(&event)) {
		fake_lock();
		fake_rundown_add(&event, begun ? (int64_t)*begun : INT64_MIN,
				 begun || kind == BEGUN_COUNT);
		fake_unlock();
	}
}

static struct etw_source *open_recording(const char *path, uint8_t pointer_size,
					 struct etw_error *err)
{
	struct etw_source_file_options options = { .pointer_size = pointer_size };

	return etw_source_open_file(path, &options, err);
}

bool fake_etw_clock_like(const char *path, struct etw_error *err)
{
	struct etw_source *source = open_recording(path, 0, err);
	const struct etw_source_clock *clock;

	if (!source) {
		return false;
	}
	clock = &etw_source_facts(source)->clock;
	fake_etw_set_clock(clock->perf_frequency, clock->anchor_raw, clock->anchor_time);
	etw_source_close(source);
	return true;
}

bool fake_etw_exist_like(const char *path, struct etw_error *err)
{
	struct end_of_recording end = { .clock = NULL };
	const struct etw_event_sink sink = { .context = &end, .on_event = on_record_of_the_end };
	struct etw_source *source = open_recording(path, 0, err);
	bool good = false;

	if (source) {
		end.clock = &etw_source_facts(source)->clock;
		good = etw_source_run(source, &sink, err);
		etw_source_close(source);
	}
	for (unsigned i = 0; i < BEGUN_COUNT; i++) {
		map_done(&end.begun[i]);
	}
	return good;
}

bool fake_etw_play(const char *path, const struct fake_etw_play_options *options,
		   struct fake_etw_played *played, struct etw_error *err)
{
	static const struct fake_etw_play_options defaults;
	struct play play = { .options = options ? options : &defaults, .played = played };
	struct etw_event_sink sink = { .context = &play, .on_event = on_event };
	bool good;

	*played = (struct fake_etw_played){ 0 };
	play.source = open_recording(path, play.options->pointer_size, err);
	if (!play.source) {
		return false;
	}
	play.clock = &etw_source_facts(play.source)->clock;
	good = etw_source_run(play.source, &sink, err);
	etw_source_close(play.source);
	if (play.stuck) {
		return error_set(err, ETW_ERROR_LIMIT,
				 "no consumer made room for an event within %d s", WAIT_MS / 1000);
	}
	return good;
}
