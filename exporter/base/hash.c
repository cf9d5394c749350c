/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdatomic.h>

#include "base/os.h"

uint64_t hash_seed(void)
{
	static _Atomic(uint64_t) seed; /* 0: not chosen yet */
	uint64_t chosen = atomic_load_explicit(&seed, memory_order_relaxed);

	if (chosen == 0) {
		/* The clocks' last digits and where the program was loaded. */
		uint64_t made = hash_u64(os_unix_time_ns() ^ os_monotonic_ns() << 32 ^
					 (uint64_t)(uintptr_t)&seed) |
				1;

		/* Two threads may come here at once: the first one's choice holds. */
		if (atomic_compare_exchange_strong(&seed, &chosen, made)) {
			chosen = made;
		}
	}
	return chosen;
}
