/* SPDX-License-Identifier: MIT */
/*
 * Providers: names and GUIDs of the well-known ones, and what a session enables of one.
 */
#ifndef ETW_PROVIDER_H
#define ETW_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/types.h>

enum etw_known_provider {
	ETW_PROVIDER_ETW_EXPORTER,
	ETW_PROVIDER_DNS_CLIENT,
	ETW_PROVIDER_DOTNET_RUNTIME,
	ETW_PROVIDER_HTTP_SERVICE,
	ETW_PROVIDER_KERNEL_DISK,
	ETW_PROVIDER_KERNEL_FILE,
	ETW_PROVIDER_KERNEL_MEMORY,
	ETW_PROVIDER_KERNEL_NETWORK,
	ETW_PROVIDER_KERNEL_PROCESS,
	ETW_PROVIDER_KERNEL_REGISTRY,
	ETW_PROVIDER_TCPIP,
	ETW_KNOWN_PROVIDERS
};

/* Event ids of ETW_PROVIDER_KERNEL_PROCESS, as in its manifest. */
enum {
	ETW_PROCESS_EVENT_START = 1,
	ETW_PROCESS_EVENT_STOP = 2,
	ETW_PROCESS_EVENT_THREAD_START = 3,
	ETW_PROCESS_EVENT_THREAD_STOP = 4,
	ETW_PROCESS_EVENT_RUNDOWN = 15,
};

/* Event id of ETW_PROVIDER_KERNEL_MEMORY: the memory of all processes, MemInfoWS. */
enum { ETW_MEMORY_EVENT_PROCESSES = 2 };

/* Event ids of ETW_PROVIDER_KERNEL_FILE, the second source of file events (docs/windows.md section
 * 7). Versions 0 and 1 of an event differ in layout, not in meaning. */
enum {
	ETW_FILE_EVENT_NAME_CREATE = 10,
	ETW_FILE_EVENT_NAME_DELETE = 11,
	ETW_FILE_EVENT_CREATE = 12,
	ETW_FILE_EVENT_CLEANUP = 13,
	ETW_FILE_EVENT_CLOSE = 14,
	ETW_FILE_EVENT_READ = 15,
	ETW_FILE_EVENT_WRITE = 16,
	ETW_FILE_EVENT_SET_INFORMATION = 17,
	ETW_FILE_EVENT_SET_DELETE = 18,
	ETW_FILE_EVENT_RENAME = 19,
	ETW_FILE_EVENT_DIR_ENUM = 20,
	ETW_FILE_EVENT_FLUSH = 21,
	ETW_FILE_EVENT_QUERY_INFORMATION = 22,
	ETW_FILE_EVENT_FSCTL = 23,
	ETW_FILE_EVENT_OPERATION_END = 24,
	ETW_FILE_EVENT_DIR_NOTIFY = 25,
	ETW_FILE_EVENT_DELETE_PATH = 26,
	ETW_FILE_EVENT_CREATE_NEW_FILE = 30,
};

struct etw_known_provider_row {
	const char *name;
	struct etw_guid guid;
};

extern const struct etw_known_provider_row etw_known_providers[ETW_KNOWN_PROVIDERS];

/* Other well-known providers, in the order of the texts of their GUIDs. The build generates the
 * table from well_known_providers.txt. */
extern const struct etw_known_provider_row etw_well_known_providers[];
extern const size_t etw_well_known_provider_count;

static inline bool etw_provider_is(const struct etw_guid *guid, enum etw_known_provider provider)
{
	return etw_guid_equal(guid, &etw_known_providers[provider].guid);
}

/* Finds a GUID by name, without regard to case, as Windows does. Returns false if it is unknown. */
bool etw_provider_guid(const char *name, struct etw_guid *guid);

/* Returns the name of a provider; NULL if the GUID is unknown. The text is static. */
const char *etw_provider_name(const struct etw_guid *guid);

/* ---- payload filters ---- */

/* MAX_PAYLOAD_PREDICATES (tdh.h). */
enum { ETW_PAYLOAD_CONDITIONS_MAX = 8 };

/* The numbers of PAYLOAD_OPERATOR (tdh.h). Texts are compared without regard to case. */
enum etw_payload_operator {
	ETW_PAYLOAD_EQ = 0,
	ETW_PAYLOAD_NE = 1,
	ETW_PAYLOAD_LE = 2,
	ETW_PAYLOAD_GT = 3,
	ETW_PAYLOAD_LT = 4,
	ETW_PAYLOAD_GE = 5,
	ETW_PAYLOAD_BETWEEN = 6, /* both ends included */
	ETW_PAYLOAD_NOT_BETWEEN = 7,
	ETW_PAYLOAD_MODULO = 8,
	ETW_PAYLOAD_CONTAINS = 20,
	ETW_PAYLOAD_CONTAINS_NOT = 21,
	ETW_PAYLOAD_IS = 30,
	ETW_PAYLOAD_IS_NOT = 31,
};

struct etw_payload_condition {
	char *field; /* owned; the value as well */
	enum etw_payload_operator op;
	char *value; /* "7", "-7", "1,5" for a range, or a text */
};

