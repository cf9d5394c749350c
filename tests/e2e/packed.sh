#!/usr/bin/env bash
# Recordings from pipes, packed by gzip, xz and zstd, and in zip archives: the same results as from the plain file, no file left
# behind, and one clear line about everything that cannot be read.
. "${BASH_SOURCE%/*}/lib.bash"

mkdir "$work/tmp" "$work/zip"
export TMPDIR=$work/tmp

# make_zip ARCHIVE NAME=FILE...: as PerfView packs, by deflate. FILE may be "-" for an empty one.
make_zip() {
	python3 - "$@" <<-'PYTHON'
		import sys, zipfile
		with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
		    for row in sys.argv[2:]:
		        name, _, file = row.partition("=")
		        archive.writestr(name, b"" if file == "-" else open(file, "rb").read())
	PYTHON
}

# change FILE OFFSET HEX: overwrites bytes; a negative offset counts from the end.
change() {
	python3 - "$@" <<-'PYTHON'
		import sys
		path, offset, bytes_ = sys.argv[1], int(sys.argv[2]), bytes.fromhex(sys.argv[3])
		with open(path, "r+b") as file:
		    file.seek(offset, 2 if offset < 0 else 0)
		    file.write(bytes_)
	PYTHON
}

no_file_left() { [ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"; }

# Everything but the name of the file, which is that of the packed one.
summary() { "$ETWTOOL" summary "$1" 2>"$work/err" | sed '2{/^ "file": /d}' || fail "$1: $(cat "$work/err")"; }

# ---- the same results ----
# The sample in every form; each of the others in one, with LONG_TESTS=1 in every one, too.
forms=(gz xz zst zip)
tried=0
while read -r recording; do
	name=$(basename "$recording")
	summary "$recording" >"$work/plain"
	grep -q '"records"' "$work/plain" || fail "$name: no summary"
	if ! is_long && [ "$name" != sample.etl ]; then
		form=${forms[tried++ % ${#forms[@]}]}
		case $form in
		gz) gzip -1 -c "$recording" ;;
		xz) xz -0 -c "$recording" ;;
		zst) zstd -q -c "$recording" ;;
		zip) make_zip "$work/$name.zip" "PerfViewLogFile.txt=-" "$name=$recording" && cat "$work/$name.zip" ;;
		esac >"$work/packed"
		summary "$work/packed" | cmp -s "$work/plain" - || fail "$name: $form"
		# shellcheck disable=SC2002
		cat "$work/packed" | summary - | cmp -s "$work/plain" - || fail "$name: $form from a pipe"
		continue
	fi
	gzip -c "$recording" >"$work/$name.gz"
	xz -0 -c "$recording" >"$work/$name.xz"
	zstd -q -c "$recording" >"$work/$name.zst"
	rm -f "$work/$name.zip"
	make_zip "$work/$name.zip" "symbols/ntdll.ni.pdb=$0" "PerfViewLogFile.txt=-" "$name=$recording"
	for packed in "$work/$name".{gz,xz,zst,zip} "$work/$name.zip:$name"; do
		summary "$packed" >"$work/got"
		cmp -s "$work/plain" "$work/got" || fail "$packed: $(diff "$work/plain" "$work/got" | head -5)"
	done
	# The name says nothing about it.
	mv "$work/$name.zst" "$work/other.etl"
	summary "$work/other.etl" | cmp -s "$work/plain" - || fail "$name: packed by zstd, under another name"
	for packed in "$recording" "$work/$name.gz" "$work/$name.zip"; do
		# shellcheck disable=SC2002
		cat "$packed" | summary - | cmp -s "$work/plain" - || fail "$name: ${packed##*.} from a pipe"
	done
	summary - <"$recording" | cmp -s "$work/plain" - || fail "$name: redirected"
	rm -f "$work/$name".{gz,xz,zip}
done < <(recordings)
no_file_left

# ---- every command, and the exporter ----
sample=$work/sample.etl
real=$(some_recordings | grep -vF "$sample") || true
gzip -c "$sample" >"$work/sample.etl.gz"
head -c 524288 "$sample" >"$work/half.etl" # whole buffers
# @ is the recording. A report, a table or a document has its name.
for command in 'stats @' 'providers @' 'fields @ DiskIo/Read' 'dump @' 'dump @ --format csv' 'dump @ --format text --from 1 --to 3' \
	'dump @ --provider *Process*' 'backfill @ --step 1m' "check config $SOURCE_DIR/config/etw_exporter.yaml --with @" \
	'report @ -o -' 'doctor @' 'doctor @ --format json' "diff @ $work/half.etl" "diff $work/half.etl @ --format json" \
	'top @ --speed 0 --batch --exact'; do
	run() { # recording, what its name is replaced by
		read -ra words <<<"${command/@/"$1"}"
		"$ETWTOOL" "${words[@]}" 2>&1 | grep -v ^etw_exporter_config_ | sed "s|$work/||g; $2"
	}
	run "$sample" '' >"$work/plain" || fail "$command: $(head -3 "$work/plain")"
	[ "$(wc -l <"$work/plain")" -gt 3 ] || fail "$command: $(cat "$work/plain")"
	run "$work/sample.etl.gz" 's|sample\.etl\.gz|sample.etl|g' >"$work/got" || fail "$command, packed: $(head -3 "$work/got")"
	cmp -s "$work/plain" "$work/got" || fail "$command: $(diff "$work/plain" "$work/got" | head -5 | cut -c1-300)"
	run - 's/"-"/"sample.etl"/g; s/^\([AB]: \)-\([: ]\)/\1sample.etl\2/; s/^-\(:\|  \)/sample.etl\1/; s/ in -,/ in sample.etl,/; s/ on -$/ on sample.etl/
		s/<\(title\|bdi\)>-/<\1>sample.etl/; s/`-`/`sample.etl`/' \
		<"$work/sample.etl.gz" >"$work/got" ||
		fail "$command of a pipe: $(head -3 "$work/got")"
	cmp -s "$work/plain" "$work/got" || fail "$command of a pipe: $(diff "$work/plain" "$work/got" | head -5 | cut -c1-300)"
done
"$ETWTOOL" relog "$sample" -o "$work/plain" --event 'DiskIo/*' >/dev/null
for recording in "$work/sample.etl.gz" -; do
	"$ETWTOOL" relog "$recording" -o - --event 'DiskIo/*' <"$work/sample.etl.gz" | cmp "$work/plain" - || fail "relog $recording"
done
page() {
	"$ETW_EXPORTER" --once "${all_collectors[@]}" "$@" 2>"$work/err" >"$work/page" || fail "$*: $(cat "$work/err")"
	grep -vE '^(process_|etw_consumer_busy_seconds_total|etw_exporter_(build_info|config_))' "$work/page" |
		sed 's/session="[^"]*"/session="S"/; s/^etw_replay_info{file="[^"]*"/etw_replay_info{file="F"/'
}
page --replay.file="$sample" >"$work/plain"
mkfifo "$work/pipe"
for packed in "$work/sample.etl.gz" - "$work/pipe"; do
	case $packed in
	*/pipe) cat "$sample" >"$work/pipe" & ;;
	esac
	page --replay.file="$packed" <"$work/sample.etl.gz" >"$work/got"
	cmp -s "$work/plain" "$work/got" || fail "--replay.file=$packed: $(diff "$work/plain" "$work/got" | head -5)"
