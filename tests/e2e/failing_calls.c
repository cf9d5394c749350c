/* SPDX-License-Identifier: MIT */
/*
 * A library for LD_PRELOAD that lets one call of a program fail.
 *
 * It stands in front of the functions of the C library, and of OpenSSL's random numbers, that can
 * fail for a reason outside the program: memory, files, sockets, threads. A test and the library
 * share a page of memory, struct control, in the file that FAILING_CALLS names. While the test has
 * armed it, the library notes every call site that is reached, and how often; and the call that the
 * test has chosen fails as its manual page says it may. So the test first runs a command to learn
 * its call sites, and then runs it again for each of them.
 *
 * A call site is a stack: the place that called the function, and the innermost frames of the
 * program itself, because most allocations of the program go through a few functions of its own.
 * Frames inside other libraries do not count, besides the first. Addresses are noted relative to
 * the start of their file, so that they are the same in each run. The number of a call would not
 * be: threads take turns.
 *
 * Calls inside the C library do not come here, except for allocations, which it makes by their
 * public names. A stream of stdio is therefore made to fail here as a whole: the error is set in
 * it, as a failing write of its buffer would do.
 *
 * The library also notes which call site allocated each block of memory that is not yet freed. The
 * test compares what is left at the end of a run in which a call failed with what is left at the
 * end of one in which none did: what is more was leaked.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <unwind.h>

/* ---- what the test shares ---- */

/* How the chosen call fails. tests/e2e/failing_calls.py has the same numbers. */
enum action {
	ACTION_ERROR,       /* with an error that fits the function */
	ACTION_INTERRUPTED, /* with EINTR: it is to be repeated */
	ACTION_SHORT,       /* reads and writes: half of the bytes */
	ACTION_END,         /* reads: as if the file ended here */
	/* Reads: they succeed. The file that FAILING_CALLS_FILE names is changed before. */
	ACTION_SHRINK,    /* it is cut in half */
	ACTION_EMPTY,     /* it has no bytes any more */
	ACTION_GROW,      /* it is followed by its own first bytes */
	ACTION_OVERWRITE, /* its second half becomes zeros */
	ACTION_VANISH,    /* it is removed */
	ACTION_COUNT,
};

/* What it may do besides ACTION_ERROR, a bit each. */
enum {
	CAN_ERROR = 1 << ACTION_ERROR,
	CAN_INTERRUPT = CAN_ERROR | 1 << ACTION_INTERRUPTED,
	CAN_WRITE = CAN_INTERRUPT | 1 << ACTION_SHORT,
	FILE_CHANGES = 1 << ACTION_SHRINK | 1 << ACTION_EMPTY | 1 << ACTION_GROW |
		       1 << ACTION_OVERWRITE | 1 << ACTION_VANISH,
	CAN_READ = CAN_WRITE | 1 << ACTION_END | FILE_CHANGES,
};

enum { FRAMES = 4, SITES = 16384, NAME_SIZE = 24 };

/* The same layout is in tests/e2e/failing_calls.py. */
struct site {
	_Atomic uint64_t hash;  /* 0: free */
	_Atomic uint32_t calls; /* while armed */
	uint32_t actions;
	_Atomic uint32_t blocks; /* of memory that it allocated and that are not freed */
	uint32_t unused;
	uint64_t frames[FRAMES]; /* the first: the caller; the others: frames of the program */
	char function[NAME_SIZE];
};

struct control {
	_Atomic uint32_t armed;
	uint32_t action;
	_Atomic uint64_t target;  /* the hash of the site that fails; 0: none */
	uint32_t occurrence;      /* which of its calls, from 1 */
	_Atomic uint32_t failed;  /* how many calls have failed */
	_Atomic uint32_t dropped; /* calls of sites for which a table had no place */
	uint32_t unused;
	struct site sites[SITES];
};

static struct control *control; /* NULL: nothing fails */
static uintptr_t program_start, program_end, program_base;
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* ---- the function behind ours ---- */

static void *behind(_Atomic(void *) *kept, const char *name)
{
	void *function = atomic_load(kept);

	if (!function) {
		bool before = inside;

		inside = true;
		function = dlsym(RTLD_NEXT, name);
		inside = before;
		atomic_store(kept, function);
	}
	return function;
}

