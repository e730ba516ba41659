import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { resolveEnv } from './env-config.ts';
import { EnvFiles } from './env-files.ts';
import { aContainer, aPod } from '../testing/builders.ts';

describe('environment', () => {
  const env = (container: Partial<Container>, pod: Pod = aPod()): Record<string, string> =>
    Object.fromEntries(
      resolveEnv(pod, aContainer('app', container), {
        objects: {
          configMaps: new Map([
            ['cm', { metadata: { name: 'cm', namespace: 'default', uid: '' }, data: { a: '1', b: '2' } }],
            ['none', undefined],
          ]),
          secrets: new Map([
            [
              's',
              {
                metadata: { name: 's', namespace: 'default', uid: '' },
                data: { k: Buffer.from('geheim').toString('base64') },
              },
            ],
            ['none', undefined],
          ]),
        },
        podIps: ['10.0.0.5', 'fd00::5'],
        hostIps: ['192.168.0.1'],
        allocatable: { cpu: '2', memory: '8Gi' },
        serviceEnv: new Map([['SVC', 'x']]),
        files: new EnvFiles(
          new Map([
            ['v/env', { kind: 'text', hostPath: '/pods/1/v/env', text: "A='one'\nE=''\n" }],
            ['v/broken', { kind: 'text', hostPath: '/pods/1/v/broken', text: 'A=geheim\n' }],
            ['v/gone', { kind: 'unreadable', why: 'there is no file "gone" in volume v' }],
          ]),
        ),
      }),
    );
  const field = (fieldPath: string): Partial<Container> => ({
    env: [{ name: 'F', valueFrom: { fieldRef: { fieldPath } } }],
  });
  const resource = (name: string, divisor?: string): Partial<Container> => ({
    resources: { requests: { cpu: '250m' }, limits: { memory: '1Gi' } },
    env: [{ name: 'R', valueFrom: { resourceFieldRef: { resource: name, divisor } } }],
  });

  test('expands references to earlier variables, keeps unknown ones, and unescapes', () => {
    assert.deepEqual(
      env({
        env: [
          { name: 'A', value: '1' },
          { name: 'B', value: '$(A)-$(NO)-$$(A)-$(SVC)-$(' },
        ],
      }),
      { A: '1', B: '1-$(NO)-$(A)-x-$(', SVC: 'x' },
    );
  });

  test('refuses variables that double each other before they exceed what can be run', () => {
    const doubling = Array.from({ length: 60 }, (_, index) => ({
      name: `V${index + 1}`,
      value: `$(V${index})$(V${index})`,
    }));
    assert.throws(() => env({ env: [{ name: 'V0', value: 'x' }, ...doubling] }), {
      kind: 'Invalid',
      message: 'the expansion with $(V17) has more than 131072 bytes, which cannot be run',
    });
    const long = { name: 'LONG', value: 'x'.repeat(100_000) };
    assert.throws(
      () =>
        env({ env: [long, ...Array.from({ length: 100 }, (_, index) => ({ name: `V${index}`, value: '$(LONG)' }))] }),
      { kind: 'Invalid', message: /have more than 6291456 bytes/ },
    );
  });

  test('lets env win over envFrom, with prefixes', () => {
    assert.deepEqual(
      env({
        envFrom: [{ prefix: 'P_', configMapRef: { name: 'cm' } }, { secretRef: { name: 's' } }],
        env: [{ name: 'P_a', value: 'own' }],
      }),
      { P_a: 'own', P_b: '2', k: 'geheim', SVC: 'x' },
    );
  });

  test('reports missing objects in words that users know, and skips optional ones', () => {
    const key = (name: string, keyName: string, optional?: boolean): Partial<Container> => ({
      env: [{ name: 'A', valueFrom: { configMapKeyRef: { name, key: keyName, optional } } }],
    });
    const secret = (name: string, keyName: string): Partial<Container> => ({
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: keyName } } }],
    });
    assert.throws(() => env(key('none', 'k')), { message: 'configmap "none" not found' });
    assert.throws(() => env(key('cm', 'k')), { message: "couldn't find key k in ConfigMap default/cm" });
    assert.throws(() => env(secret('none', 'k')), { message: 'secret "none" not found' });
    assert.throws(() => env(secret('s', 'x')), { message: "couldn't find key x in Secret default/s" });
    assert.deepEqual([env(key('none', 'k', true)), env(key('cm', 'k', true))], [{ SVC: 'x' }, { SVC: 'x' }]);
  });

  test('an optional object of envFrom, or key of a Secret, may be missing; any other may not', () => {
    const of = (optional: boolean | undefined): Partial<Container> => ({
      envFrom: [
        { configMapRef: { name: 'none', optional } },
        { secretRef: { name: 'none', optional } },
        { prefix: 'P_', configMapRef: { name: 'cm' } },
      ],
    });
    assert.deepEqual(env(of(true)), { P_a: '1', P_b: '2', SVC: 'x' });
    assert.throws(() => env(of(undefined)), { message: 'configmap "none" not found' });
    assert.throws(() => env({ envFrom: [{ secretRef: { name: 'none', optional: false } }] }), {
      message: 'secret "none" not found',
    });
    const key = (name: string): Partial<Container> => ({
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'x', optional: true } } }],
    });
    assert.deepEqual([env(key('none')), env(key('s'))], [{ SVC: 'x' }, { SVC: 'x' }]);
  });

  test('variables may have the names of JavaScript object properties', () => {
    assert.deepEqual(env({ env: [{ name: 'A', value: '$(constructor)-$(toString)' }] }), {
      A: '$(constructor)-$(toString)',
      SVC: 'x',
    });
    assert.throws(
      () => env({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'cm', key: 'constructor' } } }] }),
      { message: "couldn't find key constructor in ConfigMap default/cm" },
    );
    assert.deepEqual(
      env({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['constructor']" } } }] }).A,
      '',
    );
  });

  test('keys of any kind become names, with and without a prefix', () => {
    const objects = {
      configMaps: new Map([
        ['cm', { metadata: { name: 'cm', namespace: 'default', uid: '' }, data: { 'a.b-c': '1', '1st': '2' } }],
      ]),
      secrets: new Map(),
    };
    const container = aContainer('app', {
      envFrom: [{ configMapRef: { name: 'cm' } }, { prefix: 'p-', configMapRef: { name: 'cm' } }],
    });
    const found = resolveEnv(aPod(), container, {
      objects,
      podIps: [],
      hostIps: [],
      allocatable: {},
      serviceEnv: new Map(),
      files: new EnvFiles(),
    });
    assert.deepEqual([...found.keys()], ['a.b-c', '1st', 'p-a.b-c', 'p-1st']);
  });

  test('bytes that are not text are refused, by name and without their content', () => {
    const objects = {
      configMaps: new Map(),
      secrets: new Map([
        ['s', { metadata: { name: 's', namespace: 'default', uid: '' }, data: { bin: '/w==', text: 'YQ==' } }],
      ]),
    };
    const of = (key: string): Map<string, string> =>
      resolveEnv(aPod(), aContainer('app', { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key } } }] }), {
        objects,
        podIps: [],
        hostIps: [],
        allocatable: {},
        serviceEnv: new Map(),
        files: new EnvFiles(),
      });
    assert.throws(() => of('bin'), {
      message: 'the value of key bin in secret "s" is not valid UTF-8 and cannot be an environment variable',
    });
    assert.equal(of('text').get('A'), 'a');
  });

  test('takes values from a file of the pod, which must exist and be valid even for an optional key', () => {
    const file = (path: string, key: string, optional?: boolean, volumeName = 'v'): Partial<Container> => ({
      env: [
        { name: 'F', valueFrom: { fileKeyRef: { volumeName, path, key, optional } } },
        { name: 'G', value: '$(F)' },
      ],
    });
    assert.deepEqual(
      [env(file('env', 'A')), env(file('env', 'B', true))],
      [
        { F: 'one', G: 'one', SVC: 'x' },
        { G: '$(F)', SVC: 'x' },
      ],
    );
    assert.throws(() => env(file('env', 'B')), {
      message: 'environment variable key "B" not found in file "/pods/1/v/env"',
    });
    assert.throws(() => env(file('env', 'E')), {
      message: 'environment variable key "E" not found in file "/pods/1/v/env"',
    });
    assert.throws(() => env(file('broken', 'A', true)), {
      message:
        "couldn't parse env file: invalid environment variable format at line 1: value must be enclosed in single quotes",
    });
    assert.throws(() => env(file('gone', 'A', true)), {
      message: 'couldn\'t parse env file: there is no file "gone" in volume v',
    });
    assert.throws(() => env(file('env', 'A', true, 'w')), {
      message: 'cannot find the volume "w" referenced by FileKeyRef',
    });
  });

  test('gives fields of the pod and its resources', () => {
    const pod = aPod(
      { nodeName: 'n', serviceAccountName: 'sa' },
      { labels: { app: 'web' }, annotations: { "a/b['c']": 'v' } },
    );
    const paths = [
      'metadata.name',
      'metadata.namespace',
      'metadata.uid',
      "metadata.labels['app']",
      'spec.nodeName',
      'spec.serviceAccountName',
      'status.podIP',
      'status.podIPs',
      'status.hostIP',
    ];
    assert.deepEqual(
      paths.map((path) => env(field(path), pod).F),
      ['web', 'default', 'uid-1', 'web', 'n', 'sa', '10.0.0.5', '10.0.0.5,fd00::5', '192.168.0.1'],
    );
    assert.throws(() => env(field('spec.nope')), { message: 'unsupported fieldPath: spec.nope' });
    const resources: [string, string?][] = [
      ['requests.cpu'],
      ['requests.cpu', '1m'],
      ['limits.cpu'],
      ['limits.memory', '1Mi'],
      ['requests.memory'],
    ];
    assert.deepEqual(
      resources.map(([name, divisor]) => env(resource(name, divisor)).R),
      ['1', '250', '2', '1024', '0'],
    );
  });
});
