// What the API server fills in, per kind: the sparsest object that a client may write, and one whose fields are all set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoleBinding } from '../rbac/role-binding.ts';
import { defaultAdmissionPolicy, defaultPolicyBinding } from './default-admission-policies.ts';
import { defaultDaemonSet, defaultDeployment, defaultReplicaSet } from './default-apps.ts';
import { defaultHorizontalPodAutoscaler, defaultV1Autoscaler } from './default-autoscaling.ts';
import { defaultConfigMap, defaultSecret } from './default-config.ts';
import { defaultCronJob } from './default-cron-job.ts';
import { defaultCustomResourceDefinition } from './default-custom-resource-definition.ts';
import { defaultEndpoints, defaultEndpointSlice } from './default-endpoints.ts';
import { defaultFlowSchema, defaultPriorityLevel } from './default-flow-control.ts';
import { defaultJob } from './default-job.ts';
import { defaultLimitRange } from './default-limit-range.ts';
import { defaultNamespace } from './default-namespace.ts';
import { defaultIngressClass, defaultNetworkPolicy } from './default-networking.ts';
import { defaultBinding } from './default-rbac.ts';
import { defaultReplicationController, defaultStoredPodTemplate } from './default-replication-controller.ts';
import { defaultResourceClaim, defaultResourceClaimTemplate } from './default-resource.ts';
import { defaultResourceQuota } from './default-resource-quota.ts';
import { defaultRuntimeClass } from './default-runtime-class.ts';
import { defaultService, isExternallyReachable, withClusterIps } from './default-service.ts';
import { defaultStatefulSet } from './default-stateful-set.ts';
import { defaultCsiDriver, defaultPersistentVolume, defaultPersistentVolumeClaim } from './default-storage.ts';
import { defaultVolumeInPlace } from './default-volume.ts';
import { defaultMutatingWebhooks, defaultValidatingWebhooks } from './default-webhooks.ts';

/** The objects in tests are as incomplete as those of clients, which the types of stored objects do not allow. */
function defaultsOf<T>(apply: (object: T) => T, object: object): unknown {
  const before = structuredClone(object);
  const once = apply(object as T);
  assert.deepEqual(object, before, 'the argument is not changed');
  assert.deepEqual(apply(once), once, 'twice is once');
  return once;
}
const specOf = (object: unknown): unknown => (object as { readonly spec: unknown }).spec;
const specs =
  <T>(apply: (object: T) => T) =>
  (spec: object): unknown =>
    specOf(defaultsOf(apply, { metadata: {}, spec }));

const sparse = { metadata: { labels: { app: 'x' } }, spec: { containers: [] } };
const template = {
  metadata: { labels: { app: 'x' } },
  spec: {
    containers: [],
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  },
};

test('Deployments, ReplicaSets and DaemonSets roll out a quarter of their pods at a time, or one', () => {
  const [deployment, set, daemons] = [specs(defaultDeployment), specs(defaultReplicaSet), specs(defaultDaemonSet)];
  const kept = { revisionHistoryLimit: 10, template };
  assert.deepEqual(
    [
      deployment({ template: sparse }),
      deployment({
        template: sparse,
        replicas: 0,
        strategy: { type: '', rollingUpdate: { maxSurge: 0 } },
        revisionHistoryLimit: 0,
        progressDeadlineSeconds: 0,
      }),
      deployment({ template: sparse, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0 } } }),
      deployment({ template: sparse, strategy: { type: 'Recreate' } }),
      set({ template: sparse }),
      set({ template: sparse, replicas: 0 }),
      daemons({ template: sparse }),
      daemons({ template: sparse, updateStrategy: { type: '', rollingUpdate: { maxUnavailable: 2, maxSurge: 3 } } }),
      daemons({ template: sparse, updateStrategy: { type: 'OnDelete' }, revisionHistoryLimit: 0 }),
    ],
    [
      {
        ...kept,
        replicas: 1,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
        progressDeadlineSeconds: 600,
      },
      {
        template,
        replicas: 0,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: 0 } },
        revisionHistoryLimit: 0,
        progressDeadlineSeconds: 0,
      },
      {
        ...kept,
        replicas: 1,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: '25%' } },
        progressDeadlineSeconds: 600,
      },
      { ...kept, replicas: 1, strategy: { type: 'Recreate' }, progressDeadlineSeconds: 600 },
      { replicas: 1, template },
      { replicas: 0, template },
      { ...kept, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } } },
      { ...kept, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: 3 } } },
      { ...kept, updateStrategy: { type: 'OnDelete' }, revisionHistoryLimit: 0 },
    ],
  );
});