/* Calls the C library's function of this name. */
#define REAL(name)                                       \
	({                                               \
		static _Atomic(void *) kept;             \
		(__typeof__(&name))behind(&kept, #name); \
	})

/* ---- the program in memory ---- */

static int note_program(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	program_base = info->dlpi_addr;
	program_start = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			program_start = start < program_start ? start : program_start;
			program_end = start + info->dlpi_phdr[i].p_memsz;
		}
	}
	return 1; /* the first one is the program */
}

__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("FAILING_CALLS");
	int fd = path ? REAL(open)(path, O_RDWR | O_CLOEXEC) : -1;
	void *shared = MAP_FAILED;

	if (fd >= 0) {
		dl_iterate_phdr(note_program, NULL);
		shared = REAL(mmap)(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
				    0);
		REAL(close)(fd);
	}
	if (shared != MAP_FAILED) {
		control = shared;
	}
}

/* From here on the calls of this thread are not noted and do not fail: it is one of the test. */
void failing_calls_spare_thread(void)
{
	inside = true;
}

/* ---- call sites ---- */

struct stack {
	uint64_t frames[FRAMES];
	unsigned count, seen;
};

static bool of_program(uintptr_t address)
{
	return address >= program_start && address < program_end;
}

/* An address of another library: its place there, and its name, so that two are not taken for one.
 */
static uint64_t place_in_library(uintptr_t address)
{
	struct dl_find_object found;
	uint64_t place = address;

	if (_dl_find_object((void *)address, &found) == 0) {
		const char *name = found.dlfo_link_map->l_name;

		place = address - (uintptr_t)found.dlfo_link_map->l_addr;
		while (*name) {
			place = place * 31 + (unsigned char)*name++;
		}
	}
	return place | UINT64_C(1) << 63;
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *argument)
{
	struct stack *stack = argument;
	uintptr_t address = _Unwind_GetIP(context);

	stack->seen++;
	if (stack->seen <= 2 || address == 0) { /* our own frames: find_site(), and the function */
		return address == 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
	}
	if (of_program(address)) {
		stack->frames[stack->count++] = address - program_base;
	} else if (stack->count == 0) {
		stack->frames[stack->count++] = place_in_library(address);
	}
	return stack->count == FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static uint64_t hash_of(const char *function, const struct stack *stack)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *function; function++) {
		hash = (hash ^ (unsigned char)*function) * UINT64_C(1099511628211);
	}
	for (unsigned i = 0; i < stack->count; i++) {
		hash = (hash ^ stack->frames[i]) * UINT64_C(1099511628211);
		hash ^= hash >> 29;
	}
	return hash != 0 ? hash : 1;
}

/* The entry of a site, new or old; NULL if the table is full. */
static struct site *entry_of(uint64_t hash)
{
	for (unsigned i = 0; i < SITES; i++) {
		struct site *site = &control->sites[(hash + i) % SITES];
		uint64_t found = atomic_load(&site->hash);

		if (found == 0 && atomic_compare_exchange_strong(&site->hash, &found, hash)) {
			return site;
		}
		if (found == hash) {
			return site;
		}
	}
	return NULL;
}

static void write_into(int fd, off64_t at, off64_t size, bool zeros)
{
	char bytes[4096] = { 0 };

	for (off64_t done = 0; done < size; done += (off64_t)sizeof bytes) {
		size_t more = size - done < (off64_t)sizeof bytes ? (size_t)(size - done) :
								    sizeof bytes;

		if (!zeros) {
			(void)!REAL(pread64)(fd, bytes, more, done);
		}
		(void)!REAL(pwrite64)(fd, bytes, more, at + done);
	}
}

static _Thread_local int read_fd __attribute__((tls_model("initial-exec"))); /* by the call */

/* Does to the file what the action says, if it is the one that the call reads. */
static bool change_file(void)
{
	const char *path = getenv("FAILING_CALLS_FILE");
	int fd = path ? REAL(open64)(path, O_RDWR | O_CLOEXEC) : -1;
	struct stat64 facts, read;

	if (fd < 0) {
		return false;
	}
	if (REAL(fstat64)(fd, &facts) != 0 || REAL(fstat64)(read_fd, &read) != 0 ||
	    facts.st_dev != read.st_dev || facts.st_ino != read.st_ino) {
		REAL(close)(fd);
		return false;
	}
	switch (control->action) {
	case ACTION_SHRINK:
		(void)!ftruncate64(fd, facts.st_size / 2);
		break;
	case ACTION_EMPTY:
		(void)!ftruncate64(fd, 0);
		break;
	case ACTION_GROW:
		write_into(fd, facts.st_size, facts.st_size, false);
		break;
	case ACTION_OVERWRITE:
		write_into(fd, facts.st_size / 2, facts.st_size - facts.st_size / 2, true);
		break;
	default:
		REAL(unlink)(path);
	}
	REAL(close)(fd);
	return true;
}

