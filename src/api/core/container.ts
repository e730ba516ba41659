/** Containers of every kind: regular, init and ephemeral share all but one field. Which fields exist follows k8s.io/api/core/v1. */
import { array, atomic, boolean, int32, object, oneOf, quantity, required, set, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LifecycleSchema, ProbeSchema } from './probe.ts';
import { ResourceRequirementsSchema } from './resource-requirements.ts';
import { SecurityContextSchema } from './security-context.ts';

export const ProtocolSchema = oneOf('TCP', 'UDP', 'SCTP');
export type Protocol = Infer<typeof ProtocolSchema>;

export const ContainerPortSchema = object('ContainerPort', {
  name: string,
  hostPort: int32,
  containerPort: required(int32),
  protocol: ProtocolSchema,
  hostIP: string,
});
export type ContainerPort = Infer<typeof ContainerPortSchema>;

export const ObjectFieldSelectorSchema = atomic(
  object('ObjectFieldSelector', { apiVersion: string, fieldPath: required(string) }),
);
export type ObjectFieldSelector = Infer<typeof ObjectFieldSelectorSchema>;

export const ResourceFieldSelectorSchema = atomic(
  object('ResourceFieldSelector', {
    containerName: string,
    resource: required(string),
    divisor: quantity,
  }),
);
export type ResourceFieldSelector = Infer<typeof ResourceFieldSelectorSchema>;

export const ConfigMapKeySelectorSchema = atomic(
  object('ConfigMapKeySelector', {
    name: required(string),
    key: required(string),
    optional: boolean,
  }),
);
export type ConfigMapKeySelector = Infer<typeof ConfigMapKeySelectorSchema>;

export const SecretKeySelectorSchema = atomic(
  object('SecretKeySelector', { name: required(string), key: required(string), optional: boolean }),
);
export type SecretKeySelector = Infer<typeof SecretKeySelectorSchema>;

export const FileKeySelectorSchema = atomic(
  object('FileKeySelector', {
    volumeName: required(string),
    path: required(string),
    key: required(string),
    optional: boolean,
  }),
);
export type FileKeySelector = Infer<typeof FileKeySelectorSchema>;

export const EnvVarSourceSchema = object('EnvVarSource', {
  fieldRef: ObjectFieldSelectorSchema,
  resourceFieldRef: ResourceFieldSelectorSchema,
  configMapKeyRef: ConfigMapKeySelectorSchema,
  secretKeyRef: SecretKeySelectorSchema,
  fileKeyRef: FileKeySelectorSchema,
});
export type EnvVarSource = Infer<typeof EnvVarSourceSchema>;

export const EnvVarSchema = object('EnvVar', {
  name: required(string),
  value: string,
  valueFrom: EnvVarSourceSchema,
});
export type EnvVar = Infer<typeof EnvVarSchema>;

export const ConfigMapEnvSourceSchema = object('ConfigMapEnvSource', {
  name: required(string),
  optional: boolean,
});
export type ConfigMapEnvSource = Infer<typeof ConfigMapEnvSourceSchema>;

export const SecretEnvSourceSchema = object('SecretEnvSource', {
  name: required(string),
  optional: boolean,
});
export type SecretEnvSource = Infer<typeof SecretEnvSourceSchema>;

export const EnvFromSourceSchema = object('EnvFromSource', {
  prefix: string,
  configMapRef: ConfigMapEnvSourceSchema,
  secretRef: SecretEnvSourceSchema,
});
export type EnvFromSource = Infer<typeof EnvFromSourceSchema>;

export const RecursiveReadOnlyModeSchema = oneOf('Disabled', 'IfPossible', 'Enabled');
export type RecursiveReadOnlyMode = Infer<typeof RecursiveReadOnlyModeSchema>;

export const MountPropagationModeSchema = oneOf('None', 'HostToContainer', 'Bidirectional');
export type MountPropagationMode = Infer<typeof MountPropagationModeSchema>;

