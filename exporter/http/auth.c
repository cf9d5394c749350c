/* SPDX-License-Identifier: MIT */
/*
 * Basic authentication that strangers cannot use to attack the exporter.
 *
 * Checking a password takes a bcrypt hash: tens of milliseconds of a processor at the usual cost.
 * Prometheus sends its password with each scrape, so a right password is remembered: not in plain
 * text, but as an HMAC of name, password and hash, with a key that is made when the program starts.
 * A user who is removed or gets another hash makes other HMACs, so what is remembered of him is no
 * longer found. What is remembered of the others stays valid when users are replaced.
 *
 * Strangers must not learn which users exist. For an unknown name a hash is computed as for a known
 * one: with the hash of a user who is chosen by the name, so that costs that differ between users
 * differ between unknown names in the same way. The result is ignored. The cache is also searched
 * for an unknown name as for a known one, because a client that has to wait can ask thousands of
 * times a second, and could measure a difference of microseconds.
 *
 * Strangers must not occupy the machine either. One hash is computed at a time. Further requests
 * wait in a queue with fewer places than the web server has threads; one client gets only some of
 * them. After a wrong password a client waits three times as long as its hash took until another
 * hash is computed for it, so it gets at most a quarter of one processor.
 *
 * Nor must those who guess keep out those who know. A client whose last wrong password is longer
 * ago goes first, and one that has sent none goes before all others. If no place is free, it takes
 * the place of the client that would go last. A client that gets no place, or loses it, is refused
 * until it has waited as long as the answer says, so that asking without a pause is no advantage.
 * Clients differ by address as for other limits (client_address_alike()); those behind one proxy
 * count as one, but a password that is known to be right is never refused.
 *
 * Names are compared with all users, each in constant time. A password with a NUL cannot be right,
 * because crypt_r() only reads what precedes the NUL.
 */
#include "exporter/http/auth.h"

#include <crypt.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "exporter/http/crypto.h"

/* ---- hashes of passwords ---- */

bool password_check_hash(const char *hash, struct etw_error *err)
{
	static const char letters[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789";
	unsigned cost;

	if (strlen(hash) != PASSWORD_HASH_SIZE || hash[0] != '$' || hash[1] != '2' ||
	    !strchr("aby", hash[2]) || hash[3] != '$' || hash[6] != '$' ||
	    strspn(hash + 7, letters) != PASSWORD_HASH_SIZE - 7 || hash[4] < '0' || hash[4] > '9' ||
	    hash[5] < '0' || hash[5] > '9') {
		return error_set(err, ETW_ERROR_CONFIG,
				 "the password is not a bcrypt hash such as htpasswd -nBC 10 makes "
				 "($2y$10$ and 53 letters)");
	}
	cost = (unsigned)(hash[4] - '0') * 10 + (unsigned)(hash[5] - '0');
	if (cost < PASSWORD_COST_LEAST || cost > PASSWORD_COST_MOST) {
		return error_set(err, ETW_ERROR_CONFIG,
				 "the cost of the bcrypt hash is %u; it can be from %d to %d", cost,
				 PASSWORD_COST_LEAST, PASSWORD_COST_MOST);
	}
	return true;
}

bool password_matches(const char *password, const char *hash)
{
	struct crypt_data *data = calloc(1, sizeof *data); /* 32 KB */
	const char *computed = data ? crypt_r(password, hash, data) : NULL;
	bool matches = computed && strlen(computed) == PASSWORD_HASH_SIZE &&
		       strlen(hash) == PASSWORD_HASH_SIZE &&
		       crypto_equal(computed, hash, PASSWORD_HASH_SIZE);

	if (data) {
		crypto_wipe(data, sizeof *data);
	}
	free(data);
	return matches;
}

enum {
	PENALTY_FACTOR = 3,
	CLIENT_RECORDS = 1024, /* clients remembered because they were refused */
};

static const uint64_t RETRY_NS = UINT64_C(1000000000); /* "Retry-After: 1" */

struct user {
	char *name; /* owned */
	size_t name_size;
	char hash[PASSWORD_HASH_SIZE + 1];
};

/* A request whose password is being checked or waits to be. */
struct queue_place {
	struct client_address client;
	uint64_t number;   /* in the order of arrival; 0: the place is free */
	uint64_t wrong_ns; /* the client's, from its record */
	bool computing;
};

/* What is remembered of a client that was refused. Times are those of the clock; 0: never. */
struct client_record {
	struct client_address client;
	uint64_t noted_ns;         /* when it was refused last */
	uint64_t wrong_ns;         /* when it sent its last wrong password */
	uint64_t penalty_until_ns; /* for a wrong password */
	uint64_t retry_ns;         /* it got no place and should come again then */
};

struct auth {
	uint64_t (*clock_ns)(void);
	auth_matches *matches;
	uint8_t key[DIGEST_SIZE];

	struct os_mutex mutex;       /* guards all members below */
	struct os_condition changed; /* a place was taken or left */
	struct user *users;          /* owned */
	size_t user_count;
	uint8_t cache[AUTH_CACHE_SIZE][DIGEST_SIZE];
	size_t cached, cache_next;
	struct queue_place places[AUTH_PLACES];
	uint64_t last_number;
	struct client_record records[CLIENT_RECORDS];
	bool stopped;
	struct auth_statistics statistics;
};

/* ---- users ---- */

static void free_users(struct user *users, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(users[i].name);
	}
	free(users);
}

