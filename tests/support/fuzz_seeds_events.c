/* SPDX-License-Identifier: MIT */
#include "tests/support/fuzz_seeds.h"

#include <string.h>

#include "lib/decode/event_info.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/kernel_class.h"
#include "tests/support/event_info_blob.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* What the target reads: how to decode, flags of a record. */
enum how { FIRST_PASS, LIVE = 1, NAMES = 2, MEANWHILE = 4, CONFIGURED = 8, SYSTEM = 16 };
enum flags {
	CLASSIC = 1,
	POINTERS_OF_4 = 2,
	META_DATA = 4,
	OF_CLASS = 8,
	ONE_ITEM = 16,
	GROUPED = 64
};

/* Around the provider of a manifest. */
#define BEGIN "<instrumentationManifest><instrumentation><events>"
#define END   "</events></instrumentation></instrumentationManifest>"

static const struct etw_guid a = { { 0xaa } }, b = { { 0xbb } };

static void header(struct etw_payload *seed, unsigned flags, unsigned family, unsigned number,
		   uint16_t id)
{
	etw_payload_u8(seed, (uint8_t)flags);
	etw_payload_u8(seed, (uint8_t)family);
	etw_payload_u8(seed, (uint8_t)number);
	etw_payload_u16(seed, id);
}

/* Version, opcode, process. */
static void rest(struct etw_payload *seed, uint8_t version, uint8_t opcode, uint8_t process)
{
	etw_payload_u8(seed, version);
	etw_payload_u8(seed, opcode);
	etw_payload_u8(seed, process);
}

static void body(struct etw_payload *seed, const void *bytes, size_t size)
{
	etw_payload_u16(seed, (uint16_t)size);
	etw_payload_bytes(seed, bytes, size);
}

static void item(struct etw_payload *seed, enum etw_extended_type type, const void *bytes,
		 size_t size)
{
	etw_payload_u8(seed, (uint8_t)type);
	body(seed, bytes, size);
}

static void add_meta_data(struct etw_payload *seed, uint8_t opcode, const struct etw_payload *blob)
{
	header(seed, CLASSIC | META_DATA, ETW_RECORD_FULL, 0, 0);
	rest(seed, 0, opcode, 1);
	body(seed, blob->bytes, blob->size);
}

