#!/usr/bin/env bash
# The web configuration as an operator meets it: curl with TLS, client certificates and users; a real Prometheus that scrapes
# with all three; certificates and users that are exchanged while the exporter runs. The Windows program runs under Wine, its
# clients on Linux.
. "${BASH_SOURCE%/*}/lib.bash"

if [[ $ETW_EXPORTER == *.exe ]]; then
	runner=("${WINE64:-/usr/lib/wine/wine64}")
	end_signal=KILL # SIGTERM ends only the main thread under Wine
	MAKE_SAMPLE=$SOURCE_DIR/build/release/make_sample
fi

for tool in curl openssl; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
mkdir "$work/tls"
cd "$work/tls"

# ---- certificates ----

authority() { # name
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.crt" -days 30 \
		-subj "/CN=$1" -addext basicConstraints=critical,CA:TRUE
}

certificate() { # name, authority, subject alternative names
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"
	printf 'subjectAltName=%s\n' "$3" >"$1.ext"
	openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.crt"
}

{
	authority ca
	authority stranger_ca
	certificate server ca IP:127.0.0.1,DNS:localhost
	certificate renewed ca IP:127.0.0.1,DNS:localhost
	certificate prometheus ca DNS:prometheus.example
	certificate other_client ca DNS:other.example
	certificate stranger stranger_ca DNS:prometheus.example
} >"$work/openssl.log" 2>&1 || fail "openssl: $(cat "$work/openssl.log")"
cp server.crt tls.crt
cp server.key tls.key

# Of "fakepassword": prometheus/exporter-toolkit, web/handler.go.
hash='$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi'

# Every key of the format that can be honoured.
cat >web.yml <<YAML
tls_server_config:
  cert_file: tls.crt
  key_file: tls.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans:
    - prometheus.example
  min_version: TLS12
  max_version: TLS13
  cipher_suites:
    - TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
    - TLS_AES_128_GCM_SHA256
  prefer_server_cipher_suites: true
  curve_preferences:
    - X25519
    - CurveP256
http_server_config:
  http2: false
  headers:
    Content-Security-Policy: frame-ancestors 'none'
    X-Frame-Options: deny
    X-Content-Type-Options: nosniff
    X-XSS-Protection: 1; mode=block
    Strict-Transport-Security: max-age=31536000
basic_auth_users:
  prometheus: $hash
rate_limit:
  interval: 1ms
  burst: 1000
YAML

# ---- checking ----

cd "$work" # relative paths start at the configuration, not here
"${runner[@]}" "$ETW_EXPORTER" --check-config --web.config.file=tls/web.yml >"$work/out" 2>"$work/err" ||
	fail "the configuration is not valid: $(cat "$work/err")"
sed 's/http2: false/http2: true/; s/TLS12/TLS10/; s/min_version/min_versoin/' tls/web.yml >tls/wrong.yml
"${runner[@]}" "$ETW_EXPORTER" --check-config --web.config.file=tls/wrong.yml >"$work/out" 2>"$work/err" && fail "wrong.yml is valid"
for pattern in "wrong\.yml:8:3: unknown key 'min_versoin'; did you mean 'min_version'" 'wrong\.yml:18:10: http2: HTTP/2 is not supported'; do
	grep -q "$pattern" "$work/err" || fail "no word about $pattern: $(cat "$work/err")"
done

# ---- clients ----

start_exporter --replay.file="$work/sample.etl" --web.config.file=tls/web.yml
url=${url/http:/https:}
cd "$work/tls"
own=(--cert prometheus.crt --key prometheus.key)
user=(--user prometheus:fakepassword)
get() { curl -sS --cacert ca.crt --max-time 600 "$@"; }
# status WANTED ARGUMENTS...: the status of an answer; 000: there is no connection.
status() {
	local wanted=$1 got
	shift
	got=$(get -o "$work/page" -w '%{http_code}' "$@" 2>"$work/err") || true
	[ "$got" = "$wanted" ] || fail "$*: $got, expected $wanted: $(cat "$work/err" "$work/page")"
}

until_true 30 get "${own[@]}" "${user[@]}" -f "$url/-/ready" || fail "never ready: $(cat "$work/log")"
status 200 "${own[@]}" "${user[@]}" "$url/metrics"
grep -q '^etw_exporter_build_info{' "$work/page" || fail "that is no page of metrics"
for path in / /metrics /-/healthy /-/ready /none; do
	status 401 "${own[@]}" "$url$path"
	status 000 "$url$path"
done
status 200 "${own[@]}" "${user[@]}" --tls-max 1.2 "$url/metrics"
status 000 "${own[@]}" "${user[@]}" --tlsv1.1 --tls-max 1.1 "$url/metrics"
status 000 "${own[@]}" "${user[@]}" --tls-max 1.2 --ciphers ECDHE-ECDSA-AES256-GCM-SHA384 "$url/metrics"
status 000 "${own[@]}" "${user[@]}" --cacert stranger_ca.crt "$url/metrics"
status 000 --cert stranger.crt --key stranger.key "${user[@]}" "$url/metrics"
status 000 --cert other_client.crt --key other_client.key "${user[@]}" "$url/metrics"
[ "$(get "${own[@]}" "${user[@]}" --http2 -o /dev/null -w '%{http_version}' "$url/metrics")" = 1.1 ] || fail "not HTTP/1.1"
[ "$(get "${own[@]}" "${user[@]}" -o /dev/null -o /dev/null -w '%{num_connects}' "$url/metrics" "$url/-/healthy")" = 10 ] ||
	fail "the connection does not serve a second request"
