/* SPDX-License-Identifier: MIT */
/*
 * Queries TDH, once for each event class, and makes schemas from the answers.
 *
 * TdhGetEventInformation() is far too slow for each event, so its answers are kept: a
 * TRACE_EVENT_INFO becomes a schema (event_info.c, which also reads the same structure from merged
 * recordings), and its value maps are queried with it. An answer is identified by provider, id or
 * opcode, version and the classic flag. The number and the memory of answers are bounded.
 *
 * Events that TDH does not know must not be queried again each time. Their hashes are stored in a
 * table of fixed size, in which a newer hash replaces an older one. A process could nevertheless
 * emit events with ever new ids, and each of them costs a slow query. Therefore failed queries are
 * counted for each second of event time, for each process and for all processes, and beyond a limit
 * the query is postponed (*later). Processes share counters by a hash that changes every second. An
 * event that comes late counts for the second of the newest event; otherwise events of two
 * alternating seconds would reset the counters each time.
 *
 * The buffer of TDH is reused. The size that a call needs can grow between two calls, so each query
 * is tried a few times. Answers come from registered manifests, which are not under our control, so
 * each size and offset is checked.
 */
#include "lib/decode/event_schema.h"

#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>
#include <etw/session.h>

#include "base/array.h"
#include "base/error.h"
#include "base/guid.h"
#include "base/map.h"
#include "base/os.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/source/etw_sdk_win32.h"

#include <tdh.h>

enum {
	TRIES = 4, /* the needed size may grow between two calls */
	VAIN_PLACES = 256,
	SET_BACK_SECONDS = 60, /* no event is this late: the clock was set back */
	UNKNOWN_PLACES = 1 << 14,
	ANSWER_SIZE_MOST = 4 << 20,
	NAME_SIZE_MOST = 1024,
};

/* An answer of TDH about an event class. */
struct answer {
	struct etw_guid provider; /* GUID of the provider, or of the kernel event class */
	uint16_t number;          /* id; for classic events the opcode */
	uint8_t version;
	bool classic;
	struct described_schema made;
	struct etw_value_map **maps; /* owned, with the maps; one for each field; NULL: none */
	char *provider_name;         /* owned; NULL: not in the answer */
};

/* A counter of failed queries in one second of event time. */
struct vain {
	int64_t second;
	uint32_t count;
};

struct etw_tdh {
	struct answer **answers; /* owned, with the answers */
	size_t count, capacity;
	size_t bytes;                     /* of answers, approximately */
	struct map known;                 /* hash of the identity of an answer -> index + 1 */
	uint64_t unknown[UNKNOWN_PLACES]; /* hashes of events that TDH does not know */
	int64_t second;                   /* second of the newest queried event */
	struct vain vain_of_all;
	struct vain vain[VAIN_PLACES]; /* index: hash of process id and second */
	uint64_t seed;
	uint8_t *buffer; /* owned; receives a TRACE_EVENT_INFO */
	ULONG buffer_size;
	struct etw_registered_providers providers;
	bool providers_read;
};

struct etw_tdh *etw_tdh_new(struct etw_error *err)
{
	struct etw_tdh *tdh = calloc(1, sizeof *tdh);

	if (!tdh) {
		error_no_memory(err, "schemas that Windows knows");
		return NULL;
	}
	tdh->seed = hash_seed();
	return tdh;
}

static void free_answer(struct answer *answer)
{
	for (size_t i = 0; answer->maps && i < answer->made.fields.count; i++) {
		free(answer->maps[i]);
	}
	free(answer->maps);
	free(answer->provider_name);
	described_schema_done(&answer->made);
	free(answer);
}

void etw_tdh_free(struct etw_tdh *tdh)
{
	if (!tdh) {
		return;
	}
	for (size_t i = 0; i < tdh->count; i++) {
		free_answer(tdh->answers[i]);
	}
	etw_registered_done(&tdh->providers);
	map_done(&tdh->known);
	free(tdh->answers);
	free(tdh->buffer);
	free(tdh);
}

/* ---- queries ---- */

