/* SPDX-License-Identifier: MIT */
/*
 * Known activity for the self-test: one child process, one file, one TCP connection.
 *
 * Files and sockets are used in pieces of one size, and the sizes that Windows returns are summed
 * up. So written bytes are exact: every request is one FileIo event with its size. Received bytes
 * may arrive in other pieces than they were sent in, but their sum is the same. Each piece is
 * received before the next is sent, so no buffer of the connection can fill up and block the only
 * thread.
 */
#include "windows/self_test.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
/* before windows.h */
#include <winsock2.h>

#include <windows.h>

#include "base/os.h"
#include "base/os_win32.h"

enum {
	PIECE_BYTES = 4096,
	PIECES = 64,
	CHILD_WAIT_MS = 5000,
};

char *activity_process(struct error *err)
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

/* ---- a child ---- */

/* This program with --version; its output goes nowhere. */
static bool run_child(struct activity *done, struct error *err)
{
	wchar_t *path = wide_program_path();
	wchar_t line[] = L"etw_exporter --version";
	STARTUPINFOW start = { .cb = sizeof start };
	PROCESS_INFORMATION child;
	DWORD status = 1;
	bool started = path && CreateProcessW(path, line, NULL, NULL, FALSE, CREATE_NO_WINDOW, NULL,
					      NULL, &start, &child);

	free(path);
	if (!started) {
		return error_set_last(err, "a child process cannot be started");
	}
	if (WaitForSingleObject(child.hProcess, CHILD_WAIT_MS) == WAIT_OBJECT_0) {
		GetExitCodeProcess(child.hProcess, &status);
	}
	CloseHandle(child.hThread);
	CloseHandle(child.hProcess);
	if (status != 0) {
		return error_set(err, ERROR_SYSTEM, "a child process did not end as it should");
	}
	done->processes++;
	return true;
}

/* ---- a file ---- */

static bool use_file(HANDLE file, struct activity *done, struct error *err)
{
	char piece[PIECE_BYTES];
	DWORD size;

	memset(piece, 'e', sizeof piece);
	for (unsigned i = 0; i < PIECES; i++) {
		if (!WriteFile(file, piece, sizeof piece, &size, NULL)) {
			return error_set_last(err, "a temporary file cannot be written");
		}
		done->written_bytes += size;
	}
	if (SetFilePointer(file, 0, NULL, FILE_BEGIN) != 0) {
		return error_set_last(err, "a temporary file cannot be read");
	}
	for (unsigned i = 0; i < PIECES; i++) {
		if (!ReadFile(file, piece, sizeof piece, &size, NULL)) {
			return error_set_last(err, "a temporary file cannot be read");
		}
		done->read_bytes += size;
	}
	return true;
}

static bool run_file(struct activity *done, struct error *err)
{
	wchar_t folder[MAX_PATH + 1], path[MAX_PATH + 1];
	HANDLE file;
	bool used;

	if (GetTempPathW(MAX_PATH + 1, folder) == 0 ||
	    GetTempFileNameW(folder, L"etw", 0, path) == 0) {
		return error_set_last(err, "a temporary file cannot be created");
	}
	file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
			   FILE_ATTRIBUTE_TEMPORARY, NULL);
	if (file == INVALID_HANDLE_VALUE) {
		return error_set_last(err, "a temporary file cannot be opened");
	}
	used = use_file(file, done, err);
	CloseHandle(file);
	if (!DeleteFileW(path)) {
		return used && error_set_last(err, "a temporary file cannot be deleted");
	}
	done->deletes++;
	return used;
}

/* ---- a connection ---- */

static bool fail_socket(struct error *err, const char *what)
{
	SetLastError((DWORD)WSAGetLastError());
	return error_set_last(err, what);
}

/* Sends pieces one way, and takes each before the next. */
static bool talk(SOCKET from, SOCKET to, struct activity *done, struct error *err)
{
	char piece[PIECE_BYTES] = { 0 };

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

static bool listen_on_loopback(SOCKET listener, struct sockaddr_in *address)
{
	int size = sizeof *address;

	*address = (struct sockaddr_in){ .sin_family = AF_INET };
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return bind(listener, (struct sockaddr *)address, sizeof *address) == 0 &&
	       listen(listener, 1) == 0 &&
	       getsockname(listener, (struct sockaddr *)address, &size) == 0;
}

static bool connect_and_talk(SOCKET listener, SOCKET client, struct activity *done,
			     struct error *err)
{
	struct sockaddr_in address;
	SOCKET server;
	bool talked;

	if (!listen_on_loopback(listener, &address) ||
	    connect(client, (struct sockaddr *)&address, sizeof address) != 0) {
		return fail_socket(err, "a loopback connection cannot be made");
	}
	done->connects++;
	server = accept(listener, NULL, NULL);
	if (server == INVALID_SOCKET) {
		return fail_socket(err, "a loopback connection is not accepted");
	}
	done->accepts++;
	talked = talk(client, server, done, err);
	closesocket(server);
	return talked;
}

static bool run_connection(struct activity *done, struct error *err)
{
	WSADATA data;
	SOCKET listener, client;
	bool talked;

	if (WSAStartup(MAKEWORD(2, 2), &data) != 0) {
		return fail_socket(err, "there is no network");
	}
	listener = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	client = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	talked = connect_and_talk(listener, client, done, err);
	closesocket(client);
	closesocket(listener);
	WSACleanup();
	return talked;
}

bool activity_run(void *context, struct activity *done, struct error *err)
{
	(void)context;
	return run_child(done, err) && run_file(done, err) && run_connection(done, err);
}
