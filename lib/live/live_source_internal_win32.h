/* SPDX-License-Identifier: MIT */
/*
 * What the files of a live session share. Each file calls only those above it in this list:
 *
 *   error_text_win32.c   error codes as sentences, UTF-16, queries of Windows, statistics
 *   provider_win32.c     the exporter's own provider; the canaries of a session
 *   known_win32.c        what a harvest found, on its way to the consumer thread
 *   consume_win32.c      EVENT_RECORD to struct etw_record
 *   snapshot_win32.c     what exists at the start and later: processes, volumes, disks, services
 *   volumes_win32.c      volumes and disks, read directly
 *   services_win32.c     services, read directly
 *   running_win32.c      what runs and is registered on the machine
 *   enable_win32.c       providers: enabling, filters, capturing state
 *   session_win32.c      the session: start, stale sessions, stop, changes by other programs
 *   harvest_win32.c      a second session for a moment: names of open files, disks, services
 *   reload_win32.c       other providers and kernel events while the session runs
 *   live_source_win32.c  opening, the run, the watcher, stopping, closing
 *
 * There are four threads: the consumer, which runs etw_source_run(), the watcher, the harvester and
 * the snapshot, which reads the machine. `lock` guards what several of them use; it is never held
 * while Windows delivers events.
 */
#ifndef LIB_LIVE_LIVE_SOURCE_INTERNAL_WIN32_H
#define LIB_LIVE_LIVE_SOURCE_INTERNAL_WIN32_H

#include <stdatomic.h>

#include <etw/session.h>

#include "base/os.h"
#include "lib/live/canary.h"
#include "lib/live/machine.h"
#include "lib/source/etw_sdk_win32.h"
#include "lib/source/event_record.h"
#include "lib/source/source_internal.h"

enum { SESSION_NAME_MAX = 1024 }; /* characters, the end included ("StartTraceW function") */

/*
 * The logging mode of every session that the exporter starts, those of helpers included. Without
 * INDEPENDENT, an event that another session has no room for is not given to ours either, and no
 * session counts it; Windows takes INDEPENDENT only together with one of the modes of hybrid
 * shutdowns (docs/windows.md section 1).
 */
#define SESSION_MODE                                                         \
	(EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_INDEPENDENT_SESSION_MODE | \
	 EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN)

/* EVENT_TRACE_PROPERTIES with room for both names. With too little room, Windows returns
 * ERROR_MORE_DATA. */
struct session_properties {
	EVENT_TRACE_PROPERTIES base;
	WCHAR logger_name[SESSION_NAME_MAX];
	WCHAR log_file_name[SESSION_NAME_MAX];
};

/* The 32-bit counters of Windows, as they were last added to the statistics. */
struct session_counters {
	uint32_t events_lost;
	uint32_t log_buffers_lost;
	uint32_t realtime_buffers_lost;
	uint32_t buffers_written;
};

/* The canaries of one epoch: a time in which the provider was enabled without a break. */
struct canary_epoch {
	uint32_t epoch;
	uint64_t written;
	uint64_t confirmed; /* the session is known to have taken all up to this number */
	uint64_t highest;   /* number that came back; the session took all up to it, too */
};

struct canary_statistics {
	bool on; /* the provider is enabled in the session */
	struct canary_epoch now;
	struct canary_epoch before; /* whose last canaries may still come back */
	uint64_t sent_before;       /* in all epochs before that one */
};

enum { RESTORES_MOST = 3 };

/*
 * How often a setting was restored, so that two programs that change it in turn do not do so for
 * ever: RESTORES_MOST times within a minute, then not for ten minutes.
 */
struct restore_budget {
	uint64_t tried_ns[RESTORES_MOST]; /* the latest tries, in a ring */
	unsigned tries;
	uint64_t rests_until_ns;
};

