/* SPDX-License-Identifier: MIT */
/* What the collectors that are on need of a live session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/kernel.h>

#include "exporter/rules/rules.h"
#include "lib/source/provider_names.h"

static uint32_t flags_with(const char *collector, bool defaults)
{
	char name[32] = "";
	const struct config_switch on = { .collector = name, .on = true };
	struct config *config = config_default(NULL);
	struct registry *registry = registry_new(NULL, NULL);
	const struct rule_set_options options = { .config = config,
						  .switches = &on,
						  .switch_count = collector ? 1 : 0,
						  .disable_defaults = !defaults };
	struct rule_set *set;
	uint32_t flags;

	strcpy(name, collector ? collector : "");
	set = rule_set_new(&options, registry, NULL);
	assert_non_null(set);
	flags = rule_set_kernel_flags(set);
	assert_null(rule_set_provider(set, 0));
	rule_set_free(set);
	registry_free(registry);
	config_free(config);
	return flags;
}

static void kernel_flags_are_those_of_the_collectors_that_are_on(void **state)
{
	const uint32_t by_process = ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_THREAD;
	const uint32_t defaults = by_process | ETW_KERNEL_FLAG_FILE_IO_INIT |
				  ETW_KERNEL_FLAG_DISK_FILE_IO | ETW_KERNEL_FLAG_DISK_IO |
				  ETW_KERNEL_FLAG_NETWORK_TCPIP |
				  ETW_KERNEL_FLAG_MEMORY_HARD_FAULTS;

	(void)state;
	assert_int_equal(flags_with(NULL, false), 0);
	assert_int_equal(flags_with(NULL, true), defaults);
	assert_int_equal(flags_with("cpu", true), defaults | ETW_KERNEL_FLAG_PROFILE);
	assert_int_equal(flags_with("disk", false), by_process | ETW_KERNEL_FLAG_DISK_IO);
}

static void derived_fields_bring_their_flags(void **state)
{
	const uint32_t by_process = ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_THREAD;

	(void)state;
	assert_int_equal(flags_with("sched", false),
			 by_process | ETW_KERNEL_FLAG_CSWITCH | ETW_KERNEL_FLAG_DISPATCHER);
	assert_int_equal(flags_with("interrupt", false), by_process | ETW_KERNEL_FLAG_DPC |
								 ETW_KERNEL_FLAG_INTERRUPT |
								 ETW_KERNEL_FLAG_IMAGE_LOAD);
}

/* The flags that a collector with one family and these events adds, and its groups. */
static uint32_t flags_of_events(const char *needs, const char *events, uint32_t *groups)
{
	char text[1024], name[] = "mine";
	const struct config_switch on = { .collector = name, .on = true };
	struct builtin_file file = { .name = "mine", .text = text };
	struct config *config = config_default(NULL);
	struct registry *registry = registry_new(NULL, NULL);
	const struct rule_set_options options = { .config = config,
						  .disable_defaults = true,
						  .switches = &on,
						  .switch_count = 1,
						  .collectors = &file,
						  .collector_count = 1 };
	struct etw_error err = { 0 };
	struct rule_set *set;
	uint32_t flags;

	file.size = (size_t)snprintf(
		text, sizeof text,
		"collector: mine\nhelp: Mine.\ndefault: on\n%smetrics:\n"
		"  - { name: mine_total, type: counter, help: M., labels: { provider: Provider }, events: [%s] }\n",
		needs, events);
	set = rule_set_new(&options, registry, &err);
	assert_string_equal(err.text, "");
	assert_non_null(set);
	flags = rule_set_kernel_flags(set);
	*groups = rule_set_kernel_groups(set);
	rule_set_free(set);
	registry_free(registry);
	config_free(config);
	return flags & ~(uint32_t)(ETW_KERNEL_FLAG_PROCESS | ETW_KERNEL_FLAG_THREAD);
}

