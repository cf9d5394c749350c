/* SPDX-License-Identifier: MIT */
/*
 * fuzz_seeds OUTDIR: inputs for the fuzz targets to start from, in a folder for each target.
 *
 * fuzz_etl: small recordings of everything. fuzz_pipeline: some of them, for each command.
 * fuzz_relog, fuzz_face: all of them, for each form and choice of records. fuzz_writer: a record of
 * each type. fuzz_decode: the payloads in them, in the forms that target takes. fuzz_events:
 * records one behind the other. fuzz_schema: schemas from outside, with payloads. fuzz_inband: what
 * is announced to a session. fuzz_manifest: manifests, with every element somewhere. fuzz_yaml:
 * collectors, with every word of the language somewhere. fuzz_http: requests, headers and web
 * configurations. fuzz_archive: something packed, in each format. fuzz_arguments: what the flags of
 * both programs take.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/mirror.h>
#include <etw/recording.h>

#include "config/builtin.h"
#include "lib/decode/inband_manifests.h"
#include "lib/decode/kernel_class.h"
#include "lib/decode/manifest/manifest.h"
#include "tests/support/every_class.h"
#include "tests/support/fuzz_seeds.h"
#include "tests/support/stack_events.h"
#include "tests/support/system.h"

enum { PATH_SIZE = 1024 };

static const char *out;

static void fail(const char *path, const char *why)
{
	fprintf(stderr, "fuzz_seeds: %s: %s\n", path, why);
	exit(1);
}

static void make_folder(const char *folder)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof path, "%s/%s", out, folder);
	if (!system_make_folder(path)) {
		fail(path, strerror(errno));
	}
}

static void write_seed(const char *folder, const char *name, const void *bytes, size_t size)
{
	char path[PATH_SIZE];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s/%s", out, folder, name);
	file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
		fail(path, strerror(errno));
	}
}

/* --- recordings ------------------------------------------------------------------------------- */

typedef void add_fn(struct etw_writer *writer, uint8_t pointer_size);

/* The last byte is the number of a command: see fuzz_pipeline. */
static void write_for_commands(const char *recording, struct etw_payload *whole)
{
	enum { COMMANDS = 44 }; /* and ways to replay */
	bool all = strcmp(recording, "all-64.etl") == 0 ||
		   strcmp(recording, "all-32-packed.etl") == 0 ||
		   strcmp(recording, "stacks.etl") == 0;
	char name[64];

	etw_payload_u8(whole, 0);
	for (unsigned i = 0; i < (all ? COMMANDS : 1); i++) {
		whole->bytes[whole->size - 1] = (uint8_t)i;
		snprintf(name, sizeof name, "%u-%s", i, recording);
		write_seed("fuzz_pipeline", name, whole->bytes, whole->size);
	}
}

/* The last byte says what becomes of the records: see fuzz_relog and fuzz_face. */
static void write_for_relog(const char *recording, struct etw_payload *whole)
{
	static const uint8_t choices[] = { 0, 1, 2, 4, 5, 6, 12, 13, 14 };
	char name[64];

	etw_payload_u8(whole, 0);
	for (size_t i = 0; i < sizeof choices; i++) {
		whole->bytes[whole->size - 1] = choices[i];
		snprintf(name, sizeof name, "%u-%s", (unsigned)choices[i], recording);
		write_seed("fuzz_relog", name, whole->bytes, whole->size);
		write_seed("fuzz_face", name, whole->bytes, whole->size);
	}
}

static void write_recording(const char *name, const struct etw_writer_options *options, add_fn *add,
			    size_t cut, size_t zeros)
{
	static const uint8_t nothing[4096];
	struct etw_error err = { 0 };
	struct etw_writer *writer = etw_writer_open(NULL, options, &err);
	const uint8_t *bytes;
	struct etw_payload whole;
	size_t size;

	if (!writer) {
		fail(name, err.text);
	}
	if (add) {
		add(writer, options->pointer_size);
	}
	if (!etw_writer_finish(writer, &err)) {
		fail(name, err.text);
	}
	bytes = etl_writer_bytes(writer, &size);
	etw_payload_init(&whole, 8);
	etw_payload_bytes(&whole, bytes, size - cut);
	etw_payload_bytes(&whole, nothing, zeros);
	if (whole.failed) {
		fail(name, "no memory");
	}
	write_seed("fuzz_etl", name, whole.bytes, whole.size);
	write_for_commands(name, &whole);
	write_for_relog(name, &whole);
	etw_payload_done(&whole);
	etw_writer_close(writer);
}

