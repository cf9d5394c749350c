/* SPDX-License-Identifier: MIT */
/*
 * The exporter's own provider, one for all sessions, and the canaries of each session.
 *
 * A TraceLogging event is an ordinary event with its own layout: the first two data descriptors
 * hold the provider's traits and the event's metadata, marked by a type in the low byte of
 * EVENT_DATA_DESCRIPTOR.Reserved; the payload follows.
 *
 * The watcher of a session writes canaries, and the consumer counts those that come back. Whether a
 * session took a canary is known only later, because the session may have ended, or another program
 * may have disabled the provider in it, without a report. So canaries are numbered within an
 * *epoch*, a time in which the provider stays enabled. The session took every canary that was
 * written before a moment at which it ran with the provider enabled, and every canary up to a
 * number that came back. An epoch ends when the session is started again or the provider is enabled
 * again; canaries that are still uncertain then count only if they come back.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/map.h"
#include "base/text.h"
#include "lib/live/live_source_internal_win32.h"

enum {
	METADATA_MAX = 256,
	PAYLOAD_MAX = 4096, /* a session's name has at most 1023 characters */
	NUMBERS_MAX = 256,  /* bytes of the payload for everything except the name */
	CANARY_SIZE = 24,   /* bytes that recognise() reads, before the session's name */
	CHANNEL_TRACELOGGING = 11,
	FIRST_CANARY_KEYWORD = 0x100,
	SET_TRAITS = 2, /* EventProviderSetTraits, which mingw lacks */
};

static const struct etw_guid canary_provider = CANARY_PROVIDER_GUID;

/* The total size, then the name and its NUL; there are no further traits. */
static const uint8_t traits[] = "\x0f\0" CANARY_PROVIDER_NAME;
_Static_assert(sizeof traits == 0x0f, "size of the traits");

/* Names and types of TraceLoggingProvider.h (TlgIn_t, TlgOut_t). */
#define FIELD(name, types) name "\0" types
#define UTF8               "\x82\x23" /* ANSI string, UTF-8 */
#define BOOLEAN_8          "\x84\x03"
#define U32                "\x08"
#define U64                "\x0a"
#define HEX_64             "\x15"

enum event { EVENT_CANARY, EVENT_EXPORTER, EVENT_SESSION, EVENT_COUNT };

struct description {
	const char *bytes; /* the name of the event, then its fields */
	size_t size;
};

/* clang-format off */
#define DESCRIPTION(text) { text, sizeof(text) - 1 }

static const struct description descriptions[EVENT_COUNT] = {
	[EVENT_CANARY] = DESCRIPTION("Canary\0"
		FIELD("Instance", HEX_64)
		FIELD("Slot", U32)
		FIELD("Epoch", U32)
		FIELD("Number", U64)
		FIELD("Session", UTF8)),
	[EVENT_EXPORTER] = DESCRIPTION("Exporter\0"
		FIELD("Version", UTF8)
		FIELD("UptimeSeconds", U64)
		FIELD("Sessions", U32)),
	[EVENT_SESSION] = DESCRIPTION("Session\0"
		FIELD("Session", UTF8)
		FIELD("Up", BOOLEAN_8)
		FIELD("Events", U64)
		FIELD("EventsLost", U64)
		FIELD("RealTimeBuffersLost", U64)
		FIELD("Buffers", U64)
		FIELD("BuffersFree", U64)
		FIELD("BuffersMax", U64)
		FIELD("LagNanoseconds", U64)
		FIELD("CanariesSent", U64)
		FIELD("CanariesReceived", U64)),
};
/* clang-format on */

/* The identity of a canary. */
struct canary_mark {
	uint32_t slot;
	uint32_t epoch;  /* of its session */
	uint64_t number; /* counts canaries in the epoch, from 1 */
};

struct member {
	const struct etw_source *source; /* NULL: the slot is free */
	const char *name;
};

struct etw_canary {
	/* Fixed once registered. */
	REGHANDLE handle;
	/* Identifies our canaries: an earlier process with our id had another value. */
	uint64_t instance;
	uint64_t opened_ns;
	char *version; /* owned */

