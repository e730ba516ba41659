import { pause } from '../../../src/up/processes.ts';
import { patientMs } from '../../integration/support/patience.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 400;
const GROWTH = 1.25;

/**
 * Asks again until the check passes; what it last failed with when it does not in time. Most checks start a program:
 * what takes seconds is asked less and less often.
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
