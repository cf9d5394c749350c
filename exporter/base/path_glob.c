/* SPDX-License-Identifier: MIT */
/*
 * A pattern is a row of tokens, and matching keeps the set of places in the row that the path read
 * so far can lead to. So nothing is ever tried twice, and a path that leaves a literal beginning
 * ends the matching there.
 */
#include "base/path_glob.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum token_type {
	TOKEN_BYTE,
	TOKEN_CHARACTER,  /* ? */
	TOKEN_COMPONENT,  /* * */
	TOKEN_ANYTHING,   /* ** */
	TOKEN_COMPONENTS, /* before the two tokens of `**\`, which may be left out together */
};

struct token {
	uint8_t type; /* enum token_type */
	char byte;    /* lower case */
};

struct path_glob {
	unsigned count;
	struct token tokens[PATH_GLOB_SIZE_MAX]; /* a token takes a byte of the pattern or more */
};

/* Places from low to high (excluded) that may be reached; those outside are not. */
struct places {
	unsigned low, high;
	bool reached[PATH_GLOB_SIZE_MAX + 1];
};

static char plain(char c)
{
	return c == '/' ? '\\' : ascii_lower(c);
}

static void add_token(struct path_glob *glob, enum token_type type, char byte)
{
	glob->tokens[glob->count++] = (struct token){ (uint8_t)type, byte };
}

static void compile(struct path_glob *glob, const char *pattern, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		char c = plain(pattern[i]);

		if (c == '?') {
			add_token(glob, TOKEN_CHARACTER, 0);
		} else if (c != '*') {
			add_token(glob, TOKEN_BYTE, c);
		} else if (i + 1 == size || pattern[i + 1] != '*') {
			add_token(glob, TOKEN_COMPONENT, 0);
		} else {
			bool whole = (i == 0 || plain(pattern[i - 1]) == '\\') && i + 2 < size &&
				     plain(pattern[i + 2]) == '\\';

			if (whole) { /* its backslash becomes the third of these tokens */
				add_token(glob, TOKEN_COMPONENTS, 0);
			}
			add_token(glob, TOKEN_ANYTHING, 0);
			i++;
		}
	}
}

struct path_glob *path_glob_new(const char *pattern, struct error *err)
{
	struct path_glob *glob = calloc(1, sizeof *glob);
	size_t size = strlen(pattern);

	if (!glob) {
		error_set(err, ERROR_NO_MEMORY, "no memory for a pattern of paths");
		return NULL;
	}
	compile(glob, pattern, size < PATH_GLOB_SIZE_MAX ? size : PATH_GLOB_SIZE_MAX);
	return glob;
}

void path_glob_free(struct path_glob *glob)
{
	free(glob);
}

static void reach(struct places *places, unsigned place)
{
	places->reached[place] = true;
	places->low = place < places->low ? place : places->low;
	places->high = place >= places->high ? place + 1 : places->high;
}

/* Adds what is reached without reading a byte. */
static void skip(const struct path_glob *glob, struct places *places)
{
	for (unsigned i = places->low; i < places->high && i < glob->count; i++) {
		enum token_type type = (enum token_type)glob->tokens[i].type;

		if (!places->reached[i] || type == TOKEN_BYTE || type == TOKEN_CHARACTER) {
			continue;
		}
		reach(places, i + 1);
		if (type == TOKEN_COMPONENTS) {
			reach(places, i + 3);
		}
	}
}

static void read_byte(const struct path_glob *glob, const struct places *from, struct places *to,
		      char c)
{
	/* A character of several bytes is one: what follows its first one changes nothing. */
	bool goes_on = ((unsigned char)c & 0xc0) == 0x80;

	for (unsigned i = from->low; i < from->high; i++) {
		if (!from->reached[i]) {
			continue;
		}
		if (goes_on && i > 0 && glob->tokens[i - 1].type == TOKEN_CHARACTER) {
			reach(to, i);
		}
		if (i == glob->count) {
			break;
		}
		switch ((enum token_type)glob->tokens[i].type) {
		case TOKEN_BYTE:
			if (glob->tokens[i].byte == c) {
				reach(to, i + 1);
			}
			break;
		case TOKEN_CHARACTER:
			if (c != '\\' && !goes_on) {
				reach(to, i + 1);
			}
			break;
		case TOKEN_COMPONENT:
			if (c != '\\') {
				reach(to, i);
			}
			break;
		case TOKEN_ANYTHING:
			reach(to, i);
			break;
		case TOKEN_COMPONENTS:
			break;
		}
	}
}

static void clear(struct places *places)
{
	if (places->high > places->low) {
		memset(places->reached + places->low, 0, places->high - places->low);
	}
	places->low = PATH_GLOB_SIZE_MAX + 1;
	places->high = 0;
}

bool path_glob_matches(const struct path_glob *glob, const char *path, size_t size)
{
	struct places sets[2] = { 0 };
	struct places *at = &sets[0], *next = &sets[1];

	clear(at);
	clear(next);
	reach(at, 0);
	skip(glob, at);
	for (size_t i = 0; i < size && at->high > 0; i++) {
		struct places *read = at;

		read_byte(glob, at, next, plain(path[i]));
		skip(glob, next);
		clear(at);
		at = next;
		next = read;
	}
	return at->reached[glob->count];
}