/* What the watchdog knows about a provider, which other programs may disable. */
struct provider_watchdog {
	enum {
		WATCHDOG_FINE,
		WATCHDOG_DOUBT,    /* was not reported as enabled right after we enabled it */
		WATCHDOG_GIVEN_UP, /* nor at the next check: the reports cannot be relied on */
	} state;
	struct restore_budget budget;
	uint64_t capture_due_ns; /* when its state is captured again; 0: not known yet */
};

/* An event has at most 64 KiB, items included; each is padded to 8 bytes. */
enum { LIVE_ITEMS_BYTES = 128 * 1024 };

/* The filter of a provider by fields of the payload. */
struct live_payload {
	EVENT_FILTER_DESCRIPTOR filter; /* made by TDH; Ptr 0: none */
	bool refused;                   /* Windows did not accept it; guarded by lock */
};

/* The providers of a session. A reload makes another list, and exchanges them. */
struct provider_list {
	struct etw_provider_spec *providers; /* with GUIDs; owned, as are the arrays below */
	size_t count;
	struct live_payload *payloads;       /* one for each provider */
	struct provider_watchdog *watchdogs; /* likewise */
	size_t canary_index;                 /* in providers */
};

/*
 * What queries answer about one session and no other, taken from the query right after it was
 * started. Handles are used again, and it is documented nowhere that the GUID is the one that
 * StartTraceW() was given; but both stay while the session runs.
 */
struct session_identity {
	ULONG64 context; /* Wnode.HistoricalContext, which is the handle */
	GUID guid;       /* Wnode.Guid */
	bool guid_known; /* false: that query failed, and the first one that succeeds answers it */
};

enum { KERNEL_MASKS = 8 }; /* PERFINFO_GROUPMASK: 8 words of groups of kernel events */

enum { MODE_TEXT_SIZE = 320 }; /* every word of a logging mode, and a comma behind each */

struct known_batch; /* known_win32.c */

/* The harvest of a session (harvest_win32.c). */
struct harvest {
	/* Fixed once open. */
	bool on; /* the session can have harvests, and its configuration allows them */
	WCHAR wide_name[SESSION_NAME_MAX];
	GUID guid;

	_Atomic(bool) names; /* those of files are needed; else only disks and services */

	/* Guarded by lock. */
	bool needed;      /* something that a harvest finds is needed */
	bool started;     /* the consumer got a first buffer, and no harvest has begun since */
	bool first;       /* no harvest has begun since the session was started */
	bool lost;        /* events or buffers, since the last harvest */
	uint64_t due_ns;  /* of the next harvest because of losses or a failure; UINT64_MAX: none */
	uint64_t last_ns; /* when the last harvest ended */
	uint64_t interval_ns; /* from one harvest to the next because of losses */

	/* For the watcher thread alone. */
	uint64_t losses;

	/* For the harvester thread alone. */
	bool failure_reported;

	struct os_thread thread;
	bool thread_started;
};

struct live {
	struct etw_source source; /* first */

	/* Fixed once open. */
	struct etw_live_options options; /* texts and providers are those below */
	bool system_providers;           /* they enable the kernel events that they can */
	char *name;
	WCHAR wide_name[SESSION_NAME_MAX];
	GUID guid;         /* Wnode.Guid; all zero: Windows chooses one */
	ULONG buffers_min; /* as requested from Windows */
	ULONG buffers_max;
	struct session_change_member *change; /* owned; may be NULL */
	struct etw_canary *canary;            /* borrowed; NULL: none */
	uint32_t canary_slot;
	char mode_text[MODE_TEXT_SIZE]; /* source.facts.mode */

	/* Held while providers and kernel events are enabled, looked after or exchanged, which may
	 * take long. It is taken before `lock`, and neither by callbacks nor for each event. */
	struct os_mutex settings;
	struct provider_list list;       /* guarded by settings */
	_Atomic(uint32_t) kernel_flags;  /* written with settings; of the options, or a reload */
	_Atomic(uint32_t) kernel_groups; /* likewise */

