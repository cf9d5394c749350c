/* SPDX-License-Identifier: MIT */
/*
 * The ledger of dirty pages, by file and process.
 *
 * A program that writes to a file only fills pages of the file cache. Seconds later a thread of
 * System writes these pages to the file ("paging I/O"), and the disk reports a transfer that System
 * issued. So the transfer alone does not show its cause. Three types of events lead to it: requests
 * of programs (FileIo/Write), paging writes (FileIo/Write with IRP_PAGING_IO), and transfers
 * (DiskIo/Write). All three have the file key.
 *
 * A request of a program makes pages of the file dirty. The ledger keeps them as runs of pages,
 * each of one process. A paging write removes the pages that it covers from the runs, and the
 * processes of these runs, weighted by pages, become the *shares* of the file. A transfer is split
 * by the shares of its file, in whole bytes without a remainder. The shares stay until the next
 * paging write: one paging write may lead to several transfers (a fragmented file), to fewer bytes
 * (a compressed file), or to a transfer of pages that a program has written again meanwhile.
 * Because the transfer's own bytes are split, the sum over all processes is right even if the
 * ledger knows nothing. The ledger only decides which processes share it.
 *
 * The ledger keeps runs of pages, not a sum for each file, because a file with several writers
 * (logs, databases) is flushed in pieces, and each piece has its own writers. Eight runs are
 * enough: a ninth run is joined to the nearest one of its process; the joined run then also covers
 * clean pages in between. If one process writes the file, this changes no result. A look-up is a
 * hash and a walk over at most eight runs.
 *
 * A store into a mapped page makes no event. A paging write without dirty pages is therefore
 * attributed in equal shares to the processes that have the file mapped for writing (files.h).
 * If there are none, it is attributed to the last writer (a page that was written while it was
 * flushed), to the file system itself, to the process that issues it (FlushViewOfFile), or to the
 * process that last had the file mapped for writing or read pages of it into its memory. Reads need
 * no runs: what System reads ahead is attributed to the process that last requested to read the
 * file.
 *
 * The number of files is bounded. Files without dirty pages are dropped first, those that were not
 * used for the longest time before others. Dropping dirty pages counts as an eviction.
 */
#include "exporter/track/disk_cause.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "exporter/track/files.h"

enum {
	PAGE_BYTES = 4096,
	PAGES_MOST = 1 << 28, /* most pages of a share, so that bytes of a transfer times all shares
				 fit into 64 bits */
};

/* A range of dirty pages that one process has written. */
struct cause_run {
	uint64_t first, end; /* page numbers */
	uint32_t process;
};

/* The part of one process in the last paging write of a file. */
struct cause_share {
	uint32_t process;
	uint32_t pages; /* the weight, at least 1 */
	enum cause_way way;
};

struct cause_file {
	uint64_t key;
	uint64_t end;           /* offset after the last byte that a program has written */
	uint32_t older, newer;  /* neighbours in its list */
	uint32_t writer;        /* label id of the process of the last write through the cache;
				   INTERN_NONE: none */
	uint32_t writer_thread; /* thread of that write; 0: a flush came after it */
	uint32_t direct_writer; /* label id of the process of the last write without the cache */
	uint32_t reader;        /* label id of the process of the last read */
	uint32_t mapper; /* label id of the process that last read pages of the file without a read
			    request, or whose view of it ended last */
	uint8_t role;    /* enum file_role */
	bool renaming;
	uint8_t run_count, share_count;
	struct cause_run runs[CAUSE_RUNS]; /* in order of age, the oldest first */
	struct cause_share shares[CAUSE_RUNS];
};

/* The lists of files are rings; these are their heads. The `newer` of a head is the oldest file. */
enum { CLEAN, DIRTY, LISTS };

/* ---- roles ---- */

static bool starts_with(const char *path, size_t size, const char *start)
{
	return text_starts_nocase(path, size, start, strlen(start));
}

static bool is_text(const char *at, size_t size, const char *text)
{
	return text_equal_nocase(at, size, text, strlen(text));
}

/* Returns whether a path ends with the name of an NTFS system stream of an ordinary file or folder.
 */
static bool names_own_stream(const char *path, size_t size)
{
	static const char *const streams[] = { ":$INDEX_ALLOCATION", ":$BITMAP", ":$ATTRIBUTE_LIST",
					       ":$REPARSE_POINT", ":$EA" };

	for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
		size_t length = strlen(streams[i]);

		if (size >= length && is_text(path + size - length, length, streams[i])) {
			return true;
		}
	}
	return false;
}

