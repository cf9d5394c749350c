#!/usr/bin/env bash
# .ci/package.sh: the packages for this system. Twice the same bytes; lintian finds nothing. In a Debian 12 that has nothing else, where that
# is possible here (root, mounts, debootstrap), the programs are installed over their former single package, run, upgraded, removed and
# purged; in another one that has a compiler as well, a program is built with the library.
. "${BASH_SOURCE%/*}/lib.bash"

for command in dpkg-deb dpkg-shlibdeps git gzip; do
	command -v "$command" >/dev/null || skip "$command is not installed: no package was made"
done
. /etc/os-release
[ "${ID:-} ${VERSION_CODENAME:-}" = "debian bookworm" ] || skip "the package was tried on Debian 12 only"

package() { # folder
	SOURCE_DATE_EPOCH=1700000000 PROJECT_URL=https://example.com/project bash "$SOURCE_DIR/.ci/package.sh" --linux "$BUILD_DIR" "$work/$1" >"$work/$1.out" 2>&1
}
package first &
package second || fail "package.sh: $(tail -5 "$work/second.out")"
wait $! || fail "package.sh: $(tail -5 "$work/first.out")"
diff -r "$work/first" "$work/second" || fail "two runs made different packages"
no_folders "$BUILD_DIR"/{etw_exporter,etwtool,libetw.a} # on which their build ids depend
exporter=$(echo "$work"/first/etw-exporter_*.deb) tool=$(echo "$work"/first/etwtool_*.deb) library=$(echo "$work"/first/libetw-dev_*.deb)

# changed DEB NEW.DEB: the same package after a change of what is unpacked in $work/unpacked.
unpack() { rm -rf "$work/unpacked" && dpkg-deb --raw-extract "$1" "$work/unpacked"; }
pack() { dpkg-deb --build --root-owner-group -Zgzip -z1 "$work/unpacked" "$1" >/dev/null; }
version() { sed -i "s/^Version: .*/Version: $1/" "$work/unpacked/DEBIAN/control"; }
# A later version of both, for the upgrade.
for package in exporter tool; do
	unpack "${!package}"
	version 99.0.0
	pack "$work/newer_$package.deb"
done
# Version 0.1.0 had both programs in one package.
unpack "$exporter"
version 0.1.0
dpkg-deb --fsys-tarfile "$tool" | tar -x -C "$work/unpacked"
sed -i 's/^Recommends: .*//; /^$/d' "$work/unpacked/DEBIAN/control"
pack "$work/former.deb"

python3 "$SOURCE_DIR/tests/e2e/check_packages.py" "$work/first" >"$work/out" 2>&1 || fail "check_packages.py: $(cat "$work/out")"

# The runbooks of alerts are those of this version.
dpkg-deb --fsys-tarfile "$exporter" | tar -xO ./usr/share/etw_exporter/prometheus/alerts.yml >"$work/alerts.yml"
grep -q "runbook_url: '\?https://example.com/project/blob/v[0-9.]*/docs/runbooks.md#etwtargetdown" "$work/alerts.yml" ||
	fail "PROJECT_URL is not in alerts: $(grep -m 1 runbook_url "$work/alerts.yml")"

# What is in them, against what cmake installs, each file in one package.
contents() { dpkg-deb --fsys-tarfile "$1" | tar -t | sed 's|^\.||' | grep -v '/$'; }
cmake --install "$BUILD_DIR" --prefix "$work/installed" >"$work/out"
diff <(cd "$work/installed" && find . -type f ! -name LICENSE | sed 's|^\./|/usr/|; s|^/usr/etc/|/etc/|; s|/lib/|/lib/TRIPLET/|
	s|/zsh/site-functions/|/zsh/vendor-completions/|; s|/doc/etw_exporter/|/doc/PACKAGE/|; s|\(/man/.*\)|\1.gz|' | sort) \
	<(for deb in "$exporter" "$tool" "$library"; do contents "$deb"; done |
		grep -Ev '/changelog.gz$|/doc/etw_exporter$|/doc/[^/]*/(licences/.*|copyright)$' |
		sed -E "s|/doc/[^/]*/|/doc/PACKAGE/|; s|/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)/|/lib/TRIPLET/|" | sort) ||
	fail "the packages and the installation differ"
