/* SPDX-License-Identifier: MIT */
/*
 * Reports existing objects to the sink of a session: processes and threads when the session starts;
 * volumes, disks and services at the start and whenever they change.
 *
 * The consumer thread reads only facts that need no device: processes, threads and drive letters. A
 * separate thread reads all others, at once and then every ten seconds, because a device may take
 * long to answer, or never answer. Disks and partitions are queried only when a volume or a disk
 * was added or removed, because the query may wake a sleeping disk.
 *
 * That thread publishes a list of all facts when one has changed, and the memory of processes when
 * it was read. The consumer thread takes the list between two records, compares it with the one
 * that the sink knows, and reports the difference. So the tables of the sink need no lock, and a
 * record finds them either before a change or after it. Lists are bounded (machine.c), and only the
 * newest is kept.
 *
 * The two threads share only struct snapshot, which the last of them frees. If the session stops
 * while the thread hangs in a call, the thread is abandoned and frees the struct when the call
 * returns.
 *
 * Source: "CreateToolhelp32Snapshot function", "THREADENTRY32 structure", Microsoft Learn.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/live/live_source_internal_win32.h"

#include <tlhelp32.h>

/*
 * ---- the memory of processes ----
 *
 * Reads the memory of all processes, in one call that needs no right.
 *
 * NtQuerySystemInformation() returns a list in which each entry says where the next one begins, and
 * is followed by the threads of its process. The room for it grows up to a limit; a machine whose
 * list is larger has no reading. Nothing in the answer is trusted: an entry must lie inside the
 * answer, and the list ends with the first that does not.
 *
 * Source: "NtQuerySystemInformation function", Microsoft Learn; winsiderss/phnt ntexapi.h
 * (SYSTEM_PROCESS_INFORMATION, WorkingSetPrivateSize since Windows Vista).
 */

struct memory_list {
	struct etw_process_memory *processes; /* owned */
	size_t count;
};

enum {
	SYSTEM_PROCESSES = 5, /* SystemProcessInformation */
	ROOM_FIRST = 512 * 1024,
	ROOM_MOST = 32 * 1024 * 1024,
	PROCESSES_MOST = 65536,
};

#define STATUS_TOO_SMALL ((LONG)0xC0000004) /* STATUS_INFO_LENGTH_MISMATCH */

struct process_entry {
	ULONG next; /* bytes to the next entry; 0: there is none */
	ULONG threads;
	uint64_t working_set_private;
	uint8_t times[40];
	struct {
		USHORT size, room;
		ULONG unused;
		uint64_t text;
	} name;
	ULONG priority, unused;
	uint64_t process_id;
	uint64_t parent_id;
	ULONG handles;
	ULONG session;
	uint64_t key;
	uint64_t peak_virtual, virtual_size;
	uint64_t page_faults;
	uint64_t peak_working_set, working_set;
	uint64_t pools[4];
	uint64_t commit, peak_commit; /* PagefileUsage, PeakPagefileUsage */
};

_Static_assert(offsetof(struct process_entry, process_id) == 80 &&
		       offsetof(struct process_entry, handles) == 96 &&
		       offsetof(struct process_entry, working_set) == 144 &&
		       offsetof(struct process_entry, commit) == 184,
	       "the layout of 64-bit Windows");

typedef LONG WINAPI query_system(ULONG what, void *answer, ULONG size, ULONG *needed);

static query_system *find_query_system(void)
{
	static const WCHAR name[] = { 'n', 't', 'd', 'l', 'l', '.', 'd', 'l', 'l', 0 };
	HMODULE module = GetModuleHandleW(name);

	return module ? (query_system *)(void (*)(void))GetProcAddress(module,
								       "NtQuerySystemInformation") :
			NULL;
}

static void add_process(struct memory_list *list, const struct process_entry *entry)
{
	list->processes[list->count++] = (struct etw_process_memory){
		.process_id = (uint32_t)entry->process_id,
		.handles = entry->handles,
		.working_set_bytes = entry->working_set,
		.private_working_set_bytes = entry->working_set_private,
		.commit_bytes = entry->commit,
	};
}

static bool take_processes(struct memory_list *list, const uint8_t *answer, size_t size)
{
	struct process_entry entry;
	size_t at = 0;

	list->processes = malloc(PROCESSES_MOST * sizeof *list->processes);
	if (!list->processes) {
		return false;
	}
	while (list->count < PROCESSES_MOST && size - at >= sizeof entry) {
		memcpy(&entry, answer + at, sizeof entry);
		add_process(list, &entry);
		if (entry.next < sizeof entry || entry.next > size - at) {
			break;
		}
		at += entry.next;
	}
	return true;
}

