/** Secret of core/v1. Values are base64 text. The fields follow k8s.io/api/core/v1. */
import { boolean, bytes, field, filled, map, object, pointer, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';

export const SecretSchema = object('Secret', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  immutable: pointer(5, boolean),
  data: field(2, map(bytes)),
  stringData: field(4, map(string)),
  type: field(3, string),
});
export type Secret = Infer<typeof SecretSchema>;
