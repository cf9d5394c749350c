/* SPDX-License-Identifier: MIT */
/*
 * Writes recordings, on any system. A relog copies a recording while a callback keeps, changes or
 * drops each event, as ITraceRelogger of Windows does. A new recording is written with struct
 * etw_new_recording, at the end of this file.
 *
 *	struct etw_relog *relog = etw_open_relog("in.etl", "out.etl", NULL, &err);
 *
 *	if (relog) {
 *		etw_relog_run(relog, decide, NULL, NULL);
 *		good = etw_close_relog(relog, &counts, &err);
 *	}
 *
 * Events that are kept keep their bytes and their order, so that a reader delivers them as before.
 * etw_close_relog() fails if etw_relog_run() has failed, with the same error. So only the opening
 * and the end need a check. Errors, threads and texts are as in etw/etw.h; all functions are for
 * one thread.
 */
#ifndef ETW_RELOG_H
#define ETW_RELOG_H

#include <etw/etw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A copy that is being made. */
struct etw_relog;

/* How the buffers of the result are stored. ETW_AS_READ stores each as it was in the input. */
enum etw_packing {
	ETW_AS_READ,
	ETW_PLAIN,
	ETW_COMPRESSED, /* where that makes them smaller */
};

/* Zero-initialise it. What it points to is borrowed during the call. */
struct etw_relog_options {
	/* As in struct etw_recording_options. */
	const char *const *manifests;
	size_t manifest_count;
	uint8_t pointer_size;
	enum etw_packing packing;
	uint8_t threads; /* that compress buffers; 0: one for each processor. The result has the
			    same bytes */
};

/*
 * Opens the recording at input, as etw_open_recording() does. The result is written to a temporary
 * file beside output; etw_close_relog() renames it to output and so replaces a file of this name.
 * If output is "-", everything is written to the standard output at the end. If output is NULL, the
 * result stays in memory (etw_relog_bytes()). options may be NULL.
 */
struct etw_relog *etw_open_relog(const char *input, const char *output,
				 const struct etw_relog_options *options, struct etw_error *err);

/* Opens a relog of a recording in memory; the bytes are borrowed until etw_close_relog(). */
struct etw_relog *etw_open_relog_bytes(const void *bytes, size_t size, const char *output,
				       const struct etw_relog_options *options,
				       struct etw_error *err);

enum etw_action {
	ETW_KEEP, /* keeps the event, with the changes that etw_set_…() made */
	ETW_DROP,
	/* Ends the copy: etw_relog_run() fails, with the error of the last change that failed in
	 * this callback, and there is no result. */
	ETW_STOP,
};

/*
 * Decides about an event. Events come in file order, buffer by buffer, not in time order. The first
 * one is the header of the recording, EventTrace/Header; it can be changed, not dropped.
 */
typedef enum etw_action etw_decide(void *context, struct etw_relog *relog, struct etw_event *event);

/*
 * Copies the recording. It first reads the recording once to collect the descriptions of events.
 * Call it once for each relog. Returns false if the input cannot be read, the result cannot be
 * written, or decide() returned ETW_STOP.
 */
bool etw_relog_run(struct etw_relog *relog, etw_decide *decide, void *context,
		   struct etw_error *err);

/* ---- changes of the present event, inside the callback ---- */

/* These functions change the event in the result, not the struct etw_event of the callback. Each
 * may be called several times; the last value counts. */

/* The values in the header of a record. */
enum etw_header_value {
	ETW_HEADER_ID,
	ETW_HEADER_VERSION,
	ETW_HEADER_OPCODE,
	ETW_HEADER_LEVEL,
	ETW_HEADER_TASK,
	ETW_HEADER_KEYWORD,
	ETW_HEADER_PROCESS_ID,
	ETW_HEADER_THREAD_ID,
};

/* Returns false if the header of this event has no such value, or the value does not fit in it. */
bool etw_set_header(struct etw_relog *relog, enum etw_header_value which, uint64_t value,
		    struct etw_error *err);

/* Returns false for kernel events, which have a group in place of a provider. */
bool etw_set_provider(struct etw_relog *relog, const struct etw_guid *provider,
		      struct etw_error *err);

