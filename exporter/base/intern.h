/* SPDX-License-Identifier: MIT */
/*
 * Interned strings: each distinct text has one small id, and keeps it.
 *
 * Label values are compared and hashed as ids. Look-ups take no lock (the table is only ever added
 * to, and a grown table is published with release); adding takes a mutex. The texts and the tables
 * together are bounded by a budget: hostile input cannot make the program grow without end.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct intern; /* opaque; any thread */

#define INTERN_NONE UINT32_C(0) /* the empty text: every table has it from the start */
#define INTERN_FULL UINT32_MAX  /* not a text: the budget is spent, or memory is */

/*
 * A table whose texts may take budget_bytes in all: their bytes, and a fixed 80 or so for each that
 * its id and its place in the table cost. To be freed with intern_free().
 */
struct intern *intern_new(size_t budget_bytes, struct error *err);
void intern_free(struct intern *intern);

/*
 * The id of text, added when new. INTERN_FULL when the budget does not allow it (texts known before
 * are still found).
 */
uint32_t intern_add(struct intern *intern, const char *text, size_t size);

/* As intern_add(), for a string that ends in NUL. */
uint32_t intern_string(struct intern *intern, const char *string);

/*
 * The text of an id that intern_add() returned (not INTERN_FULL): NUL-terminated, unchanged until
 * intern_free(). size may be NULL. A thread that got the id from another one got it through a lock
 * or with acquire.
 */
const char *intern_text(const struct intern *intern, uint32_t id, size_t *size);

/* For health: texts held, the empty one included; calls refused when budget or memory was spent. */
size_t intern_count(const struct intern *intern);
uint64_t intern_refused(const struct intern *intern);

#endif
