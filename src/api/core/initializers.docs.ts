import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  InitializableEmbeddedMetaSchema,
  InitializableMetaSchema,
  InitializerSchema,
  InitializersSchema,
} from './initializers.ts';
import { objectMetaDocs } from './meta.docs.ts';

const fields = {
  ...objectMetaDocs,
  initializers: 'The controllers that still have to act on the object before it is shown. Absent once they have.',
};

export const docs: readonly TypeDocs[] = [
  describe(InitializerSchema, 'A controller that acts on an object before it is shown.', {
    name: 'The name from an InitializerConfiguration, such as podimage.example.com.',
  }),
  describe(InitializersSchema, 'The state of the initialization of an object.', {
    pending: 'The controllers that have not acted yet. Only the first may act, and removes its name.',
    result: 'Why an initializer refused the object. The object is then deleted.',
  }),
  describe(InitializableMetaSchema, 'Metadata of an object.', fields),
  describe(InitializableEmbeddedMetaSchema, 'Metadata of an object.', fields),
];
