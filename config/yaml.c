/* SPDX-License-Identifier: MIT */
/*
 * Builds the tree of a YAML file from libyaml's events. No other file includes libyaml.
 *
 * libyaml reports a document as a flat sequence of events: a scalar, the start of a list, its end.
 * The builder keeps the lists and maps that have started but not ended on a stack of levels, and
 * attach_node() puts each new node into the innermost of them, or makes it the root. In a map,
 * nodes are alternately a key and its value; the level stores the key until its value arrives.
 *
 * libyaml accepts a key twice, so each level of a map has a table of the hashes of its keys. The
 * hash has a random seed, because otherwise a file could be written whose keys all collide. Depth,
 * size and number of nodes are bounded for the same reason: a small file must not cost much time or
 * memory.
 *
 * After an error that only our subset refuses (a key twice, an anchor) the file is read to its end,
 * so that all errors are found; after a syntax error of YAML the rest cannot be read. libyaml
 * reports what its grammar expected; a table has what people most likely did wrong.
 *
 * Nodes, their texts and what readers make of them are in chunks of memory that the tree owns, and
 * are freed all at once. A reader may therefore keep pointers to texts for as long as the tree
 * lives, and has nothing to free after an error.
 */
#include "config/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/map.h"
#include "base/text.h"

/* A block of the memory of a tree; all blocks are freed at once. */
struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(max_align_t) unsigned char bytes[];
};

enum { CHUNK_SIZE = 16384 };

struct yaml_tree {
	struct chunk *chunks; /* owned */
	const char *name;
	struct yaml_node *root;
	unsigned nodes;
	struct problems *problems, own_problems;
	unsigned file; /* number of the file among those of the problems */
};

/* One list or map under construction. */
struct level {
	struct yaml_node *node;
	struct yaml_node *last;      /* its last entry so far */
	const struct yaml_node *key; /* a key that was read, before its value */
	struct map keys;             /* for maps: hash of a key -> node of the key */
};

/* The position of a text in quotes; lines from 1. */
struct scalar_place {
	size_t line, column, end_line;
	size_t end; /* characters of the file up to the end of the text */
};

struct builder {
	struct yaml_tree *tree;
	struct level levels[YAML_DEPTH_MAX];
	unsigned depth;
	bool documents;
	bool refused; /* there was an error, but the file can be read to its end */
	struct scalar_place last_quoted; /* the last text in quotes */
};

