/* SPDX-License-Identifier: MIT */
/* StartTraceW, and what starting and stopping a session does. */
#define _WMI_SOURCE_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN_MODES                                                                      \
	(EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_SYSTEM_LOGGER_MODE |                   \
	 EVENT_TRACE_INDEPENDENT_SESSION_MODE | EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING | \
	 EVENT_TRACE_USE_MS_FLUSH_TIMER | EVENT_TRACE_USE_PAGED_MEMORY |                 \
	 EVENT_TRACE_STOP_ON_HYBRID_SHUTDOWN | EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN |  \
	 EVENT_TRACE_BUFFERING_MODE | EVENT_TRACE_FILE_MODE_SEQUENTIAL)

static const WCHAR kernel_logger_name[] = u"NT Kernel Logger";

struct fake_session *fake_session_by_name(const WCHAR *name)
{
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		if (fake.sessions[i].used && fake_wide_equal(fake.sessions[i].name, name)) {
			return &fake.sessions[i];
		}
	}
	return NULL;
}

struct fake_session *fake_session_by_utf8(const char *name)
{
	WCHAR wide[FAKE_NAME + 1];

	return fake_wide_from_utf8(name, wide, FAKE_NAME + 1) ? fake_session_by_name(wide) : NULL;
}

struct fake_session *fake_session_by_handle(TRACEHANDLE handle)
{
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		if (fake.sessions[i].used && fake.sessions[i].handle == handle) {
			return &fake.sessions[i];
		}
	}
	return NULL;
}

struct fake_session *fake_session_by_given(TRACEHANDLE given)
{
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		if (fake.sessions[i].used && fake.sessions[i].given == given) {
			return &fake.sessions[i];
		}
	}
	return NULL;
}

bool fake_session_kernel(const struct fake_session *session)
{
	return fake_wide_equal(session->name, kernel_logger_name);
}

bool fake_rights_for(bool system_logger)
{
	if (fake.options.container && system_logger) {
		return false;
	}
	return fake.options.rights == FAKE_ETW_ADMINISTRATOR ||
	       (fake.options.rights == FAKE_ETW_PERFORMANCE_LOG_USER && !system_logger);
}

static uint32_t check_offsets(const EVENT_TRACE_PROPERTIES *properties, const WCHAR *name)
{
	ULONG size = properties->Wnode.BufferSize;
	ULONG at = properties->LoggerNameOffset;
	ULONG file = properties->LogFileNameOffset;
	size_t room;

	if (at < sizeof(*properties) || at >= size) {
		return ERROR_INVALID_PARAMETER;
	}
	if (file != 0 && (file <= at || file >= size)) {
		return ERROR_INVALID_PARAMETER;
	}
	if (file != 0) {
		const WCHAR *text = (const WCHAR *)((const char *)properties + file);
		size_t most = (size - file) / sizeof(WCHAR);
		size_t length = 0;

		while (length < most && text[length] != 0) {
			length++;
		}
		if (length == most || length > FAKE_NAME) {
			return ERROR_INVALID_PARAMETER;
		}
	}
	room = (file != 0 ? file : size) - at;
	return (fake_wide_length(name) + 1) * sizeof(WCHAR) <= room ? 0 : ERROR_BAD_LENGTH;
}

static bool names_file(const EVENT_TRACE_PROPERTIES *properties)
{
	const WCHAR *file =
		(const WCHAR *)((const char *)properties + properties->LogFileNameOffset);

	return properties->LogFileNameOffset != 0 && *file != 0;
}

