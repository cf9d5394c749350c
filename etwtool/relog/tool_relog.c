/* SPDX-License-Identifier: MIT */
/*
 * etwtool relog: makes a recording from one or several others.
 *
 * Which records to leave out is decided before anything is written. A filter needs the process of
 * each event and the names that conditions read. So a run of the whole pipeline in time order, as
 * for dump, notes one bit for each record. It reads all inputs as one recording, because a name may
 * be in another input than the events that need it. Then each input is copied in file order
 * (include/etw/mirror.h), because a reader orders records with the same time by their position in
 * the file. Without a filter only the copy takes place.
 *
 * Assignments (--set) change records during the copy. With them the filter chooses which records to
 * change, and leaves none out. Records of files (--add) follow after the last input. Both need the
 * layouts of all events, which takes another pass before the copy (etwtool/relog/relog.h).
 *
 * Events without the names of their processes and files, or without their layouts, are of little
 * use. So records that describe others stay too (exporter/track/repeats.h), even if the filter
 * leaves them out. Call stacks stay with their events (etwtool/relog/relog.h).
 *
 * Names are removed last (--anonymise), from a recording that is otherwise complete: so it makes no
 * difference how a record came into it.
 *
 * Nothing here grows with the recording except the bits of a filter, and, when several inputs are
 * merged, a bounded table of the records that describe others.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>
#include <etw/recording.h>

#include "base/os.h"
#include "etwtool/relog/anonymise.h"
#include "etwtool/relog/relog.h"

struct relog {
	struct relog_request *request;
	struct relog_inputs inputs;
	size_t present; /* index of the input that is copied */
	uint64_t bytes_before;
	uint64_t bytes_total;
	struct etw_mirror *mirror;
	struct relog_decision decision;
	/* damaged buffers that the copies met; damaged buffers that the filter's run met */
	uint64_t bad_buffers, bad_buffers_before;
	struct relog_changes *changes;
	size_t added; /* number of records that --add added */
	struct progress progress;
	char *key; /* owned */
	size_t key_size;
	unsigned parts;
	struct record_times times; /* times of records in the filter's run */
	struct kept_stacks stacks; /* stacks of the filter's run */
	bool no_memory;
	bool unprinted;
};

static const char *path_of(const struct relog *relog, size_t input)
{
	return relog->inputs.paths[input];
}

/* ---- what the filter keeps ---- */

static void on_class(void *context, const struct etw_event_class *class)
{
	struct relog *relog = context;

	event_filter_class(&relog->request->filter, class);
}

/*
 * Returns whether the copy keeps the record because it describes others, and it may have a
 * StackWalk record.
 */
static bool describes_for_kernel(struct relog *relog, const struct etw_record *record)
{
	return record->classic && is_describing(&relog->decision.describing, record);
}

static void choose_record(struct relog *relog, const struct etw_record *record, bool kept)
{
	struct relog_decision *decision = &relog->decision;

	if (decision->describe && !decision->drop_stacks) {
		if (etw_is_stack_walk(record)) {
			kept = kept_stacks_keep(&relog->stacks, record, kept);
		} else if (kept || describes_for_kernel(relog, record)) {
			kept_stacks_note(&relog->stacks, record);
		}
	}
	relog->no_memory |= relog->stacks.no_memory ||
			    (kept && !chosen_add(&decision->chosen, record->index));
}

static void on_record(void *context, struct recording *recording, const struct etw_record *record,
		      const struct etw_event_class *class)
{
	struct relog *relog = context;

	choose_record(relog, record,
		      event_filter_keeps(&relog->request->filter, recording, record, class));
	if (relog->no_memory) {
		recording_stop(recording);
	}
}

static void on_left_out(void *context, const struct etw_record *record)
{
	choose_record(context, record, false);
}

/* ---- the copy ---- */

static void on_buffer(void *context, uint64_t bytes_read)
{
	struct relog *relog = context;

	progress_show(&relog->progress, bytes_read,
		      etw_file_size_bytes(relog->inputs.files[relog->present]), relog->bytes_before,
		      relog->bytes_total);
}