static void write_recordings(void)
{
	static const struct {
		const char *name;
		add_fn *add;
	} parts[] = { { "kernel", every_class_add_kernel },
		      { "programs", every_class_add_programs },
		      { "rare", every_class_add_rare },
		      { "all", every_class_add } };
	static const struct {
		const char *name;
		uint8_t pointer_size;
		enum etw_clock_type clock;
		bool compressed;
	} forms[] = { { "64", 8, ETW_CLOCK_QPC, false },
		      { "32", 4, ETW_CLOCK_SYSTEM_TIME, false },
		      { "64-packed", 8, ETW_CLOCK_CPU_CYCLE, true },
		      { "32-packed", 4, ETW_CLOCK_QPC, true } };
	struct etw_writer_options options;
	char name[64];

	make_folder("fuzz_etl");
	make_folder("fuzz_face");
	make_folder("fuzz_pipeline");
	make_folder("fuzz_relog");
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		for (size_t j = 0; j < sizeof forms / sizeof forms[0]; j++) {
			options = every_class_options(forms[j].pointer_size, forms[j].clock,
						      forms[j].compressed);
			snprintf(name, sizeof name, "%s-%s.etl", parts[i].name, forms[j].name);
			write_recording(name, &options, parts[i].add, 0, 0);
		}
	}
	options = every_class_options(8, ETW_CLOCK_QPC, false);
	write_recording("header.etl", &options, NULL, 0, 0);
	write_recording("cut.etl", &options, every_class_add_kernel, 700, 0);
	options.unclosed = true;
	options.log_file_mode = 0x22; /* circular, and as large as it will be from the start */
	write_recording("unclosed.etl", &options, every_class_add_rare, 0, 4096);
	options = stack_events_options();
	write_recording("stacks.etl", &options, stack_events_add, 0, 0);
	options = every_class_options(8, ETW_CLOCK_QPC, false);
	options.processor_index = false;
	options.session_name = "";
	write_recording("processor-byte.etl", &options, every_class_add_rare, 0, 0);
}

/* --- payloads --------------------------------------------------------------------------------- */

/* The number of a layout as the target counts them; -1: none. */
static int layout_number(const struct etw_schema *layout)
{
	const struct etw_schema *schema;
	struct etw_guid guid;
	int number = 0;

	for (unsigned class = 0; layout && etw_kernel_class_at(class, &guid); class ++) {
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			for (unsigned i = 0;
			     (schema = etw_kernel_schema_at(&guid, (uint8_t)opcode, i, NULL));
			     i++, number++) {
				if (schema == layout) {
					return number;
				}
			}
		}
	}
	return -1;
}

struct payloads {
	const char *form;
	unsigned count;
	struct etw_payload events; /* some records, one after the other */
	unsigned event_count;
	struct etw_payload descriptions; /* all of a recording, one after the other */
};

/* What the target takes for a payload of a kernel event: 2, pointer size, layout, payload. */
static void write_layout(struct payloads *payloads, const struct etw_record *record, int layout)
{
	struct etw_payload seed;
	char name[64];

	etw_payload_init(&seed, 8);
	etw_payload_u8(&seed, 2);
	etw_payload_u8(&seed, record->pointer_size == 8);
	etw_payload_u16(&seed, (uint16_t)layout);
	etw_payload_bytes(&seed, record->payload, record->payload_size);
	snprintf(name, sizeof name, "%s-%u.payload", payloads->form, payloads->count++);
	write_seed("fuzz_decode", name, seed.bytes, seed.size);
	etw_payload_done(&seed);
}

/* What it takes for a record that describes: what it is, sizes of an item and the payload, both. */
static void add_description(struct payloads *payloads, const struct etw_record *record,
			    bool meta_data)
{
	struct etw_payload *p = &payloads->descriptions;
	struct etw_extended_item traits = { 0 };
	bool has_traits = etw_record_find_extended(record, ETW_EXTENDED_PROVIDER_TRAITS, &traits);
	unsigned what = 1 | (record->id == ETW_MANIFEST_EVENT_ID ? 32 : 0);

	if (meta_data) {
		what = record->opcode == 32 ? 8 : 0;
	} else if (what == 1 && !has_traits) {
		return;
	}
	etw_payload_u8(p, (uint8_t)what);
	etw_payload_u8(p, (uint8_t)traits.size);
	etw_payload_u16(p, (uint16_t)record->payload_size);
	etw_payload_bytes(p, traits.data, has_traits ? traits.size : 0);
	etw_payload_bytes(p, record->payload, record->payload_size);
	if (record->id == ETW_MANIFEST_EVENT_ID && record->payload_size > 8) {
		char name[64];
		struct etw_payload seed;

		etw_payload_init(&seed, 8);
		etw_payload_u8(&seed, 0);
		etw_payload_bytes(&seed, record->payload + 8, record->payload_size - 8);
		snprintf(name, sizeof name, "%s-%u.xml", payloads->form, payloads->count++);
		write_seed("fuzz_decode", name, seed.bytes, seed.size);
		etw_payload_done(&seed);
	}
}

