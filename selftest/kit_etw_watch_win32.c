/* SPDX-License-Identifier: MIT */
/*
 * Writes tables of what event tracing shows on this machine: answers of QUERY over time, when
 * records come in a session of the kit, which sorts of sessions work, and the sessions that run.
 *
 * A table only has what Windows answered: statuses are numbers, and a step that failed leaves its
 * columns empty. Thus two machines can be compared line by line.
 *
 * Source: "EVENT_TRACE_PROPERTIES structure", "TRACE_QUERY_INFO_CLASS enumeration",
 * "Configuring and Starting the NT Kernel Logger Session", "System Providers", Microsoft Learn.
 */
#include <etw/session.h>

#include "selftest/kit_etw_internal_win32.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "selftest/kit_files.h"

#define NS_PER_MS UINT64_C(1000000)

static void add_guid(struct etw_text *csv, const GUID *windows)
{
	struct etw_guid guid = live_guid(windows);
	char label[GUID_TEXT_SIZE];

	guid_format(&guid, label);
	text_add_string(csv, label);
}

/* ---- samples ---- */

enum { DENSE_MS = 2000, DENSE_STEP_MS = 100, STEP_MS = 1000, SAMPLES_MAX = 4000 };

struct kit_samples {
	WCHAR name[SESSION_NAME_MAX];
	uint64_t start_ns;
	unsigned count;      /* used by the thread alone until it has ended */
	struct etw_text csv; /* used by the thread alone until it has ended */
	struct os_mutex lock;
	struct os_condition changed;
	bool ending; /* guarded by lock */
	struct os_thread thread;
};

static void add_sample(struct kit_samples *samples)
{
	struct session_properties properties = { 0 };
	const EVENT_TRACE_PROPERTIES *base = &properties.base;
	ULONG masks[KERNEL_MASKS];
	ULONG status;

	if (samples->count++ >= SAMPLES_MAX) {
		return;
	}
	properties.base.Wnode.BufferSize = (ULONG)sizeof properties;
	properties.base.Wnode.Flags = WNODE_FLAG_TRACED_GUID;
	properties.base.LoggerNameOffset = (ULONG)offsetof(struct session_properties, logger_name);
	properties.base.LogFileNameOffset =
		(ULONG)offsetof(struct session_properties, log_file_name);
	status = ControlTraceW(0, samples->name, &properties.base, EVENT_TRACE_CONTROL_QUERY);
	text_add_format(&samples->csv, "%" PRIu64 ",%lu,",
			(os_monotonic_ns() - samples->start_ns) / NS_PER_MS, (unsigned long)status);
	if (status != ERROR_SUCCESS) {
		text_add_string(&samples->csv, ",,,,,,,,,,,,,,,,,,,\n");
		return;
	}
	add_guid(&samples->csv, &base->Wnode.Guid);
	text_add_format(&samples->csv,
			",0x%" PRIx64 ",0x%08lx,0x%08lx,%lu,%lu,%lu,%lu,%lu,%lu,%lu,",
			(uint64_t)base->Wnode.HistoricalContext, (unsigned long)base->LogFileMode,
			(unsigned long)base->EnableFlags, (unsigned long)base->BufferSize,
			(unsigned long)base->NumberOfBuffers, (unsigned long)base->FreeBuffers,
			(unsigned long)base->BuffersWritten, (unsigned long)base->EventsLost,
			(unsigned long)base->LogBuffersLost,
			(unsigned long)base->RealTimeBuffersLost);
	status = probe_masks((TRACEHANDLE)base->Wnode.HistoricalContext, masks);
	text_add_format(&samples->csv, "%lu", (unsigned long)status);
	for (unsigned i = 0; i < KERNEL_MASKS; i++) {
		text_add_format(&samples->csv, ",0x%08lx", (unsigned long)masks[i]);
	}
	text_add_char(&samples->csv, '\n');
}

static void samples_run(void *context)
{
	struct kit_samples *samples = context;
	bool ending = false;

	while (!ending) {
		uint64_t ms, until;

		add_sample(samples);
		ms = (os_monotonic_ns() - samples->start_ns) / NS_PER_MS;
		until = os_monotonic_ns() + (ms < DENSE_MS ? DENSE_STEP_MS : STEP_MS) * NS_PER_MS;
		os_mutex_lock(&samples->lock);
		while (!samples->ending && os_monotonic_ns() < until) {
			os_condition_wait(&samples->changed, &samples->lock,
					  DENSE_STEP_MS * NS_PER_MS);
		}
		ending = samples->ending;
		os_mutex_unlock(&samples->lock);
	}
	add_sample(samples);
}

