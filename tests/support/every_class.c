/* SPDX-License-Identifier: MIT */
#include "tests/support/every_class.h"

#include <string.h>

#include "tests/support/kernel_events.h"

static const struct etw_guid shop =
	ETW_GUID_INIT(0x4b3c1f0e, 0x7a52, 0x5d91, 0x8e, 0x20, 0x1f, 0x66, 0xb0, 0x4a, 0x93, 0xd7);
static const struct etw_guid service =
	ETW_GUID_INIT(0x6e1d77b0, 0x04c9, 0x4e0f, 0x92, 0x1f, 0x33, 0x10, 0x5b, 0xd8, 0x6a, 0x01);
static const struct etw_guid meta_data =
	ETW_GUID_INIT(0xbbccf6c1, 0x6cd1, 0x48c4, 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71);
static const struct etw_guid process_class =
	ETW_GUID_INIT(0x3d6fa8d0, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c);

struct etw_writer_options every_class_options(uint8_t pointer_size, enum etw_clock_type clock,
					      bool compressed)
{
	return (struct etw_writer_options){
		.pointer_size = pointer_size,
		.processors = EVERY_CLASS_PROCESSORS,
		.buffer_size = EVERY_CLASS_BUFFER_SIZE,
		.header_buffer_size = 512,
		.processor_index = true,
		.compressed = compressed,
		.clock = clock,
		.start_raw = 5000000,
		.session_name = "Every kind",
	};
}

/* Every record a little later than the one before, on the other processor. */
static void next_moment(struct kernel_events *k)
{
	k->raw_time += 1100;
	k->processor ^= 1;
}

/* --- the kernel ------------------------------------------------------------------------------- */

static void add_processes(struct kernel_events *k)
{
	struct kernel_process process = { .id = 100,
					  .parent_id = 4,
					  .exit_status = 259,
					  .key = 0x8a001000,
					  .sid = "S-1-5-21-1-2-3-500",
					  .image = "alpha.exe",
					  .command_line = "alpha -x" };
	struct kernel_thread thread = {
		.process_id = 100, .id = 104, .stack_base = 0x9b008000, .name = "worker"
	};
	struct kernel_image image = { .base = 0x10000000,
				      .size = 0x20000,
				      .process_id = 100,
				      .file_name = "\\Device\\HarddiskVolume3\\alpha.exe" };
	const struct kernel_image driver = { .base = 0x80000000,
					     .size = 0x20000,
					     .file_name = "\\SystemRoot\\drivers\\nic.sys" };

	event_process(k, OP_DC_START, &process);
	next_moment(k);
	event_thread(k, OP_DC_START, &thread);
	next_moment(k);
	event_image(k, OP_DC_START, &driver);
	next_moment(k);
	process.id = thread.process_id = image.process_id = 200;
	thread.id = 204;
	process.sid = NULL;
	process.image = "beta.exe";
	event_process(k, OP_START, &process);
	next_moment(k);
	event_thread(k, OP_START, &thread);
	next_moment(k);
	event_image(k, OP_IMAGE_LOAD, &image);
	next_moment(k);
	event_image(k, OP_IMAGE_UNLOAD, &image);
	next_moment(k);
	event_thread(k, OP_STOP, &thread);
	next_moment(k);
	process.exit_status = UINT32_C(0xc0000005);
	event_process(k, OP_STOP, &process);
	next_moment(k);
}

static void add_files(struct kernel_events *k)
{
	const struct kernel_file file = {
		.irp = 0x8f000010, .object = 0x8f100010, .key = 0x9a000170, .thread_id = 104
	};
	struct kernel_disk disk = { .disk = 1,
				    .size = 4096,
				    .offset = 8192,
				    .file_key = file.key,
				    .irp = file.irp,
				    .response_ticks = 2500,
				    .thread_id = 104 };
	const struct kernel_hard_fault fault = { .initial_raw = k->raw_time,
						 .address = 0x10001000,
						 .file_key = file.key,
						 .thread_id = 104,
						 .size = 4096 };

	event_file_create(k, &file, "\\Device\\HarddiskVolume3\\log.txt", 0x60, 7);
	next_moment(k);
	event_file_end(k, file.irp, 1, 0);
	next_moment(k);
	event_file_name(k, OP_FILE_NAME_CREATE, file.key, "\\Device\\HarddiskVolume3\\log.txt");
	next_moment(k);
	event_file_transfer(k, OP_FILE_READ, &file, 0, 512, FILE_IO_CACHED_READ);
	next_moment(k);
	event_file_transfer(k, OP_FILE_WRITE, &file, 512, 4096, FILE_IO_PAGING);
	next_moment(k);
	event_file_info(k, OP_FILE_SET_INFO, &file, 0, 20);
	next_moment(k);
	event_file_dir_enum(k, OP_FILE_DIR_ENUM, &file, 4096, 37, "*");
	next_moment(k);
	event_file_path(k, OP_FILE_RENAME_PATH, &file, 10, "\\Device\\HarddiskVolume3\\old.txt");
	next_moment(k);
	event_file_simple(k, OP_FILE_CLOSE, &file);
	next_moment(k);
	event_file_name(k, OP_FILE_NAME_DELETE, file.key, "\\Device\\HarddiskVolume3\\log.txt");
	next_moment(k);
	event_disk(k, OP_DISK_READ_INIT, &disk);
	next_moment(k);
	event_disk(k, OP_DISK_READ, &disk);
	next_moment(k);
	event_disk(k, OP_DISK_WRITE, &disk);
	next_moment(k);
	event_disk(k, OP_DISK_FLUSH, &disk);
	next_moment(k);
	event_hard_fault(k, &fault);
	next_moment(k);
}

