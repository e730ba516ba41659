/**
 * How the agent treats each field of a pod's spec: one row per field of each type, and a test fails for a field without
 * a row. docs/parity.md is generated from this table. A change that implements
 * a field changes its row.
 */
import { lookupTable } from '../../../base/lookup.ts';
import { honoured, partly } from './parity-state.ts';
import type { Parity } from './parity-state.ts';

export interface PodFieldRow extends Parity {
  /** Whether the row also applies to everything below the field. */
  readonly whole?: boolean;
}

export type TypeRows = Readonly<Record<string, PodFieldRow>>;

const yes = (names: string, note = ''): TypeRows =>
  Object.fromEntries(names.split(' ').map((name) => [name, honoured(note)]));
const whole = (parity: Parity): PodFieldRow => ({ ...parity, whole: true });
const wholeAll = (names: string, parity: Parity): TypeRows =>
  Object.fromEntries(names.split(' ').map((name) => [name, whole(parity)]));

const scheduler = honoured('used by the scheduler, not by a kubelet');
const windows = honoured('Windows only; no effect on Linux');

const containerRows: TypeRows = {
  ...yes(
    'name image command args workingDir ports envFrom env resources restartPolicy volumeMounts livenessProbe readinessProbe startupProbe lifecycle',
  ),
  restartPolicyRules: honoured(
    'repeated RestartAllContainers is delayed by the crash back-off; upstream has no back-off there',
  ),
  ...yes('terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty'),
  resizePolicy: whole(
    honoured(
      'a manifest changes a running pod only if it sets metadata.uid; without it, changed content is another pod, as in upstream',
    ),
  ),
  volumeDevices: whole(
    honoured(
      'of PersistentVolumes of mode Block; upstream also holds the device with a loop device, this agent does not',
    ),
  ),
};

