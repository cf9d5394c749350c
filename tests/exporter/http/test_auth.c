/* SPDX-License-Identifier: MIT */
/*
 * Basic authentication: whose requests are granted, and what strangers can make it compute. How
 * long something takes is never measured: hashes are counted, and the clock is the test's.
 *
 * The hashes of the names "… vector" are test vectors of crypt_blowfish (openwall/crypt_blowfish,
 * wrapper.c); that of "toolkit" is the one of prometheus/exporter-toolkit, web/handler.go.
 */
#include "exporter/http/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "exporter/http/crypto.h"
#include "tests/support/system.h"

#define HASH_OF_FAKEPASSWORD "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
#define HASH_OF_U_U          "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"

/* ---- passwords ---- */

static void passwords_are_compared_by_bcrypt(void **state)
{
	static const struct {
		const char *password, *hash;
		bool matches;
	} rows[] = {
		{ "U*U", HASH_OF_U_U, true },
		{ "U*", HASH_OF_U_U, false },
		{ "U*U*", HASH_OF_U_U, false },
		{ "", HASH_OF_U_U, false },
		{ "U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK", true },
		{ "U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", true },
		{ "", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy", true },
		{ "fakepassword", HASH_OF_FAKEPASSWORD, true },
		{ "Fakepassword", HASH_OF_FAKEPASSWORD, false },
		{ "\xff\xff\xa3", "$2y$05$/OK.fbVrR/bpIqNJ5ianF.CE5elHaaO4EbggVDjb8P19RukzXSM3e",
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (password_matches(rows[i].password, rows[i].hash) != rows[i].matches) {
			fail_msg("row %zu", i);
		}
	}
}

static void hashes_are_checked(void **state)
{
	static const struct {
		const char *hash, *sentence; /* NULL: right */
	} rows[] = {
		{ HASH_OF_U_U, NULL },
		{ HASH_OF_FAKEPASSWORD, NULL },
		{ "$2b$04$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", NULL },
		{ "secret", "the password is not a bcrypt hash" },
		{ "", "the password is not a bcrypt hash" },
		{ "$2x$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
		  "the password is not a bcrypt hash" },
		{ "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOe",
		  "the password is not a bcrypt hash" },
		{ "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyO+W",
		  "the password is not a bcrypt hash" },
		{ "$apr1$abcdefgh$aaaaaaaaaaaaaaaaaaaaaa", "the password is not a bcrypt hash" },
		{ "$2a$17$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
		  "the cost of the bcrypt hash is 17; it can be from 4 to 16" },
		{ "$2a$03$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
		  "the cost of the bcrypt hash is 3; it can be from 4 to 16" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct etw_error err = { 0 };
		bool good = password_check_hash(rows[i].hash, &err);

		assert_int_equal(good, rows[i].sentence == NULL);
		if (!good && strncmp(err.text, rows[i].sentence, strlen(rows[i].sentence)) != 0) {
			fail_msg("row %zu: %s", i, err.text);
		}
		if (!good && rows[i].hash[0] != '\0') { /* it may be a password, not a hash */
			assert_null(strstr(err.text, rows[i].hash));
		}
	}
}

static void base64_is_strict(void **state)
{
	static const struct {
		const char *text, *bytes; /* NULL: it is none */
	} rows[] = {
		/* RFC 4648, section 10 */
		{ "", "" },        { "Zg==", "f" },          { "Zm8=", "fo" },
		{ "Zm9v", "foo" }, { "Zm9vYmFy", "foobar" }, { "Zg", NULL },
		{ "Zg=", NULL },   { "Z===", NULL },         { "====", NULL },
		{ "Zm=v", NULL },  { "Zm9v====", NULL },     { " Zm9", NULL },
		{ "Zm-_", NULL },  { "Zm9\xc3", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char *bytes = NULL;
		size_t size;
		bool good = crypto_base64_decode(rows[i].text, strlen(rows[i].text), &bytes, &size);

		if (good != (rows[i].bytes != NULL)) {
			fail_msg("\"%s\"", rows[i].text);
		}
		if (good) {
			assert_string_equal(bytes, rows[i].bytes);
			assert_int_equal(size, strlen(rows[i].bytes));
			free(bytes);
		}
	}
}

/* ---- requests ---- */

static _Atomic uint64_t now_ns;

/* Each look at the clock moves it on, so that a hash takes some time. */
static uint64_t test_clock(void)
{
	return atomic_fetch_add(&now_ns, 1000) + 1000;
}

static struct auth *users_with(auth_matches *matches, const struct auth_user *list, size_t count)
{
	struct etw_error err = { 0 };
	struct auth *auth = auth_new(test_clock, matches, &err);

	atomic_store(&now_ns, 1000000000);
	assert_non_null(auth);
	assert_true(auth_set_users(auth, list, count, &err));
	return auth;
}

static struct auth *users(const struct auth_user *list, size_t count)
{
	return users_with(NULL, list, count);
}

static const struct auth_user alice[] = { { "alice", HASH_OF_U_U } };
static const char right[] = "Basic YWxpY2U6VSpV";       /* alice:U*U */
static const char wrong[] = "Basic YWxpY2U6VSpW";       /* alice:U*V */
static const char unknown[] = "Basic bWFsbG9yeTpVKlU="; /* mallory:U*U */

static enum auth_result check(struct auth *auth, const char *header, const char *client)
{
	struct client_address address = { 0 };
	struct address_range range;

	assert_true(address_range_parse(client, &range));
	memcpy(address.bytes, range.bytes, sizeof address.bytes);
	return auth_check(auth, header, &address);
}

static uint64_t hashes(struct auth *auth)
{
	struct auth_statistics statistics;

	auth_statistics(auth, &statistics);
	return statistics.hashes;
}

/* So long that no penalty is left. */
static void wait_for_penalties(void)
{
	atomic_fetch_add(&now_ns, UINT64_C(3600000000000));
}

static void requests_are_granted_with_the_right_password(void **state)
{
	static const struct {
		const char *header;
		enum auth_result result;
	} rows[] = {
		{ NULL, AUTH_DENIED },
		{ "", AUTH_DENIED },
		{ "Basic", AUTH_DENIED },
		{ "Basic ", AUTH_DENIED },
		{ right, AUTH_GRANTED },
		{ "basic YWxpY2U6VSpV", AUTH_GRANTED },
		{ "BASIC   YWxpY2U6VSpV", AUTH_GRANTED },
		{ "Basic YWxpY2U6VSpV \t ", AUTH_GRANTED },
		{ "Basic YWxpY2U6VSpV x", AUTH_DENIED },
		{ "Basic YWxpY2U6VSpV, x", AUTH_DENIED },
		{ "Basic YWxpY2U6 VSpV", AUTH_DENIED },
		{ "Basic YWxpY2U6VSpV\tx", AUTH_DENIED },
		{ "Bearer YWxpY2U6VSpV", AUTH_DENIED },
		{ "YWxpY2U6VSpV", AUTH_DENIED },
		{ "Basic YWxpY2U6VSpV!", AUTH_DENIED },
		{ "Basic YWxpY2U=", AUTH_DENIED },         /* alice */
		{ "Basic OlUqVQ==", AUTH_DENIED },         /* :U*U */
		{ "Basic QWxpY2U6VSpV", AUTH_DENIED },     /* Alice:U*U */
		{ "Basic YWxpY2U6VSpVAA==", AUTH_DENIED }, /* alice:U*U and a NUL */
		{ "Basic YWxpY2U6VSpVAHg=", AUTH_DENIED }, /* alice:U*U, a NUL and x */
		{ "Basic YWxpY2UAOlUqVQ==", AUTH_DENIED }, /* alice, a NUL, :U*U */
		{ wrong, AUTH_DENIED },
		{ unknown, AUTH_DENIED },
	};
	struct auth *auth = users(alice, 1);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		wait_for_penalties();
		if (check(auth, rows[i].header, "192.0.2.1") != rows[i].result) {
			fail_msg("%s", rows[i].header);
		}
	}
	auth_free(auth);
}

static void without_users_everything_is_granted(void **state)
{
	struct auth *auth = users(NULL, 0);

	(void)state;
	assert_int_equal(check(auth, NULL, "192.0.2.1"), AUTH_GRANTED);
	assert_int_equal(check(auth, wrong, "192.0.2.1"), AUTH_GRANTED);
	assert_int_equal(hashes(auth), 0);
	auth_free(auth);
}

static void a_right_password_is_hashed_once(void **state)
{
	struct auth *auth = users(alice, 1);

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_GRANTED);
	}
	assert_int_equal(hashes(auth), 1);
	auth_free(auth);
}

/* A wrong password is hashed each time, one of an unknown user too, and so is one without effect.
 */
static void an_unknown_user_costs_what_a_known_one_costs(void **state)
{
	struct auth *auth = users(alice, 1);

	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		wait_for_penalties();
		assert_int_equal(check(auth, wrong, "192.0.2.1"), AUTH_DENIED);
		assert_int_equal(hashes(auth), 2 * i - 1);
		wait_for_penalties();
		assert_int_equal(check(auth, unknown, "192.0.2.1"), AUTH_DENIED);
		assert_int_equal(hashes(auth), 2 * i);
	}
	auth_free(auth);
}

