/* SPDX-License-Identifier: MIT */
/* Writes the files of the kit, with pseudonyms in context of names. */
#include "selftest/kit_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"

/* ---- pseudonyms ---- */

/*
 * Replaces names of the machine, of users and in paths by pseudonyms.
 *
 * A text is read once, from left to right. At the beginning of each word the code decides whether
 * it is a name of the list, an account's identifier, the beginning of a path, or a word that stays.
 * A path is read part by part up to a character that ends it. A name of a file may have spaces,
 * commas, braces, equals signs and apostrophes in it, so these end a path only if the context shows
 * it. An apostrophe ends a path that follows an apostrophe; the next field of a log line ends a
 * path that follows an equals sign; neither ends a path between double quotes. A colon is part of a
 * path if it may begin the name of a stream.
 *
 * In expositions, JSON and the log a backslash is written twice, and \" is a quote inside a value.
 * In a table a backslash is written once, and \" ends a path and its value. The number of
 * backslashes in the separator before it shows which form the text has. Therefore a run of
 * separators counts as one and is copied unchanged.
 *
 * Pseudonyms are numbers in the order of the first occurrence. They are stored under a hash of the
 * name that ignores case, as Windows does when it compares names. Two names with the same hash
 * would share a pseudonym, which makes the text less precise but discloses nothing.
 */

enum { NAMES_MAX = 256, EXTENSION_MAX = 4, DRIVE_SIZE = 2 };

struct mask_name {
	char *name;
	const char *pseudonym;
	size_t size;
};

struct kit_mask {
	struct mask_name names[NAMES_MAX];
	size_t name_count;
	struct map parts; /* hash of a part of a path -> its number */
	struct map accounts;
};

/* A text that is being read, with what is known about its quotes. */
struct text_reading {
	const char *text, *end;
	bool quoted;        /* the position is between double quotes; a line ends them */
	const char *closes; /* the quote that ends the value, even if a backslash precedes it */
};

/* The context of a path, which determines how it ends. */
struct path_context {
	char opened; /* the character before the path; NUL: there is none */
	bool quoted;
};

/* Parts of paths that stay, because every machine has them. */
static const char *const public_parts[] = {
	"Device",        "??",
	"Mup",           "NamedPipe",
	"Windows",       "SystemRoot",
	"System32",      "SysWOW64",
	"drivers",       "Users",
	"ProgramData",   "GLOBAL??",
	"Program Files", "Program Files (x86)",
	"AppData",       "LanmanRedirector",
};

struct kit_mask *kit_mask_new(void)
{
	return calloc(1, sizeof(struct kit_mask));
}

void kit_mask_free(struct kit_mask *mask)
{
	if (mask) {
		for (size_t i = 0; i < mask->name_count; i++) {
			free(mask->names[i].name);
		}
		map_done(&mask->parts);
		map_done(&mask->accounts);
		free(mask);
	}
}

bool kit_mask_name(struct kit_mask *mask, const char *name, const char *pseudonym)
{
	size_t size = strlen(name);
	char *copy;

	if (size < 2) {
		return true;
	}
	copy = mask->name_count < NAMES_MAX ? text_duplicate(name, size) : NULL;
	if (!copy) {
		return false;
	}
	mask->names[mask->name_count++] =
		(struct mask_name){ .name = copy, .pseudonym = pseudonym, .size = size };
	return true;
}

/* ---- characters ---- */

static bool is_alphanumeric(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       ((unsigned char)c & 0x80) != 0;
}

static bool in_word(char c)
{
	return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == '$';
}

/* Returns whether the character at `at` ends a path. */
static bool ends_path(const char *at, const char *end, struct path_context context)
{
	switch (*at) {
	case ':': /* "a.txt:stream" does not end at the colon */
		return at + 1 == end || !is_alphanumeric(at[1]);
	case '\'': /* "Anna's" does not end at the apostrophe */
		return context.opened == '\'' && !context.quoted &&
		       (at + 1 == end || !is_alphanumeric(at[1]));
	default:
		return *at == '\0' || strchr("\n\r\t\"|<>*", *at) != NULL;
	}
}

