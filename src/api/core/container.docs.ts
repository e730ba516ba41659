import { describe } from '../schema/docs.ts';
import type { FieldDocs, TypeDocs } from '../schema/docs.ts';
import {
  ContainerPortSchema,
  ObjectFieldSelectorSchema,
  ResourceFieldSelectorSchema,
  ConfigMapKeySelectorSchema,
  SecretKeySelectorSchema,
  FileKeySelectorSchema,
  EnvVarSourceSchema,
  EnvVarSchema,
  ConfigMapEnvSourceSchema,
  SecretEnvSourceSchema,
  EnvFromSourceSchema,
  VolumeMountSchema,
  VolumeDeviceSchema,
  ContainerResizePolicySchema,
  ContainerRestartRuleOnExitCodesSchema,
  ContainerRestartRuleSchema,
  ContainerSchema,
  EphemeralContainerSchema,
} from './container.ts';

const containerDocs: FieldDocs<(typeof ContainerSchema)['fields']> = {
  name: 'The name of the container, a DNS label; unique in the pod. Cannot be changed.',
  image: 'The image to run, such as registry/name:tag.',
  command:
    'The program to run, with its first arguments. Default: the entrypoint of the image. $(NAME) is replaced by the value of that environment variable.',
  args: 'The arguments of the program. Default: the arguments of the image, unless command is set. $(NAME) is replaced by the value of that environment variable.',
  workingDir: 'The working directory. Default: that of the image.',
  ports: 'Ports on which the container listens, for information and for hostPort. Other ports can be reached too.',
  envFrom: 'ConfigMaps and Secrets whose keys all become environment variables. Variables in env take precedence.',
  env: 'Environment variables.',
  resources: 'The resources that the container requests and may use at most.',
  resizePolicy: 'Whether a change of a resource restarts the container.',
  restartPolicy:
    'Always, OnFailure or Never; default: the policy of the pod. Always makes an init container a sidecar: it starts before the later containers and keeps running next to them.',
  restartPolicyRules: 'Rules that take precedence over restartPolicy for certain exit codes.',
  volumeMounts: 'The volumes of the pod that are mounted in the container.',
  volumeDevices: 'Block devices that the container can use.',
  livenessProbe: 'Checks regularly whether the container works; a failure restarts the container.',
  readinessProbe:
    'Checks regularly whether the container can serve requests; a failure removes the pod from its services.',
  startupProbe: 'Checks whether the container has started; the other probes wait for its success.',
  lifecycle: 'Handlers that run after the start and before the stop of the container.',
  terminationMessagePath:
    'The file in the container whose content becomes the termination message. Default /dev/termination-log.',
  terminationMessagePolicy:
    'File reads the termination message from the file; FallbackToLogsOnError uses the end of the log if the file is empty and the container failed. Default File.',
  imagePullPolicy:
    'When to pull the image: Always, IfNotPresent or Never. Default Always for the tag latest, otherwise IfNotPresent.',
  securityContext: 'Security settings of the container. They take precedence over those of the pod.',
  stdin: 'Opens standard input, for kubectl attach. Default false.',
  stdinOnce: 'Closes standard input after the first client that attached has disconnected. Default false.',
  tty: 'Allocates a terminal for the container; needs stdin. Default false.',
};

