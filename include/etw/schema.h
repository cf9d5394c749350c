/* SPDX-License-Identifier: MIT */
/*
 * The layout of an event: named, typed fields in payload order, and how values are read.
 *
 * Schemas have many origins, but one representation and one decoder. The fields before the first
 * one of variable length have constant offsets, one for each pointer size, which are computed when
 * the schema is made. The others are found by walking over the payload from there. A schema does
 * not change after it was made, so any thread may read it.
 */
#ifndef ETW_SCHEMA_H
#define ETW_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>
#include <etw/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* These are opaque. */
struct etw_value_name;

/* Types of values in a payload (docs/etl-format.md sections 10, 12, 14 and 15). */
enum etw_field_type {
	ETW_FIELD_I8, /* integers come first and signed ones have even numbers;
			 etw_field_is_integer() and etw_field_is_signed() rely on this */
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
	ETW_FIELD_POINTER,  /* 4 or 8 bytes: pointer_size of the record */
	ETW_FIELD_SIZE,     /* as ETW_FIELD_POINTER */
	ETW_FIELD_FILETIME, /* u64: 100 ns since 1601-01-01 UTC */
	ETW_FIELD_PORT,     /* u16, big-endian; must be the last integer type */
	ETW_FIELD_FLOAT,
	ETW_FIELD_DOUBLE,
	ETW_FIELD_IP4, /* 4 bytes in network order */
	ETW_FIELD_IP6, /* 16 bytes in network order */
	ETW_FIELD_GUID,
	ETW_FIELD_SYSTEMTIME, /* 8 u16: a calendar date and time */
	ETW_FIELD_WCHAR,      /* a UTF-16 unit; an array of units is one text */
	ETW_FIELD_ACHAR,      /* a byte of text; an array of bytes is one text */
	ETW_FIELD_WSTRING,    /* UTF-16LE; see enum etw_field_length_type */
	ETW_FIELD_ASTRING,    /* bytes: UTF-8 if valid, otherwise Latin-1; see enum
				 etw_field_length_type */
	ETW_FIELD_BINARY,     /* see enum etw_field_length_type */
	ETW_FIELD_WCOUNTED, /* UTF-16LE after a u16 with its size in bytes; the next four also have
			       such a size */
	ETW_FIELD_ACOUNTED,
	ETW_FIELD_BINARY16,
	ETW_FIELD_WCOUNTED_BE, /* the size is big-endian */
	ETW_FIELD_ACOUNTED_BE,
	ETW_FIELD_BINARY32, /* after a u32 with its size in bytes */
	ETW_FIELD_SID,
	/* "WBEM SID" of the Process class (docs/etl-format.md section 14). Its slice is only the
	   SID; size 0 means that there is no SID. */
	ETW_FIELD_KERNEL_SID,
	ETW_FIELD_NULL,   /* no bytes */
	ETW_FIELD_STRUCT, /* contains the next `span` fields */
};

enum etw_field_count_type {
	ETW_FIELD_SCALAR,
	ETW_FIELD_COUNT_FIXED,  /* count elements */
	ETW_FIELD_COUNT_REST,   /* as many as fit up to the end of the payload */
	ETW_FIELD_COUNT_FIELD,  /* as many as the value of the earlier integer field with index
				   `count` */
	ETW_FIELD_COUNT_PREFIX, /* as many as a u16 before the elements says */
};

/* Where an ETW_FIELD_WSTRING, ETW_FIELD_ASTRING or ETW_FIELD_BINARY ends. Lengths are in units of
 * the type (etw_field_unit_size()). */
enum etw_field_length_type {
	ETW_FIELD_LENGTH_TYPE, /* strings end at a NUL or the end of the payload, binary data at its
				  end */
	ETW_FIELD_LENGTH_FIXED, /* it has `length` units; text ends at the first NUL */
	ETW_FIELD_LENGTH_FIELD, /* it has as many units as the value of the integer field with index
				   `length`; text ends at the first NUL */
	ETW_FIELD_LENGTH_REST,  /* it extends to the end of the payload; text ends at the first NUL
				 */
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
	ETW_SCHEMA_DEPTH_MOST = 16,    /* structures in structures; docs/etl-format.md section 18 */
};

/* Immutable after value_map_sort(). */
struct etw_value_map {
	struct etw_value_name *names; /* the code that makes a map defines who owns them */
	uint32_t count;
	bool bits;
	const char *name; /* name of the map, UTF-8; borrowed; NULL: not known */
};

/*
 * Finds the value with this name, without regard to the case of ASCII letters. Returns false and
 * leaves *value alone if no value or several values have the name.
 */
bool etw_value_map_value(const struct etw_value_map *map, const char *name, size_t size,
			 uint32_t *value);