void *yaml_alloc(struct yaml_tree *tree, size_t count, size_t size, struct etw_error *err)
{
	struct chunk *chunk = tree->chunks;
	size_t total;
	void *memory;

	if (size != 0 && count > SIZE_MAX / 2 / size) {
		error_no_memory(err, tree->name);
		return NULL;
	}
	total = (count * size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) *
		_Alignof(max_align_t);
	if (!chunk || chunk->size - chunk->used < total) {
		size_t chunk_size = total > CHUNK_SIZE ? total : CHUNK_SIZE;

		chunk = calloc(1, sizeof *chunk + chunk_size);
		if (!chunk) {
			error_no_memory(err, "a configuration file");
			return NULL;
		}
		chunk->size = chunk_size;
		chunk->next = tree->chunks;
		tree->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used;
	chunk->used += total;
	return memory;
}

static const char *copy_text(struct yaml_tree *tree, const void *text, size_t size,
			     struct etw_error *err)
{
	char *copy = yaml_alloc(tree, size + 1, 1, err);

	if (copy) {
		memcpy(copy, text, size);
	}
	return copy;
}

/* Reports an error at a place. line 0: the error is about the file as a whole. */
static bool error_at(const struct yaml_tree *tree, size_t line, size_t column,
		     struct etw_error *err, const char *sentence)
{
	const struct problem place = { .file = tree->file,
				       .line = (uint32_t)line,
				       .column = (uint32_t)column };
	struct etw_error full;

	if (line > 0) {
		error_set(&full, ETW_ERROR_CONFIG, "%s:%zu:%zu: %s", tree->name, line, column,
			  sentence);
	} else {
		error_set(&full, ETW_ERROR_CONFIG, "%s: %s", tree->name, sentence);
	}
	problems_add(tree->problems, &place, full.text);
	if (err) {
		*err = full;
	}
	return false;
}

static bool event_error(const struct builder *builder, const yaml_event_t *event,
			struct etw_error *err, const char *sentence)
{
	return error_at(builder->tree, event->start_mark.line + 1, event->start_mark.column + 1,
			err, sentence);
}

/* Reports an error after which the rest of the file can still be read. */
static void refuse(struct builder *builder, const yaml_event_t *event, struct etw_error *err,
		   const char *sentence)
{
	builder->refused = true;
	event_error(builder, event, err, sentence);
}

static struct yaml_node *make_node(struct builder *builder, const yaml_event_t *event,
				   enum yaml_type type, struct etw_error *err)
{
	struct yaml_node *node;

	if (builder->tree->nodes >= YAML_NODES_MAX) {
		event_error(builder, event, err, "more than 100000 nodes");
		return NULL;
	}
	node = yaml_alloc(builder->tree, 1, sizeof *node, err);
	if (node) {
		builder->tree->nodes++;
		node->type = type;
		node->line = (uint32_t)event->start_mark.line + 1;
		node->column = (uint32_t)event->start_mark.column + 1;
	}
	return node;
}

/* Adds a key to those of the map; a key that is there already is an error. Returns false without
 * memory. */
static bool set_key(struct builder *builder, struct level *level, const struct yaml_node *key,
		    struct etw_error *err)
{
	uint64_t hash = text_hash(key->text, key->size, hash_seed());

	/* If another key has this hash, the next number is tried, so an equal key is found on
	 * the way. */
	for (;; hash++) {
		bool added;
		uint64_t *value = map_put(&level->keys, hash, &added);
		const struct yaml_node *other;

		if (!value) {
			return error_no_memory(err, builder->tree->name);
		}
		if (added) {
			*value = (uint64_t)(uintptr_t)key;
			break;
		}
		other = (const struct yaml_node *)(uintptr_t)*value;
		if (other->size == key->size && memcmp(other->text, key->text, key->size) == 0) {
			builder->refused = true;
			yaml_error(builder->tree, key, err, "'%s' appears twice, first in line %u",
				   key->text, (unsigned)other->line);
			break;
		}
	}
	level->key = key;
	return true;
}

/* Puts a node into the list or map under construction, or makes it the root. */
static bool attach_node(struct builder *builder, struct yaml_node *node, struct etw_error *err)
{
	struct level *level;

	if (builder->depth == 0) {
		builder->tree->root = node;
		return true;
	}
	level = &builder->levels[builder->depth - 1];
	if (level->node->type == YAML_MAP && !level->key) {
		if (node->type != YAML_TEXT) {
			return yaml_error(builder->tree, node, err, "a key must be text");
		}
		return set_key(builder, level, node, err);
	}
	node->key = level->key;
	level->key = NULL;
	if (level->last) {
		level->last->next = node;
	} else {
		level->node->first = node;
	}
	level->last = node;
	level->node->size++;
	return true;
}

static void check_plain(struct builder *builder, const yaml_event_t *event, bool anchor, bool tag,
			struct etw_error *err)
{
	if (anchor || tag) {
		refuse(builder, event, err,
		       anchor ? "anchors are not supported" : "tags are not supported");
	}
}

static bool attach_text(struct builder *builder, const yaml_event_t *event, const void *text,
			size_t size, bool quoted, struct etw_error *err)
{
	struct yaml_node *node = make_node(builder, event, YAML_TEXT, err);

	if (!node) {
		return false;
	}
	node->quoted = quoted;
	node->size = size;
	node->text = copy_text(builder->tree, text, size, err);
	return node->text && attach_node(builder, node, err);
}

bool yaml_is_null(const char *text, size_t size)
{
	static const char *const words[] = { "~", "null", "Null", "NULL" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strlen(words[i]) == size && memcmp(text, words[i], size) == 0) {
			return true;
		}
	}
	return false;
}

