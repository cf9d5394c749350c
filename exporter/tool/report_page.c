/* SPDX-License-Identifier: MIT */
/*
 * The page of etwtool report: page/report.html with its fields filled in.
 *
 * A field is a name in double braces, and a row of the table below adds its text. Every chart has a
 * table with the same numbers, written here, so the page can be read without JavaScript; the script
 * (page/report_script.js) draws the charts above their tables, from the data block
 * (report_data.c). The page is one file that loads nothing: style and script stand in it. Its
 * Content Security Policy allows only these, by their hashes, so a name of a process or file that
 * gets into the page as markup by some mistake could still not run, load or send anything.
 *
 * Nothing on the page depends on when or where it was made: the same recording gives the same
 * bytes.
 */
#include <assert.h>
#include <string.h>

#include "base/html.h"
#include "config/builtin.h"
#include "source/clock.h"
#include "source/event_record.h"
#include "tool/report.h"
#include "tool/utc.h"
#include "version.h"

enum { NO_COLOUR = REPORT_COLOURS };

struct page {
	struct text *html;
	const struct report *report;
	struct report_colours colours;
};

/* ---- the table of a chart ---- */

static void add_swatch(struct text *html, uint8_t colour)
{
	text_add_string(html, "<svg class=\"swatch\" aria-hidden=\"true\" viewBox=\"0 0 14 14\">"
			      "<rect class=\"");
	if (colour < REPORT_COLOURS) {
		text_add_format(html, "c%u", colour);
	} else {
		text_add_string(html, "rest");
	}
	text_add_string(html, "\" width=\"14\" height=\"14\"/></svg>");
}

static void add_share(struct text *html, uint64_t part, uint64_t whole)
{
	double share = whole > 0 ? 100 * (double)part / (double)whole : 0;

	text_add_format(html, "<td class=\"n\">%s%.*f %%", share > 0 && share < 0.05 ? "< " : "",
			share < 9.95 ? 1 : 0, share > 0 && share < 0.05 ? 0.1 : share);
}

/* The step in which rows together grew most, and by how much; the first of several. */
static uint64_t find_peak(const struct page *page, const struct report_series *series, size_t first,
			  size_t end, unsigned *step)
{
	uint64_t most = 0;

	*step = 0;
	for (unsigned i = 0; i <= page->report->charted.steps.current; i++) {
		uint64_t sum = 0;

		for (size_t j = first; j < end; j++) {
			sum = count_sum(sum, report_growth(&series->rows[j], i));
		}
		if (sum > most) {
			most = sum;
			*step = i;
		}
	}
	return most;
}

/* The time over which a mean is taken: that of the recording, but at least a step, or the mean
 * would be above the peak. */
static uint64_t mean_time(const struct report_steps *steps)
{
	uint64_t time = time_between(steps->first, steps->last);

	return time > (uint64_t)steps->step ? time : (uint64_t)steps->step;
}

/* Total, share, rates and the time of the peak of some rows together. */
static void add_cells(struct page *page, size_t chart, size_t first, size_t end)
{
	const struct report_series *series = &page->report->charted.series[chart];
	const struct report_steps *steps = &page->report->charted.steps;
	enum report_unit unit = report_charts[chart].unit;
	uint64_t total = 0, most;
	unsigned step;

	for (size_t i = first; i < end; i++) {
		total = count_sum(total, series->rows[i].total);
	}
	most = find_peak(page, series, first, end, &step);
	text_add_string(page->html, "<td class=\"n\">");
	report_add_value(page->html, unit, total);
	add_share(page->html, total, series->total);
	text_add_string(page->html, "<td class=\"n\">");
	report_add_rate(page->html, &report_charts[chart], most, (uint64_t)steps->step);
	text_add_string(page->html, "<td class=\"n\">");
	report_add_clock(page->html, page->report, steps->origin + (int64_t)step * steps->step);
	text_add_string(page->html, "<td class=\"n\">");
	report_add_rate(page->html, &report_charts[chart], total, mean_time(steps));
	text_add_char(page->html, '\n');
}

