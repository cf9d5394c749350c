/* SPDX-License-Identifier: MIT */
/*
 * What the library knows about events from the start: the table of kernel event classes and the
 * manifests of config/manifests. Both are text that cmake/embed.cmake turns into C files.
 */
#ifndef LIB_DECODE_BUILTIN_H
#define LIB_DECODE_BUILTIN_H

#include "base/builtin_file.h"

/* Sorted by name. The array is constant: any thread may read it. */
extern const struct builtin_file builtin_manifests[];
extern const size_t builtin_manifest_count;
/* The only file is lib/decode/kernel_classes.txt, which kernel_class.c reads. */
extern const struct builtin_file builtin_kernel_tables[];
extern const size_t builtin_kernel_table_count;

#endif
