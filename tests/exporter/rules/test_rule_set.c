/* SPDX-License-Identifier: MIT */
/*
 * All collectors together: what is shipped, what is on, what a file replaces. The families and
 * labels below are copied from the catalogue by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/rules/language/rule_set.h"
#include "tests/support/system.h"
#include "tests/support/temporary.h"

static const struct {
	const char *name;
	enum family_type type;
	bool on;
	const char *labels; /* in the order of the catalogue; the order does not matter */
	const char *collector;
} catalogue[] = {
	{ "etw_events_total", FAMILY_COUNTER, true, "process provider", "events" },
	{ "etw_provider_events_total", FAMILY_COUNTER, true, "provider event", "events" },
	{ "etw_process_starts_total", FAMILY_COUNTER, true, "process provider", "process" },
	{ "etw_process_exits_total", FAMILY_COUNTER, true, "process provider result", "process" },
	{ "etw_thread_starts_total", FAMILY_COUNTER, true, "process provider", "process" },
	{ "etw_file_operations_total", FAMILY_COUNTER, true, "process provider operation", "file" },
	{ "etw_file_read_bytes_total", FAMILY_COUNTER, true, "process provider volume", "file" },
	{ "etw_file_written_bytes_total", FAMILY_COUNTER, true, "process provider volume", "file" },
	{ "etw_file_filter_read_bytes_total", FAMILY_COUNTER, true, "process provider volume",
	  "file" },
	{ "etw_file_filter_written_bytes_total", FAMILY_COUNTER, true, "process provider volume",
	  "file" },
	{ "etw_file_paging_read_bytes_total", FAMILY_COUNTER, true, "process provider volume",
	  "file" },
	{ "etw_file_paging_written_bytes_total", FAMILY_COUNTER, true, "process provider volume",
	  "file" },
	{ "etw_file_operation_duration_seconds", FAMILY_HISTOGRAM, false, "operation",
	  "file_latency" },
	{ "etw_file_process_operation_duration_seconds", FAMILY_HISTOGRAM, false,
	  "process provider operation", "file_latency" },
	{ "etw_file_volume_operation_duration_seconds", FAMILY_HISTOGRAM, false, "volume operation",
	  "file_latency" },
	{ "etw_file_operation_errors_total", FAMILY_COUNTER, false,
	  "process provider operation status", "file_errors" },
	{ "etw_disk_operations_total", FAMILY_COUNTER, true, "disk operation", "disk" },
	{ "etw_disk_read_bytes_total", FAMILY_COUNTER, true, "disk", "disk" },
	{ "etw_disk_written_bytes_total", FAMILY_COUNTER, true, "disk", "disk" },
	{ "etw_disk_operation_duration_seconds", FAMILY_HISTOGRAM, true, "disk operation", "disk" },
	{ "etw_disk_process_operations_total", FAMILY_COUNTER, true,
	  "process provider disk operation", "disk" },
	{ "etw_disk_process_read_bytes_total", FAMILY_COUNTER, true, "process provider disk",
	  "disk" },
	{ "etw_disk_process_written_bytes_total", FAMILY_COUNTER, true, "process provider disk",
	  "disk" },
	{ "etw_disk_process_io_seconds_total", FAMILY_COUNTER, true, "process provider operation",
	  "disk" },
	{ "etw_network_sent_bytes_total", FAMILY_COUNTER, true, "process provider protocol",
	  "network" },
	{ "etw_network_received_bytes_total", FAMILY_COUNTER, true, "process provider protocol",
	  "network" },
	{ "etw_network_operations_total", FAMILY_COUNTER, true,
	  "process provider protocol operation", "network" },
	{ "etw_tcp_connections_total", FAMILY_COUNTER, true, "process provider direction",
	  "network" },
	{ "etw_tcp_disconnects_total", FAMILY_COUNTER, true, "process provider", "network" },
	{ "etw_tcp_retransmits_total", FAMILY_COUNTER, true, "process provider", "network" },
	{ "etw_tcp_connect_failures_total", FAMILY_COUNTER, true, "reason", "network" },
	{ "etw_memory_hard_faults_total", FAMILY_COUNTER, true, "process provider", "memory" },
	{ "etw_memory_hard_fault_read_bytes_total", FAMILY_COUNTER, true, "process provider",
	  "memory" },
	{ "etw_memory_hard_fault_duration_seconds", FAMILY_HISTOGRAM, true, "", "memory" },
	{ "etw_memory_page_faults_total", FAMILY_COUNTER, false, "process provider type",
	  "page_faults" },
	{ "etw_memory_virtual_allocated_bytes_total", FAMILY_COUNTER, false, "process provider",
	  "virtual_alloc" },
	{ "etw_memory_virtual_freed_bytes_total", FAMILY_COUNTER, false, "process provider",
	  "virtual_alloc" },
	{ "etw_process_cpu_samples_total", FAMILY_COUNTER, false, "process provider", "cpu" },
	{ "etw_process_cpu_seconds_total", FAMILY_COUNTER, false, "process provider", "sched" },
	{ "etw_thread_context_switches_total", FAMILY_COUNTER, false, "cpu", "sched" },
	{ "etw_thread_process_context_switches_total", FAMILY_COUNTER, false, "process provider",
	  "sched" },
	{ "etw_thread_process_waits_total", FAMILY_COUNTER, false, "process provider", "sched" },
	{ "etw_thread_ready_duration_seconds", FAMILY_HISTOGRAM, false, "", "sched" },
	{ "etw_thread_waits_total", FAMILY_COUNTER, false, "reason mode", "sched" },
	{ "etw_dpc_duration_seconds", FAMILY_HISTOGRAM, false, "driver", "interrupt" },
	{ "etw_isr_duration_seconds", FAMILY_HISTOGRAM, false, "driver", "interrupt" },
	{ "etw_minifilter_seconds_total", FAMILY_COUNTER, false,
	  "process provider driver operation", "minifilter" },
	{ "etw_minifilter_calls_total", FAMILY_COUNTER, false, "process provider driver operation",
	  "minifilter" },
	{ "etw_minifilter_call_duration_seconds", FAMILY_HISTOGRAM, false, "driver operation",
	  "minifilter" },
	{ "etw_minifilter_failures_total", FAMILY_COUNTER, false,
	  "process provider driver operation status", "minifilter" },
	{ "etw_registry_operations_total", FAMILY_COUNTER, false,
	  "process provider operation result", "registry" },
	{ "etw_registry_operation_duration_seconds", FAMILY_HISTOGRAM, false, "operation",
	  "registry" },
	{ "etw_image_loads_total", FAMILY_COUNTER, false, "process provider", "image" },
	{ "etw_driver_loads_total", FAMILY_COUNTER, false, "driver", "image" },
	{ "etw_file_group_operations_total", FAMILY_COUNTER, false,
	  "group process provider operation", "file_groups" },
	{ "etw_file_group_read_bytes_total", FAMILY_COUNTER, false, "group process provider",
	  "file_groups" },
	{ "etw_file_group_written_bytes_total", FAMILY_COUNTER, false, "group process provider",
	  "file_groups" },
	{ "etw_event_payload_bytes_total", FAMILY_COUNTER, false, "provider", "payload" },
	{ "etw_dns_queries_total", FAMILY_COUNTER, false, "process provider type", "dns" },
	{ "etw_dns_failures_total", FAMILY_COUNTER, false, "process provider status", "dns" },
	{ "etw_dns_domain_failures_total", FAMILY_COUNTER, false, "domain status", "dns" },
	{ "etw_dns_query_duration_seconds", FAMILY_HISTOGRAM, false, "", "dns" },
	{ "etw_dotnet_gc_collections_total", FAMILY_COUNTER, false, "process provider generation",
	  "dotnet" },
	{ "etw_dotnet_gc_pause_seconds", FAMILY_HISTOGRAM, false, "process provider", "dotnet" },
	{ "etw_dotnet_gc_heap_bytes", FAMILY_GAUGE, false, "process provider generation",
	  "dotnet" },
	{ "etw_dotnet_allocated_bytes_total", FAMILY_COUNTER, false, "process provider", "dotnet" },
	{ "etw_dotnet_exceptions_total", FAMILY_COUNTER, false, "process provider", "dotnet" },
	{ "etw_dotnet_contentions_total", FAMILY_COUNTER, false, "process provider", "dotnet" },
	{ "etw_dotnet_contention_seconds_total", FAMILY_COUNTER, false, "process provider",
	  "dotnet" },
	{ "etw_dotnet_methods_jitted_total", FAMILY_COUNTER, false, "process provider", "dotnet" },
	{ "etw_dotnet_threadpool_threads", FAMILY_GAUGE, false, "process provider", "dotnet" },
	{ "etw_dotnet_runtime_cpu_usage_ratio", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_runtime_gc_heap_size_bytes", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_runtime_gc_time_ratio", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_runtime_gc_collections_total", FAMILY_COUNTER, false,
	  "process provider generation", "dotnet_counters" },
	{ "etw_dotnet_runtime_allocated_bytes_total", FAMILY_COUNTER, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_runtime_exceptions_total", FAMILY_COUNTER, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_runtime_lock_contentions_total", FAMILY_COUNTER, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_runtime_threadpool_threads", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_runtime_threadpool_queue_length", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_runtime_threadpool_completed_items_total", FAMILY_COUNTER, false,
	  "process provider", "dotnet_counters" },
	{ "etw_dotnet_kestrel_current_connections", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_kestrel_connections_total", FAMILY_COUNTER, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_kestrel_connection_queue_length", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_kestrel_request_queue_length", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_kestrel_failed_tls_handshakes", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_hosting_current_requests", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_hosting_requests_total", FAMILY_COUNTER, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_hosting_failed_requests", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_sqlclient_open_connections", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_sqlclient_connects_total", FAMILY_COUNTER, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_sqlclient_active_connections", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_sqlclient_free_connections", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_dotnet_sqlclient_pools", FAMILY_GAUGE, false, "process provider",
	  "dotnet_counters" },
	{ "etw_http_requests_total", FAMILY_COUNTER, false, "site method code pool cache", "http" },
	{ "etw_http_request_duration_seconds", FAMILY_HISTOGRAM, false, "site cache", "http" },
	{ "etw_http_send_errors_total", FAMILY_COUNTER, false, "site", "http" },
	{ "etw_http_connections_total", FAMILY_COUNTER, false, "", "http" },
	{ "etw_tcp_process_connect_failures_total", FAMILY_COUNTER, false,
	  "process provider reason", "tcp" },
	{ "etw_tcp_connect_duration_seconds", FAMILY_HISTOGRAM, false, "", "tcp" },
	{ "etw_tcp_connection_rtt_seconds", FAMILY_HISTOGRAM, false, "process provider", "tcp" },
	{ "etw_tcp_connection_sent_bytes_total", FAMILY_COUNTER, false, "process provider", "tcp" },
	{ "etw_tcp_connection_retransmitted_bytes_total", FAMILY_COUNTER, false, "process provider",
	  "tcp" },
	{ "etw_tcp_peer_sent_bytes_total", FAMILY_COUNTER, false,
	  "process provider network port local_port", "tcp_peers" },
	{ "etw_tcp_peer_received_bytes_total", FAMILY_COUNTER, false,
	  "process provider network port local_port", "tcp_peers" },
	{ "etw_tcp_peer_connections_total", FAMILY_COUNTER, false,
	  "process provider network port local_port direction", "tcp_peers" },
	{ "etw_tcp_peer_retransmits_total", FAMILY_COUNTER, false,
	  "process provider network port local_port", "tcp_peers" },
	{ "etw_smb_server_tree_connects_total", FAMILY_COUNTER, false, "share", "smb_server" },
	{ "etw_smb_server_opens_total", FAMILY_COUNTER, false, "share", "smb_server" },
	{ "etw_smb_server_read_bytes_total", FAMILY_COUNTER, false, "share", "smb_server" },
	{ "etw_smb_server_written_bytes_total", FAMILY_COUNTER, false, "share", "smb_server" },
	{ "etw_defender_scan_duration_seconds", FAMILY_HISTOGRAM, false, "process provider",
	  "defender" },
	{ "etw_powershell_script_blocks_total", FAMILY_COUNTER, false,
	  "process owner provider level", "powershell" },
	{ "etw_storport_device_duration_seconds", FAMILY_HISTOGRAM, false, "port bus target lun",
	  "storport" },
	{ "etw_storport_request_duration_seconds", FAMILY_HISTOGRAM, false, "port bus target lun",
	  "storport" },
};

