/* SPDX-License-Identifier: MIT */
/*
 * The attribution of event classes: to which process their events belong, what they announce to the
 * tables of the tracker, and which fields of the payload hold it.
 *
 * The header of a kernel event often has no usable process id. The id is in the payload, or the
 * payload names a thread that leads to it. Other kernel events describe the machine: a process
 * starts, a file gets a name, a disk exists. All of this depends only on the class of an event, so
 * it is resolved once for an event class, and each of its events costs a few loads.
 *
 * The rows below describe this by kernel class and range of opcodes. Every row that contains the
 * opcode of an event class applies to it, so one row can hold for a whole class and further rows
 * add what only some opcodes have. Fields are found by their names in the layout of the event
 * class; therefore a row serves all versions of an event, and a version without a field has no
 * reader for it. To attribute another kernel event, add a row. Providers with manifests follow
 * after the rows: Microsoft-Windows-Kernel-File, whose events report the same as those of the
 * kernel's class FileIo, those whose payload names a process, and the subjects of which both the
 * kernel and a provider report.
 *
 * tracker->enabled limits the announcements to those that an enabled feature needs. The first pass
 * of a recording uses the same rows to choose the records that it reads at all.
 */
#include <stdlib.h>

#include <etw/provider.h>

#include "exporter/track/tracker_internal.h"

struct attribution_row {
	enum etw_kernel_class kernel_class;
	uint8_t first, last;         /* opcodes */
	enum owner owner;            /* OWNER_HEADER: decided by the other rows */
	enum lifetime_change change; /* LIFETIME_START: decided by the other rows; if none decides,
					it is a start */
	uint32_t announces;
	bool is_sample;
	const char *fields[PAYLOAD_FIELDS]; /* names of fields; NULL: decided by the other rows */
};

/* Ranges of opcodes for a row. */
#define ONLY(opcode) opcode, opcode
#define EVERY        0, UINT8_MAX