/* Returns whether " name=" follows, the next field of a log line. */
static bool field_follows(const char *at, const char *end)
{
	if (at == end || *at != ' ') {
		return false;
	}
	for (at++; at < end && ((*at >= 'a' && *at <= 'z') || *at == '_'); at++) {
	}
	return at < end && *at == '=';
}

static bool is_separator(char c, bool slashes)
{
	return c == '\\' || (slashes && c == '/');
}

static bool path_ends(const char *at, const char *end, struct path_context context)
{
	return at == end || ends_path(at, end, context) ||
	       (context.opened == '=' && !context.quoted && field_follows(at, end));
}

/* Returns whether a backslash escapes the quote at `at`: \". */
static bool is_escaped(const char *text, const char *at)
{
	const char *from = at;

	while (from > text && from[-1] == '\\') {
		from--;
	}
	return (at - from) % 2 == 1;
}

/* ---- parts of paths ---- */

static bool is_public(const char *part, size_t size)
{
	static const char volume[] = "HarddiskVolume";

	if (size > sizeof volume - 1 && text_starts_nocase(part, size, volume, sizeof volume - 1)) {
		return true;
	}
	for (size_t i = 0; i < sizeof public_parts / sizeof public_parts[0]; i++) {
		if (text_equal_nocase(part, size, public_parts[i], strlen(public_parts[i]))) {
			return true;
		}
	}
	return false;
}

static size_t extension_size(const char *part, size_t size)
{
	size_t extension = 0;

	while (extension < size && extension < EXTENSION_MAX &&
	       is_alphanumeric(part[size - 1 - extension])) {
		extension++;
	}
	return extension > 0 && extension + 1 < size && part[size - 1 - extension] == '.' ?
		       extension + 1 :
		       0;
}

/* Returns the number of a text and assigns one to a new text. Returns 0 without memory. */
static uint64_t number_of(struct map *map, const char *text, size_t size)
{
	bool added = false;
	uint64_t *number = map_put(map, text_hash_nocase(text, size, 0), &added);

	if (number && added) {
		*number = map->count;
	}
	return number ? *number : 0;
}

/* Adds a part of a path or its pseudonym. Only the last part keeps its extension, because that of a
 * folder may be a name ("anna.lee"). */
static void add_part(struct kit_mask *mask, struct etw_text *out, const char *part, size_t size,
		     bool last)
{
	size_t extension = last ? extension_size(part, size) : 0;

	if (size == 0 || is_public(part, size)) {
		text_add(out, part, size);
		return;
	}
	for (size_t i = 0; i < mask->name_count; i++) {
		if (text_equal_nocase(part, size, mask->names[i].name, mask->names[i].size)) {
			text_add_string(out, mask->names[i].pseudonym);
			return;
		}
	}
	text_add_format(out, "name%" PRIu64, number_of(&mask->parts, part, size));
	text_add(out, part + size - extension, extension);
}

/*
 * Copies separators and replaces parts until the path ends; returns what follows. The path begins
 * at `start`, and its first separator or part at `at`.
 */
static const char *add_path(struct kit_mask *mask, struct etw_text *out,
			    struct text_reading *reading, const char *start, const char *at,
			    bool slashes)
{
	const struct path_context context = { .opened = start > reading->text ? start[-1] : '\0',
					      .quoted = reading->quoted };
	const char *end = reading->end;
	size_t run = 0, former = 0; /* lengths of the separators before the last part and before the
				       part before it */

	while (!path_ends(at, end, context)) {
		const char *from = at;

		while (at < end && is_separator(*at, slashes)) {
			at++;
		}
		text_add(out, from, (size_t)(at - from));
		if (from > start) { /* the first separator does not count: two always precede a
				       machine's name */
			former = run;
			run = (size_t)(at - from);
		}
		from = at;
		while (!path_ends(at, end, context) && !is_separator(*at, slashes)) {
			at++;
		}
		add_part(mask, out, from, (size_t)(at - from),
			 at == end || !is_separator(*at, slashes));
	}
	if (at < end && *at == '"' && is_escaped(reading->text, at) &&
	    (former > 0 ? former % 2 == 1 :
			  context.opened == '"' && !is_escaped(reading->text, start - 1))) {
		reading->closes = at;
	}
	return at;
}

