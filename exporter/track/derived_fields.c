/* SPDX-License-Identifier: MIT */
/*
 * The table of derived fields, and how each is read from the record that tracker_observe() was last
 * called with.
 *
 * Conditions, values and labels of rules name a derived field like a field of the payload. Each
 * derived field is a row of the table at the end: its name, its type, what the tracker must collect
 * for it, which events can have it, and the function that reads it. The layers above know only the
 * row: the check of rules looks up names, types and events in it, the rule engine keeps a pointer
 * to it and calls its read function, at most once for an event however many rules use the field.
 *
 * Three groups of fields do not come from the tracker. Fields of the record's header are loaded
 * from it. Fields named Event.… are extended items of the record, and the row says which item and
 * how its bytes are read. Fields computed from one field of the payload name it as their origin;
 * its value is in read->number when the read function is called. A field that is the same for all
 * events of an event class has a function `constant` instead, which is called once for the class.
 *
 * Source: docs/etl-format.md sections 9 and 16.1.
 */
#include "exporter/track/derived_fields.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <etw/schema.h>

#include "exporter/track/tracker_internal.h"

enum { STACK_MATCH_ID_SIZE = 8 };

/* ---- processes ---- */

/* Returns the label id of a process id; `_none` if the event has no id. */
static uint32_t label_of(struct tracker *tracker, uint32_t process_id)
{
	return process_id == ETW_RECORD_NO_ID ? registry_none(tracker->options.registry) :
						tracker_label(tracker, process_id);
}

static enum derived_result found(struct derived_read *read, uint64_t number)
{
	read->number = number;
	return DERIVED_FOUND;
}

static enum derived_result read_process(struct derived_read *read)
{
	return found(read, tracker_process_label(read->tracker));
}

static enum derived_result read_process_id(struct derived_read *read)
{
	uint32_t id;

	tracker_process(read->tracker, &id);
	return id != ETW_RECORD_NO_ID ? found(read, id) : DERIVED_UNKNOWN;
}

/* Reads the process that the event is about; `_none` if it is about none. */
static enum derived_result read_of_process(struct derived_read *read)
{
	uint32_t id = ETW_RECORD_NO_ID;

	payload_u32(read->tracker, PAYLOAD_ABOUT, &id);
	return found(read, label_of(read->tracker, id));
}

/* Reads the process of the thread that was switched out (`Idle` for thread 0). */
static enum derived_result read_old_process(struct derived_read *read)
{
	uint32_t id = ETW_RECORD_NO_ID;

	payload_u32(read->tracker, PAYLOAD_OLD_THREAD, &id);
	if (id != ETW_RECORD_NO_ID) {
		id = threads_process(&read->tracker->threads, id, read->record->raw_time);
	}
	return found(read, label_of(read->tracker, id));
}

/* Returns what is known about the event's process; NULL if it is of none, or of an unknown one. */
static const struct identity *identity_of(struct derived_read *read, uint32_t *process_id)
{
	tracker_process(read->tracker, process_id);
	return *process_id == ETW_RECORD_NO_ID ?
		       NULL :
		       processes_identity(&read->tracker->processes, *process_id,
					  read->record->raw_time);
}

/* Reads the account or the SID of the event's process; `_none` if the event is of no process. */
static enum derived_result found_owner(struct derived_read *read, bool sid)
{
	uint32_t process_id;
	const struct identity *identity = identity_of(read, &process_id);

	return found(read, process_id == ETW_RECORD_NO_ID ?
				   registry_none(read->tracker->options.registry) :
				   processes_owner(&read->tracker->processes, identity, sid));
}

static enum derived_result read_owner(struct derived_read *read)
{
	return found_owner(read, false);
}

static enum derived_result read_owner_sid(struct derived_read *read)
{
	return found_owner(read, true);
}

static enum derived_result read_terminal_session(struct derived_read *read)
{
	uint32_t process_id;
	const struct identity *identity = identity_of(read, &process_id);

	return identity && identity->terminal_session != NO_TERMINAL_SESSION ?
		       found(read, identity->terminal_session) :
		       DERIVED_UNKNOWN;
}

/* ---- services ---- */

/* Returns the thread that leads to the event's process. The thread of the header is used only if
 * it belongs to that process. */
