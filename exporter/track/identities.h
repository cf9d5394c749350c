/* SPDX-License-Identifier: MIT */
/*
 * What is known about each process: its image, path, command line and parent, and the label that
 * follows from them. The tables of instances refer to an identity by its number. The label is
 * decided once, when a process starts or becomes known, and again when the rules of process_names
 * change; therefore the texts stay. Only one consumer uses it, so it has no lock.
 */
#ifndef TRACK_IDENTITIES_H
#define TRACK_IDENTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/regex.h"
#include "base/text.h"
#include "exporter/track/names.h"

/* ---- account lookup ---- */

/*
 * Asks the machine for the names of accounts, for live sessions. Windows may have to ask a domain
 * controller, which can take long, so a thread asks, and the consumer waits for a moment only. Each
 * SID is asked for once, and one without a name again every ten minutes: Windows says the same of
 * an account that does not exist and of a network that does not answer ("LookupAccountSidW
 * function", Microsoft Learn), as when the machine starts. The functions belong to one consumer.
 */

struct account_lookup; /* opaque */

enum { ACCOUNTS_MOST = 4096 }; /* most SIDs that are remembered; further ones are not known */

/* find: returns the name of the account with this SID, allocated, or NULL if it has none; it runs
 * on the thread and may take any time. */
struct account_lookup *account_lookup_new(char *(*find)(const char *sid), struct etw_error *err);
/* For tests: in place of ten minutes. Call it before the first account_lookup_ask(). */
void account_lookup_again_after(struct account_lookup *lookup, uint64_t again_after_ns);
/* Does not wait for a call of find() that has not returned. */
void account_lookup_free(struct account_lookup *lookup);

enum account_answer {
	ACCOUNT_FOUND,
	ACCOUNT_HAS_NO_NAME, /* it may get one later */
	ACCOUNT_PENDING,     /* ask again later */
};

/* Adds the name of the account. wait_ns: how long to wait for a SID that was not asked for before;
 * while the thread looks up another account, the function does not wait. *number becomes that of
 * the account; NO_ACCOUNT if there is no room for it. */
#define NO_ACCOUNT UINT32_MAX
enum account_answer account_lookup_ask(struct account_lookup *lookup, const char *sid, size_t size,
				       uint64_t wait_ns, struct etw_text *name, uint32_t *number);

/* ---- well-known accounts ---- */

/*
 * Names of accounts by their SIDs. Accounts that have the same SID on every Windows have an English
 * name here, also where the language of a machine has another one, so that one query serves all
 * machines. Others have their SID.
 */

/* Adds the name of a well-known account, such as "NT AUTHORITY\SYSTEM", by its SID as text
 * ("S-1-5-18"). Returns false and adds nothing if it is none. */
bool accounts_well_known(const char *sid, size_t size, struct etw_text *name);

/* What an event says about a process. Texts are UTF-8; an absent one is empty. */
struct process_announced {
	const char *image; /* name of the program, as recorded */
	size_t image_size;
	const char *path; /* NULL: the one with which the command line begins */
	size_t path_size;
	const char *command_line;
	size_t command_line_size;
	const char *sid; /* of the account that it runs as: "S-1-5-18" */
	size_t sid_size;
	uint32_t parent_id;        /* ETW_RECORD_NO_ID: not known */
	uint32_t terminal_session; /* NO_TERMINAL_SESSION: none, or not known */
};

#define NO_TERMINAL_SESSION UINT32_MAX

enum { COMMAND_LINE_MOST = 32 << 10 }; /* most bytes of a command line that are kept */

struct identity {
	/* Owned: image, path, SID and command line, each with a NUL; NULL: not kept. */
	char *texts;
	uint32_t image_size, path_size, sid_size, command_line_size;
	uint32_t parent_id;
	int64_t time;   /* raw time of the event */
	uint32_t image; /* label id of the image's name; INTERN_NONE: not known, or not yet */
	uint32_t label; /* label id of the process */
	/* Label ids of the account and of its SID; INTERN_NONE: not known, or not asked for. */
	uint32_t owner, owner_sid;
	uint32_t terminal_session; /* or NO_TERMINAL_SESSION */
	uint32_t account;          /* number of the account, or NO_ACCOUNT */
	bool owner_pending;        /* owner is the SID, until the machine gives the name */
	bool owner_nameless;       /* likewise, but the machine has given none so far */
	bool in_use;          /* it has a process; otherwise parent_id is the next free number */
	bool marked, running; /* of a sweep */
};

struct identities {
	struct names *names;    /* borrowed */
	struct intern *strings; /* borrowed: labels */
	/* Whether paths and command lines are kept: for rules, or for those that a reload of a live
	 * session may bring. */
	bool keeps;
	bool owners;                   /* whether owners are asked for */
	struct account_lookup *lookup; /* borrowed; NULL: only well-known accounts have names */
	bool pending;                  /* some owner's name is pending, or may come later */
	uint32_t answered;        /* accounts with an answer when owners were last looked for */
	uint32_t late;            /* accounts that had got a name late by then */
	bool names_came;          /* a pending name has come; the reader resets it */
	struct identity *rows;    /* owned; row 0 is that of no process */
	size_t count, capacity;   /* rows, free ones included */
	uint32_t free;            /* first free number; 0: none */
	size_t used, sweep_at;    /* rows in use, and how many of them make a sweep worthwhile */
	size_t bytes, bytes_most; /* of texts */
	size_t offered;   /* bytes of all texts since the last sweep, refused ones included */
	uint64_t asks;    /* calls of account_lookup_ask(), for tests */
	uint64_t refused; /* command lines and names for which there was no room */
	const struct process_names *rules; /* borrowed; NULL: none */
	struct regex_matcher *matcher;     /* owned; NULL until rules exist */
	struct etw_text scratch;           /* owned */
};

/* bytes_most: the most bytes of texts. Command lines use half of them at most. */
void identities_init(struct identities *identities, struct names *names, struct intern *strings,
		     size_t bytes_most);
void identities_clear(struct identities *identities); /* forgets all; the rules stay */
void identities_done(struct identities *identities);

/* Returns whether a sweep should precede the next identities_add(). */
bool identities_want_sweep(const struct identities *identities);
/* A sweep frees the identities that are not marked: call identities_mark() for each number that is
 * still in use, then identities_sweep(). ended: the process has ended, so its texts can go. */
void identities_mark(struct identities *identities, uint32_t number, bool ended);
void identities_sweep(struct identities *identities);

/* Adds an identity without labels and returns its number; 0 without memory. */
uint32_t identities_add(struct identities *identities, const struct process_announced *announced,
			int64_t time);

/* Changes the rules, which are borrowed; NULL: none. All labels must then be decided again. */
bool identities_set_rules(struct identities *identities, const struct process_names *rules,
			  size_t names_most, struct etw_error *err);

/* Names the owners whose names were pending, if the machine has given them. */
void identities_find_pending_owners(struct identities *identities);

/* Sets the owner of an identity, if owners are asked for and its SID is known. */
void identities_find_owner(struct identities *identities, struct identity *identity);

/* Returns the label id of a process with this image: the name that the rules give, or the image.
 * identity may be NULL: only the image is known. parent: as in struct process_facts. */
uint32_t identities_decide(struct identities *identities, const struct identity *identity,
			   uint32_t image, const char *(*parent)(void *context), void *context);

#endif
