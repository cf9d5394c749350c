/* SPDX-License-Identifier: MIT */
/*
 * The source that is a live session: it starts the session, consumes it, watches over it and stops
 * it. Windows only; elsewhere opening one is an error that names --replay.file.
 *
 * source_run() consumes on the calling thread and has a watcher thread beside it. It returns when
 * source_stop() was called and what the session still held is delivered: a session that ends by
 * itself, or that another program stops, is started again.
 */
#ifndef LIVE_LIVE_SOURCE_H
#define LIVE_LIVE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "live/canary.h"
#include "source/provider_spec.h"
#include "source/source.h"

enum live_logger {
	LIVE_PRIVATE, /* a system logger of our own: kernel events and providers (Windows 8) */
	LIVE_SYSTEM_PROVIDERS, /* the same, with system providers in place of kernel flags */
	LIVE_AUTO,             /* LIVE_SYSTEM_PROVIDERS where Windows has them, else LIVE_PRIVATE */
	LIVE_NT_KERNEL, /* the session "NT Kernel Logger": kernel events, one owner at a time */
	LIVE_USER,      /* providers only */
};

/* Events of a session that an operator should read about; the sentence has the details. */
enum live_news {
	NEWS_STARTED,   /* for the first time, or again */
	NEWS_STALE,     /* one of our name was there, left by a crash: it was stopped */
	NEWS_CONFLICT,  /* another program owns the NT Kernel Logger: waiting for it */
	NEWS_LOST,      /* the session or its consumer ended without us: starting it again */
	NEWS_PUT_BACK,  /* another program changed its flags or providers: restored */
	NEWS_NOT_AGAIN, /* starting it again failed; tried on */
	NEWS_PROVIDER,  /* a provider could not be enabled */
	NEWS_STOPPED,
};

struct live_options {
	const char *name; /* UTF-8; borrowed during source_open_live(), as is all below */
	enum live_logger logger;
	bool takeover;          /* of the NT Kernel Logger, when another program owns it */
	uint32_t kernel_flags;  /* EVENT_TRACE_FLAG_*; not for LIVE_USER */
	uint32_t kernel_groups; /* beyond them: a set of the kernel_groups[] of kernel_flags.h */
	uint64_t buffer_size_bytes; /* a multiple of 1024; 0: 256 KiB */
	uint32_t buffers_min;       /* 0: 64, and at least 4 for each processor */
	uint32_t buffers_max;       /* 0: twice as many */
	uint64_t flush_ms;          /* whole seconds; 0: 1 s */
	bool rundown;               /* of the names of open files */
	const struct provider_spec *providers;
	size_t provider_count;
	/*
	 * Whose canaries the session gets; borrowed until source_close(). NULL: none. The NT Kernel
	 * Logger takes no providers, so it gets none, nor does a ninth session.
	 */
	struct canary *canary;
	/* Consumer thread; after event time, by the counter. May be NULL. */
	void (*on_canary)(void *context, uint64_t delay_ns);
	void *canary_context;
	/* Any thread of the source, one at a time; may be NULL. */
	void (*on_news)(void *context, enum live_news news, const char *sentence);
	void *news_context;
	/* For tests; 0: the value behind the colon. */
	uint32_t watch_ms;      /* between two looks at the session: 1000 */
	uint32_t retry_ms;      /* before the first new start; doubles up to 30 s: 250 */
	uint32_t stop_grace_ms; /* for what a stopped session still holds: 5000 */
};

/*
 * Starts the session, so that a program without the right to do so learns it at once. A session of
 * the same name is taken for one that a crash left behind: stopped, and started again. Only the NT
 * Kernel Logger that another program owns is no error: source_run() waits for it.
 */
struct source *source_open_live(const struct live_options *options, struct error *err);

/*
 * Stops the sessions that this process runs, and nothing else: a last act before it dies. Takes no
 * lock of ours and no memory; what the system does for it is the system's. Providers stay enabled
 * for a session that is gone, which costs them nothing. Elsewhere than on Windows: does nothing.
 */
void live_emergency_stop(void);

#endif
