// label, annotate, taint, cordon and drain. Nodes are cluster-scoped, so each test has some of its own.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { scopedKubectl } from './support/scoped-kubectl.ts';

describe('kubectl and nodes', { concurrency: 4 }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster({ nodes: 7 });
  });
  after(() => cluster.stop());

  it('labels, and overwrites only on request', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'label');
    await run('label node fake-0 zone=a');
    assert.match(await refused('label node fake-0 zone=b'), /already has a value \(a\), and --overwrite is false/);
    await run('label node fake-0 zone=b --overwrite');
    assert.match(
      await refused('label node fake-0 zone=c --overwrite --resource-version=1'),
      /Conflict.*the object has been modified/,
    );
    await run('label node fake-0 zone=c --overwrite --dry-run=server');
    assert.equal(
      await run('get nodes -l zone -o jsonpath={.items[*].metadata.name}={.items[0].metadata.labels.zone}'),
      'fake-0=b',
    );
    await run('label node fake-0 zone-');
    assert.equal(await run('get nodes -l zone -o name'), '');
    assert.match(
      await refused(['label', 'node', 'fake-0', 'bad key=1']),
      /metadata\.labels: Invalid value: "bad key": name part must consist of/,
    );
    await run('create configmap one --from-literal=a=b');
    await run('create configmap two --from-literal=a=b');
    await run('label configmap one two team=x');
    assert.equal((await run('get configmaps -l team=x -o name')).split('\n').length, 2);
    await run('label configmap --all team-');
    assert.equal(await run('get configmaps -l team -o name'), '');
  });

  it('annotates in the same way', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'annotate');
    await run(['create', 'configmap', 'one', '--from-literal=a=b']);
    await run(['annotate', 'configmap', 'one', 'note=a word', 'example.com/x=y']);
    assert.match(await refused('annotate configmap one note=other'), /--overwrite is false/);
    await run('annotate configmap one note=other --overwrite');
    assert.match(await refused('annotate configmap one note=x --overwrite --resource-version=1'), /Conflict/);
    await run('annotate configmap one example.com/x-');
    assert.equal(await run('get configmap one -o jsonpath={.metadata.annotations}'), '{"note":"other"}');
    assert.match(await refused(['annotate', 'configmap', 'one', 'bad/key/name=1']), /annotation|Invalid|invalid/);
  });

  it('taints, and takes taints away', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'taint');
    const taints = (): Promise<string> =>
      run('get node fake-1 -o jsonpath={range@.spec.taints[*]}{.key}={.value}:{.effect};{end}');
    await run('run lone --image=x --overrides={"spec":{"nodeName":"fake-1"}}');
    await run('taint nodes fake-1 dedicated=x:NoSchedule');
    assert.match(await refused('taint nodes fake-1 dedicated=y:NoSchedule'), /--overwrite is false/);
    await run('taint nodes fake-1 dedicated=y:NoSchedule --overwrite');
    assert.equal(await taints(), 'dedicated=y:NoSchedule;');
    assert.match(await refused('taint nodes fake-1 dedicated=y:Nothing'), /invalid taint effect: Nothing/);
    await run('taint nodes fake-1 dedicated:NoSchedule-');
    assert.match(await refused('taint nodes fake-1 dedicated:NoSchedule-'), /not found/);
    await run('taint nodes fake-1 gone=now:NoExecute');
    await run('wait pod/lone --for=delete --timeout=60s');
    await run('taint nodes fake-1 gone-');
    assert.equal(await taints(), '');
  });

  it('cordons: new pods go elsewhere', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'cordon');
    await run('cordon fake-2 --dry-run=server');
    assert.equal(await run('get node fake-2 -o jsonpath={.spec.unschedulable}'), '');
    await run('cordon fake-2');
    assert.match(await run('cordon fake-2'), /already cordoned/);
    assert.match(await run('get node fake-2'), /Ready,SchedulingDisabled/);
    const here = '--overrides={"spec":{"nodeSelector":{"kubernetes.io/hostname":"fake-2"}}}';
    await run(`run waits --image=x ${here}`);
    await run('wait pod/waits --for=jsonpath={.status.conditions[0].reason}=Unschedulable --timeout=60s');
    assert.match(
      await run('get pod waits -o jsonpath={.status.conditions[0].message}'),
      /^0\/7 nodes are available: .*1 node\(s\) were unschedulable/,
    );
    await run('uncordon fake-2');
    await run('wait pod/waits --for=condition=Ready --timeout=60s');
    assert.match(await run('uncordon fake-2'), /already uncordoned/);
    assert.match(await refused('cordon nobody'), /NotFound/);
  });

  it('drains: asks for what it would lose, evicts the rest, and leaves daemons', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'drain');
    const here = ['kubernetes.io/hostname', 'fake-3'] as const;
    const pods = async (): Promise<string[]> =>
      (
        await run([
          'get',
          'pods',
          '--field-selector=spec.nodeName=fake-3',
          '-o',
          'jsonpath={range .items[*]}{.metadata.labels.app} {end}',
        ])
      )
        .trim()
        .split(' ')
        .sort();
    await run('apply -f -', onNode(...here));
    await run('wait pods --all --for=condition=Ready --timeout=60s');
    await run('rollout status deployment/web --timeout=60s');
    await run('rollout status daemonset/agent --timeout=60s');
    const refusal = await refused('drain fake-3');
    for (const why of [
      /DaemonSet-managed Pods \(use --ignore-daemonsets to ignore\): drain\/agent/,
      /declare no controller \(use --force to override\): drain\/\w+/,
      /local storage \(use --delete-emptydir-data to override\): drain\/scratch/,
    ])
      assert.match(refusal, why);
    const all = 'drain fake-3 --ignore-daemonsets --force --delete-emptydir-data --timeout=60s';
    assert.match(await run(`${all} --dry-run=server`), /evicting pod drain\/lone \(server dry run\)/);
    assert.deepEqual(await pods(), ['agent', 'lone', 'scratch', 'web', 'web']);
    assert.match(await run(`${all} --pod-selector=app=lone --grace-period=0`), /drained/);
    assert.deepEqual(await pods(), ['agent', 'scratch', 'web', 'web']);
    await run(all);
    assert.deepEqual(await pods(), ['agent']);
    await run('uncordon fake-3');
    await run('rollout status deployment/web --timeout=60s');
    await run('drain -l kubernetes.io/hostname=fake-3 --ignore-daemonsets --disable-eviction --timeout=60s');
    await eventually(async () => assert.deepEqual(await pods(), ['agent']));
    await run('uncordon fake-3');
  });

  it('drains only as many pods as a budget allows', async () => {
    const { run, try: tried } = await scopedKubectl(cluster, 'budget');
    await run('apply -f -', onNode('kubernetes.io/hostname', 'fake-4'));
    await run('rollout status deployment/web --timeout=60s');
    await run('create poddisruptionbudget web --selector=app=web --min-available=1');
    await run('wait poddisruptionbudget/web --for=jsonpath={.status.disruptionsAllowed}=1 --timeout=60s');
    const [first, second] = (
      await run(['get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].metadata.name}'])
    ).split(' ');
    await run('cordon fake-4');
    const evict = (name = ''): ReturnType<typeof tried> =>
      tried(
        ['create', '--raw', `/api/v1/namespaces/budget/pods/${name}/eviction`, '-f', '-'],
        JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'budget' } }),
      );
    const evicted = await evict(first);
    assert.equal(evicted.code, 0, evicted.stderr);
    assert.deepEqual(JSON.parse(evicted.stdout), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      code: 201,
    });
    const kept = await evict(second);
    assert.match(kept.stderr, /TooManyRequests.*Cannot evict pod as it would violate the pod's disruption budget/);
    await run('delete poddisruptionbudget web');
    await run('drain fake-4 --ignore-daemonsets --force --delete-emptydir-data --timeout=60s');
    assert.match((await evict('nobody')).stderr, /NotFound/);
    await run('uncordon fake-4');
  });
});

const onNode = (key: string, value: string): string => {
  const spec = `{nodeSelector: {${key}: ${value}}, terminationGracePeriodSeconds: 1, containers: [{name: c, image: x}]}`;
  return `
apiVersion: v1
kind: Pod
metadata: {name: lone, labels: {app: lone}}
spec: ${spec}
---
apiVersion: v1
kind: Pod
metadata: {name: scratch, labels: {app: scratch}}
spec: {nodeSelector: {${key}: ${value}}, containers: [{name: c, image: x}], volumes: [{name: v, emptyDir: {}}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: ${spec}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: ${spec}}}
`;
};