enum { EVENTS_OF_SEED = 24 };

/* Records as the target for whole records takes them, a few in each seed. */
static void take_event(struct payloads *payloads, const struct etw_record *record)
{
	char name[64];

	if (payloads->event_count % EVENTS_OF_SEED == 0) {
		etw_payload_clear(&payloads->events);
		etw_payload_u8(&payloads->events, 0);
	}
	fuzz_events_add(&payloads->events, record);
	snprintf(name, sizeof name, "%s-%u", payloads->form,
		 payloads->event_count++ / EVENTS_OF_SEED);
	write_seed("fuzz_events", name, payloads->events.bytes, payloads->events.size);
}

static void take_payload(void *context, const struct etw_record *record)
{
	struct payloads *payloads = context;
	enum etw_kernel_class class = etw_kernel_class_of(record->provider);
	int layout = -1;

	take_event(payloads, record);
	if (record->classic) {
		layout = layout_number(etw_kernel_schema_of(record));
	}
	if (layout >= 0) {
		write_layout(payloads, record, layout);
	} else {
		add_description(payloads, record, class == ETW_KERNEL_META_DATA);
	}
}

static void write_payloads(const char *form)
{
	struct payloads payloads = { .form = form };
	const struct etw_event_sink sink = { .context = &payloads, .on_event = take_payload };
	const struct etw_source_file_options options = { 0 };
	struct etw_error err = { 0 };
	struct etw_source *source;
	char path[PATH_SIZE];
	char name[64];

	make_folder("fuzz_decode");
	make_folder("fuzz_events");
	etw_payload_init(&payloads.events, 8);
	etw_payload_init(&payloads.descriptions, 8);
	etw_payload_u8(&payloads.descriptions, 1);
	snprintf(path, sizeof path, "%s/fuzz_etl/all-%s.etl", out, form);
	source = etw_source_open_file(path, &options, &err);
	if (!source || !etw_source_run(source, &sink, &err)) {
		fail(path, err.text);
	}
	snprintf(name, sizeof name, "%s.descriptions", form);
	write_seed("fuzz_decode", name, payloads.descriptions.bytes, payloads.descriptions.size);
	etw_payload_done(&payloads.descriptions);
	etw_payload_done(&payloads.events);
	etw_source_close(source);
}

/* Records with the number of an allocation that fails: see fuzz_events. */
static void write_failing(void)
{
	enum { MEMORY_FAILS = 32, FAILS_MOST = 64 };
	struct etw_payload seed, failing;
	const char *name;
	char path[64];

	etw_payload_init(&seed, 8);
	etw_payload_init(&failing, 8);
	for (unsigned i = 0; fuzz_events_seed(i, &seed, &name); i++) {
		for (unsigned fails = 1; fails <= FAILS_MOST; fails++) {
			etw_payload_u8(&failing, seed.bytes[0] | MEMORY_FAILS);
			etw_payload_u8(&failing, (uint8_t)fails);
			etw_payload_bytes(&failing, seed.bytes + 1, seed.size - 1);
			snprintf(path, sizeof path, "%s-fails-%u", name, fails);
			write_seed("fuzz_events", path, failing.bytes, failing.size);
			etw_payload_clear(&failing);
		}
		etw_payload_clear(&seed);
	}
	etw_payload_done(&failing);
	etw_payload_done(&seed);
}

/* --- schemas ---------------------------------------------------------------------------------- */

static void write_all(const char *folder,
		      bool (*next)(unsigned index, struct etw_payload *seed, const char **name))
{
	struct etw_payload seed;
	const char *name;

	make_folder(folder);
	etw_payload_init(&seed, 8);
	for (unsigned i = 0; next(i, &seed, &name); i++) {
		write_seed(folder, name, seed.bytes, seed.size);
		etw_payload_clear(&seed);
	}
	etw_payload_done(&seed);
}

/* --- manifests -------------------------------------------------------------------------------- */

/* The size says which allocation fails: see fuzz_manifest. */
static void write_longer_and_longer(const char *text)
{
	struct etw_payload xml;
	char name[32];

	etw_payload_init(&xml, 8);
	etw_payload_bytes(&xml, text, strlen(text));
	for (unsigned i = 0; i < 256; i++) {
		etw_payload_u8(&xml, '\n');
		snprintf(name, sizeof name, "fails-%u.man", i);
		write_seed("fuzz_manifest", name, xml.bytes, xml.size);
	}
	etw_payload_done(&xml);
}

