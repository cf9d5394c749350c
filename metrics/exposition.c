/* SPDX-License-Identifier: MIT */
/*
 * Renders a registry in the Prometheus text format 0.0.4.
 *
 * A line is a prefix, which was rendered when its sample was made, and a number. The value of a
 * sample is the sum of its cells in all shards. A histogram has several lines for each prefix, and
 * its buckets are cumulated here. Hidden gauges are left out, and samples that were given back.
 *
 * The walk takes no lock. It reads the number of samples of a family once and renders that many, so
 * a sample that is published meanwhile appears in the next scrape. From scrape_begin() to
 * scrape_end() prefixes stay valid, and cells belong to the prefix that was read before them. Lines
 * are written into a chunk, which is passed to the sink when the longest possible line would not
 * fit any more.
 */
#include "metrics/exposition.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/text.h"
#include "metrics/registry_internal.h"

/* ---- texts of families and samples ---- */

/* HELP escapes backslash and line feed; a label value the double quote as well. */
static void add_escaped(struct text *text, const char *value, size_t size, bool quoted)
{
	struct text clean = { 0 };
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

void text_add_label_value(struct text *text, const char *value, size_t size)
{
	add_escaped(text, value, size, true);
}

void text_add_family_head(struct text *text, const struct family_options *options)
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

void text_add_bucket(struct text *text, const uint64_t *bound, unsigned decimals)
{
	char number[DECIMAL_ROOM];

	text_add_string(text, "le=\"");
	if (bound) {
		text_add(text, number, (size_t)(put_scaled(number, *bound, decimals) - number));
	} else {
		text_add_string(text, "+Inf");
	}
	text_add_string(text, "\"} ");
}

/* ---- the page ---- */

enum {
	CHUNK_SIZE = 64 * 1024, /* approximate size of a chunk */
	LINE_SIZE_MAX = NAME_SIZE_MAX + PREFIX_SIZE_MAX + 128,
};

struct page {
	char *start; /* CHUNK_SIZE + LINE_SIZE_MAX bytes */
	char *at;
	exposition_sink *sink;
	void *context;
	bool refused;
};

/* One segment of a family: its prefixes, and its cells of the shards that have any. */
struct columns {
	const _Atomic(struct prefix *) *prefixes;
	cell *cells[SHARD_SLOTS];
	unsigned count;
};

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

/* A memcpy for about 100 bytes: blocks of constant size; the last one overlaps the one before. */
static inline char *copy(char *to, const char *from, size_t size)
{
	enum { BLOCK_SIZE = 32 };

	if (size < BLOCK_SIZE) {
		memcpy(to, from, size);
		return to + size;
	}
	for (size_t i = 0; i + BLOCK_SIZE < size; i += BLOCK_SIZE) {
		memcpy(to + i, from + i, BLOCK_SIZE);
	}
	memcpy(to + size - BLOCK_SIZE, from + size - BLOCK_SIZE, BLOCK_SIZE);
	return to + size;
}

/* NULL: the sample was given back. */
static inline const struct prefix *prefix_at(const struct columns *columns, size_t index)
{
	/* Pairs with the release in begin_sample(), so the cells are those of this prefix. */
	return atomic_load_explicit(&columns->prefixes[index], memory_order_acquire);
}

static struct columns columns_of(const struct family *family, unsigned segment)
{
	struct columns columns = { .prefixes = family->prefixes[segment] };

	for (unsigned w = 0; w < SHARD_SLOTS; w++) {
		cell *cells = family_segment(family, w, segment);

		if (cells) {
			columns.cells[columns.count++] = cells;
		}
	}
	return columns;
}

static inline uint64_t sum_at(const struct columns *columns, size_t index)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < columns->count; i++) {
		sum = count_sum(sum, atomic_load_explicit(&columns->cells[i][index],
							  memory_order_relaxed));
	}
	return sum;
}

static inline void counter_lines(struct page *page, const struct columns *columns, uint32_t count,
				 unsigned decimals)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct prefix *prefix = prefix_at(columns, i);
		char *to;

		if (!prefix) {
			continue;
		}
		to = copy(line_start(page), prefix->text, prefix->size);
		to = put_scaled(to, sum_at(columns, i), decimals);
		*to++ = '\n';
		page->at = to;
	}
}

/* Sums a gauge. Returns false if it is hidden. */
static bool gauge_at(const struct columns *columns, size_t index, int64_t *value)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < columns->count; i++) {
		uint64_t one = atomic_load_explicit(&columns->cells[i][index * GAUGE_CELLS],
						    memory_order_relaxed);

		if (one == CELL_HIDDEN) {
			return false;
		}
		sum += one;
	}
	*value = (int64_t)sum;
	return true;
}

