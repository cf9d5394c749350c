/* SPDX-License-Identifier: MIT */
/* The tables of kernel events: the GUIDs of their groups, and the flags that enable them. */
#include <etw/kernel.h>

#include <stddef.h>
#include <string.h>

#include "base/guid.h"

/* ---- GUIDs of groups ---- */

const struct etw_guid etw_kernel_group_guids[ETW_KERNEL_GROUPS + 1] = {
	[0x00] = GUID_PARTS(0x68fdd900, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3), /* EventTrace */
	[0x01] = GUID_PARTS(0x3d6fa8d4, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), /* DiskIo */
	[0x02] = GUID_PARTS(0x3d6fa8d3, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), /* PageFault */
	[0x03] = GUID_PARTS(0x3d6fa8d0, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), /* Process */
	[0x04] = GUID_PARTS(0x90cbdc39, 0x4a3e, 0x11d1, 0x84f4, 0x0000f80464e3), /* FileIo */
	[0x05] = GUID_PARTS(0x3d6fa8d1, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c), /* Thread */
	[0x06] = GUID_PARTS(0x9a280ac0, 0xc8e0, 0x11d1, 0x84e2, 0x00c04fb998a2), /* TcpIp */
	[0x07] = GUID_PARTS(0x3282fc76, 0xfeed, 0x498e, 0x8aa7, 0xe70f459d430e), /* Job */
	[0x08] = GUID_PARTS(0xbf3a50c5, 0xa9c9, 0x4988, 0xa005, 0x2df0b7c80f80), /* UdpIp */
	[0x09] = GUID_PARTS(0xae53722e, 0xc863, 0x11d2, 0x8659, 0x00c04fa321a1), /* Registry */
	[0x0a] = GUID_PARTS(0x13976d09, 0xa327, 0x438c, 0x950b, 0x7f03192815c7), /* DbgPrint */
	[0x0b] = GUID_PARTS(0x01853a65, 0x418f, 0x4f36, 0xaefc, 0xdc0f1d2fd235), /* SystemConfig */
	[0x0c] = GUID_PARTS(0x99134383, 0x5248, 0x43fc, 0x834b, 0x529454e75df3), /* spare */
	[0x0d] = GUID_PARTS(0x42695762, 0xea50, 0x497a, 0x9068, 0x5cbbb35e0b95), /* Wnf */
	[0x0e] = GUID_PARTS(0x0268a8b6, 0x74fd, 0x4302, 0x9dd0, 0x6e8f1795c0cf), /* Pool */
	[0x0f] = GUID_PARTS(0xce1dbfb4, 0x137e, 0x4da6, 0x87b0, 0x3f59aa102cbc), /* PerfInfo */
	[0x10] = GUID_PARTS(0x222962ab, 0x6180, 0x4b88, 0xa825, 0x346b75f2a24a), /* Heap */
	[0x11] = GUID_PARTS(0x89497f50, 0xeffe, 0x4440, 0x8cf2, 0xce6b1cdcaca7), /* Object */
	[0x12] = GUID_PARTS(0xe43445e0, 0x0903, 0x48c3, 0xb878, 0xff0fccebdd04), /* Power */
	[0x13] = GUID_PARTS(0xa9152f00, 0x3f58, 0x4bee, 0x92a1, 0x70c7d079d5dd), /* module bound */
	[0x14] = GUID_PARTS(0x2cb15d1d, 0x5fc1, 0x11d2, 0xabe1, 0x00a0c911f518), /* Image */
	[0x15] = GUID_PARTS(0xb2d14872, 0x7c5b, 0x463d, 0x8419, 0xee9bf7d23e04), /* Dpc */
	[0x16] = GUID_PARTS(0x7687a439, 0xf752, 0x45b8, 0xb741, 0x321aec0f8df9), /* cache manager */
	[0x17] = GUID_PARTS(0x3ac66736, 0xcc59, 0x4cff, 0x8115,
			    0x8df50e39816b), /* critical section */
	[0x18] = GUID_PARTS(0xdef2fe46, 0x7bd6, 0x4b80, 0xbd94, 0xf57fe20d0ce3), /* StackWalk */
	[0x19] = GUID_PARTS(0x9aec974b, 0x5b8e, 0x4118, 0x9b92,
			    0x3186d8002ce5), /* user-mode scheduling */
	[0x1a] = GUID_PARTS(0x45d8cccd, 0x539f, 0x4b72, 0xa8b7, 0x5c683142609a), /* ALPC */
	[0x1b] = GUID_PARTS(0xd837ca92, 0x12b9, 0x44a5, 0xad6a, 0x3a65b3578aa8), /* split I/O */
	[0x1c] = GUID_PARTS(0xc861d0e2, 0xa2c1, 0x4d36, 0x9f9c, 0x970bab943a12), /* thread pool */
	[0x1d] = GUID_PARTS(0x7f2a405c, 0x69b5, 0x4bf9, 0xa1f5, 0x30e8f1afab5e), /* hypervisor */
	[0x1e] = GUID_PARTS(0x2ce9a149, 0xeffe, 0x42f0, 0xa635,
			    0xa1d39e26c8f2), /* hypervisor extension */
};

uint8_t etw_kernel_record_group(const struct etw_guid *guid, uint8_t opcode)
{
	for (unsigned group = 0; group < ETW_KERNEL_GROUPS; group++) {
		if (etw_guid_equal(etw_kernel_record_guid((uint8_t)group, opcode), guid)) {
			return (uint8_t)group;
		}
	}
	return ETW_RECORD_NO_GROUP;
}

/* ---- flags ---- */

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
