/**
 * `up --detach`: another `up` in the background supervises the programs; this one prints its output until all is ready.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readSync, statSync, watch, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Instance } from './instance.ts';

/** The last line of an `up` in the background that serves. */
export const READY_LINE = '-- serving --';
/** The file is empty in nearly all cases. */
const small = [
  '--no-concurrent-sparkplug',
  '--optimize-for-size',
  '--max-semi-space-size=2',
  '--max-old-space-size=128',
  '--disable-warning=ExperimentalWarning',
];
export const KEEPER_VARIABLE = 'KUBELET_TS_KEEPER';

/** 0 when it serves, otherwise its exit code. */
export async function detach(instance: Instance, args: readonly string[]): Promise<number> {
  mkdirSync(dirname(instance.upLog), { recursive: true });
  writeFileSync(instance.upLog, '');
  const log = openSync(instance.upLog, 'a');
  const child = spawn(process.execPath, [...small, process.argv[1] ?? '', ...args], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, [KEEPER_VARIABLE]: '1' },
  });
  closeSync(log);
  const code = await Promise.race([copyUntilReady(instance.upLog), codeOf(child)]);
  child.unref();
  return code;
}

async function codeOf(child: ChildProcess): Promise<number> {
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

function copyUntilReady(file: string): Promise<number> {
  return new Promise((resolve) => {
    let at = 0;
    let rest = '';
    const copy = (): void => {
      const { size } = statSync(file);
      // Another `up` that was started at the same time has truncated the file.
      if (size < at) at = 0;
      const bytes = Buffer.alloc(size - at);
      const handle = openSync(file, 'r');
      readSync(handle, bytes, 0, bytes.length, at);
      closeSync(handle);
      at += bytes.length;
      const lines = (rest + bytes.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === READY_LINE) {
          watcher.close();
          return resolve(0);
        }
        console.log(line);
      }
    };
    const watcher = watch(file, copy);
    watcher.unref();
    copy();
  });
}
