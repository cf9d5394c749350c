/* SPDX-License-Identifier: MIT */
/*
 * Accept and Accept-Encoding: what clients send, and what they get.
 *
 * Where RFC 9110 leaves a choice, the expected format is that of the client library of Prometheus
 * (prometheus/common `expfmt/encode.go`).
 */
#include "exporter/http/negotiate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/exact_copy.h"

#define PROTOBUF \
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

static void formats_are_chosen_by_weight_and_specificity(void **state)
{
	static const struct {
		const char *accept;
		enum exposition_format format;
		const char *escaping;
	} cases[] = {
		{ NULL, EXPOSITION_TEXT_0_0_4, NULL },
		{ "", EXPOSITION_TEXT_0_0_4, NULL },
		{ "*/*", EXPOSITION_TEXT_0_0_4, NULL },
		{ "text/*", EXPOSITION_TEXT_0_0_4, NULL },
		{ "image/png", EXPOSITION_TEXT_0_0_4, NULL },
		/* Browsers. */
		{ "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		  EXPOSITION_TEXT_0_0_4, NULL },
		/* Prometheus 2.42; with native histograms; before OpenMetrics 1.0; 3. */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ PROTOBUF
		  ",application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  EXPOSITION_PROTOBUF, NULL },
		{ "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  EXPOSITION_OPENMETRICS_0_0_1, NULL },
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
		  EXPOSITION_OPENMETRICS_1_0_0, "allow-utf-8" },
		{ PROTOBUF ";escaping=underscores;q=0.6,text/plain;version=0.0.4;q=0.2",
		  EXPOSITION_PROTOBUF, "underscores" },
		{ "text/plain;escaping=nonsense", EXPOSITION_TEXT_0_0_4, NULL },
		{ "text/plain;escaping=VALUES", EXPOSITION_TEXT_0_0_4, "values" },
		/* Order, weights, specificity. */
		{ "application/openmetrics-text,text/plain", EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "text/plain,application/openmetrics-text", EXPOSITION_TEXT_0_0_4, NULL },
		{ "*/*,application/openmetrics-text", EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "text/plain;q=0.3,application/openmetrics-text;q=0.31",
		  EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "text/plain;q=0.301,application/openmetrics-text;q=0.3", EXPOSITION_TEXT_0_0_4,
		  NULL },
		{ "application/*", EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "application/*,application/openmetrics-text;q=0", EXPOSITION_PROTOBUF, NULL },
		{ "text/plain;q=0,*/*", EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "text/plain;q=0", EXPOSITION_TEXT_0_0_4, NULL },
		{ "*/*;q=0", EXPOSITION_TEXT_0_0_4, NULL },
		{ "text/plain;version=0.0.3,application/openmetrics-text;q=0.1",
		  EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "application/openmetrics-text;version=2.0.0,text/plain;q=0.1",
		  EXPOSITION_TEXT_0_0_4, NULL },
		/* Another message, another way to write it, no such parameters. */
		{ "application/vnd.google.protobuf", EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
		  EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/vnd.google.protobuf;proto=x.Y;encoding=delimited",
		  EXPOSITION_TEXT_0_0_4, NULL },
		/* Case, blanks, quotes, empty elements. */
		{ " , ,\tAPPLICATION/OpenMetrics-Text ; Version=\"1.0.0\" ; Q=1.000 ,,text/plain;q=0.5 ",
		  EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "x/y;a=\"text/plain,q=1;\\\"\",application/openmetrics-text;q=0.2",
		  EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "application/openmetrics-text;charset=utf-8", EXPOSITION_OPENMETRICS_1_0_0,
		  NULL },
		/* What cannot be read makes its element void. */
		{ "application/openmetrics-text;q=x", EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/openmetrics-text;q=", EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/openmetrics-text;q=1.5", EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/openmetrics-text;q=-1", EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/openmetrics-text;q=00.5", EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/openmetrics-text text/plain", EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/openmetrics-text;version=\"1.0.0", EXPOSITION_TEXT_0_0_4, NULL },
		{ "application/openmetrics-text;a b,text/plain;q=0.1", EXPOSITION_TEXT_0_0_4,
		  NULL },
		{ ";q=1,application/openmetrics-text", EXPOSITION_OPENMETRICS_1_0_0, NULL },
		{ "application/openmetrics-text;q=0.9999999999999999999",
		  EXPOSITION_OPENMETRICS_1_0_0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *accept = cases[i].accept;
		uint8_t *copy = accept ? exact_copy(accept, strlen(accept) + 1) : NULL;
		struct accepted_format got = negotiate_format((const char *)copy);
		const char *escaping = cases[i].escaping;

		if (got.format != cases[i].format || !got.escaping != !escaping ||
		    (escaping && strcmp(got.escaping, escaping) != 0)) {
			fail_msg("%s: format %d, escaping %s", accept, (int)got.format,
				 got.escaping ? got.escaping : "-");
		}
		free(copy);
	}
}

static void encodings_are_chosen_by_weight(void **state)
{
	static const struct {
		const char *accept;
		enum content_encoding encoding;
	} cases[] = {
		{ NULL, ENCODING_IDENTITY },
		{ "", ENCODING_IDENTITY },
		{ "gzip", ENCODING_GZIP }, /* Prometheus */
		{ "x-gzip", ENCODING_GZIP },
		{ "zstd", ENCODING_ZSTD },
		{ "deflate, gzip, br, zstd", ENCODING_ZSTD }, /* curl --compressed */
		{ "gzip, deflate, br", ENCODING_GZIP },
		{ "br", ENCODING_IDENTITY },
		{ "zstd;q=0.5, gzip", ENCODING_GZIP },
		{ "gzip;q=0.5, identity", ENCODING_IDENTITY },
		{ "gzip;q=0.5, identity;q=0.5", ENCODING_GZIP },
		{ "gzip;q=0", ENCODING_IDENTITY },
		{ "gzip;q=0, zstd", ENCODING_ZSTD },
		{ "*", ENCODING_GZIP },
		{ "*;q=0", ENCODING_IDENTITY },
		{ "*;q=0, gzip", ENCODING_GZIP },
		{ "gzip;q=0, *", ENCODING_IDENTITY },
		{ "identity;q=0, *;q=0.1", ENCODING_GZIP },
		{ "identity;q=0", ENCODING_IDENTITY },
		{ "identity", ENCODING_IDENTITY },
		{ "GZIP ; Q=0.3", ENCODING_GZIP },
		{ "gzip;q=1.1", ENCODING_IDENTITY },
		{ "gzip;;", ENCODING_GZIP },
		{ "gzipped", ENCODING_IDENTITY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		enum content_encoding got = negotiate_encoding(cases[i].accept);

		if (got != cases[i].encoding) {
			fail_msg("%s: %d", cases[i].accept, (int)got);
		}
	}
}

/* Any bytes have an answer; the sanitizers watch the copies. */
static void any_bytes_are_taken(void **state)
{
	static const char some[] = "aq/*;=,\"\\ .10x\t\x80\xff";
	uint64_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char header[40];
		uint8_t *copy;
		size_t size;

		random = random * UINT64_C(6364136223846793005) + 1;
		size = (size_t)(random >> 33) % sizeof header;
		for (size_t j = 0; j + 1 < size; j++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			header[j] = some[(random >> 33) % (sizeof some - 1)];
		}
		size = size > 0 ? size : 1;
		header[size - 1] = '\0';
		copy = exact_copy(header, size);
		assert_true(negotiate_format((char *)copy).format <= EXPOSITION_OPENMETRICS_0_0_1);
		assert_true(negotiate_encoding((char *)copy) <= ENCODING_ZSTD);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_chosen_by_weight_and_specificity),
		cmocka_unit_test(encodings_are_chosen_by_weight),
		cmocka_unit_test(any_bytes_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
