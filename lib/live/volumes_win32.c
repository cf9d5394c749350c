/* SPDX-License-Identifier: MIT */
/*
 * Reads the volumes and disks of the machine. Events describe them too, but in a live session only
 * when it stops, and never again when one of them changes.
 *
 * Names of drives are names of the object manager, and reading them involves no device. The mount
 * manager knows the folders in which volumes are mounted. It may wait for a volume that arrives.
 * Models, partitions and file systems come from the devices, any of which may take long or never
 * answer, so a thread for which nothing waits reads them (snapshot_win32.c). Devices are opened
 * without access rights, which is enough for these control codes.
 *
 * Sizes, offsets and counts of an answer are compared with the bytes that were returned before they
 * are used: drivers of devices write them.
 *
 * Source: "QueryDosDeviceW function", "Displaying Volume Paths", "GetVolumePathNamesForVolumeNameW
 * function", "STORAGE_DEVICE_DESCRIPTOR structure", "IOCTL_STORAGE_GET_DEVICE_NUMBER control code",
 * "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS control code", Microsoft Learn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "lib/live/live_source_internal_win32.h"

#include <winioctl.h>

enum {
	DRIVES = 26,
	DEVICE_MAX = 1024,           /* characters of a device's name */
	TEXT_MAX = 3 * MAX_PATH + 1, /* a unit of UTF-16 takes at most three bytes of UTF-8 */
	VOLUME_NAME_MAX = 64,        /* room for "\\?\Volume{GUID}\" and its NUL, which need 50 */
	FILE_SYSTEM_MAX = MAX_PATH + 1,
	VOLUMES_MOST = 4096,
	EXTENTS_MOST = 128,
	DESCRIPTOR_MAX = 4096,
};

/* Returns the next string of a list; NULL if no string ends before `end`. */
static const WCHAR *next_string(const WCHAR **at, const WCHAR *end)
{
	const WCHAR *string = *at;
	const WCHAR *nul = string;

	while (nul < end && *nul != 0) {
		nul++;
	}
	*at = nul + 1;
	return nul < end && nul > string ? string : NULL;
}

/* ---- letters ---- */

static bool is_device(const char *nt_path)
{
	static const char prefix[] = "\\Device\\";

	return strncmp(nt_path, prefix, sizeof prefix - 1) == 0;
}

/* Finds the device behind a name of the object manager. Returns false if there is none. */
static bool find_device(const WCHAR *name, char nt_path[3 * DEVICE_MAX])
{
	WCHAR device[DEVICE_MAX];

	/* A drive made with SUBST leads to "\??\C:\folder", which is no device. */
	return QueryDosDeviceW(name, device, DEVICE_MAX) > 0 &&
	       live_narrow(device, nt_path, 3 * DEVICE_MAX) && is_device(nt_path);
}

bool machine_read_letters(struct machine *machine)
{
	DWORD drives;

	SetLastError(ERROR_SUCCESS);
	drives = GetLogicalDrives(); /* 0: failure, or no drive */
	for (unsigned i = 0; i < DRIVES; i++) {
		WCHAR drive[] = { (WCHAR)('A' + i), ':', 0 };
		char letter[] = { (char)('A' + i), ':', '\0' };
		char nt_path[3 * DEVICE_MAX];

		if ((drives >> i & 1) && find_device(drive, nt_path)) {
			machine_add(machine, &(struct machine_fact){ .type = MACHINE_VOLUME,
								     .key = nt_path,
								     .text = letter });
		}
	}
	return drives != 0 || GetLastError() == ERROR_SUCCESS;
}

/* ---- volumes ---- */

typedef void each_volume(void *context, const WCHAR *name);

/* name: "\\?\Volume{GUID}\" */
static bool for_each_volume(each_volume *each, void *context)
{
	WCHAR name[VOLUME_NAME_MAX];
	HANDLE find = FindFirstVolumeW(name, VOLUME_NAME_MAX);

	if (find == INVALID_HANDLE_VALUE) {
		return GetLastError() == ERROR_NO_MORE_FILES;
	}
	for (unsigned i = 0; i < VOLUMES_MOST; i++) {
		each(context, name);
		if (!FindNextVolumeW(find, name, VOLUME_NAME_MAX)) {
			break;
		}
	}
	FindVolumeClose(find);
	return true;
}

