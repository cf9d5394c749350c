/* SPDX-License-Identifier: MIT */
/*
 * Writing recordings: payloads, records, a writer for new recordings, and mirrors, which write a
 * recording again with what a callback makes of each record.
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
struct etw_output;
struct etw_writer;

/* etw_payload_init() before use. One thread. */
struct etw_payload {
	uint8_t *bytes; /* owned */
	size_t size;
	size_t capacity;
	uint8_t pointer_size; /* 4 or 8 */
	bool failed;
};

void etw_payload_init(struct etw_payload *payload, uint8_t pointer_size);
void etw_payload_clear(struct etw_payload *payload); /* empties it for the next event, keeps the
						memory; an earlier failure is forgotten */
void etw_payload_done(struct etw_payload *payload);

void etw_payload_u8(struct etw_payload *payload, uint8_t value);
void etw_payload_u16(struct etw_payload *payload, uint16_t value);
void etw_payload_u32(struct etw_payload *payload, uint32_t value);
void etw_payload_u64(struct etw_payload *payload, uint64_t value);
void etw_payload_pointer(struct etw_payload *payload,
			 uint64_t value); /* its low half when pointers have 4 bytes */
void etw_payload_bytes(struct etw_payload *payload, const void *bytes, size_t size);
void etw_payload_zeros(struct etw_payload *payload, size_t size);
void etw_payload_guid(struct etw_payload *payload, const struct etw_guid *guid);
void etw_payload_port(struct etw_payload *payload, uint16_t port); /* big-endian */

/* Text is UTF-8 here. What is not UTF-8 becomes U+FFFD; lone surrogates are written with
 * etw_payload_u16(). */
/* Whole characters of text as UTF-16, at most `most` units; returns how many units they are. */
size_t etw_payload_utf16(struct etw_payload *payload, const char *text, size_t size, size_t most);
void etw_payload_wstring(struct etw_payload *payload,
			 const char *text); /* UTF-16, NUL-terminated */
void etw_payload_wchars(
	struct etw_payload *payload, const char *text,
	size_t count); /* exactly count units: cut or filled with NULs, the last one NUL */
void etw_payload_counted_wstring(struct etw_payload *payload,
				 const char *text); /* u16 byte count first */
void etw_payload_astring(struct etw_payload *payload,
			 const char *text); /* the bytes and their NUL */

/*
 * A SID written S-1-authority-sub-…, at most 15 sub-authorities; text that is none sets `failed`.
 *
 * etw_payload_user_sid() writes the form of the kernel's Process class: two pointer-sized words (a
 * user pointer that is not zero, attributes), then the SID; NULL writes the four zero bytes that
 * say "no SID".
 */
void etw_payload_sid(struct etw_payload *payload, const char *text);
void etw_payload_user_sid(struct etw_payload *payload, const char *text);

/* A new value for one field, a member of a single structure among them. */
struct etw_encode_change {
	unsigned index; /* in the schema, as etw_schema_find_field() returns it */
	const struct etw_json_value *value;
};

/*
 * Sees one value of a payload: a scalar, a text, or one element of a list. What it asks for:
 *
 * ETW_ENCODE_KEEP    the bytes stay;
 * ETW_ENCODE_TEXT    new_value is the new text, UTF-8, of any length that etw_encode_room() allows;
 * it is written in any case, with nothing of the old bytes behind it; ETW_ENCODE_BYTES   new_value
 * has as many bytes as the element, which replace them.
 *
 * A value that the payload cut short (element->cut) takes no ETW_ENCODE_TEXT.
 */
enum etw_encode_answer { ETW_ENCODE_KEEP, ETW_ENCODE_TEXT, ETW_ENCODE_BYTES };
typedef enum etw_encode_answer etw_encode_visitor(void *context, const struct etw_field *field,
						  const struct etw_field_slice *element,
						  struct etw_text *new_value);

/* Units (etw_field_unit_size()) that a text may have in the place of this one; SIZE_MAX: any
 * number. */
size_t etw_encode_room(const struct etw_field *field, const struct etw_field_slice *element);

/*
 * Copies the payload of the record with some values changed. All other bytes stay as they are,
 * those behind the last field included, and a value that is given as it already stands is not
 * written again. A payload that ends early ends there again.
 *
 * @visit:  NULL or a visitor of all values that have no change; bytes behind the last field then
 *          become zero, and those of a structure or an element of a list that is cut become 0xff,
 *          which leaves it cut.
 * @out:    gets the payload; etw_payload_init() with the pointer size of the record.
 *
 * False, with a sentence that names the field, when a value does not fit.
 */