static uint32_t check_modes(const EVENT_TRACE_PROPERTIES *properties, bool system_logger)
{
	ULONG mode = properties->LogFileMode;

	if ((mode & ~(ULONG)KNOWN_MODES) != 0) {
		fake_refuse("StartTraceW", "this LogFileMode");
		return ERROR_NOT_SUPPORTED;
	}
	if (names_file(properties) != ((mode & EVENT_TRACE_FILE_MODE_SEQUENTIAL) != 0) ||
	    (names_file(properties) && (mode & EVENT_TRACE_REAL_TIME_MODE) != 0)) {
		fake_refuse("StartTraceW", "a log file that is not sequential alone");
		return ERROR_NOT_SUPPORTED;
	}
	if ((mode & (EVENT_TRACE_REAL_TIME_MODE | EVENT_TRACE_BUFFERING_MODE |
		     EVENT_TRACE_FILE_MODE_SEQUENTIAL)) == 0) {
		return ERROR_BAD_PATHNAME;
	}
	if ((mode & EVENT_TRACE_BUFFERING_MODE) != 0 && (mode & EVENT_TRACE_REAL_TIME_MODE) != 0) {
		return ERROR_INVALID_PARAMETER;
	}
	if (system_logger && (mode & EVENT_TRACE_USE_PAGED_MEMORY) != 0) {
		return ERROR_INVALID_PARAMETER;
	}
	if (properties->Wnode.ClientContext > FAKE_CLOCK_TYPES ||
	    (mode & fake.options.refused_modes) != 0) {
		return ERROR_INVALID_PARAMETER;
	}
	return 0;
}

static uint32_t check_duplicates(const WCHAR *name, const GUID *guid)
{
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		const struct fake_session *session = &fake.sessions[i];

		if (session->used && (fake_wide_equal(session->name, name) ||
				      (fake_guid_equal(&session->guid, guid) &&
				       !fake_guid_equal(guid, &fake_no_guid)))) {
			return ERROR_ALREADY_EXISTS;
		}
	}
	return 0;
}

/* A free place; NULL when the machine has no more sessions, or no more system loggers, to give. */
static struct fake_session *place(bool system_logger, bool kernel)
{
	struct fake_session *found = NULL;
	unsigned used = fake.options.foreign_sessions + fake.options.foreign_system_loggers;
	unsigned loggers = fake.options.foreign_system_loggers;

	for (size_t i = fake.options.max_loggers; i > 0; i--) {
		struct fake_session *session = &fake.sessions[i - 1];

		if (session->used) {
			used++;
			loggers += session->system_logger && !fake_session_kernel(session);
		} else {
			found = session;
		}
	}
	if (used >= fake.options.max_loggers ||
	    (system_logger && !kernel && loggers >= FAKE_SYSTEM_LOGGERS - FAKE_RESERVED_LOGGERS)) {
		return NULL;
	}
	return found;
}

/* Before build 15063 the system loggers of a machine use at most two types of clock at a time. */
static bool clock_is_one_too_many(const struct fake_etw_options *options, unsigned clock)
{
	unsigned used = options->foreign_clocks | 1u << clock;
	unsigned types = 0;

	if (options->os_build >= FAKE_FREE_CLOCKS_BUILD) {
		return false;
	}
	for (size_t i = 0; i < FAKE_SESSIONS; i++) {
		if (fake.sessions[i].used && fake.sessions[i].system_logger) {
			used |= 1u << fake.sessions[i].clock;
		}
	}
	for (unsigned i = 0; i <= FAKE_CLOCK_TYPES; i++) {
		types += used >> i & 1;
	}
	return types > 2;
}

static void set_buffers(struct fake_session *session, const EVENT_TRACE_PROPERTIES *properties)
{
	bool shared = (properties->LogFileMode & EVENT_TRACE_NO_PER_PROCESSOR_BUFFERING) != 0;
	uint32_t least = 2 * (shared ? 1 : fake.options.processors);

	session->buffer_size_kb = properties->BufferSize;
	if (fake_otherwise("S4a")) {
		/* as requested */
	} else if (session->buffer_size_kb == 0) {
		session->buffer_size_kb = 64;
	} else if (session->buffer_size_kb < 4) {
		session->buffer_size_kb = 4;
	} else if (session->buffer_size_kb > 16384) {
		session->buffer_size_kb = 16384;
	}
	session->minimum_buffers = properties->MinimumBuffers > least ? properties->MinimumBuffers :
									least;
	session->maximum_buffers = properties->MaximumBuffers;
	if (session->maximum_buffers == 0) {
		session->maximum_buffers = session->minimum_buffers + 20;
	} else if (session->maximum_buffers < session->minimum_buffers) {
		session->maximum_buffers = session->minimum_buffers;
	}
	session->allocated = session->minimum_buffers;
	session->free = session->minimum_buffers;
}

