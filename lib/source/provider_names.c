/* SPDX-License-Identifier: MIT */
/*
 * Well-known providers and system providers.
 *
 * The first table has the providers that code refers to. The build generates a second table of
 * well-known providers from well_known_providers.txt: rules and sessions may name them, and
 * recordings often contain only their GUIDs. Other providers get their names from a manifest or
 * from the operating system.
 *
 * The last table says which keyword of which system provider replaces which kernel flag. Several
 * flags can belong to one provider, so system_provider() collects the keywords of a provider
 * for a set of flags. A flag without a row stays a flag of the session.
 *
 * Source of the first table: the providers' manifests as registered in Windows 10 (`logman query
 * providers`); the first provider belongs to the exporter.
 */
#include <etw/kernel.h>

#include "lib/source/provider_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const struct etw_known_provider_row etw_known_providers[ETW_KNOWN_PROVIDERS] = {
	[ETW_PROVIDER_ETW_EXPORTER] = { CANARY_PROVIDER_NAME, CANARY_PROVIDER_GUID },
	[ETW_PROVIDER_DNS_CLIENT] = { "Microsoft-Windows-DNS-Client",
				      GUID_PARTS(0x1c95126e, 0x7eea, 0x49a9, 0xa3fe,
						 0xa378b03ddb4d) },
	[ETW_PROVIDER_DOTNET_RUNTIME] = { "Microsoft-Windows-DotNETRuntime",
					  GUID_PARTS(0xe13c0d23, 0xccbc, 0x4e12, 0x931b,
						     0xd9cc2eee27e4) },
	[ETW_PROVIDER_HTTP_SERVICE] = { "Microsoft-Windows-HttpService",
					GUID_PARTS(0xdd5ef90a, 0x6398, 0x47a4, 0xad34,
						   0x4dcecdef795f) },
	[ETW_PROVIDER_KERNEL_DISK] = { "Microsoft-Windows-Kernel-Disk",
				       GUID_PARTS(0xc7bde69a, 0xe1e0, 0x4177, 0xb6ef,
						  0x283ad1525271) },
	[ETW_PROVIDER_KERNEL_FILE] = { "Microsoft-Windows-Kernel-File",
				       GUID_PARTS(0xedd08927, 0x9cc4, 0x4e65, 0xb970,
						  0xc2560fb5c289) },
	[ETW_PROVIDER_KERNEL_MEMORY] = { "Microsoft-Windows-Kernel-Memory",
					 GUID_PARTS(0xd1d93ef7, 0xe1f2, 0x4f45, 0x9943,
						    0x03d245fe6c00) },
	[ETW_PROVIDER_KERNEL_NETWORK] = { "Microsoft-Windows-Kernel-Network",
					  GUID_PARTS(0x7dd42a49, 0x5329, 0x4832, 0x8dfd,
						     0x43d979153a88) },
	[ETW_PROVIDER_KERNEL_PROCESS] = { "Microsoft-Windows-Kernel-Process",
					  GUID_PARTS(0x22fb2cd6, 0x0e7b, 0x422b, 0xa0c7,
						     0x2fad1fd0e716) },
	[ETW_PROVIDER_KERNEL_REGISTRY] = { "Microsoft-Windows-Kernel-Registry",
					   GUID_PARTS(0x70eb4f03, 0xc1de, 0x4f73, 0xa051,
						      0x33d13d5413bd) },
	[ETW_PROVIDER_TCPIP] = { "Microsoft-Windows-TCPIP",
				 GUID_PARTS(0x2f07e2ee, 0x15db, 0x40f1, 0x90ef, 0x9d7ba282188a) },
};

/* Returns the row with this name, without regard to case; NULL if there is none. */
static const struct etw_known_provider_row *find_name(const struct etw_known_provider_row *rows,
						      size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (text_equal_nocase(name, strlen(name), rows[i].name, strlen(rows[i].name))) {
			return &rows[i];
		}
	}
	return NULL;
}

bool etw_provider_guid(const char *name, struct etw_guid *guid)
{
	const struct etw_known_provider_row *row =
		find_name(etw_known_providers, ETW_KNOWN_PROVIDERS, name);

	if (!row) {
		row = find_name(etw_well_known_providers, etw_well_known_provider_count, name);
	}
	if (row) {
		*guid = row->guid;
	}
	return row != NULL;
}

