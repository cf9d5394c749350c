/* SPDX-License-Identifier: MIT */
/*
 * Running sessions and registered providers as people and programs read them.
 */
#ifndef TOOL_SESSION_ROWS_H
#define TOOL_SESSION_ROWS_H

#include "base/text.h"
#include "live/running.h"

/* names: of providers; those that it lacks show their GUID. */
void session_rows_text(struct text *out, const struct running_sessions *sessions,
		       const struct registered_providers *names);
void session_rows_json(struct text *out, const struct running_sessions *sessions,
		       const struct registered_providers *names);

/* Those whose name or GUID has the word in it, whatever the case, by name; word NULL: all. */
void installed_rows_text(struct text *out, struct registered_providers *providers,
			 const char *word);
void installed_rows_json(struct text *out, struct registered_providers *providers,
			 const char *word);

#endif
