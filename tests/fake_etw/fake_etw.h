/* SPDX-License-Identifier: MIT */
/*
 * An in-memory ETW: the Win32 functions of sessions, consumers and providers, and controls for
 * tests.
 *
 * Live code is linked against this library in front of advapi32 and tdh, or compiled natively with
 * the headers in compat/. What each function imitates, and where that is written down, stands in
 * BEHAVIOUR.md, row by row. What the fake cannot imitate it refuses loudly, with
 * ERROR_NOT_SUPPORTED and a line on stderr.
 *
 * All functions may be called from any thread, unless they say otherwise. Names of sessions are
 * UTF-8 here. Callbacks run without a lock of the fake held. Link with fake_etw; the Win32 headers
 * come with it.
 */
#ifndef FAKE_ETW_H
#define FAKE_ETW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tests/fake_etw/sdk.h"
#include "tests/support/patience.h"

/* Whose rights the program runs with. */
enum fake_etw_rights {
	FAKE_ETW_ADMINISTRATOR,
	FAKE_ETW_PERFORMANCE_LOG_USER, /* may control sessions, but no system logger */
	FAKE_ETW_NO_RIGHTS,
};

/* When the group masks of a system logger gain a bit that no program set. */
enum fake_etw_mask_gain {
	FAKE_ETW_MASKS_STAY,
	FAKE_ETW_MASKS_GAIN_AT_ONCE, /* in the call that enables a provider */
	FAKE_ETW_MASKS_GAIN_LATER,   /* 100 ms later */
};

/* What the kernel's rundown provider {3b9c9951-...} does when a session enables it. */
enum fake_etw_rundown_provider {
	FAKE_ETW_NAMES_AT_ONCE, /* the names of open files are in the session when the call returns
				 */
	FAKE_ETW_NAMES_LATE,    /* by fake_etw_report_late_names() */
	FAKE_ETW_NAMES_NEVER,
};

/* The machine. Zero-initialised fields take the value behind the colon. */
struct fake_etw_options {
	unsigned processors;         /* 4 */
	uint32_t os_build;           /* 22621; from 20348 on there are system providers */
	enum fake_etw_rights rights; /* administrator */
	bool no_profile_privilege;   /* the account does not hold SeSystemProfilePrivilege */
	bool manual_flush;           /* the flush timer fires by fake_etw_flush() only */
	bool bare_log_header;      /* OpenTraceW leaves LogfileHeader zero, as real-time sessions of
				      older systems do */
	unsigned playback_buffers; /* that a session keeps while it has no consumer: its maximum of
				      buffers */
	unsigned foreign_sessions; /* of other programs that run already; they count towards the 64:
				      0 */
	unsigned foreign_system_loggers; /* likewise, of the eight: 0 */
	bool container;                  /* Windows runs in a process-isolated container */
	unsigned disorder_ms;   /* events of one processor may come so much later than those of
				   others: 0 */
	unsigned disorder_seed; /* chooses which do */
	int counter_ppm;        /* so many millionths is the performance counter too fast: 0 */
	unsigned max_loggers;   /* sessions that can run (EtwMaxLoggers), 32 to 256: 64 */
	bool full_decides; /* whether an event is given to no session is decided by the mode of the
			      session that has no room, and not by the modes of the others */
	bool other_guid;   /* QUERY answers another GUID than StartTraceW was given */
	bool reused_handles; /* a session gets the handle of the one that had its place before */
	enum fake_etw_mask_gain mask_gain; /* FAKE_ETW_MASKS_STAY */
	uint32_t stripped_modes;           /* that StartTraceW leaves out of every session: 0 */
	uint32_t refused_modes;            /* for which StartTraceW returns 87: 0 */
	bool close_drops; /* CloseTrace drops buffers that ProcessTrace has not begun to deliver */
	unsigned lost_at_stop;   /* events that STOP itself writes, and that find no room: 0 */
	unsigned foreign_clocks; /* bits (1 << Wnode.ClientContext) of the clocks that those system
				    loggers use: none */
	uint32_t other_pid;      /* of the program that acts in fake_etw_other_…(): 4242 */
	bool changes_unreported; /* what is done to sessions is written as no event */
	bool own_stop_is_reported; /* a session also gets the event that it is stopped itself */
	uint32_t clock_type_error; /* of a third type of clock before build 15063:
				      ERROR_INVALID_PARAMETER */
	enum fake_etw_rundown_provider rundown_provider; /* at once */
	bool end_rundown_at_stop; /* fake_etw_play() leaves out what a recording reports of its end:
				     see fake_etw_exist_like() */
	unsigned open_files;      /* that were open before, beside those that a test adds: 0 */
	bool restless_drives;     /* each look finds other letters, volumes and services; none of a
				     device that a recording has */
};

