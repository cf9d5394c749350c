/* SPDX-License-Identifier: MIT */
/*
 * Payloads of kernel events: processes, threads, images, files, disks, memory. The network, the
 * scheduler, the registry and the system's configuration are in kernel_events_system.c.
 */
#include "tests/support/kernel_events.h"

void kernel_events_init(struct kernel_events *k, struct etw_writer *writer, uint8_t pointer_size)
{
	*k = (struct kernel_events){ .writer = writer };
	etw_payload_init(&k->payload, pointer_size);
}

void kernel_events_done(struct kernel_events *k)
{
	etw_payload_done(&k->payload);
}

void kernel_events_at(struct kernel_events *k, uint16_t processor, int64_t raw_time,
		      uint32_t process_id, uint32_t thread_id)
{
	k->processor = processor;
	k->raw_time = raw_time;
	k->process_id = process_id;
	k->thread_id = thread_id;
}

void event_add(struct kernel_events *k, enum etw_record_type type, uint8_t group, uint8_t opcode,
	       uint8_t version)
{
	struct etw_out_record record = { .type = type,
					 .pointer_size = k->payload.pointer_size,
					 .processor = k->processor,
					 .raw_time = k->raw_time,
					 .process_id = k->process_id,
					 .thread_id = k->thread_id,
					 .group = group,
					 .opcode = opcode,
					 .version = version };

	etl_writer_add_payload(k->writer, &record, &k->payload);
	etw_payload_clear(&k->payload);
	k->counts[group & 31][opcode & 127]++;
	k->records++;
}

void event_process(struct kernel_events *k, enum lifetime_opcode opcode,
		   const struct kernel_process *process)
{
	struct etw_payload *p = &k->payload;
	bool rundown = opcode == OP_DC_START || opcode == OP_DC_STOP;

	etw_payload_pointer(p, process->key);
	etw_payload_u32(p, process->id);
	etw_payload_u32(p, process->parent_id);
	etw_payload_u32(p, process->session_id);
	etw_payload_u32(p, process->exit_status);
	etw_payload_pointer(p, process->key >> 8 & 0x3ffff000); /* DirectoryTableBase */
	etw_payload_u32(p, 0);                                  /* Flags */
	etw_payload_user_sid(p, process->sid);
	etw_payload_astring(p, process->image);
	etw_payload_wstring(p, process->command_line);
	etw_payload_wstring(p, ""); /* PackageFullName */
	etw_payload_wstring(p, ""); /* ApplicationId */
	event_add(k, rundown ? ETW_RECORD_PERFINFO : ETW_RECORD_SYSTEM, GROUP_PROCESS,
		  (uint8_t)opcode, 4);
}

void event_process_terminate(struct kernel_events *k, uint32_t process_id)
{
	etw_payload_u32(&k->payload, process_id);
	event_add(k, ETW_RECORD_SYSTEM, GROUP_PROCESS, 11, 2);
}

void event_thread(struct kernel_events *k, enum lifetime_opcode opcode,
		  const struct kernel_thread *thread)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u32(p, thread->process_id);
	etw_payload_u32(p, thread->id);
	etw_payload_pointer(p, thread->stack_base);
	etw_payload_pointer(p, thread->stack_base - 0x6000);
	etw_payload_pointer(p, thread->process_id > 4 ?
				       UINT64_C(0x7a1f800000) + thread->id * UINT64_C(0x100000) :
				       0);
	etw_payload_pointer(p, thread->process_id > 4 ?
				       UINT64_C(0x7a1f7f8000) + thread->id * UINT64_C(0x100000) :
				       0);
	etw_payload_pointer(p, thread->affinity);
	etw_payload_pointer(p, thread->start_address);
	etw_payload_pointer(p, thread->process_id > 4 ?
				       UINT64_C(0x7a1f000000) + thread->id * UINT64_C(0x2000) :
				       0);
	etw_payload_u32(p, thread->sub_process_tag);
	etw_payload_u8(p, thread->base_priority);
	etw_payload_u8(p, 5); /* PagePriority */
	etw_payload_u8(p, 2); /* IoPriority */
	etw_payload_u8(p, 0); /* ThreadFlags */
	if (thread->name) {
		etw_payload_wstring(p, thread->name);
	}
	event_add(k, ETW_RECORD_SYSTEM, GROUP_THREAD, (uint8_t)opcode, 3);
}

void event_image(struct kernel_events *k, enum lifetime_opcode opcode,
		 const struct kernel_image *image)
{
	struct etw_payload *p = &k->payload;

	etw_payload_pointer(p, image->base);
	etw_payload_pointer(p, image->size);
	etw_payload_u32(p, image->process_id);
	etw_payload_u32(p, image->checksum);
	etw_payload_u32(p, image->time_stamp);
	etw_payload_u8(p, 12); /* SignatureLevel */
	etw_payload_u8(p, 1);  /* SignatureType */
	etw_payload_u16(p, 0);
	etw_payload_pointer(p, image->base);
	etw_payload_zeros(p, 16);
	etw_payload_wstring(p, image->file_name);
	/* The kernel counts a load to the Process group (docs/etl-format.md section 8). */
	event_add(k, ETW_RECORD_SYSTEM, opcode == OP_IMAGE_LOAD ? GROUP_PROCESS : GROUP_IMAGE,
		  (uint8_t)opcode, 3);
}

