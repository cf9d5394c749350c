/* SPDX-License-Identifier: MIT */
/*
 * The collector dotnet_counters as it ships, on events that are made as .NET writes them.
 *
 * Source of the layouts: dotnet/runtime, CounterPayload.cs, PollingCounter.cs,
 * IncrementingPollingCounter.cs and the folder TraceLogging beside them. No such event of a real
 * Windows was seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rule_run.h"

/* In-types of TraceLogging: 1 text in UTF-16, 7 int, 11 float, 12 double; 24 with 0x80: a structure
 * of so many fields. */
static const char mean_fields[] = "\0\0\0EventCounters\0Payload\0\x98\x0c"
				  "Name\0\x01"
				  "DisplayName\0\x01"
				  "Mean\0\x0c"
				  "StandardDeviation\0\x0c"
				  "Count\0\x07"
				  "Min\0\x0c"
				  "Max\0\x0c"
				  "IntervalSec\0\x0b"
				  "Series\0\x01"
				  "CounterType\0\x01"
				  "Metadata\0\x01"
				  "DisplayUnits\0\x01";
static const char increment_fields[] = "\0\0\0EventCounters\0Payload\0\x98\x09"
				       "Name\0\x01"
				       "DisplayName\0\x01"
				       "DisplayRateTimeScale\0\x01"
				       "Increment\0\x0c"
				       "IntervalSec\0\x0b"
				       "Metadata\0\x01"
				       "Series\0\x01"
				       "CounterType\0\x01"
				       "DisplayUnits\0\x01";

static void put_double(struct etw_payload *payload, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	etw_payload_u64(payload, bits);
}

static void put_float(struct etw_payload *payload, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	etw_payload_u32(payload, bits);
}

/* Appends an extended item. Its data begin with their own size, which is set here. */
static size_t add_item(uint8_t *items, size_t at, uint8_t type, const char *data, size_t size,
		       bool last)
{
	size_t stride = (8 + size + 7) / 8 * 8;
	uint8_t *item = items + at;

	item[0] = (uint8_t)stride;
	item[1] = (uint8_t)(stride >> 8);
	item[2] = type;
	item[4] = !last;
	item[6] = (uint8_t)size;
	item[7] = (uint8_t)(size >> 8);
	memcpy(item + 8, data, size);
	item[8] = (uint8_t)size;
	item[9] = (uint8_t)(size >> 8);
	return at + stride;
}

/* Feeds an event of a provider with these metadata. */
static void feed(struct rule_run *run, const char *provider, const char *metadata, size_t size)
{
	uint8_t items[512] = { 0 };
	char traits[64] = { 0 };
	size_t end;

	strcpy(traits + 2, provider);
	end = add_item(items, 0, ETW_EXTENDED_PROVIDER_TRAITS, traits, strlen(provider) + 3, false);
	end = add_item(items, end, ETW_EXTENDED_TRACELOGGING, metadata, size, true);
	assert_true(end <= sizeof items);
	run->record.channel = 11;
	run->record.level = 0;
	run->record.extended = items;
	run->record.extended_size = (uint32_t)end;
	assert_int_equal(rule_run_feed(run), OUTCOME_COUNTED);
	run->record.extended = NULL;
	run->record.extended_size = 0;
}

/* A provider: its name, and the GUID that is the hash of it. */
struct source {
	const char *name, *guid;
};

static const struct source runtime = { "System.Runtime", "49592c0f-5a05-516d-aa4b-a64e02026c89" };
static const struct source kestrel = { "Microsoft-AspNetCore-Server-Kestrel",
				       "bdeb4676-a36e-5442-db99-4764e2326c7d" };
static const struct source hosting = { "Microsoft.AspNetCore.Hosting",
				       "9ded64a4-414c-5251-dcf7-1e4e20c15e70" };
static const struct source sqlclient = { "Microsoft.Data.SqlClient.EventSource",
					 "e3c521e2-1562-564b-875d-e75317d3aef3" };

static void mean(struct rule_run *run, const struct source *source, uint32_t process,
		 const char *name, double value)
{
	rule_run_other(run, source->guid, 0);
	run->record.process_id = process;
	etw_payload_wstring(&run->payload, name);
	etw_payload_wstring(&run->payload, "Shown");
	put_double(&run->payload, value);
	put_double(&run->payload, 0);
	etw_payload_u32(&run->payload, 1);
	put_double(&run->payload, value);
	put_double(&run->payload, value);
	put_float(&run->payload, 10.0F);
	etw_payload_wstring(&run->payload, "Interval=10000");
	etw_payload_wstring(&run->payload, "Mean");
	etw_payload_wstring(&run->payload, "");
	etw_payload_wstring(&run->payload, "%");
	feed(run, source->name, mean_fields, sizeof mean_fields - 1);
}

static void increment(struct rule_run *run, const struct source *source, uint32_t process,
		      const char *name, double value)
{
	rule_run_other(run, source->guid, 0);
	run->record.process_id = process;
	etw_payload_wstring(&run->payload, name);
	etw_payload_wstring(&run->payload, "Shown");
	etw_payload_wstring(&run->payload, "00:00:01");
	put_double(&run->payload, value);
	put_float(&run->payload, 10.0F);
	etw_payload_wstring(&run->payload, "");
	etw_payload_wstring(&run->payload, "Interval=10000");
	etw_payload_wstring(&run->payload, "Sum");
	etw_payload_wstring(&run->payload, "B");
	feed(run, source->name, increment_fields, sizeof increment_fields - 1);
}