/*
 * Forgets everything (sessions, traces, registrations, scripts) and sets the machine up; NULL: all
 * defaults. A test's first and last call. No other thread may be inside a function of the fake.
 */
void fake_etw_reset(const struct fake_etw_options *options);

/* Changes rights and flags of the machine while it runs. */
void fake_etw_set_rights(enum fake_etw_rights rights);

/* What live code opened and has not closed; all zero at the end of a test. */
struct fake_etw_open {
	unsigned sessions;      /* started through StartTraceW */
	unsigned traces;        /* OpenTraceW */
	unsigned registrations; /* EventRegister */
	unsigned handles;       /* snapshots and tokens; natively only */
};

struct fake_etw_open fake_etw_open_things(void);

/*
 * The call fails with error after that many more calls that are let through: once, or each time
 * until fake_etw_fail_never(). The name is that of the function ("StartTraceW"); an unknown one
 * ends the program. Error 0 takes an earlier failure back.
 */
void fake_etw_fail(const char *call, uint32_t error, unsigned after);
void fake_etw_fail_always(const char *call, uint32_t error);
void fake_etw_fail_never(const char *call);

/*
 * From now on, until fake_etw_reset(), the fake does not do what this row of BEHAVIOUR.md says: as
 * a Windows would for which the assumption is wrong. Rows that it knows this of: see the calls of
 * fake_otherwise(). row: a string that stays valid.
 */
void fake_etw_otherwise(const char *row);

/* How often live code called the function so far, failed calls included. */
unsigned fake_etw_calls(const char *call);

/* --- sessions --- */

struct fake_etw_session {
	TRACEHANDLE handle;
	GUID guid;
	uint32_t mode;     /* EVENT_TRACE_*_MODE */
	uint32_t flags;    /* EVENT_TRACE_FLAG_*, those that are kept in other words included */
	uint32_t masks[8]; /* kernel groups, as Windows keeps them */
	uint32_t buffer_size_kb;
	uint32_t minimum_buffers;
	uint32_t maximum_buffers;
	uint32_t flush_timer; /* as given: seconds or ms */
	uint32_t clock;       /* Wnode.ClientContext: 1 QPC, 2 system time, 3 cycles */
	uint32_t buffers;     /* allocated */
	uint32_t free_buffers;
	uint32_t buffers_written;
	uint32_t realtime_buffers_lost;
	uint64_t emitted; /* events that its filters let in: written = delivered + waiting + lost */
	uint64_t events_lost;
	uint64_t events_in_lost_buffers;
	uint64_t delivered; /* to a consumer's callback, those of the fake's own loss records left
			       out */
	uint32_t consumers; /* inside ProcessTrace */
	uint32_t providers; /* enabled */
	uint32_t stack_events; /* TraceStackTracingInfo */
	uint64_t withheld;     /* events that it did not get because another session had no room for
				  them; Windows counts them nowhere */
};

/* False when no session of that name runs. */
bool fake_etw_session(const char *name, struct fake_etw_session *session);

/* Names of the sessions that run, in the order of their ids; returns how many there are. */
unsigned fake_etw_sessions(char names[][64], unsigned size);

/* Fires the flush timer of a session now; NULL: of all. */
void fake_etw_flush(const char *name);

/*
 * Flushes, then waits until a session has no event left that its consumer has not got. False when
 * that takes longer, or there is no such session or no consumer.
 */
bool fake_etw_drain(const char *name, unsigned timeout_ms);

/* Waits until the session has a consumer. */
bool fake_etw_wait_consumer(const char *name, unsigned timeout_ms);

/* Waits until a flag is set, by itself or by a system provider. */
bool fake_etw_wait_flag(const char *name, uint32_t flag, unsigned timeout_ms);

/* The priority that the thread which consumes the session had when it called ProcessTrace. */
int fake_etw_consumer_priority(const char *name);

/* As if that many events had found no buffer. */
void fake_etw_lose_events(const char *name, unsigned count);

/* While full, the session has no room for another event. */
void fake_etw_fill(const char *name, bool full);

/* How often live code has stopped a session that a consumer was still processing. */
unsigned fake_etw_stops_while_consumed(void);

/* The next buffers that would go to a consumer are lost. */
void fake_etw_lose_buffers(const char *name, unsigned count);

