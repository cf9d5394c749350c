/* SPDX-License-Identifier: MIT */
/*
 * What the files of the fake share: one state behind one lock.
 *
 * Functions named fake_… that take a session, a trace or a registration want the lock held, unless
 * they say otherwise.
 */
#ifndef FAKE_ETW_INTERNAL_H
#define FAKE_ETW_INTERNAL_H

#include "tests/fake_etw/fake_etw.h"

#include <stdatomic.h>

#include "base/os.h"

enum {
	FAKE_SESSIONS = 256, /* places; options.max_loggers of them are used */
	FAKE_SYSTEM_LOGGERS = 8,
	FAKE_RESERVED_LOGGERS = 2,      /* NT Kernel Logger, Circular Kernel Context Logger */
	FAKE_CLOCK_TYPES = 3,           /* Wnode.ClientContext 1 to 3 */
	FAKE_FREE_CLOCKS_BUILD = 15063, /* Windows 10 1703 */
	FAKE_NAME = 1024,               /* characters of a session's name */
	FAKE_PROCESSORS = 64,
	FAKE_TRACES = 128,
	FAKE_ENABLES = 256, /* providers of a session */
	FAKE_PROVIDER_SESSIONS = 8,
	FAKE_STACK_EVENTS = 256,
	FAKE_BUFFER_HEADER = 0x48,
	FAKE_EVENT_HEADER = 80,
};

/* Every function of the API, for failures and counts. */
#define FAKE_CALLS(call)                                                                                                 \
	call(StartTraceW) call(ControlTraceW) call(QueryAllTracesW) call(EnableTraceEx2) call(                           \
		TraceSetInformation) call(TraceQueryInformation) call(EnumerateTraceGuidsEx)                             \
		call(OpenTraceW) call(ProcessTrace) call(CloseTrace) call(EventRegister) call(                           \
			EventUnregister) call(EventSetInformation) call(EventWriteTransfer)                              \
			call(TdhGetEventInformation) call(TdhGetEventMapInformation) call(                               \
				TdhEnumerateProviders) call(CreateToolhelp32Snapshot) call(Process32FirstW)              \
				call(Process32NextW) call(Thread32First) call(Thread32Next) call(                        \
					QueryDosDeviceW) call(GetLogicalDrives) call(OpenProcessToken)                   \
					call(LookupPrivilegeValueW) call(AdjustTokenPrivileges) call(                    \
						TdhEnumerateManifestProviderEvents) call(TdhGetManifestEventInformation) \
						call(TdhEnumerateProviderFieldInformation) call(                         \
							TdhCreatePayloadFilter) call(TdhAggregatePayloadFilters)         \
							call(FindFirstVolumeW) call(FindNextVolumeW) call(               \
								GetVolumePathNamesForVolumeNameW)                        \
								call(GetVolumeInformationW) call(                        \
									CreateFileW) call(DeviceIoControl)               \
									call(OpenSCManagerW) call(                       \
										EnumServicesStatusExW)                   \
										call(I_QueryTagInformation)              \
											call(RegGetValueW) call(NtQuerySystemInformation) \
												call(RegCreateKeyExW)            \
												call(RegSetValueExW)             \
												call(RegDeleteKeyValueW)

enum fake_call {
#define FAKE_CALL(name) CALL_##name,
	FAKE_CALLS(FAKE_CALL)
#undef FAKE_CALL
		CALL_COUNT
};

struct fake_buffer {
	struct fake_buffer *next; /* in a session's list of spare ones */
	uint64_t session;         /* handle of the session that owns it */
	uint16_t processor;
	uint32_t used; /* bytes as ETW counts them, header included */
	uint32_t events;
	uint32_t references; /* queues that hold it */
	bool pooled; /* counts towards the session's buffers; a buffer of the playback file does not
		      */
	int64_t first_due;
	uint8_t *stored; /* struct fake_stored and what follows each, aligned to 8 */
	size_t stored_size;
	size_t capacity;
};

/* One event in a buffer: followed by its items (struct fake_item, data padded to 8) and its
 * payload. */
