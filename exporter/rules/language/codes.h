/* SPDX-License-Identifier: MIT */
/*
 * Names of the codes that operators look for, lower case with underscores.
 */
#ifndef RULES_CODES_H
#define RULES_CODES_H

#include <stdint.h>

/* The name, else the class of its severity: success, information, warning, error. */
const char *code_ntstatus(uint32_t status);

/* NULL: none that is known here. */
const char *code_win32(uint32_t error);

/*
 * The name; of a code that contains a system error or an NTSTATUS the name of that; "success" for
 * any other that is no failure; NULL for any other failure.
 */
const char *code_hresult(uint32_t result);

#endif
