/**
 * Wraps a function with a cache of its results. `compute` must depend only on the text, and its results must be
 * immutable. Then all parts of a process can share the cache, and a dropped result only costs time. It keeps at most
 * `limit` results, and none of texts longer than `longest` characters. When it is full, it drops all of them.
 */
export function memoizeText<Result>(
  compute: (text: string) => Result,
  { limit, longest = Infinity }: { readonly limit: number; readonly longest?: number },
): (text: string) => Result {
  const results = new Map<string, Result>();
  return (text) => {
    const known = results.get(text);
    if (known !== undefined) return known;
    const result = compute(text);
    if (text.length <= longest) {
      if (results.size >= limit) results.clear();
      results.set(text, result);
    }
    return result;
  };
}
