/* SPDX-License-Identifier: MIT */
/*
 * Writing recordings: payloads, records, a writer for new recordings, and mirrors. A mirror copies
 * a recording while a callback keeps, drops or replaces each record.
 */
#ifndef ETW_MIRROR_H
#define ETW_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>
#include <etw/recording.h>
#include <etw/relog.h>
#include <etw/schema.h>
#include <etw/types.h>

/* These are opaque. */
struct etw_header_field;
struct etw_json_value;
struct etw_mirror;
struct etw_writer;

/* A payload that is being built. Call etw_payload_init() before use. One thread at a time. */
struct etw_payload {
	uint8_t *bytes; /* owned */
	size_t size;
	size_t capacity;
	uint8_t pointer_size; /* 4 or 8 */
	bool failed;
};

void etw_payload_init(struct etw_payload *payload, uint8_t pointer_size);
void etw_payload_clear(struct etw_payload *payload); /* empties it and resets failed; the memory is
							kept for the next event */
void etw_payload_done(struct etw_payload *payload);

void etw_payload_u8(struct etw_payload *payload, uint8_t value);
void etw_payload_u16(struct etw_payload *payload, uint16_t value);
void etw_payload_u32(struct etw_payload *payload, uint32_t value);
void etw_payload_u64(struct etw_payload *payload, uint64_t value);
void etw_payload_pointer(struct etw_payload *payload,
			 uint64_t value); /* the low half of value if pointers have 4 bytes */
void etw_payload_bytes(struct etw_payload *payload, const void *bytes, size_t size);
void etw_payload_zeros(struct etw_payload *payload, size_t size);
void etw_payload_guid(struct etw_payload *payload, const struct etw_guid *guid);
void etw_payload_port(struct etw_payload *payload, uint16_t port); /* big-endian */

/*
 * The following functions take UTF-8. Bytes that are not UTF-8 become U+FFFD; write lone surrogates
 * with etw_payload_u16().
 *
 * etw_payload_utf16() adds characters of the text as UTF-16, at most `most` units and only whole
 * characters. Returns the number of units.
 */
size_t etw_payload_utf16(struct etw_payload *payload, const char *text, size_t size, size_t most);
void etw_payload_wstring(struct etw_payload *payload,
			 const char *text); /* UTF-16, NUL-terminated */
void etw_payload_wchars(struct etw_payload *payload, const char *text,
			size_t count); /* exactly count units: the text is cut or padded with NULs,
					  and the last unit is NUL */
void etw_payload_astring(struct etw_payload *payload,
			 const char *text); /* the bytes of text and their NUL */

/*
 * Adds a SID. text: "S-1-authority-sub-…" with at most 15 sub-authorities; a text that is not a SID
 * sets `failed`.
 *
 * etw_payload_user_sid() writes the form of the kernel's Process class: two pointer-sized words (a
 * user pointer that is not zero, attributes), then the SID. NULL writes four zero bytes, which mean
 * "no SID".
 */
void etw_payload_sid(struct etw_payload *payload, const char *text);
void etw_payload_user_sid(struct etw_payload *payload, const char *text);

/* A new value for one field, which may be a member of a single structure. */
struct etw_encode_change {
	unsigned index; /* index in the schema, as etw_schema_find_field() returns it */
	const struct etw_json_value *value;
};

/*
 * Sees one value of a payload: a scalar, a text, or one element of a list. Its answers:
 *
 * - ETW_ENCODE_KEEP: the bytes stay.
 * - ETW_ENCODE_TEXT: new_value is the new text, UTF-8, of any length that etw_encode_room()
 *   allows. It is always written, and nothing of the old bytes stays after it.
 * - ETW_ENCODE_BYTES: new_value has as many bytes as the element and replaces them.
 *
 * A value that the payload cut short (element->cut) takes no ETW_ENCODE_TEXT.
 */
enum etw_encode_answer { ETW_ENCODE_KEEP, ETW_ENCODE_TEXT, ETW_ENCODE_BYTES };
typedef enum etw_encode_answer etw_encode_visitor(void *context, const struct etw_field *field,
						  const struct etw_field_slice *element,
						  struct etw_text *new_value);

/* Returns how many units (etw_field_unit_size()) a text that replaces this one may have; SIZE_MAX:
 * any number. */
