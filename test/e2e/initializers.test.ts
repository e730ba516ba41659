// Initializers as the seed documents describe them: a controller changes objects before others see them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ApiClient } from '../../src/api/client/api-client.ts';
import { pods, secrets } from '../../src/api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../src/api/client/resource-type.ts';
import { initializersOf } from '../../src/api/core/initializers.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import type { Secret } from '../../src/api/core/secret.ts';
import { startEtcd } from '../integration/support/etcd.ts';
import type { TestEtcd } from '../integration/support/etcd.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

const configuration = `
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: InitializerConfiguration
metadata:
  name: custom-pod-initializer
initializers:
  - name: podimage.example.com
    rules:
      - apiGroups:
          - ""
        apiVersions:
          - v1
        resources:
          - pods
  - name: secretlength.example.com
    rules: [{ apiGroups: [""], apiVersions: [v1], resources: [secrets] }]
`;

/** Returns the change for an object that waits for the controller, as a JSON patch. */
type Initialize<T> = (object: T) => readonly object[];

/** Runs a controller that processes waiting objects until it is stopped. */
function initialize<T extends ApiObject>(
  client: ApiClient,
  type: ResourceType<T>,
  name: string,
  act: Initialize<T>,
): () => Promise<void> {
  const stop = new AbortController();
  const follow = async (): Promise<void> => {
    const options = { includeUninitialized: true, sendInitialEvents: true };
    for await (const event of client.watch(type, '', options, stop.signal)) {
      if (event.type === 'ERROR') throw event.error;
      if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
      const { metadata } = event.object;
      const initializers = initializersOf(metadata);
      if (initializers?.pending?.[0]?.name !== name || initializers.result !== undefined) continue;
      await client.patch(type, metadata, { type: 'json', body: act(event.object) });
    }
  };
  const followed = follow();
  return async () => {
    stop.abort();
    await followed;
  };
}

const done = { op: 'remove', path: '/metadata/initializers/pending/0' };
const tooShort = {
  status: 'Failure',
  code: 403,
  reason: 'Forbidden',
  message: 'the password has fewer than 20 characters',
};

