/* SPDX-License-Identifier: MIT */
/*
 * Types and functions that the files of a live session share. Each file calls only those above it
 * in this list:
 *
 *   live_helpers_win32.c error codes as sentences, UTF-16, queries of Windows, statistics
 *   provider_win32.c     the exporter's own provider; the canaries of a session
 *   known_win32.c        what a harvest found, on its way to the consumer thread
 *   consume_win32.c      EVENT_RECORD to struct etw_record
 *   snapshot_win32.c     what exists at the start and later: processes and their memory, volumes,
 *                        disks, services
 *   volumes_win32.c      volumes and disks, read directly
 *   services_win32.c     services, read directly
 *   running_win32.c      what runs and is registered on the machine
 *   enable_win32.c       providers: enabling, filters, arguments, capturing state
 *   session_win32.c      the session: start, stale sessions, stop, changes by other programs
 *   attach_win32.c       a session that another program controls
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

#include <etw/kernel.h>
#include <etw/session.h>

#include "base/os.h"
#include "lib/live/canary.h"
#include "lib/live/machine.h"
#include "lib/source/etw_sdk_win32.h"
#include "lib/source/event_record.h"
#include "lib/source/source_internal.h"

enum { SESSION_NAME_MAX = 1024 }; /* characters, the end included ("StartTraceW function") */

/*
 * The logging mode of every session that the exporter starts, also of harvest sessions. Without
 * INDEPENDENT, an event for which another session has no room does not reach our session either,
 * and no session counts the loss. Windows accepts INDEPENDENT only together with one of the modes
 * for hybrid shutdowns (docs/windows.md section 1).
 */
#define SESSION_MODE                                                         \
	(EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_INDEPENDENT_SESSION_MODE | \
	 EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN)

/* EVENT_TRACE_PROPERTIES with room for both names. If a name does not fit, Windows returns
 * ERROR_MORE_DATA. The page says "limited to 1024 characters", so sessions of other programs may
 * have the end besides. */
struct session_properties {
	EVENT_TRACE_PROPERTIES base;
	WCHAR logger_name[SESSION_NAME_MAX + 1];
	WCHAR log_file_name[SESSION_NAME_MAX + 1];
};

/* The 32-bit counters of Windows at the last call of counters_add(). */
struct session_counters {
	uint32_t events_lost;
	uint32_t log_buffers_lost;
	uint32_t realtime_buffers_lost;
	uint32_t buffers_written;
};

/* The canaries of one epoch, a period in which the provider is enabled without a break. */
struct canary_epoch {
	uint32_t epoch;
	uint64_t written;
	uint64_t confirmed; /* the session is known to have accepted all up to this number */
	uint64_t highest;   /* highest number received; the session accepted all up to it */
};

struct canary_statistics {
	bool on; /* the provider is enabled in the session */
	struct canary_epoch now;
	struct canary_epoch before; /* the epoch before: its last canaries may still arrive */
	uint64_t sent_before;       /* sent in all epochs older than `before` */
};

enum { RESTORES_MOST = 3 };

/*
 * Limits how often a setting is restored, so that two programs do not change it back and forth for
 * ever: RESTORES_MOST times within a minute, then not for ten minutes.
 */
struct restore_budget {
	uint64_t tried_ns[RESTORES_MOST]; /* times of the latest tries; a ring */
	unsigned tries;
	uint64_t rests_until_ns;
};

/* The watchdog's state of a provider, which other programs may disable. */
struct provider_watchdog {
	enum {
		WATCHDOG_FINE,
		WATCHDOG_DOUBT,    /* not reported as enabled right after we enabled it */
		WATCHDOG_GIVEN_UP, /* also not at the next check: reports are unreliable */
	} state;
	struct restore_budget budget;
	uint64_t capture_due_ns; /* when its state is captured next; 0: not known yet */
	ULONG refused;           /* why it could not be enabled; ERROR_SUCCESS: it was enabled */
	/* While it is refused: the time of the next try, and the wait before that. */
	uint64_t try_ns, wait_ms;
};

/* An event has at most 64 KiB including its extended items; each item is padded to 8 bytes. */
enum { LIVE_ITEMS_BYTES = 128 * 1024 };

/* The payload filter of a provider. */
struct live_payload {
	EVENT_FILTER_DESCRIPTOR filter; /* made by TDH; Ptr is 0 without a filter */
	bool refused;                   /* Windows did not accept it; guarded by lock */
};

