import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { scanJson } from '../../api/scan-json.ts';
import { ApiStatusError, isApiError } from '../../api/status/api-status-error.ts';
import type { StoredValue } from '../storage/storage.ts';
import type { PatchBody, Written } from './registry.ts';
import type { RequestContext } from '../model/request-context.ts';
import { gadgets, startRegistry, widgets } from './testing/registry-fixture.ts';
import type { RegistryFixture, Widget } from './testing/registry-fixture.ts';

// The tests are in a suite, because all test files share one process and hooks outside suites would apply to all of
// them.
describe('the registry patches', () => {
  let fixture: RegistryFixture;
  beforeEach(async () => {
    fixture = await startRegistry();
  });
  afterEach(() => fixture.stop());

  const patch = (
    type: PatchBody['type'],
    value: unknown,
    context: Partial<RequestContext> = {},
    subresource = '',
  ): Promise<Written> =>
    fixture.registry.patch(fixture.request(widgets, 'a', subresource, { fieldManager: 'tester', ...context }), {
      type,
      value,
      duplicates: [],
    });
  const applied = (spec: object): object => ({
    apiVersion: 'test.io/v1',
    kind: 'Widget',
    metadata: { name: 'a' },
    spec,
  });
  const failureOf = async (attempt: Promise<unknown>): Promise<ApiStatusError> => {
    try {
      await attempt;
    } catch (error) {
      if (error instanceof ApiStatusError) return error;
      throw error;
    }
    return assert.fail('was not refused');
  };

  test('each type of patch changes the fields that it names', async () => {
    await fixture.create({
      name: 'a',
      spec: { size: 1, parts: [{ name: 'x', weight: 1 }, { name: 'y' }], notes: { n: '1' } },
    });
    await patch('json', [
      { op: 'test', path: '/spec/size', value: 1 },
      { op: 'replace', path: '/spec/size', value: 2 },
    ]);
    await patch('merge', { spec: { notes: { n: null, m: '2' } } });
    const { object, created } = await patch('strategic', {
      spec: {
        parts: [
          { name: 'x', weight: 9 },
          { name: 'y', $patch: 'delete' },
        ],
      },
    });
    assert.deepEqual(
      [(object as Widget).spec, created],
      [{ size: 2, parts: [{ name: 'x', weight: 9 }], notes: { m: '2' } }, false],
    );
  });

  test('a patch cannot change the name of an object, and a create by apply needs one', async () => {
    const nameless = { apiVersion: 'test.io/v1', kind: 'Widget', spec: {} };
    const attempts: [PatchBody['type'], unknown][] = [
      ['merge', { metadata: null }],
      ['json', [{ op: 'remove', path: '/metadata/name' }]],
    ];
    const refusal = /^the name of the object \(a based on URL\) was undeterminable: name must be provided$/;
    assert.match((await failureOf(patch('apply', nameless))).message, refusal);
    await fixture.create({ name: 'a' });
    for (const [type, value] of attempts) assert.match((await failureOf(patch(type, value))).message, refusal);
    assert.equal(((await patch('apply', nameless)).object as Widget).metadata.name, 'a');
  });

  test('a create by apply returns the whole object, in JSON too', async () => {
    const { object, json, created } = await patch('apply', applied({ size: 3 }));
    assert.equal(created, true);
    assert.deepEqual(JSON.parse(json), JSON.parse(JSON.stringify(object)));
  });

  test('an apply with a UID does not create another object', async () => {
    const error = await failureOf(patch('apply', { ...applied({}), metadata: { name: 'a', uid: 'gone' } }));
    assert.deepEqual(
      [error.reason, error.message],
      [
        'Conflict',
        'Operation cannot be fulfilled on widgets.test.io "a": uid mismatch: the provided object specified uid gone, and no existing object was found',
      ],
    );
  });

  test('a create by PUT returns the whole object, in JSON too', async () => {
    const { json, created } = await fixture.registry.update(fixture.request(gadgets, 'g'), {
      value: { metadata: { name: 'g' }, spec: {} },
      duplicates: [],
    });
    assert.deepEqual([created, (JSON.parse(json) as Widget).metadata.name], [true, 'g']);
  });

  test('only apply creates objects', async () => {
    for (const [type, value] of [
      ['json', []],
      ['merge', {}],
      ['strategic', {}],
    ] as const) {
      assert.ok(isApiError(await failureOf(patch(type, value)), 'NotFound'));
    }
  });

  test('a write that creates requires the permission and admission of a create, with the name in the path', async () => {
    await fixture.stop();
    const asked: string[] = [];
    const admitted: string[] = [];
    let allows = false;
    fixture = await startRegistry(
      [
        {
          name: 'Witness',
          handles: () => true,
          validate: ({ operation, name, namespace, oldObject }) =>
            void admitted.push([operation, namespace, name, oldObject === undefined].join(' ')),
        },
      ],
      {
        authorize: ({ user, verb, apiGroup, apiVersion, resource, subresource, namespace, name }) => {
          asked.push([user.name, verb, apiGroup, apiVersion, resource, subresource, namespace, name].join(' '));
          return allows ? { decision: 'allow', reason: '' } : { decision: 'noOpinion', reason: 'no role' };
        },
      },
    );
    const put = (): Promise<Written> =>
      fixture.registry.update(fixture.request(gadgets, 'g'), {
        value: { metadata: { name: 'g' }, spec: {} },
        duplicates: [],
      });
    const refusals = [
      await failureOf(put()),
      await failureOf(patch('apply', applied({}))),
      await failureOf(patch('apply', applied({}), { dryRun: true })),
    ];
    assert.deepEqual(
      refusals.map(({ reason, message }) => [reason, message]),
      [
        [
          'Forbidden',
          'gadgets.test.io "g" is forbidden: User "tester" cannot create resource "gadgets" in API group "test.io" at the cluster scope: no role',
        ],
        [
          'Forbidden',
          'widgets.test.io "a" is forbidden: User "tester" cannot create resource "widgets" in API group "test.io" in the namespace "default": no role',
        ],
        [
          'Forbidden',
          'widgets.test.io "a" is forbidden: User "tester" cannot create resource "widgets" in API group "test.io" in the namespace "default": no role',
        ],
      ],
    );
    assert.deepEqual([admitted, [...fixture.cache.counts().values()]], [[], [0, 0]]);
    allows = true;
    assert.deepEqual([(await put()).created, (await patch('apply', applied({}))).created], [true, true]);
    assert.deepEqual(admitted, ['CREATE  g true', 'CREATE default a true']);
    assert.deepEqual(
      [...new Set(asked)],
      ['tester create test.io v1 gadgets   g', 'tester create test.io v1 widgets  default a'],
    );
    asked.length = 0;
    await patch('apply', applied({ size: 2 }));
    await patch('merge', { spec: { size: 3 } });
    assert.deepEqual(asked, []);
  });

  test('a subresource of a missing object creates nothing, whatever the permissions', async () => {
    assert.ok(isApiError(await failureOf(patch('apply', { ...applied({}), status: {} }, {}, 'status')), 'NotFound'));
    assert.ok(
      isApiError(
        await failureOf(
          fixture.registry.update(fixture.request(gadgets, 'g', 'status'), {
            value: { metadata: { name: 'g' }, spec: {}, status: {} },
            duplicates: [],
          }),
        ),
        'NotFound',
      ),
    );
  });

  test('a patch without changes writes nothing, for any type of patch', async () => {
    const first = (await patch('apply', applied({ size: 3, notes: { a: 'b' } }))).object;
    for (const [type, value] of [
      ['apply', applied({ size: 3, notes: { a: 'b' } })],
      ['merge', { spec: { size: 3 } }],
      ['json', [{ op: 'test', path: '/spec/size', value: 3 }]],
      ['strategic', {}],
    ] as const) {
      assert.equal((await patch(type, value)).object.metadata.resourceVersion, first.metadata.resourceVersion, type);
    }
  });

  test('applying an equivalent but differently written object writes nothing', async () => {
    const first = (await patch('apply', applied({ size: 3, notes: null }))).object;
    await fixture.clock.advance(60_000);
    const again = (await patch('apply', applied({ size: 3, notes: null }))).object;
    assert.deepEqual(again, first);
  });

  test('a patch whose result does not decode is rejected as an invalid patch', async () => {
    await fixture.create({ name: 'a', spec: { size: 1 } });
    const error = await failureOf(patch('strategic', { spec: { size: 'x' } }));
    assert.deepEqual(
      [error.reason, error.details],
      [
        'Invalid',
        {
          causes: [
            {
              reason: 'FieldValueInvalid',
              field: 'patch',
              message:
                'Invalid value: "map[spec:map[size:x]]": spec.size: expected a whole number, found the string "x"',
            },
          ],
        },
      ],
    );
    assert.ok(isApiError(await failureOf(patch('merge', { spec: [] })), 'Invalid'));
    assert.ok(isApiError(await failureOf(patch('json', [{ op: 'replace', path: '', value: [] }])), 'Invalid'));
    assert.ok(isApiError(await failureOf(patch('merge', { kind: 'Gadget' })), 'Invalid'));
  });

  test('a patch with another UID is rejected as a change of an immutable field', async () => {
    const { metadata } = await fixture.create({ name: 'a', spec: { size: 1 } });
    for (const type of ['merge', 'strategic'] as const) {
      const error = await failureOf(patch(type, { metadata: { uid: 'other' } }));
      assert.match(error.message, /metadata\.uid: Invalid value: "other": field is immutable/);
    }
    await patch('merge', { metadata: { uid: metadata.uid } });
  });

  test('unknown fields are rejected, cause warnings or are dropped, in the operations of a JSON patch too', async () => {
    await fixture.create({ name: 'a', spec: { size: 1 } });
    const value = [{ op: 'add', path: '/spec/foo', value: 1, vaule: 2 }];
    const error = await failureOf(patch('json', value, { fieldValidation: 'Strict' }));
    assert.match(
      error.message,
      /strict decoding error: json patch unknown field "\[0\].vaule", unknown field "spec.foo"$/,
    );
    await patch('json', value, { fieldValidation: 'Warn' });
    assert.deepEqual(fixture.warnings, ['json patch unknown field "[0].vaule"', 'unknown field "spec.foo"']);
    await patch('json', value, { fieldValidation: 'Ignore' });
    assert.equal(fixture.warnings.length, 2);
  });

  test('strict errors of a patch list duplicate fields first, then unknown fields, sorted', async () => {
    await fixture.create({ name: 'a', spec: { size: 1 } });
    const refusalOf = async (type: PatchBody['type'], text: string): Promise<string> => {
      const { problems, lines } = scanJson(text);
      const body = { type, value: JSON.parse(text) as unknown, duplicates: type === 'apply' ? lines : problems, text };
      const request = fixture.request(widgets, 'a', '', { fieldValidation: 'Strict' });
      return (await failureOf(fixture.registry.patch(request, body))).message.replace(/^.* strict decoding/, 'strict');
    };
    const text = '{"spec":{"z":1,"parts":[{"name":"b","y":1}],"a":1,"a":2,"size":1,"size":2}}';
    const expected =
      'strict error: duplicate field "spec.a", duplicate field "spec.size", unknown field "spec.a", unknown field "spec.parts[0].y", unknown field "spec.z"';
    assert.deepEqual([await refusalOf('merge', text), await refusalOf('strategic', text)], [expected, expected]);
    assert.equal(
      await refusalOf(
        'json',
        '[{"op":"add","path":"/spec/z","foo":1,"foo":2,"value":{"b":1,"b":2}},{"op":"add","path":"/x","path":"/spec/a","value":1}]',
      ),
      'strict error: json patch unknown field "[0].foo", json patch duplicate field "[0].value.b", json patch duplicate field "[1].path", unknown field "spec.a", unknown field "spec.z"',
    );
    assert.equal(
      await refusalOf(
        'apply',
        '{"apiVersion":"test.io/v1","kind":"Widget","metadata":{"name":"a"},\n"spec":{"notes":{"n":"1",\n"n":"2"}}}',
      ),
      'strict YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 3: key "n" already set in map',
    );
  });

  test('apply conflicts with the fields of another manager unless forced', async () => {
    await patch('apply', applied({ size: 3 }));
    const error = await failureOf(patch('apply', applied({ size: 4 }), { fieldManager: 'other' }));
    assert.deepEqual(
      [error.reason, error.message],
      ['Conflict', 'Apply failed with 1 conflict: conflict with "tester": .spec.size'],
    );
    const { object } = await patch('apply', applied({ size: 4 }), { fieldManager: 'other', force: true });
    assert.equal((object as Widget).spec.size, 4);
  });

  test('the status is applied separately', async () => {
    await patch('apply', applied({ size: 3 }));
    const { object } = await patch(
      'apply',
      { ...applied({ size: 9 }), status: { seen: 1 } },
      { fieldManager: 'controller', force: true },
      'status',
    );
    assert.deepEqual([(object as Widget).spec.size, (object as Widget).status], [3, { seen: 1 }]);
    const entries = (object.metadata.managedFields ?? []).map(({ manager, subresource, fieldsV1 }) => [
      manager,
      subresource,
      fieldsV1,
    ]);
    assert.deepEqual(entries, [
      ['controller', 'status', { 'f:status': { 'f:seen': {} } }],
      ['tester', undefined, { 'f:spec': { 'f:size': {} } }],
    ]);
  });

  test('a patch cannot create an object that a single write could not', async () => {
    const notes = (from: number, count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${from + index}`, '']));
    await fixture.create({ name: 'a', spec: { notes: notes(0, 20_000) } });
    for (const type of ['merge', 'strategic'] as const) {
      const error = await failureOf(patch(type, { spec: { notes: notes(20_000, 10_000) } }));
      assert.deepEqual([error.code, error.message], [413, 'Request entity too large: limit is 25000 values']);
    }
    const long = { spec: { notes: { long: 'x'.repeat(3 * 1024 * 1024) } } };
    for (const dryRun of [false, true])
      assert.deepEqual(
        (await failureOf(patch('merge', long, { dryRun }))).message,
        'Request entity too large: limit is 3145728',
      );
  });

  test('an object above the size limit can still drop its finalizers', async () => {
    const size = 3 * 1024 * 1024 - 1000;
    await fixture.create({
      name: 'a',
      metadata: { name: 'a', namespace: 'default', uid: '', finalizers: ['x/y'] },
      spec: { notes: { long: 'x'.repeat(size) } },
    });
    const { value, key, revision } = await storedOf(fixture);
    const larger = value.replace('xxxx', 'x'.repeat(5000));
    assert.equal((await fixture.storage.put(key, larger, { expected: revision })).outcome, 'done');
    await fixture.cache.fresh();
    assert.equal((await fixture.registry.delete(fixture.request(widgets, 'a'), {})).gone, false);
    await patch('merge', { metadata: { finalizers: null } });
    await assert.rejects(fixture.registry.get(fixture.request(widgets, 'a'), {}), { code: 404 });
  });
});

async function storedOf({ storage }: RegistryFixture): Promise<StoredValue> {
  const [item] = (await storage.list('', { limit: 1 })).items;
  return item ?? assert.fail('nothing is stored');
}
