/* SPDX-License-Identifier: MIT */
/*
 * The page of etwtool report: page/report.html with its fields filled in.
 *
 * A field is a name in double braces, and a row of the table below adds its text. The page is one
 * file that loads nothing. It contains the document (report_json.c), which is its only data about
 * the recording, the style, and the scripts that draw the document. Without JavaScript the page
 * shows the Markdown (report_markdown.c). The Content Security Policy allows only these scripts and
 * styles, by their hashes. So if the name of a process or file became markup by a bug, it could
 * still not run, load or send anything.
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

static const struct builtin_file *find_file(const char *name)
{
	size_t i = 0;

	while (i < builtin_report_file_count && strcmp(builtin_report_files[i].name, name) != 0) {
		i++;
	}
	assert(i < builtin_report_file_count);
	return &builtin_report_files[i];
}

/* The files that the page contains, in this order; the last is NULL. */
static const char *const styles[] = { "style", "report_style", NULL };
static const char *const scripts[] = { "chart", "report_page", "report_script", NULL };

static void add_hashes(struct etw_text *html, const char *const *names)
{
	for (; *names; names++) {
		size_t index = (size_t)(find_file(*names) - builtin_report_files);

		text_add_format(html, " '%s'", builtin_report_file_hashes[index]);
	}
}

static void add_policy(struct etw_text *html, const struct report *report)
{
	(void)report;
	text_add_string(html, "default-src 'none'; style-src");
	add_hashes(html, styles);
	text_add_string(html, "; script-src");
	add_hashes(html, scripts);
	text_add_string(html, "; base-uri 'none'; form-action 'none'");
}

static void add_styles(struct etw_text *html, const struct report *report)
{
	(void)report;
	for (const char *const *name = styles; *name; name++) {
		text_add_format(html, "<style>%s</style>\n", find_file(*name)->text);
	}
}

static void add_scripts(struct etw_text *html, const struct report *report)
{
	(void)report;
	for (const char *const *name = scripts; *name; name++) {
		text_add_format(html, "<script>%s</script>\n", find_file(*name)->text);
	}
}

/*
 * Escapes "<", because nothing else can end a script element or begin a comment in it. In JSON it
 * occurs only inside strings.
 */
static void add_data(struct etw_text *html, const struct report *report)
{
	struct etw_text data = { 0 };

	report_add_json(&data, report, true);
	for (size_t i = 0; i < data.size; i++) {
		if (data.data[i] == '<') {
			text_add_string(html, "\\u003c");
		} else {
			text_add_char(html, data.data[i]);
		}
	}
	html->failed |= data.failed;
	text_free(&data);
}

static void add_markdown(struct etw_text *html, const struct report *report)
{
	struct etw_text text = { 0 };
	char *line, *end;

	report_add_markdown(&text, report);
	/* Lines are added one by one, because text_add_html() would replace line feeds. */
	for (line = text.data; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		text_add_html(html, line);
		text_add_char(html, '\n');
	}
	html->failed |= text.failed;
	text_free(&text);
}

static const struct {
	const char *name;
	void (*add)(struct etw_text *html, const struct report *report);
} fields[] = {
	{ "policy", add_policy }, { "styles", add_styles },     { "scripts", add_scripts },
	{ "data", add_data },     { "markdown", add_markdown },
};

/* Adds the text of the field at `at`, "{{name}}", and returns its end. */
static const char *add_field(struct etw_text *html, const struct report *report, const char *at)
{
	const char *name = at + strlen("{{"), *end = strstr(name, "}}");

	for (size_t i = 0; end && i < sizeof fields / sizeof fields[0]; i++) {
		if (strlen(fields[i].name) == (size_t)(end - name) &&
		    memcmp(fields[i].name, name, (size_t)(end - name)) == 0) {
			fields[i].add(html, report);
			return end + strlen("}}");
		}
	}
	html->failed = true; /* page/report.html has a field without a row */
	return at + strlen(at);
}

void report_add_page(struct etw_text *html, const struct report *report)
{
	const char *at = find_file("report")->text, *field;

	text_add_format(html, REPORT_HTML_MARK "%s -->\n", program_version.number);
	while ((field = strstr(at, "{{")) != NULL) {
		text_add(html, at, (size_t)(field - at));
		at = add_field(html, report, field);
	}
	text_add_string(html, at);
}