static void add_head(struct page *page, size_t chart)
{
	const struct report_chart *row = &report_charts[chart];

	text_add_format(page->html,
			"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
			"aria-labelledby=\"c%zu\">\n<table class=\"rows\">\n<caption>From "
			"<code>%s</code></caption>\n<thead><tr><th scope=\"col\">%c%s"
			"<th scope=\"col\" class=\"n\">Total<th scope=\"col\" class=\"n\">Share"
			"<th scope=\"col\" class=\"n\">Peak<th scope=\"col\" class=\"n\">at (UTC)"
			"<th scope=\"col\" class=\"n\">Mean\n<tbody>\n",
			chart, row->sample, row->label[0] - 'a' + 'A', row->label + 1);
}

static void add_stack_table(struct page *page, size_t chart)
{
	const struct report_series *series = &page->report->charted.series[chart];
	size_t rows = report_rows(series);
	size_t shown = rows <= REPORT_TABLE_ROWS ? rows : REPORT_TABLE_ROWS - 1;
	struct text *html = page->html;

	add_head(page, chart);
	for (size_t i = 0; i < shown; i++) {
		text_add_format(html, "<tr data-row=\"%zu\"><th scope=\"row\">", i);
		add_swatch(html, i < REPORT_DRAWN ? page->colours.rows[chart][i] : NO_COLOUR);
		text_add_string(html, "<bdi>");
		text_add_html(html,
			      series->rows[i].name[0] != '\0' ? series->rows[i].name : "(empty)");
		text_add_string(html, "</bdi>");
		add_cells(page, chart, i, i + 1);
	}
	if (shown < rows) {
		text_add_string(html, "<tr><th scope=\"row\">");
		add_swatch(html, NO_COLOUR);
		report_add_number(html, rows - shown);
		text_add_string(html, " more");
		add_cells(page, chart, shown, rows);
	}
	if (rows > 1) {
		text_add_string(html, "<tr class=\"sum\"><th scope=\"row\">All");
		add_cells(page, chart, 0, rows);
	}
	text_add_string(html, "</table>\n</div>\n");
}

/* "0.000512" as "0.512 ms" */
static void add_bound(struct text *html, const char *le)
{
	uint64_t ns = 0;
	const char *point = strchr(le, '.');

	if (strcmp(le, "+Inf") == 0) {
		text_add_string(html, "longer");
		return;
	}
	parse_u64(le, point ? (size_t)(point - le) : strlen(le), &ns);
	for (size_t i = 0; i < 9; i++) {
		char digit = point && point[1] >= '0' ? *++point : '0';

		ns = ns * 10 + (uint64_t)(digit - '0');
	}
	text_add_string(html, "up to ");
	report_add_value(html, REPORT_SECONDS, ns);
}

static void add_bucket_table(struct page *page, size_t chart)
{
	const struct report_series *series = &page->report->charted.series[chart];
	struct text *html = page->html;
	uint64_t below = 0;

	text_add_format(html,
			"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
			"aria-labelledby=\"c%zu\">\n<table class=\"rows\">\n<caption>From "
			"<code>%s</code></caption>\n<thead><tr><th scope=\"col\">Response time"
			"<th scope=\"col\" class=\"n\">Requests<th scope=\"col\" class=\"n\">Share"
			"<th scope=\"col\" class=\"n\">of all, no longer\n<tbody>\n",
			chart, report_charts[chart].sample);
	for (size_t i = 0; i < report_rows(series); i++) {
		if (series->rows[i].total == 0) {
			continue;
		}
		below += series->rows[i].total;
		text_add_string(html, "<tr><th scope=\"row\">");
		add_bound(html, series->rows[i].name);
		text_add_string(html, "<td class=\"n\">");
		report_add_number(html, series->rows[i].total);
		add_share(html, series->rows[i].total, series->total);
		add_share(html, below, series->total);
		text_add_char(html, '\n');
	}
	text_add_string(html, "</table>\n</div>\n");
}

static void add_chart(struct page *page, size_t chart)
{
	text_add_format(page->html,
			"<div class=\"plot\" data-chart=\"%zu\">\n<h3 id=\"c%zu\">%s</h3>\n", chart,
			chart, report_charts[chart].title);
	if (report_charts[chart].form == REPORT_STACK) {
		add_stack_table(page, chart);
	} else {
		add_bucket_table(page, chart);
	}
	text_add_string(page->html, "</div>\n");
}

/* ---- files ---- */

