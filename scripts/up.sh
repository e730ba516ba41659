#!/bin/sh
# npm run up: sets the machine up, then starts a cluster of one node.
set -eu
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
. "$here/safe-shell.sh"
cd "$here/.."
check_clone
case " $* " in *" --help "*) ;; *) sh scripts/setup-machine.sh up ;; esac
[ -x node_modules/.bin/node ] || sh scripts/setup-machine.sh up
node_modules/.bin/node scripts/build.ts >/dev/null
# It waits for nearly all of its life: little memory counts more than speed.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
exec node_modules/.bin/node --no-concurrent-sparkplug --optimize-for-size --max-semi-space-size=2 --max-old-space-size=128 --disable-warning=ExperimentalWarning dist/up.js up "$@"
