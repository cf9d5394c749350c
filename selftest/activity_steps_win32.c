/* SPDX-License-Identifier: MIT */
/*
 * The steps of the self-test's activity: files, connections, and a volume that is new.
 *
 * Each way of writing has its own file, so that each is counted apart. A file is written in pieces
 * of one size, and the sizes that Windows returns are summed up. Therefore written bytes are exact:
 * every request is one FileIo/Write event with its size. docs/windows.md, "How writes appear",
 * describes what Windows does for a request. Stores to a mapped file are not requests; they are
 * flushed, so that the paging I/O comes while the session runs.
 *
 * Unbuffered writes need an address and sizes that are multiples of the sector size ("File
 * Buffering", Microsoft Learn); memory of VirtualAlloc() begins at a page.
 */
#include "selftest/activity_win32.h"

#include <stdio.h>
#include <string.h>
#include <wchar.h>
/* after winsock2.h */
#include <ws2tcpip.h>

#include "base/os_win32.h"

enum {
	PIECES = 64,
	SLOW_PIECES = 16, /* few, because each waits for the disk */
	MAPPED_BYTES = 64 * ACTIVITY_PIECE_BYTES,
	LINE = 1024,
};

bool activity_sleep(const struct activity_work *work, uint64_t ms, struct etw_error *err)
{
	if (!work->options.wait) {
		Sleep((DWORD)ms);
		return true;
	}
	return work->options.wait(work->options.wait_context, ms) ||
	       error_set(err, ETW_ERROR_SYSTEM, "the self-test was stopped");
}

/* Writes the path of a file in the folder. Returns false if it is too long. */
static bool path_of(const struct activity_work *work, const wchar_t *name, wchar_t path[MAX_PATH],
		    struct etw_error *err)
{
	int size = _snwprintf(path, MAX_PATH, L"%ls\\%ls", work->folder, name);

	return (size > 0 && size < MAX_PATH) ||
	       error_set(err, ETW_ERROR_SYSTEM, "the path of the temporary folder is too long");
}

HANDLE activity_start(const wchar_t *program, const wchar_t *arguments, HANDLE job,
		      struct etw_error *err)
{
	wchar_t line[LINE];
	STARTUPINFOW start = { .cb = sizeof start };
	PROCESS_INFORMATION child;
	int size = _snwprintf(line, LINE, L"\"%ls\" %ls", program, arguments);

	if (size <= 0 || size >= LINE) {
		error_set(err, ETW_ERROR_SYSTEM, "a command line is too long");
		return NULL;
	}
	if (!CreateProcessW(program, line, NULL, NULL, FALSE,
			    CREATE_NO_WINDOW | (job ? CREATE_SUSPENDED : 0), NULL, NULL, &start,
			    &child)) {
		error_set_last(err, "a child process cannot be started");
		return NULL;
	}
	if (job) {
		/* The child is suspended until it belongs to the job, so that it starts nothing
		 * before. It does no harm if the assignment fails. */
		AssignProcessToJobObject(job, child.hProcess);
		ResumeThread(child.hThread);
	}
	CloseHandle(child.hThread);
	return child.hProcess;
}

bool activity_wait(HANDLE process, DWORD ms, struct etw_error *err)
{
	bool ended = WaitForSingleObject(process, ms) == WAIT_OBJECT_0;
	DWORD status = 1;

	if (ended) {
		GetExitCodeProcess(process, &status);
	} else {
		TerminateProcess(process, status);
	}
	CloseHandle(process);
	if (!ended) {
		return error_set(err, ETW_ERROR_SYSTEM, "a child process did not end in time");
	}
	return status == 0 ||
	       error_set(err, ETW_ERROR_SYSTEM, "a child process ended with status 0x%lx", status);
}

/* ---- files ---- */

/* piece: ACTIVITY_PIECE_BYTES. */
static bool write_pieces(HANDLE file, const char *piece, unsigned pieces, uint64_t *written,
			 struct etw_error *err)
{
	DWORD size;