static void add_files(struct page *page, enum report_direction direction, const char *sample,
		      const char *title)
{
	const struct report_series *all = report_find(&page->report->charted, sample);
	struct report_file files[REPORT_FILES];
	size_t count = report_files(&page->report->events, direction, files);
	struct text *html = page->html;
	bool exact = true;

	if (count == 0) {
		return;
	}
	text_add_format(
		html,
		"<div class=\"plot\">\n<h3 id=\"f%d\">%s</h3>\n<div class=\"scroll\" "
		"role=\"region\" tabindex=\"0\" aria-labelledby=\"f%d\">\n"
		"<table class=\"files\">\n<caption>At most %d, by the process, without paging "
		"I/O</caption>\n<thead><tr><th scope=\"col\">File<th scope=\"col\">"
		"Process<th scope=\"col\" class=\"n\">Total<th scope=\"col\" class=\"n\">Share\n<tbody>\n",
		(int)direction, title, (int)direction, REPORT_FILES);
	for (size_t i = 0; i < count; i++) {
		exact = exact && files[i].error == 0;
		text_add_string(html, "<tr><th scope=\"row\"><bdi>");
		text_add_html(html, files[i].path);
		text_add_string(html, "</bdi><td><bdi>");
		text_add_html(html, files[i].process);
		text_add_format(html, "</bdi><td class=\"n\">%s", files[i].error > 0 ? "≥ " : "");
		report_add_value(html, REPORT_BYTES, files[i].bytes);
		add_share(html, files[i].bytes, all->total);
		text_add_char(html, '\n');
	}
	text_add_string(html, "</table>\n</div>\n");
	if (!exact) {
		text_add_string(html,
				"<p class=\"note\">There are more files than the report counts "
				"one by one: a value with ≥ may be higher.</p>\n");
	}
	text_add_string(html, "</div>\n");
}

static void add_written_files(struct page *page)
{
	add_files(page, REPORT_WRITTEN, "etw_file_written_bytes_total", "Most written files");
}

static void add_read_files(struct page *page)
{
	add_files(page, REPORT_READ, "etw_file_read_bytes_total", "Most read files");
}

static void add_processes(struct page *page)
{
	report_add_processes(page->html, page->report);
}

static void add_lacks(struct page *page)
{
	report_add_unfed(page->html, page->report);
}

/* ---- sections ---- */

static const struct {
	const char *id, *title, *intro;
	void (*add)(struct page *page); /* behind the charts; NULL: nothing */
} sections[] = {
	{ "writes", "Who wrote what, and when",
	  "Bytes that programs ask to write to files, into the cache as well.", add_written_files },
	{ "reads", "Who read what",
	  "Bytes that programs ask to read from files, out of the cache as well.", add_read_files },
	{ "disks", "Disks", "What reached the disks, and how long they took for it.", NULL },
	{ "network", "Network", "Payload of TCP and UDP, without headers of packets.", NULL },
	{ "cpu", "CPU and waits", "Who used the processors, and what threads waited for.", NULL },
	{ "drivers", "Drivers",
	  "Time of the processors in deferred procedure calls and interrupts.", NULL },
	{ "dotnet", ".NET", "Garbage collections, locks and exceptions of .NET programs.", NULL },
	{ "processes", "Processes", NULL, add_processes },
	{ "lacks", "What the recording lacks",
	  "A chart that is missing above had no events: they were not recorded, or did not happen.",
	  add_lacks },
	{ "events", "All events", "What was recorded at all.", NULL },
};

enum { SECTION_COUNT = sizeof sections / sizeof sections[0] };

static bool is_of(size_t chart, const char *section)
{
	return report_charts[chart].section && strcmp(report_charts[chart].section, section) == 0;
}

static bool has_content(const struct page *page, size_t section)
{
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (is_of(i, sections[section].id) && page->report->charted.series[i].total > 0) {
			return true;
		}
	}
	return sections[section].add == add_lacks ||
	       (sections[section].add == add_processes && page->report->events.process_count > 0);
}

static void add_section(struct page *page, size_t section)
{
	text_add_format(
		page->html,
		"<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
		sections[section].id, sections[section].id, sections[section].id,
		sections[section].title);
	if (sections[section].intro) {
		text_add_format(page->html, "<p class=\"note\">%s</p>\n", sections[section].intro);
	}
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (is_of(i, sections[section].id) && page->report->charted.series[i].total > 0) {
			add_chart(page, i);
		}
	}
	if (sections[section].add) {
		sections[section].add(page);
	}
	text_add_string(page->html, "</section>\n");
}

