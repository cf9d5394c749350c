/* SPDX-License-Identifier: MIT */
/*
 * The spellings of process names.
 *
 * Events write the same name in different cases, and a series keeps its labels, so the first
 * spelling is used; struct names is a hash table of these spellings, in which a name that collides
 * takes one of the next hashes. When it is full, the names of images are forgotten: a name that
 * comes again may then get the spelling of that event.
 *
 * The stop events of Microsoft-Windows-Kernel-Process cut names at 14 characters, so the name of a
 * process that no other event names may lack its end. One program must have one series. Therefore
 * struct names also stores how its names begin, and such a name is completed by the only known name
 * that begins so. If several names begin so, the process has no name. If none does, the name is
 * used as it is once all names are known, after the first pass of a recording; a live session may
 * still meet the longer name, and leaves the process without a name. Names that rules give are no
 * names of images, so no cut name begins as they do.
 */
#include "exporter/track/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "base/utf8.h"
#include "config/yaml.h"

enum {
	PROBES = 32
}; /* the most names with one hash; hashes that are not chosen by an attacker never collide so often
    */

enum { CUT_CHARACTERS = 14 }; /* the length of a cut name */

#define SEVERAL_NAMES UINT32_MAX /* no label id has this value */

struct names {
	struct registry *registry; /* borrowed */
	/* hash of the name in lower case, or one of the PROBES numbers from it on -> label id */
	struct map by_hash;
	/* hash of the first CUT_CHARACTERS in lower case -> label id, or SEVERAL_NAMES */
	struct map by_start;
	size_t most;
	bool lower_case;
	struct map given; /* label ids of the names that rules have given */
	size_t most_given;
	uint64_t refused;
};

struct names *names_new(struct registry *registry, size_t most, bool lower_case,
			struct etw_error *err)
{
	struct names *names = calloc(1, sizeof *names);

	if (!names) {
		error_no_memory(err, "the names of processes");
		return NULL;
	}
	names->registry = registry;
	names->most = most;
	names->lower_case = lower_case;
	return names;
}

static void forget_names(struct names *names)
{
	map_done(&names->by_hash);
	map_done(&names->by_start);
}

void names_free(struct names *names)
{
	if (names) {
		forget_names(names);
		map_done(&names->given);
		free(names);
	}
}

void names_set_limit(struct names *names, size_t most)
{
	names->most = most;
}

static uint32_t add_label(struct names *names, const char *name, size_t size)
{
	struct etw_text spelling = { 0 };
	uint32_t label;

	for (size_t i = 0; i < size; i++) {
		text_add_char(&spelling, names->lower_case ? ascii_lower(name[i]) : name[i]);
	}
	label = spelling.failed ?
			INTERN_FULL :
			intern_add(registry_strings(names->registry), spelling.data, spelling.size);
	text_free(&spelling);
	return label;
}

/* Returns the label id of a name without ".exe"; INTERN_NONE if it is not known. Sets *hash to
 * the key under which the name is, or must be added; sets *room to false if too many names have
 * that hash. */
static uint32_t find_name(const struct names *names, const char *name, size_t size, uint64_t *hash,
			  bool *room)
{
	*hash = text_hash_nocase(name, size, hash_seed());
	for (unsigned probe = 0; probe < PROBES; probe++, ++*hash) {
		const uint64_t *slot = map_find(&names->by_hash, *hash);
		size_t known_size;
		const char *known;

		if (!slot) {
			*room = true;
			return INTERN_NONE;
		}
		known = intern_text(registry_strings(names->registry), (uint32_t)*slot,
				    &known_size);
		if (text_equal_nocase(known, known_size, name, size)) {
			return (uint32_t)*slot;
		}
	}
	*room = false;
	return INTERN_NONE;
}

/* Forgets the names of images. Those that rules have given stay, because each of them counts
 * against its limit, which would refuse it when it comes again. */
static void forget_images(struct names *names)
{
	const struct map_slot *given;
	size_t at = 0;

	forget_names(names);
	while ((given = map_next(&names->given, &at)) != NULL) {
		size_t size;
		const char *name =
			intern_text(registry_strings(names->registry), (uint32_t)given->key, &size);
		uint64_t hash, *slot = NULL;
		bool room = false;

		if (find_name(names, name, size, &hash, &room) == INTERN_NONE && room) {
			slot = map_put(&names->by_hash, hash, NULL);
		}
		if (slot) {
			*slot = given->key;
		}
	}
}

