// The add-ons that a cluster needs first run on the host's network: network plugins, address announcers, ingress
// controllers. Their templates only contain container ports, and rely on the API server to set the same host ports in
// each pod.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

const everywhere = 'tolerations: [{operator: Exists, effect: NoSchedule}, {operator: Exists, effect: NoExecute}]';

const networkPlugin = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: overlay, labels: {tier: node, app: overlay}}
spec:
  selector: {matchLabels: {app: overlay}}
  template:
    metadata: {labels: {tier: node, app: overlay}}
    spec:
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]}}}
      hostNetwork: true
      priorityClassName: system-node-critical
      ${everywhere}
      initContainers:
      - {name: install-plugin, image: registry.example/overlay-cni:1, command: [cp], args: [-f, /overlay, /opt/cni/bin/overlay], volumeMounts: [{name: plugins, mountPath: /opt/cni/bin}]}
      - {name: install-config, image: registry.example/overlay:1, command: [cp], args: [/etc/overlay/cni.conflist, /etc/cni/net.d/10-overlay.conflist], volumeMounts: [{name: cni, mountPath: /etc/cni/net.d}]}
      containers:
      - name: overlayd
        image: registry.example/overlay:1
        args: [--ip-masq, --metrics-port=9777]
        ports: [{name: metrics, containerPort: 9777}]
        resources: {requests: {cpu: 100m, memory: 50Mi}}
        securityContext: {privileged: false, capabilities: {add: [NET_ADMIN, NET_RAW]}}
        env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        volumeMounts: [{name: run, mountPath: /run/overlay}, {name: xtables-lock, mountPath: /run/xtables.lock}]
      volumes:
      - {name: run, hostPath: {path: /run/overlay}}
      - {name: plugins, hostPath: {path: /opt/cni/bin}}
      - {name: cni, hostPath: {path: /etc/cni/net.d}}
      - {name: xtables-lock, hostPath: {path: /run/xtables.lock, type: FileOrCreate}}
`;

const announcer = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: announcer}
spec:
  selector: {matchLabels: {component: announcer}}
  updateStrategy: {type: RollingUpdate}
  template:
    metadata: {labels: {component: announcer}, annotations: {prometheus.io/port: "7472", prometheus.io/scrape: "true"}}
    spec:
      hostNetwork: true
      nodeSelector: {kubernetes.io/os: linux}
      terminationGracePeriodSeconds: 2
      ${everywhere}
      containers:
      - name: announcer
        image: registry.example/announcer:1
        args: [--port=7472, --log-level=info]
        env:
        - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: MEMBER_ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        ports:
        - {name: monitoring, containerPort: 7472}
        - {name: members-tcp, containerPort: 7946}
        - {name: members-udp, containerPort: 7946, protocol: UDP}
        livenessProbe: {httpGet: {path: /metrics, port: monitoring}, initialDelaySeconds: 10}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL], add: [NET_RAW]}}
`;

const ingress = (kind: 'DaemonSet' | 'Deployment'): string => `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: ingress, labels: {app: ingress}}
spec:
  selector: {matchLabels: {app: ingress}}
  template:
    metadata: {labels: {app: ingress}}
    spec:
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      containers:
      - name: controller
        image: registry.example/ingress:1
        args: [/controller, --election-id=ingress-leader]
        ports:
        - {name: http, containerPort: 80}
        - {name: https, containerPort: 443}
        - {name: webhook, containerPort: 8443}
        lifecycle: {preStop: {exec: {command: [/wait-shutdown]}}}
        readinessProbe: {httpGet: {path: /healthz, port: 10254}, periodSeconds: 10}
        securityContext: {runAsUser: 101, allowPrivilegeEscalation: true, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}
`;

const oneShot = `
apiVersion: batch/v1
kind: Job
metadata: {name: check-port}
spec: {template: {spec: {hostNetwork: true, restartPolicy: Never, containers: [{name: main, image: registry.example/check:1, ports: [{containerPort: 9999}]}]}}}
`;

describe('templates on the network of the host', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster({ nodes: 2 });
  });
  after(() => cluster.stop());

  /** The container ports and host ports of the pods that a selector selects. */
  const portsOf = async (selector: string): Promise<string[]> => {
    const path = '{range .items[*].spec.containers[*].ports[*]}{.containerPort}:{.hostPort}/{.protocol}{"\\n"}{end}';
    return [
      ...new Set((await cluster.kubectl(['get', 'pods', '-l', selector, '-o', `jsonpath=${path}`])).trim().split('\n')),
    ].sort();
  };

  const rolledOut = [
    ['a network plugin', networkPlugin, 'daemonset/overlay', 'app=overlay', ['9777:9777/TCP']],
    [
      'an announcer of addresses',
      announcer,
      'daemonset/announcer',
      'component=announcer',
      ['7472:7472/TCP', '7946:7946/TCP', '7946:7946/UDP'],
    ],
    [
      'ingress on every node',
      ingress('DaemonSet'),
      'daemonset/ingress',
      'app=ingress',
      ['443:443/TCP', '80:80/TCP', '8443:8443/TCP'],
    ],
    [
      'ingress as a deployment',
      ingress('Deployment'),
      'deployment/ingress',
      'app=ingress',
      ['443:443/TCP', '80:80/TCP', '8443:8443/TCP'],
    ],
  ] as const;
  for (const [name, manifest, object, selector, ports] of rolledOut) {
    it(`${name}: is applied as written, its pods run with the ports of the host, and applying it again changes nothing`, async () => {
      await cluster.kubectl(['apply', '-f', '-'], manifest);
      await cluster.kubectl(['rollout', 'status', object, '--timeout=60s']);
      assert.deepEqual(await portsOf(selector), ports);
      assert.match(await cluster.kubectl(['apply', '-f', '-'], manifest), /unchanged/);
      await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], manifest);
      await cluster.kubectl(['rollout', 'restart', object]);
      await cluster.kubectl(['delete', object]);
      await eventually(async () =>
        assert.equal(await cluster.kubectl(['get', 'pods', '-l', selector, '-o', 'name']), ''),
      );
    });
  }

  it('a job: likewise', async () => {
    await cluster.kubectl(['apply', '-f', '-'], oneShot);
    await eventually(async () => assert.deepEqual(await portsOf('job-name=check-port'), ['9999:9999/TCP']));
  });
});
