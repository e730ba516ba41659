import { readFileSync } from 'node:fs';
import { KubeletError } from '../../base/errors.ts';
import { createAbacAuthorizer } from '../authz/abac/abac-authorizer.ts';
import { parseAbacPolicies } from '../authz/abac/abac-policy.ts';
import { alwaysAllow, alwaysDeny, systemMasters } from '../authz/fixed-authorizers.ts';
import { createNodeAuthorizer } from '../authz/node/node-authorizer.ts';
import { NodeGraph } from '../authz/node/node-graph.ts';
import { createRbacAuthorizer } from '../authz/rbac/rbac-authorizer.ts';
import type { RoleGrants } from '../authz/rbac/role-grants.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type { Authorizer } from '../model/user-info.ts';
import type { AuthorizationMode, ControlPlaneOptions } from './control-plane-options.ts';

/** The authorizers in the order of `--authorization-mode`, behind the group that may do everything. */
export function composeAuthorizers(options: ControlPlaneOptions, reader: ObjectReader, grants: RoleGrants): readonly Authorizer[] {
  const make: Record<AuthorizationMode, () => Authorizer> = {
    Node: () => createNodeAuthorizer(new NodeGraph(reader)),
    RBAC: () => createRbacAuthorizer(grants),
    ABAC: () => abac(options.authorizationPolicyFile),
    AlwaysAllow: () => alwaysAllow,
    AlwaysDeny: () => alwaysDeny,
    Webhook: () => {
      throw new KubeletError('Unimplemented', '--authorization-mode=Webhook');
    },
  };
  return [systemMasters, ...options.authorizationModes.map((mode) => make[mode]())];
}

function abac(file: string | undefined): Authorizer {
  if (file === undefined) throw new KubeletError('Invalid', '--authorization-mode=ABAC needs --authorization-policy-file');
  const policies = parseAbacPolicies(file, readFileSync(file, 'utf8'));
  return createAbacAuthorizer(() => policies);
}
