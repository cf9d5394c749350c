/* SPDX-License-Identifier: MIT */
/*
 * Text in HTML pages.
 */
#ifndef BASE_HTML_H
#define BASE_HTML_H

#include "base/text.h"

/*
 * Adds any text as the content of an element or of a quoted attribute: escaped, with U+FFFD in
 * place of what misleads readers (utf8_steers_terminal()) and of what is no UTF-8.
 */
void text_add_html(struct etw_text *html, const char *text);

#endif
