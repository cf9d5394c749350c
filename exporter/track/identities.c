/* SPDX-License-Identifier: MIT */
#include <etw/record.h>

#include "exporter/track/identities.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/os.h"

/* ---- account lookup ---- */

#define IDLE_NS  (UINT64_C(3600) * 1000000000) /* a wait that a wake ends */
#define AGAIN_NS (UINT64_C(600) * 1000000000)

struct account {
	char *sid;  /* owned */
	char *name; /* owned; NULL: none, or not answered yet */
	bool answered;
	uint64_t again_ns; /* when one without a name is asked for again */
};

struct account_lookup {
	char *(*find)(const char *sid);
	struct os_thread thread;
	bool started; /* the thread; only the consumer uses it */

	/* The members below are guarded by the mutex. */
	struct os_mutex mutex;
	struct os_condition changed;
	struct account *accounts; /* owned, as are its texts */
	size_t count, capacity;
	size_t next;   /* the first account that is not answered */
	uint32_t late; /* accounts that got a name after they had none */
	uint64_t again_after_ns;
	bool busy;     /* the thread is in find() … */
	bool again;    /* … for an account that was answered before */
	bool stopping; /* the thread shall end */
	bool deserted; /* and free everything */
};

static void free_all(struct account_lookup *lookup)
{
	for (size_t i = 0; i < lookup->count; i++) {
		free(lookup->accounts[i].sid);
		free(lookup->accounts[i].name);
	}
	free(lookup->accounts);
	os_condition_done(&lookup->changed);
	os_mutex_done(&lookup->mutex);
	free(lookup);
}

/* Answers an account: the next one, or again one without a name. The mutex is locked before and
 * after. */
static void answer(struct account_lookup *lookup, size_t i)
{
	const char *sid = lookup->accounts[i].sid; /* accounts are only added */
	struct account *account;
	char *name;

	lookup->busy = true;
	lookup->again = i != lookup->next;
	os_mutex_unlock(&lookup->mutex);
	name = lookup->find(sid);
	os_mutex_lock(&lookup->mutex);
	account = &lookup->accounts[i];
	account->name = name;
	account->again_ns = os_monotonic_ns() + lookup->again_after_ns;
	if (lookup->again) {
		lookup->late += name != NULL;
	} else {
		account->answered = true;
		lookup->next++;
	}
	lookup->busy = lookup->again = false;
	os_condition_wake_all(&lookup->changed);
}

/* Returns the account to ask for now; SIZE_MAX if there is none before *until_ns. */
static size_t due_account(const struct account_lookup *lookup, uint64_t *until_ns)
{
	uint64_t now = os_monotonic_ns();

	*until_ns = now + IDLE_NS;
	if (lookup->next < lookup->count) {
		return lookup->next;
	}
	for (size_t i = 0; i < lookup->count; i++) {
		const struct account *account = &lookup->accounts[i];

		if (!account->name && account->again_ns <= now) {
			return i;
		}
		if (!account->name && account->again_ns < *until_ns) {
			*until_ns = account->again_ns;
		}
	}
	return SIZE_MAX;
}

static void run(void *context)
{
	struct account_lookup *lookup = context;
	uint64_t until_ns;
	bool deserted;

	os_mutex_lock(&lookup->mutex);
	while (!lookup->stopping) {
		size_t due = due_account(lookup, &until_ns);

		if (due != SIZE_MAX) {
			answer(lookup, due);
		} else {
			os_condition_wait_until(&lookup->changed, &lookup->mutex, until_ns);
		}
	}
	deserted = lookup->deserted;
	os_mutex_unlock(&lookup->mutex);
	if (deserted) {
		free_all(lookup);
	}
}

struct account_lookup *account_lookup_new(char *(*find)(const char *sid), struct etw_error *err)
{
	struct account_lookup *lookup = calloc(1, sizeof *lookup);

	if (!lookup) {
		error_no_memory(err, "names of accounts");
		return NULL;
	}
	lookup->find = find;
	lookup->again_after_ns = AGAIN_NS;
	os_mutex_init(&lookup->mutex);
	os_condition_init(&lookup->changed);
	return lookup;
}

void account_lookup_again_after(struct account_lookup *lookup, uint64_t again_after_ns)
{
	os_mutex_lock(&lookup->mutex);
	lookup->again_after_ns = again_after_ns;
	os_mutex_unlock(&lookup->mutex);
}

