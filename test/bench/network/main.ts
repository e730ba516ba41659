// npm run bench -- network: service routing, names, policies and the network between nodes, with their goals.
import { runCommand, tryCommand } from '../../../src/up/commands.ts';
import { measureNames } from './measure-names.ts';
import { measureOverlay } from './measure-overlay.ts';
import { measurePolicies } from './measure-policies.ts';
import { measureServices } from './measure-services.ts';

const chosen = process.argv.slice(2);
const wants = (row: string): boolean => chosen.length === 0 || chosen.includes(row);
const median = (values: readonly number[]): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
const show = (row: string, figure: string, goal: string): void => console.log(`| ${row} | ${figure} | ${goal} |`);

/** Runs a measurement in a temporary network namespace. */
async function inSpace<T>(name: string, measure: (space: string) => Promise<T>): Promise<T> {
  const space = `ktb${process.pid}${name}`;
  await runCommand(['ip', 'netns', 'add', space]);
  try {
    return await measure(space);
  } finally {
    await tryCommand(['ip', 'netns', 'del', space]);
  }
}

console.log('| Row | Figure | Goal |\n|---|---|---|');
for (const backend of ['nftables', 'iptables'] as const) {
  if (!wants('services')) continue;
  const { wholeMs, wholeProcessorMs, wholeProgramMs, changesMs, floorsMs, memoryMiB } = await inSpace('s', (space) =>
    measureServices(backend, space),
  );
  show(
    `${backend}: 5,000 services, 20,000 endpoints from nothing`,
    `${Math.round(wholeMs)} ms, the program ${Math.round(wholeProgramMs)} ms; processor time without it ${Math.round(wholeProcessorMs)} ms`,
    '2,000 ms',
  );
  const [typical, worst] = [Math.round(median(changesMs)), Math.round(Math.max(...changesMs))];
  show(`${backend}: one change among them`, `${typical} ms (at most ${worst})`, '100 ms');
  const [program, beside] = [Math.round(median(floorsMs)), typical - Math.round(median(floorsMs))];
  show(`${backend}: of which the program alone takes`, `${program} ms, the rest ${beside} ms`, '');
  show(`${backend}: memory`, `${Math.round(memoryMiB)} MiB, objects included`, 'bounded');
}
if (wants('policies')) {
  const changesMs = await inSpace('p', measurePolicies);
  show(
    'a policy among 200, 2,000 pods, in force',
    `${Math.round(median(changesMs))} ms (at most ${Math.round(Math.max(...changesMs))})`,
    '200 ms',
  );
}
if (wants('names')) {
  const { cluster, cached } = await measureNames();
  show('names of the cluster', `${Math.round(cluster.perCore)} answers for a second of one core`, '10,000');
  show('names of others, in the cache', `${Math.round(cached.perCore)} answers for a second of one core`, '10,000');
}
if (wants('overlay')) {
  const { ours, byHand } = await measureOverlay();
  const [own, other] = [median(ours), median(byHand)];
  show('pod to pod through VXLAN', `${Math.round(own)} MB/s, ${(own / other).toFixed(2)} of by hand`, '0.9');
}
