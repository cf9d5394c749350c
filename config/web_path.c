/* SPDX-License-Identifier: MIT */
#include "config/web_path.h"

#include <stddef.h>
#include <string.h>

/* The characters that a path of a URL may have. Percent codes are left out, because paths are
 * compared as they arrive. */
static const char path_characters[] = WEB_LETTERS_DIGITS "/-._~!$&'()*+,;=:@";

bool web_path_is_valid(const char *path)
{
	if (path[0] != '/' || strspn(path, path_characters) != strlen(path) || strstr(path, "//")) {
		return false;
	}
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		size_t size = strcspn(at + 1, "/");

		if (at[1] == '.' && (size == 1 || (size == 2 && at[2] == '.'))) {
			return false;
		}
	}
	return true;
}

bool web_path_is_taken(const char *path)
{
	static const char *const pages[] = { "/style.css", "/script.js", "/icon.svg",
					     "/history.json", "/version" };

	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
		if (strcmp(path, pages[i]) == 0) {
			return true;
		}
	}
	return strncmp(path, "/-/", 3) == 0;
}
