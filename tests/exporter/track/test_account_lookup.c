/* SPDX-License-Identifier: MIT */
/*
 * Names of accounts that the machine gives, in its own time: what is asked again, what is waited
 * for, and that no consumer waits for a machine which does not answer.
 */
#include "exporter/track/identities.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/text.h"
#include "exporter/track/processes.h"
#include "tests/support/system.h"

enum { LONG_MS = 60000 };
#define LONG_NS (LONG_MS * UINT64_C(1000000))

static atomic_uint asked;
static atomic_bool held; /* find() does not return */
static atomic_bool offline;

static char *find(const char *sid)
{
	char name[64];

	atomic_fetch_add(&asked, 1);
	while (atomic_load(&held) && strstr(sid, "slow")) {
		system_sleep_ms(1);
	}
	if (strstr(sid, "none") || atomic_load(&offline)) {
		return NULL;
	}
	snprintf(name, sizeof name, "CONTOSO\\%s", sid);
	return text_duplicate(name, strlen(name));
}

static enum account_answer ask(struct account_lookup *lookup, const char *sid, uint64_t wait_ns,
			       const char *expected)
{
	struct etw_text name = { 0 };
	uint32_t number;
	enum account_answer answer =
		account_lookup_ask(lookup, sid, strlen(sid), wait_ns, &name, &number);

	if (answer == ACCOUNT_FOUND) {
		assert_string_equal(name.data, expected);
	} else {
		assert_int_equal(name.size, 0);
	}
	text_free(&name);
	return answer;
}

static void each_account_is_asked_for_once(void **state)
{
	struct account_lookup *lookup = account_lookup_new(find, NULL);

	(void)state;
	atomic_store(&asked, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(ask(lookup, "S-a", LONG_NS, "CONTOSO\\S-a"), ACCOUNT_FOUND);
		assert_int_equal(ask(lookup, "S-none", LONG_NS, NULL), ACCOUNT_HAS_NO_NAME);
	}
	assert_int_equal(atomic_load(&asked), 2);
	account_lookup_free(lookup);
}

static void no_consumer_waits_for_a_machine_that_does_not_answer(void **state)
{
	struct account_lookup *lookup = account_lookup_new(find, NULL);

	(void)state;
	atomic_store(&held, true);
	assert_int_equal(ask(lookup, "S-slow", 1000, NULL), ACCOUNT_PENDING);
	/* The next one is not waited for at all. */
	assert_int_equal(ask(lookup, "S-b", LONG_NS, NULL), ACCOUNT_PENDING);
	atomic_store(&held, false);
	while (ask(lookup, "S-b", 0, "CONTOSO\\S-b") == ACCOUNT_PENDING) {
		system_sleep_ms(1);
	}
	assert_int_equal(ask(lookup, "S-slow", 0, "CONTOSO\\S-slow"), ACCOUNT_FOUND);
	account_lookup_free(lookup);

	/* Freed while the machine still has not answered. */
	lookup = account_lookup_new(find, NULL);
	atomic_store(&asked, 0);
	atomic_store(&held, true);
	assert_int_equal(ask(lookup, "S-slow", 1000, NULL), ACCOUNT_PENDING);
	while (atomic_load(&asked) == 0) {
		system_sleep_ms(1);
	}
	account_lookup_free(lookup);
	atomic_store(&held, false);
}

/* Many processes run as one user, and each of them asks for the name. */
static void one_account_that_does_not_answer_is_waited_for_once(void **state)
{
	struct account_lookup *lookup = account_lookup_new(find, NULL);
	uint64_t start;

	(void)state;
	atomic_store(&asked, 0);
	atomic_store(&held, true);
	assert_int_equal(ask(lookup, "S-slow", 1000, NULL), ACCOUNT_PENDING);
	while (atomic_load(&asked) == 0) {
		system_sleep_ms(1);
	}
	start = os_monotonic_ns();
	assert_int_equal(ask(lookup, "S-slow", LONG_NS, NULL), ACCOUNT_PENDING);
	assert_true(os_monotonic_ns() - start < LONG_NS);
	atomic_store(&held, false);
	account_lookup_free(lookup);
}

static void the_number_of_accounts_is_bounded(void **state)
{
	struct account_lookup *lookup = account_lookup_new(find, NULL);
	char sid[32];

	(void)state;
	for (unsigned i = 0; i < ACCOUNTS_MOST; i++) {
		snprintf(sid, sizeof sid, "S-none-%u", i);
		ask(lookup, sid, 0, NULL);
	}
	assert_int_equal(ask(lookup, "S-a", LONG_NS, NULL), ACCOUNT_HAS_NO_NAME);
	account_lookup_free(lookup);
}

/* Returns the start of a process that runs as this account. */
static struct process_announced running_as(const char *sid)
{
	return (struct process_announced){ .image = "a.exe",
					   .image_size = 5,
					   .command_line = "",
					   .sid = sid,
					   .sid_size = strlen(sid),
					   .parent_id = ETW_RECORD_NO_ID };
}

/* The owner of a process is its SID until the machine has answered, which the next process shows.
 */
