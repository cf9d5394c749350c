/* SPDX-License-Identifier: MIT */
/*
 * Traces: recordings and live sessions behind one callback.
 *
 * A trace is a source (include/etw/source.h), which delivers records, and a decoder, which makes
 * events from them. The callback gets the source's record without a copy.
 *
 * Callers are not trusted to call functions in the right order. Each function first checks that its
 * handle is open, and one atomic state says whether the trace runs. So a second etw_run() fails,
 * and etw_close() of a running trace leaves freeing it to the end of etw_run(), which may have
 * called etw_close() through the callback.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <etw/kernel.h>
#include <etw/recording.h>
#include <etw/session.h>

#include "lib/face/face_internal.h"

enum state { IDLE, RUNNING, CLOSING };

struct etw_trace {
	struct etw_source *source; /* owned */
	struct etw_decoder decoder;
	bool live;
	bool two_passes;
	bool schemas_known; /* a first pass has collected schemas */
	bool has_run;
	atomic_int state; /* enum state */
	/* How the recording changed during the last run: a string literal, or NULL. */
	_Atomic(const char *) file_change;
	struct etw_callbacks callbacks; /* callbacks of the run */
	struct etw_kernel_choice first_pass_choice;
	struct etw_id_choice first_pass_ids;
	void (*on_notice)(void *context, const char *sentence);
	void *notice_context;
};

/* ---- opening and closing ---- */

static bool is_open(const struct etw_trace *trace, struct etw_error *err)
{
	return face_handle_is_open(trace) ||
	       error_set(err, ETW_ERROR_MISUSE, "the trace is %s", trace ? "closed" : "NULL");
}

static void free_trace(struct etw_trace *trace)
{
	etw_source_close(trace->source);
	face_decoder_close(&trace->decoder);
	free(trace);
}

static struct etw_trace *new_trace(const struct face_decoder_options *options,
				   struct etw_error *err)
{
	struct etw_trace *trace = calloc(1, sizeof *trace);

	if (!trace) {
		error_no_memory(err, "a trace");
		return NULL;
	}
	atomic_init(&trace->state, IDLE);
	trace->live = options->live;
	trace->two_passes = !options->learns;
	face_decoder_choose(&trace->first_pass_choice, &trace->first_pass_ids);
	if (!face_decoder_open(&trace->decoder, options, err)) {
		free_trace(trace);
		return NULL;
	}
	return trace;
}

/* Registers the handle of a trace that has its source. Frees the trace on failure. */
static struct etw_trace *finish_opening(struct etw_trace *trace, struct etw_error *err)
{
	if (trace && (!trace->source || !face_handle_add(trace, err))) {
		free_trace(trace);
		return NULL;
	}
	return trace;
}

static struct etw_trace *open_file(const char *path, const void *bytes, size_t size,
				   const struct etw_recording_options *options,
				   struct etw_error *err)
{
	static const struct etw_recording_options none;
	struct etw_source_file_options file = { .bytes = bytes, .size = size };
	struct face_decoder_options decoder = { .live = false };
	struct etw_trace *trace;

	options = options ? options : &none;
	if (!face_check_pointer_size(options->pointer_size, err)) {
		return NULL;
	}
	file.pointer_size = options->pointer_size;
	file.single_pass = options->single_pass;
	decoder.manifests = options->manifests;
	decoder.manifest_count = options->manifest_count;
	decoder.learns = options->single_pass;
	trace = new_trace(&decoder, err);
	if (trace) {
		trace->source = etw_source_open_file(path, &file, err);
		if (bytes && !trace->source) {
			error_prefix(err, FACE_IN_MEMORY);
		}
	}
	return finish_opening(trace, err);
}

struct etw_trace *etw_open_recording(const char *path, const struct etw_recording_options *options,
				     struct etw_error *err)
{
	if (!face_check_path(path, "recording", err)) {
		return NULL;
	}
	return open_file(path, NULL, 0, options, err);
}

