import type { ChildProcess } from 'node:child_process';

/** What a child that was killed by a signal counts as: 128 plus SIGKILL, which is what it mostly was. */
const KILLED = 137;

export function exitCodeOf(exitCode: number | null, signal: NodeJS.Signals | null): number {
  return exitCode ?? (signal === null ? 1 : KILLED);
}

/**
 * Kills what can be killed and waits for nothing: neither the process nor its pipes keep this one. For children started
 * `detached`.
 */
export function abandonChild(child: ChildProcess): void {
  killGroup(child);
  releaseChild(child);
}

/** Closes this side of the pipes, whatever still holds the other side. */
export function releaseChild(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}

/**
 * Children started `detached` lead a group of their own: mount(8) waits for a helper such as mount.nfs, which must go
 * with it.
 */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group is gone already, and then this does nothing.
    child.kill('SIGKILL');
  }
}