static uint32_t event_thread(struct tracker *tracker, uint32_t process_id)
{
	const struct attribution *attribution = tracker->now.attribution;
	const struct etw_record *record = tracker->now.record;
	uint32_t thread = record->thread_id;

	if (attribution->owner == OWNER_THREAD_ID ||
	    (attribution->owner == OWNER_THREAD_WITHOUT_HEADER &&
	     record->process_id == ETW_RECORD_NO_ID)) {
		payload_u32(tracker, PAYLOAD_OWNER, &thread);
	} else if (attribution->announces & ANNOUNCES_THREAD) {
		payload_u32(tracker, PAYLOAD_THREAD, &thread);
	}
	return threads_process(&tracker->threads, thread, record->raw_time) == process_id ?
		       thread :
		       ETW_RECORD_NO_ID;
}

/* Reads `_none` for processes that host no services, and for threads that work for no service. */
static enum derived_result read_service(struct derived_read *read)
{
	struct tracker *tracker = read->tracker;
	uint32_t process_id, thread;

	tracker_process(tracker, &process_id);
	if (process_id == ETW_RECORD_NO_ID ||
	    !services_is_host(&tracker->services,
			      processes_image(&tracker->processes, process_id,
					      read->record->raw_time))) {
		return found(read, registry_none(tracker->options.registry));
	}
	thread = event_thread(tracker, process_id);
	return found(read, services_label(&tracker->services, process_id, thread,
					  read->record->raw_time));
}

/* ---- files ---- */

static enum derived_result read_volume(struct derived_read *read)
{
	return found(read, files_volume(&read->tracker->files, tracker_file(read->tracker)));
}

/* Returns the label id of the path group of the current record's file, as files_group() does. */
static uint32_t path_group_of(struct tracker *tracker)
{
	static const int64_t second_100ns = 10000000;
	uint32_t file = tracker_file(tracker);
	int64_t time = tracker->now.record->time;

	return files_group(&tracker->files, file,
			   time != ETW_RECORD_NO_TIME ? time / second_100ns : INT64_MIN);
}

static enum derived_result read_path_group(struct derived_read *read)
{
	return found(read, path_group_of(read->tracker));
}

/* Reads the path as recorded (a native path); it is valid until the next tracker_observe(). */
static enum derived_result read_path(struct derived_read *read)
{
	size_t size = 0;
	const char *path = files_path(&read->tracker->files, tracker_file(read->tracker), &size);

	read->slice =
		(struct etw_field_slice){ .at = (const uint8_t *)path, .size = (uint32_t)size };
	return path ? DERIVED_FOUND : DERIVED_UNKNOWN;
}

/* Reads 1 if rules must leave the event out, because they count the kernel's event that reports the
 * same. */
static enum derived_result read_also_kernel(struct derived_read *read)
{
	bool repeated = tracker_is_repeated(read->tracker);

	if (repeated) {
		tracker_add(&read->tracker->repeated, 1);
	}
	return found(read, repeated);
}

static enum derived_result read_paging(struct derived_read *read)
{
	return found(read, (read->number & IO_PAGING) != 0);
}

/* ---- drivers, requests, the scheduler ---- */

static enum derived_result read_driver(struct derived_read *read)
{
	struct tracker *tracker = read->tracker;
	uint32_t label = INTERN_NONE;
	uint64_t address;

	if (payload_u64(tracker, PAYLOAD_ADDRESS, &address)) {
		label = drivers_label(&tracker->drivers, address, read->record->raw_time);
	}
	return found(read,
		     label != INTERN_NONE ? label : registry_unknown(tracker->options.registry));
}

/* Reads the time from `begin`, a raw time that may be unknown, to the record. */
static enum derived_result found_since(struct derived_read *read, int64_t begin)
{
	enum duration_verdict verdict;

	if (begin == ETW_RECORD_NO_TIME) {
		return DERIVED_UNKNOWN;
	}
	verdict = duration_between(read->tracker->options.clock, begin, read->record->raw_time,
				   &read->number);
	if (verdict != DURATION_FITS) {
		read->number = verdict;
		return DERIVED_NO_DURATION;
	}
	return DERIVED_FOUND;
}

static enum derived_result read_duration(struct derived_read *read)
{
	return tracker_ends_request(read->tracker) ?
		       found_since(read, read->tracker->now.started_at) :
		       DERIVED_UNKNOWN;
}

/* Reads the event that started the request, "FileIo/Read" also for the second source. Names are
 * interned when first seen. */
static enum derived_result read_started(struct derived_read *read)
{
	struct tracker *tracker = read->tracker;
	const struct etw_guid *provider = etw_kernel_group_guid(ETW_KERNEL_GROUP_FILE_IO);
	uint8_t opcode = tracker->now.start_opcode;

