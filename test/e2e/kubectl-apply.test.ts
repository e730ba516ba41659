// apply of both sides, diff, replace, edit, patch and kustomize.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Fields } from './support/apply-objects.ts';
import { configMap, full, less } from './support/apply-objects.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { scopedKubectl } from './support/scoped-kubectl.ts';
import type { ScopedKubectl } from './support/scoped-kubectl.ts';

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster.stop());

const managers = async ({ run }: ScopedKubectl, object: string): Promise<readonly string[]> =>
  (
    await run([
      'get',
      object,
      '--show-managed-fields',
      '-o',
      'jsonpath={range .metadata.managedFields[*]}{.manager} {.operation} {.subresource}{"\\n"}{end}',
    ])
  )
    .split('\n')
    .map((line) => line.trim())
    .sort();

describe('kubectl apply', { concurrency: 4 }, () => {
  it('merges three ways: removes deleted fields, and keeps fields that others added', async () => {
    const { run, try: attempt } = await scopedKubectl(cluster, 'three-ways');
    assert.equal(await run('apply -f -', full), 'deployment.apps/web created');
    assert.equal(await run('apply -f -', full), 'deployment.apps/web unchanged');
    await run('scale deployment/web --replicas=4');
    await run('label deployment/web own=me');
    await run('set env deployment/web -c one C=5');
    const difference = await attempt('diff -f -', less);
    assert.equal(difference.code, 1);
    for (const line of [
      '-    gone: "2"',
      '-  replicas: 4',
      '+  replicas: 1',
      '-        image: image:1',
      '+        image: image:2',
      '+          value: "3"',
    ])
      assert.ok(difference.stdout.split('\n').includes(line), `${line} is not in ${difference.stdout}`);
    assert.equal(await run('apply -f - --dry-run=server', less), 'deployment.apps/web configured (server dry run)');
    assert.equal(await run('get deployment web -o jsonpath={.metadata.labels.gone}'), '2');
    assert.equal(await run('apply -f -', less), 'deployment.apps/web configured');
    const read = JSON.parse(await run('get deployment web -o json')) as {
      metadata: { labels: Fields };
      spec: {
        replicas: number;
        template: { spec: { containers: { name: string; image: string; env: Fields[]; args: string[] }[] } };
      };
    };
    assert.deepEqual([read.metadata.labels, read.spec.replicas], [{ a: '1', own: 'me' }, 1]);
    assert.deepEqual(
      read.spec.template.spec.containers.map(({ name, image, env, args }) => ({ name, image, env, args })),
      [
        {
          name: 'one',
          image: 'image:2',
          env: [
            { name: 'B', value: '3' },
            { name: 'C', value: '5' },
          ],
          args: ['z'],
        },
      ],
    );
    assert.deepEqual(await attempt('diff -f -', less), { code: 0, stdout: '', stderr: '' });
    assert.match(await run('diff -f -', less), /^$/);
  });

  it('sets the selector of a disruption budget as a whole', async () => {
    const { run } = await scopedKubectl(cluster, 'budget');
    const budget = (matchLabels: Fields): string =>
      JSON.stringify({
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'budget' },
        spec: { maxUnavailable: 1, selector: { matchLabels } },
      });
    await run('apply -f -', budget({ app: 'web', tier: 'front' }));
    await run('apply -f -', budget({ app: 'other' }));
    assert.equal(await run('get pdb budget -o jsonpath={.spec.selector.matchLabels}'), '{"app":"other"}');
  });

  it('takes cluster-scoped objects whose manifests name a namespace', async () => {
    const { run } = await scopedKubectl(cluster, 'named-namespace');
    const role = JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'with-namespace', namespace: 'named-namespace' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
    });
    for (const words of ['create -f -', 'apply -f -', 'apply --server-side --force-conflicts -f -', 'replace -f -'])
      assert.match(await run(words, role), /^clusterrole.rbac.authorization.k8s.io\/with-namespace /);
    assert.equal(await run('get clusterrole with-namespace -o jsonpath={.metadata.namespace}'), '');
    await run('delete -f -', role);
  });

  it('keeps and shows the last applied configuration', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'last');
    await run('create configmap map --from-literal=a=b');
    assert.match(
      await refused('apply set-last-applied -f -', configMap({ a: 'b' })),
      /no last-applied-configuration annotation found.*--create-annotation/,
    );
    assert.equal(
      await run('apply set-last-applied --create-annotation -f -', configMap({ a: 'b' })),
      'configmap/map configured',
    );
    assert.equal(await run('apply -f -', configMap({})), 'configmap/map configured');
    assert.equal(await run('get configmap map -o jsonpath={.data}'), '');
    assert.equal(
      await run('apply edit-last-applied configmap/map', undefined, {
        KUBE_EDITOR: 'sed -i s/^data:.*/data:\\ {x:\\ z}/',
      }),
      'configmap/map edited',
    );
    assert.match(await run('apply view-last-applied configmap/map'), /^data:\n {2}x: z$/m);
    assert.equal((await run('apply view-last-applied configmap/map -o json')).startsWith('{'), true);
    const { stderr } = await (await scopedKubectl(cluster, 'last-other')).try('apply -f -', configMap({ a: 'b' }));
    assert.equal(stderr, '');
    await run('create configmap plain');
    const warned = await cluster.tryKubectl(
      ['apply', '-f', '-', '--namespace=last'],
      configMap({ a: 'b' }, { name: 'plain' }),
    );
    assert.match(warned.stderr, /missing the kubectl\.kubernetes\.io\/last-applied-configuration annotation/);
    assert.equal(warned.stdout, 'configmap/plain configured\n');
  });

  it('prunes objects that are no longer in the set', async () => {
    const { run } = await scopedKubectl(cluster, 'prunes');
    const object = (kind: string, name: string): Fields => ({
      apiVersion: 'v1',
      kind,
      metadata: { name, labels: { set: 'x' } },
      ...(kind === 'Service' && { spec: { ports: [{ port: 80 }] } }),
    });
    const set = (...items: readonly Fields[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const allowed = '--prune -l set=x --prune-allowlist=core/v1/ConfigMap --prune-allowlist=core/v1/Service';
    await run(`apply ${allowed} -f -`, set(object('ConfigMap', 'a'), object('Service', 's')));
    await run('create configmap other');
    await run('label configmap other set=x');
    assert.equal(
      await run('apply --prune -l set=x --prune-allowlist=core/v1/ConfigMap -f -', set(object('ConfigMap', 'b'))),
      'configmap/b created\nconfigmap/a pruned',
    );
    assert.match(
      await run(`apply ${allowed} --dry-run=server -f -`, set(object('ConfigMap', 'b'))),
      /service\/s pruned \(server dry run\)/,
    );
    assert.match(await run(`apply ${allowed} -f -`, set(object('ConfigMap', 'b'))), /service\/s pruned$/);
    assert.equal(await run('get configmaps,services -l set=x -o name'), 'configmap/b\nconfigmap/other');
  });

  it('prunes by the ApplySet of a parent object', async () => {
    const { run } = await scopedKubectl(cluster, 'sets');
    const folder = path.join(cluster.folder, 'set');
    mkdirSync(folder);
    for (const name of ['a', 'b']) writeFileSync(path.join(folder, `${name}.json`), configMap({ n: name }, { name }));
    const alpha = { KUBECTL_APPLYSET: 'true' };
    assert.match(
      await run(`apply --prune --applyset=mine -f ${folder}`, undefined, alpha),
      /configmap\/a created\nconfigmap\/b created/,
    );
    assert.match(
      await run([
        'get',
        'secret',
        'mine',
        '-o',
        'jsonpath={.metadata.annotations.applyset\\.kubernetes\\.io/contains-group-kinds} {.metadata.labels.applyset\\.kubernetes\\.io/id}',
      ]),
      /^ConfigMap applyset-\S+-v1$/,
    );
    rmSync(path.join(folder, 'a.json'));
    assert.match(await run(`apply --prune --applyset=mine -f ${folder}`, undefined, alpha), /configmap\/a pruned/);
    assert.equal(await run('get configmaps -l applyset.kubernetes.io/part-of -o name'), 'configmap/b');
  });

  it('makes what kustomize makes', async () => {
    const { run, try: attempt } = await scopedKubectl(cluster, 'kustomized');
    const folder = path.join(cluster.folder, 'kustomize');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'map.json'), configMap({ a: 'b' }));
    writeFileSync(
      path.join(folder, 'kustomization.yaml'),
      'namePrefix: pre-\nresources: [map.json]\nlabels: [{pairs: {k: v}}]\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n',
    );
    assert.equal((await attempt(`diff -k ${folder}`)).code, 1);
    assert.match(await run(`apply -k ${folder}`), /^configmap\/pre-made-\w+ created\nconfigmap\/pre-map created$/);
    assert.equal((await attempt(`diff -k ${folder}`)).code, 0);
    assert.match(await run(`get -k ${folder} -o name`), /pre-map/);
    assert.match(await run(`delete -k ${folder}`), /"pre-map" deleted/);
  });
});

