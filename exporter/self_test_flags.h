/* SPDX-License-Identifier: MIT */
/*
 * --self-test as a user runs it: the self-test (windows/self_test.h), or the kit around it
 * (windows/kit.h), as the flags say.
 */
#ifndef EXPORTER_SELF_TEST_FLAGS_H
#define EXPORTER_SELF_TEST_FLAGS_H

#include "base/error.h"
#include "options.h"

/* Whether the flags of the self-test fit together; err says which does not. */
bool self_test_flags_fit(const struct options *flags, struct error *err);

/* Performs the self-test and prints the result. A row that fails is an error. */
bool self_test_flags_run(const struct options *flags, struct error *err);

#endif