static void every_counter_has_its_family(void **state)
{
	static const struct {
		const struct source *source;
		const char *counter;
		bool increments;
		double value;
		const char *family, *end; /* of the line of the process "shop" */
	} cases[] = {
		{ &runtime, "cpu-usage", false, 12.5, "runtime_cpu_usage_ratio", "} 0.125" },
		{ &runtime, "gc-heap-size", false, 34, "runtime_gc_heap_size_bytes", "} 34000000" },
		{ &runtime, "time-in-gc", false, 3, "runtime_gc_time_ratio", "} 0.03" },
		{ &runtime, "gen-0-gc-count", true, 4, "runtime_gc_collections_total",
		  ",generation=\"0\"} 4" },
		{ &runtime, "gen-1-gc-count", true, 3, "runtime_gc_collections_total",
		  ",generation=\"1\"} 3" },
		{ &runtime, "gen-2-gc-count", true, 2, "runtime_gc_collections_total",
		  ",generation=\"2\"} 2" },
		{ &runtime, "alloc-rate", true, 8168, "runtime_allocated_bytes_total", "} 8168" },
		{ &runtime, "exception-count", true, 5, "runtime_exceptions_total", "} 5" },
		{ &runtime, "monitor-lock-contention-count", true, 6,
		  "runtime_lock_contentions_total", "} 6" },
		{ &runtime, "threadpool-thread-count", false, 7, "runtime_threadpool_threads",
		  "} 7" },
		{ &runtime, "threadpool-queue-length", false, 8, "runtime_threadpool_queue_length",
		  "} 8" },
		{ &runtime, "threadpool-completed-items-count", true, 9,
		  "runtime_threadpool_completed_items_total", "} 9" },
		{ &kestrel, "current-connections", false, 10, "kestrel_current_connections",
		  "} 10" },
		{ &kestrel, "connections-per-second", true, 11, "kestrel_connections_total",
		  "} 11" },
		{ &kestrel, "connection-queue-length", false, 12, "kestrel_connection_queue_length",
		  "} 12" },
		{ &kestrel, "request-queue-length", false, 13, "kestrel_request_queue_length",
		  "} 13" },
		{ &kestrel, "failed-tls-handshakes", false, 14, "kestrel_failed_tls_handshakes",
		  "} 14" },
		{ &hosting, "current-requests", false, 15, "hosting_current_requests", "} 15" },
		{ &hosting, "requests-per-second", true, 16, "hosting_requests_total", "} 16" },
		{ &hosting, "failed-requests", false, 17, "hosting_failed_requests", "} 17" },
		{ &sqlclient, "active-hard-connections", false, 18, "sqlclient_open_connections",
		  "} 18" },
		{ &sqlclient, "hard-connects", true, 19, "sqlclient_connects_total", "} 19" },
		{ &sqlclient, "number-of-active-connections", false, 20,
		  "sqlclient_active_connections", "} 20" },
		{ &sqlclient, "number-of-free-connections", false, 21, "sqlclient_free_connections",
		  "} 21" },
		{ &sqlclient, "number-of-active-connection-pools", false, 22, "sqlclient_pools",
		  "} 22" },
	};
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "dotnet_counters");
	rule_run_process(&run, "Process/Start", 100, "shop.exe", 259);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char line[256];

		(cases[i].increments ? increment : mean)(&run, cases[i].source, 100,
							 cases[i].counter, cases[i].value);
		snprintf(line, sizeof line, "etw_dotnet_%s{process=\"shop\",provider=\"%s\"%s",
			 cases[i].family, cases[i].source->name, cases[i].end);
		rule_run_expect(&run, line);
	}
	/* Neither layout is a mismatch for the rules about the other one. */
	rule_run_expect_none(&run, "etw_decode_errors_total");
	rule_run_close(&run);
}

/* A gauge is what the processes of one name have now, a counter what they have added. */
static void processes_of_one_name_add_up_until_they_end(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open_shipped(&run, "dotnet_counters");
	for (uint32_t id = 100; id < 102; id++) {
		rule_run_process(&run, "Process/Start", id, "shop.exe", 259);
		mean(&run, &runtime, id, "cpu-usage", id == 100 ? 0.3 : 0.04);
		increment(&run, &runtime, id, "exception-count", 2);
	}
	rule_run_expect(
		&run,
		"etw_dotnet_runtime_cpu_usage_ratio{process=\"shop\",provider=\"System.Runtime\"} 0.0034");
	mean(&run, &runtime, 100, "cpu-usage", 1.25);
	increment(&run, &runtime, 100, "exception-count", 3);
	rule_run_expect(
		&run,
		"etw_dotnet_runtime_cpu_usage_ratio{process=\"shop\",provider=\"System.Runtime\"} 0.0129");
	rule_run_expect(
		&run,
		"etw_dotnet_runtime_exceptions_total{process=\"shop\",provider=\"System.Runtime\"} 7");
	rule_run_process(&run, "Process/Stop", 100, "shop.exe", 0);
	rule_run_expect(
		&run,
		"etw_dotnet_runtime_cpu_usage_ratio{process=\"shop\",provider=\"System.Runtime\"} 0.0004");
	rule_run_expect(
		&run,
		"etw_dotnet_runtime_exceptions_total{process=\"shop\",provider=\"System.Runtime\"} 7");
	rule_run_close(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_counter_has_its_family),
		cmocka_unit_test(processes_of_one_name_add_up_until_they_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
