/* SPDX-License-Identifier: MIT */
/*
 * What processes and the operating system announce to a live session: manifests and answers of
 * anything at all, in any order, with few places for event classes, and all that is kept of them.
 *
 * The input is a row of steps: a byte that says which, then what it takes (see take_step()). The
 * same steps are then a recording, which is read twice. There a slow search through all
 * announcements says which manifest decodes each event, and the tables must agree with it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <etw/event_table.h>
#include <etw/kernel.h>

#include "base/cursor.h"
#include "lib/decode/event_info.h"
#include "lib/decode/event_schema.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/trace_schemas.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLASSES_MOST = 6, ANSWERS_MOST = 32, CHUNK_SIZE = 4096, QUARTER_100NS = 2500000 };

enum step { ANNOUNCE, EVENT, WAIT, ANSWER, MAP, CHANGE, STEPS };

struct session {
	struct etw_inband_manifests *inband;
	struct etw_trace_schemas *trace;
	struct etw_event_table *event_table;
	struct described_schema answers[ANSWERS_MOST]; /* owned */
	size_t answer_count;
	int64_t now;
};

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void release(void *context, struct etw_event_class *class)
{
	(void)context;
	check(class->schema != NULL);
}

static void on_forget(void *context, uint32_t manifest_id)
{
	struct session *session = context;

	etw_event_table_drop(session->event_table, manifest_id, release, session);
}

/* Every event class holds a schema that is still there. */
static void visit(void *context, struct etw_event_class *class)
{
	unsigned *count = context;

	++*count;
	check(class->provider_name && class->event_name && strlen(class->event_name) > 0);
	if (class->schema) {
		check(strlen(class->schema->event) < SIZE_MAX);
		for (unsigned i = 0; i < class->schema->field_count; i++) {
			check(strlen(class->schema->fields[i].name) < SIZE_MAX);
		}
	}
}

/* The latest answer, when it is about such an event; sometimes it is to be asked later. */
static const struct etw_schema *ask(void *context, const struct etw_record *record,
				    struct etw_system_answer *answer)
{
	struct session *session = context;

	answer->later = (record->time / QUARTER_100NS) % 4 == 3;
	if (answer->later || session->answer_count == 0 || record->id % 2 == 0) {
		return NULL;
	}
	answer->provider_name = record->id % 4 == 1 ? "Answered" : NULL;
	return &session->answers[session->answer_count - 1].schema;
}

static struct etw_guid provider_of(uint8_t number)
{
	return (struct etw_guid){ { (uint8_t)(number % 4), 0xfe } };
}

/* A manifest in as many chunks as it takes. */
static void announce(struct session *session, struct etw_record *record, const uint8_t *xml,
		     size_t size)
{
	size_t total = (size + CHUNK_SIZE - 1) / CHUNK_SIZE;
	uint8_t chunk[8 + CHUNK_SIZE] = { 1, 1, 0, 0x5b, (uint8_t)total };

	record->id = ETW_MANIFEST_EVENT_ID;
	for (size_t number = 0; number < total; number++) {
		size_t at = number * CHUNK_SIZE;
		size_t part = size - at < CHUNK_SIZE ? size - at : CHUNK_SIZE;
		const char *name;

		chunk[6] = (uint8_t)number;
		memcpy(chunk + 8, xml + at, part);
		record->payload = chunk;
		record->payload_size = (uint32_t)(8 + part);
		name = inband_manifests_add(session->inband, record);
		if (name) {
			trace_schemas_claim_name(session->trace, record->provider, name);
		}
	}
}

/* The start or, with the highest bit, the end of a process; its id is ProcessId of version 0. */
static struct etw_record process_change(uint8_t number, int64_t now, uint8_t payload[8])
{
	payload[0] = number / 4U % 4;
	return (struct etw_record){ .provider = etw_kernel_group_guid(ETW_KERNEL_GROUP_PROCESS),
				    .type = ETW_RECORD_SYSTEM,
				    .classic = true,
				    .opcode = number & 0x80 ? ETW_KERNEL_OPCODE_STOP :
							      ETW_KERNEL_OPCODE_START,
				    .payload = payload,
				    .payload_size = 8,
				    .pointer_size = 8,
				    .time = now };
}

static void add_answer(struct session *session, const uint8_t *bytes, size_t size)
{
	uint32_t maps[ETW_SCHEMA_FIELDS_MOST];
	struct etw_event_info info;

	if (session->answer_count < ANSWERS_MOST &&
	    etw_event_info_view(bytes, (uint32_t)size, &info) &&
	    event_info_schema(&info, &session->answers[session->answer_count], maps)) {
		session->answer_count++;
	}
}

static void view_map(const uint8_t *bytes, size_t size)
{
	const struct etw_guid provider = provider_of(0);
	struct etw_event_map map;

	if (etw_event_map_view(&provider, bytes, (uint32_t)size, &map)) {
		free(etw_event_map_make(&map));
	}
}