/* Nor does a client that has to wait learn it from the time in which it is refused. */
static void the_cache_is_searched_for_an_unknown_user_too(void **state)
{
	const char *const logins[] = { wrong, unknown };
	struct auth *auth = users(alice, 1);
	struct auth_statistics before, after;

	(void)state;
	assert_int_equal(check(auth, right, "192.0.2.2"), AUTH_GRANTED);
	assert_int_equal(check(auth, wrong, "192.0.2.1"), AUTH_DENIED);
	for (size_t i = 0; i < sizeof logins / sizeof logins[0]; i++) {
		auth_statistics(auth, &before);
		assert_int_equal(check(auth, logins[i], "192.0.2.1"), AUTH_LATER);
		auth_statistics(auth, &after);
		assert_int_equal(after.hashes, before.hashes);
		assert_int_equal(after.digests, before.digests + 1);
	}
	auth_free(auth);
}

static void a_new_hash_ends_the_old_password(void **state)
{
	static const struct auth_user later[] = { { "alice", HASH_OF_FAKEPASSWORD } };
	static const struct auth_user other[] = { { "bob", HASH_OF_U_U } };
	struct auth *auth = users(alice, 1);
	struct etw_error err = { 0 };

	(void)state;
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_GRANTED);
	assert_true(auth_set_users(auth, later, 1, &err));
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_DENIED);
	wait_for_penalties();
	/* alice:fakepassword */
	assert_int_equal(check(auth, "Basic YWxpY2U6ZmFrZXBhc3N3b3Jk", "192.0.2.1"), AUTH_GRANTED);
	assert_true(auth_set_users(auth, other, 1, &err));
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_DENIED);
	auth_free(auth);
}