static void warn_of_damage(const struct relog *relog, const struct etw_damage *damage)
{
	const char *path = path_of(relog, relog->present);

	if (damage->truncated) {
		tool_complain(TOOL_DONE, "relog", "warning: %s " ETW_RECORDING_CUT_SHORT, path);
	}
	if (damage->bad_buffers > 0 || damage->bad_records > 0) {
		const struct etw_source_statistics statistics = {
			.bad_buffers = damage->bad_buffers,
			.bad_bytes = damage->bad_bytes,
			.bad_records = damage->bad_records,
		};
		struct etw_text lost = { 0 };

		text_add_damage(&lost, &statistics);
		tool_complain(TOOL_DONE, "relog", "warning: %s " ETW_RECORDING_DAMAGED ": %s", path,
			      lost.data ? lost.data : "");
		text_free(&lost);
	}
}

static bool copy_inputs(struct relog *relog, struct etw_error *err)
{
	const struct etw_mirror_visitor visitor = {
		.context = &relog->decision,
		.decide = relog_decision_needed(&relog->decision) ? relog_decide : NULL,
		.buffer_context = relog,
		.on_buffer = on_buffer,
	};
	struct etw_damage damage = { 0 };
	bool good;

	progress_start(&relog->progress, "etwtool", "relog", OUTPUT_AT_END);
	relog->progress.passes = 1;
	good = etw_mirror_copy(relog->mirror, relog->inputs.files[relog->present], &visitor,
			       &damage, err);
	progress_end(&relog->progress);
	if (relog->decision.failure.code != ETW_ERROR_NONE) {
		*err = relog->decision.failure;
	}
	if (good && !relog->decision.choosing) { /* otherwise the filter's run has reported it */
		warn_of_damage(relog, &damage);
	}
	relog->bad_buffers += damage.bad_buffers;
	relog->bytes_before += etw_file_size_bytes(relog->inputs.files[relog->present]);
	relog_next_input(&relog->decision);
	return good;
}

/* ---- the command ---- */

static bool open_inputs(struct relog *relog, struct etw_error *err)
{
	struct relog_request *request = relog->request;

	if (!relog_inputs_open(&relog->inputs, request->arguments.pointer_size, request->output,
			       err)) {
		return false;
	}
	request->filter.start = relog_inputs_start(&relog->inputs);
	relog->bytes_total = relog->inputs.size_bytes;
	return true;
}

/*
 * part: what this file lacks is in other parts. Nothing is printed if the recording goes to
 * standard output.
 */
static bool print_result(const struct relog *relog, const char *path,
			 const struct etw_mirror_counts *counts, bool part)
{
	struct os_file_stamp stamp;
	struct etw_text out = { 0 };

	if (etw_output_is_standard(path)) {
		return true;
	}
	os_file_stamp(path, &stamp);
	if (stamp.number == 0 && stamp.volume == 0) {
		tool_complain(TOOL_FAILED, "relog", "%s was written and is not there", path);
		return false;
	}
	text_add_shown(&out, path);
	text_add_format(&out, ": %" PRIu64, counts->records);
	if (!part) {
		text_add_format(&out, " of %" PRIu64, counts->records + counts->dropped);
	}
	text_add_string(&out, " records");
	if (!part && relog->request->set.count > 0) {
		text_add_format(&out, ", %" PRIu64 " changed", relog->decision.changed);
	}
	if (!part && relog->request->added.count > 0) {
		text_add_format(&out, ", %zu added", relog->added);
	}
	text_add_format(&out, ", %" PRIu64 " buffers, %" PRIu64 " bytes\n", counts->buffers,
			stamp.size);
	return tool_print("relog", &out) == TOOL_DONE;
}

/*
 * Returns whether the recordings have everything that the command line names. Otherwise complains
 * and returns false.
 */
static bool names_were_found(const struct relog *relog)
{
	bool filter = relog->decision.choosing;
	const char *where = filter ? "what the filter keeps" : "the recording";
	struct etw_error err = { 0 };

	if (filter && !event_filter_found(&relog->request->filter, &relog->times, "relog")) {
		return false;
	}
	if (!set_fields_found(&relog->request->set, where, &err)) {
		tool_complain(TOOL_FAILED, "relog", "%s", err.text);
		return false;
	}
	return true;
}

