/* SPDX-License-Identifier: MIT */
/*
 * Instrumentation manifests: the XML that describes a provider's events. For now: what the provider
 * is called.
 *
 * Sources: "Writing an Instrumentation Manifest", Microsoft Learn; etl-format.md section 11.
 */
#ifndef DECODE_MANIFEST_XML_H
#define DECODE_MANIFEST_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

/*
 * Reads a manifest and sets *name to the name of its first provider, which may be empty; to be
 * freed with text_free().
 *
 * The XML may be anybody's: a document type is refused, and with it entities; nesting is bounded,
 * size is the caller's.
 */
bool manifest_read(const char *xml, size_t size, struct text *name, struct error *err);

#endif
