// Custom kinds from their definition to their end, as kubectl sees them, and over a restart.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '../../src/up/processes.ts';
import { startConversionWebhook } from './support/conversion-webhook.ts';
import type { ConversionWebhook } from './support/conversion-webhook.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';

const string = { type: 'string' };
const sizeSchema = {
  type: 'object',
  description: 'A thing.',
  properties: {
    spec: {
      type: 'object',
      required: ['color'],
      properties: {
        color: { ...string, pattern: '^[a-z]+$', description: 'What it looks like.' },
        shape: { ...string, default: 'round' },
        size: { type: 'integer', minimum: 1, maximum: 9 },
        port: { 'x-kubernetes-int-or-string': true },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', required: ['name'], properties: { name: string, value: string } },
        },
      },
    },
    status: { type: 'object', properties: { size: { type: 'integer' }, selector: string } },
  },
};

const definition = (versions: readonly object[], names: object = {}, scope = 'Namespaced'): string =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope,
      names: { plural: 'things', kind: 'Thing', shortNames: ['th'], categories: ['all'], ...names },
      versions,
    },
  });
const version = (name: string, more: object = {}): object => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: sizeSchema },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: '.spec.size',
      statusReplicasPath: '.status.size',
      labelSelectorPath: '.status.selector',
    },
  },
  additionalPrinterColumns: [
    { name: 'Color', type: 'string', jsonPath: '.spec.color' },
    { name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1 },
  ],
  selectableFields: [{ jsonPath: '.spec.color' }],
  ...more,
});
const thing = (name: string, spec: object, apiVersion = 'example.com/v1'): string =>
  JSON.stringify({ apiVersion, kind: 'Thing', metadata: { name }, spec });

