/* SPDX-License-Identifier: MIT */
#include "tests/support/told_manifest.h"

#include "base/text.h"
#include "decode/event_source.h"
#include "tests/support/payload.h"

void tell_manifest(struct trace_schemas *trace, const struct guid *provider, const char *name,
		   const char *inside)
{
	struct text xml = { 0 };

	text_add_format(&xml,
			"<instrumentationManifest><instrumentation><events><provider name='%s'>"
			"%s</provider></events></instrumentation></instrumentationManifest>",
			name, inside);
	for (uint16_t chunk = 0; chunk < 2; chunk++) {
		size_t from = chunk * (xml.size / 2), to = chunk ? xml.size : xml.size / 2;
		struct event_record record = { .provider = provider,
					       .kind = RECORD_EVENT,
					       .id = MANIFEST_EVENT_ID,
					       .process_id = 4 };
		struct payload payload;

		payload_init(&payload, 8);
		payload_bytes(&payload, "\1\1\0\x5b\2\0", 6);
		payload_u16(&payload, chunk);
		payload_bytes(&payload, xml.data + from, to - from);
		record.payload = payload.bytes;
		record.payload_size = (uint32_t)payload.size;
		trace_schemas_look(trace, &record);
		payload_done(&payload);
	}
	text_free(&xml);
}
