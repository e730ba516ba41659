import { pause } from '../../../src/up/processes.ts';
import { patientMs } from '../../integration/support/patience.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 400;
const GROWTH = 1.25;

/**
 * Repeats a check until it passes; throws its last error after the time limit. Most checks start a program, so slow
 * checks are repeated at increasing intervals.
 */
export async function eventually<T>(check: () => Promise<T>, limitMs = 15_000): Promise<T> {
  let pauseMs = FIRST_PAUSE_MS;
  for (let leftMs = patientMs(limitMs); ; ) {
    try {
      return await check();
    } catch (error) {
      if (leftMs <= 0) throw error;
      await pause(pauseMs);
      leftMs -= pauseMs;
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * GROWTH);
    }
  }
}
