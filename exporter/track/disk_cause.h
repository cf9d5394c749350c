/* SPDX-License-Identifier: MIT */
/*
 * Which process caused the bytes that a disk reads and writes: the ledger behind
 * etw_disk_caused_read_bytes_total and etw_disk_caused_written_bytes_total. Only one consumer uses
 * it, so it has no lock.
 *
 * Requests of programs and of the memory manager for files are noted; each transfer of a disk is
 * then split among the processes that caused it. The parts of a transfer always add up to its
 * bytes. Processes are label ids; two instances of one program are one process here.
 *
 * Source: docs/caused-writes.md.
 */
#ifndef TRACK_DISK_CAUSE_H
#define TRACK_DISK_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "exporter/track/files.h"
#include "metrics/registry.h"

/* Bits in the flags of file and disk requests (IRP_NOCACHE, IRP_PAGING_IO). */
enum { IO_NOT_CACHED = 1, IO_PAGING = 2 };

/* How bytes reach the disk, or come from it: values of the label `how`. */
enum cause_way {
	CAUSE_DIRECT,   /* in the request of the program: unbuffered, or written through */
	CAUSE_CACHED,   /* through the file cache */
	CAUSE_MAPPED,   /* pages of memory: mapped files, programs, the page file */
	CAUSE_METADATA, /* the file system's own files */
	CAUSE_UNKNOWN,  /* no event says how; the process is the one that issued the transfer */
	CAUSE_WAYS
};

/* The purpose of a file, as its path shows it. */
enum file_role {
	FILE_ROLE_UNKNOWN, /* no path is known */
	FILE_PLAIN,
	FILE_METADATA,  /* belongs to the file system */
	FILE_PAGE_FILE, /* pages of memory */
	FILE_ELSEWHERE, /* not on a local disk: pipes, network */
};

/* Returns the role by the path, which is UTF-8, as recorded. */
enum file_role file_role_of(const char *path, size_t size);

/* A request for a file (FileIo) or a transfer of a disk (DiskIo). */
struct cause_request {
	uint64_t file;    /* the file key; 0: none */
	uint64_t offset;  /* in the file; only of FileIo; 2^63 and above mean the end of the file */
	uint32_t bytes;   /* size of the request */
	uint32_t flags;   /* IO_… */
	uint32_t process; /* label id of the process that issued it */
	uint32_t thread;  /* id of the thread that issued it; only of FileIo; 0: not known */
	bool for_others;  /* the process is System, which works for other processes, or it is not
			     known */
};

/* The part of a transfer that one process caused. */
struct cause_part {
	uint32_t process; /* label id */
	enum cause_way way;
	uint64_t bytes;
};

enum {
	CAUSE_RUNS = 8, /* at most this many runs of dirty pages are remembered for a file, and a
			   transfer has at most this many parts */
	CAUSE_FILES = 32768, /* at most this many files are remembered, in 12 MiB */
	CAUSE_VIEWS = 16384, /* at most this many views of files are remembered, in 2 MiB */
	CAUSE_FAMILIES = 2,  /* families: bytes read, bytes written */
	CAUSE_DISKS = 64,    /* the labels of this many disk numbers are cached */
};

extern const struct family_options disk_cause_families[CAUSE_FAMILIES];

struct cause_file; /* private */

struct disk_cause {
	/* Returns the role of the current record's file. It is called once or a few times for
	 * each file. */
	enum file_role (*role)(void *context);
	void *context;

	struct cause_file *files; /* owned; the first entries are the heads of lists */
	size_t count;             /* entries in use, list heads included */
	size_t capacity;
	uint32_t limit;     /* the most files, list heads excluded */
	uint32_t unused;    /* first entry of the free list */
	struct map by_key;  /* file key -> index in files */
	uint64_t evictions; /* files, and runs with dirty pages, that were dropped for lack of room
			     */
	struct file_views views; /* views through which processes may write to files */

	struct registry
		*registry; /* borrowed, as is shard; NULL: parts are computed but not counted */
	struct shard *shard;
	struct family *families[CAUSE_FAMILIES];
	uint32_t provider; /* label id of the provider */
	uint32_t ways[CAUSE_WAYS];
	uint32_t disks[CAUSE_DISKS]; /* label ids of disk numbers; INTERN_NONE: not made yet */
};

/* Makes an empty ledger of at most `limit` files. It allocates nothing before the first file. */
void disk_cause_init(struct disk_cause *cause, uint32_t limit,
		     enum file_role (*role)(void *context), void *context);
/* Registers the families and makes disk_cause_add() count in them, in this shard. */
bool disk_cause_count_in(struct disk_cause *cause, struct registry *registry, struct shard *shard,
			 struct etw_error *err);
void disk_cause_clear(struct disk_cause *cause); /* forgets all files, frees all memory */

/* ---- what is noted of files ---- */

/* A file is read or written: by a program, or by the memory manager (IO_PAGING). */
void disk_cause_file_read(struct disk_cause *cause, const struct cause_request *request);
void disk_cause_file_write(struct disk_cause *cause, const struct cause_request *request);
/* A program requests that the file's dirty pages be written. */
void disk_cause_file_flush(struct disk_cause *cause, uint64_t key);
/* A program requests that the file be renamed, or that it be deleted when the last program
 * closes it. */
void disk_cause_file_rename(struct disk_cause *cause, uint64_t key);
void disk_cause_file_delete(struct disk_cause *cause, uint64_t key);
/* The file key is no longer in use (FileIo/FileDelete). Unless a rename is under way, the key
 * now means no file, and the dirty pages of its former file will never be written. */
void disk_cause_name_gone(struct disk_cause *cause, uint64_t key);

/* A process maps a file into its memory so that it can write to it, or did so before the
 * session. process_id: the id of the process; process: its label id. */
void disk_cause_view_mapped(struct disk_cause *cause, uint64_t key, uint32_t process_id,
			    uint64_t address, uint32_t process);
/* The view at the address ends. Does nothing if no view is known there. */
void disk_cause_view_unmapped(struct disk_cause *cause, uint32_t process_id, uint64_t address);
/* All views of the process end. */
void disk_cause_process_ended(struct disk_cause *cause, uint32_t process_id);

/* The number of files and views that are remembered, and the number of those that were dropped
 * for lack of room. */
size_t disk_cause_entries(const struct disk_cause *cause);
uint64_t disk_cause_evictions(const struct disk_cause *cause);

/* ---- transfers of disks ---- */

/*
 * Splits a transfer among the processes that caused it. Returns the number of parts, at least 1;
 * their bytes add up to those of the transfer.
 */
size_t disk_cause_read(struct disk_cause *cause, const struct cause_request *transfer,
		       struct cause_part parts[CAUSE_RUNS]);
size_t disk_cause_write(struct disk_cause *cause, const struct cause_request *transfer,
			struct cause_part parts[CAUSE_RUNS]);

/* Adds the parts to the family of reads or writes. disk: the number of the disk. */
void disk_cause_add(struct disk_cause *cause, bool written, uint32_t disk,
		    const struct cause_part *parts, size_t count);

#endif
