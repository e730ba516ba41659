import { findCondition } from '../../api/conditions.ts';
import type { Container } from '../../api/core/container.ts';
import type { ContainerStateRunning, ContainerStateTerminated, ContainerStatus } from '../../api/core/pod-status.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Blocker, PodExplanation } from '../../api/explanation/explanation.ts';
import { isTerminalPhase } from '../../api/pod.ts';
import type { Snapshot } from '../scheduler/framework/snapshot.ts';
import { eventTimeMs, lastEvent, podKeyOf, timeMs } from './cluster-view.ts';
import type { ClusterView } from './cluster-view.ts';
import { explainClaims } from './explain-claims.ts';
import { explainPlacement } from './explain-placement.ts';

/** Explains why a pod does not run, is not ready, or is not deleted. The result is empty for a settled or ended pod. */
export function explainPod(pod: Pod, view: ClusterView, snapshotOf: () => Snapshot): readonly Blocker[] {
  if (pod.metadata.deletionTimestamp !== undefined) return explainDeletion(pod, view);
  const { phase } = pod.status ?? {};
  if (isTerminalPhase(phase)) return [];
  const gates = pod.spec.schedulingGates ?? [];
  if (gates.length > 0)
    return [
      {
        step: 'be scheduled',
        cause: `it has scheduling gates: ${gates.map(({ name }) => name).join(', ')}`,
        sinceMs: createdMs(pod),
        suggestions: ['the controller that set a gate removes it when the pod may be scheduled'],
      },
    ];
  if ((pod.spec.nodeName ?? '') === '') return [...explainClaims(pod, view), explainPlacement(pod, view, snapshotOf)];
  const node = explainNode(pod, view);
  if (node !== undefined) return [node];
  const agent = view.agents.get(podKeyOf(pod));
  const onNode = agent === undefined ? explainContainers(pod, view) : explainByAgent(pod, agent);
  const gatesOfReadiness = onNode.length > 0 ? [] : explainReadinessGates(pod);
  return [...onNode, ...gatesOfReadiness];
}

const createdMs = (pod: Pod): number => timeMs(pod.metadata.creationTimestamp) ?? 0;

function explainDeletion(pod: Pod, view: ClusterView): readonly Blocker[] {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = pod.metadata;
  const endMs = timeMs(deletionTimestamp) ?? 0;
  const base = { step: 'be deleted', sinceMs: endMs - deletionGracePeriodSeconds * 1000 };
  const runs = statusesOf(pod)
    .filter(({ state }) => state?.running !== undefined)
    .map(({ name }) => name);
  const trouble = (pod.spec.nodeName ?? '') === '' ? undefined : nodeTrouble(pod.spec.nodeName ?? '', view);
  if (trouble !== undefined)
    return [
      {
        ...base,
        cause: `${trouble.cause}, so nothing says that its containers have ended`,
        suggestions: [
          ...trouble.suggestions,
          `if the node does not come back: kubectl delete pod ${pod.metadata.name} -n ${pod.metadata.namespace} --force`,
        ],
      },
    ];
  if (runs.length > 0)
    return [{ ...base, cause: `its containers are within their grace period: ${runs.join(', ')}`, nextTryAtMs: endMs }];
  if (finalizers.length > 0)
    return [
      {
        ...base,
        cause: `it has finalizers: ${finalizers.join(', ')}`,
        suggestions: ['check that the controllers that set them are running; they remove them when they are done'],
      },
    ];
  return [{ ...base, cause: 'its node has not confirmed the deletion', nextTryAtMs: endMs }];
}

/**
 * Returns the problem of a node that cannot run pods; undefined for a working node, and for one that the user cannot
 * read.
 */
function nodeTrouble(
  name: string,
  view: ClusterView,
): { readonly cause: string; readonly sinceMs: number; readonly suggestions: readonly string[] } | undefined {
  if (view.unseen.has('nodes')) return undefined;
  const node = view.nodes.find(({ metadata }) => metadata.name === name);
  if (node === undefined)
    return { cause: `node ${name} does not exist`, sinceMs: 0, suggestions: ['restore the node, or delete the pod'] };
  const ready = findCondition(node.status?.conditions, 'Ready');
  if (ready?.status === 'True') return undefined;
  const why =
    ready === undefined
      ? 'it has never reported a status'
      : [ready.reason, ready.message].filter((each) => (each ?? '') !== '').join(': ');
  const look =
    ready?.status === 'False'
      ? `kubectl describe node ${name}`
      : `check that its kubelet is running and reaches the API server: systemctl status kubelet on ${name}`;
  return {
    cause: `node ${name} is not ready (${why})`,
    sinceMs: timeMs(ready?.lastTransitionTime) ?? timeMs(node.metadata.creationTimestamp) ?? 0,
    suggestions: [look],
  };
}

