import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { pods } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { openGate } from '../../../client/request-budget.ts';
import type { RequestTerms } from '../../../client/http-transport.ts';
import { createClusterClients } from './compose-cluster.ts';
import type { ClusterTerms } from './compose-cluster.ts';

const usual: ClusterTerms = {
  apiQps: 50,
  apiBurst: 100,
  eventQps: 50,
  eventBurst: 100,
  statusUpdatePeriodMs: 10_000,
  leaseDurationMs: 40_000,
};

interface Fixture {
  readonly clock: FakeClock;
  readonly heartbeatLimitMs: number | undefined;
  /** Sends a number of requests of each class, and returns how many were sent in each second. */
  went(count: number, seconds: number): Promise<Record<string, number[]>>;
}

function groundOf(terms: Partial<ClusterTerms> = {}): Fixture {
  const clock = new FakeClock();
  const given: Partial<RequestTerms>[] = [];
  const api = new FakeApiClient({ clock });
  // Each client as the transport uses it: it waits for its turn, then sends the request.
  const clients = createClusterClients({ ...usual, ...terms }, clock, (own): ApiClient => {
    given.push(own);
    const { gate = openGate } = own;
    return Object.assign(Object.create(api) as ApiClient, {
      list: async () => (await gate.admit(), { items: [], resourceVersion: '1' }),
    });
  });
  return {
    clock,
    heartbeatLimitMs: given[0]?.limitMs,
    went: async (count, seconds) => {
      const counts: Record<string, number[]> = { heartbeat: [], status: [], objects: [], events: [] };
      const done: Record<string, number> = { heartbeat: 0, status: 0, objects: 0, events: 0 };
      for (const name of ['objects', 'events', 'status', 'heartbeat'] as const) {
        for (let each = 0; each < count; each += 1)
          void clients[name].list(pods, '').then(
            () => (done[name] = (done[name] ?? 0) + 1),
            () => undefined,
          );
      }
      for (let second = 0; second < seconds; second += 1) {
        await clock.advance(second === 0 ? 0 : 1_000);
        for (const [name, list] of Object.entries(counts)) list.push(done[name] ?? 0);
      }
      return counts;
    },
  };
}

test('heartbeats never wait, statuses go before objects in the same budget, events have their own', async () => {
  const { went } = groundOf();
  assert.deepEqual(await went(200, 6), {
    heartbeat: [200, 200, 200, 200, 200, 200],
    objects: [100, 100, 100, 100, 100, 150],
    status: [0, 50, 100, 150, 200, 200],
    events: [100, 150, 200, 200, 200, 200],
  });
});

test('a heartbeat gives a slow API server the time that a second one needs before the lease is over', () => {
  assert.equal(groundOf().heartbeatLimitMs, 20_000);
  assert.equal(groundOf({ statusUpdatePeriodMs: 60_000 }).heartbeatLimitMs, 40_000);
});

test('no events a second means no limit; no requests a second means the default of client-go', async () => {
  const { went } = groundOf({ eventQps: 0, apiQps: 0, apiBurst: 0 });
  const { events, objects, status } = await went(100, 3);
  assert.deepEqual(
    [events, objects, status],
    [
      [100, 100, 100],
      [10, 10, 10],
      [0, 5, 10],
    ],
  );
});

test('events that pile up are refused rather than kept', async () => {
  const { went } = groundOf({ eventQps: 1, eventBurst: 1 });
  const { events } = await went(5_000, 2_000);
  assert.equal(events?.at(-1), 1_001);
});
