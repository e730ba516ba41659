import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { formatCpuSet, noCpus } from '../../model/cpu-set.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import { dualSocket, machineOf, machines, subNumaClusters } from '../../model/testing/machines.ts';
import type { ResourceHints } from '../../model/topology-hints.ts';
import { countNodes, positionsOf } from '../../model/topology-hints.ts';
import { admit, startCpuManager } from './testing/cpu-manager-fixture.ts';
import { guaranteedPod } from './testing/guaranteed-pod.ts';

const containersOf = ({ spec }: Pod): Container[] => [...(spec.initContainers ?? []), ...spec.containers];
const containerOf = (pod: Pod, index = 0): Container => containersOf(pod)[index] ?? assert.fail();
const whole = (uid: string, cpu: string): Pod => guaranteedPod(uid, [{ cpu }]);

/** The positions of the nodes of each hint, `*` where it is preferred. */
function shown(hints: ResourceHints | undefined): string[] | undefined {
  return hints
    ?.get('cpu')
    ?.map(({ affinity = 0, preferred }) => `${positionsOf(affinity).join('+')}${preferred ? '*' : ''}`);
}

/** A manager of four nodes with 12 CPUs each, of which CPU 0 is reserved. */
const start = startCpuManager;
const bySocket = {
  cpuManagerPolicyOptions: { 'align-by-socket': 'true' },
  featureGates: { CPUManagerPolicyAlphaOptions: true },
};

describe('hints for a container', () => {
  const hintsFor = (cpu: string, config?: Record<string, unknown>): string[] | undefined => {
    const pod = whole('a', cpu);
    const { manager } = start(config === undefined ? {} : { config });
    return shown(manager.begin(pod).containerHints(containerOf(pod)));
  };
  const preferred = (cpu: string, config?: Record<string, unknown>): string =>
    hintsFor(cpu, config)
      ?.filter((hint) => hint.endsWith('*'))
      .join(' ') ?? '';

  it('are the node sets with enough free CPUs; the smallest possible sets are preferred', () => {
    assert.equal(hintsFor('11')?.length, 15);
    assert.equal(preferred('11'), '0* 1* 2* 3*');
    assert.equal(preferred('12'), '1* 2* 3*');
    assert.equal(preferred('13'), '0+1* 0+2* 1+2* 0+3* 1+3* 2+3*');
    assert.deepEqual(hintsFor('36'), ['1+2+3*', '0+1+2+3']);
    assert.deepEqual(hintsFor('48'), []);
  });

  it('do not exist where it has no CPUs alone', () => {
    assert.equal(hintsFor('1500m'), undefined);
    assert.equal(hintsFor('2', { cpuManagerPolicy: 'none' }), undefined);
  });

  it('prefer all nodes of one socket with align-by-socket', () => {
    assert.equal(preferred('2', bySocket), '0* 1* 0+1* 2* 3* 2+3*');
    assert.equal(preferred('36'), '1+2+3*');
    assert.equal(preferred('36', bySocket), '1+2+3* 0+1+2+3*');
  });

  it('are only the nodes of its own CPUs when it has some', () => {
    const pod = whole('a', '2');
    const { manager } = start();
    admit(manager, pod);
    const own = shown(manager.begin(pod).containerHints(containerOf(pod)));
    assert.deepEqual(own, ['0*', '0+1', '0+2', '0+1+2', '0+3', '0+1+3', '0+2+3', '0+1+2+3']);
    for (const resized of [whole('a', '4'), whole('a', '1')])
      assert.deepEqual(shown(manager.begin(resized).containerHints(containerOf(resized))), [], 'its request changed');
  });
});

describe('hints for a pod', () => {
  const preferred = (pod: Pod): string | undefined =>
    shown(start().manager.begin(pod).podHints())
      ?.filter((hint) => hint.endsWith('*'))
      .join(' ');

  it('are for the most CPUs that it has at one time: sidecars run beside all containers after them', () => {
    assert.equal(preferred(guaranteedPod('a', [{ cpu: '6' }, { cpu: '6' }])), '1* 2* 3*');
    assert.equal(preferred(guaranteedPod('a', [{ cpu: '12', kind: 'init' }, { cpu: '6' }])), '1* 2* 3*');
    const sidecar = { cpu: '1', kind: 'sidecar' } as const;
    assert.equal(preferred(guaranteedPod('a', [sidecar, { cpu: '11', kind: 'init' }, { cpu: '10' }])), '1* 2* 3*');
    assert.equal(preferred(guaranteedPod('a', [{ cpu: '11', kind: 'init' }, sidecar, { cpu: '10' }])), '0* 1* 2* 3*');
    assert.equal(preferred(guaranteedPod('a', [sidecar, { cpu: '11' }])), '1* 2* 3*');
  });

  it('do not exist for a pod without CPUs of its own', () => assert.equal(preferred(whole('a', '500m')), undefined));

  it('are the nodes of its own CPUs when all of its containers have theirs', () => {
    const pod = guaranteedPod('a', [{ cpu: '2' }, { cpu: '2' }]);
    const { manager } = start();
    admit(manager, pod);
    assert.equal(shown(manager.begin(pod).podHints())?.length, 8);
    assert.equal(shown(manager.begin(pod).podHints())?.[0], '0*');
    const resized = guaranteedPod('a', [{ cpu: '4' }, { cpu: '2' }]);
    assert.deepEqual(shown(manager.begin(resized).podHints()), []);
    const longer = guaranteedPod('a', [{ cpu: '2' }, { cpu: '2' }, { cpu: '7' }]);
    assert.equal(shown(manager.begin(longer).podHints())?.[0], '0*', 'the CPUs that some have count as free');
  });
});

