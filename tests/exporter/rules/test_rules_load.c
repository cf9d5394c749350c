/* SPDX-License-Identifier: MIT */
/*
 * The language of collectors: what is taken, and where and why the rest is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/one_collector.h"

#define HEAD      "collector: x\nhelp: h\ndefault: on\n"
#define METRIC    HEAD "metrics:\n- name: a_total\n  type: counter\n  help: h\n"
#define EVENTS    METRIC "  events:\n"
#define GAUGE     HEAD "metrics:\n- name: a\n  type: gauge\n  help: h\n  events:\n"
#define RATIO     HEAD "metrics:\n- name: a_ratio\n  type: gauge\n  help: h\n  events:\n"
#define SECONDS   HEAD "metrics:\n- name: a_seconds_total\n  type: counter\n  help: h\n  events:\n"
#define BYTES     HEAD "metrics:\n- name: a_bytes_total\n  type: counter\n  help: h\n  events:\n"
#define HISTOGRAM HEAD "metrics:\n- name: a_seconds\n  type: histogram\n  help: h\n"
#define LABELS    METRIC "  events: [{ event: DiskIo/Read }]\n  labels:\n"

#define GROUPS_8  "()()()()()()()()"
#define GROUPS_32 GROUPS_8 GROUPS_8 GROUPS_8 GROUPS_8

struct refusal {
	const char *text;
	const char *error;
};

static bool try_texts(const char *const texts[3], struct etw_error *err)
{
	static const struct registry_limits limits = { 0 };
	struct registry *registry = registry_new(&limits, err);
	struct config *config = config_default(err);
	struct rule_set *set = three_collectors(texts, config, registry, err);
	bool good = set != NULL;

	rule_set_free(set);
	config_free(config);
	registry_free(registry);
	return good;
}

static void assert_good(const char *text)
{
	const char *const texts[3] = { text, NULL, NULL };
	struct etw_error err;

	if (!try_texts(texts, &err)) {
		fail_msg("%s\n%s", err.text, text);
	}
}

static void assert_refused(const struct refusal *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *const texts[3] = { cases[i].text, NULL, NULL };
		struct etw_error err;

		if (try_texts(texts, &err)) {
			fail_msg("taken: %s", cases[i].text);
		}
		assert_string_equal(err.text, cases[i].error);
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
	}
}

#define REFUSED(cases) assert_refused((cases), sizeof(cases) / sizeof(cases)[0])

static void a_collector_has_name_help_and_default(void **state)
{
	static const struct refusal cases[] = {
		{ "", "x.yaml:1:1: collector: 'collector' is missing" },
		{ "- a", "x.yaml:1:1: a collector: expected a map such as { a: b }, found a list" },
		{ "collector: x\n", "x.yaml:1:1: collector: 'help' is missing" },
		{ "collector: x\nhelp: h\n", "x.yaml:1:1: collector: 'default' is missing" },
		{ "collector: y\nhelp: h\ndefault: on\n",
		  "x.yaml:1:12: collector 'y' is in a file of another name, 'x'" },
		{ "collector: X\nhelp: h\ndefault: on\n",
		  "x.yaml:1:12: 'X' is not the name of a collector: lower case with underscores" },
		{ "collector: [x]\nhelp: h\ndefault: on\n",
		  "x.yaml:1:12: collector: expected text, found a list" },
		{ "collector: x\nhelp: ''\ndefault: on\n", "x.yaml:2:7: help: an empty text" },
		{ "collector: x\nhelp: h\ndefault: often\n",
		  "x.yaml:3:10: default: expected on or off, found 'often'" },
		{ HEAD "colour: red\n",
		  "x.yaml:4:1: unknown key 'colour'; known: collector, help, default, needs, decoders, pairs, metrics" },
		{ HEAD "need: {}\n", "x.yaml:4:1: unknown key 'need'; did you mean 'needs'?" },
		{ HEAD "metrics: {}\n", "x.yaml:4:10: metrics: expected a list such as [a, b], found a map" },
	};

	(void)state;
	assert_good(HEAD);
	assert_good(HEAD "metrics: []\n");
	REFUSED(cases);
}

static void needs_are_flags_and_providers(void **state)
{
	static const struct refusal cases[] = {
		{ HEAD "needs: [DISK_IO]\n", "x.yaml:4:8: needs: expected a map such as { a: b }, found a list" },
		{ HEAD "needs: { kernels: [] }\n",
		  "x.yaml:4:10: unknown key 'kernels'; did you mean 'kernel'?" },
		{ HEAD "needs: { kernel: DISK_IO }\n",
		  "x.yaml:4:18: kernel: expected a list such as [a, b], found text" },
		{ HEAD "needs: { kernel: [DISKIO] }\n",
		  "x.yaml:4:19: unknown kernel flag 'DISKIO'; did you mean 'DISK_IO'?" },
		{ HEAD "needs: { providers: [':4'] }\n",
		  "x.yaml:4:22: providers: ':4' is not the name or GUID of a provider" },
		{ HEAD "needs: { providers: ['A:high'] }\n",
		  "x.yaml:4:22: providers: the level in 'A:high' is not a number from 0 to 255" },
		{ HEAD "needs: { providers: ['A:4:1,x'] }\n",
		  "x.yaml:4:22: providers: an id in 'A:4:1,x' is not a number from 0 to 65535" },
		{ HEAD "needs: { providers: ['A:4:1:2:3:5'] }\n",
		  "x.yaml:4:22: providers: 'A:4:1:2:3:5' has too many parts" },
	};

	(void)state;
	assert_good(
		HEAD
		"needs: { kernel: [PROCESS, THREAD, IMAGE_LOAD, DISK_IO, DISK_FILE_IO, FILE_IO, FILE_IO_INIT,\n"
		"  NETWORK_TCPIP, MEMORY_HARD_FAULTS, MEMORY_PAGE_FAULTS, VIRTUAL_ALLOC, VAMAP, PROFILE,\n"
		"  CSWITCH, DISPATCHER, DPC, INTERRUPT, REGISTRY] }\n");
	assert_good(HEAD
		    "needs: { providers: [A, 'A:4', 'A:4:1,2', 'A:4:1:0x10:0x20', 'A::::0x1',\n"
		    "  '{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}:5'] }\n");
	REFUSED(cases);
}

static void a_metric_has_name_type_help_and_events(void **state)
{
	static const struct refusal cases[] = {
		{ HEAD "metrics:\n- {}\n", "x.yaml:5:3: metrics: 'name' is missing" },
		{ HEAD "metrics:\n- name: a_total\n", "x.yaml:5:3: metrics: 'type' is missing" },
		{ HEAD "metrics:\n- name: a_total\n  type: counter\n",
		  "x.yaml:5:3: metrics: 'help' is missing" },
		{ METRIC, "x.yaml:5:3: metrics: 'events' is missing" },
		{ METRIC "  events: []\n", "x.yaml:8:11: events: an empty list" },
		{ METRIC "  event: []\n",
		  "x.yaml:8:3: unknown key 'event'; did you mean 'events'?" },
		{ HEAD
		  "metrics:\n- name: a_total\n  type: conter\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:6:9: unknown type 'conter'; did you mean 'counter'?" },
		{ HEAD
		  "metrics:\n- name: a\n  type: counter\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:5:9: 'a': only names of counters end in _total, and all of them do" },
		{ HEAD
		  "metrics:\n- name: a_total\n  type: gauge\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:5:9: 'a_total': only names of counters end in _total, and all of them do" },
		{ HEAD
		  "metrics:\n- name: a-b_total\n  type: counter\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:5:9: 'a-b_total' is not the name of a metric: lower case with underscores" },
		{ HEAD
		  "metrics:\n- name: a_count\n  type: gauge\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:5:9: 'a_count': the suffixes _count, _sum and _bucket are reserved for histograms" },
		{ HEAD
		  "metrics:\n- name: a_sum\n  type: gauge\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:5:9: 'a_sum': the suffixes _count, _sum and _bucket are reserved for histograms" },
		{ HEAD
		  "metrics:\n- name: a_bucket\n  type: histogram\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:5:9: 'a_bucket': the suffixes _count, _sum and _bucket are reserved for histograms" },
		{ HEAD
		  "metrics:\n- name: etw_session_x_total\n  type: counter\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:5:9: 'etw_session_x_total' is reserved for the metrics of the program itself" },
		{ HEAD
		  "metrics:\n- name: etw_process_threads\n  type: gauge\n  help: h\n  events: [{ event: '*' }]\n",
		  "x.yaml:5:9: 'etw_process_threads' is reserved for the metrics of the program itself" },
		{ METRIC "  max_series: 0\n  events: [{ event: DiskIo/Read }]\n",
		  "x.yaml:8:15: max_series: 0 is not from 1 to 2147483647" },
		{ METRIC "  op: inc\n  events: [{ event: DiskIo/Read }]\n",
		  "x.yaml:8:3: 'op' is only for gauges" },
		{ METRIC "  decimals: 3\n  events: [{ event: DiskIo/Read }]\n",
		  "x.yaml:8:3: 'decimals' is only for gauges that are not in seconds and no ratio" },
		{ HEAD
		  "metrics:\n- name: a_ratio\n  type: gauge\n  help: h\n  decimals: 3\n  op: set\n"
		  "  events: [{ event: DiskIo/Read, value: TransferSize }]\n",
		  "x.yaml:8:3: 'decimals' is only for gauges that are not in seconds and no ratio" },
		{ HEAD "metrics:\n- name: a\n  type: gauge\n  help: h\n  decimals: 10\n  op: set\n"
		       "  events: [{ event: DiskIo/Read, value: TransferSize }]\n",
		  "x.yaml:8:13: decimals: 10 is not from 1 to 9" },
		{ METRIC "  buckets: [1]\n  events: [{ event: DiskIo/Read }]\n",
		  "x.yaml:8:3: 'buckets' are only for histograms" },
	};

	(void)state;
	assert_good(METRIC "  max_series: 10\n  events: [{ event: DiskIo/Read }]\n");
	REFUSED(cases);
}

#define PAIR(pair) SECONDS "  - { event: Process/Stop, value: Duration, pair: " pair " }\n"

#define CARRY(carry) \
	PAIR("{ start: Process/Start, stop: Process/Stop, key: [ParentId], " carry " }")

static void a_pair_has_start_stop_and_key(void **state)
{
	static const struct refusal cases[] = {
		{ PAIR("[]"), "x.yaml:9:51: pair: expected a map such as { a: b }, found a list" },
		{ PAIR("{}"), "x.yaml:9:51: pair: 'start' is missing" },
		{ PAIR("{ start: Process/Start }"), "x.yaml:9:51: pair: 'key' is missing" },
		{ PAIR("{ start: Process/Start, stop: Process/Stop }"),
		  "x.yaml:9:51: pair: 'key' is missing" },
		{ PAIR("{ start: Process/Start, stop: Process/Stop, key: ProcessId }"),
		  "x.yaml:9:100: key: expected a list such as [a, b], found text" },
		{ PAIR("{ start: Process/Start, stop: Process/Stop, key: [] }"),
		  "x.yaml:9:100: key: from 1 to 8 fields" },
		{ PAIR("{ start: Process/Start, stop: Process/Stop, key: [Disk] }"),
		  "x.yaml:9:101: event 'Process/Start' has no field 'Disk'" },
		{ PAIR("{ start: DiskIo/Read, stop: Process/Stop, key: [ImageFileName] }"),
		  "x.yaml:9:99: event 'DiskIo/Read' has no field 'ImageFileName'" },
		{ PAIR("{ start: Process/Begin, stop: Process/Stop, key: [ProcessId] }"),
		  "x.yaml:9:60: unknown event 'Process/Begin'" },
		{ PAIR("{ start: '*', stop: Process/Stop, key: [ProcessId] }"),
		  "x.yaml:9:60: pair: '*' means every event; a pair needs a single one" },
		{ PAIR("{ start: Process/Start, stop: Process/DCStop, key: [ProcessId] }"),
		  "x.yaml:9:81: pair: 'stop' is not the event 'Process/Stop'" },
		{ PAIR("{ start: Process/Start, stop: Process/Stop, key: [ProcessId], timeout: 0s }"),
		  "x.yaml:9:122: timeout: 0s is not from 1ms to 24h" },
		{ PAIR("{ start: Process/Start, stop: Process/Stop, key: [ProcessId], timeout: 30 }"),
		  "x.yaml:9:122: timeout: '30' is not a duration such as 30s, 5m or 24h" },
		{ PAIR("{ start: Process/Start, stop: Process/Stop, key: [ProcessId], end: x }"),
		  "x.yaml:9:113: unknown key 'end'; known: start, stop, key, timeout, keep, carry, carried_by" },
		{ PAIR("{ start: Thread/CSwitch, stop: Process/Stop, key: [OnCpu] }"),
		  "x.yaml:9:102: field 'OnCpu' is a duration and cannot be a key" },
		{ SECONDS
		  "  - { event: Registry/37, value: Duration, pair: { start: Registry/30, stop: Registry/37, key: [Hive] } }\n",
		  "x.yaml:9:97: key 'Hive' is text at the start, a number at the stop" },
		{ CARRY("carry: []"), "x.yaml:9:119: carry: expected a map such as { a: b }, found a list" },
		{ CARRY("carry: {}"), "x.yaml:9:119: carry: from 1 to 4 labels" },
		{ CARRY("carry: { a: Cpu, b: Cpu, c: Cpu, d: Cpu, e: Cpu }"),
		  "x.yaml:9:119: carry: from 1 to 4 labels" },
		{ CARRY("carry: { a: TransferSize }"),
		  "x.yaml:9:124: event 'Process/Start' has no field 'TransferSize'" },
		{ CARRY("carry: { a: { field: ImageFileName, decode: [hex] } }"),
		  "x.yaml:9:157: decoder 'hex' cannot read text" },
		{ CARRY("carry: { a: Cpu }, carried_by: Process/DCEnd2"),
		  "x.yaml:9:143: unknown event 'Process/DCEnd2'" },
		{ CARRY("carry: { a: Cpu }, carried_by: DiskIo/Read"),
		  "x.yaml:9:101: event 'DiskIo/Read' has no field 'ParentId'" },
		{ CARRY("carried_by: Process/DCEnd"),
		  "x.yaml:9:112: 'carried_by' is only allowed with 'carry'" },
		{ EVENTS
		  "  - { event: Process/Stop, labels: { l: Pair.other }, pair: { start: "
		  "Process/Start, stop: Process/Stop, key: [ProcessId], carry: { a: Cpu } } }\n",
		  "x.yaml:9:41: the pair has no 'other' in its 'carry'" },
		{ EVENTS
		  "  - { event: Process/Stop, labels: { l: Pair.sit }, pair: { start: "
		  "Process/Start, stop: Process/Stop, key: [ProcessId], carry: { site: Cpu } } }\n",
		  "x.yaml:9:41: the pair has no 'sit' in its 'carry'; did you mean 'site'?" },
		{ EVENTS "  - { event: Process/Stop, labels: { l: Pair.a } }\n",
		  "x.yaml:9:41: event 'Process/Stop' has no field 'Pair.a'" },
		{ EVENTS
		  "  - { event: Process/Stop, value: Pair.a, pair: { start: "
		  "Process/Start, stop: Process/Stop, key: [ProcessId], carry: { a: Cpu } } }\n",
		  "x.yaml:9:35: field 'Pair.a' is text, not a number" },
		{ SECONDS
		  "  - { event: Process/Stop, value: Duration }\n  pair: { start: Process/Start, stop: Process/End, key: [ProcessId] }\n",
		  "x.yaml:10:39: unknown event 'Process/End'" },
		{ SECONDS
		  "  - { event: Process/DCStop, value: Duration }\n  pair: { start: Process/Start, stop: Process/Stop, key: [ProcessId] }\n",
		  "x.yaml:10:39: pair: 'stop' is not an event of 'a_seconds_total'" },
		{ SECONDS
		  "  - { event: Process/Stop, value: Duration, pair: { start: Process/Start, key: [ProcessId] } }\n  pair: { start: Process/Start, key: [ProcessId] }\n",
		  "x.yaml:10:9: pair: each event of 'a_seconds_total' has a pair of its own" },
		/* Duration is a time, in seconds, and no label. */
		{ EVENTS
		  "  - { event: Process/Stop, value: Duration, pair: { start: Process/Start, stop: Process/Stop, key: [ProcessId] } }\n",
		  "x.yaml:9:5: 'a_total' is not in seconds, so it takes no duration" },
		{ EVENTS
		  "  - { event: Process/Stop, labels: { d: Duration }, pair: { start: Process/Start, stop: Process/Stop, key: [ProcessId] } }\n",
		  "x.yaml:9:41: field 'Duration' is a duration and cannot be a label" },
		{ SECONDS "  - { event: Process/Stop, value: Duration }\n",
		  "x.yaml:9:35: event 'Process/Stop' has no field 'Duration'" },
	};

	(void)state;
	assert_good(PAIR("{ start: Process/Start, stop: Process/Stop, key: [ProcessId] }"));
	assert_good(PAIR(
		"{ start: Process/Start, stop: Process/Stop, key: [ProcessId, OfProcess], timeout: 24h }"));
	REFUSED(cases);
}