/* Returns whether the next node is a key of a map. */
static bool wants_key(const struct builder *builder)
{
	const struct level *level = builder->depth > 0 ? &builder->levels[builder->depth - 1] :
							 NULL;

	return level && level->node->type == YAML_MAP && !level->key;
}

static bool add_text(struct builder *builder, const yaml_event_t *event, struct etw_error *err)
{
	yaml_scalar_style_t style = event->data.scalar.style;
	bool nothing =
		style == YAML_PLAIN_SCALAR_STYLE && !wants_key(builder) &&
		yaml_is_null((const char *)event->data.scalar.value, event->data.scalar.length);

	check_plain(builder, event, event->data.scalar.anchor, event->data.scalar.tag, err);
	if (memchr(event->data.scalar.value, '\0', event->data.scalar.length)) {
		refuse(builder, event, err, "the text contains a NUL character");
	}
	if (style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE) {
		builder->last_quoted = (struct scalar_place){
			.line = event->start_mark.line + 1,
			.column = event->start_mark.column + 1,
			.end_line = event->end_mark.line + 1,
			.end = event->end_mark.index,
		};
	}
	return attach_text(builder, event, event->data.scalar.value,
			   nothing ? 0 : event->data.scalar.length,
			   style != YAML_PLAIN_SCALAR_STYLE, err);
}

static bool begin_collection(struct builder *builder, const yaml_event_t *event,
			     enum yaml_type type, bool anchor, bool tag, struct etw_error *err)
{
	struct yaml_node *node;

	check_plain(builder, event, anchor, tag, err);
	if (builder->depth == YAML_DEPTH_MAX) {
		return event_error(builder, event, err, "more than 32 levels");
	}
	node = make_node(builder, event, type, err);
	if (!node || !attach_node(builder, node, err)) {
		return false;
	}
	builder->levels[builder->depth++] = (struct level){ .node = node };
	return true;
}

static void end_collection(struct builder *builder)
{
	builder->depth--;
	map_done(&builder->levels[builder->depth].keys);
}

/* Processes one event of libyaml. Returns false if the rest of the file cannot be read. */
static bool read_event(struct builder *builder, const yaml_event_t *event, struct etw_error *err)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (builder->documents) {
			return event_error(builder, event, err,
					   "a second document; only one is allowed");
		}
		if (event->data.document_start.tag_directives.start !=
		    event->data.document_start.tag_directives.end) {
			refuse(builder, event, err, "tags are not supported");
		}
		builder->documents = true;
		return true;
	case YAML_ALIAS_EVENT:
		refuse(builder, event, err, "aliases are not supported");
		return attach_text(builder, event, "", 0, true, err);
	case YAML_SCALAR_EVENT:
		return add_text(builder, event, err);
	case YAML_SEQUENCE_START_EVENT:
		return begin_collection(builder, event, YAML_LIST,
					event->data.sequence_start.anchor,
					event->data.sequence_start.tag, err);
	case YAML_MAPPING_START_EVENT:
		return begin_collection(builder, event, YAML_MAP, event->data.mapping_start.anchor,
					event->data.mapping_start.tag, err);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		end_collection(builder);
		return true;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return true;
}

/* ---- what libyaml refuses, in plain words ---- */

/*
 * Messages of libyaml 0.2 for the most frequent mistakes. %zu becomes the line of the context,
 * which is where the list, map or text began that libyaml was reading.
 */
