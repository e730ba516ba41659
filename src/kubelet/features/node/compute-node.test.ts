import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { strategicPatch } from '../../../api/client/testing/fake-patch.ts';
import type { Node, NodeCondition } from '../../../api/core/node.ts';
import { computeNode } from './compute-node.ts';
import type { NodeFacts } from './compute-node.ts';
import { computeNodeEvents } from './node-events.ts';
import { selectNodeImages } from './node-images.ts';
import { computeNodePatch, nodeHasChanged } from './node-patch.ts';
import { bareNode, nodeFacts, nodeIdentity } from './testing/node-builder.ts';

const T0 = '2026-01-01T00:00:00Z';
const T1 = '2026-01-01T00:01:00Z';
const later = Date.parse(T1);
const fresh = computeNode(bareNode(), nodeIdentity(), nodeFacts()).node;
const condition = (node: Node, type: string): NodeCondition | undefined =>
  node.status?.conditions?.find((each) => each.type === type);
const reasons = (before: Node, after: Node): string[] =>
  computeNodeEvents(before, after).map(({ type, reason }) => `${type} ${reason}`);

describe('the status of a new node', () => {
  it('is what upstream reports of the same machine', () => {
    assert.deepEqual(fresh.status, {
      capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
      allocatable: { cpu: '3', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
      conditions: [
        {
          type: 'MemoryPressure',
          status: 'False',
          lastHeartbeatTime: T0,
          lastTransitionTime: T0,
          reason: 'KubeletHasSufficientMemory',
          message: 'kubelet has sufficient memory available',
        },
        {
          type: 'DiskPressure',
          status: 'False',
          lastHeartbeatTime: T0,
          lastTransitionTime: T0,
          reason: 'KubeletHasNoDiskPressure',
          message: 'kubelet has no disk pressure',
        },
        {
          type: 'PIDPressure',
          status: 'False',
          lastHeartbeatTime: T0,
          lastTransitionTime: T0,
          reason: 'KubeletHasSufficientPID',
          message: 'kubelet has sufficient PID available',
        },
        {
          type: 'Ready',
          status: 'True',
          lastHeartbeatTime: T0,
          lastTransitionTime: T0,
          reason: 'KubeletReady',
          message: 'kubelet is posting ready status',
        },
      ],
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: 'n1' },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        machineID: 'm',
        systemUUID: 's',
        bootID: 'b',
        kernelVersion: '6.1',
        osImage: 'Debian',
        containerRuntimeVersion: 'containerd://1.6.20',
        kubeletVersion: 'v1.36.0',
        kubeProxyVersion: '',
        operatingSystem: 'linux',
        architecture: 'amd64',
        swap: { capacity: 1024 },
      },
      images: [{ names: ['a:1'], sizeBytes: 5 }],
      volumesInUse: ['kubernetes.io/csi/d^v'],
      declaredFeatures: ['A'],
      runtimeHandlers: [
        { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
        { name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
      ],
      features: { supplementalGroupsPolicy: true },
    });
    assert.deepEqual(fresh.metadata.labels, { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' });
    assert.deepEqual(reasons(bareNode(), fresh), [
      'Normal NodeHasSufficientMemory',
      'Normal NodeHasNoDiskPressure',
      'Normal NodeHasSufficientPID',
    ]);
  });

  it('excludes swap where there is none, and has a proxy version only with the gate', () => {
    const { node } = computeNode(bareNode(), nodeIdentity({ swapBytes: 0, reportsProxyVersion: true }), nodeFacts());
    assert.deepEqual([node.status?.nodeInfo?.swap, node.status?.nodeInfo?.kubeProxyVersion], [undefined, 'v1.36.0']);
  });
});

describe('the status of an existing node', () => {
  it('changes nothing but heartbeats while nothing changed', () => {
    const again = computeNode(fresh, nodeIdentity(), nodeFacts({ nowMs: later })).node;
    assert.equal(nodeHasChanged(fresh, again), false);
    assert.deepEqual(computeNodePatch(fresh, again), {
      metadata: {},
      status: {
        conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map((type) => ({
          type,
          lastHeartbeatTime: T1,
        })),
      },
    });
    assert.deepEqual(reasons(fresh, again), []);
  });

  it('gives all reasons for not being ready in one message, each once, and since when', () => {
    const problems = [
      'container runtime is down',
      'container runtime network not ready: x',
      'container runtime is down',
    ];
    const down = computeNode(fresh, nodeIdentity(), nodeFacts({ nowMs: later, problems })).node;
    assert.deepEqual(condition(down, 'Ready'), {
      type: 'Ready',
      status: 'False',
      lastHeartbeatTime: T1,
      lastTransitionTime: T1,
      reason: 'KubeletNotReady',
      message: '[container runtime is down, container runtime network not ready: x]',
    });
    assert.deepEqual(reasons(fresh, down), ['Normal NodeNotReady']);
    const other = computeNode(
      down,
      nodeIdentity(),
      nodeFacts({ nowMs: later + 60_000, problems: ['node is shutting down'] }),
    ).node;
    assert.deepEqual(
      [condition(other, 'Ready')?.message, condition(other, 'Ready')?.lastTransitionTime],
      ['node is shutting down', T1],
    );
    assert.deepEqual(reasons(other, fresh), ['Normal NodeReady']);
  });

  it('is not ready before all facts are known, and stays ready while one is read again', () => {
    const open = nodeFacts({ openQuestions: ['CSINode is not yet initialized'] });
    assert.equal(
      condition(computeNode(bareNode(), nodeIdentity(), open).node, 'Ready')?.message,
      'CSINode is not yet initialized',
    );
    assert.equal(condition(computeNode(fresh, nodeIdentity(), open).node, 'Ready')?.status, 'True');
  });

  it('clears pressures as it set them, with a transition each', () => {
    const pressed = computeNode(
      fresh,
      nodeIdentity(),
      nodeFacts({ nowMs: later, pressure: { memory: true, disk: true, pid: true } }),
    ).node;
    assert.deepEqual(
      ['MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => condition(pressed, type)?.reason),
      ['KubeletHasInsufficientMemory', 'KubeletHasDiskPressure', 'KubeletHasInsufficientPID'],
    );
    assert.deepEqual(reasons(fresh, pressed), [
      'Normal NodeHasInsufficientMemory',
      'Normal NodeHasDiskPressure',
      'Normal NodeHasInsufficientPID',
    ]);
    assert.deepEqual(reasons(pressed, fresh), [
      'Normal NodeHasSufficientMemory',
      'Normal NodeHasNoDiskPressure',
      'Normal NodeHasSufficientPID',
    ]);
  });

  it('answers a control plane that had marked the node unreachable', () => {
    const lost: Node = {
      ...fresh,
      status: {
        ...fresh.status,
        conditions:
          fresh.status?.conditions?.map((each) => ({
            ...each,
            status: 'Unknown',
            reason: 'NodeStatusUnknown',
            message: 'Kubelet stopped posting node status.',
          })) ?? [],
      },
    };
    const back = computeNode(lost, nodeIdentity(), nodeFacts({ nowMs: later })).node;
    assert.deepEqual(
      back.status?.conditions?.map(({ status, lastTransitionTime }) => `${status} ${lastTransitionTime}`),
      [`False ${T1}`, `False ${T1}`, `False ${T1}`, `True ${T1}`],
    );
  });

  it('leaves alone what others own: conditions, resources, labels, taints, attached volumes, unknown fields', () => {
    const foreign: Node = {
      ...fresh,
      metadata: { ...fresh.metadata, labels: { ...fresh.metadata.labels, team: 'x' }, annotations: { a: 'b' } },
      spec: { taints: [{ key: 't', effect: 'NoSchedule' }], podCIDR: '10.1.0.0/24' },
      status: {
        ...fresh.status,
        conditions: [
          {
            type: 'KernelDeadlock',
            status: 'False',
            lastHeartbeatTime: T0,
            lastTransitionTime: T0,
            reason: 'R',
            message: 'M',
          },
          ...(fresh.status?.conditions ?? []),
        ],
        capacity: { ...fresh.status?.capacity, 'example.com/gpu': '2' },
        volumesAttached: [{ name: 'v', devicePath: '' }],
        config: { error: 'e' },
      },
    };
    const { node } = computeNode(foreign, nodeIdentity(), nodeFacts({ nowMs: later }));
    assert.deepEqual(
      [node.spec, node.metadata, node.status?.volumesAttached, node.status?.config],
      [foreign.spec, foreign.metadata, foreign.status?.volumesAttached, foreign.status?.config],
    );
    assert.deepEqual(node.status?.conditions?.[0], foreign.status?.conditions?.[0]);
    assert.equal(node.status?.allocatable?.['example.com/gpu'], '2');
  });

  it('drops extended resources that are gone, and keeps what is unknown', () => {
    const before: Node = {
      ...fresh,
      status: { ...fresh.status, allocatable: { ...fresh.status?.allocatable, 'example.com/gpu': '2' } },
    };
    const { node } = computeNode(
      before,
      nodeIdentity(),
      nodeFacts({ images: undefined, volumesInUse: undefined, runtime: undefined }),
    );
    assert.equal('example.com/gpu' in (node.status?.allocatable ?? {}), false);
    assert.deepEqual(
      [node.status?.images, node.status?.volumesInUse, node.status?.runtimeHandlers],
      [fresh.status?.images, fresh.status?.volumesInUse, fresh.status?.runtimeHandlers],
    );
  });

  it('is not ready without the capacities that pods need', () => {
    const { node } = computeNode(
      bareNode(),
      nodeIdentity({ capacity: { cpu: '1', memory: '1Gi', pods: '1' } }),
      nodeFacts(),
    );
    assert.equal(condition(node, 'Ready')?.message, 'missing node capacity for resources: ephemeral-storage');
    assert.equal(
      condition(
        computeNode(
          bareNode(),
          nodeIdentity({ capacity: { cpu: '1', memory: '1Gi', pods: '1' }, reportsLocalStorage: false }),
          nodeFacts(),
        ).node,
        'Ready',
      )?.status,
      'True',
    );
  });

  it('reports a reboot, and restores the labels of the system', () => {
    const { node } = computeNode(
      { ...fresh, metadata: { ...fresh.metadata, labels: { 'kubernetes.io/os': 'windows' } } },
      nodeIdentity({ bootId: 'c' }),
      nodeFacts(),
    );
    assert.deepEqual(computeNodeEvents(fresh, node), [
      { type: 'Warning', reason: 'Rebooted', message: 'Node n1 has been rebooted, boot id: c' },
    ]);
    assert.deepEqual(node.metadata.labels, fresh.metadata.labels);
  });
});

describe('the images of a node', () => {
  it('are the largest, with at most five names each, digests first', () => {
    const image = (id: string, sizeBytes: number, repoTags: string[] = [id]) => ({
      id,
      sizeBytes,
      repoTags,
      repoDigests: [`${id}@sha256`],
      username: '',
      pinned: false,
    });
    const images = [image('a', 1), image('b', 3), image('c', 3, ['1', '2', '3', '4', '5'])];
    assert.deepEqual(selectNodeImages(images, 2), [
      { names: ['c@sha256', '1', '2', '3', '4'], sizeBytes: 3 },
      { names: ['b@sha256', 'b'], sizeBytes: 3 },
    ]);
    assert.deepEqual([selectNodeImages(images, -1).length, selectNodeImages(images, 0)], [3, []]);
  });
});

describe('the patch of a status', () => {
  it('replaces addresses as a whole, because the API would merge them by type', () => {
    const dual = computeNode(
      fresh,
      nodeIdentity({ addresses: { hostname: 'n1', nodeIps: ['10.0.0.1', 'fd00::1'], externalCloudProvider: false } }),
      nodeFacts(),
    ).node;
    assert.deepEqual(computeNodePatch(fresh, dual), {
      metadata: {},
      status: {
        addresses: [
          { type: 'InternalIP', address: '10.0.0.1' },
          { type: 'InternalIP', address: 'fd00::1' },
          { type: 'Hostname', address: 'n1' },
          { $patch: 'replace' },
        ],
      },
    });
  });

  it('names its node, and lists removed fields', () => {
    const known: Node = {
      ...fresh,
      metadata: { ...fresh.metadata, uid: 'u1', annotations: { 'alpha.kubernetes.io/provided-node-ip': '1.2.3.4' } },
    };
    const { node } = computeNode(known, nodeIdentity(), nodeFacts({ volumesInUse: [] }));
    assert.deepEqual(computeNodePatch(known, node), {
      metadata: { uid: 'u1', annotations: { 'alpha.kubernetes.io/provided-node-ip': null } },
      status: { volumesInUse: null },
    });
  });

  it('leads from any status to any other', () => {
    const facts = fc.record({
      problems: fc.subarray(['a', 'b']),
      memory: fc.boolean(),
      volumesInUse: fc.subarray(['x', 'y', 'z']),
      images: fc.option(fc.uniqueArray(fc.nat(3)), { nil: undefined }),
      nodeIps: fc.constantFrom([], ['10.0.0.1'], ['fd00::1', '10.0.0.1']),
    });
    const after = (
      before: Node,
      { problems, memory, volumesInUse, images, nodeIps }: typeof facts extends fc.Arbitrary<infer T> ? T : never,
    ): Node =>
      computeNode(
        before,
        nodeIdentity({ addresses: { hostname: 'n1', nodeIps, externalCloudProvider: false } }),
        nodeFacts({
          problems,
          volumesInUse,
          pressure: { memory, disk: false, pid: false },
          images: images?.map((sizeBytes) => ({ names: [], sizeBytes })),
        }),
      ).node;
    fc.assert(
      fc.property(fc.array(facts, { minLength: 1, maxLength: 5 }), (steps) => {
        let node: Node = bareNode();
        for (const step of steps) {
          const wanted = after(node, step);
          const patched = strategicPatch(node, computeNodePatch(node, wanted)) as Node;
          assert.equal(nodeHasChanged(patched, wanted), false);
          node = wanted;
        }
      }),
    );
  });
});

it('conditions of the machine keep the time of their last transition, and a node without such facts keeps the existing conditions', () => {
  const problem = { type: 'ReadonlyFilesystem', status: 'True', reason: 'FilesystemIsReadOnly', message: 'm' } as const;
  const healthy = { ...problem, status: 'False', reason: 'FilesystemIsNotReadOnly' } as const;
  const of = (before: Node, machine: NodeFacts['machine'], nowMs: number): Node =>
    computeNode(before, nodeIdentity(), nodeFacts({ machine, nowMs })).node;
  const shown = (node: Node): readonly unknown[] | undefined =>
    node.status?.conditions
      ?.filter(({ type }) => type === problem.type)
      .map(({ status, reason, lastTransitionTime, lastHeartbeatTime }) => [
        status,
        reason,
        lastTransitionTime,
        lastHeartbeatTime,
      ]);
  const [t0, t1, t2] = ['1970-01-01T00:00:00Z', '1970-01-01T00:00:01Z', '1970-01-01T00:00:02Z'];
  const first = of(bareNode(), [healthy], 0);
  assert.deepEqual(shown(first), [['False', 'FilesystemIsNotReadOnly', t0, t0]]);
  const second = of(first, [problem], 1000);
  assert.deepEqual(shown(second), [['True', 'FilesystemIsReadOnly', t1, t1]]);
  assert.deepEqual(shown(of(second, [problem], 2000)), [['True', 'FilesystemIsReadOnly', t1, t2]]);
  assert.deepEqual(shown(of(second, [], 2000)), shown(second));
});