test('only a StatefulSet whose strategy has no type gets parameters of its rolling update', () => {
  const of = specs(defaultStatefulSet);
  const usual = {
    replicas: 1,
    template,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  };
  const claimed = { metadata: { name: 'data', namespace: '', uid: '' }, spec: {} };
  assert.deepEqual(
    [
      of({ template: sparse }),
      of({ template: sparse, updateStrategy: { type: '', rollingUpdate: { partition: 2, maxUnavailable: 1 } } }),
      of({ template: sparse, updateStrategy: { type: 'RollingUpdate' } }),
      of({ template: sparse, updateStrategy: { type: 'RollingUpdate', rollingUpdate: {} } }),
      of({
        template: sparse,
        replicas: 0,
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'OnDelete' },
        revisionHistoryLimit: 0,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
        volumeClaimTemplates: [claimed],
      }),
    ],
    [
      usual,
      { ...usual, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2, maxUnavailable: 1 } } },
      { ...usual, updateStrategy: { type: 'RollingUpdate' } },
      usual,
      {
        replicas: 0,
        template,
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'OnDelete' },
        revisionHistoryLimit: 0,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
        volumeClaimTemplates: [
          {
            apiVersion: 'v1',
            kind: 'PersistentVolumeClaim',
            metadata: { name: 'data' },
            spec: { volumeMode: 'Filesystem' },
            status: { phase: 'Pending' },
          },
        ],
      },
    ],
  );
  const placed = { metadata: { name: 'data', namespace: 'n', uid: 'u' }, spec: {} };
  const { volumeClaimTemplates } = of({ template: sparse, volumeClaimTemplates: [placed] }) as {
    volumeClaimTemplates: { metadata: object }[];
  };
  assert.deepEqual(volumeClaimTemplates[0]?.metadata, placed.metadata);
});

test('a Job without counts runs one pod, and its retries and replacements follow from its policies', () => {
  const of = specs(defaultJob);
  const usual = {
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: false,
    template,
  };
  const rule = (...statuses: string[]): object => ({
    action: 'Ignore',
    onPodConditions: statuses.map((status) => ({ type: 'DisruptionTarget', status })),
  });
  const onExit = { action: 'FailJob', onExitCodes: { operator: 'In', values: [1] } };
  const chosen = {
    completions: 3,
    parallelism: 0,
    backoffLimit: 0,
    completionMode: 'Indexed',
    suspend: true,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: true,
    podFailurePolicy: { rules: [] },
    template,
  };
  assert.deepEqual(
    [
      of({ template: sparse }),
      of({ template: sparse, completions: 2 }),
      of({ template: sparse, parallelism: 2 }),
      of({ template: sparse, completions: 1, backoffLimitPerIndex: 0 }),
      of({ template: sparse, completions: 1, podFailurePolicy: { rules: [rule('', 'False'), onExit] } }),
      of({ ...chosen, template: sparse }),
    ],
    [
      { ...usual, completions: 1 },
      { ...usual, completions: 2 },
      { ...usual, parallelism: 2 },
      { ...usual, completions: 1, backoffLimitPerIndex: 0, backoffLimit: 2_147_483_647 },
      {
        ...usual,
        completions: 1,
        podReplacementPolicy: 'Failed',
        podFailurePolicy: { rules: [rule('True', 'False'), onExit] },
      },
      chosen,
    ],
  );
  const labelsOf = (metadata: object, own: object = sparse): unknown =>
    (defaultsOf(defaultJob, { metadata, spec: { template: own } }) as { metadata: { labels?: object } }).metadata
      .labels;
  assert.deepEqual(
    [
      labelsOf({}),
      labelsOf({ labels: {} }),
      labelsOf({ labels: { a: 'b' } }),
      labelsOf({}, { ...sparse, metadata: {} }),
    ],
    [{ app: 'x' }, { app: 'x' }, { a: 'b' }, undefined],
  );
});

test('a CronJob keeps three successful Jobs and one failed one', () => {
  const of = specs(defaultCronJob);
  const rules = (status: string): object => ({
    rules: [{ action: 'Ignore', onPodConditions: [{ type: 'a', status }] }],
  });
  assert.deepEqual(
    [
      of({ jobTemplate: { metadata: { name: 'j' }, spec: { template: sparse } } }),
      of({
        concurrencyPolicy: 'Forbid',
        suspend: true,
        successfulJobsHistoryLimit: 0,
        failedJobsHistoryLimit: 0,
        jobTemplate: { spec: { template: sparse, podFailurePolicy: rules('') } },
      }),
    ],
    [
      {
        concurrencyPolicy: 'Allow',
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
        jobTemplate: { metadata: { name: 'j' }, spec: { template } },
      },
      {
        concurrencyPolicy: 'Forbid',
        suspend: true,
        successfulJobsHistoryLimit: 0,
        failedJobsHistoryLimit: 0,
        jobTemplate: { spec: { template, podFailurePolicy: rules('True') } },
      },
    ],
  );
});

