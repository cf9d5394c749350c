/* SPDX-License-Identifier: MIT */
/*
 * A YAML file as a tree of nodes, each with its line and column, so that an error can name the
 * place in the file.
 *
 * Only a subset of YAML is allowed: one document of maps, lists and scalars. Anchors, aliases, tags
 * and several documents are refused, and so are keys that appear twice and keys that are not text.
 * Files are bounded: YAML_FILE_SIZE_MAX bytes, YAML_DEPTH_MAX levels, YAML_NODES_MAX nodes.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "config/problems.h"

enum { YAML_FILE_SIZE_MAX = 1024 * 1024, YAML_DEPTH_MAX = 32, YAML_NODES_MAX = 100000 };

enum yaml_type { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
	enum yaml_type type;
	bool quoted; /* the text is in quotes or a block, so it is never a number or a switch */
	uint32_t line, column;       /* from 1 */
	const char *text;            /* YAML_TEXT: NUL-terminated, without another NUL */
	size_t size;                 /* bytes of the text, or entries of the list or map */
	struct yaml_node *first;     /* first entry of a list or map */
	struct yaml_node *next;      /* next entry of the same list or map */
	const struct yaml_node *key; /* the key of an entry of a map, a YAML_TEXT; NULL in lists */
};

struct yaml_tree; /* opaque; owns its nodes and all memory of yaml_alloc() */

/*
 * Reads a text or a file into a tree. name: the prefix of errors ("disk.yaml"); copied. problems:
 * gets every problem of the file, also those of yaml_error(); it must live as long as readers of
 * the tree can report one. NULL: the tree has its own. If the file is not YAML, the problems end
 * with one error at the place of the syntax error, after errors about unsupported features (a
 * repeated key). Free the tree with yaml_close().
 */
struct yaml_tree *yaml_open_text(const char *name, const char *text, size_t size,
				 struct problems *problems, struct etw_error *err);
struct yaml_tree *yaml_open_file(const char *path, const char *name, struct problems *problems,
				 struct etw_error *err);
void yaml_close(struct yaml_tree *tree); /* tree may be NULL */

const struct yaml_node *
yaml_root(const struct yaml_tree *tree); /* an empty file has an empty map */
const char *yaml_name(const struct yaml_tree *tree);

/* Returns zeroed memory that lives as long as the tree, for what a reader makes of its nodes.
 * NULL without memory, with err set. */
void *yaml_alloc(struct yaml_tree *tree, size_t count, size_t size, struct etw_error *err);

/* Returns the entry of a map with this key, in exact case; NULL if there is none. */
const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key);

/* Returns whether a text without quotes stands for nothing: ~, null, Null, NULL ("10.3.2. Tag
 * Resolution", YAML 1.2.2). A value that is written so is read as an empty text without quotes. */
bool yaml_is_null(const char *text, size_t size);

/* Returns whether two nodes have the same contents, with entries in the same order. NULL is only
 * equal to NULL. */
bool yaml_equal(const struct yaml_node *a, const struct yaml_node *b);

struct problems *yaml_problems(const struct yaml_tree *tree);

/*
 * Sets err to "name:line:column: sentence" (ETW_ERROR_CONFIG), adds it to the problems of the tree
 * and returns false. A reader then continues with what does not depend on the node, so that one run
 * shows all errors of a file; after an error of another code it stops. At its end it calls
 * problems_first_error().
 */
bool yaml_error(const struct yaml_tree *tree, const struct yaml_node *at, struct etw_error *err,
		const char *format, ...) ETW_PRINTF_LIKE(4, 5);

/* Adds "name:line:column: warning: sentence" to the problems of the tree. */
void yaml_warning(const struct yaml_tree *tree, const struct yaml_node *at, const char *format, ...)
	ETW_PRINTF_LIKE(3, 4);

/* As yaml_error(), but only sets err: for errors about a file that has been read. Any thread may
 * call it. */
bool yaml_describe(const struct yaml_tree *tree, const struct yaml_node *at, struct etw_error *err,
		   const char *format, ...) ETW_PRINTF_LIKE(4, 5);

#endif