describe('initializers', () => {
  let etcd: TestEtcd;
  let cluster: TestCluster;
  const stops: (() => Promise<void>)[] = [];
  before(async () => {
    etcd = await startEtcd();
    cluster = await startCluster({
      etcd,
      nodes: 1,
      flags: [
        // The field has its number in protobuf.
        '--storage-media-type=application/vnd.kubernetes.protobuf',
        '--enable-admission-plugins=Initializers',
      ],
    });
    await cluster.kubectl(['apply', '-f', '-'], configuration);
  });
  after(async () => {
    for (const stop of stops.splice(0)) await stop();
    await cluster.stop();
    await etcd.stop();
  });

  const json = async (path: string): Promise<{ items: Pod[] }> =>
    JSON.parse(await cluster.kubectl(['get', '--raw', path])) as { items: Pod[] };
  const named = async (path: string): Promise<readonly string[]> =>
    (await json(path)).items.map(({ metadata }) => metadata.name);
  const podPath = '/api/v1/namespaces/default/pods';
  const manifest = (name: string, metadata: object = {}): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, ...metadata },
      spec: { containers: [{ name: 'main', image: 'app:1' }] },
    });

  it('hide an object until they have acted', async () => {
    const created = cluster.client().create(pods, JSON.parse(manifest('slow', { namespace: 'default' })) as Pod);
    await eventually(async () => assert.deepEqual(await named(`${podPath}?includeUninitialized=1`), ['slow']));
    assert.deepEqual(await named(podPath), []);
    const found = await cluster.kubectl([
      'get',
      'pod',
      'slow',
      '-o',
      'jsonpath={.metadata.initializers.pending[*].name}',
    ]);
    assert.equal(found, 'podimage.example.com');
    // The scheduler has not seen it.
    assert.equal(await cluster.kubectl(['get', 'pod', 'slow', '-o', 'jsonpath={.spec.nodeName}']), '');
    await cluster.kubectl(['patch', 'pod', 'slow', '--type=json', '-p', JSON.stringify([done])]);
    assert.equal(initializersOf((await created).metadata), undefined);
    assert.deepEqual(await named(podPath), ['slow']);
  });

  it('may be bypassed and carried out only with the right to', async () => {
    await cluster.kubectl(['create', 'role', 'writer', '--verb=get,create,update,patch', '--resource=pods']);
    await cluster.kubectl(['create', 'rolebinding', 'writer', '--role=writer', '--user=jane']);
    const pending = cluster.client().create(pods, JSON.parse(manifest('kept', { namespace: 'default' })) as Pod);
    await eventually(async () => cluster.kubectl(['get', 'pod', 'kept']));
    const patched = await cluster.tryKubectl([
      'patch',
      'pod',
      'kept',
      '--as=jane',
      '--type=json',
      '-p',
      JSON.stringify([done]),
    ]);
    assert.match(patched.stderr, /Forbidden.*update to uninitialized resource denied/);
    const bypassed = await cluster.tryKubectl(
      ['create', '-f', '-', '--as=jane'],
      manifest('now', { initializers: { pending: [] } }),
    );
    assert.match(bypassed.stderr, /create with initializers denied/);
    await cluster.kubectl(['create', '-f', '-'], manifest('now', { initializers: { pending: [] } }));
    assert.ok((await named(podPath)).includes('now'));
    await cluster.kubectl(['patch', 'pod', 'kept', '--type=json', '-p', JSON.stringify([done])]);
    await pending;
  });

  it('change the pods of a Deployment before they are scheduled', async () => {
    const sidecar = { op: 'add', path: '/spec/containers/-', value: { name: 'proxy', image: 'proxy:1' } };
    stops.push(initialize(cluster.client(), pods, 'podimage.example.com', () => [sidecar, done]));
    await cluster.kubectl(['create', 'deployment', 'web', '--image=app:1', '--replicas=3']);
    await cluster.kubectl(['rollout', 'status', 'deployment', 'web', '--timeout=60s']);
    const { items } = await json(`${podPath}?labelSelector=app%3Dweb`);
    assert.deepEqual(
      items.map(({ spec }) => spec.containers.map(({ name }) => name)),
      Array.from({ length: 3 }, () => ['app', 'proxy']),
    );
    // What plugins give containers at creation, the new one has as well.
    const mounted = items.map(({ spec }) => spec.containers[1]?.volumeMounts?.[0]?.mountPath);
    assert.deepEqual(new Set(mounted), new Set(['/var/run/secrets/kubernetes.io/serviceaccount']));
  });

  it('refuse an object, and its creator reads why', async () => {
    const isShort = ({ data = {} }: Secret): boolean =>
      Object.values(data).some((value) => Buffer.from(value, 'base64').length < 20);
    stops.push(
      initialize(cluster.client(), secrets, 'secretlength.example.com', (secret) =>
        isShort(secret) ? [{ op: 'add', path: '/metadata/initializers/result', value: tooShort }] : [done],
      ),
    );
    const create = (name: string, password: string): ReturnType<TestCluster['tryKubectl']> =>
      cluster.tryKubectl(['create', 'secret', 'generic', name, `--from-literal=password=${password}`]);
    assert.match((await create('short', 'secret')).stderr, /the password has fewer than 20 characters/);
    assert.match((await cluster.tryKubectl(['get', 'secret', 'short'])).stderr, /not found/);
    assert.equal((await create('long', 'correct horse battery staple')).code, 0);
  });

  it('do not keep a dependent when its owner goes', async () => {
    for (const stop of stops.splice(0)) await stop();
    await cluster.kubectl(['create', 'deployment', 'pending', '--image=app:1']);
    const pending = `${podPath}?includeUninitialized=true&labelSelector=app%3Dpending`;
    await eventually(async () => assert.equal((await named(pending)).length, 1));
    await cluster.kubectl(['delete', 'deployment', 'pending', '--cascade=foreground', '--timeout=60s']);
    assert.deepEqual(await named(pending), []);
  });

  it('do not keep a namespace from ending', async () => {
    await cluster.kubectl(['create', 'namespace', 'going']);
    const path = '/api/v1/namespaces/going/pods';
    await cluster.kubectl(['create', '--raw', `${path}?includeUninitialized=true`, '-f', '-'], manifest('stuck'));
    assert.deepEqual(await named(`${path}?includeUninitialized=true`), ['stuck']);
    await cluster.kubectl(['delete', 'namespace', 'going', '--timeout=60s']);
  });
});
