import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as reasons from '../src/api/reasons.ts';
import { agentFlags } from '../src/kubelet/cmd/flags/flags-agent.ts';
import { configFlags } from '../src/kubelet/cmd/flags/flags-config.ts';
import {
  configFieldNames,
  configFieldsWithoutEffect,
  configFieldTests,
} from '../src/kubelet/model/config/testing/config-field-tests.ts';
import { honouredFields, honouredFlags } from '../src/kubelet/model/config/honoured-fields.ts';
import { KubeletConfigurationSchema } from '../src/kubelet/model/config/schema.ts';
import { reasonTables, reasonsNotYet } from '../src/kubelet/model/parity/interface-parity.ts';
import { gateGroups } from '../src/kubelet/model/config/feature-gate-table.ts';
import { gateRows } from '../src/kubelet/model/parity/gate-parity.ts';
import { gateTests } from '../src/kubelet/model/parity/testing/gate-tests.ts';
import { podFieldTests, shownByRefusal, testsOfField } from '../src/kubelet/model/parity/testing/pod-field-tests.ts';
import { podFieldRows } from '../src/kubelet/model/parity/pod-fields.ts';
import { podTypes } from '../src/kubelet/model/parity/pod-types.ts';
import { leafPaths } from '../src/kubelet/model/parity/schema-paths.ts';
import { renderParity } from './parity-render.ts';
import { showsNoEffect, testLabel, usesField } from './parity-tests.ts';
import { parityFile } from './parity.ts';

const root = path.join(import.meta.dirname, '..');
/** `Type.field` of every field of a pod's spec that works, with the tests that are named for it. */
const workingFields = podTypes().flatMap(({ schema }) =>
  Object.keys(schema.fields).flatMap((field) =>
    podFieldRows[schema.name]?.[field]?.state === 'notYet'
      ? []
      : [{ field, at: `${schema.name}.${field}`, tests: testsOfField(schema.name, field) }],
  ),
);

test('every field of the configuration has exactly one row', () => {
  assert.deepEqual(
    Object.keys(honouredFields).sort(),
    leafPaths(KubeletConfigurationSchema, { descendArrays: false }).sort(),
  );
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
  assert.deepEqual(
    configFlags.filter(({ field }) => field === undefined || !known.has(field)),
    [],
  );
});

test('every field of every type of a pod spec has a row, and no row is left over', () => {
  const types = podTypes();
  const wanted = Object.fromEntries(types.map(({ schema }) => [schema.name, Object.keys(schema.fields).sort()]));
  const have = Object.fromEntries(Object.entries(podFieldRows).map(([type, rows]) => [type, Object.keys(rows).sort()]));
  assert.deepEqual(have, wanted);
});

test('whatever is not simply honoured says why', () => {
  const all = [
    ...Object.entries(honouredFields),
    ...Object.entries(honouredFlags),
    ...Object.values(podFieldRows).flatMap((rows) => Object.entries(rows)),
  ];
  assert.deepEqual(
    all.filter(([, { state, note }]) => state !== 'honoured' && note === ''),
    [],
  );
});

test('every field of a pod that works names a test that shows it', () => {
  assert.deepEqual(
    workingFields.filter(({ tests }) => tests.length === 0).map(({ at }) => at),
    [],
  );
});

test('a test that is named for a field is there and uses the field', () => {
  const texts = new Map(
    [...new Set(workingFields.flatMap(({ tests }) => tests))].map((file) => [
      file,
      existsSync(path.join(root, file)) ? readFileSync(path.join(root, file), 'utf8') : undefined,
    ]),
  );
  assert.deepEqual(
    [...texts].filter(([, text]) => text === undefined).map(([file]) => file),
    [],
  );
  assert.deepEqual(
    workingFields.flatMap(({ field, at, tests }) =>
      tests.filter((file) => !usesField(texts.get(file) ?? '', field)).map((file) => `${at}: ${file}`),
    ),
    [],
  );
});

test('no field is shown by a table of what is accepted, but for those whose effect is to be refused', () => {
  const shown = workingFields.filter(({ tests }) => tests.some(showsNoEffect)).map(({ at }) => at);
  assert.deepEqual(shown.sort(), [...shownByRefusal].sort());
});

test('every name for which tests are named is a field that works', () => {
  const named = Object.entries(podFieldTests).flatMap(([type, tests]) =>
    Object.keys(tests)
      .flatMap((names) => names.split(' '))
      .map((name) => `${type}.${name}`),
  );
  const known = new Set(workingFields.map(({ at }) => at));
  const types = new Set(podTypes().map(({ schema }) => `${schema.name}.*`));
  assert.deepEqual(
    named.filter((name) => !known.has(name) && !types.has(name)),
    [],
  );
});

