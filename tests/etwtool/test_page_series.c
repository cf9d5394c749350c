/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "etwtool/page_series.h"

static const char page_a[] = "# HELP x_total Help with {a=\"b\"} 7.\n"
			     "# TYPE x_total counter\n"
			     "x_total{process=\"q\\\"}u\",role=\"x\"} 7\n"
			     "x_total{process=\"b\",role=\"x\"} 18446744073709551615\n"
			     "# TYPE etw_exporter_series gauge\n"
			     "etw_exporter_series 3\n"
			     "# TYPE d_seconds histogram\n"
			     "d_seconds_bucket{disk=\"0\",le=\"1\"} 10\n"
			     "d_seconds_bucket{disk=\"0\",le=\"2\"} 30\n"
			     "d_seconds_bucket{disk=\"0\",le=\"+Inf\"} 40\n"
			     "d_seconds_sum{disk=\"0\"} 70.5\n"
			     "d_seconds_count{disk=\"0\"} 40\n"
			     "# TYPE g gauge\n"
			     "g -4\n";

static const char page_b[] = "# TYPE x_total counter\n"
			     "x_total{process=\"q\\\"}u\",role=\"x\"} 9\n";

static void pages_become_series_side_by_side(void **state)
{
	struct series_table table = { 0 };
	struct etw_error err = { 0 };

	(void)state;
	assert_true(series_table_add(&table, page_a, 0, &err));
	assert_true(series_table_add(&table, page_b, 1, &err));
	assert_int_equal(table.family_count, 3);
	assert_int_equal(table.count, 4);
	assert_string_equal(table.rows[0].labels, "process=\"q\\\"}u\",role=\"x\"");
	assert_float_equal(table.rows[0].sides[0].value, 7, 0);
	assert_float_equal(table.rows[0].sides[1].value, 9, 0);
	assert_float_equal(table.rows[1].sides[0].value, 18446744073709551615.0, 0);
	assert_false(table.rows[1].sides[1].present);
	assert_string_equal(table.rows[2].labels, "disk=\"0\"");
	assert_float_equal(table.rows[2].sides[0].sum, 70.5, 0);
	assert_float_equal(table.rows[2].sides[0].count, 40, 0);
	assert_float_equal(table.rows[3].sides[0].value, -4, 0);
	series_table_done(&table);
}

/* By hand, as "histogram_quantile()" of the documentation of Prometheus says. */
static void quantiles_are_those_of_prometheus(void **state)
{
	static const struct {
		double quantile, expected;
	} cases[] = {
		{ 0.25, 1.0 },  /* rank 10: the end of the first bucket */
		{ 0.125, 0.5 }, /* rank 5: its middle, from 0 */
		{ 0.5, 1.5 },   /* rank 20: the middle of the second one */
		{ 0.99, 2.0 },  /* above the last finite bound */
	};
	struct series_table table = { 0 };
	struct etw_error err = { 0 };

	(void)state;
	assert_true(series_table_add(&table, page_a, 0, &err));
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_float_equal(series_quantile(&table.families[1], &table.rows[2].sides[0],
						   cases[i].quantile),
				   cases[i].expected, 1e-12);
	}
	assert_true(isnan(series_quantile(&table.families[1], &table.rows[2].sides[1], 0.5)));
	series_table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_become_series_side_by_side),
		cmocka_unit_test(quantiles_are_those_of_prometheus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
