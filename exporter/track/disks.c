/* SPDX-License-Identifier: MIT */
/*
 * Disks and their volumes.
 *
 * SystemConfig records describe each disk and each partition. Each description is shown as a sample
 * with the value 1. When a later record describes the same disk or partition otherwise, the old
 * sample is hidden and the new one is shown; therefore the labels of each shown sample are stored.
 * A live session also reads disks directly, because their records come late. The record then
 * replaces what was read; when a disk or volume is read again, it has changed. The tables have a
 * fixed size. Disks and partitions beyond it are not shown.
 *
 * Independently of the samples, a bit for each disk records whether the trace describes it at all.
 * The tracker uses it to count transfers to unknown disks.
 */
#include "exporter/track/disks.h"

#include <string.h>

#include <etw/source.h>

#include "base/decimal.h"
#include "base/text.h"

const struct family_options disks_families[DISKS_FAMILIES] = {
	{
		.name = "etw_disk_info",
		.help = "Physical disks with their model and sector size; always 1.",
		.type = FAMILY_GAUGE,
		.labels = { "disk", "model", "bytes_per_sector" },
		.label_count = 3,
		.dynamic_labels = 0x7,
	},
	{
		.name = "etw_disk_volume_info",
		.help = "Volumes on the partitions of physical disks; always 1.",
		.type = FAMILY_GAUGE,
		.labels = { "disk", "partition", "volume", "file_system" },
		.label_count = 4,
		.dynamic_labels = 0xf,
	},
};

bool disks_init(struct disks *disks, struct registry *registry, struct shard *shard,
		struct etw_error *err)
{
	*disks = (struct disks){ .registry = registry, .shard = shard };
	disks->disk_info = registry_family(registry, &disks_families[0], err);
	disks->volume_info = registry_family(registry, &disks_families[1], err);
	return disks->disk_info && disks->volume_info;
}

/* A first label id of 0 means that no sample is shown: 0 is the id of the empty text, which is
 * never the label of a number. */
void disks_clear(struct disks *disks)
{
	for (unsigned i = 0; i < DISKS; i++) {
		if (disks->shown_disks[i][0] != INTERN_NONE) {
			family_hide(disks->disk_info, disks->shard, disks->shown_disks[i]);
		}
	}
	for (unsigned i = 0; i < disks->volume_count; i++) {
		family_hide(disks->volume_info, disks->shard, disks->shown_volumes[i]);
	}
	memset(disks->shown_disks, 0, sizeof disks->shown_disks);
	memset(disks->shown_volumes, 0, sizeof disks->shown_volumes);
	memset(disks->named, 0, sizeof disks->named);
	memset(disks->found, 0, sizeof disks->found);
	disks->volume_count = 0;
}

void disks_name(struct disks *disks, uint32_t disk)
{
	if (disk < DISKS) {
		disks->named[disk / 64] |= UINT64_C(1) << (disk % 64);
	}
}

static uint32_t number_label(const struct disks *disks, uint32_t number)
{
	char digits[DECIMAL_ROOM];
	size_t size = (size_t)(put_u64(digits, number) - digits);

	return intern_add(registry_strings(disks->registry), digits, size);
}

/* Disks pad their model names with spaces. */
static uint32_t text_label(const struct disks *disks, const char *text, size_t size)
{
	while (size > 0 && text[size - 1] == ' ') {
		size--;
	}
	while (size > 0 && *text == ' ') {
		text++;
		size--;
	}
	return size > 0 ? intern_add(registry_strings(disks->registry), text, size) :
			  registry_unknown(disks->registry);
}

static void show_sample(struct disks *disks, struct family *family, uint32_t *shown,
			const uint32_t *ids, size_t count)
{
	if (shown[0] != INTERN_NONE && memcmp(shown, ids, count * sizeof *ids) != 0) {
		family_hide(family, disks->shard, shown);
	}
	memcpy(shown, ids, count * sizeof *ids);
	family_set(family, disks->shard, ids, 1);
}

/* Fills the labels that one description leaves unknown with those of another. */
static void fill_unknown(const struct disks *disks, uint32_t *ids, const uint32_t *other,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ids[i] == registry_unknown(disks->registry)) {
			ids[i] = other[i];
		}
	}
}

/*
 * Shows one more description. found: a live session found it; was_found: a live session found one
 * before. If there is both a record and a disk or volume that was found once, the record is used,
 * whichever came first.
 */
static void describe(struct disks *disks, struct family *family, uint32_t *shown, uint32_t *ids,
		     size_t count, bool found, bool was_found)
{
	uint32_t kept[FAMILY_LABELS_MAX];

	if (shown[0] != INTERN_NONE && found && !was_found) {
		memcpy(kept, shown, count * sizeof *kept);
		fill_unknown(disks, kept, ids, count);
		ids = kept;
	} else if (shown[0] != INTERN_NONE && !found && was_found) {
		fill_unknown(disks, ids, shown, count);
	}
	show_sample(disks, family, shown, ids, count);
}

/* ---- disks ---- */

static bool was_found(const struct disks *disks, uint32_t disk)
{
	return disks->found[disk / 64] >> (disk % 64) & 1;
}

