import type { ApiBackends } from '../model/api-backends.ts';
import { PackedBytes } from '../../base/packed-bytes.ts';
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

/** A server with an invalid document is left out, so that it does not break the others. */
export function foreignParts({ all }: ApiBackends, known: ReadonlySet<string>): readonly ForeignPart[] {
  const taken = new Set(known);
  return all.flatMap(({ openApi2 }) => {
    if (openApi2 === undefined) return [];
    const own = Object.entries(openApi2.definitions).filter(([name]) => !taken.has(name));
    for (const [name] of own) taken.add(name);
    const whole = { paths: openApi2.paths, definitions: Object.fromEntries(own) };
    try {
      const v2 = { paths: innerText(whole.paths), definitions: innerText(whole.definitions) };
      return [{ v2, protobuf: new PackedBytes(encodeV2(whole)) }];
    } catch {
      return [];
    }
  });
}
