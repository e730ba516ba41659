// create and describe of every kind, and what create says of bad input.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { certificateRequest, everyKind, everyReview } from './support/every-kind.ts';
import type { KindManifest } from './support/every-kind.ts';
import { scopedKubectl } from './support/scoped-kubectl.ts';

const list = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
const pod = (spec: object, metadata: object = { name: 'a' }): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
const configMap = (metadata: object, data: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster.stop());

describe('kubectl create', { concurrency: 4 }, () => {
  it('makes one of every kind that the server lists, and describe shows each', async () => {
    const { run, namespace } = await scopedKubectl(cluster, 'every-kind');
    const kinds = everyKind(await certificateRequest(cluster.folder), namespace);
    const named = ({ resource, name }: KindManifest): string => `${resource}/${name}`;
    const listed = await run('api-resources --verbs=list,create,delete -o name');
    const words = kinds.map(({ resource }) => resource.split('.')[0] ?? '').sort();
    assert.equal(words.length, listed.split('\n').length, `a kind has no manifest: ${listed}`);
    const created = await run('create -f -', list(kinds.map(({ manifest }) => manifest)));
    assert.deepEqual(created.split('\n').sort(), kinds.map((kind) => `${named(kind)} created`).sort());
    for (const kind of kinds) {
      // kubectl before 1.34 describes these by v1beta1, which is not served.
      if (/^(ipaddress|servicecidr|volumeattributesclass)\./.test(kind.resource)) {
        assert.match(await run(`get ${named(kind)} -o yaml`), /app: every-kind/, named(kind));
        continue;
      }
      const text = await run(`describe ${named(kind)}`);
      assert.match(text, new RegExp(`^Name:\\s+${kind.name}$`, 'm'), named(kind));
      assert.match(
        text,
        kind.resource === 'limitrange' || kind.resource === 'resourcequota'
          ? /^Resource|^Type/m
          : /app=every-kind|IsDefaultClass|GlobalDefault/,
        named(kind),
      );
    }
    const tables = await run(['get', '-f', '-'], list(kinds.map(({ manifest }) => manifest)));
    for (const { resource, name } of kinds)
      if (!resource.startsWith('event')) assert.ok(tables.includes(`${resource}/${name}`), `${resource} has no row`);
    // Each can be written as it is read.
    const stored = await run(
      ['get', '-f', '-', '-o', 'json'],
      list(
        kinds
          .filter(
            ({ resource }) =>
              !/pod$|endpoints$|daemonset|deployment|replicaset|replicationcontroller|statefulset|servicecidr|resourceclaim|job|persistentvolume|resourcequota|node$|controllerrevision|poddisruption|autoscaler/.test(
                resource,
              ),
          )
          .map(({ manifest }) => manifest),
      ),
    );
    assert.doesNotMatch(await run('replace -f -', stored), /error/i);
  });

  it('asks every kind of question that is answered and not kept', async () => {
    const answers = await cluster.kubectl(
      ['create', '-f', '-', '-o', 'jsonpath={.kind} {.status}{"\\n"}'],
      list(everyReview),
    );
    assert.deepEqual(
      answers
        .trim()
        .split('\n')
        .map((line) => line.split(' {')[0]),
      everyReview.map(({ kind }) => kind),
    );
    for (const said of [
      '"username":"kubernetes-super-admin"',
      '"error":',
      '"allowed":true',
      '"resourceRules":',
      '"allowed":false',
    ])
      assert.ok(answers.includes(said), `${said} is not in ${answers}`);
  });

  it('puts a pod on a node by a Binding', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'bindings');
    const binding = (name: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name },
        target: { kind: 'Node', name: 'any-node' },
      });
    await run('create -f -', pod({ containers: [{ name: 'main', image: 'nginx:1' }] }));
    assert.match(await refused('create -f -', binding('missing')), /pods "missing" not found/);
    await run('create -f -', binding('a'));
    assert.equal(await run('get pod a -o jsonpath={.spec.nodeName}'), 'any-node');
    assert.match(await refused('create -f -', binding('a')), /pod a is already assigned to node "any-node"/);
  });

  it('reads folders, several files and standard input, and continues after an object that it cannot create', async () => {
    const { run, try: attempt } = await scopedKubectl(cluster, 'files');
    const folder = path.join(cluster.folder, 'manifests');
    mkdirSync(path.join(folder, 'deeper'), { recursive: true });
    writeFileSync(
      path.join(folder, 'one.yaml'),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n',
    );
    writeFileSync(path.join(folder, 'deeper', 'three.json'), configMap({ name: 'three' }));
    writeFileSync(path.join(folder, 'ignored.txt'), 'no manifest');
    assert.equal(await run(`create -f ${folder}`), 'configmap/one created\nconfigmap/two created');
    const again = await attempt(`create -R -f ${folder}`);
    assert.equal(again.code, 1);
    assert.equal(again.stdout, 'configmap/three created\n');
    assert.match(again.stderr, /AlreadyExists.*configmaps "one" already exists[\s\S]*configmaps "two" already exists/);
    assert.equal(await run(`get -R -f ${folder} -o name`), 'configmap/three\nconfigmap/one\nconfigmap/two');
    assert.match(await run(`delete -R -f ${folder}`), /"three" deleted/);
  });

  it('makes up names below generateName', async () => {
    const { run } = await scopedKubectl(cluster, 'names');
    const made = [
      await run('create -o name -f -', configMap({ generateName: 'any-' })),
      await run('create -o name -f -', configMap({ generateName: 'any-' })),
    ];
    for (const name of made) assert.match(name, /^configmap\/any-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.notEqual(made[0], made[1]);
  });

  it('leaves nothing behind on a dry run, which is checked by the server all the same', async () => {
    const { run, refused } = await scopedKubectl(cluster, 'dry');
    assert.match(
      await run(
        'create deployment web --image=nginx --dry-run=server -o jsonpath={.spec.progressDeadlineSeconds},{.metadata.uid}',
      ),
      /^600,[0-9a-f-]{36}$/,
    );
    assert.equal(
      await run('create deployment web --image=nginx --dry-run=client -o jsonpath={.spec.progressDeadlineSeconds}'),
      '',
    );
    assert.equal(
      await run('create -f - --dry-run=server', pod({ containers: [{ name: 'a', image: 'b' }] })),
      'pod/a created (server dry run)',
    );
    assert.match(
      await refused('create -f - --dry-run=server', pod({ containers: [] })),
      /spec\.containers: Required value/,
    );
    assert.match(
      await refused('get deployments/web pods/a'),
      /deployments.apps "web" not found[\s\S]*pods "a" not found/,
    );
  });

  it('writes the last applied configuration with --save-config', async () => {
    const { run } = await scopedKubectl(cluster, 'saved');
    await run('create configmap plain --from-literal=a=b');
    await run('create configmap saved --from-literal=a=b --save-config');
    assert.equal(await run('get configmap plain -o jsonpath={.metadata.annotations}'), '');
    assert.match(await run('apply view-last-applied configmap/saved'), /a: b/);
    assert.equal(
      await run('create --edit -f -', configMap({ name: 'edited' }, { a: 'before' }), {
        KUBE_EDITOR: 'sed -i s/before/after/',
      }),
      'configmap/edited created',
    );
    assert.equal(await run('get configmap edited -o jsonpath={.data.a}'), 'after');
  });
});

