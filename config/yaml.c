/* SPDX-License-Identifier: MIT */
/*
 * Builds the tree of a YAML file from libyaml's events. No other file includes libyaml.
 *
 * libyaml reports a document as a flat sequence of events: a scalar, the start of a list, its end.
 * The builder keeps the lists and maps that have started and not ended on a stack of levels, and
 * place() puts each new node into the innermost of them, or makes it the root. In a map, nodes are
 * alternately a key and its value; the level remembers the key until its value arrives.
 *
 * libyaml accepts a key twice, so each level of a map has a table of the hashes of its keys. The
 * hash has a random seed, because a file could otherwise be written whose keys all collide. Depth,
 * size and number of nodes are bounded for the same reason: a small file must not cost much.
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

/* A piece of the memory of a tree, which is freed all at once. */
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
};

/* One list or map under construction. */
struct level {
	struct yaml_node *node;
	struct yaml_node *last;      /* its last entry so far */
	const struct yaml_node *key; /* read, its value not yet */
	struct map keys;             /* hash of a key -> the key's node; of maps */
};

struct builder {
	struct yaml_tree *tree;
	struct level levels[YAML_DEPTH_MAX];
	unsigned depth;
	bool documents;
};

void *yaml_alloc(struct yaml_tree *tree, size_t count, size_t size, struct error *err)
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
			     struct error *err)
{
	char *copy = yaml_alloc(tree, size + 1, 1, err);

	if (copy) {
		memcpy(copy, text, size);
	}
	return copy;
}

static bool error_at(const struct yaml_tree *tree, size_t line, size_t column, struct error *err,
		     const char *sentence)
{
	return error_set(err, ERROR_CONFIG, "%s:%zu:%zu: %s", tree->name, line, column, sentence);
}

static bool event_error(const struct builder *builder, const yaml_event_t *event, struct error *err,
			const char *sentence)
{
	return error_at(builder->tree, event->start_mark.line + 1, event->start_mark.column + 1,
			err, sentence);
}

static struct yaml_node *make_node(struct builder *builder, const yaml_event_t *event,
				   enum yaml_type type, struct error *err)
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

/* Remembers the key of the map. An error if the map has it already. */
static bool take_key(struct builder *builder, struct level *level, const struct yaml_node *key,
		     struct error *err)
{
	uint64_t hash = text_hash(key->text, key->size, hash_seed());

	/* Two keys of one hash take the next number; equal texts meet on the way. */
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
			return yaml_error(builder->tree, key, err,
					  "'%s' stands twice, first in line %u", key->text,
					  (unsigned)other->line);
		}
	}
	level->key = key;
	return true;
}

/* Puts a node where it belongs: into the list or map under construction, or at the root. */
static bool place(struct builder *builder, struct yaml_node *node, struct error *err)
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
		return take_key(builder, level, node, err);
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

static bool check_plain(const struct builder *builder, const yaml_event_t *event, bool anchor,
			bool tag, struct error *err)
{
	return (!anchor && !tag) ||
	       event_error(builder, event, err,
			   anchor ? "anchors are not supported" : "tags are not supported");
}

static bool add_text(struct builder *builder, const yaml_event_t *event, struct error *err)
{
	struct yaml_node *node;

	if (!check_plain(builder, event, event->data.scalar.anchor, event->data.scalar.tag, err)) {
		return false;
	}
	if (memchr(event->data.scalar.value, '\0', event->data.scalar.length)) {
		return event_error(builder, event, err, "text with a NUL in it");
	}
	node = make_node(builder, event, YAML_TEXT, err);
	if (!node) {
		return false;
	}
	node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	node->size = event->data.scalar.length;
	node->text = copy_text(builder->tree, event->data.scalar.value, node->size, err);
	return node->text && place(builder, node, err);
}

static bool begin(struct builder *builder, const yaml_event_t *event, enum yaml_type type,
		  bool anchor, bool tag, struct error *err)
{
	struct yaml_node *node;

	if (!check_plain(builder, event, anchor, tag, err)) {
		return false;
	}
	if (builder->depth == YAML_DEPTH_MAX) {
		return event_error(builder, event, err, "more than 32 levels");
	}
	node = make_node(builder, event, type, err);
	if (!node || !place(builder, node, err)) {
		return false;
	}
	builder->levels[builder->depth++] = (struct level){ .node = node };
	return true;
}

