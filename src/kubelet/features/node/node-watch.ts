import { fieldEquals } from '../../../api/selectors.ts';
import type { InformersOptions } from '../../../api/client/informer.ts';
import { createInformer } from '../../../api/client/informer.ts';
import { nodes } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';

/** The watch of this node in the API. On a standalone node it is empty and synced from the start. */
export interface NodeWatch {
  /** Returns the node; undefined before the first list, and while no such node is registered. */
  current(): Node | undefined;
  /**
   * Whether the API server has answered. Before, the labels are unknown and pods would be admitted wrongly (upstream:
   * nodeHasSynced).
   */
  hasSynced(): boolean;
  whenSynced(): Promise<void>;
  /** Calls `listener` for each version, with undefined for a deletion. Returns a function that unsubscribes. */
  onChange(listener: (node: Node | undefined) => void): () => void;
  start(): void;
  stop(): Promise<void>;
}

export const noNodeWatch: NodeWatch = {
  current: () => undefined,
  hasSynced: () => true,
  whenSynced: () => Promise.resolve(),
  onChange: () => () => undefined,
  start: () => undefined,
  stop: () => Promise.resolve(),
};

/**
 * Creates the watch. It selects the node by name, because nodes may not watch other nodes (upstream: kubelet.go, field
 * metadata.name).
 */
export function createNodeWatch(options: InformersOptions & { readonly nodeName: string }): NodeWatch {
  const { nodeName } = options;
  const informer = createInformer<Node>({
    ...options,
    type: nodes,
    namespace: '',
    fieldSelector: fieldEquals('metadata.name', nodeName),
  });
  return {
    current: () => informer.getByKey(nodeName),
    hasSynced: () => informer.hasSynced(),
    whenSynced: () => informer.whenSynced(),
    onChange: (listener) =>
      informer.addHandlers({
        onAdd: listener,
        onUpdate: (_, node) => listener(node),
        onDelete: () => listener(undefined),
      }),
    start: () => informer.start(),
    stop: () => informer.stop(),
  };
}
