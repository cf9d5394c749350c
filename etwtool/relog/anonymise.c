/* SPDX-License-Identifier: MIT */
/*
 * Removes names from records.
 *
 * The type of a field decides what counts as a name. Every text does, because no list of fields
 * could be complete; so do SIDs, network addresses, and GUIDs, which often identify a machine or a
 * device. Binary data is cleared, and so are lists of small integers, because they may be text
 * without the type of one. Other numbers stay, except in the few fields of number_rows, which hold
 * addresses and identifiers although their type is a number. text_rows does not change these rules:
 * it chooses the heading under which the report counts a text.
 *
 * A payload without a schema is dropped, because its bytes may be names. So is the payload of an
 * event whose version neither the table of kernel classes nor a manifest has, unless the nearest
 * layout explains it to the last byte: an inserted field would shift texts to where that layout has
 * numbers. Bytes after the last field are cleared.
 *
 * Records that describe events (EventInfo, maps, manifests) stay, because the recording could not
 * be decoded without them. The manifests of an EventSource name the files that they were made from;
 * those names are overwritten.
 *
 * Extended items keep their size, so they are changed in place. Changed are the SID of an account,
 * the GUID of a container, every byte whose meaning is unknown, and bytes between items.
 * Activities join events with each other and stay, except GUIDs that contain the address of a
 * network adapter (RFC 4122 version 1).
 */
#include "etwtool/relog/anonymise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/manifest.h>
#include <etw/mirror.h>
#include <etw/schema.h>

#include "base/cursor.h"
#include "base/glob.h"
#include "base/guid.h"
#include "base/map.h"
#include "base/text.h"
#include "base/utf8.h"

/* ---- which fields are names ---- */

/* The heading of a text by the name of its field, ignoring case; the first matching row wins. */
static const struct {
	const char *pattern;
	enum anonymised heading;
} text_rows[] = {
	{ "*CommandLine*", ANONYMISED_COMMAND_LINE },
	{ "*Arguments*", ANONYMISED_COMMAND_LINE },
	{ "ImageFileName", ANONYMISED_PROGRAM },
	{ "*Process*", ANONYMISED_PROGRAM },
	{ "*Service*", ANONYMISED_PROGRAM },
	{ "*Application*", ANONYMISED_PROGRAM },
	{ "*AppDomain*", ANONYMISED_PROGRAM },
	{ "PackageFullName", ANONYMISED_PROGRAM },
	{ "*User*", ANONYMISED_USER },
	{ "*Account*", ANONYMISED_USER },
	{ "*Owner*", ANONYMISED_USER },
	{ "*Address*", ANONYMISED_ADDRESS },
	{ "*Addr", ANONYMISED_ADDRESS },
	{ "*Url*", ANONYMISED_ADDRESS },
	{ "*Uri*", ANONYMISED_ADDRESS },
	{ "*QueryName*", ANONYMISED_ADDRESS },
	{ "*QueryResults*", ANONYMISED_ADDRESS },
	{ "*File*", ANONYMISED_FILE },
	{ "*Path*", ANONYMISED_FILE },
	{ "*Directory*", ANONYMISED_FILE },
	{ "*Folder*", ANONYMISED_FILE },
	{ "*Image*", ANONYMISED_FILE },
	{ "*Module*", ANONYMISED_FILE },
	{ "*Computer*", ANONYMISED_MACHINE },
	{ "*Machine*", ANONYMISED_MACHINE },
	{ "*Host*", ANONYMISED_MACHINE },
	{ "*Domain*", ANONYMISED_MACHINE },
	{ "*Server*", ANONYMISED_MACHINE },
};

enum number_form { NUMBER_IP4, NUMBER_BYTES };

/*
 * Fields with the type of a number that identify a machine or a device. Some fields of other
 * providers have the same names and hold memory addresses; replacing those does no harm.
 */
