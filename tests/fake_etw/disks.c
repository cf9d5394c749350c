/* SPDX-License-Identifier: MIT */
/*
 * The disks and volumes of the machine, which come, go and change their letters while a program
 * runs.
 *
 * A drive letter is a name of the object manager that leads to a device; GetLogicalDrives() and
 * QueryDosDeviceW() read these names. The mount manager knows volumes by GUID and the folders in
 * which they are mounted. Disks and volumes answer control codes, rightly unless a test gives
 * another answer, or not at all while a test lets them hang.
 *
 * Under Windows CreateFileW() is also the one of the rest of the program: paths that are no disk
 * and no volume go to the real function.
 */
#define _KERNEL32_
#include "tests/fake_etw/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LETTERS = 64,
	VOLUMES = 512,
	DISKS = 64,
	ANSWERS = 16,
	ANSWER_BYTES = 4096,
	NAME = 64,    /* units of "\\?\Volume{GUID}\" and its end */
	FINDS = 4,    /* searches at a time */
	MODEL = 64,   /* bytes of a vendor or product */
	DEVICE = 300, /* bytes of the UTF-8 name of a device */
	DEFAULT_SECTOR = 512
};

struct letter {
	WCHAR drive[8];
	WCHAR target[MAX_PATH];
};

/* A disk or a volume. Handles point at it, so it keeps its place. */
struct device {
	bool attached;
	bool hangs;
	bool is_disk;
	char name[DEVICE]; /* "PhysicalDrive0", "\\Device\\HarddiskVolume3" */
	/* of a disk */
	uint32_t number;
	char vendor[MODEL];
	char product[MODEL];
	bool has_vendor;
	uint32_t bytes_per_sector;
	/* of a volume */
	WCHAR guid_name[NAME]; /* "\\?\Volume{GUID}\" */
	WCHAR folders[FAKE_VOLUME_FOLDERS][MAX_PATH];
	size_t folder_count;
	WCHAR raw_paths[MAX_PATH]; /* of fake_etw_volume_paths() */
	DWORD raw_count;           /* 0: none */
	WCHAR file_system[MAX_PATH];
	uint32_t disks[FAKE_VOLUME_EXTENTS];
	unsigned disk_count;
	uint32_t partition;
};

struct answer {
	bool used;
	char device[DEVICE];
	uint32_t code;
	uint32_t error;
	size_t size;
	uint8_t bytes[ANSWER_BYTES];
};

static struct letter letters[LETTERS];
static size_t letter_count;
static struct device devices[VOLUMES + DISKS];
static unsigned device_count; /* with those that are gone */
static struct answer answers[ANSWERS];
static size_t finds[FINDS]; /* the next device of a search, + 1; 0: free */
static unsigned hanging;    /* calls that wait on a device */

void fake_disks_reset(void)
{
	if (hanging > 0) {
		fprintf(stderr, "fake_etw: reset while a device hangs\n");
		abort();
	}
	letter_count = 0;
	memset(devices, 0, sizeof devices);
	device_count = 0;
	memset(answers, 0, sizeof answers);
	memset(finds, 0, sizeof finds);
}

static void copy_name(char *to, size_t size, const char *from)
{
	if (strlen(from) >= size) {
		abort();
	}
	strcpy(to, from);
}

/* ---- controls: letters ---- */

static size_t letter_at(const WCHAR *drive)
{
	size_t at = 0;

	while (at < letter_count && !fake_wide_equal(letters[at].drive, drive)) {
		at++;
	}
	return at;
}

void fake_etw_add_volume(const char *drive, const char *target)
{
	struct letter letter;
	size_t at;

	if (!fake_wide_from_utf8(drive, letter.drive, 8) ||
	    !fake_wide_from_utf8(target, letter.target, MAX_PATH)) {
		abort();
	}
	fake_lock();
	at = letter_at(letter.drive);
	if (at == LETTERS) {
		abort();
	}
	letters[at] = letter;
	letter_count += at == letter_count;
	fake_unlock();
}

void fake_etw_remove_drive(const char *drive)
{
	WCHAR wide[8];
	size_t at;

	if (!fake_wide_from_utf8(drive, wide, 8)) {
		abort();
	}
	fake_lock();
	at = letter_at(wide);
	if (at < letter_count) {
		letters[at] = letters[--letter_count];
	}
	fake_unlock();
}

/* ---- controls: devices ---- */

