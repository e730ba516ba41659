/** The kernel's table of flows by Debian's `conntrack`. */
import { KubeletError } from '../../base/errors.ts';
import { programEnvironment } from '../../base/program-environment.ts';
import { runProgram } from '../../base/run-program.ts';
import type { FlowTable } from '../service-routing/stale-flows.ts';
import { parseFlows } from '../service-routing/stale-flows.ts';

const TIMEOUT_MS = 10_000;
/** Enough for about 400,000 flows. */
const OUTPUT_LIMIT_BYTES = 64 << 20;

/** `prefix` precedes each command: `ip netns exec NAME`, for another network namespace. */
export function createConntrack(prefix: readonly string[] = []): FlowTable {
  const run = async (args: readonly string[], okay: readonly number[]): Promise<string> => {
    const [program = '', ...all] = [...prefix, 'conntrack', ...args];
    const env = programEnvironment(
      { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin` },
      { LC_ALL: 'C' },
    );
    const options = { env, timeoutMs: TIMEOUT_MS, outputLimitBytes: OUTPUT_LIMIT_BYTES };
    const { exitCode, stdout, stderr } = await runProgram(program, all, options).catch((cause: unknown) => {
      if (!(cause instanceof KubeletError && cause.kind === 'NotFound')) throw cause;
      throw new KubeletError('NotFound', `${program} is missing: install the Debian package conntrack`, {
        op: 'conntrack',
        cause,
      });
    });
    if (!okay.includes(exitCode))
      throw new KubeletError('Internal', `conntrack failed (${exitCode}): ${stderr.trim().slice(0, 600)}`, {
        op: 'conntrack',
      });
    return stdout;
  };
  return {
    list: async (family) => parseFlows(await run(['-L', '-p', 'udp', '-f', family], [0])),
    remove: async (family, { to, from }) => {
      const places = ['--orig-dst', to.ip, '--orig-port-dst', `${to.port}`];
      const answers = ['--reply-src', from.ip, '--reply-port-src', `${from.port}`];
      // Exit code 1 means that no entry matched.
      await run(['-D', '-p', 'udp', '-f', family, ...places, ...answers], [0, 1]);
    },
  };
}
