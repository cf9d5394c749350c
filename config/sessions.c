/* SPDX-License-Identifier: MIT */
/*
 * Reads one live session: its buffers and its providers. config.c has the list of sessions.
 *
 * Settings that Windows would refuse or silently change are refused here, where line and column are
 * known. If a provider has two settings, Windows uses the last one; it takes the flush timer in
 * whole seconds.
 *
 * `payload:` of a provider has conditions on fields of its events. Windows takes their values as
 * text and converts them to the type of the field. Whether the field exists and allows the operator
 * is known only when the session starts and the provider's manifest is there. So this file refuses
 * only conditions that no manifest could allow.
 *
 * Source: "EVENT_TRACE_PROPERTIES structure", "StartTraceW function", "PAYLOAD_FILTER_PREDICATE
 * structure", "TdhCreatePayloadFilter function", Microsoft Learn.
 */
#include "config/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "config/yaml_rows.h"

enum {
	NAME_MOST = 1024, /* most characters of a session's name, with the NUL */
	BUFFERS_MOST = 65536,
	FLUSH_LEAST_MS = 1000, /* Windows has the flush timer in seconds */
	FLUSH_MOST_MS = 3600000,
	CAPTURE_LEAST_MS = 1000,
	CAPTURE_MOST_MS = 86400000,
	CAPTURE_WAIT_LEAST_MS = 1000,
	CAPTURE_WAIT_MOST_MS = 60000,
	FILTERS_MOST = 64,
};

#define BUFFER_LEAST   (UINT64_C(16) << 10)
#define BUFFER_MOST    (UINT64_C(1) << 20)
#define NT_KERNEL_NAME "NT Kernel Logger"

/* ---- payload filters ---- */

/* Appends an entry to a list in a text, with a separator between entries. */
static bool append(struct yaml_reader *in, char **to, char separator, const char *entry)
{
	struct etw_text joined = { 0 };

	if (*to) {
		text_add_string(&joined, *to);
		text_add_char(&joined, separator);
	}
	text_add_string(&joined, entry);
	if (joined.failed) {
		text_free(&joined);
		return error_no_memory(in->err, "the filters of a provider");
	}
	free(*to);
	*to = joined.data;
	return true;
}

/* Returns the length of a text in UTF-16 units, which is how Windows counts characters. */
static size_t utf16_length(const char *text)
{
	size_t length = 0;

	for (; *text != '\0'; text++) {
		/* Counts no unit for a continuation byte, and two for a character beyond the
		 * basic plane. */
		unsigned char byte = (unsigned char)*text;

		length += byte >= 0xf0 ? 2 : (byte & 0xc0) != 0x80;
	}
	return length;
}

/* Reads a number, or two with a comma between them, which Windows takes as decimal text. */
static bool read_payload_number(struct yaml_reader *in, const struct yaml_node *node,
				const struct yaml_row *row, void *base)
{
	struct etw_payload_condition *condition = base;
	char decimal[24];
	int64_t negative;
	uint64_t number;

	if (parse_u64(node->text, node->size, &number)) {
		snprintf(decimal, sizeof decimal, "%" PRIu64, number);
	} else if (node->text[0] == '-' && parse_i64(node->text, node->size, &negative)) {
		snprintf(decimal, sizeof decimal, "%" PRId64, negative);
	} else {
		return yaml_wrong(in, node, "%s: '%s' is not a number", row->key, node->text);
	}
	return append(in, &condition->value, ',', decimal);
}

static const struct yaml_shape payload_number = {
	.type = SHAPE_TEXT,
	.read = read_payload_number,
	.name = "payload_number",
	.help = "Number to compare an integer field with.",
	.json = "'type': 'integer', 'minimum': -9223372036854775808, 'maximum': 18446744073709551615",
};
static const struct yaml_shape payload_range = {
	.type = SHAPE_LIST,
	.least = 2,
	.most = 2,
	.item = &payload_number,
	.items = "numbers",
	.name = "payload_range",
};
static const struct yaml_shape payload_text = {
	.type = SHAPE_TEXT,
	.least = 1,
	.name = "payload_text",
	.help = "Text to compare a text field with; case is ignored. A GUID is written in braces.",
};