/* Replaces the payload; the bytes are copied. Returns false if the record would exceed 65,535
 * bytes, or its extended items are damaged. */
bool etw_set_payload(struct etw_relog *relog, const void *bytes, size_t size,
		     struct etw_error *err);

/* ---- new events ---- */

/* Zero-initialise it. What it points to is borrowed during the call. */
struct etw_new_event {
	const struct etw_guid *provider; /* the provider, or the class of a classic event */
	/* The provider GUID is an event class, and the opcode identifies the event, as with all
	 * kernel events. Kernel events get the type of header that the kernel writes for them. */
	bool classic;
	uint16_t id; /* classic events have no id, task, channel or keyword */
	uint8_t version;
	uint8_t opcode;
	uint8_t level;
	uint8_t channel;
	uint16_t task;
	uint64_t keyword;
	/* Ticks of the recording's clock, such as raw_time of an event's record, or a result of
	 * etw_relog_raw_time(). */
	int64_t raw_time;
	uint32_t process_id;
	uint32_t thread_id;
	uint16_t processor;   /* must be below the number of processors of the recording */
	uint8_t pointer_size; /* 4 or 8; 0: as in the recording */
	const void *payload;
	size_t payload_size;
};

/*
 * Adds an event at any time between opening and closing, also in the callback. The events may come
 * in any order of time. A reader delivers each at its time, after other events of the same time.
 * The event stays in memory until etw_close_relog().
 */
bool etw_inject(struct etw_relog *relog, const struct etw_new_event *event, struct etw_error *err);

/* Converts a time (100 ns since 1601 UTC) to ticks of the recording's clock; 0 if relog is not
 * open. */
int64_t etw_relog_raw_time(const struct etw_relog *relog, int64_t time);

/* ---- the end ---- */

struct etw_relog_counts {
	uint64_t events;   /* in the result, with the header and the injected ones */
	uint64_t dropped;  /* by the callback */
	uint64_t changed;  /* changed by the callback; counted in events */
	uint64_t injected; /* by etw_inject(); counted in events */
	/* Losses of the input: what could not be read is not in the result. */
	struct etw_losses losses;
};

/*
 * Adds the new events, completes the result, and frees the relog, also on failure. Returns false,
 * and leaves the output as it was, if etw_relog_run() was not called or has failed, or the
 * result cannot be written. counts may be NULL.
 */
bool etw_close_relog(struct etw_relog *relog, struct etw_relog_counts *counts,
		     struct etw_error *err);

/*
 * Completes a result in memory and returns it; NULL on failure. etw_close_relog() must still be
 * called. The bytes belong to the relog.
 */
const uint8_t *etw_relog_bytes(struct etw_relog *relog, size_t *size, struct etw_error *err);

/* ---- recordings from nothing ---- */

/* A recording that is being written. */
struct etw_new_recording;

/* Zero-initialise it. What it points to is borrowed during the call. */
struct etw_new_recording_options {
	const char *session_name; /* NULL: "" */
	uint16_t processors;      /* processors of the machine; 0: 1 */
	uint8_t pointer_size;     /* pointer size of its kernel, 4 or 8; 0: 8 */
	bool compressed;          /* buffers are compressed where that makes them smaller */
	uint32_t os_build;        /* 0: 17763 */
	uint64_t clock_frequency; /* ticks of raw_time per second; 0: 10,000,000 */
	int64_t start_time;       /* the time at which raw_time is 0; 0: 2024-05-14 07:00 UTC */
};

/*
 * Begins a recording in a file, which gets its name in etw_close_writer() and replaces an existing
 * one. If path is "-", the recording is written to the standard output at the end. options may be
 * NULL.
 */
struct etw_new_recording *etw_open_writer(const char *path,
					  const struct etw_new_recording_options *options,
					  struct etw_error *err);

/* Adds an event. Events of one processor must be added in time order: a reader may deliver others
 * late. */
bool etw_write(struct etw_new_recording *writer, const struct etw_new_event *event,
	       struct etw_error *err);

/* Completes the recording, and frees the writer, also on failure. Returns false if anything could
 * not be written. */
bool etw_close_writer(struct etw_new_recording *writer, struct etw_error *err);

#ifdef __cplusplus
}
#endif

#endif