done
wait
page --replay.single-pass --replay.file="$sample" >"$work/plain"
page --replay.single-pass --replay.file="$work/sample.etl.gz" | cmp -s "$work/plain" - || fail "a single pass"
for recording in $real; do
	page --replay.file="$recording" >"$work/plain"
	grep -q '^etw_consumer_records_total.* [1-9]' "$work/plain" || fail "$recording: no records"
	zstd -q -c "$recording" >"$work/real.zst"
	for packed in "$work/real.zst" -; do
		page --replay.file="$packed" <"$work/real.zst" >"$work/got"
		cmp -s "$work/plain" "$work/got" || fail "$recording: $(diff "$work/plain" "$work/got" | head -5)"
	done
done
no_file_left

# Nothing is left behind by a program that is ended while it reads a pipe.
mkfifo "$work/endless"
exec 9<>"$work/endless" # keeps a writer
for signal in INT TERM KILL; do
	# A shell makes its background jobs ignore SIGINT.
	python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
		"$ETWTOOL" stats "$work/endless" >"$work/out" 2>&1 &
	reader=$!
	head -c 100000 "$sample" >&9
	has_temporary() { find "/proc/$reader/fd" -lname "$TMPDIR/*" | says .; }
	until_true 30 has_temporary || fail "$signal: no temporary file"
	kill -s "$signal" "$reader"
	wait "$reader" && fail "$signal: it went on"
	no_file_left