/* INDEPENDENT is stripped when it stands without one of the modes of hybrid shutdowns. */
static uint32_t kept_modes(uint32_t mode)
{
	const uint32_t hybrid = EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN |
				EVENT_TRACE_STOP_ON_HYBRID_SHUTDOWN;

	mode &= ~fake.options.stripped_modes;
	return (mode & hybrid) != 0 ? mode : mode & ~(uint32_t)EVENT_TRACE_INDEPENDENT_SESSION_MODE;
}

static GUID new_guid(void)
{
	GUID guid = { .Data1 = (ULONG)fake.next_handle,
		      .Data2 = 0xfa4e,
		      .Data3 = 0x4e77,
		      .Data4 = { 0x80 } };

	return guid;
}

static void free_lists(struct fake_session *session)
{
	for (unsigned i = 0; i < session->enable_count; i++) {
		free(session->enables[i].executables);
	}
	free(session->enables);
	free(session->stack_events);
	session->enables = NULL;
	session->stack_events = NULL;
}

uint32_t fake_session_start(TRACEHANDLE *handle, const WCHAR *name,
			    EVENT_TRACE_PROPERTIES *properties, bool foreign)
{
	struct fake_session *session;
	GUID guid = properties->Wnode.Guid;
	bool kernel = fake_wide_equal(name, kernel_logger_name);
	bool system_logger = kernel ||
			     (properties->LogFileMode & EVENT_TRACE_SYSTEM_LOGGER_MODE) != 0;
	uint32_t clock = properties->Wnode.ClientContext ? properties->Wnode.ClientContext : 1;
	uint32_t error;

	if (kernel) {
		guid = fake_system_trace_control_guid;
	} else if (fake_guid_equal(&guid, &fake_system_trace_control_guid)) {
		return ERROR_INVALID_PARAMETER;
	} else if (system_logger && fake_guid_equal(&guid, &fake_no_guid)) {
		return ERROR_INVALID_PARAMETER;
	}
	error = check_modes(properties, system_logger);
	if (error != 0) {
		return error;
	}
	if (properties->EnableFlags != 0 && !system_logger) {
		return ERROR_INVALID_PARAMETER;
	}
	if (!foreign) {
		if (!fake_rights_for(system_logger)) {
			return ERROR_ACCESS_DENIED;
		}
		if ((properties->EnableFlags & EVENT_TRACE_FLAG_PROFILE) != 0 &&
		    !fake_machine_profile_privilege()) {
			return ERROR_PRIVILEGE_NOT_HELD;
		}
	}
	error = check_duplicates(name, &guid);
	if (error != 0) {
		return error;
	}
	if (system_logger && clock_is_one_too_many(&fake.options, clock)) {
		return fake.options.clock_type_error;
	}
	session = place(system_logger, kernel);
	if (!session) {
		return ERROR_NO_SYSTEM_RESOURCES;
	}

	memset(session, 0, sizeof(*session));
	session->enables = calloc(FAKE_ENABLES, sizeof(*session->enables));
	session->stack_events = calloc(FAKE_STACK_EVENTS, sizeof(*session->stack_events));
	if (!session->enables || !session->stack_events) {
		abort();
	}
	session->used = true;
	if (fake.session_end <= (size_t)(session - fake.sessions)) {
		fake.session_end = (size_t)(session - fake.sessions) + 1;
	}
	session->foreign = foreign;
	session->id = (uint16_t)(session - fake.sessions + 1);
	session->handle = fake_otherwise("S15") ? session->id :
						  ++fake.next_handle << 16 | session->id;
	session->given = fake.options.reused_handles ? (1u << 16 | session->id) : session->handle;
	memcpy(session->name, name, (fake_wide_length(name) + 1) * sizeof(WCHAR));
	session->guid = fake_guid_equal(&guid, &fake_no_guid) ? new_guid() : guid;
	session->system_logger = system_logger;
	session->mode = kept_modes(properties->LogFileMode) |
			(kernel ? EVENT_TRACE_SYSTEM_LOGGER_MODE : 0);
	if (fake_otherwise("W1b")) {
		session->mode &= ~(uint32_t)EVENT_TRACE_INDEPENDENT_SESSION_MODE;
	}
	session->clock = clock;
	session->start_raw = fake_clock_raw(session->clock);
	session->start_time = fake_clock_system_time();
	session->flush_timer = properties->FlushTimer;
	if (session->flush_timer == 0 && (session->mode & EVENT_TRACE_REAL_TIME_MODE) != 0) {
		session->flush_timer =
			(session->mode & EVENT_TRACE_USE_MS_FLUSH_TIMER) != 0 ? 1000 : 1;
	}
	set_buffers(session, properties);
	if (fake.options.memory_kb != 0 &&
	    (uint64_t)session->allocated * session->buffer_size_kb > fake.options.memory_kb) {
		session->used = false;
		free_lists(session);
		return ERROR_NO_SYSTEM_RESOURCES;
	}
	if (names_file(properties)) {
		error = fake_log_open(session, (const WCHAR *)((const char *)properties +
							       properties->LogFileNameOffset));
		if (error != 0) {
			session->used = false;
			free_lists(session);
			return error;
		}
	}
	session->next_flush_ns = fake_clock_monotonic_ns();
	fake_buffer_tick(session, session->next_flush_ns); /* the timer starts now */
	fake_session_set_flags(session, properties->EnableFlags);
	fake_changes_session(session, FAKE_CHANGE_STARTED,
			     foreign ? fake.options.other_pid : GetCurrentProcessId());
	*handle = session->given;
	os_condition_wake_all(&fake.changed);
	return 0;
}

