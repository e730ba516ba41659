// Paths of volumes from the view of containers: subPath, attacks on it, mount propagation, read-only mounts, fsGroup.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { waitUntil } from '../../src/up/processes.ts';
import { configMap, container, pod, shell } from './support/manifests.ts';
import { mountPointsBelow } from './support/mount-points.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerOf } from './support/watch.ts';

const fixture = agentFixture({ name: 'paths' });
const folder = mkdtempSync(join(tmpdir(), 'kts-paths-'));
after(() => {
  for (const at of mountPointsBelow(folder).reverse()) execFileSync('umount', [at]);
  rmSync(folder, { recursive: true, force: true });
});

/** The folder where the agent mounts the parts of a pod's volumes. */
const subPathMounts = (name: string): string[] =>
  mountPointsBelow(join(fixture.agent.rootDir, 'pods', fixture.agent.pod(name).metadata.uid, 'volume-subpaths'));

describe('parts of volumes', SIDE_BY_SIDE, () => {
  const volumes = [{ name: 'v', emptyDir: {} }];

  test('a folder, a file, one that is to be made, one named by a variable, one behind a link', async () => {
    const { agent } = fixture;
    const init = container('make', {
      command: shell(
        'mkdir -p /v/in/deep; echo inner > /v/in/f; ln -s in /v/link; ln -s ../in/f /v/in/self; chmod 2775 /v',
      ),
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    });
    const main = container('main', {
      env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      volumeMounts: [
        { name: 'v', mountPath: '/dir', subPath: 'in' },
        { name: 'v', mountPath: '/file', subPath: 'in/f', readOnly: true },
        { name: 'v', mountPath: '/made', subPath: 'new/er' },
        { name: 'v', mountPath: '/named', subPathExpr: 'of/$(POD)/x' },
        { name: 'v', mountPath: '/linked', subPath: 'link/self' },
        { name: 'v', mountPath: '/whole' },
      ],
    });
    await agent.run(pod('parts', { volumes, initContainers: [init], containers: [main] }));
    assert.equal(
      await agent.inside(
        'parts',
        'cat /dir/f /file /linked; stat -c %a /made; ls -d /whole/of/parts-node/x; (echo no > /file) 2>&1 | tail -n 1',
      ),
      "inner\ninner\ninner\n2775\n/whole/of/parts-node/x\nsh: can't create /file: Read-only file system",
    );
    assert.equal(await agent.inside('parts', 'echo seen > /named/f; cat /whole/of/parts-node/x/f'), 'seen');
    assert.deepEqual(
      subPathMounts('parts')
        .map((at) => at.split('/').slice(-4).join('/'))
        .toSorted(),
      [0, 1, 2, 3, 4].map((index) => `volume-subpaths/v/main/${index}`),
    );
  });

  test('a path that leaves the volume or has no value is rejected with the error text of upstream, and the container waits', async () => {
    const { agent } = fixture;
    const init = container('make', {
      command: shell(
        'ln -s / /v/root; ln -s ../../../.. /v/up; ln -s /etc/passwd /v/passwd; ln -s nowhere /v/dangling; ln -s loop /v/loop',
      ),
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    });
    const cases: [string, Record<string, string>, RegExp][] = [
      ['root', { subPath: 'root/etc' }, /^failed to prepare subPath for volumeMount "v" of container "root"$/],
      ['up', { subPath: 'up' }, /^failed to prepare subPath for volumeMount "v" of container "up"$/],
      ['passwd', { subPath: 'passwd' }, /^failed to prepare subPath for volumeMount "v" of container "passwd"$/],
      ['loop', { subPath: 'loop' }, /^failed to prepare subPath for volumeMount "v" of container "loop"$/],
      [
        'dangling',
        { subPath: 'dangling' },
        /^failed to create subPath directory for volumeMount "v" of container "dangling"$/,
      ],
      ['unset', { subPathExpr: '$(NOT_THERE)' }, /^missing value for NOT_THERE$/],
      ['climbing', { subPathExpr: '$(UP)' }, /^unable to provision SubPath `\.\.\/x`: must not contain '\.\.'$/],
      ['absolute', { subPathExpr: '$(ROOT)' }, /^error SubPath `\/etc` must not be an absolute path$/],
    ];
    const env = [
      { name: 'UP', value: '../x' },
      { name: 'ROOT', value: '/etc' },
    ];
    const containers = cases.map(([name, mount]) =>
      container(name, { env, volumeMounts: [{ name: 'v', mountPath: '/data', ...mount }] }),
    );
    agent.writeManifest('outside', pod('outside', { volumes, initContainers: [init], containers }));
    const seen = await agent.waitFor('outside', 'refused', (now) =>
      cases.every(([name]) => containerOf(now, name).state?.waiting?.reason === 'CreateContainerConfigError'),
    );
    for (const [name, , message] of cases) assert.match(containerOf(seen, name).state?.waiting?.message ?? '', message);
    assert.deepEqual(subPathMounts('outside'), []);
    await agent.remove('outside');
  });

  test('a container that starts again finds what the path leads to now, through one mount', async () => {
    const { agent } = fixture;
    const init = container('make', {
      command: shell('mkdir -p /v/a /v/b; echo first > /v/a/f; echo second > /v/b/f; ln -s a /v/now'),
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    });
    const main = container('main', {
      command: shell('cat /data/f; until [ -e /v/go ]; do sleep 0.05; done; rm /v/go; exit 0'),
      volumeMounts: [
        { name: 'v', mountPath: '/data', subPath: 'now' },
        { name: 'v', mountPath: '/v' },
      ],
    });
    const side = container('side', { volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    agent.writeManifest('again', pod('again', { volumes, initContainers: [init], containers: [main, side] }));
    await agent.ready('again');
    assert.equal(agent.output('again'), 'first');
    await agent.inside('again', 'ln -sfn b /v/now; touch /v/go', 'side');
    await agent.waitFor(
      'again',
      'restarted',
      (now) => containerOf(now).restartCount === 1 && containerOf(now).state?.running !== undefined,
    );
    assert.ok(await waitUntil(() => agent.output('again') === 'second', 5000, 20), agent.output('again'));
    assert.equal(subPathMounts('again').length, 1);
  });

  test('a ConfigMap’s key as a file stays what it was at the start, while the volume follows', async () => {
    const { agent } = fixture;
    const main = container('main', {
      volumeMounts: [
        { name: 'c', mountPath: '/one', subPath: 'key' },
        { name: 'c', mountPath: '/all' },
      ],
    });
    agent.writeManifest('frozen-map', configMap('frozen', { key: 'old' }));
    await agent.run(pod('frozen', { volumes: [{ name: 'c', configMap: { name: 'frozen' } }], containers: [main] }));
    agent.writeManifest('frozen-map', configMap('frozen', { key: 'new' }));
    assert.ok(await waitUntil(async () => (await agent.inside('frozen', 'cat /all/key')) === 'new', 5000, 20));
    assert.equal(await agent.inside('frozen', 'cat /one'), 'old');
  });
});

describe('attacks', SIDE_BY_SIDE, () => {
  test('a container that swaps a folder for a link to the host, without end, never makes another container of its pod see the host', async () => {
    const { agent } = fixture;
    const host = join(folder, 'precious');
    mkdirSync(host);
    writeFileSync(join(host, 'secret'), 'of the host');
    const init = container('make', {
      command: shell(`mkdir /v/dir; echo own > /v/dir/f; ln -s ${host} /v/link`),
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    });
    const swap = `while :; do mv -T /v/dir /v/aside; mv -T /v/link /v/dir; mv -T /v/dir /v/link; mv -T /v/aside /v/dir; done 2>/dev/null`;
    const attacker = container('attacker', { command: shell(swap), volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    // Each ends at once and is restarted during the attack; its output is in its logs.
    const victims = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'].map((name) =>
      container(name, {
        command: shell('ls /data'),
        volumeMounts: [{ name: 'v', mountPath: '/data', subPath: 'dir' }],
      }),
    );
    agent.writeManifest(
      'attacked',
      pod('attacked', {
        volumes: [{ name: 'v', emptyDir: {} }],
        terminationGracePeriodSeconds: 0,
        initContainers: [init],
        containers: [attacker, ...victims],
      }),
    );
    const starts = (now: ReturnType<typeof agent.pod>): number =>
      victims.reduce((sum, { name }) => sum + containerOf(now, name as string).restartCount, 0);
    await agent.waitFor('attacked', 'started again and again', (now) => starts(now) >= 2);
    const { namespace, uid, name } = agent.pod('attacked').metadata;
    const logs = victims
      .flatMap((victim) => {
        const at = join(agent.podLogsDir, `${namespace}_${name}_${uid}`, victim['name'] as string);
        return existsSync(at) ? readdirSync(at).map((file) => readFileSync(join(at, file), 'utf8')) : [];
      })
      .join('');
    assert.match(logs, / f\n/);
    assert.doesNotMatch(logs, /secret/);
    await agent.remove('attacked');
    assert.deepEqual(readdirSync(host), ['secret']);
  });

  test('a volume full of links, pipes and deep folders goes with its pod and takes nothing else with it', async () => {
    const { agent } = fixture;
    const host = join(folder, 'kept');
    mkdirSync(join(host, 'sub'), { recursive: true });
    writeFileSync(join(host, 'sub', 'file'), 'kept');
    const litter = `ln -s ${host} /v/link; ln -s /etc /v/etc; mkfifo /v/pipe; cd /v; i=0; while [ $i -lt 1200 ]; do mkdir d && cd -P d || break; i=$((i+1)); done; ln -s ${host} here; mkdir /v/many; cd /v/many; i=0; while [ $i -lt 2500 ]; do : > $i; i=$((i+1)); done`;
    const init = container('litter', { command: shell(litter), volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    await agent.run(pod('litter', { volumes: [{ name: 'v', emptyDir: {} }], initContainers: [init] }));
    const { uid } = agent.pod('litter').metadata;
    await agent.remove('litter');
    assert.ok(
      await waitUntil(() => !existsSync(join(agent.rootDir, 'pods', uid)), 20_000, 20),
      'the folder of the pod is left',
    );
    assert.equal(readFileSync(join(host, 'sub', 'file'), 'utf8'), 'kept');
  });
});

describe('the group of the pod', SIDE_BY_SIDE, () => {
  test('owns volumes of the pod’s own, not those of the host; new files follow', async () => {
    const { agent } = fixture;
    const host = join(folder, 'hosts-own');
    mkdirSync(host, { mode: 0o755 });
    const volumes = [
      { name: 'e', emptyDir: {} },
      { name: 'm', emptyDir: { medium: 'Memory' } },
      { name: 'c', configMap: { name: 'grouped', defaultMode: 0o400 } },
      { name: 'h', hostPath: { path: host } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    const securityContext = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 4242 };
    await agent.run(
      pod('grouped', {
        securityContext,
        volumes,
        containers: [
          container('main', { volumeMounts: [...volumeMounts, { name: 'e', mountPath: '/part', subPath: 'made' }] }),
        ],
      }),
      configMap('grouped', { key: 'value' }),
    );
    assert.equal(
      await agent.inside(
        'grouped',
        'id -G; stat -c "%g %a" /e /m /part; stat -L -c "%g %a" /c/key; cat /c/key; echo; echo x > /e/f && echo y > /part/f && stat -c %g /e/f /part/f',
      ),
      '1000 4242\n4242 2777\n4242 3777\n4242 2777\n4242 440\nvalue\n4242\n4242',
    );
    assert.deepEqual([statSync(host).gid, statSync(host).mode & 0o7777], [0, 0o755]);
  });
});

// Last, as it stops the agent.
describe('parts of volumes and an agent that is away', () => {
  const volumes = [{ name: 'v', emptyDir: {} }];
  const parts = [
    { name: 'v', mountPath: '/part', subPath: 'dir' },
    { name: 'v', mountPath: '/one', subPath: 'dir/f' },
    { name: 'v', mountPath: '/v' },
  ];
  const init = container('make', {
    command: shell('mkdir -p /v/dir; echo kept > /v/dir/f'),
    volumeMounts: [{ name: 'v', mountPath: '/v' }],
  });

  test('they are found again, replaced when their folder was removed, and go with a pod that was removed meanwhile', async () => {
    const { agent } = fixture;
    const crashing = container('main', {
      command: shell('cat /part/f /one; until [ -e /v/go ]; do sleep 0.05; done; rm /v/go'),
      volumeMounts: parts,
    });
    const side = container('side', { volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    agent.writeManifest('stays', pod('stays', { volumes, initContainers: [init], containers: [crashing, side] }));
    agent.writeManifest(
      'goes',
      pod('goes', { volumes, initContainers: [init], containers: [container('main', { volumeMounts: parts })] }),
    );
    await Promise.all([agent.ready('stays'), agent.ready('goes')]);
    const before = { stays: subPathMounts('stays'), goes: agent.pod('goes').metadata.uid };
    await agent.kill9();
    agent.removeManifest('goes');
    await agent.start();
    await agent.ready('stays');
    assert.deepEqual(subPathMounts('stays'), before.stays);
    assert.ok(
      await waitUntil(() => !existsSync(join(agent.rootDir, 'pods', before.goes)), 20_000, 20),
      'the folder of the removed pod is left',
    );
    assert.deepEqual(mountPointsBelow(join(agent.rootDir, 'pods', before.goes)), []);
    // The volume no longer has what the mounts show, so the next start cannot use them.
    await agent.inside('stays', 'rm -r /v/dir; mkdir /v/dir; echo new > /v/dir/f; touch /v/go', 'side');
    await agent.waitFor(
      'stays',
      'restarted',
      (now) => containerOf(now).restartCount === 1 && containerOf(now).state?.running !== undefined,
    );
    assert.ok(await waitUntil(() => agent.output('stays') === 'new\nnew', 5000, 20), agent.output('stays'));
    assert.equal(subPathMounts('stays').length, 2);
  });
});