/* The web configuration is read again whenever a certificate is renewed. */
static void a_right_password_stays_known_when_its_user_stays(void **state)
{
	static const struct auth_user both[] = { { "bob", HASH_OF_FAKEPASSWORD },
						 { "alice", HASH_OF_U_U } };
	struct auth *auth = users(alice, 1);
	struct etw_error err = { 0 };

	(void)state;
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_GRANTED);
	assert_true(auth_set_users(auth, alice, 1, &err));
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_GRANTED);
	assert_true(auth_set_users(auth, both, 2, &err));
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_GRANTED);
	assert_int_equal(hashes(auth), 1);
	assert_true(auth_set_users(auth, both, 1, &err));
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_DENIED);
	assert_int_equal(hashes(auth), 2);
	auth_free(auth);
}

/* More right passwords than there is room for: bcrypt ignores what is behind 72 bytes. */
static void the_cache_is_bounded(void **state)
{
	/* 72 times 0xaa; crypt_blowfish's vector, with text behind */
	static const struct auth_user long_one[] = {
		{ "a", "$2a$05$/OK.fbVrR/bpIqNJ5ianF.swQOIzjOiJ9GHEPuhEkvqrUyvWhEMx6" }
	};
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	struct auth *auth = users(long_one, 1);
	uint64_t before;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned n = 0; n <= AUTH_CACHE_SIZE; n++) {
			unsigned char bytes[2 + 72 + 4] = { 'a', ':' };
			char header[6 + 4 * sizeof bytes / 3 + 1] = "Basic ";
			char *to = header + 6;

			memset(bytes + 2, 0xaa, 72);
			snprintf((char *)bytes + 74, 4, "%03u", n);
			for (size_t i = 0; i < 78; i += 3) {
				bytes[77] = 'x'; /* in place of the NUL */
				*to++ = digits[bytes[i] >> 2];
				*to++ = digits[(bytes[i] & 3) << 4 | bytes[i + 1] >> 4];
				*to++ = digits[(bytes[i + 1] & 15) << 2 | bytes[i + 2] >> 6];
				*to++ = digits[bytes[i + 2] & 63];
			}
			*to = '\0';
			before = hashes(auth);
			assert_int_equal(check(auth, header, "192.0.2.1"), AUTH_GRANTED);
			/* One more than there is room for, in a circle: each was forgotten. */
			assert_int_equal(hashes(auth), before + 1);
		}
	}
	auth_free(auth);
}

