import { copyJson } from '../../base/copy-json.ts';
import type { RuntimeClass } from '../node/runtime-class.ts';
import { roundListInPlace } from './default-container.ts';

/** A copy with the defaults that the API server sets. */
export function defaultRuntimeClass(runtimeClass: RuntimeClass): RuntimeClass {
  const copy = copyJson(runtimeClass);
  roundListInPlace(copy.overhead?.podFixed);
  return copy;
}
