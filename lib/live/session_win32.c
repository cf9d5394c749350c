/* SPDX-License-Identifier: MIT */
/*
 * The session itself: starting it, querying it, undoing changes by other programs, stopping it.
 *
 * A session is identified by its name, its handle and its GUID, as the query right after the start
 * returned them (struct session_identity). One of them alone is not enough: another program may
 * start a session of the same name, and Windows reuses handles. The GUID passed to StartTraceW() is
 * never compared, because no page says that queries return it.
 *
 * Kernel events are enabled by flags of the session or, where the configuration says so, by system
 * providers. A system provider that Windows refuses is replaced by its flags, so no events are
 * missing in either case. It is not documented whether TraceQueryInformation() reports what system
 * providers enabled, and nothing here relies on it.
 *
 * A session outlives the program that started it and costs time and memory until it is stopped. So
 * running sessions are also stored in a table that a crashing process can read without a lock and
 * without memory of the heap.
 *
 * Source: "StartTraceW function", "ControlTraceW function", "EVENT_TRACE_PROPERTIES structure",
 * "Configuring and Starting a SystemTraceProvider Session", "System Providers", Microsoft Learn.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/session.h>

#include "lib/live/live_source_internal_win32.h"
#include "lib/live/session_changes.h"
#include "lib/source/provider_names.h"

enum {
	STALE_TRIES = 5, /* a stopped session still exists for a moment */
	STALE_WAIT_MS = 100,
	QPC_CLOCK = 1,             /* Wnode.ClientContext */
	BUFFERS_FEWEST = 8,        /* at the start, where memory is short */
	FREE_CLOCKS_BUILD = 15063, /* Windows 10 1703 */
};

#define RESTORES_WITHIN_NS (UINT64_C(60) * 1000 * 1000 * 1000)
#define RESTORES_REST_NS   (10 * RESTORES_WITHIN_NS)

/* ---- identity ---- */

static struct session_identity identity_of(const EVENT_TRACE_PROPERTIES *answer)
{
	return (struct session_identity){ .context = answer->Wnode.HistoricalContext,
					  .guid = answer->Wnode.Guid,
					  .guid_known = true };
}

/* Returns whether the answer to a query is about the session with this identity. */
static bool is_same_session(const struct session_identity *identity,
			    const EVENT_TRACE_PROPERTIES *answer)
{
	return identity->context == answer->Wnode.HistoricalContext &&
	       (!identity->guid_known ||
		memcmp(&identity->guid, &answer->Wnode.Guid, sizeof identity->guid) == 0);
}

/* ---- sessions of a process that crashes ---- */

enum { SESSIONS_MAX = 256 }; /* the most sessions that Windows runs ("StartTraceW function") */

enum { FREE, CHANGING, RUNS };

static struct running_session_entry {
	_Atomic(int) state;
	TRACEHANDLE session; /* 0: not known; only the name identifies the session */
	struct session_identity identity;
	WCHAR name[SESSION_NAME_MAX];
} sessions[SESSIONS_MAX];

unsigned emergency_stop_add(const WCHAR name[SESSION_NAME_MAX], TRACEHANDLE session,
			    const struct session_identity *identity)
{
	for (unsigned i = 0; i < SESSIONS_MAX; i++) {
		int expected = FREE;

		if (atomic_compare_exchange_strong(&sessions[i].state, &expected, CHANGING)) {
			sessions[i].session = session;
			if (identity) {
				sessions[i].identity = *identity;
			}
			memcpy(sessions[i].name, name, sizeof sessions[i].name);
			/* Pairs with the acquire in etw_live_emergency_stop(): the entry is
			 * whole. */
			atomic_store_explicit(&sessions[i].state, RUNS, memory_order_release);
			return i + 1;
		}
	}
	return 0;
}

void emergency_stop_remove(unsigned number)
{
	if (number > 0) {
		atomic_store_explicit(&sessions[number - 1].state, FREE, memory_order_release);
	}
}

/* ---- properties ---- */

void session_properties_init(struct session_properties *properties)
{
	memset(properties, 0, sizeof *properties);
	properties->base.Wnode.BufferSize = (ULONG)sizeof *properties;
	properties->base.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
	properties->base.LoggerNameOffset = (ULONG)offsetof(struct session_properties, logger_name);
	properties->base.LogFileNameOffset =
		(ULONG)offsetof(struct session_properties, log_file_name);
}

/* Returns the logging mode. Call system_choose() before, which resolves the logger. */
static ULONG logging_mode(const struct live *live)
{
	return SESSION_MODE |
	       (live->options.logger == ETW_LIVE_PRIVATE ? EVENT_TRACE_SYSTEM_LOGGER_MODE : 0);
}

static uint32_t windows_build(void)
{
	RTL_OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof version };

	/* GetVersionEx() does not help: it returns the version in the program's manifest. */
	return RtlGetVersion(&version) == 0 ? version.dwBuildNumber : 0;
}

bool system_choose(struct live *live, struct etw_error *err)
{
	uint32_t build = windows_build();

	if (live->options.logger == ETW_LIVE_SYSTEM_PROVIDERS && build < SYSTEM_PROVIDERS_BUILD) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "session %s: system providers need Windows 11 or Server 2022 "
				 "(build %d), and this is build %u; use logger: private",
				 live->name, SYSTEM_PROVIDERS_BUILD, (unsigned)build);
	}
	if (live->options.logger == ETW_LIVE_SYSTEM_PROVIDERS) {
		live->options.logger = ETW_LIVE_PRIVATE;
		live->system_providers = true;
	}
	return true;
}

