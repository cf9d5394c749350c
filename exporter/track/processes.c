/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads.
 *
 * A process id identifies a process only together with a time, so the names are in a timeline. The
 * label of a process is its image name in one spelling. Events write the same name in different
 * cases, and a series keeps its labels, so the first spelling is used; struct names is a hash table
 * of these spellings, in which a name that collides takes one of the next hashes. When it is full
 * it is emptied: a name that comes again may then get the spelling of that event. In the first pass
 * of a recording the first spelling is not known at once, because records arrive in file order. The
 * timeline therefore stores the names as recorded, and processes_build() assigns labels after
 * sorting: first to start and rundown records, then to stop records, and last to the names from the
 * other provider.
 *
 * There are three sources of a name, in order of precedence: the process events of the kernel, the
 * events of Microsoft-Windows-Kernel-Process, and the list of processes that a live session found
 * when it started. Only the first source creates instances. Threads have two sources: the thread
 * events of the kernel, and the list of a live session.
 *
 * The stop events of Microsoft-Windows-Kernel-Process cut names at 14 characters, so the name of a
 * process that no other event names may lack its end. One program must have one series. Therefore
 * struct names also stores how its names begin, and such a name is completed by the only known name
 * that begins so. If several names begin so, the process has no name. If none does, the name is
 * used as it is once all names are known, after the first pass of a recording; a live session may
 * still meet the longer name, and leaves the process without a name.
 */
#include "exporter/track/processes.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"

/* ---- spellings of names ---- */

enum {
	PROBES = 32
}; /* the most names with one hash; hashes that are not chosen by an attacker never collide so often
    */

enum { CUT_CHARACTERS = 14 }; /* the length of a cut name */

#define SEVERAL_NAMES UINT32_MAX /* no label id has this value */

struct names {
	struct registry *registry; /* borrowed */
	/* hash of the name in lower case, or one of the PROBES numbers from it on -> label id */
	struct map by_hash;
	/* hash of the first CUT_CHARACTERS in lower case -> label id, or SEVERAL_NAMES */
	struct map by_start;
	size_t most;
	bool lower_case;
};

struct names *names_new(struct registry *registry, size_t most, bool lower_case,
			struct etw_error *err)
{
	struct names *names = calloc(1, sizeof *names);

	if (!names) {
		error_no_memory(err, "the names of processes");
		return NULL;
	}
	names->registry = registry;
	names->most = most;
	names->lower_case = lower_case;
	return names;
}

static void forget_names(struct names *names)
{
	map_done(&names->by_hash);
	map_done(&names->by_start);
}

void names_free(struct names *names)
{
	if (names) {
		forget_names(names);
		free(names);
	}
}

void names_set_limit(struct names *names, size_t most)
{
	names->most = most;
}

static uint32_t add_label(struct names *names, const char *name, size_t size)
{
	struct etw_text spelling = { 0 };
	uint32_t label;

	for (size_t i = 0; i < size; i++) {
		text_add_char(&spelling, names->lower_case ? ascii_lower(name[i]) : name[i]);
	}
	label = spelling.failed ?
			INTERN_FULL :
			intern_add(registry_strings(names->registry), spelling.data, spelling.size);
	text_free(&spelling);
	return label;
}

/* Returns the label id of a name without ".exe"; INTERN_NONE if it is not known. Sets *hash to
 * the key under which the name is, or must be added; sets *room to false if too many names have
 * that hash. */
static uint32_t find_name(const struct names *names, const char *name, size_t size, uint64_t *hash,
			  bool *room)
{
	*hash = text_hash_nocase(name, size, hash_seed());
	for (unsigned probe = 0; probe < PROBES; probe++, ++*hash) {
		const uint64_t *slot = map_find(&names->by_hash, *hash);
		size_t known_size;
		const char *known;

		if (!slot) {
			*room = true;
			return INTERN_NONE;
		}
		known = intern_text(registry_strings(names->registry), (uint32_t)*slot,
				    &known_size);
		if (text_equal_nocase(known, known_size, name, size)) {
			return (uint32_t)*slot;
		}
	}
	*room = false;
	return INTERN_NONE;
}

/* Returns the size in bytes of the first CUT_CHARACTERS of a name (UTF-8); 0 if it has fewer. */
static size_t start_size(const char *name, size_t size)
{
	unsigned characters = 0;

	for (size_t i = 0; i < size; i++) {
		bool continues = ((unsigned char)name[i] & 0xc0) == 0x80;

		if (!continues && characters++ == CUT_CHARACTERS) {
			return i;
		}
	}
	return characters == CUT_CHARACTERS ? size : 0;
}

