import { runtimeClasses } from '../../../api/client/resource-types.ts';
import { defaultRuntimeClass } from '../../../api/defaults/default-runtime-class.ts';
import type { RuntimeClass } from '../../../api/node/runtime-class.ts';
import { RuntimeClassSchema } from '../../../api/node/runtime-class.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import { validateImmutable } from '../../../api/validation/immutable.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { objectWarnings } from '../../../api/validation/object-warnings.ts';
import { warningText } from '../../../api/validation/pod/pod-warnings.ts';
import { validateRuntimeClass } from '../../../api/validation/validate-runtime-class.ts';
import { defineResource } from '../define-resource.ts';

export const runtimeClassResource = defineResource<RuntimeClass>({
  type: runtimeClasses,
  singular: 'runtimeclass',
  schema: RuntimeClassSchema,
  storagePath: 'runtimeclasses',
  rules: {
    applyDefaults: defaultRuntimeClass,
    validate: validateRuntimeClass,
    validateName: checkDnsSubdomain,
    allowCreateOnUpdate: true,
    requiresResourceVersion: true,
    validateUpdate: (runtimeClass, old) => {
      const errors = new FieldErrors();
      errors.list.push(...validateRuntimeClass(runtimeClass));
      validateImmutable(errors, 'handler', runtimeClass.handler, old.handler);
      return errors.list;
    },
    warnings: (object) => objectWarnings({ kind: 'RuntimeClass', object }).map(warningText),
  },
  columns: [
    { name: 'Handler', type: 'string', description: "The runtime's name for it.", cell: ({ handler }) => handler },
  ],
});
