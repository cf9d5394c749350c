/* SPDX-License-Identifier: MIT */
/*
 * Network, processes, registry and disks by providers with manifests, the second sources of what
 * the kernel reports: alone each feeds the families of its collector, and beside the kernel's
 * events it counts nothing. Files are in test_kernel_file.c. Payloads are built by hand from the
 * manifests of the providers, and expected values are sums of the numbers in this file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/source/provider_names.h"
#include "tests/support/kernel_events.h"
#include "tests/support/program.h"
#include "tests/support/temporary.h"

#define SECOND    INT64_C(10000000) /* ticks of the recordings */
#define ALL_ON    "collectors: { dotnet: on, registry: on, tcp_peers: on }\n"
#define KERNEL    "Windows Kernel"
#define NOT_FOUND UINT32_C(0xC0000034)

/* The process of the header; its name needs no event. */
enum { SYSTEM = 4, SYSTEM_THREAD = 8, ALPHA = 100, ALPHA_THREAD = 101, STAYS = 200, OLD = 300 };

struct making {
	char path[TEMPORARY_PATH_SIZE];
	struct etw_writer *writer;
	struct kernel_events k;
	struct etw_payload payload;
	int64_t now;
};

static void begin(struct making *making, uint8_t pointer_size)
{
	const struct etw_writer_options options = { .pointer_size = pointer_size };
	struct etw_error err = { 0 };

	*making = (struct making){ .now = SECOND };
	temporary_path(making->path, "etl");
	making->writer = etw_writer_open(making->path, &options, &err);
	assert_non_null(making->writer);
	kernel_events_init(&making->k, making->writer, pointer_size);
	etw_payload_init(&making->payload, pointer_size);
}

static void at_next(struct making *making)
{
	making->now += SECOND / 1000;
	kernel_events_at(&making->k, 0, making->now, SYSTEM, SYSTEM_THREAD);
}

/* The payload so far becomes an event of the provider, a millisecond after the one before. */
static void put(struct making *making, enum etw_known_provider provider, uint16_t id)
{
	struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					 .pointer_size = making->payload.pointer_size,
					 .process_id = SYSTEM,
					 .thread_id = SYSTEM_THREAD,
					 .provider = &etw_known_providers[provider].guid,
					 .id = id,
					 .level = 4 };

	making->now += SECOND / 1000;
	record.raw_time = making->now;
	etl_writer_add_payload(making->writer, &record, &making->payload);
	etw_payload_clear(&making->payload);
}

static struct etw_text replay(struct making *making, bool single_pass)
{
	struct etw_error err = { 0 };

	kernel_events_done(&making->k);
	etw_payload_done(&making->payload);
	assert_true(etw_writer_finish(making->writer, &err));
	etw_writer_close(making->writer);
	return program_replay(making->path, ALL_ON, &(struct setup_options){ 0 },
			      (struct runner_options){ .file = { .single_pass = single_pass } });
}

/* ---- what each source says of a subject ---- */

static void put_kernel_network(struct making *making)
{
	static const struct {
		enum network_opcode opcode;
		struct kernel_network network;
	} events[] = {
		{ OP_NET_SEND, { .process_id = SYSTEM, .size = 1000 } },
		{ OP_NET_RECEIVE, { .process_id = SYSTEM, .size = 500, .ipv6 = true } },
		{ OP_NET_SEND, { .process_id = SYSTEM, .size = 70, .udp = true } },
		{ OP_NET_RECEIVE, { .process_id = SYSTEM, .size = 30, .udp = true, .ipv6 = true } },
		{ OP_NET_CONNECT, { .process_id = SYSTEM } },
		{ OP_NET_ACCEPT, { .process_id = SYSTEM, .ipv6 = true } },
		{ OP_NET_DISCONNECT, { .process_id = SYSTEM } },
		{ OP_NET_RETRANSMIT, { .process_id = SYSTEM, .ipv6 = true } },
	};

	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
		at_next(making);
		event_network(&making->k, events[i].opcode, &events[i].network);
	}
	at_next(making);
	event_network_fail(&making->k, false, 6, 3);
}