/* Returns the size in bytes of the first CUT_CHARACTERS of a name (UTF-8); 0 if it has fewer. */
static size_t start_size(const char *name, size_t size)
{
	unsigned characters = 0;

	for (size_t i = 0; i < size; i++) {
		bool continues = ((unsigned char)name[i] & 0xc0) == 0x80;

		if (!continues && characters++ == CUT_CHARACTERS) {
			return i;
		}
	}
	return characters == CUT_CHARACTERS ? size : 0;
}

/* Stores how a name begins, for names that are cut there. */
static void note_start(struct names *names, const char *name, size_t size, uint32_t label)
{
	size_t start = start_size(name, size);
	uint64_t *slot = NULL;
	bool added = false;

	if (start > 0) {
		slot = map_put(&names->by_start, text_hash_nocase(name, start, hash_seed()),
			       &added);
	}
	if (slot) {
		*slot = added ? label : SEVERAL_NAMES;
	}
}

/* Returns the label id of a name without ".exe", which is added if it is new. Sets *added; a name
 * for which there is no room is `_other`. */
static uint32_t find_or_add(struct names *names, const char *name, size_t size, bool *added)
{
	uint64_t hash;
	uint64_t *slot;
	bool room = false;
	uint32_t label = find_name(names, name, size, &hash, &room);

	*added = false;
	if (label != INTERN_NONE) {
		return label;
	}
	if (room && names->by_hash.count >= names->most + names->given.count) {
		forget_images(names);
		find_name(names, name, size, &hash, &room);
	}
	label = room ? add_label(names, name, size) : INTERN_FULL;
	slot = label != INTERN_FULL ? map_put(&names->by_hash, hash, NULL) : NULL;
	if (!slot) {
		return registry_other(names->registry);
	}
	*slot = label;
	*added = true;
	return label;
}

uint32_t names_label(struct names *names, const char *image, size_t size)
{
	uint32_t label;
	bool added;

	if (size == 0) {
		return INTERN_NONE;
	}
	if (text_ends_nocase(image, size, ".exe", 4)) {
		size -= 4;
	}
	if (size == 0) {
		return registry_unknown(names->registry);
	}
	label = find_or_add(names, image, size, &added);
	if (added) {
		note_start(names, image, size, label);
	}
	return label;
}

/* ---- names that are cut ---- */

/* Returns how many bytes at the end of a cut name are the beginning of ".exe". */
static size_t part_of_exe(const char *image, size_t size)
{
	for (size_t part = 3; part > 0; part--) {
		if (text_ends_nocase(image, size, ".exe", part)) {
			return part;
		}
	}
	return 0;
}

bool names_may_be_cut(const char *image, size_t size)
{
	return (size == CUT_CHARACTERS || (size > 0 && start_size(image, size) == size)) &&
	       !text_ends_nocase(image, size, ".exe", 4);
}

bool names_is_beginning(const char *whole, size_t whole_size, const char *image, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)image[i] >= 0x80 ||
		    (i < whole_size && (unsigned char)whole[i] >= 0x80)) {
			return true; /* not ASCII: the two encodings cannot be compared */
		}
		if (i >= whole_size || ascii_lower(whole[i]) != ascii_lower(image[i])) {
			return false;
		}
	}
	return true;
}

/* Returns the only known name that begins so; INTERN_NONE if none does, SEVERAL_NAMES if several
 * do. */
static uint32_t longer_name(const struct names *names, const char *image, size_t size)
{
	const uint64_t *slot =
		map_find(&names->by_start, text_hash_nocase(image, size, hash_seed()));
	size_t known_size;
	const char *known;

	if (!slot) {
		return INTERN_NONE;
	}
	if (*slot == SEVERAL_NAMES) {
		return SEVERAL_NAMES;
	}
	known = intern_text(registry_strings(names->registry), (uint32_t)*slot, &known_size);
	return text_starts_nocase(known, known_size, image, size) ? (uint32_t)*slot : INTERN_NONE;
}

