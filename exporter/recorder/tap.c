/* SPDX-License-Identifier: MIT */
/*
 * Resolves once for each event class what happens with its events: whether the filters of the
 * configuration keep them, and whether they state facts.
 *
 * Facts are always kept, even if the filters leave their events out, because without them the other
 * events cannot be decoded or attributed. A table by kernel class and opcode lists the events that
 * state facts, with the fields that form the key: the id of a process, the id of a thread, process
 * and address of an image, the key of a file. Facts without such fields (descriptions of events,
 * the configuration of the system) have a hash of their payload as key, so that a repeated fact
 * takes no further room. A manifest decodes the events of the process that announced it, so the key
 * of its chunks contains the process. Keys are hashes with a seed, because the author of a payload
 * must not be able to replace the facts of others.
 *
 * Without the kernel's events, Microsoft-Windows-Kernel-Process says which processes start and
 * stop. A copy of its ProcessStart at the start of a recording would count as one more start, so a
 * hidden record of the ring states the same as the kernel's rundown does. It precedes the event,
 * because the window may begin between both, and the recording must not lack the name then.
 *
 * A file that only FileIo/Create has named is not a fact: its record has no file key, and a copy of
 * it at the start of a recording would count as one more operation.
 */
#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/manifest.h>
#include <etw/mirror.h>
#include <etw/provider.h>
#include <etw/schema.h>

#include "exporter/recorder/tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/glob.h"
#include "base/guid.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/text.h"

enum key_type { KEY_FIELDS, KEY_PAYLOAD, KEY_PAYLOAD_OF_PROCESS };

struct fact_row {
	enum etw_kernel_class kernel_class;
	uint8_t first, last; /* opcodes */
	enum fact_type type;
	enum key_type key_type;
	const char *fields[2]; /* names of the fields that form the key */
};

#define ONLY(opcode) opcode, opcode

/* clang-format off */
static const struct fact_row rows[] = {
	{ ETW_KERNEL_PROCESS, ONLY(ETW_KERNEL_OPCODE_START), FACT_PROCESS, KEY_FIELDS, { "ProcessId" } },
	{ ETW_KERNEL_PROCESS, ONLY(ETW_KERNEL_OPCODE_STOP), FACT_ENDS, KEY_FIELDS, { "ProcessId" } },
	{ ETW_KERNEL_PROCESS, ETW_KERNEL_OPCODE_DC_START, ETW_KERNEL_OPCODE_DC_STOP, FACT_PROCESS, KEY_FIELDS,
	  { "ProcessId" } },
	{ ETW_KERNEL_THREAD, ONLY(ETW_KERNEL_OPCODE_START), FACT_THREAD, KEY_FIELDS, { "TThreadId" } },
	{ ETW_KERNEL_THREAD, ONLY(ETW_KERNEL_OPCODE_STOP), FACT_ENDS, KEY_FIELDS, { "TThreadId" } },
	{ ETW_KERNEL_THREAD, ETW_KERNEL_OPCODE_DC_START, ETW_KERNEL_OPCODE_DC_STOP, FACT_THREAD, KEY_FIELDS,
	  { "TThreadId" } },
	{ ETW_KERNEL_IMAGE, ONLY(ETW_KERNEL_OPCODE_IMAGE_LOAD), FACT_IMAGE, KEY_FIELDS,
	  { "ProcessId", "ImageBase" } },
	{ ETW_KERNEL_IMAGE, ONLY(ETW_KERNEL_OPCODE_STOP), FACT_ENDS, KEY_FIELDS, { "ProcessId", "ImageBase" } },
	{ ETW_KERNEL_IMAGE, ETW_KERNEL_OPCODE_DC_START, ETW_KERNEL_OPCODE_DC_STOP, FACT_IMAGE, KEY_FIELDS,
	  { "ProcessId", "ImageBase" } },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_NAME), FACT_NAME, KEY_FIELDS, { "FileObject" } },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_FILE_CREATE), FACT_NAME, KEY_FIELDS,
	  { "FileObject" } },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_FILE_DELETE), FACT_ENDS, KEY_FIELDS,
	  { "FileObject" } },
	{ ETW_KERNEL_FILE_IO, ONLY(ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN), FACT_NAME, KEY_FIELDS,
	  { "FileObject" } },
	{ ETW_KERNEL_SYSTEM_CONFIG, 0, UINT8_MAX, FACT_SYSTEM, KEY_PAYLOAD, { NULL } },
	{ ETW_KERNEL_SYS_CONFIG, 0, UINT8_MAX, FACT_SYSTEM, KEY_PAYLOAD, { NULL } },
	{ ETW_KERNEL_META_DATA, 0, UINT8_MAX, FACT_SYSTEM, KEY_PAYLOAD, { NULL } },
};
/* clang-format on */

