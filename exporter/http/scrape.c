/* SPDX-License-Identifier: MIT */
/*
 * Answers /metrics, one scrape at a time in each thread.
 *
 * The request's headers choose format and encoding (negotiate.h). The page is sent in chunks as the
 * exposition fills its buffer, through an encoder if it is compressed, so a page of any size needs
 * little memory. The head is sent with the first chunk: until then an error can still be answered
 * with status 500. A client of HTTP/1.0 does not support chunks and reads until the connection
 * closes. A scrape has a time limit, after which Prometheus would give it up. dispatch.h ends pages
 * that are read too slowly, because they would occupy a thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "exporter/http/negotiate.h"
#include "exporter/http/server_internal.h"
#include "metrics/exposition.h"

/* Results of a scrape: values of the label "code". */
static const char done[] = "200", bad_query[] = "400", client_left[] = "499", no_memory[] = "500";

bool scrape_open(struct http_server *server, struct etw_error *err)
{
	const char *const codes[] = { done, bad_query, client_left, no_memory };

	server->shard = registry_shard(server->registry, true, err);
	if (!server->shard || !scrape_families(server->registry, server->families, err)) {
		return false;
	}
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		uint32_t id = intern_own(registry_strings(server->registry), codes[i]);

		family_add(server->families[SCRAPE_COUNT], server->shard, &id, 0);
	}
	family_cells(server->families[SCRAPE_DURATION], server->shard, NULL, NULL);
	family_add(server->families[SCRAPE_SIZE], server->shard, NULL, 0);
	family_add(server->families[CONNECTIONS_OPEN], server->shard, NULL, 0);
	return true;
}

/* The state of one answer. The head and each chunk are sent when the exposition has filled a
 * chunk. */
struct scrape {
	const struct http_request *request;
	struct accepted_format accepted;
	enum content_encoding encoding;
	struct encoder *encoder; /* owned; NULL: identity */
	struct etw_text out;     /* what the next write sends; reused for each write */
	uint64_t deadline_ns;
	size_t size; /* bytes of the page before compression */
	bool chunked;
	bool begun;
	bool refused;
};

/* Sends scrape->out and empties it. Returns false if the client refuses it, or without memory. */
static bool send_out(struct scrape *scrape)
{
	if (scrape->out.failed) {
		return false;
	}
	scrape->begun = true;
	scrape->refused |= os_monotonic_ns() > scrape->deadline_ns;
	scrape->refused |= scrape->refused ||
			   !answer_send(scrape->request, scrape->out.data, scrape->out.size);
	text_clear(&scrape->out);
	return !scrape->refused;
}

