/* SPDX-License-Identifier: MIT */
/*
 * Live sessions: starting, consuming, watching and stopping them, and what runs on the machine.
 *
 * They exist on Windows only. Elsewhere etw_source_open_live() fails with a sentence.
 */
#ifndef ETW_SESSION_H
#define ETW_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/provider.h>
#include <etw/types.h>

/* These are opaque. */
struct etw_canary;
struct etw_live_change;
struct etw_session_changes;
struct etw_source;

/* Registers the provider. version is that of the exporter; it is copied. */
struct etw_canary *etw_canary_open(const char *version, struct etw_error *err);
/* Call it when no session uses the canary any more. NULL is allowed. */
void etw_canary_close(struct etw_canary *canary);

struct etw_session_changes *etw_session_changes_new(struct etw_error *err);
void etw_session_changes_free(
	struct etw_session_changes *changes); /* when no session is a member */

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
	bool takeover;              /* of the NT Kernel Logger, when another program owns it */
	uint32_t kernel_flags;      /* EVENT_TRACE_FLAG_*; not for ETW_LIVE_USER */
	uint32_t kernel_groups;     /* beyond them: a set of the etw_kernel_groups[] */
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

struct etw_running_provider {
	struct etw_guid guid;
	uint8_t level;
	uint64_t any, all; /* keywords */
};

struct etw_running_session {
	char *name;            /* UTF-8; owned */
	char *file;            /* that it writes; "" for none; owned */
	uint32_t id;           /* of the logger */
	uint32_t mode;         /* EVENT_TRACE_*_MODE */
	uint32_t kernel_flags; /* EVENT_TRACE_FLAG_*; 0: none */
	uint64_t buffer_size_bytes;
	uint32_t buffers_min, buffers_max;
	uint32_t buffers, buffers_free, buffers_written;
	uint32_t events_lost, log_buffers_lost, realtime_buffers_lost;
	struct etw_running_provider *providers; /* owned */
	size_t provider_count;
};

/* In the order of Windows, which is by id. */
struct etw_running_sessions {
	struct etw_running_session *list; /* owned */
	size_t count;
};

/* Queries Windows, which lists only sessions that the account may see. */
bool etw_running_read(struct etw_running_sessions *sessions, struct etw_error *err);
void etw_running_done(struct etw_running_sessions *sessions);

struct etw_registered_provider {
	struct etw_guid guid;
	char *name;    /* UTF-8; owned; "" when it has none */
	bool manifest; /* false: MOF */
};

/* Sorted by GUID. */
struct etw_registered_providers {
	struct etw_registered_provider *list; /* owned */
	size_t count;
};

/* Queries Windows. It is slow, because there are more than a thousand providers. */
bool etw_registered_read(struct etw_registered_providers *providers, struct etw_error *err);
void etw_registered_done(struct etw_registered_providers *providers);

/* NULL: it is not registered, or has no name. */
const char *etw_registered_name(const struct etw_registered_providers *providers,
				const struct etw_guid *guid);

/* The bits of a logging mode (EVENT_TRACE_*_MODE) that have a name, by value. */
enum { ETW_LOGGING_MODE_COUNT = 17 };
extern const unsigned etw_logging_mode_bits[ETW_LOGGING_MODE_COUNT];
extern const char *const etw_logging_mode_names[ETW_LOGGING_MODE_COUNT];

/* Whether event tracing exists: on Windows, but not in Wine, where its functions end the program.
 */
bool etw_here(struct etw_error *err);

#endif
