/* SPDX-License-Identifier: MIT */
/*
 * The relogger of the face, on top of include/etw/mirror.h.
 *
 * The mirror moves the bytes of records; the decoder makes an event of each, so that the callback
 * can look at names and fields. The layouts are collected in a pass before the copy.
 *
 * A changed record is built in one of two blocks. The first change copies the record there. Header
 * values are then changed in place. A new payload is written to the other block, because it moves
 * everything after the header. So changes can be made in any order, and each more than once.
 */
#include <etw/kernel.h>
#include <etw/mirror.h>
#include <etw/relog.h>

#include <stdlib.h>
#include <string.h>

#include "lib/etl/index.h"
#include "lib/etl/writer.h"
#include "lib/face/face_internal.h"

/* ---- recordings of only new events ---- */

/*
 * Makes new events, and recordings of only such events, on top of lib/etl/writer.h.
 */

enum { BUFFER_SIZE = 128 << 10 /* any record fits */ };

struct etw_new_recording {
	struct etw_writer *writer;
	uint16_t processors;
};

/* ---- new events ---- */

static bool check(const struct etw_new_event *event, struct etw_error *err)
{
	if (!event || !event->provider) {
		return error_set(err, ETW_ERROR_MISUSE, "the new event has no provider");
	}
	if (event->payload_size > 0 && !event->payload) {
		return error_set(err, ETW_ERROR_MISUSE, "the payload of the new event is NULL");
	}
	if (event->payload_size > UINT16_MAX) {
		return error_set(err, ETW_ERROR_LIMIT, "a payload of %zu bytes fits into no record",
				 event->payload_size);
	}
	return face_check_pointer_size(event->pointer_size, err);
}

/* Makes a record that borrows payload and provider of the event. Returns false if the event is
 * invalid. */
static bool new_record(const struct etw_new_event *event, struct etw_out_record *record,
		       struct etw_error *err)
{
	if (!check(event, err)) {
		return false;
	}
	*record = (struct etw_out_record){
		.type = event->classic ? ETW_RECORD_FULL : ETW_RECORD_EVENT,
		.group = ETW_RECORD_NO_GROUP,
		.pointer_size = event->pointer_size,
		.processor = event->processor,
		.raw_time = event->raw_time,
		.process_id = event->process_id,
		.thread_id = event->thread_id,
		.opcode = event->opcode,
		.version = event->version,
		.level = event->level,
		.channel = event->channel,
		.id = event->id,
		.task = event->task,
		.keyword = event->keyword,
		.provider = event->provider,
		.payload = event->payload,
		.payload_size = event->payload_size,
	};
	if (event->classic) {
		record->group = etw_kernel_record_group(event->provider, event->opcode);
		record->type = record->group != ETW_RECORD_NO_GROUP ? ETW_RECORD_SYSTEM :
								      ETW_RECORD_FULL;
	}
	return etw_out_record_size(record) <= UINT16_MAX ||
	       error_set(err, ETW_ERROR_LIMIT, "a payload of %zu bytes fits into no record",
			 event->payload_size);
}

/* ---- writers ---- */

static bool writer_is_open(const struct etw_new_recording *writer, struct etw_error *err)
{
	return face_handle_is_open(writer) ||
	       error_set(err, ETW_ERROR_MISUSE, "the writer is %s", writer ? "closed" : "NULL");
}

struct etw_new_recording *etw_open_writer(const char *path,
					  const struct etw_new_recording_options *options,
					  struct etw_error *err)
{
	static const struct etw_new_recording_options none;
	struct etw_writer_options etl = { .buffer_size = BUFFER_SIZE };
	struct etw_new_recording *writer;

