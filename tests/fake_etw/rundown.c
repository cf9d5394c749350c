/* SPDX-License-Identifier: MIT */
/*
 * What exists already, and when a system logger is reported of it.
 *
 * A test (or a recording) adds facts once: a process, an open file, a disk. Each is an event, and
 * its class and opcode decide when a session gets it: a DCStart when its flag comes on, a DCEnd
 * when it goes off or the session stops, the name of an open file likewise and from the kernel's
 * rundown provider, and SystemConfig at STOP only. All of it is written at full speed, and no
 * consumer gives a buffer back meanwhile, except for what is reported when flags come on.
 *
 * Source: BEHAVIOUR.md, rows P18 and P22 to P26.
 */
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
	DC_START = 3,
	DC_END = 4,
	FILE_RUNDOWN = 36,
	FILE_NAMES_KEYWORD = 0x10,
};

struct rundown {
	struct fake_etw_event event;
	void *payload; /* owned */
	int64_t since; /* reading of the counter from which on it exists */
	bool only_at_end;
};

static struct rundown *rundowns;
static size_t rundown_count;
static size_t rundown_capacity;

static const GUID rundown_provider = {
	0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
};
const GUID fake_file_class = {
	0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 }
};
const GUID fake_config_class = {
	0x01853a65, 0x418f, 0x4f36, { 0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35 }
};
/* Process, Thread, Image. */
static const GUID running_classes[] = {
	{ 0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c } },
	{ 0x3d6fa8d1, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c } },
	{ 0x2cb15d1d, 0x5fc1, 0x11d2, { 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18 } },
};

static bool is_running(const GUID *class)
{
	for (size_t i = 0; i < sizeof(running_classes) / sizeof(running_classes[0]); i++) {
		if (fake_guid_equal(&running_classes[i], class)) {
			return true;
		}
	}
	return false;
}

static bool is_file_name(const struct fake_etw_event *event)
{
	return event->descriptor.Opcode == FILE_RUNDOWN &&
	       fake_guid_equal(&event->provider, &fake_file_class);
}

bool fake_rundown_of_the_end(const struct fake_etw_event *event)
{
	return event->classic &&
	       (is_file_name(event) || fake_guid_equal(&event->provider, &fake_config_class) ||
		(event->descriptor.Opcode == DC_END && is_running(&event->provider)));
}

/* ---- reporting ---- */

static void report(struct fake_session *session, const struct rundown *rundown, uint8_t opcode)
{
	struct fake_etw_event event = rundown->event;

	event.descriptor.Opcode = opcode;
	if (rundown->since <= fake_clock_qpc()) {
		(void)fake_emit_to(session, &event, NULL);
	}
}

/* A consumer that takes its buffers keeps up with the beginnings. Returns false when it does not,
 * or the session is gone. */
static bool wait_for_consumer(const struct fake_session *session, size_t payload_size)
{
	uint64_t handle = session->handle;
	bool room = fake_buffer_wait_for_room(0, FAKE_EVENT_HEADER + payload_size, WAIT_MS);

	return room && session->used && session->handle == handle;
}

static void report_beginnings(struct fake_session *session, const uint32_t before[8],
			      const uint32_t now[8])
{
	uint64_t handle = session->handle;
	bool waits = fake_consumer_count(session) > 0;

	for (size_t i = 0; i < rundown_count; i++) {
		const struct fake_etw_event *event = &rundowns[i].event;
		bool runs = is_running(&event->provider);
		uint8_t opcode = runs ? DC_START : event->descriptor.Opcode;

		if (!rundowns[i].only_at_end && (runs || !fake_rundown_of_the_end(event)) &&
		    fake_kernel_requested(session, now, &event->provider, opcode) &&
		    !fake_kernel_requested(session, before, &event->provider, opcode)) {
			waits = waits && wait_for_consumer(session, event->payload_size);
			if (!session->used || session->handle != handle) {
				return;
			}
			report(session, &rundowns[i], opcode);
		}
	}
}

static void report_ends(struct fake_session *session, const uint32_t before[8],
			const uint32_t now[8], bool stops)
{
	for (size_t i = 0; i < rundown_count; i++) {
		const struct fake_etw_event *event = &rundowns[i].event;
		bool runs = is_running(&event->provider);
		bool config = fake_guid_equal(&event->provider, &fake_config_class);
		uint8_t opcode = runs ? DC_END : event->descriptor.Opcode;

		if ((runs || is_file_name(event) || (config && stops)) &&
		    fake_kernel_requested(session, before, &event->provider, opcode) &&
		    (stops || !fake_kernel_requested(session, now, &event->provider, opcode))) {
			report(session, &rundowns[i], opcode);
		}
	}
}

/* ---- when ---- */

static void sum_of(const struct fake_session *session, uint32_t masks[8])
{
	for (unsigned i = 0; i < 8; i++) {
		masks[i] = session->masks[i] | session->provider_masks[i];
	}
}

static void rundown_between(struct fake_session *session, const uint32_t before[8],
			    const uint32_t now[8])
{
	if (session->system_logger && !session->stopping) {
		report_ends(session, before, now, false);
		report_beginnings(session, before, now);
	}
}