enum { CATALOGUE_SIZE = sizeof catalogue / sizeof catalogue[0] };

static struct registry *registry;
static struct config *config;

static int set_up(void **state)
{
	struct etw_error err;

	(void)state;
	registry = registry_new(&(struct registry_limits){ 0 }, &err);
	config = config_default(&err);
	return registry && config ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	config_free(config);
	registry_free(registry);
	return 0;
}

/* From now on the configuration is an empty file, without errors so far. */
static void use_empty_file(char path[TEMPORARY_PATH_SIZE])
{
	struct etw_error err = { 0 };

	temporary_path(path, "yaml");
	temporary_write(path, "", 0);
	config_free(config);
	config = config_load(path, NULL, &err);
	assert_string_equal(err.text, "");
	remove(path);
}

/* That the error is "path:sentence". */
static void assert_error_of(const struct etw_error *err, const char *path, const char *sentence)
{
	assert_memory_equal(err->text, path, strlen(path));
	assert_memory_equal(err->text + strlen(path), sentence, strlen(sentence));
}

static struct rule_set *every_collector(void)
{
	const struct rule_set_options options = { .config = config, .every_collector = true };
	struct etw_error err = { 0 };
	struct rule_set *set = rule_set_new(&options, registry, &err);

	assert_string_equal(err.text, "");
	return set;
}

