/* SPDX-License-Identifier: MIT */
/*
 * Resolves the attribution of event classes, by kernel class and opcode.
 *
 * A record of the kernel often has no useful process id in its header. Its payload then has a
 * process id or a thread id; which one it is depends on the class and the opcode. They also
 * determine what an event announces to the tracker: that a process starts, that a file key has a
 * name, and so on. Fields are found by name in the layout of the event class, so the same code is
 * valid for all versions. Announcements that are not requested are removed, so the tracker does not
 * see them.
 *
 * Two providers with manifests are handled as well. Events of Microsoft-Windows-Kernel-Process have
 * the paths of images; their schema may only be known at the end of the first pass
 * (ANNOUNCES_LATER). Events of Microsoft-Windows-TCPIP have the process in the payload.
 */
#include "track/attribution.h"

#include <string.h>

#include "source/provider_names.h"

static struct field_reader reader_of(const struct event_class *class, const char *name)
{
	int index = class->schema ? schema_find_field(class->schema, name) : -1;

	return field_reader_of(class->schema, index, class->pointer_size);
}

static int16_t name_of(const struct event_class *class, const char *name)
{
	return class->schema ? (int16_t)schema_find_field(class->schema, name) : (int16_t)-1;
}

static void owned_by(struct attribution *attribution, enum owner owner,
		     const struct event_class *class, const char *name)
{
	attribution->owner_id = reader_of(class, name);
	attribution->owner = attribution->owner_id.size > 0 ? (uint8_t)owner : OWNER_HEADER;
}

/* Starts, stops and the two rundowns have the same opcodes in Process, Thread and Image, except for
 * the start, which the caller names. */
static bool life(struct attribution *attribution, uint8_t opcode, uint8_t start)
{
	if (opcode == start) {
		attribution->change = LIFETIME_START;
	} else if (opcode == KERNEL_OPCODE_STOP) {
		attribution->change = LIFETIME_STOP;
	} else if (opcode == KERNEL_OPCODE_DC_START || opcode == KERNEL_OPCODE_DC_STOP) {
		attribution->change = LIFETIME_EXISTS;
	} else {
		return false;
	}
	return true;
}

static void fill_process(struct attribution *attribution, const struct event_class *class)
{
	owned_by(attribution, OWNER_PROCESS_ID, class, "ProcessId");
	attribution->about = attribution->owner_id;
	if (life(attribution, class->opcode, KERNEL_OPCODE_START)) {
		attribution->announces = ANNOUNCES_PROCESS;
		attribution->name = name_of(class, "ImageFileName");
	}
}

static void fill_thread(struct attribution *attribution, const struct event_class *class)
{
	attribution->about = reader_of(class, "ProcessId");
	if (life(attribution, class->opcode, KERNEL_OPCODE_START)) {
		owned_by(attribution, OWNER_PROCESS_ID, class, "ProcessId");
		attribution->thread = reader_of(class, "TThreadId");
		attribution->tag = reader_of(class, "SubProcessTag");
		attribution->announces = ANNOUNCES_THREAD |
					 (attribution->tag.size > 0 ? ANNOUNCES_TAG : 0U);
	} else if (class->opcode == KERNEL_OPCODE_THREAD_CSWITCH) {
		owned_by(attribution, OWNER_THREAD_ID, class, "NewThreadId");
		attribution->thread = attribution->owner_id;
		attribution->old_thread = reader_of(class, "OldThreadId");
		attribution->announces = ANNOUNCES_SWITCH;
	} else if (class->opcode == KERNEL_OPCODE_THREAD_READY_THREAD) {
		owned_by(attribution, OWNER_THREAD_ID, class, "TThreadId");
		attribution->thread = attribution->owner_id;
		attribution->announces = ANNOUNCES_READY;
	} else if (class->opcode == KERNEL_OPCODE_THREAD_SUB_PROCESS_TAG_CHANGED) {
		/* The thread that writes the event now works for another service. */
		attribution->change = LIFETIME_START;
		attribution->tag = reader_of(class, "NewTag");
		attribution->announces = ANNOUNCES_TAG;
	}
}

static void fill_image(struct attribution *attribution, const struct event_class *class)
{
	attribution->about = reader_of(class, "ProcessId");
	if (life(attribution, class->opcode, KERNEL_OPCODE_IMAGE_LOAD)) {
		owned_by(attribution, OWNER_PROCESS_ID, class, "ProcessId");
		attribution->address = reader_of(class, "ImageBase");
		attribution->size = reader_of(class, "ImageSize");
		attribution->checksum = reader_of(class, "ImageChecksum");
		attribution->name = name_of(class, "FileName");
		attribution->announces = ANNOUNCES_IMAGE;
	}
}