	for (unsigned i = 0; i < pieces; i++) {
		if (!WriteFile(file, piece, ACTIVITY_PIECE_BYTES, &size, NULL)) {
			return error_set_last(err, "a temporary file cannot be written");
		}
		*written += size;
	}
	return true;
}

static HANDLE create_file(const wchar_t *path, DWORD flags, struct etw_error *err)
{
	HANDLE file =
		CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_NEW, flags, NULL);

	if (file == INVALID_HANDLE_VALUE) {
		error_set_last(err, "a temporary file cannot be created");
	}
	return file;
}

/* Creates a file and writes pieces to it. Adds the bytes to *written. */
static bool write_file(const wchar_t *path, DWORD flags, unsigned pieces, uint64_t *written,
		       struct etw_error *err)
{
	HANDLE file = create_file(path, flags, err);
	char *piece;
	bool good;

	if (file == INVALID_HANDLE_VALUE) {
		return false;
	}
	piece = VirtualAlloc(NULL, ACTIVITY_PIECE_BYTES, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
	good = piece ? write_pieces(file, piece, pieces, written, err) :
		       error_no_memory(err, "the self-test");
	CloseHandle(file);
	if (piece) {
		VirtualFree(piece, 0, MEM_RELEASE);
	}
	return good;
}

/* ---- cached ---- */

static bool read_pieces(HANDLE file, unsigned pieces, uint64_t *read, struct etw_error *err)
{
	char piece[ACTIVITY_PIECE_BYTES];
	DWORD size;

	if (SetFilePointer(file, 0, NULL, FILE_BEGIN) != 0) {
		return error_set_last(err, "a temporary file cannot be read");
	}
	for (unsigned i = 0; i < pieces; i++) {
		if (!ReadFile(file, piece, sizeof piece, &size, NULL)) {
			return error_set_last(err, "a temporary file cannot be read");
		}
		*read += size;
	}
	return true;
}

bool activity_cached(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	static const char piece[ACTIVITY_PIECE_BYTES];
	wchar_t path[MAX_PATH];
	HANDLE file;
	bool good;

	if (!path_of(work, L"cached.dat", path, err)) {
		return false;
	}
	file = create_file(path, FILE_ATTRIBUTE_TEMPORARY, err);
	if (file == INVALID_HANDLE_VALUE) {
		return false;
	}
	good = write_pieces(file, piece, PIECES, &done->written_bytes[ACTIVITY_CACHED], err) &&
	       read_pieces(file, PIECES, &done->read_bytes, err);
	CloseHandle(file);
	return good;
}

/* ---- opened before the session ---- */

bool activity_open_held_file(struct activity_work *work, struct etw_error *err)
{
	static const char piece[ACTIVITY_PIECE_BYTES];
	uint64_t written = 0; /* not counted: the session does not run yet */
	wchar_t path[MAX_PATH];

	if (!path_of(work, L"held.dat", path, err)) {
		return false;
	}
	work->held = create_file(path, 0, err);
	return work->held != INVALID_HANDLE_VALUE &&
	       write_pieces(work->held, piece, 1, &written, err);
}

bool activity_held_file(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	static const char piece[ACTIVITY_PIECE_BYTES];
	bool good;

	if (work->held == INVALID_HANDLE_VALUE) {
		return error_set(err, ETW_ERROR_SYSTEM, "no file was opened before the session");
	}
	good = write_pieces(work->held, piece, PIECES, &done->written_bytes[ACTIVITY_HELD_FILE],
			    err);
	CloseHandle(work->held);
	work->held = INVALID_HANDLE_VALUE;
	return good;
}

/* ---- writes that bypass the cache ---- */

bool activity_write_through(struct activity_work *work, struct activity *done,
			    struct etw_error *err)
{
	wchar_t path[MAX_PATH];

