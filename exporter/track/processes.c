/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads.
 *
 * A process id identifies a process only together with a time, so a timeline leads from the id to
 * the identity of its instance, and the identity has the label. In the first pass of a recording
 * records arrive in file order, so neither the first spelling of a name nor the parent of a process
 * is known at once. processes_build() therefore decides labels after sorting: first the images of
 * start and rundown records, then of stop records, then the names from the other provider, and last
 * what the rules of process_names make of them, which may ask for the parent.
 *
 * There are three sources of a name, in order of precedence: the process events of the kernel, the
 * events of Microsoft-Windows-Kernel-Process, and the list of processes that a live session found
 * when it started. Only the first source creates instances. If a recording has only its rundown,
 * not its starts and stops, then both first sources create instances: the rundown may name a
 * process that has ended since, and whose id another process has got. This is so in recordings of
 * our flight recorder without kernel events. Threads have two sources: the thread events of the
 * kernel, and the list of a live session.
 *
 * Each announcement makes an identity, also that of an instance which has one. Those that no
 * instance refers to are swept from time to time.
 */
#include "exporter/track/processes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

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
	identities_init(&processes->identities, names, registry_strings(registry), texts_bytes);
	processes->idle = names_label(names, "Idle", 4);
	processes->system = names_label(names, "System", 6);
}

void processes_clear(struct processes *processes)
{
	timeline_clear(&processes->timeline);
	timeline_clear(&processes->images);
	processes->merged = false;
	identities_clear(&processes->identities);
	map_done(&processes->found);
	intern_free(processes->found_texts);
	processes->found_texts = NULL;
}

void processes_done(struct processes *processes)
{
	processes_clear(processes);
	identities_done(&processes->identities);
}

void processes_begin_first_pass(struct processes *processes)
{
	timeline_begin_first_pass(&processes->timeline);
	timeline_begin_first_pass(&processes->images);
}

/* ---- labels ---- */

/* Returns the label id of the image that an identity of the first pass has stored. */
static uint32_t image_label(struct processes *processes, const struct identity *identity)
{
	if (!identity->texts) {
		intern_refuse(registry_strings(processes->registry));
		return registry_other(processes->registry);
	}
	return names_label(processes->names, identity->texts, identity->image_size);
}

/* The process whose parent a rule asks for. */
struct child {
	struct processes *processes;
	const struct identity *identity;
};

/* Returns the name of the image of a process's parent: of the process that had the parent's id when
 * the process started or, if its start is not recorded, when it became known. */
static const char *parent_image(void *context)
{
	const struct child *child = context;
	const struct identity *identity = child->identity;
	const char *image = NULL;

	if (identity && identity->parent_id != ETW_RECORD_NO_ID) {
		image = names_text(child->processes->names,
				   processes_image(child->processes, identity->parent_id,
						   identity->time));
	}
	return image ? image : "";
}

/* Returns the label id of a process with this image. identity: NULL if only the image is known. */
static uint32_t decide(struct processes *processes, const struct identity *identity, uint32_t image)
{
	struct child child = { processes, identity };

	return identities_decide(&processes->identities, identity, image, parent_image, &child);
}

/* A recording keeps the texts of all its processes, because the second pass meets them again. */
static void mark_instance(void *context, uint64_t process_id, const struct lifetime *instance)
{
	struct processes *processes = context;

	(void)process_id;
	identities_mark(&processes->identities, instance->value,
			!processes->timeline.table.frozen && instance->end != LIFETIME_OPEN);
}

static void sweep(struct processes *processes)
{
	struct identities *identities = &processes->identities;

	if (identities->count > 0) {
		lifetimes_each(&processes->timeline.table, mark_instance, processes);
		lifetimes_each(&processes->images.table, mark_instance, processes);
		identities_sweep(identities);
	}
}

/* Adds an identity for a change of the timeline, without labels, and returns its number; 0 for one
 * without an image, and for a change of the first pass that the timeline has no room for. */
static uint32_t add_identity(struct processes *processes, const struct timeline *timeline,
			     const struct process_announced *announced, int64_t time)
{
	struct identities *identities = &processes->identities;

	if (announced->image_size == 0 ||
	    (timeline->in_first_pass && timeline->count >= timeline->most)) {
		return 0;
	}
	if (!processes->timeline.in_first_pass && identities_want_sweep(identities)) {
		sweep(processes);
	}
	identities_find_pending_owners(identities);
	return identities_add(identities, announced, time);
}

/* Gives an identity its labels, which processes_build() does for those of the first pass. Returns
 * the number, or 0 if the image is not known. */
static uint32_t label_identity(struct processes *processes, uint32_t number, uint32_t image)
{
	struct identity *identity = &processes->identities.rows[number];

	identity->image = image;
	identity->label = decide(processes, identity, image);
	identities_find_owner(&processes->identities, identity);
	return image != INTERN_NONE ? number : 0;
}