#define TEXT_OPERATOR &payload_text, .owned = true, YAML_TO(struct etw_payload_condition, value)

/* Keys of a condition: the field, and the operators. */
static const struct yaml_row condition_rows[] = {
	{ "field", YAML_SHAPE(.type = SHAPE_TEXT, .least = 1), .owned = true,
	  YAML_TO(struct etw_payload_condition, field),
	  .help = "Name of the field in the provider's manifest." },
	{ "eq", &payload_number, .tag = ETW_PAYLOAD_EQ },
	{ "ne", &payload_number, .tag = ETW_PAYLOAD_NE },
	{ "lt", &payload_number, .tag = ETW_PAYLOAD_LT },
	{ "le", &payload_number, .tag = ETW_PAYLOAD_LE },
	{ "gt", &payload_number, .tag = ETW_PAYLOAD_GT },
	{ "ge", &payload_number, .tag = ETW_PAYLOAD_GE },
	{ "between", &payload_range, .tag = ETW_PAYLOAD_BETWEEN,
	  .help = "Lower and upper bound, both included." },
	{ "not_between", &payload_range, .tag = ETW_PAYLOAD_NOT_BETWEEN },
	{ "modulo", &payload_number, .tag = ETW_PAYLOAD_MODULO,
	  .help = "A divisor of the field's value." },
	{ "contains", TEXT_OPERATOR, .tag = ETW_PAYLOAD_CONTAINS },
	{ "not_contains", TEXT_OPERATOR, .tag = ETW_PAYLOAD_CONTAINS_NOT },
	{ "is", TEXT_OPERATOR, .tag = ETW_PAYLOAD_IS },
	{ "is_not", TEXT_OPERATOR, .tag = ETW_PAYLOAD_IS_NOT },
	{ "=", &payload_number, .tag = ETW_PAYLOAD_EQ, .spelling = true },
	{ "==", &payload_number, .tag = ETW_PAYLOAD_EQ, .spelling = true },
	{ "!=", &payload_number, .tag = ETW_PAYLOAD_NE, .spelling = true },
	{ "<", &payload_number, .tag = ETW_PAYLOAD_LT, .spelling = true },
	{ "<=", &payload_number, .tag = ETW_PAYLOAD_LE, .spelling = true },
	{ ">", &payload_number, .tag = ETW_PAYLOAD_GT, .spelling = true },
	{ ">=", &payload_number, .tag = ETW_PAYLOAD_GE, .spelling = true },
};

static bool begin_condition(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct etw_payload_condition *condition = base;

	if (node->size != 2 || !yaml_find(node, "field")) {
		return yaml_wrong(in, node,
				  "condition: expected a field and one operator, such as "
				  "{ field: Status, ne: 0 }");
	}
	for (size_t i = 1; i < sizeof condition_rows / sizeof condition_rows[0]; i++) {
		if (yaml_find(node, condition_rows[i].key)) {
			condition->op = (enum etw_payload_operator)condition_rows[i].tag;
		}
	}
	return true;
}

static const struct yaml_shape conditions_shape = {
	.type = SHAPE_LIST,
	.least = 1,
	.most = ETW_PAYLOAD_CONDITIONS_MAX,
	.items = "conditions",
	.item = YAML_SHAPE(.type = SHAPE_MAP, .what = "condition", YAML_ROWS(condition_rows),
			   .before = begin_condition, .whole = true,
			   .json = "'required': ['field'], 'minProperties': 2, 'maxProperties': 2"),
	.name = "payload_conditions",
};

#define CONDITIONS                           \
	&conditions_shape, .in_place = true, \
			   YAML_TO_LIST(struct etw_payload_filter, conditions, condition_count)

static const struct yaml_row payload_rows[] = {
	{ "event", YAML_NUMBER(0, UINT16_MAX), YAML_TO(struct etw_payload_filter, event),
	  .help = "Id of the event; all its versions are meant." },
	{ "all", CONDITIONS, .help = "Conditions that must all hold." },
	{ "any", CONDITIONS, .help = "Conditions of which one must hold." },
};

