/* SPDX-License-Identifier: MIT */
/*
 * Joins events with their call stacks. A stack record follows its event, and the definition of a
 * stack's key may come at the end of the recording. But an event is shown together with its stack.
 * Therefore a pass in file order comes first; it notes each stack with the thread and time of its
 * event, and each definition. The same stacks occur many times, so each sequence of addresses is
 * stored once.
 *
 * A stack has up to two parts, of the kernel and of the program; both are found, and ordered by
 * their own times. For an event that names no thread, such as a DPC, the stack with the same time
 * and processor is taken.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <etw/recording.h>
#include <etw/stack_walk.h>

#include "base/array.h"
#include "base/cursor.h"
#include "base/map.h"
#include "etwtool/dump/dump.h"
#include "etwtool/tool.h"

enum {
	JOINED_MOST = 1 << 22, /* a bound of entries; each has 40 bytes */
	DEFINITIONS_MOST = 1 << 20,
	ADDRESSES_MOST = 1 << 23,
	/* Bounds of one event. Windows writes at most 192 addresses in a part. */
	PARTS_MOST = 8,
	PART_MOST = 256,
	SAME_TIME_MOST = 256, /* stacks of one time, on all processors */
	MATCH_ID = 8,         /* bytes before the addresses in an extended item */
};

/* A stack, or a reference to one, that belongs to an event. */
struct joined_stack {
	int64_t event_time; /* raw times: of the event, and of the stack record */
	int64_t time;
	uint64_t what; /* index in `addresses`, or the key of a reference */
	uint32_t thread_id;
	uint32_t process_id;
	uint16_t processor;
	bool reference;
};

struct stack_definition {
	uint64_t key;
	int64_t time;
	size_t addresses; /* index in `addresses` of the struct */
};

struct stack_frame {
	uint64_t address;
	const char *image; /* borrowed; NULL: unknown */
	uint64_t offset;
};

struct dump_stacks {
	bool join;
	struct images *images; /* owned, as are the members below */
	struct joined_stack *joined;
	size_t joined_count, joined_capacity;
	struct stack_definition *definitions;
	size_t definition_count, definition_capacity;
	uint64_t *addresses; /* sequences: a count, then that many addresses */
	size_t address_count, address_capacity;
	struct map places; /* hash of addresses -> their index in `addresses` */
	uint64_t refused;  /* stacks and definitions beyond the bounds */
	bool no_memory;
	struct stack_frame *frames;
	size_t frame_count, frame_capacity;
};

struct dump_stacks *dump_stacks_new(bool join, struct etw_error *err)
{
	struct dump_stacks *stacks = calloc(1, sizeof *stacks);

	if (!stacks) {
		error_no_memory(err, "the stacks of the recording");
		return NULL;
	}
	stacks->join = join;
	stacks->images = images_new(err);
	if (!stacks->images) {
		dump_stacks_free(stacks);
		return NULL;
	}
	return stacks;
}

void dump_stacks_free(struct dump_stacks *stacks)
{
	if (stacks) {
		images_free(stacks->images);
		map_done(&stacks->places);
		free(stacks->joined);
		free(stacks->definitions);
		free(stacks->addresses);
		free(stacks->frames);
		free(stacks);
	}
}

static uint64_t load_address(const uint8_t *at, uint8_t pointer_size)
{
	return pointer_size == 8 ? etw_load_u64(at) : etw_load_u32(at);
}

/* ---- the pass before ---- */

/* Does what array_grow() does, and notes it if there is no memory. */
static void *grow(struct dump_stacks *stacks, void *items, size_t *capacity, size_t count,
		  size_t item_size)
{
	void *grown = array_grow(items, capacity, count, item_size);

	stacks->no_memory |= !grown;
	return grown;
}

static bool add_address(struct dump_stacks *stacks, uint64_t address)
{
	uint64_t *grown;

	grown = grow(stacks, stacks->addresses, &stacks->address_capacity, stacks->address_count,
		     sizeof *grown);
	if (!grown) {
		return false;
	}
	stacks->addresses = grown;
	stacks->addresses[stacks->address_count++] = address;
	return true;
}

/* Returns whether the addresses at an index are those of the record. */
static bool has_addresses(const struct dump_stacks *stacks, size_t place,
			  const struct etw_stack_walk *walk, uint8_t pointer_size)
{
	const uint64_t *known = &stacks->addresses[place];
	uint32_t i = 0;

	if (known[0] != walk->address_count) {
		return false;
	}
	while (i < walk->address_count &&
	       known[1 + i] ==
		       load_address(walk->addresses + (size_t)i * pointer_size, pointer_size)) {
		i++;
	}
	return i == walk->address_count;
}

