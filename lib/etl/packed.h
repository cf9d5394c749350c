/* SPDX-License-Identifier: MIT */
/*
 * Opens recordings that come in something: through a pipe, packed by gzip, xz or zstd, or in a zip
 * archive as PerfView writes them.
 *
 * What cannot be read by position is copied, unpacked, into a temporary file without a name
 * (os_file_temporary()), and read from there like any recording.
 */
#ifndef LIB_ETL_PACKED_H
#define LIB_ETL_PACKED_H

#include <stdint.h>

#include <etw/recording.h>

#include "base/error.h"
#include "base/os.h"

/* What bounds a temporary file. */
struct etl_packed_limits {
	uint64_t bytes_max;  /* of the temporary file */
	uint64_t ratio_from; /* bytes of it from which on the ratio is checked */
	uint64_t ratio_max;  /* unpacked bytes for each byte of the packed file */
};

extern const struct etl_packed_limits etl_packed_limits; /* those of the programs */

/*
 * Opens a recording for reading by position. A plain file is opened as it is; its first bytes, not
 * its name, say so.
 *
 * @path: of a file, a named pipe or a device; "-" is the standard input. "ARCHIVE:NAME" chooses one
 * file of a zip archive by its name there, with or without folders; * and ? are those of shells.
 * Without NAME the archive must contain exactly one file whose name ends in .etl.
 *
 * The texts of errors do not contain the path. In a program that shows progress the main thread
 * alone calls it.
 */
struct os_file *etl_packed_open(const char *path, const struct etl_packed_limits *limits,
				struct etw_error *err);

#endif