static void add_described(struct etw_payload *seed)
{
	static const struct blob_property properties[] = {
		{ "State", 0, 8, 8, 1, 4 }, { "Flags", 0, 8, 18, 1, 4 },
		{ "Count", 0, 6, 6, 1, 2 }, { "Values", BLOB_STRUCT | BLOB_COUNT_BY, 5, 2, 2, 0 },
		{ "Text", 0, 1, 1, 1, 0 },  { "b", 0, 4, 4, 1, 1 },
		{ "Name", 0, 2, 2, 1, 0 },
	};
	static const char *const maps[] = { "States", "Bits", NULL, NULL, NULL, NULL, NULL };
	static const struct blob_map_entry states[] = { { 1, "Idle" },
							{ 2, "Busy" },
							{ 2, "Full" } };
	static const struct blob_map_entry bits[] = { { 1, "Read" },
						      { 2, "Write" },
						      { 3, "Both" } };
	static const char event[] = "\2\0\0\0\7\0\0\0\2\0\1one\0\2two\0T\0x\0\0";
	struct event_info_blob info = { .provider = &a,
					.id = 7,
					.provider_name = "Described",
					.task = "Task",
					.opcode_name = "win:Start",
					.properties = properties,
					.property_count = COUNT(properties),
					.top_level_count = 5,
					.maps = maps };
	struct event_map_blob map = {
		.provider = &a, .name = "States", .entries = states, .entry_count = COUNT(states)
	};
	struct etw_payload blob;

	etw_payload_u8(seed, FIRST_PASS);
	etw_payload_init(&blob, 8);
	payload_event_map(&blob, &map);
	add_meta_data(seed, META_DATA_EVENT_MAP_INFO, &blob);
	etw_payload_clear(&blob);
	payload_event_info(&blob, &info);
	add_meta_data(seed, META_DATA_EVENT_INFO, &blob);
	map = (struct event_map_blob){ .provider = &a,
				       .name = "Bits",
				       .bits = true,
				       .entries = bits,
				       .entry_count = COUNT(bits) };
	etw_payload_clear(&blob);
	payload_event_map(&blob, &map);
	add_meta_data(seed, META_DATA_EVENT_MAP_INFO, &blob);
	add_meta_data(seed, META_DATA_EVENT_MAP_INFO, &blob); /* once more */
	etw_payload_clear(&blob);
	payload_event_info(&blob, &info);
	add_meta_data(seed, META_DATA_EVENT_INFO, &blob);
	/* Of a class: by opcode. */
	info.source = ETW_EVENT_INFO_MOF;
	info.event_class = &b;
	info.opcode = 5;
	etw_payload_clear(&blob);
	payload_event_info(&blob, &info);
	add_meta_data(seed, META_DATA_EVENT_INFO, &blob);
	etw_payload_done(&blob);
	header(seed, 0, ETW_RECORD_EVENT, 0, 7);
	rest(seed, 0, 1, 1);
	body(seed, event, sizeof event - 1);
	header(seed, CLASSIC, ETW_RECORD_FULL, 1, 0);
	rest(seed, 0, 5, 1);
	body(seed, event, sizeof event - 1);
	header(seed, 0, ETW_RECORD_EVENT, 0, 8);
	rest(seed, 0, 1, 1);
	body(seed, event, 4);
	header(seed, 0, ETW_RECORD_MESSAGE, 2, 8);
	rest(seed, 0, 1, 1);
	body(seed, event, 4);
}

static void add_chunk(struct etw_payload *seed, uint8_t process, uint16_t total, uint16_t number,
		      const char *xml, size_t size)
{
	header(seed, 0, ETW_RECORD_EVENT, 1, ETW_MANIFEST_EVENT_ID);
	rest(seed, 0, 0, process);
	etw_payload_u16(seed, (uint16_t)(8 + size));
	etw_payload_u8(seed, 1);
	etw_payload_u8(seed, 1);
	etw_payload_u8(seed, 0);
	etw_payload_u8(seed, 0x5b);
	etw_payload_u16(seed, total);
	etw_payload_u16(seed, number);
	etw_payload_bytes(seed, xml, size);
}

static void add_announced(struct etw_payload *seed, unsigned how)
{
	static const char xml[] =
		"<instrumentationManifest xmlns='urn:x'><instrumentation><events><provider name='Told' "
		"guid='{000000bb-0000-0000-0000-000000000000}'><tasks><task name='Work' value='1'/></tasks>"
		"<maps><valueMap name='M'><map value='1' message='$(string.one)'/></valueMap>"
		"<bitMap name='B'><map value='0x1' message='$(string.one)'/></bitMap></maps>"
		"<events><event value='1' version='0' task='Work' opcode='win:Start' template='t'/>"
		"<event value='2' symbol='Two'/></events><templates><template tid='t'>"
		"<data name='n' inType='win:UInt32' map='M'/><data name='s' inType='win:UnicodeString'/>"
		"<data name='bits' inType='win:UInt32' map='B'/>"
		"</template></templates></provider></events></instrumentation><localization><resources "
		"culture='en-US'><stringTable><string id='one' value='One'/></stringTable></resources>"
		"</localization></instrumentationManifest>";
	static const char other[] = BEGIN
		"<provider name='Told' guid='{000000bb-0000-0000-0000-000000000000}'>"
		"<events><event value='1' symbol='Other'/></events></provider>" END;
	static const char event[] = "\1\0\0\0x\0y\0\0\0\1\0\0\0";
	const size_t half = sizeof xml / 2;

	etw_payload_u8(seed, (uint8_t)how);
	for (uint8_t process = 1; process < 4; process++) {
		add_chunk(seed, process, 2, 0, xml, half);
		add_chunk(seed, process, 2, 1, xml + half, sizeof xml - 1 - half);
		header(seed, 0, ETW_RECORD_EVENT, 1, 1);
		rest(seed, 0, 1, process);
		body(seed, event, sizeof event - 1);
		header(seed, 0, ETW_RECORD_EVENT, 1, 2);
		rest(seed, 0, 0, process);
		body(seed, event, 0);
	}
	add_chunk(seed, 1, 1, 0, other, sizeof other - 1);
	header(seed, 0, ETW_RECORD_EVENT, 1, 1);
	rest(seed, 0, 1, 1);
	body(seed, event, sizeof event - 1);
	add_chunk(seed, 2, 3, 1, xml, half); /* out of order */
}