	if (!tracker_ends_request(tracker)) {
		return DERIVED_UNKNOWN;
	}
	if (tracker->request_names[opcode] == INTERN_NONE) {
		const char *class = etw_kernel_class_name(provider);
		const char *event = etw_kernel_event_name(provider, opcode);
		char name[128];

		if (event) {
			snprintf(name, sizeof name, "%s/%s", class ? class : "", event);
		} else {
			snprintf(name, sizeof name, "%s/%u", class ? class : "", opcode);
		}
		tracker->request_names[opcode] =
			intern_own(registry_strings(tracker->options.registry), name);
	}
	return found(read, tracker->request_names[opcode]);
}

/* Reads the process that started the request, because the event of its end names none. */
static enum derived_result read_started_by(struct derived_read *read)
{
	struct tracker *tracker = read->tracker;

	return found(read, tracker_ends_request(tracker) ?
				   tracker->now.start_process :
				   registry_unknown(tracker->options.registry));
}

/* Reads how long the old thread ran. */
static enum derived_result read_on_cpu(struct derived_read *read)
{
	const struct tracker_record *now = &read->tracker->now;

	return (now->attribution->announces & ANNOUNCES_SWITCH) ?
		       found_since(read, now->switched.on_cpu_since) :
		       DERIVED_UNKNOWN;
}

/* Reads how long the new thread had been ready. */
static enum derived_result read_ready(struct derived_read *read)
{
	const struct tracker_record *now = &read->tracker->now;

	return (now->attribution->announces & ANNOUNCES_SWITCH) ?
		       found_since(read, now->switched.ready_since) :
		       DERIVED_UNKNOWN;
}

enum { EXIT_SUCCESSFUL, EXIT_CRASHED, EXIT_FAILED };

static const char *const exit_results[] = {
	[EXIT_SUCCESSFUL] = "success", [EXIT_CRASHED] = "crash", [EXIT_FAILED] = "error", NULL
};

static const char *exit_result(uint32_t status)
{
	if (status == 0) {
		return exit_results[EXIT_SUCCESSFUL];
	}
	/*
	 * The kernel ends a process with an NTSTATUS error when no handler catches an exception;
	 * breakpoint, CLR and C++ exceptions have codes of their own ("NTSTATUS Values",
	 * [MS-ERREF]; corexcep.h; ehdata.h).
	 */
	if ((status >= 0xc0000000U && status <= 0xcfffffffU) || status == 0x80000003U ||
	    status == 0xe0434352U || status == 0xe06d7363U) {
		return exit_results[EXIT_CRASHED];
	}
	return exit_results[EXIT_FAILED];
}

static enum derived_result read_exit_result(struct derived_read *read)
{
	struct intern *strings = registry_strings(read->tracker->options.registry);

	return found(read, intern_own(strings, exit_result((uint32_t)read->number)));
}

/* ---- the record's header ---- */

static enum derived_result read_thread_id(struct derived_read *read)
{
	uint32_t id = read->record->thread_id;

	return id != ETW_RECORD_NO_ID ? found(read, id) : DERIVED_UNKNOWN;
}

static enum derived_result read_cpu(struct derived_read *read)
{
	return found(read, read->record->processor);
}

static enum derived_result read_level(struct derived_read *read)
{
	return found(read, read->record->level);
}

static enum derived_result read_payload_size(struct derived_read *read)
{
	return found(read, read->record->payload_size);
}

/* ---- constant for an event class ---- */

static uint64_t opcode_of(const struct derived_class *class)
{
	return class->class->opcode;
}

static uint64_t session_of(const struct derived_class *class)
{
	return class->session;
}

static uint64_t provider_of(const struct derived_class *class)
{
	return class->provider;
}

static uint64_t event_of(const struct derived_class *class)
{
	return intern_string(class->strings, class->class->event_name);
}

/* ---- extended items ---- */

static const struct etw_field item_guid = { .name = "",
					    .type = ETW_FIELD_GUID,
					    .size = { 16, 16 } };
static const struct etw_field item_sid = { .name = "", .type = ETW_FIELD_SID };
static const struct etw_field item_u32 = { .name = "", .type = ETW_FIELD_U32, .size = { 4, 4 } };
static const struct etw_field item_u64 = { .name = "", .type = ETW_FIELD_U64, .size = { 8, 8 } };
static const struct etw_field item_text = { .name = "", .type = ETW_FIELD_ASTRING };

