import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';

type Builtin = Date | Uint8Array | string | number | boolean | undefined;

/** A message as callers write it: every field is optional, and 64-bit numbers may be plain numbers. */
export type DeepPartial<T> = T extends bigint
  ? string | number | bigint
  : T extends Builtin
    ? T
    : T extends globalThis.Array<infer U>
      ? globalThis.Array<DeepPartial<U>>
      : T extends ReadonlyArray<infer U>
        ? ReadonlyArray<DeepPartial<U>>
        : T extends object
          ? { [K in keyof T]?: DeepPartial<T[K]> }
          : Partial<T>;

/** The functions that ts-proto generates for a message. */
export interface MessageFns<T> {
  encode(message: T, writer?: BinaryWriter): BinaryWriter;
  decode(input: BinaryReader | Uint8Array, length?: number): T;
  create(base?: DeepPartial<T>): T;
  fromPartial(object: DeepPartial<T>): T;
}
