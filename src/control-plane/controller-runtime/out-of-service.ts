import type { Node } from '../../api/core/node.ts';

/**
 * The taint by which an operator declares that the machine is permanently off: nothing on it runs or writes any more.
 */
export function hasOutOfServiceTaint(node: Pick<Node, 'spec'> | undefined): boolean {
  return (node?.spec?.taints ?? []).some(({ key }) => key === 'node.kubernetes.io/out-of-service');
}
