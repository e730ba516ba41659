import { lookupTable } from '../../../../base/lookup.ts';

/**
 * The tests that show that a field of a pod's spec has the effect that its row in pod-fields.ts claims: first one with
 * fakes, then one with the real runtime if there is one. scripts/parity.test.ts requires an entry for every implemented
 * field, and requires each named test to use the field. A change that implements a field adds its test here.
 */

/** The tests by field names. A key may contain several names; `*` means all fields that no other key contains. */
export type TypeTests = Readonly<Record<string, readonly string[]>>;

const feature = (name: string): string => `src/kubelet/features/${name}.test.ts`;
const runtime = (name: string): string => feature(`pod-runtime/${name}`);
const volume = (name: string): string => feature(`volumes/${name}`);
const real = (name: string): string => `test/integration/${name}.test.ts`;

const container = runtime('config/container-config');
const env = runtime('config/env-config');
const dns = runtime('config/dns-config');
const resources = runtime('config/resources-config');
const chain = feature('admission/admission-chain');
const probes = feature('probes/probe-manager');
const probeHandlers = feature('probes/probe-handlers');
const hooks = feature('lifecycle-hooks/hook-runner');
const security = runtime('config/security-config');
const wire = 'src/kubelet/cmd/security-on-the-wire.test.ts';
const plain = runtime('config/plain-fields');
const objectFields = volume('objects/object-fields');
const validation = 'src/api/validation/pod/validate-pod-containers.test.ts';
const fields = real('fields');
const around = real('lifecycle-surroundings');
const kinds = real('volume-kinds');

/**
 * For fields that the scheduler or another operating system uses: tests show that the runtime configuration does not
 * change.
 */
const withoutEffect = [plain, fields];
const migration = 'src/api/csi-migration.test.ts';
const refusedKind = [volume('refused-kinds')];
const objectVolume = {
  'items optional': [volume('kinds/plugins'), objectFields, fields],
  defaultMode: [objectFields, fields],
};

const containerTests: TypeTests = {
  name: [runtime('sync-pod'), real('lifecycle-containers')],
  image: [feature('images/image-manager'), real('images')],
  command: [container, around],
  'args workingDir': [plain, around],
  ports: [plain, around],
  envFrom: [env, around],
  env: [env, around],
  resources: [resources, real('resources')],
  resizePolicy: [runtime('plan/compute-resize'), real('resources')],
  restartPolicy: [runtime('plan/compute-pod-actions'), real('lifecycle-containers')],
  restartPolicyRules: [runtime('plan/compute-pod-actions'), real('lifecycle-restarts')],
  volumeMounts: [runtime('config/mounts-config'), real('volume-paths')],
  volumeDevices: [runtime('config/mounts-config'), real('volume-claims')],
  'livenessProbe readinessProbe startupProbe': [probes, real('lifecycle-probes-hooks')],
  lifecycle: [hooks, real('lifecycle-probes-hooks')],
  terminationMessagePath: [plain, fields],
  terminationMessagePolicy: [feature('container-logs/termination-message'), around],
  imagePullPolicy: [feature('images/image-manager'), real('images')],
  securityContext: [security, real('security')],
  'stdin stdinOnce tty': [plain, fields],
};