static void an_event_is_one_that_exists(void **state)
{
	static const struct refusal cases[] = {
		{ EVENTS "  - DiskIo/Read\n", "x.yaml:9:5: events: expected a map such as { a: b }, found text" },
		{ EVENTS "  - {}\n", "x.yaml:9:5: events: 'event' is missing" },
		{ EVENTS "  - { event: DiskIo/Raed }\n",
		  "x.yaml:9:14: unknown event 'DiskIo/Raed'; did you mean 'DiskIo/Read'?" },
		{ EVENTS "  - { event: DiskIo/Frobnicate }\n",
		  "x.yaml:9:14: unknown event 'DiskIo/Frobnicate'" },
		{ EVENTS "  - { event: DiskIo/256 }\n",
		  "x.yaml:9:14: unknown event 'DiskIo/256': an opcode is at most 255" },
		{ EVENTS "  - { event: DiksIo/Read }\n",
		  "x.yaml:9:14: unknown event class 'DiksIo'; did you mean 'DiskIo'?" },
		{ EVENTS "  - { event: Read }\n",
		  "x.yaml:9:14: 'Read' is not an event such as DiskIo/Read or Provider/12" },
		{ EVENTS "  - { event: DiskIo/ }\n",
		  "x.yaml:9:14: 'DiskIo/' is not an event such as DiskIo/Read or Provider/12" },
		{ EVENTS "  - { event: '/Read' }\n",
		  "x.yaml:9:14: '/Read' is not an event such as DiskIo/Read or Provider/12" },
		{ EVENTS "  - { event: '{3d6fa8d4-fe05}/Read' }\n",
		  "x.yaml:9:14: '{3d6fa8d4-fe05}' is not a GUID" },
		{ EVENTS "  - { event: Microsoft-Windows-DNS-Client/70000 }\n",
		  "x.yaml:9:14: unknown event 'Microsoft-Windows-DNS-Client/70000': an id is at most 65535" },
		{ EVENTS "  - { evnt: DiskIo/Read }\n",
		  "x.yaml:9:7: unknown key 'evnt'; did you mean 'event'?" },
		{ EVENTS "  - { event: DiskIo/Read, pair: {} }\n",
		  "x.yaml:9:33: pair: 'start' is missing" },
	};
	static const char *const good[] = {
		"DiskIo/Read",
		"diskio/READ",
		"DiskIo/10",
		"DiskIo/200",
		"DiskIo/*",
		"PerfInfo/ISR-MSI",
		"{3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c}/Read",
		"Microsoft-Windows-DNS-Client/3006",
		"Microsoft-Windows-DNS-Client/Query",
		"Microsoft-Windows-DNS-Client/*",
		"{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}/3006",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		char text[512];

		snprintf(text, sizeof text, EVENTS "  - { event: '%s' }\n", good[i]);
		assert_good(text);
	}
	REFUSED(cases);
}