static const struct {
	const char *pattern;
	uint32_t size; /* size of the field in bytes */
	enum number_form form;
} number_rows[] = {
	/* These are fields of SystemConfig_NIC. Its SubnetMask identifies nothing. */
	{ "IpAddress", 4, NUMBER_IP4 },
	{ "DhcpServer", 4, NUMBER_IP4 },
	{ "Gateway", 4, NUMBER_IP4 },
	{ "*WinsServer", 4, NUMBER_IP4 },
	{ "DnsServer?", 4, NUMBER_IP4 },
	{ "PhysicalAddr", 8, NUMBER_BYTES },
	/* These are fields of other events whose type does not show that they are addresses. */
	{ "*Ip4Addr*", 4, NUMBER_IP4 },
	{ "*Ipv4Addr*", 4, NUMBER_IP4 },
	{ "?addr", 4, NUMBER_IP4 },
	{ "Local*Addr", 4, NUMBER_IP4 },
	{ "Local*Address", 4, NUMBER_IP4 },
	{ "Remote*Addr", 4, NUMBER_IP4 },
	{ "Remote*Address", 4, NUMBER_IP4 },
	{ "Source*Addr", 4, NUMBER_IP4 },
	{ "Source*Address", 4, NUMBER_IP4 },
	{ "Dest*Addr", 4, NUMBER_IP4 },
	{ "Dest*Address", 4, NUMBER_IP4 },
	{ "Client*Address", 4, NUMBER_IP4 },
	{ "Server*Address", 4, NUMBER_IP4 },
	{ "*MacAddr*", 8, NUMBER_BYTES },
	{ "*SerialNumber*", 4, NUMBER_BYTES },
	{ "*SerialNumber*", 8, NUMBER_BYTES },
	{ "*DiskSignature*", 4, NUMBER_BYTES },
};

static enum anonymised text_heading(const struct etw_field *field)
{
	for (size_t i = 0; i < sizeof text_rows / sizeof text_rows[0]; i++) {
		if (glob_matches_nocase(text_rows[i].pattern, field->name)) {
			return text_rows[i].heading;
		}
	}
	return ANONYMISED_TEXT;
}

/* ---- values ---- */

struct anonymiser {
	struct anonymise_options options;
	struct pseudonyms *pseudonyms;
	struct anonymise_counts counts;
	struct etw_payload payload;
	struct etw_text old_text;
	struct etw_field_slice slices[ETW_SCHEMA_FIELDS_MOST];
	/* hash of provider and process -> state of the search for file names in a manifest */
	struct map manifests;
	uint8_t record[ETW_RECORD_SIZE_MOST];
};

static void count_value(struct anonymiser *anonymiser, enum anonymised heading)
{
	anonymiser->counts.values[heading]++;
}

/* Cuts text to at most `room` code units, between two characters. */
static void cut_to_room(const struct etw_field *field, size_t room, struct etw_text *text)
{
	size_t at = 0, units = 0;

	if (room == SIZE_MAX) {
		return;
	}
	while (at < text->size) {
		uint32_t codepoint;
		size_t taken = utf8_decode(text->data + at, text->size - at, &codepoint);
		size_t needed = etw_field_unit_size(field) == 1 ? taken :
				codepoint >= 0x10000            ? 2 :
								  1;

		if (needed > room - units) {
			break;
		}
		units += needed;
		at += taken;
	}
	if (at < text->size) {
		text->size = at;
		text->data[at] = '\0';
	}
}

static enum etw_encode_answer replace_text(struct anonymiser *anonymiser,
					   const struct etw_field *field,
					   const struct etw_field_slice *element,
					   struct etw_text *new_value)
{
	struct etw_field one = *field;
	bool changed;

	if (element->cut) {
		for (uint32_t i = 0; i < element->size; i++) {
			text_add_char(new_value,
				      etw_field_unit_size(field) == 2 && i % 2 == 1 ? '\0' : 'x');
		}
		count_value(anonymiser, text_heading(field));
		return ETW_ENCODE_BYTES;
	}
	if (!etw_field_is_text_of_chars(field)) {
		one.count_type = ETW_FIELD_SCALAR;
	}
	text_clear(&anonymiser->old_text);
	etw_field_text(&one, element, &anonymiser->old_text);
	changed = pseudonyms_text(anonymiser->pseudonyms,
				  anonymiser->old_text.data ? anonymiser->old_text.data : "",
				  anonymiser->old_text.size, new_value);
	new_value->failed |= anonymiser->old_text.failed;
	cut_to_room(field, etw_encode_room(field, element), new_value);
	if (changed) {
		count_value(anonymiser, text_heading(field));
	}
	/*
	 * The text is written even if it did not change, because a field of fixed length may have
	 * other text after the NUL.
	 */
	return ETW_ENCODE_TEXT;
}

