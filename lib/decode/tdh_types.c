/* SPDX-License-Identifier: MIT */
/*
 * In-types and out-types of manifests and of TRACE_EVENT_INFO.
 *
 * An in-type determines the bytes of a field and gives its field type from a table. An out-type
 * only determines the meaning: a u16 with the out-type "port" becomes an ETW_FIELD_PORT.
 * Combinations that are not in the second table change nothing, since most out-types only choose
 * between decimal and hexadecimal form. TraceLogging has other numbers, but its out-types have the
 * same effect and use this table, too.
 */
#include "lib/decode/tdh_types.h"

#include <string.h>

#include "base/text.h"

struct in_type {
	const char *name;
	uint16_t number;
	uint8_t type; /* enum etw_field_type */
	uint8_t length_type;
};

/* Binary data has no count before it here. Structures are not in-types. */
static const struct in_type in_types[] = {
	{ "Null", 0, ETW_FIELD_NULL, 0 },
	{ "UnicodeString", 1, ETW_FIELD_WSTRING, 0 },
	{ "AnsiString", 2, ETW_FIELD_ASTRING, 0 },
	{ "Int8", 3, ETW_FIELD_I8, 0 },
	{ "UInt8", 4, ETW_FIELD_U8, 0 },
	{ "Int16", 5, ETW_FIELD_I16, 0 },
	{ "UInt16", 6, ETW_FIELD_U16, 0 },
	{ "Int32", 7, ETW_FIELD_I32, 0 },
	{ "UInt32", 8, ETW_FIELD_U32, 0 },
	{ "Int64", 9, ETW_FIELD_I64, 0 },
	{ "UInt64", 10, ETW_FIELD_U64, 0 },
	{ "Float", 11, ETW_FIELD_FLOAT, 0 },
	{ "Double", 12, ETW_FIELD_DOUBLE, 0 },
	{ "Boolean", 13, ETW_FIELD_BOOL32, 0 },
	{ "Binary", 14, ETW_FIELD_BINARY, 0 },
	{ "GUID", 15, ETW_FIELD_GUID, 0 },
	{ "Pointer", 16, ETW_FIELD_POINTER, 0 },
	{ "FILETIME", 17, ETW_FIELD_FILETIME, 0 },
	{ "SYSTEMTIME", 18, ETW_FIELD_SYSTEMTIME, 0 },
	{ "SID", 19, ETW_FIELD_SID, 0 },
	{ "HexInt32", 20, ETW_FIELD_U32, 0 },
	{ "HexInt64", 21, ETW_FIELD_U64, 0 },
	{ "CountedUnicodeString", 22, ETW_FIELD_WCOUNTED, 0 },
	{ "CountedAnsiString", 23, ETW_FIELD_ACOUNTED, 0 },
	{ "CountedBinary", 25, ETW_FIELD_BINARY16, 0 },
	{ "CountedString", 300, ETW_FIELD_WCOUNTED, 0 },
	{ "", 301, ETW_FIELD_ACOUNTED, 0 },
	{ "ReversedCountedString", 302, ETW_FIELD_WCOUNTED_BE, 0 },
	{ "ReversedCountedAnsiString", 303, ETW_FIELD_ACOUNTED_BE, 0 },
	{ "NonNullTerminatedString", 304, ETW_FIELD_WSTRING, ETW_FIELD_LENGTH_REST },
	{ "NonNullTerminatedAnsiString", 305, ETW_FIELD_ASTRING, ETW_FIELD_LENGTH_REST },
	{ "UnicodeChar", 306, ETW_FIELD_WCHAR, 0 },
	{ "AnsiChar", 307, ETW_FIELD_ACHAR, 0 },
	{ "SizeT", 308, ETW_FIELD_SIZE, 0 },
	{ "HexDump", 309, ETW_FIELD_BINARY32, 0 },
	{ "WBEMSID", 310, ETW_FIELD_KERNEL_SID, 0 },
};

enum { IN_TYPES = sizeof in_types / sizeof in_types[0] };

/* Field types that an out-type changes to another field type. */
static const struct {
	uint32_t out;
	uint8_t from, or_from, to;
} changes[] = {
	{ TDH_OUT_STRING, ETW_FIELD_I8, ETW_FIELD_U8, ETW_FIELD_ACHAR },
	{ TDH_OUT_STRING, ETW_FIELD_I16, ETW_FIELD_U16, ETW_FIELD_WCHAR },
	{ TDH_OUT_BOOLEAN, ETW_FIELD_I8, ETW_FIELD_U8, ETW_FIELD_BOOL8 },
	{ TDH_OUT_BOOLEAN, ETW_FIELD_I16, ETW_FIELD_U16, ETW_FIELD_BOOL16 },
	{ TDH_OUT_BOOLEAN, ETW_FIELD_I32, ETW_FIELD_U32, ETW_FIELD_BOOL32 },
	{ TDH_OUT_PORT, ETW_FIELD_I16, ETW_FIELD_U16, ETW_FIELD_PORT },
	{ TDH_OUT_IP4, ETW_FIELD_I32, ETW_FIELD_U32, ETW_FIELD_IP4 },
	{ TDH_OUT_UTF8, ETW_FIELD_I8, ETW_FIELD_U8, ETW_FIELD_ACHAR },
	{ TDH_OUT_JSON, ETW_FIELD_I8, ETW_FIELD_U8, ETW_FIELD_ACHAR },
	{ TDH_OUT_JSON, ETW_FIELD_U16, ETW_FIELD_U16, ETW_FIELD_WCHAR },
	{ TDH_OUT_XML, ETW_FIELD_I8, ETW_FIELD_U8, ETW_FIELD_ACHAR },
	{ TDH_OUT_XML, ETW_FIELD_U16, ETW_FIELD_U16, ETW_FIELD_WCHAR },
	{ TDH_OUT_FILETIME, ETW_FIELD_I64, ETW_FIELD_U64, ETW_FIELD_FILETIME },
};

