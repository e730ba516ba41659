import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { podUid } from '../../model/ids.ts';
import { FakeStateText } from '../../ports/testing/fake-state-text.ts';
import { decodeCheckpoint, encodeCheckpoint } from './checkpoint-format.ts';
import { ResourceCheckpoint } from './resource-checkpoint.ts';

const uid = podUid('u1');

test('reads a file of upstream, with its checksum', () => {
  const text =
    '{"data":"{\\"entries\\":{\\"pod1\\":{\\"ContainerResources\\":{\\"container1\\":{\\"requests\\":{\\"cpu\\":\\"1Ki\\",\\"memory\\":\\"1Ki\\"}}}}}}","checksum":1178570812}';
  assert.deepEqual(
    [...(decodeCheckpoint(text) ?? [])],
    [['pod1', { containers: { container1: { requests: { cpu: '1Ki', memory: '1Ki' } } } }]],
  );
});

test('writes what Go writes: sorted keys, null for no pod-level resources, FNV-32a over the inner text', () => {
  const pods = new Map<string, PodAllocation>([
    [
      'b',
      {
        containers: { web: { requests: { memory: '1Gi', cpu: '1' }, limits: { cpu: '2' } } },
        pod: { requests: { cpu: '3' } },
      },
    ],
    ['a', { containers: {} }],
  ]);
  const text = encodeCheckpoint(pods);
  const outer: unknown = JSON.parse(text);
  assert.deepEqual(outer, {
    data: '{"entries":{"a":{"ContainerResources":{},"PodLevelResources":null},"b":{"ContainerResources":{"web":{"limits":{"cpu":"2"},"requests":{"cpu":"1","memory":"1Gi"}}},"PodLevelResources":{"requests":{"cpu":"3"}}}}}',
    checksum: 2_981_923_433,
  });
  assert.deepEqual(new Map(decodeCheckpoint(text)), pods);
  assert.equal(decodeCheckpoint(encodeCheckpoint(new Map()))?.size, 0);
});

test('refuses content that no agent could have written', () => {
  const good = encodeCheckpoint(new Map([['u', { containers: { c: { limits: { cpu: '1' } } } }]]));
  for (const bad of [
    '',
    '{}',
    good.slice(0, -3),
    good.replace('\\"1\\"', '\\"2\\"'),
    '{"data":"[]","checksum":0}',
    'null',
  ])
    assert.equal(decodeCheckpoint(bad), undefined, bad);
});

test('another agent reads the records of this one', async () => {
  const file = new FakeStateText();
  const records = new ResourceCheckpoint(file);
  for (let index = 0; index < 50; index++)
    records.set(podUid(`u${index}`), { containers: { c: { requests: { cpu: `${index + 1}m` } } } });
  assert.equal(file.hasChanged, true);
  await records.flush();
  const again = new ResourceCheckpoint(new FakeStateText(file.saved));
  assert.deepEqual(
    [again.container(podUid('u7'), 'c'), again.container(podUid('u7'), 'other'), again.get(podUid('gone'))],
    [{ requests: { cpu: '8m' } }, undefined, undefined],
  );
});

test('an equal record is neither recorded nor written again, however the amount is spelt, and reported so', async () => {
  const file = new FakeStateText();
  const record = new ResourceCheckpoint(file);
  assert.equal(record.setContainer(uid, 'app', { requests: { cpu: '1' } }), true);
  record.setPodLevel(uid, { limits: { cpu: '4' } });
  await record.flush();
  const before = record.get(uid);
  assert.equal(record.setContainer(uid, 'app', { requests: { cpu: '1000m' } }), false);
  record.setPodLevel(uid, { limits: { cpu: '4000m' } });
  assert.equal(record.get(uid), before);
  assert.equal(file.hasChanged, false);
  assert.equal(record.setContainer(uid, 'app', { requests: { cpu: '2' } }), true);
  assert.equal(file.hasChanged, true);
  record.setPodLevel(uid, { limits: { cpu: '5' } });
  assert.deepEqual(
    [record.podLevel(uid), record.container(uid, 'app')],
    [{ limits: { cpu: '5' } }, { requests: { cpu: '2' } }],
  );
  await record.flush();
  assert.deepEqual(new ResourceCheckpoint(new FakeStateText(file.saved)).get(uid), record.get(uid));
});

test('a corrupt file is set aside, and its place is taken by new records', async () => {
  const file = new FakeStateText('{"data":"{}","checksum":1}');
  const records = new ResourceCheckpoint(file);
  assert.deepEqual([records.get(uid), file.why], [undefined, 'its checksum or its form is wrong']);
  records.set(uid, { containers: {} });
  await records.flush();
  const next = new FakeStateText(file.saved);
  assert.deepEqual([new ResourceCheckpoint(next).get(uid), next.why], [{ containers: {} }, undefined]);
});

test('a missing file is no fault', () => {
  const file = new FakeStateText();
  assert.equal(new ResourceCheckpoint(file).get(uid), undefined);
  assert.deepEqual([file.why, file.hasChanged], [undefined, false]);
});

test('records of removed and unknown pods are dropped, which is not worth a write of its own', async () => {
  const file = new FakeStateText();
  const record = new ResourceCheckpoint(file);
  for (const each of ['kept', 'removed', 'unknown']) record.set(podUid(each), { containers: {}, pod: { limits: {} } });
  await record.flush();
  record.remove(podUid('removed'));
  record.retain(new Set([podUid('kept')]));
  assert.deepEqual(
    ['kept', 'removed', 'unknown'].map((each) => record.podLevel(podUid(each)) !== undefined),
    [true, false, false],
  );
  assert.equal(file.hasChanged, false);
});

test('shapes that no agent writes are refused, whatever their checksum', () => {
  const withData = (data: string): string => {
    let hash = 0x811c9dc5;
    for (const byte of Buffer.from(`(string)${data}`)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    return JSON.stringify({ data, checksum: hash });
  };
  const entry = (pod: unknown): string => withData(JSON.stringify({ entries: { u: pod } }));
  assert.equal(decodeCheckpoint(entry({ ContainerResources: { c: { limits: { cpu: '1' } } } }))?.size, 1);
  for (const bad of [
    withData('no JSON'),
    withData('null'),
    withData('{"entries":[]}'),
    entry(null),
    entry({ ContainerResources: [] }),
    entry({ ContainerResources: { c: null } }),
    entry({ ContainerResources: { c: { limits: [] } } }),
    entry({ ContainerResources: { c: { limits: { cpu: 1 } } } }),
    entry({ ContainerResources: { c: { requests: { cpu: 'much' } } } }),
    entry({ PodLevelResources: { limits: { cpu: 'much' } } }),
  ])
    assert.equal(decodeCheckpoint(bad), undefined, bad);
});