/*
 * Clears the two names in a TIME_ZONE_INFORMATION ("TIME_ZONE_INFORMATION structure", Microsoft
 * Learn), because they reveal the location of the machine. The structure has 172 bytes, and 4 of
 * padding in EventTrace/Header. Other sizes are another structure, such as
 * DYNAMIC_TIME_ZONE_INFORMATION, and are cleared as a whole.
 */
static void clear_time_zone_names(uint8_t *bytes, size_t size)
{
	enum { STANDARD_NAME = 4, DAYLIGHT_NAME = 88, NAME_SIZE = 64, SIZE_MOST = 176 };

	if (size >= DAYLIGHT_NAME + NAME_SIZE && size <= SIZE_MOST) {
		memset(bytes + STANDARD_NAME, 0, NAME_SIZE);
		memset(bytes + DAYLIGHT_NAME, 0, NAME_SIZE);
	} else {
		memset(bytes, 0, size);
	}
}

static void replace_binary(struct anonymiser *anonymiser, const struct etw_field *field,
			   uint8_t *bytes, size_t size)
{
	enum { SOCKADDR_IN_USED = 8, SOCKADDR_IN6_SIZE = 28 };
	struct etw_socket_address address;

	if (field->form == ETW_FIELD_FORM_SOCKADDR &&
	    etw_socket_address_read(bytes, size, &address)) {
		uint8_t *ip = bytes + (address.ip - bytes);

		if (address.is_ip6 ? pseudonyms_ip6(anonymiser->pseudonyms, ip) :
				     pseudonyms_ip4(anonymiser->pseudonyms, ip)) {
			count_value(anonymiser, ANONYMISED_ADDRESS);
		}
		/* Bytes after the address may be remains of the sender's memory. */
		if (size > (address.is_ip6 ? SOCKADDR_IN6_SIZE : SOCKADDR_IN_USED)) {
			size_t used = address.is_ip6 ? SOCKADDR_IN6_SIZE : SOCKADDR_IN_USED;

			memset(bytes + used, 0, size - used);
		}
		return;
	}
	if (field->form == ETW_FIELD_FORM_IP6 && size == 16) {
		if (pseudonyms_ip6(anonymiser->pseudonyms, bytes)) {
			count_value(anonymiser, ANONYMISED_ADDRESS);
		}
		return;
	}
	if (strcmp(field->name, "TimeZoneInformation") == 0) {
		clear_time_zone_names(bytes, size);
	} else {
		memset(bytes, 0, size);
	}
	count_value(anonymiser, ANONYMISED_BYTES);
}

/* Clears an address that was cut off, because a part of it has no pseudonym. */
static void clear_cut(struct anonymiser *anonymiser, enum anonymised heading, uint8_t *bytes,
		      size_t size)
{
	memset(bytes, 0, size);
	count_value(anonymiser, heading);
}

static void replace_number(struct anonymiser *anonymiser, const struct etw_field *field,
			   uint8_t *bytes, size_t size, bool cut)
{
	for (size_t i = 0; i < sizeof number_rows / sizeof number_rows[0]; i++) {
		bool address = number_rows[i].form == NUMBER_IP4;

		if ((cut ? number_rows[i].size <= size : number_rows[i].size != size) ||
		    !glob_matches_nocase(number_rows[i].pattern, field->name)) {
			continue;
		}
		if (cut) {
			clear_cut(anonymiser, address ? ANONYMISED_ADDRESS : ANONYMISED_BYTES,
				  bytes, size);
		} else if (address) {
			if (pseudonyms_ip4(anonymiser->pseudonyms, bytes)) {
				count_value(anonymiser, ANONYMISED_ADDRESS);
			}
		} else if (pseudonyms_bytes(anonymiser->pseudonyms, bytes, size)) {
			count_value(anonymiser, ANONYMISED_BYTES);
		}
		return;
	}
}

/* In RFC 4122 version 1 the last six bytes are the address of a network adapter. */
static bool has_hardware_address(const uint8_t *guid)
{
	return guid[7] >> 4 == 1 && guid[8] >> 6 == 2;
}

