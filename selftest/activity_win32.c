/* SPDX-License-Identifier: MIT */
/*
 * Performs the known activity of the self-test: a table of steps, a tree of processes, and the
 * folder with all files.
 *
 * Every step counts what Windows confirmed, in the order of the table. A step that must succeed
 * ends the activity with its reason; for any other step the reason is kept, its rows are skipped,
 * and the activity continues. The file that was opened before the session comes late, because the
 * exporter learns names of open files shortly after its start; so does the file on the new volume,
 * because the exporter looks for new volumes only now and then.
 *
 * The tree has branches that run at the same time. Each branch is this program again; it writes a
 * file and starts its leaves one after another. Leaves are this program too; each writes a file and
 * ends. The value of --child says what a child does: "BRANCH-NUMBER,LEAVES,FOLDER". Thus hundreds
 * of processes start and end within seconds, and each must be known by its name when its only file
 * is written.
 */
#include "selftest/activity_win32.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/os.h"
#include "base/os_win32.h"

enum {
	BRANCHES = 2,
	LEAVES = 99,
	BRANCHES_MOST = 16,
	LEAVES_MOST = 999,
	LEAF_BYTES = 1000,
	LEAF_WAIT_MS = 60000,
	TREE_WAIT_MS = 90000, /* more than LEAF_WAIT_MS, so that a branch itself reports a leaf that
				 hangs */
	TREE_LOOK_MS = 250,
	VOLUME_MS = 15000,
	LINE = 1024,
};

char *activity_process(struct etw_error *err)
{
	wchar_t *wide = wide_program_path();
	char *path = wide ? narrow_from(wide) : NULL;
	char *process = NULL;

	if (path) {
		const char *name = os_path_name(path);
		size_t size = strlen(name);

		size -= text_ends_nocase(name, size, ".exe", 4) ? 4 : 0;
		process = text_duplicate(name, size);
	}
	if (!process) {
		error_no_memory(err, "the self-test");
	}
	free(path);
	free(wide);
	return process;
}

/* ---- processes ---- */

/* Starts this program as a child of the tree. The caller waits with activity_wait(). */
static HANDLE start_child(const wchar_t *folder, unsigned branch, unsigned number, unsigned leaves,
			  HANDLE job, struct etw_error *err)
{
	wchar_t *program = wide_program_path();
	wchar_t arguments[LINE];
	int size = _snwprintf(arguments, LINE, L"\"--child=%u-%u,%u,%ls\"", branch, number, leaves,
			      folder);
	HANDLE child = NULL;

	if (!program) {
		error_no_memory(err, "the self-test");
	} else if (size <= 0 || size >= LINE) {
		error_set(err, ETW_ERROR_SYSTEM, "the path of the temporary folder is too long");
	} else {
		child = activity_start(program, arguments, job, err);
	}
	free(program);
	return child;
}

/* Makes a job object whose processes end when it is closed, so that no process of a tree remains if
 * one hangs or if this process ends. Returns NULL on failure; then the tree runs without a job. */
static HANDLE make_job(void)
{
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
		.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	};
	HANDLE job = CreateJobObjectW(NULL, NULL);

	if (job) {
		SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
					sizeof limits);
	}
	return job;
}

static unsigned count_tree_files(const struct activity_work *work)
{
	wchar_t pattern[MAX_PATH];
	WIN32_FIND_DATAW found;
	unsigned count = 0;
	HANDLE search;

	_snwprintf(pattern, MAX_PATH, L"%ls\\tree-*.dat", work->folder);
	search = FindFirstFileW(pattern, &found);
	if (search == INVALID_HANDLE_VALUE) {
		return 0;
	}
	do {
		count++;
	} while (FindNextFileW(search, &found));
	FindClose(search);
	return count;
}

/* Waits until a branch has ended, or until no process of the tree has written its file for
 * options.tree_ms. There is no limit for the whole tree, because its time depends on the machine
 * and its load. */
static void await_branch(const struct activity_work *work, HANDLE branch)
{
	unsigned files = count_tree_files(work);
	ULONGLONG since = GetTickCount64();

	while (WaitForSingleObject(branch, TREE_LOOK_MS) == WAIT_TIMEOUT &&
	       GetTickCount64() - since < work->options.tree_ms) {
		unsigned now = count_tree_files(work);

		if (now != files) {
			files = now;
			since = GetTickCount64();
		}
	}
}

