/* SPDX-License-Identifier: MIT */
/*
 * Queries TDH for all events of a provider, one by one.
 *
 * TDH lists the events of a manifest by their descriptors, and describes each as it describes an
 * event that was logged, in a TRACE_EVENT_INFO. Value maps are queried by name and belong to the
 * provider, so each is queried once. The keywords of a provider are a list of names and bits; an
 * event has only the bits.
 *
 * Manifests are resources of programs that may be damaged, so every size and offset in an answer is
 * checked, and a fault inside TDH does not end the process (os_set_faults_fatal()).
 */

#include <stdlib.h>
#include <string.h>

#include <etw/describe.h>
#include <etw/manifest.h>

#include "base/array.h"
#include "base/map.h"
#include "base/os.h"
#include "base/text.h"
#include "lib/decode/event_info.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/decode/schema.h"
#include "lib/source/etw_sdk_win32.h"

enum {
	TRIES = 4, /* the needed size may grow between two calls */
	ANSWER_FIRST = 4096,
	ANSWER_SIZE_MOST = 4 << 20,
	MAPS_MOST = 1 << 14,
};

/* A query of TDH and its answer; the buffer of the answer is reused. */
struct question {
	ULONG (*ask)(struct question *question, void *answer, ULONG *size);
	GUID provider;
	EVENT_DESCRIPTOR descriptor;
	WCHAR *map;   /* its name */
	void *answer; /* owned */
	ULONG room;
};

struct maps {
	struct question question;
	struct map known;            /* hash of a name -> index + 1; 0: there is none */
	struct etw_value_map **list; /* owned, as are they */
	size_t count, capacity;
};

static ULONG ask_events(struct question *question, void *answer, ULONG *size)
{
	return TdhEnumerateManifestProviderEvents(&question->provider, answer, size);
}

static ULONG ask_keywords(struct question *question, void *answer, ULONG *size)
{
	return TdhEnumerateProviderFieldInformation(&question->provider, EventKeywordInformation,
						    answer, size);
}

static ULONG ask_event(struct question *question, void *answer, ULONG *size)
{
	return TdhGetManifestEventInformation(&question->provider, &question->descriptor, answer,
					      size);
}

static ULONG ask_map(struct question *question, void *answer, ULONG *size)
{
	EVENT_RECORD record = { .EventHeader = { .Size = sizeof record.EventHeader,
						 .Flags = EVENT_HEADER_FLAG_64_BIT_HEADER,
						 .ProviderId = question->provider,
						 .EventDescriptor = question->descriptor } };

	return TdhGetEventMapInformation(&record, question->map, answer, size);
}

/* Queries TDH and puts the answer into question->answer. Returns its size in bytes; 0 on failure,
 * and *status says why. */
static ULONG answer(struct question *question, ULONG *status)
{
	ULONG size = question->room > 0 ? question->room : ANSWER_FIRST;
	bool fatal = os_set_faults_fatal(false);

	*status = ERROR_INSUFFICIENT_BUFFER;
	for (unsigned i = 0; i < TRIES && *status == ERROR_INSUFFICIENT_BUFFER; i++) {
		if (size > question->room) {
			void *larger = size <= ANSWER_SIZE_MOST ? realloc(question->answer, size) :
								  NULL;

			if (!larger) {
				*status = ERROR_NOT_ENOUGH_MEMORY;
				break;
			}
			question->answer = larger;
			question->room = size;
		}
		size = question->room;
		*status = question->ask(question, question->answer, &size);
	}
	os_set_faults_fatal(fatal);
	if (*status != ERROR_SUCCESS) {
		return 0;
	}
	return size < question->room ? size : question->room;
}

/* ---- maps ---- */

static struct etw_value_map *make_map(struct question *question, const struct etw_guid *provider,
				      const struct etw_event_info *info, uint32_t name)
{
	struct etw_event_map map;
	ULONG status, size;

	/* TDH does not change the text, although the parameter is not const. */
	question->map = (WCHAR *)(uintptr_t)(info->bytes + name);
	size = answer(question, &status);
	if (size == 0 || !etw_event_map_view(provider, question->answer, size, &map)) {
		return NULL;
	}
	return etw_event_map_make(&map);
}

static const struct etw_value_map *find_map(void *context, const struct etw_event_info *info,
					    uint32_t name)
{
	struct maps *maps = context;
	struct etw_value_map **grown;
	struct etw_text text = { 0 };
	uint64_t *known = NULL;
	bool added = false;

	if (event_info_string_ends(info->bytes, info->size, name) &&
	    etw_event_info_string(info->bytes, info->size, name, &text) && text.size > 0) {
		known = map_put(&maps->known, text_hash(text.data, text.size, hash_seed()), &added);
	}
	text_free(&text);
	if (known && added && maps->count < MAPS_MOST) {
		grown = array_grow(maps->list, &maps->capacity, maps->count,
				   sizeof(struct etw_value_map *));
		maps->list = grown ? grown : maps->list;
		if (grown) {
			grown[maps->count] = make_map(&maps->question, &info->provider, info, name);
			*known = grown[maps->count] ? ++maps->count : 0;
		}
	}
	return known && *known != 0 ? maps->list[*known - 1] : NULL;
}