bool etw_encode_changed(const struct etw_schema *schema, const struct etw_record *record,
			const struct etw_encode_change *changes, size_t change_count,
			etw_encode_visitor *visit, void *context, struct etw_payload *out,
			struct etw_error *err);

/*
 * Makes a payload of values alone. Fields at the end may be missing, as in a payload that ends
 * early; a text that has the field of its length beside it is filled up with NULs to that length.
 *
 * @fields:  an object, as `fields` of a dump. Of bytes that a dump does not show only the number is
 *           known: those behind the last field (_rest) become zero, and those of a field that the
 *           payload cut short (_truncated) become 0xff up to `size`, so that the field is cut
 *           again.
 * @size:    bytes of the payload that was dumped; 0: not known.
 */
bool etw_encode_fields(const struct etw_schema *schema, const struct etw_json_value *fields,
		       size_t size, struct etw_payload *out, struct etw_error *err);

/*
 * Adds the data of one element: of a text its characters, without a count, a terminator or padding.
 * False when the value is of another type, out of range or malformed; the sentence does not name
 * the field.
 */
bool etw_encode_value(const struct etw_field *field, const struct etw_json_value *value,
		      struct etw_payload *out, struct etw_error *err);

/* One extended item of an event (EVENT_HEADER records). */
struct etw_out_item {
	uint16_t type; /* enum etw_extended_type */
	uint16_t size; /* bytes of data */
	const void *data;
};

/*
 * One record. Everything is borrowed for the length of the call. Fields that the header of its type
 * does not have are ignored.
 *
 * SYSTEM, COMPACT and PERFINFO records take group, opcode and version; EVENT records take provider,
 * id, version, opcode and the rest of the descriptor; FULL and INSTANCE records take provider,
 * opcode, level and version. Of TIMED, ERROR, WNODE, MESSAGE_TYPED and UNKNOWN records nothing is
 * known but the header type and the size: the payload follows these four bytes.
 */
struct etw_out_record {
	enum etw_record_type type;
	uint8_t pointer_size; /* 4 or 8: picks the header type; 0: the recording's */
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
	/* of an EVENT header (0x0001 and 0x0004 are set as needed), or a message's options */
	uint16_t flags;
	uint16_t property;               /* EventProperty */
	const struct etw_guid *provider; /* NULL: all zero */
	const struct etw_guid *activity; /* likewise; of an INSTANCE record the parent's GUID */
	uint32_t instance_id;
	uint32_t parent_instance_id;
	uint32_t sequence; /* of a message, by its option flags */
	uint32_t component;

	/* Header extras of SYSTEM, COMPACT and PERFINFO records (section 4.4). */
	const uint64_t *pebs_index; /* NULL: none */
	const uint64_t *counters;
	uint8_t counter_count; /* at most 7 */

	const struct etw_out_item *items; /* extended items of an EVENT record */
	size_t item_count;
	const void *payload;
	size_t payload_size;
};

/* Bytes of the whole record, without padding. May be more than a record can have. */
size_t etw_out_record_size(const struct etw_out_record *record);

/* Writes exactly etw_out_record_size() bytes, at most 65535. pointer_size: for a record that does
 * not say. */
void etw_out_record_store(const struct etw_out_record *record, uint8_t pointer_size, uint8_t *at);

/* path: NULL is memory, "-" the standard output. */
bool etw_output_open(struct etw_output *output, const char *path, struct etw_error *err);
bool etw_output_is_standard(const char *path); /* NULL is allowed */
bool etw_output_write(struct etw_output *output, const uint8_t *bytes, size_t size,
		      struct etw_error *err);

enum { ETW_LOGFILE_TIME_ZONE_REST = 168 }; /* bytes of TIME_ZONE_INFORMATION behind its Bias */

/* What a recording says about itself. Zero-initialised fields take the value behind the colon. */
struct etw_writer_options {
	uint8_t pointer_size;        /* of the traced kernel and of records that do not say: 8 */
	uint16_t processors;         /* 1 */
	uint32_t buffer_size;        /* bytes, a multiple of 8: 65536 */
	uint32_t header_buffer_size; /* of the first buffer, raised to what is in it: buffer_size */
	bool compressed;             /* buffers are packed, where that makes them smaller */
	bool processor_index;        /* buffers say that their processor is a 16-bit index */
	bool unclosed; /* leave end time and number of buffers as a session that was not stopped
			  does */