static enum derived_result read_activity(struct derived_read *read)
{
	const struct etw_guid *activity = read->record->activity;
	static const struct etw_guid none;

	if (!activity || etw_guid_equal(activity, &none)) {
		return DERIVED_UNKNOWN;
	}
	read->slice = (struct etw_field_slice){ .at = activity->bytes,
						.size = sizeof activity->bytes,
						.count = 1 };
	return DERIVED_FOUND;
}

/* Reads the value at the start of the extended item, or the whole item. */
static enum derived_result read_item(struct derived_read *read)
{
	const struct etw_field *field = read->row->field;
	struct etw_extended_item item;

	if (!etw_record_find_extended(read->record, read->row->item, &item)) {
		return DERIVED_UNKNOWN;
	}
	if (field == &item_sid ? etw_sid_size(item.data, item.size) == 0 :
				 item.size == 0 || item.size < field->size[0]) {
		return DERIVED_MALFORMED;
	}
	read->slice =
		(struct etw_field_slice){ .at = item.data,
					  .size = field->size[0] != 0 ? field->size[0] : item.size,
					  .count = 1 };
	if (read->row->form == FORM_NUMBER) {
		read->number = etw_field_u64(field, &read->slice);
	}
	return DERIVED_FOUND;
}

static enum derived_result read_kernel_time(struct derived_read *read)
{
	uint64_t times = read->record->cpu_times;

	read->number = (uint32_t)times;
	return times != ETW_RECORD_NO_CPU_TIMES ? DERIVED_FOUND : DERIVED_UNKNOWN;
}

static enum derived_result read_user_time(struct derived_read *read)
{
	uint64_t times = read->record->cpu_times;

	read->number = times >> 32;
	return times != ETW_RECORD_NO_CPU_TIMES ? DERIVED_FOUND : DERIVED_UNKNOWN;
}

static enum derived_result find_stack(const struct derived_read *read,
				      struct etw_extended_item *item)
{
	if (!etw_record_find_extended(read->record, ETW_EXTENDED_STACK64, item) &&
	    !etw_record_find_extended(read->record, ETW_EXTENDED_STACK32, item)) {
		return DERIVED_UNKNOWN;
	}
	return item->size >= STACK_MATCH_ID_SIZE ? DERIVED_FOUND : DERIVED_MALFORMED;
}

static enum derived_result read_stack_depth(struct derived_read *read)
{
	struct etw_extended_item item;
	enum derived_result result = find_stack(read, &item);

	if (result == DERIVED_FOUND) {
		read->number = (item.size - STACK_MATCH_ID_SIZE) /
			       (item.type == ETW_EXTENDED_STACK64 ? 8U : 4U);
	}
	return result;
}

static enum derived_result read_stack_match_id(struct derived_read *read)
{
	struct etw_extended_item item;
	enum derived_result result = find_stack(read, &item);

	if (result == DERIVED_FOUND) {
		read->number = etw_load_u64(item.data);
	}
	return result;
}

/* ---- the table ---- */

static const struct derived_events about_process[] = {
	{ .kernel_class = ETW_KERNEL_PROCESS, .opcode = EVERY_OPCODE },
	{ .kernel_class = ETW_KERNEL_THREAD, .opcode = EVERY_OPCODE },
	{ .kernel_class = ETW_KERNEL_IMAGE, .opcode = EVERY_OPCODE },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_MEMORY] },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_NETWORK] },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS] },
	{ .provider = &etw_known_providers[ETW_PROVIDER_TCPIP] },
	{ 0 },
};
static const struct derived_events about_file[] = {
	{ .kernel_class = ETW_KERNEL_FILE_IO, .opcode = EVERY_OPCODE },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_FILE] },
	{ 0 },
};
static const struct derived_events request_end[] = {
	{ .kernel_class = ETW_KERNEL_FILE_IO, .opcode = ETW_KERNEL_OPCODE_FILE_IO_OPERATION_END },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_FILE],
	  .id = ETW_FILE_EVENT_OPERATION_END },
	{ 0 },
};
static const struct derived_events second_source[] = {
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_DISK] },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_FILE] },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_NETWORK] },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS] },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_REGISTRY] },
	{ 0 },
};
static const struct derived_events process_exit[] = {
	{ .kernel_class = ETW_KERNEL_PROCESS, .opcode = EVERY_OPCODE },
	{ .provider = &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS],
	  .id = ETW_PROCESS_EVENT_STOP },
	{ 0 },
};
static const struct derived_events context_switch[] = {
	{ .kernel_class = ETW_KERNEL_THREAD, .opcode = ETW_KERNEL_OPCODE_THREAD_CSWITCH },
	{ 0 },
};