static void a_version_is_a_list_or_a_least_one(void **state)
{
	static const struct refusal cases[] = {
		{ EVENTS "  - { event: DiskIo/Read, version: 3 }\n",
		  "x.yaml:9:36: version: expected a list such as [2, 3], or '>=2'" },
		{ EVENTS "  - { event: DiskIo/Read, version: [] }\n",
		  "x.yaml:9:36: version: expected a list such as [2, 3], or '>=2'" },
		{ EVENTS "  - { event: DiskIo/Read, version: [256] }\n",
		  "x.yaml:9:37: version: 256 is not from 0 to 255" },
		{ EVENTS "  - { event: DiskIo/Read, version: '>=x' }\n",
		  "x.yaml:9:36: version: '>=x' is not a version" },
		{ EVENTS "  - { event: DiskIo/Read, version: '<3' }\n",
		  "x.yaml:9:36: version: expected a list such as [2, 3], or '>=2'" },
	};

	(void)state;
	assert_good(EVENTS "  - { event: DiskIo/Read, version: [0, 2, 0xff] }\n");
	assert_good(EVENTS "  - { event: DiskIo/Read, version: '>=2' }\n");
	REFUSED(cases);
}

static void a_value_is_a_number_in_a_unit_that_the_name_ends_with(void **state)
{
	static const struct refusal cases[] = {
		{ EVENTS "  - { event: DiskIo/Read, value: Size }\n",
		  "x.yaml:9:34: event 'DiskIo/Read' has no field 'Size'" },
		{ EVENTS "  - { event: DiskIo/Read, value: transferSize }\n",
		  "x.yaml:9:34: event 'DiskIo/Read' has no field 'transferSize'; did you mean 'TransferSize'?" },
		{ EVENTS "  - { event: DiskIo/Read, value: 5 }\n",
		  "x.yaml:9:34: event 'DiskIo/Read' has no field '5'" },
		{ EVENTS "  - { event: Image/Load, value: FileName }\n",
		  "x.yaml:9:33: field 'FileName' is text, not a number" },
		{ EVENTS "  - { event: Image/Load, value: Process }\n",
		  "x.yaml:9:33: field 'Process' is text, not a number" },
		{ EVENTS "  - { event: DiskIo/Read, value: [a] }\n",
		  "x.yaml:9:34: value: expected text, found a list" },
		{ EVENTS "  - { event: DiskIo/Read, unit: KB }\n",
		  "x.yaml:9:27: 'unit' is only allowed with 'value'" },
		{ EVENTS "  - { event: DiskIo/Read, value: TransferSize, unit: TB }\n",
		  "x.yaml:9:54: unknown unit 'TB'; did you mean 'KB'?" },
		{ EVENTS "  - { event: DiskIo/Read, value: TransferSize, unit: MB }\n",
		  "x.yaml:9:54: 'a_total' is not in bytes" },
		{ EVENTS "  - { event: DiskIo/Read, value: TransferSize, unit: percent }\n",
		  "x.yaml:9:54: percent is for gauges whose names end in _ratio, unlike 'a_total'" },
		{ EVENTS "  - { event: DiskIo/Read, value: TransferSize, unit: KB }\n",
		  "x.yaml:9:54: 'a_total' is not in bytes" },
		{ EVENTS "  - { event: DiskIo/Read, value: HighResResponseTime, unit: ticks }\n",
		  "x.yaml:9:5: 'a_total' is not in seconds, so it takes no duration" },
		{ EVENTS "  - { event: PageFault/HardFault, since: InitialTime }\n",
		  "x.yaml:9:5: 'a_total' is not in seconds, so it takes no duration" },
		{ SECONDS "  - { event: DiskIo/Read }\n",
		  "x.yaml:9:5: 'a_seconds_total' needs a duration: 'since', or a 'value' with its 'unit'" },
		{ SECONDS "  - { event: DiskIo/Read, value: HighResResponseTime }\n",
		  "x.yaml:9:5: 'a_seconds_total' needs a duration: 'since', or a 'value' with its 'unit'" },
		{ SECONDS
		  "  - { event: PageFault/HardFault, since: InitialTime, value: ByteCount }\n",
		  "x.yaml:9:35: either 'value' or 'since', not both" },
		{ SECONDS "  - { event: Thread/CSwitch, value: OnCpu, unit: ticks }\n",
		  "x.yaml:9:50: field 'OnCpu' already has a unit" },
		{ SECONDS "  - { event: FileIo/OperationEnd, since: Duration }\n",
		  "x.yaml:9:42: field 'Duration' is a duration, not a time" },
		{ BYTES "  - { event: DiskIo/Read }\n",
		  "x.yaml:9:5: 'a_bytes_total' needs a 'value' in bytes" },
		{ BYTES "  - { event: DiskIo/Read, value: HighResResponseTime, unit: ms }\n",
		  "x.yaml:9:5: 'a_bytes_total' is not in seconds, so it takes no duration" },
	};
	static const char *const good[] = {
		EVENTS "  - { event: DiskIo/Read, value: TransferSize }\n",
		EVENTS "  - { event: DiskIo/Read, value: Cpu }\n",
		BYTES "  - { event: DiskIo/Read, value: TransferSize }\n",
		BYTES "  - { event: DiskIo/Read, value: TransferSize, unit: KB }\n",
		BYTES "  - { event: DiskIo/Read, value: TransferSize, unit: MB }\n",
		RATIO "  - { event: DiskIo/Read, op: set, value: TransferSize, unit: percent }\n",
		EVENTS "  - { event: DiskIo/Read, where: [{ field: TransferSize, exists: on }] }\n",
		SECONDS "  - { event: DiskIo/Read, value: HighResResponseTime, unit: ticks }\n",
		SECONDS "  - { event: DiskIo/Read, value: HighResResponseTime, unit: 100ns }\n",
		SECONDS "  - { event: DiskIo/Read, value: HighResResponseTime, unit: us }\n",
		SECONDS "  - { event: DiskIo/Read, value: HighResResponseTime, unit: ms }\n",
		SECONDS "  - { event: DiskIo/Read, value: HighResResponseTime, unit: s }\n",
		SECONDS "  - { event: PageFault/HardFault, since: InitialTime }\n",
		SECONDS "  - { event: Thread/CSwitch, value: OnCpu }\n",
		SECONDS "  - { event: Thread/CSwitch, value: Ready }\n",
		SECONDS "  - { event: FileIo/OperationEnd, value: Duration }\n",
		/* What another provider's event holds is not known before it arrives. */
		EVENTS "  - { event: Some-Provider/1, value: Anything }\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_good(good[i]);
	}
	REFUSED(cases);
}

