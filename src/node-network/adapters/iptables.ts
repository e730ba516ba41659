/** The packet filter by Debian's iptables, legacy or nf_tables alike. */
import { spawn } from 'node:child_process';
import { KubeletError } from '../../base/errors.ts';
import { programEnvironment } from '../../base/program-environment.ts';
import type { PacketFilter } from '../service-routing/packet-filter.ts';

/** Seconds to wait for another who holds the tables' lock. */
const LOCK_WAIT = '10';

/** `prefix` stands before each command: `ip netns exec NAME`, for a network that is not this process's own. */
export function createIptables(prefix: readonly string[] = []): PacketFilter {
  return {
    read: async () =>
      `${await run([...prefix, 'iptables-save', '-t', 'nat'])}${await run([...prefix, 'iptables-save', '-t', 'filter'])}`,
    apply: async (text) => void (await run([...prefix, 'iptables-restore', '--noflush', '--wait', LOCK_WAIT], text)),
  };
}

function run(argv: readonly string[], input = ''): Promise<string> {
  const [program = '', ...args] = argv;
  return new Promise((resolve, reject) => {
    const environment = programEnvironment(
      { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin` },
      { LC_ALL: 'C' },
    );
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: environment });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new KubeletError(cause.code === 'ENOENT' ? 'NotFound' : 'Internal', `cannot run ${program}: ${cause.message}`, {
          op: program,
          cause,
        }),
      ),
    );
    child.on('close', (code) => {
      if (code === 0) resolve(stdout);
      else
        reject(
          new KubeletError('Internal', `${argv.join(' ')} failed (${code}): ${stderr.trim().slice(0, 600)}`, {
            op: program,
          }),
        );
    });
    // A program that ends without reading its input breaks the pipe; its exit code tells more than that error would.
    child.stdin.on('error', () => child.stdin.destroy()).end(input);
  });
}
