#!/usr/bin/env bash
# .ci/package.sh: the packages for this system. Twice the same bytes; lintian finds no error; the .deb is installed, run, upgraded, removed
# and purged in a Debian 12 that has nothing else, where that is possible here (root, mounts, debootstrap).
. "${BASH_SOURCE%/*}/lib.bash"

for command in dpkg-deb dpkg-shlibdeps git gzip; do
	command -v "$command" >/dev/null || skip "$command is not installed: no package was made"
done
. /etc/os-release
[ "${ID:-} ${VERSION_CODENAME:-}" = "debian bookworm" ] || skip "the package was tried on Debian 12 only"

package() { # folder
	SOURCE_DATE_EPOCH=1700000000 bash "$SOURCE_DIR/.ci/package.sh" --linux "$BUILD_DIR" "$work/$1" >"$work/$1.out" 2>&1
}
package first &
package second || fail "package.sh: $(tail -5 "$work/second.out")"
wait $! || fail "package.sh: $(tail -5 "$work/first.out")"
diff -r "$work/first" "$work/second" || fail "two runs made different packages"
no_folders "$BUILD_DIR"/{etw_exporter,etwtool} # on which their build ids depend
deb=$(echo "$work"/first/etw-exporter_*.deb) newer=$work/newer.deb

# The same with a later version, for the upgrade.
dpkg-deb --raw-extract "$deb" "$work/newer"
sed -i 's/^Version: .*/Version: 99.0.0/' "$work/newer/DEBIAN/control"
dpkg-deb --build --root-owner-group -Zgzip -z1 "$work/newer" "$newer" >/dev/null

python3 "$SOURCE_DIR/tests/e2e/check_packages.py" "$work/first" >"$work/out" 2>&1 || fail "check_packages.py: $(cat "$work/out")"

# What is in it, against what cmake installs.
cmake --install "$BUILD_DIR" --prefix "$work/installed" >"$work/out"
diff <(cd "$work/installed" && find . -type f | sed 's|^\./|/usr/|; s|^/usr/etc/|/etc/|
	s|/zsh/site-functions/|/zsh/vendor-completions/|; s|/doc/etw_exporter/|/doc/etw-exporter/|; s|/LICENSE$|/copyright|; s|\(/man/.*\)|\1.gz|' | sort) \
	<(dpkg-deb --fsys-tarfile "$deb" | tar -t | sed 's|^\.||' | grep -v '/$' |
		grep -Ev '/changelog.gz$|/doc/etw_exporter$|/doc/etw-exporter/licences/' | sort) ||
	fail "the package and the installation differ"
diff <(dpkg-deb --fsys-tarfile "$deb" | tar -tv | awk '{ print $2 }' | sort -u) <(echo root/root) || fail "files that are not of root"
if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error "$deb" >"$work/out" 2>&1 || fail "lintian: $(cat "$work/out")"
fi

# ---- in a Debian that has nothing else ----

[ "$(id -u)" = 0 ] || skip "not root: the package was not installed"
unshare --mount true 2>/dev/null || skip "no mounts here: the package was not installed"

# A Debian that has what the package depends on besides the least; made once for all runs. It is mounted below something writable.
depends=$(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/[[:space:]]//g')
bare=${XDG_CACHE_HOME:-$HOME/.cache}/etw_exporter/debian/$(printf %s "$depends" | cksum | tr ' ' -)
mkdir -p "${bare%/*}"
exec {bare_lock}>"${bare%/*}/lock"
flock "$bare_lock"
if [ ! -d "$bare" ]; then
	command -v debootstrap >/dev/null || skip "debootstrap is not installed: the package was not installed"
	mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Identifier: Packages' | sed -n 's/^bookworm //p' | sed -n 1p)
	rm -rf "$bare.new" # of a run that was ended early
	mkdir -p "$bare.new/etc/dpkg/dpkg.cfg.d"
	echo force-unsafe-io >"$bare.new/etc/dpkg/dpkg.cfg.d/debootstrap" # dpkg waits for the disk after each file otherwise
	debootstrap --variant=minbase --include="$depends" bookworm "$bare.new" "$mirror" >"$work/debootstrap" 2>&1 ||
		{ rm -rf "$bare.new"; skip "debootstrap failed, the package was not installed: $(tail -1 "$work/debootstrap")"; }
	rm "$bare.new/etc/dpkg/dpkg.cfg.d/debootstrap"
	mv "$bare.new" "$bare"
fi
exec {bare_lock}>&-
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null

# In a mount namespace of its own: what is written goes to a memory file system, and is gone with the namespace.
cat >"$work/try.sh" <<'INSIDE'
set -eu
say() { echo "$*" >&2; exit 1; }
mount -t tmpfs none "$work/layers" && mkdir "$work/layers/upper" "$work/layers/work" &&
	mount -t overlay none -o "lowerdir=$bare,upperdir=$work/layers/upper,workdir=$work/layers/work" "$work/root" &&
	mount -t proc none "$work/root/proc" || exit 77
cp "$work/sample.etl" "$deb" "$newer" "$work/root/tmp/"
enter=(chroot "$work/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
inside() { "${enter[@]}" "$@"; }
config=$work/root/etc/etw_exporter/etw_exporter.yaml

inside dpkg -i "/tmp/${deb##*/}"
inside etw_exporter --version | grep '^etw_exporter ' || say "no version"
inside etwtool summary /tmp/sample.etl | grep '"records"' >/dev/null || say "etwtool"
inside etwtool check config /etc/etw_exporter/etw_exporter.yaml

# It serves the recording.
: >"$work/log"
"${enter[@]}" etw_exporter --config.file=/etc/etw_exporter/etw_exporter.yaml --web.listen-address=127.0.0.1:0 \
	--replay.file=/tmp/sample.etl 2>"$work/log" &
exporter=$!
port=''
for _ in $(seq 3000); do
	port=$(sed -n 's/.*Listening.* port=\([0-9]*\).*/\1/p' "$work/log")
	if [ -n "$port" ] && curl -fsS "http://127.0.0.1:$port/metrics" | grep '^etw_file_written_bytes_total.* [1-9]' >"$work/page"; then
		break
	fi
	kill -0 $exporter || break
	sleep 0.1
done
kill $exporter
wait $exporter || say "it ended with $?: $(cat "$work/log")"
[ -s "$work/page" ] || say "no metrics: $(cat "$work/log")"

# An upgrade keeps a changed configuration.
echo '# changed' >>"$config"
inside dpkg -i "/tmp/${newer##*/}"
[ "$(inside dpkg-query -W -f '${Version} ${db:Status-Status}' etw-exporter)" = "99.0.0 installed" ] || say "not upgraded"
tail -1 "$config" | grep '# changed' || say "the upgrade changed the configuration"

# Removed, the configuration stays; purged, nothing stays.
inside dpkg --remove etw-exporter
[ -e "$config" ] || say "removing took the configuration away"
[ ! -e "$work/root/usr/bin/etw_exporter" ] || say "the program is still there"
inside dpkg --purge etw-exporter
left=$(cd "$work/root" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/log \) -prune -o -name '*etw*' -print)
[ -z "$left" ] || say "left after purge: $left"
inside dpkg --audit
INSIDE
mkdir "$work/layers" "$work/root"
status=0
work=$work bare=$bare deb=$deb newer=$newer unshare --mount bash "$work/try.sh" >"$work/out" 2>&1 || status=$?
[ "$status" != 77 ] || skip "no mounts here: the package was made, but not installed: $(tail -1 "$work/out")"
[ "$status" = 0 ] || fail "in the bare Debian: $(tail -20 "$work/out")"
