/* SPDX-License-Identifier: MIT */
/*
 * Declares and finds families and keeps them in the order of their names; creates and frees the
 * registry that owns them, and updates the families about itself.
 *
 * A scrape walks the list of families without a lock, so a family is complete before it is linked
 * in, and is never removed: a family that a reload removes from the configuration is only hidden
 * (exchange.c), and is used again when its declaration returns. Memory comes from one arena that is
 * freed with the registry, except the memory that evictions free (eviction.c). Names are checked
 * against the Prometheus data model once, when a family is declared, so neither the per-event path
 * nor a scrape checks them again. A histogram uses three more names (_bucket, _sum and _count),
 * which no other family may have.
 *
 * There are two mutexes: `mutex` guards all additions, `scrape_mutex` makes the hooks run for one
 * scrape at a time. The three families about the registry itself are updated with scrape_mutex.
 */
#include "metrics/registry.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/memory.h"
#include "base/text.h"
#include "metrics/registry_internal.h"

static bool no_memory(struct etw_error *err)
{
	return error_no_memory(err, "metrics");
}

/* ---- names ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool valid_name(const char *name, bool colons)
{
	size_t size = strlen(name);

	if (size == 0 || size > NAME_SIZE_MAX) {
		return false;
	}
	for (size_t i = 0; i < size; i++) {
		bool digit = name[i] >= '0' && name[i] <= '9';

		if (!is_letter(name[i]) && !(digit && i > 0) && !(name[i] == ':' && colons)) {
			return false;
		}
	}
	return true;
}

static bool valid_metric_name(const char *name)
{
	return valid_name(name, true);
}

static bool valid_label_name(const char *name)
{
	return valid_name(name, false) && strncmp(name, "__", 2) != 0;
}

/* ---- families ---- */

unsigned family_decimals(const struct family *family)
{
	return family->decimals;
}

size_t family_buckets(const struct family *family, const uint64_t **bounds)
{
	*bounds = family->buckets;
	return family->bucket_count;
}

const char *family_type_name(enum family_type type)
{
	static const char *const names[] = {
		[FAMILY_COUNTER] = "counter",
		[FAMILY_GAUGE] = "gauge",
		[FAMILY_HISTOGRAM] = "histogram",
	};

	return names[type];
}

struct family *registry_next_family(struct registry *registry, struct family *family)
{
	return next_shown(registry, family);
}

/* Call it with the mutex: returns the index in by_name of the first family whose name is not before
 * this one; the number of families if there is none. */
