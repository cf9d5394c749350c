/* SPDX-License-Identifier: MIT */
/*
 * Any bytes at all as a recording that a user of the library reads and writes again, through
 * include/etw/ alone.
 *
 * The last byte says in how many passes it is read, and what becomes of the events. Each event must
 * be an object of JSON, and its fields must have the same values in every way in which they can be
 * read. What is relogged must be readable, without damage but that of extended items, and have as
 * many events as were kept and added.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <etw/relog.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition) {
		abort();
	}
}

/* ---- reading ---- */

struct read {
	struct etw_trace *trace;
	uint64_t events;
	uint64_t stop_at; /* 0: never */
};

static void check_field(const struct etw_event *event, const char *name)
{
	struct etw_reader reader = ETW_READER(name);
	struct etw_guid guid;
	uint64_t number, read;
	int64_t sum;
	double real;
	size_t size, bytes_size;
	bool found = etw_event_u64(event, name, &number);
	const char *text = etw_event_text(event, name, &size);
	const uint8_t *bytes = etw_event_bytes(event, name, &bytes_size);

	must(!found || (text && size > 0));
	must(!text || text[size] == '\0');
	must(etw_event_i64(event, name, &sum) == found && (!found || (uint64_t)sum == number));
	must(!found || etw_event_double(event, name, &real));
	must(!bytes ||
	     (bytes >= event->record->payload && bytes_size <= event->record->payload_size));
	if (etw_read_u64(&reader, event, &read)) {
		must(found && read == number);
	}
	etw_event_guid(event, name, &guid);
}

static void on_event(void *context, struct etw_event *event)
{
	struct read *read = context;
	size_t size = 0;
	const char *json = etw_event_json(event, &size);

	must(json && json == etw_event_json(event, NULL));
	must(strlen(json) == size && json[0] == '{' && json[size - 1] == '}');
	must(!strchr(json, '\n'));
	must(etw_event_is(event, event->provider_name, event->event_name));
	for (unsigned i = 0; event->schema && i < event->schema->field_count && i < 20; i++) {
		check_field(event, event->schema->fields[i].name);
	}
	check_field(event, "a[0]");
	if (++read->events == read->stop_at) {
		etw_stop(read->trace);
	}
}

static uint64_t count(const uint8_t *data, size_t size, bool single_pass, struct etw_losses *losses)
{
	const struct etw_recording_options options = { .single_pass = single_pass };
	struct read read = { .trace = etw_open_bytes(data, size, &options, NULL) };
	const struct etw_callbacks callbacks = { .context = &read, .on_event = on_event };

	must(read.trace && etw_run(read.trace, &callbacks, NULL));
	must(etw_losses(read.trace, losses, NULL));
	etw_close(read.trace);
	return read.events;
}

/* Reads it a second time, and stops in the middle of that. */
static void stop_in_second_run(const uint8_t *data, size_t size, uint64_t events)
{
	struct read read = { .trace = etw_open_bytes(data, size, NULL, NULL) };
	const struct etw_callbacks callbacks = { .context = &read, .on_event = on_event };

	must(etw_run(read.trace, &callbacks, NULL) && read.events == events);
	read.stop_at = events + events / 2 + 1;
	must(etw_run(read.trace, &callbacks, NULL));
	must(read.events == (events > 0 ? read.stop_at : 0));
	etw_close(read.trace);
}

/* ---- writing again ---- */

struct choice {
	uint64_t seed;
	uint64_t kept, added;
};

static enum etw_action decide(void *context, struct etw_relog *relog, struct etw_event *event)
{
	static const uint8_t bytes[600] = { 1, 2, 3 };
	struct choice *choice = context;
	const struct etw_record *record = event->record;
	uint64_t number = (record->index + choice->seed) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	const struct etw_new_event added = { .provider = record->provider,
					     .classic = record->classic,
					     .id = record->id,
					     .opcode = record->opcode,
					     .raw_time = record->raw_time,
					     .payload = record->payload,
					     .payload_size = record->payload_size };

	must(etw_event_json(event, NULL) != NULL);
	if (record->index == 0) { /* the header stays, changed or not */
		choice->kept++;
		return number & 1 ? ETW_DROP : ETW_KEEP;
	}
	if (number % 5 == 0) {
		return ETW_DROP;
	}
	if (number & 8) {
		etw_set_header(relog, (enum etw_header_value)(number >> 8 & 7), number >> 11, NULL);
	}
	if (number & 16) {
		etw_set_payload(relog, bytes, number >> 16 & 511, NULL);
	}
	if (number & 32) {
		etw_set_provider(relog, record->provider, NULL);
		etw_set_payload(relog, bytes, number >> 15 & 511, NULL);
	}
	if ((number & 64) && etw_inject(relog, &added, NULL)) {
		choice->added++;
	}
	choice->kept++;
	return ETW_KEEP;
}

static void relog(const uint8_t *data, size_t size, unsigned number)
{
	const struct etw_relog_options options = { .packing = (enum etw_packing)(number % 3),
						   .threads = 1 };
	struct etw_relog *relog = etw_open_relog_bytes(data, size, NULL, &options, NULL);
	struct choice choice = { .seed = number };
	struct etw_relog_counts counts;
	struct etw_losses losses;
	const uint8_t *bytes;
	size_t written;

	must(relog != NULL);
	must(etw_relog_run(relog, decide, &choice, NULL));
	bytes = etw_relog_bytes(relog, &written, NULL);
	must(bytes != NULL);
	must(count(bytes, written, false, &losses) == choice.kept + choice.added);
	must(losses.damaged_buffers == 0 && !losses.truncated);
	must(etw_close_relog(relog, &counts, NULL));
	must(counts.events == choice.kept + choice.added && counts.injected == choice.added);
	must(losses.damaged_records <= counts.losses.damaged_records + choice.added);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned number = size > 0 ? data[size - 1] : 0;
	struct etw_trace *trace = etw_open_bytes(data, size, NULL, NULL);
	struct etw_losses losses;
	uint64_t events;

	if (!trace) {
		must(!etw_open_relog_bytes(data, size, NULL, NULL, NULL));
		return 0;
	}
	etw_close(trace);
	events = count(data, size, false, &losses);
	must(count(data, size, true, &losses) == events);
	if (number & 128) {
		stop_in_second_run(data, size, events);
	}
	relog(data, size, number);
	return 0;
}
