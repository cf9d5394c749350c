/* SPDX-License-Identifier: MIT */
/* From an event to the sessions that want it. */
#include "lib/source/etw_sdk_win32.h"
#include "tests/fake_etw/internal.h"

#include <string.h>

enum {
	MAX_ITEMS = 32,
	ITEM_BYTES = 16,      /* of one item beside its data, at most */
	PROPERTY_BYTES = 128, /* of the items that a session adds, at most */
};

/* S-1-5-18, the account of the fake's processes. */
static const uint8_t system_sid[] = { 1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0 };

static void add_item(struct fake_write *write, struct fake_piece *pieces, uint16_t *types,
		     uint16_t type, const void *data, size_t size)
{
	if (write->item_count < MAX_ITEMS) {
		types[write->item_count] = type;
		pieces[write->item_count] = (struct fake_piece){ data, size };
		write->item_count++;
	}
}

static bool id_listed(const uint16_t *ids, unsigned count, uint16_t id)
{
	for (unsigned i = 0; i < count; i++) {
		if (ids[i] == id) {
			return true;
		}
	}
	return false;
}

static int64_t time_of(const struct fake_session *session, const struct fake_etw_event *event,
		       uint64_t now_ns)
{
	if (!event->timed) {
		return fake_clock_raw_at(session->clock, now_ns);
	}
	return session->clock == 2 && event->system_time != 0 ? event->system_time :
								event->raw_time;
}

typedef uint32_t (*use_of_write)(struct fake_session *session, const struct fake_write *write);

/* Makes what goes into a buffer of the session, and uses it. */
static uint32_t with_write(struct fake_session *session, const struct fake_etw_event *event,
			   const struct fake_enable *enable, use_of_write use)
{
	struct fake_piece pieces[MAX_ITEMS];
	uint16_t types[MAX_ITEMS];
	struct fake_piece payload = { event->payload, event->payload_size };
	struct fake_write write = { .processor = event->processor,
				    .now_ns = fake_clock_monotonic_ns(),
				    .payload = &payload,
				    .payload_count = 1,
				    .items = pieces,
				    .item_types = types };
	uint64_t start_key = 0x1000000000000u | event->process_id;
	uint32_t terminal_session = 1;
	uint64_t stack[3] = { 0, 0x7ff600001000, 0x7ff600002000 };
	uint32_t properties = enable ? enable->properties : 0;

	if ((properties & EVENT_ENABLE_PROPERTY_SID) != 0) {
		add_item(&write, pieces, types, EVENT_HEADER_EXT_TYPE_SID, system_sid,
			 sizeof(system_sid));
	}
	if ((properties & EVENT_ENABLE_PROPERTY_TS_ID) != 0) {
		add_item(&write, pieces, types, EVENT_HEADER_EXT_TYPE_TS_ID, &terminal_session,
			 sizeof(terminal_session));
	}
	if ((properties & EVENT_ENABLE_PROPERTY_PROCESS_START_KEY) != 0) {
		add_item(&write, pieces, types, EVENT_HEADER_EXT_TYPE_PROCESS_START_KEY, &start_key,
			 sizeof(start_key));
	}
	if (event->container &&
	    (properties & EVENT_ENABLE_PROPERTY_SOURCE_CONTAINER_TRACKING) != 0) {
		add_item(&write, pieces, types, EVENT_HEADER_EXT_TYPE_CONTAINER_ID,
			 event->container, strlen(event->container));
	}
	if (write.item_count > 1 && fake_otherwise("P12")) {
		types[0] = types[1];
		types[1] = EVENT_HEADER_EXT_TYPE_SID;
	}
	for (size_t i = 0; i < event->item_count; i++) {
		add_item(&write, pieces, types, event->items[i].type, event->items[i].data,
			 event->items[i].size);
	}
	if ((properties & EVENT_ENABLE_PROPERTY_STACK_TRACE) != 0 &&
	    (!enable->stack_ids_set || id_listed(enable->stack_ids, enable->stack_id_count,
						 event->descriptor.Id) == enable->stack_ids_in)) {
		add_item(&write, pieces, types, EVENT_HEADER_EXT_TYPE_STACK_TRACE64, stack,
			 sizeof(stack));
	}

	write.header.Flags = event->flags;
	write.header.Flags |= event->pointer_size == 4 ? EVENT_HEADER_FLAG_32_BIT_HEADER :
							 EVENT_HEADER_FLAG_64_BIT_HEADER;
	write.header.Flags |= EVENT_HEADER_FLAG_PROCESSOR_INDEX;
	if (event->classic) {
		write.header.Flags |= EVENT_HEADER_FLAG_CLASSIC_HEADER;
	}
	write.header.EventProperty = event->property;
	write.header.ThreadId = event->thread_id;
	write.header.ProcessId = event->process_id;
	write.header.TimeStamp.QuadPart = time_of(session, event, write.now_ns);
	write.header.ProviderId = event->provider;
	write.header.EventDescriptor = event->descriptor;
	write.header.ActivityId = event->activity;
	return use(session, &write);
}

