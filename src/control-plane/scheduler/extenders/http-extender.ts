import type { Clock } from '../../../base/clock.ts';
import { Pace } from '../../../base/turn.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { EXTENDER_PLUGIN } from '../framework/extender.ts';
import type { AskExtender, Extender, ExtenderSettings, ExtenderVerdict } from '../framework/extender.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import { unresolvable, unschedulable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { Candidate } from '../preemption/victims.ts';
import {
  MAX_EXTENDER_SCORE,
  bindingArgs,
  filterArgs,
  nodeText,
  preemptionArgs,
  readFilterAnswer,
  readPreemptionAnswer,
  readPriorities,
  throwReported,
} from './extender-wire.ts';

export interface HttpExtenderParts {
  readonly ask: AskExtender;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** An extender that is called over HTTP (upstream: HTTPExtender). */
export class HttpExtender implements Extender {
  readonly name: string;
  readonly ignorable: boolean;
  readonly #settings: ExtenderSettings;
  readonly #parts: HttpExtenderParts;
  /** The JSON of each node, written once per version. */
  readonly #texts = new WeakMap<Node, string>();

  constructor(settings: ExtenderSettings, parts: HttpExtenderParts) {
    this.name = settings.urlPrefix;
    this.ignorable = settings.ignorable;
    this.#settings = settings;
    this.#parts = parts;
  }

  get filters(): boolean {
    return this.#settings.filterVerb !== '';
  }
  get prioritizes(): boolean {
    return this.#settings.prioritizeVerb !== '';
  }
  get preempts(): boolean {
    return this.#settings.preemptVerb !== '';
  }
  get binds(): boolean {
    return this.#settings.bindVerb !== '';
  }

  isInterestedIn({ spec }: Pod): boolean {
    const { managed } = this.#settings;
    if (managed.size === 0) return true;
    return [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) =>
      [resources?.requests, resources?.limits].some((amounts) =>
        Object.keys(amounts ?? {}).some((name) => managed.has(name)),
      ),
    );
  }

  async filter(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ExtenderVerdict> {
    const byName = new Map(nodes.map((node) => [node.name, node]));
    const answer = readFilterAnswer(
      await this.#ask(this.#settings.filterVerb, await this.#nodeArgs(pod, nodes), signal),
      this.#settings.nodeCacheCapable,
    );
    const kept = answer.kept.map((name) => {
      const node = byName.get(name);
      if (node === undefined)
        throw new Error(
          `extender ${JSON.stringify(this.name)} claims a filtered node ${JSON.stringify(name)} which is not found in the input node list`,
        );
      return node;
    });
    const rejections = new Map<string, Rejection>();
    for (const [name, message] of answer.failed) rejections.set(name, unschedulable(EXTENDER_PLUGIN, message));
    for (const [name, message] of answer.unresolvable) rejections.set(name, unresolvable(EXTENDER_PLUGIN, message));
    return { kept: [...new Set(kept)], rejections };
  }

  async prioritize(pod: Pod, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const answer = await this.#ask(this.#settings.prioritizeVerb, await this.#nodeArgs(pod, nodes), signal);
    const factor = this.#settings.weight * (MAX_NODE_SCORE / MAX_EXTENDER_SCORE);
    return new Map([...readPriorities(answer)].map(([name, points]) => [name, points * factor]));
  }

  async preempt(pod: Pod, candidates: readonly Candidate[], signal: AbortSignal): Promise<readonly Candidate[]> {
    const args = preemptionArgs(pod, candidates, this.#settings.nodeCacheCapable);
    const answer = readPreemptionAnswer(await this.#ask(this.#settings.preemptVerb, args, signal));
    return [...answer].map(([nodeName, { uids, budgetViolations }]) => {
      const known = candidates.find((each) => each.nodeName === nodeName);
      const wanted = new Set(uids);
      const victims = known?.victims.filter(({ uid }) => wanted.has(uid)) ?? [];
      // An extender may remove victims. It cannot add pods that preemption did not choose.
      if (known === undefined || victims.length === 0 || victims.length !== wanted.size)
        throw new Error(
          `extender ${JSON.stringify(this.name)} claims victims on node ${JSON.stringify(nodeName)} which were not among those it was asked about`,
        );
      return { nodeName, victims, budgetViolations };
    });
  }

  async bind(pod: Pod, nodeName: string, signal: AbortSignal): Promise<void> {
    throwReported(await this.#ask(this.#settings.bindVerb, bindingArgs(pod, nodeName), signal));
  }

  #ask(verb: string, body: readonly string[], signal: AbortSignal): Promise<unknown> {
    const { urlPrefix, tls, timeoutMs } = this.#settings;
    return this.#parts.ask({ url: `${urlPrefix}/${verb}`, tls, body, timeoutMs, signal });
  }

  async #nodeArgs(pod: Pod, nodes: readonly NodeInfo[]): Promise<readonly string[]> {
    if (this.#settings.nodeCacheCapable) return filterArgs(pod, { names: nodes.map(({ name }) => name) });
    const pace = new Pace(this.#parts.clock);
    const texts: string[] = [];
    for (const { node } of nodes) {
      let text = this.#texts.get(node);
      if (text === undefined) {
        text = nodeText(node);
        this.#texts.set(node, text);
        await pace.rest();
      }
      texts.push(text);
    }
    return filterArgs(pod, { texts });
  }
}
