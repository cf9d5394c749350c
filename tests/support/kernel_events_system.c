/* SPDX-License-Identifier: MIT */
/*
 * Payloads of kernel events: the network, the scheduler, interrupts, the registry, the
 * configuration of the system and of the recording.
 */
#include "tests/support/kernel_events.h"

static const struct etw_guid sys_config =
	ETW_GUID_INIT(0x9b79ee91, 0xb5fd, 0x41c0, 0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0);

/* The IPv6 opcodes lie 16 above those for IPv4. */
static void add_network(struct kernel_events *k, const struct kernel_network *network,
			enum network_opcode opcode)
{
	event_add(k, ETW_RECORD_PERFINFO, network->udp ? GROUP_UDP_IP : GROUP_TCP_IP,
		  (uint8_t)(network->ipv6 ? opcode + 16 : opcode), 2);
}

void event_network(struct kernel_events *k, enum network_opcode opcode,
		   const struct kernel_network *network)
{
	struct etw_payload *p = &k->payload;
	size_t address_size = network->ipv6 ? 16 : 4;

	etw_payload_u32(p, network->process_id);
	etw_payload_u32(p, network->size);
	etw_payload_bytes(p, network->remote, address_size);
	etw_payload_bytes(p, network->local, address_size);
	etw_payload_port(p, network->remote_port);
	etw_payload_port(p, network->local_port);
	if (!network->udp && opcode == OP_NET_SEND) {
		etw_payload_u32(
			p, (uint32_t)(k->raw_time /
				      1000000)); /* startime, endtime: ticks of the network stack */
		etw_payload_u32(p, (uint32_t)(k->raw_time / 1000000));
	}
	if (opcode == OP_NET_CONNECT || opcode == OP_NET_ACCEPT) {
		etw_payload_u16(p, network->ipv6 ? 1440 : 1460); /* mss */
		etw_payload_u16(p, 1);                           /* sackopt */
		etw_payload_u16(p, 0);                           /* tsopt */
		etw_payload_u16(p, 1);                           /* wsopt */
		etw_payload_u32(p, 65535);                       /* rcvwin */
		etw_payload_u16(p, 8);                           /* rcvwinscale */
		etw_payload_u16(p, 8);                           /* sndwinscale */
	}
	etw_payload_u32(p, 0); /* seqnum */
	etw_payload_pointer(p, network->connection);
	add_network(k, network, opcode);
}

void event_network_fail(struct kernel_events *k, bool udp, uint16_t protocol, uint16_t code)
{
	etw_payload_u16(&k->payload, protocol);
	etw_payload_u16(&k->payload, code);
	event_add(k, ETW_RECORD_PERFINFO, udp ? GROUP_UDP_IP : GROUP_TCP_IP, OP_NET_FAIL, 2);
}

void event_context_switch(struct kernel_events *k, const struct kernel_switch *change)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u32(p, change->new_thread_id);
	etw_payload_u32(p, change->old_thread_id);
	etw_payload_u8(p, change->new_priority);
	etw_payload_u8(p, change->old_priority);
	etw_payload_u8(p, 0); /* PreviousCState */
	etw_payload_u8(p, 0);
	etw_payload_u8(p, change->old_wait_reason);
	etw_payload_u8(p, 0); /* ThreadFlags */
	etw_payload_u8(p, change->old_state);
	etw_payload_u8(p, (uint8_t)k->processor);
	etw_payload_u32(p, change->new_wait_time);
	etw_payload_u32(p, 0);
	event_add(k, ETW_RECORD_PERFINFO, GROUP_THREAD, 36, 4);
}

void event_ready_thread(struct kernel_events *k, uint32_t thread_id)
{
	etw_payload_u32(&k->payload, thread_id);
	etw_payload_u8(&k->payload, 1); /* AdjustReason: unwait */
	etw_payload_u8(&k->payload, 1);
	etw_payload_u8(&k->payload, 0);
	etw_payload_u8(&k->payload, 0);
	event_add(k, ETW_RECORD_PERFINFO, GROUP_THREAD, 50, 2);
}

