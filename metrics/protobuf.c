/* SPDX-License-Identifier: MIT */
/*
 * Renders families as io.prometheus.client.MetricFamily, each message with its size before it
 * ("delimited").
 *
 * A message begins with its size, so it is built in memory. Each client that takes a page has such a
 * memory, so it is small: a family of more than MESSAGE_SIZE is written as several messages of the
 * same name, one after the other. Prometheus reads message by message. Submessages are written in the same way: first their bytes, which are then
 * moved by the few bytes that their size needs.
 *
 * Labels come from the prefix of the sample, `x",b="y"} `; the escapes of values are undone.
 *
 * A histogram has classic buckets, without +Inf because that is the count, and native buckets
 * beside them. The count is that of the native buckets, because Prometheus refuses a native
 * histogram whose buckets do not add up to it. Consumers continue to count meanwhile, so the
 * classic buckets, which are read later, may be ahead by a few; they are shown as at most the
 * count.
 *
 * Source: prometheus/client_model `io/prometheus/client/metrics.proto` for the numbers of fields;
 * "Encoding", protobuf.dev; "Native Histograms", prometheus.io, for spans and deltas.
 */
#include <math.h>
#include <stdlib.h>

#include "metrics/exposition_internal.h"

enum {
	MESSAGE_SIZE = CHUNK_SIZE, /* a larger family continues in another message */
	SIZE_ROOM = 10, /* bytes that are kept free before a message, for its size */

	/* Fields: number << 3 | wire type (0: varint, 1: eight bytes, 2: bytes). */
	FAMILY_NAME = 1 << 3 | 2,
	FAMILY_HELP = 2 << 3 | 2,
	FAMILY_TYPE = 3 << 3 | 0,
	FAMILY_METRIC = 4 << 3 | 2,
	FAMILY_UNIT = 5 << 3 | 2,
	METRIC_LABEL = 1 << 3 | 2,
	METRIC_GAUGE = 2 << 3 | 2,
	METRIC_COUNTER = 3 << 3 | 2,
	METRIC_HISTOGRAM = 7 << 3 | 2,
	LABEL_NAME = 1 << 3 | 2,
	LABEL_VALUE = 2 << 3 | 2,
	VALUE = 1 << 3 | 1, /* field of a gauge or a counter */
	COUNTER_CREATED = 3 << 3 | 2,
	HISTOGRAM_COUNT = 1 << 3 | 0,
	HISTOGRAM_SUM = 2 << 3 | 1,
	HISTOGRAM_BUCKET = 3 << 3 | 2,
	HISTOGRAM_SCHEMA = 5 << 3 | 0,
	HISTOGRAM_ZERO_THRESHOLD = 6 << 3 | 1,
	HISTOGRAM_ZERO_COUNT = 7 << 3 | 0,
	HISTOGRAM_SPAN = 12 << 3 | 2,  /* positive_span */
	HISTOGRAM_DELTA = 13 << 3 | 2, /* positive_delta, packed */
	HISTOGRAM_CREATED = 15 << 3 | 2,
	BUCKET_COUNT = 1 << 3 | 0,
	BUCKET_BOUND = 2 << 3 | 1,
	SPAN_OFFSET = 1 << 3 | 0,
	SPAN_LENGTH = 2 << 3 | 0,
	TIME_SECONDS = 1 << 3 | 0,
	TIME_NANOSECONDS = 2 << 3 | 0,

	/* enum MetricType */
	TYPE_COUNTER = 0,
	TYPE_GAUGE = 1,
	TYPE_HISTOGRAM = 4,

	/* The most bytes that one metric needs: labels; classic buckets; native buckets, each
	 * with a span and a delta. */
	LABELS_ROOM = PREFIX_SIZE_MAX + FAMILY_LABELS_MAX * 16,
	METRIC_ROOM = LABELS_ROOM + FAMILY_BUCKETS_MAX * 32 + NATIVE_BUCKETS_MAX * 32 + 256,
};