/* Flags that Windows keeps as a bit of another word. */
static const struct {
	uint32_t flag;
	unsigned index;
	uint32_t group;
} moved[] = {
	{ EVENT_TRACE_FLAG_CSWITCH, 1, 0x4 },      { EVENT_TRACE_FLAG_DPC, 1, 0x80 },
	{ EVENT_TRACE_FLAG_INTERRUPT, 1, 0x4000 }, { EVENT_TRACE_FLAG_SYSTEMCALL, 2, 0x40 },
	{ EVENT_TRACE_FLAG_DISPATCHER, 1, 0x200 }, { EVENT_TRACE_FLAG_VIRTUAL_ALLOC, 1, 0x8000 },
	{ EVENT_TRACE_FLAG_DRIVER, 1, 0x10 },      { EVENT_TRACE_FLAG_PROFILE, 1, 0x2 },
};

enum { MOVED = sizeof(moved) / sizeof(moved[0]) };

void fake_session_set_masks(struct fake_session *session, const uint32_t masks[8])
{
	uint32_t before[8];

	memcpy(before, session->masks, sizeof(before));
	memcpy(session->masks, masks, sizeof(session->masks));
	for (size_t i = 0; i < MOVED; i++) {
		if ((session->masks[0] & moved[i].flag) != 0) {
			session->masks[0] &= ~moved[i].flag;
			session->masks[moved[i].index] |= moved[i].group;
		}
	}
	fake_kernel_rundown(session, before);
}

