import type { Pod } from '../../../api/core/pod.ts';
import { canonicalQuantity, compareQuantities, quantityOf } from '../../../api/quantity.ts';
import type { Observations, PressureCondition, StarvedResource } from './signals.ts';
import { signalFacts } from './signals.ts';
import type { Threshold } from './thresholds.ts';
import { observedText, thresholdText } from './thresholds.ts';

/** The usage of one container, in bytes. */
export interface ContainerUsage {
  readonly name: string;
  readonly memoryBytes: number | undefined;
  /** The size of the writable layer and the logs. */
  readonly diskBytes: number | undefined;
}

export interface EvictionMessage {
  readonly message: string;
  /** The annotations of the event, which tools read. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface MessageFacts {
  readonly pod: Pod;
  readonly resource: StarvedResource;
  /** The thresholds that are met. The message quotes the first one of the resource. */
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly containers: readonly ContainerUsage[];
  /** The memory usage of the whole pod, which the message quotes for a pod with pod-level resources. */
  readonly podMemoryBytes: number | undefined;
}

/**
 * Builds the message of an eviction, with the threshold and each container above its request (upstream: helpers.go
 * evictionMessage). Tools parse it, so the sentences and the final space are upstream's.
 */
export function evictionMessage(facts: MessageFacts): EvictionMessage {
  const { pod, resource, podMemoryBytes } = facts;
  const annotations: Record<string, string> = {};
  let message = `The node was low on resource: ${resource}. ${thresholdSentence(facts)}`;
  const podRequest = pod.spec.resources?.requests?.[resource];
  if (resource === 'memory' && podRequest !== undefined && podMemoryBytes !== undefined) {
    const usage = quantityOf(podMemoryBytes, 'BinarySI');
    message += `Pod ${pod.metadata.name} was using ${usage}, request is ${canonicalQuantity(podRequest)}, has larger consumption of ${resource}. `;
    Object.assign(annotations, { offending_pod: pod.metadata.name, offending_pod_usage: usage });
  }
  const offending = offendingContainers(facts);
  for (const { name, usage, request } of offending)
    message += `Container ${name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `;
  annotations['offending_containers'] = offending.map(({ name }) => name).join(',');
  annotations['offending_containers_usage'] = offending.map(({ usage }) => usage).join(',');
  annotations['starved_resource'] = resource;
  return { message, annotations };
}

function thresholdSentence({ resource, thresholds, observations }: MessageFacts): string {
  for (const { signal, value } of thresholds) {
    const observed = observations.get(signal);
    if (signalFacts[signal].resource !== resource || observed === undefined) continue;
    return `Threshold quantity: ${thresholdText(value, observed.capacity)}, available: ${observedText(signal, observed.available)}. `;
  }
  return '';
}

function offendingContainers(facts: MessageFacts): { name: string; usage: string; request: string }[] {
  const { pod, resource, containers } = facts;
  const specs = new Map([...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map((each) => [each.name, each]));
  return containers.flatMap(({ name, memoryBytes, diskBytes }) => {
    const spec = specs.get(name);
    const bytes = resource === 'memory' ? memoryBytes : resource === 'ephemeral-storage' ? diskBytes : undefined;
    if (spec === undefined || bytes === undefined) return [];
    const [usage, request] = [quantityOf(bytes, 'BinarySI'), spec.resources?.requests?.[resource] ?? '0'];
    return compareQuantities(usage, request) > 0 ? [{ name, usage, request: canonicalQuantity(request) }] : [];
  });
}

/** Builds the message why the node admits no pod now (upstream: nodeConditionMessageFmt). */
export function pressureMessage(conditions: readonly PressureCondition[]): string {
  return `The node had condition: [${conditions.join(' ')}]. `;
}
