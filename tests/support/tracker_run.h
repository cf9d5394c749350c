/* SPDX-License-Identifier: MIT */
/*
 * Tests of the tracker put records on a tape, in file order, with what the tracker must know about
 * each, and play the tape in one or both passes.
 */
#ifndef SUPPORT_TRACKER_RUN_H
#define SUPPORT_TRACKER_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/event_table.h>
#include <etw/mirror.h>
#include <etw/source.h>

#include "exporter/track/tracker.h"
#include "lib/decode/kernel_class.h"
#include "lib/source/event_record.h"
#include "metrics/registry.h"

enum { TAPE_EVENTS = 2048 };

/* A duration in ns that is not checked, and one that must not be known. */
#define NOT_CHECKED UINT64_MAX
#define NOT_KNOWN   (UINT64_MAX - 1)

struct tape_event {
	struct etw_record record;
	struct etw_guid provider;
	uint8_t *payload; /* owned */

	/* What the tracker must answer; NULL: not checked. */
	const char *process;
	const char *of_process;
	const char *old_process;
	const char *volume;
	const char *path; /* "": none */
	const char *driver;
	const char *service;
	uint64_t duration;
	uint64_t on_cpu;
	uint64_t ready;
	int started; /* opcode; -1: not checked, -2: it must not be known */
};

struct tape {
	struct tape_event *events; /* owned; TAPE_EVENTS */
	size_t count;
	struct etw_payload payload; /* payload of the next event */
};

void tape_init(struct tape *tape, uint8_t pointer_size);
void tape_done(struct tape *tape);
void tape_rewind(struct tape *tape); /* removes all events */

/*
 * Puts a record with the present payload on the tape, as a SYSTEM record of a kernel class without
 * process and thread id, and returns it, so that the caller can change it. class_name: "DiskIo".
 */
struct tape_event *tape_add(struct tape *tape, const char *class_name, uint8_t opcode,
			    uint8_t version, int64_t time);

/* Does the same with a payload of zeros; tape_poke() then sets fields by their names in the layout.
 */
struct tape_event *tape_zeros(struct tape *tape, const char *class_name, uint8_t opcode,
			      uint8_t version, int64_t time);
void tape_poke(struct tape_event *event, const char *field, uint64_t value);

/* Put common records on the tape. */
struct tape_event *tape_process(struct tape *tape, uint8_t opcode, int64_t time, uint32_t id,
				const char *image);
struct taped_process {
	uint32_t id, parent_id, session_id;
	const char *image;
	const char *command_line; /* NULL: "command line" */
	const char *sid;          /* NULL: that of LocalSystem */
};
struct tape_event *tape_process_of(struct tape *tape, uint8_t opcode, int64_t time,
				   const struct taped_process *process);
struct tape_event *tape_thread(struct tape *tape, uint8_t opcode, int64_t time, uint32_t id,
			       uint32_t process_id);
struct tape_event *tape_switch(struct tape *tape, int64_t time, uint16_t processor, uint32_t old,
			       uint32_t new);
void tape_ready(struct tape *tape, int64_t time, uint32_t thread);
struct tape_event *tape_header(struct tape *tape, int64_t time, uint32_t process_id,
			       uint32_t thread_id);

/* A tracker and what it needs. The options are zero except those that a test sets. */
struct player {
	struct registry *registry;
	struct shard *shard;
	struct etw_source_clock clock;
	struct tracker *tracker;
	bool ask_all; /* reads everything about every record, without checking it */
};

void player_init(struct player *player, const struct tracker_options *tracker_options);
void player_done(struct player *player);
/* Frees the tracker and makes another with the same registry and shard. */
void player_new_tracker(struct player *player, const struct tracker_options *tracker_options);

/* UNSORTED: one pass in the order of the tape, not of time. */
enum passes { ONE_PASS, TWO_PASSES, UNSORTED };

/* Plays the tape. Fails the test if the tracker answers something else than the tape says. */
void player_play(struct player *player, struct tape *tape, enum passes passes);

enum { STORY_LINES = 24 };

/*
 * A recording as lines in file order, ended by NULL. A test's put_line() turns each line into
 * records on the tape.
 */
struct story {
	const char *name;
	const char *lines[STORY_LINES];
	enum passes passes;
};

/* Plays each story twice on its own tracker: the second time must give the same answers. */
void play_stories(const struct story *stories, size_t count, const struct tracker_options *options,
		  void (*put_line)(struct tape *tape, const char *line));

/* Returns the number at *at and moves *at past the space after it. For put_line(). */
uint32_t story_number(const char **at);

/* Returns the value of a gauge with these labels, which NULL ends; 0 if there is no such sample. */
#define LABELS(...) ((const char *const[]){ __VA_ARGS__, NULL })
int64_t player_gauge(struct player *player, const char *family, const char *const *labels);
bool player_shows(struct player *player, const char *family, const char *const *labels);
/* Return how many processes of this name the gauge shows, and how many threads they have. */
int64_t player_instances(struct player *player, const char *process);
int64_t player_threads(struct player *player, const char *process);

#endif
