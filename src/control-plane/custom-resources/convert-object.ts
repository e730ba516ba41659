import type { ApiObject } from '../../api/client/resource-type.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';

/** Converts objects of other versions to one version, in order. Rejects with `ApiStatusError`. */
export type ConvertObjects = (objects: readonly ApiObject[], apiVersion: string) => Promise<readonly ApiObject[]>;

type Change = (object: ApiObject) => ApiObject;

/** Stored objects converted to one version. Each is converted once for all readers. */
export interface ShownObjects {
  readonly fromStored: (object: ApiObject) => ApiObject;
  /** Must be awaited before `fromStored`. If it is absent or returns undefined, no wait is needed. */
  readonly prepare?: (objects: readonly ApiObject[]) => Promise<void> | undefined;
}

/** The conversion without a webhook: `show` changes only the name and what the schemas determine. */
export function renamed(show: Change): ShownObjects {
  const known = new WeakMap<ApiObject, ApiObject>();
  return {
    fromStored: (object) => {
      let shown = known.get(object);
      if (shown === undefined) {
        shown = show(object);
        known.set(object, shown);
      }
      return shown;
    },
  };
}

/** How schemas change objects before and after a conversion by a webhook. */
export interface AroundConversion {
  /** Shows an object that is stored in the requested version. */
  readonly own: Change;
  readonly before: Change;
  readonly after: Change;
}

/** The conversion with a webhook. An object is sent once, even for concurrent readers. */
export function converted(
  apiVersion: string,
  { own: showOwn, before, after }: AroundConversion,
  convert: ConvertObjects,
): ShownObjects {
  const own = renamed(showOwn);
  const known = new WeakMap<ApiObject, ApiObject>();
  const asked = new WeakMap<ApiObject, Promise<void>>();
  const ask = async (objects: readonly ApiObject[]): Promise<void> => {
    try {
      const answers = await convert(objects.map(before), apiVersion);
      for (const [index, object] of objects.entries()) known.set(object, after(answers[index] as ApiObject));
    } finally {
      for (const object of objects) asked.delete(object);
    }
  };
  return {
    fromStored: (object) => {
      if (object.apiVersion === apiVersion) return own.fromStored(object);
      const shown = known.get(object);
      if (shown === undefined)
        throw new ApiStatusError('InternalError', 'the object was not converted before it was read');
      return shown;
    },
    prepare: (objects) => {
      const waiting = objects.filter((each) => each.apiVersion !== apiVersion && !known.has(each));
      if (waiting.length === 0) return undefined;
      const others = new Set(waiting.flatMap((each) => asked.get(each) ?? []));
      const missing = waiting.filter((each) => !asked.has(each));
      if (missing.length > 0) {
        const mine = ask(missing);
        for (const each of missing) asked.set(each, mine);
        others.add(mine);
      }
      return Promise.all(others).then(() => undefined);
    },
  };
}

/** Converts an object to the storage version, without the fields that this version does not have. */
export function renamedTo(apiVersion: string, prune: Change): (object: ApiObject) => ApiObject {
  return (object) => (object.apiVersion === apiVersion ? object : prune({ ...object, apiVersion }));
}

export function convertedTo(
  apiVersion: string,
  prune: Change,
  convert: ConvertObjects,
): (object: ApiObject) => ApiObject | Promise<ApiObject> {
  return async (object) => {
    if (object.apiVersion === apiVersion) return object;
    const [answer] = await convert([object], apiVersion);
    return prune(answer as ApiObject);
  };
}
