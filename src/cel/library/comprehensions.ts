import type { Library } from '../environment.ts';
import { globalFunction as fn } from '../environment.ts';
import { bindingMacros, comprehensionMacros } from '../macros.ts';
import { mapOf, param } from '../types.ts';
import { CelError } from '../values.ts';

const K = param('K');
const V = param('V');
/** The planner adds entries to the macro's own map. */
const planned = (): CelError => new CelError('no such overload');

/** Macros for comprehensions with two variables. */
export const comprehensions: Library = {
  macros: comprehensionMacros,
  functions: {
    'cel.@mapInsert': [
      fn('@mapInsert_map_key_value', [mapOf(K, V), K, V], mapOf(K, V), planned),
      fn('@mapInsert_map_map', [mapOf(K, V), mapOf(K, V)], mapOf(K, V), planned),
    ],
  },
};

/** `cel.bind(name, value, expression)` */
export const bindings: Library = { macros: bindingMacros };
