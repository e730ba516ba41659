import { errorMessage } from '../../../base/errors.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ExtensionPoint } from '../config/config-schema.ts';
import type { BindingPlugin } from '../framework/binding-plugin.ts';
import { everyEvent } from '../framework/cluster-event.ts';
import { MAX_NODE_SCORE, reject, skip } from '../framework/plugin.ts';
import type { Plugin, PodCheck, PodScorer, PreFilterResult } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import type { ModulePostFilter } from '../framework/profile.ts';
import { unschedulable } from '../framework/rejection.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import type { PodOrder, QueuedPod } from '../queue/queued-pod.ts';
import { goesBefore } from '../queue/queued-pod.ts';
import { isPromise, readStatus } from './module-status.ts';
import type { Verdict } from './module-status.ts';
import { nodeView } from './node-view.ts';
import type { CycleState, ModulePlugin } from './plugin-module.ts';

/** A module's plugin, adapted to the interfaces of this scheduler. */
export interface AdaptedModule {
  readonly points: readonly ExtensionPoint[];
  readonly plugin: Plugin;
  readonly binding: BindingPlugin;
  readonly order?: PodOrder;
  readonly postFilter: ModulePostFilter;
}

/** The methods of a module's plugin, with the extension point of each. */
const methods = [
  ['preEnqueue', 'preEnqueue'],
  ['queueSort', 'less'],
  ['preFilter', 'preFilter'],
  ['filter', 'filter'],
  ['postFilter', 'postFilter'],
  ['preScore', 'preScore'],
  ['score', 'score'],
  ['reserve', 'reserve'],
  ['permit', 'permit'],
  ['preBind', 'preBind'],
  ['bind', 'bind'],
  ['postBind', 'postBind'],
] as const satisfies readonly (readonly [ExtensionPoint, keyof ModulePlugin])[];

/**
 * Adapts a module's plugin. If a method throws, only the attempt of its pod fails and the scheduler continues.
 * QueueSort, PreEnqueue and Unreserve are not part of an attempt. If they throw, a warning is logged, and the default
 * order applies or the pod stays gated.
 */
export function adaptModule(name: string, module: ModulePlugin, warn: (message: string) => void): AdaptedModule {
  const states = new WeakMap<Pod, CycleState>();
  const stateOf = (pod: Pod): CycleState => {
    let state = states.get(pod);
    if (state === undefined) states.set(pod, (state = new Map()));
    return state;
  };
  const points = methods.filter(([, method]) => typeof module[method] === 'function').map(([point]) => point);
  const guarded = <T>(point: string, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw new Error(`running ${point} plugin ${JSON.stringify(name)}: ${errorMessage(error)}`, { cause: error });
    }
  };
  const common: Common = { name, module, stateOf, guarded };
  return {
    points,
    plugin: {
      name,
      hints: everyEvent,
      ...(module.preEnqueue !== undefined && {
        preEnqueue: (pod) => {
          try {
            const verdict = readStatus(name, module.preEnqueue?.(pod));
            return typeof verdict === 'string' ? undefined : verdict;
          } catch (error) {
            return unschedulable(name, `running PreEnqueue plugin ${JSON.stringify(name)}: ${errorMessage(error)}`);
          }
        },
      }),
      preFilter: (info, snapshot) => {
        states.set(info.pod, new Map());
        return preFilterOf(common, info, snapshot);
      },
      preScore: (info, _snapshot, nodes) => scorerOf(common, info, nodes),
    },
    binding: bindingOf(common),
    ...(module.less !== undefined && { order: orderOf(module.less.bind(module), warn, name) }),
    postFilter: (info, _snapshot, rejections) =>
      guarded('PostFilter', () => {
        const reasons = new Map([...rejections].map(([node, rejection]) => [node, rejection.reasons]));
        const answer: unknown = module.postFilter?.(stateOf(info.pod), info.pod, reasons);
        const nominated = fieldOf(answer, 'nominatedNodeName');
        if (typeof nominated === 'string') return { nominate: nominated };
        const verdict = readStatus(name, answer);
        return typeof verdict === 'string' ? {} : { message: verdict.reasons.join(', ') };
      }),
  };
}

interface Common {
  readonly name: string;
  readonly module: ModulePlugin;
  readonly stateOf: (pod: Pod) => CycleState;
  readonly guarded: <T>(point: string, work: () => T) => T;
}

const fieldOf = (value: unknown, field: 'nominatedNodeName' | 'nodeNames'): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[field] : undefined;