/* While held, ProcessTrace of that session makes no callback, as if the consumer got no processor
 * time. A session that is stopped, or a trace that is closed, ends when hold is taken back. */
void fake_etw_hold_consumer(const char *name, bool hold);

/* ProcessTrace of that session returns with this error as soon as the callback under way has
 * returned. */
void fake_etw_end_consumer(const char *name, uint32_t error);

/* --- another program --- */

/* Failures and rights do not count for it. True when it worked. */
bool fake_etw_other_start(const char *name, uint32_t mode, uint32_t flags);
bool fake_etw_other_stop(const char *name);
bool fake_etw_other_set_flags(const char *name, uint32_t flags);
bool fake_etw_other_set_realtime(const char *name, bool realtime);
bool fake_etw_other_enable(const char *name, const GUID *provider, uint8_t level, uint64_t any);
bool fake_etw_other_disable(const char *name, const GUID *provider);
/* Stops the session and starts one of the same name and mode that is the other program's. */
bool fake_etw_other_steal(const char *name);

/* --- clocks --- */

/*
 * From now on the performance counter counts from counter at frequency per second, and the system
 * time (100 ns since 1601 UTC) goes on from system_time. Under Windows this changes what the whole
 * program reads.
 */
void fake_etw_set_clock(uint64_t frequency, int64_t counter, int64_t system_time);

/* The clock is set: the system time jumps, the performance counter does not. */
void fake_etw_jump_system_time(int64_t delta_100ns);

/* --- events and providers --- */

struct fake_etw_item {
	uint16_t type; /* EVENT_HEADER_EXT_TYPE_* */
	uint16_t size;
	const void *data; /* NULL: the record says the size, and points to no data */
};

/* One event. Everything is borrowed for the length of the call. */
struct fake_etw_event {
	GUID provider; /* or event class */
	EVENT_DESCRIPTOR descriptor;
	bool classic; /* a MOF event; of a kernel class: goes to system loggers by their flags */
	bool timed;   /* raw_time is given; else it is now, by each session's clock */
	int64_t raw_time;
	int64_t system_time; /* the same for sessions that stamp by system time; 0: raw_time */
	uint32_t process_id;
	uint32_t thread_id;
	uint16_t processor;
	uint8_t pointer_size; /* 4 or 8; 0: 8 */
	uint16_t flags;       /* EVENT_HEADER_FLAG_* to add */
	uint16_t property;    /* EventProperty */
	GUID activity;
	const struct fake_etw_item *items;
	size_t item_count;
	const void *payload;
	size_t payload_size;
	const char *container; /* id of the container that it comes from; NULL: of the host */
};

/* Emits as a provider or the kernel would: to every session that wants it. Returns how many did;
 * lost events count. */
unsigned fake_etw_emit(const struct fake_etw_event *event);

/* The same, but waits until every session has a buffer for it: nothing is lost, and consumers set
 * the pace. False when no buffer becomes free within that time; then nothing was emitted. */
bool fake_etw_emit_waiting(const struct fake_etw_event *event, unsigned timeout_ms);

/*
 * An event of what exists already; copied. Its class and opcode decide which session gets it, and
 * when: a process, thread or image as DCStart (3) when its flag comes on, as DCEnd (4) when the
 * flag goes off or the session stops; the name of an open file (FileIo/36) when its flag goes off,
 * the session stops, or it enables the rundown provider; SystemConfig when it stops; any other when
 * its flag comes on. Of kernel classes.
 */
void fake_etw_add_rundown(const struct fake_etw_event *event);

/* The classes FileIo and SystemConfig. */
extern const GUID fake_file_class, fake_config_class;

/* The same for an event of version 2 without more than this. */
void fake_etw_add_existing(const GUID *class, uint8_t opcode, const void *payload, size_t size);

/* The same for a file that is open; its path begins with a device. */
void fake_etw_add_open_file(uint64_t key, const char *path);
/* ... and for many, which differ in their keys only. */
void fake_etw_add_open_files(unsigned count);

/* The rundown provider reports now what sessions asked it for (FAKE_ETW_NAMES_LATE). */
void fake_etw_report_late_names(void);

/*
 * A classic (MOF) provider: it is enabled by its control GUID, in one session at a time, and emits
 * classic events under its event classes. An event class that belongs to none is enabled by its own
 * GUID.
 */
void fake_etw_add_classic(const GUID *control, const GUID *event_class);

