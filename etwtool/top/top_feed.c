/* SPDX-License-Identifier: MIT */
/*
 * Implements three sources of pages behind one interface.
 *
 * A thread replays a recording as the exporter does, but the frames set the pace. The consumer
 * counts everything up to a limit of recorded time. Then it waits, in the callback that comes
 * before each record, until the limit is raised. A page is written while it waits. So each page has
 * exactly what was recorded before a moment, a pause is a limit that is not raised, and a slow
 * machine shows frames later but never wrong ones.
 *
 * Live sessions count on their own threads, and a page is what a scrape would return now. The page
 * of another exporter is fetched by a thread, because that may take seconds, and keys must be
 * answered meanwhile.
 */
#include "etwtool/top/top.h"

#include <stdlib.h>
#include <string.h>

#include <etw/record.h>
#include <etw/session.h>

#include "base/os.h"
#include "exporter/health.h"
#include "exporter/http/fetch.h"
#include "exporter/runner.h"
#include "exporter/setup.h"
#include "exporter/windows/crash.h"

#define NS_PER_S 1e9

struct feed {
	/* ---- recordings and sessions ---- */
	struct setup setup;
	struct runner *runner; /* NULL: pages are fetched */
	struct health *health;
	bool is_replay;
	/* ---- pages of an exporter ---- */
	struct fetch *fetch;
	/* ---- the thread that replays or fetches ---- */
	struct os_thread thread;
	bool threaded;
	/* records before this time are below the limit; used by the replay's thread alone */
	int64_t passed;
	struct os_mutex lock;
	struct os_condition changed;
	/* Guarded by the lock. */
	bool stopping;
	bool requested; /* a page was requested and not taken yet */
	bool failed;
	struct etw_error err; /* the reason, if failed */
	bool ended;           /* the replay has ended */
	bool waits;           /* the replay's thread has reached the limit */
	int64_t limit;        /* records before this time are counted */
	int64_t advance;      /* advance requested before the first record gave a time; or 0 */
	int64_t first; /* time of the first record that has one; ETW_RECORD_NO_TIME: none so far */
	int64_t next_event; /* time of the event that waits */
	bool fetched;
	struct etw_text page;   /* fetched page … */
	uint64_t fetched_ns;    /* … when it came, by os_monotonic_ns() … */
	int64_t fetched_time;   /* … and by the machine's clock */
	int64_t page_time;      /* time of the previous page */
	uint64_t page_clock_ns; /* os_monotonic_ns() of the previous page; 0: none */
};

/* ---- the replay ---- */

static void start_clock(struct feed *feed, int64_t time)
{
	feed->first = time;
	feed->page_time = time;
	feed->limit = etw_time_add(time, feed->advance);
}

/*
 * Called before a record is counted, on the replay's thread: waits until the limit is above its
 * time.
 */
static void on_time(void *context, int64_t time)
{
	struct feed *feed = context;

	if (time < feed->passed || time == ETW_RECORD_NO_TIME) {
		return;
	}
	os_mutex_lock(&feed->lock);
	if (feed->first == ETW_RECORD_NO_TIME) {
		start_clock(feed, time);
	}
	while (time >= feed->limit && feed->limit != INT64_MAX && !feed->stopping) {
		feed->waits = true;
		feed->next_event = time;
		os_condition_wake_all(&feed->changed);
		(void)os_condition_wait(&feed->changed, &feed->lock, UINT64_C(1000000000));
	}
	feed->waits = false;
	feed->next_event = ETW_RECORD_NO_TIME;
	feed->passed = feed->stopping ? INT64_MAX : feed->limit;
	os_mutex_unlock(&feed->lock);
}

static void replay(void *context)
{
	struct feed *feed = context;
	struct etw_error err = { 0 };
	bool good = runner_run(feed->runner, &err);

	os_mutex_lock(&feed->lock);
	feed->ended = true;
	feed->failed = !good;
	feed->err = err;
	os_mutex_unlock(&feed->lock);
}

/* ---- pages of an exporter ---- */

static int64_t machine_time(void)
{
	return etw_time_add(ETW_TIME_1970, (int64_t)(os_unix_time_ns() / 100));
}

/* Stores a page that was fetched. */
static void keep_page(struct feed *feed, struct etw_text *page)
{
	text_free(&feed->page);
	feed->page = *page;
	feed->fetched = true;
	feed->fetched_ns = os_monotonic_ns();
	feed->fetched_time = machine_time();
}

