import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { ChainOptions } from './admission-chain.ts';
import { judgeAdmission } from './admission-chain.ts';

const node: Node = {
  metadata: { name: 'n1', namespace: '', uid: '', labels: { 'kubernetes.io/os': 'linux', disk: 'ssd', cores: '8' } },
  spec: {
    taints: [
      { key: 'maintenance', value: 'soon', effect: 'NoExecute' },
      { key: 'busy', effect: 'NoSchedule' },
    ],
  },
  status: {
    allocatable: {
      cpu: '4',
      memory: '8Gi',
      'ephemeral-storage': '10Gi',
      pods: '3',
      'hugepages-2Mi': '4Mi',
      'example.com/gpu': '1',
    },
    features: { supplementalGroupsPolicy: false },
    declaredFeatures: [],
  },
};
const tolerated = { 'spec.tolerations': [{ operator: 'Exists' }] };
const fromFile = { 'metadata.annotations': { 'kubernetes.io/config.source': 'file' } };
let count = 0;
const pod = (changes: Changes = {}) => buildPod({ 'metadata.uid': `uid-${++count}`, ...tolerated, ...changes });
const requests = (list: Record<string, string>): Changes => ({ 'spec.containers[0].resources.requests': list });
const expression = (key: string, operator: string, values?: string[]) => ({
  key,
  operator,
  ...(values === undefined ? {} : { values }),
});
const affinity = (...nodeSelectorTerms: object[]): Changes => ({
  'spec.affinity': { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const port = (hostPort: number, more: object = {}): Changes => ({
  'spec.containers[0].ports': [{ containerPort: 80, hostPort, ...more }],
});

function judge(
  subject: ReturnType<typeof pod>,
  others: readonly ReturnType<typeof pod>[] = [],
  options: Partial<ChainOptions> & { on?: Node } = {},
): string {
  const verdict = judgeAdmission(
    { pod: subject, node: options.on ?? node, others },
    { checks: {}, standalone: false, podLevelResources: true, taintComparisons: false, ...options },
  );
  if (verdict.kind === 'reject') return `${verdict.reason}: ${verdict.message}`;
  return verdict.kind === 'admit'
    ? 'admit'
    : `preempt ${verdict.victims.map((victim) => victim.metadata.uid).join(' ')}`;
}

const AFFINITY = "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
const PORTS = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
const TAINTS = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";

/** name, pod, others, verdict */
const table: [string, Changes, Changes[], string][] = [
  ['a pod that asks for nothing', {}, [], 'admit'],
  ['a label selector that holds', { 'spec.nodeSelector': { disk: 'ssd' } }, [], 'admit'],
  ['a label selector that does not', { 'spec.nodeSelector': { disk: 'hdd' } }, [], AFFINITY],
  [
    'affinity: one of the terms is enough',
    affinity(
      { matchExpressions: [expression('disk', 'In', ['hdd'])] },
      { matchExpressions: [expression('disk', 'Exists')] },
    ),
    [],
    'admit',
  ],
  [
    'affinity: within a term all must hold',
    affinity({ matchExpressions: [expression('disk', 'Exists'), expression('gpu', 'Exists')] }),
    [],
    AFFINITY,
  ],
  [
    'affinity: NotIn and DoesNotExist hold for what is absent',
    affinity({ matchExpressions: [expression('gpu', 'DoesNotExist'), expression('gpu', 'NotIn', ['a'])] }),
    [],
    'admit',
  ],
  [
    'affinity: numbers are compared as numbers',
    affinity({ matchExpressions: [expression('cores', 'Gt', ['10'])] }),
    [],
    AFFINITY,
  ],
  [
    'affinity: the name of the node',
    affinity({ matchFields: [expression('metadata.name', 'In', ['n1'])] }),
    [],
    'admit',
  ],
  [
    'affinity: the name of another node',
    affinity({ matchFields: [expression('metadata.name', 'In', ['n2'])] }),
    [],
    AFFINITY,
  ],
  ['affinity: an empty term matches nothing', affinity({}), [], AFFINITY],
  [
    'the name of another node',
    { 'spec.nodeName': 'n2' },
    [],
    "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name",
  ],
  ['a port that is taken', port(8080), [port(8080)], PORTS],
  ['a port of the other protocol', port(8080, { protocol: 'UDP' }), [port(8080)], 'admit'],
  [
    'the same port on another address',
    port(8080, { hostIP: '10.0.0.1' }),
    [port(8080, { hostIP: '10.0.0.2' })],
    'admit',
  ],
  ['the same port on all addresses', port(8080, { hostIP: '0.0.0.0' }), [port(8080, { hostIP: '10.0.0.2' })], PORTS],
  [
    'a port of another pod on the network of the host',
    port(8080),
    [{ 'spec.hostNetwork': true, 'spec.containers[0].ports': [{ containerPort: 8080 }] }],
    PORTS,
  ],
  [
    'a port of a sidecar',
    port(9000),
    [
      {
        'spec.initContainers': [
          { name: 's', image: 'i', restartPolicy: 'Always', ports: [{ containerPort: 1, hostPort: 9000 }] },
        ],
      },
    ],
    PORTS,
  ],
  [
    'a port of an init container, which is free again',
    port(9000),
    [{ 'spec.initContainers': [{ name: 's', image: 'i', ports: [{ containerPort: 1, hostPort: 9000 }] }] }],
    'admit',
  ],
  ['a NoExecute taint that is not tolerated', { 'spec.tolerations': [] }, [], TAINTS],
  [
    'a toleration of the same key and value',
    { 'spec.tolerations': [{ key: 'maintenance', value: 'soon', effect: 'NoExecute' }] },
    [],
    'admit',
  ],
  [
    'a toleration of another value',
    { 'spec.tolerations': [{ key: 'maintenance', operator: 'Equal', value: 'later' }] },
    [],
    TAINTS,
  ],
  [
    'a toleration of another effect',
    { 'spec.tolerations': [{ key: 'maintenance', operator: 'Exists', effect: 'NoSchedule' }] },
    [],
    TAINTS,
  ],
  ['the taint and a pod from a file', { ...fromFile, 'spec.tolerations': [] }, [], 'admit'],
  [
    'too many pods',
    {},
    [{}, {}, {}],
    "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
  ],
  ['exactly what is left', requests({ cpu: '1500m', memory: '8Gi' }), [requests({ cpu: '2500m' })], 'admit'],
  [
    'too little CPU',
    requests({ cpu: '1501m' }),
    [requests({ cpu: '2500m' })],
    "OutOfcpu: Node didn't have enough resource: cpu, requested: 1501, used: 2500, capacity: 4000",
  ],
  [
    'too little memory',
    requests({ memory: '9Gi' }),
    [],
    "OutOfmemory: Node didn't have enough resource: memory, requested: 9663676416, used: 0, capacity: 8589934592",
  ],
  [
    'too little storage',
    requests({ 'ephemeral-storage': '11Gi' }),
    [],
    "OutOfephemeral-storage: Node didn't have enough resource: ephemeral-storage, requested: 11811160064, used: 0, capacity: 10737418240",
  ],
  [
    'too few huge pages',
    { 'spec.containers[0].resources': { limits: { 'hugepages-2Mi': '6Mi', memory: '1Mi' } } },
    [],
    "OutOfhugepages-2Mi: Node didn't have enough resource: hugepages-2Mi, requested: 6291456, used: 0, capacity: 4194304",
  ],
  [
    'huge pages of a size the node does not have',
    { 'spec.containers[0].resources': { limits: { 'hugepages-1Gi': '1Gi', memory: '1Mi' } } },
    [],
    "OutOfhugepages-1Gi: Node didn't have enough resource: hugepages-1Gi, requested: 1073741824, used: 0, capacity: 0",
  ],
  [
    'a device of the node that is taken',
    { 'spec.containers[0].resources.limits': { 'example.com/gpu': '1' } },
    [{ 'spec.containers[0].resources.limits': { 'example.com/gpu': '1' } }],
    "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 1, used: 1, capacity: 1",
  ],
  [
    'a resource no node has: the cluster looks after it',
    { 'spec.containers[0].resources.limits': { 'example.com/licence': '5' } },
    [],
    'admit',
  ],
  [
    'an init container that needs more than the rest',
    {
      ...requests({ cpu: '1' }),
      'spec.initContainers': [{ name: 'i', image: 'i', resources: { requests: { cpu: '5' } } }],
    },
    [],
    "OutOfcpu: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000",
  ],
  [
    'the resources of the pod as a whole',
    { ...requests({ cpu: '1' }), 'spec.resources': { requests: { cpu: '4500m' } } },
    [],
    "OutOfcpu: Node didn't have enough resource: cpu, requested: 4500, used: 0, capacity: 4000",
  ],
  [
    'the overhead of the sandbox',
    { ...requests({ cpu: '4' }), 'spec.overhead': { cpu: '1m' } },
    [],
    "OutOfcpu: Node didn't have enough resource: cpu, requested: 4001, used: 0, capacity: 4000",
  ],
  [
    'several shortages: the first in order',
    requests({ cpu: '5', memory: '9Gi' }),
    [],
    "OutOfcpu: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000",
  ],
  [
    'a shortage and a selector: the shortage',
    { ...requests({ cpu: '5' }), 'spec.nodeSelector': { disk: 'hdd' } },
    [],
    "OutOfcpu: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000",
  ],
  [
    'a selector and a port: the selector',
    { ...port(8080), 'spec.nodeSelector': { disk: 'hdd' } },
    [port(8080)],
    AFFINITY,
  ],
  [
    'another system in the label of the pod',
    { 'metadata.labels': { 'kubernetes.io/os': 'windows' }, 'spec.nodeSelector': { disk: 'hdd' } },
    [],
    "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
  ],
  [
    'another system in the spec',
    { 'spec.os': { name: 'windows' } },
    [],
    "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
  ],
  [
    'strict groups on a runtime without them',
    { 'spec.securityContext.supplementalGroupsPolicy': 'Strict' },
    [],
    'SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node',
  ],
  [
    'a feature the node does not declare',
    {
      'spec.containers[0].restartPolicyRules': [
        { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } },
      ],
      'spec.containers[0].restartPolicy': 'Never',
    },
    [],
    'PodFeatureUnsupported: Pod requires node features that are not available: RestartAllContainersOnContainerExits',
  ],
  [
    'two features the node does not declare',
    {
      'spec.hostNetwork': true,
      'spec.hostUsers': false,
      'spec.containers[0].restartPolicyRules': [
        { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } },
      ],
    },
    [],
    'PodFeatureUnsupported: Pod requires node features that are not available: RestartAllContainersOnContainerExits, UserNamespacesHostNetworkSupport',
  ],
];

describe('whether the node takes a pod', () => {
  for (const [name, changes, others, verdict] of table)
    it(name, () => assert.equal(judge(pod(changes), others.map(pod)), verdict));

  it('checks in the order of upstream', () => {
    const seen: string[] = [];
    const check = (name: string) => () => (seen.push(name), undefined);
    const checks = {
      eviction: check('eviction'),
      sysctls: check('sysctls'),
      allocate: check('allocate'),
      appArmor: check('appArmor'),
      nodeShutdown: check('nodeShutdown'),
    };
    assert.equal(judge(pod(), [], { checks }), 'admit');
    assert.deepEqual(seen, ['eviction', 'sysctls', 'allocate', 'appArmor', 'nodeShutdown']);
    const refuse = {
      eviction: () => ({ reason: 'Evicted', message: 'm' }),
      sysctls: () => ({ reason: 'SysctlForbidden', message: 'm' }),
    };
    assert.equal(judge(pod({ 'spec.nodeSelector': { a: 'b' } }), [], { checks: refuse }), 'Evicted: m');
    assert.equal(
      judge(pod({ 'spec.nodeSelector': { a: 'b' } }), [], { checks: { appArmor: refuse.sysctls } }),
      AFFINITY,
    );
  });

  it('ignores pod-level resources where that gate is off', () => {
    const subject = pod({ 'spec.resources': { requests: { cpu: '1' } } });
    assert.equal(
      judge(subject, [], { podLevelResources: false }),
      'PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled',
    );
    assert.equal(judge(pod(requests({ cpu: '1' })), [], { podLevelResources: false }), 'admit');
  });

  it('compares numbers in tolerations only when that gate is on', () => {
    const on: Node = { ...node, spec: { taints: [{ key: 'sla', value: '950', effect: 'NoExecute' }] } };
    const subject = pod({ 'spec.tolerations': [{ key: 'sla', operator: 'Gt', value: '900', effect: 'NoExecute' }] });
    assert.deepEqual(
      [judge(subject, [], { on }), judge(subject, [], { on, taintComparisons: true })],
      [TAINTS, 'admit'],
    );
  });
});

describe('making room for a critical pod', () => {
  const sized = (uid: string, list: Record<string, string>, changes: Changes = {}) =>
    pod({ ...requests(list), 'metadata.uid': uid, ...changes });
  const critical = (changes: Changes = {}) => pod({ 'spec.priority': 2_000_000_000, ...changes });
  const guaranteed = (uid: string, cpu: string) =>
    sized(uid, { cpu, memory: '1Mi' }, { 'spec.containers[0].resources.limits': { cpu, memory: '1Mi' } });

  it('stops as few pods as possible, and of two candidates the one that asks for less', () => {
    assert.equal(
      judge(critical(requests({ cpu: '2' })), [sized('small', { cpu: '1' }), sized('larger', { cpu: '2500m' })]),
      'preempt larger',
    );
    assert.equal(
      judge(critical(requests({ cpu: '2' })), [
        sized('large', { cpu: '2', memory: '2Gi' }),
        sized('light', { cpu: '2', memory: '1Gi' }),
      ]),
      'preempt light',
    );
  });

  it('spares guaranteed pods while others suffice, and burstable ones while best-effort ones suffice', () => {
    assert.equal(
      judge(critical(requests({ cpu: '1' })), [
        guaranteed('dear', '2'),
        sized('a', { cpu: '1' }),
        sized('b', { cpu: '1' }),
      ]),
      'preempt a',
    );
    assert.equal(
      judge(critical(), [guaranteed('dear', '1'), sized('worth', { cpu: '1' }), pod({ 'metadata.uid': 'cheap' })]),
      'preempt cheap',
    );
  });

  it('stops no critical pod, and no pod at all for one that is not critical itself', () => {
    const others = [critical({ ...requests({ cpu: '3' }), 'metadata.uid': 'other' })];
    assert.match(
      judge(critical(requests({ cpu: '2' })), others),
      /^UnexpectedAdmissionError: Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: \[\(res: cpu, q: 1000\), \]$/,
    );
    assert.match(
      judge(pod({ ...requests({ cpu: '2' }), 'spec.priority': 1000 }), [sized('low', { cpu: '3' })]),
      /^OutOfcpu/,
    );
  });

  it('stops a critical pod for one of higher priority', () => {
    assert.equal(
      judge(critical({ ...requests({ cpu: '2' }), 'spec.priority': 2_000_001_000 }), [
        critical({ ...requests({ cpu: '3' }), 'metadata.uid': 'lower' }),
      ]),
      'preempt lower',
    );
  });

  it('stops no pod for one that something else keeps out', () => {
    assert.equal(
      judge(critical({ ...requests({ cpu: '2' }), 'spec.nodeSelector': { disk: 'hdd' } }), [
        sized('low', { cpu: '3' }),
      ]),
      AFFINITY,
    );
    assert.equal(
      judge(critical(requests({ cpu: '2' })), [sized('low', { cpu: '3' })], {
        checks: { appArmor: () => ({ reason: 'AppArmor', message: 'm' }) },
      }),
      'AppArmor: m',
    );
  });

  it('goes by priorities alone on a node where every pod is static, and reports what is missing', () => {
    const other = sized('other', { cpu: '3' }, fromFile);
    const wanted = { ...requests({ cpu: '2' }), ...fromFile };
    assert.equal(
      judge(pod(wanted), [other], { standalone: true }),
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
    );
    assert.equal(
      judge(pod({ ...wanted, 'spec.priorityClassName': 'system-node-critical' }), [other], { standalone: true }),
      'preempt other',
    );
    assert.match(
      judge(pod({ ...wanted, 'spec.priorityClassName': 'system-node-critical' }), [other]),
      /^UnexpectedAdmissionError/,
    );
  });
});
