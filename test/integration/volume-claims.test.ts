// Claims, local volumes and disks on real containerd, also across a restart of the agent.

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
import { container, pod } from './support/manifests.ts';
import { mountPointsBelow } from './support/mount-points.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId } from './support/watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-kinds-'));
const loops: string[] = [];
before(() => mkdirSync(join(folder, 'shared')));
// Registered before the agent is stopped, so that the disks are removed even if that fails; a disk in use is removed
// when its last user ends.
after(() => {
  for (const loop of loops) execFileSync('losetup', ['-d', loop]);
  rmSync(folder, { recursive: true, force: true });
});

const fixture = agentFixture({ name: 'claims' });

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

/** The agent's events about a waiting pod. */
async function complaint(name: string, pattern: RegExp): Promise<string> {
  const explained = await fixture.agent.explained(name, String(pattern), (now) =>
    pattern.test(JSON.stringify(now.blockers)),
  );
  return JSON.stringify(explained.blockers);
}

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
    assert.equal(mountPointsBelow(join(agent.rootDir, 'pods', seen.metadata.uid)).length >= 1, true);
    await agent.remove('late');
    assert.deepEqual(
      [
        readFileSync(join(folder, 'shared', 'file'), 'utf8'),
        mountPointsBelow(join(agent.rootDir, 'pods', seen.metadata.uid)),
      ],
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
    assert.equal(mountPointsBelow(staged).length, 1);
    await agent.remove('disk-one');
    assert.equal(mountPointsBelow(staged).length, 1);
    await agent.remove('disk-two');
    assert.ok(
      await waitUntil(() => mountPointsBelow(staged).length === 0 && !existsSync(staged), 5000, 20),
      'the disk is still mounted',
    );
    // What is on it is never formatted away.
    await agent.run(claimant('disk-three', 'data'));
    assert.equal(await agent.inside('disk-three', 'cat /v/file'), 'first');
    await agent.remove('disk-three');
    assert.ok(await waitUntil(() => mountPointsBelow(staged).length === 0, 5000, 20), 'the disk is still mounted');
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

test('an agent that was killed finds disks and devices again, and tears down volumes of pods removed meanwhile', async () => {
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
      () =>
        mountPointsBelow(stagedAt('gone')).length === 0 &&
        !existsSync(join(agent.rootDir, 'pods', vanished.metadata.uid)),
      30_000,
      50,
    ),
    `${podName('gone')} is still there`,
  );
  assert.equal(mountPointsBelow(stagedAt('kept')).length, 1);
  await agent.remove('kept');
  assert.ok(
    await waitUntil(() => mountPointsBelow(stagedAt('kept')).length === 0, 5000, 20),
    'the disk of the pod that lived on is still mounted',
  );
});

/** A file system whose server never answers: every access hangs until the process is killed. */
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
    assert.deepEqual(mountPointsBelow(inside), []);
  } finally {
    release();
  }
  await agent.ready('hung-local');
  await agent.remove('hung-local');
});
