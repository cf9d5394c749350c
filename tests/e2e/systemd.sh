#!/usr/bin/env bash
# The unit of the .deb, by a systemd of its own: it is the first process of a Debian 12 in namespaces of its own, with the network of
# this machine. The unit starts, is sandboxed, reloads, is started again when it hangs or dies, takes over a socket, and stops.
. "${BASH_SOURCE%/*}/lib.bash"
. "${BASH_SOURCE%/*}/bare_debian.bash"

can_make_deb
bash "$SOURCE_DIR/.ci/package.sh" --linux "$BUILD_DIR" "$work/package" >"$work/out" 2>&1 || fail "package.sh: $(tail -5 "$work/out")"
deb=$(echo "$work"/package/*.deb)
bare_debian "$(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/[[:space:]]//g'),systemd,systemd-sysv"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null

# ---- a machine ----

cat >"$work/boot.sh" <<'INSIDE'
set -e
mount --make-rprivate /
mount -t tmpfs none "$work/layers"
mkdir "$work/layers/upper" "$work/layers/work"
mount -t overlay none -o "lowerdir=$bare,upperdir=$work/layers/upper,workdir=$work/layers/work" "$work/root"
cd "$work/root"
mount -t proc none proc
mount -t sysfs -o ro none sys
mount -t tmpfs -o mode=755 none run
mount -t tmpfs -o mode=755 none dev
for device in null zero full random urandom tty; do
	touch "dev/$device"
	mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 none dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	mount -t cgroup2 none sys/fs/cgroup
else # the older layout
	mount -t tmpfs -o mode=755 none sys/fs/cgroup
	mkdir sys/fs/cgroup/systemd
	mount -t cgroup -o none,name=systemd none sys/fs/cgroup/systemd
fi
cp "$work/sample.etl" "$deb" srv
chmod 644 srv/sample.etl
mkdir old
pivot_root . old
umount -l old
exec env -i container=other /sbin/init --log-target=console
INSIDE
mkdir "$work/layers" "$work/root"
end_signal=KILL # the only one that unshare passes on
work=$work bare=$bare deb=$deb setsid unshare --fork --kill-child=KILL --pid --mount --uts --ipc --cgroup bash "$work/boot.sh" \
	</dev/null >"$work/boot.log" 2>&1 &
machine=$!
pids+=("$machine")
init() { pgrep -P "$machine" -x "init|systemd" >"$work/init"; }
until_true 30 init || skip "no systemd can be started here: $(tail -1 "$work/boot.log")"
inside() { nsenter -t "$(cat "$work/init")" -a -r -w /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
is_up() { inside systemctl is-system-running | says -E 'running|degraded'; }
until_true 60 is_up || skip "systemd does not start here: $(tail -3 "$work/boot.log")"

# ---- the unit ----

of() { inside systemctl show -p "$1" --value etw_exporter; } # a property
log() { inside cat /srv/log; }
status() {
	inside systemctl --no-pager status etw_exporter 2>&1 | grep 'status='
	log
}
is_listening() {
	port=$(log | sed -n 's/.*Listening.* port=\([0-9]*\).*/\1/p' | tail -1)
	[ -n "$port" ] && curl -fsS "http://127.0.0.1:$port/metrics" >"$work/page"
}
configuration=/etc/etw_exporter/etw_exporter.yaml

# Whether namespaces can be nested here, which the sandbox of a unit needs; not in a chroot.
inside mkdir -p /run/systemd/system
inside tee /run/systemd/system/probe.service >/dev/null <<-END
	[Service]
	Type=oneshot
	ExecStart=/bin/true
	DynamicUser=yes
	PrivateUsers=yes
	PrivateDevices=yes
	ProtectSystem=strict
END
inside systemctl daemon-reload
inside systemctl start probe || skip "no unit with namespaces of its own can be started here"
inside dpkg -i "/srv/${deb##*/}" >"$work/out" 2>&1 || fail "dpkg: $(cat "$work/out")"