enum file_role file_role_of(const char *path, size_t size)
{
	size_t prefix = volumes_prefix(path, size, false);
	const char *name;
	size_t name_size;

	if (path_medium(path, size, NULL) != MEDIUM_VOLUME) {
		return FILE_ELSEWHERE;
	}
	name = path + prefix;
	name_size = size - prefix;
	if (name_size < 2 || name[0] != '\\') {
		return FILE_PLAIN;
	}
	name++;
	name_size--;
	if (names_own_stream(name, name_size)) {
		return FILE_METADATA;
	}
	if (name[0] == '$') { /* $Mft, $LogFile, $Mft::$BITMAP, the names of $Extend */
		return !memchr(name, '\\', name_size) || starts_with(name, name_size, "$Extend\\") ?
			       FILE_METADATA :
			       FILE_PLAIN;
	}
	return is_text(name, name_size, "pagefile.sys") ||
			       is_text(name, name_size, "swapfile.sys") ?
		       FILE_PAGE_FILE :
		       FILE_PLAIN;
}

static enum file_role role_of(struct disk_cause *cause, struct cause_file *file)
{
	if (file->role == FILE_ROLE_UNKNOWN && cause->role) {
		file->role = (uint8_t)cause->role(cause->context);
	}
	return (enum file_role)file->role;
}

/* ---- files ---- */

void disk_cause_init(struct disk_cause *cause, uint32_t limit,
		     enum file_role (*role)(void *context), void *context)
{
	*cause = (struct disk_cause){ .limit = limit, .role = role, .context = context };
	file_views_init(&cause->views, CAUSE_VIEWS);
}

void disk_cause_clear(struct disk_cause *cause)
{
	free(cause->files);
	cause->files = NULL;
	cause->count = cause->capacity = 0;
	cause->unused = 0;
	map_done(&cause->by_key);
	file_views_clear(&cause->views);
}

size_t disk_cause_entries(const struct disk_cause *cause)
{
	return cause->by_key.count + cause->views.by_place.count;
}

uint64_t disk_cause_evictions(const struct disk_cause *cause)
{
	return cause->evictions + cause->views.evictions;
}

static void unlink_file(struct disk_cause *cause, uint32_t at)
{
	const struct cause_file *file = &cause->files[at];

	cause->files[file->older].newer = file->newer;
	cause->files[file->newer].older = file->older;
}

/* Makes the file the newest one of a list. */
static void link_file(struct disk_cause *cause, uint32_t at, uint32_t list)
{
	struct cause_file *file = &cause->files[at];

	file->newer = list;
	file->older = cause->files[list].older;
	cause->files[file->older].newer = at;
	cause->files[list].older = at;
}

static void remove_file(struct disk_cause *cause, uint32_t at)
{
	unlink_file(cause, at);
	map_remove(&cause->by_key, cause->files[at].key);
	cause->files[at].newer = cause->unused;
	cause->unused = at;
}

/* Returns the index of a new entry in files; 0 without memory. */
static uint32_t grow(struct disk_cause *cause)
{
	uint32_t at;
	size_t first = cause->count > 0 ? cause->count : LISTS;
	struct cause_file *grown;

	if (cause->unused > 0) {
		at = cause->unused;
		cause->unused = cause->files[at].newer;
		return at;
	}
	grown = array_grow(cause->files, &cause->capacity, first, sizeof *grown);
	if (!grown) {
		return 0;
	}
	cause->files = grown;
	if (cause->count == 0) {
		for (uint32_t list = 0; list < LISTS; list++) {
			grown[list] = (struct cause_file){ .older = list, .newer = list };
		}
	}
	cause->count = first + 1;
	return (uint32_t)first;
}

/* Drops the clean file that was not used for the longest time; if no file is clean, the dirty
 * one. */
static void make_room(struct disk_cause *cause)
{
	uint32_t at = cause->files[CLEAN].newer;

	if (at == CLEAN) {
		at = cause->files[DIRTY].newer;
		cause->evictions++;
	}
	remove_file(cause, at);
}

