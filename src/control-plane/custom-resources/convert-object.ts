import type { ApiObject } from '../../api/client/resource-type.ts';

/** An object as a version shows it, made once for each stored object however many read it. */
export function convertedFrom(
  apiVersion: string,
  normalise: (object: ApiObject) => ApiObject,
): (object: ApiObject) => ApiObject {
  const known = new WeakMap<ApiObject, ApiObject>();
  return (object) => {
    let shown = known.get(object);
    if (shown === undefined) {
      shown = normalise(object.apiVersion === apiVersion ? object : { ...object, apiVersion });
      known.set(object, shown);
    }
    return shown;
  };
}

/** An object as it is stored: in the storage version, whatever version it was written in. */
export function convertedTo(apiVersion: string): (object: ApiObject) => ApiObject {
  return (object) => (object.apiVersion === apiVersion ? object : { ...object, apiVersion });
}
