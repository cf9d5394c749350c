/* SPDX-License-Identifier: MIT */
/* Paths and folders of Linux. */
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *os_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool os_path_is_absolute(const char *path)
{
	return path[0] == '/';
}

char *os_path_absolute(const char *path)
{
	char *folder = os_path_is_absolute(path) ? strdup("") : getcwd(NULL, 0);
	size_t size = folder ? strlen(folder) + strlen(path) + sizeof "/" : 0;
	char *absolute = folder ? malloc(size) : NULL;

	if (absolute) {
		snprintf(absolute, size, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", path);
	}
	free(folder);
	return absolute;
}

/* Returns 0, or the errno with which reading failed before the end of the folder. */
static int read_folder(const char *path, bool (*each)(void *context, const char *name),
		       void *context, bool *more)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int number = 0;

	*more = true;
	if (!folder) {
		return errno;
	}
	do {
		errno = 0;
		entry = readdir(folder);
		*more = !entry || each(context, entry->d_name);
	} while (entry && *more);
	number = *more ? errno : 0;
	closedir(folder);
	return number;
}

bool os_folder_list(const char *path, bool (*each)(void *context, const char *name), void *context)
{
	bool more;

	read_folder(path, each, context, &more);
	return more;
}

bool os_folder_read(const char *path, bool (*each)(void *context, const char *name), void *context,
		    struct etw_error *err)
{
	bool more;

	errno = read_folder(path, each, context, &more);
	return errno == 0 || errno == ENOENT || errno == ENOTDIR ||
	       error_set(err, errno == ENOMEM ? ETW_ERROR_NO_MEMORY : ETW_ERROR_SYSTEM,
			 "%s: the folder cannot be read: %m", path);
}

bool os_folder_make(const char *path, bool *made, struct etw_error *err)
{
	bool new = mkdir(path, 0700) == 0;
	struct stat facts;

	if (!new && (errno != EEXIST || stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))) {
		return error_set(err, ETW_ERROR_SYSTEM, "%s: the folder cannot be made: %m", path);
	}
	if (made) {
		*made = new;
	}
	return true;
}

const char *os_folder_open_to_others(const char *path)
{
	struct stat facts;

	if (stat(path, &facts) != 0) {
		return NULL;
	}
	if (facts.st_uid != geteuid() && facts.st_uid != 0) {
		return "chown the folder to the user of this program, and chmod go-w it";
	}
	if ((facts.st_mode & S_IWOTH) != 0 ||
	    ((facts.st_mode & S_IWGRP) != 0 && facts.st_gid != getegid() && facts.st_gid != 0)) {
		return "chmod go-w the folder";
	}
	return NULL;
}

void os_folder_remove(const char *path)
{
	rmdir(path);
}
