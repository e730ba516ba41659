import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { KubeletError } from '../../../base/errors.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { applyDefaults } from '../../model/config/defaults.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import { toKubeletConfig } from '../../model/config/kubelet-config.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import { machineOf } from '../../model/testing/machines.ts';
import type { TopologyHint } from '../../model/topology-hints.ts';
import { createMemoryManager } from './create-memory-manager.ts';
import { decodeMemoryCheckpoint, encodeMemoryCheckpoint } from './memory-checkpoint.ts';
import type { MemoryManager } from './memory-manager.ts';

const GiB = 2 ** 30;
/** Three nodes with 8 GiB each, of which 1 GiB is in huge pages. 1 GiB of node 0 is reserved. */
const machine = machineOf({
  sockets: 3,
  nodes: 1,
  cores: 1,
  threads: 1,
  memoryBytes: 8 * GiB,
  hugePages: [{ sizeBytes: 2 ** 21, count: 512 }],
});

interface Setting {
  readonly topology?: MachineTopology;
  readonly policy?: 'None' | 'Static';
  readonly reservedMemory?: readonly { numaNode: number; limits: Record<string, string> }[];
  readonly nodeReservation?: Record<string, string>;
  readonly text?: string;
}

function start(setting: Setting = {}): { manager: MemoryManager; asides: string[]; counted: string[] } {
  const asides: string[] = [];
  const counted: string[] = [];
  const { gates } = computeFeatureGates({});
  const { policy = 'Static', reservedMemory = [{ numaNode: 0, limits: { memory: '1Gi' } }] } = setting;
  const given = applyDefaults({ memoryManagerPolicy: policy, reservedMemory: [...reservedMemory] }, gates.enabled);
  const manager = createMemoryManager({
    config: toKubeletConfig(given, gates),
    nodeReservation: setting.nodeReservation ?? { memory: '1Gi', cpu: '1' },
    topology: setting.topology ?? machine,
    file: {
      text: setting.text,
      setAside: (why) => void asides.push(why),
      follow: () => undefined,
      changed: () => undefined,
    },
    observer: {
      assigned: ({ from, isExclusive }) =>
        void counted.push(from === 'node' ? 'pinned' : `${isExclusive ? 'exclusive' : 'shared'} of the pod`),
      refused: (from) => void counted.push(from === 'node' ? 'failed' : 'failed for the pod'),
    },
    log: recordingLog(),
  });
  return { manager, asides, counted };
}

interface Size {
  readonly memory: string;
  readonly hugepages?: string;
  readonly kind?: 'init' | 'sidecar';
}

/** A Guaranteed pod. Its containers are named by their position. */
function podOf(uid: string, ...containers: readonly Size[]): Pod {
  const made = containers.map(({ memory, hugepages, kind }, index) => {
    const amounts = { cpu: '1', memory, ...(hugepages === undefined ? {} : { 'hugepages-2Mi': hugepages }) };
    return {
      isInit: kind !== undefined,
      value: {
        name: `c${index}`,
        image: 'x',
        ...(kind === 'sidecar' ? { restartPolicy: 'Always' } : {}),
        resources: { requests: amounts, limits: amounts },
      },
    };
  });
  const of = (isInit: boolean) => made.filter((one) => one.isInit === isInit).map(({ value }) => value);
  return buildPod({
    'metadata.uid': uid,
    'spec.initContainers': of(true).length === 0 ? undefined : of(true),
    'spec.containers': of(false),
  });
}

/**
 * Admits a pod as the topology policy `none` does, or on the nodes of `affinity`. Returns the message of a rejection.
 */
function admit(manager: MemoryManager, pod: Pod, affinity?: number): string | undefined {
  const draft = manager.begin(pod);
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    const problem = draft.allocate(container, affinity);
    if (problem !== undefined) return `${problem.reason}: ${problem.message}`;
  }
  draft.commit();
  return undefined;
}

const nodesOf = (manager: MemoryManager, uid: string, container = 'c0'): string =>
  [...(manager.affinity(uid, container) ?? [])].join(',');

interface Saved {
  readonly machineState: Record<
    string,
    { numberOfAssignments: number; cells: number[]; memoryMap: Record<string, Record<string, number>> }
  >;
  readonly entries?: Record<string, Record<string, { numaAffinity: number[]; type: string; size: number }[]>>;
}
const stateOf = (manager: MemoryManager): Saved => JSON.parse(manager.checkpoint()) as Saved;
const freeGiB = (manager: MemoryManager): number[] =>
  Object.values(stateOf(manager).machineState).map(({ memoryMap }) => (memoryMap['memory']?.['free'] ?? 0) / GiB);