/* The entry of the place that called us; NULL: it is not noted. */
__attribute__((noinline)) static struct site *find_site(const char *function, unsigned possible)
{
	struct stack stack = { .count = 0 };
	struct site *site;
	uint64_t hash;

	inside = true;
	_Unwind_Backtrace(add_frame, &stack);
	hash = hash_of(function, &stack);
	site = entry_of(hash);
	inside = false;
	if (!site) {
		atomic_fetch_add(&control->dropped, 1);
	} else if (site->actions == 0) {
		memcpy(site->frames, stack.frames, sizeof site->frames);
		strncpy(site->function, function, NAME_SIZE - 1);
		site->actions = possible;
	}
	return site;
}

/* Counts the call. Whether it is the one that is to fail; it must not, if it cannot. */
static bool is_to_fail(struct site *site)
{
	uint32_t call = atomic_fetch_add(&site->calls, 1) + 1;

	if (atomic_load(&control->target) != atomic_load(&site->hash) ||
	    control->occurrence != call || !(site->actions & 1U << control->action)) {
		return false;
	}
	if (1U << control->action & FILE_CHANGES) {
		atomic_fetch_add(&control->failed, change_file());
		return false;
	}
	atomic_fetch_add(&control->failed, 1);
	return true;
}

/* Notes the call. Whether it is the one that is to fail. */
__attribute__((always_inline)) static inline bool at_site(const char *function, unsigned possible)
{
	struct site *site;

	if (!control || inside || !atomic_load(&control->armed)) {
		return false;
	}
	site = find_site(function, possible);
	return site && is_to_fail(site);
}

/* Sets errno for a call that fails. */
static int because(int error)
{
	errno = control->action == ACTION_INTERRUPTED ? EINTR : error;
	return -1;
}

/* Returns what a read or write that is to fail returns, or sets how many bytes it may take. */
static bool shortened(size_t *size, ssize_t *result, int error)
{
	*result = -1;
	if (control->action == ACTION_END) {
		*result = 0;
	} else if (control->action == ACTION_SHORT) {
		*size = (*size + 1) / 2;
		return true;
	} else {
		because(error);
	}
	return false;
}

/* ---- memory ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void __libc_free(void *block);

/* The blocks that are not freed, by address: open addressing. */
enum { BLOCKS = 1 << 20, BLOCKS_MOST = BLOCKS / 4 * 3 };

static struct block {
	uintptr_t address; /* 0: free */
	struct site *site;
} blocks[BLOCKS];

static unsigned block_count; /* guarded, as the blocks, by the flag */
static atomic_flag blocks_busy = ATOMIC_FLAG_INIT;

static unsigned place_of(uintptr_t address)
{
	return (unsigned)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 44) % BLOCKS;
}

static void lock_blocks(void)
{
	while (atomic_flag_test_and_set_explicit(&blocks_busy, memory_order_acquire)) {
	}
}

static void unlock_blocks(void)
{
	atomic_flag_clear_explicit(&blocks_busy, memory_order_release);
}

static void note_block(const void *block, struct site *site)
{
	unsigned at = place_of((uintptr_t)block);

	if (!block || !site) {
		return;
	}
	lock_blocks();
	if (block_count < BLOCKS_MOST) {
		while (blocks[at].address != 0) {
			at = (at + 1) % BLOCKS;
		}
		blocks[at] = (struct block){ (uintptr_t)block, site };
		block_count++;
		atomic_fetch_add(&site->blocks, 1);
	} else {
		atomic_fetch_add(&control->dropped, 1);
	}
	unlock_blocks();
}

