/* SPDX-License-Identifier: MIT */
/*
 * Writes events of the kernel from structs, as Windows 10 and Server 2019 write them.
 *
 * Versions and header types are those observed in recordings of these systems: Process 4, Thread 3,
 * Image 3, FileIo 3, DiskIo 3, TcpIp and UdpIp 2, PageFault 2, SystemConfig 2 and 3. Layouts:
 * docs/etl-format.md section 15, docs/kernel-events.csv.
 */
#ifndef SUPPORT_KERNEL_EVENTS_H
#define SUPPORT_KERNEL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <etw/mirror.h>

#include "lib/etl/writer.h"

/* Processor, time and thread of the next events. */
struct kernel_events {
	struct etw_writer *writer; /* borrowed */
	struct etw_payload payload;
	uint16_t processor;
	int64_t raw_time;
	uint32_t process_id; /* the process and thread that run, for headers that have them */
	uint32_t thread_id;
	uint32_t counts[32][128]; /* records added so far, by group and opcode */
	uint32_t records;         /* all records added so far, also without a group */
};

enum kernel_group { /* docs/etl-format.md section 8 */
		    GROUP_EVENT_TRACE = 0x00,
		    GROUP_DISK_IO = 0x01,
		    GROUP_PAGE_FAULT = 0x02,
		    GROUP_PROCESS = 0x03,
		    GROUP_FILE_IO = 0x04,
		    GROUP_THREAD = 0x05,
		    GROUP_TCP_IP = 0x06,
		    GROUP_UDP_IP = 0x08,
		    GROUP_REGISTRY = 0x09,
		    GROUP_SYSTEM_CONFIG = 0x0b,
		    GROUP_PERF_INFO = 0x0f,
		    GROUP_IMAGE = 0x14,
};

void kernel_events_init(struct kernel_events *k, struct etw_writer *writer, uint8_t pointer_size);
void kernel_events_done(struct kernel_events *k);
void kernel_events_at(struct kernel_events *k, uint16_t processor, int64_t raw_time,
		      uint32_t process_id, uint32_t thread_id);

/* Adds a record with the payload built so far, and empties the payload. It is for events that have
 * no function below. */
void event_add(struct kernel_events *k, enum etw_record_type type, uint8_t group, uint8_t opcode,
	       uint8_t version);

/* Opcodes of Process, Thread and Image. */
enum lifetime_opcode {
	OP_START = 1,
	OP_STOP = 2,
	OP_DC_START = 3,
	OP_DC_STOP = 4,
	OP_IMAGE_LOAD = 10,
	OP_IMAGE_UNLOAD = 2,
};

struct kernel_process {
	uint32_t id;
	uint32_t parent_id;
	uint32_t session_id;
	uint32_t exit_status; /* NTSTATUS or exit code; 259 while it runs */
	uint64_t key;         /* UniqueProcessKey */
	const char *sid;      /* S-1-…; NULL: none */
	const char *image;    /* ImageFileName */
	const char *command_line;
};

void event_process(struct kernel_events *k, enum lifetime_opcode opcode,
		   const struct kernel_process *process);
void event_process_terminate(struct kernel_events *k, uint32_t process_id);

struct kernel_thread {
	uint32_t process_id;
	uint32_t id;
	uint64_t start_address;
	uint64_t stack_base;
	uint64_t affinity;
	uint32_t sub_process_tag;
	uint8_t base_priority;
	const char *name; /* NULL: the form without a name field (Windows 8) */
};

void event_thread(struct kernel_events *k, enum lifetime_opcode opcode,
		  const struct kernel_thread *thread);

struct kernel_image {
	uint64_t base;
	uint64_t size;
	uint32_t process_id; /* 0: a driver */
	uint32_t checksum;
	uint32_t time_stamp;
	const char *file_name;
};

void event_image(struct kernel_events *k, enum lifetime_opcode opcode,
		 const struct kernel_image *image);

enum file_opcode {
	OP_FILE_NAME = 0,
	OP_FILE_NAME_CREATE = 32,
	OP_FILE_NAME_DELETE = 35,
	OP_FILE_NAME_RUNDOWN = 36,
	OP_FILE_MAP = 37,
	OP_FILE_UNMAP = 38,
	OP_FILE_MAP_DC_START = 39,
	OP_FILE_CREATE = 64,
	OP_FILE_CLEANUP = 65,
	OP_FILE_CLOSE = 66,
	OP_FILE_READ = 67,
	OP_FILE_WRITE = 68,
	OP_FILE_SET_INFO = 69,
	OP_FILE_DELETE = 70,
	OP_FILE_RENAME = 71,
	OP_FILE_DIR_ENUM = 72,
	OP_FILE_FLUSH = 73,
	OP_FILE_QUERY_INFO = 74,
	OP_FILE_FS_CONTROL = 75,
	OP_FILE_OPERATION_END = 76,
	OP_FILE_DIR_NOTIFY = 77,
	OP_FILE_DELETE_PATH = 79,
	OP_FILE_RENAME_PATH = 80,
	OP_FILE_FLT_READ = 83, /* as OP_FILE_READ, for a read by a minifilter itself */
};