# Watched more closely than it is delivered, so that this does not last; the log in a file.
inside mkdir -p /run/systemd/system/etw_exporter.service.d
inside tee /run/systemd/system/etw_exporter.service.d/test.conf >/dev/null <<-END
	[Service]
	WatchdogSec=20s
	RestartSec=1s
	StandardError=append:/srv/log
END
inside systemctl daemon-reload

# Without a recording it cannot start, and says so.
! inside systemctl start etw_exporter 2>/dev/null || fail "it started without a recording"
log | says 'name a recording with --replay.file' || fail "no reason: $(status)"
inside systemctl stop etw_exporter


flags="--config.file=$configuration --replay.file=/srv/sample.etl --replay.loop --replay.speed=1"
inside tee /etc/default/etw_exporter <<<"ARGS=\"$flags --web.listen-address=127.0.0.1:0\"" >/dev/null
inside systemctl daemon-reload

# Started means that it was ready.
inside systemctl start etw_exporter || fail "it does not start: $(status)"
[ "$(of ActiveState)" = active ] || fail "it is $(of ActiveState)"
until_true 30 is_listening || fail "it does not answer: $(status)"
of StatusText | says '^Replaying 1 recording: ' || fail "its status is $(of StatusText)"
inside cat "/proc/$(of MainPID)/status" >"$work/status"
for line in 'CapEff: 0*' 'CapBnd: 0*' 'NoNewPrivs: 1' 'Seccomp: 2'; do
	tr '\t' ' ' <"$work/status" | says -x "$line" || fail "no $line: $(cat "$work/status")"
done
! tr '\t' ' ' <"$work/status" | says '^Uid: 0 ' || fail "it runs as root"

# A reload.
reloaded() { is_listening && says -x "etw_exporter_config_last_reload_successful $1" <"$work/page"; }
inside systemctl reload etw_exporter || fail "no reload: $(status)"
until_true 30 eval 'log | says "was reloaded"' || fail "not reloaded: $(status)"
reloaded 1 || fail "the reload failed: $(status)"
inside cp $configuration /srv/good.yaml
inside tee -a $configuration <<<'bad: [' >/dev/null
inside systemctl reload etw_exporter || fail "no second reload: $(status)"
until_true 30 reloaded 0 || fail "a bad configuration was taken: $(status)"
inside cp /srv/good.yaml $configuration
inside systemctl reload etw_exporter || fail "no third reload: $(status)"
until_true 30 reloaded 1 || fail "the good configuration was not taken again: $(status)"
[ "$(of NRestarts)" = 0 ] || fail "it was started again: $(status)"

# It hangs, then it dies: systemd starts it again.
restarted() { [ "$(of NRestarts)" -ge "$1" ] && [ "$(of ActiveState)" = active ] && is_listening; }
inside systemctl kill -s STOP etw_exporter
until_true 60 restarted 1 || fail "not started again after it hung: $(of NRestarts) $(status)"
inside systemctl kill -s KILL etw_exporter
until_true 60 restarted 2 || fail "not started again after it died: $(of NRestarts) $(status)"

inside systemctl stop etw_exporter
[ "$(of Result) $(of ActiveState)" = "success inactive" ] || fail "stopped: $(of Result) $(of ActiveState)"

# The first client starts it, on a socket of systemd's.
port=$((20000 + RANDOM % 20000))
inside tee /run/systemd/system/etw_exporter.socket >/dev/null <<-END
	[Socket]
	ListenStream=127.0.0.1:$port
END
inside tee /etc/default/etw_exporter <<<"ARGS=\"$flags --web.systemd-socket\"" >/dev/null
inside systemctl daemon-reload
if inside systemctl start etw_exporter.socket; then # else the port is taken
	curl -fsS --max-time 600 "http://127.0.0.1:$port/metrics" >"$work/page" || fail "no answer on the socket: $(status)"
	says '^etw_exporter_build_info' <"$work/page" || fail "not our page"
fi

inside dpkg --purge etw-exporter >"$work/out" 2>&1 || fail "purge: $(cat "$work/out")"
[ "$(of ActiveState)" = inactive ] || fail "it runs on after the package is gone"