static void a_gauge_has_an_op(void **state)
{
	static const struct refusal cases[] = {
		{ GAUGE "  - { event: DiskIo/Read }\n", "x.yaml:9:5: gauge: 'op' is missing" },
		{ GAUGE "  - { event: DiskIo/Read, op: add }\n",
		  "x.yaml:9:31: unknown op 'add'; known: set, inc, dec" },
		{ EVENTS "  - { event: DiskIo/Read, op: inc }\n",
		  "x.yaml:9:27: 'op' is only for gauges" },
		{ GAUGE
		  "  - { event: DiskIo/Read, op: inc }\n  - { event: DiskIo/Write, op: set }\n",
		  "x.yaml:10:5: 'a' is either set or counted up and down" },
	};

	(void)state;
	assert_good(GAUGE
		    "  - { event: DiskIo/Read, op: inc }\n  - { event: DiskIo/Write, op: dec }\n");
	assert_good(GAUGE "  - { event: DiskIo/Read, op: set, value: TransferSize }\n");
	assert_good(
		HEAD
		"metrics:\n- name: a\n  type: gauge\n  op: dec\n  help: h\n  events: [{ event: DiskIo/Read }]\n");
	REFUSED(cases);
}

static void buckets_rise_in_the_familys_unit(void **state)
{
	static const char event[] =
		"  events: [{ event: PageFault/HardFault, since: InitialTime }]\n";
	static const struct {
		const char *buckets;
		const char *error;
	} cases[] = {
		{ "", "x.yaml:5:3: histogram: 'buckets' is missing" },
		{ "  buckets: 3\n", "x.yaml:8:12: buckets: expected a list such as [a, b], found text" },
		{ "  buckets: []\n", "x.yaml:8:12: buckets: from 1 to 64 bounds" },
		{ "  buckets: [1, x]\n", "x.yaml:8:16: buckets: 'x' is not a number" },
		{ "  buckets: [1, nan]\n", "x.yaml:8:16: buckets: 'nan' is not a number" },
		{ "  buckets: [1, 0x2]\n", "x.yaml:8:16: buckets: '0x2' is not a number" },
		{ "  buckets: [1, 1]\n",
		  "x.yaml:8:16: buckets: bound 1 is not greater than the one before" },
		{ "  buckets: [2, 1]\n",
		  "x.yaml:8:16: buckets: bound 1 is not greater than the one before" },
		{ "  buckets: [0]\n", "x.yaml:8:13: buckets: bound 0 is out of range" },
		{ "  buckets: [-1]\n", "x.yaml:8:13: buckets: bound -1 is out of range" },
		{ "  buckets: [1e12]\n", "x.yaml:8:13: buckets: bound 1e+12 is out of range" },
		{ "  buckets: { start: 1, factor: 2 }\n",
		  "x.yaml:8:12: buckets: expected {start, factor, count} or {start, width, count}" },
		{ "  buckets: { start: 1, factor: 2, width: 1, count: 3 }\n",
		  "x.yaml:8:12: buckets: expected {start, factor, count} or {start, width, count}" },
		{ "  buckets: { start: 1, factor: 1, count: 3 }\n",
		  "x.yaml:8:32: buckets: the bounds must increase" },
		{ "  buckets: { start: 1, width: 0, count: 3 }\n",
		  "x.yaml:8:31: buckets: the bounds must increase" },
		{ "  buckets: { start: 1, factor: 2, count: 65 }\n",
		  "x.yaml:8:42: count: 65 is not from 1 to 64" },
		{ "  buckets: { begin: 1 }\n",
		  "x.yaml:8:14: unknown key 'begin'; known: start, factor, width, count" },
	};
	static const char *const good[] = {
		"  buckets: [0.001, 0.5, 1, 2.5e1]\n",
		"  buckets: { start: 0.000128, factor: 2, count: 16 }\n",
		"  buckets: { start: 0.1, width: 0.1, count: 64 }\n",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		snprintf(text, sizeof text, HISTOGRAM "%s%s", good[i], event);
		assert_good(text);
	}
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct refusal refusal = { text, cases[i].error };

		snprintf(text, sizeof text, HISTOGRAM "%s%s", cases[i].buckets, event);
		assert_refused(&refusal, 1);
	}
}

static void bounds_are_kept_in_nanoseconds_or_as_written(void **state)
{
	static const struct registry_limits limits = { 0 };
	static const char text[] = HEAD
		"metrics:\n"
		"- { name: a_seconds, type: histogram, help: h, buckets: { start: 0.000128, factor: 2, count: 16 },\n"
		"    events: [{ event: PageFault/HardFault, since: InitialTime }] }\n"
		"- { name: a_bytes, type: histogram, help: h, buckets: { start: 512, width: 512, count: 3 },\n"
		"    events: [{ event: DiskIo/Read, value: TransferSize }] }\n";
	struct etw_error err;
	struct registry *registry = registry_new(&limits, &err);
	struct config *config = config_default(&err);
	struct rule_set *set = one_collector(text, config, registry, &err);
	const struct metric *metrics;

	(void)state;
	assert_non_null(set);
	metrics = set->collectors[0]->metrics;
	assert_int_equal(metrics[0].bucket_count, 16);
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(metrics[0].buckets[i], UINT64_C(128000) << i);
	}
	assert_int_equal(metrics[1].bucket_count, 3);
	assert_int_equal(metrics[1].buckets[2], 1536);
	rule_set_free(set);
	config_free(config);
	registry_free(registry);
}

