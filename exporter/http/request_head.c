/* SPDX-License-Identifier: MIT */
/*
 * Checks the head of a request strictly.
 *
 * A head ends with the first empty line. Until that arrives, only the first bytes are checked:
 * bytes that cannot begin a request, such as a TLS record, are refused at once instead of after the
 * deadline. The search for the end reads every byte once, however the bytes are divided into
 * packets.
 *
 * A whole head is then read line by line. Lines end with CRLF and nothing else; a CR or LF alone, a
 * NUL and other control characters are refused everywhere, and so is a line that continues the line
 * before it. The request line is three words with one blank between them. Field names are tokens
 * followed directly by a colon.
 *
 * The length of the request must be unambiguous (RFC 9112, section 6.3): one Content-Length of
 * digits alone, or "Transfer-Encoding: chunked" in HTTP/1.1, and not both. No page reads a body, so
 * a body only means that the connection cannot be used for another request.
 *
 * The target is in origin form ("/metrics?x"). The absolute form ("http://host/metrics") must be
 * accepted (section 3.2.2): its host is ignored, as the Host header is, and removed. The asterisk
 * form is valid for OPTIONS alone and means the server as a whole; only single pages answer
 * OPTIONS, so it is refused with 405.
 */
#include "exporter/http/connection.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* ---- characters ---- */

/* RFC 9110, section 5.6.2 */
static bool is_token_character(char c)
{
	return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_visible(char c)
{
	return c > ' ' && c < '\x7f';
}

/* A value may have blanks, tabs, and bytes beyond ASCII (obs-text). */
static bool is_value_character(char c)
{
	return (unsigned char)c >= 0x80 || is_visible(c) || c == ' ' || c == '\t';
}

/* ---- parts of a head ---- */

struct text_range {
	const char *at;
	size_t size;
};

static bool range_is(struct text_range range, const char *text)
{
	return text_equal_nocase(range.at, range.size, text, strlen(text));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct text_range trimmed(const char *at, const char *end)
{
	while (at < end && is_blank(*at)) {
		at++;
	}
	while (at < end && is_blank(end[-1])) {
		end--;
	}
	return (struct text_range){ at, (size_t)(end - at) };
}

/* Returns whether a list such as "keep-alive, Upgrade" has a word. */
static bool list_has(struct text_range list, const char *word)
{
	const char *at = list.at, *end = list.at + list.size;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;

		if (range_is(trimmed(at, stop), word)) {
			return true;
		}
		at = comma ? comma + 1 : end;
	}
	return false;
}

/* The facts collected from the lines of a head. */
struct head_facts {
	struct text_range method, target;
	bool http_1_0;
	unsigned fields;
	bool has_host, has_length, has_coding, has_close;
	bool has_content; /* Content-Length is above 0 */
};

/* These functions return 0, or the status with which the request is refused. */

static int read_version(struct text_range version, struct head_facts *facts)
{
	const char *at = version.at;

	if (version.size != 8 || memcmp(at, "HTTP/", 5) != 0 || at[5] < '0' || at[5] > '9' ||
	    at[6] != '.' || at[7] < '0' || at[7] > '9') {
		return 400;
	}
	facts->http_1_0 = at[5] == '1' && at[7] == '0';
	return at[5] == '1' ? 0 : 505;
}

static int read_request_line(const char *at, const char *end, struct head_facts *facts)
{
	const char *first = memchr(at, ' ', (size_t)(end - at));
	const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;

	if (!second) {
		return 400;
	}
	facts->method = (struct text_range){ at, (size_t)(first - at) };
	facts->target = (struct text_range){ first + 1, (size_t)(second - first - 1) };
	for (const char *c = at; c < first; c++) {
		if (!is_token_character(*c)) {
			return 400;
		}
	}
	for (const char *c = first + 1; c < second; c++) {
		if (!is_visible(*c)) {
			return 400;
		}
	}
	if (facts->method.size == 0 || facts->target.size == 0) {
		return 400;
	}
	return read_version((struct text_range){ second + 1, (size_t)(end - second - 1) }, facts);
}

static int read_length(struct text_range value, struct head_facts *facts)
{
	enum { DIGITS_MAX = 18 }; /* numbers of 18 digits fit into 64 bits */

	if (facts->has_length || value.size == 0) {
		return 400;
	}
	for (size_t i = 0; i < value.size; i++) {
		if (value.at[i] < '0' || value.at[i] > '9') {
			return 400;
		}
		facts->has_content |= value.at[i] != '0';
	}
	facts->has_length = true;
	return value.size <= DIGITS_MAX ? 0 : 413;
}

static int read_host(struct text_range value, struct head_facts *facts)
{
	if (facts->has_host) {
		return 400;
	}
	facts->has_host = true;
	for (size_t i = 0; i < value.size; i++) {
		if (!is_visible(value.at[i]) || strchr("\"#/<>?@\\^`{|}", value.at[i])) {
			return 400;
		}
	}
	return 0;
}

static int read_field(const char *at, const char *end, struct head_facts *facts)
{
	const char *colon = at;
	struct text_range name, value;

	while (colon < end && is_token_character(*colon)) {
		colon++;
	}
	/* This also refuses a line that begins with a blank, and a blank before the colon (sections
	 * 5.1, 5.2). */
	if (colon == at || colon == end || *colon != ':') {
		return 400;
	}
	for (const char *c = colon + 1; c < end; c++) {
		if (!is_value_character(*c)) {
			return 400;
		}
	}
	if (++facts->fields > REQUEST_HEADERS_MAX) {
		return 431;
	}
	name = (struct text_range){ at, (size_t)(colon - at) };
	value = trimmed(colon + 1, end);
	if (range_is(name, "Host")) {
		return read_host(value, facts);
	}
	if (range_is(name, "Content-Length")) {
		return read_length(value, facts);
	}
	if (range_is(name, "Transfer-Encoding")) {
		if (facts->has_coding || !range_is(value, "chunked")) {
			return 400;
		}
		facts->has_coding = true;
	} else if (range_is(name, "Connection")) {
		facts->has_close |= list_has(value, "close");
	}
	return 0;
}

/* Checks rules that concern the head as a whole. */
static int check(const struct head_facts *facts)
{
	if (facts->has_coding && (facts->has_length || facts->http_1_0)) {
		return 400;
	}
	if (!facts->http_1_0 && !facts->has_host) {
		return 400;
	}
	if (facts->target.at[0] != '*') {
		return 0;
	}
	return range_is(facts->method, "OPTIONS") && facts->target.size == 1 ? 405 : 400;
}

/* ---- the target ---- */

/* Returns the size in bytes of "http://host:port" at the begin of a target; 0 if the target does
 * not begin so. */
static size_t authority_size(struct text_range target)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		size_t scheme = strlen(schemes[i]), size = scheme;

		if (!text_starts_nocase(target.at, target.size, schemes[i], scheme)) {
			continue;
		}
		while (size < target.size && !strchr("/?#", target.at[size])) {
			size++;
		}
		return size > scheme ? size : 0;
	}
	return 0;
}

