/* SPDX-License-Identifier: MIT */
#include "exporter/http/lifecycle.h"

#include <string.h>

#include "base/client_address.h"
#include "base/log.h"
#include "base/os.h"
#include "exporter/http/server_internal.h"

static int answer_sentence(const struct http_request *request, int status, const char *sentence)
{
	answer(request, status, "text/plain; charset=utf-8", "", sentence);
	return status;
}

/*
 * Returns whether the request comes from a page of another site. With each POST a browser sends in
 * `Origin` the site of the page, or "null" if it hides the site. Our pages have the host and port
 * of `Host`, or those of the external URL behind a reverse proxy. curl and scripts send no Origin.
 */
static bool is_of_another_site(const struct http_server *server, const struct http_request *request)
{
	const char *origin = request_header(request, "Origin");
	const char *host = request_header(request, "Host");
	const char *origin_host;

	if (!origin) {
		return false;
	}
	if (server->paths.origin[0] != '\0' &&
	    text_equal_nocase(origin, strlen(origin), server->paths.origin,
			      strlen(server->paths.origin))) {
		return false;
	}
	origin_host = strstr(origin, "://");
	return !origin_host || !host ||
	       !text_equal_nocase(origin_host + 3, strlen(origin_host + 3), host, strlen(host));
}

/* The host in "name:9189", "https://name", "[::1]:9189". */
struct host {
	const char *name;
	size_t size;
};

static struct host host_of(const char *text)
{
	const char *scheme_end = strstr(text, "://");
	struct host host = { .name = scheme_end ? scheme_end + 3 : text };

	if (host.name[0] == '[') {
		host.name++;
		host.size = strcspn(host.name, "]");
	} else {
		host.size = strcspn(host.name, ":/");
	}
	return host;
}

static bool is_host(const struct host *host, const char *name, size_t size)
{
	return size > 0 && text_equal_nocase(host->name, host->size, name, size);
}

static bool is_number(const struct host *host)
{
	char text[CLIENT_ADDRESS_TEXT_SIZE];
	struct address_range range;

	if (host->size >= sizeof text) {
		return false;
	}
	memcpy(text, host->name, host->size);
	text[host->size] = '\0';
	return address_range_parse(text, &range) && !memchr(text, '/', host->size);
}

/*
 * Returns whether `Host` is a name of this exporter: a number, as listen addresses have it,
 * localhost, the host of the external URL, or the name of the computer. Any other name may be one
 * that its owner has changed to our address, so that pages from there count as ours (DNS
 * rebinding). No browser leaves out `Host`.
 */
static bool is_for_us(const struct http_server *server, const struct http_request *request)
{
	const char *header = request_header(request, "Host");
	struct host host, external;
	char computer[256];

	if (!header) {
		return true;
	}
	host = host_of(header);
	external = host_of(server->paths.origin);
	os_computer_name(computer, sizeof computer);
	return is_number(&host) || is_host(&host, "localhost", strlen("localhost")) ||
	       is_host(&host, external.name, external.size) ||
	       is_host(&host, computer, strlen(computer)) ||
	       is_host(&host, computer, strcspn(computer, "."));
}

/* Returns 200 if the request is allowed; otherwise answers it and returns the status. */
static int admit(const struct http_server *server, const struct http_request *request)
{
	if (!server->options.enable_lifecycle) {
		return answer_sentence(
			request, 403,
			"This page is switched off. The flag --web.enable-lifecycle switches it "
			"on.\n");
	}
	if (is_of_another_site(server, request)) {
		log_warning("Refused a request from a page of another site",
			    log_text("client", request->client), log_text("path", request->path),
			    log_text("origin", request_header(request, "Origin")));
		return answer_sentence(request, 403,
				       "The request comes from a page of another site.\n");
	}
	if (!is_for_us(server, request)) {
		log_warning("Refused a request for another host",
			    log_text("client", request->client), log_text("path", request->path),
			    log_text("host", request_header(request, "Host")));
		return answer_sentence(
			request, 403,
			"The request is for another host. Use an address in numbers, localhost or the "
			"name of the computer; --web.external-url adds another name.\n");
	}
	return 200;
}

int lifecycle_reload(struct http_server *server, const struct http_request *request)
{
	const struct http_options *options = &server->options;
	struct etw_error err = { 0 };
	struct etw_text sentence = { 0 };
	int status = admit(server, request);

	if (status != 200) {
		return status;
	}
	if (!options->reload) {
		return answer_sentence(request, 501,
				       "This program cannot read its configuration again.\n");
	}
	log_info("Reload requested", log_text("client", request->client));
	if (options->reload(options->reload_context, &err)) {
		return answer_sentence(request, 200, "The configuration was read again.\n");
	}
	text_add_string(&sentence, "The configuration was not changed: ");
	text_add_shown(&sentence, err.text);
	text_add_char(&sentence, '\n');
	status = sentence.failed ? answer_status(request, 500, "") :
				   answer_sentence(request, 500, sentence.data);
	text_free(&sentence);
	return status;
}

int lifecycle_record(struct http_server *server, const struct http_request *request)
{
	static const int statuses[] = {
		[HTTP_RECORDING_WRITTEN] = 200,
		[HTTP_RECORDING_FAILED] = 500,
		[HTTP_RECORDING_REFUSED] = 429,
	};
	const struct http_options *options = &server->options;
	struct etw_text reply = { 0 }, sentence = { 0 };
	int status = admit(server, request);

	if (status != 200) {
		return status;
	}
	if (!options->record) {
		return answer_sentence(request, 501,
				       "There is no flight recorder: the configuration has no "
				       "recorder: { dir: … }.\n");
	}
	log_info("Recording requested", log_text("client", request->client));
	status = statuses[options->record(options->record_context, &reply)];
	if (status != 200) {
		text_add_string(&sentence, "No recording was written: ");
	}
	text_add_shown(&sentence, reply.data ? reply.data : "");
	text_add_char(&sentence, '\n');
	status = sentence.failed || reply.failed ? answer_status(request, 500, "") :
						   answer_sentence(request, status, sentence.data);
	text_free(&sentence);
	text_free(&reply);
	return status;
}

int lifecycle_quit(struct http_server *server, const struct http_request *request)
{
	const struct http_options *options = &server->options;
	int status = admit(server, request);

	if (status != 200) {
		return status;
	}
	if (!options->quit) {
		return answer_sentence(request, 501,
				       "This program cannot be ended by a request.\n");
	}
	log_info("End requested", log_text("client", request->client));
	/* The answer comes first, because the end of the program cuts off answers under way. */
	answer_sentence(request, 200, "The program ends.\n");
	options->quit(options->quit_context);
	return 200;
}