static void take_step(struct session *session, struct cursor *c)
{
	enum step step = (enum step)(cursor_u8(c) % STEPS);
	uint8_t number = cursor_u8(c);
	const struct etw_guid provider = provider_of(number);
	struct etw_record record = { .provider = &provider,
				     .type = ETW_RECORD_EVENT,
				     .process_id = number / 4U % 4,
				     .time = session->now,
				     .payload = (const uint8_t *)"",
				     .pointer_size = 8,
				     .kernel_group = 0xff };
	const uint8_t *bytes = c->at;
	uint8_t process[8] = { 0 };
	size_t size = 0;
	bool added;

	if (step == ANNOUNCE || step == ANSWER || step == MAP) {
		size = cursor_u16(c);
		bytes = c->at;
		size = size < (size_t)(c->end - c->at) ? size : (size_t)(c->end - c->at);
		cursor_skip(c, size);
	}
	switch (step) {
	case ANNOUNCE:
		announce(session, &record, bytes, size);
		break;
	case EVENT:
		record.id = cursor_u8(c);
		record.version = number >> 6;
		check(etw_event_table_find(session->event_table, &record, &added) != NULL);
		break;
	case WAIT:
		session->now += (int64_t)number * QUARTER_100NS;
		break;
	case ANSWER:
		add_answer(session, bytes, size);
		break;
	case MAP:
		view_map(bytes, size);
		break;
	case CHANGE:
		record = process_change(number, session->now, process);
		inband_manifests_look(session->inband, &record, false);
		break;
	case STEPS:
		break;
	}
}

/* ---- the same steps as a recording ---- */

enum { ANNOUNCEMENTS_MOST = 64, CHANGES_MOST = 64 };

struct announcement {
	uint8_t provider;
	uint32_t process_id;
	int64_t time;
	struct etw_manifest *manifest; /* owned */
};

struct recording {
	struct etw_trace_schemas *trace;
	struct etw_event_table *event_table;
	struct announcement announcements[ANNOUNCEMENTS_MOST]; /* in order of time */
	size_t announcement_count;
	struct {
		uint32_t process_id;
		int64_t from; /* the id means another process */
	} changes[CHANGES_MOST];
	size_t change_count;
	int64_t now;
	bool full; /* the slow search does not know everything */
};

static void announce_recorded(struct recording *recording, const struct etw_record *record,
			      uint8_t provider, const uint8_t *xml, size_t size)
{
	struct etw_manifest *manifest =
		size > 0 ? etw_manifest_read((const char *)xml, size, NULL) : NULL;
	uint8_t chunk[8 + CHUNK_SIZE] = { 1, 1, 0, 0x5b, 1 };
	struct etw_record whole = *record;

	if (size == 0 || size > CHUNK_SIZE) {
		etw_manifest_free(manifest);
		return;
	}
	memcpy(chunk + 8, xml, size);
	whole.id = ETW_MANIFEST_EVENT_ID;
	whole.payload = chunk;
	whole.payload_size = (uint32_t)(8 + size);
	etw_trace_schemas_look(recording->trace, &whole);
	recording->full |= manifest && recording->announcement_count == ANNOUNCEMENTS_MOST;
	if (!manifest || recording->full) {
		etw_manifest_free(manifest);
		return;
	}
	recording->announcements[recording->announcement_count++] =
		(struct announcement){ provider, record->process_id, record->time, manifest };
}

static void change_recorded(struct recording *recording, uint8_t number)
{
	uint8_t payload[8] = { 0 };
	const struct etw_record record = process_change(number, recording->now, payload);
	size_t at = recording->change_count;

	etw_trace_schemas_look(recording->trace, &record);
	recording->full |= at == CHANGES_MOST;
	if (!recording->full) {
		recording->changes[at].process_id = payload[0];
		recording->changes[at].from =
			recording->now + (record.opcode == ETW_KERNEL_OPCODE_STOP);
		recording->change_count++;
	}
}

/* Whether a change of the process is after the first time, and not after the second one. */
static bool changed_between(const struct recording *recording, uint32_t process_id, int64_t first,
			    int64_t second)
{
	for (size_t i = 0; i < recording->change_count; i++) {
		if (recording->changes[i].process_id == process_id &&
		    recording->changes[i].from > first && recording->changes[i].from <= second) {
			return true;
		}
	}
	return false;
}

/* The announcement of the event's process: the last one by then, else the first one after it. */
static const struct announcement *own_of(const struct recording *recording, uint8_t provider,
					 const struct etw_record *record)
{
	const struct announcement *own = NULL;

	for (size_t i = 0; i < recording->announcement_count; i++) {
		const struct announcement *at = &recording->announcements[i];
		bool before = at->time <= record->time;

		if (at->provider == provider && at->process_id == record->process_id &&
		    !changed_between(recording, at->process_id, before ? at->time : record->time,
				     before ? record->time : at->time) &&
		    (before || !own)) {
			own = at;
		}
	}
	return own;
}

