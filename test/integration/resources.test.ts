// Resources of containers and pods as the kernel sees them, and changed while they run.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { pause } from '../../src/up/processes.ts';
import type { TestAgent } from './support/agent.ts';
import { container, pod, thenSleep } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const fixture = agentFixture({ name: 'resources' });
const v2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
const MiB = 2 ** 20;

interface Limits {
  readonly memory: string;
  readonly quota: string;
  readonly shares: string;
}

async function pidOf(seen: Pod, name = 'main'): Promise<number> {
  const { info } = await fixture.containerd.cri.runtime.containerStatus({
    containerId: containerId(seen, name),
    verbose: true,
  });
  return (JSON.parse(info['info'] ?? '{}') as { pid: number }).pid;
}

/** The path of a control file of the process's own cgroup, or of its pod's. */
function controlFile(pid: number, which: 'container' | 'pod', controller: string, name: string): string {
  const line = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .split('\n')
    .find((candidate) => (v2 ? candidate.startsWith('0::') : candidate.split(':')[1]?.split(',').includes(controller)));
  const group = join('/sys/fs/cgroup', v2 ? '' : controller, line?.split(':')[2] ?? '');
  return join(group, which === 'pod' ? '..' : '.', name);
}

/** The limits of the process's own cgroup, or of its pod's. */
function limitsOf(pid: number, which: 'container' | 'pod'): Limits {
  const file = (controller: string, name: string): string =>
    readFileSync(controlFile(pid, which, controller, name), 'utf8').trim();
  if (!v2)
    return {
      memory: file('memory', 'memory.limit_in_bytes'),
      quota: file('cpu', 'cpu.cfs_quota_us'),
      shares: file('cpu', 'cpu.shares'),
    };
  return {
    memory: file('memory', 'memory.max'),
    quota: file('cpu', 'cpu.max').split(' ')[0] ?? '',
    shares: file('cpu', 'cpu.weight'),
  };
}

const sharesOf = (milli: number): string => {
  const shares = Math.floor((milli * 1024) / 1000);
  return String(v2 ? 1 + Math.floor(((shares - 2) * 9999) / 262_142) : shares);
};
const of = (cpu: string, memory: string, cpuLimit: string, memoryLimit: string) => ({
  requests: { cpu, memory },
  limits: { cpu: cpuLimit, memory: memoryLimit },
});
/** With a uid in its manifest, a pod stays the same after a change. */
const sized = (name: string, resources: object, more: Record<string, unknown> = {}) =>
  pod(name, { containers: [container('main', { resources, ...more })] }, { uid: `uid-${name}` });
const settled = (seen: Pod): boolean =>
  !(seen.status?.conditions ?? []).some(({ type }) => type.startsWith('PodResize'));
const hasMemoryLimit =
  (limit: string) =>
  (seen: Pod): boolean =>
    settled(seen) && containerOf(seen).resources?.limits?.['memory'] === limit;

async function reasons(agent: TestAgent, name: string): Promise<string[]> {
  const { timeline } = await agent.explained(name, 'a timeline', () => true);
  return timeline.filter(({ reason }) => reason.startsWith('Resize')).map(({ reason }) => reason);
}

