import type { Container } from '../../../api/core/container.ts';
import type { Probe } from '../../../api/core/probe.ts';
import type { ContainerId } from '../../model/ids.ts';
import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';

/**
 * The state of one probe of one container.
 *
 *     new container ──► counting ──(threshold)──► verdict set ──► counting …
 *                                                     │ liveness failed, or startup decided
 *                                                     ▼
 *                                           on hold, until another container
 */
export interface ProbeState {
  readonly id: ContainerId;
  /** The current result. */
  readonly verdict: Exclude<ProbeVerdict, 'inconclusive'>;
  /**
   * Whether the container is assumed to be healthy. It is older than the agent, has no saved result and was not probed
   * yet.
   */
  readonly assumed: boolean;
  /** The last outcome, and how many times in a row it occurred. */
  readonly last?: 'success' | 'failure';
  readonly run: number;
  /** Whether this container is no longer probed. */
  readonly onHold: boolean;
}

/** The results before the first probe (upstream: prober/worker.go). */
const initialVerdicts = { liveness: 'success', readiness: 'failure', startup: 'unknown' } as const;

/** Returns the initial state for a container that was just created. */
export function freshState(type: ProbeType, id: ContainerId): ProbeState {
  return { id, verdict: initialVerdicts[type], assumed: false, run: 0, onHold: false };
}

/**
 * Returns the initial state for a container that is older than the agent. A saved result applies, so that readiness
 * does not flip. A saved failure that would kill the container is dropped, and must occur again.
 */
export function adoptedState(type: ProbeType, id: ContainerId, remembered: ProbeVerdict | undefined): ProbeState {
  const fresh = freshState(type, id);
  if (type === 'liveness') return fresh;
  if (remembered === 'success') return { ...fresh, verdict: 'success', onHold: type === 'startup' };
  if (remembered === 'failure' && type === 'readiness') return fresh;
  return remembered === undefined ? { ...fresh, verdict: 'success', assumed: true } : fresh;
}

export interface Thresholds {
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly initialDelayMs: number;
  readonly success: number;
  readonly failure: number;
}

/** Returns the numbers of a probe, with the API's defaults for fields that are not set. */
export function thresholdsOf(probe: Probe): Thresholds {
  return {
    periodMs: (probe.periodSeconds || 10) * 1000,
    timeoutMs: (probe.timeoutSeconds || 1) * 1000,
    initialDelayMs: (probe.initialDelaySeconds ?? 0) * 1000,
    success: probe.successThreshold || 1,
    failure: probe.failureThreshold || 3,
  };
}

/** Returns the state after one more outcome. An outcome below its threshold changes only the count. */
export function nextProbeState(
  type: ProbeType,
  thresholds: Pick<Thresholds, 'success' | 'failure'>,
  state: ProbeState,
  result: 'success' | 'failure',
): ProbeState {
  // The same outcome again is the usual case.
  if (state.last === result && state.verdict === result && !state.assumed && state.run >= thresholds[result])
    return state;
  const run = state.last === result ? state.run + 1 : 1;
  if (run < thresholds[result]) return { ...state, last: result, run };
  const onHold = type === 'startup' || (type === 'liveness' && result === 'failure');
  return { ...state, verdict: result, assumed: false, last: result, run: onHold ? 0 : run, onHold };
}

/** Whether a container has passed its startup probe, if it has one. Liveness and readiness probes wait for that. */
export function hasStarted(startup: ProbeState | undefined): boolean {
  return startup === undefined || (startup.verdict === 'success' && !startup.assumed);
}

export function probeOf(container: Container, type: ProbeType): Probe | undefined {
  switch (type) {
    case 'liveness':
      return container.livenessProbe;
    case 'readiness':
      return container.readinessProbe;
    case 'startup':
      return container.startupProbe;
  }
}
