/* SPDX-License-Identifier: MIT */
/*
 * One live session of the configuration.
 */
#ifndef CONFIG_SESSIONS_H
#define CONFIG_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/kernel.h>
#include <etw/provider.h>

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

/* A value of 0 means that Windows, or the number of processors, decides. */
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

/* Whether the session has this name; Windows ignores case in names of sessions. */
bool session_has_name(const struct config_session *session, const char *name);

/* Frees what the session owns. */
void session_done(struct config_session *session);

/* Shapes (config/yaml_rows.h): a session is read into a struct config_session, and the text
 * "Name:4:1,2" into a struct etw_provider_spec. */
struct yaml_shape;
extern const struct yaml_shape session_shape, provider_text_shape;

#endif
