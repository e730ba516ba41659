import type { PodCondition } from '../../../api/core/pod-status.ts';

/** The state of a pod's resize, as the status reports it. Times are wall-clock milliseconds. */
export interface ResizeState {
  pending?: ResizeNote & { reason: 'Deferred' | 'Infeasible' };
  inProgress?: ResizeNote;
}

export interface ResizeNote {
  readonly reason: string;
  readonly message: string;
  /** The generation of the spec that requested the resize; 0 for pods without generations. */
  readonly generation: number;
  /** The time since when the condition is true for this reason. */
  readonly sinceMs: number;
}

/**
 * Sets the pending condition (upstream: status manager SetPodResizePendingCondition). `news` means that the reason or
 * the spec changed, which is reported as an event.
 */
export function withPending(
  state: ResizeState,
  note: Omit<ResizeNote, 'sinceMs'> & { reason: 'Deferred' | 'Infeasible' },
  nowMs: number,
): { state: ResizeState; news: boolean } {
  const before = state.pending;
  const sinceMs = before?.reason === note.reason ? before.sinceMs : nowMs;
  return {
    state: { ...state, pending: { ...note, sinceMs } },
    news: before === undefined || before.reason !== note.reason || before.generation !== note.generation,
  };
}

/**
 * Sets the condition of a resize in progress (upstream: SetPodResizeInProgressCondition). The generation stays that of
 * the start. A report that the resize is still in progress does not clear a known error.
 */
export function withProgress(
  state: ResizeState,
  note: Omit<ResizeNote, 'sinceMs'>,
  nowMs: number,
): { state: ResizeState; news: boolean } {
  const before = state.inProgress;
  const said = note.reason === '' && note.message === '' && before !== undefined ? before : note;
  const sinceMs = before?.reason === said.reason ? before.sinceMs : nowMs;
  const inProgress: ResizeNote = {
    reason: said.reason,
    message: said.message,
    generation: before?.generation ?? note.generation,
    sinceMs,
  };
  return {
    state: { ...state, inProgress },
    news: before === undefined || before.reason !== inProgress.reason || before.message !== inProgress.message,
  };
}

export function withoutPending({ inProgress }: ResizeState): ResizeState {
  return inProgress === undefined ? {} : { inProgress };
}

export function withoutProgress({ pending }: ResizeState): ResizeState {
  return pending === undefined ? {} : { pending };
}

/** Returns the conditions of the pod's status, in upstream's order. */
export function resizeConditions(state: ResizeState): PodCondition[] {
  const conditions: PodCondition[] = [];
  if (state.pending !== undefined) conditions.push(condition('PodResizePending', state.pending));
  if (state.inProgress !== undefined) conditions.push(condition('PodResizeInProgress', state.inProgress));
  return conditions;
}

/**
 * Restores the state from the conditions that an earlier run of the agent reported (upstream:
 * BackfillPodResizeConditions).
 */
export function stateOfConditions(conditions: readonly PodCondition[]): ResizeState {
  const state: ResizeState = {};
  for (const {
    type,
    status,
    reason = '',
    message = '',
    observedGeneration: generation = 0,
    lastTransitionTime,
  } of conditions) {
    if (status !== 'True') continue;
    const note = {
      reason,
      message,
      generation: Number(generation),
      sinceMs: Date.parse(lastTransitionTime ?? '') || 0,
    };
    if (type === 'PodResizePending')
      state.pending = { ...note, reason: reason === 'Infeasible' ? 'Infeasible' : 'Deferred' };
    if (type === 'PodResizeInProgress') state.inProgress = note;
  }
  return state;
}

function condition(type: string, { reason, message, generation, sinceMs }: ResizeNote): PodCondition {
  const said: PodCondition = {
    type,
    status: 'True',
    lastTransitionTime: new Date(sinceMs).toISOString().replace(/\.\d{3}Z$/, 'Z'),
  };
  if (reason !== '') said.reason = reason;
  if (message !== '') said.message = message;
  if (generation !== 0) said.observedGeneration = generation;
  return said;
}
