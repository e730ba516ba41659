import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Blocker } from '../../../api/explanation/explanation.ts';
import type { MountedVolume } from '../../model/pod-volumes.ts';

/**
 *              begin                 succeeded
 *   waiting ───────────► working ───────────────► mounted ──── begin (refresh) ──► working with `last`
 *      ▲                    │  failed                                                 │ failed: stays usable
 *      └────────────────────┘ (with back-off)     mounted, refresh overdue ◄──────────┘
 */
export type VolumeState =
  | {
      phase: 'waiting';
      failures: number;
      lastError?: string;
      sinceMs: number;
      retryAtMs?: number;
      last?: MountedVolume;
    }
  | {
      phase: 'working';
      failures: number;
      lastError?: string;
      sinceMs: number;
      last?: MountedVolume;
      again: boolean;
      slow: boolean;
    }
  | { phase: 'mounted'; mounted: MountedVolume };

export type VolumeEvent =
  | { kind: 'begin' }
  /** The content may be outdated. */
  | { kind: 'changed' }
  | { kind: 'slow' }
  | { kind: 'succeeded'; mounted: MountedVolume }
  | { kind: 'failed'; error: string };

/** The back-off, 500 ms to 2 min 2 s (upstream: goroutinemap/exponentialbackoff). */
export const operationBackoff: BackoffCurve = { initialMs: 500, maxMs: 122_000, factor: 2 };

export function initialVolumeState(nowMs: number): VolumeState {
  return { phase: 'waiting', failures: 0, sinceMs: nowMs };
}

/**
 * Returns the next state. It is total: an event that does not apply to a phase changes nothing. `nowMs` is wall time,
 * for display.
 */
export function nextVolumeState(state: VolumeState, event: VolumeEvent, nowMs: number): VolumeState {
  switch (event.kind) {
    case 'begin':
      return begin(state, nowMs);
    case 'changed':
      if (state.phase === 'working') return { ...state, again: true };
      if (state.phase === 'mounted') return { phase: 'waiting', failures: 0, sinceMs: nowMs, last: state.mounted };
      return { ...state, retryAtMs: undefined };
    case 'slow':
      return state.phase === 'working' ? { ...state, slow: true } : state;
    case 'succeeded':
      if (state.phase !== 'working') return state;
      return state.again
        ? { phase: 'waiting', failures: 0, sinceMs: nowMs, last: event.mounted }
        : { phase: 'mounted', mounted: event.mounted };
    case 'failed':
      return state.phase === 'working' ? failed(state, event.error, nowMs) : state;
  }
}

function begin(state: VolumeState, nowMs: number): VolumeState {
  if (state.phase === 'working') return state;
  if (state.phase === 'mounted')
    return { phase: 'working', failures: 0, sinceMs: nowMs, last: state.mounted, again: false, slow: false };
  const { failures, lastError, sinceMs, last } = state;
  return { phase: 'working', failures, lastError, sinceMs, last, again: false, slow: false };
}

function failed(state: Extract<VolumeState, { phase: 'working' }>, error: string, nowMs: number): VolumeState {
  const failures = state.failures + 1;
  const { sinceMs, last } = state;
  return {
    phase: 'waiting',
    failures,
    lastError: error,
    sinceMs,
    last,
    retryAtMs: state.again ? undefined : nowMs + backoffDelayMs(operationBackoff, failures),
  };
}

/** Returns what a container may use now. A volume whose refresh fails stays usable with its old content. */
export function usableVolume(state: VolumeState): MountedVolume | undefined {
  return state.phase === 'mounted' ? state.mounted : state.last;
}

export function volumeBlocker(name: string, state: VolumeState): Blocker | undefined {
  if (usableVolume(state) !== undefined || state.phase === 'mounted') return undefined;
  const slow = state.phase === 'working' && state.slow;
  return {
    step: `volume ${name}`,
    cause: state.lastError ?? (slow ? 'the host does not respond' : 'is being set up'),
    sinceMs: state.sinceMs,
    lastError: state.lastError,
    nextTryAtMs: state.phase === 'waiting' ? state.retryAtMs : undefined,
  };
}
