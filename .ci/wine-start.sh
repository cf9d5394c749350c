#!/bin/sh
# Makes Wine's folder (WINEPREFIX) before tests use it, and starts a server for it that ends a minute after the last program. By
# itself it would end after three seconds, as between two tests: starting it again takes seconds, and a program that starts while
# it ends may fail. One that runs already stays as it is.
folder=${WINEPREFIX:-$HOME/.wine}
wine=${WINE64:-/usr/lib/wine/wine64}
mkdir -p "$folder"
for server in "${wine%/*}/wineserver64" "${wine%/*}/wineserver"; do
	if [ -x "$server" ]; then
		"$server" -p60 </dev/null >/dev/null 2>&1 # else it would keep a pipe of ctest open
		break
	fi
done
# Any program makes the folder; "wineboot --init" would leave a second service manager behind, and calls would go to one or the other.
exec "$(dirname "$0")/wine-run.sh" cmd /c exit
