/* SPDX-License-Identifier: MIT */
/*
 * The system providers of Windows 11 and Server 2022: kernel events by provider and keyword, in
 * place of one flag each. What they write is the same either way.
 */
#ifndef SOURCE_SYSTEM_PROVIDERS_H
#define SOURCE_SYSTEM_PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guid.h"

/* The first build of Windows that has them. */
enum { SYSTEM_PROVIDERS_BUILD = 20348 };

/*
 * The index-th system provider that stands for some of these KERNEL_FLAG_*; false: no more.
 *
 * @keywords: to enable it with.
 * @covered:  the flags that those stand for.
 */
bool system_provider(uint32_t flags, size_t index, struct guid *guid, uint64_t *keywords,
		     uint32_t *covered);

/* Of these flags, those that a system provider stands for. The others stay flags. */
uint32_t system_provider_flags(uint32_t flags);

#endif