uint32_t names_complete(struct names *names, const char *image, size_t size, bool all_known)
{
	size_t stem = size - part_of_exe(image, size);
	uint32_t longer = longer_name(names, image, size);
	uint32_t whole = INTERN_NONE; /* a known name that lacks only a part of ".exe" */
	uint64_t hash;
	bool room;

	if (stem == 0) {
		return INTERN_NONE;
	}
	if (stem < size) {
		whole = find_name(names, image, stem, &hash, &room);
	}
	if (longer == SEVERAL_NAMES || (longer != INTERN_NONE && whole != INTERN_NONE)) {
		return INTERN_NONE;
	}
	if (longer != INTERN_NONE) {
		return longer;
	}
	return stem < size || all_known ? names_label(names, image, stem) : INTERN_NONE;
}

/* ---- spellings of names that rules give ---- */

const char *names_text(const struct names *names, uint32_t label)
{
	return label == INTERN_NONE || label == INTERN_FULL ||
			       label == registry_unknown(names->registry) ||
			       label == registry_other(names->registry) ?
		       NULL :
		       intern_text(registry_strings(names->registry), label, NULL);
}

uint32_t names_given_label(struct names *names, const char *name, size_t size, uint32_t otherwise)
{
	uint64_t hash;
	uint32_t label;
	bool room, added;

	label = find_name(names, name, size, &hash, &room);
	if (label != INTERN_NONE && map_find(&names->given, label)) {
		return label;
	}
	if (names->given.count >= names->most_given) {
		names->refused++;
		return otherwise;
	}
	label = find_or_add(names, name, size, &added);
	return map_put(&names->given, label, NULL) ? label : otherwise;
}

void names_set_given_limit(struct names *names, size_t most)
{
	names->most_given = most;
}

void names_forget_given(struct names *names)
{
	map_done(&names->given);
}

uint64_t names_refused(const struct names *names)
{
	return names->refused;
}

/* ---- names that rules give ---- */

/*
 * The rules of process_names, compiled, and the ready-made lists.
 *
 * A list is rows of the table below, which are read like rules of the configuration. Their
 * expressions meet command lines of any program that calls itself java or python, so they skip the
 * program and its options without going back over them, and give up at an option that they do not
 * know or that has code behind it (python -c, node -e). Then no rule matches, and the process keeps
 * the name of its image. The program may contain spaces without being quoted: it ends with the
 * first word that ends like the program's name.
 *
 * Sources of the options: "java" and "python" command references; "Command-line API", nodejs.org;
 * "dotnet command", Microsoft Learn. w3wp, svchost and sqlservr as seen in process lists: "-ap" and
 * the name of the application pool in quotes; "-k" and the group, "-s" and the service; "-s" and
 * the instance without a space.
 */

struct compiled_name {
	const char *image, *parent, *path; /* borrowed; NULL: any */
	struct regex *command_line;        /* owned; NULL: any */
	const char *name;                  /* borrowed */
};

struct process_names {
	struct compiled_name *rules; /* owned */
	size_t count;
};

/* ---- the ready-made lists ---- */

/* Matches the program at the start of a command line if its file name begins with `name`. */
#define PROGRAM(name) "^\\s*(?>\"[^\"]*\"|.*?" name "[^\\s\"\\\\/]*(?=\\s|$))"
/* An argument, of which any part may be in quotes. */
#define WORD "(?:[^\\s\"]|\"[^\"]*\")+"
/* Matches the arguments before the first one that begins like `option`. */
#define BEFORE(option) "(?:\\s+(?!" option ")" WORD ")*+\\s+"
/* Captures a word, or a text in quotes. */
#define VALUE "(?|\"([^\"]+)\"|([^\\s\"]+))"
/* A path whose last component is captured, which ends in this way. */
#define FILE_OF(end)                                                                          \
	"(?|\"(?!-)(?:[^\"]*[\\\\/])?([^\"\\\\/]+" end ")\"|(?!-)(?:[^\\s\"]*[\\\\/])?([^\\s" \
	"\"\\\\/]+" end "))(?=\\s|$)"

