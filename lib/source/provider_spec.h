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
enum { PAYLOAD_CONDITIONS_MAX = 8 };

/* The numbers of PAYLOAD_OPERATOR (tdh.h). Texts are compared without regard to case. */
enum payload_operator {
	PAYLOAD_EQ = 0,
	PAYLOAD_NE = 1,
	PAYLOAD_LE = 2,
	PAYLOAD_GT = 3,
	PAYLOAD_LT = 4,
	PAYLOAD_GE = 5,
	PAYLOAD_BETWEEN = 6, /* both ends included */
	PAYLOAD_NOT_BETWEEN = 7,
	PAYLOAD_MODULO = 8,
	PAYLOAD_CONTAINS = 20,
	PAYLOAD_CONTAINS_NOT = 21,
	PAYLOAD_IS = 30,
	PAYLOAD_IS_NOT = 31,
};

struct payload_condition {
	char *field; /* owned, as is the value */
	enum payload_operator op;
	char *value; /* "7", "-7", "1,5" for a range, or a text */
};

/* The conditions for one event. Other events of the provider are not affected. */
struct payload_filter {
	uint16_t event; /* its id; all versions */
	bool any;       /* one condition suffices; otherwise all must hold */
	struct payload_condition conditions[PAYLOAD_CONDITIONS_MAX];
	size_t condition_count;
};

void payload_filter_done(struct payload_filter *filter);

/* After a failure (no memory) the caller must free *to as well. */
bool payload_filter_copy(struct payload_filter *to, const struct payload_filter *from);

/* ---- providers ---- */

/* MAX_EVENT_FILTER_EVENT_ID_COUNT, MAX_EVENT_FILTER_PID_COUNT and MAX_EVENT_FILTER_DATA_SIZE
 * (evntprov.h). */
enum {
	PROVIDER_IDS_MAX = 64,
	PROVIDER_PROCESSES_MAX = 8,
	PROVIDER_EXECUTABLES_MAX = 511, /* units of UTF-16, semicolons included; a NUL follows */
	PROVIDER_LEVEL_DEFAULT = 5,
};

/* Extended items that Windows adds to each event (EVENT_ENABLE_PROPERTY_*). */
enum provider_property {
	PROVIDER_SID = 1U << 0,
	PROVIDER_SESSION_ID = 1U << 1,
	PROVIDER_STACK = 1U << 2,
	PROVIDER_PROCESS_START_KEY = 1U << 3,
	PROVIDER_NO_KEYWORD_0 = 1U << 4, /* leaves out events without keyword */
};

struct provider_spec {
	char *name;       /* owned; NULL: by GUID alone */
	struct guid guid; /* all zero: not resolved from the name yet */
	uint8_t level;    /* 0: all levels (assumed, docs/windows.md section 3) */
	uint64_t any;     /* keywords; 0 (likewise assumed) or all ones: all events */
	uint64_t all;
	uint16_t ids[PROVIDER_IDS_MAX];
	size_t id_count; /* 0: every event */
	bool ids_out;    /* the ids are excluded instead of included */
	uint32_t process_ids[PROVIDER_PROCESSES_MAX];
	size_t process_id_count;
	char *executables;              /* owned; "a.exe;b.exe"; NULL: all */
	uint32_t properties;            /* enum provider_property */
	struct payload_filter *payload; /* owned, with its members; one filter for each event */
	size_t payload_count;
	/* Keywords for capturing state; 0: no capture. */
	uint64_t capture_at_start;
	uint64_t capture_at_stop;
	uint64_t capture_every_ms; /* 0: not */
};

/* All events, and no provider yet. */
void provider_spec_init(struct provider_spec *spec);
void provider_spec_done(struct provider_spec *spec);

/*
 * Reads "Name|{guid}[:level[:ids[:any[:all]]]]"; ids are separated by commas, and a missing part
 * has its default. After a failure the caller must free *spec as well.
 */
bool provider_spec_parse(struct provider_spec *spec, const char *text, struct error *err);

/* Extends level and keywords so that the events of the other pass, too. */
void provider_spec_widen(struct provider_spec *spec, const struct provider_spec *other);

/* Sets the name, or the GUID if the text is one in braces. */
bool provider_spec_name(struct provider_spec *spec, const char *text, size_t size,
			struct error *err);

/* After a failure (no memory) the caller must free *to as well. */
bool provider_spec_copy(struct provider_spec *to, const struct provider_spec *from);

/* Whether both request the same events of the same provider. GUIDs are compared, not names. */
bool provider_spec_equal(const struct provider_spec *a, const struct provider_spec *b);

/* The name, or the GUID in braces. text: at least GUID_TEXT_SIZE + 2 bytes, for the GUID. */
const char *provider_spec_label(const struct provider_spec *spec, char *text);

/* Whether the spec has no GUID yet. */
bool provider_spec_nameless(const struct provider_spec *spec);

#endif