/* IoFlags of reads and writes. */
enum file_io_flags {
	FILE_IO_CACHED_READ = 0x60900,
	FILE_IO_CACHED_WRITE = 0x60a00,
	FILE_IO_PAGING = 0x43,
};

/* The fields that all FileIo operations have. */
struct kernel_file {
	uint64_t irp;
	uint64_t object; /* one per open */
	uint64_t key;    /* one per file */
	uint32_t thread_id;
};

void event_file_name(struct kernel_events *k, enum file_opcode opcode, uint64_t key,
		     const char *name);
void event_file_create(struct kernel_events *k, const struct kernel_file *file, const char *path,
		       uint32_t options, uint32_t share);
void event_file_transfer(struct kernel_events *k, enum file_opcode opcode,
			 const struct kernel_file *file, uint64_t offset, uint32_t size,
			 uint32_t flags);
void event_file_simple(struct kernel_events *k, enum file_opcode opcode,
		       const struct kernel_file *file); /* cleanup, close, flush */
void event_file_info(struct kernel_events *k, enum file_opcode opcode,
		     const struct kernel_file *file, uint64_t extra, uint32_t info_class);
void event_file_path(struct kernel_events *k, enum file_opcode opcode,
		     const struct kernel_file *file, uint32_t info_class, const char *path);
void event_file_dir_enum(struct kernel_events *k, enum file_opcode opcode,
			 const struct kernel_file *file, uint32_t length, uint32_t info_class,
			 const char *pattern);
void event_file_end(struct kernel_events *k, uint64_t irp, uint64_t extra, uint32_t status);

enum view_protection { VIEW_READ_ONLY = 1, VIEW_READ_WRITE = 4 };

/* A file that a process has mapped into its memory. */
struct kernel_view {
	uint64_t base; /* address */
	uint64_t file_key;
	uint64_t size;
	uint32_t process_id;
	enum view_protection protection;
};

void event_view(struct kernel_events *k, enum file_opcode opcode, const struct kernel_view *view);

enum filter_opcode {
	OP_FILTER_PRE_COMPLETION = 98,
	OP_FILTER_POST_COMPLETION = 99,
	OP_FILTER_POST_FAILURE = 101,
};

/* The end of a call of a minifilter. Its header has the thread (docs/windows.md section 11). */
struct kernel_filter_call {
	int64_t initial_raw; /* when the call began */
	uint64_t routine;
	uint64_t object;
	uint64_t irp;
	uint32_t major;  /* IRP_MJ_… */
	uint32_t status; /* NTSTATUS of a failure */
};

void event_filter_call(struct kernel_events *k, enum filter_opcode opcode,
		       const struct kernel_filter_call *call);

enum disk_opcode {
	OP_DISK_READ = 10,
	OP_DISK_WRITE = 11,
	OP_DISK_READ_INIT = 12,
	OP_DISK_WRITE_INIT = 13,
	OP_DISK_FLUSH = 14,
	OP_DISK_FLUSH_INIT = 15,
};

struct kernel_disk {
	uint32_t disk;
	uint32_t irp_flags;
	uint32_t size;
	uint64_t offset;
	uint64_t file_key;
	uint64_t irp;
	uint64_t response_ticks; /* of the performance counter */
	uint32_t thread_id;
};

void event_disk(struct kernel_events *k, enum disk_opcode opcode, const struct kernel_disk *disk);

/* Opcodes of TcpIp and UdpIp for IPv4; struct kernel_network says which protocols are used. */
enum network_opcode {
	OP_NET_SEND = 10,
	OP_NET_RECEIVE = 11,
	OP_NET_CONNECT = 12,
	OP_NET_DISCONNECT = 13,
	OP_NET_RETRANSMIT = 14,
	OP_NET_ACCEPT = 15,
	OP_NET_RECONNECT = 16,
	OP_NET_FAIL = 17,
	OP_NET_COPY = 18,
};

struct kernel_network {
	bool udp;
	bool ipv6;
	uint32_t process_id;
	uint32_t size;
	uint8_t remote[16]; /* IPv4: the first four */
	uint8_t local[16];
	uint16_t remote_port;
	uint16_t local_port;
	uint64_t connection; /* connid */
};

void event_network(struct kernel_events *k, enum network_opcode opcode,
		   const struct kernel_network *network);
void event_network_fail(struct kernel_events *k, bool udp, uint16_t protocol, uint16_t code);