static void conditions_fit_the_type_of_their_field(void **state)
{
#define WHERE(condition) EVENTS "  - { event: Image/Load, where: [" condition "] }\n"
	static const struct refusal cases[] = {
		{ EVENTS "  - { event: Image/Load, where: { field: ImageSize, eq: 1 } }\n",
		  "x.yaml:9:33: where: expected a list such as [a, b], found a map" },
		{ WHERE("{ eq: 1 }"), "x.yaml:9:34: where: 'field' is missing" },
		{ WHERE("{ field: ImageSize }"),
		  "x.yaml:9:34: where: a comparison such as 'eq' is missing" },
		{ WHERE("{ field: ImageSize, eq: 1, ne: 2 }"),
		  "x.yaml:9:61: where: a condition has one comparison; 'ne' is a second" },
		{ WHERE("{ field: ImageSize, equals: 1 }"),
		  "x.yaml:9:54: unknown key 'equals'; known: field, eq, ne, lt, le, gt, ge, in, has, lacks, starts, ends, matches, exists" },
		{ WHERE("{ field: ImageSise, eq: 1 }"),
		  "x.yaml:9:43: event 'Image/Load' has no field 'ImageSise'; did you mean 'ImageSize'?" },
		{ WHERE("{ field: ImageSize, eq: big }"),
		  "x.yaml:9:58: 'big' is not a number, as field 'ImageSize' is" },
		{ WHERE("{ field: ImageSize, in: [1, big] }"),
		  "x.yaml:9:62: 'big' is not a number, as field 'ImageSize' is" },
		{ WHERE("{ field: ImageSize, in: 1 }"),
		  "x.yaml:9:58: in: expected a list such as [a, b], found text" },
		{ WHERE("{ field: ImageSize, in: [] }"), "x.yaml:9:58: in: an empty list" },
		{ WHERE("{ field: ImageSize, eq: [1] }"),
		  "x.yaml:9:58: eq: expected text, found a list" },
		{ WHERE("{ field: ImageSize, starts: 1 }"),
		  "x.yaml:9:54: 'starts' cannot compare field 'ImageSize', which is a number" },
		{ WHERE("{ field: ImageSize, matches: '1' }"),
		  "x.yaml:9:54: 'matches' cannot compare field 'ImageSize', which is a number" },
		{ WHERE("{ field: FileName, gt: 1 }"),
		  "x.yaml:9:53: 'gt' cannot compare field 'FileName', which is text" },
		{ WHERE("{ field: FileName, has: 1 }"),
		  "x.yaml:9:53: 'has' cannot compare field 'FileName', which is text" },
		{ WHERE("{ field: Process, lacks: 1 }"),
		  "x.yaml:9:52: 'lacks' cannot compare field 'Process', which is text" },
		{ WHERE("{ field: FileName, matches: '(a' }"),
		  "x.yaml:9:62: regular expression '(a': missing closing parenthesis at character 3" },
		{ WHERE("{ field: FileName, matches: '\\C' }"),
		  "x.yaml:9:62: regular expression '\\C': using \\C is disabled by the application at character 3" },
		{ WHERE("{ field: Volume, eq: 'C:' }"),
		  "x.yaml:9:43: event 'Image/Load' has no field 'Volume'" },
	};
	static const char *const good[] = {
		WHERE("{ field: ImageSize, eq: 0x1000 }"),
		WHERE("{ field: ImageSize, ne: -1 }"),
		WHERE("{ field: ImageSize, lt: 1 }, { field: ImageSize, le: 1 }"),
		WHERE("{ field: ImageSize, gt: 1 }, { field: ImageSize, ge: 1 }"),
		WHERE("{ field: ImageSize, in: [1, 0x2] }"),
		WHERE("{ field: ImageSize, has: 0x4 }, { field: ImageSize, lacks: 2 }"),
		WHERE("{ field: FileName, eq: 5 }, { field: FileName, ne: a }"),
		WHERE("{ field: FileName, in: [a, b] }"),
		WHERE("{ field: FileName, starts: a }, { field: FileName, ends: .sys }"),
		WHERE("{ field: FileName, matches: '\\.sys$' }"),
		WHERE(""),
		EVENTS
		"  - { event: Some-Provider/1, where: [{ field: A, lt: 3 }, { field: A, matches: b }] }\n",
		SECONDS
		"  - { event: Thread/CSwitch, value: OnCpu, where: [{ field: OnCpu, gt: 1000 }] }\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_good(good[i]);
	}
	REFUSED(cases);
#undef WHERE
}

