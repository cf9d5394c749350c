/* SPDX-License-Identifier: MIT */
/*
 * Reads single records for etwtool report, after the rules have counted them.
 *
 * Processes: a Start or a DCStart begins an instance, a Stop ends it, and a DCStop states that it
 * still runs when the session ends. An instance whose first record is not its Start began before
 * the recording. The instances are kept in the order of their first records. When Windows reuses a
 * process id, the new process is another row. Their number is limited; further ones are counted.
 * The page looks up parents at the end, when all instances are known.
 *
 * Files: any number of paths may be written, so their bytes are summed by a sketch (top_sketch.h).
 * It has room for FILES_MOST pairs of a path and a process, and gives an error bound for each sum,
 * which is 0 while there are fewer pairs. The rules of etw_file_written_bytes_total decide which
 * bytes count, so both sums agree. The path is shown with the volume's letter if that is known.
 */
#include "etwtool/report/report_events.h"

#include <stdlib.h>
#include <string.h>

#include <etw/record.h>
#include <etw/schema.h>

#include "base/array.h"
#include "base/text.h"
#include "exporter/track/derived_fields.h"

enum {
	FILES_MOST = 4096,
	PATHS_BYTES = 16 << 20,
	PATH_MOST = 1024,   /* bytes of a path; longer paths are cut */
	COMMAND_MOST = 512, /* bytes of a command line; longer ones are cut */
	PROCESS_START = 1,
	PROCESS_STOP = 2,
	PROCESS_DCSTART = 3,
	PROCESS_DCSTOP = 4,
	FILE_IO_READ = 67,
	FILE_IO_WRITE = 68,
	CONFIG_CPU = 10,
};

bool report_events_init(struct report_events *events, struct registry *registry,
			struct etw_error *err)
{
	events->registry = registry;
	events->path = derived_find("Path");
	events->volume = derived_find("Volume");
	events->paging = derived_find("Paging");
	events->running.seed = hash_seed();
	events->paths = intern_new(PATHS_BYTES, err);
	for (size_t i = 0; events->paths && i < REPORT_DIRECTIONS; i++) {
		if (!top_sketch_init(&events->files[i], FILES_MOST, err)) {
			return false;
		}
	}
	return events->paths != NULL;
}

void report_events_done(struct report_events *events)
{
	for (size_t i = 0; i < events->process_count; i++) {
		free(events->processes[i].name);
		free(events->processes[i].command);
	}
	free(events->processes);
	free(events->machine.name);
	for (size_t i = 0; i < REPORT_RECENT_PATHS; i++) {
		free(events->recent[i].raw);
	}
	map_done(&events->running);
	intern_free(events->paths);
	for (size_t i = 0; i < REPORT_DIRECTIONS; i++) {
		top_sketch_done(&events->files[i]);
	}
}

/* ---- fields ---- */

static bool read_indexed(const struct etw_schema *schema, int index,
			 const struct etw_record *record, uint32_t *value)
{
	struct etw_field_slice slice;

	if (index < 0 || !etw_field_locate(schema, (unsigned)index, record, &slice)) {
		return false;
	}
	*value = (uint32_t)etw_field_u64(&schema->fields[index], &slice);
	return true;
}

static bool read_number(const struct etw_event_class *class, const struct etw_record *record,
			const char *name, uint32_t *value)
{
	return read_indexed(class->schema, etw_schema_find_field(class->schema, name), record,
			    value);
}

/*
 * Reads a text as UTF-8, at most `most` bytes; "" if the record does not have it. The caller
 * frees it. NULL without memory.
 */
static char *read_text(const struct etw_event_class *class, const struct etw_record *record,
		       const char *name, size_t most)
{
	int index = etw_schema_find_field(class->schema, name);
	struct etw_field_slice slice = { 0 };
	struct etw_text text = { 0 };
	char *copy;

	if (index >= 0) {
		etw_field_locate(class->schema, (unsigned)index, record, &slice);
	}
	if (slice.at) {
		etw_field_text(&class->schema->fields[index], &slice, &text);
	}
	copy = text_duplicate(text.size > 0 ? text.data : "", text.size < most ? text.size : most);
	text_free(&text);
	return copy;
}

/* ---- processes ---- */

