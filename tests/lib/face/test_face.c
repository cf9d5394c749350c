/* SPDX-License-Identifier: MIT */
/*
 * Recordings through the face of the library: which events come, in which order, with which names
 * and fields, and what running and stopping do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/etw.h>
#include <etw/mirror.h>

#include "tests/support/in_memory.h"
#include "tests/support/temporary.h"

#define START_TIME INT64_C(133600000000000000)

static const struct etw_guid provider =
	ETW_GUID_INIT(0x11111111, 0x2222, 0x3333, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55);
static const struct etw_guid some_guid = ETW_GUID_INIT(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);

/* ---- a recording ---- */

/* The metadata of a TraceLogging event "Work": each row is a field's name and its type. */
#define FIELDS             \
	"value\0\x08"      \
	"minus\0\x07"      \
	"real\0\x0c"       \
	"id\0\x0f"         \
	"name\0\x02"       \
	"list\0\x28\x02\0" \
	"last\0\x0a"

static void add_work(struct etw_writer *writer, uint16_t processor, int64_t raw_time,
		     uint32_t value, bool cut)
{
	static const char fields[] = FIELDS;
	char metadata[8 + sizeof fields - 1] = { sizeof metadata };
	const struct etw_out_item item = { .type = ETW_EXTENDED_TRACELOGGING,
					   .size = sizeof metadata,
					   .data = metadata };
	const double real = 2.5;
	struct etw_payload payload;
	const struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					       .pointer_size = 8,
					       .processor = processor,
					       .raw_time = raw_time,
					       .provider = &provider,
					       .channel = 11,
					       .level = 4,
					       .process_id = 100,
					       .thread_id = 101,
					       .items = &item,
					       .item_count = 1 };

	memcpy(metadata + 3, "Work", 5);
	memcpy(metadata + 8, fields, sizeof fields - 1);
	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, value);
	etw_payload_u32(&payload, (uint32_t)-7);
	etw_payload_bytes(&payload, &real, sizeof real);
	etw_payload_guid(&payload, &some_guid);
	etw_payload_astring(&payload, "caf\xc3\xa9");
	etw_payload_u32(&payload, 10);
	etw_payload_u32(&payload, 20);
	if (!cut) {
		etw_payload_u64(&payload, UINT64_MAX);
	}
	etl_writer_add_payload(writer, &record, &payload);
	etw_payload_done(&payload);
}

struct bytes {
	struct etw_writer *writer; /* owns them */
	const uint8_t *at;
	size_t size;
};

/* Values 0, 1, … at the times 0, 1, … of a clock of 10 MHz, in turn on two processors. */
static struct bytes work_recording(unsigned count)
{
	const struct etw_writer_options options = { .processors = 2,
						    .buffer_size = 4096,
						    .start_time = START_TIME,
						    .os_build = 19045,
						    .events_lost = 7,
						    .buffers_lost = 2 };
	struct bytes bytes = { .writer = open_in_memory(&options) };

	for (unsigned i = 0; i < count; i++) {
		add_work(bytes.writer, i % 2, i, i, false);
	}
	bytes.at = finish_in_memory(bytes.writer, &bytes.size);
	return bytes;
}

/* ---- running ---- */

struct seen {
	struct etw_trace *trace;
	unsigned events; /* "Work" */
	unsigned buffers;
	unsigned stop_at; /* 0: never */
	bool close;       /* instead of stopping */
	bool in_order;
	uint64_t last;
	struct etw_event *event; /* the last one */
	void (*look)(struct etw_event *event);
};

static struct etw_reader value_reader = ETW_READER("value");

static void on_event(void *context, struct etw_event *event)
{
	struct seen *seen = context;
	uint64_t value;

	if (!etw_event_is(event, NULL, "Work")) {
		return;
	}
	assert_true(etw_read_u64(&value_reader, event, &value));
	seen->in_order = seen->in_order && (seen->events == 0 || value > seen->last);
	seen->last = value;
	seen->event = event;
	seen->events++;
	if (seen->look) {
		seen->look(event);
	}
	if (seen->events == seen->stop_at) {
		(seen->close ? etw_close : etw_stop)(seen->trace);
	}
}

static void on_buffer(void *context)
{
	struct seen *seen = context;

	seen->buffers++;
}

static bool run(struct seen *seen, struct etw_error *err)
{
	const struct etw_callbacks callbacks = { .context = seen,
						 .on_event = on_event,
						 .on_buffer = on_buffer };

	seen->in_order = true;
	return etw_run(seen->trace, &callbacks, err);
}