test('a ReplicationController takes its labels and its selector from its template', () => {
  const labels = { app: 'x' };
  const of = (metadata: object, spec: object): unknown => defaultsOf(defaultReplicationController, { metadata, spec });
  assert.deepEqual(
    [
      of({}, { template: sparse }),
      of({ labels: { a: 'b' } }, { template: sparse, selector: { c: 'd' }, replicas: 0 }),
      of({ labels: {} }, { template: sparse, selector: {} }),
      of({}, {}),
    ],
    [
      { metadata: { labels }, spec: { replicas: 1, selector: labels, template } },
      { metadata: { labels: { a: 'b' } }, spec: { replicas: 0, selector: { c: 'd' }, template } },
      { metadata: { labels }, spec: { replicas: 1, selector: labels, template } },
      { metadata: {}, spec: { replicas: 1 } },
    ],
  );
  assert.deepEqual(defaultsOf(defaultStoredPodTemplate, { metadata: {}, template: sparse }), {
    metadata: {},
    template,
  });
});

test('a Service is of type ClusterIP without affinity, and the fields of its type follow', () => {
  const of = specs(defaultService);
  const usual = { sessionAffinity: 'None', type: 'ClusterIP', internalTrafficPolicy: 'Cluster' };
  const sticky = { clientIP: { timeoutSeconds: 10_800 } };
  assert.deepEqual(
    [
      of({}),
      of({ sessionAffinity: 'None', sessionAffinityConfig: sticky }),
      of({ sessionAffinity: 'ClientIP' }),
      of({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: {} } }),
      of({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }),
      of({
        ports: [
          { port: 80 },
          { port: 81, targetPort: 0 },
          { port: 82, targetPort: '', protocol: 'UDP' },
          { port: 83, targetPort: 'web' },
        ],
      }),
      of({ externalIPs: ['1.2.3.4'] }),
      of({ externalIPs: [] }),
      of({ type: 'NodePort' }),
      of({ type: 'NodePort', externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' }),
      of({ type: 'LoadBalancer' }),
      of({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }),
      of({ type: 'ExternalName', externalIPs: ['1.2.3.4'] }),
    ],
    [
      usual,
      usual,
      { ...usual, sessionAffinity: 'ClientIP', sessionAffinityConfig: sticky },
      { ...usual, sessionAffinity: 'ClientIP', sessionAffinityConfig: sticky },
      { ...usual, sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
      {
        ...usual,
        ports: [
          { port: 80, protocol: 'TCP', targetPort: 80 },
          { port: 81, protocol: 'TCP', targetPort: 81 },
          { port: 82, protocol: 'UDP', targetPort: 82 },
          { port: 83, protocol: 'TCP', targetPort: 'web' },
        ],
      },
      { ...usual, externalIPs: ['1.2.3.4'], externalTrafficPolicy: 'Cluster' },
      { ...usual, externalIPs: [] },
      { ...usual, type: 'NodePort', externalTrafficPolicy: 'Cluster' },
      { ...usual, type: 'NodePort', externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' },
      {
        ...usual,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Cluster',
        allocateLoadBalancerNodePorts: true,
      },
      {
        ...usual,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Cluster',
        allocateLoadBalancerNodePorts: false,
      },
      { sessionAffinity: 'None', type: 'ExternalName', externalIPs: ['1.2.3.4'] },
    ],
  );
  const ips = specs(withClusterIps);
  assert.deepEqual(
    [
      ips({}),
      ips({ clusterIP: 'None' }),
      ips({ clusterIP: '1.2.3.4', clusterIPs: ['5.6.7.8'] }),
      ips({ clusterIP: '' }),
    ],
    [
      {},
      { clusterIP: 'None', clusterIPs: ['None'] },
      { clusterIP: '1.2.3.4', clusterIPs: ['5.6.7.8'] },
      { clusterIP: '' },
    ],
  );
  assert.equal(isExternallyReachable({ metadata: { name: 's', namespace: '', uid: '' }, spec: {} }), false);
});

test('volumes and claims are file systems, and remote sources of PersistentVolumes have the defaults of those of pods', () => {
  const sources = {
    iscsi: {},
    rbd: {},
    azureDisk: {},
    scaleIO: {},
  };
  const filled = {
    iscsi: { iscsiInterface: 'default' },
    rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
    azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
    scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
  };
  const own = {
    hostPath: { path: '/x', type: 'Directory' },
    iscsi: { iscsiInterface: 'eth1' },
    rbd: { pool: 'p', user: 'u', keyring: 'k' },
    azureDisk: { cachingMode: 'None', fsType: '', readOnly: true, kind: 'Managed' },
    scaleIO: { storageMode: 'Thick', fsType: 'ext4' },
  };
  const volume = specs(defaultPersistentVolume);
  const usual = { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' };
  const chosen = { ...own, persistentVolumeReclaimPolicy: 'Delete', volumeMode: 'Block' };
  assert.deepEqual(
    [
      volume({}),
      volume({ ...sources, hostPath: { path: '/x' }, capacity: { storage: '1.5m' } }),
      volume(chosen),
      defaultsOf(defaultPersistentVolume, { metadata: {}, spec: chosen, status: { phase: 'Bound', message: 'm' } }),
    ],
    [
      usual,
      { ...usual, ...filled, hostPath: { path: '/x', type: '' }, capacity: { storage: '2m' } },
      chosen,
      { metadata: {}, spec: chosen, status: { phase: 'Bound', message: 'm' } },
    ],
  );
  const ofPod = (source: object): unknown => {
    const copy = structuredClone({ name: 'v', ...source });
    defaultVolumeInPlace(copy as Parameters<typeof defaultVolumeInPlace>[0]);
    return copy;
  };
  assert.deepEqual(
    [ofPod(sources), ofPod(own)],
    [
      { name: 'v', ...filled },
      { name: 'v', ...own },
    ],
  );
  const list = { limits: { storage: '100u' }, requests: { storage: '100u' } };
  assert.deepEqual(
    [
      defaultsOf(defaultPersistentVolumeClaim, { metadata: {}, spec: {} }),
      defaultsOf(defaultPersistentVolumeClaim, {
        metadata: {},
        spec: { volumeMode: 'Block', resources: list },
        status: { phase: 'Bound', capacity: { storage: '100u' }, allocatedResources: { storage: '200u' } },
      }),
    ],
    [
      { metadata: {}, spec: { volumeMode: 'Filesystem' }, status: { phase: 'Pending' } },
      {
        metadata: {},
        spec: { volumeMode: 'Block', resources: { limits: { storage: '1m' }, requests: { storage: '1m' } } },
        status: { phase: 'Bound', capacity: { storage: '1m' }, allocatedResources: { storage: '1m' } },
      },
    ],
  );
});

test('a volume of a pod is an emptyDir unless it names a source, whose files all may read', () => {
  const of = (source: object): unknown => {
    const copy = structuredClone({ name: 'v', ...source });
    defaultVolumeInPlace(copy as Parameters<typeof defaultVolumeInPlace>[0]);
    const { name: _, ...rest } = copy;
    return rest;
  };
  const file = { path: 'p', fieldRef: { fieldPath: 'metadata.name' } };
  const resource = { path: 'r', resourceFieldRef: { resource: 'limits.cpu' } };
  const files = [
    { path: 'p', fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } },
    { path: 'r', resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } },
  ];
  const kept = {
    downwardAPI: { defaultMode: 0, items: [{ path: 'p', fieldRef: { fieldPath: 'x', apiVersion: 'v2' } }] },
    projected: { defaultMode: 0, sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 600 } }] },
    secret: { defaultMode: 0 },
    configMap: { defaultMode: 0 },
    image: { reference: 'x', pullPolicy: 'Never' },
  };
  assert.deepEqual(
    [
      of({}),
      of({ csi: undefined }),
      of({ nfs: { server: 's', path: '/' } }),
      of({ image: { reference: 'x:1' } }),
      of({ image: {} }),
      of({ secret: {}, configMap: {}, downwardAPI: { items: [file, resource] } }),
      of({ downwardAPI: {} }),
      of({ projected: { sources: [{ downwardAPI: { items: [file] } }, { serviceAccountToken: { path: 't' } }] } }),
      of({ ephemeral: { volumeClaimTemplate: { spec: {} } } }),
      of({ ephemeral: {} }),
      of(kept),
    ],
    [
      { emptyDir: {} },
      { csi: undefined, emptyDir: {} },
      { nfs: { server: 's', path: '/' } },
      { image: { reference: 'x:1', pullPolicy: 'IfNotPresent' } },
      { image: { pullPolicy: 'IfNotPresent' } },
      {
        secret: { defaultMode: 0o644 },
        configMap: { defaultMode: 0o644 },
        downwardAPI: { defaultMode: 0o644, items: files },
      },
      { downwardAPI: { defaultMode: 0o644 } },
      {
        projected: {
          defaultMode: 0o644,
          sources: [
            { downwardAPI: { items: files.slice(0, 1) } },
            { serviceAccountToken: { path: 't', expirationSeconds: 3600 } },
          ],
        },
      },
      { ephemeral: { volumeClaimTemplate: { spec: { volumeMode: 'Filesystem' } } } },
      { ephemeral: {} },
      kept,
    ],
  );
});

