// From nothing to rules of all services in the kernel, then one change at a time, with both backends.
import { createInformers } from '../../../src/api/client/informer.ts';
import { endpointSlices } from '../../../src/api/client/resource-types.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { recordingLog } from '../../../src/base/testing/recording-log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { createIptables } from '../../../src/node-network/adapters/iptables.ts';
import { createNft } from '../../../src/node-network/adapters/nft.ts';
import { createNftRouter } from '../../../src/node-network/service-routing/nft-router.ts';
import type { ServiceRouter } from '../../../src/node-network/service-routing/service-router.ts';
import { createServiceRouter } from '../../../src/node-network/service-routing/service-router.ts';
import { clusterOf, POD_RANGE, SERVICE_RANGE, sliceOf } from './cluster-objects.ts';

export interface ServiceFigures {
  readonly wholeMs: number;
  /** The processor time of this process, without nft and iptables-restore. */
  readonly wholeProcessorMs: number;
  /** The part of the time in which nft or iptables-restore ran. */
  readonly wholeProgramMs: number;
  readonly changesMs: readonly number[];
  /** The time of the backend's program alone after each change: it replaces one chain with one rule. */
  readonly floorsMs: readonly number[];
  readonly memoryMiB: number;
}

const SERVICES = 5000;
const ENDPOINTS = 4;
const CHANGES = 15;
const ONE_CHAIN = {
  nftables: 'add table ip floor\nflush table ip floor\nadd chain ip floor one\nadd rule ip floor one return\n',
  iptables: '*nat\n:FLOOR - [0:0]\n-A FLOOR -j RETURN\nCOMMIT\n',
} as const;

const residentMiB = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().rss / 2 ** 20;
};

/** `space`: the network namespace. */
export async function measureServices(backend: 'nftables' | 'iptables', space: string): Promise<ServiceFigures> {
  const api = clusterOf(SERVICES, ENDPOINTS);
  const parts = { clock: systemClock, random: systemRandom, log: recordingLog() };
  const informers = createInformers({ client: api, ...parts });
  let [written, programMs] = [(): void => undefined, 0];
  const noting = <T extends { apply(text: string): Promise<void> }>(filter: T): T => ({
    ...filter,
    apply: async (text: string) => {
      const sinceMs = performance.now();
      await filter.apply(text);
      programMs += performance.now() - sinceMs;
      written();
    },
  });
  const prefix = ['ip', 'netns', 'exec', space];
  const common = { informers, nodeName: 'here', ...parts };
  const bare = backend === 'nftables' ? createNft(prefix) : createIptables(prefix);
  const ranges = { podCidr: POD_RANGE, serviceCidr: SERVICE_RANGE };
  const router: ServiceRouter =
    backend === 'nftables'
      ? createNftRouter({
          ...common,
          nft: noting(createNft(prefix)),
          tableName: 'bench-services',
          facts: [{ family: 'IPv4', ...ranges, bridgeNetfilter: false, kept: [], loopbackNodePorts: false }],
        })
      : createServiceRouter({
          ...common,
          filter: noting(createIptables(prefix)),
          facts: { chainPrefix: 'BENCH', ...ranges, bridgeNetfilter: false },
        });
  const [beforeMiB, startMs, startCpu] = [residentMiB(), performance.now(), process.cpuUsage()];
  router.start();
  informers.start();
  await router.whenRouted();
  const cpu = process.cpuUsage(startCpu);
  const whole = {
    ...{ wholeMs: performance.now() - startMs, wholeProgramMs: programMs },
    wholeProcessorMs: (cpu.user + cpu.system) / 1000,
  };
  const [changesMs, floorsMs]: [number[], number[]] = [[], []];
  for (let at = 0; at < CHANGES; at += 1) {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    written = () => resolve(undefined);
    const sinceMs = performance.now();
    const key = { namespace: 'default', name: `web-${at}-1` };
    const current = await api.get(endpointSlices, key);
    await api.update(endpointSlices, { ...current, endpoints: sliceOf(at, ENDPOINTS, 100_000).endpoints });
    await promise;
    changesMs.push(performance.now() - sinceMs);
    const floorMs = performance.now();
    await bare.apply(ONE_CHAIN[backend]);
    floorsMs.push(performance.now() - floorMs);
  }
  const memoryMiB = residentMiB() - beforeMiB;
  await router.stop();
  await informers.stop();
  return { ...whole, changesMs, floorsMs, memoryMiB };
}