	struct os_mutex lock;
	struct os_condition changed; /* stopping, consuming */
	/* Guarded by lock. */
	TRACEHANDLE session;              /* 0: no session runs */
	struct session_identity identity; /* of the running session */
	unsigned emergency_number;        /* its number for emergency_stop_remove(), or 0 */
	ULONG expected[KERNEL_MASKS]; /* the groups that the session is for and had at its start */
	bool masks_known;             /* they are */
	ULONG mode;             /* logging mode, as Windows answered when it started; 0: never */
	bool mode_reported;     /* that Windows left modes out */
	bool providers_enabled; /* in the running session */
	bool real_time_lost;    /* the watcher saw that, and the consumer has not ended since */
	bool drained;           /* session_drain() was called for the running session */
	bool consuming;         /* a consumer is about to be inside ProcessTrace, or is */
	bool closed;            /* its handle is closed already */
	bool ended;             /* etw_source_run() is over: the watcher and the harvester end */
	TRACEHANDLE trace;
	struct known_batch *known; /* waits for the consumer thread; owned; NULL: none */
	/* It is due when the stream reaches this raw time; INT64_MAX: there is none. Written with
	 * the lock, read by the consumer without. */
	_Atomic(int64_t) known_due;
	struct etw_source_clock anchored; /* taken by the watcher, for the consumer */
	/* anchored is newer than the consumer's clock. Without the lock the consumer only asks
	 * whether it must take the lock. */
	atomic_bool anchored_anew;

	/* Guarded by source.mutex, as the statistics are. */
	struct session_counters seen;
	uint64_t buffers_before; /* delivered of earlier sessions */
	unsigned generation;     /* of the session: answers about an earlier one are not added */
	struct canary_statistics canaries;

	/* For the watcher thread alone. */
	struct restore_budget masks_budget;
	struct restore_budget real_time_budget;
	size_t watchdog_next;
	struct etw_source_clock last_anchor;
	uint64_t last_anchor_ns; /* when it was taken */

	/* For the consumer thread alone. */
	volatile bool in_callback; /* of ProcessTrace; the flag of os_use_fault_flag() */
	const struct etw_event_sink *sink;
	struct etw_record record;      /* that is delivered; without items except while it is */
	struct etw_source_clock clock; /* of events: that of the facts, anchored anew since */
	/* By that clock, the times that follow from raw times by an addition; see
	 * consume_use_clock(). */
	int64_t even_first;
	uint64_t even_count;
	int64_t even_distance;
	uint64_t records;
	uint64_t buffers;
	uint64_t bad_records;
	uint64_t late_records;
	int64_t newest_raw; /* ETW_RECORD_NO_TIME: none came */
	uint8_t *items;     /* extended items as on disk; owned */
	uint64_t names[ETW_NAMES_COUNT];
	bool awaits_buffer; /* none was delivered since the consumer began */
	ULONG last_failure;
	bool conflict_reported;
	bool faulted;             /* a callback did: ProcessTrace() must not be called again */
	struct machine announced; /* what the sink knows of the machine */

	struct harvest harvest;
	struct os_thread watcher;
	struct snapshot *snapshot; /* what reads the machine; NULL: the sink needs nothing of it */
};

static inline uint32_t kernel_flags_of(const struct live *live)
{
	return atomic_load_explicit(&live->kernel_flags, memory_order_relaxed);
}

static inline uint32_t kernel_groups_of(const struct live *live)
{
	return atomic_load_explicit(&live->kernel_groups, memory_order_relaxed);
}

/* ---- texts ---- */

/* "access is denied (error 5)" and the like. */
const char *live_error_text(ULONG status, char text[160]);
bool live_wide(const char *text, WCHAR *wide, size_t size);
/* UTF-8 of NUL-terminated UTF-16; false when it does not fit. */
bool live_narrow(const WCHAR *wide, char *text, size_t size);
void live_report(const struct live *live, enum etw_session_event event, const char *format, ...)
	ETW_PRINTF_LIKE(3, 4);
struct etw_guid live_guid(const GUID *guid);
GUID live_windows_guid(const struct etw_guid *guid);

