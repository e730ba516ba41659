#!/bin/sh
# npm run bench: sets the machine up, then measures the agent beside raw CRI calls, alone and in a cluster, and the control plane beside bare stores.
# npm run bench -- agent|cluster|control-plane [OPTION...]: one of them, with its own options; without a name options are those of the agent, --quick of all.
# npm run bench -- scrape: what an answer with statistics of 100 pods costs.
# npm run bench -- network [services|policies|names|overlay]: rules of services and policies, names, the network between nodes.
# npm run bench -- eviction: how soon a shortage is noticed, and what a round over 250 pods costs.
set -eu
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac
. "$here/safe-shell.sh"
cd "$here/.."
check_clone
sh scripts/setup-machine.sh up
node=node_modules/.bin/node
# The programs are measured with the options that they start with at users, not with those of tests.
export KUBELET_TEST_LAUNCHERS=shipped
case "${1:-}" in
  agent) shift; exec "$node" test/bench/main.ts "$@" ;;
  cluster) shift; exec "$node" test/bench/cluster/main.ts "$@" ;;
  control-plane) shift; exec "$node" test/bench/control-plane/main.ts "$@" ;;
  scrape) exec "$node" test/bench/scrape/main.ts ;;
  network) shift; exec "$node" --expose-gc test/bench/network/main.ts "$@" ;;
  eviction) exec "$node" test/bench/eviction/main.ts ;;
  '' | --quick)
    [ $# -le 1 ] || exec "$node" test/bench/main.ts "$@"
    code=0
    "$node" test/bench/main.ts "$@" || code=$?
    "$node" test/bench/cluster/main.ts "$@" || code=$?
    "$node" test/bench/control-plane/main.ts "$@" || code=$?
    exit "$code"
    ;;
  *) exec "$node" test/bench/main.ts "$@" ;;
esac