static void labels_are_fields_texts_maps_or_decoded(void **state)
{
	static const struct refusal cases[] = {
		{ METRIC "  labels: [a]\n  events: [{ event: DiskIo/Read }]\n",
		  "x.yaml:8:11: labels: expected a map such as { a: b }, found a list" },
		{ LABELS "    1a: Process\n", "x.yaml:10:5: '1a' is not the name of a label" },
		{ LABELS "    __a: Process\n", "x.yaml:10:5: '__a' is not the name of a label" },
		{ LABELS "    le: Process\n", "x.yaml:10:5: label 'le' is reserved by Prometheus" },
		{ LABELS "    quantile: Process\n",
		  "x.yaml:10:5: label 'quantile' is reserved by Prometheus" },
		{ LABELS "    a: Proces\n",
		  "x.yaml:10:8: event 'DiskIo/Read' has no field 'Proces'; did you mean 'Process'?" },
		{ LABELS "    a: read\n", "x.yaml:10:8: event 'DiskIo/Read' has no field 'read'" },
		{ LABELS "    a: {}\n",
		  "x.yaml:10:8: label 'a': expected {text}, {field}, {field, map, default} or {field, decode}" },
		{ LABELS "    a: { text: b, field: Cpu }\n",
		  "x.yaml:10:8: label 'a': expected {text}, {field}, {field, map, default} or {field, decode}" },
		{ LABELS "    a: { field: Cpu, map: { 1: a }, default: b, decode: [hex] }\n",
		  "x.yaml:10:8: label 'a': expected {text}, {field}, {field, map, default} or {field, decode}" },
		{ LABELS "    a: { field: Cpu, default: b }\n",
		  "x.yaml:10:8: label 'a': expected {text}, {field}, {field, map, default} or {field, decode}" },
		{ LABELS "    a: { value: Cpu }\n",
		  "x.yaml:10:10: unknown key 'value'; known: text, field, map, default, decode" },
		{ LABELS "    a: { field: Cpu, map: { 1: a } }\n",
		  "x.yaml:10:27: map: 'default' is missing" },
		{ LABELS "    a: { field: Cpu, map: {}, default: b }\n",
		  "x.yaml:10:27: map: from 1 to 4096 entries" },
		{ LABELS "    a: { field: Cpu, map: { one: a }, default: b }\n",
		  "x.yaml:10:29: 'one' is not a number, as field 'Cpu' is" },
		{ LABELS "    a: { field: Cpu, decode: hex }\n",
		  "x.yaml:10:30: decode: expected a list such as [a, b], found text" },
		{ LABELS "    a: { field: Cpu, decode: [] }\n",
		  "x.yaml:10:30: decode: from 1 to 16 decoders" },
		{ LABELS "    a: { field: Cpu, decode: [hxe] }\n",
		  "x.yaml:10:31: unknown decoder 'hxe'; did you mean 'hex'?" },
		{ LABELS "    a: { field: Cpu, decode: [regex] }\n",
		  "x.yaml:10:31: unknown decoder 'regex'; known: hex, lower, basename, directory, extension, drive, ntstatus, win32_error, irp_major, bits, ip, network, port, service_port, guid, sid, hresult" },
		{ LABELS "    a: { field: Cpu, decode: [sid] }\n",
		  "x.yaml:10:31: decoder 'sid' cannot read a number" },
		{ LABELS "    a: { field: Cpu, decode: [guid] }\n",
		  "x.yaml:10:31: decoder 'guid' cannot read a number" },
		{ LABELS "    a: { field: Process, decode: [bits] }\n",
		  "x.yaml:10:35: decoder 'bits' cannot read text" },
		{ LABELS "    a: { field: Process, decode: [hresult] }\n",
		  "x.yaml:10:35: decoder 'hresult' cannot read text" },
		{ LABELS "    a: { field: Cpu, decode: [{ bits: [1] }] }\n",
		  "x.yaml:10:39: bits: expected a map such as { a: b }, found a list" },
		{ LABELS "    a: { field: Cpu, decode: [{ bits: {} }] }\n",
		  "x.yaml:10:39: bits: from 1 to 64 entries" },
		{ LABELS "    a: { field: Cpu, decode: [{ bits: { 0: none } }] }\n",
		  "x.yaml:10:41: bits: '0' is not a number with bits set" },
		{ LABELS "    a: { field: Cpu, decode: [{ bits: { read: 1 } }] }\n",
		  "x.yaml:10:41: bits: 'read' is not a number with bits set" },
		{ LABELS "    a: { field: Cpu, decode: [{ bits: { 1: read }, replace: x }] }\n",
		  "x.yaml:10:31: decode: expected {bits} or {regex, replace}" },
		{ LABELS "    a: { field: Cpu, decode: [lower] }\n",
		  "x.yaml:10:31: decoder 'lower' cannot read a number" },
		{ LABELS "    a: { field: Process, decode: [hex] }\n",
		  "x.yaml:10:35: decoder 'hex' cannot read text" },
		{ LABELS "    a: { field: Cpu, decode: [hex, ntstatus] }\n",
		  "x.yaml:10:36: decoder 'ntstatus' cannot read text" },
		{ LABELS "    a: { field: Process, decode: [{ regex: a }] }\n",
		  "x.yaml:10:35: decode: 'replace' is missing" },
		{ LABELS "    a: { field: Process, decode: [{ regex: '[', replace: b }] }\n",
		  "x.yaml:10:44: regular expression '[': missing terminating ] for character class at character 2" },
		{ LABELS "    a: { field: Process, decode: [{ regex: a, replace: $1 }] }\n",
		  "x.yaml:10:56: replacement '$1': the expression has 0 groups" },
		{ LABELS "    a: { field: Process, decode: [{ regex: '" GROUPS_32
			 "', replace: $32 }] }\n",
		  "x.yaml:10:121: replacement '$32': groups up to 31 are allowed" },
		{ LABELS "    a: { field: Process, decode: [{ regex: '" GROUPS_32
			 "(?<last>b)', replace: '$1${last}' }] }\n",
		  "x.yaml:10:131: replacement '$1${last}': groups up to 31 are allowed" },
		{ LABELS
		  "    a: { field: Process, decode: [{ regex: '(?<name>a)', replace: $nmae }] }\n",
		  "x.yaml:10:67: replacement '$nmae': the expression has no group 'nmae'" },
		{ LABELS "    a: { field: Process, decode: [{ regex: a, replace: '${' }] }\n",
		  "x.yaml:10:56: replacement '${' cannot be read" },
		{ METRIC
		  "  labels: { a: Cpu }\n  events: [{ event: DiskIo/Read, labels: { a: { text: b } } }]\n",
		  "x.yaml:9:44: label 'a' is already a label of the metric" },
		{ METRIC
		  "  labels: { a: Cpu, b: Cpu, c: Cpu, d: Cpu, e: Cpu, f: Cpu, g: Cpu, h: Cpu, i: Cpu }\n"
		  "  events: [{ event: DiskIo/Read }]\n",
		  "x.yaml:8:11: labels: at most 8 labels" },
		{ METRIC "  labels: { a: OnCpu }\n  events: [{ event: Thread/CSwitch }]\n",
		  "x.yaml:8:16: field 'OnCpu' is a duration and cannot be a label" },
	};
	static const char *const good[] = {
		LABELS "    a: Process\n    b: DiskNumber\n    C_2: { text: x }\n",
		LABELS "    a: { field: Process }\n",
		LABELS
		"    a: { field: IrpFlags, map: { 1: one, 0x2: two, -3: three }, default: many }\n",
		LABELS
		"    a: { field: Process, map: { chrome: browser, '1': one }, default: other }\n",
		LABELS "    a: { field: IrpFlags, decode: [hex] }\n",
		LABELS
		"    a: { field: IrpFlags, decode: [ntstatus, { regex: '_', replace: '-' }] }\n",
		LABELS "    a: { field: IrpFlags, decode: [win32_error] }\n",
		LABELS
		"    a: { field: Process, decode: [lower, basename, directory, extension, drive] }\n",
		LABELS
		"    a: { field: Process, decode: [{ regex: '(?<x>a)(b)', replace: '${x}$2$$' }] }\n",
		LABELS "    a: { field: Process, decode: [{ regex: '" GROUPS_32
		       "', replace: $31 }] }\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_good(good[i]);
	}
	REFUSED(cases);
}

#define NAMED(decoders, label)                                                     \
	HEAD "decoders:\n" decoders "metrics:\n- name: a_total\n  type: counter\n" \
	     "  help: h\n  labels: { a: { field: Process, decode: " label " } }\n" \
	     "  events: [{ event: DiskIo/Read }]\n"
#define SIX "lower, lower, lower, lower, lower, lower"

static void a_list_of_decoders_may_have_a_name(void **state)
{
	static const struct refusal cases[] = {
		{ HEAD "decoders: [lower]\n",
		  "x.yaml:4:11: decoders: expected a map such as { a: b }, found a list" },
		{ HEAD "decoders: {}\n", "x.yaml:4:11: decoders: from 1 to 64 decoders" },
		{ NAMED("  Site: [lower]\n", "[lower]"),
		  "x.yaml:5:3: 'Site' is not the name of a decoder: lower case with underscores" },
		{ NAMED("  lower: [basename]\n", "[lower]"),
		  "x.yaml:5:3: 'lower' is the name of a built-in decoder" },
		{ NAMED("  regex: [basename]\n", "[lower]"),
		  "x.yaml:5:3: 'regex' is the name of a built-in decoder" },
		{ NAMED("  site: lower\n", "[lower]"),
		  "x.yaml:5:9: site: expected a list such as [a, b], found text" },
		{ NAMED("  site: []\n", "[lower]"), "x.yaml:5:9: site: from 1 to 16 decoders" },
		/* One error, although a label uses the list. */
		{ NAMED("  site: [lwer]\n", "[site]"),
		  "x.yaml:5:10: unknown decoder 'lwer'; did you mean 'lower'?" },
		{ NAMED("  site: [lower]\n", "[siet]"),
		  "x.yaml:10:43: unknown decoder 'siet'; did you mean 'site'?" },
		{ NAMED("  site: [lower]\n", "[wer]"),
		  "x.yaml:10:43: unknown decoder 'wer'; known: hex, lower, basename, directory, extension, drive, ntstatus, win32_error, irp_major, bits, ip, network, port, service_port, guid, sid, hresult" },
		/* A list has the names above it, and not its own. */
		{ NAMED("  address: [address]\n", "[lower]"),
		  "x.yaml:5:13: unknown decoder 'address'; known: hex, lower, basename, directory, extension, drive, ntstatus, win32_error, irp_major, bits, ip, network, port, service_port, guid, sid, hresult" },
		{ NAMED("  site: [address]\n  address: [lower]\n", "[site]"),
		  "x.yaml:5:10: unknown decoder 'address'; known: hex, lower, basename, directory, extension, drive, ntstatus, win32_error, irp_major, bits, ip, network, port, service_port, guid, sid, hresult" },
		{ NAMED("  a: [" SIX "]\n  b: [a, a, a]\n", "[b]"),
		  "x.yaml:6:6: decode: with those that names stand for, these are more than 16 decoders" },
		/* The error of a decoder that does not fit is at the label. */
		{ NAMED("  site: [lower, hex]\n", "[basename, site]"),
		  "x.yaml:10:53: decoder 'hex' cannot read text" },
	};

	(void)state;
	assert_good(NAMED("  site: [lower]\n", "[site]"));
	assert_good(NAMED("  site: [lower]\n  host: [{ regex: a, replace: b }, site]\n",
			  "[drive, host, site]"));
	assert_good(NAMED("  unused: [hex]\n", "[lower]"));
	REFUSED(cases);
}

