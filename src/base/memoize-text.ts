/**
 * The function, with a memory of its results. `compute` must depend on the text alone and its results must not change:
 * then all parts of a process can share the memory, and what it forgets only costs time. It holds at most `limit`
 * results, and none of texts longer than `longest` characters; when it is full, it forgets everything.
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
