/* SPDX-License-Identifier: MIT */
/*
 * What the files of the fake share: one state behind one lock.
 *
 * The caller of a function fake_… that takes a session, a trace or a registration must hold the
 * lock, unless the comment says otherwise.
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
	FAKE_NAME = 1024,               /* most characters of a session's name */
	FAKE_PROCESSORS = 256,
	FAKE_TRACES = 128,
	FAKE_ENABLES = 256, /* providers of a session */
	FAKE_PROVIDER_SESSIONS = 8,
	FAKE_STACK_EVENTS = 256,
	FAKE_BUFFER_HEADER = 0x48,
	FAKE_EVENT_HEADER = 80,
};

/* Every function of the API, for failures and counts. */
/* clang-format off */
#define FAKE_CALLS(call) \
	call(StartTraceW) call(ControlTraceW) call(QueryAllTracesW) call(EnableTraceEx2) \
	call(TraceSetInformation) call(TraceQueryInformation) call(EnumerateTraceGuidsEx) \
	call(OpenTraceW) call(ProcessTrace) call(CloseTrace) call(EventRegister) \
	call(EventUnregister) call(EventSetInformation) call(EventWriteTransfer) \
	call(TdhGetEventInformation) call(TdhGetEventMapInformation) \
	call(TdhEnumerateProviders) call(CreateToolhelp32Snapshot) call(Process32FirstW) \
	call(Process32NextW) call(Thread32First) call(Thread32Next) call(QueryDosDeviceW) \
	call(GetLogicalDrives) call(OpenProcessToken) call(LookupPrivilegeValueW) \
	call(AdjustTokenPrivileges) call(TdhEnumerateManifestProviderEvents) \
	call(TdhGetManifestEventInformation) call(TdhEnumerateProviderFieldInformation) \
	call(TdhCreatePayloadFilter) call(TdhAggregatePayloadFilters) call(FindFirstVolumeW) \
	call(FindNextVolumeW) call(GetVolumePathNamesForVolumeNameW) \
	call(GetVolumeInformationW) call(CreateFileW) call(DeviceIoControl) \
	call(OpenSCManagerW) call(EnumServicesStatusExW) call(I_QueryTagInformation) \
	call(RegGetValueW) call(NtQuerySystemInformation) call(RegCreateKeyExW) \
	call(RegSetValueExW) call(RegDeleteKeyValueW)
/* clang-format on */

enum fake_call {
#define FAKE_CALL(name) CALL_##name,
	FAKE_CALLS(FAKE_CALL)
#undef FAKE_CALL
		CALL_COUNT
};

struct fake_buffer {
	struct fake_buffer *next; /* next in a session's list of spare buffers */
	uint64_t session;         /* handle of the session that owns it */
	uint16_t processor;
	uint32_t used; /* bytes as ETW counts them, including the header */
	uint32_t events;
	uint32_t references; /* number of queues that hold it */
	bool pooled; /* counts towards the session's buffers; a buffer of the playback file does not
		      */
	int64_t first_due;
	uint8_t *stored; /* each struct fake_stored with its items and payload, aligned to 8 */
	size_t stored_size;
	size_t capacity;
};

/* One event in a buffer: followed by its items (struct fake_item, data padded to 8) and its
 * payload. */
struct fake_stored {
	uint32_t size; /* bytes to the next one */
	uint16_t item_count;
	uint16_t payload_size;
	uint32_t items_size;
	uint32_t unused;
	uint64_t order; /* running number, the order of events with equal times */
	int64_t due;    /* when it is delivered: at its time, or later (disorder_ms) */
	EVENT_HEADER header;
	ETW_BUFFER_CONTEXT context;
	uint32_t unused2;
};

struct fake_item {
	uint16_t type;
	uint16_t size;
	uint32_t padded;
	uint64_t missing; /* not 0: the record has no pointer to data; 64 bits keep the data aligned
			   */
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
	WCHAR *executables; /* owned; names separated by semicolons; NULL: all */
	void *payload;      /* owned; result of TdhAggregatePayloadFilters; NULL: none */
};

/* The filter in a call that the provider itself applies. */
struct fake_provider_filter {
	uint32_t type, size;
	uint8_t data[1024];
};