/*
 * Runs the filter over all inputs as one recording: record indexes continue from one input to the
 * next.
 */
static bool choose_records(struct relog *relog, struct etw_error *err)
{
	const struct recording_options options = {
		.probe = relog->request->filter.probe,
		.context = relog,
		.on_class = on_class,
		.on_record = on_record,
		.on_left_out = on_left_out,
		.paths = relog->inputs.paths,
		.path_count = relog->inputs.path_count > 1 ? relog->inputs.path_count : 0,
	};
	struct etw_source_statistics statistics;
	struct recording *recording;
	bool good;

	/*
	 * The inputs are closed so that each file is open only once. With changes they stay open.
	 */
	if (!relog->changes) {
		relog_inputs_close(&relog->inputs);
	}
	recording = recording_open(&relog->request->arguments, path_of(relog, 0), &options, err);
	good = recording && recording_run(recording, err);
	if (good) {
		recording_statistics(recording, &statistics);
		relog->bad_buffers_before = statistics.bad_buffers;
		relog->times = *recording_times(recording);
	}
	recording_close(recording);
	if (good && relog->no_memory) {
		good = error_no_memory(err, "the records that the filter has");
	}
	return good && (relog->changes || open_inputs(relog, err));
}

/*
 * Returns whether records have the same indexes in the copies as in the filter's run. They differ
 * if a damaged buffer was left out in only one of the two, which can happen when buffers decompress
 * to a very large size.
 */
static bool indexes_agree(const struct relog *relog, struct etw_error *err)
{
	return !relog->decision.choosing || relog->bad_buffers == relog->bad_buffers_before ||
	       error_set(err, ETW_ERROR_FORMAT,
			 "the recordings are damaged in such a way that a filter cannot read them "
			 "together: filter each by itself");
}

/* Writes the recording that combines all inputs: the output, or a temporary file beside it. */
static bool make_recording(struct relog *relog, bool temporary, struct etw_mirror_form form,
			   struct etw_mirror_counts *counts, struct etw_error *err)
{
	const char *path = relog->request->output;
	const struct relog_inputs *inputs = &relog->inputs;

	if (relog->decision.choosing && !choose_records(relog, err)) {
		return false;
	}
	relog->mirror = temporary ? etw_mirror_open_temporary(path, form, inputs->files,
							      inputs->count, err) :
				    etw_mirror_open(path, form, inputs->files, inputs->count, err);
	for (; relog->mirror && relog->present < inputs->count; relog->present++) {
		if (!copy_inputs(relog, err)) {
			return etw_mirror_output_failed(relog->mirror) ?
				       false :
				       error_prefix(err, "%s", path_of(relog, relog->present));
		}
	}
	if (!relog->mirror || !indexes_agree(relog, err) || !names_were_found(relog)) {
		return false;
	}
	if (relog->changes && etw_mirror_writer(relog->mirror)) {
		relog->added = relog_changes_add(relog->changes, etw_mirror_writer(relog->mirror));
	}
	if (!etw_mirror_finish(relog->mirror, err)) {
		return false;
	}
	etw_mirror_counts(relog->mirror, counts);
	return true;
}

/* ---- without names ---- */

/*
 * Bounds of a key's size in bytes. 16 hexadecimal digits are still hard to guess, and the text of a
 * GUID is longer.
 */
enum { KEY_LEAST = 16, KEY_MOST = 1 << 20 };

static bool read_key(struct relog *relog, struct etw_error *err)
{
	const char *path = relog->request->key_file;

	if (!path) {
		return true;
	}
	if (!file_read_whole(path, KEY_MOST, &relog->key, &relog->key_size, err)) {
		return error_prefix(err, "%s", path);
	}
	return relog->key_size >= KEY_LEAST ||
	       error_set(err, ETW_ERROR_CONFIG, "%s: a key has at least %d bytes, this one has %zu",
			 path, KEY_LEAST, relog->key_size);
}

static void print_replaced(const struct anonymise_counts *counts)
{
	struct etw_text out = { 0 };

	anonymise_report(counts, &out);
	if (!out.failed) {
		fputs(out.data, stderr);
	}
	text_free(&out);
}

