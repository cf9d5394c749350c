/* SPDX-License-Identifier: MIT */
/*
 * An in-memory ETW: the Win32 functions of sessions, consumers and providers, and controls for
 * tests.
 *
 * Live code is linked against this library in front of advapi32 and tdh, or compiled natively with
 * the headers in compat/. BEHAVIOUR.md says, row by row, what each function imitates, and where
 * that is written down. A call that the fake cannot imitate returns ERROR_NOT_SUPPORTED and prints
 * a line on stderr.
 *
 * All functions may be called from any thread, unless they say otherwise. Names of sessions are
 * UTF-8 here. Callbacks run while no lock of the fake is held. Link with fake_etw, which brings the
 * Win32 headers.
 */
#ifndef FAKE_ETW_H
#define FAKE_ETW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tests/fake_etw/sdk.h"
#include "tests/support/patience.h"

/* The rights with which the program runs. */
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
	FAKE_ETW_NAMES_AT_ONCE, /* the session has the names of open files when the call returns */
	FAKE_ETW_NAMES_LATE,    /* by fake_etw_report_late_names() */
	FAKE_ETW_NAMES_NEVER,
};

/* The machine. The comment of a number or an enum begins with its default, for which zero stands;
 * flags are false by default. */
struct fake_etw_options {
	unsigned processors;         /* 4; at most 256 */
	uint32_t os_build;           /* 22621; builds from 20348 on have system providers */
	enum fake_etw_rights rights; /* administrator */
	bool no_profile_privilege;   /* the account does not hold SeSystemProfilePrivilege */
	bool manual_flush;           /* only fake_etw_flush() fires the flush timer */
	bool bare_log_header;      /* OpenTraceW leaves LogfileHeader zero, as real-time sessions of
				      older systems do */
	unsigned playback_buffers; /* its maximum of buffers; those that a session keeps while it
				      has no consumer */
	unsigned foreign_sessions; /* 0; sessions of other programs, which count towards the 64 */
	unsigned foreign_system_loggers; /* 0; system loggers of other programs, of the eight */
	bool container;                  /* Windows runs in a process-isolated container */
	unsigned disorder_ms;   /* 0; events of one processor may come so much later than those of
				   others */
	unsigned disorder_seed; /* chooses the events that come later */
	int counter_ppm;        /* 0; the performance counter is too fast by so many millionths */
	unsigned max_loggers;   /* 64; sessions that can run (EtwMaxLoggers), 32 to 256 */
	bool full_decides; /* the mode of the session that has no room decides whether an event goes
			      to no session; the modes of the others do not */
	bool other_guid;   /* QUERY answers another GUID than StartTraceW was given */
	bool reused_handles; /* a session gets the handle of the previous one in its place */
	bool fixed_guids; /* a session of another program that is started again, or that takes the
			     place of one, has the same GUID, as autologgers have */
	enum fake_etw_mask_gain mask_gain; /* FAKE_ETW_MASKS_STAY */
	uint64_t memory_kb;      /* enough; the most that the first buffers of a session may take */
	uint32_t stripped_modes; /* 0; modes that StartTraceW removes from every session */
	uint32_t refused_modes;  /* 0; modes for which StartTraceW returns 87 */
	bool close_drops; /* CloseTrace drops buffers that ProcessTrace has not begun to deliver */
	unsigned lost_at_stop;     /* 0; events that STOP itself writes and loses */
	unsigned foreign_clocks;   /* none; clocks of those system loggers, as bits (1 <<
				      Wnode.ClientContext) */
	uint32_t other_pid;        /* 4242; the program that acts in fake_etw_other_…() */
	bool changes_unreported;   /* no event reports changes of sessions */
	bool own_stop_is_reported; /* a session also gets the event about its own stop */
	uint32_t clock_type_error; /* ERROR_INVALID_PARAMETER; returned for a third type of clock
				      before build 15063 */
	enum fake_etw_rundown_provider rundown_provider; /* at once */
	bool end_rundown_at_stop; /* fake_etw_play() leaves out the rundown at the end of a
				     recording, see fake_etw_exist_like() */
	unsigned open_files;  /* 0; files that were open before, in addition to those that a test
				 adds */
	bool restless_drives; /* each query finds other letters, volumes and services, but none of a
				 device in a recording */
};