static struct report_process *add_process(struct report_events *events,
					  const struct etw_record *record,
					  const struct etw_event_class *class, uint32_t process_id)
{
	struct report_process *grown, *process;
	uint64_t *index;

	if (events->process_count == REPORT_PROCESSES) {
		/*
		 * Only starts count, because the stop of a process that is left out comes here as
		 * well.
		 */
		events->processes_left_out += record->opcode == PROCESS_START ||
					      record->opcode == PROCESS_DCSTART;
		map_remove(&events->running, process_id);
		return NULL;
	}
	grown = array_grow(events->processes, &events->process_capacity, events->process_count,
			   sizeof *grown);
	if (grown) {
		events->processes = grown;
	}
	index = grown ? map_put(&events->running, process_id, NULL) : NULL;
	if (!index) {
		events->failed = true;
		return NULL;
	}
	*index = events->process_count++;
	process = &events->processes[*index];
	*process = (struct report_process){ .process_id = process_id,
					    .start = ETW_RECORD_NO_TIME,
					    .end = ETW_RECORD_NO_TIME };
	read_number(class, record, "ParentId", &process->parent_id);
	process->name = read_text(class, record, "ImageFileName", PATH_MOST);
	process->command = read_text(class, record, "CommandLine", COMMAND_MOST);
	events->failed |= !process->name || !process->command;
	return process;
}

static void take_process(struct report_events *events, const struct etw_record *record,
			 const struct etw_event_class *class)
{
	uint32_t process_id, status;
	const uint64_t *index;
	struct report_process *process = NULL;

	if (record->opcode < PROCESS_START || record->opcode > PROCESS_DCSTOP ||
	    !read_number(class, record, "ProcessId", &process_id)) {
		return;
	}
	index = map_find(&events->running, process_id);
	if (index) {
		process = &events->processes[*index];
	}
	if (process && record->opcode == PROCESS_START && process->end == ETW_RECORD_NO_TIME) {
		process->end = record->time; /* the stop was lost; it ended earlier */
	}
	if (!process || record->opcode == PROCESS_START || process->end != ETW_RECORD_NO_TIME) {
		process = add_process(events, record, class, process_id);
	}
	if (process && record->opcode == PROCESS_START) {
		process->start = record->time;
	} else if (process && record->opcode == PROCESS_STOP) {
		process->end = record->time;
		process->exit_known = read_number(class, record, "ExitStatus", &status);
		process->exit_status = process->exit_known ? (int32_t)status : 0;
	}
}

/* ---- the machine ---- */

static void take_machine(struct report_events *events, const struct etw_record *record,
			 const struct etw_event_class *class)
{
	struct report_machine *machine = &events->machine;

	read_number(class, record, "MemSize", &machine->memory_mib);
	free(machine->name);
	machine->name = read_text(class, record, "ComputerName", PATH_MOST);
	events->failed |= !machine->name;
}

/* ---- files ---- */

static bool read_derived(const struct derived_field *row, struct derived_read *read)
{
	read->row = row;
	return row->read(read) == DERIVED_FOUND;
}

/*
 * Adds the path as people know it: "\Device\HarddiskVolume3\a" becomes "C:\a" on volume C:. volume
 * is the label id of its volume, or INTERN_FULL.
 */
static void add_path(struct etw_text *out, const struct report_events *events,
		     const struct etw_field_slice *raw, uint64_t volume)
{
	static const char device[] = "\\Device\\";
	const char *path, *rest = NULL;
	struct etw_text clean = { 0 };

	if (raw->size == 0) {
		text_add_string(out, "_unknown");
		return;
	}
	text_add_utf8_clean(&clean, (const char *)raw->at, raw->size);
	path = clean.data ? clean.data : "";
	if (text_starts_nocase(path, clean.size, device, sizeof device - 1)) {
		rest = strchr(path + sizeof device - 1, '\\');
	}
	if (rest && volume != INTERN_FULL) {
		const char *name =
			intern_text(registry_strings(events->registry), (uint32_t)volume, NULL);

		/* Without a letter the volume keeps its device name. */
		if (name[0] != '\0' && name[1] == ':' && name[2] == '\0') {
			text_add_string(out, name);
			path = rest;
		}
	}
	text_add_string(out, path);
	out->failed |= clean.failed;
	text_free(&clean);
}

/*
 * Returns the id of the record's path in events->paths. Most records are about a few files, so the
 * ids of recent paths are cached; a cached id is valid if the path as recorded is the same.
 */
