import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { buildPod } from '../../testing/pod-builder.ts';
import type { Changes } from '../../testing/pod-builder.ts';
import { formatFieldError, formatInvalid } from '../field-error.ts';
import { validatePod } from './validate-pod.ts';

type Case = readonly [changes: Changes, ...expected: string[]];
const c0 = 'spec.containers[0]';
const i0 = 'spec.initContainers[0]';
const v0 = 'spec.volumes[0]';
const init = (more: object = {}): object => ({ name: 'setup', image: 'busybox:1', ...more });
const tcp = { tcpSocket: { port: 1 } };
const vol = (source: object): Changes => ({ 'spec.volumes': [{ name: 'v', ...source }] });
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const qualified =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const configKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const port = 'must be between 1 and 65535, inclusive';
const mode = 'must be a number between 0 and 0777 (octal), both inclusive';
const id = 'must be between 0 and 2147483647, inclusive';

const groups: Readonly<Record<string, readonly Case[]>> = {
  metadata: [
    [{ 'metadata.name': '' }, 'metadata.name: Required value: name or generateName is required'],
    [{ 'metadata.name': 'Web' }, `metadata.name: Invalid value: "Web": ${subdomain}`],
    [
      { 'metadata.name': 'a'.repeat(254) },
      `metadata.name: Invalid value: "${'a'.repeat(254)}": must be no more than 253 characters`,
    ],
    [{ 'metadata.uid': '..' }, 'metadata.uid: Invalid value: "..": may not be \'..\''],
    [{ 'metadata.uid': '../../etc' }, 'metadata.uid: Invalid value: "../../etc": may not contain \'/\''],
    [
      { 'metadata.uid': 'a\nb%' },
      'metadata.uid: Invalid value: "a\\nb%": may not contain \'%\'',
      'metadata.uid: Invalid value: "a\\nb%": may not contain control characters',
    ],
    [{ 'metadata.namespace': '' }, 'metadata.namespace: Required value'],
    [{ 'metadata.namespace': 'a.b' }, 'metadata.namespace: Invalid value: "a.b": must not contain dots'],
    [{ 'metadata.namespace': 'a_b' }, `metadata.namespace: Invalid value: "a_b": ${label}`],
    [{ 'metadata.generateName': 'ABC-' }, `metadata.generateName: Invalid value: "ABC-": ${subdomain}`],
    [{ 'metadata.generation': -1 }, 'metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
    [{ 'metadata.labels': { '-a': 'b' } }, `metadata.labels: Invalid value: "-a": ${qualified}`],
    [{ 'metadata.labels': { a: 'b c' } }, `metadata.labels: Invalid value: "b c": ${labelValue}`],
    [
      { 'metadata.labels': { a: 'x'.repeat(64) } },
      `metadata.labels: Invalid value: "${'x'.repeat(64)}": must be no more than 63 bytes`,
    ],
    [{ 'metadata.labels': { '/a': 'b' } }, 'metadata.labels: Invalid value: "/a": prefix part must be non-empty'],
    [
      { 'metadata.labels': { 'x.io/': 'b' } },
      'metadata.labels: Invalid value: "x.io/": name part must be non-empty',
      `metadata.labels: Invalid value: "x.io/": ${qualified}`,
    ],
    [{ 'metadata.annotations': { 'a b': 'c' } }, `metadata.annotations: Invalid value: "a b": ${qualified}`],
    [
      { 'metadata.annotations': { a: 'x'.repeat(256 * 1024) } },
      'metadata.annotations: Too long: may not be more than 262144 bytes',
    ],
    [
      { 'metadata.finalizers': ['orphan', 'foregroundDeletion'] },
      'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
    ],
    [
      { 'metadata.ownerReferences': [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: '' }] },
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ],
    [
      { 'metadata.annotations': { 'kubernetes.io/config.mirror': 'x' } },
      'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
    ],
    [
      { 'metadata.annotations': { 'controller.kubernetes.io/pod-deletion-cost': '+1' } },
      'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer',
    ],
    [
      { 'metadata.annotations': { 'container.apparmor.security.beta.kubernetes.io/x': 'unconfined' } },
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: "x": container not found',
    ],
    [
      { 'metadata.annotations': { 'seccomp.security.alpha.kubernetes.io/pod': 'mine' } },
      'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "mine": must be a valid seccomp profile',
    ],
  ],
  containers: [
    [{ 'spec.containers': [] }, 'spec.containers: Required value'],
    [{ [`${c0}.name`]: '' }, `${c0}.name: Required value`],
    [{ [`${c0}.name`]: 'A' }, `${c0}.name: Invalid value: "A": ${label}`],
    [{ [`${c0}.image`]: '' }, `${c0}.image: Required value`],
    [
      { [`${c0}.image`]: ' busybox' },
      `${c0}.image: Invalid value: " busybox": must not have leading or trailing whitespace`,
    ],
    [{ 'spec.containers[1]': { name: 'main', image: 'x' } }, 'spec.containers[1].name: Duplicate value: "main"'],
    [
      { [`${c0}.imagePullPolicy`]: 'Sometimes' },
      `${c0}.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`,
    ],
    [
      { [`${c0}.terminationMessagePolicy`]: 'x' },
      `${c0}.terminationMessagePolicy: Unsupported value: "x": supported values: "File", "FallbackToLogsOnError"`,
    ],
    [
      { [`${c0}.restartPolicy`]: 'x' },
      `${c0}.restartPolicy: Unsupported value: "x": supported values: "Always", "Never", "OnFailure"`,
    ],
    [
      { [`${c0}.restartPolicyRules`]: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] },
      `${c0}.restartPolicy: Required value: must specify restartPolicy when restart rules are used`,
    ],
    [
      { [`${c0}.restartPolicy`]: 'Never', [`${c0}.restartPolicyRules`]: [{ action: 'Restart' }] },
      `${c0}.restartPolicyRules[0].exitCodes: Required value: must be specified`,
    ],
    [
      {
        [`${c0}.restartPolicy`]: 'Never',
        [`${c0}.restartPolicyRules`]: [{ action: 'x', exitCodes: { operator: 'y', values: [] } }],
      },
      `${c0}.restartPolicyRules[0].action: Unsupported value: "x": supported values: "Restart", "RestartAllContainers"`,
      `${c0}.restartPolicyRules[0].exitCodes.operator: Unsupported value: "y": supported values: "In", "NotIn"`,
    ],
    [
      {
        [`${c0}.restartPolicy`]: 'Never',
        [`${c0}.restartPolicyRules`]: Array(21).fill({ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }),
      },
      `${c0}.restartPolicyRules: Too many: 21: must have at most 20 items`,
    ],
    [
      { [`${c0}.resizePolicy`]: [{ resourceName: 'disk', restartPolicy: 'NotRequired' }] },
      `${c0}.resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"`,
    ],
    [
      {
        [`${c0}.resizePolicy`]: [
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
        ],
      },
      `${c0}.resizePolicy[1]: Duplicate value: "cpu"`,
    ],
    [
      {
        'spec.restartPolicy': 'Never',
        [`${c0}.resizePolicy`]: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
      },
      `${c0}.resizePolicy: Invalid value: "RestartContainer": must be 'NotRequired' when pod \`restartPolicy\` is 'Never'`,
    ],
  ],
  ports: [
    [{ [`${c0}.ports`]: [{ containerPort: 0 }] }, `${c0}.ports[0].containerPort: Required value`],
    [{ [`${c0}.ports`]: [{ containerPort: 65536 }] }, `${c0}.ports[0].containerPort: Invalid value: 65536: ${port}`],
    [{ [`${c0}.ports`]: [{ containerPort: 80, hostPort: -1 }] }, `${c0}.ports[0].hostPort: Invalid value: -1: ${port}`],
    [
      { [`${c0}.ports`]: [{ containerPort: 80, protocol: 'tcp' }] },
      `${c0}.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"`,
    ],
    [
      { [`${c0}.ports`]: [{ containerPort: 80, name: 'a-name-that-is-long' }] },
      `${c0}.ports[0].name: Invalid value: "a-name-that-is-long": must be no more than 15 characters`,
    ],
    [
      { [`${c0}.ports`]: [{ containerPort: 80, name: '80' }] },
      `${c0}.ports[0].name: Invalid value: "80": must contain at least one letter (a-z)`,
    ],
    [
      { [`${c0}.ports`]: [{ containerPort: 80, name: 'a_b' }] },
      `${c0}.ports[0].name: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
    ],
    [
      { [`${c0}.ports`]: [{ containerPort: 80, name: 'a--b' }] },
      `${c0}.ports[0].name: Invalid value: "a--b": must not contain consecutive hyphens`,
    ],
    [
      {
        [`${c0}.ports`]: [
          { containerPort: 80, name: 'a' },
          { containerPort: 81, name: 'a' },
        ],
      },
      `${c0}.ports[1].name: Duplicate value: "a"`,
    ],
    [
      {
        [`${c0}.ports`]: [
          { containerPort: 80, hostPort: 80 },
          { containerPort: 81, hostPort: 80 },
        ],
      },
      `${c0}.ports[1].hostPort: Duplicate value: "TCP//80"`,
    ],
    [
      { 'spec.hostNetwork': true, [`${c0}.ports`]: [{ containerPort: 80, hostPort: 81 }] },
      `${c0}.ports[0].hostPort: Invalid value: 81: must match \`containerPort\` when \`hostNetwork\` is true`,
    ],
  ],
  environment: [
    [{ [`${c0}.env`]: [{ name: '' }] }, `${c0}.env[0].name: Required value`],
    [
      { [`${c0}.env`]: [{ name: 'a=b' }] },
      `${c0}.env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: {} }] },
      `${c0}.env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\`, \`secretKeyRef\` or \`fileKeyRef\``,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      `${c0}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`,
    ],
    [
      {
        [`${c0}.env`]: [
          { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' }, secretKeyRef: { name: 's', key: 'k' } } },
        ],
      },
      `${c0}.env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: '' } } }] },
      `${c0}.env[0].valueFrom.fieldRef.fieldPath: Required value`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.foo' } } }] },
      `${c0}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": error converting fieldPath: field label not supported: spec.foo`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } } }] },
      `${c0}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.name['x']" } } }] },
      `${c0}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name['x']": error converting fieldPath: field label does not support subscript: metadata.name['x']`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'status.phase' } } }] },
      `${c0}.env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a b']" } } }] },
      `${c0}.env[0].valueFrom.fieldRef: Invalid value: "a b": ${qualified}`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.gpu' } } }] },
      `${c0}.env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '10m' } } }] },
      `${c0}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
    ],
    [
      {
        [`${c0}.env`]: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '2Mi' } } }],
      },
      `${c0}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: '' } } }] },
      `${c0}.env[0].valueFrom.secretKeyRef.key: Required value`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 's', key: 'a/b' } } }] },
      `${c0}.env[0].valueFrom.configMapKeyRef.key: Invalid value: "a/b": ${configKey}`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'S', key: 'a' } } }] },
      `${c0}.env[0].valueFrom.configMapKeyRef.name: Invalid value: "S": ${subdomain}`,
    ],
    [
      { [`${c0}.env`]: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'gone', path: 'p', key: 'K' } } }] },
      `${c0}.env[0].valueFrom.fileKeyRef.volumeName: Not found: "gone"`,
    ],
    [
      {
        ...vol({ hostPath: { path: '/x' } }),
        [`${c0}.env`]: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: '../p', key: 'K' } } }],
      },
      `${c0}.env[0].valueFrom.fileKeyRef.path: Invalid value: "../p": must not contain '..'`,
      `${c0}.env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type emptyDir`,
    ],
    [
      { [`${c0}.envFrom`]: [{}] },
      `${c0}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``,
    ],
    [
      { [`${c0}.envFrom`]: [{ configMapRef: { name: 'a' }, secretRef: { name: 'b' } }] },
      `${c0}.envFrom: Invalid value: "": may not have more than one field specified at a time`,
    ],
    [{ [`${c0}.envFrom`]: [{ secretRef: { name: '' } }] }, `${c0}.envFrom[0].secretRef.name: Required value`],
    [
      { [`${c0}.envFrom`]: [{ prefix: 'a=', secretRef: { name: 'x' } }] },
      `${c0}.envFrom[0].prefix: Invalid value: "a=": a valid environment variable name must consist only of printable ASCII characters other than '='`,
    ],
  ],
  mounts: [
    [{ [`${c0}.volumeMounts`]: [{ name: 'gone', mountPath: '/x' }] }, `${c0}.volumeMounts[0].name: Not found: "gone"`],
    [
      { ...vol({ emptyDir: {} }), [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '' }] },
      `${c0}.volumeMounts[0].mountPath: Required value`,
    ],
    [
      {
        ...vol({ emptyDir: {} }),
        [`${c0}.volumeMounts`]: [
          { name: 'v', mountPath: '/x' },
          { name: 'v', mountPath: '/x' },
        ],
      },
      `${c0}.volumeMounts[1].mountPath: Invalid value: "/x": must be unique`,
    ],
    [
      { ...vol({ emptyDir: {} }), [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '/x', subPath: '/a' }] },
      `${c0}.volumeMounts.subPath: Invalid value: "/a": must be a relative path`,
    ],
    [
      { ...vol({ emptyDir: {} }), [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '/x', subPath: 'a/../../b' }] },
      `${c0}.volumeMounts.subPath: Invalid value: "a/../../b": must not contain '..'`,
    ],
    [
      {
        ...vol({ emptyDir: {} }),
        [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '/x', subPath: 'a', subPathExpr: 'b' }],
      },
      `${c0}.volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive`,
    ],
    [
      {
        ...vol({ emptyDir: {} }),
        [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '/x', mountPropagation: 'Bidirectional' }],
      },
      `${c0}.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
    ],
    [
      { ...vol({ emptyDir: {} }), [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '/x', mountPropagation: 'Up' }] },
      `${c0}.volumeMounts.mountPropagation: Unsupported value: "Up": supported values: "Bidirectional", "HostToContainer", "None"`,
    ],
    [
      {
        ...vol({ emptyDir: {} }),
        [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '/x', recursiveReadOnly: 'Enabled' }],
      },
      `${c0}.volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
    ],
    [
      { ...vol({ emptyDir: {} }), [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '/x', recursiveReadOnly: 'x' }] },
      `${c0}.volumeMounts.recursiveReadOnly: Unsupported value: "x": supported values: "Disabled", "Enabled", "IfPossible"`,
    ],
    [
      { ...vol({ emptyDir: {} }), [`${c0}.volumeDevices`]: [{ name: 'v', devicePath: '/dev/x' }] },
      `${c0}.volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
    ],
    [
      { [`${c0}.volumeDevices`]: [{ name: 'gone', devicePath: '/dev/x' }] },
      `${c0}.volumeDevices[0].name: Not found: "gone"`,
    ],
    [
      {
        ...vol({ persistentVolumeClaim: { claimName: 'c' } }),
        [`${c0}.volumeDevices`]: [{ name: 'v', devicePath: '/dev/../x' }],
      },
      `${c0}.volumeDevices[0].devicePath: Invalid value: "/dev/../x": can not contain backsteps ('..')`,
    ],
  ],
  'probes and hooks': [
    [{ [`${c0}.livenessProbe`]: {} }, `${c0}.livenessProbe: Required value: must specify a handler type`],
    [{ [`${c0}.livenessProbe`]: { exec: {} } }, `${c0}.livenessProbe.exec.command: Required value`],
    [
      { [`${c0}.livenessProbe`]: { exec: { command: ['x'] }, tcpSocket: { port: 1 } } },
      `${c0}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
    ],
    [
      { [`${c0}.livenessProbe`]: { httpGet: { port: 0 } } },
      `${c0}.livenessProbe.httpGet.port: Invalid value: 0: ${port}`,
    ],
    [
      { [`${c0}.readinessProbe`]: { httpGet: { port: 'no_good' } } },
      `${c0}.readinessProbe.httpGet.port: Invalid value: "no_good": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)`,
    ],
    [
      { [`${c0}.readinessProbe`]: { httpGet: { port: 80, scheme: 'FTP' } } },
      `${c0}.readinessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"`,
    ],
    [
      { [`${c0}.readinessProbe`]: { httpGet: { port: 80, httpHeaders: [{ name: 'a b', value: '' }] } } },
      `${c0}.readinessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`,
    ],
    [
      { [`${c0}.startupProbe`]: { grpc: { port: 70000 } } },
      `${c0}.startupProbe.grpc.port: Invalid value: 70000: ${port}`,
    ],
    [
      { [`${c0}.livenessProbe`]: { tcpSocket: { port: 80 }, periodSeconds: -1 } },
      `${c0}.livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
    ],
    [
      { [`${c0}.livenessProbe`]: { tcpSocket: { port: 80 }, successThreshold: 2 } },
      `${c0}.livenessProbe.successThreshold: Invalid value: 2: must be 1`,
    ],
    [
      { [`${c0}.startupProbe`]: { tcpSocket: { port: 80 }, successThreshold: 2 } },
      `${c0}.startupProbe.successThreshold: Invalid value: 2: must be 1`,
    ],
    [
      { [`${c0}.livenessProbe`]: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 0 } },
      `${c0}.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
    ],
    [
      { [`${c0}.readinessProbe`]: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 5 } },
      `${c0}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes`,
    ],
    [{ [`${c0}.lifecycle`]: { preStop: {} } }, `${c0}.lifecycle.preStop: Required value: must specify a handler type`],
    [
      { [`${c0}.lifecycle`]: { preStop: { sleep: { seconds: 31 } } } },
      `${c0}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`,
    ],
    [
      { [`${c0}.lifecycle`]: { stopSignal: 'SIGTERM' } },
      `${c0}.lifecycle.stopSignal: Forbidden: may not be set for containers with empty \`spec.os.name\``,
    ],
  ],
  'init and ephemeral containers': [
    [{ [i0]: init({ name: 'main' }) }, `${i0}.name: Duplicate value: "main"`],
    [
      { [i0]: init({ livenessProbe: { tcpSocket: { port: 1 } } }) },
      `${i0}.livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always`,
    ],
    [
      { [i0]: init({ lifecycle: { preStop: { sleep: { seconds: 1 } } } }) },
      `${i0}.lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always`,
    ],
    [
      { [i0]: init({ restartPolicy: 'Always', livenessProbe: {} }) },
      `${i0}.livenessProbe: Required value: must specify a handler type`,
    ],
    [
      { [i0]: init({ restartPolicy: 'Sometimes' }) },
      `${i0}.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"`,
    ],
    [
      { [i0]: init({ resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }) },
      `${i0}.resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to 'RestartContainer' for non-sidecar initContainers`,
    ],
    [
      {
        [i0]: init({
          ports: [
            { containerPort: 1, hostPort: 2 },
            { containerPort: 3, hostPort: 2 },
          ],
        }),
      },
      `${i0}.ports[1].hostPort: Duplicate value: "TCP//2"`,
    ],
    [{ 'spec.ephemeralContainers[0]': init() }, 'spec.ephemeralContainers: Forbidden: cannot be set on create'],
    [
      {
        'spec.ephemeralContainers[0]': init({
          ports: [{ containerPort: 1 }],
          resources: { limits: { cpu: '1' } },
          resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
          livenessProbe: tcp,
          readinessProbe: tcp,
          startupProbe: tcp,
          lifecycle: { preStop: { sleep: { seconds: 1 } } },
        }),
      },
      ...[
        'ports',
        'resources',
        'resizePolicy',
        'restartPolicy',
        'restartPolicyRules',
        'livenessProbe',
        'readinessProbe',
        'startupProbe',
        'lifecycle',
      ].map((name) => `spec.ephemeralContainers[0].${name}: Forbidden: cannot be set for an Ephemeral Container`),
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
    [
      { 'spec.ephemeralContainers[0]': init({ targetContainerName: 'gone', ports: [{ containerPort: 1 }] }) },
      'spec.ephemeralContainers[0].targetContainerName: Not found: "gone"',
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
  ],
  volumes: [
    [{ 'spec.volumes': [{ name: '', emptyDir: {} }] }, `${v0}.name: Required value`],
    [{ 'spec.volumes': [{ name: 'A', emptyDir: {} }] }, `${v0}.name: Invalid value: "A": ${label}`],
    [
      {
        'spec.volumes': [
          { name: 'v', emptyDir: {} },
          { name: 'v', emptyDir: {} },
        ],
      },
      'spec.volumes[1].name: Duplicate value: "v"',
    ],
    [
      vol({ emptyDir: {}, hostPath: { path: '/x' } }),
      `${v0}.hostPath: Forbidden: may not specify more than 1 volume type`,
    ],
    [
      vol({ emptyDir: { sizeLimit: '-1' } }),
      `${v0}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`,
    ],
    [vol({ hostPath: { path: '' } }), `${v0}.hostPath.path: Required value`],
    [vol({ hostPath: { path: '/a/../b' } }), `${v0}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`],
    [
      vol({ hostPath: { path: '/a', type: 'Dir' } }),
      `${v0}.hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
    ],
    [vol({ secret: {} }), `${v0}.secret.secretName: Required value`],
    [vol({ secret: { secretName: 's', defaultMode: 512 } }), `${v0}.secret.defaultMode: Invalid value: 512: ${mode}`],
    [
      vol({ secret: { secretName: 's', items: [{ key: '', path: 'p' }] } }),
      `${v0}.secret.items[0].key: Required value`,
    ],
    [
      vol({ secret: { secretName: 's', items: [{ key: 'k', path: '' }] } }),
      `${v0}.secret.items[0].path: Required value`,
    ],
    [
      vol({ secret: { secretName: 's', items: [{ key: 'k', path: '..x' }] } }),
      `${v0}.secret.items[0].path: Invalid value: "..x": must not start with '..'`,
    ],
    [vol({ configMap: { name: '' } }), `${v0}.configMap.name: Required value`],
    [
      vol({ configMap: { name: 'c', items: [{ key: 'k', path: '/p' }] } }),
      `${v0}.configMap.items[0].path: Invalid value: "/p": must be a relative path`,
    ],
    [
      vol({ configMap: { name: 'c', items: [{ key: 'k', path: 'p', mode: -1 }] } }),
      `${v0}.configMap.items[0].mode: Invalid value: -1: ${mode}`,
    ],
    [
      vol({ downwardAPI: { items: [{ path: 'p' }] } }),
      `${v0}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
    ],
    [
      vol({ downwardAPI: { items: [{ path: 'p', resourceFieldRef: { resource: 'limits.cpu' } }] } }),
      `${v0}.downwardAPI.resourceFieldRef.containerName: Required value`,
    ],
    [
      vol({ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'status.podIP' } }] } }),
      `${v0}.downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"`,
    ],
    [
      vol({ projected: { sources: [{ secret: { name: 'a' }, configMap: { name: 'b' } }] } }),
      `${v0}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
    ],
    [
      vol({ projected: { sources: [{ secret: { name: '' } }] } }),
      `${v0}.projected.sources[0].secret.name: Required value`,
    ],
    [
      vol({
        projected: {
          sources: [
            { secret: { name: 'a', items: [{ key: 'k', path: 'p' }] } },
            { configMap: { name: 'b', items: [{ key: 'k', path: 'p' }] } },
          ],
        },
      }),
      `${v0}.projected: Invalid value: "b": conflicting duplicate paths`,
    ],
    [
      vol({ projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 10 } }] } }),
      `${v0}.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes`,
      `${v0}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
    ],
    [
      vol({ projected: { sources: [{ clusterTrustBundle: { path: 'p' } }] } }),
      `${v0}.projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified`,
    ],
    [vol({ persistentVolumeClaim: { claimName: '' } }), `${v0}.persistentVolumeClaim.claimName: Required value`],
    [vol({ csi: { driver: '' } }), `${v0}.csi.driver: Required value`],
    [vol({ image: {} }), `${v0}.image.reference: Required value`],
    [
      vol({ image: { reference: 'x', pullPolicy: 'y' } }),
      `${v0}.image.pullPolicy: Unsupported value: "y": supported values: "Always", "IfNotPresent", "Never"`,
    ],
    [vol({ ephemeral: {} }), `${v0}.ephemeral.volumeClaimTemplate: Required value`],
    [
      vol({ ephemeral: { volumeClaimTemplate: { spec: {} } } }),
      `${v0}.ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required`,
      `${v0}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value`,
    ],
    [vol({ nfs: { server: 's', path: 'p' } }), `${v0}.nfs.path: Invalid value: "p": must be an absolute path`],
    [
      vol({ iscsi: { targetPortal: 'p', iqn: 'x', lun: 0 } }),
      `${v0}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
    ],
    [vol({ fc: {} }), `${v0}.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both`],
    [vol({ gitRepo: { repository: '' } }), `${v0}.gitRepo.repository: Required value`],
    [
      vol({ gcePersistentDisk: { pdName: 'x', partition: 256 } }),
      `${v0}.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive`,
    ],
    [vol({ rbd: { monitors: [], image: 'i' } }), `${v0}.rbd.monitors: Required value`],
    [
      vol({ flexVolume: { driver: 'd', options: { 'kubernetes.io/x': 'y' } } }),
      `${v0}.flexVolume.options[kubernetes.io/x]: Invalid value: "kubernetes.io/x": kubernetes.io and k8s.io namespaces are reserved`,
    ],
    [vol({ flocker: {} }), `${v0}.flocker: Required value: one of datasetName and datasetUUID is required`],
    [
      vol({ azureDisk: { diskName: 'd', diskURI: 'x' } }),
      `${v0}.azureDisk.diskURI: Unsupported value: "x": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`,
    ],
  ],
  resources: [
    [
      { [`${c0}.resources`]: { limits: { cpu: '1' }, requests: { cpu: '2' } } },
      `${c0}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
    ],
    [
      { [`${c0}.resources`]: { requests: { cpu: '-1' } } },
      `${c0}.resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
    ],
    [
      { [`${c0}.resources`]: { limits: { gpu: '1' } } },
      `${c0}.resources.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified`,
      `${c0}.resources.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers`,
      `${c0}.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified`,
      `${c0}.resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers`,
    ],
    [
      { [`${c0}.resources`]: { requests: { pods: '1' } } },
      `${c0}.resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers`,
    ],
    [
      { [`${c0}.resources`]: { limits: { 'x.io/gpu': '2' }, requests: { 'x.io/gpu': '1' } } },
      `${c0}.resources.requests: Invalid value: "1": must be equal to x.io/gpu limit of 2`,
    ],
    [
      { [`${c0}.resources`]: { requests: { 'x.io/gpu': '1' } } },
      `${c0}.resources.limits: Required value: Limit must be set for non overcommitable resources`,
    ],
    [
      { [`${c0}.resources`]: { limits: { 'hugepages-2Mi': '4Mi' } } },
      `${c0}.resources: Forbidden: HugePages require cpu or memory`,
    ],
    [
      { [`${c0}.resources`]: { limits: { cpu: '1', 'hugepages-2Mi': '3Mi' } } },
      `${c0}.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
      `${c0}.resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
    ],
    [
      { [`${c0}.resources`]: { claims: [{ name: 'c' }] } },
      `${c0}.resources.claims[0]: Not found: "c": must be one of the names in pod.spec.resourceClaims which is empty`,
    ],
    [
      {
        'spec.resourceClaims': [{ name: 'c', resourceClaimName: 'x' }],
        [`${c0}.resources`]: { claims: [{ name: 'c' }, { name: 'c' }] },
      },
      `${c0}.resources.claims[1]: Duplicate value: "c"`,
    ],
    [
      { 'spec.resourceClaims': [{ name: 'c' }] },
      'spec.resourceClaims[0]: Invalid value: {"Name":"c","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
    ],
    [{ 'spec.resourceClaims': [{ name: '', resourceClaimName: 'x' }] }, 'spec.resourceClaims[0].name: Required value'],
    [
      { 'spec.resources': { requests: { cpu: '1' } }, [`${c0}.resources`]: { requests: { cpu: '2' } } },
      'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
    ],
    [
      { 'spec.resources': { limits: { 'ephemeral-storage': '1Gi' } } },
      'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
    ],
    [
      {
        'spec.resources': { limits: { cpu: '1' } },
        [`${c0}.resources`]: { limits: { cpu: '2' }, requests: { cpu: '1' } },
      },
      'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
    ],
    [
      { 'spec.overhead': { gpu: '1' } },
      'spec.overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
      'spec.overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
    ],
  ],
  'security context': [
    [{ 'spec.securityContext.fsGroup': -1 }, `spec.securityContext.fsGroup: Invalid value: -1: ${id}`],
    [{ 'spec.securityContext.runAsUser': -1 }, `spec.securityContext.runAsUser: Invalid value: -1: ${id}`],
    [
      { 'spec.securityContext.supplementalGroups': [1, 4294967296] },
      `spec.securityContext.supplementalGroups[1]: Invalid value: 4294967296: ${id}`,
    ],
    [
      { 'spec.shareProcessNamespace': true, 'spec.hostPID': true },
      'spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled',
    ],
    [
      { 'spec.securityContext.sysctls': [{ name: '', value: '1' }] },
      'spec.securityContext.sysctls[0].name: Required value',
    ],
    [
      {
        'spec.securityContext.sysctls': [
          { name: 'a', value: '1' },
          { name: 'a', value: '1' },
        ],
      },
      'spec.securityContext.sysctls[1].name: Duplicate value: "a"',
    ],
    [
      { 'spec.securityContext.sysctls': [{ name: 'A', value: '1' }] },
      'spec.securityContext.sysctls[0].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
    ],
    [
      { 'spec.hostNetwork': true, 'spec.securityContext.sysctls': [{ name: 'net/ipv4/tcp_syncookies', value: '1' }] },
      `spec.securityContext.sysctls[0].name: Invalid value: "net/ipv4/tcp_syncookies": may not be specified when 'hostNetwork' is true`,
    ],
    [
      { 'spec.hostIPC': true, 'spec.securityContext.sysctls': [{ name: 'kernel.sem', value: '1' }] },
      `spec.securityContext.sysctls[0].name: Invalid value: "kernel.sem": may not be specified when 'hostIPC' is true`,
    ],
    [
      { 'spec.securityContext.fsGroupChangePolicy': 'x' },
      'spec.securityContext.fsGroupChangePolicy: Unsupported value: "x": supported values: "Always", "OnRootMismatch"',
    ],
    [
      { 'spec.securityContext.supplementalGroupsPolicy': 'x' },
      'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "x": supported values: "Merge", "Strict"',
    ],
    [
      { 'spec.securityContext.seLinuxChangePolicy': 'x' },
      'spec.securityContext.seLinuxChangePolicy: Unsupported value: "x": supported values: "MountOption", "Recursive"',
    ],
    [
      { 'spec.securityContext.seccompProfile': {} },
      'spec.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set',
    ],
    [
      { 'spec.securityContext.seccompProfile': { type: 'Localhost' } },
      'spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
    ],
    [
      { 'spec.securityContext.seccompProfile': { type: 'x' } },
      'spec.securityContext.seccompProfile.type: Unsupported value: "x": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
    ],
    [
      { [`${c0}.securityContext.seccompProfile`]: { type: 'Localhost', localhostProfile: '../x' } },
      `${c0}.securityContext.seccompProfile.localhostProfile: Invalid value: "../x": must not contain '..'`,
    ],
    [
      { [`${c0}.securityContext.appArmorProfile`]: { type: 'RuntimeDefault', localhostProfile: 'x' } },
      `${c0}.securityContext.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost`,
    ],
    [
      { [`${c0}.securityContext.appArmorProfile`]: { type: 'Localhost', localhostProfile: ' x' } },
      `${c0}.securityContext.appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with whitespace`,
    ],
    [
      { [`${c0}.securityContext.procMount`]: 'Unmasked' },
      `${c0}.securityContext.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false to use \`Unmasked\``,
    ],
    [
      { [`${c0}.securityContext.procMount`]: 'x' },
      `${c0}.securityContext.procMount: Unsupported value: "x": supported values: "Default", "Unmasked"`,
    ],
    [
      { [`${c0}.securityContext`]: { privileged: true, allowPrivilegeEscalation: false } },
      `${c0}.securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set \`allowPrivilegeEscalation\` to false and \`privileged\` to true`,
    ],
    [
      {
        'metadata.annotations': { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined' },
        [`${c0}.securityContext.appArmorProfile`]: { type: 'RuntimeDefault' },
      },
      `${c0}.securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match`,
    ],
    [
      { 'spec.os.name': 'linux', [`${c0}.securityContext.windowsOptions`]: {} },
      `${c0}.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod`,
    ],
    [{ 'spec.os.name': 'windows', 'spec.hostPID': true }, 'spec.hostPID: Forbidden: cannot be set for a windows pod'],
    [
      { 'spec.os.name': 'windows', 'spec.hostUsers': false },
      'spec.hostUsers: Forbidden: cannot be set for a windows pod',
    ],
    [
      { 'spec.os.name': 'windows', 'spec.shareProcessNamespace': false },
      'spec.shareProcessNamespace: Forbidden: cannot be set for a windows pod',
    ],
    [
      { 'spec.securityContext.seccompProfile': { type: 'RuntimeDefault', localhostProfile: 'x' } },
      'spec.securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"RuntimeDefault","LocalhostProfile":"x"}: can only be set when seccomp type is Localhost',
    ],
    [
      { 'spec.securityContext.windowsOptions': { runAsUserName: 'a\\b\\c' } },
      'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
    ],
    [
      { 'spec.securityContext.windowsOptions': { runAsUserName: 'a\tb' } },
      'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\tb": runAsUserName cannot contain control characters',
    ],
    [
      { 'spec.securityContext.windowsOptions': { runAsUserName: '.d\\u' } },
      `spec.securityContext.windowsOptions.runAsUserName: Invalid value: ".d\\\\u": runAsUserName's Domain doesn't match the NetBios nor the DNS format`,
    ],
    [
      { 'spec.securityContext.windowsOptions': { runAsUserName: 'd\\' } },
      `spec.securityContext.windowsOptions.runAsUserName: Invalid value: "d\\\\": runAsUserName's User cannot be empty`,
    ],
    [
      { 'spec.securityContext.windowsOptions': { runAsUserName: '. .' } },
      `spec.securityContext.windowsOptions.runAsUserName: Invalid value: ". .": runAsUserName's User cannot contain only periods or spaces`,
    ],
    [
      { 'spec.securityContext.windowsOptions': { runAsUserName: 'a@b' } },
      `spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a@b": runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`,
    ],
    [
      { 'spec.securityContext.windowsOptions': { hostProcess: true } },
      'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
    ],
    [{ 'spec.os.name': 'plan9' }, 'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
    [{ 'spec.os': {} }, 'spec.os.name: Required value'],
    [{ 'spec.hostUsers': false, 'spec.hostNetwork': true }, 'spec.hostNetwork: Forbidden: when `hostUsers` is false'],
    [{ 'spec.hostUsers': false, 'spec.hostPID': true }, 'spec.HostPID: Forbidden: when `hostUsers` is false'],
  ],
  scheduling: [
    [{ 'spec.nodeSelector': { 'a b': 'c' } }, `spec.nodeSelector: Invalid value: "a b": ${qualified}`],
    [
      { 'spec.tolerations': [{ operator: 'Equal' }] },
      'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
    [
      { 'spec.tolerations': [{ key: 'a', operator: 'Exists', value: 'x' }] },
      `spec.tolerations[0].operator: Invalid value: "x": value must be empty when \`operator\` is 'Exists'`,
    ],
    [
      { 'spec.tolerations': [{ key: 'a', operator: 'Like' }] },
      'spec.tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists"',
    ],
    [
      { 'spec.tolerations': [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }] },
      `spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when \`tolerationSeconds\` is set`,
    ],
    [
      { 'spec.tolerations': [{ key: 'a', effect: 'No' }] },
      'spec.tolerations[0].effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
    [
      { 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution': { nodeSelectorTerms: [] } },
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
    ],
    [
      {
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution': {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In' }] }],
        },
      },
      `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
    ],
    [
      {
        'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution': {
          nodeSelectorTerms: [{ matchFields: [{ key: 'spec.x', operator: 'In', values: ['a'] }] }],
        },
      },
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "spec.x": not a valid field selector key',
    ],
    [
      { 'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution': [{ weight: 0, preference: {} }] },
      'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100',
    ],
    [
      {
        'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution': [
          { labelSelector: { matchExpressions: [{ key: 'a', operator: 'x' }] }, topologyKey: 'z' },
        ],
      },
      'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator',
    ],
    [
      {
        'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution': [
          { matchLabelKeys: ['a'], topologyKey: 'z' },
        ],
      },
      'spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
    ],
    [
      { 'spec.topologySpreadConstraints': [{ maxSkew: 0, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' }] },
      'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
    ],
    [
      { 'spec.topologySpreadConstraints': [{ maxSkew: 1, topologyKey: '', whenUnsatisfiable: 'DoNotSchedule' }] },
      'spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty',
    ],
    [
      { 'spec.topologySpreadConstraints': [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'x' }] },
      'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "x": supported values: "DoNotSchedule", "ScheduleAnyway"',
    ],
    [
      {
        'spec.topologySpreadConstraints': [
          { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 1 },
        ],
      },
      'spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
    ],
    [
      {
        'spec.topologySpreadConstraints': Array(2).fill({
          maxSkew: 1,
          topologyKey: 'z',
          whenUnsatisfiable: 'ScheduleAnyway',
        }),
      },
      'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, ScheduleAnyway}"',
    ],
    [
      { 'spec.nodeName': 'n', 'spec.schedulingGates': [{ name: 'a' }] },
      'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
    ],
    [{ 'spec.schedulingGates': [{ name: 'a' }, { name: 'a' }] }, 'spec.schedulingGates[1]: Duplicate value: "a"'],
    [
      { 'spec.schedulingGroup': {} },
      'spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`',
    ],
  ],
  'rest of the spec': [
    [
      { 'spec.restartPolicy': 'x' },
      'spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"',
    ],
    [
      { 'spec.dnsPolicy': 'x' },
      'spec.dnsPolicy: Unsupported value: "x": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ],
    [{ 'spec.dnsPolicy': 'None' }, 'spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    [
      { 'spec.dnsPolicy': 'None', 'spec.dnsConfig': {} },
      'spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
    ],
    [
      { 'spec.dnsConfig.nameservers': ['x'] },
      'spec.dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      { 'spec.dnsConfig.nameservers': ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] },
      'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more than 3 nameservers',
    ],
    [{ 'spec.dnsConfig.options': [{ value: 'x' }] }, 'spec.dnsConfig.options[0]: Required value: must not be empty'],
    [
      { 'spec.hostAliases': [{ ip: '300.1.1.1' }] },
      'spec.hostAliases[0].ip: Invalid value: "300.1.1.1": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      { 'spec.hostAliases': [{ ip: '::1', hostnames: ['A'] }] },
      `spec.hostAliases[0].hostnames[0]: Invalid value: "A": ${subdomain}`,
    ],
    [
      { 'spec.activeDeadlineSeconds': 0 },
      'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive',
    ],
    [{ 'spec.hostname': 'a.b' }, 'spec.hostname: Invalid value: "a.b": must not contain dots'],
    [{ 'spec.subdomain': 'A' }, `spec.subdomain: Invalid value: "A": ${label}`],
    [
      { 'spec.hostnameOverride': 'x', 'spec.hostNetwork': true },
      'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
    ],
    [
      { 'spec.hostnameOverride': 'x', 'spec.setHostnameAsFQDN': true },
      'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
    ],
    [{ 'spec.hostnameOverride': 'x'.repeat(65) }, 'spec.hostnameOverride: Too long: may not be more than 64 bytes'],
    [{ 'spec.serviceAccountName': 'A' }, `spec.serviceAccountName: Invalid value: "A": ${subdomain}`],
    [{ 'spec.nodeName': 'A' }, `spec.nodeName: Invalid value: "A": ${subdomain}`],
    [{ 'spec.priorityClassName': 'A' }, `spec.priorityClassName: Invalid value: "A": ${subdomain}`],
    [{ 'spec.runtimeClassName': '' }, `spec.runtimeClassName: Invalid value: "": ${subdomain}`],
    [
      { 'spec.preemptionPolicy': 'x' },
      'spec.preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"',
    ],
    [
      { 'spec.readinessGates': [{ conditionType: 'a b' }] },
      `spec.readinessGates[0].conditionType: Invalid value: "a b": ${qualified}`,
    ],
  ],
};

