import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { podUid } from '../../model/ids.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { decodeCheckpoint, encodeCheckpoint } from './checkpoint-format.ts';
import { ResourceCheckpoint } from './resource-checkpoint.ts';

const path = '/var/lib/kubelet/allocated_pods_state';
const uid = podUid('u1');

async function world() {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  await files.makeDirectory('/var/lib/kubelet', 0o755);
  const log = recordingLog();
  return { clock, files, log, open: () => ResourceCheckpoint.open({ path, files, clock, log }) };
}

test("upstream's file is read, checksum and all", () => {
  const text =
    '{"data":"{\\"entries\\":{\\"pod1\\":{\\"ContainerResources\\":{\\"container1\\":{\\"requests\\":{\\"cpu\\":\\"1Ki\\",\\"memory\\":\\"1Ki\\"}}}}}}","checksum":1178570812}';
  assert.deepEqual(
    [...(decodeCheckpoint(text) ?? [])],
    [['pod1', { containers: { container1: { requests: { cpu: '1Ki', memory: '1Ki' } } } }]],
  );
});

test('what is written is what Go writes: sorted keys, a null for no pod-level resources, FNV-32a over the inner text', () => {
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

test('what no agent could have written is not taken', () => {
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

test('starts of many pods are one write, and another agent finds them', async () => {
  const { clock, open } = await world();
  const records = await open();
  for (let index = 0; index < 50; index++)
    records.set(podUid(`u${index}`), { containers: { c: { requests: { cpu: `${index + 1}m` } } } });
  await clock.advance(100);
  const again = await open();
  assert.deepEqual(
    [again.container(podUid('u7'), 'c'), again.container(podUid('u7'), 'other'), again.get(podUid('nobody'))],
    [{ requests: { cpu: '8m' } }, undefined, undefined],
  );
});

test('a record that already says so is not written again, however the amount is spelt', async () => {
  const { open } = await world();
  const records = await open();
  assert.equal(records.setContainer(uid, 'c', { requests: { cpu: '1' } }), true);
  assert.equal(records.setContainer(uid, 'c', { requests: { cpu: '1000m' } }), false);
  records.setPodLevel(uid, { limits: { memory: '1Gi' } });
  await records.flush();
  assert.deepEqual((await open()).get(uid), {
    containers: { c: { requests: { cpu: '1' } } },
    pod: { limits: { memory: '1Gi' } },
  });
});

test('a corrupt file is set aside, said, and replaced', async () => {
  const { files, log, open } = await world();
  await files.writeFile(path, '{"data":"{}","checksum":1}', 0o600);
  const records = await open();
  assert.equal(records.get(uid), undefined);
  assert.deepEqual(
    [await files.readText(`${path}.corrupt`), log.lines.filter(({ level }) => level === 'error').length],
    ['{"data":"{}","checksum":1}', 1],
  );
  records.set(uid, { containers: {} });
  await records.flush();
  assert.deepEqual((await open()).get(uid), { containers: {} });
});

test('pods that nobody knows are dropped', async () => {
  const { open } = await world();
  const records = await open();
  records.set(uid, { containers: {} });
  records.set(podUid('gone'), { containers: {} });
  records.retain(new Set([uid]));
  assert.deepEqual([records.get(uid) !== undefined, records.get(podUid('gone'))], [true, undefined]);
});
