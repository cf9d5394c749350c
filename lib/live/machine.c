/* SPDX-License-Identifier: MIT */
/*
 * Lists of facts about the machine, and the differences between two lists.
 *
 * Volumes, disks, partitions and services are facts of one form: a type, a key of numbers and a
 * text, and a value. So one list holds them all, and one comparison finds new, changed and removed
 * facts. Lists are sorted by type and key, so the comparison is a single walk over both. Removed
 * facts are announced before new ones: a letter that moves is first taken from its old volume, so
 * no two volumes have it at a time.
 *
 * A list is bounded for each type, because programs can make any number of volumes and services.
 * Facts beyond the bound are left out, and their events show the name of the device or `_unknown`.
 * Letters are read before mount folders, so they have precedence.
 */
#include "lib/live/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* Real machines have a few dozen of each; servers have some hundred services. */
static const size_t limits[MACHINE_TYPES] = {
	[MACHINE_VOLUME] = 256,
	[MACHINE_DISK] = 256,
	[MACHINE_PARTITION] = 1024,
	[MACHINE_SERVICE] = 4096,
};

static char *copy_of(const char *text)
{
	return text_duplicate(text ? text : "", text ? strlen(text) : 0);
}

static void free_fact(struct machine_fact *fact)
{
	free(fact->key);
	free(fact->text);
	free(fact->second);
}

void machine_add(struct machine *machine, const struct machine_fact *fact)
{
	struct machine_fact copy = *fact;
	struct machine_fact *grown;

	if (machine->counts[fact->type] == limits[fact->type]) {
		return;
	}
	grown = array_grow(machine->facts, &machine->capacity, machine->count, sizeof *grown);
	if (!grown) {
		return;
	}
	machine->facts = grown;
	copy.key = copy_of(fact->key);
	copy.text = copy_of(fact->text);
	copy.second = copy_of(fact->second);
	if (!copy.key || !copy.text || !copy.second) {
		free_fact(&copy);
		return;
	}
	grown[machine->count++] = copy;
	machine->counts[fact->type]++;
}

static int compare_numbers(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_keys(const struct machine_fact *a, const struct machine_fact *b)
{
	int order = compare_numbers(a->type, b->type);

	order = order != 0 ? order : compare_numbers(a->id, b->id);
	order = order != 0 ? order : compare_numbers(a->part, b->part);
	return order != 0 ? order : strcmp(a->key, b->key);
}

static int compare_values(const struct machine_fact *a, const struct machine_fact *b)
{
	int order = compare_numbers(strlen(a->text), strlen(b->text));

	order = order != 0 ? order : strcmp(a->text, b->text);
	order = order != 0 ? order : strcmp(a->second, b->second);
	return order != 0 ? order : compare_numbers(a->number, b->number);
}

static int compare_facts(const void *a, const void *b)
{
	int order = compare_keys(a, b);

	return order != 0 ? order : compare_values(a, b);
}

void machine_sort(struct machine *machine)
{
	size_t kept = 0;

	if (machine->count > 0) {
		qsort(machine->facts, machine->count, sizeof *machine->facts, compare_facts);
	}
	for (size_t i = 0; i < machine->count; i++) {
		struct machine_fact *fact = &machine->facts[i];

		if (kept > 0 && compare_keys(&machine->facts[kept - 1], fact) == 0) {
			machine->counts[fact->type]--;
			free_fact(fact);
		} else {
			machine->facts[kept++] = *fact;
		}
	}
	machine->count = kept;
}

bool machine_equal(const struct machine *a, const struct machine *b)
{
	bool equal = a->count == b->count;

	for (size_t i = 0; equal && i < a->count; i++) {
		equal = compare_facts(&a->facts[i], &b->facts[i]) == 0;
	}
	return equal;
}

static void announce(const struct etw_event_sink *sink, const struct machine_fact *fact, bool gone)
{
	const char *text = gone ? NULL : fact->text;

	if (fact->type == MACHINE_VOLUME && sink->on_volume) {
		sink->on_volume(sink->context, fact->key, text);
	} else if (fact->type == MACHINE_DISK && sink->on_disk) {
		sink->on_disk(sink->context, fact->id, text, fact->number);
	} else if (fact->type == MACHINE_PARTITION && sink->on_partition) {
		sink->on_partition(sink->context, fact->id, fact->part, fact->text,
				   gone ? NULL : fact->second);
	} else if (fact->type == MACHINE_SERVICE && sink->on_service) {
		sink->on_service(sink->context, fact->id, fact->part, text);
	}
}

/* Announces the facts of one list that the other list lacks: by key alone (gone), or by key and
 * value. */
static void announce_difference(const struct machine *list, const struct machine *other, bool gone,
				const struct etw_event_sink *sink)
{
	size_t at = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct machine_fact *fact = &list->facts[i];

		while (at < other->count && compare_keys(&other->facts[at], fact) < 0) {
			at++;
		}
		if (at == other->count || compare_keys(&other->facts[at], fact) != 0 ||
		    (!gone && compare_values(&other->facts[at], fact) != 0)) {
			announce(sink, fact, gone);
		}
	}
}

void machine_announce(const struct machine *before, const struct machine *now,
		      const struct etw_event_sink *sink)
{
	announce_difference(before, now, true, sink);
	announce_difference(now, before, false, sink);
}

void machine_clear(struct machine *machine)
{
	for (size_t i = 0; i < machine->count; i++) {
		free_fact(&machine->facts[i]);
	}
	free(machine->facts);
	*machine = (struct machine){ .count = 0 };
}
