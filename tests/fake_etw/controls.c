/* SPDX-License-Identifier: MIT */
/* Functions with which tests inspect and change sessions, and act as other programs. */
#define _WMI_SOURCE_
#include "tests/fake_etw/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool get_state(struct fake_session *from, struct fake_etw_session *session)
{
	if (!from) {
		return false;
	}
	fake_session_settle(from);
	*session = (struct fake_etw_session){ .handle = from->given,
					      .guid = from->guid,
					      .mode = from->mode,
					      .buffer_size_kb = from->buffer_size_kb,
					      .minimum_buffers = from->minimum_buffers,
					      .maximum_buffers = from->maximum_buffers,
					      .flush_timer = from->flush_timer,
					      .clock = from->clock,
					      .buffers = from->allocated,
					      .free_buffers = from->free,
					      .buffers_written = from->written,
					      .realtime_buffers_lost = from->realtime_lost,
					      .emitted = from->emitted,
					      .events_lost = from->lost,
					      .events_in_lost_buffers = from->lost_in_buffers,
					      .delivered = from->delivered,
					      .consumers = fake_consumer_count(from),
					      .providers = from->enable_count,
					      .stack_events = from->stack_event_count,
					      .withheld = from->withheld };
	session->flags = fake_session_flags(from);
	memcpy(session->masks, from->masks, sizeof(session->masks));
	return true;
}

bool fake_etw_session(const char *name, struct fake_etw_session *session)
{
	bool found;

	fake_lock();
	found = get_state(fake_session_by_utf8(name), session);
	fake_unlock();
	return found;
}

unsigned fake_etw_sessions(char names[][64], unsigned size)
{
	unsigned count = 0;

	fake_lock();
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		if (fake.sessions[i].used) {
			if (count < size) {
				fake_wide_to_utf8(fake.sessions[i].name, names[count], 64);
			}
			count++;
		}
	}
	fake_unlock();
	return count;
}

void fake_etw_flush(const char *name)
{
	struct fake_session *session;

	fake_lock();
	session = name ? fake_session_by_utf8(name) : NULL;
	if (session) {
		fake_buffer_flush(session);
	}
	for (size_t i = 0; !name && i < FAKE_SESSIONS; i++) {
		if (fake.sessions[i].used) {
			fake_buffer_flush(&fake.sessions[i]);
		}
	}
	fake_unlock();
}

/* With the lock: waits for a condition on a session, flushing it. */
static bool wait_until(const char *name, unsigned timeout_ms, bool flush,
		       bool (*done)(const struct fake_session *session))
{
	uint64_t end = fake_clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;

	for (;;) {
		struct fake_session *session = fake_session_by_utf8(name);
		uint64_t now = fake_clock_monotonic_ns();

		if (session && flush) {
			fake_buffer_flush(session);
		}
		if (session && done(session)) {
			return true;
		}
		if (!session || now >= end) {
			return false;
		}
		os_condition_wait(&fake.changed, &fake.lock,
				  end - now < 20000000 ? end - now : 20000000);
	}
}

static bool drained(const struct fake_session *session)
{
	return fake_consumer_count(session) > 0 &&
	       session->emitted == session->delivered + session->lost + session->lost_in_buffers;
}

static bool consumed(const struct fake_session *session)
{
	return fake_consumer_count(session) > 0;
}

bool fake_etw_drain(const char *name, unsigned timeout_ms)
{
	bool done;

	fake_lock();
	done = wait_until(name, timeout_ms, true, drained);
	fake_unlock();
	return done;
}

bool fake_etw_wait_consumer(const char *name, unsigned timeout_ms)
{
	uint64_t end = fake_clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
	bool done = false;

	fake_lock();
	while (!(done = wait_until(name, 20, false, consumed)) && fake_clock_monotonic_ns() < end) {
		os_condition_wait(&fake.changed, &fake.lock,
				  20000000); /* the session itself may come yet */
	}
	fake_unlock();
	return done;
}

bool fake_etw_wait_flag(const char *name, uint32_t flag, unsigned timeout_ms)
{
	uint64_t end = fake_clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
	bool set = false;

	fake_lock();
	for (;;) {
		const struct fake_session *session = fake_session_by_utf8(name);

		set = session &&
		      ((fake_session_flags(session) | session->provider_masks[0]) & flag) != 0;
		if (set || fake_clock_monotonic_ns() >= end) {
			break;
		}
		os_condition_wait(&fake.changed, &fake.lock, 5000000);
	}
	fake_unlock();
	return set;
}

void fake_etw_lose_events(const char *name, unsigned count)
{
	struct fake_session *session;

	fake_lock();
	session = fake_session_by_utf8(name);
	if (session) {
		session->emitted += count;
		session->lost += count;
	}
	fake_unlock();
}

void fake_etw_fill(const char *name, bool full)
{
	struct fake_session *session;

	fake_lock();
	session = fake_session_by_utf8(name);
	if (session) {
		session->full = full;
	}
	fake_unlock();
}

unsigned fake_etw_stops_while_consumed(void)
{
	unsigned count;

	fake_lock();
	count = fake.stops_while_consumed;
	fake_unlock();
	return count;
}

void fake_etw_lose_buffers(const char *name, unsigned count)
{
	struct fake_session *session;

	fake_lock();
	session = fake_session_by_utf8(name);
	if (session) {
		session->lose_buffers += count;
	}
	fake_unlock();
}