done
exec 9>&-

# A loop unpacks once: the packed file may go.
cp "$work/sample.etl.gz" "$work/loop.etl.gz"
start_exporter --replay.file="$work/loop.etl.gz" --replay.loop
rm "$work/loop.etl.gz"
records() { curl -fsS "$url/metrics" | awk '/^etw_consumer_records_total/ { sum += $NF } END { print sum + 0 }'; }
once=$("$ETWTOOL" summary "$sample" | sed -n 's/^ "records": \([0-9]*\),$/\1/p')
[ "$once" -gt 0 ] || fail "no records in the sample"
three_times() { [ "$(records)" -gt $((3 * once)) ]; }
until_true 60 three_times || fail "the loop ended: $(records) of $once records"
grep -q 'was removed\|level=warning' "$work/log" && fail "the loop saw a change: $(cat "$work/log")"
kill "$exporter_pid"
wait "$exporter_pid" || true
no_file_left

# ---- which file of an archive ----
refused() { # pattern, recording
	expect_exit 1 "$1" "$ETWTOOL" summary "$2"
	no_file_left
}
summary "$sample" >"$work/plain"
make_zip "$work/two.zip" "a/one.etl=$sample" "two.etl=$sample" "notes.txt=-"
refused 'two\.zip: is a zip archive of 2 recordings: choose one by ARCHIVE:NAME, of a/one\.etl, two\.etl$' "$work/two.zip"
for name in a/one.etl one.etl ONE.etl 'one*' two.etl; do
	summary "$work/two.zip:$name" | cmp -s "$work/plain" - || fail "two.zip:$name"
done
refused 'is a zip archive without "three\.etl"; it contains a/one\.etl, two\.etl, notes\.txt$' "$work/two.zip:three.etl"
refused 'of 2 recordings: choose one' "$work/two.zip:*.etl"
make_zip "$work/none.zip" "notes.txt=-"
refused 'is a zip archive without a recording \(\.etl\); it contains notes\.txt$' "$work/none.zip"
# Of many names the first five are shown.
python3 - "$work" <<-'PYTHON'
	import sys, zipfile
	for name, count, ending in (("six", 6, "etl"), ("full", 10000, "txt"), ("many", 10001, "txt")):
	    with zipfile.ZipFile(f"{sys.argv[1]}/{name}.zip", "w") as archive:
	        for i in range(count):
	            archive.writestr(f"{i}.{ending}", b"")
