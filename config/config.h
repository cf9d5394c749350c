/* SPDX-License-Identifier: MIT */
/*
 * etw_exporter.yaml, read and checked: every key, with its default.
 *
 * The keys are those of docs/rules.md. An unknown key is an error with file, line and column. The
 * configuration does not change once it is loaded. Texts and arrays are in its memory unless they
 * are marked as owned.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/kernel.h>
#include <etw/provider.h>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"

/* ---- sessions ---- */

/* Windows allows 64 sessions (docs/windows.md section 1). The number of providers is bounded
 * because each is compared with all others. */
enum { CONFIG_SESSIONS_MAX = 64, CONFIG_PROVIDERS_MAX = 1024, CONFIG_STACKS_MAX = 64 };

/* The type of a session; see "Sessions" in config/README.md. */
enum config_logger {
	LOGGER_AUTO,             /* the same as private */
	LOGGER_PRIVATE,          /* a separate system logger: kernel events and providers */
	LOGGER_SYSTEM_PROVIDERS, /* like private, with system providers in place of kernel flags */
	LOGGER_NT_KERNEL,
	LOGGER_USER,   /* providers only */
	LOGGER_ATTACH, /* a session that another program controls: it is only read */
};

/* One live session of the configuration. A size, count or time of 0 means that Windows, or the
 * number of processors, decides. */
struct config_session {
	char *name; /* owned */
	enum config_logger logger;
	bool takeover; /* take over the NT Kernel Logger when another program owns it */
	uint64_t buffer_size_bytes;
	uint32_t buffers_min;
	uint32_t buffers_max;
	uint64_t flush_ms;
	bool rundown;                        /* get the rundown of file names */
	struct etw_provider_spec *providers; /* owned, with their texts */
	size_t provider_count;
	struct etw_kernel_event kernel_stacks[CONFIG_STACKS_MAX]; /* events with call stacks */
	size_t kernel_stack_count;
	unsigned line, column;
};

/* Returns whether the session has this name; Windows ignores case in names of sessions. */
bool session_has_name(const struct config_session *session, const char *name);

/* Frees what the session owns. */
void session_done(struct config_session *session);

/* Shapes (config/yaml_rows.h): a session, read into a struct config_session; a provider as text,
 * "Name:4:1,2", read into a struct etw_provider_spec; and a provider in the `needs` of a collector,
 * which may have arguments too. */
struct yaml_shape;
extern const struct yaml_shape session_shape, provider_text_shape, provider_need_shape;

/* ---- the rest ---- */

struct config_switch {
	char *collector;
	bool on;
	unsigned line, column; /* place of the key, for errors about an unknown collector; 0: the
				  switch is from the command line */
};

struct config_event_filter {
	const char *event; /* written as in a rule: "FileIo/QueryInfo" */
	unsigned line, column;
};

struct config_pattern {
	const char *text; /* a PCRE2 expression; it may match anywhere, and ignores case */
	unsigned line, column;
};

/* The most entries of process_names, and the most bytes of a pattern of one. */
enum { PROCESS_NAMES_MAX = 64, PROCESS_NAME_GLOB_MAX = 255 };

/* How processes get other names than those of their images: a ready-made list, or one rule. The
 * first rule that matches decides (exporter/track/names.h). */
struct config_process_name {
	const char *list; /* name of a ready-made list; NULL: the members below are a rule */
	const char *image, *parent; /* patterns of names (base/glob.h), without ".exe"; NULL: any */
	const char *path;           /* a pattern of paths (base/glob.h); NULL: any */
	const char *command_line;   /* a PCRE2 expression; it may match anywhere, and ignores case;
				       NULL: any */
	const char *name;           /* may refer to groups of the expression: "w3wp/$1" */
	unsigned line, column;
};

/* Limits of all groups together, because each path is compared with all of them once. */
enum { PATH_GROUPS_MAX = 64, PATH_GROUP_GLOBS_MAX = 256, PATH_GROUP_NAME_MAX = 64 };

/* A group of files by their paths (base/glob.h). A file belongs to the first group with a
 * pattern that matches. */
struct config_path_group {
	const char *name;
	const char **globs;
	size_t glob_count;
	unsigned line, column;
};

/* A label that collectors get in addition to their own. */
enum config_label { CONFIG_LABEL_OWNER, CONFIG_LABEL_TERMINAL_SESSION };

struct config_limits {
	uint32_t series_per_family;
	uint32_t series;
	uint32_t processes;
	uint32_t threads;
	uint32_t files;
	uint32_t top_paths; /* length of the list etw_file_top_written_bytes */
	uint32_t shares;    /* the most network shares that have a label of their own; 0: none */
	uint32_t process_names; /* the most names that rules of process_names make */
	uint64_t strings_bytes;
	uint64_t idle_ms; /* label sets that do not change for this time are evicted; 0: never */
};

