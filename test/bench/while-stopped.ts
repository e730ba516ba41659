import { pause } from '../../src/up/processes.ts';

/**
 * Runs `work` while the process is stopped (SIGSTOP), so that it takes no processor time from the floor. After that it
 * gets `catchUpMs` to catch up.
 */
export async function whileStopped<T>(pid: number, catchUpMs: number, work: () => Promise<T>): Promise<T> {
  process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    process.kill(pid, 'SIGCONT');
    await pause(catchUpMs);
  }
}
