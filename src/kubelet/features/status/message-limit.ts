import { Buffer } from 'node:buffer';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerState, ContainerStatus } from '../../../api/core/pod-status.ts';

/** The limit for all termination messages of one pod (upstream: MaxPodTerminationMessageLogLength). */
const POD_MESSAGE_BYTES = 12 * 1024;

/**
 * Truncates messages. Each container may use an equal part of the pod's limit, however little the others use (upstream:
 * status_manager.go normalizeStatus).
 */
export function limitMessages(pod: Pod, statuses: readonly ContainerStatus[]): ContainerStatus[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const limitBytes = Math.floor(
    POD_MESSAGE_BYTES / Math.max(1, containers.length + initContainers.length + ephemeralContainers.length),
  );
  return statuses.map((status) => {
    const state = limited(status.state, limitBytes);
    const lastState = limited(status.lastState, limitBytes);
    return state === status.state && lastState === status.lastState ? status : { ...status, state, lastState };
  });
}

function limited(state: ContainerState | undefined, limitBytes: number): ContainerState | undefined {
  const message = state?.terminated?.message;
  if (state?.terminated === undefined || message === undefined || Buffer.byteLength(message) <= limitBytes)
    return state;
  return { ...state, terminated: { ...state.terminated, message: beginningOf(message, limitBytes) } };
}

/** Returns the beginning of a text. A character that does not fit completely is omitted. */
function beginningOf(text: string, limitBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  let end = limitBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