static bool has_label(const struct declared_family *family, const char *name, size_t size)
{
	for (size_t i = 0; i < family->label_count; i++) {
		if (strlen(family->labels[i]) == size &&
		    memcmp(family->labels[i], name, size) == 0) {
			return true;
		}
	}
	return false;
}

static void families_are_those_of_the_catalogue(void **state)
{
	struct rule_set *set = every_collector();

	(void)state;
	assert_int_equal(set->family_count, CATALOGUE_SIZE);
	for (size_t i = 0; i < CATALOGUE_SIZE; i++) {
		const struct declared_family *family = rule_set_find_family(set, catalogue[i].name);
		size_t count = 0;

		if (!family) {
			fail_msg("no family %s", catalogue[i].name);
			return;
		}
		assert_int_equal(family->metric->type, catalogue[i].type);
		assert_string_equal(family->collector->name, catalogue[i].collector);
		assert_int_equal(family->collector->default_on, catalogue[i].on);
		for (const char *at = catalogue[i].labels; *at != '\0'; count++) {
			size_t size = strcspn(at, " ");

			if (!has_label(family, at, size)) {
				fail_msg("%s has no label %.*s", catalogue[i].name, (int)size, at);
			}
			at += size + (at[size] == ' ');
		}
		assert_int_equal(family->label_count, count);
		assert_non_null(family->family);
	}
	rule_set_free(set);
}