test('a CSI driver attaches its volumes, and takes part in nothing else', () => {
  const usual = {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: ['Persistent'],
    requiresRepublish: false,
    seLinuxMount: false,
  };
  const other = {
    attachRequired: false,
    podInfoOnMount: true,
    storageCapacity: true,
    fsGroupPolicy: 'None',
    volumeLifecycleModes: ['Ephemeral'],
    requiresRepublish: true,
    seLinuxMount: true,
  };
  const of = specs(defaultCsiDriver);
  assert.deepEqual([of({}), of({ volumeLifecycleModes: [] }), of(other)], [usual, usual, other]);
});

test('texts of a Secret become its data, which they override', () => {
  assert.deepEqual(
    [
      defaultsOf(defaultSecret, { metadata: {} }),
      defaultsOf(defaultSecret, { metadata: {}, type: 'a', data: { a: 'MQ==', b: 'Mg==' }, stringData: { b: 'ü' } }),
      defaultsOf(defaultSecret, { metadata: {}, stringData: {} }),
      defaultsOf(defaultSecret, { metadata: {}, stringData: { a: '1' } }),
      defaultsOf(defaultConfigMap, { metadata: {} }),
      defaultsOf(defaultConfigMap, { metadata: {}, data: { a: 'b' } }),
    ],
    [
      { metadata: {}, type: 'Opaque' },
      { metadata: {}, type: 'a', data: { a: 'MQ==', b: 'w7w=' } },
      { metadata: {}, type: 'Opaque' },
      { metadata: {}, type: 'Opaque', data: { a: 'MQ==' } },
      { metadata: {}, data: {} },
      { metadata: {}, data: { a: 'b' } },
    ],
  );
});

