/* SPDX-License-Identifier: MIT */
/*
 * Reads the parts of a rule: fields, events, conditions, labels and their decoders.
 *
 * These are the leaves of the collector language; load.c has the tables above them. Only what is
 * independent of the layouts of events is checked here; check.c checks whether a field exists and
 * has the type for a comparison or a decoder.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest.h"
#include "base/text.h"
#include "config/config.h"
#include "exporter/rules/language/collector.h"
#include "exporter/rules/language/decoders.h"

enum {
	FIELD_NAME_MAX = 256,
	MAP_ENTRIES_MAX = 4096,
	STEPS_MAX = 16,
	BITS_MAX = 64,
	NAMED_MAX = 64
};

struct literal literal_of(const char *text, size_t size)
{
	struct literal literal = { .text = text, .size = size };
	int64_t number;

	if (parse_u64(text, size, &literal.number)) {
		literal.integer = true;
	} else if (parse_i64(text, size, &number)) {
		literal.integer = true;
		literal.negative = number < 0;
		literal.number = (uint64_t)number;
	}
	return literal;
}

bool load_is_name(const char *text, bool upper_case)
{
	for (const char *at = text; *at != '\0'; at++) {
		bool lower = *at >= 'a' && *at <= 'z';
		bool upper = upper_case && ((*at >= 'A' && *at <= 'Z') || *at == '_');
		bool inner = at > text && ((*at >= '0' && *at <= '9') || *at == '_');

		if (!lower && !upper && !inner) {
			return false;
		}
	}
	return *text != '\0';
}

/* ---- fields, events, texts ---- */

static bool read_field(struct yaml_reader *in, const struct yaml_node *node,
		       const struct yaml_row *row, void *base)
{
	struct field_ref *field = yaml_member(base, row);

	if (node->size == 0 || node->size > FIELD_NAME_MAX) {
		return yaml_wrong(in, node, "%s: this is not the name of a field", row->key);
	}
	*field = (struct field_ref){ .name = node->text,
				     .at = node,
				     .derived = derived_find(node->text) };
	return true;
}

const struct yaml_shape load_field_shape = {
	.type = SHAPE_TEXT,
	.least = 1,
	.most = FIELD_NAME_MAX,
	.read = read_field,
	.name = "field",
	.help = "A field of the event, or a derived one: Process, ProcessId, Owner, OwnerSid, "
		"TerminalSession, ThreadId, Cpu, Level, "
		"Opcode, PayloadSize, Session, Provider, Event; OfProcess (Process, Thread, Image); "
		"Path, PathGroup, Volume, Paging (files); AlsoKernel "
		"(Microsoft-Windows-Kernel-File, -Network, -Process, -Registry, -Disk); Duration, Started, StartedBy "
		"(FileIo/OperationEnd, Microsoft-Windows-Kernel-File/24); OldProcess, OnCpu, Ready "
		"(Thread/CSwitch); ExitResult (Process); Driver (with Routine or "
		"RoutineAddr); Service (svchost); Event.Sid, "
		"Event.TerminalSession, Event.ProcessStartKey, Event.ContainerId, Event.ActivityId, "
		"Event.RelatedActivityId, Event.EventKey, Event.StackDepth, Event.StackMatchId, Event.KernelTime, Event.UserTime. Inside a "
		"field: a.b a member, a[0] an element, a.count the number of elements, [3] the fourth "
		"field.",
};

static bool read_event(struct yaml_reader *in, const struct yaml_node *node,
		       const struct yaml_row *row, void *base)
{
	struct etw_error why;

	return event_pattern_parse(node->text, node->size, yaml_member(base, row), &why) ||
	       yaml_wrong(in, node, "%s", why.text);
}

const struct yaml_shape load_event_shape = { .type = SHAPE_TEXT,
					     .read = read_event,
					     CONFIG_EVENT_SCHEMA };

/* Reads a text that may be empty, as in "replace:". */
static bool read_any_text(struct yaml_reader *in, const struct yaml_node *node,
			  const struct yaml_row *row, void *base)
{
	const char **text = yaml_member(base, row);

	*text = node->text;
	return node->type == YAML_TEXT || yaml_expect(in, node, YAML_TEXT, row->key);
}