	return path_of(work, L"through.dat", path, err) &&
	       write_file(path, FILE_FLAG_WRITE_THROUGH, SLOW_PIECES,
			  &done->written_bytes[ACTIVITY_WRITE_THROUGH], err);
}

bool activity_unbuffered(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	wchar_t path[MAX_PATH];

	return path_of(work, L"unbuffered.dat", path, err) &&
	       write_file(path, FILE_FLAG_NO_BUFFERING, SLOW_PIECES,
			  &done->written_bytes[ACTIVITY_UNBUFFERED], err);
}

/* ---- mapped ---- */

static bool store_to_mapping(HANDLE mapping, struct etw_error *err)
{
	char *view = MapViewOfFile(mapping, FILE_MAP_WRITE, 0, 0, MAPPED_BYTES);
	bool good;

	if (!view) {
		return error_set_last(err, "a temporary file cannot be mapped");
	}
	memset(view, 'e', MAPPED_BYTES);
	good = FlushViewOfFile(view, MAPPED_BYTES) ||
	       error_set_last(err, "a mapped file cannot be flushed");
	UnmapViewOfFile(view);
	return good;
}

bool activity_mapped(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	wchar_t path[MAX_PATH];
	HANDLE file, mapping;
	bool good;

	if (!path_of(work, L"mapped.dat", path, err)) {
		return false;
	}
	file = create_file(path, 0, err);
	if (file == INVALID_HANDLE_VALUE) {
		return false;
	}
	mapping = CreateFileMappingW(file, NULL, PAGE_READWRITE, 0, MAPPED_BYTES, NULL);
	if (mapping) {
		good = store_to_mapping(mapping, err);
		CloseHandle(mapping);
	} else {
		good = error_set_last(err, "a temporary file cannot be mapped");
	}
	if (good && !FlushFileBuffers(file)) {
		good = error_set_last(err, "a mapped file cannot be flushed");
	}
	CloseHandle(file);
	done->written_bytes[ACTIVITY_MAPPED] += good ? MAPPED_BYTES : 0;
	return good;
}

/* ---- the end ---- */

bool activity_delete_files(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	WIN32_FIND_DATAW entry;
	wchar_t path[MAX_PATH];
	HANDLE search;
	bool good = true;

	if (!path_of(work, L"*.dat", path, err)) {
		return false;
	}
	search = FindFirstFileW(path, &entry);
	if (search == INVALID_HANDLE_VALUE) {
		return true;
	}
	do {
		if (path_of(work, entry.cFileName, path, err) && DeleteFileW(path)) {
			done->deletes++;
		} else {
			good = error_set_last(err, "a temporary file cannot be deleted");
		}
	} while (FindNextFileW(search, &entry));
	FindClose(search);
	return good;
}

/* ---- connections ---- */

/*
 * Makes the connections of the self-test's activity: one over the loopback for each version of IP.
 *
 * Received bytes may arrive in other pieces than they were sent in, but their sum is the same. Each
 * piece is received before the next is sent, so no buffer of the connection can fill up and block
 * the only thread.
 */

static bool fail_socket(struct etw_error *err, const char *what)
{
	SetLastError((DWORD)WSAGetLastError());
	return error_set_last(err, what);
}

/* Sends pieces in one direction, and receives each before the next. */
static bool send_and_receive(SOCKET from, SOCKET to, struct activity_network *done,
			     struct etw_error *err)
{
	char piece[ACTIVITY_PIECE_BYTES] = { 0 };

	for (unsigned i = 0; i < PIECES; i++) {
		int sent = send(from, piece, sizeof piece, 0);

		if (sent <= 0) {
			return fail_socket(err, "the loopback connection cannot be written to");
		}
		done->sent_bytes += (uint64_t)sent;
		for (int left = sent; left > 0;) {
			int size = recv(to, piece, left, 0);

			if (size <= 0) {
				return fail_socket(err, "the loopback connection cannot be read");
			}
			done->received_bytes += (uint64_t)size;
			left -= size;
		}
	}
	return true;
}

union address {
	struct sockaddr any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

/* Listens on a port of the loopback address that Windows chooses. *size: size of the address. */
static bool listen_on_loopback(SOCKET listener, int family, union address *address, int *size)
{
	memset(address, 0, sizeof *address);
	if (family == AF_INET6) {
		address->ipv6.sin6_family = AF_INET6;
		address->ipv6.sin6_addr.s6_addr[15] = 1;
		*size = sizeof address->ipv6;
	} else {
		address->ipv4.sin_family = AF_INET;
		address->ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		*size = sizeof address->ipv4;
	}
	return bind(listener, &address->any, *size) == 0 && listen(listener, 1) == 0 &&
	       getsockname(listener, &address->any, size) == 0;
}

static bool connect_and_talk(SOCKET listener, SOCKET client, int family,
			     struct activity_network *done, struct etw_error *err)
{
	union address address;
	SOCKET server;
	bool talked;
	int size;