struct etw_trace *etw_open_bytes(const void *bytes, size_t size,
				 const struct etw_recording_options *options, struct etw_error *err)
{
	if (!bytes) {
		error_set(err, ETW_ERROR_MISUSE, "the recording is NULL");
		return NULL;
	}
	return open_file("memory", bytes, size, options, err);
}

void etw_close(struct etw_trace *trace)
{
	int state = IDLE;

	if (!face_handle_remove(trace)) {
		return;
	}
	etw_source_stop(trace->source);
	/* Either this thread frees the trace, or the one that runs it. */
	if (atomic_compare_exchange_strong(&trace->state, &state, CLOSING)) {
		free_trace(trace);
		return;
	}
	state = RUNNING;
	if (!atomic_compare_exchange_strong(&trace->state, &state, CLOSING)) {
		free_trace(trace); /* the run has ended meanwhile */
	}
}

/* ---- live sessions ---- */

const char *etw_kernel_flag(size_t number)
{
	return number < ETW_KERNEL_FLAG_COUNT + ETW_KERNEL_GROUP_COUNT ?
		       etw_kernel_flag_names[number] :
		       NULL;
}

static bool read_kernel_flags(const struct etw_session_options *options,
			      struct etw_live_options *live, struct etw_error *err)
{
	if (options->kernel_flag_count > 0 && !options->kernel_flags) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "kernel_flags is NULL, and their count is not 0");
	}
	for (size_t i = 0; i < options->kernel_flag_count; i++) {
		const char *name = options->kernel_flags[i];
		unsigned number = 0;

		if (!name) {
			return error_set(err, ETW_ERROR_MISUSE, "kernel flag number %zu is NULL",
					 i);
		}
		while (etw_kernel_flag_names[number] &&
		       strcmp(etw_kernel_flag_names[number], name) != 0) {
			number++;
		}
		if (!etw_kernel_flag_names[number]) {
			return error_set(err, ETW_ERROR_CONFIG, "there is no kernel flag \"%s\"",
					 name);
		}
		if (number < ETW_KERNEL_FLAG_COUNT) {
			live->kernel_flags |= etw_kernel_flag_values[number];
		} else {
			live->kernel_groups |= 1U << (number - ETW_KERNEL_FLAG_COUNT);
		}
	}
	return true;
}

static void free_providers(struct etw_provider_spec *specs, size_t count)
{
	for (size_t i = 0; specs && i < count; i++) {
		etw_provider_spec_done(&specs[i]);
	}
	free(specs);
}

/* The caller frees *specs, also after a failure. */
static bool read_providers(const struct etw_session_options *options,
			   struct etw_provider_spec **specs, struct etw_error *err)
{
	size_t count = options->provider_count;

	if (count > 0 && !options->providers) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "providers is NULL, and their count is not 0");
	}
	*specs = calloc(count + 1, sizeof **specs);
	if (!*specs) {
		return error_no_memory(err, "the providers of a session");
	}
	for (size_t i = 0; i < count; i++) {
		if (!options->providers[i]) {
			return error_set(err, ETW_ERROR_MISUSE, "provider number %zu is NULL", i);
		}
		if (!etw_provider_spec_parse(&(*specs)[i], options->providers[i], err)) {
			return error_prefix(err, "provider \"%s\"", options->providers[i]);
		}
	}
	return true;
}

static void on_session_event(void *context, enum etw_session_event event, const char *sentence)
{
	const struct etw_trace *trace = context;

	(void)event;
	if (trace->on_notice) {
		trace->on_notice(trace->notice_context, sentence);
	}
}

enum {
	BUFFER_LEAST = 16 << 10, /* bytes */
	BUFFER_MOST = 1 << 20,
	BUFFERS_LEAST = 2,
	BUFFERS_MOST = 65536,
	FLUSH_MOST_MS = 3600000,
};

