/* SPDX-License-Identifier: MIT */
/*
 * Finds out which process stopped or changed one of our sessions, as far as Windows reports it.
 *
 * The provider Microsoft-Windows-Kernel-EventTracing reports what is done to sessions; the process
 * in the header of such an event is the one that did it. Two of our sessions enable the provider,
 * because a session that is stopped cannot report its own stop; the other one can. No more do,
 * because Windows lets eight sessions of all programs enable a provider. With only one session, the
 * process that stopped it often stays unknown.
 *
 * The report may come before we notice the change, or later, up to a flush interval of the other
 * session. So reports are kept for some seconds, and so are questions that had no answer yet.
 *
 * Any process may write under the GUID of the provider; the process in the header is always the
 * real one. A forged report can only put its own writer's name into a line of the log, and only
 * where a session was in fact stopped or changed.
 *
 * Source: manifest of the provider (repnz/etw-providers-docs,
 * Manifests-Win10-18990/Microsoft-Windows-Kernel-EventTracing.xml); measured by others on build
 * 26200: jakefrenzel/atlas-edr. All functions: any thread.
 */
#ifndef LIB_LIVE_SESSION_CHANGES_H
#define LIB_LIVE_SESSION_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/session.h>

#include "base/error.h"
#include "lib/source/event_record.h"

extern const struct etw_guid session_changes_provider;

enum {
	SESSION_CHANGES_LEVEL = 5,
	SESSION_CHANGES_KEYWORDS = 0x10 | 0x400, /* keywords: sessions; enabling of providers */
	SESSION_CHANGES_WHO = 144,               /* bytes of a text that names a process */
	SESSION_CHANGES_SENTENCE = 192,          /* bytes of a sentence about it */
};

enum session_change {
	CHANGE_STOPPED,
	CHANGE_SETTINGS, /* flags, modes */
	CHANGE_DISABLED, /* a provider is no longer enabled */
	CHANGE_TYPES
};

/* The event ids of these changes: only these events are enabled. */
extern const uint16_t session_changes_ids[CHANGE_TYPES];

struct etw_session_changes; /* opaque; for all sessions of this process */
struct session_change_member;

/* Registers a session of this name (UTF-8, copied). Free the result with session_changes_leave().
 * Returns NULL if changes is NULL or there is no memory; the functions below accept NULL and find
 * no reports then. */
struct session_change_member *session_changes_join(struct etw_session_changes *changes,
						   const char *name);
void session_changes_leave(struct session_change_member *member);

/* Returns whether the session shall report changes: it does already, or fewer than two others do.
 * From then on it does, until it leaves. */
bool session_changes_report(struct session_change_member *member);
/* Returns whether it does. */
bool session_changes_reports(struct session_change_member *member);

/*
 * Keeps a report about one of our sessions. Records of other providers, about other sessions, and
 * about changes by this process itself are ignored. process: name of the process in the header, or
 * NULL if it is not known.
 */
void session_changes_observe(struct etw_session_changes *changes, const struct etw_record *record,
			     uint32_t own_process_id, const char *process);

/*
 * Returns which process just made a change of this type, such as "logman (process id 1234)"; the
 * text is in `who`. provider: the one that was disabled, else NULL. If no report has come, the text
 * is "another program", and session_changes_late() returns the report when it comes.
 */
const char *session_changes_who(struct session_change_member *member, enum session_change type,
				const struct etw_guid *provider, char who[SESSION_CHANGES_WHO]);

/* Writes a sentence about a change whose report came late: "logman (process id 1234) stopped it".
 * Returns false if there is none. */
bool session_changes_late(struct session_change_member *member,
			  char sentence[SESSION_CHANGES_SENTENCE]);

#endif
