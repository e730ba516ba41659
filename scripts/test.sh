#!/bin/sh
# npm test: sets the machine up, then runs every check and every test. The last line counts them.
set -eu
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
. "$here/safe-shell.sh"
cd "$here/.."
check_clone
sh scripts/setup-machine.sh test
exec node_modules/.bin/node scripts/test-stages.ts "$@" </dev/null