bool auth_set_users(struct auth *auth, const struct auth_user *users, size_t count,
		    struct etw_error *err)
{
	struct user *copies = calloc(count + 1, sizeof *copies), *before;
	size_t before_count;

	for (size_t i = 0; copies && i < count; i++) {
		copies[i].name_size = strlen(users[i].name);
		copies[i].name = text_duplicate(users[i].name, copies[i].name_size);
		if (!copies[i].name) {
			free_users(copies, i);
			copies = NULL;
			break;
		}
		memcpy(copies[i].hash, users[i].hash, PASSWORD_HASH_SIZE);
	}
	if (!copies) {
		return error_no_memory(err, "the users");
	}
	os_mutex_lock(&auth->mutex);
	before = auth->users;
	before_count = auth->user_count;
	auth->users = copies;
	auth->user_count = count;
	os_mutex_unlock(&auth->mutex);
	free_users(before, before_count);
	return true;
}

/* Returns the user with this name, or NULL. Compares with all users, so that the time does not show
 * which one matches. */
static const struct user *find_user(const struct auth *auth, const char *name, size_t size)
{
	const struct user *found = NULL;

	for (size_t i = 0; i < auth->user_count; i++) {
		const struct user *user = &auth->users[i];

		if (user->name_size == size && crypto_equal(user->name, name, size)) {
			found = user;
		}
	}
	return found;
}

/* ---- the Authorization header ---- */

struct credentials {
	char *bytes; /* owned: "user:password", and a NUL */
	size_t size, name_size;
	const char *password;
};

/* Parses the header: the scheme "Basic" in any case, blanks, then base64. Blanks at the end are not
 * a part of a header (RFC 9110, section 5.5). Returns false if there is anything else. */
static bool parse(const char *header, struct credentials *credentials)
{
	static const char scheme[] = "basic ";
	size_t size = strlen(header);
	char *colon;

	*credentials = (struct credentials){ 0 };
	if (!text_starts_nocase(header, size, scheme, sizeof scheme - 1)) {
		return false;
	}
	header += sizeof scheme - 1;
	header += strspn(header, " ");
	size = strlen(header);
	while (size > 0 && (header[size - 1] == ' ' || header[size - 1] == '\t')) {
		size--;
	}
	if (!crypto_base64_decode(header, size, &credentials->bytes, &credentials->size)) {
		return false;
	}
	colon = memchr(credentials->bytes, ':', credentials->size);
	if (!colon || memchr(credentials->bytes, '\0', credentials->size)) {
		return false;
	}
	credentials->name_size = (size_t)(colon - credentials->bytes);
	credentials->password = colon + 1;
	return true;
}