size_t etw_encode_room(const struct etw_field *field, const struct etw_field_slice *element);

/*
 * Copies the payload of the record with some values changed. All other bytes stay as they are, also
 * those after the last field. A value that equals the present one is not written again. A payload
 * that ends early ends at the same place.
 *
 * @visit: NULL, or a visitor of all values without a change. With a visitor, bytes after the last
 * field become zero, and those of a cut structure or list element become 0xff, so that it stays
 * cut.
 * @out:    gets the payload; etw_payload_init() with the pointer size of the record.
 *
 * Returns false, with a sentence that names the field, if a value does not fit.
 */
bool etw_encode_changed(const struct etw_schema *schema, const struct etw_record *record,
			const struct etw_encode_change *changes, size_t change_count,
			etw_encode_visitor *visit, void *context, struct etw_payload *out,
			struct etw_error *err);

/*
 * Makes a payload from values. Fields at the end may be missing, as in a payload that ends early.
 * If another field gives the length of a text, the text is padded with NULs to that length.
 *
 * @fields:  an object like `fields` of a dump. A dump shows only the number of some bytes: bytes
 * after the last field (_rest) become zero, and those of a field that is cut short (_truncated)
 * become 0xff up to `size`, so that the field is cut again.
 * @size:    bytes of the payload that was dumped; 0: not known.
 */
bool etw_encode_fields(const struct etw_schema *schema, const struct etw_json_value *fields,
		       size_t size, struct etw_payload *out, struct etw_error *err);

/*
 * Adds the data of one element; for a text only its characters, without a size, a terminator or
 * padding. Returns false if the value has another type, is out of range or malformed; the sentence
 * does not name the field.
 */
bool etw_encode_value(const struct etw_field *field, const struct etw_json_value *value,
		      struct etw_payload *out, struct etw_error *err);

/* One extended item of an event with an EVENT_HEADER. */
struct etw_out_item {
	uint16_t type; /* enum etw_extended_type */
	uint16_t size; /* bytes of data */
	const void *data;
};

/*
 * A record to write. All pointers are borrowed during the call. Members that the header of its type
 * does not have are ignored.
 *
 * SYSTEM, COMPACT and PERFINFO records take group, opcode and version; EVENT records take provider,
 * id, version, opcode and the rest of the descriptor; FULL and INSTANCE records take provider,
 * opcode, level and version. Only the header type and the size of TIMED, ERROR, WNODE,
 * MESSAGE_TYPED and UNKNOWN records are known: the payload follows these four bytes.
 */
struct etw_out_record {
	enum etw_record_type type;
	uint8_t pointer_size; /* 4 or 8, which selects the header type; 0: as the recording */
	uint16_t processor;
	int64_t raw_time; /* ticks of the recording's clock */
	uint32_t process_id;
	uint32_t thread_id;
	uint32_t kernel_time;
	uint32_t user_time;

	uint8_t group; /* docs/etl-format.md section 8 */
	uint8_t opcode;
	uint8_t version;
	uint8_t level;
	uint8_t channel;
	uint16_t id; /* event id, or the number of a message */
	uint16_t task;
	uint64_t keyword;
	/* flags of an EVENT header (0x0001 and 0x0004 are set as needed), or options of a message
	 */
	uint16_t flags;
	uint16_t property;               /* EventProperty */
	const struct etw_guid *provider; /* NULL: all zero */
	/* NULL: all zero; in an INSTANCE record the GUID of the parent */
	const struct etw_guid *activity;
	uint32_t instance_id;
	uint32_t parent_instance_id;
	uint32_t sequence; /* of a message whose options include it */
	uint32_t component;

	/* Additional header fields of SYSTEM, COMPACT and PERFINFO records (docs/etl-format.md
	 * section 4.4). */
	const uint64_t *pebs_index; /* NULL: none */
	const uint64_t *counters;
	uint8_t counter_count; /* at most 7 */

	const struct etw_out_item *items; /* extended items of an EVENT record */
	size_t item_count;
	const void *payload;
	size_t payload_size;
};

/* Returns the bytes of the whole record, without padding. The result may exceed 65,535, which no
 * record can have. */