	struct os_mutex lock;
	/* Guarded by lock. */
	bool registered; /* handle may be used */
	bool enabled;
	uint8_t level; /* 0: all levels */
	uint64_t any;  /* 0: all keywords */
	struct member members[CANARY_SLOTS];
};

/* ---- writing ---- */

struct etw_payload {
	uint8_t bytes[PAYLOAD_MAX];
	size_t size;
};

static void put_integer(struct etw_payload *payload, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		payload->bytes[payload->size++] = (uint8_t)(value >> 8 * i & 0xff);
	}
}

static void put_text(struct etw_payload *payload, const char *text)
{
	size_t room = PAYLOAD_MAX - NUMBERS_MAX;
	size_t size = strlen(text);

	size = size < room ? size : room;
	memcpy(payload->bytes + payload->size, text, size);
	payload->size += size;
	put_integer(payload, 0, 1);
}

static EVENT_DATA_DESCRIPTOR piece(const void *bytes, size_t size, ULONG type)
{
	EVENT_DATA_DESCRIPTOR descriptor = { .Ptr = (ULONGLONG)(uintptr_t)bytes,
					     .Size = (ULONG)size };

	descriptor.Reserved = type;
	return descriptor;
}

static bool write_event(const struct etw_canary *canary, enum event event, uint64_t keyword,
			const struct etw_payload *payload)
{
	const EVENT_DESCRIPTOR descriptor = { .Channel = CHANNEL_TRACELOGGING,
					      .Level = CANARY_LEVEL,
					      .Keyword = keyword };
	uint8_t metadata[METADATA_MAX] = { 0 }; /* its size; no tags */
	size_t size = 3 + descriptions[event].size;
	EVENT_DATA_DESCRIPTOR data[3];

	metadata[0] = (uint8_t)(size & 0xff);
	metadata[1] = (uint8_t)(size >> 8);
	memcpy(metadata + 3, descriptions[event].bytes, descriptions[event].size);
	data[0] = piece(traits, sizeof traits, EVENT_DATA_DESCRIPTOR_TYPE_PROVIDER_METADATA);
	data[1] = piece(metadata, size, EVENT_DATA_DESCRIPTOR_TYPE_EVENT_METADATA);
	data[2] = piece(payload->bytes, payload->size, EVENT_DATA_DESCRIPTOR_TYPE_NONE);
	return EventWriteTransfer(canary->handle, &descriptor, NULL, NULL, 3, data) ==
	       ERROR_SUCCESS;
}

/* Returns whether an event passes the enabled level and keywords; 0 means all. */
static bool passes(uint8_t level, uint64_t any, uint64_t keyword)
{
	return (level == 0 || level >= CANARY_LEVEL) && (any == 0 || (any & keyword) != 0);
}

/* ---- state ---- */

static void write_exporter(const struct etw_canary *canary, uint32_t sessions)
{
	struct etw_payload payload = { .size = 0 };

	put_text(&payload, canary->version);
	put_integer(&payload, (os_monotonic_ns() - canary->opened_ns) / UINT64_C(1000000000), 8);
	put_integer(&payload, sessions, 4);
	write_event(canary, EVENT_EXPORTER, CANARY_STATE_KEYWORD, &payload);
}

static void write_session(const struct etw_canary *canary, const struct member *member)
{
	struct etw_payload payload = { .size = 0 };
	struct etw_source_statistics now;

	etw_source_statistics(member->source, &now);
	put_text(&payload, member->name);
	put_integer(&payload, now.up, 1);
	put_integer(&payload, now.records, 8);
	put_integer(&payload, now.events_lost, 8);
	put_integer(&payload, now.realtime_buffers_lost, 8);
	put_integer(&payload, now.buffers_allocated, 8);
	put_integer(&payload, now.buffers_free, 8);
	put_integer(&payload, now.buffers_max, 8);
	put_integer(&payload, now.lag_ns, 8);
	put_integer(&payload, now.canary_sent, 8);
	put_integer(&payload, now.canary_received, 8);
	write_event(canary, EVENT_SESSION, CANARY_STATE_KEYWORD, &payload);
}

