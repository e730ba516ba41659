// An API server in another process behind an APIService, as seen with kubectl: while it serves, ends, hangs and sends
// wrong answers.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { SampleApi } from './support/sample-api.ts';

const SLOW_MS = 60_000;
const flavour = (name: string, taste: string): string =>
  `---\n{apiVersion: samples.example.com/v1, kind: Flavour, metadata: {name: ${name}}, spec: {taste: ${taste}}}`;

describe('an aggregated API server', () => {
  let cluster: TestCluster;
  let api: SampleApi;
  const run = (words: string, input?: string): Promise<string> => cluster.kubectl(words.split(' '), input);
  const tryRun = async (words: string): Promise<string> => {
    const { stdout, stderr } = await cluster.tryKubectl(words.split(' '));
    return `${stdout}${stderr}`;
  };
  const available = (): Promise<string> =>
    run(
      'get apiservice v1.samples.example.com -o jsonpath={.status.conditions[0].status},{.status.conditions[0].reason}',
    );
  const untilAvailable = (expected: RegExp): Promise<void> =>
    eventually(async () => assert.match(await available(), expected), SLOW_MS);
  const annotate = (): Promise<string> =>
    // A change of its spec has it checked at once.
    run('patch apiservice v1.samples.example.com --type=merge -p {"spec":{"versionPriority":' + `${priority++}}}`);
  let priority = 20;

  before(async () => {
    cluster = await startCluster();
    const config = JSON.parse(
      await run('get configmap extension-apiserver-authentication -n kube-system -o jsonpath={.data}'),
    ) as Record<string, string>;
    api = new SampleApi({
      clientCa: config['requestheader-client-ca-file'] ?? '',
      allowedNames: JSON.parse(config['requestheader-allowed-names'] ?? '[]') as string[],
    });
    await api.start();
    await run('apply -f -', api.manifests());
    await run('wait --for=condition=Available apiservice/v1.samples.example.com --timeout=60s');
  });
  after(async () => {
    await cluster.stop();
    await api.kill();
  });

  it('is in discovery, explained and used as any other', async () => {
    assert.match(
      await run('api-resources --api-group=samples.example.com'),
      /flavours +fl +samples.example.com\/v1 +true/,
    );
    assert.match(await run('explain flavours.spec'), /What it tastes of\./);
    await run('apply -f -', flavour('vanilla', 'sweet'));
    await run('apply -f -', flavour('vanilla', 'bitter'));
    assert.equal(await run('get fl vanilla -o jsonpath={.spec.taste}'), 'bitter');
    assert.match(await run('get flavours'), /^NAME +AGE\nvanilla /);
    const { definitions, paths } = JSON.parse(await run('get --raw /openapi/v2')) as Record<string, object>;
    assert.ok(definitions !== undefined && 'com.example.samples.v1.Flavour' in definitions);
    assert.ok(paths !== undefined && Object.keys(paths).some((each) => each.endsWith('/flavours/{name}')));
    assert.deepEqual([...new Set(api.asked.map(({ user }) => user))].sort(), [
      'kubernetes-super-admin',
      'system:kube-aggregator',
      'system:serviceaccount:kube-system:generic-garbage-collector',
    ]);
  });

  it('is watched', async () => {
    const watched = cluster.follow(['get', 'flavours', '-w', '--output-watch-events'], (text) =>
      /DELETED +mint/.test(text),
    );
    await eventually(async () => assert.ok(api.asked.some(({ asked }) => asked.endsWith('/flavours'))));
    await run('create -f -', flavour('mint', 'fresh'));
    await run('delete flavour mint');
    assert.match(await watched, /ADDED +mint[\s\S]*DELETED +mint/);
  });

  it('gets requests in sessions of TLS that are resumed', async () => {
    api.asked.splice(0);
    await run('get flavours');
    await run('get flavours');
    const asked = api.asked.filter(({ asked: what }) => what.endsWith('/flavours'));
    assert.deepEqual(
      asked.map(({ isResumed }) => isResumed),
      [true, true],
    );
  });

  it('refuses clients other than the front proxy', async () => {
    const config = await run('get apiservice v1.samples.example.com -o jsonpath={.spec.service.port}');
    const code = await new Promise((resolve, reject) =>
      request(
        `https://localhost:${config}/apis/samples.example.com/v1`,
        { rejectUnauthorized: false, headers: { 'x-remote-user': 'system:admin' } },
        (answer) => resolve(answer.resume().statusCode),
      )
        .on('error', reject)
        .end(),
    );
    assert.equal(code, 401);
  });

  it('has its objects deleted with their namespace, which waits while it is gone', async () => {
    await cluster.createNamespace('shop');
    await run('apply -n shop -f -', flavour('lemon', 'sour'));
    await api.kill();
    await annotate();
    await untilAvailable(/^False,FailedDiscoveryCheck$/);
    await run('delete namespace shop --wait=false');
    const why = (): Promise<string> =>
      run(
        'get namespace shop -o jsonpath={.status.conditions[?(@.type=="NamespaceDeletionDiscoveryFailure")].message}',
      );
    await eventually(async () => assert.match(await why(), /stale GroupVersion discovery: samples.example.com\/v1/));
    await api.start();
    await annotate();
    await untilAvailable(/^True,Passed$/);
    await run('wait --for=delete namespace/shop --timeout=60s');
  });

  it('has the dependents of deleted objects deleted, on its own and after foreground deletion of an owner here', async () => {
    const uid = await run('create configmap owner -o jsonpath={.metadata.uid}');
    const owned = (name: string, owner: string): string =>
      flavour(name, 'sweet').replace(`name: ${name}`, `name: ${name}, ownerReferences: [${owner}]`);
    const map = `{apiVersion: v1, kind: ConfigMap, name: owner, uid: ${uid}, blockOwnerDeletion: true}`;
    await run('apply -f -', owned('owned', map));
    const flavourUid = await run('get fl owned -o jsonpath={.metadata.uid}');
    const kept = `{apiVersion: samples.example.com/v1, kind: Flavour, name: owned, uid: ${flavourUid}}`;
    await run('apply -f -', owned('below', kept));
    await run('delete configmap owner --cascade=foreground');
    await run('wait --for=delete flavour/owned flavour/below --timeout=60s');
  });

  it('that died is reported, delays nothing, and serves again when it is back', async () => {
    await api.kill();
    await annotate();
    await untilAvailable(/^False,FailedDiscoveryCheck$/);
    assert.match(
      await tryRun('get flavours.v1.samples.example.com'),
      /the server is currently unable to handle the request/,
    );
    assert.match(await run('get pods'), /^$/);
    assert.match(await run('api-versions'), /apps\/v1/);
    await api.start();
    await untilAvailable(/^True,Passed$/);
    await run('apply -f -', flavour('again', 'new'));
    assert.equal(await run('get fl again -o jsonpath={.spec.taste}'), 'new');
  });

  it('that hangs delays no request for anything else', async () => {
    await api.behave('hang');
    await annotate();
    await untilAvailable(/^False,FailedDiscoveryCheck$/);
    assert.match(await run('api-versions'), /apps\/v1/);
    assert.match(await run('explain pods.spec.nodeName'), /nodeName/);
    await api.behave('good');
    await untilAvailable(/^True,Passed$/);
  });

  for (const mode of ['other-group', 'cyclic', 'huge'] as const)
    it(`whose documents are hostile (${mode}) changes nothing of what is served here`, async () => {
      await api.behave(mode);
      await annotate();
      await eventually(async () => {
        api.asked.splice(0);
        await annotate();
        await eventually(() =>
          Promise.resolve(assert.ok(api.asked.some(({ asked }) => asked.endsWith('/openapi/v3')))),
        );
      });
      assert.match(await run('explain pods'), /Pod is a collection of containers|DESCRIPTION/);
      const { definitions, paths } = JSON.parse(await run('get --raw /openapi/v2')) as {
        definitions: Record<string, { type?: string }>;
        paths: Record<string, { get?: { description?: string } }>;
      };
      assert.equal(definitions['io.k8s.api.core.v1.Pod']?.type, 'object');
      assert.notEqual(paths['/api/v1/namespaces/{namespace}/pods']?.get?.description, 'stolen');
      assert.match(await run('api-resources --api-group=apps'), /deployments +deploy +apps\/v1 +true +Deployment/);
      await run('create deployment web --image=x --dry-run=server');
      await api.behave('good');
      await annotate();
      await untilAvailable(/^True,Passed$/);
    });

  it('does not crash the server', () => {
    assert.doesNotMatch(cluster.log(), /Sync keeps failing.*api-services|uncaught/i);
  });
});