	options = options ? options : &none;
	if (!face_check_path(path, "recording", err) ||
	    !face_check_pointer_size(options->pointer_size, err)) {
		return NULL;
	}
	etl.session_name = options->session_name;
	etl.processors = options->processors ? options->processors : 1;
	etl.pointer_size = options->pointer_size;
	etl.compressed = options->compressed;
	etl.os_build = options->os_build;
	etl.perf_frequency = options->clock_frequency;
	etl.start_time = options->start_time;
	writer = calloc(1, sizeof *writer);
	if (!writer) {
		error_no_memory(err, "a recording");
		return NULL;
	}
	writer->processors = etl.processors;
	writer->writer = etw_writer_open(path, &etl, err);
	if (!writer->writer || !face_handle_add(writer, err)) {
		etw_writer_close(writer->writer);
		free(writer);
		return NULL;
	}
	return writer;
}

bool etw_write(struct etw_new_recording *writer, const struct etw_new_event *event,
	       struct etw_error *err)
{
	struct etw_out_record record;

	if (!writer_is_open(writer, err) || !new_record(event, &record, err)) {
		return false;
	}
	if (record.processor >= writer->processors) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "processor %u: the recording has %u of them",
				 (unsigned)record.processor, (unsigned)writer->processors);
	}
	etw_writer_add(writer->writer, &record);
	return etw_writer_good(writer->writer, err);
}

bool etw_close_writer(struct etw_new_recording *writer, struct etw_error *err)
{
	bool good;

	if (!writer_is_open(writer, err)) {
		return false;
	}
	face_handle_remove(writer);
	good = etw_writer_finish(writer->writer, err);
	etw_writer_close(writer->writer);
	free(writer);
	return good;
}

enum state { OPEN, RUNNING, COPIED, FAILED, FINISHED };

struct etw_relog {
	enum state state;
	struct etw_error failure; /* error of etw_relog_run() */
	struct etw_error refused; /* error of the last failed change in this callback */
	struct etw_decoder decoder;
	struct etw_file *file;
	struct etw_mirror *mirror;
	bool in_memory;           /* the result is in memory */
	struct etw_damage damage; /* damage that the copy found */
	struct etw_added_records added;
	etw_decide *decide;
	void *context;

	/* Record of the current event; NULL outside of the callback. */
	const struct etw_record *record;
	struct etw_mirror_bytes bytes; /* bytes of the record with the changes so far */
	struct etw_record changed;     /* the changed record; its payload points into `bytes` */
	bool has_changed;
	uint8_t blocks[2][UINT16_MAX + 1];
	unsigned block; /* index of the block that contains `bytes` */
};

/* ---- opening ---- */

static bool is_open(const struct etw_relog *relog, struct etw_error *err)
{
	return face_handle_is_open(relog) ||
	       error_set(err, ETW_ERROR_MISUSE, "the relog is %s", relog ? "closed" : "NULL");
}

static void free_relog(struct etw_relog *relog)
{
	etw_mirror_close(relog->mirror);
	etw_file_close(relog->file);
	etw_added_records_done(&relog->added);
	face_decoder_close(&relog->decoder);
	free(relog);
}

static bool check_options(const struct etw_relog_options *options, struct etw_error *err)
{
	if (!face_check_pointer_size(options->pointer_size, err)) {
		return false;
	}
	return (options->packing >= ETW_AS_READ && options->packing <= ETW_COMPRESSED) ||
	       error_set(err, ETW_ERROR_MISUSE, "there is no packing with the number %d",
			 (int)options->packing);
}

static bool open_parts(struct etw_relog *relog, const char *output,
		       const struct etw_relog_options *options, struct etw_error *err)
{
	static const enum etw_packing packings[] = { [ETW_AS_READ] = ETW_AS_READ,
						     [ETW_PLAIN] = ETW_PLAIN,
						     [ETW_COMPRESSED] = ETW_COMPRESSED };
	const struct face_decoder_options decoder = { .manifests = options->manifests,
						      .manifest_count = options->manifest_count };
	const struct etw_mirror_form form = { packings[options->packing], options->threads };

	if (!relog->file || !face_decoder_open(&relog->decoder, &decoder, err)) {
		return false;
	}
	relog->in_memory = output == NULL;
	relog->mirror = etw_mirror_open(output, form, &relog->file, 1, err);
	return relog->mirror && face_handle_add(relog, err);
}

