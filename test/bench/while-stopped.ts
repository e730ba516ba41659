import { pause } from '../../src/up/processes.ts';

/**
 * Runs `work` while the process is stopped (SIGSTOP), so that the process takes no processor time from the floor. Then
 * gives it `catchUpMs` to catch up.
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
