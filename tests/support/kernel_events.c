/* SPDX-License-Identifier: MIT */
/*
 * Payloads of kernel events: processes, threads, images, files, disks, memory. The network, the
 * scheduler, the registry and the system's configuration are in kernel_events_system.c.
 */
#include "tests/support/kernel_events.h"

void kernel_events_init(struct kernel_events *k, struct etl_writer *writer, uint8_t pointer_size)
{
	*k = (struct kernel_events){ .writer = writer };
	payload_init(&k->payload, pointer_size);
}

void kernel_events_done(struct kernel_events *k)
{
	payload_done(&k->payload);
}

void kernel_events_at(struct kernel_events *k, uint16_t processor, int64_t raw_time,
		      uint32_t process_id, uint32_t thread_id)
{
	k->processor = processor;
	k->raw_time = raw_time;
	k->process_id = process_id;
	k->thread_id = thread_id;
}

void event_add(struct kernel_events *k, enum record_type type, uint8_t group, uint8_t opcode,
	       uint8_t version)
{
	struct etl_out_record record = { .type = type,
					 .pointer_size = k->payload.pointer_size,
					 .processor = k->processor,
					 .raw_time = k->raw_time,
					 .process_id = k->process_id,
					 .thread_id = k->thread_id,
					 .group = group,
					 .opcode = opcode,
					 .version = version };

	etl_writer_add_payload(k->writer, &record, &k->payload);
	payload_clear(&k->payload);
	k->counts[group & 31][opcode & 127]++;
	k->records++;
}

void event_process(struct kernel_events *k, enum lifetime_opcode opcode,
		   const struct kernel_process *process)
{
	struct payload *p = &k->payload;
	bool rundown = opcode == OP_DC_START || opcode == OP_DC_STOP;

	payload_pointer(p, process->key);
	payload_u32(p, process->id);
	payload_u32(p, process->parent_id);
	payload_u32(p, process->session_id);
	payload_u32(p, process->exit_status);
	payload_pointer(p, process->key >> 8 & 0x3ffff000); /* DirectoryTableBase */
	payload_u32(p, 0);                                  /* Flags */
	payload_user_sid(p, process->sid);
	payload_astring(p, process->image);
	payload_wstring(p, process->command_line);
	payload_wstring(p, ""); /* PackageFullName */
	payload_wstring(p, ""); /* ApplicationId */
	event_add(k, rundown ? RECORD_PERFINFO : RECORD_SYSTEM, GROUP_PROCESS, (uint8_t)opcode, 4);
}

void event_process_terminate(struct kernel_events *k, uint32_t process_id)
{
	payload_u32(&k->payload, process_id);
	event_add(k, RECORD_SYSTEM, GROUP_PROCESS, 11, 2);
}

void event_thread(struct kernel_events *k, enum lifetime_opcode opcode,
		  const struct kernel_thread *thread)
{
	struct payload *p = &k->payload;

	payload_u32(p, thread->process_id);
	payload_u32(p, thread->id);
	payload_pointer(p, thread->stack_base);
	payload_pointer(p, thread->stack_base - 0x6000);
	payload_pointer(p, thread->process_id > 4 ?
				   UINT64_C(0x7a1f800000) + thread->id * UINT64_C(0x100000) :
				   0);
	payload_pointer(p, thread->process_id > 4 ?
				   UINT64_C(0x7a1f7f8000) + thread->id * UINT64_C(0x100000) :
				   0);
	payload_pointer(p, thread->affinity);
	payload_pointer(p, thread->start_address);
	payload_pointer(p, thread->process_id > 4 ?
				   UINT64_C(0x7a1f000000) + thread->id * UINT64_C(0x2000) :
				   0);
	payload_u32(p, thread->sub_process_tag);
	payload_u8(p, thread->base_priority);
	payload_u8(p, 5); /* PagePriority */
	payload_u8(p, 2); /* IoPriority */
	payload_u8(p, 0); /* ThreadFlags */
	if (thread->name) {
		payload_wstring(p, thread->name);
	}
	event_add(k, RECORD_SYSTEM, GROUP_THREAD, (uint8_t)opcode, 3);
}

