/** A scheduled call; removing `fire` cancels it. */
export interface DueEntry {
  readonly dueMs: number;
  readonly order: number;
  fire: (() => void) | undefined;
}

/**
 * Scheduled calls ordered by time; equal times are ordered by creation. Adding and removing take O(log n), cancelling
 * O(1).
 */
export class DueHeap {
  readonly #heap: DueEntry[] = [];
  #order = 0;

  add(dueMs: number, fire: () => void): DueEntry {
    const entry: DueEntry = { dueMs, order: this.#order++, fire };
    this.#siftUp(this.#heap.push(entry) - 1, entry);
    return entry;
  }

  /** The earliest call that was not cancelled. */
  peek(): DueEntry | undefined {
    while (this.#heap[0] !== undefined && this.#heap[0].fire === undefined) this.#removeFirst();
    return this.#heap[0];
  }

  /** Removes and returns the earliest call if it is due at `nowMs`. */
  takeDue(nowMs: number): (() => void) | undefined {
    const first = this.peek();
    if (first === undefined || first.dueMs > nowMs) return undefined;
    this.#removeFirst();
    const { fire } = first;
    first.fire = undefined;
    return fire;
  }

  /** The number of pending calls, without cancelled ones. */
  get size(): number {
    return this.#heap.filter((entry) => entry.fire !== undefined).length;
  }

  clear(): void {
    this.#heap.length = 0;
  }

  #siftUp(from: number, entry: DueEntry): void {
    const heap = this.#heap;
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(entry, heap[parent] as DueEntry)) break;
      heap[index] = heap[parent] as DueEntry;
      index = parent;
    }
    heap[index] = entry;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as DueEntry, heap[child] as DueEntry)) child++;
      if (!isBefore(heap[child] as DueEntry, last)) break;
      heap[index] = heap[child] as DueEntry;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore(left: DueEntry, right: DueEntry): boolean {
  return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.order < right.order);
}
