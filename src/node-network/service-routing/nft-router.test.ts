import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createInformers } from '../../api/client/informer.ts';
import { endpointSlices, services } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { FakeNft } from '../nftables/testing/fake-nft.ts';
import { createNftRouter } from './nft-router.ts';
import { service, slice } from './testing/service-builders.ts';

interface Fixture {
  readonly api: FakeApiClient;
  readonly clock: FakeClock;
  readonly nft: FakeNft;
  readonly leadsTo: () => string[];
  readonly stop: () => Promise<void>;
}

async function start(): Promise<Fixture> {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const parts = { clock, random: seededRandom(1), log: silentLogger };
  const informers = createInformers({ client: api, ...parts });
  const nft = new FakeNft();
  const router = createNftRouter({
    informers,
    nft,
    nodeName: 'node',
    tableName: 'KTS-services',
    facts: [
      {
        family: 'IPv4',
        podCidr: '10.84.0.0/22',
        serviceCidr: '10.96.0.0/16',
        bridgeNetfilter: true,
        kept: [],
        loopbackNodePorts: false,
      },
    ],
    ...parts,
  });
  api.seed(services, service('web'));
  api.seed(endpointSlices, slice('web', ['10.84.0.2']));
  router.start();
  await clock.advance(100);
  assert.equal(nft.writes, 0, 'nothing is written before both kinds are known');
  informers.start();
  await clock.advance(100);
  await router.whenRouted();
  const leadsTo = (): string[] => [...(nft.sets.get('backends')?.values() ?? [])].sort();
  return {
    api,
    clock,
    nft,
    leadsTo,
    stop: () => Promise.all([router.stop(), informers.stop()]).then(() => undefined),
  };
}

const another = (ip: string): ReturnType<typeof slice> => ({
  ...slice('web', [ip]),
  metadata: { ...slice('web', []).metadata, name: 'web-2' },
});

it('the router with nftables writes once both kinds are known, and a change at once', async () => {
  const { api, clock, nft, leadsTo, stop } = await start();
  assert.deepEqual([leadsTo(), nft.writes], [['10.84.0.2 . 8080'], 1]);
  await api.create(endpointSlices, another('10.84.0.3'));
  await clock.advance(5);
  assert.deepEqual([leadsTo(), nft.writes], [['10.84.0.2 . 8080', '10.84.0.3 . 8080'], 2]);
  await stop();
});

it('a change that is refused is followed by the whole table, and what fails is tried again', async () => {
  const { api, clock, nft, leadsTo, stop } = await start();
  nft.failures = 1;
  await api.create(endpointSlices, another('10.84.0.3'));
  await clock.advance(5);
  assert.deepEqual([leadsTo(), nft.writes], [['10.84.0.2 . 8080', '10.84.0.3 . 8080'], 3]);
  nft.failures = 4;
  await api.create(services, service('other', { clusterIP: '10.96.0.21' }));
  await clock.advance(5000);
  assert.ok(nft.sets.get('closed-services')?.has('10.96.0.21 . tcp . 80'));
  await stop();
});

it('a table that another program flushed is back after the next check; the rules stay when the router stops', async () => {
  const { clock, nft, leadsTo, stop } = await start();
  nft.flush();
  await clock.advance(21_000);
  assert.deepEqual(leadsTo(), ['10.84.0.2 . 8080']);
  await stop();
  assert.deepEqual(leadsTo(), ['10.84.0.2 . 8080']);
});