static struct seen open_work(const struct bytes *bytes)
{
	struct etw_error err = { 0 };
	struct seen seen = { .trace = etw_open_bytes(bytes->at, bytes->size, NULL, &err) };

	assert_string_equal(err.text, "");
	assert_non_null(seen.trace);
	return seen;
}

static void look_at_one(void (*look)(struct etw_event *event))
{
	struct bytes bytes = work_recording(1);
	struct seen seen = open_work(&bytes);

	seen.look = look;
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 1);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

/* ---- tests ---- */

static void events_of_all_processors_come_in_order(void **state)
{
	struct bytes bytes = work_recording(1000);
	struct seen seen = open_work(&bytes);

	(void)state;
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 1000);
	assert_true(seen.in_order);
	assert_true(seen.buffers > 10);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

static void check_names(struct etw_event *event)
{
	assert_string_equal(event->event_name, "Work");
	assert_string_equal(event->provider_name, "11111111-2222-3333-4444-555555555555");
	assert_true(etw_event_is(event, event->provider_name, "Work"));
	assert_true(etw_event_is(event, NULL, NULL));
	assert_false(etw_event_is(event, NULL, "work"));
	assert_false(etw_event_is(event, "Windows Kernel", "Work"));
	assert_true(etw_guid_equal(event->record->provider, &provider));
	assert_int_equal(event->record->process_id, 100);
	assert_int_equal(event->record->level, 4);
	assert_true(event->record->time == START_TIME);
	assert_int_equal(event->schema->field_count, 7);
}

static void an_event_has_names_and_a_header(void **state)
{
	(void)state;
	look_at_one(check_names);
}

static void check_numbers(struct etw_event *event)
{
	struct etw_guid guid;
	uint64_t number;
	int64_t sum;
	double real;

	assert_true(etw_event_u64(event, "value", &number));
	assert_int_equal(number, 0);
	assert_true(etw_event_i64(event, "minus", &sum));
	assert_true(sum == -7);
	assert_true(etw_event_u64(event, "minus", &number));
	assert_true(number == (uint64_t)-7);
	assert_true(etw_event_u64(event, "last", &number));
	assert_true(number == UINT64_MAX);
	assert_true(etw_event_double(event, "real", &real));
	assert_true(real == 2.5);
	assert_true(etw_event_double(event, "minus", &real));
	assert_true(real == -7.0);
	assert_true(etw_event_double(event, "last", &real));
	assert_true(real > 1.8e19);
	assert_true(etw_event_guid(event, "id", &guid));
	assert_true(etw_guid_equal(&guid, &some_guid));
	/* Elements, and how many there are. */
	assert_true(etw_event_u64(event, "list[1]", &number));
	assert_int_equal(number, 20);
	assert_true(etw_event_u64(event, "list.count", &number));
	assert_int_equal(number, 2);
}

static void numbers_are_found_by_name(void **state)
{
	(void)state;
	look_at_one(check_numbers);
}

static void check_missing(struct etw_event *event)
{
	struct etw_guid guid;
	uint64_t number = 5;
	int64_t sum = 5;
	double real = 5;
	size_t size = 5;

	assert_false(etw_event_u64(event, "Value", &number)); /* the case differs */
	assert_false(etw_event_u64(event, "name", &number));
	assert_false(etw_event_u64(event, "list", &number));
	assert_false(etw_event_u64(event, "list[2]", &number));
	assert_false(etw_event_u64(event, "real", &number));
	assert_false(etw_event_u64(event, "", &number));
	assert_int_equal(number, 5);
	assert_false(etw_event_i64(event, "id", &sum));
	assert_int_equal(sum, 5);
	assert_false(etw_event_double(event, "name", &real));
	assert_true(real == 5);
	assert_false(etw_event_guid(event, "value", &guid));
	assert_null(etw_event_text(event, "nothing", &size));
	assert_null(etw_event_bytes(event, "nothing", &size));
	assert_null(etw_event_bytes(event, "list.count", &size));
	assert_int_equal(size, 5);
}

static void what_is_missing_or_of_another_type_is_not_found(void **state)
{
	(void)state;
	look_at_one(check_missing);
}

static void check_texts(struct etw_event *event)
{
	size_t size;
	const char *name = etw_event_text(event, "name", &size);
	const char *minus = etw_event_text(event, "minus", NULL);
	const uint8_t *bytes;

	assert_int_equal(size, 5);
	/* Texts of one event stay beside each other. */
	for (unsigned i = 0; i < 100; i++) {
		assert_string_equal(etw_event_text(event, "list", NULL), "10,20");
	}
	assert_string_equal(name, "caf\xc3\xa9");
	assert_string_equal(minus, "-7");
	assert_string_equal(etw_event_text(event, "id", NULL),
			    "00000001-0002-0003-0405-060708090a0b");
	assert_string_equal(etw_event_text(event, "list.count", NULL), "2");
	bytes = etw_event_bytes(event, "name", &size);
	assert_int_equal(size, 6);
	assert_memory_equal(bytes, "caf\xc3\xa9", 6);
}

