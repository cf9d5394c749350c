/* SPDX-License-Identifier: MIT */
#include "crypt.h"

#include "crypt-port.h"

char *crypt_r(const char *phrase, const char *setting, struct crypt_data *data)
{
	size_t size = strlen(phrase);

	data->output[0] = '\0'; /* it stays so if the setting is refused */
	if (size < CRYPT_MAX_PASSPHRASE_SIZE) {
		crypt_bcrypt_rn(phrase, size, setting, strlen(setting), (uint8_t *)data->output,
				sizeof data->output, data->scratch, sizeof data->scratch);
	}
	return data->output[0] ? data->output : NULL;
}
