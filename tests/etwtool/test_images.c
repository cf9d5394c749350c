/* SPDX-License-Identifier: MIT */
#include <etw/kernel.h>
#include <etw/mirror.h>

#include "etwtool/dump/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/source/provider_names.h"

/* A change at a time: kernel opcodes, or the ids of Kernel-Process behind 100. */
struct image_change {
	int64_t time;
	unsigned change;
	uint32_t process_id;
	uint64_t base, size;
	const char *path;
};

enum { LOAD = 10, UNLOAD = 2, FIRST = 3, LAST = 4, PROVIDER = 100 };

static void learn_change(struct images *images, const struct image_change *row)
{
	struct etw_record record = { .raw_time = row->time, .pointer_size = 8 };
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_u64(&payload, row->base);
	etw_payload_u64(&payload, row->size);
	etw_payload_u32(&payload, row->process_id);
	if (row->change >= PROVIDER) {
		record.provider = &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS].guid;
		record.id = (uint16_t)(row->change - PROVIDER);
		etw_payload_zeros(&payload, 16);
	} else {
		record.provider = etw_kernel_group_guid(ETW_KERNEL_GROUP_IMAGE);
		record.classic = true;
		record.kernel_group = ETW_KERNEL_GROUP_IMAGE;
		record.opcode = (uint8_t)row->change;
		record.version = 3;
		etw_payload_zeros(&payload, 36); /* ImageChecksum to Reserved4 */
	}
	etw_payload_wstring(&payload, row->path);
	record.payload = payload.bytes;
	record.payload_size = (uint32_t)payload.size;
	images_learn(images, &record);
	etw_payload_done(&payload);
}

static struct images *images_of(const struct image_change *rows, size_t count)
{
	struct etw_error err = { 0 };
	struct images *images = images_new(&err);

	assert_non_null(images);
	for (size_t i = 0; i < count; i++) {
		learn_change(images, &rows[i]);
	}
	assert_true(images_finish(images));
	return images;
}

#define IMAGES_OF(rows) images_of(rows, sizeof(rows) / sizeof(rows)[0])

/* name: NULL for an address that is in no image. */
static void assert_at(const struct images *images, uint32_t process_id, uint64_t address,
		      int64_t time, const char *name, uint64_t offset)
{
	uint64_t found = 0;
	const char *image = images_find(images, process_id, address, time, &found);

	if (!name) {
		assert_null(image);
		return;
	}
	assert_non_null(image);
	assert_string_equal(image, name);
	assert_int_equal(found, offset);
}

static void an_image_is_there_from_its_load_to_its_unload(void **state)
{
	static const struct image_change rows[] = {
		/* Not in the order of time, as buffers of processors are. */
		{ 500, LOAD, 7, 0x10000, 0x1000, "C:\\dir\\Second.dll" },
		{ 100, LOAD, 7, 0x10000, 0x2000, "\\Device\\HarddiskVolume3\\first.dll" },
		{ 300, UNLOAD, 7, 0x10000, 0x2000, "\\Device\\HarddiskVolume3\\first.dll" },
		{ 10, FIRST, 7, 0x400000, 0x1000, "a.exe" },
		{ 900, LAST, 7, 0x400000, 0x1000, "a.exe" },
		{ 900, LAST, 7, 0x500000, 0x1000, "only_last.dll" },
		{ 600, UNLOAD, 7, 0x600000, 0x1000, "only_unload.dll" },
	};
	struct images *images = IMAGES_OF(rows);

	(void)state;
	assert_at(images, 7, 0x10000, 99, NULL, 0);
	assert_at(images, 7, 0x10000, 100, "first.dll", 0);
	assert_at(images, 7, 0x11fff, 300, "first.dll", 0x1fff);
	assert_at(images, 7, 0x12000, 200, NULL, 0);
	assert_at(images, 7, 0x0ffff, 200, NULL, 0);
	assert_at(images, 7, 0x10010, 400, NULL, 0);
	assert_at(images, 7, 0x10010, 500, "Second.dll", 0x10);
	assert_at(images, 7, 0x11010, 600, NULL, 0); /* it is smaller */
	assert_at(images, 7, 0x400001, INT64_MIN, "a.exe", 1);
	assert_at(images, 7, 0x400001, INT64_MAX, "a.exe", 1);
	assert_at(images, 7, 0x500001, 0, "only_last.dll", 1);
	assert_at(images, 7, 0x600001, 600, "only_unload.dll", 1);
	assert_at(images, 7, 0x600001, 601, NULL, 0);
	assert_at(images, 8, 0x400001, 50, NULL, 0); /* another process */
	images_free(images);
}