	if (!listen_on_loopback(listener, family, &address, &size) ||
	    connect(client, &address.any, size) != 0) {
		return fail_socket(err, "a loopback connection cannot be made");
	}
	done->connects++;
	server = accept(listener, NULL, NULL);
	if (server == INVALID_SOCKET) {
		return fail_socket(err, "a loopback connection is not accepted");
	}
	done->accepts++;
	talked = send_and_receive(client, server, done, err);
	closesocket(server);
	return talked;
}

static bool run_connection(int family, struct activity_network *done, struct etw_error *err)
{
	WSADATA data;
	SOCKET listener, client;
	bool talked;

	if (WSAStartup(MAKEWORD(2, 2), &data) != 0) {
		return fail_socket(err, "there is no network");
	}
	listener = socket(family, SOCK_STREAM, IPPROTO_TCP);
	client = socket(family, SOCK_STREAM, IPPROTO_TCP);
	talked = connect_and_talk(listener, client, family, done, err);
	closesocket(client);
	closesocket(listener);
	WSACleanup();
	return talked;
}

bool activity_ipv4(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	(void)work;
	return run_connection(AF_INET, &done->ipv4, err);
}

bool activity_ipv6(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	(void)work;
	return run_connection(AF_INET6, &done->ipv6, err);
}

/* ---- a new volume ---- */

/*
 * Makes a volume that did not exist when the session started: a virtual hard disk in the temporary
 * folder, on which diskpart.exe makes a formatted volume with a drive letter.
 *
 * diskpart ends a script at its first error, and every command here acts on the disk that the
 * command before has created or selected by the path of its file; no other disk is touched. The
 * script is ASCII, because diskpart documents no other encoding.
 *
 * Sources: "diskpart", "create vdisk", "attach vdisk", "detach vdisk", Microsoft Learn.
 */

enum { VOLUME_PIECES = 16, DISKPART_WAIT_MS = 90000, SCRIPT = 2048 };

static bool is_ascii(const wchar_t *text)
{
	while (*text != L'\0' && *text < 128) {
		text++;
	}
	return *text == L'\0';
}

/* Returns a drive letter that no volume has, from the end of the alphabet; 0 if there is none. */
static wchar_t free_letter(void)
{
	DWORD drives = GetLogicalDrives();

	for (wchar_t letter = L'Z'; letter > L'C'; letter--) {
		if ((drives >> (letter - L'A') & 1) == 0) {
			return letter;
		}
	}
	return 0;
}

static bool write_script(const wchar_t *path, const char *script, struct etw_error *err)
{
	HANDLE file = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_NEW,
				  FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	DWORD size = 0;

	if (file == INVALID_HANDLE_VALUE) {
		return error_set_last(err, "a script for diskpart cannot be created");
	}
	if (!WriteFile(file, script, (DWORD)strlen(script), &size, NULL)) {
		error_set_last(err, "a script for diskpart cannot be written");
	}
	CloseHandle(file);
	return size > 0;
}

/* Finds the path of diskpart.exe. Only the one in the system folder is trusted. */
static bool find_diskpart(const struct activity_work *work, wchar_t path[MAX_PATH],
			  struct etw_error *err)
{
	static const wchar_t name[] = L"\\diskpart.exe";
	UINT size;

