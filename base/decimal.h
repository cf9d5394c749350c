/* SPDX-License-Identifier: MIT */
/*
 * Integers as decimal text, two digits at a time. The functions are inline because a scrape prints
 * millions of integers.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdint.h>
#include <string.h>

enum {
	DECIMAL_ROOM =
		32, /* bytes that the functions below may write to; the text has at most 22 */
	DECIMALS_MAX = 9,
};

static const char decimal_pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

static inline char *put_pair(char *to, unsigned value)
{
	memcpy(to, decimal_pairs + 2 * value, 2);
	return to + 2;
}

/* Writes value, below 10,000, as four digits. */
static inline char *put_four(char *to, unsigned value)
{
	return put_pair(put_pair(to, value / 100), value % 100);
}

/* Writes value, below 10,000, without leading zeros. */
static inline char *put_up_to_four(char *to, unsigned value)
{
	if (value >= 100) {
		if (value >= 1000) {
			return put_four(to, value);
		}
		*to++ = (char)('0' + value / 100);
		return put_pair(to, value % 100);
	}
	if (value >= 10) {
		return put_pair(to, value);
	}
	*to++ = (char)('0' + value);
	return to;
}

/* Writes value, below 100,000,000, as eight digits. */
static inline char *put_eight(char *to, uint32_t value)
{
	return put_four(put_four(to, value / 10000), value % 10000);
}

/* Writes value at `to` (no NUL) and returns the end. */
static inline char *put_u64(char *to, uint64_t value)
{
	if (value < 10000) {
		return put_up_to_four(to, (unsigned)value);
	}
	if (value < 100000000) {
		to = put_up_to_four(to, (unsigned)value / 10000);
		return put_four(to, (unsigned)value % 10000);
	}
	if (value < UINT64_C(10000000000000000)) {
		uint32_t high = (uint32_t)(value / 100000000);

		if (high >= 10000) {
			to = put_up_to_four(to, high / 10000);
			to = put_four(to, high % 10000);
		} else {
			to = put_up_to_four(to, high);
		}
		return put_eight(to, (uint32_t)(value % 100000000));
	}
	to = put_up_to_four(to, (unsigned)(value / UINT64_C(10000000000000000)));
	value %= UINT64_C(10000000000000000);
	to = put_eight(to, (uint32_t)(value / 100000000));
	return put_eight(to, (uint32_t)(value % 100000000));
}

/* Writes value / 10^decimals exactly, without zeros at the end of the fraction. */
static inline char *put_scaled(char *to, uint64_t value, unsigned decimals)
{
	static const uint32_t powers[DECIMALS_MAX + 1] = { 1,         10,        100,     1000,
							   10000,     100000,    1000000, 10000000,
							   100000000, 1000000000 };
	uint64_t whole;
	uint32_t fraction;

	if (decimals == 0) {
		return put_u64(to, value);
	}
	if (decimals == 9) { /* nanoseconds shown as seconds: with a constant divisor the compiler
				needs no division */
		whole = value / 1000000000;
		fraction = (uint32_t)(value % 1000000000);
	} else {
		whole = value / powers[decimals];
		fraction = (uint32_t)(value % powers[decimals]);
	}
	to = put_u64(to, whole);
	if (fraction != 0) {
		char digits[9];
		unsigned count = 9;

		/* Scales the fraction to nine digits; the first is the one after the point. */
		fraction *= powers[DECIMALS_MAX - decimals];
		digits[0] = (char)('0' + fraction / 100000000);
		put_eight(digits + 1, fraction % 100000000);
		while (digits[count - 1] == '0') {
			count--;
		}
		*to++ = '.';
		memcpy(to, digits, sizeof digits); /* copies more than needed, because a copy of
						      fixed size is one instruction */
		to += count;
	}
	return to;
}

/* As put_scaled(), for a value that may be negative. */
static inline char *put_scaled_i64(char *to, int64_t value, unsigned decimals)
{
	uint64_t magnitude = (uint64_t)value;

	if (value < 0) {
		*to++ = '-';
		magnitude = -magnitude;
	}
	return put_scaled(to, magnitude, decimals);
}

#endif
