// The official JavaScript client, a client that is independent of kubectl.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import {
  ApiException,
  AppsV1Api,
  CoreV1Api,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  PatchStrategy,
  makeInformer,
  setHeaderOptions,
} from '@kubernetes/client-node';
import type { V1ConfigMap, V1Status } from '@kubernetes/client-node';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { registerStreamingNode, startStreamingKubelet } from './support/streaming-kubelet.ts';
import type { StreamingKubelet } from './support/streaming-kubelet.ts';

describe('the official JavaScript client', () => {
  let cluster: TestCluster;
  let kubelet: StreamingKubelet;
  const config = new KubeConfig();
  before(async () => {
    kubelet = await startStreamingKubelet();
    cluster = await startCluster({ nodes: 2 });
    config.loadFromString(
      readFileSync(cluster.kubeconfig, 'utf8').replace(/server: .*/, `server: https://127.0.0.1:${cluster.port}`),
    );
  });
  after(async () => {
    await cluster.stop();
    await kubelet.stop();
  });
  const core = (): CoreV1Api => config.makeApiClient(CoreV1Api);
  const apps = (): AppsV1Api => config.makeApiClient(AppsV1Api);
  const namespaceFor = async (name: string): Promise<string> =>
    (await core().createNamespace({ body: { metadata: { name } } })).metadata?.name ?? '';

  /** The Status of a call that must fail. */
  async function refusal(call: Promise<unknown>): Promise<V1Status> {
    try {
      await call;
    } catch (error) {
      assert.ok(error instanceof ApiException, String(error));
      return (typeof error.body === 'string' ? JSON.parse(error.body) : error.body) as V1Status;
    }
    throw new Error('the call was not refused');
  }

  it('creates, reads, replaces, lists in pages and deletes', async () => {
    const namespace = await namespaceFor('js-verbs');
    for (const name of ['a', 'b', 'c'])
      await core().createNamespacedConfigMap({
        namespace,
        body: { metadata: { name, labels: { of: 'pages' } }, data: { key: name } },
      });
    const read = await core().readNamespacedConfigMap({ namespace, name: 'a' });
    const replaced = await core().replaceNamespacedConfigMap({
      namespace,
      name: 'a',
      body: { ...read, data: { key: 'new' } },
    });
    assert.deepEqual([replaced.data, replaced.metadata?.uid], [{ key: 'new' }, read.metadata?.uid]);
    assert.ok(replaced.metadata?.creationTimestamp instanceof Date);
    const first = await core().listNamespacedConfigMap({ namespace, labelSelector: 'of=pages', limit: 2 });
    const rest = await core().listNamespacedConfigMap({
      namespace,
      labelSelector: 'of=pages',
      limit: 2,
      _continue: first.metadata?._continue,
    });
    assert.deepEqual(
      [...first.items, ...rest.items].map(({ metadata }) => metadata?.name),
      ['a', 'b', 'c'],
    );
    const deleted = await core().deleteNamespacedConfigMap({ namespace, name: 'a' });
    assert.deepEqual(
      [deleted.kind, deleted.status, deleted.details?.kind, deleted.details?.name, deleted.details?.uid],
      ['Status', 'Success', 'configmaps', 'a', read.metadata?.uid],
    );
    await core().deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'of=pages' });
    assert.deepEqual((await core().listNamespacedConfigMap({ namespace, labelSelector: 'of=pages' })).items, []);
  });

  it('patches in every way there is, and applies with conflicts', async () => {
    const namespace = await namespaceFor('js-patch');
    const labels = { app: 'web' };
    const body = {
      metadata: { name: 'web' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              { name: 'c', image: 'one' },
              { name: 'd', image: 'one' },
            ],
          },
        },
      },
    };
    await apps().createNamespacedDeployment({ namespace, body });
    const patched = (strategy: PatchStrategy, patch: unknown): ReturnType<AppsV1Api['patchNamespacedDeployment']> =>
      apps().patchNamespacedDeployment(
        { namespace, name: 'web', body: patch },
        setHeaderOptions('Content-Type', strategy),
      );
    const images = (deployment: Awaited<ReturnType<typeof patched>>): (string | undefined)[] | undefined =>
      deployment.spec?.template.spec?.containers.map(({ name, image }) => `${name}=${image}`);
    assert.deepEqual(
      images(
        await patched(PatchStrategy.StrategicMergePatch, {
          spec: { template: { spec: { containers: [{ name: 'd', image: 'two' }] } } },
        }),
      ),
      ['c=one', 'd=two'],
    );
    assert.deepEqual(
      images(
        await patched(PatchStrategy.JsonPatch, [
          { op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'two' },
        ]),
      ),
      ['c=two', 'd=two'],
    );
    assert.deepEqual(
      images(
        await patched(PatchStrategy.MergePatch, {
          spec: { template: { spec: { containers: [{ name: 'c', image: 'three' }] } } },
        }),
      ),
      ['c=three'],
    );
    const objects = KubernetesObjectApi.makeApiClient(config);
    const apply = (manager: string, replicas: number, force: boolean): Promise<{ spec?: { replicas: number } }> =>
      objects.patch(
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: { name: 'web', namespace },
          spec: { replicas },
        } as never,
        undefined,
        undefined,
        manager,
        force,
        PatchStrategy.ServerSideApply,
      );
    assert.equal((await apply('one', 3, true)).spec?.replicas, 3);
    const { code, reason, details } = await refusal(apply('two', 4, false));
    assert.deepEqual(
      [code, reason, details?.causes?.map(({ field, reason: why }) => `${why} ${field}`)],
      [409, 'Conflict', ['FieldManagerConflict .spec.replicas']],
    );
    assert.equal((await apply('two', 4, true)).spec?.replicas, 4);
  });

  it('gets errors as Status objects with reason and causes', async () => {
    const namespace = await namespaceFor('js-errors');
    const missing = await refusal(core().readNamespacedPod({ namespace, name: 'nobody' }));
    assert.deepEqual(
      [missing.kind, missing.code, missing.reason, missing.message, missing.details?.kind, missing.details?.name],
      ['Status', 404, 'NotFound', 'pods "nobody" not found', 'pods', 'nobody'],
    );
    const invalid = await refusal(
      core().createNamespacedPod({
        namespace,
        body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }, { name: 'c', image: 'x' }] } },
      }),
    );
    assert.deepEqual(
      [invalid.code, invalid.reason, invalid.details?.causes?.map(({ field, reason }) => `${field} ${reason}`)],
      [422, 'Invalid', ['spec.containers[0].image FieldValueRequired', 'spec.containers[1].name FieldValueDuplicate']],
    );
    await core().createNamespacedConfigMap({ namespace, body: { metadata: { name: 'a' } } });
    assert.equal(
      (await refusal(core().createNamespacedConfigMap({ namespace, body: { metadata: { name: 'a' } } }))).reason,
      'AlreadyExists',
    );
    assert.equal(
      (
        await refusal(
          core().replaceNamespacedConfigMap({
            namespace,
            name: 'a',
            body: { metadata: { name: 'a', resourceVersion: '1' } },
          }),
        )
      ).reason,
      'Conflict',
    );
  });

  it('follows with an informer what comes, changes and goes', async () => {
    const namespace = await namespaceFor('js-informer');
    await core().createNamespacedConfigMap({
      namespace,
      body: { metadata: { name: 'before', labels: { seen: 'yes' } } },
    });
    const events: string[] = [];
    const list = (): ReturnType<CoreV1Api['listNamespacedConfigMap']> =>
      core().listNamespacedConfigMap({ namespace, labelSelector: 'seen=yes' });
    const informer = makeInformer<V1ConfigMap>(config, `/api/v1/namespaces/${namespace}/configmaps`, list, 'seen=yes');
    for (const verb of ['add', 'update', 'delete'] as const)
      informer.on(verb, ({ metadata, data }) => events.push(`${verb} ${metadata?.name} ${data?.['a'] ?? '-'}`));
    await informer.start();
    try {
      await core().createNamespacedConfigMap({ namespace, body: { metadata: { name: 'hidden' } } });
      await core().createNamespacedConfigMap({
        namespace,
        body: { metadata: { name: 'later', labels: { seen: 'yes' } }, data: { a: '1' } },
      });
      const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
      await core().patchNamespacedConfigMap({ namespace, name: 'later', body: { data: { a: '2' } } }, merge);
      // What loses its label is gone, for watchers of the label.
      await core().patchNamespacedConfigMap({ namespace, name: 'before', body: { metadata: { labels: null } } }, merge);
      await core().deleteNamespacedConfigMap({ namespace, name: 'later' });
      await eventually(() =>
        Promise.resolve(
          assert.deepEqual(events, [
            'add before -',
            'add later 1',
            'update later 2',
            'delete before -',
            'delete later 2',
          ]),
        ),
      );
      assert.deepEqual(informer.list(), []);
    } finally {
      await informer.stop();
    }
  });

  it('sees a Deployment through, and runs commands and reads logs over the kubelet', async () => {
    const namespace = await namespaceFor('js-streams');
    const labels = { app: 'web' };
    await apps().createNamespacedDeployment({
      namespace,
      body: {
        metadata: { name: 'web' },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x' }] } },
        },
      },
    });
    await eventually(async () =>
      assert.equal((await apps().readNamespacedDeploymentStatus({ namespace, name: 'web' })).status?.readyReplicas, 2),
    );
    await apps().deleteNamespacedDeployment({ namespace, name: 'web', propagationPolicy: 'Foreground' });
    await eventually(async () =>
      assert.deepEqual((await core().listNamespacedPod({ namespace, labelSelector: 'app=web' })).items, []),
    );
    await registerStreamingNode(cluster, { node: 'js-streaming', namespace, pod: 'talks', port: kubelet.port });
    const [out, err] = [new PassThrough(), new PassThrough()];
    const ended = new Promise<V1Status>((resolve, reject) => {
      new Exec(config).exec(namespace, 'talks', 'main', ['hello'], out, err, null, false, resolve).catch(reject);
    });
    assert.equal((await ended).status, 'Success');
    assert.deepEqual([String(out.read()), String(err.read())], ['hello\n', 'warned\n']);
    const repeated = new PassThrough();
    const quit = new Promise<V1Status>((resolve, reject) => {
      new Exec(config)
        .exec(namespace, 'talks', 'main', ['cat'], repeated, null, Readable.from(['said', 'quit']), false, resolve)
        .catch(reject);
    });
    assert.equal((await quit).status, 'Success');
    assert.equal(String(repeated.read()), 'said');
    const failed = await new Promise<V1Status>((resolve, reject) => {
      new Exec(config).exec(namespace, 'talks', 'main', ['fail'], null, err, null, false, resolve).catch(reject);
    });
    assert.deepEqual([failed.reason, failed.details?.causes?.[0]?.message], ['NonZeroExitCode', '3']);
    const log = new PassThrough();
    await new Log(config).log(namespace, 'talks', 'main', log, { tailLines: 1 });
    assert.equal(await text(log), 'second\n');
  });
});