/* clang-format off */
static const struct attribution_row rows[] = {
	{ ETW_KERNEL_PROCESS, EVERY, .owner = OWNER_PROCESS_ID,
	  .fields = { [PAYLOAD_OWNER] = "ProcessId", [PAYLOAD_ABOUT] = "ProcessId" } },
	{ ETW_KERNEL_PROCESS, ETW_KERNEL_OPCODE_START, ETW_KERNEL_OPCODE_DC_STOP,
	  .announces = ANNOUNCES_PROCESS,
	  .fields = { [PAYLOAD_NAME] = "ImageFileName", [PAYLOAD_SECOND_NAME] = "CommandLine",
		      [PAYLOAD_ACCOUNT] = "UserSID", [PAYLOAD_PARENT] = "ParentId",
		      [PAYLOAD_TERMINAL_SESSION] = "SessionId" } },
	{ ETW_KERNEL_PROCESS, ETW_KERNEL_OPCODE_START, ETW_KERNEL_OPCODE_STOP,
	  .announces = ANNOUNCES_ID_CHANGE },
	{ ETW_KERNEL_PROCESS, ONLY(ETW_KERNEL_OPCODE_STOP), .change = LIFETIME_STOP },
	{ ETW_KERNEL_PROCESS, ETW_KERNEL_OPCODE_DC_START, ETW_KERNEL_OPCODE_DC_STOP, .change = LIFETIME_EXISTS },

	{ ETW_KERNEL_THREAD, EVERY, .fields = { [PAYLOAD_ABOUT] = "ProcessId" } },
	{ ETW_KERNEL_THREAD, ETW_KERNEL_OPCODE_START, ETW_KERNEL_OPCODE_DC_STOP, .owner = OWNER_PROCESS_ID,
	  .announces = ANNOUNCES_THREAD | ANNOUNCES_TAG,
	  .fields = { [PAYLOAD_OWNER] = "ProcessId", [PAYLOAD_THREAD] = "TThreadId",
		      [PAYLOAD_TAG] = "SubProcessTag" } },
	{ ETW_KERNEL_THREAD, ONLY(ETW_KERNEL_OPCODE_STOP), .change = LIFETIME_STOP },
	{ ETW_KERNEL_THREAD, ETW_KERNEL_OPCODE_DC_START, ETW_KERNEL_OPCODE_DC_STOP, .change = LIFETIME_EXISTS },
	{ ETW_KERNEL_THREAD, ONLY(ETW_KERNEL_OPCODE_THREAD_CSWITCH),
	  .owner = OWNER_THREAD_ID, .announces = ANNOUNCES_SWITCH,
	  .fields = { [PAYLOAD_OWNER] = "NewThreadId", [PAYLOAD_THREAD] = "NewThreadId",
		      [PAYLOAD_OLD_THREAD] = "OldThreadId" } },
	{ ETW_KERNEL_THREAD, ONLY(ETW_KERNEL_OPCODE_THREAD_READY_THREAD),
	  .owner = OWNER_THREAD_ID, .announces = ANNOUNCES_READY,
	  .fields = { [PAYLOAD_OWNER] = "TThreadId", [PAYLOAD_THREAD] = "TThreadId" } },
	/* The thread that writes the event now works for another service. */
	{ ETW_KERNEL_THREAD, ONLY(ETW_KERNEL_OPCODE_THREAD_SUB_PROCESS_TAG_CHANGED),
	  .announces = ANNOUNCES_TAG, .fields = { [PAYLOAD_TAG] = "NewTag" } },

	/* Image has no opcodes between those of the rundowns and that of a load. */
	{ ETW_KERNEL_IMAGE, EVERY, .fields = { [PAYLOAD_ABOUT] = "ProcessId" } },
	{ ETW_KERNEL_IMAGE, ETW_KERNEL_OPCODE_STOP, ETW_KERNEL_OPCODE_IMAGE_LOAD, .owner = OWNER_PROCESS_ID,
	  .announces = ANNOUNCES_IMAGE,
	  .fields = { [PAYLOAD_OWNER] = "ProcessId", [PAYLOAD_ADDRESS] = "ImageBase",
		      [PAYLOAD_SIZE] = "ImageSize", [PAYLOAD_CHECKSUM] = "ImageChecksum",
		      [PAYLOAD_NAME] = "FileName" } },
	{ ETW_KERNEL_IMAGE, ONLY(ETW_KERNEL_OPCODE_STOP), .change = LIFETIME_STOP },
	{ ETW_KERNEL_IMAGE, ETW_KERNEL_OPCODE_DC_START, ETW_KERNEL_OPCODE_DC_STOP, .change = LIFETIME_EXISTS },

	{ ETW_KERNEL_TCP_IP, EVERY, .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "PID" } },
	{ ETW_KERNEL_UDP_IP, EVERY, .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "PID" } },

	{ ETW_KERNEL_DISK_IO, EVERY, .owner = OWNER_THREAD_ID, .announces = ANNOUNCES_TRANSFER,
	  .fields = { [PAYLOAD_OWNER] = "IssuingThreadId", [PAYLOAD_FILE_KEY] = "FileObject",
		      [PAYLOAD_DISK] = "DiskNumber" } },
	{ ETW_KERNEL_DISK_IO, ETW_KERNEL_OPCODE_DISK_IO_READ, ETW_KERNEL_OPCODE_DISK_IO_WRITE,
	  .announces = ANNOUNCES_DISK_BYTES,
	  .fields = { [PAYLOAD_SIZE] = "TransferSize", [PAYLOAD_NUMBER] = "IrpFlags" } },

	{ ETW_KERNEL_PAGE_FAULT, ETW_KERNEL_OPCODE_PAGE_FAULT_TRANSITION_FAULT,
	  ETW_KERNEL_OPCODE_PAGE_FAULT_ACCESS_VIOLATION,
	  .owner = OWNER_RUNNING },
	{ ETW_KERNEL_PAGE_FAULT, ONLY(ETW_KERNEL_OPCODE_PAGE_FAULT_HARD_FAULT),
	  .owner = OWNER_THREAD_ID, .fields = { [PAYLOAD_OWNER] = "TThreadId" } },
	{ ETW_KERNEL_PAGE_FAULT, ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC,
	  ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_FREE,
	  .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "ProcessId" } },
	{ ETW_KERNEL_PAGE_FAULT, ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_START,
	  ETW_KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_STOP,
	  .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "ProcessId" } },

	{ ETW_KERNEL_PERF_INFO, EVERY, .fields = { [PAYLOAD_ADDRESS] = "Routine" } },
	{ ETW_KERNEL_PERF_INFO, ETW_KERNEL_OPCODE_PERF_INFO_SAMPLE_PROF,
	  ETW_KERNEL_OPCODE_PERF_INFO_PMC_COUNTER_PROF,
	  .owner = OWNER_THREAD_ID, .is_sample = true, .fields = { [PAYLOAD_OWNER] = "ThreadId" } },

	/* Name records have the file key in the field FileObject. */
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_NAME, ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN,
	  .announces = ANNOUNCES_FILE_KEY,
	  .fields = { [PAYLOAD_FILE_KEY] = "FileObject", [PAYLOAD_NAME] = "FileName" } },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_NAME), .change = LIFETIME_EXISTS },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE), .change = LIFETIME_STOP,
	  .announces = ANNOUNCES_FILE_USE },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN), .change = LIFETIME_EXISTS },
	/* In these events, too, FileObject is the file key (docs/etl-format.md section 16.4). */
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_MAP_FILE, ETW_KERNEL_OPCODE_FILE_IO_MAP_FILE_DC_STOP,
	  .owner = OWNER_PROCESS_ID, .announces = ANNOUNCES_VIEW,
	  .fields = { [PAYLOAD_OWNER] = "ProcessId", [PAYLOAD_FILE_KEY] = "FileObject",
		      [PAYLOAD_ADDRESS] = "ViewBase", [PAYLOAD_NUMBER] = "MiscInfo" } },
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_CREATE, UINT8_MAX,
	  .owner = OWNER_THREAD_WITHOUT_HEADER,
	  .fields = { [PAYLOAD_OWNER] = "TTID", [PAYLOAD_FILE_KEY] = "FileKey",
		      [PAYLOAD_FILE_OBJECT] = "FileObject", [PAYLOAD_IRP] = "IrpPtr" } },
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_CREATE, ETW_KERNEL_OPCODE_FILE_IO_FS_CONTROL,
	  .announces = ANNOUNCES_REQUEST },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_DIR_NOTIFY), .announces = ANNOUNCES_REQUEST },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_OPERATION_END),
	  .announces = ANNOUNCES_REQUEST_END },
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_READ, ETW_KERNEL_OPCODE_FILE_IO_WRITE,
	  .announces = ANNOUNCES_FILE_BYTES | ANNOUNCES_FILE_USE,
	  .fields = { [PAYLOAD_SIZE] = "IoSize", [PAYLOAD_NUMBER] = "IoFlags",
		      [PAYLOAD_OFFSET] = "Offset" } },
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_FLT_READ, ETW_KERNEL_OPCODE_FILE_IO_FLT_QUERY_INFO,
	  .announces = ANNOUNCES_REQUEST },
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_FLT_READ, ETW_KERNEL_OPCODE_FILE_IO_FLT_WRITE,
	  .announces = ANNOUNCES_FILE_USE,
	  .fields = { [PAYLOAD_SIZE] = "IoSize", [PAYLOAD_NUMBER] = "IoFlags",
		      [PAYLOAD_OFFSET] = "Offset" } },
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_FLT_PRE_OP_INIT,
	  ETW_KERNEL_OPCODE_FILE_IO_FLT_POST_OP_FAILURE,
	  .owner = OWNER_RUNNING,
	  .fields = { [PAYLOAD_ADDRESS] = "RoutineAddr" } },
	{ ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_DELETE, ETW_KERNEL_OPCODE_FILE_IO_RENAME,
	  .announces = ANNOUNCES_FILE_USE },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_FLUSH), .announces = ANNOUNCES_FILE_USE },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_WRITE), .announces = ANNOUNCES_WRITE },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_CREATE),
	  .announces = ANNOUNCES_FILE_OBJECT, .fields = { [PAYLOAD_NAME] = "OpenPath" } },

	{ ETW_KERNEL_STACK_WALK, ONLY(ETW_KERNEL_OPCODE_STACK_WALK_STACK),
	  .owner = OWNER_PROCESS_ID, .announces = ANNOUNCES_STACK,
	  .fields = { [PAYLOAD_OWNER] = "StackProcess", [PAYLOAD_THREAD] = "StackThread",
		      [PAYLOAD_TIME] = "EventTimeStamp" } },
	{ ETW_KERNEL_STACK_WALK, ETW_KERNEL_OPCODE_STACK_WALK_STACK_KEY_KERNEL, ETW_KERNEL_OPCODE_STACK_WALK_STACK_KEY_USER,
	  .owner = OWNER_PROCESS_ID, .announces = ANNOUNCES_STACK,
	  .fields = { [PAYLOAD_OWNER] = "StackProcess", [PAYLOAD_THREAD] = "StackThread",
		      [PAYLOAD_TIME] = "EventTimeStamp" } },

	{ ETW_KERNEL_SYSTEM_CONFIG, ONLY(ETW_KERNEL_OPCODE_SYSTEM_CONFIG_PHY_DISK),
	  .announces = ANNOUNCES_DISK,
	  .fields = { [PAYLOAD_DISK] = "DiskNumber", [PAYLOAD_NUMBER] = "BytesPerSector",
		      [PAYLOAD_NAME] = "Manufacturer" } },
	{ ETW_KERNEL_SYSTEM_CONFIG, ONLY(ETW_KERNEL_OPCODE_SYSTEM_CONFIG_LOG_DISK),
	  .announces = ANNOUNCES_PARTITION,
	  .fields = { [PAYLOAD_DISK] = "DiskNumber", [PAYLOAD_NUMBER] = "PartitionNumber",
		      [PAYLOAD_NAME] = "DriveLetterString", [PAYLOAD_SECOND_NAME] = "FileSystem" } },
	{ ETW_KERNEL_SYSTEM_CONFIG, ONLY(ETW_KERNEL_OPCODE_SYSTEM_CONFIG_SERVICES),
	  .announces = ANNOUNCES_SERVICE,
	  .fields = { [PAYLOAD_ABOUT] = "ProcessId", [PAYLOAD_TAG] = "SubProcessTag",
		      [PAYLOAD_NAME] = "ServiceName" } },
	{ ETW_KERNEL_SYS_CONFIG, ONLY(ETW_KERNEL_OPCODE_SYS_CONFIG_VOLUME_MAPPING),
	  .announces = ANNOUNCES_VOLUME,
	  .fields = { [PAYLOAD_NAME] = "NtPath", [PAYLOAD_SECOND_NAME] = "DosPath" } },
};