uint32_t system_flags(const struct live *live)
{
	return live->system_providers ? system_provider_flags(kernel_flags_of(live)) : 0;
}

static bool is_kernel(const struct live *live)
{
	return live->options.logger != ETW_LIVE_USER && !is_attached(live);
}

/*
 * Flags with which Windows reports everything that exists already: all images of all processes,
 * for instance, which are some hundred thousand on a large server. Without a consumer, what does
 * not fit into the buffers and a limited file is lost (EVENT_TRACE_REAL_TIME_MODE in "Logging Mode
 * Constants", Microsoft Learn). So they are set when the session is consumed. Processes and threads
 * are fewer, and later events need them; they come first.
 */
#define LATE_FLAGS \
	(EVENT_TRACE_FLAG_IMAGE_LOAD | EVENT_TRACE_FLAG_VIRTUAL_ALLOC | EVENT_TRACE_FLAG_VAMAP)

/* flags: of all that the session needs, those to set now. */
static void fill_properties(const struct live *live, ULONG mode, uint32_t flags,
			    struct session_properties *properties)
{
	session_properties_init(properties);
	properties->base.LogFileNameOffset = 0; /* no file */
	properties->base.Wnode.ClientContext = QPC_CLOCK;
	properties->base.Wnode.Guid = live->guid;
	properties->base.BufferSize = (ULONG)(live->options.buffer_size_bytes / 1024);
	properties->base.MinimumBuffers = live->buffers_min;
	properties->base.MaximumBuffers = live->buffers_max;
	properties->base.LogFileMode = mode;
	properties->base.FlushTimer = (ULONG)(live->options.flush_ms / 1000);
	if (is_kernel(live)) {
		properties->base.EnableFlags = flags & ~system_flags(live);
	}
}

/* ---- kernel events ---- */

static bool ask_masks(TRACEHANDLE session, ULONG masks[KERNEL_MASKS])
{
	ULONG returned = 0;

	memset(masks, 0, KERNEL_MASKS * sizeof masks[0]);
	return TraceQueryInformation(session, TraceSystemTraceEnableFlagsInfo, masks,
				     KERNEL_MASKS * sizeof masks[0], &returned) == ERROR_SUCCESS;
}

/* Computes the words of the flags and groups as Windows keeps them. */
static void masks_of(uint32_t flags, uint32_t groups, ULONG masks[KERNEL_MASKS])
{
	uint32_t words[ETW_KERNEL_WORDS];

	etw_kernel_words(flags, groups, words);
	for (size_t i = 0; i < KERNEL_MASKS; i++) {
		masks[i] = words[i];
	}
}

static ULONG flags_in(const ULONG masks[KERNEL_MASKS])
{
	uint32_t words[ETW_KERNEL_WORDS];

	for (size_t i = 0; i < KERNEL_MASKS; i++) {
		words[i] = (uint32_t)masks[i];
	}
	return etw_kernel_flags_in(words);
}

/* Adds groups of kernel events to those that Windows or other programs enabled. */
static ULONG add_masks(TRACEHANDLE session, const ULONG added[KERNEL_MASKS])
{
	ULONG masks[KERNEL_MASKS];

	if (!ask_masks(session, masks)) {
		return ERROR_NOT_SUPPORTED;
	}
	for (size_t i = 0; i < KERNEL_MASKS; i++) {
		masks[i] |= added[i];
	}
	return TraceSetInformation(session, TraceSystemTraceEnableFlagsInfo, masks, sizeof masks);
}

/* Enables the system providers of these flags; they may be enabled already. Fails only if Windows
 * refuses both a provider and its flags. */
static ULONG enable_system_providers(const struct live *live, TRACEHANDLE session,
				     uint32_t kernel_flags)
{
	struct etw_guid guid;
	uint64_t keywords;
	uint32_t flags;

	kernel_flags &= system_flags(live);
	for (size_t i = 0; system_provider(kernel_flags, i, &guid, &keywords, &flags); i++) {
		GUID provider = live_windows_guid(&guid);
		ULONG masks[KERNEL_MASKS];
		char label[GUID_TEXT_SIZE];
		char text[160];
		ULONG status =
			enable_plainly(session, &provider, TRACE_LEVEL_INFORMATION, keywords);

		if (status == ERROR_SUCCESS) {
			continue;
		}
		guid_format(&guid, label);
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    "system provider {%s}: %s; its flags are set instead", label,
			    live_error_text(status, text));
		masks_of(flags, 0, masks);
		status = add_masks(session, masks);
		if (status != ERROR_SUCCESS) {
			return status;
		}
	}
	return ERROR_SUCCESS;
}

/* ---- starting ---- */

