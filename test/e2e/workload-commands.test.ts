// rollout, scale, set, run, expose and create, as kubectl's reference shows them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { scopedKubectl } from './support/scoped-kubectl.ts';

describe('kubectl and workloads', { concurrency: 4 }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster({ nodes: 3 });
  });
  after(() => cluster.stop());

  it('rolls out, tells the history, and goes back', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'rollout');
    const revisions = async (): Promise<string[]> =>
      (await run('rollout history deployment/web'))
        .split('\n')
        .slice(2)
        .map((line) => line.trim().replace(/\s+/g, ' '))
        .filter((line) => line !== '');
    await run('create deployment web --image=nginx:1 --replicas=3 --port=80');
    assert.match(await run('rollout status deployment/web --timeout=60s'), /deployment "web" successfully rolled out$/);
    await run('annotate deployment/web kubernetes.io/change-cause=first');
    await run('set image deployment/web nginx=nginx:2');
    await run('annotate deployment/web --overwrite kubernetes.io/change-cause=second');
    await run('rollout status deployment/web --timeout=60s');
    await eventually(async () => assert.deepEqual(await revisions(), ['1 first', '2 second']));
    assert.match(
      await run('rollout history deployment/web --revision=2'),
      /with revision #2[\s\S]*change-cause: second[\s\S]*Image:\s+nginx:2/,
    );
    assert.match(
      await refused('rollout undo deployment/web --to-revision=9'),
      /unable to find specified revision 9 in history/,
    );
    await run('rollout undo deployment/web --to-revision=1 --dry-run=server');
    assert.equal(await run('get deployment web -o jsonpath={.spec.template.spec.containers[0].image}'), 'nginx:2');
    await run('rollout undo deployment/web --to-revision=1');
    await run('rollout status deployment/web --timeout=60s');
    assert.equal(await run('get deployment web -o jsonpath={.spec.template.spec.containers[0].image}'), 'nginx:1');
    await eventually(async () => assert.deepEqual(await revisions(), ['2 second', '3 first']));
    assert.match(await refused('rollout status deployment/nobody'), /NotFound/);
  });

  it('pauses, changes in one go, resumes and restarts', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'pause');
    const sets = async (): Promise<number> => (await run('get replicasets -o name')).split('\n').length;
    await run('create deployment web --image=nginx:1 --replicas=2');
    await run('rollout status deployment/web --timeout=60s');
    assert.match(await refused('rollout undo deployment/web'), /no rollout history found/);
    await run('rollout pause deployment/web');
    assert.match(await refused('rollout pause deployment/web'), /already paused/);
    assert.match(await refused('rollout restart deployment/web'), /paused/);
    await run('set image deployment/web nginx=nginx:2');
    await run('set resources deployment/web --limits=cpu=200m,memory=64Mi --requests=cpu=100m');
    await run('wait deployment/web --for=jsonpath={.status.observedGeneration}=4 --timeout=60s');
    assert.equal(await sets(), 1);
    assert.equal(
      await run(['get', 'deployment', 'web', '-o', 'jsonpath={.status.conditions[?(@.type=="Progressing")].reason}']),
      'DeploymentPaused',
    );
    await run('rollout resume deployment/web');
    assert.match(await refused('rollout resume deployment/web'), /not paused/);
    await run('rollout status deployment/web --timeout=60s');
    assert.equal(await sets(), 2);
    await run('rollout restart deployment/web');
    await run('rollout status deployment/web --timeout=60s');
    assert.equal(await sets(), 3);
    assert.match(await run('get pods -o yaml'), /kubectl.kubernetes.io\/restartedAt/);
  });

  it('rolls out DaemonSets, too', async () => {
    const { run } = await scopedKubectl(cluster, 'daemons');
    await run('apply -f -', daemonSet);
    assert.match(await run('rollout status daemonset/agent --timeout=60s'), /successfully rolled out$/);
    assert.equal(await run('get daemonset agent -o jsonpath={.status.numberReady}'), '3');
    await run('set image daemonset/agent c=two');
    await run('rollout status daemonset/agent --timeout=60s');
    assert.equal(await run(['get', 'pods', '-o', 'jsonpath={.items[*].spec.containers[0].image}']), 'two two two');
    assert.match(await run('rollout restart daemonset/agent'), /restarted/);
    await run('rollout status daemonset/agent --timeout=60s');
  });

  it('scales under conditions', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'scale');
    await run('create deployment web --image=nginx --replicas=1');
    assert.match(
      await refused('scale deployment/web --current-replicas=7 --replicas=2'),
      /Expected replicas to be 7, was 1/,
    );
    assert.match(
      await refused('scale deployment/web --resource-version=1 --replicas=2'),
      /Expected resource version to be 1/,
    );
    await run('scale deployment/web --replicas=9 --dry-run=server');
    assert.equal(await run('get deployment web -o jsonpath={.spec.replicas}'), '1');
    await run('scale deployment/web --current-replicas=1 --replicas=3');
    await run('wait deployment/web --for=jsonpath={.status.readyReplicas}=3 --timeout=60s');
    await run('scale deployment --all --replicas=0');
    await run('wait pods --for=delete -l app=web --timeout=60s');
    assert.match(
      await refused(['get', '--raw', '/apis/apps/v1/namespaces/scale/deployments/nobody/scale']),
      /NotFound/,
    );
    // A set whose owner wants none is scaled back to none.
    await run('scale replicaset -l app=web --replicas=2');
    await eventually(async () =>
      assert.equal(
        await run(['get', 'replicasets', '-o', 'jsonpath={.items[0].spec.replicas} {.items[0].status.replicas}']),
        '0 0',
      ),
    );
  });

  it('sets environment, account, selector and subjects', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'set');
    await run('create deployment web --image=nginx --replicas=0');
    await run('create configmap settings --from-literal=colour=blue');
    await run('create serviceaccount robot');
    await run('create service clusterip web --tcp=80:8080');
    await run('set env deployment/web A=b C=d');
    await run('set env deployment/web --from=configmap/settings');
    await run('set env deployment/web A-');
    assert.deepEqual((await run('set env deployment/web --list')).split('\n').slice(1).sort(), [
      '# COLOUR from configmap settings, key colour',
      'C=d',
    ]);
    await run('set serviceaccount deployment/web robot');
    assert.equal(await run('get deployment web -o jsonpath={.spec.template.spec.serviceAccountName}'), 'robot');
    await run('set selector service/web app=other');
    assert.equal(await run('get service web -o jsonpath={.spec.selector}'), '{"app":"other"}');
    assert.match(await refused('set image deployment/web nobody=x'), /unable to find container named "nobody"/);
    await run('set resources deployment/web --requests=cpu=100m');
    assert.match(
      await refused('set resources deployment/web --limits=cpu=50m'),
      /resources\.requests: Invalid value: "100m": must be less than or equal to cpu limit of 50m/,
    );
    await run('create role reader --verb=get --resource=pods');
    await run('create rolebinding readers --role=reader --user=jane');
    await run('set subject rolebinding readers --group=devs');
    assert.equal(await run('get rolebinding readers -o jsonpath={.subjects[*].name}'), 'jane devs');
  });

  it('runs pods and exposes what runs', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'run');
    await run('run once --image=busybox --restart=Never --env=A=b --labels=a=b --command -- sleep 1');
    await run('run web --image=nginx --port=80 --expose');
    await run('wait pod/web --for=condition=Ready --timeout=60s');
    await run('wait pod/once --for=jsonpath={.status.phase}=Succeeded --timeout=60s');
    assert.equal(
      await run(
        'get pod once -o jsonpath={.spec.containers[0].command[1]},{.spec.containers[0].env[0].value},{.metadata.labels.a}',
      ),
      '1,b,b',
    );
    assert.match(await refused('run web --image=nginx'), /AlreadyExists/);
    await eventually(async () =>
      assert.equal(await run('get endpoints web -o jsonpath={.subsets[0].addresses[0].targetRef.name}'), 'web'),
    );
    await run('expose pod web --name=open --port=80 --target-port=8080 --type=NodePort');
    const [type, port] = (
      await run(['get', 'service', 'open', '-o', 'jsonpath={.spec.type} {.spec.ports[0].nodePort}'])
    ).split(' ');
    assert.ok(type === 'NodePort' && Number(port) >= 30_000 && Number(port) <= 32_767);
    assert.match(await refused('expose pod web --name=open --port=80'), /AlreadyExists/);
  });

  it('makes every kind that create knows, and nothing of what is not there', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'create');
    const commands = [
      'clusterrole e2e-one --verb=get --resource=pods',
      'clusterrole e2e-two --verb=get --non-resource-url=/logs/*',
      'clusterrole e2e-three --aggregation-rule=rbac.example.com/a=true',
      'clusterrolebinding e2e-one --clusterrole=e2e-one --user=a --group=b --serviceaccount=create:robot',
      'configmap c --from-literal=a=b',
      'deployment d --image=x --replicas=0',
      'job j --image=x',
      'poddisruptionbudget p --min-available=1 --selector=a=b',
      'priorityclass e2e-high --value=5 --description=high',
      'quota q --hard=configmaps=10',
      'role r --verb=get --resource=pods --resource-name=one',
      'rolebinding r --role=r --user=a',
      'secret generic s --from-literal=a=b',
      'secret docker-registry sd --docker-username=a --docker-password=b --docker-server=c',
      'service clusterip sc --tcp=80:80',
      'service nodeport sn --tcp=80:80',
      'service loadbalancer sl --tcp=80:80',
      'service externalname sx --external-name=a.example',
      'serviceaccount robot',
    ];
    for (const command of commands) {
      assert.match(await run(`create ${command} --dry-run=server -o name`), /\//);
      assert.match(await run(`create ${command} -o yaml`), /uid: /);
      assert.match(await refused(`create ${command}`), /already exists/);
    }
    assert.match(await run(['get', 'secret', 'sd', '-o', 'jsonpath={.type}']), /^kubernetes.io\/dockerconfigjson$/);
    assert.match(await run('create ingress i --rule=a.example/b=c:80 -o name'), /^ingress.networking.k8s.io\/i$/);
    assert.match(
      await run('autoscale deployment/d --min=1 --max=2 -o name'),
      /^horizontalpodautoscaler.autoscaling\/d$/,
    );
    assert.match(await run('get horizontalpodautoscalers.v1.autoscaling'), /Deployment\/d +cpu: <unknown>\/80% +1 +2/);
    await run(['create', 'cronjob', 'c', '--image=x', '--schedule=@yearly', '--', 'true']);
    assert.match(await run('create job j2 --from=cronjob/c -o name'), /^job.batch\/j2$/);
    assert.match(await refused('create job j3 --from=cronjob/nobody'), /cronjob/);
    assert.match(await refused(['create', 'configmap', 'Wrong_Name', '--from-literal=a=b']), /RFC 1123 subdomain/);
  });
});

const daemonSet = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: one}]}
`;
