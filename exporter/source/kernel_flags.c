/* SPDX-License-Identifier: MIT */
#include "source/kernel_flags.h"

#include <stddef.h>

#define NAME(name, value)  #name,
#define VALUE(name, value) KERNEL_FLAG_##name,

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

const struct kernel_group kernel_groups[KERNEL_GROUP_COUNT] = {
	{ 1, 0x2000 }, { 1, 0x40 }, { 4, 0x40 }, { 4, 0x80 }, { 4, 0x8000 },
};
