import assert from 'node:assert/strict';
import test from 'node:test';
import type { TableColumn } from '../../model/resource-definition.ts';
import { definition } from '../testing/fixtures.ts';
import { tableColumns } from './table.ts';

const column = (name: string, rest: Partial<TableColumn<never>> = {}): TableColumn<never> => ({ name, type: 'string', description: `${name}.`, cell: () => '', ...rest });
const namesOf = (...columns: readonly TableColumn<never>[]): string[] => tableColumns(definition('Widget', 'widgets', { columns: columns as never })).map(({ name }) => name);

test('a table begins with the name and ends with the age, before what only wide ones show', () => {
  assert.deepEqual(namesOf(column('Size'), column('Colour', { priority: 1 })), ['Name', 'Size', 'Age', 'Colour']);
  assert.deepEqual(namesOf(), ['Name', 'Age']);
  assert.deepEqual(tableColumns(definition('Widget', 'widgets')).map(({ name }) => name), ['Name', 'Created At']);
});

test('a kind may say where its age stands, and say its name in other words', () => {
  assert.deepEqual(namesOf(column('Age'), column('Size')), ['Name', 'Age', 'Size']);
  assert.deepEqual(namesOf(column('Name', { format: 'name' }), column('Size')), ['Name', 'Size', 'Age']);
  // Upstream's attachments show a driver's name in the form of names, beside their own.
  assert.deepEqual(namesOf(column('Attacher', { format: 'name' })), ['Name', 'Attacher', 'Age']);
});

test('a kind that does not begin with its name brings all its columns', () => {
  assert.deepEqual(namesOf(column('Last Seen'), column('Name', { format: 'name', priority: 1 })), ['Last Seen', 'Name']);
});
