/* SPDX-License-Identifier: MIT */
/*
 * Volumes, and media that are no volumes.
 *
 * Paths in events are native ("\Device\HarddiskVolume3\logs\a"). Volume mappings, from records or
 * from the live system, lead from a device to a drive. A mapping may also be of a folder of the
 * device, so the mappings are sorted by the length of the native path, and the longest one that
 * matches is used. Live, a mapping may change or end, and may lead to the folder in which a volume
 * without a letter is mounted.
 *
 * Programs also read and write pipes, mail slots and files of other machines through the same
 * requests. None of these is on a volume, and each has a device of its own. Redirectors are the
 * drivers that reach other machines. Requests reach them through the multiple UNC provider, so most
 * paths begin with its device, \Device\Mup. Between device and server a path may name the
 * redirector, the drive letter and the logon that it was opened with, each after a semicolon:
 * "\Device\Mup\;LanmanRedirector\;X:000000000003e7\server\share\a" ("Support for UNC Naming and
 * MUP", Microsoft Learn).
 *
 * A share becomes a label value only if the configuration allows some, because shares name other
 * machines and any program can use new ones. The first shares become labels, up to the limit;
 * look-ups of others are counted, and their label is "network".
 */
#include "exporter/track/volumes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"

/* ---- media ---- */

static const char device[] = "\\Device\\";
static const char dos_devices[] = "\\??\\";

enum {
	DEVICE_SIZE = sizeof device - 1,
	DOS_DEVICES_SIZE = sizeof dos_devices - 1,
	DRIVE_SIZE = 2,       /* "C:" */
	SHARE_PART_MOST = 255 /* bytes of a server or share name; those of Windows are shorter */
};

struct medium_name {
	const char *name;
	enum medium medium;
};

/* Devices, each with the medium that it belongs to. */
static const struct medium_name device_media[] = {
	{ "NamedPipe", MEDIUM_PIPE },
	{ "Mailslot", MEDIUM_MAILSLOT },
	{ "Mup", MEDIUM_NETWORK },
	{ "LanmanRedirector", MEDIUM_NETWORK }, /* SMB */
	{ "WebDavRedirector", MEDIUM_NETWORK },
	{ "NetWareRedirector", MEDIUM_NETWORK },
	{ "RdpDr", MEDIUM_NETWORK },       /* drives of a Remote Desktop client */
	{ "P9Rdr", MEDIUM_NETWORK },       /* files of the Windows Subsystem for Linux */
	{ "vmsmb", MEDIUM_NETWORK },       /* folders that Hyper-V shares with a container */
	{ "hgfs", MEDIUM_NETWORK },        /* shared folders of VMware */
	{ "VBoxMiniRdr", MEDIUM_NETWORK }, /* shared folders of VirtualBox */
	{ NULL, MEDIUM_VOLUME },
};

/* The names of DOS devices that lead to the device of a medium. */
static const struct medium_name dos_media[] = {
	{ "pipe", MEDIUM_PIPE },
	{ "mailslot", MEDIUM_MAILSLOT },
	{ "UNC", MEDIUM_NETWORK },
	{ NULL, MEDIUM_VOLUME },
};

/* Returns the size of the first component of a path. */
static size_t component_size(const char *path, size_t size)
{
	const char *end = size > 0 ? memchr(path, '\\', size) : NULL;

	return end ? (size_t)(end - path) : size;
}

static enum medium medium_named(const struct medium_name *names, const char *path, size_t size,
				size_t start, size_t *rest)
{
	size_t name_size = component_size(path + start, size - start);

	for (; names->name; names++) {
		if (text_equal_nocase(path + start, name_size, names->name, strlen(names->name))) {
			break;
		}
	}
	*rest = start + name_size;
	return names->medium;
}

enum medium path_medium(const char *path, size_t size, size_t *rest)
{
	static const char *const dos[] = { dos_devices, "\\\\?\\", "\\\\.\\" };
	size_t ignored;

