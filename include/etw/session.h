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

#include <etw/kernel.h>
#include <etw/provider.h>
#include <etw/types.h>

/* These are opaque. */
struct etw_canary;
struct etw_live_change;
struct etw_session_changes;
struct etw_source;

/* Registers the provider of canary events. version: that of the program; it is copied. */
struct etw_canary *etw_canary_open(const char *version, struct etw_error *err);
/* Call it when no session uses the canary any more. NULL is allowed. */
void etw_canary_close(struct etw_canary *canary);

struct etw_session_changes *etw_session_changes_new(struct etw_error *err);
void etw_session_changes_free(
	struct etw_session_changes *changes); /* only when no session uses it any more */

enum etw_live_logger {
	ETW_LIVE_PRIVATE, /* a private system logger: kernel events and providers (Windows 8) */
	ETW_LIVE_SYSTEM_PROVIDERS, /* a private system logger with system providers in place of
				      kernel flags */
	ETW_LIVE_NT_KERNEL, /* the session "NT Kernel Logger": kernel events, one owner at a time */
	ETW_LIVE_USER,      /* providers only */
	/* A session that another program controls, found by its name: it is read, and never changed
	 * or stopped. While none of that name runs, the source waits. Providers, buffers and the
	 * flush timer are its controller's: those of the options are not used. */
	ETW_LIVE_ATTACH,
};

/* A session with kernel events starts another one now and then, to find what exists; its name has
 * this at its end. */
#define ETW_HARVEST_SUFFIX "_harvest"

/* What happened to a session that an operator should know. A sentence has the details. */
enum etw_session_event {
	ETW_SESSION_STARTED,   /* the session was started, for the first time or again */
	ETW_SESSION_STALE,     /* a session of this name was left by a crash and is stopped */
	ETW_SESSION_CONFLICT,  /* another program owns the NT Kernel Logger; the source waits until
				  it is free */
	ETW_SESSION_LOST,      /* the session or its consumer ended; it is started again */
	ETW_SESSION_RESTORED,  /* another program changed its flags or providers and they were
				  restored, or a provider that was refused is enabled */
	ETW_SESSION_GIVEN_UP,  /* other programs changed a setting too often; it is no longer
				  restored */
	ETW_SESSION_EXPLAINED, /* names, later, the program that caused one of the last two */
	ETW_SESSION_NOT_RESTARTED,   /* starting it again failed; it is retried later */
	ETW_SESSION_PROVIDER_FAILED, /* a provider could not be enabled, or something else of the
					session is not as requested; it runs without */
	ETW_SESSION_ATTACHED,        /* a session of another program is read from now on */
	ETW_SESSION_ABSENT, /* no session of that name runs, or it has ended; the source waits */
	ETW_SESSION_STOPPED,
	ETW_SESSION_NOT_STOPPED, /* Windows refuses to stop it; it continues to run and is not read
				  */
};

struct etw_live_options {
	const char *name; /* UTF-8; borrowed during etw_source_open_live(), like all pointers
			     without another note */
	enum etw_live_logger logger;
	bool takeover;          /* take the NT Kernel Logger from a program that owns it */
	uint32_t kernel_flags;  /* EVENT_TRACE_FLAG_*; not for ETW_LIVE_USER; for
				   ETW_LIVE_ATTACH those that should be on */
	uint32_t kernel_groups; /* further kernel events: a set of etw_kernel_groups[] */
	/* Kernel events whose call stacks the session gets, as events of StackWalk. They do not
	 * enable the events. */
	const struct etw_kernel_event *stacks;
	size_t stack_count;
	uint64_t buffer_size_bytes; /* a multiple of 1024; 0: 256 KiB */
	uint32_t buffers_min;       /* 0: 64, or 4 for each processor if more */
	uint32_t buffers_max;       /* 0: twice buffers_min */
	uint64_t flush_ms;          /* whole seconds; 0: 1 s */
	/* Collect what existed before the start: names of open files, disks, services. Not for
	 * ETW_LIVE_USER and ETW_LIVE_ATTACH. */
	bool rundown;
	bool services; /* collect names of services also without events of files and disks */
	const struct etw_provider_spec *providers;
	size_t provider_count;
	/*
	 * The provider of the session's canaries; borrowed until etw_source_close(). NULL: no
	 * canaries. The NT Kernel Logger accepts no providers and so gets no canaries; a canary
	 * provider serves at most eight sessions.
	 */
	struct etw_canary *canary;
	/*
	 * Called on the consumer thread when a canary arrives. delay_ns: the time since it was
	 * written, by the performance counter. May be NULL.
	 */
	void (*on_canary)(void *context, uint64_t delay_ns);
	void *canary_context;
	/* Finds out which process stopped or changed a session. All sessions of the program share
	 * it, because one session reports the end of another. Borrowed until etw_source_close().
	 * NULL: this is not observed. */
	struct etw_session_changes *changes;
	/* Called on any thread of the source; calls on two threads may overlap. May be NULL. */
	void (*on_session_event)(void *context, enum etw_session_event event, const char *sentence);
	void *session_event_context;
	/*
	 * With on_memory of the sink: asked between two queries of volumes, on a thread of the
	 * source. The memory of processes is read if it returns true. NULL: it is not read.
	 */
	bool (*wants_memory)(void *context);
	void *memory_context;
	/*
	 * Called on the consumer thread after a callback of the session has faulted and Windows has
	 * caught the exception. Work of that thread is half done, and it may hold locks, so this
	 * function should end the process. If it returns, etw_source_run() fails. NULL: abort().
	 */
	void (*on_fault)(const char *reason);
	/* Times that tests change; 0 means the value after the colon. */
	uint32_t watch_ms;         /* between two checks of the session: 1000 */
	uint32_t retry_ms;         /* before the first restart; doubles up to 30 s: 250 */
	uint32_t stop_grace_ms;    /* for delivering the events that a stopped session still holds:
				      5000 */
	uint32_t harvest_ms;       /* how long a harvest session runs: 100 */
	uint32_t harvest_again_ms; /* between two harvests after losses; doubles while losses
				      continue, up to 1 h: 60000 */
	uint32_t anchor_ms;        /* between two anchors of the clock: 60000 */
	uint32_t snapshot_ms;      /* between two queries of volumes, disks and services: 10000 */
};