void event_sample(struct kernel_events *k, uint64_t instruction, uint32_t thread_id)
{
	etw_payload_pointer(&k->payload, instruction);
	etw_payload_u32(&k->payload, thread_id);
	etw_payload_u16(&k->payload, 1); /* Count */
	etw_payload_u16(&k->payload, 0);
	event_add(k, ETW_RECORD_PERFINFO, GROUP_PERF_INFO, 46, 2);
}

void event_dpc(struct kernel_events *k, uint8_t opcode, int64_t initial_raw, uint64_t routine)
{
	etw_payload_u64(&k->payload, (uint64_t)initial_raw);
	etw_payload_pointer(&k->payload, routine);
	event_add(k, ETW_RECORD_PERFINFO, GROUP_PERF_INFO, opcode, 2);
}

void event_isr(struct kernel_events *k, int64_t initial_raw, uint64_t routine, uint16_t vector,
	       bool handled)
{
	etw_payload_u64(&k->payload, (uint64_t)initial_raw);
	etw_payload_pointer(&k->payload, routine);
	etw_payload_u8(&k->payload, handled);
	etw_payload_u16(&k->payload, vector);
	etw_payload_u8(&k->payload, 0);
	event_add(k, ETW_RECORD_PERFINFO, GROUP_PERF_INFO, 67, 2);
}

void event_registry(struct kernel_events *k, enum registry_opcode opcode,
		    const struct kernel_registry *registry)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u64(p, (uint64_t)registry->initial_raw);
	etw_payload_u32(p, registry->status);
	etw_payload_u32(p, 0); /* Index */
	etw_payload_pointer(p, registry->key);
	etw_payload_wstring(p, registry->name);
	event_add(k, ETW_RECORD_SYSTEM, GROUP_REGISTRY, (uint8_t)opcode, 2);
}

void event_system_cpu(struct kernel_events *k, const struct kernel_cpu *cpu)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u32(p, cpu->mhz);
	etw_payload_u32(p, cpu->processors);
	etw_payload_u32(p, cpu->memory_mb);
	etw_payload_u32(p, 4096);
	etw_payload_u32(p, 65536);
	etw_payload_wchars(p, cpu->computer, 256);
	etw_payload_wchars(p, cpu->domain, 134);
	etw_payload_pointer(p, 1); /* HyperThreadingFlag */
	etw_payload_pointer(p, UINT64_C(0x7fffffeffff));
	etw_payload_u16(p, 9); /* ProcessorArchitecture: x64 */
	etw_payload_u16(p, 6);
	etw_payload_u16(p, 0x5507);
	etw_payload_u8(p, 1); /* PaeEnabled */
	etw_payload_u8(p, 1); /* NxEnabled */
	etw_payload_u32(p, 2666);
	event_add(k, ETW_RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 10, 3);
}

void event_system_physical_disk(struct kernel_events *k, const struct kernel_physical_disk *disk)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u32(p, disk->number);
	etw_payload_u32(p, disk->bytes_per_sector);
	etw_payload_u32(p, 63);  /* SectorsPerTrack */
	etw_payload_u32(p, 255); /* TracksPerCylinder */
	etw_payload_u64(p, disk->cylinders);
	etw_payload_u32(p, 0); /* SCSIPort, -Path, -Target, -Lun */
	etw_payload_u32(p, 0);
	etw_payload_u32(p, disk->number);
	etw_payload_u32(p, 0);
	etw_payload_wchars(p, disk->model, 256);
	etw_payload_u32(p, disk->partitions);
	etw_payload_u8(p, 1); /* WriteCacheEnabled */
	etw_payload_u8(p, 0);
	etw_payload_wchars(p, disk->boot_drive, 3);
	etw_payload_wchars(p, "", 2);
	event_add(k, ETW_RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 11, 2);
}

