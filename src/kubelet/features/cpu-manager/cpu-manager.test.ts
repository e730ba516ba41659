import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import { formatCpuSet } from '../../model/cpu-set.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import { eightCaches, machineOf, machines } from '../../model/testing/machines.ts';
import type { CpuManager } from './cpu-manager.ts';
import { decodeCpuCheckpoint } from './cpu-state.ts';
import { admit, startCpuManager as start } from './testing/cpu-manager-fixture.ts';
import { guaranteedPod } from './testing/guaranteed-pod.ts';

const of = (manager: CpuManager, uid: string, container = 'c0'): string =>
  formatCpuSet(manager.affinity(uid, container) ?? []);
const whole = (uid: string, cpu: string): Pod => guaranteedPod(uid, [{ cpu }]);
const options = (given: Record<string, string>): Record<string, unknown> => ({ cpuManagerPolicyOptions: given });

describe('the static policy', () => {
  it('gives whole CPUs to guaranteed containers, and the rest to all others', () => {
    const { manager } = start();
    assert.equal(admit(manager, whole('a', '2')), undefined);
    assert.equal(of(manager, 'a'), '1,25');
    assert.equal(of(manager, 'other'), '0,2-24,26-47');
  });

  for (const [what, pod] of [
    ['a fraction of a CPU', whole('a', '1500m')],
    ['a burstable pod', guaranteedPod('a', [{ cpu: '2' }], { 'spec.containers[0].resources.limits': { cpu: '3' } })],
    [
      'resources for the pod as a whole',
      guaranteedPod('a', [{ cpu: '2' }], {
        'spec.resources': { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '2', memory: '1Gi' } },
      }),
    ],
  ] as const)
    it(`leaves ${what} in the shared pool`, () => {
      const { manager } = start();
      assert.equal(admit(manager, pod), undefined);
      assert.equal(of(manager, 'a'), '0-47');
      assert.equal(manager.exclusive('a'), undefined);
    });

  it('never gives away reserved CPUs, by number or by amount', () => {
    const named = start({ config: { reservedSystemCPUs: '3,5' }, reservedCpu: '2' }).manager;
    assert.equal(admit(named, whole('a', '46')), undefined);
    assert.equal(of(named, 'other'), '3,5');
    const counted = start({ reservedCpu: '1500m' }).manager;
    assert.equal(admit(counted, whole('a', '46')), undefined);
    assert.equal(of(counted, 'other'), '0,24');
    assert.equal(
      admit(counted, whole('b', '1')),
      'UnexpectedAdmissionError: Allocate failed due to not enough cpus available to satisfy request: requested=1, available=0, which is unexpected',
    );
  });

  it('names the CPUs that containers may have alone', () => {
    assert.equal(formatCpuSet(start({ reservedCpu: '2' }).manager.allocatable()), '1-23,25-47');
    assert.equal(start({ config: { cpuManagerPolicy: 'none' } }).manager.allocatable().size, 0);
  });

  it('does nothing with the policy none', () => {
    const { manager } = start({ config: { cpuManagerPolicy: 'none' }, reservedCpu: '0' });
    assert.equal(admit(manager, whole('a', '2')), undefined);
    assert.equal(manager.affinity('a', 'c0'), undefined);
    const { sharedPool, exclusive, perNuma } = manager.usage();
    assert.deepEqual([sharedPool.size, exclusive.size, perNuma.size], [0, 0, 0]);
    assert.equal(manager.checkpoint(), '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}');
  });

  it('gives everything back when a pod is gone, and nothing before', () => {
    const { manager } = start();
    admit(manager, whole('a', '2'));
    admit(manager, whole('b', '2'));
    manager.retain((uid) => uid === 'b');
    assert.equal(manager.exclusive('a'), undefined);
    assert.equal(manager.exclusive('b')?.size, 2);
    assert.equal(manager.usage().sharedPool.size, 45);
  });

  it('tells its listeners when the shared pool changes, and only then', () => {
    const { manager } = start();
    const seen: number[] = [];
    manager.onChange(() => void seen.push(manager.usage().sharedPool.size));
    admit(manager, whole('a', '2'));
    admit(manager, whole('a', '2'));
    admit(manager, whole('b', '1500m'));
    manager.retain(() => true);
    manager.retain(() => false);
    manager.retain(() => false);
    assert.deepEqual(seen, [45, 47]);
  });

  it('changes nothing for a pod that is not admitted in the end', () => {
    const { manager } = start();
    const draft = manager.begin(whole('a', '2'));
    draft.allocate(whole('a', '2').spec.containers[0] ?? assert.fail(), undefined);
    assert.equal(of(manager, 'other'), '0-47');
  });
});

