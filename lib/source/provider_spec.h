/* SPDX-License-Identifier: MIT */
/*
 * A provider to enable in a session, as in the configuration and in the `needs` of collectors:
 * which provider, and which of its events.
 */
#ifndef LIB_SOURCE_PROVIDER_SPEC_H
#define LIB_SOURCE_PROVIDER_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/guid.h"

/* ---- payload filters ---- */

/* Conditions on the payload of an event, which Windows checks before it writes the event. */

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
	char *field; /* owned, as is the value */
	enum etw_payload_operator op;
	char *value; /* "7", "-7", "1,5" for a range, or a text */
};

/* The conditions for one event. Other events of the provider are not affected. */
struct etw_payload_filter {
	uint16_t event; /* its id; all versions */
	bool any;       /* one condition suffices; otherwise all must hold */
	struct etw_payload_condition conditions[ETW_PAYLOAD_CONDITIONS_MAX];
	size_t condition_count;
};

void payload_filter_done(struct etw_payload_filter *filter);

/* After a failure (no memory) the caller must free *to as well. */
bool payload_filter_copy(struct etw_payload_filter *to, const struct etw_payload_filter *from);

/* ---- providers ---- */

/* MAX_EVENT_FILTER_EVENT_ID_COUNT, MAX_EVENT_FILTER_PID_COUNT and MAX_EVENT_FILTER_DATA_SIZE
 * (evntprov.h). */
enum {
	ETW_PROVIDER_IDS_MAX = 64,
	ETW_PROVIDER_PROCESSES_MAX = 8,
	ETW_PROVIDER_EXECUTABLES_MAX =
		511, /* units of UTF-16, semicolons included; a NUL follows */
	ETW_PROVIDER_LEVEL_DEFAULT = 5,
};

/* Extended items that Windows adds to each event (EVENT_ENABLE_PROPERTY_*). */
enum etw_provider_property {
	ETW_PROVIDER_SID = 1U << 0,
	ETW_PROVIDER_SESSION_ID = 1U << 1,
	ETW_PROVIDER_STACK = 1U << 2,
	ETW_PROVIDER_PROCESS_START_KEY = 1U << 3,
	ETW_PROVIDER_NO_KEYWORD_0 = 1U << 4, /* leaves out events without keyword */
};

struct etw_provider_spec {
	char *name;           /* owned; NULL: by GUID alone */
	struct etw_guid guid; /* all zero: not resolved from the name yet */
	uint8_t level;        /* 0: all levels (assumed, docs/windows.md section 3) */
	uint64_t any;         /* keywords; 0 (likewise assumed) or all ones: all events */
	uint64_t all;
	uint16_t ids[ETW_PROVIDER_IDS_MAX];
	size_t id_count; /* 0: every event */
	bool ids_out;    /* the ids are excluded instead of included */
	uint32_t process_ids[ETW_PROVIDER_PROCESSES_MAX];
	size_t process_id_count;
	char *executables;                  /* owned; "a.exe;b.exe"; NULL: all */
	uint32_t properties;                /* enum etw_provider_property */
	struct etw_payload_filter *payload; /* owned, with its members; one filter for each event */
	size_t payload_count;
	/* Keywords for capturing state; 0: no capture. */
	uint64_t capture_at_start;
	uint64_t capture_at_stop;
	uint64_t capture_every_ms; /* 0: not */
};

/* All events, and no provider yet. */
void etw_provider_spec_init(struct etw_provider_spec *spec);
void etw_provider_spec_done(struct etw_provider_spec *spec);

/*
 * Reads "Name|{guid}[:level[:ids[:any[:all]]]]"; ids are separated by commas, and a missing part
 * has its default. After a failure the caller must free *spec as well.
 */
bool etw_provider_spec_parse(struct etw_provider_spec *spec, const char *text,
			     struct etw_error *err);

/* Extends level and keywords so that the events of the other pass, too. */
void etw_provider_spec_widen(struct etw_provider_spec *spec, const struct etw_provider_spec *other);

/* Sets the name, or the GUID if the text is one in braces. */
bool etw_provider_spec_name(struct etw_provider_spec *spec, const char *text, size_t size,
			    struct etw_error *err);

/* After a failure (no memory) the caller must free *to as well. */
bool provider_spec_copy(struct etw_provider_spec *to, const struct etw_provider_spec *from);

/* Whether both request the same events of the same provider. GUIDs are compared, not names. */
bool provider_spec_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b);

/* The name, or the GUID in braces. text: at least GUID_TEXT_SIZE + 2 bytes, for the GUID. */
const char *etw_provider_spec_label(const struct etw_provider_spec *spec, char *text);

/* Whether the spec has no GUID yet. */
bool etw_provider_spec_nameless(const struct etw_provider_spec *spec);

#endif
