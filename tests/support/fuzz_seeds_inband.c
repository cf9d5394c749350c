/* SPDX-License-Identifier: MIT */
#include "tests/support/fuzz_seeds.h"

#include "base/text.h"
#include "tests/support/event_info_blob.h"
#include "tests/support/inband_manifest.h"

/* The steps of the target, and which processes and providers there are. */
enum { ANNOUNCE, EVENT, WAIT, ANSWER, MAP, CHANGE };
enum { HONEST = 0, HOSTILE = 4, SILENT = 8, OTHER_PROVIDER = 1, VERSION_1 = 0x40, ENDS = 0x80 };

static const struct etw_guid provider = { { 0, 0xfe } };

static void add_step(struct etw_payload *seed, uint8_t what, uint8_t number)
{
	etw_payload_u8(seed, what);
	etw_payload_u8(seed, number);
}

static void event(struct etw_payload *seed, uint8_t number, uint8_t id)
{
	add_step(seed, EVENT, number);
	etw_payload_u8(seed, id);
}

static void announce(struct etw_payload *seed, uint8_t number, const char *inside)
{
	const struct inband_manifest manifest = { .provider = &provider,
						  .name = "Told",
						  .inside = inside };
	struct etw_text xml = { 0 };

	inband_manifest_xml(&xml, &manifest);
	add_step(seed, ANNOUNCE, number);
	etw_payload_u16(seed, (uint16_t)xml.size);
	etw_payload_bytes(seed, xml.data, xml.size);
	text_free(&xml);
}

static void add_manifest_ids(struct etw_payload *seed)
{
	event(seed, HONEST, 2);
	announce(seed, HONEST,
		 "<events><event value='2' symbol='S' template='t'/></events><templates>"
		 "<template tid='t'><data name='n' inType='win:UInt32'/></template></templates>");
	event(seed, HONEST, 2);
	announce(seed, HOSTILE, "<events><event value='2' symbol='X'/></events>");
	event(seed, HOSTILE, 2);
	add_step(seed, WAIT, 60);
	event(seed, HONEST, 2);
	for (uint8_t id = 10; id < 20; id++) {
		event(seed, HOSTILE | OTHER_PROVIDER, id);
	}
	event(seed, HONEST, 2);
}

static void add_answers(struct etw_payload *seed)
{
	static const struct blob_map_entry names[] = { { 1, "Up" }, { 2, "Down" } };
	static const struct event_map_blob map = {
		.provider = &provider, .name = "States", .entries = names, .entry_count = 2
	};
	static const struct blob_property property = { "State", 0, 8, 0, 1, 4 };
	static const char *const maps[] = { "States" };
	static const struct event_info_blob blob = { .provider = &provider,
						     .id = 5,
						     .provider_name = "Answered",
						     .task = "Work",
						     .properties = &property,
						     .property_count = 1,
						     .top_level_count = 1,
						     .maps = maps };
	struct etw_payload answer;

	add_step(seed, WAIT, 3); /* not asked yet */
	event(seed, HONEST, 5);
	etw_payload_init(&answer, 8);
	payload_event_info(&answer, &blob);
	add_step(seed, ANSWER, 0);
	etw_payload_u16(seed, (uint16_t)answer.size);
	etw_payload_bytes(seed, answer.bytes, answer.size);
	etw_payload_clear(&answer);
	payload_event_map(&answer, &map);
	add_step(seed, MAP, 0);
	etw_payload_u16(seed, (uint16_t)(answer.size - 16)); /* without the provider */
	etw_payload_bytes(seed, answer.bytes + 16, answer.size - 16);
	etw_payload_done(&answer);
	event(seed, HONEST, 5);
	add_step(seed, WAIT, 1);
	event(seed, HOSTILE, 5);
	event(seed, HONEST, 5);
}

/* Events 2 and 3 in both versions, of all processes. */
static void add_events(struct etw_payload *seed)
{
	for (uint8_t process = HONEST; process <= SILENT; process += HOSTILE) {
		for (uint8_t id = 2; id <= 3; id++) {
			event(seed, process, id);
			event(seed, process | VERSION_1, id);
		}
	}
}

/* Two versions of one EventSource, and a process id that is reused. */
static void add_versions(struct etw_payload *seed)
{
	static const char before[] = "<events><event value='2' symbol='S' template='t'/>"
				     "<event value='3' symbol='Only'/></events><templates>"
				     "<template tid='t'><data name='n' inType='win:UInt32'/>"
				     "</template></templates>";
	static const char later[] = "<events><event value='2' symbol='X'/>"
				    "<event value='2' version='1' symbol='V'/></events>";

	add_events(seed);
	announce(seed, HONEST, before);
	add_step(seed, WAIT, 1);
	announce(seed, HOSTILE, later);
	add_events(seed);
	add_step(seed, CHANGE, HONEST | ENDS);
	add_step(seed, WAIT, 1);
	add_step(seed, CHANGE, HONEST);
	add_events(seed);
	add_step(seed, WAIT, 1);
	announce(seed, HONEST, later);
	announce(seed, HOSTILE, before);
	add_events(seed);
}

bool fuzz_inband_seed(unsigned index, struct etw_payload *seed, const char **name)
{
	static const struct {
		const char *name;
		void (*add)(struct etw_payload *seed);
	} seeds[] = { { "tellers", add_manifest_ids },
		      { "answers", add_answers },
		      { "versions", add_versions } };

	if (index >= sizeof seeds / sizeof seeds[0]) {
		return false;
	}
	*name = seeds[index].name;
	seeds[index].add(seed);
	return true;
}
