/** A device that only holds an address of the node. */
import { KubeletError } from '../../base/errors.ts';
import { programEnvironment } from '../../base/program-environment.ts';
import { runProgram } from '../../base/run-program.ts';

const limits = { timeoutMs: 20_000, outputLimitBytes: 1 << 20 };

/** Creates the device if it does not exist. Idempotent. `prefix` as in `createIpNetwork`. */
export async function ensureLocalAddress(
  { address, device }: { readonly address: string; readonly device: string },
  prefix: readonly string[] = [],
): Promise<void> {
  const env = programEnvironment(
    { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin` },
    { LC_ALL: 'C' },
  );
  const run = async (...args: string[]): Promise<{ readonly exitCode: number; readonly stderr: string }> => {
    const [program = '', ...all] = [...prefix, 'ip', ...args];
    return runProgram(program, all, { env, ...limits });
  };
  // Some kernels have no dummy devices; a bridge without ports holds an address as well.
  for (const type of ['dummy', 'bridge'])
    if ((await run('link', 'show', 'dev', device)).exitCode !== 0) await run('link', 'add', device, 'type', type);
  const length = address.includes(':') ? 128 : 32;
  for (const args of [
    // Duplicate address detection is off, because no other node uses this address; otherwise IPv6 would delay its use.
    ['address', 'replace', `${address}/${length}`, 'dev', device, ...(length === 128 ? ['nodad'] : [])],
    ['link', 'set', device, 'up'],
  ]) {
    const { exitCode, stderr } = await run(...args);
    if (exitCode !== 0)
      throw new KubeletError('Internal', `ip ${args.join(' ')} failed (${exitCode}): ${stderr.trim().slice(0, 300)}`, {
        op: 'ip',
      });
  }
}
