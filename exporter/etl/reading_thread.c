/* SPDX-License-Identifier: MIT */
/*
 * Reads a recording on a thread of its own.
 *
 * To read a recording is to copy its bytes from the file, to unpack them, to find the records in
 * them and to merge the buffers of all processors. None of that depends on what becomes of the
 * records, so a second processor can do it. The reading thread runs a pass of order.c with a
 * visitor that notes records in batches, and the thread that asked for them, the caller, shows the
 * records of each batch to the visitor that it was given. So nothing but the time differs for that
 * visitor.
 *
 * Batches are a ring. The reading thread fills them and the caller gives them back in the same
 * order, so two numbers under one lock say who has which: sent and returned. A thread that is ahead
 * sleeps until half of the ring is there for it, because waking a thread costs more than a batch
 * of records is worth, or until the other one is about to sleep. So never both of them sleep. A
 * wait that is never woken would still end after WAIT_NS.
 *
 * A record borrows bytes of its buffer. A buffer whose records were all shown is therefore not used
 * again at once: it belongs to the batch that is filled at that moment, and the reading thread,
 * which alone uses the pool of blocks, returns it to the pool when that batch has come back. Large
 * buffers with few records would hold much memory in this way, so a batch with many bytes is sent
 * early, and too many of them make the reading thread wait.
 *
 * What the pass has counted is ahead of what was shown. A batch therefore notes it at its start
 * and at the end of each buffer. Where the visitor stops, the records shown since then are counted
 * again.
 *
 * The first pass, in file order, differs in three ways. Its buffers do not stay, and few of its
 * records are shown, so what these borrow is copied into the batch. It counts nothing but damage.
 * And the visitor may choose fewer records at any of them: the reading thread learns of that with a
 * later batch, and what it has sent too much is not shown.
 */
#include "etl/reading_thread.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "source/kernel_group.h"

enum {
	BATCH_RECORDS = 1024,
	BATCH_MARKS = 64,
	BATCH_BYTES = 1 << 20, /* of blocks: a batch with more is sent */
	BATCHES = 8,
	HELD_MAX = 8 << 20, /* bytes of blocks in all batches; with more the reading thread waits */
	PREFETCH_AHEAD = 4, /* records, whose bytes are read */
	WRITE_AHEAD = 8,    /* records, which are written */
	COPIES = 128 << 10, /* bytes of a batch in file order; a record needs less than 64 KiB */
};

#define WAIT_NS UINT64_C(1000000000)

/* The end of a buffer. */
struct mark {
	size_t at; /* records of the batch before it */
	uint64_t bytes_read;
	struct etl_progress progress;
	struct etl_damage damage;
};

struct batch {
	struct event_record records[BATCH_RECORDS];
	/* Of records whose provider is not in the bytes of their buffer. */
	struct guid providers[BATCH_RECORDS];
	uint8_t *copies; /* owned; what records borrow. NULL: their buffers stay */
	size_t copied_bytes;
	size_t count;
	struct mark marks[BATCH_MARKS];
	size_t mark_count;
	struct etl_progress before; /* the first record */
	struct etl_block *blocks;   /* owned */
	size_t block_bytes;
};

struct aside {
	const struct etl_reading *reading;
	const struct etl_visitor *visitor; /* the caller's */
	/* ---- of the reading thread, and of the caller when that has ended ---- */
	struct etl_progress progress;
	struct etl_damage damage;
	struct error err;
	bool good;
	struct batch *filling;     /* NULL: the caller shows no more records */
	struct kernel_choice only; /* as it was when the batch was begun */
	unsigned cleared;  /* batches whose blocks were returned to the pool, of those sent */
	size_t held_bytes; /* of blocks in batches */
	/* ---- of both threads, with the lock ---- */
	struct os_mutex lock;
	struct os_condition changed;
	unsigned sent, returned; /* batches; the first one not returned is returned % BATCHES */
	unsigned most;           /* the reading thread sleeps until so many are not returned */
	bool reader_sleeps, caller_sleeps;
	struct kernel_choice chosen; /* by the caller, when it took its last batch */
	bool stopped;                /* the caller shows no more records */
	bool finished;               /* all batches were sent */
	struct batch batches[BATCHES];
};

