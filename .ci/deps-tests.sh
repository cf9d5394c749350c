#!/usr/bin/env bash
# Installs what the tests need besides .ci/deps-debian.sh: clang for fuzzing and analysis, a quick linker, Python packages, linters, valgrind,
# shells with completion, systemd-analyze, Prometheus, Chromium for the landing page.
# Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

install_packages \
	clang clang-tidy libclang-rt-dev lld llvm \
	bzip2 cppcheck curl fish git libprotobuf-dev man-db mandoc openssl protobuf-compiler pyflakes3 python3 python3-jsonschema python3-prometheus-client \
	python3-protobuf python3-yaml shellcheck systemd valgrind yamllint xz-utils zsh zstd
bash "$here/deps-prometheus.sh"

# The published description of the protobuf format; its package wants a Go compiler beside it.
model=$cache/$(uname -m)/share/client_model
lock_cache
if [ ! -e "$model/metrics.proto" ]; then
	say "unpacking metrics.proto in $model"
	mkdir -p "$work/model" "$model"
	(cd "$work/model" && fetch download golang-github-prometheus-client-model-dev && dpkg-deb -x golang-*.deb .)
	install -m 644 "$work"/model/usr/share/gocode/src/github.com/prometheus/client_model/io/prometheus/client/metrics.proto "$model"
fi

# Ubuntu has Chromium only as a snap; e2e_landing is skipped there.
if apt-cache show chromium >/dev/null 2>&1; then
	install_packages chromium
fi