PYTHON
refused 'of 6 recordings: choose one by ARCHIVE:NAME, of 0\.etl, 1\.etl, 2\.etl, 3\.etl, 4\.etl, \.\.\.$' "$work/six.zip"
refused 'without a recording \(\.etl\); it contains 0\.txt, .*, 4\.txt, \.\.\.$' "$work/full.zip"
refused 'many\.zip: is a zip archive of more than 10000 files: unpack it first$' "$work/many.zip"
make_zip "$work/empty.zip"
refused 'empty\.zip: is an empty zip archive, not a recording' "$work/empty.zip"
make_zip "$work/names.zip" "/etc/absolute.etl=$sample" "../../up.txt=-" $'\e[31mred.txt=-'
summary "$work/names.zip" | cmp -s "$work/plain" - || fail "an absolute name"
refused 'it contains .*\?\[31mred\.txt' "$work/names.zip:x"
# Names may be in UTF-8 (".ZIP File Format Specification" 4.4.4, bit 11), whatever the locale of the program.
make_zip "$work/utf8.zip" "Überlast.etl=$sample"
summary "$work/utf8.zip" | cmp -s "$work/plain" - || fail "a name that is not in ASCII"
make_zip "$work/both.zip" "Überlast.etl=$sample" "last.etl=$sample"
refused 'both\.zip: is a zip archive of 2 recordings: choose one by ARCHIVE:NAME, of Überlast\.etl, last\.etl$' "$work/both.zip"
summary "$work/both.zip:Über*" | cmp -s "$work/plain" - || fail "both.zip:Über*"
cp "$sample" "$work/with:colon.etl"
summary "$work/with:colon.etl" | cmp -s "$work/plain" - || fail "a colon in a name"
refused 'no\.zip:a\.etl: cannot be opened: ' "$work/no.zip:a.etl"

# ---- damage ----
xz -0 -c "$sample" >"$work/sample.etl.xz"
zstd -q -c "$sample" >"$work/sample.etl.zst"
make_zip "$work/sample.etl.zip" "sample.etl=$sample"
for kind in gz xz zst zip; do
	for part in 12 1000 70000; do
		head -c $part "$work/sample.etl.$kind" >"$work/cut.$kind"
		refused "cut\.$kind: is (a|packed)" "$work/cut.$kind"
	done
	head -c -3 "$work/sample.etl.$kind" >"$work/cut.$kind"
	refused "cut\.$kind: is (a|packed)" "$work/cut.$kind"
done
cp "$work/sample.etl.gz" "$work/bad.gz"
change "$work/bad.gz" -8 00000000 # RFC 1952, 2.3.1: CRC32, ISIZE
refused 'bad\.gz: is packed by gzip and damaged at [0-9]*: incorrect data check$' "$work/bad.gz"
cp "$work/sample.etl.zst" "$work/bad.zst"
change "$work/bad.zst" -4 00000000 # RFC 8878, 3.1.1: Content_Checksum
refused 'bad\.zst: is packed by zstd that cannot be unpacked: ' "$work/bad.zst"
cp "$work/sample.etl.xz" "$work/bad.xz"
change "$work/bad.xz" 30000 00000000
refused 'bad\.xz: is packed by xz and damaged at [0-9]*$' "$work/bad.xz"
# The size of the dictionary is a byte of each block header ("The .xz File Format" 3.1, 5.3.1): 64 MiB, and 1.5 GiB.
python3 - "$work/sample.etl.xz" "$work" <<-'PYTHON'
	import lzma, struct, sys, zlib
	data, work = open(sys.argv[1], "rb").read(), sys.argv[2]
	def with_dictionary(bits):
	    size = 4 * (data[12] + 1) # of the block header, behind that of the stream
	    header = bytearray(data[12:12 + size - 4])
	    header[header.index(b"\x21\x01") + 2] = bits
	    return data[:12] + header + struct.pack("<I", zlib.crc32(header)) + data[12 + size:]
	open(f"{work}/usual.xz", "wb").write(with_dictionary(28))
	open(f"{work}/large.xz", "wb").write(with_dictionary(37))
	open(f"{work}/behind.xz", "wb").write(lzma.compress(b"first") + with_dictionary(37))
PYTHON
summary "$work/usual.xz" | cmp -s "$work/plain" - || fail "a dictionary of 64 MiB"
for name in large behind; do
	refused "$name\.xz: is packed by xz and needs more than 160 MiB of memory to be unpacked: unpack it first\$" "$work/$name.xz"