void account_lookup_free(struct account_lookup *lookup)
{
	bool busy;

	if (!lookup) {
		return;
	}
	os_mutex_lock(&lookup->mutex);
	busy = lookup->busy;
	lookup->stopping = true;
	lookup->deserted = busy;
	os_condition_wake_all(&lookup->changed);
	if (busy) {
		/* The thread frees everything once it gets the mutex. */
		os_thread_detach(&lookup->thread);
	}
	os_mutex_unlock(&lookup->mutex);
	if (busy) {
		return;
	}
	if (lookup->started) {
		os_thread_join(&lookup->thread);
	}
	free_all(lookup);
}

/* Returns the index of the SID, which is added if it is new; SIZE_MAX if there is no room. */
static size_t find_or_add(struct account_lookup *lookup, const char *sid, size_t size)
{
	struct account *accounts;
	char *copy;

	for (size_t i = 0; i < lookup->count; i++) {
		if (strlen(lookup->accounts[i].sid) == size &&
		    memcmp(lookup->accounts[i].sid, sid, size) == 0) {
			return i;
		}
	}
	if (lookup->count == ACCOUNTS_MOST) {
		return SIZE_MAX;
	}
	accounts = array_grow(lookup->accounts, &lookup->capacity, lookup->count, sizeof *accounts);
	copy = accounts ? text_duplicate(sid, size) : NULL;
	if (accounts) {
		lookup->accounts = accounts;
	}
	if (!copy) {
		return SIZE_MAX;
	}
	accounts[lookup->count] = (struct account){ .sid = copy };
	os_condition_wake_all(&lookup->changed);
	return lookup->count++;
}

enum account_answer account_lookup_ask(struct account_lookup *lookup, const char *sid, size_t size,
				       uint64_t wait_ns, struct etw_text *name, uint32_t *number)
{
	enum account_answer result = ACCOUNT_PENDING;
	uint64_t deadline_ns = os_monotonic_ns() + wait_ns;
	size_t i, count;

	*number = NO_ACCOUNT;
	if (!lookup->started) {
		lookup->started = os_thread_start(&lookup->thread, run, lookup, NULL);
		if (!lookup->started) {
			return ACCOUNT_HAS_NO_NAME;
		}
	}
	os_mutex_lock(&lookup->mutex);
	count = lookup->count;
	i = find_or_add(lookup, sid, size);
	/* Only a new account is waited for: many processes may run as one that has no answer. */
	while (lookup->count > count && i == lookup->next && !lookup->again &&
	       !lookup->accounts[i].answered &&
	       os_condition_wait_until(&lookup->changed, &lookup->mutex, deadline_ns)) {
	}
	if (i == SIZE_MAX) {
		result = ACCOUNT_HAS_NO_NAME;
	} else if (lookup->accounts[i].answered) {
		result = lookup->accounts[i].name ? ACCOUNT_FOUND : ACCOUNT_HAS_NO_NAME;
		text_add_string(name, lookup->accounts[i].name ? lookup->accounts[i].name : "");
	}
	*number = i != SIZE_MAX ? (uint32_t)i : NO_ACCOUNT;
	os_mutex_unlock(&lookup->mutex);
	return result;
}

/* Returns how many accounts have their answers, which come in the order of their numbers: those
 * with lower numbers have one. *late: how many got a name after they had none. */
static uint32_t account_lookup_answered(struct account_lookup *lookup, uint32_t *late)
{
	uint32_t answered;

	os_mutex_lock(&lookup->mutex);
	answered = (uint32_t)lookup->next;
	*late = lookup->late;
	os_mutex_unlock(&lookup->mutex);
	return answered;
}

/* ---- well-known accounts ---- */

/*
 * Accounts that processes run as. Source: "Well-known SIDs" and "Security identifiers", Microsoft
 * Learn. S-1-5-90-0-N and S-1-5-96-0-N are those of the window manager and the font driver host of
 * the terminal session N; their names end in the number.
 */
