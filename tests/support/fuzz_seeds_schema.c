/* SPDX-License-Identifier: MIT */
#include "tests/support/fuzz_seeds.h"

#include <string.h>

#include "tests/support/event_info_blob.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum what { TRACELOGGING, MANIFEST, EVENT_INFO, FIELDS, WITH_POINTERS_OF_4 };

/* What the target reads first: which format, and the payload. */
static void begin_seed(struct etw_payload *seed, unsigned what, const char *payload, size_t size)
{
	etw_payload_u8(seed, (uint8_t)what);
	etw_payload_u16(seed, (uint16_t)size);
	etw_payload_bytes(seed, payload, size);
}

#define BEGIN(seed, what, payload) begin_seed(seed, what, payload, sizeof(payload) - 1)

static void metadata(struct etw_payload *seed, const char *fields, size_t size)
{
	etw_payload_u16(seed, (uint16_t)(3 + size));
	etw_payload_u8(seed, 0);
	etw_payload_bytes(seed, fields, size);
}

#define METADATA(seed, fields) metadata(seed, fields, sizeof(fields) - 1)

static void add_every_type(struct etw_payload *seed)
{
	BEGIN(seed, TRACELOGGING,
	      "a\0\0\0b\0\1\1\1\0\1\0\1\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\0\0\x80\x3f\1\0\0\0"
	      "\2\0\xab\xcd\4\0A\0B\0\2\0xy\1\1\0\0\0\0\0\5\x12\0\0\0\x1f\x90\x7f\0\0\1");
	METADATA(seed, "Every\0w\0\1a\0\2i\0\3u\0\4i2\0\5u2\0\6i4\0\7u4\0\x08u8\0\x0a"
		       "f\0\x0b"
		       "bool\0\x0d"
		       "bin\0\x0e"
		       "cs\0\x16"
		       "ca\0\x17sid\0\x13"
		       "port\0\x86\x07v4\0\x88\x08");
}

static void add_structures(struct etw_payload *seed)
{
	BEGIN(seed, TRACELOGGING | WITH_POINTERS_OF_4,
	      "\2\0\xfb\xff\xff\xffone\0\2\0\5\6\6\0\0\0two\0\0\0\x08\x09\x2a");
	METADATA(seed, "Arrays\0st\0\xd8\x03x\0\7in\0\x98\1y\0\2z\0\x44"
		       "fixed\0\xb8\1\2\0w\0\4last\0\x84\x83\x81\x02");
}

static void add_manifest(struct etw_payload *seed)
{
	static const char xml[] =
		"<instrumentationManifest><instrumentation><events><provider name='P' "
		"guid='{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001}'><events>"
		"<event value='1' version='1' task='T' opcode='win:Start' template='A'/>"
		"<event value='2' symbol='S'/></events><templates><template tid='A'>"
		"<data name='n' inType='win:UInt8'/>"
		"<data name='b' inType='win:Binary' length='n'/>"
		"<struct name='s' count='n'><data name='x' inType='win:UnicodeString' length='2'/>"
		"<data name='y' inType='win:Pointer' count='2'/></struct>"
		"<data name='a' inType='win:UInt32' outType='win:IPv4'/>"
		"</template></templates></provider></events></instrumentation>"
		"</instrumentationManifest>";

	BEGIN(seed, MANIFEST | WITH_POINTERS_OF_4,
	      "\1\xaa"
	      "a\0b\0\1\0\0\0\2\0\0\0\x7f\0\0\1");
	etw_payload_bytes(seed, xml, sizeof xml - 1);
}

static void add_event_info(struct etw_payload *seed)
{
	static const struct etw_guid provider = { { 0xab } };
	static const struct blob_property properties[] = {
		{ "Count", 0, 8, 8, 1, 4 },
		{ "Values", BLOB_STRUCT | BLOB_COUNT_BY, 3, 4, 0, 0 },
		{ "Address", BLOB_LENGTH_BY, 14, 25, 1, 0 },
		{ "TypeID", 0, 16, 19, 1, 8 },
		{ "Name", 0, 1, 1, 1, 0 },
		{ "TypeParameterCount", 0, 4, 4, 1, 1 },
		{ "TypeParameters", BLOB_COUNT_BY, 10, 19, 5, 8 },
	};
	const struct event_info_blob blob = { .provider = &provider,
					      .id = 15,
					      .task = "Type",
					      .opcode_name = "win:Info",
					      .properties = properties,
					      .property_count = COUNT(properties),
					      .top_level_count = 3 };

	BEGIN(seed, EVENT_INFO, "\1\0\0\0\7\0\0\0\0\0\0\0A\0\0\0\1\x09\0\0\0\0\0\0\0\x17\0\0\x35");
	payload_event_info(seed, &blob);
}

static void add_fields(struct etw_payload *seed)
{
	BEGIN(seed, FIELDS, "\2\1\2\0abc\0\3\0\1\2\3\1\1\0\0\0\0\0\5\x12\0\0\0");
	for (uint8_t type = 0; type < 40; type++) {
		etw_payload_u8(seed, type);
		etw_payload_u8(seed, (uint8_t)(type % 5 | 8));
		etw_payload_u16(seed, 0);
		etw_payload_u16(seed, 1);
	}
	etw_payload_u8(seed, 0xff);
	etw_payload_u8(seed, 0);
}

bool fuzz_schema_seed(unsigned index, struct etw_payload *seed, const char **name)
{
	static const struct {
		const char *name;
		void (*add)(struct etw_payload *seed);
	} seeds[] = {
		{ "every-type", add_every_type }, { "structures", add_structures },
		{ "manifest", add_manifest },     { "event-info", add_event_info },
		{ "fields", add_fields },
	};

	if (index >= COUNT(seeds)) {
		return false;
	}
	*name = seeds[index].name;
	seeds[index].add(seed);
	return true;
}