/* The providers of a session. A reload makes a new list and exchanges the two. */
struct provider_list {
	struct etw_provider_spec *providers; /* with GUIDs; owned, as are the arrays below */
	size_t count;
	struct live_payload *payloads;       /* array: one for each provider */
	struct provider_watchdog *watchdogs; /* array: one for each provider */
	size_t canary_index;                 /* in providers */
};

/*
 * Identifies one session: values from the query right after it was started. Windows reuses handles,
 * and no page says that the GUID is the one passed to StartTraceW(); but both stay the same while
 * the session runs.
 */
struct session_identity {
	ULONG64 context; /* Wnode.HistoricalContext, which is the handle */
	GUID guid;       /* Wnode.Guid */
	/* False: that query failed; the first query that succeeds sets guid. */
	bool guid_known;
};

/* PERFINFO_GROUPMASK: 8 words of groups of kernel events */
enum { KERNEL_MASKS = ETW_KERNEL_WORDS };

enum { MODE_TEXT_SIZE = 320 }; /* all words of a logging mode, with commas */

struct known_batch; /* known_win32.c */

/* The harvest of a session (harvest_win32.c). */
struct harvest {
	/* Fixed once open. */
	bool on; /* session and configuration allow harvests */
	WCHAR wide_name[SESSION_NAME_MAX];
	GUID guid;

	/* File names are needed; otherwise only disks and services are. */
	_Atomic(bool) names;

	/* Guarded by lock. */
	bool needed;  /* the sink needs what a harvest finds */
	bool started; /* first buffer delivered; no harvest begun since */
	bool first;   /* no harvest has begun since the session was started */
	bool lost;    /* events or buffers were lost since the last harvest */
	/* Time of the next harvest because of losses or a failure; UINT64_MAX: none is due. */
	uint64_t due_ns;
	uint64_t last_ns;     /* time at which the last harvest ended */
	uint64_t interval_ns; /* least time between harvests because of losses */

	/* Only the watcher thread uses these members. */
	uint64_t losses;

	/* Only the harvester thread uses this member. */
	bool failure_reported;

	struct os_thread thread;
	bool thread_started;
};

struct live {
	struct etw_source source; /* first */

	/* Fixed once open. */
	struct etw_live_options options; /* texts and providers are those in struct live */
	bool system_providers;           /* they enable kernel events in place of flags */
	char *name;
	WCHAR wide_name[SESSION_NAME_MAX];
	GUID guid;                /* Wnode.Guid; all zero: Windows chooses one */
	CLASSIC_EVENT_ID *stacks; /* owned; events with call stacks */
	ULONG stack_count;
	ULONG buffers_min; /* as requested from Windows */
	ULONG buffers_max;
	struct session_change_member *change; /* owned; may be NULL */
	struct etw_canary *canary;            /* borrowed; NULL: none */
	uint32_t canary_slot;
	char mode_text[MODE_TEXT_SIZE]; /* source.facts.mode */

	/* Held while providers and kernel events are enabled, checked or exchanged, which may take
	 * long. Lock order: before `lock`. Callbacks and the per-event path never take it. */
	struct os_mutex settings;
	struct provider_list list; /* guarded by settings */
	/* Both are set when the source is opened; a reload changes them with settings held. */
	_Atomic(uint32_t) kernel_flags;
	_Atomic(uint32_t) kernel_groups;

	struct os_mutex lock;
	struct os_condition changed; /* stopping, consuming */
	/* Guarded by lock. */
	TRACEHANDLE session;              /* 0: no session runs */
	struct session_identity identity; /* of the running session */
	unsigned emergency_number;        /* for emergency_stop_remove(); 0: none */
	/* Kernel event groups that the session needs and that were enabled at its start. */
	ULONG expected[KERNEL_MASKS];
	bool masks_known; /* `expected` is set */
	/* Flags that wait until the session is consumed; they are due at late_due_ns. */
	bool flags_wait;
	uint64_t late_due_ns;   /* UINT64_MAX: nothing is due */
	ULONG mode;             /* mode that Windows reported after the start; 0: none */
	bool mode_reported;     /* reported that Windows left out modes */
	bool providers_enabled; /* in the running session */
	bool real_time_lost;    /* the watcher saw it since the consumer began */
	bool drained;           /* session_drain() was called for the running session */
	bool consuming;         /* ProcessTrace() runs or is about to be called */
	bool closed;            /* the handle `trace` is closed */
	bool ended;             /* etw_source_run() has ended: watcher and harvester end */
	TRACEHANDLE trace;
	struct known_batch *known; /* waits for the consumer thread; owned; may be NULL */
	/* `known` is due when the stream reaches this raw time; INT64_MAX: there is no batch.
	 * Written with the lock held; the consumer reads it without. */
	_Atomic(int64_t) known_due;
	struct etw_source_clock anchored; /* taken by the watcher, for the consumer */
	/* True if `anchored` is newer than the consumer's clock. The consumer reads this flag
	 * without the lock and takes the lock only if it is set. */
	atomic_bool anchored_anew;