	rest = rest ? rest : &ignored;
	*rest = 0;
	if (text_starts_nocase(path, size, device, DEVICE_SIZE)) {
		return medium_named(device_media, path, size, DEVICE_SIZE, rest);
	}
	for (size_t i = 0; i < sizeof dos / sizeof dos[0]; i++) {
		if (text_starts_nocase(path, size, dos[i], DOS_DEVICES_SIZE)) {
			return medium_named(dos_media, path, size, DOS_DEVICES_SIZE, rest);
		}
	}
	if (size > 2 && path[0] == '\\' && path[1] == '\\' && path[2] != '\\') {
		*rest = 1;
		return MEDIUM_NETWORK;
	}
	return MEDIUM_VOLUME;
}

/* ---- shares ---- */

struct share {
	const char *server, *name; /* point into the path */
	size_t server_size, name_size;
	size_t end; /* offset in bytes of what follows the share */
};

/* Finds the next component of a path from *at on, and moves *at past it. Returns false if
 * there is none. */
static bool next_component(const char *path, size_t size, size_t *at, const char **name,
			   size_t *name_size)
{
	if (*at >= size || path[*at] != '\\') {
		return false;
	}
	*name = path + *at + 1;
	*name_size = component_size(*name, size - *at - 1);
	*at += 1 + *name_size;
	return true;
}

/* Finds server and share of a path on the network, after the components that the redirector
 * adds. */
static bool find_share(const char *path, size_t size, struct share *share)
{
	const char *name;
	size_t name_size, at;

	if (path_medium(path, size, &at) != MEDIUM_NETWORK) {
		return false;
	}
	do {
		if (!next_component(path, size, &at, &name, &name_size)) {
			return false;
		}
	} while (name_size == 0 || name[0] == ';' || (name_size == 1 && name[0] == '.'));
	*share = (struct share){ .server = name, .server_size = name_size };
	if (!next_component(path, size, &at, &share->name, &share->name_size)) {
		return false;
	}
	share->end = at;
	return share->name_size > 0 && share->name_size <= SHARE_PART_MOST &&
	       share->server_size <= SHARE_PART_MOST;
}

bool volumes_unc_path(const char *path, size_t size, struct etw_text *out)
{
	struct share share;

	if (!find_share(path, size, &share)) {
		return false;
	}
	text_add_string(out, "\\\\");
	text_add(out, share.server, size - (size_t)(share.server - path));
	return true;
}

static void add_lower(struct etw_text *out, const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		text_add_char(out, ascii_lower(name[i]));
	}
}

static uint32_t label_of(const struct volumes *volumes, const char *text, size_t size)
{
	uint32_t label = intern_add(registry_strings(volumes->registry), text, size);

	return label == INTERN_FULL ? registry_other(volumes->registry) : label;
}

static uint32_t word_label(const struct volumes *volumes, const char *word)
{
	return label_of(volumes, word, strlen(word));
}

/* Returns the label id of a share, which is added if it is new; INTERN_NONE beyond the limit. */
static uint32_t place_share(struct volumes *volumes, const char *name, size_t size)
{
	uint64_t hash = text_hash(name, size, hash_seed());
	uint64_t *slot = map_find(&volumes->shares, hash);
	const char *known;
	size_t known_size;

	if (slot) {
		known = intern_text(registry_strings(volumes->registry), (uint32_t)*slot,
				    &known_size);
		return known_size == size && memcmp(known, name, size) == 0 ? (uint32_t)*slot :
									      INTERN_NONE;
	}
	if (volumes->shares.count < volumes->share_limit) {
		uint32_t label = intern_add(registry_strings(volumes->registry), name, size);

		slot = label != INTERN_FULL ? map_put(&volumes->shares, hash, NULL) : NULL;
		if (slot) {
			*slot = label;
			return label;
		}
	}
	return INTERN_NONE;
}

