/** Runs Debian's iptables, which may be legacy or nf_tables. */
import { spawn } from 'node:child_process';
import { KubeletError } from '../../base/errors.ts';
import { programEnvironment } from '../../base/program-environment.ts';
import type { IpFamily } from '../service-routing/ip-family.ts';
import type { PacketFilter } from '../service-routing/packet-filter.ts';

/** Seconds to wait for the lock of the tables. */
const LOCK_WAIT = '10';

/** `prefix` precedes each command: `ip netns exec NAME`, for another network namespace. */
export function createIptables(prefix: readonly string[] = [], family: IpFamily = 'IPv4'): PacketFilter {
  const program = family === 'IPv4' ? 'iptables' : 'ip6tables';
  const save = (table: string): Promise<string> => run([...prefix, `${program}-save`, '-t', table]);
  return {
    read: async () => `${await save('nat')}${await save('filter')}`,
    apply: async (text) => void (await run([...prefix, `${program}-restore`, '--noflush', '--wait', LOCK_WAIT], text)),
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
    // A program that ends without reading its input breaks the pipe. Its exit code is more useful than that error.
    child.stdin.on('error', () => child.stdin.destroy()).end(input);
  });
}