static void add_network(struct kernel_events *k)
{
	struct kernel_network network = { .process_id = 100,
					  .size = 1460,
					  .remote = { 10, 0, 0, 7 },
					  .local = { 10, 0, 0, 8 },
					  .remote_port = 443,
					  .local_port = 50000,
					  .connection = 0x8b000000 };

	event_network(k, OP_NET_CONNECT, &network);
	next_moment(k);
	event_network(k, OP_NET_SEND, &network);
	next_moment(k);
	network.ipv6 = true;
	event_network(k, OP_NET_RECEIVE, &network);
	next_moment(k);
	network.udp = true;
	event_network(k, OP_NET_SEND, &network);
	next_moment(k);
	event_network_fail(k, false, 2, 5);
	next_moment(k);
}

static void add_scheduler(struct kernel_events *k)
{
	const struct kernel_switch change = { .new_thread_id = 104,
					      .old_wait_reason = 15,
					      .old_state = 5 };

	event_ready_thread(k, 104);
	next_moment(k);
	event_context_switch(k, &change);
	next_moment(k);
	event_sample(k, 0x80001000, 104);
	next_moment(k);
	event_isr(k, k->raw_time - 50, 0x80001000, 0x61, true);
	next_moment(k);
	event_dpc(k, 68, k->raw_time - 50, 0x80001000);
	next_moment(k);
}

static void add_system(struct kernel_events *k)
{
	const struct kernel_physical_disk disk = { 1, 512, 100, "A disk", 1, "C" };
	const struct kernel_logical_disk volume = { 0, 1000, 1, 1, "C:", "NTFS", 100, 50 };

	event_system_physical_disk(k, &disk);
	next_moment(k);
	event_system_logical_disk(k, &volume);
	next_moment(k);
	event_volume_mapping(k, "\\Device\\HarddiskVolume3\\", "C:\\");
	next_moment(k);
	event_trace_rundown_complete(k);
	next_moment(k);
}

void every_class_add_kernel(struct etw_writer *writer, uint8_t pointer_size)
{
	struct kernel_events k;

	kernel_events_init(&k, writer, pointer_size);
	kernel_events_at(&k, 0, 5000000, 4, 8);
	event_trace_extension(&k, 5, 0x07012b77, 2, true);
	next_moment(&k);
	add_processes(&k);
	add_files(&k);
	add_network(&k);
	add_scheduler(&k);
	add_system(&k);
	kernel_events_done(&k);
}

/* --- programs --------------------------------------------------------------------------------- */

static struct etw_out_record event(uint8_t pointer_size, const struct etw_guid *provider,
				   uint16_t id, int64_t raw_time)
{
	return (struct etw_out_record){ .type = ETW_RECORD_EVENT,
					.pointer_size = pointer_size,
					.raw_time = raw_time,
					.process_id = 100,
					.thread_id = 104,
					.provider = provider,
					.id = id,
					.level = 4,
					.opcode = 1,
					.keyword = 8 };
}

/* A TraceLogging event of every shape: scalar, string, array of fixed and of variable count,
 * struct. */
static void add_self_describing(struct etw_writer *writer, uint8_t pointer_size,
				struct etw_payload *p)
{
	static const char metadata[] = "\x3e\0\0Ordered\0id\0\x0a"
				       "who\0\x01"
				       "xs\0\x28\x02\0"
				       "ys\0\x46"
				       "port\0\x86\x07"
				       "at\0\x98\x02"
				       "a\0\x04"
				       "b\0\x17"
				       "why\0\x0e"
				       "ok\0\x84\x03";
	static const char traits[] = "\x23\0Shop\0\x13\0\x01"
				     "group-guid-bytes"
				     "\x08\0\x02"
				     "extra";
	uint8_t metadata_bytes[sizeof metadata - 1];
	uint8_t traits_bytes[sizeof traits - 1];
	const struct etw_out_item items[] = {
		{ ETW_EXTENDED_PROVIDER_TRAITS, sizeof traits_bytes, traits_bytes },
		{ ETW_EXTENDED_TRACELOGGING, sizeof metadata_bytes, metadata_bytes }
	};
	struct etw_out_record record = event(pointer_size, &shop, 0, 5100000);