/* Compares two GUIDs in the order of their texts, which begin with three numbers that are
 * little-endian in memory. */
static int compare(const struct etw_guid *a, const struct etw_guid *b)
{
	static const uint8_t order[sizeof a->bytes] = { 3, 2, 1,  0,  5,  4,  7,  6,
							8, 9, 10, 11, 12, 13, 14, 15 };

	for (size_t i = 0; i < sizeof order; i++) {
		if (a->bytes[order[i]] != b->bytes[order[i]]) {
			return a->bytes[order[i]] < b->bytes[order[i]] ? -1 : 1;
		}
	}
	return 0;
}

const char *etw_provider_name(const struct etw_guid *guid)
{
	size_t first = 0, end = etw_well_known_provider_count;

	for (unsigned i = 0; i < ETW_KNOWN_PROVIDERS; i++) {
		if (etw_provider_is(guid, (enum etw_known_provider)i)) {
			return etw_known_providers[i].name;
		}
	}
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		int found = compare(&etw_well_known_providers[middle].guid, guid);

		if (found == 0) {
			return etw_well_known_providers[middle].name;
		}
		first = found < 0 ? middle + 1 : first;
		end = found < 0 ? end : middle;
	}
	return NULL;
}

/*
 * ---- system providers ----
 *
 * "System Providers", Microsoft Learn (which flag is which keyword); SYSTEM_*_KW_* of evntrace.h,
 * Windows SDK (their bits). FILE_IO_INIT has no row: that page assigns it to the keyword of optical
 * drives, and the keyword with its own name came with a later SDK.
 */

enum provider { PROCESS, IO, MEMORY, INTERRUPT, SCHEDULER, PROFILE, REGISTRY, PROVIDERS };

static const struct etw_guid guids[PROVIDERS] = {
	[PROCESS] = GUID_PARTS(0x151f55dc, 0x467d, 0x471f, 0x83b5, 0x5f889d46ff66),
	[IO] = GUID_PARTS(0x3d5c43e3, 0x0f1c, 0x4202, 0xb817, 0x174c0070dc79),
	[MEMORY] = GUID_PARTS(0x82958ca9, 0xb6cd, 0x47f8, 0xa3a8, 0x03ae85a4bc24),
	[INTERRUPT] = GUID_PARTS(0xd4bbee17, 0xb545, 0x4888, 0x858b, 0x744169015b25),
	[SCHEDULER] = GUID_PARTS(0x599a2a76, 0x4d91, 0x4910, 0x9ac7, 0x7d33f2e97a6c),
	[PROFILE] = GUID_PARTS(0xbfeb0324, 0x1cee, 0x496f, 0xa409, 0x2ac2b48a6322),
	[REGISTRY] = GUID_PARTS(0x16156bd9, 0xfab4, 0x4cfa, 0xa232, 0x89d1099058e3),
};

static const struct {
	enum provider provider;
	uint64_t keyword;
	uint32_t flag;
} rows[] = {
	{ PROCESS, 0x1, ETW_KERNEL_FLAG_PROCESS },           /* GENERAL */
	{ PROCESS, 0x800, ETW_KERNEL_FLAG_THREAD },          /* THREAD */
	{ PROCESS, 0x1000, ETW_KERNEL_FLAG_IMAGE_LOAD },     /* LOADER */
	{ IO, 0x1, ETW_KERNEL_FLAG_DISK_IO },                /* DISK */
	{ IO, 0x4, ETW_KERNEL_FLAG_DISK_FILE_IO },           /* FILENAME */
	{ IO, 0x10, ETW_KERNEL_FLAG_FILE_IO },               /* FILE */
	{ IO, 0x200, ETW_KERNEL_FLAG_NETWORK_TCPIP },        /* NETWORK */
	{ MEMORY, 0x2, ETW_KERNEL_FLAG_MEMORY_HARD_FAULTS }, /* HARD_FAULTS */
	{ MEMORY, 0x4, ETW_KERNEL_FLAG_MEMORY_PAGE_FAULTS }, /* ALL_FAULTS */
	{ MEMORY, 0x400, ETW_KERNEL_FLAG_VIRTUAL_ALLOC },    /* VIRTUAL_ALLOC */
	{ MEMORY, 0x4000, ETW_KERNEL_FLAG_VAMAP },           /* VAMAP */
	{ INTERRUPT, 0x1, ETW_KERNEL_FLAG_INTERRUPT },       /* GENERAL */
	{ INTERRUPT, 0x4, ETW_KERNEL_FLAG_DPC },             /* DPC */
	{ SCHEDULER, 0x2, ETW_KERNEL_FLAG_DISPATCHER },      /* DISPATCHER */
	{ SCHEDULER, 0x200, ETW_KERNEL_FLAG_CSWITCH },       /* CONTEXT_SWITCH */
	{ PROFILE, 0x1, ETW_KERNEL_FLAG_PROFILE },           /* GENERAL */
	{ REGISTRY, 0x1, ETW_KERNEL_FLAG_REGISTRY },         /* GENERAL */
};

