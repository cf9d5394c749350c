/* SPDX-License-Identifier: MIT */
/*
 * The colours of the rows of charts: a process has one colour in all charts, so that the eye finds
 * it again. There are some more colours than drawn rows; a name whose colour another row of the
 * chart already has gets a free one there.
 */
#include <string.h>

#include "etwtool/report/report.h"

enum { REMEMBERED_MOST = 64, NO_COLOUR = 0xff };

struct remembered {
	const char *label, *name;
	uint8_t colour;
};

static const struct remembered *find(const struct remembered *list, size_t count, const char *label,
				     const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].label, label) == 0 && strcmp(list[i].name, name) == 0) {
			return &list[i];
		}
	}
	return NULL;
}

/* The first colour that is not in the set; one always is. */
static uint8_t free_colour(unsigned used)
{
	uint8_t colour = 0;

	while ((used >> colour & 1) != 0) {
		colour++;
	}
	return colour;
}

void report_choose_colours(struct report_colours *colours, const struct report_charted *charted)
{
	struct remembered list[REMEMBERED_MOST];
	size_t count = 0;

	for (size_t i = 0; i < REPORT_CHARTS; i++) {
		const struct report_series *series = &charted->series[i];
		const char *label = report_charts[i].label;
		size_t rows = report_rows(series) < REPORT_DRAWN ? report_rows(series) :
								   REPORT_DRAWN;
		unsigned used = 0, remembered = 0;

		memset(colours->rows[i], NO_COLOUR, REPORT_DRAWN);
		if (report_charts[i].form != REPORT_STACK) {
			continue;
		}
		for (size_t j = 0; j < count; j++) {
			remembered |= strcmp(list[j].label, label) == 0 ? 1u << list[j].colour : 0;
		}
		for (size_t j = 0; j < rows; j++) {
			const struct remembered *known =
				find(list, count, label, series->rows[j].name);

			if (known && (used >> known->colour & 1) == 0) {
				colours->rows[i][j] = known->colour;
				used |= 1u << known->colour;
			}
		}
		for (size_t j = 0; j < rows; j++) {
			const char *name = series->rows[j].name;
			uint8_t colour = free_colour(used | remembered);

			if (colours->rows[i][j] != NO_COLOUR) {
				continue;
			}
			colour = colour < REPORT_COLOURS ? colour : free_colour(used);
			colours->rows[i][j] = colour;
			used |= 1u << colour;
			if (count < REMEMBERED_MOST && !find(list, count, label, name)) {
				list[count++] = (struct remembered){ label, name, colour };
			}
		}
	}
}

size_t report_rows(const struct report_series *series)
{
	size_t rows = series->count;

	while (rows > 0 && series->rows[rows - 1].total == 0) {
		rows--;
	}
	return rows;
}
