import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { definition } from '../testing/fixtures.ts';
import { formatAge, formatDuration, partialJson, tableColumns } from './table.ts';

const seconds = 1000;
const minutes = 60 * seconds;
const hours = 60 * minutes;
const days = 24 * hours;

describe('tables', () => {
  it('write ages as kubectl does', () => {
    const cases: readonly (readonly [number, string])[] = [
      [-5 * seconds, '<invalid>'],
      [-1 * seconds, '0s'],
      [0, '0s'],
      [119 * seconds, '119s'],
      [120 * seconds, '2m'],
      [125 * seconds, '2m5s'],
      [10 * minutes + 5 * seconds, '10m'],
      [179 * minutes, '179m'],
      [3 * hours, '3h'],
      [3 * hours + 10 * minutes, '3h10m'],
      [9 * hours + 10 * minutes, '9h'],
      [47 * hours, '47h'],
      [49 * hours, '2d1h'],
      [48 * hours, '2d'],
      [8 * days + hours, '8d'],
      [729 * days, '729d'],
      [730 * days, '2y'],
      [740 * days, '2y10d'],
      [3000 * days, '8y'],
    ];
    for (const [ms, text] of cases) assert.equal(formatDuration(ms), text);
    assert.deepEqual(
      [
        formatAge(undefined, 0),
        formatAge('yesterday', 0),
        formatAge('2026-01-01T00:00:00Z', Date.UTC(2026, 0, 1, 0, 5)),
      ],
      ['<unknown>', '<unknown>', '5m'],
    );
  });

  it('have the name first, and the age before wide columns, unless a kind defines all columns', () => {
    const column = (name: string, rest: object = {}) =>
      ({ name, type: 'string', description: '', cell: () => '', ...rest }) as const;
    const names = (...columns: readonly ReturnType<typeof column>[]): readonly string[] =>
      tableColumns(definition('A', 'as', { columns })).map(({ name }) => name);
    assert.deepEqual(names(column('Ready'), column('Node', { priority: 1 })), ['Name', 'Ready', 'Age', 'Node']);
    assert.deepEqual(names(column('Last Seen'), column('Name', { format: 'name' })), ['Last Seen', 'Name']);
    assert.deepEqual(
      tableColumns(definition('B', 'bs')).map(({ name }) => name),
      ['Name', 'Created At'],
    );
  });

  it('show metadata as written: an empty label `name`, and no namespace for cluster-scoped kinds', () => {
    const metadata = { name: 'node-1', namespace: '', uid: 'u-1', labels: { name: '', uid: '' } };
    const { metadata: shown } = JSON.parse(partialJson({ kind: 'Node', apiVersion: 'v1', metadata }, 'v1')) as {
      metadata: object;
    };
    assert.deepEqual(shown, { name: 'node-1', uid: 'u-1', labels: { name: '', uid: '' } });
  });
});