static const struct {
	const char *list;
	struct config_process_name rule;
} ready[] = {
	{ "iis",
	  { .image = "w3wp",
	    .command_line = PROGRAM("w3wp") BEFORE("-ap\\s") "-ap\\s+" VALUE,
	    .name = "w3wp/$1" } },
	{ "iis",
	  { .image = "iisexpress",
	    .command_line = PROGRAM("iisexpress")
		    BEFORE("\"?/site:") "(?|\"/site:([^\"]+)\"|/site:" VALUE ")",
	    .name = "iisexpress/$1" } },
	{ "services",
	  { .image = "svchost",
	    .command_line = PROGRAM("svchost") BEFORE("-s\\s") "-s\\s+" VALUE,
	    .name = "svchost/$1" } },
	{ "services",
	  { .image = "svchost",
	    .command_line = PROGRAM("svchost") BEFORE("-k\\s") "-k\\s+" VALUE,
	    .name = "svchost/$1" } },
#define JAVA                                                                               \
	PROGRAM("java")                                                                    \
	"(?:\\s+(?:(?:-cp|-classpath|--class-path|-p|--module-path|--upgrade-module-path|" \
	"--add-(?:modules|exports|opens|reads)|--limit-modules|--patch-module|--source|"   \
	"--enable-native-access)\\s+" WORD "|@" WORD "|\"-[^\"=:]+[=:][^\"]*\""            \
	"|-(?!jar\\s|m\\s|-module\\s)" WORD "))*+\\s+"                                     \
	"(?|-jar\\s+" FILE_OF("") "|(?:-m|--module)\\s+(?:[\\w.]+/)?"                      \
				  "([\\w.$]+)(?=\\s|$)|([\\w.$]+)(?=\\s|$))"
	{ "java", { .image = "java", .command_line = JAVA, .name = "java/$1" } },
	{ "java", { .image = "javaw", .command_line = JAVA, .name = "java/$1" } },
	{ "sqlserver",
	  { .image = "sqlservr",
	    .command_line = PROGRAM("sqlservr") BEFORE("-s") "-s\\s*\"?([\\w$#]+)",
	    .name = "sqlservr/$1" } },
	{ "sqlserver",
	  { .image = "sqlagent",
	    .command_line = PROGRAM("sqlagent") BEFORE("-i") "-i\\s*\"?([\\w$#]+)",
	    .name = "sqlagent/$1" } },
	{ "dotnet",
	  { .image = "dotnet",
	    .command_line = PROGRAM("dotnet") "(?:\\s+(?:exec(?=\\s)|--(?:depsfile|runtimeconfig|"
					      "additionalprobingpath|additional-deps|fx-version|"
					      "roll-forward(?:-on-no-candidate-fx)?)\\s+" WORD
					      "))*+\\s+" FILE_OF("\\.dll"),
	    .name = "dotnet/$1" } },
/* A program that pip has made of a script starts python with its own path, which ends in ".exe". */
#define PYTHON_OPTION                                                      \
	"(?:-[WX]\\s*" WORD "|-V:[^\\s\"]+|-[23][\\d.]*(?:-\\d+)?(?=\\s)|" \
	"-[bdehiopqrstuv]+(?=\\s))"
#define PYTHON                            \
	PROGRAM("py")                     \
	"(?:\\s+" PYTHON_OPTION ")*+\\s+" \
	"(?|-[bdehiopqrstuv]*m\\s+([\\w.]+)(?=\\s|$)|" FILE_OF("\\.(?:py[cwz]?|exe)") ")"
	{ "python", { .image = "py", .command_line = PYTHON, .name = "python/$1" } },
	{ "python", { .image = "pyw", .command_line = PYTHON, .name = "python/$1" } },
	{ "python", { .image = "python*", .command_line = PYTHON, .name = "python/$1" } },
	{ "python", { .image = "pypy*", .command_line = PYTHON, .name = "python/$1" } },
#define NODE_OPTION                                                                           \
	"(?:-r|--require|--import|--loader|--experimental-loader|-C|--conditions|--env-file|" \
	"--title|--unhandled-rejections|--icu-data-dir|--openssl-config|--test-reporter)\\s+" WORD
#define NODE            \
	PROGRAM("node") \
	"(?:\\s+(?:" NODE_OPTION "|--(?!eval|print)[^\\s\"]+))*+\\s+" FILE_OF("\\.[cm]?[jt]s")
	{ "node", { .image = "node", .command_line = NODE, .name = "node/$1" } },
/* A script without an extension, such as ./bin/www, could also be the value of an option.
 * So it has a folder, and only options come before it that are known to have no value. */
#define NODE_BARE                                                                   \
	PROGRAM("node")                                                             \
	"(?:\\s+(?:" NODE_OPTION "|--(?!eval|print)[\\w-]+=[^\\s\"]+|--(?:inspect|" \
	"inspect-brk|enable-source-maps|expose-gc|no-[\\w-]+)(?=\\s)))*+"           \
	"\\s+(?|\"(?!-)[^\"]*[\\\\/]([\\w-]+)\"|(?!-)[^\\s\"]*[\\\\/]([\\w-]+))(?=\\s|$)"
	{ "node", { .image = "node", .command_line = NODE_BARE, .name = "node/$1" } },
#define BROWSER(image_name)                                                                    \
	{                                                                                      \
		"chrome",                                                                      \
		{                                                                              \
			.image = image_name,                                                   \
			.command_line = PROGRAM(image_name) "(?:\\s+(?=\"?--)(?!--type=)" WORD \
							    ")*+\\s+--type=([\\w-]+)",         \
			.name = image_name "/$1"                                               \
		}                                                                              \
	}
	BROWSER("chrome"),
	BROWSER("msedge"),
	BROWSER("msedgewebview2"),
	BROWSER("brave"),
};