static void fetch_pages(void *context)
{
	struct feed *feed = context;

	os_mutex_lock(&feed->lock);
	while (!feed->stopping) {
		struct etw_text page = { 0 };
		struct etw_error err = { 0 };
		bool good;

		if (!feed->requested || feed->fetched || feed->failed) {
			(void)os_condition_wait(&feed->changed, &feed->lock, UINT64_C(1000000000));
			continue;
		}
		os_mutex_unlock(&feed->lock);
		good = fetch_page(feed->fetch, &page, &err);
		os_mutex_lock(&feed->lock);
		feed->failed = !good;
		feed->err = err;
		if (good) {
			keep_page(feed, &page);
		} else {
			text_free(&page);
		}
	}
	os_mutex_unlock(&feed->lock);
}

/* ---- opening ---- */

static bool open_exporter(struct feed *feed, const struct feed_options *options,
			  struct etw_error *err)
{
	const struct fetch_options fetch = {
		.url = options->arguments->words[0],
		.user = options->user,
		.password_path = options->password_path,
		.authorities_path = options->authorities_path,
	};
	struct etw_text page = { 0 };

	feed->fetch = fetch_open(&fetch, err);
	if (!feed->fetch || !fetch_page(feed->fetch, &page, err)) {
		text_free(&page);
		return false;
	}
	keep_page(feed, &page);
	feed->threaded = os_thread_start(&feed->thread, fetch_pages, feed, err);
	return feed->threaded;
}

/*
 * Turns on the collector sched, which is too expensive for a live session by default; a replay only
 * takes longer.
 */
static bool switch_sched_on(struct collector_switches *switches, struct etw_error *err)
{
	for (size_t i = 0; i < switches->count; i++) {
		if (strcmp(switches->rows[i].collector, "sched") == 0) {
			return true; /* the command line has decided */
		}
	}
	return collector_switches_read(switches, "--collector.sched", err);
}

static bool open_set_up(struct feed *feed, const struct feed_options *options,
			struct etw_error *err)
{
	struct collector_switches *switches = &options->arguments->switches;
	struct setup_options setup = { .manifests = &options->arguments->manifests };

	if (feed->is_replay && !options->config && !switch_sched_on(switches, err)) {
		return false;
	}
	setup.switches = switches->rows;
	setup.switch_count = switches->count;

	return setup_open(&feed->setup, setup_config(options->config, options->problems, err),
			  &setup, err);
}

static bool open_runner(struct feed *feed, const struct feed_options *options,
			struct etw_error *err)
{
	const struct runner_options run = {
		.setup = &feed->setup,
		.paths = options->arguments->words,
		.path_count = feed->is_replay,
		.file = { .pointer_size = options->arguments->pointer_size },
		.on_time = feed->is_replay ? on_time : NULL,
		.time_context = feed,
	};

	if (!feed->is_replay && !etw_here(err)) {
		return error_prefix(err, "name a recording or the URL of an exporter");
	}
	if (!open_set_up(feed, options, err) ||
	    (!feed->is_replay && (!sessions_are_free(feed->setup.config,
						     "if an exporter has started it, use its URL "
						     "(http://localhost:9189/)",
						     err) ||
				  !crash_catch(etw_live_emergency_stop, err)))) {
		return false;
	}
	feed->runner = runner_new(&run, err);
	feed->health = feed->runner ? health_new(&feed->setup, feed->runner, err) : NULL;
	if (!feed->health) {
		return false;
	}
	if (!feed->is_replay) {
		return runner_start(feed->runner, err);
	}
	feed->threaded = os_thread_start(&feed->thread, replay, feed, err);
	return feed->threaded;
}

/* Returns whether a word is host:port, a URL without its beginning. One letter before the colon is
 * a drive of Windows. */
static bool is_host_and_port(const char *word)
{
	const char *colon = strchr(word, ':');
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

	return digits > 0 && colon > word + 1 &&
	       (colon[1 + digits] == '\0' || colon[1 + digits] == '/');
}

struct feed *feed_open(const struct feed_options *options, struct etw_error *err)
{
	struct feed *feed = calloc(1, sizeof *feed);
	const char *word = options->arguments->words[0];
	bool good;

	if (!feed) {
		error_no_memory(err, "pages");
		return NULL;
	}
	os_mutex_init(&feed->lock);
	os_condition_init(&feed->changed);
	feed->limit = INT64_MIN;
	feed->passed = INT64_MIN;
	feed->first = ETW_RECORD_NO_TIME;
	feed->next_event = ETW_RECORD_NO_TIME;
	feed->page_time = ETW_RECORD_NO_TIME;
	feed->is_replay = word && !fetch_is_url(word);
	good = word && !feed->is_replay ? open_exporter(feed, options, err) :
					  open_runner(feed, options, err);
	if (!good) {
		if (feed->is_replay && is_host_and_port(word)) {
			const struct etw_error refused = *err;

			error_set(err, refused.code, "%s; did you mean http://%s?", refused.text,
				  word);
		}
		feed_close(feed);
		return NULL;
	}
	return feed;
}