/* What happens with the events of a class. */
struct tap_class {
	bool left_out; /* the filters leave it out, or it is the header of a log file */
	bool header;
	enum fact_type type;
	enum key_type key_type;
	enum etw_kernel_class kernel_class;
	struct etw_field_reader key[2];
	bool starts_process; /* ProcessStart of Microsoft-Windows-Kernel-Process; its fields: */
	struct etw_field_reader parent, terminal_session;
	int image; /* index of the field */
};

struct tap {
	const struct config_recorder *recorder;
	struct ring *ring;
	uint64_t seed;
	struct os_mutex lock; /* guards facts */
	struct tap_facts facts;
	_Atomic(uint32_t) processors;      /* count, at least what the records so far show */
	atomic_uint_least8_t pointer_size; /* of the last kernel record */
	int64_t raw_time;                  /* of the last record */
};

struct tap *tap_new(const struct config_recorder *recorder, size_t memory_bytes,
		    struct etw_error *err)
{
	struct tap *tap = calloc(1, sizeof *tap);

	if (!tap) {
		error_no_memory(err, "the flight recorder");
		return NULL;
	}
	tap->ring = ring_new(memory_bytes, err);
	if (!tap->ring) {
		free(tap);
		return NULL;
	}
	tap->recorder = recorder;
	tap->seed = hash_seed();
	os_mutex_init(&tap->lock);
	return tap;
}

void tap_free(struct tap *tap)
{
	if (tap) {
		ring_free(tap->ring);
		os_mutex_done(&tap->lock);
		free(tap);
	}
}

void tap_begin(struct tap *tap, const struct etw_source_facts *facts)
{
	struct etw_text name = { 0 };

	text_add_string(&name, facts->name ? facts->name : "");
	os_mutex_lock(&tap->lock);
	tap->facts =
		(struct tap_facts){ .os_build = facts->os_build, .processors = facts->processors };
	if (!name.failed && name.size > 0) {
		size_t size = name.size < sizeof tap->facts.session - 1 ?
				      name.size :
				      sizeof tap->facts.session - 1;

		memcpy(tap->facts.session, name.data, size);
	}
	os_mutex_unlock(&tap->lock);
	text_free(&name);
	atomic_store_explicit(&tap->processors, 1, memory_order_relaxed);
	atomic_store_explicit(&tap->pointer_size, 8, memory_order_relaxed);
	tap->raw_time = facts->clock.anchor_raw;
	ring_begin(tap->ring, &facts->clock);
}

struct ring *tap_ring(struct tap *tap)
{
	return tap->ring;
}

void tap_facts(struct tap *tap, struct tap_facts *facts)
{
	uint32_t seen = atomic_load_explicit(&tap->processors, memory_order_relaxed);

	os_mutex_lock(&tap->lock);
	*facts = tap->facts;
	os_mutex_unlock(&tap->lock);
	facts->processors = facts->processors > seen ? facts->processors : seen;
	facts->pointer_size = atomic_load_explicit(&tap->pointer_size, memory_order_relaxed);
}

/* ---- event classes ---- */

static bool matches_one(const char *const *patterns, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++) {
		if (glob_matches_nocase(patterns[i], name)) {
			return true;
		}
	}
	return false;
}

static bool provider_is_chosen(const struct config_recorder *recorder,
			       const struct etw_event_class *class)
{
	char guid[GUID_TEXT_SIZE + 2] = "{";

	if (recorder->provider_count == 0) {
		return true;
	}
	guid_format(&class->provider, guid + 1);
	guid[GUID_TEXT_SIZE] = '}';
	guid[GUID_TEXT_SIZE + 1] = '\0';
	return matches_one(recorder->providers, recorder->provider_count, class->provider_name) ||
	       matches_one(recorder->providers, recorder->provider_count, guid);
}

