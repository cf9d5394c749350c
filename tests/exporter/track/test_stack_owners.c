/* SPDX-License-Identifier: MIT */
/*
 * CPU samples of threads that no event announces: the stack of that very sample may name the
 * process; otherwise it is not known, which is another thing than none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exporter/track/processes.h"
#include "tests/support/tracker_run.h"

enum { PAINT = 700, OTHER = 800, STRANGER = 7777, SECOND_STRANGER = 8888 };

static const struct tracker_options defaults;

static void put_sample(struct tape *tape, uint8_t opcode, int64_t time, uint32_t thread,
		       const char *process)
{
	struct tape_event *event = tape_zeros(tape, "PerfInfo", opcode, 2, time);

	event->record.process_id = event->record.thread_id = ETW_RECORD_NO_ID;
	tape_poke(event, "ThreadId", thread);
	event->process = process;
}

/* A stack that Windows writes a tick after its event. */
static void put_stack(struct tape *tape, uint8_t opcode, int64_t time, uint32_t thread,
		      uint32_t process)
{
	struct tape_event *event = tape_zeros(tape, "StackWalk", opcode, 2, time + 1);

	tape_poke(event, "EventTimeStamp", (uint64_t)time);
	tape_poke(event, "StackThread", thread);
	tape_poke(event, "StackProcess", process);
}

static void play(struct tape *tape, const struct tracker_options *options, enum passes passes,
		 uint64_t misses)
{
	struct tracker_statistics statistics;
	struct player player;

	player_init(&player, options);
	player_play(&player, tape, passes);
	tracker_statistics(player.tracker, &statistics);
	assert_int_equal(statistics.unattributed[MISS_THREAD], misses);
	player_done(&player);
	tape_done(tape);
}

static void the_stack_of_a_sample_names_its_process(void **state)
{
	static const uint8_t stacks[] = { 32, 37, 38 }, samples[] = { 46, 47 };

	(void)state;
	for (size_t i = 0; i < sizeof stacks; i++) {
		for (size_t j = 0; j < sizeof samples; j++) {
			struct tape tape;

			tape_init(&tape, i % 2 ? 4 : 8);
			tape_process(&tape, 3, 1, PAINT, "paint.exe");
			put_sample(&tape, samples[j], 10, STRANGER, "paint");
			put_stack(&tape, stacks[i], 10, STRANGER, PAINT);
			/* Another time, and another thread: not that very sample. */
			put_sample(&tape, samples[j], 20, STRANGER, "_unknown");
			put_sample(&tape, samples[j], 10, SECOND_STRANGER, "_unknown");
			put_sample(&tape, samples[j], 30, ETW_RECORD_NO_ID, "_none");
			put_sample(&tape, samples[j], 30, 0, "Idle");
			/* The stack names a process that has no name. */
			put_sample(&tape, samples[j], 40, STRANGER, "_unknown");
			put_stack(&tape, stacks[i], 40, STRANGER, 4444);
			play(&tape, &defaults, TWO_PASSES, 2);
		}
	}
}

/* What events say of the thread is worth more, wherever they are in the file. */
static void an_event_of_the_thread_decides(void **state)
{
	for (unsigned late = 0; late < 2; late++) {
		struct tape tape;

		(void)state;
		tape_init(&tape, 8);
		tape_process(&tape, 3, 1, PAINT, "paint.exe");
		tape_process(&tape, 3, 1, OTHER, "other.exe");
		if (!late) {
			tape_thread(&tape, 3, 2, STRANGER, OTHER);
		}
		put_sample(&tape, 46, 10, STRANGER, "other");
		put_stack(&tape, 32, 10, STRANGER, PAINT);
		put_sample(&tape, 46, 20, STRANGER, "other");
		if (late) {
			tape_thread(&tape, 4, 90, STRANGER, OTHER);
		}
		play(&tape, &defaults, TWO_PASSES, 0);
	}
}

/* In one pass the stack comes too late for its sample. */
static void one_pass_says_unknown(void **state)
{
	struct tape tape;

	(void)state;
	tape_init(&tape, 8);
	tape_process(&tape, 3, 1, PAINT, "paint.exe");
	put_sample(&tape, 46, 10, STRANGER, "_unknown");
	put_stack(&tape, 32, 10, STRANGER, PAINT);
	play(&tape, &defaults, ONE_PASS, 1);
}

/* limits.threads: 1 keeps the stacks of four samples. */
static void memory_is_bounded(void **state)
{
	static const struct tracker_options few = { .threads = 1 };
	struct tape tape;

	(void)state;
	tape_init(&tape, 8);
	tape_process(&tape, 3, 1, PAINT, "paint.exe");
	for (int i = 0; i < 6; i++) {
		put_sample(&tape, 46, 10 + 2 * i, STRANGER, i < 4 ? "paint" : "_unknown");
		put_stack(&tape, 32, 10 + 2 * i, STRANGER, PAINT);
	}
	play(&tape, &few, TWO_PASSES, 2);
}

/* ---- the table ---- */

static bool is_odd(void *context, uint32_t thread_id)
{
	(void)context;
	return thread_id % 2 != 0;
}

static void the_table_keeps_what_is_needed(void **state)
{
	struct stack_owners owners = { .limit = 5 };

	(void)state;
	assert_int_equal(stack_owners_find(&owners, 1, 10), ETW_RECORD_NO_ID);
	for (uint32_t i = 0; i < 7; i++) {
		stack_owners_add(&owners, i, 10, 100 + i);
	}
	stack_owners_add(&owners, 3, 10, 203); /* the same once more */
	assert_int_equal(owners.refused, 2);
	assert_int_equal(stack_owners_find(&owners, 3, 10), 203);
	assert_int_equal(stack_owners_find(&owners, 3, 11), ETW_RECORD_NO_ID);
	assert_int_equal(stack_owners_find(&owners, 5, 10), ETW_RECORD_NO_ID);
	stack_owners_keep(&owners, is_odd, NULL);
	assert_int_equal(owners.processes.count, 2);
	assert_int_equal(owners.evictions, 2);
	assert_int_equal(stack_owners_find(&owners, 1, 10), 101);
	assert_int_equal(stack_owners_find(&owners, 2, 10), ETW_RECORD_NO_ID);
	stack_owners_add(&owners, 9, INT64_MIN, UINT32_MAX - 1);
	assert_int_equal(stack_owners_find(&owners, 9, INT64_MIN), UINT32_MAX - 1);
	stack_owners_clear(&owners);
	assert_int_equal(stack_owners_find(&owners, 1, 10), ETW_RECORD_NO_ID);
	/* All threads were announced in the end: nothing is missed. */
	for (uint32_t i = 0; i < 7; i++) {
		stack_owners_add(&owners, 2 * i, 10, 100);
	}
	stack_owners_keep(&owners, is_odd, NULL);
	assert_int_equal(owners.processes.count, 0);
	assert_int_equal(owners.evictions, 2);
	stack_owners_clear(&owners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_of_a_sample_names_its_process),
		cmocka_unit_test(an_event_of_the_thread_decides),
		cmocka_unit_test(one_pass_says_unknown),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(the_table_keeps_what_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