static void write_manifests(void)
{
	char name[128];

	make_folder("fuzz_manifest");
	for (size_t i = 0; i < fuzz_manifest_count; i++) {
		struct etw_payload wide;

		snprintf(name, sizeof name, "%s.man", fuzz_manifests[i].name);
		write_seed("fuzz_manifest", name, fuzz_manifests[i].text,
			   strlen(fuzz_manifests[i].text));
		etw_payload_init(&wide, 8);
		etw_payload_u16(&wide, 0xfeff);
		etw_payload_wstring(&wide, fuzz_manifests[i].text);
		snprintf(name, sizeof name, "%s-utf16.man", fuzz_manifests[i].name);
		write_seed("fuzz_manifest", name, wide.bytes, wide.size - 2);
		etw_payload_done(&wide);
	}
	write_longer_and_longer(fuzz_manifests[0].text);
	for (size_t i = 0; i < builtin_manifest_count; i++) {
		snprintf(name, sizeof name, "%s.man", builtin_manifests[i].name);
		write_seed("fuzz_manifest", name, builtin_manifests[i].text,
			   builtin_manifests[i].size);
	}
}

/* --- collectors ------------------------------------------------------------------------------- */

static void write_collectors(void)
{
	char name[128];

	make_folder("fuzz_yaml");
	for (size_t i = 0; i < fuzz_yaml_snippet_count; i++) {
		snprintf(name, sizeof name, "%s.yaml", fuzz_yaml_snippets[i].name);
		write_seed("fuzz_yaml", name, fuzz_yaml_snippets[i].text,
			   strlen(fuzz_yaml_snippets[i].text));
	}
	for (size_t i = 0; i < builtin_collector_count; i++) {
		snprintf(name, sizeof name, "shipped-%s.yaml", builtin_collectors[i].name);
		write_seed("fuzz_yaml", name, builtin_collectors[i].text,
			   builtin_collectors[i].size);
	}
}

/* The form of a recording, then a record of each type on each of three processors: see fuzz_writer.
 */
static void write_instructions(void)
{
	struct etw_payload seed;
	char name[32];

	make_folder("fuzz_writer");
	etw_payload_init(&seed, 8);
	for (unsigned choice = 0; choice < 256; choice += 17) {
		etw_payload_u8(&seed, (uint8_t)choice);
		etw_payload_u8(&seed, (uint8_t)(2 + choice % 9 * 8));
		for (unsigned type = 0; type < ETW_RECORD_TYPE_COUNT; type++) {
			etw_payload_u8(&seed, (uint8_t)type);
			for (unsigned i = 0; i < 2 + 4; i++) { /* processor, time, descriptor */
				etw_payload_u8(&seed, (uint8_t)(type + i));
			}
			etw_payload_u16(&seed, (uint16_t)(100 + type));
			etw_payload_u16(&seed, 0x1a);
			if (type == ETW_RECORD_EVENT) {
				etw_payload_u8(&seed, 1);
				etw_payload_u16(&seed, ETW_EXTENDED_STACK64);
				etw_payload_u8(&seed, 8);
				etw_payload_u64(&seed, 0);
			}
			etw_payload_u8(&seed, 5);
			etw_payload_bytes(&seed, "bytes", 5);
		}
		snprintf(name, sizeof name, "types-%u", choice);
		write_seed("fuzz_writer", name, seed.bytes, seed.size);
		etw_payload_clear(&seed);
	}
	etw_payload_done(&seed);
}

static void write_archives(void)
{
	make_folder("fuzz_archive");
	for (const struct archive_seed *seed = archive_seeds; seed->name; seed++) {
		write_seed("fuzz_archive", seed->name, seed->bytes, seed->size);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_seeds OUTDIR\n");
		return 2;
	}
	out = argv[1];
	if (!system_make_folder(out)) {
		fail(out, strerror(errno));
	}
	write_recordings();
	write_payloads("64");
	write_payloads("32");
	write_all("fuzz_schema", fuzz_schema_seed);
	write_all("fuzz_events", fuzz_events_seed);
	write_all("fuzz_inband", fuzz_inband_seed);
	write_all("fuzz_http", fuzz_http_seed);
	write_all("fuzz_arguments", fuzz_arguments_seed);
	write_archives();
	write_instructions();
	write_failing();
	write_manifests();
	write_collectors();
	return 0;
}