/* Returns false if Windows does not answer; the list is then empty. */
static bool memory_list_read(struct memory_list *list)
{
	query_system *call = find_query_system();
	LONG status = STATUS_TOO_SMALL;
	bool good = false;

	*list = (struct memory_list){ .count = 0 };
	for (ULONG room = ROOM_FIRST; call && room <= ROOM_MOST && status == STATUS_TOO_SMALL;
	     room *= 2) {
		uint8_t *answer = malloc(room);
		ULONG size = 0;

		if (!answer) {
			return false;
		}
		status = call(SYSTEM_PROCESSES, answer, room, &size);
		good = status == 0 && take_processes(list, answer, size < room ? size : room);
		free(answer);
	}
	return good;
}

static void memory_list_clear(struct memory_list *list)
{
	free(list->processes);
	*list = (struct memory_list){ .count = 0 };
}

/* ---- the snapshot ---- */

#define NS_PER_MS UINT64_C(1000000)

/* Groups of facts that are read together. If Windows does not answer, the last known facts stay. */
enum part { PART_VOLUMES, PART_SERVICES, PART_DISKS, PARTS };

struct snapshot {
	_Atomic(bool) reads[PARTS]; /* as the sink needs them */
	_Atomic(bool) reads_memory;
	bool (*wants_memory)(void *context); /* fixed; NULL: memory is not read */
	void *memory_context;
	uint64_t period_ns; /* fixed */

	struct os_thread thread;
	struct os_mutex lock;
	struct os_condition changed; /* stopping, ended */
	/* Guarded by lock. */
	struct machine latest; /* the list published last, until the consumer takes it */
	bool has_latest;
	struct memory_list memory; /* also until the consumer takes it */
	bool at_once;              /* the next period begins now */
	bool stopping;
	bool ended;
	bool abandoned; /* the thread frees the snapshot */

	/* `latest` or `memory` can be taken. Stored with release after these are set; loaded with
	 * acquire. */
	_Atomic(bool) changes;

	/* Only the snapshot thread uses these members. */
	struct machine parts[PARTS];
	struct machine_disks disks;
	bool folders_known; /* volumes were listed at least once */
	bool disks_due;     /* volumes have changed since the disks were read, or that failed */
};

/* ---- processes and threads ---- */

/* Returns the name that events of the kernel have for a process: Windows calls one by two names. */
static const char *name_in_events(const char *name)
{
	return strcmp(name, "Memory Compression") == 0 ? "MemCompression" : name;
}

static void announce_processes(const struct etw_event_sink *sink, HANDLE snapshot)
{
	/* A unit of UTF-16 takes at most three bytes of UTF-8. */
	char name[3 * MAX_PATH + 1];
	PROCESSENTRY32W entry = { .dwSize = sizeof entry };

	for (BOOL more = Process32FirstW(snapshot, &entry); more;
	     more = Process32NextW(snapshot, &entry)) {
		/* Skip process 0: its name is "[System Process]" here, but Idle in events. */
		if (entry.th32ProcessID != 0 && live_narrow(entry.szExeFile, name, sizeof name)) {
			const char *known = name_in_events(name);

			sink->on_process(sink->context, entry.th32ProcessID, known, strlen(known));
		}
	}
}

static void announce_threads(const struct etw_event_sink *sink, HANDLE snapshot)
{
	THREADENTRY32 entry = { .dwSize = sizeof entry };

	for (BOOL more = Thread32First(snapshot, &entry); more;
	     more = Thread32Next(snapshot, &entry)) {
		sink->on_thread(sink->context, entry.th32ThreadID, entry.th32OwnerProcessID);
	}
}

static void announce_running(const struct etw_event_sink *sink)
{
	HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS | TH32CS_SNAPTHREAD, 0);

	if (snapshot == INVALID_HANDLE_VALUE) {
		return; /* events will announce names, too */
	}
	if (sink->on_process) {
		announce_processes(sink, snapshot);
	}
	if (sink->on_thread) {
		announce_threads(sink, snapshot);
	}
	CloseHandle(snapshot);
}

/* ---- the thread that reads ---- */

/* Keeps the new facts of a part, or the old ones if there was no answer. Returns true if they
 * changed. */
static bool keep_part(struct snapshot *snapshot, enum part part, struct machine *read, bool good)
{
	struct machine *kept = &snapshot->parts[part];
	bool changed;

	machine_sort(read);
	changed = good && !machine_equal(kept, read);
	machine_clear(changed ? kept : read);
	if (changed) {
		*kept = *read;
	}
	return changed;
}

static bool read_volumes(struct snapshot *snapshot)
{
	struct machine read = { .count = 0 };
	bool good = machine_read_letters(&read);
	bool folders = machine_read_folders(&read);

	/* Until Windows has listed volumes once, letters alone are better than nothing. */
	good = good && (folders || !snapshot->folders_known);
	snapshot->folders_known |= good && folders;
	return keep_part(snapshot, PART_VOLUMES, &read, good);
}