/* Copies the name without its last backslash. Returns false if it has none. */
static bool without_backslash(const WCHAR *name, WCHAR bare[VOLUME_NAME_MAX])
{
	static const WCHAR prefix[] = { '\\', '\\', '?', '\\' };
	size_t size = 0;

	while (size < VOLUME_NAME_MAX && name[size] != 0) {
		size++;
	}
	if (size == VOLUME_NAME_MAX || size < 6 || memcmp(name, prefix, sizeof prefix) != 0 ||
	    name[size - 1] != '\\') {
		return false;
	}
	memcpy(bare, name, (size - 1) * sizeof *name);
	bare[size - 1] = 0;
	return true;
}

static bool device_of_volume(const WCHAR *name, char nt_path[3 * DEVICE_MAX])
{
	WCHAR bare[VOLUME_NAME_MAX];

	return without_backslash(name, bare) && find_device(bare + 4, nt_path);
}

struct folders_question {
	const WCHAR *volume;
};

static ULONG ask_folders(void *context, void *answer, ULONG *size)
{
	const struct folders_question *question = context;
	DWORD room = *size / sizeof(WCHAR), needed = 0;

	if (GetVolumePathNamesForVolumeNameW(question->volume, answer, room, &needed)) {
		*size = (needed < room ? needed : room) * sizeof(WCHAR);
		return ERROR_SUCCESS;
	}
	if (GetLastError() != ERROR_MORE_DATA || needed > UINT32_MAX / sizeof(WCHAR)) {
		return ERROR_INVALID_DATA;
	}
	*size = needed * sizeof(WCHAR);
	return ERROR_INSUFFICIENT_BUFFER;
}

/* Converts "C:\data\" to "C:\data". Returns false if it is no folder on a drive. */
static bool tidy_folder(const WCHAR *wide, char text[TEXT_MAX])
{
	size_t size;

	if (!live_narrow(wide, text, TEXT_MAX) || text[0] == '\0' || text[1] != ':') {
		return false;
	}
	size = strlen(text);
	if (text[size - 1] == '\\') {
		text[size - 1] = '\0';
	}
	return true;
}

static void add_folders(void *context, const WCHAR *name)
{
	struct machine *machine = context;
	struct folders_question question = { name };
	char nt_path[3 * DEVICE_MAX], text[TEXT_MAX];
	ULONG size, status;
	WCHAR *answer;
	const WCHAR *at, *folder;

	if (!device_of_volume(name, nt_path)) {
		return;
	}
	answer = live_ask(ask_folders, &question, &size, &status);
	at = answer;
	while (answer && at < answer + size / sizeof *at &&
	       (folder = next_string(&at, answer + size / sizeof *at)) != NULL) {
		if (tidy_folder(folder, text)) {
			machine_add(machine, &(struct machine_fact){ .type = MACHINE_VOLUME,
								     .key = nt_path,
								     .text = text });
		}
	}
	free(answer);
}

bool machine_read_folders(struct machine *machine)
{
	return for_each_volume(add_folders, machine);
}

/* ---- disks ---- */

static ULONG ask_names(void *context, void *answer, ULONG *size)
{
	DWORD got = QueryDosDeviceW(NULL, answer, *size / sizeof(WCHAR));

	(void)context;
	if (got > 0) {
		*size = got * sizeof(WCHAR);
		return ERROR_SUCCESS;
	}
	if (GetLastError() != ERROR_INSUFFICIENT_BUFFER) {
		return ERROR_INVALID_DATA;
	}
	*size *= 4;
	return ERROR_INSUFFICIENT_BUFFER;
}

/* Returns the number in "PhysicalDrive7"; MACHINE_DISKS if the name is no disk or its number is too
 * large. */
