import { createAbacAuthorizer } from '../authz/abac/abac-authorizer.ts';
import { parseAbacPolicies } from '../authz/abac/abac-policy.ts';
import { alwaysAllow, alwaysDeny, systemMasters } from '../authz/fixed-authorizers.ts';
import { createNodeAuthorizer } from '../authz/node/node-authorizer.ts';
import { NodeGraph } from '../authz/node/node-graph.ts';
import { createRbacAuthorizer } from '../authz/rbac/rbac-authorizer.ts';
import type { RoleGrants } from '../authz/rbac/role-grants.ts';
import { createWebhookAuthorizer } from '../authz/webhook/webhook-authorizer.ts';
import { askJson } from '../authn/webhook/http-json.ts';
import { readWebhookKubeconfig } from '../authn/webhook/webhook-kubeconfig.ts';
import { KubeletError } from '../../base/errors.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type { Authorizer } from '../model/user-info.ts';
import { WatchedFile } from '../../pki/watched-file.ts';
import type { BaseDeps } from './base-deps.ts';
import type { AuthorizationMode, ControlPlaneOptions } from './control-plane-options.ts';

/** Upstream's limit for one question to a webhook. */
const WEBHOOK_MS = 30_000;

export interface AuthorizationParts extends BaseDeps {
  readonly reader: ObjectReader;
  readonly grants: RoleGrants;
}

export interface ComposedAuthorization {
  readonly authorizers: readonly Authorizer[];
  close(): void;
}

/**
 * The authorizers in the order of `--authorization-mode`, behind the group that may do everything. Throws `Invalid` for
 * files that cannot be used.
 */
export function composeAuthorizers(
  options: ControlPlaneOptions,
  { reader, grants, ...deps }: AuthorizationParts,
): ComposedAuthorization {
  const closing: (() => void)[] = [];
  const make: Record<AuthorizationMode, () => Authorizer> = {
    Node: () => createNodeAuthorizer(new NodeGraph(reader), options.api.gates),
    RBAC: () => createRbacAuthorizer(grants),
    ABAC: () => {
      const file = needed(
        options.authorizationPolicyFile,
        '--authorization-mode=ABAC needs --authorization-policy-file',
      );
      const policies = new WatchedFile({
        file,
        parse: (content) => parseAbacPolicies(file, content),
        clock: deps.clock,
        log: deps.log,
      });
      policies.start();
      closing.push(() => policies.stop());
      return createAbacAuthorizer(() => policies.value);
    },
    AlwaysAllow: () => alwaysAllow,
    AlwaysDeny: () => alwaysDeny,
    Webhook: () => {
      const file = needed(
        options.authorizationWebhookConfigFile,
        '--authorization-mode=Webhook needs --authorization-webhook-config-file',
      );
      const target = { ...readWebhookKubeconfig(file), timeoutMs: WEBHOOK_MS };
      return createWebhookAuthorizer({
        post: (review) => askJson(target, review),
        clock: deps.clock,
        log: deps.log,
      });
    },
  };
  return {
    authorizers: [systemMasters, ...options.authorizationModes.map((mode) => make[mode]())],
    close: () => closing.forEach((close) => close()),
  };
}

function needed(file: string | undefined, why: string): string {
  if (file === undefined) throw new KubeletError('Invalid', why);
  return file;
}
