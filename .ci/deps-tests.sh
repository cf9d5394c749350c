#!/usr/bin/env bash
# Installs what the tests need besides .ci/deps-debian.sh: clang for fuzzing, Python packages, linters, debootstrap, Prometheus.
# Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

install_packages \
	clang debootstrap jsonnet libclang-rt-dev lintian llvm \
	curl git openssl python3 python3-jsonschema python3-yaml shellcheck yamllint
bash "$here/deps-prometheus.sh"
