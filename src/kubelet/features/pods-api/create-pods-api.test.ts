import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { PodsApi } from '../../ports/pods-api.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { createPodsApi } from './create-pods-api.ts';

const pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' } } as unknown as Pod;

function world({ isEnabled = true, fails = false } = {}) {
  const files = new FakeHostFiles(new FakeClock());
  const log = recordingLog();
  const served: { path: string; api: PodsApi }[] = [];
  const service = createPodsApi({
    rootDir: '/root',
    isEnabled,
    server: {
      serve: (path, api) => {
        if (fails) return Promise.reject(new Error('no socket'));
        served.push({ path, api });
        return Promise.resolve({ close: () => served.pop() });
      },
    },
    files,
    source: { pods: () => [pod], watch: () => () => undefined },
    onDropped: () => undefined,
    log,
  });
  return { files, log, served, service };
}

test('the Pods API is served below the root directory, until it stops', async () => {
  const { served, service } = world();
  await service.start();
  assert.equal(served[0]?.path, '/root/pods-api/pods-api.sock');
  assert.deepEqual(served[0].api.list(), [pod]);
  assert.equal(served[0].api.get('u'), pod);
  assert.throws(() => served[0]?.api.get('other'), { kind: 'NotFound', message: 'pod with UID other not found' });
  service.stop();
  assert.equal(served.length, 0);
});

test('without the gate PodsAPI there is no socket and no folder', async () => {
  const { files, served, service } = world({ isEnabled: false });
  await service.start();
  assert.deepEqual([served.length, await files.list('/root')], [0, []]);
});

test('a socket that cannot be opened is logged, and the agent goes on', async () => {
  const { log, service } = world({ fails: true });
  await service.start();
  assert.equal(log.lines.length, 1);
  service.stop();
});