describe('the static policy', () => {
  it('gives a guaranteed container memory of one NUMA node, in order', () => {
    const { manager, counted } = start();
    assert.deepEqual(freeGiB(manager), [6, 7, 7], 'without reserved memory and huge pages');
    assert.equal(admit(manager, podOf('a', { memory: '5Gi' })), undefined);
    assert.equal(admit(manager, podOf('b', { memory: '5Gi' })), undefined);
    assert.deepEqual([nodesOf(manager, 'a'), nodesOf(manager, 'b'), freeGiB(manager)], ['0', '1', [1, 2, 7]]);
    assert.deepEqual(counted, ['pinned', 'pinned']);
  });

  it('gives huge pages of the same node', () => {
    const { manager } = start();
    admit(manager, podOf('a', { memory: '1Gi', hugepages: '1Gi' }));
    admit(manager, podOf('b', { memory: '1Gi', hugepages: '2Mi' }));
    assert.deepEqual([nodesOf(manager, 'a'), nodesOf(manager, 'b')], ['0', '1']);
  });

  it('makes groups of nodes for large requests, and never lets groups overlap', () => {
    const { manager } = start();
    assert.equal(admit(manager, podOf('a', { memory: '1Gi' })), undefined);
    assert.equal(admit(manager, podOf('b', { memory: '10Gi' })), undefined);
    assert.equal(nodesOf(manager, 'b'), '1,2', 'node 0 is used alone');
    assert.equal(
      admit(manager, podOf('c', { memory: '10Gi' })),
      'UnexpectedAdmissionError: Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected',
    );
    assert.equal(
      admit(manager, podOf('d', { memory: '6Gi' })),
      'UnexpectedAdmissionError: Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected',
    );
    assert.match(
      admit(manager, podOf('f', { memory: '1Gi' }), 0b100) ?? '',
      /preferred hint violates NUMA node allocation/,
    );
    assert.equal(
      admit(manager, podOf('e', { memory: '4Gi' }), 0b110),
      undefined,
      'the group has room for its own kind',
    );
  });

  it('extends nodes that have too little', () => {
    const { manager } = start();
    assert.equal(admit(manager, podOf('a', { memory: '10Gi' }), 0b010), undefined);
    assert.equal(nodesOf(manager, 'a'), '0,1');
  });

  it('leaves other pods on all nodes', () => {
    const { manager } = start();
    const burstable = buildPod({
      'metadata.uid': 'a',
      'spec.containers[0].resources': { requests: { memory: '1Gi' } },
    });
    assert.equal(admit(manager, burstable), undefined);
    assert.equal(manager.affinity('a', 'main'), undefined);
    const none = start({ policy: 'None', reservedMemory: [], nodeReservation: {} }).manager;
    assert.equal(admit(none, podOf('a', { memory: '1Gi' })), undefined);
    assert.equal(none.affinity('a', 'c0'), undefined);
    assert.deepEqual(Object.keys(stateOf(none).machineState), []);
  });

  it('returns the memory of pods that are gone', () => {
    const { manager } = start();
    admit(manager, podOf('a', { memory: '10Gi' }));
    const before = start().manager.checkpoint();
    manager.retain(() => false);
    assert.equal(manager.checkpoint(), before);
  });
});

it('the memory of containers, and what they may have, is reported to other components', () => {
  const { manager } = start();
  admit(manager, podOf('a', { memory: '2Gi' }));
  assert.deepEqual(manager.blocks('a', 'c0'), [{ type: 'memory', bytes: 2 * GiB, numaNodes: [0] }]);
  assert.deepEqual(manager.blocks('b', 'c0'), []);
  assert.deepEqual(manager.allocatable().slice(0, 2), [
    { type: 'hugepages-2Mi', bytes: GiB, numaNodes: [0] },
    { type: 'memory', bytes: 6 * GiB, numaNodes: [0] },
  ]);
});