static void find_fact(struct tap_class *to, const struct etw_event_class *class)
{
	if (class->record_type == ETW_RECORD_EVENT && class->id == ETW_MANIFEST_EVENT_ID) {
		to->type = FACT_SYSTEM;
		to->key_type = KEY_PAYLOAD_OF_PROCESS;
	}
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct fact_row *row = &rows[i];

		if (row->kernel_class != (enum etw_kernel_class) class->kernel_class ||
		    class->opcode < row->first || class->opcode > row->last) {
			continue;
		}
		to->type = row->type;
		to->key_type = row->key_type;
		for (unsigned k = 0; k < 2 && row->fields[k] && class->schema; k++) {
			int index = etw_schema_find_field(class->schema, row->fields[k]);

			to->key[k] = etw_field_reader_of(class->schema, index, class->pointer_size);
		}
		if (row->key_type == KEY_FIELDS && to->key[0].size == 0) {
			to->type = FACT_NONE; /* without a layout there is no key */
		}
	}
}

static struct etw_field_reader reader_of(const struct etw_event_class *class, const char *field)
{
	int index = etw_schema_find_field(class->schema, field);

	return etw_field_reader_of(class->schema, index, class->pointer_size);
}

/* A start, too, says that the process which had the id before is over. */
static void find_fact_of_provider(struct tap_class *to, const struct etw_event_class *class)
{
	if (class->record_type != ETW_RECORD_EVENT || !class->schema ||
	    (class->id != ETW_PROCESS_EVENT_START && class->id != ETW_PROCESS_EVENT_STOP) ||
	    !etw_provider_is(&class->provider, ETW_PROVIDER_KERNEL_PROCESS)) {
		return;
	}
	to->key[0] = reader_of(class, "ProcessID");
	if (to->key[0].size == 0) {
		return;
	}
	to->type = FACT_ENDS;
	to->key_type = KEY_FIELDS;
	to->kernel_class = ETW_KERNEL_PROCESS; /* the keys are those of the kernel's facts */
	if (class->id == ETW_PROCESS_EVENT_START) {
		to->starts_process = true;
		to->parent = reader_of(class, "ParentProcessID");
		to->terminal_session = reader_of(class, "SessionID");
		to->image = etw_schema_find_field(class->schema, "ImageName");
	}
}

bool tap_prepare(struct tap *tap, struct etw_event_class *class, bool provider_names)
{
	if (!class->tap) {
		class->tap = malloc(sizeof *class->tap);
		if (!class->tap) {
			return false;
		}
	}
	*class->tap =
		(struct tap_class){ .kernel_class = (enum etw_kernel_class) class->kernel_class };
	find_fact(class->tap, class);
	if (provider_names) {
		find_fact_of_provider(class->tap, class);
	}
	/* The header of a source is left out, because a recording gets its own. */
	class->tap->header = class->kernel_class == ETW_KERNEL_EVENT_TRACE &&
			     class->opcode == ETW_KERNEL_OPCODE_EVENT_TRACE_HEADER;
	class->tap->left_out =
		class->tap->header || class->record_type >= ETW_RECORD_TIMED ||
		(class->tap->type == FACT_NONE && !provider_is_chosen(tap->recorder, class));
	return true;
}

void tap_release(struct etw_event_class *class)
{
	free(class->tap);
	class->tap = NULL;
}

/* ---- records ---- */

bool tap_asks_for_process(const struct tap *tap)
{
	return tap->recorder->process_count > 0;
}

static uint64_t key_of(const struct tap *tap, enum etw_kernel_class kernel_class, uint64_t first,
		       uint64_t second)
{
	const uint64_t parts[] = { (uint64_t)kernel_class, first, second };

	return text_hash((const char *)parts, sizeof parts, tap->seed);
}

/* Computes the key of the fact that a record states. Returns false if the payload is too short for
 * it. */
