/* SPDX-License-Identifier: MIT */
/*
 * --web.external-url, --web.route-prefix and --web.telemetry-path: what they become together.
 */
#include "exporter/http/server_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The rows about external URLs and route prefixes follow Prometheus: computeExternalURL() and the
 * default of --web.route-prefix in cmd/prometheus/main.go, prometheus/prometheus. */
static void urls_and_prefixes_are_normalised_as_in_prometheus(void **state)
{
	static const struct {
		const char *external, *route;
		const char *prefix, *links, *origin;
	} cases[] = {
		{ NULL, NULL, "", "", "" },
		{ "", "", "", "", "" },
		{ NULL, "/", "", "", "" },
		{ NULL, "etw", "/etw", "/etw", "" },
		{ NULL, "/etw/", "/etw", "/etw", "" },
		{ NULL, "///etw//", "/etw", "/etw", "" },
		{ NULL, "/a/b/", "/a/b", "/a/b", "" },
		{ "http://proxy/etw", NULL, "/etw", "/etw", "http://proxy" },
		{ "http://proxy/etw/", "", "/etw", "/etw", "http://proxy" },
		{ "https://Proxy.Example:8443", NULL, "", "", "https://proxy.example:8443" },
		{ "https://proxy/", NULL, "", "", "https://proxy" },
		{ "HTTPS://[::1]:9189/x", NULL, "/x", "/x", "https://[::1]:9189" },
		{ "/etw/", NULL, "/etw", "/etw", "" },
		{ "etw", NULL, "/etw", "/etw", "" },
		/* The proxy takes the prefix away, or has another one. */
		{ "http://proxy/etw", "/", "", "/etw", "http://proxy" },
		{ "http://proxy/a", "b", "/b", "/a", "http://proxy" },
		{ "http://proxy", "b", "/b", "", "http://proxy" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct web_paths paths;
		struct etw_error err = { 0 };

		if (!web_paths_init(&paths, cases[i].external, cases[i].route, "/metrics", &err)) {
			fail_msg("case %zu: %s", i, err.text);
		}
		assert_string_equal(paths.prefix, cases[i].prefix);
		assert_string_equal(paths.links, cases[i].links);
		assert_string_equal(paths.origin, cases[i].origin);
		assert_string_equal(paths.telemetry, "/metrics");
	}
}

static void what_is_no_address_is_refused_with_the_flag(void **state)
{
	static const struct {
		const char *external, *route, *telemetry;
		const char *error;
	} cases[] = {
		{ "http://", NULL, "/m", "--web.external-url" },
		{ "http:///x", NULL, "/m", "--web.external-url" },
		{ "ftp://host/x", NULL, "/m", "--web.external-url" },
		{ "host:9189/x", NULL, "/m", "--web.external-url" },
		{ "http://user@host/x", NULL, "/m", "--web.external-url" },
		{ "http://host/x?y", NULL, "/m", "--web.external-url" },
		{ "http://host/x#y", NULL, "/m", "--web.external-url" },
		{ "http://host/a b", NULL, "/m", "--web.external-url" },
		{ "http://host//evil", NULL, "/m", "--web.external-url" },
		{ "//evil.example/x", NULL, "/m", "--web.external-url" },
		{ "http://host/a/../b", NULL, "/m", "--web.external-url" },
		{ "\"http://host/\"", NULL, "/m", "--web.external-url" },
		{ "http://host/\r\nX: y", NULL, "/m", "--web.external-url" },
		{ "http://host/%2e", NULL, "/m", "--web.external-url" },
		{ NULL, "/a//b", "/m", "--web.route-prefix" },
		{ NULL, "..", "/m", "--web.route-prefix" },
		{ NULL, "/a/.", "/m", "--web.route-prefix" },
		{ NULL, "a b", "/m", "--web.route-prefix" },
		{ NULL, "a\r\nX: y", "/m", "--web.route-prefix" },
		{ NULL, NULL, "", "telemetry path" },
		{ NULL, NULL, "m", "telemetry path" },
		{ NULL, NULL, "//m", "telemetry path" },
		{ NULL, NULL, "/m/../x", "telemetry path" },
		{ NULL, NULL, "/m?x", "telemetry path" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct web_paths paths;
		struct etw_error err = { 0 };

		if (web_paths_init(&paths, cases[i].external, cases[i].route, cases[i].telemetry,
				   &err)) {
			fail_msg("case %zu is taken", i);
		}
		assert_int_equal(err.code, ETW_ERROR_CONFIG);
		if (!strstr(err.text, cases[i].error)) {
			fail_msg("case %zu: %s", i, err.text);
		}
	}
}

static void long_addresses_are_refused(void **state)
{
	for (size_t size = WEB_PATH_SIZE_MAX - 2; size < WEB_PATH_SIZE_MAX + 2; size++) {
		char path[WEB_PATH_SIZE_MAX + 2], url[WEB_PATH_SIZE_MAX + 16] = "http://h";
		bool fits = size < WEB_PATH_SIZE_MAX;
		struct web_paths paths;

		(void)state;
		memset(path, 'x', size);
		path[0] = '/';
		path[size] = '\0';
		strcat(url, path);
		assert_int_equal(web_paths_init(&paths, NULL, NULL, path, NULL), fits);
		assert_int_equal(web_paths_init(&paths, NULL, path, "/m", NULL), fits);
		assert_int_equal(web_paths_init(&paths, url, NULL, "/m", NULL), fits);
		/* The slash in front counts. */
		assert_int_equal(web_paths_init(&paths, NULL, path + 1, "/m", NULL), fits);
		memset(url + 7, 'h', size - 7);
		url[size] = '\0';
		assert_int_equal(web_paths_init(&paths, url, NULL, "/m", NULL), fits);
	}
}

static void a_route_is_what_comes_behind_the_prefix(void **state)
{
	static const struct {
		const char *prefix, *path, *route;
	} cases[] = {
		{ "/", "/", "/" },
		{ "/", "/metrics", "/metrics" },
		{ "/etw", "/etw", "" },
		{ "/etw", "/etw/", "/" },
		{ "/etw", "/etw/metrics", "/metrics" },
		{ "/etw", "/etw//", "//" },
		{ "/etw", "/", NULL },
		{ "/etw", "/et", NULL },
		{ "/etw", "/etwx", NULL },
		{ "/etw", "/etwx/metrics", NULL },
		{ "/etw", "/metrics", NULL },
		{ "/etw", "/ETW/metrics", NULL },
		{ "/etw", "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct web_paths paths;
		const char *route;

		assert_true(web_paths_init(&paths, NULL, cases[i].prefix, "/metrics", NULL));
		route = web_paths_route(&paths, cases[i].path);
		if (!cases[i].route) {
			assert_null(route);
		} else {
			assert_non_null(route);
			assert_string_equal(route, cases[i].route);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_and_prefixes_are_normalised_as_in_prometheus),
		cmocka_unit_test(what_is_no_address_is_refused_with_the_flag),
		cmocka_unit_test(long_addresses_are_refused),
		cmocka_unit_test(a_route_is_what_comes_behind_the_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