/*
 * Forgets everything (sessions, traces, registrations, scripts) and sets the machine up; options
 * NULL: all defaults. A test calls it first and last. No other thread may be inside a function of
 * the fake.
 */
void fake_etw_reset(const struct fake_etw_options *options);

/* Changes rights and flags of the machine while it runs. */
void fake_etw_set_rights(enum fake_etw_rights rights);

/* Counts what live code has opened and not closed. All are zero at the end of a test. */
struct fake_etw_open {
	unsigned sessions;      /* started through StartTraceW */
	unsigned traces;        /* OpenTraceW */
	unsigned registrations; /* EventRegister */
	unsigned handles;       /* snapshots and tokens; natively only */
};

struct fake_etw_open fake_etw_open_things(void);

/*
 * Make a function ("StartTraceW") fail with an error: the first once, after `after` more calls that
 * succeed; the second each time until fake_etw_fail_never(). An unknown name ends the program.
 * Error 0 cancels an earlier failure.
 */
void fake_etw_fail(const char *call, uint32_t error, unsigned after);
void fake_etw_fail_always(const char *call, uint32_t error);
void fake_etw_fail_never(const char *call);

/*
 * Until fake_etw_reset() the fake does not do what this row of BEHAVIOUR.md says, as if the
 * assumption were wrong. The calls of fake_otherwise() show which rows this works for. row: a
 * string that stays valid.
 */
void fake_etw_otherwise(const char *row);

/* Returns how often live code has called the function, including failed calls. */
unsigned fake_etw_calls(const char *call);

/* --- sessions --- */

struct fake_etw_session {
	TRACEHANDLE handle;
	GUID guid;
	uint32_t mode;  /* EVENT_TRACE_*_MODE */
	uint32_t flags; /* EVENT_TRACE_FLAG_*, including those that Windows keeps in other words */
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
	uint64_t emitted; /* events that passed its filters: emitted = delivered + waiting + lost */
	uint64_t events_lost;
	uint64_t events_in_lost_buffers;
	uint64_t delivered; /* events given to a consumer's callback, without the fake's own records
			       of losses */
	uint32_t consumers; /* inside ProcessTrace */
	uint32_t providers; /* enabled */
	uint32_t stack_events; /* TraceStackTracingInfo */
	uint64_t withheld;     /* events that it did not get because another session had no room;
				  Windows does not count them */
};

/* Gets a session. Returns false if no session of that name runs. */
bool fake_etw_session(const char *name, struct fake_etw_session *session);

/* Gets the names of running sessions in the order of their ids. Returns how many there are. */
unsigned fake_etw_sessions(char names[][64], unsigned size);

/* Fires the flush timer of a session now; NULL: of all sessions. */
void fake_etw_flush(const char *name);

/*
 * Flushes, then waits until the consumer of a session has got all its events. Returns false if that
 * takes longer, or if there is no such session or no consumer.
 */
bool fake_etw_drain(const char *name, unsigned timeout_ms);

/* Waits until the session has a consumer. Returns false if that takes longer. */
bool fake_etw_wait_consumer(const char *name, unsigned timeout_ms);

/* Waits until a flag is set, by itself or by a system provider. */
bool fake_etw_wait_flag(const char *name, uint32_t flag, unsigned timeout_ms);

/* Returns the priority that the consuming thread had when it called ProcessTrace. */
int fake_etw_consumer_priority(const char *name);

/* Counts that many events as lost, as if they had found no buffer. */
void fake_etw_lose_events(const char *name, unsigned count);

/* While full, the session has no room for another event. */
void fake_etw_fill(const char *name, bool full);

/* Returns how often live code stopped a session while a consumer was processing it. */
unsigned fake_etw_stops_while_consumed(void);

/* Loses the next `count` buffers that would go to a consumer. */
void fake_etw_lose_buffers(const char *name, unsigned count);

/* While hold is set, ProcessTrace of that session makes no callback, as if the consumer got no
 * processor time. A stopped session or a closed trace ends when hold is cleared. */
void fake_etw_hold_consumer(const char *name, bool hold);

/* Makes ProcessTrace of that session return this error after the present callback. */
void fake_etw_end_consumer(const char *name, uint32_t error);

/* --- another program --- */

/* Do what another program would. Failures and rights do not affect it. They return whether it
 * worked. */