/*
 * Starts the session, so that missing rights are reported at once. A session of the same name is
 * assumed to be left by a crash; it is stopped and started again. If another program owns the NT
 * Kernel Logger, this is not an error; etw_source_run() then waits until it is free.
 */
struct etw_source *etw_source_open_live(const struct etw_live_options *options,
					struct etw_error *err);

/* Prepares a change of the providers of a running source: it finds the providers and makes their
 * filters, so that mistakes are reported before anything changes. Returns NULL on failure. Any
 * thread may call it, one at a time. */
struct etw_live_change *etw_live_change_new(struct etw_source *source,
					    const struct etw_live_options *options,
					    struct etw_error *err);
/* Disables providers that are no longer needed and enables those that are new or different. What
 * Windows refuses is reported as at the start of a session. If the session does not run at the
 * moment, the change applies when it starts. */
void etw_live_change_apply(struct etw_live_change *change);
void etw_live_change_free(struct etw_live_change *change); /* NULL is allowed */

/*
 * Stops the sessions of this process while it crashes. It takes no lock of this library and
 * allocates no memory. Providers are not disabled; they stay enabled for a session that no longer
 * exists, which costs nothing. Outside Windows it does nothing.
 */
void etw_live_emergency_stop(void);

struct etw_running_provider {
	struct etw_guid guid;
	uint8_t level;
	uint64_t any, all; /* keywords */
};

struct etw_running_session {
	char *name;            /* UTF-8; owned */
	char *file;            /* path of the file that it writes, "" if none; owned */
	uint32_t id;           /* logger id */
	uint32_t mode;         /* EVENT_TRACE_*_MODE */
	uint32_t kernel_flags; /* EVENT_TRACE_FLAG_*; 0: none */
	uint64_t buffer_size_bytes;
	uint32_t buffers_min, buffers_max;
	uint32_t buffers, buffers_free, buffers_written;
	uint32_t events_lost, log_buffers_lost, realtime_buffers_lost;
	struct etw_running_provider *providers; /* owned */
	size_t provider_count;
};

/* All sessions in the order in which Windows lists them, which is by id. */
struct etw_running_sessions {
	struct etw_running_session *list; /* owned */
	size_t count;
};

/* Queries Windows, which lists only sessions that the account may see. */
bool etw_running_read(struct etw_running_sessions *sessions, struct etw_error *err);
void etw_running_done(struct etw_running_sessions *sessions);

struct etw_registered_provider {
	struct etw_guid guid;
	char *name;    /* UTF-8; owned; "" if it has none */
	bool manifest; /* true: described by a manifest; false: by MOF */
};

/* Sorted by GUID. */
struct etw_registered_providers {
	struct etw_registered_provider *list; /* owned */
	size_t count;
};

/* Queries Windows. It is slow, because there are more than a thousand providers. */
bool etw_registered_read(struct etw_registered_providers *providers, struct etw_error *err);
void etw_registered_done(struct etw_registered_providers *providers);

/* Returns the name of a provider; NULL if it is not registered or has no name. */
const char *etw_registered_name(const struct etw_registered_providers *providers,
				const struct etw_guid *guid);

/* The bits of a logging mode (EVENT_TRACE_*_MODE) that have a name, by value. */
enum { ETW_LOGGING_MODE_COUNT = 17 };
extern const unsigned etw_logging_mode_bits[ETW_LOGGING_MODE_COUNT];
extern const char *const etw_logging_mode_names[ETW_LOGGING_MODE_COUNT];

/* Returns whether event tracing works here: on Windows, but not in Wine, where its functions end
 * the program. */
bool etw_here(struct etw_error *err);

#endif