struct fake_session {
	bool used;
	bool foreign;   /* it belongs to another program */
	bool stopping;  /* its end has been written */
	bool names_due; /* a late rundown provider has not reported yet */
	uint16_t id;
	TRACEHANDLE handle; /* unique; no other session ever has it */
	TRACEHANDLE given;  /* the handle that programs have */
	WCHAR name[FAKE_NAME + 1];
	GUID guid;
	bool system_logger;
	uint32_t masks[8];          /* set by EnableFlags and TraceSetInformation */
	uint32_t provider_masks[8]; /* masks of the enabled system providers */
	uint64_t gain_due_ns;       /* when the masks gain a bit by themselves; 0: never */
	uint32_t mode;
	uint32_t buffer_size_kb;
	uint32_t minimum_buffers;
	uint32_t maximum_buffers;
	uint32_t flush_timer;
	uint32_t clock;
	int64_t start_raw; /* the start by the session's clock, and the same moment as system time
			    */
	int64_t start_time;
	uint64_t next_flush_ns;

	uint32_t allocated;
	uint32_t free;
	uint32_t written;
	uint32_t realtime_lost;
	uint32_t lose_buffers; /* buffers that will be lost */
	uint64_t emitted;
	uint64_t lost;
	uint64_t lost_in_buffers;
	uint64_t withheld;
	bool full; /* fake_etw_fill() */
	uint64_t delivered;
	struct fake_buffer *active[FAKE_PROCESSORS];
	unsigned active_end; /* index after the last one that was ever open */
	struct fake_buffer *spare;
	struct fake_queue playback;
	/* For disorder_ms. */
	int64_t newest_time;
	int64_t last_due[FAKE_PROCESSORS];
	uint64_t settled; /* events with a lower order were flushed, so nothing delays them */

	struct fake_enable *enables; /* FAKE_ENABLES of them, owned */
	unsigned enable_count;
	struct etw_writer *file;        /* owned; NULL: it writes no file */
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
	bool wants_more; /* what BufferCallback returned; only the consumer's thread uses it */
	/* The consumer reads these between events without the lock. */
	_Atomic(uint32_t) end_with; /* error of fake_etw_end_consumer(); 0: not requested */
	_Atomic(bool) held;         /* fake_etw_hold_consumer() */
	_Atomic(struct fake_etw_kept *) kept; /* fake_etw_keep(); NULL: nothing is kept */
	struct fake_task *task;               /* fake_etw_run_on_consumer(); NULL: none */
	uint64_t session;                     /* handle while processing */
	int priority;                         /* priority of the thread that called ProcessTrace */
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
	struct os_condition
		changed; /* signalled when anything that a thread may wait for changes */
	struct fake_etw_options options;
	struct fake_failure failures[CALL_COUNT];
	struct fake_session sessions[FAKE_SESSIONS];
	size_t session_end; /* index after the last one in use */
	struct fake_trace traces[FAKE_TRACES];
	uint64_t next_handle;
	uint64_t next_order;
	unsigned handles;          /* snapshots and tokens */
	uint32_t profile_interval; /* 100 ns */
	unsigned stops_while_consumed;
	const char *otherwise[8]; /* rows of fake_etw_otherwise() */
};

extern struct fake_etw fake;

/* state.c: fake_enter() takes the lock and counts the call. It returns the error with which the
 * call must fail, or 0. */
void fake_lock(void);
void fake_unlock(void);
uint32_t fake_enter(enum fake_call call);
BOOL fake_leave(uint32_t error);      /* ends a call that returns BOOL and sets the last error */
bool fake_otherwise(const char *row); /* returns whether fake_etw_otherwise() named the row */
void fake_refuse(const char *call,
		 const char *what); /* prints on stderr what the fake cannot imitate */

/* wide.c */
size_t fake_wide_length(const WCHAR *text);
bool fake_wide_equal(const WCHAR *a, const WCHAR *b); /* ignores the case of ASCII letters */
bool fake_wide_from_utf8(const char *text, WCHAR *out, size_t size); /* false: it does not fit */
void fake_wide_to_utf8(const WCHAR *text, char *out, size_t size);
bool fake_guid_equal(const GUID *a, const GUID *b);
extern const GUID fake_no_guid;
extern const GUID fake_system_trace_control_guid;

/* clock.c: these need no lock */
uint64_t fake_clock_monotonic_ns(void); /* the real clock, even if a test has set another */
int64_t fake_clock_qpc(void);
int64_t fake_clock_frequency(void);
int64_t fake_clock_system_time(void);
int64_t fake_clock_boot_time(void);
int64_t fake_clock_raw(uint32_t clock);
int64_t fake_clock_raw_at(uint32_t clock,
			  uint64_t now_ns); /* at a time of fake_clock_monotonic_ns() */
int64_t fake_clock_to_time(const struct fake_session *session, int64_t raw);
int64_t fake_clock_ticks_of_ms(const struct fake_session *session, unsigned ms);
/* Moves both clocks to this value of the counter, unless they are already later. */
void fake_clock_advance_to(int64_t counter);
void fake_clock_reset(void);

