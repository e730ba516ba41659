// Controllers other than those of workloads, as seen with kubectl: nodes that are tainted or stop reporting, budgets,
// volumes, owners.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startCluster, startFakeNodes } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { CUSTOM_METRICS, EXTERNAL_METRICS, startMetricsAdapter } from './support/metrics-adapter.ts';

const pod = (name: string, spec: string): string =>
  `{apiVersion: v1, kind: Pod, metadata: {name: ${name}, labels: {app: ${name}}}, spec: {containers: [{name: c, image: x}], ${spec}}}`;
const tolerating = (key: string, seconds: number): string =>
  `tolerations: [{key: ${key}, operator: Exists, effect: NoExecute, tolerationSeconds: ${seconds}}]`;
const deployment = (name: string, replicas: number): string =>
  `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ${name}}, spec: {replicas: ${replicas}, selector: {matchLabels: {app: ${name}}}, template: {metadata: {labels: {app: ${name}}}, spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: x}]}}}}`;
const volume = (name: string, spec: string): string =>
  `{apiVersion: v1, kind: PersistentVolume, metadata: {name: ${name}}, spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}, ${spec}}}`;
const claim = (name: string, storageClassName: string): string =>
  `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ${name}}, spec: {accessModes: [ReadWriteOnce], storageClassName: ${storageClassName}, resources: {requests: {storage: 5Gi}}}}`;

