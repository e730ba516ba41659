import { nodes, pods } from '../../../api/client/resource-types.ts';
import { kubeletAddressOf } from '../../apiserver/connect/kubelet-address.ts';
import { scrapeKubelet } from '../../apiserver/metrics-api/kubelet-scrape.ts';
import { UsageCache } from '../../apiserver/metrics-api/usage-cache.ts';
import { usageRegistry } from '../../apiserver/metrics-api/usage-registry.ts';
import type { KubeletClientOptions } from '../../apiserver/options.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Registry } from '../../registry/registry.ts';
import type { BaseDeps } from './base-deps.ts';

/** The address types in the order of metrics-server's manifests. Node names may not resolve in DNS. */
const addressTypes = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'] as const;

/** Adds metrics.k8s.io to the stored kinds, if kubelets can be reached. */
export function withUsage(
  registry: Registry,
  {
    reader,
    kubelets,
    clock,
    log,
  }: Pick<BaseDeps, 'clock' | 'log'> & { reader: ObjectReader; kubelets: KubeletClientOptions | undefined },
): Registry {
  if (kubelets === undefined) return registry;
  const { dialer } = kubelets;
  const cache = new UsageCache({
    clock,
    log,
    scrape: async (node) =>
      scrapeKubelet(dialer, { ...kubeletAddressOf(node, addressTypes), security: 'kubelet', mayBeLocal: true }),
  });
  return usageRegistry({
    registry,
    nodes: () => reader.list(nodes, ''),
    pods: (namespace) => reader.list(pods, namespace),
    usage: (node) => cache.usage(node),
    nowMs: () => clock.nowMs(),
  });
}