/* PROFILE needs the privilege. Administrators hold it, but it is not enabled. */
static void enable_profile_privilege(void)
{
	TOKEN_PRIVILEGES privileges = { .PrivilegeCount = 1 };
	HANDLE token;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY, &token)) {
		return;
	}
	privileges.Privileges[0].Attributes = SE_PRIVILEGE_ENABLED;
	if (LookupPrivilegeValueW(NULL, L"SeSystemProfilePrivilege",
				  &privileges.Privileges[0].Luid)) {
		/* If this fails, StartTraceW() reports which privilege is missing. */
		AdjustTokenPrivileges(token, FALSE, &privileges, 0, NULL, NULL);
	}
	CloseHandle(token);
}

TRACEHANDLE session_running(struct live *live)
{
	TRACEHANDLE session;

	os_mutex_lock(&live->lock);
	session = live->session;
	os_mutex_unlock(&live->lock);
	return session;
}

/* Queries the session by name. Returns ERROR_WMI_INSTANCE_NOT_FOUND also if the session with this
 * name is not ours; *other is true then. */
static ULONG query(struct live *live, struct session_properties *properties, bool *other)
{
	ULONG status;

	*other = false;
	session_properties_init(properties);
	status = ControlTraceW(0, live->wide_name, &properties->base, EVENT_TRACE_CONTROL_QUERY);
	if (status == ERROR_MORE_DATA) {
		status = ERROR_SUCCESS;
	}
	if (status != ERROR_SUCCESS) {
		return status;
	}
	os_mutex_lock(&live->lock);
	*other = live->session == 0 || !is_same_session(&live->identity, &properties->base);
	if (!*other) {
		live->identity = identity_of(&properties->base);
	}
	os_mutex_unlock(&live->lock);
	return *other ? ERROR_WMI_INSTANCE_NOT_FOUND : ERROR_SUCCESS;
}

TRACEHANDLE session_ours(struct live *live)
{
	struct session_properties properties;
	bool other;

	return query(live, &properties, &other) == ERROR_WMI_INSTANCE_NOT_FOUND ?
		       0 :
		       session_running(live);
}

/* Computes the groups of kernel events that the session needs, by flags or by system providers. */
static void requested_masks(const struct live *live, ULONG masks[KERNEL_MASKS])
{
	masks_of(kernel_flags_of(live), kernel_groups_of(live), masks);
}

/* Enables kernel events that have no bit in EnableFlags (32 bits). This is possible only while the
 * session runs. */
static void add_groups(const struct live *live, TRACEHANDLE session)
{
	ULONG groups[KERNEL_MASKS];
	ULONG status;
	char text[160];

	if (!is_kernel(live) || kernel_groups_of(live) == 0) {
		return;
	}
	masks_of(0, kernel_groups_of(live), groups);
	status = add_masks(session, groups);
	if (status != ERROR_SUCCESS) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    "kernel events beyond the flags could not be enabled: %s",
			    live_error_text(status, text));
	}
}

/* Sets the list of events that get call stacks. It replaces the list of an earlier call. */
static void enable_stacks(const struct live *live, TRACEHANDLE session)
{
	ULONG status;
	char text[160];

	if (!is_kernel(live) || live->stack_count == 0) {
		return;
	}
	status = TraceSetInformation(session, TraceStackTracingInfo, live->stacks,
				     live->stack_count * (ULONG)sizeof live->stacks[0]);
	if (status != ERROR_SUCCESS) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    "kernel events get no call stacks: %s", live_error_text(status, text));
	}
}

/* Modes without which a session can run, and the consequence of each; the worst one comes first. */
static const struct {
	ULONG bit;
	const char *consequence;
} useful_modes[] = {
	{ EVENT_TRACE_INDEPENDENT_SESSION_MODE,
	  "independent: an event of a provider that another session has no room for is lost here, "
	  "too, and is counted nowhere" },
	{ EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN,
	  "persist_on_hybrid_shutdown: the session may end when the machine is shut down to start "
	  "fast" },
};

#define USEFUL_MODES (EVENT_TRACE_INDEPENDENT_SESSION_MODE | EVENT_TRACE_PERSIST_ON_HYBRID_SHUTDOWN)

/* Stores the mode that Windows reported. The first difference from the requested mode is
 * reported. */
static void compare_mode(struct live *live, ULONG mode)
{
	ULONG missing = USEFUL_MODES & ~mode;
	bool reported;

	os_mutex_lock(&live->lock);
	live->mode = mode;
	reported = live->mode_reported;
	live->mode_reported = reported || missing != 0;
	os_mutex_unlock(&live->lock);
	for (size_t i = 0; !reported && i < sizeof useful_modes / sizeof useful_modes[0]; i++) {
		if (missing & useful_modes[i].bit) {
			live_report(live, ETW_SESSION_PROVIDER_FAILED,
				    "Windows left out the logging mode %s",
				    useful_modes[i].consequence);
			break;
		}
	}
}

void session_mode_text(struct live *live, char text[MODE_TEXT_SIZE])
{
	size_t used = 0;
	ULONG mode;

	os_mutex_lock(&live->lock);
	mode = live->mode != 0 ? live->mode : logging_mode(live);
	os_mutex_unlock(&live->lock);
	text[0] = '\0';
	for (size_t i = 0; i < ETW_LOGGING_MODE_COUNT; i++) {
		if (mode & etw_logging_mode_bits[i]) {
			used += (size_t)snprintf(text + used, MODE_TEXT_SIZE - used, "%s%s",
						 used > 0 ? "," : "", etw_logging_mode_names[i]);
			mode &= ~etw_logging_mode_bits[i];
		}
	}
	if (mode != 0) {
		snprintf(text + used, MODE_TEXT_SIZE - used, "%s0x%lx", used > 0 ? "," : "",
			 (unsigned long)mode);
	}
}