static void put_provider_network(struct making *making)
{
	static const struct {
		uint16_t id;
		uint32_t size;
	} events[] = {
		{ 10, 1000 }, { 27, 500 }, { 42, 70 }, { 59, 30 },
		{ 12, 0 },    { 31, 0 },   { 13, 0 },  { 30, 0 },
	};

	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
		etw_payload_u32(&making->payload, SYSTEM);
		etw_payload_u32(&making->payload, events[i].size);
		etw_payload_zeros(&making->payload, 64); /* more than any layout has */
		put(making, ETW_PROVIDER_KERNEL_NETWORK, events[i].id);
	}
	etw_payload_u16(&making->payload, 6);
	etw_payload_u16(&making->payload, 3);
	put(making, ETW_PROVIDER_KERNEL_NETWORK, 17);
}

static void put_kernel_process(struct making *making)
{
	struct kernel_process process = {
		.id = ALPHA, .parent_id = SYSTEM, .image = "alpha.exe", .command_line = "alpha"
	};
	const struct kernel_thread thread = { .process_id = ALPHA, .id = ALPHA_THREAD };

	at_next(making);
	event_process(&making->k, OP_START, &process);
	at_next(making);
	event_thread(&making->k, OP_START, &thread);
	process.exit_status = 1;
	at_next(making);
	event_process(&making->k, OP_STOP, &process);
	process.id = STAYS;
	process.image = "stays.exe";
	at_next(making);
	event_process(&making->k, OP_START, &process);
}

static void put_provider_start(struct making *making, uint32_t id, const char *path)
{
	etw_payload_u32(&making->payload, id);
	etw_payload_u64(&making->payload, 0); /* CreateTime */
	etw_payload_u32(&making->payload, SYSTEM);
	etw_payload_u32(&making->payload, 0); /* SessionID */
	etw_payload_wstring(&making->payload, path);
	put(making, ETW_PROVIDER_KERNEL_PROCESS, ETW_PROCESS_EVENT_START);
}

static void put_provider_process(struct making *making)
{
	put_provider_start(making, ALPHA, "\\Device\\HarddiskVolume3\\bin\\alpha.exe");
	etw_payload_u32(&making->payload, ALPHA);
	etw_payload_u32(&making->payload, ALPHA_THREAD);
	etw_payload_zeros(&making->payload, 56);
	put(making, ETW_PROVIDER_KERNEL_PROCESS, ETW_PROCESS_EVENT_THREAD_START);
	etw_payload_u32(&making->payload, ALPHA);
	etw_payload_zeros(&making->payload, 16); /* CreateTime, ExitTime */
	etw_payload_u32(&making->payload, 1);    /* ExitCode */
	etw_payload_zeros(&making->payload, 24);
	etw_payload_astring(&making->payload, "alpha.exe");
	put(making, ETW_PROVIDER_KERNEL_PROCESS, ETW_PROCESS_EVENT_STOP);
	put_provider_start(making, STAYS, "\\Device\\HarddiskVolume3\\bin\\stays.exe");
}

static void put_kernel_registry(struct making *making)
{
	static const struct kernel_registry found = { .name = "k" };
	static const struct kernel_registry missing = { .name = "k", .status = NOT_FOUND };

	at_next(making);
	event_registry(&making->k, OP_REGISTRY_OPEN, &missing);
	at_next(making);
	event_registry(&making->k, OP_REGISTRY_QUERY_VALUE, &found);
	at_next(making);
	event_registry(&making->k, OP_REGISTRY_CLOSE, &found);
}

