import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ResourceRequirements } from '../../../../api/core/resource-requirements.ts';
import { sameRequirements } from '../../../../api/pod-allocation.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { CgroupLimits, CgroupValues } from '../../../ports/cgroups.ts';
import type { ActuatedResources } from '../interfaces.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { Harness } from '../testing/harness.ts';

const MiB = 2 ** 20;

/**
 * The records and the pod's cgroup around a harness. Writes to the cgroup are recorded together with the calls to the
 * runtime.
 */
class Fixture {
  readonly containers = new Map<string, ResourceRequirements>();
  podLevel: ResourceRequirements | undefined;
  flushes = 0;
  values: CgroupValues | undefined = {
    cpuShares: 102,
    cpuQuotaUs: 20_000,
    cpuPeriodUs: 100_000,
    memoryBytes: 128 * MiB,
    memoryUsageBytes: 10 * MiB,
  };
  wanted: CgroupLimits = {};
  refusal: Error | undefined;
  readonly written: CgroupLimits[] = [];
  readonly h: Harness;

  /** Creates the fixture. `of` has the records and the cgroup that another agent left. */
  constructor(before?: { of: Fixture }) {
    if (before !== undefined) {
      for (const [name, resources] of before.of.containers) this.containers.set(name, resources);
      this.wanted = before.of.wanted;
    }
    const actuated: ActuatedResources = {
      container: (_uid, name) => this.containers.get(name),
      podLevel: () => this.podLevel,
      setContainer: (_uid, name, resources) => {
        const before = this.containers.get(name);
        this.containers.set(name, resources);
        return before === undefined || !sameRequirements(before, resources);
      },
      setPodLevel: (_uid, resources) => void (this.podLevel = resources),
      flush: async () => void this.flushes++,
    };
    const cgroups = {
      read: async () => (this.values === undefined ? undefined : { ...this.values }),
      wanted: () => this.wanted,
      update: async (_pod: Pod, limits: CgroupLimits) => {
        if (this.refusal !== undefined) throw this.refusal;
        this.written.push(limits);
        this.values = { ...(this.values as CgroupValues), ...limits };
      },
    };
    this.h = new Harness({ resize: { actuated, cgroups } });
  }

  /** Returns the calls to the runtime since the last read. */
  calls(): string[] {
    return this.h.runtime.journal.writes
      .filter(({ op }) => op !== 'runSandbox')
      .map(({ op, target }) => `${op} ${target.container ?? ''}`.trim());
  }
}

const of = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});
const pod = (resources: ResourceRequirements, fields: Partial<Container> = {}): Pod =>
  aPod({ containers: [aContainer('app', { resources, ...fields })] });

async function running(resources: ResourceRequirements, fields: Partial<Container> = {}): Promise<Fixture> {
  const world = new Fixture();
  await world.h.sync(pod(resources, fields));
  world.h.runtime.journal.clear();
  return world;
}

describe('a running pod whose allocated resources changed', () => {
  test('gets them without a restart, the pod growing first', async () => {
    const world = await running(of('100m', '64Mi'));
    world.wanted = { cpuShares: 512, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 256 * MiB };
    const outcome = await world.h.sync(pod(of('500m', '128Mi')));
    assert.deepEqual([outcome.failures, world.h.containers], [[], ['app#0 running']]);
    assert.deepEqual(world.calls(), [
      'updateSandboxResources',
      'updateContainerResources app',
      'updateSandboxResources',
      'updateSandboxResources',
      'updateContainerResources app',
    ]);
    assert.deepEqual(world.written, [
      { memoryBytes: 256 * MiB },
      { cpuQuotaUs: 50_000, cpuPeriodUs: 100_000 },
      { cpuShares: 512 },
    ]);
    const [record] = world.h.runtime.containers();
    assert.deepEqual(
      [record?.resources.memoryLimitBytes, record?.resources.cpuQuota, record?.resources.cpuShares],
      [128 * MiB, 50_000, 512],
    );
    assert.deepEqual(world.containers.get('app'), of('500m', '128Mi'));
    assert.deepEqual((await world.h.sync(pod(of('500m', '128Mi')))).steps, []);
  });

  test('shrinks after its containers did, requests before limits', async () => {
    const world = await running(of('500m', '128Mi'));
    world.wanted = { cpuShares: 51, cpuQuotaUs: 5000, cpuPeriodUs: 100_000, memoryBytes: 64 * MiB };
    await world.h.sync(pod(of('50m', '64Mi')));
    assert.deepEqual(world.calls(), [
      'updateContainerResources app',
      'updateSandboxResources',
      'updateContainerResources app',
      'updateSandboxResources',
      'updateSandboxResources',
    ]);
    assert.deepEqual(world.written, [
      { memoryBytes: 64 * MiB },
      { cpuShares: 51 },
      { cpuQuotaUs: 5000, cpuPeriodUs: 100_000 },
    ]);
  });

  test('while memory changes, its CPU and its huge pages stay as they are', async () => {
    const world = await running({
      limits: { cpu: '100m', memory: '64Mi', 'hugepages-2Mi': '4Mi' },
      requests: { cpu: '100m', memory: '64Mi', 'hugepages-2Mi': '4Mi' },
    });
    world.values = undefined;
    await world.h.sync(
      pod({
        limits: { cpu: '300m', memory: '128Mi', 'hugepages-2Mi': '4Mi' },
        requests: { cpu: '300m', memory: '128Mi', 'hugepages-2Mi': '4Mi' },
      }),
    );
    const [record] = world.h.runtime.containers();
    assert.equal(record?.resources.memoryLimitBytes, 128 * MiB);
    assert.deepEqual(record.resources.hugepageLimits, [{ pageSize: '2MB', limitBytes: 4 * MiB }]);
  });

  test('with RestartContainer restarts once, and the record is on disk before anything else happens', async () => {
    const fields: Partial<Container> = {
      resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }],
    };
    const world = await running(of('100m', '64Mi'), fields);
    world.wanted = { memoryBytes: 128 * MiB };
    await world.h.sync(pod(of('100m', '128Mi'), fields));
    assert.deepEqual([world.h.containers, world.flushes], [['app#0 143', 'app#1 running'], 1]);
    assert.ok(
      world.h.events.includes('Normal Killing Container app resize requires restart [app]'),
      world.h.events.join('\n'),
    );
    assert.deepEqual((await world.h.sync(pod(of('100m', '128Mi'), fields))).steps, []);
  });
});