/* The origin of a schema sets map and the members before offset; fields_place() sets offset and
 * size. */
struct etw_field {
	const char *name;    /* without the name of its structure */
	uint8_t type;        /* enum etw_field_type */
	uint8_t count_type;  /* enum etw_field_count_type */
	uint8_t length_type; /* enum etw_field_length_type */
	uint8_t form;        /* enum etw_field_form */
	uint16_t count;  /* number of elements; with ETW_FIELD_COUNT_FIELD the index of an earlier
			    integer field that has it */
	uint16_t length; /* in units; with ETW_FIELD_LENGTH_FIELD the index of an earlier integer
			    field that has it */
	uint16_t span;   /* of an ETW_FIELD_STRUCT the number of fields in it, with those of inner
			    structures */
	/* Element 0 is for 4-byte pointers, element 1 for 8-byte pointers. */
	uint16_t offset[2]; /* bytes from the start of the payload; ETW_FIELD_OFFSET_VARIES after a
			       variable field */
	uint16_t size[2];   /* bytes of the whole field; 0: variable or empty */
	const struct etw_value_map *map; /* names of integer values; borrowed; NULL: none */
};

/* Where a schema comes from. */
enum etw_schema_origin {
	ETW_SCHEMA_KERNEL,
	ETW_SCHEMA_TRACELOGGING,
	ETW_SCHEMA_MANIFEST,
	ETW_SCHEMA_EVENT_INFO,
	ETW_SCHEMA_STRING, /* EventWriteString(): one text */
};

/*
 * Fields are in payload order, and a structure precedes its members. A single structure adds no
 * bytes to the payload, so its members are located like any field. The members of an array of
 * structures exist once for each element: see etw_field_next_struct().
 */
struct etw_schema {
	/* name, shown as `event` in dumps: "Process_V4_TypeGroup1", "Work/Start" */
	const char *event;
	const char *symbol; /* another name of the event in its manifest; NULL: none */
	const struct etw_field *fields;
	uint16_t field_count;
	uint16_t first_variable; /* index of the first field whose length varies; field_count if
				    none does */
	uint8_t origin;          /* enum etw_schema_origin */
};

/*
 * Returns the index of the field with this name; -1 if there is none. Upper and lower case matter;
 * a member is "structure.member". Structures are not found, because they have no value of their
 * own; nor are members of arrays of structures, because they have one value for each element.
 */
int etw_schema_find_field(const struct etw_schema *schema, const char *name);

/* Returns whether the field is one integer (of any width, bool, pointer, FILETIME, port). */
static inline bool etw_field_is_integer(const struct etw_field *field)
{
	return field->count_type == ETW_FIELD_SCALAR && field->type <= ETW_FIELD_PORT;
}

/* Returns whether the field is one floating-point number, for etw_field_double(). */
static inline bool etw_field_is_real(const struct etw_field *field)
{
	return field->count_type == ETW_FIELD_SCALAR &&
	       (field->type == ETW_FIELD_FLOAT || field->type == ETW_FIELD_DOUBLE);
}

static inline bool etw_field_is_signed(const struct etw_field *field)
{
	return field->type < ETW_FIELD_U64 && (field->type & 1) == 0;
}

/* Returns whether the field is a character, or an array of them, which is one text and not a list.
 */
static inline bool etw_field_is_text_of_chars(const struct etw_field *field)
{
	return field->type == ETW_FIELD_WCHAR || field->type == ETW_FIELD_ACHAR;
}

/* Returns whether the value is a text in the event itself. The text of numbers, addresses and ids
 * is made by this library. */
static inline bool etw_field_is_text(const struct etw_field *field)
{
	return field->type == ETW_FIELD_WSTRING || field->type == ETW_FIELD_ASTRING ||
	       (field->type >= ETW_FIELD_WCOUNTED && field->type <= ETW_FIELD_ACOUNTED) ||
	       field->type == ETW_FIELD_WCOUNTED_BE || field->type == ETW_FIELD_ACOUNTED_BE ||
	       etw_field_is_text_of_chars(field);
}

/* Returns whether the value is a list; an array of characters is one text. */
static inline bool etw_field_is_list(const struct etw_field *field)
{
	return field->count_type != ETW_FIELD_SCALAR && !etw_field_is_text_of_chars(field);
}

static inline bool etw_field_is_struct_array(const struct etw_field *field)
{
	return field->type == ETW_FIELD_STRUCT && field->count_type != ETW_FIELD_SCALAR;
}

/* Returns the index after a field and its members. */
static inline unsigned etw_field_after(const struct etw_schema *schema, unsigned index)
{
	return index + 1U + schema->fields[index].span;
}