static void put_provider_registry(struct making *making)
{
	etw_payload_pointer(&making->payload, 1); /* BaseObject */
	etw_payload_pointer(&making->payload, 2); /* KeyObject */
	etw_payload_u32(&making->payload, NOT_FOUND);
	etw_payload_zeros(&making->payload, 8);
	put(making, ETW_PROVIDER_KERNEL_REGISTRY, 2);
	etw_payload_pointer(&making->payload, 2);
	etw_payload_u32(&making->payload, 0);
	etw_payload_zeros(&making->payload, 16);
	put(making, ETW_PROVIDER_KERNEL_REGISTRY, 7);
	etw_payload_pointer(&making->payload, 2);
	etw_payload_u32(&making->payload, 0);
	etw_payload_zeros(&making->payload, 2);
	put(making, ETW_PROVIDER_KERNEL_REGISTRY, 13);
}

enum { RESPONSE = 1000, TRANSFER = 4096 };

static void put_kernel_disk(struct making *making)
{
	static const struct kernel_disk disk = {
		.disk = 1, .size = TRANSFER, .response_ticks = RESPONSE, .thread_id = SYSTEM_THREAD
	};

	at_next(making);
	event_disk(&making->k, OP_DISK_READ, &disk);
	at_next(making);
	event_disk(&making->k, OP_DISK_WRITE, &disk);
	at_next(making);
	event_disk(&making->k, OP_DISK_FLUSH, &disk);
}

static void put_provider_disk(struct making *making)
{
	for (uint16_t id = 10; id <= 11; id++) {
		etw_payload_u32(&making->payload, 1);
		etw_payload_u32(&making->payload, 0x60043);
		etw_payload_u32(&making->payload, TRANSFER);
		etw_payload_u32(&making->payload, 0);
		etw_payload_u64(&making->payload, 0);
		etw_payload_pointer(&making->payload, 0xf00);
		etw_payload_pointer(&making->payload, 0x1000);
		etw_payload_u64(&making->payload, RESPONSE);
		put(making, ETW_PROVIDER_KERNEL_DISK, id);
	}
	etw_payload_u32(&making->payload, 1);
	etw_payload_u32(&making->payload, 0);
	etw_payload_u64(&making->payload, RESPONSE);
	etw_payload_pointer(&making->payload, 0x1000);
	put(making, ETW_PROVIDER_KERNEL_DISK, 14);
}