/* Moves what follows a place that became free, so that it is found. */
static void close_gap(unsigned gap)
{
	for (unsigned at = (gap + 1) % BLOCKS; blocks[at].address != 0; at = (at + 1) % BLOCKS) {
		unsigned wanted = place_of(blocks[at].address);

		if ((at - wanted) % BLOCKS >= (at - gap) % BLOCKS) {
			blocks[gap] = blocks[at];
			gap = at;
		}
	}
	blocks[gap].address = 0;
}

/* The site that allocated it; NULL: it was not noted. */
static struct site *forget_block(const void *block)
{
	unsigned at = place_of((uintptr_t)block);
	struct site *site = NULL;

	if (!control || !block) {
		return NULL;
	}
	lock_blocks();
	while (blocks[at].address != 0 && blocks[at].address != (uintptr_t)block) {
		at = (at + 1) % BLOCKS;
	}
	if (blocks[at].address != 0) {
		site = blocks[at].site;
		atomic_fetch_sub(&site->blocks, 1);
		block_count--;
		close_gap(at);
	}
	unlock_blocks();
	return site;
}

/* Notes a call that allocates. False: it is to fail. */
__attribute__((always_inline)) static inline bool may_allocate(const char *function,
							       struct site **site)
{
	*site = NULL;
	if (!control || inside) {
		return true;
	}
	*site = find_site(function, CAN_ERROR);
	if (*site && atomic_load(&control->armed) && is_to_fail(*site)) {
		because(ENOMEM);
		return false;
	}
	return true;
}

void *malloc(size_t size)
{
	struct site *site;
	void *block = may_allocate("malloc", &site) ? __libc_malloc(size) : NULL;

	note_block(block, site);
	return block;
}

void *calloc(size_t count, size_t size)
{
	struct site *site;
	void *block = may_allocate("calloc", &site) ? __libc_calloc(count, size) : NULL;

	note_block(block, site);
	return block;
}

void *realloc(void *old, size_t size)
{
	struct site *site, *former;
	void *block;

	if (!may_allocate("realloc", &site)) {
		return NULL;
	}
	former = forget_block(old); /* before another thread can be given its address */
	block = __libc_realloc(old, size);
	note_block(block, site);
	if (!block && size > 0) {
		note_block(old, former);
	}
	return block;
}

