/* SPDX-License-Identifier: MIT */
/*
 * Remarks of the .NET runtime: the web site and each PowerShell script compile methods, allocate,
 * collect garbage, throw exceptions, wait for locks and use a thread pool. The events are those of
 * .NET Framework 4 (config/manifests/Microsoft-Windows-DotNETRuntime.man).
 */
#include "tests/support/sample_remarks.h"

#include <string.h>

static const struct etw_guid dotnet_runtime =
	ETW_GUID_INIT(0xe13c0d23, 0xccbc, 0x4e12, 0x93, 0x1b, 0xd9, 0xcc, 0x2e, 0xee, 0x27, 0xe4);

enum { GC_TASK = 1, EXCEPTION_TASK = 7, CONTENTION_TASK = 8, METHOD_TASK = 9, POOL_TASK = 16 };
enum { GC_KEYWORD = 1, JIT_KEYWORD = 0x10, CONTENTION_KEYWORD = 0x4000 };
enum { EXCEPTION_KEYWORD = 0x8000, THREADING_KEYWORD = 0x10000 };
enum { CLR_INSTANCE = 9 };

static void runtime_event(struct machine *m, uint16_t id, uint8_t version, uint16_t task,
			  uint8_t opcode, uint64_t keyword)
{
	const struct remark_event event = { .provider = &dotnet_runtime,
					    .id = id,
					    .version = version,
					    .task = task,
					    .opcode = opcode,
					    .level = keyword == JIT_KEYWORD ? 5 : 4,
					    .keyword = keyword };

	remark_add(m, &event);
}

static bool is_web(const struct machine *m, const struct runtime *runtime)
{
	return runtime->process == m->scenario->web;
}

/* --- collections ------------------------------------------------------------------------------ */

static void resume(struct machine *m, void *subject, uint64_t unused)
{
	struct runtime *runtime = subject;
	struct process *process = runtime->process;
	struct remark_place place;
	struct etw_payload *p = &m->events.payload;
	uint64_t *heap = runtime->heap, survivors = heap[0] / 8;

	(void)unused;
	if (!process->alive) {
		return;
	}
	if (runtime->generation >= 1) {
		heap[2] += heap[1] * 2 / 3;
		heap[1] /= 6;
	}
	if (runtime->generation == 2) {
		heap[2] -= heap[2] / 4;
		heap[3] -= heap[3] / 2;
	}
	heap[1] += survivors;
	heap[0] = 262144;
	place = remark_begin(m, process, process->threads[1]);
	for (size_t i = 0; i < HEAP_GENERATIONS; i++) {
		etw_payload_u64(p, heap[i]);
		etw_payload_u64(p, i == 0 ? survivors : 0); /* promoted */
	}
	etw_payload_u64(p, 0); /* for finalizers: bytes, objects */
	etw_payload_u64(p, 0);
	etw_payload_u32(p, 14);  /* PinnedObjectCount */
	etw_payload_u32(p, 5);   /* SinkBlockCount */
	etw_payload_u32(p, 431); /* GCHandleCount */
	etw_payload_u16(p, CLR_INSTANCE);
	runtime_event(m, 4, 1, GC_TASK, 133, GC_KEYWORD);
	etw_payload_u16(p, CLR_INSTANCE);
	runtime_event(m, 3, 1, GC_TASK, 132, GC_KEYWORD);
	process->totals->collection_pauses++;
	remark_end(m, &place);
}

static void collect(struct machine *m, void *subject, uint64_t unused)
{
	static const uint64_t longest[SAMPLE_GENERATIONS] = { 5 * MS, 14 * MS, 130 * MS };
	struct runtime *runtime = subject;
	struct process *process = runtime->process;
	struct remark_place place;

	(void)unused;
	if (!process->alive) {
		return;
	}
	place = remark_begin(m, process, process->threads[1]);
	etw_payload_u32(&m->events.payload, runtime->collections);
	etw_payload_u32(&m->events.payload, runtime->generation);
	etw_payload_u32(&m->events.payload, 0); /* Reason: small objects */
	etw_payload_u32(&m->events.payload, 0); /* Type: not concurrent */
	etw_payload_u16(&m->events.payload, CLR_INSTANCE);
	etw_payload_u64(&m->events.payload, 0);
	runtime_event(m, 1, 2, GC_TASK, 1, GC_KEYWORD);
	process->totals->collections[runtime->generation]++;
	machine_schedule(
		m, mostly_low(m, longest[runtime->generation] / 10, longest[runtime->generation]),
		resume, runtime, 0);
	remark_end(m, &place);
}

