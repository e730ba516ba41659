import type { Session } from 'node:inspector/promises';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Profiler } from '../../ports/profiler.ts';

const SAMPLE_MICROSECONDS = 10_000;

/**
 * Creates a profiler with an inspector session within the process. It opens no port, and loads nothing before the first
 * profile.
 */
export function createProfiler(clock: Clock): Profiler {
  let isBusy = false;
  const within = async (work: (session: Session) => Promise<object>): Promise<string> => {
    if (isBusy) throw new KubeletError('Conflict', 'profiling already in use');
    isBusy = true;
    try {
      const { Session: InspectorSession } = await import('node:inspector/promises');
      const session = new InspectorSession();
      session.connect();
      try {
        return JSON.stringify(await work(session));
      } finally {
        session.disconnect();
      }
    } finally {
      isBusy = false;
    }
  };
  return {
    cpu: (durationMs, signal) =>
      within(async (session) => {
        await session.post('Profiler.enable');
        // A hundred samples a second, as Go's profiler.
        await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROSECONDS });
        await session.post('Profiler.start');
        await sleep(clock, durationMs, signal);
        return (await session.post('Profiler.stop')).profile;
      }),
    heap: (durationMs, signal) =>
      within(async (session) => {
        await session.post('HeapProfiler.startSampling', {});
        await sleep(clock, durationMs, signal);
        return (await session.post('HeapProfiler.stopSampling')).profile;
      }),
  };
}