status 400 "${url/https:/http:}/metrics"

get "${own[@]}" "${user[@]}" -D "$work/head" -o /dev/null "$url/"
for header in "Content-Security-Policy: frame-ancestors 'none'" 'X-Frame-Options: deny' 'X-Content-Type-Options: nosniff' \
	'X-XSS-Protection: 1; mode=block' 'Strict-Transport-Security: max-age=31536000'; do
	tr -d '\r' <"$work/head" | grep -Fxq "$header" || fail "$header is missing: $(cat "$work/head")"
done

# A wrong password is refused, and so is an unknown user; after that the address has to wait (429) for a moment.
refused() { [ "$(get "$@" -o /dev/null -w '%{http_code}' "$url/metrics")" = 401 ]; }
until_true 30 refused "${own[@]}" --user prometheus:wrong || fail "a wrong password is not refused with 401"
until_true 30 refused "${own[@]}" --user mallory:fakepassword || fail "an unknown user is not refused with 401"
status 200 "${own[@]}" "${user[@]}" "$url/metrics"
for metric in etw_exporter_http_auth_failures_total'{reason="denied"}' etw_exporter_tls_handshake_failures_total \
	etw_exporter_tls_certificate_not_after_timestamp_seconds etw_exporter_web_config_last_reload_successful \
	etw_exporter_web_config_last_reload_success_timestamp_seconds; do
	grep -F "$metric " "$work/page" | says ' [1-9]' || fail "$metric is not above 0: $(grep -F "${metric%\{*}" "$work/page")"
done
[ "$(grep -c 'level=info msg="A login was refused: unknown user or wrong password" client=127.0.0.1' "$work/log")" = 2 ] ||
	fail "not two refused logins in the log: $(grep login "$work/log")"
grep -q fakepassword "$work/log" && fail "the log has a password"

# Eight addresses try passwords all the time: whoever has logged in before does not notice.
for i in {2..9}; do
	for _ in {1..20}; do
		get "${own[@]}" --interface "127.0.0.$i" --user "prometheus:guess$i" -o /dev/null "$url/metrics" || true
	done &
	guesses[i]=$!
done
for _ in {1..20}; do
	status 200 "${own[@]}" "${user[@]}" "$url/-/healthy"
done
wait "${guesses[@]}"

# ---- a real Prometheus ----

if command -v prometheus >/dev/null && [ ${#runner[@]} = 0 ]; then
	start_prometheus "scheme: https
tls_config: { ca_file: $work/tls/ca.crt, cert_file: $work/tls/prometheus.crt, key_file: $work/tls/prometheus.key }
basic_auth: { username: prometheus, password: fakepassword }"
	has() { query "$1" | says '"value":\['; }
	until_true 60 has 'up{job="etw"} == 1' || fail "Prometheus cannot scrape: $(tail -3 "$work/prometheus.log")"
	until_true 60 has 'etw_exporter_scrapes_total{code="200"} > 2' || fail "Prometheus does not scrape again"
	echo "ok: Prometheus scrapes with TLS, a client certificate and a user"
else
	echo "Prometheus is left out"
fi

# ---- changes while it runs ----

serial() { openssl x509 -in "$1" -noout -serial; }
shakes_hands() {
	openssl s_client -connect "${url#https://}" -cert prometheus.crt -key prometheus.key </dev/null >"$work/served" || true
	grep 'BEGIN CERTIFICATE' "$work/served"
}
served() {
	until_true 30 shakes_hands || true # a client that is held up for five seconds is sent away
	openssl x509 -noout -serial <"$work/served"
}
serves() { [ "$(served)" = "$(serial "$1")" ]; }
serves server.crt || fail "not the certificate of the file"
cp renewed.crt new && mv new tls.crt # whole, so that only its key, which comes later, is wrong
until_true 30 grep -q 'The changed web configuration cannot be used' "$work/log" || fail "no word about the key: $(tail -3 "$work/log")"
serves server.crt || fail "a certificate without its key is in use"
status 200 "${own[@]}" "${user[@]}" "$url/metrics"
grep -q '^etw_exporter_web_config_last_reload_successful 0$' "$work/page" || fail "the metric does not show the mistake"
[ "$(grep -c 'The changed web configuration cannot be used' "$work/log")" = 1 ] || fail "the mistake is logged more than once"
cp renewed.key new && mv new tls.key
until_true 30 serves renewed.crt || fail "the new certificate is not taken: $(tail -3 "$work/log")"
cp stranger_ca.crt ca.new && mv ca.new client_ca.crt
sed -i 's/client_ca_file: ca.crt/client_ca_file: client_ca.crt/; s/^  prometheus: /  robert: /' web.yml
came() { [ "$(get --cert stranger.crt --key stranger.key --user robert:fakepassword -o /dev/null -w '%{http_code}' "$url/metrics")" = 200 ]; }
until_true 30 came || fail "the new authority and user are not taken: $(tail -3 "$work/log")"
status 000 "${own[@]}" "${user[@]}" "$url/metrics"
until_true 30 refused --cert stranger.crt --key stranger.key "${user[@]}" || fail "the earlier user is not refused"
echo "ok: certificate, authority and users are exchanged while it runs"

if [ "$end_signal" = TERM ]; then
	kill -TERM "$exporter_pid"
	wait "$exporter_pid" || fail "exit $?: $(tail -3 "$work/log")"
fi