static uint32_t path_id(struct report_events *events, struct derived_read *read)
{
	struct report_path *place;
	struct etw_text path = { 0 };
	struct etw_field_slice raw;

	if (!read_derived(events->path, read) || read->slice.size == 0) {
		read->slice = (struct etw_field_slice){ .at = (const uint8_t *)"" };
	}
	raw = read->slice;
	place = &events->recent[hash_u64((uintptr_t)raw.at) % REPORT_RECENT_PATHS];
	if (place->raw && place->size == raw.size && memcmp(place->raw, raw.at, raw.size) == 0) {
		return place->id;
	}
	free(place->raw);
	place->raw = text_duplicate((const char *)raw.at, raw.size);
	place->size = raw.size;
	add_path(&path, events, &raw,
		 read_derived(events->volume, read) ? read->number : INTERN_FULL);
	events->failed |= path.failed || !place->raw;
	place->id = path.failed ? INTERN_FULL :
				  intern_add(events->paths, path.data,
					     path.size < PATH_MOST ? path.size : PATH_MOST);
	text_free(&path);
	return place->id;
}

static void take_file(struct report_events *events, const struct etw_record *record,
		      const struct etw_event_class *class, struct tracker *tracker,
		      enum report_direction direction)
{
	struct derived_read read = { .tracker = tracker, .record = record };
	uint32_t bytes, flags = 0;

	/*
	 * The pointer can be kept, because the layouts of kernel events live as long as the
	 * program.
	 */
	if (events->layout != class->schema) {
		events->layout = class->schema;
		events->size_index = etw_schema_find_field(class->schema, "IoSize");
		events->flags_index = etw_schema_find_field(class->schema, "IoFlags");
	}
	if (!read_indexed(class->schema, events->size_index, record, &bytes) ||
	    !read_indexed(class->schema, events->flags_index, record, &flags)) {
		return;
	}
	read.number = flags;
	if (!read_derived(events->paging, &read) || read.number != 0 || bytes == 0) {
		return;
	}
	top_sketch_add(&events->files[direction],
		       (uint64_t)tracker_process(tracker, NULL) << 32 | path_id(events, &read),
		       bytes);
}

static const char *text_of(const struct intern *texts, uint32_t id)
{
	return id == INTERN_FULL ? "_other" : intern_text(texts, id, NULL);
}

/* Returns whether file a comes before file b in the list. */
static bool is_before(const struct report_file *a, const struct report_file *b)
{
	int order = strcmp(a->path, b->path);

	if (a->bytes != b->bytes) {
		return a->bytes > b->bytes;
	}
	return order < 0 || (order == 0 && strcmp(a->process, b->process) < 0);
}

size_t report_files(const struct report_events *events, enum report_direction direction,
		    struct report_file files[REPORT_FILES])
{
	const struct top_sketch *sketch = &events->files[direction];
	size_t count = 0;

	/* An insertion sort is enough for so few entries. */
	for (uint32_t i = 0; i < sketch->count; i++) {
		const struct top_counter *counter = &sketch->counters[i];
		struct report_file file = {
			.path = text_of(events->paths, (uint32_t)counter->key),
			.process = text_of(registry_strings(events->registry),
					   (uint32_t)(counter->key >> 32)),
			.bytes = top_counter_least(counter),
			.error = counter->error,
		};
		size_t at = count;

		while (at > 0 && is_before(&file, &files[at - 1])) {
			if (at < REPORT_FILES) {
				files[at] = files[at - 1];
			}
			at--;
		}
		if (at < REPORT_FILES) {
			files[at] = file;
			count += count < REPORT_FILES;
		}
	}
	return count;
}

void report_events_record(void *context, const struct etw_record *record,
			  const struct etw_event_class *class, struct tracker *tracker)
{
	struct report_events *events = context;

	if (!class->schema) {
		return;
	}
	switch (class->kernel_class) {
	case ETW_KERNEL_PROCESS:
		take_process(events, record, class);
		break;
	case ETW_KERNEL_FILE_IO:
		if (record->opcode == FILE_IO_READ || record->opcode == FILE_IO_WRITE) {
			take_file(events, record, class, tracker,
				  record->opcode == FILE_IO_READ ? REPORT_READ : REPORT_WRITTEN);
		}
		break;
	case ETW_KERNEL_SYSTEM_CONFIG:
		if (record->opcode == CONFIG_CPU) {
			take_machine(events, record, class);
		}
		break;
	default:
		break;
	}
}
