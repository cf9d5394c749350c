/* SPDX-License-Identifier: MIT */
/*
 * Interned strings under real threads; run it under ThreadSanitizer too.
 *
 * cmocka's assertions jump out of the function they fail in, which only the main thread may do: the
 * threads count what they find wrong, and the main thread asserts that it is nothing.
 */
#include "base/intern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"

enum { THREADS = 4, TEXTS = 6000 };

struct worker {
	struct os_thread thread;
	struct intern *intern;
	unsigned number;
	uint32_t ids[TEXTS];         /* of the texts all add */
	uint32_t own_ids[TEXTS / 4]; /* of those this one alone adds */
	_Atomic uint32_t *published; /* id of each shared text, once anyone has it */
	unsigned wrong;
};

static size_t shared_text(unsigned i, char text[32])
{
	return (size_t)snprintf(text, 32, "process %u", i);
}

static size_t own_text(unsigned number, unsigned i, char text[32])
{
	return (size_t)snprintf(text, 32, "worker %u file %u", number, i);
}

static bool text_is(const struct intern *intern, uint32_t id, const char *text, size_t size)
{
	size_t kept_size;
	const char *kept = intern_text(intern, id, &kept_size);

	return kept_size == size && memcmp(kept, text, size + 1) == 0;
}

static void add_texts(void *context)
{
	struct worker *worker = context;
	char text[32];

	for (unsigned step = 0; step < TEXTS; step++) {
		/* Each starts elsewhere, so that each is the first at some and meets the others at
		 * the rest. */
		unsigned i = (step + worker->number * (TEXTS / THREADS)) % TEXTS;
		size_t size = shared_text(i, text);

		worker->ids[i] = intern_add(worker->intern, text, size);
		worker->wrong += !text_is(worker->intern, worker->ids[i], text, size);
		/* Pairs with the acquire in look_up_texts(). */
		atomic_store_explicit(&worker->published[i], worker->ids[i], memory_order_release);
		if (step % 4 == 0) {
			size = own_text(worker->number, step / 4, text);
			worker->own_ids[step / 4] = intern_add(worker->intern, text, size);
		}
	}
}

/* Sees texts of others: by the id they published, and by adding what is there already. */
static void look_up_texts(void *context)
{
	struct worker *worker = context;
	unsigned seen;
	char text[32];

	do {
		seen = 0;
		for (unsigned i = 0; i < TEXTS; i++) {
			uint32_t id =
				atomic_load_explicit(&worker->published[i], memory_order_acquire);
			size_t size = shared_text(i, text);

			if (id != INTERN_NONE) {
				seen++;
				worker->wrong += !text_is(worker->intern, id, text, size);
				worker->wrong += intern_add(worker->intern, text, size) != id;
			}
		}
	} while (seen < TEXTS);
}

static void all_threads_get_the_same_id_for_the_same_text(void **state)
{
	struct intern *intern = intern_new(64 << 20, NULL);
	struct worker *workers = calloc(2 * THREADS, sizeof *workers);
	_Atomic uint32_t *published = calloc(TEXTS, sizeof *published);
	bool *taken = calloc(THREADS * TEXTS + TEXTS + 2, sizeof *taken);
	char text[32];

	(void)state;
	assert_non_null(intern);
	assert_non_null(workers);
	assert_non_null(published);
	assert_non_null(taken);
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		workers[i].intern = intern;
		workers[i].number = i;
		workers[i].published = published;
		assert_true(os_thread_start(&workers[i].thread,
					    i < THREADS ? add_texts : look_up_texts, &workers[i],
					    NULL));
	}
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		os_thread_join(&workers[i].thread);
	}
	for (unsigned i = 0; i < 2 * THREADS; i++) {
		assert_int_equal(workers[i].wrong, 0);
	}
	assert_int_equal(intern_count(intern), 1 + TEXTS + THREADS * (TEXTS / 4));
	assert_int_equal(intern_refused(intern), 0);
	for (unsigned i = 0; i < TEXTS; i++) {
		for (unsigned w = 1; w < THREADS; w++) {
			assert_int_equal(workers[w].ids[i], workers[0].ids[i]);
		}
		assert_false(taken[workers[0].ids[i]]);
		taken[workers[0].ids[i]] = true;
	}
	for (unsigned w = 0; w < THREADS; w++) {
		for (unsigned i = 0; i < TEXTS / 4; i++) {
			uint32_t id = workers[w].own_ids[i];
			size_t size = own_text(w, i, text);

			assert_true(text_is(intern, id, text, size));
			assert_false(taken[id]);
			taken[id] = true;
		}
	}
	free(taken);
	free(published);
	free(workers);
	intern_free(intern);
}

static void spend_the_budget(void *context)
{
	struct worker *worker = context;
	char text[32];

	for (unsigned i = 0; i < TEXTS / 4; i++) {
		size_t size = own_text(worker->number, i, text);
		uint32_t id = intern_add(worker->intern, text, size);

		worker->own_ids[i] = id;
		worker->wrong += id != INTERN_FULL && !text_is(worker->intern, id, text, size);
	}
}

static void threads_together_stay_within_the_budget(void **state)
{
	enum { BUDGET = 100000 };
	struct intern *intern = intern_new(BUDGET, NULL);
	struct worker *workers = calloc(THREADS, sizeof *workers);
	size_t added = 0, refused = 0;

	(void)state;
	assert_non_null(intern);
	assert_non_null(workers);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].intern = intern;
		workers[i].number = i;
		assert_true(
			os_thread_start(&workers[i].thread, spend_the_budget, &workers[i], NULL));
	}
	for (unsigned i = 0; i < THREADS; i++) {
		os_thread_join(&workers[i].thread);
		assert_int_equal(workers[i].wrong, 0);
		for (unsigned k = 0; k < TEXTS / 4; k++) {
			added += workers[i].own_ids[k] != INTERN_FULL;
			refused += workers[i].own_ids[k] == INTERN_FULL;
		}
	}
	/* The shortest of these texts has 15 bytes with its NUL. */
	assert_in_range(added, 1, BUDGET / 15);
	assert_true(refused > 0);
	assert_int_equal(intern_count(intern), added + 1);
	assert_int_equal(intern_refused(intern), refused);
	free(workers);
	intern_free(intern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_get_the_same_id_for_the_same_text),
		cmocka_unit_test(threads_together_stay_within_the_budget),
	};

	return cmocka_run_group_tests_name("intern_threads", tests, NULL, NULL);
}
