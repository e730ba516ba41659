const CONTEXT_LINES = 3;
/**
 * Above this many pairs of lines, the middle is treated as replaced, because an error message is not worth seconds of
 * processor time.
 */
const MAX_PAIRS = 4_000_000;

interface Edit {
  readonly kind: ' ' | '-' | '+';
  readonly line: string;
}

/**
 * The difference of two JSON values as a unified diff of their printed forms, which upstream adds to errors for
 * immutable fields. '' if they are equal.
 */
export function unifiedDiff(before: unknown, after: unknown): string {
  const edits = computeEdits(printed(before), printed(after));
  const hunks = hunksOf(edits);
  const place: Place = { next: 0, old: 0, now: 0 };
  return hunks.map(({ start, end }) => formatHunk(edits, { start, end }, place)).join('');
}

/** The number of equal lines before the next edit. */
interface Place {
  next: number;
  old: number;
  now: number;
}

function advance(edits: readonly Edit[], place: Place, end: number): void {
  for (; place.next < end; place.next++) {
    const kind = edits[place.next]?.kind;
    if (kind !== '+') place.old++;
    if (kind !== '-') place.now++;
  }
}

/** Keys are sorted, so that only values can differ. */
function printed(value: unknown): readonly string[] {
  const sorted = (_: string, item: unknown): unknown =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([one], [other]) => (one < other ? -1 : 1)))
      : item;
  return (JSON.stringify(value, sorted, 1) ?? 'null').split('\n');
}

function computeEdits(left: readonly string[], right: readonly string[]): readonly Edit[] {
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < left.length - head && tail < right.length - head && left.at(-1 - tail) === right.at(-1 - tail)) tail++;
  const keep = (lines: readonly string[]): readonly Edit[] => lines.map((line) => ({ kind: ' ', line }));
  const middle = diffMiddle(left.slice(head, left.length - tail), right.slice(head, right.length - tail));
  return [...keep(left.slice(0, head)), ...middle, ...keep(left.slice(left.length - tail))];
}

/** Computes the longest common subsequence with a table. */
function diffMiddle(left: readonly string[], right: readonly string[]): readonly Edit[] {
  const width = right.length + 1;
  const edits: Edit[] = [];
  if (left.length * right.length > MAX_PAIRS)
    return [...left.map((line): Edit => ({ kind: '-', line })), ...right.map((line): Edit => ({ kind: '+', line }))];
  const common = new Uint32Array((left.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row--) {
    for (let column = right.length - 1; column >= 0; column--) {
      common[row * width + column] =
        left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  let row = 0;
  let column = 0;
  while (row < left.length || column < right.length) {
    const [old, now] = [left[row], right[column]];
    if (old !== undefined && old === now) {
      edits.push({ kind: ' ', line: old });
      row++;
      column++;
    } else if (old !== undefined && (now === undefined || at(row + 1, column) >= at(row, column + 1))) {
      edits.push({ kind: '-', line: old });
      row++;
    } else {
      edits.push({ kind: '+', line: now ?? '' });
      column++;
    }
  }
  return edits;
}

/** Groups edits with their context; groups that touch are joined. */
function hunksOf(edits: readonly Edit[]): readonly { start: number; end: number }[] {
  const hunks: { start: number; end: number }[] = [];
  for (const [index, { kind }] of edits.entries()) {
    if (kind === ' ') continue;
    const start = Math.max(0, index - CONTEXT_LINES);
    const end = Math.min(edits.length, index + 1 + CONTEXT_LINES);
    const last = hunks.at(-1);
    if (last !== undefined && start <= last.end) last.end = end;
    else hunks.push({ start, end });
  }
  return hunks;
}

/** Moves `place` to the end of the hunk. */
function formatHunk(
  edits: readonly Edit[],
  { start, end }: { readonly start: number; readonly end: number },
  place: Place,
): string {
  advance(edits, place, start);
  const first = { ...place };
  advance(edits, place, end);
  const range = (before: number, length: number): string =>
    length === 1 ? String(before + 1) : `${before + (length === 0 ? 0 : 1)},${length}`;
  const lines = edits.slice(start, end).map(({ kind, line }) => `${kind}${line}\n`);
  return `@@ -${range(first.old, place.old - first.old)} +${range(first.now, place.now - first.now)} @@\n${lines.join('')}`;
}
