/* SPDX-License-Identifier: MIT */
/*
 * Manifests, read with expat.
 *
 * Prefixes of names vary between writers, so local names are compared and namespaces are not
 * resolved.
 */
#include "decode/manifest_xml.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

enum {
	DEPTH_MOST = 64
};

struct reader {
	XML_Parser parser;
	struct text *name;
	unsigned depth;
	unsigned matched; /* the outermost elements that are on the way to a provider */
	bool found;
	const char *refused; /* why we stopped */
};

static const char *const way_to_provider[] = { "instrumentationManifest", "instrumentation",
					       "events", "provider" };

enum {
	WAY = sizeof way_to_provider / sizeof way_to_provider[0]
};

static const char *local_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

static void refuse(struct reader *reader, const char *why)
{
	reader->refused = why;
	XML_StopParser(reader->parser, XML_FALSE);
}

static void on_start(void *context, const char *name, const char **attributes)
{
	struct reader *reader = context;
	unsigned depth = reader->depth++;

	if (depth >= DEPTH_MOST) {
		refuse(reader, "elements are nested too deep");
		return;
	}
	if (depth != reader->matched || depth >= WAY ||
	    strcmp(local_name(name), way_to_provider[depth]) != 0) {
		return;
	}
	reader->matched++;
	if (reader->matched < WAY || reader->found) {
		return;
	}
	reader->found = true;
	for (; *attributes; attributes += 2) {
		if (strcmp(local_name(attributes[0]), "name") == 0) {
			text_add_string(reader->name, attributes[1]);
		}
	}
}

static void on_end(void *context, const char *name)
{
	struct reader *reader = context;

	(void)name;
	reader->depth--;
	if (reader->matched > reader->depth) {
		reader->matched = reader->depth;
	}
}

static void on_doctype(void *context, const char *name, const char *system_id,
		       const char *public_id, int has_internal_subset)
{
	(void)name;
	(void)system_id;
	(void)public_id;
	(void)has_internal_subset;
	refuse(context, "a document type is not accepted");
}

bool manifest_read(const char *xml, size_t size, struct text *name, struct error *err)
{
	struct text read = { 0 };
	struct reader reader = { .name = &read };
	enum XML_Status status;

	if (size > INT_MAX) {
		return error_set(err, ERROR_LIMIT, "a manifest of %zu bytes is too large", size);
	}
	reader.parser = XML_ParserCreate(NULL);
	if (!reader.parser) {
		return error_set(err, ERROR_NO_MEMORY, "no memory to read a manifest");
	}
	XML_SetUserData(reader.parser, &reader);
	XML_SetElementHandler(reader.parser, on_start, on_end);
	XML_SetStartDoctypeDeclHandler(reader.parser, on_doctype);
	status = XML_Parse(reader.parser, xml, (int)size, 1);
	if (status != XML_STATUS_OK) {
		error_set(err, ERROR_FORMAT, "line %lu: %s",
			  (unsigned long)XML_GetCurrentLineNumber(reader.parser),
			  reader.refused ? reader.refused :
					   XML_ErrorString(XML_GetErrorCode(reader.parser)));
	} else if (!reader.found) {
		status = XML_STATUS_ERROR;
		error_set(err, ERROR_FORMAT, "the manifest has no provider");
	} else if (read.failed) {
		status = XML_STATUS_ERROR;
		error_set(err, ERROR_NO_MEMORY, "no memory for a provider's name");
	}
	XML_ParserFree(reader.parser);
	if (status != XML_STATUS_OK) {
		text_free(&read);
		return false;
	}
	*name = read;
	return true;
}