/* Whether the program runs in a container with process isolation, or a virtual machine of its own.
 * A HostProcess container is none. */
bool windows_in_container(void);

/* One call of Windows for an answer of unknown size; *size is the room, then what is needed. */
typedef ULONG live_question(void *context, void *answer, ULONG *size);

/*
 * Repeats the call until the answer fits, a bounded number of times. The caller frees the answer;
 * NULL: *status says why.
 */
void *live_ask(live_question *question, void *context, ULONG *size, ULONG *status);

/* ---- clock and statistics ---- */

/* The clock of a session that starts now: frequency of the counter, and an anchor. Returns by how
 * many ticks at most the anchor may be wrong. */
uint64_t consume_clock(struct etw_source_clock *clock);
int64_t consume_counter(void); /* the performance counter now */

/* Call it when a session starts, because Windows then counts from 0 again. */
void counters_begin(struct live *live);
/* Get the generation before the query of Windows whose answer counters_add() takes. */
unsigned counters_generation(struct live *live);
/* Adds the difference since the last call, unless another session has started meanwhile. */
void counters_add(struct live *live, unsigned generation, const EVENT_TRACE_PROPERTIES *properties);
void counters_restart(struct live *live, enum etw_restart_reason reason);
void counters_given_up(struct live *live); /* a setting is no longer restored */
void counters_up(struct live *live, bool up);
/* Publishes what the consumer has delivered so far. */
void counters_delivered(struct live *live);
/*
 * Whether the consumer has got as many buffers as the session had written at the last
 * counters_add(). *buffers: those that it has got.
 */
bool counters_caught_up(struct live *live, uint64_t *buffers);

/* ---- the canaries of a session ---- */

/* Takes a slot, if there is one for the session. */
void canaries_open(struct live *live);
/* Adds the provider to a list of the session, if it has a slot. Returns false without memory. */
bool canaries_add(struct live *live, struct provider_list *list);
void canaries_close(struct live *live);
/* The provider was enabled in the session, maybe again: a new epoch begins. */
void canaries_begin(struct live *live);
void canaries_end(struct live *live); /* no canary is written from now on */
void canaries_write(struct live *live);
/* Call it before the query of Windows whether the session runs … */
struct canary_epoch canaries_written(struct live *live);
/* … and pass the result when the session runs with the provider enabled. */
void canaries_confirm(struct live *live, const struct canary_epoch *written);
/* For every record, on the consumer thread. */
void canaries_arrival(struct live *live, const struct etw_record *record);

/* ---- what a harvest found ---- */

/* Whether a harvest needs the event: the name of an open file, or a disk, volume or service. */
bool known_needed(const EVENT_HEADER *header);
bool known_is_file_name(const EVENT_HEADER *header);

struct known_batch *known_new(void);        /* NULL without memory */
void known_free(struct known_batch *batch); /* NULL is allowed */
/* Copies the event. What does not fit is counted by the batch. */
void known_add(struct known_batch *batch, const EVENT_RECORD *from);
size_t known_count(const struct known_batch *batch);
uint64_t known_refused(const struct known_batch *batch);

/*
 * Passes the batch to the consumer thread, in place of one that still waits. at_once: before the
 * next record; otherwise when the stream has reached the time of the harvest, because what the
 * stream says of earlier times must come first.
 */
void known_publish(struct live *live, struct known_batch *batch, bool at_once);
/* Between two records of the consumer thread: gives the sink what is due. */
void known_deliver(struct live *live);

/* raw_time: which the stream has reached. */
static inline void known_deliver_due(struct live *live, int64_t raw_time)
{
	/* Pairs with the release in known_publish(). */
	if (raw_time >= atomic_load_explicit(&live->known_due, memory_order_acquire)) {
		known_deliver(live);
	}
}

/* A buffer was delivered: the harvester may begin. On the consumer thread. */
void known_first_buffer(struct live *live);

/* ---- consuming ---- */

