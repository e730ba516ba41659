/** nftables by Debian's `nft`. */
import { KubeletError } from '../../base/errors.ts';
import { programEnvironment } from '../../base/program-environment.ts';
import { runProgram } from '../../base/run-program.ts';
import type { ProgramResult } from '../../base/run-program.ts';
import type { Nft } from '../nftables/nft-port.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_LIMIT_BYTES = 64 << 20;

/** `prefix` precedes each command: `ip netns exec NAME`, for another network namespace. */
export function createNft(prefix: readonly string[] = []): Nft {
  const run = (args: readonly string[], stdin = ''): Promise<ProgramResult> => {
    const [program = '', ...all] = [...prefix, 'nft', ...args];
    const env = programEnvironment(
      { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin` },
      { LC_ALL: 'C' },
    );
    return runProgram(program, all, {
      stdin,
      env,
      timeoutMs: TIMEOUT_MS,
      outputLimitBytes: OUTPUT_LIMIT_BYTES,
    }).catch((error: unknown) => {
      if (!(error instanceof KubeletError && error.kind === 'NotFound')) throw error;
      throw new KubeletError('NotFound', `${program} is missing: install the Debian package nftables`, {
        op: 'nft',
        cause: error,
      });
    });
  };
  return {
    apply: async (text) => {
      const { exitCode, stderr } = await run(['-f', '-'], text);
      if (exitCode !== 0)
        throw new KubeletError('Internal', `nft failed (${exitCode}): ${stderr.trim().slice(0, 600)}`, { op: 'nft' });
    },
    show: async (family, table) => {
      const { exitCode, stdout } = await run(['--stateless', '--terse', 'list', 'table', family, table]);
      return exitCode === 0 ? stdout : '';
    },
  };
}
