import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { applyDefaults } from '../../model/config/defaults.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import { toKubeletConfig } from '../../model/config/kubelet-config.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import type { PooledContainer } from '../../model/testing/pooled-pod.ts';
import { pooledPod } from '../../model/testing/pooled-pod.ts';
import { createMemoryManager } from './create-memory-manager.ts';
import { decodeMemoryCheckpoint, encodeMemoryCheckpoint } from './memory-checkpoint.ts';
import type { MemoryManager } from './memory-manager.ts';

const GI = 2 ** 30;

/** Three nodes of 8 GiB, of which the first reserves one. Each has 1 GiB in huge pages. */
const topology: MachineTopology = {
  nodes: [0, 1, 2].map((id) => ({
    id,
    cores: [],
    memoryBytes: 8 * GI,
    hugePages: [{ sizeBytes: 2 ** 21, count: 512 }],
    distances: [],
  })),
};

function start({ podLevel = true, text }: { podLevel?: boolean; text?: string } = {}) {
  const asides: string[] = [];
  const counted: string[] = [];
  const { gates } = computeFeatureGates({ PodLevelResourceManagers: podLevel });
  const reservedMemory = [{ numaNode: 0, limits: { memory: '1Gi' } }];
  const manager = createMemoryManager({
    config: toKubeletConfig(applyDefaults({ memoryManagerPolicy: 'Static', reservedMemory }, gates.enabled), gates),
    nodeReservation: { memory: '1Gi' },
    topology,
    file: { text, setAside: (why) => void asides.push(why), follow: () => undefined, changed: () => undefined },
    observer: {
      assigned: ({ from, isExclusive }) => void counted.push(`${from} ${isExclusive ? 'exclusive' : 'shared'}`),
      refused: (from) => void counted.push(`${from} refused`),
    },
    log: recordingLog(),
  });
  return { manager, asides, counted };
}

function admitWhole(manager: MemoryManager, pod: Pod, affinity?: number): string | undefined {
  const draft = manager.begin(pod);
  const problem = draft.allocatePod?.(affinity);
  if (problem !== undefined) return `${problem.reason}: ${problem.message}`;
  draft.commit();
  return undefined;
}

const amounts = (memory: string, hugepages?: string): Record<string, string> => ({
  cpu: '4',
  memory,
  ...(hugepages === undefined ? {} : { 'hugepages-2Mi': hugepages }),
});
const alone = (memory: string, kind?: 'init' | 'sidecar'): PooledContainer => ({ kind, own: { cpu: '1', memory } });
const sharing = (kind?: 'init' | 'sidecar'): PooledContainer => ({ kind });
const shown = (manager: MemoryManager, uid: string, name: string): string[] =>
  manager.blocks(uid, name).map(({ type, bytes, numaNodes }) => `${type} ${bytes / GI}Gi @${numaNodes.join(',')}`);
/** The free memory of each node in GiB. */
const freeGiB = (manager: MemoryManager): number[] => {
  const { machineState } = JSON.parse(manager.checkpoint()) as {
    machineState: Record<string, { memoryMap: Record<string, { free: number }> }>;
  };
  return Object.values(machineState).map(({ memoryMap }) => (memoryMap['memory']?.free ?? 0) / GI);
};