test('a cgroup that existed before the sandbox is brought to the current allocation of its pod', async () => {
  const world = new Fixture();
  world.wanted = { cpuShares: 512, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 64 * MiB };
  await world.h.sync(pod(of('500m', '64Mi')), { placement: { cgroupParent: '/kubepods/pod', groupExisted: true } });
  assert.deepEqual(world.written, [
    { memoryBytes: 64 * MiB },
    { cpuQuotaUs: 50_000, cpuPeriodUs: 100_000 },
    { cpuShares: 512 },
  ]);
  const other = new Fixture();
  other.wanted = world.wanted;
  await other.h.sync(pod(of('500m', '64Mi')), { placement: { cgroupParent: '/kubepods/pod', groupExisted: false } });
  assert.deepEqual(other.written, []);
});

test('a wrong cgroup of an earlier agent is corrected, once, and no container is affected', async () => {
  const world = await running(of('500m', '64Mi'));
  world.wanted = { cpuShares: 512, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 64 * MiB };
  const next = new Fixture({ of: world });
  // The runtime of this harness does not know the sandbox.
  next.h.runtime.fail('updateSandboxResources', { kind: 'Unimplemented' });
  await next.h.finish(next.h.begin(pod(of('500m', '64Mi')), { status: await world.h.status(pod(of('500m', '64Mi'))) }));
  assert.deepEqual(next.written, [
    { memoryBytes: 64 * MiB },
    { cpuQuotaUs: 50_000, cpuPeriodUs: 100_000 },
    { cpuShares: 512 },
  ]);
  assert.deepEqual(
    next.calls().filter((call) => call.includes('Container')),
    [],
  );
});

test('so is the cgroup of a pod with a sandbox and no running container, before its container starts, when the records are lost', async () => {
  const world = await running(of('500m', '64Mi'));
  world.h.runtime.killContainer(world.h.runtime.containers()[0]?.id ?? '', { exitCode: 1 });
  const next = new Fixture();
  next.wanted = { cpuShares: 512, cpuQuotaUs: 50_000, cpuPeriodUs: 100_000, memoryBytes: 64 * MiB };
  next.h.runtime.fail('updateSandboxResources', { kind: 'Unimplemented' });
  const outcome = await next.h.finish(
    next.h.begin(pod(of('500m', '64Mi')), { status: await world.h.status(pod(of('500m', '64Mi'))) }),
  );
  assert.deepEqual(next.written, [
    { memoryBytes: 64 * MiB },
    { cpuQuotaUs: 50_000, cpuPeriodUs: 100_000 },
    { cpuShares: 512 },
  ]);
  assert.deepEqual(
    outcome.steps.map(({ kind }) => kind),
    ['resizePod', 'resizePod', 'resizePod', 'resizePod', 'startContainer'],
  );
});

