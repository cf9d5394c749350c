/* SPDX-License-Identifier: MIT */
#include "tests/support/stack_events.h"

#include "tests/support/kernel_events.h"

enum { GROUP_STACK_WALK = 0x18, APP = 100, OTHER = 200, TICKS_MS = 10000 };

#define KERNEL UINT64_C(0xfffff80000100000)
#define SYSTEM UINT64_C(0x7ff800000000)
#define PLUGIN UINT64_C(0x7ff900000000)

static const struct etw_guid shop = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } };

static void at(struct kernel_events *k, uint16_t processor, int64_t ms, uint32_t process_id)
{
	kernel_events_at(k, processor, ms * TICKS_MS, process_id, process_id + 1);
}

static void stack_add(struct kernel_events *k, uint8_t opcode)
{
	event_add(k, ETW_RECORD_PERFINFO, GROUP_STACK_WALK, opcode, 2);
}

/* Of the event of the process's thread at a moment. */
static void add_stack(struct kernel_events *k, int64_t event_ms, uint32_t process_id,
		      uint64_t address, unsigned count)
{
	etw_payload_u64(&k->payload, (uint64_t)event_ms * TICKS_MS);
	etw_payload_u32(&k->payload, process_id);
	etw_payload_u32(&k->payload, process_id + 1);
	for (unsigned i = 0; i < count; i++) {
		etw_payload_pointer(&k->payload, address + i);
	}
	stack_add(k, 32);
}

/* 37: the kernel's part, 38: the program's. */
static void add_reference(struct kernel_events *k, uint8_t opcode, int64_t event_ms,
			  uint32_t process_id, uint64_t key)
{
	etw_payload_u64(&k->payload, (uint64_t)event_ms * TICKS_MS);
	etw_payload_u32(&k->payload, process_id);
	etw_payload_u32(&k->payload, process_id + 1);
	etw_payload_pointer(&k->payload, key);
	stack_add(k, opcode);
}

/* 35: the stack leaves the cache, 36: it is there at the end. */
static void add_definition(struct kernel_events *k, uint8_t opcode, uint64_t key, uint64_t first,
			   uint64_t second)
{
	etw_payload_pointer(&k->payload, key);
	etw_payload_pointer(&k->payload, first);
	etw_payload_pointer(&k->payload, second);
	stack_add(k, opcode);
}

static void add_image(struct kernel_events *k, enum lifetime_opcode opcode, uint32_t process_id,
		      uint64_t base, const char *name)
{
	event_image(k, opcode,
		    &(struct kernel_image){ .base = base,
					    .size = 0x10000,
					    .process_id = process_id,
					    .file_name = name });
}

static void add_program(struct kernel_events *k, uint32_t id, const char *image, const char *path)
{
	event_process(k, OP_DC_START,
		      &(struct kernel_process){
			      .id = id, .parent_id = 4, .image = image, .command_line = image });
	event_thread(k, OP_DC_START, &(struct kernel_thread){ .process_id = id, .id = id + 1 });
	add_image(k, OP_DC_START, id, 0x140000000, path);
	add_image(k, OP_DC_START, id, SYSTEM, "\\Windows\\System32\\ntdll.dll");
}

/* An event with a stack of its own. */
static void add_event(struct etw_writer *writer, int64_t ms, uint16_t id,
		      const struct etw_out_item *item)
{
	const struct etw_out_record record = {
		.type = ETW_RECORD_EVENT,
		.processor = 2,
		.raw_time = ms * TICKS_MS,
		.process_id = APP,
		.thread_id = APP + 1,
		.id = id,
		.provider = &shop,
		.items = item,
		.item_count = 1,
	};

	etw_writer_add(writer, &record);
}

static void add_own_stacks(struct etw_writer *writer)
{
	struct etw_payload stack;
	struct etw_out_item item = { .type = ETW_EXTENDED_STACK64 };

	etw_payload_init(&stack, 8);
	etw_payload_u64(&stack, 0); /* match id */
	etw_payload_u64(&stack, KERNEL + 0x10);
	etw_payload_u64(&stack, SYSTEM + 0x20);
	etw_payload_u64(&stack, PLUGIN + 0x30);
	etw_payload_u64(&stack, 0x1234);
	item.data = stack.bytes;
	item.size = (uint16_t)stack.size;
	add_event(writer, 3000, 1, &item); /* plug.dll is at PLUGIN … */
	add_event(writer, 4500, 1, &item); /* … no image … */
	add_event(writer, 5500, 1, &item); /* … other.dll */

	etw_payload_clear(&stack);
	etw_payload_u64(&stack, 7);
	etw_payload_u32(&stack, 0x40000010);
	etw_payload_u32(&stack, 0x9000);
	item.type = ETW_EXTENDED_STACK32;
	item.data = stack.bytes;
	item.size = (uint16_t)stack.size;
	add_event(writer, 5600, 2, &item);
	etw_payload_done(&stack);
}