/* The pointer size of the program that wrote the event; without a flag it is that of the kernel. */
static inline uint8_t consume_pointer_size(USHORT flags)
{
	if (flags & EVENT_HEADER_FLAG_32_BIT_HEADER) {
		return 4;
	}
	return flags & EVENT_HEADER_FLAG_64_BIT_HEADER ? 8 : (uint8_t)sizeof(void *);
}

/* The clock of the events from now on. */
void consume_use_clock(struct live *live, const struct etw_source_clock *clock);

/* Opens the trace of the running session, unless it is open. */
ULONG consume_open(struct live *live);
ULONG consume_run(struct live *live); /* ProcessTrace */
void consume_close(struct live *live);
/* Makes consume_run() return soon. Another thread may call it. */
void consume_abandon(struct live *live);

/* ---- what exists; on the consumer thread ---- */

/* Starts the thread that reads volumes, disks and services, as far as the sink needs them. */
bool snapshot_start(struct live *live, struct etw_error *err);
/* Ends it. A thread that hangs in a call about a device is left to itself. */
void snapshot_stop(struct live *live);
/* At the start of a session: processes, threads, drives, and what was read so far. */
void snapshot_announce(struct live *live);
/* Between two buffers: what was read since, if it is different. */
void snapshot_announce_changes(struct live *live);
/* Between two buffers: what is read depends on the kernel events, which a reload may change. */
void snapshot_choose(struct live *live);
/* Between two records: the sink has other callbacks. Everything that is known is reported again,
 * and what was not needed before is read. */
void snapshot_change(struct live *live);

/*
 * ---- reading the machine; any thread ----
 *
 * Each function adds facts to a list. False: Windows did not answer, and what it reported before
 * holds until it does. All except the first two may take long.
 */

bool machine_read_letters(struct machine *machine);

enum { MACHINE_DISKS = 256 };

struct machine_disks {
	uint64_t set[MACHINE_DISKS / 64]; /* bit n: disk n */
};

/* Which disks exist. */
bool machine_list_disks(struct machine_disks *disks);
/* The mount folders of volumes. */
bool machine_read_folders(struct machine *machine);
bool machine_read_services(struct machine *machine);
/* Asks every disk for its model, and every volume for its partition. volumes: sorted. */
bool machine_read_disks(struct machine *machine, const struct machine_disks *disks,
			const struct machine *volumes);

/* ---- what runs on the machine ---- */

/* Called for a session (info->LoggerId) that has the provider enabled. False ends the search. */
typedef bool running_enabled(void *context, const GUID *provider, const TRACE_ENABLE_INFO *info);

/* How many sessions Windows runs at a time: 64, or what the registry value EtwMaxLoggers says. */
uint32_t running_places(void);

/*
 * Calls `each` for every session that has the provider enabled, once for each process that has
 * registered it. False when Windows knows no such process, or its answer makes no sense.
 */
bool running_each_enabled(const GUID *provider, running_enabled *each, void *context);
/* Whether processes have registered the provider, and none has it enabled for the session. */
bool running_is_disabled(const GUID *provider, TRACEHANDLE session);

/* ---- providers ---- */

/*
 * Makes a list: copies the providers, finds their GUIDs by name (built-in names, then those
 * registered with Windows), adds that of the canaries, and makes the filters by payload; what
 * Windows refuses of these is reported, once for each provider.
 */
bool provider_list_init(struct live *live, const struct etw_live_options *options,
			struct provider_list *list, struct etw_error *err);
void provider_list_done(struct provider_list *list); /* a zeroed list is fine */

/* The following need `settings`. */

/* Enables one of the session's. A failure is reported and returned. */
ULONG enable_provider(struct live *live, TRACEHANDLE session, size_t index);
void enable_capture(struct live *live, TRACEHANDLE session,
		    const struct etw_provider_spec *provider, uint64_t keywords);
/* Enables a provider without filters. */
ULONG enable_plainly(TRACEHANDLE session, const GUID *provider, UCHAR level, uint64_t keywords);
void enable_rundown(struct live *live, TRACEHANDLE session);
/* The provider that reports changes of sessions (lib/live/session_changes.h), or no longer. Where
 * it cannot be enabled, nothing is known of who made a change, and nothing is said. */