/* Replaces a GUID that relates events, if it contains an adapter's address. */
static void replace_activity(struct anonymiser *anonymiser, uint8_t *guid)
{
	if (has_hardware_address(guid) &&
	    pseudonyms_bytes(anonymiser->pseudonyms, guid, sizeof(struct etw_guid))) {
		count_value(anonymiser, ANONYMISED_BYTES);
	}
}

static void replace_guid(struct anonymiser *anonymiser, const struct etw_field *field,
			 uint8_t *bytes)
{
	struct etw_guid guid;

	memcpy(&guid, bytes, sizeof guid);
	if (glob_matches_nocase("*Activity*", field->name)) {
		replace_activity(anonymiser, bytes);
	} else if (!glob_matches_nocase("*Provider*", field->name) &&
		   !etw_kernel_class_name(&guid) &&
		   pseudonyms_bytes(anonymiser->pseudonyms, bytes, sizeof guid)) {
		count_value(anonymiser, ANONYMISED_BYTES);
	}
}

/* Returns whether the field is a list of integers that may be the bytes or code units of a text. */
static bool may_be_text(const struct etw_field *field)
{
	return field->count_type != ETW_FIELD_SCALAR &&
	       (field->type == ETW_FIELD_I8 || field->type == ETW_FIELD_U8 ||
		field->type == ETW_FIELD_I16 || field->type == ETW_FIELD_U16);
}

/*
 * In old versions of SystemConfig/NIC the adapter's address has the type of a text of 8 code units.
 */
static bool is_hardware_address(const struct etw_field *field)
{
	return field->type == ETW_FIELD_WSTRING && field->length_type == ETW_FIELD_LENGTH_FIXED &&
	       field->length == 8 && strcmp(field->name, "PhysicalAddr") == 0;
}

/* An etw_encode_visitor, called for each value of a payload. */
static enum etw_encode_answer replace_value(void *context, const struct etw_field *field,
					    const struct etw_field_slice *element,
					    struct etw_text *new_value)
{
	struct anonymiser *anonymiser = context;
	uint8_t *bytes;

	if (etw_field_is_text(field) && !is_hardware_address(field)) {
		return replace_text(anonymiser, field, element, new_value);
	}
	text_add(new_value, (const char *)element->at, element->size);
	if (element->size == 0 || new_value->failed) {
		return ETW_ENCODE_KEEP;
	}
	bytes = (uint8_t *)new_value->data;
	if (may_be_text(field)) {
		memset(bytes, 0, element->size);
		count_value(anonymiser, ANONYMISED_BYTES);
		return ETW_ENCODE_BYTES;
	}
	switch (field->type) {
	case ETW_FIELD_GUID:
		if (element->size == sizeof(struct etw_guid)) {
			replace_guid(anonymiser, field, bytes);
		} else {
			memset(bytes, 0, element->size);
		}
		break;
	case ETW_FIELD_WSTRING: /* see is_hardware_address() */
		if (pseudonyms_bytes(anonymiser->pseudonyms, bytes, element->size)) {
			count_value(anonymiser, ANONYMISED_BYTES);
		}
		break;
	case ETW_FIELD_IP4:
		if (element->size != 4) {
			clear_cut(anonymiser, ANONYMISED_ADDRESS, bytes, element->size);
		} else if (pseudonyms_ip4(anonymiser->pseudonyms, bytes)) {
			count_value(anonymiser, ANONYMISED_ADDRESS);
		}
		break;
	case ETW_FIELD_IP6:
		if (element->size != 16) {
			clear_cut(anonymiser, ANONYMISED_ADDRESS, bytes, element->size);
		} else if (pseudonyms_ip6(anonymiser->pseudonyms, bytes)) {
			count_value(anonymiser, ANONYMISED_ADDRESS);
		}
		break;
	case ETW_FIELD_SID:
	case ETW_FIELD_KERNEL_SID:
		if (element->cut) {
			/* an SID that was cut off must not become a valid one */
			memset(bytes, 0xff, element->size);
			count_value(anonymiser, ANONYMISED_ACCOUNT);
		} else if (pseudonyms_sid(anonymiser->pseudonyms, bytes, element->size)) {
			count_value(anonymiser, ANONYMISED_ACCOUNT);
		}
		break;
	case ETW_FIELD_BINARY:
	case ETW_FIELD_BINARY16:
	case ETW_FIELD_BINARY32:
		replace_binary(anonymiser, field, bytes, element->size);
		break;
	default:
		replace_number(anonymiser, field, bytes, element->size, element->cut);
		break;
	}
	return ETW_ENCODE_BYTES;
}

