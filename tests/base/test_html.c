/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void any_text_is_content(void **state)
{
	static const struct {
		const char *text, *html;
	} cases[] = {
		{ "", "" },
		{ "a b.etl", "a b.etl" },
		{ "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;" },
		{ "\" onload='x' & y", "&quot; onload=&#39;x&#39; &amp; y" },
		{ "&lt;", "&amp;lt;" },
		{ "a\nb\x1b[2J\x7f", "a\xef\xbf\xbd"
				     "b\xef\xbf\xbd[2J\xef\xbf\xbd" },
		{ "\xc3\xa4\xff", "\xc3\xa4\xef\xbf\xbd" },
		/* U+202E and U+200B; U+1F600 stays. */
		{ "a\xe2\x80\xae\xe2\x80\x8bz\xf0\x9f\x98\x80",
		  "a\xef\xbf\xbd\xef\xbf\xbdz\xf0\x9f\x98\x80" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text html = { 0 };

		text_add_string(&html, "=");
		text_add_html(&html, cases[i].text);
		assert_string_equal(html.data + 1, cases[i].html);
		text_free(&html);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_text_is_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
