/**
 * Containers of every kind: regular, init and ephemeral share all but one field. The fields follow k8s.io/api/core/v1.
 */
import {
  array,
  atomic,
  boolean,
  field,
  filled,
  inline,
  int32,
  knownValues,
  object,
  oneOf,
  pointer,
  quantity,
  required,
  set,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LifecycleSchema, ProbeSchema } from './probe.ts';
import { ResourceRequirementsSchema } from './resource-requirements.ts';
import { SecurityContextSchema } from './security-context.ts';

export const ProtocolSchema = oneOf('TCP', 'UDP', 'SCTP');
export type Protocol = Infer<typeof ProtocolSchema>;

export const ContainerPortSchema = object('ContainerPort', {
  name: field(1, string),
  hostPort: field(2, int32),
  containerPort: required(3, int32),
  protocol: field(4, ProtocolSchema),
  hostIP: field(5, string),
});
export type ContainerPort = Infer<typeof ContainerPortSchema>;

export const ObjectFieldSelectorSchema = atomic(
  object('ObjectFieldSelector', { apiVersion: field(1, string), fieldPath: required(2, string) }),
);
export type ObjectFieldSelector = Infer<typeof ObjectFieldSelectorSchema>;

export const ResourceFieldSelectorSchema = atomic(
  object('ResourceFieldSelector', {
    containerName: field(1, string),
    resource: required(2, string),
    divisor: field(3, quantity),
  }),
);
export type ResourceFieldSelector = Infer<typeof ResourceFieldSelectorSchema>;

export const ConfigMapKeySelectorSchema = atomic(
  object('ConfigMapKeySelector', {
    ...inline(1, { name: filled(1, string) }),
    key: required(2, string),
    optional: pointer(3, boolean),
  }),
);
export type ConfigMapKeySelector = Infer<typeof ConfigMapKeySelectorSchema>;

export const SecretKeySelectorSchema = atomic(
  object('SecretKeySelector', {
    ...inline(1, { name: filled(1, string) }),
    key: required(2, string),
    optional: pointer(3, boolean),
  }),
);
export type SecretKeySelector = Infer<typeof SecretKeySelectorSchema>;

export const FileKeySelectorSchema = atomic(
  object('FileKeySelector', {
    volumeName: required(1, string),
    path: required(2, string),
    key: required(3, string),
    optional: pointer(4, boolean),
  }),
);
export type FileKeySelector = Infer<typeof FileKeySelectorSchema>;

export const EnvVarSourceSchema = object('EnvVarSource', {
  fieldRef: field(1, ObjectFieldSelectorSchema),
  resourceFieldRef: field(2, ResourceFieldSelectorSchema),
  configMapKeyRef: field(3, ConfigMapKeySelectorSchema),
  secretKeyRef: field(4, SecretKeySelectorSchema),
  fileKeyRef: field(5, FileKeySelectorSchema),
});
export type EnvVarSource = Infer<typeof EnvVarSourceSchema>;

export const EnvVarSchema = object('EnvVar', {
  name: required(1, string),
  value: field(2, string),
  valueFrom: field(3, EnvVarSourceSchema),
});
export type EnvVar = Infer<typeof EnvVarSchema>;

export const ConfigMapEnvSourceSchema = object('ConfigMapEnvSource', {
  ...inline(1, { name: filled(1, string) }),
  optional: pointer(2, boolean),
});
export type ConfigMapEnvSource = Infer<typeof ConfigMapEnvSourceSchema>;

export const SecretEnvSourceSchema = object('SecretEnvSource', {
  ...inline(1, { name: filled(1, string) }),
  optional: pointer(2, boolean),
});
export type SecretEnvSource = Infer<typeof SecretEnvSourceSchema>;

export const EnvFromSourceSchema = object('EnvFromSource', {
  prefix: field(1, string),
  configMapRef: field(2, ConfigMapEnvSourceSchema),
  secretRef: field(3, SecretEnvSourceSchema),
});
export type EnvFromSource = Infer<typeof EnvFromSourceSchema>;

export const RecursiveReadOnlyModeSchema = knownValues('Disabled', 'IfPossible', 'Enabled');
export type RecursiveReadOnlyMode = Infer<typeof RecursiveReadOnlyModeSchema>;

const MountPropagationModeSchema = oneOf('None', 'HostToContainer', 'Bidirectional');
export type MountPropagationMode = Infer<typeof MountPropagationModeSchema>;

