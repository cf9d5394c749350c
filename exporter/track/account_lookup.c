/* SPDX-License-Identifier: MIT */
#include "exporter/track/account_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/os.h"

#define IDLE_NS (UINT64_C(3600) * 1000000000) /* a wait that a wake ends */

struct account {
	char *sid;  /* owned */
	char *name; /* owned; NULL: none, or not answered yet */
	bool answered;
};

struct account_lookup {
	char *(*find)(const char *sid);
	struct os_thread thread;
	bool started; /* the thread; only the consumer uses it */

	/* The members below are guarded by the mutex. */
	struct os_mutex mutex;
	struct os_condition changed;
	struct account *accounts; /* owned, as are its texts */
	size_t count, capacity;
	size_t next;   /* the first account that is not answered */
	bool busy;     /* the thread is in find() */
	bool stopping; /* the thread shall end */
	bool deserted; /* and free everything */
};

static void free_all(struct account_lookup *lookup)
{
	for (size_t i = 0; i < lookup->count; i++) {
		free(lookup->accounts[i].sid);
		free(lookup->accounts[i].name);
	}
	free(lookup->accounts);
	os_condition_done(&lookup->changed);
	os_mutex_done(&lookup->mutex);
	free(lookup);
}

/* Answers the next account. The mutex is locked before and after. */
static void answer(struct account_lookup *lookup)
{
	const char *sid = lookup->accounts[lookup->next].sid; /* accounts are only added */
	char *name;

	lookup->busy = true;
	os_mutex_unlock(&lookup->mutex);
	name = lookup->find(sid);
	os_mutex_lock(&lookup->mutex);
	lookup->busy = false;
	lookup->accounts[lookup->next].name = name;
	lookup->accounts[lookup->next].answered = true;
	lookup->next++;
	os_condition_wake_all(&lookup->changed);
}

static void run(void *context)
{
	struct account_lookup *lookup = context;
	bool deserted;

	os_mutex_lock(&lookup->mutex);
	while (!lookup->stopping) {
		if (lookup->next < lookup->count) {
			answer(lookup);
		} else {
			os_condition_wait(&lookup->changed, &lookup->mutex, IDLE_NS);
		}
	}
	deserted = lookup->deserted;
	os_mutex_unlock(&lookup->mutex);
	if (deserted) {
		free_all(lookup);
	}
}

struct account_lookup *account_lookup_new(char *(*find)(const char *sid), struct etw_error *err)
{
	struct account_lookup *lookup = calloc(1, sizeof *lookup);

	if (!lookup) {
		error_no_memory(err, "names of accounts");
		return NULL;
	}
	lookup->find = find;
	os_mutex_init(&lookup->mutex);
	os_condition_init(&lookup->changed);
	return lookup;
}

void account_lookup_free(struct account_lookup *lookup)
{
	bool busy;

	if (!lookup) {
		return;
	}
	os_mutex_lock(&lookup->mutex);
	busy = lookup->busy;
	lookup->stopping = true;
	lookup->deserted = busy;
	os_condition_wake_all(&lookup->changed);
	if (busy) {
		/* The thread frees everything once it gets the mutex. */
		os_thread_detach(&lookup->thread);
	}
	os_mutex_unlock(&lookup->mutex);
	if (busy) {
		return;
	}
	if (lookup->started) {
		os_thread_join(&lookup->thread);
	}
	free_all(lookup);
}

/* Returns the index of the SID, which is added if it is new; SIZE_MAX if there is no room. */
static size_t find_or_add(struct account_lookup *lookup, const char *sid, size_t size)
{
	struct account *accounts;
	char *copy;

	for (size_t i = 0; i < lookup->count; i++) {
		if (strlen(lookup->accounts[i].sid) == size &&
		    memcmp(lookup->accounts[i].sid, sid, size) == 0) {
			return i;
		}
	}
	if (lookup->count == ACCOUNTS_MOST) {
		return SIZE_MAX;
	}
	accounts = array_grow(lookup->accounts, &lookup->capacity, lookup->count, sizeof *accounts);
	copy = accounts ? text_duplicate(sid, size) : NULL;
	if (accounts) {
		lookup->accounts = accounts;
	}
	if (!copy) {
		return SIZE_MAX;
	}
	accounts[lookup->count] = (struct account){ .sid = copy };
	os_condition_wake_all(&lookup->changed);
	return lookup->count++;
}

enum account_answer account_lookup_ask(struct account_lookup *lookup, const char *sid, size_t size,
				       uint64_t wait_ns, struct etw_text *name)
{
	enum account_answer result = ACCOUNT_PENDING;
	uint64_t deadline_ns = os_monotonic_ns() + wait_ns;
	size_t i;

	if (!lookup->started) {
		lookup->started = os_thread_start(&lookup->thread, run, lookup, NULL);
		if (!lookup->started) {
			return ACCOUNT_HAS_NO_NAME;
		}
	}
	os_mutex_lock(&lookup->mutex);
	i = find_or_add(lookup, sid, size);
	while (i != SIZE_MAX && i == lookup->next && !lookup->accounts[i].answered &&
	       os_condition_wait_until(&lookup->changed, &lookup->mutex, deadline_ns)) {
	}
	if (i == SIZE_MAX) {
		result = ACCOUNT_HAS_NO_NAME;
	} else if (lookup->accounts[i].answered) {
		result = lookup->accounts[i].name ? ACCOUNT_FOUND : ACCOUNT_HAS_NO_NAME;
		text_add_string(name, lookup->accounts[i].name ? lookup->accounts[i].name : "");
	}
	os_mutex_unlock(&lookup->mutex);
	return result;
}