static void forget(struct credentials *credentials)
{
	if (credentials->bytes) {
		crypto_wipe(credentials->bytes, credentials->size);
	}
	free(credentials->bytes);
}

/* ---- the cache ---- */

/* Computes the HMAC under which a password is remembered. The input is unambiguous, because a hash
 * has a fixed length and the first colon ends the user's name. */
static bool digest_of(const struct auth *auth, const struct credentials *credentials,
		      const char *hash, uint8_t digest[DIGEST_SIZE])
{
	struct etw_text all = { 0 };
	bool good;

	text_add(&all, hash, PASSWORD_HASH_SIZE);
	text_add(&all, credentials->bytes, credentials->size);
	good = !all.failed && crypto_digest(auth->key, all.data, all.size, digest);
	if (all.data) {
		crypto_wipe(all.data, all.size);
	}
	text_free(&all);
	return good;
}

/* Returns whether this password of a known user was right before. */
static bool is_cached(struct auth *auth, const struct credentials *credentials)
{
	const struct user *user = find_user(auth, credentials->bytes, credentials->name_size);
	static const char no_hash[PASSWORD_HASH_SIZE];
	uint8_t digest[DIGEST_SIZE];
	bool found = false;

	auth->statistics.digests++;
	if (!digest_of(auth, credentials, user ? user->hash : no_hash, digest)) {
		return false;
	}
	for (size_t i = 0; i < auth->cached; i++) {
		found |= crypto_equal(auth->cache[i], digest, DIGEST_SIZE);
	}
	return found && user;
}

/* Remembers a right password; it replaces the oldest one if the cache is full. */
static void put_into_cache(struct auth *auth, const struct credentials *credentials,
			   const char *hash)
{
	uint8_t digest[DIGEST_SIZE];

	if (!digest_of(auth, credentials, hash, digest)) {
		return;
	}
	memcpy(auth->cache[auth->cache_next], digest, DIGEST_SIZE);
	auth->cache_next = (auth->cache_next + 1) % AUTH_CACHE_SIZE;
	auth->cached += auth->cached < AUTH_CACHE_SIZE;
}

/* ---- records and places ---- */

/* Returns the record of a client, or NULL. */
static struct client_record *find_record(struct auth *auth, const struct client_address *client)
{
	for (size_t i = 0; i < CLIENT_RECORDS; i++) {
		struct client_record *record = &auth->records[i];

		if (record->noted_ns > 0 && client_address_alike(&record->client, client)) {
			return record;
		}
	}
	return NULL;
}

/* Returns the record of a client that is refused. A new one replaces the record of the client that
 * has not been refused for the longest time. */
static struct client_record *note_refusal(struct auth *auth, const struct client_address *client)
{
	struct client_record *record = find_record(auth, client);

	if (!record) {
		record = &auth->records[0];
		for (size_t i = 1; i < CLIENT_RECORDS; i++) {
			if (auth->records[i].noted_ns < record->noted_ns) {
				record = &auth->records[i];
			}
		}
		*record = (struct client_record){ .client = *client };
	}
	record->noted_ns = auth->clock_ns();
	return record;
}

static bool has_penalty(struct auth *auth, const struct client_address *client)
{
	const struct client_record *record = find_record(auth, client);

	return record && record->penalty_until_ns > auth->clock_ns();
}

/* Returns whether a client with this record (or NULL) must wait before it may take a place. */
static bool must_wait(const struct auth *auth, const struct client_record *record)
{
	uint64_t now_ns = auth->clock_ns();

	return record && (record->penalty_until_ns > now_ns || record->retry_ns > now_ns);
}

