/* SPDX-License-Identifier: MIT */
/*
 * Suggests what a path that does not exist may have meant: the most similar name in the deepest
 * folder of the path that exists.
 */
#ifndef BASE_MISSING_PATH_H
#define BASE_MISSING_PATH_H

#include "base/text.h"

/*
 * Adds a hint to a sentence: "; did you mean 'my-collectors'?", or "; there is no folder
 * 'my-colectors'; did you mean 'my-collectors'?". Adds nothing if there is none, or if the path
 * exists. The last component may be a pattern.
 *
 * @beside: a relative path starts at the folder of this file; "" is the working directory. The hint
 * shows paths as the user wrote them, without that folder.
 */
void missing_path_suggest(const char *beside, const char *path, struct etw_text *out);

/*
 * As missing_path_suggest(), for places where any file of the folder can be meant. If no name is
 * similar, the hint shows one ("; there is 'disk.yaml', for example"), or says that the folder is
 * empty.
 */
void missing_path_explain(const char *beside, const char *path, struct etw_text *out);

#endif
