/** Secret and SecretList of core/v1. Values are base64 text. Which fields exist follows k8s.io/api/core/v1. */
import { array, boolean, bytes, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';

export const SecretSchema = object('Secret', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  immutable: boolean,
  data: map(bytes),
  stringData: map(string),
  type: string,
});
export type Secret = Infer<typeof SecretSchema>;

export const SecretListSchema = object('SecretList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(SecretSchema)),
});
export type SecretList = Infer<typeof SecretListSchema>;
