/* SPDX-License-Identifier: MIT */
/*
 * Reports of Microsoft-Windows-Kernel-EventTracing, matched with what happened to our sessions.
 *
 * Each session has a few reports of each type (a session that is stopped loses all its providers at
 * once), and a new one replaces the oldest. It also has one question: the last change that we
 * noticed before its report came. A report answers only one question, and both expire, because a
 * change that is noticed a minute after a report has another cause. Ages count from the arrival of
 * the report, which does not depend on when we notice the change.
 *
 * The events are read here, by offset, since all versions so far begin in the same way: a GUID, for
 * events about sessions their mode in 32 bits, then the name of the session in UTF-16.
 */
#include "lib/live/session_changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/os.h"
#include "base/text.h"
#include "base/utf8.h"

enum {
	REPORTS = 8,
	REPORTERS = 2,        /* one for the other */
	NAME_MAX_BYTES = 112, /* bytes of a process name in a log line */
};

#define NS_PER_S UINT64_C(1000000000)

const struct etw_guid session_changes_provider =
	GUID_PARTS(0xb675ec37, 0xbdb6, 0x4648, 0xbc92, 0xf3fdc74d3ca2);

const uint16_t session_changes_ids[CHANGE_TYPES] = {
	[CHANGE_STOPPED] = 11,
	[CHANGE_SETTINGS] = 12,
	[CHANGE_DISABLED] = 15,
};

/* How long a report can explain a change that we notice later. The watcher looks at one provider
 * each second, so a provider that is disabled can take long to be noticed. */
static const struct {
	uint64_t kept_ns;
	const char *did;
} change_types[CHANGE_TYPES] = {
	[CHANGE_STOPPED] = { 10 * NS_PER_S, "stopped it" },
	[CHANGE_SETTINGS] = { 10 * NS_PER_S, "changed its settings" },
	[CHANGE_DISABLED] = { 120 * NS_PER_S, "disabled a provider in it" },
};

enum { QUESTION_S = 30 };

/* A type of change, and the disabled provider; the GUID is zero for other types. */
struct what {
	enum session_change type;
	struct etw_guid provider;
};

struct report {
	bool unused;
	struct etw_guid provider; /* as in struct what */
	uint64_t arrived_ns;
	char who[SESSION_CHANGES_WHO];
};

struct session_change_member {
	struct etw_session_changes *changes;
	struct session_change_member *next;
	char *name; /* owned */
	struct report reports[CHANGE_TYPES][REPORTS];
	size_t next_report[CHANGE_TYPES]; /* index (modulo REPORTS) to overwrite next */
	bool reports_changes;             /* its session has the provider enabled */
	bool asking;
	struct what question;
	uint64_t asking_since_ns;
};

struct etw_session_changes {
	struct os_mutex lock;
	struct session_change_member *members; /* owned; guarded by lock, as are their members */
};

struct etw_session_changes *etw_session_changes_new(struct etw_error *err)
{
	struct etw_session_changes *changes = calloc(1, sizeof *changes);

	if (!changes) {
		error_no_memory(err, "reports about sessions");
		return NULL;
	}
	os_mutex_init(&changes->lock);
	return changes;
}

void etw_session_changes_free(struct etw_session_changes *changes)
{
	if (changes) {
		os_mutex_done(&changes->lock);
		free(changes);
	}
}

struct session_change_member *session_changes_join(struct etw_session_changes *changes,
						   const char *name)
{
	struct session_change_member *member = changes ? calloc(1, sizeof *member) : NULL;

	if (!member) {
		return NULL;
	}
	member->name = text_duplicate(name, strlen(name));
	if (!member->name) {
		free(member);
		return NULL;
	}
	member->changes = changes;
	os_mutex_lock(&changes->lock);
	member->next = changes->members;
	changes->members = member;
	os_mutex_unlock(&changes->lock);
	return member;
}

void session_changes_leave(struct session_change_member *member)
{
	struct session_change_member **at;

	if (!member) {
		return;
	}
	os_mutex_lock(&member->changes->lock);
	for (at = &member->changes->members; *at != member; at = &(*at)->next) {
	}
	*at = member->next;
	os_mutex_unlock(&member->changes->lock);
	free(member->name);
	free(member);
}

bool session_changes_report(struct session_change_member *member)
{
	unsigned reporters = 0;
	bool reports;

	if (!member) {
		return false;
	}
	os_mutex_lock(&member->changes->lock);
	for (const struct session_change_member *other = member->changes->members; other;
	     other = other->next) {
		reporters += other->reports_changes;
	}
	member->reports_changes = member->reports_changes || reporters < REPORTERS;
	reports = member->reports_changes;
	os_mutex_unlock(&member->changes->lock);
	return reports;
}

bool session_changes_reports(struct session_change_member *member)
{
	bool reports;

	if (!member) {
		return false;
	}
	os_mutex_lock(&member->changes->lock);
	reports = member->reports_changes;
	os_mutex_unlock(&member->changes->lock);
	return reports;
}

