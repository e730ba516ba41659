import type { Informer } from '../../api/client/informer.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Service } from '../../api/core/service.ts';
import { LabelIndex, SelectorIndex } from './label-index.ts';
import { MemberTally } from './member-tally.ts';
import type { MemberCounts } from './member-tally.ts';
import { ENDPOINT_SELECTOR, serviceSelector } from './service-endpoints.ts';

/** Follows the pods that each service selects, in counts of the caller. */
export function createServiceTally<K, C extends MemberCounts<Service, Pod, K>>(
  services: Informer<Service>,
  pods: Informer<Pod>,
  createCounts: (service: Service) => C,
): MemberTally<Service, Pod, K, C> {
  const selectable = new LabelIndex(pods);
  const selectors = new SelectorIndex(services, ENDPOINT_SELECTOR, serviceSelector);
  return new MemberTally<Service, Pod, K, C>({
    sets: services,
    members: pods,
    setsOf: ({ metadata: { namespace, labels } }) =>
      [...selectors.selecting(namespace, labels)].map(({ metadata: { uid } }) => uid),
    membersOf: (service) => selectable.select(service.metadata.namespace, serviceSelector(service)),
    createCounts,
  });
}
