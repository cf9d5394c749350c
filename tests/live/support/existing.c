/* SPDX-License-Identifier: MIT */
#include "tests/live/support/existing.h"

#include "tests/fake_etw/fake_etw.h"

enum { OPEN_FILES = 3 };

void existing_add(void)
{
	static const GUID process = {
		0x3d6fa8d0, 0xfe05, 0x11d0, { 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c }
	};
	static const GUID file = {
		0x90cbdc39, 0x4a3e, 0x11d1, { 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3 }
	};
	static const GUID config = {
		0x01853a65, 0x418f, 0x4f36, { 0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35 }
	};
	uint32_t payload[4] = { 0, 0, GetCurrentProcessId(), 0 };
	struct fake_etw_event event = { .provider = process,
					.descriptor = { .Opcode = 3, .Version = 4 },
					.classic = true,
					.payload = payload,
					.payload_size = sizeof payload };

	fake_etw_add_rundown(&event);
	event.provider = file;
	event.descriptor = (EVENT_DESCRIPTOR){ .Opcode = 36, .Version = 2 };
	for (unsigned i = 0; i < OPEN_FILES; i++) {
		fake_etw_add_rundown(&event);
	}
	event.provider = config;
	event.descriptor = (EVENT_DESCRIPTOR){ .Opcode = 11, .Version = 2 };
	fake_etw_add_rundown(&event);
}
