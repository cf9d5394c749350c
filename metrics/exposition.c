/* SPDX-License-Identifier: MIT */
/*
 * Renders a registry in the text formats: Prometheus 0.0.4 and OpenMetrics 1.0. protobuf.c has the
 * third format.
 *
 * A line is a prefix, which was rendered when its sample was made, and a number. The value of a
 * sample is the sum of its cells in all shards. A histogram has several lines for each prefix, and
 * its buckets are cumulated here. Hidden gauges are left out, and samples that were given back.
 *
 * OpenMetrics shares these lines. It differs in the head of a family, which names a counter without
 * `_total` and has a unit, in the numbers of `le`, in the time when a sample began (`_created`),
 * and in its last line, `# EOF`. A metric that ends in `_info` stays a gauge, as in the libraries
 * of Prometheus: the type info would change the name in the metadata from one format to the other.
 *
 * The families of a page are chosen at its start, under the mutex of the registry (visit.c); the
 * walk over their samples takes no lock. It reads the number of samples of a family once and
 * renders that many, so a sample that is published meanwhile appears in the next scrape. From
 * scrape_begin() to scrape_end() prefixes stay valid, and cells belong to the prefix that was read
 * before them. Lines are written into a chunk, which is passed to the sink when the longest
 * possible line would not fit any more.
 *
 * Source: "OpenMetrics 1.0" and "Exposition formats", prometheus.io.
 */
#include "metrics/exposition.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/text.h"
#include "metrics/exposition_internal.h"

/* ---- texts of families and samples ---- */

/* HELP escapes backslash and line feed; a label value the double quote as well. */
static void add_escaped(struct etw_text *text, const char *value, size_t size, bool quoted)
{
	struct etw_text clean = { 0 };
	size_t done = 0;

	text_add_utf8_clean(&clean, value, size);
	for (size_t i = 0; i < clean.size; i++) {
		char c = clean.data[i];

		if (c == '\\' || c == '\n' || (c == '"' && quoted)) {
			text_add(text, clean.data + done, i - done);
			text_add_char(text, '\\');
			text_add_char(text, c == '\n' ? 'n' : c);
			done = i + 1;
		}
	}
	if (clean.size > done) {
		text_add(text, clean.data + done, clean.size - done);
	}
	text->failed |= clean.failed;
	text_free(&clean);
}

void text_add_label_value(struct etw_text *text, const char *value, size_t size)
{
	add_escaped(text, value, size, true);
}

void text_add_family_head(struct etw_text *text, const struct family_options *options)
{
	text_add_string(text, "# HELP ");
	text_add_string(text, options->name);
	text_add_char(text, ' ');
	add_escaped(text, options->help, strlen(options->help), false);
	text_add_string(text, "\n# TYPE ");
	text_add_string(text, options->name);
	text_add_char(text, ' ');
	text_add_string(text, family_type_name(options->type));
	text_add_char(text, '\n');
}

/*
 * value / 10^decimals as OpenMetrics wants the numbers of `le`, "Canonical Numbers": as Go prints a
 * float64 with %g, and with ".0" where that has neither a point nor an exponent.
 */
static void add_canonical(struct etw_text *text, uint64_t value, unsigned decimals)
{
	char digits[DECIMAL_ROOM];
	int count = (int)(put_u64(digits, value) - digits), exponent = count - 1 - (int)decimals;

	if (value != 0 && (exponent < -4 || exponent > 5)) {
		while (count > 1 && digits[count - 1] == '0') {
			count--;
		}
		text_add_char(text, digits[0]);
		if (count > 1) {
			text_add_char(text, '.');
			text_add(text, digits + 1, (size_t)count - 1);
		}
		text_add_format(text, "e%c%02d", exponent < 0 ? '-' : '+',
				exponent < 0 ? -exponent : exponent);
		return;
	}
	count = (int)(put_scaled(digits, value, decimals) - digits);
	text_add(text, digits, (size_t)count);
	if (!memchr(digits, '.', (size_t)count)) {
		text_add_string(text, ".0");
	}
}

