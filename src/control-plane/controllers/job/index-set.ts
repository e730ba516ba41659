interface Range {
  readonly first: number;
  readonly last: number;
}

/** A set of completion indexes in the format of `status.completedIndexes`: `1,3-5,7`. It is immutable. */
export class IndexSet {
  static readonly empty = new IndexSet([]);
  readonly #ranges: readonly Range[];

  private constructor(ranges: readonly Range[]) {
    this.#ranges = ranges;
  }

  /** Parses a set. Invalid numbers and numbers not below `completions` are ignored. */
  static parse(text: string | undefined, completions: number): IndexSet {
    const ranges: Range[] = [];
    for (const part of (text ?? '').split(',')) {
      const match = /^([0-9]+)(?:-([0-9]+))?$/.exec(part.trim());
      if (match === null) continue;
      const first = Number(match[1]);
      const last = Math.min(Number(match[2] ?? match[1]), completions - 1);
      if (first <= last) ranges.push({ first, last });
    }
    return new IndexSet(joined(ranges));
  }

  static of(indexes: Iterable<number>): IndexSet {
    return new IndexSet(joined([...indexes].map((index) => ({ first: index, last: index }))));
  }

  get total(): number {
    return this.#ranges.reduce((total, { first, last }) => total + last - first + 1, 0);
  }

  has(index: number): boolean {
    const range = this.#ranges[this.#firstNotBefore(index)];
    return range !== undefined && range.first <= index;
  }

  with(index: number): IndexSet {
    const at = this.#firstNotBefore(index);
    const [before, here] = [this.#ranges[at - 1], this.#ranges[at]];
    if (here !== undefined && here.first <= index) return this;
    const joinsBefore = before !== undefined && before.last === index - 1;
    const joinsNext = here !== undefined && here.first === index + 1;
    const joint = { first: joinsBefore ? before.first : index, last: joinsNext ? here.last : index };
    return new IndexSet(
      this.#ranges.toSpliced(joinsBefore ? at - 1 : at, Number(joinsBefore) + Number(joinsNext), joint),
    );
  }

  without(index: number): IndexSet {
    const at = this.#firstNotBefore(index);
    const here = this.#ranges[at];
    if (here === undefined || here.first > index) return this;
    const left = { first: here.first, last: index - 1 };
    const right = { first: index + 1, last: here.last };
    return new IndexSet(this.#ranges.toSpliced(at, 1, ...[left, right].filter(({ first, last }) => first <= last)));
  }

  /** Returns the position of the first range that does not end before the index. */
  #firstNotBefore(index: number): number {
    let [low, high] = [0, this.#ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ranges[middle]?.last ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  union(other: IndexSet): IndexSet {
    return new IndexSet(joined([...this.#ranges, ...other.#ranges]));
  }

  /** Returns the number of common indexes. */
  overlap(other: IndexSet): number {
    let total = 0;
    for (const mine of this.#ranges)
      for (const theirs of other.#ranges)
        total += Math.max(0, Math.min(mine.last, theirs.last) - Math.max(mine.first, theirs.first) + 1);
    return total;
  }

  /** Returns the first `count` missing indexes below `completions`. */
  firstMissing(count: number, completions: number): number[] {
    const missing: number[] = [];
    let candidate = 0;
    for (const { first, last } of [...this.#ranges, { first: completions, last: completions }]) {
      for (; candidate < Math.min(first, completions) && missing.length < count; candidate++) missing.push(candidate);
      candidate = Math.max(candidate, last + 1);
    }
    return missing;
  }

  /** Formats the set. Two adjacent indexes are written separately, more as a range. */
  toString(): string {
    return this.#ranges
      .map(({ first, last }) =>
        first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
      )
      .join(',');
  }
}

function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const range of ranges.toSorted((left, right) => left.first - right.first)) {
    const before = result.at(-1);
    if (before === undefined || range.first > before.last + 1) result.push(range);
    else if (range.last > before.last) result[result.length - 1] = { first: before.first, last: range.last };
  }
  return result;
}