/* Returns the file of a key, which is added if it is new; NULL without memory, or for key 0. */
static struct cause_file *use_file(struct disk_cause *cause, uint64_t key)
{
	const uint64_t *known = key ? map_find(&cause->by_key, key) : NULL;
	uint64_t *place;
	uint32_t at;

	if (known) {
		at = (uint32_t)*known;
		if (cause->files[at].newer >= LISTS) { /* it is not the newest one of its list */
			unlink_file(cause, at);
			link_file(cause, at, cause->files[at].run_count > 0 ? DIRTY : CLEAN);
		}
		return &cause->files[at];
	}
	if (key == 0) {
		return NULL;
	}
	if (cause->by_key.count >= cause->limit) {
		make_room(cause);
	}
	at = grow(cause);
	place = at > 0 ? map_put(&cause->by_key, key, NULL) : NULL;
	if (!place) {
		if (at > 0) {
			cause->files[at].newer = cause->unused;
			cause->unused = at;
		}
		return NULL;
	}
	*place = at;
	cause->files[at] = (struct cause_file){ .key = key };
	link_file(cause, at, CLEAN);
	role_of(cause, &cause->files[at]);
	return &cause->files[at];
}

/* Moves the file to the list that it belongs to. Call it when its first run is added or its last
 * one is removed. */
static void put_in_list(struct disk_cause *cause, struct cause_file *file)
{
	uint32_t at = (uint32_t)(file - cause->files);

	unlink_file(cause, at);
	link_file(cause, at, file->run_count > 0 ? DIRTY : CLEAN);
}

/* ---- runs ---- */

static uint64_t page_after(uint64_t offset, uint32_t bytes)
{
	uint64_t last = offset + (bytes - 1);

	return (last < offset ? UINT64_MAX : last) / PAGE_BYTES + 1;
}

static void remove_run(struct cause_file *file, unsigned i)
{
	file->run_count--;
	memmove(&file->runs[i], &file->runs[i + 1], (file->run_count - i) * sizeof file->runs[0]);
}

static uint64_t gap_between(const struct cause_run *a, const struct cause_run *b)
{
	return a->end < b->first ? b->first - a->end : b->end < a->first ? a->first - b->end : 0;
}

/* Returns the index of the run of the same process that is nearest to `to`; run_count if there
 * is none. */
static unsigned nearest_run(const struct cause_file *file, const struct cause_run *to)
{
	unsigned nearest = file->run_count;

	for (unsigned i = 0; i < file->run_count; i++) {
		const struct cause_run *run = &file->runs[i];

		if (run->process == to->process &&
		    (nearest == file->run_count ||
		     gap_between(run, to) < gap_between(&file->runs[nearest], to))) {
			nearest = i;
		}
	}
	return nearest;
}

/* Adds a run, which is joined with runs of the same process that it touches. */
static void add_run(struct disk_cause *cause, struct cause_file *file, struct cause_run added)
{
	for (;;) {
		unsigned i = nearest_run(file, &added);
		const struct cause_run *run = &file->runs[i];

		if (i == file->run_count ||
		    (gap_between(run, &added) > 0 && file->run_count < CAUSE_RUNS)) {
			break;
		}
		added.first = run->first < added.first ? run->first : added.first;
		added.end = run->end > added.end ? run->end : added.end;
		remove_run(file, i);
	}
	if (file->run_count == CAUSE_RUNS) { /* all runs are those of other processes */
		remove_run(file, 0);
		cause->evictions++;
	}
	file->runs[file->run_count++] = added;
}

static void add_share(struct cause_file *file, uint32_t process, enum cause_way way, uint64_t pages)
{
	unsigned i = 0;

	while (i < file->share_count && file->shares[i].process != process) {
		i++;
	}
	if (i == file->share_count) {
		file->shares[file->share_count++] =
			(struct cause_share){ .process = process, .way = way };
	}
	pages += file->shares[i].pages;
	file->shares[i].pages = pages < PAGES_MOST ? (uint32_t)pages : PAGES_MOST;
}

/* Removes pages from run i. Returns false if nothing is left of the run. If both ends would be
 * left and there is no room for another run, the run stays unchanged. */
static bool cut_run(struct cause_file *file, unsigned i, uint64_t first, uint64_t end)
{
	struct cause_run *run = &file->runs[i];

	if (run->first >= first && run->end <= end) {
		remove_run(file, i);
		return false;
	}
	if (run->first >= first) {
		run->first = end;
	} else if (run->end <= end) {
		run->end = first;
	} else if (file->run_count < CAUSE_RUNS) {
		file->runs[file->run_count] = *run;
		file->runs[file->run_count++].first = end;
		run->end = first;
	}
	return true;
}

