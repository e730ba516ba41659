import { parseJsonQuietly } from '../../../base/quiet-parse.ts';
import type { Node } from '../../../api/core/node.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';

const ANNOTATION = 'scheduler.alpha.kubernetes.io/preferAvoidPods';

/**
 * Avoids nodes whose annotation names the pod's controller (upstream up to 1.22: NodePreferAvoidPods). Only
 * ReplicationControllers and ReplicaSets count. An unreadable annotation names none.
 */
export const nodePreferAvoidPods: Plugin = {
  name: 'NodePreferAvoidPods',
  preScore: ({ pod }) => {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    if (owner === undefined || (owner.kind !== 'ReplicationController' && owner.kind !== 'ReplicaSet'))
      return undefined;
    return {
      score: ({ node }) => {
        return avoidedBy(node).has(keyOfController(owner.kind, owner.uid)) ? 0 : MAX_NODE_SCORE;
      },
    };
  },
};

interface AvoidPods {
  readonly preferAvoidPods?: readonly {
    readonly podSignature?: { readonly podController?: { readonly kind?: unknown; readonly uid?: unknown } };
  }[];
}

const keyOfController = (kind: unknown, uid: unknown): string => JSON.stringify([kind, uid]);

/** The parsed annotations, one entry for each version of a node, because annotations may be long. */
const avoided = new WeakMap<Node, ReadonlySet<string>>();

function avoidedBy(node: Node): ReadonlySet<string> {
  let keys = avoided.get(node);
  if (keys === undefined) {
    keys = readAnnotation(node.metadata.annotations?.[ANNOTATION]);
    avoided.set(node, keys);
  }
  return keys;
}

function readAnnotation(text: string | undefined): ReadonlySet<string> {
  if (text === undefined) return new Set();
  let value: unknown;
  try {
    value = parseJsonQuietly(text);
  } catch {
    return new Set(); // Any user who may change nodes can write it; the scheduler must continue.
  }
  const list: unknown = (value as AvoidPods | null)?.preferAvoidPods;
  const entries = Array.isArray(list)
    ? (list as readonly (NonNullable<AvoidPods['preferAvoidPods']>[number] | null)[])
    : [];
  const controllers = entries.map((entry) => entry?.podSignature?.podController);
  return new Set(controllers.map((controller) => keyOfController(controller?.kind, controller?.uid)));
}
