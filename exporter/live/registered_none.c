/* SPDX-License-Identifier: MIT */
/* Where providers are not registered with anybody. */
#include "live/registered.h"

bool registered_read(struct registered_providers *providers, struct error *err)
{
	(void)providers;
	return error_set(err, ERROR_UNSUPPORTED, "registered providers are known on Windows only");
}
