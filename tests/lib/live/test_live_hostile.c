/* SPDX-License-Identifier: MIT */
/*
 * A hostile provider: any program may register a GUID that a session has enabled, and write under
 * it what it likes, other providers' descriptions included.
 *
 * One process writes random events for some seconds (HOSTILE_SECONDS; the seed is printed, and
 * taken from HOSTILE_SEED), a well-behaved one and the kernel write beside it. Then the same
 * machine runs without the first, and nothing but the first one's own counts may differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "tests/fake_etw/fake_etw.h"
#include "tests/lib/live/support/side.h"

enum {
	SECONDS = 3,
	EVIL_PID = 666,
	GOOD_PID = 100,
	PAYLOAD_MOST = 60000,
	ITEM_MOST = 4096,
	ITEMS_MOST = 8,
	EVIL_EVENTS = 16, /* for one of the well-behaved */
	SERIES_MOST = 500,
};

#define NS_PER_S UINT64_C(1000000000)

#define GOOD_GUID "a0a0a0a0-0001-0002-0304-050607080900"
#define EVIL_GUID "e0e0e0e0-0001-0002-0304-050607080900"

static const GUID good_guid = { 0xa0a0a0a0, 1, 2, { 3, 4, 5, 6, 7, 8, 9, 0 } };
static const GUID evil_guid = { 0xe0e0e0e0, 1, 2, { 3, 4, 5, 6, 7, 8, 9, 0 } };

/* Which session gets the report that another one of ours is stopped depends on which stops first.
 */
static const char config[] = "limits: { series_per_family: 500 }\n"
			     "filters: { events: [ "
			     "{ event: '{b675ec37-bdb6-4648-bc92-f3fdc74d3ca2}/11' }, "
			     "{ event: '{b675ec37-bdb6-4648-bc92-f3fdc74d3ca2}/15' } ] }\n"
			     /* Under Wine the list of processes is not the fake's. */
			     "collectors: { process_memory: off }\n"
			     "sessions:\n"
			     "  kernel: { providers: [ '{" GOOD_GUID "}', '{" EVIL_GUID "}' ] }\n"
			     "  user: { logger: user, providers: [ '{" GOOD_GUID "}', '{" EVIL_GUID
			     "}' ] }\n";

static const char *const sessions[] = { "kernel", "user" };

/* ---- random numbers: the same for the same seed, on every system ---- */

static uint64_t state_of_random;

static uint32_t random_u32(void)
{
	state_of_random ^= state_of_random << 13;
	state_of_random ^= state_of_random >> 7;
	state_of_random ^= state_of_random << 17;
	return (uint32_t)(state_of_random >> 16);
}

static uint32_t below(uint32_t limit)
{
	return random_u32() % limit;
}

static void random_bytes(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bytes[i] = (uint8_t)random_u32();
	}
}

/* ---- the well-behaved ---- */

static const char traits[] = "\x0f\0Contoso-Good";
static const char metadata[] = "\x0f\0\0Work\0value\0\x08";

static void emit_good(void)
{
	static const GUID tcp_ip = {
		0x9a280ac0, 0xc8e0, 0x11d1, { 0x84, 0xe2, 0x00, 0xc0, 0x4f, 0xb9, 0x98, 0xa2 }
	};
	/* Of a process, 1000 bytes. */
	static const uint8_t sent[40] = { GOOD_PID, 0, 0, 0, 0xe8, 0x03 };
	static const uint32_t value = 7;
	static const struct fake_etw_item items[] = {
		{ EVENT_HEADER_EXT_TYPE_PROV_TRAITS, sizeof traits, traits },
		{ EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL, sizeof metadata - 1, metadata },
	};
	const struct fake_etw_event work = { .provider = good_guid,
					     .descriptor = { .Channel = 11, .Level = 4 },
					     .process_id = GOOD_PID,
					     .items = items,
					     .item_count = 2,
					     .payload = &value,
					     .payload_size = sizeof value };
	const struct fake_etw_event send = { .provider = tcp_ip,
					     .classic = true,
					     .descriptor = { .Opcode = 10, .Version = 2 },
					     .process_id = GOOD_PID,
					     .payload = sent,
					     .payload_size = sizeof sent };

	assert_true(fake_etw_emit_waiting(&work, WAIT_MS));
	assert_true(fake_etw_emit_waiting(&send, WAIT_MS));
}

/* ---- the hostile ---- */

/* Bytes that nearly are what a reader hopes for. */
static size_t nearly(uint8_t *bytes, const char *model, size_t size)
{
	memcpy(bytes, model, size);
	for (uint32_t i = below(4); i > 0; i--) {
		bytes[below((uint32_t)size)] = (uint8_t)random_u32();
	}
	return below(4) == 0 ? below((uint32_t)size + 1) : size;
}

