import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatFieldError } from '../validation/field-error.ts';
import { coerceEmbedded, validateEmbedded } from './embedded-resources.ts';
import type { JsonSchema } from './json-schema.ts';
import { compileSchema } from './schema-node.ts';

const embedded: JsonSchema = {
  type: 'object',
  'x-kubernetes-embedded-resource': true,
  'x-kubernetes-preserve-unknown-fields': true,
};
const schema: JsonSchema = {
  type: 'object',
  properties: {
    one: embedded,
    list: { type: 'array', items: embedded },
    map: { type: 'object', additionalProperties: embedded },
    deep: { ...embedded, properties: { spec: { type: 'object', properties: { inner: embedded } } } },
    plain: { type: 'object', properties: { x: { type: 'string' } } },
  },
};
const root = compileSchema(schema);
const problems = (value: object): string[] => validateEmbedded(value, root).map(formatFieldError);
const pod = (more: object = {}): object => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, ...more });

describe('whole objects inside an object', () => {
  it('are sound with a version, a kind and good metadata', () => {
    assert.deepEqual(
      problems({ one: pod(), list: [pod()], map: { k: pod() }, deep: pod({ spec: { inner: pod() } }) }),
      [],
    );
    assert.deepEqual(problems({ one: { apiVersion: 'apps/v1', kind: 'Deployment' } }), []);
    assert.deepEqual(problems({ one: pod({ metadata: {} }) }), []);
    assert.deepEqual(problems({ one: pod({ metadata: { name: 'p', namespace: 'n' } }) }), []);
    assert.deepEqual(problems({ one: 'text', list: 'x', plain: {} }), []);
  });

  it('are refused without a version and a kind, wherever they stand', () => {
    const required = (path: string): string[] => [`${path}.apiVersion: Required value`, `${path}.kind: Required value`];
    assert.deepEqual(problems({ one: {} }), required('one'));
    assert.deepEqual(problems({ list: [pod(), {}] }), required('list[1]'));
    assert.deepEqual(problems({ map: { k: {} } }), required('map.k'));
    assert.deepEqual(problems({ deep: pod({ spec: { inner: {} } }) }), required('deep.spec.inner'));
  });

  it('are refused with a version or a kind of another form', () => {
    assert.deepEqual(problems({ one: pod({ apiVersion: 'a/b/c' }) }), [
      'one.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ]);
    assert.deepEqual(problems({ one: pod({ apiVersion: '', kind: 1 }) }), [
      'one.apiVersion: Invalid value: "": must not be empty',
      'one.kind: Invalid value: 1: must be a string',
    ]);
    assert.match(problems({ one: pod({ kind: 'A_b' }) }).join(), /one.kind: Invalid value: "A_b": may have mixed case/);
  });

  it('are refused with metadata that are none', () => {
    assert.match(problems({ one: pod({ metadata: { labels: 'x' } }) }).join(), /^one\.metadata: Invalid value: /);
    assert.match(
      problems({ one: pod({ metadata: { name: 'a/b' } }) }).join(),
      /^one\.metadata\.name: Invalid value: "a\/b"/,
    );
    assert.match(
      problems({ one: pod({ metadata: { name: 'p', labels: { 'a b': 'c' } } }) }).join(),
      /^one\.metadata\.labels: Invalid value/,
    );
  });

  it('are not searched for in a kind that has none', () => {
    assert.deepEqual(validateEmbedded({ one: {} }, compileSchema({ type: 'object', properties: { one: {} } })), []);
  });
});

describe('the metadata of whole objects inside an object', () => {
  it('lose the fields that metadata do not have, and nothing else changes', () => {
    const odd = pod({ metadata: { name: 'p', odd: 1 }, spec: { odd: 1 } });
    const good = pod({ metadata: { name: 'p' }, spec: { odd: 1 } });
    assert.deepEqual(coerceEmbedded({ one: odd, list: [odd, 'x'], map: { k: odd }, metadata: { odd: 1 } }, root), {
      one: good,
      list: [good, 'x'],
      map: { k: good },
      metadata: { odd: 1 },
    });
    assert.deepEqual(coerceEmbedded({ deep: pod({ spec: { inner: odd } }) }, root), {
      deep: pod({ spec: { inner: good } }),
    });
    assert.deepEqual(coerceEmbedded({ one: pod({ metadata: 'text' }) }, root), { one: pod({ metadata: 'text' }) });
  });

  it('of a kind that has none give back the very value', () => {
    const value = { one: pod({ metadata: { odd: 1 } }) };
    assert.equal(coerceEmbedded(value, compileSchema({ type: 'object', properties: { one: {} } })), value);
  });
});
