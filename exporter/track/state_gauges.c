/* SPDX-License-Identifier: MIT */
#include "exporter/track/state_gauges.h"

#include <stddef.h>
#include <string.h>

#define MEMORY_EVENTS \
	"PageFault/ProcessMemInfo, Microsoft-Windows-Kernel-Memory/2, the system's list of processes"

const struct state_gauge state_gauges[] = {
	{ "etw_process_instances", "process", "Process/*, Microsoft-Windows-Kernel-Process", true },
	{ "etw_process_threads", "process",
	  "Thread/Start, Thread/Stop, Thread/DCStart, Thread/DCStop", false },
	{ "etw_process_working_set_bytes", "process_memory", MEMORY_EVENTS, true },
	{ "etw_process_private_working_set_bytes", "process_memory", MEMORY_EVENTS, true },
	{ "etw_process_commit_bytes", "process_memory", MEMORY_EVENTS, true },
	{ "etw_process_handles", "process_memory", "the system's list of processes", true },
	{ "etw_process_image_info", "image",
	  "Process/Start, Process/DCStart, Image/Load, Image/DCStart", false },
	{ "etw_process_info", "process_info", "Process/*, Microsoft-Windows-Kernel-Process", true },
	{ "etw_file_top_written_bytes", "file_top",
	  "FileIo/Write, Microsoft-Windows-Kernel-File/16", true },
	{ "etw_disk_info", "disk", "SystemConfig/PhyDisk", false },
	{ "etw_disk_volume_info", "disk", "SystemConfig/LogDisk", false },
	{ "etw_disk_caused_read_bytes_total", "disk_cause",
	  "DiskIo/Read, FileIo/Read, FileIo/FltRead", false },
	{ "etw_disk_caused_written_bytes_total", "disk_cause",
	  "DiskIo/Write, FileIo/Write, FileIo/FltWrite, FileIo/MapFile", false },
	{ NULL, NULL, NULL, false },
};

bool state_gauges_without_kernel(const char *collector)
{
	for (const struct state_gauge *row = state_gauges; row->family; row++) {
		if (row->without_kernel && strcmp(row->collector, collector) == 0) {
			return true;
		}
	}
	return false;
}

bool state_gauges_have_series(struct registry *registry, const char *collector)
{
	for (const struct state_gauge *row = state_gauges; row->family; row++) {
		const struct family *family = strcmp(row->collector, collector) == 0 ?
						      registry_find_family(registry, row->family) :
						      NULL;

		if (family && family_series(family) > 0) {
			return true;
		}
	}
	return false;
}