/** The rows by type name, in the order of their first use from PodSpec. */
export const podFieldRows: Readonly<Record<string, TypeRows>> = lookupTable<TypeRows>({
  PodSpec: {
    ...yes(
      'volumes initContainers containers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy dnsConfig nodeName hostNetwork hostPID hostIPC',
    ),
    ...yes('shareProcessNamespace securityContext imagePullSecrets hostname subdomain hostAliases readinessGates os'),
    ephemeralContainers: honoured('static pods may not have them, as in upstream'),
    nodeSelector: honoured(),
    serviceAccountName: honoured(
      'without an API server no tokens are issued; static pods may not set it, as in upstream',
    ),
    serviceAccount: honoured('the older name of serviceAccountName'),
    automountServiceAccountToken: honoured('used by admission in the API server, not by a kubelet'),
    affinity: honoured(),
    schedulerName: scheduler,
    tolerations: whole(honoured('static pods are exempt from NoExecute taints, as in upstream')),
    priorityClassName: honoured(
      'resolved to a priority by the API server; without one, the agent knows the two built-in classes',
    ),
    priority: honoured(
      'pods are preempted for a critical pod only when resources are its one obstacle; without an API server, where every pod is static, a pod for which preemption finds no victims fails with OutOfcpu and the like rather than UnexpectedAdmissionError',
    ),
    runtimeClassName: honoured(
      'without an API server, the agent adds the overhead, node selector and tolerations of the runtime class to the pod',
    ),
    enableServiceLinks: honoured('services come from the manifest folder'),
    preemptionPolicy: scheduler,
    overhead: honoured(),
    topologySpreadConstraints: whole(scheduler),
    setHostnameAsFQDN: honoured(),
    hostUsers: honoured(
      'needs a runtime handler that maps users; a damaged record of ids is rebuilt from the running pods, where upstream does not start',
    ),
    schedulingGates: whole(scheduler),
    resourceClaims: honoured(
      'a driver must be registered before a pod whose claims it prepared can be stopped completely, as in upstream',
    ),
    resources: honoured(
      'status.resources comes from the records of applied changes; upstream reads it from the cgroup, rounded',
    ),
    hostnameOverride: honoured(),
    schedulingGroup: whole(scheduler),
  },
  Volume: {
    ...yes('name hostPath emptyDir configMap secret downwardAPI projected'),
    image: whole(
      honoured(
        'the runtime mounts it: containerd since 2.1, and a `subPath` of it since 2.2; with older versions the container waits with a CreateContainerConfigError that says so',
      ),
    ),
    persistentVolumeClaim: whole(
      honoured(
        'without an API server claim and PersistentVolume are manifests next to the pod, bound by volumeName or claimRef; a ReadWriteOncePod volume is used by one pod even without a scheduler',
      ),
    ),
    ephemeral: whole(
      honoured(
        'without an API server the claim is not created from the template: it is a manifest next to the pod, named <pod>-<volume>, with the pod as owner',
      ),
    ),
    csi: honoured(
      'without an API server nothing is attached and no service account tokens are issued; the SELinux label is not passed on as a mount option',
    ),
    gitRepo: whole(honoured('rejected at mount time, as in upstream with the gate GitRepoVolumeDriver off')),
    nfs: whole(
      honoured(
        'with mount.nfs of the node, tested with a substitute for it, not with a server; volumes of an unreachable server are unmounted by force when the pod ends',
      ),
    ),
    iscsi: whole(
      honoured(
        'with iscsiadm of the node; tested with a substitute for it, not with a target; CHAP secrets are arguments of iscsiadm, as in upstream',
      ),
    ),
    fc: whole(honoured('tested with a substitute for sysfs, not with a network')),
    flexVolume: whole(
      honoured(
        'the agent makes all calls of drivers that attach, as with enableControllerAttachDetach: false; what another program attached is not attached or detached; folders are called kubernetes.io~flexvolume',
      ),
    ),
    ...wholeAll(
      'gcePersistentDisk awsElasticBlockStore cinder azureFile vsphereVolume azureDisk portworxVolume',
      honoured('handed to its CSI driver, as in upstream; no such driver is tested, only the translation'),
    ),
    ...wholeAll(
      'glusterfs rbd cephfs flocker quobyte photonPersistentDisk scaleIO storageos',
      honoured('removed in upstream: no volume plugin matched'),
    ),
  },
  HostPathVolumeSource: yes('path type'),
  EmptyDirVolumeSource: {
    medium: honoured(
      'memory-backed volumes are kept out of swap where the kernel supports it (since 6.4); where it does not and swap is on, an event says so',
    ),
    sizeLimit: honoured('limits Memory and, unlike upstream, HugePages; on disk a pod above it is evicted'),
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
        'renewed at 80 % of its lifetime, stored on disk so that pods can start while the API server is unavailable; static pods may not use it, as in upstream',
      ),
    ),
    clusterTrustBundle: whole(
      honoured('with the gate ClusterTrustBundleProjection; static pods may not use it, as in upstream'),
    ),
    podCertificate: whole(
      honoured(
        'with the gate PodCertificateRequest; a deleted request is made again at once; static pods may not use it, as in upstream',
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
      'rejected for ephemeral containers, as in upstream',
    ),
    resizePolicy: whole(honoured('rejected for ephemeral containers, as in upstream')),
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
    fileKeyRef: honoured('a file of at most 1 MiB; symlinks cannot lead out of the volume'),
  },
  ObjectFieldSelector: yes('apiVersion fieldPath'),
  ResourceFieldSelector: yes('containerName resource divisor'),
  ConfigMapKeySelector: yes('name key optional'),
  SecretKeySelector: yes('name key optional'),
  ResourceRequirements: {
    limits: honoured('of extended resources, those of device plugins'),
    requests: honoured(),
    claims: honoured('their devices reach the runtime as CDI devices, which containerd supports since 1.7'),
  },
  ResourceClaim: yes('name request'),
  PodResourceClaim: yes('name resourceClaimName resourceClaimTemplateName'),
  ContainerRestartRule: yes('action exitCodes'),
  ContainerRestartRuleOnExitCodes: yes('operator values'),
  VolumeMount: {
    ...yes('name readOnly mountPath subPath mountPropagation subPathExpr'),
    recursiveReadOnly: honoured('the status shows Enabled once the container exists; upstream shows it earlier'),
  },
  Probe: {
    grpc: honoured('a refused connection fails at once, where upstream retries until the timeout'),
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
      'needs the feature gate ContainerStopSignals, off as in upstream; without it, and with a runtime that does not support it, the stop signal of the image is used',
    ),
  },
  LifecycleHandler: {
    ...yes('exec httpGet sleep'),
    tcpSocket: whole(honoured('fails when it runs, as in upstream: there is no such hook')),
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
    drop: honoured('a name that begins with CAP_ is dropped too; upstream does not drop such a capability'),
  },
  SELinuxOptions: yes('user role type level'),
  SeccompProfile: yes('type localhostProfile'),
  AppArmorProfile: yes('type localhostProfile'),
  PodSecurityContext: {
    ...yes(
      'seLinuxOptions runAsUser runAsNonRoot supplementalGroups supplementalGroupsPolicy fsGroup sysctls fsGroupChangePolicy seccompProfile appArmorProfile',
    ),
    runAsGroup: honoured('also works without runAsUser; upstream requests a sandbox that containerd rejects'),
    seLinuxChangePolicy: partly(
      'treated as Recursive: the runtime labels volumes; mounting with a label is not implemented yet',
    ),
    windowsOptions: whole(windows),
  },
  Sysctl: yes('name value'),
  Affinity: {
    nodeAffinity: whole(honoured('preferred terms are used by the scheduler only')),
    podAffinity: whole(scheduler),
    podAntiAffinity: whole(scheduler),
  },
  LocalObjectReference: yes('name'),
  HostAlias: yes('ip hostnames'),
  PodDNSConfig: yes('nameservers searches options'),
  PodDNSConfigOption: yes('name value'),
  PodReadinessGate: yes('conditionType'),
  PodOS: yes('name'),
});