/* Anonymises the only input, or the recording that make_recording() has written. *file: gets the
 * result if it is a temporary file; NULL: it is the output. */
static bool make_anonymised(struct relog *relog, struct etw_file *input, struct etw_file **file,
			    struct etw_mirror_form form, bool warn,
			    struct etw_mirror_counts *counts, struct etw_error *err)
{
	const struct anonymise_request request = {
		.options = { .key = relog->key,
			     .key_size = relog->key_size,
			     .keep_undescribed = relog->request->keep_undescribed },
		.manifests = &relog->request->arguments.manifests,
		.output = relog->request->output,
		.file = file,
		.pointer_size = relog->request->arguments.pointer_size,
		.form = form,
		.context = relog,
		.on_buffer = on_buffer,
	};
	struct anonymise_result result;
	bool good;

	progress_start(&relog->progress, "etwtool", "relog", OUTPUT_AT_END);
	relog->bytes_before = 0;
	relog->bytes_total = etw_file_size_bytes(input);
	good = anonymise_recording(input, &request, &result, err);
	progress_end(&relog->progress);
	if (good && warn) {
		warn_of_damage(relog, &result.damage);
	}
	if (good) {
		*counts = result.written;
		print_replaced(&result.replaced);
	}
	return good;
}

/* ---- parts ---- */

/* A set of parts may be replaced when it is split again, but an input may not. */
static bool may_write(void *context, const char *path, struct etw_error *err)
{
	const struct relog *relog = context;

	return relog_inputs_spare(&relog->inputs, path, err);
}

static void on_part(void *context, const char *path, const struct etw_mirror_counts *counts)
{
	struct relog *relog = context;

	progress_clear();
	relog->unprinted |= !print_result(relog, path, counts, true);
	relog->parts++;
}

/* Splits the only input, or the recording that an earlier step has written. */
static bool make_parts(struct relog *relog, struct etw_file *input, struct etw_mirror_form form,
		       bool warn, struct etw_error *err)
{
	const struct split_request request = {
		.by = relog->request->split,
		.output = relog->request->output,
		.form = form,
		.notes_most = 4 << 20,
		.context = relog,
		.on_buffer = on_buffer,
		.may_write = may_write,
		.on_part = on_part,
	};
	struct etw_damage damage = { 0 };
	bool good;

	progress_start(&relog->progress, "etwtool", "relog", OUTPUT_STREAMS);
	relog->progress.passes = 1;
	relog->bytes_before = 0;
	relog->bytes_total = etw_file_size_bytes(input);
	good = split_recording(input, &request, &damage, err);
	progress_end(&relog->progress);
	if (good && warn) {
		warn_of_damage(relog, &damage);
	}
	if (good && relog->parts == 0) {
		return error_set(err, ETW_ERROR_FORMAT, "%s: there is no record to split",
				 relog->request->output);
	}
	return good && !relog->unprinted;
}

/* ---- one step after the other ---- */

/* Writes the recording that combines all inputs into a temporary file, which is open. */
static bool make_whole(struct relog *relog, struct etw_mirror_form form,
		       struct etw_mirror_counts *counts, struct etw_file **file,
		       struct etw_error *err)
{
	if (make_recording(relog, true, form, counts, err)) {
		*file = etw_mirror_result(relog->mirror, relog->request->arguments.pointer_size,
					  err);
	}
	etw_mirror_close(relog->mirror);
	relog->mirror = NULL;
	relog->present = 0;
	return *file != NULL;
}

/* Returns whether more is requested than to anonymise or split one recording. */
static bool needs_whole(const struct relog *relog)
{
	return relog_decision_needed(&relog->decision) || relog->changes;
}

/*
 * First makes one recording from several inputs or with a filter, then anonymises it, then splits
 * it.
 */
static bool make_in_steps(struct relog *relog, struct etw_mirror_form form, bool split,
			  struct etw_error *err)
{
	const struct relog_request *request = relog->request;
	const struct etw_mirror_form as_read = { ETW_AS_READ, form.threads };
	struct etw_mirror_counts counts = { 0 }, whole_counts = { 0 };
	struct etw_file *whole = NULL, *nameless = NULL; /* temporary files beside the output */
	struct etw_file *input = relog->inputs.files[0];
	bool good = true, warn = true; /* warn: about damage, which only the inputs can have */

