import { statSync } from 'node:fs';
import { createAbacAuthorizer } from '../../authz/abac/abac-authorizer.ts';
import { parseAbacPolicies } from '../../authz/abac/abac-policy.ts';
import { ChangingAuthorizer } from '../../authz/changing-authorizer.ts';
import { readAuthorizationConfiguration } from '../../authz/configuration/authorization-configuration.ts';
import { validateAuthorizationConfiguration } from '../../authz/configuration/validate-authorization-configuration.ts';
import type {
  AuthorizerType,
  ConfiguredAuthorizer,
  ConfiguredWebhook,
} from '../../authz/configuration/validate-authorization-configuration.ts';
import { alwaysAllow, alwaysDeny, systemMasters } from '../../authz/fixed-authorizers.ts';
import { createNodeAuthorizer } from '../../authz/node/node-authorizer.ts';
import { NodeGraph } from '../../authz/node/node-graph.ts';
import { createRbacAuthorizer } from '../../authz/rbac/rbac-authorizer.ts';
import type { RoleGrants } from '../../authz/rbac/role-grants.ts';
import { unionAuthorizer } from '../../authz/union.ts';
import { createWebhookAuthorizer } from '../../authz/webhook/webhook-authorizer.ts';
import { askJson } from '../../authn/webhook/http-json.ts';
import { readWebhookKubeconfig } from '../../authn/webhook/webhook-kubeconfig.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { AccessObserver } from '../../model/access-observer.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Authorizer } from '../../model/user-info.ts';
import { WatchedFile } from '../../../pki/watched-file.ts';
import type { BaseDeps } from './base-deps.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';
import { loadYamlReader } from '../configuration/read-yaml-file.ts';
import { ReloadedConfiguration } from '../configuration/reloaded-configuration.ts';

/** Upstream's time limit for one call of the webhook of the flags, and its cache times. */
const WEBHOOK_MS = 30_000;
const AUTHORIZED_MS = 300_000;
const UNAUTHORIZED_MS = 30_000;
const FLAG = 'authorization-config';

export interface AuthorizationParts extends BaseDeps {
  readonly reader: ObjectReader;
  readonly grants: RoleGrants;
  readonly observer: AccessObserver;
}

export interface ComposedAuthorization {
  readonly authorizer: Authorizer;
  close(): void;
}

/**
 * Creates the authorizers in the order of `--authorization-mode` or of `--authorization-config`, after the one of the
 * group that may do everything. Throws `Invalid` for unusable files.
 */
export async function composeAuthorizers(
  options: ControlPlaneOptions,
  parts: AuthorizationParts,
): Promise<ComposedAuthorization> {
  const kinds = new AuthorizerKinds(options, parts);
  const { authorizationConfigFile: file } = options;
  if (file === undefined) return { authorizer: kinds.union(configuredByFlags(options)), close: () => kinds.close() };
  const readYaml = await loadYamlReader(FLAG, 'refused');
  const parse = (content: string, first: Parsed | undefined): Parsed => {
    const required = first?.types;
    const configured = configuredByFile(file, readYaml(file, content), required);
    const types = new Set(configured.map(({ type }) => type).filter((type) => type !== 'Webhook'));
    for (const type of types)
      if (required?.has(type) === false && lasting.has(type))
        throw refused(file, `authorizer type ${type} is not allowed if it was not enabled at initial server startup`);
    return { authorizer: kinds.union(configured), types };
  };
  const reloaded = new ReloadedConfiguration({
    kind: 'authorization',
    file,
    parse,
    apply: ({ authorizer }) => Promise.resolve(changing.use(authorizer)),
    observer: parts.observer,
    clock: parts.clock,
    log: parts.log,
  });
  const changing = new ChangingAuthorizer(reloaded.first.authorizer);
  reloaded.start();
  return {
    authorizer: changing,
    close: () => {
      reloaded.stop();
      kinds.close();
    },
  };
}

interface Parsed {
  readonly authorizer: Authorizer;
  /** The types without webhooks, of which there may be any number. */
  readonly types: ReadonlySet<AuthorizerType>;
}

/** Types whose authorizers have a state that must begin with the server. */
const lasting: ReadonlySet<AuthorizerType> = new Set(['Node', 'RBAC', 'ABAC']);

