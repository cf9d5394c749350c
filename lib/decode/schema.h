/* SPDX-License-Identifier: MIT */
/*
 * The layout of one event class: named, typed fields in payload order. Schemas have many origins,
 * but one representation and one decoder.
 *
 * The fields before the first one of variable length have constant offsets, one for each pointer
 * size, which are computed when the schema is made. The others are found by walking from there. A
 * schema does not change after it was made.
 */
#ifndef LIB_DECODE_SCHEMA_H
#define LIB_DECODE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/text.h"
#include "lib/source/event_record.h"

/* Types of values in a payload (docs/etl-format.md sections 10, 12, 14 and 15). */
enum etw_field_type {
	ETW_FIELD_I8, /* integers first, the signed ones even: etw_field_is_integer(),
			 etw_field_is_signed() */
	ETW_FIELD_U8,
	ETW_FIELD_I16,
	ETW_FIELD_U16,
	ETW_FIELD_I32,
	ETW_FIELD_U32,
	ETW_FIELD_I64,
	ETW_FIELD_U64,
	ETW_FIELD_BOOL8,
	ETW_FIELD_BOOL16,
	ETW_FIELD_BOOL32,
	ETW_FIELD_POINTER,  /* 4 or 8 bytes, of the record */
	ETW_FIELD_SIZE,     /* likewise */
	ETW_FIELD_FILETIME, /* u64: 100 ns since 1601-01-01 UTC */
	ETW_FIELD_PORT,     /* u16, big-endian; the last of the integers */
	ETW_FIELD_FLOAT,
	ETW_FIELD_DOUBLE,
	ETW_FIELD_IP4, /* 4 bytes in order */
	ETW_FIELD_IP6, /* 16 bytes in order */
	ETW_FIELD_GUID,
	ETW_FIELD_SYSTEMTIME, /* 8 u16: a calendar date and time */
	ETW_FIELD_WCHAR,      /* a UTF-16 unit; an array of units is one text */
	ETW_FIELD_ACHAR,      /* a byte of text; likewise */
	ETW_FIELD_WSTRING,    /* UTF-16LE; see enum etw_field_length_type */
	ETW_FIELD_ASTRING,    /* bytes: UTF-8 if valid, otherwise Latin-1; likewise */
	ETW_FIELD_BINARY,     /* likewise */
	ETW_FIELD_WCOUNTED,   /* UTF-16LE after a u16 size in bytes, as in the next four */
	ETW_FIELD_ACOUNTED,
	ETW_FIELD_BINARY16,
	ETW_FIELD_WCOUNTED_BE, /* the count is big-endian */
	ETW_FIELD_ACOUNTED_BE,
	ETW_FIELD_BINARY32, /* after a u32 size in bytes */
	ETW_FIELD_SID,
	/* "WBEM SID" of the Process class, section 14. Its slice is only the SID; size 0: no SID.
	 */
	ETW_FIELD_KERNEL_SID,
	ETW_FIELD_NULL,   /* no bytes */
	ETW_FIELD_STRUCT, /* contains the next `span` fields */
};

enum etw_field_count_type {
	ETW_FIELD_SCALAR,
	ETW_FIELD_COUNT_FIXED,  /* count elements */
	ETW_FIELD_COUNT_REST,   /* up to the end of the payload */
	ETW_FIELD_COUNT_FIELD,  /* the value of the integer field number `count` */
	ETW_FIELD_COUNT_PREFIX, /* the value of a u16 before the elements */
};

/* Where a ETW_FIELD_WSTRING, ETW_FIELD_ASTRING or ETW_FIELD_BINARY ends. Lengths are in units of
 * its type. */
enum etw_field_length_type {
	ETW_FIELD_LENGTH_TYPE,  /* strings at a NUL or the end of the payload, binary at its end */
	ETW_FIELD_LENGTH_FIXED, /* after `length` units; text ends at the first NUL */
	ETW_FIELD_LENGTH_FIELD, /* likewise; the length is the value of integer field number
				   `length` */
	ETW_FIELD_LENGTH_REST,  /* at the end of the payload; text ends at the first NUL */
};