static size_t name_index(const struct registry *registry, const char *name)
{
	size_t low = 0, high = registry->family_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(registry->by_name[middle]->name, name) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Call it with the mutex: returns the next family of this name, shown or not, and moves *at past
 * it; NULL after the last. Start with *at = name_index(). */
static struct family *next_named(const struct registry *registry, const char *name, size_t *at)
{
	if (*at == registry->family_count || strcmp(registry->by_name[*at]->name, name) != 0) {
		return NULL;
	}
	return registry->by_name[(*at)++];
}

struct family *registry_find_coming(struct registry *registry, const char *name, bool coming)
{
	uint32_t generation = registry_generation(registry);
	size_t at = name_index(registry, name);
	struct family *family;

	do {
		family = next_named(registry, name, &at);
	} while (family && !(coming ? family->coming : family_shown(family, generation)));
	return family;
}

struct family *registry_find_family(struct registry *registry, const char *name)
{
	struct family *family;

	os_mutex_lock(&registry->mutex);
	family = registry_find_coming(registry, name, false);
	os_mutex_unlock(&registry->mutex);
	return family;
}

const char *family_help(const struct family *family, size_t *size)
{
	const char *help = family->head + sizeof "# HELP " + family->name_size;

	*size = (size_t)((const char *)memchr(help, '\n', family->head_size) - help);
	return help;
}

const char *family_label(const struct family *family, size_t index)
{
	return index < family->label_count ? family->label_names[index] : NULL;
}

/* Call it with the mutex: makes room in by_name for one more family. Returns false without memory.
 */
static bool make_family_room(struct registry *registry)
{
	struct family **by_name = array_grow(registry->by_name, &registry->family_capacity,
					     registry->family_count, sizeof(struct family *));

	if (by_name) {
		registry->by_name = by_name;
	}
	return by_name != NULL;
}

static void link_family(struct registry *registry, struct family *family)
{
	size_t index = name_index(registry, family->name);
	struct family **place = &registry->by_name[index];
	_Atomic(struct family *) *at = index > 0 ? &place[-1]->next : &registry->families;

	memmove(place + 1, place, (registry->family_count - index) * sizeof(struct family *));
	*place = family;
	registry->family_count++;
	atomic_store_explicit(&family->next, atomic_load_explicit(at, memory_order_relaxed),
			      memory_order_relaxed);
	/* Pairs with the acquire in next_declared(). */
	atomic_store_explicit(at, family, memory_order_release);
}

static bool check_labels(const struct family_options *options, struct etw_error *err)
{
	if (options->label_count > FAMILY_LABELS_MAX) {
		return error_set(err, ETW_ERROR_CONFIG, "%zu labels, at most %d are possible",
				 options->label_count, FAMILY_LABELS_MAX);
	}
	for (size_t i = 0; i < options->label_count; i++) {
		const char *label = options->labels[i];

		if (!valid_label_name(label)) {
			return error_set(err, ETW_ERROR_CONFIG, "\"%s\" is not a label name",
					 label);
		}
		if (options->type == FAMILY_HISTOGRAM && strcmp(label, "le") == 0) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "a histogram has a label \"le\" of its own");
		}
		for (size_t j = 0; j < i; j++) {
			if (strcmp(label, options->labels[j]) == 0) {
				return error_set(err, ETW_ERROR_CONFIG,
						 "label \"%s\" appears twice", label);
			}
		}
	}
	if (options->dynamic_labels >> options->label_count != 0) {
		return error_set(err, ETW_ERROR_CONFIG, "an open label that does not exist");
	}
	return true;
}

static bool check_buckets(const struct family_options *options, struct etw_error *err)
{
	if (options->type != FAMILY_HISTOGRAM) {
		return options->bucket_count == 0 ||
		       error_set(err, ETW_ERROR_CONFIG, "only a histogram has buckets");
	}
	if (options->bucket_count > FAMILY_BUCKETS_MAX) {
		return error_set(err, ETW_ERROR_CONFIG, "%zu buckets, at most %d are possible",
				 options->bucket_count, FAMILY_BUCKETS_MAX);
	}
	for (size_t i = 1; i < options->bucket_count; i++) {
		if (options->buckets[i] <= options->buckets[i - 1]) {
			return error_set(err, ETW_ERROR_CONFIG,
					 "bucket %zu is not greater than the one before", i);
		}
	}
	return true;
}

static bool check_options(const struct family_options *options, struct etw_error *err)
{
	if (options->decimals > DECIMALS_MAX) {
		return error_set(err, ETW_ERROR_CONFIG, "%u decimals, at most %d are possible",
				 options->decimals, DECIMALS_MAX);
	}
	return check_labels(options, err) && check_buckets(options, err);
}

static bool same_family(const struct family *family, const struct family_options *options)
{
	if (family->type != options->type || family->decimals != options->decimals ||
	    family->label_count != options->label_count ||
	    family->dynamic_labels != options->dynamic_labels ||
	    family->bucket_count != options->bucket_count) {
		return false;
	}
	for (size_t i = 0; i < options->label_count; i++) {
		if (strcmp(family->label_names[i], options->labels[i]) != 0) {
			return false;
		}
	}
	for (size_t i = 0; i < options->bucket_count; i++) {
		if (family->buckets[i] != options->buckets[i]) {
			return false;
		}
	}
	return true;
}

