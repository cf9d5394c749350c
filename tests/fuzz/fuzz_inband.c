/* SPDX-License-Identifier: MIT */
/*
 * What processes and the operating system announce to a live session: manifests and answers of
 * anything at all, in any order, with few places for event classes, and all that is kept of them.
 *
 * The input is a row of steps: a byte that says which, then what it takes (see take_step()).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "decode/event_info.h"
#include "decode/event_table.h"
#include "decode/inband_manifests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLASSES_MOST = 6, ANSWERS_MOST = 32, CHUNK_SIZE = 4096, QUARTER_100NS = 2500000 };

enum step { ANNOUNCE, EVENT, WAIT, ANSWER, MAP, STEPS };

struct session {
	struct inband_manifests *inband;
	struct trace_schemas *trace;
	struct event_table *event_table;
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

static void release(void *context, struct event_class *class)
{
	(void)context;
	check(class->schema != NULL);
}

static void on_forget(void *context, uint32_t manifest_id)
{
	struct session *session = context;

	event_table_drop(session->event_table, manifest_id, release, session);
}

/* Every event class holds a schema that is still there. */
static void visit(void *context, struct event_class *class)
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
static const struct schema *ask(void *context, const struct event_record *record,
				struct system_answer *answer)
{
	struct session *session = context;

	answer->later = (record->time / QUARTER_100NS) % 4 == 3;
	if (answer->later || session->answer_count == 0 || record->id % 2 == 0) {
		return NULL;
	}
	answer->provider_name = record->id % 4 == 1 ? "Answered" : NULL;
	return &session->answers[session->answer_count - 1].schema;
}

static struct guid provider_of(uint8_t number)
{
	return (struct guid){ { (uint8_t)(number % 4), 0xfe } };
}

/* A manifest in as many chunks as it takes. */
static void announce(struct session *session, struct event_record *record, const uint8_t *xml,
		     size_t size)
{
	size_t total = (size + CHUNK_SIZE - 1) / CHUNK_SIZE;
	uint8_t chunk[8 + CHUNK_SIZE] = { 1, 1, 0, 0x5b, (uint8_t)total };

	record->id = MANIFEST_EVENT_ID;
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

static void add_answer(struct session *session, const uint8_t *bytes, size_t size)
{
	uint32_t maps[SCHEMA_FIELDS_MOST];
	struct event_info info;

	if (session->answer_count < ANSWERS_MOST && event_info_view(bytes, (uint32_t)size, &info) &&
	    event_info_schema(&info, &session->answers[session->answer_count], maps)) {
		session->answer_count++;
	}
}

static void view_map(const uint8_t *bytes, size_t size)
{
	const struct guid provider = provider_of(0);
	struct event_map map;

	if (event_map_view(&provider, bytes, (uint32_t)size, &map)) {
		free(event_map_make(&map));
	}
}

static void take_step(struct session *session, struct cursor *c)
{
	enum step step = (enum step)(cursor_u8(c) % STEPS);
	uint8_t number = cursor_u8(c);
	const struct guid provider = provider_of(number);
	struct event_record record = { .provider = &provider,
				       .type = RECORD_EVENT,
				       .process_id = number / 4U % 4,
				       .time = session->now,
				       .payload = (const uint8_t *)"",
				       .pointer_size = 8,
				       .kernel_group = 0xff };
	const uint8_t *bytes = c->at;
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
		check(event_table_find(session->event_table, &record, &added) != NULL);
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
	case STEPS:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session *session = calloc(1, sizeof *session);
	struct schema_origins origins = { .live = true };
	struct cursor c = cursor_over(data, size);
	struct event_table_statistics statistics;

	check(session != NULL);
	session->inband = inband_manifests_new(on_forget, session, NULL);
	session->trace = trace_schemas_new(NULL);
	origins.inband = session->inband;
	origins.trace = session->trace;
	origins.system = (struct schema_system){ session, ask, NULL, NULL };
	session->event_table = event_table_new(CLASSES_MOST, &origins, NULL);
	check(session->inband && session->trace && session->event_table);
	while (c.at < c.end && !c.overrun) {
		unsigned count = 0;

		take_step(session, &c);
		event_table_each(session->event_table, visit, &count);
		event_table_publish(session->event_table);
		event_table_statistics(session->event_table, &statistics);
		check(count == statistics.entries && count <= CLASSES_MOST);
	}
	event_table_free(session->event_table);
	inband_manifests_free(session->inband);
	trace_schemas_free(session->trace);
	for (size_t i = 0; i < session->answer_count; i++) {
		described_schema_done(&session->answers[i]);
	}
	free(session);
	return 0;
}
