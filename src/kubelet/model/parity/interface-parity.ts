/**
 * The interfaces of a kubelet that clients use, with the state of each: HTTP paths, reasons, metric families.
 * docs/parity.md is generated from them.
 */
import * as reasons from '../../../api/reasons.ts';
import { honoured, partly } from './parity-state.ts';
import type { Parity } from './parity-state.ts';

const streaming = honoured('over SPDY and WebSocket; redirects of the runtime are not followed');

/** The paths of upstream's server. */
export const endpoints: Readonly<Record<string, Parity>> = {
  '10248 /healthz, /healthz/ping': honoured(),
  '/healthz, /healthz/{ping,log,syncloop,device-plugin}': honoured(),
  '/pods': honoured(),
  '/runningpods/': honoured(),
  '/configz': honoured(),
  '/containerLogs/{ns}/{pod}/{container}': honoured(),
  '/stats/summary': honoured(
    'read from cgroups, /proc and the runtime without cAdvisor; rates are computed from the last two measurements, the first one is 0',
  ),
  '/metrics, /metrics/{cadvisor,resource,probes,slis}': honoured(
    'always in text format 0.0.4, as in upstream with OpenMetrics; protobuf is not offered',
  ),
  '/run/{ns}/{pod}[/{uid}]/{container}': streaming,
  '/exec/{ns}/{pod}[/{uid}]/{container}': streaming,
  '/attach/{ns}/{pod}[/{uid}]/{container}': honoured(
    'over SPDY and WebSocket; a client that attaches just after the start or the end of a container also gets the earlier output',
  ),
  '/portForward/{ns}/{pod}[/{uid}]': streaming,
  '/checkpoint/{ns}/{pod}/{container}': honoured('limited in number and by the free disk space'),
  '/logs/, /logs/{path}': honoured(),
  '/debug/pprof/{subpath}': partly(
    "profile, heap and allocs, in the formats of V8; Go's other profiles do not exist here",
  ),
  '/debug/flags/v': honoured(),
  '/flagz': honoured(),
  '/statusz': honoured(),
  '10250 with TLS, authentication and authorization': honoured('HTTP/1.1 only; upstream also has HTTP/2'),
};

/** The metric families, by the endpoint that serves them. */
export const metricFamilies: Readonly<Record<string, Parity>> = {
  '/metrics/resource: node_, pod_ and container_ CPU and memory': honoured(),
  '/metrics/slis: kubernetes_healthcheck(s_total)': honoured(),
  '/metrics/probes: prober_probe_total, prober_probe_duration_seconds': honoured(),
  '/metrics: kubelet_ pods and containers': honoured(),
  '/metrics: kubelet_ start, worker and status latency': honoured(),
  '/metrics: kubelet_pleg_*': honoured(
    'no event is discarded; connections of the event stream are not counted, because upstream does not use it by default',
  ),
  '/metrics: kubelet_runtime_operations_*, image pulls, credential plugins': honoured(),
  '/metrics: device plugins, pod resources': honoured(
    'registrations are counted once their version and name are valid; errors of List and GetAllocatableResources cannot occur',
  ),
  '/metrics: CPU, memory and topology managers': honoured(),
  '/metrics: resize': honoured(),
  '/metrics: volumes': honoured(
    'families of SELinux mismatches and forced clean-ups are absent: a kubelet with default settings does not count them, or the failure cannot occur here',
  ),
  '/metrics: node, server, certificates': partly('the families of the Go runtime are replaced by `nodejs_` ones'),
  '/metrics/cadvisor: container_, machine_': honoured(
    'load averages and task states are 0, as upstream leaves the load reader off; `image` of a sandbox is empty; machine_dimm_* and machine_nvm_* have the same values as upstream for a machine without such memory',
  ),
};

/** All reasons, by the table of src/api/reasons.ts that contains them. */
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

/** Reasons that this agent does not report, and why. The others are reported as upstream does. */
export const reasonsNotYet: ReadonlyMap<string, string> = new Map([
  ...later(
    'VolumeAttachmentLimitExceeded',
    'the limit of a driver without free capacity is reported again, and the pod waits; upstream fails it',
  ),
  ...later('SuccessfulAttachVolume', 'reported by the attach/detach controller, as in upstream'),
  ...later(
    'FailedMountOnFilesystemMismatch VolumeResizeSuccessful VolumeConditionAbnormal',
    'reported in upstream when a controller or a feature gate is off',
  ),
  ...later(
    'CertificateExpired CertificateOverdueForRefresh',
    'the agent reports an expired certificate as a problem of its own, with the expiry time as a metric',
  ),
  ...later('ImageVolumeMountFailed', 'the runtime reports it in the message of CreateContainerError, as in upstream'),
  ...later(
    'InvalidNodeInfo UnexpectedPredicateFailureType UnknownReason InitContainerRestartPolicyForbidden',
    'for cases that cannot occur here',
  ),
  ...later('PreCreateHookError PreStartHookError', 'managers assign at admission and cannot fail later'),
  ...later('HostIPsIPFamilyMismatch', 'there is no cloud provider that chooses addresses'),
  ...later('ConfigPodSandboxError RROUnsupported', 'upstream defines these reasons but never reports them'),
  ...later(
    'UnknownContainerStatuses InvalidImageID KubeletSetupFailed',
    'for cases that cannot occur here, or that end the agent with a log message',
  ),
]);
