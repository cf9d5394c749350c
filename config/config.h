/* SPDX-License-Identifier: MIT */
/*
 * etw_exporter.yaml, read and checked: every key, with its default.
 *
 * The keys are those of docs/rules.md. A key that is not known is an error with file, line and
 * column. The configuration does not change once it is loaded. Texts and arrays are in its memory
 * unless they are said to be owned.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "config/sessions.h"

struct config_switch {
	char *collector;
	bool on;
	unsigned line, column; /* of the key, for errors about an unknown collector; 0: from the
				  command line */
};

struct config_event_filter {
	const char *event; /* as in a rule: "FileIo/QueryInfo" */
	unsigned line, column;
};

struct config_pattern {
	const char *text; /* PCRE2, unanchored, caseless */
	unsigned line, column;
};

/* In all groups together, as each path is compared with all of them once. */
enum { PATH_GROUPS_MAX = 64, PATH_GROUP_GLOBS_MAX = 256, PATH_GROUP_NAME_MAX = 64 };

/* Files by path (base/glob.h). A file belongs to the first group with a pattern that matches. */
struct config_path_group {
	const char *name;
	const char **globs;
	size_t glob_count;
	unsigned line, column;
};

struct config_limits {
	uint32_t series_per_family;
	uint32_t series;
	uint32_t processes;
	uint32_t threads;
	uint32_t files;
	uint32_t top_paths; /* places of etw_file_top_written_bytes */
	uint32_t shares;    /* of the network with a label of their own; 0: none */
	uint64_t strings_bytes;
	uint64_t idle_ms; /* 0: label sets that do not change stay */
};

/* A value of the metrics page above which the flight recorder writes a recording. */
struct config_recorder_rule {
	const char *series; /* a family, with labels in braces that choose some of its series */
	double above;
	uint64_t for_ms;
	unsigned line, column;
};

/* The flight recorder; dir NULL: there is none. */
struct config_recorder {
	const char *dir;
	uint64_t memory_bytes;
	uint32_t keep;          /* recordings */
	uint64_t interval_ms;   /* between two recordings */
	const char **providers; /* patterns of names, or GUIDs in braces; none: all */
	size_t provider_count;
	const char **processes; /* likewise of names */
	size_t process_count;
	struct config_recorder_rule *rules;
	size_t rule_count;
};

struct problems;
struct yaml_tree;

struct config {
	struct yaml_tree *tree; /* owned; holds everything that is not marked as owned */
	bool broken;            /* it has errors; it contains what could be read */
	const char *path;       /* "" for the built-in defaults; the prefix of errors */
	struct config_switch *switches;
	size_t switch_count;
	struct file_list
		collector_files;  /* globs expanded, relative to the configuration's folder */
	struct file_list schemas; /* likewise: manifests and folders of them */
	struct config_pattern *include_processes; /* none: every process */
	size_t include_process_count;
	struct config_pattern *exclude_processes;
	size_t exclude_process_count;
	struct config_event_filter *dropped_events;
	size_t dropped_event_count;
	struct config_path_group *path_groups;
	size_t path_group_count;
	struct config_limits limits;
	bool native_histograms;
	bool lower_case_processes;
	bool kernel_events; /* off: every live session is a user session */
	/*
	 * Live sessions. Index 0 gets what the collectors need. It is the one that is not a user
	 * session, or with kernel_events: off the first one. config_default() and config_load()
	 * ensure that it exists.
	 */
	struct config_session *sessions;
	size_t session_count;
	enum log_level log_level;
	enum log_format log_format;
	const char **listen_addresses;
	size_t listen_address_count;
	const char **allowed; /* ranges of addresses that may connect; none: all */
	size_t allowed_count;
	const char *telemetry_path;
	struct config_recorder recorder;
};

/* The built-in defaults. */
struct config *config_default(struct etw_error *err);

/*
 * Reads a file; errors read "path:line:column: sentence". problems takes all of them, and warnings;
 * err has the first. NULL if the file cannot be read or is not YAML. If it has other errors it is
 * `broken`, so that its collectors can still be checked, or without problems NULL. To be freed with
 * config_free().
 */
struct config *config_load(const char *path, struct problems *problems, struct etw_error *err);
void config_free(struct config *config);

/* What the file may hold (config/yaml_rows.h); its structure is a struct config. */
extern const struct yaml_shape config_shape;

/* The form of an event in filters and rules. Whether such an event exists is checked later
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

#endif
