import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadManifest } from '../../../api/manifest/load-manifest.ts';
import { inDefaultNamespace } from '../../../api/manifest/manifest-kinds.ts';
import type { KindedObject } from '../../../api/manifest/manifest-kinds.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { ManifestObjects } from './manifest-objects.ts';

const objects = (...texts: string[]): KindedObject[] =>
  texts.flatMap((text) => loadManifest(text, { fileName: 'f' }).objects.map(inDefaultNamespace));
const map = (rest: string): string => `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, ${rest}}`;

test('a changed immutable object causes a warning in the words of the API server, and applies to pods that start later', () => {
  const log = recordingLog();
  const store = new ManifestObjects(log);
  const problems = (...texts: string[]): unknown[] => {
    const before = log.lines.length;
    store.replace('file', objects(...texts));
    return log.lines.slice(before).map(({ fields }) => fields['problem']);
  };
  const forbidden = (field: string): string =>
    `ConfigMap default/c: ${field}: Forbidden: field is immutable when \`immutable\` is set`;
  assert.deepEqual(problems(map('immutable: true, data: {a: "1"}')), []);
  assert.deepEqual(problems(map('immutable: true, data: {a: "2"}, binaryData: {b: eA==}')), [
    forbidden('data'),
    forbidden('binaryData'),
  ]);
  assert.equal(store.configMap('default', 'c')?.data?.['a'], '2');
  assert.deepEqual(problems(map('data: {a: "2"}, binaryData: {b: eA==}')), [forbidden('immutable')]);
  assert.deepEqual(problems(map('data: {a: "3"}')), []);
});

test('an immutable object that is deleted and recreated is another one', () => {
  const log = recordingLog();
  const store = new ManifestObjects(log);
  const secret = (value: string): string =>
    `{apiVersion: v1, kind: Secret, metadata: {name: s}, immutable: true, stringData: {a: ${value}}}`;
  for (const found of [objects(secret('x')), [], objects(secret('z'))]) store.replace('file', found);
  assert.deepEqual(log.lines, []);
  store.replace('file', objects(secret('hunter2')));
  assert.deepEqual(
    log.lines.map(({ fields }) => fields['problem']),
    ['Secret default/s: data: Forbidden: field is immutable when `immutable` is set'],
  );
  assert.doesNotMatch(JSON.stringify(log.lines), /hunter2|aHVudGVyMg/);
});
