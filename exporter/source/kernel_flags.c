/* SPDX-License-Identifier: MIT */
#include "source/kernel_flags.h"

#include <stddef.h>

#define NAME(name, value, keyword)    #name,
#define VALUE(name, value, keyword)   KERNEL_FLAG_##name,
#define KEYWORD(name, value, keyword) keyword,

const char *const kernel_flag_names[KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT + 1] = {
	KERNEL_FLAGS(NAME) /* then the groups */
	"PRIORITY",
	"POOL",
	"OB_HANDLE",
	"OB_OBJECT",
	"POWER",
	NULL
};

const unsigned kernel_flag_values[KERNEL_FLAG_COUNT] = { KERNEL_FLAGS(VALUE) };

const char *const kernel_flag_keywords[KERNEL_FLAG_COUNT + KERNEL_GROUP_COUNT] = {
	KERNEL_FLAGS(KEYWORD) /* then the groups */
	"ThreadPriority",
	"Pool",
	"Handle",
	"Object",
	"Power",
};

const struct kernel_group kernel_groups[KERNEL_GROUP_COUNT] = {
	{ 1, 0x2000 }, { 1, 0x40 }, { 4, 0x40 }, { 4, 0x80 }, { 4, 0x8000 },
};