static uint32_t network_label(struct volumes *volumes, const char *path, size_t size)
{
	struct etw_text name = { 0 }, clean = { 0 };
	uint32_t label = INTERN_NONE;
	struct share share;

	if (!find_share(path, size, &share)) {
		return word_label(volumes, "network");
	}
	text_add_string(&name, "\\\\");
	add_lower(&name, share.server, share.server_size);
	text_add_char(&name, '\\');
	add_lower(&name, share.name, share.name_size);
	text_add_utf8_clean(&clean, name.data ? name.data : "", name.size);
	if (!name.failed && !clean.failed) {
		label = place_share(volumes, clean.data, clean.size);
	}
	text_free(&name);
	text_free(&clean);
	if (label == INTERN_NONE) {
		volumes->refused_shares++;
		return word_label(volumes, "network");
	}
	return label;
}

/* ---- mappings ---- */

struct volume_mapping {
	char *nt_path; /* owned; without its trailing backslash */
	size_t nt_size;
	char *dos_path; /* owned; without its trailing backslash, the drive in upper case */
	size_t dos_size;
	size_t volume_size; /* size of the part of dos_path that is the label of the volume */
};

enum { MAPPINGS = 256 }; /* a machine has a few dozen at most */

/* Each backup makes a shadow copy with the next number. A label for each would make ever more
 * series. */
static const char shadow_copy[] = "HarddiskVolumeShadowCopy";

enum { SHADOW_COPY_SIZE = sizeof shadow_copy - 1 };

/* Returns the drive letter at the start of a path in upper case; 0 if there is none. */
static char drive_of(const char *path, size_t size)
{
	char letter = size >= 2 && path[1] == ':' ? ascii_lower(path[0]) : 0;

	return letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : 0;
}

static void free_mapping(struct volume_mapping *mapping)
{
	free(mapping->nt_path);
	free(mapping->dos_path);
}

static size_t without_backslash(const char *path, size_t size)
{
	return size > 0 && path[size - 1] == '\\' ? size - 1 : size;
}

/* Returns the index of the mapping of a native path, or the index where it must be inserted.
 * Sets *known to which of the two it is. */
static size_t mapping_place(const struct volumes *volumes, const char *nt_path, size_t nt_size,
			    bool *known)
{
	size_t at = 0;

	*known = false;
	for (; at < volumes->count && volumes->mappings[at].nt_size >= nt_size; at++) {
		const struct volume_mapping *mapping = &volumes->mappings[at];

		if (text_equal_nocase(mapping->nt_path, mapping->nt_size, nt_path, nt_size)) {
			*known = true;
			break;
		}
	}
	return at;
}

static bool insert_mapping(struct volumes *volumes, size_t at, const struct volume_mapping *mapping)
{
	struct volume_mapping *grown = NULL;

	if (volumes->count < MAPPINGS) {
		grown = array_grow(volumes->mappings, &volumes->capacity, volumes->count,
				   sizeof *grown);
	}
	if (!grown) {
		return false;
	}
	volumes->mappings = grown;
	memmove(grown + at + 1, grown + at, (volumes->count - at) * sizeof *grown);
	grown[at] = *mapping;
	volumes->count++;
	return true;
}

bool volumes_map(struct volumes *volumes, const char *nt_path, size_t nt_size, const char *dos_path,
		 size_t dos_size, bool folders)
{
	char drive = drive_of(dos_path, dos_size);
	struct volume_mapping mapping = { .nt_size = without_backslash(nt_path, nt_size),
					  .dos_size = without_backslash(dos_path, dos_size) };
	struct volume_mapping *old;
	bool known, changed;
	size_t at;

	if (!drive || mapping.nt_size == 0) {
		return false;
	}
	mapping.volume_size = folders ? mapping.dos_size : DRIVE_SIZE;
	mapping.nt_path = text_duplicate(nt_path, mapping.nt_size);
	mapping.dos_path = text_duplicate(dos_path, mapping.dos_size);
	if (!mapping.nt_path || !mapping.dos_path) {
		free_mapping(&mapping);
		return false;
	}
	mapping.dos_path[0] = drive;
	at = mapping_place(volumes, nt_path, mapping.nt_size, &known);
	if (known) {
		old = &volumes->mappings[at];
		changed = old->dos_size != mapping.dos_size ||
			  memcmp(old->dos_path, mapping.dos_path, old->dos_size) != 0;
		free_mapping(old);
		*old = mapping;
		return changed;
	}
	if (!insert_mapping(volumes, at, &mapping)) {
		free_mapping(&mapping);
		return false;
	}
	return true;
}

