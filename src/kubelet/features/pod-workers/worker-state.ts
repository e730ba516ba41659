import { unreachable } from '../../../base/errors.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';

/**
 * The life of one pod on this node, as a closed state machine:
 *
 *     (none)       update                             queued
 *     (none)       orphan (only the runtime knows it) terminating
 *     queued       its name is free                   syncing
 *     syncing      kill, deletion, terminal phase     terminating
 *     terminating  everything stopped                 terminated
 *     terminated   cleaned                            finished
 *     finished     removed, or wanted again           terminated
 *
 * A pod never runs again. When an aborted call for a finished pod took effect late, the pod is stopped again. A pod that
 * is wanted again under the same uid (`revive`) starts once nothing of the earlier one is left, including its dead
 * containers: they would be treated as those of the new one. That is why a finished pod is cleaned again before it is
 * dropped.
 */
export type WorkerState =
  | { phase: 'queued' | 'syncing'; pod: Pod }
  | { phase: 'terminating'; subject: TerminatingSubject; termination: Termination; revive?: Pod }
  | { phase: 'terminated'; pod: Pod; termination: Termination; revive?: Pod }
  | { phase: 'finished'; pod: Pod | undefined; termination: Termination; revive?: Pod };

/** The pod that is being stopped: one with a spec, or one that only the runtime knows. */
export type TerminatingSubject = { kind: 'pod'; pod: Pod } | { kind: 'orphan'; runtime: PodRuntimeStatus };

export interface Termination {
  /**
   * The cause. `removed`: gone from its source. `deleted`: deletionTimestamp set. `evicted`: killed by the agent itself
   * (eviction, preemption, shutdown). `completed`: its phase is terminal. `orphaned`: found running without a spec.
   */
  readonly cause: 'removed' | 'deleted' | 'evicted' | 'completed' | 'orphaned';
  /** The grace period. It never grows. */
  readonly graceMs: number;
  /** Whether no source wants the pod any more, so that it is dropped when finished. */
  readonly gone: boolean;
}

export type WorkerEvent =
  | { kind: 'update'; pod: Pod; isNew: boolean; mustQueue: boolean }
  | { kind: 'kill'; cause: 'removed' | 'evicted'; graceMs?: number }
  | { kind: 'orphan'; runtime: PodRuntimeStatus; graceMs: number }
  | { kind: 'nameFree' }
  | { kind: 'phaseTerminal' }
  | { kind: 'stopped' }
  /** Something of a finished pod runs: an aborted call took effect late. */
  | { kind: 'cameLate' }
  /** The clean-up is done. With `all`, nothing is left in the runtime either. */
  | { kind: 'cleaned'; all: boolean };

/** The minimum grace period is one second (upstream: pod_workers.go, calculateEffectiveGracePeriod). */
const MINIMUM_GRACE_MS = 1000;
const DEFAULT_GRACE_SECONDS = 30;

export function graceOf(pod: Pod): number {
  const seconds =
    pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  return Math.max(MINIMUM_GRACE_MS, Number(seconds) * 1000);
}

/** Returns the state after `event`, or undefined when the pod is not (or no longer) known. */
export function nextWorkerState(state: WorkerState | undefined, event: WorkerEvent): WorkerState | undefined {
  if (state === undefined) return firstState(event);
  switch (state.phase) {
    case 'queued':
    case 'syncing':
      return fromSyncing(state, event);
    case 'terminating':
      return fromTerminating(state, event);
    case 'terminated':
      return fromTerminated(state, event);
    case 'finished':
      return fromFinished(state, event);
    default:
      return unreachable(state);
  }
}

function firstState(event: WorkerEvent): WorkerState | undefined {
  if (event.kind === 'orphan') {
    return {
      phase: 'terminating',
      subject: { kind: 'orphan', runtime: event.runtime },
      termination: { cause: 'orphaned', graceMs: event.graceMs, gone: true },
    };
  }
  if (event.kind !== 'update') return undefined;
  const starting: WorkerState = { phase: event.mustQueue ? 'queued' : 'syncing', pod: event.pod };
  return event.pod.metadata.deletionTimestamp === undefined ? starting : deleting(event.pod);
}

function deleting(pod: Pod): WorkerState {
  return {
    phase: 'terminating',
    subject: { kind: 'pod', pod },
    termination: { cause: 'deleted', graceMs: graceOf(pod), gone: false },
  };
}