static void texts_stay_until_the_callback_returns(void **state)
{
	(void)state;
	look_at_one(check_texts);
}

static void check_json(struct etw_event *event)
{
	size_t size;
	const char *json = etw_event_json(event, &size);

	assert_int_equal(strlen(json), size);
	assert_non_null(strstr(json,
			       "\"event\": \"Work\", \"fields\": {\"value\": 0, \"minus\": -7, "
			       "\"real\": 2.5, "));
	assert_non_null(strstr(json, "\"name\": \"caf\xc3\xa9\", \"list\": [10, 20], "
				     "\"last\": 18446744073709551615}"));
	assert_null(strchr(json, '\n'));
	assert_ptr_equal(etw_event_json(event, NULL), json);
}

static void an_event_is_an_object_of_json(void **state)
{
	(void)state;
	look_at_one(check_json);
}

static void see_cut(void *context, struct etw_event *event)
{
	struct etw_reader last = ETW_READER("last");
	unsigned *cut = context;
	uint64_t number = 5;

	if (etw_event_is(event, NULL, "Work")) {
		assert_true(etw_event_u64(event, "value", &number));
		assert_int_equal(number, 9);
		assert_false(etw_event_u64(event, "last", &number));
		assert_false(etw_read_u64(&last, event, &number));
		assert_null(etw_event_text(event, "last", NULL));
		assert_int_equal(number, 9);
		assert_non_null(strstr(etw_event_json(event, NULL), "[10, 20]}"));
		(*cut)++;
	}
}

static void a_field_behind_the_end_of_the_payload_is_not_found(void **state)
{
	struct bytes bytes = { .writer = open_in_memory(&(struct etw_writer_options){ 0 }) };
	struct etw_trace *trace;
	unsigned cut = 0;

	(void)state;
	add_work(bytes.writer, 0, 0, 9, true);
	bytes.at = finish_in_memory(bytes.writer, &bytes.size);
	trace = etw_open_bytes(bytes.at, bytes.size, NULL, NULL);
	assert_true(etw_run(trace, &(struct etw_callbacks){ .context = &cut, .on_event = see_cut },
			    NULL));
	assert_int_equal(cut, 1);
	etw_close(trace);
	etw_writer_close(bytes.writer);
}

/* More classes than the reader remembers, whose fields are at different places. */
static void add_classes(struct etw_writer *writer, unsigned rounds)
{
	for (unsigned i = 0; i < rounds * 3 * ETW_READER_CLASSES; i++) {
		unsigned class = i % (3 * ETW_READER_CLASSES);
		uint8_t payload[3 * ETW_READER_CLASSES + 4] = { 0 };
		char metadata[9 * ETW_READER_CLASSES + 64] = "\0\0\0E\0", *at = metadata + 5;
		struct etw_out_item item = { .type = ETW_EXTENDED_TRACELOGGING, .data = metadata };
		const struct etw_out_record record = { .type = ETW_RECORD_EVENT,
						       .pointer_size = 8,
						       .raw_time = i,
						       .provider = &provider,
						       .channel = 11,
						       .items = &item,
						       .item_count = 1,
						       .payload = payload,
						       .payload_size = class + 4 };

		for (unsigned k = 0; k < class; k++) { /* fields of a byte before it */
			*at++ = 'a';
			*at++ = '\0';
			*at++ = 4;
		}
		memcpy(at, "n\0\x08", 3);
		item.size = (uint16_t)(at + 3 - metadata);
		metadata[0] = (char)(item.size & 0xff);
		metadata[1] = (char)(item.size >> 8);
		payload[class] = (uint8_t)i;
		etw_writer_add(writer, &record);
	}
}

static void see_class(void *context, struct etw_event *event)
{
	static struct etw_reader reader = ETW_READER("n");
	static struct etw_reader absent = ETW_READER("absent");
	unsigned *seen = context;
	uint64_t number;

	if (etw_event_is(event, NULL, "E")) {
		assert_true(etw_read_u64(&reader, event, &number));
		assert_int_equal(number, *seen % 256);
		assert_false(etw_read_u64(&absent, event, &number));
		(*seen)++;
	}
}

