import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { printerColumns } from './printer-columns.ts';

const formatAge = (timestamp: string | undefined, nowMs: number): string => `${timestamp} at ${nowMs}`;
const object = {
  metadata: { name: 'x', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    n: 2.9,
    minus: -2.9,
    big: 9_007_199_254_740_993n,
    yes: true,
    text: 'x',
    list: [1, 'a'],
    none: null,
    map: { z: 1, a: [{ y: 1, b: 2 }] },
    day: '2026-01-02T03:04:05+01:00',
    empty: '',
  },
} as unknown as ApiObject;

function cell(type: string, field: string): unknown {
  const [column] = printerColumns([{ name: 'C', type, jsonPath: `.spec.${field}` }], formatAge);
  return column?.cell(object, 5);
}

describe('the columns of a custom kind', () => {
  it('are those of its definition, each with what it says', () => {
    const given = {
      name: 'Size',
      type: 'integer',
      format: 'int32',
      description: 'how large',
      priority: 1,
      jsonPath: '.n',
    };
    const [first, second] = printerColumns([given, { name: 'Plain', type: 'string', jsonPath: '.p' }], formatAge);
    const { cell: _, ...shown } = first ?? {};
    assert.deepEqual(shown, {
      name: 'Size',
      type: 'integer',
      format: 'int32',
      description: 'how large',
      priority: 1,
    });
    assert.deepEqual(
      [second?.description, second?.priority, 'format' in (second ?? {})],
      ['Custom resource definition column (in JSONPath format): .p', 0, false],
    );
  });

  it('are the age alone where it has none', () => {
    for (const none of [undefined, []])
      assert.deepEqual(
        printerColumns(none, formatAge).map(({ name, type, cell: of }) => [name, type, of(object, 5)]),
        [['Age', 'date', '2026-01-01T00:00:00Z at 5']],
      );
  });
});

describe('the cell of a custom column', () => {
  it('shows a value of its type, and a whole number of what has a fraction', () => {
    assert.deepEqual(
      [
        cell('integer', 'n'),
        cell('integer', 'minus'),
        cell('integer', 'big'),
        cell('number', 'n'),
        cell('number', 'big'),
        cell('boolean', 'yes'),
        cell('date', 'day'),
        cell('string', 'text'),
        cell('string', 'list'),
        cell('string', 'n'),
      ],
      [
        2,
        -2,
        9_007_199_254_740_992,
        2.9,
        9_007_199_254_740_992,
        true,
        '2026-01-02T03:04:05+01:00 at 5',
        'x',
        '[1,"a"]',
        '2.9',
      ],
    );
  });

  it('shows maps with sorted keys, texts that are no time, and nulls as upstream', () => {
    assert.deepEqual(
      [cell('string', 'map'), cell('date', 'text'), cell('date', 'empty'), cell('string', 'none')],
      ['{"a":[{"b":2,"y":1}],"z":1}', '<invalid>', ' at 5', '<no value>'],
    );
  });

  it('is empty where the value is missing or of another type', () => {
    for (const [type, field] of [
      ['integer', 'text'],
      ['number', 'text'],
      ['boolean', 'text'],
      ['date', 'n'],
      ['date', 'none'],
      ['string', 'missing'],
      ['integer', 'missing'],
    ] as const)
      assert.equal(cell(type, field), null, `${type} ${field}`);
  });
});