/* Fills in those members of the event that TDH uses. */
static EVENT_RECORD record_for_tdh(const struct etw_record *record)
{
	EVENT_RECORD query = { .EventHeader = { .ThreadId = record->thread_id,
						.ProcessId = record->process_id } };
	EVENT_HEADER *header = &query.EventHeader;

	header->Size = sizeof *header;
	header->Flags = record->pointer_size == 8 ? EVENT_HEADER_FLAG_64_BIT_HEADER :
						    EVENT_HEADER_FLAG_32_BIT_HEADER;
	if (record->classic) {
		header->Flags |= EVENT_HEADER_FLAG_CLASSIC_HEADER;
	}
	memcpy(&header->ProviderId, record->provider, sizeof header->ProviderId);
	header->EventDescriptor = (EVENT_DESCRIPTOR){ .Id = record->id,
						      .Version = record->version,
						      .Channel = record->channel,
						      .Level = record->level,
						      .Opcode = record->opcode,
						      .Task = record->task,
						      .Keyword = record->keyword };
	query.UserData = (void *)(uintptr_t)record->payload;
	query.UserDataLength = (USHORT)record->payload_size;
	return query;
}

/* Makes the buffer at least this large. */
static bool make_room(struct etw_tdh *tdh, ULONG size)
{
	uint8_t *larger;

	if (size <= tdh->buffer_size) {
		return true;
	}
	larger = size <= ANSWER_SIZE_MOST ? realloc(tdh->buffer, size) : NULL;
	if (!larger) {
		return false;
	}
	tdh->buffer = larger;
	tdh->buffer_size = size;
	return true;
}

/*
 * TDH may catch its own faults, so a fault does not end the process while TDH runs.
 */
static ULONG event_information(EVENT_RECORD *query, TRACE_EVENT_INFO *information, ULONG *size)
{
	bool fatal = os_set_faults_fatal(false);
	ULONG status = TdhGetEventInformation(query, 0, NULL, information, size);

	os_set_faults_fatal(fatal);
	return status;
}

static ULONG map_information(EVENT_RECORD *query, WCHAR *name, EVENT_MAP_INFO *information,
			     ULONG *size)
{
	bool fatal = os_set_faults_fatal(false);
	ULONG status = TdhGetEventMapInformation(query, name, information, size);

	os_set_faults_fatal(fatal);
	return status;
}

/* Puts the answer into tdh->buffer and returns its size; 0: no answer. */
static ULONG ask_event(struct etw_tdh *tdh, EVENT_RECORD *query)
{
	ULONG status = ERROR_INSUFFICIENT_BUFFER, size = tdh->buffer_size;

	for (unsigned i = 0; i < TRIES && status == ERROR_INSUFFICIENT_BUFFER; i++) {
		size = tdh->buffer_size;
		status = event_information(query, (TRACE_EVENT_INFO *)(void *)tdh->buffer, &size);
		if (status == ERROR_INSUFFICIENT_BUFFER && !make_room(tdh, size)) {
			break;
		}
	}
	return status == ERROR_SUCCESS && tdh->buffer && size <= tdh->buffer_size ? size : 0;
}

/* Queries the value map with this name, which must end inside the buffer. The caller frees the
 * result. Returns NULL if there is none. */
static EVENT_MAP_INFO *query_map(EVENT_RECORD *query, uint8_t *name, ULONG *size)
{
	WCHAR *wide = (WCHAR *)(void *)name;
	ULONG status = ERROR_INSUFFICIENT_BUFFER, room = 0;
	EVENT_MAP_INFO *information = NULL;

	*size = 0;
	for (unsigned i = 0; i < TRIES && status == ERROR_INSUFFICIENT_BUFFER; i++) {
		EVENT_MAP_INFO *larger;

		if (*size > ANSWER_SIZE_MOST) {
			break;
		}
		larger = *size > 0 ? realloc(information, *size) : information;
		if (*size > 0 && !larger) {
			break;
		}
		information = larger;
		room = *size;
		status = map_information(query, wide, information, size);
	}
	if (status != ERROR_SUCCESS || *size > room) {
		free(information);
		return NULL;
	}
	return information;
}

/* Queries the map and converts it to struct etw_value_map. */
static struct etw_value_map *ask_map(const struct etw_guid *provider, EVENT_RECORD *query,
				     uint8_t *name)
{
	ULONG size;
	EVENT_MAP_INFO *information = query_map(query, name, &size);
	struct etw_value_map *made = NULL;
	struct etw_event_map map;

	if (information && etw_event_map_view(provider, (const uint8_t *)information, size, &map)) {
		made = etw_event_map_make(&map);
	}
	free(information);
	return made;
}

/* ---- answers ---- */

