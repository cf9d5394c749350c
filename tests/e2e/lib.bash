# What the end-to-end scripts share. ctest gives ETW_EXPORTER, ETWTOOL, MAKE_SAMPLE, SOURCE_DIR and BUILD_DIR.
set -euo pipefail

work=$(mktemp -d)
runner=()      # what programs are run by, such as Wine
end_signal=TERM
exporter_input=/dev/null

finish() {
	local status=$? pid
	# Only what still runs: the number of a program that has ended may be that of another test's by now.
	for pid in $(jobs -pr); do
		kill -"$end_signal" "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
	exit "$status"
}
trap finish EXIT

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

skip() {
	echo "SKIP: $*"
	exit 77
}

# until_true SECONDS COMMAND...: waits for a condition, not for a time. SECONDS is what an idle machine needs at the very most;
# a busy one gets ten times as long. ctest ends a script later than that.
until_true() {
	local end=$((SECONDS + 10 * $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# says PATTERN: whether a line of the standard input matches. It reads all; "grep -q" ends at the first match, and the program
# before it then fails when it writes on.
says() { grep -c "$@" >/dev/null; }

# The exporter waits five seconds for a request, from the connection on (HEAD_NS of reception.c). A client that a busy machine holds up
# for as long gets no answer, or no end of its TLS handshake, and asks again.
if command -v curl >/dev/null; then
	curl() {
		local begun status out=$work/curl.$BASHPID

		for _ in {1..5}; do
			begun=$SECONDS status=0
			command curl "$@" >"$out" || status=$?
			[[ $status == @(35|52|55|56) ]] && [ $((SECONDS - begun)) -ge 5 ] || break
		done
		cat "$out"
		rm "$out"
		return "$status"
	}
fi

# expect_exit STATUS PATTERN COMMAND...: exit status, and exactly one line on standard error that matches, besides what the
# exporter logs about its start.
expect_exit() {
	local want=$1 pattern=$2 got=0
	shift 2
	"$@" >"$work/out" 2>"$work/all" </dev/null || got=$?
	sed '/^ts=[^ ]* level=info /d' "$work/all" >"$work/err"
	[ "$got" = "$want" ] || fail "$*: exit $got, expected $want: $(head -c 400 "$work/err")"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "$*: not one line: $(head -c 400 "$work/err")"
	grep -Eq -- "$pattern" "$work/err" || fail "$*: \"$(cat "$work/err")\" does not match $pattern"
}

# peak COMMAND...: its largest resident size in bytes. What it prints is in the file peak_output, if there is one.
peak() {
	# A process has the size of the one that starts it until it becomes another program: therefore a small shell starts this one.
	# shellcheck disable=SC2016 # it expands these
	sh -c 'out=$1
		shift
		"$@" >"$out" || { echo "$*: exit $?" >&2; exit 1; }
		exec python3 -c "import resource; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
	' sh "${peak_output:-/dev/null}" "$@"
}

exporter_listens() { grep -q 'msg="*Listening' "$work/log"; }
listens_or_ended() { exporter_listens || ! kill -0 "$exporter_pid"; }

# start_exporter ARGUMENTS...: starts it on a free port; sets exporter_pid and url.
start_exporter() {
	: >"$work/log"
	"${runner[@]}" "$ETW_EXPORTER" --web.listen-address=127.0.0.1:0 "$@" <"$exporter_input" >"$work/stdout" 2>"$work/log" &
	exporter_pid=$!
	until_true 30 listens_or_ended || true
	exporter_listens || fail "the exporter does not listen: $(cat "$work/log")"
	url=http://127.0.0.1:$(sed -n 's/.*Listening.* port=\([0-9]*\).*/\1/p' "$work/log" | head -1)
}

# start_live_exporter: starts one with two sessions of the fake ETW; file descriptor 3 takes what the machine is to do
# (exporter_on_fake.c).
start_live_exporter() {
	ETW_EXPORTER=$EXPORTER_ON_FAKE
	end_signal=KILL # asked to end, it waits for the end of its input
	cat >"$work/config.yaml" <<-'YAML'
		sessions:
		  etw_exporter: { providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ] }
		  providers: { logger: user, providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ] }
	YAML
	mkfifo "$work/commands"
	exec 3<>"$work/commands"
	exporter_input=$work/commands
	start_exporter --config.file="$work/config.yaml"
}

# The log says the port; sets prometheus.
prometheus_listens() {
	prometheus=$(sed -n 's|.*Listening on" address=\(127.0.0.1:[0-9]*\).*|http://\1|p' "$work/prometheus.log" | head -1)
	[ -n "$prometheus" ]
}

# start_prometheus [YAML]: starts a Prometheus, with prometheus_flags, on a free port that scrapes the exporter each second, with
# further settings of the scrape; sets prometheus_pid and prometheus.
prometheus_flags=()
start_prometheus() {
	cat >"$work/prometheus.yml" <<-YAML
		global: { scrape_interval: 1s }
		scrape_configs:
		  - job_name: etw
		    static_configs: [ { targets: [ "${url#*://}" ] } ]
		$(sed 's/^/    /' <<<"${1-}")
	YAML
	rm -f "$work/prometheus.log" # of one before
	prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:0 \
		"${prometheus_flags[@]}" </dev/null >"$work/prometheus.log" 2>&1 &
	prometheus_pid=$!
	until_true 30 prometheus_listens || fail "Prometheus does not listen: $(tail -3 "$work/prometheus.log")"
	until_true 30 curl -fsS "$prometheus/-/ready" || fail "Prometheus does not start: $(tail -3 "$work/prometheus.log")"
}

# tls_files: in $work an authority.pem, two certificates of it for 127.0.0.1 with their keys (server.crt, renewed.crt), and web.yml,
# a web configuration with the first of them, in tls/, and the user prometheus with the password "fakepassword".
tls_files() {
	local name

	(
		cd "$work"
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout authority.key -out authority.pem -days 30 \
			-subj /CN=authority -addext basicConstraints=critical,CA:TRUE
		for name in server renewed; do
			openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $name.key -out $name.csr -subj /CN=$name
			openssl x509 -req -in $name.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 30 \
				-extfile <(echo subjectAltName=IP:127.0.0.1) -out $name.crt
		done
		mkdir tls
		cp server.crt tls/tls.crt
		cp server.key tls/tls.key
		# The hash is in prometheus/exporter-toolkit, web/handler.go.
		cat >web.yml <<-'YAML'
			tls_server_config: { cert_file: tls/tls.crt, key_file: tls/tls.key }
			basic_auth_users: { prometheus: '$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi' }
		YAML
		[ -s renewed.crt ]
	) >"$work/openssl.log" 2>&1 || fail "openssl: $(cat "$work/openssl.log")"
}

# python_with MODULE...: sets python to one that has these modules; false if there is none.
python_with() {
	for python in python3 /usr/bin/python3; do # another Python before the system's does not see its packages
		"$python" -c "import $(IFS=,; echo "$*")" 2>/dev/null && return
	done
	return 1
}

# The published description of the protobuf format, which a set-up script fetches. Read with it: read_protobuf.py.
metrics_proto=${XDG_CACHE_HOME:-~/.cache}/etw_exporter/$(uname -m)/share/client_model/metrics.proto
has_protobuf_reader() { python_with google.protobuf prometheus_client && command -v protoc >/dev/null && [ -e "$metrics_proto" ]; }

# no_folders FILE...: no name of the folder of the sources, or of a temporary one where a set-up script built a library. Each build
# would be another one.
no_folders() {
	local found

	strings -a "$@" >"$work/strings" || fail "$*: not all of them are there"
	found=$(grep -E -- "^.{0,2}$SOURCE_DIR/|/tmp\.[A-Za-z0-9]{10}/" "$work/strings" | sort -u | head -3) || true
	[ -z "$found" ] || fail "$*: names of folders: $found"
}

# query PROMQL: what the Prometheus answers.
query() { curl -fsS --get --data-urlencode "query=$1" "$prometheus/api/v1/query"; }

# in_chromium SCRIPT FOLDER: for tests of a page in headless Chromium. After it, `steps STEP ADDRESS MORE... [-- STEP ADDRESS MORE...]...`
# runs steps of the script in one Chromium, which takes more than a second of processor time to start; browser.mjs isolates them from
# each other. Pictures to look at are left in BUILD_DIR/FOLDER.
in_chromium() {
	local tool

	for tool in node chromium; do
		command -v "$tool" >/dev/null || skip "$tool is not installed: bash .ci/deps-dashboards.sh"
	done
	chromium_script=$1
	pictures=$BUILD_DIR/$2
	profiles=0
	mkdir -p "$pictures"
}

steps() {
	profiles=$((profiles + 1))
	node "$SOURCE_DIR/tests/e2e/$chromium_script" "$work/profile$profiles" "$pictures" "$@" 2>"$work/out" || fail "$(head -40 "$work/out")"
}

# The reference recordings and manifests, which not every machine has.
traces=$SOURCE_DIR/../shared/traces
reference_manifests=$SOURCE_DIR/../shared/reference/manifests

# needs FILE...: skips the rest of the script unless all of these are there.
needs() {
	local file

	for file in "$@"; do
		[ -e "$file" ] || skip "${file#"$SOURCE_DIR/"} is absent: what needs it was not tested"
	done
}

# Recordings to try everything on: the sample, and the real ones where they are at hand.
recordings() {
	"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
	echo "$work/sample.etl"
	ls "$traces"/*.etl 2>/dev/null || true
}

# With LONG_TESTS=1, as tests/run.sh --long sets it.
is_long() { [ "${LONG_TESTS:-0}" != 0 ]; }

# For tests that run many programs on each recording: the sample and three real ones, of the kernel with losses, of .NET with the
# kernel, and one without processes. In a long run: all of them.
some_recordings() {
	local name

	! is_long || { recordings; return; }
	"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
	echo "$work/sample.etl"
	for name in synthetic-qpc net.4.5.2.x64 SelfDescribingSingleEvent; do
		[ ! -e "$traces/$name.etl" ] || echo "$traces/$name.etl"
	done
}

# A build with sanitizers is slow: it shows how memory and threads are used, the release build what is printed. With LONG_TESTS=1 no
# build leaves anything out.
is_slow() { [ -n "${SANITIZERS:-}" ] && ! is_long; }

all_collectors=(--collector.image --collector.cpu --collector.interrupt --collector.sched)
