/* SPDX-License-Identifier: MIT */

#include <stddef.h>
#include <string.h>

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

static const struct {
	uint32_t flag;
	struct etw_kernel_group place;
} kept_elsewhere[] = {
#define KEPT(value, word, bit) { value, { word, bit } },
	ETW_KERNEL_FLAGS_KEPT_ELSEWHERE(KEPT)
};
/* clang-format on */

enum { KEPT_ELSEWHERE = sizeof kept_elsewhere / sizeof kept_elsewhere[0] };

void etw_kernel_words(uint32_t flags, uint32_t groups, uint32_t words[ETW_KERNEL_WORDS])
{
	memset(words, 0, ETW_KERNEL_WORDS * sizeof words[0]);
	words[0] = flags;
	for (size_t i = 0; i < KEPT_ELSEWHERE; i++) {
		if (flags & kept_elsewhere[i].flag) {
			words[0] &= ~kept_elsewhere[i].flag;
			words[kept_elsewhere[i].place.word] |= kept_elsewhere[i].place.bit;
		}
	}
	for (size_t i = 0; i < ETW_KERNEL_GROUP_COUNT; i++) {
		if (groups & (1U << i)) {
			words[etw_kernel_groups[i].word] |= etw_kernel_groups[i].bit;
		}
	}
}

uint32_t etw_kernel_flags_in(const uint32_t words[ETW_KERNEL_WORDS])
{
	uint32_t flags = words[0];

	for (size_t i = 0; i < KEPT_ELSEWHERE; i++) {
		const struct etw_kernel_group *place = &kept_elsewhere[i].place;

		flags |= words[place->word] & place->bit ? kept_elsewhere[i].flag : 0;
	}
	return flags;
}