test('limits of containers follow from the others: a maximum is a limit, and a limit or a minimum a request', () => {
  const of = (item: object): unknown =>
    (specs(defaultLimitRange)({ limits: [item] }) as { limits: unknown[] }).limits[0];
  assert.deepEqual(
    [
      of({ type: 'Container', max: { cpu: '4', memory: '1.5m' }, default: { cpu: '2' }, min: { cpu: '1', disk: '1' } }),
      of({ type: 'Container', default: { cpu: '2' }, defaultRequest: { cpu: '1' } }),
      of({ type: 'Pod', max: { cpu: '100u' }, min: { cpu: '100u' }, maxLimitRequestRatio: { cpu: '100u' } }),
    ],
    [
      {
        type: 'Container',
        max: { cpu: '4', memory: '2m' },
        min: { cpu: '1', disk: '1' },
        default: { cpu: '2', memory: '2m' },
        defaultRequest: { cpu: '2', memory: '2m', disk: '1' },
      },
      { type: 'Container', default: { cpu: '2' }, defaultRequest: { cpu: '1' } },
      { type: 'Pod', max: { cpu: '1m' }, min: { cpu: '1m' }, maxLimitRequestRatio: { cpu: '1m' } },
    ],
  );
});

test('quotas and overheads are rounded up to thousandths', () => {
  const list = { cpu: '100u' };
  const rounded = { cpu: '1m' };
  assert.deepEqual(
    [
      defaultsOf(defaultResourceQuota, { metadata: {}, spec: {} }),
      defaultsOf(defaultResourceQuota, { metadata: {}, spec: { hard: list }, status: { hard: list, used: list } }),
      defaultsOf(defaultResourceQuota, { metadata: {}, spec: {}, status: {} }),
      defaultsOf(defaultRuntimeClass, { metadata: {}, handler: 'h' }),
      defaultsOf(defaultRuntimeClass, { metadata: {}, handler: 'h', overhead: { podFixed: list } }),
    ],
    [
      { metadata: {}, spec: {} },
      { metadata: {}, spec: { hard: rounded }, status: { hard: rounded, used: rounded } },
      { metadata: {}, spec: {}, status: {} },
      { metadata: {}, handler: 'h' },
      { metadata: {}, handler: 'h', overhead: { podFixed: rounded } },
    ],
  );
});

test('an autoscaler without metrics keeps CPU at 80 percent of the requests, and its behavior is completed', () => {
  const of = specs(defaultHorizontalPodAutoscaler);
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } };
  const other = { type: 'Pods' };
  const percent = { type: 'Percent', value: 100, periodSeconds: 15 };
  const up = {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, percent],
  };
  const down = { selectPolicy: 'Max', policies: [percent] };
  assert.deepEqual(
    [
      of({}),
      of({ metrics: [], minReplicas: 0 }),
      of({ metrics: [other], behavior: {} }),
      of({ metrics: [other], behavior: { scaleUp: { policies: [] }, scaleDown: { selectPolicy: 'Disabled' } } }),
    ],
    [
      { minReplicas: 1, metrics: [cpu] },
      { minReplicas: 0, metrics: [cpu] },
      { minReplicas: 1, metrics: [other], behavior: { scaleUp: up, scaleDown: down } },
      {
        minReplicas: 1,
        metrics: [other],
        behavior: { scaleUp: { ...up, policies: [] }, scaleDown: { ...down, selectPolicy: 'Disabled' } },
      },
    ],
  );
  const v1 = (metadata: object, spec: object): unknown =>
    specOf(
      defaultsOf((object: Parameters<typeof defaultV1Autoscaler>[0]) => defaultV1Autoscaler(object, 'metrics'), {
        metadata,
        spec,
      }),
    );
  assert.deepEqual(
    [
      v1({}, {}),
      v1({ annotations: { metrics: '' } }, {}),
      v1({ annotations: { metrics: '[]' } }, { minReplicas: 0 }),
      v1({}, { targetCPUUtilizationPercentage: 50 }),
    ],
    [
      { minReplicas: 1, targetCPUUtilizationPercentage: 80 },
      { minReplicas: 1, targetCPUUtilizationPercentage: 80 },
      { minReplicas: 0 },
      { minReplicas: 1, targetCPUUtilizationPercentage: 50 },
    ],
  );
});

