import { unreachable } from '../../../base/errors.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';

/**
 * The life of one pod on this node, as a closed state machine.
 *
 *   (none) ──update──► queued ──name free──► syncing ──kill / deletion / terminal phase──► terminating ──all stopped──► terminated ──cleaned──► finished
 *     └───────────────orphan (only the runtime knows it)──────────────────────────────────────▲                       ▲                      │
 *                                                                                                                     └──removed / wanted again──┘
 * A pod never runs again. Where something of a finished one came late, by a call that had been given up, it is ended once more. One that is wanted again under the same uid (`revive`) starts anew once nothing of the earlier one is left,
 * its dead containers included: they would pass for those of the new one. That is why a finished pod is cleaned once more before it is forgotten.
 */
export type WorkerState =
  | { phase: 'queued' | 'syncing'; pod: Pod }
  | { phase: 'terminating'; subject: TerminatingSubject; termination: Termination; revive?: Pod }
  | { phase: 'terminated'; pod: Pod; termination: Termination; revive?: Pod }
  | { phase: 'finished'; pod: Pod | undefined; termination: Termination; revive?: Pod };

/** What is being stopped: a pod we have the spec of, or one that only the runtime still knows. */
export type TerminatingSubject = { kind: 'pod'; pod: Pod } | { kind: 'orphan'; runtime: PodRuntimeStatus };

export interface Termination {
  /**
   * removed: gone from its source. deleted: deletionTimestamp set. evicted: killed by the agent itself (eviction, preemption, shutdown).
   * completed: its phase is terminal. orphaned: found running without a spec.
   */
  cause: 'removed' | 'deleted' | 'evicted' | 'completed' | 'orphaned';
  /** Only ever shrinks. */
  graceMs: number;
  /** The pod is wanted by no source any more: forget it when finished. */
  gone: boolean;
}

export type WorkerEvent =
  | { kind: 'update'; pod: Pod; isNew: boolean; mustQueue: boolean }
  | { kind: 'kill'; cause: 'removed' | 'evicted'; graceMs?: number }
  | { kind: 'orphan'; runtime: PodRuntimeStatus; graceMs: number }
  | { kind: 'nameFree' }
  | { kind: 'phaseTerminal' }
  | { kind: 'stopped' }
  /** Something of it runs though it is over: a call that had been given up took effect late. */
  | { kind: 'cameLate' }
  /** `all`: nothing is left in the runtime either. */
  | { kind: 'cleaned'; all: boolean };

/** Upstream: pod_workers.go, calculateEffectiveGracePeriod; a pod always gets at least a second. */
const MINIMUM_GRACE_MS = 1000;
const DEFAULT_GRACE_SECONDS = 30;

export function graceOf(pod: Pod): number {
  const seconds =
    pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  return Math.max(MINIMUM_GRACE_MS, seconds * 1000);
}

/** The state after `event`; undefined means that nothing is known of the pod (any more). */
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
  // Asked to leave nothing while it was cleaned for keeping: once more.
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
  // Of one that was deleted nothing is left already; it is only known for as long as its source lists it.
  if (state.termination.cause === 'deleted' && after.revive === undefined) return after;
  return leavesNothing(after) ? { ...after, phase: 'terminated', pod } : after;
}

/** Whether a finished pod is to be known no more: no source wants it, or it is to start anew. */
export function isForgotten(state: WorkerState & { phase: 'finished' }): boolean {
  return state.termination.gone || state.revive !== undefined;
}

/** Whether nothing of the pod may be left: no source wants it, it was deleted, or it is to start anew. */
export function leavesNothing(state: WorkerState & { phase: 'terminated' | 'finished' }): boolean {
  return state.termination.gone || state.termination.cause === 'deleted' || state.revive !== undefined;
}

/** An update while the pod is being ended may shorten the grace, or ask for a fresh start under the same uid. */
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

/** Whether work in progress under `before` must be broken off because of what `after` asks: the pod began to end, or must end sooner. */
export function mustInterrupt(before: WorkerState | undefined, after: WorkerState | undefined): boolean {
  if (before === undefined || after?.phase !== 'terminating') return false;
  if (before.phase === 'queued' || before.phase === 'syncing') return true;
  return before.phase === 'terminating' && after.termination.graceMs < before.termination.graceMs;
}
