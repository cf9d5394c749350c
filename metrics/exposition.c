/* SPDX-License-Identifier: MIT */
/*
 * Renders a registry in the text formats: Prometheus 0.0.4 and OpenMetrics 1.0. protobuf.c has the
 * third format.
 *
 * A line is a prefix, which was rendered when its sample was made, and a number. The value of a
 * sample is the sum of its cells in all shards. A histogram has several lines for each prefix, and
 * its buckets are cumulated here. Hidden gauges and evicted samples are left out.
 *
 * OpenMetrics has the same lines, with these differences: the head of a family names a counter
 * without `_total` and has a unit; `le` has other numbers; `_created` shows when a sample was made;
 * the last line is `# EOF`. A metric that ends in `_info` stays a gauge, as in the client libraries
 * of Prometheus: the type info would give the metadata another name in each format.
 *
 * The families of a page are chosen at its start, under the mutex of the registry (visit.c); the
 * walk over their samples (visit.c) takes no lock. From scrape_begin() to scrape_end() prefixes
 * stay valid, and cells belong to the prefix that was read before them. Lines are written into a
 * chunk, which is passed to the sink when the longest possible line would not fit any more.
 *
 * Source: "OpenMetrics 1.0" and "Exposition formats", prometheus.io.
 */
#include "metrics/exposition.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "metrics/exposition_internal.h"

/* ---- chunks ---- */

static void flush(struct page *page)
{
	size_t size = (size_t)(page->at - page->start);

	if (!page->refused && size > 0) {
		page->refused = !page->sink(page->context, page->start, size);
	}
	page->at = page->start;
}

/* Returns where to write a line of at most LINE_SIZE_MAX bytes. It sends a full chunk first. */
static inline char *line_start(struct page *page)
{
	if (page->at >= page->start + CHUNK_SIZE) {
		flush(page);
	}
	return page->at;
}

static void page_add(struct page *page, const char *text, size_t size)
{
	while (size > 0) {
		char *to = line_start(page);
		size_t part = size < LINE_SIZE_MAX ? size : LINE_SIZE_MAX;

		memcpy(to, text, part);
		page->at = to + part;
		text += part;
		size -= part;
	}
}

static void page_add_string(struct page *page, const char *string)
{
	page_add(page, string, strlen(string));
}

/* ---- heads of families ---- */

static bool is_openmetrics(const struct exposition_options *options)
{
	return options->format == EXPOSITION_OPENMETRICS_0_0_1 ||
	       options->format == EXPOSITION_OPENMETRICS_1_0_0;
}

/* Returns whether OpenMetrics accepts the family as a counter: the name of its sample must end in
 * `_total`. */
static bool is_openmetrics_counter(const struct family *family)
{
	return family->type == FAMILY_COUNTER && family_base_size(family) < family->name_size;
}

/* Writes the start of a head line for OpenMetrics, "# TYPE name ". */
static void add_head_line(struct page *page, const struct family *family, const char *keyword)
{
	page_add_string(page, keyword);
	page_add(page, family->name, family_base_size(family));
	page_add(page, " ", 1);
}

/* Writes the help for OpenMetrics. The stored help, of the text format, escapes everything
 * except the double quote. */
static void add_openmetrics_help(struct page *page, const struct family *family)
{
	size_t size;
	const char *help = family_help(family, &size), *end = help + size, *quote;

	while ((quote = memchr(help, '"', (size_t)(end - help))) != NULL) {
		page_add(page, help, (size_t)(quote - help));
		page_add_string(page, "\\\"");
		help = quote + 1;
	}
	page_add(page, help, (size_t)(end - help));
}

