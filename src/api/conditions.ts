import { formatTime } from './time.ts';

/** The fields that conditions of all kinds have. */
export interface ConditionLike {
  readonly type: string;
  readonly status: string;
}

export function findCondition<C extends ConditionLike>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((each) => each.type === type);
}

/** Whether the condition exists and is `True`. `Unknown` is not true. */
export function isConditionTrue(conditions: readonly ConditionLike[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/**
 * The transition time changes only with the status, not with its reason or message (upstream: SetStatusCondition,
 * UpdatePodCondition).
 */
export function transitionTime(
  before: (ConditionLike & { readonly lastTransitionTime?: string }) | undefined,
  status: string,
  nowMs: number,
): string {
  return before?.status === status && before.lastTransitionTime !== undefined && before.lastTransitionTime !== ''
    ? before.lastTransitionTime
    : formatTime(nowMs);
}

/** The conditions with this one added, in place of an existing one of the same type. */
export function withCondition<C extends ConditionLike & { lastTransitionTime?: string }>(
  conditions: readonly C[] | undefined,
  condition: C,
  nowMs: number,
): C[] {
  const list = conditions ?? [];
  const index = list.findIndex(({ type }) => type === condition.type);
  const changed = { ...condition, lastTransitionTime: transitionTime(list[index], condition.status, nowMs) };
  return index < 0 ? [...list, changed] : list.with(index, changed);
}
