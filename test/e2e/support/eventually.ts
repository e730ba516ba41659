import { pause } from '../../../src/up/processes.ts';
import { patientMs } from '../../integration/support/patience.ts';

const triesEachMs = 100;

/** Asks again until the check passes; what it last failed with when it does not in time. */
export async function eventually<T>(check: () => Promise<T>, limitMs = 15_000): Promise<T> {
  for (let leftMs = patientMs(limitMs); ; leftMs -= triesEachMs) {
    try {
      return await check();
    } catch (error) {
      if (leftMs <= 0) throw error;
      await pause(triesEachMs);
    }
  }
}