/* ---- manifests ---- */

/*
 * Attributes of the instrumentation manifest whose values are paths or links of its author. The
 * first character of each string occurs in it only once, so a failed match can restart at the
 * current character.
 */
static const char *const crossed_out[] = { "FileName=\"", "helpLink=\"" };

enum { CROSSED_OUT_COUNT = sizeof crossed_out / sizeof crossed_out[0] };

/* The state of the search for a value, between two chunks of a manifest. */
struct crossing {
	bool in_value;
	uint8_t matched[CROSSED_OUT_COUNT]; /* number of matched characters of each attribute */
};

static struct crossing crossing_load(uint64_t bits)
{
	struct crossing crossing = { .in_value = (bits & 1) != 0 };

	for (size_t i = 0; i < CROSSED_OUT_COUNT; i++) {
		crossing.matched[i] = (uint8_t)(bits >> 8 * (i + 1));
	}
	return crossing;
}

static uint64_t crossing_store(const struct crossing *crossing)
{
	uint64_t bits = crossing->in_value;

	for (size_t i = 0; i < CROSSED_OUT_COUNT; i++) {
		bits |= (uint64_t)crossing->matched[i] << 8 * (i + 1);
	}
	return bits;
}

/* Takes the next character and returns whether a value begins after it. */
static bool value_begins(struct crossing *crossing, char c)
{
	bool begins = false;

	for (size_t i = 0; i < CROSSED_OUT_COUNT; i++) {
		uint8_t *matched = &crossing->matched[i];

		*matched = c == crossed_out[i][*matched] ? *matched + 1 : c == crossed_out[i][0];
		if (crossed_out[i][*matched] == '\0') {
			*matched = 0;
			begins = true;
		}
	}
	return begins;
}

static bool is_of_a_word(char c)
{
	return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') ||
	       (unsigned char)c >= 0x80;
}

/*
 * Overwrites, in place, the file names and links in a chunk of a manifest, so that the chunk keeps
 * its size. Call it in file order: chunks of several manifests may alternate, and a chunk may end
 * anywhere. xml: a writable copy of the chunk's text. Returns how many values have ended in this
 * chunk.
 */
static unsigned cross_out_files(struct anonymiser *anonymiser, const struct etw_record *record,
				const struct etw_manifest_chunk *chunk, char *xml)
{
	enum { MANIFESTS_MOST = 1 << 16 };
	uint64_t key = guid_hash(record->provider, hash_seed()) ^ hash_u64(record->process_id);
	uint64_t *state = anonymiser->manifests.count < MANIFESTS_MOST ?
				  map_put(&anonymiser->manifests, key, NULL) :
				  map_find(&anonymiser->manifests, key);
	unsigned ended = 0;
	struct crossing crossing = crossing_load(state && chunk->number > 0 ? *state : 0);

	for (size_t i = 0; i < chunk->xml_size; i++) {
		if (!crossing.in_value) {
			crossing.in_value = value_begins(&crossing, xml[i]);
		} else if (xml[i] == '"') {
			crossing.in_value = false;
			ended++;
		} else if (is_of_a_word(xml[i])) {
			xml[i] = 'x';
		}
	}
	if (state) {
		*state = crossing_store(&crossing);
	}
	return ended;
}

/* ---- records ---- */

/* Returns whether the schema describes every byte of the payload, as far as that can be known. */
static bool is_explained(struct anonymiser *anonymiser, const struct etw_record *record,
			 const struct etw_schema *schema, bool older)
{
	uint32_t rest = record->payload_size;
	unsigned whole = 0, count = schema ? schema->field_count : 0;
	uint8_t version;

	if (!schema) {
		return record->payload_size == 0;
	}
	if (schema->origin != ETW_SCHEMA_KERNEL && !older) {
		return true;
	}
	for (unsigned i = 0; etw_kernel_schema_at(record->provider, record->opcode, i, &version);
	     i++) {
		if (version == record->version) {
			return true;
		}
	}
	if (count > 0) {
		whole = etw_fields_walk(schema, count - 1, record, anonymiser->slices, &rest);
	}
	return rest == 0 && whole == count;
}