/* A histogram x also uses the names x_bucket, x_sum and x_count. */
const char *registry_name_taken(struct registry *registry, const char *taker, enum family_type type,
				bool coming)
{
	static const char *const endings[] = { "_bucket", "_sum", "_count" };
	size_t size = strlen(taker);
	char name[NAME_SIZE_MAX + sizeof "_bucket"];

	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		size_t ending_size = strlen(endings[i]);
		struct family *family;

		memcpy(name, taker, size + 1);
		if (type == FAMILY_HISTOGRAM) {
			memcpy(name + size, endings[i], ending_size + 1);
			family = registry_find_coming(registry, name, coming);
			if (family) {
				return family->name;
			}
		}
		if (size > ending_size && strcmp(taker + size - ending_size, endings[i]) == 0) {
			name[size - ending_size] = '\0';
			family = registry_find_coming(registry, name, coming);
			if (family && family->type == FAMILY_HISTOGRAM) {
				return family->name;
			}
		}
	}
	return NULL;
}

static const char *copy_text(struct registry *registry, const char *text, size_t size)
{
	char *copy = arena_alloc(&registry->arena, size + 1, 1);

	if (copy) {
		memcpy(copy, text, size);
	}
	return copy;
}

/* Copies a text into the arena, and frees the original. Returns NULL without memory. */
static const char *keep_text(struct registry *registry, struct etw_text *text, size_t *size)
{
	const char *copy = text->failed ? NULL : copy_text(registry, text->data, text->size);

	*size = text->size;
	text_free(text);
	return copy;
}

static const struct bucket_text *add_bucket_texts(struct registry *registry,
						  const struct family *family, bool canonical)
{
	size_t count = family->bucket_count;
	struct bucket_text *texts =
		arena_alloc(&registry->arena, (count + 1) * sizeof *texts, sizeof(void *));

	for (size_t i = 0; texts && i <= count; i++) {
		struct etw_text text = { 0 };

		text_add_bucket(&text, i < count ? &family->buckets[i] : NULL, family->decimals,
				canonical);
		texts[i].text = keep_text(registry, &text, &texts[i].size);
		if (!texts[i].text) {
			return NULL;
		}
	}
	return texts;
}

static bool add_buckets(struct registry *registry, struct family *family,
			const struct family_options *options)
{
	size_t count = options->bucket_count;
	uint64_t *bounds = arena_alloc(&registry->arena, count * sizeof *bounds, sizeof *bounds);

	if (!bounds) {
		return false;
	}
	if (count > 0) {
		memcpy(bounds, options->buckets, count * sizeof *bounds);
	}
	family->bucket_count = count;
	family->buckets = bounds;
	family->bucket_texts = add_bucket_texts(registry, family, false);
	family->canonical_bucket_texts = add_bucket_texts(registry, family, true);
	family->cells_per_sample = (uint32_t)count + 2;
	if (registry->limits.native_histograms) {
		family->native = registry_native_scale(registry, family->decimals);
		family->cells_per_sample++;
	}
	return family->bucket_texts && family->canonical_bucket_texts &&
	       (family->native || !registry->limits.native_histograms);
}

/* Makes the text with which the prefixes of all samples begin; see struct prefix. Returns false
 * without memory. */
static bool add_common_text(struct registry *registry, struct family *family)
{
	bool histogram = family->type == FAMILY_HISTOGRAM;
	struct etw_text text = { 0 };
	size_t size;

	if (!histogram) {
		text_add(&text, family->name, family->name_size);
	}
	if (family->label_count > 0) {
		text_add_char(&text, '{');
		text_add_string(&text, family->label_names[0]);
		text_add_string(&text, "=\"");
	} else {
		text_add_char(&text, histogram ? '{' : ' ');
	}
	size = text.size;
	while (!text.failed && text.size % COPY_BLOCK_SIZE != 0) {
		text_add_char(&text, '\0');
	}
	family->common = keep_text(registry, &text, &family->common_size);
	family->common_size = size;
	return family->common != NULL;
}