static void gauge_lines(struct page *page, const struct family *family,
			const struct columns *columns, uint32_t count, bool *headed)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct prefix *prefix = prefix_at(columns, i);
		int64_t value;
		char *to;

		if (!prefix || !gauge_at(columns, i, &value)) {
			continue;
		}
		if (!*headed) {
			page_add(page, family->head, family->head_size);
			*headed = true;
		}
		to = copy(line_start(page), prefix->text, prefix->size);
		to = put_scaled_i64(to, value, family->decimals);
		*to++ = '\n';
		page->at = to;
	}
}

/* `name_sum{a="x",b="y"} `; labels is the prefix of the histogram: `{a="x",b="y",`. */
static char *put_name(char *to, const struct family *family, const char *ending, const char *labels,
		      size_t labels_size)
{
	to = copy(to, family->name, family->name_size);
	to = copy(to, ending, strlen(ending));
	if (labels_size > 1) {
		to = copy(to, labels, labels_size - 1);
		*to++ = '}';
	}
	*to++ = ' ';
	return to;
}

static void histogram_lines(struct page *page, const struct family *family,
			    const struct columns *columns, uint32_t count)
{
	size_t bucket_count = family->bucket_count;
	char name[NAME_SIZE_MAX + sizeof "_bucket"];
	size_t name_size = family->name_size + strlen("_bucket");

	memcpy(name, family->name, family->name_size);
	memcpy(name + family->name_size, "_bucket", strlen("_bucket"));
	for (uint32_t i = 0; i < count; i++) {
		size_t size, first = (size_t)i * family->cells_per_sample;
		const struct prefix *prefix = prefix_at(columns, i);
		uint64_t so_far = 0;
		const char *labels;
		char *to;

		if (!prefix) {
			continue;
		}
		labels = prefix->text;
		size = prefix->size;
		for (size_t b = 0; b <= bucket_count; b++) {
			const struct bucket_text *bucket = &family->bucket_texts[b];

			so_far += sum_at(columns, first + b);
			to = copy(line_start(page), name, name_size);
			to = copy(to, labels, size);
			to = copy(to, bucket->text, bucket->size);
			to = put_u64(to, so_far);
			*to++ = '\n';
			page->at = to;
		}
		to = put_name(line_start(page), family, "_sum", labels, size);
		to = put_scaled(to, sum_at(columns, first + bucket_count + 1), family->decimals);
		*to++ = '\n';
		page->at = to;
		to = put_name(line_start(page), family, "_count", labels, size);
		to = put_u64(to, so_far);
		*to++ = '\n';
		page->at = to;
	}
}

static void family_write(struct page *page, const struct family *family)
{
	/* Pairs with the release in begin_sample(). */
	uint32_t left = atomic_load_explicit(&family->sample_count, memory_order_acquire);
	bool headed = false;

	if (family_series(family) == 0) {
		return;
	}
	if (family->type != FAMILY_GAUGE) {
		page_add(page, family->head, family->head_size);
	}
	for (unsigned segment = SEGMENT_FIRST; left > 0 && !page->refused; segment++) {
		struct columns columns = columns_of(family, segment);
		uint32_t here = left < 1u << segment ? left : 1u << segment;

		left -= here;
		if (family->type == FAMILY_HISTOGRAM) {
			histogram_lines(page, family, &columns, here);
		} else if (family->type == FAMILY_GAUGE) {
			gauge_lines(page, family, &columns, here, &headed);
		} else if (family->decimals == 0) {
			counter_lines(page, &columns, here, 0);
		} else {
			counter_lines(page, &columns, here, family->decimals);
		}
	}
}

bool exposition_write_as(struct registry *registry, const struct exposition_options *options,
			   exposition_sink *sink, void *context)
{
	struct page page = { .sink = sink, .context = context };
	struct scrape scrape;
	struct family *family;

	page.start = malloc(CHUNK_SIZE + LINE_SIZE_MAX);
	if (!page.start) {
		return false;
	}
	page.at = page.start;
	registry_refresh(registry);
	scrape_begin(registry, &scrape);
	family = atomic_load_explicit(&registry->families, memory_order_acquire);
	while (family && !page.refused) {
		if (!options->requested || options->requested(options->context, family)) {
			family_write(&page, family);
		}
		/* Pairs with the release in link_family(). */
		family = atomic_load_explicit(&family->next, memory_order_acquire);
	}
	scrape_end(registry, &scrape);
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
	struct counted_sink counted = { .sink = sink, .context = context };

	return exposition_write_as(registry, &(struct exposition_options){ 0 }, count_chunk,
				   &counted) ?
		       counted.written :
		       0;
}