/* Makes the processes with dirty pages in the range the shares of the file. The pages are clean
 * then. */
static void add_run_shares(struct cause_file *file, uint64_t first, uint64_t end)
{
	unsigned i = 0, count = file->run_count;

	while (i < count) {
		const struct cause_run *run = &file->runs[i];
		uint64_t from = run->first > first ? run->first : first;
		uint64_t to = run->end < end ? run->end : end;

		if (from >= to) {
			i++;
			continue;
		}
		add_share(file, run->process, CAUSE_CACHED, to - from);
		if (cut_run(file, i, first, end)) {
			i++;
		} else {
			count--;
		}
	}
}

/* ---- requests for files ---- */

void disk_cause_file_read(struct disk_cause *cause, const struct cause_request *request)
{
	struct cause_file *file = use_file(cause, request->file);

	if (!file) {
		return;
	}
	if (!(request->flags & IO_PAGING)) {
		file->reader = request->process;
	} else if (!request->for_others && file->reader != request->process) {
		file->mapper = request->process;
	}
}

/* Makes the processes that have the file mapped for writing its shares. */
static void add_view_shares(const struct disk_cause *cause, struct cause_file *file)
{
	uint32_t processes[CAUSE_RUNS];
	size_t count = file_views_of(&cause->views, file->key, processes, CAUSE_RUNS);

	for (size_t i = 0; i < count; i++) {
		add_share(file, processes[i], CAUSE_MAPPED, 1);
	}
}

/* Returns the most likely cause of paging I/O for which no dirty page and no view is known. */
static struct cause_share best_guess(struct disk_cause *cause, struct cause_file *file,
				     const struct cause_request *request)
{
	struct cause_share share = { .process = request->process, .pages = 1 };
	enum file_role role = role_of(cause, file);

	if (role == FILE_PAGE_FILE) {
		share.way = CAUSE_MAPPED;
	} else if (file->writer && (request->for_others || file->writer == request->process)) {
		share.process = file->writer;
		share.way = CAUSE_CACHED;
	} else if (role == FILE_METADATA) {
		share.way = CAUSE_METADATA;
	} else if (!request->for_others) {
		share.way = CAUSE_MAPPED;
	} else if (file->mapper) {
		share.process = file->mapper;
		share.way = CAUSE_MAPPED;
	} else {
		share.way = CAUSE_UNKNOWN;
	}
	return share;
}

/* Completes the shares of a file after add_run_shares(): if it has none, they come from views or a
 * guess. */
static void guess_shares(struct disk_cause *cause, struct cause_file *file,
			 const struct cause_request *request)
{
	if (file->share_count == 0 && request->for_others) {
		add_view_shares(cause, file);
	}
	if (file->share_count == 0) {
		file->shares[file->share_count++] = best_guess(cause, file, request);
	}
}

static void paging_write(struct disk_cause *cause, struct cause_file *file,
			 const struct cause_request *request)
{
	bool in_request = file->writer_thread != 0 && file->writer_thread == request->thread;

	file->share_count = 0;
	add_run_shares(file, request->offset / PAGE_BYTES,
		       page_after(request->offset, request->bytes));
	for (unsigned i = 0; i < file->share_count; i++) {
		/* The thread that wrote also flushes in the same request, so the file is written
		 * through. */
		if (in_request && file->shares[i].process == request->process) {
			file->shares[i].way = CAUSE_DIRECT;
		}
	}
	guess_shares(cause, file, request);
}

static void program_write(struct disk_cause *cause, struct cause_file *file,
			  const struct cause_request *request)
{
	uint64_t offset = request->offset <= INT64_MAX ? request->offset : file->end;
	struct cause_run run = { .first = offset / PAGE_BYTES,
				 .end = page_after(offset, request->bytes),
				 .process = request->process };

	if (offset + request->bytes > file->end) {
		file->end = offset + request->bytes;
	}
	if (request->flags & IO_NOT_CACHED) {
		file->direct_writer = request->process;
		return;
	}
	file->writer = request->process;
	file->writer_thread = request->thread;
	add_run(cause, file, run);
}

