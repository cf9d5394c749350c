/* SPDX-License-Identifier: MIT */
/* Paths and folders of Windows. */
#include "base/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <aclapi.h>
#include <sddl.h>

#include "base/os_win32.h"

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

static bool has_drive(const char *path)
{
	return ((path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z')) &&
	       path[1] == ':';
}

const char *os_path_name(const char *path)
{
	const char *name = has_drive(path) ? path + 2 : path;

	for (const char *at = name; *at; at++) {
		if (is_separator(*at)) {
			name = at + 1;
		}
	}
	return name;
}

/* A path that starts at the root of the current drive, or in the current folder of a drive, counts
 * as absolute: a folder must not be put before it. */
bool os_path_is_absolute(const char *path)
{
	return is_separator(path[0]) || has_drive(path);
}

wchar_t *wide_absolute(const char *path)
{
	wchar_t *wide = wide_from(path);
	wchar_t *full = calloc(PATH_CHARACTERS, sizeof *full);
	DWORD size = wide && full ? GetFullPathNameW(wide, PATH_CHARACTERS, full, NULL) : 0;

	free(wide);
	if (size > 0 && size < PATH_CHARACTERS) {
		return full;
	}
	free(full);
	return NULL;
}

char *os_path_absolute(const char *path)
{
	wchar_t *full = wide_absolute(path);
	char *absolute = full ? narrow_from(full) : NULL;

	free(full);
	return absolute;
}

/* Returns ERROR_SUCCESS, or the error with which reading failed before the end of the folder. */
static DWORD read_folder(const char *path, bool (*each)(void *context, const char *name),
			 void *context, bool *more)
{
	size_t size = strlen(path) + sizeof "\\*";
	char *pattern = calloc(size, 1);
	wchar_t *wide;
	WIN32_FIND_DATAW entry;
	HANDLE search;
	DWORD number = ERROR_NOT_ENOUGH_MEMORY;

	*more = true;
	if (!pattern) {
		return number;
	}
	snprintf(pattern, size, "%s\\*", path);
	wide = wide_from(pattern);
	free(pattern);
	if (!wide) {
		return number;
	}
	search = FindFirstFileW(wide, &entry);
	number = search == INVALID_HANDLE_VALUE ? GetLastError() : ERROR_SUCCESS;
	free(wide);
	if (search == INVALID_HANDLE_VALUE) {
		return number;
	}
	do {
		char *name = narrow_from(entry.cFileName);

		if (name) {
			*more = each(context, name);
		} else {
			number = ERROR_NOT_ENOUGH_MEMORY;
		}
		free(name);
	} while (*more && FindNextFileW(search, &entry));
	if (*more && GetLastError() != ERROR_NO_MORE_FILES) {
		number = GetLastError();
	}
	FindClose(search);
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
	DWORD number = read_folder(path, each, context, &more);
	bool no_memory = number == ERROR_NOT_ENOUGH_MEMORY;
	char text[256];

	if (number == ERROR_SUCCESS || number == ERROR_FILE_NOT_FOUND ||
	    number == ERROR_PATH_NOT_FOUND) {
		return true;
	}
	os_error_text((int)number, text, sizeof text);
	return error_set(err, no_memory ? ETW_ERROR_NO_MEMORY : ETW_ERROR_SYSTEM,
			 "%s: the folder cannot be read: %s", path, text);
}

bool os_folder_make(const char *path, bool *made, struct etw_error *err)
{
	wchar_t *wide = wide_from(path);
	DWORD attributes;
	bool new, there;

	if (!wide) {
		return error_no_memory(err, "a folder");
	}
	there = new = CreateDirectoryW(wide, NULL);
	if (!there) {
		error_set_last(err, path);
		error_prefix(err, "the folder cannot be made");
		attributes = GetFileAttributesW(wide);
		there = attributes != INVALID_FILE_ATTRIBUTES &&
			(attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
	}
	if (there && made) {
		*made = new;
	}
	free(wide);
	return there;
}

/* Returns whether the account may change folders anyway: this program's user, the system,
 * administrators, and the installer of Windows. */
static bool is_trusted(PSID account, PSID user)
{
	/* "SID Strings", "Well-known SIDs", Microsoft Learn; the last is NT
	 * SERVICE\TrustedInstaller. */
	static const wchar_t *const trusted[] = {
		L"SY", L"BA", L"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
	};
	bool found = EqualSid(account, user);

	for (size_t i = 0; i < sizeof trusted / sizeof trusted[0] && !found; i++) {
		PSID sid;

		if (ConvertStringSidToSidW(trusted[i], &sid)) {
			found = EqualSid(account, sid);
			LocalFree(sid);
		}
	}
	return found;
}

/* The user of this process, as GetTokenInformation() writes it. */
union user {
	TOKEN_USER user;
	BYTE bytes[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
};

static bool get_user(union user *user)
{
	HANDLE token;
	DWORD size;
	bool got = false;

	if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
		got = GetTokenInformation(token, TokenUser, user, sizeof *user, &size);
		CloseHandle(token);
	}
	return got;
}

/* "ACCESS_ALLOWED_ACE structure", "File Access Rights Constants", Microsoft Learn. */
static bool opens_to_others(ACCESS_ALLOWED_ACE *ace, PSID user)
{
	const DWORD writing = FILE_ADD_FILE | FILE_DELETE_CHILD | DELETE | WRITE_DAC | WRITE_OWNER |
			      GENERIC_WRITE | GENERIC_ALL;

	return ace->Header.AceType == ACCESS_ALLOWED_ACE_TYPE &&
	       (ace->Header.AceFlags & INHERIT_ONLY_ACE) == 0 && (ace->Mask & writing) != 0 &&
	       !is_trusted(&ace->SidStart, user);
}

const char *os_folder_open_to_others(const char *path)
{
	wchar_t *wide = wide_from(path);
	PSECURITY_DESCRIPTOR descriptor = NULL;
	ACL *list = NULL;
	union user user;
	bool open = false;

	if (wide && get_user(&user) &&
	    GetNamedSecurityInfoW(wide, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL,
				  &list, NULL, &descriptor) == ERROR_SUCCESS) {
		open = !list; /* without a list every account may do everything */
		for (DWORD i = 0; list && i < list->AceCount && !open; i++) {
			void *ace;

			open = GetAce(list, i, &ace) && opens_to_others(ace, user.user.User.Sid);
		}
	}
	LocalFree(descriptor);
	free(wide);
	return open ? "icacls FOLDER /inheritance:r /grant *S-1-5-18:(OI)(CI)F "
		      "*S-1-5-32-544:(OI)(CI)F" :
		      NULL;
}

void os_folder_remove(const char *path)
{
	wchar_t *wide = wide_from(path);

	if (wide) {
		RemoveDirectoryW(wide);
	}
	free(wide);
}
