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
 * The rows below say it by kernel class and range of opcodes. An event class takes over every row
 * that contains its opcode, so one row can hold for a whole class and further rows add what only
 * some opcodes have. Fields are found by their names in the layout of the event class; therefore a
 * row serves all versions of an event, and a version without a field has no reader for it. To
 * attribute another kernel event, add a row. The two providers with manifests that describe
 * processes follow behind the rows.
 *
 * What no enabled feature needs is not announced: tracker->enabled limits the announcements. The
 * first pass of a recording uses the same rows to choose which records it reads at all.
 */
#include <stdlib.h>

#include "source/provider_names.h"
#include "track/tracker_internal.h"

struct attribution_row {
	enum kernel_class kernel_class;
	uint8_t first, last;         /* opcodes */
	enum owner owner;            /* OWNER_HEADER: as other rows say */
	enum lifetime_change change; /* LIFETIME_START: as other rows say, else a start */
	uint32_t announces;
	const char *fields[PAYLOAD_FIELDS]; /* names; NULL: as other rows say */
};

/* The opcodes of a row. */
#define ONLY(opcode) opcode, opcode
#define EVERY        0, UINT8_MAX

/* clang-format off */
static const struct attribution_row rows[] = {
	{ KERNEL_PROCESS, EVERY, .owner = OWNER_PROCESS_ID,
	  .fields = { [PAYLOAD_OWNER] = "ProcessId", [PAYLOAD_ABOUT] = "ProcessId" } },
	{ KERNEL_PROCESS, KERNEL_OPCODE_START, KERNEL_OPCODE_DC_STOP,
	  .announces = ANNOUNCES_PROCESS, .fields = { [PAYLOAD_NAME] = "ImageFileName" } },
	{ KERNEL_PROCESS, KERNEL_OPCODE_START, KERNEL_OPCODE_STOP,
	  .announces = ANNOUNCES_ID_CHANGE },
	{ KERNEL_PROCESS, ONLY(KERNEL_OPCODE_STOP), .change = LIFETIME_STOP },
	{ KERNEL_PROCESS, KERNEL_OPCODE_DC_START, KERNEL_OPCODE_DC_STOP, .change = LIFETIME_EXISTS },

	{ KERNEL_THREAD, EVERY, .fields = { [PAYLOAD_ABOUT] = "ProcessId" } },
	{ KERNEL_THREAD, KERNEL_OPCODE_START, KERNEL_OPCODE_DC_STOP, .owner = OWNER_PROCESS_ID,
	  .announces = ANNOUNCES_THREAD | ANNOUNCES_TAG,
	  .fields = { [PAYLOAD_OWNER] = "ProcessId", [PAYLOAD_THREAD] = "TThreadId",
		      [PAYLOAD_TAG] = "SubProcessTag" } },
	{ KERNEL_THREAD, ONLY(KERNEL_OPCODE_STOP), .change = LIFETIME_STOP },
	{ KERNEL_THREAD, KERNEL_OPCODE_DC_START, KERNEL_OPCODE_DC_STOP, .change = LIFETIME_EXISTS },
	{ KERNEL_THREAD, ONLY(KERNEL_OPCODE_THREAD_CSWITCH),
	  .owner = OWNER_THREAD_ID, .announces = ANNOUNCES_SWITCH,
	  .fields = { [PAYLOAD_OWNER] = "NewThreadId", [PAYLOAD_THREAD] = "NewThreadId",
		      [PAYLOAD_OLD_THREAD] = "OldThreadId" } },
	{ KERNEL_THREAD, ONLY(KERNEL_OPCODE_THREAD_READY_THREAD),
	  .owner = OWNER_THREAD_ID, .announces = ANNOUNCES_READY,
	  .fields = { [PAYLOAD_OWNER] = "TThreadId", [PAYLOAD_THREAD] = "TThreadId" } },
	/* The thread that writes the event now works for another service. */
	{ KERNEL_THREAD, ONLY(KERNEL_OPCODE_THREAD_SUB_PROCESS_TAG_CHANGED),
	  .announces = ANNOUNCES_TAG, .fields = { [PAYLOAD_TAG] = "NewTag" } },

	/* Image has no opcodes between those of the rundowns and that of a load. */
	{ KERNEL_IMAGE, EVERY, .fields = { [PAYLOAD_ABOUT] = "ProcessId" } },
	{ KERNEL_IMAGE, KERNEL_OPCODE_STOP, KERNEL_OPCODE_IMAGE_LOAD, .owner = OWNER_PROCESS_ID,
	  .announces = ANNOUNCES_IMAGE,
	  .fields = { [PAYLOAD_OWNER] = "ProcessId", [PAYLOAD_ADDRESS] = "ImageBase",
		      [PAYLOAD_SIZE] = "ImageSize", [PAYLOAD_CHECKSUM] = "ImageChecksum",
		      [PAYLOAD_NAME] = "FileName" } },
	{ KERNEL_IMAGE, ONLY(KERNEL_OPCODE_STOP), .change = LIFETIME_STOP },
	{ KERNEL_IMAGE, KERNEL_OPCODE_DC_START, KERNEL_OPCODE_DC_STOP, .change = LIFETIME_EXISTS },

	{ KERNEL_TCP_IP, EVERY, .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "PID" } },
	{ KERNEL_UDP_IP, EVERY, .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "PID" } },

	{ KERNEL_DISK_IO, EVERY, .owner = OWNER_THREAD_ID, .announces = ANNOUNCES_TRANSFER,
	  .fields = { [PAYLOAD_OWNER] = "IssuingThreadId", [PAYLOAD_FILE_KEY] = "FileObject",
		      [PAYLOAD_DISK] = "DiskNumber" } },
	{ KERNEL_DISK_IO, KERNEL_OPCODE_DISK_IO_READ, KERNEL_OPCODE_DISK_IO_WRITE,
	  .announces = ANNOUNCES_DISK_BYTES,
	  .fields = { [PAYLOAD_SIZE] = "TransferSize", [PAYLOAD_NUMBER] = "IrpFlags" } },

	{ KERNEL_PAGE_FAULT, ONLY(KERNEL_OPCODE_PAGE_FAULT_HARD_FAULT),
	  .owner = OWNER_THREAD_ID, .fields = { [PAYLOAD_OWNER] = "TThreadId" } },
	{ KERNEL_PAGE_FAULT, KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC,
	  KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_FREE,
	  .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "ProcessId" } },
	{ KERNEL_PAGE_FAULT, KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_START,
	  KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_STOP,
	  .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "ProcessId" } },

	{ KERNEL_PERF_INFO, EVERY, .fields = { [PAYLOAD_ADDRESS] = "Routine" } },
	{ KERNEL_PERF_INFO, ONLY(KERNEL_OPCODE_PERF_INFO_SAMPLE_PROF),
	  .owner = OWNER_THREAD_ID, .fields = { [PAYLOAD_OWNER] = "ThreadId" } },

	/* The name records call the file key FileObject. */
	{ KERNEL_FILE_IO, KERNEL_OPCODE_FILE_IO_NAME, KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN,
	  .announces = ANNOUNCES_FILE_KEY,
	  .fields = { [PAYLOAD_FILE_KEY] = "FileObject", [PAYLOAD_NAME] = "FileName" } },
	{ KERNEL_FILE_IO, ONLY(KERNEL_OPCODE_FILE_IO_NAME), .change = LIFETIME_EXISTS },
	{ KERNEL_FILE_IO, ONLY(KERNEL_OPCODE_FILE_IO_FILE_DELETE), .change = LIFETIME_STOP,
	  .announces = ANNOUNCES_FILE_USE },
	{ KERNEL_FILE_IO, ONLY(KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN), .change = LIFETIME_EXISTS },
	/* Here too FileObject is the file key (docs/etl-format.md section 16.4). */
	{ KERNEL_FILE_IO, KERNEL_OPCODE_FILE_IO_MAP_FILE, KERNEL_OPCODE_FILE_IO_MAP_FILE_DC_STOP,
	  .owner = OWNER_PROCESS_ID, .announces = ANNOUNCES_VIEW,
	  .fields = { [PAYLOAD_OWNER] = "ProcessId", [PAYLOAD_FILE_KEY] = "FileObject",
		      [PAYLOAD_ADDRESS] = "ViewBase", [PAYLOAD_NUMBER] = "MiscInfo" } },
	{ KERNEL_FILE_IO, KERNEL_OPCODE_FILE_IO_CREATE, UINT8_MAX,
	  .owner = OWNER_THREAD_WITHOUT_HEADER,
	  .fields = { [PAYLOAD_OWNER] = "TTID", [PAYLOAD_FILE_KEY] = "FileKey",
		      [PAYLOAD_FILE_OBJECT] = "FileObject", [PAYLOAD_IRP] = "IrpPtr" } },
	{ KERNEL_FILE_IO, KERNEL_OPCODE_FILE_IO_CREATE, KERNEL_OPCODE_FILE_IO_FS_CONTROL,
	  .announces = ANNOUNCES_REQUEST },
	{ KERNEL_FILE_IO, ONLY(KERNEL_OPCODE_FILE_IO_OPERATION_END),
	  .announces = ANNOUNCES_REQUEST_END },
	{ KERNEL_FILE_IO, KERNEL_OPCODE_FILE_IO_READ, KERNEL_OPCODE_FILE_IO_WRITE,
	  .announces = ANNOUNCES_FILE_BYTES | ANNOUNCES_FILE_USE,
	  .fields = { [PAYLOAD_SIZE] = "IoSize", [PAYLOAD_NUMBER] = "IoFlags",
		      [PAYLOAD_OFFSET] = "Offset" } },
	{ KERNEL_FILE_IO, KERNEL_OPCODE_FILE_IO_DELETE, KERNEL_OPCODE_FILE_IO_RENAME,
	  .announces = ANNOUNCES_FILE_USE },
	{ KERNEL_FILE_IO, ONLY(KERNEL_OPCODE_FILE_IO_FLUSH), .announces = ANNOUNCES_FILE_USE },
	{ KERNEL_FILE_IO, ONLY(KERNEL_OPCODE_FILE_IO_WRITE), .announces = ANNOUNCES_WRITE },
	{ KERNEL_FILE_IO, ONLY(KERNEL_OPCODE_FILE_IO_CREATE),
	  .announces = ANNOUNCES_FILE_OBJECT, .fields = { [PAYLOAD_NAME] = "OpenPath" } },

	{ KERNEL_STACK_WALK, ONLY(KERNEL_OPCODE_STACK_WALK_STACK),
	  .owner = OWNER_PROCESS_ID, .fields = { [PAYLOAD_OWNER] = "StackProcess" } },

	{ KERNEL_SYSTEM_CONFIG, ONLY(KERNEL_OPCODE_SYSTEM_CONFIG_PHY_DISK),
	  .announces = ANNOUNCES_DISK,
	  .fields = { [PAYLOAD_DISK] = "DiskNumber", [PAYLOAD_NUMBER] = "BytesPerSector",
		      [PAYLOAD_NAME] = "Manufacturer" } },
	{ KERNEL_SYSTEM_CONFIG, ONLY(KERNEL_OPCODE_SYSTEM_CONFIG_LOG_DISK),
	  .announces = ANNOUNCES_PARTITION,
	  .fields = { [PAYLOAD_DISK] = "DiskNumber", [PAYLOAD_NUMBER] = "PartitionNumber",
		      [PAYLOAD_NAME] = "DriveLetterString", [PAYLOAD_SECOND_NAME] = "FileSystem" } },
	{ KERNEL_SYSTEM_CONFIG, ONLY(KERNEL_OPCODE_SYSTEM_CONFIG_SERVICES),
	  .announces = ANNOUNCES_SERVICE,
	  .fields = { [PAYLOAD_ABOUT] = "ProcessId", [PAYLOAD_TAG] = "SubProcessTag",
		      [PAYLOAD_NAME] = "ServiceName" } },
	{ KERNEL_SYS_CONFIG, ONLY(KERNEL_OPCODE_SYS_CONFIG_VOLUME_MAPPING),
	  .announces = ANNOUNCES_VOLUME,
	  .fields = { [PAYLOAD_NAME] = "NtPath", [PAYLOAD_SECOND_NAME] = "DosPath" } },
};
/* clang-format on */

