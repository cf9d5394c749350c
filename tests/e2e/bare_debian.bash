# For scripts that try the .deb in a Debian 12 that has nothing else; after lib.bash.

can_make_deb() { # skips the script where no .deb can be made
	local command

	for command in dpkg-deb dpkg-shlibdeps git gzip; do
		command -v "$command" >/dev/null || skip "$command is not installed: no package was made"
	done
	. /etc/os-release
	[ "${ID:-} ${VERSION_CODENAME:-}" = "debian bookworm" ] || skip "the package was tried on Debian 12 only"
}

# bare_debian PACKAGES: a Debian that has these besides the least, separated by commas; made once for all runs. Sets bare, the
# folder, which is to be mounted below something writable. Skips the script where that is impossible.
bare_debian() {
	local mirror

	[ "$(id -u)" = 0 ] || skip "not root: the package was not installed"
	unshare --mount true 2>/dev/null || skip "no mounts here: the package was not installed"
	bare=${XDG_CACHE_HOME:-$HOME/.cache}/etw_exporter/debian/$(printf %s "$1" | cksum | tr ' ' -)
	mkdir -p "${bare%/*}"
	exec {bare_lock}>"${bare%/*}/lock"
	flock "$bare_lock"
	if [ ! -d "$bare" ]; then
		command -v debootstrap >/dev/null || skip "debootstrap is not installed: the package was not installed"
		mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Identifier: Packages' | sed -n 's/^bookworm //p' | sed -n 1p)
		rm -rf "$bare.new" # of a run that was ended early
		debootstrap --variant=minbase --include="$1" bookworm "$bare.new" "$mirror" >"$work/debootstrap" 2>&1 ||
			{ rm -rf "$bare.new"; skip "debootstrap failed, the package was not installed: $(tail -1 "$work/debootstrap")"; }
		mv "$bare.new" "$bare"
	fi
	exec {bare_lock}>&-
}