/*
 * Items with numbers or memory addresses, and items that describe events (docs/etl-format.md
 * section 9).
 */
static const uint32_t ITEMS_THAT_STAY =
	1U << ETW_EXTENDED_RELATED_ACTIVITY | 1U << ETW_EXTENDED_SESSION_ID |
	1U << ETW_EXTENDED_STACK32 | 1U << ETW_EXTENDED_STACK64 | 1U << ETW_EXTENDED_EVENT_KEY |
	1U << ETW_EXTENDED_TRACELOGGING | 1U << ETW_EXTENDED_PROVIDER_TRAITS |
	1U << ETW_EXTENDED_PROCESS_START_KEY | 1U << 4 | 1U << 7 | 1U << 8 | 1U << 9 | 1U << 14 |
	1U << 15 | 1U << 17 | 1U << 18;

/* The bytes of items with numbers (docs/etl-format.md section 9; stack keys:
 * "EVENT_HEADER_EXTENDED_DATA_ITEM structure", Microsoft Learn). 0: the size varies. */
static const uint8_t item_sizes[32] = {
	[ETW_EXTENDED_RELATED_ACTIVITY] = 16,
	[ETW_EXTENDED_SESSION_ID] = 4,
	[4] = 24,
	[7] = 8,
	[9] = 8,
	[ETW_EXTENDED_EVENT_KEY] = 8,
	[ETW_EXTENDED_PROCESS_START_KEY] = 8,
	[14] = 16,
	[15] = 8,
	[17] = 16,
	[18] = 16,
};

static void clear_from(struct anonymiser *anonymiser, uint8_t *copy, size_t used, size_t size)
{
	if (used < size) {
		memset(copy + used, 0, size - used);
		count_value(anonymiser, ANONYMISED_BYTES);
	}
}

/* Clears what follows the name of the provider and is not its group, the only trait whose meaning
 * is known (docs/etl-format.md section 10.3). */
static void clear_traits(struct anonymiser *anonymiser, uint8_t *copy, size_t size)
{
	enum { GROUP = 1, TRAIT_HEADER = 3, GROUP_SIZE = TRAIT_HEADER + 16 };
	size_t end = size >= 2 ? etw_load_u16(copy) : 0;
	const uint8_t *nul = end >= 2 && end <= size ? memchr(copy + 2, 0, end - 2) : NULL;
	size_t at = nul ? (size_t)(nul - copy) + 1 : 2;

	while (nul && end - at >= TRAIT_HEADER) {
		size_t trait = etw_load_u16(copy + at);

		if (trait < TRAIT_HEADER || trait > end - at) {
			break;
		}
		if (copy[at + 2] != GROUP || trait != GROUP_SIZE) {
			clear_from(anonymiser, copy, at + TRAIT_HEADER, at + trait);
		}
		at += trait;
	}
	clear_from(anonymiser, copy, nul ? at : 0, size);
}

/*
 * Replaces the SID, and clears bytes after it. An item without a valid SID is cleared as a whole.
 */
static void replace_account(struct anonymiser *anonymiser, uint8_t *copy, size_t size)
{
	size_t used = etw_sid_size(copy, size);

	if (pseudonyms_sid(anonymiser->pseudonyms, copy, size)) {
		count_value(anonymiser, ANONYMISED_ACCOUNT);
	}
	if (used < size) {
		memset(copy + used, 0, size - used);
		count_value(anonymiser, ANONYMISED_BYTES);
	}
}

/* Replaces a container's GUID, which is written as text or in hexadecimal. */
static void replace_container(struct anonymiser *anonymiser, const struct etw_extended_item *item,
			      uint8_t *copy)
{
	if (!pseudonyms_bytes(anonymiser->pseudonyms, copy, item->size)) {
		return;
	}
	for (size_t i = 0; i < item->size; i++) {
		copy[i] = item->data[i] == '-' ? '-' : (uint8_t) "0123456789abcdef"[copy[i] % 16];
	}
	count_value(anonymiser, ANONYMISED_BYTES);
}

