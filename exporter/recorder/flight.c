/* SPDX-License-Identifier: MIT */
/*
 * Implements the thread of the flight recorder, its folder and its requests.
 *
 * A recording gets its name when it is complete and on the disk (os_file_new()), so that every file
 * with the name of a recording can be read. Names contain the time, so they sort by time, and the
 * oldest files are removed when there are more than `keep`. The file just written stays, even if
 * the clock was set back. Only regular files with names of exactly this form count: an operator may
 * keep copies in the folder under other names. If the program is killed while it writes and the
 * disk has no files without names, the next start removes the incomplete file. Recordings show what
 * the machine does, so only their owner may read them.
 *
 * Two limits prevent a recorder from filling a disk or occupying a processor: recordings have a
 * least distance in time (`interval`, or five seconds after a failure), and none begins when less
 * than twice the memory of the rings is free on the disk. A request that comes too early is refused
 * with a sentence; a rule that fires too early is counted and logged.
 *
 * Requests have numbers. A thread that requests a recording takes the next number and waits until
 * the recorder has served it; the recorder serves all numbers that were given before it begins to
 * read the rings.
 */
#include "exporter/recorder/flight.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/files.h"
#include "base/log.h"
#include "base/os.h"
#include "config/yaml.h"
#include "exporter/recorder/recording.h"
#include "exporter/recorder/trigger.h"

#define NS_PER_S UINT64_C(1000000000)

#define RETRY_NS (5 * NS_PER_S)

/* Forms of names for has_form(): of a recording, and of one that is incomplete. */
static const char recording_form[] = "etw_exporter-00000000T000000.000Z.etl";
static const char partial_form[] = "etw_exporter-00000000T000000.000Z.etl.????????????????.partial";

struct flight_recorder {
	struct config_recorder config; /* a copy that owns its texts and arrays; without rules */
	struct triggers *triggers;
	struct registry *registry;
	struct taps *taps;
	struct os_thread thread;
	bool started;
	atomic_bool stopping;
	struct os_mutex lock;
	struct os_condition changed;
	/* Guarded by the lock. */
	uint64_t requested, served; /* numbers of requests */
	char reason[64];            /* reason of the last request */
	enum flight_result result;  /* of the last recording */
	struct etw_text answer;     /* sentence or path of the last recording */
	struct etw_text last_file,
		last_reason; /* file name and reason of the last recording written */
	struct flight_statistics statistics; /* the members about recordings */
	/* The thread's. */
	uint64_t next_ns; /* when the next recording may begin */
	bool retrying;    /* the last attempt failed */
};

const char *flight_result_name(enum flight_result result)
{
	static const char *const names[FLIGHT_RESULTS] = {
		[FLIGHT_WRITTEN] = "written",
		[FLIGHT_FAILED] = "failed",
		[FLIGHT_REFUSED] = "refused",
	};

	return names[result];
}

bool flight_configured(const struct config *config)
{
	return config->recorder.dir != NULL;
}

/* ---- the folder ---- */

static bool path_in(const char *dir, const char *name, struct etw_text *path)
{
	size_t size = strlen(dir);

	text_clear(path);
	text_add_string(path, dir);
	if (size > 0 && dir[size - 1] != '/' && dir[size - 1] != '\\') {
		text_add_char(path, '/');
	}
	text_add_string(path, name);
	return !path->failed;
}

/* Compares a text with a form in which 0 stands for any digit and ? for any hexadecimal one. */
static bool has_form(const char *text, const char *form)
{
	for (; *form; text++, form++) {
		bool good = *form == '0' ? *text >= '0' && *text <= '9' :
			    *form == '?' ? *text && strchr("0123456789abcdef", *text) :
					   *text == *form;

		if (!good) {
			return false;
		}
	}
	return *text == '\0';
}

/* The regular files of a folder whose names have a form. */
struct listing {
	const char *dir, *form;
	const char *stays; /* a name that is left out; NULL: none */
	char **names;      /* owned, as is each */
	size_t count, capacity;
	bool failed; /* there was no memory for a name */
};