static const struct wording {
	const char *problem; /* start of libyaml's message */
	const char *context; /* start of its context; NULL: any */
	bool at_context;     /* report the place of the context, not that of the problem */
	const char *sentence;
} wordings[] = {
	{ "found unexpected end of stream", "while scanning a quoted scalar", true,
	  "the quote that opens here is not closed" },
	{ "found unexpected document indicator", "while scanning a quoted scalar", true,
	  "the quote that opens here is not closed" },
	{ "found unknown escape character", NULL, false,
	  "an unknown escape in double quotes: write \\\\ for \\, or use single quotes" },
	{ "did not find expected hexdecimal number", NULL, false,
	  "an escape such as \\x in double quotes lacks its digits: write \\\\ for \\, or use single "
	  "quotes" },
	{ "did not find expected ',' or ']'", NULL, false,
	  "',' or ']' is missing: the list that begins with '[' in line %zu is still open here" },
	{ "did not find expected ',' or '}'", NULL, false,
	  "',' or '}' is missing: the map that begins with '{' in line %zu is still open here" },
	{ "did not find expected key", NULL, false,
	  "expected a key, indented as the other keys of the map that begins in line %zu" },
	{ "did not find expected '-' indicator", NULL, false,
	  "expected '- ', indented as in the other lines of the list that begins in line %zu" },
	{ "could not find expected ':'", NULL, true,
	  "this looks like a key, but no ':' and blank follow it" },
	{ "mapping values are not allowed", NULL, false,
	  "a second ': ' in one entry: put text with ': ' in it in quotes, and a key in a line of its "
	  "own" },
	{ "block sequence entries are not allowed", NULL, false,
	  "'- ' begins a list, which is not allowed here: it needs a line of its own below its key" },
	{ "mapping keys are not allowed", NULL, false, "'? ' is not allowed here; put it in quotes" },
	{ "did not find expected <document start>", NULL, false,
	  "expected the end of the file: the lines before this one are complete" },
	{ "did not find expected node content", NULL, false, "expected a value" },
	{ "found a tab character", NULL, false, "a tab cannot indent YAML: use blanks" },
	{ "found character that cannot start any token", NULL, false,
	  "text cannot begin with this character: put it in quotes" },
	{ "invalid leading UTF-8 octet", NULL, false, "the file is not in UTF-8" },
	{ "invalid trailing UTF-8 octet", NULL, false, "the file is not in UTF-8" },
	{ "incomplete UTF-8 octet sequence", NULL, false, "the file is not in UTF-8" },
	{ "control characters are not allowed", NULL, false,
	  "a control character, which YAML does not allow" },
};

static const struct wording *find_wording(const yaml_parser_t *parser)
{
	for (size_t i = 0; i < sizeof wordings / sizeof wordings[0]; i++) {
		const struct wording *w = &wordings[i];

		if (strncmp(parser->problem, w->problem, strlen(w->problem)) == 0 &&
		    (!w->context || (parser->context && strncmp(parser->context, w->context,
								strlen(w->context)) == 0))) {
			return w;
		}
	}
	return NULL;
}

/* Copies a sentence and replaces its "%zu" by a line number. */
static void put_line(char *out, size_t size, const char *sentence, size_t line)
{
	const char *number = strstr(sentence, "%zu");

	if (number) {
		snprintf(out, size, "%.*s%zu%s", (int)(number - sentence), sentence, line,
			 number + strlen("%zu"));
	} else {
		snprintf(out, size, "%s", sentence);
	}
}

/* Returns whether the white space at the start of a line (from 0) contains a tab. */
static bool is_indented_by_tab(const char *text, size_t size, size_t line)
{
	const char *at = text, *end = text + size;

	while (line > 0 && at < end) {
		line -= *at++ == '\n';
	}
	while (at < end && *at == ' ') {
		at++;
	}
	return at < end && *at == '\t';
}

