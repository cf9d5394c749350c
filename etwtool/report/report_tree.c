/* SPDX-License-Identifier: MIT */
/*
 * Arranges the processes of a recording as a tree, with their lifetimes, in the document of etwtool
 * report.
 *
 * A process names its parent by a process id, which can belong to other processes before and after.
 * So the parent is the instance that ran when the child began; if there are several, the one that
 * began last. A recording can claim anything, even circles: each instance is listed once, below its
 * parent, or without a parent if that would be below itself.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <etw/record.h>

#include "etwtool/report/report.h"
#include "base/utc.h"

enum { NONE = UINT32_MAX };

#define END_9999 INT64_C(2650467744000000000) /* the end of 9999 */

struct node {
	uint32_t parent, first_child, last_child, next; /* indices of instances, or NONE */
};

/* ---- the tree ---- */

static uint32_t find_parent(const struct report_events *events, uint32_t child)
{
	const struct report_process *process = &events->processes[child];
	uint32_t found = NONE;

	for (uint32_t i = 0; i < events->process_count; i++) {
		const struct report_process *other = &events->processes[i];

		if (i != child && other->process_id == process->parent_id &&
		    other->start <= process->start &&
		    (other->end == ETW_RECORD_NO_TIME || other->end >= process->start) &&
		    (found == NONE || other->start >= events->processes[found].start)) {
			found = i;
		}
	}
	return found;
}

/* Returns whether an instance is the other one or below it. */
static bool is_below(const struct node *nodes, uint32_t lower, uint32_t upper)
{
	while (lower != NONE && lower != upper) {
		lower = nodes[lower].parent;
	}
	return lower == upper;
}

/*
 * Makes the tree, which the caller frees. The last node is the root. Returns NULL without memory.
 */
static struct node *make_tree(const struct report_events *events)
{
	uint32_t count = (uint32_t)events->process_count;
	struct node *nodes = calloc(count + 1, sizeof *nodes);

	for (uint32_t i = 0; nodes && i <= count; i++) {
		nodes[i] = (struct node){ NONE, NONE, NONE, NONE };
	}
	for (uint32_t i = 0; nodes && i < count; i++) {
		uint32_t parent = find_parent(events, i);
		struct node *upper;

		parent = parent == NONE || is_below(nodes, parent, i) ? count : parent;
		upper = &nodes[parent];
		nodes[i].parent = parent;
		if (upper->last_child == NONE) {
			upper->first_child = i;
		} else {
			nodes[upper->last_child].next = i;
		}
		upper->last_child = i;
	}
	return nodes;
}

/* ---- rows ---- */

/* Source: "NTSTATUS Values", [MS-ERREF] 2.3.1; corexcep.h and ehdata.h for the last two. */
static const struct {
	uint32_t status;
	const char *name;
} exit_names[] = {
	{ 0x80000003, "breakpoint" },
	{ 0xc0000005, "access violation" },
	{ 0xc0000017, "no memory" },
	{ 0xc000001d, "illegal instruction" },
	{ 0xc0000094, "integer division by zero" },
	{ 0xc00000fd, "stack overflow" },
	{ 0xc0000135, "a DLL was not found" },
	{ 0xc0000139, "an entry point of a DLL was not found" },
	{ 0xc000013a, "Ctrl-C" },
	{ 0xc0000142, "a DLL could not start" },
	{ 0xc0000374, "damaged heap" },
	{ 0xc0000409, "damaged stack, or the program ended itself" },
	{ 0xc0000420, "failed assertion" },
	{ 0xe0434352, "unhandled .NET exception" },
	{ 0xe06d7363, "unhandled C++ exception" },
};

/* An NTSTATUS of an error is written in the form that people search for. */
void report_add_exit_status(struct etw_text *out, int32_t status)
{
	if (status >= 0) {
		text_add_format(out, "%" PRId32, status);
		return;
	}
	text_add_format(out, "0x%08" PRIX32, (uint32_t)status);
	for (size_t i = 0; i < sizeof exit_names / sizeof exit_names[0]; i++) {
		if (exit_names[i].status == (uint32_t)status) {
			text_add_format(out, " (%s)", exit_names[i].name);
		}
	}
}

/* Adds a time of a process. A time that RFC 3339 cannot express is moved to the nearest one. */
static void add_time(struct json *json, const char *key, int64_t time)
{
	time = time < END_9999 ? time : END_9999 - 1;
	utc_member(json, key, time > 0 || time == ETW_RECORD_NO_TIME ? time : 1);
}

static void add_process(struct json *json, const struct report_process *process, unsigned depth)
{
	struct etw_text status = { 0 };

	json_object_begin(json);
	json_member_u64(json, "depth", depth);
	json_member_string(json, "name", process->name);
	json_member_u64(json, "id", process->process_id);
	json_member_string(json, "command", process->command);
	add_time(json, "start", process->start);
	add_time(json, "end", process->end);
	if (process->exit_known) {
		report_add_exit_status(&status, process->exit_status);
		json_member_i64(json, "exit_status", process->exit_status);
		json_member_string(json, "exit_text", status.data);
	}
	json_object_end(json);
	json->out->failed |= status.failed;
	text_free(&status);
}

static void add_rows(struct json *json, const struct report_events *events,
		     const struct node *nodes)
{
	const uint32_t root = (uint32_t)events->process_count;
	uint32_t at = nodes[root].first_child;
	unsigned depth = 0;

	while (at != NONE && at != root) {
		add_process(json, &events->processes[at], depth);
		if (nodes[at].first_child != NONE) {
			at = nodes[at].first_child;
			depth++;
			continue;
		}
		while (at != root && nodes[at].next == NONE) {
			at = nodes[at].parent;
			depth -= at != root;
		}
		if (at != root) {
			at = nodes[at].next;
		}
	}
}

void report_add_processes(struct json *json, const struct report_events *events)
{
	struct node *nodes = make_tree(events);

	json->out->failed |= nodes == NULL;
	json_member_array(json, "processes");
	if (nodes) {
		add_rows(json, events, nodes);
	}
	json_array_end(json);
	json_member_u64(json, "processes_left_out", events->processes_left_out);
	free(nodes);
}
