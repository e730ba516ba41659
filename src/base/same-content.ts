/** Whether two JSON values have the same content; a field that is undefined equals one that is missing. */
export function sameContent(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right))
    return (
      Array.isArray(left) &&
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => sameContent(item, right[index]))
    );
  const [one, other] = [left as Record<string, unknown>, right as Record<string, unknown>];
  for (const key of Object.keys(one))
    if (!sameContent(one[key], Object.hasOwn(other, key) ? other[key] : undefined)) return false;
  for (const key of Object.keys(other)) if (other[key] !== undefined && !Object.hasOwn(one, key)) return false;
  return true;
}