describe('a running pod', SIDE_BY_SIDE, () => {
  test('gets no swap beside its memory, as memorySwap.swapBehavior is not set', async (context) => {
    const { agent } = fixture;
    const pid = await pidOf(await agent.run(sized('no-swap', of('10m', '16Mi', '100m', '32Mi'))));
    const file = controlFile(pid, 'container', 'memory', v2 ? 'memory.swap.max' : 'memory.memsw.limit_in_bytes');
    if (!existsSync(file)) return context.skip('this kernel does not account swap');
    // On cgroup v1 the limit is that of memory and swap together.
    assert.equal(readFileSync(file, 'utf8').trim(), v2 ? '0' : String(32 * MiB));
    await agent.remove('no-swap');
  });

  test("gets more and less CPU and memory without a restart, in its own group and in its pod's", async () => {
    const { agent } = fixture;
    const seen = await agent.run(sized('grow', of('100m', '32Mi', '200m', '64Mi')));
    const [id, pid] = [containerId(seen), await pidOf(seen)];
    agent.writeManifest('grow', sized('grow', of('250m', '64Mi', '500m', '128Mi')));
    const grown = await agent.waitFor('grow', 'grown', hasMemoryLimit('128Mi'));
    const wanted = { memory: String(128 * MiB), quota: '50000' };
    assert.deepEqual(
      [limitsOf(pid, 'container').memory, limitsOf(pid, 'container').quota],
      [wanted.memory, wanted.quota],
    );
    assert.deepEqual(limitsOf(pid, 'pod'), { ...wanted, shares: sharesOf(250) });
    assert.deepEqual([containerId(grown), await pidOf(grown), containerOf(grown).restartCount], [id, pid, 0]);
    assert.deepEqual(
      [containerOf(grown).resources, containerOf(grown).allocatedResources],
      [of('250m', '64Mi', '500m', '128Mi'), { cpu: '250m', memory: '64Mi' }],
    );
    assert.deepEqual(grown.status?.allocatedResources, { cpu: '250m', memory: '64Mi' });
    agent.writeManifest('grow', sized('grow', of('50m', '16Mi', '100m', '48Mi')));
    const shrunk = await agent.waitFor('grow', 'shrunk', hasMemoryLimit('48Mi'));
    assert.deepEqual(
      [limitsOf(pid, 'container').memory, limitsOf(pid, 'container').quota],
      [String(48 * MiB), '10000'],
    );
    assert.deepEqual(limitsOf(pid, 'pod'), { memory: String(48 * MiB), quota: '10000', shares: sharesOf(50) });
    assert.deepEqual([containerId(shrunk), containerOf(shrunk).restartCount], [id, 0]);
    assert.deepEqual(await reasons(agent, 'grow'), [
      'ResizeStarted',
      'ResizeCompleted',
      'ResizeStarted',
      'ResizeCompleted',
    ]);
    await agent.remove('grow');
  });

  test('whose policy is RestartContainer restarts once, with the new limits', async () => {
    const { agent } = fixture;
    const policy = { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] };
    await agent.run(sized('again', of('10m', '16Mi', '100m', '32Mi'), policy));
    agent.writeManifest('again', sized('again', of('10m', '16Mi', '100m', '48Mi'), policy));
    const seen = await agent.waitFor(
      'again',
      'restarted',
      (now) =>
        hasMemoryLimit('48Mi')(now) &&
        containerOf(now).state?.running !== undefined &&
        containerOf(now).restartCount === 1,
    );
    const pid = await pidOf(seen);
    assert.deepEqual(
      [limitsOf(pid, 'container').memory, limitsOf(pid, 'pod').memory],
      [String(48 * MiB), String(48 * MiB)],
    );
    // CPU alone needs no restart.
    agent.writeManifest('again', sized('again', of('20m', '16Mi', '200m', '48Mi'), policy));
    const later = await agent.waitFor(
      'again',
      'resized',
      (now) => settled(now) && containerOf(now).resources?.limits?.['cpu'] === '200m',
    );
    assert.deepEqual(
      [containerOf(later).restartCount, containerId(later), limitsOf(pid, 'container').quota],
      [1, containerId(seen), '20000'],
    );
    await agent.remove('again');
  });

  test('keeps its memory limit when it uses more than the new one, says so, and gets one that is enough', async () => {
    const { agent } = fixture;
    const hungry = { command: thenSleep('x=$(head -c 40000000 /dev/zero | tr "\\\\0" x); touch /tmp/full') };
    const seen = await agent.run(
      sized('hungry', of('10m', '16Mi', '500m', '256Mi'), {
        ...hungry,
        readinessProbe: { exec: { command: ['test', '-e', '/tmp/full'] }, periodSeconds: 1 },
      }),
    );
    const pid = await pidOf(seen);
    const probed = { ...hungry, readinessProbe: { exec: { command: ['test', '-e', '/tmp/full'] }, periodSeconds: 1 } };
    agent.writeManifest('hungry', sized('hungry', of('10m', '16Mi', '500m', '24Mi'), probed));
    const refused = await agent.waitFor(
      'hungry',
      'refused',
      (now) =>
        now.status?.conditions?.some(({ type, reason }) => type === 'PodResizeInProgress' && reason === 'Error') ===
        true,
    );
    const message = refused.status?.conditions?.find(({ type }) => type === 'PodResizeInProgress')?.message ?? '';
    assert.match(
      message,
      new RegExp(
        `^cannot decrease memory limits: \\[attempting to set pod memory limit \\(${24 * MiB}\\) below current usage \\(\\d+\\), attempting to set container "main" memory limit \\(${24 * MiB}\\) below current usage \\(\\d+\\)\\]$`,
      ),
    );
    assert.equal(limitsOf(pid, 'container').memory, String(256 * MiB));
    agent.writeManifest('hungry', sized('hungry', of('10m', '16Mi', '500m', '192Mi'), probed));
    const enough = await agent.waitFor('hungry', 'resized', hasMemoryLimit('192Mi'));
    assert.deepEqual(
      [containerId(enough), limitsOf(pid, 'container').memory, limitsOf(pid, 'pod').memory],
      [containerId(seen), String(192 * MiB), String(192 * MiB)],
    );
    await agent.remove('hungry');
  });

  test('cannot change its class, nor lose a limit, and runs on as it is', async () => {
    const { agent } = fixture;
    const seen = await agent.run(sized('classy', of('10m', '16Mi', '100m', '32Mi')));
    agent.writeManifest('classy', sized('classy', of('100m', '32Mi', '100m', '32Mi')));
    const refused = await agent.waitFor(
      'classy',
      'refused',
      (now) =>
        now.status?.conditions?.some(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible') ===
        true,
    );
    assert.equal(
      refused.status?.conditions?.find(({ type }) => type === 'PodResizePending')?.message,
      'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
    );
    assert.deepEqual(
      [containerId(refused), refused.status?.qosClass, containerOf(refused).allocatedResources],
      [containerId(seen), 'Burstable', { cpu: '10m', memory: '16Mi' }],
    );
    agent.writeManifest('classy', sized('classy', of('10m', '16Mi', '100m', '32Mi')));
    await agent.waitFor('classy', 'settled', settled);
    await agent.remove('classy');
  });

  test('may be given limits that it did not have, one container after the other; its pod is limited when all of them are', async () => {
    const { agent } = fixture;
    const both = (first: object, second: object) =>
      pod(
        'added',
        {
          containers: [
            container('main', { resources: { requests: { memory: '16Mi' }, ...first } }),
            container('other', { resources: { requests: { memory: '16Mi' }, ...second } }),
          ],
        },
        { uid: 'uid-added' },
      );
    const limit = { limits: { cpu: '100m', memory: '48Mi' } };
    const seen = await agent.run(both({}, {}));
    const [pid, other] = [await pidOf(seen), await pidOf(seen, 'other')];
    const unlimited = limitsOf(pid, 'pod');
    agent.writeManifest('added', both(limit, {}));
    await agent.waitFor('added', 'the first limit', hasMemoryLimit('48Mi'));
    assert.deepEqual(
      [limitsOf(pid, 'container').memory, limitsOf(pid, 'pod').memory],
      [String(48 * MiB), unlimited.memory],
    );
    agent.writeManifest('added', both(limit, limit));
    const later = await agent.waitFor(
      'added',
      'the second limit',
      (now) =>
        settled(now) &&
        now.status?.containerStatuses?.every(({ resources }) => resources?.limits?.['memory'] === '48Mi') === true,
    );
    assert.deepEqual(
      [limitsOf(other, 'container').quota, limitsOf(pid, 'pod').memory, limitsOf(pid, 'pod').quota],
      ['10000', String(96 * MiB), '20000'],
    );
    assert.deepEqual(
      later.status?.containerStatuses?.map(({ restartCount }) => restartCount),
      [0, 0],
    );
    await agent.remove('added');
  });

  test('has sidecars that are resized too', async () => {
    const { agent } = fixture;
    const both = (memory: string) =>
      pod(
        'sided',
        {
          initContainers: [
            container('side', { restartPolicy: 'Always', resources: of('10m', '16Mi', '100m', memory) }),
          ],
          containers: [container('main', { resources: of('10m', '16Mi', '100m', '32Mi') })],
        },
        { uid: 'uid-sided' },
      );
    const seen = await agent.run(both('32Mi'));
    const pid = await pidOf(seen, 'side');
    agent.writeManifest('sided', both('64Mi'));
    const later = await agent.waitFor(
      'sided',
      'resized',
      (now) => settled(now) && now.status?.initContainerStatuses?.[0]?.resources?.limits?.['memory'] === '64Mi',
    );
    assert.deepEqual(
      [
        limitsOf(pid, 'container').memory,
        limitsOf(pid, 'pod').memory,
        later.status?.initContainerStatuses?.[0]?.restartCount,
      ],
      [String(64 * MiB), String(96 * MiB), 0],
    );
    await agent.remove('sided');
  });
});