static void add_head(struct page *page, const struct family *family)
{
	const char *unit = family_unit(family);
	bool unknown = family->type == FAMILY_COUNTER && !is_openmetrics_counter(family);

	if (!is_openmetrics(page->options)) {
		page_add(page, family->head, family->head_size);
		return;
	}
	add_head_line(page, family, "# HELP ");
	add_openmetrics_help(page, family);
	page_add(page, "\n", 1);
	add_head_line(page, family, "# TYPE ");
	page_add_string(page, unknown ? "unknown" : family_type_name(family->type));
	page_add(page, "\n", 1);
	if (unit) {
		add_head_line(page, family, "# UNIT ");
		page_add_string(page, unit);
		page_add(page, "\n", 1);
	}
}

/* ---- lines ---- */

/*
 * Writes `name_created{a="x",b="y"} 1700000000.123`. start: the text from the brace to the first
 * value of a label; labels: the rest, with the blank before the number.
 */
static void put_created(struct page *page, const struct rows *rows, uint32_t index,
			const char *start, size_t start_size, const char *labels,
			size_t labels_size)
{
	const struct family *family = rows->family;
	char *to = copy(line_start(page), family->name, family_base_size(family));

	to = copy(to, "_created", strlen("_created"));
	to = copy(to, start, start_size);
	to = copy(to, labels, labels_size);
	to = put_scaled(to, created_ms(rows, index), 3);
	*to++ = '\n';
	page->at = to;
}

static inline void counter_lines(struct page *page, struct rows *rows, unsigned decimals)
{
	const struct family *family = rows->family;
	const char *start = family->common;
	size_t start_size = family->common_size, name_size = family->name_size;

	for (uint32_t i = 0; i < rows->count; i++) {
		size_t size;
		const char *prefix = row_prefix(rows, i, &size);
		char *to;

		if (!prefix) {
			continue;
		}
		to = copy_blocks(line_start(page), start, start_size);
		to = copy(to, prefix, size);
		to = put_scaled(to, sum_at(&rows->columns, i), decimals);
		*to++ = '\n';
		page->at = to;
		if (rows->created) {
			put_created(page, rows, i, start + name_size, start_size - name_size,
				    prefix, size);
		}
	}
}

static void gauge_lines(struct page *page, struct rows *rows, bool *headed)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		size_t size;
		const char *prefix = row_prefix(rows, i, &size);
		int64_t value;
		char *to;

		if (!prefix || !gauge_at(&rows->columns, i, &value)) {
			continue;
		}
		if (!*headed) {
			add_head(page, rows->family);
			*headed = true;
		}
		to = copy_blocks(line_start(page), rows->family->common, rows->family->common_size);
		to = copy(to, prefix, size);
		to = put_scaled_i64(to, value, rows->family->decimals);
		*to++ = '\n';
		page->at = to;
	}
}

/*
 * Writes the labels of a histogram's lines that are not buckets: `{a="x",b="y"} ` from the start
 * `{a="` and the prefix `x",b="y",`. Returns the size in bytes.
 */
static size_t put_labels(char *to, const struct family *family, const char *prefix, size_t size)
{
	char *start = to;

	if (family->label_count > 0) {
		to = copy(to, family->common, family->common_size);
		to = copy(to, prefix, size - 1);
		*to++ = '}';
	}
	*to++ = ' ';
	return (size_t)(to - start);
}

static char *put_name(char *to, const struct family *family, const char *ending, const char *labels,
		      size_t labels_size)
{
	to = copy(to, family->name, family->name_size);
	to = copy(to, ending, strlen(ending));
	return copy(to, labels, labels_size);
}