struct fake_stored {
	uint32_t size; /* to the next one */
	uint16_t item_count;
	uint16_t payload_size;
	uint32_t items_size;
	uint32_t unused;
	uint64_t order; /* running number: equal times keep it */
	int64_t due;    /* where delivery puts it: its time, or later (disorder_ms) */
	EVENT_HEADER header;
	ETW_BUFFER_CONTEXT context;
	uint32_t unused2;
};

struct fake_item {
	uint16_t type;
	uint16_t size;
	uint32_t padded;
	uint64_t missing; /* not 0: the record points to no data; 64 bits, to stay aligned */
};

struct fake_queue {
	struct fake_buffer **buffers;
	size_t count;
	size_t capacity;
};

/* A provider that a session has enabled. */
struct fake_enable {
	GUID provider;
	uint8_t level;
	uint64_t match_any;
	uint64_t match_all;
	uint32_t properties;
	GUID source;
	bool pids_set;
	unsigned pid_count;
	uint32_t pids[FAKE_MAX_FILTER_PIDS];
	bool ids_set;
	bool ids_in;
	unsigned id_count;
	uint16_t ids[FAKE_MAX_FILTER_IDS];
	bool stack_ids_set;
	bool stack_ids_in;
	unsigned stack_id_count;
	uint16_t stack_ids[FAKE_MAX_FILTER_IDS];
	WCHAR *executables; /* owned: names with semicolons between; NULL: all */
	void *payload;      /* owned: what TdhAggregatePayloadFilters made; NULL: none */
};

/* The filter of a call that is for the provider itself. */
struct fake_provider_filter {
	uint32_t type, size;
	uint8_t data[1024];
};

struct fake_session {
	bool used;
	bool foreign;   /* another program's */
	bool stopping;  /* its end has been written */
	bool names_due; /* of a rundown provider that is late */
	uint16_t id;
	TRACEHANDLE handle; /* of no other session, ever */
	TRACEHANDLE given;  /* the handle that programs have */
	WCHAR name[FAKE_NAME + 1];
	GUID guid;
	bool system_logger;
	uint32_t masks[8];          /* EnableFlags and TraceSetInformation */
	uint32_t provider_masks[8]; /* of the system providers that are enabled */
	uint64_t gain_due_ns;       /* when the masks gain a bit by themselves; 0: never */
	uint32_t mode;
	uint32_t buffer_size_kb;
	uint32_t minimum_buffers;
	uint32_t maximum_buffers;
	uint32_t flush_timer;
	uint32_t clock;
	int64_t start_raw; /* the session's clock, and the same moment as system time */
	int64_t start_time;
	uint64_t next_flush_ns;

	uint32_t allocated;
	uint32_t free;
	uint32_t written;
	uint32_t realtime_lost;
	uint32_t lose_buffers; /* still to lose */
	uint64_t emitted;
	uint64_t lost;
	uint64_t lost_in_buffers;
	uint64_t withheld;
	bool full; /* fake_etw_fill() */
	uint64_t delivered;
	struct fake_buffer *active[FAKE_PROCESSORS];
	struct fake_buffer *spare;
	struct fake_queue playback;
	/* Of disorder_ms. */
	int64_t newest_time;
	int64_t last_due[FAKE_PROCESSORS];
	uint64_t settled; /* events of a lower order were flushed and wait for nothing */

	struct fake_enable *enables; /* FAKE_ENABLES of them, owned */
	unsigned enable_count;
	struct etw_writer *file; /* owned; NULL: it writes none */
	CLASSIC_EVENT_ID *stack_events; /* owned */
	unsigned stack_event_count;
};

struct fake_trace {
	TRACEHANDLE handle; /* 0: free */
	EVENT_TRACE_LOGFILEW log;
	WCHAR name[FAKE_NAME + 1];
	bool processing;
	bool closing;
	bool session_gone;
	bool raw;
	bool wants_more; /* BufferCallback's answer; the consumer's thread alone */
	/* Read between events without the lock. */
	_Atomic(uint32_t) end_with;           /* fake_etw_end_consumer(); 0: not asked */
	_Atomic(bool) held;                   /* fake_etw_hold_consumer() */
	_Atomic(struct fake_etw_kept *) kept; /* fake_etw_keep(); NULL: nothing is kept */
	struct fake_task *task;               /* fake_etw_run_on_consumer(); NULL: none */
	uint64_t session;                     /* handle while processing */
	int priority;                         /* of the thread that called ProcessTrace */
	struct fake_queue queue;
	uint64_t lost_reported;
	uint32_t buffers_lost_reported;
};

