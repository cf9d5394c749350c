/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <stdatomic.h>

static atomic_bool losses;

void memory_note_loss(void)
{
	atomic_store_explicit(&losses, true, memory_order_relaxed);
}

bool memory_has_losses(void)
{
	return atomic_load_explicit(&losses, memory_order_relaxed);
}
