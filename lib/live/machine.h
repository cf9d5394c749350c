/* SPDX-License-Identifier: MIT */
/*
 * What exists on the machine beside event tracing: volumes with their letters or mount folders,
 * disks, partitions and services. A list of such facts is read now and then, and what differs from
 * the list before is announced to a sink.
 */
#ifndef LIB_LIVE_MACHINE_H
#define LIB_LIVE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/source.h>

/* In the order in which they are announced. */
enum machine_type {
	MACHINE_VOLUME, /* key: device; text: letter or mount folder */
	MACHINE_DISK,   /* id: its number; number: bytes per sector; text: model */
	/* id, part: disk and number; text: volume; second: file system. Where Windows knows no
	 * number, part is ETW_SOURCE_NO_PARTITION and key the volume. */
	MACHINE_PARTITION,
	MACHINE_SERVICE, /* id, part: process and tag; text: name */
	MACHINE_TYPES
};

/*
 * One fact. A list has one of a type, id, part and key. All texts are UTF-8 and owned by the list;
 * machine_add() copies them, and NULL is the empty text.
 */
struct machine_fact {
	enum machine_type type;
	uint32_t id;
	uint32_t part;
	char *key;
	uint32_t number;
	char *text;
	char *second;
};

/* Zero-initialised it is empty. One thread at a time. */
struct machine {
	struct machine_fact *facts; /* owned */
	size_t count;
	size_t capacity;
	size_t counts[MACHINE_TYPES];
};

/* A fact beyond the limit of its type, or beyond memory, is left out. */
void machine_add(struct machine *machine, const struct machine_fact *fact);

/* Puts the facts in order. Of several with the same key, the one with the shortest text stays: a
 * letter rather than a folder. Call it before the two functions below. */
void machine_sort(struct machine *machine);

bool machine_equal(const struct machine *a, const struct machine *b);

/* Announces what is different now, first what is gone. A sink without the callback of a type does
 * not get its facts. */
void machine_announce(const struct machine *before, const struct machine *now,
		      const struct etw_event_sink *sink);

/* Frees the facts; the list is then empty. */
void machine_clear(struct machine *machine);

#endif