/* sessions.c */
struct fake_session *fake_session_by_name(const WCHAR *name);
struct fake_session *fake_session_by_handle(TRACEHANDLE handle);
struct fake_session *fake_session_by_utf8(const char *name);
struct fake_session *fake_session_by_given(TRACEHANDLE given); /* a handle that a program has */
/* Call it when a provider was enabled: the masks gain a bit if the machine's options say so. */
void fake_session_gain(struct fake_session *session);
/* Applies a gain of bits that is due. */
void fake_session_settle(struct fake_session *session);
uint32_t fake_session_start(TRACEHANDLE *handle, const WCHAR *name,
			    EVENT_TRACE_PROPERTIES *properties, bool foreign);
void fake_session_stop(struct fake_session *session, uint32_t pid); /* pid 0: no process did it */
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

/* An event to write into a buffer. The payload is the sum of its pieces. */
struct fake_write {
	EVENT_HEADER
	header; /* Size and the flag for extended items are filled in; TimeStamp is final */
	uint16_t processor;
	uint64_t now_ns; /* fake_clock_monotonic_ns() */
	const struct fake_piece *payload;
	size_t payload_count;
	const struct fake_piece *items; /* their types are in item_types[] */
	const uint16_t *item_types;
	size_t item_count;
};

/* Makes room for the event in an open buffer. Returns 0, or the reason why there is none:
 * ERROR_MORE_DATA, ERROR_NOT_ENOUGH_MEMORY, ERROR_LOG_FILE_FULL. */
uint32_t fake_buffer_make_room(struct fake_session *session, const struct fake_write *write);
/* Writes the event. Returns 0, or the same reason why it was lost. */
uint32_t fake_buffer_write(struct fake_session *session, const struct fake_write *write);
/* Waits until every session has room for an event of at most that many bytes. Returns false if no
 * buffer became free within that time. */
bool fake_buffer_wait_for_room(uint16_t processor, size_t size, unsigned timeout_ms);
/* Makes everything written so far ready for delivery, even if events of a processor may come late.
 */
void fake_buffer_flush(struct fake_session *session);
/* Fires the flush timer if it is due. */
void fake_buffer_tick(struct fake_session *session, uint64_t now_ns);
uint64_t fake_buffer_due_ns(
	const struct fake_session *session); /* when the timer is due; UINT64_MAX: never */
void fake_buffer_release(struct fake_buffer *buffer);
/* Returns the time up to which all events are there, so that they can be delivered in order. */
int64_t fake_buffer_watermark(const struct fake_session *session);
void fake_buffer_done(struct fake_session *session);
void fake_queue_add(struct fake_queue *queue, struct fake_buffer *buffer);
void fake_queue_done(struct fake_queue *queue);
const struct fake_stored *fake_buffer_at(const struct fake_buffer *buffer, size_t offset);

/* log_file.c: the file that a session writes. It is complete when the session has stopped. */
uint32_t fake_log_open(struct fake_session *session, const WCHAR *name);
uint32_t fake_log_write(struct fake_session *session, const struct fake_write *write);
void fake_log_close(struct fake_session *session); /* does nothing if it writes none */

/* consumer.c */
void fake_consumer_queue(struct fake_session *session, struct fake_buffer *buffer);
void fake_consumer_session_gone(uint64_t session);
unsigned fake_consumer_count(const struct fake_session *session);

/* kept.c */
void fake_keep(struct fake_etw_kept *kept, const EVENT_RECORD *record);
/* call it without the lock */ /* Calls the function of fake_etw_run_on_consumer(); the lock
				  is released meanwhile. */
void fake_run_task(struct fake_trace *trace);

/* guard.c */
void fake_guard_begin(void); /* call it before fake_guard() */
/* Calls a function without the lock held. Returns false if it faulted. */
bool fake_guard(void (*call)(void *context), void *context);

/* events.c */
uint32_t fake_emit(const struct fake_etw_event *event, unsigned *sessions);
/* Emits to this session, even if it has not enabled the event. */
uint32_t fake_emit_to(struct fake_session *session, const struct fake_etw_event *event,
		      const struct fake_enable *enable);

/* enable.c */
const struct fake_enable *fake_enable_of(const struct fake_session *session, const GUID *provider);
void fake_enable_session_gone(struct fake_session *session);
uint32_t fake_enable_set(struct fake_session *session, const struct fake_enable *enable);
bool fake_enable_clear(struct fake_session *session, const GUID *provider);

/* What all sessions together have enabled of a provider; is_enabled is 0 or 1. */
struct fake_union {
	ULONG is_enabled;
	uint8_t level;
	uint64_t match_any;
	uint64_t match_all;
};

