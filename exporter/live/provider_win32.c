/* SPDX-License-Identifier: MIT */
/*
 * The exporter's own provider: registered, told what is wanted, asked for its state, written to.
 *
 * A TraceLogging event is an ordinary one that carries its layout: the first two data descriptors
 * hold the provider's traits and the event's metadata, marked by a type in the low byte of
 * EVENT_DATA_DESCRIPTOR.Reserved; the payload follows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/text.h"
#include "live/canary_internal_win32.h"
#include "live/live_internal_win32.h"

enum {
	METADATA_MAX = 256,
	PAYLOAD_MAX = 4096, /* a session's name has at most 1023 characters */
	NUMBERS_MAX = 256,  /* of it, for all but the name */
	CANARY_SIZE = 24,   /* what canary_recognise() reads, in front of the session's name */
	CHANNEL_TRACELOGGING = 11,
	FIRST_CANARY_KEYWORD = 0x100,
	SET_TRAITS = 2, /* EventProviderSetTraits, which mingw lacks */
};

const struct guid canary_provider = CANARY_PROVIDER_GUID;

/* The size of the whole comes first, then the name and its NUL; there are no traits. */
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

struct member {
	const struct source *source; /* NULL: the slot is free */
	const char *name;
};

struct canary {
	/* Fixed once registered. */
	REGHANDLE handle;
	uint64_t instance; /* tells our canaries from those of whoever had our process id before */
	uint64_t opened_ns;
	char *version; /* owned */

	struct os_mutex lock;
	/* Guarded by lock. */
	bool registered; /* handle may be used */
	bool enabled;
	uint8_t level; /* 0: every one */
	uint64_t any;  /* 0: every one */
	struct member members[CANARY_SLOTS];
};

/* ---- writing ---- */

struct payload {
	uint8_t bytes[PAYLOAD_MAX];
	size_t size;
};

static void put_integer(struct payload *payload, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		payload->bytes[payload->size++] = (uint8_t)(value >> 8 * i & 0xff);
	}
}

static void put_text(struct payload *payload, const char *text)
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

static bool write_event(const struct canary *canary, enum event event, uint64_t keyword,
			const struct payload *payload)
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

/* Whether level and keywords let an event pass; 0 asks for every one. */
static bool passes(uint8_t level, uint64_t any, uint64_t keyword)
{
	return (level == 0 || level >= CANARY_LEVEL) && (any == 0 || (any & keyword) != 0);
}

/* ---- state ---- */

static void announce_exporter(const struct canary *canary, uint32_t sessions)
{
	struct payload payload = { .size = 0 };

	put_text(&payload, canary->version);
	put_integer(&payload, (os_monotonic_ns() - canary->opened_ns) / UINT64_C(1000000000), 8);
	put_integer(&payload, sessions, 4);
	write_event(canary, EVENT_EXPORTER, CANARY_STATE_KEYWORD, &payload);
}