describe('init containers', () => {
  it('lend their memory to the containers after them', () => {
    const { manager } = start();
    assert.equal(
      admit(manager, podOf('a', { memory: '5Gi', kind: 'init' }, { memory: '2Gi' }, { memory: '4Gi' })),
      undefined,
    );
    assert.deepEqual(freeGiB(manager), [0, 7, 7]);
  });

  it('lend them only of the same kind, on the same nodes', () => {
    const { manager } = start();
    const sizes = [
      { memory: '2Gi', hugepages: '1Gi', kind: 'init' as const },
      { memory: '2Gi', hugepages: '1Gi' },
    ];
    assert.equal(admit(manager, podOf('a', ...sizes)), undefined);
    assert.deepEqual([nodesOf(manager, 'a', 'c1'), freeGiB(manager)], ['0', [4, 7, 7]]);
    const pod = podOf('b', { memory: '2Gi', kind: 'init' }, { memory: '2Gi' });
    const draft = manager.begin(pod);
    assert.equal(draft.allocate(pod.spec.initContainers?.[0] ?? assert.fail(), 0b010), undefined);
    assert.equal(draft.allocate(pod.spec.containers[0] ?? assert.fail(), 0b100), undefined);
    draft.commit();
    assert.deepEqual(freeGiB(manager), [4, 5, 5]);
  });

  it('lend what is left of it to each container after them', () => {
    const { manager } = start();
    const init = { memory: '2Gi', kind: 'init' } as const;
    assert.equal(
      admit(manager, podOf('a', init, { ...init, memory: '3Gi' }, { memory: '1Gi' }, { memory: '1Gi' })),
      undefined,
    );
    assert.deepEqual(freeGiB(manager), [3, 7, 7]);
    assert.deepEqual(
      ['c0', 'c1', 'c2', 'c3']
        .map((name) => manager.blocks('a', name)[0]?.bytes ?? 0)
        .reduce((sum, one) => sum + one, 0),
      3 * GiB,
    );
  });

  it('that are sidecars keep theirs', () => {
    const { manager } = start();
    admit(manager, podOf('a', { memory: '2Gi', kind: 'sidecar' }, { memory: '2Gi' }));
    assert.deepEqual(freeGiB(manager), [2, 7, 7]);
  });
});

describe('hints', () => {
  const masks = (hints: readonly TopologyHint[] | undefined): string[] =>
    (hints ?? []).map(({ affinity, preferred }) => `${affinity?.toString(2)}${preferred ? ' preferred' : ''}`);

  it('name all groups of nodes that have the memory, and prefer the smallest', () => {
    const { manager } = start();
    const pod = podOf('a', { memory: '7Gi', hugepages: '2Mi' });
    const hints = manager.begin(pod).containerHints(pod.spec.containers[0] ?? assert.fail());
    assert.deepEqual([...(hints?.keys() ?? [])], ['memory', 'hugepages-2Mi']);
    assert.deepEqual(masks(hints?.get('memory')), ['10 preferred', '11', '100 preferred', '101', '110', '111']);
    assert.deepEqual(masks(manager.begin(pod).podHints()?.get('memory')), masks(hints?.get('memory')));
  });

  it('of a container that has its memory name its nodes', () => {
    const { manager } = start();
    const pod = podOf('a', { memory: '2Gi', kind: 'init' }, { memory: '7Gi' });
    assert.equal(admit(manager, pod), undefined);
    const again = manager.begin(pod);
    assert.deepEqual(masks(again.containerHints(pod.spec.containers[0] ?? assert.fail())?.get('memory')), [
      '10 preferred',
    ]);
  });
});