/* `provider` stands beside `process` wherever that stands, and is the provider's. */
static void process_never_appears_without_provider(void **state)
{
	struct rule_set *set = every_collector();

	(void)state;
	for (size_t i = 0; i < set->rule_count; i++) {
		const struct rule *rule = set->rules[i].rule;
		bool process = false, provider = false;

		for (size_t j = 0; j < rule->label_count; j++) {
			process |= strcmp(rule->labels[j].name, "process") == 0;
			provider |= strcmp(rule->labels[j].name, "provider") == 0 &&
				    field_has_role(&rule->labels[j].field, ROLE_PROVIDER);
		}
		assert_true(!process || provider);
	}
	rule_set_free(set);
}

/* Rundown describes what exists: only `*` counts it. */
static void rundown_is_counted_by_no_rule_of_its_own(void **state)
{
	static const char *const rundown[] = { "DCStart", "DCStop", "Rundown" };
	struct rule_set *set = every_collector();

	(void)state;
	for (size_t i = 0; i < set->rule_count; i++) {
		const struct rule *rule = set->rules[i].rule;

		assert_false(rule->event.scope == EVENTS_KERNEL && rule->event.every);
		for (size_t j = 0; j < sizeof rundown / sizeof rundown[0]; j++) {
			assert_null(strstr(rule->event_at->text, rundown[j]));
		}
	}
	rule_set_free(set);
}

static void labels_that_events_decide_are_open(void **state)
{
	static const struct {
		const char *family;
		const char *open;
	} cases[] = {
		{ "etw_events_total", "process" },
		{ "etw_provider_events_total", "event" },
		{ "etw_disk_process_operations_total", "process disk" },
		{ "etw_tcp_connect_failures_total", "" },
		{ "etw_registry_operations_total", "process" },
		{ "etw_driver_loads_total", "driver" },
		{ "etw_file_operation_errors_total", "process status" },
	};
	struct rule_set *set = every_collector();

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct declared_family *family = rule_set_find_family(set, cases[i].family);
		char open[128] = "";

		for (size_t j = 0; j < family->label_count; j++) {
			if ((family->dynamic_labels >> j & 1) != 0) {
				snprintf(open + strlen(open), sizeof open - strlen(open), "%s%s",
					 *open ? " " : "", family->labels[j]);
			}
		}
		assert_string_equal(open, cases[i].open);
	}
	rule_set_free(set);
}