/*
 * The events of Microsoft-Windows-Kernel-File that matter here, each with the opcode of the FileIo
 * event that reports the same (docs/windows.md section 7). Other events of the provider neither
 * repeat a request of FileIo nor name a file.
 */
static const struct file_row {
	uint16_t id;
	uint8_t opcode;
	enum lifetime_change change;
	uint32_t announces;
	const char *name; /* field with the path; NULL: the event names no file */
} file_rows[] = {
	{ ETW_FILE_EVENT_NAME_CREATE, ETW_KERNEL_OPCODE_FILE_IO_FILE_CREATE, LIFETIME_START,
	  ANNOUNCES_FILE_KEY, "FileName" },
	{ ETW_FILE_EVENT_NAME_DELETE, ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE, LIFETIME_STOP,
	  ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_USE, "FileName" },
	{ ETW_FILE_EVENT_CREATE, ETW_KERNEL_OPCODE_FILE_IO_CREATE, LIFETIME_START,
	  ANNOUNCES_FILE_OBJECT | ANNOUNCES_REQUEST, "FileName" },
	{ ETW_FILE_EVENT_CLEANUP, ETW_KERNEL_OPCODE_FILE_IO_CLEANUP, .announces = ANNOUNCES_REQUEST },
	{ ETW_FILE_EVENT_CLOSE, ETW_KERNEL_OPCODE_FILE_IO_CLOSE, .announces = ANNOUNCES_REQUEST },
	{ ETW_FILE_EVENT_READ, ETW_KERNEL_OPCODE_FILE_IO_READ,
	  .announces = ANNOUNCES_REQUEST | ANNOUNCES_FILE_BYTES | ANNOUNCES_FILE_USE },
	{ ETW_FILE_EVENT_WRITE, ETW_KERNEL_OPCODE_FILE_IO_WRITE,
	  .announces = ANNOUNCES_REQUEST | ANNOUNCES_FILE_BYTES | ANNOUNCES_FILE_USE |
		       ANNOUNCES_WRITE },
	{ ETW_FILE_EVENT_SET_INFORMATION, ETW_KERNEL_OPCODE_FILE_IO_SET_INFO,
	  .announces = ANNOUNCES_REQUEST },
	{ ETW_FILE_EVENT_SET_DELETE, ETW_KERNEL_OPCODE_FILE_IO_DELETE,
	  .announces = ANNOUNCES_REQUEST | ANNOUNCES_FILE_USE },
	{ ETW_FILE_EVENT_RENAME, ETW_KERNEL_OPCODE_FILE_IO_RENAME,
	  .announces = ANNOUNCES_REQUEST | ANNOUNCES_FILE_USE },
	{ ETW_FILE_EVENT_DIR_ENUM, ETW_KERNEL_OPCODE_FILE_IO_DIR_ENUM, .announces = ANNOUNCES_REQUEST },
	{ ETW_FILE_EVENT_FLUSH, ETW_KERNEL_OPCODE_FILE_IO_FLUSH,
	  .announces = ANNOUNCES_REQUEST | ANNOUNCES_FILE_USE },
	{ ETW_FILE_EVENT_QUERY_INFORMATION, ETW_KERNEL_OPCODE_FILE_IO_QUERY_INFO,
	  .announces = ANNOUNCES_REQUEST },
	{ ETW_FILE_EVENT_FSCTL, ETW_KERNEL_OPCODE_FILE_IO_FS_CONTROL, .announces = ANNOUNCES_REQUEST },
	{ ETW_FILE_EVENT_OPERATION_END, ETW_KERNEL_OPCODE_FILE_IO_OPERATION_END,
	  .announces = ANNOUNCES_REQUEST_END },
	{ ETW_FILE_EVENT_DIR_NOTIFY, ETW_KERNEL_OPCODE_FILE_IO_DIR_NOTIFY,
	  .announces = ANNOUNCES_REQUEST },
	{ ETW_FILE_EVENT_DELETE_PATH, ETW_KERNEL_OPCODE_FILE_IO_DELETE_PATH, LIFETIME_EXISTS,
	  ANNOUNCES_FILE_KEY, "FilePath" },
	/* This event is no further request: the Create event before it reported the request. */
	{ ETW_FILE_EVENT_CREATE_NEW_FILE, ETW_KERNEL_OPCODE_FILE_IO_CREATE_NEW, LIFETIME_START,
	  ANNOUNCES_FILE_OBJECT, "FileName" },
};
/*
 * Which payload field of a provider's events names a process. The known versions of
 * Microsoft-Windows-Kernel-Registry and -Disk have no such field; a Disk event of a version that
 * names the issuing thread, as DiskIo does from version 3 on, belongs to that thread.
 */