/* Lets a client wait after a wrong password. took_ns: how long its hash took. */
static void give_penalty(struct auth *auth, const struct client_address *client, uint64_t took_ns)
{
	struct client_record *record = note_refusal(auth, client);

	record->wrong_ns = record->noted_ns;
	record->penalty_until_ns = record->noted_ns + PENALTY_FACTOR * took_ns;
}

static bool goes_before(const struct queue_place *a, const struct queue_place *b)
{
	return a->wrong_ns != b->wrong_ns ? a->wrong_ns < b->wrong_ns : a->number < b->number;
}

/* Takes a place for a client, if need be that of another client which would go last and whose
 * password is not being checked. Returns NULL if there is none, the client has as many as it may
 * have, or after auth_stop(). */
static struct queue_place *take_place(struct auth *auth, const struct client_address *client,
				      const struct client_record *record)
{
	const struct queue_place requested = { .client = *client,
					       .number = auth->last_number + 1,
					       .wrong_ns = record ? record->wrong_ns : 0 };
	struct queue_place *chosen = NULL;
	unsigned of_client = 0;

	for (size_t i = 0; i < AUTH_PLACES; i++) {
		struct queue_place *place = &auth->places[i];

		of_client += place->number > 0 && client_address_alike(&place->client, client);
		if (place->computing || (chosen && chosen->number == 0)) {
			continue;
		}
		if (place->number == 0 || goes_before(chosen ? chosen : &requested, place)) {
			chosen = place;
		}
	}
	if (!chosen || of_client >= AUTH_CLIENT_PLACES || auth->stopped) {
		return NULL;
	}
	auth->last_number = requested.number;
	*chosen = requested;
	os_condition_wake_all(&auth->changed);
	return chosen;
}

static bool is_next(const struct auth *auth, const struct queue_place *place)
{
	for (size_t i = 0; i < AUTH_PLACES; i++) {
		const struct queue_place *other = &auth->places[i];

		if (other->number > 0 && (other->computing || goes_before(other, place))) {
			return false;
		}
	}
	return true;
}

static void leave_place(struct auth *auth, struct queue_place *place)
{
	*place = (struct queue_place){ .number = 0 };
	os_condition_wake_all(&auth->changed);
}

/* ---- checking ---- */

/*
 * Computes the hash without holding the lock. The users may have been replaced meanwhile, so the
 * password is right only if its user still has the hash with which it was compared.
 */
static enum auth_result compute(struct auth *auth, const struct credentials *credentials,
				const struct client_address *client, struct queue_place *place)
{
	const struct user *user = find_user(auth, credentials->bytes, credentials->name_size);
	char hash[PASSWORD_HASH_SIZE + 1];
	bool known = user != NULL, matches;
	uint64_t start_ns;

	if (auth->user_count == 0) {
		return AUTH_GRANTED; /* all users have been removed meanwhile */
	}
	if (!known) {
		uint8_t by_name[DIGEST_SIZE] = { 0 };
		size_t index = 0;

		crypto_digest(auth->key, credentials->bytes, credentials->name_size, by_name);
		memcpy(&index, by_name, sizeof index);
		user = &auth->users[index % auth->user_count];
	}
	memcpy(hash, user->hash, sizeof hash);
	place->computing = true;
	auth->statistics.hashes++;
	os_mutex_unlock(&auth->mutex);
	start_ns = auth->clock_ns();
	matches = auth->matches(credentials->password, hash);
	os_mutex_lock(&auth->mutex);
	user = find_user(auth, credentials->bytes, credentials->name_size);
	if (known && matches && user && strcmp(user->hash, hash) == 0) {
		put_into_cache(auth, credentials, hash);
		return AUTH_GRANTED;
	}
	give_penalty(auth, client, auth->clock_ns() - start_ns);
	return AUTH_DENIED;
}

/* Refuses a client that has no place. */
static enum auth_result refuse(struct auth *auth, const struct client_address *client)
{
	if (!auth->stopped) {
		struct client_record *record = note_refusal(auth, client);

		record->retry_ns = record->noted_ns + RETRY_NS;
	}
	return AUTH_BUSY;
}

