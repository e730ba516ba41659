import { errorMessage } from '../../../base/errors.ts';
import type {
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import type { LabelSelector } from '../../../api/core/meta.ts';
import { formatQuantity, quantityMillis } from '../../../api/quantity.ts';
import {
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  sumOf,
} from './compute-replicas.ts';
import type { Proposal, ReplicaFacts } from './compute-replicas.ts';
import type { MetricsSource, PodMetrics } from './metrics-source.ts';

/** The proposal of one metric, or its error. */
export type Evaluation =
  | { readonly kind: 'proposed'; readonly replicas: number; readonly name: string; readonly status: MetricStatus }
  /** `message` is for the condition and the event, `error` for the whole pass. */
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string; readonly error: string };

export interface MetricFacts extends ReplicaFacts {
  readonly namespace: string;
  readonly statusReplicas: number;
  readonly podSelector: string;
}

/** Reads a metric and computes the number of pods (upstream: computeReplicasForMetric). */
export function evaluateMetric(source: MetricsSource, facts: MetricFacts, spec: MetricSpec): Promise<Evaluation> {
  const { resource, containerResource, pods, object, external } = spec;
  if (spec.type === 'Resource' && resource !== undefined) return evaluateResource(source, facts, resource);
  if (spec.type === 'ContainerResource' && containerResource !== undefined)
    return evaluateContainer(source, facts, containerResource);
  if (spec.type === 'Pods' && pods !== undefined) return evaluatePods(source, facts, pods);
  if (spec.type === 'Object' && object !== undefined) return evaluateObject(source, facts, object);
  if (spec.type === 'External' && external !== undefined) return evaluateExternal(source, facts, external);
  const error = `unknown metric source type ${JSON.stringify(spec.type)}`;
  return Promise.resolve({ kind: 'failed', reason: 'InvalidMetricSourceType', message: error, error });
}

async function evaluateResource(
  source: MetricsSource,
  facts: MetricFacts,
  { name, target }: NonNullable<MetricSpec['resource']>,
): Promise<Evaluation> {
  const found = await readUsage(source, facts, { name, target });
  if (typeof found === 'string') {
    const error = `failed to get ${name} resource metric value: ${found}`;
    return { kind: 'failed', reason: 'FailedGetResourceMetric', message: found, error };
  }
  const { replicas, current, about } = found;
  const status: MetricStatus = { type: 'Resource', resource: { name, current } };
  return { kind: 'proposed', replicas, name: `${name} resource${about}`, status };
}

async function evaluateContainer(
  source: MetricsSource,
  facts: MetricFacts,
  { name, target, container }: NonNullable<MetricSpec['containerResource']>,
): Promise<Evaluation> {
  const found = await readUsage(source, facts, { name, target, container });
  if (typeof found === 'string') {
    const error = `failed to get ${container} container metric value: ${found}`;
    return { kind: 'failed', reason: 'FailedGetContainerResourceMetric', message: found, error };
  }
  const { replicas, current, about } = found;
  const status: MetricStatus = { type: 'ContainerResource', containerResource: { name, current, container } };
  const named = target.averageValue === undefined ? `${name} container resource${about}` : `${name} resource`;
  return { kind: 'proposed', replicas, name: named, status };
}

interface Usage {
  readonly replicas: number;
  readonly current: MetricValueStatus;
  readonly about: string;
}

/** Reads a resource metric (upstream: computeStatusForResourceMetricGeneric). */
async function readUsage(
  source: MetricsSource,
  facts: MetricFacts,
  { name, target, container }: { readonly name: string; readonly target: MetricTarget; readonly container?: string },
): Promise<Usage | string> {
  const { averageValue, averageUtilization } = target;
  if (averageValue === undefined && averageUtilization === undefined)
    return 'invalid resource metric source: neither an average utilization target nor an average value (usage) target was set';
  const { namespace, podSelector } = facts;
  const of = averageValue === undefined ? 'utilization' : 'usage';
  const metrics = await attempt(
    source.resource({ namespace, podSelector, resource: name, ...(container !== undefined && { container }) }),
  );
  if (typeof metrics === 'string')
    return `failed to get ${name} ${of}: unable to get metrics for resource ${name}: ${metrics}`;
  const proposal = proposeUsage(facts, metrics, { name, target, container });
  if (typeof proposal === 'string') return `failed to get ${name} ${of}: ${proposal}`;
  const current = {
    ...(proposal.percent !== undefined && { averageUtilization: proposal.percent }),
    averageValue: formatMillis(proposal.milliValue, name === 'memory' ? 'BinarySI' : 'DecimalSI'),
  };
  const about = averageValue === undefined ? ' utilization (percentage of request)' : '';
  return { replicas: proposal.replicas, current, about };
}

function proposeUsage(
  facts: MetricFacts,
  metrics: PodMetrics,
  {
    name,
    target,
    container,
  }: { readonly name: string; readonly target: MetricTarget; readonly container?: string | undefined },
): Proposal | string {
  const { averageValue, averageUtilization = 0 } = target;
  if (averageValue !== undefined)
    return replicasForAverage(facts, metrics, { resource: name, milliValue: quantityMillis(averageValue) });
  const wanted = { resource: name, percent: averageUtilization, ...(container !== undefined && { container }) };
  return replicasForUtilization(facts, metrics, wanted);
}