static const struct provider_row {
	enum etw_known_provider provider;
	enum owner owner;  /* OWNER_HEADER: the event is about the process of `field`, and belongs to that of the header */
	const char *field; /* an event without this field belongs to the process of its header */
} provider_rows[] = {
	{ ETW_PROVIDER_KERNEL_DISK, OWNER_THREAD_ID, "IssuingThreadId" },
	{ ETW_PROVIDER_KERNEL_MEMORY, OWNER_PROCESS_ID, "ProcessId" },
	{ ETW_PROVIDER_KERNEL_NETWORK, OWNER_PROCESS_ID, "PID" },
	{ ETW_PROVIDER_KERNEL_PROCESS, OWNER_PROCESS_ID, "ProcessID" },
	/* Any thread may process data of a connection, so only the payload names its process. */
	{ ETW_PROVIDER_TCPIP, OWNER_HEADER, "ProcessId" },
};

/* The kernel events that report a subject. Those that only describe what exists are not among them,
 * because our recordings of sessions without kernel events have them, too (but see note_listed() in
 * announce.c). */
static const struct subject_row {
	enum kernel_subject subject;
	enum etw_kernel_class kernel_class;
	uint8_t group;       /* of records that have no GUID */
	uint8_t first, last; /* opcodes */
} subject_rows[] = {
	{ SUBJECT_FILES, ETW_KERNEL_FILE_IO, ETW_KERNEL_GROUP_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_CREATE,
	  ETW_KERNEL_OPCODE_FILE_IO_FS_CONTROL },
	{ SUBJECT_NETWORK, ETW_KERNEL_TCP_IP, ETW_KERNEL_GROUP_TCP_IP, EVERY },
	{ SUBJECT_NETWORK, ETW_KERNEL_UDP_IP, ETW_KERNEL_GROUP_UDP_IP, EVERY },
	{ SUBJECT_PROCESSES, ETW_KERNEL_PROCESS, ETW_KERNEL_GROUP_PROCESS, ETW_KERNEL_OPCODE_START, ETW_KERNEL_OPCODE_STOP },
	{ SUBJECT_THREADS, ETW_KERNEL_THREAD, ETW_KERNEL_GROUP_THREAD, ETW_KERNEL_OPCODE_START, ETW_KERNEL_OPCODE_STOP },
	{ SUBJECT_REGISTRY, ETW_KERNEL_REGISTRY, ETW_KERNEL_GROUP_REGISTRY, EVERY },
	{ SUBJECT_DISKS, ETW_KERNEL_DISK_IO, ETW_KERNEL_GROUP_DISK_IO, ETW_KERNEL_OPCODE_DISK_IO_READ,
	  ETW_KERNEL_OPCODE_DISK_IO_WRITE },
	{ SUBJECT_DISKS, ETW_KERNEL_DISK_IO, ETW_KERNEL_GROUP_DISK_IO, ONLY(ETW_KERNEL_OPCODE_DISK_IO_FLUSH_BUFFERS) },
};

