/* SPDX-License-Identifier: MIT */
#include "source/payload_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void payload_filter_done(struct payload_filter *filter)
{
	for (size_t i = 0; i < filter->condition_count; i++) {
		free(filter->conditions[i].field);
		free(filter->conditions[i].value);
	}
	filter->condition_count = 0;
}

bool payload_filter_copy(struct payload_filter *to, const struct payload_filter *from)
{
	*to = (struct payload_filter){ .event = from->event, .any = from->any };
	for (size_t i = 0; i < from->condition_count; i++) {
		const struct payload_condition *condition = &from->conditions[i];
		struct payload_condition *copy = &to->conditions[to->condition_count++];

		copy->op = condition->op;
		copy->field = text_duplicate(condition->field, strlen(condition->field));
		copy->value = text_duplicate(condition->value, strlen(condition->value));
		if (!copy->field || !copy->value) {
			return false;
		}
	}
	return true;
}
