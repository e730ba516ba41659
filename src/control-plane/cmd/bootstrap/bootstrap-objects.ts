import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { isLoopbackHost } from '../../../base/loopback-host.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import { endpointLabels } from '../../../api/annotations.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import { ensureDefaultServiceCidr } from './default-service-cidr.ts';
import { ensureFlowObjects } from './flow-objects.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import {
  configMaps,
  endpoints,
  endpointSlices,
  flowSchemas,
  namespaces,
  priorityClasses,
  priorityLevelConfigurations,
  serviceCidrs,
  services,
} from '../../../api/client/resource-types.ts';
import { clusterConfiguration, clusterInfo, joiningKubeletConfiguration } from './join-objects.ts';
import { dayOf, legacyToken, parseDay } from '../../../api/legacy-token.ts';
import type { ObjectMeta } from '../../../api/core/meta.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';

const meta = (name: string, namespace = '', labels?: Record<string, string>): ObjectMeta => ({
  name,
  namespace,
  uid: '',
  ...(labels !== undefined && { labels }),
});

/**
 * Ensures the objects that every cluster has from the start. Each is created if it is missing. Objects with the address
 * of the server are updated.
 */
export async function ensureBootstrapObjects(client: ApiClient, facts: ClusterFacts, nowMs: number): Promise<void> {
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease'])
    await ensure(client, namespaces, { metadata: meta(name), spec: {} });
  await ensure(client, priorityClasses, {
    metadata: meta('system-cluster-critical'),
    value: 2_000_000_000,
    description: 'For pods the cluster cannot do without, which may run on any node.',
  });
  await ensure(client, priorityClasses, {
    metadata: meta('system-node-critical'),
    value: 2_000_001_000,
    description: 'For pods their node cannot do without.',
  });
  await ensureAuthenticationConfig(client, facts);
  await ensureTokenTracker(client, nowMs);
  await ensureFlowObjects(client);
  await ensureDefaultServiceCidr(client, facts.serviceCidrs, nowMs);
  await ensureKubernetesService(client, facts);
  await ensureJoinObjects(client, facts);
}

/** Ensures the authentication settings. Additions of other clients stay. */
async function ensureAuthenticationConfig(
  client: ApiClient,
  { authenticationConfig: data }: ClusterFacts,
): Promise<void> {
  const config = { metadata: meta('extension-apiserver-authentication', 'kube-system'), data: { ...data } };
  if (await ensure(client, configMaps, config)) return;
  const found = await client.get(configMaps, keyOf(config));
  if (Object.entries(data).every(([key, value]) => found.data?.[key] === value)) return;
  try {
    await client.update(configMaps, { ...found, data: { ...found.data, ...data } });
  } catch (error) {
    if (!isApiError(error, 'Conflict', 'NotFound')) throw error;
  }
}

/** Records since when the use of tokens in Secrets is tracked (upstream: legacytokentracking). */
async function ensureTokenTracker(client: ApiClient, nowMs: number): Promise<void> {
  const data = { [legacyToken.trackerKey]: dayOf(nowMs) };
  const tracker = { metadata: meta(legacyToken.trackerName, 'kube-system'), data };
  if (await ensure(client, configMaps, tracker)) return;
  const found = await client.get(configMaps, keyOf(tracker));
  if (parseDay(found.data?.[legacyToken.trackerKey]) !== undefined) return;
  try {
    await client.update(configMaps, { ...found, data: { ...found.data, ...data } });
  } catch (error) {
    if (!isApiError(error, 'Conflict', 'NotFound')) throw error;
  }
}

/**
 * Ensures what kubeadm reads to join. Changes of an operator stay, but the address must be that of a running server.
 */
async function ensureJoinObjects(client: ApiClient, facts: ClusterFacts): Promise<void> {
  await ensure(client, configMaps, {
    metadata: meta('kubeadm-config', 'kube-system'),
    data: { ClusterConfiguration: clusterConfiguration(facts) },
  });
  await ensure(client, configMaps, {
    metadata: meta('kubelet-config', 'kube-system'),
    data: { kubelet: joiningKubeletConfiguration(facts) },
  });
  const info = { metadata: meta('cluster-info', 'kube-public'), data: { kubeconfig: clusterInfo(facts) } };
  if (await ensure(client, configMaps, info)) return;
  const found = await client.get(configMaps, keyOf(info));
  const infoOf = (advertiseAddress: string): string => clusterInfo({ ...facts, advertiseAddress });
  if (facts.serverAddresses.map(infoOf).includes(found.data?.['kubeconfig'] ?? '')) return;
  try {
    // Its controller renews the signatures of the former content.
    await client.update(configMaps, { ...found, data: { ...found.data, ...info.data } });
  } catch (error) {
    if (!isApiError(error, 'Conflict', 'NotFound')) throw error;
  }
}