void processes_announce(struct processes *processes, enum lifetime_change change,
			uint32_t process_id, int64_t time,
			const struct process_announced *announced)
{
	uint32_t number = add_identity(processes, &processes->timeline, announced, time);

	if (number != 0 && !processes->timeline.in_first_pass) {
		number = label_identity(processes, number,
					names_label(processes->names, announced->image,
						    announced->image_size));
	}
	timeline_announce(&processes->timeline, change, process_id, time, number);
}

/*
 * Returns the label id of the image of a process whose stop has its first name. The name that was
 * found running may be that of an earlier process with this id, so it must begin as the cut name
 * does.
 */
static uint32_t image_of_cut(struct processes *processes, uint32_t process_id, const char *name,
			     size_t size)
{
	const uint64_t *found = map_find(&processes->found, process_id);
	size_t whole_size;
	const char *whole;
	uint32_t label;

	if (found) {
		whole = intern_text(processes->found_texts, (uint32_t)*found, &whole_size);
		if (names_is_beginning(whole, whole_size, name, size)) {
			return names_label(processes->names, whole, whole_size);
		}
	}
	label = names_complete(processes->names, name, size, processes->images.table.frozen);
	return label == INTERN_NONE && found ? registry_unknown(processes->registry) : label;
}

void processes_announce_image(struct processes *processes, enum lifetime_change change,
			      uint32_t process_id, int64_t time, const char *path, size_t path_size,
			      uint32_t parent_id, uint32_t terminal_session)
{
	struct process_announced announced = { .image = path,
					       .image_size = path_size,
					       .path = path,
					       .path_size = path_size,
					       .command_line = "",
					       .sid = "",
					       .parent_id = parent_id,
					       .terminal_session = terminal_session };
	struct timeline *timeline = processes_of_provider(processes);
	size_t name = path_size;
	uint32_t number;

	while (name > 0 && path[name - 1] != '\\') {
		name--;
	}
	announced.image_size -= name;
	if (name > 0) {
		announced.image += name;
	}
	number = add_identity(processes, timeline, &announced, time);
	if (number != 0 && !timeline->in_first_pass) {
		bool cut = change == LIFETIME_STOP &&
			   names_may_be_cut(announced.image, announced.image_size);

		number = label_identity(processes, number,
					cut ? image_of_cut(processes, process_id, announced.image,
							   announced.image_size) :
					      names_label(processes->names, announced.image,
							  announced.image_size));
	}
	timeline_announce(timeline, change, process_id, time, number);
}

/* Gives identities of the first pass the labels of their images. stops: only those of stop records;
 * otherwise only those of all others. */
static void label_changes(struct processes *processes, struct timeline *timeline, bool stops)
{
	bool images_stop = stops && timeline == &processes->images;

	for (size_t i = 0; i < timeline->count; i++) {
		struct timeline_change *change = &timeline->changes[i];
		struct identity *identity;

		if (change->value == 0 || (timeline_change_of(change) == LIFETIME_STOP) != stops) {
			continue;
		}
		identity = &processes->identities.rows[change->value];
		if (images_stop && identity->texts &&
		    names_may_be_cut(identity->texts, identity->image_size)) {
			identity->image = names_complete(processes->names, identity->texts,
							 identity->image_size, true);
			change->value = identity->image != INTERN_NONE ? change->value : 0;
		} else {
			identity->image = image_label(processes, identity);
		}
	}
}

/* Decides the labels of all identities. */
static void decide_all(struct processes *processes)
{
	struct identities *identities = &processes->identities;

	for (size_t i = 1; i < identities->count; i++) {
		struct identity *identity = &identities->rows[i];

		if (identity->in_use) {
			identity->label = decide(processes, identity, identity->image);
			identities_find_owner(identities, identity);
		}
	}
}

void processes_build(struct processes *processes, bool kernel_reports)
{
	if (!processes->timeline.in_first_pass) {
		return;
	}
	timeline_sort(&processes->timeline);
	timeline_sort(&processes->images);
	/* The first spelling is used: start and rundown records come first, then stop records,
	 * then images. */
	label_changes(processes, &processes->timeline, false);
	label_changes(processes, &processes->timeline, true);
	label_changes(processes, &processes->images, false);
	label_changes(processes, &processes->images, true);
	processes->merged = !kernel_reports && processes->timeline.count > 0;
	if (processes->merged) {
		timeline_move(&processes->images, &processes->timeline);
	}
	timeline_build(&processes->timeline);
	timeline_build(&processes->images);
	sweep(processes); /* so that only processes take names from the limit of given ones */
	decide_all(processes);
}