	/* Guarded by source.mutex, as the statistics are. */
	struct session_counters seen;
	uint64_t buffers_before; /* buffers delivered by earlier sessions */
	unsigned generation;     /* session number; answers about an earlier one are dropped */
	struct canary_statistics canaries;

	/* Only the watcher thread uses these members. */
	struct restore_budget masks_budget;
	struct restore_budget real_time_budget;
	size_t watchdog_next;
	struct etw_source_clock last_anchor;
	uint64_t last_anchor_ns; /* when it was taken */

	/* Only the consumer thread uses these members. */
	volatile bool in_callback; /* a callback of ProcessTrace() runs; see os_use_fault_flag() */
	const struct etw_event_sink *sink;
	struct etw_record record; /* the record being delivered; has items only meanwhile */
	/* Clock of the events: that of the facts with the newest anchor. */
	struct etw_source_clock clock;
	/* The range of raw times that this clock converts by one addition; see
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
	bool awaits_buffer; /* no buffer was delivered since the consumer began */
	ULONG last_failure;
	const char *obstacle; /* why a session cannot be attached to; NULL: its status says it */
	bool conflict_reported;
	bool faulted;             /* a callback faulted: never call ProcessTrace() again */
	struct machine announced; /* facts that were announced to the sink */

	struct harvest harvest;
	struct os_thread watcher;
	struct snapshot *snapshot; /* reads the machine; NULL: the sink needs none of it */
};

static inline uint32_t kernel_flags_of(const struct live *live)
{
	return atomic_load_explicit(&live->kernel_flags, memory_order_relaxed);
}

static inline uint32_t kernel_groups_of(const struct live *live)
{
	return atomic_load_explicit(&live->kernel_groups, memory_order_relaxed);
}

/* Returns whether another program controls the session. */
static inline bool is_attached(const struct live *live)
{
	return live->options.logger == ETW_LIVE_ATTACH;
}

/* ---- texts ---- */

/* Writes a sentence such as "access is denied (error 5)" to text and returns it. */
const char *live_error_text(ULONG status, char text[160]);
bool live_wide(const char *text, WCHAR *wide, size_t size);
/* Converts NUL-terminated UTF-16 to UTF-8. Returns false if the text does not fit. */
bool live_narrow(const WCHAR *wide, char *text, size_t size);
void live_report(const struct live *live, enum etw_session_event event, const char *format, ...)
	ETW_PRINTF_LIKE(3, 4);
struct etw_guid live_guid(const GUID *guid);
GUID live_windows_guid(const struct etw_guid *guid);

/* Returns whether the program runs in a container, with process isolation or with a virtual machine
 * of its own. A HostProcess container does not count. */
bool windows_in_container(void);

/* A call of a Windows function whose answer has an unknown size. *size is the size of `answer` in
 * bytes; the call sets it to the size that is needed. */
typedef ULONG live_question(void *context, void *answer, ULONG *size);

/*
 * Repeats the call with a larger buffer until the answer fits, a bounded number of times. The
 * caller frees the answer. Returns NULL on failure, and *status says why.
 */
void *live_ask(live_question *question, void *context, ULONG *size, ULONG *status);

/* ---- clock and statistics ---- */

/* Sets the clock of a session that starts now: the frequency of the counter, and an anchor. Returns
 * the largest possible error of the anchor in ticks. */
uint64_t consume_clock(struct etw_source_clock *clock);
/* Makes the clock that of a session whose raw times are system time. */
void consume_system_clock(struct etw_source_clock *clock);
int64_t consume_counter(void); /* the present performance counter, in ticks */

/* Call it when a session starts, because Windows then counts from 0 again. before: what a session
 * that ran already has counted until now; NULL: nothing. */
