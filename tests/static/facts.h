/* SPDX-License-Identifier: MIT */
/*
 * What functions of other files return, for the analysers, which see one file at a time. static.py puts it before each file.
 * tests/base/test_error.c tests that it is so.
 */
#include "base/error.h"

#define error_set(...)       (error_set(__VA_ARGS__), false)
#define error_no_memory(...) (error_no_memory(__VA_ARGS__), false)
#define error_prefix(...)    (error_prefix(__VA_ARGS__), false)
