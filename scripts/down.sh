#!/bin/sh
# npm run down: removes everything `up` made. Installs nothing, unless the pinned Node itself is gone.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "down removes mounts and cgroups: run it as root" >&2; exit 1; }
[ -x node_modules/.bin/node ] || sh scripts/setup-machine.sh up
exec node_modules/.bin/node src/up/main.ts down "$@"