describe('kubectl apply --server-side', { concurrency: 4 }, () => {
  const apply = 'apply --server-side -f -';

  it('reports conflicts, and a forced apply takes over the fields', async () => {
    const scoped = await scopedKubectl(cluster, 'conflicts');
    const { run, refused } = scoped;
    const owned = async (manager: string): Promise<readonly string[]> =>
      Object.keys(
        JSON.parse(
          (await run([
            'get',
            'configmap',
            'map',
            '--show-managed-fields',
            '-o',
            `jsonpath={.metadata.managedFields[?(@.manager=="${manager}")].fieldsV1.f:data}`,
          ])) || '{}',
        ) as object,
      );
    assert.equal(
      await run(`${apply} --field-manager=one`, configMap({ a: '1', b: '2' })),
      'configmap/map serverside-applied',
    );
    assert.match(
      await refused(`${apply} --field-manager=two`, configMap({ a: '9', b: '2' })),
      /Apply failed with 1 conflict: conflict with "one": \.data\.a/,
    );
    await run('patch configmap map --type=merge --field-manager=three -p {"data":{"b":"8"}}');
    const both = await refused(`${apply} --field-manager=two`, configMap({ a: '9', b: '2' }));
    assert.match(
      both,
      /Apply failed with 2 conflicts: conflicts? with "one".*:\n- \.data\.a\nconflicts? with "three".*:\n- \.data\.b/,
    );
    assert.equal(
      await run(`${apply} --field-manager=two --force-conflicts`, configMap({ a: '9', c: '3' })),
      'configmap/map serverside-applied',
    );
    assert.deepEqual([await owned('one'), await owned('two'), await owned('three')], [[], ['f:a', 'f:c'], ['f:b']]);
    await run(`${apply} --field-manager=two --dry-run=server`, configMap({}));
    assert.equal(await run('get configmap map -o jsonpath={.data}'), '{"a":"9","b":"8","c":"3"}');
    await run(`${apply} --field-manager=two`, configMap({}));
    assert.equal(await run('get configmap map -o jsonpath={.data}'), '{"b":"8"}');
  });

  it('removes a field with several owners only when the last owner drops it', async () => {
    const { run } = await scopedKubectl(cluster, 'shared');
    await run(`${apply} --field-manager=one`, configMap({ a: '1' }));
    await run(`${apply} --field-manager=two`, configMap({ a: '1', b: '2' }));
    await run(`${apply} --field-manager=one`, configMap({}));
    assert.equal(await run('get configmap map -o jsonpath={.data}'), '{"a":"1","b":"2"}');
    await run(`${apply} --field-manager=two`, configMap({ b: '2' }));
    assert.equal(await run('get configmap map -o jsonpath={.data}'), '{"b":"2"}');
  });

  it('takes over from the client’s side and gives back', async () => {
    const scoped = await scopedKubectl(cluster, 'migrates');
    const { run, try: attempt } = scoped;
    await run('apply -f -', full);
    assert.ok((await managers(scoped, 'deployment/web')).includes('kubectl-client-side-apply Update'));
    assert.equal((await attempt('diff --server-side -f -', less)).code, 1);
    assert.equal(await run(apply, less), 'deployment.apps/web serverside-applied');
    assert.equal(
      await run(
        'get deployment web -o jsonpath={.metadata.labels}{.spec.template.spec.containers[*].name}{.spec.template.spec.containers[0].env}',
      ),
      '{"a":"1"}one[{"name":"B","value":"3"}]',
    );
    const after = await managers(scoped, 'deployment/web');
    assert.ok(after.includes('kubectl Apply') && !after.includes('kubectl-client-side-apply Update'), String(after));
    assert.equal((await attempt('diff --server-side -f -', less)).code, 0);
    assert.equal(await run('apply -f -', full), 'deployment.apps/web configured');
    assert.equal(
      await run('get deployment web -o jsonpath={.metadata.labels.gone}{.spec.template.spec.containers[*].name}'),
      '2one two',
    );
  });

  it('refuses what has no schema, no name or no sense', async () => {
    const { refused, run } = await scopedKubectl(cluster, 'refuses');
    const pod = (containers: unknown, metadata: Fields = { name: 'a' }): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } });
    assert.match(
      await refused(apply, pod([{ name: 'a', image: 'b', colour: 'red' }])),
      /\.spec\.containers\[name="a"\]\.colour: field not declared in schema/,
    );
    assert.match(
      await refused(
        apply,
        pod([
          { name: 'a', image: 'b' },
          { name: 'a', image: 'c' },
        ]),
      ),
      /\.spec\.containers: duplicate entries for key \[name="a"\]/,
    );
    assert.match(await refused(apply, pod({ a: 'b' })), /\.spec\.containers: expected list, got/);
    assert.match(
      await refused(apply, pod([{ name: 'a' }])),
      /The Pod "a" is invalid: spec\.containers\[0\]\.image: Required value/,
    );
    assert.match(await refused(apply, pod([], { generateName: 'a-' })), /cannot use generate name with apply/);
    assert.equal(await run('get pods -o name'), '');
  });
});

