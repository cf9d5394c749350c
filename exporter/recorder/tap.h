/* SPDX-License-Identifier: MIT */
/*
 * Chooses the records of one consumer that its ring keeps, and recognises the facts about the
 * machine in them.
 *
 * The consumer's thread calls these functions, except for tap_ring() and tap_facts().
 */
#ifndef RECORDER_TAP_H
#define RECORDER_TAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/mirror.h>
#include <etw/source.h>

#include "base/error.h"
#include "config/config.h"
#include "exporter/recorder/ring.h"

struct tap; /* opaque */

/* recorder: borrowed until tap_free(); memory_bytes: of this consumer's ring. Returns NULL without
 * memory. */
struct tap *tap_new(const struct config_recorder *recorder, size_t memory_bytes,
		    struct etw_error *err);
void tap_free(struct tap *tap); /* NULL is fine */

/* Announces that records of another source follow; the ring drops those of the former one. facts
 * are borrowed during the call. */
void tap_begin(struct tap *tap, const struct etw_source_facts *facts);

/* Resolves what is done with the events of a new class, and sets class->tap. provider_names: the
 * events of Microsoft-Windows-Kernel-Process name processes, because those of the kernel do not.
 * Returns false without memory. */
bool tap_prepare(struct tap *tap, struct etw_event_class *class, bool provider_names);
void tap_release(struct etw_event_class *class); /* frees class->tap */

/* Returns whether tap_add_event() needs the name of a record's process. */
bool tap_asks_for_process(const struct tap *tap);

/* Copies a record into the ring if the filters keep it or it states a fact. process: the name of
 * the record's process; may be NULL if tap_asks_for_process() returns false. */
void tap_add_event(struct tap *tap, const struct etw_record *record,
		   const struct etw_event_class *class, const char *process);

/* These add the records that state what a live session found to exist. The parameters are those of
 * the callbacks of struct etw_event_sink (include/etw/source.h). */
void tap_add_known(struct tap *tap, const struct etw_record *record,
		   const struct etw_event_class *class);
void tap_add_process(struct tap *tap, uint32_t process_id, const char *name);
void tap_add_volume(struct tap *tap, const char *nt_path, const char *dos_path);
void tap_add_disk(struct tap *tap, uint32_t disk, const char *model, uint32_t bytes_per_sector);
void tap_add_partition(struct tap *tap, uint32_t disk, uint32_t partition, const char *volume,
		       const char *file_system);
void tap_add_service(struct tap *tap, uint32_t process_id, uint32_t tag, const char *name);

/* Adds the description of an event that the operating system has: the payload of an EventInfo or
 * EventMapInfo record (lib/decode/event_info.h). */
void tap_add_description(struct tap *tap, uint8_t opcode, const void *bytes, size_t size);

/* Returns the ring of the tap. Any thread may call it. */
struct ring *tap_ring(struct tap *tap);

/* What a recording states about the machine and the session. Any thread may read it with
 * tap_facts(). */
struct tap_facts {
	char session[64];
	uint32_t os_build;
	uint32_t processors; /* count, at least what the records show */
	uint8_t pointer_size;
	/* These come from the header that the source delivered; 0 without a header. */
	int64_t boot_time;
	int32_t bias_minutes;
	uint8_t time_zone_rest[ETW_LOGFILE_TIME_ZONE_REST];
	uint32_t cpu_mhz;
	uint8_t os_major, os_minor;
};
void tap_facts(struct tap *tap, struct tap_facts *facts);

/* ---- all taps ---- */

struct taps; /* opaque: the taps of a program's consumers, which share one memory budget */

enum { TAPS_MOST = 64 };

/*
 * recorder: borrowed until taps_free(). consumers: at least 1; each gets an equal part of the
 * memory. grows: consumers may come later, so an eighth of the memory is kept for them.
 */
struct taps *taps_new(const struct config_recorder *recorder, size_t consumers, bool grows,
		      struct etw_error *err);
/* Call it when no consumer uses its tap any more. NULL is fine. */
void taps_free(struct taps *taps);

/* ---- any thread ---- */

/* Returns the tap of the consumer with this number. A new consumer gets half of the remaining
 * memory. Returns NULL if that is too little, which is logged, or if taps is NULL. */
struct tap *taps_of(struct taps *taps, size_t consumer);

/* Lists all taps and returns how many there are. They are valid until taps_free(). */
size_t taps_list(struct taps *taps, struct tap *list[TAPS_MOST]);

#endif
