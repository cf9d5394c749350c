/* SPDX-License-Identifier: MIT */
/*
 * Interned strings: each distinct text has one small id, which never changes.
 *
 * Label values are compared and hashed as ids. A look-up takes no lock; adding a new text takes a
 * mutex. A budget bounds the memory of texts and tables, so that hostile input cannot use all
 * memory. Any thread may call all functions, except intern_free().
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct intern; /* opaque; for any thread */

#define INTERN_NONE UINT32_C(0) /* the empty text, which every table contains */
#define INTERN_FULL UINT32_MAX  /* not a text: the budget or the memory is used up */

/*
 * Makes a table that may use budget_bytes in total. Each text costs its bytes and about 80 more for
 * its id and its entry in the table. Free it with intern_free().
 */
struct intern *intern_new(size_t budget_bytes, struct etw_error *err);
void intern_free(struct intern *intern);

/*
 * Returns the id of a text, which is added if it is new; INTERN_FULL if the budget does not allow a
 * new text. Known texts are still found then.
 */
uint32_t intern_add(struct intern *intern, const char *text, size_t size);

/* Like intern_add(), for a string that ends in NUL. */
uint32_t intern_string(struct intern *intern, const char *string);

/*
 * As intern_string(), for a text of the program or its configuration. The budget does not apply,
 * because events do not decide how many of these texts there are. Returns INTERN_FULL only when
 * memory runs out.
 */
uint32_t intern_own(struct intern *intern, const char *string);

/*
 * Returns the text of an id that intern_add() returned (not INTERN_FULL). It ends with a NUL and
 * does not change until intern_free(). size may be NULL. If another thread called intern_add(), the
 * id must come from it through a lock or with release and acquire.
 */
const char *intern_text(const struct intern *intern, uint32_t id, size_t *size);

/*
 * A number that users of the table may store with a text; INT64_MIN at first. If several threads
 * set it at once, the last one wins.
 */
int64_t intern_note(const struct intern *intern, uint32_t id);
void intern_set_note(struct intern *intern, uint32_t id, int64_t note);

size_t intern_spent(const struct intern *intern); /* bytes of the budget that are used */

/* Return the number of texts (the empty one included), and the number of texts that were refused,
 * for health metrics. */
size_t intern_count(const struct intern *intern);
uint64_t intern_refused(const struct intern *intern);
/* Counts a text as refused that the caller did not even pass to intern_add(). */
void intern_refuse(struct intern *intern);

#endif
