import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { decodeAny, formatDecodeError } from '../../api/schema/decode.ts';
import { permissivePolicy } from '../../api/validation/cluster-policy.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { allResources } from './all.ts';
import { arbitraryOf, inheritedWords } from './testing/schema-arbitrary.ts';

const request = { user: { name: 'tester', groups: [] }, nowMs: Date.parse('2026-01-31T12:00:00Z') };

function decoded({ schema }: ResourceDefinition, plain: unknown): ApiObject {
  const { value, errors } = decodeAny(schema, plain);
  assert.deepEqual(errors.map(formatDecodeError), []);
  return value as ApiObject;
}

/** Runs everything that a request to the kind could run, except the store. */
function exercise(
  { rules, columns, views, selectableFields }: ResourceDefinition,
  given: ApiObject,
  other: ApiObject,
): void {
  const now = rules.applyDefaults(given);
  const old = rules.applyDefaults(other);
  const created = rules.prepareForCreate?.(now, request) ?? now;
  rules.validate(created, permissivePolicy);
  rules.warnings?.(created, undefined);
  const updated = rules.prepareForUpdate?.(now, old, request) ?? now;
  rules.validateUpdate(updated, old, permissivePolicy);
  rules.warnings?.(updated, old);
  rules.validateStatusUpdate?.(rules.prepareForStatusUpdate?.(now, old, request) ?? now, old, permissivePolicy);
  for (const view of views ?? [])
    if (view.kind === undefined) view.validate(view.write(old, now, request), old, permissivePolicy);
  for (const fields of Object.values(selectableFields?.(now) ?? {})) assert.equal(typeof fields, 'string');
  for (const { name, cell } of columns ?? []) assert.notEqual(cell(now, request.nowMs), undefined, name);
  rules.gracePeriodSeconds?.(now, undefined);
}

for (const definition of allResources) {
  const { group, kind } = definition.type;
  test(`whatever a ${kind}${group === '' ? '' : ` of ${group}`} is, defaulting it twice is defaulting it once, and its rules say what they think without falling over or changing it`, () => {
    const objects = arbitraryOf(definition.schema);
    fc.assert(
      fc.property(objects, objects, (plain, otherPlain) => {
        const given = decoded(definition, plain);
        const other = decoded(definition, otherPlain);
        const before = JSON.stringify([given, other]);
        const once = definition.rules.applyDefaults(given);
        assert.deepEqual(
          JSON.parse(JSON.stringify(definition.rules.applyDefaults(once))),
          JSON.parse(JSON.stringify(once)),
        );
        exercise(definition, given, other);
        assert.equal(JSON.stringify([given, other]), before);
      }),
      { numRuns: 30 },
    );
  });

  test(`in a ${kind}${group === '' ? '' : ` of ${group}`} what every object of JavaScript inherits is a name like any other`, () => {
    const objects = arbitraryOf(definition.schema, inheritedWords);
    fc.assert(
      fc.property(objects, objects, (plain, other) =>
        exercise(definition, decoded(definition, plain), decoded(definition, other)),
      ),
      { numRuns: 60 },
    );
  });
}
