/* SPDX-License-Identifier: MIT */
#include "exporter/track/accounts.h"

#include <string.h>

/*
 * Accounts that processes run as. Source: "Well-known SIDs" and "Security identifiers", Microsoft
 * Learn. S-1-5-90-0-N and S-1-5-96-0-N are those of the window manager and the font driver host of
 * the terminal session N; their names end in the number.
 */
static const struct {
	const char *sid, *name;
	bool numbered; /* the SID and the name go on with a number */
} accounts[] = {
	{ "S-1-0-0", "NULL SID", false },
	{ "S-1-5-7", "NT AUTHORITY\\ANONYMOUS LOGON", false },
	{ "S-1-5-17", "NT AUTHORITY\\IUSR", false },
	{ "S-1-5-18", "NT AUTHORITY\\SYSTEM", false },
	{ "S-1-5-19", "NT AUTHORITY\\LOCAL SERVICE", false },
	{ "S-1-5-20", "NT AUTHORITY\\NETWORK SERVICE", false },
	{ "S-1-5-90-0-", "Window Manager\\DWM-", true },
	{ "S-1-5-96-0-", "Font Driver Host\\UMFD-", true },
};

bool accounts_well_known(const char *sid, size_t size, struct etw_text *name)
{
	for (size_t i = 0; i < sizeof accounts / sizeof accounts[0]; i++) {
		size_t known = strlen(accounts[i].sid);
		size_t more = size >= known ? size - known : 0;

		if (size < known || memcmp(sid, accounts[i].sid, known) != 0 ||
		    (accounts[i].numbered ? more == 0 || memchr(sid + known, '-', more) :
					    more != 0)) {
			continue;
		}
		text_add_string(name, accounts[i].name);
		text_add(name, sid + known, more);
		return true;
	}
	return false;
}