static size_t random_item(struct fake_etw_item *item, uint8_t *bytes)
{
	static const char evil_traits[] = "\x0c\0Evil-Name";
	/* A counted array of structures, nested, with a field as long as another says. */
	static const char nested[] = "\x2a\0\0Evil\0outer\0\xd8\x82\x06n\0\x06"
				     "data\0\x4a\0inner\0\x98\xff";

	item->type = (uint16_t)below(24);
	item->data = bytes;
	switch (below(6)) {
	case 0:
		item->type = EVENT_HEADER_EXT_TYPE_PROV_TRAITS;
		item->size = (uint16_t)(below(2) ?
						nearly(bytes, traits, sizeof traits) :
						nearly(bytes, evil_traits, sizeof evil_traits - 1));
		break;
	case 1:
		item->type = EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL;
		item->size = (uint16_t)nearly(bytes, metadata, sizeof metadata - 1);
		break;
	case 2:
		item->type = EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL;
		item->size = (uint16_t)nearly(bytes, nested, sizeof nested - 1);
		break;
	default:
		item->size = (uint16_t)below(below(50) == 0 ? ITEM_MOST : 64);
		random_bytes(bytes, item->size);
		break;
	}
	return item->size;
}

/* A piece of an EventSource's manifest, that of the well-behaved provider among them. */
static size_t manifest_piece(uint8_t *bytes)
{
	static const char xml[] =
		"<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">"
		"<instrumentation><events><provider name=\"Evil-Name\" guid=\"{" GOOD_GUID "}\">"
		"<templates><template tid=\"T\"><data name=\"value\" inType=\"win:UInt32\"/></template>"
		"</templates><events><event value=\"1\" version=\"0\" template=\"T\" symbol=\"Evil\"/>"
		"</events></provider></events></instrumentation></instrumentationManifest>";
	const uint8_t head[] = { 1, 1, 0, 0x5b, (uint8_t)(1 + below(3)), 0, (uint8_t)below(3), 0 };

	memcpy(bytes, head, sizeof head);
	return sizeof head + nearly(bytes + sizeof head, xml, sizeof xml - 1);
}

static void emit_evil(void)
{
	static uint8_t payload[PAYLOAD_MOST];
	static uint8_t bytes[ITEMS_MOST][ITEM_MOST];
	struct fake_etw_item items[ITEMS_MOST];
	struct fake_etw_event event = { .provider = below(2) ? evil_guid : good_guid,
					.process_id = EVIL_PID,
					.thread_id = random_u32(),
					.processor = (uint16_t)below(4),
					.pointer_size = below(2) ? 4 : 8,
					.property = (uint16_t)below(16),
					.items = items,
					.payload = payload };

	random_bytes((uint8_t *)&event.descriptor, sizeof event.descriptor);
	random_bytes((uint8_t *)&event.activity, sizeof event.activity);
	event.descriptor.Level = (uint8_t)below(5); /* others are not let in */
	event.classic = below(8) == 0;
	event.flags = (uint16_t)random_u32() &
		      (EVENT_HEADER_FLAG_PRIVATE_SESSION | EVENT_HEADER_FLAG_STRING_ONLY |
		       EVENT_HEADER_FLAG_TRACE_MESSAGE | EVENT_HEADER_FLAG_NO_CPUTIME);
	if (below(2)) {
		event.descriptor.Channel = 11; /* TraceLogging's */
		event.descriptor.Id = 0;
	}
	event.payload_size = below(below(200) == 0 ? PAYLOAD_MOST : 128);
	random_bytes(payload, event.payload_size);
	if (below(16) == 0) {
		event.descriptor.Id = 0xfffe;
		event.descriptor.Task = 0xfffe;
		event.descriptor.Opcode = 0xfe;
		event.payload_size = manifest_piece(payload);
	}
	event.item_count = below(4) == 0 ? below(ITEMS_MOST) : below(3);
	for (size_t i = 0; i < event.item_count; i++) {
		random_item(&items[i], bytes[i]);
	}
	assert_true(fake_etw_emit_waiting(&event, WAIT_MS));
}

/* ---- running ---- */

static uint64_t sum_of(const struct side *side, const char *family, const char *session)
{
	char start[160];
	uint64_t sum = 0;

	snprintf(start, sizeof start, "\n%s{session=\"%s\"", family, session);
	for (const char *at = strstr(side->page.data, start); at; at = strstr(at + 1, start)) {
		const char *end = strchr(at + 1, '\n');

		while (end[-1] != ' ') {
			end--;
		}
		sum += strtoull(end, NULL, 10);
	}
	return sum;
}

static void begin(struct side *side)
{
	static const struct fake_etw_options machine = { .processors = 4 };

	begin_live(side, config);
	fake_etw_reset(&machine);
	fake_etw_fail_always("EventWriteTransfer", ERROR_NOT_ENOUGH_MEMORY); /* no events of ours */
	fake_etw_add_process(GOOD_PID, 4, "good.exe");
	fake_etw_add_process(EVIL_PID, 4, "evil.exe");
	open_live(side);
	for (size_t i = 0; i < 2; i++) {
		assert_true(fake_etw_wait_consumer(sessions[i], WAIT_MS));
	}
}

