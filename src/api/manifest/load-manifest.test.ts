import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { permissivePolicy } from '../validation/cluster-policy.ts';
import { validatePod } from '../validation/pod/validate-pod.ts';
import { loadManifest, locateFieldErrors } from './load-manifest.ts';
import { formatManifestError } from './manifest-error.ts';

const pod = (name: string, extra = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: default}\nspec:\n  containers:\n  - name: main\n    image: busybox:1\n${extra}`;
const errorsOf = (text: string): string[] => loadManifest(text, { fileName: 'f' }).errors.map(formatManifestError);
const names = (text: string): string[] =>
  loadManifest(text, { fileName: 'f' }).pods.map((found) => found.metadata.name);

test('several documents and lists give their pods, config maps and secrets, defaulted', () => {
  const text = `${pod('a')}---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: v}}\n- {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: v}}\n---\n{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "b"}, "spec": {"containers": []}}]}\n`;
  const loaded = loadManifest(text, { fileName: 'f' });
  assert.deepEqual(loaded.errors, []);
  assert.deepEqual(
    loaded.pods.map((found) => [found.metadata.name, found.spec.restartPolicy]),
    [
      ['a', 'Always'],
      ['b', 'Always'],
    ],
  );
  assert.deepEqual(
    loaded.objects.map(({ kind, object }) => [
      kind,
      object.metadata.name,
      'data' in object ? object.data : undefined,
      'stringData' in object,
    ]),
    [
      ['ConfigMap', 'c', { k: 'v' }, false],
      ['Secret', 's', { k: 'dg==' }, false],
    ],
  );
});

test('every kind that shapes a pod may stand there, with its own apiVersion, and as a list of its kind', () => {
  const text = [
    '{apiVersion: v1, kind: PersistentVolume, metadata: {name: p}, spec: {hostPath: {path: /srv}}}',
    '{apiVersion: v1, kind: PersistentVolumeClaimList, items: [{metadata: {name: c}, spec: {volumeName: p}}]}',
    '{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}',
    '{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: r}, handler: runc}',
    '{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d}, spec: {}}',
  ].join('\n---\n');
  const loaded = loadManifest(text, { fileName: 'f' });
  assert.deepEqual(loaded.errors, []);
  assert.deepEqual(
    loaded.objects.map(({ kind, object }) => `${object.apiVersion} ${kind} ${object.metadata.name}`),
    [
      'v1 PersistentVolume p',
      'v1 PersistentVolumeClaim c',
      'v1 Service s',
      'node.k8s.io/v1 RuntimeClass r',
      'storage.k8s.io/v1 CSIDriver d',
    ],
  );
});

test('a kind with the apiVersion of another is refused', () => {
  assert.deepEqual(errorsOf('{apiVersion: v1, kind: RuntimeClass, metadata: {name: r}, handler: runc}'), [
    'f:1:2: apiVersion: apiVersion "v1" of the "RuntimeClass" is not accepted; accepted is "node.k8s.io/v1"',
  ]);
});

test('YAML is read as upstream reads it: octal modes, yes and on, merge keys, anchors', () => {
  const text = `x: &c {name: v, configMap: {name: c, defaultMode: 0440}}\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: yes\n  containers: []\n  volumes: [*c, {<<: *c, name: w}]\n`;
  const [found] = loadManifest(text, { fileName: 'f' }).pods;
  assert.equal(found?.spec.hostNetwork, true);
  assert.deepEqual(
    found?.spec.volumes?.map((volume) => [volume.name, volume.configMap?.defaultMode]),
    [
      ['v', 0o440],
      ['w', 0o440],
    ],
  );
});

test('half a character is no character, in YAML or in JSON', () => {
  for (const text of [
    pod('a').replace('busybox:1', '"\\ud800"'),
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"\\ud800"}}',
  ])
    assert.match(errorsOf(text).join(), /found invalid Unicode character escape code/);
});

test('a broken document does not affect the others, and every error names file, line and column', () => {
  const text = `${pod('a')}---\nfoo: [1,\n---\n${pod('b', '    env: [{name: X, value: 12}]\n')}---\n${pod('c')}`;
  assert.deepEqual(names(text), ['a', 'c']);
  assert.deepEqual(errorsOf(text), [
    'f:10:1: not valid YAML or JSON: Flow sequence in block collection must be sufficiently indented and end with a ]',
    'f:18:21: spec.containers[0].env[0].value: expected a string, found the number 12; put it in quotes',
  ]);
});

test('unknown and duplicate fields are warned about with their place, and are errors when asked', () => {
  const text = pod('a', '    imagePullpolicy: Never\n    image: other\n');
  const lenient = loadManifest(text, { fileName: 'f' });
  assert.deepEqual(lenient.warnings.map(formatManifestError), [
    'f:9:5: duplicate field "spec.containers[0].image"; the last one counts',
    'f:8:5: unknown field "spec.containers[0].imagePullpolicy"; did you mean "imagePullPolicy"? (ignored)',
  ]);
  assert.equal(lenient.pods[0]?.spec.containers[0]?.image, 'other');
  const strict = loadManifest(text, { fileName: 'f', mode: 'strict' });
  assert.deepEqual([strict.pods.length, strict.errors.length > 0], [0, true]);
});

test('an error found by validation can be given its line', () => {
  const text = pod('a', '    ports:\n    - containerPort: 0\n');
  const loaded = loadManifest(text, { fileName: 'f' });
  const [found] = loaded.pods;
  assert.ok(found !== undefined);
  assert.deepEqual(
    locateFieldErrors(loaded, found, { fileName: 'f', errors: validatePod(found, permissivePolicy) }).map(
      formatManifestError,
    ),
    ['f:9:7: spec.containers[0].ports[0].containerPort: Required value'],
  );
});

test('a file that was cut off while it was written is an error that says so', () => {
  assert.match(
    errorsOf('apiVersion: v1\nkind: Pod\nmetadata:\n  name: "unfin')[0] ?? '',
    /^f:4:\d+: not valid YAML or JSON: .*was the file written to the end\?/,
  );
  assert.match(errorsOf('')[0] ?? '', /the manifest is empty/);
});

test('errors never contain the data of a Secret', () => {
  const text = 'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: hunter2!}\nstringData: {b: 1234}\n';
  assert.deepEqual(errorsOf(text), [
    'f:4:8: data[a]: expected base64 text, found a string',
    'f:5:14: stringData[b]: expected a string, found a number; put it in quotes',
  ]);
});

test('large base64 values are checked without trouble', () => {
  const text = `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "${'QUJD'.repeat(2_400_000)}"}}`;
  assert.deepEqual(errorsOf(text), []);
});

test('kinds and versions that are not accepted are refused by name', () => {
  assert.deepEqual(errorsOf('kind: Deployment\napiVersion: apps/v1'), [
    'f:1:1: kind: kind "Deployment" is not accepted; accepted are Pod, ConfigMap, Secret, PersistentVolume, PersistentVolumeClaim, Service, RuntimeClass, CSIDriver, and List or lists of one of them',
  ]);
  assert.deepEqual(errorsOf('kind: Pod\napiVersion: v2'), [
    'f:2:1: apiVersion: apiVersion "v2" of the "Pod" is not accepted; accepted is "v1"',
  ]);
  assert.deepEqual(errorsOf('kind: Pod'), ['f:1:1: the "Pod" has no apiVersion; accepted is "v1"']);
  assert.deepEqual(errorsOf('a: b'), [
    'f:1:1: the object has no kind; accepted are Pod, ConfigMap, Secret, PersistentVolume, PersistentVolumeClaim, Service, RuntimeClass, CSIDriver, and List or lists of one of them',
  ]);
});

test('bombs are refused: aliases that multiply, anchors that contain themselves, deep nesting, size, number', () => {
  const bomb = `a0: &a0 [1,2,3]\n${Array.from({ length: 12 }, (_, index) => `a${index + 1}: &a${index + 1} [${Array(10).fill(`*a${index}`).join(',')}]`).join('\n')}`;
  assert.match(errorsOf(bomb)[0] ?? '', /aliases expand to more than 20000 values/);
  assert.match(errorsOf('a: &x [*x]')[0] ?? '', /anchor &x contains itself/);
  assert.match(errorsOf('['.repeat(20_000))[0] ?? '', /nested too deeply/);
  assert.match(errorsOf(`a: ${'['.repeat(100)}${']'.repeat(100)}`)[0] ?? '', /nested deeper than 64 levels/);
  const limits = { maxBytes: 10, maxDocuments: 1, maxLexemes: 5 };
  assert.match(
    loadManifest('a: 12345678', { fileName: 'f', limits }).errors[0]?.message ?? '',
    /has 11 bytes; at most 10/,
  );
  assert.match(
    loadManifest('a\n---\nb', { fileName: 'f', limits }).errors.at(-1)?.message ?? '',
    /more than 1 documents/,
  );
  assert.match(loadManifest('[1,2,3,4]', { fileName: 'f', limits }).errors[0]?.message ?? '', /more than 5 words/);
});

test('no text makes loading throw', () => {
  fc.assert(fc.property(fc.string({ maxLength: 200 }), (text) => void loadManifest(text, { fileName: 'f' })));
  const pieces = fc.constantFrom(
    'a',
    ': ',
    '\n',
    '- ',
    '  ',
    '[',
    ']',
    '{',
    '}',
    '&x ',
    '*x',
    '"',
    "'",
    '|',
    '>',
    '#',
    '---\n',
    '? ',
    '!!int ',
    '<<',
    'kind: Pod\n',
    'apiVersion: v1\n',
    ',',
    '\t',
    '%YAML 1.1\n',
    '...\n',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => void loadManifest(parts.join(''), { fileName: 'f' })),
    { numRuns: 500 },
  );
});

test('cutting a manifest anywhere gives pods or errors, never a throw and never both empty', () => {
  const text = `${pod('a')}---\n${pod('b')}`;
  for (let end = 0; end <= text.length; end += 3) {
    const { pods, errors } = loadManifest(text.slice(0, end), { fileName: 'f' });
    assert.ok(pods.length + errors.length > 0, `cut at ${end}`);
  }
});
