import type { AnyContainer } from '../../../api/pod.ts';
import { isRestartableInit, isStaticPod } from '../../../api/pod.ts';
import { terminatedReasons } from '../../../api/reasons.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus, PodPhase } from '../../../api/core/pod-status.ts';
import type { RestartRules } from './interfaces.ts';

export interface PhaseFacts {
  readonly pod: Pod;
  /** The statuses of init and regular containers. */
  readonly statuses: readonly ContainerStatus[];
  /** Whether the pod is being stopped permanently. Then its policy restarts no container. */
  readonly isTerminal: boolean;
  /** Whether no container of the pod will ever be started again, whatever its policy. */
  readonly isGivenUp: boolean;
  /** Whether a regular container of the current sandbox has been started. */
  readonly hasInitialized: boolean;
  readonly rules: RestartRules;
}

/** The end of a container that stopped, or that stopped and waits to be restarted. */
interface Ended {
  readonly kind: 'ended';
  readonly exitCode: number;
  readonly restarts: boolean;
}
type ContainerStage = { kind: 'absent' } | { kind: 'never-started' } | { kind: 'running' } | Ended;

function stageOf(facts: PhaseFacts, container: AnyContainer): { stage: ContainerStage; status?: ContainerStatus } {
  const status = facts.statuses.find((candidate) => candidate.name === container.name);
  if (status === undefined) return { stage: { kind: 'absent' } };
  if (status.state?.running !== undefined) return { stage: { kind: 'running' }, status };
  const ended = status.state?.terminated ?? status.lastState?.terminated;
  if (ended === undefined)
    return { stage: status.state?.waiting === undefined ? { kind: 'absent' } : { kind: 'never-started' }, status };
  const restarts =
    !facts.isGivenUp &&
    (ended.reason === terminatedReasons.restartingAllContainers ||
      facts.rules.restartsAfterExit(facts.pod, container, ended.exitCode));
  return { stage: { kind: 'ended', exitCode: ended.exitCode, restarts }, status };
}

/**
 * Computes the phase of the pod (upstream: kubelet_pods.go getPhase). Sidecars do not count for Succeeded and Failed.
 */
export function computePhase(facts: PhaseFacts): PodPhase {
  const init = countInit(facts);
  if (init.failedPermanently) return 'Failed';
  const { running, waiting, unknown, ended } = countMain(facts, init);
  if (init.pending || (init.sidecarsPending && !facts.hasInitialized) || waiting > 0) return 'Pending';
  if (unknown > 0 || (running === 0 && ended.length === 0)) return 'Pending';
  if (running > 0) return 'Running';
  const verdict: PodPhase = ended.every((stage) => stage.exitCode === 0) ? 'Succeeded' : 'Failed';
  if (facts.isTerminal && !isStaticPod(facts.pod)) return verdict;
  return ended.some((stage) => stage.restarts) ? 'Running' : verdict;
}

interface InitCount {
  pending: boolean;
  failedPermanently: boolean;
  sidecarsPending: boolean;
  sidecarsRunning: number;
  sidecarsWaiting: number;
  sidecarsUnknown: number;
}

function countInit(facts: PhaseFacts): InitCount {
  const count: InitCount = {
    pending: false,
    failedPermanently: false,
    sidecarsPending: false,
    sidecarsRunning: 0,
    sidecarsWaiting: 0,
    sidecarsUnknown: 0,
  };
  for (const container of facts.pod.spec.initContainers ?? []) {
    const { stage, status } = stageOf(facts, container);
    if (isRestartableInit(container)) {
      if (stage.kind === 'running') {
        count.sidecarsRunning++;
        if (status?.started !== true) count.sidecarsPending = true;
      } else if (stage.kind === 'never-started') {
        count.sidecarsWaiting++;
        count.sidecarsPending = true;
      } else if (stage.kind === 'absent') count.sidecarsUnknown++;
    } else if (stage.kind !== 'ended') count.pending = true;
    else if (stage.exitCode !== 0 && !stage.restarts) count.failedPermanently = true;
  }
  return count;
}

function countMain(facts: PhaseFacts, init: InitCount) {
  let running = init.sidecarsRunning;
  let waiting = init.sidecarsWaiting;
  let unknown = init.sidecarsUnknown;
  const ended: Ended[] = [];
  for (const container of facts.pod.spec.containers) {
    const { stage } = stageOf(facts, container);
    if (stage.kind === 'running') running++;
    else if (stage.kind === 'never-started') waiting++;
    else if (stage.kind === 'absent') unknown++;
    else ended.push(stage);
  }
  return { running, waiting, unknown, ended };
}
