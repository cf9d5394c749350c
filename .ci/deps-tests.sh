#!/usr/bin/env bash
# Installs what the short test run needs besides .ci/deps-debian.sh: small tools and Python packages.
# Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

install_packages bzip2 ccache curl git man-db mandoc openssl python3 python3-jsonschema python3-prometheus-client python3-yaml xz-utils zstd
