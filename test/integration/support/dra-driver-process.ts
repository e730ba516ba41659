// A DRA driver as a process of its own. Its devices are /dev/null under other names. It registers through the plugin
// watcher, writes down what it is asked, and reports the health that a file says.
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { serveRegistration } from '../../../src/csi/testing/csi-server.ts';
import type { DraDriverApi, DraHealthApi } from '../../../src/devices/dra-client.ts';
import { HealthStatus } from '../../../src/devices/generated/dra-health-v1alpha1.ts';
import { serveDraDriver } from '../../../src/devices/testing/dra-driver-server.ts';
import type { CdiFile } from './cdi-runtime.ts';
import type { DraDriverSetting } from './dra-driver.ts';

const setting = JSON.parse(process.argv[2] ?? '') as DraDriverSetting;
const { name, node, folder, cdiFolder, socket, registrationSocket, devices } = setting;
const healthFile = join(folder, 'health');
const changed = new Set<() => void>();

const note = (op: string, more: object = {}): void =>
  appendFileSync(join(folder, 'calls.jsonl'), `${JSON.stringify({ op, ...more })}\n`);

/** The claim's devices are those that the test sets, because the process cannot read claims. */
const driver: Partial<DraDriverApi> = {
  nodePrepareResources: ({ claims = [] }) => {
    note('NodePrepareResources', { claims });
    const prepared = devices.map((device) => ({
      requestNames: [],
      poolName: node,
      deviceName: device,
      cdiDeviceIds: [`${name}/device=${device}`],
    }));
    return Promise.resolve({
      claims: Object.fromEntries(claims.map(({ uid = '' }) => [uid, { devices: prepared, error: '' }])),
    });
  },
  nodeUnprepareResources: ({ claims = [] }) => {
    note('NodeUnprepareResources', { claims });
    return Promise.resolve({ claims: Object.fromEntries(claims.map(({ uid = '' }) => [uid, { error: '' }])) });
  },
};

const health: DraHealthApi = {
  nodeWatchResources: async function* (_request, options) {
    note('NodeWatchResources');
    while (options?.signal?.aborted !== true) {
      const next = new Promise<void>((resolve) => changed.add(resolve));
      const isSick = existsSync(healthFile) && readFileSync(healthFile, 'utf8') === 'sick';
      yield {
        devices: devices.map((device) => ({
          device: { poolName: node, deviceName: device },
          health: isSick ? HealthStatus.UNHEALTHY : HealthStatus.HEALTHY,
          lastUpdatedTime: 0n,
          healthCheckTimeoutSeconds: 300n,
          message: isSick ? 'too hot' : '',
        })),
      };
      await next;
    }
  },
};

const cdi: CdiFile = {
  cdiVersion: '0.6.0',
  kind: `${name}/device`,
  devices: devices.map((device) => ({
    name: device,
    containerEdits: {
      env: [`CLAIMED=${device}`],
      deviceNodes: [{ path: `/dev/claimed-${device}`, hostPath: '/dev/null' }],
    },
  })),
};
writeFileSync(join(cdiFolder, `${name}-device.json`), JSON.stringify(cdi));
for (const path of [socket, registrationSocket]) {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
}
watch(folder, (_event, file) => {
  if (file !== 'health') return;
  for (const wake of changed) wake();
  changed.clear();
});
await serveDraDriver(socket, 'v1', driver as DraDriverApi, health);
await serveRegistration({
  socketPath: registrationSocket,
  registration: {
    getInfo: () => Promise.resolve({ type: 'DRAPlugin', name, endpoint: socket, supportedVersions: ['v1.DRAPlugin'] }),
    notifyRegistrationStatus: ({ pluginRegistered, error }) => {
      note(pluginRegistered === true ? 'registered' : 'refused', { message: error });
      return Promise.resolve({});
    },
  },
});
writeFileSync(join(folder, 'up'), '');
process.on('SIGTERM', () => {
  for (const path of [registrationSocket, socket]) rmSync(path, { force: true });
  process.exit(0);
});