/* ---- reports ---- */

/* Returns whether NUL-terminated UTF-16 is this name. Windows reports the name passed to
 * StartTraceW(). */
static bool is_name(struct cursor c, const char *name)
{
	size_t size = strlen(name);

	while (size > 0) {
		uint32_t codepoint, high;
		size_t taken = utf8_decode(name, size, &codepoint);

		if (codepoint >= 0x10000) {
			high = 0xd800 + ((codepoint - 0x10000) >> 10);
			codepoint = 0xdc00 + ((codepoint - 0x10000) & 0x3ff);
			if (cursor_u16(&c) != high) {
				return false;
			}
		}
		if (cursor_u16(&c) != codepoint || c.overrun) {
			return false;
		}
		name += taken;
		size -= taken;
	}
	return cursor_u16(&c) == 0 && !c.overrun;
}

/* Reads a report. Returns false if the record is about something else. *name points to the name of
 * the session. */
static bool read_report(const struct etw_record *record, struct what *what, struct cursor *name)
{
	const uint8_t *guid;

	if (record->classic || !etw_guid_equal(record->provider, &session_changes_provider)) {
		return false;
	}
	*what = (struct what){ .type = CHANGE_TYPES };
	for (unsigned i = 0; i < CHANGE_TYPES; i++) {
		if (record->id == session_changes_ids[i]) {
			what->type = i;
		}
	}
	*name = cursor_over(record->payload, record->payload_size);
	guid = cursor_take(name, sizeof what->provider);
	if (what->type == CHANGE_DISABLED && guid) {
		memcpy(&what->provider, guid, sizeof what->provider);
	} else {
		cursor_skip(name, 4); /* LoggerMode */
	}
	return what->type != CHANGE_TYPES && !name->overrun;
}

void session_changes_observe(struct etw_session_changes *changes, const struct etw_record *record,
			     uint32_t own_process_id, const char *process)
{
	struct session_change_member *member;
	struct report *report;
	struct cursor name;
	struct what what;

	if (!changes || !read_report(record, &what, &name) ||
	    record->process_id == own_process_id) {
		return;
	}
	os_mutex_lock(&changes->lock);
	for (member = changes->members; member; member = member->next) {
		if (!is_name(name, member->name)) {
			continue;
		}
		report = &member->reports[what.type][member->next_report[what.type]++ % REPORTS];
		*report = (struct report){ .unused = true,
					   .provider = what.provider,
					   .arrived_ns = os_monotonic_ns() };
		if (process) {
			snprintf(report->who, sizeof report->who, "%.*s (process id %u)",
				 NAME_MAX_BYTES, process, (unsigned)record->process_id);
		} else {
			snprintf(report->who, sizeof report->who, "process %u",
				 (unsigned)record->process_id);
		}
	}
	os_mutex_unlock(&changes->lock);
}

/* ---- answers ---- */

/* Takes the newest report about the change and drops older ones, which are about earlier changes.
 * The caller holds the lock. */
static bool take_report(struct session_change_member *member, const struct what *what,
			char who[SESSION_CHANGES_WHO])
{
	uint64_t now = os_monotonic_ns();
	struct report *newest = NULL;

	for (size_t i = 0; i < REPORTS; i++) {
		/* Start with the oldest report. */
		size_t at = (member->next_report[what->type] + i) % REPORTS;
		struct report *report = &member->reports[what->type][at];

		if (report->unused && etw_guid_equal(&report->provider, &what->provider)) {
			report->unused = false;
			if (now - report->arrived_ns < change_types[what->type].kept_ns) {
				newest = report;
			}
		}
	}
	if (newest) {
		memcpy(who, newest->who, sizeof newest->who);
	}
	return newest != NULL;
}

const char *session_changes_who(struct session_change_member *member, enum session_change type,
				const struct etw_guid *provider, char who[SESSION_CHANGES_WHO])
{
	struct what what = { .type = type };
	bool known = false;

	if (provider) {
		what.provider = *provider;
	}
	if (member) {
		os_mutex_lock(&member->changes->lock);
		known = take_report(member, &what, who);
		if (!known) {
			member->asking = true;
			member->question = what;
			member->asking_since_ns = os_monotonic_ns();
		}
		os_mutex_unlock(&member->changes->lock);
	}
	return known ? who : "another program";
}

bool session_changes_late(struct session_change_member *member,
			  char sentence[SESSION_CHANGES_SENTENCE])
{
	char who[SESSION_CHANGES_WHO];
	bool known = false;

	if (!member) {
		return false;
	}
	os_mutex_lock(&member->changes->lock);
	if (member->asking) {
		known = take_report(member, &member->question, who);
		if (known) {
			snprintf(sentence, SESSION_CHANGES_SENTENCE, "%s %s", who,
				 change_types[member->question.type].did);
		}
		if (known || os_monotonic_ns() - member->asking_since_ns > QUESTION_S * NS_PER_S) {
			member->asking = false;
		}
	}
	os_mutex_unlock(&member->changes->lock);
	return known;
}
