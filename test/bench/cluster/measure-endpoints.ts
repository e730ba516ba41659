/** Measures how soon the readiness of a real pod changes its endpoints. The benchmark itself answers the probe. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endpoints, endpointSlices, services } from '../../../src/api/client/resource-types.ts';
import type { Service } from '../../../src/api/core/service.ts';
import type { Endpoints } from '../../../src/api/core/endpoints.ts';
import type { EndpointSlice } from '../../../src/api/discovery/endpoint-slice.ts';
import { waitUntil } from '../../../src/up/processes.ts';
import type { ClusterContext } from './context.ts';

const NAME = 'serving';
const NAMESPACE = 'default';
const GOAL_MS = 100;
const CHANGE_LIMIT_MS = 30_000;

/** Rows `endpoints`: from the answer that changes the probe's result to the event of a watch. */
export async function measureEndpoints(context: ClusterContext): Promise<void> {
  const { board, client, options } = context;
  const probed = new ProbedServer();
  const seen = new ServedWatch(context);
  try {
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: NAME, namespace: NAMESPACE },
      spec: { selector: { serving: NAME }, ports: [{ port: 80 }] },
    } as unknown as Service);
    const httpGet = { host: '127.0.0.1', port: await probed.listen(), path: '/' };
    await board.createServing(NAME, { httpGet, periodSeconds: 1, failureThreshold: 1 });
    await board.ready(NAME);
    await seen.becomes('entered');
    const took = { left: [] as number[], entered: [] as number[] };
    for (let sample = 0; sample <= options.samples; sample += 1)
      for (const change of ['left', 'entered'] as const) {
        const ready = change === 'entered';
        const [answeredMs, shownMs] = await Promise.all([probed.turn(ready), seen.becomes(change)]);
        if (sample > 0) took[change].push(shownMs - answeredMs);
      }
    const target = { kind: 'atMost', value: GOAL_MS } as const;
    const row = (name: string, title: string, agent: readonly number[]): void =>
      context.add({ name: `endpoints-${name}`, title, unit: 'ms', agent, floor: [], target });
    row('leave', 'readiness probe fails -> out of the endpoints', took.left);
    row('enter', 'readiness probe passes -> in the endpoints', took.entered);
  } finally {
    seen.stop();
    probed.close();
    await board.delete([NAME]);
    await board.deleted(NAME);
    await client.delete(services, { namespace: NAMESPACE, name: NAME });
  }
}

/** Answers probes, and returns when it first gave another answer. */
class ProbedServer {
  #ready = true;
  #turned: ((atMs: number) => void) | undefined;
  readonly #server = createServer((_, response) => {
    response.writeHead(this.#ready ? 200 : 503).end();
    this.#turned?.(performance.now());
    this.#turned = undefined;
  });

  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  turn(ready: boolean): Promise<number> {
    this.#ready = ready;
    return new Promise((resolve) => (this.#turned = resolve));
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

/** Whether Endpoints and EndpointSlice show the pod as ready, and since when. */
class ServedWatch {
  readonly #ended = new AbortController();
  readonly #shown = { endpoints: { ready: false, atMs: 0 }, slice: { ready: false, atMs: 0 } };

  constructor({ client }: ClusterContext) {
    const { signal } = this.#ended;
    const follow = async (): Promise<void> => {
      for await (const event of client.watch(endpoints, NAMESPACE, {}, signal))
        if (event.type !== 'ERROR' && event.type !== 'BOOKMARK' && event.object.metadata.name === NAME)
          this.#note('endpoints', event.type !== 'DELETED' && hasAddress(event.object));
    };
    const followSlices = async (): Promise<void> => {
      for await (const event of client.watch(endpointSlices, NAMESPACE, {}, signal))
        if (event.type !== 'ERROR' && event.type !== 'BOOKMARK' && isOfService(event.object))
          this.#note('slice', event.type !== 'DELETED' && hasReady(event.object));
    };
    for (const each of [follow(), followSlices()]) each.catch(() => undefined);
  }

  /** The time at which the later of the two showed the change. */
  async becomes(change: 'left' | 'entered'): Promise<number> {
    const wanted = change === 'entered';
    const { endpoints: one, slice: other } = this.#shown;
    const shown = await waitUntil(() => one.ready === wanted && other.ready === wanted, CHANGE_LIMIT_MS, 5);
    if (!shown) throw new Error(`the pod has not ${change} its endpoints: ${JSON.stringify(this.#shown)}`);
    return Math.max(one.atMs, other.atMs);
  }

  stop(): void {
    this.#ended.abort();
  }

  #note(where: 'endpoints' | 'slice', ready: boolean): void {
    const shown = this.#shown[where];
    if (shown.ready !== ready) Object.assign(shown, { ready, atMs: performance.now() });
  }
}

const hasAddress = ({ subsets }: Endpoints): boolean =>
  subsets?.some(({ addresses }) => (addresses?.length ?? 0) > 0) === true;

const isOfService = ({ metadata }: EndpointSlice): boolean => metadata.labels?.['kubernetes.io/service-name'] === NAME;

const hasReady = ({ endpoints: all }: EndpointSlice): boolean =>
  all.some(({ conditions }) => conditions?.ready === true);
