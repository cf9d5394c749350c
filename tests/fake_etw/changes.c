/* SPDX-License-Identifier: MIT */
/*
 * Microsoft-Windows-Kernel-EventTracing: ETW reports what is done to sessions, and by which
 * process.
 *
 * Layouts, keywords and opcodes are those of its manifest as Windows 10 registers it
 * (repnz/etw-providers-docs, Manifests-Win10-18990). A stop that a session causes in itself is the
 * last thing that happens in it, so by default only other sessions get that event.
 */
#include "tests/fake_etw/internal.h"

#include <string.h>

enum {
	KEYWORD_SESSION = 0x10,
	KEYWORD_PROVIDER = 0x20,
	KEYWORD_ENABLEMENT = 0x400,
	VERBOSE = 5,
	PAYLOAD_MAX = 16 + 4 + 2 * (FAKE_NAME + 1) + 2 + 6 * 4 + 4 * 4,
};

const GUID fake_event_tracing_guid = {
	0xb675ec37, 0xbdb6, 0x4648, { 0xbc, 0x92, 0xf3, 0xfd, 0xc7, 0x4d, 0x3c, 0xa2 }
};

struct bytes {
	uint8_t at[PAYLOAD_MAX];
	size_t size;
};

static void add_bytes(struct bytes *bytes, const void *value, size_t size)
{
	memcpy(bytes->at + bytes->size, value, size);
	bytes->size += size;
}

static void put_name(struct bytes *bytes, const WCHAR *name)
{
	add_bytes(bytes, name, (fake_wide_length(name) + 1) * sizeof(*name));
}

static void emit(const EVENT_DESCRIPTOR *descriptor, uint32_t pid, const struct bytes *bytes)
{
	const struct fake_etw_event event = { .provider = fake_event_tracing_guid,
					      .descriptor = *descriptor,
					      .process_id = pid,
					      .thread_id = pid + 4,
					      .payload = bytes->at,
					      .payload_size = bytes->size };
	unsigned sessions;

	if (!fake.options.changes_unreported) {
		(void)fake_emit(&event, &sessions);
	}
}

void fake_changes_session(const struct fake_session *session, enum fake_change change, uint32_t pid)
{
	static const EVENT_DESCRIPTOR descriptors[] = {
		[FAKE_CHANGE_STARTED] = { .Id = 10, .Version = 1, .Opcode = 12 },
		[FAKE_CHANGE_STOPPED] = { .Id = 11, .Version = 2, .Opcode = 14 },
		[FAKE_CHANGE_CONFIGURED] = { .Id = 12, .Version = 0, .Opcode = 20 },
	};
	const uint32_t numbers[] = { session->minimum_buffers, session->maximum_buffers,
				     session->buffer_size_kb,  session->allocated,
				     session->allocated,       0 };
	const uint32_t losses[] = { (uint32_t)session->lost, 0, session->realtime_lost,
				    session->id };
	EVENT_DESCRIPTOR descriptor = descriptors[change];
	struct bytes bytes = { .size = 0 };

	descriptor.Task = 2;
	descriptor.Level = VERBOSE;
	descriptor.Keyword = KEYWORD_SESSION;
	add_bytes(&bytes, &session->guid, sizeof(session->guid));
	add_bytes(&bytes, &session->mode, sizeof(session->mode));
	put_name(&bytes, session->name);
	put_name(&bytes, u""); /* no file */
	if (descriptor.Version >= 1) {
		add_bytes(&bytes, numbers, sizeof(numbers));
	}
	if (descriptor.Version >= 2) {
		add_bytes(&bytes, losses, sizeof(losses));
	}
	emit(&descriptor, pid, &bytes);
}

void fake_changes_provider(const struct fake_session *session, const GUID *provider,
			   const struct fake_enable *enable, uint32_t pid)
{
	const EVENT_DESCRIPTOR descriptor = { .Id = enable ? 14 : 15,
					      .Version = enable != NULL,
					      .Opcode = enable ? 18 : 19,
					      .Task = 3,
					      .Level = VERBOSE,
					      .Keyword = KEYWORD_PROVIDER | KEYWORD_ENABLEMENT };
	struct bytes bytes = { .size = 0 };

	add_bytes(&bytes, provider, sizeof(*provider));
	put_name(&bytes, session->name);
	if (enable) {
		add_bytes(&bytes, &enable->match_any, sizeof(enable->match_any));
		add_bytes(&bytes, &enable->match_all, sizeof(enable->match_all));
		add_bytes(&bytes, &enable->properties, sizeof(enable->properties));
		add_bytes(&bytes, &enable->level, sizeof(enable->level));
	}
	emit(&descriptor, pid, &bytes);
}