test('a field is used where it is a key, a property or a name in quotes; a word of a sentence is no use', () => {
  for (const text of [
    '{ tty: true }',
    "{ 'tty': 1 }",
    'a.tty',
    'a?.tty === x',
    "['tty']",
    "'spec.tty'",
    '{ stdin, tty }',
  ])
    assert.equal(usesField(text, 'tty'), true, text);
  for (const text of [
    '// a tty',
    "test('a tty is there')",
    'ttyName: 1',
    'my-tty: 1',
    'import tty from',
    'a.ttys',
    'f(tty)',
  ])
    assert.equal(usesField(text, 'tty'), false, text);
});

test('tests are distinguished by their labels', () => {
  const files = new Set(workingFields.flatMap(({ tests }) => tests));
  assert.equal(new Set([...files].map(testLabel)).size, files.size);
});

test('a reason that is not given yet is a reason of upstream', () => {
  const known = new Set(Object.values(reasonTables).flat());
  assert.deepEqual(
    [...reasonsNotYet.keys()].filter((reason) => !known.has(reason)),
    [],
  );
});

test('every configuration field that works names a test that shows it, and no other field does', () => {
  const working = Object.entries(honouredFields)
    .filter(([name, { state }]) => state !== 'notYet' && !configFieldsWithoutEffect.includes(name))
    .map(([name]) => name);
  assert.deepEqual([...configFieldTests.keys()].sort(), working.sort());
});

test('a test that is named for a configuration field is there and uses it, by its own name or the features’', () => {
  const wrong = [...configFieldTests].flatMap(([name, tests]) => {
    const words = [name.split('.').at(-1) ?? '', ...(configFieldNames[name] ?? [])];
    return tests
      .filter(
        (file) =>
          !existsSync(path.join(root, file)) ||
          !words.some((word) => usesField(readFileSync(path.join(root, file), 'utf8'), word)),
      )
      .map((file) => `${name}: ${file}`);
  });
  assert.deepEqual(wrong, []);
});

test('every gate with an effect that can be set names a test that uses it, and stands in the code', () => {
  const settable = new Set(
    gateGroups.filter(({ locked }) => !locked).flatMap(({ names }) => names.trim().split(/\s+/)),
  );
  const code = globSync('src/kubelet/**/*.ts', { cwd: root })
    .filter((file) => !/\.test\.ts$|\/(testing|parity)\/|feature-gate-table/.test(file))
    .map((file) => readFileSync(path.join(root, file), 'utf8'))
    .join('\n');
  const wrong = Object.entries(gateRows).flatMap(([gate, { state, note }]) => {
    if (!settable.has(gate)) return [`${gate}: no gate that can be set`];
    if (state !== 'honoured' || note.startsWith('there are no') || note.startsWith('only on')) return [];
    const { test: file, word = gate } = gateTests[gate] ?? { test: '' };
    const used =
      file !== '' && existsSync(path.join(root, file)) && readFileSync(path.join(root, file), 'utf8').includes(word);
    if (
      !code.includes(
        gate === 'CPUManagerPolicyAlphaOptions' || gate === 'CPUManagerPolicyBetaOptions'
          ? 'CPUManagerPolicy'
          : `'${gate}'`,
      )
    )
      return [`${gate}: nothing asks for it`];
    return used ? [] : [`${gate}: ${file}`];
  });
  assert.deepEqual(wrong, []);
});

/** Given by the runtime and passed on. */
const ofTheRuntime = new Set<string>([
  reasons.terminatedReasons.startError,
  reasons.terminatedReasons.containerCannotRun,
]);

test('each reason in the parity table occurs in the code of the agent', () => {
  const sources = globSync('src/kubelet/**/*.ts', { cwd: root })
    .filter((file) => !/\.test\.ts$|\/(testing|parity)\//.test(file))
    .map((file) => readFileSync(path.join(root, file), 'utf8'))
    .join('\n');
  const given = new Set<string>();
  for (const [table, entries] of Object.entries(reasons))
    for (const [name, reason] of Object.entries(entries))
      if (new RegExp(`\\b${table}\\.${name}\\b|'${reason}'`).test(sources)) given.add(reason);
  const claimed = Object.values(reasonTables)
    .flat()
    .filter((reason) => !reasonsNotYet.has(reason) && !ofTheRuntime.has(reason));
  assert.deepEqual(
    claimed.filter((reason) => !given.has(reason)),
    [],
  );
});

test('docs/parity.md is what the tables say', () => {
  assert.equal(readFileSync(parityFile, 'utf8'), renderParity(), 'run node scripts/parity.ts --write');
});