void event_image(struct kernel_events *k, enum lifetime_opcode opcode,
		 const struct kernel_image *image)
{
	struct payload *p = &k->payload;

	payload_pointer(p, image->base);
	payload_pointer(p, image->size);
	payload_u32(p, image->process_id);
	payload_u32(p, image->checksum);
	payload_u32(p, image->time_stamp);
	payload_u8(p, 12); /* SignatureLevel */
	payload_u8(p, 1);  /* SignatureType */
	payload_u16(p, 0);
	payload_pointer(p, image->base);
	payload_zeros(p, 16);
	payload_wstring(p, image->file_name);
	/* The kernel counts a load to the Process group (docs/etl-format.md section 8). */
	event_add(k, RECORD_SYSTEM, opcode == OP_IMAGE_LOAD ? GROUP_PROCESS : GROUP_IMAGE,
		  (uint8_t)opcode, 3);
}

/* FileIo records have no ids in their header: the thread stands in the payload. */
static void add_file(struct kernel_events *k, enum file_opcode opcode)
{
	event_add(k, RECORD_PERFINFO, GROUP_FILE_IO, (uint8_t)opcode, 3);
}

void event_file_name(struct kernel_events *k, enum file_opcode opcode, uint64_t key,
		     const char *name)
{
	payload_pointer(&k->payload, key);
	payload_wstring(&k->payload, name);
	add_file(k, opcode);
}

void event_view(struct kernel_events *k, enum file_opcode opcode, const struct kernel_view *view)
{
	struct payload *p = &k->payload;

	payload_pointer(p, view->base);
	payload_pointer(p, view->file_key);
	payload_u64(p, (uint64_t)view->protection << 48); /* docs/etl-format.md section 16.4 */
	payload_pointer(p, view->size);
	payload_u64(p, 0); /* ByteOffset */
	payload_u32(p, view->process_id);
	add_file(k, opcode);
}

void event_file_create(struct kernel_events *k, const struct kernel_file *file, const char *path,
		       uint32_t options, uint32_t share)
{
	struct payload *p = &k->payload;

	payload_pointer(p, file->irp);
	payload_pointer(p, file->object);
	payload_u32(p, file->thread_id);
	payload_u32(p, options);
	payload_u32(p, 0x80); /* FileAttributes: normal */
	payload_u32(p, share);
	payload_wstring(p, path);
	add_file(k, OP_FILE_CREATE);
}

void event_file_transfer(struct kernel_events *k, enum file_opcode opcode,
			 const struct kernel_file *file, uint64_t offset, uint32_t size,
			 uint32_t flags)
{
	struct payload *p = &k->payload;

	payload_u64(p, offset);
	payload_pointer(p, file->irp);
	payload_pointer(p, file->object);
	payload_pointer(p, file->key);
	payload_u32(p, file->thread_id);
	payload_u32(p, size);
	payload_u32(p, flags);
	add_file(k, opcode);
}

void event_filter_call(struct kernel_events *k, enum filter_opcode opcode,
		       const struct kernel_filter_call *call)
{
	struct payload *p = &k->payload;

	if (opcode != OP_FILTER_POST_FAILURE) {
		payload_u64(p, (uint64_t)call->initial_raw);
	}
	payload_pointer(p, call->routine);
	payload_pointer(p, call->object);
	payload_pointer(p, call->object ^ 0x7f0); /* FileContext */
	payload_pointer(p, call->irp);
	payload_pointer(p, call->irp ^ 0x30); /* CallbackDataPtr */
	payload_u32(p, call->major);
	if (opcode == OP_FILTER_POST_FAILURE) {
		payload_u32(p, call->status);
	}
	event_add(k, RECORD_SYSTEM, GROUP_FILE_IO, (uint8_t)opcode, 3);
}

static void add_file_identifiers(struct payload *p, const struct kernel_file *file)
{
	payload_pointer(p, file->irp);
	payload_pointer(p, file->object);
	payload_pointer(p, file->key);
}

void event_file_simple(struct kernel_events *k, enum file_opcode opcode,
		       const struct kernel_file *file)
{
	add_file_identifiers(&k->payload, file);
	payload_u32(&k->payload, file->thread_id);
	add_file(k, opcode);
}