static void replace_items(struct anonymiser *anonymiser, const struct etw_record *record,
			  const uint8_t *bytes)
{
	struct etw_extended_item item;
	uint32_t offset = 0;

	if (!record->extended) {
		return;
	}
	while (etw_record_next_extended(record, &offset, &item)) {
		uint8_t *copy = anonymiser->record + (item.data - bytes);
		size_t room = (size_t)(record->extended + offset - item.data);

		if (room > item.size) {
			memset(copy + item.size, 0, room - item.size);
		}
		if (item.type < 32 && item_sizes[item.type] > 0) {
			clear_from(anonymiser, copy, item_sizes[item.type], item.size);
		}
		if (item.type == ETW_EXTENDED_RELATED_ACTIVITY &&
		    item.size >= sizeof(struct etw_guid)) {
			replace_activity(anonymiser, copy);
		} else if (item.type == ETW_EXTENDED_PROVIDER_TRAITS) {
			clear_traits(anonymiser, copy, item.size);
		} else if (item.type == ETW_EXTENDED_SID) {
			replace_account(anonymiser, copy, item.size);
		} else if (item.type == ETW_EXTENDED_CONTAINER_ID) {
			replace_container(anonymiser, &item, copy);
		} else if (item.type > 31 || (ITEMS_THAT_STAY >> item.type & 1) == 0) {
			memset(copy, 0, item.size);
			count_value(anonymiser, ANONYMISED_BYTES);
		}
	}
}

static bool describes_events(const struct etw_record *record)
{
	struct etw_event_info info;
	struct etw_event_map map;

	return etw_event_info_read(record, &info) || etw_event_map_read(record, &map);
}

/* What anonymising does with a payload. */
enum treatment {
	PAYLOAD_STAYS,
	PAYLOAD_DECODED, /* replace its values one by one */
	PAYLOAD_DROPPED,
};

static enum treatment treatment_of(struct anonymiser *anonymiser, const struct etw_record *record,
				   const struct etw_schema *schema, bool older)
{
	struct etw_manifest_chunk chunk;

	if (etw_manifest_chunk_read(record, &chunk) || describes_events(record)) {
		return PAYLOAD_STAYS;
	}
	if (is_explained(anonymiser, record, schema, older)) {
		return schema ? PAYLOAD_DECODED : PAYLOAD_STAYS;
	}
	if (anonymiser->options.keep_undescribed) {
		anonymiser->counts.kept++;
		return PAYLOAD_STAYS;
	}
	return PAYLOAD_DROPPED;
}

/*
 * Some header types have a fixed size, so a record of these gets zeros as payload; others get none.
 */
static void drop_payload(struct anonymiser *anonymiser, const struct etw_record *record)
{
	etw_payload_clear(&anonymiser->payload);
	if (record->type > ETW_RECORD_MESSAGE) {
		etw_payload_zeros(&anonymiser->payload, record->payload_size);
	}
	anonymiser->counts.dropped++;
}

/* Makes the new payload. Returns false without memory. */
static bool make_payload(struct anonymiser *anonymiser, const struct etw_record *record,
			 const struct etw_schema *schema, bool older, struct etw_error *err)
{
	struct etw_payload *payload = &anonymiser->payload;
	struct etw_error failure = { 0 };

	etw_payload_clear(payload);
	payload->pointer_size = record->pointer_size;
	switch (treatment_of(anonymiser, record, schema, older)) {
	case PAYLOAD_STAYS:
		etw_payload_bytes(payload, record->payload, record->payload_size);
		break;
	case PAYLOAD_DECODED:
		if (!etw_encode_changed(schema, record, NULL, 0, replace_value, anonymiser, payload,
					&failure)) {
			if (failure.code == ETW_ERROR_NO_MEMORY) {
				return error_set(err, failure.code, "%s", failure.text);
			}
			drop_payload(anonymiser, record); /* the new values do not fit */
		}
		break;
	case PAYLOAD_DROPPED:
		drop_payload(anonymiser, record);
		break;
	}
	return !payload->failed || error_no_memory(err, "a payload");
}

