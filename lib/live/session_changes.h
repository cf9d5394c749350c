/* SPDX-License-Identifier: MIT */
/*
 * Which process stopped or changed a session of ours, as far as Windows reports it.
 *
 * The provider Microsoft-Windows-Kernel-EventTracing reports what is done to sessions; the process
 * in the header of such an event is the one that did it. Each of our sessions enables the provider,
 * because a session that is stopped cannot report its own stop: another one of ours does. With one
 * session alone a stop often stays unexplained, and then nothing is said about it.
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
	SESSION_CHANGES_KEYWORDS = 0x10 | 0x400, /* sessions; enabling of providers */
	SESSION_CHANGES_WHO = 144,               /* bytes: a process */
	SESSION_CHANGES_SENTENCE = 192,          /* bytes: a process and what it did */
};

enum session_change {
	CHANGE_STOPPED,
	CHANGE_SETTINGS, /* flags, modes */
	CHANGE_DISABLED, /* a provider is no longer enabled */
	CHANGE_TYPES
};

/* The ids of their events, to enable no other. */
extern const uint16_t session_changes_ids[CHANGE_TYPES];

struct etw_session_changes; /* opaque: of all sessions of this process */
struct session_change_member;

/* The reports about a session of that name (UTF-8, copied). NULL: changes is NULL, or no memory;
 * the functions below take it and know nothing then. */
struct session_change_member *session_changes_join(struct etw_session_changes *changes,
						   const char *name);
void session_changes_leave(struct session_change_member *member);

/*
 * Keeps what a record reports about one of our sessions. Records of other providers, about other
 * sessions, and about what this process did itself are left alone. process: name of the process in
 * the header, NULL: not known.
 */
void session_changes_observe(struct etw_session_changes *changes, const struct etw_record *record,
			     uint32_t own_process_id, const char *process);

/*
 * Which process just made a change of this type; provider: which one was disabled, else NULL. The
 * answer, such as "logman (process id 1234)", goes into who. If no report has come it is "another
 * program", and session_changes_late() gets it when it comes.
 */
const char *session_changes_who(struct session_change_member *member, enum session_change type,
				const struct etw_guid *provider, char who[SESSION_CHANGES_WHO]);

/* A sentence about a change whose answer came late: "logman (process id 1234) stopped it". False:
 * there is none. */
bool session_changes_late(struct session_change_member *member,
			  char sentence[SESSION_CHANGES_SENTENCE]);

#endif
