import {
  testRefusals,
  c0,
  i0,
  init,
  tcp,
  vol,
  label,
  subdomain,
  qualified,
  configKey,
  port,
} from '../testing/pod-refusals.ts';

testRefusals(
  {
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
          [`${c0}.restartPolicyRules`]: Array(21).fill({
            action: 'Restart',
            exitCodes: { operator: 'In', values: [1] },
          }),
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
      [
        { [`${c0}.ports`]: [{ containerPort: 80, hostPort: -1 }] },
        `${c0}.ports[0].hostPort: Invalid value: -1: ${port}`,
      ],
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
            {
              name: 'A',
              valueFrom: { fieldRef: { fieldPath: 'metadata.name' }, secretKeyRef: { name: 's', key: 'k' } },
            },
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
          [`${c0}.env`]: [
            { name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '2Mi' } } },
          ],
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
      [
        { [`${c0}.volumeMounts`]: [{ name: 'gone', mountPath: '/x' }] },
        `${c0}.volumeMounts[0].name: Not found: "gone"`,
      ],
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
      [
        { [`${c0}.lifecycle`]: { preStop: {} } },
        `${c0}.lifecycle.preStop: Required value: must specify a handler type`,
      ],
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
  },
  89,
);
