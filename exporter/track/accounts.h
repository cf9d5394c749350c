/* SPDX-License-Identifier: MIT */
/*
 * Names of accounts by their SIDs. Accounts that have the same SID on every Windows have an English
 * name here, also where the language of a machine has another one, so that one query serves all
 * machines. Others have their SID.
 */
#ifndef TRACK_ACCOUNTS_H
#define TRACK_ACCOUNTS_H

#include <stddef.h>

#include "base/text.h"

/* Adds the name of a well-known account, such as "NT AUTHORITY\SYSTEM", by its SID as text
 * ("S-1-5-18"). Returns false and adds nothing if it is none. */
bool accounts_well_known(const char *sid, size_t size, struct etw_text *name);

#endif