static struct rule_set *make(const char *const *switches, bool disable_defaults,
			     struct etw_error *err)
{
	struct config_switch list[8];
	struct rule_set_options options = { .config = config,
					    .switches = list,
					    .disable_defaults = disable_defaults };
	static char names[8][64];

	for (; switches && switches[options.switch_count]; options.switch_count++) {
		const char *name = switches[options.switch_count];
		char *copy = names[options.switch_count];

		snprintf(copy, sizeof names[0], "%s", name + 1);
		list[options.switch_count] =
			(struct config_switch){ .collector = copy, .on = name[0] == '+' };
	}
	*err = (struct etw_error){ 0 };
	return rule_set_new(&options, registry, err);
}

/* The rule set with these collectors, with skip_off or without it. */
static struct rule_set *with_collectors(bool skip_off, const char *only)
{
	char name[64] = "";
	struct config_switch one = { .collector = name, .on = true };
	const struct rule_set_options options = { .config = config,
						  .switches = &one,
						  .switch_count = only != NULL,
						  .disable_defaults = only != NULL,
						  .skip_off = skip_off };
	struct etw_error err = { 0 };
	struct rule_set *set;

	snprintf(name, sizeof name, "%s", only ? only : "");
	set = rule_set_new(&options, registry, &err);
	assert_string_equal(err.text, "");
	return set;
}

/* Returns the number of collectors that are off and have their metrics all the same. */
static size_t read_though_off(bool skip_off)
{
	struct rule_set *set = with_collectors(skip_off, NULL);
	size_t count = 0;

	for (size_t i = 0; i < set->collector_count; i++) {
		count += !set->infos[i].on && set->collectors[i]->metric_count > 0;
	}
	rule_set_free(set);
	return count;
}

static void shipped_collectors_that_are_off_are_skipped_if_nothing_may_depend_on_them(void **state)
{
	static const char mine[] = "collector: mine\nhelp: mine\ndefault: on\nmetrics: []\n";
	enum config_label label = CONFIG_LABEL_OWNER;
	char dir[] = "recordings", folder[TEMPORARY_PATH_SIZE], path[TEMPORARY_PATH_SIZE + 16];
	char *paths[] = { path };
	size_t all = read_though_off(false);

	(void)state;
	assert_true(all > 10);
	assert_int_equal(read_though_off(true), 0);
	config->recorder.dir = dir;
	assert_int_equal(read_though_off(true), all);
	config->recorder.dir = NULL;
	temporary_path(folder, "folder");
	assert_true(system_make_folder(folder));
	snprintf(path, sizeof path, "%s/mine.yaml", folder);
	temporary_write(path, mine, sizeof mine - 1);
	config->collector_files.paths = paths;
	config->collector_files.count = 1;
	assert_int_equal(read_though_off(true), all);
	config->collector_files.paths = NULL;
	config->collector_files.count = 0;
	remove(path);
	assert_true(system_remove_folder(folder));
	/* Families with these labels are not those that the registry has. */
	registry_free(registry);
	registry = registry_new(&(struct registry_limits){ 0 }, NULL);
	config->labels = &label;
	config->label_count = 1;
	assert_int_equal(read_though_off(true), all);
	config->label_count = 0;
	config->labels = NULL;
}

static void assert_same_family(const struct declared_family *a, const struct declared_family *b)
{
	assert_int_equal(a->label_count, b->label_count);
	assert_int_equal(a->dynamic_labels, b->dynamic_labels);
	assert_int_equal(a->has_provider, b->has_provider);
	for (size_t i = 0; i < a->label_count; i++) {
		assert_string_equal(a->labels[i], b->labels[i]);
	}
}

