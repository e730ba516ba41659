import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MessageBus } from 'dbus-native';
import { createClient } from 'dbus-native';

const SYSTEMD = 'org.freedesktop.systemd1';
const SYSTEMD_PATH = '/org/freedesktop/systemd1';
const MANAGER = `${SYSTEMD}.Manager`;

const busConfig = (socket: string): string => `<busconfig>
  <type>system</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>
`;

/**
 * The real systemd-logind, on its own message bus and with its own folders. It can affect the machine only through the
 * service manager on that bus, which is a stub: it records which unit logind would start, and starts nothing.
 */
export class PrivateLogind {
  readonly folder = mkdtempSync(join(tmpdir(), 'logind-'));
  readonly socket = join(this.folder, 'bus');
  readonly dropInDir = join(this.folder, 'logind.conf.d');
  /** Contains `poweroff.target` when the shutdown has begun. */
  readonly started: string[] = [];
  #bus: ChildProcess | undefined;
  #logind: ChildProcess | undefined;
  #systemd: MessageBus | undefined;
  #jobs = 0;

  async start(): Promise<void> {
    mkdirSync(this.dropInDir);
    const config = join(this.folder, 'bus.conf');
    writeFileSync(config, busConfig(this.socket));
    this.#bus = spawn('dbus-daemon', [`--config-file=${config}`, '--nofork', '--print-address'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(this.#bus.stdout as NodeJS.ReadableStream, 'data');
    this.#systemd = this.client();
    this.#exportSystemd(this.#systemd);
    await this.#systemd.requestName(SYSTEMD, 0);
    await this.startLogind();
  }

  client(): MessageBus {
    return createClient({ socket: this.socket, authMethods: ['EXTERNAL'], plainValues: true });
  }

  async startLogind(): Promise<void> {
    const own = `mount -t tmpfs none /run/systemd && mkdir -p /etc/systemd/logind.conf.d && mount --bind ${this.dropInDir} /etc/systemd/logind.conf.d && exec /lib/systemd/systemd-logind`;
    const named = this.#whenNamed();
    this.#logind = spawn('unshare', ['-m', '--propagation', 'private', 'sh', '-c', own], {
      env: { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${this.socket}` },
      stdio: 'ignore',
    });
    await named;
  }

  async stopLogind(): Promise<void> {
    await this.#kill(this.#logind);
  }

  async shutDown(): Promise<void> {
    await this.#systemd?.invoke({
      destination: 'org.freedesktop.login1',
      path: '/org/freedesktop/login1',
      interface: 'org.freedesktop.login1.Manager',
      member: 'PowerOff',
      signature: 'b',
      body: [false],
    });
  }

  /** Ends the job of poweroff.target without a shutdown. */
  cancel(): void {
    const path = `${SYSTEMD_PATH}/job/${this.#jobs}`;
    this.#systemd?.sendSignal(SYSTEMD_PATH, MANAGER, 'JobRemoved', 'uoss', [
      this.#jobs,
      path,
      'poweroff.target',
      'canceled',
    ]);
  }

  async end(): Promise<void> {
    await this.#kill(this.#logind);
    await this.#systemd?.close();
    await this.#kill(this.#bus);
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #whenNamed(): Promise<void> {
    const bus = this.#systemd;
    if (bus === undefined) return;
    await bus.addMatch(
      "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.login1'",
    );
    await new Promise<void>((resolve) => {
      bus.connection.on('message', ({ member, body }: { member?: string; body?: unknown[] }) => {
        if (member === 'NameOwnerChanged' && body?.[0] === 'org.freedesktop.login1' && body[2] !== '') resolve();
      });
    });
  }

  async #kill(child: ChildProcess | undefined): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  #exportSystemd(bus: MessageBus): void {
    bus.exportInterface(
      {
        Subscribe: () => null,
        KillUnit: () => {
          this.#logind?.kill('SIGHUP');
          return null;
        },
        StartUnit: (unit: string) => {
          this.started.push(unit);
          this.#jobs += 1;
          return `${SYSTEMD_PATH}/job/${this.#jobs}`;
        },
      },
      SYSTEMD_PATH,
      {
        name: MANAGER,
        methods: {
          Subscribe: ['', '', [], []],
          KillUnit: ['ssi', '', [], []],
          StartUnit: ['ss', 'o', [], []],
        },
        signals: { JobRemoved: ['uoss'] },
        properties: {},
      },
    );
    bus.exportInterface({ LoadState: 'loaded' }, `${SYSTEMD_PATH}/unit/poweroff_2etarget`, {
      name: `${SYSTEMD}.Unit`,
      methods: {},
      signals: {},
      properties: { LoadState: 's' },
    });
  }
}