/* FileIo records have no ids in their header: the thread stands in the payload. */
static void add_file(struct kernel_events *k, enum file_opcode opcode)
{
	event_add(k, ETW_RECORD_PERFINFO, GROUP_FILE_IO, (uint8_t)opcode, 3);
}

void event_file_name(struct kernel_events *k, enum file_opcode opcode, uint64_t key,
		     const char *name)
{
	etw_payload_pointer(&k->payload, key);
	etw_payload_wstring(&k->payload, name);
	add_file(k, opcode);
}

void event_view(struct kernel_events *k, enum file_opcode opcode, const struct kernel_view *view)
{
	struct etw_payload *p = &k->payload;

	etw_payload_pointer(p, view->base);
	etw_payload_pointer(p, view->file_key);
	etw_payload_u64(p, (uint64_t)view->protection << 48); /* docs/etl-format.md section 16.4 */
	etw_payload_pointer(p, view->size);
	etw_payload_u64(p, 0); /* ByteOffset */
	etw_payload_u32(p, view->process_id);
	add_file(k, opcode);
}

void event_file_create(struct kernel_events *k, const struct kernel_file *file, const char *path,
		       uint32_t options, uint32_t share)
{
	struct etw_payload *p = &k->payload;

	etw_payload_pointer(p, file->irp);
	etw_payload_pointer(p, file->object);
	etw_payload_u32(p, file->thread_id);
	etw_payload_u32(p, options);
	etw_payload_u32(p, 0x80); /* FileAttributes: normal */
	etw_payload_u32(p, share);
	etw_payload_wstring(p, path);
	add_file(k, OP_FILE_CREATE);
}

void event_file_transfer(struct kernel_events *k, enum file_opcode opcode,
			 const struct kernel_file *file, uint64_t offset, uint32_t size,
			 uint32_t flags)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u64(p, offset);
	etw_payload_pointer(p, file->irp);
	etw_payload_pointer(p, file->object);
	etw_payload_pointer(p, file->key);
	etw_payload_u32(p, file->thread_id);
	etw_payload_u32(p, size);
	etw_payload_u32(p, flags);
	add_file(k, opcode);
}

void event_filter_call(struct kernel_events *k, enum filter_opcode opcode,
		       const struct kernel_filter_call *call)
{
	struct etw_payload *p = &k->payload;

	if (opcode != OP_FILTER_POST_FAILURE) {
		etw_payload_u64(p, (uint64_t)call->initial_raw);
	}
	etw_payload_pointer(p, call->routine);
	etw_payload_pointer(p, call->object);
	etw_payload_pointer(p, call->object ^ 0x7f0); /* FileContext */
	etw_payload_pointer(p, call->irp);
	etw_payload_pointer(p, call->irp ^ 0x30); /* CallbackDataPtr */
	etw_payload_u32(p, call->major);
	if (opcode == OP_FILTER_POST_FAILURE) {
		etw_payload_u32(p, call->status);
	}
	event_add(k, ETW_RECORD_SYSTEM, GROUP_FILE_IO, (uint8_t)opcode, 3);
}

static void add_file_identifiers(struct etw_payload *p, const struct kernel_file *file)
{
	etw_payload_pointer(p, file->irp);
	etw_payload_pointer(p, file->object);
	etw_payload_pointer(p, file->key);
}

void event_file_simple(struct kernel_events *k, enum file_opcode opcode,
		       const struct kernel_file *file)
{
	add_file_identifiers(&k->payload, file);
	etw_payload_u32(&k->payload, file->thread_id);
	add_file(k, opcode);
}

void event_file_info(struct kernel_events *k, enum file_opcode opcode,
		     const struct kernel_file *file, uint64_t extra, uint32_t info_class)
{
	add_file_identifiers(&k->payload, file);
	etw_payload_pointer(&k->payload, extra);
	etw_payload_u32(&k->payload, file->thread_id);
	etw_payload_u32(&k->payload, info_class);
	add_file(k, opcode);
}

void event_file_path(struct kernel_events *k, enum file_opcode opcode,
		     const struct kernel_file *file, uint32_t info_class, const char *path)
{
	add_file_identifiers(&k->payload, file);
	etw_payload_pointer(&k->payload, 0);
	etw_payload_u32(&k->payload, file->thread_id);
	etw_payload_u32(&k->payload, info_class);
	etw_payload_wstring(&k->payload, path);
	add_file(k, opcode);
}