	enum etw_clock_type clock; /* ETW_CLOCK_QPC */
	uint64_t perf_frequency;   /* ticks per second of the performance counter: 10,000,000 */
	uint32_t cpu_mhz;          /* 2400 */
	int64_t start_raw;         /* T0, the raw time of the header record: 0 */
	int64_t start_time;        /* the same moment, 100 ns since 1601 UTC: 2024-05-14 07:00 */
	int64_t end_time;          /* likewise: that of the latest record */
	int64_t boot_time;         /* likewise: an hour before the start */
	int32_t bias_minutes;      /* UTC = local time + bias: 0 */
	/* names and rules of standard and daylight saving time, as in the header of the session: no
	   names, and no daylight saving time */
	uint8_t time_zone_rest[ETW_LOGFILE_TIME_ZONE_REST];

	const char *session_name; /* UTF-8: empty; borrowed until etw_writer_open() returns */
	const char *file_name;    /* likewise */
	uint32_t log_file_mode;   /* 1, sequential; the bit for compression is added */
	uint32_t maximum_file_mb; /* 0 */
	uint32_t os_build;        /* 17763 */
	uint8_t os_major;         /* 10 */
	uint8_t os_minor;         /* 0 */
	uint16_t logger_id;       /* 0 */
	uint32_t events_lost;     /* 0 */
	uint32_t buffers_lost;    /* 0 */
	uint32_t process_id;      /* of who started the session: 0 */
	uint32_t thread_id;       /* likewise */
};

/*
 * A recording in a file, which is overwritten, or in memory (path NULL). Before etw_writer_finish()
 * it reads as that of a session that still runs, up to the last buffer that went out.
 */
struct etw_writer *etw_writer_open(const char *path, const struct etw_writer_options *options,
				   struct etw_error *err);

void etw_writer_add(struct etw_writer *writer, const struct etw_out_record *record);

/* A whole record as it stands in another recording, header included, without padding; raw_time is
 * the one in its header. */
void etw_writer_add_raw(struct etw_writer *writer, uint16_t processor, int64_t raw_time,
			const void *bytes, size_t size);

/* The losses that the header will report; replaces those of the options. */
void etw_writer_set_losses(struct etw_writer *writer, uint32_t events, uint32_t buffers);

/* Bytes of the recording so far, open buffers left out. */
uint64_t etw_writer_written(const struct etw_writer *writer);

/* Whether something failed; a long run need not go on then. */
bool etw_writer_failed(const struct etw_writer *writer);
/* The opposite, with the failure. */
bool etw_writer_good(const struct etw_writer *writer, struct etw_error *err);

/* Flushes and completes the header. False when that or anything before it failed. Once. */
bool etw_writer_finish(struct etw_writer *writer, struct etw_error *err);

/* Frees everything; a file that was not finished stays behind incomplete. NULL is fine. */
void etw_writer_close(struct etw_writer *writer);

/* ---- what becomes of a record ---- */

enum etw_mirror_action {
	ETW_MIRROR_KEEP,
	ETW_MIRROR_DROP,
	ETW_MIRROR_REPLACE,
	ETW_MIRROR_STOP, /* the copy fails: the callback knows why */
};

struct etw_mirror_bytes {
	const uint8_t *at;
	size_t size; /* without padding */
};

/*
 * Gets a record and its bytes, header included. For ETW_MIRROR_REPLACE it sets *bytes to a whole
 * record in their place, borrowed until the next call; a larger one may split the buffer. A logfile
 * header can be replaced, not dropped; of all inputs but the first it is not shown.
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
	 * To copy some buffers only: gets the place of the next one, sets that of the buffer to
	 * copy next, which is the same or behind it, and returns whether there is one. The first
	 * buffer of the first copy cannot be left out.
	 */
	void *seek_context;
	bool (*seek)(void *context, struct etw_mirror_place *place);
};

/* ---- a mirror ---- */

struct etw_mirror_form {
	enum etw_packing packing;
	/* So many threads pack buffers, the caller's among them; 0: one for each processor. The
	 * result has the same bytes. */
	unsigned threads;
};

struct etw_mirror_counts {
	uint64_t records;  /* written, the logfile header included */
	uint64_t dropped;  /* left out by the callback */
	uint64_t replaced; /* of those written */
	uint64_t buffers;  /* written, after etw_mirror_finish() */
};

/* Whether recordings can be merged: false, with a sentence that says what differs. */
bool etw_mirror_fits(const struct etw_file *a, const struct etw_file *b, struct etw_error *err);

/*
 * Starts a recording at path, in memory (path NULL) or for the standard output (path "-"). A file
 * has another name beside path until etw_mirror_finish(), and the standard output gets nothing
 * before: then all of it, from a temporary file.
 *
 * @inputs: what it is made from; they must fit together and outlive it. The header is that of the
 * first one with the least start, the greatest end and the sums of the losses. A record that is
 * added later than that (etw_mirror_writer()) moves the end.
 */
