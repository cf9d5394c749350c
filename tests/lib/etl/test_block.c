/* SPDX-License-Identifier: MIT */
/* Blocks of memory for the bytes of buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the headers that it needs */
#include <cmocka.h>

#include "base/os.h"
#include "lib/etl/index.h"
#include "lib/etl/unpack.h"

enum { BLOCKS = 400, BLOCK_SIZE = 65536, LARGE_SIZE = 1 << 20 };

/* Sizes as in a recording: one size, some smaller ones, and a few that are large. */
static size_t size_of(unsigned i)
{
	return i % 50 == 49 ? LARGE_SIZE : i % 7 == 6 ? 100 : BLOCK_SIZE;
}

static void take_all(struct etl_blocks *blocks, struct etl_block *taken[BLOCKS])
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		taken[i] = etl_block_get(blocks, size_of(i));
		assert_non_null(taken[i]);
		assert_true(taken[i]->capacity >= size_of(i));
		memset(taken[i]->bytes, (int)(i % 251), taken[i]->capacity);
	}
}

static void check_bytes(struct etl_block *taken[BLOCKS])
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t wrong = 0;

		for (size_t at = 0; at < taken[i]->capacity; at++) {
			wrong += taken[i]->bytes[at] != i % 251;
		}
		assert_int_equal(wrong, 0);
	}
}

static void blocks_do_not_overlap_however_many_are_taken(void **state)
{
	struct etl_blocks blocks = { 0 };
	struct etl_block *taken[BLOCKS];

	(void)state;
	take_all(&blocks, taken);
	check_bytes(taken);
	for (unsigned i = 0; i < BLOCKS; i++) {
		etl_block_put(&blocks, taken[i]);
	}
	etl_blocks_done(&blocks);
}

/* Two sizes in turn, as the full buffers of a processor and its last one. */
static void blocks_of_two_sizes_are_used_again(void **state)
{
	struct etl_blocks blocks = { 0 };

	(void)state;
	for (unsigned i = 0; i < BLOCKS; i++) {
		struct etl_block *large = etl_block_get(&blocks, BLOCK_SIZE);
		struct etl_block *small = etl_block_get(&blocks, 100);

		assert_non_null(large);
		assert_non_null(small);
		etl_block_put(&blocks, large);
		etl_block_put(&blocks, small);
		assert_true(blocks.unused_bytes <= 2 * BLOCK_SIZE);
	}
	etl_blocks_done(&blocks);
}

static void blocks_in_use_outlive_the_pool(void **state)
{
	struct etl_blocks blocks = { 0 };
	struct etl_block *taken[BLOCKS];

	(void)state;
	take_all(&blocks, taken);
	etl_blocks_done(&blocks);
	check_bytes(taken);
	for (unsigned i = 0; i < BLOCKS; i++) {
		etl_block_free(taken[(i * 7) % BLOCKS]); /* 7 and BLOCKS have no common factor */
	}
}

static void a_block_that_came_back_is_used_again(void **state)
{
	struct etl_blocks blocks = { 0 };
	struct etl_block *first = etl_block_get(&blocks, BLOCK_SIZE);

	(void)state;
	etl_block_put(&blocks, first);
	assert_ptr_equal(etl_block_get(&blocks, BLOCK_SIZE), first);
	etl_block_put(&blocks, first);
	etl_block_put(&blocks, NULL);
	etl_block_free(NULL);
	etl_blocks_done(&blocks);
}

/* Of each slab one small block stays in use. */
static void few_bytes_in_use_do_not_hold_much_memory(void **state)
{
	enum { SLABS = 300, PER_SLAB = 8, CUT_SIZE = 250 << 10, SMALL_SIZE = 100 };
	struct etl_blocks blocks = { 0 };
	struct etl_block *kept[SLABS], *others[PER_SLAB];
	size_t held = 0;

	(void)state;
	for (unsigned i = 0; i < SLABS; i++) {
		for (unsigned j = 0; j < PER_SLAB; j++) {
			others[j] = etl_block_get(&blocks, CUT_SIZE);
			assert_non_null(others[j]);
		}
		kept[i] = etl_block_get(&blocks, SMALL_SIZE);
		assert_non_null(kept[i]);
		held += kept[i]->slab && (i == 0 || kept[i]->slab != kept[i - 1]->slab) ?
				OS_LARGE_PAGE_SIZE :
				0;
		for (unsigned j = 0; j < PER_SLAB; j++) {
			etl_block_free(others[j]);
		}
	}
	assert_in_range(held, 1, ETL_KEEP_MAX / 4 * 5);
	for (unsigned i = 0; i < SLABS; i++) {
		etl_block_put(&blocks, kept[i]);
	}
	etl_blocks_done(&blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_do_not_overlap_however_many_are_taken),
		cmocka_unit_test(blocks_of_two_sizes_are_used_again),
		cmocka_unit_test(blocks_in_use_outlive_the_pool),
		cmocka_unit_test(a_block_that_came_back_is_used_again),
		cmocka_unit_test(few_bytes_in_use_do_not_hold_much_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
