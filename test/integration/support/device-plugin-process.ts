// A device plugin in its own process. Its devices are /dev/null under other names. It registers as plugins do, and
// again when the kubelet's socket was recreated. It records its calls, and fails, hangs or ends if a file of its script
// folder says so.
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, watch, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sleep, systemClock } from '../../../src/base/clock.ts';
import { errorMessage, isKind } from '../../../src/base/errors.ts';
import type { DevicePluginApi } from '../../../src/devices/device-plugin-client.ts';
import { createDeviceRegistrationClient } from '../../../src/devices/device-plugin-client.ts';
import { serveDevicePlugin } from '../../../src/devices/testing/device-plugin-server.ts';
import { serveRegistration } from '../../../src/csi/testing/csi-server.ts';
import type { DevicePluginSetting, TestDevice } from './device-plugin.ts';
import { obeyScript } from './driver-process.ts';

const setting = JSON.parse(process.argv[2] ?? '') as DevicePluginSetting;
const { resource, folder, socket, kubeletSocket, registrationSocket } = setting;
const devicesFile = join(folder, 'devices.json');
const changed = new Set<() => void>();

const scripted = (op: string): Promise<void> => obeyScript(folder, op);

async function noted(op: string, request: object): Promise<void> {
  appendFileSync(join(folder, 'calls.jsonl'), `${JSON.stringify({ op, ...request })}\n`);
  await scripted(op);
}

const listed = () =>
  (JSON.parse(readFileSync(devicesFile, 'utf8')) as TestDevice[]).map(({ id, healthy = true, nodes = [] }) => ({
    ID: id,
    health: healthy ? 'Healthy' : 'Unhealthy',
    topology: nodes.length === 0 ? undefined : { nodes: nodes.map((node) => ({ ID: BigInt(node) })) },
  }));

async function* listAndWatch(signal: AbortSignal | undefined) {
  while (signal?.aborted !== true) {
    const next = new Promise<void>((resolve) => {
      changed.add(resolve);
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
    yield { devices: listed() };
    await next;
  }
}

const suffix = resource.split('/')[1] ?? '';
const plugin: Partial<DevicePluginApi> = {
  getDevicePluginOptions: async () => {
    await noted('GetDevicePluginOptions', {});
    return {
      preStartRequired: setting.preStart === true,
      getPreferredAllocationAvailable: setting.preferred !== undefined,
    };
  },
  listAndWatch: (_request, options) => listAndWatch(options?.signal),
  getPreferredAllocation: async ({ containerRequests = [] }) => {
    await noted('GetPreferredAllocation', { containerRequests });
    return { containerResponses: [{ deviceIDs: [...(setting.preferred ?? [])] }] };
  },
  allocate: async ({ containerRequests = [] }) => {
    const ids = containerRequests[0]?.devicesIds ?? [];
    await noted('Allocate', { ids });
    return {
      containerResponses: [
        {
          envs: { [`DEVICES_${suffix.toUpperCase()}`]: [...ids].sort().join(',') },
          mounts: [{ containerPath: `/etc/${suffix}`, hostPath: join(folder, 'files'), readOnly: true }],
          devices: ids.map((id) => ({
            containerPath: `/dev/${suffix}-${id}`,
            hostPath: '/dev/null',
            permissions: 'rw',
          })),
          annotations: { [`devices.test/${suffix}`]: [...ids].sort().join(',') },
          cdiDevices: ids.map((id) => ({ name: `${resource}=${id}` })),
        },
      ],
    };
  },
  preStartContainer: async ({ devicesIds = [] }) => {
    await noted('PreStartContainer', { ids: devicesIds });
    return {};
  },
};

const REGISTER_TRIES = 50;

/** The socket exists before the kubelet listens on it, so plugins retry. */
async function register(triesLeft = REGISTER_TRIES): Promise<void> {
  const client = createDeviceRegistrationClient({ socketPath: kubeletSocket, clock: systemClock });
  try {
    await client.registration.register({
      version: setting.version ?? 'v1beta1',
      endpoint: setting.endpoint ?? basename(socket),
      resourceName: resource,
      options: {},
    });
    appendFileSync(join(folder, 'calls.jsonl'), `${JSON.stringify({ op: 'registered' })}\n`);
  } catch (error) {
    if (isKind(error, 'Unavailable') && triesLeft > 0) {
      await sleep(systemClock, 100);
      return register(triesLeft - 1);
    }
    const answer = { op: 'refused', message: errorMessage(error) };
    appendFileSync(join(folder, 'calls.jsonl'), `${JSON.stringify(answer)}\n`);
  } finally {
    client.close();
  }
}

/** A new file at a path may have the same inode number. */
const changedAtMs = (path: string): number | undefined => (existsSync(path) ? statSync(path).ctimeMs : undefined);

/** As plugins do: a kubelet that starts removes all sockets, and serves its own new one. */
function followKubelet(): void {
  let known = changedAtMs(kubeletSocket);
  watch(dirname(kubeletSocket), () => {
    const now = changedAtMs(kubeletSocket);
    if (now === undefined || now === known) return;
    known = now;
    void serve().then(() => register());
  });
}

async function serve(): Promise<void> {
  rmSync(socket, { force: true });
  await serveDevicePlugin(socket, plugin);
}

mkdirSync(join(folder, 'script'), { recursive: true });
mkdirSync(join(folder, 'files'), { recursive: true });
writeFileSync(join(folder, 'files', 'name'), resource);
watch(folder, (_event, name) => {
  if (name !== 'devices.json' || !existsSync(devicesFile)) return;
  for (const wake of changed) wake();
  changed.clear();
});
await serve();
if (registrationSocket === undefined) {
  if (setting.follows !== false) followKubelet();
  await register();
} else {
  mkdirSync(dirname(registrationSocket), { recursive: true });
  rmSync(registrationSocket, { force: true });
  await serveRegistration({
    socketPath: registrationSocket,
    registration: {
      getInfo: () =>
        Promise.resolve({
          type: 'DevicePlugin',
          name: resource,
          endpoint: socket,
          supportedVersions: [setting.version ?? 'v1beta1'],
        }),
      notifyRegistrationStatus: async ({ pluginRegistered, error }) => {
        await noted(pluginRegistered === true ? 'registered' : 'refused', { message: error });
        return {};
      },
    },
  });
}
writeFileSync(join(folder, 'up'), '');
process.on('SIGTERM', () => {
  for (const path of [socket, ...(registrationSocket === undefined ? [] : [registrationSocket])])
    rmSync(path, { force: true });
  process.exit(0);
});
