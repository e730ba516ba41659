/**
 * What the agent does with each field of a pod's spec: one row per field of each type, and a test fails for a field without a row.
 * From this table come docs/parity.md and the findings of `unsupportedFields`. Whoever makes a field work changes its row.
 */
import { honoured, notYet, partly } from './parity-state.ts';
import type { Parity } from './parity-state.ts';

export interface PodFieldRow extends Parity {
  /** What a pod that uses the field gets to hear: `reject` where running it would break it or weaken its isolation. */
  readonly severity?: 'reject' | 'warn';
  /** Which values ask for what is missing. Without it every value does that is not empty, zero or false. */
  readonly when?: (value: unknown) => boolean;
  /** The row speaks for everything below the field as well. */
  readonly whole?: boolean;
}

export type TypeRows = Readonly<Record<string, PodFieldRow>>;

const yes = (names: string, note = ''): TypeRows =>
  Object.fromEntries(names.split(' ').map((name) => [name, honoured(note)]));
const whole = (parity: Parity): PodFieldRow => ({ ...parity, whole: true });
const rejected = (note: string, when?: PodFieldRow['when']): PodFieldRow => ({
  ...notYet(note),
  whole: true,
  severity: 'reject',
  ...(when === undefined ? {} : { when }),
});

const wholeAll = (names: string, parity: Parity): TypeRows =>
  Object.fromEntries(names.split(' ').map((name) => [name, whole(parity)]));

const scheduler = honoured('read by the scheduler, not by a kubelet');
const windows = honoured('Windows only; no effect on Linux');

const containerRows: TypeRows = {
  ...yes(
    'name image command args workingDir ports envFrom env resources restartPolicy volumeMounts livenessProbe readinessProbe startupProbe lifecycle',
  ),
  restartPolicyRules: honoured(
    'RestartAllContainers that comes again and again waits as a crashing container does; upstream has no back-off there',
  ),
  ...yes('terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty'),
  resizePolicy: whole(
    honoured(
      'a manifest changes a running pod only if it names metadata.uid; without, changed content is another pod, as upstream has it',
    ),
  ),
  volumeDevices: whole(
    honoured(
      'of PersistentVolumes of mode Block; upstream also holds the device by a loop device, this agent does not',
    ),
  ),
};