/* The events of providers that report a subject; those of Microsoft-Windows-Kernel-File are
 * file_rows. */
static const struct second_source_row {
	enum etw_known_provider provider;
	enum kernel_subject subject;
	uint16_t first, last; /* ids */
} second_source_rows[] = {
	{ ETW_PROVIDER_KERNEL_NETWORK, SUBJECT_NETWORK, 0, UINT16_MAX },
	{ ETW_PROVIDER_KERNEL_PROCESS, SUBJECT_PROCESSES, ETW_PROCESS_EVENT_START,
	  ETW_PROCESS_EVENT_STOP },
	{ ETW_PROVIDER_KERNEL_PROCESS, SUBJECT_THREADS, ETW_PROCESS_EVENT_THREAD_START,
	  ETW_PROCESS_EVENT_THREAD_STOP },
	{ ETW_PROVIDER_KERNEL_REGISTRY, SUBJECT_REGISTRY, 0, UINT16_MAX },
	{ ETW_PROVIDER_KERNEL_DISK, SUBJECT_DISKS, 0, UINT16_MAX },
};
/* clang-format on */

enum { NAMES_OF_FILES = ANNOUNCES_FILE_KEY | ANNOUNCES_FILE_OBJECT };

const struct attribution no_attribution = { .texts = { -1, -1, -1 } };