/* ---- values ---- */

static char *put_varint(char *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (char)(value | 0x80);
		value >>= 7;
	}
	*to++ = (char)value;
	return to;
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static char *put_number(char *to, unsigned field, uint64_t value)
{
	return put_varint(put_varint(to, field), value);
}

static char *put_double(char *to, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	to = put_varint(to, field);
	for (unsigned i = 0; i < sizeof bits; i++) {
		*to++ = (char)(bits >> 8 * i);
	}
	return to;
}

static char *put_bytes(char *to, unsigned field, const char *bytes, size_t size)
{
	to = put_varint(put_varint(to, field), size);
	memcpy(to, bytes, size);
	return to + size;
}

/* Writes field and size before the submessage from start to end, which is moved. Returns its new
 * end. */
static char *enclose(char *start, char *end, unsigned field)
{
	size_t size = (size_t)(end - start);
	char head[2 * SIZE_ROOM], *head_end = put_number(head, field, size);
	size_t head_size = (size_t)(head_end - head);

	memmove(start + head_size, start, size);
	memcpy(start, head, head_size);
	return end + head_size;
}

static char *put_time(char *to, unsigned field, uint64_t ms)
{
	char *start = to;

	to = put_number(to, TIME_SECONDS, ms / 1000);
	to = put_number(to, TIME_NANOSECONDS, ms % 1000 * 1000000);
	return enclose(start, to, field);
}

/* ---- labels ---- */

/* Undoes the escapes of a label value. Returns the end of what it has written. */
static char *put_unescaped(char *to, const char *value, const char *end)
{
	for (; value < end; value++) {
		if (*value == '\\') {
			value++;
			*to++ = *value == 'n' ? '\n' : *value;
		} else {
			*to++ = *value;
		}
	}
	return to;
}

/* Returns the quote that ends a value. Sets *escaped to whether the value has a backslash. */
static const char *value_end(const char *at, bool *escaped)
{
	*escaped = false;
	while (*at != '"') {
		*escaped |= *at == '\\';
		at += *at == '\\' ? 2 : 1;
	}
	return at;
}

/* The names of a family's labels as encoded fields, with the text before their values in
 * prefixes. */
struct label_fields {
	size_t count;
	struct {
		char field[NAME_SIZE_MAX + 8];
		size_t size;      /* bytes of the field */
		size_t text_size; /* bytes of `,name="`; 0 for the first, whose value begins the
				     prefix */
	} labels[FAMILY_LABELS_MAX];
};

static void label_fields_of(const struct family *family, struct label_fields *fields)
{
	fields->count = family->label_count;
	for (size_t i = 0; i < fields->count; i++) {
		const char *name = family->label_names[i];
		size_t size = strlen(name);
		char *end = put_bytes(fields->labels[i].field, LABEL_NAME, name, size);

		fields->labels[i].size = (size_t)(end - fields->labels[i].field);
		fields->labels[i].text_size = i > 0 ? size + 3 : 0;
	}
}

/* Writes the labels of a sample. */
static char *put_labels(char *to, const struct label_fields *fields, const char *prefix)
{
	for (size_t i = 0; i < fields->count; i++) {
		char *label = to;
		const char *value = prefix + fields->labels[i].text_size, *end;
		bool escaped;

		end = value_end(value, &escaped);
		to = copy(to, fields->labels[i].field, fields->labels[i].size);
		if (escaped) {
			char *start = to;

			to = enclose(start, put_unescaped(to, value, end), LABEL_VALUE);
		} else {
			to = put_bytes(to, LABEL_VALUE, value, (size_t)(end - value));
		}
		to = enclose(label, to, METRIC_LABEL);
		prefix = end + 1;
	}
	return to;
}

/* ---- metrics ---- */

/* Returns value / unit as a double. From 2^53 on a double cannot hold every value, so the
 * fraction is rounded separately. */
