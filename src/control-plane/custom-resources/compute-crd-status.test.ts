import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
} from '../../api/apiextensions/custom-resource-definition.ts';
import { computeCrdStatus, setCondition } from './compute-crd-status.ts';

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

test('the schemas of a definition that was judged structural are not read again', () => {
  const before = settled(definition('A'));
  const schema = Object.defineProperty({}, 'openAPIV3Schema', { get: () => assert.fail('was read') });
  const again = {
    ...before,
    spec: { ...before.spec, versions: [{ name: 'v1', served: true, storage: true, schema }] },
  };
  assert.equal(computeCrdStatus(again, [], NOW), undefined);
  assert.throws(
    () => computeCrdStatus({ ...again, status: definition('A').status ?? before.status }, [], NOW),
    /was read/,
  );
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

const condition = (more: Partial<CustomResourceDefinitionCondition> = {}): CustomResourceDefinitionCondition => ({
  ...{ type: 'Established', status: 'True', reason: 'R', message: 'm', lastTransitionTime: 'then' },
  ...more,
});

test('a condition has the time of its last change of status', () => {
  const set = (old: Partial<CustomResourceDefinitionCondition>) =>
    setCondition([condition(old)], { type: 'Established', status: 'True', reason: 'R', message: 'm' }, NOW);
  assert.deepEqual(set({}), [condition()]);
  assert.deepEqual(set({ reason: 'other' }), [condition()]);
  assert.deepEqual(set({ message: 'other' }), [condition()]);
  assert.deepEqual(set({ status: 'False' }), [condition({ lastTransitionTime: NOW })]);
  assert.deepEqual(set({ type: 'Terminating' }), [
    condition({ type: 'Terminating' }),
    condition({ lastTransitionTime: NOW }),
  ]);
  const { lastTransitionTime: _time, ...timeless } = condition({ reason: 'other' });
  assert.deepEqual(setCondition([timeless], { type: 'Established', status: 'True', reason: 'R', message: 'm' }, NOW), [
    condition({ lastTransitionTime: NOW }),
  ]);
});

const withNames = (
  given: CustomResourceDefinition,
  names: Partial<CustomResourceDefinitionNames>,
): CustomResourceDefinition => ({ ...given, spec: { ...given.spec, names: { ...given.spec.names, ...names } } });

test('each name is held against those that the others have accepted', () => {
  const other = settled(withNames(definition('A'), { shortNames: ['x', 'y'] }));
  const conflicts: readonly (readonly [Partial<CustomResourceDefinitionNames>, string])[] = [
    [{ plural: 'as' }, 'PluralConflict: "as" is already in use'],
    [{ plural: 'a' }, 'PluralConflict: "a" is already in use'],
    [{ plural: 'x' }, 'PluralConflict: "x" is already in use'],
    [{ singular: 'as' }, 'SingularConflict: "as" is already in use'],
    [{ shortNames: ['z', 'x'] }, 'ShortNamesConflict: "x" is already in use'],
    [{ shortNames: ['x', 'as', 'z'] }, 'ShortNamesConflict: ["x" is already in use, "as" is already in use]'],
    [{ kind: 'A' }, 'KindConflict: "A" is already in use'],
    [{ kind: 'AList' }, 'KindConflict: "AList" is already in use'],
    [{ listKind: 'A' }, 'ListKindConflict: "A" is already in use'],
  ];
  for (const [names, said] of conflicts)
    assert.equal(shown(settled(withNames(definition('B'), names), [other]))[0], `NamesAccepted=False ${said}`);
  for (const names of [{ plural: 'A' }, { kind: 'x' }, { kind: 'as' }, { singular: 'AList' }])
    assert.match(shown(settled(withNames(definition('B'), names), [other]))[0] ?? '', /^NamesAccepted=True/);
});

test('names of definitions that have no status yet are free', () => {
  const { status: _status, ...bare } = definition('A');
  assert.match(shown(settled(withNames(definition('B'), { kind: 'A', plural: 'as' }), [bare]))[0] ?? '', /=True/);
  const first = settled(bare);
  assert.deepEqual(first.status?.acceptedNames, bare.spec.names);
  assert.deepEqual(first.status?.storedVersions, []);
  assert.equal(first.status?.conditions.length, 2);
});

test('short names that were accepted stay, also beside another with the same', () => {
  const first = settled(definition('A', { shortNames: ['x'] }));
  const again = settled(withNames(first, { categories: ['all'] }), [definition('B'), { ...first }]);
  assert.match(shown(again)[0] ?? '', /^NamesAccepted=True/);
  assert.deepEqual(again.status?.acceptedNames.shortNames, ['x']);
  assert.deepEqual(again.status?.acceptedNames.categories, ['all']);
});

test('names that are not given are left out', () => {
  const { spec, ...rest } = definition('A');
  const given = { ...rest, spec: { ...spec, names: { plural: 'as', kind: 'A' } } };
  assert.deepEqual(settled(given).status?.acceptedNames, { plural: 'as', kind: 'A' });
});

test('versions without a schema, and those with an odd one, have no faults; several faults are listed', () => {
  const versions = (...schemas: readonly unknown[]): CustomResourceDefinition => {
    const given = definition('A');
    const made = schemas.map((schema, index) => ({ name: `v${index}`, served: true, storage: index === 0, schema }));
    return { ...given, spec: { ...given.spec, versions: made as CustomResourceDefinition['spec']['versions'] } };
  };
  const faults = (given: CustomResourceDefinition): string | undefined =>
    settled(given).status?.conditions.find(({ type }) => type === 'NonStructuralSchema')?.message;
  for (const schema of [undefined, {}, { openAPIV3Schema: null }, { openAPIV3Schema: 'odd' }])
    assert.equal(faults(versions(schema)), undefined, JSON.stringify(schema));
  const fault = (index: number): string =>
    `spec.versions[${index}].schema.openAPIV3Schema.type: Required value: must not be empty at the root`;
  const given = versions({ openAPIV3Schema: {} }, { openAPIV3Schema: {} });
  assert.equal(faults(given), `[${fault(0)}, ${fault(1)}]`);
  assert.equal(faults(given), `[${fault(0)}, ${fault(1)}]`);
  const preserving = definition('A');
  const old = { ...preserving, spec: { ...preserving.spec, preserveUnknownFields: true } };
  assert.equal(faults(old), 'spec.preserveUnknownFields: Invalid value: true: must be false');
});

test('a condition that holds no more is taken away, and others stay', () => {
  const given = definition('A', { group: 'x.k8s.io' });
  const before = settled(given);
  assert.match(shown(before).at(-1) ?? '', /Conformant=False MissingAnnotation/);
  const elsewhere = { ...before, spec: { ...before.spec, group: 'example.com' } };
  assert.deepEqual(
    settled(elsewhere).status?.conditions.map(({ type }) => type),
    ['NamesAccepted', 'Established'],
  );
});