describe('kubectl create refuses', { concurrency: 4 }, () => {
  it('unknown fields, warns of them, or says nothing, as asked', async () => {
    const { run, refused, try: attempt } = await scopedKubectl(cluster, 'fields');
    const odd = pod({ containers: [{ name: 'a', image: 'b', imag: 'c' }], foo: 1 });
    for (const flag of ['', ' --validate', ' --validate=strict', ' --validate=true']) {
      assert.match(
        await refused(`create -f -${flag}`, odd),
        /\(BadRequest\).*Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec\.containers\[0\]\.imag", unknown field "spec\.foo"/,
      );
    }
    const warned = await attempt('create -f - --validate=warn', odd);
    assert.deepEqual(
      [warned.code, warned.stderr.trim().split('\n').sort()],
      [0, ['Warning: unknown field "spec.containers[0].imag"', 'Warning: unknown field "spec.foo"']],
    );
    const ignored = await attempt('replace --force -f - --validate=ignore', odd);
    assert.deepEqual([ignored.code, ignored.stderr], [0, '']);
    assert.equal(await run('get pod a -o jsonpath={.spec.foo}{.spec.containers[0].imag}'), '');
  });

  it('wrong types, naming where', async () => {
    const { refused } = await scopedKubectl(cluster, 'types');
    assert.match(
      await refused('create -f -', pod({ containers: 'foo' })),
      /\(BadRequest\).*Pod in version "v1" cannot be handled as a Pod: .*spec\.containers/,
    );
    assert.match(
      await refused('create --validate=ignore -f -', pod({ containers: [{ name: 1, image: 'a' }] })),
      /\(BadRequest\).*name/,
    );
    assert.match(await refused('create -f -', '{"kind":"ConfigMap"}'), /apiVersion not set/);
    assert.match(await refused('create -f -', 'a: ['), /error parsing/);
  });

  it('invalid objects, with every cause', async () => {
    const { refused, run } = await scopedKubectl(cluster, 'invalid');
    const said = await refused(
      'create -f -',
      pod(
        {
          containers: [
            { name: 'c', image: '' },
            { name: 'c', image: 'b' },
          ],
          restartPolicy: 'Some',
        },
        { name: 'A_b' },
      ),
    );
    assert.match(said, /^The Pod "A_b" is invalid:/);
    assert.deepEqual(
      said
        .split('\n')
        .slice(1)
        .map((line) => line.split(': ').slice(0, 2).join(': ')),
      [
        '* metadata.name: Invalid value',
        '* spec.containers[0].image: Required value',
        '* spec.containers[1].name: Duplicate value',
        '* spec.restartPolicy: Unsupported value',
      ],
    );
    assert.match(
      await refused('create -f -', configMap({ labels: { a: 'x y' } })),
      /metadata\.name: Required value: name or generateName is required[\s\S]*metadata\.labels: Invalid value: "x y"/,
    );
    assert.match(
      await refused('create -f -', configMap({ name: 'a', finalizers: ['nodomain'] })),
      /metadata\.finalizers\[0\]: Invalid value: "nodomain"/,
    );
    assert.equal(await run('get pods -o name'), '');
  });

  it('wrong namespaces and names that are taken', async () => {
    const { refused, run } = await scopedKubectl(cluster, 'places');
    assert.match(
      await refused('create -f -', configMap({ name: 'a', namespace: 'other' })),
      /the namespace from the provided object "other" does not match the namespace "places"/,
    );
    const { code, stderr } = await cluster.tryKubectl(
      ['create', '-f', '-'],
      configMap({ name: 'a', namespace: 'nowhere' }),
    );
    assert.equal(code, 1);
    assert.match(stderr, /\(NotFound\).*namespaces "nowhere" not found/);
    await run('create configmap a');
    assert.match(await refused('create configmap a'), /configmaps "a" already exists/);
  });

  it('kinds that are not there, in the words that users know', async () => {
    const { refused, try: attempt } = await scopedKubectl(cluster, 'unknown');
    const object = (apiVersion: string, kind: string): string =>
      JSON.stringify({ apiVersion, kind, metadata: { name: 'a' } });
    for (const [apiVersion, kind] of [
      ['v1', 'Widget'],
      ['example.com/v1', 'Widget'],
      ['apps/v1beta1', 'Deployment'],
    ] as const) {
      for (const verb of ['create', 'apply', 'apply --server-side', 'delete', 'replace', 'diff']) {
        assert.match(
          await refused(`${verb} -f -`, object(apiVersion, kind)),
          new RegExp(`no matches for kind "${kind}" in version "${apiVersion}"`),
          `${verb} of ${kind}`,
        );
      }
    }
    assert.equal((await attempt('delete --ignore-not-found -f -', configMap({ name: 'a' }))).code, 0);
    assert.match(await refused('get widgets'), /the server doesn't have a resource type "widgets"/);
    assert.match(await refused('get widgets.v1.example.com'), /the server doesn't have a resource type "widgets"/);
    assert.match(
      await refused(['get', '--raw', '/apis/example.com/v1/widgets']),
      /the server could not find the requested resource/,
    );
  });
});