	if (needs_whole(relog)) {
		good = make_whole(relog, as_read, &whole_counts, &whole, err);
		input = whole;
		warn = false;
	}
	if (good && request->anonymise && split) {
		good = make_anonymised(relog, input, &nameless, as_read, warn, &counts, err);
		input = nameless;
		warn = false;
	}
	if (good && split) {
		good = make_parts(relog, input, form, warn, err);
	} else if (good) {
		good = make_anonymised(relog, input, NULL, form, warn, &counts, err);
		counts.dropped += whole_counts.dropped;
		good = good && print_result(relog, request->output, &counts, false);
	}
	etw_file_close(nameless);
	etw_file_close(whole);
	return good;
}

static bool make_all(struct relog *relog, struct etw_error *err)
{
	struct relog_request *request = relog->request;
	const struct etw_mirror_form form = {
		.packing = request->compress ? ETW_COMPRESSED :
			   request->plain    ? ETW_PLAIN :
					       ETW_AS_READ,
		.threads = request->threads,
	};
	bool split = request->split.size_bytes > 0 || request->split.duration_ms > 0;
	struct etw_mirror_counts counts;

	if (!etw_output_is_standard(request->output) && !tool_may_replace(request->output, err)) {
		return false;
	}
	if (request->anonymise && etw_output_is_standard(request->output) && needs_whole(relog)) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "-o - and --anonymise together take one recording and nothing "
				 "else: etwtool relog … -o - | etwtool relog - --anonymise -o -");
	}
	if (split || request->anonymise) {
		return make_in_steps(relog, form, split, err);
	}
	return make_recording(relog, false, form, &counts, err) &&
	       print_result(relog, request->output, &counts, false);
}

/* Learns what the inputs say about their events, and reads the records to add. */
static bool prepare_changes(struct relog *relog, struct etw_error *err)
{
	struct relog_request *request = relog->request;
	const struct relog_changes_options options = {
		.set = &request->set,
		.added = &request->added,
		.manifests = &request->arguments.manifests,
		.inputs = relog->inputs.files,
		.input_count = relog->inputs.count,
	};
	bool good = true;

	if (request->set.count == 0 && request->added.count == 0) {
		return true;
	}
	relog->changes = relog_changes_new(&options, err);
	if (!relog->changes) {
		return false;
	}
	progress_start(&relog->progress, "etwtool", "relog", OUTPUT_AT_END);
	relog->progress.passes = 1;
	for (; good && relog->present < relog->inputs.count; relog->present++) {
		struct etw_file *input = relog->inputs.files[relog->present];

		good = relog_changes_learn(relog->changes, input, on_buffer, relog, err) ||
		       error_prefix(err, "%s", path_of(relog, relog->present));
		relog->bytes_before += etw_file_size_bytes(input);
	}
	progress_end(&relog->progress);
	relog->present = 0;
	relog->bytes_before = 0;
	return good && relog_changes_ready(relog->changes, err);
}

/* Returns what is wrong with the command line; NULL if nothing is. */
static const char *find_mistake(const struct relog_request *request)
{
	bool filter = event_filter_active(&request->filter);

	if (!request->output) {
		return "-o OUT.etl is missing: the recording to write";
	}
	if (request->compress && request->plain) {
		return "--compress and --plain exclude each other";
	}
	if (request->exact && !filter) {
		return "--exact is of no use without a filter";
	}
	if (request->exact && request->set.count > 0) {
		return "--exact is of no use with --set, which leaves nothing out";
	}
	if (!request->anonymise && request->key_file) {
		return "--key is of no use without --anonymise";
	}
	if (!request->anonymise && request->keep_undescribed) {
		return "--keep-undescribed is of no use without --anonymise";
	}
	if (etw_output_is_standard(request->output)) {
		if (request->split.size_bytes != 0 || request->split.duration_ms != 0) {
			return "--split makes several files, which - cannot be";
		}
		if (os_is_terminal(stdout)) {
			return "a recording would disturb the terminal: send it into a pipe or a "
			       "file";
		}
	}
	return NULL;
}