static bool list_name(void *context, const char *name)
{
	struct listing *listing = context;
	struct etw_text path = { 0 };
	char **names, *copy;
	bool ours = has_form(name, listing->form) &&
		    !(listing->stays && strcmp(name, listing->stays) == 0) &&
		    path_in(listing->dir, name, &path) && os_file_is_regular(path.data);

	text_free(&path);
	if (!ours) {
		return true;
	}
	names = array_grow(listing->names, &listing->capacity, listing->count, sizeof *names);
	listing->names = names ? names : listing->names;
	copy = names ? text_duplicate(name, strlen(name)) : NULL;
	listing->failed = !copy;
	if (copy) {
		names[listing->count++] = copy;
	}
	return !listing->failed;
}

static int compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Returns whether the file was removed. */
static bool remove_old(const struct flight_recorder *recorder, const char *name)
{
	struct etw_text path = { 0 };
	struct etw_error err = { 0 };
	bool removed = path_in(recorder->config.dir, name, &path) &&
		       os_file_remove(path.data, &err);

	if (!removed) {
		log_warning("Old recording stays", log_text("file", name),
			    log_text("error", err.text));
	}
	text_free(&path);
	return removed;
}

/* Removes the oldest files whose names have this form, until only `keep` are left in addition to
 * the one that stays. If one cannot be removed, the next one goes in its place, so that their
 * number stays limited. */
static void remove_oldest(const struct flight_recorder *recorder, const char *form, size_t keep,
			  const char *stays)
{
	struct listing listing = { .dir = recorder->config.dir, .form = form, .stays = stays };
	size_t left;

	os_folder_list(recorder->config.dir, list_name, &listing);
	left = listing.count;
	if (!listing.failed && left > keep) { /* otherwise the oldest name is unknown */
		sort_items(listing.names, listing.count, sizeof *listing.names, compare_names);
		for (size_t i = 0; i < listing.count && left > keep; i++) {
			left -= remove_old(recorder, listing.names[i]);
		}
	}
	for (size_t i = 0; i < listing.count; i++) {
		free(listing.names[i]);
	}
	free(listing.names);
}

static bool dir_is_writable(const char *dir, struct etw_error *err)
{
	struct etw_text path = { 0 };
	struct os_file *file;

	if (!path_in(dir, "etw_exporter-test", &path)) {
		text_free(&path);
		return error_no_memory(err, "the flight recorder");
	}
	file = os_file_new(path.data, false, err); /* it is never published */
	text_free(&path);
	os_file_close(file);
	return file || error_prefix(err, "recorder: dir: no file can be made in '%s'", dir);
}

bool flight_check_dir(const struct config *config, struct etw_error *err)
{
	const struct yaml_node *recorder = yaml_find(yaml_root(config->tree), "recorder");
	char *dir = file_beside(config->path, config->recorder.dir);
	bool good;

	if (!dir) {
		return error_no_memory(err, "the flight recorder");
	}
	good = file_is_folder(dir) ? dir_is_writable(dir, err) :
				     yaml_describe(config->tree, yaml_find(recorder, "dir"), err,
						   "recorder: dir: '%s' is not a folder", dir);
	free(dir);
	return good;
}

/* ---- one recording ---- */

static void add_name(struct etw_text *name, uint64_t unix_ns)
{
	struct tm utc = { 0 };

	os_utc((time_t)(unix_ns / NS_PER_S), &utc);
	text_add_format(name, "etw_exporter-%04d%02d%02dT%02d%02d%02d.%03dZ.etl",
			utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
			utc.tm_sec, (int)(unix_ns / 1000000 % 1000));
}

static bool look_for_name(void *context, const char *name)
{
	const char **sought = context;

	if (strcmp(name, *sought) == 0) {
		*sought = NULL;
	}
	return *sought != NULL;
}

/* Finds a path that no recording has, not even one from before the clock was set back. */
static bool find_path(const struct flight_recorder *recorder, struct etw_text *path)
{
	uint64_t unix_ns = os_unix_time_ns();
	struct etw_text name = { 0 };
	const char *sought;
	bool good;

	do {
		text_clear(&name);
		add_name(&name, unix_ns);
		unix_ns += 1000000;
		sought = name.data;
		if (!name.failed) {
			os_folder_list(recorder->config.dir, look_for_name, &sought);
		}
	} while (!name.failed && !sought);
	good = !name.failed && path_in(recorder->config.dir, name.data, path);
	text_free(&name);
	return good;
}