struct fake_failure {
	uint32_t error;
	unsigned after;
	bool always;
	unsigned calls;
};

struct fake_etw {
	struct os_mutex lock;
	struct os_condition changed; /* anything that a thread may wait for */
	struct fake_etw_options options;
	struct fake_failure failures[CALL_COUNT];
	struct fake_session sessions[FAKE_SESSIONS];
	size_t session_end; /* the used ones stand before this index */
	struct fake_trace traces[FAKE_TRACES];
	uint64_t next_handle;
	uint64_t next_order;
	unsigned handles;          /* snapshots and tokens */
	uint32_t profile_interval; /* 100 ns */
	unsigned stops_while_consumed;
	const char *otherwise[8]; /* rows of fake_etw_otherwise() */
};

extern struct fake_etw fake;

/* state.c: takes the lock and counts the call. Returns the error to fail with, or 0. */
void fake_lock(void);
void fake_unlock(void);
uint32_t fake_enter(enum fake_call call);
BOOL fake_leave(uint32_t error);      /* ends a call that returns BOOL and sets the last error */
bool fake_otherwise(const char *row); /* whether fake_etw_otherwise() named it */
void fake_refuse(const char *call,
		 const char *what); /* says on stderr what the fake cannot imitate */

/* wide.c */
size_t fake_wide_length(const WCHAR *text);
bool fake_wide_equal(const WCHAR *a, const WCHAR *b);                /* without case, ASCII */
bool fake_wide_from_utf8(const char *text, WCHAR *out, size_t size); /* false: does not fit */
void fake_wide_to_utf8(const WCHAR *text, char *out, size_t size);
bool fake_guid_equal(const GUID *a, const GUID *b);
extern const GUID fake_no_guid;
extern const GUID fake_system_trace_control_guid;

/* clock.c: no lock needed */
uint64_t fake_clock_monotonic_ns(void); /* the real one, even when a test has set the clock */
int64_t fake_clock_qpc(void);
int64_t fake_clock_frequency(void);
int64_t fake_clock_system_time(void);
int64_t fake_clock_boot_time(void);
int64_t fake_clock_raw(uint32_t clock);
int64_t fake_clock_raw_at(uint32_t clock, uint64_t now_ns); /* by fake_clock_monotonic_ns() */
int64_t fake_clock_to_time(const struct fake_session *session, int64_t raw);
int64_t fake_clock_ticks_of_ms(const struct fake_session *session, unsigned ms);
/* Both clocks go ahead to this reading of the counter, unless it is past already. */
void fake_clock_advance_to(int64_t counter);
void fake_clock_reset(void);

/* sessions.c */
struct fake_session *fake_session_by_name(const WCHAR *name);
struct fake_session *fake_session_by_handle(TRACEHANDLE handle);
struct fake_session *fake_session_by_utf8(const char *name);
struct fake_session *fake_session_by_given(TRACEHANDLE given); /* a handle that a program has */
/* A provider was enabled: the masks gain a bit, if the machine is one of those. */
void fake_session_gain(struct fake_session *session);
/* Brings the masks up to date. */
void fake_session_settle(struct fake_session *session);
uint32_t fake_session_start(TRACEHANDLE *handle, const WCHAR *name,
			    EVENT_TRACE_PROPERTIES *properties, bool foreign);
void fake_session_stop(struct fake_session *session, uint32_t pid); /* pid 0: of no process */
void fake_session_set_masks(struct fake_session *session, const uint32_t masks[8]);
void fake_session_set_flags(struct fake_session *session, uint32_t flags); /* EnableFlags */
uint32_t fake_session_flags(const struct fake_session *session);
bool fake_session_kernel(const struct fake_session *session); /* "NT Kernel Logger" */
bool fake_rights_for(bool system_logger);

/* control.c */
void fake_properties_fill(const struct fake_session *session, EVENT_TRACE_PROPERTIES *properties);

