/**
 * Several errors as one text, as Go's aggregates print them: one is printed alone, more are printed in brackets, and
 * equal ones only once (upstream: util/errors NewAggregate).
 */
export function goAggregate(messages: readonly string[]): string {
  const [first = '', ...others] = new Set(messages);
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
}