static struct device *device_named(const char *name)
{
	for (unsigned i = 0; i < device_count; i++) {
		if (devices[i].attached && strcmp(devices[i].name, name) == 0) {
			return &devices[i];
		}
	}
	return NULL;
}

static struct device *attach(const char *name)
{
	struct device *device = device_named(name);

	if (!device) {
		if (device_count == VOLUMES + DISKS) {
			abort();
		}
		device = &devices[device_count++];
	}
	*device = (struct device){ .attached = true };
	copy_name(device->name, sizeof device->name, name);
	return device;
}

void fake_etw_attach_volume(const struct fake_etw_volume *volume)
{
	struct device *device;
	char name[NAME];

	fake_lock();
	device = attach(volume->device);
	snprintf(name, sizeof name, "\\\\?\\Volume{00000000-0000-0000-0000-%012x}\\",
		 (unsigned)(device - devices));
	fake_wide_from_utf8(name, device->guid_name, NAME);
	while (device->folder_count < FAKE_VOLUME_FOLDERS &&
	       volume->folders[device->folder_count]) {
		if (!fake_wide_from_utf8(volume->folders[device->folder_count],
					 device->folders[device->folder_count], MAX_PATH)) {
			abort();
		}
		device->folder_count++;
	}
	if (volume->file_system &&
	    !fake_wide_from_utf8(volume->file_system, device->file_system, MAX_PATH)) {
		abort();
	}
	memcpy(device->disks, volume->disks, sizeof device->disks);
	device->disk_count = volume->disk_count;
	device->partition = volume->partition;
	fake_unlock();
}

void fake_etw_volume_paths(const char *name, const uint16_t *units, size_t count)
{
	struct device *device;

	fake_lock();
	device = device_named(name);
	if (!device || count > MAX_PATH) {
		abort();
	}
	memcpy(device->raw_paths, units, count * sizeof *units);
	device->raw_count = (DWORD)count;
	fake_unlock();
}

static void detach(const char *name)
{
	struct device *device;
	WCHAR target[MAX_PATH];

	fake_lock();
	device = device_named(name);
	if (device) {
		device->attached = false;
	}
	fake_wide_from_utf8(name, target, MAX_PATH);
	for (size_t i = letter_count; i > 0; i--) {
		if (fake_wide_equal(letters[i - 1].target, target)) {
			letters[i - 1] = letters[--letter_count];
		}
	}
	fake_unlock();
}

void fake_etw_detach_volume(const char *device)
{
	detach(device);
}

void fake_etw_attach_disk(uint32_t number, const char *vendor, const char *product,
			  uint32_t bytes_per_sector)
{
	struct device *device;
	char name[NAME];

	snprintf(name, sizeof name, "PhysicalDrive%u", (unsigned)number);
	fake_lock();
	device = attach(name);
	device->is_disk = true;
	device->number = number;
	device->has_vendor = vendor != NULL;
	copy_name(device->vendor, sizeof device->vendor, vendor ? vendor : "");
	copy_name(device->product, sizeof device->product, product);
	device->bytes_per_sector = bytes_per_sector ? bytes_per_sector : DEFAULT_SECTOR;
	fake_unlock();
}

void fake_etw_detach_disk(uint32_t number)
{
	char name[NAME];

	snprintf(name, sizeof name, "PhysicalDrive%u", (unsigned)number);
	detach(name);
}

static struct answer *answer_of(const char *device, uint32_t code)
{
	for (size_t i = 0; i < ANSWERS; i++) {
		if (answers[i].used && answers[i].code == code &&
		    strcmp(answers[i].device, device) == 0) {
			return &answers[i];
		}
	}
	return NULL;
}

void fake_etw_device_answer(const char *device, uint32_t code, uint32_t error, const void *bytes,
			    size_t size)
{
	struct answer *answer;
	size_t free = 0;

	fake_lock();
	answer = answer_of(device, code);
	while (!answer && free < ANSWERS && answers[free].used) {
		free++;
	}
	if (size > ANSWER_BYTES || (!answer && free == ANSWERS)) {
		abort();
	}
	answer = answer ? answer : &answers[free];
	*answer = (struct answer){ .used = true, .code = code, .error = error, .size = size };
	copy_name(answer->device, sizeof answer->device, device);
	if (size > 0) {
		memcpy(answer->bytes, bytes, size);
	}
	fake_unlock();
}

