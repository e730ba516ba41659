// The other side of apart.ts.
import { parentPort, workerData } from 'node:worker_threads';
import type { ScenarioOptions, ScenarioResult } from './scenario.ts';
import { runScenario } from './scenario.ts';

const results: ScenarioResult[] = [];
for (const options of workerData as readonly ScenarioOptions[]) results.push(await runScenario(options));
parentPort?.postMessage(results);