/* Writes the state. The caller holds the lock. */
static void write_state(const struct etw_canary *canary)
{
	uint32_t sessions = 0;

	for (size_t i = 0; i < CANARY_SLOTS; i++) {
		sessions += canary->members[i].source != NULL;
	}
	write_exporter(canary, sessions);
	for (size_t i = 0; i < CANARY_SLOTS; i++) {
		if (canary->members[i].source) {
			write_session(canary, &canary->members[i]);
		}
	}
}

/*
 * When a provider is enabled or disabled, level and keywords are the union over all sessions. When
 * state is captured, they are those of the one session, and the union stays as it is. The call that
 * captures the state waits for this callback, and its session may be stopped right after; so the
 * state is written before the callback returns.
 */
static VOID NTAPI on_control(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
			     PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
	struct etw_canary *canary = context;

	(void)source;
	(void)all; /* each event has one keyword, and Windows compares it */
	(void)filter;
	os_mutex_lock(&canary->lock);
	if (code == EVENT_CONTROL_CODE_CAPTURE_STATE) {
		if (canary->registered && passes(level, any, CANARY_STATE_KEYWORD)) {
			write_state(canary);
		}
	} else if (code <= EVENT_CONTROL_CODE_ENABLE_PROVIDER) {
		canary->enabled = code == EVENT_CONTROL_CODE_ENABLE_PROVIDER;
		canary->level = level;
		canary->any = any;
	}
	os_mutex_unlock(&canary->lock);
}

/* ---- sessions ---- */

/*
 * Gives a session a slot. Source and name are borrowed until leave(); from now on, state events
 * contain the statistics of the source. Returns false if all slots are used.
 */
static bool join(struct etw_canary *canary, const struct etw_source *source, const char *name,
		 uint32_t *slot)
{
	bool found = false;

	os_mutex_lock(&canary->lock);
	for (uint32_t i = 0; i < CANARY_SLOTS && !found; i++) {
		if (!canary->members[i].source) {
			canary->members[i] = (struct member){ .source = source, .name = name };
			*slot = i;
			found = true;
		}
	}
	os_mutex_unlock(&canary->lock);
	return found;
}

static void leave(struct etw_canary *canary, uint32_t slot)
{
	os_mutex_lock(&canary->lock);
	canary->members[slot] = (struct member){ .source = NULL };
	os_mutex_unlock(&canary->lock);
}

static uint64_t slot_keyword(uint32_t slot)
{
	return (uint64_t)FIRST_CANARY_KEYWORD << slot;
}

enum written { NOT_ENABLED, REFUSED, WRITTEN };

static enum written write_canary(struct etw_canary *canary, const struct canary_mark *mark)
{
	struct etw_payload payload = { .size = 0 };
	bool enabled;

	os_mutex_lock(&canary->lock);
	enabled = canary->enabled && passes(canary->level, canary->any, slot_keyword(mark->slot));
	if (enabled) {
		put_integer(&payload, canary->instance, 8);
		put_integer(&payload, mark->slot, 4);
		put_integer(&payload, mark->epoch, 4);
		put_integer(&payload, mark->number, 8);
		put_text(&payload, canary->members[mark->slot].name);
	}
	os_mutex_unlock(&canary->lock);
	if (!enabled) {
		return NOT_ENABLED;
	}
	return write_event(canary, EVENT_CANARY, slot_keyword(mark->slot), &payload) ? WRITTEN :
										       REFUSED;
}

/* Returns whether a record is a canary that this process wrote. */
static bool recognise(const struct etw_canary *canary, const struct etw_record *record,
		      struct canary_mark *mark)
{
	struct canary_mark found;
	struct cursor c;

	/* Any process may use the GUID; the process id is from Windows. */
	if (!etw_guid_equal(record->provider, &canary_provider) || record->classic ||
	    record->process_id != GetCurrentProcessId() || record->payload_size < CANARY_SIZE) {
		return false;
	}
	c = cursor_over(record->payload, record->payload_size);
	if (cursor_u64(&c) != canary->instance) {
		return false;
	}
	found.slot = cursor_u32(&c);
	found.epoch = cursor_u32(&c);
	found.number = cursor_u64(&c);
	if (found.slot >= CANARY_SLOTS || record->keyword != slot_keyword(found.slot)) {
		return false; /* state events begin with a text */
	}
	*mark = found;
	return true;
}

