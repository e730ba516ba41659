// get in every output, watch, wait, explain and api-resources.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { scopedKubectl } from './support/scoped-kubectl.ts';

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster({ nodes: 1 });
});
after(() => cluster.stop());

const pods = (...names: readonly string[]): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    // They are not scheduled, so that they stay unchanged.
    items: names.map((name, at) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: name, odd: String(at % 2 === 1) } },
      spec: {
        schedulerName: 'nobody',
        priority: 0,
        containers: [{ name: 'main', image: `image:${names.length - at}` }],
      },
    })),
  });

/** The cells of the rows that kubectl prints; they are separated by two or more spaces. */
const cellsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.trimEnd().split(/ {2,}/));
const headOf = (text: string): readonly string[] => cellsOf(text)[0] ?? [];
const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line.trim() !== '');

describe('kubectl get', { concurrency: 4 }, () => {
  it('prints tables, wide ones, with labels, kinds and without a head', async () => {
    const { run } = await scopedKubectl(cluster, 'tables');
    await run('create -f -', pods('a', 'b'));
    assert.deepEqual(
      cellsOf(await run('get pods')).map((cells) => cells.slice(0, 4)),
      [
        ['NAME', 'READY', 'STATUS', 'RESTARTS'],
        ['a', '0/1', 'Pending', '0'],
        ['b', '0/1', 'Pending', '0'],
      ],
    );
    assert.deepEqual(headOf(await run('get pods -o wide')), [
      'NAME',
      'READY',
      'STATUS',
      'RESTARTS',
      'AGE',
      'IP',
      'NODE',
      'NOMINATED NODE',
      'READINESS GATES',
    ]);
    assert.deepEqual(
      cellsOf(await run('get pods --show-labels')).map((cells) => cells.at(-1)),
      ['LABELS', 'app=a,odd=false', 'app=b,odd=true'],
    );
    assert.deepEqual(
      cellsOf(await run('get pods -L app,odd')).map((cells) => cells.slice(-2)),
      [
        ['APP', 'ODD'],
        ['a', 'false'],
        ['b', 'true'],
      ],
    );
    assert.deepEqual(
      cellsOf(await run('get pods --show-kind --no-headers')).map(([name]) => name),
      ['pod/a', 'pod/b'],
    );
    assert.deepEqual(headOf(await run('get pods -A')).slice(0, 2), ['NAMESPACE', 'NAME']);
    assert.deepEqual(
      cellsOf(await run('get pod/a pod/b -o wide --show-kind --no-headers')).map(([name]) => name),
      ['pod/a', 'pod/b'],
    );
    assert.deepEqual(headOf(await run('get nodes')), ['NAME', 'STATUS', 'ROLES', 'AGE', 'VERSION']);
    assert.deepEqual(headOf(await run('get serviceaccounts')).slice(0, 1), ['NAME']);
    assert.deepEqual(headOf(await run('get clusterroles')), ['NAME', 'CREATED AT']);
  });

  it('writes objects in every other form', async () => {
    const { run } = await scopedKubectl(cluster, 'forms');
    await run('create -f -', pods('a', 'b'));
    assert.equal(await run('get pods -o name'), 'pod/a\npod/b');
    const { kind, items } = JSON.parse(await run('get pods -o json')) as {
      readonly kind: string;
      readonly items: readonly { readonly kind: string; readonly apiVersion: string }[];
    };
    assert.deepEqual(
      [kind, items.map((each) => [each.kind, each.apiVersion])],
      [
        'List',
        [
          ['Pod', 'v1'],
          ['Pod', 'v1'],
        ],
      ],
    );
    assert.match(await run('get pod a -o yaml'), /^apiVersion: v1\nkind: Pod\nmetadata:\n/);
    assert.equal(await run('get pods -o jsonpath={.items[*].metadata.name}'), 'a b');
    assert.equal(
      await run(['get', 'pod', 'a', '-o', 'jsonpath={.spec.containers[?(@.name=="main")].image}']),
      'image:2',
    );
    assert.deepEqual(JSON.parse(await run('get pod a -o jsonpath-as-json={.metadata.labels}')), [
      { app: 'a', odd: 'false' },
    ]);
    assert.equal(await run(['get', 'pods', '-o', 'go-template={{range .items}}{{.metadata.name}},{{end}}']), 'a,b,');
    assert.deepEqual(
      cellsOf(await run('get pods -o custom-columns=N:.metadata.name,I:.spec.containers[*].image,X:.nothing')),
      [
        ['N', 'I', 'X'],
        ['a', 'image:2', '<none>'],
        ['b', 'image:1', '<none>'],
      ],
    );
    assert.doesNotMatch(await run('get pod a -o yaml'), /managedFields/);
    assert.match(await run('get pod a -o yaml --show-managed-fields'), /manager: kubectl-create\n\s+operation: Update/);
    assert.equal(
      (
        JSON.parse(await run('get --raw /api/v1/namespaces/forms/pods/a')) as {
          readonly metadata: { readonly name: string };
        }
      ).metadata.name,
      'a',
    );
  });

  it('selects, sorts and pages', async () => {
    const { run, refused, try: attempt } = await scopedKubectl(cluster, 'selects');
    await run('create -f -', pods('a', 'b', 'c', 'd'));
    const names = async (flags: string): Promise<string> =>
      (await run(`get pods -o name ${flags}`)).replaceAll('pod/', '').replaceAll('\n', '');
    assert.deepEqual(
      [
        await names('-l odd=true'),
        await names('-l app!=a,odd'),
        await names('-l !odd'),
        await names('--field-selector=metadata.name=c'),
        await names('--field-selector=status.phase=Pending,metadata.name!=a'),
        await names('--field-selector=spec.nodeName=x'),
      ],
      ['bd', 'bcd', '', 'c', 'bcd', ''],
    );
    assert.equal(await names('-A -l app=a --field-selector=metadata.namespace=selects'), 'a');
    assert.equal(await run(['get', 'pods', '-l', 'app in (a,c),odd notin (true)', '-o', 'name']), 'pod/a\npod/c');
    assert.equal(await names('--sort-by=.spec.containers[0].image'), 'dcba');
    assert.deepEqual(
      cellsOf(await run('get pods --sort-by={.spec.containers[0].image} --no-headers')).map(([name]) => name),
      ['d', 'c', 'b', 'a'],
    );
    assert.equal(await names('--chunk-size=1'), 'abcd');
    assert.match(await refused('get pods --field-selector=spec.colour=red'), /field label not supported: spec\.colour/);
    assert.match(await refused(['get', 'pods', '-l', 'a in']), /unable to parse|found ''/);
    assert.deepEqual(
      [(await attempt('get pods -n nowhere')).stderr.trim(), (await attempt('get pods -n nowhere')).code],
      ['No resources found in nowhere namespace.', 0],
    );
  });

  it('gets several kinds at once, categories, versions and subresources', async () => {
    const { run, refused, try: attempt } = await scopedKubectl(cluster, 'several');
    await run('create deployment web --image=nginx --replicas=2');
    await run('expose deployment web --port=80');
    await run('rollout status deployment/web --timeout=60s');
    assert.match(
      await run('get all -o name'),
      /^pod\/web-\S+\npod\/web-\S+\nservice\/web\ndeployment.apps\/web\nreplicaset.apps\/web-\S+$/,
    );
    assert.equal(await run('get deployment/web service/web -o name'), 'deployment.apps/web\nservice/web');
    assert.deepEqual(
      cellsOf(await run('get deploy,svc')).map(([name]) => name),
      ['NAME', 'deployment.apps/web', 'NAME', 'service/web'],
    );
    for (const resource of ['deployments.v1.apps', 'deployments.apps', 'deployment', 'deploy', 'Deployment'])
      assert.equal(await run(`get ${resource} -o name`), 'deployment.apps/web');
    assert.deepEqual(
      cellsOf(await run('get deployment web --subresource=scale')).map((cells) => cells.slice(0, 3)),
      [
        ['NAME', 'DESIRED', 'AVAILABLE'],
        ['web', '2', '2'],
      ],
    );
    assert.equal(
      await run('get deployment web --subresource=scale -o jsonpath={.kind}/{.spec.replicas}/{.status.selector}'),
      'Scale/2/app=web',
    );
    assert.equal(await run('get deployment web --subresource=status -o jsonpath={.status.readyReplicas}'), '2');
    assert.match(await refused('get deployment web --subresource=colour'), /NotFound|invalid subresource/);
    assert.match(await refused('get pod none web-none'), /pods "none" not found[\s\S]*pods "web-none" not found/);
    assert.deepEqual(await attempt('get pod none --ignore-not-found'), { code: 0, stdout: '', stderr: '' });
    assert.match(await refused('get pod a -A'), /a resource cannot be retrieved by name across all namespaces/);
    assert.match(await refused('get deployments.v2.apps'), /doesn't have a resource type "deployments"/);
  });
});

describe('kubectl get --watch and wait', { concurrency: 4 }, () => {
  it('shows events in their order, as rows or names', async () => {
    const { run } = await scopedKubectl(cluster, 'watched');
    await run('create configmap here');
    const watching = async (words: string): Promise<readonly string[]> =>
      linesOf(
        await cluster.follow(
          [
            ...`get configmaps --namespace=watched ${words}`.split(' '),
            '--field-selector=metadata.name!=kube-root-ca.crt',
          ],
          (stdout) => stdout.includes('late'),
        ),
      );
    const watches = [
      watching('--watch --output-watch-events'),
      watching('--watch-only -o name'),
      watching('--watch --output-watch-events -l in=yes -o jsonpath={.type}/{.object.metadata.name}/{.object.data.y};'),
    ];
    const counted =
      /apiserver_longrunning_requests\{verb="WATCH",group="",version="v1",resource="configmaps",subresource="",scope="namespace",component="apiserver"\} 3/;
    await eventually(async () => assert.match(await run('get --raw /metrics'), counted));
    await run('create configmap a --from-literal=x=1');
    await run('label configmap a in=yes');
    await run('patch configmap a -p {"data":{"y":"2"}}');
    await run('label configmap a in-');
    await run('delete configmap a');
    await run('create configmap late');
    await run('label configmap late in=yes');
    const [rows, names, selected] = await Promise.all(watches);
    assert.deepEqual(
      rows?.slice(0, 8).map((row) => row.split(/ +/).slice(0, 3).join(' ')),
      [
        'EVENT NAME DATA',
        'ADDED here 0',
        'ADDED a 1',
        'MODIFIED a 1',
        'MODIFIED a 2',
        'MODIFIED a 2',
        'DELETED a 2',
        'ADDED late 0',
      ],
    );
    assert.deepEqual(
      names?.slice(0, 6),
      ['a', 'a', 'a', 'a', 'a', 'late'].map((name) => `configmap/${name}`),
    );
    assert.equal(selected?.join(''), 'ADDED/a/;MODIFIED/a/2;DELETED/a/2;ADDED/late/;');
  });

  it('waits for conditions, fields, creation and deletion', async () => {
    const { run } = await scopedKubectl(cluster, 'waits');
    const waiting = [
      run('wait --for=create deployment/web --timeout=30s'),
      run('wait --for=delete pod/none --timeout=30s'),
      eventually(() => run('wait --for=condition=Available deployment/web --timeout=30s')),
      eventually(() => run('wait --for=jsonpath={.status.readyReplicas}=2 deployment/web --timeout=30s')),
    ];
    await run('create deployment web --image=nginx --replicas=2');
    assert.deepEqual(await Promise.all(waiting), [
      'deployment.apps/web condition met',
      '',
      'deployment.apps/web condition met',
      'deployment.apps/web condition met',
    ]);
    assert.match(
      await run('wait pods --all --for=condition=Ready --timeout=30s'),
      /^pod\/web-\S+ condition met\npod\/web-\S+ condition met$/,
    );
    assert.match(
      await run('wait pods -l app=web --for=jsonpath={.status.phase}=Running --timeout=30s'),
      /condition met\n.*condition met$/,
    );
    const gone = run('wait deployment/web --for=delete --timeout=30s');
    await run('delete deployment web');
    assert.doesNotMatch(await gone, /error/);
  });

  it('gives up after --timeout', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'patience');
    await run('create -f -', pods('a'));
    assert.match(
      await refused('wait pod/a --for=condition=Ready --timeout=1s'),
      /timed out waiting for the condition on pods\/a/,
    );
    assert.match(
      await refused('wait pod/a --for=delete --timeout=1s'),
      /timed out waiting for the condition on pods\/a/,
    );
    assert.match(await refused('wait pod/none --for=condition=Ready --timeout=1s'), /pods "none" not found/);
    assert.match(
      await refused('wait pods -l app=none --for=condition=Ready --timeout=1s'),
      /no matching resources found/,
    );
    assert.equal(await run('wait pod/a --for=jsonpath={.status.phase}=Pending --timeout=5s'), 'pod/a condition met');
  });
});

