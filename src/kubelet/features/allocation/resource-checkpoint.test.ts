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

test('refuses what no agent could have written', () => {
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

test('starts of many pods share one write, and another agent reads them', async () => {
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

test('an equal record is not written again, however the amount is spelt', async () => {
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

test('a corrupt file is set aside, logged and replaced', async () => {
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

test('records of unknown pods are dropped', async () => {
  const { open } = await world();
  const records = await open();
  records.set(uid, { containers: {} });
  records.set(podUid('gone'), { containers: {} });
  records.retain(new Set([uid]));
  assert.deepEqual([records.get(uid) !== undefined, records.get(podUid('gone'))], [true, undefined]);
});

test('an equal record is not recorded again, and reported so', async () => {
  const { open, files } = await world();
  const record = await open();
  assert.equal(record.setContainer(uid, 'app', { requests: { cpu: '1' } }), true);
  assert.equal(record.setContainer(uid, 'app', { requests: { cpu: '1000m' } }), false);
  assert.equal(record.setContainer(uid, 'app', { requests: { cpu: '2' } }), true);
  record.setPodLevel(uid, { limits: { cpu: '4' } });
  const before = record.get(uid);
  record.setPodLevel(uid, { limits: { cpu: '4000m' } });
  assert.equal(record.get(uid), before);
  record.setPodLevel(uid, { limits: { cpu: '5' } });
  assert.deepEqual(
    [record.podLevel(uid), record.container(uid, 'app')],
    [{ limits: { cpu: '5' } }, { requests: { cpu: '2' } }],
  );
  await record.flush();
  assert.deepEqual((await open()).get(uid), record.get(uid));
  record.remove(uid);
  assert.equal(record.podLevel(uid), undefined);
  assert.notEqual(files.peek(path), undefined);
});

test('a removed folder is created again, and a failure is logged once until a write succeeds', async () => {
  const { open, files, log, clock } = await world();
  const record = await open();
  const errors = (): number => log.lines.filter(({ level }) => level === 'error').length;
  const end = files.fail('writeFileAtomic', { below: path, kind: 'Unavailable' });
  record.set(uid, { containers: {} });
  await clock.advance(10_000);
  assert.equal(errors(), 1);
  end();
  await clock.advance(2000);
  assert.notEqual(files.peek(path), undefined);
  files.fail('writeFileAtomic', { below: path, kind: 'Unavailable', times: 1 });
  record.set(podUid('u2'), { containers: {} });
  await clock.advance(200);
  assert.equal(errors(), 2);
  await clock.advance(2000);
  await files.removeTree('/var/lib/kubelet');
  record.set(podUid('u3'), { containers: {} });
  await clock.advance(5000);
  assert.equal((await open()).get(podUid('u3')) === undefined, false);
});

test('an unreadable file is logged, a missing one is not', async () => {
  const { open, files, log } = await world();
  await open();
  assert.deepEqual(log.lines, []);
  files.fail('readText', { below: path, kind: 'Unavailable', times: 1 });
  assert.equal((await open()).get(uid), undefined);
  assert.equal(log.lines.length, 1);
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
