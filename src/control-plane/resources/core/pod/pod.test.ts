import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../../../api/core/pod.ts';
import { permissivePolicy } from '../../../../api/validation/cluster-policy.ts';
import { RulesFixture, nowMs } from '../../testing/rules-fixture.ts';

const pods = new RulesFixture<Pod>('v1', 'Pod', { spec: { containers: [{ name: 'main', image: 'nginx:1.27' }] } });
const request = { user: { name: 'tester', groups: [] }, nowMs };
const mutable =
  'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,' +
  '`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n';

test('a new pod is pending and has its class, whatever its creator says of its status', () => {
  assert.deepEqual(pods.created({ status: { phase: 'Running', podIP: '10.0.0.9' } }).status, {
    phase: 'Pending',
    qosClass: 'BestEffort',
  });
  assert.deepEqual(
    pods.created({ 'spec.containers[0].resources': { limits: { cpu: '1', memory: '1Gi' } } }).status?.qosClass,
    'Guaranteed',
  );
  assert.deepEqual(pods.created({ 'spec.schedulingGates': [{ name: 'x.example/wait' }] }).status?.conditions, [
    {
      type: 'PodScheduled',
      status: 'False',
      lastTransitionTime: '2026-01-01T12:00:00Z',
      reason: 'SchedulingGated',
      message: 'Scheduling is blocked due to non-empty scheduling gates',
    },
  ]);
  assert.deepEqual(pods.refusals(), []);
});

