import { containerList, namesWhere, plural, quoted, settersOf, sorted } from './check.ts';
import type { CheckPod, JudgedContainer, PodCheck } from './check.ts';

const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const confined = (type: string): boolean => type === 'RuntimeDefault' || type === 'Localhost';

const appArmorProfile: CheckPod = (pod) => {
  const ofPod = pod.spec.securityContext?.appArmorProfile?.type;
  const typeOf = ({ securityContext }: JudgedContainer): string | undefined => securityContext?.appArmorProfile?.type;
  const isBad = (type: string | undefined): boolean => type !== undefined && !confined(type);
  const containers = namesWhere(pod, (each) => isBad(typeOf(each)));
  const values = sorted(
    [ofPod, ...pod.containers.map(typeOf)].filter((type) => type !== undefined && isBad(type)) as string[],
  );
  const annotations = Object.entries(pod.annotations)
    .filter(
      ([key, value]) =>
        key.startsWith(APP_ARMOR_PREFIX) &&
        value !== '' &&
        value !== 'runtime/default' &&
        !value.startsWith('localhost/'),
    )
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const setters = [
    settersOf(isBad(ofPod), containers),
    annotations.length === 0 ? undefined : plural('annotation', annotations),
  ].filter((each) => each !== undefined);
  if (setters.length === 0) return undefined;
  const bad = [...values, ...annotations];
  return {
    reason: plural('forbidden AppArmor profile', bad),
    detail: `${setters.join(' and ')} must not set AppArmor profile type to ${quoted(bad)}`,
  };
};

const defaultCapabilities = new Set(
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  ),
);

const capabilities: CheckPod = (pod) => {
  const added = ({ securityContext }: JudgedContainer): readonly string[] =>
    (securityContext?.capabilities?.add ?? []).filter((each) => !defaultCapabilities.has(each));
  const containers = namesWhere(pod, (each) => added(each).length > 0);
  if (containers.length === 0) return undefined;
  return {
    reason: 'non-default capabilities',
    detail: `${containerList(containers)} must not include ${quoted(sorted(pod.containers.flatMap(added)))} in securityContext.capabilities.add`,
  };
};

const hostNamespaces: CheckPod = ({ spec }) => {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((each) => spec[each] === true);
  return shared.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: shared.map((each) => `${each}=true`).join(', ') };
};

const hostPathVolumes: CheckPod = ({ spec }) => {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  return names.length === 0
    ? undefined
    : { reason: 'hostPath volumes', detail: `${plural('volume', names)} ${quoted(names)}` };
};

const uses = (names: readonly string[]): string => (names.length === 1 ? 'uses' : 'use');

const hostPorts: CheckPod = (pod) => {
  const portsOf = ({ ports = [] }: JudgedContainer): readonly string[] =>
    ports.filter(({ hostPort = 0 }) => hostPort !== 0).map(({ hostPort }) => String(hostPort));
  const containers = namesWhere(pod, (each) => portsOf(each).length > 0);
  const ports = sorted(pod.containers.flatMap(portsOf));
  return containers.length === 0
    ? undefined
    : {
        reason: 'hostPort',
        detail: `${containerList(containers)} ${uses(containers)} ${plural('hostPort', ports)} ${ports.join(', ')}`,
      };
};

interface Handler {
  readonly httpGet?: { readonly host?: string };
  readonly tcpSocket?: { readonly host?: string };
}

function hostsOf({ livenessProbe, readinessProbe, startupProbe, lifecycle }: JudgedContainer): readonly string[] {
  const handlers: readonly (Handler | undefined)[] = [
    livenessProbe,
    readinessProbe,
    startupProbe,
    lifecycle?.postStart,
    lifecycle?.preStop,
  ];
  return handlers
    .flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host])
    .filter((host) => host !== undefined && host !== '') as string[];
}

const hostProbes: CheckPod = (pod) => {
  const containers = sorted(namesWhere(pod, (each) => hostsOf(each).length > 0));
  const hosts = sorted(pod.containers.flatMap(hostsOf));
  if (containers.length === 0) return undefined;
  return {
    reason: 'probe or lifecycle host',
    detail: `${containerList(containers)} ${uses(containers)} ${plural('probe or lifecycle host', hosts)} ${quoted(hosts)}`,
  };
};

const privileged: CheckPod = (pod) => {
  const containers = namesWhere(pod, ({ securityContext }) => securityContext?.privileged === true);
  return containers.length === 0
    ? undefined
    : { reason: 'privileged', detail: `${containerList(containers)} must not set securityContext.privileged=true` };
};

export const procMount: CheckPod = (pod) => {
  const typeOf = ({ securityContext }: JudgedContainer): string => securityContext?.procMount ?? 'Default';
  const containers = namesWhere(pod, (each) => typeOf(each) !== 'Default');
  const types = sorted(pod.containers.map(typeOf).filter((type) => type !== 'Default'));
  return containers.length === 0
    ? undefined
    : {
        reason: 'procMount',
        detail: `${containerList(containers)} must not set securityContext.procMount to ${quoted(types)}`,
      };
};

/** Skips the check for a pod with its own user namespace, in which root has no privileges on the node. */
export const unlessOwnUsers =
  (check: CheckPod): CheckPod =>
  (pod) =>
    pod.spec.hostUsers === false ? undefined : check(pod);