enum {
	ROWS = sizeof rows / sizeof rows[0],
	FILE_ROWS = sizeof file_rows / sizeof file_rows[0],
	PROVIDER_ROWS = sizeof provider_rows / sizeof provider_rows[0],
	SUBJECT_ROWS = sizeof subject_rows / sizeof subject_rows[0],
	SECOND_SOURCE_ROWS = sizeof second_source_rows / sizeof second_source_rows[0],
};

static void find_field(struct attribution *attribution, const struct etw_event_class *class,
		       enum payload_field field, const char *name)
{
	int index = etw_schema_find_field(class->schema, name);

	if (field < PAYLOAD_NAME) {
		attribution->integers[field] =
			etw_field_reader_of(class->schema, index, class->pointer_size);
	} else {
		attribution->texts[field - PAYLOAD_NAME] = (int16_t)index;
	}
}

static void attribute_kernel_class(struct attribution *attribution,
				   const struct etw_event_class *class)
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct attribution_row *row = &rows[i];

		if (row->kernel_class != class->kernel_class || class->opcode < row->first ||
		    class->opcode > row->last) {
			continue;
		}
		for (unsigned field = 0; field < PAYLOAD_FIELDS; field++) {
			if (row->fields[field]) {
				find_field(attribution, class, (enum payload_field)field,
					   row->fields[field]);
			}
		}
		attribution->announces |= row->announces;
		attribution->is_sample |= row->is_sample;
		if (row->change != LIFETIME_START) {
			attribution->change = row->change;
		}
		if (row->owner == OWNER_RUNNING ||
		    (row->owner != OWNER_HEADER && attribution->integers[PAYLOAD_OWNER].size > 0)) {
			attribution->owner = row->owner;
		}
	}
}

/* Returns the row of an event; NULL if it is not such an event of Microsoft-Windows-Kernel-File. */
static const struct file_row *file_row_of(const struct etw_guid *provider, uint16_t id)
{
	if (!etw_provider_is(provider, ETW_PROVIDER_KERNEL_FILE)) {
		return NULL;
	}
	for (size_t i = 0; i < FILE_ROWS; i++) {
		if (file_rows[i].id == id) {
			return &file_rows[i];
		}
	}
	return NULL;
}

static void attribute_file_class(struct attribution *attribution,
				 const struct etw_event_class *class, const struct file_row *row)
{
	/* Version 0 has ThreadId, a pointer, in place of IssuingThreadId. */
	static const char *const names[PAYLOAD_FIELDS] = {
		[PAYLOAD_OWNER] = "IssuingThreadId",
		[PAYLOAD_FILE_KEY] = "FileKey",
		[PAYLOAD_FILE_OBJECT] = "FileObject",
		[PAYLOAD_IRP] = "Irp",
		[PAYLOAD_SIZE] = "IOSize",
		[PAYLOAD_NUMBER] = "IOFlags",
		[PAYLOAD_OFFSET] = "ByteOffset",
	};

	for (unsigned field = 0; field < PAYLOAD_FIELDS; field++) {
		if (names[field]) {
			find_field(attribution, class, (enum payload_field)field, names[field]);
		}
	}
	if (attribution->integers[PAYLOAD_OWNER].size == 0) {
		find_field(attribution, class, PAYLOAD_OWNER, "ThreadId");
	}
	if (row->name) {
		find_field(attribution, class, PAYLOAD_NAME, row->name);
	}
	attribution->change = row->change;
	attribution->announces = row->announces;
}

