import type { Iptables } from '../../ports/iptables.ts';
import type { Processes } from '../../ports/processes.ts';

const LOCK_WAIT_S = 5;
const LIMIT_MS = 15_000;
const OUTPUT_BYTES = 64 * 1024;

/** Whichever iptables the machine prefers, legacy or nf_tables. `prefix` stands before each command: `ip netns exec NAME`, for a network that is not this process's own. */
export function linuxIptables(processes: Processes, prefix: readonly string[] = []): readonly Iptables[] {
  // Debian keeps them in sbin, which not every PATH has.
  const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`, LC_ALL: 'C' };
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