/* ---- the reading thread ---- */

static void clear_batch(struct aside *aside, struct batch *batch)
{
	while (batch->blocks) {
		struct etl_block *block = batch->blocks;

		batch->blocks = block->next;
		etl_block_put(aside->reading->blocks, block);
	}
	aside->held_bytes -= batch->block_bytes;
	batch->block_bytes = 0;
	batch->count = 0;
	batch->mark_count = 0;
	batch->copied_bytes = 0;
}

/* Waits until there is a batch to fill, with the lock. */
static void wait_for_batches(struct aside *aside)
{
	bool holds_much = aside->held_bytes > HELD_MAX;

	if (aside->sent - aside->returned < BATCHES && !holds_much) {
		return;
	}
	aside->most = holds_much ? 0 : BATCHES / 2;
	aside->reader_sleeps = true;
	if (aside->caller_sleeps) {
		os_condition_wake_all(&aside->changed);
	}
	while (!aside->stopped && aside->sent - aside->returned > aside->most) {
		os_condition_wait(&aside->changed, &aside->lock, WAIT_NS);
	}
	aside->reader_sleeps = false;
}

/* Sends the batch that was filled, and begins the next one. */
static NOINLINE void send_batch(struct aside *aside)
{
	unsigned sent, returned;
	bool stopped;

	os_mutex_lock(&aside->lock);
	aside->sent++;
	if (aside->caller_sleeps && aside->sent - aside->returned >= BATCHES / 2) {
		os_condition_wake_all(&aside->changed);
	}
	wait_for_batches(aside);
	sent = aside->sent;
	returned = aside->returned;
	stopped = aside->stopped;
	aside->only = aside->chosen;
	os_mutex_unlock(&aside->lock);
	for (; aside->cleared != returned; aside->cleared++) {
		clear_batch(aside, &aside->batches[aside->cleared % BATCHES]);
	}
	aside->filling = stopped ? NULL : &aside->batches[sent % BATCHES];
	if (aside->filling) {
		aside->filling->before = aside->progress;
	}
}

/*
 * The caller's processor has read the lines of a batch last. To copy a record reads what was just
 * stored and waits for all stores before it, each of them until its line has come back, so the
 * lines are fetched ahead. 64-bit Windows 8.1 requires the instruction for it; processors that lack
 * it do nothing.
 */
#if defined(__x86_64__) && defined(__GNUC__)
#define FETCHES_TO_WRITE __attribute__((target("prfchw")))
#else
#define FETCHES_TO_WRITE
#endif

static FETCHES_TO_WRITE void add_record(void *context, const struct event_record *record)
{
	struct aside *aside = context;
	struct batch *batch = aside->filling;

	if (!batch) {
		return;
	}
#if defined(__GNUC__)
	if (batch->count + WRITE_AHEAD < BATCH_RECORDS) {
		const struct event_record *later = &batch->records[batch->count + WRITE_AHEAD];

		__builtin_prefetch(later, 1);
		__builtin_prefetch((const char *)later + 64, 1);
	}
#endif
	batch->records[batch->count] = *record;
	if (record->type == RECORD_MESSAGE) {
		/* It may be in the walk, which goes on (struct etl_walk, component). */
		batch->providers[batch->count] = *record->provider;
		batch->records[batch->count].provider = &batch->providers[batch->count];
	}
	batch->count++;
	if (batch->count == BATCH_RECORDS || batch->block_bytes > BATCH_BYTES) {
		send_batch(aside);
	}
}

/* The copy of bytes that a record borrows. */
static const uint8_t *copy_bytes(struct batch *batch, const uint8_t *bytes, size_t size)
{
	uint8_t *copy = batch->copies + batch->copied_bytes;

	memcpy(copy, bytes, size);
	batch->copied_bytes += size;
	return copy;
}