/* path is NULL for a recording in memory. */
static struct etw_relog *open_relog(const char *path, const void *bytes, size_t size,
				    const char *output, const struct etw_relog_options *options,
				    struct etw_error *err)
{
	static const struct etw_relog_options none;
	struct etw_relog *relog;

	options = options ? options : &none;
	if (!check_options(options, err) || (output && !face_check_path(output, "output", err))) {
		return NULL;
	}
	relog = calloc(1, sizeof *relog);
	if (!relog) {
		error_no_memory(err, "a relog");
		return NULL;
	}
	relog->file = path ? etw_file_open(path, options->pointer_size, err) :
			     etw_file_over(bytes, size, options->pointer_size, err);
	if (!path && !relog->file) {
		error_prefix(err, FACE_IN_MEMORY);
	}
	if (!open_parts(relog, output, options, err)) {
		free_relog(relog);
		return NULL;
	}
	return relog;
}

struct etw_relog *etw_open_relog(const char *input, const char *output,
				 const struct etw_relog_options *options, struct etw_error *err)
{
	if (!face_check_path(input, "recording", err)) {
		return NULL;
	}
	return open_relog(input, NULL, 0, output, options, err);
}

struct etw_relog *etw_open_relog_bytes(const void *bytes, size_t size, const char *output,
				       const struct etw_relog_options *options,
				       struct etw_error *err)
{
	if (!bytes) {
		error_set(err, ETW_ERROR_MISUSE, "the recording is NULL");
		return NULL;
	}
	return open_relog(NULL, bytes, size, output, options, err);
}

/* ---- the copy ---- */

static void on_first_pass(void *context, const struct etw_record *record)
{
	struct etw_relog *relog = context;

	face_decoder_look(&relog->decoder, record);
}

/* Runs the pass that collects layouts. Damage is reported by the copy. */
static bool learn(struct etw_relog *relog, struct etw_error *err)
{
	struct etw_damage damage = { 0 };
	struct etl_so_far so_far = { 0 };
	struct etw_kernel_choice choice;
	struct etw_id_choice ids;
	struct etw_visitor visitor = { .record_context = relog, .on_record = on_first_pass };
	struct etl_buffer buffer;
	struct etl_scan scan;
	enum etl_step step;

	face_decoder_choose(&choice, &ids);
	visitor.only = &choice;
	visitor.only_ids = &ids;
	etl_file_scan(relog->file, &scan, &damage, 0, 0);
	while ((step = etl_scan_next(&scan, &buffer, err)) == ETL_STEP_BUFFER) {
		if (buffer.bytes) {
			etl_survey_buffer(relog->file, &buffer, &so_far, &damage, &visitor);
		}
	}
	etl_scan_done(&scan);
	etw_trace_schemas_finish(relog->decoder.trace);
	return step != ETL_STEP_FAILED;
}

static enum etw_mirror_action decide(void *context, const struct etw_record *record,
				     struct etw_mirror_bytes *bytes)
{
	struct etw_relog *relog = context;
	struct etw_event *event = face_decoder_show(&relog->decoder, record);
	enum etw_action action;