void fake_etw_device_hang(const char *name, bool hang)
{
	struct device *device;

	fake_lock();
	device = device_named(name);
	if (!device) {
		abort();
	}
	device->hangs = hang;
	os_condition_wake_all(&fake.changed);
	fake_unlock();
}

unsigned fake_etw_hanging(void)
{
	unsigned count;

	fake_lock();
	count = hanging;
	fake_unlock();
	return count;
}

/* ---- drives ---- */

/* What comes, goes and changes with each look on a restless machine. */
static void change_everything(void)
{
	static unsigned looks;
	char text[NAME];

	looks++;
	snprintf(text, sizeof text, "\\Device\\HarddiskVolume%u", 9000 + looks % 3);
	fake_wide_from_utf8("Q:", letters[0].drive, 8);
	fake_wide_from_utf8(text, letters[0].target, MAX_PATH);
	letter_count = looks % 4 != 0;
	snprintf(text, sizeof text, "\\\\?\\Volume{00000000-0000-0000-0000-%012u}\\", looks % 5);
	fake_wide_from_utf8(text, devices[0].guid_name, NAME);
	snprintf(devices[0].name, sizeof devices[0].name, "\\Device\\HarddiskVolume%u",
		 9003 + looks % 2);
	fake_wide_from_utf8(looks % 3 ? "R:\\data\\" : "R:\\other\\", devices[0].folders[0],
			    MAX_PATH);
	devices[0].folder_count = 1;
	devices[0].attached = looks % 5 != 0;
	device_count = 1;
	fake_services_change(looks);
}

DWORD WINAPI GetLogicalDrives(void)
{
	uint32_t error = fake_enter(CALL_GetLogicalDrives);
	DWORD drives = 0;

	if (fake.options.restless_drives) {
		change_everything();
	}
	for (size_t i = 0; error == 0 && i < letter_count; i++) {
		WCHAR letter = (WCHAR)(letters[i].drive[0] & ~0x20);

		if (letter >= 'A' && letter <= 'Z' && letters[i].drive[1] == ':') {
			drives |= 1u << (letter - 'A');
		}
	}
	fake_leave(error);
	return drives;
}

/* Adds a string and its NUL; false: no room. */
static bool add_string(LPWSTR out, DWORD size, DWORD *used, const WCHAR *text)
{
	DWORD length = (DWORD)fake_wide_length(text) + 1;

	if (size - *used < length) {
		return false;
	}
	memcpy(out + *used, text, length * sizeof(WCHAR));
	*used += length;
	return true;
}

/* The name of a volume or disk among those of the object manager. */
static void object_name(const struct device *device, WCHAR name[NAME])
{
	if (device->is_disk) {
		fake_wide_from_utf8(device->name, name, NAME);
	} else { /* without "\\?\" and the last backslash */
		size_t length = fake_wide_length(device->guid_name) - 5;

		memcpy(name, device->guid_name + 4, length * sizeof(WCHAR));
		name[length] = 0;
	}
}

static bool add_target(LPWSTR out, DWORD size, DWORD *used, const struct device *device)
{
	WCHAR target[MAX_PATH];
	char text[NAME];

	snprintf(text, sizeof text, "\\Device\\Harddisk%u\\DR%u", (unsigned)device->number,
		 (unsigned)device->number);
	fake_wide_from_utf8(device->is_disk ? text : device->name, target, MAX_PATH);
	return add_string(out, size, used, target);
}

DWORD WINAPI QueryDosDeviceW(LPCWSTR name, LPWSTR target, DWORD size)
{
	static const WCHAR nothing[] = { 0 };
	uint32_t error = fake_enter(CALL_QueryDosDeviceW);
	DWORD used = 0;
	bool found = !name;
	bool fits = true;

	for (size_t i = 0; error == 0 && i < letter_count; i++) {
		if (!name) {
			fits = fits && add_string(target, size, &used, letters[i].drive);
		} else if (!found && fake_wide_equal(name, letters[i].drive)) {
			found = true;
			fits = add_string(target, size, &used, letters[i].target);
		}
	}
	for (unsigned i = 0; error == 0 && i < device_count; i++) {
		WCHAR own[NAME];

		if (!devices[i].attached) {
			continue;
		}
		object_name(&devices[i], own);
		if (!name) {
			fits = fits && add_string(target, size, &used, own);
		} else if (!found && fake_wide_equal(name, own)) {
			found = true;
			fits = add_target(target, size, &used, &devices[i]);
		}
	}
	/* The list ends with an empty string. */
	fits = fits && add_string(target, size, &used, nothing);
	if (error == 0 && !found) {
		error = ERROR_FILE_NOT_FOUND;
	} else if (error == 0 && !fits) {
		error = ERROR_INSUFFICIENT_BUFFER;
	}
	return fake_leave(error) ? used : 0;
}