static struct family *add_family(struct registry *registry, const struct family_options *options)
{
	struct family *family = arena_alloc(&registry->arena, sizeof *family, 64);
	struct etw_text head = { 0 };

	if (!family) {
		return NULL;
	}
	family->registry = registry;
	family->name_size = strlen(options->name);
	family->name = copy_text(registry, options->name, family->name_size);
	family->type = options->type;
	family->decimals = options->decimals;
	family->label_count = (uint32_t)options->label_count;
	family->dynamic_labels = options->dynamic_labels;
	family->own_max_series = options->max_series != 0;
	atomic_init(&family->max_series,
		    options->max_series ? options->max_series : registry->limits.series_per_family);
	atomic_init(&family->shown_from, NEVER_SHOWN);
	atomic_init(&family->shown_until, NEVER_SHOWN);
	family->cells_per_sample = options->type == FAMILY_GAUGE ? GAUGE_CELLS : 1;
	for (size_t w = 0; w < SHARD_SLOTS; w++) {
		atomic_init(&family->shards[w], &family_no_cells);
	}
	text_add_family_head(&head, options->name, options->help, family_type_name(options->type));
	family->head = keep_text(registry, &head, &family->head_size);
	if (!family->name || !family->head) {
		return NULL;
	}
	for (size_t i = 0; i < options->label_count; i++) {
		const char *label = options->labels[i];

		family->label_names[i] = copy_text(registry, label, strlen(label));
		if (!family->label_names[i]) {
			return NULL;
		}
	}
	if (!add_common_text(registry, family) ||
	    (options->type == FAMILY_HISTOGRAM && !add_buckets(registry, family, options))) {
		return NULL;
	}
	if (!make_family_room(registry) || !family_make_table(family)) {
		return NULL;
	}
	link_family(registry, family);
	return family;
}

static bool check_family(const struct family_options *options, struct etw_error *err)
{
	if (!valid_metric_name(options->name)) {
		return error_set(err, ETW_ERROR_CONFIG, "\"%s\" is not a metric name",
				 options->name);
	}
	return check_options(options, err) || error_prefix(err, "%s", options->name);
}

/* Call it with the mutex: returns the family with this declaration, shown or not, which is made
 * if there is none. NULL without memory. */
static struct family *find_or_add(struct registry *registry, const struct family_options *options)
{
	size_t at = name_index(registry, options->name);
	struct family *family;

	do {
		family = next_named(registry, options->name, &at);
	} while (family && !same_family(family, options));
	return family ? family : add_family(registry, options);
}

struct family *registry_prepare(struct registry *registry, const struct family_options *options,
				struct etw_error *err)
{
	struct family *family;

	if (!check_family(options, err)) {
		return NULL;
	}
	os_mutex_lock(&registry->mutex);
	family = find_or_add(registry, options);
	if (family) {
		family->coming_max_series = options->max_series;
	} else {
		no_memory(err);
	}
	os_mutex_unlock(&registry->mutex);
	return family;
}

/* Call it with the mutex: shows a family whose name no shown family has. */
static struct family *show_family(struct registry *registry, const struct family_options *options,
				  struct etw_error *err)
{
	const char *taken = registry_name_taken(registry, options->name, options->type, false);
	struct family *family;

	if (taken) {
		error_set(err, ETW_ERROR_CONFIG, "%s: the name collides with the family %s",
			  options->name, taken);
		return NULL;
	}
	family = find_or_add(registry, options);
	if (!family) {
		no_memory(err);
		return NULL;
	}
	/* The family is shown at once. The stores pair with the acquires in family_shown(). */
	atomic_store_explicit(&family->shown_from, registry_generation(registry),
			      memory_order_release);
	atomic_store_explicit(&family->shown_until, NEVER_SHOWN, memory_order_release);
	return family;
}