describe('CPUs for an affinity', () => {
  const taken = (cpu: string, affinity: number, config?: Record<string, unknown>): string => {
    const pod = whole('a', cpu);
    const { manager } = start(config === undefined ? {} : { config });
    const draft = manager.begin(pod);
    assert.equal(draft.allocate(containerOf(pod), affinity), undefined);
    draft.commit();
    return formatCpuSet(manager.exclusive('a') ?? []);
  };

  it('are those of its nodes, and others only when these have too few', () => {
    assert.equal(taken('4', 0b0100), '12-13,36-37');
    assert.equal(taken('12', 0b0100), '12-17,36-41');
    assert.equal(taken('14', 0b0100), '12-18,36-42');
  });

  it('are those of its sockets with align-by-socket', () => {
    assert.equal(taken('12', 0b0001), '1-6,24-29');
    assert.equal(taken('12', 0b0001, bySocket), '6-11,30-35');
    assert.equal(taken('12', 0b0100, bySocket), '12-17,36-41');
  });

  it('are those that it has already, which count once', () => {
    const { manager, counted } = start();
    const pod = guaranteedPod('a', [{ cpu: '2', kind: 'init' }, { cpu: '2' }]);
    admit(manager, pod);
    const before = manager.checkpoint();
    const draft = manager.begin(pod);
    for (const container of containersOf(pod)) assert.equal(draft.allocate(container, 0b1000), undefined);
    assert.equal(shown(draft.containerHints(containerOf(pod, 1)))?.[0], '0*');
    draft.commit();
    const pinned = ['pinned', 'uncore_cache aligned'];
    assert.deepEqual([manager.checkpoint(), counted], [before, [...pinned, ...pinned]]);
  });

  it('leave a pod as it was when its later container is refused', () => {
    const { manager, counted } = start();
    const pod = guaranteedPod('a', [{ cpu: '40' }, { cpu: '40' }]);
    assert.match(admit(manager, pod) ?? '', /not enough cpus available to satisfy request: requested=40, available=7/);
    assert.deepEqual([manager.exclusive('a'), counted], [undefined, ['failed']]);
  });
});

it('the reserved CPUs are no part of what a NUMA node offers', () => {
  const { manager } = start({ machine: subNumaClusters, config: { reservedSystemCPUs: '0-7' }, reservedCpu: '8' });
  const pod = whole('a', '8');
  assert.deepEqual(shown(manager.begin(pod).containerHints(containerOf(pod)))?.slice(0, 3), ['0+1', '2*', '0+2']);
});

/** The sizes of the nodes, and how many CPUs of a set each of them has. */
function countsOf({ nodes }: MachineTopology, cpus: CpuSet): number[] {
  return nodes.map((node) => node.cores.flatMap((core) => core.cpus).filter((cpu) => cpus.has(cpu)).length);
}

describe('any machine, any pods before it', () => {
  const more = { 'three nodes without SMT': machineOf({ sockets: 3, nodes: 1, cores: 4, threads: 1 }), dualSocket };
  for (const [name, machine] of Object.entries({ ...machines, ...more })) {
    const all = new Set(machine.nodes.flatMap(({ cores }) => cores.flatMap(({ cpus }) => cpus)));
    const size = fc.integer({ min: 1, max: Math.max(1, all.size >> 1) }).map(String);

    it(`${name}: hints after an init container are the nodes with room that have its CPUs`, () => {
      fc.assert(
        fc.property(fc.array(size, { maxLength: 3 }), size, size, (others, init, cpu) => {
          const { manager } = startCpuManager({ machine });
          for (const [index, other] of others.entries()) admit(manager, whole(`other${index}`, other));
          const free = manager.usage().sharedPool;
          const pod = guaranteedPod('a', [{ cpu: init, kind: 'init' }, { cpu }]);
          const draft = manager.begin(pod);
          if (draft.allocate(containerOf(pod), undefined) !== undefined) return;
          // The same choice on a manager of its own shows which CPUs these are.
          const twin = startCpuManager({ machine, text: manager.checkpoint() }).manager;
          admit(twin, guaranteedPod('a', [{ cpu: init, kind: 'init' }, { cpu: '500m' }]));
          const own = twin.exclusive('a', 'c0') ?? noCpus;
          const count = Number(cpu);
          const [sizes, freeCounts, ownCounts] = [all, free, own].map((set) => countsOf(machine, set));
          const sum = (counts: readonly number[] = [], mask: number): number =>
            positionsOf(mask).reduce((total, position) => total + (counts[position] ?? 0), 0);
          const masks = [...Array(2 ** machine.nodes.length).keys()]
            .slice(1)
            .filter((mask) => positionsOf(mask).every((position) => (sizes?.[position] ?? 0) > 0));
          const least = Math.min(...masks.filter((mask) => sum(sizes, mask) >= count).map(countNodes));
          const expected = masks
            .filter((mask) => sum(freeCounts, mask) >= count && sum(ownCounts, mask) === own.size)
            .map((affinity) => ({ affinity, preferred: countNodes(affinity) === least }));
          assert.deepEqual(draft.containerHints(containerOf(pod, 1))?.get('cpu'), expected);
        }),
        { numRuns: 30 },
      );
    });
  }
});