static bool add_maps(struct etw_tdh *tdh, struct answer *answer, EVENT_RECORD *query,
		     const uint32_t *names, ULONG size)
{
	for (uint16_t i = 0; i < answer->made.fields.count; i++) {
		if (names[i] == 0 || !event_info_string_ends(tdh->buffer, size, names[i])) {
			continue;
		}
		if (!answer->maps) {
			answer->maps = calloc(answer->made.fields.count, sizeof answer->maps[0]);
			if (!answer->maps) {
				return false;
			}
		}
		answer->maps[i] = ask_map(&answer->provider, query, tdh->buffer + names[i]);
		answer->made.fields.fields[i].map = answer->maps[i];
		if (answer->maps[i]) {
			tdh->bytes += answer->maps[i]->count * sizeof(struct etw_value_name);
		}
	}
	return true;
}

/* Returns an answer that has only its identity, for look-ups. */
static struct answer answer_for(const struct etw_record *record)
{
	return (struct answer){ .provider = *record->provider,
				.number = record->classic ? record->opcode : record->id,
				.version = record->version,
				.classic = record->classic };
}

static uint64_t hash_of(const struct etw_tdh *tdh, const struct answer *answer)
{
	uint64_t word = (uint64_t)answer->number | (uint64_t)answer->version << 16 |
			(uint64_t)answer->classic << 24;
	uint64_t hash = hash_seeded(guid_hash(&answer->provider, tdh->seed) ^ word, tdh->seed);

	return hash != 0 ? hash : 1; /* 0 marks a free place of `unknown` */
}

static bool is_answer(const struct answer *a, const struct answer *b)
{
	return a->number == b->number && a->version == b->version && a->classic == b->classic &&
	       etw_guid_equal(&a->provider, &b->provider);
}

/* Returns a copy of the provider's name; NULL if the answer contains none or there is no memory. */
static char *emitted_name(const struct etw_event_info *info)
{
	struct etw_text name = { 0 };

	if (!etw_event_info_string(info->bytes, info->size, info->provider_name, &name) ||
	    name.failed || name.size == 0 || name.size > NAME_SIZE_MOST) {
		text_free(&name);
	}
	return name.data;
}

static struct answer *make_answer(struct etw_tdh *tdh, EVENT_RECORD *query,
				  const struct answer *key)
{
	uint32_t names[ETW_SCHEMA_FIELDS_MOST];
	ULONG size = ask_event(tdh, query);
	struct answer *answer;
	struct etw_event_info info;

	if (size == 0 || !etw_event_info_view(tdh->buffer, size, &info) ||
	    info.source > ETW_EVENT_INFO_MOF) {
		return NULL;
	}
	answer = malloc(sizeof *answer);
	if (!answer) {
		return NULL;
	}
	*answer = *key;
	if (!event_info_schema(&info, &answer->made, names) ||
	    !add_maps(tdh, answer, query, names, size)) {
		free_answer(answer);
		return NULL;
	}
	answer->provider_name = emitted_name(&info);
	tdh->bytes += sizeof *answer + answer->made.fields.bytes;
	return answer;
}

static bool has_room(struct etw_tdh *tdh)
{
	struct answer **grown;

	if (tdh->count == TDH_SCHEMAS_MOST || tdh->bytes > TDH_BYTES_MOST) {
		return false;
	}
	grown = array_grow(tdh->answers, &tdh->capacity, tdh->count, sizeof(struct answer *));
	if (!grown) {
		return false;
	}
	tdh->answers = grown;
	return true;
}

/* ---- failed queries ---- */

static struct vain *vain_in(struct vain *vain, int64_t second)
{
	if (vain->second != second) {
		*vain = (struct vain){ .second = second };
	}
	return vain;
}

static int64_t newest_second(struct etw_tdh *tdh, int64_t time)
{
	int64_t second = time / 10000000;

	if (second > tdh->second || second < tdh->second - SET_BACK_SECONDS) {
		tdh->second = second;
	}
	return tdh->second;
}

/* Returns the counter of the process. Which processes share a counter changes every second, so that
 * no process blocks another one for long. */
static struct vain *vain_of(struct etw_tdh *tdh, const struct etw_record *record, int64_t second)
{
	uint64_t key = record->process_id ^ (uint64_t)second << 32;

	return vain_in(&tdh->vain[hash_seeded(key, tdh->seed) % VAIN_PLACES], second);
}

/* ---- the origin ---- */