static void suspend(struct machine *m, struct runtime *runtime)
{
	uint32_t count = ++runtime->collections;

	runtime->generation = count % 16 == 0 ? 2 : count % 5 == 0 ? 1 : 0;
	etw_payload_u32(&m->events.payload, 1); /* Reason: for a collection */
	etw_payload_u32(&m->events.payload, count);
	etw_payload_u16(&m->events.payload, CLR_INSTANCE);
	runtime_event(m, 9, 1, GC_TASK, 10, GC_KEYWORD);
	machine_schedule(m, between(m, 30000, 200000), collect, runtime, 0);
}

/* The runtime reports about every 100 KB of small objects, and each large object. */
static void allocate(struct machine *m, void *subject, uint64_t unused)
{
	struct runtime *runtime = subject;
	struct process *process = runtime->process;
	uint64_t rate = is_web(m, runtime) ? 5 + wave(m, 30, 4) * 16 / 1000 : 25;
	struct remark_place place;
	struct etw_payload *p = &m->events.payload;
	uint64_t size;
	bool large;

	(void)unused;
	if (!process->alive) {
		return;
	}
	place = remark_begin(m, process, process->threads[2]);
	large = chance(m, 20) == 0;
	size = large ? between(m, 90000, 900000) : between(m, 102400, 108000);
	etw_payload_u32(p, (uint32_t)size);
	etw_payload_u32(p, large);
	etw_payload_u16(p, CLR_INSTANCE);
	etw_payload_u64(p, size);
	etw_payload_pointer(p, UINT64_C(0x7ffab1c26a40));
	etw_payload_wstring(p, large ? "System.Byte[]" : "System.String");
	etw_payload_u32(p, 0);
	etw_payload_pointer(p, UINT64_C(0x1f4c0021a30) + runtime->allocations * 0x19000);
	runtime_event(m, 10, 3, GC_TASK, 11, GC_KEYWORD);
	process->totals->allocated_bytes += size;
	runtime->heap[large ? 3 : 0] += size;
	if (++runtime->allocations % 10 == 0) {
		suspend(m, runtime);
	}
	machine_schedule(m, between(m, SECOND / rate / 2, SECOND / rate * 3 / 2), allocate, runtime,
			 0);
	remark_end(m, &place);
}

/* --- code ------------------------------------------------------------------------------------- */

static void compile(struct machine *m, void *subject, uint64_t left)
{
	static const char *const methods[][2] = {
		{ "Contoso.Shop.Checkout", "Total" },
		{ "Contoso.Shop.Catalogue", "Search" },
		{ "System.Web.HttpContext", "get_User" },
		{ "System.Linq.Enumerable", "ToList" },
		{ "System.String", "Format" },
	};
	struct runtime *runtime = subject;
	struct remark_place place;
	struct etw_payload *p = &m->events.payload;
	uint64_t which;

	if (!runtime->process->alive) {
		return;
	}
	place = remark_begin(m, runtime->process, runtime->process->threads[2]);
	which = is_web(m, runtime) ? chance(m, 5) : between(m, 3, 4);
	etw_payload_u64(p, UINT64_C(0x7ffab1d04b10) + left * 0x38);
	etw_payload_u64(p, UINT64_C(0x7ffab1d03fd8));
	etw_payload_u32(p, 0x6000001 + (uint32_t)chance(m, 4096));
	etw_payload_u32(p, (uint32_t)mostly_low(m, 12, 900));
	etw_payload_wstring(p, methods[which][0]);
	etw_payload_wstring(p, methods[which][1]);
	etw_payload_wstring(p, "instance class System.String  ()");
	etw_payload_u16(p, CLR_INSTANCE);
	runtime_event(m, 145, 1, METHOD_TASK, 42, JIT_KEYWORD);
	runtime->process->totals->methods_compiled++;
	/* Most code is compiled at the start, the rest when it is first used. */
	machine_schedule(m,
			 left ? between(m, 8 * MS, 70 * MS) : mostly_low(m, 300 * MS, 5 * SECOND),
			 compile, runtime, left ? left - 1 : 0);
	remark_end(m, &place);
}

/* --- exceptions ------------------------------------------------------------------------------- */

#define WEB_FAILS_FROM (39 * SECOND)
#define WEB_CRASHES    (41300 * MS)

bool remark_web_fails(const struct machine *m)
{
	return m->now_ns >= WEB_FAILS_FROM && m->now_ns < WEB_CRASHES;
}

static void throw_exception(struct machine *m, const struct process *process, const char *type)
{
	struct etw_payload *p = &m->events.payload;

	etw_payload_wstring(p, type);
	etw_payload_wstring(p, "");
	etw_payload_pointer(p, UINT64_C(0x7ffab1d9c3e1));
	etw_payload_u32(p, UINT32_C(0x80131500));
	etw_payload_u16(p, 0x10); /* CLSCompliant */
	etw_payload_u16(p, CLR_INSTANCE);
	runtime_event(m, 80, 1, EXCEPTION_TASK, 1, EXCEPTION_KEYWORD);
	process->totals->exceptions++;
}

