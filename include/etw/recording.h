/* SPDX-License-Identifier: MIT */
/*
 * Recordings (.etl): opening them, their headers, and the walk through their buffers.
 *
 * A path may be that of a packed recording (.gz, .xz, .zst, .zip), of "-", or have a * in place of
 * the number of a file set. Damage inside a recording is counted and skipped; it is not an error.
 */
#ifndef ETW_RECORDING_H
#define ETW_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/kernel.h>
#include <etw/record.h>
#include <etw/source.h>
#include <etw/types.h>

/* These are opaque. */
struct etw_file;

/* ---- problems ---- */

/*
 * Sentences for the user about damage inside a recording; the statistics have the counts. After
 * ETW_PROBLEMS_MAX sentences further ones are only counted, so that a hostile recording cannot fill
 * the memory with them.
 */
enum { ETW_PROBLEMS_MAX = 100 };

/* Zero-initialise it. */
struct etw_problems {
	char *sentences[ETW_PROBLEMS_MAX]; /* owned */
	size_t count;                      /* of sentences */
	uint64_t dropped;                  /* problems that were only counted */
};

/* Adds a sentence, or drops it if problems is NULL. */
void etw_problem(struct etw_problems *problems, const char *format, ...) ETW_PRINTF_LIKE(2, 3);
void etw_problems_done(struct etw_problems *problems);

/* ---- buffers ---- */

struct etw_buffer_header {
	/* bytes from this header to the next one on disk; for a compressed buffer its packed size.
	 * Not checked */
	uint32_t size_bytes;
	/* end of the valid bytes of the unpacked buffer, in bytes from the start of its header. Not
	 * checked */
	uint32_t end;
	uint16_t flags;
	uint16_t type; /* enum etl_buffer_type, or another value in a corrupt header */
	uint16_t processor;
	bool compressed;
	bool all_zero; /* all bytes are zero: the space was reserved and never written */
};

/* The counts of damage, as in struct etw_source_statistics. */
struct etw_damage {
	uint64_t bad_buffers;
	uint64_t bad_bytes;
	uint64_t gap_bytes; /* the part of bad_bytes in which no buffer was recognised */
	uint64_t bad_records;
	bool truncated;
	struct etw_problems *problems; /* borrowed; NULL: no sentences */
};

/* ---- files ---- */

/* LogFileMode bits ("Logging Mode Constants", Microsoft Learn). */
enum etw_mode {
	ETW_MODE_SEQUENTIAL = 0x1,
	ETW_MODE_CIRCULAR = 0x2,
	ETW_MODE_NEW_FILE = 0x8,
	ETW_MODE_PREALLOCATE = 0x20,
	ETW_MODE_REAL_TIME = 0x100,
	ETW_MODE_BUFFERING = 0x400,
	ETW_MODE_RELOG = 0x10000,
	ETW_MODE_COMPRESSED = 0x4000000, /* buffers may be compressed; not every one is */
};

struct etw_header {
	uint32_t buffer_size_bytes;
	uint8_t version_major;
	uint8_t version_minor;
	uint32_t os_build;
	uint32_t processors;
	/* 100 ns since 1601 UTC, as all times here; 0: the session was not closed */
	int64_t end_time;
	uint32_t timer_resolution_100ns;
	uint32_t mode; /* enum etw_mode bits */
	uint32_t buffers_written;
	/* pointer size of the recorded kernel, unchecked, as in the header */
	uint32_t pointer_size;
	uint32_t events_lost;
	uint32_t cpu_mhz;
	int32_t timezone_bias_minutes; /* UTC = local + bias */
	int64_t boot_time;
	int64_t perf_frequency; /* as in the header: may be 0 or wrong */
	int64_t start_time;
	uint32_t clock_type; /* ReservedFlags; enum etw_clock_type, or another value */
	uint32_t buffers_lost;
	/* raw time of the header record: start_time by the clock of the session */
	int64_t raw_time;
	char *logger_name; /* UTF-8, owned; this and log_file_name are never NULL */
	char *log_file_name;
};

/* One file of several. */
struct etw_file_part {
	char *path; /* owned */
	uint64_t size_bytes;
	uint32_t events_lost; /* as in its header */
	uint32_t buffers_lost;
};

/* Sets the finder of records that several files of a recording repeat; such records are then read
 * once. NULL (the default): the files are read as they are. Call it before other threads start. */
void etw_file_find_repeats(const struct etw_repeat_finder *finder);

/*
 * Opens a recording, packed or not (etl_packed_open()), and reads its header. A file whose first
 * record is not a logfile header is no recording. A path with * in place of a number is that of
 * several files that are one recording (a file set). They are read once to find repeated records,
 * and their times are converted to the clock of the first file. They must come from one machine and
 * one boot of it.
 *
 * @pointer_size: 4 or 8 is used for classic payloads; 0: as recorded.
 */
struct etw_file *etw_file_open(const char *path, uint8_t pointer_size, struct etw_error *err);
/* Opens a recording in memory; the bytes must outlive the file. */
struct etw_file *etw_file_over(const void *bytes, size_t size, uint8_t pointer_size,
			       struct etw_error *err);
