/* SPDX-License-Identifier: MIT */
/*
 * What Windows knows about event tracing on this machine: the trace sessions that run, whichever
 * program started them, with what they have enabled, and the providers that are registered.
 *
 * Sources: "QueryAllTracesW function", "EVENT_TRACE_PROPERTIES structure", "Logging Mode
 * Constants", "EnumerateTraceGuidsEx function", "TRACE_ENABLE_INFO structure",
 * "TdhEnumerateProviders function", Microsoft Learn.
 */
#ifndef LIB_LIVE_RUNNING_H
#define LIB_LIVE_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"

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