describe('init containers', () => {
  it('lend their CPUs to the containers after them', () => {
    const { manager } = start();
    const pod = guaranteedPod('a', [{ cpu: '4', kind: 'init' }, { cpu: '2' }, { cpu: '2' }]);
    assert.equal(admit(manager, pod), undefined);
    assert.equal(manager.exclusive('a')?.size, 4);
    const [init, one, other] = ['c0', 'c1', 'c2'].map((name) => manager.exclusive('a', name) ?? new Set<number>());
    assert.deepEqual(
      [
        one?.isSubsetOf(init ?? new Set()),
        other?.isSubsetOf(init ?? new Set()),
        one?.isDisjointFrom(other ?? new Set()),
      ],
      [true, true, true],
    );
  });

  it('that are sidecars keep theirs', () => {
    const { manager } = start();
    admit(manager, guaranteedPod('a', [{ cpu: '2', kind: 'sidecar' }, { cpu: '2', kind: 'init' }, { cpu: '2' }]));
    assert.equal(manager.exclusive('a')?.size, 4);
    assert.ok(manager.exclusive('a', 'c0')?.isDisjointFrom(manager.exclusive('a', 'c2') ?? new Set()));
  });
});

describe('options', () => {
  it('full-pcpus-only rejects what does not fill whole cores', () => {
    const { manager, counted } = start({ config: options({ 'full-pcpus-only': 'true' }) });
    assert.equal(
      admit(manager, whole('a', '3')),
      'SMTAlignmentError: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
    );
    assert.equal(
      admit(manager, whole('a', '48')),
      'SMTAlignmentError: SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 46, requested CPUs = 48, CPUs per core = 2',
    );
    assert.equal(admit(manager, whole('a', '46')), undefined);
    assert.equal(of(manager, 'other'), '0,24');
    assert.deepEqual(counted, [
      ...['failed', 'physical_cpu not aligned', 'failed', 'physical_cpu not aligned'],
      ...['pinned', 'physical_cpu aligned'],
    ]);
  });

  it('only full-pcpus-only counts whether containers got whole cores', () => {
    const { manager, counted } = start();
    assert.match(admit(manager, whole('a', '48')) ?? '', /not enough cpus/);
    admit(manager, whole('a', '1'));
    assert.deepEqual(counted, ['failed', 'pinned', 'uncore_cache aligned']);
  });

  it('strict-cpu-reservation keeps all containers off the reserved CPUs', () => {
    const { manager } = start({ config: options({ 'strict-cpu-reservation': 'true' }), reservedCpu: '2' });
    assert.equal(of(manager, 'other'), '1-23,25-47');
  });

  it('distribute-cpus-across-numa gives equal shares', () => {
    const { manager } = start({ config: options({ 'distribute-cpus-across-numa': 'true' }) });
    admit(manager, whole('a', '20'));
    const perNode = [...manager.usage().perNuma.values()].filter((count) => count > 0);
    assert.deepEqual(perNode, [10, 10]);
  });

  it('distribute-cpus-across-cores gives one thread of each core', () => {
    const config = {
      ...options({ 'distribute-cpus-across-cores': 'true' }),
      featureGates: { CPUManagerPolicyAlphaOptions: true },
    };
    const { manager } = start({ config });
    admit(manager, whole('a', '4'));
    assert.equal(of(manager, 'a'), '1-4');
  });

  it('prefer-align-cpus-by-uncorecache keeps a container behind one cache', () => {
    const { manager, counted } = start({
      machine: eightCaches,
      config: options({ 'prefer-align-cpus-by-uncorecache': 'true' }),
    });
    admit(manager, whole('a', '8'));
    admit(manager, whole('b', '6'));
    assert.deepEqual([of(manager, 'a'), of(manager, 'b')], ['4-7,36-39', '1-3,33-35']);
    assert.deepEqual(counted, ['pinned', 'uncore_cache aligned', 'pinned', 'uncore_cache aligned']);
  });

  const refused = (config: Record<string, unknown>, machine?: MachineTopology): string => {
    try {
      start({ config, ...(machine === undefined ? {} : { machine }) });
    } catch (error) {
      return error instanceof KubeletError && error.kind === 'Invalid' ? error.message : String(error);
    }
    return 'accepted';
  };

  it('that contradict each other, are unknown or not enabled are refused', () => {
    assert.equal(refused(options({ x: 'true' })), 'unknown CPU Manager Policy option: "x"');
    assert.equal(refused(options({ __proto__x: 'true' })), 'unknown CPU Manager Policy option: "__proto__x"');
    assert.equal(
      refused(options({ 'full-pcpus-only': 'yes' })),
      'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
    );
    assert.equal(
      refused(options({ 'align-by-socket': 'true' })),
      'CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
    );
    assert.equal(
      refused({
        ...options({ 'distribute-cpus-across-numa': 'true' }),
        featureGates: { CPUManagerPolicyBetaOptions: false },
      }),
      'CPU Manager Policy Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided',
    );
    assert.equal(
      refused(options({ 'prefer-align-cpus-by-uncorecache': '1', 'distribute-cpus-across-numa': '1' })),
      'static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not be used at the same time',
    );
    const bySocket = { ...options({ 'align-by-socket': '1' }), featureGates: { CPUManagerPolicyAlphaOptions: true } };
    assert.equal(refused(bySocket), 'accepted');
    assert.match(refused({ ...bySocket, topologyManagerPolicy: 'single-numa-node' }), /is incompatible with/);
    assert.match(refused(bySocket, machines['a NUMA node of two sockets']), /more than number of NUMA/);
  });
});