/* Asserts that the sets have the same collectors, and the same families of those that are on. */
static void assert_same_set(const struct rule_set *a, const struct rule_set *b)
{
	assert_int_equal(a->collector_count, b->collector_count);
	for (size_t i = 0; i < a->collector_count; i++) {
		assert_string_equal(a->infos[i].name, b->infos[i].name);
		assert_string_equal(a->infos[i].help, b->infos[i].help);
		assert_int_equal(a->infos[i].default_on, b->infos[i].default_on);
		assert_int_equal(a->infos[i].on, b->infos[i].on);
		assert_int_equal(a->collectors[i]->provider_count,
				 b->collectors[i]->provider_count);
		assert_int_equal(a->collectors[i]->substitute_count,
				 b->collectors[i]->substitute_count);
	}
	assert_int_equal(a->rule_count, b->rule_count);
	assert_int_equal(a->span_count, b->span_count);
	assert_int_equal(a->features, b->features);
	assert_int_equal(rule_set_kernel_flags(a), rule_set_kernel_flags(b));
	for (size_t i = 0; i < a->rule_count; i++) {
		assert_string_equal(a->rules[i].declared->metric->name,
				    b->rules[i].declared->metric->name);
		assert_same_family(a->rules[i].declared, b->rules[i].declared);
	}
}

static void what_a_collector_counts_does_not_depend_on_those_that_are_off(void **state)
{
	(void)state;
	for (size_t i = 0; i < builtin_collector_count; i++) {
		struct rule_set *all = with_collectors(false, builtin_collectors[i].name);
		struct rule_set *skipped = with_collectors(true, builtin_collectors[i].name);

		assert_same_set(all, skipped);
		rule_set_free(skipped);
		rule_set_free(all);
	}
}

static void a_caller_can_add_a_collector_of_its_own(void **state)
{
	static const char text[] = "collector: mine\n"
				   "help: Processes that started.\n"
				   "default: on\n"
				   "metrics:\n"
				   "  - name: my_process_starts_total\n"
				   "    type: counter\n"
				   "    help: Processes that started.\n"
				   "    events: [{ event: Process/Start }]\n";
	const struct builtin_file file = { "mine", text, sizeof text - 1 };
	struct rule_set_options options = {
		.config = config,
		.disable_defaults = true,
		.switches = (const struct config_switch[]){ { .collector = (char[]){ "mine" },
							      .on = true } },
		.switch_count = 1,
		.collectors = &file,
		.collector_count = 1
	};
	struct etw_error err = { 0 };
	struct rule_set *set = rule_set_new(&options, registry, &err);

	(void)state;
	assert_string_equal(err.text, "");
	assert_true(rule_set_on(set, "mine"));
	assert_non_null(rule_set_find_family(set, "my_process_starts_total"));
	rule_set_free(set);

	options.collectors = &(struct builtin_file){ "disk", text, sizeof text - 1 };
	assert_null(rule_set_new(&options, registry, &err));
	assert_non_null(strstr(err.text, "disk.yaml:1:12"));
}

/* The names of what is on, each followed by a blank. */
static void assert_on(const char *const *switches, bool disable_defaults, const char *expected)
{
	struct etw_error err;
	struct rule_set *set = make(switches, disable_defaults, &err);
	const struct collector_info *info;
	char on[512] = "";

	assert_non_null(set);
	for (size_t i = 0; (info = rule_set_collector(set, i)) != NULL; i++) {
		assert_int_equal(rule_set_on(set, info->name), info->on);
		if (info->on) {
			snprintf(on + strlen(on), sizeof on - strlen(on), "%s ", info->name);
		}
	}
	assert_string_equal(on, expected);
	assert_false(rule_set_on(set, "none"));
	rule_set_free(set);
}

static void the_command_line_wins_over_the_configuration(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const some[] = { "+cpu", "-disk", NULL };
	static const char *const last_wins[] = { "+disk", "-disk", "-cpu", "+cpu", NULL };
	struct config_switch switches[2];
	char cpu[] = "cpu", disk[] = "disk";

	(void)state;
	assert_on(none, false, "disk events file memory network process process_memory ");
	assert_on(some, false, "cpu events file memory network process process_memory ");
	assert_on(last_wins, false, "cpu events file memory network process process_memory ");
	assert_on(none, true, "");
	assert_on(some, true, "cpu ");
	switches[0] = (struct config_switch){ .collector = cpu, .on = true, .line = 1 };
	switches[1] = (struct config_switch){ .collector = disk, .on = false, .line = 1 };
	config->switches = switches;
	config->switch_count = 2;
	assert_on(none, false, "cpu events file memory network process process_memory ");
	assert_on(last_wins, false, "cpu events file memory network process process_memory ");
	assert_on(none, true, "cpu ");
	config->switches = NULL;
	config->switch_count = 0;
}

