/* SPDX-License-Identifier: MIT */
/*
 * The source that is a live session: it starts the session, consumes it, watches it and stops it.
 * It exists on Windows only; elsewhere etw_source_open_live() fails with a sentence that names
 * --replay.file.
 *
 * etw_source_run() consumes on the calling thread and starts a watcher thread. It returns after
 * etw_source_stop() was called and the events that the session still held are delivered. A session
 * that ends by itself, or that another program stops, is started again.
 */
#ifndef LIB_LIVE_LIVE_SOURCE_H
#define LIB_LIVE_LIVE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lib/live/canary.h"
#include "lib/live/session_changes.h"
#include "lib/source/provider_spec.h"
#include "lib/source/source.h"

enum etw_live_logger {
	ETW_LIVE_PRIVATE, /* a private system logger: kernel events and providers (Windows 8) */
	ETW_LIVE_SYSTEM_PROVIDERS, /* the same, with system providers in place of kernel flags */
	ETW_LIVE_NT_KERNEL, /* the session "NT Kernel Logger": kernel events, one owner at a time */
	ETW_LIVE_USER,      /* providers only */
};

/* What happened to a session and an operator should know; a sentence has the details. */
enum etw_session_event {
	ETW_SESSION_STARTED,   /* for the first time, or again */
	ETW_SESSION_STALE,     /* a session of this name was left by a crash and is stopped */
	ETW_SESSION_CONFLICT,  /* another program owns the NT Kernel Logger: we wait for it */
	ETW_SESSION_LOST,      /* the session or its consumer ended; it is started again */
	ETW_SESSION_RESTORED,  /* another program changed its flags or providers; restored */
	ETW_SESSION_GIVEN_UP,  /* other programs change it again and again: left as it is */
	ETW_SESSION_EXPLAINED, /* the program that caused one of the last two is known only now */
	ETW_SESSION_NOT_RESTARTED,   /* starting it again failed; it is tried again later */
	ETW_SESSION_PROVIDER_FAILED, /* a provider could not be enabled */
	ETW_SESSION_STOPPED,
	ETW_SESSION_NOT_STOPPED, /* Windows refuses to stop it: it goes on running, unread */
};

struct etw_live_options {
	const char *name; /* UTF-8; borrowed during etw_source_open_live(), as is all below */
	enum etw_live_logger logger;
	bool takeover;         /* of the NT Kernel Logger, when another program owns it */
	uint32_t kernel_flags; /* EVENT_TRACE_FLAG_*; not for ETW_LIVE_USER */
	uint32_t
		kernel_groups; /* beyond them: a set of the etw_kernel_groups[] of kernel_flags.h */
	uint64_t buffer_size_bytes; /* a multiple of 1024; 0: 256 KiB */
	uint32_t buffers_min;       /* 0: 64, and at least 4 for each processor */
	uint32_t buffers_max;       /* 0: twice as many */
	uint64_t flush_ms;          /* whole seconds; 0: 1 s */
	/* What exists since before the start is asked for: names of open files, disks, services.
	 * Only for ETW_LIVE_PRIVATE and ETW_LIVE_SYSTEM_PROVIDERS. */
	bool rundown;
	bool services; /* names of services are needed, even without events of files and disks */
	const struct etw_provider_spec *providers;
	size_t provider_count;
	/*
	 * The provider of the session's canaries; borrowed until etw_source_close(). NULL: no
	 * canaries. The NT Kernel Logger takes no providers, so it gets no canaries; nor does a
	 * ninth session.
	 */
	struct etw_canary *canary;
	/*
	 * A canary arrived, so long after it was written, by the performance counter. On the
	 * consumer thread; may be NULL.
	 */
	void (*on_canary)(void *context, uint64_t delay_ns);
	void *canary_context;
	/* Which process stopped or changed a session; borrowed until etw_source_close(). NULL: it
	 * is not watched for. Of all sessions, because one reports the end of another. */
	struct etw_session_changes *changes;
	/* On any thread of the source; calls of two threads may overlap. May be NULL. */
	void (*on_session_event)(void *context, enum etw_session_event event, const char *sentence);
	void *session_event_context;
	/*
	 * A callback of the session has faulted, and Windows caught the exception: what the
	 * consumer thread was doing is half done, and it may hold locks. On that thread; it should
	 * end the process. If it returns, etw_source_run() fails. NULL: abort().
	 */
	void (*on_fault)(const char *reason);
	/* For tests; 0 means the value after the colon. */
	uint32_t watch_ms;         /* between two checks of the session: 1000 */
	uint32_t retry_ms;         /* before the first restart; doubles up to 30 s: 250 */
	uint32_t stop_grace_ms;    /* to deliver what a stopped session still holds: 5000 */
	uint32_t harvest_ms;       /* for which a harvest session runs: 100 */
	uint32_t harvest_again_ms; /* between two harvests because of losses; doubles while losses
				      continue, up to 1 h: 60000 */
	uint32_t anchor_ms;        /* between two anchors of the clock: 60000 */
	uint32_t snapshot_ms;      /* between two looks at volumes, disks and services: 10000 */
};

/*
 * Starts the session, so that missing rights are reported at once. A session of the same name is
 * assumed to be left by a crash; it is stopped and started again. Only one failure is no error: if
 * another program owns the NT Kernel Logger, etw_source_run() waits for it.
 */
struct etw_source *etw_source_open_live(const struct etw_live_options *options,
					struct etw_error *err);

/*
 * ---- a reload: other providers and kernel events while the session runs ----
 *
 * Of the options are used: kernel_flags, kernel_groups, services, providers. No event is lost that
 * the session delivers before and after.
 */
struct etw_live_change; /* opaque */

/* Finds the providers and makes their filters, so that what cannot work is reported before anything
 * changes. NULL on failure. Any thread, one at a time. */
struct etw_live_change *etw_live_change_new(struct etw_source *source,
					    const struct etw_live_options *options,
					    struct etw_error *err);
/* Disables what is no longer needed, and enables what is new or different. What Windows refuses is
 * reported as it is at a start. A session that does not run at the moment starts so. */
void etw_live_change_apply(struct etw_live_change *change);
void etw_live_change_free(struct etw_live_change *change); /* NULL is fine */

/*
 * Stops the sessions that this process runs, and does nothing else; for a process that crashes. It
 * takes no lock of ours and allocates no memory. Providers are not disabled: they stay enabled for
 * a session that no longer exists, which costs nothing. Outside Windows it does nothing.
 */
void etw_live_emergency_stop(void);

#endif