static bool read_services(struct snapshot *snapshot)
{
	struct machine read = { .count = 0 };
	bool good = machine_read_services(&read);

	return keep_part(snapshot, PART_SERVICES, &read, good);
}

static bool read_disks(struct snapshot *snapshot)
{
	struct machine_disks now = snapshot->disks;
	struct machine read = { .count = 0 };
	bool good;

	machine_list_disks(&now);
	if (!snapshot->disks_due && memcmp(&now, &snapshot->disks, sizeof now) == 0) {
		return false;
	}
	good = machine_read_disks(&read, &now, &snapshot->parts[PART_VOLUMES]);
	if (good) {
		snapshot->disks = now;
	}
	snapshot->disks_due = !good;
	return keep_part(snapshot, PART_DISKS, &read, good);
}

static void add_all(struct machine *to, const struct machine *from)
{
	for (size_t i = 0; i < from->count; i++) {
		machine_add(to, &from->facts[i]);
	}
}

static void publish(struct snapshot *snapshot)
{
	struct machine all = { .count = 0 };

	for (unsigned i = 0; i < PARTS; i++) {
		add_all(&all, &snapshot->parts[i]);
	}
	machine_sort(&all);
	os_mutex_lock(&snapshot->lock);
	machine_clear(&snapshot->latest);
	snapshot->latest = all;
	snapshot->has_latest = true;
	atomic_store_explicit(&snapshot->changes, true, memory_order_release);
	os_mutex_unlock(&snapshot->lock);
}

static void read_memory(struct snapshot *snapshot)
{
	struct memory_list read;

	if (!atomic_load_explicit(&snapshot->reads_memory, memory_order_relaxed) ||
	    !snapshot->wants_memory || !snapshot->wants_memory(snapshot->memory_context) ||
	    !memory_list_read(&read)) {
		return;
	}
	os_mutex_lock(&snapshot->lock);
	memory_list_clear(&snapshot->memory);
	snapshot->memory = read;
	atomic_store_explicit(&snapshot->changes, true, memory_order_release);
	os_mutex_unlock(&snapshot->lock);
}

/* Reads all parts. Disks come last and are published separately, so a disk that hangs delays
 * nothing else. */
static void read_all(struct snapshot *snapshot)
{
	bool volumes_changed, services_changed;

	read_memory(snapshot);
	volumes_changed = read_volumes(snapshot);
	services_changed = snapshot->reads[PART_SERVICES] && read_services(snapshot);

	if (volumes_changed || services_changed) {
		publish(snapshot);
	}
	/* Set this even if disks are not needed now, because they may be needed later. */
	snapshot->disks_due |= volumes_changed;
	if (snapshot->reads[PART_DISKS] && read_disks(snapshot)) {
		publish(snapshot);
	}
}

static void snapshot_free(struct snapshot *snapshot)
{
	for (unsigned i = 0; i < PARTS; i++) {
		machine_clear(&snapshot->parts[i]);
	}
	machine_clear(&snapshot->latest);
	memory_list_clear(&snapshot->memory);
	os_condition_done(&snapshot->changed);
	os_mutex_done(&snapshot->lock);
	free(snapshot);
}

/* Waits for a period. Returns false if the snapshot is stopped. */
static bool wait_period(struct snapshot *snapshot)
{
	uint64_t deadline = os_monotonic_ns() + snapshot->period_ns;
	bool goes_on;

	os_mutex_lock(&snapshot->lock);
	while (!snapshot->stopping && !snapshot->at_once &&
	       os_condition_wait_until(&snapshot->changed, &snapshot->lock, deadline)) {
	}
	snapshot->at_once = false;
	goes_on = !snapshot->stopping;
	os_mutex_unlock(&snapshot->lock);
	return goes_on;
}

static void run(void *context)
{
	struct snapshot *snapshot = context;
	bool abandoned;

	/* Otherwise Windows may show a window when a drive has no medium. */
	SetThreadErrorMode(SEM_FAILCRITICALERRORS, NULL);
	do {
		read_all(snapshot);
	} while (wait_period(snapshot));
	os_mutex_lock(&snapshot->lock);
	snapshot->ended = true;
	abandoned = snapshot->abandoned;
	os_condition_wake_all(&snapshot->changed);
	os_mutex_unlock(&snapshot->lock);
	if (abandoned) {
		snapshot_free(snapshot);
	}
}

/* ---- on the consumer thread ---- */

static void choose_parts(const struct live *live, struct snapshot *snapshot)
{
	const struct etw_event_sink *sink = live->sink;
	bool kernel = kernel_flags_of(live) != 0;

	/* Only kernel events refer to disks and services, and only one session has kernel
	 * events. */
	snapshot->reads[PART_SERVICES] = kernel && sink->on_service;
	snapshot->reads_memory = sink->on_memory != NULL;
	snapshot->reads[PART_DISKS] = kernel && (sink->on_disk || sink->on_partition);
}