/* Ids of Microsoft-Windows-Kernel-Process events that announce a process. */
static const uint16_t process_image_ids[] = { ETW_PROCESS_EVENT_START, ETW_PROCESS_EVENT_STOP,
					      ETW_PROCESS_EVENT_RUNDOWN };

enum { PROCESS_IMAGE_IDS = sizeof process_image_ids / sizeof process_image_ids[0] };

static bool announces_process_image(const struct etw_guid *provider, uint16_t id)
{
	unsigned i = 0;

	while (i < PROCESS_IMAGE_IDS && process_image_ids[i] != id) {
		i++;
	}
	return i < PROCESS_IMAGE_IDS && etw_provider_is(provider, ETW_PROVIDER_KERNEL_PROCESS);
}

void tracker_choose_ids_ahead(struct etw_id_choice *ids)
{
	for (unsigned i = 0; i < PROCESS_IMAGE_IDS; i++) {
		etw_id_choose(ids, process_image_ids[i]);
	}
	for (size_t i = 0; i < FILE_ROWS; i++) {
		if (file_rows[i].name) {
			etw_id_choose(ids, file_rows[i].id);
		}
	}
}

/* For a class with a schema: finds the process that its events belong to, or are about. */
static void attribute_provider(struct attribution *attribution, const struct etw_event_class *class)
{
	for (size_t i = 0; i < PROVIDER_ROWS; i++) {
		const struct provider_row *row = &provider_rows[i];

		if (!etw_provider_is(&class->provider, row->provider)) {
			continue;
		}
		if (row->owner != OWNER_THREAD_ID) {
			find_field(attribution, class, PAYLOAD_ABOUT, row->field);
		}
		if (row->owner != OWNER_HEADER) {
			find_field(attribution, class, PAYLOAD_OWNER, row->field);
		}
		if (attribution->integers[PAYLOAD_OWNER].size > 0) {
			attribution->owner = row->owner;
		}
	}
}

/* Returns the subject of which the event is a second source; 0: none. */
static uint8_t repeated_subject(const struct etw_event_class *class)
{
	for (size_t i = 0; i < SECOND_SOURCE_ROWS; i++) {
		const struct second_source_row *row = &second_source_rows[i];

		if (class->id >= row->first && class->id <= row->last &&
		    etw_provider_is(&class->provider, row->provider)) {
			return (uint8_t)row->subject;
		}
	}
	return 0;
}

/* Attributes a class of a provider with a manifest. enabled: set of enum announcement that the
 * tracker collects. */
static void attribute_manifest_class(struct attribution *attribution,
				     const struct etw_event_class *class, uint32_t enabled)
{
	const struct file_row *row;

	if (class->schema) {
		attribute_provider(attribution, class);
	}
	attribution->repeats = repeated_subject(class);
	if (class->record_type == ETW_RECORD_EVENT &&
	    announces_process_image(&class->provider, class->id)) {
		if (!class->schema) {
			attribution->announces = ANNOUNCES_LATER;
			return;
		}
		find_field(attribution, class, PAYLOAD_NAME, "ImageName");
		find_field(attribution, class, PAYLOAD_PARENT, "ParentProcessID");
		find_field(attribution, class, PAYLOAD_TERMINAL_SESSION, "SessionID");
		attribution->change = class->id == ETW_PROCESS_EVENT_START ? LIFETIME_START :
				      class->id == ETW_PROCESS_EVENT_STOP  ? LIFETIME_STOP :
									     LIFETIME_EXISTS;
		attribution->announces = ANNOUNCES_PROCESS_IMAGE;
	} else if (class->record_type == ETW_RECORD_EVENT &&
		   (row = file_row_of(&class->provider, class->id)) != NULL) {
		attribution->opcode = row->opcode;
		attribution->repeats = SUBJECT_FILES;
		if (class->schema) {
			attribute_file_class(attribution, class, row);
		} else if (row->announces & enabled & NAMES_OF_FILES) {
			attribution->announces = ANNOUNCES_LATER;
		}
	}
}

/* Returns the subject that a kernel event reports; 0: none. */
static uint32_t reported_subject(const struct etw_event_class *class)
{
	for (size_t i = 0; i < SUBJECT_ROWS; i++) {
		const struct subject_row *row = &subject_rows[i];

		if (row->kernel_class == class->kernel_class && class->opcode >= row->first &&
		    class->opcode <= row->last) {
			return row->subject;
		}
	}
	return 0;
}

uint32_t tracker_kernel_subjects(const struct tracker *tracker)
{
	return tracker->kernel_subjects;
}

