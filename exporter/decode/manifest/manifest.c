/* SPDX-License-Identifier: MIT */
/*
 * Answers of a manifest that has been read.
 */
#include <stdlib.h>

#include "decode/manifest/manifest_internal.h"

void manifest_free(struct manifest *manifest)
{
	if (!manifest) {
		return;
	}
	for (size_t i = 0; i < manifest->templates_count; i++) {
		free(manifest->templates[i].fields.fields);
	}
	free(manifest->providers);
	free(manifest->events);
	free(manifest->templates);
	free(manifest->named);
	free(manifest->maps);
	free(manifest->value_names);
	text_free(&manifest->texts);
	free(manifest);
}

const char *manifest_text(const struct manifest *manifest, uint32_t offset)
{
	return offset != NO_TEXT ? manifest->texts.data + offset : NULL;
}

size_t manifest_provider_count(const struct manifest *manifest)
{
	return manifest->providers_count;
}

const char *manifest_provider_name(const struct manifest *manifest, size_t index)
{
	return manifest_text(manifest, manifest->providers[index].name);
}

bool manifest_provider_guid(const struct manifest *manifest, size_t index, struct guid *guid)
{
	if (manifest->providers[index].has_guid) {
		*guid = manifest->providers[index].guid;
	}
	return manifest->providers[index].has_guid;
}

/* The first event that is not before (id, version); may be the one behind the provider's last. */
static size_t lower_bound(const struct manifest *manifest, const struct manifest_provider *provider,
			  uint16_t id, uint8_t version)
{
	size_t low = provider->first_event, high = low + provider->event_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct manifest_event_row *event = &manifest->events[middle];

		if (event->id < id || (event->id == id && event->version < version)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static const struct schema *find_event(const struct manifest *manifest,
				       const struct manifest_provider *provider, uint16_t id,
				       uint8_t version)
{
	size_t at = lower_bound(manifest, provider, id, version);
	const struct manifest_event_row *event;

	if (at >= provider->first_event + provider->event_count) {
		return NULL;
	}
	event = &manifest->events[at];
	return event->id == id && event->version == version ? &event->schema : NULL;
}

const struct schema *manifest_schema(const struct manifest *manifest, size_t index, uint16_t id,
				     uint8_t version)
{
	const struct manifest_provider *provider = &manifest->providers[index];
	const struct schema *schema = find_event(manifest, provider, id, version);

	return schema || version == 0 || manifest->checked ? schema :
							     find_event(manifest, provider, id, 0);
}

const struct schema *manifest_schema_older(const struct manifest *manifest, size_t index,
					   uint16_t id, uint8_t version)
{
	const struct manifest_provider *provider = &manifest->providers[index];
	size_t at = lower_bound(manifest, provider, id, version);
	const struct manifest_event_row *event;

	if (at == provider->first_event) {
		return NULL;
	}
	event = &manifest->events[at - 1];
	return event->id == id ? &event->schema : NULL;
}

bool manifest_event(const struct manifest *manifest, size_t index, size_t number,
		    struct manifest_event *event)
{
	const struct manifest_provider *provider = &manifest->providers[index];
	const struct manifest_event_row *row;

	if (number >= provider->event_count) {
		return false;
	}
	row = &manifest->events[provider->first_event + number];
	*event = (struct manifest_event){
		.schema = &row->schema,
		.keywords = row->keywords,
		.id = row->id,
		.task = row->task,
		.version = row->version,
		.opcode = row->opcode,
		.level = row->level,
	};
	return true;
}

bool manifest_keyword(const struct manifest *manifest, size_t index, size_t *at, const char **name,
		      uint64_t *mask)
{
	while (*at < manifest->named_count) {
		const struct manifest_named *named = &manifest->named[(*at)++];

		if (named->word == WORD_KEYWORD && named->provider == index) {
			*name = manifest_text(manifest, named->name);
			*mask = named->value;
			return true;
		}
	}
	return false;
}

size_t manifest_bytes(const struct manifest *manifest)
{
	return sizeof *manifest + manifest->providers_capacity * sizeof *manifest->providers +
	       manifest->events_capacity * sizeof *manifest->events +
	       manifest->templates_capacity * sizeof *manifest->templates +
	       manifest->named_capacity * sizeof *manifest->named +
	       manifest->maps_capacity * sizeof *manifest->maps +
	       manifest->value_name_count * sizeof *manifest->value_names +
	       manifest->texts.capacity + manifest->field_bytes;
}