void fake_etw_end_consumer(const char *name, uint32_t error)
{
	const struct fake_session *session;

	fake_lock();
	session = fake_session_by_utf8(name);
	for (size_t i = 0; session && i < FAKE_TRACES; i++) {
		if (fake.traces[i].processing && fake.traces[i].session == session->handle) {
			fake.traces[i].end_with = error;
		}
	}
	os_condition_wake_all(&fake.changed);
	fake_unlock();
}

void fake_etw_hold_consumer(const char *name, bool hold)
{
	WCHAR wide[FAKE_NAME + 1];
	bool valid = fake_wide_from_utf8(name, wide, FAKE_NAME + 1);

	/* By the trace, because the session may have been stopped meanwhile. */
	fake_lock();
	for (size_t i = 0; valid && i < FAKE_TRACES; i++) {
		if (fake.traces[i].processing && fake_wide_equal(fake.traces[i].name, wide)) {
			fake.traces[i].held = hold;
		}
	}
	os_condition_wake_all(&fake.changed);
	fake_unlock();
}

/* --- another program --- */

/* guid: of the session; NULL: that of no other one, or of its name. */
static bool other_start(const char *name, uint32_t mode, uint32_t flags, const GUID *guid)
{
	struct {
		EVENT_TRACE_PROPERTIES base;
		WCHAR name[FAKE_NAME + 1];
	} properties = { 0 };
	WCHAR wide[FAKE_NAME + 1];
	TRACEHANDLE handle;

	properties.base.Wnode.BufferSize = sizeof(properties);
	properties.base.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
	properties.base.Wnode.Guid.Data1 = fake.options.fixed_guids ?
						   (ULONG)text_hash_nocase(name, strlen(name), 0) :
						   (ULONG)++fake.next_handle;
	properties.base.Wnode.Guid.Data2 = 0x0bad;
	if (guid) {
		properties.base.Wnode.Guid = *guid;
	}
	properties.base.LogFileMode = mode;
	properties.base.EnableFlags = flags;
	return fake_wide_from_utf8(name, wide, FAKE_NAME + 1) &&
	       fake_session_start(&handle, wide, &properties.base, true) == 0;
}

bool fake_etw_other_start(const char *name, uint32_t mode, uint32_t flags)
{
	bool done;

	fake_lock();
	done = other_start(name, mode, flags, NULL);
	fake_unlock();
	return done;
}

bool fake_etw_other_stop(const char *name)
{
	struct fake_session *session;
	bool done;

	fake_lock();
	session = fake_session_by_utf8(name);
	done = session != NULL;
	if (done) {
		fake_session_stop(session, fake.options.other_pid);
	}
	fake_unlock();
	return done;
}

bool fake_etw_other_set_flags(const char *name, uint32_t flags)
{
	struct fake_session *session;
	bool done;

	fake_lock();
	session = fake_session_by_utf8(name);
	done = session && session->system_logger;
	if (done) {
		fake_session_set_flags(session, flags);
		fake_changes_session(session, FAKE_CHANGE_CONFIGURED, fake.options.other_pid);
	}
	fake_unlock();
	return done;
}

bool fake_etw_other_set_realtime(const char *name, bool realtime)
{
	struct fake_session *session;

	fake_lock();
	session = fake_session_by_utf8(name);
	if (session) {
		fake_changes_session(session, FAKE_CHANGE_CONFIGURED, fake.options.other_pid);
		fake_session_set_realtime(session, realtime);
	}
	fake_unlock();
	return session != NULL;
}

bool fake_etw_other_enable(const char *name, const GUID *provider, uint8_t level, uint64_t any)
{
	struct fake_enable enable = { .provider = *provider, .level = level, .match_any = any };
	struct fake_session *session;
	struct fake_union sum;
	bool done;

	fake_lock();
	session = fake_session_by_utf8(name);
	done = session && fake_enable_set(session, &enable) == 0;
	sum = fake_enable_union(provider);
	if (done) {
		fake_changes_provider(session, provider, &enable, fake.options.other_pid);
		(void)fake_providers_notify(provider, &fake_no_guid, sum.is_enabled, sum.level,
					    sum.match_any, sum.match_all, NULL);
	}
	fake_unlock();
	return done;
}

bool fake_etw_other_disable(const char *name, const GUID *provider)
{
	struct fake_session *session;
	struct fake_union sum;
	bool done;

	fake_lock();
	session = fake_session_by_utf8(name);
	done = session && fake_enable_clear(session, provider);
	sum = fake_enable_union(provider);
	if (done) {
		fake_changes_provider(session, provider, NULL, fake.options.other_pid);
		(void)fake_providers_notify(provider, &fake_no_guid, sum.is_enabled, sum.level,
					    sum.match_any, sum.match_all, NULL);
	}
	fake_unlock();
	return done;
}

bool fake_etw_other_steal(const char *name)
{
	struct fake_session *session;
	bool done = false;

	fake_lock();
	session = fake_session_by_utf8(name);
	if (session) {
		uint32_t mode = session->mode;
		GUID guid = session->guid;

		fake_session_stop(session, fake.options.other_pid);
		done = other_start(
			name, mode,
			(mode & EVENT_TRACE_SYSTEM_LOGGER_MODE) != 0 ? EVENT_TRACE_FLAG_PROCESS : 0,
			fake.options.fixed_guids ? &guid : NULL);
	}
	fake_unlock();
	return done;
}
