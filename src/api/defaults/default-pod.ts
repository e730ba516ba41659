import { copyJson } from '../../base/copy-json.ts';
import type { Container } from '../core/container.ts';
import type { Pod } from '../core/pod.ts';
import type { PodSpec } from '../core/pod-spec.ts';
import type { ContainerStatus } from '../core/pod-status.ts';
import type { AnyContainer } from '../pod.ts';
import { aggregateContainers, isHugePageResource, isPodLevelResource } from '../resources.ts';
import { defaultContainerInPlace, requestFromLimitInPlace, roundListInPlace } from './default-container.ts';
import { defaultVolumeInPlace } from './default-volume.ts';

/**
 * A copy of the pod with the defaults that the API server sets. Idempotent. The order matters: requests are set from
 * limits before pod-level requests are computed (upstream: core/v1/defaults.go).
 */
export function defaultPod(pod: Pod): Pod {
  const defaulted = copyJson(pod);
  const { spec } = defaulted;
  const startable: Container[] = [...spec.containers, ...(spec.initContainers ?? [])];
  for (const container of startable) requestFromLimitInPlace(container);
  defaultHugePageLimits(defaulted);
  defaultPodRequests(defaulted);
  spec.enableServiceLinks ??= true;
  if (spec.hostNetwork === true) for (const container of startable) exposeOnHost(container);
  defaultPodSpecInPlace(spec);
  roundStatus(defaulted);
  return defaulted;
}

/** Sets the defaults that pods and templates have in common. Changes `spec`. */
export function defaultPodSpecInPlace(spec: PodSpec): void {
  defaultSpec(spec);
  for (const volume of spec.volumes ?? []) defaultVolumeInPlace(volume);
  const containers: AnyContainer[] = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...(spec.ephemeralContainers ?? []),
  ];
  for (const container of containers) defaultContainerInPlace(container);
  roundListInPlace(spec.overhead);
  roundListInPlace(spec.resources?.limits);
  roundListInPlace(spec.resources?.requests);
}

function defaultSpec(spec: PodSpec): void {
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.restartPolicy ||= 'Always';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  spec.schedulerName ||= 'default-scheduler';
  // Upstream's conversion sets the old name of the field from the new one.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
}

/** On the host's network, container ports are also host ports. */
function exposeOnHost(container: Container): void {
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
}

/** If a pod has pod-level resources, its huge pages include the containers' limits. */
function defaultHugePageLimits(pod: Pod): void {
  const { resources } = pod.spec;
  if (resources === undefined || sizeOf(resources.limits) + sizeOf(resources.requests) === 0) return;
  const limits = { ...resources.limits };
  for (const [name, amount] of Object.entries(aggregateContainers(pod, 'limits'))) {
    if (isHugePageResource(name) && resources.requests?.[name] === undefined) limits[name] ??= amount;
  }
  if (sizeOf(limits) > 0) resources.limits = limits;
}

/**
 * Sets pod-level requests for resources with only a limit: the sum of the containers' requests if there are any,
 * otherwise the limit.
 */
function defaultPodRequests(pod: Pod): void {
  const { resources } = pod.spec;
  if (resources === undefined || sizeOf(resources.limits) === 0) return;
  const requests = { ...resources.requests };
  for (const [name, amount] of Object.entries(aggregateContainers(pod, 'requests'))) {
    if (isPodLevelResource(name) && !isHugePageResource(name)) requests[name] ??= amount;
  }
  for (const [name, amount] of Object.entries(resources.limits ?? {}))
    if (isPodLevelResource(name)) requests[name] ??= amount;
  if (sizeOf(requests) > 0) resources.requests = requests;
}

function roundStatus(pod: Pod): void {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  const all: ContainerStatus[] = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
  for (const status of all) {
    roundListInPlace(status.allocatedResources);
    roundListInPlace(status.resources?.limits);
    roundListInPlace(status.resources?.requests);
  }
}

function sizeOf(list: Readonly<Record<string, string>> | undefined): number {
  return list === undefined ? 0 : Object.keys(list).length;
}