/* The meaning of binary data. */
enum etw_field_form {
	ETW_FIELD_FORM_PLAIN,
	ETW_FIELD_FORM_IP6,      /* an IPv6 address if it has 16 bytes */
	ETW_FIELD_FORM_SOCKADDR, /* SOCKADDR_IN or SOCKADDR_IN6 */
};

enum {
	ETW_FIELD_OFFSET_VARIES = UINT16_MAX,
	ETW_SCHEMA_FIELDS_MOST = 1024, /* docs/etl-format.md section 18 */
	ETW_SCHEMA_DEPTH_MOST = 16,    /* structures in structures; likewise */
};

/*
 * Names of the values of an integer field: one name for each value, or one name for each bit.
 *
 * Sources: "valueMap", "bitMap", "EVENT_MAP_INFO structure", Microsoft Learn; docs/etl-format.md
 * section 12.2.
 */
struct etw_value_name {
	uint32_t value;   /* in a bit map: one or more bits */
	uint32_t order;   /* private to value_map_sort() */
	const char *name; /* UTF-8; borrowed */
};

/* Immutable after value_map_sort(). */
struct etw_value_map {
	struct etw_value_name *names; /* owned as the maker of the map defines */
	uint32_t count;
	bool bits;
	const char *name; /* of the map, UTF-8; borrowed; NULL: not known */
};

/*
 * Sorts the names for value_map_text(). Duplicate values: the first name wins. Overlapping bit
 * masks are all kept.
 */
void value_map_sort(struct etw_value_map *map);

/*
 * Adds the name of a value. A bit map gives "name|name", and the bits without a name follow in
 * hexadecimal: "Read|Write|0x40". Returns false and adds nothing if the map has no name for it.
 */
bool value_map_text(const struct etw_value_map *map, uint64_t value, struct etw_text *out);

/*
 * Finds the value with this name, without regard to the case of ASCII letters. Returns false and
 * leaves *value alone if no value or several values have the name.
 */
bool etw_value_map_value(const struct etw_value_map *map, const char *name, size_t size,
			 uint32_t *value);

/* An origin sets the members before offset, and map; fields_place() sets offset and size. */
struct etw_field {
	const char *name;    /* its own, without the name of its structure */
	uint8_t type;        /* enum etw_field_type */
	uint8_t count_type;  /* enum etw_field_count_type */
	uint8_t length_type; /* enum etw_field_length_type */
	uint8_t form;        /* enum etw_field_form */
	uint16_t count;  /* elements; ETW_FIELD_COUNT_FIELD: index of an earlier integer field */
	uint16_t length; /* units; ETW_FIELD_LENGTH_FIELD: index likewise */
	uint16_t
		span; /* ETW_FIELD_STRUCT: number of fields in it, with those of inner structures */
	/* For pointer sizes 4 and 8. */
	uint16_t offset[2]; /* in the payload; ETW_FIELD_OFFSET_VARIES after a variable field */
	uint16_t size[2];   /* of the whole field; 0: variable or empty */
	const struct etw_value_map
		*map; /* names of the values of an integer; borrowed; NULL: none */
};

/* Where a schema comes from. */
enum etw_schema_origin {
	ETW_SCHEMA_KERNEL,
	ETW_SCHEMA_TRACELOGGING,
	ETW_SCHEMA_MANIFEST,
	ETW_SCHEMA_EVENT_INFO,
	SCHEMA_STRING, /* EventWriteString(): one text */
};

/*
 * Fields are in payload order, and a structure precedes its members. A single structure adds no
 * bytes to the payload, so its members are located like any field. The members of an array of
 * structures exist once for each element: see etw_field_next_struct().
 */
struct etw_schema {
	const char *event;  /* as `event` in dumps: "Process_V4_TypeGroup1", "Work/Start" */
	const char *symbol; /* another name of the event in its manifest; NULL: none */
	const struct etw_field *fields;
	uint16_t field_count;
	uint16_t first_variable; /* first field whose own length varies; field_count: none */
	uint8_t origin;          /* enum etw_schema_origin */
};

/*
 * Computes sizes and offsets. Returns schema.first_variable. Spans must be right. A reference to
 * the field of a count or of a length must lead to an integer field before it. Otherwise the field
 * becomes a single value, or a value that ends in the way of its type, so that a schema from
 * outside cannot cause reads of other data.
 */