/* One call of an enable callback. */
struct fake_etw_callback {
	GUID source;
	uint32_t is_enabled;
	uint8_t level;
	uint64_t match_any;
	uint64_t match_all;
	/* The filter that is for the provider itself. */
	uint32_t filter_type;
	uint32_t filter_size; /* 0: none */
	uint8_t filter[1024];
};

struct fake_etw_provider; /* opaque */

/* What a scripted provider does in its callback: emits its state, for instance. May be NULL. */
typedef void (*fake_etw_on_callback)(void *context, const struct fake_etw_callback *callback);

/* A provider in some other process, which registers now; unregisters by fake_etw_provider_close()
 * or fake_etw_reset(). */
struct fake_etw_provider *fake_etw_provider_open(const GUID *guid, fake_etw_on_callback on_callback,
						 void *context);
void fake_etw_provider_close(struct fake_etw_provider *provider);

/* Its callbacks so far: copies at most size, returns how many there were. */
size_t fake_etw_provider_callbacks(struct fake_etw_provider *provider,
				   struct fake_etw_callback *callbacks, size_t size);
void fake_etw_provider_forget(struct fake_etw_provider *provider);

/* While true its callback does not return: enabling it with a timeout fails with ERROR_TIMEOUT. */
void fake_etw_provider_block(struct fake_etw_provider *provider, bool block);

/* Waits until every callback that is due has returned; false: not within that time. */
bool fake_etw_wait_idle(unsigned timeout_ms);

/* --- recordings --- */

struct etw_record;

struct fake_etw_play_options {
	const char *only; /* this session gets everything, even what it has not enabled; NULL: who
			     wants what */
	uint8_t pointer_size; /* as in struct etw_source_file_options */
	bool lossy;           /* never waits for a buffer: what finds none is lost and counted */
	bool advance_clock;   /* the clocks jump ahead with the events; else these may be of the
				 future */
	bool now;             /* events happen when they are played, not when they were recorded */
	bool (*skip)(void *context,
		     const struct etw_record *record); /* true: leave it out; may be NULL */
	void *context;
};

struct fake_etw_played {
	uint64_t emitted;  /* to one session at least */
	uint64_t unwanted; /* no session has it enabled */
	uint64_t left_out; /* what no live session delivers, and what was skipped */
};

/*
 * Plays a recording, in time order, to the sessions that run now: kernel events to system loggers
 * by their flags, others by what is enabled. Returns when the last event is in a buffer (flush to
 * have it delivered). False when the recording cannot be read, or no buffer becomes free for a long
 * time.
 */
bool fake_etw_play(const char *path, const struct fake_etw_play_options *options,
		   struct fake_etw_played *played, struct etw_error *err);

/*
 * Sets the clocks to those of a recording at its start, so that a consumer that takes an anchor
 * from now on converts times as a replay of the recording does. Call before sessions start. A
 * recording by system time or cycles is played in ticks of its performance counter.
 */
bool fake_etw_clock_like(const char *path, struct etw_error *err);

/*
 * What a recording reports of its end (names of open files, SystemConfig, DCEnd) exists on the
 * machine, and is reported when a session stops; a file whose FileCreate the recording has exists
 * from then on, by the machine's clock, and a process or thread that begins nowhere in it ran all
 * the time. For a machine with end_rundown_at_stop.
 */
bool fake_etw_exist_like(const char *path, struct etw_error *err);

/* --- delivering again: for measurements --- */

struct fake_etw_kept_record {
	EVENT_RECORD record;   /* points into the block that this begins */
	bool begins_with_time; /* its payload does, by the clock of the session */
};

/* Zero-initialise it. */
struct fake_etw_kept {
	struct fake_etw_kept_record **records; /* owned, as are its elements */
	size_t count, capacity;
};

/*
 * From now on copies of the records that the session's consumer gets are kept, behind those that
 * are kept already; NULL: no more. They are for this consumer alone, whose UserContext they have.
 * False: the session has no consumer.
 */
bool fake_etw_keep(const char *name, struct fake_etw_kept *kept);
void fake_etw_kept_done(struct fake_etw_kept *kept);

/* The event happens at another time; a time at the start of its payload moves with it. */
void fake_etw_restamp(struct fake_etw_kept_record *kept, int64_t raw_time);

/* The index behind the last record of a buffer of that many bytes that begins with a record. */
size_t fake_etw_kept_buffer(const struct fake_etw_kept *kept, size_t from, size_t size);

/*
 * Calls a function on the consumer's thread, inside ProcessTrace and between two deliveries, and
 * waits for it. It may call the callbacks of the log file. False: the session has no consumer, or
 * it ended before.
 */
