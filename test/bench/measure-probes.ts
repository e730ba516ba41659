/** A thousand probes per second: their cost, and how late they start. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { BenchContext } from './bench-context.ts';
import type { HostOrder, HostResult } from './probe-host.ts';

const PROBES = 1000;
/** The memory options with which `bin/kubelet` starts the agent: less memory costs more garbage collection. */
const AGENT_FLAGS = ['--optimize-for-size', '--max-semi-space-size=2', '--max-old-space-size=192'];
/** The goal: 5 % of a core. */
const GOAL_MILLICORES = 50;
const GOAL_LATE_MS = 50;

/**
 * Row `probes`. It needs neither containerd nor a running agent: it measures the agent's probe manager in its own
 * process.
 */
export async function measureProbes(context: BenchContext): Promise<void> {
  const server = start('probe-server.ts', []);
  try {
    const ports = JSON.parse(await firstLine(server)) as HostOrder['ports'];
    for (const kind of ['http', 'mix'] as const) {
      const taken: Record<'agent' | 'floor', HostResult[]> = { agent: [], floor: [] };
      for (let round = 0; round < context.options.burstRounds; round++) {
        // By turns, so that a machine that drifts meets both.
        for (const who of ['floor', 'agent'] as const) {
          const order: HostOrder = { who, kind, probes: PROBES, seconds: context.options.probeSeconds, ports };
          const result = JSON.parse(
            await firstLine(start('probe-host.ts', [JSON.stringify(order)], AGENT_FLAGS)),
          ) as HostResult;
          const expected = (PROBES * result.elapsedMs) / 1000;
          if (result.failed > 0 || result.done < expected * 0.95)
            context.note(
              `probes, ${kind}, ${who}: ${result.done} of ${Math.round(expected)} done, ${result.failed} failed`,
            );
          taken[who].push(result);
        }
      }
      report(context, kind, taken);
    }
  } finally {
    server.kill();
  }
}

function report(
  context: BenchContext,
  kind: HostOrder['kind'],
  { agent, floor }: Record<'agent' | 'floor', HostResult[]>,
): void {
  const what = kind === 'http' ? 'http' : 'mixed';
  const millicores = (ms: (result: HostResult) => number) => (result: HostResult) =>
    (ms(result) / result.elapsedMs) * 1000;
  context.add({
    name: `probes-${kind}`,
    title: `${PROBES} ${what} probes a second: processor`,
    unit: 'mcpu',
    agent: agent.map(millicores(({ cpuMs }) => cpuMs)),
    floor: floor.map(millicores(({ cpuMs }) => cpuMs)),
    target: { kind: 'atMost', value: GOAL_MILLICORES },
  });
  context.add({
    name: `probes-${kind}-kernel`,
    title: '  of which: in the kernel',
    unit: 'mcpu',
    agent: agent.map(millicores(({ cpuMs, userMs }) => cpuMs - userMs)),
    floor: floor.map(millicores(({ cpuMs, userMs }) => cpuMs - userMs)),
  });
  context.add({
    name: `probes-${kind}-late`,
    title: '  begin late by: the median',
    unit: 'ms',
    agent: agent.map(({ late }) => late.p50Ms),
    floor: [],
  });
  context.add({
    name: `probes-${kind}-late-99`,
    title: '  the 99th of 100',
    unit: 'ms',
    agent: agent.map(({ late }) => late.p99Ms),
    floor: [],
    target: { kind: 'atMost', value: GOAL_LATE_MS },
  });
  context.add({
    name: `probes-${kind}-late-max`,
    title: '  the latest of all',
    unit: 'ms',
    agent: agent.map(({ late }) => late.maxMs),
    floor: [],
  });
}

function start(program: string, args: readonly string[], flags: readonly string[] = []): ChildProcess {
  return spawn(process.execPath, [...flags, join(import.meta.dirname, program), ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      if (text.includes('\n')) resolve(text);
    });
    child.on('error', reject);
    child.on('exit', (code) =>
      reject(new Error(`${child.spawnargs[1]} ended with ${code} before it had said anything`)),
    );
  });
}