bool volumes_unmap(struct volumes *volumes, const char *nt_path, size_t nt_size)
{
	bool known;
	size_t at = mapping_place(volumes, nt_path, without_backslash(nt_path, nt_size), &known);

	if (known) {
		free_mapping(&volumes->mappings[at]);
		volumes->count--;
		memmove(&volumes->mappings[at], &volumes->mappings[at + 1],
			(volumes->count - at) * sizeof volumes->mappings[0]);
	}
	return known;
}

void volumes_done(struct volumes *volumes)
{
	for (size_t i = 0; i < volumes->count; i++) {
		free_mapping(&volumes->mappings[i]);
	}
	free(volumes->mappings);
	volumes->mappings = NULL;
	volumes->count = 0;
	volumes->capacity = 0;
	map_done(&volumes->shares);
}

static uint32_t drive_label(const struct volumes *volumes, char drive)
{
	const char text[DRIVE_SIZE] = { drive, ':' };

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

static bool is_shadow_copy(const char *name, size_t size)
{
	size_t at = SHADOW_COPY_SIZE;

	while (at < size && name[at] >= '0' && name[at] <= '9') {
		at++;
	}
	return at == size && text_starts_nocase(name, size, shadow_copy, SHADOW_COPY_SIZE);
}

/* Returns the label id of a path that is on a volume, or of a path on the network if shares have
 * no labels. */
static uint32_t volume_label(const struct volumes *volumes, const char *path, size_t size)
{
	const struct volume_mapping *mapping = find_mapping(volumes, path, size);

	if (mapping) {
		return label_of(volumes, mapping->dos_path, mapping->volume_size);
	}
	if (text_starts_nocase(path, size, device, DEVICE_SIZE)) {
		const char *name = path + DEVICE_SIZE;
		const char *end = memchr(name, '\\', size - DEVICE_SIZE);
		size_t name_size = end ? (size_t)(end - name) : size - DEVICE_SIZE;

		if (is_shadow_copy(name, name_size)) {
			return label_of(volumes, shadow_copy, SHADOW_COPY_SIZE);
		}
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

uint32_t volumes_label(struct volumes *volumes, const char *path, size_t size)
{
	switch (path_medium(path, size, NULL)) {
	case MEDIUM_PIPE:
		return word_label(volumes, "pipe");
	case MEDIUM_MAILSLOT:
		return word_label(volumes, "mailslot");
	case MEDIUM_NETWORK:
		if (volumes->share_limit > 0) {
			return network_label(volumes, path, size);
		}
		break;
	case MEDIUM_VOLUME:
		break;
	}
	return volume_label(volumes, path, size);
}

void volumes_dos_path(const struct volumes *volumes, const char *path, size_t size,
		      struct etw_text *out)
{
	const struct volume_mapping *mapping = find_mapping(volumes, path, size);

	if (mapping) {
		text_add(out, mapping->dos_path, mapping->dos_size);
		path += mapping->nt_size;
		size -= mapping->nt_size;
	} else if (text_starts_nocase(path, size, dos_devices, DOS_DEVICES_SIZE) &&
		   drive_of(path + DOS_DEVICES_SIZE, size - DOS_DEVICES_SIZE)) {
		path += DOS_DEVICES_SIZE;
		size -= DOS_DEVICES_SIZE;
	}
	text_add(out, path, size);
}

size_t volumes_prefix(const char *path, size_t size, bool shares)
{
	unsigned components = size > 0 && path[0] == '\\' ? 3 : 1;
	const char *at = path;
	struct share share;

	if (shares && find_share(path, size, &share)) {
		return share.end;
	}
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
