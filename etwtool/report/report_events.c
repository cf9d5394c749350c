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
 * Files: any number of paths may be written, so their bytes are summed by a sketch (top_paths.h).
 * It has room for FILES_MOST pairs of a path and a process, and gives an error bound for each sum,
 * which is 0 while there are fewer pairs. The rules of etw_file_written_bytes_total decide which
 * bytes count, so both sums agree. The path is shown with the volume's letter if that is known.
 */
#include <etw/record.h>
#include <etw/schema.h>

#include "etwtool/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "base/utc.h"
#include "etwtool/recording.h"
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

static void add_process_event(struct report_events *events, const struct etw_record *record,
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

static void set_machine(struct report_events *events, const struct etw_record *record,
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

static void add_file_bytes(struct report_events *events, const struct etw_record *record,
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
		add_process_event(events, record, class);
		break;
	case ETW_KERNEL_FILE_IO:
		if (record->opcode == FILE_IO_READ || record->opcode == FILE_IO_WRITE) {
			add_file_bytes(events, record, class, tracker,
				       record->opcode == FILE_IO_READ ? REPORT_READ :
									REPORT_WRITTEN);
		}
		break;
	case ETW_KERNEL_SYSTEM_CONFIG:
		if (record->opcode == CONFIG_CPU) {
			set_machine(events, record, class);
		}
		break;
	default:
		break;
	}
}

/* ---- the tree of processes ---- */

/*
 * Arranges the processes of a recording as a tree, with their lifetimes, in the document of etwtool
 * report.
 *
 * A process names its parent by a process id, which can belong to other processes before and after.
 * So the parent is the instance that ran when the child began; if there are several, the one that
 * began last. A recording can claim anything, even circles: each instance is listed once, below its
 * parent, or without a parent if that would be below itself.
 */

enum { NONE = UINT32_MAX };

struct process_node {
	uint32_t parent, first_child, last_child, next; /* indices of instances, or NONE */
};

/* ---- parents ---- */

static uint32_t find_parent(const struct report_events *events, uint32_t child)
{
	const struct report_process *process = &events->processes[child];
	uint32_t found = NONE;

	for (uint32_t i = 0; i < events->process_count; i++) {
		const struct report_process *other = &events->processes[i];

		if (i != child && other->process_id == process->parent_id &&
		    other->start <= process->start &&
		    (other->end == ETW_RECORD_NO_TIME || other->end >= process->start) &&
		    (found == NONE || other->start >= events->processes[found].start)) {
			found = i;
		}
	}
	return found;
}

/* Returns whether an instance is the other one or below it. */
static bool is_below(const struct process_node *nodes, uint32_t lower, uint32_t upper)
{
	while (lower != NONE && lower != upper) {
		lower = nodes[lower].parent;
	}
	return lower == upper;
}

/*
 * Makes the tree, which the caller frees. The last node is the root. Returns NULL without memory.
 */
static struct process_node *make_tree(const struct report_events *events)
{
	uint32_t count = (uint32_t)events->process_count;
	struct process_node *nodes = calloc(count + 1, sizeof *nodes);

	for (uint32_t i = 0; nodes && i <= count; i++) {
		nodes[i] = (struct process_node){ NONE, NONE, NONE, NONE };
	}
	for (uint32_t i = 0; nodes && i < count; i++) {
		uint32_t parent = find_parent(events, i);
		struct process_node *upper;

		parent = parent == NONE || is_below(nodes, parent, i) ? count : parent;
		upper = &nodes[parent];
		nodes[i].parent = parent;
		if (upper->last_child == NONE) {
			upper->first_child = i;
		} else {
			nodes[upper->last_child].next = i;
		}
		upper->last_child = i;
	}
	return nodes;
}

/* ---- rows ---- */

/* Source: "NTSTATUS Values", [MS-ERREF] 2.3.1; corexcep.h and ehdata.h for the last two. */
static const struct {
	uint32_t status;
	const char *name;
} exit_names[] = {
	{ 0x80000003, "breakpoint" },
	{ 0xc0000005, "access violation" },
	{ 0xc0000017, "no memory" },
	{ 0xc000001d, "illegal instruction" },
	{ 0xc0000094, "integer division by zero" },
	{ 0xc00000fd, "stack overflow" },
	{ 0xc0000135, "a DLL was not found" },
	{ 0xc0000139, "an entry point of a DLL was not found" },
	{ 0xc000013a, "Ctrl-C" },
	{ 0xc0000142, "a DLL could not start" },
	{ 0xc0000374, "damaged heap" },
	{ 0xc0000409, "damaged stack, or the program ended itself" },
	{ 0xc0000420, "failed assertion" },
	{ 0xe0434352, "unhandled .NET exception" },
	{ 0xe06d7363, "unhandled C++ exception" },
};

/* An NTSTATUS of an error is written in the form that people search for. */
void report_add_exit_status(struct etw_text *out, int32_t status)
{
	if (status >= 0) {
		text_add_format(out, "%" PRId32, status);
		return;
	}
	text_add_format(out, "0x%08" PRIX32, (uint32_t)status);
	for (size_t i = 0; i < sizeof exit_names / sizeof exit_names[0]; i++) {
		if (exit_names[i].status == (uint32_t)status) {
			text_add_format(out, " (%s)", exit_names[i].name);
		}
	}
}

/* Adds a time of a process. A time that RFC 3339 cannot express is moved to the nearest one. */
static void add_time(struct json *json, const char *key, int64_t time)
{
	time = time < TIME_10000 ? time : TIME_10000 - 1;
	utc_member(json, key, time > 0 || time == ETW_RECORD_NO_TIME ? time : 1);
}

static void add_process_json(struct json *json, const struct report_process *process,
			     unsigned depth)
{
	struct etw_text status = { 0 };

	json_object_begin(json);
	json_member_u64(json, "depth", depth);
	json_member_string(json, "name", process->name);
	json_member_u64(json, "id", process->process_id);
	json_member_string(json, "command", process->command);
	add_time(json, "start", process->start);
	add_time(json, "end", process->end);
	if (process->exit_known) {
		report_add_exit_status(&status, process->exit_status);
		json_member_i64(json, "exit_status", process->exit_status);
		json_member_string(json, "exit_text", status.data);
	}
	json_object_end(json);
	json->out->failed |= status.failed;
	text_free(&status);
}

static void add_rows(struct json *json, const struct report_events *events,
		     const struct process_node *nodes)
{
	const uint32_t root = (uint32_t)events->process_count;
	uint32_t at = nodes[root].first_child;
	unsigned depth = 0;

	while (at != NONE && at != root) {
		add_process_json(json, &events->processes[at], depth);
		if (nodes[at].first_child != NONE) {
			at = nodes[at].first_child;
			depth++;
			continue;
		}
		while (at != root && nodes[at].next == NONE) {
			at = nodes[at].parent;
			depth -= at != root;
		}
		if (at != root) {
			at = nodes[at].next;
		}
	}
}

void report_add_processes(struct json *json, const struct report_events *events)
{
	struct process_node *nodes = make_tree(events);

	json->out->failed |= nodes == NULL;
	json_member_array(json, "processes");
	if (nodes) {
		add_rows(json, events, nodes);
	}
	json_array_end(json);
	json_member_u64(json, "processes_left_out", events->processes_left_out);
	free(nodes);
}
