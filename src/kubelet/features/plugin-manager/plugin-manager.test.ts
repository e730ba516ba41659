import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { PluginDial, PluginInfo } from '../../ports/plugin-dial.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import type { PluginHandler, RegisteringPlugin } from './plugin-manager.ts';
import { PluginManager } from './plugin-manager.ts';

const FOLDER = '/root/plugins_registry';
const INFO: PluginInfo = { type: 'CSIPlugin', name: 'd.example', endpoint: '/csi.sock', supportedVersions: ['1.0.0'] };

interface Script {
  readonly info?: () => Promise<PluginInfo>;
  readonly dial?: () => Promise<void>;
  readonly notify?: () => Promise<void>;
}

function world() {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  const log = recordingLog();
  const did: string[] = [];
  const scripts = new Map<string, Script>();
  const dial: PluginDial = {
    dial: async (path) => {
      did.push(`dial ${path}`);
      await scripts.get(path)?.dial?.();
      return {
        getInfo: () => scripts.get(path)?.info?.() ?? Promise.resolve(INFO),
        notifyRegistrationStatus: async ({ registered, error }) => {
          did.push(`notify ${registered}${error === '' ? '' : ` ${error}`}`);
          await scripts.get(path)?.notify?.();
        },
        close: () => did.push('close'),
      };
    },
  };
  const handling: {
    validate?: (plugin: RegisteringPlugin) => void;
    register?: (plugin: RegisteringPlugin) => Promise<void>;
  } = {};
  const handler: PluginHandler = {
    validate: (plugin) => handling.validate?.(plugin),
    register: async (plugin) => {
      did.push(`register ${plugin.name} ${plugin.endpoint} ${plugin.versions.join(',')}`);
      await handling.register?.(plugin);
    },
    deregister: (plugin) => did.push(`deregister ${plugin.name}`),
  };
  const manager = new PluginManager({
    folder: FOLDER,
    files,
    dial,
    handlers: new Map([['CSIPlugin', handler]]),
    clock,
    random: seededRandom(1),
    log,
  });
  /** Adds a socket as the kernel does. Watches do not report seeded sockets, so a file is moved next to the socket. */
  const appear = async (path: string): Promise<void> => {
    // As in the kernel, the watch of the parent reports a new folder.
    for (let at = path.indexOf('/', 1); at >= 0; at = path.indexOf('/', at + 1))
      await files.makeDirectory(path.slice(0, at), 0o755);
    files.seed({ [path]: 'socket' }, true);
    await poke(path);
  };
  const poke = async (path: string): Promise<void> => {
    const beside = `${path.slice(0, path.lastIndexOf('/'))}/.poke`;
    await files.writeFile(beside, '', 0o600);
    await files.remove(beside);
    await clock.settle();
    await clock.settle();
  };
  const take = (): string[] => did.splice(0);
  return { clock, files, log, manager, scripts, handling, appear, take };
}

const REGISTERED = ['dial /root/plugins_registry/d.sock', 'register d.example /csi.sock 1.0.0', 'notify true', 'close'];
const SOCKET = `${FOLDER}/d.sock`;

test('existing sockets, new ones, and those in new folders are registered at once', async () => {
  const { clock, files, manager, appear, take } = world();
  files.seed({ [SOCKET]: 'socket' }, true);
  manager.start();
  await clock.settle();
  assert.deepEqual(take(), REGISTERED);
  await appear(`${FOLDER}/e.sock`);
  assert.equal(take()[0], `dial ${FOLDER}/e.sock`);
  await appear(`${FOLDER}/deep/er/f.sock`);
  assert.equal(take()[0], `dial ${FOLDER}/deep/er/f.sock`);
  await appear(`${FOLDER}/deep/g.sock`);
  assert.equal(take()[0], `dial ${FOLDER}/deep/g.sock`);
  await manager.stop();
});

