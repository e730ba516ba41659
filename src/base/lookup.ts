/**
 * A table to look up names from outside in. A plain object would answer `constructor`, `toString` and `__proto__` with
 * what every object inherits; here they are names like any other. Lint asks for it wherever a table of this program is
 * indexed with a string.
 */
export function lookupTable<Value>(entries: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  // Without a prototype there is nothing but what is listed.
  return Object.assign(Object.create(null) as Record<string, Value>, entries);
}

/** What a record holds itself under a name from elsewhere, and nothing that it inherits. */
export function ownValue<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