static void add_metrics_head(struct etw_text *out, const struct scrape *scrape)
{
	const char *encoding = encoding_name(scrape->encoding);
	struct etw_text type = { 0 };

	text_add_string(&type, exposition_content_type(scrape->accepted.format));
	if (scrape->accepted.escaping) {
		text_add_format(&type, "; escaping=%s", scrape->accepted.escaping);
	}
	out->failed |= type.failed;
	if (!out->failed) {
		answer_add_head(out, scrape->request, 200, type.data);
	}
	text_free(&type);
	/* A cache must not give a client a page in a format that only another client accepts. */
	text_add_string(out, "Vary: Accept, Accept-Encoding\r\n");
	if (encoding) {
		text_add_format(out, "Content-Encoding: %s\r\n", encoding);
	}
	text_add_string(out, scrape->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
}

/*
 * Sends a chunk. With chunks a client notices a page that is cut short. Each chunk is sent with one
 * write, together with the bytes between it and the chunk before: a write of a few bytes would cost
 * as much as one of a whole chunk, and a packet of its own.
 */
static bool send_chunk(void *context, const char *bytes, size_t size)
{
	struct scrape *scrape = context;

	if (!scrape->begun) {
		add_metrics_head(&scrape->out, scrape);
	} else if (scrape->chunked) {
		text_add_string(&scrape->out, "\r\n");
	}
	if (scrape->chunked) {
		text_add_format(&scrape->out, "%zx\r\n", size);
	}
	text_add(&scrape->out, bytes, size);
	return send_out(scrape);
}

/* Takes a chunk from the exposition; it is the exposition's sink. */
static bool send_plain(void *context, const char *bytes, size_t size)
{
	struct scrape *scrape = context;

	scrape->size += size;
	return scrape->encoder ? encoder_add(scrape->encoder, bytes, size) :
				 send_chunk(scrape, bytes, size);
}

static int answer_metrics_head(struct scrape *scrape)
{
	add_metrics_head(&scrape->out, scrape);
	if (send_out(scrape)) {
		answer_end(scrape->request);
	}
	return 200;
}

/* Sends the last chunk, and the head too if the page has no family. */
static bool send_end(struct scrape *scrape)
{
	if (!scrape->begun) {
		add_metrics_head(&scrape->out, scrape);
	} else if (scrape->chunked) {
		text_add_string(&scrape->out, "\r\n");
	}
	if (scrape->chunked) {
		text_add_string(&scrape->out, "0\r\n\r\n");
	}
	/* Without chunks the end of the connection marks the end of the page. */
	if ((scrape->chunked || !scrape->begun) && !send_out(scrape)) {
		return false;
	}
	answer_end(scrape->request);
	return true;
}

void scrape_count(struct http_server *server, int status)
{
	char code[16];
	uint32_t id;

	snprintf(code, sizeof code, "%d", status);
	id = intern_own(registry_strings(server->registry), code);
	family_add(server->families[SCRAPE_COUNT], server->shard, &id, 1);
}

/* Renders and sends the page. Returns false without memory, or if the client has closed the
 * connection. */
static bool send_page(struct scrape *scrape, const struct http_server *server,
		      const struct scrape_options *scrape_options)
{
	const struct exposition_options options = { .format = scrape->accepted.format,
						    .requested = scrape_options->requested,
						    .context = scrape_options->context,
						    .created = server->options.created };
	bool written;

	if (scrape->encoding != ENCODING_IDENTITY) {
		scrape->encoder = encoder_new(scrape->encoding, send_chunk, scrape);
		if (!scrape->encoder) {
			return false;
		}
	}
	written = exposition_write(server->registry, &options, send_plain, scrape) &&
		  (!scrape->encoder || encoder_end(scrape->encoder)) && send_end(scrape);
	encoder_free(scrape->encoder);
	return written;
}

/* Names of formats for the log. */
static const char *const format_names[] = {
	[EXPOSITION_TEXT_0_0_4] = "text",
	[EXPOSITION_OPENMETRICS_1_0_0] = "openmetrics",
	[EXPOSITION_PROTOBUF] = "protobuf",
	[EXPOSITION_OPENMETRICS_0_0_1] = "openmetrics",
};

int scrape_answer(struct http_server *server, const struct http_request *request,
		  const struct scrape_options *options)
{
	uint64_t start_ns = os_monotonic_ns();
	struct scrape scrape = {
		.request = request,
		.accepted = negotiate_format(request_header(request, "Accept")),
		.encoding = negotiate_encoding(request_header(request, "Accept-Encoding")),
		.deadline_ns = start_ns + options->time_limit_ns,
		.chunked = strcmp(request->version, "1.1") == 0,
	};
	const char *code = done, *encoding = encoding_name(scrape.encoding);
	uint32_t code_id;
	int status = 200;

	if (request->is_head) {
		status = answer_metrics_head(&scrape);
		text_free(&scrape.out);
		return status;
	}
	if (!send_page(&scrape, server, options) && !scrape.refused) {
		code = no_memory;
		status = scrape.begun ? 500 : answer_status(request, 500, "");
	} else if (scrape.refused) {
		code = client_left;
	}
	text_free(&scrape.out);
	code_id = intern_own(registry_strings(server->registry), code);
	family_add(server->families[SCRAPE_COUNT], server->shard, &code_id, 1);
	family_observe(server->families[SCRAPE_DURATION], server->shard, NULL,
		       os_monotonic_ns() - start_ns);
	if (code == done) {
		family_set(server->families[SCRAPE_SIZE], server->shard, NULL,
			   (int64_t)scrape.size);
	}
	log_debug("Scrape", log_text("client", request->client), log_text("code", code),
		  log_text("format", format_names[scrape.accepted.format]),
		  log_text("encoding", encoding ? encoding : "identity"),
		  log_u64("bytes", scrape.size),
		  log_u64("microseconds", (os_monotonic_ns() - start_ns) / 1000));
	return status;
}
