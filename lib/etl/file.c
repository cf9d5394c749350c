/* SPDX-License-Identifier: MIT */
/*
 * Opens recordings.
 *
 * A recording starts with a buffer whose first record is the logfile header. Opening a recording
 * reads only this buffer and takes from the header the clock and the pointer size with which all
 * other records are read.
 *
 * The header contains two pointers of the session that wrote it, so everything after them is 8
 * bytes later in the 64-bit layout. A pad of 4 bytes aligns the times after the time zone to 8
 * bytes in both layouts. Two strings in UTF-16 follow the fixed part: the names of the session and
 * of the file. Values in the header can be wrong (a frequency of 0, an unknown clock). Such a
 * recording is still read, with defaults, and etwtool summary reports the doubt.
 */
#include "lib/etl/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/mirror.h>

#include "base/cursor.h"
#include "base/text.h"
#include "base/utf8.h"

enum {
	OPCODE_HEADER = 0,
	DEFAULT_FREQUENCY = 10000000,
	NAME_CHARACTERS_MAX = 1024, /* limit of ETW; longer names are cut */
};

/* Returns whether a record is a logfile header. */
bool etl_is_header(const struct etw_record *record)
{
	return record->type == ETW_RECORD_SYSTEM &&
	       record->kernel_group == ETW_KERNEL_GROUP_EVENT_TRACE &&
	       record->opcode == OPCODE_HEADER;
}

/* Reads a NUL-terminated UTF-16 string as UTF-8; NULL when memory runs out. Unpaired surrogates
 * become U+FFFD. */
static char *read_name(struct cursor *c)
{
	struct etw_text text = { 0 };
	char *name;

	for (unsigned i = 0; cursor_left(c) >= 2; i++) {
		uint32_t unit = cursor_u16(c);
		char encoded[4];

		if (unit == 0) {
			break;
		}
		if (i >= NAME_CHARACTERS_MAX) {
			continue;
		}
		if (unit >= 0xd800 && unit < 0xdc00 && cursor_left(c) >= 2) {
			uint32_t low = etw_load_u16(c->at);

			if (low >= 0xdc00 && low < 0xe000) {
				cursor_skip(c, 2);
				unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
			}
		}
		text_add(&text, encoded, utf8_encode(unit, encoded));
	}
	name = text.failed ? NULL : text_duplicate(text.data ? text.data : "", text.size);
	text_free(&text);
	return name;
}

/*
 * Reads the header record. The header type of the record determines its layout, not the pointer
 * size inside it: pointer_size must be as recorded. The caller must free the names also after a
 * failure.
 */
static bool read_header_record(struct etw_header *header, const struct etw_record *record,
			       struct etw_error *err)
{
	struct cursor c = cursor_over(record->payload, record->payload_size);

	*header = (struct etw_header){ .raw_time = record->raw_time };
	header->buffer_size_bytes = cursor_u32(&c);
	header->version_major = cursor_u8(&c);
	header->version_minor = cursor_u8(&c);
	cursor_skip(&c, 2); /* SubVersion, SubMinorVersion */
	header->os_build = cursor_u32(&c);
	header->processors = cursor_u32(&c);
	header->end_time = (int64_t)cursor_u64(&c);
	header->timer_resolution_100ns = cursor_u32(&c);
	cursor_skip(&c, 4); /* MaximumFileSize */
	header->mode = cursor_u32(&c);
	header->buffers_written = cursor_u32(&c);
	cursor_skip(&c, 4); /* StartBuffers */
	header->pointer_size = cursor_u32(&c);
	header->events_lost = cursor_u32(&c);
	header->cpu_mhz = cursor_u32(&c);
	cursor_pointer(&c, record->pointer_size); /* LoggerName */
	cursor_pointer(&c, record->pointer_size); /* LogFileName */
	header->timezone_bias_minutes = (int32_t)cursor_u32(&c);
	cursor_skip(&c, ETW_LOGFILE_TIME_ZONE_REST + 4); /* and padding */
	header->boot_time = (int64_t)cursor_u64(&c);
	header->perf_frequency = (int64_t)cursor_u64(&c);
	header->start_time = (int64_t)cursor_u64(&c);
	header->clock_type = cursor_u32(&c);
	header->buffers_lost = cursor_u32(&c);
	if (c.overrun) {
		return error_set(err, ETW_ERROR_FORMAT,
				 "its logfile header has %u bytes, too few for its fields",
				 (unsigned)record->payload_size);
	}
	header->logger_name = read_name(&c);
	header->log_file_name = read_name(&c);
	if (!header->logger_name || !header->log_file_name) {
		return error_no_memory(err, "the names in its header");
	}
	return true;
}

struct etw_source_clock etl_header_clock(const struct etw_header *header, const char **doubt)
{
	struct etw_source_clock clock = {
		.type = (enum etw_clock_type)header->clock_type,
		.perf_frequency = DEFAULT_FREQUENCY,
		.anchor_raw = header->raw_time,
		.anchor_time = header->start_time,
	};