void fake_session_set_realtime(struct fake_session *session, bool realtime);

/* buffers.c */
struct fake_piece {
	const void *at;
	size_t size;
};

/* What goes into a buffer. Pieces of the payload follow each other. */
struct fake_write {
	EVENT_HEADER
	header; /* Size and the flag for extended items are filled in; TimeStamp is final */
	uint16_t processor;
	uint64_t now_ns; /* fake_clock_monotonic_ns() */
	const struct fake_piece *payload;
	size_t payload_count;
	const struct fake_piece *items; /* of type item_types[] */
	const uint16_t *item_types;
	size_t item_count;
};

/* Makes room for the event in an open buffer. Returns 0, or why there is none: ERROR_MORE_DATA,
 * ERROR_NOT_ENOUGH_MEMORY, ERROR_LOG_FILE_FULL. */
uint32_t fake_buffer_make_room(struct fake_session *session, const struct fake_write *write);
/* Likewise: not 0 says why the event was lost. */
uint32_t fake_buffer_write(struct fake_session *session, const struct fake_write *write);
/* Waits until an event of at most that many bytes would find a place in every session. False:
 * no buffer became free within that time. */
bool fake_buffer_wait_for_room(uint16_t processor, size_t size, unsigned timeout_ms);
/* What was written so far is delivered, however late the events of a processor may come. */
void fake_buffer_flush(struct fake_session *session);
/* Fires the flush timer when it is due. */
void fake_buffer_tick(struct fake_session *session, uint64_t now_ns);
uint64_t fake_buffer_due_ns(const struct fake_session *session); /* UINT64_MAX: never */
void fake_buffer_release(struct fake_buffer *buffer);
/* Up to where no event is still to come that delivery would put before one that is there. */
int64_t fake_buffer_watermark(const struct fake_session *session);
void fake_buffer_done(struct fake_session *session);
void fake_queue_add(struct fake_queue *queue, struct fake_buffer *buffer);
void fake_queue_done(struct fake_queue *queue);
const struct fake_stored *fake_buffer_at(const struct fake_buffer *buffer, size_t offset);

/* log_file.c: a session that writes a file, which is complete when it has stopped. */
uint32_t fake_log_open(struct fake_session *session, const WCHAR *name);
uint32_t fake_log_write(struct fake_session *session, const struct fake_write *write);
void fake_log_close(struct fake_session *session); /* if it writes one */

/* consumer.c */
void fake_consumer_queue(struct fake_session *session, struct fake_buffer *buffer);
void fake_consumer_session_gone(uint64_t session);
unsigned fake_consumer_count(const struct fake_session *session);

/* kept.c */
void fake_keep(struct fake_etw_kept *kept, const EVENT_RECORD *record); /* without the lock */
/* Calls the function of fake_etw_run_on_consumer(); the lock is released meanwhile. */
void fake_run_task(struct fake_trace *trace);

/* guard.c */
void fake_guard_begin(void); /* before calls of fake_guard() */
/* False: the function faulted. Without the lock. */
bool fake_guard(void (*call)(void *context), void *context);

/* events.c */
uint32_t fake_emit(const struct fake_etw_event *event, unsigned *sessions);
/* To this session, even what it has not enabled. */
uint32_t fake_emit_to(struct fake_session *session, const struct fake_etw_event *event,
		      const struct fake_enable *enable);

/* enable.c */
const struct fake_enable *fake_enable_of(const struct fake_session *session, const GUID *provider);
void fake_enable_session_gone(struct fake_session *session);
uint32_t fake_enable_set(struct fake_session *session, const struct fake_enable *enable);
bool fake_enable_clear(struct fake_session *session, const GUID *provider);

/* What all sessions together want of a provider: is_enabled is 0 or 1. */
struct fake_union {
	ULONG is_enabled;
	uint8_t level;
	uint64_t match_any;
	uint64_t match_all;
};

struct fake_union fake_enable_union(const GUID *provider);
bool fake_enable_passes(uint8_t level, uint64_t match_any, uint64_t match_all, uint8_t event_level,
			uint64_t keyword);