/* Returns whether events of the class list the memory of all processes. They need no schema. */
static bool lists_memory(const struct etw_event_class *class)
{
	return class->classic ?
		       class->kernel_class == ETW_KERNEL_PAGE_FAULT &&
			       class->opcode == ETW_KERNEL_OPCODE_PAGE_FAULT_PROCESS_MEM_INFO :
		       class->record_type == ETW_RECORD_EVENT &&
			       class->id == ETW_MEMORY_EVENT_PROCESSES &&
			       etw_provider_is(&class->provider, ETW_PROVIDER_KERNEL_MEMORY);
}

static void find_payload_owner(struct attribution *attribution)
{
	const struct etw_field_reader *reader = &attribution->integers[PAYLOAD_OWNER];

	attribution->payload_owner = attribution->owner == OWNER_PROCESS_ID ? OF_PROCESS :
				     attribution->owner == OWNER_THREAD_ID  ? OF_THREAD :
									      0;
	attribution->payload_owner_offset = reader->offset;
	attribution->payload_owner_end = reader->size == 4 ? reader->end : UINT32_MAX;
}

bool tracker_prepare(struct tracker *tracker, struct etw_event_class *class)
{
	if (!class->attribution) {
		class->attribution = malloc(sizeof *class->attribution);
		if (!class->attribution) {
			return false;
		}
	}
	*class->attribution = no_attribution;
	class->attribution->schema = class->schema;
	class->attribution->opcode = class->opcode;
	if (!class->classic) {
		attribute_manifest_class(class->attribution, class, tracker->enabled);
	} else if (class->schema) {
		attribute_kernel_class(class->attribution, class);
		/* A session of this program has what the configuration says: a late event must not
		 * bring back what a reload has switched off. */
		if (!tracker->options.live || tracker->options.attached) {
			tracker->kernel_subjects |= reported_subject(class);
		}
	}
	class->attribution->announces |= lists_memory(class) ? ANNOUNCES_MEMORY : 0;
	class->attribution->announces &= tracker->enabled;
	find_payload_owner(class->attribution);
	return true;
}

void tracker_release(struct etw_event_class *class)
{
	free(class->attribution);
	class->attribution = NULL;
}

/* Chooses the kernel records that announce any of `announcements`. */
static void choose(struct etw_kernel_choice *choice, uint32_t announcements)
{
	*choice = (struct etw_kernel_choice){ 0 };
	for (size_t i = 0; i < ROWS; i++) {
		if (!(rows[i].announces & announcements)) {
			continue;
		}
		for (unsigned group = 0; group < ETW_KERNEL_GROUPS; group++) {
			for (unsigned opcode = rows[i].first; opcode <= rows[i].last; opcode++) {
				const struct etw_guid *class =
					etw_kernel_record_guid((uint8_t)group, (uint8_t)opcode);

				if (etw_kernel_class_of(class) == rows[i].kernel_class) {
					etw_kernel_choose(choice, (uint8_t)group, (uint8_t)opcode);
				}
			}
		}
	}
}

void tracker_choose_ahead(struct tracker *tracker, struct etw_kernel_choice *choice)
{
	const struct tracker_options *options = &tracker->options;
	bool asks = (options->features & TRACK_SOURCES) || options->top_paths ||
		    options->disk_cause;
	uint32_t announces = tracker->enabled & ANNOUNCES_IN_FIRST_PASS;

	if (tracker->announcing_of != announces) {
		choose(&tracker->announcing, announces);
		tracker->announcing_of = announces;
	}
	*choice = tracker->announcing;
	for (size_t i = 0; asks && i < SUBJECT_ROWS; i++) {
		const struct subject_row *row = &subject_rows[i];

		for (unsigned opcode = row->first;
		     opcode <= row->last && !(tracker->kernel_subjects & row->subject); opcode++) {
			etw_kernel_choose(choice, row->group, (uint8_t)opcode);
		}
	}
}

void tracker_choose_announcing(struct etw_kernel_choice *choice)
{
	choose(choice, ANNOUNCES_IN_FIRST_PASS & ~(uint32_t)ANNOUNCES_STACK);
}

bool tracker_skips_ahead(const struct etw_record *record)
{
	const struct file_row *row;

	if (record->classic || announces_process_image(record->provider, record->id)) {
		return false;
	}
	row = file_row_of(record->provider, record->id);
	return !row || !row->name;
}

bool tracker_names_files(const struct etw_event_class *class)
{
	const struct file_row *row = class->classic ? NULL :
						      file_row_of(&class->provider, class->id);

	return row && row->name;
}