/* What both say; %s is the provider. A line without %s is of a family without that label. */
static const struct subject {
	const char *provider;
	void (*kernel)(struct making *making);
	void (*second)(struct making *making);
	const char *lines[18];
} subjects[] = {
#define OF_PEER(network) ",network=\"" network "\",port=\"0\",local_port=\"0\""
#define SYSTEM_OF(more)  "{process=\"System\",provider=\"%s\"" more "} "
	{ "Microsoft-Windows-Kernel-Network",
	  put_kernel_network,
	  put_provider_network,
	  { "etw_network_sent_bytes_total" SYSTEM_OF(",protocol=\"tcp\"") "1000\n",
	    "etw_network_received_bytes_total" SYSTEM_OF(",protocol=\"tcp\"") "500\n",
	    "etw_network_sent_bytes_total" SYSTEM_OF(",protocol=\"udp\"") "70\n",
	    "etw_network_received_bytes_total" SYSTEM_OF(",protocol=\"udp\"") "30\n",
	    "etw_network_operations_total" SYSTEM_OF(",protocol=\"tcp\",operation=\"send\"") "1\n",
	    "etw_network_operations_total" SYSTEM_OF(
		    ",protocol=\"tcp\",operation=\"receive\"") "1\n",
	    "etw_network_operations_total" SYSTEM_OF(",protocol=\"udp\",operation=\"send\"") "1\n",
	    "etw_network_operations_total" SYSTEM_OF(
		    ",protocol=\"udp\",operation=\"receive\"") "1\n",
	    "etw_tcp_connections_total" SYSTEM_OF(",direction=\"outbound\"") "1\n",
	    "etw_tcp_connections_total" SYSTEM_OF(",direction=\"inbound\"") "1\n",
	    "etw_tcp_disconnects_total" SYSTEM_OF("") "1\n",
	    "etw_tcp_retransmits_total" SYSTEM_OF("") "1\n",
	    "etw_tcp_connect_failures_total{reason=\"address_exists\"} 1\n",
	    "etw_tcp_peer_sent_bytes_total" SYSTEM_OF(OF_PEER("0.0.0.0/24")) "1000\n",
	    "etw_tcp_peer_received_bytes_total" SYSTEM_OF(OF_PEER("::/64")) "500\n",
	    "etw_tcp_peer_connections_total" SYSTEM_OF(
		    OF_PEER("0.0.0.0/24") ",direction=\"outbound\"") "1\n",
	    "etw_tcp_peer_retransmits_total" SYSTEM_OF(OF_PEER("::/64")) "1\n" } },
#define ALPHA_OF(more) "{process=\"alpha\",provider=\"%s\"" more "} "
	{ "Microsoft-Windows-Kernel-Process",
	  put_kernel_process,
	  put_provider_process,
	  { "etw_process_starts_total" ALPHA_OF("") "1\n",
	    "etw_process_exits_total" ALPHA_OF(",result=\"error\"") "1\n",
	    "etw_thread_starts_total" ALPHA_OF("") "1\n",
	    "etw_process_instances" ALPHA_OF("") "0\n",
	    "etw_process_instances{process=\"stays\",provider=\"%s\"} 1\n" } },
	{ "Microsoft-Windows-Kernel-Registry",
	  put_kernel_registry,
	  put_provider_registry,
	  { "etw_registry_operations_total" SYSTEM_OF(
		    ",result=\"not_found\",operation=\"open\"") "1\n",
	    "etw_registry_operations_total" SYSTEM_OF(
		    ",result=\"success\",operation=\"query_value\"") "1\n",
	    "etw_registry_operations_total" SYSTEM_OF(
		    ",result=\"success\",operation=\"close\"") "1\n" } },
	{ "Microsoft-Windows-Kernel-Disk",
	  put_kernel_disk,
	  put_provider_disk,
	  { "etw_disk_operations_total{disk=\"1\",operation=\"read\"} 1\n",
	    "etw_disk_operations_total{disk=\"1\",operation=\"write\"} 1\n",
	    "etw_disk_operations_total{disk=\"1\",operation=\"flush\"} 1\n",
	    "etw_disk_read_bytes_total{disk=\"1\"} 4096\n",
	    "etw_disk_written_bytes_total{disk=\"1\"} 4096\n",
	    "etw_disk_operation_duration_seconds_sum{disk=\"1\",operation=\"read\"} 0.0001\n",
	    "etw_disk_operation_duration_seconds_count{disk=\"1\",operation=\"flush\"} 1\n" } },
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

/* The lines are on the page, once, with the provider that the events came from. */
static void check(const struct etw_text *page, const struct subject *subject, const char *provider)
{
	for (size_t i = 0; subject->lines[i]; i++) {
		const char *mark = strstr(subject->lines[i], "%s");
		char line[300];

		snprintf(line, sizeof line, "\n%.*s%s%s",
			 (int)(mark ? mark - subject->lines[i] :
				      (ptrdiff_t)strlen(subject->lines[i])),
			 subject->lines[i], mark ? provider : "", mark ? mark + 2 : "");
		if (!strstr(page->data, line)) {
			fail_msg("not on the page: %s\n%s", line, page->data);
		}
	}
}

/* No series of the collectors is of the provider; those of all events are. */
static void check_none(const struct etw_text *page, const char *provider)
{
	struct page_line line = { 0 };

	while (page_next_line(page, &line)) {
		char text[300];

		snprintf(text, sizeof text, "%.*s", (int)(line.size < 299 ? line.size : 299),
			 line.text);
		if (text[0] != '#' && strstr(text, provider) && !strstr(text, "events_total{") &&
		    !strstr(text, "etw_event_payload_bytes")) {
			fail_msg("on the page: %s", text);
		}
	}
}

static void alone_each_source_feeds_the_families(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUBJECTS; i++) {
		for (unsigned j = 0; j < 8; j++) { /* source, pointer size, passes */
			struct making making;
			struct etw_text page;

			begin(&making, j & 2 ? 4 : 8);
			(j & 1 ? subjects[i].second : subjects[i].kernel)(&making);
			page = replay(&making, (j & 4) != 0);
			check(&page, &subjects[i], j & 1 ? subjects[i].provider : KERNEL);
			assert_int_equal(page_value(&page, "etw_consumer_repeated_events_total"),
					 0);
			text_free(&page);
		}
	}
}