static double scaled(uint64_t value, uint64_t unit)
{
	if (value < UINT64_C(1) << 53) {
		return (double)value / (double)unit;
	}
	return (double)(value / unit) + (double)(value % unit) / (double)unit;
}

static char *put_counter(char *to, uint64_t value, uint64_t unit, uint64_t ms)
{
	char *start = to;

	to = put_double(to, VALUE, scaled(value, unit));
	to = put_time(to, COUNTER_CREATED, ms);
	return enclose(start, to, METRIC_COUNTER);
}

static char *put_gauge(char *to, int64_t value, uint64_t unit)
{
	char *start = to;

	to = put_double(to, VALUE,
			value < 0 ? -scaled(-(uint64_t)value, unit) :
				    scaled((uint64_t)value, unit));
	return enclose(start, to, METRIC_GAUGE);
}

/* Writes spans of adjacent buckets, then all counts, each as the difference from the one before. */
static char *put_native(char *to, const struct native_histogram *native)
{
	const struct native_bucket *buckets = native->buckets;
	unsigned length;
	int next = 0;
	uint64_t previous = 0;
	char *deltas;

	to = put_number(to, HISTOGRAM_SCHEMA, zigzag(native->schema));
	/* The smallest threshold, as in the client libraries: only 0 is in the bucket of 0. The
	 * field also shows that the histogram is native. */
	to = put_double(to, HISTOGRAM_ZERO_THRESHOLD, ldexp(1, -128));
	to = put_number(to, HISTOGRAM_ZERO_COUNT, native->zero_count);
	for (unsigned i = 0; i < native->bucket_count; i += length) {
		char *span = to;

		for (length = 1; i + length < native->bucket_count &&
				 buckets[i + length].index == buckets[i].index + (int)length;
		     length++) {
		}
		to = put_number(to, SPAN_OFFSET, zigzag(buckets[i].index - next));
		to = put_number(to, SPAN_LENGTH, length);
		to = enclose(span, to, HISTOGRAM_SPAN);
		next = buckets[i].index + (int)length;
	}
	deltas = to;
	for (unsigned i = 0; i < native->bucket_count; i++) {
		to = put_varint(to, zigzag((int64_t)(buckets[i].count - previous)));
		previous = buckets[i].count;
	}
	return native->bucket_count > 0 ? enclose(deltas, to, HISTOGRAM_DELTA) : to;
}

static char *put_histogram(char *to, const struct rows *rows, uint32_t index, uint64_t unit)
{
	const struct family *family = rows->family;
	const struct columns *columns = &rows->columns;
	size_t first = (size_t)index * family->cells_per_sample,
	       bucket_count = family->bucket_count;
	struct native_histogram native;
	bool has_native = family->native &&
			  native_read(family->native, columns->cells, columns->count,
				      first + bucket_count + 2, &native);
	uint64_t so_far = 0, count = 0;
	char *start = to;

	for (size_t i = 0; i <= bucket_count && !has_native; i++) {
		count += sum_at(columns, first + i);
	}
	count = has_native ? native.count : count;
	to = put_number(to, HISTOGRAM_COUNT, count);
	to = put_double(to, HISTOGRAM_SUM, scaled(sum_at(columns, first + bucket_count + 1), unit));
	for (size_t i = 0; i < bucket_count; i++) {
		char *bucket = to;

		so_far += sum_at(columns, first + i);
		to = put_number(to, BUCKET_COUNT, so_far < count ? so_far : count);
		to = put_double(to, BUCKET_BOUND, scaled(family->buckets[i], unit));
		to = enclose(bucket, to, HISTOGRAM_BUCKET);
	}
	if (has_native) {
		to = put_native(to, &native);
	}
	to = put_time(to, HISTOGRAM_CREATED, created_ms(rows, index));
	return enclose(start, to, METRIC_HISTOGRAM);
}

