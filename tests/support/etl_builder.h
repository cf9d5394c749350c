/* SPDX-License-Identifier: MIT */
/*
 * Writes .etl recordings: records go in, buffers with their headers come out, in a file or in
 * memory.
 *
 * Each processor has one open buffer, which goes out when it is full, as in a session; the first
 * buffer, with the logfile header, is completed last. Memory is bounded by the processors' buffers.
 * Records stand in a buffer in the order in which they are added: giving them in time order per
 * processor is the caller's part, as is what their payloads mean.
 *
 * The functions that add return nothing: the first failure is kept, the rest does nothing, and
 * etl_builder_finish() reports. One thread. The bytes are those of docs/etl-format.md sections 1 to
 * 5 and 9.
 */
#ifndef SUPPORT_ETL_BUILDER_H
#define SUPPORT_ETL_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"
#include "source/event_record.h"
#include "source/source.h"
#include "tests/support/payload.h"

/* What a recording says about itself. Zero-initialised fields take the value behind the colon. */
struct etl_builder_options {
	uint8_t pointer_size;        /* of the traced kernel and of records that do not say: 8 */
	uint16_t processors;         /* 1 */
	uint32_t buffer_size;        /* bytes, a multiple of 8: 65536 */
	uint32_t header_buffer_size; /* of the first buffer, raised to what is in it: buffer_size */
	bool compressed;             /* buffers are packed, where that makes them smaller */
	bool processor_index;        /* buffers say that their processor is a 16-bit index */
	bool unclosed; /* leave end time and number of buffers as a session that was not stopped
			  does */

	enum clock_type clock;   /* CLOCK_QPC */
	uint64_t perf_frequency; /* ticks per second of the performance counter: 10,000,000 */
	uint32_t cpu_mhz;        /* 2400 */
	int64_t start_raw;       /* T0, the raw time of the header record: 0 */
	int64_t start_time;      /* the same moment, 100 ns since 1601 UTC: 2024-05-14 07:00 */
	int64_t end_time;        /* likewise: that of the latest record */
	int64_t boot_time;       /* likewise: an hour before the start */
	int32_t bias_minutes;    /* UTC = local time + bias: 0 */

	const char *session_name; /* UTF-8: empty; borrowed until etl_builder_open() returns */
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

/* One extended item of an event (EVENT_HEADER records). */
struct built_item {
	uint16_t type; /* enum extended_type */
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
struct built_record {
	enum record_type type;
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
	uint16_t flags; /* of an EVENT header (0x0001 is set as needed), or a message's options */
	uint16_t property;           /* EventProperty */
	const struct guid *provider; /* NULL: all zero */
	const struct guid *activity; /* likewise; of an INSTANCE record the parent's GUID */
	uint32_t instance_id;
	uint32_t parent_instance_id;
	uint32_t sequence; /* of a message, by its option flags */
	uint32_t component;

	/* Header extras of SYSTEM, COMPACT and PERFINFO records (section 4.4). */
	const uint64_t *pebs_index; /* NULL: none */
	const uint64_t *counters;
	uint8_t counter_count; /* at most 7 */

	const struct built_item *items; /* extended items of an EVENT record */
	size_t item_count;
	const void *payload;
	size_t payload_size;
};

struct etl_builder; /* opaque */

/* A recording in a file, which is overwritten, or in memory (path NULL). Nothing can be read before
 * etl_builder_finish(). */
struct etl_builder *etl_builder_open(const char *path, const struct etl_builder_options *options,
				     struct error *err);

void etl_builder_add(struct etl_builder *builder, const struct built_record *record);

/* The same with the payload of a struct payload; one that failed fails the builder. */
void etl_builder_add_payload(struct etl_builder *builder, const struct built_record *record,
			     const struct payload *payload);

/* Into the first buffer, behind the header: the extension and partition records that sessions write
 * there. */
void etl_builder_add_to_header(struct etl_builder *builder, const struct built_record *record);

/* A whole record as it stands in another recording, header included, without padding; raw_time is
 * the one in its header. */
void etl_builder_add_raw(struct etl_builder *builder, uint16_t processor, int64_t raw_time,
			 const void *bytes, size_t size);

/* Writes all open buffers, by processor; the last one has the mark of a flush. */
void etl_builder_flush(struct etl_builder *builder);

/* From now on: whether buffers are packed. Those already written stay as they are. */
void etl_builder_set_compressed(struct etl_builder *builder, bool compressed);

/* The losses that the header will report; replaces those of the options. */
void etl_builder_set_losses(struct etl_builder *builder, uint32_t events, uint32_t buffers);

/* Bytes of the recording so far, open buffers left out. */
uint64_t etl_builder_written(const struct etl_builder *builder);

/* Whether something failed; a long run need not go on then. */
bool etl_builder_failed(const struct etl_builder *builder);

/* Flushes and completes the header. False when that or anything before it failed. Once. */
bool etl_builder_finish(struct etl_builder *builder, struct error *err);

/* The recording in memory, after etl_builder_finish(); the builder's, until etl_builder_close(). */
const uint8_t *etl_builder_bytes(const struct etl_builder *builder, size_t *size);

/* Frees everything; a file that was not finished stays behind incomplete. NULL is fine. */
void etl_builder_close(struct etl_builder *builder);

/* Raw time of a moment `ns` nanoseconds after the start, by the recording's clock. */
int64_t etl_builder_raw_time(const struct etl_builder *builder, uint64_t ns);

#endif