export const VolumeMountSchema = object('VolumeMount', {
  name: required(1, string),
  readOnly: field(2, boolean),
  recursiveReadOnly: pointer(7, RecursiveReadOnlyModeSchema),
  mountPath: required(3, string),
  subPath: field(4, string),
  mountPropagation: pointer(5, MountPropagationModeSchema),
  subPathExpr: field(6, string),
});
export type VolumeMount = Infer<typeof VolumeMountSchema>;

export const VolumeDeviceSchema = object('VolumeDevice', {
  name: required(1, string),
  devicePath: required(2, string),
});
export type VolumeDevice = Infer<typeof VolumeDeviceSchema>;

const ResourceResizeRestartPolicySchema = knownValues('NotRequired', 'RestartContainer');
export type ResourceResizeRestartPolicy = Infer<typeof ResourceResizeRestartPolicySchema>;

export const ContainerResizePolicySchema = object('ContainerResizePolicy', {
  resourceName: required(1, string),
  restartPolicy: required(2, ResourceResizeRestartPolicySchema),
});
export type ContainerResizePolicy = Infer<typeof ContainerResizePolicySchema>;

const ContainerRestartRuleOnExitCodesOperatorSchema = knownValues('In', 'NotIn');
export type ContainerRestartRuleOnExitCodesOperator = Infer<typeof ContainerRestartRuleOnExitCodesOperatorSchema>;

export const ContainerRestartRuleOnExitCodesSchema = object('ContainerRestartRuleOnExitCodes', {
  operator: field(1, ContainerRestartRuleOnExitCodesOperatorSchema, { mustBeWritten: true }),
  values: field(2, set(int32)),
});
export type ContainerRestartRuleOnExitCodes = Infer<typeof ContainerRestartRuleOnExitCodesSchema>;

const ContainerRestartRuleActionSchema = knownValues('Restart', 'RestartAllContainers');
export type ContainerRestartRuleAction = Infer<typeof ContainerRestartRuleActionSchema>;

export const ContainerRestartRuleSchema = object('ContainerRestartRule', {
  action: field(1, ContainerRestartRuleActionSchema, { mustBeWritten: true }),
  exitCodes: field(2, ContainerRestartRuleOnExitCodesSchema),
});
export type ContainerRestartRule = Infer<typeof ContainerRestartRuleSchema>;

const ContainerRestartPolicySchema = knownValues('Always', 'Never', 'OnFailure');
export type ContainerRestartPolicy = Infer<typeof ContainerRestartPolicySchema>;

const TerminationMessagePolicySchema = oneOf('File', 'FallbackToLogsOnError');
export type TerminationMessagePolicy = Infer<typeof TerminationMessagePolicySchema>;

export const PullPolicySchema = oneOf('Always', 'Never', 'IfNotPresent');
export type PullPolicy = Infer<typeof PullPolicySchema>;

const containerFields = {
  name: required(1, string),
  image: field(2, string),
  command: field(3, array(string)),
  args: field(4, array(string)),
  workingDir: field(5, string),
  ports: field(6, array(ContainerPortSchema, ['containerPort', 'protocol'], { keyDefaults: { protocol: 'TCP' } })),
  envFrom: field(19, array(EnvFromSourceSchema)),
  env: field(7, array(EnvVarSchema, ['name'])),
  resources: field(8, ResourceRequirementsSchema),
  resizePolicy: field(23, array(ContainerResizePolicySchema)),
  restartPolicy: pointer(24, ContainerRestartPolicySchema),
  restartPolicyRules: field(25, array(ContainerRestartRuleSchema)),
  volumeMounts: field(9, array(VolumeMountSchema, ['mountPath'])),
  volumeDevices: field(21, array(VolumeDeviceSchema, ['devicePath'])),
  livenessProbe: field(10, ProbeSchema),
  readinessProbe: field(11, ProbeSchema),
  startupProbe: field(22, ProbeSchema),
  lifecycle: field(12, LifecycleSchema),
  terminationMessagePath: field(13, string),
  terminationMessagePolicy: field(20, TerminationMessagePolicySchema),
  imagePullPolicy: field(14, PullPolicySchema),
  securityContext: field(15, SecurityContextSchema),
  stdin: field(16, boolean),
  stdinOnce: field(17, boolean),
  tty: field(18, boolean),
} as const;

export const ContainerSchema = object('Container', containerFields);
export type Container = Infer<typeof ContainerSchema>;

/** Decoding accepts all fields of a container; validation rejects those that ephemeral containers must not have. */
export const EphemeralContainerSchema = object('EphemeralContainer', {
  ...inline(1, containerFields),
  targetContainerName: field(2, string),
});
export type EphemeralContainer = Infer<typeof EphemeralContainerSchema>;