/*
 * Turns the absolute form of a target into the origin form: moves the method to the right over the
 * removed bytes, so that the head begins later. Returns 0, or the status with which the request is
 * refused.
 */
static int make_origin_form(char *bytes, const struct head_facts *facts, struct request_head *head)
{
	size_t taken_out;
	bool has_path;

	head->target_begin = (size_t)(facts->target.at - bytes);
	head->target_end = head->target_begin + facts->target.size;
	if (memchr(facts->target.at, '#', facts->target.size)) {
		return 400;
	}
	if (bytes[head->target_begin] == '/') {
		return 0;
	}
	taken_out = authority_size(facts->target);
	if (taken_out == 0) {
		return 400;
	}
	has_path = bytes[head->target_begin + taken_out] == '/';
	if (!has_path) {
		bytes[head->target_begin + --taken_out] = '/';
	}
	memmove(bytes + head->begin + taken_out, bytes + head->begin,
		head->target_begin - head->begin);
	head->begin += taken_out;
	head->target_begin += taken_out;
	return 0;
}

/* ---- the whole ---- */

/* Returns the end of the line that begins at *at, and moves *at past its CRLF. Returns NULL if the
 * line does not end with CRLF. */
static const char *next_line(const char **at, const char *end)
{
	const char *line = *at;
	const char *cr = memchr(line, '\r', (size_t)(end - line));

	if (!cr || cr + 1 >= end || cr[1] != '\n') {
		return NULL;
	}
	*at = cr + 2;
	return cr;
}

static enum head_result refuse(struct request_head *head, int status)
{
	head->status = status;
	return HEAD_REFUSED;
}

static enum head_result read_whole(char *bytes, struct request_head *head)
{
	const char *at = bytes + head->begin, *end = bytes + head->end;
	const char *line = at, *line_end = next_line(&at, end);
	struct head_facts facts = { .fields = 0 };
	int status = line_end ? read_request_line(line, line_end, &facts) : 400;

	while (status == 0) {
		line = at;
		line_end = next_line(&at, end);
		if (line_end == line) {
			break;
		}
		status = line_end ? read_field(line, line_end, &facts) : 400;
	}
	status = status ? status : check(&facts);
	if (status == 0) {
		for (char *c = bytes + head->begin; c < end; c++) {
			*c = *c == '\t' ? ' ' : *c;
		}
		status = make_origin_form(bytes, &facts, head);
	}
	if (status != 0) {
		return refuse(head, status);
	}
	head->has_body = facts.has_coding || facts.has_content;
	head->keep_alive = !facts.http_1_0 && !facts.has_close;
	return HEAD_WHOLE;
}

enum head_result request_head_read(char *bytes, size_t size, size_t *seen,
				   struct request_head *head)
{
	*head = (struct request_head){ .begin = 0 };
	/* An empty line before the request is ignored (section 2.2). */
	if (size > 0 && bytes[0] == '\r') {
		if (size > 1 && bytes[1] != '\n') {
			return refuse(head, 400);
		}
		head->begin = 2;
	}
	if (size > head->begin && !is_token_character(bytes[head->begin])) {
		return refuse(head, 400);
	}
	for (size_t i = *seen > head->begin ? *seen : head->begin; i < size; i++) {
		if (bytes[i] != '\n' || i < head->begin + 3) {
			continue;
		}
		/* If a line ended with LF alone, the end of the head would not be found before the
		 * deadline. */
		if (bytes[i - 1] != '\r') {
			return refuse(head, 400);
		}
		if (bytes[i - 2] == '\n') {
			head->end = i + 1;
			return head->end - head->begin <= REQUEST_HEAD_SIZE_MAX ?
				       read_whole(bytes, head) :
				       refuse(head, 431);
		}
	}
	*seen = size;
	if (size - (size < head->begin ? size : head->begin) < REQUEST_HEAD_SIZE_MAX) {
		return HEAD_PARTIAL;
	}
	return refuse(head, memchr(bytes, '\n', size) ? 431 : 414);
}
