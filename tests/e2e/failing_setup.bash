# What failing_calls.py finds in its work folder. Source it after lib.bash.

[ -e "${FAILING_CALLS_LIBRARY:-}" ] || skip "no library to preload"
for tool in python3 openssl zstd; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done

"$MAKE_HOSTILE" "$work/small"
"$MAKE_STACKS" "$work/stacks.etl"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
cd "$work" || exit
cp small/every-class.etl again.etl
zstd -q small/every-class.etl -o every-class.etl.zst
python3 - <<-'PYTHON'
	import gzip, lzma, zipfile
	data = open("small/every-class.etl", "rb").read()
	open("every-class.etl.gz", "wb").write(gzip.compress(data))
	open("every-class.etl.xz", "wb").write(lzma.compress(data))
	with zipfile.ZipFile("every-class.zip", "w", zipfile.ZIP_DEFLATED) as archive:
	    archive.writestr("every-class.etl", data)
PYTHON
printf '%s\n' 'path_groups: [ { name: logs, match: [ C:/logs/** ] } ]' 'limits: { series: 1000 }' >config.yaml
cat >sessions.yaml <<-'YAML'
	sessions:
	  etw_exporter: { providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ] }
	  providers: { logger: user, providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ] }
YAML

# For commands that read or write several files.
{
	"$ETWTOOL" relog sample.etl -o sample_packed.etl --compress
	"$ETWTOOL" relog sample.etl -o part.etl --split 1MB
	"$ETWTOOL" relog sample.etl -o cut.etl --split 1MB
	"$ETWTOOL" providers --export-manifests manifests small/every-class.etl
	"$ETWTOOL" dump small/every-class.etl --event Process/Start --format jsonl >added.jsonl
} >setup.log 2>&1 || fail "set-up: $(cat setup.log)"
head -c 32 /dev/zero >key

tls_files