/* Queries the session right after its start: checks its mode and returns its identity. */
static struct session_identity first_query(struct live *live, TRACEHANDLE session)
{
	struct session_identity identity = { .context = session };
	struct session_properties properties;
	ULONG status;

	session_properties_init(&properties);
	/* Query by the handle, because another session of this name may already run. */
	status = ControlTraceW(session, NULL, &properties.base, EVENT_TRACE_CONTROL_QUERY);
	if (status == ERROR_SUCCESS || status == ERROR_MORE_DATA) {
		compare_mode(live, properties.base.LogFileMode);
		identity = identity_of(&properties.base);
	}
	return identity;
}

/* Returns whether a session with fewer buffers may be started where this one was not. */
static bool is_short_of_memory(ULONG status)
{
	return status == ERROR_NO_SYSTEM_RESOURCES || status == ERROR_NOT_ENOUGH_MEMORY ||
	       status == ERROR_OUTOFMEMORY;
}

/* Calls StartTraceW(). A session of the same name that is left over, or that may be replaced, is
 * stopped first. Windows allocates the smallest number of buffers at the start; where it has no
 * memory for them, the session begins with a few and grows when it needs more. */
static ULONG start_trace(struct live *live, ULONG mode, TRACEHANDLE *session,
			 struct session_properties *properties)
{
	bool fewer = false;

	for (unsigned tries = 0;; tries++) {
		ULONG status;

		fill_properties(live, mode, kernel_flags_of(live) & ~(uint32_t)LATE_FLAGS,
				properties);
		if (fewer) {
			properties->base.MinimumBuffers = BUFFERS_FEWEST;
		}
		status = StartTraceW(session, live->wide_name, &properties->base);
		if (!fewer && live->buffers_min > BUFFERS_FEWEST && is_short_of_memory(status)) {
			fewer = true;
			continue;
		}
		if (fewer && status == ERROR_SUCCESS) {
			live_report(live, ETW_SESSION_PROVIDER_FAILED,
				    "Windows has no memory for the first %lu buffers of %lu KB: "
				    "the session begins with %lu",
				    (unsigned long)live->buffers_min,
				    (unsigned long)(live->options.buffer_size_bytes / 1024),
				    (unsigned long)properties->base.MinimumBuffers);
		}
		if (status != ERROR_ALREADY_EXISTS || tries >= STALE_TRIES ||
		    (live->options.logger == ETW_LIVE_NT_KERNEL && !live->options.takeover)) {
			return status;
		}
		session_properties_init(properties);
		status = ControlTraceW(0, live->wide_name, &properties->base,
				       EVENT_TRACE_CONTROL_STOP);
		if (status == ERROR_SUCCESS || status == ERROR_MORE_DATA) {
			live_report(live, ETW_SESSION_STALE, "%s",
				    live->options.logger == ETW_LIVE_NT_KERNEL ?
					    "another program's session was stopped, as configured" :
					    "a session of this name was left over and is stopped");
		} else if (status != ERROR_WMI_INSTANCE_NOT_FOUND) {
			return status;
		}
		if (tries > 0) {
			Sleep(STALE_WAIT_MS);
		}
	}
}

/* Reads the interval of processor samples, which is that of the machine: other programs may change
 * it. */
static void know_sample_interval(struct live *live)
{
	TRACE_PROFILE_INTERVAL interval = { 0 }; /* source 0: the timer */
	ULONG returned = 0;
	bool known = (kernel_flags_of(live) & EVENT_TRACE_FLAG_PROFILE) != 0 &&
		     TraceQueryInformation(0, TraceSampledProfileIntervalInfo, &interval,
					   sizeof interval, &returned) == ERROR_SUCCESS &&
		     interval.Interval != 0;

	os_mutex_lock(live->source.mutex);
	live->source.statistics.sample_interval_100ns = known ? interval.Interval : UINT64_MAX;
	os_mutex_unlock(live->source.mutex);
}

/* Starts the session and enables its events. If enabling fails, the session still runs. The caller
 * holds `settings`. */
static ULONG start_and_enable(struct live *live)
{
	struct session_properties properties;
	struct session_identity identity;
	TRACEHANDLE session = 0;
	ULONG status;

	if (is_kernel(live) && (kernel_flags_of(live) & EVENT_TRACE_FLAG_PROFILE)) {
		enable_profile_privilege();
	}
	status = start_trace(live, logging_mode(live), &session, &properties);
	if (status == ERROR_INVALID_PARAMETER) {
		/* Some versions of Windows may refuse the modes that are only useful (not
		 * documented): try without them. */
		status = start_trace(live, logging_mode(live) & ~(ULONG)USEFUL_MODES, &session,
				     &properties);
	}
	if (status != ERROR_SUCCESS) {
		return status;
	}
	counters_begin(live, NULL);
	counters_add(live, counters_generation(live), &properties.base);
	identity = first_query(live, session);
	os_mutex_lock(&live->lock);
	live->masks_known = false;
	live->identity = identity;
	live->session = session;
	live->harvest.first = true;
	live->flags_wait = is_kernel(live) && (kernel_flags_of(live) & LATE_FLAGS) != 0;
	live->late_due_ns = UINT64_MAX;
	live->emergency_number = emergency_stop_add(live->wide_name, session, &identity);
	os_mutex_unlock(&live->lock);
	add_groups(live, session);
	enable_stacks(live, session);
	status = enable_system_providers(live, session,
					 kernel_flags_of(live) & ~(uint32_t)LATE_FLAGS);
	if (status != ERROR_SUCCESS) {
		return status;
	}
	for (size_t i = 0; i < live->list.count; i++) {
		enable_provider(live, session, i);
	}
	enable_changes(live, session, true);
	know_sample_interval(live);
	os_mutex_lock(&live->lock);
	live->providers_enabled = true;
	os_mutex_unlock(&live->lock);
	return ERROR_SUCCESS;
}

