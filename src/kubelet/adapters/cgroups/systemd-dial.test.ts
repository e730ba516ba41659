import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { DBusBroker, MessageBus } from 'dbus-native';
import { createBroker, createClient } from 'dbus-native';
import { systemClock } from '../../../base/clock.ts';
import { errorKind } from '../../../base/errors.ts';
import { dialSystemd } from './systemd-dial.ts';
import { BusSystemdManager } from './systemd-manager.ts';

const NAME = 'org.freedesktop.systemd1';
const MANAGER = 'org.freedesktop.systemd1.Manager';
const PATH = '/org/freedesktop/systemd1';

/** A message bus with the part of systemd that slices need. All messages go over sockets in the real encoding. */
class StubBus {
  readonly socket: string;
  readonly seen: unknown[][] = [];
  #broker: DBusBroker | undefined;
  #service: MessageBus | undefined;
  #jobs = 0;

  constructor(socket: string) {
    this.socket = socket;
  }

  async start(): Promise<void> {
    const broker = createBroker();
    this.#broker = broker;
    await new Promise<void>(
      (resolve, reject) =>
        void broker.listen({ socket: this.socket }, (error) => (error === null ? resolve() : reject(error))),
    );
    const bus = createClient({ socket: this.socket, authMethods: ['EXTERNAL'], plainValues: true, returnBigInt: true });
    this.#service = bus;
    const job =
      (isNew: boolean) =>
      (unit: string, ...rest: unknown[]): string => {
        // The library passes the message after the arguments.
        rest.pop();
        if (unit === 'loaded.slice' && isNew)
          throw Object.assign(new Error(`Unit ${unit} was already loaded`), {
            dbusName: 'org.freedesktop.systemd1.UnitExists',
          });
        this.seen.push([unit, ...rest]);
        this.#jobs += 1;
        const path = `${PATH}/job/${this.#jobs}`;
        setImmediate(() => bus.sendSignal(PATH, MANAGER, 'JobRemoved', 'uoss', [this.#jobs, path, unit, 'done']));
        return path;
      };
    bus.exportInterface(
      {
        Version: '252.39-1~deb12u2',
        Subscribe: () => null,
        ResetFailedUnit: () => null,
        StartTransientUnit: job(true),
        StartUnit: job(false),
        StopUnit: job(false),
        SetUnitProperties: (unit: string, isRuntime: boolean, properties: unknown) => {
          if (unit === 'none.slice')
            throw Object.assign(new Error(`Unit ${unit} not found.`), {
              dbusName: 'org.freedesktop.systemd1.NoSuchUnit',
            });
          this.seen.push([unit, isRuntime, properties]);
          return null;
        },
      },
      PATH,
      {
        name: MANAGER,
        methods: {
          Subscribe: ['', '', [], []],
          ResetFailedUnit: ['s', '', [], []],
          StartTransientUnit: ['ssa(sv)a(sa(sv))', 'o', [], []],
          StartUnit: ['ss', 'o', [], []],
          StopUnit: ['ss', 'o', [], []],
          SetUnitProperties: ['sba(sv)', '', [], []],
        },
        signals: { JobRemoved: ['uoss'] },
        properties: { Version: { type: 's', access: 'read' } },
      },
    );
    await bus.requestName(NAME, 0);
  }

  async stop(): Promise<void> {
    await this.#service?.close();
    await new Promise<void>((resolve) => (this.#broker === undefined ? resolve() : void this.#broker.close(resolve)));
  }
}

describe('systemd over a message bus', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kts-bus-'));
  const bus = new StubBus(join(folder, 'bus'));
  const dial = () => dialSystemd({ bus: bus.socket, privateSocket: join(folder, 'private') });
  const manager = new BusSystemdManager(dial, systemClock);
  before(() => bus.start());
  after(async () => {
    await bus.stop();
    rmSync(folder, { recursive: true });
  });

  test('slices are made, changed and stopped with values of 64 bits, and jobs are awaited', async () => {
    bus.seen.length = 0;
    const infinity = 2n ** 64n - 1n;
    assert.equal(await manager.version(), 252);
    assert.equal(
      await manager.startSlice('a.slice', [
        { name: 'Wants', type: 'as', value: ['b.slice'] },
        { name: 'MemoryMax', type: 't', value: infinity },
        { name: 'CPUAccounting', type: 'b', value: true },
      ]),
      'made',
    );
    await manager.setProperties('a.slice', [{ name: 'TasksMax', type: 't', value: 5n }]);
    await manager.stopSlice('a.slice');
    assert.deepEqual(bus.seen, [
      [
        'a.slice',
        'replace',
        [
          ['Wants', ['b.slice']],
          ['MemoryMax', infinity],
          ['CPUAccounting', true],
        ],
        [],
      ],
      ['a.slice', true, [['TasksMax', 5n]]],
      ['a.slice', 'replace'],
    ]);
  });

  test('a program that only waits for a response of systemd runs until it arrives, and can then end', async () => {
    const source = [
      `import { dialSystemd } from ${JSON.stringify(join(import.meta.dirname, 'systemd-dial.ts'))};`,
      `const connection = await dialSystemd(${JSON.stringify({ bus: bus.socket, privateSocket: '' })});`,
      "console.log(await connection.version(), await connection.call('StopUnit', 'ss', ['slow.slice', 'replace']));",
    ].join('\n');
    const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (piece: Buffer) => (said += piece.toString()));
    const [code] = (await once(child, 'close')) as [number];
    assert.deepEqual([code, said.slice(0, 17)], [0, '252.39-1~deb12u2 ']);
  });

  test('errors of systemd have a kind: an existing unit is reused, a missing one is NotFound', async () => {
    assert.equal(await manager.startSlice('loaded.slice', []), 'existed');
    await assert.rejects(
      manager.setProperties('none.slice', [{ name: 'TasksMax', type: 't', value: 5n }]),
      (error) => errorKind(error) === 'NotFound',
    );
  });

  test('a lost bus is Unavailable, with the error of each socket, and is used again when it is back', async () => {
    await bus.stop();
    await assert.rejects(
      manager.stopSlice('a.slice'),
      (error) =>
        errorKind(error) === 'Unavailable' && /bus: .*ENOENT.*private: .*ENOENT/.test((error as Error).message),
    );
    await bus.start();
    await manager.stopSlice('a.slice');
  });
});
