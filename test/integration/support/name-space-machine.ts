// A machine made of namespaces, with its own network, mounts and host name, on a bridge that is the network between the
// machines. It has its own /run, and its own network devices in /sys.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { machineEnvironment, runCommand, tryCommand } from '../../../src/up/commands.ts';

export interface Answer {
  readonly status: number | null;
  readonly output: string;
}

/** The network between the machines. */
export interface Wire {
  readonly name: string;
  remove(): Promise<void>;
}

export async function makeWire(name: string): Promise<Wire> {
  await runCommand(['ip', 'netns', 'add', name]);
  await runCommand(['ip', '-n', name, 'link', 'add', 'br0', 'type', 'bridge']);
  await runCommand(['ip', '-n', name, 'link', 'set', 'br0', 'up']);
  return { name, remove: async () => void (await tryCommand(['ip', 'netns', 'del', name])) };
}

export class NameSpaceMachine {
  readonly name: string;
  readonly address: string;
  readonly #holder: ChildProcess;
  readonly #space: string;
  readonly #wire: string;

  private constructor(name: string, address: string, parts: { holder: ChildProcess; space: string; wire: string }) {
    this.name = name;
    this.address = address;
    this.#holder = parts.holder;
    this.#space = parts.space;
    this.#wire = parts.wire;
  }

  /** `addresses`: one IPv4 address, and optionally one IPv6 address. */
  static async start(
    name: string,
    [address, address6]: readonly [string, string?],
    { wire, folder }: { wire: Wire; folder: string },
  ): Promise<NameSpaceMachine> {
    const space = `${wire.name}${name}`;
    await runCommand(['ip', 'netns', 'add', space]);
    await runCommand(['ip', '-n', wire.name, 'link', 'add', name, 'type', 'veth', 'peer', 'eth0', 'netns', space]);
    await runCommand(['ip', '-n', wire.name, 'link', 'set', name, 'master', 'br0', 'up']);
    const gateway = address.replace(/\d+$/, '254');
    const lines = [
      'link set lo up',
      `address add ${address}/24 dev eth0`,
      ...(address6 === undefined ? [] : [`address add ${address6}/64 dev eth0 nodad`]),
      'link set eth0 up',
      `route add default via ${gateway}`,
    ];
    await runCommand(['ip', '-n', space, '-batch', '-'], Buffer.from(`${lines.join('\n')}\n`));
    const own = join(folder, `${name}-own`);
    for (const each of ['run', 'cgroup', 'cni']) mkdirSync(join(own, each), { recursive: true });
    // The devices that /sys shows are those of the network namespace in which it was mounted.
    const script = [
      `mount --rbind /sys/fs/cgroup ${own}/cgroup`,
      'mount -t sysfs sysfs /sys',
      'mount --rbind "$0" /sys/fs/cgroup',
      'umount --lazy "$0"',
      `mount --bind ${own}/run /run`,
      `mkdir -p /var/lib/cni && mount --bind ${own}/cni /var/lib/cni`,
      `hostname ${name}`,
      'mount --make-rshared /',
      'echo ready',
      'exec sleep infinity',
    ].join('\n');
    const enter = [`--net=/run/netns/${space}`, 'unshare', '--mount', '--uts', '--propagation', 'private'];
    const holder = spawn('nsenter', [...enter, 'sh', '-euc', script, `${own}/cgroup`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await Promise.race([
      once(holder.stdout, 'data'),
      once(holder, 'exit').then(() => Promise.reject(new Error(`the machine ${name} did not start`))),
    ]);
    return new NameSpaceMachine(name, address, { holder, space, wire: wire.name });
  }

  /** The prefix of a command that runs on it. */
  get enter(): readonly string[] {
    return ['nsenter', '-t', String(this.#holder.pid), '-m', '-u', '-n'];
  }

  /** Resolves with the exit code; the output contains both streams. */
  run(argv: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return new Promise((resolve) => {
      const [program = '', ...args] = [...this.enter, ...argv];
      const child = spawn(program, args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...machineEnvironment(), ...environment },
        timeout: 120_000,
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
      child.on('close', (status) => resolve({ status, output }));
    });
  }

  /** Connects or disconnects its network. */
  async cable(state: 'up' | 'down'): Promise<void> {
    await runCommand(['ip', '-n', this.#wire, 'link', 'set', this.name, state]);
  }

  /** Adds delay and loss with the kernel's emulator if it has one, otherwise loss only. Returns what was done. */
  async impair(): Promise<string> {
    const netem = [
      'tc',
      '-n',
      this.#wire,
      'qdisc',
      'add',
      'dev',
      this.name,
      'root',
      'netem',
      'delay',
      '20ms',
      'loss',
      '5%',
    ];
    if ((await tryCommand(netem)).code === 0) return 'delay and loss';
    const rules =
      'table bridge bad { chain c { type filter hook forward priority 0; numgen random mod 100 < 5 counter drop; }; }';
    await runCommand(['ip', 'netns', 'exec', this.#wire, 'nft', rules]);
    return 'loss';
  }

  async repair(): Promise<void> {
    await tryCommand(['tc', '-n', this.#wire, 'qdisc', 'del', 'dev', this.name, 'root']);
    await tryCommand(['ip', 'netns', 'exec', this.#wire, 'nft', 'delete table bridge bad']);
  }

  async stop(): Promise<void> {
    if (this.#holder.exitCode === null && this.#holder.signalCode === null) {
      this.#holder.kill();
      await once(this.#holder, 'exit');
    }
    await tryCommand(['ip', 'netns', 'del', this.#space]);
  }
}
