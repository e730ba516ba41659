import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodAffinityTerm, Toleration, WeightedPodAffinityTerm } from '../../../api/core/scheduling.ts';
import type { LabelMatcher, Labels } from '../../../api/label-requirement.ts';
import { podPriority } from '../../../api/pod.ts';
import { podRequests } from '../../../api/resources.ts';
import { compileLabelSelector, noLabels } from './label-matcher.ts';
import { requiredNodeMatcher } from './node-matcher.ts';
import type { NodeMatcher } from './node-matcher.ts';
import { resourcesOf } from './resources.ts';
import type { Resources } from './resources.ts';

export interface AffinityTerm {
  readonly topologyKey: string;
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: LabelMatcher;
  readonly selector: LabelMatcher;
}
export interface WeightedAffinityTerm extends AffinityTerm {
  readonly weight: number;
}

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/**
 * The requests that scoring assumes for a container without requests, so that such pods do not accumulate on one node.
 */
const defaultRequests = { cpu: '100m', memory: '200Mi' };

const noTolerations: readonly Toleration[] = [];

/** A pod with the values that plugins read often, computed once for each version of the object. */
export class PodInfo {
  readonly pod: Pod;
  readonly uid: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly priority: number;
  readonly tolerations: readonly Toleration[];
  readonly hostPorts: readonly HostPort[];
  readonly requiredAffinity: readonly AffinityTerm[];
  readonly requiredAntiAffinity: readonly AffinityTerm[];
  readonly preferredAffinity: readonly WeightedAffinityTerm[];
  readonly preferredAntiAffinity: readonly WeightedAffinityTerm[];
  /** The claims of the pod's volumes, as `namespace/claim`. */
  readonly claims: readonly string[];
  #requested: Resources | undefined;
  #wanted: Resources | undefined;
  #nonZero: { readonly cpuMillis: number; readonly memoryBytes: number } | undefined;
  #nodeMatcher: NodeMatcher | undefined | null = null;

