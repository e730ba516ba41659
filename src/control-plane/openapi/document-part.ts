import { PackedBytes } from '../../base/packed-bytes.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { Kinds } from './definitions.ts';
import { encodeV2 } from './encode-v2-protobuf.ts';
import { renderV2, renderV3 } from './render-document.ts';
import type { JsonObject } from './render-document.ts';

/** The contribution of a part to the version 2 document: the inner text of two objects. */
export interface PartOfV2 {
  readonly paths: PackedBytes;
  readonly definitions: PackedBytes;
}

interface RenderedV2 extends PartOfV2 {
  /** The names of the definitions. */
  readonly names: ReadonlySet<string>;
  /** The document without both. */
  readonly head: JsonObject;
}

/**
 * Kinds whose documents are built and cached together: the built-in ones, which share types, or one version of one
 * custom kind. So a change rebuilds only its own part, in its own turn of the event loop. Everything is built at its
 * first use, and only its bytes are kept.
 */
export class DocumentPart {
  readonly #definitions: readonly ResourceDefinition[];
  readonly #version: string;
  readonly #base: DocumentPart | undefined;
  #kinds: Kinds | undefined;
  #v2: RenderedV2 | undefined;
  #v2Protobuf: PackedBytes | undefined;

  /** `base` is the part whose types this part uses without repeating them in the version 2 document. */
  constructor(definitions: readonly ResourceDefinition[], version: string, base?: DocumentPart) {
    this.#definitions = definitions;
    this.#version = version;
    this.#base = base;
  }

  v3(groupVersion: { readonly group: string; readonly version: string }): JsonObject {
    return renderV3(this.#definitions, this.#known(), groupVersion, this.#version);
  }

  v2(): RenderedV2 {
    if (this.#v2 === undefined) {
      const { paths, definitions, ...head } = this.#renderV2();
      this.#v2 = {
        head,
        names: new Set(Object.keys(definitions)),
        paths: innerText(paths),
        definitions: innerText(definitions),
      };
    }
    return this.#v2;
  }

  /** Concatenated protobuf messages are decoded as one, with all entries. */
  v2Protobuf(isFirst: boolean): PackedBytes {
    if (this.#v2Protobuf === undefined) {
      const whole = this.#renderV2();
      const { paths, definitions } = whole;
      this.#v2Protobuf = new PackedBytes(encodeV2(isFirst ? whole : { paths, definitions }));
    }
    return this.#v2Protobuf;
  }

  /** Without the definitions of the base. */
  #renderV2(): JsonObject & { readonly paths: JsonObject; readonly definitions: JsonObject } {
    const whole = renderV2(this.#definitions, this.#known(), this.#version);
    if (this.#base === undefined) return whole;
    const { names } = this.#base.v2();
    const own = Object.entries(whole.definitions).filter(([name]) => !names.has(name));
    return { ...whole, definitions: Object.fromEntries(own) };
  }

  /** Returns the kinds. They are kept only for built-in kinds: a custom one is small, and there may be thousands. */
  #known(): Kinds {
    if (this.#base !== undefined) return new Kinds(this.#definitions);
    this.#kinds ??= new Kinds(this.#definitions);
    return this.#kinds;
  }
}

/** The entries of an object as they stand between its braces. */
export const innerText = (value: object): PackedBytes => new PackedBytes(JSON.stringify(value).slice(1, -1));