/* Of a buffer that does not stay. */
static void add_copy(void *context, const struct event_record *record)
{
	struct aside *aside = context;
	size_t size = (size_t)record->payload_size + record->extended_size + sizeof(struct guid);
	struct event_record *copy;
	struct batch *batch;

	if (aside->filling && size > COPIES - aside->filling->copied_bytes) {
		send_batch(aside);
	}
	batch = aside->filling;
	if (!batch) {
		return;
	}
	copy = &batch->records[batch->count];
	*copy = *record;
	copy->payload = copy_bytes(batch, record->payload, record->payload_size);
	if (record->extended) {
		copy->extended = copy_bytes(batch, record->extended, record->extended_size);
	}
	if (record->activity) {
		copy->activity = (const struct guid *)copy_bytes(batch, record->activity->bytes,
								 sizeof(struct guid));
	}
	if (record->type > RECORD_PERFINFO) { /* else it is in a table of the program */
		batch->providers[batch->count] = *record->provider;
		copy->provider = &batch->providers[batch->count];
	}
	batch->count++;
	if (batch->count == BATCH_RECORDS) {
		send_batch(aside);
	}
}

static void add_mark(void *context, uint64_t bytes_read)
{
	struct aside *aside = context;
	struct batch *batch = aside->filling;

	if (!batch) {
		return;
	}
	batch->marks[batch->mark_count++] = (struct mark){ .at = batch->count,
							   .bytes_read = bytes_read,
							   .progress = aside->progress,
							   .damage = aside->damage };
	if (batch->mark_count == BATCH_MARKS || batch->block_bytes > BATCH_BYTES) {
		send_batch(aside);
	}
}

static void add_block(void *context, struct etl_block *block)
{
	struct aside *aside = context;
	struct batch *batch = aside->filling;

	if (!batch) {
		etl_block_put(aside->reading->blocks, block);
		return;
	}
	block->next = batch->blocks;
	batch->blocks = block;
	batch->block_bytes += block->capacity;
	aside->held_bytes += block->capacity;
}

static void read_aside(void *context)
{
	struct aside *aside = context;
	const struct etl_reading *reading = aside->reading;
	const struct etl_visitor visitor = {
		.record_context = aside,
		.on_record = reading->in_file_order ? add_copy : add_record,
		.only = aside->visitor->only ? &aside->only : NULL,
		.only_ids = aside->visitor->only_ids,
		.buffer_context = aside,
		.on_buffer = add_mark,
		.block_context = aside,
		.on_block = add_block,
		.stopping = aside->visitor->stopping,
	};

	aside->good = reading->pass(reading->context, &aside->progress, &aside->damage, &visitor,
				    &aside->err);
	os_mutex_lock(&aside->lock);
	aside->sent += aside->filling != NULL;
	aside->finished = true;
	os_condition_wake_all(&aside->changed);
	os_mutex_unlock(&aside->lock);
}

/* ---- the caller ---- */

/* Gives the batch back that was taken before, and takes the next one; NULL after the last. */
static struct batch *take_batch(struct aside *aside, const struct batch *before)
{
	struct batch *batch = NULL;

	os_mutex_lock(&aside->lock);
	if (aside->visitor->only) {
		aside->chosen = *aside->visitor->only;
	}
	if (before) {
		aside->returned++;
		if (aside->reader_sleeps && aside->sent - aside->returned <= aside->most) {
			os_condition_wake_all(&aside->changed);
		}
	}
	if (aside->sent == aside->returned) {
		aside->caller_sleeps = true;
		while (!aside->finished && aside->sent - aside->returned < BATCHES / 2 &&
		       !(aside->reader_sleeps && aside->sent != aside->returned)) {
			os_condition_wait(&aside->changed, &aside->lock, WAIT_NS);
		}
		aside->caller_sleeps = false;
	}
	if (aside->sent != aside->returned) {
		batch = &aside->batches[aside->returned % BATCHES];
	}
	os_mutex_unlock(&aside->lock);
	return batch;
}

static void stop_reading(struct aside *aside)
{
	os_mutex_lock(&aside->lock);
	aside->stopped = true;
	os_condition_wake_all(&aside->changed);
	os_mutex_unlock(&aside->lock);
}

/* Their bytes come from another processor. */
static inline void prefetch(const struct batch *batch, size_t at)
{
#if defined(__GNUC__)
	if (at < batch->count) {
		__builtin_prefetch(batch->records[at].payload);
	}
#else
	(void)batch;
	(void)at;
#endif
}

/* Whether the visitor has chosen fewer records since this one was sent. */
static inline bool is_chosen(const struct etl_visitor *visitor, const struct event_record *record)
{
	return !visitor->only || record->type > RECORD_PERFINFO ||
	       kernel_chosen(visitor->only, record->kernel_group, record->opcode);
}