static void a_wrong_password_makes_its_client_wait(void **state)
{
	struct auth *auth = users(alice, 1);
	struct auth_statistics statistics;

	(void)state;
	assert_int_equal(check(auth, wrong, "192.0.2.1"), AUTH_DENIED);
	/* The hash took a microsecond or two of the test's clock, in which the next request comes.
	 */
	assert_int_equal(check(auth, wrong, "192.0.2.1"), AUTH_LATER);
	assert_int_equal(hashes(auth), 1);
	/* Others are not concerned, and neither is a password that is known to be right. */
	assert_int_equal(check(auth, right, "192.0.2.2"), AUTH_GRANTED);
	assert_int_equal(check(auth, wrong, "192.0.2.3"), AUTH_DENIED);
	assert_int_equal(check(auth, right, "192.0.2.3"), AUTH_GRANTED);
	wait_for_penalties();
	assert_int_equal(check(auth, wrong, "192.0.2.1"), AUTH_DENIED);
	auth_statistics(auth, &statistics);
	assert_int_equal(statistics.denied, 3);
	assert_int_equal(statistics.later, 1);
	assert_int_equal(statistics.busy, 0);
	auth_free(auth);
}

/* A machine has all addresses of its /64: one that takes another address each time waits, too. */
static void addresses_of_one_network_are_one_client(void **state)
{
	struct auth *auth = users(alice, 1);

	(void)state;
	assert_int_equal(check(auth, wrong, "2001:db8::1"), AUTH_DENIED);
	assert_int_equal(check(auth, wrong, "2001:db8::2"), AUTH_LATER);
	assert_int_equal(check(auth, wrong, "2001:db8:0:1::1"), AUTH_DENIED);
	assert_int_equal(hashes(auth), 2);
	auth_free(auth);
}

/* ---- many at once ---- */

struct login {
	struct auth *auth;
	const char *header;
	char client[16];
	enum auth_result result;
	struct os_thread thread;
	atomic_bool done;
};

static void log_in(void *context)
{
	struct login *login = context;

	login->result = check(login->auth, login->header, login->client);
	atomic_store(&login->done, true);
}

static void start(struct login *login, struct auth *auth, const char *header, unsigned client)
{
	struct etw_error err = { 0 };

	*login = (struct login){ .auth = auth, .header = header };
	snprintf(login->client, sizeof login->client, "192.0.2.%u", client);
	assert_true(os_thread_start(&login->thread, log_in, login, &err));
}

/* Hashes that take as long as the test wants: each waits until it may end. */
static atomic_uint begun, may_end;

static bool matches_when_allowed(const char *password, const char *hash)
{
	unsigned number = atomic_fetch_add(&begun, 1) + 1;

	(void)hash;
	while (atomic_load(&may_end) < number) {
		system_sleep_ms(1);
	}
	return strcmp(password, "U*U") == 0;
}

