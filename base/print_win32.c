/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <windows.h>

#include "base/print.h"

/* The C library keeps the error of Windows. It makes EINVAL of most errors of pipes, and EPIPE only
 * of ERROR_BROKEN_PIPE. */
bool print_reader_is_gone(void)
{
	switch (_doserrno) {
	case ERROR_BROKEN_PIPE:
	case ERROR_NO_DATA: /* "The pipe is being closed." */
	case ERROR_PIPE_NOT_CONNECTED:
		return true;
	case ERROR_SUCCESS: /* it took a part of the bytes, as Wine does when a reader goes then */
		return GetFileType(GetStdHandle(STD_OUTPUT_HANDLE)) == FILE_TYPE_PIPE;
	default:
		return false;
	}
}
