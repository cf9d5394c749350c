/* SPDX-License-Identifier: MIT */
/*
 * A terminal of Linux. Its driver still turns Ctrl-C, Ctrl-\ and Ctrl-Z into signals; only line
 * buffering and echo are off. Signals are blocked, as os_stop_catch() does, and read from a
 * descriptor (signalfd(2)), so that one poll(2) waits for keys and for signals, and no code runs in
 * a signal handler. So only the main thread writes output and sets the terminal, between two waits,
 * and every exit of the program goes through terminal_close().
 *
 * Ctrl-Z restores the terminal, and stops the program as the signal would have done. When the shell
 * continues it, this thread resumes there and takes over the terminal again. A program that is
 * stopped by SIGSTOP cannot restore anything. SIGCONT then makes it set the terminal again, because
 * a shell sets its own modes meanwhile.
 */
#define _DEFAULT_SOURCE /* SIGWINCH */

#include "etwtool/top/top.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/os.h"
#include "base/utf8.h"

enum { KEYS_MOST = 256, SEQUENCE_MS = 50, NS_PER_MS = 1000000 };

struct terminal {
	struct termios before;
	sigset_t mask_before;
	int signals; /* signalfd(2) */
	bool gone;
	/* Bytes of keys that terminal_wait() has not returned yet. */
	char keys[KEYS_MOST];
	size_t key_bytes;
};

static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };

bool terminal_is_here(void)
{
	return os_is_terminal(stdin) && os_has_colours(stdout);
}

bool terminal_write(struct terminal *terminal, const char *bytes, size_t size)
{
	while (size > 0 && !terminal->gone) {
		ssize_t written = write(STDOUT_FILENO, bytes, size);

		if (written >= 0) {
			bytes += written;
			size -= (size_t)written;
		} else if (errno == EAGAIN) {
			/*
			 * Waits until it is writable, because another program has made the terminal
			 * non-blocking.
			 */
			struct pollfd ready = { .fd = STDOUT_FILENO, .events = POLLOUT };

			(void)poll(&ready, 1, -1);
		} else if (errno != EINTR) {
			terminal->gone = true;
		}
	}
	return !terminal->gone;
}

/*
 * Turns off line buffering and echo. If the program is in the background, this stops it (SIGTTOU).
 */
static bool set_mode(const struct terminal *terminal)
{
	struct termios mode = terminal->before;

	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	mode.c_cc[VMIN] = 1;
	mode.c_cc[VTIME] = 0;
	return tcsetattr(STDIN_FILENO, TCSADRAIN, &mode) == 0;
}

static bool enter_screen(struct terminal *terminal)
{
	return set_mode(terminal) &&
	       terminal_write(terminal, TERMINAL_SCREEN_ON, sizeof TERMINAL_SCREEN_ON - 1);
}

/*
 * Restores the screen and the mode. Unread keys are dropped, because the shell would take them for
 * a command.
 */
static void leave_screen(struct terminal *terminal)
{
	terminal_write(terminal, TERMINAL_SCREEN_OFF, sizeof TERMINAL_SCREEN_OFF - 1);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->before);
}

struct terminal *terminal_open(struct etw_error *err)
{
	struct terminal *terminal = calloc(1, sizeof *terminal);
	char reason[128];
	sigset_t set;

	if (!terminal) {
		error_no_memory(err, "the terminal");
		return NULL;
	}
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) {
		sigaddset(&set, caught[i]);
	}
	pthread_sigmask(SIG_BLOCK, &set, &terminal->mask_before);
	terminal->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (terminal->signals < 0 || tcgetattr(STDIN_FILENO, &terminal->before) != 0) {
		goto fail;
	}
	if (enter_screen(terminal)) {
		return terminal;
	}
	leave_screen(terminal);

fail:
	os_error_text(errno, reason, sizeof reason);
	error_set(err, ETW_ERROR_SYSTEM, "the terminal cannot be used: %s", reason);
	if (terminal->signals >= 0) {
		close(terminal->signals);
	}
	pthread_sigmask(SIG_SETMASK, &terminal->mask_before, NULL);
	free(terminal);
	return NULL;
}

/*
 * Restores the terminal and the signal mask. Pending signals are delivered then, and can end the
 * program.
 */
void terminal_close(struct terminal *terminal)
{
	if (!terminal) {
		return;
	}
	leave_screen(terminal);
	close(terminal->signals);
	pthread_sigmask(SIG_SETMASK, &terminal->mask_before, NULL);
	free(terminal);
}

void terminal_size(const struct terminal *terminal, unsigned *columns, unsigned *rows)
{
	struct winsize size = { 0 };

	(void)terminal;
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*columns = size.ws_col > 0 ? size.ws_col : 80;
	*rows = size.ws_row > 0 ? size.ws_row : 24;
}

/* Stops the program as SIGTSTP does; returns when the program continues. */
static void stop_process(struct terminal *terminal)
{
	sigset_t stop;

	leave_screen(terminal);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
}

static enum terminal_event handle_signal(struct terminal *terminal)
{
	struct signalfd_siginfo signal;
	enum terminal_event event = TERMINAL_TIMEOUT;