bool fake_etw_other_start(const char *name, uint32_t mode, uint32_t flags);
bool fake_etw_other_stop(const char *name);
bool fake_etw_other_set_flags(const char *name, uint32_t flags);
bool fake_etw_other_set_realtime(const char *name, bool realtime);
bool fake_etw_other_enable(const char *name, const GUID *provider, uint8_t level, uint64_t any);
bool fake_etw_other_disable(const char *name, const GUID *provider);
/* Stops the session and starts one with the same name and mode, which belongs to the other program.
 */
bool fake_etw_other_steal(const char *name);

/* --- clocks --- */

/*
 * Sets the performance counter to `counter`, with `frequency` ticks a second, and the system time
 * to system_time (100 ns since 1601 UTC). Both continue from there. Under Windows this changes what
 * the whole program reads.
 */
void fake_etw_set_clock(uint64_t frequency, int64_t counter, int64_t system_time);

/* Changes the system time but not the performance counter, as if a person had set the clock. */
void fake_etw_jump_system_time(int64_t delta_100ns);

/* --- events and providers --- */

struct fake_etw_item {
	uint16_t type; /* EVENT_HEADER_EXT_TYPE_* */
	uint16_t size;
	const void *data; /* NULL: the record has the size but no pointer to data */
};

/* An event. Everything is borrowed during the call. */
struct fake_etw_event {
	GUID provider; /* or event class */
	EVENT_DESCRIPTOR descriptor;
	bool classic; /* a MOF event; one of a kernel class goes to system loggers by their flags */
	bool timed;   /* raw_time is set; false: the time is now, by each session's clock */
	int64_t raw_time;
	int64_t system_time; /* the same for sessions that use system time; 0: raw_time */
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
	const char *container; /* id of the container that it comes from; NULL: the host */
};

/* Emits an event to every session that has it enabled. Returns how many have, including those that
 * lost it. */
unsigned fake_etw_emit(const struct fake_etw_event *event);

/* Does the same, but waits until every session has a buffer for the event, so that nothing is lost
 * and consumers set the pace. Returns false, and emits nothing, if no buffer becomes free within
 * that time. */
bool fake_etw_emit_waiting(const struct fake_etw_event *event, unsigned timeout_ms);

/*
 * Adds an event about something that exists already; it is copied, and must be of a kernel class.
 * Class and opcode decide which session gets it, and when: a process, thread or image as DCStart
 * (3) when its flag comes on, as DCEnd (4) when the flag goes off or the session stops; the name of
 * an open file (FileIo/36) when its flag goes off, the session stops, or it enables the rundown
 * provider; SystemConfig when it stops; any other when its flag comes on.
 */
void fake_etw_add_rundown(const struct fake_etw_event *event);

/* The classes FileIo and SystemConfig. */
extern const GUID fake_file_class, fake_config_class;

/* Does the same for an event of version 2 that has only these. */
void fake_etw_add_existing(const GUID *class, uint8_t opcode, const void *payload, size_t size);

/* Does the same for an open file, whose path begins with a device. */
void fake_etw_add_open_file(uint64_t key, const char *path);
/* Does the same for many files, which differ only in their keys. */
void fake_etw_add_open_files(unsigned count);

/* Makes the rundown provider report now what sessions requested (FAKE_ETW_NAMES_LATE). */
void fake_etw_report_late_names(void);

/*
 * Adds a classic (MOF) provider, which is enabled by its control GUID in one session at a time and
 * emits events of its event class. An event class without such a provider is enabled by its own
 * GUID.
 */
void fake_etw_add_classic(const GUID *control, const GUID *event_class);

/* A call of an enable callback. */
struct fake_etw_callback {
	GUID source;
	uint32_t is_enabled;
	uint8_t level;
	uint64_t match_any;
	uint64_t match_all;
	/* The filter that the provider itself applies. */
	uint32_t filter_type;
	uint32_t filter_size; /* 0: none */
	uint8_t filter[1024];
};

struct fake_etw_provider; /* opaque */

/* Runs in the callback of a scripted provider; may emit the provider's state, for instance. May be
 * NULL. */
typedef void (*fake_etw_on_callback)(void *context, const struct fake_etw_callback *callback);

/* Registers a provider of another process. fake_etw_provider_close() or fake_etw_reset()
 * unregisters it. */
struct fake_etw_provider *fake_etw_provider_open(const GUID *guid, fake_etw_on_callback on_callback,
						 void *context);
void fake_etw_provider_close(struct fake_etw_provider *provider);

