import fc from 'fast-check';
import { setOwn } from '../../../api/schema/decode.ts';

const keys = fc.constantFrom('a', 'b', 'c', 'a/b', '~', '0', '__proto__', 'constructor');

/**
 * Any JSON object with few different names, so that two objects have much in common, with or without null as a value of
 * fields.
 */
export function anyObject({ nulls }: { readonly nulls: boolean }): fc.Arbitrary<Record<string, unknown>> {
  const { object } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(0, 1, '', 'x', true, ...(nulls ? [null] : [])),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
    object: fc.array(fc.tuple(keys, tie('value')), { maxLength: 4 }).map(objectOf),
  }));
  return object;
}

function objectOf(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, value] of entries) setOwn(object, key, value);
  return object;
}

/** Freezes the value, so that any change of it throws. */
export function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const key of Object.keys(value)) freezeDeep((value as Record<string, unknown>)[key]);
  }
  return value;
}
