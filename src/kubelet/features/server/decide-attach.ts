import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { AttachHistory, LogPosition, LogRead } from './attach-history.ts';

export interface AttachCase {
  /** All containers of that name, newest first. */
  readonly containers: readonly ContainerRuntimeStatus[];
  /** Whether the container has `stdin`, to which clients attach, as with `kubectl run -i` and `kubectl debug -i`. */
  readonly isInteractive: boolean;
  readonly userAgent: string;
  readonly history: Pick<AttachHistory, 'wasAttached' | 'readOf'>;
  /** A wall-clock time. */
  readonly nowMs: number;
}

/**
 * The output for a client that attaches. `now`: output from now on, as in upstream. `start`: all output, because the
 * client waited for the container. `log`: the output of a container that has just ended. The last two begin after
 * `from`, the part of the log that the client has already read.
 */
export type AttachPlan =
  | { readonly what: 'now'; readonly container: ContainerRuntimeStatus }
  | {
      readonly what: 'start' | 'log';
      readonly container: ContainerRuntimeStatus;
      readonly from: LogPosition | undefined;
    }
  | { readonly what: 'nothing' };

/**
 * A client that attaches within this time after a start waited for it, and one within this time after an end was late.
 */
const ATTACH_WINDOW_MS = 30_000;
/** A client that reads the log first attaches within this time after it. */
const READ_WINDOW_MS = 10_000;
/** From this minor version on, `kubectl run` prints the log before it attaches. */
const READS_FIRST_MINOR = 36;

/**
 * Decides which output a client gets. For a container that has been running for long, or that a client was attached to
 * before, it is upstream's behaviour: no earlier output.
 */
export function decideAttach(asked: AttachCase): AttachPlan {
  const { nowMs, history, isInteractive } = asked;
  const started = asked.containers.filter(({ state, startedAtMs }) => state !== 'created' || startedAtMs > 0);
  const container = readBefore(asked, started) ?? started[0];
  if (container === undefined) return { what: 'nothing' };
  const from = recentRead(asked, container)?.end;
  if (container.state === 'exited')
    return nowMs - container.finishedAtMs <= ATTACH_WINDOW_MS ? { what: 'log', container, from } : { what: 'nothing' };
  const isNew = nowMs - container.startedAtMs <= ATTACH_WINDOW_MS && !history.wasAttached(container.id);
  return container.state === 'running' && isNew && (isInteractive || from !== undefined)
    ? { what: 'start', container, from }
    : { what: 'now', container };
}

/**
 * Returns the run whose log the client has just read without having seen its end. A container that restarted since is
 * another run.
 */
function readBefore(asked: AttachCase, started: readonly ContainerRuntimeStatus[]): ContainerRuntimeStatus | undefined {
  return started.find(
    (each) =>
      each.state === 'exited' &&
      !asked.history.wasAttached(each.id) &&
      asked.nowMs - each.finishedAtMs <= READ_WINDOW_MS &&
      recentRead(asked, each) !== undefined,
  );
}

/**
 * Returns a recent read of the log that may be that of the attaching client. Log requests do not identify the client,
 * so it must be plausible: by a client that reads first, and shortly before.
 */
function recentRead({ history, nowMs, userAgent }: AttachCase, { id }: ContainerRuntimeStatus): LogRead | undefined {
  const read = history.readOf(id);
  return read !== undefined && nowMs - read.atMs <= READ_WINDOW_MS && readsLogFirst(userAgent) ? read : undefined;
}

/** Whether the client reads the log before it attaches. Clients without a version in their user agent may do so. */
function readsLogFirst(userAgent: string): boolean {
  const version = /^kubectl[^/ ]{0,40}\/v1\.(\d{1,4})\b/.exec(userAgent);
  return version === null || Number(version[1]) >= READS_FIRST_MINOR;
}
