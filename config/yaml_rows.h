/* SPDX-License-Identifier: MIT */
/*
 * Tables of the keys of a YAML file: a row for each key, a shape for each type of value.
 *
 * Configurations and collectors are read by such tables, and config/schema.json is written from the
 * same tables (tests/support/make_schema.c). So what a key takes, where it is stored, what it is
 * for and what editors know about it are in one place.
 */
#ifndef CONFIG_YAML_ROWS_H
#define CONFIG_YAML_ROWS_H

#include "config/yaml.h"

struct yaml_row;

/* One file that is being read. */
struct yaml_reader {
	struct yaml_tree *tree;
	struct etw_error *err;
	void *owner; /* the configuration or collector that is made of the file */
};

/*
 * Reads one value and stores it. base: the structure that the offsets of the row are in; for an
 * entry of a list, the element. Returns false with an error at the node; the reader then goes on
 * with the next key or item, so that a member may be empty that a row above should have filled.
 */
typedef bool yaml_read_function(struct yaml_reader *in, const struct yaml_node *node,
				const struct yaml_row *row, void *base);
typedef bool yaml_check_function(struct yaml_reader *in, const struct yaml_node *node, void *base);

enum yaml_shape_type {
	SHAPE_OTHER,    /* read() decides alone; its schema is in json */
	SHAPE_TEXT,     /* const char *, in the memory of the tree; least and most bytes */
	SHAPE_NUMBER,   /* an unsigned integer of any size, from least to most: decimal, or 0x... */
	SHAPE_REAL,     /* double, decimal */
	SHAPE_SIZE,     /* uint64_t, bytes: as a number, or with KiB, MiB or GiB behind it */
	SHAPE_DURATION, /* uint64_t, milliseconds: a number with ms, s, m or h behind it */
	SHAPE_SWITCH,   /* bool: on, off, true, false */
	SHAPE_WORD,     /* an integer: least + the index among words */
	SHAPE_LIST,     /* an array of items, least to most of them */
	SHAPE_NAMES,    /* likewise of a map whose keys the user chooses: the entries of the map */
	SHAPE_MAP,      /* a structure, by rows */
};

/*
 * What a value looks like. A member that the type of shape does not use is zero, and so is a bound
 * that does not exist.
 */
struct yaml_shape {
	enum yaml_shape_type type;
	uint64_t least, most;
	uint64_t multiple; /* SHAPE_SIZE, SHAPE_DURATION: of which it is one; 0: any */
	const char *what;  /* in errors, in place of the key */
	bool path;         /* SHAPE_TEXT: of a file; a relative one starts at the YAML file */
	const char *const *words;          /* SHAPE_WORD: the last is NULL */
	const char *(*word)(size_t index); /* SHAPE_WORD, instead of words; NULL behind the last */

	/* SHAPE_LIST, SHAPE_NAMES */
	const struct yaml_shape *item;
	const char *items; /* "fields", for errors about their number */
	/* Whether two elements must not be in one list, and the sentence about it. NULL: all
	 * may. */
	bool (*same)(const void *element, const void *other);
	const char *twice;

	/* SHAPE_MAP */
	const struct yaml_row *rows;
	size_t row_count;
	const struct yaml_shape *other; /* of a value that is no map; NULL: it is an error */
	/* Keys that earlier versions had, the last one NULL; NULL: there are none. */
	const struct yaml_gone *gone;
	/* Called with the structure before any value is read. Some keys may be unknown ones, and
	 * required ones missing. `whole`: it is about which keys stand together, so after an
	 * unknown key neither it is called nor anything in the map read. */
	yaml_check_function *before;
	bool whole;

	/* In place of what the type does. From SHAPE_TEXT to SHAPE_WORD, the node is a text. */
	yaml_read_function *read;
	/* Called after the value was read: with the structure of a SHAPE_MAP, else with base. */
	yaml_check_function *check;