/* Everything has been delivered: what was emitted was counted or reported lost. */
static void wait_until_quiet(struct side *side)
{
	for (size_t i = 0; i < 2; i++) {
		uint64_t until = os_monotonic_ns() + WAIT_MS * UINT64_C(1000000);
		struct fake_etw_session session;
		uint64_t counted, by_outcome, lost;

		assert_true(fake_etw_drain(sessions[i], WAIT_MS));
		assert_true(fake_etw_session(sessions[i], &session));
		do { /* the watcher has to ask for losses yet */
			take_page(side);
			counted = sum_of(side, "etw_consumer_events_total", sessions[i]);
			by_outcome = sum_of(side, "etw_consumer_records_total", sessions[i]);
			lost = sum_of(side, "etw_session_events_lost_total", sessions[i]);
		} while (lost != session.events_lost && os_monotonic_ns() < until);
		assert_int_equal(lost, session.events_lost);
		assert_int_equal(counted -
					 sum_of(side, "etw_consumer_lost_notifications_total",
						sessions[i]) +
					 session.events_lost,
				 session.emitted);
		assert_int_equal(by_outcome, counted);
		print_message("  %s: %llu events, %llu lost\n", sessions[i],
			      (unsigned long long)session.emitted,
			      (unsigned long long)session.events_lost);
	}
}

/* ---- comparing ---- */

/* Families about events as such, and about the exporter. */
static bool is_of_events(const char *line)
{
	static const char *const starts[] = { "#",
					      "etw_session_",
					      "etw_consumer_",
					      "etw_exporter_",
					      "etw_schema_cache_",
					      "etw_state_",
					      "etw_decode_errors_total",
					      "etw_provider_events_total",
					      "etw_event_payload_bytes_total",
					      "process_",
					      "etw_events_total{process=\"evil\"" };

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		if (strncmp(line, starts[i], strlen(starts[i])) == 0) {
			return true;
		}
	}
	return false;
}

/* Lines of one page that the other has not; printed. */
static unsigned count_missing(const struct side *from, const struct side *in, const char *where)
{
	unsigned missing = 0;

	for (const char *at = from->page.data; *at;) {
		size_t size = strcspn(at, "\n");
		char line[2048];

		snprintf(line, sizeof line, "\n%.*s\n", (int)size, at);
		if (!is_of_events(at) && !strstr(in->page.data, line)) {
			print_message("  only %s: %.*s\n", where, (int)size, at);
			missing++;
		}
		at += size + 1;
	}
	return missing;
}

static void assert_bounded(struct side *side)
{
	static const char family[] = "\netw_events_total{";
	unsigned series = 0;

	for (const char *at = strstr(side->page.data, family); at; at = strstr(at + 1, family)) {
		series++;
	}
	assert_in_range(series, 1, SERIES_MOST + 2);
	assert_in_range(value_of(side, "\netw_schema_cache_entries "), 1, 2 * 32768);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void a_hostile_provider_changes_nothing_for_others(void **state)
{
	uint64_t seed = number_of("HOSTILE_SEED", os_unix_time_ns() | 1);
	uint64_t seconds = number_of("HOSTILE_SECONDS", SECONDS);
	struct side hostile, honest;
	unsigned rounds;
	uint64_t end;

	(void)state;
	print_message("  HOSTILE_SEED=%llu\n", (unsigned long long)seed);
	state_of_random = seed;
	begin(&hostile);
	/* The first name that is announced for a GUID stays. */
	emit_good();
	wait_until_quiet(&hostile);
	rounds = 1;
	end = os_monotonic_ns() + seconds * NS_PER_S;
	while (os_monotonic_ns() < end) {
		for (unsigned i = 0; i < EVIL_EVENTS; i++) {
			emit_evil();
		}
		emit_good();
		rounds++;
	}
	wait_until_quiet(&hostile);
	assert_bounded(&hostile);
	stop_live(&hostile);
	take_page(&hostile);

	begin(&honest);
	for (unsigned i = 0; i < rounds; i++) {
		emit_good();
	}
	wait_until_quiet(&honest);
	stop_live(&honest);
	take_page(&honest);
	print_message("  %u events each of the well-behaved provider and the kernel\n", rounds);
	assert_non_null(strstr(honest.page.data,
			       "\netw_events_total{process=\"good\",provider=\"Contoso-Good\"} "));
	assert_int_equal(count_missing(&honest, &hostile, "without the hostile provider"), 0);
	assert_int_equal(count_missing(&hostile, &honest, "with it"), 0);
	close_side(&honest);
	close_side(&hostile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hostile_provider_changes_nothing_for_others),
	};
	int failed = cmocka_run_group_tests_name("live_hostile", tests, NULL, NULL);

	fake_etw_reset(NULL);
	return failed;
}
