/* SPDX-License-Identifier: MIT */
/*
 * A source of event records: a recording or a live session.
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

/* The memory of a running process. */
struct etw_process_memory {
	uint32_t process_id;
	uint32_t handles;
	uint64_t working_set_bytes;
	uint64_t private_working_set_bytes;
	uint64_t commit_bytes;
};

/*
 * The receiver of records. on_first_pass and on_first_pass_end may be NULL; a source that can only
 * be read once never calls them.
 *
 * A recording is read twice. The first pass delivers every record in *file* order to on_first_pass,
 * since a recording often names a process only in the rundown at its end. Then on_first_pass_end is
 * called once. The second pass delivers every record in *time* order to on_event. on_buffer is
 * called between records, at least once for each buffer, in both passes; the callee does its
 * periodic work there (epochs, pacing of a replay).
 */
struct etw_event_sink {
	void *context;
	void (*on_first_pass)(void *context, const struct etw_record *record);
	/* The kernel records that on_first_pass needs. The others, which are nearly all, may be
	 * skipped. During the pass on_first_pass may remove records from this set, but add none.
	 * Borrowed; NULL: all. */
	const struct etw_kernel_choice *first_pass_choice;
	/* The ids that on_first_pass needs of events with an EVENT_HEADER that are not classic and
	 * have no extended items. The set does not change during the pass. Borrowed; NULL: all. */
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
	 * The volumes, disks and services of the machine, read from Windows soon after the start
	 * and reported again when they change. Texts are UTF-8; "" means that Windows does not know
	 * it. Only what has a callback is read, disks and services only by a session with kernel
	 * events. What has disappeared is reported before what is new.
	 *
	 * on_volume: the device has this letter ("C:") or mount folder ("D:\data"); NULL: it no
	 * longer has one. on_disk: a physical disk; model NULL: it is gone. on_partition: the
	 * volume on a partition of a disk, or on several (ETW_SOURCE_NO_PARTITION); file_system
	 * NULL: it is gone. on_service: the service in a process whose threads have this tag; tag
	 * 0: the only service in the process; name NULL: it is gone.
	 */
	void (*on_volume)(void *context, const char *nt_path, const char *dos_path);
	void (*on_disk)(void *context, uint32_t disk, const char *model, uint32_t bytes_per_sector);
	void (*on_partition)(void *context, uint32_t disk, uint32_t partition, const char *volume,
			     const char *file_system);
	void (*on_service)(void *context, uint32_t process_id, uint32_t tag, const char *name);
	void (*on_snapshot_end)(void *context);
	/* All processes of the machine with their memory. The list is valid during the call. A
	 * session reads it as struct etw_live_options says. */
	void (*on_memory)(void *context, const struct etw_process_memory *list, size_t count);
	/*
	 * Gets a record about something that existed before the session started (the name of an
	 * open file, a disk, a service), read by a harvest session. It is true at its time but is
	 * not an event, so it must not be counted.
	 */
	void (*on_known)(void *context, const struct etw_record *record);
	/* Called right after on_event: returns the name of the process of that record, valid until
	 * the next record; NULL if it is not known. */
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
	ETW_HARVEST_EMPTY,  /* Windows wrote no rundown when the harvest session stopped */
	ETW_HARVEST_FAILED, /* the harvest session could not be started or consumed */
	ETW_HARVEST_COUNT
};

const char *etw_harvest_result_name(enum etw_harvest_result result);

/* Messages say this after the name of a recording with `truncated` set … */
#define ETW_RECORDING_CUT_SHORT "is cut short; everything up to there is read"
/* … and this after one with bad buffers or records; the amounts follow. */
#define ETW_RECORDING_DAMAGED "is damaged; what cannot be read is left out"

/*
 * Statistics of a session or a recording. The thread of the source writes them, any thread may read
 * them.
 */
