import type { CelType } from './types.ts';
import { typeName } from './types.ts';
import type { CelValue } from './values.ts';
import { CelList, CelMap, Duration, Opaque, Optional, Timestamp, TypeValue, Uint } from './values.ts';

type Test = (value: CelValue) => boolean;

/** Whether arguments have the types of an overload. Elements of lists and maps are not checked. */
export function mayTake(params: readonly CelType[]): (args: readonly CelValue[]) => boolean {
  const tests = params.map(testOf);
  return (args) => args.length === tests.length && tests.every((test, index) => test(args[index] as CelValue));
}

function testOf(type: CelType): Test {
  switch (type.kind) {
    case 'bool':
      return (value) => typeof value === 'boolean';
    case 'int':
      return (value) => typeof value === 'bigint';
    case 'uint':
      return (value) => value instanceof Uint;
    case 'double':
      return (value) => typeof value === 'number';
    case 'string':
      return (value) => typeof value === 'string';
    case 'bytes':
      return (value) => value instanceof Uint8Array;
    case 'duration':
      return (value) => value instanceof Duration;
    case 'timestamp':
      return (value) => value instanceof Timestamp;
    case 'null':
      return (value) => value === null;
    case 'list':
      return (value) => value instanceof CelList;
    case 'map':
    case 'object':
      return (value) => value instanceof CelMap;
    case 'type':
      return (value) => value instanceof TypeValue;
    case 'opaque':
      if (type.name === 'optional_type') return (value) => value instanceof Optional;
      return (value) => value instanceof Opaque && typeName(value.type) === type.name;
    case 'dyn':
    case 'error':
    case 'param':
      return () => true;
  }
}