test('a network policy is about incoming traffic, and about outgoing traffic if it has rules for it', () => {
  const of = specs(defaultNetworkPolicy);
  const ports = [{ port: 53 }, { port: 53, protocol: 'UDP' }];
  const filled = [
    { port: 53, protocol: 'TCP' },
    { port: 53, protocol: 'UDP' },
  ];
  assert.deepEqual(
    [
      of({}),
      of({ ingress: [{}], egress: [] }),
      of({ ingress: [{ ports }], egress: [{ ports }] }),
      of({ egress: [{}], policyTypes: ['Egress'] }),
      of({ policyTypes: [] }),
    ],
    [
      { policyTypes: ['Ingress'] },
      { ingress: [{}], egress: [], policyTypes: ['Ingress'] },
      { ingress: [{ ports: filled }], egress: [{ ports: filled }], policyTypes: ['Ingress', 'Egress'] },
      { egress: [{}], policyTypes: ['Egress'] },
      { policyTypes: ['Ingress'] },
    ],
  );
  const parameters = specs(defaultIngressClass);
  assert.deepEqual(
    [
      parameters({}),
      parameters({ parameters: { name: 'p' } }),
      parameters({ parameters: { name: 'p', scope: 'Namespace' } }),
    ],
    [{}, { parameters: { name: 'p', scope: 'Cluster' } }, { parameters: { name: 'p', scope: 'Namespace' } }],
  );
});

test('ports of endpoints are TCP, and those of slices have a name', () => {
  const ports = [{ port: 1 }, { port: 2, name: 'a', protocol: 'UDP' }];
  assert.deepEqual(
    [
      defaultsOf(defaultEndpoints, { metadata: {} }),
      defaultsOf(defaultEndpoints, { metadata: {}, subsets: [{}, { ports }] }),
      defaultsOf(defaultEndpointSlice, { metadata: {}, endpoints: [{}, { conditions: { ready: true } }], ports }),
    ],
    [
      { metadata: {} },
      { metadata: {}, subsets: [{}, { ports: [{ port: 1, protocol: 'TCP' }, ports[1]] }] },
      {
        metadata: {},
        endpoints: [{ conditions: {} }, { conditions: { ready: true } }],
        ports: [{ port: 1, name: '', protocol: 'TCP' }, ports[1]],
      },
    ],
  );
});

test('a namespace is labelled with its name and active', () => {
  const named = { 'kubernetes.io/metadata.name': 'a' };
  assert.deepEqual(
    [
      defaultsOf(defaultNamespace, { metadata: { name: 'a' } }),
      defaultsOf(defaultNamespace, { metadata: { name: 'a', labels: { x: 'y' } }, status: { phase: 'Terminating' } }),
      defaultsOf(defaultNamespace, { metadata: { name: '' } }),
    ],
    [
      { metadata: { name: 'a', labels: named }, status: { phase: 'Active' } },
      { metadata: { name: 'a', labels: { x: 'y', ...named } }, status: { phase: 'Terminating' } },
      { metadata: { name: '' }, status: { phase: 'Active' } },
    ],
  );
});

