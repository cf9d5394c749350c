/* SPDX-License-Identifier: MIT */
/*
 * Checks what must hold for any page of metrics.
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

/* Returns whether the text is UTF-8. */
bool is_utf8(const char *at, size_t size);
/* Returns whether it is UTF-8 and has no character that controls a terminal, except line feeds
 * (utf8_steers_terminal()). */
bool is_clean_text(const char *at, size_t size);

/*
 * Searches a page for a fault: a line that the format does not have, a sample outside its family, a
 * second sample of a series, a counter below 0, buckets that decrease or do not end with the count.
 * Returns NULL if there is none; otherwise a description, and sets *line to the start of the line.
 */
const char *page_fault(const char *page, size_t size, const char **line);

#endif