function explainNode(pod: Pod, view: ClusterView): Blocker | undefined {
  const trouble = nodeTrouble(pod.spec.nodeName ?? '', view);
  if (trouble === undefined) return undefined;
  return { step: `run on node ${pod.spec.nodeName}`, ...trouble, sinceMs: Math.max(trouble.sinceMs, createdMs(pod)) };
}

const statusesOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
];

/**
 * Returns the agent's explanation, with suggestions for the problems in the container statuses. The agent's own
 * suggestions cover problems that no status contains.
 */
function explainByAgent(pod: Pod, { blockers, suggestions }: PodExplanation): readonly Blocker[] {
  const specs = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const known = blockers.map((blocker) => {
    const name = / container (\S+)$/.exec(blocker.step)?.[1];
    const [container, status] = [
      specs.find((each) => each.name === name),
      statusesOf(pod).find((each) => each.name === name),
    ];
    return {
      ...blocker,
      suggestions: [
        ...(blocker.suggestions ?? []),
        ...(container === undefined || status === undefined ? [] : suggestionsFor(pod, container, status)),
      ],
    };
  });
  const open = known.findLastIndex((blocker) => blocker.suggestions.length === 0);
  const at = open === -1 ? known.length - 1 : open;
  return known.map((blocker, index) =>
    index === at ? { ...blocker, suggestions: [...blocker.suggestions, ...suggestions] } : blocker,
  );
}

/**
 * Returns suggestions; none for a container that does not exist yet, because the agent knows more about its missing
 * dependencies.
 */
function suggestionsFor(pod: Pod, container: Container, status: ContainerStatus): readonly string[] {
  const { waiting } = status.state ?? {};
  if (status.ready || (waiting !== undefined && !/Image|Registry|^CrashLoopBackOff$/.test(waiting.reason ?? '')))
    return [];
  const isPlainInit = container.restartPolicy !== 'Always' && (pod.spec.initContainers ?? []).includes(container);
  return explainContainer({ pod, container, status, sinceMs: 0, said: {}, isPlainInit }).suggestions ?? [];
}

/** The explanation from the pod's status and events, if the node's agent provides none. */
function explainContainers(pod: Pod, view: ClusterView): readonly Blocker[] {
  const { spec, status } = pod;
  if (isTrue(pod, 'Ready')) return [];
  const scheduledMs = timeMs(findCondition(status?.conditions, 'PodScheduled')?.lastTransitionTime) ?? createdMs(pod);
  const trouble = lastEvent(view, pod.metadata.uid, ({ type }) => type === 'Warning');
  const said =
    trouble?.message === undefined ? {} : { lastError: `${trouble.reason ?? 'Warning'}: ${trouble.message}` };
  if (statusesOf(pod).length === 0)
    return [
      {
        step: `be started by node ${spec.nodeName}`,
        cause: 'its agent has not reported anything yet',
        sinceMs: scheduledMs,
        ...said,
        suggestions: [`if this persists: kubectl describe node ${spec.nodeName}`],
      },
    ];
  const init = (spec.initContainers ?? []).flatMap((container) => {
    const found = status?.initContainerStatuses?.find(({ name }) => name === container.name);
    const isDone =
      found?.state?.terminated?.exitCode === 0 || (container.restartPolicy === 'Always' && found?.ready === true);
    return found === undefined || isDone
      ? []
      : explainContainer({
          pod,
          container,
          status: found,
          sinceMs: scheduledMs,
          said,
          isPlainInit: container.restartPolicy !== 'Always',
        });
  });
  // Later init containers only wait for the first one that is blocked.
  const [first] = init;
  if (first !== undefined) return [first];
  return spec.containers.flatMap((container) => {
    const found = status?.containerStatuses?.find(({ name }) => name === container.name);
    return found === undefined || found.ready
      ? []
      : explainContainer({ pod, container, status: found, sinceMs: scheduledMs, said, isPlainInit: false });
  });
}

interface ContainerCase {
  readonly pod: Pod;
  readonly container: Pick<Container, 'name' | 'image'>;
  readonly status: ContainerStatus;
  readonly sinceMs: number;
  /** The last Warning about the pod. */
  readonly said: { readonly lastError?: string };
  readonly isPlainInit: boolean;
}

function explainContainer(facts: ContainerCase): Blocker {
  const { waiting, running, terminated } = facts.status.state ?? {};
  if (running !== undefined) return explainRunning(facts, running);
  const ended = terminated ?? facts.status.lastState?.terminated;
  const isRestarting = waiting?.reason === 'CrashLoopBackOff' || (waiting === undefined && ended !== undefined);
  return isRestarting ? explainRestart(facts, ended) : explainStart(facts);
}