void free(void *block)
{
	forget_block(block);
	__libc_free(block);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	struct site *site;
	void *made = may_allocate("posix_memalign", &site) ? __libc_memalign(alignment, size) :
							     NULL;

	if (!made) {
		return ENOMEM;
	}
	note_block(made, site);
	*block = made;
	return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	struct site *site;
	void *block = may_allocate("aligned_alloc", &site) ? __libc_memalign(alignment, size) :
							     NULL;

	note_block(block, site);
	return block;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	return at_site("mmap", CAN_ERROR) ?
		       (because(ENOMEM), MAP_FAILED) :
		       REAL(mmap)(address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
	return at_site("mmap", CAN_ERROR) ?
		       (because(ENOMEM), MAP_FAILED) :
		       REAL(mmap64)(address, size, protection, flags, fd, offset);
}

/* ---- files ---- */

/* A function whose failure is a value that it returns. */
#define FAILING(type, name, possible, failure, parameters, arguments)               \
	type name parameters                                                        \
	{                                                                           \
		return at_site(#name, possible) ? (failure) : REAL(name) arguments; \
	}

/* The mode, which is there only if a file may be made. */
#define OPENING(name)                                                             \
	int name(const char *path, int flags, ...)                                \
	{                                                                         \
		va_list rest;                                                     \
		mode_t mode;                                                      \
                                                                                  \
		va_start(rest, flags);                                            \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;  \
		va_end(rest);                                                     \
		return at_site(#name, CAN_ERROR) ? because(EMFILE) :              \
						   REAL(name)(path, flags, mode); \
	}

OPENING(open)
OPENING(open64)

/* As OPENING(), in a folder. */
#define OPENING_AT(name)                                                                  \
	int name(int folder, const char *path, int flags, ...)                            \
	{                                                                                 \
		va_list rest;                                                             \
		mode_t mode;                                                              \
                                                                                          \
		va_start(rest, flags);                                                    \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;          \
		va_end(rest);                                                             \
		return at_site(#name, CAN_ERROR) ? because(EMFILE) :                      \
						   REAL(name)(folder, path, flags, mode); \
	}

OPENING_AT(openat)
OPENING_AT(openat64)
FAILING(FILE *, fopen, CAN_ERROR, (because(EMFILE), NULL), (const char *path, const char *mode),
	(path, mode))
FAILING(FILE *, fopen64, CAN_ERROR, (because(EMFILE), NULL), (const char *path, const char *mode),
	(path, mode))
FAILING(DIR *, opendir, CAN_ERROR, (because(EMFILE), NULL), (const char *path), (path))
FAILING(int, stat, CAN_ERROR, because(EIO), (const char *path, struct stat *facts), (path, facts))
FAILING(int, fstat, CAN_ERROR, because(EIO), (int fd, struct stat *facts), (fd, facts))
FAILING(int, stat64, CAN_ERROR, because(EIO), (const char *path, struct stat64 *facts),
	(path, facts))
FAILING(int, fstat64, CAN_ERROR, because(EIO), (int fd, struct stat64 *facts), (fd, facts))
FAILING(int, statvfs64, CAN_ERROR, because(EIO), (const char *path, struct statvfs64 *facts),
	(path, facts))
FAILING(int, linkat, CAN_ERROR, because(EACCES),
	(int from_folder, const char *from, int to_folder, const char *to, int flags),
	(from_folder, from, to_folder, to, flags))
FAILING(int, renameat, CAN_ERROR, because(EACCES),
	(int from_folder, const char *from, int to_folder, const char *to),
	(from_folder, from, to_folder, to))
FAILING(int, fsync, CAN_ERROR, because(EIO), (int fd), (fd))
FAILING(int, unlinkat, CAN_ERROR, because(EACCES), (int folder, const char *path, int flags),
	(folder, path, flags))
FAILING(int, unlink, CAN_ERROR, because(EACCES), (const char *path), (path))
FAILING(int, mkdir, CAN_ERROR, because(ENOSPC), (const char *path, mode_t mode), (path, mode))
FAILING(char *, getcwd, CAN_ERROR, (because(ENOENT), NULL), (char *path, size_t size), (path, size))
FAILING(int, pipe2, CAN_ERROR, because(EMFILE), (int *ends, int flags), (ends, flags))

int fcntl64(int fd, int command, ...)
{
	va_list rest;
	void *argument;

	va_start(rest, command);
	argument = va_arg(rest, void *); /* an int comes in the same way: System V ABI, AMD64 */
	va_end(rest);
	return at_site("fcntl64", CAN_ERROR) ? because(EMFILE) :
					       REAL(fcntl64)(fd, command, argument);
}

struct dirent64 *readdir64(DIR *folder)
{
	return at_site("readdir64", CAN_ERROR) ? (because(EIO), NULL) : REAL(readdir64)(folder);
}

/* The descriptor is free afterwards, as on Linux: close(2). */
int close(int fd)
{
	bool fails = at_site("close", CAN_ERROR);
	int result = REAL(close)(fd);

	return fails ? because(EIO) : result;
}

#define READING(name, error, parameters, arguments)                                  \
	ssize_t name parameters                                                      \
	{                                                                            \
		ssize_t result;                                                      \
                                                                                     \
		read_fd = fd;                                                        \
		if (at_site(#name, CAN_READ) && !shortened(&size, &result, error)) { \
			return result;                                               \
		}                                                                    \
		return REAL(name) arguments;                                         \
	}

READING(read, EIO, (int fd, void *bytes, size_t size), (fd, bytes, size))
READING(pread, EIO, (int fd, void *bytes, size_t size, off_t at), (fd, bytes, size, at))
READING(pread64, EIO, (int fd, void *bytes, size_t size, off64_t at), (fd, bytes, size, at))
READING(recv, ECONNRESET, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))

#define WRITING(name, error, parameters, arguments)                                   \
	ssize_t name parameters                                                       \
	{                                                                             \
		ssize_t result;                                                       \
                                                                                      \
		if (at_site(#name, CAN_WRITE) && !shortened(&size, &result, error)) { \
			return result;                                                \
		}                                                                     \
		return REAL(name) arguments;                                          \
	}

WRITING(write, ENOSPC, (int fd, const void *bytes, size_t size), (fd, bytes, size))
WRITING(pwrite, ENOSPC, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at))
WRITING(pwrite64, ENOSPC, (int fd, const void *bytes, size_t size, off64_t at),
	(fd, bytes, size, at))
WRITING(send, ECONNRESET, (int fd, const void *bytes, size_t size, int flags),
	(fd, bytes, size, flags))

/* ---- streams ---- */

static void set_error(FILE *stream, int error)
{
	enum { ERROR_SEEN = 0x20 }; /* _IO_ERR_SEEN, glibc libio/libio.h */

	stream->_flags |= ERROR_SEEN;
	because(error);
}

size_t fread(void *bytes, size_t size, size_t count, FILE *stream)
{
	read_fd = fileno(stream);
	if (at_site("fread", CAN_ERROR | FILE_CHANGES)) {
		set_error(stream, EIO);
		return 0;
	}
	return REAL(fread)(bytes, size, count, stream);
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *stream)
{
	if (at_site("fwrite", CAN_ERROR)) {
		set_error(stream, ENOSPC);
		return 0;
	}
	return REAL(fwrite)(bytes, size, count, stream);
}

int fflush(FILE *stream)
{
	if (at_site("fflush", CAN_ERROR)) {
		if (stream) {
			set_error(stream, ENOSPC);
		}
		return EOF;
	}
	return REAL(fflush)(stream);
}

int fclose(FILE *stream)
{
	bool fails = at_site("fclose", CAN_ERROR);
	int result = REAL(fclose)(stream);

	return fails ? because(ENOSPC) : result;
}

FAILING(int, fseek, CAN_ERROR, because(EIO), (FILE * stream, long offset, int whence),
	(stream, offset, whence))

/* ---- sockets ---- */

FAILING(int, socket, CAN_ERROR, because(EMFILE), (int domain, int type, int protocol),
	(domain, type, protocol))
FAILING(int, bind, CAN_ERROR, because(EADDRINUSE),
	(int fd, const struct sockaddr *address, socklen_t size), (fd, address, size))
FAILING(int, listen, CAN_ERROR, because(EADDRINUSE), (int fd, int most), (fd, most))
FAILING(int, accept, CAN_INTERRUPT, because(EMFILE),
	(int fd, struct sockaddr *address, socklen_t *size), (fd, address, size))
FAILING(int, accept4, CAN_INTERRUPT, because(EMFILE),
	(int fd, struct sockaddr *address, socklen_t *size, int flags), (fd, address, size, flags))
FAILING(int, poll, CAN_INTERRUPT, because(ENOMEM), (struct pollfd * fds, nfds_t count, int wait_ms),
	(fds, count, wait_ms))
FAILING(int, getsockname, CAN_ERROR, because(ENOBUFS),
	(int fd, struct sockaddr *address, socklen_t *size), (fd, address, size))
FAILING(int, setsockopt, CAN_ERROR, because(ENOMEM),
	(int fd, int level, int name, const void *value, socklen_t size),
	(fd, level, name, value, size))
FAILING(int, getsockopt, CAN_ERROR, because(ENOBUFS),
	(int fd, int level, int name, void *value, socklen_t *size), (fd, level, name, value, size))
FAILING(int, shutdown, CAN_ERROR, because(ENOTCONN), (int fd, int how), (fd, how))
FAILING(ssize_t, sendto, CAN_ERROR, because(ECONNREFUSED),
	(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *to,
	 socklen_t to_size),
	(fd, bytes, size, flags, to, to_size))
FAILING(int, getaddrinfo, CAN_ERROR, EAI_MEMORY,
	(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found),
	(host, port, hints, found))
FAILING(int, getnameinfo, CAN_ERROR, EAI_MEMORY,
	(const struct sockaddr *address, socklen_t size, char *host, socklen_t host_size,
	 char *port, socklen_t port_size, int flags),
	(address, size, host, host_size, port, port_size, flags))

/* ---- threads ---- */

/*
 * Not here: pthread_mutex_init(), pthread_cond_init() and the like, which always return 0 on Linux
 * (pthread_mutex_init(3), pthread_cond_init(3)), and locks, which fail only after mistakes.
 */
FAILING(int, pthread_create, CAN_ERROR, EAGAIN,
	(pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context),
	(thread, attributes, run, context))
FAILING(int, pthread_key_create, CAN_ERROR, EAGAIN, (pthread_key_t * key, void (*end)(void *)),
	(key, end))

/* ---- OpenSSL ---- */

int RAND_bytes(unsigned char *bytes, int size);
FAILING(int, RAND_bytes, CAN_ERROR, 0, (unsigned char *bytes, int size), (bytes, size))