/* Writes the metric of a sample. Returns `to` if it is a hidden gauge. */
static char *put_metric(char *to, const struct rows *rows, uint32_t index, const char *prefix,
			const struct label_fields *fields, uint64_t unit)
{
	const struct family *family = rows->family;
	bool histogram = family->type == FAMILY_HISTOGRAM;
	char *start = to;
	int64_t value = 0;

	if (family->type == FAMILY_GAUGE && !gauge_at(&rows->columns, index, &value)) {
		return to;
	}
	to = put_labels(to, fields, prefix);
	if (histogram) {
		to = put_histogram(to, rows, index, unit);
	} else if (family->type == FAMILY_GAUGE) {
		to = put_gauge(to, value, unit);
	} else {
		to = put_counter(to, sum_at(&rows->columns, index), unit, created_ms(rows, index));
	}
	return enclose(start, to, FAMILY_METRIC);
}

/* ---- messages ---- */

/* Makes room for `size` more bytes. Returns false without memory. */
static bool make_room(struct page *page, size_t size)
{
	size_t used = (size_t)(page->at - page->start), capacity = page->capacity;
	char *grown;

	if (size <= capacity - used) {
		return true;
	}
	while (size > capacity - used) {
		capacity *= 2;
	}
	grown = realloc(page->start, capacity);
	if (!grown) {
		page->refused = true;
		return false;
	}
	page->start = grown;
	page->at = grown + used;
	page->capacity = capacity;
	return true;
}

/* Begins a message and keeps room for its size before it. Returns false without memory. */
static bool begin_message(struct page *page, const struct family *family)
{
	static const unsigned types[] = {
		[FAMILY_COUNTER] = TYPE_COUNTER,
		[FAMILY_GAUGE] = TYPE_GAUGE,
		[FAMILY_HISTOGRAM] = TYPE_HISTOGRAM,
	};
	const char *unit = family_unit(family), *help;
	size_t help_size;

	help = family_help(family, &help_size);
	page->at = page->start;
	if (!make_room(page, NAME_SIZE_MAX + help_size + METRIC_ROOM)) {
		return false;
	}
	page->at += SIZE_ROOM;
	page->at = put_bytes(page->at, FAMILY_NAME, family->name, family->name_size);
	page->at = enclose(page->at, put_unescaped(page->at, help, help + help_size), FAMILY_HELP);
	page->at = put_number(page->at, FAMILY_TYPE, types[family->type]);
	if (unit) {
		page->at = put_bytes(page->at, FAMILY_UNIT, unit, strlen(unit));
	}
	return true;
}

/* Sends the current message. */
static void send_message(struct page *page)
{
	char size[SIZE_ROOM], *message = page->start + SIZE_ROOM;
	size_t message_size = (size_t)(page->at - message);
	size_t size_size = (size_t)(put_varint(size, message_size) - size);

	memcpy(message - size_size, size, size_size);
	page->refused = !page->sink(page->context, message - size_size, message_size + size_size);
	page->at = page->start;
}

void protobuf_family(struct page *page, const struct family *family)
{
	struct label_fields fields;
	struct rows rows = rows_of(page, family);
	uint64_t unit = 1;

	label_fields_of(family, &fields);
	for (unsigned i = 0; i < family->decimals; i++) {
		unit *= 10;
	}
	/* The page is empty between messages. A message without a metric is not sent. */
	while (!page->refused && next_rows(&rows)) {
		for (uint32_t i = 0; i < rows.count && !page->refused; i++) {
			size_t size;
			const char *prefix = row_prefix(&rows, i, &size);
			bool first = page->at == page->start;
			char *end;

			if (!prefix) {
				continue;
			}
			if (first ? !begin_message(page, family) : !make_room(page, METRIC_ROOM)) {
				break;
			}
			end = put_metric(page->at, &rows, i, prefix, &fields, unit);
			page->at = first && end == page->at ? page->start : end;
			if (page->at - page->start > MESSAGE_SIZE) {
				send_message(page);
			}
		}
	}
	rows_done(&rows);
	if (!page->refused && page->at != page->start) {
		send_message(page);
	}
}