ULONG session_start(struct live *live)
{
	ULONG status;

	os_mutex_lock(&live->settings);
	status = start_and_enable(live);
	os_mutex_unlock(&live->settings);
	if (status != ERROR_SUCCESS) {
		session_stop(live);
	}
	return status;
}

/* With `settings`. */
static void know_masks(struct live *live)
{
	ULONG masks[KERNEL_MASKS], requested[KERNEL_MASKS];
	TRACEHANDLE session = session_running(live);
	bool known = is_kernel(live) && session != 0 && ask_masks(session, masks);

	requested_masks(live, requested);
	os_mutex_lock(&live->lock);
	for (size_t i = 0; known && !live->masks_known && i < KERNEL_MASKS; i++) {
		live->expected[i] = requested[i] & masks[i];
	}
	live->masks_known = live->masks_known || known;
	os_mutex_unlock(&live->lock);
}

void session_know_masks(struct live *live)
{
	os_mutex_lock(&live->settings);
	know_masks(live);
	os_mutex_unlock(&live->settings);
}

void session_enable_late(struct live *live)
{
	ULONG masks[KERNEL_MASKS], status;
	TRACEHANDLE session;
	char text[160];
	bool waits;

	os_mutex_lock(&live->settings);
	session = session_ours(live);
	os_mutex_lock(&live->lock);
	waits = live->flags_wait && session != 0;
	live->flags_wait = false;
	live->late_due_ns = UINT64_MAX;
	live->masks_known = live->masks_known &&
			    !waits; /* the watcher restores nothing meanwhile */
	os_mutex_unlock(&live->lock);
	if (waits) {
		masks_of(kernel_flags_of(live) & LATE_FLAGS & ~system_flags(live), 0, masks);
		status = add_masks(session, masks);
		if (status == ERROR_SUCCESS) {
			status = enable_system_providers(live, session, kernel_flags_of(live));
		}
		if (status != ERROR_SUCCESS) {
			live_report(live, ETW_SESSION_PROVIDER_FAILED,
				    "images and memory that exist are not reported: %s",
				    live_error_text(status, text));
		}
		know_masks(live);
	}
	os_mutex_unlock(&live->settings);
}

/* ---- other kernel events ---- */

/* Enables the kernel groups that the session needs, except those of system providers and of flags
 * that come later. Disables groups that it no longer needs, also those that replaced a system
 * provider. Groups that other programs enabled stay. */
static ULONG exchange_masks(const struct live *live, TRACEHANDLE session,
			    const ULONG former[KERNEL_MASKS], uint32_t later)
{
	ULONG masks[KERNEL_MASKS], next[KERNEL_MASKS];

	if (!ask_masks(session, masks)) {
		return ERROR_NOT_SUPPORTED;
	}
	requested_masks(live, next);
	for (size_t i = 0; i < KERNEL_MASKS; i++) {
		masks[i] &= ~(former[i] & ~next[i]);
	}
	masks_of(kernel_flags_of(live) & ~system_flags(live) & ~later, kernel_groups_of(live),
		 next);
	for (size_t i = 0; i < KERNEL_MASKS; i++) {
		masks[i] |= next[i];
	}
	return TraceSetInformation(session, TraceSystemTraceEnableFlagsInfo, masks, sizeof masks);
}

/* Disables the system providers that the session no longer needs. former: the flags for which they
 * were enabled. */
static void disable_system_providers(const struct live *live, TRACEHANDLE session, uint32_t former)
{
	struct etw_guid guid, next;
	uint64_t keywords, next_keywords;
	uint32_t flags;

	for (size_t i = 0; system_provider(former, i, &guid, &keywords, &flags); i++) {
		GUID provider = live_windows_guid(&guid);
		bool stays = false;

		for (size_t j = 0;
		     system_provider(system_flags(live), j, &next, &next_keywords, &flags); j++) {
			stays = stays || etw_guid_equal(&guid, &next);
		}
		if (!stays) {
			EnableTraceEx2(session, &provider, EVENT_CONTROL_CODE_DISABLE_PROVIDER, 0,
				       0, 0, 0, NULL);
		}
	}
}