static unsigned disk_number(const WCHAR *name)
{
	static const char prefix[] = "PhysicalDrive";
	unsigned number = 0;

	for (size_t i = 0; prefix[i] != '\0'; i++) {
		if (*name++ != (WCHAR)prefix[i]) {
			return MACHINE_DISKS;
		}
	}
	if (*name == 0) {
		return MACHINE_DISKS;
	}
	for (; *name != 0; name++) {
		if (*name < '0' || *name > '9' || number >= MACHINE_DISKS) {
			return MACHINE_DISKS;
		}
		number = number * 10 + (unsigned)(*name - '0');
	}
	return number < MACHINE_DISKS ? number : MACHINE_DISKS;
}

bool machine_list_disks(struct machine_disks *disks)
{
	ULONG size, status;
	WCHAR *names = live_ask(ask_names, NULL, &size, &status);
	const WCHAR *at = names, *name;

	if (!names) {
		return false;
	}
	*disks = (struct machine_disks){ { 0 } };
	while (at < names + size / sizeof *at &&
	       (name = next_string(&at, names + size / sizeof *at)) != NULL) {
		unsigned number = disk_number(name);

		if (number < MACHINE_DISKS) {
			disks->set[number / 64] |= UINT64_C(1) << (number % 64);
		}
	}
	free(names);
	return true;
}

static HANDLE open_device(const WCHAR *path)
{
	return CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0,
			   NULL);
}

/* Returns the size of the answer in bytes; 0 if there is none. more: accept an answer that is cut
 * short. */
static DWORD control(HANDLE device, DWORD code, void *in, DWORD in_size, void *out, DWORD size,
		     bool more)
{
	DWORD got = 0;

	if (!DeviceIoControl(device, code, in, in_size, out, size, &got, NULL) &&
	    !(more && GetLastError() == ERROR_MORE_DATA)) {
		return 0;
	}
	return got < size ? got : size;
}

/* Adds the text at an offset of a descriptor. It ends at its NUL or at the end of the answer. */
static void add_descriptor_text(struct etw_text *out, const char *answer, DWORD size, DWORD offset)
{
	const char *at = answer + offset;
	const char *end;

	if (offset < offsetof(STORAGE_DEVICE_DESCRIPTOR, RawDeviceProperties) || offset >= size) {
		return; /* 0: the disk does not report it */
	}
	end = memchr(at, '\0', size - offset);
	end = end ? end : answer + size;
	while (at < end && *at == ' ') {
		at++;
	}
	while (at < end && end[-1] == ' ') {
		end--;
	}
	if (at < end) {
		if (out->size > 0) {
			text_add_char(out, ' ');
		}
		text_add_utf8_clean(out, at, (size_t)(end - at));
	}
}

/* Reads vendor and product as the device manager shows them; the text is empty if they are not
 * known. */
static void read_model(HANDLE disk, struct etw_text *model)
{
	STORAGE_PROPERTY_QUERY query = { .PropertyId = StorageDeviceProperty,
					 .QueryType = PropertyStandardQuery };
	union {
		STORAGE_DEVICE_DESCRIPTOR head;
		char bytes[DESCRIPTOR_MAX];
	} answer;
	DWORD size = control(disk, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof query, &answer,
			     sizeof answer, false);

	text_add(model, "", 0);
	if (size < offsetof(STORAGE_DEVICE_DESCRIPTOR, RawDeviceProperties)) {
		return;
	}
	add_descriptor_text(model, answer.bytes, size, answer.head.VendorIdOffset);
	add_descriptor_text(model, answer.bytes, size, answer.head.ProductIdOffset);
}

static void add_disk(struct machine *machine, unsigned number)
{
	DISK_GEOMETRY geometry = { .BytesPerSector = 0 };
	struct etw_text model = { 0 };
	char path[32];
	WCHAR wide[32];
	HANDLE disk;

	snprintf(path, sizeof path, "\\\\.\\PhysicalDrive%u", number);
	disk = live_wide(path, wide, sizeof wide / sizeof *wide) ? open_device(wide) :
								   INVALID_HANDLE_VALUE;
	if (disk == INVALID_HANDLE_VALUE) {
		return;
	}
	read_model(disk, &model);
	if (control(disk, IOCTL_DISK_GET_DRIVE_GEOMETRY, NULL, 0, &geometry, sizeof geometry,
		    false) < sizeof geometry) {
		geometry.BytesPerSector = 0;
	}
	CloseHandle(disk);
	machine_add(machine, &(struct machine_fact){ .type = MACHINE_DISK,
						     .id = number,
						     .number = geometry.BytesPerSector,
						     .text = model.failed ? NULL : model.data });
	text_free(&model);
}