void etw_file_close(struct etw_file *file); /* NULL is allowed */

/*
 * Facts about an open recording. In the header of several files the names and the start are those
 * of the first file; the other values describe all files together. The results belong to the file.
 */
const struct etw_header *etw_file_header(const struct etw_file *file);
const struct etw_source_clock *etw_file_clock(const struct etw_file *file);
uint64_t etw_file_size_bytes(const struct etw_file *file);
/* Returns the pointer size of the recorded kernel, 4 or 8. It applies to records whose header does
 * not state one. */
uint8_t etw_file_pointer_size(const struct etw_file *file);
/* Return a sentence about what is wrong with the clock, or about missing files of a set; NULL if
 * there is nothing to report. */
const char *etw_file_clock_doubt(const struct etw_file *file);
const char *etw_file_set_doubt(const struct etw_file *file);
/* Returns the files of a set in order; *count is 0 for a recording of one file. */
const struct etw_file_part *etw_file_parts(const struct etw_file *file, size_t *count);

/*
 * Sets a callback for files that changed while they were open. It is called when such a file is
 * closed, on that thread. NULL (the default): changes are not reported. Call it before other
 * threads start.
 */
void etw_file_report_changes(void (*report)(const char *path, const char *change));

/* Returns one word for the logging mode: "circular", "sequential", … */
const char *etw_header_mode_name(const struct etw_header *header);

enum { ETW_FILE_SET_MAX = 900 /* files of a set; all of them are open at once */ };

struct etw_file_set {
	struct etw_numbered {
		char *path; /* owned */
		uint64_t number;
	} * files; /* owned; by number */
	size_t count;
};

/*
 * Finds the files of a set: the path has one * in its last component, which stands for a number.
 * The set is empty if the path has no such *, or if a file with exactly this name exists. Returns
 * false if there are too many files, two files with the same number, or no memory.
 */
bool etw_file_set_find(struct etw_file_set *set, const char *path, struct etw_error *err);

/*
 * Expands a path with * or ? in its last component, as shells of Unix do and cmd and PowerShell do
 * not. The files are sorted by name; each is a recording of its own, with the number 0. The set is
 * empty if the path has neither * nor ?, if a file with exactly this name exists, or if the path
 * names a file in an archive. Returns false if no file matches, there are too many, or no memory.
 */
bool etw_file_set_match(struct etw_file_set *set, const char *path, struct etw_error *err);
void etw_file_set_done(struct etw_file_set *set);

/* Adds a sentence about missing numbers in the set; nothing if none is missing. */
void etw_file_set_add_gaps(const struct etw_file_set *set, struct etw_text *out);

/*
 * Between start and end the temporary file of each packed recording or pipe is kept, and opening
 * the same path again uses it. Commands need this because they read a recording more than once, but
 * a pipe delivers its bytes only once. The calls nest; the outermost end frees the files.
 */
void etw_packed_keep_start(void);
void etw_packed_keep_end(void);

/* The callbacks of a pass over a recording. All members may be NULL. */
struct etw_visitor {
	void *record_context;
	void (*on_record)(void *context, const struct etw_record *record);
	/* If set, a pass in file order skips all other records. Borrowed. */
	const struct etw_kernel_choice *only;
	const struct etw_id_choice *only_ids;
	void *buffer_context;
	/* Called before the records of each buffer, also if these cannot be read; not in passes in
	 * time order. */
	void (*on_buffer_header)(void *context, uint64_t offset,
				 const struct etw_buffer_header *header);
	void (*on_buffer)(void *context, uint64_t bytes_read); /* after each buffer */
	const atomic_bool *stopping; /* checked before every record: true ends the pass */
};

/*
 * Shows every record to the visitor, in file order. Damage is added to *damage. Returns true at the
 * end, or when the visitor stopped the pass; false if the file can no longer be read or memory runs
 * out.
 */
bool etw_file_visit(struct etw_file *file, struct etw_damage *damage,
		    const struct etw_visitor *visitor, struct etw_error *err);

/* ---- the source that replays a recording ---- */

struct etw_source_file_options {
	/* pointer size of classic payloads: 0: as recorded; 4 or 8: this one (docs/etl-format.md
	 * section 17, 7) */
	uint8_t pointer_size;
	bool single_pass; /* no first pass */
	/* Several files to read as one recording; the first one is the path. path_count 0: only the
	 * path is read. Borrowed. */
	const char *const *paths;
	size_t path_count;
	/* A recording in memory, borrowed until etw_source_close(); the path is then only its name.
	 * NULL: the path is opened. */
	const void *bytes;
	size_t size;
};

/*
 * Opens a recording: reads and checks its first buffer. If the file is no recording, the error is
 * one line with the reason. The path is one for etl_packed_open().
 */
struct etw_source *etw_source_open_file(const char *path,
					const struct etw_source_file_options *options,
					struct etw_error *err);

/*
 * Returns how the file of such a source changed since it was opened, as os_file_change() does; NULL
 * if it did not. It is also NULL for a packed recording, because its unpacked temporary file does
 * not change. Call it on the thread of the source, between two runs.
 */
const char *etw_source_file_change(struct etw_source *source);

#endif
