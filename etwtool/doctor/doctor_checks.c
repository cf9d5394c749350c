/* SPDX-License-Identifier: MIT */
/*
 * The checks of etwtool doctor: they turn facts about a recording into findings.
 *
 * One pass of the pipeline with the collectors gathers the facts (struct doctor): the numbers of
 * the source and of the tracker, event classes, the dry run of the rules, and a few facts that only
 * the records show. Each check is a function that adds at most one finding: a sentence about the
 * state and one about what to do. The table at the end orders the checks as a user deals with them:
 * first what another copy of the file mends, then what only another recording does.
 *
 * A finding is a warning if it makes numbers wrong, or if a requested collector gets nothing;
 * otherwise it is a note. --strict fails for warnings.
 */
#include <etw/describe.h>
#include <etw/kernel.h>
#include <etw/provider.h>

#include "etwtool/doctor/doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utc.h"

#define SECOND INT64_C(10000000) /* in units of 100 ns */

/* A longer gap gets a note; a greater share gets a warning. */
enum { GAP_SECONDS = 60, UNKNOWN_PERCENT = 1, NO_VOLUME_PERCENT = 5 };

#define END_PROPERLY                                                                   \
	"end it with logman stop or wpr -stop (not by a crash or power-off), because " \
	"Windows writes "

/* ---- findings ---- */

struct finding *doctor_found(struct doctor *doctor, enum severity severity, const char *id,
			     const char *to_do)
{
	struct findings *findings = &doctor->findings;
	struct finding *grown =
		array_grow(findings->rows, &findings->capacity, findings->count, sizeof *grown);

	if (!grown) {
		findings->failed = true;
		text_clear(&findings->lost.what);
		return &findings->lost;
	}
	findings->rows = grown;
	grown = &grown[findings->count++];
	*grown = (struct finding){ .severity = severity, .id = id };
	text_add_string(&grown->to_do, to_do);
	return grown;
}