static void announce_session(const struct canary *canary, const struct member *member)
{
	struct payload payload = { .size = 0 };
	struct source_statistics now;

	source_statistics(member->source, &now);
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

/* With the lock. */
static void announce_state(const struct canary *canary)
{
	uint32_t sessions = 0;

	for (size_t i = 0; i < CANARY_SLOTS; i++) {
		sessions += canary->members[i].source != NULL;
	}
	announce_exporter(canary, sessions);
	for (size_t i = 0; i < CANARY_SLOTS; i++) {
		if (canary->members[i].source) {
			announce_session(canary, &canary->members[i]);
		}
	}
}

/*
 * Enabling and disabling carry the union over all sessions; a capture carries what the session that
 * asks has, and changes nothing. The asking call waits for this callback and may stop its session
 * right after: what is to be told is told before it returns.
 */
static VOID NTAPI on_control(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
			     PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
	struct canary *canary = context;

	(void)source;
	(void)all; /* each event has one keyword: Windows compares it */
	(void)filter;
	os_mutex_lock(&canary->lock);
	if (code == EVENT_CONTROL_CODE_CAPTURE_STATE) {
		if (canary->registered && passes(level, any, CANARY_STATE_KEYWORD)) {
			announce_state(canary);
		}
	} else if (code <= EVENT_CONTROL_CODE_ENABLE_PROVIDER) {
		canary->enabled = code == EVENT_CONTROL_CODE_ENABLE_PROVIDER;
		canary->level = level;
		canary->any = any;
	}
	os_mutex_unlock(&canary->lock);
}

/* ---- sessions ---- */

bool canary_join(struct canary *canary, const struct source *source, const char *name,
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

void canary_leave(struct canary *canary, uint32_t slot)
{
	os_mutex_lock(&canary->lock);
	canary->members[slot] = (struct member){ .source = NULL };
	os_mutex_unlock(&canary->lock);
}

uint64_t canary_keyword(uint32_t slot)
{
	return (uint64_t)FIRST_CANARY_KEYWORD << slot;
}

bool canary_write(struct canary *canary, const struct canary_mark *mark)
{
	struct payload payload = { .size = 0 };
	bool wanted;

	os_mutex_lock(&canary->lock);
	wanted = canary->enabled && passes(canary->level, canary->any, canary_keyword(mark->slot));
	if (wanted) {
		put_integer(&payload, canary->instance, 8);
		put_integer(&payload, mark->slot, 4);
		put_integer(&payload, mark->epoch, 4);
		put_integer(&payload, mark->number, 8);
		put_text(&payload, canary->members[mark->slot].name);
	}
	os_mutex_unlock(&canary->lock);
	return wanted && write_event(canary, EVENT_CANARY, canary_keyword(mark->slot), &payload);
}

bool canary_recognise(const struct canary *canary, const struct event_record *record,
		      struct canary_mark *mark)
{
	struct canary_mark found;
	struct cursor c;

	/* Any process may claim the GUID; Windows says which one wrote. */
	if (!guid_equal(record->provider, &canary_provider) || record->classic ||
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
	if (found.slot >= CANARY_SLOTS || record->keyword != canary_keyword(found.slot)) {
		return false; /* state begins with a text */
	}
	*mark = found;
	return true;
}

bool canary_wanted(struct canary *canary, uint8_t *level, uint64_t *keywords)
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

struct canary *canary_open(const char *version, struct error *err)
{
	struct canary *canary = calloc(1, sizeof *canary);
	GUID provider = live_windows_guid(&canary_provider);
	LARGE_INTEGER counter;
	ULONG status;
	char text[160];

	if (!canary) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the exporter's own provider");
		return NULL;
	}
	os_mutex_init(&canary->lock);
	QueryPerformanceCounter(&counter);
	canary->opened_ns = os_monotonic_ns();
	canary->instance = hash_seeded((uint64_t)counter.QuadPart, os_unix_time_ns());
	canary->version = text_duplicate(version, strlen(version));
	if (!canary->version) {
		error_set(err, ERROR_NO_MEMORY, "no memory for the exporter's own provider");
		goto fail;
	}
	status = EventRegister(&provider, on_control, canary, &canary->handle);
	if (status != ERROR_SUCCESS) {
		canary->handle = 0;
		error_set(err, ERROR_SYSTEM, "the exporter's own provider cannot be registered: %s",
			  live_error_text(status, text));
		goto fail;
	}
	/* Traits repeat what each event carries; Windows copies them. Without them all goes on. */
	EventSetInformation(canary->handle, (EVENT_INFO_CLASS)SET_TRAITS, (void *)(uintptr_t)traits,
			    sizeof traits);
	os_mutex_lock(&canary->lock);
	canary->registered = true;
	os_mutex_unlock(&canary->lock);
	return canary;

fail:
	canary_close(canary);
	return NULL;
}

void canary_close(struct canary *canary)
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