enum anonymise_answer anonymise_record(struct anonymiser *anonymiser,
				       const struct etw_record *record,
				       const struct etw_schema *schema, bool older,
				       const uint8_t **bytes, size_t *size, struct etw_error *err)
{
	struct etw_payload *payload = &anonymiser->payload;
	struct etw_manifest_chunk chunk;
	struct etw_error none = { 0 };
	size_t new_size;

	err = err ? err : &none;
	if (*size > ETW_RECORD_SIZE_MOST || !etw_payload_is_whole(record, *bytes, *size)) {
		anonymiser->counts.damaged++;
		return ANONYMISE_DROPPED;
	}
	if (!make_payload(anonymiser, record, schema, older, err)) {
		return ANONYMISE_FAILED;
	}
	new_size = etw_replace_payload(record, *bytes, *size, payload->bytes, payload->size,
				       anonymiser->record);
	if (new_size == 0) { /* the new record would be too long */
		drop_payload(anonymiser, record);
		new_size = etw_replace_payload(record, *bytes, *size, payload->bytes, payload->size,
					       anonymiser->record);
	}
	if (etw_manifest_chunk_read(record, &chunk)) {
		anonymiser->counts.values[ANONYMISED_FILE] +=
			cross_out_files(anonymiser, record, &chunk,
					(char *)anonymiser->record + (chunk.xml - *bytes));
	}
	replace_items(anonymiser, record, *bytes);
	if (record->activity) {
		replace_activity(anonymiser,
				 anonymiser->record + ((const uint8_t *)record->activity - *bytes));
	}
	if (new_size == *size && memcmp(anonymiser->record, *bytes, *size) == 0) {
		return ANONYMISE_SAME;
	}
	anonymiser->counts.records++;
	*bytes = anonymiser->record;
	*size = new_size;
	return ANONYMISE_REPLACED;
}

/* ---- the anonymiser ---- */

struct anonymiser *anonymiser_new(const struct anonymise_options *options, struct etw_error *err)
{
	struct anonymiser *anonymiser = calloc(1, sizeof *anonymiser);

	if (!anonymiser) {
		error_no_memory(err, "anonymising");
		return NULL;
	}
	anonymiser->options = *options;
	etw_payload_init(&anonymiser->payload, 8);
	anonymiser->pseudonyms = pseudonyms_new(options->key, options->key_size, err);
	if (!anonymiser->pseudonyms) {
		anonymiser_free(anonymiser);
		return NULL;
	}
	return anonymiser;
}

void anonymiser_free(struct anonymiser *anonymiser)
{
	if (anonymiser) {
		pseudonyms_free(anonymiser->pseudonyms);
		etw_payload_done(&anonymiser->payload);
		map_done(&anonymiser->manifests);
		text_free(&anonymiser->old_text);
		free(anonymiser);
	}
}

void anonymiser_counts(const struct anonymiser *anonymiser, struct anonymise_counts *counts)
{
	*counts = anonymiser->counts;
}

void anonymise_report(const struct anonymise_counts *counts, struct etw_text *out)
{
	static const char *const headings[ANONYMISED_COUNT] = {
		[ANONYMISED_MACHINE] = "names of machines",
		[ANONYMISED_USER] = "names of users",
		[ANONYMISED_PROGRAM] = "names of programs and services",
		[ANONYMISED_FILE] = "names of files",
		[ANONYMISED_COMMAND_LINE] = "command lines",
		[ANONYMISED_ADDRESS] = "network addresses and URLs",
		[ANONYMISED_ACCOUNT] = "SIDs",
		[ANONYMISED_TEXT] = "other texts",
		[ANONYMISED_BYTES] = "identifiers and binary values",
	};

	text_add_format(out, "%" PRIu64 " records changed; replaced:\n", counts->records);
	for (size_t i = 0; i < ANONYMISED_COUNT; i++) {
		text_add_format(out, "  %10" PRIu64 "  %s\n", counts->values[i], headings[i]);
	}
	if (counts->dropped > 0) {
		text_add_format(out,
				"%" PRIu64 " payloads dropped: no schema explains them; their "
				"records are still there\n",
				counts->dropped);
	}
	if (counts->damaged > 0) {
		text_add_format(out, "%" PRIu64 " damaged records dropped\n", counts->damaged);
	}
	if (counts->kept > 0) {
		text_add_format(out,
				"%" PRIu64 " payloads kept that no schema explains: names in them "
				"are still there\n",
				counts->kept);
	}
}
