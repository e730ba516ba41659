import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { array, int32, map, object, opaque, required, string } from '../../../api/schema/schema.ts';
import { ObjectMetaSchema } from '../../../api/core/meta.ts';
import { scanJson } from '../../../api/scan-json.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { FieldValidation } from '../../model/request-context.ts';
import { decodeBody } from '../../registry/write/decode-body.ts';
import { textTasks } from '../texts/text-tasks.ts';
import { parseBody } from './parse-body.ts';
import type { BodyEncoding } from './parse-body.ts';

const schema = object('Widget', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(
    object('WidgetSpec', {
      size: int32,
      parts: array(object('Part', { name: required(string), weight: int32 }), ['name']),
      byName: map(object('Place', { row: int32 })),
      notes: map(string),
      raw: opaque,
    }),
  ),
});
const kind = { group: 'test.io', version: 'v1', kind: 'Widget', schema };

async function validate(text: string, fieldValidation: FieldValidation, encoding: BodyEncoding): Promise<string[]> {
  const warnings: string[] = [];
  const body = await parseBody({
    bytes: Buffer.from(text),
    encoding,
    fieldValidation,
    kind: 'Widget',
    texts: textTasks,
  });
  try {
    decodeBody(body, kind, {
      user: { name: 'tester', groups: [] },
      dryRun: false,
      fieldManager: 'test',
      fieldValidation,
      warn: (each) => warnings.push(each),
      annotate: () => undefined,
    });
  } catch (error) {
    if (error instanceof ApiStatusError) return [error.message];
    throw error;
  }
  return warnings;
}

const strictly = async (text: string, encoding: BodyEncoding = 'json'): Promise<string | undefined> =>
  (await validate(text, 'Strict', encoding))[0]?.replace(
    'Widget in version "v1" cannot be handled as a Widget: strict decoding error: ',
    '',
  );

const mixed = `{"zeta":1,"metadata":{"name":"a","name":"b","labels":{"x":"1","x":"2"}},
  "spec":{"odd":{"below":1,"below":2},"odd":2,"size":1,"parts":[{"name":"p","name":"q","wight":1}],"size":2,
  "raw":{"any":1,"any":2},"byName":{"here":{"column":1}}},
  "spec":{"early":1,"size":3}}`;
const found = [
  'unknown field "zeta"',
  'duplicate field "metadata.name"',
  'duplicate field "metadata.labels.x"',
  'unknown field "spec.odd"',
  'duplicate field "spec.parts[0].name"',
  'unknown field "spec.parts[0].wight"',
  'duplicate field "spec.size"',
  'unknown field "spec.byName.here.column"',
  'duplicate field "spec"',
  'unknown field "spec.early"',
];

describe('unknown and duplicate fields of a body', () => {
  it('are reported in the order of a JSON text, each once, with nothing below an unknown field', async () => {
    assert.equal(await strictly(mixed), found.join(', '));
    assert.deepEqual(await validate(mixed, 'Warn', 'json'), found);
    assert.deepEqual(await validate(mixed, 'Ignore', 'json'), []);
  });

  it('are reported in the order of the text also without duplicates', async () => {
    assert.equal(
      await strictly('{"spec":{"z":1,"a":{"b":1},"byName":{"x":{"y":1}}}}'),
      'unknown field "spec.z", unknown field "spec.a", unknown field "spec.byName.x.y"',
    );
  });

  const yaml = `spec:
  z: 1
  size: 1
  size: 2
  parts:
  - name: a
    name: b
    weigth: 1
  parts:
  - nam: c
metadata:
  unkn: 1
  labels: {x: "1", x: "2"}
`;

  it('are reported for YAML as lines of duplicates and then sorted unknown fields', async () => {
    const lines = ['line 4: key "size"', 'line 7: key "name"', 'line 10: key "parts"', 'line 13: key "x"'].map(
      (line) => `${line} already set in map`,
    );
    const unknown = ['unknown field "metadata.unkn"', 'unknown field "spec.parts[0].nam"', 'unknown field "spec.z"'];
    assert.equal(
      await strictly(yaml, 'yaml'),
      `yaml: unmarshal errors:\n  ${lines.join('\n  ')}, ${unknown.join(', ')}`,
    );
    assert.deepEqual(await validate(yaml, 'Warn', 'yaml'), [...lines, ...unknown]);
    assert.deepEqual(await validate(yaml, 'Ignore', 'yaml'), []);
    assert.equal(await strictly('spec: {z: 1, a: 2}\n', 'yaml'), 'unknown field "spec.a", unknown field "spec.z"');
  });

  it('are reported as lines also for JSON that is sent as YAML, inner ones first', async () => {
    assert.equal(
      await strictly('{"spec": {"size": 1},\n"spec":\n{"z": 1,\n"size": 1,\n"size": 2}}', 'yaml'),
      'yaml: unmarshal errors:\n  line 5: key "size" already set in map\n  line 3: key "spec" already set in map, unknown field "spec.z"',
    );
  });

  it('are at most a hundred; more are not an error when they only cause warnings', async () => {
    const text = `{"spec":{${Array.from({ length: 150 }, (_, each) => `"u${each}":1`).join(',')}}}`;
    assert.equal((await strictly(text))?.split(', ').length, 100);
    assert.equal((await validate(text, 'Warn', 'json')).length, 100);
    const twice = `{"spec":{${Array.from({ length: 150 }, (_, each) => `"u${each}":1,"u${each}":1`).join(',')}}}`;
    assert.equal((await strictly(twice))?.split(', ').length, 100);
  });

  it('do not make the answer many times as long as the text', () => {
    const long = 'k'.repeat(1_000_000);
    const inner = Array.from({ length: 100 }, (_, each) => `"u${each}":1,"u${each}":1`).join(',');
    const { problems } = scanJson(`{"${long}":{${inner}}}`);
    assert.ok(problems.join('').length < 2_100_000);
  });

  it('are the same, for any text, as in a walk of its entries', () => {
    type Tree = number | [string, Tree][];
    const tree = fc.letrec<{ node: Tree }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        fc.nat(3),
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'unknown'), tie('node')), { maxLength: 4 }),
      ),
    })).node;
    const nested = object('Nested', {
      a: int32,
      b: object('Inner', { a: map(opaque), b: object('Leaf', { a: int32 }) }),
    });
    const write = (node: Tree): string =>
      typeof node === 'number' ? String(node) : `{${node.map(([key, value]) => `"${key}":${write(value)}`).join(',')}}`;
    const walk = (node: Tree, known: unknown, path: string, out: Set<string>): void => {
      if (typeof node === 'number' || typeof known !== 'object' || known === null) return;
      const { kind: type, fields, values } = known as { kind: string; fields?: object; values?: unknown };
      if (type !== 'object' && type !== 'map') return;
      const seen = new Set<string>();
      for (const [key, value] of node) {
        const at = path === '' ? key : `${path}.${key}`;
        const field =
          type === 'map' ? values : (fields as Record<string, { schema: unknown } | undefined>)[key]?.schema;
        if (field === undefined) out.add(`unknown field "${at}"`);
        else if (seen.has(key)) out.add(`duplicate field "${at}"`);
        seen.add(key);
        walk(value, field, at, out);
      }
    };
    fc.assert(
      fc.property(tree, (node) => {
        const expected = new Set<string>();
        walk(node, nested, '', expected);
        assert.deepEqual(scanJson(write(node), nested).problems, [...expected]);
      }),
    );
  });
});