bool fake_etw_run_on_consumer(const char *name,
			      void (*run)(void *context, EVENT_TRACE_LOGFILEW *log_file),
			      void *context);

struct fake_etw_paced {
	uint64_t delivered;
	uint64_t ns;
	uint64_t consumer_cpu_ns; /* of its thread */
	uint64_t process_cpu_ns;  /* of the whole program */
};

/*
 * The session's consumer gets what is kept, over and over, for that time and at that many events a
 * second: a buffer whenever one is full, and each second what is there. A consumer that is too slow
 * gets fewer. False: there is nothing kept, or as above.
 */
bool fake_etw_pace(const char *name, struct fake_etw_kept *kept, uint64_t rate, unsigned seconds,
		   struct fake_etw_paced *paced);

/* --- the machine --- */

void fake_etw_add_process(uint32_t pid, uint32_t parent, const char *image); /* "svchost.exe" */
/* Of a process that was added before; without it, all are 0. */
void fake_etw_set_memory(uint32_t pid, uint64_t working_set, uint64_t private_working_set,
			 uint64_t commit, uint32_t handle_count);
void fake_etw_add_thread(uint32_t tid, uint32_t pid);
void fake_etw_add_volume(const char *drive,
			 const char *target); /* "C:", "\\Device\\HarddiskVolume3" */
void fake_etw_remove_drive(const char *drive);

enum { FAKE_VOLUME_FOLDERS = 4, FAKE_VOLUME_EXTENTS = 4 };

/*
 * A volume of the mount manager. Its letters are those of fake_etw_add_volume(), and the folders in
 * which it is mounted stand here. One on a single partition has its number; one on none or several
 * disks has partition 0. Everything is copied.
 */
struct fake_etw_volume {
	const char *device;                       /* "\\Device\\HarddiskVolume3" */
	const char *folders[FAKE_VOLUME_FOLDERS]; /* "D:\\data\\"; as many as there are */
	const char *file_system;                  /* "NTFS"; NULL: none that Windows knows */
	uint32_t disks[FAKE_VOLUME_EXTENTS];
	unsigned disk_count;
	uint32_t partition;
};

/* The volume comes, or is another one from now on if there is one of that device. */
void fake_etw_attach_volume(const struct fake_etw_volume *volume);
void fake_etw_detach_volume(const char *device); /* with its letters */

/* A disk comes, or is another one from now on. vendor may be NULL: the disk does not report one. */
void fake_etw_attach_disk(uint32_t number, const char *vendor, const char *product,
			  uint32_t bytes_per_sector);
void fake_etw_detach_disk(uint32_t number);

/*
 * From now on DeviceIoControl() of that disk ("PhysicalDrive0") or volume (by its device) answers
 * the code with these bytes, as many as there is room for, and with this error; 0: success.
 */
void fake_etw_device_answer(const char *device, uint32_t code, uint32_t error, const void *bytes,
			    size_t size);
/* From now on these units are the letters and folders of the volume, for which no NUL need end. */
void fake_etw_volume_paths(const char *device, const uint16_t *units, size_t count);
/* While true, no control code of the disk or volume returns. */
void fake_etw_device_hang(const char *device, bool hang);
unsigned fake_etw_hanging(void); /* calls that do not return at the moment */

/* A service that runs in the process, with the tag of its threads. */
void fake_etw_add_service(const char *name, uint32_t pid, uint32_t tag);
void fake_etw_remove_service(const char *name);

/* A number below HKEY_LOCAL_MACHINE. */
void fake_etw_set_registry(const char *key, const char *value, uint32_t number);

/* Copies a binary value that the program has written below HKEY_LOCAL_MACHINE, and returns its
 * size; 0: there is none. */
size_t fake_etw_registry_bytes(const char *key, const char *value, uint8_t *bytes, size_t size);
unsigned fake_etw_registry_values(void); /* how many there are */

/* --- schemas --- */

/*
 * What TdhGetEventInformation answers for events of this provider, id and version; classic: of this
 * class, opcode and version. The bytes are a TRACE_EVENT_INFO with what it points to. Copied.
 */
void fake_etw_tdh_event(const GUID *provider, const EVENT_DESCRIPTOR *descriptor, bool classic,
			const void *information, size_t size);
void fake_etw_tdh_map(const GUID *provider, const char *name, const void *map,
		      size_t size); /* an EVENT_MAP_INFO */
void fake_etw_tdh_provider(const GUID *provider, const char *name, bool manifest);
void fake_etw_tdh_keyword(const GUID *provider, const char *name, uint64_t mask);

#endif