static void start_decision(struct relog *relog)
{
	const struct relog_request *request = relog->request;
	struct relog_decision *decision = &relog->decision;

	decision->choosing = event_filter_active(&request->filter);
	decision->filtered = decision->choosing && request->set.count == 0;
	decision->describe = decision->filtered && !request->exact;
	decision->drop_stacks = request->drop_stacks;
	decision->merging = relog->inputs.count > 1;
	decision->changes = request->set.count > 0 ? relog->changes : NULL;
	describing_init(&decision->describing);
	relog->stacks.named = request->filter.provider.name || request->filter.event.name;
}

static int run(struct tool_arguments *arguments)
{
	struct relog_request *request = (struct relog_request *)arguments;
	const char *mistake = find_mistake(request);
	struct relog *relog;
	struct etw_error err = { 0 };
	int status = TOOL_FAILED;

	if (mistake) {
		return tool_complain(TOOL_BAD_USAGE, "relog", "%s", mistake);
	}
	if (!tool_use_builtin(arguments)) {
		return TOOL_FAILED;
	}
	relog = calloc(1, sizeof *relog);
	if (!relog) {
		return tool_complain(TOOL_FAILED, "relog", "no memory");
	}
	relog->request = request;
	if (!read_key(relog, &err) ||
	    !relog_inputs_find(&relog->inputs, &request->arguments, &err) ||
	    !open_inputs(relog, &err)) {
		goto done;
	}
	if (event_filter_is_empty(&request->filter)) {
		status = tool_complain(TOOL_BAD_USAGE, "relog", "--to is not later than --from");
		goto done;
	}
	if (prepare_changes(relog, &err)) {
		start_decision(relog);
		status = make_all(relog, &err) ? TOOL_DONE : TOOL_FAILED;
	}

done:
	if (err.code != ETW_ERROR_NONE) {
		status = tool_complain(err.code == ETW_ERROR_CONFIG ? TOOL_BAD_USAGE : TOOL_FAILED,
				       "relog", "%s", err.text);
	}
	etw_mirror_close(relog->mirror);
	relog_inputs_done(&relog->inputs);
	relog_decision_done(&relog->decision);
	kept_stacks_done(&relog->stacks);
	relog_changes_free(relog->changes);
	free(relog->key);
	free(relog);
	return status;
}

static void done(struct tool_arguments *arguments)
{
	struct relog_request *request = (struct relog_request *)arguments;

	event_filter_done(&request->filter);
	set_fields_done(&request->set);
}

#define AT(member) .offset = offsetof(struct relog_request, member)

static bool read_assignment(void *set, const char *text, struct etw_error *err)
{
	return set_fields_add(set, text, err) || error_prefix(err, "--set");
}

static const char *const threads[] = { "1", "2", "3", "4", "5", "6", "7", "8", NULL };

static const struct command_option option_rows[] = {
	{ "--output", "FILE",
	  "the recording to write, required; also -o FILE; - is the standard output", OPTION_TEXT,
	  AT(output) },
	{ "-o", "FILE", NULL, OPTION_TEXT, AT(output) },
	EVENT_FILTER_OPTIONS(struct relog_request, filter),
	{ "--exact", NULL, "keep only what the filter keeps, without the records that describe it",
	  OPTION_SET, AT(exact) },
	{ "--set", "EVENT.FIELD=VALUE",
	  "change a field of events, as in Image/Load.FileName=C:\\x.dll; repeatable", OPTION_READ,
	  AT(set), .read = read_assignment },
	{ "--add", "FILE", "add the events of FILE, lines as etwtool dump prints them; repeatable",
	  OPTION_READ, AT(added), .read = added_files_read },
	{ "--drop-stacks", NULL, "leave out call stacks", OPTION_SET, AT(drop_stacks) },
	{ "--split", "SIZE|TIME",
	  "several recordings, FILE_000001.etl and so on, with so many bytes (100MB) or so much time "
	  "(1m) of records in each",
	  OPTION_READ, AT(split), .takes = "a size such as 100MB, or a duration such as 1m",
	  .read = split_by_read },
	{ "--anonymise", NULL, "replace names by keyed hashes, see below", OPTION_SET,
	  AT(anonymise) },
	{ "--key", "FILE", "the key of the hashes: at least 16 random bytes; default: a new one",
	  OPTION_TEXT, AT(key_file) },
	{ "--keep-undescribed", NULL, "keep payloads that no layout describes", OPTION_SET,
	  AT(keep_undescribed) },
	{ "--compress", NULL, "compress the buffers", OPTION_SET, AT(compress) },
	{ "--threads", "N", "threads that compress, 1 to 8; default: one a processor", OPTION_DIGIT,
	  AT(threads), .words = threads },
	{ "--plain", NULL, "do not compress the buffers; default: as they are", OPTION_SET,
	  AT(plain) },
	{ NULL },
};