uint16_t fields_place(struct etw_field *fields, uint16_t count);

/*
 * The index of the field with this name (exact case), for a member "structure.member"; -1 if there
 * is none. It does not find structures, which have no value of their own, nor members of arrays of
 * structures, which have a value for each element.
 */
int etw_schema_find_field(const struct etw_schema *schema, const char *name);

/* One scalar integer (of any width, bool, pointer, FILETIME, port). */
static inline bool etw_field_is_integer(const struct etw_field *field)
{
	return field->count_type == ETW_FIELD_SCALAR && field->type <= ETW_FIELD_PORT;
}

/* One floating-point number; etw_field_double(). */
static inline bool etw_field_is_real(const struct etw_field *field)
{
	return field->count_type == ETW_FIELD_SCALAR &&
	       (field->type == ETW_FIELD_FLOAT || field->type == ETW_FIELD_DOUBLE);
}

static inline bool etw_field_is_signed(const struct etw_field *field)
{
	return field->type < ETW_FIELD_U64 && (field->type & 1) == 0;
}

/* Arrays of characters are one text, not a list. */
static inline bool etw_field_is_text_of_chars(const struct etw_field *field)
{
	return field->type == ETW_FIELD_WCHAR || field->type == ETW_FIELD_ACHAR;
}

/* Whether its value is text from the event, not a number, an address or an id in a form of ours. */
static inline bool etw_field_is_text(const struct etw_field *field)
{
	return field->type == ETW_FIELD_WSTRING || field->type == ETW_FIELD_ASTRING ||
	       (field->type >= ETW_FIELD_WCOUNTED && field->type <= ETW_FIELD_ACOUNTED) ||
	       field->type == ETW_FIELD_WCOUNTED_BE || field->type == ETW_FIELD_ACOUNTED_BE ||
	       etw_field_is_text_of_chars(field);
}

/* Whether its value is a list; characters in an array are one text. */
static inline bool etw_field_is_list(const struct etw_field *field)
{
	return field->count_type != ETW_FIELD_SCALAR && !etw_field_is_text_of_chars(field);
}

static inline bool etw_field_is_struct_array(const struct etw_field *field)
{
	return field->type == ETW_FIELD_STRUCT && field->count_type != ETW_FIELD_SCALAR;
}

/* The field behind a field and its members. */
static inline unsigned etw_field_behind(const struct etw_schema *schema, unsigned index)
{
	return index + 1U + schema->fields[index].span;
}

/*
 * The end of the top-level fields that are whole, structures with all that is in them; `whole` is
 * the first field that is not, as etw_fields_walk() returns it.
 */
unsigned etw_schema_end_of_whole(const struct etw_schema *schema, unsigned whole);

/* Whether length_type says where it ends. */
bool field_has_length(const struct etw_field *field);

/* Bytes of one unit of its lengths: 2 for UTF-16, otherwise 1. */
uint32_t etw_field_unit_size(const struct etw_field *field);

/* The size of one element in bytes; 0 if it varies or the element is empty. wide: pointers have 8
 * bytes. */
uint32_t field_element_size(const struct etw_field *field, unsigned wide);

/* The size of the count before the data of each element; 0 if the type has no count. */
uint32_t field_prefix_size(unsigned type);

/* Where a field's bytes are in one payload. */
struct etw_field_slice {
	const uint8_t *at; /* in the payload; NULL: absent, the payload ended before it */
	uint32_t size;     /* bytes, with a terminator, without a count before the data */
	uint32_t count;    /* elements; 1 for scalars and strings */
	bool cut;          /* the payload ended inside; of an array only whole elements count */
};

/* etw_field_locate() of a field without a constant offset, or of one that is not whole. */
bool etw_field_locate_by_walk(const struct etw_schema *schema, unsigned index,
			      const struct etw_record *record, struct etw_field_slice *slice);

/*
 * Finds one field. A constant offset needs no walk. Otherwise the walk starts at the first variable
 * field and ends at this field. Returns false if the payload does not contain the whole field; the
 * slice is then the part that is there.
 */