/* The conditions for one event. Other events of the provider are not affected. */
struct etw_payload_filter {
	uint16_t event; /* event id; all versions of it */
	bool any;       /* one condition suffices; otherwise all must hold */
	struct etw_payload_condition conditions[ETW_PAYLOAD_CONDITIONS_MAX];
	size_t condition_count;
};

/* ---- providers ---- */

/* MAX_EVENT_FILTER_EVENT_ID_COUNT, MAX_EVENT_FILTER_PID_COUNT and MAX_EVENT_FILTER_DATA_SIZE
 * (evntprov.h). */
enum {
	ETW_PROVIDER_IDS_MAX = 64,
	ETW_PROVIDER_PROCESSES_MAX = 8,
	ETW_PROVIDER_ARGUMENTS_MAX = 1024, /* bytes */
	ETW_PROVIDER_EXECUTABLES_MAX =
		511, /* UTF-16 units, with semicolons, without the final NUL */
	ETW_PROVIDER_LEVEL_DEFAULT = 5,
};

/* Extended items that Windows adds to each event (EVENT_ENABLE_PROPERTY_*). */
enum etw_provider_property {
	ETW_PROVIDER_SID = 1U << 0,
	ETW_PROVIDER_SESSION_ID = 1U << 1,
	ETW_PROVIDER_STACK = 1U << 2,
	ETW_PROVIDER_PROCESS_START_KEY = 1U << 3,
	ETW_PROVIDER_NO_KEYWORD_0 = 1U << 4, /* drops events without a keyword */
	ETW_PROVIDER_CONTAINER_ID = 1U << 5,
};

struct etw_provider_spec {
	char *name;           /* owned; NULL: only the GUID is given */
	struct etw_guid guid; /* all zero: not resolved from the name yet */
	uint8_t level;        /* 0: all levels (assumed, docs/windows.md section 3) */
	uint64_t any; /* keywords, of which an event needs one; 0 (assumed as well) or all ones: all
			 events */
	uint64_t all;
	uint16_t ids[ETW_PROVIDER_IDS_MAX];
	size_t id_count; /* 0: every event */
	bool ids_out;    /* the events with these ids are excluded, not selected */
	/* Which events have a stack, with ETW_PROVIDER_STACK. */
	uint16_t stack_ids[ETW_PROVIDER_IDS_MAX];
	size_t stack_id_count; /* 0: every event */
	bool stack_ids_out;    /* as ids_out */
	uint32_t process_ids[ETW_PROVIDER_PROCESSES_MAX];
	size_t process_id_count;
	char *executables;   /* owned; "a.exe;b.exe"; NULL: all */
	uint32_t properties; /* enum etw_provider_property */
	/* Arguments for the provider, an EventSource of .NET: a name and a value, each in UTF-8
	 * with its NUL, then the next name. Owned; NULL: none. */
	char *arguments;
	size_t arguments_size; /* bytes, with all NULs */
	/* owned, with its members; at most one filter for each event id */
	struct etw_payload_filter *payload;
	size_t payload_count;
	/* Keywords with which the provider is asked to write its state
	 * (EVENT_CONTROL_CODE_CAPTURE_STATE); 0: it is not asked. */
	uint64_t capture_at_start;
	uint64_t capture_at_stop;
	uint64_t capture_every_ms; /* 0: not */
	/* How long to wait for the state, at least a second; 0: ten seconds at the stop, and one
	 * otherwise. */
	uint64_t capture_timeout_ms;
};

/* Sets the default: all events, and no provider yet. */
void etw_provider_spec_init(struct etw_provider_spec *spec);
void etw_provider_spec_done(struct etw_provider_spec *spec);

/*
 * Reads "Name|{guid}[:level[:ids[:any[:all]]]]"; ids are separated by commas, and a missing part
 * has its default. After a failure the caller must free *spec as well.
 */
bool etw_provider_spec_parse(struct etw_provider_spec *spec, const char *text,
			     struct etw_error *err);

/* Extends level and keywords so that the events that `other` selects are delivered as well. */
void etw_provider_spec_widen(struct etw_provider_spec *spec, const struct etw_provider_spec *other);

/* Sets the name, or the GUID if the text is one in braces. */
bool etw_provider_spec_name(struct etw_provider_spec *spec, const char *text, size_t size,
			    struct etw_error *err);

/* Adds an argument. Fails if the arguments together would have more than ETW_PROVIDER_ARGUMENTS_MAX
 * bytes, and without memory; *spec is then unchanged. */
bool etw_provider_spec_argument(struct etw_provider_spec *spec, const char *name, const char *value,
				struct etw_error *err);

/* Returns whether both have the same arguments in the same order. */
bool etw_provider_spec_same_arguments(const struct etw_provider_spec *a,
				      const struct etw_provider_spec *b);

/* Returns the name, or the GUID in braces. text: at least GUID_TEXT_SIZE + 2 bytes, which receive
 * the GUID. */
const char *etw_provider_spec_label(const struct etw_provider_spec *spec, char *text);

/* Returns whether the spec has no GUID yet. */
bool etw_provider_spec_nameless(const struct etw_provider_spec *spec);

#endif
