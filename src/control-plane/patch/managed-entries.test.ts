import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ManagedFieldsEntry } from '../../api/core/meta.ts';
import { capUpdates, readEntries, shareManagedFields, writeEntries } from './managed-entries.ts';
import type { ManagerEntry } from './managed-entries.ts';

const time = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`;
const entry = (change: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager: 'm',
  operation: 'Update',
  apiVersion: 'v1',
  time: time(1),
  fieldsType: 'FieldsV1',
  fieldsV1: { 'f:spec': {} },
  ...change,
});
function read(...written: readonly unknown[]): readonly ManagerEntry[] {
  const entries = readEntries(written);
  return typeof entries === 'string' ? assert.fail(entries) : entries;
}
const names = (entries: readonly (ManagerEntry | ManagedFieldsEntry)[] | undefined): readonly string[] =>
  (entries ?? []).map(({ manager, operation, apiVersion, subresource = '', time: at = '' }) =>
    [manager, operation, apiVersion, subresource, at.slice(17, 19)].join(' '),
  );

describe('readEntries', () => {
  it('explains which entry it cannot read', () => {
    const { operation: _, ...aimless } = entry();
    assert.deepEqual(
      [
        'text',
        aimless,
        entry({ operation: 'Delete' as 'Apply' }),
        entry({ apiVersion: '' }),
        entry({ fieldsType: '' as 'FieldsV1' }),
        entry({ fieldsType: 'FieldsV2' as 'FieldsV1' }),
        entry({ fieldsV1: 'text' as unknown as object }),
        entry({ fieldsV1: { spec: {} } }),
      ].map((wrong) => readEntries([entry({ manager: 'a' }), wrong])),
      [
        'operation must be `Apply` or `Update`',
        'operation must be `Apply` or `Update`',
        'operation must be `Apply` or `Update`',
        'apiVersion must not be empty',
        'missing fieldsType in managed fields entry 1',
        'invalid fieldsType "FieldsV2" in managed fields entry 1',
        'error decoding set: expected a map of fields',
        'error decoding set: unknown path element "spec"',
      ],
    );
    assert.deepEqual(readEntries(undefined), []);
  });

  it('takes missing fields for the whole object', () => {
    const { fieldsV1: _, ...whole } = entry();
    assert.deepEqual(
      [whole, { ...whole, fieldsV1: null }].map((each) => read(each)[0]?.fields),
      [{}, {}],
    );
  });

  it('lets a later entry of a manager replace its earlier one', () => {
    const twice = [
      entry({ time: time(1) }),
      entry({ time: time(2), subresource: 'status' }),
      entry({ time: time(3), apiVersion: 'v2' }),
      entry({ time: time(4), operation: 'Apply' }),
      entry({ time: time(5), manager: 'other' }),
      entry({ time: time(6), operation: 'Apply', apiVersion: 'v2' }),
      entry({ time: time(7) }),
    ];
    assert.deepEqual(names(read(...twice)), [
      'm Update v1  07',
      'm Update v1 status 02',
      'm Update v2  03',
      'm Apply v2  06',
      'other Update v1  05',
    ]);
  });

  it('does not confuse managers whose names are not strings', () => {
    const odd = [entry({ manager: 1 as unknown as string }), entry({ manager: 2 as unknown as string })];
    assert.equal(read(...odd).length, 2);
  });
});

describe('writeEntries', () => {
  it('sorts by operation, seconds, manager, version and subresource', () => {
    const sorted = [
      entry({ operation: 'Apply', time: time(9) }),
      entry({ time: 'never', manager: 'z' }),
      entry({ time: '2026-01-01T00:00:01.9Z', manager: 'a' }),
      entry({ manager: 'b', apiVersion: 'v1' }),
      entry({ manager: 'b', apiVersion: 'v2', subresource: 'scale' }),
      entry({ manager: 'b', apiVersion: 'v2', subresource: 'status' }),
      entry({ manager: 'aa', time: time(2) }),
    ];
    for (const given of [sorted.toReversed(), [...sorted.slice(3), ...sorted.slice(0, 3)]])
      assert.deepEqual(writeEntries(read(...given), undefined), sorted);
  });

  it('writes no name, time and subresource that an entry does not have, and nothing for no entries', () => {
    const { manager: _, time: __, ...bare } = entry();
    const [only] = read(bare);
    assert.deepEqual(writeEntries(only === undefined ? [] : [{ ...only, written: undefined }], undefined), [bare]);
    assert.equal(writeEntries([], []), undefined);
  });
});

describe('capUpdates', () => {
  const updates = (count: number, change: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry[] =>
    Array.from({ length: count }, (_, index) =>
      entry({ manager: `m${index}`, time: time(index + 10), fieldsV1: { [`f:m${index}`]: {} }, ...change }),
    );

  it('leaves ten updates, and any number of applied entries', () => {
    const ten = read(...updates(10), entry({ operation: 'Apply' }));
    assert.equal(capUpdates(ten), ten);
    const eleven = capUpdates(read(...updates(11), entry({ operation: 'Apply' })));
    assert.deepEqual(
      names(eleven).filter((name) => !/^m\d/.test(name)),
      ['m Apply v1  01', 'ancient-changes Update v1  11'],
    );
    assert.deepEqual(eleven.at(-1)?.fields, { 'f:m0': {}, 'f:m1': {} });
    assert.equal(eleven.length, 11);
  });

  it('merges only entries of one version', () => {
    const old = entry({ manager: 'old', apiVersion: 'v1beta1', time: time(0) });
    assert.deepEqual(names(capUpdates(read(old, ...updates(11)))).slice(-2), [
      'm10 Update v1  20',
      'ancient-changes Update v1  12',
    ]);
    const different = Array.from({ length: 11 }, (_, index) => entry({ apiVersion: `v${index}` }));
    assert.deepEqual(capUpdates(read(...different)), read(...different));
  });

  it('adds to what was merged before, also if other entries have the same time', () => {
    const before = entry({ manager: 'ancient-changes', time: time(10), fieldsV1: { 'f:old': {} } });
    const ofStatus = entry({ manager: 'ancient-changes', subresource: 'status', time: time(30) });
    const capped = capUpdates(
      read(...updates(9).map((each, index) => ({ ...each, manager: `a${index}` })), before, ofStatus),
    );
    assert.deepEqual(names(capped).slice(-2), ['ancient-changes Update v1 status 30', 'ancient-changes Update v1  10']);
    assert.deepEqual(capped.at(-1)?.fields, { 'f:m0': {}, 'f:old': {} });
  });
});

describe('shareManagedFields', () => {
  it('gives equal field sets of different objects one representation, and leaves what it cannot read', () => {
    const [left, right] = [entry(), structuredClone(entry())].map((each) =>
      shareManagedFields({ managedFields: [each] }),
    );
    assert.deepEqual(left, { managedFields: [entry()] });
    assert.equal(left?.managedFields[0]?.fieldsV1, right?.managedFields[0]?.fieldsV1);
    const { fieldsV1: _, ...whole } = entry();
    for (const odd of [whole, entry({ fieldsV1: { spec: {} } })])
      assert.equal(shareManagedFields({ managedFields: [odd] }).managedFields[0], odd);
    for (const none of [{}, { managedFields: [] }]) assert.equal(shareManagedFields(none), none);
  });
});