static void add_all(struct kernel_events *k)
{
	at(k, 0, 1, 4);
	add_image(k, OP_DC_START, 0, KERNEL, "\\SystemRoot\\system32\\ntoskrnl.exe");
	add_program(k, APP, "app.exe", "\\Device\\HarddiskVolume1\\app.exe");
	add_program(k, OTHER, "other.exe", "\\Device\\HarddiskVolume1\\other.exe");
	add_image(k, OP_DC_START, APP, 0x40000000, "\\Device\\HarddiskVolume1\\wow.dll");

	/* Two samples of one moment; both parts of one stack. */
	at(k, 0, 1000, APP);
	event_sample(k, KERNEL + 1, APP + 1);
	at(k, 1, 1000, OTHER);
	event_sample(k, 0x140000001, OTHER + 1);
	at(k, 0, 1001, APP);
	add_reference(k, 37, 1000, APP, 0xa0);
	at(k, 1, 1001, OTHER);
	add_reference(k, 38, 1000, OTHER, 0xc0);
	at(k, 0, 1002, APP);
	add_reference(k, 38, 1000, APP, 0xb0);

	/* Addresses in place of a key; the thread stands in the header of the event. */
	at(k, 0, 2500, APP);
	event_disk(k, OP_DISK_WRITE_INIT, &(struct kernel_disk){ .thread_id = APP + 1 });
	at(k, 1, 2501, APP);
	add_stack(k, 2500, APP, KERNEL + 0x100, 3);
	at(k, 0, 2600, APP);
	add_image(k, OP_IMAGE_LOAD, APP, PLUGIN, "\\Device\\HarddiskVolume1\\plug.dll");

	/* The key of the first sample is defined, and then means another stack. */
	at(k, 0, 3100, APP);
	add_definition(k, 35, 0xb0, SYSTEM + 0xb1, 0x140000b00);
	at(k, 0, 3500, APP);
	event_sample(k, SYSTEM + 1, APP + 1);
	at(k, 0, 3501, APP);
	add_reference(k, 38, 3500, APP, 0xb0);
	at(k, 0, 4000, APP);
	add_image(k, OP_IMAGE_UNLOAD, APP, PLUGIN, "\\Device\\HarddiskVolume1\\plug.dll");

	/* A stack that follows its event a second later. */
	at(k, 1, 4900, OTHER);
	event_sample(k, KERNEL + 1, OTHER + 1);
	at(k, 0, 5000, APP);
	add_image(k, OP_IMAGE_LOAD, APP, PLUGIN, "\\Device\\HarddiskVolume1\\other.dll");
	at(k, 1, 5900, OTHER);
	add_reference(k, 38, 4900, OTHER, 0xc0);
	at(k, 1, 6000, OTHER);
	add_definition(k, 35, 0xc0, SYSTEM + 0xc1, 0x140000c00);

	at(k, 1, 7000, OTHER);
	event_sample(k, KERNEL + 1, OTHER + 1); /* without a stack */
	at(k, 0, 9000, 4);
	add_definition(k, 36, 0xa0, KERNEL + 0xa1, KERNEL + 0xa2);
	add_definition(k, 36, 0xb0, SYSTEM + 0xb2, 0x140000b01);
	add_definition(k, 36, 0xd0, SYSTEM + 0xd1, 0x140000d00); /* of no event */
}

struct etw_writer_options stack_events_options(void)
{
	return (struct etw_writer_options){ .processors = 3,
					    .buffer_size = 1024,
					    .header_buffer_size = 4096,
					    .session_name = "stacks" };
}

void stack_events_add(struct etw_writer *writer, uint8_t pointer_size)
{
	struct kernel_events k;

	(void)pointer_size;
	kernel_events_init(&k, writer, 8);
	add_all(&k);
	kernel_events_done(&k);
	add_own_stacks(writer);
}
