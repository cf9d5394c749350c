/* SPDX-License-Identifier: MIT */
/*
 * The source that replays a recording in two passes.
 *
 * The first pass reads the file in file order, builds the index and shows each record to
 * on_first_pass of the sink, so that names and schemas at the end of the file are known from the
 * beginning. The second pass delivers the records in time order. With the option single_pass
 * there is one pass, ordered within a window.
 *
 * The pass in file order counts the damage, from 0 in each run, because the file may have changed
 * since the run before. Delivered records and buffers are counted over all runs. The statistics
 * belong to the thread of the source and are published to other threads once for each buffer.
 */

#include <stdlib.h>
#include <string.h>

#include <etw/recording.h>

#include "base/text.h"
#include "lib/etl/file.h"
#include "lib/etl/index.h"
#include "lib/etl/order.h"
#include "lib/source/source_internal.h"

struct file_source {
	struct etw_source source; /* must be the first member */
	struct etw_file *file;
	struct etl_index index;
	bool indexed;
	bool single_pass;
	char *name;
	struct etw_damage damage;
	struct etl_progress progress;
	/* for the thread of the source; published once for each buffer */
	struct etw_source_statistics statistics;
	const struct etw_event_sink *sink; /* sink of the current run; borrowed */
};

static void publish(struct file_source *source, uint64_t bytes_read)
{
	struct etw_source_statistics *statistics = &source->statistics;

	statistics->buffers = source->progress.buffers;
	statistics->records = source->progress.records;
	statistics->late_records = source->progress.late_records;
	statistics->last_time = source->progress.last_time;
	statistics->bytes_read = bytes_read;
	statistics->bad_buffers = source->damage.bad_buffers;
	statistics->bad_bytes = source->damage.bad_bytes;
	statistics->bad_records = source->damage.bad_records;
	statistics->truncated = source->damage.truncated;
	source_publish(&source->source, statistics);
}

static void on_buffer(void *context, uint64_t bytes_read)
{
	struct file_source *source = context;

	publish(source, bytes_read);
	if (source->sink->on_buffer) {
		source->sink->on_buffer(source->sink->context);
	}
}

/* The first pass: builds the index and shows the records to the sink. */
static bool first_pass(struct file_source *source, const struct etw_event_sink *sink,
		       struct etw_error *err)
{
	struct etw_visitor visitor = {
		.record_context = sink->context,
		.on_record = sink->on_first_pass,
		.only = sink->first_pass_choice,
		.only_ids = sink->first_pass_ids,
		.buffer_context = source,
		.on_buffer = on_buffer,
		.stopping = &source->source.stopping,
	};

	source->damage = (struct etw_damage){ 0 };
	source->indexed = false;
	if (!etl_index_build(&source->index, source->file, &source->damage, &visitor, err)) {
		return false;
	}
	source->indexed = !etw_source_stopping(&source->source);
	if (source->indexed && sink->on_first_pass_end) {
		sink->on_first_pass_end(sink->context);
	}
	return true;
}

/* The pass in time order. With single_pass it is the only pass. */
static bool second_pass(struct file_source *source, const struct etw_event_sink *sink,
			struct etw_error *err)
{
	struct etw_visitor visitor = {
		.record_context = sink->context,
		.on_record = sink->on_event,
		.buffer_context = source,
		.on_buffer = on_buffer,
		.stopping = &source->source.stopping,
	};

	if (source->single_pass) {
		return etl_order_stream(source->file, ETL_WINDOW_MAX, &source->damage,
					&source->progress, &visitor, err);
	}
	return etl_order_run(source->file, &source->index, ETL_OPEN_MAX, &source->progress,
			     &visitor, err);
}

static bool file_run(struct etw_source *base, const struct etw_event_sink *sink,
		     struct etw_error *err)
{
	struct file_source *source = (struct file_source *)base;
	bool good;

	source->sink = sink;
	if (source->single_pass) {
		source->damage = (struct etw_damage){ 0 };
		good = second_pass(source, sink, err);
	} else {
		good = (source->indexed && !sink->on_first_pass) || first_pass(source, sink, err);
		if (good && source->indexed) {
			good = second_pass(source, sink, err);
		}
	}
	publish(source, good && !etw_source_stopping(base) ? source->statistics.bytes_total :
							     source->statistics.bytes_read);
	source->sink = NULL;
	return good;
}

static void file_close(struct etw_source *base)
{
	struct file_source *source = (struct file_source *)base;

	etl_index_done(&source->index);
	etw_file_close(source->file);
	free(source->name);
	source_done(base);
	free(source);
}

static const struct source_operations operations = { .run = file_run, .close = file_close };

/* Returns the last component of a path of Linux or Windows. */
static const char *base_name(const char *path)
{
	const char *name = path;

	for (const char *at = path; *at; at++) {
		if ((*at == '/' || *at == '\\') && at[1]) {
			name = at + 1;
		}
	}
	return name;
}

const char *etw_source_file_change(struct etw_source *source)
{
	return etl_input_change(&((struct file_source *)source)->file->input);
}

struct etw_source *etw_source_open_file(const char *path,
					const struct etw_source_file_options *options,
					struct etw_error *err)
{
	struct file_source *source = calloc(1, sizeof *source);
	const char *name = base_name(path);
	const struct etw_header *header;

	if (!source) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	source_init(&source->source, &operations);
	source->single_pass = options && options->single_pass;
	source->index.entries_max = ETL_INDEX_MAX;
	source->index.keep_bytes = ETL_KEEP_MAX;
	source->progress.last_time = ETW_RECORD_NO_TIME;
	source->name = text_duplicate(name, strlen(name));
	if (source->name && options && options->path_count > 0) {
		source->file = etl_file_open_all(options->paths, options->path_count,
						 options->pointer_size, err);
	} else if (source->name && options && options->bytes) {
		source->file =
			etw_file_over(options->bytes, options->size, options->pointer_size, err);
	} else if (source->name) {
		source->file = etw_file_open(path, options ? options->pointer_size : 0, err);
	} else {
		error_no_memory(err, "a recording");
	}
	if (!source->file) {
		file_close(&source->source);
		return NULL;
	}
	header = &source->file->header;
	source->statistics = (struct etw_source_statistics){
		.events_lost = header->events_lost,
		.buffers_lost = header->buffers_lost,
		.buffers_written = header->buffers_written,
		.buffer_size_bytes = header->buffer_size_bytes,
		.bytes_total = source->file->input.size_bytes,
		.last_time = ETW_RECORD_NO_TIME,
	};
	source_publish(&source->source, &source->statistics);
	source->source.facts = (struct etw_source_facts){
		.name = source->name,
		.type = "replay",
		.mode = etw_header_mode_name(header),
		.doubt = source->file->set_doubt,
		.os_build = header->os_build,
		.processors = header->processors,
		.clock = source->file->format.clock,
	};
	return &source->source;
}
