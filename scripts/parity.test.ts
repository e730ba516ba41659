import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { agentFlags } from '../src/kubelet/cmd/flags-agent.ts';
import { configFlags } from '../src/kubelet/cmd/flags-config.ts';
import { honouredFields, honouredFlags } from '../src/kubelet/model/config/honoured-fields.ts';
import { KubeletConfigurationSchema } from '../src/kubelet/model/config/schema.ts';
import { reasonTables, reasonsNotYet } from '../src/kubelet/model/parity/interface-parity.ts';
import { podFieldRows } from '../src/kubelet/model/parity/pod-fields.ts';
import { podTypes } from '../src/kubelet/model/parity/pod-types.ts';
import { leafPaths } from '../src/kubelet/model/parity/schema-paths.ts';
import { renderParity } from './parity-render.ts';
import { parityFile } from './parity.ts';

test('every field of the configuration has exactly one row', () => {
  assert.deepEqual(Object.keys(honouredFields).sort(), leafPaths(KubeletConfigurationSchema, { descendArrays: false }).sort());
});

test('the schema has all 125 fields of v1beta1 beside apiVersion and kind', () => {
  assert.equal(Object.keys(KubeletConfigurationSchema.fields).length - 2, 125);
});

test('every flag that sets no field and is not ignored has a row', () => {
  const named = agentFlags.filter((flag) => flag.ignored !== true).map(({ name }) => name);
  assert.deepEqual(Object.keys(honouredFlags).sort(), named.sort());
});

test('every flag that sets a field names a field that exists', () => {
  const known = new Set(leafPaths(KubeletConfigurationSchema, { descendArrays: false }));
  assert.deepEqual(configFlags.filter(({ field }) => field === undefined || !known.has(field)), []);
});

test('every field of every type of a pod spec has a row, and no row is left over', () => {
  const types = podTypes();
  const wanted = Object.fromEntries(types.map(({ schema }) => [schema.name, Object.keys(schema.fields).sort()]));
  const have = Object.fromEntries(Object.entries(podFieldRows).map(([type, rows]) => [type, Object.keys(rows).sort()]));
  assert.deepEqual(have, wanted);
});

test('whatever is not simply honoured says why', () => {
  const all = [...Object.entries(honouredFields), ...Object.entries(honouredFlags), ...Object.values(podFieldRows).flatMap((rows) => Object.entries(rows))];
  assert.deepEqual(all.filter(([, { state, note }]) => state !== 'honoured' && note === ''), []);
});

test('a reason that is not given yet is a reason of upstream', () => {
  const known = new Set(Object.values(reasonTables).flat());
  assert.deepEqual([...reasonsNotYet.keys()].filter((reason) => !known.has(reason)), []);
});

test('docs/parity.md is what the tables say', () => {
  assert.equal(readFileSync(parityFile, 'utf8'), renderParity(), 'run node scripts/parity.ts --write');
});