export const VolumeMountSchema = object('VolumeMount', {
  name: required(string),
  readOnly: boolean,
  recursiveReadOnly: RecursiveReadOnlyModeSchema,
  mountPath: required(string),
  subPath: string,
  mountPropagation: MountPropagationModeSchema,
  subPathExpr: string,
});
export type VolumeMount = Infer<typeof VolumeMountSchema>;

export const VolumeDeviceSchema = object('VolumeDevice', {
  name: required(string),
  devicePath: required(string),
});
export type VolumeDevice = Infer<typeof VolumeDeviceSchema>;

export const ResourceResizeRestartPolicySchema = oneOf('NotRequired', 'RestartContainer');
export type ResourceResizeRestartPolicy = Infer<typeof ResourceResizeRestartPolicySchema>;

export const ContainerResizePolicySchema = object('ContainerResizePolicy', {
  resourceName: required(string),
  restartPolicy: required(ResourceResizeRestartPolicySchema),
});
export type ContainerResizePolicy = Infer<typeof ContainerResizePolicySchema>;

export const ContainerRestartRuleOnExitCodesOperatorSchema = oneOf('In', 'NotIn');
export type ContainerRestartRuleOnExitCodesOperator = Infer<typeof ContainerRestartRuleOnExitCodesOperatorSchema>;

export const ContainerRestartRuleOnExitCodesSchema = object('ContainerRestartRuleOnExitCodes', {
  operator: ContainerRestartRuleOnExitCodesOperatorSchema,
  values: set(int32),
});
export type ContainerRestartRuleOnExitCodes = Infer<typeof ContainerRestartRuleOnExitCodesSchema>;

export const ContainerRestartRuleActionSchema = oneOf('Restart', 'RestartAllContainers');
export type ContainerRestartRuleAction = Infer<typeof ContainerRestartRuleActionSchema>;

export const ContainerRestartRuleSchema = object('ContainerRestartRule', {
  action: ContainerRestartRuleActionSchema,
  exitCodes: ContainerRestartRuleOnExitCodesSchema,
});
export type ContainerRestartRule = Infer<typeof ContainerRestartRuleSchema>;

export const ContainerRestartPolicySchema = oneOf('Always', 'Never', 'OnFailure');
export type ContainerRestartPolicy = Infer<typeof ContainerRestartPolicySchema>;

export const TerminationMessagePolicySchema = oneOf('File', 'FallbackToLogsOnError');
export type TerminationMessagePolicy = Infer<typeof TerminationMessagePolicySchema>;

export const PullPolicySchema = oneOf('Always', 'Never', 'IfNotPresent');
export type PullPolicy = Infer<typeof PullPolicySchema>;

const containerFields = {
  name: required(string),
  image: string,
  command: array(string),
  args: array(string),
  workingDir: string,
  ports: array(ContainerPortSchema, ['containerPort', 'protocol'], { keyDefaults: { protocol: 'TCP' } }),
  envFrom: array(EnvFromSourceSchema),
  env: array(EnvVarSchema, ['name']),
  resources: ResourceRequirementsSchema,
  resizePolicy: array(ContainerResizePolicySchema),
  restartPolicy: ContainerRestartPolicySchema,
  restartPolicyRules: array(ContainerRestartRuleSchema),
  volumeMounts: array(VolumeMountSchema, ['mountPath']),
  volumeDevices: array(VolumeDeviceSchema, ['devicePath']),
  livenessProbe: ProbeSchema,
  readinessProbe: ProbeSchema,
  startupProbe: ProbeSchema,
  lifecycle: LifecycleSchema,
  terminationMessagePath: string,
  terminationMessagePolicy: TerminationMessagePolicySchema,
  imagePullPolicy: PullPolicySchema,
  securityContext: SecurityContextSchema,
  stdin: boolean,
  stdinOnce: boolean,
  tty: boolean,
} as const;

export const ContainerSchema = object('Container', containerFields);
export type Container = Infer<typeof ContainerSchema>;

/** Every field of a container is decoded; validation refuses those that an ephemeral container may not have. */
export const EphemeralContainerSchema = object('EphemeralContainer', {
  ...containerFields,
  targetContainerName: string,
});
export type EphemeralContainer = Infer<typeof EphemeralContainerSchema>;
