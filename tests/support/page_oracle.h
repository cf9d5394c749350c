/* SPDX-License-Identifier: MIT */
/*
 * What must hold for any page of metrics.
 *
 * It is written from the descriptions of the text format and of the data model, and shares no code
 * with the exposition.
 *
 * Source: "Exposition formats" and "Metric types", prometheus.io.
 */
#ifndef SUPPORT_PAGE_ORACLE_H
#define SUPPORT_PAGE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all of a text is UTF-8, … */
bool is_utf8(const char *at, size_t size);
/* … without characters that steer a terminal, other than line feeds (utf8_steers_terminal()). */
bool is_clean_text(const char *at, size_t size);

/*
 * Looks for a fault of a page: a line that is no line of the format, a sample outside its family, a
 * second sample of a series, a counter below 0, buckets that fall or do not end in the count.
 * Returns NULL if there is none; otherwise what is wrong, with *line at the start of the line.
 */
const char *page_fault(const char *page, size_t size, const char **line);

#endif
