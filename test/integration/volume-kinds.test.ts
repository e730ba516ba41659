// Kinds of volumes beyond folders and objects: claims, local folders and disks, raw devices, memory, and what is
// refused.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../src/up/processes.ts';
import { NODE, podName } from './support/agent.ts';
import type { PodManifest } from './support/manifests.ts';
import { configMap, container, pod } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId } from './support/watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-kinds-'));
const loops: string[] = [];
before(() => mkdirSync(join(folder, 'shared')));
// Before the agent is stopped, so that they go also when that fails; a disk in use goes with its last user.
after(() => {
  for (const loop of loops) execFileSync('losetup', ['-d', loop]);
  rmSync(folder, { recursive: true, force: true });
});
const fixture = agentFixture({ name: 'kinds' });

/** An empty disk. */
function disk(name: string): string {
  const file = join(folder, `${name}.img`);
  writeFileSync(file, '');
  truncateSync(file, 64 * 2 ** 20);
  const loop = execFileSync('losetup', ['-f', '--show', file], { encoding: 'utf8' }).trim();
  loops.push(loop);
  return loop;
}

const HERE = {
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE] }] }],
  },
};
const claim = (name: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name, namespace: 'default' },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: '',
    resources: { requests: { storage: '1Mi' } },
    volumeName: `pv-${name}`,
    ...spec,
  },
});
const local = (name: string, path: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: { name: `pv-${name}` },
  spec: { capacity: { storage: '64Mi' }, accessModes: ['ReadWriteOnce'], local: { path }, nodeAffinity: HERE, ...spec },
});

/** A pod whose container mounts the claim at /v. */
const claimant = (
  name: string,
  claimName: string,
  rest: { spec?: Record<string, unknown>; readOnly?: boolean } = {},
): PodManifest =>
  pod(name, {
    volumes: [
      { name: 'v', persistentVolumeClaim: { claimName, ...(rest.readOnly === true ? { readOnly: true } : {}) } },
    ],
    containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
    ...rest.spec,
  });

/** What the agent says in events of a pod that waits. */
async function complaint(name: string, pattern: RegExp): Promise<string> {
  const explained = await fixture.agent.explained(name, String(pattern), (now) =>
    pattern.test(JSON.stringify(now.blockers)),
  );
  return JSON.stringify(explained.blockers);
}

const mountsOf = (path: string): string[] =>
  readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.split(' ')[1]?.startsWith(path));