void event_file_info(struct kernel_events *k, enum file_opcode opcode,
		     const struct kernel_file *file, uint64_t extra, uint32_t info_class)
{
	add_file_identifiers(&k->payload, file);
	payload_pointer(&k->payload, extra);
	payload_u32(&k->payload, file->thread_id);
	payload_u32(&k->payload, info_class);
	add_file(k, opcode);
}

void event_file_path(struct kernel_events *k, enum file_opcode opcode,
		     const struct kernel_file *file, uint32_t info_class, const char *path)
{
	add_file_identifiers(&k->payload, file);
	payload_pointer(&k->payload, 0);
	payload_u32(&k->payload, file->thread_id);
	payload_u32(&k->payload, info_class);
	payload_wstring(&k->payload, path);
	add_file(k, opcode);
}

void event_file_dir_enum(struct kernel_events *k, enum file_opcode opcode,
			 const struct kernel_file *file, uint32_t length, uint32_t info_class,
			 const char *pattern)
{
	add_file_identifiers(&k->payload, file);
	payload_u32(&k->payload, file->thread_id);
	payload_u32(&k->payload, length);
	payload_u32(&k->payload, info_class);
	payload_u32(&k->payload, 0); /* FileIndex */
	payload_wstring(&k->payload, pattern);
	add_file(k, opcode);
}

void event_file_end(struct kernel_events *k, uint64_t irp, uint64_t extra, uint32_t status)
{
	payload_pointer(&k->payload, irp);
	payload_pointer(&k->payload, extra);
	payload_u32(&k->payload, status);
	add_file(k, OP_FILE_OPERATION_END);
}

void event_disk(struct kernel_events *k, enum disk_opcode opcode, const struct kernel_disk *disk)
{
	struct payload *p = &k->payload;

	switch (opcode) {
	case OP_DISK_READ:
	case OP_DISK_WRITE:
		payload_u32(p, disk->disk);
		payload_u32(p, disk->irp_flags);
		payload_u32(p, disk->size);
		payload_u32(p, 0);
		payload_u64(p, disk->offset);
		payload_pointer(p, disk->file_key);
		payload_pointer(p, disk->irp);
		payload_u64(p, disk->response_ticks);
		payload_u32(p, disk->thread_id);
		break;
	case OP_DISK_FLUSH:
		payload_u32(p, disk->disk);
		payload_u32(p, disk->irp_flags);
		payload_u64(p, disk->response_ticks);
		payload_pointer(p, disk->irp);
		payload_u32(p, disk->thread_id);
		break;
	case OP_DISK_READ_INIT:
	case OP_DISK_WRITE_INIT:
	case OP_DISK_FLUSH_INIT:
		payload_pointer(p, disk->irp);
		payload_u32(p, disk->thread_id);
		event_add(k, RECORD_SYSTEM, GROUP_DISK_IO, (uint8_t)opcode, 3);
		return;
	}
	event_add(k, RECORD_PERFINFO, GROUP_DISK_IO, (uint8_t)opcode, 3);
}

void event_hard_fault(struct kernel_events *k, const struct kernel_hard_fault *fault)
{
	struct payload *p = &k->payload;

	payload_u64(p, (uint64_t)fault->initial_raw);
	payload_u64(p, fault->offset);
	payload_pointer(p, fault->address);
	payload_pointer(p, fault->file_key);
	payload_u32(p, fault->thread_id);
	payload_u32(p, fault->size);
	event_add(k, RECORD_PERFINFO, GROUP_PAGE_FAULT, 32, 2);
}

void event_soft_fault(struct kernel_events *k, enum soft_fault_opcode opcode, uint64_t address,
		      uint64_t instruction)
{
	payload_pointer(&k->payload, address);
	payload_pointer(&k->payload, instruction);
	event_add(k, RECORD_SYSTEM, GROUP_PAGE_FAULT, (uint8_t)opcode, 2);
}

void event_virtual(struct kernel_events *k, enum virtual_opcode opcode, uint64_t address,
		   uint64_t size, uint32_t process_id)
{
	payload_pointer(&k->payload, address);
	payload_pointer(&k->payload, size);
	payload_u32(&k->payload, process_id);
	payload_u32(&k->payload,
		    opcode == OP_VIRTUAL_ALLOC ? 0x3000 : 0x8000); /* commit, release */
	event_add(k, RECORD_SYSTEM, GROUP_PAGE_FAULT, (uint8_t)opcode, 2);
}