	*doubt = NULL;
	if (header->perf_frequency > 0) {
		clock.perf_frequency = (uint64_t)header->perf_frequency;
	} else {
		*doubt = "its header has no performance counter frequency: taken as 10 MHz";
	}
	switch (header->clock_type) {
	case ETW_CLOCK_SYSTEM_TIME:
		clock.frequency = 10000000;
		break;
	case ETW_CLOCK_CPU_CYCLE:
		clock.frequency = (uint64_t)header->cpu_mhz * 1000000;
		if (clock.frequency == 0) {
			clock.frequency = DEFAULT_FREQUENCY;
			*doubt =
				"its clock counts processor cycles, but its header has no processor "
				"speed: taken as 10 MHz";
		}
		break;
	case ETW_CLOCK_QPC:
		clock.frequency = clock.perf_frequency;
		break;
	default:
		clock.frequency = clock.perf_frequency;
		*doubt = "its header has an unknown clock type: taken as the performance counter";
		break;
	}
	etw_clock_find_uptime(&clock, header->boot_time);
	return clock;
}

const char *etw_header_mode_name(const struct etw_header *header)
{
	return header->mode & ETW_MODE_CIRCULAR   ? "circular" :
	       header->mode & ETW_MODE_BUFFERING  ? "buffering" :
	       header->mode & ETW_MODE_NEW_FILE   ? "new_file" :
	       header->mode & ETW_MODE_SEQUENTIAL ? "sequential" :
						    "file";
}

/* ---- the file ---- */

/* Used until the header is read, because only the raw time of the first record is used. */
static const struct etw_source_clock no_clock = {
	.type = ETW_CLOCK_QPC,
	.frequency = 10000000,
	.perf_frequency = 10000000,
};

/*
 * Files that users pass by mistake, recognised by their first bytes. No recording begins with them:
 * its first four bytes are the size of a buffer (docs/etl-format.md section 1.1), a multiple of 8
 * that is at most ETL_BUFFER_MAX; read as a number, these bytes are larger or not a multiple of 8.
 *
 * Sources: ".ZIP File Format Specification" 4.3; RFC 1952, 2.3.1; RFC 8878, 3.1.1; "The .xz File
 * Format" 2.1.1; 7-Zip, 7zFormat.txt; [MS-CAB] 2.1; [MS-EVTX] and libyal/libevtx (event logs);
 * dotnet/diagnostics (NetTrace); minidumpapiset.h.
 */
static const struct other_format {
	const char *magic;
	uint8_t size;
	const char *name;
	/* The file may contain a recording. lib/etl/packed.h unpacks some of these formats, but not
	 * one inside another. */
	bool archive;
} other_formats[] = {
	{ "PK\x03\x04", 4, "a zip archive", true },
	{ "PK\x05\x06", 4, "an empty zip archive", false },
	{ "\x1f\x8b", 2, "packed by gzip", true },
	{ "\xfd"
	  "7zXZ",
	  5, "packed by xz", true },
	{ "7z\xbc\xaf\x27\x1c", 6, "a 7-Zip archive", true },
	{ "BZh", 3, "packed by bzip2", true },
	{ "\x28\xb5\x2f\xfd", 4, "packed by zstd", true },
	{ "Rar!", 4, "a RAR archive", true },
	{ "MSCF", 4, "a cabinet (.cab)", true },
	{ "ElfFile", 8, "an event log of Windows (.evtx)", false },
	{ "Nettrace", 8, "a trace of .NET's EventPipe (.nettrace)", false },
	{ "MDMP", 4, "a memory dump", false },
	{ "PAGEDU", 6, "a memory dump", false },
	{ "<?xml", 5, "XML", false },
};

static bool refuse_other_format(struct etl_input *input, struct etw_error *err)
{
	char start[8];
	size_t size;

	if (!etl_input_read(input, 0, start, sizeof start, &size, err)) {
		return false;
	}
	for (size_t i = 0; i < sizeof other_formats / sizeof other_formats[0]; i++) {
		const struct other_format *other = &other_formats[i];

		if (size >= other->size && memcmp(start, other->magic, other->size) == 0) {
			return error_set(err, ETW_ERROR_FORMAT, "is %s%s", other->name,
					 other->archive ? ": unpack it first" :
							  ", not a recording (.etl)");
		}
	}
	return true;
}