static const char more[] =
	"The records stay as they are, in their order. Besides those that the filter keeps there are\n"
	"the records without which they could not be read: the header of the recording, layouts of\n"
	"events, the machine, names, starts and ends of processes, threads, images and files. The kernel's\n"
	"call stacks (StackWalk) go with their events. If a filter drops one of two related events,\n"
	"values computed from both, such as a duration, are lost.\n"
	"\n"
	"Several recordings of one machine and one boot, with the same clock, become one;\n"
	"describing records that several of them have are kept once. A filter reads them as one\n"
	"recording, so names from one of them are known in all.\n"
	"\n" EVENT_FILTER_HELP "\n"
	"--set takes an event as in a rule (Class/Event, Provider/Event, Provider/ID, * for all), a\n"
	"field as etwtool fields shows it, and a number, a text, or JSON for lists. With an @ it is a\n"
	"value of the header: @provider, @id, @version, @opcode, @level, @task, @keyword, @pid, @tid.\n"
	"With --set the filter says which of the events are changed, and all records stay.\n"
	"--add takes kernel, manifest and TraceLogging events. A line needs `fields` (or `raw`), a\n"
	"`provider` (a GUID, or a kernel class as `provider_name`), `id` or `opcode`, `version`, and\n"
	"`filetime` or `ts`, and no more. Readers see the events in order of time.\n"
	"\n"
	"Each part of a split recording has the records of its time range, and those from other times\n"
	"that name processes, files and layouts of events. So many small parts together are larger\n"
	"than the whole, and each may be larger than asked for. The losses in its header are those of\n"
	"the whole.\n"
	"\n"
	"--anonymise replaces the names of machines, users, programs, files, addresses and accounts,\n"
	"command lines, and all other text. The same name becomes the same hash, also in other\n"
	"recordings with the same --key; paths keep their depth and extension, and words that exist\n"
	"on every Windows are kept. Payloads that no layout describes are dropped, unless\n"
	"--keep-undescribed.\n"
	"A summary of what was replaced is printed to standard error; docs/anonymise.md lists what an\n"
	"anonymised recording still says.\n"
	"\n"
	"The file is written under another name beside FILE and renamed at the end; a file that is\n"
	"there is replaced. The standard output gets all of it at the end, from a temporary file in\n"
	"TMPDIR, because the header of a recording is complete only then. A damaged recording is\n"
	"copied as far as it can be read, with a warning.\n"
	"A name that is nowhere in the recordings, a time range outside them, an event or field of --set\n"
	"that no record has, and a wrong line of --add end it with status 1; nothing is written then.\n";

_Static_assert(TOOL_WORDS_MOST == 64, "too_many says so");

const struct tool_command tool_relog = {
	.name = "relog",
	.synopsis = "FILE... -o FILE",
	.about = "Write recordings again: filtered, merged, split, changed, anonymised",
	.more = more,
	.options = option_rows,
	.shared = TOOL_FILE | TOOL_POINTER_SIZE | TOOL_SCHEMA | TOOL_BUILTIN | TOOL_NAMES,
	.words_most = TOOL_WORDS_MOST,
	.too_many = "takes at most 64 recordings at a time, not also",
	.size = sizeof(struct relog_request),
	.run = run,
	.done = done,
};