struct fake_union fake_enable_union(const GUID *provider);
bool fake_enable_passes(uint8_t level, uint64_t match_any, uint64_t match_all, uint8_t event_level,
			uint64_t keyword);

/* changes.c: events of Microsoft-Windows-Kernel-EventTracing about sessions, for those that have
 * enabled it; pid: the process that made the change. */
enum fake_change { FAKE_CHANGE_STARTED, FAKE_CHANGE_STOPPED, FAKE_CHANGE_CONFIGURED };

extern const GUID fake_event_tracing_guid;
void fake_changes_session(const struct fake_session *session, enum fake_change change,
			  uint32_t pid);
/* enable NULL: the provider was disabled. */
void fake_changes_provider(const struct fake_session *session, const GUID *provider,
			   const struct fake_enable *enable, uint32_t pid);

/* providers.c */
/* Gets the registration with an index, and its process (pid may be NULL). Returns false after the
 * last one. */
bool fake_providers_at(size_t index, GUID *guid, uint32_t *pid);
void fake_providers_reset(void);          /* without the lock */
unsigned fake_providers_registered(void); /* without the lock */
/* Queues a callback for all registrations of a provider. Returns a ticket for
 * fake_providers_wait(); 0: there is nothing to wait for. filter NULL: none. */
uint64_t fake_providers_notify(const GUID *provider, const GUID *source, ULONG is_enabled,
			       uint8_t level, uint64_t match_any, uint64_t match_all,
			       const struct fake_provider_filter *filter);
/* Waits until the callbacks of a ticket have returned. Returns false if that takes longer. */
bool fake_providers_wait(uint64_t ticket, uint32_t timeout_ms);

/* kernel.c */
bool fake_kernel_class(const GUID *guid);
/* Returns whether a system logger with these masks gets an event of a kernel class. */
bool fake_kernel_requested(const struct fake_session *session, const uint32_t masks[8],
			   const GUID *guid, uint8_t opcode);
/* Returns whether the session gets a call stack after this event of a kernel class. */
bool fake_kernel_has_stack(const struct fake_session *session, const struct fake_etw_event *event);
enum { FAKE_STACK_OPCODE = 32 };
extern const GUID fake_stack_class; /* StackWalk */
/* Gets the groups of a system provider. Returns false if this machine has no such system provider.
 */
bool fake_kernel_system_provider(const GUID *guid, uint64_t keywords, uint32_t masks[8]);

/* rundown.c */
/* Call it after a change of the masks: reports what exists, for each flag that went off or came on.
 */
void fake_kernel_rundown(struct fake_session *session, const uint32_t before[8]);
void fake_kernel_update(
	struct fake_session *session); /* call it after a change of enabled providers */
void fake_kernel_provider_rundown(struct fake_session *session, const struct fake_enable *enable);
void fake_kernel_stop(struct fake_session *session); /* call it before the last flush */
/* Returns whether a session gets such an event at its end. */
bool fake_rundown_of_the_end(const struct fake_etw_event *event);
/* since: the counter's value from which on the thing exists. */
void fake_rundown_add(const struct fake_etw_event *event, int64_t since, bool only_at_end);
void fake_rundown_reset(void);

/* machine.c */
bool fake_machine_profile_privilege(void); /* returns whether the privilege is held and enabled */
LONG WINAPI fake_machine_query_system(ULONG what, PVOID answer, ULONG size, ULONG *needed);
bool fake_machine_process_name(uint32_t pid, WCHAR *name, size_t size);
void fake_machine_reset(void);
HANDLE fake_handle_of_device(const void *device); /* CloseHandle() closes it */
const void *fake_device_of_handle(HANDLE value);  /* NULL: the handle is of no device */

/* disks.c */
void fake_disks_reset(void);

/* services.c */
void fake_services_reset(void);
void fake_registry_reset(void);
void fake_services_change(unsigned look); /* for restless_drives */

/* classic.c */
/* Returns the control GUID of an event class; NULL: no test has added one. */
const GUID *fake_classic_control(const GUID *event_class);
bool fake_classic_provider(const GUID *guid); /* returns whether it is a control GUID */
void fake_classic_reset(void);

/* payload.c */
/* Returns whether TdhAggregatePayloadFilters made these bytes. */
bool fake_payload_good(const void *bytes, size_t size);
bool fake_payload_wants(const void *bytes, const struct fake_etw_event *event);

/* tdh.c */
/* Returns what a test has set for this event of a manifest; NULL: nothing. */
const TRACE_EVENT_INFO *fake_tdh_information(const GUID *provider, uint16_t id, uint8_t version);
void fake_tdh_reset(void);

#endif
