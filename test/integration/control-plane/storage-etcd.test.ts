import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { isKind } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { EtcdStorage } from '../../../src/control-plane/storage/etcd/etcd-storage.ts';
import { storageContract } from '../../../src/control-plane/storage/testing/storage-contract.ts';
import { done } from '../../../src/control-plane/storage/testing/storage-fixture.ts';
import { WatchLog } from '../../../src/control-plane/storage/testing/watch-log.ts';
import { runCommand } from '../../../src/up/commands.ts';
import { startEtcd } from '../support/etcd.ts';
import type { TestEtcd } from '../support/etcd.ts';

const connect = (etcd: TestEtcd, others: readonly string[] = []): EtcdStorage =>
  new EtcdStorage({ endpoints: [...others, etcd.endpoint], tls: etcd.tls, clock: systemClock, log: silentLogger });

let shared: TestEtcd;
let count = 0;
before(async () => void (shared = await startEtcd()));
after(() => shared?.stop());

storageContract(
  'etcd',
  async () => {
    let storage = connect(shared);
    return {
      storage,
      prefix: `/registry/test-${++count}/`,
      elapse: async () => undefined,
      reopen: async () => {
        await storage.close();
        storage = connect(shared);
        return storage;
      },
      stop: () => storage.close(),
    };
  },
  15,
);

