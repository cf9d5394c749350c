/* SPDX-License-Identifier: MIT */
/*
 * Opens recordings that are not plain files: from a pipe, packed by gzip, xz or zstd, or in a zip
 * archive as PerfView writes them.
 *
 * Such a recording cannot be read by position, so it is unpacked into a temporary file without a
 * name (os_file_temporary()) and read from there.
 */
#ifndef LIB_ETL_PACKED_H
#define LIB_ETL_PACKED_H

#include <stdint.h>

#include <etw/recording.h>

#include "base/error.h"
#include "base/os.h"

/* Limits for a temporary file. They protect against archives that unpack to very much. */
struct etl_packed_limits {
	uint64_t bytes_max;  /* most bytes of the temporary file */
	uint64_t ratio_from; /* size of the temporary file above which the ratio is checked */
	uint64_t ratio_max;  /* most unpacked bytes for each byte of the packed file */
	uint64_t room;       /* bytes that count as free on the disk; 0: those that are free */
};

extern const struct etl_packed_limits etl_packed_limits; /* the limits of all programs */

/*
 * Opens a recording for reading by position. A plain file is opened as it is. The first bytes
 * decide whether a file is packed, not its name.
 *
 * @path: of a file, a named pipe or a device; "-" is the standard input. "ARCHIVE:NAME" chooses one
 * file of a zip archive by its name in the archive, with or without folders; NAME may contain * and
 * ? as in shells. Without NAME the archive must contain exactly one file whose name ends in .etl.
 *
 * The texts of errors do not contain the path. In a program that shows progress only the main
 * thread may call it.
 */
struct os_file *etl_packed_open(const char *path, const struct etl_packed_limits *limits,
				struct etw_error *err);

/* ---- the stated size (packed_size.c) ---- */

/*
 * Returns the size that a file of gzip, xz or zstd states; 0 if it states none. The statement can
 * be wrong. gzip states the size of its last member modulo 4 GiB, xz that of its last stream, zstd
 * that of its first frame, so the file may unpack to more.
 */
uint64_t etl_packed_stated_size(struct os_file *file);

#endif