/* changes.c: what Microsoft-Windows-Kernel-EventTracing reports of sessions, to those that enabled
 * it; pid: of the process that did it. */
enum fake_change { FAKE_CHANGE_STARTED, FAKE_CHANGE_STOPPED, FAKE_CHANGE_CONFIGURED };

extern const GUID fake_event_tracing_guid;
void fake_changes_session(const struct fake_session *session, enum fake_change change,
			  uint32_t pid);
/* enable NULL: disabled. */
void fake_changes_provider(const struct fake_session *session, const GUID *provider,
			   const struct fake_enable *enable, uint32_t pid);

/* providers.c */
/* The index-th registration that exists, and the process it is in (pid may be NULL); false: no
 * more. */
bool fake_providers_at(size_t index, GUID *guid, uint32_t *pid);
void fake_providers_reset(void);          /* without the lock */
unsigned fake_providers_registered(void); /* without the lock */
/* Queues a callback for all registrations of a provider; returns what to wait for, 0: nothing. */
/* filter: NULL: none. */
uint64_t fake_providers_notify(const GUID *provider, const GUID *source, ULONG is_enabled,
			       uint8_t level, uint64_t match_any, uint64_t match_all,
			       const struct fake_provider_filter *filter);
/* Waits until it has been done; false: not within that time. */
bool fake_providers_wait(uint64_t ticket, uint32_t timeout_ms);

/* kernel.c */
bool fake_kernel_class(const GUID *guid);
/* Whether a system logger with these flags gets an event of a kernel class. */
bool fake_kernel_requested(const struct fake_session *session, const uint32_t masks[8],
			   const GUID *guid, uint8_t opcode);
/* Whether its call stack follows an event of a kernel class in the session. */
bool fake_kernel_has_stack(const struct fake_session *session, const struct fake_etw_event *event);
enum { FAKE_STACK_OPCODE = 32 };
extern const GUID fake_stack_class; /* StackWalk */
/* Groups that a system provider stands for; false: no system provider of this machine. */
bool fake_kernel_system_provider(const GUID *guid, uint64_t keywords, uint32_t masks[8]);

/* rundown.c */
/* After a change of the masks: what exists, of what is newly off and newly on. */
void fake_kernel_rundown(struct fake_session *session, const uint32_t before[8]);
void fake_kernel_update(struct fake_session *session); /* after a change of what is enabled */
void fake_kernel_provider_rundown(struct fake_session *session, const struct fake_enable *enable);
void fake_kernel_stop(struct fake_session *session); /* before its last flush */
/* Whether a session gets such an event at its end. */
bool fake_rundown_of_the_end(const struct fake_etw_event *event);
/* since: the reading of the counter from which on it exists. */
void fake_rundown_add(const struct fake_etw_event *event, int64_t since, bool only_at_end);
void fake_rundown_reset(void);

/* machine.c */
bool fake_machine_profile_privilege(void); /* held and enabled */
LONG WINAPI fake_machine_query_system(ULONG what, PVOID answer, ULONG size, ULONG *needed);
bool fake_machine_process_name(uint32_t pid, WCHAR *name, size_t size);
void fake_machine_reset(void);
HANDLE fake_handle_of_device(const void *device); /* CloseHandle ends it */
const void *fake_device_of_handle(HANDLE value);  /* NULL: it is no device */

/* disks.c */
void fake_disks_reset(void);

/* services.c */
void fake_services_reset(void);
void fake_registry_reset(void);
void fake_services_change(unsigned look); /* of a restless machine */

/* classic.c */
/* The control GUID that an event class belongs to; NULL: no test said. */
const GUID *fake_classic_control(const GUID *event_class);
bool fake_classic_provider(const GUID *guid); /* a control GUID */
void fake_classic_reset(void);

/* payload.c */
/* Whether TdhAggregatePayloadFilters made these bytes. */
bool fake_payload_good(const void *bytes, size_t size);
bool fake_payload_wants(const void *bytes, const struct fake_etw_event *event);

/* tdh.c */
/* What a test said of this event of a manifest; NULL: nothing. */
const TRACE_EVENT_INFO *fake_tdh_information(const GUID *provider, uint16_t id, uint8_t version);
void fake_tdh_reset(void);

#endif