describe('hints for a pod', () => {
  const masks = (manager: MemoryManager, pod: Pod): string[] =>
    (manager.begin(pod).podHints()?.get('memory') ?? []).map(
      ({ affinity, preferred }) => `${affinity?.toString(2)}${preferred ? ' preferred' : ''}`,
    );
  const preferred = (...containers: readonly Size[]): string =>
    masks(start().manager, podOf('a', ...containers))
      .filter((mask) => mask.endsWith('preferred'))
      .join();

  it('are for the most that it uses at one time: sidecars run beside all containers after them', () => {
    const [all, two] = ['1 preferred,10 preferred,100 preferred', '10 preferred,100 preferred'];
    const sidecar = { memory: '1Gi', kind: 'sidecar' } as const;
    const init = { memory: '6Gi', kind: 'init' } as const;
    assert.equal(preferred({ memory: '3Gi' }, { memory: '3Gi' }), all);
    assert.equal(preferred({ memory: '3Gi' }, { memory: '4Gi' }), two);
    assert.equal(preferred(init, { memory: '3Gi' }), all);
    assert.equal(preferred({ memory: '7Gi', kind: 'init' }, { memory: '3Gi' }), two);
    assert.equal(preferred(sidecar, init, { memory: '1Gi' }), two);
    assert.equal(preferred(init, sidecar, { memory: '1Gi' }), all);
    assert.equal(preferred(sidecar, { memory: '6Gi' }), two);
  });

  it('name the nodes of its memory when it has it, and none when that is too little or in two places', () => {
    const { manager } = start();
    const pod = podOf('a', { memory: '2Gi' }, { memory: '3Gi' });
    assert.equal(admit(manager, pod, 0b010), undefined);
    assert.deepEqual(masks(manager, pod), ['10 preferred']);
    assert.deepEqual(masks(manager, podOf('a', { memory: '2Gi' }, { memory: '4Gi' })), []);
    assert.equal(admit(manager, podOf('b', { memory: '5Gi' })), undefined);
    const divided = podOf('b', { memory: '5Gi' }, { memory: '5Gi' });
    assert.equal(admit(manager, divided), undefined);
    assert.deepEqual([nodesOf(manager, 'b', 'c0'), nodesOf(manager, 'b', 'c1')], ['0', '2']);
    assert.deepEqual(masks(manager, divided), []);
  });

  it('do not exist for a pod that reserves no memory', () => {
    const pod = buildPod({ 'metadata.uid': 'a' });
    const draft = start().manager.begin(pod);
    assert.equal(draft.podHints(), undefined);
    assert.equal(draft.containerHints(pod.spec.containers[0] ?? assert.fail()), undefined);
  });
});

it('a refused allocation is counted, and a container keeps its existing allocation', () => {
  const { manager, counted } = start();
  const changes: string[] = [];
  manager.onChange(() => void changes.push('changed'));
  admit(manager, podOf('a', { memory: '1Gi' }));
  admit(manager, podOf('a', { memory: '1Gi' }));
  admit(manager, podOf('b', { memory: '100Gi' }));
  admit(manager, buildPod({ 'metadata.uid': 'c' }));
  manager.retain(() => true);
  assert.deepEqual([counted, freeGiB(manager), changes], [['pinned', 'failed'], [5, 7, 7], ['changed']]);
  manager.retain((uid) => uid !== 'a');
  assert.deepEqual([freeGiB(manager), changes.length], [[6, 7, 7], 2]);
});

it('nodes on which the system reserves everything are not offered to containers', () => {
  const { manager } = start({
    reservedMemory: [{ numaNode: 0, limits: { memory: '9Gi' } }],
    nodeReservation: { memory: '9Gi' },
  });
  assert.deepEqual(
    manager.allocatable().map(({ type, numaNodes }) => `${type} ${numaNodes.join()}`),
    ['hugepages-2Mi 0', 'hugepages-2Mi 1', 'memory 1', 'hugepages-2Mi 2', 'memory 2'],
  );
});

describe('reservations that do not add up stop the agent, as upstream', () => {
  const refused = (setting: Setting): string => {
    try {
      start(setting);
    } catch (error) {
      return error instanceof KubeletError && error.kind === 'Invalid' ? error.message : String(error);
    }
    return 'accepted';
  };
  for (const [what, setting, message] of [
    [
      'too little',
      { nodeReservation: { memory: '2Gi' } },
      'the total amount "1Gi" of type "memory" is not equal to the value "2Gi" determined by Node Allocatable feature',
    ],
    [
      'huge pages that the node does not reserve',
      { reservedMemory: [{ numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '2Mi' } }] },
      'the total amount "2Mi" of type "hugepages-2Mi" is not equal to the value "0" determined by Node Allocatable feature',
    ],
    [
      'a node that does not exist',
      { reservedMemory: [{ numaNode: 7, limits: { memory: '1Gi' } }] },
      'the reserved memory configuration references a NUMA node 7 that does not exist on this machine',
    ],
    [
      'nothing',
      { reservedMemory: [], nodeReservation: {} },
      '[memorymanager] you should specify the system reserved memory',
    ],
  ] as const)
    it(what, () => assert.equal(refused(setting), message));

  it('but not amounts that are written differently', () =>
    assert.equal(refused({ nodeReservation: { memory: '1024Mi' } }), 'accepted'));
});

