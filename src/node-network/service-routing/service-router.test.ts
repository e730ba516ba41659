import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createInformers } from '../../api/client/informer.ts';
import { endpointSlices, services } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createServiceRouter } from './service-router.ts';
import { FakePacketFilter } from './testing/fake-packet-filter.ts';
import { facts, service, slice, targets } from './testing/service-builders.ts';

describe('the router', () => {
  const start = async (): Promise<{
    api: FakeApiClient;
    clock: FakeClock;
    filter: FakePacketFilter;
    leadsTo: () => string[];
    stop: () => Promise<void>;
  }> => {
    const clock = new FakeClock();
    const api = new FakeApiClient({ clock });
    const parts = { clock, random: seededRandom(1), log: silentLogger };
    const informers = createInformers({ client: api, ...parts });
    const filter = new FakePacketFilter();
    const router = createServiceRouter({ informers, filter, nodeName: 'node', facts, ...parts });
    api.seed(services, service('web'));
    api.seed(endpointSlices, slice('web', ['10.84.0.2']));
    router.start();
    assert.equal(filter.writes, 0);
    informers.start();
    await clock.advance(100);
    const leadsTo = (): string[] =>
      targets(filter.chainNames('nat').flatMap((chain) => filter.rules('nat', chain) ?? []));
    return {
      api,
      clock,
      filter,
      leadsTo,
      stop: () => Promise.all([router.stop(), informers.stop()]).then(() => undefined),
    };
  };

  it('writes once both kinds are known, and a change within milliseconds', async () => {
    const { api, clock, filter, leadsTo, stop } = await start();
    assert.deepEqual([leadsTo(), filter.writes], [['10.84.0.2:8080'], 1]);
    await clock.advance(1000);
    await api.create(endpointSlices, {
      ...slice('web', ['10.84.0.3']),
      metadata: { ...slice('web', []).metadata, name: 'web-2' },
    });
    await clock.advance(5);
    assert.deepEqual(leadsTo(), ['10.84.0.2:8080', '10.84.0.3:8080']);
    await stop();
  });

  it('many changes at once are few writings', async () => {
    const { api, clock, filter, stop } = await start();
    const before = filter.writes;
    for (let index = 0; index < 100; index += 1) {
      await api.create(services, service(`s${index}`, { clusterIP: `10.96.1.${index}` }));
      await clock.advance(1);
    }
    await clock.advance(100);
    assert.ok(filter.writes - before <= 6, `${filter.writes - before} writings`);
    assert.equal(filter.rules('filter', 'KTS-0123abcd-REJECT')?.length, 103);
    await stop();
  });

  it('rules that other programs flushed are restored by the next check', async () => {
    const { clock, filter, leadsTo, stop } = await start();
    filter.flush('nat');
    assert.deepEqual(leadsTo(), []);
    await clock.advance(11_000);
    assert.deepEqual(
      [leadsTo(), filter.rules('nat', 'PREROUTING')],
      [['10.84.0.2:8080'], ['-j KTS-0123abcd-SERVICES']],
    );
    await stop();
  });

  it('a change does not wait for a check, and the slower a check is, the longer it is until the next one', async () => {
    const { api, clock, filter, leadsTo, stop } = await start();
    let reads = 0;
    const read = filter.read.bind(filter);
    filter.read = async () => {
      reads += 1;
      const { promise, resolve } = Promise.withResolvers<undefined>();
      clock.setTimer(2000, () => resolve(undefined));
      await promise;
      return read();
    };
    const change = async (ip: string): Promise<void> => {
      api.seed(endpointSlices, slice('web', [ip]));
      await clock.advance(40);
      assert.deepEqual([leadsTo(), reads], [[`${ip}:8080`], ip === '10.84.0.4' ? 1 : 0]);
    };
    await clock.advance(5000);
    await change('10.84.0.3');
    // Ten seconds after the first look at the kernel, and before the next periodic check.
    await clock.advance(5500);
    await change('10.84.0.4');
    await clock.advance(90_000);
    assert.equal(reads, 1);
    await clock.advance(30_000);
    assert.equal(reads, 2);
    await stop();
  });

  it('a writing that fails is tried again, whole', async () => {
    const { api, clock, filter, leadsTo, stop } = await start();
    filter.failures = 2;
    await api.create(endpointSlices, {
      ...slice('web', ['10.84.0.3']),
      metadata: { ...slice('web', []).metadata, name: 'web-2' },
    });
    await clock.advance(3000);
    assert.deepEqual(leadsTo(), ['10.84.0.2:8080', '10.84.0.3:8080']);
    await stop();
  });

  it('its rules stay when it stops', async () => {
    const { leadsTo, stop } = await start();
    await stop();
    assert.deepEqual(leadsTo(), ['10.84.0.2:8080']);
  });
});