bool canary_enabled(struct etw_canary *canary, uint8_t *level, uint64_t *keywords)
{
	bool enabled;

	os_mutex_lock(&canary->lock);
	enabled = canary->enabled;
	*level = canary->level;
	*keywords = canary->any;
	os_mutex_unlock(&canary->lock);
	return enabled;
}

/* ---- registering ---- */

struct etw_canary *etw_canary_open(const char *version, struct etw_error *err)
{
	struct etw_canary *canary = calloc(1, sizeof *canary);
	GUID provider = live_windows_guid(&canary_provider);
	LARGE_INTEGER counter;
	ULONG status;
	char text[160];

	if (!canary) {
		error_no_memory(err, "the exporter's own provider");
		return NULL;
	}
	os_mutex_init(&canary->lock);
	QueryPerformanceCounter(&counter);
	canary->opened_ns = os_monotonic_ns();
	canary->instance = hash_seeded((uint64_t)counter.QuadPart, os_unix_time_ns());
	canary->version = text_duplicate(version, strlen(version));
	if (!canary->version) {
		error_no_memory(err, "the exporter's own provider");
		goto fail;
	}
	status = EventRegister(&provider, on_control, canary, &canary->handle);
	if (status != ERROR_SUCCESS) {
		canary->handle = 0;
		error_set(err, ETW_ERROR_SYSTEM,
			  "the exporter's own provider cannot be registered: %s",
			  live_error_text(status, text));
		goto fail;
	}
	/* Without traits Windows ignores the type of a descriptor ("EVENT_INFO_CLASS enumeration",
	 * Microsoft Learn): the description of an event would become its payload, so no canary
	 * would be recognised. Windows copies the traits. */
	status = EventSetInformation(canary->handle, (EVENT_INFO_CLASS)SET_TRAITS,
				     (void *)(uintptr_t)traits, sizeof traits);
	if (status != ERROR_SUCCESS) {
		error_set(err, ETW_ERROR_SYSTEM,
			  "the exporter's own provider cannot describe its events: %s",
			  live_error_text(status, text));
		goto fail;
	}
	os_mutex_lock(&canary->lock);
	canary->registered = true;
	os_mutex_unlock(&canary->lock);
	return canary;

fail:
	etw_canary_close(canary);
	return NULL;
}

void etw_canary_close(struct etw_canary *canary)
{
	if (!canary) {
		return;
	}
	if (canary->handle != 0) {
		EventUnregister(canary->handle); /* waits for a callback that runs */
	}
	os_mutex_done(&canary->lock);
	free(canary->version);
	free(canary);
}

/* ---- the canaries of a session ---- */

static uint64_t sure(const struct canary_epoch *epoch)
{
	return epoch->confirmed > epoch->highest ? epoch->confirmed : epoch->highest;
}

/* Publishes the counts. The caller holds source.mutex. */
static void publish(struct live *live)
{
	const struct canary_statistics *canaries = &live->canaries;

	live->source.statistics.canary_sent =
		canaries->sent_before + sure(&canaries->before) + sure(&canaries->now);
}

void canaries_begin(struct live *live)
{
	struct canary_statistics *canaries = &live->canaries;

	os_mutex_lock(live->source.mutex);
	canaries->sent_before += sure(&canaries->before);
	canaries->before = canaries->now;
	canaries->now = (struct canary_epoch){ .epoch = canaries->before.epoch + 1 };
	canaries->on = true;
	os_mutex_unlock(live->source.mutex);
}

void canaries_end(struct live *live)
{
	os_mutex_lock(live->source.mutex);
	live->canaries.on = false;
	os_mutex_unlock(live->source.mutex);
}

struct canary_epoch canaries_written(struct live *live)
{
	struct canary_epoch written;

	os_mutex_lock(live->source.mutex);
	written = live->canaries.now;
	os_mutex_unlock(live->source.mutex);
	return written;
}

