/* SPDX-License-Identifier: MIT */
#include "etl/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void etl_problem(struct etl_problems *problems, const char *format, ...)
{
	char sentence[256];
	char *copy = NULL;
	va_list arguments;

	if (!problems) {
		return;
	}
	if (problems->count < ETL_PROBLEMS_MAX) {
		va_start(arguments, format);
		vsnprintf(sentence, sizeof sentence, format, arguments);
		va_end(arguments);
		copy = text_duplicate(sentence, strlen(sentence));
	}
	if (copy) {
		problems->sentences[problems->count++] = copy;
	} else {
		problems->dropped++;
	}
}

void etl_problems_done(struct etl_problems *problems)
{
	for (size_t i = 0; i < problems->count; i++) {
		free(problems->sentences[i]);
	}
	*problems = (struct etl_problems){ 0 };
}
