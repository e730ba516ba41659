/** The parameters of every measurement. */
import type { TestContainerd } from '../integration/support/containerd.ts';
import type { BenchAgent } from './bench-agent.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';

export interface BenchContext {
  readonly containerd: TestContainerd;
  readonly agent: BenchAgent;
  readonly options: BenchOptions;
  add(row: Row): void;
  /** Adds a result that is not a number; it is shown below the table. */
  note(text: string): void;
  /** Reports progress on standard error. */
  say(text: string): void;
}

/** The number of containers and sandboxes of the agent's pod in the runtime, found by the label that the agent sets. */
export async function countInRuntime({ containerd }: BenchContext, pod?: string): Promise<number> {
  const labelSelector: Record<string, string> =
    pod === undefined ? { 'io.kubernetes.pod.namespace': 'default' } : { 'io.kubernetes.pod.name': pod };
  const [{ items }, { containers }] = await Promise.all([
    containerd.cri.runtime.listPodSandbox({ filter: { labelSelector } }),
    containerd.cri.runtime.listContainers({ filter: { labelSelector } }),
  ]);
  return items.length + containers.length;
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}
