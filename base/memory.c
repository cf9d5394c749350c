/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdatomic.h>

static _Atomic uint64_t losses;

void memory_note_loss(void)
{
	atomic_fetch_add_explicit(&losses, 1, memory_order_relaxed);
}

bool memory_has_losses(void)
{
	return atomic_load_explicit(&losses, memory_order_relaxed) > 0;
}

void memory_statistics(struct memory_statistics *statistics)
{
	statistics->losses = atomic_load_explicit(&losses, memory_order_relaxed);
}
