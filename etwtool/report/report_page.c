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
#include "etwtool/report/report.h"
#include "exporter/version.h"

struct page {
	struct etw_text *html;
	const struct report *report;
	struct report_colours colours;
};

/* ---- sections ---- */

static void add_written_files(struct page *page)
{
	report_add_files(page->html, page->report, REPORT_WRITTEN, "etw_file_written_bytes_total",
			 "Most written files");
}

static void add_read_files(struct page *page)
{
	report_add_files(page->html, page->report, REPORT_READ, "etw_file_read_bytes_total",
			 "Most read files");
}

static void add_processes(struct page *page)
{
	report_add_processes(page->html, page->report);
}

static void add_lacks(struct page *page)
{
	report_add_unfed(page->html, page->report);
}

/* The charts of a section are those of its id in report_charts. */
static const struct section {
	const char *id, *title, *intro;
	const char *collector;          /* that counts what it is about; NULL: always has content */
	void (*add)(struct page *page); /* behind the charts; NULL: nothing */
} sections[] = {
	{ "writes", "Who wrote what, and when",
	  "Bytes that programs ask to write to files, into the cache as well. Pipes and mail slots "
	  "count like files; by volume they are rows of their own.",
	  "file", add_written_files },
	{ "reads", "Who read what",
	  "Bytes that programs ask to read from files, out of the cache as well. Pipes and mail slots "
	  "count like files; by volume they are rows of their own.",
	  "file", add_read_files },
	{ "disks", "Disks", "What reached the disks, and how long they took for it.", "disk",
	  NULL },
	{ "network", "Network", "Payload of TCP and UDP, without headers of packets.", "network",
	  NULL },
	{ "cpu", "CPU and waits", "Who used the processors, and what threads waited for.", "sched",
	  NULL },
	{ "drivers", "Drivers",
	  "Time of the processors in deferred procedure calls and interrupts.", "interrupt", NULL },
	{ "dotnet", ".NET", "Garbage collections, locks and exceptions of .NET programs.", "dotnet",
	  NULL },
	{ "processes", "Processes", NULL, "process", add_processes },
	{ "lacks", "What the recording lacks",
	  "These were not recorded, or nothing of the kind happened. <code>etwtool doctor "
	  "FILE</code> has command lines that record them, and writes a profile for Windows "
	  "Performance Recorder.",
	  NULL, add_lacks },
	{ "events", "All events", "What was recorded at all.", NULL, NULL },
};

enum { SECTION_COUNT = sizeof sections / sizeof sections[0] };

static bool is_of(size_t chart, const struct section *section)
{
	return report_charts[chart].section &&
	       strcmp(report_charts[chart].section, section->id) == 0;
}

static bool has_content(const struct page *page, const struct section *section)
{
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (is_of(i, section) && page->report->charted.series[i].total > 0) {
			return true;
		}
	}
	return !section->collector ||
	       (section->add == add_processes && page->report->events.process_count > 0);
}

static void begin_section(struct etw_text *html, const struct section *section)
{
	text_add_format(
		html,
		"<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
		section->id, section->id, section->id, section->title);
}

static void add_section(struct page *page, const struct section *section)
{
	begin_section(page->html, section);
	if (section->intro) {
		text_add_format(page->html, "<p class=\"note\">%s</p>\n", section->intro);
	}
	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		if (is_of(i, section) && page->report->charted.series[i].total > 0) {
			report_add_chart(page->html, page->report, &page->colours, i);
		}
	}
	if (section->add) {
		section->add(page);
	}
	text_add_string(page->html, "</section>\n");
}

/* Those with something in them first. */
static void add_sections(struct page *page)
{
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		if (has_content(page, &sections[i])) {
			add_section(page, &sections[i]);
		}
	}
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		if (!has_content(page, &sections[i])) {
			begin_section(page->html, &sections[i]);
			report_add_how(page->html, page->report, sections[i].collector);
			text_add_string(page->html, "</section>\n");
		}
	}
}

static void add_contents(struct page *page)
{
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		text_add_format(page->html, "<li><a href=\"#%s\">%s</a>%s</li>\n", sections[i].id,
				sections[i].title,
				has_content(page, &sections[i]) ?
					"" :
					" <span class=\"off\">nothing</span>");
	}
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

static void add_facts(struct page *page)
{
	report_add_facts(page->html, page->report);
}

static void add_glance(struct page *page)
{
	report_add_glance(page->html, page->report, &page->colours);
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

void report_add_page(struct etw_text *html, const struct report *report)
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
