/* SPDX-License-Identifier: MIT */
/*
 * Lists of what exists on the machine: what of two lists is announced, and how many facts they
 * take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "lib/live/machine.h"

static void on_volume(void *context, const char *nt_path, const char *dos_path)
{
	text_add_format(context, "%s=%s ", nt_path, dos_path ? dos_path : "gone");
}

static void on_disk(void *context, uint32_t disk, const char *model, uint32_t bytes_per_sector)
{
	text_add_format(context, "disk%u=%s,%u ", (unsigned)disk, model ? model : "gone",
			(unsigned)bytes_per_sector);
}

static void on_partition(void *context, uint32_t disk, uint32_t partition, const char *volume,
			 const char *file_system)
{
	text_add_format(context, "%u/%d=%s,%s ", (unsigned)disk, (int)partition, volume,
			file_system ? file_system : "gone");
}

static void on_service(void *context, uint32_t process_id, uint32_t tag, const char *name)
{
	text_add_format(context, "%u:%u=%s ", (unsigned)process_id, (unsigned)tag,
			name ? name : "gone");
}

static void add(struct machine *machine, enum machine_type type, uint32_t id, uint32_t part,
		const char *key, const char *text)
{
	char copies[3][64] = { "", "", "NTFS" };

	snprintf(copies[0], sizeof copies[0], "%s", key);
	snprintf(copies[1], sizeof copies[1], "%s", text);
	machine_add(machine, &(struct machine_fact){ .type = type,
						     .id = id,
						     .part = part,
						     .key = copies[0],
						     .number = 512,
						     .text = copies[1],
						     .second = copies[2] });
}

static void expect(const struct machine *before, const struct machine *now, const char *announced)
{
	struct etw_text text = { 0 };
	const struct etw_event_sink sink = { .context = &text,
					     .on_volume = on_volume,
					     .on_disk = on_disk,
					     .on_partition = on_partition,
					     .on_service = on_service };
	const struct etw_event_sink deaf = { .context = NULL };

	text_add(&text, "", 0);
	machine_announce(before, now, &sink);
	assert_string_equal(text.size > 0 ? text.data : "", announced);
	machine_announce(before, now, &deaf);
	text_free(&text);
}

static void what_differs_is_announced_and_what_is_gone_first(void **state)
{
	struct machine empty = { .count = 0 }, before = { .count = 0 }, now = { .count = 0 };

	(void)state;
	add(&before, MACHINE_SERVICE, 8, 0, "", "Dnscache");
	add(&before, MACHINE_VOLUME, 0, 0, "V9", "D:\\data");
	add(&before, MACHINE_VOLUME, 0, 0, "V7", "E:\\folder");
	add(&before, MACHINE_VOLUME, 0, 0, "V7", "E:"); /* a letter rather than a folder */
	add(&before, MACHINE_DISK, 1, 0, "", "Disk");
	add(&before, MACHINE_PARTITION, 1, 2, "", "E:");
	add(&before, MACHINE_PARTITION, 1, ETW_SOURCE_NO_PARTITION, "F:", "F:");
	machine_sort(&before);
	assert_int_equal(before.count, 6);
	expect(&empty, &before,
	       "V7=E: V9=D:\\data disk1=Disk,512 1/2=E:,NTFS 1/-1=F:,NTFS 8:0=Dnscache ");
	expect(&before, &before, "");
	assert_true(machine_equal(&before, &before));
	assert_false(machine_equal(&before, &empty));

	add(&now, MACHINE_VOLUME, 0, 0, "V9", "E:");
	add(&now, MACHINE_VOLUME, 0, 0, "V8", "G:");
	add(&now, MACHINE_DISK, 1, 0, "", "Disk");
	add(&now, MACHINE_PARTITION, 1, 2, "", "");
	add(&now, MACHINE_SERVICE, 8, 5, "", "Dnscache");
	machine_sort(&now);
	expect(&before, &now, "V7=gone 1/-1=F:,gone 8:0=gone V8=G: V9=E: 1/2=,NTFS 8:5=Dnscache ");
	expect(&now, &empty, "V8=gone V9=gone disk1=gone,512 1/2=,gone 8:5=gone ");
	assert_false(machine_equal(&before, &now));
	machine_clear(&before);
	machine_clear(&now);
	assert_int_equal(now.count, 0);
}

static void lists_are_bounded(void **state)
{
	struct machine machine = { .count = 0 };
	char name[32];

	(void)state;
	for (unsigned type = 0; type < MACHINE_TYPES; type++) {
		for (unsigned i = 0; i < 6000; i++) {
			snprintf(name, sizeof name, "%u", i);
			add(&machine, (enum machine_type)type, i, 0, name, name);
		}
	}
	assert_int_equal(machine.count, 256 + 256 + 1024 + 4096);
	machine_sort(&machine);
	assert_int_equal(machine.count, 256 + 256 + 1024 + 4096);
	machine_clear(&machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_differs_is_announced_and_what_is_gone_first),
		cmocka_unit_test(lists_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
