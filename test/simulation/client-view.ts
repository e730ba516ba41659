import type { Pod } from '../../src/api/core/pod.ts';
import type { PodPhase } from '../../src/api/core/pod-status.ts';
import { isTerminalPhase } from '../../src/api/pod.ts';
import { PublishedPods } from '../../src/kubelet/loop/published-pods.ts';
import type { Kubelet } from '../../src/kubelet/cmd/compose/compose-kubelet.ts';
import type { Agent, SimulatedNode } from './world.ts';

/** An agent is asked most often soon after its start, when its answers come from its records. */
const FIRST_LOOKS_MS = [0, 1, 5, 20, 50, 100, 200, 500, 1000, 2000];

/** The phases that a client of the node's own API sees, over all lives of the agent. */
export class ClientView {
  readonly #node: SimulatedNode;
  readonly #onPhase: (pod: Pod, before: PodPhase, phase: PodPhase) => void;
  readonly #phases = new Map<string, PodPhase>();
  #list: (() => readonly Pod[]) | undefined;

  /** `onPhase` is called at each change of a pod's phase, except for its first phase. */
  constructor(node: SimulatedNode, onPhase: (pod: Pod, before: PodPhase, phase: PodPhase) => void) {
    this.#node = node;
    this.#onPhase = onPhase;
  }

  watch(agent: Agent, kubelet: Kubelet): void {
    const { clock } = this.#node;
    const published = new PublishedPods({
      ...kubelet,
      statuses: kubelet.records.statuses,
      // The invariants compare start times over restarts of the agent, so they need the kept ones.
      standalone: false,
      nowMs: () => clock.nowMs(),
    });
    this.#list = () => (agent.life.alive ? published.pods() : []);
    published.watch(({ type, pod }) => {
      if (!agent.life.alive) return;
      if (type === 'MODIFIED') this.#see(pod);
      else this.#phases.delete(pod.metadata.uid);
    });
    for (const delayMs of FIRST_LOOKS_MS) clock.setTimer(delayMs, () => this.look());
  }

  /** Lists the pods, as `kubelet pods` does. */
  look(): void {
    for (const pod of this.#list?.() ?? []) this.#see(pod);
  }

  #see(pod: Pod): void {
    const { uid } = pod.metadata;
    const phase = pod.status?.phase ?? 'Pending';
    const before = this.#phases.get(uid);
    this.#phases.set(uid, phase);
    if (before !== undefined && before !== phase) this.#onPhase(pod, before, phase);
  }
}

/** Whether a phase went back: an ended pod must not change, and a pod that ran must not become Pending. */
export const isBackwards = (before: PodPhase, phase: PodPhase): boolean =>
  isTerminalPhase(before) || (before === 'Running' && phase === 'Pending');