void session_change_kernel(struct live *live, TRACEHANDLE session, uint32_t flags, uint32_t groups)
{
	uint32_t former_flags = system_flags(live);
	uint32_t added = flags & ~kernel_flags_of(live), later;
	ULONG former[KERNEL_MASKS];
	ULONG status;
	char text[160];

	if (live->options.logger == ETW_LIVE_USER ||
	    (flags == kernel_flags_of(live) && groups == kernel_groups_of(live))) {
		return;
	}
	requested_masks(live, former);
	atomic_store_explicit(&live->kernel_flags, flags, memory_order_relaxed);
	atomic_store_explicit(&live->kernel_groups, groups, memory_order_relaxed);
	os_mutex_lock(&live->lock);
	live->masks_known = false; /* so the watcher restores nothing meanwhile */
	live->flags_wait = live->flags_wait || (session != 0 && !is_attached(live) &&
						!live->consuming && (added & LATE_FLAGS) != 0);
	later = live->flags_wait ? LATE_FLAGS : 0;
	os_mutex_unlock(&live->lock);
	if (session == 0 || is_attached(live)) {
		return; /* the session will be started with the new ones, or is another program's */
	}
	if (flags & EVENT_TRACE_FLAG_PROFILE) {
		enable_profile_privilege();
	}
	status = exchange_masks(live, session, former, later);
	if (status == ERROR_SUCCESS) {
		status = enable_system_providers(live, session, kernel_flags_of(live) & ~later);
	}
	disable_system_providers(live, session, former_flags);
	if (status != ERROR_SUCCESS) {
		live_report(live, ETW_SESSION_PROVIDER_FAILED,
			    "the set of kernel events could not be changed: %s",
			    live_error_text(status, text));
	}
	know_masks(live);
}

/* Returns a possible reason (a conflict of clocks) for ERROR_INVALID_PARAMETER or
 * ERROR_NO_SYSTEM_RESOURCES, which the texts of these codes do not name. No page says which of them
 * StartTraceW() returns ("WNODE_HEADER structure", Microsoft Learn). */
static const char *clock_reason(const struct live *live)
{
	return is_kernel(live) && windows_build() < FREE_CLOCKS_BUILD ?
		       "; before Windows 10 1703, system loggers use at most two types of clock at "
		       "a time: stop a system logger that does not use the performance counter "
		       "(\"logman query -ets\" lists the sessions)" :
		       "";
}

/* Returns a reason why a session cannot be started that administrators meet, too: in this folder
 * Windows keeps what no consumer has taken yet (seen on machines; the "EVENT_TRACE_PROPERTIES
 * structure", Microsoft Learn, mentions the file). */
static const char *backup_reason(const char *what, ULONG status)
{
	if (strcmp(what, "started") != 0) {
		return "";
	}
	return status == ERROR_ACCESS_DENIED ?
		       "; if you do, look whether the account SYSTEM may write to "
		       "%SystemRoot%\\System32\\LogFiles\\WMI\\RtBackup" :
		       ", or %SystemRoot%\\System32\\LogFiles\\WMI\\RtBackup has no room";
}

bool session_error(const struct live *live, const char *what, ULONG status, struct etw_error *err)
{
	char text[160];

	live_error_text(status, text);
	if (live->obstacle) {
		return error_set(err, ETW_ERROR_SYSTEM, "session %s: it cannot be attached to: %s",
				 live->name, live->obstacle);
	}
	if (is_kernel(live) && windows_in_container() &&
	    (status == ERROR_ACCESS_DENIED || status == ERROR_INVALID_PARAMETER)) {
		return error_set(err, ETW_ERROR_SYSTEM,
				 "session %s: %s: in a Windows container with process isolation "
				 "there are no kernel events; run the exporter on the host or in a "
				 "HostProcess container, or configure a session with logger: user",
				 live->name, text);
	}
	switch (status) {
	case ERROR_ACCESS_DENIED:
		if (is_attached(live)) {
			return error_set(err, ETW_ERROR_SYSTEM,
					 "session %s: %s: this account may not read it", live->name,
					 text);
		}
		return error_set(err, ETW_ERROR_SYSTEM, "session %s: %s: run as administrator%s%s",
				 live->name, text,
				 is_kernel(live) ? "" : ", or as a member of Performance Log Users",
				 backup_reason(what, status));
	case ERROR_NO_SUCH_PRIVILEGE:
	case ERROR_PRIVILEGE_NOT_HELD:
		return error_set(
			err, ETW_ERROR_SYSTEM,
			"session %s: %s: processor samples need \"Profile system "
			"performance\"; switch the collector cpu off, or run as administrator",
			live->name, text);
	case ERROR_NO_SYSTEM_RESOURCES:
		return error_set(
			err, ETW_ERROR_SYSTEM,
			"session %s: %s: all %u sessions, or all 8 with kernel events, are in use, its "
			"buffers are too large%s%s%s",
			live->name, text, (unsigned)running_places(), backup_reason(what, status),
			clock_reason(live),
			is_kernel(live) ? "; `kernel_events: off` in the configuration needs none "
					  "of the 8" :
					  "");
	default:
		return error_set(err, ETW_ERROR_SYSTEM, "session %s: it cannot be %s: %s%s",
				 live->name, what, text,
				 status == ERROR_INVALID_PARAMETER ? clock_reason(live) : "");
	}
}

/* ---- watching ---- */

