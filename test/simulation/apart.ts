import { Worker } from 'node:worker_threads';
import type { ScenarioOptions, ScenarioResult } from './scenario.ts';

/**
 * Runs scenarios one after another in a thread of their own and returns their results. node:test follows every promise
 * of its own thread, which makes a scenario a third slower.
 */
export function runApart(scenarios: readonly ScenarioOptions[]): Promise<ScenarioResult[]> {
  const thread = new Worker(new URL('./apart-thread.ts', import.meta.url), { workerData: scenarios });
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', (code) => reject(new Error(`the thread of the scenarios ended with ${code}, without results`)));
  });
}