static void free_maps(struct maps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		free(maps->list[i]);
	}
	free(maps->list);
	free(maps->question.answer);
	map_done(&maps->known);
}

/* ---- keywords and events ---- */

static void add_keywords(struct etw_manifest_writer *writer, struct question *question)
{
	size_t header = offsetof(PROVIDER_FIELD_INFOARRAY, FieldInfoArray);
	const PROVIDER_FIELD_INFOARRAY *list;
	ULONG status, size;

	question->ask = ask_keywords;
	size = answer(question, &status);
	list = question->answer;
	if (size < header ||
	    list->NumberOfElements > (size - header) / sizeof list->FieldInfoArray[0]) {
		return;
	}
	for (ULONG i = 0; i < list->NumberOfElements; i++) {
		const PROVIDER_FIELD_INFO *keyword = &list->FieldInfoArray[i];
		struct etw_text name = { 0 };

		if (etw_event_info_string(question->answer, size, keyword->NameOffset, &name) &&
		    !name.failed && name.size > 0) {
			manifest_writer_keyword(writer, name.data, keyword->Value);
		}
		text_free(&name);
	}
}

static void add_event(struct etw_manifest_writer *writer, struct question *question,
		      struct maps *maps, const EVENT_DESCRIPTOR *descriptor, size_t *undescribed)
{
	struct etw_event_info info;
	ULONG status, size;

	question->ask = ask_event;
	question->descriptor = *descriptor;
	maps->question.descriptor = *descriptor;
	size = answer(question, &status);
	if (size == 0 || !etw_event_info_view(question->answer, size, &info)) {
		(*undescribed)++;
		return;
	}
	/* Id and version are those of the list, even if the description differs. */
	info.id = descriptor->Id;
	info.version = descriptor->Version;
	info.level = descriptor->Level;
	info.opcode = descriptor->Opcode;
	info.task = descriptor->Task;
	info.keywords = descriptor->Keyword;
	*undescribed += !etw_manifest_writer_info(writer, &info, find_map, maps);
}

/* Returns whether there is no manifest: the program that should contain it is missing or has
 * none. */
static bool is_none(ULONG status)
{
	return status == ERROR_NOT_FOUND || status == ERROR_FILE_NOT_FOUND ||
	       status == ERROR_PATH_NOT_FOUND || status == ERROR_RESOURCE_TYPE_NOT_FOUND;
}

static enum etw_tdh_events refused(ULONG status, struct etw_error *err)
{
	char words[160];

	os_error_text((int)status, words, sizeof words);
	error_set(err, ETW_ERROR_SYSTEM, "Windows lists no events: %s", words);
	return is_none(status) ? ETW_TDH_EVENTS_NONE : ETW_TDH_EVENTS_FAILED;
}

enum etw_tdh_events etw_tdh_add_events(struct etw_manifest_writer *writer,
				       const struct etw_guid *provider, size_t *undescribed,
				       struct etw_error *err)
{
	size_t header = offsetof(PROVIDER_EVENT_INFO, EventDescriptorsArray);
	struct question list = { .ask = ask_events }, one = { .ask = ask_event };
	struct maps maps = { .question = { .ask = ask_map } };
	enum etw_tdh_events result = ETW_TDH_EVENTS_ADDED;
	const PROVIDER_EVENT_INFO *events;
	ULONG status, size;

	memcpy(&list.provider, provider, sizeof list.provider);
	one.provider = maps.question.provider = list.provider;
	size = answer(&list, &status);
	events = list.answer;
	if (size == 0) {
		result = refused(status, err);
	} else if (size < header ||
		   events->NumberOfEvents >
			   (size - header) / sizeof events->EventDescriptorsArray[0]) {
		error_set(err, ETW_ERROR_SYSTEM, "the list of its events is cut short");
		result = ETW_TDH_EVENTS_FAILED;
	} else if (events->NumberOfEvents == 0) {
		error_set(err, ETW_ERROR_SYSTEM, "Windows lists no events");
		result = ETW_TDH_EVENTS_NONE;
	}
	if (result == ETW_TDH_EVENTS_ADDED) {
		add_keywords(writer, &one);
		for (ULONG i = 0; i < events->NumberOfEvents; i++) {
			add_event(writer, &one, &maps, &events->EventDescriptorsArray[i],
				  undescribed);
		}
	}
	free(list.answer);
	free(one.answer);
	free_maps(&maps);
	return result;
}
