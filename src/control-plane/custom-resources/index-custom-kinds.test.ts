import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ResourceType } from '../../api/client/resource-type.ts';
import type { DefinitionsChange } from '../model/definitions.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { indexCustomKinds } from './index-custom-kinds.ts';

/** Only these members matter here. */
const as = (definition: Partial<ResourceDefinition>): ResourceDefinition => definition as ResourceDefinition;
const typeOf = (plural: string, version: string): ResourceType => ({
  ...{ group: 'shop.io', version, kind: 'Any', plural, namespaced: true },
});
function kind(plural: string, stored = 'v2') {
  const place = as({ type: typeOf(plural, ''), isInternal: true });
  const version = (name: string): ResourceDefinition =>
    as({
      type: typeOf(plural, name),
      storedAs: { stored: place.type, version: stored, toStored: (object) => object, fromStored: (object) => object },
    });
  return { place, versions: [version('v1'), version('v2')] };
}

function fixture(all: readonly ResourceDefinition[]) {
  let tell: (change: DefinitionsChange) => void = () => undefined;
  const onChange = (listener: typeof tell) => {
    tell = listener;
    return () => undefined;
  };
  const kinds = indexCustomKinds({ all, onChange });
  const heard: string[][] = [];
  kinds.onChange((changed) => heard.push(changed.map(({ plural }) => plural)));
  const shown = () => kinds.list().map(({ type, served }) => `${type.plural} ${served?.version ?? '-'}`);
  return { kinds, heard, shown, change: (change: DefinitionsChange) => tell(change) };
}

it('lists the kinds that exist at the start, with the storage version before the first one', () => {
  const [rings, pens, pins] = [kind('rings'), kind('pens', 'v0'), kind('pins')];
  const { shown, kinds } = fixture([rings.place, ...rings.versions, pens.place, ...pens.versions, pins.place]);
  assert.deepEqual(shown(), ['rings v2', 'pens v1', 'pins -']);
  assert.equal(kinds.find({ group: 'shop.io', plural: 'pens' })?.type, pens.place.type);
  assert.equal(kinds.find({ group: 'other.io', plural: 'pens' }), undefined);
});

it('tells which kinds changed, and leaves out changes of built-in ones', () => {
  const rings = kind('rings');
  const { change, heard, shown } = fixture([]);
  change({ removed: [], added: [rings.place] });
  change({ removed: [], added: rings.versions });
  assert.deepEqual(shown(), ['rings v2']);
  change({ removed: rings.versions, added: [] });
  assert.deepEqual(shown(), ['rings -']);
  change({ removed: [rings.place], added: [] });
  assert.deepEqual(shown(), []);
  change({ removed: [], added: [as({ type: typeOf('pods', 'v1') })] });
  assert.deepEqual(heard, [['rings'], ['rings'], ['rings'], ['rings']]);
});
