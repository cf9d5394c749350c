/* SPDX-License-Identifier: MIT */
#include "tests/support/sample_machine.h"

#include <stdlib.h>
#include <string.h>

void machine_init(struct machine *m, struct etw_writer *writer, struct sample_totals *totals)
{
	*m = (struct machine){ .writer = writer,
			       .random = UINT64_C(0x5eed0f5a3c1e),
			       .next_id = 5000,
			       .next_key = UINT64_C(0xffffa30b2a401170),
			       .next_object = UINT64_C(0xffffc88b61a04080),
			       .next_irp = UINT64_C(0xffffc88b5f20e010),
			       .next_connection = UINT64_C(0xffffc88b60b31260),
			       .totals = totals };
	kernel_events_init(&m->events, writer, 8);
}

void machine_done(struct machine *m)
{
	kernel_events_done(&m->events);
	free(m->actions);
	m->actions = NULL;
	free(m->scenario);
	m->scenario = NULL;
	free(m->remarks);
	m->remarks = NULL;
}

/* --- the schedule
 * --------------------------------------------------------------------------------- */

static bool before(const struct action *a, const struct action *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->sequence < b->sequence;
}

static void swap(struct action *a, struct action *b)
{
	struct action kept = *a;

	*a = *b;
	*b = kept;
}