#define NAMED_PAIRS(pairs, pair)                                                                \
	HEAD "pairs:\n" pairs "metrics:\n- name: a_seconds_total\n  type: counter\n  help: h\n" \
	     "  events:\n  - { event: Process/Stop, value: Duration, pair: " pair " }\n"
#define LIFE "  life: { start: Process/Start, key: [ParentId] }\n"

static void a_pair_may_have_a_name(void **state)
{
	static const struct refusal cases[] = {
		{ HEAD "pairs: {}\n", "x.yaml:4:8: pairs: from 1 to 64 pairs" },
		{ NAMED_PAIRS("  Life: { start: Process/Start, key: [ParentId] }\n", "Life"),
		  "x.yaml:5:3: 'Life' is not the name of a pair: lower case with underscores" },
		{ NAMED_PAIRS(LIFE, "live"),
		  "x.yaml:11:51: unknown pair 'live'; did you mean 'life'?" },
		{ NAMED_PAIRS(LIFE, "x"),
		  "x.yaml:11:51: unknown pair 'x': 'pairs' has no such name" },
		{ PAIR("life"), "x.yaml:9:51: unknown pair 'life': 'pairs' has no such name" },
		/* One error, although a rule uses the pair. */
		{ NAMED_PAIRS("  life: { start: Process/Start }\n", "life"),
		  "x.yaml:5:9: life: 'key' is missing" },
		{ NAMED_PAIRS(
			  "  life: { start: Process/Start, stop: Process/DCStop, key: [ParentId] }\n",
			  "life"),
		  "x.yaml:5:39: pair: 'stop' is not the event 'Process/Stop'" },
		{ PAIR("{ start: Process/Start, key: [ParentId], keep: on }"),
		  "x.yaml:9:92: 'keep' is only allowed with 'carry'" },
		{ PAIR("{ start: Process/Start, key: [ParentId], keep: on, carry: { a: Cpu } }"),
		  "x.yaml:9:35: a pair with 'keep' has no Duration" },
		{ NAMED_PAIRS("  life: { start: Process/Start, key: [Disk] }\n", "life"),
		  "x.yaml:5:39: event 'Process/Start' has no field 'Disk'" },
	};

	(void)state;
	assert_good(NAMED_PAIRS(LIFE, "life"));
	assert_good(NAMED_PAIRS(
		"  life: { start: Process/Start, stop: Process/Stop, key: [ParentId] }\n", "life"));
	assert_good(PAIR("{ start: Process/Start, key: [ParentId] }"));
	REFUSED(cases);
}

static void derived_fields_are_accepted_only_for_their_events(void **state)
{
	static const struct {
		const char *field;
		const char *event;
		bool good;
	} cases[] = {
		{ "Process", "*", true },
		{ "ProcessId", "*", true },
		{ "ThreadId", "*", true },
		{ "Cpu", "*", true },
		{ "Level", "*", true },
		{ "Opcode", "*", true },
		{ "Session", "*", true },
		{ "Provider", "*", true },
		{ "Event", "*", true },
		{ "OfProcess", "*", false },
		{ "OfProcess", "Process/Start", true },
		{ "OfProcess", "Thread/Start", true },
		{ "OfProcess", "Image/Load", true },
		{ "OfProcess", "DiskIo/Read", false },
		{ "Path", "FileIo/Read", true },
		{ "Volume", "FileIo/Read", true },
		{ "Volume", "FileIo/*", true },
		{ "Volume", "DiskIo/Read", false },
		{ "Volume", "Microsoft-Windows-Kernel-File/15", true },
		{ "Volume", "{edd08927-9cc4-4e65-b970-c2560fb5c289}/15", true },
		{ "Paging", "FileIo/Read", true },
		{ "Paging", "FileIo/Write", true },
		{ "Paging", "FileIo/Create", false },
		{ "Paging", "Microsoft-Windows-Kernel-File/16", true },
		{ "AlsoKernel", "Microsoft-Windows-Kernel-File/16", true },
		{ "AlsoKernel", "FileIo/Write", false },
		{ "AlsoKernel", "*", false },
		{ "ExitResult", "Process/Stop", true },
		{ "ExitResult", "Thread/Stop", false },
		{ "Driver", "PerfInfo/DPC", true },
		{ "Driver", "PerfInfo/SampleProf", false },
		{ "Started", "FileIo/OperationEnd", true },
		{ "Started", "FileIo/Read", false },
		{ "Started", "Microsoft-Windows-Kernel-File/24", true },
		{ "Started", "Microsoft-Windows-Kernel-File/OperationEnd", true },
		{ "StartedBy", "FileIo/OperationEnd", true },
		{ "StartedBy", "FileIo/Read", false },
		{ "OldProcess", "Thread/CSwitch", true },
		{ "OldProcess", "Thread/Start", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[512];
		const char *const texts[3] = { text, NULL, NULL };
		struct etw_error err;
		bool provider = strcmp(cases[i].event, "*") == 0;

		snprintf(text, sizeof text, EVENTS "  - { event: '%s', labels: { a: %s%s } }\n",
			 cases[i].event, cases[i].field, provider ? ", provider: Provider" : "");
		if (try_texts(texts, &err) != cases[i].good) {
			fail_msg("%s of %s: %s", cases[i].field, cases[i].event,
				 cases[i].good ? err.text : "taken");
		}
	}
}

static void one_family_has_one_type_help_and_label_set(void **state)
{
#define OTHER(rest) "collector: y\nhelp: h\ndefault: off\nmetrics:\n- name: a_total\n  " rest
	static const char first[] = METRIC
		"  labels: { d: DiskNumber }\n  events: [{ event: DiskIo/Read }]\n";
	static const struct refusal cases[] = {
		{ OTHER("type: counter\n  help: other\n  labels: { d: DiskNumber }\n  events: [{ event: DiskIo/Write }]\n"),
		  "y.yaml:5:9: 'a_total' has another help than in x.yaml:5" },
		{ OTHER("type: counter\n  help: h\n  events: [{ event: DiskIo/Write }]\n"),
		  "y.yaml:8:12: 'a_total' has 0 labels here, 1 in x.yaml:9" },
		{ OTHER("type: counter\n  help: h\n  labels: { e: DiskNumber }\n  events: [{ event: DiskIo/Write }]\n"),
		  "y.yaml:8:13: 'a_total' has no label 'e' in x.yaml:9" },
		{ OTHER("type: counter\n  help: h\n  max_series: 3\n  labels: { d: DiskNumber }\n  events: [{ event: DiskIo/Write }]\n"),
		  "y.yaml:5:9: 'a_total' has another max_series than in x.yaml:5" },
	};
	static const struct refusal alone[] = {
		{ EVENTS
		  "  - { event: DiskIo/Read, labels: { a: Cpu } }\n  - { event: DiskIo/Write }\n",
		  "x.yaml:10:5: 'a_total' has 0 labels here, 1 in x.yaml:9" },
		{ EVENTS
		  "  - { event: DiskIo/Read, labels: { a: Cpu } }\n  - { event: DiskIo/Write, labels: { b: Cpu } }\n",
		  "x.yaml:10:38: 'a_total' has no label 'b' in x.yaml:9" },
	};
	const char *texts[3] = { first, NULL, NULL };
	struct etw_error err;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		texts[1] = cases[i].text;
		assert_false(try_texts(texts, &err));
		assert_string_equal(err.text, cases[i].error);
	}
	texts[1] = OTHER(
		"type: counter\n  help: h\n  labels: { d: DiskNumber }\n  events: [{ event: DiskIo/Write }]\n");
	assert_true(try_texts(texts, &err));
	texts[0] = HEAD
		"metrics:\n- { name: a, type: gauge, op: inc, help: h, events: [{ event: DiskIo/Read }] }\n";
	texts[1] =
		"collector: y\nhelp: h\ndefault: on\n"
		"metrics:\n- { name: a, type: histogram, help: h, buckets: [1], events: [{ event: DiskIo/Read }] }\n";
	assert_false(try_texts(texts, &err));
	assert_string_equal(err.text, "y.yaml:5:11: 'a' has another type than in x.yaml:5");
	REFUSED(alone);
#undef OTHER
}

