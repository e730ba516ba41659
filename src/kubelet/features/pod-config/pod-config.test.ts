import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodSource } from '../../model/pod-update.ts';
import { PodConfig } from './pod-config.ts';

function pod(uid: string, image = 'a', name = `pod-${uid}`): Pod {
  return { metadata: { name, namespace: 'default', uid }, spec: { containers: [{ name: 'c', image }] } };
}

function setUp(sources: readonly PodSource[]): { config: PodConfig; said: string[] } {
  const said: string[] = [];
  const config = new PodConfig({
    sources,
    clock: new FakeClock(),
    log: recordingLog(),
    recorder: { event: (_pod, type, reason, message) => said.push(`${type} ${reason} ${message}`) },
    onUpdate: (update) =>
      said.push(`${update.op} ${update.source} ${update.pods.map((each) => each.metadata.uid).join(',')}`),
  });
  config.onSourcesReady(() => said.push('ready'));
  return { config, said };
}

test('the sources are ready when each of them has reported, even if one has nothing', () => {
  const { config, said } = setUp(['file', 'http']);
  config.setSource('file', [pod('1')]);
  assert.deepEqual([config.sourcesReady(), config.missingSources()], [false, ['http']]);
  config.setSource('http', []);
  assert.deepEqual([config.sourcesReady(), said], [true, ['ADD file 1', 'ADD http ', 'ready']]);
});

test('no pod is removed before every source has reported', () => {
  const { config, said } = setUp(['file', 'http']);
  config.setSource('file', [pod('1')]);
  config.setSource('file', []);
  assert.deepEqual(said, ['ADD file 1']);
  config.setSource('http', []);
  assert.deepEqual(said.slice(1), ['ADD http ', 'REMOVE file 1', 'ready']);
});

test('a removal that was reverted before it was sent becomes an update', () => {
  const { config, said } = setUp(['file', 'http']);
  config.setSource('file', [pod('1')]);
  config.setSource('file', []);
  config.setSource('file', [pod('1', 'b'), pod('2')]);
  config.setSource('http', []);
  assert.deepEqual(said, ['ADD file 1', 'ADD file 2', 'UPDATE file 1', 'ADD http ', 'ready']);
});

test('an incomplete report adds its pods but does not count as a report', () => {
  const { config, said } = setUp(['file']);
  config.setSource('file', [pod('1')], { complete: false });
  assert.deepEqual([config.sourcesReady(), said], [false, ['ADD file 1']]);
  config.setSource('file', [pod('1'), pod('2')]);
  config.setSource('file', [pod('2')], { complete: false });
  assert.deepEqual(said.slice(1), ['ADD file 2', 'ready', 'REMOVE file 1']);
});

test('a second pod of the same name in a source is rejected with an event and the first runs', () => {
  const { config, said } = setUp(['file']);
  config.setSource('file', [pod('1', 'a', 'web'), pod('2', 'a', 'web')]);
  assert.deepEqual(said, [
    'Warning FailedValidation Error validating pod web_default(2) from file due to duplicate pod name "web", ignoring',
    'ADD file 1',
    'ready',
  ]);
});