static void fill_file(struct attribution *attribution, const struct event_class *class)
{
	switch (class->opcode) {
	case KERNEL_OPCODE_FILE_IO_NAME:
	case KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN:
		attribution->change = LIFETIME_EXISTS;
		break;
	case KERNEL_OPCODE_FILE_IO_FILE_CREATE:
		attribution->change = LIFETIME_START;
		break;
	case KERNEL_OPCODE_FILE_IO_FILE_DELETE:
		attribution->change = LIFETIME_STOP;
		break;
	default:
		if (class->opcode < KERNEL_OPCODE_FILE_IO_CREATE) {
			return;
		}
		owned_by(attribution, OWNER_THREAD_IF_NEEDED, class, "TTID");
		attribution->file_key = reader_of(class, "FileKey");
		attribution->file_object = reader_of(class, "FileObject");
		attribution->irp = reader_of(class, "IrpPtr");
		if (class->opcode <= KERNEL_OPCODE_FILE_IO_FS_CONTROL) {
			attribution->announces = ANNOUNCES_REQUEST;
		} else if (class->opcode == KERNEL_OPCODE_FILE_IO_OPERATION_END) {
			attribution->announces = ANNOUNCES_REQUEST_END;
		}
		if (class->opcode == KERNEL_OPCODE_FILE_IO_WRITE) {
			attribution->size = reader_of(class, "IoSize");
			attribution->number = reader_of(class, "IoFlags");
			attribution->announces |= ANNOUNCES_WRITE;
		} else if (class->opcode == KERNEL_OPCODE_FILE_IO_CREATE) {
			attribution->change = LIFETIME_START;
			attribution->name = name_of(class, "OpenPath");
			attribution->announces |= ANNOUNCES_FILE_OBJECT;
		}
		return;
	}
	attribution->file_key =
		reader_of(class, "FileObject"); /* the name of the key in these events */
	attribution->name = name_of(class, "FileName");
	attribution->announces = ANNOUNCES_FILE_KEY;
}

static void fill_page_fault(struct attribution *attribution, const struct event_class *class)
{
	switch (class->opcode) {
	case KERNEL_OPCODE_PAGE_FAULT_HARD_FAULT:
		owned_by(attribution, OWNER_THREAD_ID, class, "TThreadId");
		break;
	case KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC:
	case KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_FREE:
	case KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_START:
	case KERNEL_OPCODE_PAGE_FAULT_VIRTUAL_ALLOC_DC_STOP:
		owned_by(attribution, OWNER_PROCESS_ID, class, "ProcessId");
		break;
	}
}

static void fill_system_config(struct attribution *attribution, const struct event_class *class)
{
	attribution->disk = reader_of(class, "DiskNumber");
	if (class->opcode == KERNEL_OPCODE_SYSTEM_CONFIG_PHY_DISK) {
		attribution->number = reader_of(class, "BytesPerSector");
		attribution->name = name_of(class, "Manufacturer");
		attribution->announces = ANNOUNCES_DISK;
	} else if (class->opcode == KERNEL_OPCODE_SYSTEM_CONFIG_LOG_DISK) {
		attribution->number = reader_of(class, "PartitionNumber");
		attribution->name = name_of(class, "DriveLetterString");
		attribution->name_too = name_of(class, "FileSystem");
		attribution->announces = ANNOUNCES_PARTITION;
	} else if (class->opcode == KERNEL_OPCODE_SYSTEM_CONFIG_SERVICES) {
		attribution->about = reader_of(class, "ProcessId");
		attribution->tag = reader_of(class, "SubProcessTag");
		attribution->name = name_of(class, "ServiceName");
		attribution->announces = ANNOUNCES_SERVICE;
	}
}

static bool announces_image(const struct guid *provider, uint16_t id)
{
	return (id == PROCESS_EVENT_START || id == PROCESS_EVENT_STOP ||
		id == PROCESS_EVENT_RUNDOWN) &&
	       provider_is(provider, PROVIDER_KERNEL_PROCESS);
}

