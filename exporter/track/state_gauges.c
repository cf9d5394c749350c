/* SPDX-License-Identifier: MIT */
#include "track/state_gauges.h"

#include <stddef.h>

const struct state_gauge state_gauges[] = {
	{ "etw_process_instances", "process", "Process/*, Microsoft-Windows-Kernel-Process" },
	{ "etw_process_threads", "process",
	  "Thread/Start, Thread/Stop, Thread/DCStart, Thread/DCStop" },
	{ "etw_process_image_info", "image",
	  "Process/Start, Process/DCStart, Image/Load, Image/DCStart" },
	{ "etw_file_top_written_bytes", "file_top", "FileIo/Write" },
	{ "etw_disk_info", "disk", "SystemConfig/PhyDisk" },
	{ "etw_disk_volume_info", "disk", "SystemConfig/LogDisk" },
	{ "etw_disk_caused_read_bytes_total", "disk_cause", "DiskIo/Read, FileIo/Read" },
	{ "etw_disk_caused_written_bytes_total", "disk_cause", "DiskIo/Write, FileIo/Write" },
	{ NULL, NULL, NULL },
};
