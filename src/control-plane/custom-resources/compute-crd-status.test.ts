import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import { computeCrdStatus } from './compute-crd-status.ts';

const NOW = '2026-01-01T00:00:00Z';

function definition(kind: string, more: { shortNames?: string[]; group?: string } = {}): CustomResourceDefinition {
  const group = more.group ?? 'example.com';
  const plural = `${kind.toLowerCase()}s`;
  const { shortNames } = more;
  return {
    metadata: { name: `${plural}.${group}`, namespace: '', uid: kind },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        plural,
        singular: kind.toLowerCase(),
        kind,
        listKind: `${kind}List`,
        ...(shortNames !== undefined && { shortNames }),
      },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
    status: { conditions: [], acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  };
}

function settled(
  given: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[] = [],
): CustomResourceDefinition {
  const status = computeCrdStatus(given, others, NOW);
  return status === undefined ? given : { ...given, status };
}

const shown = ({ status }: CustomResourceDefinition): readonly string[] =>
  (status?.conditions ?? []).map(({ type, status: is, reason, message }) => `${type}=${is} ${reason}: ${message}`);

test('a definition whose names are free is established at once, and then nothing is left to write', () => {
  const first = settled(definition('A'));
  assert.deepEqual(shown(first), [
    'NamesAccepted=True NoConflicts: no conflicts found',
    'Established=True InitialNamesAccepted: the initial names have been accepted',
  ]);
  assert.deepEqual(first.status?.acceptedNames, first.spec.names);
  assert.equal(computeCrdStatus(first, [], NOW), undefined);
});

test('names that another definition of the group has are not accepted until it is gone', () => {
  const first = settled(definition('A', { shortNames: ['x'] }));
  const second = settled(definition('B', { shortNames: ['x'] }), [first]);
  assert.deepEqual(shown(second), [
    'NamesAccepted=False ShortNamesConflict: "x" is already in use',
    'Established=False NotAccepted: not all names are accepted',
  ]);
  assert.equal(second.status?.acceptedNames.shortNames, undefined);
  const later = settled(second, []);
  assert.deepEqual(shown(later).at(-1), 'Established=True InitialNamesAccepted: the initial names have been accepted');
});

test('what is established stays so when its new names are taken, and keeps its old ones', () => {
  const first = settled(definition('A'));
  const second = settled(definition('B'));
  const renamed = settled({ ...second, spec: { ...second.spec, names: { ...second.spec.names, singular: 'a' } } }, [
    first,
  ]);
  assert.deepEqual(shown(renamed), [
    'NamesAccepted=False SingularConflict: "a" is already in use',
    'Established=True InitialNamesAccepted: the initial names have been accepted',
  ]);
  assert.equal(renamed.status?.acceptedNames.singular, 'b');
});

test('a schema that is not structural is named, until it is', () => {
  const given = definition('A');
  const odd = {
    ...given,
    spec: { ...given.spec, versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: {} } }] },
  };
  const found = settled(odd);
  assert.deepEqual(
    shown(found).at(-1),
    'NonStructuralSchema=True Violations: spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root',
  );
  assert.equal(shown(settled({ ...given, status: found.status })).length, 2);
});

test('groups of the community say whether they were approved', () => {
  const given = definition('A', { group: 'x.k8s.io' });
  const approved = (value: string): string | undefined =>
    shown(
      settled({ ...given, metadata: { ...given.metadata, annotations: { 'api-approved.kubernetes.io': value } } }),
    ).at(-1);
  assert.match(String(approved('https://github.com/kubernetes/pull/1')), /Conformant=True ApprovedAnnotation/);
  assert.match(String(approved('unapproved, a test')), /Conformant=False UnapprovedAnnotation: not approved/);
});
