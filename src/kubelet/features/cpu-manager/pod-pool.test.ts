import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { CpuSet } from '../../model/cpu-set.ts';
import { formatCpuSet, noCpus } from '../../model/cpu-set.ts';
import { machines } from '../../model/testing/machines.ts';
import type { PooledContainer } from '../../model/testing/pooled-pod.ts';
import { pooledPod } from '../../model/testing/pooled-pod.ts';
import type { CpuManager } from './cpu-manager.ts';
import { decodeCpuCheckpoint, encodeCpuCheckpoint } from './cpu-state.ts';
import type { CpuManagerFixture, CpuManagerSetting } from './testing/cpu-manager-fixture.ts';
import { admit, admitWhole, startCpuManager } from './testing/cpu-manager-fixture.ts';

const featureGates = { PodLevelResourceManagers: true };
const start = (setting: CpuManagerSetting = {}): CpuManagerFixture =>
  startCpuManager({ ...setting, config: { featureGates, ...setting.config } });
const alone = (cpu: string, kind?: 'init' | 'sidecar'): PooledContainer => ({ kind, own: { cpu, memory: '1Mi' } });
const sharing = (kind?: 'init' | 'sidecar'): PooledContainer => ({ kind });
const amounts = (cpu: string): Record<string, string> => ({ cpu, memory: '1Gi' });
const cpusOf = (manager: CpuManager, uid: string, container: string): string =>
  formatCpuSet(manager.affinity(uid, container) ?? noCpus);

describe('a pod with resources of its own, in the scope of the pod', () => {
  it('a pod with pod-level CPUs has a pool, of which some containers have parts and the others share the rest', () => {
    const { manager, counted } = start();
    const pod = pooledPod('a', amounts('6'), [alone('2'), sharing(), sharing('sidecar')]);
    assert.equal(admitWhole(manager, pod), undefined);
    assert.deepEqual(
      ['c0', 'c1', 'c2'].map((name) => cpusOf(manager, 'a', name)),
      ['1,25', '2-3,26-27', '2-3,26-27'],
    );
    assert.equal(cpusOf(manager, 'other', 'x'), '0,4-24,28-47');
    assert.deepEqual(counted, [
      'exclusive of the pod',
      'shared of the pod',
      'shared of the pod',
      'uncore_cache aligned',
    ]);
    const [one, other] = pod.spec.containers;
    assert.ok(one !== undefined && other !== undefined);
    assert.deepEqual([manager.isAlone(pod, one), manager.isAlone(pod, other)], [true, false]);
  });

  it('gives init containers what the sidecars before them leave', () => {
    const { manager } = start();
    const inits = [sharing('init'), alone('2', 'sidecar'), sharing('init'), alone('4', 'init')];
    assert.equal(admitWhole(manager, pooledPod('a', amounts('6'), [...inits, sharing()])), undefined);
    assert.deepEqual(
      ['c0', 'c1', 'c2', 'c3', 'c4'].map((name) => cpusOf(manager, 'a', name)),
      ['1-3,25-27', '1,25', '2-3,26-27', '2-3,26-27', '2-3,26-27'],
    );
  });

  it('a pod with pod-level CPUs is refused when its exclusive containers leave no CPU for the others', () => {
    const { manager, counted } = start();
    const pod = pooledPod('a', amounts('4'), [alone('4'), sharing()]);
    assert.deepEqual([...(manager.begin(pod).podHints()?.get('cpu') ?? ['no list'])], []);
    assert.equal(
      admitWhole(manager, pod),
      'EmptyPodSharedPoolError: pod rejected, sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers',
    );
    assert.equal(
      admitWhole(manager, pooledPod('a', amounts('4'), [alone('4', 'sidecar'), sharing('init'), sharing()])),
      'EmptyPodSharedPoolError: pod rejected, pod has shared init containers but no cpus available for them',
    );
    assert.deepEqual([counted, manager.usage().exclusive.size], [['failed for the pod', 'failed for the pod'], 0]);
    assert.equal(admitWhole(manager, pooledPod('a', amounts('4'), [sharing('init'), alone('4')])), undefined);
  });

  it('a pod with pod-level CPUs is refused when the node has too few CPUs, or too few whole cores', () => {
    const { manager } = start();
    assert.match(
      admitWhole(manager, pooledPod('a', amounts('48'), [sharing()])) ?? '',
      /^UnexpectedAdmissionError: .*requested=48, available=47/,
    );
    const whole = start({ config: { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } } }).manager;
    assert.match(admitWhole(whole, pooledPod('a', amounts('3'), [sharing()])) ?? '', /^SMTAlignmentError/);
  });

  it('runs in the shared pool of the node with a fraction of a CPU, or when it is not Guaranteed', () => {
    const { manager } = start();
    const burstable = pooledPod('b', amounts('4'), [sharing()]);
    burstable.spec.resources = { requests: { cpu: '4' }, limits: { cpu: '5', memory: '1Gi' } };
    for (const pod of [pooledPod('a', amounts('1500m'), [alone('1'), sharing()]), burstable]) {
      assert.equal(manager.begin(pod).podHints(), undefined);
      assert.equal(admitWhole(manager, pod), undefined);
    }
    assert.equal(manager.usage().exclusive.size, 0);
  });

  it('prefers the NUMA nodes that have all of its CPUs, and then those where it is', () => {
    const { manager } = start();
    const pod = pooledPod('a', amounts('12'), [alone('2'), sharing()]);
    const preferred = (): number[] =>
      (manager.begin(pod).podHints()?.get('cpu') ?? []).flatMap((hint) => (hint.preferred ? [hint.affinity ?? 0] : []));
    assert.deepEqual(preferred(), [2, 4, 8], 'the first node has a reserved CPU');
    assert.equal(admitWhole(manager, pod, 4), undefined);
    assert.deepEqual(preferred(), [4]);
    assert.equal(cpusOf(manager, 'a', 'c0'), '12,36');
  });

  it('keeps what it has at a restart, and returns all of it when it is over', () => {
    const pod = pooledPod('a', amounts('6'), [alone('2'), sharing()]);
    const first = start().manager;
    admitWhole(first, pod);
    const { manager, asides, counted } = start({ text: first.checkpoint() });
    assert.equal(admitWhole(manager, pod), undefined);
    assert.deepEqual([manager.checkpoint(), asides, counted], [first.checkpoint(), [], []]);
    manager.retain(() => false);
    assert.equal(manager.checkpoint(), start().manager.checkpoint());
  });
});

