import type { ChildProcess } from 'node:child_process';

/** The exit code of a child that was killed by a signal: 128 plus SIGKILL, which is the usual signal. */
const KILLED = 137;

export function exitCodeOf(exitCode: number | null, signal: NodeJS.Signals | null): number {
  return exitCode ?? (signal === null ? 1 : KILLED);
}

/**
 * Kills the child without waiting: neither its process nor its pipes keep this process alive. For children started
 * `detached`.
 */
export function abandonChild(child: ChildProcess): void {
  killGroup(child);
  releaseChild(child);
}

/** Closes this side of the pipes, even if other processes hold the other side. */
export function releaseChild(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}

/**
 * Children started `detached` lead a process group: mount(8) waits for a helper such as mount.nfs, which must be killed
 * with it.
 */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has ended already.
    child.kill('SIGKILL');
  }
}
