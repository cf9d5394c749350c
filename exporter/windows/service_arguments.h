/* SPDX-License-Identifier: MIT */
/*
 * The command line that the service manager starts the service with: that of the installation, with
 * paths that do not depend on a current folder.
 */
#ifndef EXPORTER_SERVICE_ARGUMENTS_H
#define EXPORTER_SERVICE_ARGUMENTS_H

#include "base/error.h"
#include "base/text.h"

/*
 * Adds one argument, quoted so that CommandLineToArgvW() gives it back: backslashes are themselves
 * unless a quote follows; before a quote each is doubled, and the quote gets one of its own.
 *
 * Source: "CommandLineToArgvW function", "Parsing C command-line arguments", Microsoft Learn.
 */
void service_add_argument(struct text *line, const char *argument);

/* The same path from the root, to be freed; NULL without memory. */
typedef char *service_absolute_path(const char *path);

/*
 * Writes program, --service=run and what else is in argv (argc elements, the first of them left
 * out), without its own --service. Paths of --config.file and --replay.file become absolute: a
 * service starts in the system's folder.
 *
 * argv is one that options_parse() took. False without memory, and when Windows would not take a
 * line that long (32767 characters).
 */
bool service_command_line(struct text *line, const char *program, int argc, char **argv,
			  service_absolute_path *absolute, struct error *err);

#endif
