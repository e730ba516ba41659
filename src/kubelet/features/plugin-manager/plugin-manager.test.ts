import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { PluginDial, PluginInfo } from '../../ports/plugin-dial.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { PluginManager, type PluginHandler, type RegisteringPlugin } from './plugin-manager.ts';

const FOLDER = '/root/plugins_registry';
const INFO: PluginInfo = { type: 'CSIPlugin', name: 'd.example', endpoint: '/csi.sock', supportedVersions: ['1.0.0'] };

interface Script {
  info?: () => Promise<PluginInfo>;
  dial?: () => Promise<void>;
  notify?: () => Promise<void>;
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
  /** A socket appears, as through the kernel: seeded sockets are not told to watches, so a file is moved beside it. */
  const appear = async (path: string): Promise<void> => {
    // As the kernel does: each folder is told to the one it appears in.
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

test('a socket that is there at the start, one that appears, and one in a folder that appears are registered at once', async () => {
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

test('files, hidden sockets and hidden folders are no plugins; a link to a socket is one', async () => {
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

test('a socket that is removed is deregistered; one made anew is deregistered and registered again', async () => {
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
  // Removed and made again before anybody looks.
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

test('device and DRA plugins hear that nobody takes them, and are asked again later and later', async () => {
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

test('a plugin that is not valid, and one whose registration fails, hear why', async () => {
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

test('a plugin that does not take the good news is given back and tried again', async () => {
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

test('a plugin whose socket is replaced while it registers does not have the new one wait for it', async () => {
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

test('one plugin that hangs keeps no other waiting', async () => {
  const { clock, files, manager, scripts, take } = world();
  files.seed({ [`${FOLDER}/a.sock`]: 'socket', [SOCKET]: 'socket' }, true);
  scripts.set(`${FOLDER}/a.sock`, { info: () => new Promise(() => undefined) });
  manager.start();
  await clock.settle();
  assert.deepEqual(take(), [`dial ${FOLDER}/a.sock`, `dial ${SOCKET}`, ...REGISTERED.slice(1)]);
});

test('a folder that is no longer watched is looked at again a second later, and made again when it was removed', async () => {
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

test('a socket that no watch told of is found by the safety net', async () => {
  const { clock, files, manager, take } = world();
  manager.start();
  await clock.settle();
  files.seed({ [SOCKET]: 'socket' }, true);
  await clock.advance(60_000);
  assert.deepEqual(take(), REGISTERED);
  await manager.stop();
});

test('leaving takes nothing back and starts nothing any more', async () => {
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
