// Stored objects that the API server would not accept now, one of each kind. They can be deleted and corrected; any
// other write is refused.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { apiVersionOf } from '../../src/api/client/resource-type.ts';
import type { ApiObject } from '../../src/api/client/resource-type.ts';
import { isApiError } from '../../src/api/status/api-status-error.ts';
import { systemClock } from '../../src/base/clock.ts';
import { recordingLog } from '../../src/base/testing/recording-log.ts';
import type { HttpApiClient } from '../../src/client/http-api-client.ts';
import { allResources } from '../../src/control-plane/resources/all.ts';
import { SqliteStorage } from '../../src/control-plane/storage/sqlite/sqlite-storage.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { certificateRequest, everyKind } from './support/every-kind.ts';
import type { KindManifest } from './support/every-kind.ts';
import { eventually } from './support/eventually.ts';

const holder = 'example.com/hold';
const namespace = 'faults';

interface Stored {
  readonly metadata: { labels?: Record<string, string>; finalizers?: string[] };
  readonly kind: string;
  readonly spec?: { nodeName?: string };
}

/** Changes objects in the store directly; the server must not run. */
async function rewriteStore(cluster: TestCluster, change: (object: Stored) => void): Promise<number> {
  const file = path.join(cluster.folder, 'state.db');
  // The kernel takes a moment to give back the lock of a process that was killed.
  const storage = await eventually(() =>
    Promise.resolve().then(() => new SqliteStorage({ file, clock: systemClock, log: recordingLog() })),
  );
  let count = 0;
  for (const { key, value, revision } of (await storage.list('/registry/')).items) {
    const object = key.startsWith('/registry/ranges/') ? undefined : (JSON.parse(value) as Stored);
    if (object?.metadata?.labels?.['app'] !== 'every-kind') continue;
    change(object);
    assert.equal((await storage.put(key, JSON.stringify(object), { expected: revision })).outcome, 'done', key);
    count++;
  }
  await storage.close();
  return count;
}

function spoil(object: Stored): void {
  object.metadata.labels = { ...object.metadata.labels, odd: '-no-label-' };
  object.metadata.finalizers = [...(object.metadata.finalizers ?? []), holder];
  // One that has a node is deleted with grace.
  if (object.kind === 'Pod' && object.spec !== undefined) object.spec.nodeName = 'nowhere';
}

describe('objects that are in the store with a fault', { concurrency: 1 }, () => {
  it('can be deleted and put right, of every kind, but not be written with the fault', async () => {
    const cluster = await startCluster({
      flags: ['--controllers=namespace-controller,serviceaccount-controller', '--scheduler=false'],
    });
    try {
      await cluster.kubectl(['create', 'namespace', namespace]);
      await eventually(() => cluster.kubectl(['-n', namespace, 'get', 'serviceaccount', 'default']));
      const kinds = everyKind(await certificateRequest(cluster.folder), namespace);
      await cluster.kubectl(
        ['-n', namespace, 'create', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'List', items: kinds.map(({ manifest }) => manifest) }),
      );
      await cluster.kill();
      assert.equal(await rewriteStore(cluster, spoil), kinds.length);
      await cluster.start();
      const client = cluster.client();
      // As in upstream, a namespace is not removed while an aggregated API does not respond. The APIService is
      // therefore deleted first.
      const isNamespace = ({ manifest }: KindManifest): boolean => manifest.kind === 'Namespace';
      const others = kinds.filter((kind) => !isNamespace(kind));
      for (const kind of [...others, ...kinds.filter(isNamespace)]) await endOf(client, kind);
    } finally {
      await cluster.stop();
    }
  });
});

/** Tries all ways of deleting one object, until it is removed. */
async function endOf(client: HttpApiClient, { name, namespaced, manifest }: KindManifest): Promise<void> {
  const { apiVersion, kind } = manifest;
  const type =
    allResources.find((each) => apiVersionOf(each.type) === apiVersion && each.type.kind === kind)?.type ??
    assert.fail(String(kind));
  const key = { namespace: namespaced ? namespace : '', name };
  const patch = (metadata: object): Promise<ApiObject> =>
    client.patch(type, key, { type: 'merge', body: { metadata } });
  const refused = (metadata: object): Promise<void> =>
    assert.rejects(
      patch(metadata),
      (error) =>
        isApiError(error, 'Invalid') &&
        /metadata\.labels: Invalid value: "-no-label-": a valid label must be/.test(error.message),
      String(kind),
    );
  await refused({ labels: { more: 'yes' } });
  await client.delete(type, key);
  const { metadata } = await client.get(type, key);
  // Kinds that are emptied first get only a time of deletion.
  const isEmptied = kind === 'Namespace' || kind === 'CustomResourceDefinition';
  assert.deepEqual(
    [metadata.deletionTimestamp !== undefined, metadata.deletionGracePeriodSeconds],
    [true, kind === 'Pod' ? 30 : isEmptied ? undefined : 0],
    String(kind),
  );
  await refused({ finalizers: null });
  if (kind === 'Pod') await client.delete(type, key, { gracePeriodSeconds: 0 });
  await patch({ labels: { odd: null }, finalizers: null });
  await eventually(() => assert.rejects(client.get(type, key), (error) => isApiError(error, 'NotFound')));
}
