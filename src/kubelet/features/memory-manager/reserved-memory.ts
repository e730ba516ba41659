import { goQuote } from '../../../api/go-quote.ts';
import { addQuantity, compareParsed, formatQuantity, parseQuantity, quantityValue } from '../../../api/quantity.ts';
import { isHugePageResource } from '../../../api/resources.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import type { ReservedMemory } from './memory-state.ts';

/**
 * Computes the memory of each NUMA node that is reserved for the system. Returns a string with the reason if it cannot
 * be reserved. The sum must equal the reservation of the whole node (upstream: memory_manager.go
 * getSystemReservedMemory).
 */
export function computeReservedMemory(
  { nodes }: MachineTopology,
  given: readonly { readonly numaNode: number; readonly limits: Readonly<Record<string, string>> }[],
  nodeReservation: Readonly<Record<string, string>>,
): ReservedMemory | string {
  const reserved = new Map<number, Map<string, number>>();
  const totals = new Map<string, string>();
  for (const { numaNode, limits } of given) {
    if (!nodes.some(({ id }) => id === numaNode))
      return `the reserved memory configuration references a NUMA node ${numaNode} that does not exist on this machine`;
    const own = reserved.get(numaNode) ?? new Map<string, number>();
    reserved.set(numaNode, own);
    for (const [resource, amount] of Object.entries(limits)) {
      own.set(resource, quantityValue(amount));
      totals.set(
        resource,
        formatQuantity(addQuantity(parseQuantity(totals.get(resource) ?? '0'), parseQuantity(amount))),
      );
    }
  }
  const wanted = new Map(
    Object.entries(nodeReservation).filter(([resource]) => resource === 'memory' || isHugePageResource(resource)),
  );
  for (const resource of new Set([...totals.keys(), ...wanted.keys()])) {
    const [total, node] = [totals.get(resource) ?? '0', wanted.get(resource) ?? '0'];
    if (compareParsed(parseQuantity(total), parseQuantity(node)) !== 0)
      return `the total amount ${goQuote(total)} of type ${goQuote(resource)} is not equal to the value ${goQuote(node)} determined by Node Allocatable feature`;
  }
  const hasMemory = [...reserved.values()].some((own) => (own.get('memory') ?? 0) > 0);
  return hasMemory ? reserved : '[memorymanager] you should specify the system reserved memory';
}
