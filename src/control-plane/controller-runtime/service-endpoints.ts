import type { Informer } from '../../api/client/informer.ts';
import { formatKey, keyOf } from '../../api/client/resource-type.ts';
import type { LabelSelector } from '../../api/core/meta.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Service, ServicePort } from '../../api/core/service.ts';
import { isTerminalPod } from '../../api/pod.ts';
import { SelectorIndex } from './label-index.ts';
import { isPodReady } from './pod-facts.ts';

/** One pod of a service, for both Endpoints and EndpointSlices. */
export interface ServiceEndpoint {
  readonly pod: Pod;
  readonly ready: boolean;
  /** Ready, even if it is terminating. */
  readonly serving: boolean;
  readonly terminating: boolean;
  /** Only for headless services, and for pods with a host name in the service's domain. */
  readonly hostname: string | undefined;
}

export const isHeadless = ({ spec }: Service): boolean => spec.clusterIP === 'None';

/** Whether controllers manage the service's endpoints: without a selector, the user does. */
export function hasManagedEndpoints({ spec }: Service): boolean {
  return spec.type !== 'ExternalName' && spec.selector !== undefined && Object.keys(spec.selector).length > 0;
}

/** The name of the index of services by `serviceSelector`. */
export const ENDPOINT_SELECTOR = 'endpoint-selector';

const selectors = new WeakMap<Service, LabelSelector>();

/**
 * The selector of a service whose endpoints controllers manage; otherwise undefined. The same object for the same
 * service.
 */
export function serviceSelector(service: Service): LabelSelector | undefined {
  if (!hasManagedEndpoints(service)) return undefined;
  let selector = selectors.get(service);
  if (selector === undefined) selectors.set(service, (selector = { matchLabels: service.spec.selector ?? {} }));
  return selector;
}

/** The selected pods with an address that have not ended (upstream: ShouldPodBeInEndpoints), sorted by name. */
export function endpointsOf(service: Service, selected: readonly Pod[]): readonly ServiceEndpoint[] {
  const everyone = service.spec.publishNotReadyAddresses === true;
  return selected
    .filter((pod) => (pod.status?.podIPs ?? []).length > 0 && !isTerminalPod(pod))
    .sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
    .map((pod) => {
      const serving = isPodReady(pod);
      const terminating = pod.metadata.deletionTimestamp !== undefined;
      const { hostname = '', subdomain = '' } = pod.spec;
      const named = hostname !== '' && subdomain === service.metadata.name;
      return {
        pod,
        ready: everyone || (serving && !terminating),
        serving: everyone || serving,
        terminating,
        hostname: named ? hostname : undefined,
      };
    });
}

/** The number of the port in the pod; undefined when the pod has none of that name (upstream: FindPort). */
function portIn(pod: Pod, { targetPort, port, protocol = 'TCP' }: ServicePort): number | undefined {
  if (typeof targetPort === 'number' && targetPort !== 0) return targetPort;
  if (targetPort === undefined || targetPort === 0 || targetPort === '') return port;
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  for (const { ports = [] } of [...pod.spec.containers, ...sidecars]) {
    const found = ports.find((each) => each.name === targetPort && (each.protocol ?? 'TCP') === protocol);
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}

export interface PortInPod {
  /** '' for an unnamed single port. */
  readonly name: string;
  readonly protocol: NonNullable<ServicePort['protocol']>;
  readonly port: number;
  readonly appProtocol?: string;
}

/** The service's ports that the pod has; undefined if the service has ports and the pod has none of them. */
export function portsIn(pod: Pod, service: Service): readonly PortInPod[] | undefined {
  const wanted = service.spec.ports ?? [];
  if (wanted.length === 0 && isHeadless(service)) return [];
  const found = wanted.flatMap((each): PortInPod[] => {
    const port = portIn(pod, each);
    const { name = '', protocol = 'TCP', appProtocol } = each;
    return port === undefined ? [] : [{ name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) }];
  });
  return found.length === 0 ? undefined : found;
}

/** Whether a change of a pod can change any service's endpoints. */
function changesEndpoints(before: Pod, after: Pod): boolean {
  return (
    before.metadata.labels !== after.metadata.labels ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    before.status?.phase !== after.status?.phase ||
    isPodReady(before) !== isPodReady(after) ||
    JSON.stringify(before.status?.podIPs) !== JSON.stringify(after.status?.podIPs) ||
    before.spec.nodeName !== after.spec.nodeName
  );
}

/** Wakes services when they or their selected pods change. Returns the function that unsubscribes. */
export function wakeServices(options: {
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod>;
  readonly add: (key: string) => void;
}): () => void {
  const { services, pods, add } = options;
  const index = new SelectorIndex(services, ENDPOINT_SELECTOR, serviceSelector);
  const wake = (service: Service): void => add(formatKey(keyOf(service)));
  const wakeFor = (pod: Pod): void => {
    for (const service of index.selecting(pod.metadata.namespace, pod.metadata.labels)) wake(service);
  };
  const ends = [
    services.addHandlers({ onAdd: wake, onUpdate: (_, after) => wake(after), onDelete: wake }),
    pods.addHandlers({
      onAdd: wakeFor,
      onUpdate: (before, after) => {
        if (!changesEndpoints(before, after)) return;
        if (before.metadata.labels !== after.metadata.labels) wakeFor(before);
        wakeFor(after);
      },
      onDelete: wakeFor,
    }),
  ];
  return () => ends.forEach((end) => end());
}