void event_system_logical_disk(struct kernel_events *k, const struct kernel_logical_disk *disk)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u64(p, disk->start);
	etw_payload_u64(p, disk->size);
	etw_payload_u32(p, disk->disk);
	etw_payload_u32(p, 112); /* Size of this structure */
	etw_payload_u32(p, 1);   /* DriveType: partition */
	etw_payload_wchars(p, disk->drive, 4);
	etw_payload_u32(p, 0);
	etw_payload_u32(p, disk->partition);
	etw_payload_u32(p, 8);
	etw_payload_u32(p, 512);
	etw_payload_u32(p, 0);
	etw_payload_u64(p, disk->free_clusters);
	etw_payload_u64(p, disk->clusters);
	etw_payload_wchars(p, disk->file_system, 16);
	etw_payload_u32(p, 0); /* VolumeExt */
	etw_payload_u32(p, 0);
	event_add(k, ETW_RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 12, 2);
}

void event_system_nic(struct kernel_events *k, const struct kernel_nic *nic)
{
	struct etw_payload *p = &k->payload;

	for (unsigned shift = 48; shift > 0; shift -= 8) {
		etw_payload_u8(p, (uint8_t)(nic->mac >> (shift - 8)));
	}
	etw_payload_u16(p, 0);
	etw_payload_u32(p, 6); /* PhysicalAddrLen */
	etw_payload_u32(p, nic->index);
	etw_payload_u32(p, nic->index);
	etw_payload_wstring(p, nic->description);
	etw_payload_wstring(p, nic->addresses);
	etw_payload_wstring(p, nic->dns_servers);
	event_add(k, ETW_RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 13, 2);
}

static void add_sys_config(struct kernel_events *k, uint8_t opcode)
{
	struct etw_out_record record = { .type = ETW_RECORD_FULL,
					 .pointer_size = k->payload.pointer_size,
					 .processor = k->processor,
					 .raw_time = k->raw_time,
					 .provider = &sys_config,
					 .opcode = opcode };

	etl_writer_add_payload(k->writer, &record, &k->payload);
	etw_payload_clear(&k->payload);
	k->records++;
}

void event_volume_mapping(struct kernel_events *k, const char *nt_path, const char *dos_path)
{
	etw_payload_wstring(&k->payload, nt_path);
	etw_payload_wstring(&k->payload, dos_path);
	add_sys_config(k, 35);
}

void event_build_info(struct kernel_events *k, const char *build_lab, const char *product)
{
	etw_payload_u64(&k->payload, UINT64_C(132166080000000000)); /* InstallDate */
	etw_payload_wstring(&k->payload, build_lab);
	etw_payload_wstring(&k->payload, product);
	add_sys_config(k, 32);
}

void event_trace_extension(struct kernel_events *k, uint8_t opcode, uint32_t mask1, uint32_t mask2,
			   bool in_header)
{
	struct etw_payload *p = &k->payload;

	etw_payload_u32(p, mask1);
	etw_payload_u32(p, mask2);
	etw_payload_zeros(p, 24); /* masks 3 to 8 */
	etw_payload_u32(p, 46);   /* KernelEventVersion */
	if (in_header && !p->failed) {
		struct etw_out_record record = { .type = ETW_RECORD_SYSTEM,
						 .raw_time = k->raw_time,
						 .process_id = k->process_id,
						 .thread_id = k->thread_id,
						 .group = GROUP_EVENT_TRACE,
						 .opcode = opcode,
						 .version = 2,
						 .payload = p->bytes,
						 .payload_size = p->size };

		etl_writer_add_to_header(k->writer, &record);
		etw_payload_clear(p);
		k->counts[GROUP_EVENT_TRACE][opcode & 127]++;
		k->records++;
		return;
	}
	event_add(k, ETW_RECORD_PERFINFO, GROUP_EVENT_TRACE, opcode, 2);
}

void event_trace_rundown_complete(struct kernel_events *k)
{
	event_add(k, ETW_RECORD_PERFINFO, GROUP_EVENT_TRACE, 8, 2);
}