bool snapshot_start(struct live *live, struct etw_error *err)
{
	const struct etw_event_sink *sink = live->sink;
	struct snapshot *snapshot;

	if (!sink->on_volume && !sink->on_disk && !sink->on_partition && !sink->on_service &&
	    !sink->on_memory) {
		return true;
	}
	snapshot = calloc(1, sizeof *snapshot);
	if (!snapshot) {
		return error_no_memory(err, "what exists on the machine");
	}
	choose_parts(live, snapshot);
	snapshot->wants_memory = live->options.wants_memory;
	snapshot->memory_context = live->options.memory_context;
	snapshot->period_ns = live->options.snapshot_ms * NS_PER_MS;
	os_mutex_init(&snapshot->lock);
	os_condition_init(&snapshot->changed);
	if (!os_thread_start(&snapshot->thread, run, snapshot, err)) {
		snapshot_free(snapshot);
		return false;
	}
	live->snapshot = snapshot;
	return true;
}

void snapshot_stop(struct live *live)
{
	struct snapshot *snapshot = live->snapshot;
	uint64_t deadline = os_monotonic_ns() + live->options.stop_grace_ms * NS_PER_MS;
	bool ended;

	live->snapshot = NULL;
	machine_clear(&live->announced);
	if (!snapshot) {
		return;
	}
	os_mutex_lock(&snapshot->lock);
	snapshot->stopping = true;
	os_condition_wake_all(&snapshot->changed);
	while (!snapshot->ended &&
	       os_condition_wait_until(&snapshot->changed, &snapshot->lock, deadline)) {
	}
	ended = snapshot->ended;
	snapshot->abandoned = !ended;
	if (!ended) {
		os_thread_detach(&snapshot->thread);
	}
	os_mutex_unlock(&snapshot->lock);
	if (ended) {
		os_thread_join(&snapshot->thread);
		snapshot_free(snapshot);
	}
}

/* Reports the differences from what the sink knows. Takes ownership of the contents of *now. */
static void report(struct live *live, struct machine *now)
{
	machine_announce(&live->announced, now, live->sink);
	machine_clear(&live->announced);
	live->announced = *now;
}

void snapshot_announce(struct live *live)
{
	const struct etw_event_sink *sink = live->sink;
	struct machine now = live->announced; /* the sink forgets everything at a restart */

	live->announced = (struct machine){ .count = 0 };
	announce_running(sink);
	if (now.count == 0 && sink->on_volume) {
		machine_read_letters(&now);
		machine_sort(&now);
	}
	report(live, &now);
	snapshot_announce_changes(live);
	if (sink->on_snapshot_end) {
		sink->on_snapshot_end(sink->context);
	}
}

static NOINLINE void take_changes(struct live *live, struct snapshot *snapshot)
{
	const struct etw_event_sink *sink = live->sink;
	struct memory_list memory;
	struct machine now;
	bool has_now;

	os_mutex_lock(&snapshot->lock);
	atomic_store_explicit(&snapshot->changes, false, memory_order_relaxed);
	now = snapshot->latest;
	has_now = snapshot->has_latest;
	memory = snapshot->memory;
	snapshot->latest = (struct machine){ .count = 0 };
	snapshot->has_latest = false;
	snapshot->memory = (struct memory_list){ .count = 0 };
	os_mutex_unlock(&snapshot->lock);
	if (has_now) {
		report(live, &now);
	}
	if (memory.count > 0 && sink->on_memory) {
		sink->on_memory(sink->context, memory.processes, memory.count);
	}
	memory_list_clear(&memory);
}

void snapshot_announce_changes(struct live *live)
{
	struct snapshot *snapshot = live->snapshot;

	if (snapshot && atomic_load_explicit(&snapshot->changes, memory_order_acquire)) {
		take_changes(live, snapshot);
	}
}

void snapshot_choose(struct live *live)
{
	if (live->snapshot) {
		choose_parts(live, live->snapshot);
	}
}

void snapshot_change(struct live *live)
{
	struct snapshot *snapshot = live->snapshot;
	struct machine now = live->announced;
	struct etw_error err;

	live->announced = (struct machine){ .count = 0 };
	if (now.count == 0 && live->sink->on_volume) {
		machine_read_letters(&now);
		machine_sort(&now);
	}
	report(live, &now);
	if (!snapshot) {
		if (!snapshot_start(live, &err)) {
			live_report(live, ETW_SESSION_PROVIDER_FAILED, "%s", err.text);
		}
		return;
	}
	snapshot_choose(live);
	os_mutex_lock(&snapshot->lock);
	snapshot->at_once = true;
	os_condition_wake_all(&snapshot->changed);
	os_mutex_unlock(&snapshot->lock);
}
