/* SPDX-License-Identifier: MIT */
/*
 * Text in HTML pages.
 */
#ifndef BASE_HTML_H
#define BASE_HTML_H

#include "base/text.h"

/*
 * Adds any text as the content of an element or of a quoted attribute: it is escaped, and U+FFFD
 * replaces characters that mislead readers (utf8_steers_terminal()) and invalid UTF-8.
 */
void text_add_html(struct etw_text *html, const char *text);

#endif
