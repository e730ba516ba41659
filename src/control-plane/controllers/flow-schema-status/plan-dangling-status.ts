import type { FlowSchema, FlowSchemaStatus } from '../../../api/flowcontrol/flow-schema.ts';
import { formatTime } from '../../../api/time.ts';

const DANGLING = 'Dangling';

/** Returns the status that tells whether the priority level exists, or undefined if it is up to date. */
export function planDanglingStatus(
  { spec, status }: FlowSchema,
  exists: boolean,
  nowMs: number,
): FlowSchemaStatus | undefined {
  const level = `the PriorityLevelConfiguration object named "${spec.priorityLevelConfiguration.name}"`;
  const wanted = exists
    ? { status: 'False', reason: 'Found', message: `This FlowSchema references ${level} and it exists` }
    : {
        status: 'True',
        reason: 'NotFound',
        message: `This FlowSchema references ${level} but there is no such object`,
      };
  const conditions = status?.conditions ?? [];
  const shown = conditions.find(({ type }) => type === DANGLING);
  const isSame = shown?.status === wanted.status;
  if (isSame && shown.message === wanted.message && shown.reason === wanted.reason) return undefined;
  const lastTransitionTime = (isSame ? shown.lastTransitionTime : undefined) ?? formatTime(nowMs);
  return {
    ...status,
    conditions: [...conditions.filter((each) => each !== shown), { type: DANGLING, ...wanted, lastTransitionTime }],
  };
}