static void histogram_lines(struct page *page, struct rows *rows)
{
	const struct family *family = rows->family;
	const struct bucket_text *texts = is_openmetrics(page->options) ?
						  family->canonical_bucket_texts :
						  family->bucket_texts;
	size_t bucket_count = family->bucket_count;
	char start[NAME_SIZE_MAX + sizeof "_bucket" + PREFIX_SIZE_MAX], own[PREFIX_SIZE_MAX + 2];
	size_t start_size =
		(size_t)(put_name(start, family, "_bucket", family->common, family->common_size) -
			 start);

	for (uint32_t i = 0; i < rows->count; i++) {
		size_t size, own_size, first = (size_t)i * family->cells_per_sample;
		const char *labels = row_prefix(rows, i, &size);
		uint64_t so_far = 0;
		char *to;

		if (!labels) {
			continue;
		}
		for (size_t b = 0; b <= bucket_count; b++) {
			so_far += sum_at(&rows->columns, first + b);
			to = copy(line_start(page), start, start_size);
			to = copy(to, labels, size);
			to = copy(to, texts[b].text, texts[b].size);
			to = put_u64(to, so_far);
			*to++ = '\n';
			page->at = to;
		}
		own_size = put_labels(own, family, labels, size);
		to = put_name(line_start(page), family, "_sum", own, own_size);
		to = put_scaled(to, sum_at(&rows->columns, first + bucket_count + 1),
				family->decimals);
		*to++ = '\n';
		page->at = to;
		to = put_name(line_start(page), family, "_count", own, own_size);
		to = put_u64(to, so_far);
		*to++ = '\n';
		page->at = to;
		if (rows->created) {
			put_created(page, rows, i, "", 0, own, own_size);
		}
	}
}

static void add_text_family(struct page *page, const struct family *family)
{
	bool headed = family->type != FAMILY_GAUGE; /* all samples of a gauge may be hidden, so its
						       head is written with the first line */
	bool with_created = is_openmetrics(page->options) && page->options->created &&
			    (family->type == FAMILY_HISTOGRAM || is_openmetrics_counter(family));
	struct rows rows = rows_of(page, family);

	if (family_series(family) > 0 && headed) {
		add_head(page, family);
	}
	while (!page->refused && next_rows(&rows)) {
		rows.created = with_created ? rows.created : NULL;
		if (family->type == FAMILY_HISTOGRAM) {
			histogram_lines(page, &rows);
		} else if (family->type == FAMILY_GAUGE) {
			gauge_lines(page, &rows, &headed);
		} else if (family->decimals == 0) {
			counter_lines(page, &rows, 0);
		} else {
			counter_lines(page, &rows, family->decimals);
		}
	}
	rows_done(&rows);
}

/* ---- the page ---- */

const char *exposition_content_type(enum exposition_format format)
{
	static const char *const types[] = {
		[EXPOSITION_TEXT_0_0_4] = "text/plain; version=0.0.4; charset=utf-8",
		[EXPOSITION_OPENMETRICS_0_0_1] =
			"application/openmetrics-text; version=0.0.1; charset=utf-8",
		[EXPOSITION_OPENMETRICS_1_0_0] =
			"application/openmetrics-text; version=1.0.0; charset=utf-8",
		[EXPOSITION_PROTOBUF] = "application/vnd.google.protobuf; "
					"proto=io.prometheus.client.MetricFamily; "
					"encoding=delimited",
	};

	return types[format];
}

static void add_family(void *context, const struct family *family)
{
	struct page *page = context;
	const struct exposition_options *options = page->options;

	if (page->refused ||
	    (options->requested && !options->requested(options->context, family))) {
		return;
	}
	if (options->format == EXPOSITION_PROTOBUF) {
		protobuf_family(page, family);
	} else {
		add_text_family(page, family);
	}
}

bool exposition_write(struct registry *registry, const struct exposition_options *options,
		      exposition_sink *sink, void *context)
{
	static const struct exposition_options defaults;
	struct page page = {
		.options = options ? options : &defaults,
		.sink = sink,
		.context = context,
	};

	page.capacity = CHUNK_SIZE + LINE_SIZE_MAX;
	page.start = malloc(page.capacity);
	page.at = page.start;
	if (!page.start || !registry_walk(registry, add_family, &page)) {
		free(page.start);
		return false;
	}
	if (is_openmetrics(page.options)) {
		page_add_string(&page, "# EOF\n");
	}
	flush(&page);
	free(page.start);
	return !page.refused;
}
