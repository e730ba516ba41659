/**
 * containerd's shim for runc calls this program in the place of gVisor's `runsc`. Distributions package `runsc` without
 * gVisor's own shim. The shim for runc expects three things that `runsc` does not do for a sandbox's second and later
 * containers: the streams passed to `create` belong to the container, the process that `create` names is the
 * container's, and its exit code is the container's. Each such container therefore gets a keeper process. It holds the
 * streams from `create` on, starts the container at `start`, waits for it, and exits with its exit code. Pure.
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
root=/run/runsc log=/dev/null systemd='' bundle=. pids=''
command='' option='' id='' before=''
for each in "$@"; do
  case $option in
    --root) root=$each ;;
    --log) log=$each ;;
    --bundle) bundle=$each ;;
    --pid-file) pids=$each ;;
  esac
  if [ -n "$option" ]; then option='' && continue; fi
  case $each in
    --root | --log | --log-format | --bundle | --pid-file | --console-socket | --process) option=$each ;;
    --systemd-cgroup) systemd=$each ;;
    -*) ;;
    *) if [ -z "$command" ]; then command=$each; else before=$id && id=$each; fi ;;
  esac
done
# Behind the container stands the signal.
[ "$command" != kill ] || id=$before
mark=$root/keeper-$id
forget() { rm -f "$mark.pid" "$mark.start" "$mark.started"; }
call() { "$runsc" --root "$root" --log "$log" --log-format json $systemd "$1" "$id"; }

case $command in
  create)
    grep -Eq '"io.kubernetes.cri.container-type": *"container"' "$bundle/config.json" || exec "$runsc" "$@"
    mkdir -p "$root"
    forget
    mkfifo "$mark.start" "$mark.started" || exit 1
    "$runsc" "$@" || { code=$?; forget; exit "$code"; }
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
      call start
      code=$?
      echo "$code" >"$mark.started"
      rm -f "$mark.start" "$mark.started"
      [ "$code" -eq 0 ] || exit "$code"
      ended=$(call wait 2>/dev/null)
      exit "$(printf '%s' "$ended" | sed -n 's/.*"exitStatus": *\([0-9]*\).*/\1/p' | grep . || echo 137)"
    ) <&3 &
    keeper=$!
    echo "$keeper" >"$mark.pid"
    [ -z "$pids" ] || printf '%s' "$keeper" >"$pids"
    ;;
  start)
    [ -p "$mark.start" ] || exec "$runsc" "$@"
    echo go >"$mark.start"
    read -r code <"$mark.started"
    exit "$code"
    ;;
  kill)
    # One that did not start cannot be signalled: its keeper ends in its place.
    if [ -p "$mark.start" ]; then kill -TERM "$(cat "$mark.pid")"; exit; fi
    said=$("$runsc" "$@" 2>&1) && exit 0
    code=$?
    # The words by which the shim knows that there is nothing to signal any more.
    case $said in *'not running'*) said="container not running: $said" ;; esac
    printf '%s\n' "$said" >&2
    exit "$code"
    ;;
  delete)
    [ ! -p "$mark.start" ] || kill -TERM "$(cat "$mark.pid")" 2>/dev/null
    forget
    exec "$runsc" "$@"
    ;;
  *) exec "$runsc" "$@" ;;
esac
`;
