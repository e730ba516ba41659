// How containers of a pod start, restart and stop: order, sidecars, policies, back-off, grace periods, names.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { podName } from './support/agent.ts';
import { container, pod, shell, thenSleep } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { conditionOf, containerId, containerOf, isReady } from './support/watch.ts';

const fixture = agentFixture({ name: 'containers' });

const exitOf = (seen: Pod, name = 'main'): number | undefined => containerOf(seen, name).state?.terminated?.exitCode;
/** Each start appends the container's name to /shared/order. */
const shared = { volumes: [{ name: 'shared', emptyDir: {} }] };
const mounts = [{ name: 'shared', mountPath: '/shared' }];

describe('containers', SIDE_BY_SIDE, () => {
  test('a pod becomes ready, is reported with its address, and is removed completely with its manifest', async () => {
    const { agent, containerd } = fixture;
    const seen = await agent.run(pod('plain'));
    assert.equal(seen.status?.phase, 'Running');
    assert.match(seen.status?.podIP ?? '', /^\d+\.\d+\.\d+\.\d+$/);
    assert.equal(containerOf(seen).restartCount, 0);
    assert.match(containerOf(seen).containerID ?? '', /^(containerd|docker):\/\/[0-9a-f]{64}$/);
    for (const type of ['PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready'])
      assert.equal(conditionOf(seen, type), 'True', type);
    await agent.remove('plain');
    const { items } = await containerd.cri.runtime.listPodSandbox({
      filter: { labelSelector: { 'io.kubernetes.pod.uid': seen.metadata.uid } },
    });
    assert.ok(await waitUntil(() => !existsSync(join(agent.rootDir, 'pods', seen.metadata.uid)), 5000));
    assert.ok(
      items.every((item) => item.state !== 0),
      'the sandbox still runs',
    );
  });

  test('share an emptyDir, on disk and in memory', async () => {
    const { agent } = fixture;
    const volumes = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
    ];
    const volumeMounts = [
      { name: 'disk', mountPath: '/disk' },
      { name: 'memory', mountPath: '/memory' },
    ];
    await agent.run(
      pod('sharing', {
        volumes,
        containers: [
          container('writer', { volumeMounts, command: thenSleep('echo d > /disk/f; echo m > /memory/f') }),
          container('reader', { volumeMounts }),
        ],
      }),
    );
    assert.ok(
      await waitUntil(async () => (await agent.inside('sharing', 'cat /disk/f /memory/f', 'reader')) === 'd\nm', 5000),
    );
    assert.match(await agent.inside('sharing', 'grep " /memory " /proc/mounts', 'reader'), /^tmpfs .*size=8192k/);
    // A fresh tmpfs has the sticky bit on top, as upstream leaves it.
    assert.equal(await agent.inside('sharing', 'stat -c %a /disk /memory', 'reader'), '777\n1777');
  });

  test('init containers run one after the other, each to its end, before the others start', async () => {
    const { agent } = fixture;
    const say = (name: string) =>
      container(name, { volumeMounts: mounts, command: shell(`sleep 0.2; echo ${name} >> /shared/order`) });
    const seen = await agent.run(
      pod('init-order', {
        ...shared,
        initContainers: [say('one'), say('two')],
        containers: [container('main', { volumeMounts: mounts })],
      }),
    );
    assert.equal(await agent.inside('init-order', 'cat /shared/order'), 'one\ntwo');
    assert.deepEqual([exitOf(seen, 'one'), exitOf(seen, 'two')], [0, 0]);
    assert.equal(containerOf(seen, 'one').ready, true);
  });

  test('a failing init container of a pod that never restarts fails the pod', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'init-fails',
      pod('init-fails', { restartPolicy: 'Never', initContainers: [container('bad', { command: shell('exit 5') })] }),
    );
    const seen = await agent.phase('init-fails', 'Failed');
    assert.equal(exitOf(seen, 'bad'), 5);
    assert.equal(containerOf(seen, 'main').containerID, undefined);
    await agent.remove('init-fails');
  });

  test('a sidecar is up before the main container, is restarted, and ends after it', async () => {
    const { agent, containerd } = fixture;
    const sidecar = container('sidecar', {
      restartPolicy: 'Always',
      volumeMounts: mounts,
      // Says when it stops, into a volume the host can read.
      command: [
        'sh',
        '-c',
        'trap "echo sidecar >> /shared/end; exit 0" TERM; sleep 0.3; touch /shared/up; sleep 100000 & wait',
      ],
      startupProbe: { exec: { command: ['test', '-e', '/shared/up'] }, periodSeconds: 1, failureThreshold: 20 },
    });
    const main = container('main', {
      volumeMounts: mounts,
      command: [
        'sh',
        '-c',
        'test -e /shared/up && echo in-time > /shared/main; trap "sleep 0.3; echo main >> /shared/end; exit 0" TERM; sleep 100000 & wait',
      ],
    });
    const folder = `/tmp/kts-end-${containerd.instance.id}`;
    const volumes = [{ name: 'shared', hostPath: { path: folder, type: 'DirectoryOrCreate' } }];
    try {
      const seen = await agent.run(
        pod('sidecar', { terminationGracePeriodSeconds: 5, volumes, initContainers: [sidecar], containers: [main] }),
      );
      assert.equal(containerOf(seen, 'sidecar').started, true);
      assert.ok(
        await waitUntil(() => existsSync(join(folder, 'main')), 5000),
        'the main container did not find the sidecar up',
      );
      const mainId = containerId(seen, 'main');
      await containerd.cri.runtime.stopContainer({ containerId: containerId(seen, 'sidecar'), timeout: 0 });
      const again = await agent.waitFor(
        'sidecar',
        'its sidecar is restarted',
        (now) => containerOf(now, 'sidecar').restartCount === 1 && containerOf(now, 'sidecar').ready,
      );
      assert.equal(containerId(again, 'main'), mainId);
      await agent.handlesSigterm('sidecar', 'main');
      await agent.handlesSigterm('sidecar', 'sidecar');
      rmSync(join(folder, 'end'), { force: true });
      await agent.remove('sidecar');
      assert.equal(readFileSync(join(folder, 'end'), 'utf8'), 'main\nsidecar\n');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('a pod whose main containers are done is Succeeded though its sidecar would run on', async () => {
    const { agent } = fixture;
    const sidecar = container('sidecar', { restartPolicy: 'Always' });
    agent.writeManifest(
      'job',
      pod('job', {
        restartPolicy: 'Never',
        initContainers: [sidecar],
        containers: [container('main', { command: shell('sleep 0.2') })],
      }),
    );
    const seen = await agent.phase('job', 'Succeeded');
    assert.equal(exitOf(seen), 0);
    await agent.waitFor(
      'job',
      'its sidecar is stopped',
      (now) => containerOf(now, 'sidecar').state?.terminated !== undefined,
    );
    await agent.remove('job');
  });

  for (const [policy, code, expected] of [
    ['Never', 0, 'Succeeded'],
    ['Never', 3, 'Failed'],
    ['OnFailure', 0, 'Succeeded'],
  ] as const) {
    test(`exit code ${code} with restartPolicy ${policy} ends the pod as ${expected}, and nothing is started again`, async () => {
      const { agent } = fixture;
      const name = `ends-${policy.toLowerCase()}-${code}`;
      agent.writeManifest(
        name,
        pod(name, { restartPolicy: policy, containers: [container('main', { command: shell(`exit ${code}`) })] }),
      );
      const seen = await agent.phase(name, expected);
      assert.deepEqual([exitOf(seen), containerOf(seen).restartCount, isReady(seen)], [code, 0, false]);
      await agent.remove(name);
    });
  }

  for (const [policy, code] of [
    ['OnFailure', 4],
    ['Always', 0],
  ] as const) {
    test(`exit code ${code} with restartPolicy ${policy} is restarted, then delayed with CrashLoopBackOff and a next try`, async () => {
      const { agent } = fixture;
      const name = `crash-${policy.toLowerCase()}`;
      agent.writeManifest(
        name,
        pod(name, { restartPolicy: policy, containers: [container('main', { command: shell(`exit ${code}`) })] }),
      );
      const seen = await agent.waitFor(
        name,
        'held back',
        (now) => containerOf(now).restartCount >= 1 && containerOf(now).state?.waiting?.reason === 'CrashLoopBackOff',
      );
      assert.match(
        containerOf(seen).state?.waiting?.message ?? '',
        /back-off 10s restarting failed container=main pod=/,
      );
      assert.equal(containerOf(seen).lastState?.terminated?.exitCode, code);
      assert.equal(seen.status?.phase, 'Running');
      const { blockers, settled } = await agent.explained(name, 'the next try', (now) =>
        now.blockers.some((blocker) => blocker.nextTryAtMs !== undefined),
      );
      assert.equal(settled, false);
      const blocker = blockers.find((candidate) => candidate.nextTryAtMs !== undefined);
      assert.match(blocker?.lastError ?? '', new RegExp(`exit code ${code}`));
      const inMs = (blocker?.nextTryAtMs ?? 0) - Date.now();
      assert.ok(inMs > -2000 && inMs <= 20_000, `next try in ${inMs} ms`);
      await agent.remove(name);
    });
  }

  test("a container's own restart rules come before the pod's policy", async () => {
    const { agent } = fixture;
    const rules = {
      restartPolicy: 'Never' as const,
      restartPolicyRules: [{ action: 'Restart' as const, exitCodes: { operator: 'In' as const, values: [42] } }],
    };
    const main = container('main', {
      ...rules,
      volumeMounts: mounts,
      command: shell(
        'n=$(cat /shared/n 2>/dev/null || echo 0); echo $((n+1)) > /shared/n; [ $n = 0 ] && exit 42; exit 7',
      ),
    });
    agent.writeManifest(
      'rules',
      pod('rules', { ...shared, restartPolicy: 'Never', containers: [main, container('other')] }),
    );
    const seen = await agent.waitFor('rules', 'ended with 7 after one restart', (now) => exitOf(now) === 7);
    assert.equal(containerOf(seen).restartCount, 1);
    assert.equal(containerOf(seen).lastState?.terminated?.exitCode, 42);
    assert.equal(containerOf(seen, 'other').state?.running !== undefined, true);
    await agent.remove('rules');
  });

  test('a container that was killed runs again at once, with its number counted and the old end reported', async () => {
    const { agent, containerd } = fixture;
    const before = await agent.run(
      pod('killed', { containers: [container('main', { command: ['sleep', '100000'] }), container('other')] }),
    );
    await containerd.cri.runtime.stopContainer({ containerId: containerId(before), timeout: 0 });
    const after = await agent.waitFor(
      'killed',
      'running again',
      (now) => containerOf(now).restartCount === 1 && isReady(now),
    );
    assert.equal(containerOf(after).lastState?.terminated?.exitCode, 137);
    assert.notEqual(containerId(after), containerId(before));
    assert.equal(containerId(after, 'other'), containerId(before, 'other'));
    const isReported = (change: { pod: Pod }): boolean =>
      change.pod.metadata.name === podName('killed') &&
      !isReady(change.pod) &&
      containerOf(change.pod).restartCount <= 1;
    assert.ok(agent.watch.history.some(isReported), 'the pod was never reported as not ready');
  });

  test('SIGTERM comes first; what ignores it is killed when the grace is over, and not earlier', async () => {
    const { agent, containerd } = fixture;
    const stubborn = container('main', { command: ['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'] });
    const seen = await agent.run(
      pod('stubborn', { terminationGracePeriodSeconds: 3, containers: [stubborn, container('polite')] }),
    );
    const startMs = performance.now();
    agent.removeManifest('stubborn');
    const polite = await agent.waitFor(
      'stubborn',
      'its polite container ended',
      (now) => exitOf(now, 'polite') !== undefined,
    );
    assert.deepEqual(
      [exitOf(polite, 'polite'), exitOf(polite, 'main')],
      [0, undefined],
      'the polite one waited for the stubborn one',
    );
    assert.notEqual(polite.metadata.deletionTimestamp, undefined);
    await agent.gone('stubborn');
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs >= 2900 && tookMs < 9000, `gone after ${tookMs} ms`);
    const last = agent.watch.history.filter(
      (change) => change.pod.metadata.uid === seen.metadata.uid && exitOf(change.pod) !== undefined,
    );
    assert.equal(exitOf(last[0]!.pod), 137);
    await assert.rejects(
      containerd.cri.runtime
        .containerStatus({ containerId: containerId(seen) })
        .then(({ status }) => assert.equal(status?.state, 0)),
    );
  });

  test('a pod removed while it starts stops starting and leaves nothing', async () => {
    const { agent, containerd } = fixture;
    agent.writeManifest(
      'short',
      pod('short', { initContainers: [container('first', { command: shell('sleep 60') })] }),
    );
    const seen = await agent.waitFor(
      'short',
      'in its init container',
      (now) => containerOf(now, 'first').state?.running !== undefined,
    );
    await agent.remove('short');
    const { containers } = await containerd.cri.runtime.listContainers({
      filter: { labelSelector: { 'io.kubernetes.pod.uid': seen.metadata.uid } },
    });
    assert.ok(
      containers.every((item) => item.metadata?.name === 'first' && item.state !== 1),
      'something was started or still runs',
    );
  });

  test('a pod whose manifest goes before the agent has done anything leaves nothing', async () => {
    const { agent } = fixture;
    for (let round = 0; round < 3; round++) {
      agent.writeManifest('flicker', pod('flicker', {}, { labels: { round: String(round) } }));
      await agent.waitFor(
        'flicker',
        `seen in round ${round}`,
        (now) => now.metadata.labels?.['round'] === String(round) && now.metadata.deletionTimestamp === undefined,
      );
      agent.removeManifest('flicker');
    }
    await agent.gone('flicker');
    assert.ok(
      await waitUntil(
        async () => !(await agent.pods()).some((now) => now.metadata.name === podName('flicker')),
        20_000,
      ),
    );
  });

  test('a changed manifest ends the old pod before the new one of that name starts', async () => {
    const { agent, containerd } = fixture;
    const slow = (version: string) =>
      pod('changing', {
        terminationGracePeriodSeconds: 5,
        containers: [
          container('main', {
            env: [{ name: 'V', value: version }],
            command: ['sh', '-c', 'trap "sleep 0.5; exit 0" TERM; sleep 100000 & wait'],
          }),
        ],
      });
    const old = await agent.run(slow('1'));
    await agent.handlesSigterm('changing');
    agent.writeManifest('changing', slow('2'));
    const fresh = await agent.waitFor(
      'changing',
      'the new version',
      (now) => now.metadata.uid !== old.metadata.uid && isReady(now),
    );
    assert.equal(await agent.inside('changing', 'echo $V'), '2');
    const oldEnd = agent.watch.history.findLast(
      (change) => change.pod.metadata.uid === old.metadata.uid && exitOf(change.pod) !== undefined,
    );
    assert.ok(oldEnd !== undefined, 'the end of the old pod was not reported');
    const { status } = await containerd.cri.runtime.containerStatus({ containerId: containerId(fresh) });
    const endedAtMs = Date.parse(containerOf(oldEnd.pod).state?.terminated?.finishedAt ?? '');
    assert.ok(Number(status?.createdAt) / 1e6 >= endedAtMs, 'both versions ran at the same time');
    assert.equal(exitOf(oldEnd.pod), 0);
  });

  test('activeDeadlineSeconds ends a pod with DeadlineExceeded', async () => {
    const { agent } = fixture;
    agent.writeManifest('deadline', pod('deadline', { activeDeadlineSeconds: 2, restartPolicy: 'Never' }));
    const seen = await agent.phase('deadline', 'Failed');
    assert.equal(seen.status?.reason, 'DeadlineExceeded');
    await agent.remove('deadline');
  });

  test('of a pod start in the order of the manifest', async () => {
    const { agent, containerd } = fixture;
    const names = ['a', 'b', 'c'];
    const seen = await agent.run(pod('in-order', { containers: names.map((name) => container(name)) }));
    const created = await Promise.all(
      names.map(async (name) =>
        Number(
          (await containerd.cri.runtime.containerStatus({ containerId: containerId(seen, name) })).status?.createdAt,
        ),
      ),
    );
    assert.deepEqual(
      created.toSorted((left, right) => left - right),
      created,
    );
  });
});
