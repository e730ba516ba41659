// Propagation of mounts and read-only mounts on real containerd.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../src/up/processes.ts';
import { container, pod, thenSleep } from './support/manifests.ts';
import { mountPointsBelow } from './support/mount-points.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerOf } from './support/watch.ts';

const fixture = agentFixture({ name: 'mounts' });
const folder = mkdtempSync(join(tmpdir(), 'kts-mounts-'));

after(() => {
  for (const at of mountPointsBelow(folder).reverse()) execFileSync('umount', [at]);
  rmSync(folder, { recursive: true, force: true });
});

describe('propagation of mounts', SIDE_BY_SIDE, () => {
  before(() => {
    mkdirSync(join(folder, 'shared'));
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(folder, 'shared')]);
    execFileSync('mount', ['--make-rshared', join(folder, 'shared')]);
    for (const name of ['from-host', 'from-pod']) mkdirSync(join(folder, 'shared', name));
  });

  test('a mount made on the host is seen with HostToContainer and Bidirectional; one made inside reaches the host with Bidirectional only', async () => {
    const { agent } = fixture;
    const shared = join(folder, 'shared');
    const modes = { none: undefined, slave: 'HostToContainer', both: 'Bidirectional' } as const;
    const containers = Object.entries(modes).map(([name, mountPropagation]) =>
      container(name, {
        securityContext: { privileged: true },
        volumeMounts: [{ name: 'h', mountPath: '/h', ...(mountPropagation === undefined ? {} : { mountPropagation }) }],
      }),
    );
    await agent.run(pod('propagation', { volumes: [{ name: 'h', hostPath: { path: shared } }], containers }));
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(shared, 'from-host')]);
    writeFileSync(join(shared, 'from-host', 'f'), '');
    const seen = async (path: string): Promise<string[]> =>
      Promise.all(Object.keys(modes).map((name) => agent.inside('propagation', `ls ${path}`, name)));
    assert.deepEqual(await seen('/h/from-host'), ['', 'f', 'f']);
    for (const name of ['none', 'slave'])
      await agent.inside('propagation', 'mount -t tmpfs tmpfs /h/from-pod && touch /h/from-pod/f', name);
    assert.deepEqual(readdirSync(join(shared, 'from-pod')), []);
    await agent.inside('propagation', 'mount -t tmpfs tmpfs /h/from-pod && touch /h/from-pod/f', 'both');
    assert.deepEqual(
      [
        readdirSync(join(shared, 'from-pod')),
        await agent.inside('propagation', 'umount /h/from-pod; ls /h/from-pod', 'both'),
        readdirSync(join(shared, 'from-pod')),
      ],
      [['f'], '', []],
    );
  });

  test('a mount that a container makes in a volume is removed with the pod', async () => {
    const { agent } = fixture;
    const main = container('main', {
      securityContext: { privileged: true },
      command: thenSleep('mkdir -p /v/m && mount -t tmpfs tmpfs /v/m && echo x > /v/m/f'),
      volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
    });
    const seen = await agent.run(pod('left-mounted', { volumes: [{ name: 'v', emptyDir: {} }], containers: [main] }));
    const volume = join(agent.rootDir, 'pods', seen.metadata.uid, 'volumes', 'kubernetes.io~empty-dir', 'v');
    assert.ok(await waitUntil(() => existsSync(join(volume, 'm', 'f')), 5000, 20), 'the mount did not reach the host');
    await agent.remove('left-mounted');
    assert.ok(
      await waitUntil(() => !existsSync(join(agent.rootDir, 'pods', seen.metadata.uid)), 10_000, 20),
      'the folder of the pod is left',
    );
    assert.deepEqual(mountPointsBelow(join(agent.rootDir, 'pods', seen.metadata.uid)), []);
  });

  test('Bidirectional without privilege is refused in the API’s words', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'unprivileged',
      pod('unprivileged', {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [
          container('main', { volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }] }),
        ],
      }),
    );
    assert.ok(
      await waitUntil(
        async () =>
          (await agent.problems()).some((problem) =>
            /spec\.containers\[0\]\.volumeMounts\.mountPropagation: .*Forbidden: Bidirectional mount propagation is available only to privileged containers/.test(
              problem,
            ),
          ),
        10_000,
        50,
      ),
      (await agent.problems()).join('\n'),
    );
    agent.removeManifest('unprivileged');
  });
});

/** Whether the default handler makes mounts recursively read-only: containerd since 2.0, on Linux 5.12. */
async function recursiveReadOnly(): Promise<boolean> {
  const { runtimeHandlers } = await fixture.containerd.cri.runtime.status({});
  return runtimeHandlers.some(({ name, features }) => name === '' && features?.recursiveReadOnlyMounts === true);
}

