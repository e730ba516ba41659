// delete: which dependents are deleted and kept, what delays it, and what waits for it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { scopedKubectl } from './support/scoped-kubectl.ts';
import type { ScopedKubectl } from './support/scoped-kubectl.ts';

describe('kubectl delete', { concurrency: 4 }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster({ nodes: 2 });
  });
  after(() => cluster.stop());

  const deployed = async ({ run }: ScopedKubectl, name: string): Promise<void> => {
    await run(`create deployment ${name} --image=x --replicas=2`);
    await run(`rollout status deployment/${name} --timeout=60s`);
  };
  const all = 'get deployments,replicasets,pods -o name';

  it('in the background: the owner is gone at once, the rest follows', async () => {
    const scope = await scopedKubectl(cluster, 'background');
    await deployed(scope, 'web');
    await scope.run('delete deployment web --cascade=background');
    await scope.refused('get deployment web');
    await eventually(async () => assert.equal(await scope.run(all), ''));
  });

  it('in the foreground: the owner goes last, and kubectl waits for it', async () => {
    const scope = await scopedKubectl(cluster, 'foreground');
    const { run } = scope;
    await deployed(scope, 'web');
    const [pod] = (await run('get pods -o jsonpath={.items[*].metadata.name}')).split(' ');
    await run(['patch', 'pod', pod ?? '', '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/hold"]}}']);
    await run('delete deployment web --cascade=foreground --wait=false');
    await run('wait deployment/web --for=jsonpath={.metadata.finalizers[0]}=foregroundDeletion --timeout=60s');
    await eventually(async () =>
      assert.deepEqual(
        (await run(all)).split('\n').map((name) => name.split('/')[0]),
        ['deployment.apps', 'replicaset.apps', 'pod'],
      ),
    );
    await run(['patch', 'pod', pod ?? '', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    await run('wait deployment/web --for=delete --timeout=60s');
    assert.equal(await run(all), '');
  });

  it('as orphans: what it owned lives on, and can be adopted', async () => {
    const scope = await scopedKubectl(cluster, 'orphan');
    const { run } = scope;
    await deployed(scope, 'web');
    const pods = await run('get pods -o name');
    await run('delete deployment web --cascade=orphan');
    assert.deepEqual(
      (await run(all)).split('\n').map((name) => name.split('/')[0]),
      ['replicaset.apps', 'pod', 'pod'],
    );
    await run('delete replicasets --all --cascade=orphan');
    assert.equal(await run('get pods -o jsonpath={.items[*].metadata.ownerReferences}'), '');
    await run('delete pods -l app=web --dry-run=server');
    assert.equal(await run('get pods -o name'), pods);
    await run('delete pods -l app=web --now');
    assert.equal(await run('get pods -o name'), '');
  });

  it('of pods with grace, at once, by force, by label, by file and all', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'grace');
    const pod = (name: string, node: string): string =>
      `kind: Pod\napiVersion: v1\nmetadata: {name: ${name}, labels: {app: ${name}}}\nspec: {nodeName: ${node}, terminationGracePeriodSeconds: 600, containers: [{name: c, image: x}]}`;
    // No kubelet confirms the end of pods on this node. The node exists, because the pod garbage collector deletes the
    // pods of a missing node after 40 seconds.
    await run('apply -f -', 'kind: Node\napiVersion: v1\nmetadata: {name: nowhere}\nspec: {unschedulable: true}');
    await run('apply -f -', ['one', 'two', 'three'].map((name) => pod(name, 'nowhere')).join('\n---\n'));
    await run('delete pod one --wait=false');
    assert.equal(await run('get pod one -o jsonpath={.metadata.deletionGracePeriodSeconds}'), '600');
    await run('delete pod one --wait=false --grace-period=5');
    assert.equal(await run('get pod one -o jsonpath={.metadata.deletionGracePeriodSeconds}'), '5');
    await run('delete pod two --wait=false --now');
    assert.equal(await run('get pod two -o jsonpath={.metadata.deletionGracePeriodSeconds}'), '1');
    assert.match(await refused('delete pod one --timeout=1s'), /timed out/);
    await run('delete pod one two --grace-period=0 --force');
    assert.equal(await run('get pods -o name'), 'pod/three');
    await run('delete -f - --grace-period=0 --force', pod('three', 'nowhere'));
    await run('apply -f -', ['four', 'five', 'six'].map((name) => pod(name, 'fake-0')).join('\n---\n'));
    await run('delete pods -l app=four');
    await run('delete pods --field-selector=metadata.name=five');
    assert.equal(await run('get pods -o name'), 'pod/six');
    assert.match(await refused('delete -f -', pod('four', 'fake-0')), /NotFound/);
    await run('delete -f - --ignore-not-found', pod('four', 'fake-0'));
    await run('delete pods --all');
    assert.equal(await run('get pods -o name'), '');
    await run('delete node nowhere');
  });

  it('waits for what finalizers hold, and lets no client add one', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'held');
    const finalizers = (value: string): string[] => [
      'patch',
      'configmap',
      'held',
      '--type=merge',
      '-p',
      `{"metadata":{"finalizers":${value}}}`,
    ];
    await run('create configmap held --from-literal=a=b');
    await run(finalizers('["example.com/hold"]'));
    assert.match(await refused('delete configmap held --timeout=1s'), /timed out/);
    assert.match(await refused('create configmap held --from-literal=a=b'), /already exists/);
    assert.match(
      await refused(finalizers('["example.com/hold","example.com/new"]')),
      /metadata\.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \[\]string\{"example\.com\/new"\}/,
    );
    await run(['patch', 'configmap', 'held', '--type=merge', '-p', '{"data":{"a":"c"}}']);
    assert.match(await run(finalizers('null')), /patched$/);
    await refused('get configmap held');
    assert.match(await refused('delete configmap held'), /NotFound/);
    await run('delete configmap held --ignore-not-found');
  });

  it('of a namespace: removes its content, rejects new objects, and reports what it waits for', async () => {
    const scope = await scopedKubectl(cluster, 'doomed');
    const { run, refused } = scope;
    await deployed(scope, 'web');
    await run('create configmap held --from-literal=a=b');
    await run(['patch', 'configmap', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":["example.com/hold"]}}']);
    await run('create secret generic s --from-literal=a=b');
    assert.match(await refused('delete namespace doomed --timeout=1s'), /timed out/);
    await eventually(async () => {
      const conditions = await run([
        'get',
        'namespace',
        'doomed',
        '-o',
        'jsonpath={range .status.conditions[*]}{.type}: {.message}{"\\n"}{end}',
      ]);
      assert.match(
        conditions,
        /^NamespaceContentRemaining: Some resources are remaining: configmaps\. has 1 resource instances$/m,
      );
      assert.match(
        conditions,
        /^NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: example\.com\/hold in 1 resource instances$/m,
      );
    });
    assert.equal(await run('get deployments,replicasets,pods,secrets,serviceaccounts -o name'), '');
    assert.match(
      await refused('create configmap more --from-literal=a=b'),
      /forbidden: unable to create new content in namespace doomed because it is being terminated/,
    );
    await run(['patch', 'configmap', 'held', '--type=merge', '-p', '{"metadata":{"finalizers":null}}']);
    await run('wait namespace/doomed --for=delete --timeout=60s');
    await run('create namespace doomed');
    await eventually(() => run('get serviceaccount default'));
    for (const name of ['default', 'kube-system', 'kube-public'])
      assert.match(await refused(`delete namespace ${name}`), /Forbidden.*this namespace may not be deleted/);
  });
});