function preFilterOf(
  { name, module, stateOf, guarded }: Common,
  { pod }: PodInfo,
  snapshot: Snapshot,
): PreFilterResult {
  const state = stateOf(pod);
  let nodeNames: ReadonlySet<string> | undefined;
  if (module.preFilter !== undefined) {
    const answer: unknown = guarded('PreFilter', () => module.preFilter?.(state, pod, snapshot.nodes().map(nodeView)));
    const names = fieldOf(answer, 'nodeNames');
    if (Array.isArray(names)) nodeNames = new Set(names.map(String));
    else {
      const verdict = guarded('PreFilter', () => readStatus(name, answer));
      if (verdict === 'skip') return skip;
      if (verdict !== 'success') return reject(verdict);
    }
  }
  if (module.filter === undefined && nodeNames === undefined) return skip;
  const check: PodCheck = {
    filter: (node) => {
      if (module.filter === undefined) return undefined;
      const verdict = guarded('Filter', () => readStatus(name, module.filter?.(state, pod, nodeView(node))));
      return typeof verdict === 'string' ? undefined : verdict;
    },
  };
  return { kind: 'check', check, ...(nodeNames !== undefined && { nodeNames }) };
}

function scorerOf(
  { name, module, stateOf, guarded }: Common,
  { pod }: PodInfo,
  nodes: readonly NodeInfo[],
): PodScorer | undefined {
  if (module.score === undefined) return undefined;
  const state = stateOf(pod);
  if (module.preScore !== undefined) {
    const verdict = guarded('PreScore', () => readStatus(name, module.preScore?.(state, pod, nodes.map(nodeView))));
    if (verdict === 'skip') return undefined;
    if (verdict !== 'success')
      throw new Error(`running PreScore plugin ${JSON.stringify(name)}: ${verdict.reasons.join(', ')}`);
  }
  const check = (score: unknown, node: string): number => {
    if (typeof score !== 'number' || !(score >= 0 && score <= MAX_NODE_SCORE))
      throw new Error(
        `plugin ${JSON.stringify(name)} gives node ${node} the invalid score ${String(score)}; it must be in the range [0, ${MAX_NODE_SCORE}]`,
      );
    return score;
  };
  return {
    score: (node) =>
      guarded('Score', () => {
        const score: unknown = module.score?.(state, pod, nodeView(node));
        return module.normalizeScore === undefined ? check(score, node.name) : Number(score);
      }),
    ...(module.normalizeScore !== undefined && {
      normalize: (scores: number[], scored: readonly NodeInfo[]) =>
        guarded('NormalizeScore', () => {
          const named = scores.map((score, index) => ({ name: scored[index]?.name ?? '', score }));
          module.normalizeScore?.(state, pod, named);
          for (const [index, each] of named.entries()) scores[index] = check(each.score, each.name);
        }),
    }),
  };
}

type StepName = 'reserve' | 'unreserve' | 'permit' | 'preBind' | 'bind' | 'postBind';

function bindingOf({ name, module, stateOf }: Common): BindingPlugin {
  const run = async (step: StepName, pod: Pod, nodeName: string): Promise<Verdict> => {
    const point = step.charAt(0).toUpperCase() + step.slice(1);
    let verdict: Verdict;
    try {
      const answer: unknown = module[step]?.(stateOf(pod), pod, nodeName);
      verdict = readStatus(name, isPromise(answer) ? await answer : answer);
    } catch (error) {
      throw new Error(`running ${point} plugin ${JSON.stringify(name)}: ${errorMessage(error)}`, { cause: error });
    }
    if (typeof verdict === 'string') return verdict;
    throw new Error(`running ${point} plugin ${JSON.stringify(name)}: ${verdict.reasons.join(', ')}`);
  };
  const step = (which: StepName) => async (pod: Pod, nodeName: string) => void (await run(which, pod, nodeName));
  return {
    name,
    reserve: step('reserve'),
    unreserve: step('unreserve'),
    permit: step('permit'),
    preBind: step('preBind'),
    bind: async (pod, nodeName) => ((await run('bind', pod, nodeName)) === 'skip' ? 'skipped' : 'bound'),
    postBind: step('postBind'),
  };
}

function orderOf(less: NonNullable<ModulePlugin['less']>, warn: (message: string) => void, name: string): PodOrder {
  let hasFailed = false;
  const view = ({ info, queuedAtMs, attempts }: QueuedPod): Parameters<typeof less>[0] => ({
    pod: info.pod,
    timestamp: queuedAtMs,
    attempts,
  });
  return (left, right) => {
    try {
      const answer: unknown = less(view(left), view(right));
      if (typeof answer === 'boolean') return answer;
      throw new Error(`less answered ${String(answer)}, which is not a boolean`);
    } catch (error) {
      if (!hasFailed)
        warn(`QueueSort plugin ${JSON.stringify(name)} fails, so pods go by priority: ${errorMessage(error)}`);
      hasFailed = true;
      return goesBefore(left, right);
    }
  };
}
