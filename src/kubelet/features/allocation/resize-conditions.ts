import type { PodCondition } from '../../../api/core/pod-status.ts';

/** What the status reports of a resize of one pod. Times are wall milliseconds. */
export interface ResizeState {
  pending?: ResizeNote & { reason: 'Deferred' | 'Infeasible' };
  inProgress?: ResizeNote;
}

export interface ResizeNote {
  readonly reason: string;
  readonly message: string;
  /** Generation of the spec that asked for it; 0 for pods that have none. */
  readonly generation: number;
  /** Since when the condition holds for this reason. */
  readonly sinceMs: number;
}

/** Upstream: status manager SetPodResizePendingCondition. `news` is worth an event: another reason or another spec. */
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
 * Upstream: SetPodResizeInProgressCondition. The generation stays that of the start, and a known error is not cleared
 * by a report that the resize still goes on.
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

/** As in the pod's status, in upstream's order. */
export function resizeConditions(state: ResizeState): PodCondition[] {
  const conditions: PodCondition[] = [];
  if (state.pending !== undefined) conditions.push(condition('PodResizePending', state.pending));
  if (state.inProgress !== undefined) conditions.push(condition('PodResizeInProgress', state.inProgress));
  return conditions;
}

/** What an earlier run of the agent had reported (upstream: BackfillPodResizeConditions). */
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