struct kernel_hard_fault {
	int64_t initial_raw; /* when the fault began */
	uint64_t offset;
	uint64_t address;
	uint64_t file_key;
	uint32_t thread_id;
	uint32_t size;
};

void event_hard_fault(struct kernel_events *k, const struct kernel_hard_fault *fault);

/* Page faults that need no disk. */
enum soft_fault_opcode {
	OP_FAULT_TRANSITION = 10,
	OP_FAULT_DEMAND_ZERO = 11,
	OP_FAULT_COPY_ON_WRITE = 12,
	OP_FAULT_GUARD_PAGE = 13,
};

void event_soft_fault(struct kernel_events *k, enum soft_fault_opcode opcode, uint64_t address,
		      uint64_t instruction);

enum virtual_opcode { OP_VIRTUAL_ALLOC = 98, OP_VIRTUAL_FREE = 99 };

void event_virtual(struct kernel_events *k, enum virtual_opcode opcode, uint64_t address,
		   uint64_t size, uint32_t process_id);

/* The memory of one process in an event about all processes; sizes are in pages of 4096 bytes. */
struct kernel_process_memory {
	uint32_t process_id;
	uint64_t working_set_pages;
	uint64_t private_working_set_pages;
	uint64_t commit_pages;
};

void event_process_memory(struct kernel_events *k, const struct kernel_process_memory *processes,
			  size_t count);

enum registry_opcode {
	OP_REGISTRY_CREATE = 10,
	OP_REGISTRY_OPEN = 11,
	OP_REGISTRY_SET_VALUE = 14,
	OP_REGISTRY_QUERY_VALUE = 16,
	OP_REGISTRY_ENUMERATE_KEY = 17,
	OP_REGISTRY_CLOSE = 27,
};

struct kernel_registry {
	int64_t initial_raw; /* when the operation began */
	uint32_t status;     /* NTSTATUS */
	uint64_t key;
	const char *name;
};

void event_registry(struct kernel_events *k, enum registry_opcode opcode,
		    const struct kernel_registry *registry);

struct kernel_switch {
	uint32_t new_thread_id;
	uint32_t old_thread_id;
	uint8_t new_priority;
	uint8_t old_priority;
	uint8_t old_wait_reason;
	uint8_t old_state; /* 5: waiting, 2: running until now, 1: ready */
	uint32_t new_wait_time;
};

void event_context_switch(struct kernel_events *k, const struct kernel_switch *change);
void event_ready_thread(struct kernel_events *k, uint32_t thread_id);
void event_sample(struct kernel_events *k, uint64_t instruction, uint32_t thread_id);
void event_dpc(struct kernel_events *k, uint8_t opcode, int64_t initial_raw,
	       uint64_t routine); /* 66 threaded, 68 DPC, 69 timer */
void event_isr(struct kernel_events *k, int64_t initial_raw, uint64_t routine, uint16_t vector,
	       bool handled);

struct kernel_cpu {
	uint32_t mhz;
	uint32_t processors;
	uint32_t memory_mb;
	const char *computer;
	const char *domain;
};

struct kernel_physical_disk {
	uint32_t number;
	uint32_t bytes_per_sector;
	uint64_t cylinders;
	const char *model;
	uint32_t partitions;
	const char *boot_drive; /* letter, or empty */
};

struct kernel_logical_disk {
	uint64_t start;
	uint64_t size;
	uint32_t disk;
	uint32_t partition;
	const char *drive; /* C: */
	const char *file_system;
	uint64_t clusters;
	uint64_t free_clusters;
};

struct kernel_nic {
	uint64_t mac; /* the first byte of the address is the highest one here */
	uint32_t index;
	const char *description;
	const char *addresses; /* separated by semicolons */
	const char *dns_servers;
};

void event_system_cpu(struct kernel_events *k, const struct kernel_cpu *cpu);
void event_system_physical_disk(struct kernel_events *k, const struct kernel_physical_disk *disk);
void event_system_logical_disk(struct kernel_events *k, const struct kernel_logical_disk *disk);
void event_system_nic(struct kernel_events *k, const struct kernel_nic *nic);

/* Add SysConfig records, as a merge of recordings does. */
void event_volume_mapping(struct kernel_events *k, const char *nt_path, const char *dos_path);
void event_build_info(struct kernel_events *k, const char *build_lab, const char *product);

/* Add records of EventTrace: opcode 5 (groups begin) or 32 (groups end) with the enabled groups,
 * and opcode 8, the end of a rundown. in_header: it is an extension of the header in the first
 * buffer. */
void event_trace_extension(struct kernel_events *k, uint8_t opcode, uint32_t mask1, uint32_t mask2,
			   bool in_header);
void event_trace_rundown_complete(struct kernel_events *k);

#endif