	/* For the schema. */
	const char *name; /* among its $defs; NULL: it is written where it is used */
	const char *help; /* "description" */
	const char
		*pattern; /* regular expression of a text, which is then in quotes if it must be */
	const char *json; /* further members, with ' in place of " */
};

/* A key that no longer exists. */
struct yaml_gone {
	const char *key;
	const char *instead; /* the second half of the error: what to do now */
};

/* A key of a map. */
struct yaml_row {
	const char *key;
	const struct yaml_shape *shape;
	bool required;
	bool relies;   /* on the rows above it: not read if anything in the map is wrong so far */
	bool spelling; /* of a key above: taken, but not among the keys that errors name */
	bool later;    /* its map does not read it: only `at` is set */
	bool in_place; /* a list: the member is an array, to which items are added */
	bool if_given; /* yaml_print() leaves it out if it is absent: other keys may forbid it */
	bool owned;    /* the list or text is for free(), not in the memory of the tree */
	size_t offset, size; /* of the member, or of one element; size 0: read() stores itself */
	size_t count;        /* offset of the size_t that counts the elements of a list */
	size_t at;         /* offset of a `const struct yaml_node *` that takes the node; 0: none */
	unsigned tag;      /* for before() */
	const char *needs; /* a key that must be there as well */
	const char *fallback; /* the value when the key is absent, as it would be written */
	const char *help;     /* in place of the shape's */
	const char *json;
};

#define YAML_TO(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
#define YAML_TO_LIST(type, member, counter)                                        \
	.offset = offsetof(type, member), .size = sizeof(*((type *)NULL)->member), \
	.count = offsetof(type, counter)
#define YAML_ROWS(table) .rows = (table), .row_count = sizeof(table) / sizeof(table)[0]
/* Shapes for one row only. */
#define YAML_SHAPE(...)       (&(const struct yaml_shape){ __VA_ARGS__ })
#define YAML_NUMBER(from, to) YAML_SHAPE(.type = SHAPE_NUMBER, .least = (from), .most = (to))
#define YAML_WORDS(list)      YAML_SHAPE(.type = SHAPE_WORD, .words = (list))
/* For the schema: a text with a pattern that may also look like a number or a switch. */
#define YAML_ANY_SCALAR    "'type': ['string', 'number', 'boolean']"
#define YAML_MAP_OF(table) YAML_SHAPE(.type = SHAPE_MAP, YAML_ROWS(table))

/* The member that a row is about. */
static inline void *yaml_member(void *base, const struct yaml_row *row)
{
	return (unsigned char *)base + row->offset;
}

/* Reads a value by its row. */
yaml_read_function yaml_read;
/* What yaml_read() does with a SHAPE_MAP, for a read() of its own. */
yaml_read_function yaml_read_map;

/* Reads the whole file into the structure; what: "the configuration". After errors, of which err
 * has the first and the tree's problems have all, the structure is as far as it could be read. */
bool yaml_read_root(struct yaml_reader *in, const struct yaml_shape *shape, const char *what,
		    void *base);

/* yaml_error() about a node of the file that `in` reads; what follows `at` is as for printf(). */
#define yaml_wrong(in, at, ...) yaml_error((in)->tree, (at), (in)->err, __VA_ARGS__)

/* Whether a node is of this type; if not, the error is "what: expected a list, found text". */
bool yaml_expect(struct yaml_reader *in, const struct yaml_node *node, enum yaml_type type,
		 const char *what);

/* An error: what lacks a key. */
bool yaml_missing(struct yaml_reader *in, const struct yaml_node *at, const char *what,
		  const char *key);

/* A word of a SHAPE_WORD, or a key of a SHAPE_MAP, by its index; NULL behind the last. */
const char *yaml_word_at(const struct yaml_shape *shape, size_t index);

/* The index of the text among the words of a SHAPE_WORD; an error names the nearest. */
bool yaml_word(struct yaml_reader *in, const struct yaml_node *node, const char *what,
	       const struct yaml_shape *shape, unsigned *index);

/* on or off; any text. */
extern const struct yaml_shape yaml_switch_shape, yaml_scalar_shape;

#endif