static void a_family_of_two_sources_distinguishes_them(void **state)
{
	static const struct refusal cases[] = {
		{ EVENTS "  - { event: '*' }\n",
		  "x.yaml:9:14: 'a_total' of every provider needs the label 'provider'" },
		{ EVENTS
		  "  - { event: FileIo/Read }\n  - { event: Microsoft-Windows-Kernel-File/15 }\n",
		  "x.yaml:10:14: a second source of 'a_total', whose first is FileIo/Read in x.yaml:9: it needs the label 'provider'" },
		{ EVENTS
		  "  - { event: FileIo/Read }\n  - { event: Microsoft-Windows-Kernel-File/15, "
		  "where: [{ field: AlsoKernel, eq: 1 }] }\n",
		  "x.yaml:10:14: a second source of 'a_total', whose first is FileIo/Read in x.yaml:9: it needs the label 'provider'" },
		/* A GUID and a name may be those of one provider, which is not known here. */
		{ EVENTS "  - { event: A-B/1 }\n"
			 "  - { event: '{a1a1a1a1-0000-0000-0000-000000000001}/1' }\n",
		  "x.yaml:10:14: a second source of 'a_total', whose first is A-B/1 in x.yaml:9: it needs the label 'provider'" },
		{ EVENTS "  - { event: '{a1a1a1a1-0000-0000-0000-000000000001}/1' }\n"
			 "  - { event: '{a1a1a1a1-0000-0000-0000-000000000002}/1' }\n",
		  "x.yaml:10:14: a second source of 'a_total', whose first is {a1a1a1a1-0000-0000-0000-000000000001}/1 in x.yaml:9: it needs the label 'provider'" },
		{ EVENTS "  - { event: Process/Start }\n  - { event: A-B/1 }\n",
		  "x.yaml:10:14: a second source of 'a_total', whose first is Process/Start in x.yaml:9: it needs the label 'provider'" },
		{ EVENTS "  - { event: A-B/1 }\n  - { event: A-C/1 }\n",
		  "x.yaml:10:14: a second source of 'a_total', whose first is A-B/1 in x.yaml:9: it needs the label 'provider'" },
	};
	static const char *const good[] = {
		EVENTS "  - { event: DiskIo/Read }\n  - { event: FileIo/Read }\n",
		EVENTS "  - { event: A-B/1 }\n  - { event: a-b/2 }\n",
		EVENTS "  - { event: '{a1a1a1a1-0000-0000-0000-000000000001}/1' }\n"
		       "  - { event: '{A1A1A1A1-0000-0000-0000-000000000001}/2' }\n",
		/* It counts only where the first source does not. */
		EVENTS "  - { event: FileIo/Read }\n  - { event: Microsoft-Windows-Kernel-File/15, "
		       "where: [{ field: AlsoKernel, eq: 0 }] }\n",
		METRIC "  labels: { provider: Provider }\n  events: [{ event: '*' }]\n",
		METRIC
		"  labels: { provider: Provider }\n  events: [{ event: FileIo/Read }, { event: A-B/* }]\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_good(good[i]);
	}
	REFUSED(cases);
}

static void collectors_that_are_off_are_checked_too(void **state)
{
	static const char *const texts[3] = {
		HEAD,
		"collector: y\nhelp: h\ndefault: off\nmetrics:\n- { name: b_total, type: counter, help: h, events: [{ event: DiskIo/Raed }] }\n",
		NULL
	};
	struct etw_error err;

	(void)state;
	assert_false(try_texts(texts, &err));
	assert_string_equal(
		err.text, "y.yaml:5:62: unknown event 'DiskIo/Raed'; did you mean 'DiskIo/Read'?");
}

#define MADE_UP "a1a1a1a1-0000-0000-0000-000000000001"

/* Adds a collector with events that have eight labels each: `field` and `end` are around the
 * number of the label. */
static void add_labels(struct etw_text *text, const char *name, unsigned first, unsigned events,
		       const char *field, const char *end)
{
	text_add_format(text,
			"collector: %s\nhelp: h\ndefault: on\nmetrics:\n"
			"- name: %s_total\n  type: counter\n  help: h\n  events:\n",
			name, name);
	for (unsigned i = 0; i < events; i++) {
		text_add_string(text, "  - { event: '{" MADE_UP "}/1', labels: { provider: x");
		for (unsigned k = 0; k < 7; k++) {
			text_add_format(text, ", l%u: %s%u%s", k, field, first + i * 7 + k, end);
		}
		text_add_string(text, " } }\n");
	}
}

/* Tries as many labels, of two collectors. Returns whether they are good. */
static bool try_labels(unsigned events, const char *field, const char *end, struct etw_error *err)
{
	struct etw_text x = { 0 }, y = { 0 };
	const char *texts[3] = { NULL };
	bool good;

	add_labels(&x, "x", 0, events / 2, field, end);
	add_labels(&y, "y", events / 2 * 7, events - events / 2, field, end);
	texts[0] = x.data;
	texts[1] = y.data;
	good = try_texts(texts, err);
	text_free(&x);
	text_free(&y);
	return good;
}

/* 16,384 labels are 2340 events with seven labels each, and four labels more. */
static void the_numbers_of_labels_fields_and_pairs_are_limited(void **state)
{
	struct etw_error err = { 0 };
	struct etw_text pairs = { 0 };
	const char *texts[3] = { NULL };

	(void)state;
	if (!try_labels(2340, "{ field: A, decode: [hex] } #", "\n", &err)) {
		fail_msg("%s", err.text);
	}
	assert_false(try_labels(2341, "{ field: A, decode: [hex] } #", "\n", &err));
	assert_string_equal(err.text, "y.yaml:9369:5: the collectors that are on have more than "
				      "16384 different labels together");
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
	assert_true(try_labels(2340, "F", "", &err));
	assert_false(try_labels(2341, "F", "", &err));
	assert_non_null(strstr(err.text, "different fields together"));
	/* The same fields and labels of a metric count once. */
	assert_true(try_labels(5000, "F #", "\n", &err));

	for (unsigned count = 4096; count <= 4097; count++) {
		text_clear(&pairs);
		text_add_string(&pairs, SECONDS);
		for (unsigned i = 0; i < count; i++) {
			text_add_format(
				&pairs,
				"  - { event: Process/Stop, value: Duration, pair: { start: "
				"Process/Start, key: [ProcessId], timeout: %ums } }\n",
				i + 1000);
		}
		texts[0] = pairs.data;
		assert_int_equal(try_texts(texts, &err), count == 4096);
	}
	assert_non_null(strstr(err.text, "the collectors that are on have more than 4096 different "
					 "pairs together"));
	text_free(&pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_of_labels_fields_and_pairs_are_limited),
		cmocka_unit_test(a_collector_has_name_help_and_default),
		cmocka_unit_test(needs_are_flags_and_providers),
		cmocka_unit_test(a_metric_has_name_type_help_and_events),
		cmocka_unit_test(a_pair_has_start_stop_and_key),
		cmocka_unit_test(an_event_is_one_that_exists),
		cmocka_unit_test(a_version_is_a_list_or_a_least_one),
		cmocka_unit_test(a_value_is_a_number_in_a_unit_that_the_name_ends_with),
		cmocka_unit_test(a_gauge_has_an_op),
		cmocka_unit_test(buckets_rise_in_the_familys_unit),
		cmocka_unit_test(bounds_are_kept_in_nanoseconds_or_as_written),
		cmocka_unit_test(conditions_fit_the_type_of_their_field),
		cmocka_unit_test(labels_are_fields_texts_maps_or_decoded),
		cmocka_unit_test(a_list_of_decoders_may_have_a_name),
		cmocka_unit_test(a_pair_may_have_a_name),
		cmocka_unit_test(derived_fields_are_accepted_only_for_their_events),
		cmocka_unit_test(one_family_has_one_type_help_and_label_set),
		cmocka_unit_test(a_family_of_two_sources_distinguishes_them),
		cmocka_unit_test(collectors_that_are_off_are_checked_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
