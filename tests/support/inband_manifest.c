/* SPDX-License-Identifier: MIT */
#include "tests/support/inband_manifest.h"

#include <stdlib.h>

#include <etw/mirror.h>

#include "lib/decode/inband_manifests.h"
#include "tests/support/exact_copy.h"

void inband_manifest_xml(struct etw_text *xml, const struct inband_manifest *manifest)
{
	text_add_format(xml,
			"<instrumentationManifest><instrumentation><events><provider name='%s'>"
			"%s</provider></events></instrumentation></instrumentationManifest>",
			manifest->name, manifest->inside);
}

void announce_chunk(const struct inband_manifest *manifest, uint16_t number, uint16_t total,
		    const char *part, size_t size,
		    void (*look)(void *context, const struct etw_record *record), void *context)
{
	struct etw_record record = { .provider = manifest->provider,
				     .type = ETW_RECORD_EVENT,
				     .id = ETW_MANIFEST_EVENT_ID,
				     .process_id = manifest->process_id,
				     .time = manifest->time,
				     .pointer_size = 8,
				     .kernel_group = 0xff };
	struct etw_payload payload;
	uint8_t *copy;

	etw_payload_init(&payload, 8);
	etw_payload_bytes(&payload, "\1\1\0\x5b", 4);
	etw_payload_u16(&payload, total);
	etw_payload_u16(&payload, number);
	etw_payload_bytes(&payload, part, size);
	copy = exact_copy(payload.bytes, payload.size);
	record.payload = copy;
	record.payload_size = (uint32_t)payload.size;
	look(context, &record);
	free(copy);
	etw_payload_done(&payload);
}

void announce_chunks(const struct inband_manifest *manifest,
		     void (*look)(void *context, const struct etw_record *record), void *context)
{
	struct etw_text xml = { 0 };
	size_t half;

	inband_manifest_xml(&xml, manifest);
	half = xml.size / 2;
	announce_chunk(manifest, 0, 2, xml.data, half, look, context);
	announce_chunk(manifest, 1, 2, xml.data + half, xml.size - half, look, context);
	text_free(&xml);
}

static void show_trace(void *context, const struct etw_record *record)
{
	etw_trace_schemas_look(context, record);
}

void announce_manifest(struct etw_trace_schemas *trace, const struct etw_guid *provider,
		       const char *name, const char *inside)
{
	const struct inband_manifest manifest = {
		.provider = provider, .process_id = 4, .name = name, .inside = inside
	};

	announce_chunks(&manifest, show_trace, trace);
}
