/**
 * The program that containerd's shim for runc calls in the place of gVisor's `runsc`. Distributions ship `runsc` without
 * gVisor's own shim, and the one for runc expects three things that `runsc` does not do for the containers of a sandbox
 * after its first: the streams given to `create` belong to the container, the process that it names is the container's,
 * and its exit code is the container's. So each such container gets a keeper, which holds the streams from `create` on,
 * starts the container when `start` comes, waits for it, and ends as it did. Pure.
 */
import { basename } from 'node:path';

/** Whether a program is called through this adapter. */
export const needsRunscAdapter = (program: string): boolean => /^runsc([-.]|$)/.test(basename(program));

/** A shell script for `sh`. */
export function renderRunscAdapter(program: string): string {
  return SCRIPT.replace('@PROGRAM@', () => `'${program.replaceAll("'", String.raw`'\''`)}'`);
}

const SCRIPT = String.raw`#!/bin/sh
# Written by kubelet-ts at each start; changes are lost. Calls gVisor's runsc for containerd's shim for runc.
runsc=@PROGRAM@
root=/run/runsc
globals='' id='' before=''
set -f
quote() { printf "%s" "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"; }
given=$(for each in "$@"; do quote "$each"; printf ' '; done)
while [ $# -gt 0 ]; do
  case $1 in
    --root | --log | --log-format) [ "$1" = --root ] && root=$2; globals="$globals $1 $(quote "$2")"; shift 2 ;;
    -*) globals="$globals $1"; shift ;;
    *) break ;;
  esac
done
command=$1
[ $# -eq 0 ] || shift
for last in "$@"; do
  [ "$command" = kill ] && id=$before || id=$last
  before=$last
done
call() { eval "\"\$runsc\" $globals $*"; }
pass() { eval "exec \"\$runsc\" $given"; }
mark=$root/keeper-$id
forget() { rm -f "$mark.pid" "$mark.start" "$mark.started"; }

case $command in
  create)
    bundle=. pids='' options=''
    while [ $# -gt 1 ]; do
      case $1 in
        --bundle) bundle=$2; options="$options --bundle $(quote "$2")"; shift 2 ;;
        --pid-file) pids=$2; shift 2 ;;
        --console-socket) options="$options --console-socket $(quote "$2")"; shift 2 ;;
        *) options="$options $1"; shift ;;
      esac
    done
    grep -Eq '"io.kubernetes.cri.container-type": *"container"' "$bundle/config.json" || pass
    mkdir -p "$root"
    forget
    mkfifo "$mark.start" "$mark.started" || exit 1
    call create "$options" "$(quote "$id")" || { code=$?; forget; exit "$code"; }
    group=$(sed -n 's/.*"cgroupsPath": *"\([^":]*\)".*/\1/p' "$bundle/config.json" | head -n 1)
    exec 3<&0
    (
      exec <&3 3<&-
      trap '' HUP INT
      trap 'exit 137' TERM
      # The shim takes the group of this process for the container's.
      self=$(exec sh -c 'echo "$PPID"')
      [ -z "$group" ] || [ ! -d "/sys/fs/cgroup/$group" ] || echo "$self" >"/sys/fs/cgroup/$group/cgroup.procs" || :
      read -r go <"$mark.start" || exit 137
      call start "$(quote "$id")"
      code=$?
      echo "$code" >"$mark.started"
      rm -f "$mark.start" "$mark.started"
      [ "$code" -eq 0 ] || exit "$code"
      ended=$(call wait "$(quote "$id")" 2>/dev/null)
      exit "$(printf '%s' "$ended" | sed -n 's/.*"exitStatus": *\([0-9]*\).*/\1/p' | grep . || echo 137)"
    ) <&3 &
    keeper=$!
    echo "$keeper" >"$mark.pid"
    [ -z "$pids" ] || printf '%s' "$keeper" >"$pids"
    ;;
  start)
    [ -p "$mark.start" ] || pass
    echo go >"$mark.start"
    read -r code <"$mark.started"
    exit "$code"
    ;;
  kill | delete)
    # One that did not start cannot be signalled: its keeper ends in its place.
    if [ -p "$mark.start" ]; then
      kill -TERM "$(cat "$mark.pid")" 2>/dev/null
      [ "$command" = delete ] || exit 0
    fi
    [ "$command" = kill ] || forget
    pass
    ;;
  *) pass ;;
esac
`;