static void web_exception(struct machine *m, void *subject, uint64_t unused)
{
	static const char *const types[] = { "System.TimeoutException", "System.FormatException",
					     "System.Collections.Generic.KeyNotFoundException" };
	struct runtime *runtime = subject;
	struct remark_place place;

	(void)unused;
	if (!runtime->process->alive) {
		return;
	}
	place = remark_begin(m, runtime->process, runtime->process->threads[3]);
	throw_exception(m, runtime->process,
			remark_web_fails(m) ? "System.Data.SqlClient.SqlException" :
					      types[chance(m, 3)]);
	machine_schedule(m,
			 remark_web_fails(m) ? between(m, 20 * MS, 120 * MS) :
					       mostly_low(m, 200 * MS, 2500 * MS),
			 web_exception, runtime, 0);
	remark_end(m, &place);
}

static void script_exception(struct machine *m, void *subject, uint64_t unused)
{
	struct process *process = subject;
	struct remark_place place = remark_begin(m, process, process->threads[0]);

	(void)unused;
	throw_exception(m, process, "System.Management.Automation.RuntimeException");
	remark_end(m, &place);
}

void remark_script_fails(struct machine *m, uint64_t delay_ns, struct process *process)
{
	machine_schedule(m, delay_ns, script_exception, process, 0);
}

/* --- locks and the thread pool ---------------------------------------------------------------- */

static void lock_event(struct machine *m, bool begins)
{
	etw_payload_u8(&m->events.payload, 0); /* managed */
	etw_payload_u16(&m->events.payload, CLR_INSTANCE);
	runtime_event(m, begins ? 81 : 91, begins, CONTENTION_TASK, begins ? 1 : 2,
		      CONTENTION_KEYWORD);
}

static void wait_for_lock(struct machine *m, void *subject, uint64_t begins)
{
	struct runtime *runtime = subject;
	struct process *process = runtime->process;
	uint64_t rate = 1 + wave(m, 30, 4) * 6 / 1000;
	struct remark_place place;

	if (!process->alive) {
		return;
	}
	place = remark_begin(m, process, runtime->waiting_thread);
	if (begins) {
		m->events.thread_id = runtime->waiting_thread = any_thread(m, process);
		runtime->waiting_raw = m->events.raw_time;
		process->totals->contentions++;
	} else {
		process->totals->contention_ns +=
			100 * (uint64_t)(m->events.raw_time - runtime->waiting_raw);
	}
	lock_event(m, begins);
	machine_schedule(m,
			 begins ? mostly_low(m, 40000, 25 * MS) :
				  between(m, SECOND / rate / 2, SECOND / rate * 3 / 2),
			 wait_for_lock, runtime, !begins);
	remark_end(m, &place);
}

static void thread_pool(struct machine *m, void *subject, uint64_t unused)
{
	struct runtime *runtime = subject;
	uint32_t workers = 6 + (uint32_t)(wave(m, 30, 4) * 14 / 1000);
	bool grows = workers > runtime->workers;
	struct remark_place place;

	(void)unused;
	if (!runtime->process->alive) {
		return;
	}
	if (workers != runtime->workers) {
		place = remark_begin(m, runtime->process, runtime->process->threads[4]);
		runtime->workers = workers;
		etw_payload_u32(&m->events.payload, workers);
		etw_payload_u32(&m->events.payload, 0);
		etw_payload_u16(&m->events.payload, CLR_INSTANCE);
		runtime_event(m, grows ? 50 : 51, 0, POOL_TASK, grows ? 1 : 2, THREADING_KEYWORD);
		remark_end(m, &place);
	}
	machine_schedule(m, 700 * MS, thread_pool, runtime, 0);
}

/* --- programs --------------------------------------------------------------------------------- */

void remark_runtime(struct machine *m, struct process *process, bool warm)
{
	struct runtime *runtime = &m->remarks->runtimes[m->remarks->runtime_count];

	if (m->remarks->runtime_count == RUNTIMES_MOST) {
		m->failed = true;
		return;
	}
	m->remarks->runtime_count++;
	*runtime = (struct runtime){ .process = process };
	if (warm) {
		runtime->heap[1] = 3 << 20;
		runtime->heap[2] = 84 << 20;
		runtime->heap[3] = 21 << 20;
	}
	machine_schedule(m, 150 * MS, compile, runtime, warm ? 0 : 40);
	machine_schedule(m, 210 * MS, allocate, runtime, 0);
	if (is_web(m, runtime)) {
		machine_schedule(m, 700 * MS, web_exception, runtime, 0);
		machine_schedule(m, 400 * MS, wait_for_lock, runtime, true);
		machine_schedule(m, 50 * MS, thread_pool, runtime, 0);
	}
}
