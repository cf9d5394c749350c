/* SPDX-License-Identifier: MIT */
/*
 * A list of the open handles. Its entries are never freed, only reused, so a thread can walk the
 * list while another one opens or closes a handle. Its length is the highest number of handles that
 * were open at one time.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/face/face_internal.h"

struct place {
	_Atomic(uintptr_t) handle; /* 0: the entry is free */
	struct place *next;        /* never changes */
};

/* An entry is complete before it is published here with release; readers load with acquire. */
static _Atomic(struct place *) places;

bool face_handle_add(const void *handle, struct etw_error *err)
{
	struct place *place;

	for (place = atomic_load_explicit(&places, memory_order_acquire); place;
	     place = place->next) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&place->handle, &none, (uintptr_t)handle)) {
			return true;
		}
	}
	place = malloc(sizeof *place);
	if (!place) {
		return error_no_memory(err, "a handle");
	}
	atomic_init(&place->handle, (uintptr_t)handle);
	place->next = atomic_load_explicit(&places, memory_order_acquire);
	while (!atomic_compare_exchange_weak(&places, &place->next, place)) {
	}
	return true;
}

static struct place *find(const void *handle)
{
	struct place *place = atomic_load_explicit(&places, memory_order_acquire);

	while (place &&
	       atomic_load_explicit(&place->handle, memory_order_acquire) != (uintptr_t)handle) {
		place = place->next;
	}
	return place;
}

bool face_handle_is_open(const void *handle)
{
	return handle && find(handle);
}

bool face_handle_remove(const void *handle)
{
	struct place *place = handle ? find(handle) : NULL;
	uintptr_t expected = (uintptr_t)handle;

	return place && atomic_compare_exchange_strong(&place->handle, &expected, 0);
}