enum { CHANGES = sizeof changes / sizeof changes[0] };

void tdh_apply_out(struct etw_field *field, unsigned out)
{
	for (size_t i = 0; i < CHANGES; i++) {
		if (changes[i].out == out &&
		    (changes[i].from == field->type || changes[i].or_from == field->type)) {
			field->type = changes[i].to;
			return;
		}
	}
	if (field->type <= ETW_FIELD_U64 && (out == TDH_OUT_SIGNED || out == TDH_OUT_UNSIGNED)) {
		/* For each size, the signed type is even and the unsigned type is the next
		 * number. */
		field->type = (uint8_t)(field->type / 2 * 2 + (out == TDH_OUT_UNSIGNED));
		return;
	}
	if (field->type == ETW_FIELD_BINARY || field->type == ETW_FIELD_BINARY16 ||
	    field->type == ETW_FIELD_BINARY32) {
		field->form = out == TDH_OUT_IP6      ? ETW_FIELD_FORM_IP6 :
			      out == TDH_OUT_SOCKADDR ? ETW_FIELD_FORM_SOCKADDR :
							ETW_FIELD_FORM_PLAIN;
	}
}

bool tdh_field_type(struct etw_field *field, unsigned in_type, unsigned out_type)
{
	for (size_t i = 0; i < IN_TYPES; i++) {
		if (in_types[i].number == in_type) {
			field->type = in_types[i].type;
			field->length_type = in_types[i].length_type;
			tdh_apply_out(field, out_type);
			return true;
		}
	}
	return false;
}

void tdh_field_finish(struct etw_field *field, unsigned out_type)
{
	if (field->type == ETW_FIELD_BINARY && field->length_type == ETW_FIELD_LENGTH_FIXED &&
	    field->length == 16 && (out_type == TDH_OUT_IP6 || out_type == TDH_OUT_GUID)) {
		field->type = out_type == TDH_OUT_IP6 ? ETW_FIELD_IP6 : ETW_FIELD_GUID;
		field->length_type = ETW_FIELD_LENGTH_TYPE;
	}
}

/* The names of out-types that change something. A reader ignores the prefix. */
static const struct {
	const char *name;
	int number;
} out_types[] = {
	{ "xs:string", TDH_OUT_STRING },
	{ "xs:boolean", TDH_OUT_BOOLEAN },
	{ "xs:GUID", TDH_OUT_GUID },
	{ "win:Port", TDH_OUT_PORT },
	{ "win:IPv4", TDH_OUT_IP4 },
	{ "win:IPv6", TDH_OUT_IP6 },
	{ "win:SocketAddress", TDH_OUT_SOCKADDR },
};

enum { OUT_TYPES = sizeof out_types / sizeof out_types[0] };

static const char *without_prefix(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

/* Returns whether a name is the known one after its prefix, which can be any XML namespace. */
static bool is_name(const char *known, const char *name)
{
	known = without_prefix(known);
	name = without_prefix(name);
	return text_equal_nocase(known, strlen(known), name, strlen(name));
}

int tdh_in_type(const char *name)
{
	for (size_t i = 0; i < IN_TYPES; i++) {
		if (in_types[i].name[0] && is_name(in_types[i].name, name)) {
			return in_types[i].number;
		}
	}
	return -1;
}

int tdh_out_type(const char *name)
{
	for (size_t i = 0; i < OUT_TYPES; i++) {
		if (is_name(out_types[i].name, name)) {
			return out_types[i].number;
		}
	}
	return TDH_OUT_DEFAULT;
}

/* ---- names of a field ---- */

/* Returns the name of the first in-type with these bytes; NULL if there is none. */
static const char *in_type_of(uint8_t type, bool rest)
{
	for (size_t i = 0; i < IN_TYPES; i++) {
		if (in_types[i].type == type && in_types[i].name[0] &&
		    (in_types[i].length_type == ETW_FIELD_LENGTH_REST) == rest) {
			return in_types[i].name;
		}
	}
	return NULL;
}

static const char *out_type_of(uint32_t number)
{
	for (size_t i = 0; i < OUT_TYPES; i++) {
		if ((uint32_t)out_types[i].number == number) {
			return out_types[i].name;
		}
	}
	return NULL;
}

bool tdh_names_of(const struct etw_field *field, struct tdh_names *names)
{
	bool rest = field_has_length(field) && field->length_type == ETW_FIELD_LENGTH_REST;
	struct tdh_names found = { .in_type = in_type_of(field->type, rest) };

	if (field->type == ETW_FIELD_IP6) {
		/* tdh_field_finish() makes this type from binary data. */
		found = (struct tdh_names){ in_type_of(ETW_FIELD_BINARY, false),
					    out_type_of(TDH_OUT_IP6), 16 };
	} else if (field->form != ETW_FIELD_FORM_PLAIN) {
		found.out_type = out_type_of(field->form == ETW_FIELD_FORM_IP6 ? TDH_OUT_IP6 :
										 TDH_OUT_SOCKADDR);
	}
	for (size_t i = 0; i < CHANGES && !found.in_type; i++) {
		if (changes[i].to == field->type && out_type_of(changes[i].out)) {
			found.in_type = in_type_of(changes[i].or_from, false);
			found.out_type = out_type_of(changes[i].out);
		}
	}
	if (!found.in_type) {
		return false;
	}
	*names = found;
	return true;
}