  constructor(pod: Pod) {
    this.pod = pod;
    this.uid = pod.metadata.uid;
    this.namespace = pod.metadata.namespace;
    this.labels = pod.metadata.labels ?? noLabels;
    this.priority = podPriority(pod);
    this.tolerations = pod.spec.tolerations ?? noTolerations;
    this.hostPorts = hostPortsOf(pod);
    const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
    this.requiredAffinity = terms(pod, podAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
    this.requiredAntiAffinity = terms(pod, podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
    this.preferredAffinity = weightedTerms(pod, podAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
    this.preferredAntiAffinity = weightedTerms(pod, podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
    this.claims = (pod.spec.volumes ?? noVolumes).flatMap(({ persistentVolumeClaim }) =>
      persistentVolumeClaim === undefined ? [] : [`${this.namespace}/${persistentVolumeClaim.claimName}`],
    );
  }

  /**
   * The resources that the pod occupies on a node, including overhead, sidecars, pod-level requests and a running
   * resize.
   */
  get requested(): Resources {
    this.#requested ??= hasActualResources(this.pod)
      ? resourcesOf(podRequests(this.pod, { useStatus: true }))
      : this.wanted;
    return this.#requested;
  }

  /** The requests of the spec, which must fit on a node (upstream: noderesources computePodResourceRequest). */
  get wanted(): Resources {
    this.#wanted ??= resourcesOf(podRequests(this.pod));
    return this.#wanted;
  }

  /** The same as `requested`, with small default requests for containers without requests. */
  get nonZero(): { readonly cpuMillis: number; readonly memoryBytes: number } {
    this.#nonZero ??= this.#computeNonZero();
    return this.#nonZero;
  }

  get nodeMatcher(): NodeMatcher | undefined {
    if (this.#nodeMatcher === null) this.#nodeMatcher = requiredNodeMatcher(this.pod);
    return this.#nodeMatcher;
  }

  get hasAffinity(): boolean {
    return (
      this.requiredAffinity.length > 0 ||
      this.requiredAntiAffinity.length > 0 ||
      this.preferredAffinity.length > 0 ||
      this.preferredAntiAffinity.length > 0
    );
  }

  /** Computes `nonZero`. A pod-level request is used without defaults (upstream: getNonMissingContainerRequests). */
  #computeNonZero(): { readonly cpuMillis: number; readonly memoryBytes: number } {
    const { spec } = this.pod;
    if ([...spec.containers, ...(spec.initContainers ?? [])].every(namesBoth)) return this.requested;
    const known = spec.resources?.requests === undefined ? {} : podRequests(this.pod);
    const missing = Object.fromEntries(Object.entries(defaultRequests).filter(([name]) => known[name] === undefined));
    return resourcesOf(podRequests(this.pod, { useStatus: hasActualResources(this.pod), nonMissingRequests: missing }));
  }
}

const noVolumes: NonNullable<Pod['spec']['volumes']> = [];
const namesBoth = ({ resources }: Container): boolean =>
  resources?.requests?.['cpu'] !== undefined && resources.requests['memory'] !== undefined;

function hasActualResources({ status }: Pod): boolean {
  if (status === undefined) return false;
  if (status.resources !== undefined) return true;
  return (
    (status.containerStatuses ?? []).some(({ resources }) => resources !== undefined) ||
    (status.initContainerStatuses ?? []).some(({ resources }) => resources !== undefined)
  );
}

/** Whether the pod counts for topology spread: terminating pods do not (upstream: countPodsMatchSelector). */
export function isCounted({ pod }: PodInfo): boolean {
  return pod.metadata.deletionTimestamp === undefined;
}

const infos = new WeakMap<Pod, PodInfo>();

/** Returns the PodInfo of a pod. The same object gives the same result, because objects are immutable. */
export function podInfoOf(pod: Pod): PodInfo {
  let info = infos.get(pod);
  if (info === undefined) {
    info = new PodInfo(pod);
    infos.set(pod, info);
  }
  return info;
}

function hostPortsOf({ spec }: Pod): readonly HostPort[] {
  const ports: HostPort[] = [];
  const add = (container: Container): void => {
    for (const { hostPort, hostIP, protocol } of container.ports ?? []) {
      if (hostPort !== undefined && hostPort > 0)
        ports.push({
          ip: hostIP === undefined || hostIP === '' ? ANY_ADDRESS : hostIP,
          protocol: protocol ?? 'TCP',
          port: hostPort,
        });
    }
  };
  spec.containers.forEach(add);
  // Of the init containers, only sidecars hold their ports while the pod runs.
  for (const container of spec.initContainers ?? []) if (container.restartPolicy === 'Always') add(container);
  return ports;
}

export const ANY_ADDRESS = '0.0.0.0';

const noTerms: readonly never[] = [];

function terms(pod: Pod, list: readonly PodAffinityTerm[] | undefined): readonly AffinityTerm[] {
  return list === undefined || list.length === 0 ? noTerms : list.map((term) => compileTerm(pod, term));
}

function weightedTerms(
  pod: Pod,
  list: readonly WeightedPodAffinityTerm[] | undefined,
): readonly WeightedAffinityTerm[] {
  return list === undefined || list.length === 0
    ? noTerms
    : list.map(({ weight, podAffinityTerm }) => ({ ...compileTerm(pod, podAffinityTerm), weight }));
}

/** Compiles a term. Without namespaces and namespaceSelector it applies to the pod's own namespace. */
function compileTerm(pod: Pod, term: PodAffinityTerm): AffinityTerm {
  const named = term.namespaces ?? [];
  const namespaces = new Set(
    named.length === 0 && term.namespaceSelector === undefined ? [pod.metadata.namespace] : named,
  );
  return {
    topologyKey: term.topologyKey,
    namespaces,
    namespaceSelector: compileLabelSelector(term.namespaceSelector),
    selector: compileLabelSelector(term.labelSelector),
  };
}

/** Whether the term selects the other pod. `namespaceLabels` are the labels of that pod's namespace. */
export function termMatches(term: AffinityTerm, other: PodInfo, namespaceLabels: Labels): boolean {
  return (
    (term.namespaces.has(other.namespace) || term.namespaceSelector.matches(namespaceLabels)) &&
    term.selector.matches(other.labels)
  );
}
