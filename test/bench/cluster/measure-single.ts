/**
 * Measures one pod at a time: start, deletion, crash, exit. Floor and kubelet alternate, so that changes of the
 * machine's speed affect both.
 */
import { pause } from '../../../src/up/processes.ts';
import { timed } from '../bench-context.ts';
import { containerPid } from '../raw-pod.ts';
import type { ClusterContext } from './context.ts';
import { rawPod, wants } from './context.ts';
import type { Change } from './pod-board.ts';
import { isReady } from './pod-board.ts';
import { isTerminalPhase } from '../../../src/api/pod.ts';

/** The pause between two steps of a sample, so that the effects of the first one end. */
const REST_MS = 150;
const GOAL_MS = 80;

/** Rows `start` and `delete`. */
export async function measureStartAndDelete(context: ClusterContext): Promise<void> {
  const { member, board, options } = context;
  const floor = { start: [] as number[], remove: [] as number[] };
  const own = { start: [] as number[], remove: [] as number[] };
  // Sample 0 is a warm-up and is not counted.
  for (let sample = 0; sample <= options.samples; sample += 1) {
    await member.asleep(async () => {
      const raw = rawPod(context, `raw-start-${sample}`);
      const startMs = await timed(() => raw.run());
      await pause(REST_MS);
      const stopMs = await timed(() => raw.stop());
      const removeMs = stopMs + (await timed(() => raw.removeStopped()));
      if (sample === 0) return;
      floor.start.push(startMs);
      floor.remove.push(removeMs);
    });
    const name = `start-${sample}`;
    const sentMs = await board.create([name]);
    const ready = await board.ready(name);
    await pause(REST_MS);
    const askedMs = await board.delete([name]);
    const gone = await board.deleted(name);
    await pause(REST_MS);
    if (sample === 0) continue;
    own.start.push(ready.atMs - sentMs);
    own.remove.push(gone.atMs - askedMs);
  }
  const target = { kind: 'floorPlus', value: GOAL_MS } as const;
  if (wants(context, 'start'))
    context.add({ name: 'start', title: 'created -> Ready', unit: 'ms', agent: own.start, floor: floor.start, target });
  if (wants(context, 'delete'))
    context.add({
      name: 'delete',
      title: 'deleted -> gone',
      unit: 'ms',
      agent: own.remove,
      floor: floor.remove,
      target,
    });
}

/** Row `restart`: a new pod for each sample, because a second crash of the same pod waits (CrashLoopBackOff). */
export async function measureRestart(context: ClusterContext): Promise<void> {
  const { member, board, containerd, options } = context;
  const floor: number[] = [];
  const own: number[] = [];
  for (let sample = 0; sample <= options.samples; sample += 1) {
    await member.asleep(async () => {
      const raw = rawPod(context, `raw-restart-${sample}`);
      await raw.run();
      await pause(REST_MS);
      await raw.killContainer();
      const startMs = await timed(() => raw.startContainer());
      await raw.remove();
      if (sample > 0) floor.push(startMs);
    });
    const name = `restart-${sample}`;
    await board.create([name]);
    const first = containerOf(await board.ready(name));
    await pause(REST_MS);
    const pid = await containerPid(containerd.cri, first);
    const killedMs = performance.now();
    process.kill(pid, 'SIGKILL');
    const again = await board.until(name, (change) => isReady(change) && containerOf(change) !== first);
    if (sample > 0) own.push(again.atMs - killedMs);
    await remove(context, name);
  }
  context.add({
    name: 'restart',
    title: 'container killed -> Ready again',
    unit: 'ms',
    agent: own,
    floor,
    target: { kind: 'floorPlus', value: GOAL_MS },
  });
}

/**
 * Row `exit`: alternately killed from outside (Failed) and ended on SIGTERM (Succeeded). The floor is the runtime's own
 * status.
 */
export async function measureExit(context: ClusterContext): Promise<void> {
  const { member, board, containerd, options } = context;
  const floor: number[] = [];
  const own: number[] = [];
  for (let sample = 0; sample <= options.samples; sample += 1) {
    await member.asleep(async () => {
      const raw = rawPod(context, `raw-exit-${sample}`);
      await raw.run();
      await pause(REST_MS);
      const exitMs = await timed(() => raw.killContainer());
      await raw.remove();
      if (sample > 0) floor.push(exitMs);
    });
    const name = `exit-${sample}`;
    const [signal, phase] = sample % 2 === 0 ? (['SIGKILL', 'Failed'] as const) : (['SIGTERM', 'Succeeded'] as const);
    await board.create([name], 'Never');
    const first = containerOf(await board.ready(name));
    await pause(REST_MS);
    const pid = await containerPid(containerd.cri, first);
    const signalledMs = performance.now();
    process.kill(pid, signal);
    const ended = await board.until(name, ({ pod }) => isTerminalPhase(pod.status?.phase));
    if (ended.pod.status?.phase !== phase)
      context.note(`exit: sample ${sample}: after ${signal} the phase is ${ended.pod.status?.phase}, not ${phase}`);
    if (sample > 0) own.push(ended.atMs - signalledMs);
    await remove(context, name);
  }
  context.add({
    name: 'exit',
    title: 'process exits -> phase',
    unit: 'ms',
    agent: own,
    floor,
    target: { kind: 'atMost', value: GOAL_MS },
  });
}

async function remove({ board }: ClusterContext, name: string): Promise<void> {
  await board.delete([name]);
  await board.deleted(name);
  await pause(REST_MS);
}

function containerOf({ pod }: Change): string {
  const id = pod.status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '');
  if (id === undefined || id === '') throw new Error(`pod ${pod.metadata.name} is Ready without a container id`);
  return id;
}