describe('an agent that died before it could record its change', () => {
  const fields: Partial<Container> = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };

  test('is followed by one that sees the change, and restarts nothing', async () => {
    const world = await running(of('100m', '128Mi'), fields);
    world.containers.set('app', { ...of('100m', '64Mi'), requests: { cpu: '100m', memory: '128Mi' } });
    assert.deepEqual((await world.h.sync(pod(of('100m', '128Mi'), fields))).steps, []);
    assert.deepEqual(world.containers.get('app'), of('100m', '128Mi'));
  });

  test('is followed by one that raises a cgroup again which was set back to an outdated record', async () => {
    const world = await running(of('100m', '128Mi'), fields);
    world.containers.set('app', { ...of('100m', '64Mi'), requests: { cpu: '100m', memory: '128Mi' } });
    world.values = {
      cpuShares: 102,
      cpuQuotaUs: 10_000,
      cpuPeriodUs: 100_000,
      memoryBytes: 64 * MiB,
      memoryUsageBytes: 10 * MiB,
    };
    world.wanted = { memoryBytes: 128 * MiB };
    await world.h.sync(pod(of('100m', '128Mi'), fields));
    assert.deepEqual(world.written, [{ memoryBytes: 128 * MiB }]);
    assert.deepEqual(world.h.containers, ['app#0 running']);
  });

  test('between create and start is followed by one that starts the created container, once', async () => {
    const world = await running(of('100m', '64Mi'), fields);
    world.wanted = { memoryBytes: 128 * MiB };
    world.h.runtime.hang('startContainer', { times: 1 });
    const { signal, abort } = ((controller) => ({ signal: controller.signal, abort: () => controller.abort() }))(
      new AbortController(),
    );
    const grown = pod(of('100m', '128Mi'), fields);
    const pass = world.h.begin(grown, { status: await world.h.status(grown), signal });
    await world.h.clock.advance(40_000);
    abort();
    await pass;
    world.containers.set('app', { ...of('100m', '64Mi'), requests: { cpu: '100m', memory: '128Mi' } });
    await world.h.sync(grown);
    assert.deepEqual(world.h.containers, ['app#0 143', 'app#1 running']);
  });
});

describe('a resize that fails', () => {
  test('is refused before any change when memory in use is above the new limit, and retried', async () => {
    const world = await running(of('100m', '128Mi'));
    const [record] = world.h.runtime.containers();
    if (record !== undefined) record.script = { ...record.script, memoryBytes: 70 * MiB };
    world.values = { ...(world.values as CgroupValues), memoryUsageBytes: 71 * MiB };
    world.wanted = { memoryBytes: 64 * MiB, cpuShares: 512 };
    const { failures } = await world.h.sync(pod(of('500m', '64Mi')));
    const message = `cannot decrease memory limits: [attempting to set pod memory limit (${64 * MiB}) below current usage (${71 * MiB}), attempting to set container "app" memory limit (${64 * MiB}) below current usage (${70 * MiB})]`;
    assert.deepEqual(failures, [{ scope: 'resize', reason: 'Error', message }]);
    assert.deepEqual([world.calls(), world.written], [[], []]);
    if (record !== undefined) record.script = { ...record.script, memoryBytes: 1 };
    world.values = { ...(world.values as CgroupValues), memoryUsageBytes: 1 };
    assert.deepEqual((await world.h.sync(pod(of('500m', '64Mi')))).failures, []);
    assert.deepEqual(world.containers.get('app'), of('500m', '64Mi'));
  });

  test('because the runtime refuses the sandbox leaves cgroup and containers alone; a runtime without the call is no obstacle', async () => {
    const world = await running(of('100m', '64Mi'));
    world.wanted = { memoryBytes: 256 * MiB };
    world.h.runtime.fail('updateSandboxResources', { kind: 'Internal', times: 1 });
    const { failures } = await world.h.sync(pod(of('100m', '128Mi')));
    assert.match(
      failures[0]?.message ?? '',
      /^failed to notify runtime for UpdatePodSandboxResources \(resource=memory\); resize rejected: /,
    );
    assert.deepEqual([world.written, world.calls()], [[], ['updateSandboxResources']]);
    world.h.runtime.fail('updateSandboxResources', { kind: 'Unimplemented' });
    assert.deepEqual((await world.h.sync(pod(of('100m', '128Mi')))).failures, []);
    assert.deepEqual(world.written, [{ memoryBytes: 256 * MiB }]);
  });

  test('because the kernel refuses is undone in the runtime', async () => {
    const world = await running(of('100m', '64Mi'));
    world.wanted = { memoryBytes: 256 * MiB };
    world.refusal = new KubeletError('Invalid', 'write memory.max: invalid argument');
    const { failures } = await world.h.sync(pod(of('100m', '128Mi')));
    assert.deepEqual(
      [failures[0]?.message, world.calls()],
      ['write memory.max: invalid argument', ['updateSandboxResources', 'updateSandboxResources']],
    );
  });

  test('does not keep the other containers of the pod from starting', async () => {
    const world = new Fixture();
    const both = (resources: ResourceRequirements): Pod =>
      aPod({ containers: [aContainer('app', { resources }), aContainer('log')] });
    await world.h.sync(both(of('100m', '64Mi')));
    const log = world.h.runtime.containers().find(({ config }) => config.name === 'log');
    world.h.runtime.killContainer(log?.id ?? '', { exitCode: 1 });
    await world.h.clock.advance(1000);
    world.h.runtime.fail('updateContainerResources', { kind: 'Unavailable' });
    const { failures } = await world.h.sync(both(of('100m', '128Mi')));
    assert.deepEqual(
      [failures.map(({ scope }) => scope), world.h.containers],
      [['resize'], ['app#0 running', 'log#0 1', 'log#1 running']],
    );
  });
});
