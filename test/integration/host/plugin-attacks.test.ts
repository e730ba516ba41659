// Plugins on real sockets that answer too much, nothing, or what leads elsewhere, beside one that is in order.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { recordingLog } from '../../../src/base/testing/recording-log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { serveCsi, serveRegistration } from '../../../src/csi/testing/csi-server.ts';
import { createCsiDrivers } from '../../../src/kubelet/adapters/csi/csi-drivers.ts';
import { createPluginDial } from '../../../src/kubelet/adapters/csi/csi-plugin-dial.ts';
import { LinuxFiles } from '../../../src/kubelet/adapters/files/linux-files.ts';
import { DriverRegistry } from '../../../src/kubelet/features/csi/driver-registry.ts';
import { PluginManager } from '../../../src/kubelet/features/plugin-manager/plugin-manager.ts';
import { waitUntil } from '../../../src/up/processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-plug-'));
const plugins = join(folder, 'registry');
const ends: (() => unknown)[] = [];
const log = recordingLog();
const registry = new DriverRegistry({ drivers: createCsiDrivers(systemClock), clock: systemClock, log });
const grpc = createPluginDial(systemClock);
/** Like the agent's, with shorter timeouts for plugins that never answer. */
const dial: typeof grpc = { dial: (path) => grpc.dial(path, 1000) };
const manager = new PluginManager({
  folder: plugins,
  files: new LinuxFiles(),
  dial,
  handlers: new Map([['CSIPlugin', registry]]),
  clock: systemClock,
  random: systemRandom,
  log,
});
const notified = new Map<string, string>();

interface Said {
  readonly name?: string;
  readonly endpoint?: string;
  readonly supportedVersions?: string[];
}

async function plugin(file: string, said: Said): Promise<void> {
  const info = {
    type: 'CSIPlugin',
    name: 'd.example',
    endpoint: join(folder, 'good.csi'),
    supportedVersions: ['1.0.0'],
    ...said,
  };
  const registration = {
    getInfo: async () => info,
    notifyRegistrationStatus: async ({ pluginRegistered, error }: { pluginRegistered?: boolean; error?: string }) => (
      notified.set(file, `${pluginRegistered === true} ${error ?? ''}`), {}
    ),
  };
  const server = await serveRegistration({ socketPath: join(plugins, file), registration });
  ends.push(() => server.close());
}

async function driver(file: string, nodeId: string, segments: Record<string, string> = {}): Promise<string> {
  const socketPath = join(folder, file);
  const server = await serveCsi({
    socketPath,
    identity: {},
    node: { nodeGetInfo: async () => ({ nodeId, maxVolumesPerNode: 0n, accessibleTopology: { segments } }) },
  });
  ends.push(() => server.close());
  return socketPath;
}

before(async () => {
  mkdirSync(plugins);
  await driver('good.csi', 'node-1');
  const huge = await driver('huge.csi', 'x'.repeat(5 * 1024 * 1024));
  const labels = await driver('labels.csi', 'n', { 'not a label': '\n' });
  await plugin('a-huge-name.sock', { name: 'x'.repeat(1024 * 1024) });
  await plugin('b-many-versions.sock', { supportedVersions: Array.from({ length: 5000 }, () => '1.0.0') });
  await plugin('c-path.sock', { name: '../../../etc/cron.d' });
  await plugin('d-relative.sock', { name: 'rel.example', endpoint: 'run/x.sock' });
  await plugin('e-huge-id.sock', { name: 'huge.example', endpoint: huge });
  await plugin('f-labels.sock', { name: 'labels.example', endpoint: labels });
  await plugin('g-newline.sock', { name: 'x\nI0101 forged' });
  // One that takes connections and says nothing, and one that says what is no HTTP/2.
  for (const [file, words] of [
    ['h-silent.sock', ''],
    ['i-noise.sock', 'HTTP/1.1 200 OK\r\n\r\n'],
  ] as const) {
    const server = createServer((socket) => {
      ends.push(() => socket.destroy());
      socket.on('error', () => undefined).write(words);
    });
    await new Promise<void>((resolve) => server.listen(join(plugins, file), resolve));
    ends.push(() => server.close());
  }
  symlinkSync('/', join(plugins, 'j-root'));
  symlinkSync('k-circle', join(plugins, 'k-circle'));
  await plugin('z-good.sock', {});
  manager.start();
});

after(async () => {
  await manager.stop();
  for (const end of ends) await end();
  rmSync(folder, { recursive: true, force: true });
});

test('each of them is refused, and the one that is in order is registered at once', async () => {
  assert.ok(await waitUntil(() => manager.counts().registered.length > 0, 10_000), 'the good one');
  assert.ok(
    await waitUntil(
      () =>
        [
          'b-many-versions.sock',
          'c-path.sock',
          'd-relative.sock',
          'e-huge-id.sock',
          'f-labels.sock',
          'g-newline.sock',
        ].every((file) => notified.has(file)),
      10_000,
    ),
    [...notified.keys()].join(),
  );
  assert.deepEqual(
    registry.nodeDrivers().map(({ name, nodeId }) => [name, nodeId]),
    [['d.example', 'node-1']],
  );
  assert.deepEqual(
    [...notified].filter(([, words]) => words.startsWith('true')).map(([file]) => file),
    ['z-good.sock'],
  );
  assert.deepEqual(manager.counts().registered, [join(plugins, 'z-good.sock')]);
  assert.ok(
    manager.counts().desired.every((path) => path.startsWith(`${plugins}/`) && !path.includes('j-root')),
    'links to folders are not entered',
  );
});

test('logs shorten the texts of plugins, and the error of a huge response names the limit', async () => {
  assert.ok(
    await waitUntil(() => log.lines.some(({ fields }) => String(fields['socket']).includes('a-huge-name')), 10_000),
  );
  for (const { message, fields } of log.lines) assert.ok(JSON.stringify([message, fields]).length < 3000, message);
  assert.match(JSON.stringify(log.lines), /larger than max/);
});
