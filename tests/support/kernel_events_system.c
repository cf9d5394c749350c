/* SPDX-License-Identifier: MIT */
/*
 * Payloads of kernel events: the network, the scheduler, interrupts, the registry, the
 * configuration of the system and of the recording.
 */
#include "tests/support/kernel_events.h"

static const struct guid sys_config =
	GUID_INIT(0x9b79ee91, 0xb5fd, 0x41c0, 0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0);

/* The IPv6 opcodes lie 16 above those for IPv4. */
static void add_network(struct kernel_events *k, const struct kernel_network *network,
			enum network_opcode opcode)
{
	event_add(k, RECORD_PERFINFO, network->udp ? GROUP_UDP_IP : GROUP_TCP_IP,
		  (uint8_t)(network->ipv6 ? opcode + 16 : opcode), 2);
}

void event_network(struct kernel_events *k, enum network_opcode opcode,
		   const struct kernel_network *network)
{
	struct payload *p = &k->payload;
	size_t address_size = network->ipv6 ? 16 : 4;

	payload_u32(p, network->process_id);
	payload_u32(p, network->size);
	payload_bytes(p, network->remote, address_size);
	payload_bytes(p, network->local, address_size);
	payload_port(p, network->remote_port);
	payload_port(p, network->local_port);
	if (!network->udp && opcode == OP_NET_SEND) {
		payload_u32(
			p, (uint32_t)(k->raw_time /
				      1000000)); /* startime, endtime: ticks of the network stack */
		payload_u32(p, (uint32_t)(k->raw_time / 1000000));
	}
	if (opcode == OP_NET_CONNECT || opcode == OP_NET_ACCEPT) {
		payload_u16(p, network->ipv6 ? 1440 : 1460); /* mss */
		payload_u16(p, 1);                           /* sackopt */
		payload_u16(p, 0);                           /* tsopt */
		payload_u16(p, 1);                           /* wsopt */
		payload_u32(p, 65535);                       /* rcvwin */
		payload_u16(p, 8);                           /* rcvwinscale */
		payload_u16(p, 8);                           /* sndwinscale */
	}
	payload_u32(p, 0); /* seqnum */
	payload_pointer(p, network->connection);
	add_network(k, network, opcode);
}

void event_network_fail(struct kernel_events *k, bool udp, uint16_t protocol, uint16_t code)
{
	payload_u16(&k->payload, protocol);
	payload_u16(&k->payload, code);
	event_add(k, RECORD_PERFINFO, udp ? GROUP_UDP_IP : GROUP_TCP_IP, OP_NET_FAIL, 2);
}

void event_context_switch(struct kernel_events *k, const struct kernel_switch *change)
{
	struct payload *p = &k->payload;

	payload_u32(p, change->new_thread_id);
	payload_u32(p, change->old_thread_id);
	payload_u8(p, change->new_priority);
	payload_u8(p, change->old_priority);
	payload_u8(p, 0); /* PreviousCState */
	payload_u8(p, 0);
	payload_u8(p, change->old_wait_reason);
	payload_u8(p, 0); /* ThreadFlags */
	payload_u8(p, change->old_state);
	payload_u8(p, (uint8_t)k->processor);
	payload_u32(p, change->new_wait_time);
	payload_u32(p, 0);
	event_add(k, RECORD_PERFINFO, GROUP_THREAD, 36, 4);
}

void event_ready_thread(struct kernel_events *k, uint32_t thread_id)
{
	payload_u32(&k->payload, thread_id);
	payload_u8(&k->payload, 1); /* AdjustReason: unwait */
	payload_u8(&k->payload, 1);
	payload_u8(&k->payload, 0);
	payload_u8(&k->payload, 0);
	event_add(k, RECORD_PERFINFO, GROUP_THREAD, 50, 2);
}

void event_sample(struct kernel_events *k, uint64_t instruction, uint32_t thread_id)
{
	payload_pointer(&k->payload, instruction);
	payload_u32(&k->payload, thread_id);
	payload_u16(&k->payload, 1); /* Count */
	payload_u16(&k->payload, 0);
	event_add(k, RECORD_PERFINFO, GROUP_PERF_INFO, 46, 2);
}

void event_dpc(struct kernel_events *k, uint8_t opcode, int64_t initial_raw, uint64_t routine)
{
	payload_u64(&k->payload, (uint64_t)initial_raw);
	payload_pointer(&k->payload, routine);
	event_add(k, RECORD_PERFINFO, GROUP_PERF_INFO, opcode, 2);
}

void event_isr(struct kernel_events *k, int64_t initial_raw, uint64_t routine, uint16_t vector,
	       bool handled)
{
	payload_u64(&k->payload, (uint64_t)initial_raw);
	payload_pointer(&k->payload, routine);
	payload_u8(&k->payload, handled);
	payload_u16(&k->payload, vector);
	payload_u8(&k->payload, 0);
	event_add(k, RECORD_PERFINFO, GROUP_PERF_INFO, 67, 2);
}

void event_registry(struct kernel_events *k, enum registry_opcode opcode,
		    const struct kernel_registry *registry)
{
	struct payload *p = &k->payload;

	payload_u64(p, (uint64_t)registry->initial_raw);
	payload_u32(p, registry->status);
	payload_u32(p, 0); /* Index */
	payload_pointer(p, registry->key);
	payload_wstring(p, registry->name);
	event_add(k, RECORD_SYSTEM, GROUP_REGISTRY, (uint8_t)opcode, 2);
}

