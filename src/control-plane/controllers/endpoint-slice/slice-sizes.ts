import type { EndpointPort, EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';

/**
 * The slices of one service by family, ports and number of endpoints. So no query walks all slices of a large service.
 */
export class SliceSizes {
  /** By group, then by number of endpoints, then by name in the order of the last change. */
  readonly #groups = new Map<string, Map<number, Map<string, EndpointSlice>>>();
  /** The number of slices with endpoints, by family. */
  readonly #filled = new Map<string, number>();

  add(slice: EndpointSlice): void {
    const key = groupKey(slice.addressType, slice.ports);
    let sizes = this.#groups.get(key);
    if (sizes === undefined) this.#groups.set(key, (sizes = new Map()));
    const { length } = slice.endpoints;
    let named = sizes.get(length);
    if (named === undefined) sizes.set(length, (named = new Map()));
    named.set(slice.metadata.name, slice);
    if (length > 0) this.#filled.set(slice.addressType, this.filled(slice.addressType) + 1);
  }

  remove(slice: EndpointSlice): void {
    const key = groupKey(slice.addressType, slice.ports);
    const sizes = this.#groups.get(key);
    const { length } = slice.endpoints;
    const named = sizes?.get(length);
    if (sizes === undefined || named?.delete(slice.metadata.name) !== true) return;
    if (named.size === 0) sizes.delete(length);
    if (sizes.size === 0) this.#groups.delete(key);
    if (length > 0) this.#filled.set(slice.addressType, this.filled(slice.addressType) - 1);
  }

  /** The number of slices of the family that list endpoints. */
  filled(addressType: string): number {
    return this.#filled.get(addressType) ?? 0;
  }

  /** The slices with these ports and fewer than `most` endpoints, the fullest first. */
  *withRoom(addressType: string, ports: readonly EndpointPort[], most: number): Generator<EndpointSlice> {
    const sizes = this.#groups.get(groupKey(addressType, ports));
    if (sizes === undefined) return;
    for (let length = most - 1; length >= 0; length--) yield* sizes.get(length)?.values() ?? [];
  }
}

const groupKey = (addressType: string, ports: readonly EndpointPort[]): string =>
  JSON.stringify([
    addressType,
    ...ports.map(({ name, protocol, port, appProtocol }) => [name, protocol, port, appProtocol]),
  ]);