void machine_schedule(struct machine *m, uint64_t delay_ns, action_fn *run, void *subject,
		      uint64_t argument)
{
	size_t at = m->action_count;

	if (m->action_count == m->action_capacity) {
		size_t capacity = m->action_capacity ? 2 * m->action_capacity : 256;
		struct action *actions = realloc(m->actions, capacity * sizeof *actions);

		if (!actions) {
			m->failed = true;
			return;
		}
		m->actions = actions;
		m->action_capacity = capacity;
	}
	m->actions[at] = (struct action){ .time_ns = m->now_ns + delay_ns,
					  .sequence = m->action_sequence++,
					  .run = run,
					  .subject = subject,
					  .argument = argument };
	m->action_count++;
	while (at > 0 && before(&m->actions[at], &m->actions[(at - 1) / 2])) {
		swap(&m->actions[at], &m->actions[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static struct action take_first(struct machine *m)
{
	struct action first = m->actions[0];
	size_t at = 0;

	m->actions[0] = m->actions[--m->action_count];
	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < m->action_count;
		     child++) {
			if (before(&m->actions[child], &m->actions[least])) {
				least = child;
			}
		}
		if (least == at) {
			return first;
		}
		swap(&m->actions[at], &m->actions[least]);
		at = least;
	}
}

void machine_run(struct machine *m, uint64_t until_ns)
{
	while (!m->failed && m->action_count > 0 && m->actions[0].time_ns < until_ns) {
		struct action action = take_first(m);

		m->now_ns = action.time_ns;
		action.run(m, action.subject, action.argument);
	}
	m->now_ns = until_ns;
}

/* --- chance ----------------------------------------------------------------------------------- */

/* splitmix64, public domain (Sebastiano Vigna, prng.di.unimi.it) */
static uint64_t next_random(struct machine *m)
{
	uint64_t z = m->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t chance(struct machine *m, uint64_t below)
{
	return next_random(m) % below;
}

uint64_t between(struct machine *m, uint64_t low, uint64_t high)
{
	return low + chance(m, high - low + 1);
}

uint64_t mostly_low(struct machine *m, uint64_t low, uint64_t high)
{
	uint64_t u = chance(m, 1024);

	return low + (high - low) * (u * u * u / 1024 / 1024) / 1024;
}

uint64_t wave(const struct machine *m, uint64_t period_s, uint64_t phase_s)
{
	uint64_t at =
		(m->now_ns + phase_s * SECOND) % (period_s * SECOND) * 2000 / (period_s * SECOND);

	return at < 1000 ? at : 2000 - at;
}

/* --- processors ------------------------------------------------------------------------------- */

/* Sets the place of the records that follow; time on a processor never stands still. */
static void stand_at(struct machine *m, size_t processor)
{
	struct processor *p = &m->processors[processor];
	int64_t raw = etl_writer_raw_time(m->writer, m->now_ns);

	if (raw <= p->last_raw) {
		raw = p->last_raw + 3;
		m->now_ns = (uint64_t)(raw - etl_writer_raw_time(m->writer, 0)) * 100;
	}
	p->last_raw = raw;
	m->events.processor = (uint16_t)processor;
	m->events.raw_time = raw;
}

void let_time_pass(struct machine *m, uint64_t ns)
{
	m->now_ns += ns;
	stand_at(m, m->events.processor);
}

static void switch_to(struct machine *m, uint32_t thread_id, bool old_waits, uint32_t waited_ticks)
{
	struct processor *p = &m->processors[m->events.processor];
	struct kernel_switch change = { .new_thread_id = thread_id,
					.old_thread_id = p->thread_id,
					.new_priority = thread_id ? 8 : 0,
					.old_priority = p->thread_id ? 8 : 0,
					.old_wait_reason =
						old_waits ? 15 : 30, /* WrQueue, WrPreempted */
					.old_state = p->thread_id == 0 ? 2 :
						     old_waits         ? 5 :
									 1,
					.new_wait_time = waited_ticks };

	event_context_switch(&m->events, &change);
	p->thread_id = thread_id;
	p->stint++;
}

static size_t choose_processor(struct machine *m)
{
	int64_t raw = etl_writer_raw_time(m->writer, m->now_ns);
	size_t first = chance(m, SAMPLE_PROCESSORS);

	for (size_t i = 0; i < SAMPLE_PROCESSORS; i++) {
		size_t at = (first + i) % SAMPLE_PROCESSORS;

		if (m->processors[at].thread_id == 0 && m->processors[at].last_raw < raw) {
			return at;
		}
	}
	return first;
}

void enter_thread(struct machine *m, const struct process *process, uint32_t thread_id)
{
	size_t processor = choose_processor(m);

	for (size_t i = 0; i < SAMPLE_PROCESSORS; i++) {
		if (m->processors[i].thread_id == thread_id) { /* it never stopped */
			processor = i;
		}
	}
	m->events.process_id = process->id;
	m->events.thread_id = thread_id;
	stand_at(m, processor);
	if (m->processors[processor].thread_id != thread_id) {
		event_ready_thread(&m->events, thread_id);
		let_time_pass(m, mostly_low(m, 1500, 40000));
		switch_to(m, thread_id, false, (uint32_t)chance(m, 3));
		let_time_pass(m, between(m, 800, 3000));
	}
}

static void switch_out(struct machine *m, void *subject, uint64_t stint)
{
	struct processor *p = subject;

	if (p->stint == stint) { /* else another thread has the processor */
		stand_at(m, (size_t)(p - m->processors));
		switch_to(m, 0, true, 0);
	}
}

void leave_thread(struct machine *m, uint64_t busy_ns)
{
	struct processor *p = &m->processors[m->events.processor];

	machine_schedule(m, busy_ns, switch_out, p, p->stint);
}

void interrupt(struct machine *m, uint64_t isr_routine, uint64_t dpc_routine)
{
	int64_t initial;

	stand_at(m, chance(m, 4)); /* devices interrupt the first processors only */
	initial = m->events.raw_time;
	let_time_pass(m, mostly_low(m, 900, 9000));
	event_isr(&m->events, initial, isr_routine, 0x61, true);
	let_time_pass(m, between(m, 300, 900));
	initial = m->events.raw_time;
	let_time_pass(m, mostly_low(m, 1500, 60000));
	event_dpc(&m->events, 68, initial, dpc_routine);
	let_time_pass(m, between(m, 100, 400));
}

void sample_processors(struct machine *m)
{
	for (size_t i = 0; i < SAMPLE_PROCESSORS; i++) {
		uint32_t thread_id = m->processors[i].thread_id;
		struct process *process = process_of_thread(m, thread_id);
		uint64_t instruction = driver_routine(ROUTINE_KERNEL) + chance(m, 0x1000);

		if (thread_id != 0 && chance(m, 4) > 0) {
			instruction = UINT64_C(0x7ff6a3b01000) + chance(m, 0x100000);
		}
		stand_at(m, i);
		event_sample(&m->events, instruction, thread_id);
		if (process && thread_id != 0) {
			process->totals->cpu_samples++;
		}
	}
}