/* Checks the sizes and numbers of buffers. 0 always stands for the default. */
static bool check_buffers(const struct etw_session_options *options, struct etw_error *err)
{
	uint64_t size = options->buffer_size_bytes, flush_ms = options->flush_ms;
	uint32_t least = options->buffers_min, most = options->buffers_max;

	if (size != 0 && (size < BUFFER_LEAST || size > BUFFER_MOST || size % 1024 != 0)) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "buffer_size_bytes is %" PRIu64
				 "; it can be a multiple of 1024 from %d to %d",
				 size, BUFFER_LEAST, BUFFER_MOST);
	}
	if ((least != 0 && (least < BUFFERS_LEAST || least > BUFFERS_MOST)) ||
	    (most != 0 && (most < BUFFERS_LEAST || most > BUFFERS_MOST || most < least))) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "the numbers of buffers are %" PRIu32 " and %" PRIu32
				 "; they can be from %d to %d, the second not below the first",
				 least, most, BUFFERS_LEAST, BUFFERS_MOST);
	}
	return (flush_ms % 1000 == 0 && flush_ms <= FLUSH_MOST_MS) ||
	       error_set(err, ETW_ERROR_MISUSE,
			 "flush_ms is %" PRIu64 "; it can be whole seconds up to an hour",
			 flush_ms);
}

static bool is_complete(const struct etw_session_options *options, struct etw_error *err)
{
	if (!options || !options->name || !options->name[0]) {
		return error_set(err, ETW_ERROR_MISUSE, "the session has no name");
	}
	if (options->provider_count == 0 && options->kernel_flag_count == 0) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "the session has neither providers nor kernel flags");
	}
	return check_buffers(options, err);
}

static struct etw_source *
open_live(struct etw_trace *trace, const struct etw_session_options *options, struct etw_error *err)
{
	struct etw_live_options live = {
		.name = options->name,
		.buffer_size_bytes = options->buffer_size_bytes,
		.buffers_min = options->buffers_min,
		.buffers_max = options->buffers_max,
		.flush_ms = options->flush_ms,
		.provider_count = options->provider_count,
		.on_session_event = on_session_event,
		.session_event_context = trace,
	};
	struct etw_provider_spec *specs = NULL;
	struct etw_source *source = NULL;

	if (read_kernel_flags(options, &live, err) && read_providers(options, &specs, err)) {
		live.logger = options->kernel_flag_count > 0 ? ETW_LIVE_PRIVATE : ETW_LIVE_USER;
		live.providers = specs;
		source = etw_source_open_live(&live, err);
	}
	free_providers(specs, options->provider_count);
	return source;
}

struct etw_trace *etw_open_session(const struct etw_session_options *options, struct etw_error *err)
{
	struct face_decoder_options decoder = { .live = true, .learns = true };
	struct etw_trace *trace;

	if (!is_complete(options, err)) {
		return NULL;
	}
	if (!etw_here(err)) {
		error_prefix(err, "session %s", options->name);
		return NULL;
	}
	decoder.manifests = options->manifests;
	decoder.manifest_count = options->manifest_count;
	trace = new_trace(&decoder, err);
	if (trace) {
		trace->on_notice = options->on_notice;
		trace->notice_context = options->notice_context;
		trace->source = open_live(trace, options, err);
	}
	return finish_opening(trace, err);
}

/* ---- running ---- */

static void on_first_pass(void *context, const struct etw_record *record)
{
	struct etw_trace *trace = context;

	face_decoder_look(&trace->decoder, record);
}

static void on_first_pass_end(void *context)
{
	struct etw_trace *trace = context;

	etw_trace_schemas_finish(trace->decoder.trace);
	trace->schemas_known = true;
}

static void on_event(void *context, const struct etw_record *record)
{
	struct etw_trace *trace = context;
	struct etw_event *event = face_decoder_show(&trace->decoder, record);

	if (!event) {
		etw_source_stop(trace->source); /* no memory; etw_run() reports that */
		return;
	}
	trace->callbacks.on_event(trace->callbacks.context, event);
}