	if (work->options.diskpart) {
		return wcslen(work->options.diskpart) < MAX_PATH &&
		       wcscpy(path, work->options.diskpart) != NULL;
	}
	size = GetSystemDirectoryW(path, MAX_PATH);
	if (size == 0 || size + sizeof name / sizeof name[0] > MAX_PATH) {
		return error_set(err, ETW_ERROR_SYSTEM, "there is no system folder");
	}
	wcscat(path, name);
	return GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES ||
	       error_set(err, ETW_ERROR_UNSUPPORTED, "there is no diskpart.exe");
}

static bool run_diskpart(const struct activity_work *work, const char *script,
			 struct etw_error *err)
{
	wchar_t program[MAX_PATH], path[MAX_PATH], arguments[MAX_PATH + 16];
	HANDLE process;
	bool good;

	if (!find_diskpart(work, program, err) || !path_of(work, L"diskpart.txt", path, err) ||
	    !write_script(path, script, err)) {
		return false;
	}
	_snwprintf(arguments, MAX_PATH + 16, L"/s \"%ls\"", path);
	process = activity_start(program, arguments, NULL, err);
	good = process && activity_wait(process, DISKPART_WAIT_MS, err);
	if (!good) {
		error_prefix(err, "diskpart.exe");
	}
	DeleteFileW(path);
	return good;
}

bool activity_attach_volume(struct activity_work *work, struct activity *done,
			    struct etw_error *err)
{
	wchar_t letter = work->options.drive ? work->options.drive : free_letter();
	char script[SCRIPT];

	(void)done;
	if (work->options.no_new_volume) {
		return error_set(err, ETW_ERROR_UNSUPPORTED, "no virtual disk is wanted");
	}
	if (letter == 0) {
		return error_set(err, ETW_ERROR_LIMIT, "all drive letters are in use");
	}
	if (!is_ascii(work->folder)) {
		return error_set(err, ETW_ERROR_UNSUPPORTED,
				 "the temporary folder has a name outside ASCII");
	}
	snprintf(script, sizeof script,
		 "create vdisk file=\"%ls\\later.vhd\" maximum=64 type=expandable\r\n"
		 "attach vdisk\r\n"
		 "create partition primary\r\n"
		 "format fs=ntfs label=etw_self_test quick\r\n"
		 "assign letter=%c\r\n",
		 work->folder, (char)letter);
	work->drive = letter; /* set before a failure is known: the volume may be attached anyway */
	if (!run_diskpart(work, script, err)) {
		return false;
	}
	work->drive_since = GetTickCount64();
	return true;
}

bool activity_use_volume(struct activity_work *work, struct activity *done, struct etw_error *err)
{
	ULONGLONG due = work->drive_since + work->options.volume_ms;
	wchar_t path[MAX_PATH];
	ULONGLONG now = GetTickCount64();

	if (!activity_sleep(work, now < due ? due - now : 0, err)) {
		return false;
	}
	_snwprintf(path, MAX_PATH, L"%lc:\\etw_self_test_later", work->drive);
	if (!CreateDirectoryW(path, NULL)) {
		return error_set_last(err, "the virtual disk cannot be written to");
	}
	wcscat(path, L"\\later.dat");
	snprintf(done->later_volume, sizeof done->later_volume, "%c:", (char)work->drive);
	return write_file(path, 0, VOLUME_PIECES, &done->written_bytes[ACTIVITY_LATER_VOLUME], err);
}

void activity_detach_volume(struct activity_work *work)
{
	wchar_t path[MAX_PATH];
	char script[SCRIPT];

	if (work->drive == 0 || !path_of(work, L"later.vhd", path, NULL)) {
		return;
	}
	snprintf(script, sizeof script, "select vdisk file=\"%ls\"\r\ndetach vdisk\r\n", path);
	if (GetFileAttributesW(path) != INVALID_FILE_ATTRIBUTES) {
		run_diskpart(work, script, NULL);
		DeleteFileW(path);
	}
	work->drive = 0;
}