/** By type name, in the order they are met from PodSpec. */
export const podFieldRows: Readonly<Record<string, TypeRows>> = {
  PodSpec: {
    ...yes(
      'volumes initContainers containers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy dnsConfig nodeName hostNetwork hostPID hostIPC',
    ),
    ...yes('shareProcessNamespace securityContext imagePullSecrets hostname subdomain hostAliases readinessGates os'),
    ephemeralContainers: honoured('static pods may not have them, as in upstream'),
    nodeSelector: honoured(),
    serviceAccountName: honoured(
      'without an API server no tokens are given out; static pods may not name one, as in upstream',
    ),
    serviceAccount: honoured('the older name of serviceAccountName'),
    automountServiceAccountToken: honoured('read by admission of the API server, not by a kubelet'),
    affinity: honoured(),
    schedulerName: scheduler,
    tolerations: whole(honoured('static pods are spared NoExecute taints, as upstream does')),
    priorityClassName: honoured(
      'resolved to a priority by the API server; without one, the agent knows the two built-in classes',
    ),
    priority: honoured(
      'nobody is stopped for a critical pod that something else keeps out; without an API server, where every pod is static, a pod that nobody makes room for fails with OutOfcpu and its kin rather than UnexpectedAdmissionError',
    ),
    runtimeClassName: honoured(
      'without an API server, the agent itself gives the pod the overhead, node selector and tolerations of its class',
    ),
    enableServiceLinks: honoured('services come from the manifest folder'),
    preemptionPolicy: scheduler,
    overhead: honoured(),
    topologySpreadConstraints: whole(scheduler),
    setHostnameAsFQDN: honoured(),
    hostUsers: honoured(
      'needs a runtime handler that maps users; a record of ids that is damaged is made anew from what runs, where upstream does not start',
    ),
    schedulingGates: whole(scheduler),
    resourceClaims: rejected('dynamic resources are not there yet'),
    resources: honoured(
      'status.resources is told from the records of what was done; upstream reads it back from the cgroup, rounded',
    ),
    hostnameOverride: honoured(),
    schedulingGroup: whole(scheduler),
  },
  Volume: {
    ...yes('name hostPath emptyDir configMap secret downwardAPI projected'),
    image: whole(
      honoured(
        'the runtime mounts it: containerd since 2.1, and a `subPath` of it since 2.2; before, the container waits with CreateContainerConfigError that says so',
      ),
    ),
    persistentVolumeClaim: whole(
      honoured(
        'without an API server claim and PersistentVolume stand beside the pod, bound by volumeName or claimRef; one ReadWriteOncePod volume has one pod also without a scheduler',
      ),
    ),
    ephemeral: whole(
      honoured(
        'without an API server nobody makes the claim from the template: it stands beside the pod, under the name <pod>-<volume>, with the pod as owner',
      ),
    ),
    csi: honoured(
      'without an API server nothing is attached, and nobody gives out service account tokens; the SELinux label is not passed on as a mount option',
    ),
    gitRepo: whole(
      honoured('refused when it is to be mounted, as upstream does with its gate GitRepoVolumeDriver off'),
    ),
    nfs: whole(
      honoured(
        'by mount.nfs of the node, tested with a stand-in of it, not with a server; a server that is gone is left by force when the pod ends',
      ),
    ),
    iscsi: whole(
      honoured(
        'by iscsiadm of the node; tested with a stand-in of it, not with a target; CHAP secrets are arguments of iscsiadm, as in upstream',
      ),
    ),
    fc: whole(honoured('tested with a stand-in of sysfs, not with a network')),
    flexVolume: whole(
      partly('drivers that answer init with "attach": false; their folders are called kubernetes.io~flexvolume'),
    ),
    ...wholeAll(
      'gcePersistentDisk awsElasticBlockStore cinder azureFile vsphereVolume azureDisk portworxVolume',
      honoured('moved to CSI: the event FailedMount names the driver; upstream hands it to that driver unasked'),
    ),
    ...wholeAll(
      'glusterfs rbd cephfs flocker quobyte photonPersistentDisk scaleIO storageos',
      honoured('removed in upstream: no volume plugin matched'),
    ),
  },
  HostPathVolumeSource: yes('path type'),
  EmptyDirVolumeSource: {
    medium: honoured(
      'memory-backed volumes stay out of swap where the kernel can (since 6.4); where it cannot and swap is on, an event says so',
    ),
    sizeLimit: partly(
      'limits Memory and, unlike upstream, HugePages; on disk it is not enforced before there is eviction',
    ),
  },
  SecretVolumeSource: yes('secretName items defaultMode optional'),
  ConfigMapVolumeSource: yes('name items defaultMode optional'),
  KeyToPath: yes('key path mode'),
  DownwardAPIVolumeSource: yes('items defaultMode'),
  DownwardAPIVolumeFile: yes('path fieldRef resourceFieldRef mode'),
  ProjectedVolumeSource: yes('sources defaultMode'),
  VolumeProjection: {
    ...yes('secret downwardAPI configMap'),
    serviceAccountToken: whole(
      honoured(
        'renewed at 80 % of its life, on disk for a start while the API server is away; static pods may not have one, as in upstream',
      ),
    ),
    clusterTrustBundle: whole(
      honoured(
        'static pods may not have one, as in upstream; in any other refused when it is to be mounted, as upstream does with its gate ClusterTrustBundleProjection off',
      ),
    ),
    podCertificate: whole(
      honoured(
        'static pods may not have one, as in upstream; in any other refused when it is to be mounted, as upstream does with its gate PodCertificateRequest off',
      ),
    ),
  },
  SecretProjection: yes('name items optional'),
  DownwardAPIProjection: yes('items'),
  ConfigMapProjection: yes('name items optional'),
  Container: containerRows,
  EphemeralContainer: {
    ...containerRows,
    ...yes(
      'ports resources restartPolicy restartPolicyRules livenessProbe readinessProbe startupProbe lifecycle',
      'refused on a container that is added to a running pod, as upstream',
    ),
    resizePolicy: whole(honoured('refused on a container that is added to a running pod, as upstream')),
    targetContainerName: honoured(),
  },
  ContainerPort: { ...yes('name containerPort protocol hostIP'), hostPort: honoured() },
  EnvFromSource: yes('prefix configMapRef secretRef'),
  ConfigMapEnvSource: yes('name optional'),
  SecretEnvSource: yes('name optional'),
  EnvVar: yes('name value valueFrom'),
  FileKeySelector: yes('volumeName path key optional'),
  CSIVolumeSource: yes('driver fsType nodePublishSecretRef readOnly volumeAttributes'),
  EnvVarSource: {
    ...yes('fieldRef resourceFieldRef configMapKeyRef secretKeyRef'),
    fileKeyRef: honoured('a file of at most 1 MiB; links in it lead nowhere out of the volume'),
  },
  ObjectFieldSelector: yes('apiVersion fieldPath'),
  ResourceFieldSelector: yes('containerName resource divisor'),
  ConfigMapKeySelector: yes('name key optional'),
  SecretKeySelector: yes('name key optional'),
  ResourceRequirements: {
    limits: partly('cpu, memory and hugepages; ephemeral-storage is not measured, device plugins are not there yet'),
    requests: partly('cpu and memory; ephemeral-storage is not measured, device plugins are not there yet'),
    claims: rejected('dynamic resources are not there yet'),
  },
  ContainerRestartRule: yes('action exitCodes'),
  ContainerRestartRuleOnExitCodes: yes('operator values'),
  VolumeMount: {
    ...yes('name readOnly mountPath subPath mountPropagation subPathExpr'),
    recursiveReadOnly: honoured('the status says Enabled once the container is there; upstream says it before'),
  },
  Probe: {
    grpc: honoured('a refused connection fails at once, where upstream goes on trying to the end of the timeout'),
    ...yes(
      'exec httpGet tcpSocket initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold terminationGracePeriodSeconds',
    ),
  },
  ExecAction: yes('command'),
  HTTPGetAction: yes('path port host scheme httpHeaders'),
  HTTPHeader: yes('name value'),
  TCPSocketAction: yes('port host'),
  GRPCAction: yes('port service'),
  Lifecycle: {
    ...yes('postStart preStop'),
    stopSignal: honoured(
      'needs the feature gate ContainerStopSignals, off as in upstream; without it, and with a runtime that does not know it, the signal of the image is used',
    ),
  },
  LifecycleHandler: {
    ...yes('exec httpGet sleep'),
    tcpSocket: whole(honoured('fails when its time comes, as in upstream: there is no such hook')),
  },
  SleepAction: yes('seconds'),
  SecurityContext: {
    ...yes(
      'capabilities privileged seLinuxOptions runAsUser runAsGroup runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile appArmorProfile',
    ),
    windowsOptions: whole(windows),
  },
  Capabilities: {
    ...yes('add'),
    drop: honoured('a name that begins with CAP_ is dropped too; upstream leaves that capability in place'),
  },
  SELinuxOptions: yes('user role type level'),
  SeccompProfile: yes('type localhostProfile'),
  AppArmorProfile: yes('type localhostProfile'),
  PodSecurityContext: {
    ...yes(
      'seLinuxOptions runAsUser runAsNonRoot supplementalGroups supplementalGroupsPolicy fsGroup sysctls fsGroupChangePolicy seccompProfile appArmorProfile',
    ),
    runAsGroup: honoured('works without runAsUser, too; upstream asks containerd for a sandbox that it refuses'),
    seLinuxChangePolicy: partly('as Recursive: the runtime labels volumes; mounting with a label is not there yet'),
    windowsOptions: whole(windows),
  },
  Sysctl: yes('name value'),
  Affinity: {
    nodeAffinity: whole(honoured('what is preferred is for the scheduler')),
    podAffinity: whole(scheduler),
    podAntiAffinity: whole(scheduler),
  },
  LocalObjectReference: yes('name'),
  HostAlias: yes('ip hostnames'),
  PodDNSConfig: yes('nameservers searches options'),
  PodDNSConfigOption: yes('name value'),
  PodReadinessGate: yes('conditionType'),
  PodOS: yes('name'),
};
