#!/usr/bin/env bash
# libetw as its users have it: `cmake --install` into an empty prefix, from which programs outside of the sources are built with what
# pkg-config says, and run. And tests/test_wall.py fails when the wall is broken.
. "${BASH_SOURCE%/*}/lib.bash"

for command in cmake cc pkg-config; do
	command -v "$command" >/dev/null || skip "$command is not installed"
done
cmake --install "$BUILD_DIR" --prefix "$work/prefix" --component library >"$work/out" 2>&1 || fail "cmake --install: $(cat "$work/out")"
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name libetw.pc)")
export PKG_CONFIG_PATH
mkdir "$work/outside"
cd "$work/outside"

# build NAME FLAGS...: NAME.c becomes the program NAME.
build() {
	local name=$1

	shift
	# shellcheck disable=SC2046 # these are words
	cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$@" "$name.c" $(pkg-config --cflags --libs libetw) -o "$name" 2>out || fail "$name: $(cat out)"
}

# Each header stands alone in C; those of the interface do in C++, too. The other headers use atomics of C11.
for header in "$work"/prefix/include/etw/*.h; do
	echo "#include <etw/${header##*/}>" | cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$work/prefix/include" -x c - 2>out ||
		fail "${header##*/}: $(cat out)"
	[[ ${header##*/} != @(etw|relog).h ]] || ! command -v c++ >/dev/null ||
		echo "#include <etw/${header##*/}>" | c++ -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$work/prefix/include" -x c++ - 2>out ||
		fail "${header##*/} in C++: $(cat out)"
done

# A user's own names clash with none of the library, whatever lib/ and base/ call theirs.
nm --defined-only "$BUILD_DIR"/lib/*/libetwx_*.a "$BUILD_DIR"/base/libetwx_base.a 2>/dev/null | sed -n 's/^[^ ]* T \([a-z]\)/\1/p' |
	grep -v '^etw_' | sort -u >names
[ "$(wc -l <names)" -gt 100 ] || fail "lib/ and base/ have only $(wc -l <names) names"
{
	printf '#include <etw/version.h>\n#include <stdio.h>\n'
	sed 's/.*/int &(void);\nint &(void) { return 1; }/' names
	printf 'int main(void) { return puts(etw_version()) == EOF; }\n'
} >clash.c
build clash -fno-builtin
version=$("$ETWTOOL" --version | sed -n 's/^etw[a-z_]* \([^ ]*\).*/\1/p')
[ "$(./clash)" = "$version" ] || fail "etw_version() is \"$(./clash)\", etwtool --version says \"$version\""
[ "$(pkg-config --modversion libetw)" = "$version" ] || fail "libetw.pc is of version $(pkg-config --modversion libetw)"

# A program that needs no other library when it starts.
build clash -fno-builtin -static
[ "$(./clash)" = "$version" ] || fail "the static program says \"$(./clash)\""

# The examples, from where they are installed.
"$MAKE_SAMPLE" sample.etl >/dev/null
for example in "$work"/prefix/share/doc/etw_exporter/examples/*.c; do
	name=$(basename "$example" .c)
	[ -e "$example" ] || continue
	cp "$example" .
	build "$name"
	if [ "$name" = print_events ]; then
		./print_events sample.etl >events || fail "print_events: exit $?"
		"$ETWTOOL" dump sample.etl | LC_ALL=C sort >dumped # in the order of the file
		LC_ALL=C sort events | cmp - dumped || fail "print_events prints other events than etwtool dump"
	fi
done

# A program in C++ links with the library, and its functions do what they do in C.
if command -v c++ >/dev/null; then
	cat >program.cpp <<'END'
#include <cstdio>
#include <etw/relog.h>

static etw_reader size = ETW_READER("IoSize");
static unsigned long long sum;

static void on_event(void *, etw_event *event)
{
	uint64_t value;

	if (etw_event_is(event, nullptr, "FileIo/Write") && etw_read_u64(&size, event, &value)) {
		sum += value;
	}
}

static etw_action keep(void *, etw_relog *, etw_event *)
{
	return ETW_KEEP;
}

int main(int, char **argv)
{
	etw_callbacks callbacks = {};
	etw_relog *relog = etw_open_relog(argv[1], argv[2], nullptr, nullptr);
	bool good = relog && etw_relog_run(relog, keep, nullptr, nullptr) && etw_close_relog(relog, nullptr, nullptr);
	etw_trace *trace = etw_open_recording(argv[2], nullptr, nullptr);

	callbacks.on_event = on_event;
	good = etw_run(trace, &callbacks, nullptr) && good;
	etw_close(trace);
	std::printf("%llu\n", sum);
	return good ? 0 : 1;
}
END
	# shellcheck disable=SC2046 # these are words
	c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror program.cpp $(pkg-config --cflags --libs libetw) -o program 2>out || fail "program.cpp: $(cat out)"
	./program sample.etl copied.etl >sum || fail "program.cpp: exit $?"
	./bytes_by_process sample.etl | awk '{ sum += $1 } END { printf "%d\n", sum }' | cmp - sum ||
		fail "program.cpp adds up $(cat sum) bytes, not as many as bytes_by_process"
fi

# tests/test_wall.py fails when a name of lib/ is used that no header declares, when one that is used no more is still allowed, when the
# library exports another name, and when it lacks one.
wall() { # options, library
	python3 "$SOURCE_DIR/tests/test_wall.py" "${@:1:$#-1}" "$BUILD_DIR" cc nm "${!#}" >out 2>&1
}
wall "$BUILD_DIR/libetw.a" || fail "test_wall.py: $(cat out)"
{
	grep -v '^lib/source/source\.c ' "$SOURCE_DIR/tests/wall.txt" || true
	echo 'lib/none.c 1'
} >table
! wall --allowed table "$BUILD_DIR/libetw.a" || fail "test_wall.py takes a table with a line too many"
grep -q '^table: lib/none.c is not needed' out || fail "test_wall.py does not see a line that is not needed: $(cat out)"
if grep -q '^lib/source/source\.c ' "$SOURCE_DIR/tests/wall.txt"; then
	grep -q '^lib/source/source\.c: .* 0 are allowed' out || fail "test_wall.py does not see what is used: $(cat out)"
fi
objcopy --redefine-sym etw_version=time_add "$BUILD_DIR/libetw.a" other.a
! wall other.a || fail "test_wall.py takes a library with other names"
grep -q 'exports time_add' out || fail "test_wall.py does not see a name too many: $(cat out)"
grep -q 'does not define etw_version' out || fail "test_wall.py does not see a missing name: $(cat out)"
