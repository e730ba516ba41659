import { safeSearchPath } from '../../../base/program-environment.ts';
import type { Iptables } from '../../ports/iptables.ts';
import type { Processes } from '../../ports/processes.ts';

const LOCK_WAIT_S = 5;
const LIMIT_MS = 15_000;
const OUTPUT_BYTES = 64 * 1024;

/**
 * The machine's preferred iptables, legacy or nf_tables. `prefix` is placed before each command: `ip netns exec NAME`,
 * for a network other than this process's.
 */
export function linuxIptables(processes: Processes, prefix: readonly string[] = []): readonly Iptables[] {
  // Debian has them in sbin, which is not in every PATH.
  const env = { PATH: safeSearchPath(`${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`), LC_ALL: 'C' };
  const of = (family: Iptables['family'], name: string): Iptables => ({
    family,
    run: async (given) => {
      const [program = name, ...args] = [...prefix, name, '-w', String(LOCK_WAIT_S), ...given];
      const { exitCode, stderr } = await processes.run(program, args, {
        env,
        timeoutMs: LIMIT_MS,
        outputLimitBytes: OUTPUT_BYTES,
      });
      return { exitCode, stderr };
    },
  });
  return [of('IPv4', 'iptables'), of('IPv6', 'ip6tables')];
}