	if (!event) {
		error_no_memory(&relog->failure, "an event class");
		return ETW_MIRROR_STOP;
	}
	relog->record = record;
	relog->bytes = *bytes;
	relog->has_changed = false;
	relog->refused.code = ETW_ERROR_NONE;
	action = relog->decide(relog->context, relog, event);
	relog->record = NULL;
	switch (action) {
	case ETW_KEEP:
		*bytes = relog->bytes;
		return relog->has_changed ? ETW_MIRROR_REPLACE : ETW_MIRROR_KEEP;
	case ETW_DROP:
		return ETW_MIRROR_DROP;
	case ETW_STOP:
		error_set(&relog->failure, ETW_ERROR_CONFIG, "the callback stopped the copy");
		if (relog->refused.code != ETW_ERROR_NONE) {
			relog->failure = relog->refused;
		}
		return ETW_MIRROR_STOP;
	}
	error_set(&relog->failure, ETW_ERROR_MISUSE, "the callback returned %d, which is no action",
		  (int)action);
	return ETW_MIRROR_STOP;
}

static bool copy(struct etw_relog *relog, struct etw_error *err)
{
	const struct etw_mirror_visitor visitor = { .context = relog, .decide = decide };
	bool good;

	face_decoder_begin(&relog->decoder);
	good = learn(relog, err) &&
	       etw_mirror_copy(relog->mirror, relog->file, &visitor, &relog->damage, err);
	good = face_decoder_end(&relog->decoder, good ? err : NULL) && good;
	if (relog->failure.code != ETW_ERROR_NONE) {
		*err = relog->failure;
	}
	return good;
}

bool etw_relog_run(struct etw_relog *relog, etw_decide *decide_event, void *context,
		   struct etw_error *err)
{
	struct etw_error failure = { 0 };

	if (!is_open(relog, err)) {
		return false;
	}
	if (relog->state != OPEN) {
		return error_set(err, ETW_ERROR_MISUSE, "the relog %s",
				 relog->state == RUNNING ? "runs already" : "has run already");
	}
	if (!decide_event) {
		return error_set(err, ETW_ERROR_MISUSE, "there is no callback for events");
	}
	relog->decide = decide_event;
	relog->context = context;
	relog->state = RUNNING;
	if (copy(relog, &failure)) {
		relog->state = COPIED;
		return true;
	}
	relog->state = FAILED;
	relog->failure = failure;
	return error_set(err, failure.code, "%s", failure.text);
}

/* ---- changes ---- */

static bool has_event(const struct etw_relog *relog, struct etw_error *err)
{
	return is_open(relog, err) &&
	       (relog->record ||
		error_set(err, ETW_ERROR_MISUSE, "an event can be changed in the callback only"));
}

/* Copies the event into a block that can be changed. */
static bool make_changeable(struct etw_relog *relog, struct etw_error *err)
{
	uint8_t *block = relog->blocks[0];

	if (relog->has_changed) {
		return true;
	}
	if (relog->bytes.size > sizeof relog->blocks[0]) {
		return error_set(err, ETW_ERROR_LIMIT, "a record of %zu bytes cannot be stored",
				 relog->bytes.size);
	}
	relog->changed = *relog->record;
	if (etw_payload_is_whole(relog->record, relog->bytes.at, relog->bytes.size)) {
		relog->changed.payload = block + (relog->record->payload - relog->bytes.at);
	}
	memcpy(block, relog->bytes.at, relog->bytes.size);
	relog->bytes.at = block;
	relog->block = 0;
	relog->has_changed = true;
	return true;
}

static bool set_header(struct etw_relog *relog, enum etw_header_value which, uint64_t value,
		       struct etw_error *err)
{
	static const char *const names[] = {
		[ETW_HEADER_ID] = "id",          [ETW_HEADER_VERSION] = "version",
		[ETW_HEADER_OPCODE] = "opcode",  [ETW_HEADER_LEVEL] = "level",
		[ETW_HEADER_TASK] = "task",      [ETW_HEADER_KEYWORD] = "keyword",
		[ETW_HEADER_PROCESS_ID] = "pid", [ETW_HEADER_THREAD_ID] = "tid",
	};
	const struct etw_header_field *field;
	enum etw_record_type type;
	uint64_t most;