static void fill_process_image(struct attribution *attribution, const struct event_class *class)
{
	if (!class->schema) {
		attribution->announces = ANNOUNCES_LATER;
		return;
	}
	attribution->about = reader_of(class, "ProcessID");
	attribution->name = name_of(class, "ImageName");
	attribution->change = class->id == PROCESS_EVENT_START ? LIFETIME_START :
			      class->id == PROCESS_EVENT_STOP  ? LIFETIME_STOP :
								 LIFETIME_EXISTS;
	attribution->announces = ANNOUNCES_PROCESS_IMAGE;
}

void attribution_fill(struct attribution *attribution, const struct event_class *class,
		      uint32_t requested)
{
	memset(attribution, 0, sizeof *attribution);
	attribution->schema = class->schema;
	attribution->name = -1;
	attribution->name_too = -1;
	if (!class->classic) {
		if (class->record_type == RECORD_EVENT &&
		    announces_image(&class->provider, class->id)) {
			fill_process_image(attribution, class);
			attribution->announces &= requested;
		} else if (class->schema && provider_is(&class->provider, PROVIDER_TCPIP)) {
			/* Any thread may work on a connection; its process is in the payload. */
			attribution->about = reader_of(class, "ProcessId");
		}
		return;
	}
	if (!class->schema) {
		return;
	}
	switch ((enum kernel_class) class->kernel_class) {
	case KERNEL_PROCESS:
		fill_process(attribution, class);
		break;
	case KERNEL_THREAD:
		fill_thread(attribution, class);
		break;
	case KERNEL_IMAGE:
		fill_image(attribution, class);
		break;
	case KERNEL_TCP_IP:
	case KERNEL_UDP_IP:
		owned_by(attribution, OWNER_PROCESS_ID, class, "PID");
		break;
	case KERNEL_DISK_IO:
		if (class->version >= 3) {
			owned_by(attribution, OWNER_THREAD_ID, class, "IssuingThreadId");
		}
		attribution->file_key = reader_of(class, "FileObject");
		attribution->disk = reader_of(class, "DiskNumber");
		attribution->announces = ANNOUNCES_TRANSFER;
		break;
	case KERNEL_PAGE_FAULT:
		fill_page_fault(attribution, class);
		break;
	case KERNEL_PERF_INFO:
		if (class->opcode == KERNEL_OPCODE_PERF_INFO_SAMPLE_PROF) {
			owned_by(attribution, OWNER_THREAD_ID, class, "ThreadId");
		}
		attribution->address = reader_of(class, "Routine");
		break;
	case KERNEL_FILE_IO:
		fill_file(attribution, class);
		break;
	case KERNEL_STACK_WALK:
		if (class->opcode == KERNEL_OPCODE_STACK_WALK_STACK) {
			owned_by(attribution, OWNER_PROCESS_ID, class, "StackProcess");
		}
		break;
	case KERNEL_SYSTEM_CONFIG:
		fill_system_config(attribution, class);
		break;
	case KERNEL_SYS_CONFIG:
		if (class->opcode == KERNEL_OPCODE_SYS_CONFIG_VOLUME_MAPPING) {
			attribution->name = name_of(class, "NtPath");
			attribution->name_too = name_of(class, "DosPath");
			attribution->announces = ANNOUNCES_VOLUME;
		}
		break;
	default:
		break;
	}
	attribution->announces &= requested;
}

void attribution_choose_first_pass(uint32_t requested, struct kernel_choice *choice)
{
	static const struct schema some_version; /* announcements do not depend on its fields */
	struct event_class class = { .pointer_size = 8, .classic = true, .schema = &some_version };
	struct attribution attribution;

	*choice = (struct kernel_choice){ 0 };
	for (unsigned group = 0; group < KERNEL_GROUPS; group++) {
		const struct guid *kernel_class = NULL;

		for (unsigned opcode = 0; opcode <= UINT8_MAX; opcode++) {
			const struct guid *provider =
				kernel_record_guid((uint8_t)group, (uint8_t)opcode);

			if (provider != kernel_class) {
				kernel_class = provider;
				class.kernel_class = (uint8_t)kernel_class_of(provider);
			}
			if (class.kernel_class == KERNEL_NONE ||
			    class.kernel_class == KERNEL_OTHER) {
				continue;
			}
			class.provider = *provider;
			class.opcode = (uint8_t)opcode;
			attribution_fill(&attribution, &class, requested);
			if (attribution.announces & ANNOUNCES_IN_FIRST_PASS) {
				kernel_choose(choice, (uint8_t)group, (uint8_t)opcode);
			}
		}
	}
}

bool attribution_may_announce(const struct event_record *record)
{
	return record->classic || announces_image(record->provider, record->id);
}