describe('resources of the pod as a whole', SIDE_BY_SIDE, () => {
  const whole = (
    name: string,
    resources: object,
    containers = [container('main'), container('own', { resources: { limits: { memory: '16Mi' } } })],
  ) => pod(name, { resources, containers }, { uid: `uid-${name}` });

  test('limit its group, and containers that have no limit of their own', async () => {
    const { agent } = fixture;
    const seen = await agent.run(whole('whole', of('100m', '32Mi', '300m', '64Mi')));
    assert.equal(seen.status?.qosClass, 'Burstable');
    const [main, own] = [await pidOf(seen), await pidOf(seen, 'own')];
    assert.deepEqual(limitsOf(main, 'pod'), { memory: String(64 * MiB), quota: '30000', shares: sharesOf(100) });
    assert.deepEqual(
      [limitsOf(main, 'container').memory, limitsOf(main, 'container').quota, limitsOf(own, 'container').memory],
      [String(64 * MiB), '30000', String(16 * MiB)],
    );
    assert.deepEqual(seen.status?.resources, {
      limits: { cpu: '300m', memory: '64Mi' },
      requests: { cpu: '100m', memory: '32Mi' },
    });
    agent.writeManifest('whole', whole('whole', of('200m', '48Mi', '400m', '128Mi')));
    const grown = await agent.waitFor(
      'whole',
      'grown',
      (now) => settled(now) && now.status?.resources?.limits?.['memory'] === '128Mi',
    );
    assert.deepEqual(limitsOf(main, 'pod'), { memory: String(128 * MiB), quota: '40000', shares: sharesOf(200) });
    assert.deepEqual(
      [limitsOf(main, 'container').memory, limitsOf(main, 'container').quota, limitsOf(own, 'container').memory],
      [String(128 * MiB), '40000', String(16 * MiB)],
    );
    assert.deepEqual([containerOf(grown).restartCount, await pidOf(grown)], [0, main]);
    await agent.remove('whole');
  });

  test('that are requested and limited alike make it Guaranteed, though its containers name none; it stays so when it grows', async () => {
    const { agent, containerd } = fixture;
    const seen = await agent.run(whole('alike', of('100m', '32Mi', '100m', '32Mi'), [container('main')]));
    const pid = await pidOf(seen);
    assert.equal(seen.status?.qosClass, 'Guaranteed');
    assert.ok(readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(containerd.cgroupPath('kubepods/poduid-alike')));
    agent.writeManifest('alike', whole('alike', of('200m', '64Mi', '200m', '64Mi'), [container('main')]));
    const grown = await agent.waitFor(
      'alike',
      'grown',
      (now) => settled(now) && now.status?.resources?.limits?.['memory'] === '64Mi',
    );
    assert.deepEqual(
      [grown.status?.qosClass, limitsOf(pid, 'pod'), limitsOf(pid, 'container').memory],
      ['Guaranteed', { memory: String(64 * MiB), quota: '20000', shares: sharesOf(200) }, String(64 * MiB)],
    );
    await agent.remove('alike');
  });

  test('spread what no container asked for over their OOM scores; a sidecar is never killed before those it serves', async () => {
    const { agent } = fixture;
    const seen = await agent.run(
      pod('scores', {
        resources: { requests: { memory: '1Gi' } },
        initContainers: [container('side', { restartPolicy: 'Always' })],
        containers: [container('main', { resources: { requests: { memory: '256Mi' } } })],
      }),
    );
    const score = async (name: string): Promise<number> =>
      Number(readFileSync(`/proc/${await pidOf(seen, name)}/oom_score_adj`, 'utf8'));
    const [main, side] = [await score('main'), await score('side')];
    // 768 MiB are left for two containers.
    assert.equal(main, 1000 - Math.floor((1000 * 640 * MiB) / totalmem()));
    assert.ok(side <= main);
    const best = await agent.run(pod('best'));
    assert.equal(Number(readFileSync(`/proc/${await pidOf(best)}/oom_score_adj`, 'utf8')), 1000);
    await agent.remove('scores', 'best');
  });
});