void counters_begin(struct live *live, const EVENT_TRACE_PROPERTIES *before);
/* Returns the generation for counters_add(). Call it before the query of Windows. */
unsigned counters_generation(struct live *live);
/* Adds the growth of the counters since the last call, unless another session has started
 * meanwhile. properties: the answer of a query. */
void counters_add(struct live *live, unsigned generation, const EVENT_TRACE_PROPERTIES *properties);
void counters_restart(struct live *live, enum etw_restart_reason reason);
void counters_given_up(struct live *live); /* a setting is no longer restored */
void counters_up(struct live *live, bool up);
/* Publishes what the consumer has delivered so far. */
void counters_delivered(struct live *live);
/*
 * Returns whether the consumer has received as many buffers as the session had written at the last
 * counters_add(). *buffers becomes the number of buffers received.
 */
bool counters_caught_up(struct live *live, uint64_t *buffers);

/* ---- the canaries of a session ---- */

/* Takes a slot of the exporter's provider for the session, if one is free. */
void canaries_open(struct live *live);
/* Adds the exporter's provider to a list of the session, if the session has a slot. Returns false
 * if there is no memory. */
bool canaries_add(struct live *live, struct provider_list *list);
void canaries_close(struct live *live);
/* Begins a new epoch. Call it whenever the provider was enabled in the session. */
void canaries_begin(struct live *live);
void canaries_end(struct live *live); /* no canary is written from now on */
void canaries_write(struct live *live);
/* Returns what was written so far. Call it before querying whether the session runs … */
struct canary_epoch canaries_written(struct live *live);
/* … and pass the result here if the session runs with the provider enabled: it accepted these
 * canaries. */
void canaries_confirm(struct live *live, const struct canary_epoch *written);
/* Counts the record if it is a canary. Call it for every record, on the consumer thread. */
void canaries_arrival(struct live *live, const struct etw_record *record);

/* ---- results of a harvest ---- */

/* Returns whether a harvest keeps the event: it names an open file, or describes a disk, volume or
 * service. */
bool known_needed(const EVENT_HEADER *header);
bool known_is_file_name(const EVENT_HEADER *header);

struct known_batch *known_new(void);        /* returns NULL if there is no memory */
void known_free(struct known_batch *batch); /* NULL is allowed */
/* Copies the event into the batch. The batch counts events that do not fit. */
void known_add(struct known_batch *batch, const EVENT_RECORD *from);
size_t known_count(const struct known_batch *batch);
uint64_t known_refused(const struct known_batch *batch);

/*
 * Passes the batch, which the consumer then owns, to the consumer thread. It replaces a batch that
 * still waits. With at_once it is delivered before the next record; otherwise when the stream
 * reaches the time of the harvest, because earlier records of the stream must come first.
 */
void known_publish(struct live *live, struct known_batch *batch, bool at_once);
/* Delivers a batch that is due to the sink. Call it on the consumer thread, between two records. */
void known_deliver(struct live *live);

/* raw_time: the time that the stream has reached. */
static inline void known_deliver_due(struct live *live, int64_t raw_time)
{
	/* Pairs with the release in known_publish(). */
	if (raw_time >= atomic_load_explicit(&live->known_due, memory_order_acquire)) {
		known_deliver(live);
	}
}

/* Call it on the consumer thread when the first buffer was delivered: the harvester may begin
 * then. */
void known_first_buffer(struct live *live);

/* ---- consuming ---- */

/* Returns the pointer size in bytes of the program that wrote the event. Without a flag it is that
 * of the kernel. */
static inline uint8_t consume_pointer_size(USHORT flags)
{
	if (flags & EVENT_HEADER_FLAG_32_BIT_HEADER) {
		return 4;
	}
	return flags & EVENT_HEADER_FLAG_64_BIT_HEADER ? 8 : (uint8_t)sizeof(void *);
}

/* Sets the clock by which raw times of later records are converted. */
void consume_use_clock(struct live *live, const struct etw_source_clock *clock);

/* Opens the trace of the running session unless it is open. Returns a status of Windows. */
ULONG consume_open(struct live *live);
ULONG consume_run(struct live *live); /* ProcessTrace */
/* Calls ProcessTrace() with a high priority of the thread: while it waits for a processor,
 * real-time buffers may be lost. */
