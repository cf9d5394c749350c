/* SPDX-License-Identifier: MIT */
/*
 * Tables of the keys of a YAML file: a row for each key, a shape for each type of value.
 *
 * Configurations and collectors are read by such tables, and config/schema.json is written from the
 * same tables (tests/support/make_schema.c). So one place says what a key takes, where it is
 * stored, what it is for and what editors know about it.
 */
#ifndef CONFIG_YAML_ROWS_H
#define CONFIG_YAML_ROWS_H

#include "base/text.h"
#include "config/yaml.h"

struct yaml_row;

/* The state of reading one file. */
struct yaml_reader {
	struct yaml_tree *tree;
	struct etw_error *err;
	void *owner; /* the configuration or collector that the file is read into */
};

/*
 * Reads one value and stores it. base: the structure that the row's offsets are in; for an entry of
 * a list, the element. Returns false with an error at the node; the reader then continues with the
 * next key or item, so a member that a row above should have set may be empty.
 */
typedef bool yaml_read_function(struct yaml_reader *in, const struct yaml_node *node,
				const struct yaml_row *row, void *base);
typedef bool yaml_check_function(struct yaml_reader *in, const struct yaml_node *node, void *base);

enum yaml_shape_type {
	SHAPE_OTHER,    /* read() does everything; its schema is in json */
	SHAPE_TEXT,     /* const char *, in the memory of the tree; least and most are bytes */
	SHAPE_NUMBER,   /* an unsigned integer of any size, from least to most; decimal, or 0x... */
	SHAPE_REAL,     /* double, decimal */
	SHAPE_SIZE,     /* uint64_t, bytes: as a number, or followed by KiB, MiB or GiB */
	SHAPE_DURATION, /* uint64_t, milliseconds: a number followed by ms, s, m or h */
	SHAPE_SWITCH,   /* bool: on, off, true, false */
	SHAPE_WORD,     /* an integer: least + the index of the word */
	SHAPE_LIST,     /* an array of items, least to most of them */
	SHAPE_NAMES, /* an array made of a map whose keys the user chooses, one item for each entry
		      */
	SHAPE_MAP,   /* a structure, read by rows */
};

/*
 * The form of a value. Members that the type of shape does not use are zero, and so is a bound that
 * does not exist.
 */
struct yaml_shape {
	enum yaml_shape_type type;
	uint64_t least, most;
	uint64_t multiple; /* SHAPE_SIZE, SHAPE_DURATION: the value must be a multiple of this; 0:
			      any */
	const char *what;  /* name in errors, in place of the key */
	bool path; /* SHAPE_TEXT: the path of a file; a relative one starts at the folder of the
		      YAML file */
	const char *const *words; /* SHAPE_WORD: NULL after the last */
	const char *(*word)(
		size_t index); /* SHAPE_WORD, instead of words; returns NULL after the last */

	/* These are for SHAPE_LIST and SHAPE_NAMES. */
	const struct yaml_shape *item;
	const char *items; /* "fields", for errors about their number */
	/* Returns whether two elements must not be in one list; `twice` is the sentence about it.
	 * NULL: all may be. */
	bool (*same)(const void *element, const void *other);
	const char *twice;

	/* These are for SHAPE_MAP. */
	const struct yaml_row *rows;
	size_t row_count;
	const struct yaml_shape
		*other; /* shape of a value that is not a map; NULL: such a value is an error */
	/* Keys of earlier versions, NULL-terminated; NULL: there are none. */
	const struct yaml_gone *gone;
	/* Called with the structure before any value is read. The map may still have unknown
	 * keys, and lack required ones. `whole`: before() checks which keys may occur together,
	 * so after an unknown key neither is it called nor is any value of the map read. */
	yaml_check_function *before;
	bool whole;

	/* Replaces what the type does. From SHAPE_TEXT to SHAPE_WORD, the node is a text. */
	yaml_read_function *read;
	/* Called after the value was read: with the structure of a SHAPE_MAP, otherwise with
	 * base. */
	yaml_check_function *check;

	/* These are for the schema. For yaml_read(), pattern and any_scalar only decide whether a
	 * number or a switch may stand for the text. */
	const char *name;    /* name in $defs; NULL: the shape is written where it is used */
	const char *help;    /* text of "description" */
	const char *pattern; /* regular expression of a text, or of further words; a text that
				looks like another type must then be in quotes */
	bool any_scalar;     /* … but need not: of a text with a pattern */
	const char *json;    /* further members of the schema, with ' in place of " */
};

/* A key that no longer exists. */
struct yaml_gone {
	const char *key;
	const char *instead; /* second half of the error: what to write now */
};