static bool run_tree(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	unsigned branches = work->options.branches;
	unsigned processes = branches * (1 + work->options.leaves);
	HANDLE children[BRANCHES_MOST];
	HANDLE job = make_job();
	unsigned started = 0;
	bool good;

	while (started < branches &&
	       (children[started] = start_child(work->folder, started, 0, work->options.leaves, job,
						err)) != NULL) {
		started++;
	}
	good = started == branches;
	for (unsigned i = 0; i < started; i++) {
		struct etw_error why = { 0 };

		await_branch(work, children[i]);
		if (!activity_wait(children[i], 0, &why) && good) {
			good = error_set(err, why.code, "%s", why.text);
		}
	}
	if (job) {
		CloseHandle(job);
	}
	if (good) {
		done->processes += processes;
		done->written_bytes[ACTIVITY_TREE] += (uint64_t)processes * LEAF_BYTES;
	}
	return good;
}

/* ---- a child ---- */

struct tree_child {
	unsigned branch, number;
	unsigned leaves;
	const char *folder; /* follows the numbers */
};

/* Parses a number that `end` follows, and moves *at past both. */
static bool parse_number(const char **at, char end, unsigned most, unsigned *number)
{
	char *after;
	unsigned long value = strtoul(*at, &after, 10);

	if (after == *at || **at < '0' || **at > '9' || *after != end || value > most) {
		return false;
	}
	*number = (unsigned)value;
	*at = after + 1;
	return true;
}

static bool parse_child(const char *work, struct tree_child *child)
{
	if (!parse_number(&work, '-', BRANCHES_MOST, &child->branch) ||
	    !parse_number(&work, ',', LEAVES_MOST, &child->number) ||
	    !parse_number(&work, ',', LEAVES_MOST, &child->leaves)) {
		return false;
	}
	child->folder = work;
	return work[0] != '\0';
}

static bool write_tree_file(const wchar_t *folder, const struct tree_child *child,
			    struct etw_error *err)
{
	static const char bytes[LEAF_BYTES];
	wchar_t path[MAX_PATH];
	int size = _snwprintf(path, MAX_PATH, L"%ls\\tree-%u-%u.dat", folder, child->branch,
			      child->number);
	HANDLE file = size > 0 && size < MAX_PATH ?
			      CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_NEW,
					  FILE_ATTRIBUTE_TEMPORARY, NULL) :
			      INVALID_HANDLE_VALUE;
	DWORD written = 0;

	if (file == INVALID_HANDLE_VALUE) {
		return error_set_last(err, "a file of the self-test cannot be created");
	}
	if (!WriteFile(file, bytes, sizeof bytes, &written, NULL) || written != sizeof bytes) {
		error_set_last(err, "a file of the self-test cannot be written");
	}
	CloseHandle(file);
	return written == sizeof bytes;
}

bool activity_child(const char *work, struct etw_error *err)
{
	struct tree_child child;
	wchar_t *folder;
	bool good;

	if (!parse_child(work, &child)) {
		return error_set(err, ETW_ERROR_CONFIG, "--child is for the self-test itself");
	}
	folder = wide_from(child.folder);
	if (!folder) {
		return error_no_memory(err, "the self-test");
	}
	good = write_tree_file(folder, &child, err);
	for (unsigned i = 1; good && i <= child.leaves; i++) {
		HANDLE leaf = start_child(folder, child.branch, i, 0, NULL, err);

		good = leaf && activity_wait(leaf, LEAF_WAIT_MS, err);
	}
	free(folder);
	return good;
}

/* ---- the folder ---- */

static bool make_folder(struct activity_work *work, struct etw_error *err)
{
	wchar_t temporary[MAX_PATH + 1];
	uint64_t number;
	int size;

	if (GetTempPathW(MAX_PATH + 1, temporary) == 0) {
		return error_set_last(err, "there is no temporary folder");
	}
	/* A name is never used twice: a process of an earlier tree that outlived it would write
	 * into the new folder. */
	if (!os_random(&number, sizeof number)) {
		return error_set(err, ETW_ERROR_SYSTEM, "the system provides no random bytes");
	}
	/* 32 characters are left for the names of files. */
	size = _snwprintf(work->folder, MAX_PATH - 32, L"%lsetw_self_test_%016llx", temporary,
			  (unsigned long long)number);
	if (size <= 0 || size >= MAX_PATH - 32) {
		work->folder[0] = L'\0';
		return error_set(err, ETW_ERROR_SYSTEM,
				 "the path of the temporary folder is too long");
	}
	if (CreateDirectoryW(work->folder, NULL)) {
		return true;
	}
	work->folder[0] = L'\0';
	return error_set_last(err, "a temporary folder cannot be created");
}