/* Checks the form { event: 3008, all: [...] } or { event: 3008, any: [...] }. */
static bool begin_payload(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct etw_payload_filter *filter = base;

	filter->any = yaml_find(node, "any") != NULL;
	return (node->size == 2 && yaml_find(node, "event")) ||
	       yaml_wrong(in, node,
			  "payload: expected event, and either all or any with conditions");
}

static bool same_event(const void *a, const void *b)
{
	const struct etw_payload_filter *x = a, *y = b;

	return x->event == y->event;
}

/* ---- one provider ---- */

static const struct yaml_shape keywords_shape = {
	.type = SHAPE_NUMBER,
	.most = UINT64_MAX,
	.name = "keywords",
};

static const struct yaml_shape ids_shape = {
	.type = SHAPE_LIST,
	.least = 1,
	.most = ETW_PROVIDER_IDS_MAX,
	.items = "event ids",
	.item = YAML_SHAPE(.type = SHAPE_NUMBER, .what = "event id", .most = UINT16_MAX),
	.name = "ids",
};

#define IDS &ids_shape, .in_place = true, YAML_TO_LIST(struct etw_provider_spec, ids, id_count)

static const struct yaml_row id_rows[] = { { "include", IDS }, { "exclude", IDS } };

static bool begin_ids(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct etw_provider_spec *spec = base;

	spec->ids_out = yaml_find(node, "exclude") != NULL;
	return node->size == 1 || yaml_wrong(in, node, "ids: expected either include or exclude");
}

#define STACK_IDS                     \
	&ids_shape, .in_place = true, \
		    YAML_TO_LIST(struct etw_provider_spec, stack_ids, stack_id_count)

static const struct yaml_row stack_id_rows[] = { { "include", STACK_IDS },
						 { "exclude", STACK_IDS } };

static bool begin_stack_ids(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct etw_provider_spec *spec = base;

	spec->stack_ids_out = yaml_find(node, "exclude") != NULL;
	return node->size == 1 ||
	       yaml_wrong(in, node, "stack_ids: expected either include or exclude");
}

static bool add_executable(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct etw_provider_spec *spec = base;
	size_t characters;

	if (node->size == 0 || strchr(node->text, ';')) {
		return yaml_wrong(in, node, "'%s' is not the name of an executable", node->text);
	}
	if (!append(in, &spec->executables, ';', node->text)) {
		return false;
	}
	characters = utf16_length(spec->executables);
	return characters <= ETW_PROVIDER_EXECUTABLES_MAX ||
	       yaml_wrong(in, node,
			  "executables: up to here, the names and the semicolons between them have "
			  "%zu characters, and Windows takes at most %d",
			  characters, ETW_PROVIDER_EXECUTABLES_MAX);
}

static const char *const properties[] = {
	"sid", "session_id", "stack", "process_start_key", "no_keyword_0", "container_id", NULL
};

static bool read_property(struct yaml_reader *in, const struct yaml_node *node,
			  const struct yaml_row *row, void *base)
{
	struct etw_provider_spec *spec = base;
	unsigned word;

	if (!yaml_word(in, node, row->key, YAML_WORDS(properties), &word)) {
		return false;
	}
	spec->properties |= 1U << word;
	return true;
}

static bool add_argument(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct etw_error why;

	if (node->key->size == 0) {
		return yaml_wrong(in, node->key, "arguments: an argument needs a name");
	}
	return etw_provider_spec_argument(base, node->key->text, node->text, &why) ||
	       yaml_wrong(in, node, "%s", why.text);
}

static const struct yaml_shape arguments_shape = {
	.type = SHAPE_NAMES,
	.item = YAML_SHAPE(.type = SHAPE_TEXT, .check = add_argument, .json = "'maxLength': 1021"),
	.name = "arguments",
	.help = "Arguments for the provider, an EventSource of .NET, such as EventCounterIntervalSec: 10; at most 1024 bytes of names and values, each with a NUL.",
	/* The bounds that ETW_PROVIDER_ARGUMENTS_MAX bytes leave for one name, one value, and their
	   number. */
	.json = "'propertyNames': { 'minLength': 1, 'maxLength': 1022 }, 'maxProperties': 341",
};