	if (!has_event(relog, err)) {
		return false;
	}
	if ((unsigned)which >= sizeof names / sizeof names[0]) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "there is no header value with the number %d", (int)which);
	}
	field = etw_header_field_find(names[which]);
	type = (enum etw_record_type)relog->record->type;
	most = etw_header_field_most(field, type);
	if (most == 0) {
		return error_set(err, ETW_ERROR_FORMAT, "a header of type %s has no %s",
				 etw_record_type_name(type), names[which]);
	}
	if (value > most) {
		return error_set(err, ETW_ERROR_LIMIT, "%s: at most %llu fits in a header",
				 names[which], (unsigned long long)most);
	}
	if (!make_changeable(relog, err)) {
		return false;
	}
	etw_header_field_set(field, type, value, relog->blocks[relog->block]);
	return true;
}

static bool set_provider(struct etw_relog *relog, const struct etw_guid *provider,
			 struct etw_error *err)
{
	const struct etw_header_field *field = etw_header_field_find("provider");
	enum etw_record_type type;

	if (!has_event(relog, err)) {
		return false;
	}
	if (!provider) {
		return error_set(err, ETW_ERROR_MISUSE, "the provider is NULL");
	}
	type = (enum etw_record_type)relog->record->type;
	if (etw_header_field_most(field, type) == 0) {
		return error_set(err, ETW_ERROR_FORMAT, "a header of type %s has no provider",
				 etw_record_type_name(type));
	}
	if (!make_changeable(relog, err)) {
		return false;
	}
	etw_header_field_set_guid(field, type, provider, relog->blocks[relog->block]);
	return true;
}

static bool set_payload(struct etw_relog *relog, const void *bytes, size_t size,
			struct etw_error *err)
{
	const struct etw_record *record;
	size_t header, whole;

	if (!has_event(relog, err)) {
		return false;
	}
	if (!bytes && size > 0) {
		return error_set(err, ETW_ERROR_MISUSE, "the payload is NULL");
	}
	record = relog->has_changed ? &relog->changed : relog->record;
	if (!etw_payload_is_whole(record, relog->bytes.at, relog->bytes.size)) {
		return error_set(err, ETW_ERROR_FORMAT,
				 "the payload is empty, or follows damaged extended items: it "
				 "cannot be replaced");
	}
	header = relog->bytes.size - record->payload_size;
	if (size > ETW_RECORD_SIZE_MOST - header) {
		return error_set(err, ETW_ERROR_LIMIT, "a payload of %zu bytes fits into no record",
				 size);
	}
	if (!make_changeable(relog, err)) {
		return false;
	}
	whole = etw_replace_payload(&relog->changed, relog->bytes.at, relog->bytes.size, bytes,
				    size, relog->blocks[1 - relog->block]);
	relog->block = 1 - relog->block;
	relog->bytes = (struct etw_mirror_bytes){ relog->blocks[relog->block], whole };
	relog->changed.payload = relog->bytes.at + header;
	relog->changed.payload_size = (uint32_t)size;
	return true;
}

/* ---- new events in the copy ---- */

static bool inject(struct etw_relog *relog, const struct etw_new_event *event,
		   struct etw_error *err)
{
	struct etw_out_record record;

	if (!is_open(relog, err) || !new_record(event, &record, err)) {
		return false;
	}
	if (relog->state == FINISHED) {
		return error_set(err, ETW_ERROR_MISUSE, "the result is complete");
	}
	return etw_added_records_keep(&relog->added, &record, relog->file->format.pointer_size,
				      relog->file->header.processors, err) ||
	       error_prefix(err, "new event");
}

/* ---- changes, as the callback asks for them ---- */

/* Returns a failure to the caller, and keeps it in case the callback stops the copy because of
 * it. */
static bool refuse(struct etw_relog *relog, const struct etw_error *why, struct etw_error *err)
{
	if (face_handle_is_open(relog) && relog->record) {
		relog->refused = *why;
	}
	return error_set(err, why->code, "%s", why->text);
}