static void a_process_gets_the_name_of_its_owner_later(void **state)
{
	const struct process_announced anna = running_as("S-slow"), other = running_as("");
	static const struct registry_limits limits;
	struct registry *registry = registry_new(&limits, NULL);
	struct names *names = names_new(registry, 100, false, NULL);
	struct account_lookup *lookup = account_lookup_new(find, NULL);
	struct processes processes;
	const char *owner = "";

	(void)state;
	processes_init(&processes, registry, names, 100, 1 << 20);
	processes.identities.lookup = lookup;
	assert_true(processes_set_rules(&processes, NULL, 0, true, NULL));
	atomic_store(&held, true);
	processes_announce(&processes, LIFETIME_START, 8, 10, &anna);
	for (int64_t time = 11; strcmp(owner, "CONTOSO\\S-slow") != 0; time++) {
		const struct identity *identity = processes_identity(&processes, 8, time);

		owner = intern_text(registry_strings(registry), identity->owner, NULL);
		if (atomic_load(&held)) {
			assert_string_equal(owner, "S-slow");
			atomic_store(&held, false);
		}
		system_sleep_ms(1);
		processes_announce(&processes, LIFETIME_START, 12, time, &other);
	}
	processes_done(&processes);
	account_lookup_free(lookup);
	names_free(names);
	registry_free(registry);
}

/* A domain controller that answers one account after the other, while many processes start. */
static void a_pending_owner_is_asked_for_again_only_after_its_answer(void **state)
{
	enum { PROCESSES = 2000, ACCOUNTS = 100 };
	static const struct registry_limits limits;
	struct registry *registry = registry_new(&limits, NULL);
	struct names *names = names_new(registry, 100, false, NULL);
	struct account_lookup *lookup = account_lookup_new(find, NULL);
	struct processes processes;
	char sid[32];
	const struct identity *identity;
	const char *owner = "";

	(void)state;
	processes_init(&processes, registry, names, PROCESSES, 1 << 20);
	processes.identities.lookup = lookup;
	assert_true(processes_set_rules(&processes, NULL, 0, true, NULL));
	atomic_store(&held, true);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct process_announced process;

		snprintf(sid, sizeof sid, "S-slow-%u", i % ACCOUNTS);
		process = running_as(sid);
		processes_announce(&processes, LIFETIME_START, 4 * (i + 1), i, &process);
	}
	assert_int_equal(processes.identities.asks, PROCESSES);
	atomic_store(&held, false);
	for (int64_t time = PROCESSES; strcmp(owner, "CONTOSO\\S-slow-99") != 0; time++) {
		system_sleep_ms(1);
		identities_find_pending_owners(&processes.identities);
		identity = processes_identity(&processes, 4 * PROCESSES, time);
		owner = intern_text(registry_strings(registry), identity->owner, NULL);
	}
	assert_int_equal(processes.identities.asks, 2 * PROCESSES);
	identity = processes_identity(&processes, 4, PROCESSES);
	assert_string_equal(intern_text(registry_strings(registry), identity->owner, NULL),
			    "CONTOSO\\S-slow-0");
	processes_done(&processes);
	account_lookup_free(lookup);
	names_free(names);
	registry_free(registry);
}

/* A service that starts before the network does: its account has no name yet. */
static void an_account_without_a_name_gets_it_when_the_network_comes(void **state)
{
	const struct process_announced anna = running_as("S-anna");
	static const struct registry_limits limits;
	struct registry *registry = registry_new(&limits, NULL);
	struct names *names = names_new(registry, 100, false, NULL);
	struct account_lookup *lookup = account_lookup_new(find, NULL);
	struct processes processes;
	uint64_t deadline;
	const char *owner;

	(void)state;
	account_lookup_again_after(lookup, 1000000);
	processes_init(&processes, registry, names, 100, 1 << 20);
	processes.identities.lookup = lookup;
	assert_true(processes_set_rules(&processes, NULL, 0, true, NULL));
	atomic_store(&offline, true);
	assert_int_equal(ask(lookup, "S-anna", LONG_NS, NULL), ACCOUNT_HAS_NO_NAME);
	processes_announce(&processes, LIFETIME_START, 8, 10, &anna);
	owner = intern_text(registry_strings(registry),
			    processes_identity(&processes, 8, 11)->owner, NULL);
	assert_string_equal(owner, "S-anna");
	atomic_store(&offline, false);
	for (deadline = os_monotonic_ns() + LONG_NS;
	     strcmp(owner, "CONTOSO\\S-anna") != 0 && os_monotonic_ns() < deadline;) {
		system_sleep_ms(1);
		identities_find_pending_owners(&processes.identities);
		owner = intern_text(registry_strings(registry),
				    processes_identity(&processes, 8, 11)->owner, NULL);
	}
	assert_string_equal(owner, "CONTOSO\\S-anna");
	assert_false(processes.identities.pending);
	processes_done(&processes);
	account_lookup_free(lookup);
	names_free(names);
	registry_free(registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_account_is_asked_for_once),
		cmocka_unit_test(no_consumer_waits_for_a_machine_that_does_not_answer),
		cmocka_unit_test(one_account_that_does_not_answer_is_waited_for_once),
		cmocka_unit_test(the_number_of_accounts_is_bounded),
		cmocka_unit_test(a_process_gets_the_name_of_its_owner_later),
		cmocka_unit_test(a_pending_owner_is_asked_for_again_only_after_its_answer),
		cmocka_unit_test(an_account_without_a_name_gets_it_when_the_network_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
