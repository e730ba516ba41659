#!/bin/sh
# npm run up: sets the machine up, then starts a cluster of one node.
set -eu
cd "$(dirname "$0")/.."
case " $* " in *" --help "*) ;; *) sh scripts/setup-machine.sh up ;; esac
[ -x node_modules/.bin/node ] || sh scripts/setup-machine.sh up
node_modules/.bin/node scripts/build.ts >/dev/null
exec node_modules/.bin/node dist/up.js up "$@"
