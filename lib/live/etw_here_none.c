/* SPDX-License-Identifier: MIT */
/* This is a separate file because tests link it together with the code of live sessions. */
#include <etw/session.h>

#include "base/error.h"

bool etw_here(struct etw_error *err)
{
	return error_set(err, ETW_ERROR_UNSUPPORTED, "only Windows has event tracing");
}