bool restore_again(struct live *live, struct restore_budget *budget, const char *what)
{
	uint64_t now = os_monotonic_ns();
	uint64_t *oldest = &budget->tried_ns[budget->tries % RESTORES_MOST];

	if (now < budget->rests_until_ns) {
		return false;
	}
	if (budget->tries >= RESTORES_MOST && now - *oldest < RESTORES_WITHIN_NS) {
		budget->tries = 0;
		budget->rests_until_ns = now + RESTORES_REST_NS;
		counters_given_up(live);
		live_report(live, ETW_SESSION_GIVEN_UP,
			    "%s changed again after it was restored %d times within a minute: it "
			    "is left as it is for ten minutes",
			    what, RESTORES_MOST);
		return false;
	}
	*oldest = now;
	budget->tries++;
	return true;
}

static void restore_masks(struct live *live, TRACEHANDLE session)
{
	ULONG masks[KERNEL_MASKS], expected[KERNEL_MASKS];
	bool known, gone = false;
	ULONG status;
	char text[160], who[SESSION_CHANGES_WHO];

	os_mutex_lock(&live->lock);
	known = live->masks_known;
	memcpy(expected, live->expected, sizeof expected);
	os_mutex_unlock(&live->lock);
	if (!known || !ask_masks(session, masks)) {
		return;
	}
	for (size_t i = 0; i < KERNEL_MASKS; i++) {
		gone = gone || (expected[i] & ~masks[i]) != 0;
	}
	if (!gone || !restore_again(live, &live->masks_budget, "the set of kernel events")) {
		return;
	}
	status = add_masks(session, expected);
	if (status == ERROR_SUCCESS) {
		status = enable_system_providers(live, session, kernel_flags_of(live));
	}
	counters_restart(live, ETW_RESTART_FLAGS_CHANGED);
	live_report(live, ETW_SESSION_RESTORED, "%s changed its kernel flags: %s",
		    session_changes_who(live->change, CHANGE_SETTINGS, NULL, who),
		    status == ERROR_SUCCESS ? "restored" : live_error_text(status, text));
}

static void restore_real_time(struct live *live, TRACEHANDLE session,
			      const EVENT_TRACE_PROPERTIES *now)
{
	struct session_properties properties;
	ULONG masks[KERNEL_MASKS];
	ULONG status;
	char text[160], who[SESSION_CHANGES_WHO];

	if ((now->LogFileMode & EVENT_TRACE_REAL_TIME_MODE) != 0 ||
	    !restore_again(live, &live->real_time_budget, "the real-time mode")) {
		return;
	}
	os_mutex_lock(&live->lock);
	live->real_time_lost = true;
	os_mutex_unlock(&live->lock);
	fill_properties(live, now->LogFileMode | EVENT_TRACE_REAL_TIME_MODE, kernel_flags_of(live),
			&properties);
	/* The update replaces all flags, also those that other programs enabled. */
	properties.base.EnableFlags |= ask_masks(session, masks) ? flags_in(masks) :
								   now->EnableFlags;
	status = ControlTraceW(session, NULL, &properties.base, EVENT_TRACE_CONTROL_UPDATE);
	counters_restart(live, ETW_RESTART_FLAGS_CHANGED);
	live_report(live, ETW_SESSION_RESTORED, "%s ended its real-time mode: %s",
		    session_changes_who(live->change, CHANGE_SETTINGS, NULL, who),
		    status == ERROR_SUCCESS ? "restored" : live_error_text(status, text));
}

ULONG session_watch(struct live *live)
{
	struct session_properties properties;
	unsigned generation = counters_generation(live);
	bool other;
	ULONG status = query(live, &properties, &other);

	know_sample_interval(live);
	if (status == ERROR_SUCCESS) {
		TRACEHANDLE session = session_running(live);

		counters_add(live, generation, &properties.base);
		if (session != 0 && !is_attached(live)) {
			restore_masks(live, session);
			restore_real_time(live, session, &properties.base);
		}
	}
	return status;
}

enum etw_restart_reason session_judge(struct live *live, ULONG *status)
{
	bool gone = *status == ERROR_SUCCESS || *status == ERROR_WMI_INSTANCE_NOT_FOUND;
	struct session_properties properties;
	bool other;
	ULONG said = query(live, &properties, &other);

	if (said == ERROR_SUCCESS) {
		bool real_time = (properties.base.LogFileMode & EVENT_TRACE_REAL_TIME_MODE) != 0;

		os_mutex_lock(&live->lock);
		real_time = real_time && !live->real_time_lost;
		live->real_time_lost = false;
		os_mutex_unlock(&live->lock);
		/* One that its controller has started again may have the GUID and the handle of the
		 * former, as an autologger has; it counts from 0. */
		if (is_attached(live) && gone) {
			return ETW_RESTART_STOPPED;
		}
		/* The session that the consumer saw end was ours, unless only its real-time mode
		 * had ended, so this one is not: there is only one NT Kernel Logger, with one GUID,
		 * and a second exporter of this configuration uses the same GUID, to whose session
		 * Windows may give the handle of ours. */
		if (real_time &&
		    (live->options.logger == ETW_LIVE_NT_KERNEL ? gone :
								  *status == ERROR_SUCCESS)) {
			return ETW_RESTART_STOLEN;
		}
		counters_add(live, counters_generation(live), &properties.base);
		return ETW_RESTART_ERROR;
	}
	if (said != ERROR_WMI_INSTANCE_NOT_FOUND) {
		*status = said;
		return ETW_RESTART_ERROR;
	}
	return other ? ETW_RESTART_STOLEN : ETW_RESTART_STOPPED;
}

