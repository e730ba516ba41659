import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { allDocs } from '../../api/all-docs.ts';
import { ConditionSchema } from '../../api/core/condition.ts';
import { VolumeMountSchema } from '../../api/core/container.ts';

import { PodOSSchema, PodSpecSchema } from '../../api/core/pod-spec.ts';
import { PersistentVolumeClaimSpecSchema } from '../../api/core/volume-source.ts';
import { PodDisruptionBudgetSchema } from '../../api/policy/pod-disruption-budget.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { describeField, describeType } from './descriptions.ts';

describe('API descriptions', () => {
  it('are sentences', () => {
    const faults = allDocs.flatMap(({ schema, text, fields }) =>
      Object.entries({ '': text, ...fields })
        .filter(([, each]) => each !== undefined && !/^\S.*\.$/s.test(each))
        .map(([field]) => `${schema.name}.${field}`),
    );
    assert.deepEqual(faults, []);
  });

  it('of all files are listed', async () => {
    const folder = path.join(import.meta.dirname, '../../api');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.docs.ts'),
    );
    const listed = new Set(allDocs);
    for (const file of files) {
      const { docs } = (await import(path.join(folder, file))) as { readonly docs: typeof allDocs };
      assert.ok(
        docs.every((each) => listed.has(each)),
        `${file} is not in all-docs.ts`,
      );
    }
  });

  const shown = (type: ObjectSchema, field: string): string | undefined => {
    const schema = type.fields[field]?.schema;
    return schema === undefined ? undefined : describeField(type, field, schema);
  };

  it('name the values that the schema knows and the documents do not list', () => {
    assert.match(shown(PodOSSchema, 'name') ?? '', /linux.*windows/);
    assert.match(shown(PersistentVolumeClaimSpecSchema, 'accessModes') ?? '', / Possible values: ReadWriteOnce, /);
    assert.match(
      shown(VolumeMountSchema, 'recursiveReadOnly') ?? '',
      / Possible values: Disabled, IfPossible, Enabled\.$/,
    );
  });

  it('do not name values a second time', () => {
    assert.doesNotMatch(shown(PodSpecSchema, 'dnsPolicy') ?? '', /Possible values/);
    assert.doesNotMatch(shown(ConditionSchema, 'status') ?? '', /Possible values/);
  });

  it('are common where a type says no more', () => {
    assert.equal(shown(PodDisruptionBudgetSchema, 'spec'), 'The desired state.');
    assert.equal(describeType({ kind: 'object', name: 'PodList', fields: {} }), 'A list of objects of the kind Pod.');
  });
});
