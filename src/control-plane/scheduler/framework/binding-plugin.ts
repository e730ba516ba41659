import type { Pod } from '../../../api/core/pod.ts';

type Step = (pod: Pod, nodeName: string) => void | Promise<void>;

/**
 * The extension points of a module's plugin after a node was chosen. A rejection fails the attempt. Built-in plugins
 * are implemented by executors instead.
 */
export interface BindingPlugin {
  readonly name: string;
  readonly reserve?: Step;
  readonly unreserve?: Step;
  /** The permit step. The pod waits until it resolves. */
  readonly permit?: Step;
  readonly preBind?: Step;
  readonly bind?: (pod: Pod, nodeName: string) => Promise<'bound' | 'skipped'>;
  readonly postBind?: Step;
}

/** The binding steps by extension point, in order. In `bind`, `default` means DefaultBinder. */
export interface BindingSteps {
  readonly reserve: readonly BindingPlugin[];
  readonly permit: readonly BindingPlugin[];
  readonly preBind: readonly BindingPlugin[];
  readonly bind: readonly (BindingPlugin | 'default')[];
  readonly postBind: readonly BindingPlugin[];
}

export const defaultBinding: BindingSteps = { reserve: [], permit: [], preBind: [], bind: ['default'], postBind: [] };