test('flow schemas and priority levels get the numbers that they leave out or write as zero', () => {
  const level = specs(defaultPriorityLevel);
  const limited = (more: object, queuing?: object): object => ({
    ...more,
    limitResponse: { type: 'Queue', ...(queuing !== undefined && { queuing }) },
  });
  const schema = specs(defaultFlowSchema);
  assert.deepEqual(
    [
      schema({ matchingPrecedence: 0 }),
      schema({ matchingPrecedence: 7 }),
      level({ type: 'Limited' }),
      level({ exempt: {} }),
      level({ exempt: { nominalConcurrencyShares: 3, lendablePercent: 4 } }),
      level({ limited: limited({}) }),
      level({
        limited: limited(
          { nominalConcurrencyShares: 0, lendablePercent: 4 },
          { queues: 0, handSize: 0, queueLengthLimit: 0 },
        ),
      }),
      level({ limited: limited({}, { queues: 1, handSize: 2, queueLengthLimit: 3 }) }),
    ],
    [
      { matchingPrecedence: 1000 },
      { matchingPrecedence: 7 },
      { type: 'Limited' },
      { exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
      { exempt: { nominalConcurrencyShares: 3, lendablePercent: 4 } },
      { limited: limited({ nominalConcurrencyShares: 30, lendablePercent: 0 }) },
      {
        limited: limited(
          { nominalConcurrencyShares: 0, lendablePercent: 4 },
          { queues: 64, handSize: 8, queueLengthLimit: 50 },
        ),
      },
      {
        limited: limited(
          { nominalConcurrencyShares: 30, lendablePercent: 0 },
          { queues: 1, handSize: 2, queueLengthLimit: 3 },
        ),
      },
    ],
  );
});

test('roles, users and groups of a binding are of the RBAC group, and service accounts of none', () => {
  const group = 'rbac.authorization.k8s.io';
  assert.deepEqual(
    [
      defaultsOf(defaultBinding<RoleBinding>, { roleRef: { kind: 'Role', name: 'r', apiGroup: '' } }),
      defaultsOf(defaultBinding<RoleBinding>, {
        roleRef: { kind: 'Role', name: 'r', apiGroup: 'x' },
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'Group', name: 'g', apiGroup: '' },
          { kind: 'ServiceAccount', name: 's', apiGroup: '' },
          { kind: 'User', name: 'u', apiGroup: 'x' },
        ],
      }),
    ],
    [
      { roleRef: { kind: 'Role', name: 'r', apiGroup: group } },
      {
        roleRef: { kind: 'Role', name: 'r', apiGroup: 'x' },
        subjects: [
          { kind: 'User', name: 'u', apiGroup: group },
          { kind: 'Group', name: 'g', apiGroup: group },
          { kind: 'ServiceAccount', name: 's', apiGroup: '' },
          { kind: 'User', name: 'u', apiGroup: 'x' },
        ],
      },
    ],
  );
});

test('a request for devices is for exactly one, and a toleration compares values', () => {
  const one = { allocationMode: 'ExactCount', count: 1 };
  const requests = [
    { name: 'a', exactly: {} },
    { name: 'b', firstAvailable: [{ count: 2 }, { allocationMode: 'All', count: 0 }, { allocationMode: 'All' }] },
    {
      name: 'c',
      exactly: { allocationMode: 'ExactCount', count: 0, tolerations: [{ key: 'k' }, { operator: 'Exists' }] },
    },
  ];
  const filled = [
    { name: 'a', exactly: one },
    {
      name: 'b',
      firstAvailable: [{ ...one, count: 2 }, { allocationMode: 'All', count: 0 }, { allocationMode: 'All' }],
    },
    { name: 'c', exactly: { ...one, tolerations: [{ key: 'k', operator: 'Equal' }, { operator: 'Exists' }] } },
  ];
  const status = (operator?: string): object => ({
    reservedFor: [],
    allocation: {
      nodeSelector: {},
      devices: { results: [{ tolerations: [{ key: 'k', ...(operator && { operator }) }] }] },
    },
  });
  assert.deepEqual(
    [
      defaultsOf(defaultResourceClaim, { spec: { devices: {} } }),
      defaultsOf(defaultResourceClaim, { spec: { devices: { requests, config: [] } }, status: status() }),
      defaultsOf(defaultResourceClaim, { spec: { devices: {} }, status: { allocation: { devices: {} } } }),
      defaultsOf(defaultResourceClaimTemplate, { spec: { metadata: {}, spec: { devices: { requests } } } }),
    ],
    [
      { spec: { devices: {} } },
      { spec: { devices: { requests: filled, config: [] } }, status: status('Equal') },
      { spec: { devices: {} }, status: { allocation: { devices: {} } } },
      { spec: { metadata: {}, spec: { devices: { requests: filled } } } },
    ],
  );
});

test('a webhook fails closed within ten seconds, for objects of any scope', () => {
  const usual = {
    clientConfig: { service: { name: 's', port: 443 } },
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  };
  const chosen = {
    clientConfig: { service: { name: 's', port: 1 } },
    rules: [{ scope: 'Cluster' }],
    failurePolicy: 'Ignore',
    matchPolicy: 'Exact',
    namespaceSelector: { matchLabels: { a: 'b' } },
    objectSelector: { matchLabels: { a: 'b' } },
    timeoutSeconds: 1,
    reinvocationPolicy: 'IfNeeded',
  };
  const hooks = [
    { clientConfig: { service: { name: 's' } }, rules: [{}] },
    { clientConfig: { url: 'https://x' } },
    chosen,
  ];
  const filled = [{ ...usual, rules: [{ scope: '*' }] }, { ...usual, clientConfig: { url: 'https://x' } }, chosen];
  assert.deepEqual(
    [
      defaultsOf(defaultValidatingWebhooks, { metadata: {} }),
      defaultsOf(defaultValidatingWebhooks, { metadata: {}, webhooks: hooks }),
      defaultsOf(defaultMutatingWebhooks, { metadata: {} }),
      defaultsOf(defaultMutatingWebhooks, { metadata: {}, webhooks: hooks }),
    ],
    [
      { metadata: {} },
      { metadata: {}, webhooks: filled },
      { metadata: {} },
      { metadata: {}, webhooks: filled.map((hook) => ({ reinvocationPolicy: 'Never', ...hook })) },
    ],
  );
});

