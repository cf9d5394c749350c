/* SPDX-License-Identifier: MIT */
/*
 * The origin of event records: a recording or a live session.
 *
 * A source delivers records in time order to a sink, on the thread that calls etw_source_run(),
 * until it ends or is stopped. It also provides its clock and statistics about losses. One source
 * has one consumer; other threads may only call etw_source_stop(), etw_source_wake() and
 * etw_source_statistics().
 */
#ifndef ETW_SOURCE_H
#define ETW_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/kernel.h>
#include <etw/record.h>
#include <etw/types.h>

/* These are opaque. */
struct etw_source;

/*
 * The receiver of records. on_first_pass and on_first_pass_end may be NULL; a source that can only
 * be read once never calls them.
 *
 * A recording is read twice. The first pass delivers every record in *file* order to
 * on_first_pass, since a recording often names a process only in the rundown at its end. Then
 * on_first_pass_end is called once. The second pass delivers every record in *time* order to
 * on_event. on_buffer is called between records, at least once for each buffer, in both passes; it
 * is the place for epochs and pacing.
 */
struct etw_event_sink {
	void *context;
	void (*on_first_pass)(void *context, const struct etw_record *record);
	/* The kernel records that on_first_pass needs; the others, by far the most, are then not
	 * read. on_first_pass may take some out, but add none. Borrowed; NULL: all. */
	const struct etw_kernel_choice *first_pass_choice;
	/* Likewise, of the events with an EVENT_HEADER that are not classic and have no extended
	 * items, the ids that on_first_pass needs; they do not change during the pass. */
	const struct etw_id_choice *first_pass_ids;
	void (*on_first_pass_end)(void *context);
	void (*on_event)(void *context, const struct etw_record *record);
	void (*on_buffer)(void *context);
	/*
	 * Only for live sessions; called between records, like on_buffer; each may be NULL.
	 * on_restart: the session was started again, and the events since it stopped are lost.
	 * Then, as at the first start, on_process, on_thread and on_volume report the processes,
	 * threads and drives that already exist, and on_snapshot_end follows.
	 */
	void (*on_restart)(void *context);
	void (*on_process)(void *context, uint32_t process_id, const char *name, size_t size);
	void (*on_thread)(void *context, uint32_t thread_id, uint32_t process_id);
	/*
	 * What exists on the machine, read directly, soon after the start and again when it
	 * changes. Texts are UTF-8, "" is one that Windows does not know. Only what has a callback
	 * is read; disks and services only by a session with kernel events. What is gone is
	 * reported before what is new.
	 *
	 * on_volume: the device has this letter ("C:") or mount folder ("D:\data"); NULL: it no
	 * longer has one. on_disk: a physical disk; model NULL: it is gone. on_partition: the
	 * volume on a partition of a disk, or on several (ETW_SOURCE_NO_PARTITION); file_system
	 * NULL: it is gone. on_service: the service in a process whose threads have this tag; tag
	 * 0: the only one in the process; name NULL: it is gone.
	 */
	void (*on_volume)(void *context, const char *nt_path, const char *dos_path);
	void (*on_disk)(void *context, uint32_t disk, const char *model, uint32_t bytes_per_sector);
	void (*on_partition)(void *context, uint32_t disk, uint32_t partition, const char *volume,
			     const char *file_system);
	void (*on_service)(void *context, uint32_t process_id, uint32_t tag, const char *name);
	void (*on_snapshot_end)(void *context);
	/*
	 * A record of what exists since before the session (the name of an open file, a disk, a
	 * service) that another session found. It is true at its time, and no event: it is counted
	 * nowhere.
	 */
	void (*on_known)(void *context, const struct etw_record *record);
	/* Right after on_event: the name of the process of that record, valid until the next one;
	 * NULL if it is not known. */
	const char *(*process_name)(void *context);
};

#define ETW_SOURCE_NO_PARTITION UINT32_MAX

/* Why a live session was started again (etw_session_restarts_total). */
enum etw_restart_reason {
	ETW_RESTART_STOPPED, /* another program stopped it */
	ETW_RESTART_STOLEN,  /* another program stopped it and started one with the same name */
	ETW_RESTART_FLAGS_CHANGED, /* another program changed its flags; they were restored without
				  a restart */
	ETW_RESTART_ERROR,         /* Windows ended the consumer */
	ETW_RESTART_COUNT
};

const char *etw_restart_reason_name(enum etw_restart_reason reason);

/* Where the names of files that were open already came from (etw_session_names_harvested_total). */
enum etw_names_source {
	ETW_NAMES_RUNDOWN_PROVIDER, /* the kernel's rundown provider, as events of the session */
	ETW_NAMES_HARVEST,          /* a harvest session */
	ETW_NAMES_COUNT
};

const char *etw_names_source_name(enum etw_names_source source);

/* How a harvest ended (etw_session_harvests_total). */
enum etw_harvest_result {
	ETW_HARVEST_DONE,
	ETW_HARVEST_EMPTY,  /* Windows wrote nothing of what exists when the harvest session stopped
			     */
	ETW_HARVEST_FAILED, /* the harvest session could not be started or consumed */
	ETW_HARVEST_COUNT
};

