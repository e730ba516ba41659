import { safeSearchPath } from '../../../base/program-environment.ts';
import type { Iptables } from '../../ports/iptables.ts';
import type { Processes } from '../../ports/processes.ts';

const LOCK_WAIT_S = 5;
const LIMIT_MS = 15_000;
const OUTPUT_BYTES = 64 * 1024;

/**
 * Runs the machine's preferred iptables, legacy or nf_tables. `prefix` precedes each command, for example `ip netns
 * exec NAME` for the network of another namespace.
 */
export function linuxIptables(processes: Processes, prefix: readonly string[] = []): readonly Iptables[] {
  // Debian has the programs in sbin, which is not in every PATH.
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