	while (event != TERMINAL_STOP &&
	       read(terminal->signals, &signal, sizeof signal) == (ssize_t)sizeof signal) {
		switch (signal.ssi_signo) {
		case SIGTSTP:
			stop_process(terminal);
			event = enter_screen(terminal) ? TERMINAL_REDRAW : TERMINAL_STOP;
			break;
		case SIGCONT: /* the screen is still taken over */
			event = set_mode(terminal) ? TERMINAL_REDRAW : TERMINAL_STOP;
			break;
		case SIGWINCH:
			event = TERMINAL_REDRAW;
			break;
		default:
			event = TERMINAL_STOP;
			break;
		}
	}
	return event;
}

/* ---- keys ---- */

/*
 * Returns the key of a sequence. Source: "XTerm Control Sequences", section "PC-Style Function
 * Keys".
 */
static uint32_t key_of_sequence(char last, unsigned number)
{
	switch (last) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return KEY_RIGHT;
	case 'D':
		return KEY_LEFT;
	case 'H':
		return KEY_HOME;
	case 'F':
		return KEY_END;
	case '~':
		return number == 1 || number == 7 ? KEY_HOME :
		       number == 4 || number == 8 ? KEY_END :
		       number == 5                ? KEY_PAGE_UP :
		       number == 6                ? KEY_PAGE_DOWN :
						    KEY_NONE;
	default:
		return KEY_NONE;
	}
}

/* Parses a sequence: ESC [ or ESC O, parameters, and a last byte. */
static size_t parse_sequence(const char *bytes, size_t size, bool all, uint32_t *key)
{
	unsigned number = 0;
	bool first = true;

	for (size_t i = 2; i < size; i++) {
		if (bytes[i] >= '@' && bytes[i] <= '~') {
			*key = key_of_sequence(bytes[i], number);
			return i + 1;
		}
		first = first && bytes[i] >= '0' && bytes[i] <= '9' && number < 100;
		number = first ? 10 * number + (unsigned)(bytes[i] - '0') : number;
	}
	*key = KEY_NONE;
	return all ? size : 0;
}

size_t terminal_parse_key(const char *bytes, size_t size, bool all, uint32_t *key)
{
	if (bytes[0] != '\033') {
		size_t length = utf8_decode(bytes, size, key);

		*key = *key == '\r' ? '\n' : *key == 0x7f ? '\b' : *key;
		return length;
	}
	if (size > 1 && (bytes[1] == '[' || bytes[1] == 'O')) {
		return parse_sequence(bytes, size, all, key);
	}
	*key = '\033';
	return size > 1 || all ? 1 : 0;
}

/* Reads bytes of keys. Returns false if the terminal is gone. */
static bool read_keys(struct terminal *terminal)
{
	ssize_t got = read(STDIN_FILENO, terminal->keys + terminal->key_bytes,
			   sizeof terminal->keys - terminal->key_bytes);

	if (got > 0) {
		terminal->key_bytes += (size_t)got;
	}
	return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

static bool next_key(struct terminal *terminal, bool all, uint32_t *key)
{
	size_t size = terminal->key_bytes > 0 ?
			      terminal_parse_key(terminal->keys, terminal->key_bytes, all, key) :
			      0;

	/* A sequence that fills the buffer does not come from a keyboard, so it is dropped. */
	size = size == 0 && terminal->key_bytes == sizeof terminal->keys ? sizeof terminal->keys :
									   size;
	terminal->key_bytes -= size;
	memmove(terminal->keys, terminal->keys + size, terminal->key_bytes);
	return size > 0;
}

enum terminal_event terminal_wait(struct terminal *terminal, uint64_t timeout_ns, uint32_t *key)
{
	uint64_t start = os_monotonic_ns();
	uint64_t timeout_ms = timeout_ns / NS_PER_MS + (timeout_ns % NS_PER_MS > 0);

	*key = KEY_NONE;
	for (;;) {
		struct pollfd ready[] = { { .fd = STDIN_FILENO, .events = POLLIN },
					  { .fd = terminal->signals, .events = POLLIN } };
		uint64_t passed = (os_monotonic_ns() - start) / NS_PER_MS;
		uint64_t left = passed < timeout_ms ? timeout_ms - passed : 0;
		int count;

		if (terminal->gone) {
			return TERMINAL_STOP;
		}
		if (next_key(terminal, false, key)) {
			return TERMINAL_KEY;
		}
		left = terminal->key_bytes > 0 ? SEQUENCE_MS : left;
		count = poll(ready, 2, left < INT32_MAX ? (int)left : INT32_MAX);
		if (count > 0 && ready[1].revents != 0) {
			enum terminal_event event = handle_signal(terminal);

			if (event != TERMINAL_TIMEOUT) {
				return event;
			}
		}
		if (count > 0 && ready[0].revents != 0 && !read_keys(terminal)) {
			return TERMINAL_STOP;
		}
		if (count == 0 && terminal->key_bytes > 0) {
			return next_key(terminal, true, key) ? TERMINAL_KEY : TERMINAL_TIMEOUT;
		}
		if (count == 0) {
			return TERMINAL_TIMEOUT;
		}
	}
}