	memcpy(metadata_bytes, metadata, sizeof metadata_bytes);
	memcpy(traits_bytes, traits, sizeof traits_bytes);
	metadata_bytes[0] = sizeof metadata_bytes;
	traits_bytes[0] = sizeof traits_bytes;
	etw_payload_clear(p);
	etw_payload_u64(p, 77);
	etw_payload_wstring(p, "Fabrikam");
	etw_payload_u32(p, 1);
	etw_payload_u32(p, 2);
	etw_payload_u16(p, 2);
	etw_payload_u16(p, 'h');
	etw_payload_u16(p, 'i');
	etw_payload_port(p, 443);
	etw_payload_u8(p, 5);
	etw_payload_u16(p, 2);
	etw_payload_bytes(p, "ab", 2);
	etw_payload_u16(p, 1);
	etw_payload_u8(p, 9);
	etw_payload_u8(p, 1);
	record.channel = 11;
	record.items = items;
	record.item_count = 2;
	etl_writer_add_payload(writer, &record, p);
}

/* An EventSource manifest in two chunks, behind the event that it describes. */
static void add_event_source(struct etw_writer *writer, uint8_t pointer_size, struct etw_payload *p)
{
	static const char xml[] =
		"<instrumentationManifest xmlns=\"urn:x\"><instrumentation><events><provider name=\"Service\" "
		"guid=\"{6e1d77b0-04c9-4e0f-921f-33105bd86a01}\"><tasks><task name=\"Work\" value=\"1\"/></tasks>"
		"<events><event value=\"1\" version=\"0\" level=\"win:Informational\" symbol=\"Work\" task=\"Work\" "
		"template=\"t\"/></events><templates><template tid=\"t\"><data name=\"n\" inType=\"win:UInt32\"/>"
		"</template></templates></provider></events></instrumentation></instrumentationManifest>";
	const size_t half = sizeof xml / 2;
	struct etw_out_record record = event(pointer_size, &service, 1, 5110000);

	etw_payload_clear(p);
	etw_payload_u32(p, 42);
	etl_writer_add_payload(writer, &record, p);
	for (uint16_t chunk = 0; chunk < 2; chunk++) {
		etw_payload_clear(p);
		etw_payload_u8(p, 1);
		etw_payload_u8(p, 1);
		etw_payload_u8(p, 0);
		etw_payload_u8(p, 0x5b);
		etw_payload_u16(p, 2);
		etw_payload_u16(p, chunk);
		etw_payload_bytes(p, chunk ? xml + half : xml,
				  chunk ? sizeof xml - 1 - half : half);
		record.id = 0xfffe;
		record.opcode = 0xfe;
		record.task = 0xfffe;
		record.raw_time += 100;
		etl_writer_add_payload(writer, &record, p);
	}
}

/* An EventInfo with two properties (one a map's, one an array's length) and the map. */
static void add_descriptions(struct etw_writer *writer, uint8_t pointer_size, struct etw_payload *p)
{
	enum { PROPERTIES = 2, STRINGS = 112 + 24 * PROPERTIES };
	struct etw_out_record record = { .type = ETW_RECORD_FULL,
					 .pointer_size = pointer_size,
					 .raw_time = 5120000,
					 .provider = &meta_data };

	etw_payload_clear(p);
	etw_payload_guid(p, &service);
	etw_payload_zeros(p, 16);
	etw_payload_u16(p, 2); /* the event: id 2, version 0 */
	etw_payload_zeros(p, 14);
	etw_payload_u32(p, 0);       /* source: a manifest */
	etw_payload_u32(p, STRINGS); /* provider name */
	etw_payload_zeros(p, 100 - 56);
	etw_payload_u32(p, PROPERTIES);
	etw_payload_u32(p, PROPERTIES);
	etw_payload_u32(p, 0);
	etw_payload_u32(p, 0); /* count: u32, with a map */
	etw_payload_u32(p, STRINGS + 16);
	etw_payload_u16(p, 8);
	etw_payload_u16(p, 0);
	etw_payload_u32(p, STRINGS + 28);
	etw_payload_u16(p, 1);
	etw_payload_u16(p, 4);
	etw_payload_u32(p, 0);
	etw_payload_u32(p, 2); /* bytes: as long as count says */
	etw_payload_u32(p, STRINGS + 36);
	etw_payload_u16(p, 14);
	etw_payload_u16(p, 0);
	etw_payload_u32(p, 0);
	etw_payload_u16(p, 1);
	etw_payload_u16(p, 0);
	etw_payload_u32(p, 0);
	etw_payload_wstring(p, "Service");
	etw_payload_wstring(p, "count");
	etw_payload_wstring(p, "Map");
	etw_payload_wstring(p, "bytes");
	record.opcode = 32;
	etl_writer_add_payload(writer, &record, p);

	etw_payload_clear(p);
	etw_payload_guid(p, &service);
	etw_payload_u32(p, 32); /* map name */
	etw_payload_u32(p, 1);
	etw_payload_u32(p, 2);
	etw_payload_u32(p, 0);
	etw_payload_u32(p, 40);
	etw_payload_u32(p, 1);
	etw_payload_u32(p, 48);
	etw_payload_u32(p, 2);
	etw_payload_wstring(p, "Map");
	etw_payload_wstring(p, "One");
	etw_payload_wstring(p, "Two");
	record.opcode = 33;
	record.raw_time += 100;
	etl_writer_add_payload(writer, &record, p);
}

