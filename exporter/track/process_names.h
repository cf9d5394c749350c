/* SPDX-License-Identifier: MIT */
/*
 * Names that processes get in place of those of their images, by rules of the configuration: one
 * w3wp for each application pool, one svchost for each service. A rule compares the image, the
 * image of the parent, the path and the command line; the first one that matches decides.
 *
 * Command lines have passwords, so a name has nothing of them but what the groups of a rule's
 * expression capture. The expressions of the ready-made lists capture one word without spaces.
 */
#ifndef TRACK_PROCESS_NAMES_H
#define TRACK_PROCESS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/regex.h"
#include "base/text.h"
#include "config/config.h"

struct process_names; /* opaque; immutable, so that all consumers share it */

enum { PROCESS_NAME_MOST = 128 }; /* most bytes of a name that a rule makes; longer ones are cut */

/* Returns the rules of the configuration. Errors about expressions are added to its problems; err
 * gets the first. Returns NULL after an error, or without memory. */
struct process_names *process_names_new(const struct config *config, struct etw_error *err);
void process_names_free(struct process_names *names);

/* What the rules compare. Texts are UTF-8 and end with a NUL; names of images have no ".exe". */
struct process_facts {
	const char *image;
	const char *path;
	const char *command_line;
	size_t command_line_size;
	/* Returns the image of the parent; "" if it is not known. Called only if a rule asks. */
	const char *(*parent)(void *context);
	void *context;
};

/* Adds the name that the first matching rule gives. Returns false and adds nothing if no rule
 * matches. names may be NULL: there are no rules. */
bool process_names_decide(const struct process_names *names, struct regex_matcher *matcher,
			  const struct process_facts *facts, struct etw_text *name);

/* Whether a rule is about processes of this image: it asks for the image, and for this one. */
bool process_names_ask_for(const struct process_names *names, const char *image);

#endif