void text_add_bucket(struct etw_text *text, const uint64_t *bound, unsigned decimals,
		     bool canonical)
{
	char number[DECIMAL_ROOM];

	text_add_string(text, "le=\"");
	if (!bound) {
		text_add_string(text, "+Inf");
	} else if (canonical) {
		add_canonical(text, *bound, decimals);
	} else {
		text_add(text, number, (size_t)(put_scaled(number, *bound, decimals) - number));
	}
	text_add_string(text, "\"} ");
}

/* ---- chunks ---- */

static void flush(struct page *page)
{
	size_t size = (size_t)(page->at - page->start);

	if (!page->refused && size > 0) {
		page->refused = !page->sink(page->context, page->start, size);
	}
	page->at = page->start;
}

/* Returns the place for a line of at most LINE_SIZE_MAX bytes. */
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

/* ---- walks over the samples of a family ---- */

struct row_key {
	const struct prefix *prefix;
	uint32_t sample;
};

/* The last one first. */
static int compare_rows(const void *a, const void *b)
{
	const struct prefix *x = ((const struct row_key *)a)->prefix;
	const struct prefix *y = ((const struct row_key *)b)->prefix;
	size_t size = x->size < y->size ? x->size : y->size;
	int order = memcmp(y->text, x->text, size);

	return order != 0 ? order : (y->size > x->size) - (y->size < x->size);
}

/* False without memory. */
static bool sort_rows(struct rows *rows)
{
	uint32_t count = 0;

	rows->order = malloc(rows->left * sizeof *rows->order);
	if (!rows->order) {
		return false;
	}
	for (uint32_t sample = SAMPLE_FIRST; sample < SAMPLE_FIRST + rows->left; sample++) {
		const struct prefix *prefix = sample_prefix(rows->family, sample);

		if (prefix) {
			rows->order[count++] = (struct row_key){ prefix, sample };
		}
	}
	rows->left = count;
	if (count > 0) {
		qsort(rows->order, count, sizeof *rows->order, compare_rows);
	}
	return true;
}

struct rows rows_of(struct page *page, const struct family *family)
{
	struct rows rows = { .family = family, .segment = SEGMENT_FIRST - 1 };

	/* Pairs with the release in begin_sample(). */
	rows.left = atomic_load_explicit(&family->sample_count, memory_order_acquire);
	if (page && page->options->sorted && rows.left > 1 && !sort_rows(&rows)) {
		page->refused = true;
		rows.left = 0;
	}
	return rows;
}

/* The next sample of a sorted walk: columns that begin with it. */
static void take_sample(struct rows *rows)
{
	const struct family *family = rows->family;
	uint32_t index;
	unsigned segment = segment_of(rows->order[--rows->left].sample, &index);

	rows->count = 1;
	rows->columns = columns_of(family, segment);
	rows->columns.prefixes += index;
	for (unsigned i = 0; i < rows->columns.count; i++) {
		rows->columns.cells[i] += (size_t)index * family->cells_per_sample;
	}
	rows->created = family->created_ms[segment] ? family->created_ms[segment] + index : NULL;
}

void rows_done(struct rows *rows)
{
	free(rows->order);
	rows->order = NULL;
}

bool next_rows(struct rows *rows)
{
	unsigned segment = ++rows->segment;

	if (rows->left == 0) {
		return false;
	}
	if (rows->order) {
		take_sample(rows);
		return true;
	}
	rows->count = rows->left < 1u << segment ? rows->left : 1u << segment;
	rows->left -= rows->count;
	rows->columns = columns_of(rows->family, segment);
	rows->created = rows->family->created_ms[segment];
	return true;
}

/* ---- heads of families ---- */

static bool is_openmetrics(const struct exposition_options *options)
{
	return options->format == EXPOSITION_OPENMETRICS_0_0_1 ||
	       options->format == EXPOSITION_OPENMETRICS_1_0_0;
}

static bool ends_in(const char *name, size_t size, const char *ending)
{
	size_t ending_size = strlen(ending);

	return size > ending_size && memcmp(name + size - ending_size, ending, ending_size) == 0;
}

size_t family_base_size(const struct family *family)
{
	static const char total[] = "_total";
	bool counter = family->type == FAMILY_COUNTER;

	return counter && ends_in(family->name, family->name_size, total) ?
		       family->name_size - (sizeof total - 1) :
		       family->name_size;
}

/* The sample of a counter must end in `_total` there. */
static bool is_openmetrics_counter(const struct family *family)
{
	return family->type == FAMILY_COUNTER && family_base_size(family) < family->name_size;
}