struct family *registry_family(struct registry *registry, const struct family_options *options,
			       struct etw_error *err)
{
	struct family *family;

	if (!check_family(options, err)) {
		return NULL;
	}
	os_mutex_lock(&registry->mutex);
	family = registry_find_coming(registry, options->name, false);
	if (!family) {
		family = show_family(registry, options, err);
	} else if (!same_family(family, options)) {
		error_set(err, ETW_ERROR_CONFIG,
			  "%s: declared before with another type, unit, labels or buckets",
			  options->name);
		family = NULL;
	}
	os_mutex_unlock(&registry->mutex);
	return family;
}

const char *family_name(const struct family *family)
{
	return family->name;
}

enum family_type family_type(const struct family *family)
{
	return family->type;
}

/* ---- the registry ---- */

static bool add_self_families(struct registry *registry, struct etw_error *err)
{
	const struct family_options series = {
		.name = "etw_exporter_series",
		.help = "Label sets in use, of all metric families together.",
		.type = FAMILY_GAUGE,
	};
	const struct family_options overflow = {
		.name = "etw_exporter_series_overflow_total",
		.help = "Events counted under _other because a limit was reached, by metric family. Absent while there are none.",
		.type = FAMILY_COUNTER,
		.labels = { "metric" },
		.label_count = 1,
	};
	const struct family_options evicted = {
		.name = "etw_exporter_series_evicted_total",
		.help = "Label sets that were evicted because a limit was near, or because of limits.idle, by metric family. Absent while there are none.",
		.type = FAMILY_COUNTER,
		.labels = { "metric" },
		.label_count = 1,
	};

	registry->series_family = registry_family(registry, &series, err);
	registry->overflow_family = registry_family(registry, &overflow, err);
	registry->evicted_family = registry_family(registry, &evicted, err);
	if (!registry->series_family || !registry->overflow_family || !registry->evicted_family) {
		return false;
	}
	family_set(registry->series_family, registry->self, NULL, 0);
	return true;
}

void registry_take_limits(struct registry *registry, const struct registry_limits *limits)
{
	struct registry_limits *own = &registry->limits;

	own->series_per_family = limits->series_per_family ? limits->series_per_family :
							     SERIES_PER_FAMILY;
	own->series = limits->series ? limits->series : SERIES;
	atomic_store_explicit(&registry->series_limit, own->series, memory_order_relaxed);
}

struct registry *registry_new(const struct registry_limits *limits, struct etw_error *err)
{
	struct registry *registry = calloc(1, sizeof *registry);

	if (!registry) {
		no_memory(err);
		return NULL;
	}
	os_mutex_init(&registry->mutex);
	os_mutex_init(&registry->scrape_mutex);
	registry->made_ms = os_unix_time_ns() / 1000000;
	if (limits) {
		registry->limits = *limits;
	}
	registry_take_limits(registry, &registry->limits);
	if (registry->limits.strings_bytes == 0) {
		registry->limits.strings_bytes = (size_t)64 << 20;
	}
	eviction_init(registry);
	atomic_init(&registry->prefix_bytes,
		    (size_t)registry->limits.series * PREFIX_BYTES_PER_SERIES);
	atomic_init(&registry->prefix_bytes_left,
		    (size_t)registry->limits.series * PREFIX_BYTES_PER_SERIES);
	registry->strings = intern_new(registry->limits.strings_bytes, err);
	if (!registry->strings) {
		goto fail;
	}
	registry->other = intern_string(registry->strings, "_other");
	registry->unknown = intern_string(registry->strings, "_unknown");
	registry->none = intern_string(registry->strings, "_none");
	if (registry->other == INTERN_FULL || registry->unknown == INTERN_FULL ||
	    registry->none == INTERN_FULL) {
		if (memory_has_losses()) {
			error_no_memory(err, "texts");
		} else {
			error_set(err, ETW_ERROR_CONFIG,
				  "a budget of %zu bytes for texts is too small",
				  registry->limits.strings_bytes);
		}
		goto fail;
	}
	registry->self = registry_shard(registry, false, err);
	if (!registry->self || !add_self_families(registry, err)) {
		goto fail;
	}
	return registry;

fail:
	registry_free(registry);
	return NULL;
}