function refused(file: string, why: string): KubeletError {
  return new KubeletError('Invalid', `--${FLAG} ${file}: ${why}`);
}

function configuredByFile(
  file: string,
  document: unknown,
  requiredTypes?: ReadonlySet<AuthorizerType>,
): readonly ConfiguredAuthorizer[] {
  const read = readAuthorizationConfiguration(document);
  if (typeof read === 'string') throw refused(file, `failed to load AuthorizationConfiguration from file: ${read}`);
  const configured = validateAuthorizationConfiguration(read, {
    fileProblem,
    ...(requiredTypes !== undefined && { requiredTypes }),
  });
  if (typeof configured === 'string') throw refused(file, configured);
  return configured;
}

function fileProblem(file: string): string | undefined {
  try {
    return statSync(file).isFile() ? undefined : 'must be a regular file';
  } catch (error) {
    return `error loading file: ${errorMessage(error)}`;
  }
}

/** Returns the configuration of the flags, which have at most one webhook. */
function configuredByFlags(options: ControlPlaneOptions): readonly ConfiguredAuthorizer[] {
  return options.authorizationModes.map((type): ConfiguredAuthorizer => {
    if (type !== 'Webhook') return { type, name: type.toLowerCase() };
    const kubeConfigFile = needed(
      options.authorizationWebhookConfigFile,
      '--authorization-mode=Webhook needs --authorization-webhook-config-file',
    );
    return {
      type,
      name: 'default',
      webhook: {
        kubeConfigFile,
        timeoutMs: WEBHOOK_MS,
        authorizedMs: AUTHORIZED_MS,
        unauthorizedMs: UNAUTHORIZED_MS,
        version: 'v1',
        failurePolicy: 'NoOpinion',
        conditions: [],
      },
    };
  });
}

/** Creates authorizers from their configuration. Those with their own state are created once. */
class AuthorizerKinds {
  readonly #options: ControlPlaneOptions;
  readonly #parts: AuthorizationParts;
  readonly #closing: (() => void)[] = [];
  readonly #made = new Map<AuthorizerType, Authorizer>();

  constructor(options: ControlPlaneOptions, parts: AuthorizationParts) {
    this.#options = options;
    this.#parts = parts;
  }

  union(configured: readonly ConfiguredAuthorizer[]): Authorizer {
    return unionAuthorizer([systemMasters, ...configured.map((each) => this.#authorizer(each))]);
  }

  close(): void {
    for (const close of this.#closing) close();
  }

  #authorizer(configured: ConfiguredAuthorizer): Authorizer {
    if (configured.type === 'Webhook') return this.#webhook(configured.name, configured.webhook);
    const known = this.#made.get(configured.type);
    if (known !== undefined) return known;
    const made = this.#plain(configured.type);
    this.#made.set(configured.type, made);
    return made;
  }

  #plain(type: Exclude<AuthorizerType, 'Webhook'>): Authorizer {
    const { reader, grants } = this.#parts;
    switch (type) {
      case 'Node':
        return createNodeAuthorizer(new NodeGraph(reader), this.#options.api.gates);
      case 'RBAC':
        return createRbacAuthorizer(grants);
      case 'ABAC':
        return this.#abac();
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
    }
  }

  #abac(): Authorizer {
    const { clock, log } = this.#parts;
    const file = needed(
      this.#options.authorizationPolicyFile,
      'an authorizer of type ABAC needs --authorization-policy-file',
    );
    const policies = new WatchedFile({ file, parse: (content) => parseAbacPolicies(file, content), clock, log });
    policies.start();
    this.#closing.push(() => policies.stop());
    return createAbacAuthorizer(() => policies.value);
  }

  #webhook(name: string, { kubeConfigFile, timeoutMs, ...settings }: ConfiguredWebhook): Authorizer {
    const { clock, log, observer } = this.#parts;
    const target = { ...readWebhookKubeconfig(kubeConfigFile), timeoutMs };
    return createWebhookAuthorizer({
      ...settings,
      name,
      post: (review) => askJson(target, review),
      observer,
      clock,
      log,
    });
  }
}

function needed(file: string | undefined, why: string): string {
  if (file === undefined) throw new KubeletError('Invalid', why);
  return file;
}
