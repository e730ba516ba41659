import type { ListOptions } from '../../../api/client/api-client.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import { nodeMetrics, podMetrics } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { NodeMetrics, PodMetrics } from '../../../api/metrics/usage-metrics.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import { compileFields, parseFieldSelector, parseLabelSelector } from '../../../api/selectors.ts';
import { badRequest, notFound } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import type { Registry, ResourceRequest, Served, ServedList } from '../../registry/registry.ts';
import type { NodeUsage, Usage } from './compute-usage.ts';

export interface UsageRegistryParts {
  /** The registry of stored objects. */
  readonly registry: Registry;
  readonly nodes: () => readonly Node[];
  /** Returns the pods of one namespace, or of all with ''. */
  readonly pods: (namespace: string) => readonly Pod[];
  readonly usage: (node: Node) => Promise<NodeUsage | undefined>;
  readonly nowMs: () => number;
}

/** Creates a registry that also serves metrics.k8s.io. Its objects are created for each response. */
export function usageRegistry(parts: UsageRegistryParts): Registry {
  const { registry } = parts;
  const isUsage = ({ definition }: ResourceRequest): boolean =>
    definition.type === nodeMetrics || definition.type === podMetrics;
  return {
    get: (request, options) => (isUsage(request) ? getUsage(parts, request) : registry.get(request, options)),
    list: (request, options) =>
      isUsage(request) ? listUsage(parts, request, options) : registry.list(request, options),
    watch: (request, options, sink) => registry.watch(request, options, sink),
    create: (request, body) => registry.create(request, body),
    update: (request, body) => registry.update(request, body),
    patch: (request, patch) => registry.patch(request, patch),
    delete: (request, options) => registry.delete(request, options),
    deleteCollection: (request, selection, options) => registry.deleteCollection(request, selection, options),
  };
}

async function getUsage(parts: UsageRegistryParts, { definition, namespace, name }: ResourceRequest): Promise<Served> {
  const isNode = definition.type === nodeMetrics;
  const subject = subjectsOf(parts, isNode, namespace).find((each) => each.metadata.name === name);
  // The messages are metrics-server's: a missing node or pod is reported by its own resource, and missing metrics by
  // the metrics resource.
  if (subject === undefined) throw notFound({ group: '', plural: isNode ? 'node' : 'pods' }, name);
  const [object] = await metricsOf(parts, isNode, [subject]);
  if (object === undefined)
    throw notFound(
      { group: nodeMetrics.group, plural: isNode ? 'nodemetrics' : 'podmetrics' },
      isNode ? name : `${namespace}/${name}`,
    );
  return served(object);
}

async function listUsage(
  parts: UsageRegistryParts,
  { definition, namespace }: ResourceRequest,
  { labelSelector = '', fieldSelector = '' }: ListOptions,
): Promise<ServedList> {
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector);
  if (typeof labels === 'string') throw badRequest(labels);
  if (typeof fields === 'string') throw badRequest(fields);
  const [labelled, holds] = [compileRequirements(labels), compileFields(fields)];
  const chosen = subjectsOf(parts, definition.type === nodeMetrics, namespace).filter(
    ({ metadata }) =>
      labelled.matches(metadata.labels ?? {}) &&
      holds({ 'metadata.name': metadata.name, 'metadata.namespace': metadata.namespace }),
  );
  const objects = await metricsOf(parts, definition.type === nodeMetrics, chosen);
  return { items: objects.map(served), resourceVersion: '' };
}

function subjectsOf(
  { nodes, pods }: UsageRegistryParts,
  areNodes: boolean,
  namespace: string,
): readonly (Node | Pod)[] {
  return areNodes ? nodes() : pods(namespace);
}

async function metricsOf(
  parts: UsageRegistryParts,
  areNodes: boolean,
  subjects: readonly (Node | Pod)[],
): Promise<ApiObject[]> {
  const nodes = areNodes ? (subjects as readonly Node[]) : nodesOf(parts, subjects as readonly Pod[]);
  const usages = new Map(
    await Promise.all(nodes.map(async (node) => [node.metadata.name, await parts.usage(node)] as const)),
  );
  const nowMs = parts.nowMs();
  return areNodes
    ? (subjects as readonly Node[]).flatMap((node) => nodeObject(node, usages.get(node.metadata.name)?.node, nowMs))
    : (subjects as readonly Pod[]).flatMap((pod) =>
        podObject(
          pod,
          usages.get(pod.spec.nodeName ?? '')?.pods.get(`${pod.metadata.namespace}/${pod.metadata.name}`),
          nowMs,
        ),
      );
}

function nodesOf({ nodes }: UsageRegistryParts, pods: readonly Pod[]): readonly Node[] {
  const names = new Set(pods.map(({ spec }) => spec.nodeName ?? ''));
  return nodes().filter(({ metadata }) => names.has(metadata.name));
}

function nodeObject(node: Node, usage: Usage | undefined, nowMs: number): NodeMetrics[] {
  return usage === undefined ? [] : [{ ...head('NodeMetrics', node, usage, nowMs), usage: quantities(usage) }];
}

function podObject(pod: Pod, usages: ReadonlyMap<string, Usage> | undefined, nowMs: number): PodMetrics[] {
  const [first] = usages?.values() ?? [];
  if (usages === undefined || first === undefined) return [];
  // Upstream shows the time of the container that it checked first.
  const earliest = [...usages.values()].reduce((least, each) => (each.atMs < least.atMs ? each : least), first);
  return [
    {
      ...head('PodMetrics', pod, earliest, nowMs),
      containers: [...usages].map(([name, usage]) => ({ name, usage: quantities(usage) })),
    },
  ];
}

function head<Kind extends string>(
  kind: Kind,
  { metadata: { name, namespace, labels } }: Node | Pod,
  { atMs, windowMs }: Usage,
  nowMs: number,
) {
  const metadata = {
    name,
    namespace,
    uid: '',
    ...(labels !== undefined && { labels }),
    creationTimestamp: formatTime(nowMs),
  };
  return {
    kind,
    apiVersion: apiVersionOf(nodeMetrics),
    metadata,
    timestamp: formatTime(atMs),
    window: `${windowMs / 1000}s`,
  };
}

function quantities({ cpuNanoCores, memoryBytes }: Usage): { cpu: string; memory: string } {
  return { cpu: `${cpuNanoCores}n`, memory: `${Math.floor(memoryBytes / 1024)}Ki` };
}

/** Serves an object without empty fields, as everywhere in the API. */
function served(object: ApiObject): Served {
  const { namespace, uid, ...metadata } = object.metadata;
  return {
    object,
    json: JSON.stringify({
      ...object,
      metadata: { ...metadata, ...(namespace !== '' && { namespace }), ...(uid !== '' && { uid }) },
    }),
  };
}