static void on_buffer(void *context)
{
	struct etw_trace *trace = context;

	face_decoder_hide(&trace->decoder);
	trace->callbacks.on_buffer(trace->callbacks.context);
}

static bool run(struct etw_trace *trace, struct etw_error *err)
{
	bool looks = trace->two_passes && !trace->schemas_known;
	const struct etw_event_sink sink = {
		.context = trace,
		.on_first_pass = looks ? on_first_pass : NULL,
		.first_pass_choice = &trace->first_pass_choice,
		.first_pass_ids = &trace->first_pass_ids,
		.on_first_pass_end = looks ? on_first_pass_end : NULL,
		.on_event = on_event,
		.on_buffer = trace->callbacks.on_buffer ? on_buffer : NULL,
	};
	bool done;

	if (etw_source_stopping(trace->source)) {
		return true;
	}
	if (trace->live && trace->has_run) {
		return error_set(err, ETW_ERROR_MISUSE, "the session has ended");
	}
	trace->has_run = true;
	face_decoder_begin(&trace->decoder);
	done = etw_source_run(trace->source, &sink, err);
	if (!trace->live) {
		atomic_store(&trace->file_change, etw_source_file_change(trace->source));
	}
	return face_decoder_end(&trace->decoder, done ? err : NULL) && done;
}

bool etw_run(struct etw_trace *trace, const struct etw_callbacks *callbacks, struct etw_error *err)
{
	int state = IDLE;
	bool done;

	if (!is_open(trace, err)) {
		return false;
	}
	if (!callbacks || !callbacks->on_event) {
		return error_set(err, ETW_ERROR_MISUSE, "there is no callback for events");
	}
	if (!atomic_compare_exchange_strong(&trace->state, &state, RUNNING)) {
		return error_set(err, ETW_ERROR_MISUSE, "the trace runs already");
	}
	trace->callbacks = *callbacks;
	done = run(trace, err);
	state = RUNNING;
	if (!atomic_compare_exchange_strong(&trace->state, &state, IDLE)) {
		free_trace(trace); /* it was closed meanwhile */
	}
	return done;
}

void etw_stop(struct etw_trace *trace)
{
	if (face_handle_is_open(trace)) {
		etw_source_stop(trace->source);
	}
}

/* ---- what is known about a trace ---- */

bool etw_facts(const struct etw_trace *trace, struct etw_facts *facts, struct etw_error *err)
{
	const struct etw_source_facts *known;

	if (!is_open(trace, err)) {
		return false;
	}
	if (!facts) {
		return error_set(err, ETW_ERROR_MISUSE, "there is no place for the facts");
	}
	known = etw_source_facts(trace->source);
	*facts = (struct etw_facts){
		.name = known->name,
		.live = trace->live,
		.os_build = known->os_build,
		.processors = known->processors,
		.clock = etw_clock_type_name(known->clock.type),
		.clock_frequency = known->clock.frequency,
		.timer_frequency = known->clock.perf_frequency,
		.missing_files = known->doubt,
	};
	return true;
}

bool etw_losses(const struct etw_trace *trace, struct etw_losses *losses, struct etw_error *err)
{
	struct etw_source_statistics statistics;

	if (!is_open(trace, err)) {
		return false;
	}
	if (!losses) {
		return error_set(err, ETW_ERROR_MISUSE, "there is no place for the losses");
	}
	etw_source_statistics(trace->source, &statistics);
	*losses = (struct etw_losses){
		.events_lost = statistics.events_lost,
		.buffers_lost = statistics.buffers_lost + statistics.realtime_buffers_lost,
		.damaged_buffers = statistics.bad_buffers,
		.damaged_records = statistics.bad_records,
		.late_events = statistics.late_records,
		.truncated = statistics.truncated,
		.file_change = atomic_load(&trace->file_change),
	};
	return true;
}