static void add_announced_first(struct etw_payload *seed)
{
	add_announced(seed, FIRST_PASS);
}

static void add_announced_meanwhile(struct etw_payload *seed)
{
	add_announced(seed, MEANWHILE);
}

static void add_announced_live(struct etw_payload *seed)
{
	add_announced(seed, LIVE | NAMES | MEANWHILE);
}

/* One process announces more than it may. */
static void add_announced_often(struct etw_payload *seed)
{
	char xml[] = BEGIN "<provider name='T' guid='{000000bb-0000-0000-0000-000000000000}'>"
			   "<events><event value='1' symbol='Aa'/></events></provider>" END;
	char *symbol = strstr(xml, "Aa");

	etw_payload_u8(seed, LIVE | MEANWHILE | SYSTEM);
	for (char i = 0; i < 20; i++) {
		*symbol = (char)('A' + i);
		add_chunk(seed, 1, 1, 0, xml, sizeof xml - 1);
		header(seed, 0, ETW_RECORD_EVENT, 1, 1);
		rest(seed, 0, 1, 1);
		body(seed, "abcd", 4);
	}
}

static void add_configured(struct etw_payload *seed)
{
	static const char xml[] =
		"12345678" BEGIN "<provider name='C' guid='{000000aa-0000-0000-0000-000000000000}'>"
		"<events><event value='1' version='1' symbol='One' template='t'/></events>"
		"<templates><template tid='t'><data name='n' inType='win:UInt8'/></template>"
		"</templates></provider>" END;

	etw_payload_u8(seed, CONFIGURED | SYSTEM | LIVE);
	header(seed, 0, ETW_RECORD_EVENT, 2, 9);
	rest(seed, 0, 0, 1);
	body(seed, xml, sizeof xml - 1);
	for (uint16_t id = 1; id < 4; id++) {
		for (unsigned provider = 0; provider < 3; provider++) {
			header(seed, 0, ETW_RECORD_EVENT, provider, id);
			rest(seed, 0, 0, 1);
			body(seed, "abcd", 4);
		}
	}
}

/* The kernel's, which say their group: two versions of an event, each met twice. */
static void add_grouped(struct etw_payload *seed)
{
	etw_payload_u8(seed, LIVE);
	for (unsigned i = 0; i < 6; i++) {
		header(seed, CLASSIC | OF_CLASS | GROUPED, ETW_RECORD_FULL, 3, 0);
		rest(seed, (uint8_t)(i / 2 % 2), 10, 1);
		body(seed, "abcdabcdabcdabcd", 16);
	}
}

/* TraceLogging: more event classes than the target's table takes, with the name of their provider.
 */