describe('pod-level memory', () => {
  it('is reserved once, and divided among its containers on the same nodes', () => {
    const { manager, counted } = start();
    const pod = pooledPod('a', amounts('4Gi', '1Gi'), [alone('1Gi'), sharing(), alone('1Gi', 'sidecar')]);
    assert.equal(admitWhole(manager, pod), undefined);
    assert.deepEqual(freeGiB(manager), [2, 7, 7]);
    assert.deepEqual(shown(manager, 'a', 'c0'), ['memory 1Gi @0']);
    assert.deepEqual(shown(manager, 'a', 'c1').sort(), ['hugepages-2Mi 1Gi @0', 'memory 2Gi @0']);
    assert.deepEqual(shown(manager, 'a', 'c2'), ['memory 1Gi @0']);
    assert.deepEqual(counted.sort(), ['pod exclusive', 'pod exclusive', 'pod shared']);
  });

  it('gives init containers what the sidecars before them leave', () => {
    const { manager } = start();
    const inits = [sharing('init'), alone('1Gi', 'sidecar'), sharing('init'), alone('3Gi', 'init')];
    assert.equal(admitWhole(manager, pooledPod('a', amounts('4Gi'), [...inits, sharing()])), undefined);
    assert.deepEqual(
      ['c0', 'c1', 'c2', 'c3', 'c4'].flatMap((name) => shown(manager, 'a', name)),
      ['memory 4Gi @0', 'memory 1Gi @0', 'memory 3Gi @0', 'memory 3Gi @0', 'memory 3Gi @0'],
    );
  });

  it('is refused when nothing is left for containers without memory of their own', () => {
    const { manager, counted } = start();
    const pod = pooledPod('a', amounts('2Gi'), [alone('2Gi'), sharing()]);
    assert.deepEqual([...(manager.begin(pod).podHints() ?? [])], [['memory', []]]);
    assert.equal(
      admitWhole(manager, pod),
      'EmptyPodSharedPoolError: pod rejected, sum of exclusive container memory requests equals pod budget, leaving no memory for shared containers',
    );
    assert.equal(
      admitWhole(manager, pooledPod('a', amounts('2Gi'), [alone('2Gi', 'sidecar'), sharing('init'), sharing()])),
      'EmptyPodSharedPoolError: pod rejected, pod has shared init containers but no memory available for them',
    );
    assert.deepEqual(counted, ['pod refused', 'pod refused']);
    assert.equal(admitWhole(manager, pooledPod('a', amounts('2Gi'), [sharing('init'), alone('2Gi')])), undefined);
  });

  it('is refused when the nodes do not have it, and extends the nodes of the hint', () => {
    const { manager } = start();
    assert.match(
      admitWhole(manager, pooledPod('a', amounts('30Gi'), [sharing()])) ?? '',
      /^UnexpectedAdmissionError: .*no NUMA nodes with enough memory/,
    );
    assert.equal(admitWhole(manager, pooledPod('a', amounts('10Gi'), [sharing()]), 0b010), undefined);
    assert.deepEqual([...(manager.affinity('a', 'c0') ?? [])], [0, 1]);
  });

  it('is offered where there is room, and then where it is', () => {
    const { manager } = start();
    const pod = pooledPod('a', amounts('6500Mi'), [alone('1Gi'), sharing()]);
    const preferred = (): (number | undefined)[] =>
      (manager.begin(pod).podHints()?.get('memory') ?? []).flatMap((hint) => (hint.preferred ? [hint.affinity] : []));
    assert.deepEqual(preferred(), [2, 4], 'the first node has too little');
    assert.equal(admitWhole(manager, pod, 4), undefined);
    assert.deepEqual(preferred(), [4]);
  });

  it('stays at a restart and returns when the pod is over', () => {
    const pod = pooledPod('a', amounts('4Gi'), [alone('1Gi'), sharing()]);
    const first = start().manager;
    admitWhole(first, pod);
    const { manager, asides, counted } = start({ text: first.checkpoint() });
    assert.equal(admitWhole(manager, pod), undefined);
    assert.deepEqual([manager.checkpoint(), asides, counted], [first.checkpoint(), [], []]);
    manager.retain(() => false);
    assert.equal(manager.checkpoint(), start().manager.checkpoint());
  });

  it('does not exist without the gate, and a file with it is set aside then', () => {
    const pod = pooledPod('a', amounts('4Gi'), [sharing()]);
    const off = start({ podLevel: false });
    assert.equal(admitWhole(off.manager, pod), undefined);
    assert.deepEqual(freeGiB(off.manager), [6, 7, 7]);
    const { manager } = start();
    admitWhole(manager, pod);
    const back = start({ podLevel: false, text: manager.checkpoint() });
    assert.deepEqual([back.asides.length, freeGiB(back.manager)], [1, [6, 7, 7]]);
    assert.deepEqual(start({ podLevel: false, text: start().manager.checkpoint() }).asides, []);
    assert.deepEqual(start({ text: off.manager.checkpoint() }).asides, []);
  });
});

describe('a container of a pod with resources of its own, in the scope of the container', () => {
  it('gets memory alone with equal requests and limits', () => {
    const { manager } = start();
    const pod = pooledPod('a', amounts('4Gi'), [alone('2Gi'), sharing()]);
    const draft = manager.begin(pod);
    for (const container of pod.spec.containers) assert.equal(draft.allocate(container, undefined), undefined);
    draft.commit();
    assert.deepEqual([shown(manager, 'a', 'c0'), shown(manager, 'a', 'c1')], [['memory 2Gi @0'], []]);
    assert.deepEqual(freeGiB(manager), [4, 7, 7]);
  });
});

describe('the state file of pods with memory as a whole', () => {
  const upstream =
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},"podEntries":{"pod":{"memoryBlocks":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":1278640530}';

  it("the state file has upstream's second format, and reads as it was written", () => {
    const decoded = decodeMemoryCheckpoint(upstream);
    assert.ok(typeof decoded !== 'string');
    assert.equal(encodeMemoryCheckpoint(decoded), upstream);
  });

  for (const podEntries of [1, null, { pod: 1 }, { pod: { memoryBlocks: 1 } }, { pod: { memoryBlocks: [1] } }])
    it(`the state file is refused for its form with podEntries ${JSON.stringify(podEntries)}`, () => {
      const text = JSON.stringify({ ...(JSON.parse(upstream) as object), podEntries });
      assert.equal(decodeMemoryCheckpoint(text), 'its structure is not the expected one');
    });
});

it('whatever pods come and go, no node gives more than it has, and a restart changes nothing', () => {
  const container = fc.record({
    kind: fc.constantFrom(undefined, 'init' as const, 'sidecar' as const),
    own: fc.option(fc.constant({ cpu: '1', memory: '1Gi' }), { nil: undefined }),
  });
  const step = fc.record({
    uid: fc.constantFrom('a', 'b', 'c', 'd'),
    memory: fc.integer({ min: 1, max: 12 }),
    containers: fc.array(container, { minLength: 1, maxLength: 3 }),
    leaves: fc.boolean(),
    affinity: fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      let { manager } = start();
      const live = new Map<string, number>();
      for (const { uid, memory, containers, leaves, affinity } of steps) {
        const pod = pooledPod(uid, amounts(`${memory}Gi`), [...containers, { own: undefined }]);
        if (leaves) live.delete(uid);
        else if (!live.has(uid) && admitWhole(manager, pod, affinity) === undefined) live.set(uid, memory);
        manager.retain((one) => live.has(one));
        const next = start({ text: manager.checkpoint() });
        assert.deepEqual(next.asides, []);
        ({ manager } = next);
        const given = [...live.values()].reduce((sum, one) => sum + one, 0);
        const free = freeGiB(manager);
        assert.ok(free.every((amount) => amount >= 0));
        assert.equal(
          free.reduce((sum, one) => sum + one, given),
          20,
          'all that was given is reserved, once',
        );
        for (const [one, total] of live)
          for (const { bytes } of manager.blocks(one, 'c0')) assert.ok(bytes <= quantityValue(`${total}Gi`));
      }
    }),
    { numRuns: 60 },
  );
});