static void add_sections(struct page *page)
{
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		if (has_content(page, i)) {
			add_section(page, i);
		}
	}
}

static void add_contents(struct page *page)
{
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		if (has_content(page, i)) {
			text_add_format(page->html, "<li><a href=\"#%s\">%s</a></li>\n",
					sections[i].id, sections[i].title);
		}
	}
}

/* ---- at a glance ---- */

/* Who is first in the counters that matter most. */
static void add_glance(struct page *page)
{
	static const struct {
		const char *sample, *what;
	} rows[] = {
		{ "etw_file_written_bytes_total", "Written to files" },
		{ "etw_file_read_bytes_total", "Read from files" },
		{ "etw_disk_process_io_seconds_total", "Time of disk requests" },
		{ "etw_network_sent_bytes_total", "Sent over the network" },
		{ "etw_process_cpu_seconds_total", "CPU time" },
		{ "etw_process_cpu_samples_total", "CPU samples" },
		{ "etw_dpc_duration_seconds_sum", "Time in DPCs" },
		{ "etw_dotnet_gc_pause_seconds_sum", "Pauses of .NET programs" },
	};
	struct text *html = page->html;
	bool open = false;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct report_series *series =
			report_find(&page->report->charted, rows[i].sample);
		size_t chart = (size_t)(series - page->report->charted.series);

		if (series->total == 0) {
			continue;
		}
		if (!open) {
			text_add_string(
				html,
				"<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
				"aria-labelledby=\"glance-title\">\n<table class=\"glance\">\n"
				"<caption>Who was first in what</caption>\n<thead><tr>"
				"<th scope=\"col\">What<th scope=\"col\">First<th scope=\"col\" "
				"class=\"n\">Total<th scope=\"col\" class=\"n\">Share"
				"<th scope=\"col\" class=\"n\">Peak<th scope=\"col\" class=\"n\">at (UTC)"
				"<th scope=\"col\" class=\"n\">Mean\n<tbody>\n");
			open = true;
		}
		text_add_format(html, "<tr><th scope=\"row\"><a href=\"#c%zu\">%s</a><td>", chart,
				rows[i].what);
		add_swatch(html, page->colours.rows[chart][0]);
		text_add_string(html, "<bdi>");
		text_add_html(html, series->rows[0].name);
		text_add_string(html, "</bdi>");
		add_cells(page, chart, 0, 1);
	}
	text_add_string(html,
			open ? "</table>\n</div>\n" :
			       "<p>The recording has no events that the charts are about.</p>\n");
}

/* ---- what, when, where ---- */

static void add_fact(struct text *html, const char *name)
{
	text_add_format(html, "<div><dt>%s</dt><dd>", name);
}

static void add_utc(struct text *html, int64_t time)
{
	char text[UTC_TEXT_SIZE];

	if (!utc_format(time, text)) {
		text_add_string(html, "not known");
		return;
	}
	text_add(html, text, 10);
	text_add_char(html, ' ');
	text_add(html, text + 11, 12);
	text_add_string(html, " UTC");
}

static void add_times(struct page *page)
{
	const struct report_steps *steps = &page->report->charted.steps;
	const struct etl_header *header = page->report->header;
	struct text *html = page->html;

	if (steps->step > 0) {
		add_fact(html, "First event");
		add_utc(html, steps->first);
		text_add_string(html, "</dd></div>\n");
		add_fact(html, "Last event");
		add_utc(html, steps->last);
		text_add_string(html, "</dd></div>\n");
		add_fact(html, "Duration");
		report_add_duration(html, time_between(steps->first, steps->last));
		text_add_string(html, ", in steps of ");
		report_add_duration(html, (uint64_t)steps->step);
		text_add_string(html, "</dd></div>\n");
	}
	add_fact(html, "Session");
	if (header->logger_name[0] != '\0') {
		text_add_string(html, "<bdi>");
		text_add_html(html, header->logger_name);
		text_add_string(html, "</bdi>, ");
	}
	text_add_format(html, "%s, from ", etl_header_mode_name(header));
	add_utc(html, header->start_time);
	text_add_string(html, header->end_time != 0 ? " to " : "; it was not closed");
	if (header->end_time != 0) {
		add_utc(html, header->end_time);
	}
	text_add_string(html, "</dd></div>\n");
}