static void end(struct builder *builder)
{
	builder->depth--;
	map_done(&builder->levels[builder->depth].keys);
}

static bool take_event(struct builder *builder, const yaml_event_t *event, struct error *err)
{
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (builder->documents) {
			return event_error(builder, event, err,
					   "a second document; one is allowed");
		}
		if (event->data.document_start.tag_directives.start !=
		    event->data.document_start.tag_directives.end) {
			return event_error(builder, event, err, "tags are not supported");
		}
		builder->documents = true;
		return true;
	case YAML_ALIAS_EVENT:
		return event_error(builder, event, err, "aliases are not supported");
	case YAML_SCALAR_EVENT:
		return add_text(builder, event, err);
	case YAML_SEQUENCE_START_EVENT:
		return begin(builder, event, YAML_LIST, event->data.sequence_start.anchor,
			     event->data.sequence_start.tag, err);
	case YAML_MAPPING_START_EVENT:
		return begin(builder, event, YAML_MAP, event->data.mapping_start.anchor,
			     event->data.mapping_start.tag, err);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		end(builder);
		return true;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return true;
}

static bool parser_error(const struct yaml_tree *tree, const yaml_parser_t *parser,
			 struct error *err)
{
	size_t line = parser->problem_mark.line, column = parser->problem_mark.column;

	if (parser->error == YAML_MEMORY_ERROR) {
		return error_no_memory(err, tree->name);
	}
	if (parser->error == YAML_READER_ERROR) {
		/* It sets no problem_mark. The parser's mark is a little behind the reader. */
		line = parser->mark.line;
		column = parser->mark.column;
	}
	return error_at(tree, line + 1, column + 1, err,
			parser->problem ? parser->problem : "not YAML");
}

static bool build(struct yaml_tree *tree, const char *text, size_t size, struct error *err)
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
			good = parser_error(tree, &parser, err);
			break;
		}
		good = take_event(&builder, &event, err);
		more = event.type != YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	while (builder.depth > 0) {
		end(&builder);
	}
	return good;
}

struct yaml_tree *yaml_open_text(const char *name, const char *text, size_t size, struct error *err)
{
	struct yaml_tree *tree = calloc(1, sizeof *tree);

	if (!tree) {
		error_no_memory(err, name);
		return NULL;
	}
	tree->name = name;
	tree->name = copy_text(tree, name, strlen(name), err);
	if (!tree->name) {
		goto fail;
	}
	if (size > YAML_FILE_SIZE_MAX) {
		error_set(err, ERROR_CONFIG, "%s: %zu bytes; a file may have 1 MiB", name, size);
		goto fail;
	}
	if (!build(tree, text, size, err)) {
		goto fail;
	}
	/* An empty file, or one of comments, says nothing: a map without keys. */
	if (!tree->root ||
	    (tree->root->type == YAML_TEXT && tree->root->size == 0 && !tree->root->quoted)) {
		tree->root = yaml_alloc(tree, 1, sizeof *tree->root, err);
		if (!tree->root) {
			goto fail;
		}
		*tree->root = (struct yaml_node){ .type = YAML_MAP, .line = 1, .column = 1 };
	}
	return tree;

fail:
	yaml_close(tree);
	return NULL;
}

struct yaml_tree *yaml_open_file(const char *path, const char *name, struct error *err)
{
	struct yaml_tree *tree;
	char *text;
	size_t size;

	if (!file_read_whole(path, YAML_FILE_SIZE_MAX, &text, &size, err)) {
		error_prefix(err, "%s", name);
		return NULL;
	}
	tree = yaml_open_text(name, text, size, err);
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

bool yaml_error(const struct yaml_tree *tree, const struct yaml_node *at, struct error *err,
		const char *format, ...)
{
	char sentence[1024];
	va_list args;

	va_start(args, format);
	if (vsnprintf(sentence, sizeof sentence, format, args) < 0) {
		sentence[0] = '\0';
	}
	va_end(args);
	return error_at(tree, at->line, at->column, err, sentence);
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
