/** Links, routes, neighbours and forwarding entries, with the programs of iproute2. */
import { spawn } from 'node:child_process';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import { programEnvironment } from '../../base/program-environment.ts';
import { runProgram } from '../../base/run-program.ts';
import { LineSplitter } from '../../base/line-splitter.ts';
import { parseAddresses, parseForwarding, parseNeighbours, parseRoutes } from '../overlay/parse-kernel.ts';
import type { KernelNetwork, NetworkStep } from '../overlay/kernel-network.ts';
import { commandOf } from '../overlay/step-commands.ts';

const TIMEOUT_MS = 20_000;
/** The output for a node with 5,000 peers and 250 pods has about 4 MB. */
const LIMIT_BYTES = 64 * 1024 * 1024;
const RESTART_MS = 1000;

/** `prefix` precedes each command, for another network namespace. */
export function createIpNetwork(prefix: readonly string[] = []): KernelNetwork {
  return {
    read: async () => {
      const [links, routes4, routes6, neighbours, forwarding] = await Promise.all([
        run([...prefix, 'ip', '-j', '-d', 'address', 'show']),
        run([...prefix, 'ip', '-j', '-4', 'route', 'show', 'table', 'main']),
        run([...prefix, 'ip', '-j', '-6', 'route', 'show', 'table', 'main']),
        run([...prefix, 'ip', '-j', 'neighbour', 'show', 'nud', 'permanent']),
        run([...prefix, 'bridge', '-j', 'fdb', 'show']),
      ]);
      return {
        links: parseAddresses(links),
        routes: [...parseRoutes(routes4), ...parseRoutes(routes6)],
        neighbours: parseNeighbours(neighbours),
        forwarding: parseForwarding(forwarding),
      };
    },
    apply: async (steps) => {
      const failures: string[] = [];
      for (const { program, lines } of batches(steps))
        await run([...prefix, program, '-force', '-batch', '-'], `${lines.join('\n')}\n`).catch((error: unknown) =>
          failures.push(errorMessage(error)),
        );
      if (failures.length > 0) throw new KubeletError('Internal', failures.join('; ').slice(0, 1000), { op: 'ip' });
    },
    disableChecksumOffload: (device) => disableOffload(prefix, device),
    watch: (onChange) => watchEvents(prefix, onChange),
  };
}

/** Consecutive steps for the same program form one batch. */
function batches(steps: readonly NetworkStep[]): { program: 'ip' | 'bridge'; lines: string[] }[] {
  const found: { program: 'ip' | 'bridge'; lines: string[] }[] = [];
  for (const { program, line } of steps.map(commandOf)) {
    const last = found.at(-1);
    if (last?.program === program) last.lines.push(line);
    else found.push({ program, lines: [line] });
  }
  return found;
}

const environment = (): Record<string, string | undefined> =>
  programEnvironment(
    { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin` },
    { LC_ALL: 'C' },
  );

async function run([program = '', ...args]: readonly string[], stdin = ''): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram(program, args, {
    env: environment(),
    timeoutMs: TIMEOUT_MS,
    outputLimitBytes: LIMIT_BYTES,
    stdin,
  });
  if (exitCode !== 0)
    throw new KubeletError('Internal', `${[program, ...args].join(' ')} failed (${exitCode}): ${stderr.trim()}`, {
      op: program,
    });
  return stdout;
}

/** The request of ethtool(8) by perl, which every Debian has; its number of "set transmit checksums" is 0x17. */
const OFFLOAD_BY_PERL =
  'use Socket; socket(my $s, PF_INET, SOCK_DGRAM, 0) or die "$!\\n"; ' +
  'ioctl($s, 0x8946, pack("a16P", $ARGV[0], pack("LL", 0x17, 0))) or die "$!\\n";';

async function disableOffload(prefix: readonly string[], device: string): Promise<void> {
  try {
    await run([...prefix, 'ethtool', '-K', device, 'tx-checksum-ip-generic', 'off']);
  } catch {
    await run([...prefix, 'perl', '-e', OFFLOAD_BY_PERL, device]);
  }
}

/** One `ip monitor`, which is restarted when it ends. */
function watchEvents(prefix: readonly string[], onChange: (line: string) => void): { stop(): void } {
  let [stopped, timer] = [false, undefined as NodeJS.Timeout | undefined];
  let child: ReturnType<typeof spawn> | undefined;
  const start = (): void => {
    const [program = '', ...args] = [...prefix, 'ip', '-o', 'monitor', 'link', 'address', 'route', 'neigh'];
    const started = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'], env: environment() });
    child = started;
    const lines = new LineSplitter();
    started.stdout.setEncoding('utf8').on('data', (text: string) => lines.push(text).forEach(onChange));
    started.once('error', () => undefined);
    started.once('close', () => {
      if (stopped) return;
      // Events in between are lost.
      timer = setTimeout(() => (start(), onChange('')), RESTART_MS);
    });
  };
  start();
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      child?.kill();
    },
  };
}