static bool has_room(const struct flight_recorder *recorder, struct etw_error *err)
{
	uint64_t needed = recorder->statistics.disk_needed_bytes;
	uint64_t room = os_disk_free_bytes(recorder->config.dir);

	return room >= needed ||
	       error_set(err, ETW_ERROR_LIMIT,
			 "the disk of %s has %" PRIu64 " bytes free; a recording needs %" PRIu64,
			 recorder->config.dir, room, needed);
}

/* Writes a recording. path: gets the path of the recording on success. */
static bool write_file(struct flight_recorder *recorder, struct etw_text *path,
		       struct recording_result *result, struct etw_error *err)
{
	struct tap *taps[TAPS_MOST];

	if (!find_path(recorder, path)) {
		return error_no_memory(err, "a recording");
	}
	return has_room(recorder, err) &&
	       recording_write(path->data, taps, taps_list(recorder->taps, taps),
			       &recorder->stopping, result, err);
}

static void count_recording(struct flight_recorder *recorder, enum flight_result result,
			    const struct recording_result *written)
{
	recorder->statistics.recordings[result]++;
	if (result == FLIGHT_WRITTEN) {
		recorder->statistics.bytes += written->bytes;
		recorder->statistics.lost += written->lost;
		recorder->statistics.left_out += written->too_large + written->other_clock;
		recorder->statistics.last_unix_ns = os_unix_time_ns();
	}
}

/* Writes a recording or refuses to. number: the number of the last request that it serves. */
static void record(struct flight_recorder *recorder, const char *reason, uint64_t number)
{
	struct recording_result written = { 0 };
	struct etw_text path = { 0 };
	struct etw_error err = { 0 };
	uint64_t now = os_monotonic_ns();
	enum flight_result result = FLIGHT_WRITTEN;

	if (now < recorder->next_ns) {
		result = FLIGHT_REFUSED;
		error_set(&err, ETW_ERROR_LIMIT,
			  "the last recording %s; the next one may begin in %" PRIu64 " s",
			  recorder->retrying ? "failed" : "is too recent",
			  (recorder->next_ns - now + NS_PER_S - 1) / NS_PER_S);
	} else if (!write_file(recorder, &path, &written, &err)) {
		result = FLIGHT_FAILED;
		recorder->retrying = true;
		recorder->next_ns = now + RETRY_NS;
	} else {
		recorder->retrying = false;
		recorder->next_ns = now + recorder->config.interval_ms * 1000000;
		remove_oldest(recorder, recording_form, recorder->config.keep - 1,
			      os_path_name(path.data));
	}
	if (result == FLIGHT_WRITTEN) {
		log_info("Recording was written", log_text("file", path.data),
			 log_text("reason", reason), log_u64("events", written.records),
			 log_u64("rundown", written.facts), log_u64("lost", written.lost),
			 log_u64("bytes", written.bytes),
			 log_u64("milliseconds", written.span_ns / 1000000));
	} else {
		log_warning("Recording was not written", log_text("reason", reason),
			    log_text("error", err.text));
	}
	os_mutex_lock(&recorder->lock);
	count_recording(recorder, result, &written);
	recorder->result = result;
	text_clear(&recorder->answer);
	text_add_string(&recorder->answer, result == FLIGHT_WRITTEN ? path.data : err.text);
	if (result == FLIGHT_WRITTEN) {
		text_clear(&recorder->last_file);
		text_add_string(&recorder->last_file, os_path_name(path.data));
		text_clear(&recorder->last_reason);
		text_add_string(&recorder->last_reason, reason);
	}
	recorder->served = number;
	os_condition_wake_all(&recorder->changed);
	os_mutex_unlock(&recorder->lock);
	text_free(&path);
}

/* ---- the thread ---- */

static bool is_stopping(const struct flight_recorder *recorder)
{
	return atomic_load_explicit(&recorder->stopping, memory_order_acquire);
}

/* Waits for a request, at most until `until_ns`. Returns the number of the last request, or 0 if
 * none came. */