/* ---- ending ---- */

/* Forgets the session. The caller holds the lock. */
static void clear_session(struct live *live)
{
	live->session = 0;
	live->providers_enabled = false;
	live->drained = false;
	live->real_time_lost = false;
	emergency_stop_remove(live->emergency_number);
	live->emergency_number = 0;
}

/* Deletes the arguments of the providers of a session that no longer runs. */
static void withdraw_arguments(struct live *live, TRACEHANDLE session)
{
	if (session == 0 || is_attached(live)) {
		return;
	}
	os_mutex_lock(&live->settings);
	for (size_t i = 0; i < live->list.count; i++) {
		arguments_withdraw(session, &live->list.providers[i]);
	}
	os_mutex_unlock(&live->settings);
}

void session_forget(struct live *live)
{
	TRACEHANDLE session;

	os_mutex_lock(&live->lock);
	session = live->session;
	clear_session(live);
	os_mutex_unlock(&live->lock);
	withdraw_arguments(live, session);
	canaries_end(live);
}

void session_count(struct live *live)
{
	struct session_properties properties;
	unsigned generation = counters_generation(live);
	bool other;

	if (query(live, &properties, &other) == ERROR_SUCCESS) {
		counters_add(live, generation, &properties.base);
	}
}

void session_flush(struct live *live)
{
	struct session_properties properties;
	TRACEHANDLE session = session_running(live);

	if (session != 0 && !is_attached(live)) {
		session_properties_init(&properties);
		ControlTraceW(session, NULL, &properties.base, EVENT_TRACE_CONTROL_FLUSH);
	}
}

void session_drain(struct live *live)
{
	struct session_properties properties;
	struct canary_epoch written;
	TRACEHANDLE session;
	bool enabled, other;
	ULONG status;

	canaries_end(live);
	written = canaries_written(live);
	status = query(live, &properties, &other);
	session = session_running(live);
	if (session == 0 || status == ERROR_WMI_INSTANCE_NOT_FOUND) {
		return;
	}
	if (status == ERROR_SUCCESS) {
		canaries_confirm(live, &written);
	}
	os_mutex_lock(&live->lock);
	enabled = live->providers_enabled;
	live->providers_enabled = false;
	live->drained = true;
	os_mutex_unlock(&live->lock);
	if (enabled) {
		uint64_t began_ns = os_monotonic_ns();

		os_mutex_lock(&live->settings);
		enable_changes(live, session, false); /* no reports about our own stop */
		for (size_t i = 0; i < live->list.count; i++) {
			disable_provider(live, session, &live->list.providers[i], began_ns);
		}
		os_mutex_unlock(&live->settings);
	}
	session_flush(live);
	session_count(live);
}

void session_stop(struct live *live)
{
	struct session_properties properties;
	TRACEHANDLE session;
	bool drained, other;
	ULONG status;
	char text[160];

	if (is_attached(live)) {
		session_forget(live);
		return;
	}
	os_mutex_lock(&live->lock);
	drained = live->drained;
	os_mutex_unlock(&live->lock);
	if (!drained) {
		session_drain(live);
	}
	status = query(live, &properties, &other);
	os_mutex_lock(&live->lock);
	session = live->session;
	clear_session(live);
	os_mutex_unlock(&live->lock);
	withdraw_arguments(live, session);
	if (session == 0 || status == ERROR_WMI_INSTANCE_NOT_FOUND) {
		return;
	}
	session_properties_init(&properties);
	status = ControlTraceW(session, NULL, &properties.base, EVENT_TRACE_CONTROL_STOP);
	if (status == ERROR_SUCCESS || status == ERROR_MORE_DATA) {
		live_report(live, ETW_SESSION_STOPPED, "stopped");
	} else if (status != ERROR_WMI_INSTANCE_NOT_FOUND) {
		live_report(live, ETW_SESSION_NOT_STOPPED, "%s", live_error_text(status, text));
	}
}

/* Stops a session, unless the name or the handle belongs to another program's session by now. */
static void emergency_stop_one(const struct running_session_entry *entry)
{
	static struct session_properties
		properties; /* too large for the stack of a crashing thread */
	ULONG status;

	session_properties_init(&properties);
	if (entry->session == 0) {
		ControlTraceW(0, entry->name, &properties.base, EVENT_TRACE_CONTROL_STOP);
		return;
	}
	status = ControlTraceW(0, entry->name, &properties.base, EVENT_TRACE_CONTROL_QUERY);
	if ((status != ERROR_SUCCESS && status != ERROR_MORE_DATA) ||
	    !is_same_session(&entry->identity, &properties.base)) {
		return;
	}
	session_properties_init(&properties);
	/* Stop it by the handle: a session that took the name after that query has another
	 * handle. */
	ControlTraceW(entry->session, NULL, &properties.base, EVENT_TRACE_CONTROL_STOP);
}

void etw_live_emergency_stop(void)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		if (atomic_load_explicit(&sessions[i].state, memory_order_acquire) == RUNS) {
			emergency_stop_one(&sessions[i]);
		}
	}
}