ULONG consume_trace(TRACEHANDLE trace);
void consume_close(struct live *live);
/* Makes consume_run() return soon. Another thread may call it. */
void consume_abandon(struct live *live);

/* ---- reporting what exists; on the consumer thread ---- */

/* Starts the thread that reads volumes, disks and services. It reads only those for which the sink
 * has a callback. */
bool snapshot_start(struct live *live, struct etw_error *err);
/* Stops the thread. If it hangs in a call about a device, it is abandoned and frees the snapshot
 * itself. */
void snapshot_stop(struct live *live);
/* Announces processes, threads, drives and everything read so far. Call it at the start of a
 * session. */
void snapshot_announce(struct live *live);
/* Announces what has changed since the last call. Call it between two buffers. */
void snapshot_announce_changes(struct live *live);
/* Chooses again what the thread reads, which depends on the kernel events that a reload may change.
 * Call it between two buffers. */
void snapshot_choose(struct live *live);
/* Call it between two records when the sink has other callbacks. Everything that is known is
 * announced again, and the thread reads what was not needed before. */
void snapshot_change(struct live *live);

/*
 * ---- reading the machine; any thread ----
 *
 * Each function adds facts to a list. It returns false if Windows did not answer; earlier facts
 * stay valid then. All except the first two may take long.
 */

bool machine_read_letters(struct machine *machine);

enum { MACHINE_DISKS = 256 };

struct machine_disks {
	uint64_t set[MACHINE_DISKS / 64]; /* bit n: disk n */
};

/* Sets the bits of the disks that exist. */
bool machine_list_disks(struct machine_disks *disks);
/* Adds the mount folders of volumes. */
bool machine_read_folders(struct machine *machine);
bool machine_read_services(struct machine *machine);
/* Queries the model of every disk and the partition of every volume. volumes must be sorted. */
bool machine_read_disks(struct machine *machine, const struct machine_disks *disks,
			const struct machine *volumes);

/* ---- what runs on the machine ---- */

/* Returns how many sessions Windows can run at a time: the registry value EtwMaxLoggers, or 64. */
uint32_t running_places(void);

/* Returns whether processes have registered the provider and it is enabled in none of them for the
 * session. */
bool running_is_disabled(const GUID *provider, TRACEHANDLE session);

/* ---- providers ---- */

/*
 * Makes a list: copies the providers, finds their GUIDs by name (built-in names, then those
 * registered with Windows), adds the provider of the canaries, and makes the payload filters.
 * Filters that Windows refuses are reported, once for each provider.
 */
bool provider_list_init(struct live *live, const struct etw_live_options *options,
			struct provider_list *list, struct etw_error *err);
void provider_list_done(struct provider_list *list); /* accepts a zeroed list */

/* The caller of the following functions holds `settings`. */

/* Enables the provider with this index in the session's list. A failure is returned, and reported
 * unless it is that of the call before. */
ULONG enable_provider(struct live *live, TRACEHANDLE session, size_t index);
void enable_capture(struct live *live, TRACEHANDLE session,
		    const struct etw_provider_spec *provider, uint64_t keywords);
/* Enables a provider without filters. */
ULONG enable_plainly(TRACEHANDLE session, const GUID *provider, UCHAR level, uint64_t keywords);
void enable_rundown(struct live *live, TRACEHANDLE session);
/* Enables or disables the provider that reports changes of sessions (lib/live/session_changes.h). A
 * failure is not reported: reports of changes then do not name the program that made them. */
void enable_changes(struct live *live, TRACEHANDLE session, bool on);
/* began_ns: when the first of several providers was about to be disabled; the time that they have
 * to capture their state is counted from then on. */
void disable_provider(struct live *live, TRACEHANDLE session,
		      const struct etw_provider_spec *provider, uint64_t began_ns);
/* Disables a provider that will be enabled again with other arguments, and waits for its processes:
 * they take arguments only of a session that is new to them. */
void disable_for_arguments(TRACEHANDLE session, const struct etw_provider_spec *provider);

/* Deletes the arguments of a provider from the registry. Enabling the provider wrote them there for
 * processes that register it later. */
void arguments_withdraw(TRACEHANDLE session, const struct etw_provider_spec *provider);

/* ---- the session; these functions take the lock ---- */

/* Returns ERROR_ALREADY_EXISTS if another program owns the NT Kernel Logger. */
ULONG session_start(struct live *live);
/*
 * First step of a stop: captures the state of providers for which this is configured, disables all
 * providers, flushes the session and adds its statistics. Does nothing if no session runs.
 */
