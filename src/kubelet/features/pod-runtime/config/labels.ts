import { runtimeAnnotations, runtimeLabels } from '../../../../api/annotations.ts';
import type { ContainerPort } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { LifecycleHandler } from '../../../../api/core/probe.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { containerHash } from '../plan/container-hash.ts';

type Texts = Readonly<Record<string, string>>;

/**
 * Returns the labels of a sandbox: the pod's own, and those that identify the pod (upstream: kuberuntime/labels.go).
 */
export function podLabels(pod: Pod): Record<string, string> {
  return { ...pod.metadata.labels, ...identity(pod) };
}

export function containerLabels(pod: Pod, container: AnyContainer): Record<string, string> {
  return { ...identity(pod), [runtimeLabels.containerName]: container.name };
}

function identity(pod: Pod): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return { [runtimeLabels.podName]: name, [runtimeLabels.podNamespace]: namespace, [runtimeLabels.podUid]: uid };
}

/**
 * Returns the annotations of a container. They contain everything needed to kill it when its pod is no longer known,
 * and to detect a changed definition.
 */
export function containerAnnotations(pod: Pod, container: AnyContainer, attempt: number): Record<string, string> {
  const result: Record<string, string> = {
    [runtimeAnnotations.containerHash]: containerHash(container),
    [runtimeAnnotations.containerRestartCount]: String(attempt),
    [runtimeAnnotations.terminationMessagePath]: container.terminationMessagePath ?? '',
    [runtimeAnnotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? '',
  };
  const deletionGrace = pod.metadata.deletionGracePeriodSeconds;
  if (deletionGrace !== undefined) result[runtimeAnnotations.podDeletionGracePeriod] = String(deletionGrace);
  const grace = pod.spec.terminationGracePeriodSeconds;
  if (grace !== undefined) result[runtimeAnnotations.podTerminationGracePeriod] = String(grace);
  const preStop = container.lifecycle?.preStop;
  if (preStop !== undefined) result[runtimeAnnotations.preStopHandler] = JSON.stringify(preStop);
  const ports = container.ports ?? [];
  if (ports.length > 0) result[runtimeAnnotations.containerPorts] = JSON.stringify(ports);
  return result;
}

/**
 * The facts that can be restored of a container without its pod. Damaged annotations count as absent, because a kill
 * must not fail.
 */
export interface RestoredSpec {
  readonly deletionGraceSeconds?: number;
  readonly terminationGraceSeconds?: number;
  readonly preStop?: LifecycleHandler;
  readonly ports: ContainerPort[];
}

export function restoreFromAnnotations(annotations: Texts): RestoredSpec {
  return {
    deletionGraceSeconds: wholeNumber(annotations[runtimeAnnotations.podDeletionGracePeriod]),
    terminationGraceSeconds: wholeNumber(annotations[runtimeAnnotations.podTerminationGracePeriod]),
    preStop: jsonObject<LifecycleHandler>(annotations[runtimeAnnotations.preStopHandler]),
    ports: jsonObject<ContainerPort[]>(annotations[runtimeAnnotations.containerPorts]) ?? [],
  };
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}

function jsonObject<T>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch {
    return undefined;
  }
}
