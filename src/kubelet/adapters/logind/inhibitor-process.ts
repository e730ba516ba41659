import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { KubeletError } from '../../../base/errors.ts';
import type { InhibitorLock } from '../../ports/login-manager.ts';

/** The environment of the child, such as the address of another bus. */
type Environment = Readonly<Record<string, string>>;

/**
 * The text that the program prints when it holds the lock. logind passes a lock as a file descriptor over the bus,
 * which Node.js cannot receive, so `systemd-inhibit` holds it: it takes the lock and then runs a program, and the lock
 * ends with the program. This program ends when the agent closes its end of the pipe, or exits.
 */
const HELD = 'held';
const program = ['sh', '-c', `echo ${HELD}; exec cat > /dev/null`];
const TAKE_LIMIT_MS = 10_000;
const OUTPUT_LIMIT_CHARS = 2000;

/** Takes the lock. Rejects with Unavailable, with the words of `systemd-inhibit`, if that fails. */
export function takeInhibitorLock(
  { who, why }: { readonly who: string; readonly why: string },
  environment: Environment = {},
): Promise<InhibitorLock> {
  const child = spawn(
    'systemd-inhibit',
    ['--what=shutdown', `--who=${who}`, `--why=${why}`, '--mode=delay', ...program],
    { env: { ...process.env, ...environment }, stdio: ['pipe', 'pipe', 'pipe'], detached: true },
  );
  // The child is detached, because a signal from the terminal to the agent's process group must not release the lock.
  child.unref();
  const listeners = new Set<() => void>();
  let state: 'taking' | 'held' | 'ended' = 'taking';
  let output = '';
  const release = (): void => {
    state = 'ended';
    child.stdin.end();
  };
  return new Promise((resolve, reject) => {
    const fail = (problem: string): void => {
      release();
      clearTimeout(limit);
      child.kill();
      reject(new KubeletError('Unavailable', `systemd-inhibit: ${problem}`, { op: 'inhibit shutdown' }));
    };
    const limit = setTimeout(() => fail('logind granted no lock in time'), TAKE_LIMIT_MS);
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (chunk: Buffer) => {
      if (output.length < OUTPUT_LIMIT_CHARS) output += chunk.toString();
    });
    child.on('error', (error) => fail(error.message));
    child.on('close', (code) => {
      const before = state;
      state = 'ended';
      if (before === 'taking') fail(output.trim() === '' ? `ended with exit code ${code}` : output.trim());
      else if (before === 'held') for (const listener of listeners) listener();
    });
    child.stdout.once('data', () => {
      if (state !== 'taking') return;
      state = 'held';
      clearTimeout(limit);
      // A held lock must not keep the agent's process alive.
      for (const stream of child.stdio) (stream as Partial<Pick<Socket, 'unref'>> | null)?.unref?.();
      resolve({ release, onLost: (listener) => void listeners.add(listener) });
    });
  });
}