describe('kubectl explain and api-resources', { concurrency: 4 }, () => {
  it('explain every kind, its fields and their values', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'explains');
    for (const line of cellsOf(await run('api-resources --no-headers'))) {
      const plural = line[0] ?? '';
      const [kind, version] = [line.at(-1) ?? '', line.find((cell) => /(^|\/)v\d((alpha|beta)1)?$/.test(cell)) ?? ''];
      const text = await run(`explain ${plural} --api-version=${version} --recursive`);
      assert.match(
        text,
        new RegExp(
          `KIND: +${kind}\nVERSION: +v\\d((alpha|beta)1)?\n[\\s\\S]*DESCRIPTION:\n +\\S[\\s\\S]*FIELDS:\n[\\s\\S]* {2}apiVersion\t<string>`,
        ),
        plural,
      );
    }
    assert.match(
      await run('explain pods.spec.containers.ports.protocol'),
      /FIELD: protocol <string>\nENUM:\n {4}SCTP\n {4}TCP\n {4}UDP/,
    );
    assert.match(
      await run('explain deployment.spec.template.spec.containers'),
      /FIELD: containers <\[\]Container>[\s\S]*name\t<string> -required-/,
    );
    assert.match(await run('explain deployments --api-version=apps/v1 --recursive'), /maxSurge\t<IntOrString>/);
    assert.match(await run('explain pods --output=plaintext-openapiv2'), /KIND: {5}Pod\nVERSION: {2}v1/);
    assert.match(await refused('explain pods.spec.colour'), /field "colour" does not exist/);
    assert.match(await refused('explain deployments --api-version=apps/v2'), /couldn't find resource for "apps\/v2/);
    assert.match(await refused('explain widgets'), /doesn't have a resource type "widgets"/);
  });

  it('list what there is, by group, verb, scope and category', async () => {
    const { run } = await scopedKubectl(cluster, 'lists');
    assert.equal(
      await run('api-resources --api-group=apps -o name'),
      'controllerrevisions.apps\ndaemonsets.apps\ndeployments.apps\nreplicasets.apps\nstatefulsets.apps',
    );
    const wide = cellsOf(await run('api-resources --api-group=apps -o wide'));
    assert.deepEqual(wide[0], ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND', 'VERBS', 'CATEGORIES']);
    assert.deepEqual(wide[3], [
      'deployments',
      'deploy',
      'apps/v1',
      'true',
      'Deployment',
      'create,delete,deletecollection,get,list,patch,update,watch',
      'all',
    ]);
    const created = linesOf(await run('api-resources --verbs=create -o name'));
    const listed = linesOf(await run('api-resources --verbs=create,list -o name'));
    assert.deepEqual(
      created.filter((name) => !listed.includes(name)),
      [
        'bindings',
        'selfsubjectreviews.authentication.k8s.io',
        'tokenreviews.authentication.k8s.io',
        'localsubjectaccessreviews.authorization.k8s.io',
        'selfsubjectaccessreviews.authorization.k8s.io',
        'selfsubjectrulesreviews.authorization.k8s.io',
        'subjectaccessreviews.authorization.k8s.io',
      ],
    );
    const kinds = cellsOf(await run('api-resources --namespaced=false --sort-by=kind --no-headers')).map(
      (cells) => cells.at(-1) ?? '',
    );
    assert.deepEqual(kinds, [...kinds].sort());
    assert.ok(kinds.includes('Node') && !kinds.includes('Pod'));
    assert.match(
      await run('api-resources --categories=all -o name'),
      /^pods\nreplicationcontrollers\nservices\ndaemonsets\.apps\n/,
    );
    assert.match(
      await run('api-versions'),
      /^admissionregistration\.k8s\.io\/v1\nadmissionregistration\.k8s\.io\/v1alpha1\napiextensions\.k8s\.io\/v1\napiregistration\.k8s\.io\/v1\napps\/v1\n[\s\S]*\nv1$/,
    );
    assert.match(await run('version'), /Server Version: v1\.36\./);
    assert.match(await run('cluster-info'), /control plane.* is running at .*https:\/\/127\.0\.0\.1:/);
    assert.match(await run('options'), /--as=/);
  });
});