/* ---- the mount manager ---- */

static uint32_t next_volume(size_t *at, LPWSTR volume, DWORD size)
{
	for (; *at - 1 < device_count; ++*at) {
		const struct device *device = &devices[*at - 1];
		size_t length = fake_wide_length(device->guid_name) + 1;

		if (!device->attached || device->is_disk) {
			continue;
		}
		if (length > size) {
			return ERROR_FILENAME_EXCED_RANGE;
		}
		memcpy(volume, device->guid_name, length * sizeof(WCHAR));
		++*at;
		return 0;
	}
	return ERROR_NO_MORE_FILES;
}

HANDLE WINAPI FindFirstVolumeW(LPWSTR volume, DWORD size)
{
	uint32_t error = fake_enter(CALL_FindFirstVolumeW);
	size_t *find = NULL;

	for (size_t i = 0; error == 0 && !find && i < FINDS; i++) {
		find = finds[i] == 0 ? &finds[i] : NULL;
	}
	if (error == 0 && !find) {
		abort();
	}
	if (error == 0) {
		*find = 1;
		error = next_volume(find, volume, size);
		if (error != 0) {
			*find = 0;
		} else {
			fake.handles++;
		}
	}
	return fake_leave(error) ? (HANDLE)find : INVALID_HANDLE_VALUE;
}

static bool is_find(HANDLE find)
{
	size_t *at = find;

	return at >= finds && at < finds + FINDS && *at != 0;
}

BOOL WINAPI FindNextVolumeW(HANDLE find, LPWSTR volume, DWORD size)
{
	uint32_t error = fake_enter(CALL_FindNextVolumeW);

	if (error == 0) {
		error = is_find(find) ? next_volume(find, volume, size) : ERROR_INVALID_HANDLE;
	}
	return fake_leave(error);
}

BOOL WINAPI FindVolumeClose(HANDLE find)
{
	uint32_t error = 0;

	fake_lock();
	if (is_find(find)) {
		*(size_t *)find = 0;
		fake.handles--;
	} else {
		error = ERROR_INVALID_HANDLE;
	}
	return fake_leave(error);
}

static const struct device *volume_named(const WCHAR *guid_name)
{
	for (unsigned i = 0; i < device_count; i++) {
		if (devices[i].attached && !devices[i].is_disk &&
		    fake_wide_equal(devices[i].guid_name, guid_name)) {
			return &devices[i];
		}
	}
	return NULL;
}

BOOL WINAPI GetVolumePathNamesForVolumeNameW(LPCWSTR name, LPWSTR paths, DWORD size, PDWORD needed)
{
	uint32_t error = fake_enter(CALL_GetVolumePathNamesForVolumeNameW);
	const struct device *volume = volume_named(name);
	WCHAR all[LETTERS * 4 + FAKE_VOLUME_FOLDERS * MAX_PATH + 1];
	WCHAR target[MAX_PATH];
	DWORD used = 0;

	if (error == 0 && !volume) {
		error = ERROR_FILE_NOT_FOUND;
	}
	if (error == 0 && volume->raw_count > 0) {
		*needed = volume->raw_count;
		error = volume->raw_count > size ? ERROR_MORE_DATA : 0;
		memcpy(paths, volume->raw_paths, error ? 0 : volume->raw_count * sizeof(WCHAR));
	} else if (error == 0) {
		fake_wide_from_utf8(volume->name, target, MAX_PATH);
		for (size_t i = 0; i < letter_count; i++) {
			if (fake_wide_equal(letters[i].target, target)) {
				WCHAR root[] = { letters[i].drive[0], ':', '\\', 0 };

				add_string(all, sizeof all / sizeof *all, &used, root);
			}
		}
		for (size_t i = 0; i < volume->folder_count; i++) {
			add_string(all, sizeof all / sizeof *all, &used, volume->folders[i]);
		}
		all[used++] = 0;
		if (needed) {
			*needed = used;
		}
		if (used > size) {
			error = ERROR_MORE_DATA;
		} else {
			memcpy(paths, all, used * sizeof(WCHAR));
		}
	}
	return fake_leave(error);
}