/** Explains an init container that has not ended, or a container whose probe has not succeeded. */
function explainRunning(
  { pod, container: { name }, status, sinceMs, said, isPlainInit }: ContainerCase,
  { startedAt }: ContainerStateRunning,
): Blocker {
  const suggestions = [`kubectl logs ${pod.metadata.name} -n ${pod.metadata.namespace} -c ${name}`];
  const startedMs = timeMs(startedAt) ?? sinceMs;
  if (isPlainInit)
    return {
      step: `init container ${name}`,
      cause: 'it is still running; the next container starts when it has succeeded',
      sinceMs: startedMs,
      suggestions,
    };
  const type = status.started === false ? 'startup' : 'readiness';
  const notReadyMs = timeMs(findCondition(pod.status?.conditions, 'ContainersReady')?.lastTransitionTime) ?? startedMs;
  return {
    step: `${type} of container ${name}`,
    cause: `its ${type} probe has not succeeded yet`,
    sinceMs: Math.max(startedMs, notReadyMs),
    ...said,
    suggestions,
  };
}

function explainRestart(
  { pod, container: { name }, status, sinceMs }: ContainerCase,
  ended: ContainerStateTerminated | undefined,
): Blocker {
  const { waiting, terminated } = status.state ?? {};
  const reason = waiting?.reason ?? '';
  const ofEarlierRun = terminated === undefined ? ' --previous' : '';
  return {
    step: `restart container ${name}`,
    cause: reason === '' ? 'it has ended' : reason,
    sinceMs: timeMs(ended?.finishedAt) ?? sinceMs,
    ...(ended !== undefined && {
      lastError: `exit code ${ended.exitCode}${ended.reason === undefined ? '' : ` (${ended.reason})`}`,
    }),
    suggestions: [`kubectl logs ${pod.metadata.name} -n ${pod.metadata.namespace} -c ${name}${ofEarlierRun}`],
  };
}

/** Explains a container that has not started, or whose image is not available. */
function explainStart({ pod, container: { name, image = '' }, status, sinceMs, said }: ContainerCase): Blocker {
  const { waiting } = status.state ?? {};
  const reason = waiting?.reason ?? '';
  const lastError = waiting?.message ?? said.lastError;
  const since = { sinceMs, ...(lastError !== undefined && { lastError }) };
  if (/Image|Registry/.test(reason))
    return {
      step: `pull image ${image}`,
      cause: reason,
      ...since,
      suggestions: [imageSuggestion(lastError ?? '', reason)],
    };
  const isBeingCreated = reason === '' || reason === 'ContainerCreating' || reason === 'PodInitializing';
  return {
    step: `start container ${name}`,
    cause: isBeingCreated ? 'it is being created' : reason,
    ...since,
    suggestions: [
      /Config/.test(reason)
        ? 'create the missing ConfigMap or Secret, or correct its name'
        : `kubectl describe pod ${pod.metadata.name} -n ${pod.metadata.namespace}`,
    ],
  };
}

function imageSuggestion(message: string, reason: string): string {
  if (reason === 'ErrImageNeverPull') return 'load the image onto the node, or change imagePullPolicy: Never';
  if (reason === 'InvalidImageName') return 'correct the name of the image';
  if (/no such host|dial tcp|connection refused|i\/o timeout|TLS/i.test(message))
    return 'check that the node reaches the registry, or correct the image name';
  if (/unauthori[sz]ed|forbidden|denied|authentication/i.test(message))
    return 'use an imagePullSecret with valid credentials, and check that the image exists';
  return 'correct the name or tag of the image';
}

function explainReadinessGates(pod: Pod): readonly Blocker[] {
  return (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = findCondition(pod.status?.conditions, conditionType);
    if (condition?.status === 'True') return [];
    const sinceMs = timeMs(condition?.lastTransitionTime) ?? createdMs(pod);
    return [
      {
        step: `readiness gate ${conditionType}`,
        cause: condition === undefined ? 'nothing has set this condition yet' : `the condition is ${condition.status}`,
        sinceMs,
        ...(condition?.message !== undefined && { lastError: condition.message }),
        suggestions: ['check that the controller that sets it is running'],
      },
    ];
  });
}

const isTrue = ({ status }: Pod, type: string): boolean => findCondition(status?.conditions, type)?.status === 'True';

/** Whether the events of a pod are shown when it is queried alone. */
export const eventsOf = (view: Pick<ClusterView, 'events'>, uid: string): ClusterView['events'] =>
  view.events
    .filter(({ involvedObject }) => involvedObject.uid === uid)
    .sort((left, right) => eventTimeMs(left) - eventTimeMs(right));