describe('kubectl replace and edit', { concurrency: 4 }, () => {
  it('replace only what has not changed meanwhile, and what is there', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'replaces');
    await run('create configmap map --from-literal=a=1');
    const stored = await run('get configmap map -o json');
    await run('label configmap map x=y');
    assert.match(
      await refused('replace -f -', stored),
      /\(Conflict\).*Operation cannot be fulfilled on configmaps "map": the object has been modified; please apply your changes to the latest version and try again/,
    );
    assert.equal(await run('replace -f -', configMap({ b: '2' })), 'configmap/map replaced');
    assert.equal(await run('get configmap map -o jsonpath={.data}{.metadata.labels}'), '{"b":"2"}');
    const uid = await run('get configmap map -o jsonpath={.metadata.uid}');
    // kubectl names the namespace since 1.34.
    assert.match(
      await run('replace --force -f -', configMap({ c: '3' })),
      /^configmap "map" deleted(?: from replaces namespace)?\nconfigmap\/map replaced$/,
    );
    assert.notEqual(await run('get configmap map -o jsonpath={.metadata.uid}'), uid);
    assert.match(await refused('replace -f -', configMap({}, { name: 'none' })), /configmaps "none" not found/);
    assert.equal(await run('replace --force -f -', configMap({}, { name: 'none' })), 'configmap/none replaced');
  });

  it('edit with any editor, which opens again after an invalid change', async () => {
    const { run, try: attempt } = await scopedKubectl(cluster, 'edits');
    await run('apply -f -', full);
    const edit = (script: string, ...words: readonly string[]): ReturnType<typeof attempt> =>
      attempt(['edit', 'deployment', 'web', ...words], undefined, { KUBE_EDITOR: `sed -i ${script}` });
    assert.equal((await edit('s/^\\ \\ replicas:.*/\\ \\ replicas:\\ 3/')).stdout, 'deployment.apps/web edited\n');
    assert.equal(await run('get deployment web -o jsonpath={.spec.replicas}'), '3');
    const invalid = await edit('s/^\\ \\ replicas:.*/\\ \\ replicas:\\ -1/');
    assert.deepEqual([invalid.code, /deployments\.apps "web" is invalid/.test(invalid.stderr)], [1, true]);
    assert.match(
      (await edit('s/nothing/else/')).stderr + (await edit('s/nothing/else/')).stdout,
      /Edit cancelled, no changes made/,
    );
    assert.equal(await run('get deployment web -o jsonpath={.spec.replicas}'), '3');
    assert.equal(
      (await edit('s/^\\ \\ observedGeneration:.*/\\ \\ observedGeneration:\\ 99/', '--subresource=status')).code,
      0,
    );
  });
});