bool system_provider(uint32_t flags, size_t index, struct etw_guid *guid, uint64_t *keywords,
		     uint32_t *covered)
{
	for (unsigned i = 0; i < PROVIDERS; i++) {
		*keywords = 0;
		*covered = 0;
		for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
			if (rows[j].provider == (enum provider)i && (flags & rows[j].flag)) {
				*keywords |= rows[j].keyword;
				*covered |= rows[j].flag;
			}
		}
		if (*keywords != 0 && index-- == 0) {
			*guid = guids[i];
			return true;
		}
	}
	return false;
}

uint32_t system_provider_flags(uint32_t flags)
{
	uint32_t replaced = 0;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		replaced |= flags & rows[i].flag;
	}
	return replaced;
}

/* ---- specifications ---- */

/*
 * Providers to enable, and their short form on the command line.
 *
 * A provider is given by name or by GUID. A name is resolved later, when a session starts, because
 * the machine that runs the session knows the registered providers. All strings and arrays of a
 * spec are owned by it, so that collectors, the configuration and running sessions can each have
 * their own copy. Copying can fail in the middle; the copy is then incomplete but valid to free.
 *
 * The short form has up to five parts separated by colons. The parser reads one part after the
 * other; an empty or missing part keeps the default. Error messages quote the whole text, since
 * the user wrote this text.
 */

/* ---- payload filters ---- */

void payload_filter_done(struct etw_payload_filter *filter)
{
	for (size_t i = 0; i < filter->condition_count; i++) {
		free(filter->conditions[i].field);
		free(filter->conditions[i].value);
	}
	filter->condition_count = 0;
}

/* After a failure (no memory) the caller must free *to as well. */
static bool payload_filter_copy(struct etw_payload_filter *to,
				const struct etw_payload_filter *from)
{
	*to = (struct etw_payload_filter){ .event = from->event, .any = from->any };
	for (size_t i = 0; i < from->condition_count; i++) {
		const struct etw_payload_condition *condition = &from->conditions[i];
		struct etw_payload_condition *copy = &to->conditions[to->condition_count++];

		copy->op = condition->op;
		copy->field = text_duplicate(condition->field, strlen(condition->field));
		copy->value = text_duplicate(condition->value, strlen(condition->value));
		if (!copy->field || !copy->value) {
			return false;
		}
	}
	return true;
}

/* ---- providers ---- */

static const struct etw_guid no_guid;

void etw_provider_spec_init(struct etw_provider_spec *spec)
{
	*spec = (struct etw_provider_spec){ .level = ETW_PROVIDER_LEVEL_DEFAULT,
					    .any = UINT64_MAX };
}

void etw_provider_spec_widen(struct etw_provider_spec *spec, const struct etw_provider_spec *other)
{
	if (spec->level == 0 || other->level == 0) {
		spec->level = 0; /* all levels */
	} else if (other->level > spec->level) {
		spec->level = other->level;
	}
	/* A mask of 0 already means all keywords. */
	spec->any = spec->any == 0 || other->any == 0 ? 0 : spec->any | other->any;
	spec->all &= other->all;
}

void etw_provider_spec_done(struct etw_provider_spec *spec)
{
	free(spec->name);
	free(spec->executables);
	free(spec->arguments);
	for (size_t i = 0; i < spec->payload_count; i++) {
		payload_filter_done(&spec->payload[i]);
	}
	free(spec->payload);
	spec->name = NULL;
	spec->executables = NULL;
	spec->arguments = NULL;
	spec->arguments_size = 0;
	spec->payload = NULL;
	spec->payload_count = 0;
}

