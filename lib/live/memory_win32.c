/* SPDX-License-Identifier: MIT */
/*
 * Reads the memory of all processes, in one call that needs no right.
 *
 * NtQuerySystemInformation() returns a list in which each entry says where the next one begins, and
 * has the threads of its process behind it. The room for it grows up to a limit; a machine whose
 * list is larger has no reading. Nothing in the answer is trusted: an entry must lie inside the
 * answer, and the list ends with the first that does not.
 *
 * Source: "NtQuerySystemInformation function", Microsoft Learn; winsiderss/phnt ntexapi.h
 * (SYSTEM_PROCESS_INFORMATION, WorkingSetPrivateSize since Windows Vista).
 */
#include <stdlib.h>
#include <string.h>

#include "lib/live/live_source_internal_win32.h"

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

bool memory_list_read(struct memory_list *list)
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

void memory_list_clear(struct memory_list *list)
{
	free(list->processes);
	*list = (struct memory_list){ .count = 0 };
}