const char *family_unit(const struct family *family)
{
	static const char *const units[] = { "_seconds", "_bytes", "_ratio" };

	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (ends_in(family->name, family_base_size(family), units[i])) {
			return units[i] + 1;
		}
	}
	return NULL;
}

/* "# TYPE name ", for OpenMetrics. */
static void add_head_line(struct page *page, const struct family *family, const char *keyword)
{
	page_add_string(page, keyword);
	page_add(page, family->name, family_base_size(family));
	page_add(page, " ", 1);
}

/* The help of the text format escapes all but the double quote. */
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
 * `name_created{a="x",b="y"} 1700000000.123`; labels: the text from the brace on, with the blank
 * before the number.
 */
static void put_created(struct page *page, const struct rows *rows, uint32_t index,
			const char *labels, size_t labels_size)
{
	const struct family *family = rows->family;
	char *to = copy(line_start(page), family->name, family_base_size(family));

	to = copy(to, "_created", strlen("_created"));
	to = copy(to, labels, labels_size);
	to = put_scaled(to, created_ms(rows, index), 3);
	*to++ = '\n';
	page->at = to;
}

static inline void counter_lines(struct page *page, struct rows *rows, unsigned decimals)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		size_t size;
		const char *prefix = row_prefix(rows, i, &size);
		char *to;

		if (!prefix) {
			continue;
		}
		to = copy(line_start(page), prefix, size);
		to = put_scaled(to, sum_at(&rows->columns, i), decimals);
		*to++ = '\n';
		page->at = to;
		if (rows->created) {
			size_t name_size = rows->family->name_size;

			put_created(page, rows, i, prefix + name_size, size - name_size);
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
		to = copy(line_start(page), prefix, size);
		to = put_scaled_i64(to, value, rows->family->decimals);
		*to++ = '\n';
		page->at = to;
	}
}

/*
 * The labels of a histogram's lines that are not of buckets: `{a="x",b="y"} ` from the prefix
 * `{a="x",b="y",`. Returns the size.
 */
static size_t put_labels(char *to, const char *prefix, size_t size)
{
	char *start = to;

	if (size > 1) {
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
	char name[NAME_SIZE_MAX + sizeof "_bucket"], own[PREFIX_SIZE_MAX + 2];
	size_t name_size = (size_t)(put_name(name, family, "_bucket", "", 0) - name);

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
			to = copy(line_start(page), name, name_size);
			to = copy(to, labels, size);
			to = copy(to, texts[b].text, texts[b].size);
			to = put_u64(to, so_far);
			*to++ = '\n';
			page->at = to;
		}
		own_size = put_labels(own, labels, size);
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
			put_created(page, rows, i, own, own_size);
		}
	}
}

static void add_text_family(struct page *page, const struct family *family)
{
	bool headed = family->type != FAMILY_GAUGE; /* of gauges all may be hidden */
	bool with_created = is_openmetrics(page->options) && !page->options->no_created &&
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

bool exposition_write_as(struct registry *registry, const struct exposition_options *options,
			 exposition_sink *sink, void *context)
{
	struct page page = { .options = options, .sink = sink, .context = context };

	page.capacity = CHUNK_SIZE + LINE_SIZE_MAX;
	page.start = malloc(page.capacity);
	page.at = page.start;
	if (!page.start || !registry_walk(registry, add_family, &page)) {
		free(page.start);
		return false;
	}
	if (is_openmetrics(options)) {
		page_add_string(&page, "# EOF\n");
	}
	flush(&page);
	free(page.start);
	return !page.refused;
}

struct counted_sink {
	exposition_sink *sink;
	void *context;
	size_t written;
};

static bool count_chunk(void *context, const char *bytes, size_t size)
{
	struct counted_sink *counted = context;

	counted->written += size;
	return counted->sink(counted->context, bytes, size);
}

size_t exposition_write(struct registry *registry, exposition_sink *sink, void *context)
{
	const struct exposition_options text = { .format = EXPOSITION_TEXT_0_0_4 };
	struct counted_sink counted = { .sink = sink, .context = context };
	bool written = exposition_write_as(registry, &text, count_chunk, &counted);

	return written ? counted.written : 0;
}