static const struct derived_field fields[] = {
	{ "Process", TYPE_TEXT, FORM_ID, .role = ROLE_PROCESS, .of_record = true,
	  .before_layout = true, .read = read_process },
	{ "ProcessId", TYPE_INTEGER, FORM_NUMBER, .of_record = true, .none_if_unknown = true,
	  .read = read_process_id },
	{ "Owner", TYPE_TEXT, FORM_ID, .of_record = true, .features = TRACK_OWNERS,
	  .read = read_owner },
	{ "OwnerSid", TYPE_TEXT, FORM_ID, .of_record = true, .features = TRACK_OWNERS,
	  .read = read_owner_sid },
	{ "TerminalSession", TYPE_INTEGER, FORM_NUMBER, .of_record = true, .none_if_unknown = true,
	  .read = read_terminal_session },
	{ "OfProcess", TYPE_TEXT, FORM_ID, .before_layout = true, .events = about_process,
	  .read = read_of_process },
	{ "OldProcess", TYPE_TEXT, FORM_ID, .before_layout = true, .features = TRACK_SCHEDULER,
	  .events = context_switch, .read = read_old_process },
	{ "ThreadId", TYPE_INTEGER, FORM_NUMBER, .of_record = true, .none_if_unknown = true,
	  .read = read_thread_id },
	{ "Cpu", TYPE_INTEGER, FORM_NUMBER, .of_record = true, .read = read_cpu },
	{ "Level", TYPE_INTEGER, FORM_NUMBER, .of_record = true, .read = read_level },
	{ "Opcode", TYPE_INTEGER, FORM_NUMBER, .of_record = true, .constant = opcode_of },
	{ "PayloadSize", TYPE_INTEGER, FORM_NUMBER, .of_record = true, .read = read_payload_size },
	{ "Session", TYPE_TEXT, FORM_ID, .of_record = true, .before_layout = true,
	  .constant = session_of },
	{ "Provider", TYPE_TEXT, FORM_ID, .of_record = true, .before_layout = true,
	  .role = ROLE_PROVIDER, .constant = provider_of },
	{ "Event", TYPE_TEXT, FORM_ID, .of_record = true, .before_layout = true,
	  .constant = event_of },
	{ "Path", TYPE_TEXT, FORM_TEXT, .features = TRACK_FILES, .events = about_file,
	  .read = read_path },
	{ "PathGroup", TYPE_TEXT, FORM_ID, .features = TRACK_FILES, .events = about_file,
	  .read = read_path_group },
	{ "Volume", TYPE_TEXT, FORM_ID, .features = TRACK_FILES, .events = about_file,
	  .read = read_volume },
	{ "Paging", TYPE_INTEGER, FORM_NUMBER, .events = about_file, .origin = "IoFlags",
	  .or_origin = "IOFlags", .reads_origin = true, .read = read_paging },
	{ "AlsoKernel", TYPE_INTEGER, FORM_NUMBER, .role = ROLE_SECOND_SOURCE,
	  .before_layout = true, .features = TRACK_SOURCES, .events = second_source,
	  .read = read_also_kernel },
	{ "ExitResult", TYPE_TEXT, FORM_ID, .events = process_exit, .origin = "ExitStatus",
	  .or_origin = "ExitCode", .reads_origin = true, .read = read_exit_result, .words = exit_results },
	{ "Driver", TYPE_TEXT, FORM_ID, .features = TRACK_DRIVERS, .origin = "Routine",
	  .or_origin = "RoutineAddr", .read = read_driver },
	{ "Service", TYPE_TEXT, FORM_ID, .features = TRACK_SERVICES, .read = read_service },
	{ "Duration", TYPE_DURATION, FORM_NUMBER, .role = ROLE_DURATION, .features = TRACK_REQUESTS,
	  .events = request_end, .read = read_duration },
	{ "Started", TYPE_TEXT, FORM_ID, .features = TRACK_REQUESTS, .events = request_end,
	  .read = read_started },
	{ "StartedBy", TYPE_TEXT, FORM_ID, .features = TRACK_REQUESTS, .events = request_end,
	  .read = read_started_by },
	{ "OnCpu", TYPE_DURATION, FORM_NUMBER, .features = TRACK_SCHEDULER,
	  .events = context_switch, .read = read_on_cpu },
	{ "Ready", TYPE_DURATION, FORM_NUMBER, .features = TRACK_SCHEDULER,
	  .events = context_switch, .read = read_ready },
	{ "Event.ActivityId", TYPE_TEXT, FORM_TEXT, .before_layout = true, .none_if_unknown = true,
	  .field = &item_guid, .read = read_activity },
	{ "Event.RelatedActivityId", TYPE_TEXT, FORM_TEXT, .before_layout = true,
	  .none_if_unknown = true, .field = &item_guid, .item = ETW_EXTENDED_RELATED_ACTIVITY,
	  .read = read_item },
	{ "Event.Sid", TYPE_TEXT, FORM_TEXT, .before_layout = true, .none_if_unknown = true,
	  .field = &item_sid, .item = ETW_EXTENDED_SID, .read = read_item },
	{ "Event.TerminalSession", TYPE_INTEGER, FORM_NUMBER, .before_layout = true,
	  .none_if_unknown = true, .field = &item_u32, .item = ETW_EXTENDED_SESSION_ID,
	  .read = read_item },
	{ "Event.StackDepth", TYPE_INTEGER, FORM_NUMBER, .before_layout = true,
	  .none_if_unknown = true, .field = &item_u64, .read = read_stack_depth },
	{ "Event.StackMatchId", TYPE_INTEGER, FORM_NUMBER, .before_layout = true,
	  .none_if_unknown = true, .field = &item_u64, .read = read_stack_match_id },
	{ "Event.KernelTime", TYPE_INTEGER, FORM_NUMBER, .before_layout = true,
	  .none_if_unknown = true, .field = &item_u64, .read = read_kernel_time },
	{ "Event.UserTime", TYPE_INTEGER, FORM_NUMBER, .before_layout = true,
	  .none_if_unknown = true, .field = &item_u64, .read = read_user_time },
	{ "Event.EventKey", TYPE_INTEGER, FORM_NUMBER, .before_layout = true,
	  .none_if_unknown = true, .field = &item_u64, .item = ETW_EXTENDED_EVENT_KEY,
	  .read = read_item },
	{ "Event.ProcessStartKey", TYPE_INTEGER, FORM_NUMBER, .before_layout = true,
	  .none_if_unknown = true, .field = &item_u64, .item = ETW_EXTENDED_PROCESS_START_KEY,
	  .read = read_item },
	{ "Event.ContainerId", TYPE_TEXT, FORM_TEXT, .before_layout = true, .none_if_unknown = true,
	  .field = &item_text, .item = ETW_EXTENDED_CONTAINER_ID, .read = read_item },
};