/* Stores how a name begins, for names that are cut there. */
static void note_start(struct names *names, const char *name, size_t size, uint32_t label)
{
	size_t start = start_size(name, size);
	uint64_t *slot = NULL;
	bool added;

	if (start > 0) {
		slot = map_put(&names->by_start, text_hash_nocase(name, start, hash_seed()),
			       &added);
	}
	if (slot) {
		*slot = added ? label : SEVERAL_NAMES;
	}
}

uint32_t names_label(struct names *names, const char *image, size_t size)
{
	uint64_t hash;
	uint64_t *slot;
	uint32_t label;
	bool room;

	if (size == 0) {
		return INTERN_NONE;
	}
	if (text_ends_nocase(image, size, ".exe", 4)) {
		size -= 4;
	}
	if (size == 0) {
		return registry_unknown(names->registry);
	}
	label = find_name(names, image, size, &hash, &room);
	if (label != INTERN_NONE) {
		return label;
	}
	if (room && names->by_hash.count >= names->most) {
		forget_names(names);
	}
	label = room ? add_label(names, image, size) : INTERN_FULL;
	slot = label != INTERN_FULL ? map_put(&names->by_hash, hash, NULL) : NULL;
	if (!slot) {
		return registry_other(names->registry);
	}
	*slot = label;
	note_start(names, image, size, label);
	return label;
}

/* ---- names that are cut ---- */

/* Returns how many bytes at the end of a cut name are the beginning of ".exe". */
static size_t part_of_exe(const char *image, size_t size)
{
	for (size_t part = 3; part > 0; part--) {
		if (text_ends_nocase(image, size, ".exe", part)) {
			return part;
		}
	}
	return 0;
}

/* Whether the image name (UTF-8) in a stop event may lack its end. */
static bool may_be_cut(const char *image, size_t size)
{
	return (size == CUT_CHARACTERS || (size > 0 && start_size(image, size) == size)) &&
	       !text_ends_nocase(image, size, ".exe", 4);
}

/* Whether a cut name can be the beginning of a whole image name. Only ASCII is compared, because
 * the cut name is in an unknown code page. */
static bool begins_so(const char *whole, size_t whole_size, const char *image, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)image[i] >= 0x80 ||
		    (i < whole_size && (unsigned char)whole[i] >= 0x80)) {
			return true; /* not ASCII: the two encodings cannot be compared */
		}
		if (i >= whole_size || ascii_lower(whole[i]) != ascii_lower(image[i])) {
			return false;
		}
	}
	return true;
}

/* Returns the only known name that begins so; INTERN_NONE if none does, SEVERAL_NAMES if several
 * do. */
static uint32_t longer_name(const struct names *names, const char *image, size_t size)
{
	const uint64_t *slot =
		map_find(&names->by_start, text_hash_nocase(image, size, hash_seed()));
	size_t known_size;
	const char *known;

	if (!slot) {
		return INTERN_NONE;
	}
	if (*slot == SEVERAL_NAMES) {
		return SEVERAL_NAMES;
	}
	known = intern_text(registry_strings(names->registry), (uint32_t)*slot, &known_size);
	return text_starts_nocase(known, known_size, image, size) ? (uint32_t)*slot : INTERN_NONE;
}

uint32_t names_complete(struct names *names, const char *image, size_t size, bool all_known)
{
	size_t stem = size - part_of_exe(image, size);
	uint32_t longer = longer_name(names, image, size);
	uint32_t whole = INTERN_NONE; /* a known name that lacks only a part of ".exe" */
	uint64_t hash;
	bool room;

	if (stem == 0) {
		return INTERN_NONE;
	}
	if (stem < size) {
		whole = find_name(names, image, stem, &hash, &room);
	}
	if (longer == SEVERAL_NAMES || (longer != INTERN_NONE && whole != INTERN_NONE)) {
		return INTERN_NONE;
	}
	if (longer != INTERN_NONE) {
		return longer;
	}
	return stem < size || all_known ? names_label(names, image, stem) : INTERN_NONE;
}

/* ---- threads ---- */

void threads_found(struct threads *threads, uint32_t thread_id, uint32_t process_id)
{
	uint64_t *value;

	if (thread_id == 0 || threads->found.count >= threads->limit) {
		return; /* the session's rundown events contain this thread as well */
	}
	value = map_put(&threads->found, thread_id, NULL);
	if (value) {
		*value = process_id;
	}
}

uint32_t threads_process_otherwise(const struct threads *threads, uint32_t thread_id)
{
	const uint64_t *value = map_find(&threads->found, thread_id);

	return value ? (uint32_t)*value : ETW_RECORD_NO_ID;
}

