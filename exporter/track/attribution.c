/* SPDX-License-Identifier: MIT */
/*
 * How events of a kind are attributed and what they tell, by class and opcode.
 *
 * Fields are found by name in the kind's layout, so one row serves all versions.
 */
#include "track/attribution.h"

#include <string.h>

bool reader_walk(const struct reader *reader, const struct schema *schema,
		 const struct event_record *record, uint64_t *value)
{
	struct field_slice slice;

	if (reader->size == 0 || !schema || !field_locate(schema, reader->index, record, &slice)) {
		return false;
	}
	*value = field_u64(&schema->fields[reader->index], &slice);
	return true;
}

static uint8_t integer_size(const struct field *field, uint8_t pointer_size)
{
	switch ((enum field_type)field->type) {
	case FIELD_I8:
	case FIELD_U8:
		return 1;
	case FIELD_I16:
	case FIELD_U16:
		return 2;
	case FIELD_I32:
	case FIELD_U32:
		return 4;
	case FIELD_I64:
	case FIELD_U64:
		return 8;
	case FIELD_POINTER:
	case FIELD_SIZE:
		return pointer_size;
	default:
		return 0;
	}
}

static struct reader reader_of(const struct event_kind *kind, const char *name)
{
	int index = kind->schema ? schema_find_field(kind->schema, name) : -1;
	struct reader reader = { 0 };

	if (index >= 0) {
		const struct field *field = &kind->schema->fields[index];

		reader.index = (uint16_t)index;
		reader.offset = field->offset[kind->pointer_size == 8];
		reader.size = field->count_kind == FIELD_SCALAR ?
				      integer_size(field, kind->pointer_size) :
				      0;
	}
	return reader;
}

static int16_t name_of(const struct event_kind *kind, const char *name)
{
	return kind->schema ? (int16_t)schema_find_field(kind->schema, name) : (int16_t)-1;
}

static void owned_by(struct attribution *attribution, enum owner owner,
		     const struct event_kind *kind, const char *name)
{
	attribution->owner_id = reader_of(kind, name);
	attribution->owner = attribution->owner_id.size > 0 ? (uint8_t)owner : OWNER_HEADER;
}

/* Start, stop and the two rundowns have the same numbers in Process, Thread and (but for the load)
 * Image. */
static bool life(struct attribution *attribution, uint8_t opcode, uint8_t start)
{
	if (opcode == start) {
		attribution->change = LIFETIME_START;
	} else if (opcode == 2) {
		attribution->change = LIFETIME_STOP;
	} else if (opcode == 3 || opcode == 4) {
		attribution->change = LIFETIME_EXISTS;
	} else {
		return false;
	}
	return true;
}

static void fill_process(struct attribution *attribution, const struct event_kind *kind)
{
	owned_by(attribution, OWNER_PROCESS_ID, kind, "ProcessId");
	attribution->about = attribution->owner_id;
	if (life(attribution, kind->opcode, 1)) {
		attribution->tells = TELLS_PROCESS;
		attribution->name = name_of(kind, "ImageFileName");
	}
}

static void fill_thread(struct attribution *attribution, const struct event_kind *kind)
{
	attribution->about = reader_of(kind, "ProcessId");
	if (life(attribution, kind->opcode, 1)) {
		owned_by(attribution, OWNER_PROCESS_ID, kind, "ProcessId");
		attribution->thread = reader_of(kind, "TThreadId");
		attribution->tag = reader_of(kind, "SubProcessTag");
		attribution->tells = TELLS_THREAD | (attribution->tag.size > 0 ? TELLS_TAG : 0U);
	} else if (kind->opcode == 36) {
		owned_by(attribution, OWNER_THREAD_ID, kind, "NewThreadId");
		attribution->thread = attribution->owner_id;
		attribution->old_thread = reader_of(kind, "OldThreadId");
		attribution->tells = TELLS_SWITCH;
	} else if (kind->opcode == 50) {
		owned_by(attribution, OWNER_THREAD_ID, kind, "TThreadId");
		attribution->thread = attribution->owner_id;
		attribution->tells = TELLS_READY;
	} else if (kind->opcode == 69) { /* the thread that writes it goes to another service */
		attribution->change = LIFETIME_START;
		attribution->tag = reader_of(kind, "NewTag");
		attribution->tells = TELLS_TAG;
	}
}