describe('custom kinds', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster();
    await cluster.kubectl(['apply', '-f', '-'], definition([version('v1')]));
    await cluster.kubectl(['wait', '--for=condition=Established', 'crd/things.example.com']);
  });
  after(() => cluster.stop());

  const apply = (input: string, ...args: string[]): Promise<string> =>
    cluster.kubectl(['apply', ...args, '-f', '-'], input);
  const refusal = async (args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await cluster.tryKubectl(args, input);
    assert.notEqual(code, 0, `${args.join(' ')} should have failed: ${stdout}`);
    return stderr.trim();
  };
  const read = (name: string, path: string): Promise<string> =>
    cluster.kubectl(['get', 'thing', name, '-o', `jsonpath=${path}`]);

  it('are applied with their defaults, shown in their columns, found by short name, category and field', async () => {
    await apply(thing('a', { color: 'red', size: 3, port: 'http' }));
    await apply(thing('b', { color: 'blue' }));
    assert.equal(await read('a', '{.spec.shape} {.metadata.generation}'), 'round 1');
    assert.match(await cluster.kubectl(['get', 'th', 'a']), /^NAME +COLOR\na +red$/m);
    assert.match(await cluster.kubectl(['get', 'th', 'b', '-o', 'wide']), /^NAME +COLOR +SIZE\nb +blue *$/m);
    assert.equal(
      await cluster.kubectl(['get', 'things', '--field-selector=spec.color=blue', '-o', 'name']),
      'thing.example.com/b\n',
    );
    assert.match(
      await refusal(['get', 'things', '--field-selector=spec.size=1']),
      /field label not supported: spec.size/,
    );
    assert.match(await cluster.kubectl(['get', 'all', '-o', 'name']), /thing.example.com\/a/);
  });

  it('are explained', async () => {
    assert.match(
      await cluster.kubectl(['explain', 'thing.spec.color']),
      /FIELD: color <string>[^]*What it looks like\./,
    );
  });

  it('refuse what their schema does not allow, and unknown fields as the request says', async () => {
    assert.equal(
      await refusal(['apply', '--validate=false', '-f', '-'], thing('x', { color: 'R', size: 'x', odd: 1 })),
      [
        'The Thing "x" is invalid: ',
        `* spec.color: Invalid value: "R": spec.color in body should match '^[a-z]+$'`,
        '* spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
      ].join('\n'),
    );
    assert.match(await refusal(['create', '-f', '-'], thing('x', { color: 'r', odd: 1 })), /unknown field "spec.odd"/);
    await apply(thing('dropped', { color: 'r', odd: 1 }), '--validate=false');
    assert.equal(await read('dropped', '{.spec}'), '{"color":"r","shape":"round"}');
  });

  describe('with rules in CEL', () => {
    const ruled = (rule: object): string =>
      definition([version('v1')], { plural: 'ruleds', kind: 'Ruled', shortNames: [] })
        .replace('things.example.com', 'ruleds.example.com')
        .replace(
          '"shape":{',
          `"limit":${JSON.stringify({ type: 'integer', 'x-kubernetes-validations': [rule] })},"shape":{`,
        );
    const object = (limit: number, color = 'red'): string =>
      thing('ruled', { color, limit }).replace('"Thing"', '"Ruled"');

    it('are refused when a rule does not compile', async () => {
      assert.match(
        await refusal(['create', '-f', '-'], ruled({ rule: 'self == "a"' })),
        /properties\[limit\]\.x-kubernetes-validations\[0\]\.rule: Invalid value: .*compilation failed: ERROR: <input>:1:6: found no matching overload/,
      );
    });

    it('reject objects that break a rule, and warn about faults of the stored object', async () => {
      const grows = { rule: 'self < 10', message: 'limit must stay below ten' };
      await apply(ruled(grows));
      await cluster.kubectl(['wait', '--for=condition=Established', 'crd/ruleds.example.com']);
      assert.equal(
        await refusal(['create', '-f', '-'], object(12)),
        'The Ruled "ruled" is invalid: spec.limit: Invalid value: 12: limit must stay below ten',
      );
      await cluster.kubectl(['create', '-f', '-'], object(9));
      await apply(ruled({ ...grows, rule: 'self < 5' }));
      const patch = ['patch', 'ruled', 'ruled', '--type=merge', '-p'];
      assert.ok(
        await waitUntil(
          async () => (await cluster.tryKubectl([...patch, '{"spec":{"color":"blue"}}'])).stderr.includes('Warning'),
          5000,
          100,
        ),
      );
      assert.match(await refusal([...patch, '{"spec":{"limit":8}}']), /Invalid value: 8: limit must stay below ten/);
      await cluster.kubectl(['delete', 'crd', 'ruleds.example.com']);
    });
  });

  describe('with a conversion webhook', () => {
    const fields = (...names: string[]): object => ({
      type: 'object',
      properties: {
        spec: { type: 'object', properties: Object.fromEntries(names.map((name) => [name, string])) },
      },
    });
    const served = (name: string, storage: string, ...names: string[]): object => ({
      name,
      served: true,
      storage: name === storage,
      schema: { openAPIV3Schema: fields(...names) },
      selectableFields: [{ jsonPath: `.spec.${names[0] ?? ''}` }],
    });
    const ends = (storage: string): string => {
      const versions = [served('v1', storage, 'hostPort'), served('v2', storage, 'host', 'port')];
      return JSON.stringify({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'ends.example.com' },
        spec: {
          group: 'example.com',
          scope: 'Namespaced',
          names: { plural: 'ends', kind: 'End' },
          versions,
          conversion: webhook.conversion,
        },
      });
    };
    const end = (of: string, name: string, spec: object): string =>
      JSON.stringify({ apiVersion: `example.com/${of}`, kind: 'End', metadata: { name }, spec });
    const specs = (of: string, ...more: string[]): Promise<string> =>
      cluster.kubectl(['get', `ends.${of}.example.com`, ...more, '-o', 'jsonpath={range .items[*]}{.spec}{end}']);
    let webhook: ConversionWebhook;
    before(async () => {
      webhook = await startConversionWebhook();
      await apply(ends('v1'));
      await cluster.kubectl(['wait', '--for=condition=Established', 'crd/ends.example.com']);
    });
    after(() => webhook.close());

    it('are read and written in every version', async () => {
      await cluster.kubectl(['create', '-f', '-'], end('v1', 'a', { hostPort: 'x:1' }));
      await cluster.kubectl(['create', '-f', '-'], end('v2', 'b', { host: 'y', port: '2' }));
      assert.equal(await specs('v1'), '{"hostPort":"x:1"}{"hostPort":"y:2"}');
      assert.equal(await specs('v2'), '{"host":"x","port":"1"}{"host":"y","port":"2"}');
      assert.equal(webhook.asked.at(-1), 1, 'what was converted before is not sent again');
      assert.equal(await specs('v2', '--field-selector=spec.host=y'), '{"host":"y","port":"2"}');
      await cluster.kubectl(['patch', 'ends.v2.example.com', 'a', '--type=merge', '-p', '{"spec":{"port":"3"}}']);
      assert.equal(await specs('v1'), '{"hostPort":"x:3"}{"hostPort":"y:2"}');
    });

    it('are watched in the order of their changes', async () => {
      const watch = ['get', 'ends.v2.example.com', '-w', '-o', 'jsonpath={.metadata.name}{.spec.port};'];
      const watched = cluster.follow(watch, (text) => /w1;w2;w3;w4;/.test(text));
      await cluster.kubectl(['create', '-f', '-'], end('v1', 'w', { hostPort: 'x:1' }));
      for (const port of [2, 3, 4])
        await cluster.kubectl([
          'patch',
          'ends.v1.example.com',
          'w',
          '--type=merge',
          '-p',
          `{"spec":{"hostPort":"x:${port}"}}`,
        ]);
      await watched;
      await cluster.kubectl(['delete', 'ends.v1.example.com', 'w']);
    });

    it('are judged by policies, whose rules name another version', async () => {
      const named = (kind: string, spec: object): string =>
        JSON.stringify({
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind,
          metadata: { name: 'no-bad-ends' },
          spec,
        });
      const rule = { apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['*'], resources: ['ends'] };
      const policy = {
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "!object.spec.hostPort.startsWith('bad')", message: 'a bad end' }],
      };
      await apply(named('ValidatingAdmissionPolicy', policy));
      const binding = { policyName: 'no-bad-ends', validationActions: ['Deny'] };
      await apply(named('ValidatingAdmissionPolicyBinding', binding));
      const bad = ['create', '--dry-run=server', '-f', '-'];
      assert.match(await refusal(bad, end('v1', 'bad', { hostPort: 'bad:1' })), /denied request: a bad end/);
      assert.match(await refusal(bad, end('v2', 'bad', { host: 'bad', port: '1' })), /denied request: a bad end/);
      await cluster.kubectl(['create', '--dry-run=server', '-f', '-'], end('v2', 'good', { host: 'good', port: '1' }));
      await cluster.kubectl(['delete', 'validatingadmissionpolicies,validatingadmissionpolicybindings', 'no-bad-ends']);
    });

    it('stay as they are stored when the storage version changes, and are read as before', async () => {
      await apply(ends('v2'));
      const stored = ['get', 'crd', 'ends.example.com', '-o', 'jsonpath={.status.storedVersions}'];
      assert.equal(await cluster.kubectl(stored), '["v1","v2"]');
      await cluster.kubectl(['create', '-f', '-'], end('v1', 'c', { hostPort: 'z:9' }));
      assert.equal(await specs('v1'), '{"hostPort":"x:3"}{"hostPort":"y:2"}{"hostPort":"z:9"}');
      assert.equal(await specs('v2'), '{"host":"x","port":"3"}{"host":"y","port":"2"}{"host":"z","port":"9"}');
    });

    it('cannot be read in another version while the webhook fails, and are there again after it', async () => {
      webhook.refuse('out of order');
      await cluster.kubectl(['create', '-f', '-'], end('v2', 'd', { host: 'd', port: '1' }));
      assert.match(
        await refusal(['get', 'ends.v1.example.com', 'd']),
        /conversion webhook for example.com\/v2, Kind=End failed: out of order/,
      );
      assert.match(await refusal(['get', 'ends.v1.example.com']), /out of order/);
      // Neither other kinds nor other namespaces wait for it.
      await cluster.kubectl(['get', 'things']);
      await cluster.kubectl(['create', 'namespace', 'without-ends']);
      await cluster.kubectl(['delete', 'namespace', 'without-ends', '--timeout=20s']);
      webhook.refuse(undefined);
      assert.match(await cluster.kubectl(['get', 'ends.v1.example.com', 'd', '-o', 'jsonpath={.spec}']), /d:1/);
    });

    it('are all in the storage version after a migration, which frees the former version', async () => {
      const drop = [
        'patch',
        'crd',
        'ends.example.com',
        '--type=json',
        '-p',
        '[{"op":"remove","path":"/spec/versions/0"}]',
      ];
      assert.match(await refusal(drop), /status.storedVersions\[0\]: Invalid value: "v1": missing from spec.versions/);
      const migration = {
        apiVersion: 'storagemigration.k8s.io/v1beta1',
        kind: 'StorageVersionMigration',
        metadata: { name: 'ends' },
        spec: { resource: { group: 'example.com', resource: 'ends' } },
      };
      await cluster.kubectl(['create', '-f', '-'], JSON.stringify(migration));
      await cluster.kubectl(['wait', '--for=condition=Running=False', 'storageversionmigration/ends', '--timeout=20s']);
      assert.match(
        await cluster.kubectl(['get', 'storageversionmigrations']),
        /^NAME +RESOURCE +STATUS\nends +ends.example.com +Succeeded$/m,
      );
      const stored = ['get', 'crd', 'ends.example.com', '-o', 'jsonpath={.status.storedVersions}'];
      assert.equal(await cluster.kubectl(stored), '["v2"]');
      await cluster.kubectl(drop);
      webhook.refuse('not asked');
      assert.match(await specs('v2'), /^\{"host":"x","port":"3"\}/);
      await cluster.kubectl(['delete', 'crd', 'ends.example.com']);
    });
  });

  it('are patched, but not by strategic merge patches', async () => {
    await cluster.kubectl(['patch', 'thing', 'a', '--type=json', '-p', '[{"op":"add","path":"/spec/port","value":8}]']);
    await cluster.kubectl(['patch', 'thing', 'a', '--type=merge', '-p', '{"spec":{"size":4}}']);
    assert.equal(await read('a', '{.spec.port} {.spec.size} {.metadata.generation}'), '8 4 3');
    assert.match(
      await refusal(['patch', 'thing', 'a', '--type=strategic', '-p', '{}']),
      /is not supported by example.com/,
    );
  });

  it('have the lists that several managers apply merged by their keys', async () => {
    const parts = (...names: string[]): object => ({
      color: 'red',
      parts: names.map((name) => ({ name, value: '1' })),
    });
    const as = (manager: string): string[] => ['--server-side', `--field-manager=${manager}`];
    await apply(thing('merged', parts('x')), ...as('one'));
    await apply(thing('merged', parts('y')), ...as('two'));
    assert.equal(await read('merged', '{.spec.parts[*].name}'), 'x y');
    await apply(thing('merged', parts()), ...as('one'));
    assert.equal(await read('merged', '{.spec.parts[*].name}'), 'y');
  });

  it('keep status and spec apart, and scale', async () => {
    const status = '{"spec":{"color":"none"},"status":{"size":4,"selector":"a=b"}}';
    await cluster.kubectl(['patch', 'thing', 'a', '--subresource=status', '--type=merge', '-p', status]);
    assert.equal(await read('a', '{.spec.color} {.status.size} {.metadata.generation}'), 'red 4 3');
    await cluster.kubectl(['scale', 'thing/a', '--replicas=5']);
    const scale = JSON.parse(
      await cluster.kubectl(['get', '--raw', '/apis/example.com/v1/namespaces/default/things/a/scale']),
    ) as { readonly spec: object; readonly status: object };
    assert.deepEqual([scale.spec, scale.status], [{ replicas: 5 }, { replicas: 4, selector: 'a=b' }]);
    assert.match(await refusal(['scale', 'thing/a', '--replicas=10']), /should be less than or equal to 9/);
  });

  it('own objects of built-in kinds, and are owned by them', async () => {
    const owned = (kind: string, apiVersion: string, name: string, owner: object): string =>
      JSON.stringify({ apiVersion, kind, metadata: { name, ownerReferences: [owner] }, spec: { color: 'red' } });
    const uidOf = (what: string): Promise<string> => cluster.kubectl(['get', what, '-o', 'jsonpath={.metadata.uid}']);
    const create = (input: string): Promise<string> =>
      cluster.kubectl(['create', '--validate=false', '-f', '-'], input);
    await cluster.kubectl(['create', 'configmap', 'top']);
    const top = { apiVersion: 'v1', kind: 'ConfigMap', name: 'top', uid: await uidOf('cm/top') };
    await create(owned('Thing', 'example.com/v1', 'middle', top));
    const middle = { apiVersion: 'example.com/v1', kind: 'Thing', name: 'middle', uid: await uidOf('thing/middle') };
    await create(owned('Secret', 'v1', 'bottom', middle));
    await cluster.kubectl(['delete', 'cm', 'top']);
    await cluster.kubectl(['wait', '--for=delete', 'thing/middle', 'secret/bottom', '--timeout=20s']);
    await create(thing('parent', { color: 'red' }));
    const parent = { ...middle, name: 'parent', uid: await uidOf('thing/parent') };
    await create(owned('Thing', 'example.com/v1', 'child', parent));
    await cluster.kubectl(['delete', 'thing', 'parent', '--cascade=orphan']);
    assert.equal(await read('child', '{.metadata.ownerReferences}'), '');
    await cluster.kubectl(['delete', 'thing', 'child']);
  });

  it('go with their namespace', async () => {
    await cluster.kubectl(['create', 'namespace', 'going']);
    await cluster.kubectl(['-n', 'going', 'create', '-f', '-'], thing('gone', { color: 'red' }));
    await cluster.kubectl(['delete', 'namespace', 'going']);
    assert.equal((await cluster.tryKubectl(['-n', 'going', 'get', 'thing', 'gone'])).code, 1);
  });

  it('count against a quota', async () => {
    await cluster.kubectl(['create', 'namespace', 'counted']);
    await cluster.kubectl(['-n', 'counted', 'create', 'quota', 'q', '--hard=count/things.example.com=1']);
    const used = (): Promise<string> =>
      cluster.kubectl(['-n', 'counted', 'get', 'quota', 'q', '-o', 'jsonpath={.status.used}']);
    assert.ok(await waitUntil(async () => (await used()).includes('"count/things.example.com":"0"'), 10_000, 50));
    await cluster.kubectl(['-n', 'counted', 'create', '-f', '-'], thing('one', { color: 'red' }));
    assert.match(
      await refusal(['-n', 'counted', 'create', '-f', '-'], thing('two', { color: 'red' })),
      /exceeded quota: q, requested: count\/things.example.com=1, used: count\/things.example.com=1, limited: count\/things.example.com=1/,
    );
  });

  it('are there again after a power cut', async () => {
    await cluster.kill();
    await cluster.start();
    assert.equal(await read('a', '{.spec.color}'), 'red');
  });

  it('get a second version, in which the same objects are read and written', async () => {
    await apply(definition([version('v1', { deprecated: true }), version('v2')]));
    assert.ok(
      await waitUntil(
        async () => (await cluster.tryKubectl(['get', 'things.v2.example.com', 'a'])).code === 0,
        5000,
        50,
      ),
    );
    await apply(thing('second', { color: 'green' }, 'example.com/v2'));
    const { stdout, stderr } = await cluster.tryKubectl(['get', 'things.v1.example.com', 'second', '-o', 'yaml']);
    assert.match(stdout, /apiVersion: example.com\/v1/);
    assert.match(stderr, /Warning: example.com\/v1 Thing is deprecated; use example.com\/v2 Thing/);
    // Clients prefer the higher version.
    assert.match(await cluster.kubectl(['get', 'thing', 'a', '-o', 'yaml']), /apiVersion: example.com\/v2/);
  });

  it('are emptied when their definition goes: watchers see each object go, and the kind is no longer there', async () => {
    const watched = cluster.follow(['get', 'things', '-w', '--output-watch-events'], (text) => /DELETED +a/.test(text));
    const held = thing('held', { color: 'red' }).replace(
      '"name":"held"',
      '"name":"held","finalizers":["example.com/x"]',
    );
    await cluster.kubectl(['create', '-f', '-'], held);
    await cluster.kubectl(['delete', 'crd', 'things.example.com', '--wait=false']);
    await watched;
    const create = ['create', '-f', '-'];
    assert.match(
      await refusal(create, thing('late', { color: 'red' })),
      /create not allowed while custom resource definition is terminating|no matches for kind/,
    );
    await cluster.kubectl([
      'patch',
      'thing',
      'held',
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/metadata/finalizers"}]',
    ]);
    await cluster.kubectl(['wait', '--for=delete', 'crd/things.example.com', '--timeout=20s']);
    assert.match(
      await refusal(['get', '--raw', '/apis/example.com/v2/things']),
      /could not find the requested resource/,
    );
    assert.doesNotMatch(await cluster.kubectl(['get', '--raw', '/openapi/v3']), /example\.com/);
    assert.doesNotMatch(await cluster.kubectl(['get', '--raw', '/apis']), /example\.com/);
  });
});