static void an_unknown_collector_is_refused_and_the_known_are_named(void **state)
{
	static const char *const typo[] = { "+dsik", NULL };
	char name[] = "zebra", path[TEMPORARY_PATH_SIZE];
	struct config_switch at = { .collector = name, .on = true, .line = 3, .column = 5 };
	struct etw_error err;

	(void)state;
	assert_null(make(typo, false, &err));
	assert_string_equal(
		err.text,
		"unknown collector 'dsik'; did you mean 'disk'? known: cpu, defender, disk, disk_cause, dns, dotnet, dotnet_counters, events, file, "
		"file_errors, file_groups, file_latency, file_other, file_top, http, image, interrupt, memory, minifilter, network, "
		"page_faults, payload, powershell, process, process_info, process_memory, registry, sched, smb_server, storport, tcp, tcp_peers, virtual_alloc");
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
	use_empty_file(path);
	config->switches = &at;
	config->switch_count = 1;
	assert_null(make(NULL, false, &err));
	assert_error_of(&err, path, ":3:5: unknown collector 'zebra'; known: cpu, defender,");
	config->switches = NULL;
	config->switch_count = 0;
}

static void a_file_takes_the_place_of_the_shipped_collector(void **state)
{
	static const char mine[] =
		"collector: disk\nhelp: mine\ndefault: on\nmetrics:\n"
		"- { name: my_reads_total, type: counter, help: h, events: [{ event: DiskIo/Read }] }\n";
	static const char bad[] = "collector: disk\nhelp: mine\ndefault: on\nmetric: []\n";
	char folder[TEMPORARY_PATH_SIZE], path[TEMPORARY_PATH_SIZE + 16];
	char *paths[] = { path };
	struct rule_set *set;
	struct etw_error err;

	(void)state;
	temporary_path(folder, "folder");
	assert_true(system_make_folder(folder));
	snprintf(path, sizeof path, "%s/disk.yaml", folder);
	temporary_write(path, mine, sizeof mine - 1);
	config->collector_files.paths = paths;
	config->collector_files.count = 1;
	set = make(NULL, false, &err);
	assert_non_null(set);
	assert_null(rule_set_find_family(set, "etw_disk_operations_total"));
	assert_non_null(rule_set_find_family(set, "my_reads_total"));
	assert_string_equal(rule_set_collector(set, 2)->name, "disk");
	assert_string_equal(rule_set_collector(set, 2)->help, "mine");
	rule_set_free(set);

	temporary_write(path, bad, sizeof bad - 1);
	assert_null(make(NULL, false, &err));
	assert_memory_equal(err.text, path, strlen(path));
	assert_string_equal(err.text + strlen(path),
			    ":4:1: unknown key 'metric'; did you mean 'metrics'?");
	remove(path);
	assert_null(make(NULL, false, &err));
	assert_memory_equal(err.text, path, strlen(path));
	config->collector_files.paths = NULL;
	config->collector_files.count = 0;
	assert_true(system_remove_folder(folder));
}

/*
 * Two files of own collectors, in two folders, of which the second is refused. The sentence ends
 * with the name of the first one and `behind` it; NULL: without it.
 */
static void assert_second_refused(const char *const names[2], const char *const texts[2],
				  const char *sentence, const char *behind)
{
	char folder[TEMPORARY_PATH_SIZE], inner[TEMPORARY_PATH_SIZE + 8];
	char files[2][TEMPORARY_PATH_SIZE + 32], expected[512];
	char *paths[] = { files[0], files[1] };
	char empty[TEMPORARY_PATH_SIZE];
	struct etw_error err = { 0 };

	use_empty_file(empty);
	temporary_path(folder, "folder");
	snprintf(inner, sizeof inner, "%s/inner", folder);
	assert_true(system_make_folder(folder) && system_make_folder(inner));
	snprintf(files[0], sizeof files[0], "%s/%s", folder, names[0]);
	snprintf(files[1], sizeof files[1], "%s/%s", inner, names[1]);
	for (unsigned i = 0; i < 2; i++) {
		temporary_write(files[i], texts[i], strlen(texts[i]));
	}
	config->collector_files.paths = paths;
	config->collector_files.count = 2;
	assert_null(make(NULL, false, &err));
	config->collector_files.paths = NULL;
	config->collector_files.count = 0;
	snprintf(expected, sizeof expected, "%s:%s%s%s", files[1], sentence, behind ? files[0] : "",
		 behind ? behind : "");
	assert_string_equal(err.text, expected);
	assert_int_equal(err.code, ETW_ERROR_CONFIG);
	assert_true(remove(files[0]) == 0 && remove(files[1]) == 0);
	assert_true(system_remove_folder(inner) && system_remove_folder(folder));
}

