import type { PressureCondition } from './signals.ts';

/**
 * The pressure the node reports. The eviction manager writes it; admission and the node status read it. Listeners are
 * called when a condition begins or ends.
 */
export class NodePressure {
  #conditions: readonly PressureCondition[] = [];
  readonly #listeners = new Set<() => void>();

  /** Sorted by name. */
  get conditions(): readonly PressureCondition[] {
    return this.#conditions;
  }

  /** As the node status shows it. */
  flags(): { memory: boolean; disk: boolean; pid: boolean } {
    const has = (condition: PressureCondition): boolean => this.#conditions.includes(condition);
    return { memory: has('MemoryPressure'), disk: has('DiskPressure'), pid: has('PIDPressure') };
  }

  set(conditions: readonly PressureCondition[]): void {
    if (conditions.join() === this.#conditions.join()) return;
    this.#conditions = [...conditions];
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