/* Reads a regular expression, which the collector owns. */
static bool read_regex(struct yaml_reader *in, const struct yaml_node *node,
		       const struct yaml_row *row, void *base)
{
	struct collector *collector = in->owner;
	const struct regex **to = yaml_member(base, row);
	struct regex **regexes;
	struct etw_error why;

	regexes = array_grow(collector->regexes, &collector->regex_capacity, collector->regex_count,
			     sizeof *regexes);
	if (!regexes) {
		return error_no_memory(in->err, "a regular expression");
	}
	collector->regexes = regexes;
	regexes[collector->regex_count] = regex_new(node->text, node->size, &why);
	if (!regexes[collector->regex_count]) {
		return yaml_wrong(in, node, "%s", why.text);
	}
	*to = regexes[collector->regex_count++];
	return true;
}

/* ---- conditions ---- */

static bool read_literal(struct yaml_reader *in, const struct yaml_node *node,
			 const struct yaml_row *row, void *base)
{
	struct condition *condition = base;

	(void)in;
	(void)row;
	condition->literals[condition->literal_count++] = literal_of(node->text, node->size);
	return true;
}

static bool read_integer(struct yaml_reader *in, const struct yaml_node *node,
			 const struct yaml_row *row, void *base)
{
	return yaml_expect_number(in, node, row->key) && read_literal(in, node, row, base);
}

static bool read_matches(struct yaml_reader *in, const struct yaml_node *node,
			 const struct yaml_row *row, void *base)
{
	return read_literal(in, node, row, base) && read_regex(in, node, row, base);
}

static bool read_exists(struct yaml_reader *in, const struct yaml_node *node,
			const struct yaml_row *row, void *base)
{
	struct condition *condition = base;
	bool exists = false;
	const struct yaml_row value = { row->key, &yaml_switch_shape, .size = sizeof exists };

	if (!yaml_read(in, node, &value, &exists)) {
		return false;
	}
	condition->literals[condition->literal_count++] =
		(struct literal){ .integer = true, .number = exists };
	return true;
}

static const struct yaml_shape literal_shape = {
	.type = SHAPE_TEXT,
	.read = read_literal,
	.name = "literal",
	.help = "Text (ASCII case is ignored) or an integer, decimal or 0x\xe2\x80\xa6",
};
static const struct yaml_shape integer_shape = {
	.type = SHAPE_TEXT,
	.read = read_integer,
	.name = "integer_literal",
	.help = "An integer, decimal or 0x\xe2\x80\xa6",
	.json = "'type': 'integer', 'minimum': -9223372036854775808, 'maximum': 18446744073709551615",
};

static const struct yaml_shape regex_shape = { .type = SHAPE_TEXT, .read = read_matches };

/* The field and the comparisons: first their names, then other spellings that people know from
 * elsewhere. */