static const struct {
	const char *sid, *name;
	bool numbered; /* a number follows the SID and the name */
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

#define OWNER_WAIT_NS UINT64_C(100000000) /* for the name of a SID that was not met before */

enum {
	SWEEP_LEAST = 1024, /* as many identities cost less than a look at all instances */
	SWEEP_SHARE = 16,   /* a sweep when texts of this part of the budget have come */
};

void identities_init(struct identities *identities, struct names *names, struct intern *strings,
		     size_t bytes_most)
{
	*identities = (struct identities){ .names = names,
					   .strings = strings,
					   .bytes_most = bytes_most,
					   .sweep_at = SWEEP_LEAST };
}

void identities_clear(struct identities *identities)
{
	for (size_t i = 0; i < identities->count; i++) {
		free(identities->rows[i].texts);
	}
	free(identities->rows);
	identities->rows = NULL;
	identities->count = identities->capacity = 0;
	identities->free = 0;
	identities->used = 0;
	identities->bytes = 0;
	identities->offered = 0;
	identities->sweep_at = SWEEP_LEAST;
}

void identities_done(struct identities *identities)
{
	identities_clear(identities);
	regex_matcher_free(identities->matcher);
	identities->matcher = NULL;
	text_free(&identities->scratch);
}

/* ---- the table ---- */

bool identities_want_sweep(const struct identities *identities)
{
	return identities->used >= identities->sweep_at ||
	       identities->offered >= identities->bytes_most / SWEEP_SHARE;
}

void identities_mark(struct identities *identities, uint32_t number, bool ended)
{
	identities->rows[number].marked = true;
	identities->rows[number].running |= !ended;
}

static size_t bytes_of(const struct identity *identity)
{
	return (size_t)identity->image_size + identity->path_size + identity->sid_size +
	       identity->command_line_size + 4;
}

void identities_sweep(struct identities *identities)
{
	for (uint32_t i = 1; i < identities->count; i++) {
		struct identity *identity = &identities->rows[i];

		if (identity->texts && !identity->running) {
			identities->bytes -= bytes_of(identity);
			free(identity->texts);
			identity->texts = NULL;
		}
		if (identity->in_use && !identity->marked) {
			*identity = (struct identity){ .parent_id = identities->free };
			identities->free = i;
			identities->used--;
		}
		identity->marked = identity->running = false;
	}
	identities->sweep_at = 2 * identities->used > SWEEP_LEAST ? 2 * identities->used :
								    SWEEP_LEAST;
	identities->offered = 0;
}

/* Returns a free row; NULL without memory. */
static struct identity *new_row(struct identities *identities)
{
	struct identity *rows;
	uint32_t number = identities->free;

	if (number != 0) {
		identities->free = identities->rows[number].parent_id;
		return &identities->rows[number];
	}
	if (identities->count == UINT32_MAX) {
		return NULL;
	}
	rows = array_grow(identities->rows, &identities->capacity, identities->count + 1,
			  sizeof *rows);
	if (!rows) {
		return NULL;
	}
	identities->rows = rows;
	if (identities->count == 0) {
		rows[identities->count++] = (struct identity){ .in_use = false };
	}
	return &rows[identities->count++];
}

/* Returns the size of a UTF-8 text that is cut at `most` bytes, between two characters. */
static size_t cut_size(const char *text, size_t size, size_t most)
{
	if (size <= most) {
		return size;
	}
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) {
		most--;
	}
	return most;
}

/* Returns the size of the path with which a command line begins, and sets *path to it: the first
 * word, or what is in quotes. */
static size_t program_path(const char *command_line, size_t size, const char **path)
{
	size_t start = size > 0 && command_line[0] == '"', end = start;

	while (end < size && (start ? command_line[end] != '"' :
				      command_line[end] != ' ' && command_line[end] != '\t')) {
		end++;
	}
	*path = command_line + start;
	return end - start;
}

static char *append(char *to, const char *text, size_t size)
{
	if (size > 0) {
		memcpy(to, text, size);
	}
	to[size] = '\0';
	return to + size + 1;
}

/* Copies the texts as far as there is room for them; a process without a command line still has
 * the name of its image. */
static void copy_texts(struct identities *identities, struct identity *identity,
		       const struct process_announced *announced)
{
	enum { PATH_MOST = 1024 };
	const char *path = announced->path;
	size_t path_size = announced->path_size;
	size_t command_line_size =
		cut_size(announced->command_line, announced->command_line_size, COMMAND_LINE_MOST);
	char *texts = NULL, *at;

	if (!path) {
		path_size = program_path(announced->command_line, command_line_size, &path);
	}
	path_size = cut_size(path, path_size, PATH_MOST);
	if (!identities->keeps) {
		path_size = command_line_size = 0;
	}
	if (path_size + command_line_size > 0 &&
	    identities->bytes + path_size + command_line_size > identities->bytes_most / 2) {
		path_size = command_line_size = 0;
		identities->refused++;
	}
	identities->offered += announced->image_size + path_size + command_line_size;
	identity->image_size = (uint32_t)announced->image_size;
	identity->sid_size = (uint32_t)announced->sid_size;
	identity->path_size = (uint32_t)path_size;
	identity->command_line_size = (uint32_t)command_line_size;
	if (bytes_of(identity) <= identities->bytes_most - identities->bytes) {
		texts = malloc(bytes_of(identity));
		if (!texts) {
			memory_note_loss();
		}
	}
	identity->texts = texts;
	if (!texts) {
		identities->refused++;
		return;
	}
	at = append(texts, announced->image, announced->image_size);
	at = append(at, path, path_size);
	at = append(at, announced->sid, announced->sid_size);
	append(at, announced->command_line, command_line_size);
	identities->bytes += bytes_of(identity);
}