test('files, hidden sockets and hidden folders are ignored; a link to a socket is a plugin', async () => {
  const { clock, files, manager, take } = world();
  files.seed(
    { [`${FOLDER}/.hidden.sock`]: 'socket', [`${FOLDER}/.dir/x.sock`]: 'socket', '/run/real.sock': 'socket' },
    true,
  );
  files.seed({ [`${FOLDER}/readme`]: 'text' });
  await files.symlink('/run/real.sock', `${FOLDER}/link.sock`);
  await files.symlink('/nowhere', `${FOLDER}/dangling`);
  manager.start();
  await clock.settle();
  assert.deepEqual(
    take().filter((line) => line.startsWith('dial')),
    [`dial ${FOLDER}/link.sock`],
  );
  await manager.stop();
});

test('a socket that is removed is deregistered; a recreated one is deregistered and registered again', async () => {
  const { clock, files, manager, appear, take } = world();
  manager.start();
  await clock.settle();
  await appear(SOCKET);
  take();
  await files.remove(SOCKET);
  await clock.settle();
  assert.deepEqual(take(), ['deregister d.example']);
  await appear(SOCKET);
  assert.deepEqual(take(), REGISTERED);
  // The socket is removed and recreated before any check.
  const removed = files.remove(SOCKET);
  files.seed({ [SOCKET]: 'socket' }, true);
  await removed;
  files.seed({ [SOCKET]: 'socket' }, true);
  await appear(SOCKET);
  assert.deepEqual(take(), ['deregister d.example', ...REGISTERED]);
  await manager.stop();
});

test('a plugin without an endpoint of its own is served on the socket it registers by', async () => {
  const { clock, files, manager, scripts, take } = world();
  files.seed({ [SOCKET]: 'socket' }, true);
  scripts.set(SOCKET, { info: () => Promise.resolve({ ...INFO, endpoint: '' }) });
  manager.start();
  await clock.settle();
  assert.equal(take()[1], `register d.example ${SOCKET} 1.0.0`);
  await manager.stop();
});

test('device and DRA plugins are notified that there is no handler, and retried with back-off', async () => {
  const { clock, files, manager, scripts, take, log } = world();
  files.seed({ [SOCKET]: 'socket' }, true);
  scripts.set(SOCKET, { info: () => Promise.resolve({ ...INFO, type: 'DRAPlugin' }) });
  manager.start();
  await clock.settle();
  const refused = `notify false RegisterPlugin error -- no handler registered for plugin type: DRAPlugin at socket ${SOCKET}`;
  assert.deepEqual(take(), [`dial ${SOCKET}`, refused, 'close']);
  assert.match(String(log.lines.at(-1)?.fields['error']), /no handler registered/);
  await clock.advance(499);
  assert.deepEqual(take(), []);
  await clock.advance(1);
  assert.deepEqual(take(), [`dial ${SOCKET}`, refused, 'close']);
  await clock.advance(1_000);
  assert.equal(take().length, 3);
  await clock.advance(1_999);
  assert.deepEqual(take(), []);
  await manager.stop();
});

test('an invalid plugin, and one whose registration fails, are notified of the reason', async () => {
  const { clock, files, manager, handling, take } = world();
  files.seed({ [SOCKET]: 'socket' }, true);
  handling.validate = () => {
    throw new KubeletError('Invalid', 'version too low');
  };
  manager.start();
  await clock.settle();
  assert.deepEqual(take(), [
    `dial ${SOCKET}`,
    'notify false RegisterPlugin error -- plugin validation failed with err: version too low',
    'close',
  ]);
  delete handling.validate;
  handling.register = () => Promise.reject(new KubeletError('Unavailable', 'no node info'));
  await clock.advance(500);
  assert.deepEqual(take(), [
    `dial ${SOCKET}`,
    'register d.example /csi.sock 1.0.0',
    'notify false RegisterPlugin error -- plugin registration failed with err: no node info',
    'close',
    'deregister d.example',
  ]);
  await manager.stop();
});