static const struct yaml_row condition_rows[] = {
	{ "field", &load_field_shape, .required = true, YAML_TO(struct condition, field) },
	{ "eq", &literal_shape, .tag = COMPARE_EQ, .help = "Equal." },
	{ "ne", &literal_shape, .tag = COMPARE_NE, .help = "Not equal." },
	{ "lt", &integer_shape, .tag = COMPARE_LT, .help = "Less than." },
	{ "le", &integer_shape, .tag = COMPARE_LE, .help = "Less than or equal." },
	{ "gt", &integer_shape, .tag = COMPARE_GT, .help = "Greater than." },
	{ "ge", &integer_shape, .tag = COMPARE_GE, .help = "Greater than or equal." },
	{ "in", YAML_SHAPE(.type = SHAPE_LIST, .least = 1, .item = &literal_shape),
	  .tag = COMPARE_IN, .help = "Equal to one of these." },
	{ "has", &integer_shape, .tag = COMPARE_HAS, .help = "All of these bits are set." },
	{ "lacks", &integer_shape, .tag = COMPARE_LACKS, .help = "None of these bits is set." },
	{ "starts", &literal_shape, .tag = COMPARE_STARTS, .help = "The text starts with this." },
	{ "ends", &literal_shape, .tag = COMPARE_ENDS, .help = "The text ends with this." },
	{ "matches", &regex_shape, .tag = COMPARE_MATCHES, YAML_TO(struct condition, regex),
	  .help = "Regular expression (PCRE2) that matches anywhere in the text and ignores case." },
	{ "exists", YAML_SHAPE(.type = SHAPE_SWITCH, .read = read_exists), .tag = COMPARE_EXISTS,
	  .help = "Whether the event has the field. The rule then is for one of several layouts of an event." },
	{ "=", &literal_shape, .tag = COMPARE_EQ, .spelling = true, .help = "As eq." },
	{ "==", &literal_shape, .tag = COMPARE_EQ, .spelling = true, .help = "As eq." },
	{ "!=", &literal_shape, .tag = COMPARE_NE, .spelling = true, .help = "As ne." },
	{ "<", &integer_shape, .tag = COMPARE_LT, .spelling = true, .help = "As lt." },
	{ "<=", &integer_shape, .tag = COMPARE_LE, .spelling = true, .help = "As le." },
	{ ">", &integer_shape, .tag = COMPARE_GT, .spelling = true, .help = "As gt." },
	{ ">=", &integer_shape, .tag = COMPARE_GE, .spelling = true, .help = "As ge." },
	{ "=~", &regex_shape, .tag = COMPARE_MATCHES, .spelling = true,
	  YAML_TO(struct condition, regex), .help = "As matches." },
};

enum { CONDITION_ROW_COUNT = sizeof condition_rows / sizeof condition_rows[0] };

const char *comparison_name(enum comparison comparison)
{
	size_t row = 1;

	while (condition_rows[row].tag != comparison) {
		row++;
	}
	return condition_rows[row].key;
}

bool comparison_find(const char *word, enum comparison *comparison)
{
	for (size_t i = 1; i < CONDITION_ROW_COUNT; i++) {
		if (strcmp(condition_rows[i].key, word) == 0 &&
		    condition_rows[i].tag != COMPARE_EXISTS) {
			*comparison = (enum comparison)condition_rows[i].tag;
			return true;
		}
	}
	return false;
}

static bool begin_condition(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct condition *condition = base;
	size_t literals;

	if (!yaml_find(node, "field")) {
		return yaml_missing(in, node, "where", "field");
	}
	for (size_t i = 1; i < CONDITION_ROW_COUNT; i++) {
		const struct yaml_node *literal = yaml_find(node, condition_rows[i].key);

		if (literal && condition->at) {
			return yaml_wrong(in, literal->key,
					  "where: a condition has one comparison; '%s' is a second",
					  literal->key->text);
		}
		if (literal) {
			condition->at = literal;
			condition->comparison = (enum comparison)condition_rows[i].tag;
		}
	}
	if (!condition->at) {
		return yaml_wrong(in, node, "where: a comparison such as 'eq' is missing");
	}
	literals = condition->at->type == YAML_LIST ? condition->at->size : 1;
	condition->literals = yaml_alloc(in->tree, literals, sizeof *condition->literals, in->err);
	return condition->literals != NULL;
}

const struct yaml_shape load_conditions_shape = {
	.type = SHAPE_LIST,
	.item = YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(condition_rows), .before = begin_condition,
			   .whole = true, .name = "condition",
			   .help = "A field and one comparison.",
			   .json = "'minProperties': 2, 'maxProperties': 2"),
};

/* ---- decoders ---- */

static bool read_map_entry(struct yaml_reader *in, const struct yaml_node *node,
			   const struct yaml_row *row, void *base)
{
	struct map_entry *entry = base;

	(void)in;
	(void)row;
	*entry = (struct map_entry){
		.from = literal_of(node->key->text, node->key->size),
		.at = node->key,
		.to = node->text,
	};
	return true;
}

