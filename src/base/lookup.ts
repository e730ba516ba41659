/**
 * A table for look-ups with untrusted names. A plain object would return inherited members for `constructor`,
 * `toString` and `__proto__`; here they are ordinary names. A lint rule requires it wherever a table of this program is
 * indexed with a string.
 */
export function lookupTable<Value>(entries: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  // Without a prototype, the object has only the listed names.
  return Object.assign(Object.create(null) as Record<string, Value>, entries);
}

/** The own property of a record with an untrusted name, never an inherited one. */
export function ownValue<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