/* Finds or stores the addresses of a record, and sets *place to their index. */
static bool place_of(struct dump_stacks *stacks, const struct etw_stack_walk *walk,
		     uint8_t pointer_size, size_t *place)
{
	size_t size = (size_t)walk->address_count * pointer_size, start = stacks->address_count;
	uint64_t hash = text_hash((const char *)walk->addresses, size, hash_seed());
	bool room = walk->address_count < ADDRESSES_MOST - stacks->address_count;
	uint64_t *known = room ? map_put(&stacks->places, hash, NULL) :
				 map_find(&stacks->places, hash);
	bool good;

	if (!known) {
		stacks->no_memory |= room;
		return false;
	}
	if (*known != 0 && has_addresses(stacks, *known - 1, walk, pointer_size)) {
		*place = *known - 1;
		return true;
	}
	good = room && add_address(stacks, walk->address_count);
	for (uint32_t i = 0; good && i < walk->address_count; i++) {
		good = add_address(stacks, load_address(walk->addresses + (size_t)i * pointer_size,
							pointer_size));
	}
	if (!good) {
		stacks->address_count = start;
		return false;
	}
	*known = start + 1;
	*place = start;
	return true;
}

static bool add_definition(struct dump_stacks *stacks, const struct etw_record *record,
			   const struct etw_stack_walk *walk)
{
	struct stack_definition *grown;
	size_t place;

	if (stacks->definition_count == DEFINITIONS_MOST ||
	    !place_of(stacks, walk, record->pointer_size, &place)) {
		return false;
	}
	grown = grow(stacks, stacks->definitions, &stacks->definition_capacity,
		     stacks->definition_count, sizeof *grown);
	if (!grown) {
		return false;
	}
	stacks->definitions = grown;
	stacks->definitions[stacks->definition_count++] =
		(struct stack_definition){ walk->key, record->raw_time, place };
	return true;
}

static bool add_joined(struct dump_stacks *stacks, const struct etw_record *record,
		       const struct etw_stack_walk *walk)
{
	struct joined_stack joined = {
		.event_time = walk->event_time,
		.time = record->raw_time,
		.what = walk->key,
		.thread_id = walk->thread_id,
		.process_id = walk->process_id,
		.processor = record->processor,
		.reference = walk->type == ETW_STACK_WALK_REFERENCE,
	};
	struct joined_stack *grown;
	size_t place;

	if (stacks->joined_count == JOINED_MOST) {
		return false;
	}
	if (!joined.reference) {
		if (!place_of(stacks, walk, record->pointer_size, &place)) {
			return false;
		}
		joined.what = place;
	}
	grown = grow(stacks, stacks->joined, &stacks->joined_capacity, stacks->joined_count,
		     sizeof *grown);
	if (!grown) {
		return false;
	}
	stacks->joined = grown;
	stacks->joined[stacks->joined_count++] = joined;
	return true;
}

void dump_stacks_learn(struct dump_stacks *stacks, const struct etw_record *record)
{
	struct etw_stack_walk walk;
	bool added;

	images_learn(stacks->images, record);
	if (!stacks->join || !etw_stack_walk_read(record, &walk)) {
		return;
	}
	added = walk.type == ETW_STACK_WALK_DEFINITION ? add_definition(stacks, record, &walk) :
							 add_joined(stacks, record, &walk);
	stacks->refused += !added;
}

static int compare_joined(const void *a, const void *b)
{
	const struct joined_stack *x = a, *y = b;

	if (x->event_time != y->event_time) {
		return x->event_time < y->event_time ? -1 : 1;
	}
	if (x->thread_id != y->thread_id) {
		return x->thread_id < y->thread_id ? -1 : 1;
	}
	return x->time < y->time ? -1 : x->time > y->time;
}

static int compare_definitions(const void *a, const void *b)
{
	const struct stack_definition *x = a, *y = b;

	if (x->key != y->key) {
		return x->key < y->key ? -1 : 1;
	}
	return x->time < y->time ? -1 : x->time > y->time;
}

bool dump_stacks_finish(struct dump_stacks *stacks, struct etw_error *err)
{
	stacks->no_memory |= !images_finish(stacks->images);
	map_done(&stacks->places);
	if (stacks->joined_count > 0) {
		sort_items(stacks->joined, stacks->joined_count, sizeof *stacks->joined,
			   compare_joined);
	}
	if (stacks->definition_count > 0) {
		sort_items(stacks->definitions, stacks->definition_count,
			   sizeof *stacks->definitions, compare_definitions);
	}
	return !stacks->no_memory || error_no_memory(err, "the stacks of the recording");
}

static void learn_record(void *context, const struct etw_record *record)
{
	dump_stacks_learn(context, record);
}

bool dump_stacks_read(struct dump_stacks *stacks, const char *path, uint8_t pointer_size,
		      struct etw_error *err)
{
	const struct etw_visitor visitor = { .record_context = stacks, .on_record = learn_record };
	/* unused: the pass that shows the events reports damage */
	struct etw_damage damage = { 0 };
	struct etw_file *file = etw_file_open(path, pointer_size, err);
	bool good = file && etw_file_visit(file, &damage, &visitor, err);

	etw_file_close(file);
	return good && dump_stacks_finish(stacks, err);
}

/* ---- the stacks of an event ---- */

bool dump_stacks_in(const struct etw_record *record)
{
	struct etw_extended_item item;

	return record->extended && (etw_record_find_extended(record, ETW_EXTENDED_STACK64, &item) ||
				    etw_record_find_extended(record, ETW_EXTENDED_STACK32, &item));
}