static bool find_key(const struct tap *tap, const struct etw_record *record,
		     const struct etw_event_class *class, uint64_t *key)
{
	const struct tap_class *what = class->tap;
	uint64_t parts[2] = { 0, 0 };

	if (what->key_type != KEY_FIELDS) {
		parts[0] =
			text_hash((const char *)record->payload, record->payload_size, tap->seed);
		parts[1] = text_hash((const char *)record->provider, sizeof(struct etw_guid),
				     record->opcode);
		if (what->key_type == KEY_PAYLOAD_OF_PROCESS) {
			parts[1] ^= hash_seeded(record->process_id, tap->seed);
		}
	} else if (!etw_field_read_u64(&what->key[0], class->schema, record, &parts[0]) ||
		   (what->key[1].size > 0 &&
		    !etw_field_read_u64(&what->key[1], class->schema, record, &parts[1]))) {
		return false;
	}
	*key = key_of(tap, what->kernel_class, parts[0], parts[1]);
	return true;
}

static void add_to_ring(struct tap *tap, const struct etw_record *record,
			const struct ring_fact *fact)
{
	if (record->processor >= atomic_load_explicit(&tap->processors, memory_order_relaxed)) {
		atomic_store_explicit(&tap->processors, record->processor + 1U,
				      memory_order_relaxed);
	}
	if (record->classic) {
		atomic_store_explicit(&tap->pointer_size, record->pointer_size,
				      memory_order_relaxed);
	}
	if (record->raw_time != ETW_RECORD_NO_TIME) {
		tap->raw_time = record->raw_time;
	}
	ring_add(tap->ring, record, fact);
}

static uint64_t header_field(const struct etw_record *record, const struct etw_event_class *class,
			     const char *name)
{
	struct etw_field_reader reader = reader_of(class, name);
	uint64_t value = 0;

	etw_field_read_u64(&reader, class->schema, record, &value);
	return value;
}

static void learn_header(struct tap *tap, const struct etw_record *record,
			 const struct etw_event_class *class)
{
	uint64_t version = header_field(record, class, "Version");
	struct etw_field_slice zone = { 0 };
	int index = etw_schema_find_field(class->schema, "TimeZoneInformation");

	if (index >= 0) {
		etw_field_locate(class->schema, (unsigned)index, record, &zone);
	}
	os_mutex_lock(&tap->lock);
	tap->facts.boot_time = (int64_t)header_field(record, class, "BootTime");
	tap->facts.cpu_mhz = (uint32_t)header_field(record, class, "CPUSpeed");
	tap->facts.os_major = (uint8_t)version;
	tap->facts.os_minor = (uint8_t)(version >> 8);
	if (zone.at && zone.size >= 4 + ETW_LOGFILE_TIME_ZONE_REST) {
		tap->facts.bias_minutes = (int32_t)etw_load_u32(zone.at);
		memcpy(tap->facts.time_zone_rest, zone.at + 4, ETW_LOGFILE_TIME_ZONE_REST);
	}
	os_mutex_unlock(&tap->lock);
}

void tap_add_known(struct tap *tap, const struct etw_record *record,
		   const struct etw_event_class *class)
{
	struct ring_fact fact = { .type = class->tap->type, .known = true };

	if (fact.type != FACT_NONE && find_key(tap, record, class, &fact.key)) {
		struct etw_record known = *record;

		known.raw_time = tap->raw_time;
		add_to_ring(tap, &known, &fact);
	}
}

/* ---- records of a recording that a live session does not deliver ---- */

/* The event class and the key of such a record. */
struct known_fact {
	enum etw_kernel_class kernel_class;
	const char *class_name;
	uint8_t opcode, version;
	uint64_t key[2]; /* numbers that identify the fact */
};

/* hidden: as in struct ring_fact. */
static void add_fact(struct tap *tap, const struct known_fact *known, struct etw_payload *payload,
		     bool hidden)
{
	struct etw_guid provider = ETW_META_DATA_CLASS;
	struct etw_record record = {
		.provider = &provider,
		.payload = payload->bytes,
		.payload_size = (uint32_t)payload->size,
		.version = known->version,
		.opcode = known->opcode,
		.pointer_size = payload->pointer_size,
		.type = ETW_RECORD_FULL,
		.classic = true,
		.kernel_group = ETW_RECORD_NO_GROUP,
		.raw_time = tap->raw_time,
	};
	const struct ring_fact fact = {
		.type = known->kernel_class == ETW_KERNEL_PROCESS ? FACT_PROCESS : FACT_SYSTEM,
		.key = key_of(tap, known->kernel_class, known->key[0], known->key[1]),
		.known = true,
		.hidden = hidden,
	};

	if (payload->failed) {
		memory_note_loss();
	} else if (known->kernel_class == ETW_KERNEL_META_DATA ||
		   etw_kernel_class_find(known->class_name, strlen(known->class_name), &provider)) {
		add_to_ring(tap, &record, &fact);
	}
}

