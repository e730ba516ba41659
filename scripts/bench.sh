#!/bin/sh
# npm run bench: sets the machine up, then measures the agent beside raw CRI calls.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup-machine.sh up
exec node_modules/.bin/node test/bench/main.ts "$@"
