/* SPDX-License-Identifier: MIT */
#include "lib/source/kernel_flags.h"

#include <stddef.h>

#define NAME(name, value, keyword)              #name,
#define VALUE(name, value, keyword)             KERNEL_FLAG_##name,
#define KEYWORD(name, value, keyword)           keyword,
#define GROUP_NAME(name, word, bit, keyword)    #name,
#define GROUP_BIT(name, word, bit, keyword)     { word, bit },
#define GROUP_KEYWORD(name, word, bit, keyword) keyword,

/* clang-format off */
const char *const etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT + 1] = {
	KERNEL_FLAGS(NAME)
	KERNEL_FLAG_GROUPS(GROUP_NAME)
	NULL
};

const unsigned etw_kernel_flag_values[ETW_KERNEL_FLAG_COUNT] = {
	KERNEL_FLAGS(VALUE)
};

const char *const etw_kernel_flag_keywords[ETW_KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT] = {
	KERNEL_FLAGS(KEYWORD)
	KERNEL_FLAG_GROUPS(GROUP_KEYWORD)
};

const struct etw_kernel_group etw_kernel_groups[KERNEL_GROUP_COUNT] = {
	KERNEL_FLAG_GROUPS(GROUP_BIT)
};
/* clang-format on */