/**
 * The service `kubernetes`, by which pods reach the API server. It has no selector: the servers keep its endpoints
 * (upstream: reconcilers/lease.go).
 */
async function ensureKubernetesService(
  client: ApiClient,
  { advertiseAddress, serverAddresses, securePort, serviceIp }: ClusterFacts,
): Promise<void> {
  await ensure(client, services, {
    metadata: meta('kubernetes', 'default', { component: 'apiserver', provider: 'kubernetes' }),
    spec: {
      type: 'ClusterIP',
      clusterIP: serviceIp,
      clusterIPs: [serviceIp],
      ipFamilies: [serviceIp.includes(':') ? 'IPv6' : 'IPv4'],
      ipFamilyPolicy: 'SingleStack',
      sessionAffinity: 'None',
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: securePort }],
    },
  });
  // Endpoints must not be loopback addresses. On a machine without other addresses, only local processes can reach the
  // server anyway.
  if (isLoopbackHost(advertiseAddress)) return;
  const isIPv6 = advertiseAddress.includes(':');
  const ips = serverAddresses.filter((each) => each.includes(':') === isIPv6 && !isLoopbackHost(each));
  await replace(client, endpoints, {
    metadata: meta('kubernetes', 'default', { 'endpointslice.kubernetes.io/skip-mirror': 'true' }),
    subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ name: 'https', port: securePort, protocol: 'TCP' }] }],
  });
  await replace(client, endpointSlices, {
    metadata: meta('kubernetes', 'default', { [endpointLabels.serviceName]: 'kubernetes' }),
    addressType: isIPv6 ? 'IPv6' : 'IPv4',
    endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: [{ name: 'https', port: securePort, protocol: 'TCP' }],
  });
}

async function ensure<T extends ApiObject>(client: ApiClient, type: ResourceType<T>, object: T): Promise<boolean> {
  if (await exists(client, type, object)) return false;
  try {
    await client.create(type, object);
    return true;
  } catch (error) {
    // Another server may have created the object first. For a service, the error is then that its address is already
    // allocated.
    if (await exists(client, type, object)) return false;
    throw error;
  }
}

async function exists<T extends ApiObject>(client: ApiClient, type: ResourceType<T>, object: T): Promise<boolean> {
  try {
    await client.get(type, keyOf(object));
    return true;
  } catch (error) {
    if (isApiError(error, 'NotFound')) return false;
    throw error;
  }
}

/** An update without changes is not written. */
async function replace<T extends ApiObject>(client: ApiClient, type: ResourceType<T>, object: T): Promise<void> {
  if (!(await ensure(client, type, object))) await client.update(type, object);
}

export interface BootstrapKeeperOptions {
  readonly client: ApiClient;
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly log: Logger;
  readonly facts: () => ClusterFacts;
}

/** A fallback for missed events. */
const SAFETY_NET_MS = 60_000;

/** Restores bootstrap objects that were deleted or changed. */
export function createBootstrapKeeper({ client, reader, clock, log, facts }: BootstrapKeeperOptions): {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Checks the objects, because the facts have changed. */
  check(): void;
} {
  const all = 'all';
  const ensureAll = (): Promise<void> => ensureBootstrapObjects(client, facts(), clock.nowMs());
  const queue = new RateLimitingQueue({
    name: 'bootstrap-objects',
    clock,
    log,
    workers: 1,
    sync: () => ensureAll().then(() => SAFETY_NET_MS),
  });
  const ends: (() => void)[] = [];
  return {
    /** Resolves when all of the objects exist. */
    start: async () => {
      await ensureAll();
      for (const type of [
        namespaces,
        services,
        endpoints,
        endpointSlices,
        priorityClasses,
        configMaps,
        flowSchemas,
        priorityLevelConfigurations,
        serviceCidrs,
      ] as readonly ResourceType[]) {
        ends.push(
          reader.onChange(type, (before, after) => after === undefined && before !== undefined && queue.add(all)),
        );
      }
      queue.start();
      queue.addAfter(all, SAFETY_NET_MS);
    },
    stop: async () => {
      for (const end of ends.splice(0)) end();
      await queue.stop();
    },
    check: () => queue.add(all),
  };
}