static uint64_t wait_for_request(struct flight_recorder *recorder, uint64_t until_ns,
				 char reason[64])
{
	uint64_t number = 0;

	os_mutex_lock(&recorder->lock);
	while (recorder->requested == recorder->served && !is_stopping(recorder) &&
	       os_condition_wait_until(&recorder->changed, &recorder->lock, until_ns)) {
	}
	if (recorder->requested != recorder->served) {
		number = recorder->requested;
		memcpy(reason, recorder->reason, sizeof recorder->reason);
	}
	os_mutex_unlock(&recorder->lock);
	return number;
}

/* Notes what is free on the disk. A scrape must not ask for it, because a folder on a network may
 * answer late. */
static void note_disk(struct flight_recorder *recorder)
{
	uint64_t room = os_disk_free_bytes(recorder->config.dir);

	os_mutex_lock(&recorder->lock);
	recorder->statistics.disk_free_bytes = room;
	os_mutex_unlock(&recorder->lock);
}

static void run(void *context)
{
	struct flight_recorder *recorder = context;
	uint64_t look_ns = os_monotonic_ns();

	while (!is_stopping(recorder)) {
		char reason[sizeof recorder->reason];
		uint64_t number = wait_for_request(recorder, look_ns, reason);
		const char *fires;

		if (number > 0) {
			record(recorder, reason, number);
			continue;
		}
		if (os_monotonic_ns() < look_ns) {
			continue;
		}
		look_ns = os_monotonic_ns() + NS_PER_S;
		note_disk(recorder);
		fires = triggers_evaluate(recorder->triggers, recorder->registry,
					  os_monotonic_ns());
		if (fires) {
			record(recorder, fires, recorder->served);
		}
	}
}

bool flight_start(struct flight_recorder *recorder, struct etw_error *err)
{
	const char *advice = os_folder_open_to_others(recorder->config.dir);

	if (advice) {
		log_warning("Others may remove and replace recordings, because they may write to "
			    "the folder",
			    log_text("folder", recorder->config.dir), log_text("remedy", advice));
	}
	remove_oldest(recorder, partial_form, 0, NULL);
	recorder->started = os_thread_start(&recorder->thread, run, recorder, err);
	return recorder->started;
}

void flight_stop(struct flight_recorder *recorder)
{
	if (!recorder || !recorder->started) {
		return;
	}
	os_mutex_lock(&recorder->lock);
	atomic_store_explicit(&recorder->stopping, true, memory_order_release);
	os_condition_wake_all(&recorder->changed);
	os_mutex_unlock(&recorder->lock);
	os_thread_join(&recorder->thread);
	recorder->started = false;
}

/* ---- requests ---- */

/* Takes a number for a request. The caller holds the lock. */
static uint64_t ask(struct flight_recorder *recorder, const char *reason)
{
	size_t size = strlen(reason);

	size = size < sizeof recorder->reason ? size : sizeof recorder->reason - 1;
	memcpy(recorder->reason, reason, size);
	recorder->reason[size] = '\0';
	os_condition_wake_all(&recorder->changed);
	return ++recorder->requested;
}

void flight_ask(struct flight_recorder *recorder, const char *reason)
{
	os_mutex_lock(&recorder->lock);
	ask(recorder, reason);
	os_mutex_unlock(&recorder->lock);
}

enum flight_result flight_request(struct flight_recorder *recorder, const char *reason,
				  struct etw_text *answer)
{
	enum flight_result result = FLIGHT_FAILED;
	uint64_t number;

	os_mutex_lock(&recorder->lock);
	number = ask(recorder, reason);
	while (recorder->served < number && !is_stopping(recorder)) {
		os_condition_wait(&recorder->changed, &recorder->lock, NS_PER_S);
	}
	if (recorder->served < number) {
		text_add_string(answer, "the program is stopping");
	} else {
		result = recorder->result;
		text_add_string(answer, recorder->answer.data ? recorder->answer.data : "");
		answer->failed |= recorder->answer.failed;
	}
	os_mutex_unlock(&recorder->lock);
	return result;
}

