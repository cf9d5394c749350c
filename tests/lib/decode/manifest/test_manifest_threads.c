/* SPDX-License-Identifier: MIT */
/* Built-in manifests, which are read when a thread first needs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* after the headers that it needs */
#include <cmocka.h>

#include "base/os.h"
#include "lib/decode/manifest/manifest.h"
#include "lib/source/provider_names.h"

enum { THREADS = 4 };

struct consumer {
	struct os_thread thread;
	const struct etw_manifest_set *set;
	const struct etw_schema *found;
};

static void look_up(void *context)
{
	struct consumer *consumer = context;

	consumer->found = etw_manifest_set_schema(
		consumer->set, &etw_known_providers[ETW_PROVIDER_KERNEL_PROCESS].guid,
		ETW_PROCESS_EVENT_START, 0, 0, false);
}

static void threads_that_need_a_manifest_at_once_get_the_same(void **state)
{
	struct etw_configured_manifests configured = { .configured = NULL };
	struct consumer consumers[THREADS] = { 0 };
	struct etw_error err;

	(void)state;
	assert_true(etw_configured_manifests_add_builtin(&configured, &err));
	for (unsigned i = 0; i < THREADS; i++) {
		consumers[i].set = configured.builtin;
		assert_true(os_thread_start(&consumers[i].thread, look_up, &consumers[i], &err));
	}
	for (unsigned i = 0; i < THREADS; i++) {
		os_thread_join(&consumers[i].thread);
		assert_non_null(consumers[i].found);
		assert_ptr_equal(consumers[i].found, consumers[0].found);
	}
	etw_configured_manifests_done(&configured);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_need_a_manifest_at_once_get_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