static void fill_image(struct attribution *attribution, const struct event_kind *kind)
{
	attribution->about = reader_of(kind, "ProcessId");
	if (life(attribution, kind->opcode, 10)) {
		owned_by(attribution, OWNER_PROCESS_ID, kind, "ProcessId");
		attribution->address = reader_of(kind, "ImageBase");
		attribution->size = reader_of(kind, "ImageSize");
		attribution->checksum = reader_of(kind, "ImageChecksum");
		attribution->name = name_of(kind, "FileName");
		attribution->tells = TELLS_IMAGE;
	}
}

static void fill_file(struct attribution *attribution, const struct event_kind *kind)
{
	switch (kind->opcode) {
	case 0:  /* name */
	case 36: /* rundown */
		attribution->change = LIFETIME_EXISTS;
		break;
	case 32: /* create */
		attribution->change = LIFETIME_START;
		break;
	case 35: /* delete */
		attribution->change = LIFETIME_STOP;
		break;
	default:
		if (kind->opcode < 64) {
			return;
		}
		owned_by(attribution, OWNER_THREAD_IF_ASKED, kind, "TTID");
		attribution->file_key = reader_of(kind, "FileKey");
		attribution->file_object = reader_of(kind, "FileObject");
		attribution->irp = reader_of(kind, "IrpPtr");
		if (kind->opcode <= 75) {
			attribution->tells = TELLS_REQUEST;
		} else if (kind->opcode == 76) {
			attribution->tells = TELLS_REQUEST_END;
		}
		if (kind->opcode == 68) {
			attribution->size = reader_of(kind, "IoSize");
			attribution->number = reader_of(kind, "IoFlags");
			attribution->tells |= TELLS_WRITE;
		} else if (kind->opcode == 64) {
			attribution->change = LIFETIME_START;
			attribution->name = name_of(kind, "OpenPath");
			attribution->tells |= TELLS_FILE_OBJECT;
		}
		return;
	}
	attribution->file_key = reader_of(kind, "FileObject"); /* so it is called there */
	attribution->name = name_of(kind, "FileName");
	attribution->tells = TELLS_FILE_KEY;
}

static void fill_page_fault(struct attribution *attribution, const struct event_kind *kind)
{
	switch (kind->opcode) {
	case 32: /* hard fault */
		owned_by(attribution, OWNER_THREAD_ID, kind, "TThreadId");
		break;
	case 98: /* VirtualAlloc, VirtualFree, and their rundown */
	case 99:
	case 128:
	case 129:
		owned_by(attribution, OWNER_PROCESS_ID, kind, "ProcessId");
		break;
	}
}

static void fill_system_config(struct attribution *attribution, const struct event_kind *kind)
{
	attribution->disk = reader_of(kind, "DiskNumber");
	if (kind->opcode == 11) {
		attribution->number = reader_of(kind, "BytesPerSector");
		attribution->name = name_of(kind, "Manufacturer");
		attribution->tells = TELLS_DISK;
	} else if (kind->opcode == 12) {
		attribution->number = reader_of(kind, "PartitionNumber");
		attribution->name = name_of(kind, "DriveLetterString");
		attribution->name_too = name_of(kind, "FileSystem");
		attribution->tells = TELLS_PARTITION;
	} else if (kind->opcode == 15) {
		attribution->about = reader_of(kind, "ProcessId");
		attribution->tag = reader_of(kind, "SubProcessTag");
		attribution->name = name_of(kind, "ServiceName");
		attribution->tells = TELLS_SERVICE;
	}
}

static const struct guid kernel_process_provider =
	GUID_INIT(0x22fb2cd6, 0x0e7b, 0x422b, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16);

/* Microsoft-Windows-TCPIP: connections are worked on in any thread, their events name their
 * process.
 */
static const struct guid tcpip_provider =
	GUID_INIT(0x2f07e2ee, 0x15db, 0x40f1, 0x90, 0xef, 0x9d, 0x7b, 0xa2, 0x82, 0x18, 0x8a);

/* Microsoft-Windows-Kernel-Process: ProcessStart, ProcessStop, ProcessRundown. */
enum { PROCESS_START = 1, PROCESS_STOP = 2, PROCESS_RUNDOWN = 15 };

static bool tells_image(const struct guid *provider, uint16_t id)
{
	return (id == PROCESS_START || id == PROCESS_STOP || id == PROCESS_RUNDOWN) &&
	       guid_equal(provider, &kernel_process_provider);
}