void flight_statistics(struct flight_recorder *recorder, struct flight_statistics *statistics)
{
	struct tap *taps[TAPS_MOST];
	size_t count = taps_list(recorder->taps, taps);
	bool spans = false;

	os_mutex_lock(&recorder->lock);
	*statistics = recorder->statistics;
	os_mutex_unlock(&recorder->lock);
	for (size_t i = 0; i < count; i++) {
		struct ring_statistics ring;

		ring_statistics(tap_ring(taps[i]), &ring);
		statistics->records += ring.added;
		statistics->overwritten += ring.overwritten;
		statistics->left_out += ring.too_large;
		statistics->facts_dropped += ring.facts_dropped;
		if (ring.added > ring.overwritten &&
		    (!spans || ring.span_ns < statistics->span_ns)) {
			statistics->span_ns = ring.span_ns;
			spans = true;
		}
	}
}

bool flight_last_recording(struct flight_recorder *recorder, struct etw_text *file,
			   struct etw_text *reason)
{
	bool there;

	os_mutex_lock(&recorder->lock);
	there = recorder->last_file.size > 0 && recorder->last_reason.size > 0;
	if (there) {
		text_add_string(file, recorder->last_file.data);
		text_add_string(reason, recorder->last_reason.data);
	}
	os_mutex_unlock(&recorder->lock);
	return there && !file->failed && !reason->failed;
}

/* ---- making and ending ---- */

static const char **copy_texts(const char *const *texts, size_t count)
{
	const char **copy = calloc(count + 1, sizeof *copy);

	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = text_duplicate(texts[i], strlen(texts[i]));
		if (!copy[i]) {
			while (i > 0) {
				free((void *)(uintptr_t)copy[--i]);
			}
			free((void *)copy);
			return NULL;
		}
	}
	return copy;
}

static void free_texts(const char **texts, size_t count)
{
	for (size_t i = 0; texts && i < count; i++) {
		free((void *)(uintptr_t)texts[i]);
	}
	free((void *)texts);
}

/* Copies the configuration, because a reload frees the one from which the recorder was made. */
static bool copy_config(struct config_recorder *to, const struct config *config)
{
	const struct config_recorder *from = &config->recorder;

	*to = *from;
	to->rules = NULL;
	to->rule_count = 0;
	to->dir = file_beside(config->path, from->dir);
	to->providers = copy_texts(from->providers, from->provider_count);
	to->processes = copy_texts(from->processes, from->process_count);
	return to->dir && to->providers && to->processes;
}

struct flight_recorder *flight_new(const struct config *config, struct registry *registry,
				   size_t consumers, bool grows, struct etw_error *err)
{
	struct flight_recorder *recorder = calloc(1, sizeof *recorder);

	if (!recorder) {
		error_no_memory(err, "the flight recorder");
		return NULL;
	}
	os_mutex_init(&recorder->lock);
	os_condition_init(&recorder->changed);
	recorder->registry = registry;
	recorder->statistics.last_unix_ns = UINT64_MAX;
	recorder->statistics.disk_free_bytes = UINT64_MAX;
	recorder->statistics.disk_needed_bytes = 2 * config->recorder.memory_bytes;
	if (!copy_config(&recorder->config, config)) {
		error_no_memory(err, "the flight recorder");
		goto fail;
	}
	recorder->triggers = triggers_new(&config->recorder, err);
	if (!recorder->triggers || !flight_check_dir(config, err)) {
		goto fail;
	}
	recorder->taps = taps_new(&recorder->config, consumers, grows, err);
	if (!recorder->taps) {
		goto fail;
	}
	return recorder;

fail:
	flight_free(recorder);
	return NULL;
}

void flight_free(struct flight_recorder *recorder)
{
	if (!recorder) {
		return;
	}
	flight_stop(recorder);
	taps_free(recorder->taps);
	triggers_free(recorder->triggers);
	free((void *)(uintptr_t)recorder->config.dir);
	free_texts(recorder->config.providers, recorder->config.provider_count);
	free_texts(recorder->config.processes, recorder->config.process_count);
	text_free(&recorder->answer);
	text_free(&recorder->last_file);
	text_free(&recorder->last_reason);
	os_condition_done(&recorder->changed);
	os_mutex_done(&recorder->lock);
	free(recorder);
}

struct taps *flight_taps(struct flight_recorder *recorder)
{
	return recorder ? recorder->taps : NULL;
}
