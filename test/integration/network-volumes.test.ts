// NFS, iSCSI and Fibre Channel volumes against real servers on the same machine, where its kernel has the means.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { container, pod, secret } from './support/manifests.ts';
import { waitUntil } from './support/patience.ts';
import type { StorageServer } from './support/storage-servers.ts';
import {
  FC_WWN,
  iscsiAccount,
  ISCSI_PORTAL,
  ISCSI_TARGET,
  iscsiSessions,
  isFibreChannelDiskThere,
  missingMeans,
  startFibreChannelDisk,
  startIscsiTarget,
  startNfsServer,
} from './support/storage-servers.ts';
import { agentFixture } from './support/suite.ts';

const GONE_MS = 20_000;

const missing = {
  nfs: await missingMeans(['nfsd', 'nfsv4'], ['rpc.nfsd', 'rpc.mountd', 'exportfs', 'mount.nfs']),
  iscsi: await missingMeans(['iscsi_tcp'], ['tgtd', 'tgtadm', 'iscsid', 'iscsiadm', 'udevadm', 'mkfs.ext4']),
  fc: await missingMeans(['scsi_debug'], ['udevadm', 'mkfs.ext4']),
};

const mountedAt = (name: string): boolean => readFileSync('/proc/self/mountinfo', 'utf8').includes(`/${name} `);

const withVolume = (name: string, source: object, mount: object = {}) =>
  pod(name, {
    volumes: [{ name: `${name}-volume`, ...source }],
    containers: [container('main', { volumeMounts: [{ name: `${name}-volume`, mountPath: '/v', ...mount }] })],
  });

const allMissing = missing.nfs && missing.iscsi && missing.fc;

describe('volumes on the network', { skip: allMissing }, () => {
  const fixture = agentFixture({ name: 'network-volumes' });
  const folder = mkdtempSync(join(tmpdir(), 'kts-network-volumes-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  describe('NFS', { skip: missing.nfs }, () => {
    const exported = join(folder, 'exported');
    let server: StorageServer;
    before(async () => void (server = await startNfsServer(exported)));
    after(() => server?.stop());

    test('a pod writes to the export and reads from it; its mount goes with it', async () => {
      const { agent } = fixture;
      writeFileSync(join(exported, 'from-server'), 'of the server');
      await agent.run(withVolume('nfs', { nfs: { server: '127.0.0.1', path: '/' } }));
      assert.equal(await agent.inside('nfs', 'echo of the pod > /v/from-pod; cat /v/from-server'), 'of the server');
      assert.equal(readFileSync(join(exported, 'from-pod'), 'utf8'), 'of the pod\n');
      assert.equal(mountedAt('nfs-volume'), true);
      await agent.remove('nfs');
      assert.ok(await waitUntil(() => !mountedAt('nfs-volume'), GONE_MS), 'the export is still mounted');
      assert.equal(existsSync(join(exported, 'from-pod')), true);
    });

    test('a read-only volume takes no writes', async () => {
      const { agent } = fixture;
      await agent.run(withVolume('nfs-ro', { nfs: { server: '127.0.0.1', path: '/', readOnly: true } }));
      assert.match(await agent.inside('nfs-ro', 'touch /v/no 2>&1 || echo refused'), /refused/);
      await agent.remove('nfs-ro');
    });

    test('a pod whose export does not exist reports it and waits', async () => {
      const { agent } = fixture;
      agent.writeManifest('nfs-none', withVolume('nfs-none', { nfs: { server: '127.0.0.1', path: '/none' } }));
      await agent.explained('nfs-none', 'the missing export', (now) =>
        /No such file or directory/.test(JSON.stringify(now.blockers)),
      );
      await agent.remove('nfs-none');
    });
  });

  describe('iSCSI', { skip: missing.iscsi }, () => {
    let server: StorageServer;
    before(async () => void (server = await startIscsiTarget(join(folder, 'iscsi'))));
    after(() => server?.stop());

    const iscsi = {
      targetPortal: ISCSI_PORTAL,
      iqn: ISCSI_TARGET,
      lun: 1,
      fsType: 'ext4',
      chapAuthSession: true,
      secretRef: { name: 'chap' },
    };
    const chap = (password: string) =>
      secret(
        'chap',
        { 'node.session.auth.username': iscsiAccount.user, 'node.session.auth.password': password },
        'kubernetes.io/iscsi-chap',
      );

    test('a target with CHAP rejects a wrong secret, and the pod reports it', async () => {
      const { agent } = fixture;
      agent.writeManifest('wrong', chap('not the password'), withVolume('wrong', { iscsi }));
      const explained = await agent.explained('wrong', 'the refusal', (now) =>
        /iscsi/.test(JSON.stringify(now.blockers)),
      );
      assert.match(JSON.stringify(explained.blockers), /failed to attach disk/);
      assert.doesNotMatch(JSON.stringify(explained.blockers), /not the password/);
      await agent.remove('wrong');
      assert.deepEqual(await iscsiSessions(), []);
    });

    test('an empty disk is formatted and keeps its data from pod to pod; the session ends with the last pod', async () => {
      const { agent } = fixture;
      await agent.run(withVolume('first', { iscsi }), chap(iscsiAccount.password));
      assert.match(await agent.inside('first', 'echo kept > /v/data; sync; grep " /v " /proc/mounts'), / ext4 rw/);
      assert.equal((await iscsiSessions()).length, 1);
      await agent.remove('first');
      assert.ok(await waitUntil(async () => (await iscsiSessions()).length === 0, GONE_MS), 'the session lives on');
      await agent.run(withVolume('second', { iscsi }), chap(iscsiAccount.password));
      assert.equal(await agent.inside('second', 'cat /v/data'), 'kept');
      await agent.remove('second');
      assert.ok(await waitUntil(async () => (await iscsiSessions()).length === 0, GONE_MS), 'the session lives on');
    });
  });

  describe('Fibre Channel', { skip: missing.fc }, () => {
    let disk: Awaited<ReturnType<typeof startFibreChannelDisk>>;
    before(async () => void (disk = await startFibreChannelDisk()));
    after(() => disk?.stop());

    test('a disk is found by its WWN and its LUN, formatted, and given back with the last pod', async () => {
      const { agent } = fixture;
      await agent.run(withVolume('wwn', { fc: { targetWWNs: [FC_WWN], lun: 0, fsType: 'ext4' } }));
      assert.match(await agent.inside('wwn', 'echo kept > /v/data; sync; grep " /v " /proc/mounts'), / ext4 rw/);
      await agent.remove('wwn');
      assert.ok(await waitUntil(() => !isFibreChannelDiskThere(), GONE_MS), 'the disk is still there');
    });

    test('a disk that was given back is found again by its WWID, with its data', async () => {
      const { agent } = fixture;
      await agent.run(withVolume('wwid', { fc: { wwids: [disk.wwid], fsType: 'ext4' } }));
      assert.equal(await agent.inside('wwid', 'cat /v/data'), 'kept');
      await agent.remove('wwid');
      assert.ok(await waitUntil(() => !isFibreChannelDiskThere(), GONE_MS), 'the disk is still there');
    });
  });
});