describe('controllers, with kubectl', () => {
  let cluster: TestCluster;
  const fleets: (() => Promise<void>)[] = [];
  const startNodes = async (count: number, ...flags: readonly string[]): Promise<() => Promise<void>> => {
    const stop = await startFakeNodes(cluster.kubeconfig, count, cluster.folder, ['--lease-seconds=1', ...flags]);
    fleets.push(stop);
    return stop;
  };
  const run = (words: string | readonly string[], input?: string): Promise<string> =>
    cluster.kubectl(typeof words === 'string' ? words.split(' ') : words, input);
  const apply = (...objects: readonly string[]): Promise<string> =>
    run('apply -f -', objects.map((each) => `---\n${each}\n`).join(''));
  const path = (what: string, jsonpath: string): Promise<string> =>
    run([...`get ${what}`.split(' '), '-o', `jsonpath=${jsonpath}`]);
  const running = (name: string): Promise<string> => run(`wait --for=condition=Ready pod/${name} --timeout=30s`);

  before(async () => {
    cluster = await startCluster({ flags: ['--node-monitor-grace-period=8s'] });
    await startNodes(3);
  });
  after(async () => {
    for (const stop of fleets) await stop();
    await cluster.stop();
  });

  it('a taint that makes pods leave does so: at once, after their time, or not at all', async () => {
    await apply(
      pod('at-once', 'nodeName: fake-0'),
      pod('after-a-time', `nodeName: fake-0, ${tolerating('out', 4)}`),
      pod('stays', 'nodeName: fake-0, tolerations: [{operator: Exists}]'),
      pod('spared', `nodeName: fake-0, ${tolerating('out', 600)}`),
    );
    for (const name of ['at-once', 'after-a-time', 'stays', 'spared']) await running(name);
    await run('taint node fake-0 out=yes:NoExecute');
    const names = (): Promise<string> => path('pods', '{.items[*].metadata.name}');
    await eventually(async () => assert.equal(await names(), 'after-a-time spared stays'));
    await eventually(async () => assert.equal(await names(), 'spared stays'));
    await run('taint node fake-0 out-');
    const messages = await eventually(async () => {
      const text = await path(
        'events --field-selector=reason=TaintManagerEviction',
        '{range .items[*]}{.message}{"\\n"}{end}',
      );
      assert.match(text, /Cancelling deletion of Pod default\/spared/);
      return text;
    });
    assert.match(messages, /Marking for deletion Pod default\/at-once/);
    await run('delete pods --all --force');
  });

  it('a silent node is not ready, its pods are recreated elsewhere, and it recovers when it comes back', async () => {
    const silence = await startNodes(1, '--prefix=lone');
    await apply(pod('mine', `nodeName: lone-0, ${tolerating('node.kubernetes.io/unreachable', 1)}`));
    await running('mine');
    await silence();
    await run('wait --for=condition=Ready=Unknown node/lone-0 --timeout=40s');
    await eventually(async () =>
      assert.match(
        await path('node lone-0', '{range .spec.taints[*]}{.key}:{.effect} {end}'),
        /node\.kubernetes\.io\/unreachable:NoExecute/,
      ),
    );
    await eventually(async () => assert.notEqual(await path('pod mine', '{.metadata.deletionTimestamp}'), ''));
    const conditions = await path('pod mine', '{range .status.conditions[*]}{.type}={.status} {.reason},{end}');
    assert.match(conditions, /Ready=False/);
    assert.match(conditions, /DisruptionTarget=True DeletionByTaintManager/);
    // No controller of today writes phase Unknown or the reason NodeLost. Who reads the old reason sees Unknown.
    assert.match(await run('get pod mine'), /mine +1\/1 +Terminating/);
    assert.equal(await path('pod mine', '{.status.phase}{.status.reason}'), 'Running');
    await run('patch pod mine --subresource=status -p {"status":{"reason":"NodeLost"}}');
    assert.match(await run('get pod mine'), /mine +1\/1 +Unknown/);
    const again = await startNodes(1, '--prefix=lone');
    await run('wait --for=condition=Ready node/lone-0 --timeout=40s');
    await eventually(async () => assert.equal(await path('node lone-0', '{.spec.taints}'), ''));
    await eventually(async () => assert.equal(await run('get pods -o name'), ''));
    await again();
    await run('delete node lone-0');
  });

  it('a budget counts what its Deployment wants, and follows it', async () => {
    await apply(
      deployment('web', 4),
      '{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {maxUnavailable: 25%, selector: {matchLabels: {app: web}}}}',
    );
    const numbers = (): Promise<string> =>
      path(
        'pdb web',
        '{.status.expectedPods} {.status.desiredHealthy} {.status.currentHealthy} {.status.disruptionsAllowed} {.status.conditions[0].reason}',
      );
    await run('rollout status deployment/web --timeout=30s');
    await eventually(async () => assert.equal(await numbers(), '4 3 4 1 SufficientPods'));
    await run('scale deployment/web --replicas=8');
    await eventually(async () => assert.equal(await numbers(), '8 6 8 2 SufficientPods'));
    await run('annotate pods -l app=web fake-nodes/ready=false');
    const [evicted = ''] = (await path('pods -l app=web', '{.items[*].metadata.name}')).split(' ');
    await run(
      ['create', '--raw', `/api/v1/namespaces/default/pods/${evicted}/eviction`, '-f', '-'],
      JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: evicted, namespace: 'default' } }),
    );
    await eventually(async () => assert.equal(await path('pdb web', '{.status.disruptedPods}'), ''));
    await run('delete deployment,pdb web');
  });

  it('volumes and claims find each other, are held while they are used, and say how it ended', async () => {
    await apply(
      volume('disk', 'storageClassName: manual'),
      volume(
        'late',
        'storageClassName: late, persistentVolumeReclaimPolicy: Delete, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [fake-1]}]}]}}',
      ),
      '{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: late}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}',
      claim('data', 'manual'),
      claim('late', 'late'),
    );
    const phases = async (): Promise<string> =>
      `${await path('pv', '{range .items[*]}{.metadata.name}={.status.phase} {end}')}${await path('pvc', '{range .items[*]}{.metadata.name}={.status.phase} {end}')}`.trim();
    await eventually(async () => assert.equal(await phases(), 'disk=Bound late=Available data=Bound late=Pending'));
    assert.match(
      await run('describe pvc late'),
      /WaitForFirstConsumer .*waiting for first consumer to be created before binding/,
    );
    await apply(
      pod(
        'user',
        'volumes: [{name: a, persistentVolumeClaim: {claimName: data}}, {name: b, persistentVolumeClaim: {claimName: late}}], terminationGracePeriodSeconds: 1',
      ),
    );
    await running('user');
    assert.deepEqual(
      [await path('pod user', '{.spec.nodeName}'), await phases()],
      ['fake-1', 'disk=Bound late=Bound data=Bound late=Bound'],
    );
    await run('delete pvc data late --wait=false');
    assert.match(await run('get pvc'), /data +Terminating/);
    await run('delete pod user');
    await eventually(async () => assert.equal(await phases(), 'disk=Released late=Failed'));
    assert.equal(
      await path('pv late', '{.status.message}'),
      'host_path deleter only supports /tmp/.+ but received provided /data',
    );
    await run('delete pv disk late --timeout=20s');
  });

  it('an owner does not wait for objects with another owner', async () => {
    const map = (name: string, references = '[]'): string =>
      `{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}, ownerReferences: ${references}}}`;
    await apply(map('first'), map('second'));
    const reference = async (name: string): Promise<string> =>
      `{apiVersion: v1, kind: ConfigMap, name: ${name}, uid: ${await path(`configmap ${name}`, '{.metadata.uid}')}, blockOwnerDeletion: true}`;
    await apply(
      map('shared', `[${await reference('first')}, ${await reference('second')}]`),
      map('own', `[${await reference('first')}]`),
    );
    await run('delete configmap first --cascade=foreground --timeout=20s');
    assert.equal(await path('configmaps', '{.items[*].metadata.name}'), 'kube-root-ca.crt second shared');
    assert.equal(await path('configmap shared', '{.metadata.ownerReferences[*].name}'), 'second');
  });

  it("the cluster's address is signed by the tokens with which nodes join, for as long as they hold", async () => {
    assert.match(
      await path('configmap cluster-info -n kube-public', '{.data.kubeconfig}'),
      /certificate-authority-data: \S+\n[\s\S]*server: https:/,
    );
    const expiration = `${new Date(Date.now() + 5_000).toISOString().slice(0, 19)}Z`;
    const literals = [
      'token-id=abcdef',
      'token-secret=0123456789abcdef',
      'usage-bootstrap-signing=true',
      `expiration=${expiration}`,
    ].map((each) => `--from-literal=${each}`);
    await run([
      '-n',
      'kube-system',
      'create',
      'secret',
      'generic',
      'bootstrap-token-abcdef',
      '--type=bootstrap.kubernetes.io/token',
      ...literals,
    ]);
    const signature = (): Promise<string> =>
      path('configmap cluster-info -n kube-public', '{.data.jws-kubeconfig-abcdef}');
    await eventually(async () =>
      assert.match(await signature(), /^eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9\.\.[\w-]{43}$/),
    );
    await eventually(async () =>
      assert.deepEqual([await signature(), await run('get secrets -n kube-system -o name')], ['', '']),
    );
  });

  it('autoscalers follow metrics of pods, of objects and from outside, which a server behind APIServices has', async () => {
    const metrics = {
      pods: 'type: Pods, pods: {metric: {name: load}, target: {type: AverageValue, averageValue: 2}}',
      object:
        'type: Object, object: {describedObject: {apiVersion: v1, kind: Service, name: front}, metric: {name: hits}, target: {type: AverageValue, averageValue: 2}}',
      outside:
        'type: External, external: {metric: {name: queue, selector: {matchLabels: {of: orders}}}, target: {type: AverageValue, averageValue: 2}}',
    };
    const kinds = Object.entries(metrics);
    await apply(...kinds.map(([name]) => deployment(name, 1)));
    await run('wait --for=condition=Available deployments/pods deployments/object deployments/outside --timeout=30s');
    const measured = await path('pods -l app=pods', '{.items[0].metadata.name}');
    const values = new Map<string, readonly object[]>([
      [`${CUSTOM_METRICS}/namespaces/default/pods/*/load`, [{ describedObject: { name: measured }, value: '4' }]],
      [`${CUSTOM_METRICS}/namespaces/default/services/front/hits`, [{ describedObject: {}, value: '5500m' }]],
      [`${EXTERNAL_METRICS}/namespaces/default/queue`, [{ value: '3' }, { value: '5' }]],
    ]);
    const adapter = await startMetricsAdapter((at) => values.get(at));
    try {
      await apply(...adapter.manifests);
      await run(
        'wait --for=condition=Available apiservices -l !kube-aggregator.kubernetes.io/automanaged --timeout=30s',
      );
      await apply(
        ...kinds.map(
          ([name, metric]) =>
            `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: ${name}}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: ${name}}, maxReplicas: 9, metrics: [{${metric}}]}}`,
        ),
      );
      const scaled = (): Promise<string> => path('deployments pods object outside', '{.items[*].spec.replicas}');
      await eventually(async () => assert.equal(await scaled(), '2 3 4'));
      assert.deepEqual(
        [...adapter.asked].sort(),
        [...values.keys()].map((at) => [at, 'system:serviceaccount:kube-system:horizontal-pod-autoscaler']).sort(),
      );
    } finally {
      await run('delete hpa,deployments --all');
      await run('delete apiservices -l !kube-aggregator.kubernetes.io/automanaged');
      adapter.close();
    }
  });

  it('autoscalers scale a custom kind by its subresource, from metrics of its pods', async () => {
    const fleets = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'fleets.shop.io' },
      spec: {
        group: 'shop.io',
        scope: 'Namespaced',
        names: { plural: 'fleets', singular: 'fleet', kind: 'Fleet', listKind: 'FleetList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            subresources: {
              status: {},
              scale: {
                specReplicasPath: '.spec.ships',
                statusReplicasPath: '.status.ships',
                labelSelectorPath: '.status.selector',
              },
            },
          },
        ],
      },
    };
    await apply(JSON.stringify(fleets));
    await run('wait --for=condition=Established crd/fleets.shop.io --timeout=30s');
    await apply('{apiVersion: shop.io/v1, kind: Fleet, metadata: {name: navy}, spec: {ships: 1}}', pod('ship', ''));
    // What its operator would report.
    await run('patch fleet navy --subresource=status --type=merge -p {"status":{"ships":1,"selector":"app=ship"}}');
    await running('ship');
    const load = `${CUSTOM_METRICS}/namespaces/default/pods/*/load`;
    const adapter = await startMetricsAdapter((at) =>
      at === load ? [{ describedObject: { name: 'ship' }, value: '6' }] : undefined,
    );
    try {
      await apply(...adapter.manifests);
      await run(
        'wait --for=condition=Available apiservices -l !kube-aggregator.kubernetes.io/automanaged --timeout=30s',
      );
      await apply(
        '{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: navy}, spec: {scaleTargetRef: {apiVersion: shop.io/v1, kind: Fleet, name: navy}, maxReplicas: 9, metrics: [{type: Pods, pods: {metric: {name: load}, target: {type: AverageValue, averageValue: 2}}}]}}',
      );
      await eventually(async () => assert.equal(await path('fleet navy', '{.spec.ships}'), '3'), 30_000);
      const conditions = await path('hpa navy', '{range .status.conditions[*]}{.type}={.status} {end}');
      assert.match(conditions, /AbleToScale=True .*ScalingActive=True/);
      assert.match(await run('get events'), /SuccessfulRescale .* New size: 3; reason: pods metric load above target/);
    } finally {
      await run('delete hpa,fleets,pods --all');
      await run('delete apiservices -l !kube-aggregator.kubernetes.io/automanaged');
      adapter.close();
    }
  });

  it('no controller lacks a right or falls over meanwhile', () => {
    const bad = cluster
      .log()
      .split('\n')
      .filter((line) => /Sync (keeps failing|failed)|is forbidden/.test(line));
    assert.deepEqual(bad, []);
  });
});
