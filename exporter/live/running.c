/* SPDX-License-Identifier: MIT */
#include "live/running.h"

#include <stdlib.h>
#include <string.h>

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

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct guid)); /* of entries, their first member */
}

void registered_done(struct registered_providers *providers)
{
	for (size_t i = 0; i < providers->count; i++) {
		free(providers->list[i].name);
	}
	free(providers->list);
	*providers = (struct registered_providers){ .list = NULL };
}

const char *registered_name(const struct registered_providers *providers, const struct guid *guid)
{
	const struct registered_provider *found =
		providers->count > 0 ? bsearch(guid, providers->list, providers->count,
					       sizeof *providers->list, compare) :
				       NULL;

	return found && found->name[0] ? found->name : NULL;
}