static bool check_every(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct etw_provider_spec *spec = base;

	return spec->capture_at_start != 0 ||
	       yaml_wrong(in, node, "every: repeats at_start, which is missing");
}

static const struct yaml_row capture_rows[] = {
	{ "at_start", &keywords_shape, YAML_TO(struct etw_provider_spec, capture_at_start),
	  .fallback = "0" },
	{ "at_stop", &keywords_shape, YAML_TO(struct etw_provider_spec, capture_at_stop),
	  .fallback = "0" },
	{ "every",
	  YAML_SHAPE(.type = SHAPE_DURATION, .least = CAPTURE_LEAST_MS, .most = CAPTURE_MOST_MS,
		     .check = check_every),
	  .relies = true, YAML_TO(struct etw_provider_spec, capture_every_ms),
	  .help = "Interval at which at_start is repeated, from 1s to 24h." },
	{ "timeout",
	  YAML_SHAPE(.type = SHAPE_DURATION, .least = CAPTURE_WAIT_LEAST_MS,
		     .most = CAPTURE_WAIT_MOST_MS),
	  YAML_TO(struct etw_provider_spec, capture_timeout_ms),
	  .help = "How long to wait for the state, from 1s to 1m. Default: 10s when the session stops, 1s otherwise." },
};

static bool check_provider_name(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	return etw_provider_spec_name(base, node->text, node->size, NULL) ||
	       yaml_wrong(in, node, "'%s' is not the name or GUID of a provider", node->text);
}

static const struct yaml_shape provider_name_shape = {
	.type = SHAPE_TEXT,
	.check = check_provider_name,
	.name = "provider_name",
	.help = "Name of the provider, or its {guid}.",
	.pattern =
		"^(\\{(?![-0]*\\})[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\\}|[^{].*)$",
};

static const struct yaml_shape level_shape = {
	.type = SHAPE_NUMBER,
	.most = UINT8_MAX,
	.name = "level",
	.help = "Highest level to deliver: 1 critical, 2 error, 3 warning, 4 information, 5 verbose (default).",
};

static const struct yaml_row provider_rows[] = {
	{ "provider", &provider_name_shape, .required = true },
	{ "level", &level_shape, YAML_TO(struct etw_provider_spec, level), .fallback = "5" },
	{ "any", &keywords_shape, YAML_TO(struct etw_provider_spec, any),
	  .fallback = "0xffffffffffffffff",
	  .help = "Keywords: deliver events that have any of them. Absent: all events." },
	{ "all", &keywords_shape, YAML_TO(struct etw_provider_spec, all), .fallback = "0",
	  .help = "Keywords: of these events, deliver those that have all of them." },
	{ "ids",
	  YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(id_rows), .before = begin_ids, .whole = true,
		     .json = "'minProperties': 1, 'maxProperties': 1"),
	  .help = "Ids of the events to deliver or to leave out, at most 64." },
	{ "process_ids",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = ETW_PROVIDER_PROCESSES_MAX, .items = "process ids",
		     .item = YAML_SHAPE(.type = SHAPE_NUMBER, .what = "process id",
					.most = UINT32_MAX)),
	  .in_place = true, YAML_TO_LIST(struct etw_provider_spec, process_ids, process_id_count),
	  .help = "Ids of the processes whose events are delivered, at most 8." },
	{ "executables",
	  YAML_SHAPE(.type = SHAPE_LIST,
		     .item = YAML_SHAPE(.type = SHAPE_TEXT, .check = add_executable,
					.pattern = "^[^;]+$", .any_scalar = true)),
	  .help = "File names of the programs whose events are delivered, at most 511 characters together." },
	{ "properties",
	  YAML_SHAPE(.type = SHAPE_LIST,
		     .item = YAML_SHAPE(.type = SHAPE_WORD, .what = "property", .words = properties,
					.read = read_property)),
	  .help = "Items that Windows adds to each event. no_keyword_0 removes events without a keyword." },
	{ "stack_ids",
	  YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(stack_id_rows), .before = begin_stack_ids,
		     .whole = true, .json = "'minProperties': 1, 'maxProperties': 1"),
	  .help = "With the property stack: ids of the events that get a call stack, or that get none, at most 64. Absent: all get one." },
	{ .key = "arguments", .shape = &arguments_shape },
	{ "payload",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = FILTERS_MOST, .items = "events",
		     .item = YAML_SHAPE(
				     .type = SHAPE_MAP, YAML_ROWS(payload_rows),
				     .before = begin_payload, .whole = true,
				     .json = "'required': ['event'], 'minProperties': 2, 'maxProperties': 2"),
		     .same = same_event,
		     .twice = "two entries for one event; put their conditions together"),
	  .owned = true, YAML_TO_LIST(struct etw_provider_spec, payload, payload_count),
	  .help = "Conditions on payload fields, one entry for each event; events without an entry are always delivered. Windows needs the provider's manifest for them." },
	{ "capture_state",
	  YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(capture_rows),
		     .json = "'if': { 'required': ['every'] }, 'then': { 'required': "
			     "['at_start'], 'properties': { 'at_start': { 'minimum': 1 } } }"),
	  .help = "Keywords whose state the provider is requested to report (capture state)." },
};