static inline bool etw_field_locate(const struct etw_schema *schema, unsigned index,
				    const struct etw_record *record, struct etw_field_slice *slice)
{
	const struct etw_field *field = &schema->fields[index];
	unsigned wide = record->pointer_size == 8;
	uint32_t offset = field->offset[wide];
	uint32_t size = field->size[wide];

	if (size != 0 && offset != ETW_FIELD_OFFSET_VARIES &&
	    offset + size <= record->payload_size) {
		*slice = (struct etw_field_slice){
			.at = record->payload + offset,
			.size = size,
			.count = field->count_type == ETW_FIELD_COUNT_FIXED ? field->count : 1,
		};
		return true;
	}
	return etw_field_locate_by_walk(schema, index, record, slice);
}

/*
 * Finds all fields 0 … last in one walk; slices has room for schema->field_count. Returns the index
 * of the first field that is not whole; it is above last if all are whole. This field may be cut,
 * and all fields after it are absent (at is NULL). *rest, if not NULL, is set to the number of
 * payload bytes after field `last`. The slices of members of arrays of structures are not useful.
 */
unsigned etw_fields_walk(const struct etw_schema *schema, unsigned last,
			 const struct etw_record *record, struct etw_field_slice *slices,
			 uint32_t *rest);

/*
 * Visits the elements of an array of structures one by one, after etw_fields_walk(): start with
 * *offset = 0; returns false after the last. It sets the slices of the members to those of this
 * element, so inner arrays can be visited in the same way; slices[index] does not change.
 */
bool etw_field_next_struct(const struct etw_schema *schema, unsigned index,
			   const struct etw_record *record, struct etw_field_slice *slices,
			   uint32_t *offset);

/*
 * An integer of the type at these bytes: sign-extended when signed (cast to int64_t), 0 or 1 for a
 * bool.
 */
static inline uint64_t etw_field_integer(enum etw_field_type type, const uint8_t *at, uint32_t size)
{
	bool is_signed = type < ETW_FIELD_U64 && (type & 1) == 0;

	switch (size) {
	case 4: {
		uint32_t value = etw_load_u32(at);

		if (type == ETW_FIELD_BOOL32) {
			return value != 0;
		}
		return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
	}
	case 8:
		return etw_load_u64(at);
	case 2: {
		uint16_t value = etw_load_u16(at);

		if (type == ETW_FIELD_PORT) {
			return (uint16_t)(value << 8 | value >> 8);
		}
		if (type == ETW_FIELD_BOOL16) {
			return value != 0;
		}
		return is_signed ? (uint64_t)(int64_t)(int16_t)value : value;
	}
	case 1:
		if (type == ETW_FIELD_BOOL8) {
			return *at != 0;
		}
		return is_signed ? (uint64_t)(int64_t)(int8_t)*at : *at;
	default:
		return 0;
	}
}

/* The integer of a located scalar integer field; meaningless if the field is absent or cut. */
static inline uint64_t etw_field_u64(const struct etw_field *field,
				     const struct etw_field_slice *slice)
{
	return etw_field_integer((enum etw_field_type)field->type, slice->at, slice->size);
}

/* Adds a result of etw_field_u64() as text: its name if the field has names, otherwise in decimal.
 */
void etw_field_number_text(const struct etw_field *field, uint64_t value, struct etw_text *out);

/* The value of a located ETW_FIELD_FLOAT or ETW_FIELD_DOUBLE; 0 if it is cut. */
double etw_field_double(const struct etw_field *field, const struct etw_field_slice *slice);

/*
 * Visits the elements of a located array one by one: start with *offset = 0; returns false after
 * the last. Each element is a scalar of the type of the field. A scalar field has one element,
 * itself.
 */
bool etw_field_next_element(const struct etw_field *field, const struct etw_field_slice *array,
			    uint32_t *offset, struct etw_field_slice *element);

/*
 * Adds the value as text:
 * - numbers: the name that the field has for the value, otherwise decimal;
 * - addresses: "10.0.0.1", "::1"; of sockets "10.0.0.1:80", "[::1]:80", without a port of 0;
 * - strings: UTF-8, with U+FFFD for unpaired surrogates;
 * - SIDs: "S-1-…", nothing if there is none;
 * - SYSTEMTIME: "2021-09-09T14:59:35.799";
 * - binary data: hexadecimal in lower case;
 * - arrays: a list separated by commas; structures: nothing.
 */
