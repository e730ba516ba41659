import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { ApiStatusError, isApiError } from '../../api/status/api-status-error.ts';
import type { PatchBody, Written } from './registry.ts';
import type { RequestContext } from '../model/request-context.ts';
import { gadgets, startRegistry, widgets } from './testing/registry-ground.ts';
import type { RegistryGround, Widget } from './testing/registry-ground.ts';

// In a suite of its own: all test files share one process, and hooks outside of suites would be everybody's.
describe('the registry patches', () => {
  let ground: RegistryGround;
  beforeEach(async () => {
    ground = await startRegistry();
  });
  afterEach(() => ground.stop());

  const patch = (
    type: PatchBody['type'],
    value: unknown,
    context: Partial<RequestContext> = {},
    subresource = '',
  ): Promise<Written> =>
    ground.registry.patch(ground.request(widgets, 'a', subresource, { fieldManager: 'tester', ...context }), {
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

  test('each type of patch changes what it says', async () => {
    await ground.create({
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

  test('what applying creates is answered whole, in JSON too', async () => {
    const { object, json, created } = await patch('apply', applied({ size: 3 }));
    assert.equal(created, true);
    assert.deepEqual(JSON.parse(json), JSON.parse(JSON.stringify(object)));
  });

  test('applying to a certain object does not create another', async () => {
    const error = await failureOf(patch('apply', { ...applied({}), metadata: { name: 'a', uid: 'gone' } }));
    assert.deepEqual(
      [error.reason, error.message],
      [
        'Conflict',
        'Operation cannot be fulfilled on widgets.test.io "a": uid mismatch: the provided object specified uid gone, and no existing object was found',
      ],
    );
  });

  test('what a PUT creates is answered whole, in JSON too', async () => {
    const { json, created } = await ground.registry.update(ground.request(gadgets, 'g'), {
      value: { metadata: { name: 'g' }, spec: {} },
      duplicates: [],
    });
    assert.deepEqual([created, (JSON.parse(json) as Widget).metadata.name], [true, 'g']);
  });

  test('only applying creates', async () => {
    for (const [type, value] of [
      ['json', []],
      ['merge', {}],
      ['strategic', {}],
    ] as const) {
      assert.ok(isApiError(await failureOf(patch(type, value)), 'NotFound'));
    }
  });

  test('a patch that changes nothing writes nothing, however it is made', async () => {
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

  test('what is applied in other words each time writes nothing, though it looks new until it is decoded', async () => {
    const first = (await patch('apply', applied({ size: 3, notes: null }))).object;
    await ground.clock.advance(60_000);
    const again = (await patch('apply', applied({ size: 3, notes: null }))).object;
    assert.deepEqual(again, first);
  });

  test('what a patch makes of an object must be one; the patch is to blame', async () => {
    await ground.create({ name: 'a', spec: { size: 1 } });
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
    assert.ok(isApiError(await failureOf(patch('merge', { kind: 'Gadget' })), 'BadRequest'));
  });

  test('fields that do not exist are refused, warned of or dropped, in the operations of a JSON patch too', async () => {
    await ground.create({ name: 'a', spec: { size: 1 } });
    const value = [{ op: 'add', path: '/spec/foo', value: 1, vaule: 2 }];
    const error = await failureOf(patch('json', value, { fieldValidation: 'Strict' }));
    assert.match(
      error.message,
      /strict decoding error: json patch unknown field "\[0\].vaule", unknown field "spec.foo"$/,
    );
    await patch('json', value, { fieldValidation: 'Warn' });
    assert.deepEqual(ground.warnings, ['json patch unknown field "[0].vaule"', 'unknown field "spec.foo"']);
    await patch('json', value, { fieldValidation: 'Ignore' });
    assert.equal(ground.warnings.length, 2);
  });

  test('who applies what another set is refused unless by force', async () => {
    await patch('apply', applied({ size: 3 }));
    const error = await failureOf(patch('apply', applied({ size: 4 }), { fieldManager: 'other' }));
    assert.deepEqual(
      [error.reason, error.message],
      ['Conflict', 'Apply failed with 1 conflict: conflict with "tester": .spec.size'],
    );
    const { object } = await patch('apply', applied({ size: 4 }), { fieldManager: 'other', force: true });
    assert.equal((object as Widget).spec.size, 4);
  });

  test('status is applied apart from the rest', async () => {
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
});
