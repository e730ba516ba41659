import { annotations, priorities } from './annotations.ts';
import type { PodSource } from './annotations.ts';
import type { Container, EphemeralContainer } from './core/container.ts';
import type { Pod } from './core/pod.ts';

export type ContainerKind = 'container' | 'init' | 'ephemeral';
export type AnyContainer = Container | EphemeralContainer;
export interface ContainerRef {
  readonly kind: ContainerKind;
  readonly container: AnyContainer;
  /** Its path in the pod: `spec.initContainers[0]`. */
  readonly path: string;
}

/** All containers of the pod: init containers, then regular ones, then ephemeral ones, as in upstream. */
export function* allContainers(pod: Pod): Generator<ContainerRef> {
  yield* refs('init', 'spec.initContainers', pod.spec.initContainers);
  yield* refs('container', 'spec.containers', pod.spec.containers);
  yield* refs('ephemeral', 'spec.ephemeralContainers', pod.spec.ephemeralContainers);
}

function* refs(
  kind: ContainerKind,
  path: string,
  containers: readonly AnyContainer[] | undefined,
): Generator<ContainerRef> {
  for (const [index, container] of (containers ?? []).entries()) yield { kind, container, path: `${path}[${index}]` };
}

export function findContainer(pod: Pod, name: string): ContainerRef | undefined {
  for (const ref of allContainers(pod)) if (ref.container.name === name) return ref;
  return undefined;
}

/** A sidecar: an init container that is restarted for as long as the pod lives. */
export function isRestartableInit(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}

/** `name_namespace`, the key by which static and mirror pods are matched. */
export function podFullName(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}`;
}

/** `namespace/name`, for people. */
export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

/** The source of the pod; a pod without the annotation comes from the API server. */
function podSource(pod: Pod): PodSource {
  const source = pod.metadata.annotations?.[annotations.configSource];
  return source === 'file' || source === 'http' || source === 'server' ? source : 'api';
}

/** Whether the pod is static: it comes from a file, a URL or the manifest server, not from the API server. */
export function isStaticPod(pod: Pod): boolean {
  return podSource(pod) !== 'api';
}

/** Whether the pod is a mirror pod: the copy of a static pod in the API server, which clients read. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[annotations.configMirror] !== undefined;
}

/**
 * Whether admission and eviction spare the pod: static pods, mirror pods and pods with a system priority (upstream:
 * types/pod_update.go).
 */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= priorities.systemCritical;
}

/** Whether the pod is critical for the node. Such pods are killed last, and have the OOM score of guaranteed pods. */
export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec.priorityClassName === priorities.nodeCriticalClass;
}

export function podPriority(pod: Pod): number {
  return pod.spec.priority ?? 0;
}

/** The seconds between the stop signal and SIGKILL; upstream's default if the pod was not defaulted. */
export function terminationGraceSeconds(pod: Pod): number {
  return Number(pod.spec.terminationGracePeriodSeconds ?? 30);
}

/** The grace period of a deletion: the requested one, otherwise that of the pod. */
export function deletionGraceSeconds(pod: Pod): number {
  return pod.metadata.deletionGracePeriodSeconds ?? terminationGraceSeconds(pod);
}

export function isDeleted(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

export function isHostNetwork(pod: Pod): boolean {
  return pod.spec.hostNetwork === true;
}

/** Whether the phase is final: no container of the pod runs again. */
export function isTerminalPhase(phase: string | undefined): phase is 'Failed' | 'Succeeded' {
  return phase === 'Failed' || phase === 'Succeeded';
}

/** Whether the pod's phase is final, according to its status. */
export function isTerminalPod({ status }: Pick<Pod, 'status'>): boolean {
  return isTerminalPhase(status?.phase);
}
