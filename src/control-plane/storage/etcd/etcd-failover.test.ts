import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { isKind } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/log.ts';
import { EtcdStorage } from './etcd-storage.ts';
import type { Behaviour } from './testing/fake-members.ts';
import { FakeMembers } from './testing/fake-members.ts';

let etcd: FakeMembers;
let storage: EtcdStorage;

describe('the store in an etcd of two members', () => {
  beforeEach(async () => {
    etcd = new FakeMembers();
    await etcd.start(2);
    const endpoints = etcd.members.map(({ endpoint }) => endpoint);
    storage = new EtcdStorage({ endpoints, clock: systemClock, log: silentLogger });
  });
  afterEach(async () => {
    await storage.close();
    etcd.stop();
  });

  const first = (behaviour: Behaviour): void => {
    const [member] = etcd.members;
    assert.ok(member !== undefined);
    member.behaviour = behaviour;
  };

  for (const behaviour of ['lose the answer', 'be silent', 'drop'] as const)
    it(`writes succeed once each on another member if one does this: ${behaviour}`, async () => {
      first(behaviour);
      const created = await storage.put('/a', '1', { expected: 0 });
      assert.deepEqual(created, { outcome: 'done', revision: 2 });
      first(behaviour);
      assert.deepEqual(await storage.put('/a', '2', { expected: 2 }), { outcome: 'done', revision: 3 });
      assert.deepEqual([etcd.get('/a'), etcd.revision], ['2', 3]);
      assert.deepEqual(await storage.delete('/a', 3), { outcome: 'done', revision: 4 });
      assert.deepEqual([etcd.get('/a'), etcd.revision], [undefined, 4]);
    });

  it('an attempt that arrives after another one has succeeded changes nothing', async () => {
    first('freeze');
    const created = await storage.put('/a', '1', { expected: 0 });
    assert.deepEqual(created, { outcome: 'done', revision: 2 });
    etcd.thaw();
    assert.deepEqual([etcd.get('/a'), etcd.revision], ['1', 2]);
  });

  it('a write whose answer was lost, and whose key was written again, has an unknown outcome and no conflict', async () => {
    const [one, two] = etcd.members;
    assert.ok(one !== undefined && two !== undefined);
    one.behaviour = 'lose the answer';
    // The second member comes to it when another client has written.
    two.behaviour = 'be silent';
    const result = storage.put('/a', '1', { expected: 0 });
    while (two.asked === 0) await new Promise((resolve) => setImmediate(resolve));
    etcd.write('/a', 'of another client');
    one.behaviour = 'answer';
    two.behaviour = 'answer';
    await assert.rejects(result, (error) => isKind(error, 'Unavailable') && /is not known/.test(String(error)));
  });

  it('a conflict without repetition is a conflict, and a guard counts on every member', async () => {
    etcd.write('/a', 'of another client');
    assert.equal((await storage.put('/a', '1', { expected: 0 })).outcome, 'conflict');
    first('be silent');
    const guard = { key: '/a', revision: 99 };
    assert.deepEqual(await storage.put('/b', '1', { expected: 0, guard }), { outcome: 'fenced' });
    assert.equal(etcd.get('/b'), undefined);
  });

  it('writes that no member takes fail after a while', async () => {
    for (const member of etcd.members) member.behaviour = 'drop';
    await assert.rejects(storage.put('/a', '1', { expected: 0 }), (error) => isKind(error, 'Unavailable'));
  });
});
