/* SPDX-License-Identifier: MIT */
#include "tests/support/sample_remarks.h"

#include <stdlib.h>

static struct remark_place keep_place(struct machine *m, uint32_t process_id)
{
	struct remark_place kept = { .random = m->random,
				     .raw_time = m->events.raw_time,
				     .processor = m->events.processor,
				     .process_id = m->events.process_id,
				     .thread_id = m->events.thread_id };

	m->random = m->remarks->random;
	m->events.process_id = process_id;
	return kept;
}

/* Time on a processor never goes back, and what the story adds there later is later than now. */
static void stand_behind(struct machine *m, size_t processor)
{
	int64_t raw = etl_writer_raw_time(m->writer, m->now_ns);
	int64_t last = m->processors[processor].last_raw;

	m->events.processor = (uint16_t)processor;
	m->events.raw_time = raw > last ? raw : last;
}

struct remark_place remark_begin(struct machine *m, const struct process *process,
				 uint32_t thread_id)
{
	struct remark_place kept = keep_place(m, process->id);
	size_t first = chance(m, SAMPLE_PROCESSORS), chosen = first;

	for (size_t i = 0; i < SAMPLE_PROCESSORS; i++) {
		size_t at = (first + i) % SAMPLE_PROCESSORS;

		if (m->processors[at].last_raw < m->processors[chosen].last_raw) {
			chosen = at;
		}
	}
	m->events.thread_id = thread_id;
	stand_behind(m, chosen);
	return kept;
}

struct remark_place remark_here(struct machine *m, const struct process *process,
				uint32_t thread_id)
{
	struct remark_place kept = keep_place(m, process->id);

	m->events.thread_id = thread_id;
	return kept;
}

struct remark_place remark_on(struct machine *m, size_t processor, const struct process *process)
{
	struct remark_place kept = keep_place(m, process->id);

	m->events.thread_id = m->processors[processor].thread_id;
	stand_behind(m, processor);
	return kept;
}

void remark_end(struct machine *m, const struct remark_place *place)
{
	m->remarks->random = m->random;
	m->random = place->random;
	m->events.raw_time = place->raw_time;
	m->events.processor = place->processor;
	m->events.process_id = place->process_id;
	m->events.thread_id = place->thread_id;
}

void remark_add(struct machine *m, const struct remark_event *event)
{
	struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					 .processor = m->events.processor,
					 .raw_time = m->events.raw_time,
					 .process_id = m->events.process_id,
					 .thread_id = m->events.thread_id,
					 .id = event->id,
					 .task = event->task,
					 .opcode = event->opcode,
					 .version = event->version,
					 .level = event->level,
					 .keyword = event->keyword,
					 .provider = event->provider };

	etl_writer_add_payload(m->writer, &record, &m->events.payload);
	etw_payload_clear(&m->events.payload);
	m->totals->remark_records++;
}

void remarks_begin(struct machine *m)
{
	m->remarks = calloc(1, sizeof *m->remarks);
	if (!m->remarks) {
		m->failed = true;
		return;
	}
	m->remarks->random = UINT64_C(0x7e4a51c09d23);
	m->remarks->next_address = UINT64_C(0x1f4a2c00000);
	m->remarks->filter_random = UINT64_C(0x5d2e41f0b7c3);
	m->remarks->next_irp = UINT64_C(0xffffe00fa1004010);
	remark_runtime(m, m->scenario->web, true);
	network_remarks_begin(m);
	kernel_remarks_begin(m);
	guest_remarks_begin(m);
}
