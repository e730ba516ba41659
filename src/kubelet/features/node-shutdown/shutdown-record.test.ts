import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { decodeTimes, encodeTimes, noShutdown, ShutdownRecord } from './shutdown-record.ts';

const FILE = '/var/lib/kubelet/graceful_node_shutdown_state';

describe('the record of the last shutdown', () => {
  it("is read and written in upstream's format", () => {
    assert.equal(
      encodeTimes({ startMs: Date.UTC(2026, 8, 25, 10), endMs: undefined }),
      '{"startTime":"2026-09-25T10:00:00.000Z","endTime":"0001-01-01T00:00:00Z"}',
    );
    const byUpstream = '{"startTime":"2026-09-25T12:00:00.123456789+02:00","endTime":"0001-01-01T00:00:00Z"}';
    assert.deepEqual(decodeTimes(byUpstream), { startMs: Date.UTC(2026, 8, 25, 10, 0, 0, 123), endMs: undefined });
  });

  it('is nothing for a text that is none', () => {
    for (const text of ['', '{', 'null', '7', '{"startTime":7}', '{"startTime":"soon","endTime":"later"}'])
      assert.equal(decodeTimes(text), undefined, text);
  });

  it('survives on disk; without a file there was no shutdown, and a corrupt one is set aside', async () => {
    const files = new FakeHostFiles(new FakeClock());
    files.seed({ '/var/lib/kubelet/.keep': '' });
    const record = new ShutdownRecord({ rootDir: '/var/lib/kubelet', files, log: silentLogger });
    assert.deepEqual(await record.load(), noShutdown);
    await record.save({ startMs: 1000, endMs: 5000 });
    assert.deepEqual(await record.load(), { startMs: 1000, endMs: 5000 });
    files.seed({ [FILE]: '{"startTi' });
    assert.deepEqual(await record.load(), noShutdown);
    assert.equal(await files.readText(`${FILE}.corrupt`), '{"startTi');
  });
});
