#!/bin/sh
# npm run down: removes everything `up` made. Installs nothing, unless the pinned Node itself is gone.
set -eu
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
. "$here/safe-shell.sh"
cd "$here/.."
check_clone
case " $* " in *" --help "*) ;; *) [ "$(id -u)" = 0 ] || { echo "down removes mounts and cgroups: run it as root" >&2; exit 1; } ;; esac
[ -x node_modules/.bin/node ] || sh scripts/setup-machine.sh up
exec node_modules/.bin/node --no-concurrent-sparkplug src/up/main.ts down "$@"
