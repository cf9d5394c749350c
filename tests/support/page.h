/* SPDX-License-Identifier: MIT */
/*
 * Renders a whole exposition in memory, for tests.
 */
#ifndef SUPPORT_PAGE_H
#define SUPPORT_PAGE_H

#include "base/text.h"
#include "metrics/exposition.h"

/* Returns the present page, which the caller frees with text_free(). Fails the test if rendering
 * fails. */
struct etw_text page_of(struct registry *registry);

/* Prints the page and fails the test unless the page contains the text. */
void page_expect(struct registry *registry, const char *text);

/* Fails the test if the page contains the text. */
void page_expect_none(struct registry *registry, const char *text);

/* Fails the test unless the page, without the families of the registry about itself, equals the
 * text. */
void page_expect_exactly(struct registry *registry, const char *text);

#endif
