// Pods with user namespaces. The kernel maps ids if the handler supports it: containerd since 2.0 with runc since 1.2.
// Elsewhere the test checks the error.
import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import { waitUntil } from '../../src/up/processes.ts';
import type { PodManifest } from './support/manifests.ts';
import { configMap, container, pod, secret, shell } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const fixture = agentFixture({
  name: 'users',
  agent: { config: { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } } },
});
const folder = mkdtempSync(join(tmpdir(), 'kts-users-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const mapped = (name: string, spec: Record<string, unknown> = {}): PodManifest =>
  pod(name, { hostUsers: false, ...spec });

async function canMap(): Promise<boolean> {
  const { runtimeHandlers } = await fixture.containerd.cri.runtime.status({});
  return runtimeHandlers.some((handler) => handler.name === '' && handler.features?.userNamespaces === true);
}

/** The pod waits, with upstream's reason. */
async function refused(name: string): Promise<void> {
  const { agent } = fixture;
  await agent.explained(name, 'why', (now) =>
    now.timeline.some(
      ({ reason, message }) =>
        reason === 'FailedCreatePodSandBox' &&
        message.includes("can't set `spec.hostUsers: false`, runtime does not support user namespaces"),
    ),
  );
  // The event may be shown before the first status is on record.
  await agent.phase(name, 'Pending');
}

/** The first id of the host, and the number of ids. */
async function range(name: string, of = 'main'): Promise<[number, number]> {
  const [inside, host, length] = (await fixture.agent.inside(name, 'cat /proc/self/uid_map', of))
    .trim()
    .split(/\s+/)
    .map(Number);
  assert.equal(inside, 0);
  return [host ?? 0, length ?? 0];
}

describe('a pod with users of its own', SIDE_BY_SIDE, () => {
  test("has ids of the host that no other pod has, and shares them among its containers; other pods have the host's", async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'one',
      mapped('one', {
        initContainers: [container('init', { command: ['cat', '/proc/self/uid_map', '/proc/self/gid_map'] })],
        containers: [container('main'), container('side', { securityContext: { runAsUser: 1000 } })],
      }),
    );
    agent.writeManifest('two', mapped('two', { shareProcessNamespace: true }));
    await agent.run(pod('hosts', { hostUsers: true }));
    assert.deepEqual(await range('hosts'), [0, 2 ** 32 - 1]);
    if (await canMap()) {
      await Promise.all([agent.ready('one'), agent.ready('two')]);
      const [one, side, two] = [await range('one'), await range('one', 'side'), await range('two')];
      assert.deepEqual(side, one);
      assert.deepEqual(
        [one[1], two[1], one[0] % 65536, two[0] % 65536, one[0] >= 65536, two[0] >= 65536, one[0] === two[0]],
        [65536, 65536, 0, 0, true, true, false],
      );
      assert.equal(
        agent.output('one', 'init').replaceAll(/ +/g, ' ').trim(),
        ` 0 ${one[0]} 65536\n 0 ${one[0]} 65536`.trim(),
      );
      // Root inside has no privileges outside, and all of root inside.
      const { runtime } = fixture.containerd.cri;
      const { info } = await runtime.containerStatus({
        containerId: containerId(agent.pod('one'), 'main'),
        verbose: true,
      });
      const { pid } = JSON.parse(info['info'] ?? '{}') as { pid: number };
      assert.equal(statSync(`/proc/${pid}`).uid, one[0]);
      assert.equal(
        await agent.inside('one', 'id -u; chown 7:8 /tmp && stat -c "%u %g" /tmp; hostname', 'main'),
        '0\n7 8\none-node',
      );
      assert.equal(await agent.inside('one', 'id -u', 'side'), '1000');
      assert.deepEqual(containerOf(agent.pod('one'), 'main').user?.linux?.uid, 0);
    } else {
      await Promise.all([refused('one'), refused('two')]);
    }
    await agent.remove('one', 'two', 'hosts');
  });

  test('sees its files with the expected owners, and owns the files that it writes', async () => {
    const { agent } = fixture;
    const path = join(folder, 'hosts-own');
    mkdirSync(path);
    writeFileSync(join(path, 'root'), 'of root\n');
    writeFileSync(join(path, 'user'), 'of a user\n');
    chownSync(join(path, 'user'), 1000, 1000);
    const volumes = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'map', configMap: { name: 'mapped' } },
      { name: 'secret', secret: { secretName: 'mapped', defaultMode: 0o400 } },
      { name: 'pod', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      { name: 'all', projected: { sources: [{ configMap: { name: 'mapped' } }, { secret: { name: 'mapped' } }] } },
      { name: 'host', hostPath: { path } },
    ];
    const volumeMounts = [
      ...volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` })),
      { name: 'disk', mountPath: '/part', subPath: 'made' },
    ];
    const containers = [
      container('main', { volumeMounts }),
      container('user', { securityContext: { runAsUser: 1000, runAsGroup: 1000 }, volumeMounts }),
    ];
    const objects = (value: string): void =>
      agent.writeManifest('mapped', configMap('mapped', { key: value }), secret('mapped', { word: 'hidden' }));
    objects('value');
    agent.writeManifest('files', mapped('files', { securityContext: { fsGroup: 4242 }, volumes, containers }));
    if (await canMap()) {
      const seen = await agent.ready('files');
      const own = (of: string): Promise<string> =>
        agent.inside(
          'files',
          'cd /v; stat -L -c "%n %u %g %a" map/key secret/word pod/name all/key all/word host/root host/user; cat map/key secret/word pod/name host/root host/user',
          of,
        );
      const expected =
        'map/key 0 4242 644\nsecret/word 0 4242 440\npod/name 0 4242 644\nall/key 0 4242 644\nall/word 0 4242 644\nhost/root 0 0 644\nhost/user 1000 1000 644\nvaluehiddenfiles-nodeof root\nof a user';
      assert.deepEqual([await own('main'), await own('user')], [expected, expected]);
      assert.equal(
        await agent.inside(
          'files',
          'for at in /v/disk /v/memory /part; do echo x > $at/f && stat -c "%u %g" $at/f; done; touch /v/host/root 2>&1 | grep -o "Permission denied"',
          'user',
        ),
        '1000 4242\n1000 4242\n1000 4242\nPermission denied',
      );
      assert.equal(
        await agent.inside(
          'files',
          'stat -c "%u %g" /etc/hosts /dev/termination-log /etc/resolv.conf; echo 10.0.0.1 mine >> /etc/hosts; grep -c files-node /etc/hosts; touch /v/host/made',
          'main',
        ),
        '0 0\n0 0\n0 0\n1',
      );
      // On the host they belong to the user the pod names.
      assert.deepEqual(
        [
          statSync(join(path, 'made')).uid,
          statSync(join(agent.rootDir, 'pods', seen.metadata.uid, 'volumes', 'kubernetes.io~empty-dir', 'disk', 'f'))
            .uid,
        ],
        [0, 1000],
      );
      objects('newer');
      assert.ok(
        await waitUntil(
          async () =>
            (await agent.inside('files', 'cat /v/map/key; stat -L -c %u /v/map/key; cat /v/all/key', 'user')) ===
            'newer0\nnewer',
          10_000,
          100,
        ),
      );
    } else {
      await refused('files');
    }
    await agent.remove('files');
    agent.removeManifest('mapped');
  });

  test('may have its /proc unmasked, gets images as volumes, and leaves its last words', async () => {
    const { agent } = fixture;
    const volumes = [{ name: 'v', image: { reference: WEB_IMAGE, pullPolicy: 'IfNotPresent' } }];
    const containers = [
      container('main', { securityContext: { procMount: 'Unmasked' } }),
      container('masked'),
      container('image', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
    ];
    agent.writeManifest('unmasked', mapped('unmasked', { volumes, containers }));
    agent.writeManifest(
      'words',
      mapped('words', {
        restartPolicy: 'Never',
        containers: [container('main', { command: shell('printf "the end" > /dev/termination-log; exit 3') })],
      }),
    );
    if (await canMap()) {
      await agent.ready('unmasked');
      const covered = async (of: string): Promise<number> =>
        Number(await agent.inside('unmasked', 'grep -c " /proc/" /proc/mounts || true', of));
      assert.deepEqual([await covered('main'), (await covered('masked')) > 5], [0, true]);
      assert.equal(
        await agent.inside(
          'unmasked',
          'stat -c "%u %g" /v/bin/busybox /v/www/index.html; touch /v/x 2>&1 | grep -o "Read-only.*"',
          'image',
        ),
        '0 0\n1000 1000\nRead-only file system',
      );
      const ended = await agent.phase('words', 'Failed');
      assert.deepEqual(
        [containerOf(ended).state?.terminated?.exitCode, containerOf(ended).state?.terminated?.message],
        [3, 'the end'],
      );
    } else {
      await Promise.all([refused('unmasked'), refused('words')]);
    }
    await agent.remove('unmasked', 'words');
  });
});

// Last, as it stops the agent.
describe('ids of a pod', () => {
  test('stay for as long as it runs: over restarts of its containers and of the agent, with its record or without', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'lasting',
      mapped('lasting', {
        containers: [container('main', { command: ['sh', '-c', 'trap "exit 1" TERM; sleep 2147483647 & wait'] })],
      }),
    );
    if (!(await canMap())) {
      await refused('lasting');
      await agent.restart('SIGKILL');
      await refused('lasting');
      return agent.remove('lasting');
    }
    const first = await agent.ready('lasting');
    const before = await range('lasting');
    const record = join(agent.rootDir, 'pods', first.metadata.uid, 'userns');
    assert.equal(
      (JSON.parse(readFileSync(record, 'utf8')) as { uidMappings: { hostId: number }[] }).uidMappings[0]?.hostId,
      before[0],
    );
    await fixture.containerd.cri.runtime.stopContainer({ containerId: containerId(first), timeout: 2 });
    await agent.waitFor(
      'lasting',
      'started again',
      (now) => containerOf(now).restartCount === 1 && containerOf(now).ready,
    );
    assert.deepEqual(await range('lasting'), before);
    await agent.kill9();
    rmSync(record);
    await agent.start();
    const again = await agent.ready('lasting');
    assert.deepEqual([containerOf(again).restartCount, await range('lasting')], [1, before]);
    // A newcomer gets others, although nothing on disk said which are taken.
    await agent.run(mapped('newcomer'));
    assert.notEqual((await range('newcomer'))[0], before[0]);
    await fixture.containerd.cri.runtime.stopContainer({ containerId: containerId(again), timeout: 2 });
    await agent.waitFor(
      'lasting',
      'started again',
      (now) => containerOf(now).restartCount === 2 && containerOf(now).ready,
    );
    assert.deepEqual(await range('lasting'), before);
    await agent.remove('lasting', 'newcomer');
    assert.equal(existsSync(record), false);
  });
});
