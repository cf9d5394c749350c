#!/bin/sh
# Makes Wine's folder (WINEPREFIX) before tests use it, and starts a server for it that ends a minute after the last program. By
# itself it would end after three seconds, as between two tests: starting it again takes seconds, and a program that starts while
# it ends may fail. One that runs already stays as it is.
folder=${WINEPREFIX:-$HOME/.wine}
wine=${WINE64:-/usr/lib/wine/wine64}
run=$(dirname "$0")/wine-run.sh
server=${wine%/*}/wineserver64
[ -x "$server" ] || server=${wine%/*}/wineserver
mkdir -p "$folder"
# Wine's service manager gives a service ten seconds to connect and to answer, which a busy machine exceeds. It reads this text (a
# number is ignored), in milliseconds, when it starts: the server is waited for, which ends by itself and starts again below.
if ! grep -qs '"ServicesPipeTimeout"=' "$folder/system.reg"; then
	"$run" reg add 'HKLM\SYSTEM\CurrentControlSet\Control' /v ServicesPipeTimeout /t REG_SZ /d 600000 /f || exit
	"$server" -w
fi
"$server" -p60 </dev/null >/dev/null 2>&1 # else it would keep a pipe of ctest open
# Any program makes the folder; "wineboot --init" would leave a second service manager behind, and calls would go to one or the other.
exec "$run" cmd /c exit