for (const [group, cases] of Object.entries(groups)) {
  describe(`validatePod refuses wrong ${group}`, () => {
    for (const [changes, ...expected] of cases) {
      test(`${expected[0]?.slice(0, 110)}`, () => {
        assert.deepEqual(validatePod(buildPod(changes)).map(formatFieldError), expected);
      });
    }
  });
}

test('the table holds at least 150 invalid pods', () => {
  assert.ok(Object.values(groups).flat().length >= 150, String(Object.values(groups).flat().length));
});

test('several errors are printed as the API server prints them, each once', () => {
  const errors = validatePod(buildPod({ [`${c0}.image`]: '', 'spec.restartPolicy': 'x' }));
  assert.equal(
    formatInvalid('Pod', 'web', [...errors, ...errors]),
    'Pod "web" is invalid: [spec.containers[0].image: Required value, spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"]',
  );
  assert.equal(
    formatInvalid('Pod', 'web', errors.slice(0, 1)),
    'Pod "web" is invalid: spec.containers[0].image: Required value',
  );
});

test('a pod that was not defaulted lacks what defaulting gives', () => {
  const texts = validatePod(buildPod({}, { defaulted: false })).map(formatFieldError);
  assert.deepEqual(texts, [
    'spec.terminationGracePeriodSeconds: Required value',
    'spec.containers[0].terminationMessagePolicy: Required value',
    'spec.containers[0].imagePullPolicy: Required value',
    'spec.restartPolicy: Required value',
    'spec.dnsPolicy: Required value',
  ]);
});