done
python3 - "$work/sample.etl.zip" "$work" <<-'PYTHON'
	import struct, sys
	data, work = bytearray(open(sys.argv[1], "rb").read()), sys.argv[2]
	central = data.rfind(b"PK\1\2")
	def write(name, *changes): # (offset in the local header, in the central one, bytes)
	    copy = bytearray(data)
	    for local, at, value in changes:
	        copy[local:local + len(value)] = value
	        copy[central + at:central + at + len(value)] = value
	    open(f"{work}/{name}.zip", "wb").write(copy)
	write("crc", (14, 16, b"\0\0\0\0"))
	write("encrypted", (6, 8, b"\1\0"))
	write("method", (8, 10, b"\x0e\0")) # LZMA
	write("claim", (22, 24, b"\xfe\xff\xff\x7f"))
PYTHON
refused 'crc\.zip: is a zip archive that cannot be unpacked: .*CRC' "$work/crc.zip"
refused 'encrypted\.zip: is an encrypted zip archive: unpack it first$' "$work/encrypted.zip"
refused 'method\.zip: is a zip archive whose method is not read here, ZIP .*lzma.*: unpack it first$' "$work/method.zip"
refused 'claim\.zip: is a zip archive that cannot be unpacked: ' "$work/claim.zip"
{ cat "$work/sample.etl.gz"; echo behind; } >"$work/behind.gz"
refused 'is packed by gzip and has other bytes after it$' "$work/behind.gz"
{ cat "$work/sample.etl.gz"; head -c 100000 /dev/zero; } >"$work/tape.gz"
summary "$work/tape.gz" | cmp -s "$work/plain" - || fail "zeros behind gzip"
head -c 50000 "$sample" | gzip >"$work/parts.gz"
tail -c +50001 "$sample" | gzip >>"$work/parts.gz"
summary "$work/parts.gz" | cmp -s "$work/plain" - || fail "two members of gzip"
for again in gzip xz zstd; do
	$again -c <"$work/sample.etl.gz" >"$work/twice"
	refused 'twice: is packed more than once: unpack it first$' "$work/twice"
	$again -c <"$work/sample.etl.zip" >"$work/twice"
	refused 'twice: is packed more than once: unpack it first$' "$work/twice"
	echo "This is a letter, not a recording." | $again -c >"$work/letter"
	refused 'letter: is not a recording' "$work/letter"
	$again -c </dev/null >"$work/nothing"
	refused 'nothing: is empty' "$work/nothing"
done

# ---- bombs, a full disk, no folder ----
head -c 400000000 /dev/zero | zstd -q -c >"$work/bomb.zst"
refused 'bomb\.zst: unpacks to more than 1000 times its size' "$work/bomb.zst"
# A list of files of 20 MB (".ZIP File Format Specification" 4.3.7, 4.3.12, 4.3.16).
python3 - "$work/list.zip" <<-'PYTHON'
	import struct, sys
	local = b"PK\3\4" + struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, 0, 0, 0, 5, 0) + b"a.etl"
	central = b"PK\1\2" + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0) + b"a.etl"
	count = 20000000 // len(central)
	with open(sys.argv[1], "wb") as file:
	    file.write(local + central * count)
	    file.write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, count * len(central), len(local), 0))
PYTHON
refused 'list\.zip: is a zip archive whose list of files has more than 16 MiB: unpack it first$' "$work/list.zip"
(ulimit -f 100 && trap '' XFSZ && exec "$ETWTOOL" summary "$work/sample.etl.gz") >"$work/out" 2>"$work/err" && fail "a full disk"
grep -q 'sample\.etl\.gz: a temporary file cannot be written: ' "$work/err" || fail "a full disk: $(cat "$work/err")"
TMPDIR=$work/none expect_exit 1 'no temporary file can be made in .*/none: cannot create: No such file' "$ETWTOOL" summary "$work/sample.etl.gz"
expect_exit 1 '^etwtool summary: -: is empty' "$ETWTOOL" summary -
if command -v script >/dev/null; then
	script -qc "$ETWTOOL summary -" /dev/null </dev/null >"$work/out" || true
	grep -q -- '-: is a terminal, not a regular file' "$work/out" || fail "a terminal: $(cat "$work/out")"
fi
