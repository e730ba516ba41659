import type { Container } from '../../../api/core/container.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodExplanation } from '../../../api/explanation/explanation.ts';
import { podQos } from '../../../api/qos.ts';
import { readyCount, startOfAgeMs, statusWord } from '../../../api/pod-summary.ts';
import { quantityMilliValue, quantityValue, tryParseQuantity } from '../../../api/quantity.ts';
import { podLimits, podRequests } from '../../../api/resources.ts';
import type { MachineIdentity } from '../../ports/stats.ts';
import { computeThresholds } from './compute-thresholds.ts';
import type { Capacities } from './compute-thresholds.ts';
import type { PageSources } from './page-sources.ts';
import { computeManagers } from './compute-managers.ts';
import type { ManagersView } from './compute-managers.ts';
import type { PageContainer, PageNode, PagePod, PageResources, PageState } from './page-state.ts';

export interface PageFacts extends Pick<PageSources, 'nodeName' | 'kubeletVersion' | 'eviction'> {
  readonly machine: MachineIdentity | undefined;
  readonly node: Node | undefined;
  readonly pods: readonly { readonly pod: Pod; readonly explanation: PodExplanation }[];
  readonly problems: readonly { readonly message: string }[];
  /** The measured capacities by signal. */
  readonly capacities: Capacities;
  readonly managersView: ManagersView;
}

/** The maximum length of a text of an API object, so that one pod does not fill the page. */
const TEXT_LIMIT = 1000;

/** Computes what the page shows beside the figures: the node, its pods by namespace and name, thresholds, managers. */
export function computePageState(facts: PageFacts): PageState {
  const pods = facts.pods.map(({ pod, explanation }) => podOf(pod, explanation)).sort(byName);
  return {
    node: nodeOf(facts),
    thresholds: computeThresholds(facts.eviction, facts.capacities),
    pods,
    managers: computeManagers(
      facts.managersView,
      facts.pods.map(({ pod }) => pod),
    ),
  };
}

function nodeOf({ nodeName, kubeletVersion, machine, node, problems }: PageFacts): PageNode {
  const { allocatable, conditions } = node?.status ?? {};
  const pods = numberOf(allocatable, 'pods', quantityValue);
  return {
    name: nodeName,
    kubeletVersion,
    ...(machine !== undefined && {
      osVersion: machine.osVersion,
      kernelVersion: machine.kernelVersion,
      bootedAtMs: machine.bootedAtMs,
      cores: machine.cores,
      memoryBytes: machine.memoryBytes,
      swapBytes: machine.swapBytes,
    }),
    allocatable: {
      cpuMillis: numberOf(allocatable, 'cpu', quantityMilliValue),
      memoryBytes: numberOf(allocatable, 'memory', quantityValue),
      pods,
    },
    conditions: (conditions ?? []).map(({ type, status, reason, message }) => ({
      type,
      status,
      reason: reason ?? '',
      message: shortened(message ?? ''),
    })),
    problems: problems.map(({ message }) => shortened(message)),
  };
}

function podOf(pod: Pod, { settled, blockers, timeline, phase }: PodExplanation): PagePod {
  const { uid, namespace, name } = pod.metadata;
  const containers = containersOf(pod);
  const startedAtMs = startOfAgeMs(pod);
  // A blocker with an error is the most informative.
  const blocker = blockers.find(({ lastError }) => lastError !== undefined) ?? blockers[0];
  const last = timeline.at(-1);
  return {
    uid,
    namespace,
    name,
    status: shortened(statusWord(pod)),
    phase: pod.status?.phase ?? phase,
    ...(pod.status?.phase === 'Failed' && { message: shortened(failureOf(pod)) }),
    ready: readyCount(pod),
    qos: podQos(pod),
    priority: pod.spec.priority ?? 0,
    ...(!Number.isNaN(startedAtMs) && { startedAtMs }),
    restarts: containers.reduce((sum, { restarts }) => sum + restarts, 0),
    settled,
    ...(blocker !== undefined && {
      blocker: {
        step: shortened(blocker.step),
        cause: shortened(blocker.lastError ?? blocker.cause),
        sinceMs: blocker.sinceMs,
      },
    }),
    timelineMark: `${timeline.length}/${last?.atMs ?? 0}/${blockers.map(({ sinceMs }) => sinceMs).join(',')}`,
    ...resourcesOf(podRequests(pod), podLimits(pod)),
    containers,
  };
}

function failureOf({ status }: Pod): string {
  return [status?.reason, status?.message].filter((text) => text !== undefined && text !== '').join(': ');
}

function containersOf(pod: Pod): PageContainer[] {
  const { spec, status } = pod;
  return [
    ...(spec.initContainers ?? []).map((container) =>
      containerOf(container, container.restartPolicy === 'Always' ? 'sidecar' : 'init', status?.initContainerStatuses),
    ),
    ...spec.containers.map((container) => containerOf(container, 'container', status?.containerStatuses)),
    ...(spec.ephemeralContainers ?? []).map((container) =>
      containerOf(container, 'ephemeral', status?.ephemeralContainerStatuses),
    ),
  ];
}

function containerOf(
  { name, image, resources }: Pick<Container, 'name' | 'image' | 'resources'>,
  kind: PageContainer['kind'],
  statuses: readonly ContainerStatus[] = [],
): PageContainer {
  const status = statuses.find((each) => each.name === name);
  const { running, terminated, waiting } = status?.state ?? {};
  return {
    name,
    kind,
    image: shortened(image ?? ''),
    state: running !== undefined ? 'running' : terminated !== undefined ? 'terminated' : 'waiting',
    reason: shortened(terminated?.reason ?? waiting?.reason ?? ''),
    ready: status?.ready === true,
    restarts: status?.restartCount ?? 0,
    ...(terminated !== undefined && { exitCode: terminated.exitCode }),
    ...resourcesOf(resources?.requests, resources?.limits),
  };
}

function resourcesOf(requests: ResourceList | undefined, limits: ResourceList | undefined): PageResources {
  return {
    cpuRequestMillis: numberOf(requests, 'cpu', quantityMilliValue),
    cpuLimitMillis: numberOf(limits, 'cpu', quantityMilliValue),
    memoryRequestBytes: numberOf(requests, 'memory', quantityValue),
    memoryLimitBytes: numberOf(limits, 'memory', quantityValue),
    storageRequestBytes: numberOf(requests, 'ephemeral-storage', quantityValue),
    storageLimitBytes: numberOf(limits, 'ephemeral-storage', quantityValue),
  };
}

/** Returns the number of a quantity; undefined if it is missing, zero or invalid. */
function numberOf(
  list: ResourceList | undefined,
  name: 'cpu' | 'memory' | 'ephemeral-storage' | 'pods',
  read: (text: string) => number,
): number | undefined {
  const text = list?.[name];
  if (text === undefined || typeof tryParseQuantity(text) === 'string') return undefined;
  const value = read(text);
  return value > 0 ? value : undefined;
}

const shortened = (text: string): string => (text.length > TEXT_LIMIT ? `${text.slice(0, TEXT_LIMIT)}…` : text);

const byName = (left: PagePod, right: PagePod): number =>
  compare(left.namespace, right.namespace) || compare(left.name, right.name);

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