BOOL WINAPI GetVolumeInformationW(LPCWSTR root, LPWSTR name, DWORD name_size, LPDWORD serial,
				  LPDWORD component_length, LPDWORD flags, LPWSTR file_system,
				  DWORD file_system_size)
{
	uint32_t error = fake_enter(CALL_GetVolumeInformationW);
	const struct device *volume = volume_named(root);
	DWORD used = 0;

	if (error == 0 && (name || name_size || serial || component_length || flags)) {
		fake_refuse("GetVolumeInformationW", "anything but the file system");
		error = ERROR_NOT_SUPPORTED;
	} else if (error == 0 && !volume) {
		error = ERROR_PATH_NOT_FOUND;
	} else if (error == 0 && volume->file_system[0] == 0) {
		error = ERROR_UNRECOGNIZED_VOLUME;
	} else if (error == 0 &&
		   !add_string(file_system, file_system_size, &used, volume->file_system)) {
		error = ERROR_BAD_LENGTH;
	}
	return fake_leave(error);
}

/* ---- devices ---- */

static const struct device *device_at_path(const WCHAR *path)
{
	WCHAR name[NAME];

	for (unsigned i = 0; i < device_count; i++) {
		object_name(&devices[i], name);
		if (devices[i].attached && fake_wide_equal(path + 4, name)) {
			return &devices[i];
		}
	}
	return NULL;
}

static bool starts(const WCHAR *path, const WCHAR *start)
{
	while (*start != 0 && *path == *start) {
		path++;
		start++;
	}
	return *start == 0;
}

HANDLE WINAPI CreateFileW(LPCWSTR path, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES security,
			  DWORD creation, DWORD flags, HANDLE template_file)
{
	bool ours = starts(path, u"\\\\.\\") || starts(path, u"\\\\?\\Volume{");
	uint32_t error;
	HANDLE handle = INVALID_HANDLE_VALUE;

	if (!ours) {
#ifdef _WIN32
		typedef HANDLE(WINAPI * create)(LPCWSTR, DWORD, DWORD, LPSECURITY_ATTRIBUTES, DWORD,
						DWORD, HANDLE);

		return ((create)(void (*)(void))GetProcAddress(GetModuleHandleA("kernel32.dll"),
							       "CreateFileW"))(
			path, access, share, security, creation, flags, template_file);
#else
		SetLastError(ERROR_NOT_SUPPORTED);
		return handle;
#endif
	}
	(void)template_file;
	error = fake_enter(CALL_CreateFileW);
	if (error == 0 && (access != 0 || share != (FILE_SHARE_READ | FILE_SHARE_WRITE) ||
			   security || creation != OPEN_EXISTING || flags != 0)) {
		fake_refuse("CreateFileW", "devices opened with rights");
		error = ERROR_NOT_SUPPORTED;
	}
	if (error == 0) {
		const struct device *device = device_at_path(path);

		if (device) {
			handle = fake_handle_of_device(device);
		} else {
			error = ERROR_FILE_NOT_FOUND;
		}
	}
	fake_leave(error);
	return handle;
}

/* What is answered, and how much: the system copies what fits. */
struct reply {
	uint8_t bytes[ANSWER_BYTES];
	size_t size;
	uint32_t error;
};

static void describe_disk(const struct device *disk, struct reply *reply)
{
	STORAGE_DEVICE_DESCRIPTOR head = { .Version = sizeof head };
	size_t at = offsetof(STORAGE_DEVICE_DESCRIPTOR, RawDeviceProperties);

	if (disk->has_vendor) {
		head.VendorIdOffset = (DWORD)at;
		strcpy((char *)reply->bytes + at, disk->vendor);
		at += strlen(disk->vendor) + 1;
	}
	head.ProductIdOffset = (DWORD)at;
	strcpy((char *)reply->bytes + at, disk->product);
	at += strlen(disk->product) + 1;
	head.Size = (DWORD)at;
	memcpy(reply->bytes, &head, offsetof(STORAGE_DEVICE_DESCRIPTOR, RawDeviceProperties));
	reply->size = at;
}