describe('the store in etcd', () => {
  it('speaks TLS with a client certificate, and passes over a member that is not there', async () => {
    const etcd = await startEtcd({ tls: true });
    const storage = connect(etcd, ['https://127.0.0.1:1']);
    try {
      const log = new WatchLog(storage, '/', 1);
      const revision = done(await storage.put('/a', '1', { expected: 0 }));
      await log.reached(revision);
      assert.deepEqual([(await storage.get('/a'))?.value, log.words], ['1', ['put /a=1']]);
      const stranger = new EtcdStorage({
        endpoints: [etcd.endpoint],
        tls: { ca: etcd.tls?.ca },
        clock: systemClock,
        log: silentLogger,
      });
      await assert.rejects(stranger.get('/a'), (error) => isKind(error, 'Unavailable'));
      await stranger.close();
    } finally {
      await storage.close();
      await etcd.stop();
    }
  });

  it('goes on with its watches after etcd was killed, without loss or repetition, and says meanwhile that it cannot write', async () => {
    const etcd = await startEtcd();
    const storage = connect(etcd);
    try {
      const [early, pods] = [new WatchLog(storage, '/', 1), new WatchLog(storage, '/pods/', 1)];
      const revisions: number[] = [];
      for (let round = 0; round < 3; round++) {
        for (let i = 0; i < 5; i++) revisions.push(done(await storage.put(`/pods/${round}-${i}`, '', { expected: 0 })));
        await etcd.kill();
        await assert.rejects(storage.put(`/pods/lost-${round}`, '', { expected: 0 }), (error) =>
          isKind(error, 'Unavailable'),
        );
        await assert.rejects(storage.check(), (error) => isKind(error, 'Unavailable'));
        await etcd.start();
      }
      await storage.check();
      revisions.push(done(await storage.put('/pods/last', '', { expected: 0 })));
      const late = new WatchLog(storage, '/', 1);
      for (const log of [early, pods, late]) {
        await log.reached(revisions.at(-1) ?? 0);
        assert.deepEqual([log.events.map(({ revision }) => revision), log.ended], [revisions, undefined]);
      }
    } finally {
      await storage.close();
      await etcd.stop();
    }
  });

  it('waits out a moment in which etcd hangs', async () => {
    const etcd = await startEtcd();
    const storage = connect(etcd);
    try {
      const log = new WatchLog(storage, '/', 1);
      await log.reached(done(await storage.put('/a', '', { expected: 0 })));
      etcd.freeze();
      const [put, read] = [storage.put('/b', '', { expected: 0 }), storage.get('/a')];
      etcd.thaw();
      const revision = done(await put);
      assert.equal((await read)?.key, '/a');
      await log.reached(revision);
      assert.deepEqual(log.words, ['put /a=', 'put /b=']);
    } finally {
      await storage.close();
      await etcd.stop();
    }
  });

  it('ends a watch whose past was forgotten while etcd could not be reached', async () => {
    const etcd = await startEtcd();
    const [storage, other] = [connect(etcd), connect(etcd)];
    try {
      const log = new WatchLog(storage, '/', 1);
      await log.reached(done(await storage.put('/a', '', { expected: 0 })));
      const far = new WatchLog(other, '/', 1);
      await far.reached(log.revision);
      await storage.close();
      let last = 0;
      for (let i = 0; i < 5; i++) last = done(await other.put(`/k${i}`, '', { expected: 0 }));
      await other.compact(last);
      const again = connect(etcd);
      const resumed = new WatchLog(again, '/', log.revision);
      await resumed.until(() => resumed.ended !== undefined);
      assert.deepEqual([resumed.ended, resumed.events], [{ kind: 'Compacted' }, []]);
      const fresh = new WatchLog(again, '/', last);
      const revision = done(await again.put('/fresh', '', { expected: 0 }));
      await fresh.reached(revision);
      assert.deepEqual(fresh.words, ['put /fresh=']);
      await again.close();
    } finally {
      await other.close();
      await etcd.stop();
    }
  });

  it('lets two API servers write to one etcd: both see all writes in the same order, and one of two conflicting writes succeeds', async () => {
    const [a, b] = [connect(shared), connect(shared)];
    try {
      const from = await a.revision();
      const logs = [new WatchLog(a, '/two/', from), new WatchLog(b, '/two/', from)];
      let last = 0;
      for (let i = 0; i < 20; i++) {
        const results = await Promise.all([
          a.put(`/two/${i}`, 'a', { expected: 0 }),
          b.put(`/two/${i}`, 'b', { expected: 0 }),
        ]);
        const won = results.filter((result) => result.outcome === 'done');
        assert.equal(won.length, 1);
        last = Math.max(last, ...won.map(done));
      }
      await Promise.all(logs.map((log) => log.reached(last)));
      assert.deepEqual(logs[0]?.events, logs[1]?.events);
      assert.equal(logs[0]?.events.length, 20);
    } finally {
      await a.close();
      await b.close();
    }
  });

  it('is not disturbed by others in the same etcd, whatever bytes they keep there', async () => {
    const storage = connect(shared);
    try {
      const log = new WatchLog(storage, '/mine/', await storage.revision());
      done(await storage.put('/mine/a', '', { expected: 0 }));
      const bytes = Buffer.from([0, 0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]).toString('base64');
      await runCommand([
        'curl',
        '-sf',
        '-X',
        'POST',
        `${shared.endpoint}/v3/kv/put`,
        '-d',
        JSON.stringify({ key: bytes, value: bytes }),
      ]);
      const revision = done(await storage.put('/mine/b', '', { expected: 0 }));
      assert.deepEqual([log.words, log.revision, log.ended], [['put /mine/a=', 'put /mine/b='], revision, undefined]);
    } finally {
      await storage.close();
    }
  });

  it('shares leases between keys of like expiry', async () => {
    const storage = connect(shared);
    try {
      await Promise.all(
        Array.from({ length: 50 }, (_, i) => storage.put(`/events/${i}`, '', { expected: 0, ttlSeconds: 3599 })),
      );
      const answer = await runCommand(['curl', '-s', '-X', 'POST', `${shared.endpoint}/v3/lease/leases`, '-d', '{}']);
      const { leases = [] } = JSON.parse(String(answer)) as { leases?: unknown[] };
      assert.ok(leases.length <= 5, `${leases.length} leases`);
    } finally {
      await storage.close();
    }
  });
});