bool processes_set_rules(struct processes *processes, const struct process_names *rules,
			 size_t names_most, bool owners, struct etw_error *err)
{
	const struct map_slot *slot;
	size_t at = 0;

	if (!identities_set_rules(&processes->identities, rules, names_most, err)) {
		return false;
	}
	processes->identities.owners = owners;
	processes->identities.keeps = processes->identities.keeps || rules;
	if (!processes->timeline.in_first_pass) { /* processes_build() decides otherwise */
		sweep(processes);
		decide_all(processes);
	}
	while ((slot = map_next(&processes->found, &at)) != NULL) {
		uint64_t *value = map_find(&processes->found, slot->key);

		if (value) {
			*value = (uint32_t)*value;
		}
	}
	return true;
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

static uint32_t found_image(struct processes *processes, uint32_t process_id)
{
	const uint64_t *value = map_find(&processes->found, process_id);
	const char *name;
	size_t size;

	if (!value) {
		return INTERN_NONE;
	}
	name = intern_text(processes->found_texts, (uint32_t)*value, &size);
	return names_label(processes->names, name, size);
}

/* The label is resolved at the first look-up, so that a spelling of earlier events is used. */
static uint32_t found_label(struct processes *processes, uint32_t process_id)
{
	uint64_t *value = map_find(&processes->found, process_id);

	if (!value) {
		return INTERN_NONE;
	}
	if (*value >> 32 == INTERN_NONE) {
		*value |= (uint64_t)decide(processes, NULL, found_image(processes, process_id))
			  << 32;
	}
	return (uint32_t)(*value >> 32);
}

/* The arguments of processes_report_alive(). */
struct alive_report {
	const struct processes *processes;
	const struct etw_source_clock *clock;
	int64_t raw_now, now;
};

static void report_instance(void *context, uint64_t process_id, const struct lifetime *instance)
{
	const struct alive_report *report = context;

	(void)process_id;
	if (instance->value == 0 || instance->start > report->raw_now) {
		return;
	}
	registry_alive(report->processes->registry,
		       report->processes->identities.rows[instance->value].label,
		       instance->end > report->raw_now ?
			       report->now :
			       etw_clock_time(report->clock, instance->end));
}

void processes_report_alive(struct processes *processes, const struct etw_source_clock *clock,
			    int64_t raw_now, int64_t now)
{
	struct alive_report report = { processes, clock, raw_now, now };
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

	if (image && image->value != 0) {
		return processes->identities.rows[image->value].label;
	}
	if (process_id == PROCESS_IDLE) {
		return processes->idle;
	}
	if (process_id == PROCESS_SYSTEM) {
		return processes->system;
	}
	return processes->found.count > 0 ? found_label(processes, process_id) : INTERN_NONE;
}

const struct identity *processes_identity(struct processes *processes, uint32_t process_id,
					  int64_t time)
{
	const struct lifetime *instance =
		lifetimes_at(&processes->timeline.table, process_id, time);

	if (!instance || instance->value == 0) {
		instance = lifetimes_at(&processes->images.table, process_id, time);
	}
	return instance && instance->value != 0 ? &processes->identities.rows[instance->value] :
						  NULL;
}

uint32_t processes_owner(const struct processes *processes, const struct identity *identity,
			 bool sid)
{
	uint32_t label = !identity ? INTERN_NONE : sid ? identity->owner_sid : identity->owner;

	return label == INTERN_FULL ? registry_other(processes->registry) :
	       label == INTERN_NONE ? registry_unknown(processes->registry) :
				      label;
}

uint32_t processes_image(struct processes *processes, uint32_t process_id, int64_t time)
{
	const struct identity *identity = processes_identity(processes, process_id, time);

	if (identity) {
		return identity->image;
	}
	if (process_id == PROCESS_IDLE || process_id == PROCESS_SYSTEM) {
		return process_id == PROCESS_IDLE ? processes->idle : processes->system;
	}
	return found_image(processes, process_id);
}

struct each {
	const struct processes *processes;
	void (*visit)(void *context, uint32_t process_id, uint32_t name, uint32_t image);
	void *context;
};

static void visit_instance(void *context, uint64_t process_id, const struct lifetime *instance)
{
	const struct each *each = context;
	const struct identity *identity = &each->processes->identities.rows[instance->value];

	if (instance->value != 0) {
		each->visit(each->context, (uint32_t)process_id, identity->label, identity->image);
	}
}

/* The events of the other provider count only where the kernel's name no process. */
void processes_each(const struct processes *processes,
		    void (*visit)(void *context, uint32_t process_id, uint32_t name,
				  uint32_t image),
		    void *context)
{
	struct each each = { processes, visit, context };
	const struct lifetimes *kernel = &processes->timeline.table;

	lifetimes_each(kernel->count > 0 ? kernel : &processes->images.table, visit_instance,
		       &each);
}

/* ---- services of threads ---- */

static const char host_name[] = "svchost";

void services_init(struct services *services, struct registry *registry, uint32_t limit)
{
	*services = (struct services){ .registry = registry };
	timeline_init(&services->tags, limit);
}

void services_clear(struct services *services)
{
	timeline_clear(&services->tags);
	map_done(&services->names);
}

static uint64_t key_of(uint32_t process_id, uint32_t tag)
{
	return (uint64_t)process_id << 32 | tag;
}

static void add_name(struct services *services, uint32_t process_id, uint32_t tag, const char *name,
		     size_t size)
{
	uint64_t *label = map_find(&services->names, key_of(process_id, tag));
	uint32_t id;

	if (!label && services->names.count < SERVICES_MAX) {
		label = map_put(&services->names, key_of(process_id, tag), NULL);
	}
	if (!label) {
		services->refused++;
		return;
	}
	id = intern_add(registry_strings(services->registry), name, size);
	*label = id == INTERN_FULL ? registry_other(services->registry) : id;
}

void services_name(struct services *services, uint32_t process_id, uint32_t tag, const char *name,
		   size_t size)
{
	if (tag != 0 && size > 0) { /* tag 0 or an empty name: the service does not run */
		add_name(services, process_id, tag, name, size);
	}
}

void services_find(struct services *services, uint32_t process_id, uint32_t tag, const char *name)
{
	if (!name) {
		map_remove(&services->names, key_of(process_id, tag));
	} else if (name[0] != '\0') {
		add_name(services, process_id, tag, name, strlen(name));
	}
}

bool services_is_host(struct services *services, uint32_t image)
{
	const char *name;
	size_t size;

	if (image == INTERN_FULL || image == services->host) {
		return image == services->host && image != INTERN_NONE;
	}
	name = intern_text(registry_strings(services->registry), image, &size);
	if (!text_equal_nocase(name, size, host_name, sizeof host_name - 1)) {
		return false;
	}
	services->host = image;
	return true;
}

uint32_t services_label(struct services *services, uint32_t process_id, uint32_t thread_id,
			int64_t time)
{
	const struct lifetime *thread = lifetimes_at(&services->tags.table, thread_id, time);
	const uint64_t *label;

	if (!thread || thread->value == 0) {
		return registry_unknown(services->registry);
	}
	if (thread->value == 1) {
		return registry_none(services->registry);
	}
	label = map_find(&services->names, key_of(process_id, thread->value - 1));
	label = label ? label : map_find(&services->names, key_of(process_id, 0));
	return label ? (uint32_t)*label : registry_unknown(services->registry);
}

/* ---- processes named by stacks ---- */

/* Two stacks with one key are so unlikely that the later one may replace the first. */
static uint64_t stack_key(uint32_t thread_id, int64_t time)
{
	return hash_seeded((uint64_t)time, hash_seed() ^ thread_id);
}

void stack_owners_add(struct stack_owners *owners, uint32_t thread_id, int64_t time,
		      uint32_t process_id)
{
	uint64_t key = stack_key(thread_id, time);
	uint64_t *found = owners->processes.count < owners->limit ?
				  map_put(&owners->processes, key, NULL) :
				  map_find(&owners->processes, key);

	if (found) {
		*found = (uint64_t)thread_id << 32 | process_id;
	} else {
		owners->refused++;
	}
}

void stack_owners_keep(struct stack_owners *owners,
		       bool (*is_unknown)(void *context, uint32_t thread_id), void *context)
{
	struct map kept = { 0 };
	const struct map_slot *slot;
	size_t at = 0;

	while ((slot = map_next(&owners->processes, &at)) != NULL) {
		uint64_t *to;

		if (!is_unknown(context, (uint32_t)(slot->value >> 32))) {
			continue;
		}
		to = map_put(&kept, slot->key, NULL);
		if (to) {
			*to = slot->value;
		} else {
			owners->evictions++; /* no memory */
		}
	}
	map_done(&owners->processes);
	owners->processes = kept;
	owners->evictions += kept.count > 0 ? owners->refused : 0;
	owners->refused = 0;
}

uint32_t stack_owners_find(const struct stack_owners *owners, uint32_t thread_id, int64_t time)
{
	const uint64_t *found;

	if (owners->processes.count == 0) {
		return ETW_RECORD_NO_ID;
	}
	found = map_find(&owners->processes, stack_key(thread_id, time));
	return found && *found >> 32 == thread_id ? (uint32_t)*found : ETW_RECORD_NO_ID;
}

void stack_owners_clear(struct stack_owners *owners)
{
	map_done(&owners->processes);
}