/* Sets the label value of the folder's volume: "C:". */
static void name_volume(const struct activity_work *work, struct activity *done)
{
	wchar_t root[MAX_PATH];
	char *volume;
	size_t size;

	if (!GetVolumePathNameW(work->folder, root, MAX_PATH)) {
		return;
	}
	size = wcslen(root);
	if (size > 0 && root[size - 1] == L'\\') {
		root[size - 1] = L'\0';
	}
	volume = narrow_from(root);
	if (volume && strlen(volume) < sizeof done->volume) {
		strcpy(done->volume, volume);
	}
	free(volume);
}

struct activity_work *activity_open(const struct activity_work_options *options,
				    struct etw_error *err)
{
	struct activity_work *work = calloc(1, sizeof *work);

	if (!work) {
		error_no_memory(err, "the self-test");
		return NULL;
	}
	work->held = INVALID_HANDLE_VALUE;
	work->options = *options;
	if (work->options.branches == 0 || work->options.branches > BRANCHES_MOST) {
		work->options.branches = BRANCHES;
	}
	if (work->options.leaves == 0 || work->options.leaves > LEAVES_MOST) {
		work->options.leaves = LEAVES;
	}
	if (work->options.tree_ms == 0) {
		work->options.tree_ms = TREE_WAIT_MS;
	}
	if (work->options.volume_ms == 0) {
		work->options.volume_ms = VOLUME_MS;
	}
	if (!make_folder(work, err)) {
		free(work);
		return NULL;
	}
	return work;
}

void activity_close(struct activity_work *work)
{
	struct activity unused = { 0 };

	if (!work) {
		return;
	}
	if (work->held != INVALID_HANDLE_VALUE) {
		CloseHandle(work->held);
	}
	activity_detach_volume(work);
	activity_delete_files(work, &unused, NULL);
	RemoveDirectoryW(work->folder);
	free(work);
}

/* ---- the steps ---- */

struct activity_step {
	const char *name; /* precedes the reason why the step could not be done */
	enum activity_part part;
	bool required; /* if it fails, the activity ends */
	bool (*run)(struct activity_work *work, struct activity *done, struct etw_error *err);
};

static const struct activity_step steps[] = {
	{ "virtual disk", ACTIVITY_LATER_VOLUME, false, activity_attach_volume },
	{ "tree of processes", ACTIVITY_TREE, true, run_tree },
	{ "cached writes", ACTIVITY_CACHED, true, activity_cached },
	{ "write-through", ACTIVITY_WRITE_THROUGH, false, activity_write_through },
	{ "unbuffered writes", ACTIVITY_UNBUFFERED, false, activity_unbuffered },
	{ "mapped file", ACTIVITY_MAPPED, false, activity_mapped },
	{ "IPv4", ACTIVITY_BASICS, true, activity_ipv4 },
	{ "IPv6", ACTIVITY_IPV6, false, activity_ipv6 },
	{ "file opened earlier", ACTIVITY_HELD_FILE, false, activity_held_file },
	{ "virtual disk", ACTIVITY_LATER_VOLUME, false, activity_use_volume },
	{ "deleting", ACTIVITY_BASICS, true, activity_delete_files },
};

bool activity_prepare(void *context, struct etw_error *err)
{
	return activity_open_held_file(context, err);
}

bool activity_run(void *context, struct activity *done, struct etw_error *err)
{
	struct activity_work *work = context;

	name_volume(work, done);
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		char *skipped = done->skipped[steps[i].part];
		struct etw_error why = { 0 };

		if (!activity_sleep(work, 0, err)) {
			return false;
		}
		if (skipped[0] != '\0' || steps[i].run(work, done, &why)) {
			continue;
		}
		error_prefix(&why, "%s", steps[i].name);
		if (steps[i].required) {
			return error_set(err, why.code, "%s", why.text);
		}
		snprintf(skipped, ACTIVITY_TEXT, "%.*s", ACTIVITY_TEXT - 1, why.text);
	}
	return true;
}