static bool read_mask(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	const struct map_entry *entry = base;

	read_map_entry(in, node, row, base);
	return (entry->from.integer && !entry->from.negative && entry->from.number != 0) ||
	       yaml_wrong(in, entry->at, "bits: '%s' is not a number with bits set",
			  entry->from.text);
}

static bool check_replacement(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct decode_step *step = base;
	struct etw_error why;

	return regex_check_replacement(step->regex, step->replacement, &why) ||
	       yaml_wrong(in, node, "%s", why.text);
}

#define ANY_TEXT                                    \
	.type = SHAPE_OTHER, .read = read_any_text, \
	.json = "'type': ['string', 'number', 'boolean', 'null']"

static const struct yaml_row step_rows[] = {
	{ "regex", YAML_SHAPE(.type = SHAPE_TEXT, .read = read_regex),
	  YAML_TO(struct decode_step, regex),
	  .help = "Regular expression (PCRE2) that ignores case." },
	{ "replace", YAML_SHAPE(ANY_TEXT, .check = check_replacement), .relies = true,
	  YAML_TO(struct decode_step, replacement) },
	{ "bits",
	  YAML_SHAPE(.type = SHAPE_NAMES, .least = 1, .most = BITS_MAX, .items = "entries",
		     .item = YAML_SHAPE(.type = SHAPE_TEXT, .read = read_mask),
		     .json = "'propertyNames': { 'pattern': "
			     "'^(0*[1-9][0-9]*|0[xX]0*[1-9a-fA-F][0-9a-fA-F]*)$' }"),
	  YAML_TO_LIST(struct decode_step, bits, bit_count),
	  .help = "Names of bit masks. The names of the bits that are set are joined with |; bits without a name are shown in hexadecimal." },
};

static bool begin_step(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct decode_step *step = base;

	if (yaml_find(node, "bits")) {
		step->decoder = decoder_find("bits");
		return node->size == 1 ||
		       yaml_wrong(in, node, "decode: expected {bits} or {regex, replace}");
	}
	step->decoder = decoder_find("regex");
	return (yaml_find(node, "regex") || yaml_missing(in, node, "decode", "regex")) &&
	       (yaml_find(node, "replace") || yaml_missing(in, node, "decode", "replace"));
}

/* Returns the decoders that may be written as one word; NULL after the last. */
static const char *decoder_word(size_t index)
{
	const struct decoder *decoder;

	for (unsigned i = 0; (decoder = decoder_at(i)) != NULL; i++) {
		if (!decoder->with_arguments && index-- == 0) {
			return decoder->name;
		}
	}
	return NULL;
}

static const struct yaml_shape decoder_word_shape = {
	.type = SHAPE_WORD,
	.word = decoder_word,
	.pattern = "^[a-z][a-z0-9_]*$", /* the names of `decoders` */
	.help = "For numbers: hex, ntstatus, win32_error, irp_major, hresult, bits. For numbers, binary data and text: ip, network, port, service_port. For binary data and text: guid, sid. For text: lower, basename, directory, extension, drive.",
};

static const struct named_decoder *find_named(const struct collector *collector, const char *name)
{
	for (size_t i = 0; i < collector->decoder_count; i++) {
		const struct named_decoder *named = &collector->decoders[i];

		if (named->name && strcmp(named->name, name) == 0) {
			return named;
		}
	}
	return NULL;
}

/* Reads the name of a built-in decoder. If there is none, the error also considers the names of
 * the collector's own. */
static bool read_decoder_word(struct yaml_reader *in, const struct yaml_node *node,
			      struct decode_step *step)
{
	const struct collector *collector = in->owner;
	struct nearest nearest = { .word = node->text, .size = node->size };
	unsigned word = 0;

	if (!decoder_find(node->text)) {
		for (size_t i = 0; decoder_word(i); i++) {
			nearest_offer(&nearest, decoder_word(i));
		}
		for (size_t i = 0; i < collector->decoder_count; i++) {
			if (collector->decoders[i].name) {
				nearest_offer(&nearest, collector->decoders[i].name);
			}
		}
	}
	if (nearest.best) {
		return yaml_wrong(in, node, "unknown decoder '%s'; did you mean '%s'?", node->text,
				  nearest.best);
	}
	if (!yaml_word(in, node, "decoder", &decoder_word_shape, &word)) {
		return false;
	}
	step->decoder = decoder_find(decoder_word(word));
	return true;
}