static void add_known(struct tap *tap, const struct known_fact *known, struct etw_payload *payload)
{
	add_fact(tap, known, payload, false);
}

struct running_process {
	uint32_t id, parent_id, terminal_session;
	const char *name;
};

static void add_process(struct tap *tap, const struct running_process *process, bool hidden)
{
	const struct known_fact known = {
		ETW_KERNEL_PROCESS, "Process", ETW_KERNEL_OPCODE_DC_START, 3, { process->id }
	};
	struct etw_payload payload;

	/* The layout is Process_V3_TypeGroup1; unknown fields are 0. */
	etw_payload_init(&payload, 8);
	etw_payload_pointer(&payload, 0);
	etw_payload_u32(&payload, process->id);
	etw_payload_u32(&payload, process->parent_id);
	etw_payload_u32(&payload, process->terminal_session);
	etw_payload_zeros(&payload, 4);
	etw_payload_pointer(&payload, 0);
	etw_payload_user_sid(&payload, NULL);
	etw_payload_astring(&payload, process->name);
	etw_payload_wstring(&payload, "");
	add_fact(tap, &known, &payload, hidden);
	etw_payload_done(&payload);
}

void tap_add_process(struct tap *tap, uint32_t process_id, const char *name)
{
	add_process(tap, &(struct running_process){ .id = process_id, .name = name }, false);
}

static const char *file_name(const char *path)
{
	const char *last = strrchr(path, '\\');

	return last ? last + 1 : path;
}

/* Adds the fact that a ProcessStart states. Returns false if the event does not name the
 * process. */
static bool add_started(struct tap *tap, const struct etw_record *record,
			const struct etw_event_class *class)
{
	const struct tap_class *what = class->tap;
	struct running_process process = { .name = "" };
	struct etw_field_slice slice = { 0 };
	struct etw_text path = { 0 };
	bool named;

	etw_field_read_u32(&what->key[0], class->schema, record, &process.id);
	etw_field_read_u32(&what->parent, class->schema, record, &process.parent_id);
	etw_field_read_u32(&what->terminal_session, class->schema, record,
			   &process.terminal_session);
	if (what->image >= 0) {
		etw_field_locate(class->schema, (unsigned)what->image, record, &slice);
	}
	if (slice.at) {
		etw_field_text(&class->schema->fields[what->image], &slice, &path);
	}
	if (!path.failed && path.size > 0) {
		process.name = file_name(path.data);
	}
	named = process.name[0] != '\0';
	if (named) {
		add_process(tap, &process, true);
	}
	text_free(&path);
	return named;
}

void tap_add_volume(struct tap *tap, const char *nt_path, const char *dos_path)
{
	const struct known_fact known = { ETW_KERNEL_SYS_CONFIG,
					  "SysConfig",
					  ETW_KERNEL_OPCODE_SYS_CONFIG_VOLUME_MAPPING,
					  0,
					  { text_hash(nt_path, strlen(nt_path), tap->seed) } };
	struct etw_payload payload;

	if (!dos_path) {
		return; /* the volume lost its letter, but earlier records need it */
	}
	etw_payload_init(&payload, 8);
	etw_payload_wstring(&payload, nt_path);
	etw_payload_wstring(&payload, dos_path);
	add_known(tap, &known, &payload);
	etw_payload_done(&payload);
}

