// Volumes that need no claim, on real containerd: ConfigMaps and Secrets, the host, memory; and what is refused.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { podName } from './support/agent.ts';
import { configMap, container, pod, secret, shell } from './support/manifests.ts';
import { waitUntil } from './support/patience.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const fixture = agentFixture({ name: 'kinds', agent: { config: { clusterDomain: 'cluster.local' } } });
const folder = mkdtempSync(join(tmpdir(), 'kts-kinds-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The agent's events about a waiting pod. */
async function complaint(name: string, pattern: RegExp): Promise<string> {
  const explained = await fixture.agent.explained(name, String(pattern), (now) =>
    pattern.test(JSON.stringify(now.blockers)),
  );
  return JSON.stringify(explained.blockers);
}

describe('volumes', SIDE_BY_SIDE, () => {
  test('a configMap volume shows its keys, and a change within a second, without a restart', async () => {
    const { agent } = fixture;
    agent.writeManifest('live-map', configMap('live', { 'a.txt': 'one', 'b.txt': 'two' }));
    const volumes = [{ name: 'v', configMap: { name: 'live', defaultMode: 0o640 } }];
    const seen = await agent.run(
      pod('live-volume', {
        volumes,
        containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      }),
    );
    assert.equal(
      await agent.inside('live-volume', 'cat /v/a.txt /v/b.txt | tr -d "\\n"; stat -L -c " %a" /v/a.txt'),
      'onetwo 640',
    );
    agent.writeManifest('live-map', configMap('live', { 'a.txt': 'changed', 'c.txt': 'new' }));
    const startMs = performance.now();
    assert.ok(
      await waitUntil(async () => (await agent.inside('live-volume', 'cat /v/*.txt')) === 'changednew', 5000, 20),
      'the change did not arrive',
    );
    // Far below the resync interval of a minute, which a missed change would wait for; a busy machine may be slow.
    console.log(`the change was in the container after ${Math.round(performance.now() - startMs)} ms`);
    assert.equal(containerId(agent.pod('live-volume')), containerId(seen));
  });

  test('secret, projected and downwardAPI volumes have the named content; secrets are in memory', async () => {
    const { agent } = fixture;
    const volumes = [
      { name: 's', secret: { secretName: 'store', items: [{ key: 'password', path: 'deep/pw', mode: 0o400 }] } },
      {
        name: 'p',
        projected: {
          sources: [
            { secret: { name: 'store' } },
            { configMap: { name: 'shop' } },
            { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
          ],
        },
      },
    ];
    const main = container('main', {
      volumeMounts: [
        { name: 's', mountPath: '/s', readOnly: true },
        { name: 'p', mountPath: '/p' },
      ],
    });
    await agent.run(
      pod('object-volumes', { volumes, containers: [main] }),
      secret('store', { password: 'pw', other: 'o' }),
      configMap('shop', { open: 'yes' }),
    );
    assert.equal(
      await agent.inside('object-volumes', 'cat /s/deep/pw; ls /s | tr "\\n" " "; stat -L -c %a /s/deep/pw'),
      'pwdeep 400',
    );
    assert.equal(
      await agent.inside('object-volumes', 'cat /p/password /p/open /p/name'),
      `pwyes${podName('object-volumes')}`,
    );
    assert.match(await agent.inside('object-volumes', 'grep " /s " /proc/mounts'), /^tmpfs /);
    assert.match(await agent.inside('object-volumes', 'touch /s/x 2>&1 || true'), /Read-only/);
  });

  test('an optional missing secret is an empty folder, a needed one holds the pod back until it comes', async () => {
    const { agent } = fixture;
    const one = (name: string, optional: boolean) =>
      pod(name, {
        volumes: [{ name: 'v', secret: { secretName: `${name}-secret`, optional } }],
        containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      });
    await agent.run(one('optional', true));
    assert.equal(await agent.inside('optional', 'ls /v'), '');
    agent.writeManifest('needed', one('needed', false));
    await agent.explained('needed', 'the missing secret', (now) =>
      now.blockers.some((blocker) => /needed-secret/.test(JSON.stringify(blocker))),
    );
    agent.writeManifest('needed-s', secret('needed-secret', { k: 'v' }));
    await agent.ready('needed', 15_000);
    assert.equal(await agent.inside('needed', 'cat /v/k'), 'v');
  });

  test('hostPath checks its type, creates missing paths if the type allows it, and is not removed afterwards', async () => {
    const { agent } = fixture;
    const at = (name: string): string => join(folder, name);
    writeFileSync(at('file'), 'content');
    mkdirSync(at('directory'));
    const volumes = [
      { name: 'file', hostPath: { path: at('file'), type: 'File' } },
      { name: 'directory', hostPath: { path: at('directory'), type: 'Directory' } },
      { name: 'made', hostPath: { path: at('made'), type: 'DirectoryOrCreate' } },
      { name: 'touched', hostPath: { path: at('touched'), type: 'FileOrCreate' } },
      { name: 'any', hostPath: { path: at('directory') } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
    await agent.run(pod('hostpath', { volumes, containers: [container('main', { volumeMounts })] }));
    assert.equal(
      await agent.inside('hostpath', 'cat /mnt/file; echo x > /mnt/made/x; echo y > /mnt/touched'),
      'content',
    );
    await agent.remove('hostpath');
    assert.deepEqual(
      [
        readFileSync(join(at('made'), 'x'), 'utf8'),
        readFileSync(at('touched'), 'utf8'),
        statSync(at('made')).mode & 0o777,
        statSync(at('touched')).mode & 0o777,
      ],
      ['x\n', 'y\n', 0o755, 0o644],
    );
    agent.writeManifest(
      'wrong-type',
      pod('wrong-type', {
        volumes: [{ name: 'v', hostPath: { path: at('file'), type: 'Directory' } }],
        containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      }),
    );
    const { blockers } = await agent.explained('wrong-type', 'what is wrong', (now) =>
      now.blockers.some((blocker) => /is not a directory/.test(JSON.stringify(blocker))),
    );
    assert.ok(blockers.length > 0);
    assert.equal(containerOf(agent.pod('wrong-type')).state?.waiting?.reason, 'ContainerCreating');
    await agent.remove('wrong-type');
  });

  test('a subPath shows one part of a volume, and never what a link leads out to', async () => {
    const { agent } = fixture;
    const volumes = [{ name: 'v', emptyDir: {} }];
    const init = container('make', {
      command: shell('mkdir -p /v/in; echo inner > /v/in/f; ln -s /etc /v/out'),
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
    });
    await agent.run(
      pod('subpath', {
        volumes,
        initContainers: [init],
        containers: [
          container('main', {
            volumeMounts: [
              { name: 'v', mountPath: '/data', subPath: 'in' },
              { name: 'v', mountPath: '/one', subPath: 'in/f' },
            ],
          }),
        ],
      }),
    );
    assert.equal(await agent.inside('subpath', 'cat /data/f /one'), 'inner\ninner');
    agent.writeManifest(
      'escape',
      pod('escape', {
        volumes,
        initContainers: [init],
        containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/data', subPath: 'out' }] })],
      }),
    );
    await agent.waitFor(
      'escape',
      'refused',
      (seen) => containerOf(seen).state?.waiting?.reason === 'CreateContainerConfigError',
    );
    await agent.remove('escape');
  });
});

describe('memory, images, and what is refused', SIDE_BY_SIDE, () => {
  test('a volume in memory is as large as its sizeLimit and stays out of swap where the kernel can', async () => {
    const { agent } = fixture;
    await agent.run(
      pod('memory', {
        volumes: [{ name: 'v', emptyDir: { medium: 'Memory', sizeLimit: '4Mi' } }],
        containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      }),
    );
    const options = await agent.inside('memory', 'grep " /v " /proc/mounts | cut -d " " -f 3,4');
    assert.match(options, /^tmpfs .*size=4096k/);
    const [major = 0, minor = 0] = readFileSync('/proc/sys/kernel/osrelease', 'utf8').split('.').map(Number);
    assert.equal(options.includes('noswap'), major > 6 || (major === 6 && minor >= 4));
    assert.match(await agent.inside('memory', 'dd if=/dev/zero of=/v/x bs=1M count=5 2>&1'), /No space left/);
    await agent.remove('memory');
  });

  test('a volume in huge pages is mounted with the size the pod asks for, where the machine has any', async (context) => {
    const { agent } = fixture;
    const pages = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';
    if (!existsSync(pages) || Number(readFileSync(pages, 'utf8')) < 2) {
      context.diagnostic('no huge pages are set aside on this machine: not tried here');
      return;
    }
    const resources = { limits: { 'hugepages-2Mi': '4Mi', memory: '32Mi', cpu: '50m' } };
    await agent.run(
      pod('huge', {
        volumes: [{ name: 'v', emptyDir: { medium: 'HugePages' } }],
        containers: [container('main', { resources, volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      }),
    );
    assert.match(await agent.inside('huge', 'grep " /v " /proc/mounts'), /^nodev \/v hugetlbfs .*pagesize=2M/);
    await agent.remove('huge');
  });

  test('volumes that upstream rejects fail with its error texts, and delay no other pod', async () => {
    const { agent } = fixture;
    const refused: Record<string, [Record<string, unknown>, RegExp]> = {
      git: [
        { gitRepo: { repository: 'https://example.org/x' } },
        /git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`/,
      ],
      ebs: [
        { awsElasticBlockStore: { volumeID: 'vol-1' } },
        /driver name ebs.csi.aws.com not found in the list of registered CSI drivers/,
      ],
      'huge-unasked': [
        { emptyDir: { medium: 'HugePages' } },
        /medium HugePages: hugePages storage requested, but there is no resource request for huge pages/,
      ],
    };
    for (const [name, [source]] of Object.entries(refused))
      agent.writeManifest(
        name,
        pod(name, {
          volumes: [{ name: 'v', ...source }],
          containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
        }),
      );
    await Promise.all(Object.entries(refused).map(([name, [, pattern]]) => complaint(name, pattern)));
    await agent.remove(...Object.keys(refused));
  });

  test('an NFS server that cannot be reached, or a missing mount.nfs, keeps only its own pod waiting', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'nfs',
      pod('nfs', {
        volumes: [{ name: 'v', nfs: { server: '127.0.0.1', path: '/export' } }],
        containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      }),
    );
    const helper = ['/sbin/mount.nfs', '/usr/sbin/mount.nfs'].some((path) => existsSync(path));
    await complaint(
      'nfs',
      helper
        ? /MountVolume.SetUp failed for volume \\"v\\"/
        : /mount.nfs is not installed on this node: it is in the package nfs-common/,
    );
    await agent.remove('nfs');
  });

  test('a ConfigMap of a megabyte and a pod with a hundred volumes work', async () => {
    const { agent } = fixture;
    const volumes = Array.from({ length: 100 }, (_, index) => ({
      name: `v${index}`,
      ...(index === 0
        ? { configMap: { name: 'large' } }
        : index % 2 === 0
          ? { projected: { sources: [{ configMap: { name: 'small' } }] } }
          : { emptyDir: {} }),
    }));
    const main = container('main', { volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/many/${name}` })) });
    await agent.run(
      pod('many', { volumes, containers: [main] }),
      configMap('large', { data: 'x'.repeat(1_000_000) }),
      configMap('small', { k: 'v' }),
    );
    assert.equal(
      await agent.inside(
        'many',
        'wc -c < /many/v0/data; cat /many/v2/k /many/v98/k; touch /many/v99/x && echo " written"',
      ),
      '1000000\nvv written',
    );
    await agent.remove('many');
  });

  test('an immutable ConfigMap is not updated when its file changes', async () => {
    const { agent } = fixture;
    const fixed = (text: string) => ({ ...configMap('fixed', { k: text }), immutable: true });
    await agent.run(
      pod('fixed', {
        volumes: [
          { name: 'v', configMap: { name: 'fixed' } },
          { name: 'w', configMap: { name: 'free' } },
        ],
        containers: [
          container('main', {
            volumeMounts: [
              { name: 'v', mountPath: '/v' },
              { name: 'w', mountPath: '/w' },
            ],
          }),
        ],
      }),
      fixed('one'),
      configMap('free', { k: 'one' }),
    );
    agent.writeManifest('fixed-maps', fixed('two'), configMap('free', { k: 'two' }));
    agent.writeManifest(
      'fixed',
      pod('fixed', {
        volumes: [
          { name: 'v', configMap: { name: 'fixed' } },
          { name: 'w', configMap: { name: 'free' } },
        ],
        containers: [
          container('main', {
            volumeMounts: [
              { name: 'v', mountPath: '/v' },
              { name: 'w', mountPath: '/w' },
            ],
          }),
        ],
      }),
    );
    assert.ok(
      await waitUntil(async () => (await agent.inside('fixed', 'cat /w/k')) === 'two', 5000, 20),
      'the mutable one did not change',
    );
    assert.equal(await agent.inside('fixed', 'cat /v/k'), 'one');
    await agent.remove('fixed');
  });
});
