/**
 * The JSON requests and responses of extenders (upstream: k8s.io/kube-scheduler/extender/v1). Its Go types have no
 * tags: field names are written with a capital letter and read case-insensitively, as in Go.
 */
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Candidate } from '../preemption/victims.ts';

/** The maximum score of an extender; scores are 0 to 10. */
export const MAX_EXTENDER_SCORE = 10;

/** Builds ExtenderArgs. `texts` are nodes as JSON. */
export function filterArgs(
  pod: Pod,
  nodes: { readonly names: readonly string[] } | { readonly texts: readonly string[] },
): readonly string[] {
  const head = `{"Pod":${JSON.stringify(pod)},`;
  if ('names' in nodes) return [head, `"Nodes":null,"NodeNames":${JSON.stringify(nodes.names)}}`];
  const pieces = [head, '"Nodes":{"metadata":{},"items":['];
  for (const [index, text] of nodes.texts.entries()) pieces.push(index === 0 ? text : `,${text}`);
  pieces.push(']},"NodeNames":null}');
  return pieces;
}

export const nodeText = (node: Node): string => JSON.stringify({ apiVersion: 'v1', kind: 'Node', ...node });

/** Builds ExtenderPreemptionArgs. */
export function preemptionArgs(pod: Pod, candidates: readonly Candidate[], namesOnly: boolean): readonly string[] {
  const pieces = [
    `{"Pod":${JSON.stringify(pod)},`,
    namesOnly ? '"NodeNameToVictims":null,"NodeNameToMetaVictims":{' : '"NodeNameToVictims":{',
  ];
  for (const [index, { nodeName, victims, budgetViolations }] of candidates.entries()) {
    const pods = victims.map((victim) => (namesOnly ? { UID: victim.uid } : victim.pod));
    pieces.push(
      `${index === 0 ? '' : ','}${JSON.stringify(nodeName)}:${JSON.stringify({ Pods: pods, NumPDBViolations: budgetViolations })}`,
    );
  }
  pieces.push(namesOnly ? '}}' : '},"NodeNameToMetaVictims":null}');
  return pieces;
}

/** Builds ExtenderBindingArgs. */
export const bindingArgs = ({ metadata }: Pod, node: string): readonly string[] => [
  JSON.stringify({ PodName: metadata.name, PodNamespace: metadata.namespace, PodUID: metadata.uid, Node: node }),
];

export interface FilterAnswer {
  /** The names of the nodes that passed. */
  readonly kept: readonly string[];
  readonly failed: ReadonlyMap<string, string>;
  readonly unresolvable: ReadonlyMap<string, string>;
}

/** Reads an ExtenderFilterResult. Throws if the extender reports an error or the response is invalid. */
export function readFilterAnswer(answer: unknown, nodeCacheCapable: boolean): FilterAnswer {
  throwReported(answer);
  const names = fieldOf(answer, 'nodenames');
  const nodes = fieldOf(answer, 'nodes');
  const kept =
    nodeCacheCapable && isPresent(names)
      ? listOf(names, 'NodeNames').map((name) => textOf(name, 'NodeNames'))
      : isPresent(nodes)
        ? listOf(fieldOf(nodes, 'items') ?? [], 'Nodes.items').map((node) =>
            textOf(fieldOf(fieldOf(node, 'metadata'), 'name'), 'Nodes.items[].metadata.name'),
          )
        : [];
  return {
    kept,
    failed: messagesOf(fieldOf(answer, 'failednodes'), 'FailedNodes'),
    unresolvable: messagesOf(fieldOf(answer, 'failedandunresolvablenodes'), 'FailedAndUnresolvableNodes'),
  };
}

/** Reads a HostPriorityList into scores by node. */
export function readPriorities(answer: unknown): ReadonlyMap<string, number> {
  const points = new Map<string, number>();
  for (const each of isPresent(answer) ? listOf(answer, 'HostPriorityList') : []) {
    const score = fieldOf(each, 'score') ?? 0;
    if (typeof score !== 'number' || !Number.isSafeInteger(score)) throw new Error('Score is not a whole number');
    points.set(textOf(fieldOf(each, 'host'), 'Host'), score);
  }
  return points;
}

/** Reads an ExtenderPreemptionResult into the UIDs of victims by node. */
export function readPreemptionAnswer(
  answer: unknown,
): ReadonlyMap<string, { readonly uids: readonly string[]; readonly budgetViolations: number }> {
  const byNode = new Map<string, { readonly uids: readonly string[]; readonly budgetViolations: number }>();
  for (const [node, victims] of entriesOf(fieldOf(answer, 'nodenametometavictims'), 'NodeNameToMetaVictims')) {
    const pods = fieldOf(victims, 'pods');
    const violations = fieldOf(victims, 'numpdbviolations') ?? 0;
    if (typeof violations !== 'number') throw new Error('NumPDBViolations is not a number');
    const uids = isPresent(pods) ? listOf(pods, 'Pods').map((pod) => textOf(fieldOf(pod, 'uid'), 'UID')) : [];
    byNode.set(node, { uids, budgetViolations: violations });
  }
  return byNode;
}

/** Throws the `Error` of a result. An empty text means success. */
export function throwReported(answer: unknown): void {
  const error = fieldOf(answer, 'error');
  if (typeof error === 'string' && error !== '') throw new Error(error.slice(0, LONGEST_MESSAGE));
}

const LONGEST_MESSAGE = 1024;
const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

/** Reads a field case-insensitively. `name` is in lower case. A value that is not an object has no fields. */
function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  for (const [key, field] of Object.entries(value))
    if (key.length === name.length && key.toLowerCase() === name) return field;
  return undefined;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${what} is not a list`);
  return value as readonly unknown[];
}

function textOf(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new Error(`${what} is not a string`);
  return value;
}

function entriesOf(value: unknown, what: string): readonly (readonly [string, unknown])[] {
  if (!isPresent(value)) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is not a map`);
  return Object.entries(value);
}

function messagesOf(value: unknown, what: string): ReadonlyMap<string, string> {
  return new Map(entriesOf(value, what).map(([node, said]) => [node, textOf(said, what).slice(0, LONGEST_MESSAGE)]));
}