const seLinuxOptions =
  (allowed: readonly string[]): CheckPod =>
  (pod) => {
    type Options = NonNullable<NonNullable<JudgedContainer['securityContext']>['seLinuxOptions']>;
    const ofPod = pod.spec.securityContext?.seLinuxOptions;
    const isBad = (options: Options | undefined): boolean =>
      options !== undefined &&
      (!allowed.includes(options.type ?? '') || (options.user ?? '') !== '' || (options.role ?? '') !== '');
    const setters = settersOf(
      isBad(ofPod),
      namesWhere(pod, ({ securityContext }) => isBad(securityContext?.seLinuxOptions)),
    );
    if (setters === undefined) return undefined;
    const all = [ofPod, ...pod.containers.map(({ securityContext }) => securityContext?.seLinuxOptions)].filter(
      (options) => options !== undefined,
    );
    const types = sorted(all.map(({ type = '' }) => type).filter((type) => !allowed.includes(type)));
    const faults = [
      ...(types.length > 0 ? [`${plural('type', types)} ${quoted(types)}`] : []),
      ...(all.some(({ user = '' }) => user !== '') ? ['user may not be set'] : []),
      ...(all.some(({ role = '' }) => role !== '') ? ['role may not be set'] : []),
    ];
    return {
      reason: 'seLinuxOptions',
      detail: `${setters} set forbidden securityContext.seLinuxOptions: ${faults.join('; ')}`,
    };
  };

const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';

/** Reads the annotations that were used before there was a field. */
const seccompAnnotations: CheckPod = ({ annotations, containers }) => {
  const keys = [SECCOMP_POD, ...containers.map(({ name }) => SECCOMP_CONTAINER + name)];
  const isGood = (value: string): boolean =>
    value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/');
  const bad = sorted(
    keys
      .filter((key) => annotations[key] !== undefined && !isGood(annotations[key]))
      .map((key) => `${key}=${JSON.stringify(annotations[key])}`),
  );
  return bad.length === 0
    ? undefined
    : { reason: 'seccompProfile', detail: `forbidden ${plural('annotation', bad)} ${bad.join(', ')}` };
};

export const seccompProfile: CheckPod = (pod) => {
  const ofPod = pod.spec.securityContext?.seccompProfile?.type;
  const typeOf = ({ securityContext }: JudgedContainer): string | undefined => securityContext?.seccompProfile?.type;
  const isBad = (type: string | undefined): boolean => type !== undefined && !confined(type);
  const setters = settersOf(
    isBad(ofPod),
    namesWhere(pod, (each) => isBad(typeOf(each))),
  );
  if (setters === undefined) return undefined;
  const values = sorted(
    [ofPod, ...pod.containers.map(typeOf)].filter((type) => type !== undefined && isBad(type)) as string[],
  );
  return {
    reason: 'seccompProfile',
    detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
  };
};

const sysctls =
  (allowed: readonly string[]): CheckPod =>
  ({ spec }) => {
    const bad = (spec.securityContext?.sysctls ?? []).map(({ name }) => name).filter((name) => !allowed.includes(name));
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
  };

const windowsHostProcess: CheckPod = (pod) => {
  const ofContainers = namesWhere(pod, ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true);
  const setters = settersOf(pod.spec.securityContext?.windowsOptions?.hostProcess === true, ofContainers);
  return setters === undefined
    ? undefined
    : { reason: 'hostProcess', detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` };
};

const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t'];
const safeSysctls = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
];
const sysctlsOf27 = [...safeSysctls, 'net.ipv4.ip_local_reserved_ports'];
const sysctlsOf29 = [
  ...sysctlsOf27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
];
const always = (id: string, check: CheckPod): PodCheck => ({ id, versions: [{ since: 0, check }] });

/** The rules of the level `baseline`, in the order of their ids. */
export const baselineChecks: readonly PodCheck[] = [
  always('appArmorProfile', appArmorProfile),
  always('capabilities_baseline', capabilities),
  always('hostNamespaces', hostNamespaces),
  always('hostPathVolumes', hostPathVolumes),
  always('hostPorts', hostPorts),
  { id: 'hostProbesAndHostLifecycle', versions: [{ since: 34, check: hostProbes }] },
  always('privileged', privileged),
  {
    id: 'procMount',
    versions: [
      { since: 0, check: procMount },
      { since: 35, check: unlessOwnUsers(procMount) },
    ],
  },
  {
    id: 'seLinuxOptions',
    versions: [
      { since: 0, check: seLinuxOptions(seLinuxTypes) },
      { since: 31, check: seLinuxOptions([...seLinuxTypes, 'container_engine_t']) },
    ],
  },
  {
    id: 'seccompProfile_baseline',
    versions: [
      { since: 0, check: seccompAnnotations },
      { since: 19, check: seccompProfile },
    ],
  },
  {
    id: 'sysctls',
    versions: [
      { since: 0, check: sysctls(safeSysctls) },
      { since: 27, check: sysctls(sysctlsOf27) },
      { since: 29, check: sysctls(sysctlsOf29) },
      { since: 32, check: sysctls([...sysctlsOf29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']) },
    ],
  },
  always('windowsHostProcess', windowsHostProcess),
];