/* Returns the bytes of one unit of the field's lengths: 2 for UTF-16, otherwise 1. */
uint32_t etw_field_unit_size(const struct etw_field *field);

/* Where a field's bytes are in one payload. */
struct etw_field_slice {
	const uint8_t *at; /* in the payload; NULL: absent, because the payload ended before it */
	uint32_t size;     /* bytes, with the terminator, without a size before the data */
	uint32_t count;    /* elements; 1 for scalars and strings */
	bool cut; /* the payload ended inside the field; only whole elements of an array count */
};

/* Does the work of etw_field_locate() for a field that has no constant offset or is not whole. */
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
		slice->at = record->payload + offset;
		slice->size = size;
		slice->count = field->count_type == ETW_FIELD_COUNT_FIXED ? (uint32_t)field->count :
									    1U;
		slice->cut = false;
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
 * Reads an integer of `size` bytes. Signed types are sign-extended (cast the result to int64_t); a
 * bool gives 0 or 1.
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

/* Returns the value of a located integer field. The slice must be neither absent nor cut. */
static inline uint64_t etw_field_u64(const struct etw_field *field,
				     const struct etw_field_slice *slice)
{
	return etw_field_integer((enum etw_field_type)field->type, slice->at, slice->size);
}

/* Adds a result of etw_field_u64() as text: the name that the field has for the value, otherwise
 * decimal. */
void etw_field_number_text(const struct etw_field *field, uint64_t value, struct etw_text *out);

/* Returns the value of a located ETW_FIELD_FLOAT or ETW_FIELD_DOUBLE; 0 if it is cut. */
double etw_field_double(const struct etw_field *field, const struct etw_field_slice *slice);

/*
 * Visits the elements of a located array one by one: start with *offset = 0; returns false after
 * the last. Each element is a scalar of the type of the field. A scalar field is its own single
 * element.
 */
bool etw_field_next_element(const struct etw_field *field, const struct etw_field_slice *array,
			    uint32_t *offset, struct etw_field_slice *element);

/*
 * Adds the value as text:
 * - numbers: the name that the field has for the value, otherwise decimal;
 * - addresses: "10.0.0.1", "::1"; socket addresses: "10.0.0.1:80", "[::1]:80", without a port if it
 * is 0;
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
	uint32_t end; /* payload bytes that are needed; ETW_FIELD_READER_WALKS if the offset is not
			 constant */
	uint16_t offset; /* in the payload */
	uint16_t index;  /* index of the field in the schema */
	uint8_t size;    /* bytes of the value; 0: no such field */
	uint8_t type;    /* enum etw_field_type */
};

/* Makes a reader. index: as etw_schema_find_field() returns it. Only scalar integers have a reader;
 * for other fields it is all zero. */
struct etw_field_reader etw_field_reader_of(const struct etw_schema *schema, int index,
					    uint8_t pointer_size);

/* Does the work of etw_field_read_u64() for a field that has no constant offset, or that the
 * payload does not contain. */
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

struct etw_field_path {
	/* Describes the value: a scalar for an element, an integer for a count. Its offsets are not
	 * used. */
	struct etw_field value;
	uint16_t top;   /* the field that etw_fields_walk() must reach */
	uint16_t field; /* the last field of the path */
	bool is_count;
	uint8_t step_count;
	struct {
		uint16_t array; /* index of an array field: of structures; in the last step it may
				   be of values */
		uint32_t element;
	} steps[ETW_SCHEMA_DEPTH_MOST + 1];
};

/*
 * Resolves a path such as "array[2].member" or "array.count". Returns false if the schema has no
 * such value. Every scalar that etw_schema_find_field() finds is found, too. Names of fields take
 * precedence: a member can be called "count", and a field name can contain brackets.
 */
bool etw_field_path_find(const struct etw_schema *schema, const char *name,
			 struct etw_field_path *path);

enum etw_field_path_result {
	ETW_FIELD_PATH_FOUND,
	ETW_FIELD_PATH_CUT,     /* the payload ends before it */
	ETW_FIELD_PATH_MISSING, /* the array has fewer elements */
};

/*
 * Finds the value in one payload. slices: the result of etw_fields_walk() up to path->top; the
 * slices of members change. If found, *slice is that of the value, and *count is its number of
 * elements.
 */
enum etw_field_path_result etw_field_path_locate(const struct etw_schema *schema,
						 const struct etw_field_path *path,
						 const struct etw_record *record,
						 struct etw_field_slice *slices,
						 struct etw_field_slice *slice, uint32_t *count);

enum { ETW_SID_SIZE_MOST = 8 + 4 * 15 };

/*
 * Returns the size in bytes of the SID at `at`; 0 if the `size` bytes there do not begin with a
 * complete, well-formed SID.
 */