describe('a pod with resources of its own, container by container', () => {
  it('gives CPUs to containers with equal requests and limits, and the shared pool of the node to the others', () => {
    const { manager } = start();
    const pod = pooledPod('a', amounts('6'), [alone('2'), sharing()]);
    assert.equal(admit(manager, pod), undefined);
    assert.deepEqual([cpusOf(manager, 'a', 'c0'), cpusOf(manager, 'a', 'c1')], ['1,25', '0,2-24,26-47']);
  });

  it('gives nothing to a container whose memory has another limit, or without the gate', () => {
    const pod = pooledPod('a', amounts('6'), [alone('2')]);
    const off = startCpuManager().manager;
    assert.equal(admit(off, pod), undefined);
    assert.equal(off.exclusive('a'), undefined);
    pod.spec.containers[0]!.resources = { requests: { cpu: '2', memory: '1Mi' }, limits: { cpu: '2', memory: '2Mi' } };
    const { manager } = start();
    assert.equal(admit(manager, pod), undefined);
    assert.equal(manager.exclusive('a'), undefined);
  });
});

describe('the state file of pods with pools', () => {
  const upstream =
    '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"podEntries":{"pod":{"cpuSet":"4-6"}},"checksum":2649431787}';

  it("the state file has upstream's third format, and reads as it was written", () => {
    const decoded = decodeCpuCheckpoint(upstream);
    assert.ok(typeof decoded !== 'string');
    assert.equal(formatCpuSet(decoded.pools.get('pod') ?? noCpus), '4-6');
    assert.equal(encodeCpuCheckpoint(decoded, { podLevel: true }), upstream);
  });

  for (const podEntries of [1, [], null, { pod: 1 }, { pod: { cpuSet: 1 } }, { pod: { cpuSet: 'x' } }])
    it(`the state file is refused for its form with podEntries ${JSON.stringify(podEntries)}`, () => {
      const text = JSON.stringify({ ...(JSON.parse(upstream) as object), podEntries });
      assert.equal(decodeCpuCheckpoint(text), 'its structure is not the expected one');
    });

  it('the state file of the second format is taken over with the gate, and one of the third without pools without it', () => {
    const pod = pooledPod('a', { cpu: '2', memory: '1Gi' }, [alone('2')]);
    const plain = { ...pod, spec: { ...pod.spec } };
    delete plain.spec.resources;
    const old = startCpuManager().manager;
    admit(old, plain);
    const { manager, asides } = start({ text: old.checkpoint() });
    assert.deepEqual([cpusOf(manager, 'a', 'c0'), asides], ['1,25', []]);
    assert.notEqual(manager.checkpoint(), old.checkpoint());
    const back = startCpuManager({ text: manager.checkpoint() });
    assert.deepEqual([back.manager.checkpoint(), back.asides], [old.checkpoint(), []]);
  });

  it('the state file with pools is set aside without the gate, and the CPUs of these pods return', () => {
    const { manager } = start();
    admitWhole(manager, pooledPod('a', amounts('6'), [alone('2'), sharing()]));
    const { manager: off, asides } = startCpuManager({ text: manager.checkpoint() });
    assert.deepEqual(asides, [
      'it gives CPUs to pods as a whole, and the feature gate PodLevelResourceManagers is off',
    ]);
    assert.equal(off.usage().exclusive.size, 0);
  });

  it('keeps a pod with all of its pool or with nothing', () => {
    const { manager } = start();
    admitWhole(manager, pooledPod('a', amounts('6'), [alone('2'), sharing()]));
    const reserved = { config: { reservedSystemCPUs: '0,3' }, reservedCpu: '2', text: manager.checkpoint() };
    const { manager: next, asides } = start(reserved);
    assert.deepEqual([asides.length, next.exclusive('a')], [1, undefined]);
  });
});

