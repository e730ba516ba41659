import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { PullRecordFiles } from './pull-records.ts';

const folder = '/root/image_manager';
const name = (digit: string): string => `sha256-${digit.repeat(64)}`;
const ours = { apiVersion: 'kubelet.config.k8s.io/v1beta1' };

function setUp(seed: Record<string, unknown> = {}) {
  const files = new FakeHostFiles(new FakeClock());
  const log = recordingLog();
  files.seed(Object.fromEntries(Object.entries(seed).map(([path, value]) => [path, JSON.stringify(value)])));
  return { files, log, records: new PullRecordFiles({ files, log, rootDir: '/root' }) };
}

describe('files of pulls', () => {
  it('are read back as they were written', async () => {
    const { records } = setUp();
    await records.makeFolders();
    const record = {
      imageRef: 'sha256:1',
      lastUpdatedMs: 1_767_225_600_000,
      credentials: {
        open: { nodePodsAccessible: true, secrets: [] },
        closed: {
          nodePodsAccessible: false,
          secrets: [{ uid: 'u', namespace: 'n', name: 's', credentialHash: 'h' }],
        },
        account: { nodePodsAccessible: false, secrets: [], accounts: [{ uid: 'u', namespace: 'n', name: 'robot' }] },
      },
    };
    await records.writeIntent('app:1');
    await records.writeRecord(record);
    assert.deepEqual([await records.intents(), await records.records()], [['app:1'], [record]]);
    await records.removeIntent('app:1');
    await records.removeRecord('sha256:1');
    assert.deepEqual([await records.intents(), await records.records()], [[], []]);
  });

  it('are those with a digest as their name, of our group and of the kind that belongs into the folder', async () => {
    const { records, log } = setUp({
      [`${folder}/pulling/${name('1')}`]: { ...ours, kind: 'ImagePullIntent', image: 'app:1' },
      [`${folder}/pulling/x${name('2')}`]: { ...ours, kind: 'ImagePullIntent', image: 'other name' },
      [`${folder}/pulling/${name('2')}.tmp`]: { ...ours, kind: 'ImagePullIntent', image: 'other name' },
      [`${folder}/pulling/${name('3')}`]: { ...ours, kind: 'ImagePulledRecord', image: 'other kind' },
      [`${folder}/pulling/${name('4')}`]: { kind: 'ImagePullIntent', image: 'no group' },
      [`${folder}/pulling/${name('5')}`]: { apiVersion: 'v1', kind: 'ImagePullIntent', image: 'other group' },
      [`${folder}/pulling/${name('6')}`]: { ...ours, kind: 'ImagePullIntent', image: 7 },
      [`${folder}/pulling/${name('7')}`]: null,
    });
    assert.deepEqual(await records.intents(), ['app:1']);
    assert.equal(log.lines.length, 5, 'each with the right name and the wrong content is named');
  });

  it('keep what can be understood of a record and drop the rest', async () => {
    const secret = { uid: 'u', namespace: 'n', name: 's', credentialHash: 'h' };
    const broken = (['uid', 'namespace', 'name', 'credentialHash'] as const).map((key) => ({ ...secret, [key]: 1 }));
    const { records } = setUp({
      [`${folder}/pulled/${name('1')}`]: {
        ...ours,
        kind: 'ImagePulledRecord',
        imageRef: 'ref',
        lastUpdatedTime: '2026-01-01T00:00:00Z',
        credentialMapping: {
          list: { kubernetesSecrets: [secret, null, ...broken], nodePodsAccessible: 'yes' },
          none: { kubernetesSecrets: secret, nodePodsAccessible: true },
          text: 'open',
        },
      },
      [`${folder}/pulled/${name('2')}`]: { ...ours, kind: 'ImagePulledRecord', imageRef: 'bare', lastUpdatedTime: 1 },
      [`${folder}/pulled/${name('3')}`]: { ...ours, kind: 'ImagePulledRecord' },
      [`${folder}/pulled/${name('4')}`]: { ...ours, kind: 'ImagePullIntent', imageRef: 'intent' },
    });
    assert.deepEqual(await records.records(), [
      {
        imageRef: 'ref',
        lastUpdatedMs: 1_767_225_600_000,
        credentials: {
          list: { nodePodsAccessible: false, secrets: [secret] },
          none: { nodePodsAccessible: true, secrets: [] },
        },
      },
      { imageRef: 'bare', lastUpdatedMs: 0, credentials: {} },
    ]);
  });

  it('get their folders back when these were removed, and fail for any other reason', async () => {
    const { records, files } = setUp();
    await records.writeIntent('app:1');
    assert.deepEqual(await records.intents(), ['app:1']);
    files.fail('writeFileAtomic', { below: folder, kind: 'Unavailable', times: 1 });
    await assert.rejects(records.writeIntent('app:2'), /scripted/);
  });
});
