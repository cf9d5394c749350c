/* SPDX-License-Identifier: MIT */
/*
 * In- and out-types of manifests and of TRACE_EVENT_INFO, by number and by name.
 *
 * Sources: tdh.h of the Windows SDK (TDH_INTYPE_…, TDH_OUTTYPE_…); "InputType Complex Type",
 * Microsoft Learn; docs/etl-format.md sections 11 and 12.1. TraceLogging uses other numbers.
 */
#ifndef LIB_DECODE_TDH_TYPES_H
#define LIB_DECODE_TDH_TYPES_H

#include <stdbool.h>

#include "lib/decode/schema.h"

/* Meanings that an out-type can give to the bytes of a field. The first ones have the numbers of
 * tdh.h. */
enum tdh_out_type {
	TDH_OUT_DEFAULT = 0,
	TDH_OUT_STRING = 1,
	TDH_OUT_BOOLEAN = 13,
	TDH_OUT_GUID = 14,
	TDH_OUT_PORT = 22,
	TDH_OUT_IP4 = 23,
	TDH_OUT_IP6 = 24,
	TDH_OUT_SOCKADDR = 25,
	/* Out-types of TraceLogging. These numbers are ours, not those of tdh.h. */
	TDH_OUT_UTF8 = 0x10000,
	TDH_OUT_JSON,
	TDH_OUT_XML,
	TDH_OUT_FILETIME,
	TDH_OUT_SIGNED,
	TDH_OUT_UNSIGNED,
};

/* Changes the type or form of a field by its out-type; most combinations change nothing. */
void tdh_apply_out(struct etw_field *field, unsigned out_type);

/*
 * Sets type, length_type and form of a field. The caller sets count, and after this call also
 * length. Returns false if the type is not known, so that the size of the field is not known.
 */
bool tdh_field_type(struct etw_field *field, unsigned in_type, unsigned out_type);

/* Call this after the length is set: binary data of 16 bytes becomes an IPv6 address or a GUID if
 * the out-type says so. */
void tdh_field_finish(struct etw_field *field, unsigned out_type);

/*
 * The number of a name such as "win:UInt32"; the prefix before the colon is ignored. An unknown
 * in-type gives -1; an out-type that changes nothing gives TDH_OUT_DEFAULT.
 */
int tdh_in_type(const char *name);
int tdh_out_type(const char *name);

/* The names by which a manifest gives the type of a field. */
struct tdh_names {
	const char *in_type;  /* "UInt16"; its prefix is "win:" */
	const char *out_type; /* "win:Port"; NULL: the default of the in-type */
	/* Bytes of binary data if the type has a fixed size; 0 otherwise. */
	uint16_t length;
};

/*
 * The inverse of the functions above: reading these names gives the type and the form of the field,
 * and its length type unless that is a fixed length or a reference. Returns false if manifests have
 * no names for the type, as for structures.
 */
bool tdh_names_of(const struct etw_field *field, struct tdh_names *names);

#endif
