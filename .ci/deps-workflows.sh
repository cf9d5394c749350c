#!/usr/bin/env bash
# Installs what checking .github/workflows needs besides .ci/deps-tests.sh: Node.js, npm and the packages of tests/workflows' lock file
# (11 MB). Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

install_node
lock_cache
npm_packages "$here/../tests/workflows"
