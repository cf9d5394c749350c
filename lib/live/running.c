/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include <etw/session.h>

const unsigned etw_logging_mode_bits[ETW_LOGGING_MODE_COUNT] = {
	0x00000001, 0x00000002, 0x00000004, 0x00000008, 0x00000010, 0x00000040,
	0x00000080, 0x00000100, 0x00000400, 0x00000800, 0x00020000, 0x00400000,
	0x00800000, 0x02000000, 0x04000000, 0x08000000, 0x10000000,
};

const char *const etw_logging_mode_names[ETW_LOGGING_MODE_COUNT] = {
	"sequential",
	"circular",
	"append",
	"new_file",
	"ms_flush_timer",
	"nonstoppable",
	"secure",
	"real_time",
	"buffering",
	"private",
	"private_in_process",
	"stop_on_hybrid_shutdown",
	"persist_on_hybrid_shutdown",
	"system_logger",
	"compressed",
	"independent",
	"no_per_processor_buffers",
};

void etw_running_done(struct etw_running_sessions *sessions)
{
	for (size_t i = 0; i < sessions->count; i++) {
		free(sessions->list[i].name);
		free(sessions->list[i].file);
		free(sessions->list[i].providers);
	}
	free(sessions->list);
	*sessions = (struct etw_running_sessions){ .list = NULL };
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct etw_guid)); /* the GUID is the first member of entries */
}

void etw_registered_done(struct etw_registered_providers *providers)
{
	for (size_t i = 0; i < providers->count; i++) {
		free(providers->list[i].name);
	}
	free(providers->list);
	*providers = (struct etw_registered_providers){ .list = NULL };
}

const char *etw_registered_name(const struct etw_registered_providers *providers,
				const struct etw_guid *guid)
{
	const struct etw_registered_provider *found =
		providers->count > 0 ? bsearch(guid, providers->list, providers->count,
					       sizeof *providers->list, compare) :
				       NULL;

	return found && found->name[0] ? found->name : NULL;
}