static void beside_the_kernel_they_count_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUBJECTS; i++) {
		for (unsigned j = 0; j < 3; j++) { /* kernel first, last, last but read once */
			struct making making;
			struct etw_text page;

			begin(&making, 8);
			if (j == 0) {
				subjects[i].kernel(&making);
			}
			if (j < 2) {
				subjects[i].second(&making);
			}
			if (j > 0) {
				subjects[i].kernel(&making);
			}
			if (j == 2) {
				subjects[i].second(&making);
			}
			page = replay(&making, j == 2);
			check(&page, &subjects[i], KERNEL);
			check_none(&page, subjects[i].provider);
			assert_true(page_value(&page, "etw_consumer_repeated_events_total") >= 3);
			text_free(&page);
		}
	}
}

/* The kernel's events of one subject say nothing of another. */
static void each_subject_is_decided_by_itself(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUBJECTS; i++) {
		struct making making;
		struct etw_text page;

		begin(&making, 8);
		for (size_t j = 0; j < SUBJECTS; j++) {
			(j == i ? subjects[j].kernel : subjects[j].second)(&making);
		}
		page = replay(&making, false);
		for (size_t j = 0; j < SUBJECTS; j++) {
			check(&page, &subjects[j], j == i ? KERNEL : subjects[j].provider);
		}
		text_free(&page);
	}
}

/* The kernel's records of what exists are no events that the provider's repeat: recordings of
 * sessions without kernel events have them, too (exporter/recorder/tap.h). In a single pass they
 * decide, because the kernel's first start may come after that of the provider. */
static void what_only_exists_decides_in_a_single_pass_alone(void **state)
{
	const struct kernel_process process = {
		.id = OLD, .parent_id = SYSTEM, .image = "old.exe", .command_line = "old"
	};
	const struct kernel_thread thread = { .process_id = OLD, .id = OLD + 4 };

	(void)state;
	for (unsigned single_pass = 0; single_pass < 2; single_pass++) {
		struct making making;
		struct etw_text page;

		begin(&making, 8);
		at_next(&making);
		event_process(&making.k, OP_DC_START, &process);
		at_next(&making);
		event_thread(&making.k, OP_DC_START, &thread);
		put_provider_process(&making);
		page = replay(&making, single_pass == 1);
		if (single_pass) {
			check_none(&page, subjects[1].provider);
		} else {
			check(&page, &subjects[1], subjects[1].provider);
		}
		assert_non_null(strstr(page.data, "\netw_process_instances{process=\"old\","
						  "provider=\"Windows Kernel\"} 1\n"));
		assert_int_equal(page_value(&page, "etw_consumer_repeated_events_total") > 0,
				 single_pass);
		text_free(&page);
	}
}

static void put_provider_stop(struct making *making, uint32_t id)
{
	etw_payload_u32(&making->payload, id);
	etw_payload_zeros(&making->payload, 44); /* CreateTime … */
	etw_payload_astring(&making->payload, "old.exe");
	put(making, ETW_PROVIDER_KERNEL_PROCESS, ETW_PROCESS_EVENT_STOP);
}

/* What happens to the id OLD, one letter each: `=` and `e` the kernel's rundowns at the start and
 * at the end, which name old.exe; `k` the kernel's start of it; `+` the provider's start of new.exe
 * and `-` its stop; `.` an event of the process. */