/* Shows the records before the end of a buffer, or of the batch. False: the visitor is stopping,
 * and *progress has what it was shown. */
static bool show_records(const struct aside *aside, const struct batch *batch, size_t from,
			 size_t until)
{
	const struct etl_visitor *visitor = aside->visitor;
	size_t at = from;

	while (!etl_visitor_stopping(visitor)) {
		if (at == until) {
			return true;
		}
		prefetch(batch, at + PREFETCH_AHEAD);
		if (visitor->on_record && is_chosen(visitor, &batch->records[at])) {
			visitor->on_record(visitor->record_context, &batch->records[at]);
		}
		at++;
	}
	for (size_t i = from; i < at && !aside->reading->in_file_order; i++) {
		etl_progress_add(aside->reading->progress, &batch->records[i]);
	}
	return false;
}

static bool show_batch(const struct aside *aside, const struct batch *batch)
{
	const struct etl_visitor *visitor = aside->visitor;
	struct etl_progress *progress = aside->reading->progress;
	size_t from = 0;

	*progress = batch->before;
	for (size_t i = 0; i < batch->mark_count; i++) {
		const struct mark *mark = &batch->marks[i];

		if (!show_records(aside, batch, from, mark->at)) {
			return false;
		}
		from = mark->at;
		*progress = mark->progress;
		*aside->reading->damage = mark->damage;
		if (visitor->on_buffer) {
			visitor->on_buffer(visitor->buffer_context, mark->bytes_read);
		}
	}
	return show_records(aside, batch, from, batch->count);
}

static void free_aside(struct aside *aside)
{
	for (unsigned i = 0; i < BATCHES; i++) {
		while (aside->batches[i].blocks) {
			struct etl_block *block = aside->batches[i].blocks;

			aside->batches[i].blocks = block->next;
			etl_block_free(block);
		}
		free(aside->batches[i].copies);
	}
	os_condition_done(&aside->changed);
	os_mutex_done(&aside->lock);
	free(aside);
}

/* NULL without memory. */
static struct aside *new_aside(const struct etl_reading *reading, const struct etl_visitor *visitor)
{
	struct aside *aside = calloc(1, sizeof *aside);
	bool good = aside != NULL;

	if (!aside) {
		return NULL;
	}
	aside->reading = reading;
	aside->visitor = visitor;
	aside->progress = *reading->progress;
	aside->progress.newest_raw = INT64_MIN;
	aside->damage = *reading->damage;
	aside->filling = &aside->batches[0];
	aside->filling->before = aside->progress;
	if (visitor->only) {
		aside->only = *visitor->only;
		aside->chosen = *visitor->only;
	}
	for (unsigned i = 0; reading->in_file_order && i < BATCHES; i++) {
		aside->batches[i].copies = malloc(COPIES);
		good = good && aside->batches[i].copies;
	}
	os_mutex_init(&aside->lock);
	os_condition_init(&aside->changed);
	if (!good) {
		free_aside(aside);
		return NULL;
	}
	return aside;
}

bool etl_read_here(const struct etl_reading *reading, const struct etl_visitor *visitor,
		   struct error *err)
{
	return reading->pass(reading->context, reading->progress, reading->damage, visitor, err);
}

bool etl_read_aside(const struct etl_reading *reading, const struct etl_visitor *visitor,
		    struct error *err)
{
	struct aside *aside = new_aside(reading, visitor);
	struct batch *batch = NULL;
	struct os_thread thread;
	bool good = true;

	if (!aside || !os_thread_start(&thread, read_aside, aside, NULL)) {
		if (aside) {
			free_aside(aside);
		}
		return etl_read_here(reading, visitor, err);
	}
	do {
		batch = take_batch(aside, batch);
	} while (batch && show_batch(aside, batch));
	if (batch) {
		stop_reading(aside);
	}
	os_thread_join(&thread);
	if (!batch) {
		*reading->progress = aside->progress;
		good = aside->good || error_set(err, aside->err.code, "%s", aside->err.text);
	}
	*reading->damage = aside->damage;
	free_aside(aside);
	return good;
}