describe('reservations that cannot be made stop the agent, as upstream', () => {
  for (const [what, setting, message] of [
    ['none', { reservedCpu: '0' }, /requires systemreserved.cpu \+ kubereserved.cpu to be greater than zero/],
    ['more than there is', { reservedCpu: '49' }, /unable to reserve the required amount of CPUs/],
  ] as const)
    it(what, () => assert.throws(() => start(setting), message));
});

describe('the saved state', () => {
  it('is taken over by the next agent', () => {
    const first = start().manager;
    admit(first, whole('a', '2'));
    const { manager, asides } = start({ text: first.checkpoint() });
    assert.deepEqual([of(manager, 'a'), asides], [of(first, 'a'), []]);
    assert.equal(admit(manager, whole('a', '2')), undefined);
    assert.equal(manager.checkpoint(), first.checkpoint());
  });

  const saved = start().manager;
  admit(saved, whole('a', '2'));
  const text = saved.checkpoint();
  for (const [what, broken, why] of [
    ['a truncated file', text.slice(0, 30), 'it is not valid JSON'],
    ['an empty file', '', 'it is not valid JSON'],
    ['another value', '[1]', 'it is not an object'],
    ['a changed file', text.replace('"1,25"', '"2,26"'), 'its checksum is wrong'],
    [
      'CPUs that are no numbers',
      '{"policyName":"static","defaultCpuSet":"x","checksum":0}',
      'its structure is not the expected one',
    ],
    [
      'containers that are no texts',
      '{"policyName":"static","defaultCpuSet":"0","entries":{"a":{"b":1}},"checksum":0}',
      'its structure is not the expected one',
    ],
    [
      'another policy',
      '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
      'configured policy "static" differs from state checkpoint policy "none"',
    ],
    [
      'pods named as members of all objects',
      '{"policyName":"static","defaultCpuSet":"0-47","entries":{"__proto__":{"toString":"99"}},"checksum":0}',
      undefined,
    ],
  ] as const)
    it(`is set aside when it is damaged: ${what}`, () => {
      const { manager, asides } = start({ text: broken });
      assert.equal(asides.length, 1);
      if (why !== undefined) assert.deepEqual(asides, [why]);
      assert.equal(of(manager, 'a'), '0-47');
    });

  it('keeps the CPUs of running containers when the machine or the reservation changed', () => {
    const bigger = machineOf({ sockets: 2, nodes: 2, cores: 7, threads: 2 });
    const { manager, asides } = start({ text, machine: bigger });
    assert.equal(of(manager, 'a'), '1,25');
    assert.match(asides[0] ?? '', /^current set of available CPUs "0-55" doesn't match with CPUs in state "0-47"$/);
    const reserved = start({ text, reservedCpu: '3' });
    assert.equal(reserved.manager.exclusive('a'), undefined, 'its CPU is reserved now');
    assert.match(reserved.asides[0] ?? '', /^not all reserved cpus: "0-1,24" are present/);
    const strict = start({ text, config: options({ 'strict-cpu-reservation': 'true' }) });
    assert.match(strict.asides[0] ?? '', /^some of strictly reserved cpus: "0" are present/);
    assert.equal(of(strict.manager, 'a'), '1,25');
  });

  it('that gives a CPU to two pods leaves it with one of them', () => {
    const entries = { a: { c0: '1,25' }, b: { c0: '2,25' }, c: { c0: '3' } };
    const twice = JSON.stringify({ policyName: 'static', defaultCpuSet: '0,4-24,26-47', entries, checksum: 0 });
    const { manager, asides } = start({ text: twice });
    assert.equal(asides.length, 1);
    assert.deepEqual([of(manager, 'a'), of(manager, 'c')], ['1,25', '3']);
    assert.equal(manager.exclusive('b'), undefined);
    assert.equal(manager.usage().sharedPool.has(2), true);
  });

  it('has the format and the checksum of upstream', () => {
    const upstream =
      '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"checksum":3610638499}';
    const decoded = decodeCpuCheckpoint(upstream);
    assert.ok(typeof decoded !== 'string');
    assert.equal(formatCpuSet(decoded.assignments.get('pod')?.get('container1') ?? []), '4-6');
  });
});

describe('whatever pods come and go', () => {
  for (const [name, machine] of Object.entries(machines)) {
    const total = machine.nodes.flatMap(({ cores }) => cores.flatMap(({ cpus }) => cpus)).length;
    it(`${name}: each CPU has one owner, and a restart at any time changes nothing`, () => {
      const container = fc.record({
        cpu: fc.integer({ min: 1, max: Math.max(1, total >> 1) }).map(String),
        kind: fc.constantFrom(undefined, 'init' as const, 'sidecar' as const),
      });
      const step = fc.record({
        uid: fc.constantFrom('a', 'b', 'c', 'd'),
        containers: fc.array(container, { minLength: 1, maxLength: 3 }),
        leaves: fc.boolean(),
      });
      fc.assert(
        fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
          let { manager } = start({ machine });
          const live = new Set<string>();
          for (const { uid, containers, leaves } of steps) {
            if (leaves) live.delete(uid);
            else if (!live.has(uid) && admit(manager, guaranteedPod(uid, [...containers, { cpu: '1' }])) === undefined)
              live.add(uid);
            manager.retain((one) => live.has(one));
            const text: string = manager.checkpoint();
            const next = start({ machine, text });
            assert.deepEqual(next.asides, []);
            manager = next.manager;
            assert.equal(manager.checkpoint(), text);
            const owned = [...live].flatMap((one) => [...(manager.exclusive(one) ?? [])]);
            assert.equal(new Set(owned).size, owned.length, 'one owner');
            const pool = manager.affinity('other', 'x') ?? new Set();
            assert.equal(owned.length + pool.size, total, 'none is lost');
            assert.ok(pool.isDisjointFrom(new Set(owned)) && pool.size > 0);
          }
        }),
        { numRuns: 30 },
      );
    });
  }
});