size_t etw_out_record_size(const struct etw_out_record *record);

bool etw_output_is_standard(const char *path); /* "-"; NULL is allowed */

enum { ETW_LOGFILE_TIME_ZONE_REST = 168 }; /* bytes of TIME_ZONE_INFORMATION after its Bias */

/* When other programs can see the file of a recording. */
enum etw_visibility {
	ETW_VISIBLE_WHEN_COMPLETE,
	/* also before, under a random name, and left there if the program is killed */
	ETW_VISIBLE_ALWAYS,
	ETW_VISIBLE_NEVER, /* a temporary file beside the path */
};

/* What the header of a recording says. Zero selects the default, which each comment gives after its
 * colon. */
struct etw_writer_options {
	uint8_t pointer_size;        /* of the traced kernel, and of records without one: 8 */
	uint16_t processors;         /* 1 */
	uint32_t buffer_size;        /* bytes, a multiple of 8: 65536 */
	uint32_t header_buffer_size; /* bytes of the first buffer, raised to its contents if it is
					too small: buffer_size */
	bool compressed;             /* compress buffers where that makes them smaller */
	bool processor_index;        /* buffer headers mark their processor as a 16-bit index */
	bool unclosed; /* leave end time and number of buffers unset, like a session that was not
			  stopped */

	enum etw_clock_type clock; /* ETW_CLOCK_QPC */
	uint64_t perf_frequency;   /* ticks per second of the performance counter: 10,000,000 */
	uint32_t cpu_mhz;          /* 2400 */
	int64_t start_raw;         /* raw time of the header record: 0 */
	int64_t start_time;   /* wall time of start_raw, 100 ns since 1601 UTC: 2024-05-14 07:00 */
	int64_t end_time;     /* 100 ns since 1601 UTC: time of the latest record */
	int64_t boot_time;    /* 100 ns since 1601 UTC: an hour before the start */
	int32_t bias_minutes; /* UTC = local time + bias: 0 */
	/* names and rules of standard and daylight saving time as in TIME_ZONE_INFORMATION: no
	 * names and no daylight saving time */
	uint8_t time_zone_rest[ETW_LOGFILE_TIME_ZONE_REST];

	const char *session_name; /* UTF-8: ""; borrowed until etw_writer_open() returns */
	const char *file_name;    /* as session_name */
	uint32_t log_file_mode;   /* 1, sequential; the bit for compression is added */
	uint32_t maximum_file_mb; /* 0 */
	uint32_t os_build;        /* 17763 */
	uint8_t os_major;         /* 10 */
	uint8_t os_minor;         /* 0 */
	uint16_t logger_id;       /* 0 */
	uint32_t events_lost;     /* 0 */
	uint32_t buffers_lost;    /* 0 */
	uint32_t process_id;      /* process that started the session: 0 */
	uint32_t thread_id;       /* thread that started it: 0 */

	enum etw_visibility visibility;
};

/*
 * Begins a recording in a file, in memory (path NULL), or for the standard output ("-"). The file
 * gets its name in etw_writer_finish(), and replaces one of that name. Before that it looks like
 * that of a session that still runs, up to the last buffer written.
 */
struct etw_writer *etw_writer_open(const char *path, const struct etw_writer_options *options,
				   struct etw_error *err);

void etw_writer_add(struct etw_writer *writer, const struct etw_out_record *record);

/* Sets the losses that the header will report, in place of those of the options. */
void etw_writer_set_losses(struct etw_writer *writer, uint32_t events, uint32_t buffers);

/* Returns the bytes written so far, without buffers that are still being filled. */
uint64_t etw_writer_written(const struct etw_writer *writer);

/* Returns whether anything has failed, so that a long run can stop early. */
bool etw_writer_failed(const struct etw_writer *writer);
/* Returns whether nothing has failed; otherwise the failure is in *err. */
bool etw_writer_good(const struct etw_writer *writer, struct etw_error *err);

/* Flushes the buffers and completes the header. Returns false if this or anything before it failed.
 * Call it once. */
bool etw_writer_finish(struct etw_writer *writer, struct etw_error *err);

/* Leaves an unfinished file with ETW_VISIBLE_ALWAYS where it is. Returns its path, which the caller
 * frees; NULL if there is none. */