void fake_kernel_rundown(struct fake_session *session, const uint32_t before[8])
{
	uint32_t old[8];
	uint32_t now[8];

	sum_of(session, now);
	for (unsigned i = 0; i < 8; i++) {
		old[i] = before[i] | session->provider_masks[i];
	}
	if (fake_otherwise("P18")) {
		rundown_between(session, old, now); /* twice */
	}
	rundown_between(session, old, now);
}

void fake_kernel_update(struct fake_session *session)
{
	uint32_t old[8];
	uint32_t now[8];

	if (!session->system_logger) {
		return;
	}
	sum_of(session, old);
	memset(session->provider_masks, 0, sizeof(session->provider_masks));
	for (unsigned i = 0; i < session->enable_count; i++) {
		uint32_t masks[8];

		if (fake_kernel_system_provider(&session->enables[i].provider,
						session->enables[i].match_any, masks)) {
			for (unsigned m = 0; m < 8; m++) {
				session->provider_masks[m] |= masks[m];
			}
		}
	}
	sum_of(session, now);
	rundown_between(session, old, now);
}

void fake_kernel_stop(struct fake_session *session)
{
	uint32_t masks[8];

	if (session->system_logger && !session->stopping) {
		sum_of(session, masks);
		report_ends(session, masks, masks, true);
	}
	session->stopping = true;
}

static void report_names(struct fake_session *session, const struct fake_enable *enable)
{
	for (size_t i = 0; i < rundown_count; i++) {
		if (is_file_name(&rundowns[i].event) &&
		    fake_enable_passes(enable->level, enable->match_any, enable->match_all,
				       rundowns[i].event.descriptor.Level, FILE_NAMES_KEYWORD)) {
			report(session, &rundowns[i], FILE_RUNDOWN);
		}
	}
}

void fake_kernel_provider_rundown(struct fake_session *session, const struct fake_enable *enable)
{
	if (!session->system_logger || !fake_guid_equal(&enable->provider, &rundown_provider)) {
		return;
	}
	switch (fake.options.rundown_provider) {
	case FAKE_ETW_NAMES_AT_ONCE:
		report_names(session, enable);
		break;
	case FAKE_ETW_NAMES_LATE:
		session->names_due = true;
		break;
	case FAKE_ETW_NAMES_NEVER:
		break;
	}
}

void fake_etw_report_late_names(void)
{
	fake_lock();
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		struct fake_session *session = &fake.sessions[i];
		const struct fake_enable *enable =
			session->used ? fake_enable_of(session, &rundown_provider) : NULL;

		if (enable && session->names_due) {
			session->names_due = false;
			report_names(session, enable);
		}
	}
	fake_unlock();
}

/* ---- facts ---- */

void fake_rundown_add(const struct fake_etw_event *event, int64_t since, bool only_at_end)
{
	struct rundown *rundown;

	if (rundown_count == rundown_capacity) {
		rundown_capacity = rundown_capacity > 0 ? 2 * rundown_capacity : 64;
		rundowns = realloc(rundowns, rundown_capacity * sizeof(*rundowns));
		if (!rundowns) {
			abort();
		}
	}
	rundown = &rundowns[rundown_count++];
	*rundown = (struct rundown){ .event = *event, .since = since, .only_at_end = only_at_end };
	rundown->event.items = NULL;
	rundown->event.item_count = 0;
	rundown->event.timed = false;
	rundown->event.descriptor.Keyword = 0;
	rundown->payload = malloc(event->payload_size + 1);
	if (!rundown->payload) {
		abort();
	}
	if (event->payload_size > 0) {
		memcpy(rundown->payload, event->payload, event->payload_size);
	}
	rundown->event.payload = rundown->payload;
}

void fake_etw_add_rundown(const struct fake_etw_event *event)
{
	fake_lock();
	fake_rundown_add(event, INT64_MIN, false);
	fake_unlock();
}

void fake_etw_add_open_file(uint64_t key, const char *path)
{
	struct {
		uint64_t key;
		WCHAR path[FAKE_NAME];
	} payload = { .key = key };
	struct fake_etw_event event = {
		.provider = fake_file_class,
		.descriptor = { .Opcode = FILE_RUNDOWN, .Version = 2 },
		.classic = true,
		.payload = &payload,
	};

	if (!fake_wide_from_utf8(path, payload.path, FAKE_NAME)) {
		abort();
	}
	event.payload_size =
		sizeof(payload.key) + (fake_wide_length(payload.path) + 1) * sizeof(WCHAR);
	fake_etw_add_rundown(&event);
}

void fake_etw_add_existing(const GUID *class, uint8_t opcode, const void *payload, size_t size)
{
	const struct fake_etw_event event = { .provider = *class,
					      .descriptor = { .Opcode = opcode, .Version = 2 },
					      .classic = true,
					      .payload = payload,
					      .payload_size = size };

	fake_etw_add_rundown(&event);
}

void fake_etw_add_open_files(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		fake_etw_add_open_file(0x1000 + i, "\\Device\\HarddiskVolume3\\logs\\service.log");
	}
}

void fake_rundown_reset(void)
{
	for (size_t i = 0; i < rundown_count; i++) {
		free(rundowns[i].payload);
	}
	free(rundowns);
	rundowns = NULL;
	rundown_count = rundown_capacity = 0;
}
