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

test('a selector that names one object says so', () => {
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

test('fields of a kind that is stored as another are those of its own form', () => {
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