/* ---- partitions ---- */

struct partitions {
	struct machine *machine;
	const struct machine *volumes;
};

/* Finds the letter or folder of a device; "" if it has none. */
static void find_path(const struct machine *volumes, const char *nt_path, char text[TEXT_MAX])
{
	text[0] = '\0';
	for (size_t i = 0; i < volumes->count; i++) {
		if (strcmp(volumes->facts[i].key, nt_path) == 0) {
			snprintf(text, TEXT_MAX, "%s", volumes->facts[i].text);
			return;
		}
	}
}

/* Adds the disks of a volume that is not on exactly one partition. */
static void add_extents(struct machine *machine, HANDLE volume, struct machine_fact *fact)
{
	union {
		VOLUME_DISK_EXTENTS head;
		char bytes[offsetof(VOLUME_DISK_EXTENTS, Extents) +
			   EXTENTS_MOST * sizeof(DISK_EXTENT)];
	} answer;
	DWORD size = control(volume, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, NULL, 0, &answer,
			     sizeof answer, true);
	size_t first = offsetof(VOLUME_DISK_EXTENTS, Extents);
	size_t count = size > first ? (size - first) / sizeof(DISK_EXTENT) : 0;

	fact->part = ETW_SOURCE_NO_PARTITION;
	fact->key = fact->text;
	for (size_t i = 0; i < count && i < answer.head.NumberOfDiskExtents; i++) {
		DISK_EXTENT extent;

		memcpy(&extent, answer.bytes + first + i * sizeof extent, sizeof extent);
		fact->id = extent.DiskNumber;
		machine_add(machine, fact);
	}
}

static void add_partition(void *context, const WCHAR *name)
{
	const struct partitions *partitions = context;
	char nt_path[3 * DEVICE_MAX], path[TEXT_MAX], file_system[3 * FILE_SYSTEM_MAX] = "";
	struct machine_fact fact = { .type = MACHINE_PARTITION,
				     .text = path,
				     .second = file_system };
	WCHAR bare[VOLUME_NAME_MAX], wide[FILE_SYSTEM_MAX];
	STORAGE_DEVICE_NUMBER number;
	HANDLE volume;

	if (!device_of_volume(name, nt_path) || !without_backslash(name, bare)) {
		return;
	}
	volume = open_device(bare);
	if (volume == INVALID_HANDLE_VALUE) {
		return;
	}
	if (GetVolumeInformationW(name, NULL, 0, NULL, NULL, NULL, wide, FILE_SYSTEM_MAX) &&
	    !live_narrow(wide, file_system, sizeof file_system)) {
		file_system[0] = '\0';
	}
	find_path(partitions->volumes, nt_path, path);
	if (control(volume, IOCTL_STORAGE_GET_DEVICE_NUMBER, NULL, 0, &number, sizeof number,
		    false) < sizeof number) {
		add_extents(partitions->machine, volume, &fact);
	} else if (number.DeviceType == FILE_DEVICE_DISK) {
		fact.id = number.DeviceNumber;
		fact.part = number.PartitionNumber;
		machine_add(partitions->machine, &fact);
	}
	CloseHandle(volume);
}

bool machine_read_disks(struct machine *machine, const struct machine_disks *disks,
			const struct machine *volumes)
{
	struct partitions partitions = { .machine = machine, .volumes = volumes };

	for (unsigned i = 0; i < MACHINE_DISKS; i++) {
		if (disks->set[i / 64] >> (i % 64) & 1) {
			add_disk(machine, i);
		}
	}
	return for_each_volume(add_partition, &partitions);
}