/* ---- words ---- */

static const struct mask_name *listed(const struct kit_mask *mask, const char *at, const char *end)
{
	const struct mask_name *longest = NULL;

	for (size_t i = 0; i < mask->name_count; i++) {
		const struct mask_name *name = &mask->names[i];

		if (name->size <= (size_t)(end - at) &&
		    text_equal_nocase(at, name->size, name->name, name->size) &&
		    (at + name->size == end || !is_alphanumeric(at[name->size])) &&
		    (!longest || name->size > longest->size)) {
			longest = name;
		}
	}
	return longest;
}

static const char *add_account(struct kit_mask *mask, struct etw_text *out, const char *at,
			       const char *end)
{
	/* Accounts of a machine or domain, and of Microsoft Entra ID, begin so. */
	static const char *const starts[] = { "S-1-5-21-", "S-1-12-1-" };
	const char *from = at;

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		size_t size = strlen(starts[i]);

		if (!text_starts_nocase(from, (size_t)(end - from), starts[i], size)) {
			continue;
		}
		for (at += size; at < end && ((*at >= '0' && *at <= '9') || *at == '-'); at++) {
		}
		text_add_format(out, "%saccount%" PRIu64, starts[i],
				number_of(&mask->accounts, from, (size_t)(at - from)));
		break;
	}
	return at;
}

/* Adds the word that begins at `at`, or its pseudonym. Returns the position after it. */
static const char *add_word(struct kit_mask *mask, struct etw_text *out,
			    struct text_reading *reading, const char *at)
{
	const char *end = reading->end;
	const struct mask_name *name = listed(mask, at, end);
	const char *next = add_account(mask, out, at, end);

	if (next > at) {
		return next;
	}
	if (end - at > DRIVE_SIZE && is_alphanumeric(at[0]) && at[1] == ':' &&
	    (at[2] == '\\' || at[2] == '/')) {
		text_add(out, at, DRIVE_SIZE);
		return add_path(mask, out, reading, at, at + DRIVE_SIZE, true);
	}
	for (next = at; next < end && in_word(*next); next++) {
	}
	if (next < end && *next == '\\') {
		return add_path(mask, out, reading, at, at, false);
	}
	if (name) {
		text_add_string(out, name->pseudonym);
		return at + name->size;
	}
	/* A name of the list may follow a character that is not alphanumeric: "_NAME". */
	for (next = at; next < end && is_alphanumeric(*next); next++) {
	}
	next += next == at;
	text_add(out, at, (size_t)(next - at));
	return next;
}

void kit_mask_add(struct kit_mask *mask, struct etw_text *out, const char *text, size_t size)
{
	struct text_reading reading = { .text = text, .end = text + size };

	for (const char *at = text; at < reading.end;) {
		if (*at == '\n') {
			reading.quoted = false;
		} else if (*at == '"' && (at == reading.closes || !is_escaped(text, at))) {
			reading.quoted = !reading.quoted;
		}
		at = add_word(mask, out, &reading, at);
	}
}

/* ---- the folder ---- */

enum { FILES_MAX = 64, RUNS_MAX = 1000 };

struct kit_files {
	char *folder;          /* owned */
	struct kit_mask *mask; /* borrowed */
	struct {
		const char *name, *what;
	} files[FILES_MAX];
	size_t count;
	struct etw_text failures;
};