test('label keys of affinity and spreading become requirements when the pod is created', () => {
  const term = {
    topologyKey: 'zone',
    labelSelector: { matchLabels: { app: 'web' } },
    matchLabelKeys: ['version', 'absent'],
    mismatchLabelKeys: ['tenant'],
  };
  const { spec } = pods.created({
    'metadata.labels': { version: '7', tenant: 'a' },
    'spec.affinity': { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    'spec.topologySpreadConstraints': [
      {
        maxSkew: 1,
        topologyKey: 'zone',
        whenUnsatisfiable: 'DoNotSchedule',
        matchLabelKeys: ['version'],
        labelSelector: {},
      },
    ],
  });
  assert.deepEqual(spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.[0]?.labelSelector, {
    matchLabels: { app: 'web' },
    matchExpressions: [
      { key: 'version', operator: 'In', values: ['7'] },
      { key: 'tenant', operator: 'NotIn', values: ['a'] },
    ],
  });
  assert.deepEqual(spec.topologySpreadConstraints?.[0]?.labelSelector, {
    matchExpressions: [{ key: 'version', operator: 'In', values: ['7'] }],
  });
});

test('of a pod its image, deadline and tolerations may change, as far as the API lets them', () => {
  const toleration = { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 };
  const cases: readonly [
    changes: Record<string, unknown>,
    before: Record<string, unknown>,
    expected: readonly string[],
  ][] = [
    [{ 'spec.containers[0].image': 'nginx:1.28' }, {}, []],
    [
      { 'spec.containers[0].image': ' nginx' },
      {},
      [
        'spec.containers[0].image: Invalid value: " nginx": must not have leading or trailing whitespace',
        'spec.containers[0].image: Invalid value: " nginx": must not have leading or trailing whitespace',
      ],
    ],
    [{ 'spec.activeDeadlineSeconds': 10 }, {}, []],
    [{ 'spec.activeDeadlineSeconds': 5 }, { 'spec.activeDeadlineSeconds': 10 }, []],
    [
      { 'spec.activeDeadlineSeconds': 11 },
      { 'spec.activeDeadlineSeconds': 10 },
      ['spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value'],
    ],
    [
      { 'spec.activeDeadlineSeconds': undefined },
      { 'spec.activeDeadlineSeconds': 10 },
      ['spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value'],
    ],
    [{ 'spec.tolerations': [toleration, { operator: 'Exists' }] }, { 'spec.tolerations': [toleration] }, []],
    [{ 'spec.tolerations': [{ ...toleration, tolerationSeconds: 9 }] }, { 'spec.tolerations': [toleration] }, []],
    [
      { 'spec.tolerations': [] },
      { 'spec.tolerations': [toleration] },
      ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
    ],
    [
      { 'spec.containers': [] },
      {},
      ['spec.containers: Required value', 'spec.containers: Forbidden: pod updates may not add or remove containers'],
    ],
    [{ 'spec.schedulingGates': [] }, { 'spec.schedulingGates': [{ name: 'a.b/c' }] }, []],
    [
      { 'spec.schedulingGates': [{ name: 'a.b/d' }] },
      { 'spec.schedulingGates': [{ name: 'a.b/c' }] },
      ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a.b/d'"],
    ],
    [
      { 'metadata.annotations': {} },
      { 'spec.nodeName': 'n', 'metadata.annotations': { 'kubernetes.io/config.mirror': 'x' } },
      ['metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation'],
    ],
    [{ 'spec.hostNetwork': false, 'spec.subdomain': '' }, {}, []],
  ];
  for (const [changes, before, expected] of cases)
    assert.deepEqual(pods.updateRefusals(changes, before), expected, JSON.stringify(changes));
});

test('any other change of a pod is refused with what changed', () => {
  const [refusal = '', ...more] = pods.updateRefusals({ 'spec.terminationGracePeriodSeconds': 60 });
  assert.deepEqual(more, []);
  assert.equal(refusal.slice(0, mutable.length), mutable);
  assert.match(refusal.slice(mutable.length), /^@@ -\d+,\d+ \+\d+,\d+ @@\n/);
  assert.match(refusal, /\n- "terminationGracePeriodSeconds": 30\n\+ "terminationGracePeriodSeconds": 60\n/);
});

test('a gated pod may be narrowed to fewer nodes, not to others', () => {
  const gates = { 'spec.schedulingGates': [{ name: 'a.b/c' }] };
  const affinity = (...matchExpressions: object[]): object => ({
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
  });
  const one = { key: 'a', operator: 'Exists' };
  const two = { key: 'b', operator: 'Exists' };
  assert.deepEqual(
    pods.updateRefusals({ 'spec.nodeSelector': { a: '1', b: '2' } }, { ...gates, 'spec.nodeSelector': { a: '1' } }),
    [],
  );
  assert.deepEqual(
    pods.updateRefusals({ 'spec.nodeSelector': { a: '2' } }, { ...gates, 'spec.nodeSelector': { a: '1' } }),
    [
      'spec.nodeSelector: Invalid value: {"a":"2"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
    ],
  );
  assert.deepEqual(pods.updateRefusals({ 'spec.affinity': affinity(one) }, gates), []);
  assert.deepEqual(
    pods.updateRefusals({ 'spec.affinity': affinity(one, two) }, { ...gates, 'spec.affinity': affinity(one) }),
    [],
  );
  const field = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  assert.deepEqual(
    pods.updateRefusals({ 'spec.affinity': affinity(two) }, { ...gates, 'spec.affinity': affinity(one) }),
    [
      `${field}[0]: Invalid value: {"matchExpressions":[{"key":"b","operator":"Exists"}]}: only additions are allowed (no mutations or deletions)`,
    ],
  );
  assert.deepEqual(pods.updateRefusals({ 'spec.affinity': undefined }, { ...gates, 'spec.affinity': affinity(one) }), [
    `${field}: Invalid value: []: no additions/deletions to non-empty NodeSelectorTerms list are allowed`,
  ]);
  assert.match(pods.updateRefusals({ 'spec.nodeSelector': { a: '1' } })[0] ?? '', /^spec: Forbidden: pod updates/);
});

test('of a status the class stays, done containers stay done, and addresses are addresses', () => {
  const done = {
    name: 'main',
    state: { terminated: { exitCode: 0 } },
    ready: false,
    restartCount: 0,
    image: '',
    imageID: '',
  };
  const again = { ...done, state: { running: {} } };
  const never = { 'spec.restartPolicy': 'Never' };
  assert.deepEqual(pods.statusRefusals({ phase: 'Running', qosClass: 'Burstable' }, { qosClass: 'BestEffort' }), [
    'status.qosClass: Invalid value: "Burstable": field is immutable',
  ]);
  assert.deepEqual(pods.statusRefusals({ containerStatuses: [again] }, { containerStatuses: [done] }), []);
  assert.deepEqual(pods.statusRefusals({ containerStatuses: [again] }, { containerStatuses: [done] }, never), [
    'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state',
  ]);
  assert.deepEqual(
    pods.statusRefusals(
      { containerStatuses: [again] },
      { containerStatuses: [done] },
      { 'spec.restartPolicy': 'OnFailure' },
    ),
    ['status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state'],
  );
  const failed = { ...done, state: { terminated: { exitCode: 3 } } };
  assert.deepEqual(
    pods.statusRefusals(
      { containerStatuses: [again] },
      { containerStatuses: [failed] },
      { 'spec.restartPolicy': 'OnFailure' },
    ),
    [],
  );
  const rules = {
    ...never,
    'spec.containers[0].restartPolicy': 'Never',
    'spec.containers[0].restartPolicyRules': [{ action: 'Restart', exitCodes: { operator: 'In', values: [3] } }],
  };
  assert.deepEqual(pods.statusRefusals({ containerStatuses: [again] }, { containerStatuses: [failed] }, rules), []);
  assert.deepEqual(pods.statusRefusals({ podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] }, {}), [
    'status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family',
  ]);
  assert.deepEqual(pods.statusRefusals({ hostIP: '10.0.0.1', hostIPs: [{ ip: '10.0.0.2' }] }, {}), [
    'status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`',
  ]);
  assert.deepEqual(pods.statusRefusals({ nominatedNodeName: 'n' }, {}, { 'spec.nodeName': 'm' }), [
    'status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node',
  ]);
});

