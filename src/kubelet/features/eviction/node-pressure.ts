import type { PressureCondition } from './signals.ts';
import { pressureConditions } from './signals.ts';

/**
 * The pressure the node reports. The eviction manager writes it; admission and the node status read it. Listeners are
 * called when a condition begins or ends. It is saved, so that a restart of the agent does not end a condition early.
 */
export class NodePressure {
  #conditions: readonly PressureCondition[];
  readonly #listeners = new Set<() => void>();

  constructor(saved: readonly PressureCondition[] = []) {
    this.#conditions = pressureConditions.filter((each) => saved.includes(each));
  }

  /** The conditions, sorted by name. */
  get conditions(): readonly PressureCondition[] {
    return this.#conditions;
  }

  /** Returns the conditions as the node status shows them. */
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

/** Whether a file of an earlier run holds such conditions. */
export function isPressureConditions(value: unknown): value is PressureCondition[] {
  return Array.isArray(value) && value.every((each) => pressureConditions.some((known) => known === each));
}