static void add_self_describing(struct etw_payload *seed)
{
	static const char traits[] = "\x0a\0Traits\0\0";
	char metadata[] = "\x1d\0\0Event0\0id\0\x07who\0\x01xs\0\x28\x02\0";

	etw_payload_u8(seed, MEANWHILE);
	for (char i = 0; i < 9; i++) {
		metadata[8] = (char)('0' + i);
		metadata[0] = (char)(sizeof metadata - 1);
		header(seed, ONE_ITEM * 2, ETW_RECORD_EVENT, 2, 0);
		rest(seed, 0, 0, 1);
		item(seed, ETW_EXTENDED_PROVIDER_TRAITS, traits, sizeof traits - 1);
		item(seed, ETW_EXTENDED_TRACELOGGING, metadata, sizeof metadata - 1);
		body(seed, "\5\0\0\0w\0\0\0\1\0\0\0\2\0\0\0", 16);
	}
}

/* Every in-type of TraceLogging with every out-type, as a value, and as arrays of both counts. */
static void add_types(struct etw_payload *seed)
{
	etw_payload_u8(seed, FIRST_PASS);
	for (unsigned type = 0; type < 26; type++) {
		char metadata[512];
		size_t size = 5;

		memcpy(metadata, "\0\0\0T", 5);
		for (unsigned out = 0; out < 16; out++) {
			static const char counts[] = { 0, 0x40, 0x20 };
			unsigned count = out % 3;

			metadata[size++] = (char)('a' + out);
			metadata[size++] = '\0';
			metadata[size++] = (char)(type | 0x80 | (unsigned)counts[count]);
			metadata[size++] = (char)(out * 3);
			if (count == 2) {
				metadata[size++] = 1;
				metadata[size++] = 0;
			}
		}
		metadata[0] = (char)size;
		header(seed, ONE_ITEM, ETW_RECORD_EVENT, 2, (uint16_t)type);
		rest(seed, 0, 0, 1);
		item(seed, ETW_EXTENDED_TRACELOGGING, metadata, size);
		etw_payload_u16(seed, 96);
		for (unsigned i = 0; i < 48; i++) {
			etw_payload_u16(seed, (uint16_t)(i % 5 == 4 ? 0 : 1));
		}
	}
}

bool fuzz_events_seed(unsigned index, struct etw_payload *seed, const char **name)
{
	static const struct {
		const char *name;
		void (*add)(struct etw_payload *seed);
	} seeds[] = {
		{ "described", add_described },
		{ "told-ahead", add_announced_first },
		{ "told-meanwhile", add_announced_meanwhile },
		{ "told-live", add_announced_live },
		{ "told-often", add_announced_often },
		{ "configured", add_configured },
		{ "self-describing", add_self_describing },
		{ "types", add_types },
		{ "grouped", add_grouped },
	};

	if (index >= COUNT(seeds)) {
		return false;
	}
	*name = seeds[index].name;
	seeds[index].add(seed);
	return true;
}

static unsigned class_number(const struct etw_guid *provider, unsigned *flags)
{
	struct etw_guid guid;

	for (unsigned i = 0; i < 256 && etw_kernel_class_at(i, &guid); i++) {
		if (etw_guid_equal(&guid, provider)) {
			*flags |= OF_CLASS;
			return i;
		}
	}
	return provider->bytes[0] & 3;
}

void fuzz_events_add(struct etw_payload *seed, const struct etw_record *record)
{
	unsigned flags = (record->classic ? CLASSIC : 0) |
			 (record->pointer_size == 4 ? POINTERS_OF_4 : 0) |
			 (etw_record_is_meta_data(record) ? META_DATA : 0);
	unsigned number = class_number(record->provider, &flags);
	struct etw_extended_item found;
	uint32_t offset = 0, count = 0;

	while (count < 3 && etw_record_next_extended(record, &offset, &found)) {
		count++;
	}
	header(seed, flags | count * ONE_ITEM, record->type, number, record->id);
	rest(seed, record->version, record->opcode, (uint8_t)record->process_id);
	offset = 0;
	for (uint32_t i = 0; i < count && etw_record_next_extended(record, &offset, &found); i++) {
		item(seed, (enum etw_extended_type)found.type, found.data, found.size);
	}
	body(seed, record->payload, record->payload_size);
}