void tap_add_disk(struct tap *tap, uint32_t disk, const char *model, uint32_t bytes_per_sector)
{
	const struct known_fact known = { ETW_KERNEL_SYSTEM_CONFIG,
					  "SystemConfig",
					  ETW_KERNEL_OPCODE_SYSTEM_CONFIG_PHY_DISK,
					  2,
					  { ETW_KERNEL_OPCODE_SYSTEM_CONFIG_PHY_DISK, disk } };
	struct etw_payload payload;

	if (!model) {
		return; /* the disk is gone, but earlier records need its fact */
	}
	/* The layout is SystemConfig_V2_PhyDisk; unknown fields are 0. */
	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, disk);
	etw_payload_u32(&payload, bytes_per_sector);
	etw_payload_zeros(&payload, 32); /* SectorsPerTrack … SCSILun */
	etw_payload_wchars(&payload, model, 256);
	etw_payload_zeros(&payload, 16); /* PartitionCount … Spare */
	add_known(tap, &known, &payload);
	etw_payload_done(&payload);
}

void tap_add_partition(struct tap *tap, uint32_t disk, uint32_t partition, const char *volume,
		       const char *file_system)
{
	const struct known_fact known = { ETW_KERNEL_SYSTEM_CONFIG,
					  "SystemConfig",
					  ETW_KERNEL_OPCODE_SYSTEM_CONFIG_LOG_DISK,
					  2,
					  { ETW_KERNEL_OPCODE_SYSTEM_CONFIG_LOG_DISK,
					    (uint64_t)disk << 32 | partition } };
	struct etw_payload payload;

	/* The record only has room for a drive letter; tap_add_volume() records a volume with a
	 * mount folder. */
	if (!file_system || partition == ETW_SOURCE_NO_PARTITION || strlen(volume) >= 4) {
		return;
	}
	/* SystemConfig_V2_LogDisk */
	etw_payload_init(&payload, 8);
	etw_payload_zeros(&payload, 16); /* StartOffset, PartitionSize */
	etw_payload_u32(&payload, disk);
	etw_payload_zeros(&payload, 8); /* Size, DriveType */
	etw_payload_wchars(&payload, volume, 4);
	etw_payload_u32(&payload, 0);
	etw_payload_u32(&payload, partition);
	etw_payload_zeros(&payload, 28); /* SectorsPerCluster … TotalNumberOfClusters */
	etw_payload_wchars(&payload, file_system, 16);
	etw_payload_zeros(&payload, 8);
	add_known(tap, &known, &payload);
	etw_payload_done(&payload);
}

void tap_add_service(struct tap *tap, uint32_t process_id, uint32_t tag, const char *name)
{
	const struct known_fact known = { ETW_KERNEL_SYSTEM_CONFIG,
					  "SystemConfig",
					  ETW_KERNEL_OPCODE_SYSTEM_CONFIG_SERVICES,
					  2,
					  { ETW_KERNEL_OPCODE_SYSTEM_CONFIG_SERVICES,
					    (uint64_t)process_id << 32 | tag } };
	enum { SERVICE_RUNNING = 4 };
	struct etw_payload payload;

	if (!name || tag == 0) {
		/* In a recording, tag 0 means that the service does not run. The only service of a
		 * process has no known tag, so it gets no record. */
		return;
	}
	/* SystemConfig_V2_Services */
	etw_payload_init(&payload, 8);
	etw_payload_u32(&payload, process_id);
	etw_payload_u32(&payload, SERVICE_RUNNING);
	etw_payload_u32(&payload, tag);
	etw_payload_wstring(&payload, name);
	etw_payload_wstring(&payload, "");
	etw_payload_wstring(&payload, "");
	add_known(tap, &known, &payload);
	etw_payload_done(&payload);
}

void tap_add_description(struct tap *tap, uint8_t opcode, const void *bytes, size_t size)
{
	const struct known_fact known = { ETW_KERNEL_META_DATA,
					  "MetaData",
					  opcode,
					  0,
					  { text_hash(bytes, size, tap->seed), opcode } };
	struct etw_payload payload;

	etw_payload_init(&payload, 8);
	etw_payload_bytes(&payload, bytes, size);
	add_known(tap, &known, &payload);
	etw_payload_done(&payload);
}

/* ---- events ---- */

