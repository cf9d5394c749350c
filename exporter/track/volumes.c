/* SPDX-License-Identifier: MIT */
/*
 * Volumes of native paths.
 */
#include "track/volumes.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct volume_mapping {
	char *nt_path; /* owned; without its trailing backslash */
	size_t nt_size;
	char drive; /* upper case */
};

enum { MAPPINGS = 256 }; /* a machine has a few dozen at most */

static const char device[] = "\\Device\\";
static const char dos_devices[] = "\\??\\";

enum { DEVICE_SIZE = sizeof device - 1, DOS_DEVICES_SIZE = sizeof dos_devices - 1 };

/* The drive letter, in upper case, that a path begins with; 0: none. */
static char drive_of(const char *path, size_t size)
{
	char letter = size >= 2 && path[1] == ':' ? ascii_lower(path[0]) : 0;

	return letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : 0;
}

bool volumes_map(struct volumes *volumes, const char *nt_path, size_t nt_size, const char *dos_path,
		 size_t dos_size)
{
	char drive = drive_of(dos_path, dos_size);
	struct volume_mapping *mappings;
	char *copy;
	size_t at = 0;

	if (nt_size > 0 && nt_path[nt_size - 1] == '\\') {
		nt_size--;
	}
	if (!drive || nt_size == 0) {
		return false;
	}
	for (; at < volumes->count && volumes->mappings[at].nt_size >= nt_size; at++) {
		struct volume_mapping *known = &volumes->mappings[at];

		if (text_equal_nocase(known->nt_path, known->nt_size, nt_path, nt_size)) {
			bool changed = known->drive != drive;

			known->drive = drive;
			return changed;
		}
	}
	if (volumes->count == MAPPINGS) {
		return false;
	}
	mappings = realloc(volumes->mappings, (volumes->count + 1) * sizeof *mappings);
	if (!mappings) {
		return false;
	}
	volumes->mappings = mappings;
	copy = text_duplicate(nt_path, nt_size);
	if (!copy) {
		return false;
	}
	memmove(mappings + at + 1, mappings + at, (volumes->count - at) * sizeof *mappings);
	mappings[at] = (struct volume_mapping){ copy, nt_size, drive };
	volumes->count++;
	return true;
}

void volumes_done(struct volumes *volumes)
{
	for (size_t i = 0; i < volumes->count; i++) {
		free(volumes->mappings[i].nt_path);
	}
	free(volumes->mappings);
	volumes->mappings = NULL;
	volumes->count = 0;
}

static uint32_t label_of(const struct volumes *volumes, const char *text, size_t size)
{
	uint32_t label = intern_add(registry_strings(volumes->registry), text, size);

	return label == INTERN_FULL ? registry_other(volumes->registry) : label;
}

static uint32_t drive_label(const struct volumes *volumes, char drive)
{
	const char text[2] = { drive, ':' };

	return label_of(volumes, text, sizeof text);
}

static const struct volume_mapping *find_mapping(const struct volumes *volumes, const char *path,
						 size_t size)
{
	for (size_t i = 0; i < volumes->count; i++) {
		const struct volume_mapping *mapping = &volumes->mappings[i];

		if (text_starts_nocase(path, size, mapping->nt_path, mapping->nt_size) &&
		    (size == mapping->nt_size || path[mapping->nt_size] == '\\')) {
			return mapping;
		}
	}
	return NULL;
}

uint32_t volumes_label(const struct volumes *volumes, const char *path, size_t size)
{
	const struct volume_mapping *mapping = find_mapping(volumes, path, size);

	if (mapping) {
		return drive_label(volumes, mapping->drive);
	}
	if (text_starts_nocase(path, size, device, DEVICE_SIZE)) {
		const char *name = path + DEVICE_SIZE;
		const char *end = memchr(name, '\\', size - DEVICE_SIZE);
		size_t name_size = end ? (size_t)(end - name) : size - DEVICE_SIZE;

		if (name_size > 0) {
			return label_of(volumes, name, name_size);
		}
	} else {
		if (text_starts_nocase(path, size, dos_devices, DOS_DEVICES_SIZE)) {
			path += DOS_DEVICES_SIZE;
			size -= DOS_DEVICES_SIZE;
		}
		if (drive_of(path, size)) {
			return drive_label(volumes, drive_of(path, size));
		}
	}
	return registry_unknown(volumes->registry);
}

void volumes_dos_path(const struct volumes *volumes, const char *path, size_t size,
		      struct text *out)
{
	const struct volume_mapping *mapping = find_mapping(volumes, path, size);

	if (mapping) {
		text_add_char(out, mapping->drive);
		text_add_char(out, ':');
		path += mapping->nt_size;
		size -= mapping->nt_size;
	} else if (text_starts_nocase(path, size, dos_devices, DOS_DEVICES_SIZE) &&
		   drive_of(path + DOS_DEVICES_SIZE, size - DOS_DEVICES_SIZE)) {
		path += DOS_DEVICES_SIZE;
		size -= DOS_DEVICES_SIZE;
	}
	text_add(out, path, size);
}

size_t volumes_prefix(const char *path, size_t size)
{
	unsigned components = size > 0 && path[0] == '\\' ? 3 : 1;
	const char *at = path;

	for (;; at++) {
		at = memchr(at, '\\', size - (size_t)(at - path));
		if (!at) {
			return size;
		}
		if (--components == 0) {
			return (size_t)(at - path);
		}
	}
}