void disk_cause_file_write(struct disk_cause *cause, const struct cause_request *request)
{
	struct cause_file *file = request->bytes > 0 ? use_file(cause, request->file) : NULL;
	unsigned runs;

	if (!file || role_of(cause, file) == FILE_ELSEWHERE) {
		return;
	}
	runs = file->run_count;
	if (request->flags & IO_PAGING) {
		paging_write(cause, file, request);
	} else {
		program_write(cause, file, request);
	}
	if ((runs > 0) != (file->run_count > 0)) {
		put_in_list(cause, file);
	}
}

static struct cause_file *find_file(const struct disk_cause *cause, uint64_t key)
{
	const uint64_t *at = map_find(&cause->by_key, key);

	return at ? &cause->files[*at] : NULL;
}

void disk_cause_file_flush(struct disk_cause *cause, uint64_t key)
{
	struct cause_file *file = find_file(cause, key);

	if (file) {
		file->writer_thread = 0;
	}
}

void disk_cause_file_rename(struct disk_cause *cause, uint64_t key)
{
	struct cause_file *file = find_file(cause, key);

	if (file) {
		file->renaming = true;
	}
}

void disk_cause_file_delete(struct disk_cause *cause, uint64_t key)
{
	struct cause_file *file = find_file(cause, key);

	if (file) {
		file->renaming = false;
	}
}

void disk_cause_name_gone(struct disk_cause *cause, uint64_t key)
{
	struct cause_file *file = find_file(cause, key);

	if (file && file->renaming) {
		file->renaming = false;
		file->role = FILE_ROLE_UNKNOWN; /* the next path decides the role */
		return;
	}
	if (file) {
		remove_file(cause, (uint32_t)(file - cause->files));
	}
	file_views_forget_file(&cause->views, key);
}

/* ---- views of files ---- */

void disk_cause_view_mapped(struct disk_cause *cause, uint64_t key, uint32_t process_id,
			    uint64_t address, uint32_t process)
{
	file_views_add(&cause->views, key, process_id, address, process);
}

/* Remembers the process whose view ended, because its pages are often written after that. */
static void remember_mapper(struct disk_cause *cause, uint64_t key, uint32_t process)
{
	struct cause_file *file = use_file(cause, key);

	if (file) {
		file->mapper = process;
	}
}

void disk_cause_view_unmapped(struct disk_cause *cause, uint32_t process_id, uint64_t address)
{
	uint32_t process;
	uint64_t key = file_views_remove(&cause->views, process_id, address, &process);

	if (key != 0) {
		remember_mapper(cause, key, process);
	}
}

void disk_cause_process_ended(struct disk_cause *cause, uint32_t process_id)
{
	uint32_t process;
	uint64_t key;

	while ((key = file_views_remove_one(&cause->views, process_id, &process)) != 0) {
		remember_mapper(cause, key, process);
	}
}

/* ---- transfers of disks ---- */

static size_t one_part(struct cause_part *parts, uint32_t process, enum cause_way way,
		       uint64_t bytes)
{
	parts[0] = (struct cause_part){ .process = process, .way = way, .bytes = bytes };
	return 1;
}

/* Splits bytes by the shares of the file, so that the parts add up to `bytes`: each part ends
 * where the sum of the shares so far ends. */
static size_t split(const struct cause_file *file, uint64_t bytes, struct cause_part *parts)
{
	uint64_t total = 0, before = 0, pages = 0;

	for (unsigned i = 0; i < file->share_count; i++) {
		total += file->shares[i].pages;
	}
	for (unsigned i = 0; i < file->share_count; i++) {
		uint64_t until;

		pages += file->shares[i].pages;
		until = bytes * pages / total;
		parts[i] = (struct cause_part){ .process = file->shares[i].process,
						.way = file->shares[i].way,
						.bytes = until - before };
		before = until;
	}
	return file->share_count;
}

size_t disk_cause_write(struct disk_cause *cause, const struct cause_request *transfer,
			struct cause_part parts[CAUSE_RUNS])
{
	struct cause_file *file = use_file(cause, transfer->file);
	bool paging = (transfer->flags & IO_PAGING) != 0;
	struct cause_file guess;

