/* SPDX-License-Identifier: MIT */
/*
 * A whole exposition in memory, for tests.
 */
#ifndef SUPPORT_PAGE_H
#define SUPPORT_PAGE_H

#include "base/text.h"
#include "metrics/exposition.h"

/* The page as it is now; free with text_free(). Fails the test when rendering fails. */
struct etw_text page_of(struct registry *registry);

/* Fails the test, and prints the page, unless it holds text. */
void page_expect(struct registry *registry, const char *text);

/* Fails the test if the text is on the page. */
void page_expect_none(struct registry *registry, const char *text);

/* The page without the families of the registry about itself must be text exactly. */
void page_expect_exactly(struct registry *registry, const char *text);

#endif
