/* SPDX-License-Identifier: MIT */
/*
 * The canaries of one session: written by its watcher, counted when they come back.
 *
 * Whether a session took a canary is known only afterwards, because the session may have ended, or
 * the provider may have been disabled in it, without our knowing. So canaries are numbered within
 * an *epoch*, a stretch of time in which the provider stays enabled: what was written before a
 * moment at which the session was seen to run with it was taken, and so was everything up to a
 * number that came back. An epoch ends when the session is started again or the provider is enabled
 * again; what is uncertain at its end counts only if it comes back.
 */
#include <stdlib.h>

#include "live/live_internal_win32.h"

static uint64_t sure(const struct canary_epoch *epoch)
{
	return epoch->confirmed > epoch->highest ? epoch->confirmed : epoch->highest;
}

/* With source.mutex. */
static void publish(struct live *live)
{
	const struct canary_book *book = &live->book;

	live->source.statistics.canary_sent =
		book->sent_before + sure(&book->before) + sure(&book->now);
}

/* ---- writing ---- */

void book_begin(struct live *live)
{
	struct canary_book *book = &live->book;

	os_mutex_lock(live->source.mutex);
	book->sent_before += sure(&book->before);
	book->before = book->now;
	book->now = (struct canary_epoch){ .epoch = book->before.epoch + 1 };
	book->on = true;
	os_mutex_unlock(live->source.mutex);
}

void book_end(struct live *live)
{
	os_mutex_lock(live->source.mutex);
	live->book.on = false;
	os_mutex_unlock(live->source.mutex);
}

struct canary_epoch book_written(struct live *live)
{
	struct canary_epoch written;

	os_mutex_lock(live->source.mutex);
	written = live->book.now;
	os_mutex_unlock(live->source.mutex);
	return written;
}

void book_write(struct live *live)
{
	struct canary_mark mark = { .slot = live->canary_slot };
	bool on;

	/* As long as it is held no session is taken for gone, and none takes its place. */
	os_mutex_lock(&live->lock);
	os_mutex_lock(live->source.mutex);
	mark.epoch = live->book.now.epoch;
	mark.number = live->book.now.written + 1;
	on = live->book.on;
	os_mutex_unlock(live->source.mutex);
	/* What is refused leaves its number to the next. */
	if (on && live->session != 0 && canary_write(live->canary, &mark)) {
		os_mutex_lock(live->source.mutex);
		live->book.now.written = mark.number;
		os_mutex_unlock(live->source.mutex);
	}
	os_mutex_unlock(&live->lock);
}

void book_confirm(struct live *live, const struct canary_epoch *written)
{
	struct canary_epoch *now = &live->book.now;

	os_mutex_lock(live->source.mutex);
	if (now->epoch == written->epoch && now->confirmed < written->written) {
		now->confirmed = written->written;
		publish(live);
	}
	os_mutex_unlock(live->source.mutex);
}

/* ---- coming back ---- */

static bool take(struct live *live, const struct canary_mark *mark)
{
	struct canary_book *book = &live->book;
	struct canary_epoch *epoch = mark->epoch == book->now.epoch    ? &book->now :
				     mark->epoch == book->before.epoch ? &book->before :
									 NULL;

	/* A number comes twice when Windows refused it for another session and we wrote it again.
	 */
	if (!epoch || mark->number == 0 || mark->number == epoch->highest) {
		return false;
	}
	if (mark->number > epoch->highest) {
		epoch->highest = mark->number;
	}
	live->source.statistics.canary_received++;
	publish(live);
	return true;
}

void book_arrival(struct live *live, const struct event_record *record)
{
	struct canary_mark mark;
	int64_t ticks;
	bool taken;

	if (!canary_recognise(live->canary, record, &mark) || mark.slot != live->canary_slot) {
		return;
	}
	ticks = consume_counter() - record->raw_time;
	os_mutex_lock(live->source.mutex);
	taken = take(live, &mark);
	os_mutex_unlock(live->source.mutex);
	if (taken && live->options.on_canary) {
		live->options.on_canary(live->options.canary_context,
					ticks_to_ns(ticks > 0 ? (uint64_t)ticks : 0,
						    live->source.facts.clock.frequency));
	}
}

/* ---- the provider among the session's ---- */

/*
 * The session may list the provider of its own accord, for its state: one entry asks for both, and
 * lets every canary pass.
 */
static struct provider_spec *find_or_add(struct live *live)
{
	struct provider_spec *providers;

	for (size_t i = 0; i < live->provider_count; i++) {
		if (guid_equal(&live->providers[i].guid, &canary_provider)) {
			return &live->providers[i];
		}
	}
	providers = realloc(live->providers, (live->provider_count + 1) * sizeof *providers);
	if (!providers) {
		return NULL;
	}
	live->providers = providers;
	providers += live->provider_count++;
	provider_spec_init(providers);
	providers->guid = canary_provider;
	providers->level = CANARY_LEVEL;
	providers->any = canary_keyword(live->canary_slot);
	return providers;
}

bool book_open(struct live *live)
{
	struct provider_spec *spec;

	if (!live->options.canary || live->options.logger == LIVE_NT_KERNEL ||
	    !canary_join(live->options.canary, &live->source, live->name, &live->canary_slot)) {
		return true;
	}
	live->canary = live->options.canary;
	spec = find_or_add(live);
	if (!spec) {
		return false;
	}
	live->canary_index = (size_t)(spec - live->providers);
	if (spec->level != 0 && spec->level < CANARY_LEVEL) {
		spec->level = CANARY_LEVEL;
	}
	if (spec->any != 0) {
		spec->any |= canary_keyword(live->canary_slot);
	}
	spec->all = 0;
	spec->id_count = 0;
	spec->process_id_count = 0;
	free(spec->executables);
	spec->executables = NULL;
	return true;
}

void book_close(struct live *live)
{
	if (live->canary) {
		canary_leave(live->canary, live->canary_slot);
		live->canary = NULL;
	}
}