void feed_close(struct feed *feed)
{
	if (!feed) {
		return;
	}
	os_mutex_lock(&feed->lock);
	feed->stopping = true;
	os_condition_wake_all(&feed->changed);
	os_mutex_unlock(&feed->lock);
	if (feed->runner) {
		runner_stop(feed->runner);
	}
	if (feed->threaded) {
		os_thread_join(&feed->thread);
	}
	if (feed->runner) {
		runner_join(feed->runner);
	}
	health_free(feed->health);
	runner_free(feed->runner);
	setup_close(&feed->setup);
	fetch_close(feed->fetch);
	text_free(&feed->page);
	os_condition_done(&feed->changed);
	os_mutex_done(&feed->lock);
	free(feed);
}

/* ---- pages ---- */

bool feed_is_replay(const struct feed *feed)
{
	return feed->is_replay;
}

void feed_request(struct feed *feed, int64_t advance_100ns)
{
	os_mutex_lock(&feed->lock);
	feed->requested = true;
	feed->waits = false;
	if (feed->first == ETW_RECORD_NO_TIME) {
		feed->advance = advance_100ns;
	} else if (feed->limit != INT64_MAX) {
		feed->limit = etw_time_add(feed->limit, advance_100ns);
	}
	os_condition_wake_all(&feed->changed);
	os_mutex_unlock(&feed->lock);
}

/* Returns whether a page can be taken. The caller holds the lock. */
static bool is_there(struct feed *feed)
{
	if (feed->is_replay) {
		return feed->waits || feed->ended;
	}
	return feed->runner || feed->fetched;
}

/*
 * Sets the times of the page: recorded time of a replay, otherwise the machine's. The caller holds
 * the lock.
 */
static void set_time(struct feed *feed, struct feed_page *page)
{
	uint64_t clock_ns = feed->fetch ? feed->fetched_ns : os_monotonic_ns();
	struct runner_totals totals;

	if (!feed->is_replay) {
		page->time = feed->fetch ? feed->fetched_time : machine_time();
		page->seconds = feed->page_clock_ns > 0 ?
					(double)(clock_ns - feed->page_clock_ns) / NS_PER_S :
					0;
		feed->page_clock_ns = clock_ns;
		return;
	}
	page->time = feed->limit;
	page->ended = feed->ended;
	if (feed->ended) {
		runner_totals(feed->runner, &totals);
		page->time = totals.position_100ns > 0 ?
				     etw_time_add(ETW_TIME_1970, (int64_t)totals.position_100ns) :
				     ETW_RECORD_NO_TIME;
	}
	page->seconds =
		feed->page_time != ETW_RECORD_NO_TIME && page->time != ETW_RECORD_NO_TIME ?
			(double)etw_time_between(feed->page_time, page->time) / UNITS_PER_S :
			0;
	feed->page_time = page->time;
}

enum feed_state feed_poll(struct feed *feed, struct feed_page *page, struct etw_error *err)
{
	enum feed_state state = FEED_NOT_YET;

	os_mutex_lock(&feed->lock);
	if (feed->requested && feed->failed) {
		*err = feed->err;
		feed->failed = feed->is_replay;
		feed->requested = false;
		state = FEED_FAILED;
	} else if (feed->requested && is_there(feed)) {
		feed->requested = false;
		state = FEED_PAGE;
		set_time(feed, page);
	}
	if (state == FEED_PAGE && feed->fetch) {
		page->text = feed->page;
		feed->page = (struct etw_text){ 0 };
		feed->fetched = false;
	}
	os_mutex_unlock(&feed->lock);
	/*
	 * This needs no lock: the replay waits for the next request, so its page does not change.
	 */
	if (state == FEED_PAGE && feed->runner) {
		text_add_exposition(&page->text, feed->setup.registry);
	}
	return state;
}

int64_t feed_next_event(struct feed *feed)
{
	int64_t time;

	os_mutex_lock(&feed->lock);
	time = feed->next_event;
	os_mutex_unlock(&feed->lock);
	return time;
}

double feed_progress(struct feed *feed)
{
	struct runner_totals totals = { 0 };

	if (feed->runner) {
		runner_totals(feed->runner, &totals);
	}
	return (double)totals.progress_millionths / 1e6;
}