/* Reports a syntax error of libyaml, with a message of the table above if one fits. */
static bool parser_error(const struct builder *builder, const yaml_parser_t *parser,
			 const char *text, size_t size, struct etw_error *err)
{
	const struct yaml_tree *tree = builder->tree;
	const struct scalar_place *quoted = &builder->last_quoted;
	yaml_mark_t mark = parser->problem_mark;
	const struct wording *wording;
	char sentence[256];

	if (parser->error == YAML_MEMORY_ERROR || !parser->problem) {
		return error_no_memory(err, tree->name);
	}
	if (parser->error == YAML_READER_ERROR) {
		mark = parser->mark; /* there is no problem_mark; this place is a little after the
					error */
	} else if (quoted->line < quoted->end_line && quoted->end_line == mark.line + 1) {
		/* Words follow a text of several lines: its opening quote probably lacks its
		 * end, so that the next quote closed it. */
		snprintf(sentence, sizeof sentence,
			 "the quote that opens here is closed in line %zu only: one is missing",
			 quoted->end_line);
		return error_at(tree, quoted->line, quoted->column, err, sentence);
	} else if (quoted->line == mark.line + 1 && mark.index <= quoted->end + 1) {
		return error_at(tree, mark.line + 1, mark.column + 1, err,
				"text after the closing quote: put all of it in quotes, with a "
				"quote in it written twice");
	} else if (is_indented_by_tab(text, size, mark.line)) {
		return error_at(tree, mark.line + 1, 1, err,
				"a tab cannot indent YAML: use blanks");
	}
	wording = find_wording(parser);
	if (!wording) {
		return error_at(tree, mark.line + 1, mark.column + 1, err, parser->problem);
	}
	if (wording->at_context) {
		mark = parser->context_mark;
	}
	put_line(sentence, sizeof sentence, wording->sentence, parser->context_mark.line + 1);
	return error_at(tree, mark.line + 1, mark.column + 1, err, sentence);
}