void canaries_write(struct live *live)
{
	struct canary_mark mark = { .slot = live->canary_slot };
	bool on;

	/* While the lock is held, the session is neither forgotten nor replaced. */
	os_mutex_lock(&live->lock);
	os_mutex_lock(live->source.mutex);
	mark.epoch = live->canaries.now.epoch;
	mark.number = live->canaries.now.written + 1;
	on = live->canaries.on;
	os_mutex_unlock(live->source.mutex);
	if (on && live->session != 0) {
		enum written written = write_canary(live->canary, &mark);

		os_mutex_lock(live->source.mutex);
		if (written == WRITTEN) {
			live->canaries.now.written = mark.number;
		} else if (written == REFUSED) { /* the next one gets the same number */
			live->source.statistics.canary_refused++;
		}
		os_mutex_unlock(live->source.mutex);
	}
	os_mutex_unlock(&live->lock);
}

void canaries_confirm(struct live *live, const struct canary_epoch *written)
{
	struct canary_epoch *now = &live->canaries.now;

	os_mutex_lock(live->source.mutex);
	if (now->epoch == written->epoch && now->confirmed < written->written) {
		now->confirmed = written->written;
		publish(live);
	}
	os_mutex_unlock(live->source.mutex);
}

static bool take(struct live *live, const struct canary_mark *mark)
{
	struct canary_statistics *canaries = &live->canaries;
	struct canary_epoch *epoch = mark->epoch == canaries->now.epoch    ? &canaries->now :
				     mark->epoch == canaries->before.epoch ? &canaries->before :
									     NULL;

	/* A number arrives twice if Windows refused the write for another session and it was
	 * written again. */
	if (!epoch || mark->number == 0 || mark->number == epoch->highest) {
		return false;
	}
	if (mark->number > epoch->highest) {
		epoch->highest = mark->number;
	}
	live->source.statistics.canary_received++;
	publish(live);
	return true;
}

void canaries_arrival(struct live *live, const struct etw_record *record)
{
	struct canary_mark mark;
	uint64_t ticks;
	bool taken;

	if (!recognise(live->canary, record, &mark) || mark.slot != live->canary_slot) {
		return;
	}
	ticks = etw_time_between(record->raw_time, consume_counter());
	os_mutex_lock(live->source.mutex);
	taken = take(live, &mark);
	os_mutex_unlock(live->source.mutex);
	if (taken && live->options.on_canary) {
		live->options.on_canary(live->options.canary_context,
					etw_ticks_to_ns(ticks, live->source.facts.clock.frequency));
	}
}

/*
 * The configuration may list the provider for this session, to capture its state. Then that entry
 * also enables the canaries, and its filters must not stop them.
 */
static struct etw_provider_spec *find_or_add(const struct live *live, struct provider_list *list)
{
	struct etw_provider_spec *providers;

	for (size_t i = 0; i < list->count; i++) {
		if (etw_guid_equal(&list->providers[i].guid, &canary_provider)) {
			return &list->providers[i];
		}
	}
	providers = realloc(list->providers, (list->count + 1) * sizeof *providers);
	if (!providers) {
		return NULL;
	}
	list->providers = providers;
	providers += list->count++;
	etw_provider_spec_init(providers);
	providers->guid = canary_provider;
	providers->level = CANARY_LEVEL;
	providers->any = slot_keyword(live->canary_slot);
	return providers;
}

void canaries_open(struct live *live)
{
	if (live->options.canary && live->options.logger != ETW_LIVE_NT_KERNEL &&
	    !is_attached(live) &&
	    join(live->options.canary, &live->source, live->name, &live->canary_slot)) {
		live->canary = live->options.canary;
	}
}

bool canaries_add(struct live *live, struct provider_list *list)
{
	struct etw_provider_spec *spec;

	if (!live->canary) {
		return true;
	}
	spec = find_or_add(live, list);
	if (!spec) {
		return false;
	}
	list->canary_index = (size_t)(spec - list->providers);
	if (spec->level != 0 && spec->level < CANARY_LEVEL) {
		spec->level = CANARY_LEVEL;
	}
	if (spec->any != 0) {
		spec->any |= slot_keyword(live->canary_slot);
	}
	spec->all = 0;
	spec->id_count = 0;
	spec->process_id_count = 0;
	free(spec->executables);
	spec->executables = NULL;
	return true;
}

void canaries_close(struct live *live)
{
	if (live->canary) {
		leave(live->canary, live->canary_slot);
		live->canary = NULL;
	}
}