describe('the saved state', () => {
  const first = start().manager;
  admit(first, podOf('a', { memory: '2Gi', kind: 'init' }, { memory: '10Gi', hugepages: '2Mi' }));
  admit(first, podOf('b', { memory: '3Gi' }));
  const text = first.checkpoint();

  it('is taken over by the next agent', () => {
    const { manager, asides } = start({ text });
    assert.deepEqual([asides, manager.checkpoint()], [[], text]);
  });

  for (const [what, broken, why] of [
    ['a truncated file', text.slice(0, 50), 'it is not valid JSON'],
    ['a changed file', text.replace('"size":3221225472', '"size":3221225473'), 'its checksum is wrong'],
    ['no checksum', '{"policyName":"Static","machineState":{}}', 'its checksum is wrong'],
    [
      'amounts that are no numbers',
      '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1e99,"memoryMap":{},"cells":[0]}},"checksum":1}',
      'its structure is not the expected one',
    ],
    ['a list', '[]', 'it is not an object'],
    [
      'another policy',
      start({ policy: 'None', reservedMemory: [], nodeReservation: {} }).manager.checkpoint(),
      '[memorymanager] configured policy "Static" differs from state checkpoint policy "None"',
    ],
  ] as const)
    it(`is set aside when it is damaged: ${what}`, () => {
      const { manager, asides } = start({ text: broken });
      assert.deepEqual(asides, [why]);
      assert.equal(manager.affinity('b', 'c0'), undefined);
    });

  it('keeps what is still possible when the reservation or the machine changed', () => {
    const more = start({
      text,
      nodeReservation: { memory: '2Gi' },
      reservedMemory: [{ numaNode: 0, limits: { memory: '2Gi' } }],
    });
    assert.deepEqual(more.asides, ['[memorymanager] the expected machine state is different from the real one']);
    assert.equal(nodesOf(more.manager, 'b'), nodesOf(first, 'b'));
    const smaller = start({ text, topology: { nodes: machine.nodes.slice(0, 1) } });
    assert.equal(smaller.asides.length, 1);
    assert.equal(smaller.manager.affinity('a', 'c1'), undefined);
  });

  it('has the format and the checksum of upstream', () => {
    const upstream =
      '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":4215593881}';
    const decoded = decodeMemoryCheckpoint(upstream);
    assert.ok(typeof decoded !== 'string');
    assert.equal(encodeMemoryCheckpoint(decoded), upstream);
  });
});

describe('whatever pods come and go', () => {
  it('no node gives more than it has, groups never overlap, and a restart changes nothing', () => {
    const size = fc.record({
      memory: fc.integer({ min: 1, max: 9 }).map((amount) => `${amount}Gi`),
      hugepages: fc.constantFrom(undefined, '2Mi', '1Gi'),
      kind: fc.constantFrom(undefined, 'init' as const, 'sidecar' as const),
    });
    const step = fc.record({
      uid: fc.constantFrom('a', 'b', 'c', 'd'),
      containers: fc.array(size, { minLength: 1, maxLength: 3 }),
      leaves: fc.boolean(),
      affinity: fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        let { manager } = start();
        const live = new Set<string>();
        for (const { uid, containers, leaves, affinity } of steps) {
          if (leaves) live.delete(uid);
          else if (
            !live.has(uid) &&
            admit(manager, podOf(uid, ...containers, { memory: '1Gi' }), affinity) === undefined
          )
            live.add(uid);
          manager.retain((one) => live.has(one));
          const next = start({ text: manager.checkpoint() });
          assert.deepEqual(next.asides, []);
          assert.deepEqual(
            freeGiB(next.manager).reduce((sum, free) => sum + free, 0),
            freeGiB(manager).reduce((sum, free) => sum + free, 0),
          );
          ({ manager } = next);
          checkState(stateOf(manager));
        }
      }),
      { numRuns: 60 },
    );
  });
});

function checkState({ machineState, entries = {} }: Saved): void {
  const blocks = Object.values(entries).flatMap((pod) => Object.values(pod).flat());
  for (const left of blocks) {
    for (const right of blocks) {
      const common = left.numaAffinity.filter((node) => right.numaAffinity.includes(node));
      assert.ok(common.length === 0 || left.numaAffinity.join() === right.numaAffinity.join(), 'no partial overlap');
    }
  }
  for (const resource of ['memory', 'hugepages-2Mi']) {
    const sum = (column: string): number =>
      Object.values(machineState).reduce((total, { memoryMap }) => total + (memoryMap[resource]?.[column] ?? 0), 0);
    const given = blocks.filter(({ type }) => type === resource).reduce((total, { size }) => total + size, 0);
    assert.equal(sum('reserved'), given, 'all that was given is reserved');
    assert.equal(sum('free') + sum('reserved'), sum('allocatable'));
  }
}