static bool begin_provider(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	(void)in;
	(void)node;
	etw_provider_spec_init(base);
	return true;
}

static bool read_provider_text(struct yaml_reader *in, const struct yaml_node *node,
			       const struct yaml_row *row, void *base)
{
	struct etw_error why;

	(void)row;
	return etw_provider_spec_parse(base, node->text, &why) ||
	       yaml_wrong(in, node, "providers: %s", why.text);
}

const struct yaml_shape provider_text_shape = {
	.type = SHAPE_TEXT,
	.read = read_provider_text,
	.name = "provider_text",
	.help = "Name or {guid}[:level[:ids[:any[:all]]]]. ids are separated by commas; any and all are keywords.",
	.pattern =
		"^(\\{(?![-0]*\\})[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\\}|[^{:][^:]*)"
		"(:(0*([0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5])|0[xX]0*[0-9a-fA-F]{1,2})?"
		"(:(([0-9]+|0[xX][0-9a-fA-F]+)(,([0-9]+|0[xX][0-9a-fA-F]+)){0,63},?)?"
		"(:([0-9]+|0[xX][0-9a-fA-F]+)?(:([0-9]+|0[xX][0-9a-fA-F]+)?)?)?)?)?$",
	.json = "'examples': ['Microsoft-Windows-DNS-Client:4']",
};

static const struct yaml_row need_rows[] = {
	{ "provider", &provider_text_shape, .required = true },
	{ .key = "arguments", .shape = &arguments_shape },
};

const struct yaml_shape provider_need_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(need_rows),
	.before = begin_provider,
	.other = &provider_text_shape,
	.name = "provider_need",
};

/* ---- one session ---- */

static bool same_provider(const void *x, const void *y)
{
	const struct etw_provider_spec *a = x, *b = y;

	if (a->name && b->name) {
		return text_equal_nocase(a->name, strlen(a->name), b->name, strlen(b->name));
	}
	return !a->name && !b->name && etw_guid_equal(&a->guid, &b->guid);
}

static bool check_buffers(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct config_session *session = base;

	return session->buffers_max == 0 || session->buffers_min <= session->buffers_max ||
	       yaml_wrong(in, yaml_find(node, "min"), "min: %s is more than max, %s",
			  yaml_find(node, "min")->text, yaml_find(node, "max")->text);
}

static const struct yaml_shape buffers_number_shape = {
	.type = SHAPE_NUMBER,
	.least = 2,
	.most = BUFFERS_MOST,
};

static const struct yaml_row buffer_rows[] = {
	{ "size",
	  YAML_SHAPE(.type = SHAPE_SIZE, .least = BUFFER_LEAST, .most = BUFFER_MOST,
		     .multiple = 1024),
	  YAML_TO(struct config_session, buffer_size_bytes), .fallback = "256KiB",
	  .help = "Size of one buffer, from 16KiB to 1MiB, in whole KiB." },
	{ "min", &buffers_number_shape, YAML_TO(struct config_session, buffers_min),
	  .help = "Minimum number of buffers. Default: 64, or 4 for each processor if that is more." },
	{ "max", &buffers_number_shape, YAML_TO(struct config_session, buffers_max),
	  .help = "Maximum number of buffers. Default: twice min." },
};

