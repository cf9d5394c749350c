/* SPDX-License-Identifier: MIT */
#include "config/problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

unsigned problems_new_file(struct problems *problems)
{
	return problems->files++;
}

/* Returns a negative number, 0 or a positive one if a is before, at or after b. */
static int compare_places(const struct problem *a, const struct problem *b)
{
	if (a->file != b->file) {
		return a->file < b->file ? -1 : 1;
	}
	if (a->line != b->line) {
		return a->line < b->line ? -1 : 1;
	}
	return a->column == b->column ? 0 : a->column < b->column ? -1 : 1;
}

void problems_add(struct problems *problems, const struct problem *place, const char *sentence)
{
	size_t at = problems->count;
	struct problem *list;
	char *copy;

	while (at > 0 && compare_places(&problems->list[at - 1], place) >= 0) {
		if (compare_places(&problems->list[--at], place) == 0 &&
		    strcmp(problems->list[at].sentence, sentence) == 0) {
			return;
		}
	}
	while (at < problems->count && compare_places(&problems->list[at], place) == 0) {
		at++;
	}
	problems->errors += !place->warning;
	list = problems->count < PROBLEMS_KEPT ? array_grow(problems->list, &problems->capacity,
							    problems->count, sizeof *list) :
						 NULL;
	problems->list = list ? list : problems->list;
	copy = list ? text_duplicate(sentence, strlen(sentence)) : NULL;
	if (!copy) {
		problems->beyond++;
		return;
	}
	memmove(&list[at + 1], &list[at], (problems->count++ - at) * sizeof *list);
	list[at] = *place;
	list[at].sentence = copy;
}

void problems_add_file(struct problems *problems, const char *sentence, bool warning)
{
	const struct problem place = { .file = problems_new_file(problems), .warning = warning };

	problems_add(problems, &place, sentence);
}

bool problems_first_error(const struct problems *problems, struct etw_error *err)
{
	for (size_t i = 0; i < problems->count; i++) {
		if (!problems->list[i].warning) {
			return error_set(err, ETW_ERROR_CONFIG, "%s", problems->list[i].sentence);
		}
	}
	return false;
}

void problems_show(const struct problems *problems,
		   void (*show)(void *context, const char *sentence, bool warning), void *context)
{
	size_t shown = problems->count < PROBLEMS_SHOWN ? problems->count : PROBLEMS_SHOWN;
	size_t more = problems->count - shown + problems->beyond;
	char rest[64];

	for (size_t i = 0; i < shown; i++) {
		show(context, problems->list[i].sentence, problems->list[i].warning);
	}
	if (more > 0) {
		snprintf(rest, sizeof rest, "and %zu more", more);
		show(context, rest, problems->errors == 0);
	}
}

void problems_done(struct problems *problems)
{
	for (size_t i = 0; i < problems->count; i++) {
		free(problems->list[i].sentence);
	}
	free(problems->list);
	*problems = (struct problems){ .list = NULL };
}