static void put_step(struct making *making, char step)
{
	static const struct kernel_registry registry = { .name = "k" };
	const struct kernel_process process = {
		.id = OLD, .parent_id = SYSTEM, .image = "old.exe", .command_line = "old"
	};

	switch (step) {
	case '+':
		put_provider_start(making, OLD, "\\Device\\HarddiskVolume3\\bin\\new.exe");
		return;
	case '-':
		put_provider_stop(making, OLD);
		return;
	case '.':
		making->now += SECOND / 1000;
		kernel_events_at(&making->k, 0, making->now, OLD, OLD + 4);
		event_registry(&making->k, OP_REGISTRY_CLOSE, &registry);
		return;
	default:
		at_next(making);
		event_process(&making->k,
			      step == '=' ? OP_DC_START :
			      step == 'e' ? OP_DC_STOP :
					    OP_START,
			      &process);
	}
}

static void what_the_kernel_only_lists_starts_and_stops_by_the_provider(void **state)
{
	static const struct {
		const char *steps;
		unsigned old, new; /* events of each */
	} rows[] = {
		{ "=.+..", 1, 2 },   /* no event says that the former process has ended */
		{ "=.-.+..", 2, 2 }, /* one does */
		{ "=.-.", 2, 0 },    /* no other process follows */
		{ "+.e.", 0, 2 },    /* the process runs until the end */
		{ "+..-.e.", 2, 2 }, /* the rundown names the next process with the id */
		{ "=.k.+.", 3, 0 },  /* the kernel's own starts decide */
		{ "=.+.k.", 3, 0 },  /* also later ones */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *const names[] = { "old", "new" };
		const unsigned events[] = { rows[i].old, rows[i].new };
		struct making making;
		struct etw_text page;

		print_message("  %s\n", rows[i].steps);
		begin(&making, 8);
		for (const char *step = rows[i].steps; *step; step++) {
			put_step(&making, *step);
		}
		page = replay(&making, false);
		for (unsigned j = 0; j < 2; j++) {
			char line[200];

			snprintf(line, sizeof line,
				 "etw_registry_operations_total{process=\"%s\",provider=\"" KERNEL
				 "\",result=\"success\",operation=\"close\"}",
				 names[j]);
			/* Without events there is no sample. */
			assert_int_equal(page_value(&page, line),
					 events[j] > 0 ? events[j] : UINT64_MAX);
		}
		text_free(&page);
	}
}

/* The gauges that rules set for a process end with it. */
static void a_process_that_the_kernel_only_lists_ends_by_the_provider(void **state)
{
	(void)state;
	for (unsigned ends = 0; ends < 2; ends++) {
		struct etw_out_record heap = { .type = ETW_RECORD_EVENT,
					       .pointer_size = 8,
					       .process_id = OLD,
					       .thread_id = OLD + 4,
					       .id = 4, /* GCHeapStats */
					       .level = 4 };
		struct making making;
		struct etw_text page;

		begin(&making, 8);
		put_step(&making, '=');
		heap.provider = &etw_known_providers[ETW_PROVIDER_DOTNET_RUNTIME].guid;
		heap.raw_time = ++making.now;
		etw_payload_u64(&making.payload, 5000); /* GenerationSize0 */
		etw_payload_zeros(&making.payload, 96);
		etl_writer_add_payload(making.writer, &heap, &making.payload);
		etw_payload_clear(&making.payload);
		if (ends) {
			put_step(&making, '-');
		}
		page = replay(&making, false);
		assert_int_equal(page_value(&page, "etw_dotnet_gc_heap_bytes{process=\"old\","
						   "provider=\"Microsoft-Windows-DotNETRuntime\","
						   "generation=\"0\"}"),
				 ends ? 0 : 5000);
		assert_int_equal(page_value(&page, "etw_process_instances{process=\"old\","
						   "provider=\"" KERNEL "\"}"),
				 !ends);
		text_free(&page);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_each_source_feeds_the_families),
		cmocka_unit_test(beside_the_kernel_they_count_nothing),
		cmocka_unit_test(each_subject_is_decided_by_itself),
		cmocka_unit_test(what_only_exists_decides_in_a_single_pass_alone),
		cmocka_unit_test(what_the_kernel_only_lists_starts_and_stops_by_the_provider),
		cmocka_unit_test(a_process_that_the_kernel_only_lists_ends_by_the_provider),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