/** A slow reference: checks which containers may run at the same time, and which CPUs each of them has. */
function checkPool(
  manager: CpuManager,
  uid: string,
  containers: readonly PooledContainer[],
  { cpus, pool }: { cpus: number; pool: CpuSet },
): void {
  const own = containers.map((_, index) => manager.exclusive(uid, `c${index}`) ?? assert.fail('nothing'));
  assert.equal(pool.size, cpus);
  for (const [index, { own: asked, kind }] of containers.entries()) {
    const mine = own[index] ?? noCpus;
    assert.ok(mine.size > 0 && mine.isSubsetOf(pool));
    if (asked !== undefined) assert.equal(mine.size, Number(asked.cpu));
    for (const [other, { kind: otherKind, own: otherAsked }] of containers.entries()) {
      // A regular init container runs only beside the sidecars before it. As upstream, a sidecar without exclusive CPUs
      // may use the CPUs of an init container too.
      const [left, right] = [Math.min(index, other), Math.max(index, other)];
      const isBeside = containers[left]?.kind === 'sidecar' && containers[left]?.own !== undefined;
      const together = (kind !== 'init' && otherKind !== 'init') || (isBeside && containers[right]?.kind === 'init');
      if (other === index || !together || (asked === undefined && otherAsked === undefined)) continue;
      assert.ok(mine.isDisjointFrom(own[other] ?? noCpus), `${index} and ${other}`);
    }
  }
}

describe('whatever pods with pools come and go', () => {
  for (const [name, machine] of Object.entries(machines)) {
    const total = machine.nodes.flatMap(({ cores }) => cores.flatMap(({ cpus }) => cpus)).length;
    it(`${name}: no CPU has two owners, and a restart at any time changes nothing`, () => {
      const size = fc.integer({ min: 1, max: Math.max(1, total >> 2) });
      const container = fc.record({
        kind: fc.constantFrom(undefined, 'init' as const, 'sidecar' as const),
        own: fc.option(
          size.map((cpu) => ({ cpu: String(cpu), memory: '1Mi' })),
          { nil: undefined },
        ),
      });
      const step = fc.record({
        uid: fc.constantFrom('a', 'b', 'c', 'd'),
        cpus: fc.integer({ min: 1, max: Math.max(1, total >> 1) }),
        containers: fc.array(container, { minLength: 1, maxLength: 4 }),
        leaves: fc.boolean(),
        whole: fc.boolean(),
        affinity: fc.option(fc.integer({ min: 1, max: 2 ** machine.nodes.length - 1 }), { nil: undefined }),
      });
      fc.assert(
        fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
          let { manager } = start({ machine });
          const live = new Map<string, { containers: readonly PooledContainer[]; cpus: number; whole: boolean }>();
          for (const { uid, containers, cpus, leaves, whole, affinity } of steps) {
            const all = [...containers, { kind: undefined, own: undefined }];
            // Init containers start first. Without this order, positions would not be the order of the starts.
            const ordered = [...all.filter(({ kind }) => kind), ...all.filter(({ kind }) => !kind)];
            const pod = pooledPod(uid, amounts(String(cpus)), ordered);
            if (leaves) live.delete(uid);
            else if (!live.has(uid)) {
              const before = manager.checkpoint();
              const problem = whole ? admitWhole(manager, pod, affinity) : admit(manager, pod);
              if (problem === undefined) live.set(uid, { containers: ordered, cpus, whole });
              else assert.equal(manager.checkpoint(), before, 'a refused pod leaves no trace');
            }
            manager.retain((one) => live.has(one));
            const next = start({ machine, text: manager.checkpoint() });
            assert.deepEqual(next.asides, []);
            assert.equal(next.manager.checkpoint(), manager.checkpoint());
            ({ manager } = next);
            const owned = [...live.keys()].flatMap((one) => [...(manager.exclusive(one) ?? [])]);
            assert.equal(new Set(owned).size, owned.length, 'one owner');
            const rest = manager.affinity('other', 'x') ?? noCpus;
            assert.equal(owned.length + rest.size, total, 'none is lost');
            assert.ok(rest.isDisjointFrom(new Set(owned)) && rest.size > 0);
            for (const [one, { containers: theirs, cpus: count, whole: isPool }] of live)
              if (isPool) checkPool(manager, one, theirs, { cpus: count, pool: manager.exclusive(one) ?? noCpus });
          }
        }),
        { numRuns: 40 },
      );
    });
  }
});