static void add_machine(struct page *page)
{
	const struct report_machine *machine = &page->report->events.machine;
	const struct etl_header *header = page->report->header;
	struct text *html = page->html;

	add_fact(html, "Machine");
	if (machine->name && machine->name[0] != '\0') {
		text_add_string(html, "<bdi>");
		text_add_html(html, machine->name);
		text_add_string(html, "</bdi>, ");
	}
	text_add_format(html, "Windows %u.%u build %u, ", (unsigned)header->version_major,
			(unsigned)header->version_minor, (unsigned)header->os_build);
	report_add_counted(html, header->processors, "processor");
	if (header->cpu_mhz > 0) {
		text_add_format(html, " of %u MHz", (unsigned)header->cpu_mhz);
	}
	if (machine->memory_mib > 0) {
		text_add_format(html, ", %.1f GiB of memory", (double)machine->memory_mib / 1024);
	}
	text_add_string(html, "</dd></div>\n");
}

static void add_facts(struct page *page)
{
	struct text *html = page->html;

	add_times(page);
	add_machine(page);
	add_fact(html, "Recording");
	report_add_value(html, REPORT_BYTES, page->report->size_bytes);
	text_add_string(html, ", ");
	report_add_counted(html, page->report->charted.steps.records, "event");
	text_add_string(html, "</dd></div>\n");
}

/* ---- fields ---- */

static size_t find_file(const char *name)
{
	size_t i = 0;

	while (i < builtin_report_file_count && strcmp(builtin_report_files[i].name, name) != 0) {
		i++;
	}
	assert(i < builtin_report_file_count);
	return i;
}

/* The files that stand in the page, in this order. */
static const char *const styles[] = { "style", "report_style" };
static const char *const scripts[] = { "chart", "report_script" };

static void add_policy(struct page *page)
{
	text_add_string(page->html, "default-src 'none'; style-src");
	for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
		text_add_format(page->html, " '%s'",
				builtin_report_file_hashes[find_file(styles[i])]);
	}
	text_add_string(page->html, "; script-src");
	for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
		text_add_format(page->html, " '%s'",
				builtin_report_file_hashes[find_file(scripts[i])]);
	}
	text_add_string(page->html, "; base-uri 'none'; form-action 'none'");
}

static void add_styles(struct page *page)
{
	for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++) {
		text_add_format(page->html, "<style>%s</style>\n",
				builtin_report_files[find_file(styles[i])].text);
	}
}

static void add_scripts(struct page *page)
{
	for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
		text_add_format(page->html, "<script>%s</script>\n",
				builtin_report_files[find_file(scripts[i])].text);
	}
}

static void add_name(struct page *page)
{
	text_add_html(page->html, page->report->name);
}

static void add_losses(struct page *page)
{
	report_add_losses(page->html, page->report);
}

static void add_data(struct page *page)
{
	report_add_data(page->html, page->report, &page->colours);
}

static void add_version(struct page *page)
{
	text_add_html(page->html, program_version.number);
}

static const struct {
	const char *name;
	void (*add)(struct page *page);
} fields[] = {
	{ "policy", add_policy }, { "styles", add_styles },     { "scripts", add_scripts },
	{ "name", add_name },     { "facts", add_facts },       { "losses", add_losses },
	{ "glance", add_glance }, { "contents", add_contents }, { "sections", add_sections },
	{ "data", add_data },     { "version", add_version },
};

/* Adds the text of the field at `at`, "{{name}}", and returns its end. */
static const char *add_field(struct page *page, const char *at)
{
	const char *name = at + strlen("{{"), *end = strstr(name, "}}");

	for (size_t i = 0; end && i < sizeof fields / sizeof fields[0]; i++) {
		if (strlen(fields[i].name) == (size_t)(end - name) &&
		    memcmp(fields[i].name, name, (size_t)(end - name)) == 0) {
			fields[i].add(page);
			return end + strlen("}}");
		}
	}
	page->html->failed = true; /* page/report.html has a field without a row */
	return at + strlen(at);
}

void report_add_page(struct text *html, const struct report *report)
{
	struct page page = { .html = html, .report = report };
	const char *at = builtin_report_files[find_file("report")].text, *field;

	report_choose_colours(&page.colours, &report->charted);
	text_add_format(html, REPORT_MARK "%s -->\n", program_version.number);
	while ((field = strstr(at, "{{")) != NULL) {
		text_add(html, at, (size_t)(field - at));
		at = add_field(&page, field);
	}
	text_add_string(html, at);
}