test('a plugin that cannot be notified of its registration is deregistered and retried', async () => {
  const { clock, files, manager, scripts, take } = world();
  files.seed({ [SOCKET]: 'socket' }, true);
  scripts.set(SOCKET, { notify: () => Promise.reject(new KubeletError('Timeout', 'no answer')) });
  manager.start();
  await clock.settle();
  assert.deepEqual(take(), [...REGISTERED, 'deregister d.example']);
  scripts.delete(SOCKET);
  await clock.advance(500);
  assert.deepEqual(take(), REGISTERED);
  await manager.stop();
});

test('a plugin whose socket is replaced while it registers does not delay the new socket', async () => {
  const { clock, files, manager, scripts, appear, handling, take } = world();
  manager.start();
  await clock.settle();
  scripts.set(SOCKET, { dial: () => new Promise(() => undefined) });
  await appear(SOCKET);
  assert.deepEqual(take(), [`dial ${SOCKET}`]);
  scripts.delete(SOCKET);
  handling.register = () => new Promise(() => undefined);
  await files.remove(SOCKET);
  await appear(SOCKET);
  assert.deepEqual(take(), [`dial ${SOCKET}`, 'register d.example /csi.sock 1.0.0']);
  delete handling.register;
  await files.remove(SOCKET);
  await appear(SOCKET);
  assert.deepEqual(take(), ['close', 'deregister d.example', ...REGISTERED]);
  await manager.stop();
});

test('a hung plugin delays no other', async () => {
  const { clock, files, manager, scripts, take } = world();
  files.seed({ [`${FOLDER}/a.sock`]: 'socket', [SOCKET]: 'socket' }, true);
  scripts.set(`${FOLDER}/a.sock`, { info: () => new Promise(() => undefined) });
  manager.start();
  await clock.settle();
  assert.deepEqual(take(), [`dial ${FOLDER}/a.sock`, `dial ${SOCKET}`, ...REGISTERED.slice(1)]);
});

test('a folder whose watch was lost is checked again a second later, and recreated if it was removed', async () => {
  const { clock, files, manager, appear, take } = world();
  manager.start();
  await clock.settle();
  await files.removeTree(FOLDER);
  await clock.advance(1_000);
  assert.equal((await files.lstat(FOLDER))?.type, 'directory');
  await appear(SOCKET);
  assert.deepEqual(take(), REGISTERED);
  await manager.stop();
});

test('a socket without a watch event is found by the periodic check', async () => {
  const { clock, files, manager, take } = world();
  manager.start();
  await clock.settle();
  files.seed({ [SOCKET]: 'socket' }, true);
  await clock.advance(60_000);
  assert.deepEqual(take(), REGISTERED);
  await manager.stop();
});

test('stopping deregisters nothing and starts nothing', async () => {
  const { clock, files, manager, appear, take } = world();
  manager.start();
  await clock.settle();
  await appear(SOCKET);
  take();
  await manager.stop();
  await files.remove(SOCKET);
  await clock.advance(120_000);
  assert.deepEqual(take(), []);
});

test('too many sockets, names or folders are not all checked, are logged once, and displace no registered plugin', async () => {
  const { clock, files, manager, log, take } = world();
  files.seed({ [`${FOLDER}/z.sock`]: 'socket' }, true);
  manager.start();
  await clock.settle();
  assert.equal(manager.counts().registered.length, 1);
  for (let index = 0; index < 400; index += 1)
    files.seed({ [`${FOLDER}/a${index}.sock`]: 'socket', [`${FOLDER}/f${index}/g${index}.sock`]: 'socket' }, true);
  await clock.advance(60_000);
  assert.ok(manager.counts().desired.length <= 251, `${manager.counts().desired.length} sockets`);
  assert.ok(manager.counts().desired.includes(`${FOLDER}/z.sock`));
  assert.ok(!take().includes('deregister d.example'));
  for (let index = 0; index < 6000; index += 1) files.seed({ [`${FOLDER}/0${index}`]: 'text' });
  await clock.advance(60_000);
  assert.equal(log.lines.filter(({ message }) => message.includes('plugin sockets has too many entries')).length, 1);
  await manager.stop();
});