/* Copies at most `size` of its callbacks so far, and returns how many there were. */
size_t fake_etw_provider_callbacks(struct fake_etw_provider *provider,
				   struct fake_etw_callback *callbacks, size_t size);
void fake_etw_provider_forget(struct fake_etw_provider *provider);

/* While block is set its callback does not return, so that enabling it with a timeout fails with
 * ERROR_TIMEOUT. */
void fake_etw_provider_block(struct fake_etw_provider *provider, bool block);

/* Waits until every callback that is due has returned. Returns false if that takes longer. */
bool fake_etw_wait_idle(unsigned timeout_ms);

/* --- recordings --- */

struct etw_record;

struct fake_etw_play_options {
	const char *only;     /* this session alone gets everything, even events that it has not
				 enabled; NULL: each session gets what it has enabled */
	uint8_t pointer_size; /* as in struct etw_source_file_options */
	bool lossy;         /* never waits for a buffer; events without one are lost and counted */
	bool advance_clock; /* the clocks jump ahead with the events; false: events may lie in the
			       future */
	bool now; /* events get the time at which they are played, not that of the recording */
	bool (*skip)(void *context,
		     const struct etw_record
			     *record); /* returns whether to leave the record out; may be NULL */
	void *context;
};

struct fake_etw_played {
	uint64_t emitted;  /* events that at least one session got */
	uint64_t unwanted; /* events that no session has enabled */
	uint64_t left_out; /* events that no live session delivers, and skipped ones */
};

/*
 * Plays a recording in time order to the sessions that run now: kernel events go to system loggers
 * by their flags, others to sessions that have them enabled. Returns when the last event is in a
 * buffer; fake_etw_flush() delivers it. Returns false if the recording cannot be read, or if no
 * buffer becomes free for a long time.
 */
bool fake_etw_play(const char *path, const struct fake_etw_play_options *options,
		   struct fake_etw_played *played, struct etw_error *err);

/*
 * Sets the clocks to those of a recording at its start, so that a consumer converts times as a
 * replay of the recording does. Call it before sessions start. A recording with system time or
 * cycles is played in ticks of its performance counter.
 */
bool fake_etw_clock_like(const char *path, struct etw_error *err);

/*
 * Adds to the machine what a recording reports at its end (names of open files, SystemConfig,
 * DCEnd); it is reported when a session stops. A file with a FileCreate in the recording exists
 * from that time on, by the machine's clock; a process or thread without a start in it has always
 * run. For a machine with end_rundown_at_stop.
 */
bool fake_etw_exist_like(const char *path, struct etw_error *err);

/* --- delivering again: for measurements --- */

struct fake_etw_kept_record {
	EVENT_RECORD record;   /* points into the memory block that this struct begins */
	bool begins_with_time; /* its payload begins with a time of the session's clock */
};

/* Zero-initialise it. */
struct fake_etw_kept {
	struct fake_etw_kept_record **records; /* owned, as are its elements */
	size_t count, capacity;
};

/*
 * From now on adds copies of the records that the session's consumer gets to *kept; NULL: stops
 * that. The copies have the UserContext of this consumer, so only it may get them. Returns false if
 * the session has no consumer.
 */
bool fake_etw_keep(const char *name, struct fake_etw_kept *kept);
void fake_etw_kept_done(struct fake_etw_kept *kept);

/* Changes the time of an event, and the time at the start of its payload by the same amount. */
void fake_etw_restamp(struct fake_etw_kept_record *kept, int64_t raw_time);

/* Returns the index after the last record that fits into a buffer of `size` bytes, from the record
 * `from` on. */
size_t fake_etw_kept_buffer(const struct fake_etw_kept *kept, size_t from, size_t size);

/*
 * Calls a function on the consumer's thread, inside ProcessTrace and between two deliveries, and
 * waits for it. The function may call the callbacks of the log file. Returns false if the session
 * has no consumer, or if that has ended before.
 */
bool fake_etw_run_on_consumer(const char *name,
			      void (*run)(void *context, EVENT_TRACE_LOGFILEW *log_file),
			      void *context);

struct fake_etw_paced {
	uint64_t delivered;
	uint64_t ns;
	uint64_t consumer_cpu_ns; /* processor time of the consumer's thread */
	uint64_t process_cpu_ns;  /* processor time of the whole program */
};