/* A callback of os_folder_list(); returns false at the first name that is not a dot entry. */
static bool is_dots(void *context, const char *name)
{
	(void)context;
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool is_empty(const char *folder)
{
	return os_folder_list(folder, is_dots, NULL);
}

/* Returns `folder`, or the path of a new one in it if it has files. Returns NULL on failure. */
static char *choose_folder(const char *folder, struct etw_error *err)
{
	struct etw_text path = { 0 };
	bool made;

	if (!os_folder_make(folder, NULL, err)) {
		return NULL;
	}
	text_add_string(&path, folder);
	made = is_empty(folder);
	/* A folder of that name that is there already may be a link. */
	for (unsigned run = 2; !path.failed && !made; run++) {
		text_clear(&path);
		text_add_format(&path, "%s/run-%u", folder, run);
		if (run > RUNS_MAX) {
			error_set(err, ETW_ERROR_LIMIT, "%s has more than %d runs", folder,
				  (int)RUNS_MAX);
			text_free(&path);
			return NULL;
		}
		if (!path.failed && !os_folder_make(path.data, &made, err)) {
			text_free(&path);
			return NULL;
		}
	}
	if (path.failed) {
		error_no_memory(err, "the folder of the results");
		text_free(&path);
	}
	return path.data;
}

struct kit_files *kit_files_open(const char *folder, struct kit_mask *mask, struct etw_error *err)
{
	struct kit_files *files = calloc(1, sizeof *files);

	if (!files) {
		error_no_memory(err, "the results");
		return NULL;
	}
	files->mask = mask;
	files->folder = choose_folder(folder, err);
	if (!files->folder) {
		free(files);
		return NULL;
	}
	return files;
}

void kit_files_free(struct kit_files *files)
{
	if (files) {
		text_free(&files->failures);
		free(files->folder);
		free(files);
	}
}

const char *kit_files_folder(const struct kit_files *files)
{
	return files->folder;
}

char *kit_files_path(const struct kit_files *files, const char *name)
{
	struct etw_text path = { 0 };

	text_add_format(&path, "%s/%s", files->folder, name);
	if (path.failed) {
		text_free(&path);
	}
	return path.data;
}

void kit_files_list(struct kit_files *files, const char *name, const char *what)
{
	if (files->count < FILES_MAX) {
		files->files[files->count].name = name;
		files->files[files->count++].what = what;
	}
}

static bool write_file(const struct kit_files *files, const char *name, const struct etw_text *text,
		       struct etw_error *err)
{
	char *path = kit_files_path(files, name);
	struct etw_text masked = { 0 };
	const struct etw_text *out = text;
	bool written;

	if (files->mask && text->data) {
		kit_mask_add(files->mask, &masked, text->data, text->size);
		out = &masked;
	}
	written = path && !text->failed && !out->failed ?
			  os_file_write_whole(path, out->data, out->size, err) :
			  error_no_memory(err, "its text");
	text_free(&masked);
	free(path);
	return written;
}

void kit_files_write(struct kit_files *files, const char *name, const char *what,
		     struct etw_text *text)
{
	struct etw_error err = { 0 };

	if (write_file(files, name, text, &err)) {
		kit_files_list(files, name, what);
	} else {
		text_add_format(&files->failures, "%s: %s\n", name, err.text);
	}
	text_free(text);
}

void kit_files_finish(struct kit_files *files)
{
	struct etw_text index = { 0 };

	text_add_string(&index, "These files were written by etw_selftest --out. Read "
				"summary.txt first.\n\n");
	for (size_t i = 0; i < files->count; i++) {
		text_add_format(&index, "%-22s %s\n", files->files[i].name, files->files[i].what);
	}
	text_add_string(&index, files->mask ?
					"\nNames of the machine, of users and in paths are "
					"pseudonyms; equal names have equal ones. The event\nlogs "
					"were left out, because they cannot be masked.\n" :
					"\nThe files have names of this machine, of its users, "
					"programs and files. --private masks them.\n");
	kit_files_write(files, "README.txt", "this index", &index);
}

const char *kit_files_failures(const struct kit_files *files)
{
	return files->failures.size > 0 ? files->failures.data : "";
}