static const struct etw_schema *search(const struct recording *recording, uint8_t provider,
				       const struct etw_record *record, uint8_t version)
{
	const struct announcement *own = own_of(recording, provider, record);
	const struct etw_schema *schema =
		own ? manifest_schema_exact(own->manifest, 0, record->id, version, 0) : NULL;

	for (size_t i = recording->announcement_count; i-- > 0 && !schema;) {
		const struct announcement *at = &recording->announcements[i];

		if (at->provider == provider) {
			schema = manifest_schema_exact(at->manifest, 0, record->id, version, 0);
		}
	}
	return schema;
}

static void check_event(struct recording *recording, uint8_t provider,
			const struct etw_record *record)
{
	const struct etw_schema *wanted = search(recording, provider, record, record->version);
	const struct etw_event_class *class;
	bool added;

	if (!wanted && record->version != 0) {
		wanted = search(recording, provider, record, 0);
	}
	class = etw_event_table_find(recording->event_table, record, &added);
	check(class != NULL);
	if (recording->full) {
		return;
	}
	check((class->schema == NULL) == (wanted == NULL));
	if (wanted) {
		check(strcmp(class->schema->event, wanted->event) == 0 &&
		      class->schema->field_count == wanted->field_count);
		for (unsigned i = 0; i < wanted->field_count; i++) {
			check(strcmp(class->schema->fields[i].name, wanted->fields[i].name) == 0 &&
			      class->schema->fields[i].type == wanted->fields[i].type);
		}
	}
}

static void read_step(struct recording *recording, struct cursor *c, bool first_pass)
{
	enum step step = (enum step)(cursor_u8(c) % STEPS);
	uint8_t number = cursor_u8(c);
	const struct etw_guid provider = provider_of(number);
	struct etw_record record = { .provider = &provider,
				     .type = ETW_RECORD_EVENT,
				     .process_id = number / 4U % 4,
				     .time = recording->now,
				     .version = number >> 6,
				     .payload = (const uint8_t *)"",
				     .pointer_size = 8,
				     .kernel_group = 0xff };
	size_t size;

	if (step == ANNOUNCE || step == ANSWER || step == MAP) {
		size = cursor_u16(c);
		size = size < cursor_left(c) ? size : cursor_left(c);
		if (step == ANNOUNCE && first_pass) {
			announce_recorded(recording, &record, number % 4, c->at, size);
		}
		cursor_skip(c, size);
	} else if (step == EVENT) {
		record.id = cursor_u8(c);
		if (!first_pass) {
			check_event(recording, number % 4, &record);
		}
	} else if (step == WAIT) {
		recording->now += (int64_t)number * QUARTER_100NS;
	} else if (first_pass) {
		change_recorded(recording, number);
	}
}

static void read_recording(const uint8_t *data, size_t size)
{
	struct recording *recording = calloc(1, sizeof *recording);
	struct etw_schema_origins origins = { .live = false };

	check(recording != NULL);
	recording->trace = etw_trace_schemas_new(NULL);
	origins.trace = recording->trace;
	recording->event_table = etw_event_table_new(CLASSES_MOST, &origins, NULL);
	check(recording->trace && recording->event_table);
	for (unsigned pass = 0; pass < 2; pass++) {
		struct cursor c = cursor_over(data, size);

		recording->now = 0;
		while (c.at < c.end && !c.overrun) {
			read_step(recording, &c, pass == 0);
		}
		etw_trace_schemas_finish(recording->trace);
	}
	etw_event_table_free(recording->event_table);
	etw_trace_schemas_free(recording->trace);
	for (size_t i = 0; i < recording->announcement_count; i++) {
		etw_manifest_free(recording->announcements[i].manifest);
	}
	free(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session *session = calloc(1, sizeof *session);
	struct etw_schema_origins origins = { .live = true };
	struct cursor c = cursor_over(data, size);
	struct etw_event_table_statistics statistics;

	check(session != NULL);
	session->inband = etw_inband_manifests_new(on_forget, session, NULL);
	session->trace = etw_trace_schemas_new(NULL);
	origins.inband = session->inband;
	origins.trace = session->trace;
	origins.system = (struct etw_schema_system){ session, ask, NULL, NULL };
	session->event_table = etw_event_table_new(CLASSES_MOST, &origins, NULL);
	check(session->inband && session->trace && session->event_table);
	while (c.at < c.end && !c.overrun) {
		unsigned count = 0;

		take_step(session, &c);
		etw_event_table_each(session->event_table, visit, &count);
		etw_event_table_statistics(session->event_table, &statistics);
		check(count == statistics.entries && count <= CLASSES_MOST);
	}
	etw_event_table_free(session->event_table);
	etw_inband_manifests_free(session->inband);
	etw_trace_schemas_free(session->trace);
	for (size_t i = 0; i < session->answer_count; i++) {
		described_schema_done(&session->answers[i]);
	}
	free(session);
	read_recording(data, size);
	return 0;
}