static void a_reader_finds_its_field_in_every_class(void **state)
{
	struct bytes bytes = { .writer = open_in_memory(&(struct etw_writer_options){ 0 }) };

	(void)state;
	add_classes(bytes.writer, 3);
	bytes.at = finish_in_memory(bytes.writer, &bytes.size);
	/* Classes of another trace are others, also where they have the same memory. */
	for (unsigned i = 0; i < 2; i++) {
		struct etw_trace *trace = etw_open_bytes(bytes.at, bytes.size, NULL, NULL);
		unsigned seen = 0;

		assert_true(etw_run(
			trace, &(struct etw_callbacks){ .context = &seen, .on_event = see_class },
			NULL));
		assert_int_equal(seen, 9 * ETW_READER_CLASSES);
		etw_close(trace);
	}
	etw_writer_close(bytes.writer);
}

static void a_recording_can_be_run_again(void **state)
{
	struct bytes bytes = work_recording(50);
	struct seen seen = open_work(&bytes);

	(void)state;
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 50);
	seen.events = 0;
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 50);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

static void a_stopped_trace_stays_stopped(void **state)
{
	struct bytes bytes = work_recording(50);
	struct seen seen = open_work(&bytes);

	(void)state;
	seen.stop_at = 20;
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 20);
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 20);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

static void a_stop_before_the_run_is_not_lost(void **state)
{
	struct bytes bytes = work_recording(50);
	struct seen seen = open_work(&bytes);

	(void)state;
	etw_stop(seen.trace);
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 0);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

static void a_trace_can_be_closed_in_its_callback(void **state)
{
	struct bytes bytes = work_recording(50);
	struct seen seen = open_work(&bytes);
	struct etw_error err = { 0 };

	(void)state;
	seen.stop_at = 20;
	seen.close = true;
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 20);
	assert_false(run(&seen, &err));
	assert_string_equal(err.text, "the trace is closed");
	etw_writer_close(bytes.writer);
}