void enable_changes(struct live *live, TRACEHANDLE session, bool on);
void disable_provider(struct live *live, TRACEHANDLE session,
		      const struct etw_provider_spec *provider);

/* ---- the session; these functions take the lock ---- */

/* Returns ERROR_ALREADY_EXISTS if another program owns the NT Kernel Logger. */
ULONG session_start(struct live *live);
/*
 * First step of the stop: captures what providers are to report at the stop, disables them, flushes
 * the session and adds its statistics. Does nothing when no session runs.
 */
void session_drain(struct live *live);
/* Lets the session deliver what it holds, if one runs. */
void session_flush(struct live *live);
/*
 * Adds the statistics of the session, if it is still ours. For the last time before the consumer is
 * closed: what Windows loses of the rundown that STOP writes is no loss of ours.
 */
void session_count(struct live *live);
/*
 * Last step: stops the session, and drains it if that was not done. A consumer should be gone by
 * then, because it would get the rundown. Does nothing when no session runs.
 */
void session_stop(struct live *live);
TRACEHANDLE session_running(struct live *live); /* 0: none */
/* Call it when the session no longer exists. */
void session_forget(struct live *live);
/* Why the consumer ended: what happened to the session. ETW_RESTART_ERROR: it is still ours.
 * *status is the status of the consumer, then that of the query. */
enum etw_restart_reason session_judge(struct live *live, ULONG *status);
/* Adds the statistics and undoes changes by other programs. Returns ERROR_WMI_INSTANCE_NOT_FOUND if
 * the session no longer exists. With `settings`. */
ULONG session_watch(struct live *live);
/* One sentence for a session that cannot be started; what: "started", "consumed". */
bool session_error(const struct live *live, const char *what, ULONG status, struct etw_error *err);
/* Remembers which of the requested kernel groups are enabled, for session_watch() to restore. */
void session_know_masks(struct live *live);
/* With `settings`: other kernel events for the session, at once if it runs. */
void session_change_kernel(struct live *live, uint32_t flags, uint32_t groups);
/*
 * Whether a setting that another program changed is restored once more. what: the setting, for the
 * report when it is not. For the watcher thread alone.
 */
bool restore_again(struct live *live, struct restore_budget *budget, const char *what);

/* The words of the logging mode, as Windows answered when the session was started. */
void session_mode_text(struct live *live, char text[MODE_TEXT_SIZE]);
/* Fills in what each call about a session needs. */
void session_properties_init(struct session_properties *properties);

/*
 * Adds a session to those that a crashing process stops, and returns its number for
 * emergency_stop_remove(); 0: there is no room. With session 0 and identity NULL it is known by its
 * name alone: a session that is about to be started, whose name no other program uses. Any thread
 * may call it.
 */
unsigned emergency_stop_add(const WCHAR name[SESSION_NAME_MAX], TRACEHANDLE session,
			    const struct session_identity *identity);
void emergency_stop_remove(unsigned number); /* 0 is allowed */

/* ---- the harvest ---- */

/* Prepares harvests of a private system logger, and stops a harvest session that a crash left. Call
 * it when the session has its GUID, before it is started. */
void harvest_open(struct live *live);
/* Starts the thread, and ends it. It begins when the session has delivered a buffer. */
void harvest_start(struct live *live);
void harvest_end(struct live *live);
/* Other kernel events are enabled: a harvest may find names that were not needed before. services:
 * those of services are needed. */
void harvest_change(struct live *live, bool services);
/* After a look at the session: another harvest is due when events were lost. */
void harvest_look(struct live *live);

/* ---- kernel events by system provider ---- */

/* Resolves the logger: a private one, with system providers or without. */
bool system_choose(struct live *live, struct etw_error *err);
/* The flags that system providers replace in this session; 0: none. */
uint32_t system_flags(const struct live *live);

#endif