describe('kubectl patch', { concurrency: 4 }, () => {
  it('patches in three ways, from the command line or a file', async () => {
    const { run } = await scopedKubectl(cluster, 'patches');
    await run('apply -f -', full);
    const patch = (body: unknown, ...words: readonly string[]): Promise<string> =>
      run(['patch', 'deployment', 'web', '-p', JSON.stringify(body), ...words]);
    const containers = (list: readonly Fields[]): Fields => ({ spec: { template: { spec: { containers: list } } } });
    const read = (path: string): Promise<string> => run(['get', 'deployment', 'web', '-o', `jsonpath=${path}`]);
    assert.equal(await patch({ spec: { replicas: 3 } }), 'deployment.apps/web patched');
    assert.equal(await patch({ spec: { replicas: 3 } }), 'deployment.apps/web patched (no change)');
    await patch(
      containers([
        { name: 'one', env: [{ name: 'A', $patch: 'delete' }] },
        { name: 'three', image: 'image:3' },
      ]),
    );
    assert.equal(
      await read(
        '{.spec.template.spec.containers[*].name}:{.spec.template.spec.containers[?(@.name=="one")].env[*].name}',
      ),
      'one three two:B',
    );
    await patch(containers([{ name: 'only', image: 'image:4' }]), '--type=merge');
    assert.equal(await read('{.spec.template.spec.containers[*].name}'), 'only');
    await patch(
      [
        { op: 'test', path: '/metadata/labels/a', value: '1' },
        { op: 'remove', path: '/metadata/labels/gone' },
        { op: 'add', path: '/metadata/labels/b~1c', value: 'd' },
      ],
      '--type=json',
    );
    assert.equal(await read('{.metadata.labels}'), '{"a":"1","b/c":"d"}');
    const file = path.join(cluster.folder, 'patch.yaml');
    writeFileSync(file, 'spec:\n  replicas: 5\n');
    await run(`patch deployment web --patch-file ${file}`);
    assert.equal(await read('{.spec.replicas}'), '5');
    assert.equal(await run('patch -f - --local -p {"spec":{"replicas":7}} -o jsonpath={.spec.replicas}', full), '7');
    assert.equal(await patch({ spec: { replicas: 9 } }, '--dry-run=server', '-o', 'jsonpath={.spec.replicas}'), '9');
    assert.equal(await read('{.spec.replicas}'), '5');
  });

  it('patches subresources, and only them', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'parts');
    await run(['create', 'deployment', 'web', '--image=nginx', '--replicas=1']);
    assert.equal(
      await run('patch deployment web --subresource=scale --type=merge -p {"spec":{"replicas":4}}'),
      'scale.autoscaling/web patched',
    );
    await run([
      'patch',
      'deployment',
      'web',
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"collisionCount":7},"spec":{"replicas":1}}',
    ]);
    assert.equal(await run('get deployment web -o jsonpath={.spec.replicas},{.status.collisionCount}'), '4,7');
    await run(['patch', 'deployment', 'web', '-p', '{"status":{"collisionCount":8}}']);
    assert.equal(await run('get deployment web -o jsonpath={.status.collisionCount}'), '7');
    assert.match(
      await refused('patch deployment web --subresource=scale --type=merge -p {"spec":{"replicas":-1}}'),
      /spec\.replicas: Invalid value: -1/,
    );
    assert.match(await refused('patch configmap map --subresource=status -p {}'), /NotFound|could not find/);
  });

  it('refuses patches that are none, or make nothing valid', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'invalid-patches');
    await run('apply -f -', full);
    const before = await run('get deployment web -o jsonpath={.spec}');
    const cases: readonly (readonly [string, unknown, RegExp])[] = [
      [
        'json',
        [{ op: 'test', path: '/metadata/labels/a', value: 'other' }],
        /the server rejected our request due to an error in our request/,
      ],
      [
        'json',
        [{ op: 'remove', path: '/spec/nothing' }],
        /the server rejected our request due to an error in our request/,
      ],
      ['json', [{ op: 'fly', path: '/spec' }], /the server rejected our request due to an error in our request/],
      ['json', { op: 'test' }, /\(BadRequest\).*error decoding patch/],
      ['merge', [], /\(BadRequest\).*error decoding patch/],
      ['strategic', { spec: 'x' }, /invalid|Invalid/],
      [
        'strategic',
        { spec: { template: { spec: { containers: [{ image: 'x' }] } } } },
        /does not contain declared merge key: name/,
      ],
      [
        'strategic',
        { spec: { selector: { matchLabels: { app: 'other' } } } },
        /spec\.template\.metadata\.labels: Invalid value: .*`selector` does not match template `labels`[\s\S]*spec\.selector: Invalid value: .*field is immutable/,
      ],
      ['strategic', { metadata: { resourceVersion: '1' } }, /\(Conflict\)/],
      [
        'strategic',
        { metadata: { name: 'other' } },
        /the name of the object \(other\) does not match the name on the URL \(web\)/,
      ],
      ['strategic', { metadata: { uid: 'other' } }, /metadata\.uid: Invalid value: "other": field is immutable/],
      [
        'merge',
        { spec: { template: { spec: { containers: null } } } },
        /spec\.template\.spec\.containers: Required value/,
      ],
      ['merge', { metadata: { finalizers: ['nameless'] } }, /metadata\.finalizers\[0\]: Invalid value: "nameless"/],
    ];
    for (const [type, patch, said] of cases)
      assert.match(
        await refused(['patch', 'deployment', 'web', `--type=${type}`, '-p', JSON.stringify(patch)]),
        said,
        JSON.stringify(patch),
      );
    assert.match(await refused(['patch', 'deployment', 'web', '-p', 'a: [']), /unable to parse/);
    assert.match(await refused('patch deployment none -p {}'), /deployments\.apps "none" not found/);
    assert.equal(await run('get deployment web -o jsonpath={.spec}'), before);
  });
});
