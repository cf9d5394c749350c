/* SPDX-License-Identifier: MIT */
/*
 * Hints for the compiler; each is empty where the compiler does not know it.
 */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#define RARE     __attribute__((noinline, cold)) /* hardly called: kept out of the hot path */
#else
#define NOINLINE
#define RARE
#endif

#endif