uint32_t fake_emit_to(struct fake_session *session, const struct fake_etw_event *event,
		      const struct fake_enable *enable)
{
	return with_write(session, event, enable,
			  session->file ? fake_log_write : fake_buffer_write);
}

/* Names in a filter stand between semicolons. */
static bool name_listed(const WCHAR *list, const WCHAR *name)
{
	WCHAR one[MAX_PATH];
	size_t length = 0;

	for (;; list++) {
		if (*list != ';' && *list != 0) {
			if (length + 1 < MAX_PATH) {
				one[length++] = *list;
			}
			continue;
		}
		one[length] = 0;
		if (fake_wide_equal(one, name)) {
			return true;
		}
		length = 0;
		if (*list == 0) {
			return false;
		}
	}
}

static bool enable_wants(const struct fake_enable *enable, const struct fake_etw_event *event)
{
	const EVENT_DESCRIPTOR *descriptor = &event->descriptor;

	if (!fake_enable_passes(enable->level, enable->match_any, enable->match_all,
				descriptor->Level, descriptor->Keyword)) {
		return false;
	}
	if (event->container && (enable->properties & EVENT_ENABLE_PROPERTY_ENABLE_SILOS) == 0) {
		return false;
	}
	if ((enable->properties & EVENT_ENABLE_PROPERTY_IGNORE_KEYWORD_0) != 0 &&
	    descriptor->Keyword == 0) {
		return false;
	}
	if (enable->ids_set &&
	    id_listed(enable->ids, enable->id_count, descriptor->Id) != enable->ids_in) {
		return false;
	}
	if (enable->pids_set) {
		bool listed = false;

		for (unsigned i = 0; i < enable->pid_count; i++) {
			listed |= enable->pids[i] == event->process_id;
		}
		if (!listed) {
			return false;
		}
	}
	if (enable->payload && !fake_payload_wants(enable->payload, event)) {
		return false;
	}
	if (enable->executables) {
		WCHAR name[MAX_PATH];

		return fake_machine_process_name(event->process_id, name, MAX_PATH) &&
		       name_listed(enable->executables, name);
	}
	return true;
}

/* A session that has an event enabled. */
struct receiver {
	struct fake_session *session;
	const struct fake_enable *enable; /* NULL: by kernel flags */
	bool room;
};

static bool session_wants(struct fake_session *session, const struct fake_etw_event *event,
			  bool kernel, const struct fake_enable **enable)
{
	const GUID *control = event->classic ? fake_classic_control(&event->provider) : NULL;
	uint32_t masks[8];

	if (!kernel) {
		*enable = fake_enable_of(session, control ? control : &event->provider);
		return *enable && enable_wants(*enable, event);
	}
	fake_session_settle(session);
	for (unsigned i = 0; i < 8; i++) {
		masks[i] = session->masks[i] | session->provider_masks[i];
	}
	return fake_kernel_requested(session, masks, &event->provider, event->descriptor.Opcode);
}

static bool is_independent(const struct fake_session *session)
{
	return (session->mode & EVENT_TRACE_INDEPENDENT_SESSION_MODE) != 0;
}