describe('read-only', SIDE_BY_SIDE, () => {
  test('mounts refuse writes; the status says of each mount what became of it', async () => {
    const { agent } = fixture;
    const possible = (await recursiveReadOnly()) ? 'Enabled' : 'Disabled';
    const volumeMounts = [
      { name: 'v', mountPath: '/rw' },
      { name: 'v', mountPath: '/ro', readOnly: true },
      { name: 'v', mountPath: '/part', subPath: 'p', readOnly: true },
      { name: 'v', mountPath: '/possible', readOnly: true, recursiveReadOnly: 'IfPossible' },
      { name: 'v', mountPath: '/disabled', readOnly: true, recursiveReadOnly: 'Disabled' },
    ];
    const seen = await agent.run(
      pod('readonly', { volumes: [{ name: 'v', emptyDir: {} }], containers: [container('main', { volumeMounts })] }),
    );
    assert.equal(
      await agent.inside(
        'readonly',
        'touch /rw/f && echo ok; for at in /ro /part /possible /disabled; do touch $at/x 2>/dev/null || echo refused; done',
      ),
      'ok\nrefused\nrefused\nrefused\nrefused',
    );
    assert.deepEqual(containerOf(seen).volumeMounts, [
      { name: 'v', mountPath: '/rw' },
      ...['/ro', '/part', '/possible', '/disabled'].map((mountPath) => ({
        name: 'v',
        mountPath,
        readOnly: true,
        recursiveReadOnly: mountPath === '/possible' ? possible : 'Disabled',
      })),
    ]);
  });

  test('recursive read-only holds for what is mounted below, too; a runtime that cannot do it starts nothing', async () => {
    const { agent } = fixture;
    const path = join(folder, 'recursive');
    mkdirSync(join(path, 'sub', 'below'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(path, 'sub', 'below')]);
    const volumeMounts = [
      { name: 'h', mountPath: '/plain', readOnly: true },
      { name: 'h', mountPath: '/all', readOnly: true, recursiveReadOnly: 'Enabled' },
      { name: 'h', mountPath: '/part', readOnly: true, recursiveReadOnly: 'Enabled', subPath: 'sub' },
    ];
    agent.writeManifest(
      'rro',
      pod('rro', { volumes: [{ name: 'h', hostPath: { path } }], containers: [container('main', { volumeMounts })] }),
    );
    if (await recursiveReadOnly()) {
      const seen = await agent.ready('rro');
      assert.equal(
        await agent.inside(
          'rro',
          'for at in /plain/f /plain/sub/below/f /all/f /all/sub/below/f /part/f /part/below/f; do touch $at 2>/dev/null && echo $at; done; true',
        ),
        '/plain/sub/below/f',
      );
      assert.deepEqual(
        containerOf(seen).volumeMounts?.map((mount) => mount.recursiveReadOnly),
        ['Disabled', 'Enabled', 'Enabled'],
      );
    } else {
      const seen = await agent.waitFor(
        'rro',
        'refused',
        (now) => containerOf(now).state?.waiting?.reason === 'CreateContainerConfigError',
      );
      assert.equal(
        containerOf(seen).state?.waiting?.message,
        'failed to resolve recursive read-only mode: volume "h" requested recursive read-only mode, but it is not supported by the runtime',
      );
    }
    await agent.remove('rro');
  });

  test('recursive read-only goes neither with a mount that may be written nor with one that others mount into', async () => {
    const { agent } = fixture;
    const one = (name: string, mount: object): void =>
      agent.writeManifest(
        name,
        pod(name, {
          volumes: [{ name: 'v', emptyDir: {} }],
          containers: [
            container('main', {
              volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: 'IfPossible', ...mount }],
            }),
          ],
        }),
      );
    one('rro-writable', {});
    one('rro-propagated', { readOnly: true, mountPropagation: 'HostToContainer' });
    const expected = [
      /spec\.containers\[0\]\.volumeMounts\.recursiveReadOnly: .*Forbidden: may only be specified when readOnly is true/,
      /spec\.containers\[0\]\.volumeMounts\.recursiveReadOnly: .*Forbidden: may only be specified when mountPropagation is None or not specified/,
    ];
    assert.ok(
      await waitUntil(
        async () => {
          const problems = (await agent.problems()).join('\n');
          return expected.every((message) => message.test(problems));
        },
        10_000,
        50,
      ),
      (await agent.problems()).join('\n'),
    );
    agent.removeManifest('rro-writable', 'rro-propagated');
  });
});
