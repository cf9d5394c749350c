/* SPDX-License-Identifier: MIT */
/*
 * What live sessions ask of the exporter's own provider.
 */
#ifndef LIVE_CANARY_INTERNAL_WIN32_H
#define LIVE_CANARY_INTERNAL_WIN32_H

#include "live/canary.h"
#include "source/event_record.h"
#include "source/source.h"

extern const struct guid canary_provider;

/* Which canary it is. */
struct canary_mark {
	uint32_t slot;
	uint32_t epoch;  /* of its session; see canary_win32.c */
	uint64_t number; /* in its epoch, from 1 */
};

/*
 * Gives a session a slot. Source and name are borrowed until canary_leave(); the source's figures
 * are part of the state from now on. False when all slots are taken.
 */
bool canary_join(struct canary *canary, const struct source *source, const char *name,
		 uint32_t *slot);
void canary_leave(struct canary *canary, uint32_t slot);
uint64_t canary_keyword(uint32_t slot);

/* False when nobody asks for it, or Windows refuses. */
bool canary_write(struct canary *canary, const struct canary_mark *mark);

/* Whether a record is a canary that this process wrote. */
bool canary_recognise(const struct canary *canary, const struct event_record *record,
		      struct canary_mark *mark);

#endif