static void describe_extents(const struct device *volume, DWORD room, struct reply *reply)
{
	VOLUME_DISK_EXTENTS head = { .NumberOfDiskExtents = volume->disk_count };
	size_t at = offsetof(VOLUME_DISK_EXTENTS, Extents);

	memcpy(reply->bytes, &head, at);
	for (unsigned i = 0; i < volume->disk_count; i++) {
		DISK_EXTENT extent = { .DiskNumber = volume->disks[i] };

		if (at + sizeof extent > room) {
			reply->error = ERROR_MORE_DATA;
			break;
		}
		memcpy(reply->bytes + at, &extent, sizeof extent);
		at += sizeof extent;
	}
	reply->size = at;
}

static void reply_of(const struct device *device, DWORD code, LPVOID in, DWORD in_size,
		     DWORD out_size, struct reply *reply)
{
	const struct answer *answer = answer_of(device->name, code);
	STORAGE_PROPERTY_QUERY query = { 0 };
	STORAGE_DEVICE_NUMBER number = { .DeviceType = FILE_DEVICE_DISK,
					 .DeviceNumber = device->disks[0],
					 .PartitionNumber = device->partition };
	DISK_GEOMETRY geometry = { .BytesPerSector = device->bytes_per_sector };

	if (answer) {
		memcpy(reply->bytes, answer->bytes, answer->size);
		reply->size = answer->size;
		reply->error = answer->error;
	} else if (device->is_disk && code == IOCTL_STORAGE_QUERY_PROPERTY) {
		if (in && in_size >= sizeof query) {
			memcpy(&query, in, sizeof query);
		}
		if (!in || in_size < sizeof query || query.PropertyId != StorageDeviceProperty ||
		    query.QueryType != PropertyStandardQuery) {
			reply->error = ERROR_INVALID_PARAMETER;
		} else {
			describe_disk(device, reply);
		}
	} else if (device->is_disk && code == IOCTL_DISK_GET_DRIVE_GEOMETRY) {
		memcpy(reply->bytes, &geometry, sizeof geometry);
		reply->size = sizeof geometry;
		reply->error = out_size < sizeof geometry ? ERROR_INSUFFICIENT_BUFFER : 0;
	} else if (!device->is_disk && code == IOCTL_STORAGE_GET_DEVICE_NUMBER &&
		   device->disk_count == 1 && device->partition != 0) {
		memcpy(reply->bytes, &number, sizeof number);
		reply->size = sizeof number;
		reply->error = out_size < sizeof number ? ERROR_INSUFFICIENT_BUFFER : 0;
	} else if (!device->is_disk && code == IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS &&
		   device->disk_count > 0) {
		describe_extents(device, out_size, reply);
	} else {
		reply->error = ERROR_INVALID_FUNCTION;
	}
}

BOOL WINAPI DeviceIoControl(HANDLE handle, DWORD code, LPVOID in, DWORD in_size, LPVOID out,
			    DWORD out_size, LPDWORD returned, LPOVERLAPPED overlapped)
{
	uint32_t error = fake_enter(CALL_DeviceIoControl);
	const struct device *device = fake_device_of_handle(handle);
	struct reply reply = { .size = 0 };

	if (error == 0 && (overlapped || !returned)) {
		fake_refuse("DeviceIoControl", "asynchronous calls");
		error = ERROR_NOT_SUPPORTED;
	} else if (error == 0 && !device) {
		error = ERROR_INVALID_HANDLE;
	}
	if (error == 0 && device->hangs) {
		hanging++;
		os_condition_wake_all(&fake.changed);
		while (device->hangs) {
			os_condition_wait(&fake.changed, &fake.lock, UINT64_C(1000000000));
		}
		hanging--;
	}
	if (error == 0 && !device->attached) {
		error = ERROR_FILE_NOT_FOUND;
	}
	if (error == 0) {
		reply_of(device, code, in, in_size, out_size, &reply);
		error = reply.error;
		*returned = (DWORD)(reply.size < out_size ? reply.size : out_size);
		if (*returned > 0) {
			memcpy(out, reply.bytes, *returned);
		}
	}
	return fake_leave(error);
}

IMPORTED(GetLogicalDrives);
IMPORTED(QueryDosDeviceW);
IMPORTED(FindFirstVolumeW);
IMPORTED(FindNextVolumeW);
IMPORTED(FindVolumeClose);
IMPORTED(GetVolumePathNamesForVolumeNameW);
IMPORTED(GetVolumeInformationW);
IMPORTED(CreateFileW);
IMPORTED(DeviceIoControl);