static void a_lost_unload_ends_with_the_next_load(void **state)
{
	static const struct image_change rows[] = {
		{ 100, LOAD, 7, 0x10000, 0x2000, "one.dll" },
		{ 200, LOAD, 7, 0x10000, 0x2000, "two.dll" },
		{ 300, UNLOAD, 7, 0x10000, 0x2000, "three.dll" }, /* its load was lost */
		{ 400, LAST, 7, 0x10000, 0x2000, "four.dll" },
	};
	struct images *images = IMAGES_OF(rows);

	(void)state;
	assert_at(images, 7, 0x10000, 150, "one.dll", 0);
	assert_at(images, 7, 0x10000, 250, "two.dll", 0);
	assert_at(images, 7, 0x10000, 450, "four.dll", 0);
	images_free(images);
}

static void the_kernel_has_images_in_all_processes(void **state)
{
	static const struct image_change rows[] = {
		{ 1, FIRST, 0, 0xfffff80000000000, 0x1000, "\\SystemRoot\\system32\\ntoskrnl.exe" },
		{ 1, FIRST, 0, UINT64_MAX - 0xfff, UINT64_MAX, "end.sys" },
		{ 5, PROVIDER + 5, 7, 0x10000, 0x1000, "\\Device\\HarddiskVolume3\\a.dll" },
		{ 9, PROVIDER + 6, 7, 0x10000, 0x1000, "\\Device\\HarddiskVolume3\\a.dll" },
		{ 5, PROVIDER + 7, 7, 0x20000, 0x1000, "no.dll" },
		{ 5, 33, 7, 0x20000, 0x1000, "no.dll" },
		{ 5, LOAD, 7, 0x30000, 0, "empty.dll" },
		{ INT64_MIN, LOAD, 7, 0x30000, 0x1000, "no_time.dll" },
		{ 5, LOAD, 7, 0x30000, 0x1000, "no_name\\" },
	};
	struct images *images = IMAGES_OF(rows);

	(void)state;
	assert_at(images, 7, 0xfffff80000000010, 3, "ntoskrnl.exe", 0x10);
	assert_at(images, 0, 0xfffff80000000010, 3, "ntoskrnl.exe", 0x10);
	assert_at(images, UINT32_MAX, 0xfffff80000000010, 3, "ntoskrnl.exe", 0x10);
	assert_at(images, 7, UINT64_MAX, 3, "end.sys", 0xfff);
	assert_at(images, 7, 0x10010, 4, NULL, 0);
	assert_at(images, 7, 0x10010, 5, "a.dll", 0x10);
	assert_at(images, 7, 0x10010, 10, NULL, 0);
	assert_at(images, 7, 0x20010, 5, NULL, 0);
	assert_at(images, 7, 0x30010, 5, NULL, 0);
	images_free(images);
}

static void no_images_are_no_names(void **state)
{
	struct images *images = images_of(NULL, 0);

	(void)state;
	assert_at(images, 0, 0, 0, NULL, 0);
	images_free(images);
	images_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_is_there_from_its_load_to_its_unload),
		cmocka_unit_test(a_lost_unload_ends_with_the_next_load),
		cmocka_unit_test(the_kernel_has_images_in_all_processes),
		cmocka_unit_test(no_images_are_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