/*
 * Delivers the kept records to the session's consumer, over and over, for `seconds` seconds and at
 * `rate` events a second: a buffer whenever one is full, and each second what is left. A consumer
 * that is too slow gets fewer. Returns false if there are no kept records, and for the reasons of
 * fake_etw_run_on_consumer().
 */
bool fake_etw_pace(const char *name, struct fake_etw_kept *kept, uint64_t rate, unsigned seconds,
		   struct fake_etw_paced *paced);

/* --- the machine --- */

void fake_etw_add_process(uint32_t pid, uint32_t parent, const char *image); /* "svchost.exe" */
/* Sets the memory of a process that was added before. Otherwise all of it is 0. */
void fake_etw_set_memory(uint32_t pid, uint64_t working_set, uint64_t private_working_set,
			 uint64_t commit, uint32_t handle_count);
void fake_etw_add_thread(uint32_t tid, uint32_t pid);
void fake_etw_add_volume(const char *drive,
			 const char *target); /* "C:", "\\Device\\HarddiskVolume3" */
void fake_etw_remove_drive(const char *drive);

enum { FAKE_VOLUME_FOLDERS = 4, FAKE_VOLUME_EXTENTS = 4 };

/*
 * A volume of the mount manager, with the folders in which it is mounted; fake_etw_add_volume()
 * gives it letters. A volume on a single partition has the number of that; one on no disk or
 * several disks has partition 0. Everything is copied.
 */
struct fake_etw_volume {
	const char *device;                       /* "\\Device\\HarddiskVolume3" */
	const char *folders[FAKE_VOLUME_FOLDERS]; /* "D:\\data\\"; NULL: no more */
	const char *file_system;                  /* "NTFS"; NULL: Windows knows none */
	uint32_t disks[FAKE_VOLUME_EXTENTS];
	unsigned disk_count;
	uint32_t partition;
};

/* Adds the volume, or replaces the one of that device. */
void fake_etw_attach_volume(const struct fake_etw_volume *volume);
void fake_etw_detach_volume(const char *device); /* with its letters */

/* Adds a disk, or replaces the one with that number. vendor NULL: the disk reports none. */
void fake_etw_attach_disk(uint32_t number, const char *vendor, const char *product,
			  uint32_t bytes_per_sector);
void fake_etw_detach_disk(uint32_t number);

/*
 * Makes DeviceIoControl() of that disk ("PhysicalDrive0") or volume (its device) answer the code
 * with these bytes, as many as there is room for, and with this error; 0: success.
 */
void fake_etw_device_answer(const char *device, uint32_t code, uint32_t error, const void *bytes,
			    size_t size);
/* Makes these code units the answer about letters and folders of the volume. They need not end with
 * a NUL. */
void fake_etw_volume_paths(const char *device, const uint16_t *units, size_t count);
/* While hang is set, no control code of the disk or volume returns. */
void fake_etw_device_hang(const char *device, bool hang);
unsigned fake_etw_hanging(void); /* number of calls that hang at the moment */

/* Adds a service that runs in the process, with the tag of its threads. */
void fake_etw_add_service(const char *name, uint32_t pid, uint32_t tag);
void fake_etw_remove_service(const char *name);

/* Sets a number below HKEY_LOCAL_MACHINE. */
void fake_etw_set_registry(const char *key, const char *value, uint32_t number);

/* Copies a binary value that the program has written below HKEY_LOCAL_MACHINE. Returns its size; 0
 * if there is none. */
size_t fake_etw_registry_bytes(const char *key, const char *value, uint8_t *bytes, size_t size);
unsigned fake_etw_registry_values(void); /* number of all such values */

/* --- schemas --- */

/*
 * Sets what TdhGetEventInformation answers for events of this provider, id and version, or, if
 * classic, of this class, opcode and version. The bytes, which are copied, are a TRACE_EVENT_INFO
 * with everything that its offsets point to.
 */
void fake_etw_tdh_event(const GUID *provider, const EVENT_DESCRIPTOR *descriptor, bool classic,
			const void *information, size_t size);
void fake_etw_tdh_map(const GUID *provider, const char *name, const void *map,
		      size_t size); /* an EVENT_MAP_INFO */
void fake_etw_tdh_provider(const GUID *provider, const char *name, bool manifest);
void fake_etw_tdh_keyword(const GUID *provider, const char *name, uint64_t mask);

#endif