export const docs: readonly TypeDocs[] = [
  describe(ContainerPortSchema, 'A port on which a container listens.', {
    name: 'The name of the port, unique in the pod. Services can refer to it.',
    hostPort: 'The port of the node that is forwarded to the container port. Default: none.',
    containerPort: 'The port in the container, 1 to 65535.',
    protocol: 'TCP, UDP or SCTP. Default TCP.',
    hostIP: 'The address of the node for hostPort. Default: all.',
  }),
  describe(ObjectFieldSelectorSchema, 'A reference to a field of the pod.', {
    apiVersion: 'The API version of the path. Default v1.',
    fieldPath: 'The path of the field, such as metadata.name or status.podIP.',
  }),
  describe(ResourceFieldSelectorSchema, 'A reference to a limit or request of a container.', {
    containerName: 'The container. Required in volumes; in environment variables the default is the container itself.',
    resource: 'The limit or request, such as limits.cpu.',
    divisor: 'The unit of the value, such as 1m or 1Mi. Default 1.',
  }),
  describe(ConfigMapKeySelectorSchema, 'A reference to a key of a ConfigMap.', {
    name: 'The name of the ConfigMap.',
    key: 'The key.',
    optional: 'Whether the ConfigMap or the key may be missing. Default false.',
  }),
  describe(SecretKeySelectorSchema, 'A reference to a key of a Secret.', {
    name: 'The name of the Secret.',
    key: 'The key.',
    optional: 'Whether the Secret or the key may be missing. Default false.',
  }),
  describe(FileKeySelectorSchema, 'A reference to a key in a file of environment variables.', {
    volumeName: 'The volume with the file, an emptyDir.',
    path: 'The path of the file in the volume.',
    key: 'The key.',
    optional: 'Whether the file or the key may be missing. Default false.',
  }),
  describe(EnvVarSourceSchema, 'The source of the value of an environment variable; exactly one must be set.', {
    fieldRef: 'A field of the pod.',
    resourceFieldRef: 'A limit or request of a container.',
    configMapKeyRef: 'A key of a ConfigMap.',
    secretKeyRef: 'A key of a Secret.',
    fileKeyRef: 'A key of a file in a volume.',
  }),
  describe(EnvVarSchema, 'An environment variable.', {
    name: 'The name of the variable.',
    value: 'The value. $(NAME) is replaced by the value of an earlier variable. Default empty.',
    valueFrom: 'The source of the value. Not together with value.',
  }),
  describe(ConfigMapEnvSourceSchema, 'A reference to a ConfigMap.', {
    name: 'The name of the ConfigMap.',
    optional: 'Whether the ConfigMap may be missing. Default false.',
  }),
  describe(SecretEnvSourceSchema, 'A reference to a Secret.', {
    name: 'The name of the Secret.',
    optional: 'Whether the Secret may be missing. Default false.',
  }),
  describe(EnvFromSourceSchema, 'A ConfigMap or Secret whose keys all become environment variables.', {
    prefix: 'A prefix for the name of each variable.',
    configMapRef: 'The ConfigMap.',
    secretRef: 'The Secret.',
  }),
  describe(VolumeMountSchema, 'Mounts a volume in a container.', {
    name: 'The name of the volume in the pod.',
    readOnly: 'Whether the mount is read-only. Default false.',
    recursiveReadOnly: 'Whether mounts below a read-only mount are read-only too. Default Disabled.',
    mountPath: 'The path in the container.',
    subPath: 'The path in the volume to mount. Default: the root of the volume.',
    mountPropagation: 'Whether later mounts propagate: None, HostToContainer or Bidirectional. Default None.',
    subPathExpr:
      'Like subPath, with $(NAME) replaced by the value of the environment variable. Not together with subPath.',
  }),
  describe(VolumeDeviceSchema, 'Makes a block device available in a container.', {
    name: 'The name of the volume in the pod, with volumeMode Block.',
    devicePath: 'The path of the device in the container.',
  }),
  describe(ContainerResizePolicySchema, 'Whether a change of a resource restarts the container.', {
    resourceName: 'The resource: cpu or memory.',
    restartPolicy: 'NotRequired or RestartContainer. Default NotRequired.',
  }),
  describe(ContainerRestartRuleOnExitCodesSchema, 'The exit codes to which a rule applies.', {
    operator: 'In: the exit code must be one of the values. NotIn: it must not.',
    values: 'The exit codes.',
  }),
  describe(ContainerRestartRuleSchema, 'A rule that takes precedence over the restart policy.', {
    action: 'Restart restarts the container, RestartAllContainers all containers of the pod.',
    exitCodes: 'The exit codes to which the rule applies.',
  }),
  describe(ContainerSchema, 'A container of a pod.', containerDocs),
  describe(EphemeralContainerSchema, 'A container that is added to a running pod, for debugging.', {
    ...containerDocs,
    targetContainerName: 'The container whose process namespace is shared. Absent: that of the pod.',
  }),
];