void session_drain(struct live *live);
/* Flushes the buffers of the session to the consumer, if a session runs. */
void session_flush(struct live *live);
/*
 * Adds the statistics of the session, if it is still ours. The last call comes before the consumer
 * is closed, because losses in the rundown that STOP writes do not count.
 */
void session_count(struct live *live);
/*
 * Last step of a stop: stops the session, and drains it first if that was not done. The consumer
 * should be closed by then, because it would receive the rundown. Does nothing if no session runs.
 */
void session_stop(struct live *live);
TRACEHANDLE session_running(struct live *live); /* 0: none */
/* As session_running(), but asks Windows whether the session is still ours. Call it before a change
 * by the handle, which Windows may have given to a session of another program since. */
TRACEHANDLE session_ours(struct live *live);
/* Call it when the session no longer exists. */
void session_forget(struct live *live);
/* Returns why the consumer ended; ETW_RESTART_ERROR if the session is still ours. *status is the
 * status of ProcessTrace() on entry, and that of the query on return. */
enum etw_restart_reason session_judge(struct live *live, ULONG *status);
/* Adds the statistics and undoes changes by other programs. Returns ERROR_WMI_INSTANCE_NOT_FOUND if
 * the session no longer exists. The caller holds `settings`. */
ULONG session_watch(struct live *live);
/* Sets the error for a session that cannot be "started" or "consumed" (what). Returns false. */
bool session_error(const struct live *live, const char *what, ULONG status, struct etw_error *err);
/* Enables the flags that wait until the session is consumed. */
void session_enable_late(struct live *live);
/* Remembers which of the requested kernel groups are enabled, for session_watch() to restore. */
void session_know_masks(struct live *live);
/* Changes the kernel events of the session, at once if it runs; session 0: it does not. The caller
 * holds `settings`. */
void session_change_kernel(struct live *live, TRACEHANDLE session, uint32_t flags, uint32_t groups);
/*
 * Returns whether to restore a setting that another program changed, and takes one try from the
 * budget. If the budget is used up, that is reported; `what` names the setting. Only the watcher
 * thread may call it.
 */
bool restore_again(struct live *live, struct restore_budget *budget, const char *what);

/* Writes the words of the logging mode that Windows reported when the session was started. */
void session_mode_text(struct live *live, char text[MODE_TEXT_SIZE]);
/* Fills in the sizes and offsets that every call about a session needs. */
void session_properties_init(struct session_properties *properties);

/*
 * Adds a session to those that a crashing process stops. Returns its number for
 * emergency_stop_remove(), or 0 if there is no room. session 0 and identity NULL mean that the name
 * alone identifies it: a session that is about to be started, whose name no other program uses. Any
 * thread may call it.
 */
unsigned emergency_stop_add(const WCHAR name[SESSION_NAME_MAX], TRACEHANDLE session,
			    const struct session_identity *identity);
void emergency_stop_remove(unsigned number); /* 0 is allowed */

/* ---- a session that another program controls ---- */

/* Finds the session instead of starting it. Returns a status of Windows; live->obstacle may say
 * more about it. */
ULONG attach_start(struct live *live);
/* Reports kernel events that are needed and that the session does not have. */
void attach_report_missing(const struct live *live, TRACEHANDLE session);

/* ---- the harvest ---- */

/* Prepares harvests, and stops a harvest session that a crash left behind. Call it after the
 * session has its GUID and before it is started. */
void harvest_open(struct live *live);
/* Starts and ends the harvester thread, which waits until the session has delivered a buffer. */
void harvest_start(struct live *live);
void harvest_end(struct live *live);
/* Call it when other kernel events are enabled, because a harvest may then find names that were not
 * needed before. services: names of services are needed. */
void harvest_change(struct live *live, bool services);
/* Call it after each query of the session: a harvest becomes due if events were lost. */
void harvest_look(struct live *live);

/* ---- kernel events by system provider ---- */

/* Replaces the logger ETW_LIVE_SYSTEM_PROVIDERS by a private logger with system providers. Returns
 * false if this Windows lacks system providers. */
bool system_choose(struct live *live, struct etw_error *err);
/* Returns the kernel flags that system providers replace in this session; 0 if there are none. */
uint32_t system_flags(const struct live *live);

#endif
