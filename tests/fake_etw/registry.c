/* SPDX-License-Identifier: MIT */
/*
 * Binary values that the program writes below HKEY_LOCAL_MACHINE: the arguments of providers.
 *
 * Only the key that EventSources read has values here. Under Windows the rest of the program calls
 * these functions too: other keys go to the real functions.
 */
#define _ADVAPI32_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum { KEYS = 16, VALUES = 64, NAME = 300, BYTES = 2048 };

struct binary {
	bool used;
	WCHAR key[NAME];
	WCHAR value[NAME];
	uint8_t bytes[BYTES];
	size_t size;
};

/* Open keys; the address of one is its handle. */
static struct key {
	bool open;
	WCHAR path[NAME];
} keys[KEYS];
static struct binary binaries[VALUES];

void fake_registry_reset(void)
{
	memset(keys, 0, sizeof keys);
	memset(binaries, 0, sizeof binaries);
}

#ifdef _WIN32
typedef void any_function(void);

static any_function *real(const char *name)
{
	return (any_function *)GetProcAddress(LoadLibraryA("advapi32.dll"), name);
}

#define REAL(name, type, ...) (((type)real(#name))(__VA_ARGS__))
#else
/* No key but ours is here. */
#define REAL(name, type, ...) ((LSTATUS)ERROR_FILE_NOT_FOUND)
#endif

static size_t length_of(const WCHAR *text)
{
	size_t length = 0;

	while (text[length] != 0) {
		length++;
	}
	return length;
}

/* Whether the key is that of a provider. */
static bool is_ours(LPCWSTR path)
{
	static const WCHAR start[] = u"SOFTWARE\\Wow6432Node\\Microsoft\\Windows\\CurrentVersion"
				     u"\\Winevt\\Publishers\\{";
	size_t size = sizeof start / sizeof start[0] - 1;

	return length_of(path) < NAME && length_of(path) > size &&
	       memcmp(path, start, size * sizeof start[0]) == 0;
}

static struct key *key_of(HKEY handle)
{
	for (size_t i = 0; i < KEYS; i++) {
		if ((void *)handle == (void *)&keys[i]) {
			return &keys[i];
		}
	}
	return NULL;
}

static struct binary *find_value(const WCHAR *key, const WCHAR *value)
{
	for (size_t i = 0; i < VALUES; i++) {
		if (binaries[i].used && fake_wide_equal(binaries[i].key, key) &&
		    fake_wide_equal(binaries[i].value, value)) {
			return &binaries[i];
		}
	}
	return NULL;
}

size_t fake_etw_registry_bytes(const char *key, const char *value, uint8_t *bytes, size_t size)
{
	WCHAR wide_key[NAME], wide_value[NAME];
	const struct binary *found;
	size_t found_size;

	if (!fake_wide_from_utf8(key, wide_key, NAME) ||
	    !fake_wide_from_utf8(value, wide_value, NAME)) {
		abort();
	}
	fake_lock();
	found = find_value(wide_key, wide_value);
	found_size = found ? found->size : 0;
	if (found_size > size) {
		abort();
	}
	if (found) {
		memcpy(bytes, found->bytes, found_size);
	}
	fake_unlock();
	return found_size;
}

unsigned fake_etw_registry_values(void)
{
	unsigned count = 0;

	fake_lock();
	for (size_t i = 0; i < VALUES; i++) {
		count += binaries[i].used;
	}
	fake_unlock();
	return count;
}

/* ---- the calls ---- */

LSTATUS WINAPI RegCreateKeyExW(HKEY key, LPCWSTR path, DWORD reserved, LPWSTR class, DWORD options,
			       REGSAM rights, LPSECURITY_ATTRIBUTES security, PHKEY handle,
			       LPDWORD disposition)
{
	struct key *free_key = NULL;
	uint32_t error;

	(void)reserved;
	(void)class;
	(void)rights;
	(void)security;
	(void)disposition;
	if (key != HKEY_LOCAL_MACHINE || !is_ours(path)) {
		return REAL(RegCreateKeyExW,
			    LSTATUS(WINAPI *)(HKEY, LPCWSTR, DWORD, LPWSTR, DWORD, REGSAM,
					      LPSECURITY_ATTRIBUTES, PHKEY, LPDWORD),
			    key, path, reserved, class, options, rights, security, handle,
			    disposition);
	}
	error = fake_enter(CALL_RegCreateKeyExW);
	for (size_t i = 0; i < KEYS && !free_key; i++) {
		free_key = keys[i].open ? NULL : &keys[i];
	}
	if (error == 0 && (!free_key || options != REG_OPTION_VOLATILE)) {
		fake_refuse("RegCreateKeyExW", "a key that stays, or many of them");
		error = ERROR_NOT_SUPPORTED;
	}
	if (error == 0) {
		free_key->open = true;
		memcpy(free_key->path, path, (length_of(path) + 1) * sizeof *path);
		*handle = (HKEY)(void *)free_key;
	}
	fake_unlock();
	return (LSTATUS)error;
}

LSTATUS WINAPI RegSetValueExW(HKEY handle, LPCWSTR value, DWORD reserved, DWORD type,
			      const BYTE *data, DWORD size)
{
	struct key *key = key_of(handle);
	struct binary *to;
	uint32_t error;

	(void)reserved;
	if (!key) {
		return REAL(RegSetValueExW,
			    LSTATUS(WINAPI *)(HKEY, LPCWSTR, DWORD, DWORD, const BYTE *, DWORD),
			    handle, value, reserved, type, data, size);
	}
	error = fake_enter(CALL_RegSetValueExW);
	to = find_value(key->path, value);
	for (size_t i = 0; i < VALUES && !to; i++) {
		to = binaries[i].used ? NULL : &binaries[i];
	}
	if (error == 0 &&
	    (!key->open || !to || type != REG_BINARY || size > BYTES || length_of(value) >= NAME)) {
		fake_refuse("RegSetValueExW", "this value");
		error = ERROR_NOT_SUPPORTED;
	}
	if (error == 0) {
		to->used = true;
		memcpy(to->key, key->path, sizeof to->key);
		memcpy(to->value, value, (length_of(value) + 1) * sizeof *value);
		memcpy(to->bytes, data, size);
		to->size = size;
	}
	fake_unlock();
	return (LSTATUS)error;
}

LSTATUS WINAPI RegCloseKey(HKEY handle)
{
	struct key *key = key_of(handle);

	if (!key) {
		return REAL(RegCloseKey, LSTATUS(WINAPI *)(HKEY), handle);
	}
	fake_lock();
	key->open = false;
	fake_unlock();
	return ERROR_SUCCESS;
}

LSTATUS WINAPI RegDeleteKeyValueW(HKEY key, LPCWSTR path, LPCWSTR value)
{
	struct binary *found;
	uint32_t error;

	if (key != HKEY_LOCAL_MACHINE || !is_ours(path)) {
		return REAL(RegDeleteKeyValueW, LSTATUS(WINAPI *)(HKEY, LPCWSTR, LPCWSTR), key,
			    path, value);
	}
	error = fake_enter(CALL_RegDeleteKeyValueW);
	found = find_value(path, value);
	if (error == 0 && found) {
		found->used = false;
	}
	fake_unlock();
	return (LSTATUS)(error == 0 && !found ? ERROR_FILE_NOT_FOUND : error);
}

IMPORTED(RegCreateKeyExW);
IMPORTED(RegSetValueExW);
IMPORTED(RegCloseKey);
IMPORTED(RegDeleteKeyValueW);