void registry_free(struct registry *registry)
{
	if (!registry) {
		return;
	}
	for (struct family *family = next_declared(registry, NULL); family;
	     family = next_declared(registry, family)) {
		family_free(family);
	}
	free(registry->by_name);
	eviction_done(registry);
	arena_done(&registry->arena);
	intern_free(registry->strings);
	os_mutex_done(&registry->mutex);
	os_mutex_done(&registry->scrape_mutex);
	free(registry);
}

struct intern *registry_strings(struct registry *registry)
{
	return registry->strings;
}

uint32_t registry_other(const struct registry *registry)
{
	return registry->other;
}

uint32_t registry_unknown(const struct registry *registry)
{
	return registry->unknown;
}

uint32_t registry_none(const struct registry *registry)
{
	return registry->none;
}

struct shard *registry_shard(struct registry *registry, bool shared, struct etw_error *err)
{
	struct shard *shard = NULL;

	os_mutex_lock(&registry->mutex);
	if (registry_shards(registry) == SHARD_SLOTS) {
		error_set(err, ETW_ERROR_LIMIT, "more than %d threads that count", SHARDS_MAX);
	} else {
		shard = arena_alloc(&registry->arena, sizeof *shard, sizeof(void *));
		if (shard) {
			shard->registry = registry;
			shard->index = registry_shards(registry);
			shard->shared = shared;
			registry->shards[shard->index] = shard;
			atomic_fetch_add_explicit(&registry->shard_count, 1, memory_order_relaxed);
		} else {
			no_memory(err);
		}
	}
	os_mutex_unlock(&registry->mutex);
	return shard;
}

/* ---- the scrape ---- */

bool registry_on_scrape(struct registry *registry, void (*hook)(void *context), void *context,
			struct etw_error *err)
{
	bool added = false;

	os_mutex_lock(&registry->scrape_mutex);
	if (registry->hook_count < HOOKS_MAX) {
		registry->hooks[registry->hook_count++] =
			(struct scrape_hook){ .run = hook, .context = context };
		added = true;
	}
	os_mutex_unlock(&registry->scrape_mutex);
	return added || error_set(err, ETW_ERROR_LIMIT, "more than %d scrape hooks", HOOKS_MAX);
}

/* Sets the sample about a family. There is none while nothing was counted for it. */
static void refresh_count(struct registry *registry, struct family *about,
			  const struct family *family, const _Atomic(uint64_t) *count)
{
	uint64_t value = atomic_load_explicit(count, memory_order_relaxed);

	if (value > 0) {
		uint32_t id = intern_own(registry->strings, family->name);

		family_set(about, registry->self, &id, (int64_t)value);
	}
}

void registry_refresh(struct registry *registry)
{
	struct family *family = NULL;
	size_t series = 0;

	os_mutex_lock(&registry->scrape_mutex);
	for (size_t i = 0; i < registry->hook_count; i++) {
		registry->hooks[i].run(registry->hooks[i].context);
	}
	while ((family = registry_next_family(registry, family)) != NULL) {
		refresh_count(registry, registry->overflow_family, family, &family->overflow);
		refresh_count(registry, registry->evicted_family, family, &family->evicted);
	}
	/* This is counted last, because all of the above may make samples. */
	while ((family = registry_next_family(registry, family)) != NULL) {
		series += family_series(family);
	}
	family_set(registry->series_family, registry->self, NULL, (int64_t)series);
	os_mutex_unlock(&registry->scrape_mutex);
}