static void describe_disk(struct disks *disks, uint32_t disk, const char *model, size_t model_size,
			  uint32_t bytes_per_sector, bool found)
{
	uint32_t ids[3];

	disks_name(disks, disk);
	if (!disks->disk_info || disk >= DISKS) {
		return;
	}
	ids[0] = number_label(disks, disk);
	ids[1] = text_label(disks, model, model_size);
	ids[2] = number_label(disks, bytes_per_sector);
	describe(disks, disks->disk_info, disks->shown_disks[disk], ids, 3, found,
		 was_found(disks, disk));
}

void disks_show(struct disks *disks, uint32_t disk, const char *model, size_t model_size,
		uint32_t bytes_per_sector)
{
	describe_disk(disks, disk, model, model_size, bytes_per_sector, false);
}

static void remove_disk(struct disks *disks, uint32_t disk)
{
	uint64_t bit = UINT64_C(1) << (disk % 64);

	if (disks->shown_disks[disk][0] != INTERN_NONE) {
		family_hide(disks->disk_info, disks->shard, disks->shown_disks[disk]);
		memset(disks->shown_disks[disk], 0, sizeof disks->shown_disks[disk]);
	}
	disks->named[disk / 64] &= ~bit;
	disks->found[disk / 64] &= ~bit;
}

void disks_find(struct disks *disks, uint32_t disk, const char *model, uint32_t bytes_per_sector)
{
	if (disk >= DISKS) {
		return;
	}
	if (!model) {
		remove_disk(disks, disk);
		return;
	}
	describe_disk(disks, disk, model, strlen(model), bytes_per_sector, true);
	disks->found[disk / 64] |= UINT64_C(1) << (disk % 64);
}

/* ---- volumes ---- */

struct volume_texts {
	const char *drive;
	size_t drive_size;
	const char *file_system;
	size_t file_system_size;
};

static void label_volume(const struct disks *disks, uint32_t disk, uint32_t partition,
			 const struct volume_texts *texts, uint32_t ids[4])
{
	size_t drive_size = texts->drive_size;

	if (drive_size > 0 && texts->drive[drive_size - 1] == '\\') {
		drive_size--;
	}
	ids[0] = number_label(disks, disk);
	ids[1] = partition == ETW_SOURCE_NO_PARTITION ? registry_unknown(disks->registry) :
							number_label(disks, partition);
	ids[2] = text_label(disks, texts->drive, drive_size);
	ids[3] = text_label(disks, texts->file_system, texts->file_system_size);
}

/* Returns the index of a partition among those that are shown; volume_count if it is not shown.
 * A partition without a number is distinguished from others of its disk by its volume. */
static uint32_t volume_place(const struct disks *disks, const uint32_t ids[4])
{
	bool by_volume = ids[1] == registry_unknown(disks->registry);
	uint32_t at = 0;

	while (at < disks->volume_count &&
	       (disks->shown_volumes[at][0] != ids[0] || disks->shown_volumes[at][1] != ids[1] ||
		(by_volume && disks->shown_volumes[at][2] != ids[2]))) {
		at++;
	}
	return at;
}

static void describe_volume(struct disks *disks, uint32_t ids[4], bool found)
{
	uint32_t at = volume_place(disks, ids);

	if (at == PARTITIONS) {
		return;
	}
	if (at == disks->volume_count) {
		disks->volume_count++;
		disks->found_volumes[at] = false;
	}
	describe(disks, disks->volume_info, disks->shown_volumes[at], ids, 4, found,
		 disks->found_volumes[at]);
	disks->found_volumes[at] = disks->found_volumes[at] || found;
}

void disks_show_volume(struct disks *disks, uint32_t disk, uint32_t partition, const char *drive,
		       size_t drive_size, const char *file_system, size_t file_system_size)
{
	const struct volume_texts texts = { drive, drive_size, file_system, file_system_size };
	uint32_t ids[4];

	if (disks->volume_info) {
		label_volume(disks, disk, partition, &texts, ids);
		describe_volume(disks, ids, false);
	}
}

static void remove_volume(struct disks *disks, uint32_t at)
{
	uint32_t last = disks->volume_count - 1;

	family_hide(disks->volume_info, disks->shard, disks->shown_volumes[at]);
	memcpy(disks->shown_volumes[at], disks->shown_volumes[last],
	       sizeof disks->shown_volumes[at]);
	disks->found_volumes[at] = disks->found_volumes[last];
	memset(disks->shown_volumes[last], 0, sizeof disks->shown_volumes[last]);
	disks->volume_count = last;
}

void disks_find_volume(struct disks *disks, uint32_t disk, uint32_t partition, const char *volume,
		       const char *file_system)
{
	const struct volume_texts texts = { volume, strlen(volume), file_system ? file_system : "",
					    file_system ? strlen(file_system) : 0 };
	uint32_t ids[4], at;

	if (!disks->volume_info) {
		return;
	}
	label_volume(disks, disk, partition, &texts, ids);
	if (file_system) {
		describe_volume(disks, ids, true);
		return;
	}
	at = volume_place(disks, ids);
	if (at < disks->volume_count) {
		remove_volume(disks, at);
	}
}