const struct attribution no_attribution = { .texts = { -1, -1 } };

enum { ROWS = sizeof rows / sizeof rows[0] };

static void find_field(struct attribution *attribution, const struct event_class *class,
		       enum payload_field field, const char *name)
{
	int index = schema_find_field(class->schema, name);

	if (field < PAYLOAD_NAME) {
		attribution->integers[field] =
			field_reader_of(class->schema, index, class->pointer_size);
	} else {
		attribution->texts[field - PAYLOAD_NAME] = (int16_t)index;
	}
}

static void attribute_kernel_class(struct attribution *attribution, const struct event_class *class)
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
		if (row->change != LIFETIME_START) {
			attribution->change = row->change;
		}
		if (row->owner != OWNER_HEADER && attribution->integers[PAYLOAD_OWNER].size > 0) {
			attribution->owner = row->owner;
		}
	}
}

static bool announces_process_image(const struct guid *provider, uint16_t id)
{
	return (id == PROCESS_EVENT_START || id == PROCESS_EVENT_STOP ||
		id == PROCESS_EVENT_RUNDOWN) &&
	       provider_is(provider, PROVIDER_KERNEL_PROCESS);
}

static void attribute_manifest_class(struct attribution *attribution,
				     const struct event_class *class)
{
	if (class->record_type == RECORD_EVENT &&
	    announces_process_image(&class->provider, class->id)) {
		if (!class->schema) {
			attribution->announces = ANNOUNCES_LATER;
			return;
		}
		find_field(attribution, class, PAYLOAD_ABOUT, "ProcessID");
		find_field(attribution, class, PAYLOAD_NAME, "ImageName");
		attribution->change = class->id == PROCESS_EVENT_START ? LIFETIME_START :
				      class->id == PROCESS_EVENT_STOP  ? LIFETIME_STOP :
									 LIFETIME_EXISTS;
		attribution->announces = ANNOUNCES_PROCESS_IMAGE;
	} else if (class->schema && provider_is(&class->provider, PROVIDER_TCPIP)) {
		/* Any thread may work on a connection; only the payload names its process. */
		find_field(attribution, class, PAYLOAD_ABOUT, "ProcessId");
	}
}

