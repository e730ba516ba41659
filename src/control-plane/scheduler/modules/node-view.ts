import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Resources } from '../framework/resources.ts';
import type { ModuleNodeInfo, ModuleResources } from './plugin-module.ts';

/** A node as a module's plugin sees it. Expensive values are computed when they are read. */
class NodeView implements ModuleNodeInfo {
  readonly #info: NodeInfo;

  constructor(info: NodeInfo) {
    this.#info = info;
  }
  get node(): Node {
    return this.#info.node;
  }
  get pods(): readonly Pod[] {
    return [...this.#info.pods.values()].map(({ pod }) => pod);
  }
  get allocatable(): ModuleResources {
    return resourcesOf(this.#info.allocatable);
  }
  get requested(): ModuleResources {
    return resourcesOf(this.#info.requested);
  }
}

const views = new WeakMap<NodeInfo, NodeView>();

export function nodeView(info: NodeInfo): ModuleNodeInfo {
  let view = views.get(info);
  if (view === undefined) {
    view = new NodeView(info);
    views.set(info, view);
  }
  return view;
}

function resourcesOf({ cpuMillis, memoryBytes, ephemeralStorageBytes, scalars }: Readonly<Resources>): ModuleResources {
  return {
    milliCPU: cpuMillis,
    memory: memoryBytes,
    ephemeralStorage: ephemeralStorageBytes,
    scalarResources: Object.fromEntries(scalars),
  };
}