/* The flight recorder writes a recording when a value of the metrics page is above a bound. */
struct config_recorder_rule {
	const char *
		series; /* a family, perhaps with labels in braces that select some of its series */
	double above;
	uint64_t for_ms;
	unsigned line, column;
};

/* The flight recorder; dir NULL: it is not configured. */
struct config_recorder {
	const char *dir;
	uint64_t memory_bytes;
	uint32_t keep;          /* the most recordings to keep */
	uint64_t interval_ms;   /* the least time between two recordings */
	const char **providers; /* patterns of names, or GUIDs in braces; none: all providers */
	size_t provider_count;
	const char **processes; /* patterns of names; none: all processes */
	size_t process_count;
	struct config_recorder_rule *rules;
	size_t rule_count;
};

struct problems;
struct yaml_tree;

enum { CONFIG_LISTEN_ADDRESSES_MOST = 16, CONFIG_SCRAPES_MOST = 72 };

struct config {
	struct yaml_tree *tree; /* owned; its memory has everything that is not marked as owned */
	bool broken;            /* the file has errors; members contain what could be read */
	const char *path;       /* prefix of errors; "" for the built-in defaults */
	struct config_switch *switches;
	size_t switch_count;
	struct file_list
		collector_files;  /* globs are expanded, relative to the configuration's folder */
	struct file_list schemas; /* manifests and folders of manifests, expanded in the same way */
	struct config_pattern *include_processes; /* none: every process is included */
	size_t include_process_count;
	struct config_pattern *exclude_processes;
	size_t exclude_process_count;
	struct config_event_filter *dropped_events;
	size_t dropped_event_count;
	struct config_path_group *path_groups;
	size_t path_group_count;
	struct config_process_name *process_names;
	size_t process_name_count;
	enum config_label *labels;
	size_t label_count;
	struct config_limits limits;
	bool native_histograms;
	bool lower_case_processes;
	bool kernel_events; /* false: every live session is a user session */
	/*
	 * Live sessions. Session 0 gets what the collectors need. It is the one that is not a user
	 * session or, with kernel_events: off, the first one. config_default() and config_load()
	 * ensure that it exists.
	 */
	struct config_session *sessions;
	size_t session_count;
	enum log_level log_level;
	enum log_format log_format;
	const char **listen_addresses;
	size_t listen_address_count;
	const char **allowed; /* ranges of addresses that may connect; none: all may */
	size_t allowed_count;
	const char *telemetry_path;
	struct config_recorder recorder;
};

/* Returns the built-in defaults, to be freed with config_free(); NULL without memory. */
struct config *config_default(struct etw_error *err);

/*
 * Reads a file. Errors read "path:line:column: sentence". All errors and warnings are added to
 * problems; err is set to the first error. Returns NULL if the file cannot be read or is not YAML.
 * If it has other errors, the configuration is marked as `broken`, so that its collectors can still
 * be checked; without problems the result is NULL. Free it with config_free().
 */
struct config *config_load(const char *path, struct problems *problems, struct etw_error *err);

/* Like config_load(), but the file may also be a collector, called NAME.yaml: then the result is
 * the configuration that switches this collector on and has no other key. */
struct config *config_load_or_collector(const char *path, struct problems *problems,
					struct etw_error *err);
void config_free(struct config *config);

/* The keys that the file may have (config/yaml_rows.h), which are read into a struct config. */
extern const struct yaml_shape config_shape;

/* The schema of an event in filters and rules. Whether such an event exists is checked later
 * (exporter/rules/language/event_pattern.h). */
#define CONFIG_EVENT_SCHEMA                                                                   \
	.name = "event",                                                                      \
	.help = "Class/Name, Class/<opcode> or Class/* of the kernel; Provider/Name, "        \
		"Provider/Task/Opcode, Provider/<id> or Provider/*, the provider by name or " \
		"{guid}; * for every event.",                                                 \
	.pattern = "^(\\*|(\\{[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\\}/.+|"      \
		   "[^{].*/[^/]+))$",                                                         \
	.json = "'examples': ['FileIo/Write', 'DiskIo/Read', 'Process/Start', "               \
		"'Microsoft-Windows-DNS-Client/3008', '*']"

/* ---- paths of the web server, as the configuration and the server check them ---- */

/* The size of a path with its NUL. */
enum { WEB_PATH_SIZE_MAX = 256 };

/* Letters and digits, of which paths and hosts consist beside other signs. */
#define WEB_LETTERS_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* Returns whether a text is a slash followed by characters that are allowed. "//host" is refused
 * because a browser takes it for another host, and dots because a browser resolves them before it
 * sends the request. */
bool web_path_is_valid(const char *path);

/* Returns whether a page of the program other than the metrics has this path, or may have it: all
 * that begin with /-/. */
bool web_path_is_taken(const char *path);

#endif
