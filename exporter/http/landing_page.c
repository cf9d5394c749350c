/* SPDX-License-Identifier: MIT */
/*
 * Makes the landing page: page/landing.html with its fields filled in.
 *
 * A field is a name in double braces, and a row of the table below adds its text. What the program
 * says about itself (its sources, losses and collectors) comes from callbacks of the options. All
 * of this works without JavaScript; page/script.js adds the chart, with the help of page/chart.js,
 * which the report of a recording has too, and gets its values as JSON. The page loads nothing from
 * elsewhere and has no script or style of its own, so its Content Security Policy can be strict: a
 * name of a process or file that gets into the page as markup by some mistake could still not run,
 * load or send anything.
 */

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "config/builtin.h"
#include "exporter/http/server_internal.h"
#include "exporter/version.h"

/* ---- fields ---- */

static void add_links(struct etw_text *page, const struct http_server *server)
{
	text_add_html(page, server->paths.links);
}

static void add_metrics(struct etw_text *page, const struct http_server *server)
{
	add_links(page, server);
	text_add_html(page, server->paths.telemetry);
}

static void add_version(struct etw_text *page, const struct http_server *server)
{
	(void)server;
	text_add_html(page, program_version.number);
}

static void add_revision(struct etw_text *page, const struct http_server *server)
{
	(void)server;
	text_add_html(page, program_version.revision);
}

static void add_compiler(struct etw_text *page, const struct http_server *server)
{
	(void)server;
	text_add_html(page, program_version.compiler);
}

static void add_arch(struct etw_text *page, const struct http_server *server)
{
	(void)server;
	text_add_html(page, program_version.arch);
}

static void add_uptime(struct etw_text *page, const struct http_server *server)
{
	uint64_t seconds = (os_monotonic_ns() - server->started_ns) / UINT64_C(1000000000);
	uint64_t minutes = seconds / 60, hours = minutes / 60;

	if (hours >= 24) {
		text_add_format(page, "%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
	} else if (hours > 0) {
		text_add_format(page, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	} else if (minutes > 0) {
		text_add_format(page, "%" PRIu64 " min", minutes);
	} else {
		text_add_format(page, "%" PRIu64 " s", seconds);
	}
}

static void add_pages(struct etw_text *page, const struct http_server *server)
{
	for (const struct listed_page *listed = server->listed; listed->path; listed++) {
		text_add_string(page, "<li><a href=\"");
		add_links(page, server);
		text_add_html(page, listed->path);
		text_add_string(page, "\">");
		text_add_html(page, listed->path);
		text_add_string(page, "</a> <span>");
		text_add_html(page, listed->what);
		text_add_string(page, "</span></li>\n");
	}
}

static void add_state(struct etw_text *page, const struct http_server *server)
{
	if (server->options.add_state) {
		server->options.add_state(server->options.state_context, page);
	}
}

static void add_collectors(struct etw_text *page, const struct http_server *server)
{
	struct etw_text metrics = { 0 };

	text_add_string(&metrics, server->paths.links);
	text_add_string(&metrics, server->paths.telemetry);
	page->failed |= metrics.failed;
	if (server->options.add_collectors && !metrics.failed) {
		server->options.add_collectors(server->options.state_context, metrics.data, page);
	}
	text_free(&metrics);
}

static const struct {
	const char *name;
	void (*add)(struct etw_text *page, const struct http_server *server);
} fields[] = {
	{ "links", add_links },           { "metrics", add_metrics },   { "version", add_version },
	{ "revision", add_revision },     { "compiler", add_compiler }, { "arch", add_arch },
	{ "uptime", add_uptime },         { "pages", add_pages },       { "state", add_state },
	{ "collectors", add_collectors },
};

enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

/* Adds the text of the field at `at`, "{{name}}", and returns its end. */
static const char *add_field(struct etw_text *page, const struct http_server *server,
			     const char *at)
{
	const char *name = at + strlen("{{"), *end = strstr(name, "}}");

	for (size_t i = 0; end && i < FIELD_COUNT; i++) {
		if (strlen(fields[i].name) == (size_t)(end - name) &&
		    memcmp(fields[i].name, name, (size_t)(end - name)) == 0) {
			fields[i].add(page, server);
			return end + strlen("}}");
		}
	}
	page->failed = true; /* page/landing.html has a field without a row */
	return at + strlen(at);
}

/* ---- answers ---- */

/* Returns the text of a file of page/ by its name without extension. */
static const char *file_text(const char *name)
{
	size_t i = 0;

	while (i < builtin_web_file_count && strcmp(builtin_web_files[i].name, name) != 0) {
		i++;
	}
	assert(i < builtin_web_file_count);
	return builtin_web_files[i].text;
}

int landing_page_answer(struct http_server *server, const struct http_request *request)
{
	static const char headers[] =
		"Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
		"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
		"frame-ancestors 'none'\r\n"
		"Referrer-Policy: no-referrer\r\n"
		"Cache-Control: no-store\r\n";
	const char *at = file_text("landing"), *field;
	struct etw_text page = { 0 };
	int status = 200;

	while ((field = strstr(at, "{{")) != NULL) {
		text_add(&page, at, (size_t)(field - at));
		at = add_field(&page, server, field);
	}
	text_add_string(&page, at);
	if (page.failed) {
		status = answer_status(request, 500, "");
	} else {
		answer(request, status, "text/html; charset=utf-8", headers, page.data);
	}
	text_free(&page);
	return status;
}

static int answer_text(const struct http_request *request, const char *text, const char *type)
{
	/* Browsers must ask again, because another version of the program may have another file at
	 * this address. */
	answer(request, 200, type, "Cache-Control: no-cache\r\n", text);
	return 200;
}

static int answer_file(const struct http_request *request, const char *name, const char *type)
{
	return answer_text(request, file_text(name), type);
}

int landing_page_style(struct http_server *server, const struct http_request *request)
{
	(void)server;
	return answer_file(request, "style", "text/css; charset=utf-8");
}

/* Answers with one script: first the part shared with the report of a recording, then the page's
 * own. */
int landing_page_script(struct http_server *server, const struct http_request *request)
{
	struct etw_text script = { 0 };
	int status;

	(void)server;
	text_add_string(&script, file_text("chart"));
	text_add_string(&script, file_text("script"));
	status = script.failed ?
			 answer_status(request, 500, "") :
			 answer_text(request, script.data, "text/javascript; charset=utf-8");
	text_free(&script);
	return status;
}

int landing_page_icon(struct http_server *server, const struct http_request *request)
{
	(void)server;
	return answer_file(request, "icon", "image/svg+xml");
}

int landing_page_history(struct http_server *server, const struct http_request *request)
{
	struct etw_text json = { 0 };
	int status = 200;

	if (!server->options.add_history) {
		return answer_status(request, 404, "");
	}
	server->options.add_history(server->options.state_context, &json);
	if (json.failed) {
		status = answer_status(request, 500, "");
	} else {
		answer(request, status, "application/json", "Cache-Control: no-store\r\n",
		       json.data);
	}
	text_free(&json);
	return status;
}