const char *etw_harvest_result_name(enum etw_harvest_result result);

/* What is said of a recording, behind its name, where `truncated` is set … */
#define ETW_RECORDING_CUT_SHORT "is cut short; everything up to there is read"
/* … and where something is bad; how much follows. */
#define ETW_RECORDING_DAMAGED "is damaged; what cannot be read is left out"

/*
 * Statistics of a session or a recording. The thread of the source writes them, any thread may read
 * them.
 */
struct etw_source_statistics {
	uint64_t events_lost;
	uint64_t buffers_lost; /* log buffers of a recording */
	uint64_t realtime_buffers_lost;
	uint64_t buffers_written; /* from the header */
	uint64_t buffers;         /* delivered so far, in all passes */
	uint64_t records;         /* delivered so far, in all passes */
	uint64_t bad_buffers;     /* dropped: invalid header or compressed data */
	uint64_t bad_bytes;       /* of the recording, where these are */
	/* places where the rest of a buffer, or the payload of a record, was dropped */
	uint64_t bad_records;
	/* delivered after one with a later time, in all passes: too many buffers of a recording
	 * were open at once, or Windows delivered the buffer of a quiet processor late */
	uint64_t late_records;
	uint64_t buffer_size_bytes;
	uint64_t bytes_read; /* in this pass of the file */
	uint64_t bytes_total;
	/* 100 ns since 1601 UTC of the last record delivered, of a live session of the newest;
	 * ETW_RECORD_NO_TIME before the first */
	int64_t last_time;
	bool truncated; /* the last buffer is cut short */

	/* Only for live sessions; zero for a recording. The losses above continue to count when the
	 * session is started again. */
	bool up; /* the session runs and is consumed */
	uint64_t buffers_allocated;
	uint64_t buffers_free;
	uint64_t buffers_max;
	uint64_t lag_ns; /* delivery of the newest event after its time, at the last buffer */
	uint64_t restarts[ETW_RESTART_COUNT];
	/* settings that other programs changed so often that they were left as they were */
	uint64_t restores_given_up;
	uint64_t canary_sent; /* see lib/live/canary.h */
	uint64_t canary_received;
	uint64_t canary_refused;         /* by Windows, when it was asked to write them */
	uint64_t names[ETW_NAMES_COUNT]; /* of files that were open already */
	uint64_t harvests[ETW_HARVEST_COUNT];
	uint64_t names_lost; /* records of harvests that were lost or did not fit into memory */
};

/* Adds what another source has counted, such as the one that its session had before; what is the
 * state of a moment stays. */
void etw_source_statistics_add(struct etw_source_statistics *statistics,
			       const struct etw_source_statistics *earlier);

/* Properties of a source, fixed when it is opened. Name and mode are valid until
 * etw_source_close(); type is a literal. */
struct etw_source_facts {
	const char *name; /* session label; of a recording the base name of the file */
	const char *type; /* replay, system_logger, … (etw_session_info) */
	/* for etw_session_info: of a recording a word; of a live session the words of its logging
	 * mode as Windows answered it, with commas between */
	const char *mode;
	/* of a recording: a sentence about files of it that are missing; NULL: none is */
	const char *doubt;
	uint32_t os_build;
	uint32_t processors;
	struct etw_source_clock clock;
};

/*
 * Delivers all records to sink. Returns true at the end of the recording or after
 * etw_source_stop(). May be called again: each call starts from the beginning (a replay in a loop).
 * Damage inside a recording is counted in the statistics and is not an error. Returns false if it
 * cannot continue (the file can no longer be read, no memory).
 */
bool etw_source_run(struct etw_source *source, const struct etw_event_sink *sink,
		    struct etw_error *err);

/*
 * Lets etw_source_run() return soon: for a recording at the next record, for a live session when
 * the session is stopped and its remaining events are delivered. It cannot be undone. Any thread.
 */
void etw_source_stop(struct etw_source *source);
bool etw_source_stopping(const struct etw_source *source);

/* Callbacks of the sink are there that were not, or the other way round: what exists on the machine
 * is reported to them. From a callback of the sink alone. */
void etw_source_sink_changed(struct etw_source *source);

/* Lets the sink get on_buffer() soon, if the source can: a live session is flushed. Any thread. */
void etw_source_wake(struct etw_source *source);

/* Any thread. */
void etw_source_statistics(const struct etw_source *source,
			   struct etw_source_statistics *statistics);
const struct etw_source_facts *etw_source_facts(const struct etw_source *source);

/* Call after etw_source_run() has returned. NULL is allowed. */
void etw_source_close(struct etw_source *source);

/*
 * Finds what the files of a recording repeat. Gets the records of the first file in their order,
 * then next_file, and so on. is_repeated: an earlier file has the record, too.
 */
struct etw_repeat_finder {
	void *(*new_finder)(void); /* NULL: no memory */
	void (*next_file)(void *finder);
	bool (*is_repeated)(void *finder, const struct etw_record *record);
	void (*free_finder)(void *finder); /* NULL is allowed */
};

#endif