describe('claims and local volumes', SIDE_BY_SIDE, () => {
  test('a pod waits for its claim and its volume, goes on the moment they are there, and its data stays', async () => {
    const { agent } = fixture;
    agent.writeManifest('late', claimant('late', 'late', { spec: { securityContext: { fsGroup: 4321 } } }));
    await complaint(
      'late',
      /error processing PVC default\/late: failed to fetch PVC from API server: persistentvolumeclaims \\"late\\" not found/,
    );
    agent.writeManifest('late-claim', claim('late'));
    await complaint(
      'late',
      /error processing PVC default\/late: failed to fetch PV pv-late from API server: persistentvolumes \\"pv-late\\" not found/,
    );
    agent.writeManifest('late-volume', local('late', join(folder, 'shared')));
    const seen = await agent.ready('late');
    assert.equal(await agent.inside('late', 'echo kept > /v/file; stat -c "%g %a" /v'), '4321 2775');
    assert.equal(mountsOf(join(agent.rootDir, 'pods', seen.metadata.uid)).length >= 1, true);
    await agent.remove('late');
    assert.deepEqual(
      [readFileSync(join(folder, 'shared', 'file'), 'utf8'), mountsOf(join(agent.rootDir, 'pods', seen.metadata.uid))],
      ['kept\n', []],
    );
  });

  test('an empty disk is formatted once, is one mount of the node for all pods, and is let go after the last', async () => {
    const { agent } = fixture;
    const device = disk('data');
    const staged = join(agent.rootDir, 'plugins/kubernetes.io/local-volume/mounts/pv-data');
    await agent.run(
      claimant('disk-one', 'data'),
      claim('data', { accessModes: ['ReadWriteMany'] }),
      local('data', device, { accessModes: ['ReadWriteMany'] }),
    );
    assert.equal(
      await agent.inside('disk-one', 'echo first > /v/file; sync; grep " /v " /proc/mounts | cut -d " " -f 1,3'),
      `${device} ext4`,
    );
    agent.writeManifest(
      'disk-objects',
      claim('data', { accessModes: ['ReadWriteMany'] }),
      local('data', device, { accessModes: ['ReadWriteMany'] }),
    );
    await agent.run(claimant('disk-two', 'data', { readOnly: true }));
    assert.equal(
      await agent.inside('disk-two', 'cat /v/file; touch /v/x 2>&1 | grep -o "Read-only file system"'),
      'first\nRead-only file system',
    );
    assert.equal(mountsOf(staged).length, 1);
    await agent.remove('disk-one');
    assert.equal(mountsOf(staged).length, 1);
    await agent.remove('disk-two');
    assert.ok(
      await waitUntil(() => mountsOf(staged).length === 0 && !existsSync(staged), 5000, 20),
      'the disk is still mounted',
    );
    // What is on it is never formatted away.
    await agent.run(claimant('disk-three', 'data'));
    assert.equal(await agent.inside('disk-three', 'cat /v/file'), 'first');
    await agent.remove('disk-three');
    assert.ok(await waitUntil(() => mountsOf(staged).length === 0, 5000, 20), 'the disk is still mounted');
  });

  test('a raw device is in the container as a device, to write or only to read as the claim is used', async () => {
    const { agent } = fixture;
    const device = disk('raw');
    const raw = (name: string, readOnly: boolean): PodManifest =>
      pod(name, {
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'raw', readOnly } }],
        containers: [container('main', { volumeDevices: [{ name: 'v', devicePath: '/dev/data' }] })],
      });
    agent.writeManifest(
      'raw-objects',
      claim('raw', { volumeMode: 'Block' }),
      local('raw', device, { volumeMode: 'Block' }),
    );
    const seen = await agent.run(raw('raw-writer', false));
    assert.equal(
      await agent.inside(
        'raw-writer',
        'printf raw-data | dd of=/dev/data conv=notrunc 2>/dev/null; sync; test -b /dev/data && echo block',
      ),
      'block',
    );
    assert.equal(readFileSync(join(folder, 'raw.img')).subarray(0, 8).toString(), 'raw-data');
    assert.ok(
      existsSync(join(agent.rootDir, 'pods', seen.metadata.uid, 'volumeDevices/kubernetes.io~local-volume/pv-raw')),
    );
    await agent.run(raw('raw-reader', true));
    assert.equal(
      await agent.inside('raw-reader', 'head -c 8 /dev/data; printf x 2>/dev/null > /dev/data || echo " refused"'),
      'raw-data refused',
    );
    agent.writeManifest('raw-mounted', claimant('raw-mounted', 'raw'));
    await complaint('raw-mounted', /volume v has volumeMode Block, but is specified in volumeMounts/);
    await agent.remove('raw-writer', 'raw-reader', 'raw-mounted');
    assert.ok(statSync(device).isBlockDevice());
  });

  test('a generic ephemeral volume takes the claim that was written for its pod', async () => {
    const { agent } = fixture;
    const name = `${podName('scratch')}-data`;
    const owned = {
      ...claim(name, { volumeName: 'pv-scratch' }),
      metadata: {
        name,
        namespace: 'default',
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: podName('scratch'), uid: 'unknown', controller: true },
        ],
      },
    };
    const volumes = [
      {
        name: 'data',
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
          },
        },
      },
    ];
    agent.writeManifest(
      'scratch',
      pod('scratch', {
        volumes,
        containers: [container('main', { volumeMounts: [{ name: 'data', mountPath: '/v' }] })],
      }),
    );
    await complaint(
      'scratch',
      /persistentvolumeclaims \\"scratch-node-data\\" not found: without an API server it is not created from the template/,
    );
    mkdirSync(join(folder, 'scratch'));
    agent.writeManifest('scratch-objects', owned, local('scratch', join(folder, 'scratch')));
    await agent.ready('scratch');
    await agent.inside('scratch', 'touch /v/here');
    assert.ok(existsSync(join(folder, 'scratch', 'here')));
    await agent.remove('scratch');
  });

  test('a volume of another node, one that is not there and one for one pod alone say why they wait', async () => {
    const { agent } = fixture;
    const elsewhere = {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['other'] }] },
        ],
      },
    };
    agent.writeManifest(
      'away',
      claim('away'),
      local('away', folder, { nodeAffinity: elsewhere }),
      claimant('away', 'away'),
    );
    agent.writeManifest(
      'absent',
      claim('absent'),
      local('absent', join(folder, 'absent')),
      claimant('absent', 'absent'),
    );
    const alone = { accessModes: ['ReadWriteOncePod'] };
    await agent.run(claimant('alone-one', 'alone'), claim('alone', alone), local('alone', folder, alone));
    agent.writeManifest('alone-two', claimant('alone-two', 'alone'));
    await complaint(
      'away',
      /MountVolume.NodeAffinity check failed for volume \\"pv-away\\" : no matching NodeSelectorTerms/,
    );
    await complaint(
      'absent',
      /MountVolume.NewMounter initialization failed for volume \\"pv-absent\\" : path \\".*absent\\" does not exist/,
    );
    await complaint('alone-two', /volume uses the ReadWriteOncePod access mode and is already in use by another pod/);
    mkdirSync(join(folder, 'absent'));
    await agent.ready('absent');
    agent.writeManifest('alone-objects', claim('alone', alone), local('alone', folder, alone));
    agent.removeManifest('alone-one');
    await agent.ready('alone-two');
    await agent.remove('away', 'absent', 'alone-two');
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

  test('what upstream rejects is rejected in its words, and delays no other pod', async () => {
    const { agent } = fixture;
    const refused: Record<string, [Record<string, unknown>, RegExp]> = {
      git: [
        { gitRepo: { repository: 'https://example.org/x' } },
        /git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`/,
      ],
      ebs: [
        { awsElasticBlockStore: { volumeID: 'vol-1' } },
        /awsElasticBlockStore has moved to the CSI driver ebs.csi.aws.com/,
      ],
      huge: [
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

  test('a ConfigMap of a megabyte, and a pod with a hundred volumes, are nothing special', async () => {
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

  test('an immutable ConfigMap is followed no more, whatever its file says', async () => {
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

test('an agent that was killed finds disks and devices again, and takes down what went while it was away', async () => {
  const { agent } = fixture;
  const [kept, gone] = [disk('kept'), disk('gone')];
  const stagedAt = (name: string): string =>
    join(agent.rootDir, `plugins/kubernetes.io/local-volume/mounts/pv-${name}`);
  agent.writeManifest('restart-objects', claim('kept'), local('kept', kept), claim('gone'), local('gone', gone));
  agent.writeManifest('gone', claimant('gone', 'gone'));
  const before = await agent.run(claimant('kept', 'kept'));
  const vanished = await agent.ready('gone');
  await agent.inside('kept', 'echo data > /v/file');
  await agent.kill9();
  agent.removeManifest('gone');
  await agent.start();
  const again = await agent.ready('kept');
  assert.deepEqual([containerId(again), await agent.inside('kept', 'cat /v/file')], [containerId(before), 'data']);
  assert.ok(
    await waitUntil(
      () => mountsOf(stagedAt('gone')).length === 0 && !existsSync(join(agent.rootDir, 'pods', vanished.metadata.uid)),
      30_000,
      50,
    ),
    `${podName('gone')} is still there`,
  );
  assert.equal(mountsOf(stagedAt('kept')).length, 1);
  await agent.remove('kept');
  assert.ok(
    await waitUntil(() => mountsOf(stagedAt('kept')).length === 0, 5000, 20),
    'the disk of the pod that lived on is still mounted',
  );
});

/** A file system whose server never answers: every access hangs until killed. */
function hungMount(path: string): () => void {
  mkdirSync(path, { recursive: true });
  const server = openSync('/dev/fuse', 'r+');
  execFileSync('mount', ['-i', '-t', 'fuse', '-o', 'fd=3,rootmode=40000,user_id=0,group_id=0', 'hung', path], {
    stdio: ['ignore', 'ignore', 'inherit', server],
  });
  return () => {
    // Ends every access that hangs, so that none keeps the mount busy, least of all one of this process.
    closeSync(server);
    execFileSync('umount', ['-i', '-c', '-l', path]);
  };
}

test('hung file systems delay only their own pods, across a restart too', async () => {
  const { agent } = fixture;
  const dead = join(folder, 'dead');
  mkdirSync(join(dead, 'data'), { recursive: true });
  const release = hungMount(dead);
  const mounting = (name: string, source: object): PodManifest =>
    pod(name, {
      volumes: [{ name: 'v', ...source }],
      containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
    });
  try {
    agent.writeManifest('hung-objects', claim('hung'), local('hung', join(dead, 'data')));
    agent.writeManifest('hung-local', claimant('hung-local', 'hung'));
    agent.writeManifest(
      'hung-host',
      mounting('hung-host', { hostPath: { path: join(dead, 'data'), type: 'Directory' } }),
    );
    const well = await agent.run(mounting('well', { emptyDir: {} }));
    await complaint(
      'hung-local',
      /MountVolume.MountDevice failed for volume \\"pv-hung\\" : .*(no answer|does not respond)/,
    );
    await complaint('hung-host', /MountVolume.SetUp failed for volume \\"v\\" : .*(no answer|does not respond)/);
    // One that hangs inside the volume of a pod that runs.
    const inside = join(agent.rootDir, 'pods', well.metadata.uid, 'volumes/kubernetes.io~empty-dir/v/sub');
    hungMount(inside);
    await agent.restart('SIGKILL');
    assert.equal(containerId(await agent.ready('well')), containerId(well));
    await agent.run(mounting('later', { emptyDir: { medium: 'Memory' } }));
    await agent.remove('well', 'later', 'hung-host');
    assert.deepEqual(mountsOf(inside), []);
  } finally {
    release();
  }
  await agent.ready('hung-local');
  await agent.remove('hung-local');
});
