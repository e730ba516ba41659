/** The short table of what works, for README.md: its states come from the tables behind docs/parity.md, so it cannot promise more than they do. */
import { honouredFields, honouredFlags } from '../src/kubelet/model/config/honoured-fields.ts';
import { endpoints } from '../src/kubelet/model/parity/interface-parity.ts';
import type { Parity, ParityState } from '../src/kubelet/model/parity/parity-state.ts';
import { podFieldRows } from '../src/kubelet/model/parity/pod-fields.ts';

export interface WorksRow {
  readonly area: string;
  /** What a person can do with it. */
  readonly what: string;
  /** Configuration fields, `--flags`, `Type.field` of the pod spec, and paths of endpoints. */
  readonly rests: readonly string[];
}

const containerFields = [
  'command',
  'env',
  'envFrom',
  'resources',
  'restartPolicy',
  'restartPolicyRules',
  'volumeMounts',
  'securityContext',
].map((name) => `Container.${name}`);

export const worksRows: readonly WorksRow[] = [
  {
    area: 'Pods from files and folders',
    what: 'YAML and JSON, several objects per file; changes take effect immediately',
    rests: ['staticPodPath', 'fileCheckFrequency'],
  },
  {
    area: 'Pods from a URL',
    what: 'with headers',
    rests: ['staticPodURL', 'staticPodURLHeader', 'httpCheckFrequency'],
  },
  {
    area: 'Pods over HTTP',
    what: 'the manifest server, with a token; not in upstream',
    rests: ['--manifest-server-address', '--manifest-server-token-file'],
  },
  {
    area: 'Admission',
    what: "upstream's checks and reasons, preemption for critical pods, your own admission programs",
    rests: [
      'maxPods',
      'podsPerCore',
      'PodSpec.nodeSelector',
      'PodSpec.affinity',
      'PodSpec.priority',
      'ContainerPort.hostPort',
      '--admission-hooks-dir',
    ],
  },
  {
    area: 'Containers',
    what: 'init containers, sidecars, restart policies and rules, environment, subPath',
    rests: [
      'PodSpec.initContainers',
      'PodSpec.restartPolicy',
      'VolumeMount.subPath',
      ...containerFields.filter((name) => name !== 'Container.resources'),
    ],
  },
  {
    area: 'Security context',
    what: 'users and groups, capabilities, seccomp, AppArmor, sysctls, user namespaces',
    rests: [
      'PodSpec.securityContext',
      'Container.securityContext',
      'SecurityContext.capabilities',
      'SecurityContext.seccompProfile',
      'SecurityContext.appArmorProfile',
      'PodSecurityContext.fsGroup',
      'PodSecurityContext.sysctls',
      'PodSpec.hostUsers',
      'allowedUnsafeSysctls',
      'seccompDefault',
    ],
  },
  {
    area: 'Names and network',
    what: 'host name, DNS, hosts file, host ports, environment variables of services, runtime classes',
    rests: [
      'hostname',
      'dnsPolicy',
      'dnsConfig',
      'hostAliases',
      'hostNetwork',
      'enableServiceLinks',
      'runtimeClassName',
    ]
      .map((name) => `PodSpec.${name}`)
      .concat('ContainerPort.hostPort'),
  },
  {
    area: 'Crash back-off',
    what: '10 s to 300 s, reset after 600 s',
    rests: ['crashLoopBackOff.maxContainerRestartPeriod'],
  },
  {
    area: 'Probes',
    what: 'startup, readiness, liveness: exec, HTTP, TCP, gRPC',
    rests: ['Probe.exec', 'Probe.httpGet', 'Probe.tcpSocket', 'Probe.grpc'],
  },
  {
    area: 'Hooks',
    what: 'postStart and preStop: exec, HTTP, sleep',
    rests: [
      'Lifecycle.postStart',
      'Lifecycle.preStop',
      'LifecycleHandler.exec',
      'LifecycleHandler.httpGet',
      'LifecycleHandler.sleep',
    ],
  },
  {
    area: 'Volumes on this machine',
    what: 'emptyDir, hostPath, ConfigMap, Secret, downward API, projected',
    rests: ['emptyDir', 'hostPath', 'configMap', 'secret', 'downwardAPI', 'projected'].map((kind) => `Volume.${kind}`),
  },
  {
    area: 'Claims, CSI, network volumes',
    what: 'PersistentVolumes from manifests, CSI drivers, disks, NFS, iSCSI, FC, images',
    rests: ['csi', 'persistentVolumeClaim', 'ephemeral', 'nfs', 'iscsi', 'fc', 'image'].map((kind) => `Volume.${kind}`),
  },
  {
    area: 'Images',
    what: 'pull policies, parallel pulls up to a limit, pull secrets, credential plugins',
    rests: [
      'serializeImagePulls',
      'maxParallelImagePulls',
      'registryPullQPS',
      'Container.imagePullPolicy',
      'PodSpec.imagePullSecrets',
      '--image-credential-provider-config',
    ],
  },
  {
    area: 'Image garbage collection',
    what: '',
    rests: ['imageGCHighThresholdPercent', 'imageGCLowThresholdPercent', 'imageMinimumGCAge'],
  },
  {
    area: 'Container logs',
    what: 'layout as upstream, rotation by size and number',
    rests: ['podLogsDir', 'containerLogMaxSize', 'containerLogMaxFiles'],
  },
  {
    area: 'Pod cgroups',
    what: 'v1 and v2: QoS tree, CPU, memory, pids',
    rests: ['cgroupsPerQOS', 'cpuCFSQuota', 'podPidsLimit'],
  },
  {
    area: 'cgroup driver',
    what: 'cgroupfs, or systemd over D-Bus; the driver that the runtime reports',
    rests: ['cgroupDriver'],
  },
  {
    area: 'Limits and requests',
    what: 'CPU, memory, huge pages, ephemeral storage, extended resources',
    rests: ['ResourceRequirements.limits', 'ResourceRequirements.requests'],
  },
  {
    area: 'Resources of running pods',
    what: 'in-place resize; resources of the whole pod',
    rests: ['Container.resizePolicy', 'PodSpec.resources'],
  },
  {
    area: 'Health and local API',
    what: 'healthz; pods, configuration and logs on a socket that only root can open',
    rests: ['10248 /healthz, /healthz/ping', '/pods', '/configz'],
  },
  { area: 'API server, node status', what: '', rests: ['--kubeconfig', 'registerNode', 'nodeStatusUpdateFrequency'] },
  {
    area: 'HTTPS on 10250: exec, attach, port-forward',
    what: '',
    rests: ['10250 with TLS, authentication and authorization', '/exec/{ns}/{pod}[/{uid}]/{container}'],
  },
  {
    area: 'Metrics and stats',
    what: '',
    rests: ['/metrics, /metrics/{cadvisor,resource,probes,slis}', '/stats/summary'],
  },
  {
    area: 'Reservations, eviction',
    what: 'by memory, disk, inodes, processes; a shortage is noticed within 100 ms',
    rests: ['evictionHard', 'evictionSoft', 'kubeReserved', 'systemReserved'],
  },
  {
    area: 'CPU, memory, topology managers',
    what: '',
    rests: ['cpuManagerPolicy', 'memoryManagerPolicy', 'topologyManagerPolicy'],
  },
  {
    area: 'Devices',
    what: 'device plugins; resource claims (DRA) with CDI, health and extended resources; the Pod Resources API',
    rests: ['PodSpec.resourceClaims', 'ResourceRequirements.claims'],
  },
  { area: 'Graceful node shutdown', what: '', rests: ['shutdownGracePeriod'] },
];

/** The row of the parity tables that a name stands for; undefined when there is none. */
export function parityOf(name: string): Parity | undefined {
  if (name.startsWith('--')) return honouredFlags[name.slice(2)];
  const [type = '', field = ''] = name.split('.');
  return honouredFields[name] ?? endpoints[name] ?? podFieldRows[type]?.[field];
}

/** All work: yes. None does: not yet. Anything between: partly. */
export function stateOf(rests: readonly string[]): ParityState {
  const states = rests.map((name) => parityOf(name)?.state ?? 'notYet');
  if (states.every((state) => state === 'honoured')) return 'honoured';
  return states.every((state) => state === 'notYet') ? 'notYet' : 'partly';
}

const words: Readonly<Record<ParityState, string>> = { honoured: 'yes', partly: 'partly', notYet: 'not yet' };

export function renderWorks(): string {
  return [
    '| Area | Works | |',
    '|---|---|---|',
    ...worksRows.map(({ area, what, rests }) => `| ${area} | ${words[stateOf(rests)]} | ${what} |`),
  ].join('\n');
}
