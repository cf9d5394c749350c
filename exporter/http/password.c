/* SPDX-License-Identifier: MIT */
#include "exporter/http/password.h"

#include <crypt.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/http/crypto.h"

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