struct kit_samples *kit_samples_start(const char *session, struct etw_error *err)
{
	struct kit_samples *samples = calloc(1, sizeof *samples);

	if (!samples || !live_wide(session, samples->name, SESSION_NAME_MAX)) {
		free(samples);
		error_no_memory(err, "the samples of the session");
		return NULL;
	}
	samples->start_ns = os_monotonic_ns();
	text_add_string(&samples->csv,
			"ms,query_status,guid,handle,mode,flags,buffer_kb,buffers,free,written,"
			"events_lost,log_buffers_lost,realtime_buffers_lost,masks_status,mask0,"
			"mask1,mask2,mask3,mask4,mask5,mask6,mask7\n");
	os_mutex_init(&samples->lock);
	os_condition_init(&samples->changed);
	if (!os_thread_start(&samples->thread, samples_run, samples, err)) {
		os_condition_done(&samples->changed);
		os_mutex_done(&samples->lock);
		text_free(&samples->csv);
		free(samples);
		return NULL;
	}
	return samples;
}

void kit_samples_end(struct kit_samples *samples, struct etw_text *csv)
{
	if (!samples) {
		return;
	}
	os_mutex_lock(&samples->lock);
	samples->ending = true;
	os_condition_wake_all(&samples->changed);
	os_mutex_unlock(&samples->lock);
	os_thread_join(&samples->thread);
	os_condition_done(&samples->changed);
	os_mutex_done(&samples->lock);
	text_free(csv);
	*csv = samples->csv;
	free(samples);
}

/* ---- when records come ---- */

enum { TYPES = 512, TIMELINE_MS = 1500, TIMELINE_QUIET_MS = 300 };

/* Counts of the records with one class (or provider) and opcode (or id). */
struct record_type {
	GUID guid;
	unsigned number;
	bool classic;
	uint64_t before_names; /* records before the names were requested */
	uint64_t before_stop;  /* records after that, before the stop was requested */
	uint64_t after_stop;
	uint64_t first_ns, last_ns; /* when they arrived, monotonic */
	int64_t first_time,
		last_time; /* times of the events, in ticks of the performance counter */
};

enum phase { BEFORE_NAMES, BEFORE_STOP, AFTER_STOP };

struct timeline {
	_Atomic(int) phase;
	struct record_type *types; /* used by the consumer's thread until it has ended */
	size_t count;
	uint64_t unlisted; /* records of types beyond TYPES */
};

static void on_timeline(void *context, const EVENT_RECORD *record)
{
	struct timeline *timeline = context;
	const EVENT_HEADER *header = &record->EventHeader;
	bool classic = (header->Flags & EVENT_HEADER_FLAG_CLASSIC_HEADER) != 0;
	unsigned number = classic ? header->EventDescriptor.Opcode : header->EventDescriptor.Id;
	struct record_type *type = timeline->types;
	struct record_type *end = type + timeline->count;

	while (type < end && (type->number != number || type->classic != classic ||
			      memcmp(&type->guid, &header->ProviderId, sizeof(GUID)) != 0)) {
		type++;
	}
	if (type == timeline->types + TYPES) {
		timeline->unlisted++;
		return;
	}
	if (type == end) {
		timeline->count++;
		*type = (struct record_type){ .guid = header->ProviderId,
					      .number = number,
					      .classic = classic,
					      .first_ns = os_monotonic_ns(),
					      .first_time = header->TimeStamp.QuadPart };
	}
	switch ((enum phase)timeline->phase) {
	case BEFORE_NAMES:
		type->before_names++;
		break;
	case BEFORE_STOP:
		type->before_stop++;
		break;
	case AFTER_STOP:
		type->after_stop++;
		break;
	}
	type->last_ns = os_monotonic_ns();
	type->last_time = header->TimeStamp.QuadPart;
}

/* Returns the name of a class that matters here, or "". */
static const char *class_name(const GUID *guid)
{
	static const struct {
		ULONG first;
		const char *name;
	} names[] = {
		{ 0x3d6fa8d0, "Process" },    { 0x3d6fa8d1, "Thread" },
		{ 0x2cb15d1d, "Image" },      { 0x3d6fa8d4, "DiskIo" },
		{ 0x90cbdc39, "FileIo" },     { 0x01853a65, "SystemConfig" },
		{ 0x68fdd900, "EventTrace" }, { 0x6a399ae0, "RT_LostEvent" },
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (guid->Data1 == names[i].first) {
			return names[i].name;
		}
	}
	return "";
}

static void add_moment(struct etw_text *csv, const char *what, uint64_t start_ns, ULONG status)
{
	text_add_format(csv, "moment,%s,,%lu,,,,%" PRIu64 ",,,\n", what, (unsigned long)status,
			(os_monotonic_ns() - start_ns) / NS_PER_MS);
}