for deb in "$exporter" "$tool" "$library"; do
	name=$(dpkg-deb -f "$deb" Package)
	[ "$(contents "$deb" | grep -c "^/usr/share/doc/$name/\(copyright\|changelog.gz\)$")" = 2 ] || fail "$name: no copyright or no list of changes"
	diff <(dpkg-deb --fsys-tarfile "$deb" | tar -tv | awk '{ print $2 }' | sort -u) <(echo root/root) || fail "$name: files that are not of root"
	if command -v lintian >/dev/null; then
		lintian --allow-root -I --fail-on error,warning,info "$deb" >"$work/out" 2>&1 || fail "lintian: $(cat "$work/out")"
	fi
done

# ---- in a Debian that has nothing else ----

[ "$(id -u)" = 0 ] || skip "not root: the packages were not installed"
unshare --mount true 2>/dev/null || skip "no mounts here: the packages were not installed"

# bare_debian PACKAGE...: sets bare to the folder of a Debian that has these besides the least; made once for all runs. It is mounted below
# something writable.
bare_debian() {
	local packages mirror bare_lock

	packages=$(IFS=,; echo "$*")
	bare=${XDG_CACHE_HOME:-$HOME/.cache}/etw_exporter/debian/$(printf %s "$packages" | cksum | tr ' ' -)
	mkdir -p "${bare%/*}"
	exec {bare_lock}>"${bare%/*}/lock"
	flock "$bare_lock"
	if [ ! -d "$bare" ]; then
		command -v debootstrap >/dev/null || skip "debootstrap is not installed: the packages were not installed"
		mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Identifier: Packages' | sed -n 's/^bookworm //p' | sed -n 1p)
		rm -rf "$bare.new" # of a run that was ended early
		mkdir -p "$bare.new/etc/dpkg/dpkg.cfg.d"
		echo force-unsafe-io >"$bare.new/etc/dpkg/dpkg.cfg.d/debootstrap" # dpkg waits for the disk after each file otherwise
		debootstrap --variant=minbase --include="$packages" bookworm "$bare.new" "$mirror" >"$work/debootstrap" 2>&1 ||
			{ rm -rf "$bare.new"; skip "debootstrap failed, the packages were not installed: $(tail -1 "$work/debootstrap")"; }
		rm "$bare.new/etc/dpkg/dpkg.cfg.d/debootstrap"
		mv "$bare.new" "$bare"
	fi
	exec {bare_lock}>&-
}
needed() { for deb; do dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/[[:space:]]//g; s/,/\n/g'; done | sort -u; }

cat >"$work/enter.sh" <<'INSIDE'
# In a mount namespace of its own: what is written goes to a memory file system, and is gone with the namespace.
set -eu
say() { echo "$*" >&2; exit 1; }
mkdir "$work/layers" "$work/root"
mount -t tmpfs none "$work/layers" && mkdir "$work/layers/upper" "$work/layers/work" &&
	mount -t overlay none -o "lowerdir=$bare,upperdir=$work/layers/upper,workdir=$work/layers/work" "$work/root" &&
	mount -t proc none "$work/root/proc" || exit 77
enter=(chroot "$work/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
inside() { "${enter[@]}" "$@"; }
INSIDE

# try SCRIPT: runs it in the Debian in bare.
try() {
	local status=0

	cat "$work/enter.sh" "$1" >"$work/try.sh"
	work=$work bare=$bare exporter=$exporter tool=$tool library=$library unshare --mount bash "$work/try.sh" >"$work/out" 2>&1 || status=$?
	rmdir "$work/layers" "$work/root"
	[ "$status" != 77 ] || skip "no mounts here: the packages were made, but not installed: $(tail -1 "$work/out")"
	[ "$status" = 0 ] || fail "in the bare Debian: $(tail -20 "$work/out")"
}

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null

cat >"$work/programs.sh" <<'INSIDE'
cp "$work"/{sample.etl,former.deb,newer_exporter.deb,newer_tool.deb} "$exporter" "$tool" "$work/root/tmp/"
config=$work/root/etc/etw_exporter/etw_exporter.yaml
state() { inside dpkg-query -W -f '${Version} ${db:Status-Status}' "$1"; }

# From one package to two: etwtool belongs to another one, and cannot be installed beside the former one.
inside dpkg -i /tmp/former.deb
! inside dpkg -i "/tmp/${tool##*/}" || say "the package etwtool was installed over the former package"
inside dpkg --auto-deconfigure -i "/tmp/${tool##*/}" "/tmp/${exporter##*/}"
[ "$(state etw-exporter)" = "$(state etwtool)" ] || say "etw-exporter is $(state etw-exporter), etwtool is $(state etwtool)"
inside dpkg -S /usr/bin/etwtool | grep '^etwtool:' || say "/usr/bin/etwtool is of $(inside dpkg -S /usr/bin/etwtool)"

inside etw_exporter --version | grep '^etw_exporter ' || say "no version"
inside etwtool summary /tmp/sample.etl | grep '"records"' >/dev/null || say "etwtool"
inside etwtool check config /etc/etw_exporter/etw_exporter.yaml

# It serves the recording.
: >"$work/log"
"${enter[@]}" etw_exporter --config.file=/etc/etw_exporter/etw_exporter.yaml --web.listen-address=127.0.0.1:0 \
	--replay.file=/tmp/sample.etl 2>"$work/log" &
server=$!
port=''
for _ in $(seq 3000); do
	port=$(sed -n 's/.*Listening.* port=\([0-9]*\).*/\1/p' "$work/log")
	if [ -n "$port" ] && curl -fsS "http://127.0.0.1:$port/metrics" | grep '^etw_file_written_bytes_total.* [1-9]' >"$work/page"; then
		break
	fi
	kill -0 $server || break
	sleep 0.1
done
kill $server
wait $server || say "it ended with $?: $(cat "$work/log")"
[ -s "$work/page" ] || say "no metrics: $(cat "$work/log")"

# An upgrade keeps a changed configuration.
echo '# changed' >>"$config"
inside dpkg -i /tmp/newer_exporter.deb /tmp/newer_tool.deb
[ "$(state etw-exporter) $(state etwtool)" = "99.0.0 installed 99.0.0 installed" ] || say "not upgraded"
tail -1 "$config" | grep '# changed' || say "the upgrade changed the configuration"

# Removed, the configuration stays, and so does the other package; purged, nothing stays.
inside dpkg --remove etw-exporter
[ -e "$config" ] || say "removing took the configuration away"
[ ! -e "$work/root/usr/bin/etw_exporter" ] || say "the program is still there"
inside etwtool --version
inside dpkg --purge etw-exporter etwtool
left=$(cd "$work/root" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/log \) -prune -o -name '*etw*' -print)
[ -z "$left" ] || say "left after purge: $left"
inside dpkg --audit
INSIDE
mapfile -t packages < <(needed "$exporter" "$tool")
bare_debian "${packages[@]}"
try "$work/programs.sh"

# The library, with what its package depends on, a compiler and pkg-config.
cat >"$work/library.sh" <<'INSIDE'
cp "$library" "$work/sample.etl" "$work/root/tmp/"
inside dpkg -i "/tmp/${library##*/}"
printf '#include <etw/version.h>\n#include <stdio.h>\nint main(void) { return puts(etw_version()) == EOF; }\n' >"$work/root/tmp/version.c"
for source in "$work/root/tmp/version.c" "$work/root"/usr/share/doc/libetw-dev/examples/*.c; do
	[ -e "$source" ] || continue
	inside sh -c "gcc -o /tmp/program '${source#"$work/root"}' \$(pkg-config --cflags --libs libetw)" || say "gcc: ${source##*/}"
	case $source in
	*/version.c) inside /tmp/program | grep "^$(inside dpkg-query -W -f '${Version}' libetw-dev)$" || say "another version" ;;
	*/print_events.c) [ "$(inside /tmp/program /tmp/sample.etl | wc -l)" -gt 100 ] || say "print_events prints no events" ;;
	esac
done
inside dpkg --purge libetw-dev
left=$(cd "$work/root" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/log \) -prune -o -name '*etw*' -print)
[ -z "$left" ] || say "left after purge: $left"
INSIDE
mapfile -t packages < <({ needed "$library"; printf '%s\n' gcc libc6-dev pkg-config; } | sort -u)
bare_debian "${packages[@]}"
try "$work/library.sh"
