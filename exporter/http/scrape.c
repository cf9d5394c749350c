/* SPDX-License-Identifier: MIT */
/*
 * /metrics: one scrape.
 *
 * The page is sent in chunks as the exposition fills its buffer, so a page of any size needs little
 * memory. The first chunk brings the head with it: until then an error can still be answered with
 * status 500. A client of HTTP/1.0 does not support chunks and reads until the connection closes.
 * A scrape has a deadline, before which Prometheus gives it up; dispatch.h ends pages that are read
 * too slowly, because they would hold a thread.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "http/server_internal.h"
#include "metrics/exposition.h"

/* What came of a scrape: the label "code". */
static const char done[] = "200", bad_query[] = "400", client_left[] = "499", no_memory[] = "500",
		  too_many[] = "503";

bool scrape_open(struct http_server *server, struct error *err)
{
	const char *const codes[] = { done, bad_query, client_left, no_memory, too_many };

	server->shard = registry_shard(server->registry, true, err);
	if (!server->shard || !scrape_families(server->registry, server->families, err)) {
		return false;
	}
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		uint32_t id = intern_string(registry_strings(server->registry), codes[i]);

		family_add(server->families[SCRAPE_COUNT], server->shard, &id, 0);
	}
	family_cells(server->families[SCRAPE_DURATION], server->shard, NULL, NULL);
	family_add(server->families[SCRAPE_SIZE], server->shard, NULL, 0);
	family_add(server->families[CONNECTIONS_OPEN], server->shard, NULL, 0);
	return true;
}

/* One answer under way: the head and each chunk go out when the exposition has filled it. */
struct scrape {
	const struct http_request *request;
	uint64_t deadline_ns;
	size_t size; /* of the page, without head and frames */
	bool chunked;
	bool begun;
	bool refused;
};

static bool send_all(struct scrape *scrape, const char *bytes, size_t size)
{
	scrape->refused |= os_monotonic_ns() > scrape->deadline_ns;
	scrape->refused |= scrape->refused || !answer_send(scrape->request, bytes, size);
	return !scrape->refused;
}

static void add_metrics_head(struct text *out, const struct http_request *request, bool chunked)
{
	answer_add_head(out, request, 200, exposition_content_type(EXPOSITION_TEXT_0_0_4));
	text_add_string(out, chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
}

/*
 * Chunked, so that a page cut short is known to be cut short. What stands between the bytes of two
 * chunks goes out with one write.
 */
static bool send_chunk(void *context, const char *bytes, size_t size)
{
	struct scrape *scrape = context;
	struct text frame = { 0 };
	bool sent;

	if (!scrape->begun) {
		add_metrics_head(&frame, scrape->request, scrape->chunked);
	} else if (scrape->chunked) {
		text_add_string(&frame, "\r\n");
	}
	if (scrape->chunked) {
		text_add_format(&frame, "%zx\r\n", size);
	}
	scrape->begun = true;
	scrape->size += size;
	scrape->refused |= frame.failed;
	sent = !scrape->refused && (frame.size == 0 || send_all(scrape, frame.data, frame.size)) &&
	       send_all(scrape, bytes, size);
	text_free(&frame);
	return sent;
}

static int answer_metrics_head(const struct http_request *request)
{
	struct text head = { 0 };

	add_metrics_head(&head, request, true);
	if (!head.failed && answer_send(request, head.data, head.size)) {
		answer_end(request);
	}
	text_free(&head);
	return 200;
}

/* The last chunk; also the head, if the page has no family. */
static void send_end(struct scrape *scrape)
{
	static const char end[] = "\r\n0\r\n\r\n";
	struct text head = { 0 };

	if (scrape->begun && scrape->chunked) {
		send_all(scrape, end, sizeof end - 1);
	} else if (!scrape->begun) {
		add_metrics_head(&head, scrape->request, scrape->chunked);
		text_add_string(&head, scrape->chunked ? end + 2 : "");
		scrape->refused |= head.failed || !send_all(scrape, head.data, head.size);
		text_free(&head);
	}
	if (!scrape->refused) {
		answer_end(scrape->request);
	}
}

void scrape_count(struct http_server *server, int status)
{
	char code[16];
	uint32_t id;

	snprintf(code, sizeof code, "%d", status);
	id = intern_string(registry_strings(server->registry), code);
	family_add(server->families[SCRAPE_COUNT], server->shard, &id, 1);
}

int scrape_answer(struct http_server *server, const struct http_request *request,
		  const struct scrape_options *options)
{
	const struct exposition_options exposition = { .format = EXPOSITION_TEXT_0_0_4,
						       .requested = options->requested,
						       .context = options->context };
	uint64_t start_ns = os_monotonic_ns();
	struct scrape scrape = {
		.request = request,
		.deadline_ns = start_ns + options->time_limit_ns,
		.chunked = strcmp(request->version, "1.1") == 0,
	};
	const char *code = done;
	uint32_t code_id;
	int status = 200;
	bool written;

	if (request->is_head) {
		return answer_metrics_head(request);
	}
	written = exposition_write_as(server->registry, &exposition, send_chunk, &scrape);
	if (written) {
		send_end(&scrape);
	}
	if (!written && !scrape.begun) {
		code = no_memory;
		status = answer_status(request, 500, "");
	} else if (scrape.refused) {
		code = client_left;
	}
	code_id = intern_string(registry_strings(server->registry), code);
	family_add(server->families[SCRAPE_COUNT], server->shard, &code_id, 1);
	family_observe(server->families[SCRAPE_DURATION], server->shard, NULL,
		       os_monotonic_ns() - start_ns);
	if (code == done) {
		family_set(server->families[SCRAPE_SIZE], server->shard, NULL,
			   (int64_t)scrape.size);
	}
	log_debug("Scrape", log_text("client", request->client), log_text("code", code),
		  log_u64("bytes", scrape.size),
		  log_u64("microseconds", (os_monotonic_ns() - start_ns) / 1000));
	return status;
}