function fromSyncing(
  state: WorkerState & { phase: 'queued' | 'syncing' },
  event: WorkerEvent,
): WorkerState | undefined {
  switch (event.kind) {
    case 'update':
      return event.pod.metadata.deletionTimestamp === undefined ? { ...state, pod: event.pod } : deleting(event.pod);
    case 'kill': {
      const graceMs = Math.max(MINIMUM_GRACE_MS, event.graceMs ?? graceOf(state.pod));
      const termination: Termination = { cause: event.cause, graceMs, gone: event.cause === 'removed' };
      return { phase: 'terminating', subject: { kind: 'pod', pod: state.pod }, termination };
    }
    case 'nameFree':
      return { ...state, phase: 'syncing' };
    case 'phaseTerminal':
      return {
        phase: 'terminating',
        subject: { kind: 'pod', pod: state.pod },
        termination: { cause: 'completed', graceMs: graceOf(state.pod), gone: false },
      };
    case 'orphan':
    case 'stopped':
    case 'cameLate':
    case 'cleaned':
      return state;
    default:
      return unreachable(event);
  }
}

function fromTerminating(state: WorkerState & { phase: 'terminating' }, event: WorkerEvent): WorkerState | undefined {
  switch (event.kind) {
    case 'update':
      return whileEnding(state, event);
    case 'kill':
      return {
        ...state,
        revive: event.cause === 'removed' ? undefined : state.revive,
        termination: strongerTermination(state.termination, event),
      };
    case 'stopped': {
      const { termination, revive } = state;
      if (state.subject.kind === 'orphan') return { phase: 'finished', pod: undefined, termination, revive };
      return { phase: 'terminated', pod: state.subject.pod, termination, revive };
    }
    case 'orphan':
    case 'nameFree':
    case 'phaseTerminal':
    case 'cameLate':
    case 'cleaned':
      return state;
    default:
      return unreachable(event);
  }
}

function fromTerminated(state: WorkerState & { phase: 'terminated' }, event: WorkerEvent): WorkerState | undefined {
  if (event.kind === 'update') return whileEnding(state, event);
  if (event.kind === 'kill') {
    return {
      ...state,
      revive: event.cause === 'removed' ? undefined : state.revive,
      termination: strongerTermination(state.termination, event),
    };
  }
  // A full clean-up was requested during a partial one: clean again.
  if (event.kind === 'cleaned' && (event.all || !leavesNothing(state))) return { ...state, phase: 'finished' };
  return state;
}

function fromFinished(state: WorkerState & { phase: 'finished' }, event: WorkerEvent): WorkerState | undefined {
  const { pod } = state;
  if (pod !== undefined && event.kind === 'cameLate')
    return { phase: 'terminating', subject: { kind: 'pod', pod }, termination: state.termination };
  if (pod === undefined || (event.kind !== 'update' && event.kind !== 'kill')) return state;
  const after =
    event.kind === 'update'
      ? whileEnding(state, event)
      : { ...state, termination: strongerTermination(state.termination, event) };
  // Nothing is left of a deleted pod; it is only kept as long as its source lists it.
  if (state.termination.cause === 'deleted' && after.revive === undefined) return after;
  return leavesNothing(after) ? { ...after, phase: 'terminated', pod } : after;
}

/** Whether a finished pod is to be dropped: no source wants it, or it is to start again. */
export function isForgotten(state: WorkerState & { phase: 'finished' }): boolean {
  return state.termination.gone || state.revive !== undefined;
}

/** Whether everything of the pod must be removed: no source wants it, it was deleted, or it is to start again. */
export function leavesNothing(state: WorkerState & { phase: 'terminated' | 'finished' }): boolean {
  return state.termination.gone || state.termination.cause === 'deleted' || state.revive !== undefined;
}

/**
 * Applies an update to a pod that is being stopped. It may shorten the grace period, or request a fresh start under the
 * same UID.
 */
function whileEnding<Ending extends WorkerState & { termination: Termination; revive?: Pod }>(
  state: Ending,
  event: WorkerEvent & { kind: 'update' },
): Ending {
  if (event.isNew && event.pod.metadata.deletionTimestamp === undefined) return { ...state, revive: event.pod };
  if (event.pod.metadata.deletionTimestamp === undefined)
    return state.revive === undefined ? state : { ...state, revive: event.pod };
  const termination: Termination = {
    cause: 'deleted',
    graceMs: Math.min(state.termination.graceMs, graceOf(event.pod)),
    gone: state.termination.gone,
  };
  return { ...state, revive: undefined, termination };
}

function strongerTermination(current: Termination, event: WorkerEvent & { kind: 'kill' }): Termination {
  const asked = event.graceMs === undefined ? current.graceMs : Math.max(MINIMUM_GRACE_MS, event.graceMs);
  return {
    cause: current.cause,
    graceMs: Math.min(current.graceMs, asked),
    gone: current.gone || event.cause === 'removed',
  };
}

/**
 * Whether the work running for `before` must be aborted because of `after`: the pod began to end, or must end sooner.
 */
export function mustInterrupt(before: WorkerState | undefined, after: WorkerState | undefined): boolean {
  if (before === undefined || after?.phase !== 'terminating') return false;
  if (before.phase === 'queued' || before.phase === 'syncing') return true;
  return before.phase === 'terminating' && after.termination.graceMs < before.termination.graceMs;
}