size_t etw_sid_size(const uint8_t *at, size_t size);

/* Adds a SID as text. etw_sid_size() of it must not be 0. */
void etw_text_add_sid(struct etw_text *text, const uint8_t *sid);

/* ---- network addresses; bytes are in network order ---- */

/* Adds "10.0.0.1". */
void etw_text_add_ip4(struct etw_text *text, const uint8_t bytes[4]);

/* Adds "2001:db8::1", or "::ffff:10.0.0.1" for a mapped IPv4 address, as in RFC 5952. */
void etw_text_add_ip6(struct etw_text *text, const uint8_t bytes[16]);

/* A SOCKADDR_IN or SOCKADDR_IN6 (ws2def.h). */
struct etw_socket_address {
	const uint8_t *ip; /* points into the bytes that were read: 16 bytes for IPv6, else 4 */
	bool is_ip6;
	uint16_t port;
};

/* Reads a socket address. Returns false if the bytes are neither structure, or end inside the
 * address. */
bool etw_socket_address_read(const uint8_t *at, size_t size, struct etw_socket_address *out);

void etw_text_add_ip(struct etw_text *text, const uint8_t *ip, bool is_ip6);

/* The event class of records that describe events (EventInfo) and maps (EventMapInfo), and its
 * opcodes. */
#define ETW_META_DATA_CLASS \
	ETW_GUID_INIT(0xbbccf6c1, 0x6cd1, 0x48c4, 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71)
enum { META_DATA_EVENT_INFO = 32, META_DATA_EVENT_MAP_INFO = 33 };

enum etw_event_info_source {
	ETW_EVENT_INFO_MANIFEST,
	ETW_EVENT_INFO_MOF,
	ETW_EVENT_INFO_WPP,
	ETW_EVENT_INFO_TRACELOGGING
};

struct etw_event_info {
	const uint8_t *bytes; /* borrowed */
	uint32_t size;
	struct etw_guid provider;
	struct etw_guid event_class;
	uint16_t id;
	uint8_t version;
	uint8_t level;
	uint8_t opcode;
	uint16_t task;
	uint64_t keywords;
	uint32_t source; /* enum etw_event_info_source */
	/* Offsets of strings, from the start of bytes; 0: absent. */
	uint32_t provider_name;
	uint32_t task_name;
	uint32_t opcode_name;
	uint32_t property_count; /* all properties, with members of structures; the view has checked
				    that the bytes contain them */
	uint32_t top_level_count;
};

struct etw_event_property {
	uint32_t flags;
	uint32_t name;
	uint16_t in_type;
	uint16_t out_type;
	uint32_t map_name;
	uint16_t count;
	uint16_t length;
};

struct etw_event_map {
	const uint8_t *bytes; /* the EVENT_MAP_INFO, after the GUID of the provider; borrowed */
	uint32_t size;
	struct etw_guid provider;
	uint32_t name;
	uint32_t flag;        /* 1: values, 2: bits; others are not supported */
	uint32_t entry_count; /* the view has checked that the bytes contain them */
};

struct etw_event_map_entry {
	uint32_t name;
	uint32_t value;
};

bool etw_record_is_meta_data(const struct etw_record *record);

/* Make a view of a TRACE_EVENT_INFO or an EVENT_MAP_INFO. They return false if it is not complete.
 */
bool etw_event_info_view(const uint8_t *bytes, uint32_t size, struct etw_event_info *info);
bool etw_event_map_view(const struct etw_guid *provider, const uint8_t *bytes, uint32_t size,
			struct etw_event_map *map);

/* Make a view of a record. They return false if it is another record or not complete. */
bool etw_event_info_read(const struct etw_record *record, struct etw_event_info *info);
bool etw_event_map_read(const struct etw_record *record, struct etw_event_map *map);

/* Read one property or entry. index must be below the count of the view. */
void etw_event_info_property(const struct etw_event_info *info, uint32_t index,
			     struct etw_event_property *property);
void etw_event_map_entry(const struct etw_event_map *map, uint32_t index,
			 struct etw_event_map_entry *entry);

/*
 * Makes a value map. It and its names are one block, which the caller frees with free(). Returns
 * NULL when memory runs out, or if the flag of the map is not supported.
 */
struct etw_value_map *etw_event_map_make(const struct etw_event_map *map);

/*
 * Adds the string at an offset of the bytes as UTF-8, without trailing spaces. Returns false if the
 * offset is 0 or outside the bytes.
 */
bool etw_event_info_string(const uint8_t *bytes, uint32_t size, uint32_t offset,
			   struct etw_text *out);

#ifdef __cplusplus
}
#endif

#endif
