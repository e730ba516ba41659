import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { endpointSlices, services } from '../../api/client/resource-types.ts';
import { createInformers } from '../../api/client/informer.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { systemClock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { createHealthReporter } from '../service-routing/health-reporter.ts';
import { slice } from '../service-routing/testing/service-builders.ts';
import { createHealthCheckPorts } from '../adapters/health-check-server.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

it('the health check port of a service reports the current state, and closes with the service', async (context) => {
  const port = await freePort();
  const parts = { clock: systemClock, random: seededRandom(1), log: recordingLog() };
  const api = new FakeApiClient(parts);
  const informers = createInformers({ client: api, ...parts });
  let isHealthy = true;
  const ports = createHealthCheckPorts(parts.log, '127.0.0.1');
  const reporter = createHealthReporter({
    ...{ informers, ports, nodeName: 'node', ...parts },
    isProxyHealthy: () => isHealthy,
  });
  context.after(async () => {
    await reporter.stop();
    await informers.stop();
  });
  const web = api.seed(services, {
    metadata: { name: 'web', namespace: 'default', uid: 'w' },
    spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: port },
  });
  const endpoints = api.seed(endpointSlices, slice('web', ['10.84.0.2']));
  reporter.start();
  informers.start();
  const status = async (): Promise<number | undefined> =>
    fetch(`http://127.0.0.1:${port}/anything`).then(
      (answer) => answer.status,
      () => undefined,
    );
  const becomes = async (wanted: number | undefined): Promise<void> => {
    for (let left = 400; left > 0 && (await status()) !== wanted; left -= 1) await new Promise(setImmediate);
    assert.equal(await status(), wanted);
  };
  await becomes(200);
  isHealthy = false;
  await becomes(503);
  isHealthy = true;
  await api.update(endpointSlices, { ...endpoints, endpoints: [] });
  await becomes(503);
  await api.delete(services, { namespace: 'default', name: web.metadata.name });
  await becomes(undefined);
});
