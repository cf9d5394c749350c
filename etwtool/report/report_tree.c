/* SPDX-License-Identifier: MIT */
/*
 * The processes of a recording as a tree, with their lifetimes.
 *
 * A process names its parent by a process id, which may have meant another process before and may
 * mean another one later. So the parent is the instance that ran when the child began; of several
 * the one that began last. A recording can claim anything, circles too: each instance is listed
 * once, below its parent if that does not stand below itself, and without one otherwise.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <etw/record.h>

#include "base/html.h"
#include "etwtool/report/report.h"

enum { NONE = UINT32_MAX, INDENT_MOST = 8, BAR_WIDTH = 1000 };

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

/* Whether an instance stands below another one, or is it. */
static bool is_below(const struct node *nodes, uint32_t lower, uint32_t upper)
{
	while (lower != NONE && lower != upper) {
		lower = nodes[lower].parent;
	}
	return lower == upper;
}

/* NULL without memory; for the caller to free. The last node is the root. */
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

/* "NTSTATUS Values", [MS-ERREF] 2.3.1; corexcep.h and ehdata.h for the last two. */
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

/* A status that is an NTSTATUS of an error is written as people search for it. */
void report_add_exit_status(struct etw_text *html, int32_t status)
{
	if (status >= 0) {
		text_add_format(html, "%" PRId32, status);
		return;
	}
	text_add_format(html, "0x%08" PRIX32, (uint32_t)status);
	for (size_t i = 0; i < sizeof exit_names / sizeof exit_names[0]; i++) {
		if (exit_names[i].status == (uint32_t)status) {
			text_add_format(html, " (%s)", exit_names[i].name);
		}
	}
}

static void add_exit(struct etw_text *html, const struct report_process *process)
{
	text_add_format(html, "<td class=\"n%s\">", process->exit_status < 0 ? " exit bad" : "");
	if (process->exit_known) {
		report_add_exit_status(html, process->exit_status);
	}
}

static unsigned place(const struct report_steps *steps, int64_t time, unsigned otherwise)
{
	uint64_t span = etw_time_between(steps->first, steps->last);

	if (time == ETW_RECORD_NO_TIME || span == 0) {
		return otherwise;
	}
	if (time >= steps->last) {
		return BAR_WIDTH; /* it may be after 9999, which the steps leave out */
	}
	return (unsigned)((double)etw_time_between(steps->first, time) / (double)span * BAR_WIDTH);
}

static void add_bar(struct etw_text *html, const struct report *report,
		    const struct report_process *process)
{
	const struct report_steps *steps = &report->charted.steps;
	unsigned start = place(steps, process->start, 0);
	unsigned end = place(steps, process->end, BAR_WIDTH);

	end = end > start + 4 ? end : start + 4; /* a short life is seen, too */
	text_add_format(
		html,
		"<td class=\"life\"><svg viewBox=\"0 0 %d 10\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\"><rect class=\"%s\" x=\"%u\" y=\"0\" width=\"%u\" "
		"height=\"10\"/></svg>\n",
		BAR_WIDTH, process->exit_status < 0 ? "failed" : "ran", start, end - start);
}

static void add_process(struct etw_text *html, const struct report *report,
			const struct report_process *process, unsigned depth)
{
	text_add_format(html, "<tr><th scope=\"row\" class=\"i%u\"><bdi>",
			depth < INDENT_MOST ? depth : INDENT_MOST);
	text_add_html(html, process->name[0] != '\0' ? process->name : "(no name)");
	text_add_string(html, "</bdi>");
	if (process->command[0] != '\0') {
		text_add_string(html, "<small><bdi>");
		text_add_html(html, process->command);
		text_add_string(html, "</bdi></small>");
	}
	add_bar(html, report, process);
	text_add_string(html, "<td class=\"n\">");
	if (process->start == ETW_RECORD_NO_TIME) {
		text_add_string(html, "before");
	} else {
		report_add_clock(html, report, process->start);
	}
	text_add_string(html, "<td class=\"n\">");
	if (process->end == ETW_RECORD_NO_TIME) {
		text_add_string(html, "runs");
	} else {
		report_add_clock(html, report, process->end);
	}
	add_exit(html, process);
	text_add_format(html, "<td class=\"n\">%" PRIu32 "\n", process->process_id);
}

static void add_rows(struct etw_text *html, const struct report *report, struct node *nodes)
{
	const uint32_t root = (uint32_t)report->events.process_count;
	uint32_t at = nodes[root].first_child;
	unsigned depth = 0;

	while (at != NONE && at != root) {
		add_process(html, report, &report->events.processes[at], depth);
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

static void add_summary(struct etw_text *html, const struct report_events *events)
{
	uint64_t started = 0, ended = 0, failed = 0;

	for (size_t i = 0; i < events->process_count; i++) {
		const struct report_process *process = &events->processes[i];

		started += process->start != ETW_RECORD_NO_TIME;
		ended += process->end != ETW_RECORD_NO_TIME;
		failed += process->exit_status < 0;
	}
	text_add_string(html, "<p>");
	report_add_number(html, events->process_count - started);
	text_add_string(html, events->process_count - started == 1 ? " process" : " processes");
	text_add_string(html, " ran before the recording began. ");
	report_add_number(html, started);
	text_add_string(html, " started and ");
	report_add_number(html, ended);
	text_add_string(html, " ended while it was made");
	if (failed > 0) {
		text_add_string(html, ", <span class=\"bad\">");
		report_add_number(html, failed);
		text_add_string(html, " of them by an exception or an error of the system</span>");
	}
	text_add_string(html, ".</p>\n");
	if (events->processes_left_out > 0) {
		text_add_string(html, "<p class=\"warning\">The list is limited: at least ");
		report_add_number(html, events->processes_left_out);
		text_add_string(html, " later ones are not in it.</p>\n");
	}
}

void report_add_processes(struct etw_text *html, const struct report *report)
{
	struct node *nodes = make_tree(&report->events);

	html->failed |= nodes == NULL;
	if (!nodes) {
		return;
	}
	add_summary(html, &report->events);
	text_add_string(
		html,
		"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
		"aria-labelledby=\"processes-title\">\n<table class=\"processes\">\n"
		"<caption>Each process below the one that started it; times in "
		"UTC</caption>\n<thead><tr><th scope=\"col\">Process<th scope=\"col\">Lifetime"
		"<th scope=\"col\" class=\"n\">Started<th scope=\"col\" class=\"n\">Ended"
		"<th scope=\"col\" class=\"n\">Exit status<th scope=\"col\" class=\"n\">Id\n"
		"<tbody>\n");
	add_rows(html, report, nodes);
	text_add_string(html, "</table>\n</div>\n");
	free(nodes);
}
