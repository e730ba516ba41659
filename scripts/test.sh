#!/bin/sh
# npm test: sets the machine up, then runs every check and every test. The last line counts them.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup-machine.sh test
exec node_modules/.bin/node scripts/test-stages.ts "$@" </dev/null