static bool read_step(struct yaml_reader *in, const struct yaml_node *node,
		      const struct yaml_row *row, void *base)
{
	struct decode_step *step = base;

	step->at = node;
	step->itself = node;
	if (node->type == YAML_MAP) {
		return yaml_read_map(in, node, row, base);
	}
	if (!yaml_expect(in, node, YAML_TEXT, "decoder")) {
		return false;
	}
	step->named = find_named(in->owner, node->text);
	if (step->named) {
		return step->named->step_count > 0;
	}
	return read_decoder_word(in, node, step);
}

static const struct yaml_shape step_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(step_rows),
	.before = begin_step,
	.whole = true,
	.read = read_step,
	.other = &decoder_word_shape,
	.name = "decoder",
	.help = "{regex, replace}: replaces every match of a regular expression; $1 in replace is its "
		"first group. {bits}: names the bits that are set.",
	.json = "'oneOf': [{ 'required': ['regex', 'replace'], 'not': { 'required': ['bits'] } }, "
		"{ 'required': ['bits'], 'maxProperties': 1 }]",
};

/* Replaces the names in a list of decoders by the decoders that they stand for. The places of
 * these are that of the name, so that an error about them is at the label. */
static bool expand_steps(struct yaml_reader *in, const struct yaml_node *node,
			 struct decode_step **steps, size_t *count)
{
	size_t expanded_count = 0;
	struct decode_step *expanded;

	for (size_t i = 0; i < *count; i++) {
		expanded_count += (*steps)[i].named ? (*steps)[i].named->step_count : 1;
	}
	if (expanded_count > STEPS_MAX) {
		return yaml_wrong(in, node,
				  "decode: with those that names stand for, "
				  "these are more than 16 decoders");
	}
	expanded = yaml_alloc(in->tree, expanded_count, sizeof *expanded, in->err);
	if (!expanded) {
		return false;
	}
	for (size_t i = 0, k = 0; i < *count; i++) {
		const struct decode_step *step = &(*steps)[i];
		const struct named_decoder *named = step->named;

		for (size_t j = 0; j < (named ? named->step_count : 1); j++) {
			expanded[k] = named ? named->steps[j] : *step;
			expanded[k++].at = step->at;
		}
	}
	*steps = expanded;
	*count = expanded_count;
	return true;
}

#define STEPS                                                                   \
	.type = SHAPE_LIST, .least = 1, .most = STEPS_MAX, .items = "decoders", \
	.item = &step_shape,                                                    \
	.help = "Decoders, applied one after another; those of "                \
		"numbers come first."

static bool check_named_steps(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct named_decoder *named = base;

	return expand_steps(in, node, &named->steps, &named->step_count);
}

/* A list gets its name last, so that it cannot contain itself. */
static bool read_named_decoder(struct yaml_reader *in, const struct yaml_node *node,
			       const struct yaml_row *row, void *base)
{
	static const struct yaml_shape steps_shape = { STEPS, .check = check_named_steps };
	const struct yaml_row steps = { row->key, &steps_shape,
					YAML_TO_LIST(struct named_decoder, steps, step_count) };
	struct named_decoder *named = base;
	const char *name = node->key->text;
	bool good;

	if (!load_is_name(name, false)) {
		return yaml_wrong(in, node->key,
				  "'%s' is not the name of a decoder: lower case with underscores",
				  name);
	}
	if (decoder_find(name)) {
		return yaml_wrong(in, node->key, "'%s' is the name of a built-in decoder", name);
	}
	good = yaml_read(in, node, &steps, named);
	if (!good) {
		named->step_count = 0;
	}
	named->name = name;
	return good;
}

