import { ipAddresses } from '../../../api/client/resource-types.ts';
import type { IPAddress } from '../../../api/networking/ip-address.ts';
import { IPAddressSchema } from '../../../api/networking/ip-address.ts';
import { checkCanonicalIp } from '../../../api/validation/network/canonical-address.ts';
import { validateIpAddress, validateIpAddressUpdate } from '../../../api/validation/network/validate-service-cidr.ts';
import { defineResource } from '../define-resource.ts';

function formatParent({ spec: { parentRef } }: IPAddress): string {
  if (parentRef === undefined) return '<none>';
  const { group = '', resource = '', namespace = '', name = '' } = parentRef;
  const kind = (group === '' ? resource : `${resource}.${group}`).toLowerCase();
  return [kind, ...(namespace === '' ? [] : [namespace]), name].join('/');
}

export const ipAddressResource = defineResource<IPAddress>({
  type: ipAddresses,
  singular: 'ipaddress',
  shortNames: ['ip'],
  schema: IPAddressSchema,
  storagePath: 'ipaddresses',
  rules: {
    applyDefaults: (address) => address,
    validate: validateIpAddress,
    validateName: checkCanonicalIp,
    validateUpdate: validateIpAddressUpdate,
  },
  hasNoAge: true,
  columns: [{ name: 'ParentRef', type: 'string', description: 'The object that has it.', cell: formatParent }],
});