char *etw_writer_leave(struct etw_writer *writer);

/* Frees the writer and removes a file that was neither finished nor left. NULL is allowed. */
void etw_writer_close(struct etw_writer *writer);

/* ---- decisions about records ---- */

enum etw_mirror_action {
	ETW_MIRROR_KEEP,
	ETW_MIRROR_DROP,
	ETW_MIRROR_REPLACE,
	ETW_MIRROR_STOP, /* the copy fails; only the callback knows the reason */
};

struct etw_mirror_bytes {
	const uint8_t *at;
	size_t size; /* without padding */
};

/*
 * Gets a record and its bytes, header included. For ETW_MIRROR_REPLACE it sets *bytes to a whole
 * new record, borrowed until the next call; a larger record may make the buffer split. The logfile
 * header can be replaced, not dropped; the callback gets only that of the first input.
 */
typedef enum etw_mirror_action etw_mirror_decide(void *context, const struct etw_record *record,
						 struct etw_mirror_bytes *bytes);

/* The place of a buffer in its file. */
struct etw_mirror_place {
	uint64_t offset;
	uint64_t buffers; /* before it */
	uint64_t records; /* in these */
};

/* The callbacks of one copy. All members may be NULL. */
struct etw_mirror_visitor {
	void *context;
	/* NULL: every record stays, and buffers are copied as they are. */
	etw_mirror_decide *decide;
	void *buffer_context;
	void (*on_buffer)(void *context, uint64_t bytes_read); /* after each buffer */
	/*
	 * Selects the buffers to copy. It gets the place of the next buffer, sets *place to that of
	 * the buffer to copy next (the same or a later one), and returns false if no further buffer
	 * is to be copied. The first buffer of the first copy is always copied.
	 */
	void *seek_context;
	bool (*seek)(void *context, struct etw_mirror_place *place);
};

/* ---- a mirror ---- */

struct etw_mirror_form {
	enum etw_packing packing;
	/* Number of threads that compress buffers, including the caller's; 0: one for each
	 * processor. It does not change the bytes of the result. */
	unsigned threads;
};

struct etw_mirror_counts {
	uint64_t records;  /* written, the logfile header included */
	uint64_t dropped;  /* left out by the callback */
	uint64_t replaced; /* replaced by the callback; counted in records */
	uint64_t buffers;  /* written, after etw_mirror_finish() */
};

/* Returns whether two recordings can be merged; if not, the sentence says what differs. */
bool etw_mirror_fits(const struct etw_file *a, const struct etw_file *b, struct etw_error *err);

/*
 * Starts a recording at path, in memory (path NULL) or for the standard output (path "-"). A file
 * gets its name in etw_mirror_finish() (base/os.h, os_file_new()). The standard output gets
 * everything then, from a temporary file.
 *
 * @inputs: the recordings to copy; they must fit together (etw_mirror_fits()) and outlive the
 * mirror. The header is that of the first one, with the earliest start, the latest end and the sums
 * of the losses of all. A later record from etw_mirror_writer() moves the end.
 */
struct etw_mirror *etw_mirror_open(const char *path, struct etw_mirror_form form,
				   struct etw_file *const *inputs, size_t input_count,
				   struct etw_error *err);

/* As etw_mirror_open(), for a temporary file in the folder of a path. */
struct etw_mirror *etw_mirror_open_temporary(const char *beside, struct etw_mirror_form form,
					     struct etw_file *const *inputs, size_t input_count,
					     struct etw_error *err);

/*
 * Appends an input. The first call must pass the first input of etw_mirror_open(). What a reader
 * skips is counted in *damage and left out. Returns false if the input cannot be read, the result
 * cannot be written, or the callback stops the copy; in the last case *err is not set. After a
 * failure only etw_mirror_close() may be called.
 */
bool etw_mirror_copy(struct etw_mirror *mirror, struct etw_file *input,
		     const struct etw_mirror_visitor *visitor, struct etw_damage *damage,
		     struct etw_error *err);

/* Returns whether a copy failed because of its result, not because of its input; the error then
 * names the path of the result. */
bool etw_mirror_output_failed(const struct etw_mirror *mirror);