/* ---- processes ---- */

void processes_init(struct processes *processes, struct registry *registry, struct names *names,
		    uint32_t limit, size_t texts_bytes)
{
	*processes = (struct processes){ .registry = registry,
					 .names = names,
					 .texts_bytes = texts_bytes };
	timeline_init(&processes->timeline, limit);
	timeline_init(&processes->images, limit);
	processes->idle = names_label(names, "Idle", 4);
	processes->system = names_label(names, "System", 6);
}

static void free_texts(struct processes *processes)
{
	intern_free(processes->texts);
	processes->texts = NULL;
}

void processes_clear(struct processes *processes)
{
	timeline_clear(&processes->timeline);
	timeline_clear(&processes->images);
	free_texts(processes);
	map_done(&processes->found);
	intern_free(processes->found_texts);
	processes->found_texts = NULL;
}

bool processes_begin_first_pass(struct processes *processes)
{
	processes->texts = intern_new(processes->texts_bytes, NULL);
	if (processes->texts) {
		timeline_begin_first_pass(&processes->timeline);
		timeline_begin_first_pass(&processes->images);
	}
	return processes->texts != NULL;
}

/* Returns the value to announce: a label id, or in the first pass a text id. */
static uint32_t value_of(struct processes *processes, const char *name, size_t name_size)
{
	return processes->timeline.in_first_pass ? intern_add(processes->texts, name, name_size) :
						   names_label(processes->names, name, name_size);
}

void processes_announce(struct processes *processes, enum lifetime_change change,
			uint32_t process_id, int64_t time, const char *name, size_t name_size)
{
	timeline_announce(&processes->timeline, change, process_id, time,
			  value_of(processes, name, name_size));
}

static uint32_t found_label(struct processes *processes, uint32_t process_id);

/*
 * Returns the label id of a process whose stop has its first name. The name that was found running
 * may be that of an earlier process with this id, so it must begin as the cut name does.
 */
static uint32_t label_of_cut(struct processes *processes, uint32_t process_id, const char *name,
			     size_t size)
{
	const uint64_t *found = map_find(&processes->found, process_id);
	size_t whole_size;
	const char *whole;
	uint32_t label;

	if (found) {
		whole = intern_text(processes->found_texts, (uint32_t)*found, &whole_size);
		if (begins_so(whole, whole_size, name, size)) {
			return found_label(processes, process_id);
		}
	}
	label = names_complete(processes->names, name, size, processes->images.table.frozen);
	return label == INTERN_NONE && found ? registry_unknown(processes->registry) : label;
}

void processes_announce_image(struct processes *processes, enum lifetime_change change,
			      uint32_t process_id, int64_t time, const char *path, size_t path_size)
{
	size_t name = path_size;
	uint32_t value;

	while (name > 0 && path[name - 1] != '\\') {
		name--;
	}
	path_size -= name;
	if (name > 0) {
		path += name;
	}
	if (change == LIFETIME_STOP && !processes->images.in_first_pass &&
	    may_be_cut(path, path_size)) {
		value = label_of_cut(processes, process_id, path, path_size);
	} else {
		value = value_of(processes, path, path_size);
	}
	timeline_announce(&processes->images, change, process_id, time, value);
}

/* Returns the label id of a recorded name, resolved once for each name. labels[] is indexed by
 * text id; INTERN_NONE there means that it is not resolved yet. */
static uint32_t label_of(struct processes *processes, uint32_t *labels, uint32_t text)
{
	const char *name;
	size_t size;

	if (text == INTERN_FULL) {
		intern_refuse(registry_strings(processes->registry));
		return registry_other(processes->registry);
	}
	if (labels[text] == INTERN_NONE) {
		name = intern_text(processes->texts, text, &size);
		labels[text] = names_label(processes->names, name, size);
	}
	return labels[text];
}

/* As label_of(), for the name in a stop record of images. Call it when all whole names have
 * their labels. */
static uint32_t label_of_stop(struct processes *processes, uint32_t *labels, uint32_t text)
{
	size_t size = 0;
	const char *name = text != INTERN_FULL ? intern_text(processes->texts, text, &size) : NULL;

	return name && may_be_cut(name, size) ? names_complete(processes->names, name, size, true) :
						label_of(processes, labels, text);
}