void fake_session_set_flags(struct fake_session *session, uint32_t flags)
{
	uint32_t masks[8];

	memcpy(masks, session->masks, sizeof(masks));
	masks[0] = flags;
	for (size_t i = 0; i < MOVED; i++) {
		masks[moved[i].index] &= ~moved[i].group;
	}
	fake_session_set_masks(session, masks);
}

uint32_t fake_session_flags(const struct fake_session *session)
{
	uint32_t flags = session->masks[0];

	for (size_t i = 0; i < MOVED; i++) {
		if ((session->masks[moved[i].index] & moved[i].group) != 0) {
			flags |= moved[i].flag;
		}
	}
	return flags;
}

/* A flag and a group that no program of the tests sets. */
enum { GAINED_FLAG = EVENT_TRACE_FLAG_DEBUG_EVENTS, GAINED_WORD = 5, GAINED_GROUP = 1 };
enum { GAIN_LATER_NS = 100000000 };

void fake_session_gain(struct fake_session *session)
{
	if (session->system_logger && fake.options.mask_gain != FAKE_ETW_MASKS_STAY) {
		session->gain_due_ns = fake_clock_monotonic_ns();
		if (fake.options.mask_gain == FAKE_ETW_MASKS_GAIN_LATER) {
			session->gain_due_ns += GAIN_LATER_NS;
		}
		fake_session_settle(session);
	}
}

void fake_session_settle(struct fake_session *session)
{
	uint32_t before[8];

	if (session->gain_due_ns != 0 && fake_clock_monotonic_ns() >= session->gain_due_ns) {
		session->gain_due_ns = 0;
		memcpy(before, session->masks, sizeof(before));
		session->masks[0] |= GAINED_FLAG;
		session->masks[GAINED_WORD] |= GAINED_GROUP;
		fake_kernel_rundown(session, before);
	}
}

void fake_session_stop(struct fake_session *session, uint32_t pid)
{
	if (pid != 0 && fake.options.own_stop_is_reported) {
		fake_changes_session(session, FAKE_CHANGE_STOPPED, pid);
	}
	fake_kernel_stop(session);
	fake_enable_session_gone(
		session); /* providers may still emit when notified that they are off */
	if (pid != 0 && !fake.options.own_stop_is_reported) {
		fake_changes_session(session, FAKE_CHANGE_STOPPED, pid);
	}
	fake_buffer_flush(session);
	fake_log_close(session);
	session->used = false;
	fake_consumer_session_gone(session->handle);
	fake_buffer_done(session);
	free_lists(session);
	os_condition_wake_all(&fake.changed);
}

static uint32_t start(PTRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties)
{
	uint32_t error;

	if (!handle || !name || !properties || *name == 0) {
		return ERROR_INVALID_PARAMETER;
	}
	*handle = 0;
	if (properties->Wnode.BufferSize < sizeof(*properties) ||
	    fake_wide_length(name) > FAKE_NAME) {
		return ERROR_BAD_LENGTH;
	}
	if ((properties->Wnode.Flags & WNODE_FLAG_TRACED_GUID) == 0) {
		return ERROR_INVALID_PARAMETER;
	}
	error = check_offsets(properties, name);
	if (error == 0) {
		error = fake_session_start(handle, name, properties, false);
	}
	if (error == 0) {
		memcpy((char *)properties + properties->LoggerNameOffset, name,
		       (fake_wide_length(name) + 1) * sizeof(WCHAR));
		fake_properties_fill(fake_session_by_given(*handle), properties);
	}
	return error;
}

ULONG WMIAPI StartTraceW(PTRACEHANDLE handle, LPCWSTR name, PEVENT_TRACE_PROPERTIES properties)
{
	uint32_t error = fake_enter(CALL_StartTraceW);

	if (error == 0) {
		error = start(handle, name, properties);
	}
	fake_unlock();
	return error;
}

IMPORTED(StartTraceW);