bool tracker_prepare(struct tracker *tracker, struct event_class *class)
{
	if (!class->attribution) {
		class->attribution = malloc(sizeof *class->attribution);
		if (!class->attribution) {
			return false;
		}
	}
	*class->attribution = no_attribution;
	class->attribution->schema = class->schema;
	if (!class->classic) {
		attribute_manifest_class(class->attribution, class);
	} else if (class->schema) {
		attribute_kernel_class(class->attribution, class);
	}
	class->attribution->announces &= tracker->enabled;
	return true;
}

void tracker_release(struct event_class *class)
{
	free(class->attribution);
	class->attribution = NULL;
}

/* The kernel records that announce any of these. */
static void choose(struct kernel_choice *choice, uint32_t announcements)
{
	*choice = (struct kernel_choice){ 0 };
	for (size_t i = 0; i < ROWS; i++) {
		if (!(rows[i].announces & announcements)) {
			continue;
		}
		for (unsigned group = 0; group < KERNEL_GROUPS; group++) {
			for (unsigned opcode = rows[i].first; opcode <= rows[i].last; opcode++) {
				const struct guid *class =
					kernel_record_guid((uint8_t)group, (uint8_t)opcode);

				if (kernel_class_of(class) == rows[i].kernel_class) {
					kernel_choose(choice, (uint8_t)group, (uint8_t)opcode);
				}
			}
		}
	}
}

void tracker_choose_ahead(const struct tracker *tracker, struct kernel_choice *choice)
{
	choose(choice, tracker->enabled & ANNOUNCES_IN_FIRST_PASS);
}

void tracker_choose_announcing(struct kernel_choice *choice)
{
	choose(choice, ANNOUNCES_IN_FIRST_PASS);
}

bool tracker_skips_ahead(const struct event_record *record)
{
	return !record->classic && !announces_process_image(record->provider, record->id);
}