struct etw_source_statistics {
	uint64_t events_lost;
	uint64_t buffers_lost; /* buffers for a file that were lost */
	uint64_t realtime_buffers_lost;
	uint64_t buffers_written; /* from the header */
	uint64_t buffers;         /* delivered so far, in all passes */
	uint64_t records;         /* delivered so far, in all passes */
	uint64_t bad_buffers;     /* dropped: the header or the compressed data is invalid */
	uint64_t bad_bytes;       /* bytes of the recording that these buffers occupy */
	/* places where the rest of a buffer, or the payload of a record, was dropped */
	uint64_t bad_records;
	/* records delivered after one with a later time, in all passes: too many buffers of a
	 * recording were open at once, or Windows delivered the buffer of a quiet processor late */
	uint64_t late_records;
	uint64_t buffer_size_bytes;
	uint64_t bytes_read; /* bytes of the file read in this pass */
	uint64_t bytes_total;
	/* time of the last record delivered (of the newest in a live session), in 100 ns since 1601
	 * UTC; ETW_RECORD_NO_TIME before the first */
	int64_t last_time;
	bool truncated; /* the last buffer is cut short */

	/* Only for live sessions; zero for a recording. The losses above continue to count when the
	 * session is started again. */
	bool up; /* the session runs and is consumed */
	uint64_t buffers_allocated;
	uint64_t buffers_free;
	uint64_t buffers_max;
	uint64_t lag_ns; /* from the time of the newest event to its delivery, at the last buffer */
	/* between two processor samples; UINT64_MAX: none are taken, or it is not known */
	uint64_t sample_interval_100ns;
	uint64_t restarts[ETW_RESTART_COUNT];
	/* settings that are no longer restored, because other programs changed them too often */
	uint64_t restores_given_up;
	uint64_t canary_sent; /* see lib/live/canary.h */
	uint64_t canary_received;
	uint64_t canary_refused;         /* canaries that Windows refused to write */
	uint64_t names[ETW_NAMES_COUNT]; /* names of files that were open already */
	uint64_t harvests[ETW_HARVEST_COUNT];
	uint64_t names_lost; /* records of harvests that were lost or did not fit into memory */
};

/* Adds the counters of another source, such as the former source of the same session. Members that
 * describe the present state do not change. */
void etw_source_statistics_add(struct etw_source_statistics *statistics,
			       const struct etw_source_statistics *earlier);

/* Properties of a source, fixed when it is opened. Name and mode are valid until
 * etw_source_close(); type is a literal. */
struct etw_source_facts {
	const char *name; /* label `session`; of a recording the file name without folder */
	const char *type; /* replay, system_logger, … (etw_session_info) */
	/* for etw_session_info: one word for a recording; for a live session the words of the
	 * logging mode that Windows reports, separated by commas */
	const char *mode;
	/* a sentence about missing files of a recording; NULL if none is missing */
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
 * Makes etw_source_run() return soon: for a recording at the next record, for a live session when
 * the session is stopped and its remaining events are delivered. It cannot be undone. Any thread
 * may call it.
 */
void etw_source_stop(struct etw_source *source);
bool etw_source_stopping(const struct etw_source *source);

/* Says that callbacks of the sink were added or removed: new ones get what exists on the machine.
 * Call it only from a callback of the sink. */
void etw_source_sink_changed(struct etw_source *source);

/* Makes on_buffer() be called soon if the source is a live session, which is flushed. Any thread
 * may call it. */
void etw_source_wake(struct etw_source *source);

/* Copies the statistics. Any thread may call these two; the facts belong to the source. */
void etw_source_statistics(const struct etw_source *source,
			   struct etw_source_statistics *statistics);
const struct etw_source_facts *etw_source_facts(const struct etw_source *source);

/* Closes and frees the source. Call it after etw_source_run() has returned. NULL is allowed. */
void etw_source_close(struct etw_source *source);

/*
 * Finds records that several files of one recording contain. is_repeated() gets every record of the
 * first file in order; then next_file() is called, and so on. It returns true if an earlier file
 * has the same record.
 */
struct etw_repeat_finder {
	void *(*new_finder)(void); /* NULL: no memory */
	void (*next_file)(void *finder);
	bool (*is_repeated)(void *finder, const struct etw_record *record);
	void (*free_finder)(void *finder); /* NULL is allowed */
};

#endif