static struct auth *users_with_slow_hashes(void)
{
	struct auth *auth = users_with(matches_when_allowed, alice, 1);

	atomic_store(&begun, 0);
	atomic_store(&may_end, 0);
	return auth;
}

static void until_begun(unsigned number)
{
	while (atomic_load(&begun) < number) {
		system_sleep_ms(1);
	}
}

/* Ends a hash, and waits for what became of the login for which it was computed. */
static enum auth_result end_hash(struct login *login)
{
	atomic_fetch_add(&may_end, 1);
	os_thread_join(&login->thread);
	return login->result;
}

static enum auth_result result_of(struct login *login)
{
	os_thread_join(&login->thread);
	return login->result;
}

static uint64_t digests(struct auth *auth)
{
	struct auth_statistics statistics;

	auth_statistics(auth, &statistics);
	return statistics.digests;
}

/* Starts a login, and waits until it has a place or was refused. */
static void start_waiting(struct login *login, struct auth *auth, const char *header,
			  unsigned client)
{
	uint64_t before = digests(auth);

	start(login, auth, header, client);
	while (digests(auth) == before) {
		system_sleep_ms(1);
	}
}

static void strangers_cannot_take_all_threads(void **state)
{
	struct auth *auth = users_with_slow_hashes();
	struct login logins[AUTH_PLACES];
	struct auth_statistics statistics;

	(void)state;
	for (unsigned i = 0; i < AUTH_PLACES; i++) {
		start_waiting(&logins[i], auth, wrong, i);
	}
	assert_int_equal(check(auth, wrong, "192.0.2.98"), AUTH_BUSY);
	assert_int_equal(check(auth, right, "192.0.2.99"), AUTH_BUSY);
	for (unsigned i = 0; i < AUTH_PLACES; i++) {
		assert_int_equal(end_hash(&logins[i]), AUTH_DENIED);
	}
	auth_statistics(auth, &statistics);
	assert_int_equal(statistics.busy, 2);
	assert_int_equal(statistics.hashes, AUTH_PLACES);
	auth_free(auth);
}

/* One that gets no place should come again in a second, and gains nothing by coming earlier. */
static void a_client_without_a_place_has_none_for_a_second(void **state)
{
	struct auth *auth = users_with_slow_hashes();
	struct login logins[AUTH_PLACES];

	(void)state;
	for (unsigned i = 0; i < AUTH_PLACES; i++) {
		start_waiting(&logins[i], auth, wrong, i);
	}
	assert_int_equal(check(auth, right, "192.0.2.99"), AUTH_BUSY);
	for (unsigned i = 0; i < AUTH_PLACES; i++) {
		assert_int_equal(end_hash(&logins[i]), AUTH_DENIED);
	}
	assert_int_equal(check(auth, right, "192.0.2.99"), AUTH_LATER);
	atomic_fetch_add(&now_ns, 1000000000);
	atomic_fetch_add(&may_end, 1);
	assert_int_equal(check(auth, right, "192.0.2.99"), AUTH_GRANTED);
	auth_free(auth);
}

/* Each has guessed wrong before, the first one first. */
static void have_guessed(struct auth *auth, unsigned guessers)
{
	atomic_fetch_add(&may_end, guessers);
	for (unsigned i = 0; i < guessers; i++) {
		char client[24];

		snprintf(client, sizeof client, "192.0.2.%u", i);
		assert_int_equal(check(auth, wrong, client), AUTH_DENIED);
	}
	wait_for_penalties();
}

