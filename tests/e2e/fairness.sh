#!/usr/bin/env bash
# Many requests of some clients beside one of another client: passwords that are guessed, and large pages. The limits are numbers of
# tries, ratios of times on the same machine, and memory. LONG_TESTS=1: more addresses, and node_exporter, where it is at hand, has the
# same attacks for comparison.
. "${BASH_SOURCE%/*}/lib.bash"

for tool in python3 curl; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done
python3 -c 'import socket; socket.create_server(("127.0.1.1", 0))' 2>/dev/null || skip "127.0.1.1 is no address of this machine"
fairness=$SOURCE_DIR/tests/e2e/fairness.py
end_exporter() {
	kill -TERM "$exporter_pid"
	wait "$exporter_pid" || fail "exit $? after SIGTERM: $(tail -3 "$work/log")"
}
# start_node ARGUMENTS...: sets node to its port, or to "" without one.
start_node() {
	node=
	is_long || return 0
	command -v prometheus-node-exporter >/dev/null || return 0
	for _ in 1 2 3; do
		port=$((20000 + RANDOM % 20000))
		prometheus-node-exporter --web.listen-address="127.0.0.1:$port" "$@" </dev/null >"$work/node" 2>&1 &
		node_pid=$!
		if until_true 3 curl -sS "http://127.0.0.1:$port/"; then
			node=$port
			return
		fi
	done
}

# ---- passwords: 16 addresses guess from a cold start. A try each half second: six tries are three seconds ----
"$MAKE_MANY" "$work/many.etl" names 4200
# The hash is in prometheus/exporter-toolkit, web/handler.go.
cat >"$work/web.yml" <<-'YAML'
	basic_auth_users: { prometheus: '$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi' }
YAML
guessing=(0 16)
! is_long || guessing=(0 4 16 64)
for guessers in "${guessing[@]}"; do
	tries=50
	[ "$guessers" -gt 16 ] || tries=6
	start_exporter --web.config.file="$work/web.yml" --replay.file="$work/many.etl"
	python3 "$fairness" guess "exporter=${url##*:}" --guessers "$guessers" --tries "$tries" ||
		fail "$guessers addresses that guess keep out one that knows the password"
	end_exporter
	start_node --web.config.file="$work/web.yml"
	[ -z "$node" ] || python3 "$fairness" guess "node_exporter=$node" --guessers "$guessers" || true
	[ -z "$node" ] || kill "$node_pid"
done

# ---- pages: 30,000 series, taken by 64 clients of one address ----
printf 'limits: { series_per_family: 100000, series: 1000000 }\n' >"$work/config.yaml"
start_exporter --config.file="$work/config.yaml" --replay.file="$work/many.etl"
complete() { [ "$(curl -fsS "$url/metrics" | grep -vc '^#')" -gt 29000 ]; }
until_true 60 complete || fail "the page stays small"
python3 "$fairness" pages "exporter=${url##*:},$exporter_pid" --rounds 6 --limit 10 --memory 100 ||
	fail "64 clients of one address keep another one waiting"
end_exporter
start_node
[ -z "$node" ] || python3 "$fairness" pages "node_exporter=$node,$node_pid"