describe('the agent is killed', () => {
  test('while a resize is deferred: the allocation stays, and the resize follows when there is room', async () => {
    const { agent } = fixture;
    const asks = (name: string, cpu: string) => sized(name, { requests: { cpu } });
    await agent.run(asks('small', '10m'));
    await agent.run(asks('big', '1500m'));
    agent.writeManifest('small', asks('small', '1000m'));
    const deferred = (now: Pod): boolean =>
      now.status?.conditions?.some(({ type, reason }) => type === 'PodResizePending' && reason === 'Deferred') === true;
    const waiting = await agent.waitFor('small', 'deferred', deferred);
    assert.match(
      waiting.status?.conditions?.find(({ type }) => type === 'PodResizePending')?.message ?? '',
      /^Node didn't have enough resource: cpu, requested: 1000, used: \d+, capacity: \d+$/,
    );
    await agent.restart('SIGKILL');
    const again = await agent.waitFor(
      'small',
      'still deferred',
      (now) => deferred(now) && containerOf(now).state?.running !== undefined,
    );
    assert.deepEqual(
      [containerId(again), containerOf(again).allocatedResources],
      [containerId(waiting), { cpu: '10m' }],
    );
    await agent.remove('big');
    const resized = await agent.waitFor(
      'small',
      'resized',
      (now) => settled(now) && containerOf(now).allocatedResources?.['cpu'] === '1',
    );
    assert.deepEqual(
      [containerId(resized), containerOf(resized).restartCount, limitsOf(await pidOf(resized), 'pod').shares],
      [containerId(waiting), 0, sharesOf(1000)],
    );
    await agent.remove('small');
  });

  test('again and again in the middle of resizes: they converge, and nothing restarts', async () => {
    const { agent } = fixture;
    const sizes = ['32Mi', '48Mi', '64Mi'];
    const seen = await agent.run(sized('busy', of('10m', '16Mi', '100m', '32Mi')));
    const pid = await pidOf(seen);
    for (let round = 1; round <= 5; round++) {
      agent.writeManifest('busy', sized('busy', of('10m', '16Mi', `${100 + round * 10}m`, sizes[round % 3] ?? '')));
      await pause(round * 15);
      await agent.restart('SIGKILL');
    }
    const last = await agent.waitFor(
      'busy',
      'converged',
      (now) => hasMemoryLimit(sizes[5 % 3] ?? '')(now) && containerOf(now).resources?.limits?.['cpu'] === '150m',
    );
    assert.deepEqual(
      [
        containerId(last),
        containerOf(last).restartCount,
        limitsOf(pid, 'container').memory,
        limitsOf(pid, 'pod').memory,
        limitsOf(pid, 'container').quota,
        limitsOf(pid, 'pod').quota,
      ],
      [containerId(seen), 0, String(64 * MiB), String(64 * MiB), '15000', '15000'],
    );
    await agent.remove('busy');
  });

  test('and its resource records are gone or corrupt: no container restarts, and the allocation is rebuilt from what runs', async () => {
    const { agent } = fixture;
    const policy = {
      resizePolicy: [
        { resourceName: 'cpu', restartPolicy: 'RestartContainer' },
        { resourceName: 'memory', restartPolicy: 'RestartContainer' },
      ],
    };
    const seen = await agent.run(sized('lost', of('10m', '16Mi', '100m', '32Mi'), policy));
    await agent.kill9();
    writeFileSync(join(agent.rootDir, 'allocated_pods_state'), '{"data":');
    writeFileSync(join(agent.rootDir, 'actuated_pods_state'), '');
    await agent.start();
    await agent.ready('lost');
    await pause(500);
    const after = agent.pod('lost');
    assert.deepEqual(
      [containerId(after), containerOf(after).restartCount, containerOf(after).resources],
      [containerId(seen), 0, of('10m', '16Mi', '100m', '32Mi')],
    );
    assert.ok(existsSync(join(agent.rootDir, 'allocated_pods_state.corrupt')));
    agent.writeManifest('lost', sized('lost', of('10m', '16Mi', '100m', '48Mi'), policy));
    const resized = await agent.waitFor(
      'lost',
      'restarted',
      (now) => hasMemoryLimit('48Mi')(now) && containerOf(now).restartCount === 1,
    );
    assert.notEqual(containerId(resized), containerId(seen));
    await agent.remove('lost');
  });
});
