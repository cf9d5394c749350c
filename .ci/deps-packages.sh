#!/usr/bin/env bash
# Installs what .ci/package.sh needs besides .ci/deps-debian.sh and .ci/deps-mingw.sh: what packs and describes packages. And what the
# tests of packages and of the mixin need.
# Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

install_packages \
	dpkg-dev git gzip msitools python3 python3-yaml wixl xz-utils zip \
	curl debootstrap jsonnet lintian
