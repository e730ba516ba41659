import type { Library } from '../../cel/environment.ts';
import { globalFunction as fn } from '../../cel/environment.ts';
import { stringType } from '../../cel/types.ts';

/** What expressions of JSON patches need (upstream: cel/library/jsonpatch.go). */
export const jsonPatches: Library = {
  functions: {
    'jsonpatch.escapeKey': [
      fn('string_jsonpatch_escapeKey_string', [stringType], stringType, (key: string) =>
        key.replaceAll('~', '~0').replaceAll('/', '~1'),
      ),
    ],
  },
};