const struct yaml_shape load_decoders_shape = {
	.type = SHAPE_NAMES,
	.least = 1,
	.most = NAMED_MAX,
	.items = "decoders",
	.item = YAML_SHAPE(STEPS, .read = read_named_decoder),
	.help = "Lists of decoders with names of your own, which decode can use in place of them.",
	.json = "'propertyNames': { 'pattern': '^[a-z][a-z0-9_]*$' }",
};

/* ---- labels ---- */

static bool check_label_steps(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct label *label = base;

	return expand_steps(in, node, &label->steps, &label->step_count);
}

static const struct yaml_row label_rows[] = {
	{ "text", YAML_SHAPE(ANY_TEXT), YAML_TO(struct label, text), .help = "A fixed value." },
	{ "field", &load_field_shape, YAML_TO(struct label, field) },
	{ "map",
	  YAML_SHAPE(.type = SHAPE_NAMES, .least = 1, .most = MAP_ENTRIES_MAX, .items = "entries",
		     .item = YAML_SHAPE(.type = SHAPE_TEXT, .read = read_map_entry)),
	  YAML_TO_LIST(struct label, entries, entry_count),
	  .help = "Label values by value of the field (integers, or text whose case is ignored)." },
	{ "default", &yaml_scalar_shape, YAML_TO(struct label, text),
	  .help = "Label value for all values that are not in map." },
	{ "decode", YAML_SHAPE(STEPS, .check = check_label_steps),
	  YAML_TO_LIST(struct label, steps, step_count) },
};

static bool begin_label(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct label *label = base;
	const struct yaml_node *text = yaml_find(node, "text"), *field = yaml_find(node, "field");
	const struct yaml_node *map = yaml_find(node, "map"), *other = yaml_find(node, "default");
	const struct yaml_node *decode = yaml_find(node, "decode");

	if ((text != NULL) == (field != NULL) || (text && node->size > 1) || (map && decode) ||
	    (other && !map)) {
		return yaml_wrong(
			in, node,
			"label '%s': expected {text}, {field}, {field, map, default} or {field, decode}",
			label->name);
	}
	label->source = text ? LABEL_TEXT : map ? LABEL_MAP : decode ? LABEL_DECODE : LABEL_FIELD;
	return !map || other || yaml_missing(in, map, "map", "default");
}

static bool read_label(struct yaml_reader *in, const struct yaml_node *node,
		       const struct yaml_row *row, void *base)
{
	const struct yaml_row field = { node->key->text, &load_field_shape,
					YAML_TO(struct label, field) };
	const struct yaml_node *key = node->key;
	struct label *label = base;

	if (!load_is_name(key->text, true) || strncmp(key->text, "__", 2) == 0) {
		return yaml_wrong(in, key, "'%s' is not the name of a label", key->text);
	}
	if (strcmp(key->text, "le") == 0 || strcmp(key->text, "quantile") == 0) {
		return yaml_wrong(in, key, "label '%s' is reserved by Prometheus", key->text);
	}
	*label = (struct label){ .name = key->text, .at = key };
	return node->type == YAML_MAP ? yaml_read_map(in, node, row, base) :
					yaml_read(in, node, &field, base);
}

const struct yaml_shape load_label_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(label_rows),
	.before = begin_label,
	.whole = true,
	.read = read_label,
	.other = &load_field_shape,
	.name = "label",
	.help = "The name of a field, or {text}, {field, map, default} or {field, decode}.",
	.json = "'oneOf': [{ 'required': ['text'], 'maxProperties': 1 }, "
		"{ 'required': ['field'], 'not': { 'anyOf': [{ 'required': ['map'] }, "
		"{ 'required': ['decode'] }, { 'required': ['default'] }, { 'required': ['text'] }] } }, "
		"{ 'required': ['field', 'map', 'default'], 'not': { 'anyOf': [{ 'required': ['decode'] }, "
		"{ 'required': ['text'] }] } }, "
		"{ 'required': ['field', 'decode'], 'not': { 'anyOf': [{ 'required': ['map'] }, "
		"{ 'required': ['default'] }, { 'required': ['text'] }] } }]",
};
