import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import { DefinitionsByGroup } from './definitions-by-group.ts';

function definition(name: string, group: string): CustomResourceDefinition {
  const names = { plural: name, kind: name };
  return {
    metadata: { name: `${name}.${group}`, namespace: '', uid: name },
    spec: { group, scope: 'Namespaced', names, versions: [] },
  };
}

it('lists the newest definitions of a group only', () => {
  const byGroup = new DefinitionsByGroup();
  const [one, newer, other] = [definition('a', 'x.io'), definition('a', 'x.io'), definition('a', 'y.io')];
  byGroup.change(undefined, one);
  byGroup.change(undefined, other);
  byGroup.change(one, newer);
  assert.deepEqual(byGroup.list('x.io'), [newer]);
  byGroup.change(newer, undefined);
  assert.deepEqual([byGroup.list('x.io'), byGroup.list('y.io')], [[], [other]]);
});