void event_system_cpu(struct kernel_events *k, const struct kernel_cpu *cpu)
{
	struct payload *p = &k->payload;

	payload_u32(p, cpu->mhz);
	payload_u32(p, cpu->processors);
	payload_u32(p, cpu->memory_mb);
	payload_u32(p, 4096);
	payload_u32(p, 65536);
	payload_wchars(p, cpu->computer, 256);
	payload_wchars(p, cpu->domain, 134);
	payload_pointer(p, 1); /* HyperThreadingFlag */
	payload_pointer(p, UINT64_C(0x7fffffeffff));
	payload_u16(p, 9); /* ProcessorArchitecture: x64 */
	payload_u16(p, 6);
	payload_u16(p, 0x5507);
	payload_u8(p, 1); /* PaeEnabled */
	payload_u8(p, 1); /* NxEnabled */
	payload_u32(p, 2666);
	event_add(k, RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 10, 3);
}

void event_system_physical_disk(struct kernel_events *k, const struct kernel_physical_disk *disk)
{
	struct payload *p = &k->payload;

	payload_u32(p, disk->number);
	payload_u32(p, disk->bytes_per_sector);
	payload_u32(p, 63);  /* SectorsPerTrack */
	payload_u32(p, 255); /* TracksPerCylinder */
	payload_u64(p, disk->cylinders);
	payload_u32(p, 0); /* SCSIPort, -Path, -Target, -Lun */
	payload_u32(p, 0);
	payload_u32(p, disk->number);
	payload_u32(p, 0);
	payload_wchars(p, disk->model, 256);
	payload_u32(p, disk->partitions);
	payload_u8(p, 1); /* WriteCacheEnabled */
	payload_u8(p, 0);
	payload_wchars(p, disk->boot_drive, 3);
	payload_wchars(p, "", 2);
	event_add(k, RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 11, 2);
}

void event_system_logical_disk(struct kernel_events *k, const struct kernel_logical_disk *disk)
{
	struct payload *p = &k->payload;

	payload_u64(p, disk->start);
	payload_u64(p, disk->size);
	payload_u32(p, disk->disk);
	payload_u32(p, 112); /* Size of this structure */
	payload_u32(p, 1);   /* DriveType: partition */
	payload_wchars(p, disk->drive, 4);
	payload_u32(p, 0);
	payload_u32(p, disk->partition);
	payload_u32(p, 8);
	payload_u32(p, 512);
	payload_u32(p, 0);
	payload_u64(p, disk->free_clusters);
	payload_u64(p, disk->clusters);
	payload_wchars(p, disk->file_system, 16);
	payload_u32(p, 0); /* VolumeExt */
	payload_u32(p, 0);
	event_add(k, RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 12, 2);
}

void event_system_nic(struct kernel_events *k, const struct kernel_nic *nic)
{
	struct payload *p = &k->payload;

	for (unsigned shift = 48; shift > 0; shift -= 8) {
		payload_u8(p, (uint8_t)(nic->mac >> (shift - 8)));
	}
	payload_u16(p, 0);
	payload_u32(p, 6); /* PhysicalAddrLen */
	payload_u32(p, nic->index);
	payload_u32(p, nic->index);
	payload_wstring(p, nic->description);
	payload_wstring(p, nic->addresses);
	payload_wstring(p, nic->dns_servers);
	event_add(k, RECORD_SYSTEM, GROUP_SYSTEM_CONFIG, 13, 2);
}

static void add_sys_config(struct kernel_events *k, uint8_t opcode)
{
	struct etl_out_record record = { .type = RECORD_FULL,
					 .pointer_size = k->payload.pointer_size,
					 .processor = k->processor,
					 .raw_time = k->raw_time,
					 .provider = &sys_config,
					 .opcode = opcode };

	etl_writer_add_payload(k->writer, &record, &k->payload);
	payload_clear(&k->payload);
	k->records++;
}

void event_volume_mapping(struct kernel_events *k, const char *nt_path, const char *dos_path)
{
	payload_wstring(&k->payload, nt_path);
	payload_wstring(&k->payload, dos_path);
	add_sys_config(k, 35);
}

void event_build_info(struct kernel_events *k, const char *build_lab, const char *product)
{
	payload_u64(&k->payload, UINT64_C(132166080000000000)); /* InstallDate */
	payload_wstring(&k->payload, build_lab);
	payload_wstring(&k->payload, product);
	add_sys_config(k, 32);
}

void event_trace_extension(struct kernel_events *k, uint8_t opcode, uint32_t mask1, uint32_t mask2,
			   bool in_header)
{
	struct payload *p = &k->payload;

	payload_u32(p, mask1);
	payload_u32(p, mask2);
	payload_zeros(p, 24); /* masks 3 to 8 */
	payload_u32(p, 46);   /* KernelEventVersion */
	if (in_header && !p->failed) {
		struct etl_out_record record = { .type = RECORD_SYSTEM,
						 .raw_time = k->raw_time,
						 .process_id = k->process_id,
						 .thread_id = k->thread_id,
						 .group = GROUP_EVENT_TRACE,
						 .opcode = opcode,
						 .version = 2,
						 .payload = p->bytes,
						 .payload_size = p->size };

		etl_writer_add_to_header(k->writer, &record);
		payload_clear(p);
		k->counts[GROUP_EVENT_TRACE][opcode & 127]++;
		k->records++;
		return;
	}
	event_add(k, RECORD_PERFINFO, GROUP_EVENT_TRACE, opcode, 2);
}

void event_trace_rundown_complete(struct kernel_events *k)
{
	event_add(k, RECORD_PERFINFO, GROUP_EVENT_TRACE, 8, 2);
}
