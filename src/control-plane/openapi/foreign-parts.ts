import type { ApiBackends, BackendOpenApi } from '../model/api-backends.ts';
import { PackedBytes } from '../../base/packed-bytes.ts';
import { nextTurn } from '../../base/turn.ts';
import { innerText } from './document-part.ts';
import type { PartOfV2 } from './document-part.ts';
import { encodeV2 } from './encode-v2-protobuf.ts';

/** The contribution of another server to the OpenAPI 2 document, in both encodings. */
export interface ForeignPart {
  readonly v2: PartOfV2;
  readonly protobuf: PackedBytes;
}

/** The paths of OpenAPI 3 documents of other servers; this server proxies requests for them. */
export const backendRoots = ({ all }: ApiBackends): Readonly<Record<string, object>> =>
  Object.fromEntries(
    all
      .filter(({ openApiHash }) => openApiHash !== undefined)
      .map(({ group, version, openApiHash = '' }) => [
        `apis/${group}/${version}`,
        { serverRelativeURL: `/openapi/v3/apis/${group}/${version}?hash=${openApiHash}` },
      ]),
  );

interface Rendered {
  /** The names of the definitions that it may add, as one text. */
  readonly own: string;
  readonly part: ForeignPart | undefined;
}

const rendered = new WeakMap<BackendOpenApi, Rendered>();

/**
 * Returns the parts of other servers, each in its own turn of the event loop. A server with an invalid document is left
 * out, so that it does not break the others. `known` are the definitions of this server, which those of other servers
 * do not replace.
 */
export async function foreignParts({ all }: ApiBackends, known: ReadonlySet<string>): Promise<readonly ForeignPart[]> {
  const taken = new Set(known);
  const parts: ForeignPart[] = [];
  for (const { openApi2 } of all) {
    if (openApi2 === undefined) continue;
    const names = Object.keys(openApi2.definitions).filter((name) => !taken.has(name));
    for (const name of names) taken.add(name);
    const own = JSON.stringify(names);
    const before = rendered.get(openApi2);
    if (before?.own !== own) {
      rendered.set(openApi2, { own, part: render(openApi2, names) });
      await nextTurn();
    }
    const part = rendered.get(openApi2)?.part;
    if (part !== undefined) parts.push(part);
  }
  return parts;
}

function render({ paths, definitions }: BackendOpenApi, names: readonly string[]): ForeignPart | undefined {
  const whole = { paths, definitions: Object.fromEntries(names.map((name) => [name, definitions[name]])) };
  try {
    const v2 = { paths: innerText(whole.paths), definitions: innerText(whole.definitions) };
    return { v2, protobuf: new PackedBytes(encodeV2(whole)) };
  } catch {
    return undefined;
  }
}