static bool build(struct yaml_tree *tree, const char *text, size_t size, struct etw_error *err)
{
	struct builder builder = { .tree = tree };
	yaml_parser_t parser;
	yaml_event_t event;
	bool good = true, more = true;

	if (!yaml_parser_initialize(&parser)) {
		return error_no_memory(err, tree->name);
	}
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	while (good && more) {
		if (!yaml_parser_parse(&parser, &event)) {
			good = parser_error(&builder, &parser, text, size, err);
			break;
		}
		good = read_event(&builder, &event, err);
		more = event.type != YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	while (builder.depth > 0) {
		end_collection(&builder);
	}
	return good && !builder.refused;
}

struct yaml_tree *yaml_open_text(const char *name, const char *text, size_t size,
				 struct problems *problems, struct etw_error *err)
{
	struct yaml_tree *tree = calloc(1, sizeof *tree);
	struct etw_error why = { 0 };
	char sentence[64];

	if (!tree) {
		error_no_memory(err, name);
		return NULL;
	}
	tree->problems = problems ? problems : &tree->own_problems;
	tree->file = problems_new_file(tree->problems);
	tree->name = name;
	tree->name = copy_text(tree, name, strlen(name), &why);
	if (!tree->name) {
		goto fail;
	}
	if (size > YAML_FILE_SIZE_MAX) {
		snprintf(sentence, sizeof sentence, "has %zu bytes; at most 1 MiB is possible",
			 size);
		error_at(tree, 0, 0, &why, sentence);
		goto fail;
	}
	if (!build(tree, text, size, &why)) {
		goto fail;
	}
	/* An empty file, or one with comments only, is a map without keys. */
	if (!tree->root ||
	    (tree->root->type == YAML_TEXT && tree->root->size == 0 && !tree->root->quoted)) {
		tree->root = yaml_alloc(tree, 1, sizeof *tree->root, &why);
		if (!tree->root) {
			goto fail;
		}
		*tree->root = (struct yaml_node){ .type = YAML_MAP, .line = 1, .column = 1 };
	}
	return tree;

fail:
	if (why.code == ETW_ERROR_CONFIG) {
		problems_first_error(tree->problems, &why);
	}
	if (err) {
		*err = why;
	}
	yaml_close(tree);
	return NULL;
}

struct yaml_tree *yaml_open_file(const char *path, const char *name, struct problems *problems,
				 struct etw_error *err)
{
	struct yaml_tree *tree;
	struct etw_error why;
	char *text;
	size_t size;

	if (!file_read_whole(path, YAML_FILE_SIZE_MAX, &text, &size, &why)) {
		error_prefix(&why, "%s", name);
		if (problems && why.code == ETW_ERROR_CONFIG) {
			problems_add_file(problems, why.text, false);
		}
		if (err) {
			*err = why;
		}
		return NULL;
	}
	tree = yaml_open_text(name, text, size, problems, err);
	free(text);
	return tree;
}

void yaml_close(struct yaml_tree *tree)
{
	if (!tree) {
		return;
	}
	while (tree->chunks) {
		struct chunk *next = tree->chunks->next;

		free(tree->chunks);
		tree->chunks = next;
	}
	problems_done(&tree->own_problems);
	free(tree);
}

const struct yaml_node *yaml_root(const struct yaml_tree *tree)
{
	return tree->root;
}

const char *yaml_name(const struct yaml_tree *tree)
{
	return tree->name;
}

struct problems *yaml_problems(const struct yaml_tree *tree)
{
	return tree->problems;
}

enum { SENTENCE_SIZE = 1024 };

static void write_sentence(char sentence[SENTENCE_SIZE], const char *format, va_list args)
	ETW_PRINTF_LIKE(2, 0);

static void write_sentence(char sentence[SENTENCE_SIZE], const char *format, va_list args)
{
	if (vsnprintf(sentence, SENTENCE_SIZE, format, args) < 0) {
		sentence[0] = '\0';
	}
}

bool yaml_error(const struct yaml_tree *tree, const struct yaml_node *at, struct etw_error *err,
		const char *format, ...)
{
	char sentence[SENTENCE_SIZE];
	va_list args;

	va_start(args, format);
	write_sentence(sentence, format, args);
	va_end(args);
	return error_at(tree, at->line, at->column, err, sentence);
}

void yaml_warning(const struct yaml_tree *tree, const struct yaml_node *at, const char *format, ...)
{
	const struct problem place = {
		.file = tree->file, .line = at->line, .column = at->column, .warning = true
	};
	char sentence[SENTENCE_SIZE];
	struct etw_error full;
	va_list args;

	va_start(args, format);
	write_sentence(sentence, format, args);
	va_end(args);
	error_set(&full, ETW_ERROR_CONFIG, "%s:%u:%u: warning: %s", tree->name, (unsigned)at->line,
		  (unsigned)at->column, sentence);
	problems_add(tree->problems, &place, full.text);
}

bool yaml_describe(const struct yaml_tree *tree, const struct yaml_node *at, struct etw_error *err,
		   const char *format, ...)
{
	char sentence[SENTENCE_SIZE];
	va_list args;

	va_start(args, format);
	write_sentence(sentence, format, args);
	va_end(args);
	return error_set(err, ETW_ERROR_CONFIG, "%s:%u:%u: %s", tree->name, (unsigned)at->line,
			 (unsigned)at->column, sentence);
}

const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key)
{
	for (const struct yaml_node *entry = map->first; entry; entry = entry->next) {
		if (entry->key && strcmp(entry->key->text, key) == 0) {
			return entry;
		}
	}
	return NULL;
}

bool yaml_equal(const struct yaml_node *a, const struct yaml_node *b)
{
	const struct yaml_node *x, *y;

	if (!a || !b) {
		return a == b;
	}
	if (a->type != b->type || a->size != b->size) {
		return false;
	}
	if (a->type == YAML_TEXT) {
		return memcmp(a->text, b->text, a->size) == 0;
	}
	for (x = a->first, y = b->first; x && y; x = x->next, y = y->next) {
		if (!yaml_equal(x->key, y->key) || !yaml_equal(x, y)) {
			return false;
		}
	}
	return x == y;
}