void etw_field_text(const struct etw_field *field, const struct etw_field_slice *slice,
		    struct etw_text *out);

/* ---- reading one integer field of an event class from many payloads ---- */

enum { ETW_FIELD_READER_WALKS = UINT32_MAX };

/*
 * Most fields are at a constant offset, so reading one is a comparison and a load. Fields after one
 * of variable length are found by a walk over the payload. A reader is made once for each event
 * class and pointer size. All zero: the event class has no such field.
 */
struct etw_field_reader {
	uint32_t
		end; /* payload bytes that are needed; ETW_FIELD_READER_WALKS: no constant offset */
	uint16_t offset; /* in the payload */
	uint16_t index;  /* of the field in the schema */
	uint8_t size;    /* bytes; 0: no such field */
	uint8_t type;    /* enum etw_field_type */
};

/* index: as etw_schema_find_field() returns it. Only scalar integers have a reader. */
struct etw_field_reader etw_field_reader_of(const struct etw_schema *schema, int index,
					    uint8_t pointer_size);

/* etw_field_read_u64() for a field without a constant offset, or one that the payload lacks. */
bool etw_field_read_by_walk(const struct etw_field_reader *reader, const struct etw_schema *schema,
			    const struct etw_record *record, uint64_t *value);

/*
 * Reads the value like etw_field_u64(). Returns false and leaves *value alone if the event class
 * has no such field, or the payload ends before the end of the field.
 */
static inline bool etw_field_read_u64(const struct etw_field_reader *reader,
				      const struct etw_schema *schema,
				      const struct etw_record *record, uint64_t *value)
{
	if (reader->end > record->payload_size) {
		return etw_field_read_by_walk(reader, schema, record, value);
	}
	if (reader->size == 0) {
		return false;
	}
	*value = etw_field_integer((enum etw_field_type)reader->type,
				   record->payload + reader->offset, reader->size);
	return true;
}

static inline bool etw_field_read_u32(const struct etw_field_reader *reader,
				      const struct etw_schema *schema,
				      const struct etw_record *record, uint32_t *value)
{
	uint64_t wide;

	if (!etw_field_read_u64(reader, schema, record, &wide)) {
		return false;
	}
	*value = (uint32_t)wide;
	return true;
}

/* ---- building the fields of a schema from data outside the program ---- */

/* Fields with copies of their names, in one block; bounded, with correct spans. */
struct built_fields {
	struct etw_field *fields; /* owned: free(); NULL if there are none */
	uint16_t count;
	uint16_t first_variable; /* as in struct etw_schema */
	size_t bytes;            /* of memory */
};

/* Zero-initialise it. */
struct schema_builder {
	struct etw_field *fields; /* owned; their names are set at the end */
	uint32_t *name_offsets;   /* owned; in names */
	size_t count;
	size_t capacity;                      /* of fields */
	size_t offset_capacity;               /* of name_offsets */
	struct etw_text names;                /* each with its NUL */
	uint16_t open[ETW_SCHEMA_DEPTH_MOST]; /* the structures that contain the next field */
	unsigned depth;
	bool stopped; /* further fields could not be located */
	bool failed;  /* no memory */
};

/*
 * Adds a copy of *field. Its name is copied from name, converted to valid UTF-8, and ends at a NUL.
 * A ETW_FIELD_STRUCT stays open: it contains all fields that are added before schema_build_close().
 *
 * Returns the index of the field; -1 if it was not added, and then no later field will be.
 */
int schema_build_add(struct schema_builder *builder, const struct etw_field *field,
		     const char *name, size_t name_size);
void schema_build_close(struct schema_builder *builder);

/* The latest field with this name, also inside structures; -1 if there is none. */
int schema_build_find(const struct schema_builder *builder, const char *name);

/*
 * Ends the schema, because the next part of the payload is not understood and nothing after it can
 * be located. This also removes an open array of structures: its second element could not be
 * located.
 */
void schema_build_stop(struct schema_builder *builder);

/*
 * Computes the offsets of the fields and empties the builder. Of fields of one structure with the
 * same name, the second gets "_2" behind it, the third "_3". False without memory.
 */
bool schema_build_finish(struct schema_builder *builder, struct built_fields *fields);
void schema_build_done(struct schema_builder *builder);

#endif