/* Words in the order of enum config_logger. */
static const char *const loggers[] = {
	"auto", "private", "system_providers", "nt_kernel_logger", "user", "attach", NULL
};
static const char *const conflicts[] = { "wait", "takeover", NULL };

/* Reads the name of a kernel event, such as Thread/CSwitch. */
static bool read_kernel_event(struct yaml_reader *in, const struct yaml_node *node,
			      const struct yaml_row *row, void *base)
{
	struct etw_kernel_event *event = base;
	const char *slash = strchr(node->text, '/');
	struct nearest nearest;

	(void)row;
	if (!slash ||
	    !etw_kernel_class_find(node->text, (size_t)(slash - node->text), &event->class_guid)) {
		return yaml_wrong(in, node,
				  "kernel_stacks: '%s' is not an event of the kernel such as "
				  "Thread/CSwitch",
				  node->text);
	}
	if (etw_kernel_class_needs_no_flag(etw_kernel_class_of(&event->class_guid))) {
		return yaml_wrong(in, node, "kernel_stacks: events of %s have no call stack",
				  etw_kernel_class_name(&event->class_guid));
	}
	nearest = (struct nearest){ .word = slash + 1, .size = strlen(slash + 1) };
	if (etw_kernel_event_find(&event->class_guid, nearest.word, nearest.size, &event->opcode)) {
		return true;
	}
	for (unsigned opcode = 0; opcode <= UINT8_MAX; opcode++) {
		const char *name = etw_kernel_event_name(&event->class_guid, (uint8_t)opcode);

		if (name) {
			nearest_offer(&nearest, name);
		}
	}
	return nearest.best ? yaml_wrong(in, node,
					 "kernel_stacks: unknown event '%s'; did you mean '%s/%s'?",
					 node->text, etw_kernel_class_name(&event->class_guid),
					 nearest.best) :
			      yaml_wrong(in, node, "kernel_stacks: unknown event '%s'", node->text);
}

static bool same_kernel_event(const void *a, const void *b)
{
	const struct etw_kernel_event *x = a, *y = b;

	return x->opcode == y->opcode && etw_guid_equal(&x->class_guid, &y->class_guid);
}

static const struct yaml_row session_rows[] = {
	{ "logger", YAML_WORDS(loggers), YAML_TO(struct config_session, logger), .fallback = "auto",
	  .help = "private: a separate system logger; system_providers: the same, with the system providers of Windows 11 and Server 2022 in place of kernel flags, never tried on a real Windows; auto: private; nt_kernel_logger: the session NT Kernel Logger; user: providers only; attach: the session of this name that another program controls, also an autologger: it is read and never changed." },
	{ "on_conflict", YAML_WORDS(conflicts), YAML_TO(struct config_session, takeover),
	  .fallback = "wait", .if_given = true,
	  .help = "What to do if another program owns the NT Kernel Logger: wait for it, or take it over." },
	{ .key = "buffers",
	  .shape = YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(buffer_rows), .check = check_buffers) },
	{ "flush",
	  YAML_SHAPE(.type = SHAPE_DURATION, .least = FLUSH_LEAST_MS, .most = FLUSH_MOST_MS,
		     .multiple = 1000),
	  YAML_TO(struct config_session, flush_ms), .fallback = "1s",
	  .help = "Longest time that an event waits in a buffer: whole seconds, from 1s to 1h." },
	{ "rundown", &yaml_switch_shape, YAML_TO(struct config_session, rundown), .fallback = "on",
	  .help = "Whether to request the names of the files that are open when the session starts, disks and "
		  "services; a session with kernel events starts a second one, NAME_harvest, for a moment." },
	{ "kernel_stacks",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = CONFIG_STACKS_MAX, .items = "events",
		     .item = YAML_SHAPE(.type = SHAPE_TEXT, .read = read_kernel_event,
					.pattern = "^[A-Za-z]+/[A-Za-z0-9_]+$"),
		     .same = same_kernel_event, .twice = "an event is listed twice"),
	  .in_place = true, YAML_TO_LIST(struct config_session, kernel_stacks, kernel_stack_count),
	  .help = "Kernel events that get a call stack, such as PerfInfo/SampleProf or Thread/CSwitch, at most 64; the stack is an event of its own, StackWalk/Stack. Collectors that are on bring the events themselves." },
	{ "providers",
	  YAML_SHAPE(.type = SHAPE_LIST, .most = CONFIG_PROVIDERS_MAX, .items = "providers",
		     .item = YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(provider_rows),
					.before = begin_provider, .other = &provider_text_shape,
					.name = "provider"),
		     .same = same_provider,
		     .twice = "a provider is listed twice; Windows would use only the last entry"),
	  YAML_TO_LIST(struct config_session, providers, provider_count),
	  .help = "Providers to enable in addition to those that the collectors need." },
};