async function evaluatePods(
  source: MetricsSource,
  facts: MetricFacts,
  { metric, target }: NonNullable<MetricSpec['pods']>,
): Promise<Evaluation> {
  const fail = (message: string): Evaluation => {
    const error = `failed to get pods metric value: ${message}`;
    return { kind: 'failed', reason: 'FailedGetPodsMetric', message, error };
  };
  const fault = selectorFault(metric);
  if (fault !== undefined) return fail(fault);
  const metrics = await attempt(source.pods(facts.namespace, facts.podSelector, metric));
  if (typeof metrics === 'string') return fail(`unable to get metric ${metric.name}: ${metrics}`);
  const milliValue = quantityMillis(target.averageValue ?? '0');
  const proposal = replicasForAverage(facts, metrics, { resource: '', milliValue });
  if (typeof proposal === 'string') return fail(proposal);
  const status: MetricStatus = {
    type: 'Pods',
    pods: { metric, current: { averageValue: formatMillis(proposal.milliValue) } },
  };
  return { kind: 'proposed', replicas: proposal.replicas, name: `pods metric ${metric.name}`, status };
}

async function evaluateObject(
  source: MetricsSource,
  facts: MetricFacts,
  { metric, target, describedObject }: NonNullable<MetricSpec['object']>,
): Promise<Evaluation> {
  const { namespace, statusReplicas, tolerances } = facts;
  const fail = (message: string, inner = ''): Evaluation => {
    const error = `failed to get object metric value: ${inner}${message}`;
    return { kind: 'failed', reason: 'FailedGetObjectMetric', message, error };
  };
  const fault = selectorFault(metric);
  if (fault !== undefined) return fail(fault);
  const isShared = target.type === 'AverageValue' && target.averageValue !== undefined;
  if (!isShared && (target.type !== 'Value' || target.value === undefined))
    return fail('invalid object metric source: neither a value target nor an average value target was set');
  const inner = isShared ? `failed to get ${metric.name} object metric: ` : '';
  const value = await attempt(source.object(namespace, describedObject, metric));
  if (typeof value === 'string')
    return fail(
      `unable to get metric ${metric.name}: ${value} on ${describedObject.kind} ${namespace}/${describedObject.name}`,
      inner,
    );
  const proposal = isShared
    ? replicasForShare(statusReplicas, tolerances, value, quantityMillis(target.averageValue ?? '0'))
    : replicasForValue(facts, value, quantityMillis(target.value ?? '0'));
  if (typeof proposal === 'string') return fail(proposal, inner);
  const current = valueStatus(proposal, isShared);
  const status: MetricStatus = { type: 'Object', object: { metric, current, describedObject } };
  const name = isShared ? externalName(metric) : `${describedObject.kind} metric ${metric.name}`;
  return { kind: 'proposed', replicas: proposal.replicas, name, status };
}

async function evaluateExternal(
  source: MetricsSource,
  facts: MetricFacts,
  { metric, target }: NonNullable<MetricSpec['external']>,
): Promise<Evaluation> {
  const { namespace, statusReplicas, tolerances } = facts;
  const isShared = target.averageValue !== undefined;
  const inner = isShared
    ? `failed to get ${metric.name} external metric: `
    : `failed to get external metric ${metric.name}: `;
  const fail = (message: string, within = inner): Evaluation => {
    const error = `failed to get ${metric.name} external metric value: ${within}${message}`;
    return { kind: 'failed', reason: 'FailedGetExternalMetric', message, error };
  };
  if (!isShared && target.value === undefined)
    return fail('invalid external metric source: neither a value target nor an average value target was set', '');
  const fault = selectorFault(metric);
  if (fault !== undefined) return fail(fault);
  const values = await attempt(source.external(namespace, metric));
  if (typeof values === 'string')
    return fail(`unable to get external metric ${namespace}/${metric.name}/${goSelector(metric.selector)}: ${values}`);
  const sum = sumOf(values);
  const proposal = isShared
    ? replicasForShare(statusReplicas, tolerances, sum, quantityMillis(target.averageValue ?? '0'))
    : replicasForValue(facts, sum, quantityMillis(target.value ?? '0'));
  if (typeof proposal === 'string') return fail(proposal);
  const status: MetricStatus = { type: 'External', external: { metric, current: valueStatus(proposal, isShared) } };
  return { kind: 'proposed', replicas: proposal.replicas, name: externalName(metric), status };
}

const valueStatus = ({ milliValue }: Proposal, isShared: boolean): MetricValueStatus =>
  isShared ? { averageValue: formatMillis(milliValue) } : { value: formatMillis(milliValue) };

const externalName = ({ name, selector }: MetricIdentifier): string =>
  `external metric ${name}(${goSelector(selector)})`;

const formatMillis = (millis: bigint, format: 'DecimalSI' | 'BinarySI' = 'DecimalSI'): string =>
  formatQuantity({ nanos: millis * 1_000_000n, format });

/** Returns the result, or the error as a text. */
async function attempt<T>(reading: Promise<T>): Promise<T | string> {
  try {
    return await reading;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Returns the error of a selector, because validation accepts any selector (upstream: LabelSelectorAsSelector). */
function selectorFault({ selector }: MetricIdentifier): string | undefined {
  const known: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
  const odd = selector?.matchExpressions?.find(({ operator }) => !known.includes(operator));
  return odd === undefined ? undefined : `${JSON.stringify(odd.operator)} is not a valid label selector operator`;
}

/** Formats a selector as Go prints a pointer to one. */
function goSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {})
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`)
    .join('');
  const expressions = (selector.matchExpressions ?? [])
    .map(
      ({ key, operator, values = [] }) =>
        `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
    )
    .join('');
  return `&LabelSelector{MatchLabels:map[string]string{${labels}},MatchExpressions:[]LabelSelectorRequirement{${expressions}},}`;
}