/*
 * Returns a writer for further records, to be used after the last copy. Add them in time order.
 * They get separate buffers at the end, so that they sort after other records of the same time. Raw
 * times are those of the first input's clock. etw_mirror_finish() reports failures.
 */
struct etw_writer *etw_mirror_writer(struct etw_mirror *mirror);

/* Completes the header and renames the file to its path. Returns false if this or anything before
 * failed; the error names the path. If the reader of the standard output has closed the pipe, it
 * returns false and leaves *err unset. */
bool etw_mirror_finish(struct etw_mirror *mirror, struct etw_error *err);

/* Opens what a mirror of etw_mirror_open_temporary() has written, after etw_mirror_finish(). The
 * file is gone when it and the mirror are closed. */
struct etw_file *etw_mirror_result(const struct etw_mirror *mirror, uint8_t pointer_size,
				   struct etw_error *err);

void etw_mirror_counts(const struct etw_mirror *mirror, struct etw_mirror_counts *counts);

/* Returns the recording in memory, after etw_mirror_finish(). It belongs to the mirror. */
const uint8_t *etw_mirror_bytes(const struct etw_mirror *mirror, size_t *size);

/* Frees the mirror, and removes a file that is not finished. NULL is allowed. */
void etw_mirror_close(struct etw_mirror *mirror);

enum { ETW_RECORD_SIZE_MOST = UINT16_MAX };

/* Returns whether the payload of a record is everything after its header and extended items. It is
 * not if these are damaged. */
bool etw_payload_is_whole(const struct etw_record *record, const uint8_t *bytes, size_t size);

/*
 * Writes the record with a new payload to out, which must have room for ETW_RECORD_SIZE_MOST bytes.
 * Its header and extended items are copied. Returns the new size; 0 if it would exceed
 * ETW_RECORD_SIZE_MOST, or the old payload is not whole.
 */
size_t etw_replace_payload(const struct etw_record *record, const uint8_t *bytes, size_t size,
			   const void *payload, size_t payload_size, uint8_t *out);

/*
 * Copies the bytes of the record to out, which must have room for size bytes, without the extended
 * items whose type is set in types (bit 5 for type 5). Returns the size of the copy. Returns 0 and
 * copies nothing if the record has no such item or its items are damaged.
 */
size_t etw_strip_items(const struct etw_record *record, const uint8_t *bytes, size_t size,
		       uint32_t types, uint8_t *out);

/* Finds a field by name: "provider", "id", "version", "opcode", "level", "task", "keyword", "pid"
 * or "tid"; NULL for other names. */
const struct etw_header_field *etw_header_field_find(const char *name);

/* Returns whether the field is a GUID: the provider is, all others are numbers. */
bool etw_header_field_is_guid(const struct etw_header_field *field);

/* Returns the highest value that the field can have in a header of this type; 0 if the header has
 * no such field. */
uint64_t etw_header_field_most(const struct etw_header_field *field, enum etw_record_type type);

/* Overwrite the field in the bytes of a whole record. value is at most etw_header_field_most(). */
void etw_header_field_set(const struct etw_header_field *field, enum etw_record_type type,
			  uint64_t value, uint8_t *bytes);
void etw_header_field_set_guid(const struct etw_header_field *field, enum etw_record_type type,
			       const struct etw_guid *guid, uint8_t *bytes);

/* ---- records that are added to a mirror ---- */

/*
 * Records that wait in memory, as bytes, until the copy is done. They may be added in any order;
 * they are written sorted by time, and records of the same time in the order of adding.
 * Zero-initialise it.
 */
struct etw_added_records {
	struct etw_added_record *records; /* owned */
	size_t count, capacity;
	struct etw_payload bytes; /* of the records */
};

/*
 * Adds a record of at most 65,535 bytes. pointer_size: used if the record has 0.
 *
 * @processors: number of processors in the header of the recording. A record of another processor
 * is refused, because a reader would treat it as damage.
 */
bool etw_added_records_keep(struct etw_added_records *added, const struct etw_out_record *record,
			    uint8_t pointer_size, uint32_t processors, struct etw_error *err);

/* Adds the records to the writer of a mirror, after the last copy. */
void etw_added_records_write(struct etw_added_records *added, struct etw_writer *writer);

void etw_added_records_done(struct etw_added_records *added);

#endif