/* A key of a map, and the member that its value is stored in. */
struct yaml_row {
	const char *key;
	const struct yaml_shape *shape;
	bool required;
	bool relies; /* depends on the rows above it: it is not read if the map has had an error */
	bool spelling; /* another spelling of a key above: it is accepted, but errors do not list it
			*/
	bool later;    /* the map does not read the value: only `at` is set */
	bool in_place; /* a list whose member is an array, to which items are added */
	bool if_given; /* yaml_print() leaves the key out if it is absent, because other keys may
			  forbid it */
	bool owned;    /* the list or text is allocated for free(), not in the memory of the tree */
	size_t offset, size; /* of the member, or of one element of a list; size 0: read() stores
				the value itself */
	size_t count;        /* offset of the size_t that counts the elements of a list */
	size_t at;    /* offset of a `const struct yaml_node *` that is set to the node; 0: none */
	unsigned tag; /* for before() */
	const char *needs;    /* a key that must be present if this one is */
	const char *fallback; /* the value if the key is absent, as a file would have it */
	const char *help;     /* replaces the help of the shape */
	const char *json;
};

#define YAML_TO(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
#define YAML_TO_LIST(type, member, counter)                                        \
	.offset = offsetof(type, member), .size = sizeof(*((type *)NULL)->member), \
	.count = offsetof(type, counter)
#define YAML_ROWS(table) .rows = (table), .row_count = sizeof(table) / sizeof(table)[0]
/* A shape that only one row uses. */
#define YAML_SHAPE(...)       (&(const struct yaml_shape){ __VA_ARGS__ })
#define YAML_NUMBER(from, to) YAML_SHAPE(.type = SHAPE_NUMBER, .least = (from), .most = (to))
#define YAML_WORDS(list)      YAML_SHAPE(.type = SHAPE_WORD, .words = (list))
#define YAML_MAP_OF(table)    YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(table))

/* Returns the member that a row describes. */
static inline void *yaml_member(void *base, const struct yaml_row *row)
{
	return (unsigned char *)base + row->offset;
}

/* Reads a value as its row describes. */
yaml_read_function yaml_read;
/* Does what yaml_read() does with a SHAPE_MAP; for a read() function that replaces it. */
yaml_read_function yaml_read_map;

/* Reads the whole file into the structure. what: "the configuration", for errors. After errors
 * (err is set to the first, and the tree's problems have all) the structure contains what could
 * be read. */
bool yaml_read_root(struct yaml_reader *in, const struct yaml_shape *shape, const char *what,
		    void *base);

/* Calls yaml_error() for a node of the file that `in` reads; the arguments after `at` are as for
 * printf(). */
#define yaml_wrong(in, at, ...) yaml_error((in)->tree, (at), (in)->err, __VA_ARGS__)

/* Checks that a node is of this type; if not, the error is "what: expected a list, found text". */
bool yaml_expect(struct yaml_reader *in, const struct yaml_node *node, enum yaml_type type,
		 const char *what);

/* Checks that a text is not in quotes, which would make it no number for editors. */
bool yaml_expect_number(struct yaml_reader *in, const struct yaml_node *node, const char *what);

/* Reports the error that `what` lacks a key. Returns false. */
bool yaml_missing(struct yaml_reader *in, const struct yaml_node *at, const char *what,
		  const char *key);

/* Returns a word of a SHAPE_WORD, or a key of a SHAPE_MAP, by its index; NULL after the last. */
const char *yaml_word_at(const struct yaml_shape *shape, size_t index);

/* Sets *index to the index of the text among the words of a SHAPE_WORD; if it is none of them,
 * the error names the nearest word. */
bool yaml_word(struct yaml_reader *in, const struct yaml_node *node, const char *what,
	       const struct yaml_shape *shape, unsigned *index);

/* Shapes of a switch (on or off) and of any text. */
extern const struct yaml_shape yaml_switch_shape, yaml_scalar_shape;

/* ---- printing (yaml_print.c) ---- */

/*
 * Writes a YAML file by the tables that read it, with the defaults of the keys that the file lacks.
 */

/* A value that replaces that of the file, such as one of the command line. */
struct yaml_override {
	const char *path; /* the keys from the root, with dots between them: "log.level" */
	const struct yaml_node *node;
};

struct yaml_overrides {
	const struct yaml_override *list;
	size_t count;
};

/*
 * Appends the YAML text of a tree. shape: that of its root, a SHAPE_MAP; the tree must have no
 * errors. Keys are in the order of the rows, in block style, without comments. Absent keys are
 * printed with their defaults, absent lists and maps are empty; keys without a fixed default are
 * left out. Paths of files are absolute. The printed text reads as the same tree, and prints as the
 * same text.
 */
void yaml_print(struct etw_text *out, const struct yaml_shape *shape, const struct yaml_tree *tree,
		const struct yaml_overrides *overrides);

#endif