bool etw_provider_spec_nameless(const struct etw_provider_spec *spec)
{
	return etw_guid_equal(&spec->guid, &no_guid);
}

bool etw_provider_spec_name(struct etw_provider_spec *spec, const char *text, size_t size,
			    struct etw_error *err)
{
	char *copy;

	if (size == 0) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "'%s' is not the name or GUID of a provider", text);
	}
	copy = text_duplicate(text, size);
	if (!copy) {
		return error_no_memory(err, "a provider");
	}
	if (text[0] == '{') {
		bool good = etw_guid_parse(copy, &spec->guid) && !etw_provider_spec_nameless(spec);

		free(copy);
		return good || error_set(err, ETW_ERROR_CONFIG,
					 "'%s' is not the name or GUID of a provider", text);
	}
	free(spec->name);
	spec->name = copy;
	return true;
}

static bool not_a_number(const char *part, const char *numbers, const char *text,
			 struct etw_error *err)
{
	return error_set(err, ETW_ERROR_CONFIG, "%s in '%s' is not a number %s", part, text,
			 numbers);
}

/* Finds the next part, up to a colon, and moves *at to its end. Returns the size of the part; 0 if
 * it is empty or missing. */
static size_t next_part(const char **at, const char **part)
{
	size_t size;

	if (**at == '\0') {
		*part = *at;
		return 0;
	}
	*part = *at + 1; /* after the colon */
	size = strcspn(*part, ":");
	*at = *part + size;
	return size;
}

static bool parse_ids(struct etw_provider_spec *spec, const char *part, size_t size,
		      const char *text, struct etw_error *err)
{
	const char *end = part + size;

	while (part < end) {
		size_t digits = strcspn(part, ",:");
		uint64_t id;

		if (!parse_u64(part, digits, &id) || id > UINT16_MAX) {
			return not_a_number("an id", "from 0 to 65535", text, err);
		}
		if (spec->id_count == ETW_PROVIDER_IDS_MAX) {
			return error_set(err, ETW_ERROR_CONFIG, "'%s' has more than %d ids", text,
					 ETW_PROVIDER_IDS_MAX);
		}
		spec->ids[spec->id_count++] = (uint16_t)id;
		part += digits + 1;
	}
	return true;
}

bool etw_provider_spec_parse(struct etw_provider_spec *spec, const char *text,
			     struct etw_error *err)
{
	size_t size = strcspn(text, ":");
	const char *at = text + size;
	const char *part;
	uint64_t level;

	etw_provider_spec_init(spec);
	if (!etw_provider_spec_name(spec, text, size, err)) {
		return false;
	}
	size = next_part(&at, &part);
	if (size > 0) {
		if (!parse_u64(part, size, &level) || level > UINT8_MAX) {
			return not_a_number("the level", "from 0 to 255", text, err);
		}
		spec->level = (uint8_t)level;
	}
	size = next_part(&at, &part);
	if (!parse_ids(spec, part, size, text, err)) {
		return false;
	}
	size = next_part(&at, &part);
	if (size > 0 && !parse_u64(part, size, &spec->any)) {
		return not_a_number("KEYWORDS", "of 64 bits", text, err);
	}
	size = next_part(&at, &part);
	if (size > 0 && !parse_u64(part, size, &spec->all)) {
		return not_a_number("ALL", "of 64 bits", text, err);
	}
	return *at == '\0' || error_set(err, ETW_ERROR_CONFIG, "'%s' has too many parts", text);
}

bool etw_provider_spec_argument(struct etw_provider_spec *spec, const char *name, const char *value,
				struct etw_error *err)
{
	size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
	size_t room = ETW_PROVIDER_ARGUMENTS_MAX - spec->arguments_size;
	char *grown;

