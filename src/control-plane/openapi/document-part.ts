import type { ResourceDefinition } from '../model/resource-definition.ts';
import { Kinds } from './definitions.ts';
import { encodeV2 } from './encode-v2-protobuf.ts';
import { renderV2, renderV3 } from './render-document.ts';
import type { JsonObject } from './render-document.ts';

/** The contribution of a part to the version 2 document: the inner text of two objects. */
export interface PartOfV2 {
  readonly whole: JsonObject;
  readonly paths: string;
  readonly definitions: string;
}

/**
 * Kinds whose documents are built and cached together: the built-in ones, which share types, or the custom ones of one
 * group version, so that a change rebuilds only its own part. Everything is built lazily.
 */
export class DocumentPart {
  readonly #definitions: readonly ResourceDefinition[];
  readonly #version: string;
  readonly #base: DocumentPart | undefined;
  #kinds: Kinds | undefined;
  #v2: PartOfV2 | undefined;
  #v2Protobuf: Uint8Array | undefined;

  /** `base`: the part whose types this one refers to without repeating them in the document of version 2. */
  constructor(definitions: readonly ResourceDefinition[], version: string, base?: DocumentPart) {
    this.#definitions = definitions;
    this.#version = version;
    this.#base = base;
  }

  v3(groupVersion: { readonly group: string; readonly version: string }): JsonObject {
    return renderV3(this.#definitions, this.#known(), groupVersion, this.#version);
  }

  v2(): PartOfV2 {
    if (this.#v2 === undefined) {
      const whole = this.#own(renderV2(this.#definitions, this.#known(), this.#version));
      this.#v2 = { whole, paths: inner(whole.paths), definitions: inner(whole.definitions) };
    }
    return this.#v2;
  }

  /** Concatenated protobuf messages are decoded as one, with all entries. */
  v2Protobuf(isFirst: boolean): Uint8Array {
    const { paths, definitions } = this.v2().whole;
    this.#v2Protobuf ??= encodeV2(isFirst ? this.v2().whole : { paths, definitions });
    return this.#v2Protobuf;
  }

  #own(whole: JsonObject): JsonObject {
    if (this.#base === undefined) return whole;
    const known = this.#base.v2().whole.definitions as JsonObject;
    const own = Object.entries(whole.definitions as JsonObject).filter(([name]) => !Object.hasOwn(known, name));
    return { ...whole, definitions: Object.fromEntries(own) };
  }

  #known(): Kinds {
    this.#kinds ??= new Kinds(this.#definitions);
    return this.#kinds;
  }
}

/** The entries of an object as they stand between its braces. */
const inner = (value: unknown): string => JSON.stringify(value).slice(1, -1);