uint32_t identities_add(struct identities *identities, const struct process_announced *announced,
			int64_t time)
{
	struct identity *identity = new_row(identities);

	if (!identity) {
		memory_note_loss();
		return 0;
	}
	*identity = (struct identity){ .parent_id = announced->parent_id,
				       .terminal_session = announced->terminal_session,
				       .time = time,
				       .in_use = true };
	copy_texts(identities, identity, announced);
	identities->used++;
	return (uint32_t)(identity - identities->rows);
}

/* ---- labels ---- */

bool identities_set_rules(struct identities *identities, const struct process_names *rules,
			  size_t names_most, struct etw_error *err)
{
	if (rules && !identities->matcher) {
		identities->matcher = regex_matcher_new(err);
		if (!identities->matcher) {
			return false;
		}
	}
	if (identities->rules) {
		names_forget_given(identities->names);
	}
	names_set_given_limit(identities->names, names_most);
	identities->rules = rules;
	return true;
}

/* Sets the owner of an identity whose SID is known. wait_ns: for the machine's answer. */
static void name_owner(struct identities *identities, struct identity *identity, uint64_t wait_ns)
{
	struct etw_text *name = &identities->scratch;
	const char *sid = identity->texts + identity->image_size + identity->path_size + 2;
	enum account_answer answer = ACCOUNT_HAS_NO_NAME;

	identity->account = NO_ACCOUNT;
	text_clear(name);
	if (accounts_well_known(sid, identity->sid_size, name)) {
		answer = ACCOUNT_FOUND;
	} else if (identities->lookup) {
		identities->asks++;
		answer = account_lookup_ask(identities->lookup, sid, identity->sid_size, wait_ns,
					    name, &identity->account);
	}
	if (answer != ACCOUNT_FOUND) {
		text_add(name, sid, identity->sid_size);
	}
	identity->owner_pending = answer == ACCOUNT_PENDING;
	identity->owner_nameless = answer == ACCOUNT_HAS_NO_NAME && identity->account != NO_ACCOUNT;
	identities->pending |= identity->owner_pending || identity->owner_nameless;
	identity->owner = name->failed ? INTERN_NONE :
					 intern_add(identities->strings, name->data, name->size);
}

void identities_find_pending_owners(struct identities *identities)
{
	uint32_t late = identities->late;
	uint32_t answered =
		identities->pending ? account_lookup_answered(identities->lookup, &late) : 0;
	bool named = late != identities->late;

	/* Every process that starts comes here, so without an answer this costs a lock at most. */
	if ((answered == identities->answered && !named) || !identities->pending) {
		return;
	}
	identities->answered = answered;
	identities->late = late;
	identities->pending = false;
	for (size_t i = 1; i < identities->count; i++) {
		struct identity *identity = &identities->rows[i];

		if (!identity->texts) {
			continue;
		}
		if ((identity->owner_pending && identity->account < answered) ||
		    (identity->owner_nameless && named)) {
			name_owner(identities, identity, 0);
			identities->names_came = true;
		}
		identities->pending |= identity->owner_pending || identity->owner_nameless;
	}
}

void identities_find_owner(struct identities *identities, struct identity *identity)
{
	const char *sid;

	if (!identities->owners || !identity->texts || identity->sid_size == 0 ||
	    identity->owner != INTERN_NONE) {
		return;
	}
	sid = identity->texts + identity->image_size + identity->path_size + 2;
	identity->owner_sid = intern_add(identities->strings, sid, identity->sid_size);
	name_owner(identities, identity, OWNER_WAIT_NS);
}

uint32_t identities_decide(struct identities *identities, const struct identity *identity,
			   uint32_t image, const char *(*parent)(void *context), void *context)
{
	struct process_facts facts = { .image = names_text(identities->names, image),
				       .path = "",
				       .command_line = "",
				       .parent = parent,
				       .context = context };
	struct etw_text *name = &identities->scratch;

	if (!identities->rules || !facts.image) {
		return image;
	}
	if (identity && identity->texts) {
		facts.path = identity->texts + identity->image_size + 1;
		facts.command_line = facts.path + identity->path_size + identity->sid_size + 2;
		facts.command_line_size = identity->command_line_size;
	}
	text_clear(name);
	if (!process_names_decide(identities->rules, identities->matcher, &facts, name) ||
	    name->failed) {
		return image;
	}
	return names_given_label(identities->names, name->data,
				 cut_size(name->data, name->size, PROCESS_NAME_MOST), image);
}