/* An event with a related activity and a stack, as a kernel writes it on request. */
static void add_stack(struct etw_writer *writer, uint8_t pointer_size)
{
	static const uint8_t stack[8 + 3 * 8] = { [0] = 1, [8] = 0x10, [16] = 0x20, [24] = 0x30 };
	const struct etw_out_item items[] = { { ETW_EXTENDED_RELATED_ACTIVITY, 16, &shop },
					      { ETW_EXTENDED_STACK64, sizeof stack, stack } };
	struct etw_out_record record = event(pointer_size, &service, 2, 5130000);

	record.processor = 1;
	record.activity = &shop;
	record.items = items;
	record.item_count = 2;
	record.payload = "\3\0\0\0abc";
	record.payload_size = 7;
	etw_writer_add(writer, &record);
}

void every_class_add_programs(struct etw_writer *writer, uint8_t pointer_size)
{
	struct etw_payload payload;

	etw_payload_init(&payload, pointer_size);
	add_self_describing(writer, pointer_size, &payload);
	add_event_source(writer, pointer_size, &payload);
	add_descriptions(writer, pointer_size, &payload);
	add_stack(writer, pointer_size);
	etw_payload_done(&payload);
}

/* --- rare types ------------------------------------------------------------------------------- */

void every_class_add_rare(struct etw_writer *writer, uint8_t pointer_size)
{
	static const uint64_t pebs = 5;
	static const uint64_t counters[] = { 6, 7 };
	static const uint8_t process_stop[] = { 100, 0, 0, 0 };
	static const enum etw_record_type skipped[] = { ETW_RECORD_TIMED, ETW_RECORD_ERROR,
							ETW_RECORD_WNODE, ETW_RECORD_MESSAGE_TYPED,
							ETW_RECORD_UNKNOWN };
	struct etw_out_record record = { .type = ETW_RECORD_COMPACT,
					 .pointer_size = pointer_size,
					 .raw_time = 5200000,
					 .process_id = 100,
					 .thread_id = 104,
					 .group = GROUP_PROCESS,
					 .opcode = 11,
					 .version = 2,
					 .pebs_index = &pebs,
					 .counters = counters,
					 .counter_count = 2,
					 .payload = process_stop,
					 .payload_size = sizeof process_stop };

	etw_writer_add(writer, &record);
	record.type = ETW_RECORD_PERFINFO;
	record.counter_count = 0;
	etw_writer_add(writer, &record);
	record.type = ETW_RECORD_INSTANCE;
	record.provider = &process_class;
	record.activity = &shop;
	etw_writer_add(writer, &record);
	record.type = ETW_RECORD_EVENT; /* a classic event in the header of a modern one */
	record.flags = 0x100;
	etw_writer_add(writer, &record);
	record.type = ETW_RECORD_STRING;
	record.flags = 0;
	record.payload = "t\0e\0x\0t\0\0";
	record.payload_size = 10;
	etw_writer_add(writer, &record);
	record.payload = process_stop;
	record.payload_size = sizeof process_stop;
	record.type = ETW_RECORD_MESSAGE;
	for (uint16_t options = 0; options < 0x40; options = (uint16_t)(options * 2 + 1)) {
		record.flags = options;
		record.id = 12;
		etw_writer_add(writer, &record);
	}
	record.processor = 1;
	for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
		record.type = skipped[i];
		etw_writer_add(writer, &record);
	}
}

void every_class_add(struct etw_writer *writer, uint8_t pointer_size)
{
	every_class_add_kernel(writer, pointer_size);
	every_class_add_programs(writer, pointer_size);
	every_class_add_rare(writer, pointer_size);
}