static void add_frame(struct dump_stacks *stacks, const struct etw_record *record,
		      uint32_t process_id, uint64_t address)
{
	struct stack_frame frame = { .address = address };
	struct stack_frame *grown;

	grown = grow(stacks, stacks->frames, &stacks->frame_capacity, stacks->frame_count,
		     sizeof *grown);
	if (grown) {
		frame.image = images_find(stacks->images, process_id, address, record->raw_time,
					  &frame.offset);
		stacks->frames = grown;
		stacks->frames[stacks->frame_count++] = frame;
	}
}

static void add_items(struct dump_stacks *stacks, const struct etw_record *record)
{
	struct etw_extended_item item;
	uint32_t offset = 0;

	while (etw_record_next_extended(record, &offset, &item)) {
		uint8_t size = item.type == ETW_EXTENDED_STACK64 ? 8 : 4;

		if (item.type != ETW_EXTENDED_STACK64 && item.type != ETW_EXTENDED_STACK32) {
			continue;
		}
		for (uint32_t at = MATCH_ID; at + size <= item.size; at += size) {
			add_frame(stacks, record, record->process_id,
				  load_address(item.data + at, size));
		}
	}
}

/*
 * Sets *place to the index of the addresses that a reference means. Returns false if there is no
 * definition.
 */
static bool find_definition(const struct dump_stacks *stacks, const struct joined_stack *joined,
			    size_t *place)
{
	const struct stack_definition sought = { .key = joined->what, .time = joined->time };
	size_t low = 0, high = stacks->definition_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_definitions(&stacks->definitions[middle], &sought) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (low == stacks->definition_count || stacks->definitions[low].key != sought.key) {
		return false;
	}
	*place = stacks->definitions[low].addresses;
	return true;
}

static void add_part(struct dump_stacks *stacks, const struct etw_record *record,
		     const struct joined_stack *joined)
{
	size_t place = (size_t)joined->what;

	if (joined->reference && !find_definition(stacks, joined, &place)) {
		return;
	}
	for (uint64_t i = 1; i <= stacks->addresses[place] && i <= PART_MOST; i++) {
		add_frame(stacks, record, joined->process_id, stacks->addresses[place + i]);
	}
}

/*
 * Returns the index of the first stack with this time and thread, or of the one that follows them.
 */
static size_t find_joined(const struct dump_stacks *stacks, int64_t time, uint32_t thread_id)
{
	const struct joined_stack sought = { .event_time = time,
					     .thread_id = thread_id,
					     .time = INT64_MIN };
	size_t low = 0, high = stacks->joined_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_joined(&stacks->joined[middle], &sought) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* Returns the thread of a stack with the time and processor of the event. */
static uint32_t thread_at(const struct dump_stacks *stacks, const struct etw_record *record)
{
	size_t at = find_joined(stacks, record->raw_time, 0);

	for (unsigned i = 0; i < SAME_TIME_MOST && at < stacks->joined_count; i++, at++) {
		const struct joined_stack *joined = &stacks->joined[at];

		if (joined->event_time != record->raw_time) {
			break;
		}
		if (joined->processor == record->processor) {
			return joined->thread_id;
		}
	}
	return ETW_RECORD_NO_ID;
}

static void add_joined_parts(struct dump_stacks *stacks, const struct etw_record *record)
{
	uint32_t thread = etw_stack_walk_thread(record);
	size_t at;

	if (thread == ETW_RECORD_NO_ID) {
		thread = thread_at(stacks, record);
	}
	at = find_joined(stacks, record->raw_time, thread);
	for (unsigned i = 0; i < PARTS_MOST && at < stacks->joined_count; i++, at++) {
		const struct joined_stack *joined = &stacks->joined[at];

		if (joined->event_time != record->raw_time || joined->thread_id != thread) {
			break;
		}
		add_part(stacks, record, joined);
	}
}

bool dump_stacks_of(struct dump_stacks *stacks, const struct etw_record *record, size_t *count)
{
	stacks->frame_count = 0;
	if (record->extended) {
		add_items(stacks, record);
	}
	if (stacks->join && record->raw_time != ETW_RECORD_NO_TIME && !etw_is_stack_walk(record)) {
		add_joined_parts(stacks, record);
	}
	*count = stacks->frame_count;
	return !stacks->no_memory;
}

void dump_stacks_add(const struct dump_stacks *stacks, size_t index, struct etw_text *out)
{
	const struct stack_frame *frame = &stacks->frames[index];

	text_add_format(out, "0x%" PRIx64, frame->address);
	if (frame->image) {
		text_add_char(out, ' ');
		text_add_string(out, frame->image);
		text_add_format(out, "+0x%" PRIx64, frame->offset);
	}
}

void dump_stacks_warn(const struct dump_stacks *stacks)
{
	if (stacks->refused > 0) {
		tool_complain(TOOL_DONE, "dump",
			      "warning: %" PRIu64
			      " records of stacks are more than --stacks can hold; those are not "
			      "shown with their events: cut the recording with etwtool relog",
			      stacks->refused);
	}
}
