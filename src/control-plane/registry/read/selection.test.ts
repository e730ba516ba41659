import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { parseSelection } from './selection.ts';
import { widgets } from '../testing/registry-fixture.ts';

const { selectableFields: _, ...withoutFields } = widgets;
const [selectable, plain] = [widgets, withoutFields] as unknown as [ResourceDefinition, ResourceDefinition];
const widget = (labels: Record<string, string>, size = 1): ApiObject =>
  ({ metadata: { name: 'a', namespace: 'default', uid: 'u', labels }, spec: { size } }) as ApiObject;

test('objects are selected by labels and fields together', () => {
  const { matches, everything, name } = parseSelection(selectable, {
    labelSelector: 'app in (x,y),!old',
    fieldSelector: 'spec.size=1,metadata.namespace!=other',
  });
  assert.deepEqual([everything, name], [false, undefined]);
  assert.deepEqual(
    [
      matches(widget({ app: 'x' })),
      matches(widget({ app: 'x', old: '' })),
      matches(widget({ app: 'x' }, 2)),
      matches(widget({})),
    ],
    [true, false, false, false],
  );
});

test('a selector that names one object is recognized', () => {
  assert.equal(parseSelection(selectable, { fieldSelector: 'metadata.name=a' }).name, 'a');
  assert.equal(parseSelection(selectable, { fieldSelector: 'metadata.name!=a' }).name, undefined);
});

for (const [definition, labels, fields, message] of [
  [selectable, 'a b', '', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  [selectable, '', 'x', "invalid selector: 'x'; can't understand 'x'"],
  [selectable, '', 'spec.none=1', 'field label not supported: spec.none'],
  [plain, '', 'spec.size=1', '"spec.size" is not a known field selector: only "metadata.name", "metadata.namespace"'],
] as const) {
  test(`the selectors "${labels}" and "${fields}" are a bad request`, () => {
    assert.throws(
      () => parseSelection(definition, { labelSelector: labels, fieldSelector: fields }),
      (error) => isApiError(error, 'BadRequest') && error.message === message,
    );
  });
}

test('fields of a kind that is stored as another kind are read from its served form', () => {
  const shown = {
    ...selectable,
    storedAs: {
      stored: widgets.type,
      toStored: (object: ApiObject) => object,
      fromStored: (object: ApiObject) => ({ ...object, spec: { size: 7 } }),
    },
  } as ResourceDefinition;
  assert.equal(parseSelection(shown, { fieldSelector: 'spec.size=7' }).matches(widget({}, 1)), true);
  assert.equal(parseSelection(shown, { fieldSelector: 'spec.size=1' }).matches(widget({}, 1)), false);
});

test('a selection of everything is recognized, so that objects need not be checked', () => {
  const everything = (options: Parameters<typeof parseSelection>[1], of = selectable): boolean =>
    parseSelection(of, options).everything;
  assert.deepEqual([everything({}), everything({ labelSelector: '', fieldSelector: '' })], [true, true]);
  assert.deepEqual(
    [everything({ labelSelector: 'a' }), everything({ fieldSelector: 'metadata.name=a' })],
    [false, false],
  );
  assert.equal(parseSelection(selectable, {}).matches(widget({})), true);
  const byLabel = parseSelection(plain, { labelSelector: 'a' });
  assert.deepEqual([byLabel.matches(widget({ a: '' })), byLabel.matches(widget({}))], [true, false]);
});

test('objects with pending initializers are hidden unless requested', () => {
  const hiding = { ...widgets, isInitialized: true } as unknown as ResourceDefinition;
  const pending = (labels: Record<string, string>): ApiObject => {
    const { metadata, ...rest } = widget(labels);
    return { ...rest, metadata: { ...metadata, initializers: { pending: [{ name: 'x.io' }] } } } as ApiObject;
  };
  const seen = (options: Parameters<typeof parseSelection>[1]): unknown[] => {
    const { everything, matches } = parseSelection(hiding, options);
    return [everything, matches(widget({ a: '' })), matches(pending({ a: '' })), matches(widget({}))];
  };
  assert.deepEqual(seen({}), [false, true, false, true]);
  assert.deepEqual(seen({ labelSelector: 'a' }), [false, true, false, false]);
  assert.deepEqual(seen({ includeUninitialized: false }), [false, true, false, true]);
  assert.deepEqual(seen({ includeUninitialized: true }), [true, true, true, true]);
  assert.deepEqual(seen({ includeUninitialized: true, labelSelector: 'a' }), [false, true, true, false]);
  assert.equal(parseSelection(selectable, {}).matches(pending({})), true, 'other kinds have no initializers');
});

test('the namespace is a selectable field of namespaced kinds, and of kinds without their own fields', () => {
  const clustered = (of: ResourceDefinition): ResourceDefinition => ({
    ...of,
    type: { ...of.type, namespaced: false },
  });
  const isField = (of: ResourceDefinition, fieldSelector: string): boolean => {
    try {
      return parseSelection(of, { fieldSelector }).matches(widget({}));
    } catch {
      return false;
    }
  };
  for (const [of, is] of [
    [selectable, true],
    [plain, true],
    [clustered(selectable), false],
    [clustered(plain), true],
  ] as const) {
    assert.equal(isField(of, 'metadata.namespace=default'), is);
    assert.equal(isField(of, 'metadata.name=a'), true);
  }
});