struct etw_mirror *etw_mirror_open(const char *path, struct etw_mirror_form form,
				   struct etw_file *const *inputs, size_t input_count,
				   struct etw_error *err);

/*
 * Appends an input. The first one must be the first of etw_mirror_open(); the others fit it. What a
 * reader skips is counted and left out. False when the input cannot be read, the result cannot be
 * written or the callback stops the copy, of which the error then says nothing; then only
 * etw_mirror_close() follows.
 */
bool etw_mirror_copy(struct etw_mirror *mirror, struct etw_file *input,
		     const struct etw_mirror_visitor *visitor, struct etw_damage *damage,
		     struct etw_error *err);

/* Whether a copy failed because of the result, and not because of its input; the error then has the
 * path. */
bool etw_mirror_output_failed(const struct etw_mirror *mirror);

/*
 * After the last copy, for further records: they are added in time order and get buffers of
 * their own behind the others, so that they also sort behind others of the same time. Raw times are
 * those of the first input's clock. Its failures are reported by etw_mirror_finish().
 */
struct etw_writer *etw_mirror_writer(struct etw_mirror *mirror);

/* Completes the header and gives the file its name. False when that or anything before failed; the
 * error has the path. There is none if the reader of the standard output has seen enough. */
bool etw_mirror_finish(struct etw_mirror *mirror, struct etw_error *err);

void etw_mirror_counts(const struct etw_mirror *mirror, struct etw_mirror_counts *counts);

/* The recording in memory, after etw_mirror_finish(); the mirror's. */
const uint8_t *etw_mirror_bytes(const struct etw_mirror *mirror, size_t *size);

/* Frees everything, and removes a file that is not finished. NULL is allowed. */
void etw_mirror_close(struct etw_mirror *mirror);

enum { ETW_RECORD_SIZE_MOST = UINT16_MAX };

/* Whether the payload of a record is all that follows its header and extended items. It is not
 * where these are damaged. */
bool etw_payload_is_whole(const struct etw_record *record, const uint8_t *bytes, size_t size);

/*
 * Writes the record (its header and extended items are copied) with the new payload to out, which
 * has room for ETW_RECORD_SIZE_MOST bytes. Returns its size; 0 if that would be more, or the old
 * payload is not whole.
 */
size_t etw_replace_payload(const struct etw_record *record, const uint8_t *bytes, size_t size,
			   const void *payload, size_t payload_size, uint8_t *out);

/*
 * Copies the bytes of the record to out, which has room for size bytes, without the items whose
 * type is a bit of types (bit 5 for type 5). Returns the size of the copy; 0, and nothing is
 * copied, if the record has no such item, or items that are damaged.
 */
size_t etw_strip_items(const struct etw_record *record, const uint8_t *bytes, size_t size,
		       uint32_t types, uint8_t *out);

/* "provider", "id", "version", "opcode", "level", "task", "keyword", "pid", "tid"; NULL: none. */
const struct etw_header_field *etw_header_field_find(const char *name);

/* The provider is a GUID, all others are numbers. */
bool etw_header_field_is_guid(const struct etw_header_field *field);

/* The highest value that the header of this type can have; 0: the header has no such value. */
uint64_t etw_header_field_most(const struct etw_header_field *field, enum etw_record_type type);

/* Overwrites the value, which is at most etw_header_field_most(), in a whole record. */
void etw_header_field_set(const struct etw_header_field *field, enum etw_record_type type,
			  uint64_t value, uint8_t *bytes);
void etw_header_field_set_guid(const struct etw_header_field *field, enum etw_record_type type,
			       const struct etw_guid *guid, uint8_t *bytes);

/* ---- records that are added to a mirror ---- */

/*
 * They wait as bytes, in memory, and may come in any order: they are sorted by time, and those of
 * one time stay in the order in which they came. Zero-initialise it.
 */
struct etw_added_records {
	struct etw_added_record *records; /* owned */
	size_t count, capacity;
	struct etw_payload bytes; /* of the records */
};

/*
 * Adds a record, which has at most 65,535 bytes. pointer_size: for a record that does not say.
 *
 * @processors: of the machine, as the header of the recording says: a reader takes others for
 * damage.
 */
bool etw_added_records_keep(struct etw_added_records *added, const struct etw_out_record *record,
			    uint8_t pointer_size, uint32_t processors, struct etw_error *err);

/* After the last copy: adds them to the writer of the mirror. */
void etw_added_records_write(struct etw_added_records *added, struct etw_writer *writer);

void etw_added_records_done(struct etw_added_records *added);

#endif
