/* SPDX-License-Identifier: MIT */
/*
 * Facts about the machine that events refer to: volumes with their letters or mount folders, disks,
 * partitions and services. A list of facts is read periodically, and its differences from the list
 * before are announced to a sink.
 */
#ifndef LIB_LIVE_MACHINE_H
#define LIB_LIVE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/source.h>

/* Facts are announced in this order. */
enum machine_type {
	MACHINE_VOLUME, /* key: device; text: letter or mount folder */
	MACHINE_DISK,   /* id: its number; number: bytes per sector; text: model */
	/* id: disk; part: number; text: volume; second: file system. If Windows has no number,
	 * part is ETW_SOURCE_NO_PARTITION and key is the volume. */
	MACHINE_PARTITION,
	MACHINE_SERVICE, /* id: process; part: tag; text: name */
	MACHINE_TYPES
};

/*
 * One fact. In a list (type, id, part, key) is unique. All texts are UTF-8 and owned by the list;
 * machine_add() copies them and takes NULL as the empty text.
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

/* A list of facts; zero-initialised it is empty. Only one thread at a time may use it. */
struct machine {
	struct machine_fact *facts; /* owned */
	size_t count;
	size_t capacity;
	size_t counts[MACHINE_TYPES];
};

/* Adds a copy of the fact. It is left out beyond the limit of its type, or if there is no
 * memory. */
void machine_add(struct machine *machine, const struct machine_fact *fact);

/* Sorts the facts. Of several with the same key, the one with the shortest text stays: a letter
 * rather than a folder. Call it before the two functions below. */
void machine_sort(struct machine *machine);

bool machine_equal(const struct machine *a, const struct machine *b);

/* Announces the differences between two sorted lists to the sink: first the facts that are gone,
 * then the new ones. Types for which the sink has no callback are skipped. */
void machine_announce(const struct machine *before, const struct machine *now,
		      const struct etw_event_sink *sink);

/* Frees the facts; the list is then empty. */
void machine_clear(struct machine *machine);

#endif
