/** Fields that upstream keeps as plain booleans, for which `false` and absent are the same. */
const plainBooleans: ReadonlySet<string> = new Set(['hostNetwork', 'hostPID', 'hostIPC', 'stdin', 'stdinOnce', 'tty', 'readOnly', 'unschedulable', 'publishNotReadyAddresses']);

/**
 * Whether two JSON values mean the same to the API: empty lists, maps and strings are as good as absent (upstream: equality.Semantic.DeepEqual).
 * Quantities are compared as text, so both sides must have been decoded.
 */
export function sameValue(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (isEmpty(left) || isEmpty(right)) return isEmpty(left) && isEmpty(right);
  if (Array.isArray(left)) return Array.isArray(right) && left.length === right.length && left.every((item, index) => sameValue(item, right[index]));
  if (!isRecord(left) || !isRecord(right)) return false;
  for (const key of Object.keys(left)) if (!sameField(key, left[key], Object.hasOwn(right, key) ? right[key] : undefined)) return false;
  for (const key of Object.keys(right)) if (!Object.hasOwn(left, key) && !sameField(key, undefined, right[key])) return false;
  return true;
}

function sameField(key: string, left: unknown, right: unknown): boolean {
  return plainBooleans.has(key) ? (left ?? false) === (right ?? false) : sameValue(left, right);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && !hasAnyKey(value);
}

function hasAnyKey(value: object): boolean {
  for (const key in value) if (Object.hasOwn(value, key)) return true;
  return false;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