/* Whether a session that has room for an event does not get it, because another one has none. */
static bool is_withheld(const struct receiver *one, const struct receiver *all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!all[i].room &&
		    !is_independent(fake.options.full_decides ? all[i].session : one->session)) {
			return true;
		}
	}
	return false;
}

/* Writes the call stack of a kernel event, if the session has stacks of such events enabled. */
static uint32_t emit_stack(struct fake_session *session, const struct fake_etw_event *event)
{
	static const uint64_t addresses[] = { 0xfffff80000001000, 0x7ff600001000 };
	const uint32_t ids[] = { event->process_id, event->thread_id };
	uint8_t payload[8 + sizeof(ids) + sizeof(addresses)];
	struct fake_etw_event stack = *event;

	if (!event->classic || !fake_kernel_has_stack(session, event)) {
		return 0;
	}
	memcpy(payload, &event->raw_time, 8);
	memcpy(payload + 8, ids, sizeof(ids));
	memcpy(payload + 8 + sizeof(ids), addresses, sizeof(addresses));
	stack.provider = fake_stack_class;
	stack.descriptor = (EVENT_DESCRIPTOR){ .Opcode = FAKE_STACK_OPCODE, .Version = 2 };
	stack.process_id = stack.thread_id = UINT32_MAX;
	stack.pointer_size = 8;
	stack.payload = payload;
	stack.payload_size = sizeof(payload);
	return fake_emit_to(session, &stack, NULL);
}

/* Writes an event to a session. A stack that follows has its time. */
static uint32_t emit_with_stack(struct fake_session *session, const struct fake_etw_event *event,
				const struct fake_enable *enable)
{
	struct fake_etw_event stamped = *event;
	uint32_t error, lost;

	if (session->stack_event_count == 0) {
		return fake_emit_to(session, event, enable);
	}
	stamped.raw_time = time_of(session, event, fake_clock_monotonic_ns());
	stamped.system_time = 0;
	stamped.timed = true;
	error = fake_emit_to(session, &stamped, enable);
	lost = emit_stack(session, &stamped);
	return lost != 0 ? lost : error;
}

uint32_t fake_emit(const struct fake_etw_event *event, unsigned *sessions)
{
	bool kernel = event->classic && fake_kernel_class(&event->provider);
	struct receiver receivers[FAKE_SESSIONS];
	size_t count = 0;
	uint32_t error = 0;

	for (size_t i = 0; i < fake.session_end; i++) {
		struct fake_session *session = &fake.sessions[i];
		const struct fake_enable *enable = NULL;

		if (session->used && session_wants(session, event, kernel, &enable)) {
			/* The timer fires before, not between the look for room and the write. */
			fake_buffer_tick(session, fake_clock_monotonic_ns());
			/* The kernel logs to each session by itself; EventWrite wants all. */
			bool room = event->classic || session->file ||
				    with_write(session, event, enable, fake_buffer_make_room) == 0;

			receivers[count++] = (struct receiver){ session, enable, room };
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct receiver *one = &receivers[i];
		uint32_t lost;

		if (one->room && is_withheld(one, receivers, count)) {
			one->session->withheld++;
			continue;
		}
		lost = emit_with_stack(one->session, event, one->enable);
		error = lost != 0 ? lost : error;
	}
	*sessions = (unsigned)count;
	return error;
}

unsigned fake_etw_emit(const struct fake_etw_event *event)
{
	unsigned sessions;

	fake_lock();
	(void)fake_emit(event, &sessions);
	fake_unlock();
	return sessions;
}

bool fake_etw_emit_waiting(const struct fake_etw_event *event, unsigned timeout_ms)
{
	size_t size = FAKE_EVENT_HEADER + event->payload_size;
	unsigned sessions;
	bool room;

	for (size_t i = 0; i < event->item_count; i++) {
		size += ITEM_BYTES + event->items[i].size;
	}
	fake_lock();
	room = fake_buffer_wait_for_room(event->processor, size + PROPERTY_BYTES, timeout_ms);
	if (room) {
		(void)fake_emit(event, &sessions);
	}
	fake_unlock();
	return room;
}