enum { READY = sizeof ready / sizeof ready[0] };

/* ---- compiling ---- */

static bool compile(const struct config *config, const struct config_process_name *rule,
		    struct compiled_name *to, struct etw_error *err)
{
	struct yaml_node at = { .line = rule->line, .column = rule->column };
	struct etw_error why = { 0 };

	*to = (struct compiled_name){
		.image = rule->image, .parent = rule->parent, .path = rule->path, .name = rule->name
	};
	if (!rule->command_line) {
		return true;
	}
	to->command_line = regex_new(rule->command_line, strlen(rule->command_line), &why);
	if (to->command_line && regex_check_replacement(to->command_line, rule->name, &why)) {
		return true;
	}
	return why.code == ETW_ERROR_CONFIG ?
		       yaml_error(config->tree, &at, err, "process_names: %s", why.text) :
		       error_set(err, why.code, "%s", why.text);
}

struct process_names *process_names_new(const struct config *config, struct etw_error *err)
{
	struct process_names *names = calloc(1, sizeof *names);
	bool good = true;

	if (names) {
		names->rules = calloc(config->process_name_count * READY + 1, sizeof *names->rules);
	}
	if (!names || !names->rules) {
		process_names_free(names);
		error_no_memory(err, "the names of processes");
		return NULL;
	}
	for (size_t i = 0; i < config->process_name_count; i++) {
		const struct config_process_name *entry = &config->process_names[i];

		for (size_t j = 0; entry->list && j < READY; j++) {
			if (strcmp(entry->list, ready[j].list) == 0) {
				good = compile(config, &ready[j].rule,
					       &names->rules[names->count++], err) &&
				       good;
			}
		}
		if (!entry->list && entry->name) { /* otherwise the configuration has errors */
			good = compile(config, entry, &names->rules[names->count++], err) && good;
		}
	}
	if (!good) {
		process_names_free(names);
		return NULL;
	}
	return names;
}

void process_names_free(struct process_names *names)
{
	if (names) {
		for (size_t i = 0; names->rules && i < names->count; i++) {
			regex_free(names->rules[i].command_line);
		}
		free(names->rules);
		free(names);
	}
}

/* ---- deciding ---- */

static bool name_matches(const char *pattern, const char *name)
{
	return !pattern || glob_matches_nocase(pattern, name);
}

/* Adds the name of the rule if the rule matches. */
static bool decide(const struct compiled_name *rule, struct regex_matcher *matcher,
		   const struct process_facts *facts, struct etw_text *name)
{
	if (!name_matches(rule->image, facts->image) ||
	    (rule->path && !path_glob_matches(rule->path, facts->path, strlen(facts->path))) ||
	    (rule->parent && !name_matches(rule->parent, facts->parent(facts->context)))) {
		return false;
	}
	if (!rule->command_line) {
		text_add_string(name, rule->name);
		return true;
	}
	return regex_expand(matcher, rule->command_line, rule->name, facts->command_line,
			    facts->command_line_size, name);
}

bool process_names_decide(const struct process_names *names, struct regex_matcher *matcher,
			  const struct process_facts *facts, struct etw_text *name)
{
	size_t start = name->size;

	for (size_t i = 0; names && i < names->count; i++) {
		if (decide(&names->rules[i], matcher, facts, name)) {
			return name->size > start;
		}
	}
	return false;
}

bool process_names_ask_for(const struct process_names *names, const char *image)
{
	for (size_t i = 0; names && i < names->count; i++) {
		if (names->rules[i].image && name_matches(names->rules[i].image, image)) {
			return true;
		}
	}
	return false;
}
