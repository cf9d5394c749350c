/* SPDX-License-Identifier: MIT */
/*
 * What may have been meant by a path that names no file: the nearest name in the first folder of it
 * that exists.
 */
#ifndef BASE_MISSING_PATH_H
#define BASE_MISSING_PATH_H

#include "base/text.h"

/*
 * Adds a hint behind a sentence: "; did you mean 'my-collectors'?", or "; there is no folder
 * 'my-colectors'; did you mean 'my-collectors'?". Adds nothing if there is none, or if the path
 * exists. The last component may be a pattern.
 *
 * @beside: a relative path starts at the folder of this file; "" for the working directory. The
 * hint has paths as the user wrote them, without that folder.
 */
void missing_path_suggest(const char *beside, const char *path, struct etw_text *out);

/*
 * The same where any file of the folder may be meant: if no name is near, the hint is one of them
 * ("; there is 'disk.yaml', for example"), or that the folder is empty.
 */
void missing_path_explain(const char *beside, const char *path, struct etw_text *out);

#endif