static void a_client_that_has_guessed_waits_behind_one_that_has_not(void **state)
{
	struct auth *auth = users_with_slow_hashes();
	struct login guessers[AUTH_PLACES], other;

	(void)state;
	have_guessed(auth, AUTH_PLACES);
	for (unsigned i = 0; i < AUTH_PLACES; i++) {
		start_waiting(&guessers[i], auth, wrong, i);
	}
	/* All places are taken. The guesser that would go last loses its own. */
	start_waiting(&other, auth, right, 99);
	assert_int_equal(result_of(&guessers[AUTH_PLACES - 1]), AUTH_BUSY);
	assert_int_equal(check(auth, wrong, guessers[AUTH_PLACES - 1].client), AUTH_LATER);
	/* A hash that has begun is not lost; then comes the one that has not guessed. */
	assert_int_equal(end_hash(&guessers[0]), AUTH_DENIED);
	assert_int_equal(end_hash(&other), AUTH_GRANTED);
	for (unsigned i = 1; i < AUTH_PLACES - 1; i++) {
		assert_int_equal(end_hash(&guessers[i]), AUTH_DENIED);
	}
	auth_free(auth);
}

/* Of those that have guessed, the one whose last guess is longest ago goes first. */
static void clients_that_guess_take_turns(void **state)
{
	struct auth *auth = users_with_slow_hashes();
	struct login first, guessers[AUTH_PLACES];

	(void)state;
	have_guessed(auth, AUTH_PLACES);
	start_waiting(&first, auth, wrong, 99);
	until_begun(AUTH_PLACES + 1);
	for (unsigned i = AUTH_PLACES - 1; i > 0; i--) {
		start_waiting(&guessers[i], auth, wrong, i);
	}
	start_waiting(&guessers[0], auth, wrong, 0);
	assert_int_equal(result_of(&guessers[AUTH_PLACES - 1]), AUTH_BUSY);
	assert_int_equal(end_hash(&first), AUTH_DENIED);
	for (unsigned i = 0; i < AUTH_PLACES - 1; i++) {
		assert_int_equal(end_hash(&guessers[i]), AUTH_DENIED);
	}
	auth_free(auth);
}

/* ---- many that guess without a pause ---- */

enum { GUESSERS = 16, TRIES = 10 };
#define HASH_NS UINT64_C(50000000)

static bool matches_after_50_ms(const char *password, const char *hash)
{
	(void)hash;
	atomic_fetch_add(&now_ns, HASH_NS);
	return strcmp(password, "U*U") == 0;
}

struct guesser {
	struct auth *auth;
	unsigned client;
	struct os_thread thread;
	atomic_bool *stop;
};

static void guess(void *context)
{
	const struct guesser *guesser = context;
	char client[24];

	snprintf(client, sizeof client, "192.0.2.%u", guesser->client);
	while (!atomic_load(guesser->stop)) {
		if (check(guesser->auth, wrong, client) != AUTH_DENIED) {
			system_sleep_ms(1); /* lets others have the lock */
		}
	}
}

/* One that knows the password asks each half second of the test's clock, on which a hash takes 50
 * ms. Tries are counted, not seconds: only how often it is refused depends on the queue. */
static void guessers_do_not_keep_out_one_that_knows_the_password(void **state)
{
	struct auth *auth = users_with(matches_after_50_ms, alice, 1);
	struct guesser guessers[GUESSERS];
	atomic_bool stop = false;
	struct etw_error err = { 0 };
	unsigned tries = 1;

	(void)state;
	for (unsigned i = 0; i < GUESSERS; i++) {
		guessers[i] = (struct guesser){ .auth = auth, .client = i, .stop = &stop };
		assert_true(os_thread_start(&guessers[i].thread, guess, &guessers[i], &err));
	}
	while (hashes(auth) < 4) {
		system_sleep_ms(1);
		atomic_fetch_add(&now_ns, 1000000);
	}
	while (check(auth, right, "192.0.2.99") != AUTH_GRANTED && tries < TRIES) {
		uint64_t next_ns = atomic_load(&now_ns) + UINT64_C(500000000);

		while (atomic_load(&now_ns) < next_ns) {
			system_sleep_ms(1);
			atomic_fetch_add(&now_ns, 1000000);
		}
		tries++;
	}
	atomic_store(&stop, true);
	for (unsigned i = 0; i < GUESSERS; i++) {
		os_thread_join(&guessers[i].thread);
	}
	assert_int_equal(check(auth, right, "192.0.2.99"), AUTH_GRANTED);
	assert_in_range(tries, 1, TRIES - 1);
	auth_free(auth);
}

