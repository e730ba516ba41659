// A running control plane is backed up while it is written to, and restored into another folder.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, it } from 'node:test';
import { configMaps, events } from '../../src/api/client/resource-types.ts';
import { isApiError } from '../../src/api/status/api-status-error.ts';
import { tryCommand } from '../../src/up/commands.ts';
import { builtProgram } from '../integration/support/agent-build.ts';
import { startEtcd } from '../integration/support/etcd.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'kts-snapshot-'));
const file = path.join(folder, 'cluster.snapshot');
let cluster: TestCluster;
before(async () => {
  cluster = await startCluster();
});
after(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});

const snapshot = async (verb: string, ...flags: readonly string[]) =>
  tryCommand([await builtProgram('kubelet-control-plane'), 'snapshot', verb, file, ...flags]);
const settings = (name: string) => ({
  metadata: { namespace: 'default', name, uid: '' },
  data: { text: 'x'.repeat(2000) },
});

it('a snapshot under load is one moment; restored, objects keep their versions, watches get 410, none is used twice', async () => {
  const api = cluster.client();
  const first = await api.create(configMaps, settings('first'));
  const made: string[] = [];
  let isSaving = true;
  const writing = (async () => {
    for (let serial = 0; isSaving; serial++) {
      // In this order: a snapshot that contains the second object of a pair contains the first one.
      for (const name of [`pair-${serial}-a`, `pair-${serial}-b`]) await api.create(configMaps, settings(name));
      made.push(`pair-${serial}`);
    }
  })();
  const saved = await snapshot('save', '--kubeconfig', cluster.kubeconfig);
  isSaving = false;
  await writing;
  assert.equal(saved.code, 0, saved.stderr + saved.stdout);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(existsSync(`${file}.partial`), false);
  assert.match((await snapshot('status')).stdout, /\d+ objects of revision \d+, written 20/);
  const last = await api.create(configMaps, settings('after-the-snapshot'));

  const restoredFolder = path.join(folder, 'restored');
  cpSync(path.join(cluster.folder, 'pki'), path.join(restoredFolder, 'pki'), { recursive: true });
  const restored = await snapshot('restore', `--data-dir=${restoredFolder}`);
  assert.equal(restored.code, 0, restored.stderr + restored.stdout);
  const again = await snapshot('restore', `--data-dir=${restoredFolder}`);
  assert.deepEqual([again.code, /move it aside/.test(again.stderr + again.stdout)], [1, true]);

  const second = await startCluster({ folder: restoredFolder });
  try {
    const other = second.client();
    const kept = await other.get(configMaps, { namespace: 'default', name: 'first' });
    assert.equal(kept.metadata.resourceVersion, first.metadata.resourceVersion);
    await assert.rejects(other.get(configMaps, { namespace: 'default', name: 'after-the-snapshot' }), (error) =>
      isApiError(error, 'NotFound'),
    );
    const names = new Set((await other.list(configMaps, 'default')).items.map(({ metadata }) => metadata.name));
    for (const pair of made)
      assert.ok(names.has(`${pair}-a`) || !names.has(`${pair}-b`), `${pair} is there in the wrong order`);
    assert.equal((await other.list(events, '')).items.filter(({ reason }) => reason === 'Starting').length, 0);
    await assert.rejects(async () => {
      const options = { resourceVersion: last.metadata.resourceVersion ?? '' };
      for await (const event of other.watch(configMaps, 'default', options, AbortSignal.timeout(10_000)))
        if (event.type === 'ERROR') throw new Error(JSON.stringify(event));
    }, /410|Expired|too old/);
    const next = await other.create(configMaps, settings('next'));
    assert.ok(Number(next.metadata.resourceVersion) > Number(last.metadata.resourceVersion) + 1_000_000);
  } finally {
    await second.stop();
  }
});

it('the etcd of a cluster is restored from a snapshot: later changes are lost, watches get 410, clients continue', async () => {
  const etcd = await startEtcd();
  const other = await startCluster({ etcd });
  try {
    const api = other.client();
    const kept = await api.create(configMaps, settings('kept'));
    const changed = await api.create(configMaps, settings('changed'));
    const place = path.join(folder, 'etcd.snapshot');
    const run = async (verb: string, ...flags: readonly string[]) =>
      tryCommand([await builtProgram('kubelet-control-plane'), 'snapshot', verb, place, ...flags]);
    const saved = await run('save', '--kubeconfig', other.kubeconfig);
    assert.equal(saved.code, 0, saved.stderr + saved.stdout);
    await api.delete(configMaps, { namespace: 'default', name: 'kept' });
    await api.update(configMaps, { ...changed, data: { text: 'other' } });
    const last = await api.create(configMaps, settings('after-the-snapshot'));
    await other.kill();
    const restored = await run('restore', '--storage-backend=etcd3', `--etcd-servers=${etcd.endpoint}`);
    assert.match(restored.stdout, /objects written, \d+ as they were, \d+ deleted/, restored.stderr);
    await other.start();
    const found = await api.list(configMaps, 'default');
    const texts = new Map(found.items.map(({ metadata, data }) => [metadata.name, data?.['text']]));
    assert.deepEqual(
      ['kept', 'changed', 'after-the-snapshot'].map((name) => texts.get(name)),
      [kept.data?.['text'], changed.data?.['text'], undefined],
    );
    await assert.rejects(async () => {
      const options = { resourceVersion: last.metadata.resourceVersion ?? '' };
      for await (const event of api.watch(configMaps, 'default', options, AbortSignal.timeout(10_000)))
        if (event.type === 'ERROR') throw new Error(JSON.stringify(event));
    }, /410|Expired|too old/);
    const next = await api.create(configMaps, settings('next'));
    assert.ok(Number(next.metadata.resourceVersion) > Number(last.metadata.resourceVersion));
  } finally {
    await other.stop();
    await etcd.stop();
  }
});

it('a user who is not an administrator gets no snapshot, and an invalid snapshot file is rejected', async () => {
  await cluster.kubectl(['create', 'serviceaccount', 'reader']);
  await cluster.kubectl([
    'create',
    'clusterrolebinding',
    'reader',
    '--clusterrole=view',
    '--serviceaccount=default:reader',
  ]);
  const denied = await cluster.tryKubectl(['get', '--raw', '/snapshot', '--as=system:serviceaccount:default:reader']);
  assert.match(denied.stderr, /Forbidden/);
  const page = JSON.parse(await cluster.kubectl(['get', '--raw', '/snapshot'])) as { items: unknown[] };
  assert.ok(page.items.length > 0);
  assert.match((await cluster.tryKubectl(['get', '--raw', '/snapshot?revision=x'])).stderr, /not a revision/);
  writeFileSync(file, 'something else\n');
  const { code, stderr, stdout } = await snapshot('status');
  assert.deepEqual([code, /not a whole snapshot/.test(stderr + stdout)], [1, true]);
});