export const podFieldTests: Readonly<Record<string, TypeTests>> = lookupTable<TypeTests>({
  PodSpec: {
    volumes: [volume('volume-manager'), kinds],
    initContainers: [runtime('plan/compute-pod-actions'), real('lifecycle-containers')],
    containers: [runtime('sync-pod'), real('lifecycle-containers')],
    ephemeralContainers: [runtime('sync-running-pod'), real('ephemeral')],
    restartPolicy: [runtime('plan/compute-pod-actions'), real('lifecycle-containers')],
    terminationGracePeriodSeconds: [runtime('execute/kill-pod'), real('lifecycle-containers')],
    activeDeadlineSeconds: ['src/kubelet/loop/status-updater.test.ts', real('lifecycle-containers')],
    'dnsPolicy dnsConfig': [dns, around],
    nodeSelector: [chain, real('admission')],
    nodeName: [env, real('identity')],
    'hostNetwork hostPID hostIPC shareProcessNamespace': [security, real('security')],
    securityContext: [security, real('security')],
    imagePullSecrets: [feature('images/image-manager'), real('images')],
    'hostname subdomain setHostnameAsFQDN': [container, real('identity')],
    hostnameOverride: [runtime('config/pod-identity'), real('identity')],
    hostAliases: [container, around],
    affinity: [chain, real('admission')],
    tolerations: [chain],
    priorityClassName: [chain, real('admission')],
    priority: [chain],
    readinessGates: [feature('status/pod-status-conditions'), fields],
    runtimeClassName: [runtime('config/pod-identity'), real('identity')],
    enableServiceLinks: [runtime('config/service-env'), real('identity')],
    overhead: [feature('container-manager/container-manager'), real('identity')],
    os: [chain, real('security')],
    hostUsers: [runtime('config/own-users'), wire, real('user-namespaces')],
    resources: [feature('container-manager/qos-tree'), real('resources')],
    serviceAccountName: [volume('objects/projected-tokens')],
    'serviceAccount automountServiceAccountToken': ['src/control-plane/admission/pod-defaults.test.ts'],
    'schedulerName preemptionPolicy topologySpreadConstraints': withoutEffect,
    'schedulingGates schedulingGroup': [plain],
    resourceClaims: [feature('dra/dra-manager')],
  },
  Volume: {
    name: [volume('volume-manager'), kinds],
    hostPath: [volume('kinds/plugins'), kinds],
    emptyDir: [volume('kinds/plugins'), real('lifecycle-containers')],
    'configMap secret projected': [volume('kinds/plugins'), kinds],
    downwardAPI: [objectFields, fields],
    image: [runtime('config/image-volumes'), real('image-volumes')],
    'persistentVolumeClaim ephemeral': [volume('claims'), real('volume-claims')],
    csi: [feature('csi/csi-mount'), real('csi')],
    nfs: [volume('kinds/nfs'), kinds],
    'iscsi fc': [volume('disks/network-disks')],
    flexVolume: [volume('kinds/flex-volume'), volume('kinds/flex-staging'), real('configuration')],
    gitRepo: [volume('refused-kinds'), kinds],
    awsElasticBlockStore: [migration, kinds],
    'gcePersistentDisk cinder azureFile vsphereVolume azureDisk portworxVolume': [migration],
    'glusterfs rbd cephfs flocker quobyte photonPersistentDisk scaleIO storageos': refusedKind,
  },
  HostPathVolumeSource: { '*': [volume('kinds/plugins'), kinds] },
  EmptyDirVolumeSource: {
    '*': [volume('kinds/plugins'), kinds],
    sizeLimit: [volume('kinds/plugins'), kinds, real('eviction-disk')],
  },
  SecretVolumeSource: { secretName: [volume('kinds/plugins'), kinds], ...objectVolume },
  ConfigMapVolumeSource: { name: [volume('kinds/plugins'), kinds], ...objectVolume },
  KeyToPath: { '*': [volume('kinds/plugins'), kinds] },
  DownwardAPIVolumeSource: { '*': [objectFields, fields] },
  DownwardAPIVolumeFile: { '*': [objectFields, fields] },
  ProjectedVolumeSource: { sources: [volume('kinds/plugins'), kinds], defaultMode: [objectFields, fields] },
  VolumeProjection: {
    'secret downwardAPI configMap': [volume('kinds/plugins'), kinds],
    serviceAccountToken: [volume('objects/projected-tokens'), fields],
    'clusterTrustBundle podCertificate': [volume('objects/projected-certificates'), real('pod-certificates')],
  },
  SecretProjection: {
    name: [volume('kinds/plugins'), kinds],
    items: [volume('kinds/plugins'), fields],
    optional: [objectFields, fields],
  },
  DownwardAPIProjection: { '*': [volume('kinds/plugins'), kinds] },
  ConfigMapProjection: {
    name: [volume('kinds/plugins'), kinds],
    items: [objectFields, fields],
    optional: [objectFields, fields],
  },
  CSIVolumeSource: {
    'driver nodePublishSecretRef volumeAttributes': [feature('csi/csi-mount'), real('csi')],
    'fsType readOnly': [feature('csi/csi-mount')],
  },
  LocalObjectReference: { name: [feature('images/image-manager'), real('images')] },
  Container: containerTests,
  EphemeralContainer: {
    ...containerTests,
    name: [runtime('sync-running-pod'), real('ephemeral')],
    // Upstream allows none of these on an ephemeral container.
    'ports livenessProbe readinessProbe startupProbe lifecycle resources resizePolicy restartPolicy restartPolicyRules':
      [validation],
    targetContainerName: [runtime('sync-running-pod'), real('ephemeral')],
  },
  ContainerPort: {
    name: ['src/kubelet/model/http-action.test.ts', real('lifecycle-probes-hooks')],
    'containerPort hostPort': [container, around],
    protocol: [plain, fields],
    hostIP: [plain, fields],
  },
  EnvFromSource: { 'prefix configMapRef': [env, around], secretRef: [env, real('identity')] },
  ConfigMapEnvSource: { name: [env, around], optional: [env, fields] },
  SecretEnvSource: { name: [env, real('identity')], optional: [env, fields] },
  EnvVar: { '*': [env, around] },
  EnvVarSource: { fileKeyRef: [env, real('identity')], '*': [env, around] },
  ObjectFieldSelector: { fieldPath: [env, around], apiVersion: [validation] },
  ResourceFieldSelector: {
    containerName: ['src/api/downward-fields.test.ts', fields],
    'resource divisor': ['src/api/downward-fields.test.ts', around],
  },
  ConfigMapKeySelector: { '*': [env, around] },
  SecretKeySelector: { 'name key': [env, around], optional: [env, fields] },
  FileKeySelector: { '*': [env, real('identity')] },
  ResourceRequirements: { 'limits requests': [resources, around], claims: [feature('dra/dra-manager')] },
  ResourceClaim: { '*': [feature('dra/dra-manager')] },
  PodResourceClaim: { '*': [feature('dra/dra-manager')] },
  ContainerRestartRule: { '*': [runtime('plan/compute-pod-actions'), real('lifecycle-restarts')] },
  ContainerRestartRuleOnExitCodes: { '*': [runtime('plan/compute-pod-actions'), real('lifecycle-restarts')] },
  VolumeMount: {
    'mountPropagation recursiveReadOnly': [runtime('config/mounts-config'), real('volume-mounts')],
    '*': [runtime('config/mounts-config'), real('volume-paths')],
  },
  Probe: {
    'httpGet tcpSocket periodSeconds failureThreshold initialDelaySeconds timeoutSeconds': [
      probes,
      real('lifecycle-probes-hooks'),
    ],
    exec: [probeHandlers, real('lifecycle-probes-hooks')],
    grpc: [probeHandlers, fields],
    successThreshold: [feature('probes/probe-state'), fields],
    terminationGracePeriodSeconds: [runtime('execute/kill-pod'), real('lifecycle-restarts')],
  },
  ExecAction: { '*': [probeHandlers, real('lifecycle-probes-hooks')] },
  HTTPGetAction: {
    'path port httpHeaders': [probeHandlers, real('lifecycle-probes-hooks')],
    'host scheme': [probeHandlers, fields],
  },
  HTTPHeader: { '*': [probeHandlers, real('lifecycle-probes-hooks')] },
  TCPSocketAction: {
    port: [probeHandlers, real('lifecycle-probes-hooks')],
    host: [feature('probes/run-probe'), fields],
  },
  GRPCAction: { '*': [probeHandlers, fields] },
  Lifecycle: {
    'postStart preStop': [hooks, real('lifecycle-probes-hooks')],
    stopSignal: [container, 'src/kubelet/adapters/cri/cri-mapping.test.ts'],
  },
  LifecycleHandler: { 'exec httpGet sleep': [hooks, real('lifecycle-probes-hooks')], tcpSocket: [hooks, fields] },
  SleepAction: { '*': [hooks, real('lifecycle-probes-hooks')] },
  SecurityContext: {
    '*': [security, real('security')],
    readOnlyRootFilesystem: [runtime('config/security.property'), real('security')],
    seLinuxOptions: [security, wire],
    procMount: [security, real('user-namespaces')],
    windowsOptions: withoutEffect,
  },
  Capabilities: { '*': [security, real('security')] },
  SELinuxOptions: { '*': [security] },
  SeccompProfile: { '*': [security, real('security')] },
  AppArmorProfile: { '*': [security, real('security')] },
  PodSecurityContext: {
    '*': [security, real('security')],
    seLinuxOptions: [security, wire],
    fsGroup: [volume('volume-ownership'), real('volume-paths')],
    fsGroupChangePolicy: [volume('volume-ownership'), fields],
    sysctls: [container, real('security')],
    seLinuxChangePolicy: [plain],
    windowsOptions: withoutEffect,
  },
  Sysctl: { '*': [container, real('security')] },
  Affinity: { nodeAffinity: [chain, real('admission')], 'podAffinity podAntiAffinity': withoutEffect },
  HostAlias: { '*': [container, around] },
  PodDNSConfig: { '*': [dns, around] },
  PodDNSConfigOption: { '*': [dns, around] },
  PodReadinessGate: { '*': [feature('status/pod-status-conditions'), fields] },
  PodOS: { '*': [chain, real('security')] },
});

/**
 * Fields whose only effect is that a pod is rejected with upstream's message. A validation test shows them, but no
 * other fields.
 */
export const shownByRefusal: readonly string[] = [
  ...[
    'ports',
    'livenessProbe',
    'readinessProbe',
    'startupProbe',
    'lifecycle',
    'resources',
    'resizePolicy',
    'restartPolicy',
    'restartPolicyRules',
  ].map((name) => `EphemeralContainer.${name}`),
  'ObjectFieldSelector.apiVersion',
];

/**
 * Returns the tests of one field: those of the last key that contains it, so that entries of another type can be
 * replaced. The result is empty if no key contains it.
 */
export function testsOfField(type: string, field: string): readonly string[] {
  const tests = podFieldTests[type] ?? {};
  const key = Object.keys(tests).findLast((names) => names.split(' ').includes(field));
  return tests[key ?? '*'] ?? [];
}