static bool check_name(struct yaml_reader *in, const struct yaml_node *key)
{
	size_t characters = utf16_length(key->text);

	if (characters == 0) {
		return yaml_wrong(in, key, "sessions: a session needs a name");
	}
	return characters < NAME_MOST ||
	       yaml_wrong(in, key,
			  "sessions: the name of a session has %zu characters, more than %d",
			  characters, NAME_MOST - 1);
}

static bool begin_session(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	struct config_session *session = base;

	session->line = node->key->line;
	session->column = node->key->column;
	if (!check_name(in, node->key)) {
		return false;
	}
	session->name = text_duplicate(node->key->text, node->key->size);
	return session->name || error_no_memory(in->err, "the configuration of sessions");
}

bool session_has_name(const struct config_session *session, const char *name)
{
	return text_equal_nocase(session->name, strlen(session->name), name, strlen(name));
}

/* Another program decides about a session that is attached to. */
static bool check_attached(struct yaml_reader *in, const struct yaml_node *node)
{
	static const char *const keys[] = { "on_conflict", "buffers",       "flush",
					    "rundown",     "kernel_stacks", "providers" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		if (yaml_find(node, keys[i])) {
			return yaml_wrong(in, yaml_find(node, keys[i]),
					  "%s: not for logger: attach, because another program "
					  "controls that session",
					  keys[i]);
		}
	}
	return true;
}

static bool check_session(struct yaml_reader *in, const struct yaml_node *node, void *base)
{
	const struct config_session *session = base;
	const struct yaml_node *logger = yaml_find(node, "logger");
	const struct yaml_node *conflict = yaml_find(node, "on_conflict");
	bool nt_kernel = session->logger == LOGGER_NT_KERNEL;
	bool named_nt = session_has_name(session, NT_KERNEL_NAME);

	if (session->logger == LOGGER_ATTACH) {
		return check_attached(in, node);
	}
	if (nt_kernel != named_nt) {
		return yaml_wrong(
			in, logger ? logger : node->key,
			nt_kernel ? "logger: nt_kernel_logger needs a session called '%s'" :
				    "a session called '%s' needs logger: nt_kernel_logger, or "
				    "attach",
			NT_KERNEL_NAME);
	}
	if (conflict && !nt_kernel) {
		return yaml_wrong(
			in, conflict,
			"on_conflict: only for the nt_kernel_logger, which other programs "
			"may own");
	}
	if (session->logger == LOGGER_USER && session->kernel_stack_count > 0) {
		return yaml_wrong(in, yaml_find(node, "kernel_stacks"),
				  "kernel_stacks: a user session has no kernel events");
	}
	return !nt_kernel || session->provider_count == 0 ||
	       yaml_wrong(in, yaml_find(node, "providers"),
			  "providers: the NT Kernel Logger takes kernel events only; give "
			  "providers a session of their own");
}

const struct yaml_shape session_shape = {
	.type = SHAPE_MAP,
	YAML_ROWS(session_rows),
	.before = begin_session,
	.check = check_session,
	.name = "session",
};

void session_done(struct config_session *session)
{
	for (size_t i = 0; i < session->provider_count; i++) {
		etw_provider_spec_done(&session->providers[i]);
	}
	free(session->name);
}