bool etw_set_header(struct etw_relog *relog, enum etw_header_value which, uint64_t value,
		    struct etw_error *err)
{
	struct etw_error why;

	return set_header(relog, which, value, &why) || refuse(relog, &why, err);
}

bool etw_set_provider(struct etw_relog *relog, const struct etw_guid *provider,
		      struct etw_error *err)
{
	struct etw_error why;

	return set_provider(relog, provider, &why) || refuse(relog, &why, err);
}

bool etw_set_payload(struct etw_relog *relog, const void *bytes, size_t size, struct etw_error *err)
{
	struct etw_error why;

	return set_payload(relog, bytes, size, &why) || refuse(relog, &why, err);
}

bool etw_inject(struct etw_relog *relog, const struct etw_new_event *event, struct etw_error *err)
{
	struct etw_error why;

	return inject(relog, event, &why) || refuse(relog, &why, err);
}

int64_t etw_relog_raw_time(const struct etw_relog *relog, int64_t time)
{
	return face_handle_is_open(relog) ? etw_clock_raw_time(&relog->file->format.clock, time) :
					    0;
}

/* ---- the end ---- */

static bool finish(struct etw_relog *relog, struct etw_error *err)
{
	struct etw_writer *writer = etw_mirror_writer(relog->mirror);

	switch (relog->state) {
	case FINISHED:
		return true;
	case FAILED:
		return error_set(err, relog->failure.code, "%s", relog->failure.text);
	case OPEN:
		return error_set(err, ETW_ERROR_MISUSE,
				 "nothing was copied: etw_relog_run() was not "
				 "called");
	default:
		break;
	}
	if (writer) {
		etw_added_records_write(&relog->added, writer);
	}
	if (!etw_mirror_finish(relog->mirror, &relog->failure)) {
		relog->state = FAILED;
		return error_set(err, relog->failure.code, "%s", relog->failure.text);
	}
	relog->state = FINISHED;
	return true;
}

static void take_counts(struct etw_relog *relog, struct etw_relog_counts *counts)
{
	struct etw_mirror_counts copied;

	etw_mirror_counts(relog->mirror, &copied);
	*counts = (struct etw_relog_counts){
		.events = copied.records + relog->added.count,
		.dropped = copied.dropped,
		.changed = copied.replaced,
		.injected = relog->added.count,
		.losses = {
			.events_lost = relog->file->header.events_lost,
			.buffers_lost = relog->file->header.buffers_lost,
			.damaged_buffers = relog->damage.bad_buffers,
			.damaged_records = relog->damage.bad_records,
			.truncated = relog->damage.truncated,
			.file_change = etl_input_change(&relog->file->input),
		},
	};
}

const uint8_t *etw_relog_bytes(struct etw_relog *relog, size_t *size, struct etw_error *err)
{
	if (!is_open(relog, err)) {
		return NULL;
	}
	if (!size) {
		error_set(err, ETW_ERROR_MISUSE, "there is no place for the size");
		return NULL;
	}
	if (!relog->in_memory || relog->state == RUNNING) {
		error_set(err, ETW_ERROR_MISUSE, "the relog %s",
			  relog->in_memory ? "runs" : "has no result in memory, but an output");
		return NULL;
	}
	return finish(relog, err) ? etw_mirror_bytes(relog->mirror, size) : NULL;
}

bool etw_close_relog(struct etw_relog *relog, struct etw_relog_counts *counts,
		     struct etw_error *err)
{
	bool good;

	if (!is_open(relog, err)) {
		return false;
	}
	if (relog->state == RUNNING) {
		return error_set(err, ETW_ERROR_MISUSE,
				 "the relog runs: its callback cannot close it");
	}
	face_handle_remove(relog);
	good = finish(relog, err);
	if (good && counts) {
		take_counts(relog, counts);
	}
	free_relog(relog);
	return good;
}
