/* SPDX-License-Identifier: MIT */
/*
 * The spellings of process names. Only one consumer uses it, so it has no lock.
 *
 * Source: docs/metrics.md ("process").
 */
#ifndef TRACK_NAMES_H
#define TRACK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/regex.h"
#include "base/text.h"
#include "config/config.h"
#include "metrics/registry.h"

/*
 * Names of processes as label values, with one spelling for each name: "Svchost.EXE" and
 * "svchost.exe" are one process name. Several trackers may use it one after another, so that passes
 * or recordings count into the same series. The number of remembered names is bounded; when it is
 * reached, all are forgotten, and a name may get another spelling.
 *
 * Names that rules give (process_names_decide() below) are counted by themselves: command lines
 * decide how many there are, so a limit of its own keeps the number of series small.
 */
struct names; /* opaque */

/* registry: borrowed. most: the most names that are remembered. lower_case: labels are in lower
 * case. */
struct names *names_new(struct registry *registry, size_t most, bool lower_case,
			struct etw_error *err);
void names_free(struct names *names);
void names_set_limit(struct names *names,
		     size_t most); /* takes effect when the next new name is added */

/*
 * Returns the label id of an image name (UTF-8, as in the event): the name without a trailing
 * ".exe" in any case. INTERN_NONE for an empty name; "_unknown" if the name is only ".exe".
 */
uint32_t names_label(struct names *names, const char *image, size_t size);

/*
 * Returns the label id of an image name that may be cut at 14 characters, as in the stop events of
 * Microsoft-Windows-Kernel-Process (docs/etl-format.md section 17, 17b): the label of the only
 * known name that begins so. A name that ends within ".exe" lacks only the rest of that, unless a
 * longer name is known. INTERN_NONE if several known names begin so, or none does; but if none does
 * and all_known is set, the name is used as it is.
 */
uint32_t names_complete(struct names *names, const char *image, size_t size, bool all_known);

/* Returns whether the image name (UTF-8) in a stop event may lack its end. */
bool names_may_be_cut(const char *image, size_t size);

/* Returns whether a cut name can be the beginning of a whole image name. Only ASCII is compared,
 * because the cut name is in an unknown code page. */
bool names_is_beginning(const char *whole, size_t whole_size, const char *image, size_t size);

/* Returns the text of a label that is the name of a program; NULL if it is `_unknown` or the
 * like. */
const char *names_text(const struct names *names, uint32_t label);

/*
 * Returns the label id of a name that a rule gives. If the limit of given names is reached and this
 * one is new, it is counted as refused, and the function returns `otherwise`.
 */
uint32_t names_given_label(struct names *names, const char *name, size_t size, uint32_t otherwise);

void names_set_given_limit(struct names *names, size_t most);
/* Forgets which names were given: the rules have changed. */
void names_forget_given(struct names *names);

uint64_t names_refused(const struct names *names); /* names that the limit refused, for health */

/* ---- names that rules give ---- */

/*
 * Names that processes get in place of those of their images, by rules of the configuration: one
 * w3wp for each application pool, one svchost for each service. A rule compares the image, the
 * image of the parent, the path and the command line; the first one that matches decides.
 *
 * Command lines have passwords, so a name has nothing of them but what the groups of a rule's
 * expression capture. The expressions of the ready-made lists capture one word without spaces.
 */

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

/* Returns whether a rule is about processes of this image: it asks for the image, and for this one.
 */
bool process_names_ask_for(const struct process_names *names, const char *image);

#endif
