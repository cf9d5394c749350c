/* SPDX-License-Identifier: MIT */
/*
 * What the library knows about events from the start: the table of kernel event classes and
 * the manifests of config/manifests, as texts. cmake/embed.cmake puts them into C files.
 */
#ifndef LIB_DECODE_BUILTIN_H
#define LIB_DECODE_BUILTIN_H

#include "base/builtin_file.h"

/* In the order of their names. Constant, any thread may read. */
extern const struct builtin_file builtin_manifests[];
extern const size_t builtin_manifest_count;
/* lib/decode/kernel_classes.txt alone; read by lib/decode/kernel_class.c. */
extern const struct builtin_file builtin_kernel_tables[];
extern const size_t builtin_kernel_table_count;

#endif