static void add_types(struct etw_text *csv, const struct timeline *timeline, uint64_t start_ns)
{
	for (size_t i = 0; i < timeline->count; i++) {
		const struct record_type *type = &timeline->types[i];

		text_add_format(csv, "records,%s/%u,", class_name(&type->guid), type->number);
		add_guid(csv, &type->guid);
		text_add_format(csv,
				",,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
				",%" PRId64 ",%" PRId64 "\n",
				type->before_names, type->before_stop, type->after_stop,
				(type->first_ns - start_ns) / NS_PER_MS,
				(type->last_ns - start_ns) / NS_PER_MS, type->first_time,
				type->last_time);
	}
	if (timeline->unlisted > 0) {
		text_add_format(csv, "records,others,,,%" PRIu64 ",,,,,,\n", timeline->unlisted);
	}
}

void kit_timeline(struct etw_text *csv)
{
	static const GUID rundown = {
		0x3b9c9951, 0x3480, 0x4220, { 0x93, 0x77, 0x9c, 0x8e, 0x51, 0x84, 0xf5, 0xcd }
	};
	const struct probe_settings settings = { .mode = PROBE_SYSTEM,
						 .flags = EVENT_TRACE_FLAG_PROCESS |
							  EVENT_TRACE_FLAG_THREAD |
							  EVENT_TRACE_FLAG_DISK_IO |
							  EVENT_TRACE_FLAG_DISK_FILE_IO,
						 .buffer_kb = 1024,
						 .buffers_min = 16,
						 .buffers_max = 128 };
	struct timeline timeline = { .types = calloc(TYPES, sizeof *timeline.types) };
	struct probe_consumer consumer = { .on_record = on_timeline, .context = &timeline };
	struct probe_session session;
	uint64_t start_ns = os_monotonic_ns();
	ULONG status;

	text_add_string(csv, "type,what,guid,status,before_names_requested,before_stop,after_stop,"
			     "first_ms,last_ms,first_event_ticks,last_event_ticks\n");
	if (!timeline.types) {
		return;
	}
	status = probe_start(&session, 1, &settings);
	add_moment(csv, "StartTraceW returned", start_ns, status);
	if (status == ERROR_SUCCESS) {
		status = probe_consume(&consumer, session.name);
		add_moment(csv, "OpenTraceW returned", start_ns, status);
		Sleep(TIMELINE_QUIET_MS);
		timeline.phase = BEFORE_STOP;
		add_moment(csv, "names of files are requested", start_ns, 0);
		status = probe_enable(&session, &rundown, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 0,
				      0x10, 0);
		add_moment(csv, "EnableTraceEx2 returned", start_ns, status);
		Sleep(TIMELINE_MS);
		timeline.phase = AFTER_STOP;
		add_moment(csv, "STOP is requested", start_ns, 0);
		status = probe_stop(&session);
		add_moment(csv, "STOP returned", start_ns, status);
		probe_consumer_end(&consumer);
		add_moment(csv, "ProcessTrace returned", start_ns, consumer.status);
		text_add_format(csv, "moment,events lost,,%lu,,,,,,,\n",
				(unsigned long)session.properties.base.EventsLost);
		add_types(csv, &timeline, start_ns);
	}
	kit_etw_clean();
	free(timeline.types);
}

/* ---- sorts of sessions ---- */

enum { LOGGER_MS = 500 };

struct logger {
	const char *name;
	struct probe_settings settings;
	bool system_provider;
	bool kernel_logger;
};

static ULONG enable_process_provider(const struct probe_session *session)
{
	static const GUID system_process = {
		0x151f55dc, 0x467d, 0x471f, { 0x83, 0xb5, 0x5f, 0x88, 0x9d, 0x46, 0xff, 0x66 }
	};

	return probe_enable(session, &system_process, EVENT_CONTROL_CODE_ENABLE_PROVIDER, 4, 0x1,
			    0);
}

/* Starts a session. The NT Kernel Logger has a fixed name, so one that runs already belongs to
 * another program and is not touched. */
static ULONG start_logger(struct probe_session *session, const struct logger *logger)
{
	if (!logger->kernel_logger) {
		return probe_start(session, 1, &logger->settings);
	}
	probe_prepare(session, 1, &logger->settings);
	memset(session->name, 0, sizeof session->name);
	memcpy(session->name, KERNEL_LOGGER_NAMEW, sizeof KERNEL_LOGGER_NAMEW);
	return StartTraceW(&session->handle, session->name, &session->properties.base);
}