static struct answer *keep_answer(struct etw_tdh *tdh, struct answer *answer, uint64_t hash)
{
	uint64_t *place = map_put(&tdh->known, hash, NULL);

	if (!place) {
		free_answer(answer);
		return NULL;
	}
	tdh->answers[tdh->count++] = answer;
	*place = tdh->count;
	return answer;
}

/* Returns the answer of TDH; NULL if TDH has none or was not queried. *later: the query was
 * postponed. */
static struct answer *ask(struct etw_tdh *tdh, const struct etw_record *record,
			  const struct answer *key, uint64_t hash, bool *later)
{
	uint64_t *unknown = &tdh->unknown[hash % UNKNOWN_PLACES];
	int64_t second = newest_second(tdh, record->time);
	struct vain *of_all = vain_in(&tdh->vain_of_all, second);
	struct vain *vain = vain_of(tdh, record, second);
	struct answer *answer;
	EVENT_RECORD query;

	if (*unknown == hash || !has_room(tdh)) {
		return NULL;
	}
	if (vain->count >= TDH_VAIN_ALWAYS &&
	    (vain->count >= TDH_VAIN_MOST || of_all->count >= TDH_VAIN_MOST_OF_ALL)) {
		*later = true;
		return NULL;
	}
	query = record_for_tdh(record);
	answer = make_answer(tdh, &query, key);
	if (!answer) {
		vain->count++;
		of_all->count++;
		*unknown = hash;
		return NULL;
	}
	return keep_answer(tdh, answer, hash);
}

static const struct etw_schema *find_schema(void *context, const struct etw_record *record,
					    struct etw_system_answer *said)
{
	struct etw_tdh *tdh = context;
	const struct answer key = answer_for(record);
	uint64_t hash = hash_of(tdh, &key);
	const uint64_t *known = map_find(&tdh->known, hash);
	struct answer *answer = known ? tdh->answers[*known - 1] :
					ask(tdh, record, &key, hash, &said->later);

	if (!answer || !is_answer(answer, &key)) {
		return NULL;
	}
	said->provider_name = answer->provider_name;
	return &answer->made.schema;
}

static const char *find_name(void *context, const struct etw_guid *provider)
{
	struct etw_tdh *tdh = context;

	if (!tdh->providers_read) {
		tdh->providers_read = true; /* after a failure it would fail again */
		etw_registered_read(&tdh->providers, NULL);
	}
	return etw_registered_name(&tdh->providers, provider);
}

/* ---- descriptions for a recording ---- */

struct describing {
	EVENT_RECORD query;
	struct etw_event_info info;
	void (*take)(void *context, uint8_t opcode, const void *bytes, size_t size);
	void *context;
};

/* Adds the map of one property, after the GUID of the provider. */
static void describe_map(struct describing *to, uint8_t *name)
{
	ULONG size;
	EVENT_MAP_INFO *information = query_map(&to->query, name, &size);
	struct etw_payload payload;

	if (information) {
		etw_payload_init(&payload, 8);
		etw_payload_guid(&payload, &to->info.provider);
		etw_payload_bytes(&payload, information, size);
		if (!payload.failed) {
			to->take(to->context, META_DATA_EVENT_MAP_INFO, payload.bytes,
				 payload.size);
		}
		etw_payload_done(&payload);
	}
	free(information);
}

static void describe(void *context, const struct etw_record *record,
		     void (*take)(void *context, uint8_t opcode, const void *bytes, size_t size),
		     void *take_context)
{
	struct etw_tdh *tdh = context;
	struct describing to = { .query = record_for_tdh(record),
				 .take = take,
				 .context = take_context };
	ULONG size = ask_event(tdh, &to.query);

	if (size == 0 || !etw_event_info_view(tdh->buffer, size, &to.info) ||
	    to.info.source > ETW_EVENT_INFO_MOF) {
		return;
	}
	take(take_context, META_DATA_EVENT_INFO, tdh->buffer, size);
	for (uint32_t i = 0; i < to.info.property_count; i++) {
		struct etw_event_property property;

		etw_event_info_property(&to.info, i, &property);
		if ((property.flags & PropertyStruct) == 0 && property.map_name != 0 &&
		    event_info_string_ends(tdh->buffer, size, property.map_name)) {
			describe_map(&to, tdh->buffer + property.map_name);
		}
	}
}

struct etw_schema_system etw_tdh_system(struct etw_tdh *tdh)
{
	return (struct etw_schema_system){ tdh, find_schema, find_name, describe };
}
