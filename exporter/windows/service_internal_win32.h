/* SPDX-License-Identifier: MIT */
/* What the files of the service share. */
#ifndef EXPORTER_SERVICE_INTERNAL_WIN32_H
#define EXPORTER_SERVICE_INTERNAL_WIN32_H

#include "windows/service.h"

#define SERVICE_WIDEN_TEXT(text) L##text
#define SERVICE_WIDEN(text)      SERVICE_WIDEN_TEXT(text)
#define SERVICE_WIDE_NAME        SERVICE_WIDEN(SERVICE_KEY_NAME)

#endif
