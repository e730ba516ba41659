import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { writeFileAtomic } from '../../../base/write-file-atomic.ts';
import type { LoginConnection, LoginManager } from '../../ports/login-manager.ts';
import type { BusClient } from '../dbus/bus-client.ts';
import { openBus } from '../dbus/bus-client.ts';
import { takeInhibitorLock } from './inhibitor-process.ts';

export interface LogindPlaces {
  /** The socket of the system bus. */
  readonly bus: string;
  /** The folder of logind's drop-in files. */
  readonly dropInDir: string;
}

/**
 * Returns the places. `address` is that of another system bus, as in DBUS_SYSTEM_BUS_ADDRESS. An address that is not a
 * path is not supported.
 */
export function logindPlaces(address = ''): LogindPlaces {
  const bus = /^unix:path=([^,;]+)/.exec(address)?.[1] ?? '/run/dbus/system_bus_socket';
  return { bus, dropInDir: '/etc/systemd/logind.conf.d' };
}

const SERVICE = 'org.freedesktop.login1';
const PATH = '/org/freedesktop/login1';
const MANAGER = 'org.freedesktop.login1.Manager';
const BUS = 'org.freedesktop.DBus';
const SHUTDOWN_SIGNALS = `type='signal',sender='${SERVICE}',path='${PATH}',interface='${MANAGER}',member='PrepareForShutdown'`;
const OWNER_SIGNALS = `type='signal',sender='${BUS}',interface='${BUS}',member='NameOwnerChanged',arg0='${SERVICE}'`;
const HANGUP = 1;
/** The name of the drop-in file (upstream: systemd/inhibit_linux.go). */
const DROP_IN = '99-kubelet.conf';

/** Creates the client of systemd-logind over D-Bus. */
export function createLogind(places: LogindPlaces): LoginManager {
  return { connect: () => connect(places) };
}

async function connect(places: LogindPlaces): Promise<LoginConnection> {
  const bus = await openBus(places.bus, { isDirect: false, op: 'reach logind' });
  try {
    await Promise.all([bus.addMatch(SHUTDOWN_SIGNALS), bus.addMatch(OWNER_SIGNALS)]);
    const owner = String(await askBus(bus, 'GetNameOwner'));
    return connectionOf(bus, owner, places);
  } catch (error) {
    bus.close();
    throw new KubeletError('Unavailable', `logind cannot be reached over D-Bus: ${errorMessage(error)}`, {
      op: 'reach logind',
      cause: error,
    });
  }
}

function askBus(bus: BusClient, member: string): Promise<unknown> {
  return bus.invoke({
    destination: BUS,
    path: '/org/freedesktop/DBus',
    interface: BUS,
    member,
    signature: 's',
    body: [SERVICE],
  });
}

/**
 * Creates the connection. `owner` is logind's unique name, which is checked because any user of the machine may send
 * signals of any name.
 */
function connectionOf(bus: BusClient, owner: string, { bus: socket, dropInDir }: LogindPlaces): LoginConnection {
  const property = (name: string): Promise<unknown> =>
    bus.invoke({
      destination: SERVICE,
      path: PATH,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      signature: 'ss',
      body: [MANAGER, name],
    });
  bus.onMessage(({ sender, member }) => {
    // logind was restarted and has another name now.
    if (sender === BUS && member === 'NameOwnerChanged') bus.close();
  });
  return {
    inhibitDelayMaxMs: async () => Number(await property('InhibitDelayMaxUSec')) / 1000,
    overrideInhibitDelayMax: async (delayMs) => {
      await writeDropIn(dropInDir, delayMs);
      await bus.invoke({
        destination: 'org.freedesktop.systemd1',
        path: '/org/freedesktop/systemd1',
        interface: 'org.freedesktop.systemd1.Manager',
        member: 'KillUnit',
        signature: 'ssi',
        body: ['systemd-logind.service', 'all', HANGUP],
      });
    },
    isPreparingForShutdown: async () => (await property('PreparingForShutdown')) === true,
    inhibitShutdown: (lock) => takeInhibitorLock(lock, { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${socket}` }),
    onPrepareForShutdown: (listener) =>
      bus.onMessage(({ sender, interface: of, member, body = [] }) => {
        const [isStarting] = body;
        if (sender !== owner || of !== MANAGER || member !== 'PrepareForShutdown') return;
        if (typeof isStarting === 'boolean') listener(isStarting);
      }),
    onClose: (listener) => bus.onClose(listener),
    close: () => bus.close(),
  };
}

async function writeDropIn(dir: string, delayMs: number): Promise<void> {
  const path = join(dir, DROP_IN);
  const text = `# Written by the kubelet for its graceful shutdown.\n[Login]\nInhibitDelayMaxSec=${Math.ceil(delayMs / 1000)}\n`;
  await mkdir(dir, { recursive: true, mode: 0o755 });
  await writeFileAtomic(path, text, 0o644, { survivesPowerCut: false });
}