double percent_of(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* ---- facts from records ---- */

static void add_masks(struct doctor *doctor, const struct etw_record *record)
{
	enum { EXTENSION = 5, WORDS = 8 };
	uint32_t words[WORDS];

	if (record->kernel_group != ETW_KERNEL_GROUP_EVENT_TRACE || record->opcode != EXTENSION ||
	    record->payload_size < sizeof words) {
		return;
	}
	for (unsigned i = 0; i < WORDS; i++) {
		const uint8_t *at = record->payload + (size_t)i * 4;

		words[i] = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
			   (uint32_t)at[3] << 24;
		doctor->has_masks |= words[i] != 0;
	}
	doctor->mask_flags |= words[0];
	for (unsigned i = 0; i < ETW_KERNEL_GROUP_COUNT; i++) {
		if ((words[etw_kernel_groups[i].word] & etw_kernel_groups[i].bit) != 0) {
			doctor->mask_groups |= 1U << i;
		}
	}
}

static void add_time(struct doctor *doctor, int64_t time)
{
	const struct etw_header *header = &doctor->header;

	if (time == ETW_RECORD_NO_TIME) {
		return;
	}
	if (time < etw_time_add(header->start_time, -SECOND) ||
	    (header->end_time != 0 && time > etw_time_add(header->end_time, SECOND))) {
		doctor->outside++;
	} else {
		if (doctor->previous != ETW_RECORD_NO_TIME &&
		    etw_time_between(doctor->previous, time) > doctor->gap_100ns) {
			doctor->gap_100ns = etw_time_between(doctor->previous, time);
			doctor->gap_start = doctor->previous;
		}
		doctor->previous = time;
	}
}

void doctor_add_record(struct doctor *doctor, struct recording *recording,
		       const struct etw_record *record, const struct etw_event_class *class)
{
	uint32_t id;
	const char *process = recording_process(recording, &id);

	record_times_add(&doctor->times, record);
	class_rows_count(&doctor->classes, class);
	doctor->of_unknown_process += strcmp(process, "_unknown") == 0;
	doctor->of_no_process += strcmp(process, "_none") == 0;
	add_time(doctor, record->time);
	add_masks(doctor, record);
}

/* Returns how many records of a kernel class have a number in the range. */
static uint64_t records_of(const struct doctor *doctor, enum etw_kernel_class class, uint16_t first,
			   uint16_t last)
{
	uint64_t records = 0;

	for (size_t i = 0; i < doctor->classes.count; i++) {
		const struct class_row *row = &doctor->classes.rows[i];

		if (row->kernel_class == class && row->number >= first && row->number <= last) {
			records += row->records;
		}
	}
	return records;
}

/* ---- checks of the recording ---- */

static void check_losses(struct doctor *doctor)
{
	uint64_t lost = doctor->source.events_lost, buffers = doctor->source.buffers_lost;
	uint64_t notified = records_of(doctor, ETW_KERNEL_LOST_EVENT, 0, 255);

	if (lost > 0 || buffers > 0) {
		text_add_format(
			&doctor_found(
				 doctor, SEVERITY_WARNING, "events_lost",
				 "Record with more and larger buffers (wpr: BufferSize and Buffers of the "
				 "profile; logman: -bs 1024 -nb 64 256), to a faster disk, or with fewer "
				 "events.")
				 ->what,
			"%" PRIu64 " events (%.2f %% of all) and %" PRIu64
			" buffers were lost while it was recorded, so every count is too low.",
			lost, percent_of(lost, lost + doctor->times.records), buffers);
	} else if (notified > 0) {
		text_add_format(
			&doctor_found(doctor, SEVERITY_WARNING, "loss_notifications",
				      "Record with more and larger buffers, or with fewer events.")
				 ->what,
			"%" PRIu64 " record%s lost events or buffers, although the header counts "
			"none.",
			notified, notified == 1 ? " reports" : "s report");
	}
}

static void check_damage(struct doctor *doctor)
{
	static const char to_do[] = "Copy the file again after the session was stopped; if it is "
				    "still damaged, record again.";
	const struct etw_source_statistics *source = &doctor->source;

	if (source->truncated) {
		text_add_string(&doctor_found(doctor, SEVERITY_WARNING, "cut_short", to_do)->what,
				"The recording " ETW_RECORDING_CUT_SHORT ".");
	}
	if (source->bad_buffers > 0 || source->bad_records > 0) {
		struct etw_text *what =
			&doctor_found(doctor, SEVERITY_WARNING, "damaged", to_do)->what;

		text_add_string(what, "The recording " ETW_RECORDING_DAMAGED ": ");
		text_add_damage(what, source);
		text_add_char(what, '.');
	}
}

static void check_header(struct doctor *doctor)
{
	if (doctor->header.end_time == 0) {
		text_add_string(
			&doctor_found(
				 doctor, SEVERITY_WARNING, "not_closed",
				 "Stop the session (wpr -stop, logman stop) before the file is "
				 "copied.")
				 ->what,
			"The session was not stopped when the file was copied, or the machine "
			"went down: the last buffers and the names at the end (rundown) are "
			"missing, and losses are not known.");
	}
	if ((doctor->header.mode & ETW_MODE_CIRCULAR) != 0) {
		text_add_string(
			&doctor_found(doctor, SEVERITY_NOTE, "circular",
				      "Record to a sequential file if the beginning matters.")
				 ->what,
			"The file is circular: it has the newest records, and older ones were "
			"overwritten, perhaps the list of running processes among them.");
	}
}

static void check_clock(struct doctor *doctor)
{
	char time[UTC_TEXT_SIZE];

	if (doctor->clock_doubt) {
		text_add_format(&doctor_found(doctor, SEVERITY_WARNING, "clock_doubt",
					      "Do not trust durations and rates of this recording.")
					 ->what,
				"The clock of the recording is doubtful: %s.", doctor->clock_doubt);
	}
	if (doctor->gap_100ns >= (uint64_t)GAP_SECONDS * SECOND) {
		struct etw_text *what =
			&doctor_found(
				 doctor, SEVERITY_NOTE, "gap",
				 "Compare with the system log: the machine slept, the clock was set, or "
				 "nothing happened; rates over the gap are too low.")
				 ->what;

		text_add_format(what, "For %.0f s there is no record%s%s.",
				(double)doctor->gap_100ns / (double)SECOND,
				utc_format(doctor->gap_start, time) ? ", from " : "",
				utc_format(doctor->gap_start, time) ? time : "");
	}
	if (doctor->outside > 0) {
		text_add_format(
			&doctor_found(
				 doctor, SEVERITY_NOTE, "outside",
				 "The clock jumped, or these records carry times of their own; "
				 "use --from and --to of etwtool dump to see them.")
				 ->what,
			"%" PRIu64 " record%s before the start of the session or after its end.",
			doctor->outside, doctor->outside == 1 ? " has a time" : "s have times");
	}
	if (doctor->source.late_records > 0) {
		text_add_format(
			&doctor_found(
				 doctor, SEVERITY_NOTE, "late_records",
				 "Durations that begin or end with such a record may be missing.")
				 ->what,
			"%" PRIu64 " record%s could not be put into the order of time.",
			doctor->source.late_records, doctor->source.late_records == 1 ? "" : "s");
	}
}

static bool has_process_rundown(const struct doctor *doctor)
{
	if (records_of(doctor, ETW_KERNEL_PROCESS, ETW_KERNEL_OPCODE_DC_START,
		       ETW_KERNEL_OPCODE_DC_STOP) > 0) {
		return true;
	}
	for (size_t i = 0; i < doctor->classes.count; i++) {
		const struct class_row *row = &doctor->classes.rows[i];

		if (etw_provider_is(&row->guid, ETW_PROVIDER_KERNEL_PROCESS) &&
		    row->number == ETW_PROCESS_EVENT_RUNDOWN) {
			return true;
		}
	}
	return false;
}

static void check_processes(struct doctor *doctor)
{
	double unknown = percent_of(doctor->of_unknown_process, doctor->times.records);
	bool many = unknown >= UNKNOWN_PERCENT;

	if (!has_process_rundown(doctor)) {
		text_add_format(
			&doctor_found(
				 doctor, many ? SEVERITY_WARNING : SEVERITY_NOTE,
				 "no_process_rundown",
				 "Record with the kernel flags PROCESS and THREAD (wpr: ProcessThread), "
				 "and " END_PROPERLY "the list at the end.")
				 ->what,
			"The recording has no list of the processes that ran before it; %.1f %% of "
			"its records belong to a process without a name (_unknown).",
			unknown);
	} else if (many) {
		text_add_format(
			&doctor_found(
				 doctor, SEVERITY_WARNING, "unknown_processes",
				 "Record with the kernel flags PROCESS and THREAD (wpr: ProcessThread), "
				 "and look for losses.")
				 ->what,
			"%.1f %% of the records belong to a process that no event names (_unknown).",
			unknown);
	}
}

static void check_files(struct doctor *doctor)
{
	const uint64_t *bytes = doctor->pipeline.tracker.file_bytes;
	uint64_t without = bytes[FILE_BYTES_ALL] - bytes[FILE_BYTES_WITH_VOLUME];
	uint64_t operations = records_of(doctor, ETW_KERNEL_FILE_IO,
					 ETW_KERNEL_OPCODE_FILE_IO_CREATE,
					 ETW_KERNEL_OPCODE_FILE_IO_FS_CONTROL);
	bool many = percent_of(without, bytes[FILE_BYTES_ALL]) >= NO_VOLUME_PERCENT;

	if (operations == 0) {
		return;
	}
	if (records_of(doctor, ETW_KERNEL_FILE_IO, ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN,
		       ETW_KERNEL_OPCODE_FILE_IO_FILE_RUNDOWN) == 0) {
		text_add_format(
			&doctor_found(
				 doctor, many ? SEVERITY_WARNING : SEVERITY_NOTE, "no_file_rundown",
				 "Record with the kernel flag DISK_FILE_IO (wpr: Filename), and " END_PROPERLY
				 "the names at the end.")
				 ->what,
			"The recording has no list of the files that were open; %.1f %% of the bytes "
			"of files have no volume.",
			percent_of(without, bytes[FILE_BYTES_ALL]));
	} else if (many) {
		text_add_format(
			&doctor_found(
				 doctor, SEVERITY_WARNING, "unknown_volumes",
				 "Look for losses; names of files arrive with the kernel flags "
				 "DISK_FILE_IO and FILE_IO_INIT.")
				 ->what,
			"%.1f %% of the bytes of files have no volume, because no event names "
			"the file.",
			percent_of(without, bytes[FILE_BYTES_ALL]));
	}
}

static void check_drivers(struct doctor *doctor)
{
	uint64_t calls = records_of(doctor, ETW_KERNEL_PERF_INFO, 66, 69); /* DPCs and ISRs */

	if (calls > 0 && records_of(doctor, ETW_KERNEL_IMAGE, ETW_KERNEL_OPCODE_DC_START,
				    ETW_KERNEL_OPCODE_IMAGE_LOAD) == 0) {
		text_add_format(
			&doctor_found(doctor, SEVERITY_WARNING, "no_drivers",
				      "Record with the kernel flag IMAGE_LOAD (wpr: Loader) too.")
				 ->what,
			"%" PRIu64 " DPCs and interrupts cannot be attributed to a driver, because "
			"the recording does not say where drivers are loaded.",
			calls);
	}
}

static void check_decoding(struct doctor *doctor)
{
	uint64_t undecodable = doctor->outcomes[OUTCOME_UNDECODABLE], evicted = 0;
	uint64_t undescribed =
		doctor->pipeline.inband.dropped + doctor->pipeline.dropped_descriptions;

	if (undecodable > 0) {
		text_add_format(
			&doctor_found(
				 doctor, SEVERITY_NOTE, "undecodable",
				 "Compare the fields with etwtool fields, and the pointer size with "
				 "--pointer-size.")
				 ->what,
			"%" PRIu64
			" record%s a header that is not documented, or a payload too short "
			"for a field that a rule needs.",
			undecodable, undecodable == 1 ? " has" : "s have");
	}
	for (unsigned i = 0; i < TABLE_COUNT; i++) {
		evicted += doctor->pipeline.tracker.evictions[i];
	}
	if (evicted > 0) {
		text_add_format(
			&doctor_found(doctor, SEVERITY_NOTE, "evictions",
				      "Raise `limits` in a configuration and use --config.file.")
				 ->what,
			"%" PRIu64 " processes, threads, files or requests did not fit into the "
			"tables.",
			evicted);
	}
	if (undescribed > 0) {
		text_add_format(
			&doctor_found(
				 doctor, SEVERITY_WARNING, "descriptions_dropped",
				 "Split the recording with etwtool relog --split, and look at the "
				 "parts.")
				 ->what,
			"The recording has more manifests and descriptions of events than are "
			"kept: %" PRIu64
			" were left out, and events that need them may have no fields.",
			undescribed);
	}
}

/* ---- events without a schema ---- */

/*
 * This check adds a note for each provider, with the description that would help.
 *
 * The description depends on how the provider writes: a manifest for events that have an id, a MOF
 * file for classic ones, and the developer's symbols for messages of software tracing (WPP). A
 * recording can name any number of providers, so only the first ones, which have most records, get
 * a note each.
 *
 * The name of a provider comes from the recording, and people paste command lines into a shell. So
 * a command line contains a name only if every shell reads it as the same word.
 */

/*
 * Adds the command. Names of providers may have spaces; the name is added only if no shell splits
 * or executes it.
 */
static void add_dump_command(struct etw_text *out, const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789.-_";
	static const char command[] = ": etwtool providers --export-manifests DIR ";
	static const char quoted[] = " {}";
	bool word = name[strspn(name, plain)] == '\0', safe = name[0] != '\0' && name[0] != '-';

	for (const char *at = name; *at != '\0'; at++) {
		safe = safe && (strchr(plain, *at) || strchr(quoted, *at));
	}
	if (!safe) {
		text_add_string(out, ", with --export-manifests.");
	} else {
		text_add_format(out, word ? "%s%s." : "%s\"%s\".", command, name);
	}
}

/*
 * Adds a note that says what such events of a provider are called, and which description would
 * help.
 */
static void add_missing_schema(struct doctor *doctor, const struct class_row *row, uint64_t records,
			       size_t events)
{
	bool kernel = row->kernel_class != ETW_KERNEL_NONE;
	struct finding *finding = doctor_found(
		doctor, SEVERITY_NOTE, "no_schema",
		kernel ?
			"Report it with the build of Windows: this program does not know the "
			"layout." :
		row->record_type == ETW_RECORD_MESSAGE ?
			"Leave them, or decode them with tracefmt and the developer's PDB or TMF "
			"files: they are messages of software tracing (WPP)." :
		row->classic ?
			"Leave them, or decode them with tracerpt where the provider is "
			"installed: they are classic events, which no manifest describes." :
			"Give the instrumentation manifest of the provider with --schema; "
			"etwtool providers writes it on a Windows where the provider is registered");
	char guid[GUID_TEXT_SIZE];

	guid_format(&row->guid, guid);
	text_add_format(&finding->what, "The fields of %" PRIu64 " record%s (%zu event%s) of ",
			records, records == 1 ? "" : "s", events, events == 1 ? "" : "s");
	text_add_shown(&finding->what, row->provider);
	if (!strstr(row->provider, guid)) {
		text_add_format(&finding->what, " {%s}", guid);
	}
	text_add_string(&finding->what, " cannot be read, because no layout is known.");
	if (!kernel && !row->classic && row->record_type != ETW_RECORD_MESSAGE) {
		add_dump_command(&finding->to_do, row->provider);
	}
}

static bool lacks_schema(const struct class_row *row)
{
	/* True for records that describe events, and for manifests that arrive as events. */
	bool describes = row->kernel_class == ETW_KERNEL_META_DATA ||
			 (!row->classic && row->number == ETW_MANIFEST_EVENT_ID);

	return !row->schema && !describes && row->record_type < ETW_RECORD_TIMED &&
	       row->records > 0;
}

static void check_schemas(struct doctor *doctor)
{
	enum { PROVIDERS_MOST = 20 };
	const struct class_rows *classes = &doctor->classes;
	size_t shown = 0, more = 0;

	for (size_t first = 0, end; first < classes->count; first = end) {
		const struct class_row *one = NULL;
		uint64_t records = 0;
		size_t events = 0;

		end = class_rows_provider_end(classes, first);
		for (size_t i = first; i < end; i++) {
			if (lacks_schema(&classes->rows[i])) {
				one = one ? one : &classes->rows[i];
				records += classes->rows[i].records;
				events++;
			}
		}
		if (one && shown < PROVIDERS_MOST) {
			add_missing_schema(doctor, one, records, events);
			shown++;
		} else if (one) {
			more++;
		}
	}
	if (more > 0) {
		text_add_format(&doctor_found(doctor, SEVERITY_NOTE, "no_schema",
					      "etwtool providers lists all of them.")
					 ->what,
				"Events of %zu more provider%s have no layout.", more,
				more == 1 ? "" : "s");
	}
}

/* ---- all of it ---- */

void doctor_check(struct doctor *doctor)
{
	static void (*const checks[])(struct doctor *) = {
		check_damage, check_header,  check_losses,   check_clock,   check_processes,
		check_files,  check_drivers, check_decoding, check_schemas,
	};

	for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
		checks[i](doctor);
	}
}
