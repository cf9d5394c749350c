#!/usr/bin/env bash
# Installs what tests/run.sh --all needs besides .ci/deps-tests.sh: clang for fuzzing and analysis, other analysers and linters, valgrind,
# shells with completion, and what reads protobuf. .ci/deps-prometheus.sh, -dashboards.sh, -workflows.sh and -packages.sh install more.
# Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

install_packages \
	clang clang-tidy libclang-rt-dev llvm \
	cppcheck fish libprotobuf-dev protobuf-compiler pyflakes3 python3-protobuf shellcheck valgrind yamllint zsh

# The published description of the protobuf format; its package wants a Go compiler beside it.
model=$cache/$(uname -m)/share/client_model
lock_cache
if [ ! -e "$model/metrics.proto" ]; then
	say "unpacking metrics.proto in $model"
	mkdir -p "$work/model" "$model"
	(cd "$work/model" && fetch download golang-github-prometheus-client-model-dev && dpkg-deb -x golang-*.deb .)
	install -m 644 "$work"/model/usr/share/gocode/src/github.com/prometheus/client_model/io/prometheus/client/metrics.proto "$model"
fi
