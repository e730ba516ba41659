import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadManifest } from '../manifest/load-manifest.ts';
import { inDefaultNamespace, validateObject } from '../manifest/manifest-kinds.ts';
import { formatManifestError } from '../manifest/manifest-error.ts';
import { formatFieldError } from './field-error.ts';
import { permissivePolicy } from './cluster-policy.ts';
import { validatePod } from './pod/validate-pod.ts';

const examples = `
apiVersion: v1
kind: Pod
metadata: {name: everything, namespace: default, labels: {app: web, example.com/tier: "1"}, annotations: {Example.com/Note: "any text"}}
spec:
  serviceAccountName: sa
  securityContext: {runAsUser: 1000, fsGroup: 2000, fsGroupChangePolicy: OnRootMismatch, supplementalGroupsPolicy: Strict, seccompProfile: {type: RuntimeDefault}, sysctls: [{name: net.ipv4.tcp_syncookies, value: "1"}]}
  dnsPolicy: None
  dnsConfig: {nameservers: [1.1.1.1, "2606:4700::1111", "2001:db8::1"], searches: [a.example, _x.b, .], options: [{name: ndots, value: "2"}]}
  hostAliases: [{ip: 127.0.0.1, hostnames: [foo.local]}]
  tolerations: [{operator: Exists}, {key: a, value: b, effect: NoExecute, tolerationSeconds: 5}]
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}, {key: cores, operator: Gt, values: ["4"]}], matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}]
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 2, labelSelector: {}}]
  readinessGates: [{conditionType: example.com/ready}]
  os: {name: linux}
  resources: {limits: {cpu: "4", memory: 2Gi}}
  initContainers:
  - {name: setup, image: busybox:1, command: [sh, -c, "true"], volumeMounts: [{name: scratch, mountPath: /s}]}
  - name: sidecar
    image: registry.example:5000/a/b@sha256:${'0'.repeat(64)}
    restartPolicy: Always
    startupProbe: {grpc: {port: 9000}}
    lifecycle: {preStop: {sleep: {seconds: 0}}}
  containers:
  - name: main
    image: nginx
    ports: [{containerPort: 80, name: http, hostPort: 8080}, {containerPort: 80, name: quic, protocol: UDP, hostPort: 8080}]
    env:
    - {name: my.var, value: x}
    - {name: "1 odd name", value: x}
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: L, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
    - {name: F, valueFrom: {fileKeyRef: {volumeName: scratch, path: env, key: K}}}
    envFrom: [{prefix: P_, configMapRef: {name: c}}, {secretRef: {name: s, optional: true}}]
    resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: "1", memory: 128Mi, ephemeral-storage: 1Gi, example.com/gpu: "1"}}
    livenessProbe: {httpGet: {port: http, httpHeaders: [{name: X-A, value: b}]}, terminationGracePeriodSeconds: 5}
    readinessProbe: {tcpSocket: {port: 80}, successThreshold: 2}
    lifecycle: {postStart: {exec: {command: ["true"]}}, stopSignal: SIGUSR1}
    securityContext: {privileged: true, capabilities: {add: [NET_ADMIN]}, procMount: Default, appArmorProfile: {type: Localhost, localhostProfile: mine}}
    restartPolicy: OnFailure
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
    resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
    volumeMounts:
    - {name: scratch, mountPath: /s, subPath: a/b}
    - {name: host, mountPath: /h, readOnly: true, recursiveReadOnly: Enabled}
    - {name: host, mountPath: /h2, mountPropagation: Bidirectional}
    volumeDevices: [{name: block, devicePath: /dev/x}]
  volumes:
  - {name: scratch, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
  - {name: host, hostPath: {path: /var/lib/x, type: DirectoryOrCreate}}
  - {name: block, persistentVolumeClaim: {claimName: c}}
  - {name: conf, configMap: {name: c, defaultMode: 0400, items: [{key: k, path: dir/..data}]}}
  - {name: img, image: {reference: busybox}}
  - {name: eph, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}
  - name: all
    projected:
      sources:
      - {secret: {name: s}}
      - {serviceAccountToken: {path: token}}
      - {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}, {path: cpu, resourceFieldRef: {containerName: main, resource: requests.cpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: on-the-host, namespace: kube-system}
spec: {hostNetwork: true, hostPID: true, priorityClassName: system-node-critical, priority: 2000001000, containers: [{name: a, image: x, ports: [{containerPort: 6443}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: own-users, namespace: default}
spec: {hostUsers: false, restartPolicy: Never, activeDeadlineSeconds: 5, containers: [{name: a, image: x, securityContext: {procMount: Unmasked}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: default}
data: {app.conf: "a = b", on: "1"}
binaryData: {bin: AAEC}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: default}
type: kubernetes.io/basic-auth
stringData: {username: me}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce, ReadOnlyMany]
  claimRef: {namespace: default, name: claim}
  storageClassName: slow
  mountOptions: [noatime]
  volumeMode: Filesystem
  local: {path: /srv/disk}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [here]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], volumeName: pv, storageClassName: slow, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  clusterIP: 10.0.0.7
  selector: {app: web}
  sessionAffinity: ClientIP
  ports: [{name: http, port: 80, targetPort: http}, {name: dns, port: 53, protocol: UDP, appProtocol: example.com/dns}]
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: small}
handler: runc
overhead: {podFixed: {memory: 10Mi, cpu: 10m}}
scheduling: {nodeSelector: {runtime: small}, tolerations: [{key: runtime, operator: Exists}]}
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: csi.example.com}
spec: {attachRequired: false, podInfoOnMount: true, volumeLifecycleModes: [Persistent, Ephemeral], tokenRequests: [{audience: me, expirationSeconds: 3600}]}
`;

test('examples that use nearly every field are read without a warning and are valid', () => {
  const { pods, objects, errors, warnings } = loadManifest(examples, { fileName: 'examples.yaml' });
  assert.deepEqual([...errors, ...warnings].map(formatManifestError), []);
  assert.deepEqual(
    [pods.length, objects.map(({ kind }) => kind)],
    [3, ['ConfigMap', 'Secret', 'PersistentVolume', 'PersistentVolumeClaim', 'Service', 'RuntimeClass', 'CSIDriver']],
  );
  assert.deepEqual(pods.flatMap((pod) => validatePod(pod, permissivePolicy)).map(formatFieldError), []);
  assert.deepEqual(objects.flatMap((entry) => validateObject(inDefaultNamespace(entry))).map(formatFieldError), []);
});