	if (name_size > room || value_size > room - name_size) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "arguments: names and values, each with a NUL, have more than %d "
				 "bytes, which is all that Windows takes",
				 ETW_PROVIDER_ARGUMENTS_MAX);
	}
	grown = realloc(spec->arguments, spec->arguments_size + name_size + value_size);
	if (!grown) {
		return error_no_memory(err, "the arguments of a provider");
	}
	memcpy(grown + spec->arguments_size, name, name_size);
	memcpy(grown + spec->arguments_size + name_size, value, value_size);
	spec->arguments = grown;
	spec->arguments_size += name_size + value_size;
	return true;
}

static char *copy_of(const char *text)
{
	return text ? text_duplicate(text, strlen(text)) : NULL;
}

static bool copy_payload(struct etw_provider_spec *to, const struct etw_provider_spec *from)
{
	to->payload = NULL;
	to->payload_count = 0;
	if (from->payload_count == 0) {
		return true;
	}
	to->payload = calloc(from->payload_count, sizeof *to->payload);
	while (to->payload && to->payload_count < from->payload_count) {
		size_t i = to->payload_count++;

		if (!payload_filter_copy(&to->payload[i], &from->payload[i])) {
			return false;
		}
	}
	return to->payload != NULL;
}

bool provider_spec_copy(struct etw_provider_spec *to, const struct etw_provider_spec *from)
{
	bool copied;

	*to = *from;
	to->name = copy_of(from->name);
	to->executables = copy_of(from->executables);
	to->arguments = from->arguments ? text_duplicate(from->arguments, from->arguments_size) :
					  NULL;
	copied = copy_payload(to, from);
	return copied && !to->name == !from->name && !to->executables == !from->executables &&
	       !to->arguments == !from->arguments;
}

const char *etw_provider_spec_label(const struct etw_provider_spec *spec, char *text)
{
	if (spec->name) {
		return spec->name;
	}
	text[0] = '{';
	guid_format(&spec->guid, text + 1);
	strcat(text, "}");
	return text;
}

/* ---- comparing ---- */

static bool text_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool filter_equal(const struct etw_payload_filter *a, const struct etw_payload_filter *b)
{
	if (a->event != b->event || a->any != b->any || a->condition_count != b->condition_count) {
		return false;
	}
	for (size_t i = 0; i < a->condition_count; i++) {
		const struct etw_payload_condition *x = &a->conditions[i], *y = &b->conditions[i];

		if (x->op != y->op || !text_same(x->field, y->field) ||
		    !text_same(x->value, y->value)) {
			return false;
		}
	}
	return true;
}

static bool payload_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b)
{
	if (a->payload_count != b->payload_count) {
		return false;
	}
	for (size_t i = 0; i < a->payload_count; i++) {
		if (!filter_equal(&a->payload[i], &b->payload[i])) {
			return false;
		}
	}
	return true;
}

/* Compares the filters by id, process and program file. */
static bool scope_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b)
{
	return a->id_count == b->id_count && a->ids_out == b->ids_out &&
	       memcmp(a->ids, b->ids, a->id_count * sizeof a->ids[0]) == 0 &&
	       a->stack_id_count == b->stack_id_count && a->stack_ids_out == b->stack_ids_out &&
	       memcmp(a->stack_ids, b->stack_ids, a->stack_id_count * sizeof a->ids[0]) == 0 &&
	       a->process_id_count == b->process_id_count &&
	       memcmp(a->process_ids, b->process_ids,
		      a->process_id_count * sizeof a->process_ids[0]) == 0 &&
	       text_same(a->executables, b->executables);
}

bool etw_provider_spec_same_arguments(const struct etw_provider_spec *a,
				      const struct etw_provider_spec *b)
{
	return a->arguments_size == b->arguments_size &&
	       (a->arguments_size == 0 ||
		memcmp(a->arguments, b->arguments, a->arguments_size) == 0);
}

bool provider_spec_equal(const struct etw_provider_spec *a, const struct etw_provider_spec *b)
{
	return etw_guid_equal(&a->guid, &b->guid) && a->level == b->level && a->any == b->any &&
	       a->all == b->all && a->properties == b->properties && scope_equal(a, b) &&
	       etw_provider_spec_same_arguments(a, b) && payload_equal(a, b) &&
	       a->capture_at_start == b->capture_at_start &&
	       a->capture_at_stop == b->capture_at_stop &&
	       a->capture_every_ms == b->capture_every_ms &&
	       a->capture_timeout_ms == b->capture_timeout_ms;
}