static void waiting_for_a_turn_ends_with_the_server(void **state)
{
	struct auth *auth = users(alice, 1);

	(void)state;
	auth_stop(auth);
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_BUSY);
	assert_int_equal(hashes(auth), 0);
	auth_free(auth);
}

static void exchange_often(void *context)
{
	static const struct auth_user bob[] = { { "bob", HASH_OF_U_U } };
	struct etw_error err = { 0 };

	for (int i = 0; i < 200; i++) {
		if (!auth_set_users(context, i % 2 == 0 ? bob : alice, 1, &err)) {
			abort();
		}
	}
}

static void users_change_while_passwords_are_checked(void **state)
{
	struct auth *auth = users(alice, 1);
	struct os_thread thread;
	struct etw_error err = { 0 };

	(void)state;
	assert_true(os_thread_start(&thread, exchange_often, auth, &err));
	for (int i = 0; i < 40; i++) {
		wait_for_penalties();
		(void)check(auth, right, "192.0.2.1");
		assert_int_not_equal(check(auth, unknown, "192.0.2.2"), AUTH_GRANTED);
	}
	os_thread_join(&thread);
	wait_for_penalties();
	assert_int_equal(check(auth, right, "192.0.2.1"), AUTH_GRANTED);
	auth_free(auth);
}

/* ---- the rate ---- */

static void a_bucket_has_its_burst_and_fills_again(void **state)
{
	const uint64_t second = 1000000000;
	struct rate_limit limit = { .interval_ns = second, .burst = 3 };
	uint64_t now = 50 * second;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(rate_limit_take(&limit, now));
	}
	assert_false(rate_limit_take(&limit, now));
	assert_false(rate_limit_take(&limit, now + second - 1));
	assert_true(rate_limit_take(&limit, now + second));
	assert_false(rate_limit_take(&limit, now + second));
	/* However long nothing came, it holds three. */
	now += 1000 * second;
	for (int i = 0; i < 3; i++) {
		assert_true(rate_limit_take(&limit, now));
	}
	assert_false(rate_limit_take(&limit, now));
}

static void extreme_rates_do_not_overflow(void **state)
{
	struct rate_limit none = { 0 };
	struct rate_limit most = { .interval_ns = RATE_INTERVAL_MOST_NS, .burst = RATE_BURST_MOST };

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_true(rate_limit_take(&none, 0));
	}
	for (int i = 0; i < RATE_BURST_MOST; i++) {
		assert_true(rate_limit_take(&most, 1));
	}
	assert_false(rate_limit_take(&most, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passwords_are_compared_by_bcrypt),
		cmocka_unit_test(hashes_are_checked),
		cmocka_unit_test(base64_is_strict),
		cmocka_unit_test(requests_are_granted_with_the_right_password),
		cmocka_unit_test(without_users_everything_is_granted),
		cmocka_unit_test(a_right_password_is_hashed_once),
		cmocka_unit_test(an_unknown_user_costs_what_a_known_one_costs),
		cmocka_unit_test(the_cache_is_searched_for_an_unknown_user_too),
		cmocka_unit_test(a_new_hash_ends_the_old_password),
		cmocka_unit_test(a_right_password_stays_known_when_its_user_stays),
		cmocka_unit_test(the_cache_is_bounded),
		cmocka_unit_test(a_wrong_password_makes_its_client_wait),
		cmocka_unit_test(addresses_of_one_network_are_one_client),
		cmocka_unit_test(strangers_cannot_take_all_threads),
		cmocka_unit_test(a_client_without_a_place_has_none_for_a_second),
		cmocka_unit_test(a_client_that_has_guessed_waits_behind_one_that_has_not),
		cmocka_unit_test(clients_that_guess_take_turns),
		cmocka_unit_test(guessers_do_not_keep_out_one_that_knows_the_password),
		cmocka_unit_test(waiting_for_a_turn_ends_with_the_server),
		cmocka_unit_test(users_change_while_passwords_are_checked),
		cmocka_unit_test(a_bucket_has_its_burst_and_fills_again),
		cmocka_unit_test(extreme_rates_do_not_overflow),
	};

	return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