static void after_the_run_an_event_is_empty(void **state)
{
	struct bytes bytes = work_recording(5);
	struct seen seen = open_work(&bytes);
	const struct etw_event *event;
	uint64_t number;
	size_t size;

	(void)state;
	assert_true(run(&seen, NULL));
	event = seen.event;
	assert_false(etw_event_u64(event, "value", &number));
	assert_false(etw_read_u64(&value_reader, event, &number));
	assert_null(etw_event_text(event, "name", NULL));
	assert_null(etw_event_bytes(event, "name", &size));
	assert_null(etw_event_json(event, NULL));
	assert_false(etw_event_is(event, NULL, NULL));
	assert_null(event->schema);
	assert_string_equal(event->event_name, "");
	assert_int_equal(event->record->payload_size, 0);
	assert_int_equal(event->record->provider->bytes[0], 0);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

static void facts_and_losses_are_those_of_the_header(void **state)
{
	struct bytes bytes = work_recording(5);
	struct seen seen = open_work(&bytes);
	struct etw_losses losses;
	struct etw_facts facts;

	(void)state;
	assert_true(etw_facts(seen.trace, &facts, NULL));
	assert_string_equal(facts.name, "memory");
	assert_false(facts.live);
	assert_int_equal(facts.os_build, 19045);
	assert_int_equal(facts.processors, 2);
	assert_string_equal(facts.clock, "qpc");
	assert_int_equal(facts.clock_frequency, 10000000);
	assert_int_equal(facts.timer_frequency, 10000000);
	assert_null(facts.missing_files);
	assert_true(run(&seen, NULL));
	assert_true(etw_losses(seen.trace, &losses, NULL));
	assert_int_equal(losses.events_lost, 7);
	assert_int_equal(losses.buffers_lost, 2);
	assert_int_equal(losses.damaged_buffers + losses.damaged_records + losses.late_events, 0);
	assert_false(losses.truncated);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

static void damage_is_counted_and_the_rest_delivered(void **state)
{
	struct bytes bytes = work_recording(1000);
	struct bytes cut = { .at = bytes.at, .size = bytes.size - 100 };
	struct seen seen = open_work(&cut);
	struct etw_losses losses;

	(void)state;
	assert_true(run(&seen, NULL));
	assert_true(etw_losses(seen.trace, &losses, NULL));
	assert_true(losses.truncated);
	assert_true(seen.events > 900);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

struct changing {
	const char *path;
	bool is_changed;
};

static void overwrite(void *context, struct etw_event *event)
{
	struct changing *changing = context;

	(void)event;
	if (!changing->is_changed) {
		temporary_patch(changing->path, 0x10, 0, 1); /* in the header of a buffer */
		changing->is_changed = true;
	}
}

static void a_file_that_changes_meanwhile_is_reported(void **state)
{
	struct bytes bytes = work_recording(10);
	char path[TEMPORARY_PATH_SIZE];
	struct changing changing = { .path = path };
	struct etw_losses losses;
	struct etw_trace *trace;

	(void)state;
	temporary_path(path, "etl");
	temporary_write(path, bytes.at, bytes.size);
	trace = etw_open_recording(path, NULL, NULL);
	assert_true(etw_losses(trace, &losses, NULL));
	assert_null(losses.file_change);
	assert_true(etw_run(trace,
			    &(struct etw_callbacks){ .context = &changing, .on_event = overwrite },
			    NULL));
	assert_true(etw_losses(trace, &losses, NULL));
	assert_string_equal(losses.file_change, "was overwritten");
	etw_close(trace);
	remove(path);
	etw_writer_close(bytes.writer);
}

static void one_pass_delivers_the_same_events(void **state)
{
	const struct etw_recording_options options = { .single_pass = true };
	struct bytes bytes = work_recording(1000);
	struct seen seen = { .trace = etw_open_bytes(bytes.at, bytes.size, &options, NULL) };

	(void)state;
	assert_true(run(&seen, NULL));
	assert_int_equal(seen.events, 1000);
	assert_true(seen.in_order);
	etw_close(seen.trace);
	etw_writer_close(bytes.writer);
}

/* A manifest of the caller describes the events of a provider that does not describe them. */
static const char manifest[] =
	"<instrumentationManifest xmlns='http://schemas.microsoft.com/win/2004/08/events'>"
	"<instrumentation><events><provider name='Contoso-Plain' symbol='P' "
	"guid='{11111111-2222-3333-4444-555555555555}'><events>"
	"<event value='7' version='0' symbol='Started' template='T'/></events>"
	"<templates><template tid='T'><data name='Answer' inType='win:UInt32'/></template>"
	"</templates></provider></events></instrumentation></instrumentationManifest>";

static void see_plain(void *context, struct etw_event *event)
{
	uint64_t *number = context;

	if (event->record->id == 7) {
		assert_string_equal(event->provider_name, "Contoso-Plain");
		assert_true(etw_event_u64(event, "Answer", number));
	}
}

static void manifests_of_the_caller_describe_events(void **state)
{
	char path[TEMPORARY_PATH_SIZE];
	const char *paths[] = { path };
	const struct etw_recording_options options = { .manifests = paths, .manifest_count = 1 };
	static const uint32_t answer = 42;
	const struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					       .provider = &provider,
					       .id = 7,
					       .payload = &answer,
					       .payload_size = sizeof answer };
	struct bytes bytes = { .writer = open_in_memory(&(struct etw_writer_options){ 0 }) };
	struct etw_trace *trace;
	uint64_t number = 0;

	(void)state;
	etw_writer_add(bytes.writer, &record);
	bytes.at = finish_in_memory(bytes.writer, &bytes.size);
	temporary_path(path, "man");
	temporary_write(path, manifest, sizeof manifest - 1);
	trace = etw_open_bytes(bytes.at, bytes.size, &options, NULL);
	remove(path);
	assert_true(etw_run(
		trace, &(struct etw_callbacks){ .context = &number, .on_event = see_plain }, NULL));
	assert_int_equal(number, 42);
	etw_close(trace);
	etw_writer_close(bytes.writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_all_processors_come_in_order),
		cmocka_unit_test(an_event_has_names_and_a_header),
		cmocka_unit_test(numbers_are_found_by_name),
		cmocka_unit_test(what_is_missing_or_of_another_type_is_not_found),
		cmocka_unit_test(texts_stay_until_the_callback_returns),
		cmocka_unit_test(an_event_is_an_object_of_json),
		cmocka_unit_test(a_field_behind_the_end_of_the_payload_is_not_found),
		cmocka_unit_test(a_reader_finds_its_field_in_every_class),
		cmocka_unit_test(a_recording_can_be_run_again),
		cmocka_unit_test(a_stopped_trace_stays_stopped),
		cmocka_unit_test(a_stop_before_the_run_is_not_lost),
		cmocka_unit_test(a_trace_can_be_closed_in_its_callback),
		cmocka_unit_test(after_the_run_an_event_is_empty),
		cmocka_unit_test(facts_and_losses_are_those_of_the_header),
		cmocka_unit_test(damage_is_counted_and_the_rest_delivered),
		cmocka_unit_test(a_file_that_changes_meanwhile_is_reported),
		cmocka_unit_test(one_pass_delivers_the_same_events),
		cmocka_unit_test(manifests_of_the_caller_describe_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