test('a status update keeps owner references and fields that old kubelets omit', () => {
  const old: Pod = {
    ...pods.created(),
    status: {
      phase: 'Pending',
      qosClass: 'BestEffort',
      observedGeneration: 2,
      conditions: [{ type: 'Ready', status: 'False', observedGeneration: 2 }],
    },
  };
  old.metadata = {
    ...old.metadata,
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u' }],
  };
  const written: Pod = {
    ...pods.created(),
    status: {
      phase: 'Running',
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Initialized', status: 'True' },
      ],
    },
  };
  const next = pods.definition.rules.prepareForStatusUpdate?.(written, old, request) as Pod;
  assert.deepEqual(next.status, {
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'True', observedGeneration: 2 },
      { type: 'Initialized', status: 'True' },
    ],
    qosClass: 'BestEffort',
    observedGeneration: 2,
  });
  assert.deepEqual(next.metadata.ownerReferences, old.metadata.ownerReferences);
});

test('the address of a pod and its list of addresses say the same', () => {
  const old = pods.created();
  const addresses = (status: Pod['status']): unknown => {
    const next = pods.definition.rules.prepareForStatusUpdate?.({ ...old, status } as Pod, old, request) as Pod;
    return [next.status?.podIP, next.status?.podIPs?.map(({ ip }) => ip)];
  };
  assert.deepEqual(addresses({ podIP: '10.0.0.1' }), ['10.0.0.1', ['10.0.0.1']]);
  assert.deepEqual(addresses({ podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] }), [
    '10.0.0.1',
    ['10.0.0.1', 'fd00::1'],
  ]);
  assert.deepEqual(addresses({ podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.1' }] }), ['10.0.0.2', ['10.0.0.2']]);
  assert.deepEqual(addresses({}), [undefined, undefined]);
});

test('only a pod that may still run somewhere is deleted with grace', () => {
  const grace = (changes: Record<string, unknown>, asked?: number, phase = 'Running'): number | undefined =>
    pods.definition.rules.gracePeriodSeconds?.({ ...pods.created(changes), status: { phase } } as Pod, asked);
  const bound = { 'spec.nodeName': 'n' };
  assert.deepEqual(
    [grace({}), grace(bound), grace(bound, 5), grace(bound, 0), grace(bound, -3), grace(bound, 5, 'Succeeded')],
    [0, 30, 5, 0, 1, 0],
  );
  assert.equal(grace({ ...bound, 'spec.terminationGracePeriodSeconds': 7 }), 7);
});

test('a debug container is added to a pod and nothing else by its own subresource', () => {
  const view = pods.definition.views?.find(({ name }) => name === 'ephemeralcontainers');
  const old = pods.created();
  const body = pods.given({
    'spec.ephemeralContainers': [{ name: 'debug', image: 'busybox' }],
    'spec.containers[0].image': 'other',
  });
  const next = view?.write(old, body, request) as Pod;
  assert.deepEqual(
    [next.spec.ephemeralContainers?.[0]?.imagePullPolicy, next.spec.containers[0]?.image],
    ['Always', 'nginx:1.27'],
  );
  assert.deepEqual(view?.validate(next, old, permissivePolicy), []);
  const changed: Pod = {
    ...next,
    spec: {
      ...next.spec,
      ephemeralContainers: [
        {
          name: 'debug',
          image: 'other',
          imagePullPolicy: 'Always',
          terminationMessagePath: '/x',
          terminationMessagePolicy: 'File',
        },
      ],
    },
  };
  assert.match(
    view?.validate(changed, next, permissivePolicy)[0]?.message ?? '',
    /^Forbidden: existing ephemeral containers "debug" may not be changed\n@@/,
  );
  assert.deepEqual(
    view?.validate(old, next, permissivePolicy).map(({ field, message }) => [field, message]),
    [['spec.ephemeralContainers', 'Forbidden: existing ephemeral containers "debug" may not be removed\n']],
  );
});

test('a resize changes resources and resize policies only', () => {
  const view = pods.definition.views?.find(({ name }) => name === 'resize');
  const resources = (cpu: string): Record<string, unknown> => ({
    'spec.containers[0].resources': { requests: { cpu }, limits: { cpu: '2' } },
  });
  const old = pods.created(resources('1'));
  const next = view?.write(
    old,
    pods.given({ ...resources('500m'), 'spec.containers[0].image': 'other' }),
    request,
  ) as Pod;
  assert.deepEqual(
    [next.spec.containers[0]?.resources?.requests, next.spec.containers[0]?.image],
    [{ cpu: '500m' }, 'nginx:1.27'],
  );
  assert.deepEqual(view?.validate(next, old, permissivePolicy), []);
  const refusals = (changes: Record<string, unknown>): unknown =>
    view
      ?.validate(view.write(old, pods.given(changes), request) as Pod, old, permissivePolicy)
      .map(({ field, message }) => `${field}: ${message}`);
  assert.deepEqual(refusals({}), [
    'spec: Invalid value: "BestEffort": Pod QOS Class may not change as a result of resizing',
    'spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed',
    'spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed',
  ]);
  assert.deepEqual(refusals({ ...resources('1'), 'spec.containers[0].name': 'other' }), [
    'spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize',
  ]);
  assert.deepEqual(
    refusals({
      'spec.containers': [
        { name: 'main', image: 'a' },
        { name: 'b', image: 'b' },
      ],
    }),
    ['spec.containers: Forbidden: containers may not be added or removed on resize'],
  );
});

test('a pod is found by the fields the API lets select by', () => {
  assert.deepEqual(
    pods.definition.selectableFields?.(pods.created({ 'spec.nodeName': 'n', 'spec.serviceAccountName': 'sa' })),
    {
      'metadata.name': 'web',
      'metadata.namespace': 'default',
      'spec.nodeName': 'n',
      'spec.restartPolicy': 'Always',
      'spec.schedulerName': 'default-scheduler',
      'spec.serviceAccountName': 'sa',
      'spec.hostNetwork': 'false',
      'status.phase': 'Pending',
      'status.podIP': '',
      'status.nominatedNodeName': '',
    },
  );
});

test('a creation is answered with warnings, an update is not', () => {
  const [warning = ''] = pods.warnings({ 'metadata.name': 'web.1' });
  assert.equal(
    warning,
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  );
  assert.deepEqual(pods.definition.rules.warnings?.(pods.created({ 'metadata.name': 'web.1' }), pods.created()), []);
});

test('a negative grace period of a pod is one second before anything is validated', () => {
  const sleep = { lifecycle: { preStop: { sleep: { seconds: 1 } } } };
  const changes = {
    'spec.terminationGracePeriodSeconds': -1,
    'spec.containers': [{ name: 'main', image: 'nginx', ...sleep }],
  };
  assert.deepEqual(pods.refusals(changes), []);
  assert.equal(pods.created(changes).spec.terminationGracePeriodSeconds, 1);
});
