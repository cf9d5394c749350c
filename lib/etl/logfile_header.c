/* SPDX-License-Identifier: MIT */
#include "lib/etl/logfile_header.h"

#include <stddef.h>

#include "base/cursor.h"

uint64_t logfile_ticks_per_second(const struct etw_writer_options *options)
{
	switch (options->clock) {
	case ETW_CLOCK_SYSTEM_TIME:
		return 10000000;
	case ETW_CLOCK_CPU_CYCLE:
		return (uint64_t)options->cpu_mhz * 1000000;
	case ETW_CLOCK_QPC:
		break;
	}
	return options->perf_frequency;
}

int64_t logfile_raw_time(const struct etw_writer_options *options, uint64_t ns)
{
	uint64_t frequency = logfile_ticks_per_second(options);
	uint64_t ticks = ns / 1000000000 * frequency + ns % 1000000000 * frequency / 1000000000;

	return (int64_t)((uint64_t)options->start_raw + ticks);
}

/* Converts a raw time that is not before the start to 100 ns since 1601 UTC. */
static int64_t wall_time(const struct etw_writer_options *options, int64_t raw)
{
	uint64_t frequency = logfile_ticks_per_second(options);
	uint64_t ticks = (uint64_t)raw - (uint64_t)options->start_raw;
	uint64_t rest = ticks % frequency * 10000000 / frequency;

	return (int64_t)((uint64_t)options->start_time + ticks / frequency * 10000000 + rest);
}

void logfile_header_build(struct etw_payload *payload, const struct etw_writer_options *options,
			  const struct logfile_ending *ending, const char *session_name,
			  const char *file_name)
{
	int64_t end_time = 0;

	if (ending) {
		end_time = options->end_time ? options->end_time :
					       wall_time(options, ending->latest_raw);
	}
	etw_payload_u32(payload, options->buffer_size);
	etw_payload_u8(payload, options->os_major);
	etw_payload_u8(payload, options->os_minor);
	etw_payload_u8(payload, 1);
	etw_payload_u8(payload, 5);
	etw_payload_u32(payload, options->os_build);
	etw_payload_u32(payload, options->processors);
	etw_payload_u64(payload, (uint64_t)end_time);
	etw_payload_u32(payload, 156250); /* TimerResolution */
	etw_payload_u32(payload, options->maximum_file_mb);
	etw_payload_u32(payload, options->log_file_mode);
	etw_payload_u32(payload, ending ? ending->buffers_written : 1);
	etw_payload_u32(payload, 1); /* StartBuffers */
	etw_payload_u32(payload, options->pointer_size);
	etw_payload_u32(payload, options->events_lost);
	etw_payload_u32(payload, options->cpu_mhz);
	etw_payload_pointer(payload, 0);
	etw_payload_pointer(payload, 0);
	etw_payload_u32(payload, (uint32_t)options->bias_minutes);
	etw_payload_bytes(payload, options->time_zone_rest, sizeof options->time_zone_rest);
	etw_payload_u32(payload, 0); /* padding to 8 */
	etw_payload_u64(payload, (uint64_t)options->boot_time);
	etw_payload_u64(payload, options->perf_frequency);
	etw_payload_u64(payload, (uint64_t)options->start_time);
	etw_payload_u32(payload, (uint32_t)options->clock);
	etw_payload_u32(payload, options->buffers_lost);
	if (session_name && file_name) {
		etw_payload_wstring(payload, session_name);
		etw_payload_wstring(payload, file_name);
	}
}

bool logfile_header_change(uint8_t *payload, size_t size, uint8_t pointer_size,
			   const struct logfile_changes *changes)
{
	/* docs/etl-format.md section 5. Members after the two pointers of the names are 8 bytes
	 * later if pointers have 8 bytes; members before them have the same offset. */
	enum { BOOT_TIME_32 = 0xf0, POINTERS_32 = 8 };
	uint8_t *late = payload + BOOT_TIME_32 + 2 * (size_t)pointer_size - POINTERS_32;

	if (size < (size_t)(late - payload) + 0x20) {
		return false;
	}
	store_u32(payload + 0x00, changes->buffer_size);
	store_u32(payload + 0x0c, changes->processors);
	store_u64(payload + 0x10, (uint64_t)changes->end_time);
	store_u32(payload + 0x20, changes->log_file_mode);
	store_u32(payload + 0x24, changes->buffers_written);
	store_u32(payload + 0x30, changes->events_lost);
	store_u64(late + 0x10, (uint64_t)changes->start_time);
	store_u32(late + 0x1c, changes->buffers_lost);
	return true;
}