test('an admission policy fails closed, and matches objects in any version', () => {
  const usual = { namespaceSelector: {}, objectSelector: {}, matchPolicy: 'Equivalent' };
  const selector = { matchLabels: { a: 'b' } };
  const chosen = { namespaceSelector: selector, objectSelector: selector, matchPolicy: 'Exact' };
  const rules = [{ resources: ['pods'] }, { resources: ['pods'], scope: 'Namespaced' }];
  const filled = [{ resources: ['pods'], scope: '*' }, rules[1]];
  const policy = specs(defaultAdmissionPolicy);
  const binding = specs(defaultPolicyBinding);
  assert.deepEqual(
    [
      policy({}),
      policy({ failurePolicy: 'Ignore', matchConstraints: { resourceRules: rules, excludeResourceRules: rules } }),
      policy({ matchConstraints: chosen }),
      binding({}),
      binding({ matchResources: {} }),
    ],
    [
      { failurePolicy: 'Fail' },
      {
        failurePolicy: 'Ignore',
        matchConstraints: { ...usual, resourceRules: filled, excludeResourceRules: filled },
      },
      { failurePolicy: 'Fail', matchConstraints: chosen },
      {},
      { matchResources: usual },
    ],
  );
});

test('names, conversion and stored versions of a definition follow from what it says', () => {
  const of = (spec: object, status?: object): unknown =>
    defaultsOf(defaultCustomResourceDefinition, {
      metadata: {},
      spec: { versions: [], ...spec },
      ...(status !== undefined && { status }),
    });
  const named = (more: object): object => ({ names: { plural: 'webs', kind: 'Web', ...more } });
  const versions = [{ name: 'v1', storage: true }];
  const empty = { conditions: [], acceptedNames: { plural: '', kind: '' } };
  const hook = (service: object): object => ({ strategy: 'Webhook', webhook: { clientConfig: { service } } });
  const url = {
    strategy: 'Webhook',
    webhook: { clientConfig: { url: 'https://x' }, conversionReviewVersions: ['v1'] },
  };
  const names = { plural: 'webs', kind: 'Web', singular: 'web', listKind: 'WebList' };
  const none = { strategy: 'None' };
  assert.deepEqual(
    [
      of({ ...named({}), versions }),
      of(named({ singular: '', listKind: '' }), { storedVersions: ['v0'] }),
      of({ names: { plural: 'webs', kind: '', listKind: '' }, conversion: url }),
      of(
        { ...named({ singular: 'one', listKind: 'Many' }), conversion: hook({ name: 's' }), versions },
        { storedVersions: [], conditions: [{ type: 'x' }] },
      ),
      of({ ...named({}), conversion: hook({ name: 's', port: 1 }) }),
    ],
    [
      { metadata: {}, spec: { names, versions, conversion: none }, status: { ...empty, storedVersions: ['v1'] } },
      { metadata: {}, spec: { names, versions: [], conversion: none }, status: { ...empty, storedVersions: ['v0'] } },
      {
        metadata: {},
        spec: { names: { plural: 'webs', kind: '', singular: '', listKind: '' }, versions: [], conversion: url },
        status: { ...empty, storedVersions: [] },
      },
      {
        metadata: {},
        spec: {
          names: { ...names, singular: 'one', listKind: 'Many' },
          versions,
          conversion: {
            strategy: 'Webhook',
            webhook: { conversionReviewVersions: [], clientConfig: { service: { name: 's', port: 443 } } },
          },
        },
        status: { ...empty, conditions: [{ type: 'x' }], storedVersions: ['v1'] },
      },
      {
        metadata: {},
        spec: { names, versions: [], conversion: hook({ name: 's', port: 1 }) },
        status: { ...empty, storedVersions: [] },
      },
    ],
  );
});

test('fields that a schema does not know are dropped, unless one of its values has a wrong type', () => {
  const schemaOf = (schema?: unknown): unknown => {
    const version = { name: 'v1', ...(schema !== undefined && { schema: { openAPIV3Schema: schema } }) };
    const { spec } = defaultCustomResourceDefinition({
      metadata: {},
      spec: { names: { plural: 'webs', kind: 'Web' }, versions: [version] },
    } as unknown as Parameters<typeof defaultCustomResourceDefinition>[0]);
    return spec.versions[0]?.schema;
  };
  const known = { type: 'object', properties: { a: { type: 'string' } } };
  const wrong = { type: 'object', maxProperties: 'many', odd: 1 };
  assert.deepEqual(
    [schemaOf(), schemaOf(null), schemaOf('text'), schemaOf({ ...known, odd: 1 }), schemaOf(wrong)],
    [
      undefined,
      { openAPIV3Schema: null },
      { openAPIV3Schema: 'text' },
      { openAPIV3Schema: known },
      { openAPIV3Schema: wrong },
    ],
  );
});