void tap_add_event(struct tap *tap, const struct etw_record *record,
		   const struct etw_event_class *class, const char *process)
{
	const struct tap_class *what = class->tap;
	struct ring_fact fact = { .type = what->type };

	if (what->left_out) {
		if (what->header && class->schema) {
			learn_header(tap, record, class);
		}
		return;
	}
	if (what->type == FACT_NONE) {
		if (tap->recorder->process_count > 0 &&
		    !matches_one(tap->recorder->processes, tap->recorder->process_count, process)) {
			return;
		}
	} else if (!find_key(tap, record, class, &fact.key) ||
		   (what->starts_process && add_started(tap, record, class))) {
		fact.type = FACT_NONE;
	}
	add_to_ring(tap, record, &fact);
}

/* ---- all taps ---- */

enum { RESERVE_SHARE = 8 };

struct taps {
	const struct config_recorder *recorder;
	struct os_mutex lock;        /* guards the rest */
	struct tap *list[TAPS_MOST]; /* by number of the consumer; NULL: none */
	size_t left;                 /* memory */
};

struct taps *taps_new(const struct config_recorder *recorder, size_t consumers, bool grows,
		      struct etw_error *err)
{
	size_t memory = (size_t)recorder->memory_bytes;
	struct taps *taps;

	if (consumers > TAPS_MOST || memory / consumers < RING_BYTES_LEAST) {
		error_set(err, ETW_ERROR_CONFIG,
			  "recorder: memory: %" PRIu64
			  " bytes are too few for %zu sessions; each needs %zu",
			  recorder->memory_bytes, consumers, RING_BYTES_LEAST);
		return NULL;
	}
	taps = calloc(1, sizeof *taps);
	if (!taps) {
		error_no_memory(err, "the flight recorder");
		return NULL;
	}
	os_mutex_init(&taps->lock);
	taps->recorder = recorder;
	taps->left = grows ? memory / RESERVE_SHARE : 0;
	if (taps->left < RING_BYTES_LEAST || (memory - taps->left) / consumers < RING_BYTES_LEAST) {
		taps->left = 0;
	}
	for (size_t i = 0; i < consumers; i++) {
		taps->list[i] = tap_new(recorder, (memory - taps->left) / consumers, err);
		if (!taps->list[i]) {
			taps_free(taps);
			return NULL;
		}
	}
	return taps;
}

void taps_free(struct taps *taps)
{
	if (taps) {
		for (size_t i = 0; i < TAPS_MOST; i++) {
			tap_free(taps->list[i]);
		}
		os_mutex_done(&taps->lock);
		free(taps);
	}
}

/* Makes the tap of a new consumer. The caller holds the lock. */
static struct tap *add_tap(struct taps *taps, struct etw_error *err)
{
	size_t memory = taps->left / 2 > RING_BYTES_LEAST ? taps->left / 2 : RING_BYTES_LEAST;
	struct tap *tap = NULL;

	if (memory > taps->left) {
		error_set(err, ETW_ERROR_LIMIT,
			  "recorder: memory: %" PRIu64
			  " bytes are in use by the sessions that were there before",
			  taps->recorder->memory_bytes);
	} else {
		tap = tap_new(taps->recorder, memory, err);
		taps->left -= tap ? memory : 0;
	}
	return tap;
}

struct tap *taps_of(struct taps *taps, size_t consumer)
{
	struct etw_error err = { 0 };
	struct tap *tap;

	if (!taps) {
		return NULL;
	}
	if (consumer >= TAPS_MOST) {
		log_warning("Session is not recorded by the flight recorder",
			    log_u64("sessions_most", TAPS_MOST));
		return NULL;
	}
	os_mutex_lock(&taps->lock);
	if (!taps->list[consumer]) {
		taps->list[consumer] = add_tap(taps, &err);
	}
	tap = taps->list[consumer];
	os_mutex_unlock(&taps->lock);
	if (!tap) {
		log_warning("Session is not recorded by the flight recorder",
			    log_text("error", err.text));
	}
	return tap;
}

size_t taps_list(struct taps *taps, struct tap *list[TAPS_MOST])
{
	size_t count = 0;

	os_mutex_lock(&taps->lock);
	for (size_t i = 0; i < TAPS_MOST; i++) {
		if (taps->list[i]) {
			list[count++] = taps->list[i];
		}
	}
	os_mutex_unlock(&taps->lock);
	return count;
}
