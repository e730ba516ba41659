/** The cluster's names from informers. */
import { endpointLabels } from '../../api/annotations.ts';
import type { Informers } from '../../api/client/informer.ts';
import { endpointSlices, namespaces, services } from '../../api/client/resource-types.ts';
import type { ClusterView } from './cluster-names.ts';

/**
 * Returns the view; undefined until all kinds were listed once. Afterwards the last known state is used, however long
 * the API server is unreachable.
 */
export function followClusterView(informers: Informers, domain: string): () => ClusterView | undefined {
  const all = [informers.for(services), informers.for(endpointSlices), informers.for(namespaces)] as const;
  const [serviceInformer, sliceInformer, namespaceInformer] = all;
  const slicesOf = sliceInformer.index('service', ({ metadata }) => {
    const name = metadata.labels?.[endpointLabels.serviceName];
    return name === undefined ? [] : [`${metadata.namespace}/${name}`];
  });
  const slicesWith = sliceInformer.index('address', ({ endpoints }) => [
    ...new Set((endpoints ?? []).flatMap(({ addresses }) => addresses)),
  ]);
  const servicesAt = serviceInformer.index('address', ({ spec }) => [
    ...new Set(spec.clusterIPs ?? [spec.clusterIP ?? '']),
  ]);
  let version = 0;
  const changed = (): void => void (version += 1);
  for (const informer of all) informer.addHandlers({ onAdd: changed, onUpdate: changed, onDelete: changed });
  const view: ClusterView = {
    domain: domain.toLowerCase().replace(/\.$/, ''),
    version: () => version,
    hasNamespace: (name) => namespaceInformer.get({ namespace: '', name }) !== undefined,
    service: (namespace, name) => serviceInformer.get({ namespace, name }),
    slices: (namespace, name) => slicesOf.get(`${namespace}/${name}`),
    servicesAt: (ip) => servicesAt.get(ip),
    slicesWith: (ip) => slicesWith.get(ip),
  };
  return () => (all.every((informer) => informer.hasSynced()) ? view : undefined);
}