static void fill_process_image(struct attribution *attribution, const struct event_kind *kind)
{
	if (!kind->schema) {
		attribution->tells = TELLS_LATER;
		return;
	}
	attribution->about = reader_of(kind, "ProcessID");
	attribution->name = name_of(kind, "ImageName");
	attribution->change = kind->id == PROCESS_START ? LIFETIME_START :
			      kind->id == PROCESS_STOP  ? LIFETIME_STOP :
							  LIFETIME_EXISTS;
	attribution->tells = TELLS_PROCESS_IMAGE;
}

void attribution_fill(struct attribution *attribution, const struct event_kind *kind,
		      uint32_t asked)
{
	memset(attribution, 0, sizeof *attribution);
	attribution->schema = kind->schema;
	attribution->name = -1;
	attribution->name_too = -1;
	if (!kind->classic) {
		if (kind->record_kind == RECORD_EVENT && tells_image(&kind->provider, kind->id)) {
			fill_process_image(attribution, kind);
			attribution->tells &= asked;
		} else if (kind->schema && guid_equal(&kind->provider, &tcpip_provider)) {
			attribution->about = reader_of(kind, "ProcessId");
		}
		return;
	}
	if (!kind->schema) {
		return;
	}
	switch ((enum kernel_class)kind->class) {
	case KERNEL_PROCESS:
		fill_process(attribution, kind);
		break;
	case KERNEL_THREAD:
		fill_thread(attribution, kind);
		break;
	case KERNEL_IMAGE:
		fill_image(attribution, kind);
		break;
	case KERNEL_TCP_IP:
	case KERNEL_UDP_IP:
		owned_by(attribution, OWNER_PROCESS_ID, kind, "PID");
		break;
	case KERNEL_DISK_IO:
		if (kind->version >= 3) {
			owned_by(attribution, OWNER_THREAD_ID, kind, "IssuingThreadId");
		}
		attribution->file_key = reader_of(kind, "FileObject");
		attribution->disk = reader_of(kind, "DiskNumber");
		attribution->tells = TELLS_TRANSFER;
		break;
	case KERNEL_PAGE_FAULT:
		fill_page_fault(attribution, kind);
		break;
	case KERNEL_PERF_INFO:
		if (kind->opcode == 46) {
			owned_by(attribution, OWNER_THREAD_ID, kind, "ThreadId");
		}
		attribution->address = reader_of(kind, "Routine");
		break;
	case KERNEL_FILE_IO:
		fill_file(attribution, kind);
		break;
	case KERNEL_STACK_WALK:
		if (kind->opcode == 32) {
			owned_by(attribution, OWNER_PROCESS_ID, kind, "StackProcess");
		}
		break;
	case KERNEL_SYSTEM_CONFIG:
		fill_system_config(attribution, kind);
		break;
	case KERNEL_SYS_CONFIG:
		if (kind->opcode == 35) {
			attribution->name = name_of(kind, "NtPath");
			attribution->name_too = name_of(kind, "DosPath");
			attribution->tells = TELLS_VOLUME;
		}
		break;
	default:
		break;
	}
	attribution->tells &= asked;
}

void attribution_choose_ahead(uint32_t asked, struct kernel_choice *choice)
{
	static const struct schema some_version; /* what is told does not depend on its fields */
	struct event_kind kind = { .pointer_size = 8, .classic = true, .schema = &some_version };
	struct attribution attribution;

	*choice = (struct kernel_choice){ 0 };
	for (unsigned group = 0; group < KERNEL_GROUPS; group++) {
		const struct guid *class = NULL;

		for (unsigned opcode = 0; opcode <= UINT8_MAX; opcode++) {
			const struct guid *provider =
				kernel_record_guid((uint8_t)group, (uint8_t)opcode);

			if (provider != class) {
				class = provider;
				kind.class = (uint8_t)kernel_class_of(provider);
			}
			if (kind.class == KERNEL_NONE || kind.class == KERNEL_OTHER) {
				continue;
			}
			kind.provider = *provider;
			kind.opcode = (uint8_t)opcode;
			attribution_fill(&attribution, &kind, asked);
			if (attribution.tells & TELLS_AHEAD) {
				kernel_choose(choice, (uint8_t)group, (uint8_t)opcode);
			}
		}
	}
}

bool attribution_may_tell_ahead(const struct event_record *record)
{
	return record->classic || tells_image(record->provider, record->id);
}
