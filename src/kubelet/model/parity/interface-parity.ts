/** What others read from a kubelet, with the state of each: HTTP paths, reasons, metric families. For docs/parity.md. */
import * as reasons from '../../../api/reasons.ts';
import { honoured, partly } from './parity-state.ts';
import type { Parity } from './parity-state.ts';

const streaming = honoured('over SPDY and WebSocket; redirects of the runtime are not followed');

/** Paths as upstream's server has them. */
export const endpoints: Readonly<Record<string, Parity>> = {
  '10248 /healthz, /healthz/ping': honoured(),
  '/healthz, /healthz/{ping,log,syncloop}': honoured(),
  '/pods': honoured(),
  '/runningpods/': honoured(),
  '/configz': honoured(),
  '/containerLogs/{ns}/{pod}/{container}': honoured(),
  '/stats/summary': honoured(
    'read from cgroups, /proc and the runtime without cAdvisor; rates are those between the last two looks, the first one says 0',
  ),
  '/metrics, /metrics/{cadvisor,resource,probes,slis}': honoured(
    'in the text format 0.0.4 whatever is asked for, as upstream with OpenMetrics; protobuf is not offered',
  ),
  '/run/{ns}/{pod}[/{uid}]/{container}': streaming,
  '/exec/{ns}/{pod}[/{uid}]/{container}': streaming,
  '/attach/{ns}/{pod}[/{uid}]/{container}': streaming,
  '/portForward/{ns}/{pod}[/{uid}]': streaming,
  '/checkpoint/{ns}/{pod}/{container}': honoured('bounded in number and by the disk'),
  '/logs/, /logs/{path}': honoured(),
  '/debug/pprof/{subpath}': partly(
    'profile, heap and allocs, in the formats of V8; the other profiles of Go do not exist here',
  ),
  '/debug/flags/v': honoured(),
  '/flagz': honoured(),
  '/statusz': honoured(),
  '10250 with TLS, authentication and authorization': honoured('HTTP/1.1 alone; upstream has HTTP/2 as well'),
};

/** Families by the page that serves them. */
export const metricFamilies: Readonly<Record<string, Parity>> = {
  '/metrics/resource: node_, pod_ and container_ CPU and memory': honoured(),
  '/metrics/slis: kubernetes_healthcheck(s_total)': honoured(),
  '/metrics/probes: prober_probe_total, prober_probe_duration_seconds': honoured(),
  '/metrics: kubelet_ pods and containers': partly(
    'evictions and preemptions are there and stay at what they are at the start',
  ),
  '/metrics: kubelet_ start, worker and status latency': honoured(),
  '/metrics: kubelet_pleg_*': honoured(
    'no event is discarded; the connections of the event stream are not counted, as upstream does not use it by default',
  ),
  '/metrics: kubelet_runtime_operations_*, image pulls, credential plugins': honoured(),
  '/metrics: CPU, memory, topology and device managers': partly(
    'they stand at 0 as upstream has them before anything happens; the managers are not there yet',
  ),
  '/metrics: resize': honoured(),
  '/metrics: volumes': honoured('SELinux mismatches and forced clean-ups stay at what they are at the start'),
  '/metrics: node, server, certificates': partly('what Go says of itself is `nodejs_` here; shutdowns are not counted'),
  '/metrics/cadvisor: container_, machine_': honoured(
    'load averages and task states are 0, as upstream leaves the load reader off; `image` of a sandbox is empty; machine_dimm_* and machine_nvm_* say what upstream says of a machine without such memory',
  ),
};

/** Every reason by the table of src/api/reasons.ts it stands in. */
export const reasonTables: Readonly<Record<string, readonly string[]>> = {
  'Container events': Object.values(reasons.containerEvents),
  'Image events': Object.values(reasons.imageEvents),
  'Pod events': Object.values(reasons.podEvents),
  'Volume events': Object.values(reasons.volumeEvents),
  'Node events': Object.values(reasons.nodeEvents),
  Waiting: Object.values(reasons.waitingReasons),
  Terminated: Object.values(reasons.terminatedReasons),
  'Pod reasons': Object.values(reasons.podReasons),
  'Pod condition reasons': Object.values(reasons.podConditionReasons),
  'Node condition reasons': Object.values(reasons.nodeConditionReasons),
};

const later = (names: string, why: string): readonly [string, string][] => names.split(' ').map((name) => [name, why]);

/** Reasons that this agent never gives yet. Those not listed are given where upstream gives them. */
export const reasonsNotYet: ReadonlyMap<string, string> = new Map([
  ...later('FailedPrepareDynamicResources', 'dynamic resources are not there yet'),
  ...later('Evicted EvictionThresholdMet SystemOOM', 'pods are not evicted under pressure yet'),
  ...later(
    'VolumeAttachmentLimitExceeded',
    'the limit of a driver that found no room is told anew, and the pod waits; upstream fails it',
  ),
  ...later('SuccessfulAttachVolume', 'said by the attach/detach controller, as in upstream'),
  ...later(
    'FailedMountOnFilesystemMismatch VolumeResizeSuccessful VolumeConditionAbnormal',
    'a controller or a gate that is off says so in upstream',
  ),
  ...later(
    'NodeHasInsufficientMemory NodeHasInsufficientPID NodeHasDiskPressure KubeletHasInsufficientMemory KubeletHasInsufficientPID KubeletHasDiskPressure',
    'pressure is not measured yet',
  ),
  ...later('Shutdown NodeShutdown Terminated', 'node shutdown is not watched for yet'),
  ...later(
    'CertificateExpired CertificateOverdueForRefresh',
    'an expired certificate is a problem that the agent tells of itself, with its end as a metric',
  ),
  ...later(
    'TopologyAffinityError SMTAlignmentError EmptyPodSharedPoolError',
    'CPU, memory and topology managers are not there yet',
  ),
  ...later('ImageVolumeMountFailed', 'the runtime says it in the message of CreateContainerError, as in upstream'),
  ...later(
    'InvalidNodeInfo UnexpectedPredicateFailureType UnknownReason InitContainerRestartPolicyForbidden',
    'for cases that cannot come up here',
  ),
  ...later('PreCreateHookError PreStartHookError', 'hooks of the resource managers, which are not there yet'),
  ...later('HostIPsIPFamilyMismatch', 'there is no cloud provider that would choose addresses'),
  ...later('ConfigPodSandboxError RROUnsupported', 'upstream has the words and shows them to nobody'),
  ...later(
    'UnknownContainerStatuses InvalidImageID KubeletSetupFailed',
    'for cases that cannot come up here, or end the agent with a line in the log',
  ),
]);