#define COUNTER(name, family, help)                                            \
	"collector: " name "\nhelp: h\ndefault: on\nmetrics:\n- name: " family \
	"\n  type: counter\n  help: " help                                     \
	"\n  labels: { a: Cpu }\n  events:\n  - { event: DiskIo/Read }\n"

static void what_two_files_define_differently_is_refused(void **state)
{
	static const char *const same[] = { "my.yaml", "my.yaml" };
	static const char *const other[] = { "my.yaml", "other.yaml" };
	static const char mine[] = COUNTER("my", "my_reads_total", "h");

	(void)state;
	assert_second_refused(same, (const char *[]){ mine, mine },
			      "1:12: collector 'my' is already defined in ", "");
	assert_second_refused(other,
			      (const char *[]){ mine, COUNTER("other", "my_reads_total", "x") },
			      "5:9: 'my_reads_total' has another help than in ", ":5");
	assert_second_refused(
		other, (const char *[]){ mine, COUNTER("other", "etw_disk_operations_total", "h") },
		"5:9: 'etw_disk_operations_total' is already a family of the shipped "
		"collector 'disk', with another help",
		NULL);
	/* The shipped family has the labels disk and operation. */
	assert_second_refused(
		other,
		(const char *[]){ mine, COUNTER("other", "etw_disk_operations_total",
						"Completed requests to physical disks, by disk and "
						"operation.") },
		"10:5: 'etw_disk_operations_total' has 1 labels here, 2 in the shipped collector "
		"'disk'",
		NULL);
}

static void filters_that_cannot_be_read_are_refused_at_their_place(void **state)
{
	char bad[] = "(a", event[] = "FileIo/Raed", path[TEMPORARY_PATH_SIZE];
	struct config_pattern pattern = { .text = bad, .line = 7, .column = 3 };
	struct config_event_filter filter = { .event = event, .line = 8, .column = 4 };
	struct etw_error err;

	(void)state;
	use_empty_file(path);
	config->exclude_processes = &pattern;
	config->exclude_process_count = 1;
	assert_null(make(NULL, false, &err));
	assert_error_of(
		&err, path,
		":7:3: regular expression '(a': missing closing parenthesis at character 3");
	config->exclude_processes = NULL;
	config->exclude_process_count = 0;
	use_empty_file(path);
	config->dropped_events = &filter;
	config->dropped_event_count = 1;
	assert_null(make(NULL, false, &err));
	assert_error_of(&err, path,
			":8:4: unknown event 'FileIo/Raed'; did you mean 'FileIo/Read'?");
	config->dropped_events = NULL;
	config->dropped_event_count = 0;
}

static void what_rules_ask_for_is_tracked(void **state)
{
	static const struct {
		const char *collector;
		uint32_t features;
	} cases[] = {
		{ "+events", 0 },
		{ "+file", TRACK_FILES | TRACK_SOURCES },
		{ "+file_latency", TRACK_REQUESTS | TRACK_FILES | TRACK_SOURCES },
		{ "+interrupt", TRACK_DRIVERS },
		{ "+minifilter", TRACK_DRIVERS },
		{ "+sched", TRACK_SCHEDULER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *const switches[] = { cases[i].collector, NULL };
		struct etw_error err;
		struct rule_set *set = make(switches, true, &err);

		assert_non_null(set);
		assert_int_equal(rule_set_features(set), cases[i].features);
		rule_set_free(set);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(families_are_those_of_the_catalogue, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(process_never_appears_without_provider, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rundown_is_counted_by_no_rule_of_its_own, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(labels_that_events_decide_are_open, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_command_line_wins_over_the_configuration,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_unknown_collector_is_refused_and_the_known_are_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_takes_the_place_of_the_shipped_collector,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_two_files_define_differently_is_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			filters_that_cannot_be_read_are_refused_at_their_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			shipped_collectors_that_are_off_are_skipped_if_nothing_may_depend_on_them,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_a_collector_counts_does_not_depend_on_those_that_are_off, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_caller_can_add_a_collector_of_its_own, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_rules_ask_for_is_tracked, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("rule_set", tests, NULL, NULL);
}
