/* SPDX-License-Identifier: MIT */
#include "live/running.h"

#include <stdlib.h>

void running_done(struct running_sessions *sessions)
{
	for (size_t i = 0; i < sessions->count; i++) {
		free(sessions->list[i].name);
		free(sessions->list[i].file);
		free(sessions->list[i].providers);
	}
	free(sessions->list);
	*sessions = (struct running_sessions){ .list = NULL };
}