static_assert(sizeof fields / sizeof fields[0] <= DERIVED_MOST, "sets of them have 64 bits");

const struct derived_field *derived_at(unsigned number)
{
	return number < sizeof fields / sizeof fields[0] ? &fields[number] : NULL;
}

const struct derived_field *derived_find(const char *name)
{
	for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		if (strcmp(fields[i].name, name) == 0) {
			return &fields[i];
		}
	}
	return NULL;
}

static bool is_listed(const struct derived_events *events, const struct etw_event_class *class)
{
	for (; events->kernel_class != ETW_KERNEL_NONE || events->provider; events++) {
		if (events->provider ? etw_guid_equal(&events->provider->guid, &class->provider) &&
					       (events->id == 0 || events->id == class->id) :
				       events->kernel_class == class->kernel_class &&
					       (events->opcode == EVERY_OPCODE ||
						events->opcode == class->opcode)) {
			return true;
		}
	}
	return false;
}

static bool layout_has(const struct etw_schema *schema, const char *name)
{
	return schema && etw_schema_find_field(schema, name) >= 0;
}

int derived_origin(const struct derived_field *row, const struct etw_schema *schema)
{
	int index = schema ? etw_schema_find_field(schema, row->origin) : -1;

	if (schema && index < 0 && row->or_origin) {
		index = etw_schema_find_field(schema, row->or_origin);
	}
	return index >= 0 && etw_field_is_integer(&schema->fields[index]) ? index : -1;
}

bool derived_applies(const struct derived_field *row, const struct etw_event_class *class)
{
	if (row->events && !is_listed(row->events, class)) {
		return false;
	}
	if (!row->before_layout && layout_has(class->schema, row->name)) {
		return false;
	}
	return !row->origin || ((row->events || class->kernel_class != ETW_KERNEL_NONE) &&
				derived_origin(row, class->schema) >= 0);
}

uint32_t derived_features(void)
{
	uint32_t features = 0;

	for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		features |= fields[i].features;
	}
	return features;
}