/* Replaces text ids by label ids. stops: only in stop records; otherwise only in all others. */
static void label_changes(struct processes *processes, struct timeline *timeline, uint32_t *labels,
			  bool stops)
{
	bool images_stop = stops && timeline == &processes->images;

	for (size_t i = 0; i < timeline->count; i++) {
		struct timeline_change *change = &timeline->changes[i];

		if ((timeline_change_of(change) == LIFETIME_STOP) != stops) {
			continue;
		}
		if (!labels) {
			change->value = registry_other(processes->registry);
		} else if (images_stop) {
			change->value = label_of_stop(processes, labels, change->value);
		} else {
			change->value = label_of(processes, labels, change->value);
		}
	}
}

void processes_build(struct processes *processes)
{
	uint32_t *labels;

	if (!processes->timeline.in_first_pass) {
		return;
	}
	labels = calloc(intern_count(processes->texts), sizeof *labels);
	if (!labels) {
		memory_note_loss();
	}
	timeline_sort(&processes->timeline);
	timeline_sort(&processes->images);
	/* The first spelling is used: start and rundown records come first, then stop records,
	 * then images. */
	label_changes(processes, &processes->timeline, labels, false);
	label_changes(processes, &processes->timeline, labels, true);
	label_changes(processes, &processes->images, labels, false);
	label_changes(processes, &processes->images, labels, true);
	free(labels);
	free_texts(processes);
	timeline_build(&processes->timeline);
	timeline_build(&processes->images);
}

void processes_found(struct processes *processes, uint32_t process_id, const char *name,
		     size_t name_size)
{
	uint32_t text;
	uint64_t *value;

	if (!processes->found_texts) {
		processes->found_texts = intern_new(processes->texts_bytes, NULL);
	}
	if (!processes->found_texts) {
		return;
	}
	text = intern_add(processes->found_texts, name, name_size);
	value = text != INTERN_FULL ? map_put(&processes->found, process_id, NULL) : NULL;
	if (value) {
		*value = text;
	}
}

size_t processes_unseen(struct processes *processes)
{
	const struct map_slot *slot;
	size_t unseen = 0;
	size_t at = 0;

	while ((slot = map_next(&processes->found, &at)) != NULL) {
		unseen += !lifetimes_at(&processes->timeline.table, slot->key, INT64_MAX) &&
			  !lifetimes_at(&processes->images.table, slot->key, INT64_MAX);
	}
	return unseen;
}

/* The label is resolved at the first look-up, so that a spelling of earlier events is used. */
static uint32_t found_label(struct processes *processes, uint32_t process_id)
{
	uint64_t *value = map_find(&processes->found, process_id);
	const char *name;
	size_t size;

	if (!value) {
		return INTERN_NONE;
	}
	if (*value >> 32 == INTERN_NONE) {
		name = intern_text(processes->found_texts, (uint32_t)*value, &size);
		*value |= (uint64_t)names_label(processes->names, name, size) << 32;
	}
	return (uint32_t)(*value >> 32);
}

/* The arguments of processes_report_alive(). */
struct alive_report {
	struct registry *registry;
	const struct etw_source_clock *clock;
	int64_t raw_now, now;
};

static void report_instance(void *context, uint64_t process_id, const struct lifetime *instance)
{
	const struct alive_report *report = context;

	(void)process_id;
	if (instance->value == INTERN_NONE || instance->start > report->raw_now) {
		return;
	}
	registry_alive(report->registry, instance->value,
		       instance->end > report->raw_now ?
			       report->now :
			       etw_clock_time(report->clock, instance->end));
}

void processes_report_alive(struct processes *processes, const struct etw_source_clock *clock,
			    int64_t raw_now, int64_t now)
{
	struct alive_report report = { processes->registry, clock, raw_now, now };
	const struct map_slot *slot;
	size_t at = 0;

	lifetimes_each(&processes->timeline.table, report_instance, &report);
	lifetimes_each(&processes->images.table, report_instance, &report);
	while ((slot = map_next(&processes->found, &at)) != NULL) {
		if (slot->value >> 32 != INTERN_NONE &&
		    !lifetimes_at(&processes->timeline.table, slot->key, raw_now)) {
			registry_alive(processes->registry, (uint32_t)(slot->value >> 32), now);
		}
	}
	registry_alive(processes->registry, processes->idle, now);
	registry_alive(processes->registry, processes->system, now);
}

uint32_t processes_label_otherwise(struct processes *processes, uint32_t process_id, int64_t time)
{
	const struct lifetime *image = lifetimes_at(&processes->images.table, process_id, time);

	if (image && image->value != INTERN_NONE) {
		return image->value;
	}
	if (process_id == PROCESS_IDLE) {
		return processes->idle;
	}
	if (process_id == PROCESS_SYSTEM) {
		return processes->system;
	}
	return processes->found.count > 0 ? found_label(processes, process_id) : INTERN_NONE;
}