static void events_bring_the_flags_that_enable_them(void **state)
{
	const uint32_t calls = 1U << ETW_KERNEL_GROUP_FLT_IO,
		       fast = 1U << ETW_KERNEL_GROUP_FLT_FASTIO;
	uint32_t groups;

	(void)state;
	assert_int_equal(flags_of_events("", "{ event: Registry/Create }, { event: DiskIo/Read }",
					 &groups),
			 ETW_KERNEL_FLAG_REGISTRY | ETW_KERNEL_FLAG_DISK_IO);
	assert_int_equal(groups, 0);
	assert_int_equal(flags_of_events("", "{ event: Thread/CSwitch }", &groups),
			 ETW_KERNEL_FLAG_CSWITCH);
	/* By names of groups in winsiderss/phnt, ntwmi.h: no flag brings priorities. */
	assert_int_equal(flags_of_events("",
					 "{ event: Thread/SetPriority }, { event: "
					 "Thread/SetIoPriority }",
					 &groups),
			 0);
	assert_int_equal(groups, 1U << ETW_KERNEL_GROUP_PRIORITY);
	/* Both ends of a pair. */
	assert_int_equal(
		flags_of_events("",
				"{ event: FileIo/OperationEnd, pair: { start: FileIo/Read, "
				"stop: FileIo/OperationEnd, key: [IrpPtr] } }",
				&groups),
		ETW_KERNEL_FLAG_FILE_IO | ETW_KERNEL_FLAG_FILE_IO_INIT);
	/* Two groups have this event: both, unless `needs` chooses one. */
	assert_int_equal(flags_of_events("", "{ event: FileIo/98 }", &groups), 0);
	assert_int_equal(groups, calls | fast);
	assert_int_equal(flags_of_events("needs: { kernel: [FLT_FASTIO] }\n",
					 "{ event: FileIo/98 }", &groups),
			 0);
	assert_int_equal(groups, fast);
	/* A whole class has one flag, or several, some of which are expensive. */
	assert_int_equal(flags_of_events("", "{ event: 'Registry/*' }", &groups),
			 ETW_KERNEL_FLAG_REGISTRY);
	assert_int_equal(flags_of_events("", "{ event: 'FileIo/*' }, { event: '*' }", &groups), 0);
	assert_int_equal(groups, 0);
}

static void a_provider_is_read_part_by_part(void **state)
{
	struct etw_provider_spec spec, copy;
	char label[GUID_TEXT_SIZE + 2];

	(void)state;
	assert_true(etw_provider_spec_parse(
		&spec, "{1C95126E-7eea-49a9-a3fe-a378b03ddb4d}::3006,3008", NULL));
	assert_null(spec.name);
	assert_string_equal(etw_provider_spec_label(&spec, label),
			    "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}");
	assert_int_equal(spec.level, ETW_PROVIDER_LEVEL_DEFAULT);
	assert_int_equal(spec.id_count, 2);
	assert_int_equal(spec.ids[0], 3006);
	assert_int_equal(spec.ids[1], 3008);
	assert_true(spec.any == UINT64_MAX);
	etw_provider_spec_done(&spec);

	assert_true(etw_provider_spec_parse(&spec, "A:::0x1", NULL));
	assert_true(etw_provider_spec_nameless(&spec));
	assert_int_equal(spec.any, 1);
	assert_true(provider_spec_copy(&copy, &spec));
	etw_provider_spec_done(&spec);
	assert_string_equal(etw_provider_spec_label(&copy, label), "A");
	etw_provider_spec_done(&copy);
}

static void more_ids_than_windows_takes_are_refused(void **state)
{
	struct etw_provider_spec spec;
	struct etw_error err = { 0 };
	char text[300] = "A::";

	(void)state;
	for (int i = 0; i < ETW_PROVIDER_IDS_MAX; i++) {
		strcat(text, "7,");
	}
	assert_true(etw_provider_spec_parse(&spec, text, NULL));
	etw_provider_spec_done(&spec);
	strcat(text, "7");
	assert_false(etw_provider_spec_parse(&spec, text, &err));
	assert_non_null(strstr(err.text, "has more than 64 ids"));
	etw_provider_spec_done(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_flags_are_those_of_the_collectors_that_are_on),
		cmocka_unit_test(derived_fields_bring_their_flags),
		cmocka_unit_test(events_bring_the_flags_that_enable_them),
		cmocka_unit_test(a_provider_is_read_part_by_part),
		cmocka_unit_test(more_ids_than_windows_takes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