static void add_logger(struct etw_text *csv, const struct logger *logger, bool without_rights)
{
	struct probe_consumer consumer = { 0 };
	struct probe_session session;
	ULONG masks[KERNEL_MASKS];
	ULONG enabled = 0, masked, open, stopped;
	ULONG status = start_logger(&session, logger);

	text_add_format(csv, "%s%s,%lu,", logger->name, without_rights ? " without rights" : "",
			(unsigned long)status);
	if (status != ERROR_SUCCESS) {
		text_add_string(csv, ",,,,,,,\n");
		return;
	}
	if (logger->system_provider) {
		enabled = enable_process_provider(&session);
	}
	masked = probe_masks(session.handle, masks);
	open = probe_consume(&consumer, session.name);
	Sleep(LOGGER_MS);
	probe_control(&session, EVENT_TRACE_CONTROL_QUERY);
	text_add_format(csv, "0x%08lx,%lu,%lu,0x%08lx,%lu,",
			(unsigned long)session.properties.base.LogFileMode, (unsigned long)enabled,
			(unsigned long)masked, (unsigned long)masks[0], (unsigned long)open);
	stopped = probe_stop(&session);
	if (open == ERROR_SUCCESS) {
		probe_consumer_end(&consumer);
	}
	text_add_format(csv, "%" PRIu64 ",%lu,%lu\n", consumer.records,
			(unsigned long)session.properties.base.EventsLost, (unsigned long)stopped);
}

void kit_loggers(struct etw_text *csv, bool without_rights)
{
	static const struct logger loggers[] = {
		{ .name = "providers only" },
		{ .name = "private",
		  .settings = { .mode = PROBE_SYSTEM, .flags = EVENT_TRACE_FLAG_PROCESS } },
		{ .name = "private without flags", .settings = { .mode = PROBE_SYSTEM } },
		{ .name = "system providers",
		  .settings = { .mode = PROBE_SYSTEM },
		  .system_provider = true },
		{ .name = "NT Kernel Logger",
		  .settings = { .flags = EVENT_TRACE_FLAG_PROCESS },
		  .kernel_logger = true },
	};

	if (!without_rights) {
		text_add_string(csv, "logger,start_status,mode,enable_status,masks_status,mask0,"
				     "open_status,records,events_lost,stop_status\n");
	}
	for (size_t i = 0; i < sizeof loggers / sizeof loggers[0]; i++) {
		add_logger(csv, &loggers[i], without_rights);
	}
	kit_etw_clean();
}

/* ---- the sessions that run ---- */

void kit_sessions(struct etw_text *csv)
{
	struct etw_running_sessions sessions = { 0 };
	struct etw_error err = { 0 };

	text_add_string(csv, "name,id,mode,kernel_flags,buffer_bytes,buffers_min,buffers_max,"
			     "buffers,written,events_lost,realtime_buffers_lost,providers,file\n");
	if (!etw_running_read(&sessions, &err)) {
		csv_add(csv, err.text);
		text_add_char(csv, '\n');
		return;
	}
	for (size_t i = 0; i < sessions.count; i++) {
		const struct etw_running_session *session = &sessions.list[i];

		csv_add(csv, session->name);
		text_add_format(csv,
				",%" PRIu32 ",0x%08" PRIx32 ",0x%08" PRIx32 ",%" PRIu64 ",%" PRIu32
				",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%zu,",
				session->id, session->mode, session->kernel_flags,
				session->buffer_size_bytes, session->buffers_min,
				session->buffers_max, session->buffers, session->buffers_written,
				session->events_lost, session->realtime_buffers_lost,
				session->provider_count);
		csv_add(csv, session->file);
		text_add_char(csv, '\n');
	}
	etw_running_done(&sessions);
}

void kit_etw_facts(struct etw_text *csv)
{
	RTL_OSVERSIONINFOW version = { .dwOSVersionInfoSize = sizeof version };
	LARGE_INTEGER frequency = { 0 };
	ULONG loggers = 0, returned = 0;
	ULONG status =
		TraceQueryInformation(0, TraceMaxLoggersQuery, &loggers, sizeof loggers, &returned);

	if (RtlGetVersion(&version) == 0) {
		text_add_format(csv, "windows,%lu.%lu.%lu\n", (unsigned long)version.dwMajorVersion,
				(unsigned long)version.dwMinorVersion,
				(unsigned long)version.dwBuildNumber);
	}
	text_add_format(csv, "processors,%lu\n",
			(unsigned long)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
	QueryPerformanceFrequency(&frequency);
	text_add_format(csv, "counter_frequency,%" PRId64 "\n", (int64_t)frequency.QuadPart);
	text_add_format(csv, "max_loggers_status,%lu\nmax_loggers,%lu\n", (unsigned long)status,
			(unsigned long)loggers);
}
