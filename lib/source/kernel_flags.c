/* SPDX-License-Identifier: MIT */

#include <stddef.h>

#include <etw/kernel.h>

#define NAME(name, value, keyword)              #name,
#define VALUE(name, value, keyword)             ETW_KERNEL_FLAG_##name,
#define KEYWORD(name, value, keyword)           keyword,
#define GROUP_NAME(name, word, bit, keyword)    #name,
#define GROUP_BIT(name, word, bit, keyword)     { word, bit },
#define GROUP_KEYWORD(name, word, bit, keyword) keyword,

/* clang-format off */
const char *const etw_kernel_flag_names[ETW_KERNEL_FLAG_COUNT + ETW_KERNEL_GROUP_COUNT + 1] = {
	ETW_KERNEL_FLAGS(NAME)
	ETW_KERNEL_FLAG_GROUPS(GROUP_NAME)
	NULL
};

const unsigned etw_kernel_flag_values[ETW_KERNEL_FLAG_COUNT] = {
	ETW_KERNEL_FLAGS(VALUE)
};

const char *const etw_kernel_flag_keywords[ETW_KERNEL_FLAG_COUNT + ETW_KERNEL_GROUP_COUNT] = {
	ETW_KERNEL_FLAGS(KEYWORD)
	ETW_KERNEL_FLAG_GROUPS(GROUP_KEYWORD)
};

const struct etw_kernel_group etw_kernel_groups[ETW_KERNEL_GROUP_COUNT] = {
	ETW_KERNEL_FLAG_GROUPS(GROUP_BIT)
};
/* clang-format on */