	if (!paging && !transfer->for_others) {
		return one_part(parts, transfer->process, CAUSE_DIRECT, transfer->bytes);
	}
	if (!file) {
		return one_part(parts, transfer->process, CAUSE_UNKNOWN, transfer->bytes);
	}
	if (!paging && file->direct_writer) {
		return one_part(parts, file->direct_writer, CAUSE_DIRECT, transfer->bytes);
	}
	if (file->share_count > 0) {
		return split(file, transfer->bytes, parts);
	}
	/* No paging write preceded this transfer: it was lost, or comes late. */
	role_of(cause, file);
	guess = *file;
	add_run_shares(&guess, 0, UINT64_MAX);
	guess_shares(cause, &guess, transfer);
	return split(&guess, transfer->bytes, parts);
}

size_t disk_cause_read(struct disk_cause *cause, const struct cause_request *transfer,
		       struct cause_part parts[CAUSE_RUNS])
{
	struct cause_file *file = use_file(cause, transfer->file);
	bool paging = (transfer->flags & IO_PAGING) != 0;
	enum file_role role = file ? role_of(cause, file) : FILE_ROLE_UNKNOWN;
	uint32_t process = transfer->process;
	enum cause_way way = CAUSE_UNKNOWN;

	if (!paging && !transfer->for_others) {
		way = CAUSE_DIRECT;
	} else if (!file) {
		way = CAUSE_UNKNOWN;
	} else if (role == FILE_PAGE_FILE) {
		way = CAUSE_MAPPED;
	} else if (file->reader && (transfer->for_others || file->reader == process)) {
		process = file->reader;
		way = CAUSE_CACHED;
	} else if (role == FILE_METADATA) {
		way = CAUSE_METADATA;
	} else if (!transfer->for_others) {
		file->mapper = process;
		way = CAUSE_MAPPED;
	} else if (file->mapper) {
		process = file->mapper;
		way = CAUSE_MAPPED;
	}
	return one_part(parts, process, way, transfer->bytes);
}

/* ---- the families ---- */

#define LABELS                                                                      \
	.type = FAMILY_COUNTER, .labels = { "process", "provider", "disk", "how" }, \
	.label_count = 4, .dynamic_labels = 1U << 0 | 1U << 2

const struct family_options disk_cause_families[CAUSE_FAMILIES] = {
	{ .name = "etw_disk_caused_read_bytes_total",
	  .help = "Bytes read from physical disks, by the process they were read for, and by how. Read-ahead counts for the process that reads the file.",
	  LABELS },
	{ .name = "etw_disk_caused_written_bytes_total",
	  .help = "Bytes written to physical disks, by the process that caused them, and by how. Delayed writes count for the process that wrote the data.",
	  LABELS },
};

bool disk_cause_count_in(struct disk_cause *cause, struct registry *registry, struct shard *shard,
			 struct etw_error *err)
{
	static const char *const ways[CAUSE_WAYS] = { "direct", "cached", "mapped", "metadata",
						      "unknown" };

	cause->registry = registry;
	cause->shard = shard;
	cause->provider = intern_own(registry_strings(registry), "Windows Kernel");
	for (unsigned i = 0; i < CAUSE_WAYS; i++) {
		cause->ways[i] = intern_own(registry_strings(registry), ways[i]);
	}
	for (unsigned i = 0; i < CAUSE_FAMILIES; i++) {
		cause->families[i] = registry_family(registry, &disk_cause_families[i], err);
		if (!cause->families[i]) {
			return false;
		}
	}
	return true;
}

static uint32_t disk_label(struct disk_cause *cause, uint32_t disk)
{
	char number[16];
	uint32_t label;

	if (disk < CAUSE_DISKS && cause->disks[disk] != INTERN_NONE) {
		return cause->disks[disk];
	}
	snprintf(number, sizeof number, "%u", (unsigned)disk);
	label = intern_string(registry_strings(cause->registry), number);
	if (disk < CAUSE_DISKS && label != INTERN_FULL) {
		cause->disks[disk] = label;
	}
	return label;
}

void disk_cause_add(struct disk_cause *cause, bool written, uint32_t disk,
		    const struct cause_part *parts, size_t count)
{
	uint32_t label = disk_label(cause, disk);

	for (size_t i = 0; i < count; i++) {
		const uint32_t ids[] = { parts[i].process, cause->provider, label,
					 cause->ways[parts[i].way] };

		family_add(cause->families[written], cause->shard, ids, parts[i].bytes);
	}
}
