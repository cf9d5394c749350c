/* SPDX-License-Identifier: MIT */
#ifndef ETW_VERSION_H
#define ETW_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the version of the library, such as "0.2.0". It is that of the programs from the same
 * sources. The text is static. Any thread may call this function.
 */
const char *etw_version(void);

#ifdef __cplusplus
}
#endif

#endif