void event_file_dir_enum(struct kernel_events *k, enum file_opcode opcode,
			 const struct kernel_file *file, uint32_t length, uint32_t info_class,
			 const char *pattern)
{
	add_file_identifiers(&k->payload, file);
	etw_payload_u32(&k->payload, file->thread_id);
	etw_payload_u32(&k->payload, length);
	etw_payload_u32(&k->payload, info_class);
	etw_payload_u32(&k->payload, 0); /* FileIndex */
	etw_payload_wstring(&k->payload, pattern);
	add_file(k, opcode);
}

void event_file_end(struct kernel_events *k, uint64_t irp, uint64_t extra, uint32_t status)
{
	etw_payload_pointer(&k->payload, irp);
	etw_payload_pointer(&k->payload, extra);
	etw_payload_u32(&k->payload, status);
	add_file(k, OP_FILE_OPERATION_END);
}

void event_disk(struct kernel_events *k, enum disk_opcode opcode, const struct kernel_disk *disk)
{
	struct etw_payload *p = &k->payload;

	switch (opcode) {
	case OP_DISK_READ:
	case OP_DISK_WRITE:
		etw_payload_u32(p, disk->disk);
		etw_payload_u32(p, disk->irp_flags);
		etw_payload_u32(p, disk->size);
		etw_payload_u32(p, 0);
		etw_payload_u64(p, disk->offset);
		etw_payload_pointer(p, disk->file_key);
		etw_payload_pointer(p, disk->irp);
		etw_payload_u64(p, disk->response_ticks);
		etw_payload_u32(p, disk->thread_id);
		break;
	case OP_DISK_FLUSH:
		etw_payload_u32(p, disk->disk);
		etw_payload_u32(p, disk->irp_flags);
		etw_payload_u64(p, disk->response_ticks);
		etw_payload_pointer(p, disk->irp);
		etw_payload_u32(p, disk->thread_id);
		break;
	case OP_DISK_READ_INIT:
	case OP_DISK_WRITE_INIT:
	case OP_DISK_FLUSH_INIT:
		etw_payload_pointer(p, disk->irp);
		etw_payload_u32(p, disk->thread_id);
		event_add(k, ETW_RECORD_SYSTEM, GROUP_DISK_IO, (uint8_t)opcode, 3);
		return;
	}
	event_add(k, ETW_RECORD_PERFINFO, GROUP_DISK_IO, (uint8_t)opcode, 3);
}

void event_hard_fault(struct kernel_events *k, const struct kernel_hard_fault *fault)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u64(p, (uint64_t)fault->initial_raw);
	etw_payload_u64(p, fault->offset);
	etw_payload_pointer(p, fault->address);
	etw_payload_pointer(p, fault->file_key);
	etw_payload_u32(p, fault->thread_id);
	etw_payload_u32(p, fault->size);
	event_add(k, ETW_RECORD_PERFINFO, GROUP_PAGE_FAULT, 32, 2);
}

void event_soft_fault(struct kernel_events *k, enum soft_fault_opcode opcode, uint64_t address,
		      uint64_t instruction)
{
	etw_payload_pointer(&k->payload, address);
	etw_payload_pointer(&k->payload, instruction);
	event_add(k, ETW_RECORD_SYSTEM, GROUP_PAGE_FAULT, (uint8_t)opcode, 2);
}

void event_virtual(struct kernel_events *k, enum virtual_opcode opcode, uint64_t address,
		   uint64_t size, uint32_t process_id)
{
	etw_payload_pointer(&k->payload, address);
	etw_payload_pointer(&k->payload, size);
	etw_payload_u32(&k->payload, process_id);
	etw_payload_u32(&k->payload,
			opcode == OP_VIRTUAL_ALLOC ? 0x3000 : 0x8000); /* commit, release */
	event_add(k, ETW_RECORD_SYSTEM, GROUP_PAGE_FAULT, (uint8_t)opcode, 2);
}

void event_process_memory(struct kernel_events *k, const struct kernel_process_memory *processes,
			  size_t count)
{
	enum { STORE_AND_SHARED = 4 }; /* StoreSize, Stored, CommitDebt, SharedCommit */
	struct etw_payload *p = &k->payload;

	etw_payload_u32(p, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		etw_payload_u32(p, processes[i].process_id);
		etw_payload_pointer(p, processes[i].working_set_pages);
		etw_payload_pointer(p, processes[i].commit_pages);
		etw_payload_pointer(p, 8 * processes[i].commit_pages); /* VirtualSize */
		etw_payload_pointer(p, processes[i].private_working_set_pages);
		for (unsigned j = 0; j < STORE_AND_SHARED; j++) {
			etw_payload_pointer(p, 0);
		}
	}
	event_add(k, ETW_RECORD_PERFINFO, GROUP_PAGE_FAULT, 125, 2);
}
