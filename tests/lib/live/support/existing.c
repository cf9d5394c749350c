/* SPDX-License-Identifier: MIT */
#include "tests/lib/live/support/existing.h"

#include "tests/fake_etw/fake_etw.h"

enum { OPEN_FILES = 3 };

void existing_add(void)
{
	static const GUID process = {
		0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};
	uint32_t payload[4] = { 0, 0, GetCurrentProcessId(), 0 };
	struct fake_etw_event event = { .provider = process,
					.descriptor = { .Opcode = 3, .Version = 4 },
					.classic = true,
					.payload = payload,
					.payload_size = sizeof payload };

	fake_etw_add_rundown(&event);
	for (unsigned i = 0; i < OPEN_FILES; i++) {
		fake_etw_add_existing(&fake_file_class, 36, payload, sizeof payload);
	}
	fake_etw_add_existing(&fake_config_class, 11, payload, sizeof payload);
}
