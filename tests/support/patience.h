/* SPDX-License-Identifier: MIT */
/*
 * How long tests wait for what must happen before they fail. It is no measure of speed: only a
 * program that hangs reaches the limit, however busy the machine is. ctest ends a test later than
 * that (tests/CMakeLists.txt).
 */
#ifndef SUPPORT_PATIENCE_H
#define SUPPORT_PATIENCE_H

enum { WAIT_MS = 120000 };

#endif
