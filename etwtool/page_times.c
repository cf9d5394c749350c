/* SPDX-License-Identifier: MIT */
/*
 * A recording chooses its times, so a few records can span thousands of years, and one exposition
 * for each step could fill any disk. Therefore a pause gets only one exposition, at its beginning,
 * because the values do not change during it. The next one comes before the record that ends the
 * pause.
 */
#include "etwtool/page_times.h"

#include <etw/record.h>

#define SECOND   INT64_C(10000000)
#define END_9999 INT64_C(2650467744000000000) /* the end of 9999 */

/* Returns the last multiple of the step, counted from 1970, that is not after the time. */
static int64_t step_before(const struct page_times *times, int64_t time)
{
	return time - (int64_t)(etw_time_since_1970(time) % (uint64_t)times->step);
}

bool page_times_due(struct page_times *times, int64_t time, int64_t *page)
{
	int64_t pause = PAUSE_SECONDS * SECOND;

	pause = times->step > pause ? times->step : pause;
	if (time == ETW_RECORD_NO_TIME) {
		return false;
	}
	if (time < ETW_TIME_1970 || time >= END_9999) {
		times->outside++;
		return false;
	}
	if (times->next == 0) {
		times->next = step_before(times, time);
	}
	if (time < times->next) {
		return false;
	}
	*page = times->next;
	times->next = time - times->next > pause ? step_before(times, time) :
						   times->next + times->step;
	return true;
}