/* Checks a password that is not in the cache, when its turn comes. */
static enum auth_result check_in_turn(struct auth *auth, const struct credentials *credentials,
				      const struct client_address *client)
{
	const struct client_record *record = find_record(auth, client);
	struct queue_place *place;
	enum auth_result result;
	uint64_t number;

	if (must_wait(auth, record)) {
		return AUTH_LATER;
	}
	place = take_place(auth, client, record);
	if (!place) {
		return refuse(auth, client);
	}
	number = place->number;
	while (!auth->stopped && place->number == number && !is_next(auth, place)) {
		os_condition_wait(&auth->changed, &auth->mutex, UINT64_C(1000000000));
	}
	if (place->number != number) {
		return refuse(auth, client); /* another client has taken the place */
	}
	/* The request before may have had the same password, which is then in the cache. */
	if (is_cached(auth, credentials)) {
		result = AUTH_GRANTED;
	} else if (auth->stopped) {
		result = AUTH_BUSY;
	} else {
		result = has_penalty(auth, client) ? AUTH_LATER :
						     compute(auth, credentials, client, place);
	}
	leave_place(auth, place);
	return result;
}

bool auth_knows(struct auth *auth, const char *authorization)
{
	struct credentials credentials = { 0 };
	bool parsed = authorization && parse(authorization, &credentials), knows;

	os_mutex_lock(&auth->mutex);
	knows = auth->user_count == 0 || (parsed && is_cached(auth, &credentials));
	os_mutex_unlock(&auth->mutex);
	forget(&credentials);
	return knows;
}

enum auth_result auth_check(struct auth *auth, const char *authorization,
			    const struct client_address *client)
{
	struct credentials credentials = { 0 };
	enum auth_result result = AUTH_DENIED;
	bool parsed = authorization && parse(authorization, &credentials);

	os_mutex_lock(&auth->mutex);
	if (auth->user_count == 0) {
		result = AUTH_GRANTED;
	} else if (parsed) {
		result = is_cached(auth, &credentials) ? AUTH_GRANTED :
							 check_in_turn(auth, &credentials, client);
	}
	auth->statistics.denied += result == AUTH_DENIED;
	auth->statistics.busy += result == AUTH_BUSY;
	auth->statistics.later += result == AUTH_LATER;
	os_mutex_unlock(&auth->mutex);
	forget(&credentials);
	return result;
}

void auth_stop(struct auth *auth)
{
	os_mutex_lock(&auth->mutex);
	auth->stopped = true;
	os_condition_wake_all(&auth->changed);
	os_mutex_unlock(&auth->mutex);
}

void auth_statistics(struct auth *auth, struct auth_statistics *statistics)
{
	os_mutex_lock(&auth->mutex);
	*statistics = auth->statistics;
	os_mutex_unlock(&auth->mutex);
}

struct auth *auth_new(uint64_t (*clock_ns)(void), auth_matches *matches, struct etw_error *err)
{
	struct auth *auth = calloc(1, sizeof *auth);

	if (!auth) {
		error_no_memory(err, "authentication");
		return NULL;
	}
	auth->clock_ns = clock_ns ? clock_ns : os_monotonic_ns;
	auth->matches = matches ? matches : password_matches;
	/* OpenSSL is not used here, because it crashes if it lacks memory when it first makes
	 * random numbers (observed in 3.0.19). */
	if (!os_random(auth->key, sizeof auth->key)) {
		error_set(err, ETW_ERROR_SYSTEM, "the system gives no random numbers");
		free(auth);
		return NULL;
	}
	os_mutex_init(&auth->mutex);
	os_condition_init(&auth->changed);
	return auth;
}

void auth_free(struct auth *auth)
{
	if (auth) {
		free_users(auth->users, auth->user_count);
		os_condition_done(&auth->changed);
		os_mutex_done(&auth->mutex);
		crypto_wipe(auth, sizeof *auth);
		free(auth);
	}
}