bool etl_file_read_header(struct etw_file *file, uint8_t pointer_size, struct etw_error *err)
{
	struct etw_damage damage = { 0 };
	struct etl_scan scan;
	struct etl_buffer buffer;
	struct etl_format format;
	struct etl_walk walk;
	struct etw_source_clock clock;
	enum etl_step step;
	bool good = false;

	if (file->input.size_bytes == 0) {
		return error_set(err, ETW_ERROR_FORMAT, "is empty, not a recording");
	}
	if (!refuse_other_format(&file->input, err)) {
		return false;
	}
	etl_scan_start(&scan, &file->input, &damage, NULL, 0, 0);
	step = etl_scan_next(&scan, &buffer, err);
	if (step == ETL_STEP_FAILED) {
		goto done;
	}
	if (step == ETL_STEP_END || !buffer.bytes) {
		error_set(err, ETW_ERROR_FORMAT,
			  "is not a recording: it does not start with a buffer of records");
		goto done;
	}
	etl_format_init(&format, &no_clock, 8, 0);
	etl_walk_start(&walk, &format, buffer.bytes, buffer.place.end, 0, 0);
	if (!etl_walk_next(&walk) || !etl_is_header(&walk.record)) {
		error_set(err, ETW_ERROR_FORMAT,
			  "is not a recording: its first record is not a logfile header");
		goto done;
	}
	if (!read_header_record(&file->header, &walk.record, err)) {
		goto done;
	}
	clock = etl_header_clock(&file->header, &file->clock_doubt);
	etl_format_init(&file->format, &clock, file->header.pointer_size == 4 ? 4 : 8,
			pointer_size);
	good = true;

done:
	etl_scan_done(&scan);
	return good;
}

struct etw_file *etw_file_over(const void *bytes, size_t size, uint8_t pointer_size,
			       struct etw_error *err)
{
	struct etw_file *file = calloc(1, sizeof *file);

	if (!file) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	etl_input_over(&file->input, bytes, size);
	if (!etl_file_read_header(file, pointer_size, err)) {
		etw_file_close(file);
		return NULL;
	}
	return file;
}

void etw_file_close(struct etw_file *file)
{
	if (!file) {
		return;
	}
	free(file->header.logger_name);
	free(file->header.log_file_name);
	for (size_t i = 0; i < file->part_count; i++) {
		free(file->parts[i].path);
	}
	free(file->parts);
	free(file->set_doubt);
	chosen_done(&file->passed_over);
	etl_input_close(&file->input);
	free(file);
}

/* Returns what the header says about the buffers. They are written while the session runs. */
static struct etl_shape shape_of(const struct etw_file *file)
{
	const int64_t hour = INT64_C(36000000000), year = 8784 * hour;
	const struct etw_header *header = &file->header;
	uint32_t size = header->buffer_size_bytes;
	/* The end time is 0 for a session that was not stopped. */
	int64_t end = header->end_time > header->start_time ?
			      header->end_time :
			      etw_time_add(header->start_time, year);

	return (struct etl_shape){
		.buffer_size = size > 0 && size <= ETL_BUFFER_MAX ? size : ETL_BUFFER_MAX,
		.preallocated = (header->mode & ETW_MODE_PREALLOCATE) != 0,
		.clock = &file->format.clock,
		.first_time = header->start_time,
		/* Some buffers are written later than the end (observed in net.4.5.2.x64.etl). */
		.last_time = etw_time_add(end, hour),
	};
}

void etl_file_scan(struct etw_file *file, struct etl_scan *scan, struct etw_damage *damage,
		   uint64_t offset, uint64_t sequence)
{
	const struct etl_shape shape = shape_of(file);

	etl_scan_start(scan, &file->input, damage, &shape, offset, sequence);
}

const struct etw_header *etw_file_header(const struct etw_file *file)
{
	return &file->header;
}

const struct etw_source_clock *etw_file_clock(const struct etw_file *file)
{
	return &file->format.clock;
}

uint8_t etw_file_pointer_size(const struct etw_file *file)
{
	return file->format.pointer_size;
}

uint64_t etw_file_size_bytes(const struct etw_file *file)
{
	return file->input.size_bytes;
}

const char *etw_file_clock_doubt(const struct etw_file *file)
{
	return file->clock_doubt;
}

const char *etw_file_set_doubt(const struct etw_file *file)
{
	return file->set_doubt;
}

const struct etw_file_part *etw_file_parts(const struct etw_file *file, size_t *count)
{
	*count = file->part_count;
	return file->parts;
}

bool etw_mirror_fits(const struct etw_file *a, const struct etw_file *b, struct etw_error *err)
{
	const struct etw_header *x = &a->header, *y = &b->header;
	const struct etw_source_clock *p = &a->format.clock, *q = &b->format.clock;

	if (x->pointer_size != y->pointer_size) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "it has pointers of %" PRIu32 " bytes, not of %" PRIu32,
				 y->pointer_size, x->pointer_size);
	}
	if (x->clock_type != y->clock_type) {
		return error_set(err, ETW_ERROR_UNSUPPORTED, "it has another clock: %s, not %s",
				 etw_clock_type_name(q->type), etw_clock_type_name(p->type));
	}
	if (p->frequency != q->frequency) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "it has a clock of %" PRIu64 " ticks per second, not %" PRIu64,
				 q->frequency, p->frequency);
	}
	if (x->boot_time != y->boot_time) {
		return error_set(
			err, ETW_ERROR_UNSUPPORTED,
			"it is of another machine, or of another boot of it: the boot times "
			"are %" PRIu64 " s apart",
			(etw_time_between(x->boot_time, y->boot_time) +
			 etw_time_between(y->boot_time, x->boot_time)) /
				10000000);
	}
	return true;
}
